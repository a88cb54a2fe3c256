/* Combines the matmuls of one value with several constant matrices into one matmul; the matrices stand side by side. The queries,
 * keys and values of attention then read their input once, in one kernel with more parallel work.
 *
 *   q = Add(MatMul(x, wq), bq)             y = Add(MatMul(x, [wq wk wv]), [bq bk bv])
 *   k = Add(MatMul(x, wk), bk)      =>     q = y[.., 0:n]    k = y[.., n:2n]    v = y[.., 2n:3n]
 *   v = Add(MatMul(x, wv), bv)
 *
 * The slices are views: a reader of q reads y. Biases are combined too when every member has a bias that is added along the last
 * dimension. Integer sums are combined up to the step that turns them into floats, if every member takes the same steps. These
 * steps add offsets and multiply scales by column, which may be known at run time only.
 *
 *   q = float(MatMul(x, wq) - z * cq) * (s * sq)   =>   y = float(MatMul(x, [wq wk]) - z * [cq ck]) * (s * [sq sk])
 *   k = float(MatMul(x, wk) - z * ck) * (s * sk)        q = y[.., 0:n]    k = y[.., n:2n]
 *
 * Matmuls whose results are outputs of the model are left alone, since these results would have to be copied. */
#include <stdlib.h>
#include <string.h>

#include "graph/ir/build.h"
#include "graph/passes/pass.h"
#include "support/vec.h"

enum { MAX_MEMBERS = 16, MAX_STEPS = 8, MAX_DEPTH = 4 };

typedef struct combiner {
    tc_graph *g;
    uint32_t *uses;         /* by value id */
    tc_graph_node **reader; /* by value id: the last node that reads it, and the only reader if uses is 1 */
    size_t *place;          /* by value id: place of its producer, from 1; 0: it has none */
    size_t nvalue;
    tc_map gone; /* nodes, by id, that a combination stands for */
} combiner;

/* An elementwise node that continues a product, and the operand by which it reads the product. */
typedef struct step {
    tc_graph_node *node;
    int from;
} step;

typedef struct member {
    tc_graph_node *matmul;
    int64_t width;
    int nstep;
    step step[MAX_STEPS];
} member;

typedef struct group {
    int n, nstep; /* steps that all take */
    size_t place; /* of the first matmul */
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
    return v->shape.ndim > 0 && v->shape.d[v->shape.ndim - 1] == n && tc_graph_shape_count(&v->shape) == n;
}

static bool is_row_or_one(const tc_graph_value *v, int64_t n) {
    return tc_graph_shape_count(&v->shape) == 1 || is_row(v, n);
}

static bool of_integers(const tc_graph_node *matmul) {
    return matmul->out[0]->dtype == TC_I32;
}

static bool is_candidate(const tc_graph_node *n) {
    return n->op == TC_GRAPH_OP_MATMUL && (tc_dtype_is_float(n->out[0]->dtype) || of_integers(n)) &&
           tc_graph_is_const(n->in[1]) && n->in[1]->shape.ndim == 2 && !tc_graph_is_const(n->in[0]) && n->in[0]->shape.ndim > 1;
}

static bool is_step(tc_graph_op op) {
    return op == TC_GRAPH_OP_ADD || op == TC_GRAPH_OP_SUB || op == TC_GRAPH_OP_MUL || op == TC_GRAPH_OP_CAST;
}

/* ---- the steps of a member ---- */

static tc_graph_value *result_of(const member *m, int nstep) {
    return nstep ? m->step[nstep - 1].node->out[0] : m->matmul->out[0];
}

static tc_graph_value *other_of(const step *s) {
    return s->node->nin > 1 ? s->node->in[1 - s->from] : NULL;
}

/* The only reader of v, if it combines v with a value by column. For floats this is the bias alone. */
static bool find_step(const combiner *c, const member *m, const tc_graph_value *v, step *s) {
    tc_graph_node *n = v->id < c->nvalue && c->uses[v->id] == 1 && !is_output(c->g, v) ? c->reader[v->id] : NULL;
    if (!n || !is_step(n->op) || n->nin > 2 || !tc_graph_shape_equal(&n->out[0]->shape, &v->shape))
        return false;
    *s = (step){n, n->in[0] == v ? 0 : 1};
    const tc_graph_value *other = other_of(s);
    if (of_integers(m->matmul))
        return !other || is_row_or_one(other, m->width);
    return n->op == TC_GRAPH_OP_ADD && m->nstep == 0 && tc_graph_is_const(other) && is_row(other, m->width);
}

static member member_of(const combiner *c, tc_graph_node *n) {
    member m = {.matmul = n, .width = n->in[1]->shape.d[1]};
    while (m.nstep < MAX_STEPS && find_step(c, &m, result_of(&m, m.nstep), &m.step[m.nstep]))
        m.nstep++;
    return m;
}

/* ---- members that belong together ---- */

/* Whether a and b, of members of these widths, can become one value with b's columns beside a's. The value for both must exist
 * before the matmul at `place`. */
