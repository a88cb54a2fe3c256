/* Decides conditions by ranges (bounds.c). */
#include "te/te_int.h"

/* Of a comparison of a and b, with the range of a - b, or of its sign. */
static int decide_order(tc_op op, tc_ival difference) {
    unsigned possible = (difference.lo < 0 ? TE_LESS : 0) | (difference.lo <= 0 && difference.hi >= 0 ? TE_EQUAL : 0) |
                        (difference.hi > 0 ? TE_GREATER : 0),
             holds = te_comparison(op) & possible;
    return holds == possible ? 1 : holds ? -1 : 0;
}

static int decide_comparison(te_ranges *r, const tc_expr *e) {
    const tc_expr *a = e->args[0], *b = e->args[1];
    if (tc_dtype_is_float(a->dtype))
        return -1;
    if (a->dtype == TC_I64 && a->lanes == 1) {
        tc_affine d = {0}, y = {0};
        if (tc_affine_linear(&d, a, 1) && tc_affine_linear(&y, b, 1) && te_exact(r, &d) && te_exact(r, &y) &&
            tc_affine_add(&d, &y, -1))
            return decide_order(e->op, te_range_affine(r, &d));
    }
    tc_ival x = te_range(r, a), y = te_range(r, b);
    if (!tc_ival_bounded(x) || !tc_ival_bounded(y)) {
        if (a->dtype == TC_U64)
            return -1;
    }
    /* Compare ends, not differences: the difference of two i64 may not fit. */
    tc_ival sign = {x.lo > y.hi ? 1 : x.lo == y.hi ? 0 : -1, x.hi < y.lo ? -1 : x.hi == y.lo ? 0 : 1};
    return decide_order(e->op, sign);
}

static int decide_same(te_ranges *r, const tc_expr *e) {
    return te_decide(r, e->args[0]);
}

static int decide_not(te_ranges *r, const tc_expr *e) {
    int a = te_decide(r, e->args[0]);
    return a < 0 ? -1 : !a;
}

static int decide_logic(te_ranges *r, const tc_expr *e) {
    int absorbing = e->op == TC_OP_OR, a = te_decide(r, e->args[0]);
    if (a == absorbing)
        return a;
    int b = te_decide(r, e->args[1]);
    return b == absorbing ? b : a < 0 ? -1 : b;
}

static int decide_select(te_ranges *r, const tc_expr *e) {
    tc_ival v = te_range(r, e);
    return tc_ival_point(v) ? (int)v.lo : -1;
}

static int decide_minmax(te_ranges *r, const tc_expr *e) {
    tc_ival a = te_range(r, e->args[0]), b = te_range(r, e->args[1]);
    tc_ival v = e->op == TC_OP_MIN ? te_ival_min(a, b) : te_ival_max(a, b);
    return tc_ival_point(v) ? (int)v.lo : -1;
}

/* x != 0 */
static int decide_cast(te_ranges *r, const tc_expr *e) {
    if (tc_dtype_is_float(e->args[0]->dtype))
        return -1;
    return decide_order(TC_OP_NE, te_range(r, e->args[0]));
}

static int (*const DECISIONS[TC_NOPS])(te_ranges *r, const tc_expr *e) = {
    [TC_OP_BCAST] = decide_same,    [TC_OP_NOT] = decide_not,       [TC_OP_AND] = decide_logic,
    [TC_OP_OR] = decide_logic,      [TC_OP_EQ] = decide_comparison, [TC_OP_NE] = decide_comparison,
    [TC_OP_LT] = decide_comparison, [TC_OP_LE] = decide_comparison, [TC_OP_GT] = decide_comparison,
    [TC_OP_GE] = decide_comparison, [TC_OP_SELECT] = decide_select, [TC_OP_CAST] = decide_cast,
    [TC_OP_MIN] = decide_minmax,    [TC_OP_MAX] = decide_minmax,
};

int te_decide(te_ranges *r, const tc_expr *e) {
    if (e->op == TC_OP_INT)
        return e->u.i != 0;
    return DECISIONS[e->op] ? DECISIONS[e->op](r, e) : -1;
}

int tc_te_decide(const tc_expr *cond, const tc_env *env) {
    te_ranges r;
    te_ranges_init(&r, env);
    return te_decide(&r, cond);
}
