/* Integer arithmetic at the extremes of every type: random expressions over the smallest and largest numbers, constants and data,
 * with indices whose arithmetic wraps too. What the interpreter of workloads says (te/expr.h has its semantics), the simplified
 * bodies, the lowered programs of random schedules under their interpreter, the compiled kernels and the kernels in C must say as
 * well, bit for bit.
 *
 *     test_cg_extremes [CASES [SEED]]                 C is compiled for batches of cases; --no-c: not at all */
#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "codegen/artefacts/library.h"
#include "codegen/c_source/c_source.h"
#include "common/cases.h"
#include "common/random_trace.h"
#include "kernel.h"
#include "support/system/fs.h"
#include "te/eval.h"
#include "te/text.h"
#include "tir_lower/interp/interp.h"
#include "tir_lower/program/program.h"
#include "tir_lower/text/text.h"

enum { DEFAULT_CASES = 100, BATCH = 100, MAX_STEPS = 14, DEPTH = 4, NINPUT = 3 };

#ifdef TCTUNE_SANITIZED
#define C_OPTIONS "-O0"
#else
#define C_OPTIONS "-O1"
#endif

/* ---- workloads ---- */

static const tc_dtype INTS[] = {TC_I8, TC_U8, TC_I16, TC_U16, TC_I32, TC_U32, TC_I64, TC_U64, TC_I64, TC_I64};

typedef struct gen {
    tc_ctx *c;
    tc_rng *r;
    const tc_tensor *in[NINPUT + 1]; /* the last one of f32 */
    tc_axis i, j, k;
    bool in_reduction;
    const tc_tensor *stage; /* NULL: there is none yet */
} gen;

static bool chance(gen *g, int percent) {
    return tc_rng_below(g->r, 100) < percent;
}

static tc_dtype any_type(gen *g) {
    return INTS[tc_rng_below(g->r, TC_LEN(INTS))];
}

/* Often what lies at the ends of the type, or what divides them. */
static int64_t extreme(tc_rng *r, tc_dtype t) {
    int bits = tc_dtype_bits(t);
    int64_t low = tc_int_min(t), high = t == TC_U64 ? -1 : tc_int_max(t), power = (int64_t)1 << tc_rng_below(r, bits - 1);
    const int64_t some[] = {low,
                            high,
                            low + 1,
                            high - 1,
                            0,
                            1,
                            -1,
                            2,
                            3,
                            power,
                            -power,
                            power - 1,
                            power + 1,
                            (int64_t)tc_rng_next(r),
                            tc_rng_below(r, 17) - 8};
    return tc_wrap_i(t, some[tc_rng_below(r, TC_LEN(some))]);
}

static const tc_expr *axis_value(gen *g) {
    int64_t which = tc_rng_below(g->r, g->in_reduction ? 3 : 2);
    return tc_varx(g->c, which == 0 ? g->i.var : which == 1 ? g->j.var : g->k.var);
}

static const tc_expr *random_expr(gen *g, tc_dtype t, int depth);

/* An index into [0, extent), whatever x is. */
static const tc_expr *inside(gen *g, const tc_expr *x, int64_t extent) {
    const tc_expr *least = tc_i64(g->c, 0), *most = tc_i64(g->c, extent - 1);
    if (chance(g, 40))
        return tc_mod(g->c, x, tc_i64(g->c, extent));
    return tc_bin(g->c, TC_OP_MAX, tc_bin(g->c, TC_OP_MIN, x, most), least);
}

static const tc_expr *element(gen *g, const tc_tensor *t, int depth) {
    const tc_expr *at[] = {tc_varx(g->c, g->i.var), tc_varx(g->c, g->j.var)};
    if (depth > 1 && chance(g, 25)) {
        int d = (int)tc_rng_below(g->r, 2);
        at[d] = inside(g, random_expr(g, TC_I64, depth - 1), t->shape[d]);
    }
    return tc_read(g->c, t, 2, at);
}

