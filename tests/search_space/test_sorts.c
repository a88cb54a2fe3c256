/* Construction does not depend on the C library's sort, nor on the compiler: qsort is replaced, for all that this program links,
 * by one that shuffles before it sorts, so that elements which compare equal come out in any order; traces and lowered programs
 * of fixed workloads must be those of the digest here, whoever compiled this. Nor does it depend on what was done before: ids
 * begin at any number, and contexts hold the nodes of another workload, or of the same one, whose schedules were constructed
 * first. */
#include "support/cmocka_all.h"

#include "constructed.h"
#include "support/vec.h"

enum { SHUFFLES = 3 };

/* Rewritten when construction is changed on purpose: the test says what it found. */
static const char *const GOLDEN = "4d60134bd51d2db7145f357a81781d4a";

static void same_in_any_order(void **state) {
    (void)state;
    for (constructed_shuffle = 0; constructed_shuffle <= SHUFFLES; constructed_shuffle++)
        assert_string_equal(constructed((constructed_past){0, -1}).hex, GOLDEN);
    constructed_shuffle = 0;
}

static void same_after_anything(void **state) {
    (void)state;
    static const constructed_past PASTS[] = {{1, -1}, {123456, -1}, {7, 0}, {0, 4}};
    for (size_t i = 0; i < TC_LEN(PASTS); i++)
        assert_string_equal(constructed(PASTS[i]).hex, GOLDEN);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(same_in_any_order), cmocka_unit_test(same_after_anything)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
