/* Numbers that the graph computes: shapes as models compute them are vectors put together from sizes. Their elements are looked
 * up through what only moves them, and are expressions of what is not computed of others (graph/ir/sizes.h).
 *
 * Each number, and each condition, is computed once. One that is computed of others asks for them by recursion. Since a model can
 * have chains of any length, only a few calls are within each other: where one more would be needed, all of them give up, and the
 * outermost call computes first what was missing, and then tries again (element). */
#include "graph/ir/sizes.h"
#include "graph/ops/dynamic.h"

enum {
    MOVES = 32, /* of a number or condition, one behind the other, that are looked through */
    NESTED = 8  /* calls within each other: with the floats between them (dynamic_float.c) 40 KB of stack for each graph */
};

static bool is_index_type(tc_dtype t) {
    return t == TC_I64 || t == TC_I32;
}

void tc_graph_look_through(tc_graph_value **v, int64_t *i) {
    for (int moves = 0; moves < MOVES && (*v)->producer; moves++) {
        const tc_graph_node *n = (*v)->producer;
        size_t len;
        if (n->op == TC_GRAPH_OP_CONCAT && (*v)->shape.ndim == 1) {
            int k = 0;
            for (; *i >= n->in[k]->shape.d[0]; k++)
                *i -= n->in[k]->shape.d[0];
            *v = n->in[k];
        } else if (tc_graph_keeps_memory(n)) {
            *v = n->in[0];
        } else if (n->op == TC_GRAPH_OP_CAST && is_index_type(n->in[0]->dtype) && is_index_type((*v)->dtype)) {
            *v = n->in[0];
        } else if (n->op == TC_GRAPH_OP_SLICE && (*v)->shape.ndim == 1) {
            *i = tc_graph_attr_starts(n, &len)[0] + *i * tc_graph_attr_steps(n, &len)[0];
            *v = n->in[0];
        } else if (n->op == TC_GRAPH_OP_GATHER && n->in[0]->shape.ndim == 1 && n->in[1]->constant) {
            int64_t at = tc_load_i(n->in[1]->dtype, n->in[1]->constant->data, *i), size = n->in[0]->shape.d[0];
            *i = at < 0 ? at + size : at;
            *v = n->in[0];
        } else {
            return;
        }
    }
}

/* ---- as expressions ---- */

/* Integer division of the graph truncates. */
static bool is_arithmetic(tc_graph_op op, tc_op *out) {
    static const struct {
        tc_graph_op op;
        tc_op te;
    } rows[] = {{TC_GRAPH_OP_ADD, TC_OP_ADD},  {TC_GRAPH_OP_SUB, TC_OP_SUB}, {TC_GRAPH_OP_MUL, TC_OP_MUL},
                {TC_GRAPH_OP_DIV, TC_OP_TDIV}, {TC_GRAPH_OP_MIN, TC_OP_MIN}, {TC_GRAPH_OP_MAX, TC_OP_MAX},
                {TC_GRAPH_OP_MOD, TC_OP_MOD}};
    for (size_t i = 0; i < TC_LEN(rows); i++)
        if (rows[i].op == op) {
            *out = rows[i].te;
            return true;
        }
    return false;
}

/* NULL, as below: something else is computed first. */
static const tc_expr *operand(tc_graph *g, const tc_graph_node *n, int k, int64_t i) {
    return tc_graph_number_of(g, n->in[k], tc_graph_shape_count(&n->in[k]->shape) == 1 ? 0 : i);
}

static const tc_expr *condition_of(tc_graph *g, tc_graph_value *v, int64_t i);

/* The range of element i of v, which is an input of a body: what the graph around knows of it. */
static tc_ival range_around(const tc_graph_sizes *s, const tc_graph_value *v, int64_t i) {
    tc_ival range = {v->most > 0 ? 0 : TC_NINF, v->most > 0 ? v->most : TC_INF};
    tc_graph_value *outer = s->around ? tc_graph_sizes_outer(s, v) : NULL;
    if (!outer || !is_index_type(outer->dtype))
        return range;
    return tc_ival_meet(range, tc_te_bounds(tc_graph_number_of(s->around, outer, i), tc_graph_sizes_of(s->around)->sure));
}

