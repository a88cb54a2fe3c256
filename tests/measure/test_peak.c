/* The measured peak and bandwidth lie between what a plain loop of this file reaches and what no core can do. */
#include "support/cmocka_all.h"

#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "measure/machine/caches.h"
#include "measure/machine/fork.h"
#include "measure/machine/kept.h"
#include "measure/machine/together.h"
#include "measure/machine/unit_peak.h"
#include "support/alloc.h"
#include "support/log.h"
#include "support/system/fs.h"
#include "support/system/threads.h"
#include "support/vec.h"
#include "tir_lower/interp/interp.h"
#include "tir_lower/text/text.h"
#include "tir_lower/verify/verify.h"

/* A core of at most 8 GHz issues two multiply-adds and two loads of a vector in a cycle. */
enum { GHZ = 8, FMA = 2, ISSUED = 2 };

static int vector_bytes(const char *isa) {
    return strcmp(isa, "AVX-512") == 0 ? 64 : strcmp(isa, "AVX2") == 0 ? 32 : 16;
}

/* One chain of scalar multiply-adds, in GFLOP/s. Each waits for the one before, so independent vectors do more by far than one
 * scalar for each lane. */
static double chain_gflops(void) {
    enum { STEPS = 200000, TRIES = 20 };
    double best = 0;
    volatile float seed = 2, sink; /* or the compiler takes the loop past the clock */
    for (int t = 0; t < TRIES; t++) {
        double start = tc_now();
        float x = seed;
        for (int i = 0; i < STEPS; i++)
            x = x * 0.999F + 1e-3F;
        sink = x;
        best = TC_MAX(best, 2.0 * STEPS / (tc_now() - start) / 1e9);
    }
    (void)sink;
    return best;
}

/* Integers one at a time, in GB/s: vectors are read faster. */
static double scalar_gbs(void) {
    enum { N = 4096, PASSES = 50, TRIES = 20 };
    static volatile uint32_t a[N];
    double best = 0;
    for (int t = 0; t < TRIES; t++) {
        double start = tc_now();
        for (int p = 0; p < PASSES; p++)
            for (int i = 0; i < N; i++)
                (void)a[i];
        best = TC_MAX(best, (double)sizeof a * PASSES / (tc_now() - start) / 1e9);
    }
    return best;
}

/* Whether the rate is ever above a floor. On a busy machine others have the core most of the time, so short looks are taken until
 * one falls between them. */
static bool reaches(int threads, double gflops) {
    enum { LOOKS = 5000 };
    for (int i = 0; i < LOOKS; i++)
        if (tc_meas_measure_fma(threads, 0.004) > gflops)
            return true;
    return false;
}

static void peak_is_between_a_chain_and_the_ports(void **state) {
    (void)state;
    tc_meas_peak one = tc_meas_measure_peak(1, 0.2), all = tc_meas_measure_peak(0, 0.2);
    int lanes = vector_bytes(one.isa) / 4;
    double most = (double)GHZ * FMA * ISSUED * lanes, chain = chain_gflops();
    assert_int_equal(one.threads, 1);
    assert_true(all.threads >= 1);
    assert_string_equal(one.isa, all.isa);
    print_message("%s: %.1f GFLOP/s of one core, %.1f of all; a chain %.2f\n", one.isa, one.f32_gflops, all.f32_gflops, chain);
    assert_true(one.f32_gflops > 0 && one.f32_gflops < most);
    assert_true(all.f32_gflops > 0 && all.f32_gflops < most * all.threads);
    assert_true(one.triad_gbs < (double)GHZ * ISSUED * vector_bytes(one.isa));
    assert_true(all.triad_gbs < (double)GHZ * ISSUED * vector_bytes(one.isa) * all.threads);
    assert_true(reaches(1, lanes * chain) && reaches(0, lanes * chain));
}

/* ---- together ---- */

enum { PIECES = 64 };
static const double piece_seconds = 50e-6;

