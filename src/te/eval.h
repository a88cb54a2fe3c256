/* The scalar semantics of every operation, in one place. Constant folding and the interpreters of te and TIR all call these
 * functions.
 *
 * Compiled kernels may replace a float result below the smallest normal number of f32 or f64 by a zero of its sign, in any of
 * their steps (codegen/code/func.c). These functions give the number. */
#ifndef TC_TE_EVAL_H
#define TC_TE_EVAL_H

#include "te/expr.h"

/* Smallest and largest value of an integer type or bool; U64's largest is INT64_MAX here. */
int64_t tc_int_min(tc_dtype t);
int64_t tc_int_max(tc_dtype t);

/* Binary and unary operations on integers or bools of dtype t (comparisons: of the operands). Total (expr.h). */
int64_t tc_eval_i(tc_op op, tc_dtype t, int64_t a, int64_t b);
/* Result rounded to t. Defined for every binary op on floats but comparisons. */
double tc_eval_f(tc_op op, tc_dtype t, double a, double b);
bool tc_eval_compare_f(tc_op op, double a, double b); /* also ISNAN, ISINF of a */
double tc_normal_cdf(double x);                       /* NCDF in f64 */
double tc_eval_fma(tc_dtype t, double a, double b, double c);

/* Casts between any two types: from int64 (`from` is an integer type or bool) or double. */
int64_t tc_cast_ii(tc_dtype to, int64_t v);
double tc_cast_if(tc_dtype from, tc_dtype to, int64_t v);
int64_t tc_cast_fi(tc_dtype to, double v);

#endif
