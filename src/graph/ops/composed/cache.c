/* Inference of TensorScatter: new rows in a cache that is as large before as after.
 *
 * Element `at` along the axis is row at - write index of the update where the update has such a row, else what it was. */
#include <inttypes.h>
#include <string.h>

#include "graph/ops/functions.h"

typedef struct scatter {
    tc_graph_value *past, *update, *start; /* start: i64 [batch], or NULL: 0 */
    int axis;
    bool circular;
} scatter;

static tc_status read_scatter(tc_graph_infer_ctx *c, scatter *s) {
    const char *mode = tc_graph_attr_mode_or(c->n, "linear");
    *s = (scatter){.past = c->n->in[0], .update = c->n->in[1], .start = c->n->nin > 2 ? c->n->in[2] : NULL};
    const tc_graph_shape *p = &s->past->shape, *u = &s->update->shape;
    s->circular = strcmp(mode, "circular") == 0;
    if (!s->circular && strcmp(mode, "linear") != 0)
        return tc_graph_node_fail(c, "attribute mode is '%s'; it must be \"linear\" or \"circular\"", mode);
    TC_TRY(tc_graph_want_same_type(c, 0, 1));
    TC_TRY(tc_graph_want_axis(c, tc_graph_attr_axis_or(c->n, -2), p->ndim, &s->axis));
    if (s->axis == 0)
        return tc_graph_node_fail(c, "attribute axis is 0, which is the batch");
    bool fits = u->ndim == p->ndim;
    for (int d = 0; fits && d < p->ndim; d++)
        fits = d == s->axis ? u->d[d] <= p->d[d] && u->d[d] > 0 : u->d[d] == p->d[d];
    if (!fits)
        return tc_graph_node_fail(c, "the update %s does not fit the cache %s but along axis %d",
                                  tc_graph_type_str(c->g->arena, s->update->dtype, u),
                                  tc_graph_type_str(c->g->arena, s->past->dtype, p), s->axis);
    if (s->start && (s->start->dtype != TC_I64 || s->start->shape.ndim != 1 || s->start->shape.d[0] != p->d[0]))
        return tc_graph_node_fail(c, "the write indices '%s' must be %" PRId64 " numbers of type i64", s->start->name, p->d[0]);
    return TC_OK;
}

/* The row of the update for each row of the cache, by sequence: [batch or 1, rows]. Negative where it has none before. */
static tc_graph_value *rows_of_update(tc_graph_emitter *e, const scatter *s) {
    int64_t rows = s->past->shape.d[s->axis];
    tc_graph_value *at = tc_graph_em_iota(e, rows, 1, 2);
    if (!s->start)
        return at;
    at = em_sub(e, at, tc_graph_em_along(e, s->start, 0, 2));
    return s->circular ? em_by(e, TC_GRAPH_OP_MOD, at, (double)rows) : at;
}

/* v[b, .., at[b, i], ..] along the axis */
static tc_graph_value *picked(tc_graph_emitter *e, const scatter *s, tc_graph_value *at) {
    int64_t rows = at->shape.d[1], last = s->update->shape.d[s->axis] - 1, perm[TC_GRAPH_MAX_DIMS], back[TC_GRAPH_MAX_DIMS];
    tc_graph_value *v = s->update;
    if (last == 0)
        return v;
    at = em_by(e, TC_GRAPH_OP_MIN, em_by(e, TC_GRAPH_OP_MAX, at, 0), (double)last);
    if (at->shape.d[0] == 1)
        return tc_graph_em_gather(e, TC_GRAPH_OP_GATHER, v, tc_graph_em_reshape(e, at, &(tc_graph_shape){1, {rows}}), s->axis);
    for (int d = 0; d < v->shape.ndim; d++)
        perm[d] = d == 0 ? 0 : d == 1 ? s->axis : d - (d <= s->axis);
    for (int d = 0; d < v->shape.ndim; d++)
        back[perm[d]] = d;
    tc_graph_value *in[] = {tc_graph_em_transpose(e, v, perm),
                            tc_graph_em_reshape(e, at, &(tc_graph_shape){3, {at->shape.d[0], rows, 1}})};
    tc_graph_node *n = tc_graph_em_node(e, TC_GRAPH_OP_GATHER_ND, in, 2);
    tc_graph_set_batch_dims(e->c->g, n, 1);
    return tc_graph_em_transpose(e, tc_graph_em_place(e, n), back);
}

/* (past, update, write indices?) */
tc_status tc_graph_infer_tensor_scatter(tc_graph_infer_ctx *c) {
    tc_graph_emitter e = {c, TC_OK};
    scatter s;
    TC_TRY(read_scatter(c, &s));
    tc_graph_value *at = rows_of_update(&e, &s), *rows = picked(&e, &s, at);
    tc_graph_value *inside = em_less(&e, at, tc_graph_em_scalar(&e, TC_I64, (double)s.update->shape.d[s.axis]));
    inside = tc_graph_em_op(&e, TC_GRAPH_OP_AND, inside,
                            tc_graph_em_op(&e, TC_GRAPH_OP_GREATER_OR_EQUAL, at, tc_graph_em_scalar(&e, TC_I64, 0)));
    tc_graph_shape shape = {.ndim = s.past->shape.ndim};
    for (int d = 0; d < shape.ndim; d++)
        shape.d[d] = d == 0 ? inside->shape.d[0] : d == s.axis ? inside->shape.d[1] : 1;
    return tc_graph_em_finish(&e, tc_graph_em_where(&e, tc_graph_em_reshape(&e, inside, &shape), rows, s.past));
}
