/* Finds bounds by running. Intervals can be too coarse, for example when / and % take apart a fused loop under a guard on the
 * whole loop. Then the index is evaluated for every combination of its loops for which the known conditions hold. Conditions
 * bring in further loops. If there are too many combinations, conditions are left out, which is sound.
 *
 * Loops that share no condition and no term of the index need not be combined. The index is extreme where each such group of
 * loops adds the least, or the most. A loop that is only added, times a number, needs only its ends. A fused loop that occurs
 * only in v % m and v / d % m needs only one period. */
#include "te/eval.h"
#include "tir_lower/verify/verify_int.h"

enum { MAX_RUNS = 1 << 20, MAX_VARS = 12, MAX_CONDS = 16, MAX_TERMS = 32, NO_GROUP = -1 };
enum { RUNS_PER_STEP = 16 }; /* combinations that are tried in about the time of one step of a proof */

typedef struct loop {
    const tc_var *var;
    int64_t lo, hi, step, value;
    int group; /* a loop of it */
} loop;

/* A summand of the index: factor * e. */
typedef struct term {
    const tc_expr *e;
    int64_t factor;
    int group; /* of the loops that it uses, or NO_GROUP */
} term;

typedef struct runner {
    const verifier *v;
    const tc_expr *index;
    double most; /* combinations that may be tried */
    double all;  /* combinations to try */
    int nvar, nterm, ncond;
    loop loop[MAX_VARS];
    term term[MAX_TERMS];
    tc_known_cond cond[MAX_CONDS];
    int decided[MAX_CONDS]; /* the last loop that it uses */
    bool overflow;
} runner;

static void add_var(const tc_expr *e, void *user) {
    runner *r = user;
    if (tc_op_traits(e->op) & TC_MEMORY)
        r->overflow = true;
    if (e->op != TC_OP_VAR)
        return;
    for (int i = 0; i < r->nvar; i++)
        if (r->loop[i].var == e->u.var)
            return;
    tc_ival range = tc_env_get(r->v->env, e->u.var);
    if (r->nvar == MAX_VARS || !tc_ival_bounded(range)) {
        r->overflow = true;
        return;
    }
    r->loop[r->nvar++].var = e->u.var;
}

static void add_terms(runner *r, const tc_expr *e, int64_t factor) {
    int64_t product;
    if (e->op == TC_OP_ADD || e->op == TC_OP_SUB) {
        add_terms(r, e->args[0], factor);
        add_terms(r, e->args[1], e->op == TC_OP_ADD ? factor : -factor);
    } else if (e->op == TC_OP_MUL && e->args[1]->op == TC_OP_INT && !__builtin_mul_overflow(factor, e->args[1]->u.i, &product) &&
               product != INT64_MIN) {
        add_terms(r, e->args[0], product);
    } else if (r->nterm == MAX_TERMS) {
        r->overflow = true;
    } else {
        r->term[r->nterm++] = (term){.e = e, .factor = factor};
    }
}

/* Whether e takes v only modulo something: *period becomes a multiple of it. */
static bool periodic(const tc_expr *e, const tc_var *v, int64_t *period) {
    enum { LONGEST = 1 << 20 };
    if (e->op == TC_OP_VAR)
        return e->u.var != v;
    if (e->op == TC_OP_MOD && tc_expr_uses_var(e, v) && e->args[1]->op == TC_OP_INT) {
        const tc_expr *x = e->args[0];
        bool divided = x->op == TC_OP_DIV && x->args[1]->op == TC_OP_INT;
        int64_t m = e->args[1]->u.i, d = divided ? x->args[1]->u.i : 1;
        x = divided ? x->args[0] : x;
        if (x->op == TC_OP_VAR && m > 0 && d > 0 && m <= LONGEST && d <= LONGEST) {
            int64_t step = *period;
            while (*period % (m * d) != 0 && *period <= LONGEST)
                *period += step;
            return *period <= LONGEST;
        }
    }
    for (int i = 0; i < e->nargs; i++)
        if (!periodic(e->args[i], v, period))
            return false;
    return true;
}

/* Values that are tried of each loop. */
static void set_ranges(runner *r) {
    for (int i = 0; i < r->nvar; i++) {
        int64_t period = 1;
        tc_ival range = tc_env_get(r->v->env, r->loop[i].var);
        bool once = range.lo >= 0 && periodic(r->index, r->loop[i].var, &period);
        for (int k = 0; k < r->ncond && once; k++)
            once = periodic(r->cond[k].cond, r->loop[i].var, &period);
        once = once && range.hi - range.lo >= period;
        r->loop[i].lo = once ? 0 : range.lo;
        r->loop[i].hi = once ? period - 1 : range.hi;
    }
}

