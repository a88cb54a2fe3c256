/* tctune bench: latency of a network and of each of its kernels, or of one kernel, beside what the machine can do. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "graph/trials/bench.h"
#include "support/system/fs.h"
#include "te/text.h"
#include "tune/kernel/kernel.h"

typedef struct bench_args {
    tc_cli_common common;
    tc_cli_model_args model;
    tc_cli_timing timing;
    int repeats; /* 0: not given */
    const char *sched, *inputs, *plot;
    tc_cli_texts at;
    bool json;
} bench_args;

static const tc_cli_option options[] = {
    TC_CLI_SOURCE_OPTIONS(bench_args, model.source),
    TC_CLI_AT_OPTION(bench_args, at),
    TC_CLI_WEIGHTS_OPTION(bench_args, model.source.weights),
    TC_CLI_TIMING_OPTION(bench_args, timing),
    TC_CLI_DB_OPTION(bench_args, model.db.path),
    TC_CLI_UNTUNED_OPTION(bench_args, model.db.untuned),
    TC_CLI_TARGET_OPTION(bench_args, model.target.name),
    TC_CLI_ACCURACY_OPTION(bench_args, model.accuracy),
    TC_CLI_PRECISION_OPTION(bench_args, model.accuracy),
    TC_CLI_THREADS_OPTION(bench_args, model.target.threads),
    TC_CLI_SEED_OPTION(bench_args, model.seed),
    TC_CLI_COMPLETE_OPTION(bench_args, model.require_complete),
    TC_CLI_REPEATS_OPTION(bench_args, repeats),
    TC_CLI_SCHED_OPTION(bench_args, sched),
    TC_CLI_INPUTS_OPTION(bench_args, inputs),
    TC_CLI_TEXT(bench_args, plot, "plot", "FILE", "also draw the latency over the range of each size, as SVG"),
    TC_CLI_PASS_OPTIONS(bench_args, model.source.passes),
    TC_CLI_NO_CACHE_OPTION(bench_args),
    TC_CLI_JSON_OPTION(bench_args, json),
};

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

/* What is printed of a measurement, whichever way it was made. */
typedef struct result {
    const char *what;
    int threads;
    double *times; /* sorted */
    size_t n;
    double flops;
    tc_meas_peak peak;
    const tc_intrinsic *unit; /* of a single kernel: the fastest that its sums can take, or NULL */
    tc_meas_stream stream;    /* at the footprint of a single kernel */
    const tc_graph_kernel *kernels;
    int nkernel;
    const tc_graph_other *others;
    int nother;
    const char *origin;               /* of a single kernel's schedule, or NULL */
    const char *mode;                 /* how a single kernel was timed; NULL: a network is timed as it runs */
    double constants;                 /* bytes that came from memory in each call, timed cold */
    const tc_graph_size_rules *rules; /* of a network's sizes */
    const int64_t *sizes;             /* those of its runs */
} result;

static double median_of(const result *r) {
    return tc_meas_median(r->times, r->n);
}

/* Operations are counted at the largest sizes: of others there is no rate. */
static bool is_smaller(const result *r) {
    for (int k = 0; r->rules && k < r->rules->nsize; k++)
        if (r->sizes[k] < r->rules->size[k].most)
            return true;
    return false;
}

static double rate(double flops, double seconds) {
    return flops > 0 && seconds > 0 && isfinite(seconds) ? flops / seconds / 1e9 : NAN;
}

/* ---- reports ---- */

