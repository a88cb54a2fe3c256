#include "common/random_workload.h"

#include <stdio.h>
#include <stdlib.h>

#include "support/vec.h"

typedef struct gen {
    tc_ctx *c;
    tc_rng *r;
    tc_dtype t;
    int ntensor, ncompute, nout;
    const tc_tensor *out[4];
} gen;

/* ---- small helpers ---- Each draw is in a statement, or a declarator, of its own: compilers evaluate arguments and initialisers
 * in different orders, and a seed is the same workload everywhere. */

static int64_t below(gen *g, int64_t n) {
    return tc_rng_below(g->r, n);
}

static bool chance(gen *g, int percent) {
    return below(g, 100) < percent;
}

static int64_t extent(gen *g, int64_t most) {
    static const int64_t ODD[] = {1, 2, 3, 4, 5, 7, 8, 12, 13, 15, 16, 17, 19, 23, 24, 31, 32, 33, 36, 37};
    int64_t n = chance(g, 70) ? ODD[below(g, (int64_t)TC_LEN(ODD))] : 1 + below(g, 37);
    return n > most ? 1 + below(g, most) : n;
}

static const char *name(gen *g, const char *prefix, int n) {
    return tc_arena_printf(tc_ctx_arena(g->c), "%s%d", prefix, n);
}

static const tc_tensor *input_of(gen *g, tc_dtype t, int ndim, const int64_t *shape, bool is_const) {
    return tc_te_placeholder(g->c, name(g, is_const ? "W" : "X", g->ntensor++), t, ndim, shape, is_const);
}

static const tc_tensor *input(gen *g, int ndim, const int64_t *shape) {
    return input_of(g, g->t, ndim, shape, chance(g, 30));
}

#define SHAPE(...) ((const int64_t[]){__VA_ARGS__})
#define IDX(...) ((const tc_expr *const[]){__VA_ARGS__})

static tc_axis axis(gen *g, const char *n, int64_t e) {
    return tc_te_axis(g->c, n, e);
}

static const tc_expr *var(gen *g, tc_axis a) {
    return tc_varx(g->c, a.var);
}

static const tc_expr *read(gen *g, const tc_tensor *t, const tc_expr *const *idx) {
    return tc_read(g->c, t, t->ndim, idx);
}

static const tc_expr *imm(gen *g, double v) {
    return tc_imm(g->c, g->t, v);
}

static const tc_expr *bin(gen *g, tc_op op, const tc_expr *a, const tc_expr *b) {
    return tc_bin(g->c, op, a, b);
}

static const tc_tensor *compute(gen *g, int n, const tc_axis *axes, tc_reducer r, int nr, const tc_axis *raxes,
                                const tc_expr *body) {
    return tc_te_compute(g->c, name(g, "T", g->ncompute++), n, axes, r, nr, raxes, 1, &body)->out[0];
}

static const tc_tensor *map(gen *g, int n, const tc_axis *axes, const tc_expr *body) {
    return compute(g, n, axes, TC_RED_NONE, 0, NULL, body);
}

/* Axes i0, i1, ... over a shape, and their variables. */
static void axes_over(gen *g, int n, const int64_t *shape, tc_axis *axes, const tc_expr **v) {
    static const char *const NAMES[] = {"i", "j", "h", "w", "c", "d", "e", "f"};
    for (int i = 0; i < n; i++) {
        axes[i] = axis(g, NAMES[i], shape[i]);
        v[i] = var(g, axes[i]);
    }
}

static const tc_expr *all_of(gen *g, const tc_expr *a, const tc_expr *b) {
    return bin(g, TC_OP_AND, a, b);
}

/* 0 <= x < n */
static const tc_expr *in_range(gen *g, const tc_expr *x, int64_t n) {
    return all_of(g, bin(g, TC_OP_GE, x, tc_i64(g->c, 0)), bin(g, TC_OP_LT, x, tc_i64(g->c, n)));
}

