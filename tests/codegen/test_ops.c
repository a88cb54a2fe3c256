/* Every operation of ops.def and every reducer of reducers.def, on every type that it takes, at the special values of the type in
 * all pairs, by everything that evaluates expressions: the interpreter of workloads, which the others are compared with; simplified
 * bodies; the constructors, which fold immediates; the interpreter of lowered programs; compiled kernels, scalar and in vectors;
 * and kernels in C. In some programs one operand is an immediate, or all of them are, so that LLVM and the C compiler fold; in
 * some both operands are one. Results have the same bits; OPEN lists the exceptions. The test reads the tables, so it tries a new
 * operation without a change here.
 *
 * $TCTUNE_TEST_FULL: every special value becomes an immediate, every value of a byte is special, and C is optimised. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dlfcn.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "codegen/c_source/c_source.h"
#include "common/test_size.h"
#include "elementwise.h"
#include "support/system/fs.h"
#include "te/te_int.h"
#include "tir_lower/interp/interp.h"
#include "tir_lower/program/program.h"

/* ---- special values ---- */

enum { MOST_VALUES = 256, WIDEST = 16 };

/* Elements of type t, each once. */
typedef struct values {
    tc_dtype t;
    int n;
    uint64_t data[MOST_VALUES];
} values;

static void *element(tc_dtype t, const void *base, int64_t i) {
    return (uint8_t *)base + i * tc_dtype_bytes(t);
}

/* Where v has x; v->n: nowhere. */
static int find_element(const values *v, const void *x) {
    int i = 0;
    while (i < v->n && memcmp(element(v->t, v->data, i), x, (size_t)tc_dtype_bytes(v->t)) != 0)
        i++;
    return i;
}

static void add_element(values *v, const void *x) {
    if (find_element(v, x) < v->n)
        return;
    assert_true(v->n < MOST_VALUES);
    memcpy(element(v->t, v->data, v->n++), x, (size_t)tc_dtype_bytes(v->t));
}

static void add_int(values *v, int64_t x) {
    uint64_t e = 0;
    tc_store_i(v->t, &e, 0, x);
    add_element(v, &e);
}

static void add_float(values *v, double x) {
    uint64_t e = 0;
    for (int sign = 0; sign < (isnan(x) ? 1 : 2); sign++) {
        tc_store_f(v->t, &e, 0, sign ? -x : x);
        add_element(v, &e);
    }
}

/* Of a type that is narrow. */
static void add_codes(values *v) {
    for (int code = 0; code < 1 << tc_dtype_bits(v->t); code++)
        if (tc_dtype_is_float(v->t))
            add_element(v, &(uint64_t){(uint64_t)code});
        else
            add_int(v, code);
}

/* Limits, powers of two and their neighbours: the limits of other types, the ends of f32's and f64's exact integers, and amounts
 * of shifts around the width are among them. */
static void add_ints(values *v) {
    static const int8_t POWERS[] = {1, 2, 3, 4, 5, 6, 7, 8, 15, 16, 23, 24, 25, 30, 31, 32, 33, 52, 53, 54, 62, 63};
    static const int64_t OTHERS[] = {0, 7, -7, 10, 100, -100, 12345678901};
    for (size_t i = 0; i < TC_LEN(POWERS); i++)
        for (int beside = -1; beside <= 1; beside++) {
            uint64_t x = ((uint64_t)1 << POWERS[i]) + (uint64_t)beside;
            add_int(v, (int64_t)x);
            add_int(v, (int64_t)(0 - x));
        }
    for (size_t i = 0; i < TC_LEN(OTHERS); i++)
        add_int(v, OTHERS[i]);
}

static double least_above_one(tc_dtype t) {
    return 1 + tc_dtype_epsilon(t);
}

/* Of both signs: zero, what is not finite, the ends of what the float types hold, ties, the ends of the integer types and of exact
 * integers, and where functions bend or leave their range. */
static void add_floats(values *v) {
    static const double SOME[] = {
        0, 1, 2, 3, 10, 0.5, 1.5, 2.5, 3.5, 0.1, 1.0 / 3, 0.7, 100.25, 7, 1e-3, 1e-8, 1e5, 1e20, 1e30, (double)INFINITY,
        (double)NAN, M_PI, M_PI_2, M_E, 0x1.fffffep-2, 0x1.fffffffffffffp-2,
        /* integer types */
        7.5, 8, 8.5, 15.5, 127, 127.5, 128, 128.5, 255, 255.5, 256, 32767.5, 32768, 65535.5, 65536, 0x1.fffffep30,
        0x1.fffffffcp30, 0x1p31, 0x1.fffffep31, 0x1.fffffffep31, 0x1p32, 0x1.fffffep62, 0x1.fffffffffffffp62, 0x1p63,
        0x1.fffffep63, 0x1.fffffffffffffp63, 0x1p64,
        /* exact integers */
        255.75, 256.5, 257, 2047, 2048, 2049, 0x1.fffffcp22, 0x1p23, 0x1.fffffep23, 0x1p24, 0x1.000001p24, 0x1.fffffffffffffp52,
        0x1p53,
        /* ties of the narrow types, and their ends */
        0x1.002p0, 0x1.006p0, 0x1.01p0, 0x1.03p0, 0x1.0020000001p0, 0x1.01000001p0, 65504, 65519, 65520, 0x1p-14, 0x1.ff8p-15,
        0x1p-24, 0x1p-25, 0x1.000002p-25, 0x1.fep127, 0x1.ffp127, 0x1p-133, 0x1p-134, 448, 464, 480, 240, 248, 57344, 61440,
        0x1p-9, 0x1p-10, 0x1p-16, 0x1p-17, 6, 0.25, 0.75, 1.25,
        /* f32 and f64 */
        FLT_MAX, FLT_MAX / 2, 0x1.ffffffp127, FLT_MIN, FLT_MIN * 1.5, 0x1.fffffcp-127, 0x1p-149, 0x1p-150, DBL_MAX, DBL_MIN,
        DBL_MIN / 2, 0x1p-1074,
        /* functions */
        88.72283, 88.73, 103.9, 104.1, 709.78, 709.79, 745.2, 11.09, 17.5, 9.02, 3.92, 1.4142135, 0.70710677};
    for (size_t i = 0; i < TC_LEN(SOME); i++)
        add_float(v, SOME[i]);
    add_float(v, least_above_one(v->t));
    add_float(v, 1 - tc_dtype_epsilon(v->t) / 2);
}

