/* Convolutions and pools over sizes that vary, whose windows depend on these: ceil_mode, auto_pad with strides, and what averages
 * divide by.
 *
 *     ceil_mode      =>  so much padding behind that windows of whole steps are the same ones, whatever the size is
 *     SAME, strides  =>  Appended(padding, x) under a window without padding in front; its first ceil(size / stride) places
 *                        are left
 *     averages       =>  averages of x and of ones, divided, where a window may reach past what counts
 *     indices        =>  those of the largest operand, taken apart into coordinates, and put together for the sizes of the run */
#include <inttypes.h>
#include <string.h>

#include "graph/ir/build.h"
#include "graph/ir/sizes.h"
#include "graph/ops/functions.h"
#include "graph/ops/window.h"

/* The weights say how many channels there are. */
static tc_status meet_channels(tc_graph_emitter *e, bool transposed) {
    const tc_graph_node *n = e->c->n;
    const tc_graph_value *x = n->in[0], *w = n->in[1];
    int own = transposed ? 0 : 1;
    int64_t group = transposed ? 1 : tc_graph_attr_group(n);
    if (x->shape.ndim < 3 || w->shape.ndim != x->shape.ndim || (!tc_graph_extent(x, 1) && !tc_graph_extent(w, own)))
        return TC_OK;
    tc_graph_sizes *s = tc_graph_sizes_of(e->c->g);
    const tc_expr *want = tc_bin(s->ctx, TC_OP_MUL, tc_graph_size_number(e, w, own), tc_i64(s->ctx, group));
    tc_arena *a = e->c->g->arena;
    return tc_graph_meet_numbers(e, tc_arena_printf(a, "the channels of '%s'", x->name), tc_graph_size_number(e, x, 1),
                                 tc_arena_printf(a, "the channels that the weights '%s' take", w->name),
                                 tc_graph_sizes_simplify(s, want));
}

/* Of the node as the model has it. ends[i]: of padding, such that windows of whole steps are those of ceil_mode. */
typedef struct run_window {
    tc_graph_emitter *e;
    const tc_graph_value *x;
    tc_graph_window w;
    bool ceil, same, upper, average, counts; /* counts: an average with its padding */
    int64_t ends[TC_GRAPH_MAX_SPATIAL];
} run_window;

/* Not what inference refuses: where *ok is false, it has to. */
static tc_status read_run_window(tc_graph_emitter *e, run_window *r, bool *ok) {
    tc_graph_infer_ctx *c = e->c;
    const tc_graph_value *x = c->n->in[0];
    const char *mode = tc_graph_attr_auto_pad(c->n);
    bool conv = c->n->op == TC_GRAPH_OP_CONV;
    *r = (run_window){.e = e, .x = x, .w.n = x->shape.ndim - 2};
    r->average = c->n->op == TC_GRAPH_OP_AVERAGE_POOL && !tc_graph_attr_sums(c->n);
    r->ceil = !conv && tc_graph_attr_ceil_mode(c->n);
    r->upper = strcmp(mode, "SAME_UPPER") == 0;
    r->same = r->upper || strcmp(mode, "SAME_LOWER") == 0;
    r->counts = r->average && tc_graph_attr_count_include_pad(c->n);
    *ok = conv ? c->n->in[1]->shape.ndim == x->shape.ndim : tc_graph_attr_find(c->n, TC_ATTR_kernel_shape) != NULL;
    if (!*ok)
        return TC_OK;
    TC_TRY(conv ? tc_graph_read_window_of(c, c->n->in[1], &r->w)
                : tc_graph_want_attr(c, TC_ATTR_kernel_shape, r->w.n, 1, 1, r->w.kernel));
    TC_TRY(tc_graph_read_window(c, &x->shape, &r->w));
    for (int i = 0; i < r->w.n; i++) {
        int64_t end = r->w.pads[i + r->w.n], window = tc_graph_window_extent(&r->w, i);
        bool fits = x->shape.d[i + 2] + r->w.pads[i] + end >= window; /* else it is refused */
        r->ends[i] = r->ceil && !r->same && fits ? tc_graph_ceil_end(window, r->w.strides[i], end) : end;
    }
    return TC_OK;
}

