/* Inference of operators about windows that are written in terms of others: LpPool, Col2Im, MaxUnpool. */
#include <inttypes.h>
#include <string.h>

#include "graph/ops/functions.h"
#include "graph/ops/window.h"

enum { MAX_SPATIAL = TC_GRAPH_MAX_SPATIAL };

typedef tc_graph_window window;

static tc_status want_spatial(tc_graph_infer_ctx *c) {
    const tc_graph_value *x = c->n->in[0];
    if (x->shape.ndim < 3)
        return tc_graph_node_fail(c, "the input '%s' must be [N, C, spatial...], but has %d dimensions", x->name, x->shape.ndim);
    return TC_OK;
}

/* ---- LpPool ---- */

static tc_status read_window(tc_graph_infer_ctx *c, window *w) {
    w->n = c->n->in[0]->shape.ndim - 2;
    if (!tc_graph_attr_find(c->n, TC_ATTR_kernel_shape))
        return tc_graph_node_fail(c, "attribute kernel_shape is missing");
    TC_TRY(tc_graph_want_attr(c, TC_ATTR_kernel_shape, w->n, 1, 1, w->kernel));
    TC_TRY(tc_graph_want_attr(c, TC_ATTR_strides, w->n, 1, 1, w->strides));
    TC_TRY(tc_graph_want_attr(c, TC_ATTR_dilations, w->n, 1, 1, w->dilations));
    return tc_graph_want_attr(c, TC_ATTR_pads, 2 * w->n, 0, 0, w->pads);
}

/* With ceil_mode the last window may run past the padding: that much more of it makes all windows whole. */
static tc_status make_whole(tc_graph_emitter *e, int d, window *w) {
    const tc_graph_value *x = e->c->n->in[0];
    int64_t extent = tc_graph_window_extent(w, d), *end = &w->pads[d + w->n], least = extent - w->pads[d] - *end;
    if (x->shape.d[d + 2] >= least) /* else it is refused */
        *end = tc_graph_ceil_end(extent, w->strides[d], *end);
    return tc_graph_require_size(e, x, d + 2, least);
}

/* The p-th root of the sum of |x|^p, by a pool of sums. */
tc_status tc_graph_infer_lp_pool(tc_graph_infer_ctx *c) {
    tc_graph_value *x = c->n->in[0];
    int64_t p = tc_graph_attr_p(c->n);
    tc_graph_emitter e = {c, TC_OK};
    const char *mode = tc_graph_attr_auto_pad(c->n);
    window w;
    TC_TRY(want_spatial(c));
    TC_TRY(tc_graph_want_float(c, 0));
    TC_TRY(read_window(c, &w));
    if (p < 1)
        return tc_graph_node_fail(c, "attribute p is %" PRId64 "; it must be positive", p);
    bool pads = strcmp(mode, "NOTSET") == 0;
    for (int d = 0; d < w.n && pads && tc_graph_attr_ceil_mode(c->n); d++)
        TC_TRY(make_whole(&e, d, &w));
    tc_graph_value *wide = tc_graph_em_cast(&e, x, x->dtype == TC_F64 ? TC_F64 : TC_F32);
    tc_graph_value *powers = p == 2 ? em_mul(&e, wide, wide) : em_unary(&e, TC_GRAPH_OP_ABS, wide);
    if (p > 2)
        powers = em_by(&e, TC_GRAPH_OP_POW, powers, (double)p);
    tc_graph_node *pool = tc_graph_em_node(&e, TC_GRAPH_OP_AVERAGE_POOL, &powers, 1);
    tc_graph_set_kernel_shape(c->g, pool, w.kernel, (size_t)w.n);
    tc_graph_set_strides(c->g, pool, w.strides, (size_t)w.n);
    tc_graph_set_dilations(c->g, pool, w.dilations, (size_t)w.n);
    if (pads)
        tc_graph_set_pads(c->g, pool, w.pads, 2 * (size_t)w.n);
    tc_graph_set_auto_pad(c->g, pool, mode);
    tc_graph_set_count_include_pad(c->g, pool, 1);
    tc_graph_set_sums(c->g, pool, 1);
    tc_graph_value *sum = tc_graph_em_place(&e, pool);
    tc_graph_value *root = p == 2   ? em_unary(&e, TC_GRAPH_OP_SQRT, sum)
                           : p == 1 ? sum
                                    : em_by(&e, TC_GRAPH_OP_POW, sum, 1 / (double)p);
    return tc_graph_em_finish(&e, tc_graph_em_cast(&e, root, x->dtype));
}