static const tc_expr *activation(gen *g, const tc_expr *x) {
    tc_ctx *c = g->c;
    if (!tc_dtype_is_float(g->t))
        return below(g, 2) ? bin(g, TC_OP_MAX, x, imm(g, 0)) : bin(g, TC_OP_MIN, tc_add(c, x, imm(g, 3)), imm(g, 40));
    switch (below(g, 7)) {
    case 0:
        return bin(g, TC_OP_MAX, x, imm(g, 0));
    case 1:
        return tc_un(c, TC_OP_TANH, x);
    case 2:
        return tc_mul(c, tc_mul(c, x, imm(g, 0.5)), tc_add(c, imm(g, 1), tc_un(c, TC_OP_ERF, tc_mul(c, x, imm(g, 0.70710678)))));
    case 3:
        return tc_mul(c, x, tc_un(c, TC_OP_SIGMOID, x));
    case 4:
        return tc_un(c, TC_OP_ABS, tc_sub(c, x, imm(g, 0.25)));
    case 5:
        return tc_div(c, x, tc_add(c, imm(g, 1), tc_un(c, TC_OP_ABS, x)));
    default:
        return tc_select(c, bin(g, TC_OP_LT, x, imm(g, 0)), tc_mul(c, x, imm(g, 0.125)), x);
    }
}

/* An operand that broadcasts over some dimensions of the shape. */
static const tc_expr *broadcast_operand(gen *g, int n, const int64_t *shape, const tc_expr *const *v) {
    int64_t s[TC_MAX_DIMS];
    const tc_expr *idx[TC_MAX_DIMS];
    int m = 0;
    for (int i = 0; i < n; i++) {
        int64_t how = below(g, 3);
        if (how == 0)
            continue; /* the dimension is missing */
        s[m] = how == 1 && chance(g, 30) ? 1 : shape[i];
        idx[m] = s[m] == 1 ? tc_i64(g->c, 0) : v[i];
        m++;
    }
    return read(g, input(g, m, s), idx);
}

static const tc_tensor *epilogue(gen *g, const tc_tensor *t) {
    tc_axis ax[TC_MAX_DIMS];
    const tc_expr *v[TC_MAX_DIMS];
    for (int64_t n = below(g, 3); n > 0; n--) {
        axes_over(g, t->ndim, t->shape, ax, v);
        const tc_expr *x = read(g, t, v);
        if (chance(g, 60))
            x = tc_add(g->c, x, broadcast_operand(g, t->ndim, t->shape, v));
        t = map(g, t->ndim, ax, activation(g, x));
    }
    return t;
}

static void output(gen *g, const tc_tensor *t) {
    for (int i = 0; i < g->nout; i++)
        if (g->out[i] == t)
            return;
    g->out[g->nout++] = t;
}

/* ---- kinds ---- */

/* Matrix product; either operand may be transposed. `b` may be an existing tensor's read. */
static const tc_tensor *matmul(gen *g, const tc_tensor *a, int64_t n, bool const_b) {
    int64_t m = a->shape[0], k = a->shape[1];
    tc_axis ax[2] = {axis(g, "i", m), axis(g, "j", n)}, rk = axis(g, "k", k);
    bool transposed = chance(g, 30);
    const tc_tensor *b = input_of(g, g->t, 2, transposed ? SHAPE(n, k) : SHAPE(k, n), const_b);
    const tc_expr *i = var(g, ax[0]), *j = var(g, ax[1]), *kk = var(g, rk);
    const tc_expr *y = read(g, b, transposed ? IDX(j, kk) : IDX(kk, j));
    return compute(g, 2, ax, TC_RED_SUM, 1, &rk, tc_mul(g->c, read(g, a, IDX(i, kk)), y));
}

static void gen_gemm(gen *g) {
    int64_t m = extent(g, 37), n = extent(g, 37), k = extent(g, 24);
    const tc_tensor *a = input(g, 2, SHAPE(m, k));
    output(g, epilogue(g, matmul(g, a, n, chance(g, 70))));
}

static void gen_gemm_chain(gen *g) {
    int64_t m = extent(g, 17), k = extent(g, 16), n = extent(g, 17);
    const tc_tensor *t = epilogue(g, matmul(g, input(g, 2, SHAPE(m, k)), n, true));
    output(g, epilogue(g, matmul(g, t, extent(g, 17), true)));
}

static void gen_batched(gen *g) {
    int64_t b = extent(g, 4), m = extent(g, 13), n = extent(g, 17), k = extent(g, 13);
    const tc_tensor *x = input(g, 3, SHAPE(b, m, k)), *y = input(g, 3, SHAPE(b, k, n));
    tc_axis ax[3] = {axis(g, "b", b), axis(g, "i", m), axis(g, "j", n)}, rk = axis(g, "k", k);
    const tc_expr *p = read(g, x, IDX(var(g, ax[0]), var(g, ax[1]), var(g, rk)));
    const tc_expr *q = read(g, y, IDX(var(g, ax[0]), var(g, rk), var(g, ax[2])));
    output(g, epilogue(g, compute(g, 3, ax, TC_RED_SUM, 1, &rk, tc_mul(g->c, p, q))));
}

