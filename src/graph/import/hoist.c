/* What a loop's body computes of values around it alone is the same in every trip: it is done once, before the loop. Only what
 * costs something is taken out (contractions, reductions, library kernels, with what they need): elementwise nodes and views fuse
 * with what reads them in the body.
 *
 *     Loop: y = Add(state, MatMul(a, b))   =>   m = MatMul(a, b), Loop: y = Add(state, m) */
#include <stdlib.h>

#include "graph/import/frames.h"
#include "graph/ops/lower.h"
#include "graph/passes/pass.h"

typedef struct hoist {
    tc_graph_import_frame *f;
    tc_graph *around, *g;
    tc_graph_value **outer;    /* by id of a value of the body: what it is around it; NULL: not known there */
    tc_graph_tensor *constant; /* by id: a copy of it for what is around */
    bool *same;                /* by id: a captured value, a constant, or made of such: equal in all trips */
    bool *wanted;              /* by id: to be made outside */
} hoist;

static void note_captured(hoist *h) {
    size_t first = h->g->inputs.len - h->f->around.len;
    for (size_t i = 0; i < h->f->around.len; i++) {
        const tc_graph_value *v = h->g->inputs.data[first + i];
        h->outer[v->id] = h->f->around.data[i];
        h->same[v->id] = true;
    }
    for (size_t i = 0; i < h->g->values.len; i++)
        h->same[i] |= h->g->values.data[i]->constant != NULL;
}

/* A check stays: a loop without trips refuses no run. */
static bool is_same(const hoist *h, const tc_graph_node *n) {
    bool same = !n->body[0] && !tc_graph_op_is(n->op, TC_GRAPH_STAYS);
    for (int k = 0; k < n->nin && same; k++)
        same = !n->in[k] || h->same[n->in[k]->id];
    return same;
}

static bool costs(const tc_graph_node *n) {
    tc_graph_class c = tc_graph_class_of(n->op);
    return c == TC_GRAPH_CLASS_ANCHOR || c == TC_GRAPH_CLASS_REDUCE || c == TC_GRAPH_CLASS_LIBRARY;
}

static bool makes(const tc_graph_node *n, const bool *set) {
    for (int k = 0; k < n->nout; k++)
        if (n->out[k] && set[n->out[k]->id])
            return true;
    return false;
}

static void mark(const tc_graph_node *n, bool *set) {
    for (int k = 0; k < n->nout; k++)
        if (n->out[k])
            set[n->out[k]->id] = true;
}

static void choose(hoist *h) {
    for (size_t i = 0; i < h->g->nodes.len; i++)
        if (is_same(h, h->g->nodes.data[i]))
            mark(h->g->nodes.data[i], h->same);
    for (size_t i = h->g->nodes.len; i-- > 0;) {
        const tc_graph_node *n = h->g->nodes.data[i];
        if (!makes(n, h->same) || !(costs(n) || makes(n, h->wanted)))
            continue;
        mark(n, h->wanted);
        for (int k = 0; k < n->nin; k++)
            if (n->in[k])
                h->wanted[n->in[k]->id] = true;
    }
}

static bool is_moved(const hoist *h, const tc_graph_node *n) {
    return makes(n, h->same) && makes(n, h->wanted);
}

static tc_graph_value *outside(hoist *h, const tc_graph_value *v) {
    if (v && !h->outer[v->id]) /* a constant */
        h->outer[v->id] = tc_graph_add_constant(h->around, tc_graph_fresh_name(h->around, v->name), &h->constant[v->id]);
    return v ? h->outer[v->id] : NULL;
}

/* Copies of the constants that moved nodes read; false where there is no memory for them. */
static bool copy_constants(hoist *h) {
    for (size_t i = 0; i < h->g->nodes.len; i++) {
        const tc_graph_node *n = h->g->nodes.data[i];
        for (int k = 0; k < n->nin && is_moved(h, n); k++) {
            const tc_graph_value *v = n->in[k];
            if (v && v->constant && !h->constant[v->id].data &&
                tc_graph_tensor_copy(v->constant, &h->constant[v->id], NULL) != TC_OK)
                return false;
        }
    }
    return true;
}

/* The same node around the loop; what it made in the body is captured from there. */
static void move(hoist *h, const tc_graph_node *n) {
    tc_graph *g = h->around;
    tc_graph_value **in = TC_NEW_N(g->arena, tc_graph_value *, n->nin + 1);
    for (int k = 0; k < n->nin; k++)
        in[k] = outside(h, n->in[k]);
    tc_graph_node *copy = tc_graph_copy_node(g, n, in);
    copy->origin = tc_graph_origin_copy(g, n->origin);
    copy->nout = n->nout;
    copy->out = TC_NEW_N(g->arena, tc_graph_value *, n->nout + 1);
    for (int k = 0; k < n->nout; k++) {
        tc_graph_value *v = n->out[k];
        if (!v)
            continue;
        copy->out[k] = tc_graph_add_value(g, tc_graph_fresh_name(g, v->name), v->dtype, &v->shape);
        copy->out[k]->producer = copy;
        h->outer[v->id] = copy->out[k];
        v->producer = NULL;
        tc_push(&h->g->inputs, v);
        tc_push(&h->f->around, copy->out[k]);
    }
    tc_push(&g->nodes, copy);
}

static void move_chosen(hoist *h) {
    size_t left = 0;
    for (size_t i = 0; i < h->g->nodes.len; i++) {
        tc_graph_node *x = h->g->nodes.data[i];
        if (is_moved(h, x))
            move(h, x);
        else
            h->g->nodes.data[left++] = x;
    }
    h->g->nodes.len = left;
}

void tc_graph_import_hoist(tc_graph *around, tc_graph_import_frame *f) {
    size_t n = f->g->values.len + 1;
    hoist h = {.f = f, .around = around, .g = f->g};
    h.outer = tc_xcalloc(n, sizeof *h.outer);
    h.same = tc_xcalloc(n, sizeof *h.same);
    h.wanted = tc_xcalloc(n, sizeof *h.wanted);
    note_captured(&h);
    choose(&h);
    h.constant = tc_xcalloc(n, sizeof *h.constant);
    if (copy_constants(&h))
        move_chosen(&h);
    else
        tc_alloc_refuse();
    for (size_t i = 0; i < n; i++)
        tc_graph_tensor_free(&h.constant[i]); /* those that were moved are views now */
    free(h.constant);
    free(h.outer);
    free(h.same);
    free(h.wanted);
}
