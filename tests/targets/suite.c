#include "suite.h"

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "codegen/artefacts/library.h"
#include "codegen/artefacts/runtime.h"
#include "codegen/code/code.h"
#include "search_space/space.h"
#include "support/system/fs.h"
#include "te/text.h"
#include "tir_lower/build/build.h"
#include "tir_lower/program/program.h"
#include "tir_lower/text/text.h"
#include "tir_lower/verify/verify.h"

enum { MOST_CONSTRUCTED = 2, THREADS = 3, MATH_ULPS = 4, MOST_SHOWN = 8, DRAWS = 4 };

static void die_if(tc_status s, const tc_error *err, const char *what) {
    if (s == TC_OK)
        return;
    fprintf(stderr, "%s: %s\n", what, err->msg);
    exit(1);
}

static size_t bytes_of(const tc_buffer *b) {
    return (size_t)b->size * (size_t)tc_dtype_bytes(b->dtype);
}

/* ---- cases ---- */

static void *new_array(const tc_tensor *t) {
    return tc_xcalloc((size_t)tc_tensor_size(t) + 1, (size_t)tc_dtype_bytes(t->dtype));
}

static void fill(suite_case *c) {
    tc_error err = {0};
    tc_rng rng = tc_rng_seed(11);
    c->in = tc_xcalloc((size_t)c->w->nin + 1, sizeof *c->in);
    c->want = tc_xcalloc((size_t)c->w->nout, sizeof *c->want);
    for (int i = 0; i < c->w->nin; i++) {
        c->in[i] = new_array(c->w->in[i]);
        tc_te_random_fill(c->w->in[i]->dtype, c->in[i], tc_tensor_size(c->w->in[i]), &rng, tc_te_index_limit(c->w, i));
    }
    for (int i = 0; i < c->w->nout; i++)
        c->want[i] = new_array(c->w->out[i]);
    die_if(tc_te_interp(c->w, (const void *const *)c->in, c->want, &err), &err, c->name);
}

static suite_case *new_case(const char *name, const char *text) {
    tc_error err = {0};
    suite_case *c = tc_xcalloc(1, sizeof *c);
    c->name = tc_xstrdup(name);
    c->ulps = strncmp(name, "math_", 5) ? 0 : MATH_ULPS;
    c->ctx = tc_ctx_new();
    die_if(tc_te_parse(c->ctx, name, text, &c->w, &err), &err, name);
    fill(c);
    return c;
}

static suite_case *read_case(const char *file) {
    char path[4096], name[256], *text;
    tc_error err = {0};
    snprintf(path, sizeof path, TCTUNE_TEST_DIR "/cases/%s", file);
    snprintf(name, sizeof name, "%.*s", (int)strlen(file) - 3, file);
    die_if(tc_fs_read(path, &text, NULL, &err), &err, path);
    suite_case *c = new_case(name, text);
    free(text);
    return c;
}

/* A product of matrices, or a convolution along one axis, of types that units take, with an epilogue or without; the second
 * operand is mostly constant, and some reductions, of few rows, are as long as what sketches divide. */
static suite_case *draw_case(tc_rng *r, int number) {
    static const char *const TYPES[][3] = {
        {"i8", "i8", "i32"}, {"u8", "u8", "i32"}, {"u8", "i8", "i32"}, {"i8", "u8", "i32"}, {"bf16", "bf16", "f32"}};
    const char *const *t = TYPES[number % (int)TC_LEN(TYPES)];
    long long m = 1 + tc_rng_below(r, 24), n = 1 + tc_rng_below(r, 45);
    long long k = tc_rng_below(r, 3) ? 8 * (1 + tc_rng_below(r, 6)) : 1 + tc_rng_below(r, 40);
    bool window = tc_rng_below(r, 4) == 0, epilogue = tc_rng_below(r, 2) == 0;
    if (tc_rng_below(r, 5) == 0) {
        k = 256 + tc_rng_below(r, 60);
        m = 1 + (m - 1) % 7;
    }
    const char *kind = tc_rng_below(r, 4) ? " const" : "";
    char name[32];
    tc_strbuf b = {0};
    snprintf(name, sizeof name, "drawn%d", number);
    tc_sb_printf(&b, "tensor X[%lld, %lld] %s\ntensor W[%s%lld, %lld] %s%s\n", m + (window ? 2 : 0), k, t[0], window ? "3, " : "",
                 k, n, t[1], kind);
    tc_sb_printf(&b, "compute D[i:%lld, j:%lld] = sum(%sk:%lld) %s(X[i%s, k]) * %s(W[%sk, j])\n", m, n, window ? "r:3, " : "", k,
                 t[2], window ? " + r" : "", t[2], window ? "r, " : "");
    if (epilogue)
        tc_sb_printf(&b, "compute Y[i:%lld, j:%lld] = max(f32(D[i, j]) * 0.5, 2.0)\n", m, n);
    tc_sb_printf(&b, "output %s\n", epilogue ? "Y" : "D");
    suite_case *c = new_case(name, tc_sb_str(&b));
    c->drawn = true;
    tc_strbuf_free(&b);
    return c;
}

