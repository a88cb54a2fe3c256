/* Turns contractions of quantised operands into contractions of bytes with 32-bit sums, which are exact.
 *
 *   y = Conv(DQ(x, sx, zx), DQ(w, sw, zw), DQ(b, sx * sw))   =>   y = float(Conv(x, w') {pad_value: zx} + c) * (sx * sw)
 *   y = MatMul(Cast(x) - zx, Cast(w) - zw) : i32             =>   y = MatMul(x, w') + c
 *
 * w' = w - zw are bytes again, and c = b - zx * (sum of w' along the reduction). The pass computes both once; if zx is known at run
 * time only, c is computed at run time. The integer sums equal those of the definition. The float arithmetic on the sums is done
 * once: one factor for each output channel scales them. If a QuantizeLinear follows, this factor contains its scale too
 * (requantise.c). The padding of x stands for 0, so it is zx. */
#include <math.h>
#include <stdlib.h>

#include "graph/ir/build.h"
#include "graph/ops/eval.h"
#include "graph/passes/quantised.h"

/* An operand: `q` minus `zero` (NULL: 0) times `scale` (NULL: 1). */
typedef struct factor {
    tc_graph_value *q, *zero, *scale;
} factor;

/* Constant weights by output channel, after the zero points are subtracted. */
typedef struct weights {
    int64_t n, depth;     /* output channels, and products of a sum */
    tc_graph_shape shape; /* of `made` */
    double *value;        /* in that shape */
    double *sum;          /* of a channel's */
    double *scale;        /* of a channel */
    tc_dtype dtype;       /* of bytes, where all fit */
} weights;

/* ---- operands ---- */

static bool is_byte(const tc_graph_value *v) {
    return v->dtype == TC_U8 || v->dtype == TC_I8;
}

/* Integers: a widened byte, minus a zero point if there is one. */
static bool widened(const tc_graph_value *v, factor *f) {
    const tc_graph_node *sub = tc_graph_made_by(v, TC_GRAPH_OP_SUB);
    const tc_graph_node *cast = tc_graph_made_by(sub ? sub->in[0] : v, TC_GRAPH_OP_CAST);
    if (!cast || !is_byte(cast->in[0]) || v->dtype != TC_I32)
        return false;
    *f = (factor){.q = cast->in[0], .zero = sub ? sub->in[1] : NULL};
    return tc_graph_shape_equal(&v->shape, &f->q->shape);
}

static bool dequantised(const tc_graph_value *v, factor *f) {
    const tc_graph_node *n = tc_graph_dequantisation_of(v);
    if (!n || !is_byte(n->in[0]) || v->dtype != TC_F32 || !tc_graph_known_scales(n))
        return false;
    *f = (factor){n->in[0], tc_graph_operand_of(n, 2), n->in[1]};
    return true;
}

static bool is_scalar(const tc_graph_value *v) {
    return !v || tc_graph_shape_count(&v->shape) == 1;
}

static bool find_activation(const tc_graph_node *n, factor *f) {
    bool found = n->out[0]->dtype == TC_I32 ? widened(n->in[0], f) : dequantised(n->in[0], f);
    return found && !f->q->constant && is_scalar(f->zero) && is_scalar(f->scale);
}

/* Integers whose zero points were subtracted during folding are constants themselves. */
static bool find_weights(const tc_graph_node *n, factor *f) {
    tc_graph_value *w = n->in[1];
    if (n->out[0]->dtype == TC_I32) {
        *f = (factor){.q = w};
        return w->constant;
    }
    return dequantised(w, f) && f->q->constant && (!f->zero || f->zero->constant);
}

static bool convolves(const tc_graph_node *n) {
    return tc_graph_op_is(n->op, TC_GRAPH_CONVOLUTION);
}

/* ---- weights ---- */

/* The dimension of output channels. */
static int channel_dim(const tc_graph_node *n) {
    if (convolves(n))
        return 0;
    return n->op == TC_GRAPH_OP_GEMM && tc_graph_attr_trans_b(n) ? 0 : 1;
}

