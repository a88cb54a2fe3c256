/* Kernel ridge regression over whole programs of one task. The trees see rows of all tasks and cannot tell some programs
 * apart; the nearest measured programs of the same task often can. Internal to cost_model. */
#ifndef TC_COST_MODEL_RIDGE_H
#define TC_COST_MODEL_RIDGE_H

#include "cost_model/cost.h"

/* f(x) = base + sum_i alpha_i exp(-|x - x_i| / reach) over the programs x_i it was fitted to (kernel ridge regression;
 * Saunders et al., ICML 1998). A program is the sums and the maxima of its rows' features, standardised. Zero-initialised is
 * empty. */
typedef struct ridge {
    size_t n, width;     /* programs; columns that differ between them */
    int *column;         /* which those are */
    double *mean, *unit; /* of each column, over the programs */
    float *point;        /* n x width, standardised */
    double *alpha;       /* n */
    double base, reach;  /* mean label; distance at which the kernel has fallen to 1/e */
} ridge;

void ridge_free(ridge *r);
/* Fitted to all of `samples`, which were checked; `left_out[i]` is the prediction for sample i of the fit to the others, with the
 * same base, units and reach. Takes n^3 / 3 multiplications. False, with `r` empty: the programs do not differ in any feature. */
bool ridge_fit(ridge *r, size_t n, const tc_cost_sample *samples, double *left_out);
/* Of finite rows. Threads may call it at once. */
double ridge_predict(const ridge *r, const tc_cost_rows *rows);

#endif