/* Is the padding in front of dimension i another one for other sizes? */
static bool moves(const run_window *r, int i) {
    return r->same && tc_graph_extent(r->x, i + 2) && r->w.strides[i] > 1 && tc_graph_window_extent(&r->w, i) > 1;
}

static void set_window(const run_window *r, tc_graph_node *n, const int64_t *pads) {
    tc_graph *g = r->e->c->g;
    tc_graph_set_pads(g, n, pads, 2 * (size_t)r->w.n);
    tc_graph_set_auto_pad(g, n, "NOTSET");
    tc_graph_set_ceil_mode(g, n, 0);
}

/* What SAME puts in front of dimension i, where so many windows are `places`: max(0, (places - 1) * stride + window - size),
 * halved. */
static tc_graph_value *before(const run_window *r, int i, tc_graph_value *size, tc_graph_value *places) {
    tc_graph_emitter *e = r->e;
    int64_t window = tc_graph_window_extent(&r->w, i), stride = r->w.strides[i];
    tc_graph_value *all = em_sub(e, em_by(e, TC_GRAPH_OP_MUL, places, (double)stride), size);
    all = em_max(e, em_by(e, TC_GRAPH_OP_ADD, all, (double)(window - stride)), tc_graph_em_number(e, 0));
    all = em_min(e, all, tc_graph_em_number(e, window - 1));
    return em_by(e, TC_GRAPH_OP_DIV, r->upper ? all : em_by(e, TC_GRAPH_OP_ADD, all, 1), 2);
}

/* x with what SAME puts in front of dimension i, as a part of it. */
static tc_graph_value *moved(const run_window *r, tc_graph_value *x, int i, tc_graph_value *front, tc_graph_value *fill) {
    tc_graph_emitter *e = r->e;
    tc_graph_value *size = tc_graph_extent(x, i + 2);
    tc_graph_shape s = x->shape;
    s.d[i + 2] = tc_graph_window_extent(&r->w, i) / 2;
    tc_graph_value *y = tc_graph_em_joined(e, i + 2, tc_graph_em_expand(e, fill, &s), tc_graph_em_blind(e, x), front, size);
    return tc_graph_em_with_sizes(e, y, x, i + 2, em_add(e, front, size));
}

/* Of the dimensions whose padding moves: so many windows there are, and so much padding in front. NULL: of others. */
typedef struct moves_of {
    tc_graph_value *places[TC_GRAPH_MAX_SPATIAL], *front[TC_GRAPH_MAX_SPATIAL];
} moves_of;

/* x with the padding of SAME in front of it, where it moves; pads become those of the window over that. */
static tc_graph_value *with_front(const run_window *r, tc_graph_value *x, tc_graph_value *fill, int64_t *pads, moves_of *m) {
    tc_graph_emitter *e = r->e;
    *m = (moves_of){0};
    for (int i = 0; i < r->w.n; i++) {
        if (!moves(r, i))
            continue;
        tc_graph_value *size = tc_graph_extent(x, i + 2);
        m->places[i] =
            em_by(e, TC_GRAPH_OP_DIV, em_by(e, TC_GRAPH_OP_ADD, size, (double)(r->w.strides[i] - 1)), (double)r->w.strides[i]);
        m->front[i] = before(r, i, size, m->places[i]);
        x = moved(r, x, i, m->front[i], fill);
        pads[i] = 0;
        pads[i + r->w.n] = tc_graph_window_extent(&r->w, i);
    }
    return x;
}

/* Only as many windows are left as the model has. */
static tc_graph_value *cut_places(const run_window *r, tc_graph_value *y, const moves_of *m) {
    for (int i = 0; i < r->w.n; i++)
        if (m->places[i])
            y = tc_graph_em_with_sizes(r->e, tc_graph_em_blind(r->e, y), y, i + 2, m->places[i]);
    return y;
}

