/* How the latency of a model is measured. */
#include "graph/model/model.h"

enum { WARMUP = 5, PROFILE_SHARE = 3, PROFILE_LEAST = 3 };
static const double peak_seconds = 0.5;

tc_status tc_graph_model_bench(tc_graph_model *m, const tc_graph_tensor *in, int repeats, const volatile sig_atomic_t *stop,
                               tc_graph_bench *out, tc_error *err) {
    tc_graph_timing_options o = {.warmup = WARMUP, .repeats = repeats, .stop = stop};
    int threads = tc_graph_model_threads(m);
    const tc_graph_kernel *kernels;
    const tc_graph_other *others;
    *out = (tc_graph_bench){.times = tc_xcalloc((size_t)repeats, sizeof *out->times)};
    tc_meas_peak_raise(&out->peak, threads, peak_seconds);
    TC_TRY(tc_graph_model_time(m, in, &o, out->times, &out->n, err));
    o.repeats = TC_MAX(PROFILE_LEAST, repeats / PROFILE_SHARE);
    if (tc_graph_model_kernels(m, &kernels) + tc_graph_model_others(m, &others))
        TC_TRY(tc_graph_model_profile(m, in, &o, err));
    tc_meas_peak_raise(&out->peak, threads, peak_seconds);
    return out->n ? TC_OK : tc_fail(err, TC_ENV, "stopped before anything was measured");
}
