/* What the machine can do, measured: the rate of fused multiply-adds, which no kernel exceeds, and the bandwidth of memory.
 * Reports show kernels as shares of the peak of the same run, because the peak drifts by several per cent within hours. */
#ifndef TC_MEASURE_MACHINE_PEAK_H
#define TC_MEASURE_MACHINE_PEAK_H

#include <stdbool.h>
#include <stdint.h>

#include "te/intrinsic.h"

/* Rates are of as many threads as were asked for, but of no more than there are cores. Each is the one that was read, or what is
 * known of this machine (known.h) where the reading is far below. */
typedef struct tc_meas_peak {
    int threads;       /* that it was measured on */
    const char *isa;   /* which instructions: "AVX-512", "AVX2", "generic" */
    double f32_gflops; /* a multiply-add counts as 2 */
    double triad_gbs;  /* a[i] = b[i] + s * c[i]: bytes read and written, without write allocation */
    /* Of the units that were measured (unit_peak.h), else 0; a product and its sum count as 2 */
    double unit_gops[TC_NINTRINSICS];
    double read_gflops, read_gbs;   /* as they were read */
    double known_gflops, known_gbs; /* as they are known; 0: nothing is */
} tc_meas_peak;

/* Others used the machine when it was measured, or the clock is held down: a reading is far below what is known. */
bool tc_meas_peak_is_busy(const tc_meas_peak *p);

/* What one rate is measured for: `seconds`, or as long as the environment's TCTUNE_PEAK_SECONDS says where that is shorter. */
double tc_meas_peak_seconds(double seconds);

/* Takes about `seconds` (0: 0.5). threads 0: one per core. */
tc_meas_peak tc_meas_measure_peak(int threads, double seconds);
/* Measures again and keeps the larger rates: the machine drifts, so peaks are taken before and after what is compared with them.
 * Zero-initialised is one that was never measured. */
void tc_meas_peak_raise(tc_meas_peak *p, int threads, double seconds);

/* The same of multiply-adds alone: other rates stay as they are. */
void tc_meas_peak_raise_fma(tc_meas_peak *p, int threads, double seconds);

/* Of a rate, however little time is left: the process may have been suspended in one of them. */
enum { TC_MEAS_PEAK_LEAST_SLICES = 4 };

/* The multiply-add rate alone, in GFLOP/s, as it is read now. */
double tc_meas_measure_fma(int threads, double seconds);

/* A reading, or what is known of this machine where that is more (known.h): no kernel is faster. */
double tc_meas_known_fma(int threads, double seconds);

/* A fixed amount of multiply-adds, some 35 us of one core: what it takes says how fast the machine is at this moment. */
void tc_meas_reference_work(void);
/* Whether so many threads can do it together in so many seconds, by the peak that is known (known.h). Without one: false. */
bool tc_meas_reference_is_possible(double seconds, int threads);

/* Bandwidth of passes over the same `bytes` of memory, shared out among the threads: that of the level of the hierarchy at which
 * a kernel of this footprint lives when it is called again and again. */
typedef struct tc_meas_stream {
    int64_t bytes;
    double read_gbs;  /* everything is only read */
    double triad_gbs; /* a[i] = b[i] + s * c[i]: a third is written */
} tc_meas_stream;

/* Takes about `seconds` (0: 0.2). threads 0: one per core. No rate is far below what is known of memory: no cache is slower. */
tc_meas_stream tc_meas_measure_stream(int threads, int64_t bytes, double seconds);

#endif
