/* Inference of NegativeLogLikelihoodLoss and SoftmaxCrossEntropyLoss.
 *
 *     loss[n, d..] = -w[target[n, d..]] * logp[n, target[n, d..], d..]       where target is ignored: 0, also as a weight
 *     mean: the sum of losses / the sum of their weights */
#include <inttypes.h>
#include <string.h>

#include "graph/ops/functions.h"

typedef struct loss {
    tc_graph_emitter e;
    tc_graph_value *target, *weight; /* [N, 1, d..]; weight of each target, NULL: all are 1 */
    const char *how;
} loss;

static tc_status read_loss(tc_graph_infer_ctx *c, loss *s) {
    const tc_graph_value *x = c->n->in[0], *target = c->n->in[1], *w = tc_graph_in(c, 2);
    s->how = tc_graph_attr_reduction_or(c->n, "mean");
    if (strcmp(s->how, "mean") != 0 && strcmp(s->how, "sum") != 0 && strcmp(s->how, "none") != 0)
        return tc_graph_node_refuse(c, TC_ERROR_UNSUPPORTED, "attribute reduction is '%s'; none, sum and mean are supported",
                                    s->how);
    TC_TRY(tc_graph_want_float(c, 0));
    TC_TRY(tc_graph_want_same_type(c, 0, 2));
    bool fits = x->shape.ndim >= 2 && target->shape.ndim == x->shape.ndim - 1;
    for (int d = 0; fits && d < target->shape.ndim; d++)
        fits = target->shape.d[d] == x->shape.d[d ? d + 1 : 0];
    if (!fits || (target->dtype != TC_I32 && target->dtype != TC_I64) ||
        (w && (w->shape.ndim != 1 || w->shape.d[0] != x->shape.d[1])))
        return tc_graph_node_fail(c, "it expects scores [N, C, ...], targets [N, ...] of i32 or i64, and weights [C]");
    return TC_OK;
}

/* Sets target and weight; what is ignored points at class 0, with a weight of 0. */
static void read_targets(loss *s) {
    tc_graph_emitter *e = &s->e;
    tc_graph_infer_ctx *c = e->c;
    tc_graph_value *x = c->n->in[0], *w = c->n->nin > 2 ? c->n->in[2] : NULL;
    tc_graph_shape shape = x->shape;
    shape.d[1] = 1;
    s->target = tc_graph_em_reshape(e, tc_graph_em_cast(e, c->n->in[1], TC_I64), &shape);
    const tc_graph_attr *ignore = tc_graph_attr_find(c->n, TC_ATTR_ignore_index);
    tc_graph_value *ignored = NULL;
    if (ignore) {
        ignored = em_equal(e, s->target, tc_graph_em_scalar(e, TC_I64, (double)ignore->i));
        s->target = tc_graph_em_where(e, ignored, tc_graph_em_scalar(e, TC_I64, 0), s->target);
    }
    tc_graph_value *weight = w ? tc_graph_em_gather(e, TC_GRAPH_OP_GATHER, w, s->target, 0) : NULL;
    if (ignored) {
        tc_graph_value *zero = tc_graph_em_scalar(e, x->dtype, 0), *one = tc_graph_em_scalar(e, x->dtype, 1);
        weight = tc_graph_em_where(e, ignored, zero, weight ? weight : one);
    }
    s->weight = weight;
}

static tc_graph_value *sum_of(loss *s, tc_graph_value *v, tc_graph_op op) {
    int64_t all[TC_GRAPH_MAX_DIMS];
    for (int d = 0; d < v->shape.ndim; d++)
        all[d] = d;
    return tc_graph_em_reduce(&s->e, op, v, all, (size_t)v->shape.ndim, false);
}

static tc_status finish_loss(loss *s, tc_graph_value *logp) {
    tc_graph_emitter *e = &s->e;
    read_targets(s);
    tc_graph_value *v = em_unary(e, TC_GRAPH_OP_NEG, tc_graph_em_gather(e, TC_GRAPH_OP_GATHER_ELEMENTS, logp, s->target, 1));
    if (s->weight)
        v = em_mul(e, v, s->weight);
    if (strcmp(s->how, "none") == 0)
        return tc_graph_em_finish(e, tc_graph_em_reshape(e, v, &e->c->n->in[1]->shape));
    if (strcmp(s->how, "mean") == 0 && !s->weight)
        return tc_graph_em_finish(e, sum_of(s, v, TC_GRAPH_OP_REDUCE_MEAN));
    v = sum_of(s, v, TC_GRAPH_OP_REDUCE_SUM);
    if (strcmp(s->how, "mean") == 0)
        v = em_div(e, v, sum_of(s, s->weight, TC_GRAPH_OP_REDUCE_SUM));
    return tc_graph_em_finish(e, v);
}

tc_status tc_graph_infer_nll_loss(tc_graph_infer_ctx *c) {
    loss s = {.e = {c, TC_OK}};
    TC_TRY(read_loss(c, &s));
    return finish_loss(&s, c->n->in[0]);
}

/* The second output is the logarithm of the probabilities. */
tc_status tc_graph_infer_softmax_loss(tc_graph_infer_ctx *c) {
    loss s = {.e = {c, TC_OK}};
    TC_TRY(read_loss(c, &s));
    tc_graph_node *n = tc_graph_em_node(&s.e, TC_GRAPH_OP_LOG_SOFTMAX, c->n->in, 1);
    tc_graph_set_axis(c->g, n, 1);
    tc_graph_value *logp = tc_graph_em_place(&s.e, n);
    tc_graph_em_output(&s.e, 1, logp);
    return finish_loss(&s, logp);
}