static void special(values *v, tc_dtype t) {
    *v = (values){.t = t};
    if (tc_dtype_bits(t) <= (test_is_full() ? 8 : 4))
        add_codes(v);
    else if (tc_dtype_is_float(t))
        add_floats(v);
    else
        add_ints(v);
}

/* Those that become immediates: identities, what divides and shifts are made of, and ends. */
static void telling(values *v, tc_dtype t) {
    static const double FLOATS[] = {0, (double)INFINITY, (double)NAN, 1, 128};
    *v = (values){.t = t};
    if (tc_dtype_is_float(t)) {
        for (size_t i = 0; i < TC_LEN(FLOATS); i++)
            add_float(v, FLOATS[i]);
        return;
    }
    const int64_t ints[] = {0, -1, tc_dtype_bits(t), 1, 4, tc_int_min(t), tc_int_max(t)};
    for (size_t i = 0; i < TC_LEN(ints); i++)
        add_int(v, ints[i]);
}

static const tc_expr *immediate(tc_ctx *c, const values *v, int i) {
    return tc_dtype_is_float(v->t) ? tc_float(c, v->t, tc_load_f(v->t, v->data, i))
                                   : tc_int(c, v->t, tc_load_i(v->t, v->data, i));
}

/* ---- programs ---- */

/* Inputs: three operands, and a bool. */
enum { A, B, D, CHOICE, NIN, SCHEDULES = 3 };
static const int LANES[SCHEDULES] = {1, 16, 4};

/* One output: of an operation, or of a reduction of an element of A and the one of B. */
typedef struct trial {
    tc_op op;
    tc_reducer red;
    tc_dtype to;            /* of the result */
    int fixed;              /* the operand that is an immediate; NIN: none */
    const tc_expr *operand; /* that immediate */
    bool same;              /* B is A */
    void *want;
} trial;

/* Programs that compute the same outputs of the same inputs. */
typedef struct batch {
    char name[32];
    tc_dtype t;
    values some;
    int64_t n; /* elements of each array */
    tc_ctx *ctx;
    const tc_workload *w; /* NULL: the program is lowered already */
    TC_VEC(trial) trials;
    void *in[NIN];
    const tc_func *f[SCHEDULES];
} batch;

static tc_dtype type_of_input(const batch *b, int k) {
    return k == CHOICE ? TC_BOOL : b->t;
}

static void *array_of(tc_dtype t, int64_t n) {
    return tc_xcalloc((size_t)n, (size_t)tc_dtype_bytes(t));
}

static void copy_value(const batch *b, int k, int64_t at, int64_t value) {
    memcpy(element(b->t, b->in[k], at), element(b->t, b->some.data, value % b->some.n), (size_t)tc_dtype_bytes(b->t));
}

/* n elements or more, whole vectors: each value in A and B, or the first n of all pairs. */
static void open_batch(batch *b, const char *what, const values *some, int64_t n) {
    int64_t v = some->n;
    *b = (batch){.t = some->t, .some = *some, .n = (n + WIDEST - 1) / WIDEST * WIDEST, .ctx = tc_ctx_new()};
    snprintf(b->name, sizeof b->name, "%s_%s", what, tc_dtype_name(b->t));
    for (int k = 0; k < NIN; k++)
        b->in[k] = array_of(type_of_input(b, k), b->n);
    for (int64_t i = 0; i < b->n; i++) {
        copy_value(b, A, i, i);
        copy_value(b, B, i, n > v ? i / v : i);
        copy_value(b, D, i, i * 7 + i / v * 3);
        tc_store_i(TC_BOOL, b->in[CHOICE], i, (i ^ i >> 3) & 1);
    }
}

static void close_batch(batch *b) {
    for (int k = 0; k < NIN; k++)
        free(b->in[k]);
    for (size_t i = 0; i < b->trials.len; i++)
        free(b->trials.data[i].want);
    tc_vec_free(&b->trials);
    tc_ctx_free(b->ctx);
}

static void add_trial(batch *b, trial x) {
    x.want = array_of(x.to, b->n);
    tc_push(&b->trials, x);
}

/* Operations on values of type t, and a bool that chooses. Leaves, memory and vectors compute nothing; casts and dot products are
 * tried apart. */
static bool has_op(tc_op op, tc_dtype t, int arity) {
    te_takes takes = te_takes_of(op);
    if (tc_op_arity(op) != arity || takes < TE_CHOICE || takes == TE_CONVERTIBLE)
        return false;
    tc_ctx *c = tc_ctx_new();
    const tc_expr *like = tc_imm(c, t, 1);
    bool has = takes == TE_CHOICE || !te_op_problem(op, like, arity > 1 ? like : NULL);
    tc_ctx_free(c);
    return has;
}

