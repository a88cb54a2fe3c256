/* Inference of recurrent layers: LSTM, GRU and RNN become their steps.
 *
 * What does not wait for the step before is done for all steps at once: P = X * W^T + bias is one matmul. The rest is written out
 * step by step:
 *
 *   for each step t:  gates = P[t] + H * R^T ;  H = f(gates, ...) ;  Y[t] = H
 *
 * P[t] is read with an index that is data, not part of the expression: so all steps are the same workload, hence one kernel that
 * is called with changing arguments. Time is always the first dimension here; `layout` is a transposition at both ends.
 *
 * Where the number of steps or of sequences varies, the steps are the trips of a Loop, so that a run makes its own, of its
 * sequences. Without any step the state stays what it was before the first. Without any sequence or hidden unit there is nothing to
 * compute. */
#include <inttypes.h>
#include <string.h>
#include <strings.h>

#include "graph/ops/functions.h"

/* Each step costs a few launches and a place in the plan, and constants of a state's size are made; beyond these the graph would
 * be unreasonably large. */
enum { MAX_STEPS = 4096, MAX_STATE = 1 << 24, MAX_FUNCTIONS = 3, MAX_GATES = 4 };

typedef struct function {
    tc_graph_op op; /* TC_GRAPH_OP_COUNT: affine */
    double alpha, beta;
    bool scaled; /* alpha * op(beta * x) */
} function;

typedef struct layer {
    tc_graph_emitter e;
    int gates, nfunctions, peepholes;
    int64_t steps, batch, inputs, hidden;
    int directions;
    bool backward, batch_first, input_forget, linear_before_reset;
    double clip; /* 0: none */
    tc_dtype dtype;
    tc_graph_value *steps_now, *batch_now; /* what varies, to which the results are cut; NULL: as many as it says */
    tc_graph_value *step;                  /* the number of the step in the body of a Loop; NULL: steps are written out */
    tc_graph_value *lengths;               /* of the sequences: [batch], or NULL: all steps */
    tc_graph_value *x;                     /* [steps * batch, inputs]; where these vary, dimensions of their own */
    tc_graph_value *mask;                  /* [steps, batch, 1, 1] bool: the step belongs to the sequence; NULL: all do */
    function functions[2 * MAX_FUNCTIONS]; /* of one direction after the other */
} layer;

/* What one direction works with. */
typedef struct direction {
    const function *f;
    bool backward;
    tc_graph_value *all;                  /* projected: [steps, batch, 1, gates * hidden] */
    tc_graph_value *projected[MAX_GATES]; /* [steps, batch, 1, hidden] */
    tc_graph_value *r;                    /* [hidden, gates * hidden] */
    tc_graph_value *r_bias;               /* GRU, linear before reset: added before the reset gate; or NULL */
    tc_graph_value *peephole[3];          /* of i, o, f: [hidden], or NULL */
    tc_graph_value *h, *c;                /* [batch, hidden] */
} direction;

/* ---- small expressions ---- */

static tc_graph_value *matmul(layer *l, tc_graph_value *a, tc_graph_value *b) {
    return tc_graph_em_op(&l->e, TC_GRAPH_OP_MATMUL, a, b);
}

static tc_graph_value *columns(layer *l, tc_graph_value *v, int64_t from, int64_t to) {
    int last = v->shape.ndim - 1;
    return from == 0 && to == v->shape.d[last] ? v : tc_graph_em_slice(&l->e, v, last, from, to, 1);
}

/* Part k of [.., gates * hidden]. */
static tc_graph_value *gate(layer *l, tc_graph_value *v, int k) {
    return columns(l, v, k * l->hidden, (k + 1) * l->hidden);
}

static tc_graph_value *clipped(layer *l, tc_graph_value *v) {
    if (!(l->clip > 0))
        return v;
    return em_by(&l->e, TC_GRAPH_OP_MAX, em_by(&l->e, TC_GRAPH_OP_MIN, v, l->clip), -l->clip);
}

static tc_graph_value *apply(layer *l, const function *f, tc_graph_value *v) {
    tc_graph_emitter *e = &l->e;
    if (f->op == TC_GRAPH_OP_COUNT)
        return em_by(e, TC_GRAPH_OP_ADD, em_by(e, TC_GRAPH_OP_MUL, v, f->alpha), f->beta);
    if (f->scaled)
        return em_by(e, TC_GRAPH_OP_MUL, em_unary(e, f->op, em_by(e, TC_GRAPH_OP_MUL, v, f->beta)), f->alpha);
    tc_graph_node *n = tc_graph_em_node(e, f->op, &v, 1);
    bool has_alpha = f->op == TC_GRAPH_OP_LEAKY_RELU || f->op == TC_GRAPH_OP_THRESHOLDED_RELU || f->op == TC_GRAPH_OP_ELU ||
                     f->op == TC_GRAPH_OP_HARD_SIGMOID;
    if (has_alpha)
        tc_graph_set_alpha(e->c->g, n, f->alpha);
    if (f->op == TC_GRAPH_OP_HARD_SIGMOID)
        tc_graph_set_beta(e->c->g, n, f->beta);
    return tc_graph_em_place(e, n);
}

