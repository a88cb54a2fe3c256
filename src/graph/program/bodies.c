/* Bodies of If and Loop where sizes vary: decides which part of its values each body computes.
 *
 * A body is asked when its node is asked, from its results backwards. Its requests for values around it become requests of the node
 * there. Sizes are the same symbols inside and outside, if both sides know them. A size that a branch computes and returns is
 * different: it has one symbol in each branch and another around them.
 *
 *     y, n = If(c, x): NonZero(x), count | x, m      y ends at n around it, at count in one branch, at m in the other
 *
 * The node has memory for each result. A branch whose result lies differently copies it there at its end.
 *
 * The state of a Loop is in one memory before, in and after all trips. It ends at sizes that are known before the loop, so these
 * sizes are the same in all trips. If a dimension's size changes from trip to trip, the state lies whole in that dimension, since a
 * layout that is dense in one size is not dense in the next. Rows of trips end at plain sizes and at products of plain sizes, since
 * the kernel that puts the rows behind each other reads sizes from memory. A reader of the state in the body may need more of the
 * state than the readers after the loop. Then the trip before has to compute that much. So a body is asked again until all of them
 * agree on the sizes where the state ends. */
#include "graph/program/maker_int.h"

#include <string.h>

typedef tc_graph_maker maker;
typedef const tc_var *ends[TC_GRAPH_MAX_DIMS];

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

/* The trips of a Loop all have a row of result k. */
static bool is_rows(const tc_graph_node *n, int k) {
    return n->op == TC_GRAPH_OP_LOOP && k > (int)tc_graph_attr_states(n);
}

/* Plain sizes alone are surely in memory. */
static bool add_factors(const tc_expr *x, const tc_var **factor, int *n, int64_t *times) {
    if (x->op == TC_OP_MUL)
        return add_factors(x->args[0], factor, n, times) && add_factors(x->args[1], factor, n, times);
    if (x->op == TC_OP_INT)
        return !__builtin_mul_overflow(*times, x->u.i, times);
    if (x->op != TC_OP_VAR || x->u.var->value || *n == TC_GRAPH_ROW_FACTORS)
        return false;
    factor[(*n)++] = x->u.var;
    return true;
}

int tc_graph_maker_factors(const tc_var *size, const tc_var *factor[TC_GRAPH_ROW_FACTORS], int64_t *times) {
    int n = 0;
    *times = 1;
    factor[0] = size;
    if (!size->value)
        return 1;
    return add_factors(size->value, factor, &n, times) ? n : 0;
}

/* ---- around the bodies ---- */

/* What a size of result k must be: known before the node, or, where that does not change how it lies while it is made, another
 * result. */
static bool may_end(const maker *m, const tc_graph_node *n, int k, int d, const tc_var *size) {
    bool late = n->op == TC_GRAPH_OP_IF || (is_rows(n, k) && d == 0);
    const tc_var *factor[TC_GRAPH_ROW_FACTORS];
    int64_t times;
    if (is_rows(n, k) && d > 0 && tc_graph_maker_factors(size, factor, &times) == 0)
        return false;
    return tc_graph_sized_knows(m->sized, size) || (late && result_of(n, tc_graph_sized_value(m->sized, size)) >= 0);
}

/* Where results end. Those of which only the first elements are read, or nobody reads any, have as many as they have. */
static void ask_result(maker *m, const tc_graph_node *n, int k) {
    const tc_graph_value *v = n->out[k];
    bool asked = tc_graph_sized_is_asked(m->sized, v);
    ends size;
    tc_graph_sized_ends(m->sized, v, size);
    for (int d = 0; d < v->shape.ndim; d++) {
        if (size[d] == &tc_te_first || !asked)
            size[d] = tc_graph_maker_input_size(m, v, d);
        if (size[d] && !may_end(m, n, k, d, size[d]))
            size[d] = NULL;
    }
    tc_graph_sized_ask(m->sized, v, size);
}

