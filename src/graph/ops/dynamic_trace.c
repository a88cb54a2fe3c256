/* Numbers that the graph computes: shapes as models compute them are vectors put together from sizes. Their elements are looked
 * up through what only moves them, and bounded through the arithmetic on them. */
#include "graph/ops/dynamic.h"

enum { DEPTH = 32 };

static bool is_index_type(tc_dtype t) {
    return t == TC_I64 || t == TC_I32;
}

/* Where element i of v comes from: a vector (or scalar) and the position in it. */
static void look_through(tc_graph_value **v, int64_t *i) {
    for (int depth = 0; depth < DEPTH && (*v)->producer; depth++) {
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
        } else {
            return;
        }
    }
}

#define UNKNOWN INT64_MIN

static int64_t most_of(tc_graph_value *v, int64_t i, int depth);

static int64_t operand_most(const tc_graph_node *n, int k, int64_t i, int depth) {
    return most_of(n->in[k], tc_graph_shape_count(&n->in[k]->shape) == 1 ? 0 : i, depth + 1);
}

/* Largest value of element i of v; sizes are not negative, and neither is what models compute of them. */
static int64_t most_of(tc_graph_value *v, int64_t i, int depth) {
    look_through(&v, &i);
    if (v->constant)
        return is_index_type(v->dtype) ? tc_load_i(v->dtype, v->constant->data, i) : UNKNOWN;
    if (v->most > 0)
        return v->most;
    const tc_graph_node *n = v->producer;
    if (!n || n->nin != 2 || depth > DEPTH || !is_index_type(v->dtype) || v->shape.ndim > 1)
        return UNKNOWN;
    if (n->op != TC_GRAPH_OP_ADD && n->op != TC_GRAPH_OP_SUB && n->op != TC_GRAPH_OP_MUL && n->op != TC_GRAPH_OP_DIV &&
        n->op != TC_GRAPH_OP_MIN && n->op != TC_GRAPH_OP_MAX)
        return UNKNOWN;
    int64_t a = operand_most(n, 0, i, depth), b = operand_most(n, 1, i, depth), r;
    bool both = a != UNKNOWN && b != UNKNOWN;
    if (n->op == TC_GRAPH_OP_ADD)
        return !both || __builtin_add_overflow(a, b, &r) ? UNKNOWN : r;
    if (n->op == TC_GRAPH_OP_MUL)
        return !both || a < 0 || b < 0 || __builtin_mul_overflow(a, b, &r) ? UNKNOWN : r;
    if (n->op == TC_GRAPH_OP_SUB)
        return a != UNKNOWN && n->in[1]->constant && b < 0 ? a - b : a;
    if (n->op == TC_GRAPH_OP_DIV)
        return a >= 0 && b > 0 && n->in[1]->constant ? a / b : a;
    if (n->op == TC_GRAPH_OP_MIN)
        return a == UNKNOWN ? b : b == UNKNOWN ? a : TC_MIN(a, b);
    return both ? TC_MAX(a, b) : UNKNOWN;
}

static tc_graph_number number_of(tc_graph_emitter *e, tc_graph_value *v, int64_t i) {
    tc_graph_number r = {.most = most_of(v, i, 0)};
    look_through(&v, &i);
    if (v->constant && r.most != UNKNOWN) {
        r.constant = true;
        r.value = tc_graph_em_ints(e, TC_I64, &(tc_graph_shape){0}, &r.most);
        return r;
    }
    r.most = TC_MAX(r.most, -1);
    if (v->shape.ndim == 1 && v->shape.d[0] > 1)
        v = tc_graph_em_slice(e, v, 0, i, i + 1, 1);
    r.value = tc_graph_em_cast(e, tc_graph_em_reshape(e, v, &(tc_graph_shape){0}), TC_I64);
    return r;
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
