/* Features of hand-written programs, exactly; invariances; random programs. */
#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/random_trace.h"
#include "common/random_workload.h"
#include "cost_model/cost.h"
#include "support/cmocka_all.h"
#include "support/log.h"
#include "support/system/fs.h"
#include "support/vec.h"
#include "tir_lower/build/build.h"
#include "tir_lower/text/text.h"

static const tc_machine MACHINE = {.vector_bytes = 64,
                                   .vector_regs = 32,
                                   .masks = true,
                                   .fma = true,
                                   .cores = 2,
                                   .l1 = 32768,
                                   .l2 = 1 << 20,
                                   .l3 = 16 << 20,
                                   .line = 64};

static tc_func *parse_file(tc_ctx *c, const char *file) {
    tc_error err;
    char *text;
    tc_func *f = NULL;
    if (tc_fs_read(file, &text, NULL, &err) != TC_OK || tc_tir_parse(c, file, text, &f, &err) != TC_OK)
        fail_msg("%s", err.msg);
    free(text);
    return f;
}

static tc_cost_rows features_of(const char *file, const tc_machine *m) {
    tc_ctx *c = tc_ctx_new();
    tc_cost_rows rows = {0};
    tc_error err;
    if (tc_cost_features(parse_file(c, file), m, &rows, &err) != TC_OK)
        fail_msg("%s", err.msg);
    tc_ctx_free(c);
    return rows;
}

static float raw(const tc_cost_rows *r, int row, int column) {
    return r->data[(size_t)row * TC_COST_NFEATURE + (size_t)column];
}

/* A counted feature is log2(1 + x): compares x to a part in a thousand. */
static void expect_at(const tc_cost_rows *r, int row, int column, double want, int line) {
    double got = exp2(raw(r, row, column)) - 1;
    if (fabs(got - want) > 1e-3 * fmax(want, 0.1))
        fail_msg("line %d: row %d, %s: %g, expected %g", line, row, tc_cost_feature_name(column), got, want);
}
static void expect_raw_at(const tc_cost_rows *r, int row, int column, double want, int line) {
    if (fabs(raw(r, row, column) - want) > 1e-4)
        fail_msg("line %d: row %d, %s: %g, expected %g", line, row, tc_cost_feature_name(column), (double)raw(r, row, column),
                 want);
}
#define expect(row, column, want) expect_at(&r, (row), (column), (want), __LINE__)
#define expect_raw(row, column, want) expect_raw_at(&r, (row), (column), (want), __LINE__)

enum { INIT, UPDATE, EPILOGUE };

static void test_gemm_counts(void **state) {
    (void)state;
    tc_cost_rows r = features_of("gemm.tir", &MACHINE);
    assert_int_equal(r.nrow, 3);
    expect(UPDATE, TC_COST_F_FMA, 100 * 96 * 64);
    expect(UPDATE, TC_COST_F_ADD, 0);
    expect(UPDATE, TC_COST_F_MUL, 0);
    expect(EPILOGUE, TC_COST_F_ADD, 100 * 96);
    expect(EPILOGUE, TC_COST_F_CMP, 100 * 96);
    expect(INIT, TC_COST_F_FMA, 0);
    double tiles = 51 * 100.0 / 102; /* whole ones */
    expect(UPDATE, TC_COST_VEC_ARITH, tiles * 64 * 12);
    expect(UPDATE, TC_COST_VEC_LOAD, tiles * (64 * (2 + 6) + 12)); /* W, X, and the accumulators once */
    expect(UPDATE, TC_COST_VEC_STORE, tiles * 12);
    expect_raw(UPDATE, TC_COST_LANE_USE, 1);
    expect(UPDATE, TC_COST_INDEX_DIV, 100 / 102.0 * 51 * 1.25 * 1.6); /* t / 3 and t % 3, a third a whole one each */
    tc_cost_rows_free(&r);
}

/* Where the machine has the instruction, four products and their sums are one of it, on operands that are loaded as bytes; where it
 * has none, they are steps. */