/* The operation of a trial; x[CHOICE] is a bool. */
static const tc_expr *apply(tc_ctx *c, const trial *x, const tc_expr *const *in) {
    if (x->op == TC_OP_CAST)
        return tc_cast(c, x->to, in[A]);
    if (x->op == TC_OP_SELECT)
        return tc_select(c, in[CHOICE], in[A], in[B]);
    if (tc_op_arity(x->op) == 1)
        return tc_un(c, x->op, in[A]);
    if (tc_op_arity(x->op) == 2)
        return tc_bin(c, x->op, in[A], in[B]);
    if (x->op != TC_OP_FMA)
        fail_msg("this test does not know how an expression of %s is made", tc_op_text(x->op));
    return tc_fma(c, in[A], in[B], in[D]);
}

static void add_op(batch *b, tc_op op, tc_dtype to) {
    add_trial(b, (trial){.op = op, .to = tc_op_traits(op) & TC_COMPARE ? TC_BOOL : to, .fixed = NIN});
}

static void add_ops(batch *b, int arity) {
    for (int op = 0; op < TC_NOPS; op++)
        if (has_op((tc_op)op, b->t, arity))
            add_op(b, (tc_op)op, b->t);
}

static void add_casts(batch *b) {
    for (int to = 0; to < TC_NDTYPES; to++)
        if (to != (int)b->t)
            add_op(b, TC_OP_CAST, (tc_dtype)to);
}

/* Takes the results of x from those for all pairs: constructors may have simplified x. */
static void want_of_pairs(const batch *b, const trial *x, const batch *pairs, int value) {
    const trial *y = pairs->trials.data;
    int64_t v = pairs->some.n;
    while (y->op != x->op || y->red != TC_RED_NONE)
        y++;
    for (int64_t i = 0; i < b->n; i++) {
        int64_t other = i % v, at = x->same ? other * v + other : x->fixed == A ? other * v + value : value * v + other;
        memcpy(element(x->to, x->want, i), element(x->to, y->want, at), (size_t)tc_dtype_bytes(x->to));
    }
}

/* Operations with one value twice. */
static void add_same(batch *b, const batch *pairs) {
    for (int op = 0; op < TC_NOPS; op++)
        if (has_op((tc_op)op, b->t, 2)) {
            add_op(b, (tc_op)op, b->t);
            trial *x = &b->trials.data[b->trials.len - 1];
            x->same = true;
            want_of_pairs(b, x, pairs, 0);
        }
}

/* Operations with two operands, of which one is an immediate: some[i]. */
static void add_immediates(batch *b, const values *some, int i, const batch *pairs) {
    int value = find_element(&pairs->some, element(b->t, some->data, i));
    assert_true(value < pairs->some.n);
    for (int op = 0; op < TC_NOPS; op++)
        for (int k = A; k <= B && has_op((tc_op)op, b->t, 2); k++) {
            add_trial(b, (trial){.op = (tc_op)op,
                                 .to = tc_op_traits((tc_op)op) & TC_COMPARE ? TC_BOOL : b->t,
                                 .fixed = k,
                                 .operand = immediate(b->ctx, some, i)});
            want_of_pairs(b, &b->trials.data[b->trials.len - 1], pairs, value);
        }
}

static void add_reducers(batch *b) {
    for (int r = TC_RED_NONE + 1; r < TC_NREDUCERS; r++) {
        const te_reducer *row = te_reducer_of((tc_reducer)r);
        for (int o = 0; o < row->nout && has_op(row->op, b->t, 2); o++)
            add_trial(b, (trial){.op = row->op, .red = (tc_reducer)r, .to = o ? TC_I64 : b->t, .fixed = NIN});
    }
}

/* ---- results ---- */

/* One result of a trial. */
typedef struct place {
    const batch *b;
    const trial *x;
    int64_t at;
    double got, want;
} place;

static double as_float(tc_dtype t, const void *base, int64_t i) {
    return tc_dtype_is_float(t) ? tc_load_f(t, base, i) : (double)tc_load_i(t, base, i);
}

static double operand_at(const batch *b, const trial *x, int k, int64_t i) {
    if (x->same)
        k = A;
    if (x->fixed == k)
        return tc_dtype_is_float(b->t) ? x->operand->u.f : (double)x->operand->u.i;
    return as_float(b->t, b->in[k], i);
}

static double least_normal(tc_dtype t) {
    return t == TC_F64 ? DBL_MIN : (double)FLT_MIN;
}

static bool is_subnormal(tc_dtype t, double x) {
    return x != 0 && fabs(x) < least_normal(t);
}

/* A number that rounds to the smallest normal one is below it. */
static bool is_flushed(const place *p) {
    return p->got == 0 && fabs(p->want) <= least_normal(p->x->to) && signbit(p->got) == signbit(p->want);
}

/* A reduction starts with a step that changes nothing, but may flush. */
static bool has_flushed_operand(const place *p) {
    bool a = is_subnormal(p->b->t, operand_at(p->b, p->x, A, p->at)), b = is_subnormal(p->b->t, operand_at(p->b, p->x, B, p->at));
    return (p->x->red == TC_RED_PROD && (a || b)) ||
           (p->x->red == TC_RED_SUM && (a || b) && fabs(p->got - p->want) <= 2 * least_normal(p->x->to));
}

static bool is_either_zero(const place *p) {
    return (p->x->op == TC_OP_MIN || p->x->op == TC_OP_MAX) && p->got == 0 && p->want == 0;
}

