/* What one schedule does otherwise than another. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <string.h>

#include "support/strbuf.h"
#include "support/vec.h"
#include "tune/kernel/changed.h"

typedef struct example {
    const char *before, *after, *told; /* told: "before > after" or "-" in place of one, a line each */
} example;

static void check(const example *e) {
    tc_arena *a = tc_arena_new();
    tc_strbuf b = {0};
    int n;
    const tc_tune_changed *c = tc_tune_changed_steps(e->before, e->after, a, &n);
    for (int i = 0; i < n; i++)
        tc_sb_printf(&b, "%s > %s\n", c[i].before ? c[i].before : "-", c[i].after ? c[i].after : "-");
    assert_string_equal(tc_sb_str(&b), e->told);
    tc_strbuf_free(&b);
    tc_arena_free(a);
}

static void test_examples(void **state) {
    (void)state;
    static const example all[] = {
        {"", "", ""},
        {"a\nb ~1\n", "a\nb ~1\n", ""},
        {"a\nb ~1\nc\n", "a\nb ~2\nc\n", "b ~1 > b ~2\n"},
        {"t = x [1, 2] ~[3, 4]\nv = y ~1\n", "t = x [1, 2] ~[4, 3]\nv = y ~1", "t = x [1, 2] ~[3, 4] > t = x [1, 2] ~[4, 3]\n"},
        {"a\nb\nc\n", "a\nc\n", "b > -\n"},
        {"a\nc\n", "a\nb\nc\n", "- > b\n"},
        {"a\nb\nc\n", "a\nd\nc\n", "b > -\n- > d\n"},
        {"", "a\nb\n", "- > a\n- > b\n"},
        {"a\n", "", "a > -\n"},
        /* one in the middle that both have is no change, decided otherwise it is */
        {"a\nm ~1\nb\n", "c\nm ~2\nd\n", "a > -\n- > c\nm ~1 > m ~2\nb > -\n- > d\n"},
        {"a ~1\na ~2\n", "a ~1\n", "a ~2 > -\n"},
        {"x ~1\n", "x ~\n", "x ~1 > x ~\n"},
    };
    for (size_t i = 0; i < TC_LEN(all); i++)
        check(&all[i]);
}

/* Beyond what is paired step by step: nothing is lost, and what both begin and end with is paired still. */
static void test_long(void **state) {
    (void)state;
    enum { N = 5000 };
    tc_arena *a = tc_arena_new();
    tc_strbuf x = {0}, y = {0};
    int n, before = 0, after = 0;
    tc_sb_add(&x, "head ~1\n");
    tc_sb_add(&y, "head ~2\n");
    for (int i = 0; i < N; i++) {
        tc_sb_printf(&x, "x%d\n", i);
        tc_sb_printf(&y, "y%d\n", i);
    }
    tc_sb_add(&x, "tail ~1\n");
    tc_sb_add(&y, "tail ~3\n");
    const tc_tune_changed *c = tc_tune_changed_steps(tc_sb_str(&x), tc_sb_str(&y), a, &n);
    assert_int_equal(n, 2 * N + 2);
    for (int i = 0; i < n; i++) {
        before += c[i].before && !c[i].after;
        after += c[i].after && !c[i].before;
    }
    assert_int_equal(before, N);
    assert_int_equal(after, N);
    assert_string_equal(c[0].after, "head ~2");
    assert_string_equal(c[n - 1].after, "tail ~3");
    tc_strbuf_free(&x);
    tc_strbuf_free(&y);
    tc_arena_free(a);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_examples),
        cmocka_unit_test(test_long),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
