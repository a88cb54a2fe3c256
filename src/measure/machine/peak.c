/* Peak rates. Each thread keeps twelve independent accumulators busy: two multiply-adds a cycle of latency four or five need ten.
 */
#include "measure/machine/peak.h"

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "measure/machine/known.h"
#include "measure/machine/together.h"
#include "support/clock/clock.h"
#include "support/log.h"
#include "support/numbers.h"
#include "support/system/memory.h"
#include "support/system/threads.h"
#include "support/vec.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

enum {
    ACCUMULATORS = 12,
    ROUND = 20000,                /* steps of a piece: some 50 us */
    LEAST_TRIAD_BYTES = 32 << 20, /* per array, where there is time */
    MOST_TRIAD_BYTES = 128 << 20,
    SHORT_BYTES = 3 << 20 /* of all arrays, however little time there is */
};

/* Twelve accumulators as named variables: they stay in registers at every optimisation level that we build with. */
#define TWELVE(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11)

typedef float fma_kernel(int64_t steps, float seed);

/* acc = acc * 0.999.. + tiny stays finite and normal however long it runs. */
#define DEFINE_KERNEL(name, attributes, vector, set1, fma, sum)                                                                  \
    attributes static float name(int64_t steps, float seed) {                                                                    \
        vector m = set1(0.9999F), c = set1(seed);                                                                                \
        TWELVE(DECLARE_##name) for (int64_t i = 0; i < steps; i++){TWELVE(STEP_##name)} vector total = c;                        \
        TWELVE(SUM_##name) return sum(total);                                                                                    \
    }

#if defined(__x86_64__)
#define DECLARE_fma_avx512(i) __m512 a##i = _mm512_set1_ps(seed + (float)i);
#define STEP_fma_avx512(i) a##i = _mm512_fmadd_ps(a##i, m, c);
#define SUM_fma_avx512(i) total = _mm512_add_ps(total, a##i);
DEFINE_KERNEL(fma_avx512, __attribute__((target("avx512f"))), __m512, _mm512_set1_ps, _mm512_fmadd_ps, _mm512_reduce_add_ps)

#define FIRST_LANE(v) _mm256_cvtss_f32(v)
#define DECLARE_fma_avx2(i) __m256 a##i = _mm256_set1_ps(seed + (float)i);
#define STEP_fma_avx2(i) a##i = _mm256_fmadd_ps(a##i, m, c);
#define SUM_fma_avx2(i) total = _mm256_add_ps(total, a##i);
DEFINE_KERNEL(fma_avx2, __attribute__((target("avx2,fma"))), __m256, _mm256_set1_ps, _mm256_fmadd_ps, FIRST_LANE)
#endif

/* Four lanes of the baseline instruction set; a multiply and an add where that has nothing fused. */
typedef float v4 __attribute__((vector_size(16)));
static v4 spread(float x) {
    return (v4){x, x, x, x};
}
#define FIRST_OF(v) (v)[0]
#define DECLARE_fma_generic(i) v4 a##i = spread(seed + (float)i);
#define STEP_fma_generic(i) a##i = a##i * m + c;
#define SUM_fma_generic(i) total += a##i;
DEFINE_KERNEL(fma_generic, , v4, spread, , FIRST_OF)

/* Streams: vectors as wide as the machine's, several in flight. n is a multiple of STREAM_STEP. */
enum { STREAM_STEP = 64 };

typedef float read_kernel(const float *a, int64_t n);
typedef void triad_kernel(float *a, const float *b, const float *c, int64_t n);

#define DEFINE_STREAMS(isa, attributes, width)                                                                                   \
    typedef float vector_##isa __attribute__((vector_size(width), may_alias));                                                   \
    attributes static float read_##isa(const float *a, int64_t n) {                                                              \
        enum { STEP = (width) / 4 };                                                                                             \
        vector_##isa s0 = {0}, s1 = {0}, s2 = {0}, s3 = {0};                                                                     \
        for (int64_t i = 0; i < n; i += 4 * STEP) {                                                                              \
            const vector_##isa *p = (const vector_##isa *)(const void *)(a + i);                                                 \
            s0 += p[0], s1 += p[1], s2 += p[2], s3 += p[3];                                                                      \
        }                                                                                                                        \
        s0 += s1 + s2 + s3;                                                                                                      \
        return s0[0];                                                                                                            \
    }                                                                                                                            \
    attributes static void triad_##isa(float *a, const float *b, const float *c, int64_t n) {                                    \
        enum { STEP = (width) / 4 };                                                                                             \
        for (int64_t i = 0; i < n; i += 4 * STEP) {                                                                              \
            vector_##isa *d = (vector_##isa *)(void *)(a + i);                                                                   \
            const vector_##isa *x = (const vector_##isa *)(const void *)(b + i),                                                 \
                               *y = (const vector_##isa *)(const void *)(c + i);                                                 \
            for (int k = 0; k < 4; k++)                                                                                          \
                d[k] = x[k] + 3.0F * y[k];                                                                                       \
        }                                                                                                                        \
    }

#if defined(__x86_64__)
DEFINE_STREAMS(avx512, __attribute__((target("avx512f"))), 64)
DEFINE_STREAMS(avx2, __attribute__((target("avx2"))), 32)
#endif
DEFINE_STREAMS(generic, , 16)

double tc_meas_peak_seconds(double seconds) {
    const char *text = getenv("TCTUNE_PEAK_SECONDS");
    double most = text ? tc_strtod(text, NULL) : 0;
    return most > 0 ? TC_MIN(seconds, most) : seconds;
}

typedef struct isa {
    const char *name;
    fma_kernel *kernel;
    int lanes;
    read_kernel *read;
    triad_kernel *triad;
} isa;

static isa best_isa(void) {
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f"))
        return (isa){"AVX-512", fma_avx512, 16, read_avx512, triad_avx512};
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        return (isa){"AVX2", fma_avx2, 8, read_avx2, triad_avx2};
#endif
    return (isa){"generic", fma_generic, 4, read_generic, triad_generic};
}

static void fma_piece(int thread, void *k) {
    volatile float sink = ((const isa *)k)->kernel(ROUND, 1e-3F); /* what is computed is needed */
    (void)thread, (void)sink;
}

static double piece_flops(const isa *k) {
    return 2.0 * ROUND * ACCUMULATORS * k->lanes;
}

static double fma_rate(isa *k, int threads, double seconds) {
    return tc_meas_rate_together(threads, tc_meas_peak_seconds(seconds), fma_piece, k) * piece_flops(k);
}

/* Of so many as much as PASSES over it have time for at 10 GB/s. New pages cost more than the passes: where the time is cut to
 * milliseconds, arrays that stay large would take a hundred times as long. */
static int64_t timely_bytes(int64_t bytes, double seconds) {
    enum { PASSES = 4 };
    return TC_MIN(bytes, TC_MAX((int64_t)(seconds * 10e9 / PASSES), (int64_t)SHORT_BYTES));
}

/* Of all three arrays: past the last cache. */
static int64_t whole_triad(void) {
    long l3 = 0;
#ifdef _SC_LEVEL3_CACHE_SIZE
    l3 = sysconf(_SC_LEVEL3_CACHE_SIZE);
#endif
    return 3 * (int64_t)TC_MIN(TC_MAX(2 * l3, (long)LEAST_TRIAD_BYTES), (long)MOST_TRIAD_BYTES);
}

/* *whole: there are time and memory for all of it, so the rate is that of memory. */
static double triad_rate(int threads, double seconds, bool *whole) {
    seconds = tc_meas_peak_seconds(seconds);
    int64_t all = tc_memory_share(timely_bytes(whole_triad(), seconds));
    int64_t n = TC_MAX(all, (int64_t)SHORT_BYTES) / 3 / (int64_t)sizeof(float);
    *whole = all >= whole_triad();
    float *a = malloc(3 * (size_t)n * sizeof *a);
    if (!a) { /* the call ends now and needs no rate, so the reserve (support/alloc.h) stays whole */
        tc_alloc_refuse();
        return 0;
    }
    float *b = a + n, *c = b + n;
    double best = 0, end = tc_now() + seconds, span = tc_clock_span(0);
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t i = 0; i < n; i++)
        a[i] = 0, b[i] = 1, c[i] = (float)(i & 7);
    for (int slices = 0; slices < TC_MEAS_PEAK_LEAST_SLICES || tc_now() < end; slices++) {
        double start = tc_now(), bytes = 0;
        do {
#pragma omp parallel for simd num_threads(threads) schedule(static)
            for (int64_t i = 0; i < n; i++)
                a[i] = b[i] + 3.0F * c[i];
            bytes += 3.0 * sizeof(float) * (double)n;
        } while (tc_now() - start < span);
        best = TC_MAX(best, bytes / (tc_now() - start));
    }
    free(a);
    return best;
}