static double bound_of(tc_op op, tc_dtype t) {
    static const struct {
        double f32, f64;
    } BOUNDS[TC_NOPS] = {
#define OPERATION(id, f32, f64) [TC_OP_##id] = {f32, f64},
#define FORMULA(...)
#include "te/accuracy.def"
#undef OPERATION
#undef FORMULA
    };
    return t == TC_F64 ? BOUNDS[op].f64 : BOUNDS[op].f32;
}

/* Kernel and interpreter are off by the bound, each to its side, and both round to a narrow type. */
static bool is_close(const place *p) {
    tc_dtype t = p->x->to;
    if (!(tc_op_traits(p->x->op) & TC_MATH) || isnan(p->got) || isnan(p->want) || signbit(p->got) != signbit(p->want))
        return false;
    double narrow = t == TC_F32 || t == TC_F64 ? 0 : tc_dtype_epsilon(t);
    return fabs(p->got - p->want) <= fmax(1.2 * least_normal(t), (2 * bound_of(p->x->op, t) + narrow) * fabs(p->want));
}

/* Where results may differ, and why. */
static const struct {
    bool (*allows)(const place *p);
    const char *why;
} OPEN[] = {
    {is_flushed, "kernels replace results below the smallest normal number of f32 or f64 by zero (te/eval.h)"},
    {has_flushed_operand, "each step of a reduction has such a result"},
    {is_either_zero, "the minimum or maximum of 0 and -0 is either of them (te/ops.def)"},
    {is_close, "mathematical functions have the errors of te/accuracy.def"},
};

typedef struct tally {
    int64_t results, failed, open[TC_LEN(OPEN)];
} tally;

static bool is_open(const place *p, tally *sum) {
    for (size_t i = 0; i < TC_LEN(OPEN); i++)
        if (OPEN[i].allows(p)) {
            sum->open[i]++;
            return true;
        }
    return false;
}

static bool agrees(const batch *b, const trial *x, const void *got, int64_t i, tally *sum) {
    tc_dtype t = x->to;
    if (!tc_dtype_is_float(t))
        return tc_load_i(t, got, i) == tc_load_i(t, x->want, i);
    place p = {.b = b, .x = x, .at = i, .got = tc_load_f(t, got, i), .want = tc_load_f(t, x->want, i)};
    if (isnan(p.got) && isnan(p.want))
        return true;
    return (p.got == p.want && signbit(p.got) == signbit(p.want)) || is_open(&p, sum);
}

static void expect(const batch *b, const trial *x, const void *got, const char *who, tally *sum) {
    enum { SHOWN = 3, MOST = 600 };
    int shown = 0;
    sum->results += b->n;
    for (int64_t i = 0; i < b->n && shown < SHOWN; i++) {
        if (agrees(b, x, got, i, sum))
            continue;
        shown++;
        if (sum->failed++ < MOST)
            print_error("%s: %s %s %s to %s, operands %.17g, %.17g (immediate: %d): %.17g, the interpreter has %.17g\n", b->name,
                        who, tc_op_text(x->op), tc_reducer_name(x->red), tc_dtype_name(x->to), operand_at(b, x, A, i),
                        operand_at(b, x, B, i), x->fixed, as_float(x->to, got, i), as_float(x->to, x->want, i));
    }
}

/* ---- workloads ---- */

static const tc_expr *body_of(batch *b, const trial *x, const tc_axis *i, const tc_tensor *const *in) {
    const tc_expr *arg[NIN], *at = tc_varx(b->ctx, i->var);
    for (int k = 0; k < NIN; k++)
        arg[k] = x->fixed == k ? x->operand : tc_read(b->ctx, in[x->same && k == B ? A : k], 1, &at);
    return apply(b->ctx, x, arg);
}

static const tc_compute *reduction_of(batch *b, const trial *x, const char *name, const tc_axis *i, const tc_tensor *const *in) {
    tc_axis k = tc_te_axis(b->ctx, "k", 2);
    const tc_expr *at = tc_varx(b->ctx, i->var), *step = tc_varx(b->ctx, k.var);
    const tc_expr *pick = tc_bin(b->ctx, TC_OP_EQ, step, tc_i64(b->ctx, 0));
    const tc_expr *body[] = {tc_select(b->ctx, pick, tc_read(b->ctx, in[A], 1, &at), tc_read(b->ctx, in[B], 1, &at)), step};
    return tc_te_compute(b->ctx, name, 1, i, x->red, 1, &k, te_reducer_of(x->red)->nout, body);
}

/* A compute for each trial, or for each two of a reducer with two outputs; `simplify`: bodies as tc_te_simplify makes them. */
static const tc_workload *workload_of(batch *b, bool simplify) {
    const tc_tensor *in[NIN], **out = TC_NEW_N(tc_ctx_arena(b->ctx), const tc_tensor *, b->trials.len);
    static const char *const NAMES[NIN] = {"A", "B", "D", "P"};
    tc_workload *w;
    tc_error err = {0};
    int n = 0;
    for (int k = 0; k < NIN; k++)
        in[k] = tc_te_placeholder(b->ctx, NAMES[k], type_of_input(b, k), 1, &b->n, false);
    while (n < (int)b->trials.len) {
        const trial *x = &b->trials.data[n];
        tc_axis i = tc_te_axis(b->ctx, "i", b->n);
        const char *name = tc_arena_printf(tc_ctx_arena(b->ctx), "Y%d", n);
        const tc_compute *op;
        if (x->red != TC_RED_NONE) {
            op = reduction_of(b, x, name, &i, in);
        } else {
            const tc_expr *body = body_of(b, x, &i, in);
            body = simplify ? tc_te_simplify(b->ctx, body, NULL) : body;
            op = tc_te_compute(b->ctx, name, 1, &i, TC_RED_NONE, 0, NULL, 1, &body);
        }
        for (int o = 0; o < op->nout; o++)
            out[n++] = op->out[o];
    }
    if (tc_te_workload(b->ctx, NIN, in, n, out, &w, &err) != TC_OK)
        fail_msg("%s: %s", b->name, err.msg);
    return w;
}

