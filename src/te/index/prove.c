/* Proves that an index stays within a varying size, for all values of the symbols. The check of a workload's reads and the
 * verifier of programs use this proof.
 *
 * With dense arrays, strides are products of symbols. For example, b * S * 64 + s * 64 + j < B * S * 64 follows in steps from b
 * < B, s < S and j < 64. Known facts say x <= 0 for sums x of variables and symbols. So x * scale <= 0 holds for every product
 * `scale` of symbols that occurs in a stride. Each step subtracts one of these sums from the form that must be negative. The
 * step removes a term, and the form does not become smaller:
 *
 *     b*S*64 + s*64 + j - B*S*64      less (b*S - B*S + S) * 64:   s*64 + j - S*64      less (s - S + 1) * 64:   j - 64
 *
 * Intervals bound the remaining form. Products have their factors in one order, so that they can be compared. */
#include <stdlib.h>

#include "te/index/prove_int.h"

#include "support/map.h"
#include "support/vec.h"
#include "te/te_int.h"

/* MOST_PARTS: divisors of the size that is part of another. Chosen. */
enum { MAX_SCALES = TC_MAX_DIMS, MOST_PARTS = 64 };
/* Steps of a proof, and forms that may be looked at for one: short proofs are looked for first. Chosen; not measured apart. */
static const struct { int steps, forms; } effort[] = {{3, 500}, {6, 1000}, {10, 2000}};
enum { BRIEF = 1, ALL = TC_LEN(effort) }; /* how many efforts are made */

/* What a condition says as a sum: x <= 0. Every form asks for it. */
typedef struct fact {
    bool known, says;
    tc_affine x;
} fact;

typedef struct prover {
    const tc_premises *v;
    int efforts;          /* that may be made */
    int budget;           /* forms that may still be looked at in this effort */
    tc_map failed;        /* forms that were looked at in vain -> steps that there were */
    fact *fact;           /* of each condition of the premises; NULL: nothing has been asked yet */
    const tc_expr *pivot; /* the term that is to go; NULL: one of symbols */
    tc_known_cond helped; /* by which the last step succeeded; no condition: a range */
    int nscale;
    tc_affine scale[MAX_SCALES]; /* sums of products of sizes */
} prover;

/* ---- steps ---- */

static bool negative(prover *p, const tc_affine *form, int steps);

/* Takes x * scale, where x <= 0, off the form, so that a term of x's atom `at` goes. */
static bool take(prover *p, const tc_affine *form, const tc_affine *x, const tc_affine *scale, int at, int steps) {
    for (int j = 0; j < TC_MAX(scale->n, 1); j++) {
        const tc_expr *product = te_times(p->v->c, x->term[at].atom, scale->n ? scale->term[j].atom : NULL);
        int64_t coef = p->pivot && product != p->pivot ? 0 : tc_affine_coef(form, product), each;
        if (coef == 0 || __builtin_mul_overflow(x->term[at].coef, scale->n ? scale->term[j].coef : scale->c, &each) ||
            each == 0 || coef % each || coef / each < 0)
            continue;
        tc_affine less = *form;
        return te_add_product(p->v->c, &less, x, scale, -(coef / each)) && negative(p, &less, steps - 1);
    }
    return false;
}

/* Of symbols alone: 5 <= N says that 5 * S <= N * S. */
static bool use_of_symbols(prover *p, const tc_affine *form, const tc_affine *x, int steps) {
    for (int s = 0; s < p->nscale; s++)
        for (int i = 0; i < x->n; i++)
            if (take(p, form, x, &p->scale[s], i, steps))
                return true;
    for (int s = 0; s < p->nscale; s++) {
        const tc_affine *scale = &p->scale[s];
        int64_t coef = scale->n ? tc_affine_coef(form, scale->term[0].atom) : 0;
        tc_affine less = *form;
        if (x->c <= 0 || coef <= 0)
            continue;
        int64_t k = (coef - 1) / x->c + 1; /* what is too much of it is negative */
        if (te_add_product(p->v->c, &less, x, scale, -k) && negative(p, &less, steps - 1))
            return true;
    }
    return false;
}

