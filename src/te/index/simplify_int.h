/* Shared by the files of the simplifier. */
#ifndef TC_TE_SIMPLIFY_INT_H
#define TC_TE_SIMPLIFY_INT_H

#include "te/te_int.h"

typedef struct simplifier {
    tc_ctx *c;
    te_ranges *r;
    te_memo memo;
} simplifier;

const tc_expr *te_simp(simplifier *s, const tc_expr *e);

/* ---- simplify_divmod.c ---- */
/* The form of e with simplified atoms, recombined; false if it has too many terms. */
bool te_form(simplifier *s, const tc_expr *e, tc_affine *a);
/* Joins quotients with remainders of the same value, and moves what cancels into a min or max. Keeps the value. */
void te_recombine(simplifier *s, tc_affine *a);
/* a = g * b + rest with rest known to be in [0, g); false if that is not known. */
bool te_split_small(simplifier *s, const tc_affine *a, int64_t g, tc_affine *b, tc_affine *rest);
/* Common factors (above 1) of c and the terms of a, largest first; returns how many. */
int te_factors(const tc_affine *a, int64_t c, int64_t out[TC_MAX_TERMS]);
/* e is `x op c` of scalars with a constant c > 0. */
bool te_divides_by_const(const tc_expr *e, tc_op op, int64_t *c);
/* DIV or MOD of i64 scalars. */
const tc_expr *te_simp_divmod(simplifier *s, const tc_expr *e);

/* ---- simplify_products.c ---- */
/* e, DIV or MOD, with simple operands n and d; NULL: d is a number, may be 0, or nothing is known of how it divides n. */
const tc_expr *te_simp_divmod_size(simplifier *s, const tc_expr *e, const tc_expr *n, const tc_expr *d);
/* The product e of simple operands without a quotient that is multiplied by its divisor, if it is whole. */
const tc_expr *te_simp_whole_product(simplifier *s, const tc_expr *e);
/* x <= y by the sizes that are in them; false: that is not known. Simple both. */
bool te_is_at_most(simplifier *s, const tc_expr *x, const tc_expr *y);

/* ---- simplify_parts.c ---- */
/* AND or OR. */
const tc_expr *te_simp_logic(simplifier *s, const tc_expr *e);
const tc_expr *te_simp_select(simplifier *s, const tc_expr *e);

/* ---- simplify_vector.c ---- */
/* e, with simplified operands and more than one lane, as a ramp or broadcast; NULL if it is neither. */
const tc_expr *te_simp_vector(simplifier *s, const tc_expr *e);

#endif
