/* Bounds by running: where intervals are too coarse (a fused loop taken apart by / and %, under a guard on the whole), the index
 * is evaluated for every combination of the loops it depends on for which the known conditions hold. Conditions bring further
 * loops in; if there are too many combinations, conditions are left out, which is sound. Loops that are in no condition and only
 * added to the index, times a number, are not combined: the index is extreme where all add the least, or all the most. */
#include "te/eval.h"
#include "tir_lower/verify_int.h"

enum { MAX_RUNS = 1 << 20, MAX_VARS = 12, MAX_CONDS = 16 };

typedef struct runner {
    const verifier *v;
    int nvar, ncond;
    const tc_var *var[MAX_VARS];
    int64_t lo[MAX_VARS], hi[MAX_VARS], value[MAX_VARS];
    bool ends[MAX_VARS]; /* only where it adds the least, and the most, to the index */
    int64_t least[MAX_VARS], most[MAX_VARS];
    known_cond cond[MAX_CONDS];
    bool overflow;
} runner;

static void add_var(const tc_expr *e, void *user) {
    runner *r = user;
    if (tc_op_traits(e->op) & TC_MEMORY)
        r->overflow = true;
    if (e->op != TC_OP_VAR)
        return;
    for (int i = 0; i < r->nvar; i++)
        if (r->var[i] == e->u.var)
            return;
    tc_ival range = tc_env_get(r->v->env, e->u.var);
    if (r->nvar == MAX_VARS || range.lo == INT64_MIN || range.hi == INT64_MAX) {
        r->overflow = true;
        return;
    }
    r->var[r->nvar] = e->u.var;
    r->lo[r->nvar] = range.lo;
    r->hi[r->nvar++] = range.hi;
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

static bool few(const runner *r) {
    double n = 1;
    for (int i = 0; i < r->nvar; i++)
        n *= r->ends[i] ? 1 : (double)(r->hi[i] - r->lo[i] + 1);
    return !r->overflow && n <= MAX_RUNS;
}

static bool shares_var(const runner *r, const tc_expr *e) {
    for (int i = 0; i < r->nvar; i++)
        if (tc_expr_uses_var(e, r->var[i]))
            return true;
    return false;
}

/* Takes a condition in if the loops it adds leave the count small. */
static void add_cond(runner *r, const known_cond *k) {
    runner before = *r;
    if (r->ncond == MAX_CONDS || !shares_var(r, k->cond))
        return;
    tc_expr_walk(k->cond, add_var, r);
    for (int i = 0; i < r->nvar; i++)
        r->ends[i] = r->ends[i] && !tc_expr_uses_var(k->cond, r->var[i]);
    if (few(r))
        r->cond[r->ncond++] = *k;
    else
        *r = before;
}

static bool eval(const runner *r, const tc_expr *e, int64_t *out) {
    int64_t a[3];
    if (e->op == TC_OP_INT) {
        *out = e->u.i;
        return true;
    }
    if (e->op == TC_OP_VAR) {
        for (int i = 0; i < r->nvar; i++)
            if (r->var[i] == e->u.var)
                *out = r->value[i];
        return true;
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
        r->value[i] = r->lo[i];
    for (int i = 0; i < r->nvar; i++) {
        int64_t at_lo, at_hi;
        if (!eval(r, index, &at_lo))
            return false;
        r->value[i] = r->hi[i];
        if (!eval(r, index, &at_hi))
            return false;
        r->value[i] = r->lo[i];
        r->least[i] = at_lo <= at_hi ? r->lo[i] : r->hi[i];
        r->most[i] = at_lo <= at_hi ? r->hi[i] : r->lo[i];
    }
    return true;
}

static bool corner(runner *r, const int64_t *value, const tc_expr *index, int64_t *at) {
    for (int i = 0; i < r->nvar; i++)
        if (r->ends[i])
            r->value[i] = value[i];
    return eval(r, index, at);
}

static bool run(runner *r, int depth, const tc_expr *index, int64_t size) {
    while (depth < r->nvar && r->ends[depth])
        depth++;
    if (depth < r->nvar) {
        for (r->value[depth] = r->lo[depth]; r->value[depth] <= r->hi[depth]; r->value[depth]++)
            if (!run(r, depth + 1, index, size))
                return false;
        return true;
    }
    for (int i = 0; i < r->ncond; i++)
        if (!holds(r, &r->cond[i]))
            return true;
    int64_t lo, hi;
    return corner(r, r->least, index, &lo) && corner(r, r->most, index, &hi) && lo >= 0 && hi < size;
}

bool verify_by_running(verifier *v, const tc_expr *index, int64_t size) {
    runner r = {.v = v};
    tc_expr_walk(index, add_var, &r);
    for (int i = 0; i < r.nvar; i++)
        r.ends[i] = linear_in(index, r.var[i]);
    if (!few(&r))
        return false;
    for (size_t i = v->known.len; i-- > 0;)
        add_cond(&r, &v->known.data[i]);
    return find_corners(&r, index) && run(&r, 0, index, size);
}