/* A quotient of sizes that is one number for all sizes which import assumes, as of windows: it may be so for larger ones. */
static const tc_expr *simple_number(tc_graph *g, const tc_expr *x) {
    tc_graph_sizes *s = g->sizes;
    const tc_expr *simple = tc_graph_sizes_simplify(s, x);
    tc_ival range = tc_te_bounds(simple, s->sure);
    if (simple->op != TC_OP_INT && range.lo == range.hi)
        simple = tc_i64(s->ctx, range.lo);
    if (x->op == TC_OP_DIV && simple->op == TC_OP_INT)
        tc_graph_note_end(g, tc_bin(s->ctx, TC_OP_EQ, x, simple));
    return simple;
}

static const tc_expr *arithmetic(tc_graph *g, const tc_graph_node *n, tc_op op, int64_t i) {
    tc_graph_sizes *s = g->sizes;
    const tc_expr *a = operand(g, n, 0, i), *b = operand(g, n, 1, i);
    if (!a || !b)
        return NULL;
    bool divides = op == TC_OP_TDIV || op == TC_OP_MOD;
    if (divides && tc_te_bounds(a, s->sure).lo >= 0 && tc_te_bounds(b, s->sure).lo >= 0)
        op = op == TC_OP_TDIV ? TC_OP_DIV : op; /* the same, and more is known of it */
    else if (op == TC_OP_MOD)
        return NULL;
    return tc_bin(s->ctx, op, a, b);
}

/* Of all elements of a vector. */
static const tc_expr *reduced(tc_graph *g, const tc_graph_node *n, tc_op op) {
    tc_graph_value *v = n->in[0];
    int64_t count = tc_graph_shape_count(&v->shape);
    const tc_expr *x = NULL;
    if (v->shape.ndim != 1 || count > TC_GRAPH_MAX_NUMBERS || tc_graph_is_dynamic(v))
        return NULL;
    for (int64_t i = 0; i < count; i++) {
        const tc_expr *next = tc_graph_number_of(g, v, i);
        if (!next)
            return NULL;
        x = x ? tc_bin(g->sizes->ctx, op, x, next) : next;
    }
    return x;
}

/* One of two numbers; where sizes do not decide which, *range is what both leave. */
static const tc_expr *chosen(tc_graph *g, const tc_graph_node *n, int64_t i, tc_ival *range) {
    const tc_expr *when = condition_of(g, n->in[0], tc_graph_shape_count(&n->in[0]->shape) == 1 ? 0 : i), *x, *y;
    int known = when ? tc_graph_decide(g, when) : -1;
    if (known >= 0)
        return operand(g, n, known ? 1 : 2, i);
    x = operand(g, n, 1, i), y = operand(g, n, 2, i);
    if (!x || !y)
        return NULL;
    tc_ival a = tc_te_bounds(x, g->sizes->sure), b = tc_te_bounds(y, g->sizes->sure);
    *range = (tc_ival){TC_MIN(a.lo, b.lo), TC_MAX(a.hi, b.hi)};
    return NULL;
}

/* What the node makes; NULL: at most *range is known of it. */
static const tc_expr *result_of(tc_graph *g, const tc_graph_node *n, int64_t i, tc_ival *range) {
    tc_op op;
    if (n->nin == 2 && is_arithmetic(n->op, &op))
        return arithmetic(g, n, op, i);
    switch (n->op) {
    case TC_GRAPH_OP_REDUCE_SUM:
        return reduced(g, n, TC_OP_ADD);
    case TC_GRAPH_OP_REDUCE_PROD:
        return reduced(g, n, TC_OP_MUL);
    case TC_GRAPH_OP_REDUCE_MIN:
        return reduced(g, n, TC_OP_MIN);
    case TC_GRAPH_OP_REDUCE_MAX:
        return reduced(g, n, TC_OP_MAX);
    case TC_GRAPH_OP_WHERE:
        return chosen(g, n, i, range);
    case TC_GRAPH_OP_CAST:
        return tc_graph_cast_of(g, n->in[0], i, range);
    default:
        return NULL;
    }
}

