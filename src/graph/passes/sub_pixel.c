/* Computes transposed convolutions without products with zero.
 *
 * With stride s, output s * q + r sees only the taps r' + s * t, where r' = (r + pad) % s. So every r is a convolution of its own
 * with a small kernel. All of them together are one convolution. Its result [N, q, r, ..., O] lies in memory exactly as [N, s * q +
 * r, ..., O]:
 *
 *   y = ConvTranspose(x, w) {channels_last, stride 2} : [1,8,8,256]
 *   =>   y' = ConvTranspose(x, w') {phases} : [1,4,2,4,2,256]     w' = [r..., t..., C/group, O], made once
 *        y = Reshape(y')
 *
 * Pointwise nodes that follow are computed in the longer shape too, so that they stay in the convolution's epilogue. A
 * transposition that follows is computed in the longer shape as well. A size that is no multiple of its stride is rounded up, and
 * the first form is a Slice. As in passes/channels_last.c, one walk gives values a second form and makes the first form on demand.
 * The pass needs channels last, dilation 1 and constant weights; other convolutions keep the general form (Shi et al., 2016, call
 * the method sub-pixel). */
#include <string.h>

#include "graph/ir/build.h"
#include "graph/ops/eval.h"
#include "graph/ops/lower.h"
#include "graph/passes/pass.h"

typedef struct splitter {
    tc_graph *g;
    tc_map split;   /* id of a value -> its other form */
    tc_map pending; /* ids of values that have only that */
} splitter;

typedef struct phases {
    int nspace;
    int64_t stride[TC_GRAPH_MAX_DIMS]; /* by dimension of the value: the stride; 1 for dimensions that are not spatial */
} phases;

/* ---- the two forms ---- */

/* Dimension d of the value becomes two dimensions: d / stride, rounded up, and stride. A broadcast dimension becomes two dimensions
 * of 1. */
static tc_graph_shape split_shape(const phases *p, const tc_graph_shape *s) {
    tc_graph_shape r = {0};
    for (int d = 0; d < s->ndim; d++) {
        bool spatial = d > 0 && d < s->ndim - 1, one = s->d[d] == 1;
        r.d[r.ndim++] = one ? 1 : (s->d[d] + p->stride[d] - 1) / p->stride[d];
        if (spatial)
            r.d[r.ndim++] = one ? 1 : p->stride[d];
    }
    return r;
}

/* The strides that v was split by. */
static phases phases_of(const tc_graph_value *v, const tc_graph_value *split) {
    phases p = {.nspace = v->shape.ndim - 2};
    for (int d = 0; d < v->shape.ndim; d++)
        p.stride[d] = d > 0 && d <= p.nspace ? split->shape.d[2 * d] : 1;
    return p;
}

static tc_graph_value *split_of(const splitter *s, const tc_graph_value *v) {
    uintptr_t *known = v ? tc_map_get(&s->split, v->id) : NULL;
    return known ? (tc_graph_value *)*known : NULL;
}

/* Makes v from x, in which the dimensions `split` (by dimension of v) are two dimensions; the elements from rounding up are cut
 * off. */
static void join(splitter *s, tc_graph_value *x, const bool *split, tc_graph_value *v) {
    tc_graph_shape all = {.ndim = v->shape.ndim};
    int64_t starts[TC_GRAPH_MAX_DIMS] = {0}, steps[TC_GRAPH_MAX_DIMS];
    for (int d = 0, m = 0; d < all.ndim; d++) {
        steps[d] = 1;
        all.d[d] = x->shape.d[m++];
        if (split[d])
            all.d[d] *= x->shape.d[m++];
    }
    tc_graph_node *n = tc_graph_new_node(s->g, TC_GRAPH_OP_RESHAPE, "", &x, 1);
    tc_graph_set_shape(s->g, n, all.d, (size_t)all.ndim);
    if (tc_graph_shape_equal(&all, &v->shape)) {
        tc_graph_produce(s->g, n, v);
        return;
    }
    x = tc_graph_place_typed(s->g, n, tc_arena_printf(s->g->arena, "%s.rounded", v->name), v->dtype, &all);
    n = tc_graph_new_node(s->g, TC_GRAPH_OP_SLICE, "", &x, 1);
    tc_graph_set_starts(s->g, n, starts, (size_t)all.ndim);
    tc_graph_set_steps(s->g, n, steps, (size_t)all.ndim);
    tc_graph_produce(s->g, n, v);
}

static tc_graph_value *whole(splitter *s, tc_graph_value *v) {
    uintptr_t *pending = v ? tc_map_get(&s->pending, v->id) : NULL;
    if (!pending || !*pending)
        return v;
    *pending = 0;
    bool split[TC_GRAPH_MAX_DIMS];
    for (int d = 0; d < v->shape.ndim; d++)
        split[d] = d > 0 && d < v->shape.ndim - 1;
    join(s, split_of(s, v), split, v);
    return v;
}

