/* Caches that grow in place (graph/passes/grow.c): the caller's buffer that is both an input and an output, and the launch that
 * writes its new rows. The buffer has room for the largest size in every dimension, whatever the sizes of a run are. Kernels read
 * the buffer where it lies. */
#include <string.h>

#include "graph/program/maker_int.h"

enum { CACHE, NEW, START, CACHE_ROWS, NEW_ROWS };

typedef tc_graph_maker maker;

bool tc_graph_grows(const tc_graph_node *n) {
    return n && n->op == TC_GRAPH_OP_GROWN;
}

void tc_graph_maker_keep_caches(maker *m) {
    for (size_t i = 0; i < m->g->nodes.len; i++)
        if (tc_graph_grows(m->g->nodes.data[i]))
            tc_graph_sized_keep_whole(m->sized, m->g->nodes.data[i]->out[0]);
}

/* Where new rows end. */
static void ends_of(maker *m, const tc_graph_node *n, const tc_var *size[TC_GRAPH_MAX_DIMS]) {
    const tc_graph_value *rows = n->in[NEW_ROWS];
    for (int d = 0; d < n->in[CACHE]->shape.ndim; d++)
        size[d] = tc_graph_maker_input_size(m, n->in[CACHE], d);
    size[tc_graph_attr_axis(n)] = rows->constant ? NULL : tc_graph_sized_symbol(m->sized, rows);
}

void tc_graph_maker_ask_new_rows(maker *m, const tc_graph_node *n) {
    const tc_var *size[TC_GRAPH_MAX_DIMS];
    ends_of(m, n, size);
    tc_graph_sized_ask(m->sized, n->in[NEW], size);
    tc_graph_sized_ask(m->sized, n->in[START], size);
}

/* *slot: where new rows lie dense in their sizes, copied there if need be. */
static tc_status new_rows(maker *m, const tc_graph_node *n, int *slot, tc_error *err) {
    const tc_var *want[TC_GRAPH_MAX_DIMS], *has[TC_GRAPH_MAX_DIMS];
    if (!m->sized) /* no size varies */
        return TC_OK;
    ends_of(m, n, want);
    if (!want[tc_graph_attr_axis(n)] && !n->in[NEW_ROWS]->constant)
        return tc_refuse(
            err, TC_ERROR_UNSUPPORTED,
            "node '%s': the input '%s' cannot grow in place: the number of new rows in a run is computed, and has no range",
            n->name, n->in[CACHE]->name);
    tc_graph_sized_ends(m->sized, n->in[NEW], has);
    if (memcmp(has, want, sizeof *has * (size_t)n->in[NEW]->shape.ndim) == 0)
        return TC_OK;
    return tc_graph_maker_copy(m, n->in[NEW], "Rows", has, want, slot, err);
}

tc_status tc_graph_maker_grow(maker *m, const tc_graph_node *n, tc_error *err) {
    int *in = TC_NEW_N(m->p->arena, int, n->nin);
    for (int i = 0; i < n->nin; i++)
        in[i] = tc_graph_maker_slot(m, n->in[i]);
    TC_TRY(new_rows(m, n, &in[NEW], err));
    tc_graph_maker_bind(m, n->out[0], in[CACHE]);
    return tc_graph_maker_library(m, n, in, err);
}

void tc_graph_maker_share(maker *m, int output) {
    const tc_graph_node *n = m->g->outputs.data[output].value->producer;
    tc_graph_program *p = m->p;
    if (!tc_graph_grows(n))
        return;
    int input = m->slots.data[p->out_slot[output]].input;
    p->in[input].shared = output + 1;
    p->out[output].shared = input + 1;
    p->in[input].rows = p->out[output].rows = (int)tc_graph_attr_axis(n);
}
