/* Folds factors and offsets of output channels into the convolution that makes the channels.
 *
 *   y = BatchNormalization(Conv(x, w, b))       =>   y = Conv(x, w * s, b * s + t)     s = scale / sqrt(variance + epsilon),
 *   y = Mul(Conv(x, w, b), s: [C, 1, 1])        =>   y = Conv(x, w * s, b * s)         t = bias - mean * s
 *   y = Div(Conv(x, w, b), d: [C, 1, 1])        =>   y = Conv(x, w / d, b / d)     d: powers of two; others would round
 *   y = Add(Conv(x, w, b), t: [C, 1, 1])        =>   y = Conv(x, w, b + t)         otherwise than the quotient does
 *   y = BatchNormalization(x)                   =>   y = x * s + t
 *
 * The pass computes in double and rounds once. It leaves 16-bit weights alone: they would lose bits that the network was trained
 * with. */
#include <math.h>
#include <stdlib.h>

#include "graph/ir/build.h"
#include "graph/ops/eval.h"
#include "graph/passes/pass.h"

typedef struct folder {
    tc_graph *g;
    uint32_t *uses;
    size_t nuses; /* values made later have one reader by construction */
} folder;

/* y[channel] = x[channel] * scale + shift; an array with one element applies to all channels. */
typedef struct affine {
    int64_t n;
    double *scale, *shift;
} affine;

static affine new_affine(int64_t n) {
    affine a = {n, tc_xmalloc((size_t)n * sizeof(double)), tc_xmalloc((size_t)n * sizeof(double))};
    for (int64_t i = 0; i < n; i++) {
        a.scale[i] = 1;
        a.shift[i] = 0;
    }
    return a;
}

static void free_affine(affine *a) {
    free(a->scale);
    free(a->shift);
}

/* ---- what a node does to channels ---- */

static bool affine_of_norm(const tc_graph_node *n, affine *out) {
    double *v[5] = {0};
    for (int k = 1; k < 5; k++)
        if (!tc_graph_is_const(n->in[k]))
            return false;
    for (int k = 1; k < 5; k++)
        v[k] = tc_graph_wide_f64(n->in[k]->constant);
    *out = new_affine(n->in[1]->shape.d[0]);
    double epsilon = tc_graph_attr_epsilon(n);
    for (int64_t i = 0; i < out->n; i++) {
        out->scale[i] = v[1][i] / sqrt(v[4][i] + epsilon);
        out->shift[i] = v[2][i] - v[3][i] * out->scale[i];
    }
    for (int k = 1; k < 5; k++)
        free(v[k]);
    return true;
}

/* The constant has one element, or one for each channel of a value of `shape`. */
static bool is_per_channel(const tc_graph_value *c, const tc_graph_shape *shape) {
    if (!tc_graph_is_const(c) || c->shape.ndim > shape->ndim)
        return false;
    int skip = shape->ndim - c->shape.ndim;
    for (int d = 0; d < c->shape.ndim; d++)
        if (c->shape.d[d] != 1 && d + skip != 1)
            return false;
    return true;
}

/* x op c, or, where op commutes, c op x. */
static const struct by_constant {
    tc_graph_op op;
    bool scales, inverts;
} BY_CONSTANT[] = {{TC_GRAPH_OP_ADD, false, false},
                   {TC_GRAPH_OP_SUB, false, true},
                   {TC_GRAPH_OP_MUL, true, false},
                   {TC_GRAPH_OP_DIV, true, true}};

/* Weights may take the divisor where dividing them rounds nothing. A divisor beyond MOST could make subnormal weights. */
static bool divides_exactly(const tc_graph_value *divisor) {
    static const double MOST = 0x1p32;
    for (int64_t i = 0, n = tc_graph_shape_count(&divisor->shape); i < n; i++) {
        double v = tc_load_f(divisor->dtype, divisor->constant->data, i);
        if (!tc_dtype_inverts(divisor->dtype, v) || fabs(v) > MOST || fabs(v) < 1 / MOST)
            return false;
    }
    return true;
}

