/* Ranges, by interval arithmetic over linear forms. Sums are collected first, so x - x is 0 and independent variables give exact
 * bounds. A known fact about a linear combination narrows every form that contains a multiple of the combination. A min, max or
 * select inside a sum is bounded case by case. */
#include "te/te_int.h"

#include <stdlib.h>

enum { MAX_EXPANSION = 3 }; /* nested case distinctions: 2^3 forms at most */
enum { MAX_FACTS = 3 };     /* used on one form: an image has two padded dimensions, a volume three */
enum { MAX_SCOPES = 6 };    /* nested selects whose arms are bounded under their condition: 2^6 visits of a shared node at most */

/* ---- queries ---- */

void te_ranges_init(te_ranges *r, const tc_env *env) {
    r->env = env;
    r->outer = NULL;
    r->nfact = 0;
    r->read_range = NULL;
    r->user = NULL;
    r->expanding = 0;
    r->depth = 0;
    memset(r->slot_key, 0, sizeof r->slot_key);
    memset(r->memory_key, 0, sizeof r->memory_key);
}

void te_ranges_under(te_ranges *r, te_ranges *outer, const tc_expr *cond, bool negated) {
    te_ranges_init(r, outer->env);
    r->outer = outer;
    r->read_range = outer->read_range;
    r->user = outer->user;
    r->expanding = outer->expanding;
    r->depth = outer->depth + 1;
    r->nfact = te_facts_of(outer, cond, negated, r->fact, TE_COND_FACTS);
}

/* ---- what may wrap ---- */

static bool half_open(tc_ival v) {
    return (v.lo == TC_NINF) != (v.hi == TC_INF);
}

static tc_ival range_leaf(te_ranges *r, const tc_expr *e);

static bool is_open_variable(const tc_expr *e, const void *user) {
    /* Looking a variable up changes nothing in the query. */
    return e->op == TC_OP_VAR && !tc_ival_bounded(range_leaf((te_ranges *)(uintptr_t)user, e));
}

/* Whether e touches memory. Asked of every level of what may be deep, operands first mostly, and so kept. */
static bool touches_memory(te_ranges *r, const tc_expr *e) {
    if (e->nargs == 0)
        return e->op == TC_OP_READ;
    uint32_t slot = (e->id * 0x9e3779b1u >> 7) % TE_RANGE_SLOTS;
    if (r->memory_key[slot] == e->id + 1)
        return r->memory[slot];
    bool touches = e->op == TC_OP_READ || e->op == TC_OP_LOAD;
    for (int i = 0; i < e->nargs && !touches; i++) {
        uint32_t at = (e->args[i]->id * 0x9e3779b1u >> 7) % TE_RANGE_SLOTS;
        touches = r->memory_key[at] == e->args[i]->id + 1 ? r->memory[at] : tc_expr_touches_memory(e->args[i]);
    }
    r->memory_key[slot] = e->id + 1;
    r->memory[slot] = touches;
    return touches;
}

/* Unbounded for want of what is known of its variables, and so taken not to wrap. */
static bool is_open(te_ranges *r, const tc_expr *e) {
    return !touches_memory(r, e) && tc_expr_any(e, is_open_variable, r);
}

/* *sum += |coef| * the largest magnitude in v */
static bool add_magnitude(int64_t *sum, int64_t coef, tc_ival v) {
    int64_t most;
    if (!tc_ival_bounded(v))
        return false;
    most = TC_MAX(tc_magnitude(v.lo), tc_magnitude(v.hi));
    return !__builtin_mul_overflow(tc_magnitude(coef), most, &most) && !__builtin_add_overflow(*sum, most, sum);
}

int64_t te_magnitude(te_ranges *r, const tc_affine *a) {
    int64_t sum = 0;
    bool known = add_magnitude(&sum, 1, (tc_ival){a->c, a->c});
    for (int i = 0; i < a->n && known; i++) {
        tc_ival v = te_range(r, a->term[i].atom);
        if (!tc_ival_bounded(v) && is_open(r, a->term[i].atom))
            v = (tc_ival){1, 1};
        known = add_magnitude(&sum, a->term[i].coef, v);
    }
    return known ? sum : INT64_MAX;
}