/* Clipped, then activated by function k of the direction. */
static tc_graph_value *activated(layer *l, const direction *d, int k, tc_graph_value *v) {
    return apply(l, &d->f[k], clipped(l, v));
}

static tc_graph_value *one_minus(layer *l, tc_graph_value *v) {
    return em_sub(&l->e, tc_graph_em_scalar(&l->e, l->dtype, 1), v);
}

static bool is_empty(const layer *l) {
    return l->steps == 0 || l->batch == 0 || l->hidden == 0;
}

static tc_graph_value *zeros(layer *l, const tc_graph_shape *s) {
    double *v = TC_NEW_N(l->e.c->g->arena, double, tc_graph_shape_count(s) + 1);
    return tc_graph_em_floats(&l->e, l->dtype, s, v);
}

/* v[t] of v [steps, batch, 1, ..]. The last index is -1 so that the three are never equal, which would make them part of the
 * expression; it addresses the dimension of 1. */
static tc_graph_value *at_step(layer *l, tc_graph_value *v, int64_t t) {
    if (l->step) {
        tc_graph_value *row = tc_graph_em_gather(&l->e, TC_GRAPH_OP_GATHER, v, l->step, 0);
        return tc_graph_em_reshape(&l->e, row, &(tc_graph_shape){2, {l->batch, v->shape.d[3]}});
    }
    tc_graph_shape s = {2, {l->batch, 3}};
    int64_t *index = TC_NEW_N(l->e.c->g->arena, int64_t, 3 * l->batch);
    for (int64_t b = 0; b < l->batch; b++) {
        index[3 * b] = t;
        index[3 * b + 1] = b;
        index[3 * b + 2] = -1;
    }
    return tc_graph_em_op(&l->e, TC_GRAPH_OP_GATHER_ND, v, tc_graph_em_ints(&l->e, TC_I64, &s, index));
}

/* v + part k of the projection of step t. Each gate reads its own part, so that its kernel does. */
static tc_graph_value *plus_projected(layer *l, const direction *d, tc_graph_value *v, int k, int64_t t) {
    return em_add(&l->e, v, at_step(l, d->projected[k], t));
}

/* ---- one step of each kind: they replace d->h (and d->c) by the next ---- */

static void rnn_step(layer *l, direction *d, int64_t t) {
    d->h = activated(l, d, 0, plus_projected(l, d, matmul(l, d->h, d->r), 0, t));
}

static void gru_step(layer *l, direction *d, int64_t t) {
    tc_graph_emitter *e = &l->e;
    tc_graph_value *h = d->h, *next;
    tc_graph_value *q = matmul(l, h, l->linear_before_reset ? d->r : columns(l, d->r, 0, 2 * l->hidden));
    if (l->linear_before_reset)
        q = em_add(e, q, d->r_bias);
    tc_graph_value *z = activated(l, d, 0, plus_projected(l, d, gate(l, q, 0), 0, t));
    tc_graph_value *r = activated(l, d, 0, plus_projected(l, d, gate(l, q, 1), 1, t));
    if (l->linear_before_reset)
        next = em_mul(e, r, gate(l, q, 2));
    else
        next = matmul(l, em_mul(e, r, h), gate(l, d->r, 2));
    next = activated(l, d, 1, plus_projected(l, d, next, 2, t));
    d->h = em_add(e, em_mul(e, one_minus(l, z), next), em_mul(e, z, h));
}

/* Gate k of the step before it is activated; peephole p looks at the cell. */
static tc_graph_value *lstm_gate(layer *l, const direction *d, tc_graph_value *q, int k, int p, int64_t t) {
    tc_graph_value *v = plus_projected(l, d, gate(l, q, k), k, t), *weight = p < 0 ? NULL : d->peephole[p];
    return weight ? em_add(&l->e, v, em_mul(&l->e, weight, d->c)) : v;
}

