/* Convolutions that padding and a window of fixed sizes cannot express: those whose weights have sizes that vary, and transposed
 * ones of sizes that vary with an output_shape. They become a product of the weights with what each tap reads:
 *
 *   P[n, c, k.., o..] = x[n, c, place of tap k at result o..], or 0 where x has none     a Gather for each spatial dimension
 *   y[n, m, o..] = sum over c, k.. of W[m, c, k..] * P[n, c, k.., o..]                   a MatMul for each group
 *
 * Past the size of the kernel in a run both factors are 0, so that an infinity there counts for nothing. */
#include <string.h>

#include "graph/ir/sizes.h"
#include "graph/ops/functions.h"
#include "graph/ops/window.h"

enum { MOST_SPATIAL = 3 }; /* P has two dimensions for each */

/* One spatial dimension. Scalars of a run are values. */
typedef struct spatial {
    tc_graph_value *size, *kernel, *result; /* of x, of the weights, of y */
    tc_graph_value *before;                 /* what padding puts in front, or takes away from the result */
    int64_t taps, places;                   /* the largest kernel and result */
} spatial;

typedef struct product {
    tc_graph_emitter *e;
    tc_graph_value *x, *w;
    bool transposed, upper, same;
    int64_t group;
    tc_graph_window window;                                            /* of the largest kernel */
    int64_t extra[TC_GRAPH_MAX_SPATIAL], wanted[TC_GRAPH_MAX_SPATIAL]; /* output_padding; output_shape or -1 */
    spatial s[MOST_SPATIAL];
} product;

static tc_graph_value *plus(tc_graph_emitter *e, tc_graph_value *v, int64_t n) {
    return n ? em_add(e, v, tc_graph_em_number(e, n)) : v;
}

static tc_graph_value *times(tc_graph_emitter *e, tc_graph_value *v, int64_t n) {
    return n == 1 ? v : em_mul(e, v, tc_graph_em_number(e, n));
}

static tc_graph_value *over(tc_graph_emitter *e, tc_graph_value *v, int64_t n) {
    return n == 1 ? v : em_div(e, v, tc_graph_em_number(e, n));
}

/* ---- the node ---- */

static tc_status read_output_shape(product *p) {
    size_t n;
    const int64_t *shape = tc_graph_attr_output_shape(p->e->c->n, &n);
    for (int i = 0; i < p->window.n; i++)
        p->wanted[i] = -1;
    if (!p->transposed || !shape)
        return TC_OK;
    if (n != (size_t)p->window.n && n != (size_t)p->window.n + 2)
        return tc_graph_node_fail(p->e->c, "attribute output_shape has %zu entries; %d are expected", n, p->window.n);
    for (int i = 0; i < p->window.n; i++) {
        p->wanted[i] = shape[(int)n - p->window.n + i];
        if (p->wanted[i] < 1)
            return tc_graph_node_fail(p->e->c, "attribute output_shape[%d] is %lld; it must be at least 1", i,
                                      (long long)p->wanted[i]);
    }
    return TC_OK;
}

/* The attribute repeats the size of the kernel: then it is that in each run. */
static tc_status fix_kernel(product *p) {
    int64_t kernel[TC_GRAPH_MAX_SPATIAL];
    TC_TRY(tc_graph_want_attr(p->e->c, TC_ATTR_kernel_shape, p->window.n, 0, 0, kernel));
    for (int i = 0; i < p->window.n; i++)
        if (kernel[i])
            p->w = tc_graph_em_exactly(p->e, p->w, i + 2, kernel[i], "attribute kernel_shape");
    return p->e->status;
}

static tc_status read_product(tc_graph_emitter *e, product *p) {
    tc_graph_infer_ctx *c = e->c;
    const char *mode = tc_graph_attr_auto_pad(c->n);
    *p = (product){.e = e, .x = c->n->in[0], .w = c->n->in[1], .transposed = c->n->op == TC_GRAPH_OP_CONV_TRANSPOSE};
    p->group = tc_graph_attr_group(c->n);
    p->upper = strcmp(mode, "SAME_UPPER") == 0;
    p->same = p->upper || strcmp(mode, "SAME_LOWER") == 0;
    p->window.n = p->x->shape.ndim - 2;
    for (int d = 0; d < 2; d++) /* groups divide channels of a known number */
        if (p->group > 1 && tc_graph_extent(p->w, d))
            return tc_graph_dynamic_refuse(c, 1, d);
    if (p->group > 1 && tc_graph_extent(p->x, 1))
        return tc_graph_dynamic_refuse(c, 0, 1);
    if (p->window.n > MOST_SPATIAL)
        return tc_graph_node_refuse(c, TC_ERROR_DATA_DEPENDENT,
                                    "weights of %d spatial dimensions have sizes that vary; at most %d dimensions are supported "
                                    "there, give single sizes",
                                    p->window.n, MOST_SPATIAL);
    TC_TRY(fix_kernel(p));
    TC_TRY(tc_graph_want_weights(c, p->transposed, p->group));
    TC_TRY(tc_graph_read_window_of(c, p->w, &p->window));
    TC_TRY(tc_graph_read_window(c, &p->x->shape, &p->window));
    TC_TRY(tc_graph_want_attr(c, TC_ATTR_output_padding, p->window.n, 0, 0, p->extra));
    return read_output_shape(p);
}

