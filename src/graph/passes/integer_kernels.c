/* Turns contractions of quantised operands into contractions of bytes with 32-bit sums, which are exact.
 *
 *   y = Conv(DQ(x, sx, zx), DQ(w, sw, zw), DQ(b, sx * sw))   =>   y = float(Conv(x, w', c, zx)) * (sx * sw)
 *   y = MatMul(Cast(x) - zx, Cast(w) - zw) : i32             =>   y = MatMul(x, w') + c
 *
 * w' = w - zw are bytes again, and c = b - zx * (sum of w' along the reduction). The pass computes both once; if zx is known at run
 * time only, c is computed at run time. The padding of x stands for 0, so it is zx. Past the sizes of a run x is zx, too.
 *
 * If w - zw does not fit a byte, or if zw is known at run time only, then w' = w - zw + e with an excess e for each channel. The
 * products with the excess are subtracted:
 *
 *   sum (x - zx) * (w - zw)   =   sum x * w'  -  zx * sum w'  -  e * sum (x - zx)
 *
 * The last sum, over the window of x, is the same for all channels. Its kernel reads x once.
 *
 * The integer sums equal those of the definition. The float arithmetic on the sums is done once: one factor for each output channel
 * scales them. If a QuantizeLinear follows, this factor contains its scale too (requantise.c). */
#include <math.h>
#include <stdlib.h>

#include "graph/ir/build.h"
#include "graph/ops/dynamic.h"
#include "graph/passes/integer_int.h"

/* ---- operands ---- */

static bool is_byte(const tc_graph_value *v) {
    return v->dtype == TC_U8 || v->dtype == TC_I8;
}

/* Integers: a widened byte, minus a zero point if there is one. */
static bool widened(tc_graph_value *v, tc_graph_factor *f) {
    const tc_graph_node *sub = tc_graph_made_by(v, TC_GRAPH_OP_SUB);
    const tc_graph_node *cast = tc_graph_made_by(sub ? sub->in[0] : v, TC_GRAPH_OP_CAST);
    if (!cast || !is_byte(cast->in[0]) || v->dtype != TC_I32)
        return false;
    *f = (tc_graph_factor){.v = v, .q = cast->in[0], .zero = sub ? sub->in[1] : NULL};
    return tc_graph_shape_equal(&v->shape, &f->q->shape);
}

static bool dequantised(tc_graph_value *v, tc_graph_factor *f) {
    const tc_graph_node *n = tc_graph_dequantisation_of(v);
    if (!n || !is_byte(n->in[0]) || v->dtype != TC_F32 || !tc_graph_known_scales(n))
        return false;
    *f = (tc_graph_factor){v, n->in[0], tc_graph_operand_of(n, 2), n->in[1]};
    return true;
}

static bool is_all_zero(const tc_graph_value *v) {
    const tc_graph_tensor *t = v->constant;
    bool zero = t != NULL;
    for (int64_t i = 0, n = t ? tc_graph_tensor_count(t) : 0; i < n && zero; i++)
        zero = tc_dtype_is_float(t->dtype) ? tc_load_f(t->dtype, t->data, i) == 0 : tc_load_i(t->dtype, t->data, i) == 0;
    return zero;
}

/* The operand of n that n moves, if n adds nothing but zeros: past the sizes of a run, or in front of it. Behind an operand that was
 * moved there are zeros only up to the size at which a mask ends it. */
static int moved_operand(const tc_graph_node *n, bool *masked) {
    if (n && n->op == TC_GRAPH_OP_MASKED && tc_graph_is_fill(n->in[2], TC_GRAPH_ZERO)) {
        masked[tc_graph_attr_axis(n)] = true;
        return 0;
    }
    bool front = n && n->op == TC_GRAPH_OP_APPENDED && n->in[2] == n->in[3] && masked[tc_graph_attr_axis(n)];
    return front && is_all_zero(n->in[0]) ? 1 : -1;
}