/* Quantised product: bytes in, i32 sums, f32 out. */
static void gen_int8_gemm(gen *g) {
    int64_t m = extent(g, 17), n = extent(g, 24), k = extent(g, 24);
    const tc_tensor *x = input_of(g, TC_U8, 2, SHAPE(m, k), false), *w = input_of(g, TC_I8, 2, SHAPE(k, n), true);
    tc_axis ax[2] = {axis(g, "i", m), axis(g, "j", n)}, rk = axis(g, "k", k);
    const tc_expr *a = tc_cast(g->c, TC_I32, read(g, x, IDX(var(g, ax[0]), var(g, rk))));
    const tc_expr *b = tc_cast(g->c, TC_I32, read(g, w, IDX(var(g, rk), var(g, ax[1]))));
    const tc_tensor *d = compute(g, 2, ax, TC_RED_SUM, 1, &rk, tc_mul(g->c, a, b));
    tc_axis bx[2] = {axis(g, "i", m), axis(g, "j", n)};
    const tc_expr *y = tc_cast(g->c, TC_F32, read(g, d, IDX(var(g, bx[0]), var(g, bx[1]))));
    output(g, map(g, 2, bx, tc_mul(g->c, y, tc_float(g->c, TC_F32, 0.0078125))));
}

/* A chain of element-wise stages in which later ones may read earlier ones again. */
static void gen_elementwise(gen *g) {
    int n = 1 + (int)below(g, 3);
    int64_t shape[TC_MAX_DIMS];
    const tc_tensor *t[6];
    tc_axis ax[TC_MAX_DIMS];
    const tc_expr *v[TC_MAX_DIMS];
    for (int i = 0; i < n; i++)
        shape[i] = extent(g, n == 1 ? 37 : 17);
    t[0] = input(g, n, shape);
    int last = 2 + (int)below(g, 4);
    for (int s = 1; s <= last; s++) {
        axes_over(g, n, shape, ax, v);
        const tc_expr *x = read(g, t[s - 1], v);
        if (chance(g, 50))
            x = tc_add(g->c, x, read(g, t[below(g, s)], v));
        if (chance(g, 40))
            x = tc_mul(g->c, x, broadcast_operand(g, n, shape, v));
        t[s] = map(g, n, ax, activation(g, x));
    }
    output(g, t[last]);
    if (chance(g, 25))
        output(g, t[1 + below(g, last)]);
}

static tc_reducer random_reducer(gen *g) {
    static const tc_reducer R[] = {TC_RED_SUM, TC_RED_SUM, TC_RED_MAX, TC_RED_MIN, TC_RED_PROD};
    return R[below(g, (int64_t)TC_LEN(R))];
}

/* Reduction of some dimensions, then something per element that needs the result. */
static void gen_reduction(gen *g) {
    int n = 1 + (int)below(g, 3);
    int64_t shape[3];
    for (int i = 0; i < n; i++)
        shape[i] = extent(g, n == 1 ? 37 : n == 2 ? 24 : 9);
    const tc_tensor *x = input(g, n, shape);
    tc_axis sp[3], re[3];
    const tc_expr *idx[3];
    int ns = 0, nr = 0;
    unsigned mask = 1u + (unsigned)below(g, (1 << n) - 1);
    static const char *const S[] = {"i", "j", "h"}, *const R[] = {"k", "l", "m"};
    for (int i = 0; i < n; i++) {
        bool reduce = mask >> i & 1;
        tc_axis a = axis(g, reduce ? R[i] : S[i], shape[i]);
        idx[i] = var(g, a);
        if (reduce)
            re[nr++] = a;
        else
            sp[ns++] = a;
    }
    tc_reducer red = random_reducer(g);
    const tc_expr *body = read(g, x, idx);
    if (red == TC_RED_PROD && tc_dtype_is_float(g->t))
        body = tc_add(g->c, imm(g, 1), tc_mul(g->c, body, imm(g, 0.0625)));
    else if (chance(g, 30))
        body = tc_mul(g->c, body, body);
    output(g, epilogue(g, compute(g, ns, sp, red, nr, re, body)));
}

