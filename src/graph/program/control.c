/* If and Loop as launches: the launches of their bodies, copies between them, and steps that decide where to go on. Bodies share
 * the slots of the program. So their memory is planned, their constants are placed, and their equal kernels are merged as in any
 * program.
 *
 *     Loop                                          If
 *         i = 0, state = its first value, go = cond       unless cond: no
 *     head:                                               body 0, results = its outputs
 *         unless i < limit: end                           go on: end
 *         unless go: end                              no:
 *         body                                            body 1, results = its outputs
 *         rows[i] = row, go = cond, state = next      end:
 *         again i: head
 *     end: */
#include "graph/program/maker_int.h"

#include <string.h>

typedef tc_graph_maker maker;

/* How often a body is thought to run that the data decide about: for the weights of its kernels only. */
enum { GUESSED_TRIPS = 16 };

static int add(maker *m, const tc_graph_node *n, tc_graph_launch x, const int *args, int nargs) {
    x.name = n->name;
    x.covers = tc_graph_op_name(n->op);
    x.task = -1;
    x.nargs = nargs;
    x.args = tc_arena_dup(m->p->arena, args, sizeof *args * (size_t)nargs);
    tc_push(&m->launches, x);
    return (int)m->launches.len - 1;
}

static int decide(maker *m, const tc_graph_node *n, tc_cg_step_kind kind, int a, int b, int target) {
    int args[] = {a, b};
    return add(m, n, (tc_graph_launch){.kind = kind, .target = target}, args, tc_cg_step_operands(kind));
}

/* From here on. */
static void aim(maker *m, int launch) {
    if (launch >= 0)
        m->launches.data[launch].target = (int)m->launches.len;
}

static void copy(maker *m, const tc_graph_node *n, int from, int to) {
    int args[] = {from, to};
    int64_t bytes = m->slots.data[from].bytes;
    if (from != to && bytes > 0)
        add(m, n, (tc_graph_launch){.bytes = bytes}, args, 2);
}

static void copy_row(maker *m, const tc_graph_node *n, int from, int to, int row) {
    int args[] = {from, to, row};
    int64_t bytes = m->slots.data[from].bytes;
    if (bytes > 0)
        add(m, n, (tc_graph_launch){.bytes = bytes}, args, 3);
}

static int temporary(maker *m, const char *name, int64_t bytes) {
    return tc_graph_maker_add_slot(m, (tc_graph_slot){.kind = TC_GRAPH_SLOT_TEMP, .name = name, .bytes = bytes});
}

static bool ends_somewhere(const tc_graph_value *v, const tc_var *const *size) {
    for (int d = 0; d < v->shape.ndim; d++)
        if (size[d])
            return true;
    return false;
}

/* v, of the body, which ends at has[], to where it ends at want[]: as far as it goes. */
static tc_status copy_ended(maker *m, const tc_graph_node *n, const tc_graph *body, const tc_graph_value *v,
                            const tc_var *const *has, const tc_var *const *want, int from, int to, tc_error *err) {
    if (from != to && (ends_somewhere(v, has) || ends_somewhere(v, want)))
        return tc_graph_maker_copy_inside(m, body, v, has, want, from, to, err);
    copy(m, n, from, to);
    return TC_OK;
}

/* ---- If ---- */

/* What the branch computes for one result lies there from the start, if it lies as the result does. */
static void write_result(maker *m, const tc_graph_node *n, const tc_graph *body, int k) {
    const tc_var *has[TC_GRAPH_MAX_DIMS], *want[TC_GRAPH_MAX_DIMS];
    const tc_graph_value *v = tc_graph_memory_of(body->outputs.data[k].value);
    if (v->producer && !tc_graph_maker_known(m, v) && !tc_graph_maker_result_moves(m, n, k, body, has, want))
        tc_graph_maker_bind(m, v, tc_graph_maker_slot(m, n->out[k]));
}

static tc_status copy_result(maker *m, const tc_graph_node *n, const tc_graph *body, int k, tc_error *err) {
    const tc_var *has[TC_GRAPH_MAX_DIMS], *want[TC_GRAPH_MAX_DIMS];
    const tc_graph_value *v = body->outputs.data[k].value;
    (void)tc_graph_maker_result_moves(m, n, k, body, has, want);
    return copy_ended(m, n, body, v, has, want, tc_graph_maker_slot(m, v), tc_graph_maker_slot(m, n->out[k]), err);
}

/* Numbers first: some are the sizes that others lie by. */
static tc_status copy_results(maker *m, const tc_graph_node *n, const tc_graph *body, tc_error *err) {
    for (int pass = 0; pass < 2; pass++)
        for (int k = 0; k < n->nout; k++)
            if ((n->out[k]->shape.ndim > 0) == (pass > 0))
                TC_TRY(copy_result(m, n, body, k, err));
    return TC_OK;
}