bool te_exact(te_ranges *r, const tc_affine *a) {
    return te_magnitude(r, a) <= TE_EXACT_MOST;
}

/* ---- linear forms ---- */

static tc_ival sum_of_ranges(te_ranges *r, const tc_affine *a) {
    tc_ival sum = {a->c, a->c};
    for (int i = 0; i < a->n; i++)
        sum = tc_ival_add(sum, tc_ival_scale(te_range(r, a->term[i].atom), a->term[i].coef));
    return sum;
}

/* How often the fact's combination is in a; 0 if it is not, wholly. */
static int64_t multiple_of(const tc_affine *a, const te_fact *f) {
    int64_t k = tc_affine_coef(a, f->term[0].atom);
    if (k == 0 || k % f->term[0].coef)
        return 0;
    k /= f->term[0].coef;
    for (int i = 1; i < f->n; i++) {
        int64_t want;
        if (__builtin_mul_overflow(k, f->term[i].coef, &want) || tc_affine_coef(a, f->term[i].atom) != want)
            return 0;
    }
    return k;
}

/* Cursor over the facts of a query and of those around it, innermost first. */
typedef struct fact_cursor {
    const te_ranges *scope;
    int i;
    bool env;
} fact_cursor;

static const te_fact *next_fact(fact_cursor *k, const te_ranges *r) {
    while (k->scope) {
        if (k->i < k->scope->nfact)
            return &k->scope->fact[k->i++];
        k->scope = k->scope->outer;
        k->i = 0;
    }
    const te_fact *facts;
    return k->i < te_env_facts(r->env, &facts) ? &facts[k->i++] : NULL;
}

/* Each fact may be used once, in order; on disjoint combinations (rows and columns of an image) several apply, but no more than
 * MAX_FACTS, so that the cost stays polynomial. */
static tc_ival range_with_facts(te_ranges *r, const tc_affine *a, fact_cursor at, int used) {
    tc_ival best = sum_of_ranges(r, a);
    const te_fact *f;
    while (used < MAX_FACTS && (f = next_fact(&at, r)) != NULL) {
        bool known = f->n == 1 && f->term[0].atom->op == TC_OP_VAR; /* range_leaf has it */
        int64_t k = known ? 0 : multiple_of(a, f);
        if (!k)
            continue;
        tc_affine rest = *a;
        for (int i = 0; i < f->n; i++)
            tc_affine_term(&rest, f->term[i].atom, (int64_t)(0 - (uint64_t)k * (uint64_t)f->term[i].coef));
        best = tc_ival_meet(best, tc_ival_add(tc_ival_scale(f->range, k), range_with_facts(r, &rest, at, used + 1)));
    }
    return best;
}

static bool positive_divisor(const tc_expr *e) {
    return e->nargs == 2 && e->args[1]->op == TC_OP_INT && e->args[1]->u.i > 0;
}

/* m * x - m * c * (x / c) is m * (x % c): replaces the first such pair, adding the range of the remainder to *extra. */
static bool take_remainder(te_ranges *r, tc_affine *a, tc_ival *extra) {
    for (int i = 0; i < a->n; i++) {
        const tc_expr *d = a->term[i].atom;
        if (d->op != TC_OP_DIV || !positive_divisor(d) || a->term[i].coef % d->args[1]->u.i)
            continue;
        int64_t m = -(a->term[i].coef / d->args[1]->u.i);
        tc_affine x = {0}, rest = *a;
        if (!tc_affine_linear(&x, d->args[0], 1) || x.n == 0)
            continue;
        bool all = true;
        for (int k = 0; k < x.n; k++)
            all &= tc_affine_coef(a, x.term[k].atom) == (int64_t)((uint64_t)m * (uint64_t)x.term[k].coef);
        if (!all || !tc_affine_term(&rest, d, -a->term[i].coef) || !tc_affine_add(&rest, &x, -m))
            continue;
        *extra = tc_ival_add(*extra, tc_ival_scale(te_ival_mod(te_range_affine(r, &x), te_range(r, d->args[1])), m));
        *a = rest;
        return true;
    }
    return false;
}