static const tc_tensor *row_reduce(gen *g, const tc_tensor *x, tc_reducer red) {
    tc_axis i = axis(g, "i", x->shape[0]), k = axis(g, "k", x->shape[1]);
    return compute(g, 1, &i, red, 1, &k, read(g, x, IDX(var(g, i), var(g, k))));
}

static void gen_softmax(gen *g) {
    if (!tc_dtype_is_float(g->t))
        g->t = TC_F32;
    int64_t m = extent(g, 17), n = extent(g, 37);
    const tc_tensor *x = input(g, 2, SHAPE(m, n)), *mx = row_reduce(g, x, TC_RED_MAX);
    tc_axis a[2] = {axis(g, "i", m), axis(g, "j", n)}, b[2] = {axis(g, "i", m), axis(g, "j", n)};
    const tc_expr *i = var(g, a[0]), *j = var(g, a[1]);
    const tc_tensor *e = map(g, 2, a, tc_un(g->c, TC_OP_EXP, tc_sub(g->c, read(g, x, IDX(i, j)), read(g, mx, IDX(i)))));
    const tc_tensor *s = row_reduce(g, e, TC_RED_SUM);
    i = var(g, b[0]);
    j = var(g, b[1]);
    output(g, epilogue(g, map(g, 2, b, tc_div(g->c, read(g, e, IDX(i, j)), read(g, s, IDX(i))))));
}

static void gen_layer_norm(gen *g) {
    if (!tc_dtype_is_float(g->t))
        g->t = TC_F32;
    int64_t m = extent(g, 13), n = extent(g, 37);
    tc_ctx *c = g->c;
    const tc_tensor *x = input(g, 2, SHAPE(m, n)), *sum = row_reduce(g, x, TC_RED_SUM);
    const tc_tensor *scale = input_of(g, g->t, 1, SHAPE(n), true);
    tc_axis a[2] = {axis(g, "i", m), axis(g, "j", n)}, b[2] = {axis(g, "i", m), axis(g, "j", n)};
    const tc_expr *mean = tc_mul(c, read(g, sum, IDX(var(g, a[0]))), imm(g, 1.0 / (double)n));
    const tc_tensor *d = map(g, 2, a, tc_sub(c, read(g, x, IDX(var(g, a[0]), var(g, a[1]))), mean));
    tc_axis ri = axis(g, "i", m), rk = axis(g, "k", n);
    const tc_expr *q = read(g, d, IDX(var(g, ri), var(g, rk)));
    const tc_tensor *v = compute(g, 1, &ri, TC_RED_SUM, 1, &rk, tc_mul(c, q, q));
    const tc_expr *variance = tc_add(c, tc_mul(c, read(g, v, IDX(var(g, b[0]))), imm(g, 1.0 / (double)n)), imm(g, 1e-3));
    const tc_expr *y = tc_mul(c, read(g, d, IDX(var(g, b[0]), var(g, b[1]))), tc_un(c, TC_OP_RSQRT, variance));
    output(g, map(g, 2, b, tc_mul(c, y, read(g, scale, IDX(var(g, b[1]))))));
}

/* Zero padding of the two middle dimensions of [n, h, w, c]. */
static const tc_expr *padded_read(gen *g, const tc_tensor *x, const tc_expr *const *at, double outside) {
    const tc_expr *inside = all_of(g, in_range(g, at[1], x->shape[1]), in_range(g, at[2], x->shape[2]));
    return tc_select(g->c, inside, read(g, x, at), imm(g, outside));
}

typedef struct window {
    int64_t size, stride, dilation, pad, in, out;
} window;

static window random_window(gen *g, int64_t most) {
    window w;
    w.size = 1 + below(g, 3);
    w.stride = 1 + below(g, 2);
    w.dilation = 1 + chance(g, 20);
    w.in = extent(g, most);
    int64_t reach = (w.size - 1) * w.dilation + 1;
    w.pad = below(g, reach);
    while (w.in + 2 * w.pad < reach)
        w.in++;
    w.out = (w.in + 2 * w.pad - reach) / w.stride + 1;
    return w;
}

/* out * stride + tap * dilation - pad */
static const tc_expr *window_at(gen *g, const window *w, const tc_expr *out, const tc_expr *tap) {
    tc_ctx *c = g->c;
    const tc_expr *p = tc_add(c, tc_mul(c, out, tc_i64(c, w->stride)), tc_mul(c, tap, tc_i64(c, w->dilation)));
    return tc_sub(c, p, tc_i64(c, w->pad));
}

