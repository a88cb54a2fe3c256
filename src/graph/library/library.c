/* The table of library kernels, and their code as an object and as source. */
#include "graph/library/library.h"

#include <string.h>

static int64_t kind_of(tc_dtype t) {
    return t == TC_BF16                            ? TC_LIB_BFLOAT
           : tc_dtype_is_float(t)                  ? TC_LIB_FLOAT
           : t != TC_BOOL && tc_dtype_is_signed(t) ? TC_LIB_SIGNED
                                                   : TC_LIB_UNSIGNED;
}

/* kind, bytes, and x as [outer, n, inner] around the node's axis */
static int along_axis(const tc_graph_node *n, int64_t *p) {
    const tc_graph_value *x = n->in[0];
    int axis = (int)tc_graph_attr_axis(n);
    p[0] = kind_of(x->dtype);
    p[1] = tc_dtype_bytes(x->dtype);
    p[2] = p[4] = 1;
    p[3] = x->shape.d[axis];
    for (int d = 0; d < x->shape.ndim; d++)
        p[d < axis ? 2 : 4] *= d == axis ? 1 : x->shape.d[d];
    return 5;
}

static int top_k_params(const tc_graph_node *n, int64_t *p) {
    int at = along_axis(n, p);
    p[at++] = tc_graph_attr_k(n);
    p[at++] = tc_graph_attr_largest(n);
    return at;
}

static int cum_sum_params(const tc_graph_node *n, int64_t *p) {
    int at = along_axis(n, p);
    p[at++] = tc_graph_attr_exclusive(n);
    p[at++] = tc_graph_attr_reverse(n);
    return at;
}

static int unique_params(const tc_graph_node *n, int64_t *p) {
    int at = along_axis(n, p);
    p[at++] = tc_graph_attr_sorted(n);
    return at;
}

static int non_zero_params(const tc_graph_node *n, int64_t *p) {
    const tc_graph_value *x = n->in[0];
    int at = 0;
    p[at++] = kind_of(x->dtype);
    p[at++] = tc_dtype_bytes(x->dtype);
    p[at++] = tc_graph_shape_count(&x->shape);
    p[at++] = x->shape.ndim;
    for (int d = 0; d < x->shape.ndim; d++)
        p[at++] = x->shape.d[d];
    return at;
}

static int nms_params(const tc_graph_node *n, int64_t *p) {
    const int64_t *scores = n->in[1]->shape.d;
    memcpy(p, scores, 3 * sizeof *p);
    p[3] = tc_graph_attr_center_point_box(n);
    p[4] = tc_graph_attr_most(n);
    return 5;
}

static int scatter_params(const tc_graph_node *n, int64_t *p) {
    static const char *const how[] = {"none", "add", "mul", "max", "min"};
    const tc_graph_shape *x = &n->in[0]->shape, *index = &n->in[1]->shape;
    bool nd = tc_graph_attr_tuples(n) != 0;
    p[0] = kind_of(n->in[0]->dtype);
    p[1] = tc_dtype_bytes(n->in[0]->dtype);
    for (p[2] = 0; strcmp(how[p[2]], tc_graph_attr_reduction(n)) != 0; p[2]++)
        ;
    p[3] = tc_dtype_bytes(n->in[1]->dtype);
    p[5] = x->ndim;
    memcpy(p + 6, x->d, sizeof x->d);
    p[14] = tc_graph_attr_axis(n);
    p[15] = nd ? index->d[index->ndim - 1] : 0;
    p[4] = nd ? tc_graph_shape_count(index) / p[15] : 0;
    memcpy(p + 16, index->d, sizeof index->d);
    return 16 + TC_GRAPH_MAX_DIMS;
}

static int det_params(const tc_graph_node *n, int64_t *p) {
    const tc_graph_shape *x = &n->in[0]->shape;
    p[0] = tc_dtype_bytes(n->in[0]->dtype);
    p[1] = tc_graph_shape_count(&n->out[0]->shape);
    p[2] = x->d[x->ndim - 1];
    return 3;
}

static int max_roi_pool_params(const tc_graph_node *n, int64_t *p) {
    double scale = tc_graph_attr_spatial_scale(n);
    p[0] = tc_dtype_bytes(n->in[0]->dtype);
    memcpy(p + 1, n->in[0]->shape.d, 4 * sizeof *p);
    p[5] = n->in[1]->shape.d[0];
    memcpy(p + 6, n->out[0]->shape.d + 2, 2 * sizeof *p);
    memcpy(p + 8, &scale, sizeof scale);
    return 9;
}