/* The node's window over x. */
static tc_graph_value *windows_of(const run_window *r, tc_graph_value *x, const int64_t *pads, tc_graph_value *fill) {
    tc_graph_emitter *e = r->e;
    moves_of m;
    int64_t own[2 * TC_GRAPH_MAX_SPATIAL];
    memcpy(own, pads, 2 * (size_t)r->w.n * sizeof *own);
    x = with_front(r, x, fill, own, &m);
    set_window(r, e->c->n, own);
    tc_graph_value *in[TC_GRAPH_MAX_DIMS] = {x};
    for (int k = 1; k < e->c->n->nin; k++)
        in[k] = e->c->n->in[k];
    return cut_places(r, tc_graph_em_again(e, in), &m);
}

/* ---- indices ---- */

/* The coordinate of dimension i in the operand, of places in a plane of these extents, which lies behind padding. */
static tc_graph_value *coordinate_of(const run_window *r, tc_graph_value *place, const tc_graph_shape *plane, int i,
                                     const moves_of *m) {
    tc_graph_emitter *e = r->e;
    int64_t inner = 1;
    for (int d = i + 3; d < plane->ndim; d++)
        inner *= plane->d[d];
    tc_graph_value *at = em_by(e, TC_GRAPH_OP_DIV, place, (double)inner);
    tc_graph_value *outer = em_by(e, TC_GRAPH_OP_DIV, at, (double)plane->d[i + 2]);
    at = em_sub(e, at, em_by(e, TC_GRAPH_OP_MUL, outer, (double)plane->d[i + 2]));
    /* a window of nothing but the lowest number has its first place in the padding */
    return m->front[i] ? em_max(e, em_sub(e, at, m->front[i]), tc_graph_em_number(e, 0)) : at;
}

/* Indices in an operand of these extents as indices in x, as it is in a run. */
static tc_graph_value *indices_in(const run_window *r, tc_graph_value *x, tc_graph_value *index, const tc_graph_shape *extents,
                                  bool by_columns, const moves_of *m) {
    tc_graph_emitter *e = r->e;
    int ndim = extents->ndim;
    tc_graph_value *stride = tc_graph_em_number(e, 1), *all = NULL;
    for (int k = 0; k < r->w.n; k++) {
        int i = by_columns ? k : r->w.n - 1 - k;
        tc_graph_value *part = em_mul(e, coordinate_of(r, index, extents, i, m), stride);
        all = all ? em_add(e, all, part) : part;
        stride = em_mul(e, stride, tc_graph_em_size(e, x, i + 2));
    }
    for (int d = 1; d >= 0; d--) {
        all = em_add(e, all, em_mul(e, tc_graph_em_iota(e, extents->d[d], d, ndim), stride));
        stride = em_mul(e, stride, tc_graph_em_size(e, x, d));
    }
    return all;
}

/* MaxPool whose indices depend on the sizes. */
static tc_status pool_with_indices(const run_window *r, int64_t *pads) {
    tc_graph_emitter *e = r->e;
    tc_graph_node *n = e->c->n;
    tc_graph_value *x = n->in[0], *out[2];
    bool by_columns = tc_graph_attr_storage_order(n) != 0;
    moves_of m;
    tc_graph_value *from = with_front(r, x, tc_graph_em_fill(e, x->dtype, TC_GRAPH_LOWEST), pads, &m);
    set_window(r, n, pads);
    tc_graph_node *pool = tc_graph_em_node(e, TC_GRAPH_OP_MAX_POOL_INDICES, &from, 1);
    tc_graph_em_copy_window(e, pool);
    tc_graph_em_place_all(e, pool, out, 2);
    tc_graph_value *y = cut_places(r, out[0], &m);
    tc_graph_value *index = indices_in(r, x, tc_graph_em_blind(e, out[1]), &from->shape, by_columns, &m);
    TC_TRY(e->status);
    for (int d = 0; d < y->shape.ndim; d++)
        if (tc_graph_extent(y, d))
            index = tc_graph_em_sized(e, index, d, tc_graph_extent(y, d));
    tc_graph_em_output(e, 1, index);
    return tc_graph_em_finish(e, y);
}

