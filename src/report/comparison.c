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
    tc_json_set(j, "speedup", tc_json_real(mid));
    tc_json_set(j, "speedup_low", tc_json_real(low));
    tc_json_set(j, "speedup_high", tc_json_real(high));
    tc_json_set(j, "percent", tc_json_real(100 * (mid - 1)));
    tc_json_set(j, "plus_minus", tc_json_real(100 * (high - low) / 2));
}

static void put_features(json_t *j, const tc_report_comparison *c) {
    json_t *list = tc_json_array();
    int n, unpaired;
    tc_tune_difference *d = tc_tune_differences(c->side[0].made, c->side[1].made, &n, &unpaired);
    for (int i = 0; i < n; i++)
        tc_json_append(list, tc_json_pack("{s:i,s:s,s:f,s:f}", "store", d[i].store, "name", d[i].name, "a", d[i].a, "b", d[i].b));
    free(d);
    tc_json_set(j, "features", list);
    tc_json_set(j, "unpaired_stores", tc_json_integer(unpaired));
}

static json_t *side_json(const tc_report_comparison *c, int i) {
    const tc_report_side *s = &c->side[i];
    json_t *j = tc_json_pack("{s:s,s:s}", "spec", s->spec, "origin", s->origin);
    if (s->made) {
        char program[24];
        snprintf(program, sizeof program, "%016llx", (unsigned long long)s->made->program);
        tc_json_set(j, "schedule", tc_json_string(s->schedule->trace));
        tc_json_set(j, "nest", tc_json_string(tc_sb_str(&s->made->nest)));
        tc_json_set(j, "program", tc_json_string(program));
        tc_json_set(j, "expected_cycles", tc_json_real(s->made->cycles));
        tc_json_set(j, "asm_facts", tc_report_assembly(&s->made->facts));
    }
    tc_json_set(j, "median_ms", tc_json_real(seconds_of(c, i) * 1e3));
    tc_json_set(j, "gflops", tc_json_real(c->duel->roof.flops / seconds_of(c, i) / 1e9));
    tc_json_set(j, "of_roof", tc_json_real(c->duel->roof.seconds / seconds_of(c, i)));
    return j;
}

static json_t *verdict_json(const tc_report_comparison *c) {
    const tc_tune_verdict *v = &c->duel->verdict;
    json_t *j = tc_json_object();
    tc_json_set(j, "rounds", tc_json_integer(v->rounds));
    tc_json_set(j, "ratio", tc_json_real(v->ratio));
    tc_json_set(j, "low", tc_json_real(v->low));
    tc_json_set(j, "high", tc_json_real(v->high));
    tc_json_set(j, "sign_p", tc_json_real(v->sign_p));
    tc_json_set(j, "same_program", json_boolean(same_program(c)));
    if (v->faster && !same_program(c)) {
        tc_json_set(j, "faster", tc_json_string(v->faster < 0 ? "A" : "B"));
        put_speedup(j, v);
    } else {
        tc_json_set(j, "faster", json_null());
    }
    return j;
}

/* What a worker did not tell of its machine is 0. */
static json_t *rate_or_null(double v) {
    return v > 0 ? tc_json_real(v) : json_null();
}

static json_t *roofline_json(const tc_tune_roof *r) {
    json_t *j = tc_json_pack("{s:f,s:f,s:f,s:s}", "flops", r->flops, "bytes", r->bytes, "intensity", r->intensity, "bound_by",
                             r->memory_bound ? "bandwidth" : "arithmetic");
    tc_json_set(j, "peak_gflops", rate_or_null(r->peak_gflops));
    tc_json_set(j, "bandwidth_gbs", rate_or_null(r->bandwidth_gbs));
    tc_json_set(j, "roof_gflops", tc_json_real(r->roof_gflops));
    tc_json_set(j, "roof_ms", tc_json_real(r->seconds * 1e3));
    if (isnan(r->seconds))
        tc_json_set(j, "bound_by", json_null());
    if (r->unit)
        tc_json_set(j, "unit", tc_json_string(r->unit->text));
    return j;
}

json_t *tc_report_compared(const tc_report_comparison *c) {
    json_t *j = tc_json_pack("{s:s,s:s,s:i,s:s}", "kernel", c->kernel, "hash", c->hash, "threads", c->threads, "mode",
                             tc_meas_mode_text(c->mode));
    tc_json_set(j, "worker", tc_json_string(c->worker));
    tc_json_set(j, "a", side_json(c, 0));
    tc_json_set(j, "b", side_json(c, 1));
    if (both(c))
        put_features(j, c);
    tc_json_set(j, "roofline", roofline_json(&c->duel->roof));
    tc_json_set(j, "caches", c->worker ? json_null() : tc_report_caches(c->threads));
    tc_report_unrest(j, &c->duel->unrest);
    tc_json_set(j, "verdict", verdict_json(c));
    return j;
}
