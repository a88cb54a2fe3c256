/* Moves the channels of convolutional networks to the last dimension. Channels then are vectors, and rows of channels are matrices.
 *
 *   y = Conv(x, w)       =>   y' = Conv(x', w') {channels_last}     x' = Transpose(x), w' = [kernel..., C/group, O], both made once
 *   z = Relu(y)          =>   z' = Relu(y')                         and so on through all nodes that accept any layout
 *   r = Reshape(z)       =>   z = Transpose(z'), r = Reshape(z)     only for readers that need the first layout
 *
 * One walk visits the nodes in order. A value has two forms: v, as in the model, and `last`, with the channels behind the spatial
 * dimensions. A converted node makes only the second form. The first form is made when a node asks for it. So transpositions stand
 * at the edges of the network alone, and cancel where the model itself transposes. Convolutions begin the conversion; a convolution
 * whose weights are computed at run time begins it only beside other convolutions. Nodes behind them that work elementwise, in
 * windows, or along axes keep the second form. Nodes that the walk made and nobody reads are dead, and are removed. */
#include <stdlib.h>
#include <string.h>

#include "graph/ir/build.h"
#include "graph/ops/lower.h"
#include "graph/passes/pass.h"
#include "support/hash.h"

typedef struct layout {
    tc_graph *g;
    tc_map last;    /* id of a value -> its other form */
    tc_map weights; /* hash of (id, group, operator) -> weights in the other form */
    tc_map pending; /* ids of values in the first form whose node is converted and that no node has asked for yet */
    bool *leads_on; /* by id of the model's values: a convolution reads it, directly or through nodes that keep the form */
} layout;

/* ---- dimensions ---- */

static int place_of(int dim, int ndim) { /* of a dimension, in the other form */
    return dim == 0 ? 0 : dim == 1 ? ndim - 1 : dim - 1;
}

static void perm_to_last(int ndim, int64_t *perm) {
    for (int d = 0; d < ndim; d++)
        perm[place_of(d, ndim)] = d;
}

static void perm_to_first(int ndim, int64_t *perm) {
    for (int d = 0; d < ndim; d++)
        perm[d] = place_of(d, ndim);
}

static tc_graph_shape shape_last(const tc_graph_shape *s) {
    tc_graph_shape r = {.ndim = s->ndim};
    for (int d = 0; d < s->ndim; d++)
        r.d[place_of(d, s->ndim)] = s->d[d];
    return r;
}

/* ---- the two forms ---- */

/* The value that v is a transposition of, from channels last to first; NULL when it is none. */
static tc_graph_value *transposed_from(const tc_graph_value *v) {
    int64_t perm[TC_GRAPH_MAX_DIMS];
    size_t len;
    if (!v->producer || v->producer->op != TC_GRAPH_OP_TRANSPOSE || v->shape.ndim < 3)
        return NULL;
    perm_to_first(v->shape.ndim, perm);
    const int64_t *own = tc_graph_attr_perm(v->producer, &len);
    return memcmp(own, perm, len * sizeof *perm) == 0 ? v->producer->in[0] : NULL;
}

static bool has_last(const layout *l, const tc_graph_value *v) {
    return v && v->shape.ndim >= 3 && (tc_map_get(&l->last, v->id) || transposed_from(v));
}

/* v as the model has it. */
static tc_graph_value *first(layout *l, tc_graph_value *v) {
    if (!v || !tc_map_get(&l->pending, v->id) || !*tc_map_get(&l->pending, v->id))
        return v;
    *tc_map_get(&l->pending, v->id) = 0;
    tc_graph_value *x = (tc_graph_value *)*tc_map_get(&l->last, v->id);
    int64_t perm[TC_GRAPH_MAX_DIMS];
    perm_to_first(v->shape.ndim, perm);
    tc_graph_value *y = tc_graph_transposed(l->g, x, perm);
    if (y->producer && y->producer->in[0] == x && y != x) { /* the node that was made makes v itself */
        l->g->nodes.len--;
        tc_graph_produce(l->g, y->producer, v);
    } else {
        tc_graph_produce(l->g, tc_graph_new_node(l->g, TC_GRAPH_OP_IDENTITY, "", &y, 1), v);
    }
    return v;
}

