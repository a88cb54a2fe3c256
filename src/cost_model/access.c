/* Addresses as sums of strided terms, and what a sub-nest touches through them.
 *
 *     768 * (t / 48 * 6 + ii) + 64 * (t % 48) + k   with t in 352, ii in 6, k in 768
 *     =>  k: 1 x 768   t: 64 x 48   ii: 768 x 6   t: 4608 x 8          (stride x count, by rising stride)
 *
 * Divisions and remainders by constants split a loop's movement into terms. If this is not exact (the clamp of a guard or of
 * padding), the result counts too many elements, at most the buffer's size. */
#include "cost_model/nest.h"

#include <math.h>
#include <string.h>

enum { MAX_STEPS = 512 }; /* index expressions are small; a shared one written by hand could be exponential as a tree */

typedef struct collector {
    const nest *n;
    const store_site *s;
    address *out;
    int fuel;
} collector;

static void collect(collector *k, const tc_expr *e, double scale);

static void add_term(address *a, term t) {
    if (t.stride == 0 || t.count <= 1)
        return;
    a->moved |= (level_set)1 << t.level;
    for (int i = 0; t.linear && i < a->n; i++)
        if (a->term[i].linear && a->term[i].level == t.level) {
            a->term[i].stride += t.stride;
            return;
        }
    if (a->n < MAX_TERMS)
        a->term[a->n++] = t;
}

static void add_var(collector *k, const tc_var *v, double scale) {
    int level = nest_level_of(k->n, k->s, v);
    if (level >= 0)
        add_term(k->out, (term){level, true, scale, k->n->loops.data[k->s->path[level]].extent});
}

static bool constant(const tc_expr *e, double *v) {
    while (e->op == TC_OP_BCAST || e->op == TC_OP_CAST)
        e = e->args[0];
    *v = e->op == TC_OP_INT ? (double)e->u.i : 0;
    return e->op == TC_OP_INT;
}

/* t / c: terms whose strides reach c keep their count; smaller ones cross a boundary now and then, or never. */
static term divided(term t, double c) {
    double stride = fabs(t.stride);
    if (stride >= c)
        return (term){t.level, t.linear, t.stride / c, t.count};
    return (term){t.level, false, 1, ceil(stride * t.count / c)};
}

/* t % c: multiples of c vanish; what stays below c is kept; the rest goes round. */
static term remainder_of(term t, double c) {
    double stride = fabs(t.stride);
    if (fmod(stride, c) == 0)
        return (term){.level = t.level};
    if (stride * t.count <= c)
        return t;
    stride = fmod(stride, c);
    return (term){t.level, false, stride, TC_MIN(t.count, ceil(c / stride))};
}

static void collect_quotient(collector *k, const tc_expr *e, double scale) {
    double c;
    if (!constant(e->args[1], &c) || c <= 0) {
        collect(k, e->args[0], scale);
        k->out->divisions += nest_times(k->n, k->s, k->out->moved, 1);
        return;
    }
    address sub = {0}, *out = k->out;
    k->out = &sub;
    collect(k, e->args[0], 1);
    k->out = out;
    bool quotient = e->op == TC_OP_DIV || e->op == TC_OP_TDIV;
    for (int i = 0; i < sub.n; i++) {
        term t = quotient ? divided(sub.term[i], c) : remainder_of(sub.term[i], c);
        t.stride *= scale;
        add_term(out, t);
    }
    int exponent;
    bool shift = frexp(c, &exponent) == 0.5;
    double whole = floor(sub.offset / c);
    out->offset += scale * (quotient ? whole : sub.offset - c * whole);
    out->divisions += sub.divisions + (shift ? 0.25 : 1) * nest_times(k->n, k->s, sub.moved, 1);
    out->gathered |= sub.gathered;
}

static void collect_product(collector *k, const tc_expr *e, double scale) {
    double c;
    if (constant(e->args[1], &c))
        collect(k, e->args[0], scale * c);
    else if (constant(e->args[0], &c))
        collect(k, e->args[1], scale * c);
    else {
        collect(k, e->args[0], scale);
        collect(k, e->args[1], scale);
    }
}

/* Any other function of loops: each step of one may go anywhere, taken as `scale` apart. */
static void collect_opaque(collector *k, const tc_expr *e, double scale) {
    for (int i = 0; i < e->nargs; i++) {
        address sub = {0}, *out = k->out;
        k->out = &sub;
        collect(k, e->args[i], 1);
        k->out = out;
        for (int j = 0; j < sub.n; j++)
            add_term(out, (term){sub.term[j].level, sub.term[j].linear, scale, sub.term[j].count});
        out->divisions += sub.divisions;
        out->gathered |= sub.gathered;
    }
}