static const tc_expr *leaf(gen *g, tc_dtype t, int depth) {
    int64_t which = tc_rng_below(g->r, 100);
    if (which < 35)
        return tc_int(g->c, t, extreme(g->r, t));
    if (which < 60)
        return tc_cast(g->c, t, axis_value(g));
    if (which < 75 && g->stage)
        return tc_cast(g->c, t, element(g, g->stage, depth));
    return tc_cast(g->c, t, element(g, g->in[tc_rng_below(g->r, NINPUT + 1)], depth));
}

static const tc_expr *condition(gen *g, int depth) {
    static const tc_op ORDERS[] = {TC_OP_EQ, TC_OP_NE, TC_OP_LT, TC_OP_LE, TC_OP_GT, TC_OP_GE};
    tc_dtype t = any_type(g);
    const tc_expr *x =
        tc_bin(g->c, ORDERS[tc_rng_below(g->r, TC_LEN(ORDERS))], random_expr(g, t, depth - 1), random_expr(g, t, depth - 1));
    if (depth > 1 && chance(g, 30))
        return tc_bin(g->c, chance(g, 50) ? TC_OP_AND : TC_OP_OR, x, condition(g, depth - 1));
    return chance(g, 20) ? tc_un(g->c, TC_OP_NOT, x) : x;
}

/* Sums of multiples of axes, as indices are, whose multiples are not modest. */
static const tc_expr *linear(gen *g) {
    const tc_expr *sum = tc_i64(g->c, extreme(g->r, TC_I64));
    for (int64_t n = 1 + tc_rng_below(g->r, 3); n; n--)
        sum = tc_add(g->c, sum, tc_mul(g->c, axis_value(g), tc_i64(g->c, extreme(g->r, TC_I64))));
    return sum;
}

static const tc_expr *random_expr(gen *g, tc_dtype t, int depth) {
    static const tc_op BINARY[] = {TC_OP_ADD, TC_OP_SUB, TC_OP_MUL, TC_OP_DIV,  TC_OP_MOD, TC_OP_TDIV, TC_OP_TMOD, TC_OP_MIN,
                                   TC_OP_MAX, TC_OP_ADD, TC_OP_SUB, TC_OP_MUL,  TC_OP_DIV, TC_OP_MOD,  TC_OP_MIN,  TC_OP_MAX,
                                   TC_OP_POW, TC_OP_SHL, TC_OP_SHR, TC_OP_BAND, TC_OP_BOR, TC_OP_BXOR};
    if (depth <= 0)
        return leaf(g, t, depth);
    if (t == TC_I64 && chance(g, 15))
        return linear(g);
    int64_t which = tc_rng_below(g->r, 100);
    if (which < 12)
        return tc_select(g->c, condition(g, depth - 1), random_expr(g, t, depth - 1), random_expr(g, t, depth - 1));
    if (which < 22)
        return tc_cast(g->c, t, random_expr(g, any_type(g), depth - 1));
    if (which < 26)
        return tc_cast(g->c, t, condition(g, depth - 1));
    if (which < 30)
        return tc_un(g->c, TC_OP_ABS, random_expr(g, t, depth - 1));
    const tc_expr *a = random_expr(g, t, depth - 1);
    const tc_expr *b =
        chance(g, 40) ? tc_int(g->c, t, extreme(g->r, t)) : random_expr(g, t, depth - 1 - (int)tc_rng_below(g->r, 2));
    return tc_bin(g->c, BINARY[tc_rng_below(g->r, TC_LEN(BINARY))], a, b);
}

static const tc_compute *stage(gen *g, const char *name, tc_reducer red) {
    static const int64_t EXTENTS[] = {1, 2, 3, 5, 8, 17, 33};
    const tc_axis axes[] = {g->i, g->j};
    g->k = tc_te_axis(g->c, "k", EXTENTS[tc_rng_below(g->r, TC_LEN(EXTENTS))]);
    g->in_reduction = red != TC_RED_NONE;
    const tc_expr *body = random_expr(g, any_type(g), DEPTH);
    return tc_te_compute(g->c, name, 2, axes, red, red != TC_RED_NONE, &g->k, 1, &body);
}