/* More threads than cores take turns: the sum of what each does in its best turn is more than the machine can do. */
static int team_of(int threads) {
    return tc_threads_team(threads > 0 ? threads : INT_MAX);
}

static void raise_triad(tc_meas_peak *p, int threads, double seconds) {
    bool whole;
    double now = triad_rate(threads, seconds, &whole) / 1e9;
    p->read_gbs = TC_MAX(p->read_gbs, now);
    p->known_gbs = whole ? tc_meas_note(TC_MEAS_KNOWN_TRIAD, "", threads, now) : tc_meas_known(TC_MEAS_KNOWN_TRIAD, "", threads);
    p->triad_gbs = tc_meas_believed(p->read_gbs, p->known_gbs);
}

void tc_meas_peak_raise_fma(tc_meas_peak *p, int threads, double seconds) {
    p->threads = team_of(threads);
    p->isa = best_isa().name;
    double now = tc_meas_measure_fma(threads, seconds);
    p->read_gflops = TC_MAX(p->read_gflops, now);
    p->known_gflops = tc_meas_known(TC_MEAS_KNOWN_FMA, p->isa, p->threads);
    p->f32_gflops = tc_meas_believed(p->read_gflops, p->known_gflops);
}

void tc_meas_peak_raise(tc_meas_peak *p, int threads, double seconds) {
    seconds = seconds > 0 ? seconds : 0.5;
    tc_meas_peak_raise_fma(p, threads, 0.6 * seconds);
    raise_triad(p, p->threads, 0.4 * seconds);
}

