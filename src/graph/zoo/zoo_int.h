/* The builders of the ready-made networks, one for each family; private to this folder. */
#ifndef TC_GRAPH_ZOO_ZOO_INT_H
#define TC_GRAPH_ZOO_ZOO_INT_H

#include "graph/onnx/write.h"
#include "support/rng.h"

typedef struct tc_graph_zoo_ctx {
    tc_graph_writer *w;
    tc_rng rng; /* each weight draws from a stream of its own, by the order of the weights */
    uint64_t nweights;
    tc_arena *names;
} tc_graph_zoo_ctx;

/* f32 weights: normal with the given deviation around mean. dims as for tc_graph_writer_input. */
void tc_graph_zoo_normal(tc_graph_zoo_ctx *z, const char *name, const char *dims, double mean, double deviation);
void tc_graph_zoo_ints(tc_graph_zoo_ctx *z, const char *name, const int64_t *v, int n); /* n < 0: a scalar */
void tc_graph_zoo_scalar(tc_graph_zoo_ctx *z, const char *name, float v);

typedef struct tc_graph_zoo_bert {
    int layers, hidden, heads, intermediate, vocabulary, positions, sequence;
} tc_graph_zoo_bert;

void tc_graph_zoo_write_bert(tc_graph_zoo_ctx *z, const tc_graph_zoo_bert *b);
void tc_graph_zoo_write_mlp(tc_graph_zoo_ctx *z);
void tc_graph_zoo_write_cnn(tc_graph_zoo_ctx *z);
void tc_graph_zoo_write_resnet50(tc_graph_zoo_ctx *z);
void tc_graph_zoo_write_mobilenet_v2(tc_graph_zoo_ctx *z);

#endif