/* The index of a parameter for channel j; false: there is neither one value for all channels nor one for each. */
static bool by_channel(const tc_graph_value *p, const tc_graph_shape *w, int dim, bool *each) {
    *each = p && tc_graph_shape_count(&p->shape) != 1;
    return !*each || (p->shape.ndim == w->ndim && tc_graph_shape_count(&p->shape) == w->d[dim] && p->shape.d[dim] == w->d[dim]);
}

static double parameter(const tc_graph_value *p, bool each, int64_t j, double otherwise) {
    if (!p)
        return otherwise;
    int64_t at = each ? j : 0;
    return tc_dtype_is_float(p->dtype) ? tc_load_f(p->dtype, p->constant->data, at)
                                       : (double)tc_load_i(p->dtype, p->constant->data, at);
}

static void free_weights(weights *w) {
    free(w->value);
    free(w->sum);
    free(w->scale);
}

/* Weights of a MatMul are laid out as [depth, n]; weights of a Conv stay [n, ...]. */
static bool read_weights(const tc_graph_node *n, const factor *f, weights *w) {
    const tc_graph_shape *s = &f->q->shape;
    int dim = channel_dim(n);
    bool each_zero, each_scale;
    if ((!convolves(n) && s->ndim != 2) || !by_channel(f->zero, s, dim, &each_zero) || !by_channel(f->scale, s, dim, &each_scale))
        return false;
    int64_t count = tc_graph_shape_count(s), inner = 1;
    for (int d = dim + 1; d < s->ndim; d++)
        inner *= s->d[d];
    bool turn = n->op == TC_GRAPH_OP_GEMM && dim == 0;
    *w = (weights){.n = s->d[dim], .depth = s->d[dim] ? count / s->d[dim] : 0, .shape = *s};
    if (turn)
        w->shape = (tc_graph_shape){2, {s->d[1], s->d[0]}};
    if (!tc_graph_can_widen(count, 3)) /* as it is, by channel, and with what pads it */
        return false;
    double *q = tc_graph_wide_f64(f->q->constant), low = 0, high = 0;
    w->value = tc_xcalloc((size_t)count + 1, sizeof *w->value);
    w->sum = tc_xcalloc((size_t)w->n + 1, sizeof *w->sum);
    w->scale = tc_xcalloc((size_t)w->n + 1, sizeof *w->scale);
    for (int64_t i = 0; i < count; i++) {
        int64_t j = i / inner % w->n;
        double v = q[i] - parameter(f->zero, each_zero, j, 0);
        w->value[turn ? i % s->d[1] * s->d[0] + i / s->d[1] : i] = v;
        w->sum[j] += v;
        low = fmin(low, v);
        high = fmax(high, v);
    }
    for (int64_t j = 0; j < w->n; j++)
        w->scale[j] = parameter(f->scale, each_scale, j, 1);
    free(q);
    w->dtype = low >= INT8_MIN && high <= INT8_MAX ? TC_I8 : TC_I16;
    return low >= INT16_MIN && high <= INT16_MAX;
}

/* Integer sums of the model may wrap by their definition. Sums that stand for floats must not: whatever the activations are, no sum
 * may exceed 32 bits. */
static bool sums_fit(const tc_graph_node *n, const weights *w) {
    int64_t count = tc_graph_shape_count(&w->shape), most = 0;
    if (n->out[0]->dtype == TC_I32)
        return true;
    for (int64_t i = 0; i < count; i++)
        most = TC_MAX(most, (int64_t)fabs(w->value[i]));
    return most == 0 || w->depth <= INT32_MAX / 2 / (most * UINT8_MAX); /* the other half is for the bias */
}

/* ---- the contraction ---- */

typedef struct maker {
    tc_graph *g;
    tc_graph_node *n; /* what is replaced */
    factor x;
    weights w;
    tc_error *err;
} maker;

static bool pads(const tc_graph_node *n) {
    size_t len;
    const int64_t *p = tc_graph_attr_pads(n, &len);
    bool any = false;
    for (size_t i = 0; p && i < len; i++)
        any |= p[i] != 0;
    return any;
}