static void print_kernels(const result *r) {
    static const char *const head[] = {">#",     "kernel",   ">count",   ">each", ">total",
                                       ">share", ">GFLOP/s", ">of peak", "form",  "schedule"};
    tc_cli_table t = tc_cli_table_new(TC_LEN(head), head);
    double sum = 0;
    for (int i = 0; i < r->nkernel; i++)
        sum += r->kernels[i].seconds;
    for (int i = 0; i < r->nother; i++)
        sum += r->others[i].seconds;
    for (int i = 0; i < r->nkernel; i++) {
        const tc_graph_kernel *k = &r->kernels[i];
        char each[24], total[24];
        double g = rate(k->flops, k->seconds / k->count);
        tc_cli_cell(&t, "%d", i);
        tc_cli_cell(&t, "%s", k->name);
        tc_cli_cell(&t, "%d", k->count);
        tc_cli_cell(&t, "%s", tc_cli_time(each, k->seconds / k->count));
        tc_cli_cell(&t, "%s", tc_cli_time(total, k->seconds));
        tc_cli_cell(&t, "%.1f %%", sum > 0 ? 100 * k->seconds / sum : 0);
        if (is_smaller(r)) {
            tc_cli_cell(&t, "-");
            tc_cli_cell(&t, "-");
        } else {
            tc_cli_cell(&t, "%.1f", isfinite(g) ? g : 0);
            tc_cli_cell(&t, "%.1f %%", isfinite(g) ? 100 * g / tc_meas_peak_of(&r->peak, k->unit) : 0);
        }
        tc_cli_cell(&t, "%s", k->form);
        if (k->source == TC_GRAPH_FROM_RECORD)
            tc_cli_cell(&t, "record %lld", (long long)k->record);
        else
            tc_cli_cell(&t, "default");
    }
    for (int i = 0; i < r->nother; i++) {
        const tc_graph_other *o = &r->others[i];
        char each[24], total[24];
        tc_cli_cell(&t, "-");
        tc_cli_cell(&t, "%s", o->name);
        tc_cli_cell(&t, "%d", o->count);
        tc_cli_cell(&t, "%s", tc_cli_time(each, o->seconds / o->count));
        tc_cli_cell(&t, "%s", tc_cli_time(total, o->seconds));
        tc_cli_cell(&t, "%.1f %%", sum > 0 ? 100 * o->seconds / sum : 0);
        for (int k = 0; k < 3; k++)
            tc_cli_cell(&t, "-");
        tc_cli_cell(&t, "library");
    }
    tc_cli_table_print(&t, stdout);
    tc_cli_table_free(&t);
}

static void print_peak(const result *r, double g) {
    const tc_meas_peak *p = &r->peak;
    double peak = tc_meas_peak_of(p, r->unit);
    if (isfinite(g) && peak > p->f32_gflops)
        printf("%.1f GOP/s, %.1f %% of the peak of %.1f GOP/s (%s), %.1f GFLOP/s (f32, %s)\n", g, 100 * g / peak, peak,
               r->unit->text, p->f32_gflops, p->isa);
    else if (isfinite(g))
        printf("%.1f GFLOP/s, %.1f %% of the peak of %.1f GFLOP/s (f32, %s)\n", g, 100 * g / peak, peak, p->isa);
    else
        printf("peak %.1f GFLOP/s (f32, %s)\n", p->f32_gflops, p->isa);
    if (!r->unit)
        tc_cli_print_units(stdout, p);
    tc_cli_print_caches(stdout, r->threads);
}

static void print_text(const result *r) {
    char mid[24], low[24], high[24];
    double g = rate(r->flops, median_of(r));
    if (r->nkernel + r->nother) {
        print_kernels(r);
        putchar('\n');
    }
    if (r->origin)
        printf("schedule: %s\n", r->origin);
    printf("%s: median %s of %zu %s%sruns (%s to %s), %d threads\n", r->what, tc_cli_time(mid, median_of(r)), r->n,
           r->mode ? r->mode : "", r->mode ? " " : "", tc_cli_time(low, r->times[0]), tc_cli_time(high, r->times[r->n - 1]),
           r->threads);
    print_peak(r, g);
    if (r->constants > 0)
        printf("constants, %s, from memory in every call: %.1f GB/s\n", tc_cli_bytes(low, r->constants),
               r->constants / median_of(r) / 1e9);
}

static json_t *others_json(const result *r) {
    json_t *all = json_array();
    for (int i = 0; i < r->nother; i++)
        json_array_append_new(all, json_pack("{s:s, s:i, s:f}", "name", r->others[i].name, "count", r->others[i].count,
                                             "total_ms", r->others[i].seconds * 1e3));
    return all;
}

