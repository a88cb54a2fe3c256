/* Writes nodes in quantised form. */
#include <stdlib.h>
#include <string.h>

#include "graph/quantize/quantize_int.h"

static const char microsoft[] = "com.microsoft";
enum { ONNX_FLOAT = 1 };

/* ---- nodes and constants ---- */

/* A node whose result has a new name, after `base`. */
static const char *emit(rewriter *r, const char *op, int nin, const char *const *in, const char *base, const char *suffix) {
    const char *out = tc_onnx_edit_fresh(r->e, base, suffix);
    tc_onnx_edit_add(r->e, op, "", nin, in, out);
    return out;
}

/* Adds t, which it frees. */
static const char *add_constant(rewriter *r, const char *base, const char *suffix, tc_graph_tensor *t) {
    const char *name = tc_onnx_edit_fresh(r->e, base, suffix);
    tc_onnx_edit_add_constant(r->e, name, t);
    tc_graph_tensor_free(t);
    return name;
}

static const char *add_scalar(rewriter *r, const char *base, const char *suffix, tc_dtype dtype, const void *v) {
    tc_graph_tensor t = tc_graph_tensor_view(dtype, &(tc_graph_shape){0}, (void *)v);
    return add_constant(r, base, suffix, &t);
}

/* The name that stands for a value, if it was asked for before. */
static const char *known(const rewriter *r, const char *key) {
    const uintptr_t *v = tc_map_gets(&r->values, key);
    return v ? (const char *)*v : NULL;
}

static const char *know(rewriter *r, const char *key, const char *name) {
    tc_map_puts(&r->values, key, (uintptr_t)name);
    return name;
}

/* ---- static ---- */

static const char *quantized_value(rewriter *r, const char *x) {
    if (known(r, x))
        return known(r, x);
    const quant_params *p = *(const quant_params *const *)tc_map_gets(r->ranges, x);
    float scale = (float)p->scale;
    int8_t zero = (int8_t)p->zero; /* the bits of a u8 as well */
    const char *in[3] = {x, add_scalar(r, x, "_scale", TC_F32, &scale), add_scalar(r, x, "_zero", r->o->activations, &zero)};
    in[0] = emit(r, "QuantizeLinear", 3, in, x, "_quantized");
    return know(r, x, emit(r, "DequantizeLinear", 3, in, x, "_dequantized"));
}

/* A constant's integers under a DequantizeLinear; zeros may be NULL. */
static const char *dequantized(rewriter *r, const char *base, const char *q, const char *scales, const char *zeros, int axis) {
    const char *in[3] = {q, scales, zeros};
    const char *out = tc_onnx_edit_fresh(r->e, base, "_dequantized");
    int node = tc_onnx_edit_add(r->e, "DequantizeLinear", "", zeros ? 3 : 2, in, out);
    if (axis >= 0)
        tc_onnx_edit_set_int(r->e, node, "axis", axis);
    return out;
}

/* Weights as names of s8 values, scales and zero points. */
static tc_status integer_weights(rewriter *r, const char *base, const tc_graph_tensor *w, int axis, const char *out[3],
                                 tc_error *err) {
    static const char *const suffixes[] = {"_quantized", "_scale", "_zero"};
    tc_graph_tensor t[3];
    tc_status st = quant_weights_s8(w, axis, &t[0], &t[1], &t[2], err);
    for (int k = 0; k < 3; k++)
        if (st == TC_OK)
            out[k] = add_constant(r, base, suffixes[k], &t[k]);
        else
            tc_graph_tensor_free(&t[k]);
    return st;
}