static bool use(prover *p, const tc_affine *form, const tc_affine *x, int steps) {
    bool symbols = true;
    for (int i = 0; i < x->n; i++)
        symbols &= tc_expr_is_of_symbols(x->term[i].atom);
    if (symbols)
        return !p->pivot && use_of_symbols(p, form, x, steps);
    for (int s = 0; s < p->nscale; s++)
        for (int i = 0; i < x->n; i++)
            if (!tc_expr_is_symbol(x->term[i].atom) && take(p, form, x, &p->scale[s], i, steps))
                return true;
    return false;
}

static bool use_quotients(prover *p, const tc_affine *form, const tc_affine *x, int steps) {
    const tc_expr *f[MAX_FACTORS];
    tc_affine q;
    int n = p->pivot ? te_factors_of(p->pivot, f, 0) : 0;
    for (int k = 0; k < n && n <= MAX_FACTORS; k++)
        if (te_quotient(p->v, f[k], x, &q) && use(p, form, &q, steps))
            return true;
    return false;
}

static bool names_symbol(const tc_affine *x) {
    for (int i = 0; i < x->n; i++)
        if (tc_expr_names_symbol(x->term[i].atom))
            return true;
    return false;
}

static bool use_in_all_ways(prover *p, const tc_affine *form, const tc_affine *x, int steps) {
    tc_affine whole;
    return use(p, form, x, steps) || use_quotients(p, form, x, steps) ||
           (te_whole(p->v, x, &whole) && use(p, form, &whole, steps));
}

static bool at_most_zero(const prover *p, const tc_known_cond *k, fact *f) {
    if (!f->known)
        f->says = te_at_most_zero(p->v, k, &f->x);
    f->known = true;
    return f->says;
}

/* Conditions that name symbols, or those that do not. `f`: of the condition; NULL: it is part of another. */
static bool use_cond(prover *p, const tc_affine *form, tc_known_cond k, fact *f, bool of_symbols, int steps) {
    fact own = {0};
    f = f ? f : &own;
    tc_affine x, y;
    bool both = (k.cond->op == TC_OP_AND && k.holds) || (k.cond->op == TC_OP_OR && !k.holds);
    if (k.cond->op == TC_OP_NOT)
        return use_cond(p, form, (tc_known_cond){k.cond->args[0], !k.holds}, NULL, of_symbols, steps);
    if (both)
        return use_cond(p, form, (tc_known_cond){k.cond->args[0], k.holds}, NULL, of_symbols, steps) ||
               use_cond(p, form, (tc_known_cond){k.cond->args[1], k.holds}, NULL, of_symbols, steps);
    if (!at_most_zero(p, &k, f) || names_symbol(&f->x) != of_symbols)
        return false;
    x = f->x;
    return use_in_all_ways(p, form, &x, steps) || (te_without_quotient(p->v, &x, &y) && use_in_all_ways(p, form, &y, steps)) ||
           (te_without_remainders(p->v, &x, &y) && use_in_all_ways(p, form, &y, steps)) ||
           (te_of_longer_remainders(p->v->c, &x, &y) && use_in_all_ways(p, form, &y, steps));
}

/* m * q <= y / n, or y / n - (m - 1) <= m * q, of a quotient q = y / (m * n). */
static bool use_part_of_quotient(prover *p, const tc_affine *form, const tc_expr *q, int64_t m, bool more, int steps) {
    tc_affine x = {0}, y = {0};
    if (!te_expand(p->v, q->args[0], 1, &y) || !te_add_quotient(p->v->c, &y, q->args[1]->u.i / m, more ? -1 : 1, &x) ||
        !tc_affine_term(&x, q, more ? m : -m) || __builtin_sub_overflow(x.c, more ? 0 : m - 1, &x.c))
        return false;
    return use(p, form, &x, steps);
}

/* Of all that a quotient may be part of; of one of variables only what it is a quotient of. */
static bool use_quotient(prover *p, const tc_affine *form, const tc_expr *q, bool more, int steps) {
    int64_t c = q->args[1]->op == TC_OP_INT ? q->args[1]->u.i : 0;
    for (int64_t n = 1; n < c && n < MOST_PARTS; n++)
        if (c % n == 0 && (n == 1 || te_is_quotient_of_sizes(q)) && use_part_of_quotient(p, form, q, c / n, more, steps))
            return true;
    return false;
}

