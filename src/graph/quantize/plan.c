/* Decides which nodes are quantised: layers, and nodes between layers. */
#include <math.h>
#include <string.h>

#include "graph/quantize/quantize_int.h"
#include "support/guess.h"

static bool is_default_op(const tc_onnx_edit_node *n, const char *op) {
    return n->op && strcmp(n->op, op) == 0 && (!*n->domain || strcmp(n->domain, "ai.onnx") == 0);
}

/* ---- layers ---- */

static layer_kind kind_of(const tc_onnx_edit_node *n) {
    static const char *const names[] = {[LAYER_CONV] = "Conv",
                                        [LAYER_TRANSPOSED] = "ConvTranspose",
                                        [LAYER_MATMUL] = "MatMul",
                                        [LAYER_GEMM] = "Gemm",
                                        [LAYER_TABLE] = "Gather"};
    for (size_t k = LAYER_NONE + 1; k < TC_LEN(names); k++)
        if (is_default_op(n, names[k]) && n->nin >= 2 && n->nout == 1)
            return (layer_kind)k;
    return LAYER_NONE;
}

static bool describe_gemm(const tc_onnx_edit *e, const tc_graph_tensor *w, step *s) {
    bool plain = tc_onnx_edit_float(e, s->node, "alpha", 1) == 1 && tc_onnx_edit_float(e, s->node, "beta", 1) == 1;
    s->axis = tc_onnx_edit_int(e, s->node, "transB", 0) ? 0 : 1;
    s->matmul = plain && tc_onnx_edit_int(e, s->node, "transA", 0) == 0;
    s->scaled_bias = plain;
    return w->shape.ndim == 2;
}

/* Fills in what there is to say of a layer with the weights w; false where these are not what a layer has. */
static bool describe(const tc_onnx_edit *e, const tc_graph_tensor *w, step *s) {
    int ndim = w->shape.ndim;
    switch (s->layer) {
    case LAYER_CONV:
    case LAYER_TRANSPOSED: /* [C, O / groups, ...] */
        s->axis = s->layer == LAYER_TRANSPOSED;
        s->scaled_bias = true;
        return ndim >= 3;
    case LAYER_MATMUL:
        s->axis = ndim == 2 ? 1 : -1;
        s->matmul = ndim == 2;
        return ndim >= 2;
    case LAYER_GEMM:
        return describe_gemm(e, w, s);
    case LAYER_TABLE: /* rows are picked, and a column has a scale */
        s->axis = ndim - 1;
        return ndim >= 2 && tc_onnx_edit_int(e, s->node, "axis", 0) == 0;
    case LAYER_NONE:
        break;
    }
    return false;
}

static const char *refusal(const step *s, const tc_graph_tensor *w, const tc_graph_tensor *bias, bool has_bias,
                           const tc_quantize_options *o) {
    bool four = o->kind == TC_QUANTIZE_WEIGHTS && o->bits == 4, rows = s->layer == LAYER_TABLE && w->shape.ndim == 2;
    if (four && rows && w->shape.d[1] % o->block == 0)
        return NULL;
    if (four && rows)
        return "its rows are not a whole number of blocks";
    if (four && !s->matmul)
        return "only matmuls with a matrix of weights, and tables of rows, have 4-bit weights";
    if (o->kind != TC_QUANTIZE_DYNAMIC || s->matmul || s->layer == LAYER_TABLE)
        return NULL;
    if (s->layer != LAYER_CONV)
        return "only convolutions, matmuls with a matrix of weights and tables have a dynamic form";
    return has_bias && !(bias && bias->dtype == TC_F32 && bias->shape.ndim == 1) ? "its bias is not an f32 constant" : NULL;
}

static bool is_kept(const tc_onnx_edit_node *n, const tc_quantize_options *o, bool *found) {
    bool kept = false;
    for (size_t i = 0; i < o->nkeep; i++) {
        bool is = strcmp(o->keep[i], n->name) == 0;
        for (int k = 0; k < n->nout; k++)
            is |= strcmp(o->keep[i], n->out[k]) == 0;
        kept |= is;
        found[i] |= is;
    }
    return kept;
}

