/* Formulas of sizes against the reference arithmetic of te, drawn at random; and what is no formula. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support/rng.h"
#include "te/eval.h"
#include "te/sizes/formula.h"
#include "te/te.h"

enum { SIZES = 3, ROUNDS = 4000 };

static const tc_op ops[] = {TC_OP_ADD, TC_OP_SUB, TC_OP_MUL, TC_OP_DIV, TC_OP_MOD, TC_OP_MIN, TC_OP_MAX};

static const tc_expr *drawn(tc_ctx *c, tc_rng *g, const tc_var *const *var, int depth) {
    if (depth == 0 || tc_rng_below(g, 5) == 0)
        return tc_rng_below(g, 2) ? tc_varx(c, var[tc_rng_below(g, SIZES)]) : tc_i64(c, tc_rng_below(g, 12) - 3);
    const tc_expr *a = drawn(c, g, var, depth - 1), *b = drawn(c, g, var, depth - 1);
    return tc_bin(c, ops[tc_rng_below(g, TC_LEN(ops))], a, b);
}

/* False: a divisor is not above 0. */
static bool evaluate(const tc_expr *x, const tc_var *const *var, const int64_t *sizes, int64_t *r) {
    int64_t a, b;
    if (x->op == TC_OP_INT)
        *r = x->u.i;
    for (int k = 0; k < SIZES && x->op == TC_OP_VAR; k++)
        if (var[k] == x->u.var)
            *r = sizes[k];
    if (x->op == TC_OP_INT || x->op == TC_OP_VAR)
        return true;
    if (!evaluate(x->args[0], var, sizes, &a) || !evaluate(x->args[1], var, sizes, &b) ||
        ((x->op == TC_OP_DIV || x->op == TC_OP_MOD) && b < 1))
        return false;
    *r = tc_eval_i(x->op, TC_I64, a, b);
    return true;
}

static void test_values(void **state) {
    (void)state;
    tc_rng g = tc_rng_seed(3);
    int sound = 0, none = 0, values = 0;
    for (int round = 0; round < ROUNDS; round++) {
        tc_ctx *c = tc_ctx_new();
        const tc_var *var[SIZES] = {tc_var_new(c, "a"), tc_var_new(c, "b"), tc_var_new(c, "c")};
        const tc_ival ranges[SIZES] = {{0, 9}, {1, 1000}, {7, 7}};
        const tc_expr *x = drawn(c, &g, var, 4);
        tc_formula f;
        assert_true(tc_formula_of(x, SIZES, var, tc_ctx_arena(c), &f));
        bool is_sound = tc_formula_is_sound(&f, SIZES, ranges);
        sound += is_sound;
        for (int i = 0; i < 8 && is_sound; i++) {
            int64_t sizes[SIZES], want, got;
            for (int k = 0; k < SIZES; k++)
                sizes[k] = ranges[k].lo + tc_rng_below(&g, ranges[k].hi - ranges[k].lo + 1);
            bool has = evaluate(x, var, sizes, &want);
            assert_int_equal(tc_formula_value(&f, sizes, &got), has);
            assert_true(!has || got == want);
            values += has;
            none += !has;
        }
        tc_ctx_free(c);
    }
    assert_true(sound > ROUNDS / 2 && values > ROUNDS && none > 100);
}

/* a * 3 + (b / 2 - 1), by both ways of making it. */
static tc_formula example(tc_arena *a) {
    tc_formula times = tc_formula_join(a, tc_formula_size(a, 0), tc_formula_number(a, 3), TC_FORMULA_MUL);
    tc_formula half = tc_formula_join(a, tc_formula_size(a, 1), tc_formula_number(a, 2), TC_FORMULA_DIV);
    return tc_formula_join(a, times, tc_formula_join(a, half, tc_formula_number(a, 1), TC_FORMULA_SUB), TC_FORMULA_ADD);
}

static void test_lines(void **state) {
    (void)state;
    tc_arena *a = tc_arena_new();
    int64_t constant, times;
    tc_formula f = example(a), g = tc_formula_join(a, tc_formula_size(a, 2), tc_formula_number(a, -4), TC_FORMULA_MUL);
    tc_formula line = tc_formula_join(a, tc_formula_number(a, 9), g, TC_FORMULA_SUB);
    assert_false(tc_formula_line(&f, 0, &constant, &times)); /* b is in it */
    assert_true(tc_formula_line(&line, 2, &constant, &times));
    assert_int_equal(constant, 9);
    assert_int_equal(times, 4);
    assert_true(tc_formula_has(&f, 0) && tc_formula_has(&f, 1) && !tc_formula_has(&f, 2));
    tc_arena_free(a);
}