static void print_json(const result *r) {
    static const char *const rates[] = {"flops", "gflops", "of_peak"};
    double g = rate(r->flops, median_of(r));
    json_t *j = json_object(), *kernels = tc_cli_kernels_json(r->kernels, r->nkernel);
    for (size_t i = 0; i < json_array_size(kernels); i++) {
        json_t *k = json_array_get(kernels, i);
        double kg = json_number_value(json_object_get(k, "gflops"));
        json_object_set_new(k, "of_peak", json_real(kg / tc_meas_peak_of(&r->peak, r->kernels[i].unit)));
        for (size_t x = 0; is_smaller(r) && x < TC_LEN(rates); x++)
            json_object_set_new(k, rates[x], json_null());
    }
    json_object_set_new(j, "name", json_string(r->what));
    json_object_set_new(j, "median_ms", tc_cli_json_real(median_of(r) * 1e3));
    json_object_set_new(j, "min_ms", tc_cli_json_real(r->times[0] * 1e3));
    json_object_set_new(j, "max_ms", tc_cli_json_real(r->times[r->n - 1] * 1e3));
    json_object_set_new(j, "repeats", json_integer((json_int_t)r->n));
    json_object_set_new(j, "flops", json_real(r->flops));
    json_object_set_new(j, "gflops", tc_cli_json_real(g));
    json_object_set_new(j, "peak_gflops", json_real(r->peak.f32_gflops));
    json_object_set_new(j, "unit", tc_cli_unit_json(r->unit));
    json_object_set_new(j, "unit_peaks", tc_cli_units_json(&r->peak));
    json_object_set_new(j, "caches", tc_cli_caches_json(r->threads));
    json_object_set_new(j, "of_peak", tc_cli_json_real(g / tc_meas_peak_of(&r->peak, r->unit)));
    json_object_set_new(j, "triad_gbs", json_real(r->peak.triad_gbs));
    if (r->stream.bytes) {
        json_object_set_new(j, "footprint_bytes", json_integer(r->stream.bytes));
        json_object_set_new(j, "footprint_read_gbs", json_real(r->stream.read_gbs));
        json_object_set_new(j, "footprint_triad_gbs", json_real(r->stream.triad_gbs));
    }
    json_object_set_new(j, "isa", json_string(r->peak.isa));
    json_object_set_new(j, "threads", json_integer(r->threads));
    if (r->origin)
        json_object_set_new(j, "schedule", json_string(r->origin));
    if (r->mode)
        json_object_set_new(j, "mode", json_string(r->mode));
    if (r->rules && r->rules->nsize)
        json_object_set_new(j, "sizes", tc_cli_sizes_json(r->rules, r->sizes));
    json_object_set_new(j, "kernels", kernels);
    json_object_set_new(j, "others", others_json(r));
    tc_cli_json_print(j);
}

static void print_result(const bench_args *a, result *r) {
    qsort(r->times, r->n, sizeof *r->times, by_value);
    if (a->json)
        print_json(r);
    else
        print_text(r);
}

/* ---- one kernel, in the isolated process that tuning uses ---- */

/* A record that fails here is not used by any command any more. */
static tc_status not_measured(const char *path, const tc_tune_schedule *k, const tc_record *now, tc_arena *arena, tc_error *err) {
    const char *noted = k->record ? tc_tune_note_failure(k->db, k->record, now, arena) : "";
    return tc_fail(err, TC_ENV, "%s: the kernel could not be measured: %s: %s%s%s", path, tc_meas_error_meaning(now->error),
                   now->message, *noted ? "; " : "", noted);
}

/* The database is closed again: while somebody reads it, what is noted stays in its log. */
static tc_status find_schedule(const bench_args *a, const tc_tune_task *task, const int64_t *sizes, const tc_target *t,
                               tc_arena *arena, tc_tune_schedule *k, tc_error *err) {
    tc_tune_query q = {.workload = task->workload, .target = t, .accuracy = a->model.accuracy, .file = a->sched};
    TC_TRY(tc_cli_db_read(&a->model.db, &q.db, err));
    tc_status st = sizes ? tc_tune_schedule_at(&q, task->sizes, sizes, arena, k, err) : tc_tune_schedule_find(&q, arena, k, err);
    tc_meas_db_close(q.db);
    return st;
}