static const tc_expr *made_of(tc_graph *g, tc_graph_value *v, int64_t i) {
    tc_graph_sizes *s = tc_graph_sizes_of(g);
    tc_ival range = range_around(s, v, i);
    if (v->constant && is_index_type(v->dtype))
        return tc_i64(s->ctx, tc_load_i(v->dtype, v->constant->data, i));
    if (v->producer && is_index_type(v->dtype) && v->shape.ndim <= 1 && !tc_graph_is_dynamic(v)) {
        const tc_expr *x = result_of(g, v->producer, i, &range);
        if (s->first.v)
            return NULL;
        x = x && tc_graph_sizes_is_small(x) ? simple_number(g, x) : NULL;
        if (x && tc_graph_sizes_is_small(x))
            return x;
    }
    return tc_graph_sizes_unknown(s, v->name, range);
}

/* ---- in which order ---- */

static const tc_expr *truth_of(tc_graph *g, tc_graph_value *v, int64_t i);

static bool is_known(const tc_graph_sizes *s, const tc_graph_element *e, const tc_expr **x) {
    if (e->is_condition)
        return tc_graph_sizes_truth(s, e->v, e->i, x);
    *x = tc_graph_sizes_number(s, e->v, e->i);
    return *x != NULL;
}

/* s->first says whether something else is needed first. */
static const tc_expr *make(tc_graph *g, const tc_graph_element *e) {
    tc_graph_sizes *s = g->sizes;
    s->nested++;
    const tc_expr *x = e->is_condition ? truth_of(g, e->v, e->i) : made_of(g, e->v, e->i);
    s->nested--;
    if (s->first.v)
        return NULL;
    if (e->is_condition)
        tc_graph_sizes_set_truth(s, e->v, e->i, x);
    else
        tc_graph_sizes_set_number(s, e->v, e->i, x);
    return x;
}

/* *e, and before it what it needs: s->first, what that needs, and so on. */
static const tc_expr *make_in_order(tc_graph *g, const tc_graph_element *e) {
    tc_graph_sizes *s = g->sizes;
    TC_VEC(tc_graph_element) waiting = {0};
    const tc_expr *x = NULL;
    tc_push(&waiting, *e);
    while (waiting.len) {
        if (s->first.v)
            tc_push(&waiting, s->first);
        s->first.v = NULL;
        tc_graph_element next = waiting.data[waiting.len - 1];
        x = make(g, &next);
        waiting.len -= !s->first.v;
    }
    tc_vec_free(&waiting);
    return x;
}

/* A number is NULL only within this file: too many calls are within each other. A condition also where none is known. */
static const tc_expr *element(tc_graph *g, const tc_graph_element *e) {
    tc_graph_sizes *s = tc_graph_sizes_of(g);
    const tc_expr *x;
    if (is_known(s, e, &x) || s->first.v)
        return x;
    if (s->nested == NESTED) {
        s->first = *e;
        return NULL;
    }
    x = make(g, e);
    return s->first.v && s->nested == 0 ? make_in_order(g, e) : x;
}

const tc_expr *tc_graph_number_of(tc_graph *g, tc_graph_value *v, int64_t i) {
    tc_graph_look_through(&v, &i);
    return element(g, &(tc_graph_element){.v = v, .i = i});
}