/* x % s is at most s - 1, for a size s that is not 0. */
static bool use_remainder(prover *p, const tc_affine *form, const tc_expr *r, int steps) {
    tc_affine x = {.c = 1};
    return te_is_positive(p->v, r->args[1]) && te_expand(p->v, r->args[1], -1, &x) && tc_affine_term(&x, r, 1) &&
           use(p, form, &x, steps);
}

/* The smaller of two is at most each of them, the larger at least. */
static bool use_choice(prover *p, const tc_affine *form, const tc_expr *m, bool more, int steps) {
    for (int i = 0; i < 2; i++) {
        tc_affine x = {0};
        if (te_expand(p->v, m->args[i], more ? -1 : 1, &x) && tc_affine_term(&x, m, more ? 1 : -1) && use(p, form, &x, steps))
            return true;
    }
    return false;
}

/* What a factor of a term is says how large, or how small, it is. */
static bool use_definition(prover *p, const tc_affine *form, const tc_expr *f, bool more, int steps) {
    if (f->op == TC_OP_DIV)
        return use_quotient(p, form, f, more, steps);
    if (f->op == TC_OP_MOD)
        return more && use_remainder(p, form, f, steps);
    return f->op == (more ? TC_OP_MIN : TC_OP_MAX) && use_choice(p, form, f, more, steps);
}

static bool use_factors(prover *p, const tc_affine *form, const tc_term *t, int steps) {
    const tc_expr *f[MAX_FACTORS];
    int n = te_factors_of(t->atom, f, 0);
    bool more = t->coef > 0;
    for (int k = 0; k < n && n <= MAX_FACTORS; k++) {
        tc_ival r = tc_te_bounds(f[k], p->v->env);
        tc_affine x = {.n = 1, .c = more ? -r.hi : r.lo, .term = {{f[k], more ? 1 : -1}}};
        bool of_sizes = f[k]->nargs > 0 && tc_expr_names_symbol(f[k]); /* then numbers say little */
        if ((of_sizes && use_definition(p, form, f[k], more, steps)) || (tc_ival_bounded(r) && use(p, form, &x, steps)) ||
            (!of_sizes && use_definition(p, form, f[k], more, steps)))
            return true;
    }
    return false;
}

/* A factor of the term is at most, or at least, what its range says, or what it is the quotient of. */
static bool use_ranges(prover *p, const tc_affine *form, const tc_term *t, int steps) {
    bool done = use_factors(p, form, t, steps);
    p->helped = (tc_known_cond){0};
    return done;
}

static bool use_known(prover *p, const tc_affine *form, size_t i, bool of_symbols, int steps) {
    if (!p->fact)
        p->fact = tc_xcalloc(p->v->nknown, sizeof *p->fact);
    bool done = use_cond(p, form, p->v->known[i], &p->fact[i], of_symbols, steps);
    p->helped = p->v->known[i];
    return done;
}

static bool use_conds(prover *p, const tc_affine *form, bool of_symbols, int steps) {
    for (size_t i = p->v->nknown; i-- > 0;)
        if (use_known(p, form, i, of_symbols, steps))
            return true;
    return false;
}

/* Of variables, and sizes that are quotients of others. */
static bool is_plain(const tc_expr *e) {
    const tc_expr *f[MAX_FACTORS];
    int n = te_factors_of(e, f, 0);
    for (int i = 0; i < n && n <= MAX_FACTORS; i++)
        if (f[i]->op != TC_OP_VAR && !te_is_quotient_of_sizes(f[i]))
            return false;
    return true;
}

static bool eliminate_term(prover *p, const tc_affine *form, const tc_term *t, int steps) {
    p->pivot = t->atom;
    return use_conds(p, form, true, steps) || use_ranges(p, form, t, steps) || use_conds(p, form, false, steps);
}

/* Terms of variable v alone, and symbols. */
static bool eliminate_variable(prover *p, const tc_affine *form, const tc_var *v, int steps) {
    for (int i = 0; i < form->n; i++)
        if (is_plain(form->term[i].atom) && tc_expr_uses_var(form->term[i].atom, v) &&
            eliminate_term(p, form, &form->term[i], steps))
            return true;
    return false;
}

