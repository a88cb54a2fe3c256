/* Prints the reports of tuning and building: tables for people, JSON for programs. */
#include <math.h>
#include <string.h>
#include <time.h>

#include "cli/print.h"

/* ---- what the machine can do ---- */

void tc_cli_print_units(FILE *f, const json_t *units) {
    const char *name;
    json_t *gops;
    json_object_foreach((json_t *)(uintptr_t)units, name, gops) tc_say(
        f, "peak of %s: %.1f GOP/s; the shares of kernels that can use it refer to this peak\n", name, json_number_value(gops));
}

/* The time of a cache line at the largest footprint of at most this many bytes. */
static double line_ns(const json_t *walk, double bytes) {
    double ns = 0;
    for (size_t i = 0; i < json_array_size(walk); i++)
        if (i == 0 || (double)tc_cli_number(json_array_get(walk, i), "bytes") <= bytes)
            ns = tc_cli_real(json_array_get(walk, i), "line_ns");
    return ns;
}

void tc_cli_print_caches(FILE *f, const json_t *caches) {
    char told[24], found[24];
    const json_t *walk = json_object_get(caches, "walk");
    double last = (double)tc_cli_number(caches, "measured_bytes");
    long long walks = tc_cli_number(caches, "walks");
    if (!json_is_object(caches))
        return;
    tc_say(f,
           "last cache %s, of %s that the system reports (%lld walk%s: a line in %.1f ns, beyond the cache in %.1f), memory "
           "%.1f GB/s\n",
           tc_text_bytes(found, last), tc_text_bytes(told, (double)tc_cli_number(caches, "reported_bytes")), walks,
           walks == 1 ? "" : "s", line_ns(walk, last), line_ns(walk, INFINITY), tc_cli_real(caches, "memory_gbs"));
}

/* ---- tuning ---- */

static double seconds_of(const json_t *j, const char *key) {
    return tc_cli_real(j, key) / 1e3;
}

/* How it is computed by what is the fastest so far. */
static const char *form_of(const json_t *task) {
    const char *form = json_string_value(json_object_get(task, "form"));
    return form ? form : "-";
}

/* Some kernel has another form in use, with fewer operations than the operations that its speed is printed in. */
static bool other_forms(const json_t *tasks) {
    for (size_t i = 0; i < json_array_size(tasks); i++) {
        const json_t *t = json_array_get(tasks, i), *own = json_array_get(json_object_get(t, "forms"), 0);
        if (json_is_string(json_object_get(t, "form")) && strcmp(form_of(t), tc_cli_text(own, "form")) != 0)
            return true;
    }
    return false;
}

/* What bounds cold tasks is not the peak. */
static void print_cold(FILE *f, const json_t *tasks) {
    for (size_t i = 0; i < json_array_size(tasks); i++) {
        const json_t *t = json_array_get(tasks, i);
        char bytes[24];
        if (json_is_number(json_object_get(t, "constants_gbs")))
            tc_say(f, "task %zu reads its constants, %s, from memory in every call: %.1f GB/s\n", i,
                   tc_text_bytes(bytes, tc_cli_real(t, "constant_bytes")), tc_cli_real(t, "constants_gbs"));
    }
}

static void print_numbers(FILE *f, const json_t *list, const char *before) {
    for (size_t k = 0; k < json_array_size(list); k++)
        tc_say(f, "%s %lld", k ? " and" : before, (long long)json_integer_value(json_array_get(list, k)));
}

/* Kernels that could run in place of others. */
static void print_places(FILE *f, const json_t *tasks) {
    for (size_t i = 0; i < json_array_size(tasks); i++) {
        const json_t *t = json_array_get(tasks, i), *instead = json_object_get(t, "instead_of");
        char whole[24], apart[24];
        if (!json_array_size(instead))
            continue;
        tc_say(f, "task %zu could run in place of", i);
        print_numbers(f, instead, "");
        print_numbers(f, json_object_get(t, "together_with"), ", together with");
        tc_say(f, ", and takes %s where they take %s\n", tc_text_time(whole, seconds_of(t, "together_ms")),
               tc_text_time(apart, seconds_of(t, "apart_ms")));
    }
}

