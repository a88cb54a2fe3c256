/* Bound inference: the region of a tensor that a loop's body needs.
 *
 * A producer is attached at loop L of a consumer. For each dimension it computes the interval hull of all coordinates that are
 * read inside L. Each index is split as
 *
 *     index = outer + inner,   inner in [lo, hi]
 *
 * `outer` uses only loops at or around L and stays symbolic. The rest of the index is relaxed to an interval. Then the region is
 * [outer + lo, outer + hi]. Several reads with the same outer part merge exactly. Outer parts that differ by a bounded amount
 * merge to their hull. Otherwise the whole dimension is needed. If x mixes both kinds of loops, x / c splits as (outer + lo) / c
 * plus [0, ceil((hi - lo) / c)]. A region with a constant minimum is clipped to the tensor, because no iteration outside the
 * tensor is ever needed. */
#include "tir_lower/build/build_int.h"

typedef struct outer_set {
    int n;
    const tc_var *var[256];
} outer_set;

typedef struct split {
    const tc_expr *outer; /* without its constant, which is in lo and hi */
    int64_t lo, hi;
} split;

typedef struct splitter {
    builder *b;
    const outer_set *outer;
} splitter;

static bool is_outer(const outer_set *o, const tc_var *v) {
    if (v->is_symbol)
        return true;
    for (int i = 0; i < o->n; i++)
        if (o->var[i] == v)
            return true;
    return false;
}

static void add_loops(const builder *b, outer_set *o, int stage, int pos) {
    const nest *n = &b->nests[stage];
    for (int i = 0; i <= pos; i++)
        if (n->var[i] && o->n < (int)TC_LEN(o->var))
            o->var[o->n++] = n->var[i];
}

/* All loops around the body of leaf position `pos` of `stage`. */
static void collect_outer(const builder *b, int stage, int pos, outer_set *o) {
    o->n = 0;
    for (;;) {
        add_loops(b, o, stage, pos);
        const nest *n = &b->nests[stage];
        if (n->at_pos < 0)
            return;
        pos = n->at_pos;
        stage = n->st->at_stage;
    }
}

bool bounds_encloses(const builder *b, int id, int pos, int inner) {
    while (inner != id) {
        const nest *n = &b->nests[inner];
        if (n->at_pos < 0)
            return false;
        if (n->st->at_stage == id)
            return n->at_pos >= pos;
        inner = n->st->at_stage;
    }
    return true;
}

enum { USES_OUTER = 1, USES_INNER = 2, USES_MEMORY = 4 };

typedef struct classifier {
    const outer_set *outer;
    unsigned uses;
} classifier;

static void classify_node(const tc_expr *e, void *user) {
    classifier *k = user;
    if (e->op == TC_OP_VAR)
        k->uses |= is_outer(k->outer, e->u.var) ? USES_OUTER : USES_INNER;
    else if (tc_op_traits(e->op) & TC_MEMORY)
        k->uses |= USES_MEMORY;
}

static unsigned classify(const outer_set *outer, const tc_expr *e) {
    classifier k = {.outer = outer};
    if (e->op == TC_OP_VAR)
        classify_node(e, &k);
    else
        tc_expr_walk(e, classify_node, &k);
    return k.uses;
}

static bool add_interval(split *s, int64_t coef, tc_ival v) {
    tc_ival sum = tc_ival_add((tc_ival){s->lo, s->hi}, tc_ival_scale(v, coef));
    s->lo = sum.lo;
    s->hi = sum.hi;
    return v.lo <= v.hi && tc_ival_bounded(v) && tc_ival_bounded(sum);
}

static void add_outer(tc_ctx *c, split *s, const tc_expr *atom, int64_t coef) {
    const tc_expr *t = tc_mul(c, atom, tc_i64(c, coef));
    s->outer = s->outer ? tc_add(c, s->outer, t) : t;
}

static bool split_index(splitter *p, const tc_expr *e, split *out);

/* (outer + inner) / c = (outer + lo) / c + [0, ceil((hi - lo) / c)] */
static bool split_div(splitter *p, const tc_expr *e, int64_t coef, split *out) {
    tc_ctx *c = p->b->c;
    if (e->args[1]->op != TC_OP_INT || e->args[1]->u.i <= 0)
        return false;
    int64_t d = e->args[1]->u.i;
    split x;
    if (!split_index(p, e->args[0], &x) || !x.outer || x.hi - x.lo < 0)
        return false;
    const tc_expr *lo = tc_div(c, tc_add(c, x.outer, tc_i64(c, x.lo)), tc_i64(c, d));
    add_outer(c, out, tc_te_simplify(c, lo, p->b->env), coef);
    int64_t span = x.hi - x.lo;
    return add_interval(out, coef, (tc_ival){0, span / d + (span % d != 0)});
}

static bool split_term(splitter *p, const tc_expr *atom, int64_t coef, split *out) {
    unsigned uses = classify(p->outer, atom);
    if (uses & USES_MEMORY)
        return false;
    if (!(uses & USES_INNER)) {
        add_outer(p->b->c, out, atom, coef);
        return true;
    }
    if ((uses & USES_OUTER) && atom->op == TC_OP_DIV) {
        split before = *out;
        if (split_div(p, atom, coef, out))
            return true;
        *out = before;
    }
    return add_interval(out, coef, tc_te_bounds(atom, p->b->env));
}

