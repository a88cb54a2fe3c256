/* src/graph/trials owns experiments with models: inputs from files, outputs compared with expected outputs, test cases, times, the
 * contest in the network (contest.h), the network against its base (base.h, against.h), and the choice of kernels that may round to
 * bf16. Not here: searches (src/graph/work).
 *
 * This header: times of a model, as whole runs and by kernel, beside the measured limits of the machine. */
#ifndef TC_GRAPH_TRIALS_BENCH_H
#define TC_GRAPH_TRIALS_BENCH_H

#include "graph/model/model.h"
#include "measure/machine/peak.h"

/* Times whole runs: `warmup` unmeasured ones, then up to `repeats`, stopping early past `budget` seconds (0: none; at least 3 are
 * made) or at the stop flag. times[repeats] gets seconds; *n how many. */
typedef struct tc_graph_timing_options {
    int warmup, repeats;
    double budget;
    const volatile sig_atomic_t *stop; /* may be NULL */
} tc_graph_timing_options;
TC_NODISCARD tc_status tc_graph_model_time(tc_graph_model *m, const tc_graph_tensor *in, const tc_graph_timing_options *o,
                                           double *times, int *n, tc_error *err);
/* Median seconds per distinct kernel over `repeats` runs: fills kernels[i].seconds, and others[i].seconds. */
TC_NODISCARD tc_status tc_graph_model_profile(tc_graph_model *m, const tc_graph_tensor *in, const tc_graph_timing_options *o,
                                              tc_error *err);
/* As tc_graph_model_profile, of a context: seconds[] gets those of all kernels, then of all others. */
TC_NODISCARD tc_status tc_graph_context_profile(tc_graph_context *c, const tc_graph_tensor *in, const tc_graph_timing_options *o,
                                                double *seconds, tc_error *err);
/* One run: seconds[kernel] is the sum of its launches. */
TC_NODISCARD tc_status tc_graph_model_kernel_times(tc_graph_model *m, const tc_graph_tensor *in, double *seconds, tc_error *err);

/* A model's latency, beside what the machine can do: after some unmeasured runs up to `repeats` timed ones, then a profile of a
 * third of them, which fills in kernels and others where the model knows them. */
typedef struct tc_graph_bench {
    double *times; /* seconds, in the order taken; malloc'ed */
    int n;
    tc_meas_peak peak;     /* the larger of before and after */
    tc_meas_unrest unrest; /* before and after */
} tc_graph_bench;
/* Measures the peaks that its kernels are shares of, on as many threads, and keeps the larger ones. */
void tc_graph_raise_peaks(const tc_graph_model *m, tc_meas_peak *p);
/* Free out->times in any case. TC_ENV when it was stopped before anything was measured. */
TC_NODISCARD tc_status tc_graph_model_bench(tc_graph_model *m, const tc_graph_tensor *in, int repeats,
                                            const volatile sig_atomic_t *stop, tc_graph_bench *out, tc_error *err);

#endif