static void put_task(tc_cli_table *table, size_t i, const json_t *t) {
    bool timed = json_is_number(json_object_get(t, "best_ms"));
    tc_cli_cell(table, "%zu", i);
    tc_cli_cell(table, "%s", tc_cli_text(t, "name"));
    tc_cli_cell(table, "%g", tc_cli_real(t, "weight"));
    tc_cli_cell(table, "%lld", tc_cli_number(t, "trials"));
    tc_cli_cell(table, "%lld", tc_cli_number(t, "valid"));
    tc_cli_cell_time(table, tc_cli_real(t, "best_ms"));
    tc_cli_cell_real(table, 1, timed ? tc_cli_real(t, "gflops") : NAN);
    tc_cli_cell_share(table, 1, timed ? tc_cli_real(t, "of_peak") : NAN);
    tc_cli_cell(table, "%s", form_of(t));
    tc_cli_cell(table, "%s", tc_cli_text(t, "mode"));
}

static void print_tasks(const json_t *tasks, tc_cli_format format) {
    static const char *const head[] = {">#",       "task",     ">weight",    ">trials", ">valid",
                                       ">best|ms", ">GFLOP/s", ">of peak|%", "form",    "timed"};
    tc_cli_table t = tc_cli_table_new(format, TC_LEN(head), head);
    for (size_t i = 0; i < json_array_size(tasks); i++)
        put_task(&t, i, json_array_get(tasks, i));
    tc_cli_table_print(&t, stdout);
    tc_cli_table_free(&t);
}

static void print_notes(FILE *f, const json_t *tasks) {
    if (other_forms(tasks))
        tc_say(f, "GFLOP/s and 'of peak' count the operations of the direct form: a form that needs fewer operations can exceed "
                  "100 %%\n");
    print_cold(f, tasks);
    print_places(f, tasks);
}

static void print_failures(FILE *f, json_t *failed, const json_t *meanings) {
    const char *kind;
    json_t *n;
    json_object_foreach(failed, kind, n)
        tc_say(f, "  %lld %s: %s\n", (long long)json_integer_value(n), kind, tc_cli_text(meanings, kind));
}

static long long sum_of(json_t *counts) {
    const char *kind;
    json_t *n;
    long long sum = 0;
    json_object_foreach(counts, kind, n) sum += (long long)json_integer_value(n);
    return sum;
}

static void print_counts(FILE *f, const json_t *j) {
    json_t *failed = json_object_get(j, "failed");
    const json_t *tasks = json_object_get(j, "tasks"), *first = json_object_get(j, "first_error");
    tc_say(f, "measured %lld in this run: %lld valid, %lld failed, %lld duplicates\n", tc_cli_number(j, "measured"),
           tc_cli_number(j, "valid"), sum_of(failed), tc_cli_number(j, "duplicates"));
    print_failures(f, failed, json_object_get(j, "meanings"));
    if (json_is_string(first))
        tc_say(f, "  the first failure: %s\n", json_string_value(first));
    if (tc_cli_number(j, "unreliable"))
        tc_say(f, "  %lld valid records failed when they ran again, and are no longer used\n", tc_cli_number(j, "unreliable"));
    for (size_t i = 0; i < json_array_size(tasks); i++) {
        const json_t *t = json_array_get(tasks, i);
        if (!tc_cli_number(t, "valid") && json_is_string(json_object_get(t, "failure")))
            tc_say(f, "  task %zu has no valid candidate: %s\n", i, tc_cli_text(t, "failure"));
    }
}

/* Why it is over, where the table does not say so. */
static void print_end(FILE *f, const json_t *j) {
    static const char *const early[] = {"at_roof", "no_gain", "exhausted"};
    const char *end = tc_cli_text(j, "end");
    if (!tc_cli_number(j, "measured")) {
        if (strcmp(end, "stopped") != 0 && strcmp(end, "failed") != 0)
            tc_say(f, "nothing to do: %s\n", tc_cli_text(j, "end_meaning"));
        return;
    }
    for (size_t i = 0; i < TC_LEN(early); i++)
        if (strcmp(end, early[i]) == 0)
            tc_say(f, "ended before the budget was spent: %s\n", tc_cli_text(j, "end_meaning"));
}