static tc_workload *random_workload(tc_ctx *c, tc_rng *r) {
    static const tc_reducer REDUCERS[] = {TC_RED_NONE, TC_RED_NONE, TC_RED_NONE, TC_RED_SUM, TC_RED_PROD, TC_RED_MAX, TC_RED_MIN};
    static const int64_t EXTENTS[] = {1, 2, 3, 4, 7, 16, 19, 32, 35};
    gen g = {.c = c, .r = r};
    const int64_t shape[] = {1 + tc_rng_below(r, 4), EXTENTS[tc_rng_below(r, TC_LEN(EXTENTS))]};
    for (int n = 0; n <= NINPUT; n++)
        g.in[n] = tc_te_placeholder(c, tc_arena_printf(tc_ctx_arena(c), "X%d", n), n == NINPUT ? TC_F32 : any_type(&g), 2, shape,
                                    false);
    const tc_compute *last = NULL;
    for (int64_t n = 1 + tc_rng_below(r, 2), at = 0; at < n; at++) {
        g.i = tc_te_axis(c, "i", shape[0]);
        g.j = tc_te_axis(c, "j", shape[1]);
        last = stage(&g, tc_arena_printf(tc_ctx_arena(c), "Y%d", (int)at), REDUCERS[tc_rng_below(r, TC_LEN(REDUCERS))]);
        g.stage = last->out[0];
    }
    tc_workload *w = NULL;
    tc_error err = {0};
    if (tc_te_workload(c, NINPUT + 1, g.in, 1, &last->out[0], &w, &err) != TC_OK) {
        fprintf(stderr, "a workload is refused: %s\n", err.msg);
        abort();
    }
    return w;
}

/* ---- what each says ---- */

typedef struct example {
    uint64_t seed;
    tc_ctx *c, *child;
    const tc_workload *w;
    tc_func *f; /* NULL: the schedule was refused */
    void *in[NINPUT + 1], *want;
} example;

static size_t bytes_of(const tc_tensor *t) {
    return (size_t)tc_tensor_size(t) * (size_t)tc_dtype_bytes(t->dtype);
}

static void fill(const tc_tensor *t, void *data, tc_rng *r) {
    static const double FLOATS[] = {0,      -0.5,    1,      -1,   127.5, -128.7,   65535.9,   2147483648.0, -2147483904.0,
                                    0x1p63, -0x1p63, 0x1p64, 1e30, -1e30, INFINITY, -INFINITY, NAN};
    for (int64_t i = 0; i < tc_tensor_size(t); i++)
        if (t->dtype == TC_F32)
            tc_store_f(t->dtype, data, i, FLOATS[tc_rng_below(r, TC_LEN(FLOATS))]);
        else
            tc_store_i(t->dtype, data, i, extreme(r, t->dtype));
}

static bool fails(const example *x, const char *who, const char *why) {
    tc_strbuf b = {0};
    tc_te_print(&b, x->w);
    if (x->f)
        tc_tir_print(&b, x->f);
    fprintf(stderr, "FAILED seed %llu: %s: %s\n%s\n", (unsigned long long)x->seed, who, why, tc_sb_str(&b));
    tc_strbuf_free(&b);
    return false;
}

static bool agrees(const example *x, const char *who, const void *got) {
    const tc_tensor *t = x->w->out[0];
    for (int64_t i = 0; i < tc_tensor_size(t); i++)
        if (tc_load_i(t->dtype, got, i) != tc_load_i(t->dtype, x->want, i)) {
            char why[160];
            snprintf(why, sizeof why, "element %lld is %lld, not %lld", (long long)i, (long long)tc_load_i(t->dtype, got, i),
                     (long long)tc_load_i(t->dtype, x->want, i));
            return fails(x, who, why);
        }
    return true;
}

