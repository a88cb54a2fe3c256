/* Builds a model: chooses a schedule for every task, compiles all of them together, plans memory, and packs constants. */
#include "codegen/artefacts/cache.h"
#include "codegen/artefacts/runtime.h"
#include "graph/model/admit.h"
#include "graph/model/parts.h"
#include "support/log.h"
#include "support/system/memory.h"
#include "support/system/stop.h"
#include "support/system/threads.h"
#include "te/text.h"
#include "tir_lower/program/program.h"

#include <string.h>

typedef struct builder {
    const tc_graph_program *p;
    const tc_graph_build_options *o;
    tc_graph_build_options with; /* o's, with the records that were admitted */
    tc_graph_model *m;
    tc_machine machine;
    tc_cg_cache *cache; /* of compiled kernels; NULL: none */
    tc_cg_text *text;   /* by task, for debuggers; NULL: nobody wants it */
} builder;

/* "k3_matmul_add": unique by number, readable in a profile. */
static const char *symbol_of(tc_arena *a, int task, const char *name) {
    char text[40];
    size_t n = 0;
    for (; name[n] && name[n] != ' ' && n < sizeof text - 1; n++) {
        char ch = name[n];
        bool upper = ch >= 'A' && ch <= 'Z', plain = upper || (ch >= 'a' && ch <= 'z') || (ch >= '0' && ch <= '9');
        text[n] = (char)(upper ? ch + 32 : plain ? ch : '_');
    }
    text[n] = 0;
    return tc_arena_printf(a, "k%d_%s", task, text);
}

static void describe_kernels(builder *b) {
    tc_graph_model *m = b->m;
    m->nkernel = b->p->ntask;
    m->kernels = TC_NEW_N(m->arena, tc_graph_kernel, m->nkernel);
    m->units = TC_NEW_N(m->arena, tc_graph_unit, m->nkernel);
    for (int i = 0; i < m->nkernel; i++) {
        const tc_tune_task *t = &b->p->tasks[i];
        m->kernels[i] = (tc_graph_kernel){.name = t->name,
                                          .nnode = t->nnode,
                                          .nodes = t->nodes,
                                          .symbol = symbol_of(m->arena, i, t->name),
                                          .workload = tc_te_text(m->arena, t->workload),
                                          .trace = "",
                                          .form = "direct",
                                          .hash = b->p->hashes[i],
                                          .count = (int)t->weight,
                                          .flops = tc_te_flops(t->workload),
                                          .bytes = tc_te_bytes_moved(t->workload),
                                          .why = ""};
        tc_graph_list_forms(b->p, i, tc_graph_accuracy_of(b->o, i), &m->units[i]);
    }
}

static bool stopped(const builder *b) {
    return tc_is_raised(b->o->stop) || (b->o->deadline > 0 && tc_now() >= b->o->deadline);
}

static tc_status interrupted(tc_error *err) {
    return tc_fail(err, TC_ENV, "interrupted while building the model; nothing was written");
}

/* One thread at a time: the database handle belongs to it. */
static tc_status choose_schedules(builder *b, tc_error *err) {
    double byte_time = b->o->db && !b->o->choices ? tc_graph_byte_time(b->p, b->o) : 0;
    for (int i = 0; i < b->m->nkernel; i++) {
        if (stopped(b))
            return interrupted(err);
        TC_TRY(tc_graph_choose_schedule(b->p, i, b->o, &b->machine, byte_time, b->m, err));
    }
    return TC_OK;
}

static tc_status check_complete(const builder *b, tc_error *err) {
    tc_strbuf list = {0};
    int missing = 0;
    for (int i = 0; i < b->m->nkernel; i++) {
        const tc_graph_kernel *k = &b->m->kernels[i];
        if (k->source == TC_GRAPH_FROM_RECORD)
            continue;
        if (missing++ < 8)
            tc_sb_printf(&list, "%s%s: %s", missing > 1 ? "; " : "", k->name, k->why);
    }
    tc_status s = TC_OK;
    if (missing && b->o->require_complete)
        s = tc_fail(err, TC_BAD_INPUT,
                    "%d of %d kernels have no record for target '%s' with %d threads. Tune the model with this database first, "
                    "or build without requiring complete records. The kernels: %s",
                    missing, b->m->nkernel, b->m->target->text, b->m->threads, tc_sb_str(&list));
    tc_strbuf_free(&list);
    return s;
}

/* What names its file and lines is no other model's. */
static tc_status emit(builder *b, int i, tc_error *err) {
    tc_graph_unit *u = &b->m->units[i];
    const tc_func *f = u->func;
    const char *symbol = b->m->kernels[i].symbol;
    if (!b->text)
        return tc_cg_cached_object(b->cache, b->m->target, f, symbol, &u->obj, &u->size, &u->stack, err);
    tc_cg_options o = {.stack = &u->stack, .text = &b->text[i]};
    return tc_cg_emit_object(b->m->target, &f, &symbol, 1, &o, &u->obj, &u->size, err);
}

