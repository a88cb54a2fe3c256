/* Matmuls of one value with several constant matrices become one with the matrices side by side: attention's queries, keys and
 * values read their input once, in one kernel with more parallel work.
 *
 *   q = Add(MatMul(x, wq), bq)             y = Add(MatMul(x, [wq wk wv]), [bq bk bv])
 *   k = Add(MatMul(x, wk), bk)      =>     q = y[.., 0:n]    k = y[.., n:2n]    v = y[.., 2n:3n]
 *   v = Add(MatMul(x, wv), bv)
 *
 * The slices are views: whoever reads q reads y. Biases come along when every member has one, added last dimension by last
 * dimension. Results that the model puts out are left alone, since they would have to be copied. */
#include <stdlib.h>
#include <string.h>

#include "graph/ir/build.h"
#include "graph/passes/pass.h"
#include "support/vec.h"

enum { MAX_MEMBERS = 16 };

typedef struct combiner {
    tc_graph *g;
    uint32_t *uses;         /* by value id */
    tc_graph_node **reader; /* by value id: the last node that reads it, the only one where uses is 1 */
    size_t nvalue;
    tc_map gone; /* nodes, by id, that a combination stands for */
} combiner;

typedef struct member {
    tc_graph_node *matmul, *add; /* add may be NULL */
    tc_graph_value *weights, *bias, *result;
} member;

typedef struct group {
    int n;
    member m[MAX_MEMBERS];
} group;

static bool is_output(const tc_graph *g, const tc_graph_value *v) {
    for (size_t i = 0; i < g->outputs.len; i++)
        if (g->outputs.data[i].value == v)
            return true;
    return false;
}

/* [n], or with leading dimensions of 1. */
static bool is_row(const tc_graph_value *v, int64_t n) {
    return tc_graph_is_const(v) && v->shape.ndim > 0 && v->shape.d[v->shape.ndim - 1] == n &&
           tc_graph_shape_count(&v->shape) == n;
}

/* Not of integers: their sums are scaled before they go to memory, and the parts of one that are sliced off would be after. */
static bool is_candidate(const tc_graph_node *n) {
    return n->op == TC_GRAPH_OP_MATMUL && tc_dtype_is_float(n->out[0]->dtype) && tc_graph_is_const(n->in[1]) &&
           n->in[1]->shape.ndim == 2 && !tc_graph_is_const(n->in[0]) && n->in[0]->shape.ndim > 1;
}

static member member_of(const combiner *c, tc_graph_node *n) {
    member m = {.matmul = n, .weights = n->in[1], .result = n->out[0]};
    tc_graph_node *add = c->uses[n->out[0]->id] == 1 ? c->reader[n->out[0]->id] : NULL;
    if (!add || add->op != TC_GRAPH_OP_ADD || is_output(c->g, n->out[0]))
        return m;
    tc_graph_value *other = add->in[0] == n->out[0] ? add->in[1] : add->in[0];
    if (is_row(other, m.weights->shape.d[1]) && tc_graph_shape_equal(&add->out[0]->shape, &n->out[0]->shape)) {
        m.add = add;
        m.bias = other;
        m.result = add->out[0];
    }
    return m;
}

/* All members that read what `first` does, itself included, and biases for all or none. */
static group find_group(const combiner *c, size_t from, const tc_graph_nodes *all) {
    tc_graph_node *first = all->data[from];
    group r = {0};
    for (size_t i = from; i < all->len && r.n < MAX_MEMBERS; i++) {
        tc_graph_node *n = all->data[i];
        if (!is_candidate(n) || n->in[0] != first->in[0] || n->in[1]->dtype != first->in[1]->dtype)
            continue;
        member m = member_of(c, n);
        if (!is_output(c->g, m.result) && (r.n == 0 || !m.bias == !r.m[0].bias))
            r.m[r.n++] = m;
    }
    if (r.n == 0 || r.m[0].matmul != first)
        r.n = 0;
    return r;
}