static bool alike(const combiner *c, const tc_graph_value *a, int64_t na, const tc_graph_value *b, int64_t nb, size_t place,
                  int depth) {
    if (!a || !b || a->dtype != b->dtype || !is_row_or_one(a, na) || !is_row_or_one(b, nb))
        return a == b;
    if (tc_graph_is_const(a) && tc_graph_is_const(b))
        return true;
    if (a == b && tc_graph_shape_count(&a->shape) == 1)
        return a->id < c->nvalue && c->place[a->id] < place;
    const tc_graph_node *p = a->producer, *q = b->producer;
    if (!p || !q || p->op != q->op || !is_step(p->op) || p->nin != q->nin || depth == MAX_DEPTH)
        return false;
    for (int i = 0; i < p->nin; i++)
        if (!alike(c, p->in[i], na, q->in[i], nb, place, depth + 1))
            return false;
    return true;
}

/* How many steps of a are b's too. */
static int common_steps(const combiner *c, const member *a, const member *b, size_t place) {
    int n = 0;
    while (n < a->nstep && n < b->nstep) {
        const step *x = &a->step[n], *y = &b->step[n];
        if (x->node->op != y->node->op || (x->node->op == TC_GRAPH_OP_SUB && x->from != y->from) ||
            x->node->out[0]->dtype != y->node->out[0]->dtype || !alike(c, other_of(x), a->width, other_of(y), b->width, place, 0))
            break;
        n++;
    }
    return n;
}

/* If sums of integers went to memory and were scaled afterwards, this would cost more than one kernel saves. */
static bool worth(const combiner *c, const member *m, int nstep) {
    const tc_graph_value *v = result_of(m, nstep);
    return tc_dtype_is_float(v->dtype) && !is_output(c->g, v);
}

/* All members that read the input of `first`, itself included, with the steps that all share. Of float members only those with as
 * many steps. */
static group find_group(const combiner *c, size_t from, const tc_graph_nodes *all) {
    tc_graph_node *first = all->data[from];
    group r = {.place = from + 1};
    for (size_t i = from; i < all->len && r.n < MAX_MEMBERS; i++) {
        tc_graph_node *n = all->data[i];
        if (!is_candidate(n) || n->in[0] != first->in[0] || n->in[1]->dtype != first->in[1]->dtype ||
            n->out[0]->dtype != first->out[0]->dtype || tc_map_get(&c->gone, n->id))
            continue;
        member m = member_of(c, n);
        int steps = r.n ? TC_MIN(r.nstep, common_steps(c, &r.m[0], &m, r.place)) : m.nstep;
        bool same = of_integers(first) || r.n == 0 || (steps == r.nstep && steps == m.nstep);
        if (!same || !worth(c, &m, steps) || (r.n && !worth(c, &r.m[0], steps)))
            continue;
        r.m[r.n++] = m;
        r.nstep = steps;
    }
    if (r.n == 0 || r.m[0].matmul != first)
        r.n = 0;
    for (int i = 0; i < r.n; i++) /* the steps became fewer */
        if (!worth(c, &r.m[i], r.nstep))
            r.n = 0;
    return r;
}

/* ---- the combination ---- */

/* Joins constants side by side: [rows, width_i], or [width_i] if rows is 0, or a single number for a whole row. */
static tc_graph_value *beside(const combiner *c, const group *r, tc_graph_value *const *v, int64_t rows, const char *name,
                              tc_error *err) {
    tc_graph_tensor t;
    tc_graph_shape s = {.ndim = rows ? 2 : 1, .d = {rows}};
    int64_t *total = &s.d[s.ndim - 1];
    *total = 0;
    for (int i = 0; i < r->n; i++)
        *total += r->m[i].width;
    if (tc_graph_tensor_alloc(&t, v[0]->dtype, &s, err) != TC_OK)
        return NULL;
    size_t size = (size_t)tc_dtype_bytes(v[0]->dtype), at = 0;
    for (int i = 0; i < r->n; i++) {
        size_t width = (size_t)r->m[i].width;
        bool one = !rows && tc_graph_shape_count(&v[i]->shape) == 1;
        for (size_t k = 0; k < (size_t)TC_MAX(rows, 1); k++)
            for (size_t j = 0; j < width; j += one ? 1 : width)
                memcpy((char *)t.data + (k * (size_t)*total + at + j) * size,
                       (const char *)v[i]->constant->data + k * width * size, one ? size : width * size);
        at += width;
    }
    return tc_graph_add_constant(c->g, tc_graph_fresh_name(c->g, name), &t);
}