/* Range of a with its term i replaced by coef * with. */
static bool range_case(te_ranges *r, const tc_affine *a, int i, const tc_expr *with, tc_ival *out) {
    tc_affine b = *a;
    int64_t coef = a->term[i].coef;
    if (!tc_affine_term(&b, a->term[i].atom, -coef) || !tc_affine_linear(&b, with, coef))
        return false;
    *out = te_range_affine(r, &b);
    return true;
}

/* coef * e wraps nowhere, and leaves room for other terms. */
static bool case_is_exact(te_ranges *r, const tc_expr *e, int64_t coef) {
    tc_affine a = {0};
    return tc_affine_linear(&a, e, 1) && te_magnitude(r, &a) <= TE_EXACT_MOST / tc_magnitude(coef);
}

/* A sum with min(x, y) in it is min(sum with x, sum with y), or max if the coefficient is negative. */
static tc_ival range_by_cases(te_ranges *r, const tc_affine *a, int i) {
    const tc_expr *e = a->term[i].atom;
    tc_ival x, y;
    if (!range_case(r, a, i, e->args[0], &x) || !range_case(r, a, i, e->args[1], &y))
        return TC_IVAL_ALL;
    int64_t coef = a->term[i].coef;
    if (!te_exact(r, a) || !case_is_exact(r, e->args[0], coef) || !case_is_exact(r, e->args[1], coef))
        return tc_ival_join(x, y);
    return (e->op == TC_OP_MIN) == (a->term[i].coef > 0) ? te_ival_min(x, y) : te_ival_max(x, y);
}

/* A sum that is bounded on one side only may wrap from the other, unless that is open variables'. */
static bool may_wrap(te_ranges *r, const tc_affine *a, tc_ival v) {
    if (!half_open(v) || (a->n == 1 && a->term[0].coef == 1 && a->c == 0))
        return false;
    for (int i = 0; i < a->n; i++)
        if (!tc_ival_bounded(te_range(r, a->term[i].atom)) && !is_open(r, a->term[i].atom))
            return true;
    return false;
}

tc_ival te_range_affine(te_ranges *r, const tc_affine *form) {
    tc_affine a = *form;
    tc_ival extra = {0, 0};
    while (a.n > 1 && take_remainder(r, &a, &extra))
        continue;
    tc_ival v = range_with_facts(r, &a, (fact_cursor){.scope = r}, 0);
    for (int i = 0; i < a.n && a.n > 1 && r->expanding < MAX_EXPANSION; i++)
        if (a.term[i].atom->op == TC_OP_MIN || a.term[i].atom->op == TC_OP_MAX) {
            r->expanding++;
            v = tc_ival_meet(v, range_by_cases(r, &a, i));
            r->expanding--;
            break;
        }
    v = tc_ival_add(v, extra);
    if (may_wrap(r, form, v))
        return TC_IVAL_ALL;
    return v.lo > v.hi ? (tc_ival){0, 0} : v; /* contradictory facts: never reached, so anything is sound, and 0 is in bounds */
}

/* ---- nodes ---- */

/* n / d * d is n, less at most d - 1. */
static tc_ival range_product(te_ranges *r, const tc_expr *e, tc_ival v) {
    for (int i = 0; i < 2; i++) {
        const tc_expr *q = e->args[i], *d = e->args[!i];
        tc_ival by = te_range(r, d);
        if (q->op != TC_OP_DIV || q->args[1] != d || by.lo < 1)
            continue;
        tc_ival off = {by.hi == TC_INF ? TC_NINF : 1 - by.hi, 0};
        v = tc_ival_meet(v, tc_ival_add(te_range(r, q->args[0]), off));
    }
    return v;
}