/* Lets a term go: first those of quotients and choices, which are made of variables in other terms, then variables, innermost
 * first, since what bounds them is made of those outside, then symbols. */
static bool eliminate(prover *p, const tc_affine *form, int steps) {
    for (int i = 0; i < form->n; i++)
        if (!is_plain(form->term[i].atom) && eliminate_term(p, form, &form->term[i], steps))
            return true;
    if (p->v->inner && eliminate_variable(p, form, p->v->inner, steps))
        return true;
    for (size_t i = p->v->nvar; i-- > 0;)
        if (eliminate_variable(p, form, p->v->vars[i], steps))
            return true;
    p->pivot = NULL;
    for (int i = 0; i < form->n; i++)
        if (use_ranges(p, form, &form->term[i], steps))
            return true;
    return use_conds(p, form, true, steps);
}

/* ---- hints ---- */

void tc_proof_hints_free(tc_proof_hints *h) {
    tc_map_free(&h->of);
    tc_vec_free(&h->all);
}

static const tc_proof_hint *hint_of(const prover *p, const tc_expr *e) {
    const uintptr_t *at = p->v->hints ? tc_map_get(&p->v->hints->of, (uintptr_t)e->id) : NULL;
    return at ? &p->v->hints->all.data[*at] : NULL;
}

/* The last step took a term off e, and the rest was shown. */
static void remember(const prover *p, const tc_expr *e, int steps) {
    tc_proof_hints *h = p->v->hints;
    const tc_proof_hint hint = {p->pivot, p->helped, steps};
    const uintptr_t *at = h ? tc_map_get(&h->of, (uintptr_t)e->id) : NULL;
    if (at) {
        h->all.data[*at] = hint;
    } else if (h) {
        tc_map_put(&h->of, (uintptr_t)e->id, h->all.len);
        tc_push(&h->all, hint);
    }
}

/* Tries what helped before, if it is known here too. */
static bool follow(prover *p, const tc_affine *form, tc_proof_hint hint, int steps) {
    p->pivot = hint.pivot;
    for (size_t i = p->v->nknown; hint.by.cond && i-- > 0;)
        if (p->v->known[i].cond == hint.by.cond && p->v->known[i].holds == hint.by.holds)
            return use_known(p, form, i, true, steps) || use_known(p, form, i, false, steps);
    for (int i = 0; !hint.by.cond && i < form->n; i++)
        if ((!hint.pivot || form->term[i].atom == hint.pivot) && use_ranges(p, form, &form->term[i], steps))
            return true;
    return false;
}

/* Steps make a form no smaller: one that cannot be negative any more leads nowhere. */
static bool negative(prover *p, const tc_affine *form, int steps) {
    if (*p->v->work <= 0)
        return false;
    --*p->v->work;
    const tc_expr *e = tc_te_from_affine(p->v->c, form);
    tc_ival r = tc_te_bounds(e, p->v->env);
    if (r.hi < 0 || r.lo >= 0 || steps == 0)
        return r.hi < 0;
    const uintptr_t *tried = tc_map_get(&p->failed, (uintptr_t)e);
    if ((tried && *tried >= (uintptr_t)steps) || --p->budget < 0)
        return false;
    const tc_expr *pivot = p->pivot;
    const tc_proof_hint *hint = hint_of(p, e);
    bool done = (hint && follow(p, form, *hint, steps)) || eliminate(p, form, steps);
    if (done)
        remember(p, e, steps);
    else if (p->budget >= 0)
        tc_map_put(&p->failed, (uintptr_t)e, (uintptr_t)steps);
    p->pivot = pivot;
    return done;
}

static void add_scale(prover *p, const tc_affine *scale) {
    for (int i = 0; i < p->nscale; i++)
        if (tc_affine_same_terms(&p->scale[i], scale) && p->scale[i].c == scale->c)
            return;
    if (p->nscale < MAX_SCALES)
        p->scale[p->nscale++] = *scale;
}

/* What the size of one dimension consists of, times that of those inside of it, `inner`: b * S + s < B * S is shown with S, and
 * so is (b * S + s) / 2 < (B * S + 1) / 2. */