/* What `alike` found of the members' values: one value. */
static tc_graph_value *together(const combiner *c, const group *r, tc_graph_value *const *v, const char *name, tc_error *err) {
    bool constant = true, same = true;
    for (int i = 0; i < r->n; i++) {
        constant &= tc_graph_is_const(v[i]);
        same &= v[i] == v[0];
    }
    if (same && tc_graph_shape_count(&v[0]->shape) == 1)
        return v[0];
    if (constant)
        return beside(c, r, v, 0, name, err);
    tc_graph_node *like = v[0]->producer;
    tc_graph_value *in[2] = {0};
    tc_graph_shape shape = {0};
    int64_t columns = 1;
    for (int k = 0; k < like->nin; k++) {
        tc_graph_value *part[MAX_MEMBERS];
        for (int i = 0; i < r->n; i++)
            part[i] = v[i]->producer->in[k];
        in[k] = together(c, r, part, name, err);
        if (!in[k])
            return NULL;
        columns = TC_MAX(columns, tc_graph_shape_count(&in[k]->shape));
        shape.ndim = TC_MAX(shape.ndim, in[k]->shape.ndim);
    }
    for (int d = 0; d < shape.ndim; d++)
        shape.d[d] = d == shape.ndim - 1 ? columns : 1;
    tc_graph_node *n = tc_graph_copy_node(c->g, like, in);
    return tc_graph_place_typed(c->g, n, name, v[0]->dtype, &shape);
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

static tc_graph_value *combined_matmul(const combiner *c, const group *r, tc_graph_shape *s, tc_error *err) {
    tc_graph *g = c->g;
    const tc_graph_node *first = r->m[0].matmul;
    const char *name = result_of(&r->m[0], r->nstep)->name;
    tc_graph_value *v[MAX_MEMBERS];
    for (int i = 0; i < r->n; i++)
        v[i] = r->m[i].matmul->in[1];
    tc_graph_value *w = beside(c, r, v, v[0]->shape.d[0], tc_arena_printf(g->arena, "%s.weights", name), err);
    if (!w)
        return NULL;
    *s = first->out[0]->shape;
    s->d[s->ndim - 1] = w->shape.d[1];
    tc_graph_node *n = tc_graph_new_node(g, TC_GRAPH_OP_MATMUL, first->name, (tc_graph_value *[]){first->in[0], w}, 2);
    for (int i = 0; i < r->n; i++)
        n->origin = tc_graph_origin_join(g, n->origin, r->m[i].matmul->origin);
    return tc_graph_place_typed(g, n, tc_arena_printf(g->arena, "%s.products", name), first->out[0]->dtype, s);
}

/* Step k of all members on y. */
static tc_graph_value *take_step(const combiner *c, const group *r, int k, tc_graph_value *y, tc_error *err) {
    tc_graph *g = c->g;
    const step *like = &r->m[0].step[k];
    const char *name = result_of(&r->m[0], r->nstep)->name, *what = of_integers(r->m[0].matmul) ? "%s.columns" : "%s.biases";
    tc_graph_value *in[2] = {0}, *v[MAX_MEMBERS];
    in[like->from] = y;
    if (like->node->nin > 1) {
        for (int i = 0; i < r->n; i++)
            v[i] = other_of(&r->m[i].step[k]);
        in[1 - like->from] = together(c, r, v, tc_arena_printf(g->arena, what, name), err);
        if (!in[1 - like->from])
            return NULL;
    }
    tc_graph_node *n = tc_graph_copy_node(g, like->node, in);
    for (int i = 1; i < r->n; i++)
        n->origin = tc_graph_origin_join(g, n->origin, r->m[i].step[k].node->origin);
    const char *sums = tc_arena_printf(g->arena, "%s.sums", name);
    return tc_graph_place_typed(g, n, sums, like->node->out[0]->dtype, &y->shape);
}

static tc_status combine(combiner *c, const group *r, tc_error *err) {
    tc_graph_shape s;
    int64_t at = 0;
    tc_graph_value *y = combined_matmul(c, r, &s, err);
    for (int k = 0; k < r->nstep && y; k++)
        y = take_step(c, r, k, y, err);
    if (!y)
        return TC_ENV;
    for (int i = 0; i < r->n; i++) {
        const member *m = &r->m[i];
        slice(c->g, y, at, result_of(m, r->nstep));
        at += m->width;
        tc_map_put(&c->gone, m->matmul->id, 1);
        for (int k = 0; k < r->nstep; k++)
            tc_map_put(&c->gone, m->step[k].node->id, 1);
    }
    return TC_OK;
}

static void note_nodes(combiner *c) {
    for (size_t i = 0; i < c->g->nodes.len; i++) {
        tc_graph_node *n = c->g->nodes.data[i];
        for (int k = 0; k < n->nin; k++)
            if (n->in[k])
                c->reader[n->in[k]->id] = n;
        for (int k = 0; k < n->nout; k++)
            if (n->out[k])
                c->place[n->out[k]->id] = i + 1;
    }
}

tc_status tc_graph_pass_combine_matmuls(tc_graph *g, tc_error *err) {
    combiner c = {.g = g, .uses = tc_graph_count_uses(g), .nvalue = g->values.len};
    c.reader = tc_xcalloc(c.nvalue + 1, sizeof *c.reader);
    c.place = tc_xcalloc(c.nvalue + 1, sizeof *c.place);
    note_nodes(&c);
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
    free(c.place);
    free(c.uses);
    return s;
}
