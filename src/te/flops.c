/* Counts the operations of a workload as the field does. A multiply-add counts 2. Each arithmetic operation, min, max, math call
 * and choice by data counts 1. Index arithmetic, conditions on indices (padding), casts and copies are free. A choice by indices
 * is made before any computation, so only its longer side counts (a row of Winograd's matrices, half of a split). */
#include "te/te_int.h"
#include "te/unit_gain.h"

typedef struct counter {
    double ops;
    te_memo seen;
} counter;

static double weight(const tc_expr *e) {
    if (tc_op_traits(e->op) & (TC_LEAF | TC_MEMORY | TC_VECTOR | TC_LOGIC | TC_COMPARE))
        return 0;
    if (e->op == TC_OP_CAST)
        return 0;
    if (e->op == TC_OP_SELECT) /* the comparison is part of it */
        return tc_expr_touches_memory(e->args[0]);
    return e->op == TC_OP_FMA ? 2 : 1;
}

static void count(counter *k, const tc_expr *e);

static double alone(const tc_expr *e) {
    counter k = {0};
    te_memo_init(&k.seen);
    count(&k, e);
    te_memo_free(&k.seen);
    return k.ops;
}

static void count(counter *k, const tc_expr *e) {
    if (!te_memo_put(&k->seen, e->id, e) || e->op == TC_OP_READ || !tc_expr_touches_memory(e))
        return;
    if (e->op == TC_OP_SELECT && !tc_expr_touches_memory(e->args[0])) {
        double x = alone(e->args[1]), y = alone(e->args[2]); /* once each: they may be nested deep */
        k->ops += TC_MAX(x, y);
        return;
    }
    k->ops += weight(e);
    for (int i = 0; i < e->nargs; i++)
        count(k, e->args[i]);
}

static double points_of(const tc_compute *op) {
    double points = 1;
    for (int i = 0; i < op->naxis; i++)
        points *= (double)op->axes[i].extent;
    for (int i = 0; i < op->nraxis; i++)
        points *= (double)op->raxes[i].extent;
    return points;
}

static double of_compute(const tc_compute *op) {
    counter k = {0};
    te_memo_init(&k.seen);
    for (int o = 0; o < op->nout; o++) {
        count(&k, op->body[o]);
        if (tc_op_traits(op->body[o]->op) & TC_COMPARE)
            k.ops += 1; /* the result itself is a comparison */
    }
    te_memo_free(&k.seen);
    return points_of(op) * (k.ops + (op->reducer != TC_RED_NONE));
}

double tc_te_flops(const tc_workload *w) {
    double sum = 0;
    for (int i = 0; i < w->ncompute; i++)
        sum += of_compute(w->computes[i]);
    return sum;
}

/* ---- products ---- */

static bool chooses_by_index(const tc_expr *e, const void *user) {
    (void)user;
    return e->op == TC_OP_SELECT && !tc_expr_touches_memory(e->args[0]);
}

static bool is_product(const tc_compute *op) {
    const tc_expr *e = op->body[0];
    return op->reducer == TC_RED_SUM && e->op == TC_OP_MUL && tc_expr_touches_memory(e->args[0]) &&
           tc_expr_touches_memory(e->args[1]);
}

double tc_te_products(const tc_workload *w) {
    double sum = 0;
    for (int i = 0; i < w->ncompute; i++) {
        const tc_compute *op = w->computes[i];
        for (int o = 0; o < op->nout; o++)
            if (tc_expr_any(op->body[o], chooses_by_index, NULL))
                return 0;
        sum += is_product(op) ? 2 * points_of(op) : 0;
    }
    return w->nsymbol ? 0 : sum;
}

/* ---- units ---- */

static bool reads_as(const tc_expr *e, tc_dtype *t) {
    if (e->op != TC_OP_CAST)
        return false;
    *t = (tc_dtype)e->args[0]->dtype;
    return tc_expr_touches_memory(e);
}

static bool takes(const tc_intrinsic *r, tc_dtype acc, tc_dtype x, tc_dtype y) {
    return r->acc == acc && ((r->a == x && r->b == y) || (r->a == y && r->b == x));
}

/* The row of the set that gains most on sums of products of these types, among them and `best`. */
static const tc_intrinsic *better(const tc_intrinsic *best, tc_intrinsic_set set, tc_dtype acc, tc_dtype x, tc_dtype y) {
    for (int k = 0; k < TC_NINTRINSICS; k++) {
        const tc_intrinsic *r = tc_intrinsic_row((tc_intrinsic_id)k);
        if (tc_intrinsic_in(set, r) && takes(r, acc, x, y) && (!best || tc_intrinsic_gain(r) > tc_intrinsic_gain(best)))
            best = r;
    }
    return best;
}

const tc_intrinsic *tc_te_unit(const tc_workload *w, tc_intrinsic_set set) {
    const tc_intrinsic *best = NULL;
    for (int i = 0; i < w->ncompute; i++) {
        const tc_expr *e = w->computes[i]->body[0];
        tc_dtype x, y;
        if (w->computes[i]->reducer == TC_RED_SUM && e->op == TC_OP_MUL && reads_as(e->args[0], &x) && reads_as(e->args[1], &y))
            best = better(best, set, (tc_dtype)e->dtype, x, y);
    }
    return best;
}

double tc_te_unit_gain(const tc_workload *w, tc_intrinsic_set set) {
    const tc_intrinsic *unit = tc_te_unit(w, set);
    return unit ? tc_intrinsic_gain(unit) : 1;
}
