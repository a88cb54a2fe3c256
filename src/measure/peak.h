/* What the machine can do, measured: the fused multiply-add rate that no kernel exceeds, and memory bandwidth. Reports show
 * kernels as shares of it, from the same run: it drifts by several per cent within hours. */
#ifndef TC_MEASURE_PEAK_H
#define TC_MEASURE_PEAK_H

typedef struct tc_meas_peak {
    int threads;
    const char *isa;   /* which instructions: "AVX-512", "AVX2", "generic" */
    double f32_gflops; /* a multiply-add counts as 2 */
    double triad_gbs;  /* a[i] = b[i] + s * c[i]: bytes read and written, without write allocation */
} tc_meas_peak;

/* Takes about `seconds` (0: 0.5). threads 0: one per core. */
tc_meas_peak tc_meas_measure_peak(int threads, double seconds);

#endif