static tc_graph_value *last(layout *l, tc_graph_value *v) {
    uintptr_t *known = tc_map_get(&l->last, v->id);
    if (known)
        return (tc_graph_value *)*known;
    tc_graph_value *x = transposed_from(v);
    if (!x) {
        int64_t perm[TC_GRAPH_MAX_DIMS];
        perm_to_last(v->shape.ndim, perm);
        x = tc_graph_transposed(l->g, v, perm);
    }
    tc_map_put(&l->last, v->id, (uintptr_t)x);
    return x;
}

/* Operand v of a pointwise node over `ndim` dimensions. */
static tc_graph_value *last_operand(layout *l, tc_graph_value *v, int ndim) {
    if (!v || (v->shape.ndim < ndim && tc_graph_shape_count(&v->shape) == 1))
        return first(l, v);
    if (v->shape.ndim == ndim)
        return last(l, v);
    tc_graph_shape s = {.ndim = ndim};
    for (int d = 0, skip = ndim - v->shape.ndim; d < ndim; d++)
        s.d[d] = d < skip ? 1 : v->shape.d[d - skip];
    return last(l, tc_graph_reshaped(l->g, first(l, v), &s));
}

/* n makes the other form of old's output. */
static void produce_last(layout *l, tc_graph_node *n, const tc_graph_node *old) {
    tc_graph_value *v = old->out[0];
    tc_graph_shape s = shape_last(&v->shape);
    tc_graph_value *x = tc_graph_place_typed(l->g, n, tc_arena_printf(l->g->arena, "%s.last", v->name), v->dtype, &s);
    tc_map_put(&l->last, v->id, (uintptr_t)x);
    tc_map_put(&l->pending, v->id, 1);
}

/* ---- rewriting attributes ---- */

static void permute_attr(layout *l, tc_graph_node *n, tc_graph_attr_id id, int ndim) {
    size_t len;
    int64_t out[2 * TC_GRAPH_MAX_DIMS];
    const int64_t *v = tc_graph_attr_ints(n, id, &len);
    for (size_t i = 0; v && i < len; i++)
        out[(int)i / ndim * ndim + place_of((int)i % ndim, ndim)] = v[i];
    if (v)
        tc_graph_set_ints(l->g, n, id, out, len);
}

static void move_axis(layout *l, tc_graph_node *n, int ndim) {
    tc_graph_set_axis(l->g, n, place_of((int)tc_graph_attr_axis(n), ndim));
}

/* ---- windows ---- */

/* Conv [O, C/group, kernel...] and ConvTranspose [C, O/group, kernel...] to [kernel..., C/group, O]. */
static tc_graph_value *weights_last(layout *l, const tc_graph_node *n) {
    tc_graph_value *w = first(l, n->in[1]);
    tc_graph_shape apart = w->shape, joined = {.ndim = w->shape.ndim};
    int64_t perm[TC_GRAPH_MAX_DIMS], group = tc_graph_attr_group(n);
    uint64_t key = tc_hash_mix(tc_hash_mix(w->id, n->op), (uint64_t)group);
    uintptr_t *known = tc_map_get(&l->weights, key);
    if (known)
        return (tc_graph_value *)*known;
    int nspace = w->shape.ndim - 2;
    bool grouped = n->op == TC_GRAPH_OP_CONV_TRANSPOSE && group > 1;
    if (grouped) { /* [group, C/group, O/group, kernel...] */
        memmove(apart.d + 1, apart.d, sizeof apart.d[0] * (size_t)apart.ndim++);
        apart.d[0] = group;
        apart.d[1] /= group;
    }
    for (int d = 0; d < nspace; d++) {
        perm[d] = d + (grouped ? 3 : 2);
        joined.d[d] = w->shape.d[d + 2];
    }
    bool transposed = n->op == TC_GRAPH_OP_CONV_TRANSPOSE;
    perm[nspace] = transposed && !grouped ? 0 : 1;
    perm[nspace + 1] = !transposed || grouped ? 0 : 1;
    perm[nspace + 2] = 2;
    joined.d[nspace] = transposed ? w->shape.d[0] / group : w->shape.d[1];
    joined.d[nspace + 1] = transposed ? w->shape.d[1] * group : w->shape.d[0];
    w = tc_graph_reshaped(l->g, tc_graph_transposed(l->g, tc_graph_reshaped(l->g, w, &apart), perm), &joined);
    tc_map_put(&l->weights, key, (uintptr_t)w);
    return w;
}