tc_meas_peak tc_meas_measure_peak(int threads, double seconds) {
    tc_meas_peak p = {0};
    tc_meas_peak_raise(&p, threads, seconds);
    return p;
}

bool tc_meas_peak_is_busy(const tc_meas_peak *p) {
    return tc_meas_is_far_below(p->read_gflops, p->known_gflops) || tc_meas_is_far_below(p->read_gbs, p->known_gbs);
}

void tc_meas_reference_work(void) {
    isa k = best_isa();
    volatile float sink = k.kernel(ROUND, 1e-3F);
    (void)sink;
}

bool tc_meas_reference_is_possible(double seconds, int threads) {
    const double drifts = 1.1; /* the peak, by some per cent within hours */
    isa k = best_isa();
    double work = piece_flops(&k) * threads;
    return work <= drifts * 1e9 * tc_meas_known(TC_MEAS_KNOWN_FMA, k.name, team_of(threads)) * seconds;
}

double tc_meas_measure_fma(int threads, double seconds) {
    isa k = best_isa();
    threads = team_of(threads);
    double now = fma_rate(&k, threads, seconds) / 1e9;
    (void)tc_meas_note(TC_MEAS_KNOWN_FMA, k.name, threads, now);
    return now;
}

double tc_meas_known_fma(int threads, double seconds) {
    double now = tc_meas_measure_fma(threads, seconds);
    return TC_MAX(now, tc_meas_known(TC_MEAS_KNOWN_FMA, best_isa().name, team_of(threads)));
}

/* ---- bandwidth at a footprint ---- */

typedef struct stream {
    const isa *isa;
    bool writes;      /* triad over three arrays; else one that is only read */
    int64_t n;        /* elements of each array, per thread */
    double end, span; /* of a rate at least, seconds */
} stream;

/* One thread's passes over its own arrays until `end`: the best rate, in bytes per second, of spans long enough to be timed. */
static double stream_thread(const stream *s) {
    enum { SPAN_BYTES = 1 << 22 };
    int narrays = s->writes ? 3 : 1;
    size_t bytes = (size_t)s->n * sizeof(float) * (size_t)narrays;
    int passes = (int)TC_MAX((size_t)SPAN_BYTES / bytes, (size_t)1);
    float *a = aligned_alloc(64, bytes); /* a multiple of 64: STREAM_STEP floats are 256 bytes */
    double best = 0;
    volatile float sink = 0;
    if (!a)
        return 0;
    memset(a, 0, bytes);
    for (int n = 0; n < TC_MEAS_PEAK_LEAST_SLICES || tc_now() < s->end; n++) {
        double start = tc_now(), sum = 0;
        do {
            for (int i = 0; i < passes; i++)
                if (s->writes)
                    s->isa->triad(a, a + s->n, a + 2 * s->n, s->n);
                else
                    sink = s->isa->read(a, s->n);
            sum += (double)bytes * passes;
        } while (tc_now() - start < s->span);
        best = TC_MAX(best, sum / (tc_now() - start));
    }
    (void)sink;
    free(a);
    return best;
}

static double stream_rate(const isa *k, int threads, int64_t bytes, bool writes, double asked) {
    double seconds = tc_meas_peak_seconds(asked);
    if (seconds < asked) /* the environment cut it */
        bytes = timely_bytes(bytes, seconds);
    int64_t floats = tc_memory_share(bytes) / (int64_t)sizeof(float) / threads / (writes ? 3 : 1);
    stream s = {k, writes, TC_MAX(floats / STREAM_STEP, 1) * STREAM_STEP, tc_now() + seconds, tc_clock_span(0)};
    double sum = 0;
#pragma omp parallel num_threads(threads) reduction(+ : sum)
    sum += stream_thread(&s);
    return sum;
}

tc_meas_stream tc_meas_measure_stream(int threads, int64_t bytes, double seconds) {
    isa k = best_isa();
    threads = team_of(threads);
    if (seconds <= 0)
        seconds = 0.2;
    double memory = tc_meas_known(TC_MEAS_KNOWN_TRIAD, "", threads);
    return (tc_meas_stream){.bytes = bytes,
                            .read_gbs = tc_meas_believed(stream_rate(&k, threads, bytes, false, seconds / 2) / 1e9, memory),
                            .triad_gbs = tc_meas_believed(stream_rate(&k, threads, bytes, true, seconds / 2) / 1e9, memory)};
}
