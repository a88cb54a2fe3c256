/* Target texts: native, short names, full form; canonical and stable; refusals that say what to write. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "codegen/target/target.h"
#include "support/vec.h"

static void round_trips(const char *text) {
    tc_error err = {0};
    tc_target *a, *b;
    if (tc_target_parse(text, &a, &err) != TC_OK)
        fail_msg("%s: %s", text, err.msg);
    if (tc_target_parse(a->text, &b, &err) != TC_OK)
        fail_msg("%s: %s", a->text, err.msg);
    assert_string_equal(a->text, b->text);
    assert_int_equal(a->native, b->native);
    assert_int_equal(a->machine.vector_bytes, b->machine.vector_bytes);
    assert_true(a->machine.cores > 0 && a->machine.l1 > 0 && a->machine.l2 > 0 && a->machine.line > 0);
    tc_target_free(a);
    tc_target_free(b);
}

static void every_name_parses(void **state) {
    (void)state;
    for (const char *const *n = tc_target_names(); *n; n++)
        round_trips(*n);
    round_trips("llvm -mtriple=x86_64-pc-linux-gnu -mcpu=znver4 -mattr=-avx512f");
    round_trips("llvm -mtriple=aarch64");
    round_trips("llvm -mcpu=native");
    round_trips("llvm -mtriple=x86_64-linux-gnu -mattr=+avx2,+fma");
}

static void facts(void **state) {
    (void)state;
    static const struct {
        const char *text;
        int bytes, regs;
        bool masks, fma;
    } cases[] = {
        {"skylake-avx512", 64, 32, true, true},
        {"znver4", 64, 32, true, true},
        {"haswell", 32, 16, false, true},
        {"sandybridge", 32, 16, false, false},
        {"x86-64", 16, 16, false, false},
        {"neoverse-n1", 16, 32, false, true},
        {"rv64gcv", 16, 32, true, true},
        {"generic-rv64", 16, 8, false, true}, /* four scalar registers stand for a vector */
        {"llvm -mtriple=riscv64 -mattr=+v", 16, 32, true, true},
        {"llvm -mtriple=riscv64 -mattr=+v,+zvl256b", 32, 32, true, true},
        {"neoverse-v1", 16, 32, false, true},
        {"llvm -mtriple=aarch64 -mcpu=neoverse-v1 -vector-bytes=32", 32, 32, true, true},
        {"nehalem", 16, 16, false, false},
        {"llvm -mtriple=x86_64 -mcpu=skylake-avx512 -mattr=-avx512f", 32, 16, false, true},
        {"llvm -mtriple=x86_64 -mcpu=skylake-avx512 -mattr=-avx", 16, 16, false, false},
        {"llvm -mtriple=x86_64 -mcpu=skylake-avx512 -vector-bytes=32", 32, 32, true, true},
        {"llvm -mtriple=amd64-pc-linux-gnu -mcpu=haswell", 32, 16, false, true},
        {"llvm -mtriple=arm64-unknown-linux-gnu -mcpu=neoverse-v1 -vector-bytes=32", 32, 32, true, true},
    };
    for (size_t i = 0; i < TC_LEN(cases); i++) {
        tc_target *t;
        assert_int_equal(tc_target_parse(cases[i].text, &t, NULL), TC_OK);
        assert_int_equal(t->machine.vector_bytes, cases[i].bytes);
        assert_int_equal(t->machine.vector_regs, cases[i].regs);
        assert_int_equal(t->machine.masks, cases[i].masks);
        assert_int_equal(t->machine.fma, cases[i].fma);
        tc_target_free(t);
    }
}

static void native_is_native(void **state) {
    (void)state;
    tc_target *t;
    assert_int_equal(tc_target_parse("native", &t, NULL), TC_OK);
    assert_true(t->native);
    tc_target_free(t);
    assert_int_equal(tc_target_parse("rv64gcv", &t, NULL), TC_OK);
#ifdef __x86_64__
    assert_false(t->native);
#endif
    tc_target_free(t);
}

static void refusals(void **state) {
    (void)state;
    static const struct {
        const char *text, *says;
    } cases[] = {
        {"cuda", "CPU 'cuda' is not known"},
        {"zen4", "CPU 'zen4' is not known; did you mean znver4?"},
        {"", "CPU '' is not known"},
        {"llvm", "-mtriple is missing"},
        {"llvm -mtriple=nonsense-foo", "does not know that triple"},
        {"llvm -mtriple=x86_64 -mcpu=neoverse-n1", "not of that triple"},
        {"llvm -mtriple=x86_64 -mcpu=pentium99", "is not known"},
        {"llvm -mtriple=x86_64 -mcpu=zen4", "CPU 'zen4' is not known; did you mean znver4?"},
        {"llvm -mtriple=x86_64 -O3", "not an option"},
        {"llvm -mtriple=x86_64 -mattr=avx2", "-mattr must be a list"},
        {"llvm -mtriple=x86_64 -mattr=+none", "feature 'none' is not known"},
        {"llvm -mtriple=x86_64 -mattr=+avx512f,+amx-title",
         "feature 'amx-title' is not known for this architecture; did you mean amx-tile?"},
        {"llvm -mtriple=aarch64 -mattr=+avx2", "feature 'avx2' is not known"},
        {"llvm -mtriple=riscv64 -mattr=+v,+zvl99b", "feature 'zvl99b' is not known"},
        {"llvm -mtriple=powerpc64-linux-gnu", "only 64-bit little-endian"},
        {"llvm -mtriple=armv7-linux-gnueabihf", "only 64-bit little-endian"},
        {"llvm -mtriple=i686-linux-gnu", "only 64-bit little-endian"},
        {"llvm -mtriple=x86_64 -mcpu=haswell -vector-bytes=64", "wider registers than the target has (32 bytes)"},
        {"llvm -mtriple=aarch64 -vector-bytes=32", "add -mattr=+sve"},
        {"llvm -mtriple=riscv64 -mattr=+v -vector-bytes=32", "+zvl256b"},
        {"llvm -mtriple=x86_64 -vector-bytes=7", "-vector-bytes must be"},
    };
    for (size_t i = 0; i < TC_LEN(cases); i++) {
        tc_target *t;
        tc_error err = {0};
        assert_int_equal(tc_target_parse(cases[i].text, &t, &err), TC_BAD_INPUT);
        if (!strstr(err.msg, cases[i].says) || (!strstr(err.msg, "A target is 'native'") && !strstr(err.msg, "did you mean")))
            fail_msg("'%s': %s", cases[i].text, err.msg);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_name_parses),
        cmocka_unit_test(facts),
        cmocka_unit_test(native_is_native),
        cmocka_unit_test(refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