/* Where input v of the body is read to, in sizes that are known around it. */
static void read_around(const maker *m, const tc_graph_inside *x, const tc_graph_value *v, ends size) {
    tc_graph_sized_ends(x->sized, v, size);
    for (int d = 0; d < v->shape.ndim; d++)
        if (size[d] != &tc_te_first && !tc_graph_sized_knows(m->sized, size[d]))
            size[d] = NULL;
}

static void ask_given(maker *m, const tc_graph_inside *x, const tc_graph_value *const *given) {
    ends size;
    for (size_t i = 0; i < x->g->inputs.len; i++) {
        const tc_graph_value *v = x->g->inputs.data[i];
        if (!given[i] || !tc_graph_sized_is_asked(x->sized, v))
            continue;
        read_around(m, x, v, size);
        tc_graph_sized_ask(m->sized, given[i], size);
    }
}

/* ---- in them ---- */

/* Where result k, or a row of it, lies to, as the body calls these sizes: a branch that has no symbol for one leaves it as it is,
 * and knows it when it has given it. */
static void ends_inside(const maker *m, const tc_graph_node *n, int k, const tc_graph_inside *x, ends size) {
    memset(size, 0, sizeof(ends));
    tc_graph_sized_ends(m->sized, n->out[k], size);
    for (int d = 0; d < n->out[k]->shape.ndim; d++) {
        int other = size[d] ? result_of(n, tc_graph_sized_value(m->sized, size[d])) : -1;
        const tc_var *own = other >= 0 ? tc_graph_sized_symbol(x->sized, x->g->outputs.data[other].value) : NULL;
        size[d] = own ? own : size[d];
    }
    if (is_rows(n, k))
        memmove(size, size + 1, sizeof *size * (TC_GRAPH_MAX_DIMS - 1));
}