/* Gates in ONNX's order: i, o, f, c. Clipping bounds the gates, not the cell. */
static void lstm_step(layer *l, direction *d, int64_t t) {
    tc_graph_emitter *e = &l->e;
    tc_graph_value *q = matmul(l, d->h, d->r);
    tc_graph_value *i = activated(l, d, 0, lstm_gate(l, d, q, 0, 0, t));
    tc_graph_value *f = l->input_forget ? one_minus(l, i) : activated(l, d, 0, lstm_gate(l, d, q, 2, 2, t));
    tc_graph_value *update = activated(l, d, 1, lstm_gate(l, d, q, 3, -1, t));
    d->c = em_add(e, em_mul(e, f, d->c), em_mul(e, i, update));
    tc_graph_value *o = activated(l, d, 0, lstm_gate(l, d, q, 1, 1, t));
    d->h = em_mul(e, o, apply(l, &d->f[2], d->c));
}

typedef void step_fn(layer *l, direction *d, int64_t t);

/* ---- directions ---- */

/* Row d of [directions, ..], without that dimension. */
static tc_graph_value *row(layer *l, tc_graph_value *v, int d) {
    v = v->shape.d[0] > 1 ? tc_graph_em_slice(&l->e, v, 0, d, d + 1, 1) : v;
    return tc_graph_em_one(&l->e, TC_GRAPH_OP_SQUEEZE, v, 0);
}

static tc_graph_value *input(const layer *l, int k) {
    return (tc_graph_value *)(uintptr_t)tc_graph_in(l->e.c, k);
}

static tc_graph_value *swapped(layer *l, tc_graph_value *v) {
    return tc_graph_em_transpose(&l->e, v, (int64_t[]){1, 0, 2});
}

/* The state before the first step: input k, or zero. */
static tc_graph_value *initial(layer *l, int k, int d) {
    tc_graph_value *v = input(l, k);
    if (!v)
        return zeros(l, &(tc_graph_shape){2, {l->batch, l->hidden}});
    return row(l, l->batch_first ? swapped(l, v) : v, d);
}

/* The bias that can be added for all steps at once; what cannot goes to d->r_bias. */
static tc_graph_value *bias_of(layer *l, direction *dir, int d) {
    tc_graph_emitter *e = &l->e;
    int64_t n = l->gates * l->hidden;
    tc_graph_shape part = {1, {n - l->hidden}}, last = {1, {l->hidden}};
    tc_graph_value *both = input(l, 3) ? row(l, input(l, 3), d) : zeros(l, &(tc_graph_shape){1, {2 * n}});
    tc_graph_value *w = columns(l, both, 0, n), *r = columns(l, both, n, 2 * n);
    if (l->gates != 3 || !l->linear_before_reset)
        return em_add(e, w, r);
    tc_graph_value *early[] = {columns(l, r, 0, n - l->hidden), zeros(l, &last)};
    tc_graph_value *late[] = {zeros(l, &part), columns(l, r, n - l->hidden, n)};
    dir->r_bias = tc_graph_em_concat(e, 0, late, 2);
    return em_add(e, w, tc_graph_em_concat(e, 0, early, 2));
}

static void open_direction(layer *l, int d, direction *dir) {
    static const int64_t flip[] = {1, 0};
    tc_graph_emitter *e = &l->e;
    *dir = (direction){.f = l->functions + d * l->nfunctions, .backward = l->backward || d == 1};
    dir->h = initial(l, 5, d);
    dir->c = l->peepholes ? initial(l, 6, d) : NULL;
    if (is_empty(l))
        return;
    tc_graph_value *w = tc_graph_em_transpose(e, row(l, input(l, 1), d), flip);
    dir->r = tc_graph_em_transpose(e, row(l, input(l, 2), d), flip);
    tc_graph_value *p = em_add(e, matmul(l, l->x, w), bias_of(l, dir, d));
    dir->all = tc_graph_em_reshape(e, p, &(tc_graph_shape){4, {l->steps, l->batch, 1, l->gates * l->hidden}});
    for (int k = 0; k < l->gates; k++)
        dir->projected[k] = gate(l, dir->all, k);
    tc_graph_value *peepholes = l->peepholes && input(l, 7) ? row(l, input(l, 7), d) : NULL;
    for (int k = 0; k < 3 && peepholes; k++)
        dir->peephole[k] = gate(l, peepholes, k);
}

/* Steps beyond a sequence's end change nothing and give zeros. */
static tc_graph_value *run_step(layer *l, direction *d, step_fn *step, int64_t t) {
    tc_graph_emitter *e = &l->e;
    tc_graph_value *h = d->h, *c = d->c;
    step(l, d, t);
    if (!l->mask)
        return d->h;
    tc_graph_value *inside = at_step(l, l->mask, t), *y = d->h;
    d->h = tc_graph_em_where(e, inside, y, h);
    if (c)
        d->c = tc_graph_em_where(e, inside, d->c, c);
    return tc_graph_em_where(e, inside, y, tc_graph_em_scalar(e, l->dtype, 0));
}

