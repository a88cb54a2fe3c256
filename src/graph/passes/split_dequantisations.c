/* Gives every reader of bytes its own dequantisation. To widen the bytes in each reader costs less than to write and read a value
 * of four times the memory.
 *
 *   d = DQ(q); a = Add(d, x); r = Relu(d)    =>   d = DQ(q); e = DQ(q); a = Add(d, x); r = Relu(e)
 *
 * The pass also splits Casts of bytes to wider types. It runs last, since clean-up would merge the equal nodes again. */
#include <stdlib.h>

#include "graph/ir/build.h"
#include "graph/passes/quantised.h"

static bool widens(const tc_graph_value *v) {
    const tc_graph_node *n = v ? v->producer : NULL;
    return n && (n->op == TC_GRAPH_OP_DEQUANTIZE_LINEAR || n->op == TC_GRAPH_OP_CAST) && tc_graph_is_narrow(n->in[0]) &&
           tc_dtype_bytes(v->dtype) > tc_dtype_bytes(n->in[0]->dtype);
}

typedef struct splitter {
    bool *read; /* by value id: somebody has it already */
    size_t n;
} splitter;

static tc_status visit(tc_graph *g, tc_graph_node *n, void *user, tc_error *err) {
    (void)err;
    splitter *s = user;
    for (int k = 0; k < n->nin; k++) {
        tc_graph_value *v = n->in[k];
        if (!widens(v) || v->id >= s->n)
            continue;
        if (s->read[v->id])
            n->in[k] = tc_graph_place_typed(g, tc_graph_copy_node(g, v->producer, v->producer->in),
                                            tc_graph_fresh_name(g, v->name), v->dtype, &v->shape);
        s->read[v->id] = true;
    }
    tc_push(&g->nodes, n);
    return TC_OK;
}

tc_status tc_graph_pass_split_dequantisations(tc_graph *g, tc_error *err) {
    splitter s = {tc_xcalloc(g->values.len + 1, sizeof *s.read), g->values.len};
    for (size_t i = 0; i < g->outputs.len; i++)
        s.read[g->outputs.data[i].value->id] = true;
    tc_status r = tc_graph_rewrite_nodes(g, visit, &s, err);
    free(s.read);
    return r;
}
