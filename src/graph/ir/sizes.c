/* Implements sizes.h. */
#include "graph/ir/sizes.h"

#include <stdlib.h>

tc_graph_sizes *tc_graph_sizes_of(tc_graph *g) {
    if (g->sizes)
        return g->sizes;
    g->sizes = tc_xcalloc(1, sizeof *g->sizes);
    g->sizes->ctx = tc_ctx_new();
    g->sizes->sure = tc_env_new();
    g->sizes->likely = tc_env_new();
    return g->sizes;
}

void tc_graph_sizes_free(tc_graph_sizes *s) {
    if (!s)
        return;
    tc_map_free(&s->symbol_named);
    tc_map_free(&s->symbol_of);
    tc_map_free(&s->numbers);
    tc_map_free(&s->truths);
    tc_map_free(&s->captured);
    tc_map_free(&s->values);
    tc_map_free(&s->outer);
    tc_vec_free(&s->symbols);
    tc_vec_free(&s->limits);
    tc_vec_free(&s->ends);
    tc_env_free(s->sure);
    tc_env_free(s->likely);
    tc_ctx_free(s->ctx);
    free(s);
}

/* ---- bodies ---- */

void tc_graph_sizes_enter(tc_graph *body, tc_graph *around, bool is_branch) {
    tc_graph_sizes *s = tc_graph_sizes_of(body);
    s->around = around;
    s->is_branch = is_branch;
}

void tc_graph_sizes_set_condition(tc_graph *body, tc_graph *of, const tc_expr *when) {
    body->sizes->when = when;
    body->sizes->when_of = of;
}

void tc_graph_sizes_leave(tc_graph *body) {
    tc_map_free(&body->sizes->outer);
    body->sizes->outer = (tc_map){0};
    body->sizes->around = NULL;
}

void tc_graph_sizes_capture(tc_graph *body, const tc_graph_value *in, tc_graph_value *outer) {
    tc_map_put(&body->sizes->outer, in->id, (uintptr_t)outer);
}

tc_graph_value *tc_graph_sizes_outer(const tc_graph_sizes *s, const tc_graph_value *in) {
    uintptr_t *outer = tc_map_get(&s->outer, in->id);
    return outer ? (tc_graph_value *)*outer : NULL;
}

tc_graph_value *tc_graph_sizes_captured(const tc_graph_sizes *s, const tc_expr *var, int64_t *i) {
    uintptr_t *key = tc_map_get(&s->captured, (uint64_t)(uintptr_t)var);
    uintptr_t *outer = key ? tc_map_get(&s->outer, *key >> 32) : NULL;
    *i = key ? (int64_t)(uint32_t)*key : 0;
    return outer ? (tc_graph_value *)*outer : NULL;
}

/* ---- numbers ---- */

static uint64_t key_of(const tc_graph_value *v, int64_t i) {
    return (uint64_t)v->id << 32 | (uint64_t)(uint32_t)i;
}

const tc_expr *tc_graph_sizes_number(const tc_graph_sizes *s, const tc_graph_value *v, int64_t i) {
    uintptr_t *known = tc_map_get(&s->numbers, key_of(v, i));
    return known ? (const tc_expr *)*known : NULL;
}

void tc_graph_sizes_set_number(tc_graph_sizes *s, const tc_graph_value *v, int64_t i, const tc_expr *x) {
    tc_map_put(&s->numbers, key_of(v, i), (uintptr_t)x);
    if (x->op == TC_OP_VAR && tc_map_get(&s->outer, v->id) && !tc_map_get(&s->captured, (uint64_t)(uintptr_t)x))
        tc_map_put(&s->captured, (uint64_t)(uintptr_t)x, key_of(v, i));
}

bool tc_graph_sizes_truth(const tc_graph_sizes *s, const tc_graph_value *v, int64_t i, const tc_expr **x) {
    uintptr_t *known = tc_map_get(&s->truths, key_of(v, i));
    *x = known ? (const tc_expr *)*known : NULL;
    return known != NULL;
}

void tc_graph_sizes_set_truth(tc_graph_sizes *s, const tc_graph_value *v, int64_t i, const tc_expr *x) {
    tc_map_put(&s->truths, key_of(v, i), (uintptr_t)x);
}

bool tc_graph_sizes_is_small(const tc_expr *x) {
    enum {
        MOST_DEPTH = 32,
        MOST_NODES = 1024,
        FLAT = 10
    }; /* operations of two operands that are FLAT have fewer than MOST_NODES */
    return x->depth < MOST_DEPTH && (x->depth <= FLAT || tc_expr_tree_size(x, MOST_NODES) <= MOST_NODES);
}

const tc_expr *tc_graph_sizes_unknown(tc_graph_sizes *s, const char *name, tc_ival range) {
    const tc_var *v = tc_var_new(s->ctx, name);
    tc_env_set(s->sure, v, range);
    tc_env_set(s->likely, v, (tc_ival){TC_MAX(range.lo, 0), range.hi});
    return tc_varx(s->ctx, v);
}

void tc_graph_sizes_limit(tc_graph_sizes *s, tc_graph_value *v, const tc_expr *x, int64_t most) {
    v->most = most;
    if (x->op != TC_OP_VAR)
        return;
    tc_ival range = tc_ival_meet(tc_env_get(s->sure, x->u.var), (tc_ival){0, most});
    tc_env_set(s->sure, x->u.var, range);
    tc_env_set(s->likely, x->u.var, range);
}

tc_graph_value *tc_graph_sizes_value(const tc_graph_sizes *s, const tc_expr *x) {
    uintptr_t *known = tc_map_get(&s->values, (uint64_t)(uintptr_t)x);
    return known ? (tc_graph_value *)*known : NULL;
}

void tc_graph_sizes_set_value(tc_graph_sizes *s, const tc_expr *x, tc_graph_value *v) {
    tc_map_put(&s->values, (uint64_t)(uintptr_t)x, (uintptr_t)v);
}

const tc_expr *tc_graph_sizes_simplify(tc_graph_sizes *s, const tc_expr *x) {
    return tc_te_simplify(s->ctx, x, s->sure);
}

int64_t tc_graph_sizes_most(const tc_graph_sizes *s, const tc_expr *x) {
    return TC_MAX(tc_te_bounds(x, s->likely).hi, 0);
}

int64_t tc_graph_sizes_limit_of(const tc_graph_sizes *s, const tc_expr *x) {
    return TC_MAX(tc_te_bounds(x, s->sure).hi, 0);
}