static tc_status compile(builder *b, int i, tc_error *err) {
    tc_graph_unit *u = &b->m->units[i];
    TC_TRY(emit(b, i, err));
    if (b->o->object_only)
        return TC_OK;
    TC_TRY(tc_cg_load(u->obj, u->size, &u->module, err));
    return tc_cg_lookup(u->module, b->m->kernels[i].symbol, &u->kernel, err);
}

/* All kernels, on every core; the first failure wins. */
static tc_status compile_all(builder *b, tc_error *err) {
    int n = b->m->nkernel, done = 0;
    tc_status first = TC_OK;
    tc_error kept = {0};
    b->cache = tc_cg_cache_open();
    int team = tc_threads_team(TC_MIN(n, b->m->threads));
#pragma omp parallel for schedule(dynamic) num_threads(team)
    for (int i = 0; i < n; i++) {
        tc_error local = {0};
        if (stopped(b))
            continue;
        tc_status s = compile(b, i, &local);
#pragma omp critical(tc_graph_compile)
        {
            done++;
            if (s != TC_OK && first == TC_OK) {
                first = s;
                kept = local;
                tc_error_prefix(&kept, "kernel '%s': ", b->m->kernels[i].name);
            }
            if (b->o->progress)
                b->o->progress(b->o->user, done, n, b->m->kernels[i].name);
        }
    }
    tc_cg_cache_close(b->cache);
    b->cache = NULL;
    if (stopped(b))
        return interrupted(err);
    return first == TC_OK ? TC_OK : tc_fail(err, first == TC_ILLEGAL ? TC_ENV : first, "%s", kept.msg);
}

static bool may_overwrite(void *user, const tc_graph_launch *x, int out, int in) {
    const tc_graph_model *m = user;
    return tc_tir_may_overwrite(m->units[x->task].func, out, in);
}

/* Kernels that write in place are compiled for it, also for their launches that do not. */
static void note_in_place(builder *b) {
    for (int i = 0; i < b->p->nlaunch; i++) {
        const tc_graph_launch *x = &b->p->launches[i];
        tc_graph_unit *u = x->task < 0 ? NULL : &b->m->units[x->task];
        for (int o = 0; u && o < u->func->nparam; o++)
            for (int k = 0; k < o; k++)
                if (u->func->params[o].kind == TC_PARAM_OUT && b->m->plan.over[x->args[o]] == x->args[k] &&
                    !(u->func->params[o].overlaps && u->func->params[k].overlaps))
                    u->func = tc_tir_overwriting(u->ctx, u->func, o, k);
    }
}

/* What the branches of the widest fork need, as a kernel in one of them may need all of its threads' (in C source whose branches
 * may have teams). */
static int64_t branch_workspaces(const tc_graph_program *p, tc_graph_model *m) {
    int most = 0, n = 0, end = 0;
    for (int i = 0; i < p->nlaunch; i++) {
        const tc_graph_launch *x = &p->launches[i];
        n = x->kind == TC_CG_FORK ? 0 : n + (x->kind == TC_CG_BRANCH);
        end = x->kind == TC_CG_FORK ? x->target : end;
        most = TC_MAX(most, n);
        if (i < end && x->task >= 0)
            m->branch_bytes =
                TC_MAX(m->branch_bytes, tc_graph_aligned(tc_cg_workspace_bytes(m->units[x->task].func, m->threads)));
    }
    return most * m->branch_bytes;
}

static void plan(builder *b) {
    tc_graph_model *m = b->m;
    if (b->o->accuracy & TC_ACCURACY_BF16)
        tc_graph_narrow(m);
    tc_graph_plan_memory(b->p, m->narrow, may_overwrite, m, m->arena, &m->plan);
    note_in_place(b);
    int64_t workspace = 0;
    for (int i = 0; i < m->nkernel; i++)
        workspace = TC_MAX(workspace, tc_cg_workspace_bytes(m->units[i].func, m->threads));
    for (int i = 0; i < b->p->nlaunch; i++) {
        const tc_graph_launch *x = &b->p->launches[i];
        if (x->library)
            workspace = TC_MAX(workspace, x->library->workspace(x->params, m->threads));
    }
    workspace = TC_MAX(workspace, branch_workspaces(b->p, m));
    m->workspace_at = tc_graph_aligned(m->plan.bytes);
    m->arena_bytes = m->workspace_at + tc_graph_aligned(workspace);
}

