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
        json_object_set_new(k, "of_peak", tc_report_real(g / tc_meas_peak_of(r->peak, r->kernels[i].unit)));
        if (r->target) { /* so that it can be built again */
            json_object_set_new(k, "form_hash", json_string(r->kernels[i].form_hash.hex));
            json_object_set_new(k, "schedule", json_string(r->kernels[i].trace));
        }
        for (size_t x = 0; smaller && x < TC_LEN(rates); x++)
            json_object_set_new(k, rates[x], json_null());
    }
    return kernels;
}

static json_t *others_json(const tc_report_timed *r) {
    json_t *all = json_array();
    for (int i = 0; i < r->nother; i++)
        json_array_append_new(all, json_pack("{s:s, s:i, s:f}", "name", r->others[i].name, "count", r->others[i].count,
                                             "total_ms", r->others[i].seconds * 1e3));
    return all;
}

static json_t *text_or_null(const char *text) {
    return text ? json_string(text) : json_null();
}

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

/* Facts about a single kernel: the bandwidth of memory at its footprint, the source of its schedule, and how it was timed. */
static void tell_kernel(const tc_report_timed *r, json_t *j) {
    if (r->stream.bytes) {
        json_object_set_new(j, "footprint_bytes", json_integer(r->stream.bytes));
        json_object_set_new(j, "footprint_read_gbs", tc_report_real(known(r->stream.read_gbs)));
        json_object_set_new(j, "footprint_triad_gbs", tc_report_real(known(r->stream.triad_gbs)));
    }
    if (r->origin)
        json_object_set_new(j, "schedule", json_string(r->origin));
    if (r->mode)
        json_object_set_new(j, "mode", json_string(r->mode));
    if (r->constants > 0)
        json_object_set_new(j, "constant_bytes", json_real(r->constants));
}

json_t *tc_report_latency(const tc_report_timed *r) {
    json_t *j = json_object();
    qsort(r->times, (size_t)r->ntimes, sizeof *r->times, by_value);
    double median = tc_meas_median(r->times, (size_t)r->ntimes), flops = is_smaller(r) ? 0 : r->flops;
    double g = rate(flops, median);
    json_object_set_new(j, "name", json_string(r->name));
    json_object_set_new(j, "median_ms", tc_report_real(median * 1e3));
    json_object_set_new(j, "min_ms", tc_report_real(r->times[0] * 1e3));
    json_object_set_new(j, "max_ms", tc_report_real(r->times[r->ntimes - 1] * 1e3));
    json_object_set_new(j, "repeats", json_integer(r->ntimes));
    json_object_set_new(j, "flops", json_real(flops));
    json_object_set_new(j, "gflops", tc_report_real(g));
    json_object_set_new(j, "peak_gflops", tc_report_real(known(r->peak->f32_gflops)));
    json_object_set_new(j, "unit", tc_report_unit(r->unit));
    json_object_set_new(j, "unit_peaks", tc_report_units(r->peak));
    json_object_set_new(j, "caches", r->worker ? json_null() : tc_report_caches(r->threads));
    json_object_set_new(j, "of_peak", tc_report_real(g / tc_meas_peak_of(r->peak, r->unit)));
    json_object_set_new(j, "triad_gbs", tc_report_real(known(r->peak->triad_gbs)));
    json_object_set_new(j, "isa", json_string(r->peak->isa));
    json_object_set_new(j, "threads", json_integer(r->threads));
    json_object_set_new(j, "worker", text_or_null(r->worker));
    json_object_set_new(j, "target", text_or_null(r->target));
    json_object_set_new(j, "accuracy", text_or_null(r->accuracy));
    json_object_set_new(j, "precision", text_or_null(r->precision));
    tell_kernel(r, j);
    if (r->rules && r->rules->nsize)
        json_object_set_new(j, "sizes", tc_report_sizes(r->rules, r->sizes));
    json_object_set_new(j, "kernels", kernels_json(r));
    json_object_set_new(j, "others", others_json(r));
    return j;
}

/* ---- kernels, each by itself ---- */

static void put_times(json_t *j, const tc_report_apart *k) {
    const tc_record *r = &k->bench->record;
    double *times = tc_xcalloc(r->ntimes + 1, sizeof *times), peak = known(tc_meas_peak_of(&k->bench->peak, k->kernel.unit));
    memcpy(times, r->times, r->ntimes * sizeof *times);
    qsort(times, r->ntimes, sizeof *times, by_value);
    json_object_set_new(j, "repeats", json_integer((json_int_t)r->ntimes));
    json_object_set_new(j, "min_ms", tc_report_real(times[0] * 1e3));
    json_object_set_new(j, "max_ms", tc_report_real(times[r->ntimes - 1] * 1e3));
    json_object_set_new(j, "peak_gflops", tc_report_real(peak));
    json_object_set_new(j, "of_peak", tc_report_real(rate(k->kernel.flops, r->median) / peak));
    free(times);
}

json_t *tc_report_kernels_apart(const char *name, const tc_target *t, tc_accuracy accuracy, const tc_report_apart *k, int n) {
    json_t *all = json_array();
    int failed = 0;
    for (int i = 0; i < n; i++) {
        const tc_record *r = &k[i].bench->record;
        json_t *one = tc_report_kernels(&k[i].kernel, 1), *j = json_array_get(one, 0);
        json_object_set_new(j, "form_hash", json_string(k[i].kernel.form_hash.hex));
        json_object_set_new(j, "schedule", json_string(k[i].kernel.trace));
        json_object_set_new(j, "origin", json_string(k[i].origin));
        json_object_set_new(j, "mode", json_string(tc_meas_mode_text(r->mode)));
        json_object_set_new(j, "worker", text_or_null(k[i].worker));
        json_object_set_new(j, "error", tc_record_ok(r) ? json_null() : json_string(tc_meas_error_text(r->error)));
        json_object_set_new(j, "message", text_or_null(tc_record_ok(r) ? NULL : r->message));
        if (tc_record_ok(r))
            put_times(j, &k[i]);
        failed += !tc_record_ok(r);
        json_array_append(all, j);
        json_decref(one);
    }
    return json_pack("{s:s, s:s, s:i, s:s, s:s, s:i, s:o}", "name", name, "target", t->text, "threads", t->machine.cores,
                     "accuracy", tc_accuracy_text(accuracy), "precision", tc_accuracy_precision_text(accuracy), "failed", failed,
                     "kernels", all);
}

/* ---- over a range ---- */

static json_t *points_json(const tc_graph_size_rules *rules, const tc_graph_curve *v) {
    json_t *points = json_array();
    for (size_t k = 0; k < v->points.len; k++) {
        const tc_graph_curve_point *p = &v->points.data[k];
        json_array_append_new(points,
                              json_pack("{s:o,s:f,s:f,s:f,s:i}", "sizes", tc_report_sizes(rules, p->sizes), "median_ms",
                                        p->median * 1e3, "min_ms", p->least * 1e3, "max_ms", p->most * 1e3, "repeats", p->n));
    }
    return points;
}

json_t *tc_report_curves(const char *name, int threads, int repeats, const tc_graph_curves *c) {
    json_t *all = json_array();
    for (int i = 0; i < c->n; i++)
        json_array_append_new(all, json_pack("{s:s,s:o}", "over", c->rules->size[c->curve[i].of].name, "points",
                                             points_json(c->rules, &c->curve[i])));
    return json_pack("{s:s,s:i,s:i,s:o}", "name", name, "threads", threads, "repeats", repeats, "curves", all);
}
