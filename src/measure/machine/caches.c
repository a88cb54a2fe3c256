/* What caches.h describes. */
#include "measure/machine/caches.h"

#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "measure/machine/kept.h"
#include "measure/records/record.h"
#include "support/clock/clock.h"
#include "support/json/json.h"
#include "support/log.h"
#include "support/system/memory.h"
#include "support/system/threads.h"
#include "support/vec.h"

enum {
    LINE = 64,
    PAGE = 4096,
    LINES = PAGE / LINE,
    JUMP = 39, /* lines: about the golden section of a page */
    PASSES = 4,
    SLICE = 256, /* pages: under a millisecond */
    WALKS = 3,   /* that are put together */
    HUGE_PAGE = 2 << 20
};
/* A line from the last cache takes a fifth to a third of one from memory, on the machines that were looked at; where half come from
 * either, the mean is about this much of memory's. */
static const double mostly_cached = 0.6;
static const double step = 1.41421356, step_seconds = 0.04;
static const int64_t least_walk = 64 << 20;

int64_t tc_meas_last_cache(const tc_meas_footprint *walk, int n) {
    double memory = 0;
    int64_t last = 0;
    for (int i = TC_MAX(0, n - 3); i < n; i++) /* noise only ever adds */
        memory = memory > 0 ? TC_MIN(memory, walk[i].ns) : walk[i].ns;
    for (int i = 0; i < n; i++)
        if (walk[i].ns <= mostly_cached * memory)
            last = TC_MAX(last, walk[i].bytes);
    return last;
}

/* ---- the walk ---- */

static int64_t common_divisor(int64_t a, int64_t b) {
    return b ? common_divisor(b, a % b) : a;
}

/* Steps of about the golden section of n come to each of n places once, and never to a neighbour of the last ones. */
static int64_t stride_of(int64_t n) {
    int64_t s = (int64_t)(0.6180339887 * (double)n) | 1;
    while (common_divisor(s, n) != 1)
        s++;
    return s;
}

/* Pages `from` to `to` of an order of n pages, in steps; the lines of each by steps of `inner`. Page by page, since the reach of
 * the tables of pages is not what is asked for. */
static double slice_seconds(const volatile char *base, int64_t n, int64_t stride, int inner, int64_t from, int64_t to) {
    double start = tc_now();
    int64_t page = (int64_t)((__int128)from * stride % n), sum = 0;
    for (int64_t i = from; i < to; i++) {
        const volatile char *p = base + page * PAGE;
        for (int k = 0; k < LINES; k++)
            sum += p[(k * inner % LINES) * LINE];
        page += stride;
        page = page >= n ? page - n : page;
    }
    volatile int64_t sink = sum;
    (void)sink;
    return tc_now() - start;
}

/* Passes of one core over its n pages. Each slice counts as in its fastest pass: it is over before the system gives the core to
 * somebody else. */
static double pass_seconds(const char *base, int64_t n) {
    int64_t stride = stride_of(n), slices = (n + SLICE - 1) / SLICE;
    double *best = tc_xcalloc((size_t)slices, sizeof *best), end = tc_now() + step_seconds, sum = 0;
    for (int pass = 0; pass <= PASSES || tc_now() < end; pass++)
        for (int64_t i = 0; i < slices; i++) {
            double t = slice_seconds(base, n, stride, JUMP, i * SLICE, TC_MIN((i + 1) * SLICE, n));
            best[i] = pass <= 1 ? t : TC_MIN(best[i], t); /* the first pass brings the lines in */
        }
    for (int64_t i = 0; i < slices; i++)
        sum += best[i];
    free(best);
    return sum;
}

static double line_ns(const char *base, int64_t bytes, int threads) {
    int64_t n = TC_MAX(bytes / PAGE / threads, 1);
    double sum = 0;
#pragma omp parallel num_threads(threads) reduction(+ : sum)
    sum += pass_seconds(base + omp_get_thread_num() * n * PAGE, n);
    return 1e9 * sum / threads / (double)(n * LINES);
}

/* What one core reads of its n pages in order, in bytes a second: by the median of slices, since some are disturbed, and some of
 * what should come from memory is still in a cache. */
static double core_rate(const char *base, int64_t n) {
    int64_t slices = n / SLICE;
    double *t = tc_xcalloc((size_t)TC_MAX(slices, 1) * PASSES, sizeof *t), rate = 0;
    for (int pass = 0; pass < PASSES; pass++)
        for (int64_t i = 0; i < slices; i++)
            t[pass * slices + i] = slice_seconds(base, n, 1, 1, i * SLICE, (i + 1) * SLICE);
    if (slices > 0)
        rate = SLICE * PAGE / tc_meas_median(t, (size_t)slices * PASSES);
    free(t);
    return rate;
}

static double memory_rate(const char *base, int64_t bytes, int threads) {
    int64_t n = bytes / PAGE / threads;
    double sum = 0;
#pragma omp parallel num_threads(threads) reduction(+ : sum)
    sum += core_rate(base + omp_get_thread_num() * n * PAGE, n);
    return sum / 1e9;
}

/* Threads of the walks: more than there are cores would take turns, and each would count as if it were alone. */
static int walkers(const tc_machine *m) {
    return tc_threads_team(m->cores);
}

