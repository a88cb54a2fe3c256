/* Cuts a stage's axis into parts that are computed one after the other.
 *
 *     symbol T = P + S
 *     compute Y[i:T, j:64] = select(i < P, A[i, j], B[i - P, j])
 *  => for i in P { Y[i, j] = A[i, j] }   for i in S { Y[i + P, j] = B[i, j] }
 *
 * A condition may compare an axis with sizes alone. Then it holds on one side of a point and fails on the other side, so neither
 * side needs a test. Only points that sizes define are cut here; partition finds fixed points. */
#include "tir_lower/build/build_int.h"

typedef struct finder {
    builder *b;
    const nest *n;
    int axis;
    int npoint;
    const tc_expr *point[NEST_MAX_CUTS]; /* ascending, whatever the sizes are */
} finder;

static int axis_of(const nest *n, const tc_expr *atom) {
    for (int i = 0; i < n->naxis; i++)
        if (atom->op == TC_OP_VAR && atom->u.var == n->st->op->axes[i].var)
            return i;
    return -1;
}

/* The point from which on `e < 0` is what it was not before; false if it is no such comparison. */
static bool point_of(finder *k, const tc_expr *cond, int *axis, tc_affine *point) {
    bool strict = cond->op == TC_OP_LT || cond->op == TC_OP_GE;
    if ((!strict && cond->op != TC_OP_LE && cond->op != TC_OP_GT) || cond->args[0]->dtype != TC_I64 || cond->lanes != 1)
        return false;
    tc_affine e = {.c = strict ? 0 : -1};
    if (!tc_affine_linear(&e, cond->args[0], 1) || !tc_affine_linear(&e, cond->args[1], -1))
        return false;
    int64_t coef = 0;
    *axis = -1;
    for (int i = e.n; i-- > 0;) {
        int a = axis_of(k->n, e.term[i].atom);
        if (a >= 0 && *axis < 0) {
            *axis = a;
            coef = e.term[i].coef;
            tc_affine_drop(&e, i);
        } else if (a >= 0 || !tc_expr_is_of_symbols(e.term[i].atom)) {
            return false;
        }
    }
    *point = (tc_affine){.c = coef == -1};
    return *axis >= 0 && e.n > 0 && (coef == 1 || coef == -1) && tc_affine_add(point, &e, -coef);
}

/* x <= y whatever the sizes are. */
static bool at_most(builder *b, const tc_expr *x, const tc_expr *y) {
    return tc_te_bounds(tc_te_simplify(b->c, tc_sub(b->c, y, x), b->env), b->env).lo >= 0;
}

static void note_point(const tc_expr *cond, void *user) {
    finder *k = user;
    int axis, at = k->npoint;
    tc_affine a;
    if (k->npoint == NEST_MAX_CUTS || !point_of(k, cond, &axis, &a) || (k->npoint && axis != k->axis))
        return;
    tc_ctx *c = k->b->c;
    const tc_axis *whole = &k->n->st->op->axes[axis];
    const tc_expr *point = tc_te_from_affine(c, &a), *size = whole->symbol ? tc_varx(c, whole->symbol) : tc_i64(c, whole->extent);
    if (!at_most(k->b, tc_i64(c, 0), point) || !at_most(k->b, point, size))
        return;
    while (at > 0 && at_most(k->b, point, k->point[at - 1]))
        at--;
    bool ordered = at == 0 || (at_most(k->b, k->point[at - 1], point));
    for (int i = 0; i < k->npoint; i++)
        ordered &= k->point[i] != point;
    if (!ordered)
        return;
    for (int i = k->npoint++; i > at; i--)
        k->point[i] = k->point[i - 1];
    k->point[at] = point;
    k->axis = axis;
}

static bool has_attached(const builder *b, const nest *n) {
    for (int i = 0; i < b->s->nstage; i++)
        if (b->nests[i].live && b->s->stages[i].attach == TC_ATTACH_AT && b->s->stages[i].at_stage == n->id)
            return true;
    return false;
}

int nest_cuts(builder *b, const nest *n, nest_part part[NEST_MAX_CUTS + 1]) {
    const tc_compute *op = n->st->op;
    finder k = {.b = b, .n = n};
    if (!b->s->workload->nsymbol || op->reducer != TC_RED_NONE || has_attached(b, n))
        return 0;
    for (int o = 0; o < op->nout; o++)
        tc_expr_walk(op->body[o], note_point, &k);
    if (!k.npoint)
        return 0;
    const tc_axis *whole = &op->axes[k.axis];
    const tc_expr *end = whole->symbol ? tc_varx(b->c, whole->symbol) : tc_i64(b->c, whole->extent);
    for (int i = 0; i <= k.npoint; i++) {
        const tc_expr *from = i ? k.point[i - 1] : tc_i64(b->c, 0), *to = i < k.npoint ? k.point[i] : end;
        part[i] = (nest_part){k.axis, from, tc_te_simplify(b->c, tc_sub(b->c, to, from), b->env)};
    }
    return k.npoint + 1;
}