static void print_kernel(const bench_args *a, const tc_tune_task *task, const tc_target *t, const tc_tune_schedule *k,
                         const tc_tune_kernel_bench *b, tc_arena *arena) {
    const tc_record *r = k->record;
    result x = {.what = task->name,
                .threads = t->machine.cores,
                .times = tc_arena_dup(arena, b->record.times, b->record.ntimes * sizeof(double)),
                .n = b->record.ntimes,
                .flops = tc_te_flops(task->workload),
                .peak = b->peak,
                .unit = b->unit,
                .stream = b->stream,
                .origin = tc_cli_origin(k, arena),
                .mode = tc_meas_mode_text(b->record.mode),
                .constants = b->constants};
    tc_graph_kernel one = {.name = x.what,
                           .symbol = "",
                           .form = k->form,
                           .workload = k->workload,
                           .trace = k->trace,
                           .hash = k->hash,
                           .count = 1,
                           .flops = x.flops,
                           .unit = x.unit,
                           .source = r ? TC_GRAPH_FROM_RECORD : TC_GRAPH_FROM_DEFAULT,
                           .record = r ? r->id : 0,
                           .recorded = r ? r->median : 0,
                           .why = r ? "" : x.origin,
                           .seconds = b->record.median};
    x.kernels = &one;
    x.nkernel = a->json;
    print_result(a, &x);
}

static tc_status bench_kernel(const bench_args *a, const char *path, const tc_tune_task *task, const int64_t *sizes,
                              const tc_target *t, tc_error *err) {
    tc_arena *arena = tc_arena_new();
    tc_ctx *ctx = tc_ctx_new();
    tc_tune_kernel_options o = {
        .target = t, .timing = a->timing.asked, .repeats = a->repeats, .seed = a->model.seed, .stop = tc_cli_stop_flag()};
    tc_tune_task timed = *task;
    tc_tune_schedule k;
    tc_tune_kernel_bench b;
    tc_status st = find_schedule(a, task, sizes, t, arena, &k, err);
    if (st == TC_OK && sizes) {
        timed.name = tc_tune_name_at(arena, task->name, task->workload, sizes);
        st = tc_te_at(ctx, task->workload, sizes, &timed.workload, err);
    }
    if (st == TC_OK)
        st = tc_tune_kernel_measure(timed.workload, &k, &o, arena, &b, err);
    if (st == TC_OK && !tc_record_ok(&b.record))
        st = not_measured(path, &k, &b.record, arena, err);
    if (st == TC_OK)
        print_kernel(a, &timed, t, &k, &b, arena);
    tc_ctx_free(ctx);
    tc_arena_free(arena);
    return st;
}

/* ---- a network ---- */

static const char *path_of(const bench_args *a) {
    return a->model.source.model ? a->model.source.model : a->model.source.te;
}

static int repeats_of(const bench_args *a) {
    return a->repeats ? a->repeats : TC_TUNE_REPEATS;
}

static tc_status print_model(const bench_args *a, const tc_graph_model *m, const tc_graph_tensor *in, const tc_graph_bench *b,
                             tc_error *err) {
    tc_arena *arena = tc_arena_new();
    const tc_graph_size_rules *rules = tc_graph_model_sizes(m);
    int64_t *sizes = TC_NEW_N(arena, int64_t, rules->nsize);
    tc_status st = tc_graph_size_rules_bind(rules, in, sizes, err);
    if (st == TC_OK) {
        result r = {.what = tc_arena_printf(arena, "%s%s", path_of(a), tc_cli_sizes_text(arena, rules, sizes)),
                    .threads = tc_graph_model_threads(m),
                    .times = b->times,
                    .n = (size_t)b->n,
                    .peak = b->peak,
                    .rules = rules,
                    .sizes = sizes};
        r.flops = is_smaller(&r) ? 0 : tc_graph_model_flops(m);
        r.nkernel = tc_graph_model_kernels(m, &r.kernels);
        r.nother = tc_graph_model_others(m, &r.others);
        print_result(a, &r);
    }
    tc_arena_free(arena);
    return st;
}

static tc_status bench_on(const bench_args *a, tc_graph_model *m, const tc_graph_bundle *in, tc_error *err) {
    tc_graph_tensor *views = tc_xcalloc(in->len + 1, sizeof *views);
    tc_graph_bench b = {0};
    tc_status st = tc_graph_model_match(m, in, views, err);
    if (st == TC_OK)
        st = tc_graph_model_bench(m, views, repeats_of(a), tc_cli_stop_flag(), &b, err);
    if (st == TC_OK)
        st = print_model(a, m, views, &b, err);
    else if (a->inputs)
        tc_error_prefix(err, "%s: ", a->inputs);
    free(views);
    free(b.times);
    return st;
}

