/* com.microsoft's EmbedLayerNormalization, which becomes Gathers, Adds and a LayerNormalization. */
#include <inttypes.h>
#include <string.h>

#include "graph/ir/sizes.h"
#include "graph/ops/functions.h"

/* Epsilon where a model does not say; ONNX has 1e-5. */
#define SKIP_EPSILON 1e-12F

static tc_graph_value *input(const tc_graph_infer_ctx *c, int k) {
    return k < c->n->nin ? c->n->in[k] : NULL;
}

/* ---- embeddings ---- */

enum { IDS, SEGMENTS, WORDS, POSITIONS, SEGMENT_TABLE, GAMMA, BETA, MASK, POSITION_IDS };

static tc_status want_ids(tc_graph_infer_ctx *c, int k, const tc_graph_shape *like) {
    const tc_graph_value *v = tc_graph_in(c, k);
    tc_graph_shape s;
    if (!v)
        return TC_OK;
    bool fits = v->shape.ndim == 2 && tc_graph_shape_broadcast(&v->shape, like, &s) && tc_graph_shape_equal(&s, like);
    if (fits && (v->dtype == TC_I32 || v->dtype == TC_I64))
        return TC_OK;
    return tc_graph_node_fail(c, "input %d ('%s') must be integers of the shape [batch, sequence], but is %s", k, v->name,
                              tc_graph_type_str(c->g->arena, v->dtype, &v->shape));
}

static tc_status want_embedding(tc_graph_infer_ctx *c) {
    const tc_graph_value *ids = c->n->in[IDS], *words = tc_graph_in(c, WORDS);
    if (ids->shape.ndim != 2)
        return tc_graph_node_fail(c, "input 0 ('%s') must be [batch, sequence], but has %d dimensions", ids->name,
                                  ids->shape.ndim);
    TC_TRY(want_ids(c, IDS, &ids->shape));
    TC_TRY(want_ids(c, SEGMENTS, &ids->shape));
    TC_TRY(want_ids(c, MASK, &ids->shape));
    TC_TRY(want_ids(c, POSITION_IDS, &ids->shape));
    TC_TRY(tc_graph_want_float(c, WORDS));
    for (int k = WORDS; k <= SEGMENT_TABLE; k++) {
        const tc_graph_value *v = tc_graph_in(c, k);
        if (v && (v->shape.ndim != 2 || words->shape.ndim != 2 || v->shape.d[1] != words->shape.d[1] || v->dtype != words->dtype))
            return tc_graph_node_fail(c, "input %d ('%s') must be a table with rows like those of '%s'", k, v->name, words->name);
    }
    if (!tc_graph_in(c, SEGMENTS) != !tc_graph_in(c, SEGMENT_TABLE))
        return tc_graph_node_fail(c, "segment numbers (input 1) and their table (input 4) go together");
    if (!tc_graph_in(c, POSITION_IDS) && c->n->in[POSITIONS]->shape.d[0] < ids->shape.d[1])
        return tc_graph_node_fail(c, "the table of positions '%s' has %" PRId64 " rows for a sequence of %" PRId64,
                                  c->n->in[POSITIONS]->name, c->n->in[POSITIONS]->shape.d[0], ids->shape.d[1]);
    return TC_OK;
}

/* Where sizes vary: all inputs are of one shape, and a sequence has no more places than the table of positions. */
static tc_status meet_ids(tc_graph_emitter *e) {
    static const int of[] = {SEGMENTS, MASK, POSITION_IDS};
    const tc_graph_value *ids = e->c->n->in[IDS];
    for (size_t i = 0; i < TC_LEN(of); i++)
        for (int d = 0; d < 2 && input(e->c, of[i]) && input(e->c, of[i])->shape.ndim == 2 && ids->shape.ndim == 2; d++)
            TC_TRY(tc_graph_meet(e, ids, d, input(e->c, of[i]), d, true));
    if (input(e->c, POSITION_IDS) || ids->shape.ndim != 2 || !tc_graph_extent(ids, 1))
        return TC_OK;
    const tc_expr *rows = tc_graph_size_number(e, ids, 1);
    tc_graph_sizes *s = tc_graph_sizes_of(e->c->g);
    const tc_expr *room = tc_bin(s->ctx, TC_OP_MIN, rows, tc_graph_size_number(e, e->c->n->in[POSITIONS], 0));
    return tc_graph_meet_numbers(e, "the sequence", rows, "the number of positions", tc_graph_sizes_simplify(s, room));
}