static int roi_align_params(const tc_graph_node *n, int64_t *p) {
    double scale = tc_graph_attr_spatial_scale(n);
    p[0] = tc_dtype_bytes(n->in[0]->dtype);
    memcpy(p + 1, n->in[0]->shape.d, 4 * sizeof *p);
    p[5] = n->in[1]->shape.d[0];
    memcpy(p + 6, n->out[0]->shape.d + 2, 2 * sizeof *p);
    p[8] = strcmp(tc_graph_attr_mode_or(n, "avg"), "max") == 0;
    p[9] = strcmp(tc_graph_attr_coordinate_transformation_mode(n), "half_pixel") == 0;
    memcpy(p + 10, &scale, sizeof scale);
    return 11;
}

static int grow_params(const tc_graph_node *n, int64_t *p) {
    const tc_graph_value *cache = n->in[0];
    int ndim = cache->shape.ndim;
    p[0] = tc_dtype_bytes(cache->dtype);
    p[1] = ndim;
    p[2] = tc_graph_attr_axis(n);
    p[3] = n->in[2]->shape.ndim;
    memcpy(p + 4, cache->shape.d, (size_t)ndim * sizeof *p);
    for (int d = 0; d < ndim; d++)
        p[4 + ndim + d] = d != p[2] && cache->extent[d];
    return 4 + 2 * ndim;
}

static int require_params(const tc_graph_node *n, int64_t *p) {
    p[0] = tc_graph_attr_expected(n);
    p[1] = 0; /* the program numbers refusals */
    return 2;
}

const tc_graph_library_kernel *tc_graph_library_of(tc_graph_op op) {
#define KERNEL(id, name)                                                                                                         \
    { TC_GRAPH_OP_##id, "tc_lib_" #name, tc_lib_##name, tc_lib_##name##_workspace, name##_params }
    static const tc_graph_library_kernel kernels[] = {KERNEL(TOP_K_LIST, top_k),
                                                      KERNEL(UNIQUE_LIST, unique),
                                                      KERNEL(CUM_SUM_LIST, cum_sum),
                                                      KERNEL(NON_ZERO_LIST, non_zero),
                                                      KERNEL(NMS_LIST, nms),
                                                      KERNEL(SCATTER_LIST, scatter),
                                                      KERNEL(DET_LIST, det),
                                                      KERNEL(MAX_ROI_POOL_LIST, max_roi_pool),
                                                      KERNEL(ROI_ALIGN_LIST, roi_align),
                                                      KERNEL(REQUIRE, require),
                                                      KERNEL(GROWN, grow)};
#undef KERNEL
    for (size_t i = 0; i < TC_LEN(kernels); i++)
        if (kernels[i].op == op)
            return &kernels[i];
    return NULL;
}

static int no_params(const tc_graph_node *n, int64_t *p) {
    (void)n;
    (void)p;
    return 0;
}

const tc_graph_library_kernel *tc_graph_library_row(void) {
    static const tc_graph_library_kernel row = {TC_GRAPH_OP_LOOP, "tc_lib_row", tc_lib_row, tc_lib_row_workspace, no_params};
    return &row;
}

/* ---- their code ---- */

__asm__(".pushsection .rodata\n"
        ".balign 64\n"
        "tc_graph_library_begin: .incbin \"" TCTUNE_LIBRARY_OBJECT "\"\n"
        "tc_graph_library_end: .byte 0\n"
        "tc_graph_library_text_begin: .incbin \"" TCTUNE_LIBRARY_SOURCE "\"\n"
        "tc_graph_library_text_end: .byte 0\n"
        ".popsection\n");

extern const char tc_graph_library_begin[] __attribute__((visibility("hidden")));
extern const char tc_graph_library_end[] __attribute__((visibility("hidden")));
extern const char tc_graph_library_text_begin[] __attribute__((visibility("hidden")));
extern const char tc_graph_library_text_end[] __attribute__((visibility("hidden")));

void tc_graph_library_text(const char **text, size_t *size) {
    *text = tc_graph_library_text_begin;
    *size = (size_t)(tc_graph_library_text_end - tc_graph_library_text_begin);
}

void tc_graph_library_object(const void **bytes, size_t *size) {
    *bytes = tc_graph_library_begin;
    *size = (size_t)(tc_graph_library_end - tc_graph_library_begin);
}
