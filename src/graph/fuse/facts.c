/* The facts about a graph that fusion needs before and while it makes groups: who reads each value, seen through views, and which
 * values leave a group. */
#include "graph/fuse/fuse_int.h"

#include <stdlib.h>
#include <string.h>

tc_graph_node *tc_fuse_node(const tc_fuser *f, int at) {
    return f->g->nodes.data[at];
}

tc_graph_class tc_fuse_class(const tc_fuser *f, int at) {
    return tc_graph_class_of(tc_fuse_node(f, at)->op);
}

static tc_graph_shape squeezed(const tc_graph_shape *s) {
    tc_graph_shape r = {0};
    for (int d = 0; d < s->ndim; d++)
        if (s->d[d] != 1)
            r.d[r.ndim++] = s->d[d];
    return r;
}

bool tc_fuse_same_shape(const tc_graph_shape *a, const tc_graph_shape *b) {
    tc_graph_shape x = squeezed(a), y = squeezed(b);
    return tc_graph_shape_equal(&x, &y);
}

bool tc_fuse_is_prefix(const tc_graph_shape *a, const tc_graph_shape *b) {
    tc_graph_shape x = squeezed(a), y = squeezed(b);
    return x.ndim <= y.ndim && memcmp(x.d, y.d, sizeof x.d[0] * (size_t)x.ndim) == 0;
}

bool tc_fuse_is_view(const tc_graph_node *n) {
    return n && tc_graph_class_of(n->op) == TC_GRAPH_CLASS_VIEW;
}

bool tc_fuse_keeps_order(const tc_graph_node *n) {
    if (n->op == TC_GRAPH_OP_TRANSPOSE) {
        size_t len;
        const int64_t *perm = tc_graph_attr_perm(n, &len);
        int64_t last = -1;
        for (size_t d = 0; d < len; d++) {
            if (n->out[0]->shape.d[d] == 1)
                continue;
            if (perm[d] < last)
                return false;
            last = perm[d];
        }
        return true;
    }
    return n->op != TC_GRAPH_OP_REGROUPED && tc_fuse_same_shape(&n->in[0]->shape, &n->out[0]->shape);
}

bool tc_fuse_looks_through(const tc_fuser *f, const tc_graph_value *v) {
    return tc_fuse_is_view(v->producer) && !f->stored[v->id];
}

const tc_graph_value *tc_fuse_plain_source(const tc_fuser *f, const tc_graph_value *v) {
    while (tc_fuse_looks_through(f, v)) {
        if (!tc_fuse_keeps_order(v->producer))
            return NULL;
        v = v->producer->in[0];
    }
    return v;
}

const tc_graph_value *tc_fuse_source(const tc_fuser *f, const tc_graph_value *v) {
    while (tc_fuse_looks_through(f, v))
        v = v->producer->in[0];
    return v;
}

const tc_graph_shape *tc_fuse_domain(const tc_graph_node *n) {
    return tc_graph_class_of(n->op) == TC_GRAPH_CLASS_REDUCE ? &n->in[0]->shape : &n->out[0]->shape;
}

/* ---- who reads what ---- */

/* A view is transparent for its first operand. Its other operands, sizes and numbers, count as read by each reader of the view, so
 * no kernel keeps them to itself. */
static void note_operand(tc_fuser *f, const tc_graph_value *v, int at, int operand) {
    f->direct[v->id]++;
    f->reader[v->id] = at;
    if (operand > 0 || !tc_fuse_is_view(tc_fuse_node(f, at)))
        tc_push(&f->uses[tc_fuse_source(f, v)->id], at);
}

static void gather_facts(tc_fuser *f) {
    for (int i = 0; i < f->n; i++)
        f->position[tc_fuse_node(f, i)->id] = i;
    for (int i = 0; i < f->n; i++) {
        const tc_graph_node *n = tc_fuse_node(f, i);
        for (int k = 0; k < n->nin; k++)
            if (n->in[k])
                note_operand(f, n->in[k], i, k);
    }
    for (size_t i = 0; i < f->g->outputs.len; i++) {
        const tc_graph_value *v = f->g->outputs.data[i].value;
        f->direct[v->id]++;
        f->is_output[tc_fuse_source(f, v)->id] = true;
    }
}

tc_fuser tc_fuse_open(const tc_graph *g) {
    size_t nodes = g->nodes.len + 1, values = g->values.len + 1;
    tc_fuser f = {.g = g, .n = (int)g->nodes.len};
    f.position = tc_xcalloc((size_t)g->next_id + 1, sizeof *f.position);
    f.uses = tc_xcalloc(values, sizeof *f.uses);
    f.direct = tc_xcalloc(values, sizeof *f.direct);
    f.reader = tc_xcalloc(values, sizeof *f.reader);
    f.is_output = tc_xcalloc(values, sizeof *f.is_output);
    f.stored = tc_xcalloc(values, sizeof *f.stored);
    f.taken = tc_xcalloc(nodes, sizeof *f.taken);
    f.mark = tc_xcalloc(nodes, sizeof *f.mark);
    f.is_piece = tc_xcalloc(values, sizeof *f.is_piece);
    memset(f.reader, -1, values * sizeof *f.reader);
    gather_facts(&f);
    return f;
}

void tc_fuse_close(tc_fuser *f) {
    for (size_t i = 0; i < f->g->values.len; i++)
        tc_vec_free(&f->uses[i]);
    free(f->position);
    free(f->uses);
    free(f->direct);
    free(f->reader);
    free(f->is_output);
    free(f->stored);
    free(f->taken);
    free(f->mark);
    free(f->is_piece);
    tc_vec_free(&f->pieces);
}

/* ---- the group that is being made ---- */

void tc_fuse_begin(tc_fuser *f, const tc_fuse_nodes *members) {
    f->epoch++;
    for (size_t i = 0; i < members->len; i++)
        f->mark[members->data[i]] = f->epoch;
}

void tc_fuse_add(tc_fuser *f, tc_fuse_nodes *members, int at) {
    f->mark[at] = f->epoch;
    tc_push(members, at);
}

bool tc_fuse_inside(const tc_fuser *f, int at) {
    return f->mark[at] == f->epoch;
}

bool tc_fuse_producer_inside(const tc_fuser *f, const tc_graph_value *v) {
    return v && v->producer && tc_fuse_inside(f, f->position[v->producer->id]);
}

bool tc_fuse_escapes(const tc_fuser *f, int at) {
    const tc_graph_node *n = tc_fuse_node(f, at);
    for (int k = 0; k < n->nout; k++) {
        const tc_graph_value *v = n->out[k];
        if (!v)
            continue;
        if (f->is_output[v->id])
            return true;
        for (size_t u = 0; u < f->uses[v->id].len; u++)
            if (!tc_fuse_inside(f, f->uses[v->id].data[u]))
                return true;
    }
    return false;
}

tc_graph_node *tc_fuse_only_reader(const tc_fuser *f, const tc_graph_value *v) {
    return f->direct[v->id] == 1 && f->reader[v->id] >= 0 ? tc_fuse_node(f, f->reader[v->id]) : NULL;
}
