/* What is left of programs without a part, statement by statement; that each stays within its buffers is ablate_property.c's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "te/text.h"
#include "tir_lower/oracle.h"
#include "tir_lower/program/ablate.h"
#include "tir_lower/text/text.h"

typedef struct fixture {
    tc_ctx *c;
    const tc_workload *w;
    tc_tir_program p;
    tc_error err;
    tc_strbuf text; /* of what is left */
} fixture;

static fixture open_program(const char *te, const char *sched) {
    fixture x = {.c = tc_ctx_new()};
    if (tc_te_parse(x.c, "test.te", te, &x.w, &x.err) != TC_OK)
        fail_msg("%s", x.err.msg);
    tc_tir_origin from = {.workload = x.w, .machine = &test_machine, .text = sched, .name = "test.sched"};
    if (tc_tir_program_make(x.c, &from, TC_TIR_LOWERED, &x.p, &x.err) != TC_OK)
        fail_msg("%s", x.err.msg);
    return x;
}

static void close_program(fixture *x) {
    tc_strbuf_free(&x->text);
    tc_ctx_free(x->c);
}

/* The program without a part, as text; NULL where it has none. */
static const char *nest_without(fixture *x, tc_tir_part p) {
    tc_func *f;
    tc_sb_clear(&x->text);
    if (tc_tir_ablate_nest(x->c, &test_machine, x->p.nest, TC_TIR_WITHOUT(p), &f, &x->err) != TC_OK)
        return NULL;
    tc_tir_print(&x->text, f);
    return tc_sb_str(&x->text);
}

static const char *lowered_without(fixture *x, tc_tir_part p) {
    tc_func *f;
    tc_sb_clear(&x->text);
    if (tc_tir_ablate(x->c, &test_machine, x->p.lowered, TC_TIR_WITHOUT(p), &f, &x->err) != TC_OK)
        return NULL;
    tc_tir_print(&x->text, f);
    return tc_sb_str(&x->text);
}

static void expect(const char *text, const char *phrase) {
    if (!text || !strstr(text, phrase))
        fail_msg("'%s' is not in\n%s", phrase, text ? text : "(nothing)");
}

static void expect_none(const char *text, const char *phrase) {
    if (!text || strstr(text, phrase))
        fail_msg("'%s' is in\n%s", phrase, text ? text : "(nothing)");
}

static int times(const char *text, const char *phrase) {
    int n = 0;
    for (const char *at = text; (at = strstr(at, phrase)); at++)
        n++;
    return n;
}

static const char GEMM[] = "tensor X[50, 64] f32\n"
                           "tensor W[64, 48] f32\n"
                           "tensor B[48] f32\n"
                           "compute D[i:50, j:48] = sum(k:64) X[i, k] * W[k, j]\n"
                           "compute Y[i:50, j:48] = max(D[i, j] + B[j], 0.0)\n"
                           "output Y\n";
/* A register tile of 4 x 16, which 50 rows do not divide into; rows in parallel. */
static const char TILED[] = "yo, yi = split Y.i [_, 4]\nzo, zi = split Y.j [_, 16]\nreorder Y.yo Y.zo Y.yi Y.zi\n"
                            "parallel Y.yo\nunroll Y.yi\nvectorize Y.zi\n"
                            "compute_at D Y.zo\nset_scope D local\nko, ki = split D.k [_, 4]\n"
                            "reorder D.ko D.ki D.i D.j\nunroll D.ki\nunroll D.i\nvectorize D.j\n";

static void test_table(void **state) {
    (void)state;
    tc_tir_part p;
    for (int i = 0; i < TC_TIR_NPARTS; i++) {
        assert_true(tc_tir_part_parse(tc_tir_part_text((tc_tir_part)i), &p));
        assert_int_equal(p, i);
        assert_true(strlen(tc_tir_part_left(p)) > 0);
    }
    assert_false(tc_tir_part_parse("nothing", &p));
    fixture x = open_program(GEMM, TILED);
    tc_tir_origin from = {.workload = x.w, .machine = &test_machine, .text = TILED, .name = "test.sched"};
    assert_int_equal(tc_tir_program_without(x.c, &from, TC_TIR_ALL_PARTS + 1, &x.p, &x.err), TC_BAD_INPUT);
    close_program(&x);
}