/* Weights of the layer s under a DequantizeLinear; *scales of them, for the bias, lives as long as the edit. */
static tc_status quantized_weights(rewriter *r, const step *s, const char *w, const char **out, const tc_graph_tensor **scales,
                                   tc_error *err) {
    tc_arena *a = tc_onnx_edit_arena(r->e);
    const char *key = tc_arena_printf(a, "%s of axis %d", w, s->axis), *scale_key = tc_arena_printf(a, "scales of %s", key);
    const tc_graph_tensor *v;
    if (!known(r, key)) {
        const char *in[3];
        TC_TRY(tc_onnx_edit_constant(r->e, w, &v, err));
        TC_TRY(integer_weights(r, w, v, s->axis, in, err));
        know(r, scale_key, in[1]);
        know(r, key, dequantized(r, w, in[0], in[1], in[2], s->axis));
    }
    *out = known(r, key);
    return tc_onnx_edit_constant(r->e, known(r, scale_key), scales, err);
}

/* The bias b in units of the products, where it is a constant of which that can be said; else as it is. */
static tc_status quantized_bias(rewriter *r, const step *s, const char *x, const char *b, const tc_graph_tensor *scales,
                                const char **out, tc_error *err) {
    const tc_graph_tensor *v;
    tc_graph_tensor q, unit;
    *out = b;
    TC_TRY(tc_onnx_edit_constant(r->e, b, &v, err));
    if (!v || v->dtype != TC_F32 || v->shape.ndim != 1 || !s->scaled_bias ||
        (scales->shape.ndim == 1 && scales->shape.d[0] != v->shape.d[0]))
        return TC_OK;
    const quant_params *p = *(const quant_params *const *)tc_map_gets(r->ranges, x);
    TC_TRY(tc_graph_tensor_alloc(&q, TC_I32, &v->shape, err));
    tc_status st = tc_graph_tensor_alloc(&unit, TC_F32, &scales->shape, err);
    if (st == TC_OK && quant_bias(v, p->scale, scales, &q, &unit)) {
        const char *qn = add_constant(r, b, "_quantized", &q);
        *out = dequantized(r, b, qn, add_constant(r, b, "_scale", &unit), NULL, scales->shape.ndim ? 0 : -1);
        return TC_OK;
    }
    tc_graph_tensor_free(&q);
    if (st == TC_OK)
        tc_graph_tensor_free(&unit);
    return st;
}

/* Puts the new inputs into the node, or into a copy of it. */
static const char *read_these(rewriter *r, const step *s, int nin, const char *const *in) {
    tc_onnx_edit_node n = tc_onnx_edit_node_at(r->e, s->node);
    if (r->beside) {
        const char *out = tc_onnx_edit_fresh(r->e, n.out[0], "_beside");
        tc_onnx_edit_copy(r->e, s->node, nin, in, out);
        return out;
    }
    for (int k = 0; k < nin; k++)
        tc_onnx_edit_set_input(r->e, s->node, k, in[k]);
    return n.out[0];
}

static tc_status rewrite_in_pairs(rewriter *r, const step *s, const char **out, tc_error *err) {
    tc_onnx_edit_node n = tc_onnx_edit_node_at(r->e, s->node);
    const char **in = TC_NEW_N(tc_onnx_edit_arena(r->e), const char *, n.nin);
    const tc_graph_tensor *scales;
    for (int k = 0; k < n.nin; k++)
        in[k] = (k == 0 || s->all) && tc_map_gets(r->ranges, n.in[k]) ? quantized_value(r, n.in[k]) : n.in[k];
    if (s->layer) {
        TC_TRY(quantized_weights(r, s, n.in[1], &in[1], &scales, err));
        if (n.nin > 2 && *n.in[2])
            TC_TRY(quantized_bias(r, s, n.in[0], n.in[2], scales, &in[2], err));
    }
    *out = read_these(r, s, n.nin, in);
    return TC_OK;
}

/* ---- weights alone, 8 bits ---- */

static tc_status rewrite_weights(rewriter *r, const step *s, const char **out, tc_error *err) {
    tc_onnx_edit_node n = tc_onnx_edit_node_at(r->e, s->node);
    const char **in = TC_NEW_N(tc_onnx_edit_arena(r->e), const char *, n.nin);
    const tc_graph_tensor *scales;
    memcpy(in, n.in, sizeof *in * (size_t)n.nin);
    TC_TRY(quantized_weights(r, s, n.in[1], &in[1], &scales, err));
    *out = read_these(r, s, n.nin, in);
    return TC_OK;
}

