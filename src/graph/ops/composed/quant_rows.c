/* com.microsoft's GatherBlockQuantized: rows of a table of 4 or 8 bits, which are picked first and then unpacked, so that the table
 * stays as it is in the file. */
#include <inttypes.h>

#include "graph/ops/functions.h"

enum { TABLE, INDICES, SCALES, ZEROS };

typedef struct table {
    int64_t bits, size;   /* size: numbers of a block */
    int gather, axis;     /* axis: along which the blocks lie, of the table; then of the result */
    tc_graph_shape shape; /* of the table's numbers */
} table;

static tc_status want_parameters(tc_graph_infer_ctx *c, const table *t, int k, bool packed) {
    const tc_graph_value *v = tc_graph_in(c, k);
    tc_graph_shape want = t->shape;
    if (!v)
        return TC_OK;
    want.d[t->axis] = (want.d[t->axis] + t->size - 1) / t->size;
    if (packed)
        want.d[t->axis] = (want.d[t->axis] * t->bits + 7) / 8;
    if (tc_graph_shape_equal(&v->shape, &want))
        return TC_OK;
    return tc_graph_node_fail(c, "input %d ('%s') must be %s for blocks of %" PRId64 ", but is %s", k, v->name,
                              tc_graph_type_str(c->g->arena, v->dtype, &want), t->size,
                              tc_graph_type_str(c->g->arena, v->dtype, &v->shape));
}

static tc_status read_table(tc_graph_infer_ctx *c, table *t) {
    const tc_graph_value *v = c->n->in[TABLE];
    *t = (table){.bits = tc_graph_attr_bits(c->n), .size = tc_graph_attr_block_size_or(c->n, 128), .shape = v->shape};
    TC_TRY(tc_graph_want_axis(c, tc_graph_attr_gather_axis(c->n), v->shape.ndim, &t->gather));
    TC_TRY(tc_graph_want_axis(c, tc_graph_attr_quantize_axis(c->n), v->shape.ndim, &t->axis));
    if (t->bits != 4 && t->bits != 8)
        return tc_graph_node_refuse(c, TC_ERROR_UNSUPPORTED, "attribute bits is %" PRId64 "; 4 and 8 are supported", t->bits);
    if (t->size < 16 || (t->size & (t->size - 1)))
        return tc_graph_node_fail(c, "attribute block_size is %" PRId64 "; it must be a power of two, at least 16", t->size);
    if (v->dtype != TC_U8)
        return tc_graph_node_refuse(c, TC_ERROR_UNSUPPORTED, "a table of %s is not supported; packed bytes are",
                                    tc_dtype_name(v->dtype));
    if (t->axis != v->shape.ndim - 1 || t->gather == t->axis)
        return tc_graph_node_refuse(c, TC_ERROR_UNSUPPORTED,
                                    "the blocks must lie along the last dimension, and the rows along another dimension");
    t->shape.d[t->axis] *= 8 / t->bits;
    TC_TRY(tc_graph_want_float(c, SCALES));
    TC_TRY(tc_graph_want_same_type(c, TABLE, ZEROS));
    TC_TRY(want_parameters(c, t, SCALES, false));
    return want_parameters(c, t, ZEROS, true);
}

/* Of input k: the rows that are asked for. */
static tc_graph_value *picked(tc_graph_emitter *e, const table *t, int k) {
    return tc_graph_em_gather(e, TC_GRAPH_OP_GATHER, e->c->n->in[k], e->c->n->in[INDICES], t->gather);
}

/* One element for each block becomes one for each number. */
static tc_graph_value *spread(tc_graph_emitter *e, tc_graph_value *v, int64_t size, int64_t numbers) {
    int64_t *index = TC_NEW_N(e->c->g->arena, int64_t, numbers + 1);
    for (int64_t i = 0; i < numbers; i++)
        index[i] = i / size;
    return tc_graph_em_index(e, v, v->shape.ndim - 1, index, numbers);
}

/* (table, indices, scales, zero points?) */
tc_status tc_graph_infer_gather_blocks(tc_graph_infer_ctx *c) {
    tc_graph_emitter e = {c, TC_OK};
    table t;
    TC_TRY(read_table(c, &t));
    int64_t numbers = t.shape.d[t.axis];
    TC_TRY(tc_graph_want_table(c, (double)numbers));
    tc_dtype to = c->n->in[SCALES]->dtype, wide = tc_graph_wide(to);
    tc_graph_value *y = tc_graph_em_cast(&e, tc_graph_em_unpacked(&e, picked(&e, &t, TABLE), t.bits), wide);
    tc_graph_value *zero = tc_graph_em_scalar(&e, wide, (double)(1 << (t.bits - 1)));
    if (c->n->nin > ZEROS && c->n->in[ZEROS])
        zero = spread(&e, tc_graph_em_cast(&e, tc_graph_em_unpacked(&e, picked(&e, &t, ZEROS), t.bits), wide), t.size, numbers);
    tc_graph_value *scale = spread(&e, tc_graph_em_cast(&e, picked(&e, &t, SCALES), wide), t.size, numbers);
    return tc_graph_em_finish(&e, tc_graph_em_cast(&e, em_mul(&e, em_sub(&e, y, zero), scale), to));
}