/* All steps: the results [steps, 1, batch, hidden] when `wanted`; the last state is left in d. */
static tc_graph_value *run_direction(layer *l, direction *d, step_fn *step, bool wanted) {
    tc_graph_value **y = TC_NEW_N(l->e.c->g->arena, tc_graph_value *, l->steps);
    tc_graph_shape one = {4, {1, 1, l->batch, l->hidden}};
    for (int64_t i = 0; i < l->steps && l->e.status == TC_OK; i++) {
        int64_t t = d->backward ? l->steps - 1 - i : i;
        tc_graph_value *h = run_step(l, d, step, t);
        y[t] = wanted ? tc_graph_em_reshape(&l->e, h, &one) : h;
    }
    return wanted && l->e.status == TC_OK ? tc_graph_em_concat(&l->e, 0, y, (int)l->steps) : NULL;
}

/* ---- steps as trips ---- */

enum { MAX_CAPTURED = 10 };

typedef struct trips {
    tc_graph_emitter around;
    tc_graph *body;
    tc_graph_infer_ctx c;             /* in the body */
    tc_graph_value *in[MAX_CAPTURED]; /* what the body reads of the graph around, but for constants */
    int nin;
} trips;

static tc_graph_value *inside(trips *t, tc_graph_value *v) {
    const char *name = v ? tc_graph_fresh_name(t->body, v->name) : NULL;
    if (!v)
        return NULL;
    if (v->constant) {
        tc_graph_value *same = tc_graph_add_value(t->body, name, v->dtype, &v->shape);
        same->constant = v->constant;
        return same;
    }
    tc_graph_value *in = tc_graph_add_input(t->body, name, v->dtype, &v->shape);
    in->most = v->most;
    t->in[t->nin++] = v;
    return in;
}

/* v [steps, ..], of which a body reads no more steps than there are. */
static tc_graph_value *steps_inside(layer *l, trips *t, tc_graph_value *v, tc_graph_value *steps) {
    tc_graph_value *in = inside(t, v);
    return in && l->steps_now ? tc_graph_em_sized(&l->e, in, 0, steps) : in;
}

static void open_trips(layer *l, trips *t) {
    tc_graph *g = l->e.c->g;
    *t = (trips){.around = l->e, .body = tc_graph_new(g->file)};
    t->body->name = tc_arena_strdup(t->body->arena, l->e.c->n->name);
    t->body->origin = g->origin;
    t->c = (tc_graph_infer_ctx){.g = t->body, .opset = TC_GRAPH_OPSET_MAX, .err = l->e.c->err};
    t->c.n = tc_graph_new_node(t->body, TC_GRAPH_OP_IDENTITY, t->body->name, NULL, 0);
    l->e = (tc_graph_emitter){&t->c, l->e.status};
}

/* The body: of the number of the trip, and the state, what goes on, the next state, and the result of the step, [1, batch,
 * hidden]. */
static void fill_trip(layer *l, trips *t, const direction *d, step_fn *step, bool wanted) {
    tc_graph_emitter *e = &l->e;
    tc_graph_shape state = {2, {l->batch, l->hidden}}, one = {3, {1, l->batch, l->hidden}};
    direction in = *d;
    tc_graph_value *mask = l->mask, *trip = tc_graph_add_input(t->body, "step", TC_I64, &(tc_graph_shape){0});
    trip->most = l->steps - 1;
    in.h = tc_graph_add_input(t->body, "h", l->dtype, &state);
    in.c = d->c ? tc_graph_add_input(t->body, "c", l->dtype, &state) : NULL;
    tc_graph_value *steps = l->steps_now ? inside(t, l->steps_now) : tc_graph_em_number(e, l->steps);
    in.all = steps_inside(l, t, d->all, steps);
    for (int k = 0; k < l->gates; k++)
        in.projected[k] = gate(l, in.all, k);
    in.r = inside(t, d->r);
    in.r_bias = inside(t, d->r_bias);
    for (int k = 0; k < 3; k++)
        in.peephole[k] = inside(t, d->peephole[k]);
    l->mask = steps_inside(l, t, mask, steps);
    l->step = d->backward ? em_sub(e, em_sub(e, steps, tc_graph_em_number(e, 1)), trip) : trip;
    tc_graph_value *y = tc_graph_em_reshape(e, run_step(l, &in, step, 0), &one);
    tc_graph_add_output(t->body, "on", tc_graph_em_ints(e, TC_BOOL, &(tc_graph_shape){0}, &(int64_t){1}));
    tc_graph_add_output(t->body, "h", in.h);
    if (in.c)
        tc_graph_add_output(t->body, "c", in.c);
    if (wanted)
        tc_graph_add_output(t->body, "y", y);
    l->mask = mask;
    l->step = NULL;
}