static void collect_int(collector *k, const tc_expr *e, double scale) {
    k->out->offset += scale * (double)e->u.i;
}

static void collect_var(collector *k, const tc_expr *e, double scale) {
    add_var(k, e->u.var, scale);
}

static void collect_sum(collector *k, const tc_expr *e, double scale) {
    collect(k, e->args[0], scale);
    collect(k, e->args[1], e->op == TC_OP_ADD ? scale : -scale);
}

/* Moves like its first operand. */
static void collect_first(collector *k, const tc_expr *e, double scale) {
    collect(k, e->args[0], scale);
}

/* A clamp moves like what it clamps. */
static void collect_clamp(collector *k, const tc_expr *e, double scale) {
    collect(k, e->args[e->args[0]->op == TC_OP_INT], scale);
}

static void collect_select(collector *k, const tc_expr *e, double scale) {
    collect(k, e->args[1], scale);
}

static void collect_load(collector *k, const tc_expr *e, double scale) {
    k->out->gathered = true;
    collect_opaque(k, e, scale);
}

/* Operators that are not listed are opaque. */
typedef void collect_fn(collector *k, const tc_expr *e, double scale);
static collect_fn *const collect_of[TC_NOPS] = {
    [TC_OP_INT] = collect_int,       [TC_OP_VAR] = collect_var,      [TC_OP_ADD] = collect_sum,
    [TC_OP_SUB] = collect_sum,       [TC_OP_MUL] = collect_product,  [TC_OP_DIV] = collect_quotient,
    [TC_OP_TDIV] = collect_quotient, [TC_OP_MOD] = collect_quotient, [TC_OP_TMOD] = collect_quotient,
    [TC_OP_RAMP] = collect_first,    [TC_OP_BCAST] = collect_first,  [TC_OP_CAST] = collect_first,
    [TC_OP_MIN] = collect_clamp,     [TC_OP_MAX] = collect_clamp,    [TC_OP_SELECT] = collect_select,
    [TC_OP_LOAD] = collect_load,
};

static void collect(collector *k, const tc_expr *e, double scale) {
    if (k->fuel-- <= 0)
        return;
    collect_fn *f = collect_of[e->op];
    (f ? f : collect_opaque)(k, e, scale);
}

static void sort_terms(address *a) {
    int kept = 0;
    for (int i = 0; i < a->n; i++)
        if (a->term[i].stride != 0)
            a->term[kept++] = a->term[i];
    a->n = kept;
    for (int i = 1; i < a->n; i++)
        for (int j = i; j > 0 && fabs(a->term[j].stride) < fabs(a->term[j - 1].stride); j--) {
            term t = a->term[j];
            a->term[j] = a->term[j - 1];
            a->term[j - 1] = t;
        }
}

void address_of(const nest *n, const store_site *s, const tc_expr *index, address *out) {
    memset(out, 0, sizeof *out);
    collector k = {n, s, out, MAX_STEPS};
    collect(&k, index, 1);
    sort_terms(out);
}

/* ---- accesses ---- */

static bool same_terms(const address *a, const address *b) {
    if (a->n != b->n)
        return false;
    for (int i = 0; i < a->n; i++)
        if (a->term[i].level != b->term[i].level || a->term[i].stride != b->term[i].stride ||
            a->term[i].count != b->term[i].count)
            return false;
    return true;
}

int access_add(nest *n, store_site *s, const tc_buffer *b, const address *at, bool is_read, bool is_write, level_set hoist) {
    for (int i = 0; i < s->naccess; i++) {
        access *a = &n->accesses.data[s->access + (size_t)i];
        if (a->buffer == b && same_terms(&a->at, at)) {
            a->times += a->is_write && !is_write && a->at.offset == at->offset ? 0 : 1;
            a->is_read |= is_read;
            a->is_write |= is_write;
            a->hoist |= hoist;
            return i;
        }
    }
    access a = {
        .buffer = b, .buf = nest_buffer(n, b), .is_read = is_read, .is_write = is_write, .hoist = hoist, .times = 1, .at = *at};
    tc_push(&n->accesses, a);
    return s->naccess++;
}

/* Distinct elements that the terms of levels >= depth reach, and the cache lines they lie in. Terms come by rising stride: one
 * whose stride is past all smaller ones multiplies what they reach, one within overlaps it (the rows h + kh of a convolution). */