static void write_schedule(const batch *b, int lanes, tc_strbuf *text) {
    for (int i = 0; i < b->w->ncompute && lanes > 1; i++) {
        const tc_compute *op = b->w->computes[i];
        tc_sb_printf(text, "i_0, i_1 = split %s.i [_, %d]\n", op->name, lanes);
        if (op->nraxis)
            tc_sb_printf(text, "reorder %s.i_0 %s.k %s.i_1\n", op->name, op->name, op->name);
        tc_sb_printf(text, "vectorize %s.i_1\n", op->name);
    }
}

static const tc_func *lower(batch *b, int schedule) {
    tc_strbuf text = {0};
    tc_error err = {0};
    tc_tir_program p;
    write_schedule(b, LANES[schedule], &text);
    const char *name = tc_arena_printf(tc_ctx_arena(b->ctx), "%s_x%d", b->name, LANES[schedule]);
    tc_tir_origin from = {.workload = b->w, .machine = &kernel_target()->machine, .text = tc_sb_str(&text), .name = name};
    if (tc_tir_program_make(b->ctx, &from, TC_TIR_LOWERED, &p, &err) != TC_OK)
        fail_msg("%s: %s", b->name, err.msg);
    tc_strbuf_free(&text);
    p.lowered->name = name;
    return p.lowered;
}

/* ---- evaluation ---- */

/* The first interpretation says what is wanted, unless that is known. */
static void interpret(batch *b, bool simplify, bool known, tally *sum) {
    const tc_workload *w = workload_of(b, simplify);
    void **out = TC_NEW_N(tc_ctx_arena(b->ctx), void *, b->trials.len);
    tc_error err = {0};
    for (size_t i = 0; i < b->trials.len; i++)
        out[i] = known ? array_of(b->trials.data[i].to, b->n) : b->trials.data[i].want;
    if (tc_te_interp(w, (const void *const *)b->in, out, &err) != TC_OK)
        fail_msg("%s: %s", b->name, err.msg);
    if (!simplify)
        b->w = w;
    for (size_t i = 0; i < b->trials.len && known; i++) {
        expect(b, &b->trials.data[i], out[i], simplify ? "simplified" : "interpreter", sum);
        free(out[i]);
    }
}

/* The constructors, with all operands immediate: where they fold. */
static void fold(batch *b, tally *sum) {
    for (size_t k = 0; k < b->trials.len; k++) {
        const trial *x = &b->trials.data[k];
        tc_ctx *c = tc_ctx_new();
        void *got = array_of(x->to, b->n);
        memcpy(got, x->want, (size_t)b->n * (size_t)tc_dtype_bytes(x->to));
        values v = {.t = b->t};
        for (int64_t i = 0; i < b->n && x->red == TC_RED_NONE; i++) {
            const tc_expr *in[NIN];
            for (int o = A; o <= D; o++) {
                memcpy(v.data, element(b->t, b->in[o], i), (size_t)tc_dtype_bytes(b->t));
                in[o] = x->fixed == o ? x->operand : immediate(c, &v, 0);
            }
            in[CHOICE] = tc_bool(c, tc_load_i(TC_BOOL, b->in[CHOICE], i));
            const tc_expr *r = apply(c, x, in);
            if (r->op == TC_OP_INT)
                tc_store_i(x->to, got, i, r->u.i);
            else if (r->op == TC_OP_FLOAT)
                tc_store_f(x->to, got, i, r->u.f);
        }
        expect(b, x, got, "folded", sum);
        free(got);
        tc_ctx_free(c);
    }
}

static void **arguments(const batch *b, const tc_func *f) {
    void **a = kernel_args(f);
    for (int i = 0; i < f->nparam; i++) {
        const tc_param *p = &f->params[i];
        size_t bytes = (size_t)p->buffer->size * (size_t)tc_dtype_bytes(p->buffer->dtype);
        if (p->kind == TC_PARAM_OUT)
            memset(a[i], 0x7b, bytes);
        else
            memcpy(a[i], b->in[p->index], bytes);
    }
    return a;
}

static void expect_all(const batch *b, const tc_func *f, void **args, const char *who, tally *sum) {
    char text[64];
    snprintf(text, sizeof text, "%s, %s", who, f->name);
    for (int i = 0; i < f->nparam; i++)
        if (f->params[i].kind == TC_PARAM_OUT)
            expect(b, &b->trials.data[f->params[i].index], args[i], text, sum);
    kernel_free_args(f, args);
}

static void run_lowered(const batch *b, const tc_func *f, tally *sum) {
    tc_error err = {0};
    void **args = arguments(b, f);
    if (tc_tir_interp(f, args, &err) != TC_OK)
        fail_msg("%s: %s", f->name, err.msg);
    expect_all(b, f, args, "interpreter of the program", sum);
    kernel k = {.f = (tc_func *)f};
    args = arguments(b, f);
    kernel_compile(&k, kernel_target(), &(tc_cg_options){.verify = true});
    kernel_run(&k, args, 1);
    tc_cg_module_free(k.mod);
    expect_all(b, f, args, "kernel", sum);
}

