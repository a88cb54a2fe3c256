/* How the latency of a model is measured. */
#include "graph/model/program.h"
#include "measure/unit_peak.h"

enum { WARMUP = 5, PROFILE_SHARE = 3, PROFILE_LEAST = 3 };
static const double peak_seconds = 0.5, unit_seconds = 0.15;

/* A loaded library knows of no target, and runs here. */
static void raise_peaks(const tc_graph_model *m, tc_meas_peak *p) {
    tc_intrinsic_set units = 0;
    tc_target *native = NULL;
    tc_error err;
    for (int i = 0; i < m->nkernel; i++)
        units |= tc_intrinsic_alone(m->kernels[i].unit);
    tc_meas_peak_raise(p, tc_graph_model_threads(m), peak_seconds);
    if (m->target || tc_target_parse("native", &native, &err) == TC_OK)
        tc_meas_peak_raise_units(p, m->target ? m->target : native, units, unit_seconds);
    tc_target_free(native);
}

tc_status tc_graph_model_bench(tc_graph_model *m, const tc_graph_tensor *in, int repeats, const volatile sig_atomic_t *stop,
                               tc_graph_bench *out, tc_error *err) {
    tc_graph_timing_options o = {.warmup = WARMUP, .repeats = repeats, .stop = stop};
    const tc_graph_kernel *kernels;
    const tc_graph_other *others;
    *out = (tc_graph_bench){.times = tc_xcalloc((size_t)repeats, sizeof *out->times)};
    raise_peaks(m, &out->peak);
    TC_TRY(tc_graph_model_time(m, in, &o, out->times, &out->n, err));
    o.repeats = TC_MAX(PROFILE_LEAST, repeats / PROFILE_SHARE);
    if (tc_graph_model_kernels(m, &kernels) + tc_graph_model_others(m, &others))
        TC_TRY(tc_graph_model_profile(m, in, &o, err));
    raise_peaks(m, &out->peak);
    return out->n ? TC_OK : tc_fail(err, TC_ENV, "stopped before anything was measured");
}