static tc_ival range_linear(te_ranges *r, const tc_expr *e) {
    tc_affine a = {0};
    if (tc_affine_linear(&a, e, 1) && !(a.n == 1 && a.term[0].atom == e))
        return te_range_affine(r, &a);
    tc_ival x = te_range(r, e->args[0]), y = te_range(r, e->args[1]);
    if (e->op == TC_OP_MUL)
        return range_product(r, e, te_ival_mul(x, y));
    return tc_ival_add(x, e->op == TC_OP_SUB ? tc_ival_scale(y, -1) : y);
}

/* Elements that are all congruent modulo g leave remainders congruent modulo g: (16 * x) % 64 is at most 48. */
static tc_ival range_mod(te_ranges *r, const tc_expr *e) {
    tc_ival v = te_ival_mod(te_range(r, e->args[0]), te_range(r, e->args[1]));
    tc_affine a = {0};
    if (e->dtype != TC_I64 || e->lanes != 1 || !positive_divisor(e) || !tc_affine_linear(&a, e->args[0], 1))
        return v;
    int64_t c = e->args[1]->u.i, g = c;
    for (int i = 0; i < a.n; i++)
        g = tc_gcd(g, a.term[i].coef);
    bool congruent = g > 1 && ((g & (g - 1)) == 0 || te_exact(r, &a)); /* wrapping keeps remainders by powers of two */
    int64_t first = tc_floor_mod(a.c, g);
    return congruent ? tc_ival_meet(v, (tc_ival){first, c - g + first}) : v;
}

/* An arm of a select, under its condition where that says something. */
static tc_ival range_arm(te_ranges *r, const tc_expr *e, bool negated) {
    const tc_expr *arm = e->args[negated ? 2 : 1];
    te_ranges under;
    if (r->depth == MAX_SCOPES || !arm->nargs)
        return te_range(r, arm);
    te_ranges_under(&under, r, e->args[0], negated);
    return te_range(under.nfact ? &under : r, arm);
}

static tc_ival range_select(te_ranges *r, const tc_expr *e) {
    int known = te_decide(r, e->args[0]);
    if (known >= 0)
        return te_range(r, e->args[known ? 1 : 2]);
    return tc_ival_join(range_arm(r, e, false), range_arm(r, e, true));
}

static int64_t mask_above(int64_t v) {
    int64_t m = 1;
    while (m <= v && m < INT64_MAX / 2)
        m = 2 * m + 1;
    return m;
}

static tc_ival range_bits(te_ranges *r, const tc_expr *e) {
    tc_ival a = te_range(r, e->args[0]), b = te_range(r, e->args[1]);
    if (e->op == TC_OP_SHR && tc_ival_point(b) && b.lo >= 0 && b.lo < 63 && e->dtype != TC_U64)
        return (tc_ival){a.lo >> b.lo, a.hi == TC_INF ? TC_INF : a.hi >> b.lo};
    if (e->op == TC_OP_SHL && tc_ival_point(b) && b.lo >= 0 && b.lo < 62)
        return tc_ival_scale(a, (int64_t)1 << b.lo);
    if (e->op == TC_OP_BAND && (a.lo >= 0 || b.lo >= 0))
        return (tc_ival){0, a.lo < 0 ? b.hi : b.lo < 0 ? a.hi : TC_MIN(a.hi, b.hi)};
    if ((e->op == TC_OP_BOR || e->op == TC_OP_BXOR) && a.lo >= 0 && b.lo >= 0 && tc_ival_bounded(a) && tc_ival_bounded(b))
        return (tc_ival){0, mask_above(TC_MAX(a.hi, b.hi))};
    return tc_ival_of_dtype(e->dtype);
}

static tc_ival range_bool(te_ranges *r, const tc_expr *e) {
    int known = te_decide(r, e);
    return known < 0 ? (tc_ival){0, 1} : (tc_ival){known, known};
}

