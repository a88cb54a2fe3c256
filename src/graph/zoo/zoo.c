/* Ready-made networks with seeded random weights, so that a user can tune without a download. The same name gives the same file on
 * every machine. */
#include "graph/zoo/zoo_int.h"

#include <stdlib.h>
#include <string.h>

#include "graph/ir/graph.h"
#include "graph/zoo/zoo.h"
#include "support/vec.h"

static tc_graph_shape parse_dims(const char *dims) {
    tc_graph_shape s = {0};
    for (const char *p = dims; *p;) {
        char *end;
        s.d[s.ndim++] = strtoll(p, &end, 10);
        p = end + (*end == ',');
    }
    return s;
}

/* The sum of twelve uniform numbers is as good as normal here, and much cheaper than logarithms for 110 million weights: each
 * 64-bit draw gives four 16-bit ones. */
static float draw(tc_rng *rng, double mean, double deviation) {
    double sum = 0;
    for (int i = 0; i < 3; i++) {
        uint64_t bits = tc_rng_next(rng);
        sum += (double)((bits & 0xffff) + (bits >> 16 & 0xffff) + (bits >> 32 & 0xffff) + (bits >> 48));
    }
    return (float)(mean + deviation * ((sum + 6) / 65536.0 - 6));
}

void tc_graph_zoo_normal(tc_graph_zoo_ctx *z, const char *name, const char *dims, double mean, double deviation) {
    tc_graph_shape s = parse_dims(dims);
    tc_graph_tensor t;
    if (tc_graph_tensor_alloc(&t, TC_F32, &s, NULL) != TC_OK)
        return tc_alloc_refuse(); /* nothing is saved then */
    tc_rng rng = tc_rng_fork(&z->rng, z->nweights++);
    for (int64_t i = 0, n = tc_graph_tensor_count(&t); i < n; i++)
        ((float *)t.data)[i] = draw(&rng, mean, deviation);
    tc_graph_writer_weight(z->w, name, t);
}

void tc_graph_zoo_ints(tc_graph_zoo_ctx *z, const char *name, const int64_t *v, int n) {
    tc_graph_shape s = {n < 0 ? 0 : 1, {n}};
    tc_graph_tensor t;
    if (tc_graph_tensor_alloc(&t, TC_I64, &s, NULL) != TC_OK)
        return tc_alloc_refuse(); /* nothing is saved then */
    memcpy(t.data, v, tc_graph_tensor_bytes(&t));
    tc_graph_writer_weight(z->w, name, t);
}

void tc_graph_zoo_scalar(tc_graph_zoo_ctx *z, const char *name, float v) {
    tc_graph_tensor t;
    if (tc_graph_tensor_alloc(&t, TC_F32, &(tc_graph_shape){0}, NULL) != TC_OK)
        return tc_alloc_refuse(); /* nothing is saved then */
    *(float *)t.data = v;
    tc_graph_writer_weight(z->w, name, t);
}

/* A classifier of 28x28 images: Flatten, two hidden layers (Relu, Sigmoid), Softmax. */
void tc_graph_zoo_write_mlp(tc_graph_zoo_ctx *z) {
    tc_graph_writer *w = z->w;
    tc_graph_writer_input(w, "input", TC_F32, "1,1,28,28");
    tc_graph_writer_output(w, "output", TC_F32, "1,10");
    tc_graph_zoo_normal(z, "fc1.weight", "512,784", 0, 0.05);
    tc_graph_zoo_normal(z, "fc1.bias", "512", 0, 0.02);
    tc_graph_zoo_normal(z, "fc2.weight", "256,512", 0, 0.06);
    tc_graph_zoo_normal(z, "fc2.bias", "256", 0, 0.02);
    tc_graph_zoo_normal(z, "fc3.weight", "10,256", 0, 0.08);
    tc_graph_zoo_normal(z, "fc3.bias", "10", 0, 0.02);
    tc_graph_writer_node(w, "Flatten", "flatten", "input", "x0");
    tc_graph_writer_int(w, "axis", 1);
    tc_graph_writer_node(w, "Gemm", "fc1", "x0,fc1.weight,fc1.bias", "x1");
    tc_graph_writer_int(w, "transB", 1);
    tc_graph_writer_node(w, "Relu", "act1", "x1", "x2");
    tc_graph_writer_node(w, "Gemm", "fc2", "x2,fc2.weight,fc2.bias", "x3");
    tc_graph_writer_int(w, "transB", 1);
    tc_graph_writer_node(w, "Sigmoid", "act2", "x3", "x4");
    tc_graph_writer_node(w, "Gemm", "fc3", "x4,fc3.weight,fc3.bias", "x5");
    tc_graph_writer_int(w, "transB", 1);
    tc_graph_writer_node(w, "Softmax", "probabilities", "x5", "output");
    tc_graph_writer_int(w, "axis", 1);
}

static void write_bert_base(tc_graph_zoo_ctx *z) {
    tc_graph_zoo_write_bert(z, &(tc_graph_zoo_bert){.layers = 12,
                                                    .hidden = 768,
                                                    .heads = 12,
                                                    .intermediate = 3072,
                                                    .vocabulary = 30522,
                                                    .positions = 512,
                                                    .sequence = 128});
}

static void write_bert_tiny(tc_graph_zoo_ctx *z) {
    tc_graph_zoo_write_bert(
        z,
        &(tc_graph_zoo_bert){
            .layers = 2, .hidden = 128, .heads = 2, .intermediate = 512, .vocabulary = 30522, .positions = 512, .sequence = 128});
}

static const struct {
    const char *name;
    void (*write)(tc_graph_zoo_ctx *z);
    uint64_t seed;
} zoo[] = {
    {"bert-base", write_bert_base, 1},
    {"bert-tiny", write_bert_tiny, 2},
    {"resnet50", tc_graph_zoo_write_resnet50, 3},
    {"mobilenet-v2", tc_graph_zoo_write_mobilenet_v2, 4},
    {"mlp", tc_graph_zoo_write_mlp, 5},
    {"cnn", tc_graph_zoo_write_cnn, 6},
};

const char *const *tc_graph_zoo_names(void) {
    static const char *const names[] = {"bert-base", "bert-tiny", "resnet50", "mobilenet-v2", "cnn", "mlp", NULL};
    return names;
}

tc_status tc_graph_zoo(const char *name, const char *path, tc_error *err) {
    size_t i = 0;
    while (i < TC_LEN(zoo) && strcmp(zoo[i].name, name) != 0)
        i++;
    if (i == TC_LEN(zoo))
        return tc_fail(err, TC_BAD_INPUT,
                       "'%s' is not in the zoo; it has bert-base, bert-tiny, resnet50, mobilenet-v2, cnn and mlp", name);
    tc_graph_zoo_ctx z = {.w = tc_graph_writer_new(name, 17), .rng = tc_rng_seed(zoo[i].seed), .names = tc_arena_new()};
    zoo[i].write(&z);
    tc_status s = tc_graph_writer_save(z.w, path, err);
    tc_graph_writer_free(z.w);
    tc_arena_free(z.names);
    return s;
}
