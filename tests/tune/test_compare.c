/* Comparing: the verdict's statistics on made-up times, what two schedules become, and both in turns in real workers. The
 * executable is its own worker. */
#include "support/cmocka_all.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "measure/peer.h"
#include "measure/worker/worker.h"
#include "te/text.h"
#include "tune/kernel/compare.h"

static const char dense[] = "tensor p0[24, 32] f32\ntensor p1[32, 48] f32 const\n"
                            "compute t0[i0:24, i1:48] = sum(k0:32) p0[i0, k0] * p1[k0, i1]\noutput t0\n";
static const char fast[] = "jo, jv = split t0.i1 [_, 16]\nreorder t0.jo t0.i0 t0.k0 t0.jv\nvectorize t0.jv\n";

static const char gather[] = "tensor T[1000, 16] f32\ntensor I[8] i64\ncompute Y[i:8, j:16] = T[I[i], j]\noutput Y\n";

/* ---- the verdict ---- */

enum { ROUNDS = 30 };

/* Times around `mean` with `noise`, drifting over the rounds by half: both sides drift alike. */
static void times(double *out, double mean, double noise, uint64_t seed) {
    tc_rng rng = tc_rng_seed(seed);
    for (int i = 0; i < ROUNDS; i++)
        out[i] = mean * (1 + 0.5 * i / ROUNDS) * exp(noise * tc_rng_normal(&rng));
}

static void test_faster(void **state) {
    (void)state;
    double a[ROUNDS], b[ROUNDS];
    times(a, 1e-3, 0.02, 1);
    times(b, 1.1e-3, 0.02, 2);
    tc_tune_verdict v = tc_tune_judge(a, b, ROUNDS, 0);
    assert_int_equal(v.faster, -1);
    assert_true(v.low > 1.05 && v.ratio > v.low && v.high > v.ratio && v.high < 1.15);
    assert_true(v.sign_p < 1e-3);
    v = tc_tune_judge(b, a, ROUNDS, 0);
    assert_int_equal(v.faster, 1);
    assert_true(v.high < 1);
}

/* Of equal sides at most about one in twenty may be told apart. */
static void test_equal(void **state) {
    (void)state;
    int wrong = 0;
    for (uint64_t s = 0; s < 200; s++) {
        double a[ROUNDS], b[ROUNDS];
        times(a, 1e-3, 0.05, 2 * s + 1);
        times(b, 1e-3, 0.05, 2 * s + 2);
        wrong += tc_tune_judge(a, b, ROUNDS, s).faster != 0;
    }
    assert_true(wrong <= 15);
}

static void test_few_rounds(void **state) {
    (void)state;
    const double a[] = {1, 1, 1, 1, 1, 1}, b[] = {2, 2, 2, 2, 2, 2};
    assert_int_equal(tc_tune_judge(a, b, TC_TUNE_MIN_ROUNDS - 1, 0).faster, 0);
    assert_int_equal(tc_tune_judge(a, b, TC_TUNE_MIN_ROUNDS, 0).faster, -1);
    assert_int_equal(tc_tune_judge(a, a, TC_TUNE_MIN_ROUNDS, 0).faster, 0);
    assert_int_equal(tc_tune_judge(a, b, 0, 0).faster, 0);
}

/* ---- sides ---- */

static tc_target *native(void) {
    tc_target *t;
    assert_int_equal(tc_target_parse("native", &t, NULL), TC_OK);
    t->machine.cores = 1;
    return t;
}

static void test_sides(void **state) {
    (void)state;
    tc_target *t = native();
    tc_tune_side a, b, bad;
    tc_error err = {0};
    int n, unpaired;
    assert_int_equal(tc_tune_side_make(t, dense, "", &a, &err), TC_OK);
    assert_int_equal(tc_tune_side_make(t, dense, fast, &b, &err), TC_OK);
    assert_true(a.program != b.program);
    assert_true(b.cycles < a.cycles);
    tc_tune_difference *d = tc_tune_differences(&a, &b, &n, &unpaired);
    assert_true(n > 0 && unpaired == 0);
    for (int i = 1; i < n; i++)
        assert_true(d[i].store > d[i - 1].store || fabs(d[i].a - d[i].b) <= fabs(d[i - 1].a - d[i - 1].b));
    free(d);
    d = tc_tune_differences(&a, &a, &n, &unpaired);
    assert_int_equal(n, 0);
    free(d);
    tc_tune_side_free(&a);
    tc_tune_side_free(&b);
    assert_int_not_equal(tc_tune_side_make(t, dense, "vectorize t0.none\n", &bad, &err), TC_OK);
    assert_non_null(strstr(err.msg, "step 1"));
    tc_target_free(t);
}