/* ---- nodes that become others ---- */

/* The name of the last node's result: the one that the layer's had, which goes. */
static const char *result_name(rewriter *r, const step *s, const char *out) {
    if (r->beside)
        return tc_onnx_edit_fresh(r->e, out, "_beside");
    tc_onnx_edit_remove(r->e, s->node);
    return out;
}

static const char *bias_of(const tc_onnx_edit_node *n) {
    return n->nin > 2 && *n->in[2] ? n->in[2] : NULL;
}

/* Whether a layer that is a matmul has its weights as [n, k]. */
static bool is_transposed(const rewriter *r, const step *s) {
    return tc_onnx_edit_int(r->e, s->node, "transB", 0) != 0;
}

/* op(in) and the bias, which may be NULL, as the layer's result. */
static const char *finish(rewriter *r, const step *s, const char *bias, const char *op, const char *domain, int nin,
                          const char *const *in, int *node) {
    const char *out = tc_onnx_edit_node_at(r->e, s->node).out[0];
    const char *last = result_name(r, s, out), *first = bias ? tc_onnx_edit_fresh(r->e, out, "_product") : last;
    *node = tc_onnx_edit_add(r->e, op, domain, nin, in, first);
    if (bias)
        tc_onnx_edit_add(r->e, "Add", "", 2, (const char *const[]){first, bias}, last);
    return last;
}

static tc_status transposed(const tc_graph_tensor *w, tc_graph_tensor *out, tc_error *err) {
    int64_t rows = w->shape.d[0], columns = w->shape.d[1];
    TC_TRY(tc_graph_tensor_alloc(out, TC_F32, &(tc_graph_shape){2, {columns, rows}}, err));
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < columns; j++)
            ((float *)out->data)[j * rows + i] = ((const float *)w->data)[i * columns + j];
    return TC_OK;
}

/* What DynamicQuantizeLinear makes of x: values, scale and zero point. */
static const char *const *dynamic_value(rewriter *r, const char *x) {
    if (known(r, x))
        return (const char *const *)*tc_map_gets(&r->values, x);
    const char **out = TC_NEW_N(tc_onnx_edit_arena(r->e), const char *, 3);
    out[0] = tc_onnx_edit_fresh(r->e, x, "_quantized");
    out[1] = tc_onnx_edit_fresh(r->e, x, "_scale");
    out[2] = tc_onnx_edit_fresh(r->e, x, "_zero");
    int node = tc_onnx_edit_add(r->e, "DynamicQuantizeLinear", "", 1, &x, out[0]);
    tc_onnx_edit_add_result(r->e, node, out[1]);
    tc_onnx_edit_add_result(r->e, node, out[2]);
    tc_map_puts(&r->values, x, (uintptr_t)out);
    return out;
}

/* Weights [k, n] as names of integers, scales and zero points. */
static tc_status dynamic_weights(rewriter *r, const step *s, const char *w, const char *out[3], tc_error *err) {
    const tc_graph_tensor *v;
    tc_graph_tensor turned = {0};
    TC_TRY(tc_onnx_edit_constant(r->e, w, &v, err));
    if (is_transposed(r, s))
        TC_TRY(transposed(v, &turned, err));
    tc_status st = integer_weights(r, w, turned.data ? &turned : v, s->axis < 0 ? -1 : 1, out, err);
    tc_graph_tensor_free(&turned);
    return st;
}

/* The layer's result from integer sums: sums * (x_scale * w_scale) and the bias. */
static const char *finish_sums(rewriter *r, const step *s, const char *sums, const char *x_scale, const char *w_scale,
                               const char *bias) {
    const char *base = tc_onnx_edit_node_at(r->e, s->node).out[0], *real = tc_onnx_edit_fresh(r->e, base, "_real");
    int node;
    tc_onnx_edit_set_int(r->e, tc_onnx_edit_add(r->e, "Cast", "", 1, &sums, real), "to", ONNX_FLOAT);
    const char *unit = emit(r, "Mul", 2, (const char *const[]){x_scale, w_scale}, base, "_unit");
    return finish(r, s, bias, "Mul", "", 2, (const char *const[]){real, unit}, &node);
}