static const char *named(const maker *m, const char *what) {
    return tc_graph_fresh_name(m->g, tc_arena_printf(m->g->arena, "%s.%s", m->n->out[0]->name, what));
}

/* Makes a constant by output channel that broadcasts over the result; for the bias of a convolution, a list. */
static tc_graph_value *channel_constant(const maker *m, const char *what, tc_dtype t, const double *v, bool list) {
    bool conv = convolves(m->n) && !list;
    tc_graph_shape s = {.ndim = conv ? m->n->out[0]->shape.ndim - 1 : 1, .d = {m->w.n}};
    for (int d = 1; d < s.ndim; d++)
        s.d[d] = 1;
    return tc_graph_constant_of(m->g, named(m, what), t, &s, v, m->err);
}

static tc_graph_value *placed(const maker *m, tc_graph_op op, tc_graph_value *a, tc_graph_value *b, tc_dtype t) {
    tc_graph_value *in[] = {a, b};
    const tc_graph_shape *s = &m->n->out[0]->shape;
    if (!a || (!b && op != TC_GRAPH_OP_CAST))
        return NULL;
    tc_graph_node *n = tc_graph_new_node(m->g, op, "", in, b ? 2 : 1);
    if (op == TC_GRAPH_OP_CAST)
        tc_graph_set_to(m->g, n, tc_graph_dtype_to_onnx(t));
    if (op == TC_GRAPH_OP_CAST || (op == TC_GRAPH_OP_MUL && t == TC_I32))
        s = &(b ? b : a)->shape;
    return tc_graph_place_typed(m->g, n, named(m, "part"), t, s);
}

/* x with as many columns, those that it lacks 0. */
static tc_graph_value *with_columns(const maker *m, tc_graph_value *x, int64_t columns) {
    int n = x->shape.ndim;
    int64_t pad[2 * TC_GRAPH_MAX_DIMS] = {0};
    tc_graph_shape s = x->shape;
    pad[2 * n - 1] = columns - s.d[n - 1];
    s.d[n - 1] = columns;
    tc_graph_node *node = tc_graph_new_node(m->g, TC_GRAPH_OP_PAD, "", &x, 1);
    tc_graph_set_mode(m->g, node, "constant");
    tc_graph_set_pads(m->g, node, pad, 2 * (size_t)n);
    return tc_graph_place_typed(m->g, node, named(m, "padded"), x->dtype, &s);
}

/* The activations with this many channels, which are contiguous: convolutions run with channels last. */
static tc_graph_value *with_channels(const maker *m, int64_t channels) {
    int n = m->x.q->shape.ndim;
    int64_t to_last[TC_GRAPH_MAX_DIMS], to_first[TC_GRAPH_MAX_DIMS];
    for (int d = 0; d < n; d++) {
        to_last[d] = d == 0 ? 0 : d == n - 1 ? 1 : d + 1;
        to_first[d] = d == 0 ? 0 : d == 1 ? n - 1 : d - 1;
    }
    return tc_graph_transposed(m->g, with_columns(m, tc_graph_transposed(m->g, m->x.q, to_last), channels), to_first);
}

/* An instruction multiplies four neighbours of the reduction at once. A few extra channels, or columns of a matrix, filled with 0
 * cost less than to do without the instruction. */
static void widen_reduction(maker *m) {
    enum { GROUP = 4 };
    bool conv = convolves(m->n);
    weights *w = &m->w;
    int64_t have = w->shape.d[conv], want = (have + GROUP - 1) / GROUP * GROUP;
    if ((conv && tc_graph_attr_group(m->n) != 1) || have == want)
        return;
    int64_t rows = conv ? w->n : 1, row = tc_graph_shape_count(&w->shape) / rows;
    w->shape.d[conv] = want;
    double *v = tc_xcalloc((size_t)tc_graph_shape_count(&w->shape) + 1, sizeof *v);
    for (int64_t j = 0; j < rows; j++)
        for (int64_t i = 0; i < row; i++)
            v[j * (row / have * want) + i] = w->value[j * row + i];
    free(w->value);
    w->value = v;
    m->x.q = conv ? with_channels(m, want) : with_columns(m, m->x.q, want);
}