/* What the nodes for sizes that vary stand over. */
static tc_graph_value *under_sizes(tc_graph_value *v) {
    bool masked[TC_GRAPH_MAX_DIMS] = {false};
    for (int k; (k = moved_operand(v->producer, masked)) >= 0;)
        v = v->producer->in[k];
    return v;
}

static bool find_activation(const tc_graph_node *n, tc_graph_factor *f) {
    tc_graph_value *v = under_sizes(n->in[0]);
    bool found = n->out[0]->dtype == TC_I32 ? widened(v, f) : dequantised(v, f);
    return found && !f->q->constant && tc_graph_is_scalar(f->zero) && tc_graph_is_scalar(f->scale);
}

/* Integers whose zero points were subtracted during folding are constants themselves. */
static bool find_weights(const tc_graph_node *n, tc_graph_factor *f) {
    tc_graph_value *w = n->in[1];
    const tc_graph_node *sub = tc_graph_made_by(w, TC_GRAPH_OP_SUB);
    if (n->out[0]->dtype == TC_I32) {
        *f = sub ? (tc_graph_factor){.v = w, .q = sub->in[0], .zero = sub->in[1]} : (tc_graph_factor){.v = w, .q = w};
        return f->q->constant && tc_graph_shape_equal(&w->shape, &f->q->shape);
    }
    return dequantised(w, f) && f->q->constant && (!f->zero || f->zero->constant);
}

/* Integer sums of the model may wrap by their definition. Sums that stand for floats must not: whatever the activations are, no sum
 * may exceed 32 bits. */
static bool sums_fit(const tc_graph_node *n, const tc_graph_weights *w) {
    int64_t most = (int64_t)w->most;
    if (n->out[0]->dtype == TC_I32)
        return true;
    return most == 0 || w->depth <= INT32_MAX / 2 / (most * UINT8_MAX); /* the other half is for the bias */
}

/* ---- the contraction ---- */