static tc_ival range_abs(te_ranges *r, const tc_expr *e) {
    tc_ival v = te_range(r, e->args[0]);
    if (v.lo >= 0 || v.lo == TC_NINF) /* |INT64_MIN| wraps */
        return v.lo >= 0 ? v : TC_IVAL_ALL;
    tc_ival flipped = tc_ival_scale(v, -1);
    return v.hi <= 0 ? flipped : (tc_ival){0, TC_MAX(v.hi, flipped.hi)};
}

/* A value that the target type does not hold wraps; te_range sees to it, but for u64, whose upper half looks unbounded here. */
static tc_ival range_cast(te_ranges *r, const tc_expr *e) {
    if (tc_dtype_is_float(e->args[0]->dtype))
        return tc_ival_of_dtype(e->dtype);
    tc_ival v = te_range(r, e->args[0]);
    return e->args[0]->dtype == TC_U64 && v.hi == TC_INF ? TC_IVAL_ALL : v;
}

static tc_ival range_memory(te_ranges *r, const tc_expr *e) {
    tc_ival v = tc_ival_of_dtype(e->dtype);
    return r->read_range && e->op == TC_OP_READ ? tc_ival_meet(v, r->read_range(r->user, e, r)) : v;
}

static tc_ival range_ramp(te_ranges *r, const tc_expr *e) {
    tc_ival lanes = {0, e->lanes - 1};
    return tc_ival_add(te_range(r, e->args[0]), te_ival_mul(te_range(r, e->args[1]), lanes));
}

static tc_ival range_bcast(te_ranges *r, const tc_expr *e) {
    return te_range(r, e->args[0]);
}

static tc_ival range_arithmetic(te_ranges *r, const tc_expr *e) {
    if (e->dtype == TC_I64 && e->lanes == 1)
        return range_linear(r, e);
    tc_ival a = te_range(r, e->args[0]), b = te_range(r, e->args[1]);
    if (e->op == TC_OP_MUL)
        return te_ival_mul(a, b);
    return tc_ival_add(a, tc_ival_scale(b, e->op == TC_OP_SUB ? -1 : 1));
}

static tc_ival range_div(te_ranges *r, const tc_expr *e) {
    return tc_ival_div(te_range(r, e->args[0]), te_range(r, e->args[1]), e->op == TC_OP_DIV);
}

static tc_ival range_tmod(te_ranges *r, const tc_expr *e) {
    return te_ival_tmod(te_range(r, e->args[0]), te_range(r, e->args[1]));
}

static tc_ival range_minmax(te_ranges *r, const tc_expr *e) {
    tc_ival a = te_range(r, e->args[0]), b = te_range(r, e->args[1]);
    return e->op == TC_OP_MIN ? te_ival_min(a, b) : te_ival_max(a, b);
}

/* What tells more than the dtype does. */
static tc_ival (*const RANGES[TC_NOPS])(te_ranges *r, const tc_expr *e) = {
    [TC_OP_READ] = range_memory,    [TC_OP_LOAD] = range_memory,    [TC_OP_RAMP] = range_ramp,      [TC_OP_BCAST] = range_bcast,
    [TC_OP_ADD] = range_arithmetic, [TC_OP_SUB] = range_arithmetic, [TC_OP_MUL] = range_arithmetic, [TC_OP_DIV] = range_div,
    [TC_OP_TDIV] = range_div,       [TC_OP_MOD] = range_mod,        [TC_OP_TMOD] = range_tmod,      [TC_OP_MIN] = range_minmax,
    [TC_OP_MAX] = range_minmax,     [TC_OP_SELECT] = range_select,  [TC_OP_CAST] = range_cast,      [TC_OP_ABS] = range_abs,
    [TC_OP_BAND] = range_bits,      [TC_OP_BOR] = range_bits,       [TC_OP_BXOR] = range_bits,      [TC_OP_SHL] = range_bits,
    [TC_OP_SHR] = range_bits,
};