static tc_status add_layer(tc_onnx_edit *e, int i, layer_kind kind, const tc_quantize_options *o, bool *found, plan *p,
                           tc_error *err) {
    tc_onnx_edit_node n = tc_onnx_edit_node_at(e, i);
    const tc_graph_tensor *x, *w, *bias = NULL;
    bool has_bias = n.nin > 2 && *n.in[2];
    step s = {.node = i, .layer = kind};
    TC_TRY(tc_onnx_edit_constant(e, n.in[kind == LAYER_TABLE], &x, err));
    TC_TRY(tc_onnx_edit_constant(e, n.in[kind != LAYER_TABLE], &w, err));
    if (has_bias)
        TC_TRY(tc_onnx_edit_constant(e, n.in[2], &bias, err));
    if (x || !w || w->dtype != TC_F32 || tc_graph_tensor_count(w) == 0 || !describe(e, w, &s))
        return TC_OK;
    s.why = is_kept(&n, o, found) ? "the options keep it in f32" : refusal(&s, w, bias, has_bias, o);
    enum { CHANNELS = 13 }; /* the opset with scales by channel, which the dynamic form of other layers can do without */
    if (o->per_tensor || (kind == LAYER_TABLE && tc_onnx_edit_opset(e) < CHANNELS))
        s.axis = -1;
    tc_push(&p->steps, s);
    return TC_OK;
}

/* ---- between layers ---- */

/* Operators whose results on quantised values are about as good as on reals. `all`: every input is an activation, else the first;
 * `same`: the result holds values of the input. */
static const struct between {
    const char *op;
    bool all, same;
} BETWEEN[] = {{"Add", true, false},
               {"Concat", true, false},
               {"MaxPool", false, true},
               {"AveragePool", false, false},
               {"GlobalAveragePool", false, false},
               {"Reshape", false, true},
               {"Flatten", false, true},
               {"Transpose", false, true},
               {"Squeeze", false, true},
               {"Unsqueeze", false, true}};

static const struct between *find_between(const tc_onnx_edit_node *n) {
    for (size_t i = 0; i < TC_LEN(BETWEEN); i++)
        if (is_default_op(n, BETWEEN[i].op) && n->nout == 1)
            return &BETWEEN[i];
    return NULL;
}

/* What the range of a layer's result absorbs. */
static bool is_absorbed(const tc_onnx_edit_node *n) {
    return (is_default_op(n, "Relu") || is_default_op(n, "Clip") || is_default_op(n, "Identity")) && n->nin > 0;
}

static bool inputs_in(const tc_map *m, const tc_onnx_edit_node *n, bool all) {
    for (int k = 0; k < (all ? n->nin : 1); k++)
        if (!tc_map_gets(m, n->in[k]))
            return false;
    return n->nin > 0;
}

static void put_inputs(tc_map *m, const tc_onnx_edit_node *n, bool all) {
    for (int k = 0; k < (all ? n->nin : 1); k++)
        tc_map_puts(m, n->in[k], 1);
}

/* The place in steps of every node, or -1. */
static int *places(tc_onnx_edit *e, const plan *p) {
    int n = tc_onnx_edit_nodes(e), *at = TC_NEW_N(tc_onnx_edit_arena(e), int, n);
    for (int i = 0; i < n; i++)
        at[i] = -1;
    for (size_t i = 0; i < p->steps.len; i++)
        at[p->steps.data[i].node] = (int)i;
    return at;
}

/* Forwards: values that come from quantised nodes alone. A node between layers that reads others is none of ours. */
static void settle_sources(tc_onnx_edit *e, plan *p, const int *at) {
    tc_map ours = {0};
    for (int i = 0; i < tc_onnx_edit_nodes(e); i++) {
        tc_onnx_edit_node n = tc_onnx_edit_node_at(e, i);
        step *s = at[i] < 0 ? NULL : &p->steps.data[at[i]];
        if (s && !s->layer)
            s->why = inputs_in(&ours, &n, s->all) ? NULL : "it is not between quantised layers";
        if (s ? !s->why : is_absorbed(&n) && inputs_in(&ours, &n, false))
            tc_map_puts(&ours, n.out[0], 1);
    }
    tc_map_free(&ours);
}

