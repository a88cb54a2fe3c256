/* `scan` of expansions.txt: a text is run for one step after the other. Where the number of steps is an integer, they are written
 * out. Where it is a value, they are the trips of a Loop, so that every run makes its own:
 *
 *     h, rows = scan f(n, 0, [h], x)   =>   h', rows = Loop(true, n, h, x): f(trip, h, x)
 *
 * The values that the arguments hold become inputs of the body, and keep their sizes there. Constants are constants of the body. */
#include <string.h>

#include "graph/ir/budget.h"
#include "graph/ops/expand_syntax.h"

typedef tc_graph_term term;
typedef tc_graph_scan scan;

/* The states and behind them the rows, which are NULL where no step is made. */
static term results(const scan *s, const term *state, tc_graph_value *rows) {
    term r = {.kind = TC_GRAPH_LIST, .n = s->nstate + 1, .list = TC_NEW_N(s->e->c->g->arena, term, s->nstate + 1)};
    memcpy(r.list, state, (size_t)s->nstate * sizeof *state);
    r.list[s->nstate] = tc_graph_term_value(rows);
    return r;
}

/* ---- steps that are written out ---- */

/* [..]  =>  [1, ..] */
static tc_graph_value *as_row(tc_graph_emitter *e, tc_graph_value *v) {
    tc_graph_shape s = {.ndim = v->shape.ndim + 1, .d = {1}};
    memcpy(s.d + 1, v->shape.d, sizeof s.d[0] * (size_t)v->shape.ndim);
    return tc_graph_em_reshape(e, v, &s);
}

static term written_out(const scan *s) {
    tc_arena *a = s->e->c->g->arena;
    int64_t steps = s->count.i;
    tc_graph_value **row = TC_NEW_N(a, tc_graph_value *, steps + 1);
    term *arg = TC_NEW_N(a, term, 1 + s->nstate + s->nmore);
    memcpy(arg + 1, s->state, (size_t)s->nstate * sizeof *arg);
    memcpy(arg + 1 + s->nstate, s->more, (size_t)s->nmore * sizeof *arg);
    for (int64_t i = 0; i < steps && s->e->status == TC_OK; i++) {
        int64_t t = s->backward ? steps - 1 - i : i;
        arg[0] = tc_graph_term_int(t);
        term next = s->step(s->of, s->e, arg);
        if (s->e->status != TC_OK)
            break;
        memcpy(arg + 1, next.list, (size_t)s->nstate * sizeof *arg);
        row[t] = as_row(s->e, next.list[s->nstate].v);
    }
    bool any = steps > 0 && s->e->status == TC_OK;
    return results(s, arg + 1, any ? tc_graph_em_concat(s->e, 0, row, (int)steps) : NULL);
}

/* ---- steps as trips ---- */

typedef struct trips {
    const scan *s;
    tc_graph_infer_ctx c; /* in the body */
    tc_graph_emitter e;
    tc_graph_values around, within; /* what the body reads of the graph around it, and as what */
} trips;

static tc_graph_value *captured(trips *t, tc_graph_value *v) {
    tc_graph *body = t->c.g;
    for (size_t i = 0; i < t->around.len; i++)
        if (t->around.data[i] == v)
            return t->within.data[i];
    const char *name = tc_graph_fresh_name(body, v->name);
    if (v->constant) {
        tc_graph_value *same = tc_graph_add_value(body, name, v->dtype, &v->shape);
        same->constant = v->constant;
        return same;
    }
    tc_graph_value *in = tc_graph_add_input(body, name, v->dtype, &v->shape);
    in->most = v->most;
    tc_push(&t->around, v);
    tc_push(&t->within, in);
    for (int d = 0; d < v->shape.ndim; d++)
        if (tc_graph_extent(v, d))
            in = tc_graph_em_sized(&t->e, in, d, captured(t, tc_graph_extent(v, d)));
    return in;
}

static term inside(trips *t, const term *v) {
    term r = *v;
    if (v->kind == TC_GRAPH_VALUE)
        r.v = captured(t, v->v);
    if (v->size)
        r.size = captured(t, v->size);
    if (v->kind == TC_GRAPH_LIST)
        r.list = TC_NEW_N(t->c.g->arena, term, v->n + 1);
    for (int64_t i = 0; v->kind == TC_GRAPH_LIST && i < v->n; i++)
        r.list[i] = inside(t, &v->list[i]);
    return r;
}

static void open_trips(trips *t, const scan *s) {
    tc_graph *g = s->e->c->g, *body = tc_graph_new(g->file);
    *t = (trips){.s = s, .c = {.g = body, .opset = TC_GRAPH_OPSET_MAX, .err = s->e->c->err}};
    body->name = tc_arena_strdup(body->arena, s->e->c->n->name);
    body->origin = g->origin;
    body->texts = tc_graph_texts_of(g);
    body->budget = g->budget;
    t->c.n = tc_graph_new_node(body, TC_GRAPH_OP_IDENTITY, body->name, NULL, 0);
    t->e = (tc_graph_emitter){&t->c, s->e->status};
}