/* The sums of products of the stored bytes; `c` of each channel (NULL: nothing) is added. */
static tc_graph_value *contraction(maker *m, const double *c, int64_t zero) {
    tc_graph *g = m->g;
    tc_graph_value *in[3] = {NULL, NULL, c ? channel_constant(m, "offset", TC_I32, c, true) : NULL};
    if (c && !in[2])
        return NULL;
    widen_reduction(m);
    in[0] = m->x.q;
    in[1] = tc_graph_constant_of(g, named(m, "weights"), m->w.dtype, &m->w.shape, m->w.value, m->err);
    if (!in[1])
        return NULL;
    if (!convolves(m->n)) {
        tc_graph_node *n = tc_graph_new_node(g, TC_GRAPH_OP_MATMUL, m->n->name, in, 2);
        tc_graph_value *y = tc_graph_place_typed(g, n, named(m, "sums"), TC_I32, &m->n->out[0]->shape);
        return c ? placed(m, TC_GRAPH_OP_ADD, y, in[2], TC_I32) : y;
    }
    tc_graph_node *n = tc_graph_copy_node(g, m->n, m->n->in);
    tc_graph_set_inputs(g, n, in, c ? 3 : 2);
    if (zero && pads(n))
        tc_graph_set_pad_value(g, n, zero);
    return tc_graph_place_typed(g, n, named(m, "sums"), TC_I32, &m->n->out[0]->shape);
}

/* ---- the bias ---- */

/* The bias of channel j in units of the sums, if by its own scale it is a whole number of units. */
static bool whole_bias(const maker *m, double *out) {
    const tc_graph_value *b = tc_graph_operand_of(m->n, 2);
    const tc_graph_node *d = tc_graph_dequantisation_of(b);
    if (m->n->out[0]->dtype == TC_I32) {
        for (int64_t j = 0; j < m->w.n && b->constant; j++)
            out[j] = (double)tc_load_i(b->dtype, b->constant->data, tc_graph_shape_count(&b->shape) == 1 ? 0 : j);
        return b->constant;
    }
    if (!d || d->in[0]->dtype != TC_I32 || !d->in[0]->constant || !d->in[1]->constant || tc_graph_operand_of(d, 2) ||
        tc_graph_shape_count(&b->shape) != m->w.n)
        return false;
    const tc_graph_value *scale = d->in[1];
    bool each = tc_graph_shape_count(&scale->shape) != 1;
    double x = parameter(m->x.scale, false, 0, 1);
    for (int64_t j = 0; j < m->w.n; j++) {
        double want = x * m->w.scale[j], has = parameter(scale, each, j, 1);
        if (fabs(has - want) > 1e-6 * want) /* the product, rounded to f32 */
            return false;
        out[j] = (double)tc_load_i(TC_I32, d->in[0]->constant->data, j);
        if (fabs(out[j]) > INT32_MAX / 2) /* sums_fit */
            return false;
    }
    return true;
}

/* ---- the whole ---- */

/* From the sums to the floats that they stand for. */
static tc_graph_value *scaled(const maker *m, tc_graph_value *sums, tc_graph_value *bias) {
    double *s = tc_xmalloc(((size_t)m->w.n + 1) * sizeof *s), x = parameter(m->x.scale, false, 0, 1);
    for (int64_t j = 0; j < m->w.n; j++)
        s[j] = x * m->w.scale[j];
    tc_graph_value *scale = channel_constant(m, "scale", TC_F32, s, false);
    free(s);
    tc_graph_value *y = placed(m, TC_GRAPH_OP_MUL, placed(m, TC_GRAPH_OP_CAST, sums, NULL, TC_F32), scale, TC_F32);
    if (!bias || !y)
        return y;
    tc_graph_shape list = {.ndim = convolves(m->n) ? m->n->out[0]->shape.ndim - 1 : 1, .d = {m->w.n}};
    for (int d = 1; d < list.ndim; d++)
        list.d[d] = 1;
    if (convolves(m->n))
        bias = tc_graph_reshaped(m->g, bias, &list);
    return placed(m, TC_GRAPH_OP_ADD, y, bias, TC_F32);
}