/* By the schedules from `first` on: all of them, or `most` where this is not the full test. */
static void run_batch(batch *b, bool known, int first, int most, tally *sum) {
    interpret(b, false, known, sum);
    interpret(b, true, true, sum);
    for (int s = first; s < (test_is_full() ? SCHEDULES : first + most); s++) {
        b->f[s] = lower(b, s);
        run_lowered(b, b->f[s], sum);
    }
}

/* ---- lowered programs ---- */

/* What the interpreter of programs says of f is what the others are compared with. */
static void run_program(batch *b, const tc_func *f, tally *sum) {
    tc_error err = {0};
    void **args = arguments(b, f);
    b->f[0] = f;
    if (tc_tir_interp(f, args, &err) != TC_OK)
        fail_msg("%s: %s", b->name, err.msg);
    for (int i = 0; i < f->nparam; i++) {
        const trial *x = &b->trials.data[f->params[i].index];
        if (f->params[i].kind == TC_PARAM_OUT)
            memcpy(x->want, args[i], (size_t)b->n * (size_t)tc_dtype_bytes(x->to));
    }
    kernel_free_args(f, args);
    run_lowered(b, f, sum);
}

static const tc_buffer *param(batch *b, tc_param *p, int at, int kind, int index, tc_dtype t, int64_t size) {
    const char *name = tc_arena_printf(tc_ctx_arena(b->ctx), "%c%d", kind == TC_PARAM_OUT ? 'Y' : 'X', index);
    tc_buffer *x = (tc_buffer *)tc_tir_buffer(b->ctx, name, t, size, TC_BUF_PARAM, NULL);
    x->param = at;
    x->align = TC_RT_ALIGN;
    p[at] = (tc_param){.buffer = x, .kind = kind, .index = index};
    return x;
}

static const tc_func *function(batch *b, int nparam, const tc_param *p, const tc_stmt *body) {
    tc_func *f = TC_NEW(tc_ctx_arena(b->ctx), tc_func);
    *f = (tc_func){.name = tc_arena_strdup(tc_ctx_arena(b->ctx), b->name), .nparam = nparam, .params = p, .body = body};
    return f;
}

/* out[i] = an operation on registers that hold immediates: LLVM folds it, not the constructors. */
static const tc_func *immediate_results(batch *b) {
    tc_ctx *c = b->ctx;
    size_t ntrial = b->trials.len;
    tc_param *p = TC_NEW_N(tc_ctx_arena(c), tc_param, ntrial);
    const tc_buffer *reg[NIN], **to = TC_NEW_N(tc_ctx_arena(c), const tc_buffer *, ntrial);
    const tc_stmt **s = TC_NEW_N(tc_ctx_arena(c), const tc_stmt *, (NIN + ntrial) * (size_t)b->n);
    const tc_expr *load[NIN], *zero = tc_i64(c, 0);
    int n = 0;
    for (int k = 0; k < NIN; k++) {
        reg[k] = tc_tir_buffer(c, tc_arena_printf(tc_ctx_arena(c), "r%d", k), type_of_input(b, k), 1, TC_BUF_REG, NULL);
        ((tc_buffer *)reg[k])->reg_lanes = 1;
        load[k] = tc_load(c, reg[k], type_of_input(b, k), zero, NULL);
    }
    for (size_t x = 0; x < ntrial; x++)
        to[x] = param(b, p, (int)x, TC_PARAM_OUT, (int)x, b->trials.data[x].to, b->n);
    for (int64_t i = 0; i < b->n; i++) {
        for (int k = 0; k < NIN; k++) {
            values v = {.t = type_of_input(b, k)};
            memcpy(v.data, element(v.t, b->in[k], i), (size_t)tc_dtype_bytes(v.t));
            s[n++] = tc_tir_store(c, reg[k], zero, immediate(c, &v, 0), NULL);
        }
        for (size_t x = 0; x < ntrial; x++)
            s[n++] = tc_tir_store(c, to[x], tc_i64(c, i), apply(c, &b->trials.data[x], load), NULL);
    }
    const tc_stmt *body = tc_tir_seq(c, n, s);
    for (int k = 0; k < NIN; k++)
        body = tc_tir_alloc(c, reg[k], body);
    return function(b, (int)ntrial, p, body);
}

static const tc_expr *next_lanes(tc_ctx *c, const tc_buffer *x, const tc_expr *step, int lanes) {
    return tc_load(c, x, x->dtype, tc_ramp(c, tc_mul(c, step, tc_i64(c, lanes)), tc_i64(c, 1), lanes), NULL);
}