/* *x is which operand is not the constant. */
static bool affine_of_binary(const tc_graph_node *n, int *x, affine *out) {
    const struct by_constant *by = BY_CONSTANT, *end = by + TC_LEN(BY_CONSTANT);
    while (by < end && by->op != n->op)
        by++;
    if (by == end)
        return false;
    *x = !by->inverts && tc_graph_is_const(n->in[0]) ? 1 : 0;
    const tc_graph_value *constant = n->in[1 - *x];
    if (!is_per_channel(constant, &n->out[0]->shape) || (by->scales && by->inverts && !divides_exactly(constant)))
        return false;
    *out = new_affine(tc_graph_shape_count(&constant->shape));
    double *c = tc_graph_wide_f64(constant->constant);
    for (int64_t i = 0; i < out->n; i++)
        if (by->scales)
            out->scale[i] = by->inverts ? 1 / c[i] : c[i];
        else
            out->shift[i] = by->inverts ? -c[i] : c[i];
    free(c);
    return true;
}

static bool affine_of(const tc_graph_node *n, int *x, affine *out) {
    *x = 0;
    if (n->nout != 1 || !n->out[0])
        return false;
    return n->op == TC_GRAPH_OP_BATCH_NORM ? affine_of_norm(n, out) : affine_of_binary(n, x, out);
}

/* ---- into a convolution ---- */

/* A convolution with constant weights and a single reader. */
static bool is_foldable(const folder *f, const tc_graph_value *v, const tc_graph_shape *wanted) {
    const tc_graph_node *n = v->producer;
    if (!n || !tc_graph_op_is(n->op, TC_GRAPH_CONVOLUTION) || !tc_graph_is_const(n->in[1]))
        return false;
    if (n->nin > 2 && n->in[2] && !tc_graph_is_const(n->in[2]))
        return false;
    bool once = v->id >= f->nuses || f->uses[v->id] == 1;
    return once && (v->dtype == TC_F32 || v->dtype == TC_F64) && tc_graph_shape_equal(&v->shape, wanted) &&
           !tc_graph_attr_channels_last(n);
}

/* Output channel of weight i. */
static int64_t channel_of(const tc_graph_node *conv, int64_t i) {
    const tc_graph_shape *w = &conv->in[1]->shape;
    int64_t kernel = tc_graph_shape_count(w) / (w->d[0] * w->d[1]);
    if (conv->op == TC_GRAPH_OP_CONV)
        return i / (w->d[1] * kernel);
    int64_t per = w->d[0] / tc_graph_attr_group(conv);
    return i / (w->d[1] * kernel) / per * w->d[1] + i / kernel % w->d[1];
}

static tc_graph_value *scaled_weights(tc_graph *g, const tc_graph_node *conv, const affine *a, tc_error *err) {
    const tc_graph_value *w = conv->in[1];
    bool same = true;
    for (int64_t i = 0; i < a->n; i++)
        same &= a->scale[i] == 1;
    if (same)
        return conv->in[1];
    if (!tc_graph_can_widen(tc_graph_tensor_count(w->constant), 1))
        return NULL;
    double *v = tc_graph_wide_f64(w->constant);
    int64_t n = tc_graph_shape_count(&w->shape);
    for (int64_t i = 0; i < n; i++)
        v[i] *= a->scale[a->n == 1 ? 0 : channel_of(conv, i)];
    tc_graph_value *made = tc_graph_constant_of(g, tc_arena_printf(g->arena, "%s.scaled", w->name), w->dtype, &w->shape, v, err);
    free(v);
    return made;
}

