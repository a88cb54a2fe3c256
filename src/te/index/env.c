/* What is known about variables: a range for each variable, and facts (ranges of linear combinations). Conditions push facts,
 * and the facts are undone in order. */
#include "te/te_int.h"

#include <stdlib.h>

typedef struct binding {
    uint32_t key; /* variable id + 1; 0 is free */
    tc_ival range;
    tc_ival assumed; /* narrowed by conditions; TC_IVAL_ALL without */
} binding;

/* How to take an assumption back. */
typedef struct undo {
    enum { UNDO_VAR, UNDO_FACT, UNDO_PUSH } kind;
    uint32_t which; /* variable id, or index of the fact */
    tc_ival before;
} undo;

/* What expressions simplified to, by their ids. */
typedef struct simplified {
    te_memo memo;
    uint32_t newest; /* the highest id: variables made later are in none of them */
} simplified;

/* Facts are about different combinations of two and more variables (or of other atoms); what is known of one variable is in its
 * binding. So a nest of guards that repeat each other costs nothing. */
struct tc_env {
    binding *slots;
    uint32_t nslots, len;
    TC_VEC(te_fact) facts;
    TC_VEC(undo) log;
    simplified *simple; /* valid while the log is empty; NULL: not wanted */
};

enum { FIRST_SLOTS = 64 };

tc_env *tc_env_new(void) {
    tc_env *e = tc_xcalloc(1, sizeof *e);
    e->nslots = FIRST_SLOTS;
    e->slots = tc_xcalloc(e->nslots, sizeof *e->slots);
    return e;
}

void tc_env_free(tc_env *e) {
    if (!e)
        return;
    free(e->slots);
    tc_vec_free(&e->facts);
    tc_vec_free(&e->log);
    if (e->simple)
        te_memo_free(&e->simple->memo);
    free(e->simple);
    free(e);
}

void tc_env_remember(tc_env *e) {
    e->simple = tc_xmalloc(sizeof *e->simple);
    te_memo_init(&e->simple->memo);
    e->simple->newest = 0;
}

static void forget(tc_env *e) {
    if (!e->simple)
        return;
    te_memo_free(&e->simple->memo);
    te_memo_init(&e->simple->memo);
    e->simple->newest = 0;
}

const tc_expr *te_env_simple(const tc_env *e, const tc_expr *x) {
    return e && e->simple && e->log.len == 0 ? te_memo_get(&e->simple->memo, x->id) : NULL;
}

void te_env_note_simple(const tc_env *e, const tc_expr *x, const tc_expr *simple) {
    if (!e || !e->simple || e->log.len)
        return;
    te_memo_put(&e->simple->memo, x->id, simple);
    e->simple->newest = TC_MAX(e->simple->newest, x->id);
}

static binding *find(const tc_env *e, uint32_t id) {
    uint32_t s = (id * 0x9e3779b1u >> 7) & (e->nslots - 1);
    while (e->slots[s].key && e->slots[s].key != id + 1)
        s = (s + 1) & (e->nslots - 1);
    return &e->slots[s];
}

static void grow(tc_env *e) {
    uint32_t n = e->nslots;
    binding *old = e->slots, *slots = tc_try_slots(2 * (size_t)n, sizeof *slots, e->len + 1 >= n);
    if (!slots)
        return;
    e->nslots *= 2;
    e->slots = slots;
    for (uint32_t i = 0; i < n; i++)
        if (old[i].key)
            *find(e, old[i].key - 1) = old[i];
    free(old);
}

static tc_ival own_range(const tc_var *v) {
    return v->is_symbol ? (tc_ival){v->least, v->most} : TC_IVAL_ALL;
}

static binding *bind(tc_env *e, const tc_var *v) {
    binding *b = find(e, v->id);
    if (b->key)
        return b;
    *b = (binding){v->id + 1, own_range(v), TC_IVAL_ALL};
    if (2 * ++e->len > e->nslots)
        grow(e);
    return find(e, v->id);
}

