/* The documents about latency: of a network and its kernels, of one kernel, and over a range of sizes. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "measure/machine/unit_peak.h"
#include "report/report.h"

static bool is_smaller(const tc_report_timed *r) {
    return r->rules && tc_report_sizes_smaller(r->rules, r->sizes);
}

/* What a worker did not tell of its machine is 0. */
static double known(double rate) {
    return rate > 0 ? rate : NAN;
}

static double rate(double flops, double seconds) {
    return flops > 0 && seconds > 0 && isfinite(seconds) ? flops / seconds / 1e9 : NAN;
}

static json_t *kernels_json(const tc_report_timed *r) {
    static const char *const rates[] = {"flops", "gflops", "of_peak"};
    json_t *kernels = tc_report_kernels(r->kernels, r->nkernel);
    bool smaller = is_smaller(r);
    for (size_t i = 0; i < json_array_size(kernels); i++) {
        json_t *k = json_array_get(kernels, i);
        double g = json_number_value(json_object_get(k, "gflops"));
        tc_json_set(k, "of_peak", tc_json_real(g / tc_meas_peak_of(r->peak, r->kernels[i].unit)));
        if (r->target) { /* so that it can be built again */
            tc_json_set(k, "form_hash", tc_json_string(r->kernels[i].form_hash.hex));
            tc_json_set(k, "schedule", tc_json_string(r->kernels[i].trace));
        }
        for (size_t x = 0; smaller && x < TC_LEN(rates); x++)
            tc_json_set(k, rates[x], json_null());
    }
    return kernels;
}

static json_t *others_json(const tc_report_timed *r) {
    json_t *all = tc_json_array();
    for (int i = 0; i < r->nother; i++)
        tc_json_append(all, tc_json_pack("{s:s, s:i, s:f}", "name", r->others[i].name, "count", r->others[i].count, "total_ms",
                                         r->others[i].seconds * 1e3));
    return all;
}

static json_t *text_or_null(const char *text) {
    return tc_json_string(text);
}

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

/* Facts about a single kernel: the bandwidth of memory at its footprint, the source of its schedule, and how it was timed. */
static void tell_kernel(const tc_report_timed *r, json_t *j) {
    if (r->stream.bytes) {
        tc_json_set(j, "footprint_bytes", tc_json_integer(r->stream.bytes));
        tc_json_set(j, "footprint_read_gbs", tc_json_real(known(r->stream.read_gbs)));
        tc_json_set(j, "footprint_triad_gbs", tc_json_real(known(r->stream.triad_gbs)));
    }
    if (r->origin)
        tc_json_set(j, "schedule", tc_json_string(r->origin));
    if (r->mode)
        tc_json_set(j, "mode", tc_json_string(r->mode));
    if (r->constants > 0)
        tc_json_set(j, "constant_bytes", tc_json_real(r->constants));
}

json_t *tc_report_latency(const tc_report_timed *r) {
    json_t *j = tc_json_object();
    qsort(r->times, (size_t)r->ntimes, sizeof *r->times, by_value);
    double median = tc_meas_median(r->times, (size_t)r->ntimes), flops = is_smaller(r) ? 0 : r->flops;
    double g = rate(flops, median);
    tc_json_set(j, "name", tc_json_string(r->name));
    tc_json_set(j, "median_ms", tc_json_real(median * 1e3));
    tc_json_set(j, "min_ms", tc_json_real(r->times[0] * 1e3));
    tc_json_set(j, "max_ms", tc_json_real(r->times[r->ntimes - 1] * 1e3));
    tc_json_set(j, "repeats", tc_json_integer(r->ntimes));
    tc_json_set(j, "flops", tc_json_real(flops));
    tc_json_set(j, "gflops", tc_json_real(g));
    tc_json_set(j, "peak_gflops", tc_json_real(known(r->peak->f32_gflops)));
    tc_json_set(j, "unit", tc_report_unit(r->unit));
    tc_json_set(j, "unit_peaks", tc_report_units(r->peak));
    tc_json_set(j, "caches", r->worker ? json_null() : tc_report_caches(r->threads));
    tc_json_set(j, "of_peak", tc_json_real(g / tc_meas_peak_of(r->peak, r->unit)));
    tc_json_set(j, "triad_gbs", tc_json_real(known(r->peak->triad_gbs)));
    tc_json_set(j, "isa", tc_json_string(r->peak->isa));
    tc_json_set(j, "threads", tc_json_integer(r->threads));
    tc_report_unrest(j, &r->unrest);
    tc_json_set(j, "worker", text_or_null(r->worker));
    tc_json_set(j, "target", text_or_null(r->target));
    tc_json_set(j, "accuracy", text_or_null(r->accuracy));
    tc_json_set(j, "precision", text_or_null(r->precision));
    tell_kernel(r, j);
    if (r->rules && r->rules->nsize)
        tc_json_set(j, "sizes", tc_report_sizes(r->rules, r->sizes));
    tc_json_set(j, "kernels", kernels_json(r));
    tc_json_set(j, "others", others_json(r));
    return j;
}