static void test_roofline(void **state) {
    (void)state;
    tc_ctx *ctx = tc_ctx_new();
    const tc_workload *w;
    assert_int_equal(tc_te_parse(ctx, "dense", dense, &w, NULL), TC_OK);
    tc_target m = {.machine = {.cores = 1, .l2 = 1 << 18, .l3 = 1 << 20}};
    tc_tune_roof r = tc_tune_roofline(w, &m, TC_MEAS_HOT, NULL), huge = {.peak_gflops = 1e9, .bandwidth_gbs = 1e9};
    assert_true(r.flops == 2.0 * 24 * 48 * 32);
    assert_true(r.bytes == 4.0 * (24 * 32 + 32 * 48 + 24 * 48));
    assert_true(r.roof_gflops > 0 && r.roof_gflops <= r.peak_gflops && r.seconds > 0);
    assert_true(tc_tune_roofline(w, &m, TC_MEAS_COLD, NULL).bytes == 4.0 * (32 * 48)); /* the constants */
    assert_int_equal(tc_te_parse(ctx, "gather", gather, &w, NULL), TC_OK);
    assert_true(tc_tune_roofline(w, &m, TC_MEAS_HOT, NULL).bytes ==
                4.0 * (8 * 16 + 8 * 16) + 8.0 * 8); /* 8 rows of the table, not all of it */
    r = tc_tune_roofline(w, &m, TC_MEAS_HOT, &huge);
    assert_true(r.peak_gflops == 1e9 && r.bandwidth_gbs == 1e9);
    tc_ctx_free(ctx);
}

/* Of a machine that is elsewhere: nothing is measured, and what it did not tell bounds nothing. */
static void test_roof_as_told(void **state) {
    (void)state;
    tc_ctx *ctx = tc_ctx_new();
    const tc_workload *w;
    assert_int_equal(tc_te_parse(ctx, "dense", dense, &w, NULL), TC_OK);
    tc_target m = {.machine = {.cores = 1}};
    const double flops = 2.0 * 24 * 48 * 32, bytes = 4.0 * (24 * 32 + 32 * 48 + 24 * 48); /* 13824 */
    tc_meas_rates told = {.peak = {.f32_gflops = 100}, .n = 3, .at = {{4 << 10, 400, 500}, {16 << 10, 10, 8}, {1 << 20, 1, 2}}};
    tc_tune_roof r = tc_tune_roof_by(w, &m, TC_MEAS_HOT, &told);
    assert_true(r.peak_gflops == 100 && r.bandwidth_gbs == 10 && r.memory_bound && r.seconds == bytes / 10e9);
    r = tc_tune_roof_by(w, &m, TC_MEAS_COLD, &told);
    assert_true(r.bandwidth_gbs == 2 && r.bytes == 4.0 * (32 * 48));
    told.n = 0;
    r = tc_tune_roof_by(w, &m, TC_MEAS_HOT, &told);
    assert_true(r.bandwidth_gbs == 0 && !r.memory_bound && r.roof_gflops == 100 && r.seconds == flops / 100e9);
    told.peak.f32_gflops = 0;
    r = tc_tune_roof_by(w, &m, TC_MEAS_HOT, &told);
    assert_true(isnan(r.roof_gflops) && isnan(r.seconds));
    tc_ctx_free(ctx);
}

static void test_rates_of_this_machine(void **state) {
    (void)state;
    tc_target *t;
    assert_int_equal(tc_target_parse("native", &t, NULL), TC_OK);
    t->machine.cores = 1;
    t->machine.l1 = 32 << 10;
    t->machine.l2 = 1 << 19;
    tc_meas_rates r = tc_meas_measure_rates(t, &(tc_meas_caches){.last = 1 << 20, .memory_gbs = 7});
    assert_true(r.peak.threads == 1 && r.peak.f32_gflops > 0 && r.peak.triad_gbs > 0 && r.peak.isa && r.n == 5);
    for (int i = 0; i < TC_NINTRINSICS; i++)
        assert_int_equal(r.peak.unit_gops[i] > 0, tc_intrinsic_in(t->machine.intrinsics, tc_intrinsic_row((tc_intrinsic_id)i)));
    for (int i = 0; i < r.n; i++)
        assert_int_equal(tc_meas_rates_at(&r, (double)r.at[i].bytes).bytes, r.at[i].bytes);
    for (int i = 0; i < 4; i++)
        assert_true(r.at[i].bytes == (16 << 10) << 2 * i && r.at[i].read_gbs > 0 && r.at[i].triad_gbs > 0);
    assert_true(r.at[4].bytes == 4 << 20 && r.at[4].read_gbs == 7 && r.at[4].triad_gbs == 0);
    assert_int_equal(tc_meas_measure_rates(t, &(tc_meas_caches){.last = 1 << 20}).n, 4);
    tc_target_free(t);
}

/* ---- in turns ---- */

static tc_status turn(void *user, double *seconds, tc_error *err) {
    (void)err;
    *seconds = ++*(int *)user;
    return TC_OK;
}

