/* Saves a model as a shared library or a relocatable object, with a header. The parts are kernels, driver, thread runtime,
 * constants and entry point. They are linked so that only the symbols with the model's name stay visible. */
#include "codegen/artefacts/library.h"
#include "codegen/artefacts/link.h"
#include "codegen/artefacts/runtime.h"
#include "codegen/target/needs.h"
#include "codegen/team/embed.h"
#include "graph/saved/save_int.h"
#include "support/log.h"
#include "support/system/fs.h"
#include "support/system/identity.h"
#include "support/system/scratch.h"

#include <string.h>

typedef struct saver {
    const tc_graph_model *m;
    const char *name, *dir; /* prefix of symbols; scratch folder */
    tc_arena *arena;
    TC_VEC(const char *) objects;
    int64_t stack, deepest; /* of the functions around kernels, so far; of library kernels */
    const char *runtime;    /* symbol of its parallel_for */
    bool openmp;            /* that is OpenMP's */
} saver;

static const char *text(const saver *s, const char *fmt, ...) TC_PRINTF(2, 3);
static const char *text(const saver *s, const char *fmt, ...) {
    tc_strbuf b = {0};
    va_list ap;
    va_start(ap, fmt);
    tc_sb_vprintf(&b, fmt, ap);
    va_end(ap);
    return tc_sb_keep(&b, s->arena);
}

static const char *symbol(const saver *s, const char *what) {
    return text(s, "%s_%s", s->name, what);
}

