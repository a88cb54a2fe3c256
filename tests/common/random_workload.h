/* Random small workloads for property tests: every kind of computation that graphs produce, with odd extents. Deterministic in
 * the generator's state. Kept small (some 10^4 scalar operations), because interpreters run them. */
#ifndef TC_TESTS_RANDOM_WORKLOAD_H
#define TC_TESTS_RANDOM_WORKLOAD_H

#include "te/te.h"

/* Never fails: a workload that te refuses is a bug of the generator or of te, and aborts with the message. */
tc_workload *tc_test_random_workload(tc_ctx *c, tc_rng *r);

/* The kinds, for tests that want each at least once. */
int tc_test_nworkload_kinds(void);
const char *tc_test_workload_kind_name(int kind);
tc_workload *tc_test_workload_of_kind(tc_ctx *c, tc_rng *r, int kind);

#endif
