/* Makes quantised values inside the graph unsigned: the instructions that multiply bytes take an unsigned operand on one side.
 *
 *   q = Q(x, s, z) : i8,  DQ(q, s, z)     =>   q' = Q(x, s, z + 128) : u8,  DQ(q', s, z + 128)
 *   Cast(q) : i32                         =>   Cast(q') - 128
 *
 * The integers are shifted and stand for the same reals: every result keeps each of its bits. Nodes that only move values, or
 * select the largest, take part. A value stays signed if any other node reads it, or if it is an input or output of the model. */
#include <stdlib.h>

#include "graph/ir/build.h"
#include "graph/passes/quantised.h"

enum { SHIFT = 128 };

typedef struct shifter {
    bool *shifts; /* by value id */
} shifter;

static bool is_made_by_kinds(const tc_graph_value *v) {
    return v->dtype == TC_I8 && v->producer && (v->producer->op == TC_GRAPH_OP_QUANTIZE_LINEAR || tc_graph_selects(v->producer));
}

static bool takes_shifted(const tc_graph_node *n, int k) {
    return k == 0 && (n->op == TC_GRAPH_OP_DEQUANTIZE_LINEAR || tc_graph_selects(n) ||
                      (n->op == TC_GRAPH_OP_CAST && n->out[0]->dtype == TC_I32));
}

static bool points_known(const tc_graph_node *n) {
    return n->nin < 3 || !n->in[2] || n->in[2]->constant;
}

static bool *find_shifts(const tc_graph *g) {
    bool *s = tc_xcalloc(g->values.len + 1, sizeof *s), changed = true;
    for (size_t i = 0; i < g->values.len; i++)
        s[i] = is_made_by_kinds(g->values.data[i]);
    for (size_t i = 0; i < g->outputs.len; i++)
        s[g->outputs.data[i].value->id] = false;
    for (size_t i = 0; i < g->nodes.len; i++) {
        const tc_graph_node *n = g->nodes.data[i];
        for (int k = 0; k < n->nin; k++)
            if (n->in[k] && (!takes_shifted(n, k) || !points_known(n)))
                s[n->in[k]->id] = false;
        if (n->nout == 1 && n->out[0] && !points_known(n))
            s[n->out[0]->id] = false;
    }
    while (changed) { /* what selects values shifts both, or neither */
        changed = false;
        for (size_t i = 0; i < g->nodes.len; i++) {
            const tc_graph_node *n = g->nodes.data[i];
            if (!tc_graph_selects(n) || s[n->in[0]->id] == s[n->out[0]->id])
                continue;
            s[n->in[0]->id] = s[n->out[0]->id] = false;
            changed = true;
        }
    }
    return s;
}

/* The zero points of n, shifted, as its third operand. */
static tc_status shift_points(tc_graph *g, tc_graph_node *n, tc_error *err) {
    const tc_graph_value *old = tc_graph_operand_of(n, 2);
    tc_graph_shape scalar = {0};
    const tc_graph_shape *s = old ? &old->shape : &scalar;
    int64_t count = tc_graph_shape_count(s);
    double *v = tc_xcalloc((size_t)count + 1, sizeof *v);
    if (old)
        tc_graph_tensor_to_f64(old->constant, v);
    for (int64_t i = 0; i < count; i++)
        v[i] += SHIFT;
    tc_graph_value *made = tc_graph_constant_of(g, old ? old->name : "zero_point", TC_U8, s, v, err);
    free(v);
    if (!made)
        return TC_ENV;
    tc_graph_set_inputs(g, n, (tc_graph_value *[]){n->in[0], n->in[1], made}, 3);
    return TC_OK;
}

/* Cast(q') - 128 */
static tc_status shift_cast(tc_graph *g, tc_graph_node *n, tc_error *err) {
    tc_graph_value *y = n->out[0];
    tc_graph_value *by = tc_graph_constant_of(g, "shift", TC_I32, &(tc_graph_shape){0}, (double[]){SHIFT}, err);
    if (!by)
        return TC_ENV;
    tc_graph_value *wide =
        tc_graph_place_typed(g, tc_graph_copy_node(g, n, n->in), tc_graph_fresh_name(g, y->name), TC_I32, &y->shape);
    tc_graph_produce(g, tc_graph_new_node(g, TC_GRAPH_OP_SUB, "", (tc_graph_value *[]){wide, by}, 2), y);
    return TC_OK;
}

static tc_status visit(tc_graph *g, tc_graph_node *n, void *user, tc_error *err) {
    const bool *shifts = ((const shifter *)user)->shifts;
    bool reads = n->nin > 0 && n->in[0] && shifts[n->in[0]->id], makes = n->nout == 1 && n->out[0] && shifts[n->out[0]->id];
    if (makes)
        n->out[0]->dtype = TC_U8;
    if (reads && n->op == TC_GRAPH_OP_CAST)
        return shift_cast(g, n, err);
    if ((reads || makes) && !tc_graph_selects(n)) /* it quantises or dequantises */
        TC_TRY(shift_points(g, n, err));
    if (makes && !tc_graph_selects(n))
        tc_graph_set_output_dtype(g, n, tc_graph_dtype_to_onnx(TC_U8));
    tc_push(&g->nodes, n);
    return TC_OK;
}

tc_status tc_graph_pass_unsigned_activations(tc_graph *g, tc_error *err) {
    shifter s = {find_shifts(g)};
    tc_status r = tc_graph_rewrite_nodes(g, visit, &s, err);
    free(s.shifts);
    return r;
}
