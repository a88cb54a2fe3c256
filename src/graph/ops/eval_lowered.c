/* Reference evaluation by lowering: the operator's tensor expression, run by the interpreter of te. So constants are folded by the
 * same formula that kernels are compiled from.
 *
 *     y = Op(a, b), with tensors for a and b   =>   workload with placeholders a and b, and output y   =>   tc_te_interp
 *
 * The node is lowered as a group of its own, whatever graph it stands in: a copy of the node has values without producers as
 * operands. What lowering reads of constants, it reads there too. */
#include <stdlib.h>

#include "graph/ops/functions.h"

/* The node alone. Values have the number of the operand, counted from 1, as id; outputs follow. */
typedef struct alone {
    tc_graph_node node;
    tc_graph_value *operands; /* nin, then nout */
    tc_graph_value **wanted;
    int nwanted;
} alone;

static void isolate(tc_arena *a, const tc_graph_eval_ctx *c, alone *x) {
    const tc_graph_node *n = c->n;
    *x = (alone){.node = *n};
    x->operands = TC_NEW_N(a, tc_graph_value, n->nin + n->nout);
    x->wanted = TC_NEW_N(a, tc_graph_value *, n->nout);
    x->node.in = TC_NEW_N(a, tc_graph_value *, n->nin);
    x->node.out = TC_NEW_N(a, tc_graph_value *, n->nout);
    for (int k = 0; k < n->nin + n->nout; k++) {
        bool is_output = k >= n->nin;
        const tc_graph_value *v = is_output ? n->out[k - n->nin] : n->in[k];
        if (!v)
            continue;
        tc_graph_value *own = &x->operands[k];
        *own = *v;
        own->id = (uint32_t)k + 1;
        own->producer = is_output ? &x->node : NULL;
        *(is_output ? &x->node.out[k - n->nin] : &x->node.in[k]) = own;
        if (is_output && tc_graph_shape_count(&v->shape) > 0)
            x->wanted[x->nwanted++] = own;
    }
}

/* Elements that the interpreter computes, those that it sums up included. */
static double work_of(const tc_workload *w) {
    double sum = 0;
    for (int i = 0; i < w->ncompute; i++) {
        const tc_compute *op = w->computes[i];
        double points = 1;
        for (int d = 0; d < op->naxis; d++)
            points *= (double)op->axes[d].extent;
        for (int d = 0; d < op->nraxis; d++)
            points *= (double)op->raxes[d].extent;
        sum += points;
    }
    return sum;
}

static tc_status run(const tc_graph_eval_ctx *c, tc_arena *a, const tc_graph_lowered *l) {
    const void **in = TC_NEW_N(a, const void *, l->workload->nin);
    void **out = TC_NEW_N(a, void *, l->workload->nout);
    for (int i = 0; i < l->workload->nin; i++)
        in[i] = c->in[l->in[i]->id - 1]->data;
    for (int i = 0; i < l->workload->nout; i++)
        out[i] = c->out[(int)l->out[i]->id - 1 - c->n->nin].data;
    return tc_te_interp(l->workload, in, out, c->err);
}

tc_status tc_graph_eval_lowered(tc_graph_eval_ctx *c) {
    static const tc_graph nowhere;
    static const bool stage = false;
    tc_ctx *ctx = tc_ctx_new();
    alone x;
    isolate(tc_ctx_arena(ctx), c, &x);
    tc_graph_node *node = &x.node;
    tc_graph_group group = {.n = 1, .nodes = &node, .stage = &stage};
    tc_graph_lowered lowered;
    tc_status s = TC_OK;
    if (x.nwanted) {
        s = tc_graph_lower_group(ctx, &nowhere, NULL, NULL, &group, x.nwanted, x.wanted, &lowered, c->err);
        if (s == TC_OK && tc_graph_spend_work(c, work_of(lowered.workload)))
            s = run(c, tc_ctx_arena(ctx), &lowered);
    }
    tc_ctx_free(ctx);
    return s;
}

/* Kernels give integers divided by zero some number. Constants are refused: the model is wrong. */
tc_status tc_graph_eval_divide(tc_graph_eval_ctx *c) {
    const tc_graph_tensor *by = c->in[1];
    for (int64_t i = 0, n = tc_graph_tensor_count(by); i < n && !tc_dtype_is_float(by->dtype); i++)
        if (tc_load_i(by->dtype, by->data, i) == 0)
            return tc_fail(c->err, TC_BAD_INPUT, "integer division by zero");
    return tc_graph_eval_lowered(c);
}