static void produce_split(splitter *s, tc_graph_node *n, const tc_graph_value *v, const tc_graph_shape *shape) {
    tc_graph_value *x = tc_graph_place_typed(s->g, n, tc_arena_printf(s->g->arena, "%s.phases", v->name), v->dtype, shape);
    tc_map_put(&s->split, v->id, (uintptr_t)x);
    tc_map_put(&s->pending, v->id, 1);
}

/* ---- the convolution ---- */

typedef struct taps {
    int nspace;
    const int64_t *kernel, *stride, *pads;
    int64_t count[TC_GRAPH_MAX_DIMS]; /* of a phase, the largest */
    int64_t phases, kernel_size, tap_size;
} taps;

static taps taps_of(const tc_graph_node *n) {
    size_t len;
    taps t = {.nspace = n->in[0]->shape.ndim - 2, .phases = 1, .kernel_size = 1, .tap_size = 1};
    t.kernel = tc_graph_attr_kernel_shape(n, &len);
    t.stride = tc_graph_attr_strides(n, &len);
    t.pads = tc_graph_attr_pads(n, &len);
    for (int d = 0; d < t.nspace; d++) {
        t.count[d] = (t.kernel[d] + t.stride[d] - 1) / t.stride[d];
        t.phases *= t.stride[d];
        t.kernel_size *= t.kernel[d];
        t.tap_size *= t.count[d];
    }
    return t;
}

/* The dimensions larger than 1 of the split weights or of the result, whichever has more. Kernels have at most TC_MAX_DIMS. Packing
 * the weights needs one of them. */
static int count_dims(const tc_graph_node *n, const taps *t) {
    const tc_graph_shape *w = &n->in[1]->shape, *y = &n->out[0]->shape;
    int weights = (w->d[t->nspace] > 1) + (w->d[t->nspace + 1] > 1), result = (y->d[0] > 1) + (y->d[y->ndim - 1] > 1);
    for (int d = 0; d < t->nspace; d++) {
        weights += (t->stride[d] > 1) + (t->count[d] > 1);
        result += (t->stride[d] > 1) + (y->d[d + 1] > t->stride[d]);
    }
    return TC_MAX(weights, result);
}

static bool is_eligible(const tc_graph_node *n) {
    if (n->op != TC_GRAPH_OP_CONV_TRANSPOSE || !tc_graph_attr_channels_last(n) || !tc_graph_is_const(n->in[1]) || n->nout != 1)
        return false;
    taps t = taps_of(n);
    size_t len;
    const int64_t *dilations = tc_graph_attr_dilations(n, &len);
    bool strided = false;
    for (int d = 0; d < t.nspace; d++) {
        strided |= t.stride[d] > 1;
        if (dilations[d] != 1)
            return false;
    }
    return strided && 2 * t.nspace + 2 <= TC_GRAPH_MAX_DIMS && count_dims(n, &t) < TC_MAX_DIMS;
}

/* The index in the kernel of tap `tap` of phase `phase`; -1 beyond the kernel. The taps of a phase run backwards, since x is read
 * forwards. */
static int64_t kernel_place(const taps *t, int64_t phase, int64_t tap) {
    int64_t at = 0, unit = 1;
    for (int d = t->nspace - 1; d >= 0; d--) {
        int64_t first = (phase % t->stride[d] + t->pads[d]) % t->stride[d];
        int64_t k = first + t->stride[d] * (t->count[d] - 1 - tap % t->count[d]);
        if (k >= t->kernel[d])
            return -1;
        at += k * unit;
        unit *= t->kernel[d];
        phase /= t->stride[d];
        tap /= t->count[d];
    }
    return at;
}

/* [kernel..., C/group, O] to [r..., t..., C/group, O] */
static tc_graph_value *split_weights(splitter *s, const tc_graph_node *n, const taps *t, tc_error *err) {
    const tc_graph_value *w = n->in[1];
    tc_graph_shape shape = {.ndim = 2 * t->nspace + 2};
    for (int d = 0; d < t->nspace; d++) {
        shape.d[d] = t->stride[d];
        shape.d[t->nspace + d] = t->count[d];
    }
    shape.d[shape.ndim - 2] = w->shape.d[t->nspace];
    shape.d[shape.ndim - 1] = w->shape.d[t->nspace + 1];
    tc_graph_tensor made;
    if (tc_graph_tensor_alloc(&made, w->dtype, &shape, err) != TC_OK)
        return NULL;
    size_t bytes = tc_graph_tensor_bytes(w->constant) / (size_t)t->kernel_size;
    memset(made.data, 0, tc_graph_tensor_bytes(&made));
    for (int64_t i = 0; i < t->phases * t->tap_size; i++) {
        int64_t from = kernel_place(t, i / t->tap_size, i % t->tap_size);
        if (from >= 0)
            memcpy((char *)made.data + (size_t)i * bytes, (const char *)w->constant->data + (size_t)from * bytes, bytes);
    }
    const char *name = tc_arena_printf(s->g->arena, "%s.phases", w->name);
    return tc_graph_add_constant(s->g, tc_graph_fresh_name(s->g, name), &made);
}