/* Two threads that have no core for most of the time, now this one and now that: after a while each rests. */
static void piece_with_rests(int thread, void *user) {
    int *done = (int *)user + (ptrdiff_t)thread * PIECES; /* far from the other's */
    const int before_rest = thread ? 60 : 40;
    double start = tc_now();
    if (++*done % before_rest == 0)
        usleep(thread ? 9000 : 7000);
    while (tc_now() - start < piece_seconds)
        ;
}

/* The rate is that of moments in which both work, which the mean is far from. */
static void the_best_moment_of_all_threads_counts(void **state) {
    enum { LOOKS = 500 };
    const double most = 2 / piece_seconds;
    double best = 0;
    (void)state;
    for (int i = 0; i < LOOKS && best < 0.9 * most; i++) {
        int done[2 * PIECES] = {0};
        best = TC_MAX(best, tc_meas_rate_together(2, 0.1, piece_with_rests, done));
        assert_true(best <= 1.02 * most);
    }
    assert_true(best >= 0.9 * most);
}

/* However little time there is, some pieces are done. */
static void no_time_gives_a_rate(void **state) {
    int done[PIECES] = {0};
    (void)state;
    assert_true(tc_meas_rate_together(1, 0, piece_with_rests, done) > 0);
    assert_true(done[0] >= 4);
}

/* ---- kept ---- */

/* What tc_meas_known_fma says where a file has `text`. */
static double known_with(const char *path, const char *text) {
    tc_error err;
    if (text)
        assert_int_equal(tc_fs_write(path, text, strlen(text), &err), TC_OK);
    return tc_meas_known_fma("some target", 1, 0.002);
}

/* Two readings that an earlier command took are believed; one alone, or a damaged file, is not. */
static void earlier_peaks_are_remembered(void **state) {
    const char *cache = getenv("TCTUNE_CACHE");
    char *was = cache ? tc_xstrdup(cache) : NULL, *folder;
    const double high = 1e5; /* of one core: more than any has */
    tc_error err;
    (void)state;
    assert_int_equal(tc_fs_temp_dir(&folder, &err), TC_OK);
    setenv("TCTUNE_CACHE", folder, 1);
    char *path = tc_meas_kept_path("peak", "1 some target");
    assert_non_null(path);
    double first = known_with(path, NULL);
    assert_true(first > 0 && first < high && tc_fs_exists(path));
    assert_true(known_with(path, "{\"highest\": 3e5, \"second\": 2e5}") == 2e5);
    assert_true(known_with(path, NULL) == 2e5);
    assert_true(known_with(path, "{\"highest\": 3e5, \"second\": 0}") < high);
    static const char *const damaged[] = {
        "", "{", "[1]", "{\"highest\": \"x\"}", "{\"highest\": 1e300, \"second\": 1e299}", "{\"highest\": 2e5, \"second\": 3e5}"};
    for (size_t i = 0; i < TC_LEN(damaged); i++)
        assert_true(known_with(path, damaged[i]) < high);
    setenv("TCTUNE_CACHE", "off", 1);
    assert_null(tc_meas_kept_path("peak", "1 some target"));
    assert_true(known_with(NULL, NULL) > 0);
    unsetenv("TCTUNE_CACHE");
    if (was)
        setenv("TCTUNE_CACHE", was, 1);
    tc_fs_remove_tree(folder);
    free(folder);
    free(path);
    free(was);
}

/* Who allows milliseconds does not wait for a hundred megabytes of new pages. Runs first: what was once the most hides what is
 * taken later. */
static void little_time_takes_little_memory(void **state) {
    enum { MOST_KIB = 16 << 10 };
    const char *seconds = getenv("TCTUNE_PEAK_SECONDS");
    char *was = seconds ? tc_xstrdup(seconds) : NULL;
    struct rusage before, after;
    (void)state;
    tc_meas_measure_fma(1, 0.001); /* with all that a process makes once */
    setenv("TCTUNE_PEAK_SECONDS", "0.001", 1);
    getrusage(RUSAGE_SELF, &before);
    tc_meas_peak p = tc_meas_measure_peak(1, 0.2);
    getrusage(RUSAGE_SELF, &after);
    unsetenv("TCTUNE_PEAK_SECONDS");
    if (was)
        setenv("TCTUNE_PEAK_SECONDS", was, 1);
    free(was);
    assert_true(p.f32_gflops > 0 && p.triad_gbs > 0);
    assert_in_range(after.ru_maxrss - before.ru_maxrss, 0, MOST_KIB);
}

