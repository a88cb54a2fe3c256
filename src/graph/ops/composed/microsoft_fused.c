/* Inference of what ONNX Runtime's optimiser writes for several operators at once: each becomes these again, and fusion makes of
 * them what suits this machine. */
#include <inttypes.h>
#include <string.h>

#include "graph/ir/sizes.h"
#include "graph/ops/functions.h"

/* Epsilon where a model does not say; ONNX has 1e-5. */
#define SKIP_EPSILON 1e-12F

static tc_graph_value *input(const tc_graph_infer_ctx *c, int k) {
    return k < c->n->nin ? c->n->in[k] : NULL;
}

/* A list with one element for each of the last dimension of x. */
static tc_status want_row(tc_graph_infer_ctx *c, int k, const tc_graph_value *x) {
    const tc_graph_value *v = tc_graph_in(c, k);
    int64_t n = x->shape.ndim ? x->shape.d[x->shape.ndim - 1] : 1;
    if (!v || (v->shape.ndim == 1 && v->shape.d[0] == n))
        return tc_graph_want_same_type(c, 0, k);
    return tc_graph_node_fail(c, "input %d ('%s') must have %" PRId64 " elements in one dimension, but is %s", k, v->name, n,
                              tc_graph_type_str(c->g->arena, v->dtype, &v->shape));
}

/* ---- normalisations of sums ---- */

/* Gives the outputs that were asked for. */
static tc_graph_value *layer_norm(tc_graph_emitter *e, tc_graph_value *x, tc_graph_value *gamma, tc_graph_value *beta,
                                  bool statistics) {
    tc_graph_node *n = tc_graph_em_node(e, TC_GRAPH_OP_LAYER_NORM, (tc_graph_value *[]){x, gamma, beta}, 3);
    tc_graph_value *v[3];
    tc_graph_set_axis(e->c->g, n, -1);
    tc_graph_set_epsilon(e->c->g, n, tc_graph_attr_epsilon_or(e->c->n, SKIP_EPSILON));
    tc_graph_em_place_all(e, n, v, statistics ? 3 : 1);
    for (int k = 1; k < 3 && statistics; k++)
        tc_graph_em_output(e, k, v[k]);
    return v[0];
}

/* x + skip + bias, in the order in which ONNX Runtime adds */
static tc_status add_skip(tc_graph_emitter *e, int bias, tc_graph_value **sum) {
    tc_graph_infer_ctx *c = e->c;
    tc_graph_value *x = c->n->in[0], *skip = c->n->in[1];
    tc_graph_shape s;
    TC_TRY(tc_graph_want_float(c, 0));
    TC_TRY(tc_graph_want_same_type(c, 0, 1));
    if (x->shape.ndim < 2 || x->shape.ndim > 3)
        return tc_graph_node_fail(c, "the input must have 2 or 3 dimensions, but has %d", x->shape.ndim);
    if (!tc_graph_shape_broadcast(&x->shape, &skip->shape, &s) || !tc_graph_shape_equal(&s, &x->shape))
        return tc_graph_node_fail(c, "input 1 ('%s') does not broadcast to the input's shape", skip->name);
    for (int k = 2; k < c->n->nin; k++)
        TC_TRY(want_row(c, k, x));
    *sum = em_add(e, x, skip);
    if (input(c, bias))
        *sum = em_add(e, *sum, input(c, bias));
    tc_graph_em_output(e, 3, *sum);
    return e->status;
}

/* (x, skip, gamma, beta?, bias?)  =>  y, mean?, inverse deviation?, sum? */
tc_status tc_graph_infer_skip_layer_norm(tc_graph_infer_ctx *c) {
    tc_graph_emitter e = {c, TC_OK};
    tc_graph_value *sum = NULL;
    TC_TRY(add_skip(&e, 4, &sum));
    bool statistics = (c->nout > 1 && c->names[1]) || (c->nout > 2 && c->names[2]);
    return tc_graph_em_finish(&e, layer_norm(&e, sum, c->n->in[2], input(c, 3), statistics));
}

