/* What a test of random cases is asked to run: PROGRAM [CASES [SEED]]. Where it is not asked, what test_size.h says of
 * `otherwise`. */
#ifndef TC_TESTS_COMMON_CASES_H
#define TC_TESTS_COMMON_CASES_H

#include <stdint.h>
#include <stdlib.h>

#include "common/test_size.h"

typedef struct test_cases {
    uint64_t n, seed; /* how many, and the seed of the first */
} test_cases;

static inline test_cases test_cases_of(int argc, char **argv, uint64_t otherwise) {
    return (test_cases){argc > 1 ? strtoull(argv[1], NULL, 10) : test_some(otherwise),
                        argc > 2 ? strtoull(argv[2], NULL, 10) : 1};
}

#endif