/* A footprint of any size, also of less than a vector for each thread. */
static void streams_are_as_fast_as_their_level(void **state) {
    enum { SMALL = 16 << 10, LARGE = 512 << 20, THREADS = 2 };
    static const int64_t sizes[] = {0, 100, SMALL, 8 << 20};
    double most = (double)GHZ * ISSUED * vector_bytes(tc_meas_measure_peak(1, 0.01).isa) * THREADS;
    (void)state;
    for (size_t i = 0; i < TC_LEN(sizes); i++) {
        tc_meas_stream s = tc_meas_measure_stream(THREADS, sizes[i], 0.04);
        assert_int_equal(s.bytes, sizes[i]);
        assert_true(s.read_gbs > 0 && s.read_gbs < most);
        assert_true(s.triad_gbs > 0 && s.triad_gbs < most);
    }
#ifdef TCTUNE_SANITIZED
    double ahead = 0; /* the loop is compiled without optimisation there, and no faster than memory */
#else
    double ahead = 1.5;
#endif
    for (int tries = 1;; tries++) {
        tc_meas_stream small = tc_meas_measure_stream(1, SMALL, 0.01), large = tc_meas_measure_stream(1, LARGE, 0.01);
        double scalar = scalar_gbs();
        print_message("%.1f GB/s from the first cache, %.1f from memory; single numbers %.1f\n", small.read_gbs, large.read_gbs,
                      scalar);
        if (small.read_gbs > TC_MAX(scalar, ahead * large.read_gbs))
            break;
        assert_true(tries < 100);
    }
}

/* ---- units ---- */

/* Of every unit there is a program; what this machine has is no slower than one operation after the other, and no faster than its
 * ports. What it lacks stays unknown, and its sums are bound by f32. */
static void units_are_between_one_operation_and_the_ports(void **state) {
    (void)state;
    enum { CYCLE_OPS = 1 << 16 };
    tc_error err;
    tc_target *t;
    assert_int_equal(tc_target_parse("native", &t, &err), TC_OK);
    tc_meas_peak p = {.threads = 1, .f32_gflops = 7};
    tc_meas_peak_raise_units(&p, t, TC_INTRINSICS_ALL, 0.02);
    for (int i = 0; i < TC_NINTRINSICS; i++) {
        const tc_intrinsic *u = tc_intrinsic_row((tc_intrinsic_id)i);
        if (!tc_intrinsic_in(t->machine.intrinsics, u)) {
            assert_true(p.unit_gops[i] == 0 && tc_meas_peak_of(&p, u) == 7);
            continue;
        }
        print_message("%s: %.1f GOP/s of one core\n", u->text, p.unit_gops[i]);
        assert_true(p.unit_gops[i] > 2.0 * u->m * u->n * u->k / 1000 && p.unit_gops[i] < (double)GHZ * CYCLE_OPS);
        assert_true(tc_meas_peak_of(&p, u) == p.unit_gops[i]);
    }
    assert_true(tc_meas_peak_of(&p, NULL) == 7);
    tc_target_free(t);
}