/* The input read at padded coordinates: by a select in the consumer, or through a stage that materialises the padding. */
typedef struct padding {
    const tc_tensor *x, *stage;
    window h, w;
    double outside;
} padding;

static padding pad(gen *g, const tc_tensor *x, window h, window w, double outside) {
    padding p = {.x = x, .h = h, .w = w, .outside = outside};
    if (chance(g, 50))
        return p;
    tc_axis ax[4];
    const tc_expr *v[4];
    axes_over(g, 4, SHAPE(x->shape[0], h.in + 2 * h.pad, w.in + 2 * w.pad, x->shape[3]), ax, v);
    v[1] = tc_sub(g->c, v[1], tc_i64(g->c, h.pad));
    v[2] = tc_sub(g->c, v[2], tc_i64(g->c, w.pad));
    p.stage = map(g, 4, ax, padded_read(g, x, v, outside));
    return p;
}

static const tc_expr *read_padded(gen *g, const padding *p, const tc_expr *n, const tc_expr *h, const tc_expr *w,
                                  const tc_expr *c) {
    if (!p->stage)
        return padded_read(g, p->x, IDX(n, h, w, c), p->outside);
    return read(g, p->stage, IDX(n, tc_add(g->c, h, tc_i64(g->c, p->h.pad)), tc_add(g->c, w, tc_i64(g->c, p->w.pad)), c));
}

static void gen_conv2d(gen *g) {
    window h = random_window(g, 9), w = random_window(g, 9);
    int64_t n = extent(g, 2), ci = extent(g, 5), co = extent(g, 9);
    padding p = pad(g, input_of(g, g->t, 4, SHAPE(n, h.in, w.in, ci), false), h, w, 0);
    const tc_tensor *k = input_of(g, g->t, 4, SHAPE(h.size, w.size, ci, co), true);
    tc_axis ax[4], rx[3] = {axis(g, "r", h.size), axis(g, "s", w.size), axis(g, "k", ci)};
    const tc_expr *v[4], *q[3] = {var(g, rx[0]), var(g, rx[1]), var(g, rx[2])};
    axes_over(g, 4, SHAPE(n, h.out, w.out, co), ax, v);
    const tc_expr *x = read_padded(g, &p, v[0], window_at(g, &h, v[1], q[0]), window_at(g, &w, v[2], q[1]), q[2]);
    output(g, epilogue(g, compute(g, 4, ax, TC_RED_SUM, 3, rx, tc_mul(g->c, x, read(g, k, IDX(q[0], q[1], q[2], v[3]))))));
}

static void gen_depthwise_or_pool(gen *g) {
    window h = random_window(g, 12), w = random_window(g, 12);
    int64_t n = extent(g, 2), ch = extent(g, 9);
    bool pool = chance(g, 50);
    bool biggest = pool && chance(g, 50);
    padding p = pad(g, input_of(g, g->t, 4, SHAPE(n, h.in, w.in, ch), false), h, w, biggest ? -100 : 0);
    tc_axis ax[4], rx[2] = {axis(g, "r", h.size), axis(g, "s", w.size)};
    const tc_expr *v[4], *q[2] = {var(g, rx[0]), var(g, rx[1])};
    axes_over(g, 4, SHAPE(n, h.out, w.out, ch), ax, v);
    const tc_expr *x = read_padded(g, &p, v[0], window_at(g, &h, v[1], q[0]), window_at(g, &w, v[2], q[1]), v[3]);
    if (!pool)
        x = tc_mul(g->c, x, read(g, input_of(g, g->t, 3, SHAPE(h.size, w.size, ch), true), IDX(q[0], q[1], v[3])));
    output(g, epilogue(g, compute(g, 4, ax, biggest ? TC_RED_MAX : TC_RED_SUM, 2, rx, x)));
}