static void test_dots(void **state) {
    (void)state;
    tc_machine with = MACHINE;
    with.intrinsics = tc_intrinsic_alone(tc_intrinsic_named("vpdpbusd"));
    tc_cost_rows r = features_of("dots.tir", &with), plain = features_of("dots.tir", &MACHINE);
    double tiles = 51, steps = 16;
    expect(UPDATE, TC_COST_I_MAD, 102 * 96 * 64);
    expect(UPDATE, TC_COST_VEC_ARITH, tiles * steps * 12);
    expect(UPDATE, TC_COST_VEC_LOAD, tiles * (steps * (2 + 6) + 12)); /* W, X, and the accumulators once */
    expect(UPDATE, TC_COST_VEC_STORE, tiles * 12);
    expect_raw(UPDATE, TC_COST_LANE_USE, 1);
    expect(UPDATE, TC_COST_ACC_VECTORS, 12);
    expect_at(&plain, UPDATE, TC_COST_I_MAD, 102 * 96 * 64, __LINE__);
    assert_true(raw(&plain, UPDATE, TC_COST_VEC_ARITH) > raw(&r, UPDATE, TC_COST_VEC_ARITH) + 2); /* log2: four times */
    assert_true(tc_cost_estimate(&plain) > 3 * tc_cost_estimate(&r));
    for (int row = INIT; row <= EPILOGUE; row += EPILOGUE - INIT)
        for (int c = TC_COST_VEC_ARITH; c <= TC_COST_LANE_USE; c++)
            assert_true(raw(&plain, row, c) == raw(&r, row, c));
    tc_cost_rows_free(&r);
    tc_cost_rows_free(&plain);
}

static void test_gemm_annotations(void **state) {
    (void)state;
    tc_cost_rows r = features_of("gemm.tir", &MACHINE);
    expect(UPDATE, TC_COST_VEC_NUM, 1);
    expect(UPDATE, TC_COST_VEC_LEN, 32);
    expect_raw(UPDATE, TC_COST_VEC_INNER_SPATIAL, 1);
    expect(UPDATE, TC_COST_UNROLL_PROD, 6);
    expect_raw(UPDATE, TC_COST_UNROLL_MIDDLE_SPATIAL, 1);
    expect(UPDATE, TC_COST_PAR_LEN, 51);
    expect_raw(UPDATE, TC_COST_PAR_OUTER_SPATIAL, 1);
    expect_raw(UPDATE, TC_COST_NUM_LOOPS, 4);
    expect(UPDATE, TC_COST_REDUCE_PROD, 64);
    expect(UPDATE, TC_COST_SPATIAL_PROD, 51 * 6 * 32);
    expect(UPDATE, TC_COST_TASKS, 51);
    expect_raw(UPDATE, TC_COST_IMBALANCE, 52.0 / 51);
    expect_raw(UPDATE, TC_COST_CORE_USE, 1);
    expect_raw(INIT, TC_COST_GUARD_VALID, 1);
    expect_raw(UPDATE, TC_COST_GUARD_VALID, 100.0 / 102);
    expect_raw(UPDATE, TC_COST_GUARD_PARTIAL, 1.0 / 17);
    tc_cost_rows_free(&r);
}

static void test_gemm_tile(void **state) {
    (void)state;
    tc_cost_rows r = features_of("gemm.tir", &MACHINE);
    expect(UPDATE, TC_COST_ACC_VECTORS, 12);
    expect_raw(UPDATE, TC_COST_ACC_SHARE, (12 + 2 + 1) / 32.0);
    expect(UPDATE, TC_COST_ACC_SPILL, 0);
    expect(UPDATE, TC_COST_ACC_TRIPS, 64);
    expect(UPDATE, TC_COST_TILE_LOADS, 2);
    expect(UPDATE, TC_COST_TILE_BCASTS, 6);
    expect(UPDATE, TC_COST_ALLOC_BYTES, 768);
    expect(UPDATE, TC_COST_ALLOC_OUTER, 51);
    expect_raw(UPDATE, TC_COST_ALLOC_LOCAL, 1);
    expect_raw(EPILOGUE, TC_COST_ALLOC_PARAM, 1);
    tc_machine narrow = MACHINE;
    narrow.vector_bytes = 32;
    narrow.vector_regs = 16;
    tc_cost_rows_free(&r);
    r = features_of("gemm.tir", &narrow);
    expect(UPDATE, TC_COST_ACC_VECTORS, 24);
    expect(UPDATE, TC_COST_ACC_SPILL, 24 + 4 + 1 - 16);
    tc_cost_rows_free(&r);
}