static int is_case(const struct dirent *d) {
    size_t n = strlen(d->d_name);
    return n > 3 && !strcmp(d->d_name + n - 3, ".te");
}

static bool listed(const char *list, const char *file) {
    char word[128];
    snprintf(word, sizeof word, "|%.*s|", (int)strlen(file) - 3, file);
    return strstr(list, word) != NULL;
}

static void read_cases(suite *s, const suite_options *o) {
    struct dirent **files;
    int n = scandir(TCTUNE_TEST_DIR "/cases", &files, is_case, alphasort);
    for (int i = 0; i < n; i++) {
        if (listed(o->without, files[i]->d_name))
            printf("left out: %s\n", files[i]->d_name);
        else if (!o->only || listed(o->only, files[i]->d_name))
            tc_push(&s->cases, read_case(files[i]->d_name));
        free(files[i]);
    }
    if (n > 0)
        free(files);
}

/* ---- schedules ---- */

/* Adds the kernel of a trace, or of a schedule's text; counts what lowering refuses. */
static void add_kernel(suite *s, const suite_case *c, const tc_trace *trace, const char *text, bool must) {
    tc_error err = {0};
    suite_kernel k = {.of = c};
    tc_tir_origin from = {.workload = c->w, .machine = &s->target->machine, .trace = trace, .text = text, .name = c->name};
    tc_tir_program p;
    tc_status st = tc_tir_program_make(c->ctx, &from, TC_TIR_LOWERED, &p, &err);
    k.f = p.lowered;
    if (st == TC_OK)
        st = tc_tir_verify(c->ctx, k.f, &err);
    if (st != TC_OK && must)
        die_if(st, &err, c->name);
    if (st != TC_OK) {
        s->refused++;
        return;
    }
    snprintf(k.symbol, sizeof k.symbol, "%s_%zu", c->name, s->kernels.len);
    tc_push(&s->kernels, k);
}

static const tc_intrinsic *tile_unit(const suite *s, const tc_workload *w) {
    for (int i = 0; i < TC_NINTRINSICS; i++) {
        const tc_intrinsic *u = tc_intrinsic_row((tc_intrinsic_id)i);
        if (u->place != TC_UNIT_VECTOR && tc_intrinsic_in(s->target->machine.intrinsics, u) && u->a == w->in[0]->dtype &&
            u->b == w->in[1]->dtype)
            return u;
    }
    return NULL;
}

/* A drawn case on a grid of tiles whose sums are stored and loaded again: blocks of the reduction outside of the grid,
 * shorter than those of the search space. */