/* The same workload but for its last compute, whose body is simplified. */
static const tc_workload *simplified(example *x) {
    const tc_compute *last = x->w->computes[x->w->ncompute - 1];
    tc_env *env = tc_env_new();
    for (int i = 0; i < last->naxis + last->nraxis; i++) {
        const tc_axis *a = i < last->naxis ? &last->axes[i] : &last->raxes[i - last->naxis];
        tc_env_set(env, a->var, (tc_ival){0, a->extent - 1});
    }
    const tc_expr *body = tc_te_simplify(x->c, last->body[0], env);
    tc_env_free(env);
    const tc_compute *op =
        tc_te_compute(x->c, last->name, last->naxis, last->axes, last->reducer, last->nraxis, last->raxes, 1, &body);
    tc_workload *w = NULL;
    tc_error err = {0};
    if (tc_te_workload(x->c, x->w->nin, x->w->in, 1, &op->out[0], &w, &err) != TC_OK) {
        fails(x, "simplified, it is refused", err.msg);
        return NULL;
    }
    return w;
}

static bool interpret(example *x) {
    tc_error err = {0};
    void *out = x->want = tc_xcalloc(bytes_of(x->w->out[0]) + 1, 1);
    if (tc_te_interp(x->w, (const void *const *)x->in, &out, &err) != TC_OK)
        return fails(x, "interpreter", err.msg);
    const tc_workload *w = simplified(x);
    if (!w)
        return false;
    out = tc_xcalloc(bytes_of(x->w->out[0]) + 1, 1);
    bool ok = tc_te_interp(w, (const void *const *)x->in, &out, &err) == TC_OK ? agrees(x, "simplified", out)
                                                                               : fails(x, "simplified", err.msg);
    free(out);
    return ok;
}

static void **arguments(const example *x) {
    void **a = kernel_args(x->f);
    for (int i = 0; i < x->f->nparam; i++) {
        const tc_param *p = &x->f->params[i];
        if (p->kind == TC_PARAM_OUT)
            memset(a[i], 0x7b, bytes_of(x->w->out[p->index]));
        else
            memcpy(a[i], x->in[p->index], bytes_of(x->w->in[p->index]));
    }
    return a;
}

static bool result_agrees(const example *x, const char *who, void **args) {
    bool ok = agrees(x, who, args[x->f->nparam - 1]);
    kernel_free_args(x->f, args);
    return ok;
}

static bool run_lowered(const example *x) {
    tc_error err = {0};
    void **args = arguments(x);
    if (tc_tir_interp(x->f, args, &err) != TC_OK)
        return fails(x, "interpreter of the program", err.msg);
    if (!result_agrees(x, "interpreter of the program", args))
        return false;
    kernel k = {.f = x->f};
    if (kernel_try(&k, kernel_target(), &(tc_cg_options){.verify = true}, &err) != TC_OK)
        return fails(x, "code generator", err.msg);
    args = arguments(x);
    kernel_run(&k, args, 1);
    tc_cg_module_free(k.mod);
    return result_agrees(x, "compiled kernel", args);
}

static bool open_example(example *x, uint64_t seed) {
    tc_rng r = tc_rng_seed(seed);
    tc_error err = {0};
    *x = (example){.seed = seed, .c = tc_ctx_new()};
    x->w = random_workload(x->c, &r);
    for (int i = 0; i < x->w->nin; i++) {
        x->in[i] = tc_xcalloc(bytes_of(x->w->in[i]) + 1, 1);
        fill(x->w->in[i], x->in[i], &r);
    }
    if (!interpret(x))
        return false;
    x->child = tc_ctx_child(x->c);
    tc_tir_origin from = {
        .workload = x->w, .machine = &kernel_target()->machine, .trace = tc_test_random_trace(x->child, x->w, &r, MAX_STEPS)};
    tc_tir_program p;
    if (tc_tir_program_make(x->child, &from, TC_TIR_LOWERED, &p, &err) != TC_OK)
        return true;
    x->f = p.lowered;
    return run_lowered(x);
}