/* The program adds up what the table says, and holds as many independent sums. */
static void a_unit_program_is_its_instruction(void **state) {
    (void)state;
    enum { STEPS = 3, OPERANDS = 4, MOST = 1 << 14 }; /* of either side at most */
    for (int i = 0; i < TC_NINTRINSICS; i++) {
        const tc_intrinsic *u = tc_intrinsic_row((tc_intrinsic_id)i);
        int sums = tc_meas_unit_sums(u), each = u->m * u->n;
        static uint8_t a[MOST], b[MOST], c[MOST], y[MOST];
        tc_ctx *ctx = tc_ctx_new();
        tc_strbuf text = {0};
        tc_func *f;
        tc_error err;
        memset(c, 0, sizeof c);
        for (int e = 0; e < OPERANDS * u->m * u->k; e++)
            (tc_dtype_is_float(u->a) ? tc_store_f(u->a, a, e, 1) : tc_store_i(u->a, a, e, 1));
        for (int e = 0; e < OPERANDS * u->n * u->k; e++)
            (tc_dtype_is_float(u->b) ? tc_store_f(u->b, b, e, 2) : tc_store_i(u->b, b, e, 2));
        tc_meas_unit_program(u, STEPS, &text);
        assert_int_equal(tc_tir_parse(ctx, u->text, tc_sb_str(&text), &f, &err), TC_OK);
        assert_int_equal(tc_tir_verify(ctx, f, &err), TC_OK);
        assert_int_equal(tc_tir_interp(f, (void *[]){a, b, c, y}, &err), TC_OK);
        for (int e = 0; e < sums * each; e++)
            assert_true((tc_dtype_is_float(u->acc) ? tc_load_f(u->acc, y, e) : (double)tc_load_i(u->acc, y, e)) ==
                        2.0 * STEPS * u->k);
        tc_strbuf_free(&text);
        tc_ctx_free(ctx);
    }
}

/* ---- caches ---- */

enum { KIB = 1 << 10, STEPS = 12 };

/* A walk from 1 MiB by doubling: what is below `last` takes `near` ns a line, all else `far`. */
static void synthetic(tc_meas_footprint walk[STEPS], int64_t last, double near, double far) {
    for (int i = 0; i < STEPS; i++) {
        int64_t bytes = (int64_t)KIB * KIB << i;
        walk[i] = (tc_meas_footprint){bytes, bytes <= last ? near : far};
    }
}

static void a_walk_tells_the_last_cache(void **state) {
    (void)state;
    tc_meas_footprint walk[STEPS];
    int64_t mib = KIB * KIB;
    synthetic(walk, 32 * mib, 12, 55);
    assert_int_equal(tc_meas_last_cache(walk, STEPS), 32 * mib);
    walk[2].ns = 300; /* somebody else ran */
    walk[STEPS - 2].ns = 400;
    assert_int_equal(tc_meas_last_cache(walk, STEPS), 32 * mib);
    walk[6].ns = 30; /* more than half of 64 MiB was found */
    assert_int_equal(tc_meas_last_cache(walk, STEPS), 64 * mib);
    synthetic(walk, 4 * mib, 12, 18); /* hardly faster than memory */
    assert_int_equal(tc_meas_last_cache(walk, STEPS), 0);
    synthetic(walk, INT64_MAX, 12, 55); /* never left */
    assert_int_equal(tc_meas_last_cache(walk, STEPS), 0);
    assert_int_equal(tc_meas_last_cache(walk, 0), 0);
}

