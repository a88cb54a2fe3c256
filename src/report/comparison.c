/* The document about two schedules of one kernel, or a schedule and another library: the program of each, their differences, and
 * which is faster. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "report/report.h"

static bool both(const tc_report_comparison *c) {
    return c->side[0].made && c->side[1].made;
}

static bool same_program(const tc_report_comparison *c) {
    return both(c) && c->side[0].made->program == c->side[1].made->program;
}

static double seconds_of(const tc_report_comparison *c, int i) {
    return i ? c->duel->verdict.b : c->duel->verdict.a;
}

/* The speed of the faster side relative to the other: its runs in the time of one run of the other, with the interval, and the same
 * in per cent. */
static void put_speedup(json_t *j, const tc_tune_verdict *v) {
    bool a = v->faster < 0;
    double mid = a ? v->ratio : 1 / v->ratio, low = a ? v->low : 1 / v->high, high = a ? v->high : 1 / v->low;
    json_object_set_new(j, "speedup", tc_report_real(mid));
    json_object_set_new(j, "speedup_low", tc_report_real(low));
    json_object_set_new(j, "speedup_high", tc_report_real(high));
    json_object_set_new(j, "percent", tc_report_real(100 * (mid - 1)));
    json_object_set_new(j, "plus_minus", tc_report_real(100 * (high - low) / 2));
}

static void put_features(json_t *j, const tc_report_comparison *c) {
    json_t *list = json_array();
    int n, unpaired;
    tc_tune_difference *d = tc_tune_differences(c->side[0].made, c->side[1].made, &n, &unpaired);
    for (int i = 0; i < n; i++)
        json_array_append_new(list,
                              json_pack("{s:i,s:s,s:f,s:f}", "store", d[i].store, "name", d[i].name, "a", d[i].a, "b", d[i].b));
    free(d);
    json_object_set_new(j, "features", list);
    json_object_set_new(j, "unpaired_stores", json_integer(unpaired));
}

static json_t *side_json(const tc_report_comparison *c, int i) {
    const tc_report_side *s = &c->side[i];
    json_t *j = json_pack("{s:s,s:s}", "spec", s->spec, "origin", s->origin);
    if (s->made) {
        char program[24];
        snprintf(program, sizeof program, "%016llx", (unsigned long long)s->made->program);
        json_object_set_new(j, "schedule", json_string(s->schedule->trace));
        json_object_set_new(j, "nest", json_string(tc_sb_str(&s->made->nest)));
        json_object_set_new(j, "program", json_string(program));
        json_object_set_new(j, "expected_cycles", tc_report_real(s->made->cycles));
        json_object_set_new(j, "asm_facts", tc_report_assembly(&s->made->facts));
    }
    json_object_set_new(j, "median_ms", tc_report_real(seconds_of(c, i) * 1e3));
    json_object_set_new(j, "gflops", tc_report_real(c->duel->roof.flops / seconds_of(c, i) / 1e9));
    json_object_set_new(j, "of_roof", tc_report_real(c->duel->roof.seconds / seconds_of(c, i)));
    return j;
}

static json_t *verdict_json(const tc_report_comparison *c) {
    const tc_tune_verdict *v = &c->duel->verdict;
    json_t *j = json_object();
    json_object_set_new(j, "rounds", json_integer(v->rounds));
    json_object_set_new(j, "ratio", tc_report_real(v->ratio));
    json_object_set_new(j, "low", tc_report_real(v->low));
    json_object_set_new(j, "high", tc_report_real(v->high));
    json_object_set_new(j, "sign_p", tc_report_real(v->sign_p));
    json_object_set_new(j, "same_program", json_boolean(same_program(c)));
    if (v->faster && !same_program(c)) {
        json_object_set_new(j, "faster", json_string(v->faster < 0 ? "A" : "B"));
        put_speedup(j, v);
    } else {
        json_object_set_new(j, "faster", json_null());
    }
    return j;
}

/* What a worker did not tell of its machine is 0. */
static json_t *rate_or_null(double v) {
    return v > 0 ? json_real(v) : json_null();
}

static json_t *roofline_json(const tc_tune_roof *r) {
    json_t *j = json_pack("{s:f,s:f,s:f,s:s}", "flops", r->flops, "bytes", r->bytes, "intensity", r->intensity, "bound_by",
                          r->memory_bound ? "bandwidth" : "arithmetic");
    json_object_set_new(j, "peak_gflops", rate_or_null(r->peak_gflops));
    json_object_set_new(j, "bandwidth_gbs", rate_or_null(r->bandwidth_gbs));
    json_object_set_new(j, "roof_gflops", tc_report_real(r->roof_gflops));
    json_object_set_new(j, "roof_ms", tc_report_real(r->seconds * 1e3));
    if (isnan(r->seconds))
        json_object_set_new(j, "bound_by", json_null());
    if (r->unit)
        json_object_set_new(j, "unit", json_string(r->unit->text));
    return j;
}

json_t *tc_report_compared(const tc_report_comparison *c) {
    json_t *j = json_pack("{s:s,s:s,s:i,s:s}", "kernel", c->kernel, "hash", c->hash, "threads", c->threads, "mode",
                          tc_meas_mode_text(c->mode));
    json_object_set_new(j, "worker", c->worker ? json_string(c->worker) : json_null());
    json_object_set_new(j, "a", side_json(c, 0));
    json_object_set_new(j, "b", side_json(c, 1));
    if (both(c))
        put_features(j, c);
    json_object_set_new(j, "roofline", roofline_json(&c->duel->roof));
    json_object_set_new(j, "caches", c->worker ? json_null() : tc_report_caches(c->threads));
    json_object_set_new(j, "verdict", verdict_json(c));
    return j;
}