/* Result k of the Loop, which ends where this run's steps and sequences do. */
static tc_graph_value *trips_result(layer *l, tc_graph_node *n, int k, const tc_graph_shape *s, int steps, int batch) {
    tc_graph *g = l->e.c->g;
    tc_graph_value *v = tc_graph_add_value(g, tc_graph_fresh_name(g, n->name), l->dtype, s);
    v->producer = n;
    n->out[k] = v;
    if (l->steps_now && steps >= 0)
        v = tc_graph_em_sized(&l->e, v, steps, l->steps_now);
    return l->batch_now ? tc_graph_em_sized(&l->e, v, batch, l->batch_now) : v;
}

/* The Loop in place of the steps of d. */
static tc_graph_value *place_trips(layer *l, trips *t, direction *d, bool wanted) {
    tc_graph_emitter *e = &l->e;
    tc_graph *g = e->c->g;
    tc_graph_value *in[4 + MAX_CAPTURED], *y = NULL;
    int nin = 0, states = d->c ? 2 : 1;
    in[nin++] = tc_graph_em_ints(e, TC_BOOL, &(tc_graph_shape){0}, &(int64_t){1});
    in[nin++] = l->steps_now ? l->steps_now : tc_graph_em_number(e, l->steps);
    in[nin++] = d->h;
    if (d->c)
        in[nin++] = d->c;
    memcpy(in + nin, t->in, (size_t)t->nin * sizeof *in);
    const char *name = tc_arena_printf(g->arena, "%s.steps", e->c->n->name);
    tc_graph_node *n = tc_graph_new_node(g, TC_GRAPH_OP_LOOP, name, in, nin + t->nin);
    n->nout = 1 + states + wanted;
    n->out = TC_NEW_N(g->arena, tc_graph_value *, n->nout);
    n->out[0] = tc_graph_add_value(g, tc_graph_fresh_name(g, name), TC_I64, &(tc_graph_shape){0});
    n->out[0]->producer = n;
    n->body[0] = t->body;
    tc_graph_set_states(g, n, states);
    tc_push(&g->bodies, t->body);
    tc_push(&g->nodes, n);
    d->h = trips_result(l, n, 1, &(tc_graph_shape){2, {l->batch, l->hidden}}, -1, 0);
    if (d->c)
        d->c = trips_result(l, n, 2, &(tc_graph_shape){2, {l->batch, l->hidden}}, -1, 0);
    if (wanted)
        y = trips_result(l, n, 1 + states, &(tc_graph_shape){4, {l->steps, 1, l->batch, l->hidden}}, 0, 2);
    if (wanted && d->backward)
        y = tc_graph_em_slice(e, y, 0, -1, INT64_MIN, -1);
    d->h = tc_graph_em_blind(e, d->h);
    d->c = d->c ? tc_graph_em_blind(e, d->c) : NULL;
    return wanted ? tc_graph_em_blind(e, y) : NULL;
}

/* As run_direction. */
static tc_graph_value *run_trips(layer *l, direction *d, step_fn *step, bool wanted) {
    trips t;
    open_trips(l, &t);
    fill_trip(l, &t, d, step, wanted);
    t.around.status = l->e.status;
    l->e = t.around;
    if (l->e.status != TC_OK) {
        tc_graph_free(t.body);
        return NULL;
    }
    tc_graph_simplify(t.body);
    return place_trips(l, &t, d, wanted);
}

/* ---- reading the node ---- */