static tc_status branch(maker *m, const tc_graph_node *n, int which, int first, tc_error *err) {
    const tc_graph *body = n->body[which];
    size_t arrays = m->arrays.len;
    for (size_t i = 0; i < body->inputs.len; i++)
        tc_graph_maker_bind(m, body->inputs.data[i], tc_graph_maker_slot(m, n->in[(size_t)first + i]));
    for (int k = 0; k < n->nout; k++)
        write_result(m, n, body, k);
    TC_TRY(tc_graph_maker_add(m, body, err));
    TC_TRY(copy_results(m, n, body, err));
    m->arrays.len = arrays; /* who does not run this branch does not fill its in */
    return TC_OK;
}

static tc_status add_if(maker *m, const tc_graph_node *n, tc_error *err) {
    int then = (int)tc_graph_attr_then(n);
    int to_else = decide(m, n, TC_CG_UNLESS, tc_graph_maker_slot(m, n->in[0]), 0, 0);
    TC_TRY(branch(m, n, 0, 1, err));
    int to_end = decide(m, n, TC_CG_GO, 0, 0, 0);
    aim(m, to_else);
    TC_TRY(branch(m, n, 1, 1 + then, err));
    aim(m, to_end);
    return TC_OK;
}

/* ---- Loop ---- */

typedef struct loop {
    const tc_graph_node *n;
    const tc_graph *body;
    int states;
    int i, go;  /* slots; go -1: the body's condition always holds */
    int *state; /* slots */
} loop;

static bool always(const tc_graph_value *v) {
    return v->constant && *(const uint8_t *)v->constant->data;
}

/* The state before the first trip goes to where it is in all of them. */
static tc_status first_state(maker *m, const loop *l, int k, tc_error *err) {
    const tc_graph_value *in = l->n->in[k + 2], *state = l->n->out[k + 1];
    const tc_var *has[TC_GRAPH_MAX_DIMS] = {0}, *want[TC_GRAPH_MAX_DIMS] = {0};
    int from = tc_graph_maker_slot(m, in);
    if (m->sized) {
        tc_graph_sized_ends(m->sized, in, has);
        tc_graph_sized_ends(m->sized, state, want);
    }
    if (ends_somewhere(in, has) || ends_somewhere(state, want))
        return tc_graph_maker_copy_to(m, in, "State", has, want, from, l->state[k], err);
    copy(m, l->n, from, l->state[k]);
    return TC_OK;
}

static tc_status enter(maker *m, loop *l, tc_error *err) {
    static const int64_t zero[] = {0};
    const tc_graph_node *n = l->n;
    const tc_graph_value *const *in = (const tc_graph_value *const *)l->body->inputs.data;
    l->i = tc_graph_maker_slot(m, n->out[0]);
    copy(m, n, tc_graph_maker_constant(m, "zero", zero, 1), l->i);
    tc_graph_maker_bind(m, in[0], l->i);
    for (int k = 0; k < l->states; k++) {
        l->state[k] = tc_graph_maker_slot(m, n->out[k + 1]);
        TC_TRY(first_state(m, l, k, err));
        tc_graph_maker_bind(m, in[k + 1], l->state[k]);
    }
    for (int k = l->states + 2; k < n->nin; k++)
        tc_graph_maker_bind(m, in[k - 1], tc_graph_maker_slot(m, n->in[k]));
    bool tested = !always(n->in[0]) || !always(l->body->outputs.data[0].value);
    l->go = tested ? temporary(m, "go", 1) : -1;
    if (tested)
        copy(m, n, tc_graph_maker_slot(m, n->in[0]), l->go);
    return TC_OK;
}

static bool is_state(const loop *l, int slot) {
    for (int k = 0; k < l->states; k++)
        if (l->state[k] == slot)
            return true;
    return false;
}

/* Rows whose sizes vary lie densely, by a kernel that knows these. */
static void put_row(maker *m, const loop *l, const tc_graph_value *v, const tc_var *const *size, int from, int to) {
    int64_t *params = TC_NEW_N(m->p->arena, int64_t, 2);
    int *args = TC_NEW_N(m->p->arena, int, 4 + TC_GRAPH_MAX_DIMS * TC_GRAPH_ROW_FACTORS), nargs = 3;
    params[0] = tc_dtype_bytes(v->dtype);
    for (int d = 0; d < v->shape.ndim; d++) {
        const tc_var *factor[TC_GRAPH_ROW_FACTORS];
        int64_t times = v->shape.d[d];
        int n = size[d] ? tc_graph_maker_factors(size[d], factor, &times) : 0;
        params[0] *= times;
        for (int i = 0; i < n; i++)
            args[nargs++] = tc_graph_maker_slot(m, tc_graph_sized_value(m->sized, factor[i]));
    }
    params[1] = nargs - 3;
    args[0] = tc_graph_maker_constant(m, "parameters", params, 2);
    args[1] = from;
    args[2] = l->i;
    args[nargs++] = to;
    add(m, l->n, (tc_graph_launch){.library = tc_graph_library_row()}, args, nargs);
}

