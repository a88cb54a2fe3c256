/* Private to proofs (prove.h): sums of products, and what is known of them. */
#ifndef TC_TE_PROVE_INT_H
#define TC_TE_PROVE_INT_H

#include "te/index/prove.h"

enum { MAX_FACTORS = 8 };

/* ---- prove_terms.c ---- */
/* Puts the factors of e behind the n that there are, as far as there is room for MAX_FACTORS; how many there would be. */
int te_factors_of(const tc_expr *e, const tc_expr **out, int n);
/* x * y of terms; NULL stands for 1. */
const tc_expr *te_times(tc_ctx *c, const tc_expr *x, const tc_expr *y);
/* x as y, which is a number or one term, times what is put into *q; false: y lacks a factor of it. q->atom NULL: a number. */
bool te_divide_term(tc_ctx *c, const tc_term *x, const tc_affine *y, tc_term *q);
/* a += k * x * y; false: it does not fit. */
bool te_add_product(tc_ctx *c, tc_affine *a, const tc_affine *x, const tc_affine *y, int64_t k);
/* The only value that a variable can have here; false: it can have several. */
bool te_only_value(const tc_premises *v, const tc_expr *e, int64_t *value);
/* Of sizes, by a number above 0. */
bool te_is_quotient_of_sizes(const tc_expr *e);
/* a += k * floor(x / n), n > 0, with what n divides before the quotient: (S + 3) / 2 is (S + 1) / 2 + 1; false: it does not fit. */
bool te_add_quotient(tc_ctx *c, const tc_affine *x, int64_t n, int64_t k, tc_affine *a);
/* a += k * e, multiplied out; false: it does not fit, or i64 may wrap in e, which then is another number. */
bool te_expand(const tc_premises *v, const tc_expr *e, int64_t k, tc_affine *a);

/* ---- prove_quotients.c ---- */
/* x with each quotient of numbers as a sum of such as conditions speak of; false: none can be written so, or it does not fit. */
bool te_split_quotients(const tc_premises *v, const tc_affine *x, tc_affine *out);

/* ---- prove_facts.c: of x <= 0 another; false: it says no such thing ---- */
/* Of a comparison that holds, or does not. */
bool te_at_most_zero(const tc_premises *v, const tc_known_cond *k, tc_affine *x);
/* The size s is not 0 where the premises hold. */
bool te_is_positive(const tc_premises *v, const tc_expr *s);
/* Of the quotient e, which bounds it. */
bool te_quotient(const tc_premises *v, const tc_expr *e, const tc_affine *x, tc_affine *out);
/* Of what the only quotient of sizes in x is a quotient of. */
bool te_without_quotient(const tc_premises *v, const tc_affine *x, tc_affine *out);
/* Of what remainders in x are remainders of. */
bool te_without_remainders(const tc_premises *v, const tc_affine *x, tc_affine *out);
bool te_of_longer_remainders(tc_ctx *c, const tc_affine *x, tc_affine *out);
/* Of the terms with a common factor. */
bool te_whole(const tc_premises *v, const tc_affine *x, tc_affine *out);

#endif