static void add_factors(prover *p, const tc_affine *size, const tc_affine *inner) {
    const tc_expr *f[MAX_FACTORS];
    for (int i = 0; i < size->n; i++) {
        int n = te_factors_of(size->term[i].atom, f, 0);
        for (int j = 0; j < n && n <= MAX_FACTORS; j++) {
            tc_affine factor = {.n = 1, .term = {{f[j], 1}}}, scale = {0};
            if ((n > 1 || size->n > 1 || size->term[i].coef != 1) && te_add_product(p->v->c, &scale, &factor, inner, 1))
                add_scale(p, &scale);
            tc_affine y = {0};
            if (te_is_quotient_of_sizes(f[j]) && te_expand(p->v, f[j]->args[0], 1, &y))
                add_factors(p, &y, inner);
        }
    }
}

static bool try_effort(prover *p, const tc_affine *form, int i) {
    p->budget = effort[i].forms;
    return negative(p, form, effort[i].steps);
}

/* The one that an earlier proof took is tried first. */
static bool try_all_efforts(prover *p, const tc_affine *form) {
    const tc_proof_hint *hint = hint_of(p, tc_te_from_affine(p->v->c, form));
    int first = 0;
    while (hint && first < p->efforts - 1 && effort[first].steps < hint->steps)
        first++;
    bool done = first > 0 && try_effort(p, form, first);
    for (int i = 0; i < p->efforts && !done; i++)
        done = try_effort(p, form, i);
    return done;
}

/* What quotients of sizes in the form are divided by, together; 1: there are none. */
static int64_t divisor_of(const tc_affine *form) {
    int64_t all = 1;
    for (int i = 0; i < form->n; i++) {
        const tc_expr *f[MAX_FACTORS];
        int n = te_factors_of(form->term[i].atom, f, 0);
        for (int k = 0; k < n && n <= MAX_FACTORS; k++) {
            int64_t more;
            if (te_is_quotient_of_sizes(f[k]) && all < MOST_PARTS &&
                !__builtin_mul_overflow(all, f[k]->args[1]->u.i / tc_gcd(all, f[k]->args[1]->u.i), &more))
                all = more;
        }
    }
    return all;
}

/* x - y is negative; or so many times that, where quotients are what they are quotients of. */
static bool less(prover *p, const tc_expr *x, const tc_expr *y) {
    tc_affine form = {0}, times = {0};
    if (!te_expand(p->v, x, 1, &form) || !te_expand(p->v, y, -1, &form))
        return false;
    bool done = try_all_efforts(p, &form);
    int64_t n = done ? 1 : divisor_of(&form);
    const tc_affine all = {.c = n};
    if (n > 1 && n < MOST_PARTS && te_add_product(p->v->c, &times, &form, &all, 1))
        done = try_all_efforts(p, &times);
    tc_map_free(&p->failed);
    free(p->fact);
    p->fact = NULL;
    return done;
}

/* ---- dimension by dimension ---- */

/* A dimension, or several that lie beside each other as one, with the coordinate that an index has in it. */
typedef struct place {
    tc_affine size, stride, coordinate;
} place;

/* Takes q times the stride of a dimension off the index, for as many q as there are. A stride that is a sum of terms must be there
 * with all of them. */
static void take_strides(tc_ctx *c, tc_affine *index, place *at) {
    const tc_affine one = {.c = 1};
    for (int i = 0; i < index->n;) {
        tc_term t = {0};
        tc_affine coordinate = at->coordinate, rest = *index;
        bool divides = te_divide_term(c, &index->term[i], &at->stride, &t);
        const tc_affine q = {.n = t.atom != NULL, .c = t.atom ? 0 : t.coef, .term = {t}};
        int terms = at->stride.n + (at->stride.c && (q.n || at->stride.n == 0)); /* of q times the stride */
        if (divides && te_add_product(c, &rest, &q, &at->stride, -1) && rest.n == index->n - terms &&
            te_add_product(c, &coordinate, &q, &one, 1)) {
            at->coordinate = coordinate;
            *index = rest;
            i = 0;
        } else {
            i++;
        }
    }
}