static tc_status split_conv(splitter *s, tc_graph_node *n, tc_error *err) {
    taps t = taps_of(n);
    phases p = {.nspace = t.nspace};
    for (int d = 0; d < t.nspace + 2; d++)
        p.stride[d] = d > 0 && d <= t.nspace ? t.stride[d - 1] : 1;
    tc_graph_value *in[] = {whole(s, n->in[0]), split_weights(s, n, &t, err), n->nin > 2 ? whole(s, n->in[2]) : NULL};
    if (!in[1])
        return TC_ENV;
    tc_graph_node *copy = tc_graph_copy_node(s->g, n, in);
    tc_graph_set_phases(s->g, copy, 1);
    tc_graph_shape shape = split_shape(&p, &n->out[0]->shape);
    produce_split(s, copy, n->out[0], &shape);
    return TC_OK;
}

/* ---- what follows ---- */

/* Makes operand v for a pointwise node over values that p splits. */
static tc_graph_value *split_operand(splitter *s, tc_graph_value *v, const phases *p) {
    tc_graph_value *known = split_of(s, v);
    if (!v || known)
        return known;
    int ndim = p->nspace + 2;
    tc_graph_shape full = {.ndim = ndim};
    for (int d = 0, skip = ndim - v->shape.ndim; d < ndim; d++)
        full.d[d] = d < skip ? 1 : v->shape.d[d - skip];
    full = split_shape(p, &full);
    return tc_graph_reshaped(s->g, v, &full);
}

/* v has the form that p wants, or can be viewed in it. */
static bool splits_alike(const splitter *s, const tc_graph_value *v, const phases *p) {
    const tc_graph_value *x = split_of(s, v);
    if (x) {
        tc_graph_shape want = split_shape(p, &v->shape);
        return tc_graph_shape_equal(&x->shape, &want);
    }
    for (int d = 0, skip = p->nspace + 2 - v->shape.ndim; d < v->shape.ndim; d++)
        if (v->shape.d[d] != 1 && v->shape.d[d] % p->stride[d + skip] != 0)
            return false;
    return true;
}

static bool split_pointwise(splitter *s, tc_graph_node *n) {
    const tc_graph_value *y = n->out[0], *from = NULL;
    for (int k = 0; k < n->nin; k++)
        if (n->in[k] && split_of(s, n->in[k]) && tc_graph_shape_equal(&n->in[k]->shape, &y->shape))
            from = n->in[k];
    if (!from)
        return false;
    phases p = phases_of(from, split_of(s, from));
    for (int k = 0; k < n->nin; k++)
        if (n->in[k] && !splits_alike(s, n->in[k], &p))
            return false;
    tc_graph_value **in = TC_NEW_N(s->g->arena, tc_graph_value *, n->nin);
    for (int k = 0; k < n->nin; k++)
        in[k] = split_operand(s, n->in[k], &p);
    tc_graph_shape shape = split_shape(&p, &y->shape);
    produce_split(s, tc_graph_copy_node(s->g, n, in), y, &shape);
    return true;
}

/* Both parts of a dimension move together. */
static bool split_transpose(splitter *s, tc_graph_node *n) {
    tc_graph_value *x = split_of(s, n->in[0]);
    size_t len;
    const int64_t *perm = tc_graph_attr_perm(n, &len);
    int64_t parts[TC_GRAPH_MAX_DIMS];
    bool split[TC_GRAPH_MAX_DIMS];
    int m = 0;
    if (!x)
        return false;
    for (size_t d = 0; d < len; d++) {
        int from = (int)perm[d];
        split[d] = from > 0 && from < (int)len - 1;
        parts[m++] = from == 0 ? 0 : 2 * from - 1;
        if (split[d])
            parts[m++] = 2 * from;
    }
    join(s, tc_graph_transposed(s->g, x, parts), split, n->out[0]);
    return true;
}

static tc_status visit(splitter *s, tc_graph_node *n, tc_error *err) {
    if (is_eligible(n))
        return split_conv(s, n, err);
    if (n->nout == 1 && n->out[0] && tc_graph_is_pointwise(n->op) && split_pointwise(s, n))
        return TC_OK;
    if (n->op == TC_GRAPH_OP_TRANSPOSE && split_transpose(s, n))
        return TC_OK;
    for (int k = 0; k < n->nin; k++)
        n->in[k] = whole(s, n->in[k]);
    tc_push(&s->g->nodes, n);
    return TC_OK;
}

tc_status tc_graph_pass_sub_pixel(tc_graph *g, tc_error *err) {
    splitter s = {.g = g};
    tc_graph_nodes old = g->nodes;
    g->nodes = (tc_graph_nodes){0};
    tc_status status = TC_OK;
    for (size_t i = 0; i < old.len && status == TC_OK; i++)
        status = visit(&s, old.data[i], err);
    for (size_t i = 0; i < g->outputs.len && status == TC_OK; i++)
        whole(&s, g->outputs.data[i].value);
    tc_vec_free(&old);
    tc_map_free(&s.split);
    tc_map_free(&s.pending);
    return status;
}