/* ---- Col2Im ---- */

/* x[N, C * taps, blocks]: for every pixel of the image, the columns that hold it, at most `most` of them. */
typedef struct columns {
    window w;
    int64_t image[MAX_SPATIAL], blocks[MAX_SPATIAL];
    int64_t pixels, taps, nblocks, most;
} columns;

/* Row of the column (tap * nblocks + block) that holds `pixel` at `tap`; -1 when none does. */
static int64_t column_of(const columns *k, int64_t pixel, int64_t tap) {
    int64_t block = 0, unit = 1, tap_left = tap;
    for (int d = k->w.n - 1; d >= 0; d--) {
        int64_t at = pixel % k->image[d] + k->w.pads[d] - tap_left % k->w.kernel[d] * k->w.dilations[d];
        if (at < 0 || at % k->w.strides[d] || at / k->w.strides[d] >= k->blocks[d])
            return -1;
        block += at / k->w.strides[d] * unit;
        unit *= k->blocks[d];
        pixel /= k->image[d];
        tap_left /= k->w.kernel[d];
    }
    return tap * k->nblocks + block;
}

static tc_status read_columns(tc_graph_infer_ctx *c, columns *k) {
    const tc_graph_shape *x = &c->n->in[0]->shape;
    const int64_t *image, *block;
    size_t n, nblock;
    TC_TRY(tc_graph_want_ints(c, 1, "image_shape", &image, &n));
    TC_TRY(tc_graph_want_ints(c, 2, "block_shape", &block, &nblock));
    if (x->ndim != 3 || n != nblock || n < 1 || n > MAX_SPATIAL)
        return tc_graph_node_fail(c, "it expects an input of 3 dimensions, and image_shape and block_shape of one length");
    k->w.n = (int)n;
    TC_TRY(tc_graph_want_attr(c, TC_ATTR_strides, k->w.n, 1, 1, k->w.strides));
    TC_TRY(tc_graph_want_attr(c, TC_ATTR_dilations, k->w.n, 1, 1, k->w.dilations));
    TC_TRY(tc_graph_want_attr(c, TC_ATTR_pads, 2 * k->w.n, 0, 0, k->w.pads));
    k->pixels = k->taps = k->nblocks = 1;
    for (int d = 0; d < k->w.n; d++) {
        if (image[d] < 1 || image[d] > 1 << 24 || block[d] < 1 || block[d] > image[d] + (1 << 20))
            return tc_graph_node_fail(c, "image_shape[%d] is %" PRId64 " and block_shape[%d] %" PRId64, d, image[d], d, block[d]);
        int64_t room = image[d] + k->w.pads[d] + k->w.pads[d + k->w.n] - (block[d] - 1) * k->w.dilations[d] - 1;
        k->image[d] = image[d];
        k->w.kernel[d] = block[d];
        k->blocks[d] = room < 0 ? 0 : room / k->w.strides[d] + 1;
        TC_TRY(tc_graph_want_table(c, (double)k->pixels * (double)image[d] * (double)k->taps * (double)block[d]));
        k->pixels *= image[d];
        k->taps *= block[d];
        k->nblocks *= k->blocks[d];
    }
    if (k->nblocks != x->d[2] || x->d[1] % k->taps || k->pixels < 1)
        return tc_graph_node_fail(c, "the input %s does not fit image_shape and block_shape",
                                  tc_graph_type_str(c->g->arena, c->n->in[0]->dtype, x));
    return TC_OK;
}

static void count_columns(columns *k) {
    k->most = 1;
    for (int64_t pixel = 0; pixel < k->pixels; pixel++) {
        int64_t n = 0;
        for (int64_t tap = 0; tap < k->taps; tap++)
            n += column_of(k, pixel, tap) >= 0;
        k->most = TC_MAX(k->most, n);
    }
}