typedef struct maker {
    tc_graph *g;
    tc_graph_node *n; /* what is replaced */
    tc_graph_factor x;
    tc_graph_weights w;
    tc_graph_value *fill; /* the zero point of x in the type of its bytes, where that is not known now or was made */
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

/* What broadcasts over the result by output channel. */
static tc_graph_shape channels_shape(const maker *m) {
    tc_graph_shape s = {.ndim = tc_graph_convolves(m->n) ? m->n->out[0]->shape.ndim - 1 : 1, .d = {m->w.n}};
    for (int d = 1; d < s.ndim; d++)
        s.d[d] = 1;
    return s;
}

/* Makes a constant by output channel that broadcasts over the result; for the bias of a convolution, a list. */
static tc_graph_value *channel_constant(const maker *m, const char *what, tc_dtype t, const double *v, bool list) {
    tc_graph_shape s = list ? (tc_graph_shape){1, {m->w.n}} : channels_shape(m);
    return tc_graph_constant_of(m->g, named(m, what), t, &s, v, m->err);
}

static tc_graph_value *scalar_constant(const maker *m, const char *what, tc_dtype t, int64_t v) {
    return tc_graph_constant_of(m->g, named(m, what), t, &(tc_graph_shape){0}, (double[]){(double)v}, m->err);
}

static tc_graph_value *placed(const maker *m, tc_graph_op op, tc_graph_value *a, tc_graph_value *b, tc_dtype t) {
    tc_graph_value *in[] = {a, b};
    if (!a || (!b && op != TC_GRAPH_OP_CAST))
        return NULL;
    tc_graph_shape s = a->shape;
    tc_graph_node *n = tc_graph_new_node(m->g, op, "", in, b ? 2 : 1);
    if (op == TC_GRAPH_OP_CAST)
        tc_graph_set_to(m->g, n, tc_graph_dtype_to_onnx(t));
    if (b)
        tc_graph_shape_broadcast(&a->shape, &b->shape, &s);
    return tc_graph_place_typed(m->g, n, named(m, "part"), t, &s);
}

/* ---- the zero point of x ---- */

static bool is_zero_known(const maker *m) {
    return !m->x.zero || m->x.zero->constant;
}

static int64_t known_zero(const maker *m) {
    return m->x.zero && m->x.zero->constant ? tc_load_i(m->x.zero->dtype, m->x.zero->constant->data, 0) : 0;
}

/* As one number of i32. */
static tc_graph_value *zero_point(const maker *m) {
    if (is_zero_known(m))
        return scalar_constant(m, "zero", TC_I32, known_zero(m));
    tc_graph_value *zero = tc_graph_reshaped(m->g, m->x.zero, &(tc_graph_shape){0});
    return zero->dtype == TC_I32 ? zero : placed(m, TC_GRAPH_OP_CAST, zero, NULL, TC_I32);
}

/* The zero point fills what is no element of x: the padding, and what lies past the sizes of a run. So it has to be a byte itself.
 * False: this is needed, but not known. */
static bool find_fill(maker *m) {
    tc_graph_value *z = m->x.zero;
    tc_dtype t = m->x.q->dtype;
    if (m->x.v == m->n->in[0] && !(tc_graph_convolves(m->n) && pads(m->n)))
        return true;
    if (is_zero_known(m))
        return tc_wrap_i(t, known_zero(m)) == known_zero(m);
    while (z->dtype != t && (tc_graph_made_by(z, TC_GRAPH_OP_CAST) || tc_graph_made_by(z, TC_GRAPH_OP_RESHAPE)))
        z = z->producer->in[0];
    m->fill = z;
    return z->dtype == t;
}

static tc_graph_value *fill(maker *m) {
    if (!m->fill)
        m->fill = scalar_constant(m, "pad", m->x.q->dtype, known_zero(m));
    if (m->fill)
        m->fill = tc_graph_reshaped(m->g, m->fill, &(tc_graph_shape){0});
    return m->fill;
}

/* The nodes from x.v to v, for q in place of x.v: with the zero point instead of 0. q may have more channels. */
static tc_graph_value *with_sizes(maker *m, const tc_graph_value *v, tc_graph_value *q) {
    if (v == m->x.v || !q)
        return q;
    tc_graph_node *n = v->producer;
    int from = n->op == TC_GRAPH_OP_APPENDED, channel = tc_graph_convolves(m->n) ? 1 : v->shape.ndim - 1;
    q = with_sizes(m, n->in[from], q);
    if (!q || !fill(m))
        return NULL;
    tc_graph_value **in = tc_arena_dup(m->g->arena, n->in, (size_t)n->nin * sizeof *in);
    tc_graph_shape s = v->shape, front = n->in[0]->shape;
    s.d[channel] = front.d[channel] = q->shape.d[channel];
    in[from] = q;
    if (from)
        in[0] = tc_graph_place_typed(m->g, tc_graph_new_node(m->g, TC_GRAPH_OP_EXPAND, "", &m->fill, 1), named(m, "front"),
                                     q->dtype, &front);
    else
        in[2] = m->fill;
    return tc_graph_place_typed(m->g, tc_graph_copy_node(m->g, n, in), named(m, "sized"), q->dtype, &s);
}

/* ---- more channels ---- */

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
static tc_graph_value *widen_reduction(maker *m) {
    enum { GROUP = 4 };
    bool conv = tc_graph_convolves(m->n);
    tc_graph_weights *w = &m->w;
    int64_t have = w->shape.d[conv], want = (have + GROUP - 1) / GROUP * GROUP;
    if (w->group != 1 || have == want)
        return m->x.q;
    int64_t rows = conv ? w->n : 1, row = tc_graph_shape_count(&w->shape) / rows;
    w->shape.d[conv] = want;
    double *v = tc_xcalloc((size_t)tc_graph_shape_count(&w->shape) + 1, sizeof *v);
    for (int64_t j = 0; j < rows; j++)
        for (int64_t i = 0; i < row; i++)
            v[j * (row / have * want) + i] = w->value[j * row + i];
    free(w->value);
    w->value = v;
    return conv ? with_channels(m, want) : with_columns(m, m->x.q, want);
}

/* The sums of products of the stored bytes; `c` of each channel (NULL: nothing) is added. */
static tc_graph_value *contraction(maker *m, const double *c) {
    tc_graph *g = m->g;
    tc_graph_value *in[4] = {NULL, NULL, c ? channel_constant(m, "offset", TC_I32, c, true) : NULL};
    if (c && !in[2])
        return NULL;
    in[0] = with_sizes(m, m->n->in[0], widen_reduction(m));
    in[1] = tc_graph_constant_of(g, named(m, "weights"), m->w.dtype, &m->w.shape, m->w.value, m->err);
    if (!in[0] || !in[1])
        return NULL;
    if (!tc_graph_convolves(m->n)) {
        tc_graph_node *n = tc_graph_new_node(g, TC_GRAPH_OP_MATMUL, m->n->name, in, 2);
        tc_graph_value *y = tc_graph_place_typed(g, n, named(m, "sums"), TC_I32, &m->n->out[0]->shape);
        return c ? placed(m, TC_GRAPH_OP_ADD, y, in[2], TC_I32) : y;
    }
    bool filled = pads(m->n) && (!is_zero_known(m) || known_zero(m) != 0);
    if (filled && !(in[3] = fill(m)))
        return NULL;
    tc_graph_node *n = tc_graph_copy_node(g, m->n, m->n->in);
    tc_graph_set_inputs(g, n, in, filled ? 4 : c ? 3 : 2);
    return tc_graph_place_typed(g, n, named(m, "sums"), TC_I32, &m->n->out[0]->shape);
}

/* ---- sums of x ---- */

static tc_graph_value *summed(const maker *m, tc_graph_value *x, int64_t axis, bool keep) {
    tc_graph_node *n = tc_graph_new_node(m->g, TC_GRAPH_OP_REDUCE_SUM, "", &x, 1);
    tc_graph_shape s = {.ndim = 0};
    for (int d = 0; d < x->shape.ndim; d++)
        if (d != axis || keep)
            s.d[s.ndim++] = d == axis ? 1 : x->shape.d[d];
    tc_graph_set_axes(m->g, n, &axis, 1);
    tc_graph_set_keepdims(m->g, n, keep);
    return tc_graph_place_typed(m->g, n, named(m, "part"), TC_I32, &s);
}

/* [N, C, spatial...] to [N, groups, spatial...]. */
static tc_graph_value *summed_channels(const maker *m, tc_graph_value *x) {
    const tc_graph_shape *s = &x->shape;
    int64_t group = m->w.group;
    if (s->d[1] == group)
        return x;
    if (group == 1)
        return summed(m, x, 1, true);
    tc_graph_shape apart = {s->ndim + 1, {s->d[0], group, s->d[1] / group}};
    for (int d = 2; d < s->ndim; d++)
        apart.d[d + 1] = s->d[d];
    return summed(m, tc_graph_reshaped(m->g, x, &apart), 2, false);
}

/* The sums of the windows that the convolution has. */
static tc_graph_value *summed_windows(const maker *m, tc_graph_value *x) {
    tc_graph_node *n = tc_graph_new_node(m->g, TC_GRAPH_OP_AVERAGE_POOL, "", &x, 1);
    static const tc_graph_attr_id window[] = {TC_ATTR_kernel_shape, TC_ATTR_strides, TC_ATTR_dilations, TC_ATTR_pads};
    tc_graph_shape s = m->n->out[0]->shape;
    s.d[1] = x->shape.d[1];
    for (size_t i = 0; i < TC_LEN(window); i++) {
        size_t len;
        const int64_t *v = tc_graph_attr_ints(m->n, window[i], &len);
        tc_graph_set_ints(m->g, n, window[i], v, len);
    }
    tc_graph_set_count_include_pad(m->g, n, 0);
    tc_graph_set_sums(m->g, n, 1);
    return tc_graph_place_typed(m->g, n, named(m, "part"), TC_I32, &s);
}

/* What belongs to a group, for each of the group's output channels. */
static tc_graph_value *by_output(const maker *m, tc_graph_value *x) {
    int64_t group = m->w.group, n = m->w.n;
    if (group == 1 || group == n)
        return x;
    double *of = tc_xcalloc((size_t)n + 1, sizeof *of);
    for (int64_t j = 0; j < n; j++)
        of[j] = (double)(j / (n / group));
    tc_graph_value *index = tc_graph_constant_of(m->g, named(m, "groups"), TC_I64, &(tc_graph_shape){1, {n}}, of, m->err);
    free(of);
    if (!index)
        return NULL;
    tc_graph_node *node = tc_graph_new_node(m->g, TC_GRAPH_OP_GATHER, "", (tc_graph_value *[]){x, index}, 2);
    tc_graph_shape s = x->shape;
    s.d[1] = n;
    tc_graph_set_axis(m->g, node, 1);
    return tc_graph_place_typed(m->g, node, named(m, "part"), TC_I32, &s);
}

/* sum (x - zx) of each place of the result: without its padding, which stands for 0. */
static tc_graph_value *sums_of_x(maker *m) {
    tc_graph_value *x = placed(m, TC_GRAPH_OP_CAST, with_sizes(m, m->n->in[0], m->x.q), NULL, TC_I32);
    if (x && (!is_zero_known(m) || known_zero(m) != 0))
        x = placed(m, TC_GRAPH_OP_SUB, x, zero_point(m), TC_I32);
    if (!x || !tc_graph_convolves(m->n))
        return x ? summed(m, x, x->shape.ndim - 1, true) : NULL;
    return by_output(m, summed_windows(m, summed_channels(m, x)));
}

/* By channel. */
static tc_graph_value *excess(const maker *m) {
    const tc_graph_weights *w = &m->w;
    tc_graph_value *known = w->shifted ? channel_constant(m, "excess", TC_I32, w->excess, false) : NULL;
    if (!w->zero || (w->shifted && !known))
        return known;
    tc_graph_shape s = tc_graph_is_scalar(w->zero) ? (tc_graph_shape){0} : channels_shape(m);
    tc_graph_value *zero = tc_graph_reshaped(m->g, w->zero, &s);
    return known ? placed(m, TC_GRAPH_OP_ADD, zero, known, TC_I32) : zero;
}

static tc_graph_value *less_excess(maker *m, tc_graph_value *sums) {
    if (m->w.depth == 0 || (!m->w.zero && !m->w.shifted))
        return sums;
    return placed(m, TC_GRAPH_OP_SUB, sums, placed(m, TC_GRAPH_OP_MUL, sums_of_x(m), excess(m), TC_I32), TC_I32);
}

/* ---- the bias ---- */

/* One for all channels, or one for each. */
static bool is_by_channel(const maker *m, const tc_graph_value *b) {
    const tc_graph_shape *s = &b->shape;
    return tc_graph_is_scalar(b) || (tc_graph_shape_count(s) == m->w.n && s->d[s->ndim - 1] == m->w.n);
}

/* The bias of channel j in units of the sums, if by its own scale it is a whole number of units. */
static bool whole_bias(const maker *m, double *out) {
    const tc_graph_value *b = tc_graph_operand_of(m->n, 2);
    const tc_graph_node *d = tc_graph_dequantisation_of(b);
    if (!is_by_channel(m, b))
        return false;
    if (m->n->out[0]->dtype == TC_I32) {
        for (int64_t j = 0; j < m->w.n && b->constant; j++)
            out[j] = (double)tc_load_i(b->dtype, b->constant->data, tc_graph_is_scalar(b) ? 0 : j);
        return b->constant;
    }
    if (!d || d->in[0]->dtype != TC_I32 || !d->in[0]->constant || !d->in[1]->constant || tc_graph_operand_of(d, 2) ||
        tc_graph_shape_count(&b->shape) != m->w.n)
        return false;
    const tc_graph_value *scale = d->in[1];
    bool each = tc_graph_shape_count(&scale->shape) != 1;
    double x = tc_graph_parameter(m->x.scale, false, 0, 1);
    for (int64_t j = 0; j < m->w.n; j++) {
        double want = x * m->w.scale[j], has = tc_graph_parameter(scale, each, j, 1);
        if (fabs(has - want) > 1e-6 * want) /* the product, rounded to f32 */
            return false;
        out[j] = (double)tc_load_i(TC_I32, d->in[0]->constant->data, j);
        if (fabs(out[j]) > INT32_MAX / 2) /* sums_fit */
            return false;
    }
    return true;
}

static tc_graph_value *plus_bias(const maker *m, tc_graph_value *y, tc_graph_value *bias) {
    tc_graph_shape s = channels_shape(m);
    return placed(m, TC_GRAPH_OP_ADD, y, tc_graph_convolves(m->n) ? tc_graph_reshaped(m->g, bias, &s) : bias, y->dtype);
}

/* ---- the whole ---- */

/* From the sums to the floats that they stand for. */
static tc_graph_value *scaled(const maker *m, tc_graph_value *sums) {
    double *s = tc_xmalloc(((size_t)m->w.n + 1) * sizeof *s), x = tc_graph_parameter(m->x.scale, false, 0, 1);
    for (int64_t j = 0; j < m->w.n; j++)
        s[j] = x * m->w.scale[j];
    tc_graph_value *scale = channel_constant(m, "scale", TC_F32, s, false);
    free(s);
    return placed(m, TC_GRAPH_OP_MUL, placed(m, TC_GRAPH_OP_CAST, sums, NULL, TC_F32), scale, TC_F32);
}

/* zx is known at run time only: its products with the sums of the weights are computed at run time. */
static tc_graph_value *less_zero(const maker *m, tc_graph_value *sums) {
    if (is_zero_known(m))
        return sums;
    tc_graph_value *zero = zero_point(m), *sum = channel_constant(m, "weight_sums", TC_I32, m->w.sum, false);
    return placed(m, TC_GRAPH_OP_SUB, sums, placed(m, TC_GRAPH_OP_MUL, zero, sum, TC_I32), TC_I32);
}

static tc_graph_value *made(maker *m) {
    tc_graph_value *bias = tc_graph_operand_of(m->n, 2);
    double *c = tc_xcalloc((size_t)m->w.n + 1, sizeof *c);
    bool whole = bias && whole_bias(m, c), any = false;
    for (int64_t j = 0; j < m->w.n; j++) {
        c[j] = (double)tc_wrap_i(TC_I32, (int64_t)((whole ? c[j] : 0) - (double)known_zero(m) * m->w.sum[j]));
        any |= c[j] != 0;
    }
    tc_graph_value *y = contraction(m, any ? c : NULL);
    free(c);
    y = y ? less_zero(m, y) : NULL;
    y = y ? less_excess(m, y) : NULL;
    if (y && m->n->out[0]->dtype == TC_F32)
        y = scaled(m, y);
    return y && bias && !whole ? plus_bias(m, y, bias) : y;
}

/* n is a contraction whose sums 32 bits hold; its other properties are those of a MatMul. */
static bool suits(const tc_graph_node *n) {
    bool plain = n->op == TC_GRAPH_OP_CONV || n->op == TC_GRAPH_OP_MATMUL;
    if (n->op == TC_GRAPH_OP_GEMM)
        plain = !tc_graph_attr_trans_a(n) && tc_graph_attr_alpha(n) == 1 && (n->nin < 3 || tc_graph_attr_beta(n) == 1);
    return plain && n->nout == 1 && (n->out[0]->dtype == TC_I32 || n->out[0]->dtype == TC_F32);
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
    tc_graph_factor w;
    bool fits = suits(n) && find_activation(n, &m.x) && find_weights(n, &w) && find_fill(&m);
    if (fits && !(tc_graph_read_weights(n, &w, &m.w) && sums_fit(n, &m.w))) {
        tc_graph_free_weights(&m.w);
        fits = false;
    }
    if (!fits) {
        tc_push(&g->nodes, n);
        return TC_OK;
    }
    tc_status s = replace(&m);
    tc_graph_free_weights(&m.w);
    return s;
}

tc_status tc_graph_pass_integer_kernels(tc_graph *g, tc_error *err) {
    return tc_graph_rewrite_nodes(g, visit, NULL, err);
}