static tc_status rewrite_dynamic_matmul(rewriter *r, const step *s, const char **out, tc_error *err) {
    tc_onnx_edit_node n = tc_onnx_edit_node_at(r->e, s->node);
    const char *w[3];
    TC_TRY(dynamic_weights(r, s, n.in[1], w, err));
    const char *const *x = dynamic_value(r, n.in[0]);
    const char *sums = emit(r, "MatMulInteger", 4, (const char *const[]){x[0], w[0], x[2], w[2]}, n.out[0], "_sums");
    *out = finish_sums(r, s, sums, x[1], w[1], bias_of(&n));
    return TC_OK;
}

/* A constant of one number for each channel as it lies along those of [N, C, spatial...]: [C, 1, ...]. One number stays. */
static tc_status along_channels(rewriter *r, const char *name, int spatial, const char **out, tc_error *err) {
    const tc_graph_tensor *v;
    TC_TRY(tc_onnx_edit_constant(r->e, name, &v, err));
    *out = name;
    if (v->shape.ndim == 0)
        return TC_OK;
    tc_graph_shape s = {.ndim = 1 + spatial, .d = {v->shape.d[0]}};
    for (int d = 1; d <= spatial; d++)
        s.d[d] = 1;
    tc_graph_tensor t = tc_graph_tensor_view(v->dtype, &s, v->data);
    *out = add_constant(r, name, "_by_channel", &t);
    return TC_OK;
}

/* The weights are around zero, so that ConvInteger needs no zero point of theirs. */
static tc_status rewrite_dynamic_conv(rewriter *r, const step *s, const char **out, tc_error *err) {
    tc_onnx_edit_node n = tc_onnx_edit_node_at(r->e, s->node);
    const tc_graph_tensor *v;
    const char *w[3], *scale, *bias = bias_of(&n);
    TC_TRY(tc_onnx_edit_constant(r->e, n.in[1], &v, err));
    TC_TRY(integer_weights(r, n.in[1], v, s->axis, w, err));
    TC_TRY(along_channels(r, w[1], v->shape.ndim - 2, &scale, err));
    if (bias)
        TC_TRY(along_channels(r, bias, v->shape.ndim - 2, &bias, err));
    const char *const *x = dynamic_value(r, n.in[0]), *sums = tc_onnx_edit_fresh(r->e, n.out[0], "_sums");
    int node = tc_onnx_edit_copy(r->e, s->node, 3, (const char *const[]){x[0], w[0], x[2]}, sums);
    tc_onnx_edit_set_op(r->e, node, "ConvInteger");
    *out = finish_sums(r, s, sums, x[1], scale, bias);
    return TC_OK;
}

static tc_status rewrite_4bit(rewriter *r, const step *s, const char **out, tc_error *err) {
    tc_onnx_edit_node n = tc_onnx_edit_node_at(r->e, s->node);
    const tc_graph_tensor *w;
    tc_graph_tensor q, scales;
    bool turned = is_transposed(r, s);
    int node;
    TC_TRY(tc_onnx_edit_constant(r->e, n.in[1], &w, err));
    tc_status st = quant_weights_4bit(w, turned, r->o->block, &q, &scales, err);
    if (st != TC_OK) {
        tc_graph_tensor_free(&q);
        return st;
    }
    const char *in[3] = {n.in[0], add_constant(r, n.in[1], "_quantized", &q), add_constant(r, n.in[1], "_scale", &scales)};
    tc_onnx_edit_use_domain(r->e, microsoft, 1);
    *out = finish(r, s, bias_of(&n), "MatMulNBits", microsoft, 3, in, &node);
    tc_onnx_edit_set_int(r->e, node, "K", w->shape.d[turned]);
    tc_onnx_edit_set_int(r->e, node, "N", w->shape.d[!turned]);
    tc_onnx_edit_set_int(r->e, node, "bits", r->o->bits);
    tc_onnx_edit_set_int(r->e, node, "block_size", r->o->block);
    return TC_OK;
}

