/* Bodies of If where sizes vary: which part of its values each computes.
 *
 * A body is asked when the node is, from its results backwards; what it asks of the values around it the node asks there. Sizes are the same
 * symbols inside and outside, as far as both know them: one that a branch computes, and returns, is another one in each branch, and another
 * one around them.
 *
 *     y, n = If(c, x): NonZero(x), count | x, m      y ends at n around it, at count in one branch, at m in the other
 *
 * A branch that has a result lie otherwise than the memory that the node has for it copies it there in the end. */
#include "graph/program/maker_int.h"

typedef tc_graph_maker maker;

const tc_graph_inside *tc_graph_maker_inside(const maker *m, const tc_graph *body) {
    for (size_t i = 0; i < m->insides.len; i++)
        if (m->insides.data[i].g == body)
            return &m->insides.data[i];
    return NULL;
}

/* The number of the node's result that the size is; -1: it is none of them. */
static int result_of(const tc_graph_node *n, const tc_graph_value *size) {
    for (int k = 0; k < n->nout; k++)
        if (size && n->out[k] == size)
            return k;
    return -1;
}

/* ---- around the bodies ---- */

/* Results may end at what is known before the node, and at other results of it. Those of which only the first elements are read have as
 * many as they have. */
static void ask_result(maker *m, const tc_graph_node *n, const tc_graph_value *v) {
    const tc_var *size[TC_GRAPH_MAX_DIMS];
    tc_graph_sized_ends(m->sized, v, size);
    for (int d = 0; d < v->shape.ndim; d++) {
        if (size[d] == &tc_te_first)
            size[d] = tc_graph_maker_input_size(m, v, d);
        if (size[d] && !tc_graph_sized_knows(m->sized, size[d]) && result_of(n, tc_graph_sized_value(m->sized, size[d])) < 0)
            size[d] = NULL;
    }
    tc_graph_sized_ask(m->sized, v, size);
}

/* What the body reads of the value that is its input v. */
static void ask_given(maker *m, const tc_graph_inside *x, const tc_graph_value *v, const tc_graph_value *given) {
    const tc_var *size[TC_GRAPH_MAX_DIMS];
    if (!tc_graph_sized_is_asked(x->sized, v))
        return;
    tc_graph_sized_ends(x->sized, v, size);
    for (int d = 0; d < v->shape.ndim; d++)
        if (size[d] != &tc_te_first && !tc_graph_sized_knows(m->sized, size[d]))
            size[d] = NULL;
    tc_graph_sized_ask(m->sized, given, size);
}

/* ---- in them ---- */

/* Where result k lies to, as the body calls these sizes: a branch that has no symbol for one leaves it as it is, and knows it when it has
 * given it. */
static void ends_inside(const maker *m, const tc_graph_node *n, int k, const tc_graph_inside *x,
                        const tc_var *size[TC_GRAPH_MAX_DIMS]) {
    tc_graph_sized_ends(m->sized, n->out[k], size);
    for (int d = 0; d < n->out[k]->shape.ndim; d++) {
        int other = size[d] ? result_of(n, tc_graph_sized_value(m->sized, size[d])) : -1;
        const tc_var *own = other >= 0 ? tc_graph_sized_symbol(x->sized, x->g->outputs.data[other].value) : NULL;
        size[d] = own ? own : size[d];
    }
}

static tc_status ask_inside(maker *m, const tc_graph_node *n, const tc_graph_inside *x, tc_error *err) {
    const tc_graph *around = m->g;
    tc_graph_sized *sized = m->sized;
    const tc_var *size[TC_GRAPH_MAX_DIMS];
    for (int k = 0; k < n->nout; k++) {
        ends_inside(m, n, k, x, size);
        tc_graph_sized_ask(x->sized, x->g->outputs.data[k].value, size);
    }
    m->g = x->g;
    m->sized = x->sized;
    tc_status s = tc_graph_maker_ask_groups(m, &x->groups, err);
    m->g = around;
    m->sized = sized;
    tc_graph_sized_settle(x->sized);
    return s;
}

static tc_status ask_branch(maker *m, const tc_graph_node *n, int which, int first, tc_error *err) {
    const tc_graph *body = n->body[which];
    const tc_graph_value *const *given = (const tc_graph_value *const *)n->in + first;
    tc_graph_inside x = {.g = body, .sized = tc_graph_sized_within(m->sized, body, given)};
    tc_graph_fuse(body, m->p->arena, &x.groups);
    tc_status s = ask_inside(m, n, &x, err);
    for (size_t i = 0; i < body->inputs.len && s == TC_OK; i++)
        ask_given(m, &x, body->inputs.data[i], given[i]);
    tc_push(&m->insides, x);
    return s;
}

tc_status tc_graph_maker_ask_bodies(maker *m, const tc_graph_node *n, tc_error *err) {
    int then = (int)tc_graph_attr_then(n);
    tc_graph_sized_ask(m->sized, n->in[0], NULL);
    for (int k = 0; k < n->nout; k++)
        ask_result(m, n, n->out[k]);
    TC_TRY(ask_branch(m, n, 0, 1, err));
    return ask_branch(m, n, 1, 1 + then, err);
}

/* ---- when they are launched ---- */

bool tc_graph_maker_result_moves(maker *m, const tc_graph_node *n, int k, const tc_graph *body,
                                 const tc_var *has[TC_GRAPH_MAX_DIMS], const tc_var *want[TC_GRAPH_MAX_DIMS]) {
    const tc_graph_inside *x = tc_graph_maker_inside(m, body);
    const tc_graph_value *v = body->outputs.data[k].value;
    bool moves = false;
    if (x) {
        tc_graph_sized_ends(x->sized, v, has);
        ends_inside(m, n, k, x, want);
    }
    for (int d = 0; d < v->shape.ndim; d++) {
        has[d] = x ? has[d] : NULL;
        want[d] = x ? want[d] : NULL;
        moves |= has[d] != want[d];
    }
    return moves;
}

tc_status tc_graph_maker_copy_inside(maker *m, const tc_graph *body, const tc_graph_value *v, const tc_var *const *from,
                                     const tc_var *const *to, int slot, int to_slot, tc_error *err) {
    tc_graph_sized *sized = m->sized;
    m->sized = tc_graph_maker_inside(m, body)->sized;
    tc_status s = tc_graph_maker_copy_to(m, v, "Result", from, to, slot, to_slot, err);
    m->sized = sized;
    return s;
}
