/* Tile decisions: every draw and mutation is legal and wastes little; mutations differ; all perfect tiles of a small extent are
 * reached; and replays in one context. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "schedule_primitives/sample.h"
#include "support/vec.h"
#include "te/text.h"

static const int64_t EXTENTS[] = {1, 2, 3, 7, 12, 13, 49, 64, 100, 128, 197, 768, 997, 1000, 1009, 3072, 50257, 1048576};

static int64_t product(int n, const int64_t *f) {
    int64_t p = 1;
    for (int i = 0; i < n; i++)
        p *= f[i];
    return p;
}

static void check_tile(int64_t extent, int parts, int64_t max_inner, const int64_t *f) {
    int64_t p = product(parts - 1, f);
    assert_true(tc_sch_tile_legal(extent, parts, max_inner, f));
    assert_true((extent + p - 1) / p * p <= extent + extent / 4);
}

static void test_draws(void **state) {
    (void)state;
    tc_rng r = tc_rng_seed(1);
    for (size_t e = 0; e < TC_LEN(EXTENTS); e++) {
        for (int parts = 2; parts <= TC_MAX_PARTS; parts++) {
            for (int i = 0; i < 200; i++) {
                int64_t f[TC_MAX_PARTS], g[TC_MAX_PARTS], max_inner = 1 + tc_rng_below(&r, 64);
                tc_sch_draw_tile(EXTENTS[e], parts, max_inner, &r, f);
                check_tile(EXTENTS[e], parts, max_inner, f);
                if (!tc_sch_mutate_tile(EXTENTS[e], parts, max_inner, &r, f, g)) {
                    assert_true(EXTENTS[e] == 1 || max_inner == 1 || EXTENTS[e] <= 3);
                    continue;
                }
                check_tile(EXTENTS[e], parts, max_inner, g);
                assert_memory_not_equal(f, g, sizeof *f * (size_t)(parts - 1));
            }
        }
    }
}

static void test_legal(void **state) {
    (void)state;
    assert_true(tc_sch_tile_legal(128, 3, INT64_MAX, (int64_t[]){2, 6})); /* a bound that no part reaches */
    assert_false(tc_sch_tile_legal(128, 3, 4, (int64_t[]){2, 6}));
    assert_false(tc_sch_tile_legal(128, 3, 16, (int64_t[]){64, 4}));
    assert_false(tc_sch_tile_legal(128, 3, 16, (int64_t[]){INT64_MAX, 4}));
    assert_false(tc_sch_tile_legal(128, 3, 16, (int64_t[]){0, 4}));
}

/* 12 = a * b * c has 18 ordered factorisations; draws reach every one, and padded tiles of 13 and 7 appear. */
static void test_reaches_all(void **state) {
    (void)state;
    tc_rng r = tc_rng_seed(2);
    bool seen[13][13] = {{false}};
    int perfect = 0, padded = 0;
    for (int i = 0; i < 4000; i++) {
        int64_t f[2];
        tc_sch_draw_tile(12, 3, 16, &r, f);
        if (f[0] <= 12 && f[1] <= 12 && 12 % (f[0] * f[1]) == 0)
            seen[f[0]][f[1]] = true;
        tc_sch_draw_tile(197, 3, 16, &r, f);
        padded += 197 % (f[0] * f[1]) != 0;
    }
    for (int a = 1; a <= 12; a++)
        for (int b = 1; b <= 12; b++)
            perfect += seen[a][b];
    assert_int_equal(perfect, 18);
    assert_true(padded > 1000);
}

/* Every mutation chain leads on: from any tile of 24 all perfect tiles are reached. */
static void test_mutations_connect(void **state) {
    (void)state;
    tc_rng r = tc_rng_seed(3);
    bool seen[25][25] = {{false}};
    int64_t f[2] = {1, 1}, g[2];
    int perfect = 0;
    for (int i = 0; i < 20000; i++) {
        assert_true(tc_sch_mutate_tile(24, 3, 8, &r, f, g));
        f[0] = g[0];
        f[1] = g[1];
        if (24 % (f[0] * f[1]) == 0)
            seen[f[0]][f[1]] = true;
    }
    for (int a = 1; a <= 24; a++)
        for (int b = 1; b <= 8; b++)
            perfect += seen[a][b];
    assert_int_equal(perfect, 27); /* the a * b that divide 24 with b <= 8 */
}

static const char *const GEMM = "tensor X[128, 768] f32\n"
                                "tensor W[768, 3072] f32 const\n"
                                "tensor B[3072] f32 const\n"
                                "compute D[i:128, j:3072] = sum(k:768) X[i, k] * W[k, j]\n"
                                "compute T[i:128, j:3072] = D[i, j] + B[j]\n"
                                "compute Y[i:128, j:3072] = gelu(T[i, j])\n"
                                "output Y\n";

static const char *const SKETCH = "compute_inline T\n"
                                  "ti = sample_tile Y.i parts=3 max_inner=8\n"
                                  "tj = sample_tile Y.j parts=4 max_inner=64\n"
                                  "transform_layout W (k, j) -> (j / tj.3, k, j % tj.3)\n"
                                  "io, im, ii = split Y.i [_, ti.1, ti.2]\n"
                                  "jo, jm, jn, ji = split Y.j [_, tj.1, tj.2, tj.3]\n"
                                  "reorder Y.io Y.jo Y.im Y.jm Y.jn Y.ii Y.ji\n"
                                  "acc = cache_write D local\n"
                                  "compute_at D Y.jn\n"
                                  "compute_at acc D.i\n"
                                  "compute_root acc\n"
                                  "compute_at acc Y.jn\n"
                                  "tk = sample_tile acc.k parts=2 max_inner=16\n"
                                  "ko, ki = split acc.k [_, tk.1]\n"
                                  "reorder acc.ko acc.ki acc.i acc.j\n"
                                  "unroll acc.ki\n"
                                  "unroll acc.i\n"
                                  "vectorize acc.j\n"
                                  "unroll Y.ii\n"
                                  "vectorize Y.ji\n"
                                  "f = fuse Y.io Y.jo\n"
                                  "parallel Y.f\n"
                                  "l = sample_compute_location acc\n"
                                  "u = sample_categorical [0, 16, 64]\n"
                                  "pragma acc auto_unroll_max u\n";

/* What a search does: one context, reset after each candidate, takes any number of them. */
static void test_replays_in_one_context(void **state) {
    (void)state;
    enum { REPLAYS = 2000 };
    tc_ctx *parent = tc_ctx_new();
    const tc_workload *w = NULL;
    tc_trace *t = NULL;
    tc_error err = {0};
    assert_int_equal(tc_te_parse(parent, "gemm.te", GEMM, &w, &err), TC_OK);
    if (tc_trace_parse(tc_ctx_arena(parent), "gemm.sched", SKETCH, &t, &err) != TC_OK)
        fail_msg("%s", err.msg);
    tc_ctx *c = tc_ctx_child(parent);
    tc_rng r = tc_rng_seed(4);
    for (int i = 0; i < REPLAYS; i++) {
        tc_sched *s = NULL;
        if (tc_sch_replay(c, w, t, &r, &s, &err) != TC_OK)
            fail_msg("%s", err.msg);
        tc_ctx_reset(c);
    }
    tc_ctx_free(c);
    tc_ctx_free(parent);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_draws),
        cmocka_unit_test(test_legal),
        cmocka_unit_test(test_reaches_all),
        cmocka_unit_test(test_mutations_connect),
        cmocka_unit_test(test_replays_in_one_context),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