static tc_formula of_steps(const tc_formula_step *steps, int n) {
    return (tc_formula){n, steps};
}

#define FORMULA(...) of_steps((const tc_formula_step[]){__VA_ARGS__}, TC_LEN(((const tc_formula_step[]){__VA_ARGS__})))

static void expect_unsound(tc_formula f) {
    const tc_ival ranges[] = {{0, INT64_C(1) << 40}, {-5, 0}};
    assert_false(tc_formula_is_sound(&f, 2, ranges));
}

static void test_unsound(void **state) {
    (void)state;
    tc_formula_step many[TC_FORMULA_STEPS + 3];
    for (int i = 0; i < TC_FORMULA_STEPS + 3; i++)
        many[i] = (tc_formula_step){i % 2 || i == 0 ? TC_FORMULA_NUMBER : TC_FORMULA_ADD, 0};
    expect_unsound(of_steps(many, 0));
    expect_unsound(of_steps(many, TC_FORMULA_STEPS + 3));
    expect_unsound(of_steps(many, 2));                                                        /* two values */
    expect_unsound(FORMULA({TC_FORMULA_ADD, 0}));                                             /* nothing to add */
    expect_unsound(FORMULA({TC_FORMULA_NUMBER, 1}, {TC_FORMULA_MUL, 0}));                     /* nor to multiply by */
    expect_unsound(FORMULA({TC_FORMULA_SIZE, 2}));                                            /* no such size */
    expect_unsound(FORMULA({TC_FORMULA_SIZE, -1}));                                           /* nor that */
    expect_unsound(FORMULA({TC_FORMULA_NUMBER, INT64_MIN}));                                  /* too large */
    expect_unsound(FORMULA({TC_FORMULA_SIZE, 0}, {TC_FORMULA_SIZE, 0}, {TC_FORMULA_MUL, 0})); /* 2^80 */
    expect_unsound(FORMULA({TC_FORMULA_SIZE, 0}, {TC_FORMULA_SIZE, 1}, {TC_FORMULA_DIV, 0})); /* never a divisor */
    for (int i = 0; i <= TC_FORMULA_STACK; i++)
        many[i] = (tc_formula_step){TC_FORMULA_NUMBER, 1};
    for (int i = TC_FORMULA_STACK + 1; i <= 2 * TC_FORMULA_STACK; i++)
        many[i] = (tc_formula_step){TC_FORMULA_MAX, 0};
    expect_unsound(of_steps(many, 2 * TC_FORMULA_STACK + 1)); /* too high a stack; one less is fine */
    tc_formula less = of_steps(many + 1, 2 * TC_FORMULA_STACK - 1);
    assert_true(tc_formula_is_sound(&less, 0, NULL));
    int64_t value = 0;
    assert_true(tc_formula_value(&less, NULL, &value));
    assert_int_equal(value, 1);
}

/* Other operations, other variables, and what would be too long. */
static void test_no_formula(void **state) {
    (void)state;
    tc_ctx *c = tc_ctx_new();
    const tc_var *a = tc_var_new(c, "a"), *b = tc_var_new(c, "b");
    tc_formula f;
    tc_formula_op op;
    const tc_expr *x = tc_varx(c, a), *long_one = x;
    assert_false(tc_formula_of(tc_varx(c, b), 1, &a, tc_ctx_arena(c), &f));
    assert_false(tc_formula_of(tc_bin(c, TC_OP_TDIV, x, tc_i64(c, 2)), 1, &a, tc_ctx_arena(c), &f));
    for (int i = 0; i < 9; i++)
        long_one =
            tc_bin(c, TC_OP_MAX, tc_bin(c, TC_OP_MUL, long_one, tc_i64(c, 2)), tc_bin(c, TC_OP_MOD, long_one, tc_i64(c, 5)));
    assert_false(tc_formula_of(long_one, 1, &a, tc_ctx_arena(c), &f));
    assert_true(tc_formula_named("max", &op) && op == TC_FORMULA_MAX && strcmp(tc_formula_text(op), "max") == 0);
    assert_false(tc_formula_named("maximum", &op));
    tc_ctx_free(c);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_values), cmocka_unit_test(test_lines),
                                       cmocka_unit_test(test_unsound), cmocka_unit_test(test_no_formula)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