static void close_example(example *x) {
    for (int i = 0; i <= NINPUT; i++)
        free(x->in[i]);
    free(x->want);
    tc_ctx_free(x->child);
    tc_ctx_free(x->c);
}

/* ---- C ---- */

static void write_c(const example *x, int n, const char *path) {
    tc_strbuf b = {0};
    tc_error err = {0};
    tc_cg_c_prelude(&b);
    for (int i = 0; i < n; i++) {
        char symbol[32];
        snprintf(symbol, sizeof symbol, "kernel%d", i);
        if (!x[i].f)
            continue;
        if (tc_cg_emit_c(x[i].f, symbol, 1, &b, NULL, &err) != TC_OK) {
            fails(&x[i], "C", err.msg);
            abort();
        }
        tc_sb_printf(&b, "void case%d(void *const *a, uint8_t *ws);\nvoid case%d(void *const *a, uint8_t *ws) {\n    %s(", i, i,
                     symbol);
        for (int k = 0; k < x[i].f->nparam; k++)
            tc_sb_printf(&b, "a[%d], ", k);
        tc_sb_add(&b, "ws);\n}\n\n");
    }
    if (tc_fs_write(path, b.data, b.len, &err) != TC_OK)
        abort();
    tc_strbuf_free(&b);
}

static bool run_c(const example *x, int n) {
    char *dir, path[1200], command[4000];
    tc_error err = {0};
    if (tc_fs_temp_dir(&dir, &err) != TC_OK)
        abort();
    snprintf(path, sizeof path, "%s/cases.c", dir);
    write_c(x, n, path);
    snprintf(command, sizeof command, "cc -std=c17 -Wall -fPIC -shared " C_OPTIONS " -o %s/cases.so %s -lm", dir, path);
    void *lib = system(command) ? NULL : (snprintf(path, sizeof path, "%s/cases.so", dir), dlopen(path, RTLD_NOW | RTLD_LOCAL));
    bool ok = lib != NULL;
    for (int i = 0; ok && i < n; i++) {
        char name[32];
        snprintf(name, sizeof name, "case%d", i);
        void (*call)(void *const *, uint8_t *);
        void *symbol = dlsym(lib, name);
        if (!x[i].f)
            continue;
        memcpy(&call, &symbol, sizeof symbol);
        void **args = arguments(&x[i]);
        uint8_t *ws = kernel_alloc((size_t)tc_cg_workspace_bytes(x[i].f, 1) + 1);
        call(args, ws);
        free(ws);
        ok = result_agrees(&x[i], "kernel in C", args);
    }
    if (lib)
        dlclose(lib);
    tc_fs_remove_tree(dir);
    free(dir);
    return ok;
}

int main(int argc, char **argv) {
    bool c = !(argc > 1 && strcmp(argv[argc - 1], "--no-c") == 0);
    argc -= !c;
    const test_cases asked = test_cases_of(argc, argv, DEFAULT_CASES);
    int failed = 0, refused = 0;
    example *x = tc_xcalloc(BATCH, sizeof *x);
    for (uint64_t from = 0; from < asked.n && failed < 3; from += BATCH) {
        int n = 0;
        bool good = true;
        for (; n < BATCH && from + (uint64_t)n < asked.n && failed < 3; n++) {
            bool ok = open_example(&x[n], asked.seed + from + (uint64_t)n);
            failed += !ok;
            good &= ok;
            refused += !x[n].f;
        }
        if (good && c)
            failed += !run_c(x, n);
        for (int i = 0; i < n; i++)
            close_example(&x[i]);
    }
    free(x);
    printf("%llu cases from seed %llu: %d failed, %d schedules refused\n", (unsigned long long)asked.n,
           (unsigned long long)asked.seed, failed, refused);
    return failed || (asked.n >= 30 && (uint64_t)refused * 3 > asked.n);
}