/* ---- groups of loops ---- */

/* The group of the first loop that e uses. */
static int group_of(const runner *r, const tc_expr *e) {
    for (int i = 0; i < r->nvar; i++)
        if (tc_expr_uses_var(e, r->loop[i].var))
            return r->loop[i].group;
    return NO_GROUP;
}

/* The loops that e uses become one group. */
static void join(runner *r, const tc_expr *e) {
    int into = group_of(r, e);
    for (int i = 0; i < r->nvar; i++) {
        if (!tc_expr_uses_var(e, r->loop[i].var))
            continue;
        for (int k = 0, from = r->loop[i].group; k < r->nvar; k++)
            if (r->loop[k].group == from)
                r->loop[k].group = into;
    }
}

/* Whether the index is linear in a loop that no condition limits. */
static bool only_added(const runner *r, const tc_var *v) {
    for (int i = 0; i < r->ncond; i++)
        if (tc_expr_uses_var(r->cond[i].cond, v))
            return false;
    for (int i = 0; i < r->nterm; i++)
        if (r->term[i].e->op != TC_OP_VAR && tc_expr_uses_var(r->term[i].e, v))
            return false;
    return true;
}

static void set_groups(runner *r) {
    for (int i = 0; i < r->nvar; i++)
        r->loop[i].group = i;
    for (int i = 0; i < r->nterm; i++)
        join(r, r->term[i].e);
    for (int i = 0; i < r->ncond; i++)
        join(r, r->cond[i].cond);
    for (int i = 0; i < r->nterm; i++)
        r->term[i].group = group_of(r, r->term[i].e);
    for (int i = 0; i < r->nvar; i++)
        r->loop[i].step = only_added(r, r->loop[i].var) ? TC_MAX(1, r->loop[i].hi - r->loop[i].lo) : 1;
}

/* How many combinations there are. */
static bool few(runner *r) {
    double all = 0;
    set_ranges(r);
    set_groups(r);
    for (int g = 0; g < r->nvar; g++) {
        double n = 1;
        for (int i = 0; i < r->nvar; i++)
            if (r->loop[i].group == g)
                n *= (double)((r->loop[i].hi - r->loop[i].lo) / r->loop[i].step + 1);
        all += n;
    }
    r->all = all;
    return !r->overflow && all <= r->most;
}

/* ---- conditions ---- */

static bool has_cond(const runner *r, const tc_known_cond *k) {
    for (int i = 0; i < r->ncond; i++)
        if (r->cond[i].cond == k->cond && r->cond[i].holds == k->holds)
            return true;
    return false;
}

/* Takes a condition in if the loops it adds leave the count small. */
static void add_cond(runner *r, const tc_known_cond *k) {
    runner before = *r;
    if (r->ncond == MAX_CONDS || has_cond(r, k))
        return;
    tc_expr_walk(k->cond, add_var, r);
    r->cond[r->ncond++] = *k;
    if (!few(r))
        *r = before;
}

/* Innermost first. A condition may be about loops that only an outer one brings in: in the else-branch of `t % 2 < 1` inside `for
 * i in 3 - t % 2 * 2`, the index has i alone, the loop's extent brings t, and the branch says which. */
static void add_conds(runner *r) {
    for (int before = -1; before < r->ncond;) {
        before = r->ncond;
        for (size_t i = r->v->known.len; i-- > 0;)
            if (group_of(r, r->v->known.data[i].cond) != NO_GROUP)
                add_cond(r, &r->v->known.data[i]);
    }
}

/* Those that have nothing to do with the index: together they may say that what is looked at is never run. */
static void add_other_conds(runner *r) {
    for (size_t i = r->v->known.len; i-- > 0;)
        add_cond(r, &r->v->known.data[i]);
}

/* ---- running ---- */

/* False if e is not of integers alone. */
static bool eval(const runner *r, const tc_expr *e, int64_t *out) {
    int64_t a[3];
    if (tc_dtype_is_float(e->dtype) || (tc_op_traits(e->op) & (TC_MEMORY | TC_VECTOR)))
        return false;
    if (e->op == TC_OP_INT) {
        *out = e->u.i;
        return true;
    }
    if (e->op == TC_OP_VAR) {
        for (int i = 0; i < r->nvar; i++)
            if (r->loop[i].var == e->u.var) {
                *out = r->loop[i].value;
                return true;
            }
        return false;
    }
    for (int i = 0; i < e->nargs && i < 3; i++)
        if (!eval(r, e->args[i], &a[i]))
            return false;
    if (e->op == TC_OP_SELECT)
        *out = a[0] ? a[1] : a[2];
    else if (e->op == TC_OP_CAST)
        *out = tc_cast_ii(e->dtype, a[0]);
    else if (tc_dtype_is_float(e->args[0]->dtype))
        return false;
    else
        *out = tc_eval_i(e->op, e->args[0]->dtype, a[0], e->nargs > 1 ? a[1] : 0);
    return true;
}

