/* Inference of AffineGrid, which makes places on an image. Texts sample the image there (src/graph/ir/expansions.txt). */
#include <inttypes.h>

#include "graph/ops/functions.h"

/* Coordinates of `n` pixels' centres (or of the edges' too) in [-1, 1]. */
static double affine_coordinate(int64_t i, int64_t n, bool corners) {
    if (corners)
        return n > 1 ? -1 + 2 * (double)i / (double)(n - 1) : 0;
    return (2 * (double)i + 1) / (double)n - 1;
}

/* theta[N, k, k + 1] times the constant (x, y, .., 1) of every pixel */
tc_status tc_graph_infer_affine_grid(tc_graph_infer_ctx *c) {
    tc_graph_value *theta = c->n->in[0];
    const int64_t *size;
    size_t len;
    TC_TRY(tc_graph_want_ints(c, 1, "size", &size, &len));
    int k = (int)len - 2;
    bool corners = tc_graph_attr_align_corners(c->n);
    if ((k != 2 && k != 3) || theta->shape.ndim != 3 || theta->shape.d[0] != size[0] || theta->shape.d[1] != k ||
        theta->shape.d[2] != k + 1)
        return tc_graph_node_fail(c, "size must be [N, C, (D,) H, W] and theta [N, k, k + 1], k the number of axes");
    tc_graph_shape s = {.ndim = k + 2, .d = {size[0]}}, table = {2, {k + 1, 1}};
    for (int d = 0; d < k; d++) {
        if (size[d + 2] < 1 || size[d + 2] > 1 << 20)
            return tc_graph_node_fail(c, "size[%d] is %" PRId64 "; it must be 1 to %d", d + 2, size[d + 2], 1 << 20);
        s.d[d + 1] = size[d + 2];
        table.d[1] *= size[d + 2];
    }
    s.d[k + 1] = k;
    TC_TRY(tc_graph_shape_check(&s, c->err));
    TC_TRY(tc_graph_want_table(c, (double)table.d[0] * (double)table.d[1]));
    tc_graph_emitter e = {c, TC_OK};
    double *v = TC_NEW_N(c->g->arena, double, table.d[0] * table.d[1]);
    for (int64_t p = 0; p < table.d[1]; p++) {
        int64_t left = p;
        for (int d = k - 1; d >= 0; left /= size[d + 2], d--)
            v[(k - 1 - d) * table.d[1] + p] = affine_coordinate(left % size[d + 2], size[d + 2], corners);
        v[k * table.d[1] + p] = 1;
    }
    tc_graph_value *y = em_unary(&e, TC_GRAPH_OP_IDENTITY, theta);
    y = tc_graph_em_op(&e, TC_GRAPH_OP_MATMUL, y, tc_graph_em_floats(&e, theta->dtype, &table, v)); /* [N, k, pixels] */
    y = tc_graph_em_transpose(&e, y, (const int64_t[]){0, 2, 1});
    return tc_graph_em_finish(&e, tc_graph_em_reshape(&e, y, &s));
}
