/* Random legal traces for property tests, over all primitives. */
#ifndef TC_TESTS_RANDOM_TRACE_H
#define TC_TESTS_RANDOM_TRACE_H

#include "schedule_primitives/schedule.h"

/* Tries one random step; false when it was refused (the schedule is then unchanged). */
bool tc_test_random_step(tc_sched *s, tc_rng *r);
/* A trace of at most max_steps steps that applied, with all decisions. It and the schedule behind it live in `c`. Mostly steps
 * that make sense together (vectorise the innermost loop, run the outermost in parallel), so that most traces can be lowered too.
 */
tc_trace *tc_test_random_trace(tc_ctx *c, const tc_workload *w, tc_rng *r, int max_steps);
/* Applies random steps to an existing schedule; returns how many. */
int tc_test_random_steps(tc_sched *s, tc_rng *r, int max_steps);

#endif
