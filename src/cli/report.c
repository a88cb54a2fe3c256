/* The reports of tuning and building: tables for people, JSON for programs. */
#include <math.h>
#include <string.h>
#include <time.h>

#include "cli/cli.h"
#include "measure/machine/caches.h"

static double rate(double flops, double seconds) {
    return flops / seconds / 1e9;
}

/* ---- peaks ---- */

void tc_cli_print_units(FILE *f, const tc_meas_peak *p) {
    for (int i = 0; i < TC_NINTRINSICS; i++)
        if (p->unit_gops[i] > 0)
            fprintf(f, "peak of %s: %.1f GOP/s, of which kernels that can use it are shares\n",
                    tc_intrinsic_row((tc_intrinsic_id)i)->text, p->unit_gops[i]);
}

json_t *tc_cli_units_json(const tc_meas_peak *p) {
    json_t *j = json_object();
    for (int i = 0; i < TC_NINTRINSICS; i++)
        if (p->unit_gops[i] > 0)
            json_object_set_new(j, tc_intrinsic_row((tc_intrinsic_id)i)->text, json_real(p->unit_gops[i]));
    return j;
}

json_t *tc_cli_unit_json(const tc_intrinsic *unit) {
    return unit ? json_string(unit->text) : json_null();
}

/* ---- caches ---- */

/* The time of a line at the largest footprint of at most so many bytes. */
static double line_ns(const tc_meas_caches *c, int64_t bytes) {
    double ns = 0;
    for (int i = 0; i < c->n; i++)
        if (c->walk[i].bytes <= bytes || i == 0)
            ns = c->walk[i].ns;
    return ns;
}

static bool caches_of(int threads, tc_meas_caches *c) {
    tc_target *t;
    tc_error why = {0};
    if (tc_target_parse("native", &t, &why) != TC_OK)
        return false;
    t->machine.cores = threads;
    bool kept = tc_meas_kept_caches(&t->machine, c);
    tc_target_free(t);
    return kept;
}

void tc_cli_print_caches(FILE *f, int threads) {
    tc_meas_caches c;
    char told[24], found[24];
    if (!caches_of(threads, &c))
        return;
    fprintf(
        f,
        "last cache %s of the %s that the system tells of (%d walk%s: a line in %.1f ns, beyond it in %.1f), memory %.1f GB/s\n",
        tc_cli_bytes(found, (double)c.last), tc_cli_bytes(told, (double)c.reported), c.walks, c.walks == 1 ? "" : "s",
        line_ns(&c, c.last), line_ns(&c, INT64_MAX), c.memory_gbs);
}

json_t *tc_cli_caches_json(int threads) {
    tc_meas_caches c;
    if (!caches_of(threads, &c))
        return json_null();
    json_t *walk = json_array();
    for (int i = 0; i < c.n; i++)
        json_array_append_new(walk, json_pack("{s:I, s:f}", "bytes", (json_int_t)c.walk[i].bytes, "line_ns", c.walk[i].ns));
    return json_pack("{s:I, s:I, s:i, s:f, s:o}", "reported_bytes", (json_int_t)c.reported, "measured_bytes", (json_int_t)c.last,
                     "walks", c.walks, "memory_gbs", c.memory_gbs, "walk", walk);
}

/* ---- tuning ---- */