static void add_blocked(suite *s, const suite_case *c, tc_rng *rng) {
    const tc_workload *w = c->w;
    const tc_intrinsic *u = tile_unit(s, w);
    const tc_tensor *weight = w->in[1];
    bool window = weight->ndim == 3, epilogue = w->ncompute > 1;
    const char *y = epilogue ? "Y" : "D", *d = epilogue ? "D" : "D_acc";
    tc_strbuf b = {0};
    if (!u || !weight->is_const)
        return;
    int64_t rows = u->m * (1 + tc_rng_below(rng, 3)), columns = u->n * (1 + tc_rng_below(rng, 3));
    if (!epilogue)
        tc_sb_add(&b, "D_acc = cache_write D local\n");
    tc_sb_printf(&b, "i_0, i_1 = split %s.i [_, %lld]\nj_0, j_1 = split %s.j [_, %lld]\n", y, (long long)rows, y,
                 (long long)columns);
    tc_sb_printf(&b, "reorder %s.i_0 %s.j_0 %s.i_1 %s.j_1\ncompute_at %s %s.j_0\nset_scope %s local\n", y, y, y, y, d, y, d);
    tc_sb_printf(&b, "k_o, k_i = split %s.k [_, %d]\nk_b, k_m = split %s.k_o [_, 2]\n", d, u->k, d);
    tc_sb_printf(&b, "i_t, i_i = split %s.i [_, %d]\nj_t, j_i = split %s.j [_, %d]\nreorder", d, u->m, d, u->n);
    if (window)
        tc_sb_printf(&b, " %s.r", d);
    tc_sb_printf(&b, " %s.k_b %s.i_t %s.j_t %s.k_m %s.i_i %s.j_i %s.k_i\n", d, d, d, d, d, d, d);
    tc_sb_printf(&b, "tensorize %s.i_i %s\ntransform_layout W (%sk, j) -> (j / %d, %sk / %d, j %% %d, k %% %d)\n", d, u->text,
                 window ? "r, " : "", u->n, window ? "r, " : "", u->group, u->n, u->group);
    add_kernel(s, c, NULL, tc_sb_str(&b), true);
    tc_strbuf_free(&b);
}

/* A sketch that copies the first operand for tiles, with decisions drawn until the tiles fit the registers. */
static void add_packed(suite *s, const suite_case *c, const tc_space *space, tc_rng *rng) {
    int n = tc_space_nsketch(space), first = (int)tc_rng_below(rng, n), k = 0;
    while (k < n && !strstr(tc_space_sketch_name(space, (first + k) % n), "+pack-rows"))
        k++;
    if (k == n)
        return;
    tc_error err = {0};
    tc_sched *drawn;
    const tc_trace *sketch = tc_space_sketch(space, (first + k) % n);
    size_t before = s->kernels.len;
    for (int times = 0; times < DRAWS && s->kernels.len == before; times++) {
        die_if(tc_sch_replay(c->ctx, c->w, sketch, rng, &drawn, &err), &err, c->name);
        add_kernel(s, c, drawn->trace, NULL, false);
    }
}

static void schedule(suite *s, const suite_case *c, int sampled) {
    tc_error err = {0};
    tc_space *space;
    tc_arena *a = tc_arena_new();
    tc_trace *chosen, *made[MOST_CONSTRUCTED];
    tc_rng rng = tc_rng_seed(5);
    tc_space_query q = {.options = tc_space_options_default(), .rng = &rng, .want = sampled, .arena = a};
    tc_space_found found;
    q.options.population = 16, q.options.generations = 1, q.options.threads = 1;
    die_if(tc_space_new(c->w, &s->target->machine, &space, &err), &err, c->name);
    die_if(tc_space_default(space, a, &chosen, &err), &err, c->name);
    add_kernel(s, c, chosen, NULL, true);
    int n = tc_space_construct(space, a, made, MOST_CONSTRUCTED);
    for (int i = 1; i < n; i++)
        add_kernel(s, c, made[i], NULL, false);
    die_if(tc_space_search(space, &q, &found, &err), &err, c->name);
    for (int i = 0; i < found.n; i++)
        add_kernel(s, c, found.data[i].trace, NULL, false);
    if (c->drawn) {
        add_blocked(s, c, &rng);
        add_packed(s, c, space, &rng);
    }
    tc_space_free(space);
    tc_arena_free(a);
}

/* ---- objects ---- */

static char *object_path(suite *s, const char *name) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%s.o", s->dir, name);
    char *copy = tc_xstrdup(path);
    tc_push(&s->objects, copy);
    return copy;
}

static void add_object(suite *s, const char *name, void *obj, size_t size) {
    tc_error err = {0};
    die_if(tc_fs_write(object_path(s, name), obj, size, &err), &err, name);
    free(obj);
}

