/* The measured peak and bandwidth lie between what a plain loop of this file reaches and what no core can do. */
#include "support/cmocka_all.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "measure/machine/caches.h"
#include "measure/machine/drift.h"
#include "measure/machine/fork.h"
#include "measure/machine/kept.h"
#include "measure/machine/known.h"
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

/* A cache folder of the test's own. */
typedef struct own_cache {
    char *folder, *was;
} own_cache;

static own_cache cache_begin(void) {
    const char *was = getenv("TCTUNE_CACHE");
    own_cache c = {.was = was ? tc_xstrdup(was) : NULL};
    tc_error err;
    assert_int_equal(tc_fs_temp_dir(&c.folder, &err), TC_OK);
    setenv("TCTUNE_CACHE", c.folder, 1);
    return c;
}

static void cache_end(own_cache *c) {
    unsetenv("TCTUNE_CACHE");
    if (c->was)
        setenv("TCTUNE_CACHE", c->was, 1);
    tc_fs_remove_tree(c->folder);
    free(c->folder);
    free(c->was);
}

enum { DAY = 86400 };

/* Writes what is kept of a rate of one thread, reached so many days ago. */
static void keep(const char *kind, const char *what, double highest, double second, int days) {
    char key[64], text[160];
    tc_error err;
    snprintf(key, sizeof key, "1 %s", what);
    snprintf(text, sizeof text, "{\"highest\": %.1f, \"second\": %.1f, \"reached\": %.1f}", highest, second,
             (double)time(NULL) - (double)days * DAY);
    char *path = tc_meas_kept_path(kind, key);
    assert_int_equal(tc_fs_write(path, text, strlen(text), &err), TC_OK);
    free(path);
}

/* The second highest reading is what is known, whatever the order of readings. */
static void the_second_highest_reading_is_known(void **state) {
    static const struct {
        double now, known;
    } steps[] = {{50, 0}, {40, 40}, {1000, 50}, {45, 50}, {0, 50}, {60, 60}, {990, 990}, {5, 990}};
    (void)state;
    own_cache c = cache_begin();
    assert_true(tc_meas_known(TC_MEAS_KNOWN_FMA, "x", 1) == 0);
    for (size_t i = 0; i < TC_LEN(steps); i++) {
        assert_true(tc_meas_note(TC_MEAS_KNOWN_FMA, "x", 1, steps[i].now) == steps[i].known);
        assert_true(tc_meas_known(TC_MEAS_KNOWN_FMA, "x", 1) == steps[i].known);
    }
    assert_true(tc_meas_known(TC_MEAS_KNOWN_FMA, "x", 2) == 0);  /* other threads, */
    assert_true(tc_meas_known(TC_MEAS_KNOWN_FMA, "y", 1) == 0);  /* another of its kind, */
    assert_true(tc_meas_known(TC_MEAS_KNOWN_LOOK, "x", 1) == 0); /* and another rate */
    cache_end(&c);
}

/* What is not reached for 30 days is forgotten; what is reached, or nearly, is known for as long again. */
static void what_is_not_reached_is_forgotten(void **state) {
    (void)state;
    own_cache c = cache_begin();
    keep("peak", "x", 300, 200, 31);
    assert_true(tc_meas_known(TC_MEAS_KNOWN_FMA, "x", 1) == 0);
    assert_true(tc_meas_note(TC_MEAS_KNOWN_FMA, "x", 1, 100) == 0);
    assert_true(tc_meas_note(TC_MEAS_KNOWN_FMA, "x", 1, 90) == 90);
    keep("peak", "x", 300, 200, 29);
    assert_true(tc_meas_note(TC_MEAS_KNOWN_FMA, "x", 1, 100) == 200);
    assert_true(tc_meas_note(TC_MEAS_KNOWN_FMA, "x", 1, 198) == 200);
    char *path = tc_meas_kept_path("peak", "1 x"), *text;
    tc_error err;
    assert_int_equal(tc_fs_read_text(path, &text, &err), TC_OK);
    assert_true(strtod(strstr(text, "reached\":") + strlen("reached\":"), NULL) > (double)time(NULL) - DAY);
    keep("peak", "x", 300, 200, -2); /* of a clock that was wrong */
    assert_true(tc_meas_known(TC_MEAS_KNOWN_FMA, "x", 1) == 0);
    free(text);
    free(path);
    cache_end(&c);
}