/* A C identifier from a file's name: "out/bert-base.so" -> "bert_base". */
static const char *identifier(tc_arena *a, const char *path) {
    const char *base = strrchr(path, '/');
    char *s = tc_arena_strdup(a, base ? base + 1 : path), *dot = strchr(s, '.');
    if (dot && dot != s)
        *dot = 0;
    for (char *p = s; *p; p++) {
        bool letter = (*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') || *p == '_', digit = *p >= '0' && *p <= '9';
        if (!letter && !(digit && p > s))
            *p = '_';
    }
    return *s ? s : "model";
}

/* ---- metadata ---- */

static json_t *ports_json(const tc_graph_port *p, int n) {
    json_t *list = tc_json_array();
    for (int i = 0; i < n; i++) {
        json_t *shape = tc_json_array();
        for (int d = 0; d < p[i].shape.ndim; d++)
            tc_json_append(shape, tc_json_integer(p[i].shape.d[d]));
        json_t *port = tc_json_pack("{s:s, s:s, s:o}", "name", p[i].name, "dtype", tc_dtype_name(p[i].dtype), "shape", shape);
        json_t *sizes = tc_json_object(); /* dimension -> the port that is its size */
        for (int d = 0; d < p[i].shape.ndim; d++)
            if (p[i].extent[d]) {
                char key[16];
                snprintf(key, sizeof key, "%d", d);
                tc_json_set(sizes, key, tc_json_integer(p[i].extent[d]));
            }
        if (json_object_size(sizes))
            tc_json_set(port, "sizes", json_incref(sizes));
        if (p[i].shared)
            tc_json_set(port, "shared", tc_json_pack("[i, i]", p[i].shared - 1, p[i].rows));
        if (p[i].is_dense)
            tc_json_set(port, "dense", json_true());
        if (p[i].drawn.low < p[i].drawn.high)
            tc_json_set(port, "drawn", tc_json_pack("[I, I]", (json_int_t)p[i].drawn.low, (json_int_t)p[i].drawn.high));
        json_decref(sizes);
        tc_json_append(list, port);
    }
    return list;
}

/* Where its kernels are from. */
static json_t *provenance(const tc_graph_model *m) {
    tc_digest build;
    json_t *j = tc_json_pack("{s:s, s:s, s:s, s:b}", "tctune", TCTUNE_VERSION, "llvm", tc_cg_llvm_version(), "accuracy",
                             tc_accuracy_text(m->accuracy), "bf16", (m->accuracy & TC_ACCURACY_BF16) != 0);
    if (tc_build_identity(&build))
        tc_json_set(j, "build", tc_json_string(build.hex));
    if (m->database)
        tc_json_set(j, "database", tc_json_string(m->database));
    return j;
}

/* What a profile of the library speaks of: kernels, the others, and which of them each step is (others after all kernels). */
static void add_steps(json_t *j, const tc_graph_model *m) {
    json_t *kernels = tc_json_array(), *others = tc_json_array(), *steps = tc_json_array();
    for (int i = 0; i < m->nkernel; i++) {
        const tc_graph_kernel *k = &m->kernels[i];
        json_t *of = tc_json_pack("{s:s, s:s, s:i, s:f, s:I}", "name", k->name, "form", k->form, "count", k->count, "flops",
                                  k->flops, "record", (json_int_t)k->record);
        tc_json_set(of, "bytes", tc_json_real(k->bytes));
        tc_json_set(of, "workload", tc_json_string(k->hash.hex));
        tc_json_set(of, "trace", tc_json_string(k->trace_hash.hex));
        if (k->source == TC_GRAPH_FROM_RECORD)
            tc_json_set(of, "seconds", tc_json_real(k->recorded));
        if (k->unit)
            tc_json_set(of, "unit", tc_json_string(k->unit->text));
        tc_json_append(kernels, of);
    }
    for (int i = 0; i < m->nother; i++)
        tc_json_append(others, tc_json_pack("{s:s, s:i}", "name", m->others[i].name, "count", m->others[i].count));
    for (int i = 0; i < m->nstep; i++)
        tc_json_append(steps, tc_json_integer(tc_graph_row_of(&m->steps[i], m->nkernel)));
    tc_json_set(j, "kernels", kernels);
    tc_json_set(j, "others", others);
    tc_json_set(j, "steps", steps);
}

/* Measured: under 5 KiB where a team is made, of which each thread takes some; where the loader binds it saves all registers,
 * which are 11 KiB with tiles. */
int64_t tc_graph_outer_stack(const tc_graph_model *m) {
    return (32 << 10) + 256 * (int64_t)m->threads;
}

/* What a thread that runs the model takes, and each of its team. */
static int64_t stack_bytes(const saver *s) {
    int64_t deepest = s->deepest;
    for (int i = 0; i < s->m->nkernel; i++)
        deepest = TC_MAX(deepest, s->m->units[i].stack);
    return s->stack + deepest + tc_graph_outer_stack(s->m);
}

static const char *metadata(const saver *s) {
    const tc_graph_model *m = s->m;
    json_t *j = tc_json_pack("{s:i, s:i, s:s, s:s, s:i, s:I, s:o, s:o, s:f, s:o}", "format", TC_GRAPH_LIBRARY_FORMAT, "abi",
                             TC_RT_ABI, "name", s->name, "target", m->target->text, "threads", m->threads, "stack",
                             (json_int_t)stack_bytes(s), "inputs", ports_json(m->in, m->nin), "outputs",
                             ports_json(m->out, m->nout), "flops", tc_graph_model_flops(m), "provenance", provenance(m));
    if (m->nshown < m->nout)
        tc_json_set(j, "sizes", tc_json_integer(m->nout - m->nshown));
    if (m->rules.nsize)
        tc_json_set(j, "varying", tc_graph_rules_to_json(&m->rules));
    if (m->nrefusal) {
        json_t *refusals = tc_json_array();
        for (int i = 0; i < m->nrefusal; i++)
            tc_json_append(refusals, tc_json_string(m->refusals[i]));
        tc_json_set(j, "refusals", refusals);
    }
    tc_json_set(j, "watched", json_true());
    tc_json_set(j, "team", tc_json_string(s->openmp ? "openmp" : "own"));
    add_steps(j, m);
    char *dump = tc_json_text(j, JSON_COMPACT);
    const char *r = tc_arena_strdup(s->arena, dump ? dump : "");
    free(dump);
    json_decref(j);
    return r;
}

/* ---- objects ---- */

static tc_status put_object(saver *s, const char *file, const void *obj, size_t size, tc_error *err) {
    const char *path = text(s, "%s/%s.o", s->dir, file);
    tc_push(&s->objects, path);
    return tc_fs_write_scratch(path, obj, size, err);
}

/* C for another architecture, which is compiled now. */
static tc_status put_foreign(saver *s, const char *file, const char *source, size_t size, tc_error *err) {
    const char *path = text(s, "%s/%s.o", s->dir, file);
    TC_TRY(tc_cg_compile_c(s->m->target->triple, source, size, path, err));
    tc_push(&s->objects, path);
    return TC_OK;
}

static tc_status put_foreign_library(saver *s, const tc_graph_launch *x, tc_error *err) {
    const char *source;
    size_t size;
    tc_graph_library_text(&source, &size);
    tc_status r = put_foreign(s, "library", source, size, err);
    if (r != TC_OK)
        tc_error_prefix(err, "node '%s' (%s): its library kernel must be compiled: ", x->name, x->covers);
    return r;
}

static tc_status put_library(saver *s, tc_error *err) {
    const void *bytes;
    size_t size;
    for (int i = 0; i < s->m->program->nlaunch; i++) {
        const tc_graph_launch *x = &s->m->program->launches[i];
        if (!x->library)
            continue;
        s->deepest = TC_GRAPH_LIBRARY_STACK;
        if (!tc_target_is_host_isa(s->m->target->triple))
            return put_foreign_library(s, x, err);
        tc_graph_library_object(&bytes, &size);
        return put_object(s, "library", bytes, size, err);
    }
    return TC_OK;
}

static tc_status put_kernels(saver *s, tc_error *err) {
    for (int i = 0; i < s->m->nkernel; i++)
        TC_TRY(put_object(s, s->m->kernels[i].symbol, s->m->units[i].obj, s->m->units[i].size, err));
    return TC_OK;
}

static tc_status put_driver(saver *s, tc_error *err) {
    const tc_graph_model *m = s->m;
    tc_cg_step *steps = TC_NEW_N(s->arena, tc_cg_step, m->nstep);
    for (int i = 0; i < m->nstep; i++) {
        const tc_graph_step *x = &m->steps[i];
        steps[i] = (tc_cg_step){.kind = x->kind,
                                .target = x->target,
                                .kernel = x->library    ? x->library->symbol
                                          : x->task < 0 ? NULL
                                                        : m->kernels[x->task].symbol,
                                .nargs = x->nargs,
                                .args = x->args,
                                .bytes = x->bytes};
    }
    tc_cg_driver d = {.name = symbol(s, "driver"), .nsteps = m->nstep, .steps = steps};
    d.workspace_at = m->workspace_at;
    d.branch_bytes = m->branch_bytes;
    void *obj;
    size_t size;
    int64_t stack;
    TC_TRY(tc_cg_emit_driver(m->target, &d, &obj, &size, &stack, err));
    s->stack += stack;
    tc_status r = put_object(s, "driver", obj, size, err);
    free(obj);
    return r;
}

static tc_status put_openmp(saver *s, tc_error *err) {
    void *obj;
    size_t size;
    int64_t stack;
    s->openmp = true;
    s->runtime = symbol(s, "parallel_for");
    TC_TRY(tc_cg_emit_runtime(s->m->target, s->runtime, &obj, &size, &stack, err));
    s->stack += stack;
    tc_status r = put_object(s, "runtime", obj, size, err);
    free(obj);
    return r;
}

static tc_status put_team(saver *s, tc_error *err) {
    const char *source;
    const void *obj;
    size_t size;
    if (tc_target_is_host_isa(s->m->target->triple)) {
        tc_team_object(&obj, &size);
        TC_TRY(put_object(s, "team", obj, size, err));
    } else {
        tc_team_text(&source, &size);
        TC_TRY(put_foreign(s, "team", source, size, err));
    }
    s->runtime = TC_TEAM_SYMBOL;
    s->stack += TC_TEAM_STACK;
    return TC_OK;
}

/* For another architecture a team of its own has to be compiled. OpenMP's needs no compiler. */
static tc_status put_runtime(saver *s, tc_error *err) {
    tc_error why = {0};
    if (s->m->team == TC_GRAPH_TEAM_OPENMP)
        return put_openmp(s, err);
    tc_status r = put_team(s, &why);
    if (r == TC_OK)
        return TC_OK;
    if (s->m->team == TC_GRAPH_TEAM_OWN)
        return tc_fail(err, r, "the library's own team must be compiled: %s; or give it OpenMP's (team openmp)", why.msg);
    tc_log(TC_LOG_INFO, "the library has OpenMP's team: its own could not be compiled: %s", why.msg);
    return put_openmp(s, err);
}

/* size[d]: which of the list is the size of dimension d of port p; 0 or less: none is. */
static tc_cg_array array_of(const saver *s, const tc_graph_port *p, const int *size) {
    tc_cg_array r = {.each = tc_dtype_bytes(p->dtype), .shared = p->shared};
    int *sizes = TC_NEW_N(s->arena, int, p->shape.ndim);
    r.most = tc_graph_shape_count(&p->shape) * r.each;
    for (int d = 0; d < p->shape.ndim; d++)
        if (size[d] > 0)
            sizes[r.nsize++] = size[d];
        else
            r.each *= p->shape.d[d];
    r.size = sizes;
    return r;
}

static const tc_cg_array *inputs(const saver *s) {
    const tc_graph_model *m = s->m;
    tc_cg_array *r = TC_NEW_N(s->arena, tc_cg_array, m->nin);
    for (int i = 0; i < m->nin; i++)
        r[i] = array_of(s, &m->in[i], m->in[i].extent);
    return r;
}

static const tc_cg_array *outputs(const saver *s) {
    static const int none[TC_GRAPH_MAX_DIMS];
    const tc_graph_model *m = s->m;
    tc_cg_array *r = TC_NEW_N(s->arena, tc_cg_array, m->nout);
    for (int i = 0; i < m->nout; i++)
        r[i] = array_of(s, &m->out[i], m->out[i].is_dense ? m->out[i].extent : none);
    return r;
}

/* Its code is for this architecture. */
static bool has_profile(const tc_graph_model *m) {
    return tc_target_is_host_isa(m->target->triple);
}

static tc_status put_profile(saver *s, tc_error *err) {
    const void *bytes;
    size_t size;
    if (!has_profile(s->m))
        return TC_OK;
    tc_cg_profile_object(&bytes, &size);
    return put_object(s, "profile", bytes, size, err);
}

static tc_cg_entry entry_of(const saver *s) {
    const tc_graph_model *m = s->m;
    return (tc_cg_entry){.name = s->name,
                         .driver = symbol(s, "driver"),
                         .runtime = s->runtime,
                         .constants = m->blob_bytes ? symbol(s, "constants") : NULL,
                         .nthreads = m->threads,
                         .arena_bytes = m->arena_bytes,
                         .nin = m->nin,
                         .nout = m->nout,
                         .in = inputs(s),
                         .out = outputs(s),
                         .sizes = tc_graph_size_checks(&m->rules, s->arena),
                         .profile = has_profile(m) ? tc_graph_profile_of(m, s->name, s->arena) : NULL};
}

static tc_status put_entry(saver *s, tc_error *err) {
    const tc_graph_model *m = s->m;
    tc_cg_entry e = entry_of(s);
    void *obj;
    size_t size;
    int64_t stack;
    TC_TRY(tc_cg_emit_entry(m->target, &e, &obj, &size, &stack, err));
    s->stack += e.profile ? 2 * stack + TC_CG_PROFILE_STACK : stack; /* a profile runs the entry point again */
    tc_status r = put_object(s, "entry", obj, size, err);
    free(obj);
    return r;
}

static tc_status put_metadata(saver *s, tc_error *err) {
    void *obj;
    size_t size;
    const char *note = metadata(s);
    tc_graph_note n = {0};
    if (!tc_graph_note_measure(&n, note))
        return tc_fail(err, TC_BAD_INPUT,
                       "the note of library '%s' is too large to be read again: %s; use the model without a library (tctune run, "
                       "tctune_build)",
                       s->name, n.why);
    TC_TRY(tc_cg_emit_metadata(s->m->target, symbol(s, "metadata"), note, &obj, &size, err));
    tc_status r = put_object(s, "metadata", obj, size, err);
    free(obj);
    return r;
}

/* ---- constants ---- */

static tc_status write_constants(void *user, FILE *f, tc_error *err) {
    return tc_graph_write_constants(user, f, err);
}

static tc_cg_blob constants(const saver *s) {
    return (tc_cg_blob){.target = s->m->target,
                        .symbol = symbol(s, "constants"),
                        .bytes = s->m->blob_bytes,
                        .fill = write_constants,
                        .user = (void *)(uintptr_t)s->m};
}

/* ---- header ---- */

static void header(const saver *s, tc_strbuf *b) {
    tc_strbuf needs = {0};
    tc_cg_print_needs(s->m->target, &needs);
    tc_graph_header h = {.stack = stack_bytes(s), .openmp = s->openmp, .note = "", .lacks = needs.len ? tc_sb_str(&needs) : NULL};
    tc_graph_open_header(s->m, s->name, &h, b);
    tc_strbuf_free(&needs);
    tc_sb_add(
        b, "/* Runs in a context of its own; a thread that calls it meanwhile gets another context for the call. Returns 0, or "
           "a\n * number that is told above. After fork, parent and child may go on, with their contexts too. */\n");
    tc_sb_printf(b, "int32_t %s_run(const void *const *inputs, void *const *outputs);\n\n", s->name);
    tc_sb_printf(b,
                 "extern int32_t %s_threads;         /* threads of this, and of contexts made later; may be lowered between "
                 "calls */\nextern const char %s_metadata[];   /* JSON: inputs and outputs with names, types and shapes; where "
                 "the kernels are from */\n\n",
                 s->name, s->name);
    tc_graph_close_header(s->name, b);
}

/* ---- all of it ---- */

static tc_status link_all(saver *s, const char *path, const tc_fs_new *beside, int nbeside, tc_error *err) {
    bool object = tc_graph_path_ends(path, ".o");
    const char *exports[] = {symbol(s, "run"),
                             symbol(s, "threads"),
                             symbol(s, "metadata"),
                             symbol(s, "context_new"),
                             symbol(s, "context_free"),
                             symbol(s, "context_run"),
                             NULL};
    tc_cg_blob weights = constants(s);
    tc_cg_link l = {.nobjects = (int)s->objects.len,
                    .objects = s->objects.data,
                    .constants = weights.bytes ? &weights : NULL,
                    .openmp = s->openmp,
                    .exports = exports,
                    .nbeside = nbeside,
                    .beside = beside};
    if (!tc_target_is_host_isa(s->m->target->triple))
        l.triple = s->m->target->triple;
    return object ? tc_cg_link_object(&l, path, err) : tc_cg_link_shared(&l, path, err);
}

/* Linkers say it late, and by relocations. */
static tc_status check_reach(const saver *s, const char *path, tc_error *err) {
    tc_cg_entry e = entry_of(s);
    int64_t context = tc_cg_context_bytes(&e), weights = tc_cg_blob_is_far(s->m->target, s->m->blob_bytes) ? 0 : s->m->blob_bytes;
    if (context <= TC_CG_REACH - weights)
        return TC_OK;
    return tc_fail(err, TC_BAD_INPUT,
                   "%s: %lld bytes for intermediate values and for copies of inputs and outputs, and %lld bytes of weights, are "
                   "more than the 2 GiB that a library's code reaches; give smaller sizes (--shape), or use the model without a "
                   "library (tctune run, tctune_build)",
                   path, (long long)context, (long long)weights);
}

static tc_status save(saver *s, const char *path, tc_error *err) {
    TC_TRY(check_reach(s, path, err));
    TC_TRY(put_kernels(s, err));
    TC_TRY(put_library(s, err));
    TC_TRY(put_driver(s, err));
    TC_TRY(put_runtime(s, err));
    TC_TRY(put_profile(s, err));
    TC_TRY(put_entry(s, err));
    TC_TRY(put_metadata(s, err)); /* behind all whose stack counts */
    tc_strbuf b = {0};
    header(s, &b);
    tc_fs_new beside[2] = {{.path = tc_graph_path_beside(s->arena, path, ".h"), .data = b.data, .size = b.len}};
    if (s->m->listing)
        beside[1] = (tc_fs_new){.path = s->m->listing_path, .data = s->m->listing, .size = strlen(s->m->listing)};
    tc_status r = link_all(s, path, beside, s->m->listing ? 2 : 1, err);
    tc_strbuf_free(&b);
    return r;
}

tc_status tc_graph_model_save(const tc_graph_model *m, const char *path, const char *name, tc_error *err) {
    if (!m->program)
        return tc_fail(err, TC_BAD_INPUT, "%s: a loaded library cannot be saved again; copy the file", m->path);
    if (name && !tc_graph_is_identifier(name))
        return tc_fail(err, TC_BAD_INPUT,
                       "'%s' cannot name a library's symbols; use letters, digits and underscores, at most 255", name);
    tc_arena *a = tc_arena_new();
    saver s = {.m = m, .arena = a, .name = name ? name : identifier(a, path)};
    tc_scratch *scratch = NULL;
    tc_status r = tc_fs_check_replaceable(path, err);
    if (r == TC_OK)
        r = tc_fs_check_replaceable(tc_graph_path_beside(a, path, ".h"), err);
    if (r == TC_OK && m->listing)
        r = tc_fs_check_replaceable(m->listing_path, err);
    bool source = tc_graph_path_ends(path, ".c");
    if (r == TC_OK && source && m->team == TC_GRAPH_TEAM_OWN)
        r = tc_fail(err, TC_BAD_INPUT,
                    "%s: C source has OpenMP's loops; a team of its own (team own) goes with libraries and objects", path);
    if (r == TC_OK && source)
        r = tc_graph_save_c(m, path, s.name, err);
    else if (r == TC_OK)
        r = tc_scratch_open(&scratch, err);
    if (r == TC_OK && !source) {
        s.dir = tc_scratch_path(scratch);
        r = save(&s, path, err);
    }
    tc_scratch_close(scratch);
    tc_vec_free(&s.objects);
    tc_arena_free(a);
    return r;
}