/* [pixels, most]: the columns' rows, filled up with the one of zeros that follows them. */
static tc_graph_value *column_table(tc_graph_emitter *e, const columns *k) {
    int64_t *at = TC_NEW_N(e->c->g->arena, int64_t, k->pixels * k->most);
    for (int64_t pixel = 0; pixel < k->pixels; pixel++) {
        int64_t *row = at + pixel * k->most, n = 0;
        for (int64_t tap = 0; tap < k->taps; tap++)
            if (column_of(k, pixel, tap) >= 0)
                row[n++] = column_of(k, pixel, tap);
        while (n < k->most)
            row[n++] = k->taps * k->nblocks;
    }
    return tc_graph_em_ints(e, TC_I64, &(tc_graph_shape){2, {k->pixels, k->most}}, at);
}

/* Every pixel sums the columns' elements that it was taken apart into. */
tc_status tc_graph_infer_col2im(tc_graph_infer_ctx *c) {
    tc_graph_value *x = c->n->in[0];
    columns k;
    TC_TRY(read_columns(c, &k));
    count_columns(&k);
    tc_graph_emitter e = {c, TC_OK};
    int64_t channels = x->shape.d[1] / k.taps, last = 3;
    tc_graph_value *flat = tc_graph_em_reshape(&e, x, &(tc_graph_shape){3, {x->shape.d[0], channels, k.taps * k.nblocks}});
    flat = tc_graph_em_pad(&e, flat, (const int64_t[]){0, 0, 0, 0, 0, 1}, NULL);
    tc_graph_value *parts = tc_graph_em_gather(&e, TC_GRAPH_OP_GATHER, flat, column_table(&e, &k), 2);
    tc_graph_value *sum = tc_graph_em_reduce(&e, TC_GRAPH_OP_REDUCE_SUM, parts, &last, 1, false);
    tc_graph_shape s = {2 + k.w.n, {x->shape.d[0], channels}};
    memcpy(s.d + 2, k.image, sizeof k.image[0] * (size_t)k.w.n);
    return tc_graph_em_finish(&e, tc_graph_em_reshape(&e, sum, &s));
}

/* ---- MaxUnpool ---- */

static tc_status unpooled_shape(tc_graph_infer_ctx *c, tc_graph_shape *s) {
    window w;
    TC_TRY(read_window(c, &w));
    *s = c->n->in[0]->shape;
    if (!tc_graph_in(c, 2)) {
        for (int d = 0; d < w.n; d++)
            s->d[d + 2] = (s->d[d + 2] - 1) * w.strides[d] + w.kernel[d] - w.pads[d] - w.pads[d + w.n];
        return tc_graph_shape_check(s, c->err);
    }
    const int64_t *v;
    size_t len;
    TC_TRY(tc_graph_want_ints(c, 2, "output_shape", &v, &len));
    if (len != (size_t)s->ndim)
        return tc_graph_node_fail(c, "output_shape has %zu entries; %d are expected", len, s->ndim);
    memcpy(s->d, v, len * sizeof *v);
    return tc_graph_shape_check(s, c->err);
}

/* Zeros, with x scattered to its indices, which count through the whole result. */
tc_status tc_graph_infer_max_unpool(tc_graph_infer_ctx *c) {
    tc_graph_value *x = c->n->in[0], *index = c->n->in[1];
    tc_graph_shape s, flat = {1, {tc_graph_shape_count(&x->shape)}};
    TC_TRY(want_spatial(c));
    if (index->dtype != TC_I64 || !tc_graph_shape_equal(&index->shape, &x->shape))
        return tc_graph_node_fail(c, "the indices must be i64 and have the input's shape");
    TC_TRY(unpooled_shape(c, &s));
    tc_graph_emitter e = {c, TC_OK};
    tc_graph_shape whole = {1, {tc_graph_shape_count(&s)}};
    tc_graph_value *in[] = {tc_graph_em_expand(&e, tc_graph_em_scalar(&e, x->dtype, 0), &whole),
                            tc_graph_em_reshape(&e, index, &flat), tc_graph_em_reshape(&e, x, &flat)};
    tc_graph_value *y = tc_graph_em_place(&e, tc_graph_em_node(&e, TC_GRAPH_OP_SCATTER_ELEMENTS, in, 3));
    return tc_graph_em_finish(&e, tc_graph_em_reshape(&e, y, &s));
}