static int64_t failures(const tc_tune_report *r) {
    int64_t n = 0;
    for (int e = 0; e < TC_MEAS_NERRORS; e++)
        if (e != TC_MEAS_NONE && e != TC_MEAS_DUPLICATE && e != TC_MEAS_INTERRUPTED)
            n += r->by_error[e];
    return n;
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

/* The form that is the fastest so far. */
static const char *form_of(const tc_tune_state *s) {
    return s->winner < 0 ? "-" : s->form[s->winner].name;
}

/* Some kernel is computed by another form, with fewer operations than the ones that its speed is told in. */
static bool other_forms(const tc_tune_report *r) {
    for (int i = 0; i < r->ntask; i++)
        if (r->task[i].winner > 0)
            return true;
    return false;
}

/* GB of constants that the best candidate reads in a second; NAN: none does, or there is none. */
static double constants_rate(const tc_tune_state *s) {
    return s->winner >= 0 && s->form[s->winner].constants > 0 ? s->form[s->winner].constants / s->best / 1e9 : NAN;
}

/* What bounds cold tasks is not the peak. */
static void print_cold(FILE *f, const tc_tune_report *r) {
    for (int i = 0; i < r->ntask; i++) {
        const tc_tune_state *s = &r->task[i];
        char bytes[24];
        if (s->mode == TC_MEAS_COLD && isfinite(constants_rate(s)))
            fprintf(f, "task %d gets its constants, %s, from memory in every call: %.1f GB/s\n", i,
                    tc_cli_bytes(bytes, s->form[s->winner].constants), constants_rate(s));
    }
}

/* Kernels that could run in place of others. */
static void print_places(FILE *f, const tc_tune_report *r) {
    for (int i = 0; i < r->ntask; i++) {
        const tc_tune_state *s = &r->task[i];
        char whole[24], apart[24];
        if (!s->ninstead)
            continue;
        fprintf(f, "task %d could run in place of", i);
        for (int k = 0; k < s->ninstead; k++)
            fprintf(f, "%s %d", k ? " and" : "", s->instead[k]);
        for (int k = 0; k < s->nalong; k++)
            fprintf(f, "%s %d", k ? " and" : ", together with", s->along[k]);
        fprintf(f, ", and takes %s where they take %s\n", tc_cli_time(whole, tc_tune_together(r, i)),
                tc_cli_time(apart, tc_tune_apart(r, i)));
    }
}

static void print_tasks(FILE *f, const tc_tune_report *r) {
    static const char *const head[] = {">#",    "task",     ">weight",  ">trials", ">valid",
                                       ">best", ">GFLOP/s", ">of peak", "form",    "timed"};
    tc_cli_table t = tc_cli_table_new(TC_LEN(head), head);
    for (int i = 0; i < r->ntask; i++) {
        const tc_tune_state *s = &r->task[i];
        char time[24];
        tc_cli_cell(&t, "%d", i);
        tc_cli_cell(&t, "%s", s->name);
        tc_cli_cell(&t, "%g", s->weight);
        tc_cli_cell(&t, "%d", s->trials);
        tc_cli_cell(&t, "%d", s->valid);
        tc_cli_cell(&t, "%s", tc_cli_time(time, s->best));
        if (isfinite(s->best)) {
            tc_cli_cell(&t, "%.1f", rate(s->flops, s->best));
            tc_cli_cell(&t, "%.1f %%", 100 * rate(s->flops, s->best) / tc_meas_peak_of(&r->peak, tc_tune_unit(s)));
        } else {
            tc_cli_cell(&t, "-");
            tc_cli_cell(&t, "-");
        }
        tc_cli_cell(&t, "%s", form_of(s));
        tc_cli_cell(&t, "%s", tc_meas_mode_text(s->mode));
    }
    tc_cli_table_print(&t, f);
    tc_cli_table_free(&t);
    if (other_forms(r))
        fputs("GFLOP/s and of peak count the operations of the direct form, whichever is used: one that needs fewer can exceed "
              "100 %\n",
              f);
    print_cold(f, r);
    print_places(f, r);
}

static void print_counts(FILE *f, const tc_tune_report *r) {
    fprintf(f, "measured %d in this run: %lld valid, %lld failed, %lld duplicates\n", r->measured,
            (long long)r->by_error[TC_MEAS_NONE], (long long)failures(r), (long long)r->by_error[TC_MEAS_DUPLICATE]);
    for (int e = 0; e < TC_MEAS_NERRORS; e++)
        if (e != TC_MEAS_NONE && e != TC_MEAS_DUPLICATE && e != TC_MEAS_INTERRUPTED && r->by_error[e])
            fprintf(f, "  %lld %s: %s\n", (long long)r->by_error[e], tc_meas_error_text((tc_meas_error)e),
                    tc_meas_error_meaning((tc_meas_error)e));
    if (r->first_error)
        fprintf(f, "  the first failure: %s\n", r->first_error);
    if (r->unreliable)
        fprintf(f, "  %d that had been measured well failed when run again: one failure is enough, they are not used\n",
                r->unreliable);
    for (int i = 0; i < r->ntask; i++)
        if (!r->task[i].valid && r->task[i].failure)
            fprintf(f, "  task %d has no valid candidate: %s\n", i, r->task[i].failure);
}

/* Why it is over, where the table does not say so. */
static void print_end(FILE *f, const tc_tune_report *r) {
    if (r->measured == 0 && r->end != TC_TUNE_END_STOPPED && r->end != TC_TUNE_END_FAILED)
        fprintf(f, "nothing to do: %s\n", tc_tune_end_meaning(r->end));
    else if (r->end == TC_TUNE_END_AT_ROOF || r->end == TC_TUNE_END_NO_GAIN || r->end == TC_TUNE_END_EXHAUSTED)
        fprintf(f, "ended before the budget was spent: %s\n", tc_tune_end_meaning(r->end));
}

/* Where candidates came from, and what the model's word was worth. */
static void print_model(FILE *f, const tc_tune_report *r) {
    const char *sep = "candidates (that became the best):";
    for (int p = 0; p < TC_TUNE_NPHASES; p++)
        if (r->tried[p]) {
            fprintf(f, "%s %s %d (%d)", sep, tc_tune_phase_text((tc_tune_phase)p), r->tried[p], r->improved[p]);
            sep = ",";
        }
    if (*sep == ',')
        fputc('\n', f);
    if (!isnan(r->pairwise))
        fprintf(f, "cost model on candidates not seen before: %.0f %% of pairs ordered rightly, %.0f %% of the fastest found%s\n",
                100 * r->pairwise, 100 * r->top_recall, r->model_trusted ? "" : "; no better than chance: not used");
}

void tc_cli_report_tuning(FILE *f, const tc_tune_report *r, const char *db) {
    char time[24], spent[24];
    const tc_meas_peak *peak = &r->peak;
    print_tasks(f, r);
    fputc('\n', f);
    print_counts(f, r);
    fprintf(f, "%d", r->trials);
    if (r->target_trials)
        fprintf(f, " of %d", r->target_trials);
    fprintf(f, " trials in %s, %.2f trials/s (search %.0f s, model %.0f s, build %.0f s, run %.0f s)\n",
            tc_cli_duration(spent, r->seconds), tried_per_second(r), r->search_seconds, r->model_seconds, r->build_seconds,
            r->run_seconds);
    if (r->contests)
        fprintf(f, "%d contests (the best and its rivals in turns, %.0f s): %d ties, in which the incumbent stays\n", r->contests,
                r->contest_seconds, r->ties);
    if (r->rechecked)
        fprintf(
            f,
            "nothing new was found where all is known: %d earlier records were timed again in turns with the best, %d of them "
            "corrected\n",
            r->rechecked, r->corrected);
    print_model(f, r);
    if (r->calm.disturbed)
        fprintf(f, "the machine is busy: a fixed loop takes %.2f times as long as at best, repeats spread over %.0f %%\n",
                r->calm.slowdown, 100 * r->calm.spread);
    fprintf(f, "peak %.1f GFLOP/s (f32, %s, %d threads), %.1f GB/s\n", peak->f32_gflops, peak->isa, peak->threads,
            peak->triad_gbs);
    tc_cli_print_units(f, peak);
    tc_cli_print_caches(f, peak->threads);
    if (isfinite(r->latency))
        fprintf(f, "sum of the best kernels: %s, %.1f GFLOP/s\n", tc_cli_time(time, r->latency), rate(flops_of(r), r->latency));
    print_end(f, r);
    fprintf(f, "records are in %s\n", db);
}

static json_t *forms_json(const tc_tune_state *s) {
    json_t *list = json_array();
    for (int f = 0; f < s->nform; f++)
        json_array_append_new(list, json_pack("{s:s, s:s, s:i, s:i, s:o}", "form", s->form[f].name, "hash", s->form[f].hash.hex,
                                              "trials", s->form[f].trials, "valid", s->form[f].valid, "best_ms",
                                              tc_cli_json_real(s->form[f].best * 1e3)));
    return list;
}

static json_t *numbers_json(const int *x, int n) {
    json_t *list = json_array();
    for (int k = 0; k < n; k++)
        json_array_append_new(list, json_integer(x[k]));
    return list;
}

static json_t *task_json(const tc_tune_state *s, const tc_meas_peak *peaks) {
    double peak = tc_meas_peak_of(peaks, tc_tune_unit(s));
    json_t *j = json_object();
    json_object_set_new(j, "name", json_string(s->name));
    json_object_set_new(j, "hash", json_string(s->hash.hex));
    json_object_set_new(j, "weight", json_real(s->weight));
    json_object_set_new(j, "instead_of", numbers_json(s->instead, s->ninstead));
    json_object_set_new(j, "together_with", numbers_json(s->along, s->nalong));
    json_object_set_new(j, "trials", json_integer(s->trials));
    json_object_set_new(j, "valid", json_integer(s->valid));
    json_object_set_new(j, "best_ms", tc_cli_json_real(s->best * 1e3));
    json_object_set_new(j, "flops", json_real(s->flops));
    json_object_set_new(j, "gflops", tc_cli_json_real(isfinite(s->best) ? rate(s->flops, s->best) : NAN));
    json_object_set_new(j, "of_peak", tc_cli_json_real(isfinite(s->best) ? rate(s->flops, s->best) / peak : NAN));
    json_object_set_new(j, "unit", tc_cli_unit_json(tc_tune_unit(s)));
    json_object_set_new(j, "mode", json_string(tc_meas_mode_text(s->mode)));
    json_object_set_new(j, "constants_gbs", tc_cli_json_real(s->mode == TC_MEAS_COLD ? constants_rate(s) : NAN));
    json_object_set_new(j, "form", s->winner < 0 ? json_null() : json_string(form_of(s)));
    json_object_set_new(j, "forms", forms_json(s));
    json_object_set_new(j, "exhausted", json_boolean(s->exhausted));
    json_object_set_new(j, "at_roof", json_boolean(s->at_roof));
    json_object_set_new(j, "settled", json_boolean(s->settled));
    json_object_set_new(j, "since_gain", json_integer(s->since_gain));
    json_object_set_new(j, "failure", s->failure ? json_string(s->failure) : json_null());
    return j;
}

static json_t *failed_json(const tc_tune_report *r) {
    json_t *j = json_object();
    for (int e = 0; e < TC_MEAS_NERRORS; e++)
        if (e != TC_MEAS_NONE && e != TC_MEAS_DUPLICATE && e != TC_MEAS_INTERRUPTED && r->by_error[e])
            json_object_set_new(j, tc_meas_error_text((tc_meas_error)e), json_integer(r->by_error[e]));
    return j;
}

json_t *tc_cli_tuning_json(const tc_tune_report *r, const char *db) {
    const tc_meas_peak *peak = &r->peak;
    json_t *j = json_object(), *tasks = json_array();
    for (int i = 0; i < r->ntask; i++)
        json_array_append_new(tasks, task_json(&r->task[i], peak));
    json_object_set_new(j, "tasks", tasks);
    json_object_set_new(j, "trials", json_integer(r->trials));
    json_object_set_new(j, "target_trials", json_integer(r->target_trials));
    json_object_set_new(j, "seconds_limit", json_real(r->seconds_limit));
    json_object_set_new(j, "end", json_string(tc_tune_end_text(r->end)));
    json_object_set_new(j, "measured", json_integer(r->measured));
    json_object_set_new(j, "valid", json_integer(r->by_error[TC_MEAS_NONE]));
    json_object_set_new(j, "duplicates", json_integer(r->by_error[TC_MEAS_DUPLICATE]));
    json_object_set_new(j, "failed", failed_json(r));
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
    json_object_set_new(j, "pairwise", tc_cli_json_real(r->pairwise));
    json_object_set_new(j, "pairwise_known", tc_cli_json_real(r->pairwise_known));
    json_object_set_new(j, "top_recall", tc_cli_json_real(r->top_recall));
    json_object_set_new(j, "model_trusted", json_boolean(r->model_trusted));
    json_object_set_new(j, "expected_gain_ms", tc_cli_json_real(r->expected_gain * 1e3));
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
    json_object_set_new(j, "latency_ms", tc_cli_json_real(r->latency * 1e3));
    json_object_set_new(j, "peak_gflops", json_real(peak->f32_gflops));
    json_object_set_new(j, "unit_peaks", tc_cli_units_json(peak));
    json_object_set_new(j, "caches", tc_cli_caches_json(peak->threads));
    json_object_set_new(j, "threads", json_integer(peak->threads));
    json_object_set_new(j, "db", json_string(db));
    return j;
}

/* ---- kernels of a built model ---- */

static const char *date_of(char *text, size_t size, int64_t ms) {
    time_t t = (time_t)(ms / 1000);
    struct tm tm;
    if (!gmtime_r(&t, &tm) || !strftime(text, size, "%Y-%m-%d %H:%M", &tm))
        snprintf(text, size, "?");
    return text;
}

void tc_cli_report_kernels(FILE *f, const tc_graph_kernel *k, int n) {
    static const char *const head[] = {">#", "kernel", ">count", ">MFLOP", ">recorded", "when", "trace", "form", "schedule"};
    tc_cli_table t = tc_cli_table_new(TC_LEN(head), head);
    tc_arena *a = tc_arena_new();
    int records = 0;
    for (int i = 0; i < n; i++) {
        char time[24], when[24];
        bool recorded = k[i].source == TC_GRAPH_FROM_RECORD;
        records += recorded;
        tc_cli_cell(&t, "%d", i);
        tc_cli_cell(&t, "%s", k[i].name);
        tc_cli_cell(&t, "%d", k[i].count);
        tc_cli_cell(&t, "%.2f", k[i].flops / 1e6);
        tc_cli_cell(&t, "%s", recorded ? tc_cli_time(time, k[i].recorded) : "-");
        tc_cli_cell(&t, "%s", recorded ? date_of(when, sizeof when, k[i].when_ms) : "-");
        tc_cli_cell(&t, "%.8s", k[i].trace_hash.hex);
        tc_cli_cell(&t, "%s", k[i].form);
        if (recorded && k[i].variants > 1)
            tc_cli_cell(&t, "%d variants by size, the first record %lld%s%s", k[i].variants, (long long)k[i].record,
                        *k[i].why ? "; " : "", k[i].why);
        else if (recorded)
            tc_cli_cell(&t, "record %lld%s%s", (long long)k[i].record, *k[i].why ? "; " : "", k[i].why);
        else
            tc_cli_cell(&t, "default%s: %s", tc_cli_by_cost(k[i].trace, a), k[i].why);
    }
    tc_arena_free(a);
    tc_cli_table_print(&t, f);
    tc_cli_table_free(&t);
    fprintf(f, "%d of %d kernels from records, %d from the default schedule\n", records, n, n - records);
}

json_t *tc_cli_kernels_json(const tc_graph_kernel *k, int n) {
    json_t *list = json_array();
    for (int i = 0; i < n; i++) {
        json_t *j = json_object();
        double each = k[i].seconds / k[i].count;
        json_object_set_new(j, "name", json_string(k[i].name));
        json_object_set_new(j, "symbol", json_string(k[i].symbol));
        json_object_set_new(j, "hash", json_string(k[i].hash.hex));
        json_object_set_new(j, "form", json_string(k[i].form));
        json_object_set_new(j, "count", json_integer(k[i].count));
        json_object_set_new(j, "flops", json_real(k[i].flops));
        json_object_set_new(j, "unit", tc_cli_unit_json(k[i].unit));
        json_object_set_new(j, "trace_hash", json_string(k[i].trace_hash.hex));
        json_object_set_new(j, "source", json_string(k[i].source == TC_GRAPH_FROM_RECORD ? "record" : "default"));
        if (k[i].variants)
            json_object_set_new(j, "variants", json_integer(k[i].variants));
        if (k[i].source == TC_GRAPH_FROM_RECORD) {
            json_object_set_new(j, "record", json_integer(k[i].record));
        }
        if (k[i].recorded > 0) { /* a library tells only which record it was */
            json_object_set_new(j, "recorded_ms", json_real(k[i].recorded * 1e3));
            json_object_set_new(j, "when_ms", json_integer(k[i].when_ms));
        }
        if (*k[i].why)
            json_object_set_new(j, "why", json_string(k[i].why));
        if (k[i].seconds > 0) {
            json_object_set_new(j, "time_ms", json_real(each * 1e3));
            json_object_set_new(j, "total_ms", json_real(k[i].seconds * 1e3));
            json_object_set_new(j, "gflops", json_real(rate(k[i].flops, each)));
        }
        json_array_append_new(list, j);
    }
    return list;
}

/* ---- records compared in the network ---- */

void tc_cli_report_contest(FILE *f, const tc_graph_contest *c, const tc_graph_kernel *k) {
    static const char *const head[] = {">#", "kernel", ">record", ">tuned", ">in network", ">speed", "verdict"};
    tc_cli_table t = tc_cli_table_new(TC_LEN(head), head);
    int changed = 0;
    for (int i = 0; i < c->nkernel; i++) {
        changed += c->ranks[i] > 0;
        for (int r = 0; r < c->k; r++) {
            const tc_graph_trial *x = &c->trials[i * c->k + r];
            char index[24], tuned[24], here[24];
            if (!x->record)
                continue;
            snprintf(index, sizeof index, "%d", i);
            tc_cli_cell(&t, "%s", r ? "" : index);
            tc_cli_cell(&t, "%s", r ? "" : k[i].name);
            tc_cli_cell(&t, "%lld", (long long)x->record);
            tc_cli_cell(&t, "%s", tc_cli_time(tuned, x->recorded));
            tc_cli_cell(&t, "%s", tc_cli_time(here, x->seconds / k[i].count));
            tc_cli_cell(&t, "%.3f", x->speedup);
            tc_cli_cell(&t, "%s", r == c->ranks[i] ? "used" : x->faster ? "faster" : r && x->speedup > 1 ? "no sure gain" : "-");
        }
    }
    tc_cli_table_print(&t, f);
    tc_cli_table_free(&t);
    fprintf(f, "%d rounds in turns: %d of %d kernels change their record\n", c->rounds, changed, c->nkernel);
}

json_t *tc_cli_refusals_json(const tc_graph_admission *x) {
    json_t *list = json_array();
    for (int i = 0; i < x->nrefused; i++) {
        const tc_graph_refusal *r = &x->refused[i];
        json_array_append_new(list, json_pack("{s:I, s:s, s:s, s:s}", "record", (json_int_t)r->record.id, "kernel", r->kernel,
                                              "error", tc_meas_error_text(r->now.error), "message", r->now.message));
    }
    return list;
}

json_t *tc_cli_contest_json(const tc_graph_contest *c) {
    json_t *list = json_array();
    for (int i = 0; i < c->nkernel; i++) {
        json_t *trials = json_array();
        for (int r = 0; r < c->k; r++) {
            const tc_graph_trial *x = &c->trials[i * c->k + r];
            if (x->record)
                json_array_append_new(trials, json_pack("{s:I, s:f, s:f, s:b, s:b}", "record", (json_int_t)x->record, "total_ms",
                                                        x->seconds * 1e3, "speedup", x->speedup, "faster", x->faster, "used",
                                                        r == c->ranks[i]));
        }
        json_array_append_new(list, trials);
    }
    return list;
}

/* ---- rounding to bf16 within a budget of error ---- */

json_t *tc_cli_precision_json(const tc_graph_precision *p) {
    json_t *all = json_array();
    for (int i = 0; i < p->n; i++) {
        const tc_graph_rounding *k = &p->kernels[i];
        json_array_append_new(all,
                              json_pack("{s:s,s:i,s:f,s:f,s:o,s:b}", "name", k->name, "count", k->count, "f32_ms", k->f32 * 1e3,
                                        "bf16_ms", k->bf16 * 1e3, "error", tc_cli_json_real(k->error), "used", k->used));
    }
    return json_pack("{s:o,s:o}", "error", tc_cli_json_real(p->error), "kernels", all);
}

void tc_cli_report_precision(FILE *out, const tc_graph_precision *p, double budget, const char *inputs) {
    char f32[24], bf16[24];
    tc_cli_table t = tc_cli_table_new(6, (const char *const[]){"kernel", ">times", ">f32", ">bf16", ">error alone", "in use"});
    for (int i = 0; i < p->n; i++) {
        const tc_graph_rounding *k = &p->kernels[i];
        tc_cli_cell(&t, "%s", k->name);
        tc_cli_cell(&t, "%d", k->count);
        tc_cli_cell(&t, "%s", tc_cli_time(f32, k->f32));
        tc_cli_cell(&t, "%s", tc_cli_time(bf16, k->bf16));
        tc_cli_cell(&t, "%.2e", k->error);
        tc_cli_cell(&t, "%s", k->used ? "bf16" : "f32");
    }
    tc_cli_table_print(&t, out);
    tc_cli_table_free(&t);
    fprintf(out, "%d of %d kernels that bf16 makes faster round: error of the outputs %.2e, budget %g, on %s\n\n", p->nused, p->n,
            p->error, budget, inputs ? inputs : "drawn inputs");
}