/* Prints the sources of candidates, and the accuracy of the cost model. */
static void print_model(FILE *f, const json_t *j) {
    const char *sep = "candidates (that became the best):", *phase;
    json_t *p;
    json_object_foreach(json_object_get(j, "phases"), phase, p) if (tc_cli_number(p, "tried")) {
        tc_say(f, "%s %s %lld (%lld)", sep, phase, tc_cli_number(p, "tried"), tc_cli_number(p, "improved"));
        sep = ",";
    }
    if (*sep == ',')
        tc_say(f, "\n");
    if (json_is_number(json_object_get(j, "pairwise")))
        tc_say(f, "cost model on candidates not seen before: %.0f %% of pairs ordered rightly, %.0f %% of the fastest found%s\n",
               100 * tc_cli_real(j, "pairwise"), 100 * tc_cli_real(j, "top_recall"),
               json_is_true(json_object_get(j, "model_trusted")) ? "" : "; no better than chance: not used");
}

static void print_effort(FILE *f, const json_t *j) {
    char spent[24];
    tc_say(f, "%lld", tc_cli_number(j, "trials"));
    if (tc_cli_number(j, "target_trials"))
        tc_say(f, " of %lld", tc_cli_number(j, "target_trials"));
    tc_say(f, " trials in %s, %.2f trials/s (search %.0f s, model %.0f s, build %.0f s, run %.0f s)\n",
           tc_text_duration(spent, tc_cli_real(j, "seconds")), tc_cli_real(j, "trials_per_second"),
           tc_cli_real(j, "search_seconds"), tc_cli_real(j, "model_seconds"), tc_cli_real(j, "build_seconds"),
           tc_cli_real(j, "run_seconds"));
    if (tc_cli_number(j, "contests"))
        tc_say(f, "%lld contests (the best and its rivals in turns, %.0f s): %lld ties, in which the best stays\n",
               tc_cli_number(j, "contests"), tc_cli_real(j, "contest_seconds"), tc_cli_number(j, "ties"));
    if (tc_cli_number(j, "rechecked"))
        tc_say(f,
               "no new candidate was found: %lld earlier records ran again in turns with the best, and the times of %lld were "
               "corrected\n",
               tc_cli_number(j, "rechecked"), tc_cli_number(j, "corrected"));
}

static void print_machine(FILE *f, const json_t *j) {
    tc_say(f, "peak %.1f GFLOP/s (f32, %s, %lld threads), %.1f GB/s\n", tc_cli_real(j, "peak_gflops"), tc_cli_text(j, "isa"),
           tc_cli_number(j, "threads"), tc_cli_real(j, "triad_gbs"));
    tc_cli_print_units(f, json_object_get(j, "unit_peaks"));
    tc_cli_print_caches(f, json_object_get(j, "caches"));
}

void tc_cli_print_busy(FILE *f, const json_t *j, const char *meaning) {
    if (json_is_true(json_object_get(j, "busy")))
        tc_say(f, "%s; %s\n", tc_cli_text(j, "busy_text"), meaning);
}

void tc_cli_print_tuning(const json_t *j, tc_cli_format format) {
    FILE *f = stdout;
    char time[24];
    print_tasks(json_object_get(j, "tasks"), format);
    if (!tc_cli_is_prose(format))
        return;
    print_notes(f, json_object_get(j, "tasks"));
    tc_say(f, "\n");
    print_counts(f, j);
    print_effort(f, j);
    print_model(f, j);
    tc_cli_print_busy(f, j, "runs in turns decided which candidates are the best, and a quiet machine gives better results");
    if (tc_cli_real(j, "peak_gflops") > 0) /* else other machines measured, and the limits of this machine do not apply to them */
        print_machine(f, j);
    if (json_is_number(json_object_get(j, "latency_ms")))
        tc_say(f, "sum of the best kernels: %s, %.1f GFLOP/s\n", tc_text_time(time, seconds_of(j, "latency_ms")),
               tc_cli_real(j, "gflops"));
    print_end(f, j);
    tc_say(f, "records are in %s\n", tc_cli_text(j, "db"));
}