static void compile(suite *s, const suite_kernel *k) {
    tc_error err = {0};
    void *obj;
    size_t size;
    const tc_func *f = k->f;
    const char *name = k->symbol;
    die_if(tc_cg_emit_object(s->target, &f, &name, 1, &(tc_cg_options){.verify = true}, &obj, &size, &err), &err, k->symbol);
    add_object(s, name, obj, size);
}

/* Packed constants of a kernel, one behind the other, as a model holds them. */
static tc_status write_text(void *user, FILE *f, tc_error *err) {
    const tc_strbuf *b = user;
    bool ok = fwrite(b->data, 1, b->len, f) == b->len;
    return ok ? TC_OK : tc_fail(err, TC_ENV, "writing constants failed");
}

static void write_constants(suite *s, const suite_kernel *k, int64_t *at) {
    tc_error err = {0};
    tc_strbuf b = {0};
    for (int i = 0; i < k->f->nparam; i++) {
        const tc_param *p = &k->f->params[i];
        if (p->kind != TC_PARAM_PACKED)
            continue;
        while (b.len % TC_RT_ALIGN)
            tc_sb_addn(&b, "", 1);
        at[i] = (int64_t)b.len;
        void *packed = tc_xcalloc(bytes_of(p->buffer) + 1, 1);
        tc_tir_pack(k->f, i, k->of->in[p->index], packed);
        tc_sb_addn(&b, packed, bytes_of(p->buffer));
        free(packed);
    }
    const char *path = object_path(s, "constants");
    tc_cg_blob constants = {s->target, "constants", (int64_t)b.len, write_text, &b};
    die_if(tc_cg_write_blob(&constants, path, &err), &err, path);
    tc_strbuf_free(&b);
}

/* A model of one step around kernel k: driver, entry point, team and constants as objects of the target. */
static void add_model(suite *s, const suite_kernel *k, const tc_target *entry) {
    enum { MOST = 16 };
    tc_error err = {0};
    void *obj;
    size_t size;
    int64_t stack, at[MOST] = {0};
    tc_cg_array in[MOST], out[MOST];
    tc_cg_operand args[MOST];
    tc_cg_entry e = {.name = "model",
                     .driver = "model_driver",
                     .runtime = SUITE_RUNTIME,
                     .constants = "constants",
                     .nthreads = THREADS,
                     .in = in,
                     .out = out,
                     .arena_bytes = tc_cg_workspace_bytes(k->f, THREADS)};
    write_constants(s, k, at);
    for (int i = 0; i < k->f->nparam; i++) {
        const tc_param *p = &k->f->params[i];
        if (p->kind == TC_PARAM_PACKED) {
            args[i] = (tc_cg_operand){TC_CG_CONST, at[i], 0};
        } else if (p->kind == TC_PARAM_OUT) {
            args[i] = (tc_cg_operand){TC_CG_OUTPUT, e.nout, 0};
            out[e.nout++] = (tc_cg_array){.most = (int64_t)bytes_of(p->buffer), .each = (int64_t)bytes_of(p->buffer)};
        } else {
            args[i] = (tc_cg_operand){TC_CG_INPUT, e.nin, 0};
            in[e.nin++] = (tc_cg_array){.most = (int64_t)bytes_of(p->buffer), .each = (int64_t)bytes_of(p->buffer)};
        }
    }
    tc_cg_step step = {.kernel = k->symbol, .nargs = k->f->nparam, .args = args};
    tc_cg_driver d = {.name = "model_driver", .nsteps = 1, .steps = &step};
    die_if(tc_cg_emit_driver(s->target, &d, &obj, &size, &stack, &err), &err, d.name);
    add_object(s, d.name, obj, size);
    die_if(tc_cg_emit_runtime(s->target, e.runtime, &obj, &size, &stack, &err), &err, e.runtime);
    add_object(s, e.runtime, obj, size);
    die_if(tc_cg_emit_entry(entry, &e, &obj, &size, &stack, &err), &err, e.name);
    add_object(s, "model_entry", obj, size);
    suite_kernel m = *k;
    m.model = true;
    snprintf(m.symbol, sizeof m.symbol, "model_kernel");
    tc_push(&s->kernels, m);
}