/* ---- sizes ---- */

/* As many as the kernel's taps span. */
static tc_graph_value *span(const product *p, int i) {
    return plus(p->e, times(p->e, plus(p->e, p->s[i].kernel, -1), p->window.dilations[i]), 1);
}

/* Half of the padding; the odd one goes to the end with SAME_UPPER, else to the beginning. */
static tc_graph_value *front_of(const product *p, tc_graph_value *all) {
    all = em_max(p->e, all, tc_graph_em_number(p->e, 0));
    return over(p->e, plus(p->e, all, !p->upper), 2);
}

/* v, which depends on sizes of both operands, is at least `least` in a run. */
static tc_status require_result(const product *p, int i, tc_graph_value *v, int64_t least) {
    const char *what = tc_arena_printf(p->e->c->g->arena, "dimension %d of the result", i + 2);
    const tc_expr *x = tc_graph_em_known(p->e, v).x;
    return tc_graph_require(p->e, what, x, least, INT64_MAX, 1);
}

static tc_status size_of_conv(product *p, int i) {
    tc_graph_emitter *e = p->e;
    spatial *s = &p->s[i];
    int64_t stride = p->window.strides[i], pads = p->window.pads[i] + p->window.pads[i + p->window.n];
    if (p->same) {
        s->result = over(e, plus(e, s->size, stride - 1), stride);
        s->before = front_of(p, em_sub(e, em_add(e, times(e, plus(e, s->result, -1), stride), span(p, i)), s->size));
        return e->status;
    }
    tc_graph_value *room = em_max(e, em_sub(e, plus(e, s->size, pads), span(p, i)), tc_graph_em_number(e, -stride));
    s->result = over(e, plus(e, room, stride), stride);
    s->before = tc_graph_em_number(e, p->window.pads[i]);
    return require_result(p, i, s->result, 1);
}

static tc_status size_of_transposed(product *p, int i) {
    tc_graph_emitter *e = p->e;
    spatial *s = &p->s[i];
    int64_t stride = p->window.strides[i], pads = p->window.pads[i] + p->window.pads[i + p->window.n];
    tc_graph_value *natural = plus(e, em_add(e, times(e, plus(e, s->size, -1), stride), span(p, i)), p->extra[i]);
    if (p->wanted[i] >= 0 || p->same) {
        s->result = p->wanted[i] >= 0 ? tc_graph_em_number(e, p->wanted[i]) : times(e, s->size, stride);
        s->before = front_of(p, em_sub(e, natural, s->result));
        return e->status;
    }
    s->result = em_max(e, plus(e, natural, -pads), tc_graph_em_number(e, 0));
    s->before = tc_graph_em_number(e, p->window.pads[i]);
    return require_result(p, i, s->result, 1);
}

static tc_status find_sizes(product *p) {
    tc_graph_emitter *e = p->e;
    for (int i = 0; i < p->window.n; i++) {
        spatial *s = &p->s[i];
        s->taps = p->w->shape.d[i + 2];
        s->size = tc_graph_em_size(e, p->x, i + 2);
        s->kernel = tc_graph_em_size(e, p->w, i + 2);
        TC_TRY(tc_graph_require_size(e, p->w, i + 2, 1));
        TC_TRY(p->transposed ? size_of_transposed(p, i) : size_of_conv(p, i));
        tc_graph_number n = tc_graph_em_known(e, s->result);
        TC_TRY(e->status);
        if (n.most < 0)
            return tc_graph_dynamic_no_bound(e, "the result's shape", 0, &n);
        s->places = n.most;
        s->result = n.value;
    }
    return e->status;
}

/* ---- the product ---- */

/* Where tap k of result o reads along dimension i, [taps, places], and whether there is something. */
static tc_graph_value *places_of(const product *p, int i, tc_graph_value **there) {
    tc_graph_emitter *e = p->e;
    const spatial *s = &p->s[i];
    int64_t stride = p->window.strides[i];
    tc_graph_value *zero = tc_graph_em_number(e, 0), *tap = tc_graph_em_iota(e, s->taps, 0, 2);
    tc_graph_value *result = tc_graph_em_iota(e, s->places, 1, 2), *reach = times(e, tap, p->window.dilations[i]), *at;
    tc_graph_value *used = em_less(e, tap, s->kernel);
    if (p->transposed) {
        tc_graph_value *sum = em_sub(e, em_add(e, result, s->before), reach);
        at = over(e, em_max(e, sum, zero), stride);
        used = tc_graph_em_op(e, TC_GRAPH_OP_AND, used, em_equal(e, times(e, at, stride), sum));
    } else {
        at = em_sub(e, em_add(e, times(e, result, stride), reach), s->before);
        used = tc_graph_em_op(e, TC_GRAPH_OP_AND, used, em_less(e, tc_graph_em_number(e, -1), at));
    }
    *there = tc_graph_em_op(e, TC_GRAPH_OP_AND, used, em_less(e, at, s->size));
    return at;
}