/* The rows of the table in their order, as many as the sequences have. */
static tc_graph_value *first_positions(tc_graph_emitter *e) {
    const tc_graph_value *ids = e->c->n->in[IDS];
    tc_graph_value *v = tc_graph_em_slice(e, e->c->n->in[POSITIONS], 0, 0, ids->shape.d[1], 1);
    if (!tc_graph_extent(ids, 1))
        return v;
    return tc_graph_em_sized(e, em_unary(e, TC_GRAPH_OP_IDENTITY, v), 0, tc_graph_extent(ids, 1));
}

/* How many of each row of the mask are 1; zeros where there is no mask. */
static tc_graph_value *count_mask(tc_graph_emitter *e, tc_graph_value *mask, const tc_graph_value *ids) {
    tc_graph_shape s = {1, {ids->shape.d[0]}};
    if (!mask) {
        tc_graph_value *none = tc_graph_em_reshape(e, tc_graph_em_scalar(e, TC_I32, 0), &(tc_graph_shape){1, {1}});
        none = tc_graph_em_expand(e, none, &s);
        return tc_graph_extent(ids, 0) ? tc_graph_em_sized(e, none, 0, tc_graph_extent(ids, 0)) : none;
    }
    tc_graph_value *one = em_equal(e, mask, tc_graph_em_scalar(e, mask->dtype, 1));
    return tc_graph_em_reduce(e, TC_GRAPH_OP_REDUCE_SUM, tc_graph_em_cast(e, one, TC_I32), &(int64_t){1}, 1, false);
}

/* (ids, segments?, words, positions, segment table?, gamma, beta, mask?, position ids?)  =>  y, count of the mask?, sum? */
tc_status tc_graph_infer_embed_layer_norm(tc_graph_infer_ctx *c) {
    for (int k = WORDS; k <= BETA; k++)
        if (k != SEGMENT_TABLE)
            TC_TRY(tc_graph_want_input(c, k));
    tc_graph_emitter e = {c, TC_OK};
    TC_TRY(meet_ids(&e));
    TC_TRY(want_embedding(c));
    tc_graph_value *const *in = c->n->in;
    tc_graph_value *ids = input(c, POSITION_IDS);
    tc_graph_value *position = ids ? tc_graph_em_gather(&e, TC_GRAPH_OP_GATHER, in[POSITIONS], ids, 0) : first_positions(&e);
    tc_graph_value *sum = em_add(&e, tc_graph_em_gather(&e, TC_GRAPH_OP_GATHER, in[WORDS], in[IDS], 0), position);
    if (in[SEGMENTS])
        sum = em_add(&e, sum, tc_graph_em_gather(&e, TC_GRAPH_OP_GATHER, in[SEGMENT_TABLE], in[SEGMENTS], 0));
    if (c->nout > 1 && c->names[1])
        tc_graph_em_output(&e, 1, count_mask(&e, input(c, MASK), in[IDS]));
    tc_graph_em_output(&e, 2, sum);
    tc_graph_node *n = tc_graph_em_node(&e, TC_GRAPH_OP_LAYER_NORM, (tc_graph_value *[]){sum, in[GAMMA], in[BETA]}, 3);
    tc_graph_set_axis(c->g, n, -1);
    tc_graph_set_epsilon(c->g, n, tc_graph_attr_epsilon_or(c->n, SKIP_EPSILON));
    return tc_graph_em_finish(&e, tc_graph_em_place(&e, n));
}