/* ---- kernels, each by itself ---- */

static void put_times(json_t *j, const tc_report_apart *k) {
    const tc_record *r = &k->bench->record;
    double *times = tc_xcalloc(r->ntimes + 1, sizeof *times), peak = known(tc_meas_peak_of(&k->bench->peak, k->kernel.unit));
    memcpy(times, r->times, r->ntimes * sizeof *times);
    qsort(times, r->ntimes, sizeof *times, by_value);
    tc_json_set(j, "repeats", tc_json_integer((json_int_t)r->ntimes));
    tc_json_set(j, "min_ms", tc_json_real(times[0] * 1e3));
    tc_json_set(j, "max_ms", tc_json_real(times[r->ntimes - 1] * 1e3));
    tc_json_set(j, "peak_gflops", tc_json_real(peak));
    tc_json_set(j, "of_peak", tc_json_real(rate(k->kernel.flops, r->median) / peak));
    free(times);
}

json_t *tc_report_kernels_apart(const char *name, const tc_target *t, tc_accuracy accuracy, const tc_report_apart *k, int n) {
    json_t *all = tc_json_array();
    int failed = 0;
    for (int i = 0; i < n; i++) {
        const tc_record *r = &k[i].bench->record;
        json_t *one = tc_report_kernels(&k[i].kernel, 1), *j = json_array_get(one, 0);
        tc_json_set(j, "form_hash", tc_json_string(k[i].kernel.form_hash.hex));
        tc_json_set(j, "schedule", tc_json_string(k[i].kernel.trace));
        tc_json_set(j, "origin", tc_json_string(k[i].origin));
        tc_json_set(j, "mode", tc_json_string(tc_meas_mode_text(r->mode)));
        tc_json_set(j, "worker", text_or_null(k[i].worker));
        tc_json_set(j, "error", tc_record_ok(r) ? json_null() : tc_json_string(tc_meas_error_text(r->error)));
        tc_json_set(j, "message", text_or_null(tc_record_ok(r) ? NULL : r->message));
        if (tc_record_ok(r))
            put_times(j, &k[i]);
        failed += !tc_record_ok(r);
        tc_json_append(all, json_incref(j));
        json_decref(one);
    }
    return tc_json_pack("{s:s, s:s, s:i, s:s, s:s, s:i, s:o}", "name", name, "target", t->text, "threads", t->machine.cores,
                        "accuracy", tc_accuracy_text(accuracy), "precision", tc_accuracy_precision_text(accuracy), "failed",
                        failed, "kernels", all);
}

/* ---- over a range ---- */

static json_t *points_json(const tc_graph_size_rules *rules, const tc_graph_curve *v) {
    json_t *points = tc_json_array();
    for (size_t k = 0; k < v->points.len; k++) {
        const tc_graph_curve_point *p = &v->points.data[k];
        tc_json_append(points, tc_json_pack("{s:o,s:f,s:f,s:f,s:i}", "sizes", tc_report_sizes(rules, p->sizes), "median_ms",
                                            p->median * 1e3, "min_ms", p->least * 1e3, "max_ms", p->most * 1e3, "repeats", p->n));
    }
    return points;
}

json_t *tc_report_curves(const char *name, int threads, int repeats, const tc_graph_curves *c) {
    json_t *all = tc_json_array();
    for (int i = 0; i < c->n; i++)
        tc_json_append(all, tc_json_pack("{s:s,s:o}", "over", c->rules->size[c->curve[i].of].name, "points",
                                         points_json(c->rules, &c->curve[i])));
    return tc_json_pack("{s:s,s:i,s:i,s:o}", "name", name, "threads", threads, "repeats", repeats, "curves", all);
}