static tc_graph_value *shifted_bias(tc_graph *g, const tc_graph_node *conv, const affine *a, tc_error *err) {
    const tc_graph_value *y = conv->out[0], *b = conv->nin > 2 ? conv->in[2] : NULL;
    tc_graph_shape s = {.ndim = 1, .d = {y->shape.d[1]}};
    double *v = b ? tc_graph_wide_f64(b->constant) : tc_xcalloc((size_t)s.d[0] + 1, sizeof *v);
    for (int64_t i = 0; i < s.d[0]; i++)
        v[i] = v[i] * a->scale[a->n == 1 ? 0 : i] + a->shift[a->n == 1 ? 0 : i];
    tc_graph_value *made = tc_graph_constant_of(g, tc_arena_printf(g->arena, "%s.bias", y->name), y->dtype, &s, v, err);
    free(v);
    return made;
}

static tc_status fold(folder *f, const tc_graph_node *conv, const affine *a, tc_graph_value *y, tc_error *err) {
    tc_graph_value *in[] = {conv->in[0], scaled_weights(f->g, conv, a, err), shifted_bias(f->g, conv, a, err)};
    if (!in[1] || !in[2])
        return TC_ENV;
    tc_graph_node *n = tc_graph_copy_node(f->g, conv, in);
    tc_graph_set_inputs(f->g, n, in, 3);
    tc_graph_produce(f->g, n, y);
    return TC_OK;
}

/* ---- a batch norm without one ---- */

static tc_status write_out(folder *f, const tc_graph_node *n, const affine *a, tc_error *err) {
    tc_graph *g = f->g;
    tc_graph_value *y = n->out[0];
    tc_graph_shape s = {.ndim = y->shape.ndim - 1};
    for (int d = 0; d < s.ndim; d++)
        s.d[d] = 1;
    s.d[0] = a->n;
    tc_graph_value *scale = tc_graph_constant_of(g, tc_arena_printf(g->arena, "%s.scale", y->name), y->dtype, &s, a->scale, err);
    tc_graph_value *shift = tc_graph_constant_of(g, tc_arena_printf(g->arena, "%s.shift", y->name), y->dtype, &s, a->shift, err);
    if (!scale || !shift)
        return TC_ENV;
    tc_graph_node *mul = tc_graph_new_node(g, TC_GRAPH_OP_MUL, "", (tc_graph_value *[]){n->in[0], scale}, 2);
    tc_graph_value *scaled = tc_graph_place_typed(g, mul, tc_arena_printf(g->arena, "%s.scaled", y->name), y->dtype, &y->shape);
    tc_graph_node *add = tc_graph_new_node(g, TC_GRAPH_OP_ADD, n->name, (tc_graph_value *[]){scaled, shift}, 2);
    tc_graph_produce(g, add, y);
    return TC_OK;
}

/* ---- the walk ---- */

static tc_status visit(folder *f, tc_graph_node *n, tc_error *err) {
    affine a;
    int x;
    if (!affine_of(n, &x, &a)) {
        tc_push(&f->g->nodes, n);
        return TC_OK;
    }
    tc_graph_value *y = n->out[0];
    tc_status s = TC_OK;
    if (is_foldable(f, n->in[x], &y->shape))
        s = fold(f, n->in[x]->producer, &a, y, err);
    else if (n->op == TC_GRAPH_OP_BATCH_NORM && (y->dtype == TC_F32 || y->dtype == TC_F64) && y->shape.ndim > 1)
        s = write_out(f, n, &a, err);
    else
        tc_push(&f->g->nodes, n);
    free_affine(&a);
    return s;
}

tc_status tc_graph_pass_fold_scales(tc_graph *g, tc_error *err) {
    folder f = {.g = g, .uses = tc_graph_count_uses(g), .nuses = g->values.len};
    tc_graph_nodes old = g->nodes;
    g->nodes = (tc_graph_nodes){0};
    tc_status s = TC_OK;
    for (size_t i = 0; i < old.len && s == TC_OK; i++)
        s = visit(&f, old.data[i], err);
    tc_vec_free(&old);
    free(f.uses);
    return s;
}