/* Sums of sizes, also those of several threads, stay far from what 64 bits hold. */
static tc_status check_sizes(const tc_graph_program *p, tc_error *err) {
    static const int64_t MOST = (int64_t)1 << 50;
    int64_t sum = 0;
    for (int i = 0; i < p->nslot; i++)
        if (p->slots[i].bytes > MOST || (sum += p->slots[i].bytes) > MOST)
            return tc_fail(err, TC_ENV,
                           "the model's values need more than 2^50 bytes of memory; '%s' alone needs %lld; give smaller shapes",
                           p->slots[i].name, (long long)p->slots[i].bytes);
    return TC_OK;
}

/* Before anything is compiled. */
static tc_status check_memory(const tc_graph_model *m, tc_error *err) {
    tc_status s = tc_memory_check((uint64_t)m->arena_bytes, err);
    if (s != TC_OK)
        tc_graph_name_intermediates(m->program, err);
    return s;
}

/* What comes from a database runs in this process, or in one that loads the library, only if it was admitted. */
static tc_status admit(builder *b, tc_arena *a, tc_error *err) {
    tc_graph_admission x;
    if (!b->o->db || b->o->choices || !b->o->target->native)
        return TC_OK;
    TC_TRY(tc_graph_admit(b->p, b->o, 1, a, &x, err));
    b->with = *b->o;
    b->with.choices = x.choices;
    b->o = &b->with;
    return TC_OK;
}

/* Nothing here can run it: it is built all the same, for a machine that may. */
static void tell_of_unchecked(const builder *b) {
    int n = 0;
    for (int i = 0; i < b->m->nkernel && !b->o->choices; i++)
        n += b->m->kernels[i].source == TC_GRAPH_FROM_RECORD;
    if (n)
        tc_log(TC_LOG_WARN,
               "%d kernel%s built from records that were not checked here, as code for `%s` does not run on this machine: the "
               "database is trusted",
               n, n == 1 ? " is" : "s are", b->m->target->text);
}

static tc_status build(builder *b, tc_error *err) {
    TC_TRY(choose_schedules(b, err));
    TC_TRY(check_complete(b, err));
    tell_of_unchecked(b);
    TC_TRY(check_sizes(b->p, err));
    b->p = b->m->program = tc_graph_side_by_side(b->m, b->o->branches);
    plan(b);
    if (!b->o->object_only)
        TC_TRY(check_memory(b->m, err));
    if (b->o->listing) {
        b->text = TC_NEW_N(b->m->arena, tc_cg_text, b->m->nkernel);
        TC_TRY(tc_graph_list_programs(b->m, b->o->listing, b->text, err));
    }
    TC_TRY(compile_all(b, err));
    b->m->runs = !b->o->object_only;
    b->m->used_up = b->m->runs && b->o->use_up_constants;
    return tc_graph_place_constants(b->m, b->m->runs, b->o->use_up_constants, err);
}

static tc_status open_model(builder *b, tc_graph_model *m, tc_error *err) {
    TC_TRY(tc_target_parse(b->o->target->text, &m->target, err));
    m->target->machine = b->o->target->machine;
    b->machine = m->target->machine;
    m->threads = tc_graph_threads_of(b->o);
    b->machine.cores = m->threads;
    if (!b->o->object_only && !b->o->target->native)
        return tc_fail(err, TC_BAD_INPUT, "code for target '%s' cannot run on this machine; it can only be written to a library",
                       m->target->text);
    m->rt = tc_cg_runtime(m->threads);
    m->team = b->o->team;
    m->accuracy = b->o->accuracy;
    for (int i = 0; i < b->p->ntask && b->o->accuracies; i++)
        m->accuracy |= b->o->accuracies[i];
    m->database = b->o->db ? tc_arena_strdup(m->arena, tc_meas_db_path(b->o->db)) : NULL;
    m->nin = b->p->nin;
    m->rules = b->p->rules;
    m->nout = b->p->nout;
    m->nshown = b->p->nshown;
    m->in = b->p->in;
    m->out = b->p->out;
    return TC_OK;
}

tc_status tc_graph_model_build(const tc_graph_program *p, const tc_graph_build_options *o, tc_graph_model **out, tc_error *err) {
    tc_arena *a = tc_arena_new();
    tc_graph_model *m = TC_NEW(a, tc_graph_model);
    *m = (tc_graph_model){
        .arena = a, .program = p, .nrefusal = (int)p->refusals.len, .refusals = (const char *const *)p->refusals.data};
    builder b = {.p = p, .o = o, .m = m};
    tc_status s = open_model(&b, m, err);
    tc_arena *records = tc_arena_new();
    if (s == TC_OK)
        s = admit(&b, records, err);
    if (s == TC_OK) {
        describe_kernels(&b);
        s = build(&b, err);
    }
    tc_arena_free(records);
    if (s != TC_OK) {
        tc_graph_model_free(m);
        return s;
    }
    *out = m;
    return TC_OK;
}