/* P, [n, c, taps.., places..] */
static tc_graph_value *read_taps(const product *p) {
    tc_graph_emitter *e = p->e;
    int n = p->window.n;
    int64_t perm[TC_GRAPH_MAX_DIMS] = {0, 1};
    tc_graph_value *zero = tc_graph_em_scalar(e, p->x->dtype, 0), *there;
    tc_graph_value *v = tc_graph_em_blind(e, tc_graph_em_masked(e, p->x, 1, zero));
    for (int i = n - 1; i >= 0 && e->status == TC_OK; i--) {
        tc_graph_value *at = places_of(p, i, &there);
        v = tc_graph_em_pick(e, v, i + 2, at);
        v = tc_graph_em_where(e, tc_graph_em_along(e, there, i + 2, v->shape.ndim), v, zero);
    }
    for (int i = 0; i < n; i++) {
        perm[i + 2] = 2 * i + 2;
        perm[i + 2 + n] = 2 * i + 3;
    }
    return tc_graph_em_transpose(e, v, perm);
}

/* W, [groups, m, c, taps..] */
static tc_graph_value *weights_by_group(const product *p) {
    tc_graph_emitter *e = p->e;
    int64_t perm[TC_GRAPH_MAX_DIMS];
    tc_graph_value *w = tc_graph_em_blind(e, tc_graph_em_masked(e, p->w, -1, tc_graph_em_scalar(e, p->w->dtype, 0)));
    const tc_graph_shape *own = &p->w->shape;
    tc_graph_shape s = {.ndim = own->ndim + 1, .d = {p->group, own->d[0] / p->group}};
    for (int d = 1; d < own->ndim; d++)
        s.d[d + 1] = own->d[d];
    w = tc_graph_em_reshape(e, w, &s);
    for (int d = 0; d < s.ndim; d++)
        perm[d] = d == 1 ? 2 : d == 2 ? 1 : d;
    return p->transposed ? tc_graph_em_transpose(e, w, perm) : w;
}

static tc_graph_value *multiply(const product *p) {
    tc_graph_emitter *e = p->e;
    tc_graph_value *w = weights_by_group(p), *v = read_taps(p);
    int64_t depth = 1, places = 1, m = w->shape.d[1];
    tc_graph_shape y = {.ndim = p->window.n + 2, .d = {p->x->shape.d[0], p->group * m}};
    for (int i = 0; i < p->window.n; i++) {
        depth *= p->s[i].taps;
        places *= y.d[i + 2] = p->s[i].places;
    }
    depth *= w->shape.d[2];
    w = tc_graph_em_reshape(e, w, &(tc_graph_shape){3, {p->group, m, depth}});
    v = tc_graph_em_reshape(e, v, &(tc_graph_shape){4, {y.d[0], p->group, depth, places}});
    return tc_graph_em_reshape(e, tc_graph_em_op(e, TC_GRAPH_OP_MATMUL, w, v), &y);
}

tc_status tc_graph_rewrite_by_weights(tc_graph_emitter *e) {
    product p;
    tc_graph_value *bias = e->c->n->nin > 2 ? e->c->n->in[2] : NULL;
    int channels = e->c->n->op == TC_GRAPH_OP_CONV_TRANSPOSE; /* of the result, in the weights */
    TC_TRY(read_product(e, &p));
    if (bias && bias->shape.ndim == 1 && p.group == 1)
        TC_TRY(tc_graph_meet(e, p.w, channels, bias, 0, false));
    TC_TRY(tc_graph_want_bias(e->c, p.w->shape.d[channels] * (p.transposed ? p.group : 1)));
    TC_TRY(find_sizes(&p));
    tc_graph_value *y = multiply(&p);
    if (bias)
        y = em_add(e, y, tc_graph_em_along(e, tc_graph_em_blind(e, bias), 1, y->shape.ndim));
    TC_TRY(e->status);
    if (tc_graph_extent(p.x, 0))
        y = tc_graph_em_sized(e, y, 0, tc_graph_extent(p.x, 0));
    if (tc_graph_extent(p.w, channels))
        y = tc_graph_em_sized(e, y, 1, tc_graph_extent(p.w, channels));
    for (int i = 0; i < p.window.n; i++)
        y = tc_graph_em_sized(e, y, i + 2, p.s[i].result);
    return tc_graph_em_finish(e, y);
}