static void test_tails(void **state) {
    (void)state;
    fixture x = open_program(GEMM, TILED);
    const char *left = nest_without(&x, TC_TIR_PART_TAILS);
    expect(left, "if guard yo * 4 < 47 {"); /* 4 * yo + 3 < 50 */
    expect_none(left, "+ yi < 50");
    close_program(&x);
    x = open_program(GEMM, "yo, yi = split Y.i [_, 5]\nunroll Y.yi\n");
    assert_null(nest_without(&x, TC_TIR_PART_TAILS));
    assert_non_null(strstr(x.err.msg, "the program has no tails"));
    close_program(&x);
}

/* A tile of which no whole one fits stays, and so does what is computed for addresses. */
static void test_tails_that_stay(void **state) {
    (void)state;
    static const char gather[] = "tensor X[10, 8] f32\ntensor I[10] i64\ncompute J[i:10] = max(min(I[i], 9), 0)\n"
                                 "compute Y[i:10, j:8] = X[J[i], j]\noutput Y\n";
    fixture x =
        open_program("tensor X[3] f32\ncompute Y[i:3] = X[i] + 1.0\noutput Y\n", "o, n = split Y.i [_, 8]\nvectorize Y.n\n");
    assert_null(nest_without(&x, TC_TIR_PART_TAILS));
    close_program(&x);
    x = open_program(gather, "o, n = split J.i [_, 4]\nunroll J.n\n");
    assert_null(nest_without(&x, TC_TIR_PART_TAILS));
    assert_null(lowered_without(&x, TC_TIR_PART_ARITH));
    close_program(&x);
    x = open_program(gather, "o, n = split Y.i [_, 4]\nunroll Y.n\n");
    expect(nest_without(&x, TC_TIR_PART_TAILS), "if guard o * 4 < 7 {");
    close_program(&x);
}

static void test_loads(void **state) {
    (void)state;
    fixture x = open_program(GEMM, TILED);
    const char *left = nest_without(&x, TC_TIR_PART_LOADS);
    expect(left, "X[yo * 256 + i * 64] * W[zo * 16 + j]");
    expect(left, "for ko in 16 reduce {");
    close_program(&x);
    x = open_program("tensor X[40] f32\ncompute Y[i:40] = X[i] + 1.0\noutput Y\n", "");
    assert_null(nest_without(&x, TC_TIR_PART_LOADS));
    close_program(&x);
}

/* Of a dot product the steps that an instruction takes together stay. */
static void test_loads_of_a_unit(void **state) {
    (void)state;
    fixture x = open_program("tensor A[5, 24] u8\ntensor B[24, 32] i8 const\n"
                             "compute D[i:5, j:32] = sum(k:24) i32(A[i, k]) * i32(B[k, j])\noutput D\n",
                             "transform_layout B (k, j) -> (j / 16, k / 4, j % 16, k % 4)\njo, ji = split D.j [_, 16]\n"
                             "ko, ki = split D.k [_, 4]\nreorder D.i D.jo D.ko D.ki D.ji\nunroll D.ki\nvectorize D.ji\n");
    const char *left = nest_without(&x, TC_TIR_PART_LOADS);
    expect(left, "A[i * 24 + ki]");
    expect_none(left, "A[i * 24 + ko * 4 + ki]");
    close_program(&x);
}

static void test_memory(void **state) {
    (void)state;
    /* 256 KB of X, of which half of 32 KB stay: 4096 elements, of the 16 of each step */
    fixture x = open_program("tensor X[65536] f32\ncompute Y[i:16] = sum(k:4096) X[k * 16 + i]\noutput Y\n",
                             "reorder Y.k Y.i\nvectorize Y.i\n");
    const char *left = lowered_without(&x, TC_TIR_PART_MEMORY);
    expect(left, "for k_1 in 256 reduce {\n");
    expect(left, "X[ramp(k_1 * 16, 1, 16)]");
    close_program(&x);
    x = open_program("tensor X[100] f32\ncompute Y[i:100] = X[i] + 1.0\noutput Y\n", "");
    assert_null(lowered_without(&x, TC_TIR_PART_MEMORY));
    assert_non_null(strstr(x.err.msg, "the program has no memory"));
    close_program(&x);
}