void tc_env_set(tc_env *e, const tc_var *v, tc_ival range) {
    if (e->simple && v->id < e->simple->newest)
        forget(e);
    bind(e, v)->range = range;
}

tc_ival tc_env_get(const tc_env *e, const tc_var *v) {
    if (!e)
        return own_range(v);
    const binding *b = find(e, v->id);
    return b->key ? tc_ival_meet(b->range, b->assumed) : own_range(v);
}

tc_ival tc_env_given(const tc_env *e, const tc_var *v) {
    const binding *b = e ? find(e, v->id) : NULL;
    return b && b->key ? b->range : own_range(v);
}

int te_env_facts(const tc_env *e, const te_fact **facts) {
    if (!e)
        return 0;
    *facts = e->facts.data;
    return (int)e->facts.len;
}

/* ---- conditions ---- */

/* lo <= a <= hi as a fact; false if a has no or too many terms. Bounds are of the form with its constant. */
static bool make_fact(const tc_affine *a, tc_ival range, te_fact *out) {
    if (a->n == 0 || a->n > TE_FACT_TERMS)
        return false;
    int64_t g = 0;
    for (int i = 0; i < a->n; i++)
        g = tc_gcd(g, a->term[i].coef);
    if (a->c == INT64_MIN)
        return false;
    bool flip = a->term[0].coef < 0;
    range = tc_ival_add(range, (tc_ival){-a->c, -a->c});
    if (flip)
        range = tc_ival_scale(range, -1);
    out->n = a->n;
    for (int i = 0; i < a->n; i++)
        out->term[i] = (tc_term){a->term[i].atom, a->term[i].coef / (flip ? -g : g)};
    out->range.lo = range.lo == TC_NINF ? TC_NINF : -tc_floor_div(-range.lo, g);
    out->range.hi = range.hi == TC_INF ? TC_INF : tc_floor_div(range.hi, g);
    return true;
}

/* The form of one side of a comparison, as the whole number that it is: one atom, a constant, or a sum that does not wrap. */
static bool whole_number(te_ranges *r, const tc_expr *e, tc_affine *a) {
    *a = (tc_affine){0};
    bool atom = tc_affine_linear(a, e, 1) && (a->n == 0 || (a->n == 1 && a->term[0].atom == e));
    return atom || (a->n && te_exact(r, a));
}

static int comparison_fact(te_ranges *r, const tc_expr *cond, bool negated, te_fact *out) {
    if (!(tc_op_traits(cond->op) & TC_COMPARE) || cond->nargs != 2 || cond->lanes != 1 || cond->args[0]->dtype != TC_I64)
        return 0;
    tc_affine d, y;
    if (!whole_number(r, cond->args[0], &d) || !whole_number(r, cond->args[1], &y) || y.c == INT64_MIN)
        return 0;
    int64_t c;
    if (__builtin_sub_overflow(d.c, y.c, &c) || !tc_affine_add(&d, &y, -1))
        return 0;
    static const tc_ival RANGES[TC_NOPS] = {/* of the difference */
                                            [TC_OP_LT] = {TC_NINF, -1},
                                            [TC_OP_LE] = {TC_NINF, 0},
                                            [TC_OP_GT] = {1, TC_INF},
                                            [TC_OP_GE] = {0, TC_INF},
                                            [TC_OP_EQ] = {0, 0}};
    tc_op op = negated ? te_negated(cond->op) : cond->op;
    return op != TC_OP_NE && make_fact(&d, RANGES[op], out); /* x != y excludes one point only */
}

int te_facts_of(te_ranges *r, const tc_expr *cond, bool negated, te_fact *out, int cap) {
    if (cap <= 0)
        return 0;
    if (cond->op == TC_OP_NOT)
        return te_facts_of(r, cond->args[0], !negated, out, cap);
    if (cond->op == (negated ? TC_OP_OR : TC_OP_AND)) {
        int n = te_facts_of(r, cond->args[0], negated, out, cap);
        return n + te_facts_of(r, cond->args[1], negated, out + n, cap - n);
    }
    return comparison_fact(r, cond, negated, out);
}

