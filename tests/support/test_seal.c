/* Seals, and who makes them. */
#include "support/cmocka_all.h"

#include <string.h>

#include "support/system/identity.h"

/* By Python's hashlib. */
static void seals_are_blake2b(void **state) {
    (void)state;
    assert_string_equal(tc_seal_of(NULL, 0, "abc", 3).hex, "bddd813c634239723171ef3fee98579b94964e3bb1cb3e427262c8c068d52319");
    assert_string_equal(tc_seal_of(NULL, 0, NULL, 0).hex, "0e5751c026e543b2e8ab2eb06099daa1d1e5df47778f7787faab45cdf12fe3a8");
}

static void keys_make_other_seals(void **state) {
    (void)state;
    tc_seal a = tc_seal_of("k", 1, "abc", 3), b = tc_seal_of("l", 1, "abc", 3), none = tc_seal_of(NULL, 0, "abc", 3);
    assert_string_not_equal(a.hex, b.hex);
    assert_string_not_equal(a.hex, none.hex);
    assert_string_equal(a.hex, tc_seal_of("k", 1, "abc", 3).hex);
}

/* Also where neither of the kernel's files can be read; but then nothing is sealed. */
static void machines_have_names_and_secrets(void **state) {
    (void)state;
    tc_seal name, again, mine, other;
    assert_true(tc_host_identity(&name) && tc_host_identity(&again));
    assert_string_equal(name.hex, again.hex);
    assert_true(tc_host_seal("a", 1, &mine) && tc_host_seal("b", 1, &other));
    assert_string_not_equal(mine.hex, other.hex);
    assert_true(tc_host_seal("", 0, &mine));
    assert_string_not_equal(mine.hex, name.hex); /* the name gives no seal away */
}

static void builds_are_told_apart_by_their_linker(void **state) {
    (void)state;
    tc_digest a, b;
    assert_true(tc_build_identity(&a) && tc_build_identity(&b));
    assert_string_equal(a.hex, b.hex);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(seals_are_blake2b),
        cmocka_unit_test(keys_make_other_seals),
        cmocka_unit_test(machines_have_names_and_secrets),
        cmocka_unit_test(builds_are_told_apart_by_their_linker),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