static void gen_conv1d(gen *g) {
    window w = random_window(g, 24);
    int64_t ci = extent(g, 7), co = extent(g, 13);
    const tc_tensor *x = input_of(g, g->t, 2, SHAPE(w.in, ci), false), *k = input_of(g, g->t, 3, SHAPE(w.size, ci, co), true);
    tc_axis ax[2] = {axis(g, "w", w.out), axis(g, "c", co)}, rx[2] = {axis(g, "s", w.size), axis(g, "k", ci)};
    const tc_expr *at = window_at(g, &w, var(g, ax[0]), var(g, rx[0])), *c = var(g, rx[1]);
    const tc_expr *v = tc_select(g->c, in_range(g, at, w.in), read(g, x, IDX(at, c)), imm(g, 0));
    const tc_expr *body = tc_mul(g->c, v, read(g, k, IDX(var(g, rx[0]), c, var(g, ax[1]))));
    output(g, epilogue(g, compute(g, 2, ax, TC_RED_SUM, 2, rx, body)));
}

static void gen_arg(gen *g) {
    int64_t m = extent(g, 17), n = extent(g, 37);
    const tc_tensor *x = input_of(g, g->t, 2, SHAPE(m, n), false);
    tc_axis i = axis(g, "i", m), k = axis(g, "k", n);
    const tc_expr *v =
        read(g, x, chance(g, 50) ? IDX(var(g, i), var(g, k)) : IDX(var(g, i), tc_sub(g->c, tc_i64(g->c, n - 1), var(g, k))));
    const tc_expr *body[2] = {v, chance(g, 50) ? var(g, k) : tc_cast(g->c, TC_I32, var(g, k))};
    const tc_compute *op =
        tc_te_compute(g->c, name(g, "T", g->ncompute++), 1, &i, chance(g, 50) ? TC_RED_ARGMAX : TC_RED_ARGMIN, 1, &k, 2, body);
    if (chance(g, 50))
        output(g, op->out[0]);
    output(g, chance(g, 50) ? op->out[1] : epilogue(g, op->out[0]));
}

static void gen_gather(gen *g) {
    int64_t rows = extent(g, 37), n = extent(g, 17), m = extent(g, 24);
    const tc_tensor *table = input(g, 2, SHAPE(rows, m)), *ids = input_of(g, chance(g, 50) ? TC_I64 : TC_I32, 1, SHAPE(n), false);
    tc_axis ax[2] = {axis(g, "i", n), axis(g, "j", m)};
    const tc_expr *row = read(g, ids, IDX(var(g, ax[0])));
    output(g, epilogue(g, map(g, 2, ax, read(g, table, IDX(row, var(g, ax[1]))))));
}

/* Data movement: transpose, flatten, reverse, strided slice, concatenation, causal mask. */
static void gen_movement(gen *g) {
    int64_t m = extent(g, 19), n = extent(g, 23);
    tc_ctx *c = g->c;
    const tc_tensor *x = epilogue(g, input(g, 2, SHAPE(m, n)));
    tc_axis ax[2] = {axis(g, "i", m), axis(g, "j", n)}, flip[2] = {axis(g, "j", n), axis(g, "i", m)}, flat = axis(g, "t", m * n);
    const tc_expr *i = var(g, ax[0]), *j = var(g, ax[1]), *t = var(g, flat);
    switch (below(g, 6)) {
    case 0:
        x = map(g, 2, flip, read(g, x, IDX(var(g, flip[1]), var(g, flip[0]))));
        break;
    case 1:
        x = map(g, 1, &flat, read(g, x, IDX(tc_div(c, t, tc_i64(c, n)), tc_mod(c, t, tc_i64(c, n)))));
        break;
    case 2:
        x = map(g, 2, ax, read(g, x, IDX(i, tc_sub(c, tc_i64(c, n - 1), j))));
        break;
    case 3: {
        tc_axis half[2] = {axis(g, "i", (m + 1) / 2), ax[1]};
        x = map(g, 2, half, read(g, x, IDX(tc_mul(c, var(g, half[0]), tc_i64(c, 2)), j)));
        break;
    }
    case 4: {
        int64_t extra = extent(g, 9);
        const tc_tensor *y = input(g, 2, SHAPE(m, extra));
        tc_axis wide[2] = {ax[0], axis(g, "j", n + extra)};
        j = var(g, wide[1]);
        const tc_expr *right = read(g, y, IDX(i, tc_sub(c, j, tc_i64(c, n))));
        x = map(g, 2, wide, tc_select(c, bin(g, TC_OP_LT, j, tc_i64(c, n)), read(g, x, IDX(i, j)), right));
        break;
    }
    default:
        x = map(g, 2, ax, tc_select(c, bin(g, TC_OP_LE, j, i), read(g, x, IDX(i, j)), imm(g, 0)));
    }
    output(g, epilogue(g, x));
}