static void reach(const nest *n, const access *a, int depth, double *bytes, double *lines) {
    double elements = 1, period = 1, run = 1, width = tc_dtype_bytes(a->buffer->dtype), size = (double)a->buffer->size;
    for (int i = 0; i < a->at.n; i++) {
        const term *t = &a->at.term[i];
        double stride = fabs(t->stride);
        if (t->level < depth)
            continue;
        bool dense = run == elements && elements == period;
        if (stride >= period) {
            elements *= t->count;
            dense &= stride == period;
            period = stride * t->count;
        } else {
            elements += elements * stride / period * (t->count - 1);
            period += stride * (t->count - 1);
        }
        if (dense)
            run = elements;
    }
    elements = TC_MAX(TC_MIN(elements, size), 1);
    run = TC_MIN(run, elements);
    double line = TC_MAX(n->m->line, 1);
    *bytes = elements * width;
    *lines = TC_MIN(elements / run * ceil(run * width / line), ceil(TC_MIN(period, size) * width / line));
    *lines = TC_MAX(*lines, 1);
}

void access_measure(nest *n, store_site *s) {
    int ndepth = s->nlevel + 1;
    for (int i = 0; i < s->naccess; i++) {
        access *a = &n->accesses.data[s->access + (size_t)i];
        a->touched = n->pool.len;
        tc_reserve(&n->pool, n->pool.len + 2 * (size_t)ndepth);
        for (int d = 0; d < ndepth; d++) {
            double *cell = &n->pool.data[a->touched + (size_t)d];
            reach(n, a, d, &cell[0], &cell[ndepth]);
        }
        n->pool.len += 2 * (size_t)ndepth;
    }
}

double access_bytes(const nest *n, const access *a, int depth) {
    return n->pool.data[a->touched + (size_t)depth];
}

double access_lines(const nest *n, const store_site *s, const access *a, int depth) {
    return n->pool.data[a->touched + (size_t)s->nlevel + 1 + (size_t)depth];
}

double access_stride(const access *a, int level) {
    for (int i = 0; i < a->at.n; i++)
        if (a->at.term[i].level == level)
            return fabs(a->at.term[i].stride);
    return 0;
}

/* ---- guards ---- */

/* a < c over the terms of a, all strides positive: they count 0 .. top in steps of the smallest, as tiles of an axis do. */
static void below(const address *a, double c, double *valid, double *partial) {
    double top = a->offset, tile = 0;
    for (int i = 0; i < a->n; i++) {
        if (a->term[i].stride < 0)
            return;
        top += a->term[i].stride * (a->term[i].count - 1);
        if (i < a->n - 1)
            tile += a->term[i].stride * (a->term[i].count - 1);
    }
    if (a->n == 0 || top < c)
        return;
    double range = top - a->offset + fabs(a->term[0].stride);
    *valid = TC_MIN(1, TC_MAX(c - a->offset, 1e-3 * range) / range);
    const term *outer = &a->term[a->n - 1];
    double whole = TC_MAX(0, floor((c - a->offset - tile - 1) / outer->stride) + 1);
    *partial = TC_MAX(0, outer->count - whole) / outer->count;
}

static void add_address(address *a, const address *b, double sign) {
    a->offset += sign * b->offset;
    for (int i = 0; i < b->n; i++) {
        term t = b->term[i];
        t.stride *= sign;
        add_term(a, t);
    }
}

void guard_shares(const nest *n, const store_site *s, const tc_expr *cond, double *valid, double *partial) {
    *valid = 1;
    *partial = 0;
    if (cond->op == TC_OP_AND) {
        double v[2], p[2];
        guard_shares(n, s, cond->args[0], &v[0], &p[0]);
        guard_shares(n, s, cond->args[1], &v[1], &p[1]);
        *valid = v[0] * v[1];
        *partial = 1 - (1 - p[0]) * (1 - p[1]);
        return;
    }
    bool less = cond->op == TC_OP_LT || cond->op == TC_OP_LE, more = cond->op == TC_OP_GT || cond->op == TC_OP_GE;
    if (!less && !more)
        return;
    address small, large;
    address_of(n, s, cond->args[more], &small);
    address_of(n, s, cond->args[!more], &large);
    add_address(&small, &large, -1);
    sort_terms(&small);
    bool strict = cond->op == TC_OP_LT || cond->op == TC_OP_GT;
    below(&small, strict ? 0 : 1, valid, partial); /* small - large < 0, or < 1 */
}
