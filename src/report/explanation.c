/* The document that says why a schedule is as fast as it is, and not faster. */
#include <math.h>

#include "measure/machine/counters.h"
#include "report/report.h"

static const char *const kinds[] = {[TC_TRIAL_CHANGE] = "change",
                                    [TC_TRIAL_CONSTRUCTED] = "constructed",
                                    [TC_TRIAL_KNOWN] = "record",
                                    [TC_TRIAL_CONDITION] = "condition"};

static json_t *text_or_null(const char *s) {
    return tc_json_string(s);
}

/* In per cent of the schedule's time: negative is faster. */
static json_t *percent(double ratio) {
    return tc_json_real(100 * (ratio - 1));
}

static json_t *trial_json(const tc_tune_trial *t) {
    json_t *j = tc_json_pack("{s:s,s:s,s:s}", "kind", kinds[t->kind], "decision", t->change.decision, "what", t->change.what);
    bool timed = !t->failed && t->ratio > 0;
    tc_json_set(j, "about", t->kind == TC_TRIAL_CHANGE ? tc_json_string(tc_space_change_text(t->change.kind)) : json_null());
    tc_json_set(j, "step", t->kind == TC_TRIAL_CHANGE && t->change.step >= 0 ? tc_json_integer(t->change.step + 1) : json_null());
    tc_json_set(j, "failed", text_or_null(t->failed));
    tc_json_set(j, "rounds", tc_json_integer(t->rounds));
    tc_json_set(j, "percent", timed ? percent(t->ratio) : json_null());
    tc_json_set(j, "low", timed ? percent(t->low) : json_null());
    tc_json_set(j, "high", timed ? percent(t->high) : json_null());
    tc_json_set(j, "schedule", tc_json_string(t->trace));
    return j;
}

static json_t *finding_json(const tc_tune_finding *f, bool certain) {
    json_t *j = tc_json_pack("{s:s,s:s,s:s,s:s}", "cause", tc_tune_cause_text(f->cause), "meaning",
                             tc_tune_cause_meaning(f->cause), "remedy", tc_tune_cause_remedy(f->cause), "evidence", f->evidence);
    tc_json_set(j, "counted", text_or_null(f->counted));
    tc_json_set(j, "estimate", tc_json_real(100 * f->estimate));
    tc_json_set(j, "measured", json_boolean(f->trial >= 0));
    tc_json_set(j, "saves", f->trial >= 0 ? tc_json_real(100 * f->saves) : json_null());
    tc_json_set(j, "saves_at_least", f->trial >= 0 ? tc_json_real(100 * f->low) : json_null());
    tc_json_set(j, "trial", f->trial >= 0 ? tc_json_integer(f->trial) : json_null());
    tc_json_set(j, "is_cause", json_boolean(certain && f->score >= TC_TUNE_WORTH));
    return j;
}

static json_t *limits_json(const tc_tune_explanation *x) {
    json_t *list = tc_json_array();
    for (int i = 0; i < x->nlimit; i++) {
        const tc_tune_limit *l = &x->limit[i];
        tc_json_append(list, tc_json_pack("{s:s,s:s,s:f,s:f,s:b}", "name", l->name, "how", l->how, "ms", l->seconds * 1e3,
                                          "of_time", l->seconds / x->seconds, "binds", i == x->binds));
    }
    return list;
}

static json_t *parts_json(const tc_tune_explanation *x) {
    json_t *list = tc_json_array();
    for (int i = 0; i < x->npart; i++) {
        const tc_tune_part *p = &x->part[i];
        json_t *j = tc_json_pack("{s:s,s:s}", "name", p->name, "how", p->how);
        tc_json_set(j, "percent", tc_json_real(100 * p->share));
        tc_json_set(j, "low", tc_json_real(100 * p->low));
        tc_json_set(j, "high", tc_json_real(100 * p->high));
        tc_json_append(list, j);
    }
    return list;
}

static json_t *counters_json(const tc_meas_counted *c) {
    json_t *list = tc_json_array();
    tc_arena *a = tc_arena_new();
    for (int i = 0; c->asked && i < TC_MEAS_NCOUNTERS; i++) {
        json_t *j = tc_json_pack("{s:s}", "name", tc_meas_counter_text((tc_meas_counter)i));
        bool missing = c->missing[i] != 0;
        tc_json_set(j, "of_call", missing ? json_null() : tc_json_real(c->of_call[i]));
        tc_json_set(j, "missing", missing ? tc_json_string(tc_meas_counter_missing(a, c->missing[i])) : json_null());
        tc_json_append(list, j);
    }
    tc_arena_free(a);
    return list;
}

static json_t *roof_json(const tc_tune_roof *r, double seconds) {
    json_t *j =
        tc_json_pack("{s:f,s:f,s:f,s:f,s:f,s:s,s:f,s:f}", "flops", r->flops, "bytes", r->bytes, "intensity", r->intensity,
                     "peak_gflops", r->peak_gflops, "bandwidth_gbs", r->bandwidth_gbs, "bound_by",
                     r->memory_bound ? "bandwidth" : "arithmetic", "roof_ms", r->seconds * 1e3, "of_roof", r->seconds / seconds);
    if (r->unit)
        tc_json_set(j, "unit", tc_json_string(r->unit->text));
    return j;
}

static void put_measured(json_t *j, const tc_tune_explanation *x) {
    tc_json_set(j, "median_ms", tc_json_real(x->seconds * 1e3));
    tc_json_set(j, "gflops", tc_json_real(x->roof.flops / x->seconds / 1e9));
    tc_json_set(j, "roofline", roof_json(&x->roof, x->seconds));
    tc_json_set(j, "limits", limits_json(x));
    tc_json_set(j, "parts", parts_json(x));
    tc_json_set(j, "counters", counters_json(&x->counted));
}

json_t *tc_report_explanation(const tc_report_explained *e) {
    const tc_tune_explanation *x = e->made;
    json_t *causes = tc_json_array(), *trials = tc_json_array();
    json_t *j = tc_json_pack("{s:s,s:s,s:s,s:s,s:s,s:i,s:s}", "answer", x->answer, "kernel", e->kernel, "hash", e->hash, "spec",
                             e->spec, "origin", e->origin, "threads", e->threads, "mode", tc_meas_mode_text(e->mode));
    tc_json_set(j, "cause", x->helps ? tc_json_string(tc_tune_cause_text(x->finding[0].cause)) : json_null());
    tc_json_set(j, "form", text_or_null(e->form));
    tc_json_set(j, "unmeasured", text_or_null(x->unmeasured));
    tc_json_set(j, "no_best", text_or_null(e->no_best));
    tc_report_unrest(j, &x->unrest);
    tc_json_set(j, "waited", tc_json_real(x->waited));
    if (!x->unmeasured)
        put_measured(j, x);
    for (int i = 0; i < x->nfinding; i++)
        tc_json_append(causes, finding_json(&x->finding[i], !x->disturbed));
    for (int i = 0; i < x->ntrial; i++)
        tc_json_append(trials, trial_json(&x->trial[i]));
    tc_json_set(j, "causes", causes);
    tc_json_set(j, "trials", trials);
    tc_json_set(j, "schedule", tc_json_string(e->trace));
    tc_json_set(j, "nest", tc_json_string(tc_sb_str(&x->side.nest)));
    tc_json_set(j, "asm_facts", tc_report_assembly(&x->side.facts));
    tc_json_set(j, "seconds", tc_json_real(x->took));
    return j;
}