/* softmax(Q K^T) V, small. */
static void gen_attention(gen *g) {
    if (!tc_dtype_is_float(g->t))
        g->t = TC_F32;
    int64_t m = extent(g, 9), n = extent(g, 13), d = extent(g, 8);
    const tc_tensor *q = input(g, 2, SHAPE(m, d)), *s = matmul(g, q, n, false), *mx = row_reduce(g, s, TC_RED_MAX);
    tc_axis a[2] = {axis(g, "i", m), axis(g, "j", n)};
    const tc_expr *i = var(g, a[0]), *j = var(g, a[1]);
    const tc_tensor *e = map(g, 2, a, tc_un(g->c, TC_OP_EXP, tc_sub(g->c, read(g, s, IDX(i, j)), read(g, mx, IDX(i)))));
    const tc_tensor *sum = row_reduce(g, e, TC_RED_SUM);
    const tc_tensor *y = matmul(g, e, d, false);
    tc_axis b[2] = {axis(g, "i", m), axis(g, "j", d)};
    i = var(g, b[0]);
    output(g, map(g, 2, b, tc_div(g->c, read(g, y, IDX(i, var(g, b[1]))), read(g, sum, IDX(i)))));
}

/* One producer, two consumers that are both outputs. */
static void gen_diamond(gen *g) {
    int64_t m = extent(g, 17), n = extent(g, 17);
    const tc_tensor *x = input(g, 2, SHAPE(m, n));
    tc_axis ax[2];
    const tc_expr *v[2];
    axes_over(g, 2, SHAPE(m, n), ax, v);
    const tc_tensor *t = map(g, 2, ax, activation(g, tc_add(g->c, read(g, x, v), imm(g, 1))));
    output(g, row_reduce(g, t, TC_RED_SUM));
    output(g, epilogue(g, matmul(g, t, extent(g, 13), true)));
}

/* ---- entry ---- */

typedef struct kind {
    const char *name;
    void (*make)(gen *g);
} kind;

static const kind KINDS[] = {
    {"gemm", gen_gemm},
    {"gemm_chain", gen_gemm_chain},
    {"batched", gen_batched},
    {"int8_gemm", gen_int8_gemm},
    {"elementwise", gen_elementwise},
    {"reduction", gen_reduction},
    {"softmax", gen_softmax},
    {"layer_norm", gen_layer_norm},
    {"conv1d", gen_conv1d},
    {"conv2d", gen_conv2d},
    {"depthwise_or_pool", gen_depthwise_or_pool},
    {"arg", gen_arg},
    {"gather", gen_gather},
    {"movement", gen_movement},
    {"attention", gen_attention},
    {"diamond", gen_diamond},
};

int tc_test_nworkload_kinds(void) {
    return (int)TC_LEN(KINDS);
}

const char *tc_test_workload_kind_name(int k) {
    return KINDS[k].name;
}

tc_workload *tc_test_workload_of_kind(tc_ctx *c, tc_rng *r, int k) {
    static const tc_dtype TYPES[] = {TC_F32, TC_F32, TC_F32, TC_F32, TC_I32, TC_I32, TC_F64, TC_I64};
    gen g = {.c = c, .r = r};
    g.t = TYPES[below(&g, (int64_t)TC_LEN(TYPES))];
    KINDS[k].make(&g);
    /* A plain copy of an input is no output: epilogues may be empty. */
    for (int i = 0; i < g.nout; i++) {
        const tc_tensor *t = g.out[i];
        if (t->op)
            continue;
        tc_axis ax[TC_MAX_DIMS];
        const tc_expr *v[TC_MAX_DIMS];
        axes_over(&g, t->ndim, t->shape, ax, v);
        g.out[i] = map(&g, t->ndim, ax, read(&g, t, v));
    }
    tc_workload *w = NULL;
    tc_error err = {0};
    if (tc_te_workload(c, 0, NULL, g.nout, g.out, &w, &err) != TC_OK) {
        fprintf(stderr, "random workload of kind %s: %s\n", KINDS[k].name, err.msg);
        abort();
    }
    return w;
}

tc_workload *tc_test_random_workload(tc_ctx *c, tc_rng *r) {
    return tc_test_workload_of_kind(c, r, (int)tc_rng_below(r, (int64_t)TC_LEN(KINDS)));
}