/* Weights that are computed at run time are transposed at run time, into the order in which the kernel reads them. Between
 * convolutions with channels last that is 2 to 13 times as fast as two transposed activations (untuned, one thread: 3 of
 * [1,256,14,14] or [1,512,7,7] in a row, 1x1 and 3x3). In a row of such weights alone it is as fast. For a single convolution it is
 * up to 20 times as slow. */
static bool pays(const layout *l, const tc_graph_node *n) {
    return tc_graph_is_const(n->in[1]) || has_last(l, n->in[0]) || l->leads_on[n->out[0]->id];
}

static bool convert_conv(layout *l, tc_graph_node *n) {
    if (n->in[0]->shape.ndim + 1 > TC_GRAPH_MAX_DIMS || !pays(l, n))
        return false;
    tc_graph_value *in[] = {last(l, n->in[0]), weights_last(l, n), n->nin > 2 ? first(l, n->in[2]) : NULL,
                            n->nin > 3 ? first(l, n->in[3]) : NULL};
    tc_graph_node *copy = tc_graph_copy_node(l->g, n, in);
    tc_graph_set_channels_last(l->g, copy, 1);
    produce_last(l, copy, n);
    return true;
}

static bool convert_pool(layout *l, tc_graph_node *n) {
    if (!has_last(l, n->in[0]))
        return false;
    tc_graph_node *copy = tc_graph_copy_node(l->g, n, (tc_graph_value *[]){last(l, n->in[0])});
    tc_graph_set_channels_last(l->g, copy, 1);
    produce_last(l, copy, n);
    return true;
}

/* ---- pointwise and along axes ---- */

static bool convert_pointwise(layout *l, tc_graph_node *n) {
    int ndim = n->out[0]->shape.ndim;
    bool any = false;
    for (int k = 0; k < n->nin; k++)
        any |= n->in[k] && n->in[k]->shape.ndim == ndim && !n->in[k]->constant && has_last(l, n->in[k]);
    if (!any)
        return false;
    tc_graph_value **in = TC_NEW_N(l->g->arena, tc_graph_value *, n->nin);
    for (int k = 0; k < n->nin; k++)
        in[k] = last_operand(l, n->in[k], ndim);
    produce_last(l, tc_graph_copy_node(l->g, n, in), n);
    return true;
}

static bool convert_concat(layout *l, tc_graph_node *n) {
    bool any = false;
    for (int k = 0; k < n->nin; k++)
        any |= has_last(l, n->in[k]);
    if (!any)
        return false;
    tc_graph_value **in = TC_NEW_N(l->g->arena, tc_graph_value *, n->nin);
    for (int k = 0; k < n->nin; k++)
        in[k] = last(l, n->in[k]);
    tc_graph_node *copy = tc_graph_copy_node(l->g, n, in);
    move_axis(l, copy, n->out[0]->shape.ndim);
    produce_last(l, copy, n);
    return true;
}