static bool split_index(splitter *p, const tc_expr *e, split *out) {
    tc_affine a;
    if (!tc_te_affine(p->b->c, e, p->b->env, &a))
        return false;
    *out = (split){.lo = a.c, .hi = a.c};
    for (int i = 0; i < a.n; i++)
        if (!split_term(p, a.term[i].atom, a.term[i].coef, out))
            return false;
    return true;
}

/* The hull of two splits in `into`; false if they differ by an unbounded amount. */
static bool merge(builder *b, split *into, const split *with) {
    tc_ctx *c = b->c;
    tc_ival d = {0, 0};
    if (into->outer != with->outer) {
        const tc_expr *zero = tc_i64(c, 0);
        const tc_expr *x = tc_sub(c, with->outer ? with->outer : zero, into->outer ? into->outer : zero);
        d = tc_te_bounds(tc_te_simplify(c, x, b->env), b->env);
        if (!tc_ival_bounded(d))
            return false;
    }
    into->lo = TC_MIN(into->lo, with->lo + d.lo);
    into->hi = TC_MAX(into->hi, with->hi + d.hi);
    return true;
}

/* Normalises `outer` (NULL when constant), so that equal parts are equal pointers. */
static void normalise(builder *b, split *s) {
    if (!s->outer)
        return;
    tc_affine a;
    const tc_expr *e = tc_te_simplify(b->c, s->outer, b->env);
    s->outer = e;
    if (!tc_te_affine(b->c, e, b->env, &a))
        return;
    s->lo += a.c;
    s->hi += a.c;
    a.c = 0;
    s->outer = a.n ? tc_te_from_affine(b->c, &a) : NULL;
}

static void whole_dimension(builder *b, nest *n, int d, int64_t shape) {
    n->min[d] = tc_i64(b->c, 0);
    n->ext[d] = shape;
}

static void set_dimension(builder *b, nest *n, int d, const split *s, int64_t shape) {
    tc_ctx *c = b->c;
    int64_t lo = s->lo, hi = s->hi;
    if (!s->outer) {
        lo = TC_MIN(TC_MAX(lo, 0), shape - 1);
        hi = TC_MAX(TC_MIN(hi, shape - 1), lo);
    }
    if (hi - lo + 1 >= shape) {
        whole_dimension(b, n, d, shape);
        return;
    }
    n->min[d] = s->outer ? tc_te_simplify(c, tc_add(c, s->outer, tc_i64(c, lo)), b->env) : tc_i64(c, lo);
    n->ext[d] = hi - lo + 1;
}

/* Splits a coordinate that a stage reads; inside its guards, (64*x + r) % 512 is 64*x + r. */
static bool split_read(splitter *p, const read_ref *r, int d, split *out) {
    builder *b = p->b;
    const nest *reader = &b->nests[r->reader];
    const tc_expr *index = r->read->args[d];
    if (reader->guards.len == 0)
        return split_index(p, index, out);
    size_t mark = tc_env_mark(b->env);
    for (size_t i = 0; i < reader->guards.len; i++)
        tc_env_assume(b->env, reader->guards.data[i].cond);
    index = tc_te_simplify(b->c, index, b->env);
    tc_env_undo(b->env, mark);
    return split_index(p, index, out);
}

static void infer_dimension(builder *b, nest *n, const outer_set *outer, int d) {
    int64_t shape = n->st->op->axes[d].extent;
    splitter p = {b, outer};
    split all = {0};
    bool any = false;
    for (size_t i = 0; i < b->reads.len; i++) {
        if (b->reads.data[i].producer != n->id)
            continue;
        split one;
        if (!split_read(&p, &b->reads.data[i], d, &one)) {
            whole_dimension(b, n, d, shape);
            return;
        }
        normalise(b, &one);
        if (any && !merge(b, &all, &one)) {
            whole_dimension(b, n, d, shape);
            return;
        }
        if (!any)
            all = one;
        any = true;
    }
    set_dimension(b, n, d, &all, shape);
}

static tc_status check_consumers(builder *b, const nest *n) {
    const nest *at = &b->nests[n->st->at_stage];
    for (size_t i = 0; i < b->reads.len; i++) {
        const read_ref *r = &b->reads.data[i];
        if (r->producer == n->id && !bounds_encloses(b, at->id, n->at_pos, r->reader))
            return tc_fail(b->err, TC_ILLEGAL, "stage %s is computed at %s.%s, but its consumer %s is outside of that loop",
                           n->st->name, at->st->name, b->s->loops[n->st->at_loop].name, b->nests[r->reader].st->name);
    }
    return TC_OK;
}

tc_status bounds_of_region(builder *b, nest *n) {
    TC_TRY(check_consumers(b, n));
    outer_set outer;
    collect_outer(b, n->st->at_stage, n->at_pos, &outer);
    for (int d = 0; d < n->naxis; d++)
        infer_dimension(b, n, &outer, d);
    return TC_OK;
}
