/* The documents about searches: the result of each task, the measurements, and why the search ended. Where sizes vary, they also
 * hold the comparison of variants over the sizes. */
#include <math.h>

#include "measure/machine/unit_peak.h"
#include "report/report.h"

static double rate(double flops, double seconds) {
    return flops / seconds / 1e9;
}

static double tried_per_second(const tc_tune_report *r) {
    return r->seconds > 0 ? r->measured / r->seconds : 0;
}

static double flops_of(const tc_tune_report *r) {
    double sum = 0;
    for (int i = 0; i < r->ntask; i++)
        sum += r->task[i].ninstead ? 0 : r->task[i].weight * r->task[i].flops;
    return sum;
}

/* GB of constants that the best candidate reads in a second; NAN: it reads none, or there is no candidate. */
static double constants_rate(const tc_tune_state *s) {
    return s->winner >= 0 && s->form[s->winner].constants > 0 ? s->form[s->winner].constants / s->best / 1e9 : NAN;
}

static json_t *forms_json(const tc_tune_state *s) {
    json_t *list = json_array();
    for (int f = 0; f < s->nform; f++)
        json_array_append_new(list, json_pack("{s:s, s:s, s:i, s:i, s:o}", "form", s->form[f].name, "hash", s->form[f].hash.hex,
                                              "trials", s->form[f].trials, "valid", s->form[f].valid, "best_ms",
                                              tc_report_real(s->form[f].best * 1e3)));
    return list;
}

static json_t *numbers_json(const int *x, int n) {
    json_t *list = json_array();
    for (int k = 0; k < n; k++)
        json_array_append_new(list, json_integer(x[k]));
    return list;
}

static json_t *task_json(const tc_tune_report *r, int i) {
    const tc_tune_state *s = &r->task[i];
    double peak = tc_meas_peak_of(&r->peak, tc_tune_unit(s));
    json_t *j = json_object();
    json_object_set_new(j, "name", json_string(s->name));
    json_object_set_new(j, "hash", json_string(s->hash.hex));
    json_object_set_new(j, "weight", json_real(s->weight));
    json_object_set_new(j, "instead_of", numbers_json(s->instead, s->ninstead));
    json_object_set_new(j, "together_with", numbers_json(s->along, s->nalong));
    if (s->ninstead) {
        json_object_set_new(j, "together_ms", tc_report_real(tc_tune_together(r, i) * 1e3));
        json_object_set_new(j, "apart_ms", tc_report_real(tc_tune_apart(r, i) * 1e3));
    }
    json_object_set_new(j, "trials", json_integer(s->trials));
    json_object_set_new(j, "valid", json_integer(s->valid));
    json_object_set_new(j, "best_ms", tc_report_real(s->best * 1e3));
    json_object_set_new(j, "flops", json_real(s->flops));
    json_object_set_new(j, "gflops", tc_report_real(isfinite(s->best) ? rate(s->flops, s->best) : NAN));
    json_object_set_new(j, "of_peak", tc_report_real(isfinite(s->best) ? rate(s->flops, s->best) / peak : NAN));
    json_object_set_new(j, "unit", tc_report_unit(tc_tune_unit(s)));
    json_object_set_new(j, "mode", json_string(tc_meas_mode_text(s->mode)));
    json_object_set_new(j, "constants_gbs", tc_report_real(s->mode == TC_MEAS_COLD ? constants_rate(s) : NAN));
    json_object_set_new(j, "constant_bytes", s->winner < 0 ? json_null() : tc_report_real(s->form[s->winner].constants));
    json_object_set_new(j, "form", s->winner < 0 ? json_null() : json_string(s->form[s->winner].name));
    json_object_set_new(j, "forms", forms_json(s));
    json_object_set_new(j, "exhausted", json_boolean(s->exhausted));
    json_object_set_new(j, "at_roof", json_boolean(s->at_roof));
    json_object_set_new(j, "settled", json_boolean(s->settled));
    json_object_set_new(j, "since_gain", json_integer(s->since_gain));
    json_object_set_new(j, "failure", s->failure ? json_string(s->failure) : json_null());
    return j;
}

/* By how they ended; meanings: in words. */
static json_t *failed_json(const tc_tune_report *r, json_t *meanings) {
    json_t *j = json_object();
    for (int i = 0; i < TC_MEAS_NERRORS; i++) {
        tc_meas_error e = (tc_meas_error)i;
        if (e == TC_MEAS_NONE || e == TC_MEAS_DUPLICATE || e == TC_MEAS_INTERRUPTED || !r->by_error[e])
            continue;
        json_object_set_new(j, tc_meas_error_text(e), json_integer(r->by_error[e]));
        json_object_set_new(meanings, tc_meas_error_text(e), json_string(tc_meas_error_meaning(e)));
    }
    return j;
}