/* Nodes with one operand whose attributes name its dimensions; further operands are scalars. */
static bool convert_unary(layout *l, tc_graph_node *n) {
    int ndim = n->in[0]->shape.ndim;
    if (!has_last(l, n->in[0]) || n->out[0]->shape.ndim != ndim)
        return false;
    for (int k = 1; k < n->nin; k++)
        if (n->in[k] && tc_graph_shape_count(&n->in[k]->shape) != 1)
            return false;
    tc_graph_value **in = TC_NEW_N(l->g->arena, tc_graph_value *, n->nin);
    for (int k = 0; k < n->nin; k++)
        in[k] = k == 0 ? last(l, n->in[0]) : first(l, n->in[k]);
    tc_graph_node *copy = tc_graph_copy_node(l->g, n, in);
    permute_attr(l, copy, TC_ATTR_pads, ndim);
    permute_attr(l, copy, TC_ATTR_starts, ndim);
    permute_attr(l, copy, TC_ATTR_steps, ndim);
    permute_attr(l, copy, TC_ATTR_repeats, ndim);
    if (tc_graph_attr_find(copy, TC_ATTR_axis))
        move_axis(l, copy, ndim);
    produce_last(l, copy, n);
    return true;
}

/* Nodes that reorder elements along one axis, as resizing to the nearest does. */
static bool convert_gather(layout *l, tc_graph_node *n) {
    if (!has_last(l, n->in[0]) || !tc_graph_is_const(n->in[1]) || n->in[1]->shape.ndim != 1)
        return false;
    tc_graph_node *copy = tc_graph_copy_node(l->g, n, (tc_graph_value *[]){last(l, n->in[0]), n->in[1]});
    move_axis(l, copy, n->out[0]->shape.ndim);
    produce_last(l, copy, n);
    return true;
}

/* ---- reductions ---- */

static int by_value(const void *x, const void *y) {
    int64_t a = *(const int64_t *)x, b = *(const int64_t *)y;
    return (a > b) - (a < b);
}

/* The remaining dimensions have the same order in both forms. */
static bool keeps_order(const tc_graph_shape *s, const int64_t *axes, size_t n) {
    bool reduced[TC_GRAPH_MAX_DIMS] = {false}, spatial = false;
    for (size_t i = 0; i < n; i++)
        reduced[axes[i]] = true;
    for (int d = 2; d < s->ndim; d++)
        spatial |= !reduced[d] && s->d[d] != 1;
    return reduced[1] || s->d[1] == 1 || !spatial;
}

/* Makes v with n, which drops these axes of the other form. v may have its dimensions of 1 in other places. */
static void produce_reduced(layout *l, tc_graph_node *n, tc_graph_value *v, const int64_t *axes, size_t naxes) {
    tc_graph_shape s = {0};
    size_t k = 0;
    for (int d = 0; d < n->in[0]->shape.ndim; d++)
        if (k < naxes && axes[k] == d)
            k++;
        else
            s.d[s.ndim++] = n->in[0]->shape.d[d];
    if (tc_graph_shape_equal(&s, &v->shape)) {
        tc_graph_produce(l->g, n, v);
        return;
    }
    tc_graph_value *x = tc_graph_place_typed(l->g, n, tc_arena_printf(l->g->arena, "%s.last", v->name), v->dtype, &s);
    tc_graph_node *view = tc_graph_new_node(l->g, TC_GRAPH_OP_RESHAPE, "", &x, 1);
    tc_graph_set_shape(l->g, view, v->shape.d, (size_t)v->shape.ndim);
    tc_graph_produce(l->g, view, v);
}