/* All pairs of bytes, as the unit's groups; sums begin at the special values in A. The factors are in D and CHOICE. */
static const tc_func *dot_products(batch *b, const tc_intrinsic *u) {
    enum { SUMS, FACTOR, OTHER, RESULT, NPARAM };
    tc_ctx *c = b->ctx;
    tc_param *p = TC_NEW_N(tc_ctx_arena(c), tc_param, NPARAM);
    int64_t steps = b->n / u->n, same = 256 / (u->group * u->n); /* so many steps have one factor */
    const tc_buffer *acc = param(b, p, SUMS, TC_PARAM_IN, A, u->acc, b->n);
    const tc_buffer *x = param(b, p, FACTOR, TC_PARAM_IN, D, u->a, steps * u->group);
    const tc_buffer *y = param(b, p, OTHER, TC_PARAM_IN, CHOICE, u->b, b->n * u->group);
    const tc_buffer *to = param(b, p, RESULT, TC_PARAM_OUT, 0, u->acc, b->n);
    free(b->in[D]);
    free(b->in[CHOICE]);
    b->in[D] = array_of(u->a, x->size);
    b->in[CHOICE] = array_of(u->b, y->size);
    for (int64_t i = 0; i < x->size; i++)
        tc_store_i(u->a, b->in[D], i, i / u->group / same);
    for (int64_t i = 0; i < y->size; i++)
        tc_store_i(u->b, b->in[CHOICE], i, i);
    const tc_var *i = tc_var_new(c, "i");
    const tc_expr *step = tc_varx(c, i);
    const tc_expr *sum =
        tc_dot(c, next_lanes(c, acc, step, u->n), next_lanes(c, x, step, u->group), next_lanes(c, y, step, u->group * u->n));
    const tc_stmt *s = tc_tir_store(c, to, tc_ramp(c, tc_mul(c, step, tc_i64(c, u->n)), tc_i64(c, 1), u->n), sum, NULL);
    return function(b, NPARAM, p, tc_tir_for(c, i, tc_i64(c, steps), TC_FOR_SERIAL, false, s));
}

/* ---- C ---- */

/* The first program of each batch becomes C, if there is one. */
static void write_c(const batch *b, int n, const char *path) {
    tc_strbuf text = {0};
    tc_error err = {0};
    tc_cg_c_prelude(&text);
    for (int i = 0; i < n; i++) {
        const tc_func *f = b[i].f[0];
        char symbol[64];
        if (!f)
            continue;
        snprintf(symbol, sizeof symbol, "kernel_%s", f->name);
        if (tc_cg_emit_c(f, symbol, 1, &text, NULL, &err) != TC_OK)
            fail_msg("%s: %s", f->name, err.msg);
        tc_sb_printf(&text, "void %s(void *const *a, uint8_t *ws) {\n    %s(", f->name, symbol);
        for (int k = 0; k < f->nparam; k++)
            tc_sb_printf(&text, "a[%d], ", k);
        tc_sb_add(&text, "ws);\n}\n\n");
    }
    assert_int_equal(tc_fs_write(path, text.data, text.len, &err), TC_OK);
    tc_strbuf_free(&text);
}

static void run_c(const batch *b, int n, tally *sum) {
    char *dir, path[1200], command[4000];
    tc_error err = {0};
    assert_int_equal(tc_fs_temp_dir(&dir, &err), TC_OK);
    snprintf(path, sizeof path, "%s/ops.c", dir);
    write_c(b, n, path);
    snprintf(command, sizeof command, "cc -std=c17 -w -fPIC -shared %s -o %s/ops.so %s -lm", test_is_full() ? "-O1" : "-O0", dir,
             path);
    if (system(command))
        fail_msg("%s", command);
    snprintf(path, sizeof path, "%s/ops.so", dir);
    void *lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    assert_non_null(lib);
    for (int i = 0; i < n; i++) {
        const tc_func *f = b[i].f[0];
        void (*call)(void *const *, uint8_t *);
        void *symbol = f ? dlsym(lib, f->name) : NULL;
        if (!symbol)
            continue;
        memcpy(&call, &symbol, sizeof symbol);
        void **args = arguments(&b[i], f);
        uint8_t *ws = kernel_alloc((size_t)tc_cg_workspace_bytes(f, 1) + 1);
        call(args, ws);
        free(ws);
        expect_all(&b[i], f, args, "C", sum);
    }
    dlclose(lib);
    tc_fs_remove_tree(dir);
    free(dir);
}

/* ---- the whole ---- */

typedef TC_VEC(batch) batches;

static batch *new_batch(batches *all, const char *what, const values *some, int64_t n) {
    batch b;
    open_batch(&b, what, some, n);
    tc_push(all, b);
    return &all->data[all->len - 1];
}

/* With one operand from `some`, a few at a time, since kernels have at most TC_MAX_COMPUTES; and with equal operands. */
static void run_fixed(batches *all, batch pairs, const values *some, tally *sum) {
    enum { AT_ONCE = 2 };
    for (int from = 0; from < some->n; from += AT_ONCE) {
        char what[24];
        snprintf(what, sizeof what, "fixed%d", from);
        batch *b = new_batch(all, what, &pairs.some, pairs.some.n);
        for (int i = from; i < TC_MIN(from + AT_ONCE, some->n); i++)
            add_immediates(b, some, i, &pairs);
        if (from == 0)
            add_same(b, &pairs);
        run_batch(b, true, 1, 1, sum);
    }
}

static void run_type(batches *all, tc_dtype t, tally *sum) {
    values each, few;
    special(&each, t);
    telling(&few, t);
    batch *b = new_batch(all, "one", &each, each.n);
    add_ops(b, 1);
    add_casts(b);
    run_batch(b, false, 0, 2, sum);
    fold(b, sum);
    b = new_batch(all, "pairs", &each, (int64_t)each.n * each.n);
    add_ops(b, 2);
    add_ops(b, 3);
    add_reducers(b);
    run_batch(b, false, 0, 2, sum);
    fold(b, sum);
    if (test_is_full() || !tc_dtype_is_stored(t))
        run_fixed(all, *b, test_is_full() ? &each : &few, sum);
    b = new_batch(all, "immediates", &few, test_is_full() ? (int64_t)few.n * few.n : WIDEST);
    for (int arity = 1; arity <= 3; arity++)
        add_ops(b, arity);
    add_casts(b);
    run_program(b, immediate_results(b), sum);
}

