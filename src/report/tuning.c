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
    json_t *list = tc_json_array();
    for (int f = 0; f < s->nform; f++)
        tc_json_append(list, tc_json_pack("{s:s, s:s, s:i, s:i, s:o}", "form", s->form[f].name, "hash", s->form[f].hash.hex,
                                          "trials", s->form[f].trials, "valid", s->form[f].valid, "best_ms",
                                          tc_json_real(s->form[f].best * 1e3)));
    return list;
}

static json_t *numbers_json(const int *x, int n) {
    json_t *list = tc_json_array();
    for (int k = 0; k < n; k++)
        tc_json_append(list, tc_json_integer(x[k]));
    return list;
}

static json_t *task_json(const tc_tune_report *r, int i) {
    const tc_tune_state *s = &r->task[i];
    double peak = tc_meas_peak_of(&r->peak, tc_tune_unit(s));
    json_t *j = tc_json_object();
    tc_json_set(j, "name", tc_json_string(s->name));
    tc_json_set(j, "hash", tc_json_string(s->hash.hex));
    tc_json_set(j, "weight", tc_json_real(s->weight));
    tc_json_set(j, "instead_of", numbers_json(s->instead, s->ninstead));
    tc_json_set(j, "together_with", numbers_json(s->along, s->nalong));
    if (s->ninstead) {
        tc_json_set(j, "together_ms", tc_json_real(tc_tune_together(r, i) * 1e3));
        tc_json_set(j, "apart_ms", tc_json_real(tc_tune_apart(r, i) * 1e3));
    }
    tc_json_set(j, "trials", tc_json_integer(s->trials));
    tc_json_set(j, "valid", tc_json_integer(s->valid));
    tc_json_set(j, "best_ms", tc_json_real(s->best * 1e3));
    tc_json_set(j, "flops", tc_json_real(s->flops));
    tc_json_set(j, "gflops", tc_json_real(isfinite(s->best) ? rate(s->flops, s->best) : NAN));
    tc_json_set(j, "of_peak", tc_json_real(isfinite(s->best) ? rate(s->flops, s->best) / peak : NAN));
    tc_json_set(j, "unit", tc_report_unit(tc_tune_unit(s)));
    tc_json_set(j, "mode", tc_json_string(tc_meas_mode_text(s->mode)));
    tc_json_set(j, "constants_gbs", tc_json_real(s->mode == TC_MEAS_COLD ? constants_rate(s) : NAN));
    tc_json_set(j, "constant_bytes", s->winner < 0 ? json_null() : tc_json_real(s->form[s->winner].constants));
    tc_json_set(j, "form", s->winner < 0 ? json_null() : tc_json_string(s->form[s->winner].name));
    tc_json_set(j, "forms", forms_json(s));
    tc_json_set(j, "exhausted", json_boolean(s->exhausted));
    tc_json_set(j, "at_roof", json_boolean(s->at_roof));
    tc_json_set(j, "settled", json_boolean(s->settled));
    tc_json_set(j, "since_gain", tc_json_integer(s->since_gain));
    tc_json_set(j, "failure", tc_json_string(s->failure));
    return j;
}

/* By how they ended; meanings: in words. */
static json_t *failed_json(const tc_tune_report *r, json_t *meanings) {
    json_t *j = tc_json_object();
    for (int i = 0; i < TC_MEAS_NERRORS; i++) {
        tc_meas_error e = (tc_meas_error)i;
        if (e == TC_MEAS_NONE || e == TC_MEAS_DUPLICATE || e == TC_MEAS_INTERRUPTED || !r->by_error[e])
            continue;
        tc_json_set(j, tc_meas_error_text(e), tc_json_integer(r->by_error[e]));
        tc_json_set(meanings, tc_meas_error_text(e), tc_json_string(tc_meas_error_meaning(e)));
    }
    return j;
}