static void print_speedup(const json_t *gain) {
    char untuned[24], tuned[24];
    bool utf8 = tc_cli_speaks_utf8();
    long long kernels = tc_cli_number(gain, "kernels"), kept = tc_cli_number(gain, "kept");
    tc_say(stdout, "untuned %s %s %s (%.2f %s, 95 %%: %.2f to %.2f), %lld kernel%s",
           tc_text_time(untuned, seconds_of(gain, "untuned_ms")), utf8 ? "\u2192" : "->",
           tc_text_time(tuned, seconds_of(gain, "tuned_ms")), tc_cli_real(gain, "speedup"), utf8 ? "\u00d7" : "x",
           tc_cli_real(gain, "speedup_low"), tc_cli_real(gain, "speedup_high"), kernels, kernels == 1 ? "" : "s");
    if (kept)
        tc_say(stdout, ", %lld kept as %s", kept, kept == 1 ? "it was" : "they were");
    tc_say(stdout, ", none slower\n");
}

void tc_cli_print_gain(const json_t *j) {
    const json_t *gain = json_object_get(j, "gain");
    if (!json_is_object(gain))
        return;
    if (json_is_string(json_object_get(gain, "why")))
        tc_say(stdout, "not compared with the default schedules: %s\n", tc_cli_text(gain, "why"));
    else if (tc_cli_number(gain, "rounds"))
        print_speedup(gain);
    else
        tc_say(stdout,
               "as fast as untuned: no record is faster than its default schedule beyond doubt, so all kernels keep that\n");
}

/* ---- kernels of a built model ---- */

static const char *date_of(char *text, size_t size, int64_t ms) {
    time_t t = (time_t)(ms / 1000);
    struct tm tm;
    if (!gmtime_r(&t, &tm) || !strftime(text, size, "%Y-%m-%d %H:%M", &tm))
        snprintf(text, size, "?");
    return text;
}

/* "record 12", "3 variants by size, the first record 12", "default by the cost of ...: why" */
static void put_source(tc_cli_table *t, const json_t *k, bool recorded) {
    const char *why = json_string_value(json_object_get(k, "why")), *cost = json_string_value(json_object_get(k, "by_cost"));
    const char *sep = why ? "; " : "";
    long long record = tc_cli_number(k, "record"), variants = tc_cli_number(k, "variants");
    why = why ? why : "";
    if (recorded && variants > 1)
        tc_cli_cell(t, "%lld variants by size, the first record %lld%s%s", variants, record, sep, why);
    else if (recorded)
        tc_cli_cell(t, "record %lld%s%s", record, sep, why);
    else
        tc_cli_cell(t, "default%s: %s", cost ? cost : "", why);
}

void tc_cli_cell_nodes(tc_cli_table *t, const json_t *kernel) {
    const json_t *nodes = json_object_get(kernel, "nodes");
    size_t n = json_array_size(nodes);
    tc_strbuf all = {0};
    for (size_t i = 0; i < n; i++)
        tc_sb_printf(&all, "%s%s", i ? ";" : "", json_string_value(json_array_get(nodes, i)));
    if (n == 0)
        tc_cli_cell_none(t);
    else if (t->format == TC_CLI_CSV)
        tc_cli_cell(t, "%s", tc_sb_str(&all));
    else if (n == 1)
        tc_cli_cell(t, "%s", json_string_value(json_array_get(nodes, 0)));
    else
        tc_cli_cell(t, "%s +%zu", json_string_value(json_array_get(nodes, 0)), n - 1);
    tc_strbuf_free(&all);
}

void tc_cli_print_kernels(const json_t *kernels, tc_cli_format format) {
    static const char *const head[] = {">#",           "kernel", "nodes", ">count", ">MFLOP",
                                       ">recorded|ms", "when",   "trace", "form",   "schedule"};
    tc_cli_table t = tc_cli_table_new(format, TC_LEN(head), head);
    size_t n = json_array_size(kernels), records = 0;
    for (size_t i = 0; i < n; i++) {
        const json_t *k = json_array_get(kernels, i);
        char when[24];
        bool recorded = strcmp(tc_cli_text(k, "source"), "record") == 0;
        records += recorded;
        tc_cli_cell(&t, "%zu", i);
        tc_cli_cell(&t, "%s", tc_cli_text(k, "name"));
        tc_cli_cell_nodes(&t, k);
        tc_cli_cell(&t, "%lld", tc_cli_number(k, "count"));
        tc_cli_cell_real(&t, 2, tc_cli_real(k, "flops") / 1e6);
        tc_cli_cell_time(&t, recorded ? tc_cli_real(k, "recorded_ms") : NAN);
        if (recorded)
            tc_cli_cell(&t, "%s", date_of(when, sizeof when, tc_cli_number(k, "when_ms")));
        else
            tc_cli_cell_none(&t);
        tc_cli_cell(&t, "%.8s", tc_cli_text(k, "trace_hash"));
        tc_cli_cell(&t, "%s", tc_cli_text(k, "form"));
        put_source(&t, k, recorded);
    }
    tc_cli_table_print(&t, stdout);
    tc_cli_table_free(&t);
    if (tc_cli_is_prose(format))
        tc_say(stdout, "%zu of %zu kernels from records, %zu from the default schedule\n", records, n, n - records);
}