/* Constants [rows, n_i] (or [n_i] when rows is 1) beside each other. */
static tc_graph_value *beside(combiner *c, const group *r, bool bias, int64_t rows, int64_t total, const char *name,
                              tc_error *err) {
    tc_graph_tensor t;
    tc_dtype dtype = r->m[0].result->dtype;
    tc_graph_shape s = {.ndim = bias ? 1 : 2, .d = {bias ? total : rows, total}};
    if (tc_graph_tensor_alloc(&t, dtype, &s, err) != TC_OK)
        return NULL;
    size_t size = (size_t)tc_dtype_bytes(dtype), at = 0;
    for (int i = 0; i < r->n; i++) {
        const tc_graph_value *v = bias ? r->m[i].bias : r->m[i].weights;
        size_t width = (size_t)(tc_graph_shape_count(&v->shape) / rows) * size;
        for (int64_t k = 0; k < rows; k++)
            memcpy((char *)t.data + (size_t)k * (size_t)total * size + at, (const char *)v->constant->data + (size_t)k * width,
                   width);
        at += width;
    }
    return tc_graph_add_constant(c->g, tc_graph_fresh_name(c->g, name), &t);
}

static void slice(tc_graph *g, tc_graph_value *y, int64_t start, tc_graph_value *v) {
    int64_t starts[TC_GRAPH_MAX_DIMS] = {0}, steps[TC_GRAPH_MAX_DIMS];
    int n = y->shape.ndim;
    for (int d = 0; d < n; d++)
        steps[d] = 1;
    starts[n - 1] = start;
    tc_graph_node *s = tc_graph_new_node(g, TC_GRAPH_OP_SLICE, "", &y, 1);
    tc_graph_set_starts(g, s, starts, (size_t)n);
    tc_graph_set_steps(g, s, steps, (size_t)n);
    tc_graph_produce(g, s, v);
}

static tc_status combine(combiner *c, const group *r, tc_error *err) {
    tc_graph *g = c->g;
    const member *m = r->m;
    int64_t k = m->weights->shape.d[0], total = 0, at = 0;
    for (int i = 0; i < r->n; i++)
        total += m[i].weights->shape.d[1];
    const char *name = m->result->name;
    tc_graph_value *w = beside(c, r, false, k, total, tc_arena_printf(g->arena, "%s.weights", name), err);
    tc_graph_value *b = m->bias ? beside(c, r, true, 1, total, tc_arena_printf(g->arena, "%s.biases", name), err) : NULL;
    if (!w || (m->bias && !b))
        return TC_ENV;
    tc_graph_shape s = m->result->shape;
    s.d[s.ndim - 1] = total;
    tc_graph_node *n = tc_graph_new_node(g, TC_GRAPH_OP_MATMUL, m->matmul->name, (tc_graph_value *[]){m->matmul->in[0], w}, 2);
    tc_graph_value *y = tc_graph_place_typed(g, n, tc_arena_printf(g->arena, "%s.products", name), m->result->dtype, &s);
    if (b) {
        n = tc_graph_new_node(g, TC_GRAPH_OP_ADD, m->add->name, (tc_graph_value *[]){y, b}, 2);
        y = tc_graph_place_typed(g, n, tc_arena_printf(g->arena, "%s.sums", name), m->result->dtype, &s);
    }
    for (int i = 0; i < r->n; i++) {
        slice(g, y, at, m[i].result);
        at += m[i].weights->shape.d[1];
        tc_map_put(&c->gone, m[i].matmul->id, 1);
        if (m[i].add)
            tc_map_put(&c->gone, m[i].add->id, 1);
    }
    return TC_OK;
}

static void note_readers(combiner *c) {
    for (size_t i = 0; i < c->g->nodes.len; i++)
        for (int k = 0; k < c->g->nodes.data[i]->nin; k++)
            if (c->g->nodes.data[i]->in[k])
                c->reader[c->g->nodes.data[i]->in[k]->id] = c->g->nodes.data[i];
}

tc_status tc_graph_pass_combine_matmuls(tc_graph *g, tc_error *err) {
    combiner c = {.g = g, .uses = tc_graph_count_uses(g), .nvalue = g->values.len};
    c.reader = tc_xcalloc(c.nvalue + 1, sizeof *c.reader);
    note_readers(&c);
    tc_graph_nodes old = g->nodes;
    g->nodes = (tc_graph_nodes){0};
    tc_status s = TC_OK;
    for (size_t i = 0; i < old.len && s == TC_OK; i++) {
        tc_graph_node *n = old.data[i];
        if (tc_map_get(&c.gone, n->id))
            continue;
        group r = is_candidate(n) ? find_group(&c, i, &old) : (group){0};
        if (r.n > 1)
            s = combine(&c, &r, err);
        else
            tc_push(&g->nodes, n);
    }
    tc_vec_free(&old);
    tc_map_free(&c.gone);
    free(c.reader);
    free(c.uses);
    return s;
}
