/* BERT encoders, decomposed into operators as by PyTorch's exporter. Layer norm is ReduceMean, Sub, Pow, Add, Sqrt, Div. GELU uses
 * Erf. Attention is Reshape, Transpose, MatMul, Div, Add, Softmax. The mask is built from attention_mask. */
#include <math.h>

#include "graph/zoo/zoo_int.h"

typedef struct bert {
    tc_graph_zoo_ctx *z;
    const tc_graph_zoo_bert *c;
} bert;

#define NAME(b, ...) tc_arena_printf((b)->z->names, __VA_ARGS__)

static void node(const bert *b, const char *op, const char *inputs, const char *output) {
    tc_graph_writer_node(b->z->w, op, NAME(b, "%s/%s", output, op), inputs, output);
}

static void transpose(const bert *b, const char *input, const char *perm, const char *output) {
    node(b, "Transpose", input, output);
    tc_graph_writer_ints(b->z->w, "perm", perm);
}

/* output = norm(input) * weight + bias over the last dimension */
static void layer_norm(const bert *b, const char *p, const char *input, const char *output) {
    tc_graph_zoo_normal(b->z, NAME(b, "%s.weight", p), NAME(b, "%d", b->c->hidden), 1, 0.02);
    tc_graph_zoo_normal(b->z, NAME(b, "%s.bias", p), NAME(b, "%d", b->c->hidden), 0, 0.02);
    node(b, "ReduceMean", input, NAME(b, "%s.mean", p));
    tc_graph_writer_ints(b->z->w, "axes", "-1");
    node(b, "Sub", NAME(b, "%s,%s.mean", input, p), NAME(b, "%s.centred", p));
    node(b, "Pow", NAME(b, "%s.centred,two", p), NAME(b, "%s.squared", p));
    node(b, "ReduceMean", NAME(b, "%s.squared", p), NAME(b, "%s.variance", p));
    tc_graph_writer_ints(b->z->w, "axes", "-1");
    node(b, "Add", NAME(b, "%s.variance,epsilon", p), NAME(b, "%s.shifted", p));
    node(b, "Sqrt", NAME(b, "%s.shifted", p), NAME(b, "%s.deviation", p));
    node(b, "Div", NAME(b, "%s.centred,%s.deviation", p, p), NAME(b, "%s.normal", p));
    node(b, "Mul", NAME(b, "%s.normal,%s.weight", p, p), NAME(b, "%s.scaled", p));
    node(b, "Add", NAME(b, "%s.scaled,%s.bias", p, p), output);
}

static void linear(const bert *b, const char *p, const char *input, int in, int out, const char *output) {
    tc_graph_zoo_normal(b->z, NAME(b, "%s.weight", p), NAME(b, "%d,%d", in, out), 0, 0.6 / sqrt(in));
    tc_graph_zoo_normal(b->z, NAME(b, "%s.bias", p), NAME(b, "%d", out), 0, 0.02);
    node(b, "MatMul", NAME(b, "%s,%s.weight", input, p), NAME(b, "%s.product", p));
    node(b, "Add", NAME(b, "%s.bias,%s.product", p, p), output);
}

/* [1,S,H] -> [1,heads,S,H/heads], or with the last two dims swapped for the keys */
static void heads(const bert *b, const char *p, const char *input, const char *perm) {
    linear(b, p, input, b->c->hidden, b->c->hidden, NAME(b, "%s.flat", p));
    node(b, "Reshape", NAME(b, "%s.flat,split_heads", p), NAME(b, "%s.split", p));
    transpose(b, NAME(b, "%s.split", p), perm, NAME(b, "%s.heads", p));
}

static void attention(const bert *b, const char *p, const char *input, const char *output) {
    heads(b, NAME(b, "%s.query", p), input, "0,2,1,3");
    heads(b, NAME(b, "%s.key", p), input, "0,2,3,1");
    heads(b, NAME(b, "%s.value", p), input, "0,2,1,3");
    node(b, "MatMul", NAME(b, "%s.query.heads,%s.key.heads", p, p), NAME(b, "%s.scores", p));
    node(b, "Div", NAME(b, "%s.scores,head_scale", p), NAME(b, "%s.scaled", p));
    node(b, "Add", NAME(b, "%s.scaled,mask", p), NAME(b, "%s.masked", p));
    node(b, "Softmax", NAME(b, "%s.masked", p), NAME(b, "%s.probabilities", p));
    tc_graph_writer_int(b->z->w, "axis", -1);
    node(b, "MatMul", NAME(b, "%s.probabilities,%s.value.heads", p, p), NAME(b, "%s.context", p));
    transpose(b, NAME(b, "%s.context", p), "0,2,1,3", NAME(b, "%s.rows", p));
    node(b, "Reshape", NAME(b, "%s.rows,merge_heads", p), NAME(b, "%s.merged", p));
    linear(b, NAME(b, "%s.output", p), NAME(b, "%s.merged", p), b->c->hidden, b->c->hidden, output);
}

/* x / sqrt 2 -> Erf -> + 1 -> * x -> * 0.5 */
static void gelu(const bert *b, const char *p, const char *input, const char *output) {
    node(b, "Div", NAME(b, "%s,sqrt_two", input), NAME(b, "%s.over", p));
    node(b, "Erf", NAME(b, "%s.over", p), NAME(b, "%s.erf", p));
    node(b, "Add", NAME(b, "%s.erf,one", p), NAME(b, "%s.plus", p));
    node(b, "Mul", NAME(b, "%s,%s.plus", input, p), NAME(b, "%s.times", p));
    node(b, "Mul", NAME(b, "%s.times,half", p), output);
}