/* Reductions and searches over axes; without keepdims the result is the same in both forms, or the node is not converted. */
static bool convert_reduce(layout *l, tc_graph_node *n) {
    const tc_graph_shape *s = &n->in[0]->shape;
    int64_t axis = tc_graph_attr_axis(n), moved[TC_GRAPH_MAX_DIMS];
    size_t len = 0;
    const int64_t *axes = tc_graph_attr_axes(n, &len);
    bool keepdims = tc_graph_attr_keepdims(n);
    if (!axes) {
        axes = &axis;
        len = 1;
    }
    if (!has_last(l, n->in[0]) || n->nin != 1 || (!keepdims && !keeps_order(s, axes, len)))
        return false;
    for (size_t i = 0; i < len; i++)
        moved[i] = place_of((int)axes[i], s->ndim);
    qsort(moved, len, sizeof *moved, by_value);
    tc_graph_node *copy = tc_graph_copy_node(l->g, n, (tc_graph_value *[]){last(l, n->in[0])});
    if (axes == &axis)
        tc_graph_set_axis(l->g, copy, moved[0]);
    else
        tc_graph_set_axes(l->g, copy, moved, len);
    if (keepdims)
        produce_last(l, copy, n);
    else
        produce_reduced(l, copy, n->out[0], moved, len);
    return true;
}

/* ---- views ---- */

/* A Transpose of the model: it reads the other form, and becomes one transposition or none. */
static bool convert_transpose(layout *l, tc_graph_node *n) {
    uintptr_t *known = tc_map_get(&l->last, n->in[0]->id);
    size_t len;
    const int64_t *perm = tc_graph_attr_perm(n, &len);
    int64_t other[TC_GRAPH_MAX_DIMS];
    bool same = true;
    if (!known)
        return false;
    for (size_t d = 0; d < len; d++) {
        other[d] = place_of((int)perm[d], (int)len);
        same &= other[d] == (int64_t)d;
    }
    tc_graph_value *x = (tc_graph_value *)*known;
    tc_graph_node *view = tc_graph_new_node(l->g, same ? TC_GRAPH_OP_IDENTITY : TC_GRAPH_OP_TRANSPOSE, n->name, &x, 1);
    if (!same)
        tc_graph_set_perm(l->g, view, other, len);
    tc_graph_produce(l->g, view, n->out[0]);
    return true;
}

/* A reshape of the spatial dimensions alone: [N, C, H, W] -> [N, C, H * W]. */
static bool convert_reshape(layout *l, tc_graph_node *n) {
    const tc_graph_shape *from = &n->in[0]->shape, *to = &n->out[0]->shape;
    if (!has_last(l, n->in[0]) || to->ndim < 3 || from->d[0] != to->d[0] || from->d[1] != to->d[1])
        return false;
    tc_graph_shape s = shape_last(to);
    tc_graph_node *copy = tc_graph_copy_node(l->g, n, (tc_graph_value *[]){last(l, n->in[0])});
    tc_graph_set_shape(l->g, copy, s.d, (size_t)s.ndim);
    produce_last(l, copy, n);
    return true;
}

/* ---- the classifier ---- */

/* The value [N, C, spatial...] that v [N, C * spatial] flattens, if it has the other form. */
static tc_graph_value *flattened(const layout *l, const tc_graph_value *v) {
    if (v->shape.ndim != 2 || !v->producer || v->producer->op != TC_GRAPH_OP_RESHAPE)
        return NULL;
    tc_graph_value *x = v->producer->in[0];
    return has_last(l, x) && x->shape.d[0] == v->shape.d[0] ? x : NULL;
}

