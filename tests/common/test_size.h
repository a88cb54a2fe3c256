/* How much of a test that takes long runs: `./test.sh --full` sets TCTUNE_TEST_FULL for all of it. */
#ifndef TC_TESTS_COMMON_TEST_SIZE_H
#define TC_TESTS_COMMON_TEST_SIZE_H

#include <stdbool.h>
#include <stdlib.h>

static inline bool test_is_full(void) {
    return getenv("TCTUNE_TEST_FULL") != NULL;
}

#endif
