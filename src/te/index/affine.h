/* Index arithmetic: intervals, affine normal form, and simplification of i64 expressions under known variable ranges.
 * The normal form is sum(coef * atom) + constant, atoms being variables or non-affine sub-expressions (x / c, x % c, min, ...).
 *
 * i64 arithmetic wraps (te/expr.h). A form equals its expression modulo 2^64. If a bounded interval contains the exact sum of a
 * form, it also contains the form's value. So an interval whose end leaves i64 becomes unbounded, and rules for whole numbers need
 * te_exact. If an environment has no range for a variable, or only one end of it, the caller vouches for the variable: arithmetic
 * on it is assumed not to wrap. This does not hold for data. */
#ifndef TC_TE_AFFINE_H
#define TC_TE_AFFINE_H

#include "support/vec.h"
#include "te/expr.h"

/* ---- intervals (bounds.c) ---- */

#define TC_INF INT64_MAX /* unbounded on that side */
#define TC_NINF INT64_MIN
typedef struct tc_ival {
    int64_t lo, hi; /* inclusive; lo > hi: empty */
} tc_ival;
/* How large v is; TC_INF of the smallest number. */
static inline int64_t tc_magnitude(int64_t v) {
    return v == INT64_MIN ? TC_INF : v < 0 ? -v : v;
}

static const tc_ival TC_IVAL_ALL = {TC_NINF, TC_INF};

static inline bool tc_ival_bounded(tc_ival v) { /* on both sides */
    return v.lo != TC_NINF && v.hi != TC_INF;
}
static inline bool tc_ival_point(tc_ival v) { /* one value only */
    return v.lo == v.hi && tc_ival_bounded(v);
}
static inline tc_ival tc_ival_meet(tc_ival a, tc_ival b) { /* what is in both */
    return (tc_ival){TC_MAX(a.lo, b.lo), TC_MIN(a.hi, b.hi)};
}
static inline tc_ival tc_ival_join(tc_ival a, tc_ival b) { /* the smallest interval with both in it */
    return (tc_ival){TC_MIN(a.lo, b.lo), TC_MAX(a.hi, b.hi)};
}
/* The values of a + b, k * a and a / b, which `floors` as DIV does or truncates as TDIV. What is unbounded stays so; if a bounded
 * end leaves i64, nothing is known. A divisor that may be negative tells nothing either; a quotient by 0 is 0. */
tc_ival tc_ival_add(tc_ival a, tc_ival b);
tc_ival tc_ival_scale(tc_ival a, int64_t k);
tc_ival tc_ival_div(tc_ival a, tc_ival b, bool floors);
/* All values of a type: TC_IVAL_ALL of a float. u64 stands from 0 to TC_INF, unbounded. */
tc_ival tc_ival_of_dtype(tc_dtype t);

/* Quotient rounded down, and the remainder that belongs to it; b is not 0. tc_ceil_div is in support/vec.h. */
static inline int64_t tc_floor_div(int64_t a, int64_t b) {
    int64_t q = a / b;
    return q - (a % b != 0 && (a < 0) != (b < 0));
}
static inline int64_t tc_floor_mod(int64_t a, int64_t b) {
    int64_t r = a % b;
    return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}
int64_t tc_gcd(int64_t a, int64_t b); /* of magnitudes; gcd(0, b) = |b| */

/* ---- what is known of variables (env.c) ---- */

/* Variable ranges. Lookup by variable id; later bindings of a variable replace earlier ones. */
typedef struct tc_env tc_env;
tc_env *tc_env_new(void);
void tc_env_free(tc_env *e);
/* From now on tc_te_simplify remembers what it made of which expression, while nothing is assumed. For an environment that is
 * used with one context alone (or its parents' expressions), by one thread, and not beyond a reset of it. */
void tc_env_remember(tc_env *e);
void tc_env_set(tc_env *e, const tc_var *v, tc_ival range);
tc_ival tc_env_get(const tc_env *e, const tc_var *v);   /* unbounded when unknown, or a symbol's own; e may be NULL */
tc_ival tc_env_given(const tc_env *e, const tc_var *v); /* as it was set, whatever is assumed */

/* Adds what a condition known to hold says: affine comparisons, and conjunctions of them, narrow every query about the same
 * linear combination (the guard io * 6 + ii < 128 bounds (io * 6 + ii) * 768 + k). Other conditions add nothing. Undo with the
 * mark taken before. */
size_t tc_env_mark(const tc_env *e);
void tc_env_assume(tc_env *e, const tc_expr *cond);
void tc_env_assume_not(tc_env *e, const tc_expr *cond); /* cond is known to be false */
void tc_env_undo(tc_env *e, size_t mark);               /* forgets assumptions, not tc_env_set */

/* ---- questions (bounds.c) ---- */

/* Range of an integer or bool scalar expression; sound, exact for affine expressions of independent variables. Memory reads: the
 * dtype's range. `env` may be NULL (all but symbols unbounded). A vector's range is that of all its lanes. */
tc_ival tc_te_bounds(const tc_expr *e, const tc_env *env);
/* A sum, difference, product or ramp of i64 whose operands' ranges are such that it does not wrap. */
bool tc_te_stays_in_range(const tc_expr *e, const tc_env *env);
/* Decides a boolean expression: 1 always true, 0 always false, -1 unknown. */
int tc_te_decide(const tc_expr *cond, const tc_env *env);

/* ---- affine forms (affine.c) ---- */

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

/* a += coef * atom, and a += scale * b; false when there is no room, or a coefficient would be INT64_MIN, which has no magnitude
 * (a is then unusable). Coefficients wrap as i64 does. */
bool tc_affine_term(tc_affine *a, const tc_expr *atom, int64_t coef);
bool tc_affine_add(tc_affine *a, const tc_affine *b, int64_t scale);
/* a += scale * e, splitting the i64 scalar e at + - and * by constants; all else are atoms, as they are. */
bool tc_affine_linear(tc_affine *a, const tc_expr *e, int64_t scale);
/* The coefficient of atom; 0 if absent. */
int64_t tc_affine_coef(const tc_affine *a, const tc_expr *atom);
void tc_affine_drop(tc_affine *a, int term);
bool tc_affine_same_terms(const tc_affine *a, const tc_affine *b); /* they differ by a constant at most */
/* The terms in the order in which they are written: positive before negative, then by falling coefficient. */
void tc_affine_order(const tc_affine *a, const tc_term *order[TC_MAX_TERMS]);

/* ---- simplification (simplify.c) ---- */

/* Normal form of an i64 scalar. Returns false if it has more than TC_MAX_TERMS terms (out is then unusable). */
bool tc_te_affine(tc_ctx *c, const tc_expr *e, const tc_env *env, tc_affine *out);
const tc_expr *tc_te_from_affine(tc_ctx *c, const tc_affine *a);

/* Simplifies integer and boolean parts of any expression (indices inside reads, conditions, select on a decided condition):
 * affine normal form, (64*x + r) / 64 -> x and (64*x + r) % 64 -> r for r in [0, 64), (x % 6) + 6 * (x / 6) -> x, comparisons
 * decided by ranges, common factors divided out of comparisons, min/max of ordered operands. Never changes a float value. env may
 * be NULL. */
const tc_expr *tc_te_simplify(tc_ctx *c, const tc_expr *e, const tc_env *env);

#endif