/* ---- averages ---- */

/* Ones where an average has something to count, with the sizes of x: its elements, or those and its padding. */
static tc_graph_value *counted(const run_window *r, tc_dtype t, int64_t *pads) {
    tc_graph_emitter *e = r->e;
    tc_graph_value *size[TC_GRAPH_MAX_SPATIAL];
    tc_graph_shape s = r->x->shape;
    int n = r->w.n;
    s.d[0] = s.d[1] = 1;
    for (int i = 0; i < n; i++) {
        int64_t end = TC_MIN(r->w.pads[i + n], r->ends[i]), padding = r->counts && !r->same ? r->w.pads[i] + end : 0;
        size[i] = tc_graph_extent(r->x, i + 2);
        s.d[i + 2] += padding;
        if (size[i] && padding)
            size[i] = em_by(e, TC_GRAPH_OP_ADD, size[i], (double)padding);
        if (r->counts && !r->same) {
            pads[i] = 0;
            pads[i + n] = r->ends[i] - end;
        }
    }
    tc_graph_value *ones = tc_graph_em_expand(e, tc_graph_em_scalar(e, t, 1), &s);
    for (int i = 0; i < n; i++)
        if (size[i])
            ones = tc_graph_em_sized(e, ones, i + 2, size[i]);
    return ones;
}

/* An average divides the sum by the number of elements that there are. */
static tc_graph_value *average_of(const run_window *r, tc_graph_value *x, const int64_t *pads) {
    tc_graph_emitter *e = r->e;
    int64_t own[2 * TC_GRAPH_MAX_SPATIAL];
    memcpy(own, pads, 2 * (size_t)r->w.n * sizeof *own);
    tc_graph_set_count_include_pad(e->c->g, e->c->n, 1);
    tc_graph_set_sums(e->c->g, e->c->n, 1);
    tc_graph_value *wide = tc_graph_em_cast(e, x, tc_graph_wide(x->dtype));
    tc_graph_value *zero = tc_graph_em_scalar(e, wide->dtype, 0), *one = tc_graph_em_scalar(e, wide->dtype, 1);
    tc_graph_value *ones = counted(r, wide->dtype, own);
    tc_graph_value *sum = windows_of(r, wide, pads, zero), *count = windows_of(r, ones, own, zero);
    tc_graph_value *mean = em_div(e, sum, tc_graph_em_where(e, em_equal(e, count, zero), one, count));
    return tc_graph_em_cast(e, mean, x->dtype);
}

/* Does what an average divides by depend on where the operand ends? */
static bool counts_ends(const run_window *r, bool any_moves) {
    bool any = false;
    for (int i = 0; i < r->w.n; i++)
        if (tc_graph_extent(r->x, i + 2))
            any |= r->counts ? r->ends[i] != r->w.pads[i + r->w.n] : r->ends[i] != 0;
    return r->average && (any || (any_moves && !r->counts));
}

/* Windows whose sizes are related to those of the operand by no number that is known now. */
static tc_status place_windows(const run_window *r) {
    tc_graph_emitter *e = r->e;
    tc_graph_infer_ctx *c = e->c;
    tc_graph_value *x = c->n->in[0];
    int64_t pads[2 * TC_GRAPH_MAX_SPATIAL];
    bool any = false;
    for (int i = 0; i < r->w.n; i++) {
        pads[i] = r->w.pads[i];
        pads[i + r->w.n] = r->ends[i];
        any |= moves(r, i);
    }
    if (c->nout > 1)
        return pool_with_indices(r, pads);
    if (counts_ends(r, any))
        return tc_graph_em_finish(e, average_of(r, x, pads));
    bool max = c->n->op == TC_GRAPH_OP_MAX_POOL;
    tc_graph_value *fill = tc_graph_em_fill(e, x->dtype, max ? TC_GRAPH_LOWEST : TC_GRAPH_ZERO);
    if (any)
        return tc_graph_em_finish(e, windows_of(r, x, pads, fill));
    if (r->ceil)
        set_window(r, c->n, pads);
    return e->status;
}