static bool same_combination(const te_fact *a, const te_fact *b) {
    return a->n == b->n && memcmp(a->term, b->term, (size_t)a->n * sizeof a->term[0]) == 0;
}

static void note(tc_env *e, const te_fact *f) {
    if (f->n == 1 && f->term[0].atom->op == TC_OP_VAR) {
        const tc_var *v = f->term[0].atom->u.var;
        binding *b = bind(e, v);
        tc_push(&e->log, ((undo){UNDO_VAR, v->id, b->assumed}));
        b->assumed = tc_ival_meet(b->assumed, f->range);
        return;
    }
    for (size_t i = 0; i < e->facts.len; i++)
        if (same_combination(&e->facts.data[i], f)) {
            tc_push(&e->log, ((undo){UNDO_FACT, (uint32_t)i, e->facts.data[i].range}));
            e->facts.data[i].range = tc_ival_meet(e->facts.data[i].range, f->range);
            return;
        }
    tc_push(&e->log, ((undo){.kind = UNDO_PUSH}));
    tc_push(&e->facts, *f);
}

static bool is_size(const tc_expr *e) {
    if (e->op == TC_OP_MUL)
        return is_size(e->args[0]) && is_size(e->args[1]);
    return tc_expr_is_symbol(e);
}

/* The factors of a product of sizes that is at least 1 are so as well. */
static void note_positive(tc_env *e, const tc_expr *size) {
    if (size->op == TC_OP_MUL) {
        note_positive(e, size->args[0]);
        note_positive(e, size->args[1]);
        return;
    }
    te_fact f = {.n = 1, .term = {{size, 1}}, .range = {1, TC_INF}};
    if (tc_env_get(e, size->u.var).lo < 1)
        note(e, &f);
}

/* 0 <= x < B * S says that neither B nor S is 0. */
static void note_sizes(tc_env *e, te_ranges *r, const te_fact *f) {
    for (int i = 0; i < f->n; i++) {
        bool less = f->term[i].coef < 0 && f->range.hi != TC_INF; /* a fact is lo <= sum <= hi */
        bool more = f->term[i].coef > 0 && f->range.lo != TC_NINF;
        if ((!less && !more) || !is_size(f->term[i].atom) || tc_te_bounds(f->term[i].atom, e).lo >= 1)
            continue;
        tc_affine rest = {0};
        for (int k = 0; k < f->n; k++)
            tc_affine_term(&rest, f->term[k].atom, k == i ? 0 : less ? f->term[k].coef : -f->term[k].coef);
        /* size * |coef| >= rest - hi, or >= lo + rest */
        tc_ival least = tc_ival_add(te_range_affine(r, &rest), (tc_ival){less ? -f->range.hi : f->range.lo, TC_INF});
        if (least.lo != TC_NINF && least.lo >= 1)
            note_positive(e, f->term[i].atom);
    }
}

static void assume(tc_env *e, const tc_expr *cond, bool negated) {
    te_fact facts[TE_COND_FACTS];
    te_ranges r;
    te_ranges_init(&r, e);
    int n = te_facts_of(&r, cond, negated, facts, TE_COND_FACTS);
    for (int i = 0; i < n; i++) {
        note(e, &facts[i]);
        note_sizes(e, &r, &facts[i]);
    }
}

size_t tc_env_mark(const tc_env *e) {
    return e->log.len;
}

void tc_env_assume(tc_env *e, const tc_expr *cond) {
    assume(e, cond, false);
}

void tc_env_assume_not(tc_env *e, const tc_expr *cond) {
    assume(e, cond, true);
}

void tc_env_undo(tc_env *e, size_t mark) {
    assert(mark <= e->log.len);
    while (e->log.len > mark) {
        undo u = e->log.data[--e->log.len];
        switch (u.kind) {
        case UNDO_VAR:
            find(e, u.which)->assumed = u.before;
            break;
        case UNDO_FACT:
            e->facts.data[u.which].range = u.before;
            break;
        case UNDO_PUSH:
            e->facts.len--;
        }
    }
}