/* Gemm(Flatten(x), w): the rows of the weights are reordered once for the other form, and nothing is transposed. */
static bool convert_gemm(layout *l, tc_graph_node *n) {
    tc_graph_value *x = flattened(l, n->in[0]), *w = n->in[1];
    bool by_columns = tc_graph_attr_trans_b(n);
    if (!x || !tc_graph_is_const(w) || w->shape.ndim != 2 || tc_graph_attr_trans_a(n) || x->shape.ndim + 1 > TC_GRAPH_MAX_DIMS)
        return false;
    int nin = x->shape.ndim - 1, skip = by_columns ? 1 : 0; /* w's long dimension becomes [C, spatial...] */
    tc_graph_shape apart = {.ndim = nin + 1};
    int64_t perm[TC_GRAPH_MAX_DIMS];
    apart.d[by_columns ? 0 : nin] = w->shape.d[by_columns ? 0 : 1];
    perm[by_columns ? 0 : nin] = by_columns ? 0 : nin;
    for (int d = 0; d < nin; d++) {
        apart.d[skip + d] = x->shape.d[d + 1];
        perm[skip + d] = skip + (d == nin - 1 ? 0 : d + 1);
    }
    tc_graph_value *sorted = tc_graph_transposed(l->g, tc_graph_reshaped(l->g, w, &apart), perm);
    tc_graph_value *in[] = {tc_graph_reshaped(l->g, last(l, x), &n->in[0]->shape), tc_graph_reshaped(l->g, sorted, &w->shape),
                            n->nin > 2 ? first(l, n->in[2]) : NULL};
    tc_graph_produce(l->g, tc_graph_copy_node(l->g, n, in), n->out[0]);
    return true;
}

/* ---- the walk ---- */

static bool convert_none(layout *l, tc_graph_node *n) {
    (void)l;
    (void)n;
    return false;
}

typedef bool convert_fn(layout *l, tc_graph_node *n);

static convert_fn *const converts[TC_GRAPH_OP_COUNT] = {
#define OP(id, name, since, min_in, max_in, min_out, max_out, class, traits, infer, eval, at, last, rewrite, ...)                \
    [TC_GRAPH_OP_##id] = convert_##last,
#include "graph/ir/ops.def"
#undef OP
};

static bool convert(layout *l, tc_graph_node *n) {
    return n->nout == 1 && n->out[0] && n->nin > 0 && n->in[0] && converts[n->op](l, n);
}

static void visit(layout *l, tc_graph_node *n) {
    if (convert(l, n))
        return;
    for (int k = 0; k < n->nin; k++)
        n->in[k] = first(l, n->in[k]);
    tc_push(&l->g->nodes, n);
}

/* Nodes that may stand between convolutions, an estimate: their results have the dimensions of their first operand. */
static bool keeps_form(const tc_graph_node *n) {
    return n->nout == 1 && n->nin > 0 && n->in[0] && n->out[0] && n->in[0]->shape.ndim >= 3 &&
           n->in[0]->shape.ndim == n->out[0]->shape.ndim && tc_graph_op_is(n->op, TC_GRAPH_POINTWISE | TC_GRAPH_KEEPS_FORM);
}

static bool *find_what_leads_on(const tc_graph *g) {
    bool *leads = tc_xcalloc(g->values.len + 1, sizeof *leads);
    for (size_t i = g->nodes.len; i-- > 0;) {
        const tc_graph_node *n = g->nodes.data[i];
        if (tc_graph_op_is(n->op, TC_GRAPH_CONVOLUTION))
            leads[n->in[0]->id] = true;
        for (int k = 0; keeps_form(n) && leads[n->out[0]->id] && k < n->nin; k++)
            if (n->in[k])
                leads[n->in[k]->id] = true;
    }
    return leads;
}

tc_status tc_graph_pass_channels_last(tc_graph *g, tc_error *err) {
    (void)err;
    layout l = {.g = g, .leads_on = find_what_leads_on(g)};
    tc_graph_nodes old = g->nodes;
    g->nodes = (tc_graph_nodes){0};
    for (size_t i = 0; i < old.len; i++)
        visit(&l, old.data[i]);
    for (size_t i = 0; i < g->outputs.len; i++)
        first(&l, g->outputs.data[i].value);
    tc_vec_free(&old);
    tc_map_free(&l.last);
    tc_map_free(&l.weights);
    tc_map_free(&l.pending);
    free(l.leads_on);
    return TC_OK;
}