json_t *tc_report_tuning(const tc_tune_report *r, const char *db) {
    const tc_meas_peak *peak = &r->peak;
    json_t *j = tc_json_object(), *tasks = tc_json_array(), *meanings = tc_json_object();
    for (int i = 0; i < r->ntask; i++)
        tc_json_append(tasks, task_json(r, i));
    tc_json_set(j, "tasks", tasks);
    tc_json_set(j, "trials", tc_json_integer(r->trials));
    tc_json_set(j, "target_trials", tc_json_integer(r->target_trials));
    tc_json_set(j, "seconds_limit", tc_json_real(r->seconds_limit));
    tc_json_set(j, "end", tc_json_string(tc_tune_end_text(r->end)));
    tc_json_set(j, "end_meaning", tc_json_string(tc_tune_end_meaning(r->end)));
    tc_json_set(j, "measured", tc_json_integer(r->measured));
    tc_json_set(j, "valid", tc_json_integer(r->by_error[TC_MEAS_NONE]));
    tc_json_set(j, "duplicates", tc_json_integer(r->by_error[TC_MEAS_DUPLICATE]));
    tc_json_set(j, "failed", failed_json(r, meanings));
    tc_json_set(j, "meanings", meanings);
    tc_json_set(j, "first_error", tc_json_string(r->first_error));
    tc_json_set(j, "seconds", tc_json_real(r->seconds));
    tc_json_set(j, "search_seconds", tc_json_real(r->search_seconds));
    tc_json_set(j, "model_seconds", tc_json_real(r->model_seconds));
    tc_json_set(j, "build_seconds", tc_json_real(r->build_seconds));
    tc_json_set(j, "run_seconds", tc_json_real(r->run_seconds));
    json_t *phases = tc_json_object();
    for (int p = 0; p < TC_TUNE_NPHASES; p++)
        tc_json_set(phases, tc_tune_phase_text((tc_tune_phase)p),
                    tc_json_pack("{s:i,s:i}", "tried", r->tried[p], "improved", r->improved[p]));
    tc_json_set(j, "phases", phases);
    tc_json_set(j, "pairwise", tc_json_real(r->pairwise));
    tc_json_set(j, "pairwise_known", tc_json_real(r->pairwise_known));
    tc_json_set(j, "top_recall", tc_json_real(r->top_recall));
    tc_json_set(j, "model_trusted", json_boolean(r->model_trusted));
    tc_json_set(j, "expected_gain_ms", tc_json_real(r->expected_gain * 1e3));
    tc_json_set(j, "contest_seconds", tc_json_real(r->contest_seconds));
    tc_json_set(j, "rechecked", tc_json_integer(r->rechecked));
    tc_json_set(j, "corrected", tc_json_integer(r->corrected));
    tc_json_set(j, "contests", tc_json_integer(r->contests));
    tc_json_set(j, "ties", tc_json_integer(r->ties));
    tc_json_set(j, "unreliable", tc_json_integer(r->unreliable));
    tc_report_unrest(j, &r->unrest);
    tc_json_set(j, "trials_per_second", tc_json_real(tried_per_second(r)));
    tc_json_set(j, "latency_ms", tc_json_real(r->latency * 1e3));
    tc_json_set(j, "gflops", tc_json_real(rate(flops_of(r), r->latency)));
    tc_json_set(j, "peak_gflops", tc_json_real(peak->f32_gflops));
    tc_json_set(j, "isa", tc_json_string(peak->isa));
    tc_json_set(j, "triad_gbs", tc_json_real(peak->triad_gbs));
    tc_json_set(j, "unit_peaks", tc_report_units(peak));
    tc_json_set(j, "caches", tc_report_caches(peak->threads));
    tc_json_set(j, "threads", tc_json_integer(peak->threads));
    tc_json_set(j, "db", tc_json_string(db));
    return j;
}

json_t *tc_report_gain(const tc_tune_gain *g) {
    const tc_tune_verdict *v = &g->verdict;
    json_t *j = tc_json_object();
    tc_json_set(j, "seconds", tc_json_real(g->seconds));
    tc_json_set(j, "why", tc_json_string(g->why));
    if (g->why)
        return j;
    tc_json_set(j, "kernels", tc_json_integer(g->nkernel));
    tc_json_set(j, "kept", tc_json_integer(g->nkept));
    tc_json_set(j, "rounds", tc_json_integer(v->rounds));
    if (v->rounds == 0)
        return j;
    tc_json_set(j, "untuned_ms", tc_json_real(v->b * 1e3));
    tc_json_set(j, "tuned_ms", tc_json_real(v->a * 1e3));
    tc_json_set(j, "speedup", tc_json_real(v->ratio));
    tc_json_set(j, "speedup_low", tc_json_real(v->low));
    tc_json_set(j, "speedup_high", tc_json_real(v->high));
    return j;
}

json_t *tc_report_range(const tc_tune_range *r, const tc_tune_range_report *c, const tc_tune_variants *v) {
    json_t *j = tc_report_variants(r->name, r->workload, v);
    tc_json_set(j, "tuned", tc_report_places(r->workload, &r->tuned));
    tc_json_set(j, "entrants", tc_json_integer(c->entrants));
    tc_json_set(j, "refused", tc_json_integer(c->refused));
    if (c->refused)
        tc_json_set(j, "refused_why", tc_json_string(c->why));
    tc_json_set(j, "failed", tc_json_integer(c->failed));
    if (c->failed)
        tc_json_set(j, "failure", tc_json_string(c->failure));
    tc_json_set(j, "held", json_boolean(c->held));
    return j;
}
