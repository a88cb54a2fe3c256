/* Index arithmetic: intervals, affine normal form, and simplification of i64 expressions under known variable ranges.
 * The normal form is sum(coef * atom) + constant, atoms being variables or non-affine sub-expressions (x / c, x % c, min, ...).
 */
#ifndef TC_TE_AFFINE_H
#define TC_TE_AFFINE_H

#include "te/expr.h"

typedef struct tc_ival {
    int64_t lo, hi; /* inclusive; lo > hi: empty. INT64_MIN / INT64_MAX mean unbounded on that side; arithmetic saturates. */
} tc_ival;

/* Variable ranges. Lookup by variable id; later bindings of a variable replace earlier ones. */
typedef struct tc_env tc_env;
tc_env *tc_env_new(void);
void tc_env_free(tc_env *e);
/* From now on tc_te_simplify remembers what it made of which expression, while nothing is assumed. For an environment that is
 * used with one context alone (or its parents' expressions), by one thread, and not beyond a reset of it. */
void tc_env_remember(tc_env *e);
void tc_env_clear(tc_env *e);
void tc_env_set(tc_env *e, const tc_var *v, tc_ival range);
tc_ival tc_env_get(const tc_env *e, const tc_var *v); /* unbounded when unknown */

/* Adds what a condition known to hold says: affine comparisons, and conjunctions of them, narrow every query about the same
 * linear combination (the guard io * 6 + ii < 128 bounds (io * 6 + ii) * 768 + k). Other conditions add nothing. Undo with the
 * mark taken before. */
size_t tc_env_mark(const tc_env *e);
void tc_env_assume(tc_env *e, const tc_expr *cond);
void tc_env_assume_not(tc_env *e, const tc_expr *cond); /* cond is known to be false */
void tc_env_undo(tc_env *e, size_t mark);               /* forgets assumptions, not tc_env_set */

/* Range of an integer or bool scalar expression; sound, exact for affine expressions of independent variables. Memory reads: the
 * dtype's range. `env` may be NULL (all unbounded). A vector's range is that of all its lanes. i64 arithmetic is taken not to
 * overflow. */
tc_ival tc_te_bounds(const tc_expr *e, const tc_env *env);
/* Decides a boolean expression: 1 always true, 0 always false, -1 unknown. */
int tc_te_decide(const tc_expr *cond, const tc_env *env);

typedef struct tc_term {
    const tc_expr *atom;
    int64_t coef; /* never 0 */
} tc_term;

enum { TC_MAX_TERMS = 24 };
typedef struct tc_affine {
    int n;
    int64_t c;
    tc_term term[TC_MAX_TERMS]; /* ordered by atom id: equal forms compare equal term by term */
} tc_affine;

/* Normal form of an i64 scalar. Returns false if it has more than TC_MAX_TERMS terms (out is then unusable). */
bool tc_te_affine(tc_ctx *c, const tc_expr *e, const tc_env *env, tc_affine *out);
const tc_expr *tc_te_from_affine(tc_ctx *c, const tc_affine *a);

/* Simplifies integer and boolean parts of any expression (indices inside reads, conditions, select on a decided condition):
 * affine normal form, (64*x + r) / 64 -> x and (64*x + r) % 64 -> r for r in [0, 64), (x % 6) + 6 * (x / 6) -> x, comparisons
 * decided by ranges, common factors divided out of comparisons, min/max of ordered operands. Never changes a float value. env may
 * be NULL. */
const tc_expr *tc_te_simplify(tc_ctx *c, const tc_expr *e, const tc_env *env);

#endif