static bool has_constants(const tc_func *f) {
    for (int i = 0; i < f->nparam; i++)
        if (f->params[i].kind == TC_PARAM_PACKED)
            return true;
    return false;
}

void suite_build(suite *s, const tc_target *t, const char *dir, const suite_options *o) {
    tc_rng rng = tc_rng_seed(3);
    *s = (suite){.target = t, .dir = dir};
    read_cases(s, o);
    for (int i = 0; i < o->drawn; i++)
        tc_push(&s->cases, draw_case(&rng, i));
    for (size_t i = 0; i < s->cases.len; i++)
        schedule(s, s->cases.data[i], o->sampled);
    for (size_t i = 0; i < s->kernels.len; i++)
        compile(s, &s->kernels.data[i]);
    tc_target *other = NULL;
    tc_error err = {0};
    if (o->entry)
        die_if(tc_target_parse(o->entry, &other, &err), &err, o->entry);
    for (size_t i = 0; i < s->kernels.len; i++) {
        if (has_constants(s->kernels.data[i].f)) {
            suite_kernel k = s->kernels.data[i];
            add_model(s, &k, other ? other : t);
            break;
        }
    }
    tc_target_free(other);
}

/* ---- what the harness reads ---- */

/* The entry point takes inputs and outputs apart, and knows its constants: an adapter makes it look like a kernel. */
static void model_adapter(const suite_kernel *k, tc_strbuf *out) {
    tc_sb_add(out, "int32_t model_run(const void *const *inputs, void *const *outputs);\n"
                   "static int32_t model_kernel(void *const *args, uint8_t *workspace, const tc_rt *rt) {\n"
                   "    const void *in[16];\n    void *out[16];\n    int n = 0, m = 0;\n    (void)workspace, (void)rt;\n");
    for (int i = 0; i < k->f->nparam; i++)
        if (k->f->params[i].kind != TC_PARAM_PACKED)
            tc_sb_printf(out, "    %s = args[%d];\n", k->f->params[i].kind == TC_PARAM_OUT ? "out[m++]" : "in[n++]", i);
    tc_sb_add(out, "    return model_run(in, out);\n}\n");
}

void suite_table(const suite *s, tc_strbuf *out) {
    tc_sb_add(out, "#include \"tctune/runtime.h\"\n");
    for (size_t i = 0; i < s->kernels.len; i++) {
        const suite_kernel *k = &s->kernels.data[i];
        if (k->model)
            model_adapter(k, out);
        else
            tc_sb_printf(out, "tc_kernel %s;\n", k->symbol);
    }
    tc_sb_add(out, "tc_kernel *const kernels[] = {\n");
    for (size_t i = 0; i < s->kernels.len; i++)
        tc_sb_printf(out, "    %s,\n", s->kernels.data[i].symbol);
    tc_sb_add(out, "};\nconst char *const kernel_names[] = {\n");
    for (size_t i = 0; i < s->kernels.len; i++)
        tc_sb_printf(out, "    \"%s\",\n", s->kernels.data[i].symbol);
    tc_sb_add(out, "};\n");
}

static void put_word(tc_strbuf *out, uint64_t v) {
    tc_sb_addn(out, (const char *)&v, sizeof v);
}

static void put_argument(tc_strbuf *out, const suite_kernel *k, int i) {
    const tc_param *p = &k->f->params[i];
    size_t n = bytes_of(p->buffer);
    put_word(out, n);
    put_word(out, p->kind == TC_PARAM_OUT);
    if (p->kind == TC_PARAM_OUT)
        return;
    char *data = tc_xcalloc(n + 8, 1);
    if (p->kind == TC_PARAM_PACKED)
        tc_tir_pack(k->f, i, k->of->in[p->index], data);
    else
        memcpy(data, k->of->in[p->index], n);
    tc_sb_addn(out, data, (n + 7) / 8 * 8);
    free(data);
}

void suite_arguments(const suite *s, tc_strbuf *out) {
    put_word(out, s->kernels.len);
    for (size_t i = 0; i < s->kernels.len; i++) {
        const suite_kernel *k = &s->kernels.data[i];
        put_word(out, (uint64_t)tc_cg_workspace_bytes(k->f, 1));
        put_word(out, (uint64_t)tc_cg_workspace_bytes(k->f, THREADS));
        put_word(out, (uint64_t)k->f->nparam);
        for (int p = 0; p < k->f->nparam; p++)
            put_argument(out, k, p);
    }
}