static const struct {
    const char *name;
    function f;
    bool alpha, beta; /* takes from activation_alpha and activation_beta */
} known_functions[] = {
    {"Relu", {TC_GRAPH_OP_RELU, 0, 0, false}, false, false},
    {"Tanh", {TC_GRAPH_OP_TANH, 0, 0, false}, false, false},
    {"Sigmoid", {TC_GRAPH_OP_SIGMOID, 0, 0, false}, false, false},
    {"Softsign", {TC_GRAPH_OP_SOFTSIGN, 0, 0, false}, false, false},
    {"Softplus", {TC_GRAPH_OP_SOFTPLUS, 0, 0, false}, false, false},
    {"Affine", {TC_GRAPH_OP_COUNT, 1, 0, false}, true, true},
    {"LeakyRelu", {TC_GRAPH_OP_LEAKY_RELU, 0.01, 0, false}, true, false},
    {"ThresholdedRelu", {TC_GRAPH_OP_THRESHOLDED_RELU, 1, 0, false}, true, false},
    {"ScaledTanh", {TC_GRAPH_OP_TANH, 1, 1, true}, true, true},
    {"HardSigmoid", {TC_GRAPH_OP_HARD_SIGMOID, 0.2, 0.5, false}, true, true},
    {"Elu", {TC_GRAPH_OP_ELU, 1, 0, false}, true, false},
};

static bool find_function(const char *name, size_t len, size_t *at) {
    for (*at = 0; *at < TC_LEN(known_functions); (*at)++)
        if (strlen(known_functions[*at].name) == len && strncasecmp(known_functions[*at].name, name, len) == 0)
            return true;
    return false;
}

static const float *float_list(const tc_graph_node *n, tc_graph_attr_id id, size_t *len) {
    const tc_graph_attr *a = tc_graph_attr_find(n, id);
    *len = a ? a->len : 0;
    return a ? a->floats : NULL;
}

/* Import joins the names by commas. Those that take parameters find them in order. */
static tc_status read_functions(layer *l, const char *defaults) {
    tc_graph_infer_ctx *c = l->e.c;
    const char *given = tc_graph_attr_activations(c->n);
    const char *p = *given ? given : l->directions == 1 ? defaults : tc_arena_printf(c->g->arena, "%s,%s", defaults, defaults);
    size_t nalpha, nbeta, a = 0, b = 0, at;
    const float *alpha = float_list(c->n, TC_ATTR_activation_alpha, &nalpha),
                *beta = float_list(c->n, TC_ATTR_activation_beta, &nbeta);
    int n = 0, want = l->directions * l->nfunctions;
    for (; *p && n < want; n++) {
        size_t len = strcspn(p, ",");
        if (!find_function(p, len, &at))
            return tc_graph_node_fail(c, "activations: '%.*s' is not a known function", (int)len, p);
        function *f = &l->functions[n];
        *f = known_functions[at].f;
        if (known_functions[at].alpha && a < nalpha)
            f->alpha = (double)alpha[a++];
        if (known_functions[at].beta && b < nbeta)
            f->beta = (double)beta[b++];
        p += len + (p[len] == ',');
    }
    if (n != want || *p)
        return tc_graph_node_fail(c, "activations must name %d functions: %d for each direction", want, l->nfunctions);
    return TC_OK;
}

static tc_status want_shape(layer *l, int k, const char *what, const tc_graph_shape *want) {
    tc_graph_infer_ctx *c = l->e.c;
    const tc_graph_value *v = tc_graph_in(c, k);
    if (!v || (tc_graph_shape_equal(&v->shape, want) && v->dtype == l->dtype))
        return TC_OK;
    return tc_graph_node_fail(c, "input %d (%s) must be %s, but is %s", k, what, tc_graph_type_str(c->g->arena, l->dtype, want),
                              tc_graph_type_str(c->g->arena, v->dtype, &v->shape));
}

static tc_status read_direction(layer *l) {
    const char *s = tc_graph_attr_direction_or(l->e.c->n, "forward");
    l->backward = strcmp(s, "reverse") == 0;
    l->directions = strcmp(s, "bidirectional") == 0 ? 2 : 1;
    if (l->directions == 1 && !l->backward && strcmp(s, "forward") != 0)
        return tc_graph_node_fail(l->e.c, "direction is '%s', but must be forward, reverse or bidirectional", s);
    return TC_OK;
}

static tc_status read_sizes(layer *l) {
    tc_graph_infer_ctx *c = l->e.c;
    const tc_graph_value *x = tc_graph_in(c, 0), *r = tc_graph_in(c, 2);
    if (x->shape.ndim != 3 || r->shape.ndim != 3)
        return tc_graph_node_fail(c, "inputs 0 (X) and 2 (R) must have 3 dimensions");
    l->dtype = x->dtype;
    l->steps = x->shape.d[l->batch_first ? 1 : 0];
    l->batch = x->shape.d[l->batch_first ? 0 : 1];
    l->inputs = x->shape.d[2];
    l->hidden = r->shape.d[2];
    int64_t given = tc_graph_attr_hidden_size_or(c->n, l->hidden);
    if (given != l->hidden)
        return tc_graph_node_fail(c, "hidden_size is %" PRId64 ", but input 2 (R) is made for %" PRId64, given, l->hidden);
    if (l->steps > MAX_STEPS)
        return tc_graph_node_refuse(c, TC_ERROR_UNSUPPORTED,
                                    "it has %" PRId64 " steps; at most %d are supported, give a shorter length with --shape",
                                    l->steps, MAX_STEPS);
    if (l->hidden > 0 && l->batch > MAX_STATE / l->hidden)
        return tc_graph_node_fail(c, "the state of %" PRId64 " sequences with %" PRId64 " hidden units has more than %d elements",
                                  l->batch, l->hidden, MAX_STATE);
    return TC_OK;
}