static void test_stores(void **state) {
    (void)state;
    fixture x = open_program(GEMM, TILED);
    const char *left = lowered_without(&x, TC_TIR_PART_STORES);
    expect(left, "thread");
    expect_none(left, "Y[");
    close_program(&x);
    x = open_program(GEMM, "");
    assert_null(lowered_without(&x, TC_TIR_PART_STORES));
    close_program(&x);
}

/* 4 rows and 1 vector in 4 steps: 16 multiply-adds load 4 vectors and 16 elements, so that none goes; of 2 vectors each element
 * is used twice. */
static void test_arithmetic(void **state) {
    (void)state;
    static const char wide[] = "yo, yi = split Y.i [_, 5]\nzo, zi, zv = split Y.j [_, 2, 8]\nreorder Y.yo Y.zo Y.yi Y.zi Y.zv\n"
                               "unroll Y.yi\nunroll Y.zi\nvectorize Y.zv\n"
                               "compute_at D Y.zo\nset_scope D local\ndo, dv = split D.j [_, 8]\n"
                               "reorder D.k D.i D.do D.dv\nunroll D.i\nunroll D.do\nvectorize D.dv\n";
    fixture x = open_program(GEMM, wide);
    tc_sb_clear(&x.text);
    tc_tir_print(&x.text, x.p.lowered);
    int all = times(tc_sb_str(&x.text), "fma(");
    const char *left = lowered_without(&x, TC_TIR_PART_ARITH);
    assert_non_null(left);
    assert_int_equal(all, 10);
    assert_int_equal(times(left, "fma("), 6); /* 5 rows, and one more vector */
    close_program(&x);
    x = open_program("tensor X[40] f32\ntensor Z[40] f32\ncompute Y[i:40] = exp(X[i]) * Z[i] + 1.0\noutput Y\n", "");
    expect(lowered_without(&x, TC_TIR_PART_ARITH), "Y[i] = X[i] + Z[i]");
    close_program(&x);
}

static void test_epilogue(void **state) {
    (void)state;
    fixture x = open_program(GEMM, TILED);
    const char *left = lowered_without(&x, TC_TIR_PART_EPILOGUE);
    expect_none(left, "B[");
    expect_none(left, "max(");
    expect(left, "fma(");
    close_program(&x);
    x = open_program("tensor X[40] f32\ncompute Y[i:40] = exp(X[i])\noutput Y\n", "");
    assert_null(lowered_without(&x, TC_TIR_PART_EPILOGUE));
    close_program(&x);
}

/* The copy of W goes, what is stored of sums does not. */
static void test_packing(void **state) {
    (void)state;
    fixture x = open_program(GEMM, "C = cache_read W D global\n");
    tc_sb_clear(&x.text);
    tc_tir_print(&x.text, x.p.lowered);
    expect(tc_sb_str(&x.text), "= W[");
    const char *left = lowered_without(&x, TC_TIR_PART_PACKING);
    expect_none(left, "= W[");
    expect(left, "Y[");
    close_program(&x);
    x = open_program(GEMM, TILED);
    assert_null(lowered_without(&x, TC_TIR_PART_PACKING));
    close_program(&x);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_table),   cmocka_unit_test(test_tails),           cmocka_unit_test(test_tails_that_stay),
        cmocka_unit_test(test_loads),   cmocka_unit_test(test_loads_of_a_unit), cmocka_unit_test(test_memory),
        cmocka_unit_test(test_stores),  cmocka_unit_test(test_arithmetic),      cmocka_unit_test(test_epilogue),
        cmocka_unit_test(test_packing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