static void layer(const bert *b, int i, const char *input, const char *output) {
    const char *p = NAME(b, "layer.%d", i);
    attention(b, NAME(b, "%s.attention", p), input, NAME(b, "%s.attended", p));
    node(b, "Add", NAME(b, "%s.attended,%s", p, input), NAME(b, "%s.residual1", p));
    layer_norm(b, NAME(b, "%s.norm1", p), NAME(b, "%s.residual1", p), NAME(b, "%s.middle", p));
    linear(b, NAME(b, "%s.intermediate", p), NAME(b, "%s.middle", p), b->c->hidden, b->c->intermediate, NAME(b, "%s.wide", p));
    gelu(b, NAME(b, "%s.gelu", p), NAME(b, "%s.wide", p), NAME(b, "%s.active", p));
    linear(b, NAME(b, "%s.output", p), NAME(b, "%s.active", p), b->c->intermediate, b->c->hidden, NAME(b, "%s.narrow", p));
    node(b, "Add", NAME(b, "%s.narrow,%s.middle", p, p), NAME(b, "%s.residual2", p));
    layer_norm(b, NAME(b, "%s.norm2", p), NAME(b, "%s.residual2", p), output);
}

/* mask = (1 - attention_mask) * -10000, as [1,1,1,S] */
static void mask(const bert *b) {
    node(b, "Unsqueeze", "attention_mask,axes_1_2", "mask.wide");
    node(b, "Cast", "mask.wide", "mask.float");
    tc_graph_writer_int(b->z->w, "to", 1);
    node(b, "Sub", "one,mask.float", "mask.inverted");
    node(b, "Mul", "mask.inverted,minus_large", "mask");
}

static void embeddings(const bert *b) {
    tc_graph_zoo_ctx *z = b->z;
    tc_graph_zoo_normal(z, "embeddings.word", NAME(b, "%d,%d", b->c->vocabulary, b->c->hidden), 0, 0.02);
    tc_graph_zoo_normal(z, "embeddings.type", NAME(b, "2,%d", b->c->hidden), 0, 0.02);
    tc_graph_zoo_normal(z, "embeddings.position", NAME(b, "%d,%d", b->c->positions, b->c->hidden), 0, 0.02);
    node(b, "Gather", "embeddings.word,input_ids", "embedded.word");
    node(b, "Gather", "embeddings.type,token_type_ids", "embedded.type");
    node(b, "Add", "embedded.word,embedded.type", "embedded.both");
    node(b, "Gather", "embeddings.position,position_ids", "embedded.position");
    node(b, "Add", "embedded.both,embedded.position", "embedded");
    layer_norm(b, "embeddings.norm", "embedded", "hidden.0");
}

static void constants(const bert *b) {
    tc_graph_zoo_ctx *z = b->z;
    int64_t width = b->c->hidden / b->c->heads;
    tc_graph_zoo_scalar(z, "one", 1);
    tc_graph_zoo_scalar(z, "two", 2);
    tc_graph_zoo_scalar(z, "half", 0.5F);
    tc_graph_zoo_scalar(z, "sqrt_two", 1.41421356F);
    tc_graph_zoo_scalar(z, "epsilon", 1e-12F);
    tc_graph_zoo_scalar(z, "minus_large", -10000);
    tc_graph_zoo_scalar(z, "head_scale", (float)sqrt((double)width));
    tc_graph_zoo_ints(z, "axes_1_2", (const int64_t[]){1, 2}, 2);
    tc_graph_zoo_ints(z, "split_heads", (const int64_t[]){1, b->c->sequence, b->c->heads, width}, 4);
    tc_graph_zoo_ints(z, "merge_heads", (const int64_t[]){1, b->c->sequence, b->c->hidden}, 3);
    tc_graph_zoo_ints(z, "first", (const int64_t[]){0}, -1);
    int64_t *positions = TC_NEW_N(z->names, int64_t, b->c->sequence);
    for (int i = 0; i < b->c->sequence; i++)
        positions[i] = i;
    tc_graph_zoo_ints(z, "position_ids", positions, b->c->sequence);
}

void tc_graph_zoo_write_bert(tc_graph_zoo_ctx *z, const tc_graph_zoo_bert *config) {
    bert b = {z, config};
    const char *tokens = NAME(&b, "1,%d", config->sequence);
    tc_graph_writer_input(z->w, "input_ids", TC_I64, tokens);
    tc_graph_writer_input(z->w, "token_type_ids", TC_I64, tokens);
    tc_graph_writer_input(z->w, "attention_mask", TC_I64, tokens);
    tc_graph_writer_output(z->w, "last_hidden_state", TC_F32, NAME(&b, "1,%d,%d", config->sequence, config->hidden));
    tc_graph_writer_output(z->w, "pooler_output", TC_F32, NAME(&b, "1,%d", config->hidden));
    constants(&b);
    mask(&b);
    embeddings(&b);
    for (int i = 0; i < config->layers; i++)
        layer(&b, i, NAME(&b, "hidden.%d", i), i + 1 < config->layers ? NAME(&b, "hidden.%d", i + 1) : "last_hidden_state");
    tc_graph_zoo_normal(z, "pooler.weight", NAME(&b, "%d,%d", config->hidden, config->hidden), 0, 0.6 / sqrt(config->hidden));
    tc_graph_zoo_normal(z, "pooler.bias", NAME(&b, "%d", config->hidden), 0, 0.02);
    node(&b, "Gather", "last_hidden_state,first", "pooler.first");
    tc_graph_writer_int(z->w, "axis", 1);
    node(&b, "Gemm", "pooler.first,pooler.weight,pooler.bias", "pooler.dense");
    tc_graph_writer_int(z->w, "transB", 1);
    node(&b, "Tanh", "pooler.dense", "pooler_output");
}