bool tc_graph_numbers_are_fixed(tc_graph *g, tc_graph_value *v, tc_graph_tensor *out) {
    int64_t x[TC_GRAPH_MAX_NUMBERS], n = tc_graph_shape_count(&v->shape);
    if (!g->sizes || !is_index_type(v->dtype) || v->shape.ndim > 1 || n < 1 || n > TC_GRAPH_MAX_NUMBERS || tc_graph_is_dynamic(v))
        return false;
    for (int64_t i = 0; i < n; i++) {
        const tc_expr *e = tc_graph_number_of(g, v, i);
        if (e->op != TC_OP_INT)
            return false;
        x[i] = e->u.i;
    }
    if (tc_graph_tensor_alloc(out, v->dtype, &v->shape, NULL) != TC_OK)
        return false;
    for (int64_t i = 0; i < n; i++)
        tc_store_i(v->dtype, out->data, i, x[i]);
    return true;
}

/* ---- conditions ---- */

/* Takes two numbers, or two conditions. */
static bool is_condition(tc_graph_op op, tc_op *out, bool *compares) {
    static const struct {
        tc_graph_op op;
        tc_op te;
    } rows[] = {{TC_GRAPH_OP_EQUAL, TC_OP_EQ},
                {TC_GRAPH_OP_LESS, TC_OP_LT},
                {TC_GRAPH_OP_LESS_OR_EQUAL, TC_OP_LE},
                {TC_GRAPH_OP_GREATER, TC_OP_GT},
                {TC_GRAPH_OP_GREATER_OR_EQUAL, TC_OP_GE},
                {TC_GRAPH_OP_AND, TC_OP_AND},
                {TC_GRAPH_OP_OR, TC_OP_OR}};
    for (size_t i = 0; i < TC_LEN(rows); i++)
        if (rows[i].op == op) {
            *out = rows[i].te;
            *compares = op != TC_GRAPH_OP_AND && op != TC_GRAPH_OP_OR;
            return true;
        }
    return false;
}

static bool is_list(const tc_graph_value *v) {
    return (v->shape.ndim <= 1 || tc_graph_shape_count(&v->shape) == 1) && !tc_graph_is_dynamic(v);
}

static bool are_numbers(const tc_graph_value *v) {
    return is_index_type(v->dtype) && is_list(v);
}

/* Of v, a bool that a node makes. */
static const tc_expr *truth_of(tc_graph *g, tc_graph_value *v, int64_t i) {
    tc_ctx *c = g->sizes->ctx;
    const tc_graph_node *n = v->producer;
    const tc_expr *x, *y;
    tc_op op;
    bool compares;
    if (n->op == TC_GRAPH_OP_NOT) {
        x = condition_of(g, n->in[0], i);
        return x ? tc_un(c, TC_OP_NOT, x) : NULL;
    }
    if (!is_condition(n->op, &op, &compares) || (compares && !(are_numbers(n->in[0]) && are_numbers(n->in[1]))))
        return NULL;
    int64_t at[2];
    for (int k = 0; k < 2; k++)
        at[k] = tc_graph_shape_count(&n->in[k]->shape) == 1 ? 0 : i;
    x = compares ? tc_graph_number_of(g, n->in[0], at[0]) : condition_of(g, n->in[0], at[0]);
    y = compares ? tc_graph_number_of(g, n->in[1], at[1]) : condition_of(g, n->in[1], at[1]);
    x = x && y ? tc_bin(c, op, x, y) : NULL;
    return x && tc_graph_sizes_is_small(x) ? x : NULL;
}

/* v is the same list of bools in another shape or type, or the other way round. */
static bool moves_bools(const tc_graph_value *v) {
    const tc_graph_node *n = v->producer;
    return n && (tc_graph_keeps_memory(n) || (n->op == TC_GRAPH_OP_CAST && (v->dtype == TC_BOOL || n->in[0]->dtype == TC_BOOL)));
}