/* ---- comparison ---- */

static double tolerance(tc_dtype t) {
    return t == TC_F64 ? 1e-11 : t == TC_F32 ? 1e-4 : t == TC_F16 ? 2e-3 : t == TC_BF16 ? 1.6e-2 : 0;
}

static bool close_enough(const suite_case *c, tc_dtype t, double got, double want) {
    if (isnan(want) || isinf(want))
        return isnan(want) ? isnan(got) : got == want;
    double bound = c->ulps ? c->ulps * 0x1p-23 * fabs(want) + 1e-37 : tolerance(t) * fmax(1, fabs(want));
    return fabs(got - want) <= bound;
}

static bool same(const suite_case *c, const tc_tensor *t, const void *got, const void *want, int64_t i, double *g, double *w) {
    if (!tc_dtype_is_float(t->dtype)) {
        int64_t a = tc_load_i(t->dtype, got, i), b = tc_load_i(t->dtype, want, i);
        *g = (double)a, *w = (double)b;
        return a == b;
    }
    *g = tc_load_f(t->dtype, got, i), *w = tc_load_f(t->dtype, want, i);
    return close_enough(c, t->dtype, *g, *w);
}

static bool check_result(const suite_kernel *k, const tc_param *p, const void *got, int threads) {
    const suite_case *c = k->of;
    const tc_tensor *t = c->w->out[p->index];
    double g, w;
    for (int64_t i = 0; i < tc_tensor_size(t); i++) {
        if (same(c, t, got, c->want[p->index], i, &g, &w))
            continue;
        fprintf(stderr, "%s, %d threads: %s[%lld] is %.9g, the interpreter has %.9g\n", k->symbol, threads, t->name, (long long)i,
                g, w);
        return false;
    }
    return true;
}

/* Both runs of one kernel; *at moves over its results. */
static bool check_kernel(const suite_kernel *k, const char *results, size_t size, size_t *at) {
    bool ok = true;
    for (int threads = 1; threads <= THREADS; threads += THREADS - 1) {
        for (int i = 0; i < k->f->nparam; i++) {
            const tc_param *p = &k->f->params[i];
            size_t n = bytes_of(p->buffer);
            if (p->kind != TC_PARAM_OUT)
                continue;
            if (*at + n > size) {
                fprintf(stderr, "%s: the file of results ends early\n", k->symbol);
                return false;
            }
            void *copy = tc_xmalloc(n + 1); /* aligned for its type */
            memcpy(copy, results + *at, n);
            ok = check_result(k, p, copy, threads) && ok;
            free(copy);
            *at += n;
        }
    }
    return ok;
}

static void show(const suite_kernel *k) {
    tc_strbuf b = {0};
    tc_tir_print(&b, k->f);
    fprintf(stderr, "%s\n", tc_sb_str(&b));
    tc_strbuf_free(&b);
}

int suite_compare(const suite *s, const char *results, size_t size) {
    size_t at = 0;
    int wrong = 0;
    for (size_t i = 0; i < s->kernels.len; i++) {
        if (check_kernel(&s->kernels.data[i], results, size, &at))
            continue;
        if (wrong++ == 0)
            show(&s->kernels.data[i]);
        if (wrong == MOST_SHOWN)
            break;
    }
    return wrong;
}

void suite_free(suite *s) {
    for (size_t i = 0; i < s->cases.len; i++) {
        suite_case *c = s->cases.data[i];
        for (int k = 0; k < c->w->nin; k++)
            free(c->in[k]);
        for (int k = 0; k < c->w->nout; k++)
            free(c->want[k]);
        free(c->in);
        free(c->want);
        free(c->name);
        tc_ctx_free(c->ctx);
        free(c);
    }
    for (size_t i = 0; i < s->objects.len; i++)
        free(s->objects.data[i]);
    tc_vec_free(&s->cases);
    tc_vec_free(&s->kernels);
    tc_vec_free(&s->objects);
}