static void this_machine_is_walked_thrice(void **state) {
    (void)state;
    tc_error err;
    char *dir;
    tc_machine m = {.cores = 2, .l1 = 32 * KIB, .l2 = KIB * KIB, .l3 = 16 * KIB * KIB};
    assert_int_equal(tc_fs_temp_dir(&dir, &err), TC_OK);
    setenv("TCTUNE_CACHE", dir, 1);
    tc_meas_caches kept;
    assert_false(tc_meas_kept_caches(&m, &kept)); /* and that does not walk */
    tc_meas_caches one = tc_meas_known_caches(&m), two = tc_meas_known_caches(&m), first = tc_meas_known_caches(&m),
                   again = tc_meas_known_caches(&m);
    assert_true(one.walks == 1 && two.walks == 2 && first.walks == 3 && again.walks == 3);
    assert_true(first.memory_gbs >= two.memory_gbs && two.memory_gbs >= one.memory_gbs);
    for (int i = 0; i < first.n; i++)
        assert_true(first.walk[i].ns <= two.walk[i].ns && two.walk[i].ns <= one.walk[i].ns);
    assert_int_equal(first.reported, m.l3);
    assert_true(first.last >= m.l2 / 2 && first.last <= m.l3);
    assert_true(first.memory_gbs > 0 && first.n > 4);
    for (int i = 0; i < first.n; i++)
        assert_true(first.walk[i].ns > 0 && (i == 0 || first.walk[i].bytes > first.walk[i - 1].bytes));
    assert_true(again.last == first.last && again.n == first.n);
    assert_true(tc_meas_kept_caches(&m, &kept) && kept.walks == 3 && kept.last == first.last && kept.n == first.n);
    for (int i = 0; i < first.n; i++) /* another walk has other times */
        assert_true(first.walk[i].ns == again.walk[i].ns && first.walk[i].bytes == again.walk[i].bytes);
    unsetenv("TCTUNE_CACHE");
    tc_fs_remove_tree(dir);
    free(dir);
}

/* A fork takes longer than nothing and less than the calls that it was measured over, whoever else is on the machine. */
/* More threads than there are cores take turns. What they measured would be no rate of this machine: fewer measure, and what they
 * find is what as many threads as cores find. */
static void crowds_measure_with_as_many_threads_as_cores(void **state) {
    (void)state;
    int cores = tc_threads_cores(), crowd = 8 * cores;
    assert_int_equal(tc_meas_measure_peak(crowd, 1e-3).threads, cores);
    assert_int_equal(tc_meas_measure_peak(0, 1e-3).threads, cores);
    assert_int_equal(tc_meas_measure_peak(1, 1e-3).threads, 1);
    char *folder, *before = getenv("TCTUNE_CACHE") ? tc_xstrdup(getenv("TCTUNE_CACHE")) : NULL;
    assert_int_equal(tc_fs_temp_dir(&folder, NULL), TC_OK);
    setenv("TCTUNE_CACHE", folder, 1);
    tc_machine m = {.cores = crowd, .l1 = 32 << 10, .l2 = 256 << 10, .l3 = 1 << 20};
    tc_meas_caches all, kept;
    all = tc_meas_known_caches(&m);
    m.cores = cores;
    assert_true(tc_meas_kept_caches(&m, &kept));
    assert_true(kept.n == all.n && kept.memory_gbs == all.memory_gbs);
    for (int i = 0; i < kept.n; i++)
        assert_int_equal(kept.walk[i].bytes, all.walk[i].bytes);
    if (before)
        setenv("TCTUNE_CACHE", before, 1);
    else
        unsetenv("TCTUNE_CACHE");
    free(before);
    tc_fs_remove_tree(folder);
    free(folder);
}

static void a_fork_takes_its_time(void **state) {
    (void)state;
    for (int threads = 1; threads <= 2; threads++) {
        double start = tc_now(), one = tc_meas_measure_fork(threads, 1e-3), all = tc_now() - start;
        assert_true(one > 0 && one < all / 64); /* the median of at least 128 timings is at most twice their mean */
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(little_time_takes_little_memory),
                                       cmocka_unit_test(peak_is_between_a_chain_and_the_ports),
                                       cmocka_unit_test(the_best_moment_of_all_threads_counts),
                                       cmocka_unit_test(no_time_gives_a_rate),
                                       cmocka_unit_test(earlier_peaks_are_remembered),
                                       cmocka_unit_test(streams_are_as_fast_as_their_level),
                                       cmocka_unit_test(units_are_between_one_operation_and_the_ports),
                                       cmocka_unit_test(a_unit_program_is_its_instruction),
                                       cmocka_unit_test(crowds_measure_with_as_many_threads_as_cores),
                                       cmocka_unit_test(a_fork_takes_its_time),
                                       cmocka_unit_test(a_walk_tells_the_last_cache),
                                       cmocka_unit_test(this_machine_is_walked_thrice)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