/* At one size: of --at, or of the inputs. */
static tc_status bench_once(const bench_args *a, tc_graph_model *m, const int64_t *sizes, tc_error *err) {
    tc_graph_bundle in = {0};
    tc_status st = tc_graph_inputs_load(m, a->inputs, sizes, a->model.seed, &in, err);
    if (st == TC_OK)
        st = bench_on(a, m, &in, err);
    tc_graph_bundle_free(&in);
    return st;
}

static int bench_model(const void *user, tc_graph_model *m, tc_error *err) {
    const bench_args *a = user;
    tc_arena *arena = tc_arena_new();
    const tc_graph_size_rules *rules = tc_graph_model_sizes(m);
    const int64_t *sizes;
    tc_cli_curve_options o = {
        .what = path_of(a), .repeats = repeats_of(a), .seed = a->model.seed, .json = a->json, .plot = a->plot};
    int status = tc_cli_at_network(&a->at, rules, arena, &sizes, err);
    if (status == TC_CLI_DONE && rules->nsize && !sizes && !a->inputs)
        status = tc_cli_bench_curve(m, &o, err);
    else if (status == TC_CLI_DONE && a->plot)
        status = tc_cli_usage(err, "--plot draws a range of sizes: %s has one size of each", path_of(a));
    else if (status == TC_CLI_DONE && bench_once(a, m, sizes, err) != TC_OK)
        status = TC_CLI_FAILED;
    tc_arena_free(arena);
    return status;
}

static int bench_te(const bench_args *a, tc_error *err) {
    tc_graph_work *w = NULL;
    tc_target *t = NULL;
    tc_arena *arena = tc_arena_new();
    const tc_tune_task *task = NULL; /* of a kernel: one */
    const int64_t *sizes = NULL;
    tc_cli_model_args model = a->model;
    model.source.varying = a->at.len > 0;
    int status = tc_cli_target(&a->model.target, true, &t, err);
    if (status == TC_CLI_DONE)
        status = tc_cli_open(&model, NULL, &w, err);
    if (status == TC_CLI_DONE)
        tc_graph_work_tasks(w, &task);
    if (status == TC_CLI_DONE)
        status = tc_cli_at(&a->at, task->workload, arena, &sizes, err);
    if (status == TC_CLI_DONE && bench_kernel(a, tc_graph_work_path(w), task, sizes, t, err) != TC_OK)
        status = TC_CLI_FAILED;
    tc_arena_free(arena);
    tc_graph_work_free(w);
    tc_target_free(t);
    return status;
}

static int run(const void *args, tc_error *err) {
    const bench_args *a = args;
    int status = tc_cli_check_source(&a->model.source, err);
    if (status != TC_CLI_DONE)
        return status;
    if (a->sched && !a->model.source.te)
        return tc_cli_usage(err, "--sched goes with --te: a schedule belongs to one kernel");
    if (a->at.len && a->inputs)
        return tc_cli_usage(err, "--at and --inputs exclude each other: inputs have sizes of their own");
    if (a->timing.given && !a->model.source.te)
        return tc_cli_usage(err, "--mode goes with --te: the kernels of a network are timed as they run in it");
    if (a->inputs && a->model.source.te)
        return tc_cli_usage(
            err, "--inputs goes with --model: a kernel of --te is timed on drawn values, which its result is checked on");
    if (a->plot && (a->model.source.te || a->at.len || a->inputs))
        return tc_cli_usage(err, "--plot draws a range of sizes: it goes with --model, without --at and --inputs");
    if (a->plot && tc_fs_check_writable(a->plot, err) != TC_OK)
        return TC_CLI_FAILED;
    tc_cli_catch_signals();
    return a->model.source.te ? bench_te(a, err) : tc_cli_with_model(&a->model, bench_model, a, err);
}

const tc_cli_command tc_cli_bench = {
    .name = "bench",
    .summary = "measure the latency of a network and of its kernels, or of one kernel",
    .details = "Kernels without a record in the database run with the default schedule. The peak that shares refer to is "
               "measured before and after. A kernel of --te runs in a process of its own and its result is checked: a record "
               "that fails is marked in the database, and no longer used. "
               "A network whose sizes vary is timed at the sizes of --at or of --inputs, sizes that --at does not tell being the "
               "least above 0; without both, over the range of each size in turn, the others at their least above 0, which "
               "--plot draws.",
    TC_CLI_ARGS(bench_args, options),
    .defaults = &(const bench_args){.model = TC_CLI_MODEL_DEFAULTS},
    .run = run,
};