static void test_gemm_accesses(void **state) {
    (void)state;
    tc_cost_rows r = features_of("gemm.tir", &MACHINE);
    /* buffer0 is acc, buffer1 W, buffer2 X */
    expect_raw(UPDATE, TC_COST_AT(0, BOTH), 1);
    expect(UPDATE, TC_COST_AT(0, UNIQUE_BYTES), 768);
    expect_raw(UPDATE, TC_COST_AT(0, REUSE_LOOP), 1);
    expect(UPDATE, TC_COST_AT(0, REUSE_COUNT), 64);
    expect(UPDATE, TC_COST_AT(0, REUSE_ITERATIONS), 6 * 32);
    expect_raw(UPDATE, TC_COST_AT(1, READ), 1);
    expect(UPDATE, TC_COST_AT(1, UNIQUE_BYTES), 6144 * 4);
    expect(UPDATE, TC_COST_AT(1, UNIQUE_LINES), 6144 / 16);
    expect(UPDATE, TC_COST_AT(1, STRIDE), 1);
    expect(UPDATE, TC_COST_AT(1, VECTOR_STRIDE), 1);
    expect(UPDATE, TC_COST_AT(1, REUSE_COUNT), 6);
    expect(UPDATE, TC_COST_AT(2, UNIQUE_BYTES), 6400 * 4);
    expect(UPDATE, TC_COST_AT(2, STRIDE), 64); /* of i, the innermost loop that moves it */
    expect(UPDATE, TC_COST_AT(2, VECTOR_STRIDE), 0);
    expect(UPDATE, TC_COST_AT(2, REUSE_COUNT), 32);
    expect(UPDATE, TC_COST_AT(3, BYTES), 0);
    /* The epilogue reads acc right after the update wrote it. */
    expect_raw(EPILOGUE, TC_COST_AT(1, REUSE_SERIAL), 1);
    expect(EPILOGUE, TC_COST_AT(1, REUSE_COUNT), 3);
    expect(EPILOGUE, TC_COST_AT(0, UNIQUE_BYTES), 9600 * 4);
    expect_raw(EPILOGUE, TC_COST_AT(0, REUSE_NONE), 1);
    tc_cost_rows_free(&r);
}

static void test_gemm_caches(void **state) {
    (void)state;
    tc_cost_rows r = features_of("gemm.tir", &MACHINE);
    /* One tile: 6 rows of X, a panel of W and the accumulators, 10496 bytes with C and bias: fits l1. All of it fits l2. */
    expect(UPDATE, TC_COST_L1_ITERATIONS, 64 * 6 * 32);
    expect(UPDATE, TC_COST_L2_ITERATIONS, 51.0 * 64 * 6 * 32);
    expect(UPDATE, TC_COST_L2_TRAFFIC, (6144 * 4 + 6400 * 4 + 768) * 100 / 102.0 / 2);
    assert_true(raw(&r, UPDATE, TC_COST_CURVE9) > raw(&r, UPDATE, TC_COST_CURVE0));
    expect(UPDATE, TC_COST_CURVE9, 2.0 * 100 * 96 * 64 / (6144 * 4 + 6400 * 4 + 768));
    tc_cost_rows_free(&r);
}

static void test_naive(void **state) {
    (void)state;
    tc_cost_rows r = features_of("naive.tir", &MACHINE), good = features_of("gemm.tir", &MACHINE);
    assert_int_equal(r.nrow, 2);
    expect(UPDATE, TC_COST_F_FMA, 100 * 96 * 64);
    expect(UPDATE, TC_COST_VEC_ARITH, 100 * 96 * 64); /* scalars */
    expect(UPDATE, TC_COST_VEC_STORE, 100 * 96);      /* promoted over k */
    expect(UPDATE, TC_COST_VEC_NUM, 0);
    expect(UPDATE, TC_COST_TASKS, 0);
    expect_raw(UPDATE, TC_COST_IMBALANCE, 2);
    expect_raw(UPDATE, TC_COST_CORE_USE, 0.5);
    /* buffer1 is X, buffer2 W: the innermost loop moves it by a row. */
    expect(UPDATE, TC_COST_AT(2, STRIDE), 96);
    expect(UPDATE, TC_COST_AT(2, UNIQUE_BYTES), 6144 * 4);
    expect(UPDATE, TC_COST_AT(2, REUSE_COUNT), 100);
    expect(UPDATE, TC_COST_AT(1, STRIDE), 1);
    expect(UPDATE, TC_COST_AT(1, REUSE_COUNT), 96);
    assert_true(tc_cost_estimate(&r) > 3 * tc_cost_estimate(&good));
    tc_machine plain = MACHINE;
    plain.fma = false;
    tc_cost_rows_free(&r);
    r = features_of("naive.tir", &plain);
    expect(UPDATE, TC_COST_F_FMA, 0);
    expect(UPDATE, TC_COST_F_MUL, 100 * 96 * 64);
    expect(UPDATE, TC_COST_F_ADD, 100 * 96 * 64);
    tc_cost_rows_free(&r);
    tc_cost_rows_free(&good);
}