json_t *tc_report_tuning(const tc_tune_report *r, const char *db) {
    const tc_meas_peak *peak = &r->peak;
    json_t *j = json_object(), *tasks = json_array(), *meanings = json_object();
    for (int i = 0; i < r->ntask; i++)
        json_array_append_new(tasks, task_json(r, i));
    json_object_set_new(j, "tasks", tasks);
    json_object_set_new(j, "trials", json_integer(r->trials));
    json_object_set_new(j, "target_trials", json_integer(r->target_trials));
    json_object_set_new(j, "seconds_limit", json_real(r->seconds_limit));
    json_object_set_new(j, "end", json_string(tc_tune_end_text(r->end)));
    json_object_set_new(j, "end_meaning", json_string(tc_tune_end_meaning(r->end)));
    json_object_set_new(j, "measured", json_integer(r->measured));
    json_object_set_new(j, "valid", json_integer(r->by_error[TC_MEAS_NONE]));
    json_object_set_new(j, "duplicates", json_integer(r->by_error[TC_MEAS_DUPLICATE]));
    json_object_set_new(j, "failed", failed_json(r, meanings));
    json_object_set_new(j, "meanings", meanings);
    json_object_set_new(j, "first_error", r->first_error ? json_string(r->first_error) : json_null());
    json_object_set_new(j, "seconds", json_real(r->seconds));
    json_object_set_new(j, "search_seconds", json_real(r->search_seconds));
    json_object_set_new(j, "model_seconds", json_real(r->model_seconds));
    json_object_set_new(j, "build_seconds", json_real(r->build_seconds));
    json_object_set_new(j, "run_seconds", json_real(r->run_seconds));
    json_t *phases = json_object();
    for (int p = 0; p < TC_TUNE_NPHASES; p++)
        json_object_set_new(phases, tc_tune_phase_text((tc_tune_phase)p),
                            json_pack("{s:i,s:i}", "tried", r->tried[p], "improved", r->improved[p]));
    json_object_set_new(j, "phases", phases);
    json_object_set_new(j, "pairwise", tc_report_real(r->pairwise));
    json_object_set_new(j, "pairwise_known", tc_report_real(r->pairwise_known));
    json_object_set_new(j, "top_recall", tc_report_real(r->top_recall));
    json_object_set_new(j, "model_trusted", json_boolean(r->model_trusted));
    json_object_set_new(j, "expected_gain_ms", tc_report_real(r->expected_gain * 1e3));
    json_object_set_new(j, "contest_seconds", json_real(r->contest_seconds));
    json_object_set_new(j, "rechecked", json_integer(r->rechecked));
    json_object_set_new(j, "corrected", json_integer(r->corrected));
    json_object_set_new(j, "contests", json_integer(r->contests));
    json_object_set_new(j, "ties", json_integer(r->ties));
    json_object_set_new(j, "unreliable", json_integer(r->unreliable));
    json_object_set_new(j, "slowdown", json_real(r->calm.slowdown));
    json_object_set_new(j, "spread", json_real(r->calm.spread));
    json_object_set_new(j, "busy", json_boolean(r->calm.disturbed));
    json_object_set_new(j, "trials_per_second", json_real(tried_per_second(r)));
    json_object_set_new(j, "latency_ms", tc_report_real(r->latency * 1e3));
    json_object_set_new(j, "gflops", tc_report_real(rate(flops_of(r), r->latency)));
    json_object_set_new(j, "peak_gflops", json_real(peak->f32_gflops));
    json_object_set_new(j, "isa", json_string(peak->isa));
    json_object_set_new(j, "triad_gbs", json_real(peak->triad_gbs));
    json_object_set_new(j, "unit_peaks", tc_report_units(peak));
    json_object_set_new(j, "caches", tc_report_caches(peak->threads));
    json_object_set_new(j, "threads", json_integer(peak->threads));
    json_object_set_new(j, "db", json_string(db));
    return j;
}

json_t *tc_report_range(const tc_tune_range *r, const tc_tune_range_report *c, const tc_tune_variants *v) {
    json_t *j = tc_report_variants(r->name, r->workload, v);
    json_object_set_new(j, "tuned", tc_report_places(r->workload, &r->tuned));
    json_object_set_new(j, "entrants", json_integer(c->entrants));
    json_object_set_new(j, "refused", json_integer(c->refused));
    if (c->refused)
        json_object_set_new(j, "refused_why", json_string(c->why));
    json_object_set_new(j, "failed", json_integer(c->failed));
    if (c->failed)
        json_object_set_new(j, "failure", json_string(c->failure));
    json_object_set_new(j, "held", json_boolean(c->held));
    return j;
}
