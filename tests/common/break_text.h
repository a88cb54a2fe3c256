/* Breaks valid text by its grammar and its types: what comes out is mostly still text of the language, and mostly wrong. Operands
 * are replaced by others of any type, rank and depth, wrapped, repeated and left out; names are unknown, defined twice or stand
 * where another kind belongs; numbers are at the ends of what types hold; lines are missing, double or out of order. */
#ifndef TC_TESTS_BREAK_TEXT_H
#define TC_TESTS_BREAK_TEXT_H

#include "support/rng.h"
#include "support/strbuf.h"

void tc_test_break_kernel(tc_rng *r, const char *text, tc_strbuf *out);   /* a `.te` */
void tc_test_break_schedule(tc_rng *r, const char *text, tc_strbuf *out); /* a `.sched` */

#endif