/* Operations whose value may leave the operands' side of an unbounded range. */
static bool wraps(tc_op op) {
    return op == TC_OP_ADD || op == TC_OP_SUB || op == TC_OP_MUL || op == TC_OP_RAMP || op == TC_OP_ABS || op == TC_OP_SHL;
}

static tc_ival range_node(te_ranges *r, const tc_expr *e) {
    if (e->dtype == TC_BOOL && !(tc_op_traits(e->op) & (TC_MEMORY | TC_VECTOR)) && e->op != TC_OP_SELECT)
        return range_bool(r, e);
    return RANGES[e->op] ? RANGES[e->op](r, e) : tc_ival_of_dtype(e->dtype);
}

static tc_ival range_leaf(te_ranges *r, const tc_expr *e) {
    if (e->op == TC_OP_INT)
        return e->dtype == TC_U64 && e->u.i < 0 ? tc_ival_of_dtype(TC_U64) : (tc_ival){e->u.i, e->u.i};
    tc_ival v = tc_env_get(r->env, e->u.var);
    for (const te_ranges *s = r; s; s = s->outer)
        for (int i = 0; i < s->nfact; i++)
            if (s->fact[i].n == 1 && s->fact[i].term[0].atom == e)
                v = tc_ival_meet(v, s->fact[i].range);
    return v;
}

/* What is known of a quotient, a remainder or a value from memory itself: select(i % 16 < 8, X[i % 16], ...). Sums are asked
 * about as forms. */
static tc_ival range_of_atom(te_ranges *r, const tc_expr *e, tc_ival v) {
    fact_cursor at = {.scope = r};
    for (const te_fact *f; (f = next_fact(&at, r)) != NULL;)
        if (f->n == 1 && f->term[0].atom == e && f->term[0].coef == 1)
            v = tc_ival_meet(v, f->range);
    return v;
}

tc_ival te_range(te_ranges *r, const tc_expr *e) {
    if (e->op == TC_OP_INT || e->op == TC_OP_VAR)
        return range_leaf(r, e);
    uint32_t key = e->id * (MAX_EXPANSION + 1) + (uint32_t)r->expanding + 1, slot = (key * 0x9e3779b1u >> 7) % TE_RANGE_SLOTS;
    if (r->slot_key[slot] == key)
        return r->slot[slot];
    tc_ival v = range_node(r, e), limits = tc_ival_of_dtype(e->dtype);
    bool is_sum = e->op == TC_OP_ADD || e->op == TC_OP_SUB || (e->op == TC_OP_MUL && e->args[1]->op == TC_OP_INT);
    if (e->dtype == TC_I64 && e->lanes == 1 && !is_sum)
        v = range_of_atom(r, e, v);
    bool wrapped = v.lo < limits.lo || v.hi > limits.hi || (e->dtype == TC_U64 && v.hi == TC_INF);
    if (wrapped || v.lo > v.hi || (wraps(e->op) && half_open(v) && !is_open(r, e))) /* or contradictory facts */
        v = limits;
    r->slot_key[slot] = key;
    r->slot[slot] = v;
    return v;
}

tc_ival tc_te_bounds(const tc_expr *e, const tc_env *env) {
    te_ranges r;
    te_ranges_init(&r, env);
    return te_range(&r, e);
}

bool tc_te_stays_in_range(const tc_expr *e, const tc_env *env) {
    te_ranges r;
    te_ranges_init(&r, env);
    tc_ival a = te_range(&r, e->args[0]), b = te_range(&r, e->args[1]);
    if (e->op == TC_OP_RAMP)
        b = te_ival_mul(b, (tc_ival){0, e->lanes - 1});
    if (!tc_ival_bounded(a) || !tc_ival_bounded(b))
        return false;
    if (e->op == TC_OP_MUL)
        return tc_ival_bounded(te_ival_mul(a, b));
    return tc_ival_bounded(tc_ival_add(a, e->op == TC_OP_SUB ? tc_ival_scale(b, -1) : b));
}
