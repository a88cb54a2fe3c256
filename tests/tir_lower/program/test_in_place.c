/* Which outputs may be written over which inputs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "tir_lower/program/program.h"
#include "tir_lower/text/text.h"
#include "tir_lower/tir.h"

static tc_func *parse(tc_ctx *c, const char *text) {
    tc_func *f;
    tc_error err;
    if (tc_tir_parse(c, "f.tir", text, &f, &err) != TC_OK)
        fail_msg("%s\n%s", err.msg, text);
    return f;
}

static bool may(const char *body) {
    tc_ctx *c = tc_ctx_new();
    tc_strbuf b = {0}, again = {0};
    tc_sb_printf(&b,
                 "func f\nparam X f32[40] in 0 align 64\nparam W f32[40] in 1 align 64\nparam Y f32[40] out 0 align 64\n"
                 "body\n%s",
                 body);
    tc_func *f = parse(c, tc_sb_str(&b));
    bool r = tc_tir_may_overwrite(f, 2, 0);
    tc_sb_clear(&b);
    tc_tir_print(&b, tc_tir_overwriting(c, f, 2, 0)); /* says so, and reads back */
    assert_non_null(strstr(tc_sb_str(&b), "param X f32[40] in 0 align 64 overlaps\n"));
    assert_non_null(strstr(tc_sb_str(&b), "param W f32[40] in 1 align 64\n"));
    tc_func *g = parse(c, tc_sb_str(&b));
    tc_tir_print(&again, g);
    assert_string_equal(tc_sb_str(&b), tc_sb_str(&again));
    assert_true(tc_tir_hash(f) != tc_tir_hash(g));
    tc_strbuf_free(&b);
    tc_strbuf_free(&again);
    tc_ctx_free(c);
    return r;
}

static void test_safe(void **state) {
    (void)state;
    assert_true(may("parallel i in 40 {\n  Y[i] = X[i] * X[i] + W[39 - i]\n}\n"));
    assert_true(may("for i in 2 {\n  Y[ramp(i * 16, 1, 16)] = X[ramp(i * 16, 1, 16)]\n}\n"
                    "Y[ramp(32, 1, 16)] if ramp(32, 1, 16) < bcast(40, 16) = "
                    "X[ramp(32, 1, 16), mask: ramp(32, 1, 16) < bcast(40, 16)]\n"));
    assert_true(may("for i in 3 {\n  if i < 2 {\n    for j in 16 {\n      Y[i * 16 + j] = X[i * 16 + j]\n    }\n  } else {\n"
                    "    for j in 8 {\n      Y[i * 16 + j] = X[i * 16 + j]\n    }\n  }\n}\n"));
    assert_true(may("for i in 40 {\n  Y[i] = W[i]\n}\n")); /* reads it not at all */
}

static void test_unsafe(void **state) {
    (void)state;
    assert_false(may("for i in 40 {\n  Y[i] = X[39 - i]\n}\n"));
    assert_false(may("for i in 40 {\n  Y[i] = X[i] + X[0]\n}\n"));
    assert_false(may("for i in 40 {\n  Y[i] = X[i]\n}\nfor i in 8 {\n  Y[i] = X[i]\n}\n")); /* again, of its own result */
    assert_false(may("for i in 40 {\n  Y[i] = W[i]\n  Y[i] = Y[i] + X[i]\n}\n"));
    assert_false(may("alloc s f32[1] stack align 64 {\n  s[0] = X[39]\n  for i in 40 {\n    Y[i] = X[i] + s[0]\n  }\n}\n"));
    assert_false(may("for i in 40 {\n  if X[i] < 1.0 {\n    Y[i] = X[i]\n  } else {\n    Y[i] = W[i]\n  }\n}\n"));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_safe), cmocka_unit_test(test_unsafe)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