static void test_windows_and_gathers(void **state) {
    (void)state;
    enum { CONV = 1, LOOKUP = 2 };
    tc_cost_rows r = features_of("conv.tir", &MACHINE);
    assert_int_equal(r.nrow, 3);
    /* buffer0 Y, then X and F, read as often; X has more distinct bytes: 1024 windows of 3 overlap to 1026 elements. */
    expect(CONV, TC_COST_AT(1, UNIQUE_BYTES), 1026 * 4);
    expect(CONV, TC_COST_AT(1, UNIQUE_LINES), 65);
    expect(CONV, TC_COST_F_FMA, 3 * 1024);
    expect(LOOKUP, TC_COST_F_MATH, 32 * 64);
    expect(LOOKUP, TC_COST_F_DIV, 32 * 64);
    expect(LOOKUP, TC_COST_AT(0, UNIQUE_BYTES), 32 * 64 * 4);
    expect(LOOKUP, TC_COST_AT(1, UNIQUE_BYTES), 32 * 64 * 4);
    expect(LOOKUP, TC_COST_AT(2, BYTES), 32 * 8); /* ids: once per row, not per lane */
    tc_cost_rows_free(&r);
}

static void test_names_do_not_matter(void **state) {
    (void)state;
    tc_cost_rows a = features_of("gemm.tir", &MACHINE), b = features_of("gemm_renamed.tir", &MACHINE);
    assert_int_equal(a.nrow, b.nrow);
    assert_memory_equal(a.data, b.data, (size_t)a.nrow * TC_COST_NFEATURE * sizeof *a.data);
    tc_cost_rows copy = {0};
    tc_cost_rows_copy(&copy, &a);
    assert_memory_equal(a.data, copy.data, (size_t)a.nrow * TC_COST_NFEATURE * sizeof *a.data);
    tc_cost_rows_free(&a);
    tc_cost_rows_free(&b);
    tc_cost_rows_free(&copy);
}

static void test_feature_names(void **state) {
    (void)state;
    for (int i = 0; i < TC_COST_NFEATURE; i++) {
        assert_non_null(tc_cost_feature_name(i));
        for (int j = 0; j < i; j++)
            assert_string_not_equal(tc_cost_feature_name(i), tc_cost_feature_name(j));
    }
    assert_string_equal(tc_cost_feature_name(TC_COST_F_FMA), "float.fma");
    assert_string_equal(tc_cost_feature_name(TC_COST_AT(3, STRIDE)), "buffer3.stride");
    assert_null(tc_cost_feature_name(-1));
    assert_null(tc_cost_feature_name(TC_COST_NFEATURE));
}

/* 65 loops are refused in words; 64 are fine. */
static void test_depth(void **state) {
    (void)state;
    for (int depth = 64; depth <= 65; depth++) {
        tc_ctx *c = tc_ctx_new();
        const tc_buffer *b = tc_tir_buffer(c, "B", TC_F32, 16, TC_BUF_PARAM, NULL);
        const tc_stmt *s = tc_tir_store(c, b, tc_i64(c, 0), tc_float(c, TC_F32, 1), NULL);
        for (int i = 0; i < depth; i++)
            s = tc_tir_for(c, tc_var_new(c, "i"), tc_i64(c, 2), TC_FOR_SERIAL, false, s);
        tc_func f = {.name = "deep", .body = s};
        tc_cost_rows rows = {0};
        tc_error err;
        assert_int_equal(tc_cost_features(&f, &MACHINE, &rows, &err), depth == 64 ? TC_OK : TC_BAD_INPUT);
        if (depth == 65)
            assert_non_null(strstr(err.msg, "more than 64 loops"));
        tc_cost_rows_free(&rows);
        tc_ctx_free(c);
    }
}