static void test_turns(void **state) {
    (void)state;
    enum { N = 8 };
    tc_target *t = native();
    tc_meas_options o = {.target = t->text, .threads = 1, .builders = 1, .samples = 3};
    tc_meas *m;
    tc_ctx *ctx = tc_ctx_new();
    const tc_workload *w;
    tc_arena *a = tc_arena_new();
    tc_record r[2];
    double seconds[3 * N];
    int done, turns = 0;
    assert_int_equal(tc_te_parse(ctx, "dense", dense, &w, NULL), TC_OK);
    tc_meas_input in[2] = {{.workload = dense, .trace = "", .again = true}, {.workload = dense, .trace = fast, .again = true}};
    in[0].workload_hash = in[1].workload_hash = tc_te_hash(w);
    tc_meas_guest guest = {turn, &turns};
    assert_int_equal(tc_meas_new(&o, &m, NULL), TC_OK);
    assert_int_equal(tc_meas_interleave(m, in, 2, &guest, N, a, r, seconds, &done, NULL), TC_OK);
    assert_int_equal(done, N);
    assert_int_equal(turns, N);
    for (int i = 0; i < 2; i++) {
        assert_true(tc_record_ok(&r[i]) && r[i].verified);
        assert_int_equal(r[i].ntimes, N);
        assert_true(r[i].median == tc_meas_median(seconds + i * N, N));
    }
    for (int i = 0; i < N; i++)
        assert_true(seconds[2 * N + i] == i + 1);
    assert_int_equal(tc_tune_judge(seconds, seconds + N, done, 0).faster, 1);
    in[1].trace = "vectorize t0.none\n"; /* one that cannot be built ends it, with its reason */
    assert_int_equal(tc_meas_interleave(m, in, 2, NULL, N, a, r, seconds, &done, NULL), TC_OK);
    assert_int_equal(done, 0);
    assert_false(tc_record_ok(&r[1]));
    assert_non_null(strstr(r[1].message, "none"));
    tc_meas_free(m);
    tc_arena_free(a);
    tc_ctx_free(ctx);
    tc_target_free(t);
}

/* ---- other libraries ---- */

static tc_status gemm(const char *text, tc_meas_gemm *g, tc_error *err) {
    tc_ctx *ctx = tc_ctx_new();
    const tc_workload *w;
    assert_int_equal(tc_te_parse(ctx, "kernel", text, &w, NULL), TC_OK);
    tc_status s = tc_meas_gemm_of(w, g, err);
    tc_ctx_free(ctx);
    return s;
}

static void test_gemm(void **state) {
    (void)state;
    static const char *const none[] = {
        "tensor X[8, 8] f32\ncompute Y[i:8, j:8] = X[i, j] + 1.0\noutput Y\n",
        "tensor X[8, 8] f32\ntensor W[8, 8] f32\ncompute Y[i:8, j:8] = sum(k:8) X[k, i] * W[k, j]\noutput Y\n",
        "tensor X[8, 8] f64\ntensor W[8, 8] f64\ncompute Y[i:8, j:8] = sum(k:8) X[i, k] * W[k, j]\noutput Y\n",
        "tensor X[8, 8] f32\ncompute Y[i:8, j:8] = sum(k:8) X[i, k] * X[k, j]\noutput Y\n"};
    tc_meas_gemm g;
    tc_error err = {0};
    assert_int_equal(gemm(dense, &g, &err), TC_OK);
    assert_true(g.m == 24 && g.n == 48 && g.k == 32);
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        assert_int_equal(gemm(none[i], &g, &err), TC_BAD_INPUT);
    assert_non_null(strstr(err.msg, "plain matmul"));
}

static void test_no_peer(void **state) {
    (void)state;
    tc_meas_peer *p;
    tc_error err = {0};
    tc_meas_gemm g = {8, 8, 8};
    setenv("TCTUNE_PEERS", "/nonexistent/peers", 1);
    assert_int_equal(tc_meas_peer_open("onednn", &g, 1, NULL, &p, &err), TC_ENV);
    assert_null(p);
    assert_non_null(strstr(err.msg, "/nonexistent/peers"));
    setenv("TCTUNE_PEERS", "/bin/true", 1);
    assert_int_equal(tc_meas_peer_open("onednn", &g, 1, NULL, &p, &err), TC_ENV);
    assert_non_null(strstr(err.msg, "without an answer"));
}

int main(int argc, char **argv) {
    if (argc == 2 && strcmp(argv[1], "worker") == 0)
        return tc_meas_worker_main(TC_MEAS_WORKER_FD, TC_MEAS_WORKER_FD);
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_faster),       cmocka_unit_test(test_equal),
                                       cmocka_unit_test(test_few_rounds),   cmocka_unit_test(test_sides),
                                       cmocka_unit_test(test_roofline),     cmocka_unit_test(test_turns),
                                       cmocka_unit_test(test_roof_as_told), cmocka_unit_test(test_rates_of_this_machine),
                                       cmocka_unit_test(test_gemm),         cmocka_unit_test(test_no_peer)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