static tc_status ask_inside(maker *m, const tc_graph_node *n, const tc_graph_inside *x, tc_error *err) {
    const tc_graph *around = m->g;
    tc_graph_sized *sized = m->sized;
    ends size;
    bool is_loop = n->op == TC_GRAPH_OP_LOOP; /* whose first result is not the body's */
    if (is_loop)
        tc_graph_sized_ask(x->sized, x->g->outputs.data[0].value, NULL);
    for (int k = is_loop; k < n->nout; k++) {
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

/* ---- If ---- */

static tc_status ask_branch(maker *m, const tc_graph_node *n, int which, int first, tc_error *err) {
    const tc_graph *body = n->body[which];
    const tc_graph_value *const *given = (const tc_graph_value *const *)n->in + first;
    tc_graph_inside x = {.g = body, .sized = tc_graph_sized_within(m->sized, body, given), .lies = given};
    tc_graph_fuse(body, m->p->arena, &x.groups);
    tc_status s = ask_inside(m, n, &x, err);
    if (s == TC_OK)
        ask_given(m, &x, given);
    tc_push(&m->insides, x);
    return s;
}

static tc_status ask_if(maker *m, const tc_graph_node *n, tc_error *err) {
    int then = (int)tc_graph_attr_then(n);
    tc_graph_sized_ask(m->sized, n->in[0], NULL);
    TC_TRY(ask_branch(m, n, 0, 1, err));
    return ask_branch(m, n, 1, 1 + then, err);
}

/* ---- Loop ---- */

static bool same_ends(const tc_graph_value *v, const tc_var *const *a, const tc_var *const *b) {
    return memcmp(a, b, sizeof *a * (size_t)v->shape.ndim) == 0;
}

/* The states end no further than they are read to in the body. False: they did not before. */
static bool agree(maker *m, const tc_graph_node *n, const tc_graph_inside *x) {
    bool agreed = true;
    for (int k = 1; k <= (int)tc_graph_attr_states(n); k++) {
        const tc_graph_value *v = x->g->inputs.data[k];
        ends before, read, after;
        if (!tc_graph_sized_is_asked(x->sized, v))
            continue;
        tc_graph_sized_ends(m->sized, n->out[k], before);
        read_around(m, x, v, read);
        tc_graph_sized_ask(m->sized, n->out[k], read);
        tc_graph_sized_ends(m->sized, n->out[k], after);
        agreed &= same_ends(v, before, after);
    }
    return agreed;
}

/* As if the body, and those in it, had not been asked. */
static void forget(maker *m, tc_graph_inside *x, size_t inner) {
    tc_graph_sized_free(x->sized);
    while (m->insides.len > inner)
        tc_graph_sized_free(m->insides.data[--m->insides.len].sized);
}

/* The states are computed at their largest. */
static void ask_whole_states(maker *m, const tc_graph_node *n) {
    for (int k = 1; k <= (int)tc_graph_attr_states(n); k++)
        tc_graph_sized_ask(m->sized, n->out[k], NULL);
}

/* Each round but the last has a state end at fewer sizes. A round asks the loops in the body, which have rounds of their own: so that
 * rounds do not multiply too often, they are few, and inner loops have one. */
static tc_status ask_trips(maker *m, const tc_graph_node *n, const tc_graph_value *const *given, tc_graph_inside *x,
                           tc_error *err) {
    enum { ROUNDS = 8, NESTED = 2 };
    size_t inner = m->insides.len;
    for (int round = 0;; round++) {
        if (round >= ROUNDS || m->loops >= NESTED)
            ask_whole_states(m, n);
        x->sized = tc_graph_sized_within(m->sized, x->g, given);
        m->loops++;
        tc_status s = ask_inside(m, n, x, err);
        m->loops--;
        TC_TRY(s);
        if (agree(m, n, x))
            return TC_OK;
        forget(m, x, inner);
    }
}

static tc_status ask_loop(maker *m, const tc_graph_node *n, tc_error *err) {
    const tc_graph *body = n->body[0];
    int states = (int)tc_graph_attr_states(n);
    const tc_graph_value **given = TC_NEW_N(m->p->arena, const tc_graph_value *, body->inputs.len + 1),
                         **lies = TC_NEW_N(m->p->arena, const tc_graph_value *, body->inputs.len + 1);
    tc_graph_inside x = {.g = body, .lies = lies};
    ends size;
    for (size_t i = 1; i < body->inputs.len; i++) {
        given[i] = (int)i > states ? n->in[i + 1] : NULL;
        lies[i] = (int)i > states ? given[i] : n->out[i];
    }
    tc_graph_fuse(body, m->p->arena, &x.groups);
    tc_status s = ask_trips(m, n, given, &x, err);
    if (s == TC_OK)
        ask_given(m, &x, given);
    tc_push(&m->insides, x);
    for (int k = 0; k < 2; k++)
        if (n->in[k])
            tc_graph_sized_ask(m->sized, n->in[k], NULL);
    for (int k = 1; k <= states; k++) {
        tc_graph_sized_ends(m->sized, n->out[k], size);
        tc_graph_sized_ask(m->sized, n->in[k + 1], size);
    }
    return s;
}

tc_status tc_graph_maker_ask_bodies(maker *m, const tc_graph_node *n, tc_error *err) {
    for (int k = 0; k < n->nout; k++)
        ask_result(m, n, k);
    return n->op == TC_GRAPH_OP_IF ? ask_if(m, n, err) : ask_loop(m, n, err);
}

/* ---- when they are launched ---- */

bool tc_graph_maker_result_moves(maker *m, const tc_graph_node *n, int k, const tc_graph *body, ends has, ends want) {
    const tc_graph_inside *x = tc_graph_maker_inside(m, body);
    const tc_graph_value *v = body->outputs.data[k].value;
    memset(has, 0, sizeof(ends));
    memset(want, 0, sizeof(ends));
    if (x) {
        tc_graph_sized_ends(x->sized, v, has);
        ends_inside(m, n, k, x, want);
    }
    return !same_ends(v, has, want);
}

tc_status tc_graph_maker_copy_inside(maker *m, const tc_graph *body, const tc_graph_value *v, const tc_var *const *from,
                                     const tc_var *const *to, int slot, int to_slot, tc_error *err) {
    tc_graph_sized *sized = m->sized;
    m->sized = tc_graph_maker_inside(m, body)->sized;
    tc_status s = tc_graph_maker_copy_to(m, v, "Result", from, to, slot, to_slot, err);
    m->sized = sized;
    return s;
}
