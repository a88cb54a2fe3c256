/* How much of a test that takes long runs: `./test.sh --full` sets TCTUNE_TEST_FULL for all of it. */
#ifndef TC_TESTS_COMMON_TEST_SIZE_H
#define TC_TESTS_COMMON_TEST_SIZE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

static inline bool test_is_full(void) {
    return getenv("TCTUNE_TEST_FULL") != NULL;
}

/* How many of n random cases: all, or a third of them where it is not the full test, but one at least. */
static inline uint64_t test_some(uint64_t n) {
    return test_is_full() ? n : (n + 2) / 3;
}

/* The same of graphs, which are built and run: sanitizers look at how memory is used, for which fewer do, and make each take
 * several times as long. */
static inline uint64_t test_some_graphs(uint64_t n) {
#ifdef TCTUNE_SANITIZED
    n = (n + 2) / 3;
#endif
    return test_some(n);
}

#endif