/* Backwards: nor is one whose result no quantised node reads. */
static void settle_users(tc_onnx_edit *e, plan *p, const int *at) {
    tc_map wanted = {0};
    for (int i = tc_onnx_edit_nodes(e) - 1; i >= 0; i--) {
        tc_onnx_edit_node n = tc_onnx_edit_node_at(e, i);
        step *s = at[i] < 0 ? NULL : &p->steps.data[at[i]];
        if (s && !s->layer && !s->why && !tc_map_gets(&wanted, n.out[0]))
            s->why = "it is not between quantised layers";
        if (s ? !s->why : is_absorbed(&n) && tc_map_gets(&wanted, n.out[0]))
            put_inputs(&wanted, &n, s && s->all);
    }
    tc_map_free(&wanted);
}

void quant_settle(tc_onnx_edit *e, plan *p) {
    const int *at = places(e, p);
    settle_sources(e, p, at);
    settle_users(e, p, at);
}

/* ---- the plan ---- */

static tc_status add_node(tc_onnx_edit *e, int i, const tc_quantize_options *o, bool *found, plan *p, tc_error *err) {
    tc_onnx_edit_node n = tc_onnx_edit_node_at(e, i);
    layer_kind kind = kind_of(&n);
    if (kind)
        return add_layer(e, i, kind, o, found, p, err);
    const struct between *b = o->kind == TC_QUANTIZE_STATIC ? find_between(&n) : NULL;
    if (b)
        tc_push(&p->steps, ((step){.node = i, .all = b->all, .same_range = b->same}));
    return TC_OK;
}

/* A layer is named by its node, or by an output of its node. */
static tc_status no_layer(tc_onnx_edit *e, const plan *p, const char *name, tc_error *err) {
    char text[TC_GUESS_TEXT];
    tc_guess g = tc_guess_new(name, strlen(name));
    for (size_t i = 0; i < p->steps.len; i++) {
        tc_onnx_edit_node n = tc_onnx_edit_node_at(e, p->steps.data[i].node);
        if (!p->steps.data[i].layer)
            continue;
        if (*n.name)
            tc_guess_add(&g, n.name);
        for (int k = 0; k < n.nout; k++)
            if (*n.out[k] && strcmp(n.out[k], n.name) != 0)
                tc_guess_add(&g, n.out[k]);
    }
    return tc_fail(err, TC_BAD_INPUT,
                   "there is no layer '%s' to keep%s Layers are nodes Conv, ConvTranspose, MatMul, Gemm and Gather with constant "
                   "weights; give the name of the node or of its output",
                   name, g.nclose ? tc_guess_say(&g, "", NULL, text) : ".");
}

tc_status quant_plan(tc_onnx_edit *e, const tc_quantize_options *o, plan *p, tc_error *err) {
    bool *found = TC_NEW_N(tc_onnx_edit_arena(e), bool, o->nkeep);
    for (int i = 0; i < tc_onnx_edit_nodes(e); i++)
        TC_TRY(add_node(e, i, o, found, p, err));
    for (size_t i = 0; i < o->nkeep; i++)
        if (!found[i])
            return no_layer(e, p, o->keep[i], err);
    bool any = false;
    for (size_t i = 0; i < p->steps.len; i++)
        any |= p->steps.data[i].layer && !p->steps.data[i].why;
    if (!any)
        return tc_fail(err, TC_BAD_INPUT,
                       "there is no layer to quantise: no Conv, ConvTranspose, MatMul, Gemm or Gather with constant f32 weights "
                       "that this form "
                       "can express");
    quant_settle(e, p);
    return TC_OK;
}