/* ---- tables ---- */

/* Rows of bytes are picked, and what was picked is dequantised: the last dimension has the scales. */
static tc_status rewrite_table(rewriter *r, const step *s, const char **out, tc_error *err) {
    tc_onnx_edit_node n = tc_onnx_edit_node_at(r->e, s->node);
    const tc_graph_tensor *v;
    const char *w[3];
    int node;
    TC_TRY(tc_onnx_edit_constant(r->e, n.in[0], &v, err));
    TC_TRY(integer_weights(r, n.in[0], v, s->axis, w, err));
    w[0] = emit(r, "Gather", 2, (const char *const[]){w[0], n.in[1]}, n.out[0], "_rows");
    *out = finish(r, s, NULL, "DequantizeLinear", "", 3, w, &node);
    if (s->axis >= 0)
        tc_onnx_edit_set_int(r->e, node, "axis", -1);
    return TC_OK;
}

/* As MatMulNBits has its weights, in rows: the zero point is 8. */
static tc_status rewrite_table_4bit(rewriter *r, const step *s, const char **out, tc_error *err) {
    tc_onnx_edit_node n = tc_onnx_edit_node_at(r->e, s->node);
    const tc_graph_tensor *w;
    tc_graph_tensor q, scales;
    int node;
    TC_TRY(tc_onnx_edit_constant(r->e, n.in[0], &w, err));
    tc_status st = quant_weights_4bit(w, true, r->o->block, &q, &scales, err);
    if (st != TC_OK) {
        tc_graph_tensor_free(&q);
        return st;
    }
    q.shape = (tc_graph_shape){2, {w->shape.d[0], w->shape.d[1] / 2}};
    scales.shape = (tc_graph_shape){2, {w->shape.d[0], w->shape.d[1] / r->o->block}};
    const char *qn = add_constant(r, n.in[0], "_quantized", &q), *sn = add_constant(r, n.in[0], "_scale", &scales);
    tc_onnx_edit_use_domain(r->e, microsoft, 1);
    *out = finish(r, s, NULL, "GatherBlockQuantized", microsoft, 3, (const char *const[]){qn, n.in[1], sn}, &node);
    tc_onnx_edit_set_int(r->e, node, "bits", r->o->bits);
    tc_onnx_edit_set_int(r->e, node, "block_size", r->o->block);
    tc_onnx_edit_set_int(r->e, node, "gather_axis", 0);
    tc_onnx_edit_set_int(r->e, node, "quantize_axis", 1);
    return TC_OK;
}

/* ---- any ---- */

tc_status quant_rewrite(rewriter *r, const step *s, const char **out, tc_error *err) {
    bool four = r->o->kind == TC_QUANTIZE_WEIGHTS && r->o->bits == 4;
    if (!r->beside)
        tc_onnx_edit_before(r->e, s->node);
    if (s->layer == LAYER_TABLE)
        return four ? rewrite_table_4bit(r, s, out, err) : rewrite_table(r, s, out, err);
    switch (r->o->kind) {
    case TC_QUANTIZE_STATIC:
        return rewrite_in_pairs(r, s, out, err);
    case TC_QUANTIZE_DYNAMIC:
        return s->layer == LAYER_CONV ? rewrite_dynamic_conv(r, s, out, err) : rewrite_dynamic_matmul(r, s, out, err);
    case TC_QUANTIZE_WEIGHTS:
        break;
    }
    return four ? rewrite_4bit(r, s, out, err) : rewrite_weights(r, s, out, err);
}

void quant_rewriter_free(rewriter *r) {
    tc_map_free(&r->values);
}