/* The body: of the number of the trip, the states and what is captured; what goes on, the next states and the row of the step. */
static void fill(trips *t) {
    const scan *s = t->s;
    tc_graph *body = t->c.g;
    tc_graph_emitter *e = &t->e;
    term *arg = TC_NEW_N(body->arena, term, 1 + s->nstate + s->nmore);
    tc_graph_value *trip = tc_graph_add_input(body, "step", TC_I64, &(tc_graph_shape){0});
    trip->most = tc_graph_em_known(s->e, s->count.v).most - 1;
    for (int k = 0; k < s->nstate; k++) {
        const tc_graph_value *v = s->state[k].v;
        arg[1 + k] = tc_graph_term_value(v ? tc_graph_add_input(body, v->name, v->dtype, &v->shape) : NULL);
    }
    for (int k = 0; k < s->nmore; k++)
        arg[1 + s->nstate + k] = inside(t, &s->more[k]);
    if (s->backward)
        trip = em_sub(e, em_sub(e, captured(t, s->count.v), tc_graph_em_number(e, 1)), trip);
    arg[0] = tc_graph_term_value(trip);
    term next = s->step(s->of, e, arg);
    if (e->status != TC_OK)
        return;
    tc_graph_add_output(body, "on", tc_graph_em_ints(e, TC_BOOL, &(tc_graph_shape){0}, &(int64_t){1}));
    for (int k = 0; k <= s->nstate; k++)
        if (next.list[k].v)
            tc_graph_add_output(body, next.list[k].v->name, next.list[k].v);
}

static tc_graph_value *add_result(tc_graph *g, tc_graph_node *n, tc_dtype t, const tc_graph_shape *shape) {
    tc_graph_value *v = tc_graph_add_value(g, tc_graph_fresh_name(g, n->name), t, shape);
    v->producer = n;
    return n->out[n->nout++] = v;
}

/* The Loop in front of the node. Of the rows there are as many as trips. */
static term place(const trips *t) {
    const scan *s = t->s;
    tc_graph_emitter *e = s->e;
    tc_graph *g = e->c->g;
    const tc_graph_value *row = t->c.g->outputs.data[t->c.g->outputs.len - 1].value;
    tc_graph_value **in = TC_NEW_N(g->arena, tc_graph_value *, 2 + (size_t)s->nstate + t->around.len);
    term *state = TC_NEW_N(g->arena, term, s->nstate);
    int nin = 0;
    in[nin++] = tc_graph_em_ints(e, TC_BOOL, &(tc_graph_shape){0}, &(int64_t){1});
    in[nin++] = s->count.v;
    for (int k = 0; k < s->nstate; k++)
        if (s->state[k].v)
            in[nin++] = s->state[k].v;
    int states = nin - 2;
    memcpy(in + nin, t->around.data, t->around.len * sizeof *in);
    const char *name = tc_arena_printf(g->arena, "%s.steps", e->c->n->name);
    tc_graph_node *n = tc_graph_new_node(g, TC_GRAPH_OP_LOOP, name, in, nin + (int)t->around.len);
    n->out = TC_NEW_N(g->arena, tc_graph_value *, 2 + s->nstate);
    add_result(g, n, TC_I64, &(tc_graph_shape){0});
    for (int k = 0; k < s->nstate; k++) {
        const tc_graph_value *v = s->state[k].v;
        state[k] = tc_graph_term_value(v ? add_result(g, n, v->dtype, &v->shape) : NULL);
    }
    tc_graph_shape all = {.ndim = row->shape.ndim + 1, .d = {tc_graph_em_known(e, s->count.v).most}};
    memcpy(all.d + 1, row->shape.d, sizeof all.d[0] * (size_t)row->shape.ndim);
    tc_graph_value *rows = add_result(g, n, row->dtype, &all);
    n->body[0] = t->c.g;
    tc_graph_set_states(g, n, states);
    tc_push(&g->bodies, t->c.g);
    tc_push(&g->nodes, n);
    rows = tc_graph_em_sized(e, rows, 0, s->count.v);
    rows = s->backward ? tc_graph_em_slice(e, rows, 0, -1, INT64_MIN, -1) : rows;
    return results(s, state, tc_graph_em_blind(e, rows));
}

static term as_trips(const scan *s) {
    trips t;
    term r = {.kind = TC_GRAPH_NOTHING};
    open_trips(&t, s);
    fill(&t);
    s->e->status = t.e.status;
    if (t.e.status == TC_OK) {
        tc_graph_simplify(t.c.g);
        r = place(&t);
    } else {
        tc_graph_free(t.c.g);
    }
    tc_vec_free(&t.around);
    tc_vec_free(&t.within);
    return r;
}

term tc_graph_scan_run(const scan *s) {
    return s->count.kind == TC_GRAPH_INT ? written_out(s) : as_trips(s);
}