/* ---- records compared in the network ---- */

/* Prints the records of kernel i, the best first. Returns true if another record than the first is used. */
static bool put_trials(tc_cli_table *t, size_t i, const json_t *kernel, const json_t *trials) {
    bool changed = false;
    for (size_t r = 0; r < json_array_size(trials); r++) {
        const json_t *x = json_array_get(trials, r);
        bool used = json_is_true(json_object_get(x, "used"));
        double speedup = tc_cli_real(x, "speedup");
        char index[24];
        changed |= used && r > 0;
        snprintf(index, sizeof index, "%zu", i);
        tc_cli_cell(t, "%s", r ? "" : index);
        tc_cli_cell(t, "%s", r ? "" : tc_cli_text(kernel, "name"));
        tc_cli_cell(t, "%lld", tc_cli_number(x, "record"));
        tc_cli_cell_time(t, tc_cli_real(x, "recorded_ms"));
        tc_cli_cell_time(t, tc_cli_real(x, "total_ms") / (double)tc_cli_number(kernel, "count"));
        tc_cli_cell_real(t, 3, speedup);
        tc_cli_cell(t, "%s",
                    used                                         ? "used"
                    : json_is_true(json_object_get(x, "faster")) ? "faster"
                    : r && speedup > 1                           ? "no sure gain"
                                                                 : "-");
    }
    return changed;
}

void tc_cli_print_contest(const json_t *model, tc_cli_format format) {
    static const char *const head[] = {">#", "kernel", ">record", ">tuned|ms", ">in network|ms", ">speed", "verdict"};
    const json_t *kernels = json_object_get(model, "kernels"), *trials = json_object_get(model, "in_graph");
    tc_cli_table t = tc_cli_table_new(format, TC_LEN(head), head);
    int changed = 0;
    for (size_t i = 0; i < json_array_size(trials); i++)
        changed += put_trials(&t, i, json_array_get(kernels, i), json_array_get(trials, i));
    tc_cli_table_print(&t, stdout);
    tc_cli_table_free(&t);
    if (tc_cli_is_prose(format))
        tc_say(stdout, "%lld rounds in turns: %d of %zu kernels change their record\n", tc_cli_number(model, "rounds"), changed,
               json_array_size(trials));
}

/* ---- rounding to bf16 within a budget of error ---- */

void tc_cli_print_precision(const json_t *precision, double budget, const char *inputs, tc_cli_format format) {
    static const char *const head[] = {"kernel", ">times", ">f32|ms", ">bf16|ms", ">error alone", "in use"};
    const json_t *kernels = json_object_get(precision, "kernels");
    size_t nused = 0, n = json_array_size(kernels);
    tc_cli_table t = tc_cli_table_new(format, TC_LEN(head), head);
    for (size_t i = 0; i < n; i++) {
        const json_t *k = json_array_get(kernels, i);
        bool used = json_is_true(json_object_get(k, "used"));
        nused += used;
        tc_cli_cell(&t, "%s", tc_cli_text(k, "name"));
        tc_cli_cell(&t, "%lld", tc_cli_number(k, "count"));
        tc_cli_cell_time(&t, tc_cli_real(k, "f32_ms"));
        tc_cli_cell_time(&t, tc_cli_real(k, "bf16_ms"));
        tc_cli_cell(&t, "%.2e", tc_cli_real(k, "error"));
        tc_cli_cell(&t, "%s", used ? "bf16" : "f32");
    }
    tc_cli_table_print(&t, stdout);
    tc_cli_table_free(&t);
    if (tc_cli_is_prose(format))
        tc_say(stdout, "%zu of %zu kernels that bf16 makes faster use bf16: error of the outputs %.2e, budget %g, on %s\n\n",
               nused, n, tc_cli_real(precision, "error"), budget, inputs ? inputs : "random inputs");
}