static bool holds(const runner *r, const tc_known_cond *k) {
    int64_t v;
    return !eval(r, k->cond, &v) || (v != 0) == k->holds;
}

/* Loops in the order of the conditions they are in, so that one that does not hold ends all combinations of the rest. */
static void order_loops(runner *r) {
    int n = 0;
    for (int k = 0; k < r->ncond; k++)
        for (int i = n; i < r->nvar; i++)
            if (tc_expr_uses_var(r->cond[k].cond, r->loop[i].var)) {
                loop first = r->loop[i];
                r->loop[i] = r->loop[n];
                r->loop[n++] = first;
            }
    for (int k = 0; k < r->ncond; k++)
        for (int i = 0; i < r->nvar; i++)
            if (tc_expr_uses_var(r->cond[k].cond, r->loop[i].var))
                r->decided[k] = i;
    set_groups(r);
}

/* Whether this value of a loop can be, with those of the loops before it: what is known with it holds. */
static bool possible(const runner *r, int last) {
    for (int i = 0; i < r->ncond; i++)
        if (r->decided[i] == last && !holds(r, &r->cond[i]))
            return false;
    return true;
}

/* What a group adds to the index where its loops are. */
static bool add_of_group(const runner *r, int group, int64_t *sum) {
    *sum = 0;
    for (int i = 0; i < r->nterm; i++) {
        const term *t = &r->term[i];
        int64_t v;
        if (t->group == group &&
            (!eval(r, t->e, &v) || __builtin_mul_overflow(v, t->factor, &v) || __builtin_add_overflow(*sum, v, sum)))
            return false;
    }
    return true;
}

/* Tries the loops of a group from one on. *range is what it adds to the index, and stays empty if no combination can be. */
static bool run(runner *r, int group, int from, tc_ival *range) {
    while (from < r->nvar && r->loop[from].group != group)
        from++;
    if (from == r->nvar) {
        int64_t sum;
        if (!add_of_group(r, group, &sum))
            return false;
        *range = (tc_ival){TC_MIN(range->lo, sum), TC_MAX(range->hi, sum)};
        return true;
    }
    loop *l = &r->loop[from];
    l->value = l->lo;
    for (bool more = l->lo <= l->hi; more; more = !__builtin_add_overflow(l->value, l->step, &l->value) && l->value <= l->hi)
        if (possible(r, from) && !run(r, group, from + 1, range))
            return false;
    return true;
}

/* Whether the index is within [0, size) in every combination that can be. */
static bool run_all(runner *r, int64_t size) {
    int64_t lo, hi;
    order_loops(r);
    if (!add_of_group(r, NO_GROUP, &lo))
        return false;
    hi = lo;
    for (int g = 0; g < r->nvar; g++) {
        tc_ival range = {INT64_MAX, INT64_MIN};
        if (r->loop[g].group != g)
            continue;
        if (!run(r, g, 0, &range))
            return false;
        if (range.lo > range.hi)
            return true;
        if (__builtin_add_overflow(lo, range.lo, &lo) || __builtin_add_overflow(hi, range.hi, &hi))
            return false;
    }
    return lo >= 0 && hi < size;
}

/* Whether the index stays within [0, size) under the conditions about its loops, or else under all conditions. */
static bool runs_within(runner *r, int64_t size) {
    add_conds(r);
    if (run_all(r, size))
        return true;
    add_other_conds(r);
    return run_all(r, size);
}

bool verify_by_running(verifier *v, const tc_expr *index, int64_t size) {
    bool pays = v->f->nsymbol > 0;
    double steps = (double)TC_MAX(*v->work, 0);
    runner r = {.v = v, .index = index, .most = pays ? TC_MIN(MAX_RUNS, steps * RUNS_PER_STEP) : MAX_RUNS};
    tc_expr_walk(index, add_var, &r);
    add_terms(&r, index, 1);
    bool runs = few(&r), within = runs && runs_within(&r, size);
    if (pays && runs)
        *v->work = (int64_t)(steps - r.all / RUNS_PER_STEP);
    return within;
}
