/* Measures the latency of a model: of whole runs, and of each kernel in them. */
#include "graph/trials/bench.h"

#include "codegen/artefacts/runtime.h"
#include "graph/model/parts.h"
#include "measure/machine/unit_peak.h"
#include "support/clock/clock.h"
#include "support/log.h"
#include "support/system/stop.h"

#include <string.h>

enum { WARMUP = 5, PROFILE_SHARE = 3, PROFILE_LEAST = 3 };
static const double peak_seconds = 0.5, unit_seconds = 0.15;

/* ---- whole runs ---- */

static bool enough(const tc_graph_timing_options *o, int done, double spent) {
    return tc_is_raised(o->stop) || (done >= 3 && o->budget > 0 && spent >= o->budget);
}

tc_status tc_graph_model_time(tc_graph_model *m, const tc_graph_tensor *in, const tc_graph_timing_options *o, double *times,
                              int *n, tc_error *err) {
    tc_graph_context *c;
    tc_graph_pointers p;
    *n = 0;
    TC_TRY(tc_graph_model_own(m, &c, err));
    TC_TRY(tc_graph_open_run(c, in, NULL, &p, err));
    tc_status s = TC_OK;
    for (int i = 0; i < o->warmup && s == TC_OK && !enough(o, 0, 0); i++)
        s = tc_graph_run_once(c, p.in, p.out, NULL, err);
    double begin = tc_now();
    int again = o->repeats; /* runs that may be made again because the process was not running all the time */
    while (s == TC_OK && *n < o->repeats && !enough(o, *n, tc_now() - begin)) {
        tc_stopwatch watch = tc_stopwatch_start();
        s = tc_graph_run_once(c, p.in, p.out, NULL, err);
        tc_span span = tc_stopwatch_read(&watch);
        if (span.whole || again-- <= 0)
            times[(*n)++] = span.seconds;
    }
    tc_graph_close_run(m, &p, false);
    return s;
}

/* ---- by kernel ---- */

static void add_seconds(void *user, int step, double begin, double end) {
    double *seconds = user;
    seconds[step] += end - begin;
}

/* A run with the seconds of each step, which are zero before. All threads take part in each loop: on a busy
 * machine the caller would often run a loop alone, which says nothing of two threads. A library has threads of its own. */
static tc_status run_timed(tc_graph_context *c, const tc_graph_pointers *p, double *seconds, tc_error *err) {
    tc_rt rt = tc_cg_measuring_runtime(c->m->threads);
    tc_graph_watch w = {.step = add_seconds, .user = seconds, .rt = c->library ? NULL : &rt};
    return tc_graph_run_once(c, p->in, p->out, &w, err);
}

tc_status tc_graph_model_kernel_times(tc_graph_model *m, const tc_graph_tensor *in, double *seconds, tc_error *err) {
    tc_graph_context *c;
    tc_graph_pointers p;
    TC_TRY(tc_graph_model_own(m, &c, err));
    TC_TRY(tc_graph_open_run(c, in, NULL, &p, err));
    double *steps = tc_xcalloc((size_t)m->nstep + 1, sizeof *steps);
    tc_status s = run_timed(c, &p, steps, err);
    memset(seconds, 0, (size_t)m->nkernel * sizeof *seconds);
    for (int i = 0; i < m->nstep; i++)
        if (m->steps[i].task >= 0)
            seconds[m->steps[i].task] += steps[i];
    free(steps);
    tc_graph_close_run(m, &p, false);
    return s;
}

/* all[run][step] -> median over runs of the sum of the steps of one task or, where that is -1, of one of the others */
static double median_of_steps(const tc_graph_model *m, const double *all, int runs, int task, int other, double *t) {
    for (int r = 0; r < runs; r++) {
        t[r] = 0;
        for (int i = 0; i < m->nstep; i++)
            if (m->steps[i].task == task && (task >= 0 || m->steps[i].other == other))
                t[r] += all[(size_t)r * (size_t)m->nstep + (size_t)i];
    }
    return tc_meas_median(t, (size_t)runs);
}

static void summarise(const tc_graph_model *m, const double *all, int runs, double *seconds) {
    double *t = tc_xcalloc((size_t)runs + 1, sizeof *t);
    for (int k = 0; k < m->nkernel; k++)
        seconds[k] = median_of_steps(m, all, runs, k, 0, t);
    for (int k = 0; k < m->nother; k++)
        seconds[m->nkernel + k] = median_of_steps(m, all, runs, -1, k, t);
    free(t);
}

tc_status tc_graph_context_profile(tc_graph_context *c, const tc_graph_tensor *in, const tc_graph_timing_options *o,
                                   double *seconds, tc_error *err) {
    const tc_graph_model *m = c->m;
    tc_graph_pointers p;
    TC_TRY(tc_graph_open_run(c, in, NULL, &p, err));
    double *all = tc_xcalloc((size_t)o->repeats * (size_t)m->nstep + 1, sizeof *all), begin = tc_now();
    tc_status s = TC_OK;
    int runs = 0;
    for (int i = 0; i < o->warmup && s == TC_OK && !enough(o, 0, 0); i++)
        s = tc_graph_run_once(c, p.in, p.out, NULL, err);
    for (; s == TC_OK && runs < o->repeats && !enough(o, runs, tc_now() - begin); runs++)
        s = run_timed(c, &p, all + (size_t)runs * (size_t)m->nstep, err);
    if (s == TC_OK && runs > 0)
        summarise(m, all, runs, seconds);
    free(all);
    tc_graph_close_run(m, &p, false);
    return s;
}

tc_status tc_graph_model_profile(tc_graph_model *m, const tc_graph_tensor *in, const tc_graph_timing_options *o, tc_error *err) {
    tc_graph_context *c;
    TC_TRY(tc_graph_model_own(m, &c, err));
    double *seconds = tc_xcalloc((size_t)m->nkernel + (size_t)m->nother + 1, sizeof *seconds);
    tc_status s = tc_graph_context_profile(c, in, o, seconds, err);
    for (int k = 0; k < m->nkernel && s == TC_OK; k++)
        m->kernels[k].seconds = seconds[k];
    for (int k = 0; k < m->nother && s == TC_OK; k++)
        m->others[k].seconds = seconds[m->nkernel + k];
    free(seconds);
    return s;
}

/* ---- both, beside the machine's peak ---- */

/* A loaded library knows of no target, and runs here. */
void tc_graph_raise_peaks(const tc_graph_model *m, tc_meas_peak *p) {
    tc_intrinsic_set units = 0;
    tc_target *native = NULL;
    tc_error err = {0};
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
    TC_TRY(tc_clock_check(TC_CLOCK_CALLS, err));
    *out = (tc_graph_bench){.times = tc_xcalloc((size_t)repeats, sizeof *out->times)};
    tc_graph_raise_peaks(m, &out->peak);
    tc_meas_unrest_look(&out->unrest, tc_graph_model_threads(m));
    TC_TRY(tc_graph_model_time(m, in, &o, out->times, &out->n, err));
    o.repeats = TC_MAX(PROFILE_LEAST, repeats / PROFILE_SHARE);
    if (tc_graph_model_kernels(m, &kernels) + tc_graph_model_others(m, &others))
        TC_TRY(tc_graph_model_profile(m, in, &o, err));
    tc_meas_unrest_look(&out->unrest, tc_graph_model_threads(m));
    tc_graph_raise_peaks(m, &out->peak);
    return out->n ? TC_OK : tc_fail(err, TC_ENV, "stopped before anything was measured");
}