/* Whether element i of v, bools or integers, is not 0. */
static const tc_expr *condition_of(tc_graph *g, tc_graph_value *v, int64_t i) {
    tc_ctx *c = tc_graph_sizes_of(g)->ctx;
    int moves = 0;
    for (; is_list(v) && moves_bools(v) && moves < MOVES; moves++)
        v = v->producer->in[0];
    if (!is_list(v) || moves == MOVES)
        return NULL;
    if (v->dtype == TC_BOOL)
        return v->producer ? element(g, &(tc_graph_element){v, i, true}) : NULL;
    const tc_expr *x = is_index_type(v->dtype) ? tc_graph_number_of(g, v, i) : NULL;
    return x ? tc_un(c, TC_OP_NOT, tc_bin(c, TC_OP_EQ, x, tc_i64(c, 0))) : NULL;
}

const tc_expr *tc_graph_condition_of(tc_graph **g, tc_graph_value *v) {
    tc_graph_sizes *s;
    while (s = tc_graph_sizes_of(*g), s->around && tc_graph_sizes_outer(s, v)) {
        v = tc_graph_sizes_outer(s, v);
        *g = s->around;
    }
    return tc_graph_shape_count(&v->shape) == 1 ? condition_of(*g, v, 0) : NULL;
}

/* ---- as values ---- */

static tc_graph_value *scalar_of(tc_graph_emitter *e, tc_graph_value *v, int64_t i) {
    v = tc_graph_em_blind(e, v); /* v may be a list that a node before requires to be long enough */
    if (v->shape.ndim == 1 && v->shape.d[0] > 1)
        v = tc_graph_em_slice(e, v, 0, i, i + 1, 1);
    return tc_graph_em_cast(e, tc_graph_em_reshape(e, v, &(tc_graph_shape){0}), TC_I64);
}

/* The scalar that x is, which is element i of v. The same for equal numbers. */
static tc_graph_value *value_of(tc_graph_emitter *e, const tc_expr *x, tc_graph_value *v, int64_t i) {
    tc_graph_sizes *s = tc_graph_sizes_of(e->c->g);
    tc_graph_value *known = tc_graph_sizes_value(s, x);
    if (known || e->status != TC_OK)
        return known ? known : v;
    tc_graph_look_through(&v, &i);
    known = x->op == TC_OP_INT ? tc_graph_em_ints(e, TC_I64, &(tc_graph_shape){0}, &x->u.i) : scalar_of(e, v, i);
    if (e->status == TC_OK)
        tc_graph_sizes_set_value(s, x, known);
    return known;
}

static tc_graph_number number_of(tc_graph_emitter *e, tc_graph_value *v, int64_t i) {
    tc_graph_sizes *s = tc_graph_sizes_of(e->c->g);
    const tc_expr *x = tc_graph_number_of(e->c->g, v, i);
    tc_graph_number r = {
        .value = value_of(e, x, v, i), .x = x, .most = tc_graph_sizes_most(s, x), .constant = x->op == TC_OP_INT};
    if (r.constant)
        r.most = x->u.i;
    else if (r.most == TC_INF)
        r.most = -1;
    return r;
}

tc_graph_number tc_graph_em_known(tc_graph_emitter *e, tc_graph_value *v) {
    return number_of(e, v, 0);
}

tc_status tc_graph_trace(tc_graph_emitter *e, tc_graph_value *v, tc_graph_number *out) {
    int64_t n = tc_graph_shape_count(&v->shape);
    if (!is_index_type(v->dtype) || v->shape.ndim > 1 || n > TC_GRAPH_MAX_NUMBERS || tc_graph_is_dynamic(v))
        return tc_graph_node_fail(e->c, "'%s' must be a list of at most %d integers, but is %s", v->name, TC_GRAPH_MAX_NUMBERS,
                                  tc_graph_type_str(e->c->g->arena, v->dtype, &v->shape));
    for (int64_t i = 0; i < n; i++)
        out[i] = number_of(e, v, i);
    return e->status;
}

bool tc_graph_has_bounds(const tc_graph_number *v, int64_t n) {
    for (int64_t i = 0; i < n; i++)
        if (!v[i].constant && v[i].most < 0)
            return false;
    return true;
}