/* The units in vector registers that this machine has, of integers: those of floats round in another order (intrinsics.def). */
static void run_dots(batches *all, tally *sum) {
    for (int i = 0; i < TC_NINTRINSICS; i++) {
        const tc_intrinsic *u = tc_intrinsic_row((tc_intrinsic_id)i);
        if (!tc_intrinsic_in(kernel_target()->machine.intrinsics, u) || u->place != TC_UNIT_VECTOR || u->sums != TC_SUMS_WRAPS)
            continue;
        values each;
        special(&each, u->acc);
        batch *b = new_batch(all, u->text, &each, 256 * 256 / u->group);
        add_op(b, TC_OP_DOT, u->acc);
        run_program(b, dot_products(b, u), sum);
    }
}

static void every_op(void **state) {
    (void)state;
    batches all = {0};
    tally sum = {0};
    for (int t = 0; t < TC_NDTYPES; t++)
        run_type(&all, (tc_dtype)t, &sum);
    run_dots(&all, &sum);
    run_c(all.data, (int)all.len, &sum);
    printf("  %lld results\n", (long long)sum.results);
    for (size_t i = 0; i < TC_LEN(OPEN); i++)
        printf("  %lld differ: %s\n", (long long)sum.open[i], OPEN[i].why);
    for (size_t i = 0; i < all.len; i++)
        close_batch(&all.data[i]);
    tc_vec_free(&all);
    assert_int_equal(sum.failed, 0);
    assert_true(sum.results > 1000000);
}

static const tc_expr *cast_to(tc_ctx *c, const tc_expr *const *in, void *user) {
    return tc_cast(c, *(const tc_dtype *)user, in[0]);
}

/* Zero is as good as what is below the smallest normal number, or rounds to it from there. */
static bool same_f(tc_dtype t, const void *got, int i, double want) {
    double g = tc_load_f(t, got, i);
    if (isnan(want))
        return isnan(g);
    return g == want || (g == 0 && fabs(want) <= least_normal(t));
}

/* All 65,536 bit patterns of the 16-bit floats, and roundings of f32 that are hard: to f32 and back. */
static void narrow_exact(void **state) {
    (void)state;
    enum { ALL = 1 << 16 };
    static const tc_dtype types[] = {TC_F16, TC_BF16};
    for (size_t t = 0; t < TC_LEN(types); t++) {
        tc_dtype narrow = types[t], wide = TC_F32;
        kernel up, down;
        kernel_elementwise(&up, 1, &narrow, wide, ALL, 16, cast_to, &wide);
        kernel_elementwise(&down, 1, &wide, narrow, ALL, 16, cast_to, &narrow);
        void **u = kernel_args(up.f), **d = kernel_args(down.f);
        for (int i = 0; i < ALL; i++)
            ((uint16_t *)u[0])[i] = (uint16_t)i;
        kernel_run(&up, u, 1);
        for (int i = 0; i < ALL; i++) {
            assert_true(same_f(TC_F32, u[1], i, tc_load_f(narrow, u[0], i)));
            uint32_t bits = (uint32_t)i * 65537u + (uint32_t)(i % 5) * 0x0fffu;
            memcpy((float *)d[0] + i, &bits, 4);
        }
        kernel_run(&down, d, 1);
        for (int i = 0; i < ALL; i++)
            assert_true(same_f(narrow, d[1], i, tc_round_f(narrow, (double)((float *)d[0])[i])));
        kernel_free_args(up.f, u);
        kernel_free_args(down.f, d);
        kernel_free(&up);
        kernel_free(&down);
    }
}

/* All codes of the floats of a byte or less to f32, and floats around all of them back. */
static void bytes_exact(void **state) {
    (void)state;
    enum { ALL = 1 << 14 };
    for (int t = 0; t < TC_NDTYPES; t++) {
        tc_dtype narrow = (tc_dtype)t, wide = TC_F32;
        if (!tc_float8_of(narrow))
            continue;
        kernel up, down;
        kernel_elementwise(&up, 1, &narrow, wide, ALL, 16, cast_to, &wide);
        kernel_elementwise(&down, 1, &wide, narrow, ALL, 16, cast_to, &narrow);
        void **u = kernel_args(up.f), **d = kernel_args(down.f);
        for (int i = 0; i < ALL; i++) {
            ((uint8_t *)u[0])[i] = (uint8_t)(i & ((1 << tc_dtype_bits(narrow)) - 1));
            uint32_t bits = (uint32_t)(i % 2) << 31 | (uint32_t)((i >> 1) % 1024 + 800) << 20 | ((i >> 11) & 1 ? 1u : 0u) |
                            ((i >> 12) & 1 ? 0xfffffu : 0u); /* steps of an eighth from 2^-27 to 2^100, and beside them */
            memcpy((float *)d[0] + i, &bits, 4);
        }
        kernel_run(&up, u, 1);
        kernel_run(&down, d, 1);
        for (int i = 0; i < ALL; i++) {
            assert_true(same_f(TC_F32, u[1], i, tc_load_f(narrow, u[0], i)));
            assert_true(same_f(narrow, d[1], i, tc_round_f(narrow, (double)((float *)d[0])[i])));
        }
        kernel_free_args(up.f, u);
        kernel_free_args(down.f, d);
        kernel_free(&up);
        kernel_free(&down);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_op), cmocka_unit_test(narrow_exact), cmocka_unit_test(bytes_exact)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