/* (x, skip, gamma, bias?)  =>  y, mean?, inverse root?, sum?; there is no mean */
tc_status tc_graph_infer_skip_rms_norm(tc_graph_infer_ctx *c) {
    tc_graph_emitter e = {c, TC_OK};
    tc_graph_value *sum = NULL, *inverse;
    if (c->nout > 1 && c->names[1])
        return tc_graph_node_refuse(c, TC_ERROR_UNSUPPORTED, "it computes no mean, which output 1 asks for");
    TC_TRY(add_skip(&e, 3, &sum));
    tc_graph_value *y =
        tc_graph_em_rms_norm(&e, sum, c->n->in[2], sum->shape.ndim - 1, tc_graph_attr_epsilon_or(c->n, SKIP_EPSILON), &inverse);
    tc_graph_em_output(&e, 2, inverse);
    return tc_graph_em_finish(&e, y);
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
    return tc_graph_em_finish(&e, layer_norm(&e, sum, in[GAMMA], in[BETA], false));
}

/* ---- activations ---- */

/* Gelu(x), BiasGelu(x, bias): with erf; FastGelu(x, bias?): with tanh */
tc_status tc_graph_infer_bias_gelu(tc_graph_infer_ctx *c) {
    tc_graph_emitter e = {c, TC_OK};
    tc_graph_value *x = c->n->in[0];
    TC_TRY(tc_graph_want_float(c, 0));
    TC_TRY(want_row(c, 1, x));
    if (input(c, 1))
        x = em_add(&e, x, input(c, 1));
    tc_graph_node *n = tc_graph_em_node(&e, TC_GRAPH_OP_GELU, &x, 1);
    tc_graph_set_approximate(c->g, n, c->n->op == TC_GRAPH_OP_MS_FAST_GELU ? "tanh" : "none");
    return tc_graph_em_finish(&e, tc_graph_em_place(&e, n));
}

/* x * sigmoid(alpha * x) */
tc_status tc_graph_infer_swish(tc_graph_infer_ctx *c) {
    tc_graph_emitter e = {c, TC_OK};
    tc_dtype t = c->n->in[0]->dtype; /* f16 would lose digits of a sigmoid near 0 */
    tc_graph_value *x = tc_graph_em_cast(&e, c->n->in[0], tc_graph_wide(t)), *scaled = x;
    double alpha = tc_graph_attr_alpha_or(c->n, c->n->op == TC_GRAPH_OP_MS_QUICK_GELU ? 1.702F : 1);
    TC_TRY(tc_graph_want_float(c, 0));
    if (alpha != 1)
        scaled = em_by(&e, TC_GRAPH_OP_MUL, x, alpha);
    return tc_graph_em_finish(&e, tc_graph_em_cast(&e, em_mul(&e, x, em_unary(&e, TC_GRAPH_OP_SIGMOID, scaled)), t));
}

/* ---- contractions ---- */

/* Operand k of FusedMatMul as MatMul reads it. Of the batch: its first dimension goes before the last one. */
static tc_graph_value *factor(tc_graph_emitter *e, int k, bool transposed, bool of_batch) {
    tc_graph_value *v = e->c->n->in[k];
    int64_t perm[TC_GRAPH_MAX_DIMS];
    int n = v->shape.ndim;
    if (n < 2)
        return v;
    for (int d = 0; d < n; d++)
        perm[d] = of_batch && d < n - 1 ? (d + 1) % (n - 1) : d;
    if (transposed) {
        int64_t last = perm[n - 1];
        perm[n - 1] = perm[n - 2];
        perm[n - 2] = last;
    }
    return tc_graph_em_transpose(e, v, perm);
}