/* Twice what is reported is surely beyond it; more than a quarter of the machine's memory is not ours to take. */
static int64_t whole_walk(int64_t reported) {
    long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    int64_t quarter = pages > 0 && page > 0 ? (int64_t)pages / 4 * page : least_walk;
    return TC_MIN(TC_MAX(least_walk, 2 * reported), quarter) / HUGE_PAGE * HUGE_PAGE;
}

/* Shorter where memory is scarce now. */
static int64_t walk_end(int64_t reported) {
    return TC_MAX(tc_memory_share(whole_walk(reported)) / HUGE_PAGE, 1) * HUGE_PAGE;
}

static void judge(tc_meas_caches *c) {
    int64_t found = tc_meas_last_cache(c->walk, c->n);
    c->last = c->reported;
    if (found > 0 && c->walk[c->n - 1].bytes > c->reported)
        c->last = TC_MIN(found, c->reported);
}

tc_meas_caches tc_meas_walk_caches(const tc_machine *m) {
    int threads = walkers(m);
    tc_meas_caches c = {.reported = TC_MAX(TC_MAX(m->l1, m->l2), m->l3)};
    int64_t end = walk_end(c.reported), first = TC_MAX(m->l2, HUGE_PAGE / 2) * threads / 2;
    char *base = aligned_alloc(HUGE_PAGE, (size_t)end);
    c.last = c.reported;
    if (!base || tc_clock_step() > TC_CLOCK_CALLS) { /* passes over slices, each timed for itself */
        free(base);
        return c;
    }
    madvise(base, (size_t)end, MADV_HUGEPAGE); /* a wish: page walks would tell of the page tables' caches */
    memset(base, 1, (size_t)end);
    for (double f = (double)first; f <= 1.001 * (double)end && c.n < TC_MEAS_FOOTPRINTS; f *= step, c.n++)
        c.walk[c.n] = (tc_meas_footprint){(int64_t)f, line_ns(base, TC_MIN((int64_t)f, end), threads)};
    c.memory_gbs = memory_rate(base, end, threads);
    free(base);
    c.walks = 1;
    c.is_whole = end == whole_walk(c.reported);
    judge(&c);
    return c;
}

/* What two walks show together: whoever disturbs one only adds to its times. */
static void put_together(tc_meas_caches *c, const tc_meas_caches *other) {
    bool same = c->n == other->n;
    for (int i = 0; i < c->n && same; i++)
        same = c->walk[i].bytes == other->walk[i].bytes;
    for (int i = 0; i < c->n && same; i++)
        c->walk[i].ns = TC_MIN(c->walk[i].ns, other->walk[i].ns);
    c->memory_gbs = TC_MAX(c->memory_gbs, other->memory_gbs);
    c->walks += other->walks;
    judge(c);
}

/* ---- what is kept ---- */

static json_t *to_json(const tc_meas_caches *c) {
    json_t *walk = tc_json_array();
    for (int i = 0; i < c->n; i++)
        tc_json_append(walk, tc_json_pack("[I, f]", (json_int_t)c->walk[i].bytes, c->walk[i].ns));
    return tc_json_pack("{s:i, s:I, s:I, s:f, s:o}", "walks", c->walks, "reported", (json_int_t)c->reported, "last",
                        (json_int_t)c->last, "memory_gbs", c->memory_gbs, "walk", walk);
}

/* A file that was damaged is as none. */
static bool of_json(const json_t *j, int64_t reported, tc_meas_caches *c) {
    const json_t *walk = json_object_get(j, "walk");
    *c = (tc_meas_caches){.walks = (int)json_integer_value(json_object_get(j, "walks")),
                          .reported = json_integer_value(json_object_get(j, "reported")),
                          .last = json_integer_value(json_object_get(j, "last")),
                          .memory_gbs = json_number_value(json_object_get(j, "memory_gbs"))};
    for (size_t i = 0; i < json_array_size(walk) && c->n < TC_MEAS_FOOTPRINTS; i++) {
        const json_t *x = json_array_get(walk, i);
        c->walk[c->n++] = (tc_meas_footprint){json_integer_value(json_array_get(x, 0)), json_number_value(json_array_get(x, 1))};
    }
    return c->walks > 0 && c->reported == reported && c->last > 0 && c->last <= reported && c->memory_gbs > 0;
}

/* Of this machine with as many cores as are used. */
static char *kept_path(const tc_machine *m) {
    char key[96];
    snprintf(key, sizeof key, "%d %lld %lld %lld", walkers(m), (long long)m->l1, (long long)m->l2, (long long)m->l3);
    return tc_meas_kept_path("caches", key);
}

static bool load(const tc_machine *m, const char *path, tc_meas_caches *out) {
    json_t *j = tc_meas_kept_load(path);
    bool some = of_json(j, TC_MAX(TC_MAX(m->l1, m->l2), m->l3), out);
    json_decref(j);
    return some;
}

bool tc_meas_kept_caches(const tc_machine *m, tc_meas_caches *out) {
    char *path = kept_path(m);
    bool some = load(m, path, out);
    free(path);
    return some;
}

tc_meas_caches tc_meas_known_caches(const tc_machine *m) {
    char *path = kept_path(m);
    tc_meas_caches known, c;
    bool some = load(m, path, &known);
    if (some && known.walks >= WALKS) {
        c = known;
    } else {
        c = tc_meas_walk_caches(m);
        if (some)
            put_together(&c, &known);
        if (c.is_whole)
            tc_meas_kept_store(path, to_json(&c));
    }
    free(path);
    return c;
}
