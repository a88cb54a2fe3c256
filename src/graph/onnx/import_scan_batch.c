/* Scan of opset 8 walks a batch: the first dimension of all its inputs and results. Each sequence of the batch has its own state
 * and may have its own length, so it is a Scan over the batch that carries nothing, and whose body is one such Scan without the
 * batch dimension. That body is written here as a model would have it:
 *
 *     Scan8(lengths, state, x)   =>   Scan(lengths, state, x) { body(length, state, x) = Scan8(length, state, x) } */
#include "graph/onnx/import_int.h"

/* Names in the body: a model's own body must not see them. The node's first result is nobody else's. */
static char *own_name(tc_graph_importer *im, const Onnx__NodeProto *p, const char *what, size_t k) {
    return tc_arena_printf(im->at.root->arena, "%s.%s[%zu]", p->n_output ? p->output[0] : "", what, k);
}

static Onnx__ValueInfoProto *value_of(tc_graph_importer *im, char *name) {
    Onnx__ValueInfoProto *v = TC_NEW(im->at.root->arena, Onnx__ValueInfoProto);
    onnx__value_info_proto__init(v);
    v->name = name;
    return v;
}

const Onnx__GraphProto *tc_graph_import_sequence_of_batch(tc_graph_importer *im, const Onnx__NodeProto *p) {
    tc_arena *a = im->at.root->arena;
    Onnx__GraphProto *body = TC_NEW(a, Onnx__GraphProto);
    Onnx__NodeProto *one = TC_NEW(a, Onnx__NodeProto);
    onnx__graph_proto__init(body);
    *one = *p;
    one->name = tc_arena_strdup(a, "for each sequence of the batch");
    one->input = TC_NEW_N(a, char *, p->n_input + 1);
    one->output = TC_NEW_N(a, char *, p->n_output + 1);
    body->input = TC_NEW_N(a, Onnx__ValueInfoProto *, p->n_input + 1);
    body->output = TC_NEW_N(a, Onnx__ValueInfoProto *, p->n_output + 1);
    for (size_t k = 0; k < p->n_input; k++) {
        one->input[k] = *p->input[k] ? own_name(im, p, "input", k) : p->input[k];
        if (*p->input[k])
            body->input[body->n_input++] = value_of(im, one->input[k]);
    }
    for (size_t k = 0; k < p->n_output; k++) {
        one->output[k] = own_name(im, p, "output", k);
        body->output[body->n_output++] = value_of(im, one->output[k]);
    }
    body->node = TC_NEW(a, Onnx__NodeProto *);
    body->node[0] = one;
    body->n_node = 1;
    return body;
}