tc_status tc_graph_infer_fused_matmul(tc_graph_infer_ctx *c) {
    tc_graph_emitter e = {c, TC_OK};
    const tc_graph_node *n = c->n;
    double alpha = tc_graph_attr_alpha(n);
    TC_TRY(tc_graph_want_float(c, 0));
    tc_graph_value *a = factor(&e, 0, tc_graph_attr_trans_a(n), tc_graph_attr_trans_batch_a(n));
    tc_graph_value *b = factor(&e, 1, tc_graph_attr_trans_b(n), tc_graph_attr_trans_batch_b(n));
    tc_graph_value *y = tc_graph_em_op(&e, TC_GRAPH_OP_MATMUL, a, b);
    return tc_graph_em_finish(&e, alpha == 1 ? y : em_by(&e, TC_GRAPH_OP_MUL, y, alpha));
}

/* The functions that may follow, and how many numbers each takes. */
static const struct {
    const char *name;
    tc_graph_op op;
    size_t numbers;
} activations[] = {{"Relu", TC_GRAPH_OP_RELU, 0},
                   {"Sigmoid", TC_GRAPH_OP_SIGMOID, 0},
                   {"Tanh", TC_GRAPH_OP_TANH, 0},
                   {"LeakyRelu", TC_GRAPH_OP_LEAKY_RELU, 1},
                   {"HardSigmoid", TC_GRAPH_OP_HARD_SIGMOID, 2},
                   {"Clip", TC_GRAPH_OP_CLIP, 2}};

static tc_status activated(tc_graph_emitter *e, tc_graph_value *y, tc_graph_value **out) {
    tc_graph_infer_ctx *c = e->c;
    const char *name = tc_graph_attr_activation(c->n);
    const tc_graph_attr *params = tc_graph_attr_find(c->n, TC_ATTR_activation_params);
    size_t i = 0, given = params ? params->len : 0;
    *out = y;
    if (!*name)
        return TC_OK;
    while (i < TC_LEN(activations) && strcmp(activations[i].name, name) != 0)
        i++;
    if (i == TC_LEN(activations))
        return tc_graph_node_refuse(c, TC_ERROR_UNSUPPORTED,
                                    "attribute activation is '%s'; Relu, Sigmoid, Tanh, LeakyRelu, HardSigmoid and Clip are "
                                    "supported",
                                    name);
    if (given != activations[i].numbers)
        return tc_graph_node_fail(c, "attribute activation_params has %zu numbers, but %s takes %zu", given, name,
                                  activations[i].numbers);
    if (activations[i].op == TC_GRAPH_OP_CLIP) {
        *out = em_by(e, TC_GRAPH_OP_MIN, em_by(e, TC_GRAPH_OP_MAX, y, (double)params->floats[0]), (double)params->floats[1]);
        return e->status;
    }
    tc_graph_node *n = tc_graph_em_node(e, activations[i].op, &y, 1);
    if (given > 0)
        tc_graph_set_alpha(c->g, n, (double)params->floats[0]);
    if (given > 1)
        tc_graph_set_beta(c->g, n, (double)params->floats[1]);
    *out = tc_graph_em_place(e, n);
    return e->status;
}

/* (x, weights, bias?, addend?)  =>  activation(Conv(x, weights, bias) + addend) */
tc_status tc_graph_infer_fused_conv(tc_graph_infer_ctx *c) {
    tc_graph_emitter e = {c, TC_OK};
    tc_graph_value *in[] = {c->n->in[0], c->n->in[1], input(c, 2)}, *addend = input(c, 3);
    tc_graph_node *n = tc_graph_em_node(&e, TC_GRAPH_OP_CONV, in, 3);
    tc_graph_em_copy_window(&e, n);
    tc_graph_value *y = tc_graph_em_place(&e, n);
    TC_TRY(e.status);
    if (addend && !tc_graph_shape_equal(&addend->shape, &y->shape))
        return tc_graph_node_fail(c, "input 3 ('%s') must have the shape of the result", addend->name);
    if (addend)
        y = em_add(&e, y, addend);
    TC_TRY(activated(&e, y, &y));
    return tc_graph_em_finish(&e, y);
}