static void assert_finite(const tc_cost_rows *r) {
    for (size_t i = 0; i < (size_t)r->nrow * TC_COST_NFEATURE; i++)
        if (!isfinite(r->data[i]) || fabsf(r->data[i]) > 1000)
            fail_msg("row %zu, %s is %g", i / TC_COST_NFEATURE, tc_cost_feature_name((int)(i % TC_COST_NFEATURE)),
                     (double)r->data[i]);
}

static bool random_program(tc_ctx *c, uint64_t seed, tc_func **f) {
    tc_rng rng = tc_rng_seed(seed);
    const tc_workload *w = tc_test_random_workload(c, &rng);
    tc_sched *s = tc_sch_new(c, w);
    tc_test_random_steps(s, &rng, 12);
    return tc_tir_build(s, &MACHINE, f, NULL) == TC_OK;
}

static void test_random_programs(void **state) {
    (void)state;
    enum { PROGRAMS = 300 };
    int built = 0;
    for (uint64_t seed = 0; seed < PROGRAMS; seed++) {
        tc_ctx *c = tc_ctx_new();
        tc_func *f;
        if (random_program(c, seed, &f)) {
            tc_cost_rows a = {0}, b = {0};
            assert_int_equal(tc_cost_features(f, &MACHINE, &a, NULL), TC_OK);
            assert_int_equal(tc_cost_features(f, &MACHINE, &b, NULL), TC_OK);
            assert_true(a.nrow > 0);
            assert_finite(&a);
            assert_memory_equal(a.data, b.data, (size_t)a.nrow * TC_COST_NFEATURE * sizeof *a.data);
            tc_cost_rows_free(&a);
            tc_cost_rows_free(&b);
            built++;
        }
        tc_ctx_free(c);
    }
    print_message("%d random programs\n", built);
    assert_true(built > PROGRAMS / 2);
}

/* Many threads on one frozen program agree with one thread. */
static void test_threads(void **state) {
    (void)state;
    tc_ctx *c = tc_ctx_new();
    const tc_func *f = parse_file(c, "gemm.tir");
    tc_cost_rows one = {0};
    assert_int_equal(tc_cost_features(f, &MACHINE, &one, NULL), TC_OK);
    int differ = 0;
#pragma omp parallel num_threads(4) reduction(+ : differ)
    {
        tc_cost_rows mine = {0};
        for (int i = 0; i < 50; i++) {
            differ += tc_cost_features(f, &MACHINE, &mine, NULL) != TC_OK;
            differ +=
                mine.nrow != one.nrow || memcmp(mine.data, one.data, (size_t)one.nrow * TC_COST_NFEATURE * sizeof *one.data) != 0;
        }
        tc_cost_rows_free(&mine);
    }
    assert_int_equal(differ, 0);
    tc_cost_rows_free(&one);
    tc_ctx_free(c);
}

/* The promise is 150 microseconds for a GEMM with its epilogue. */
static void test_speed(void **state) {
    (void)state;
    tc_ctx *c = tc_ctx_new();
    const tc_func *f = parse_file(c, "gemm.tir");
    tc_cost_rows rows = {0};
    enum { TIMES = 500 };
    double start = tc_now();
    for (int i = 0; i < TIMES; i++)
        assert_int_equal(tc_cost_features(f, &MACHINE, &rows, NULL), TC_OK);
    double micros = (tc_now() - start) / TIMES * 1e6;
    print_message("%.1f us a program\n", micros);
#ifndef TCTUNE_SANITIZED
    assert_true(micros < 150);
#endif
    tc_cost_rows_free(&rows);
    tc_ctx_free(c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gemm_counts),
        cmocka_unit_test(test_dots),
        cmocka_unit_test(test_gemm_annotations),
        cmocka_unit_test(test_gemm_tile),
        cmocka_unit_test(test_gemm_accesses),
        cmocka_unit_test(test_gemm_caches),
        cmocka_unit_test(test_naive),
        cmocka_unit_test(test_windows_and_gathers),
        cmocka_unit_test(test_names_do_not_matter),
        cmocka_unit_test(test_feature_names),
        cmocka_unit_test(test_depth),
        cmocka_unit_test(test_random_programs),
        cmocka_unit_test(test_threads),
        cmocka_unit_test(test_speed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
