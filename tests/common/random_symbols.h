/* Sizes that vary, drawn for workloads of fixed sizes. */
#ifndef TC_TESTS_RANDOM_SYMBOLS_H
#define TC_TESTS_RANDOM_SYMBOLS_H

#include "te/te.h"

enum { TC_TEST_MAX_SYMBOLS = 8 };

/* w in context c with some of its extents as symbols, whose largest values they are: extents that must be equal, since one is an
 * axis that indexes the other, are one symbol. NULL: none of its extents can vary. */
const tc_workload *tc_test_vary(tc_ctx *c, const tc_workload *w, tc_rng *r);
/* A workload in which sizes are made of others: what is joined along one dimension, dimensions merged into one, one that is split,
 * windows with strides, or rows in groups, followed by a sum over it or something elementwise. */
const tc_workload *tc_test_random_joined(tc_ctx *c, tc_rng *r);
/* Values of its symbols: the least, the largest, or any. */
void tc_test_random_sizes(const tc_workload *w, tc_rng *r, int64_t sizes[TC_TEST_MAX_SYMBOLS]);

#endif