/* Takes the index apart: it is the sum of all coordinates times their strides. */
static bool split_index(tc_ctx *c, const tc_affine *index, int ndim, place *at) {
    tc_affine rest = *index;
    for (int d = 0; d < ndim; d++)
        take_strides(c, &rest, &at[d]);
    bool fits = rest.n == 0;
    for (int d = 0; d < ndim && fits; d++)
        if (at[d].stride.n == 0) {
            fits = !__builtin_add_overflow(at[d].coordinate.c, rest.c / at[d].stride.c, &at[d].coordinate.c);
            rest.c %= at[d].stride.c;
        }
    return fits;
}

static bool size_of(const tc_premises *k, const tc_tensor *t, int d, tc_affine *size) {
    *size = (tc_affine){0};
    return te_expand(k, t->symbol[d] ? tc_varx(k->c, t->symbol[d]) : tc_i64(k->c, t->shape[d]), 1, size);
}

/* The dimensions of t; false: a stride is 0, or does not fit. */
static bool places_of(const tc_premises *k, const tc_tensor *t, place *at) {
    tc_affine stride = {.c = 1};
    for (int d = t->ndim - 1; d >= 0; d--) {
        at[d] = (place){.stride = stride};
        stride = (tc_affine){0};
        if (!size_of(k, t, d, &at[d].size) || (at[d].stride.n == 0 && at[d].stride.c <= 0) ||
            !te_add_product(k->c, &stride, &at[d].stride, &at[d].size, 1))
            return false;
    }
    return true;
}

static bool stays(const tc_premises *k, const place *at, int efforts) {
    prover p = {.v = k, .efforts = efforts, .nscale = 1, .scale = {{.c = 1}}};
    const tc_expr *x = tc_te_from_affine(k->c, &at->coordinate);
    return less(&p, tc_i64(k->c, -1), x) && less(&p, x, tc_te_from_affine(k->c, &at->size));
}

/* Makes one dimension of two: i / 40 < N * 8, of a fused loop i, is a coordinate in [N, 8]. */
static bool join(tc_ctx *c, place *outer, const place *inner) {
    const tc_affine coordinate = outer->coordinate, size = outer->size;
    outer->stride = inner->stride;
    outer->coordinate = inner->coordinate;
    outer->size = (tc_affine){0};
    return te_add_product(c, &outer->coordinate, &coordinate, &inner->size, 1) &&
           te_add_product(c, &outer->size, &size, &inner->size, 1);
}

/* The index is a sum of coordinates times strides, and each coordinate stays within its dimension. These proofs are short, where
 * the whole index is a product of all sizes. `joins`: a dimension for which that is not shown is joined with the next outer one.
 * False: nothing was shown. */
static bool each_in_size(const tc_premises *k, const tc_affine *index, const tc_tensor *t, bool joins, int efforts) {
    place at[TC_MAX_DIMS];
    int varying = 0;
    for (int d = 0; d < t->ndim; d++)
        varying += t->symbol[d] != NULL;
    bool ok = varying > 1 && places_of(k, t, at) && split_index(k->c, index, t->ndim, at);
    for (int d = t->ndim - 1; ok && d >= 0; d--)
        ok = stays(k, &at[d], efforts) || (joins && d > 0 && join(k->c, &at[d - 1], &at[d]));
    return ok;
}

static bool whole_in_size(const tc_premises *k, const tc_affine *index, const tc_tensor *t) {
    prover p = {.v = k, .efforts = ALL};
    tc_affine inner = {.c = 1}, total = {.c = 1};
    add_scale(&p, &inner);
    for (int d = t->ndim - 1; d >= 0; d--) {
        tc_affine size, more = {0}, all = {0};
        if (!size_of(k, t, d, &size) || !te_add_product(k->c, &all, &total, &size, 1))
            return false;
        total = all;
        if (size.n == 0)
            continue;
        add_factors(&p, &size, &inner);
        if (!te_add_product(k->c, &more, &inner, &size, 1))
            return false;
        inner = more;
        if (d > 0)
            add_scale(&p, &inner);
    }
    const tc_expr *x = tc_te_from_affine(k->c, index);
    return less(&p, tc_i64(k->c, -1), x) && less(&p, x, tc_te_from_affine(k->c, &total));
}