static tc_status add_row(maker *m, const loop *l, int k, tc_error *err) {
    const tc_var *has[TC_GRAPH_MAX_DIMS], *want[TC_GRAPH_MAX_DIMS];
    const tc_graph_value *v = l->body->outputs.data[k].value;
    int from = tc_graph_maker_slot(m, v), to = tc_graph_maker_slot(m, l->n->out[k]);
    if (tc_graph_maker_result_moves(m, l->n, k, l->body, has, want)) {
        int dense = temporary(m, v->name, m->slots.data[from].bytes);
        TC_TRY(copy_ended(m, l->n, l->body, v, has, want, from, dense, err));
        from = dense;
    }
    if (ends_somewhere(v, want) && m->slots.data[from].bytes > 0)
        put_row(m, l, v, want, from, to);
    else
        copy_row(m, l->n, from, to, l->i);
    return TC_OK;
}

/* *from: where the next state k lies, which is as the state does if it is put aside. */
static tc_status put_aside(maker *m, const loop *l, int k, int *from, tc_error *err) {
    const tc_var *has[TC_GRAPH_MAX_DIMS], *want[TC_GRAPH_MAX_DIMS];
    const tc_graph_value *v = l->body->outputs.data[k + 1].value;
    *from = tc_graph_maker_slot(m, v);
    bool moves = tc_graph_maker_result_moves(m, l->n, k + 1, l->body, has, want);
    if ((*from == l->state[k] && !moves) || !is_state(l, *from))
        return TC_OK;
    int aside = temporary(m, "aside", m->slots.data[*from].bytes);
    TC_TRY(copy_ended(m, l->n, l->body, v, has, want, *from, aside, err));
    *from = aside;
    return TC_OK;
}

static tc_status next_state(maker *m, const loop *l, int k, int from, tc_error *err) {
    const tc_var *has[TC_GRAPH_MAX_DIMS], *want[TC_GRAPH_MAX_DIMS];
    const tc_graph_value *v = l->body->outputs.data[k + 1].value;
    bool is_aside = from != tc_graph_maker_slot(m, v);
    (void)tc_graph_maker_result_moves(m, l->n, k + 1, l->body, has, want);
    return copy_ended(m, l->n, l->body, v, is_aside ? want : has, want, from, l->state[k], err);
}

/* The body's results go where they belong. A state that becomes another one is put aside before any is overwritten. */
static tc_status carry(maker *m, const loop *l, tc_error *err) {
    const tc_graph_node *n = l->n;
    int *next = TC_NEW_N(m->p->arena, int, l->states);
    for (int k = l->states + 1; k < n->nout; k++)
        TC_TRY(add_row(m, l, k, err));
    if (l->go >= 0)
        copy(m, n, tc_graph_maker_slot(m, l->body->outputs.data[0].value), l->go);
    for (int k = 0; k < l->states; k++)
        TC_TRY(put_aside(m, l, k, &next[k], err));
    for (int k = 0; k < l->states; k++)
        TC_TRY(next_state(m, l, k, next[k], err));
    return TC_OK;
}

static double trips(const tc_graph_node *n) {
    const tc_graph_value *v = n->in[1];
    if (v && v->constant && always(n->in[0]) && always(n->body[0]->outputs.data[0].value))
        return TC_MAX(1.0, (double)tc_load_i(TC_I64, v->constant->data, 0));
    return GUESSED_TRIPS;
}

static tc_status add_loop(maker *m, const tc_graph_node *n, tc_error *err) {
    loop l = {.n = n, .body = n->body[0], .states = (int)tc_graph_attr_states(n)};
    l.state = TC_NEW_N(m->p->arena, int, l.states);
    double times = m->times;
    TC_TRY(enter(m, &l, err));
    size_t arrays = m->arrays.len;
    int head = (int)m->launches.len;
    int full = n->in[1] ? decide(m, n, TC_CG_UNLESS_LESS, l.i, tc_graph_maker_slot(m, n->in[1]), 0) : -1;
    int stop = l.go >= 0 ? decide(m, n, TC_CG_UNLESS, l.go, 0, 0) : -1;
    m->times *= trips(n);
    TC_TRY(tc_graph_maker_add(m, l.body, err));
    TC_TRY(carry(m, &l, err));
    m->times = times;
    m->arrays.len = arrays; /* a run may make no trip */
    decide(m, n, TC_CG_AGAIN, l.i, 0, head);
    aim(m, full);
    aim(m, stop);
    return TC_OK;
}

tc_status tc_graph_maker_control(maker *m, const tc_graph_node *n, tc_error *err) {
    return n->op == TC_GRAPH_OP_IF ? add_if(m, n, err) : add_loop(m, n, err);
}