/* zx is known at run time only: its products with the sums of the weights are computed at run time. */
static tc_graph_value *less_zero(const maker *m, tc_graph_value *sums) {
    tc_graph_value *zero = tc_graph_reshaped(m->g, m->x.zero, &(tc_graph_shape){0});
    if (zero->dtype != TC_I32)
        zero = placed(m, TC_GRAPH_OP_CAST, zero, NULL, TC_I32);
    tc_graph_value *sum = channel_constant(m, "weight_sums", TC_I32, m->w.sum, false);
    return placed(m, TC_GRAPH_OP_SUB, sums, placed(m, TC_GRAPH_OP_MUL, zero, sum, TC_I32), TC_I32);
}

static tc_graph_value *made(maker *m) {
    const tc_graph_value *zero = m->x.zero;
    bool known = !zero || zero->constant;
    int64_t z = zero && known ? tc_load_i(zero->dtype, zero->constant->data, 0) : 0;
    tc_graph_value *bias = tc_graph_operand_of(m->n, 2);
    double *c = tc_xcalloc((size_t)m->w.n + 1, sizeof *c);
    bool whole = bias && whole_bias(m, c), any = false;
    for (int64_t j = 0; j < m->w.n; j++) {
        c[j] = (whole ? c[j] : 0) - (double)z * m->w.sum[j];
        any |= c[j] != 0;
    }
    tc_graph_value *y = contraction(m, any ? c : NULL, z);
    free(c);
    if (y && !known)
        y = less_zero(m, y);
    if (y && m->n->out[0]->dtype == TC_F32)
        y = scaled(m, y, whole ? NULL : bias);
    return y;
}

/* n is a contraction whose sums 32 bits hold; its other properties are those of a MatMul. */
static bool suits(const tc_graph_node *n) {
    bool plain = n->op == TC_GRAPH_OP_CONV || n->op == TC_GRAPH_OP_MATMUL;
    if (n->op == TC_GRAPH_OP_GEMM)
        plain = !tc_graph_attr_trans_a(n) && tc_graph_attr_alpha(n) == 1 && (n->nin < 3 || tc_graph_attr_beta(n) == 1);
    const tc_graph_value *y = n->nout == 1 ? n->out[0] : NULL, *b = plain ? tc_graph_operand_of(n, 2) : NULL;
    return plain && (y->dtype == TC_I32 || y->dtype == TC_F32) && (y->dtype == TC_F32 || !b || b->constant);
}

static tc_status replace(maker *m) {
    tc_graph_value *y = m->n->out[0], *r = made(m);
    if (!r)
        return TC_ENV;
    r->producer->out[0] = y;
    y->producer = r->producer;
    r->producer = NULL;
    return TC_OK;
}

static tc_status visit(tc_graph *g, tc_graph_node *n, void *user, tc_error *err) {
    (void)user;
    maker m = {.g = g, .n = n, .err = err};
    factor w;
    bool fits = suits(n) && find_activation(n, &m.x) && find_weights(n, &w) &&
                (!m.x.zero || m.x.zero->constant || !convolves(n) || !pads(n));
    if (fits && !(read_weights(n, &w, &m.w) && sums_fit(n, &m.w))) {
        free_weights(&m.w);
        fits = false;
    }
    if (!fits) {
        tc_push(&g->nodes, n);
        return TC_OK;
    }
    tc_status s = replace(&m);
    free_weights(&m.w);
    return s;
}

tc_status tc_graph_pass_integer_kernels(tc_graph *g, tc_error *err) {
    return tc_graph_rewrite_nodes(g, visit, NULL, err);
}