/* A window has a place in dimension i: not where it is larger than that with its padding. Windows of one element have as many places
 * as there are elements, maybe none. */
static tc_status require_room(const run_window *r) {
    for (int i = 0; i < r->w.n && !r->same; i++) {
        int64_t least = tc_graph_window_extent(&r->w, i) - r->w.pads[i] - r->w.pads[i + r->w.n];
        TC_TRY(tc_graph_require_size(r->e, r->x, i + 2, least == 1 && r->w.strides[i] == 1 ? 0 : least));
    }
    return TC_OK;
}

/* What padding takes away leaves a transposed convolution at least one element of each dimension. */
static tc_status require_result(tc_graph_emitter *e) {
    tc_graph_infer_ctx *c = e->c;
    const tc_graph_value *x = c->n->in[0], *weights = c->n->in[1];
    tc_graph_window w = {.n = x->shape.ndim - 2};
    int64_t extra[TC_GRAPH_MAX_SPATIAL];
    if (strncmp(tc_graph_attr_auto_pad(c->n), "SAME", 4) == 0 || weights->shape.ndim != x->shape.ndim)
        return e->status;
    TC_TRY(tc_graph_read_window_of(c, weights, &w));
    TC_TRY(tc_graph_read_window(c, &x->shape, &w));
    TC_TRY(tc_graph_want_attr(c, TC_ATTR_output_padding, w.n, 0, 0, extra));
    for (int i = 0; i < w.n; i++) {
        /* (size - 1) stride >= missing; without any element of x, padding alone may make a result */
        int64_t missing = 1 + w.pads[i] + w.pads[i + w.n] - extra[i] - tc_graph_window_extent(&w, i);
        int64_t steps = missing > 0 ? tc_ceil_div(missing, w.strides[i]) : -(-missing / w.strides[i]);
        TC_TRY(tc_graph_require_size(e, x, i + 2, TC_MAX(1 + steps, 0)));
    }
    return e->status;
}

/* Do the weights have sizes that vary, or the channels that they walk? */
static bool weights_vary(const tc_graph_node *n) {
    const tc_graph_value *x = n->in[0], *w = n->in[1];
    return x->shape.ndim > 2 && w->shape.ndim == x->shape.ndim && (tc_graph_is_dynamic(w) || tc_graph_extent(x, 1));
}

/* Before inference, which makes padding of the largest sizes. */
tc_status tc_graph_rewrite_window(tc_graph_emitter *e) {
    const tc_graph_node *n = e->c->n;
    const tc_graph_value *x = n->in[0];
    bool transposed = n->op == TC_GRAPH_OP_CONV_TRANSPOSE, weighs = transposed || n->op == TC_GRAPH_OP_CONV, varies = false, ok;
    run_window r;
    size_t given;
    for (int d = e->c->nout > 1 ? 1 : 2; d < x->shape.ndim; d++) /* indices count the channels, too */
        varies |= tc_graph_extent(x, d) != NULL;
    if (weighs)
        TC_TRY(meet_channels(e, transposed));
    if (weighs && (weights_vary(n) || (varies && transposed && tc_graph_attr_output_shape(n, &given))))
        return tc_graph_rewrite_by_weights(e);
    if (!varies)
        return e->status;
    if (transposed)
        return require_result(e);
    TC_TRY(read_run_window(e, &r, &ok));
    if (!ok)
        return e->status;
    TC_TRY(require_room(&r));
    return place_windows(&r);
}