static tc_status check_operands(layer *l) {
    int64_t d = l->directions, n = l->gates * l->hidden;
    tc_graph_shape state = {3, {d, l->batch, l->hidden}};
    if (l->batch_first)
        state = (tc_graph_shape){3, {l->batch, d, l->hidden}};
    TC_TRY(tc_graph_want_float(l->e.c, 0));
    TC_TRY(want_shape(l, 1, "W", &(tc_graph_shape){3, {d, n, l->inputs}}));
    TC_TRY(want_shape(l, 2, "R", &(tc_graph_shape){3, {d, n, l->hidden}}));
    TC_TRY(want_shape(l, 3, "B", &(tc_graph_shape){2, {d, 2 * n}}));
    TC_TRY(want_shape(l, 5, "initial_h", &state));
    TC_TRY(want_shape(l, 6, "initial_c", &state));
    return want_shape(l, 7, "P", &(tc_graph_shape){2, {d, 3 * l->hidden}});
}

static tc_status check_lengths(layer *l, const tc_graph_value *v, bool *all_full) {
    tc_graph_infer_ctx *c = l->e.c;
    const int64_t *len;
    size_t n;
    *all_full = false;
    if (v->shape.ndim != 1 || v->shape.d[0] != l->batch || !tc_dtype_is_int(v->dtype))
        return tc_graph_node_fail(c, "input 4 (sequence_lens) must be a list of %" PRId64 " integers, one for each sequence",
                                  l->batch);
    if (!v->constant)
        return TC_OK;
    TC_TRY(tc_graph_want_ints(c, 4, "sequence_lens", &len, &n));
    *all_full = true;
    for (size_t i = 0; i < n; i++) {
        if (len[i] < 0 || len[i] > l->steps)
            return tc_graph_node_fail(c, "input 4 (sequence_lens): element %zu is %" PRId64 ", but X has %" PRId64 " steps", i,
                                      len[i], l->steps);
        *all_full &= len[i] == l->steps;
    }
    return TC_OK;
}

/* Operands as large as they may be. */
static tc_status widen_operands(layer *l) {
    enum { X, LENGTHS = 4, STATE, CELL };
    tc_graph_emitter *e = &l->e;
    tc_graph_node *n = e->c->n;
    tc_graph_value *x = n->in[X];
    int batch = l->batch_first ? 0 : 1;
    l->lengths = input(l, LENGTHS);
    if (x->shape.ndim != 3)
        return TC_OK; /* which is refused */
    l->batch_now = tc_graph_extent(x, batch);
    l->steps_now = tc_graph_extent(x, 1 - batch);
    for (int k = 0; k < n->nin; k++) {
        tc_graph_value *v = n->in[k];
        int own = k == X || k == STATE || k == CELL ? batch : k == LENGTHS ? 0 : -1;
        for (int d = 0; v && d < v->shape.ndim; d++) {
            if (d == own)
                TC_TRY(tc_graph_meet(e, x, batch, v, d, false));
            else if (tc_graph_extent(v, d) && !(k == X && d == 1 - batch))
                return tc_graph_dynamic_refuse(e->c, k, d);
        }
    }
    for (int k = 0; k < n->nin; k++)
        if (tc_graph_is_dynamic(n->in[k]))
            n->in[k] = tc_graph_em_blind(e, n->in[k]);
    l->lengths = input(l, LENGTHS);
    return e->status;
}

/* mask[t, b] = t < length[b] */
static tc_status make_mask(layer *l) {
    tc_graph_value *v = l->lengths;
    bool all_full;
    if (!v)
        return TC_OK;
    TC_TRY(check_lengths(l, v, &all_full));
    if (all_full || is_empty(l))
        return TC_OK;
    tc_graph_emitter *e = &l->e;
    int64_t *count = TC_NEW_N(e->c->g->arena, int64_t, l->steps);
    for (int64_t t = 0; t < l->steps; t++)
        count[t] = t;
    tc_graph_value *t = tc_graph_em_ints(e, TC_I64, &(tc_graph_shape){2, {l->steps, 1}}, count);
    tc_graph_value *inside = em_less(e, t, tc_graph_em_cast(e, v, TC_I64));
    l->mask = tc_graph_em_reshape(e, inside, &(tc_graph_shape){4, {l->steps, l->batch, 1, 1}});
    return e->status;
}

