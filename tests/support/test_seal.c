/* Seals, and who makes them. */
#include "support/cmocka_all.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support/system/fs.h"
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

static const char ID[] = "0123456789abcdef0123456789abcdef\n", BOOT[] = "1b5c3d2e-0000-4000-8000-1234567890ab\n";

static char *folder;

/* The name where such files are there; NULL: that one is not. */
static const char *named(const char *id, const char *boot, bool is_image) {
    static char name[256];
    char at[2][600];
    const char *const text[] = {id, boot};
    tc_strbuf b = {0};
    for (int i = 0; i < 2; i++) {
        snprintf(at[i], sizeof at[i], "%s/%d", folder, i);
        unlink(at[i]);
        if (text[i])
            assert_int_equal(tc_fs_write(at[i], text[i], strlen(text[i]), NULL), TC_OK);
    }
    tc_machine_name(&(tc_machine_files){at[0], at[1]}, is_image, &b);
    snprintf(name, sizeof name, "%s", tc_sb_str(&b));
    tc_strbuf_free(&b);
    return name;
}

/* Containers of one image have the same id. Each machine that runs them has a boot of its own. */
static void containers_of_an_image_are_told_apart_by_their_machine(void **state) {
    (void)state;
    assert_int_equal(tc_fs_temp_dir(&folder, NULL), TC_OK);
    assert_string_equal(named(ID, BOOT, false), "0123456789abcdef0123456789abcdef");
    assert_string_equal(named(ID, BOOT, true), "0123456789abcdef0123456789abcdef 1b5c3d2e-0000-4000-8000-1234567890ab");
    assert_string_equal(named(ID, "another\n", true), "0123456789abcdef0123456789abcdef another");
    assert_string_equal(named("uninitialized\n", BOOT, false), "1b5c3d2e-0000-4000-8000-1234567890ab");
    assert_string_equal(named(NULL, BOOT, true), "1b5c3d2e-0000-4000-8000-1234567890ab");
    assert_string_equal(named(ID, NULL, true), "0123456789abcdef0123456789abcdef");
    assert_string_equal(named(NULL, NULL, true), "");
    tc_fs_remove_tree(folder);
    free(folder);
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
        cmocka_unit_test(containers_of_an_image_are_told_apart_by_their_machine),
        cmocka_unit_test(builds_are_told_apart_by_their_linker),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