static void damaged_files_are_as_none(void **state) {
    static const char *const damaged[] = {"",
                                          "{",
                                          "[1]",
                                          "{\"highest\": \"x\"}",
                                          "{\"highest\": 1e300, \"second\": 1e299, \"reached\": 4e9}",
                                          "{\"highest\": 2, \"second\": 3, \"reached\": 4e9}"};
    (void)state;
    own_cache c = cache_begin();
    char *path = tc_meas_kept_path("look", "1 ");
    tc_error err;
    for (size_t i = 0; i < TC_LEN(damaged); i++) {
        assert_int_equal(tc_fs_write(path, damaged[i], strlen(damaged[i]), &err), TC_OK);
        assert_true(tc_meas_known(TC_MEAS_KNOWN_LOOK, "", 1) == 0);
        assert_true(tc_meas_note(TC_MEAS_KNOWN_LOOK, "", 1, 7) == 0);
    }
    assert_true(tc_meas_note(TC_MEAS_KNOWN_LOOK, "", 1, 8) == 7);
    setenv("TCTUNE_CACHE", "off", 1);
    assert_null(tc_meas_kept_path("look", "1 "));
    assert_true(tc_meas_note(TC_MEAS_KNOWN_LOOK, "", 1, 8) == 0);
    free(path);
    cache_end(&c);
}

/* Where the machine is known to do much more, shares are taken of that, and a bandwidth is no less than that of memory. No kernel
 * surpasses what is known, either. */
static void readings_far_below_are_not_believed(void **state) {
    const double high = 1e5; /* more than any core has */
    (void)state;
    own_cache c = cache_begin();
    tc_meas_peak first = tc_meas_measure_peak(1, 0.01);
    assert_true(first.f32_gflops == first.read_gflops && first.triad_gbs == first.read_gbs && !tc_meas_peak_is_busy(&first));
    keep("peak", first.isa, 2 * high, high, 0);
    keep("memory", "", 2 * high, high, 0);
    tc_meas_peak p = tc_meas_measure_peak(1, 0.01);
    assert_true(p.f32_gflops == high && p.triad_gbs == high && tc_meas_peak_is_busy(&p));
    assert_true(p.read_gflops < high && p.read_gbs < high);
    assert_true(tc_meas_known_fma(1, 0.001) == high && tc_meas_measure_fma(1, 0.001) < high);
    assert_true(tc_meas_measure_stream(1, 1 << 20, 0.01).read_gbs == high);
    p = (tc_meas_peak){.read_gflops = 81, .known_gflops = 100};
    assert_false(tc_meas_peak_is_busy(&p));
    assert_true(tc_meas_believed(81, 100) == 81 && tc_meas_believed(79, 100) == 100 && tc_meas_believed(5, 0) == 5);
    cache_end(&c);
}

/* No thread does the reference faster than the peak allows; where no peak is known nothing is possible. */
static void references_are_bounded_by_the_peak(void **state) {
    (void)state;
    own_cache c = cache_begin();
    tc_meas_peak p = tc_meas_measure_peak(1, 0.01);
    assert_false(tc_meas_reference_is_possible(1, 1));
    keep("peak", p.isa, 200, 100, 0);
    assert_true(tc_meas_reference_is_possible(1, 1));
    assert_false(tc_meas_reference_is_possible(1e-6, 1));
    cache_end(&c);
}

/* A look on a machine that did the same work in a tenth of the time knows that it is busy, from the first moment. */
static void a_look_knows_the_quiet_machine(void **state) {
    (void)state;
    own_cache c = cache_begin();
    tc_meas_drift first = {0}, again = {0};
    tc_meas_drift_look(&first, 1);
    assert_true(first.quiet == 0);
    double rate = 10 / tc_meas_drift_best(&first);
    keep("look", "", rate, rate, 0);
    tc_meas_drift_look(&again, 1);
    assert_true(again.quiet > 0 && tc_meas_drift_best(&again) == again.quiet);
    tc_meas_calm calm = tc_meas_drift_state(&again);
    assert_true(calm.disturbed && calm.slowdown > 5);
    cache_end(&c);
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
                                       cmocka_unit_test(the_second_highest_reading_is_known),
                                       cmocka_unit_test(what_is_not_reached_is_forgotten),
                                       cmocka_unit_test(damaged_files_are_as_none),
                                       cmocka_unit_test(readings_far_below_are_not_believed),
                                       cmocka_unit_test(references_are_bounded_by_the_peak),
                                       cmocka_unit_test(a_look_knows_the_quiet_machine),
                                       cmocka_unit_test(streams_are_as_fast_as_their_level),
                                       cmocka_unit_test(units_are_between_one_operation_and_the_ports),
                                       cmocka_unit_test(a_unit_program_is_its_instruction),
                                       cmocka_unit_test(crowds_measure_with_as_many_threads_as_cores),
                                       cmocka_unit_test(a_fork_takes_its_time),
                                       cmocka_unit_test(a_walk_tells_the_last_cache),
                                       cmocka_unit_test(this_machine_is_walked_thrice)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
