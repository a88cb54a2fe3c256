/* Bounds by running: where intervals are too coarse (a fused loop taken apart by / and %, under a guard on the whole), the index
 * is evaluated for every combination of the loops it depends on for which the known conditions hold. Conditions bring further
 * loops in; if there are too many combinations, conditions are left out, which is sound. Loops that are in no condition and only
 * added to the index, times a number, are not combined: the index is extreme where all add the least, or all the most. Of a fused
 * loop that only v % m and v / d % m are taken of, one period is enough. */
#include "te/eval.h"
#include "tir_lower/verify_int.h"

enum { MAX_RUNS = 1 << 20, MAX_VARS = 12, MAX_CONDS = 16 };

typedef struct loop {
    const tc_var *var;
    int64_t lo, hi, value;
    bool ends;           /* only where it adds the least, and the most, to the index */
    int64_t least, most; /* where that is */
} loop;

typedef struct runner {
    const verifier *v;
    const tc_expr *index;
    int nvar, ncond;
    loop loop[MAX_VARS];
    known_cond cond[MAX_CONDS];
    int decided[MAX_CONDS]; /* the first loop after which its value is known */
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

/* Whether e is e' + v * number with v nowhere in e'. */
static bool linear_in(const tc_expr *e, const tc_var *v) {
    if (e->op == TC_OP_VAR)
        return true;
    if (e->op == TC_OP_ADD || e->op == TC_OP_SUB)
        return linear_in(e->args[0], v) && linear_in(e->args[1], v);
    if (e->op == TC_OP_MUL && e->args[1]->op == TC_OP_INT)
        return linear_in(e->args[0], v);
    return !tc_expr_uses_var(e, v);
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

/* How many combinations there are. */
static bool few(runner *r) {
    double n = 1;
    set_ranges(r);
    for (int i = 0; i < r->nvar; i++)
        n *= r->loop[i].ends ? 1 : (double)(r->loop[i].hi - r->loop[i].lo + 1);
    return !r->overflow && n <= MAX_RUNS;
}

static bool shares_var(const runner *r, const tc_expr *e) {
    for (int i = 0; i < r->nvar; i++)
        if (tc_expr_uses_var(e, r->loop[i].var))
            return true;
    return false;
}

static bool has_cond(const runner *r, const known_cond *k) {
    for (int i = 0; i < r->ncond; i++)
        if (r->cond[i].cond == k->cond && r->cond[i].holds == k->holds)
            return true;
    return false;
}

/* Takes a condition in if the loops it adds leave the count small. */
static void add_cond(runner *r, const known_cond *k) {
    runner before = *r;
    if (r->ncond == MAX_CONDS || !shares_var(r, k->cond) || has_cond(r, k))
        return;
    tc_expr_walk(k->cond, add_var, r);
    for (int i = 0; i < r->nvar; i++)
        r->loop[i].ends = r->loop[i].ends && !tc_expr_uses_var(k->cond, r->loop[i].var);
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
            add_cond(r, &r->v->known.data[i]);
    }
}

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
    else
        return !tc_dtype_is_float(e->args[0]->dtype) && tc_eval_i(e->op, e->args[0]->dtype, a[0], e->nargs > 1 ? a[1] : 0, out);
    return true;
}

static bool holds(const runner *r, const known_cond *k) {
    int64_t v;
    return !eval(r, k->cond, &v) || (v != 0) == k->holds;
}

/* For each loop that is not combined, which end of it adds the least to the index. */
static bool find_corners(runner *r, const tc_expr *index) {
    for (int i = 0; i < r->nvar; i++)
        r->loop[i].value = r->loop[i].lo;
    for (int i = 0; i < r->nvar; i++) {
        int64_t at_lo, at_hi;
        if (!eval(r, index, &at_lo))
            return false;
        r->loop[i].value = r->loop[i].hi;
        if (!eval(r, index, &at_hi))
            return false;
        r->loop[i].value = r->loop[i].lo;
        r->loop[i].least = at_lo <= at_hi ? r->loop[i].lo : r->loop[i].hi;
        r->loop[i].most = at_lo <= at_hi ? r->loop[i].hi : r->loop[i].lo;
    }
    return true;
}

static bool corner(runner *r, bool most, const tc_expr *index, int64_t *at) {
    for (int i = 0; i < r->nvar; i++)
        if (r->loop[i].ends)
            r->loop[i].value = most ? r->loop[i].most : r->loop[i].least;
    return eval(r, index, at);
}

/* Loops in the order of the conditions they are in, so that one that does not hold ends all combinations of the rest. */
static void order_loops(runner *r) {
    int n = 0;
    for (int k = 0; k < r->ncond; k++) {
        for (int i = n; i < r->nvar; i++)
            if (tc_expr_uses_var(r->cond[k].cond, r->loop[i].var)) {
                loop first = r->loop[i];
                r->loop[i] = r->loop[n];
                r->loop[n++] = first;
            }
        r->decided[k] = n - 1;
    }
}

/* Whether a combination of the first `depth` loops can be: what is known with the last of them holds. */
static bool possible(const runner *r, int depth) {
    for (int i = 0; i < r->ncond; i++)
        if (r->decided[i] == depth - 1 && !holds(r, &r->cond[i]))
            return false;
    return true;
}

static bool run(runner *r, int depth, const tc_expr *index, int64_t size) {
    if (!possible(r, depth))
        return true;
    while (depth < r->nvar && r->loop[depth].ends)
        depth++;
    if (depth < r->nvar) {
        for (r->loop[depth].value = r->loop[depth].lo; r->loop[depth].value <= r->loop[depth].hi; r->loop[depth].value++)
            if (!run(r, depth + 1, index, size))
                return false;
        return true;
    }
    int64_t lo, hi;
    return corner(r, false, index, &lo) && corner(r, true, index, &hi) && lo >= 0 && hi < size;
}

bool verify_by_running(verifier *v, const tc_expr *index, int64_t size) {
    runner r = {.v = v, .index = index};
    tc_expr_walk(index, add_var, &r);
    for (int i = 0; i < r.nvar; i++)
        r.loop[i].ends = linear_in(index, r.loop[i].var);
    if (!few(&r))
        return false;
    add_conds(&r);
    order_loops(&r);
    return find_corners(&r, index) && run(&r, 0, index, size);
}