static bool says_negative(const tc_premises *k, tc_known_cond c, const tc_affine *form) {
    tc_affine x;
    if (c.cond->op == TC_OP_NOT)
        return says_negative(k, (tc_known_cond){c.cond->args[0], !c.holds}, form);
    if ((c.cond->op == TC_OP_AND && c.holds) || (c.cond->op == TC_OP_OR && !c.holds))
        return says_negative(k, (tc_known_cond){c.cond->args[0], c.holds}, form) ||
               says_negative(k, (tc_known_cond){c.cond->args[1], c.holds}, form);
    return te_at_most_zero(k, &c, &x) && tc_affine_same_terms(form, &x) && form->c < x.c;
}

/* The last condition that is known says that the index is within the whole tensor, as that of a mask does. */
static bool said_in_size(const tc_premises *k, const tc_affine *index, const tc_tensor *t) {
    tc_affine form = *index, total = {.c = 1};
    const tc_affine one = {.c = 1};
    bool fits = k->nknown > 0;
    for (int d = t->ndim - 1; fits && d >= 0; d--) {
        tc_affine size, all = {0};
        fits = size_of(k, t, d, &size) && te_add_product(k->c, &all, &total, &size, 1);
        total = all;
    }
    prover p = {.v = k, .efforts = BRIEF};
    add_scale(&p, &one);
    return fits && tc_affine_add(&form, &total, -1) && says_negative(k, k->known[k->nknown - 1], &form) &&
           less(&p, tc_i64(k->c, -1), tc_te_from_affine(k->c, index));
}

static bool in_size(const tc_premises *k, const tc_affine *index, const tc_tensor *t) {
    return said_in_size(k, index, t) || each_in_size(k, index, t, true, BRIEF) || each_in_size(k, index, t, false, ALL) ||
           whole_in_size(k, index, t);
}

bool tc_te_in_size(const tc_premises *k, const tc_expr *index, const tc_tensor *t) {
    tc_affine form = {0}, sum;
    return te_expand(k, index, 1, &form) && (in_size(k, &form, t) || (te_split_quotients(k, &form, &sum) && in_size(k, &sum, t)));
}

static bool below_as_written(const tc_premises *k, const tc_expr *index, const tc_expr *size, int efforts) {
    prover p = {.v = k, .efforts = efforts};
    tc_affine one = {.c = 1}, a = {0};
    add_scale(&p, &one);
    if (te_expand(k, size, 1, &a))
        add_factors(&p, &a, &one);
    return less(&p, tc_i64(k->c, -1), index) && less(&p, index, size);
}

static bool below(const tc_premises *k, const tc_expr *index, const tc_expr *size, int efforts) {
    tc_affine form = {0}, sum;
    return below_as_written(k, index, size, efforts) || (te_expand(k, index, 1, &form) && te_split_quotients(k, &form, &sum) &&
                                                         below_as_written(k, tc_te_from_affine(k->c, &sum), size, efforts));
}

bool tc_te_below(const tc_premises *k, const tc_expr *index, const tc_expr *size) {
    return below(k, index, size, ALL);
}

bool tc_te_plainly_below(const tc_premises *k, const tc_expr *index, const tc_expr *size) {
    return below(k, index, size, BRIEF);
}

static bool cannot_hold(const tc_premises *k, tc_known_cond c) {
    if (c.cond->op == TC_OP_NOT)
        return cannot_hold(k, (tc_known_cond){c.cond->args[0], !c.holds});
    if ((c.cond->op == TC_OP_AND && c.holds) || (c.cond->op == TC_OP_OR && !c.holds))
        return cannot_hold(k, (tc_known_cond){c.cond->args[0], c.holds}) ||
               cannot_hold(k, (tc_known_cond){c.cond->args[1], c.holds});
    prover p = {.v = k, .efforts = ALL, .nscale = 1, .scale = {{.c = 1}}};
    tc_affine x;
    return te_at_most_zero(k, &c, &x) && less(&p, tc_i64(k->c, 0), tc_te_from_affine(k->c, &x));
}

bool tc_te_contradicts(const tc_premises *k) {
    for (size_t i = k->nknown; i-- > 0;)
        if (cannot_hold(k, k->known[i]))
            return true;
    return false;
}