static tc_status read_layer(layer *l, const char *defaults) {
    const tc_graph_node *n = l->e.c->n;
    l->batch_first = tc_graph_attr_layout(n) != 0;
    l->input_forget = tc_graph_attr_input_forget(n) != 0;
    l->linear_before_reset = tc_graph_attr_linear_before_reset(n) != 0;
    l->clip = tc_graph_attr_clip(n);
    TC_TRY(read_direction(l));
    TC_TRY(widen_operands(l));
    TC_TRY(read_sizes(l));
    TC_TRY(check_operands(l));
    TC_TRY(read_functions(l, defaults));
    return make_mask(l);
}

/* ---- results ---- */

static tc_graph_value *cut(layer *l, tc_graph_value *v, int steps, int batch) {
    if (l->steps_now && steps >= 0)
        v = tc_graph_em_sized(&l->e, v, steps, l->steps_now);
    return l->batch_now ? tc_graph_em_sized(&l->e, v, batch, l->batch_now) : v;
}

/* [batch, hidden] of each direction to [directions, batch, hidden] */
static tc_graph_value *state(layer *l, tc_graph_value *const *v) {
    tc_graph_value *part[2];
    for (int d = 0; d < l->directions; d++)
        part[d] = tc_graph_em_reshape(&l->e, v[d], &(tc_graph_shape){3, {1, l->batch, l->hidden}});
    tc_graph_value *r = l->directions == 2 ? tc_graph_em_concat(&l->e, 0, part, 2) : part[0];
    return l->batch_first ? cut(l, swapped(l, r), -1, 0) : cut(l, r, -1, 1);
}

static tc_status build(layer *l, step_fn *step) {
    tc_graph_infer_ctx *c = l->e.c;
    tc_graph_emitter *e = &l->e;
    tc_graph_value *x = l->batch_first ? swapped(l, input(l, 0)) : input(l, 0), *y[2], *h[2], *cell[2];
    bool varies = l->steps_now || l->batch_now;
    const tc_graph_shape none = {4, {l->steps, 1, l->batch, l->hidden}};
    l->x = varies || is_empty(l) ? x : tc_graph_em_reshape(e, x, &(tc_graph_shape){2, {l->steps * l->batch, l->inputs}});
    for (int d = 0; d < l->directions; d++) {
        direction dir;
        open_direction(l, d, &dir);
        y[d] = is_empty(l) ? zeros(l, &none) : (varies ? run_trips : run_direction)(l, &dir, step, c->names[0] != NULL);
        h[d] = dir.h;
        cell[d] = dir.c;
    }
    TC_TRY(e->status);
    if (c->nout > 1 && c->names[1])
        tc_graph_em_output(e, 1, state(l, h));
    if (c->nout > 2 && c->names[2])
        tc_graph_em_output(e, 2, state(l, cell));
    if (!c->names[0]) {
        c->nout = 0; /* the node itself has nothing left to give */
        return e->status;
    }
    tc_graph_value *all = l->directions == 2 ? tc_graph_em_concat(e, 1, y, 2) : y[0];
    if (l->batch_first)
        all = tc_graph_em_transpose(e, all, (int64_t[]){2, 0, 1, 3});
    return tc_graph_em_finish(e, l->batch_first ? cut(l, all, 1, 0) : cut(l, all, 0, 2));
}

tc_status tc_graph_infer_lstm(tc_graph_infer_ctx *c) {
    layer l = {.e = {c, TC_OK}, .gates = 4, .nfunctions = 3, .peepholes = 3};
    TC_TRY(read_layer(&l, "Sigmoid,Tanh,Tanh"));
    return build(&l, lstm_step);
}

tc_status tc_graph_infer_gru(tc_graph_infer_ctx *c) {
    layer l = {.e = {c, TC_OK}, .gates = 3, .nfunctions = 2};
    TC_TRY(read_layer(&l, "Sigmoid,Tanh"));
    return build(&l, gru_step);
}

tc_status tc_graph_infer_rnn(tc_graph_infer_ctx *c) {
    layer l = {.e = {c, TC_OK}, .gates = 1, .nfunctions = 1};
    TC_TRY(read_layer(&l, "Tanh"));
    return build(&l, rnn_step);
}
