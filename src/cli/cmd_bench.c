/* tctune bench: measures the latency of a network and of each of its kernels, or of a single kernel. The report compares these
 * times with the measured limits of the machine. */
#include <math.h>

#include "cli/commands.h"
#include "cli/picture/picture.h"
#include "cli/print.h"
#include "cli/work.h"
#include "support/system/fs.h"

typedef struct bench_args {
    tc_cli_common common;
    tc_cli_model_args model;
    tc_cli_fleet_args fleet;
    const char *timing;
    int repeats; /* 0: not given */
    const char *kernel, *sched, *inputs, *plot, *against;
    tc_cli_texts at;
    tc_cli_format format;
} bench_args;

static const tc_cli_option options[] = {
    TC_CLI_SOURCE_OPTIONS(bench_args, model.source),
    TC_CLI_AT_OPTION(bench_args, at),
    TC_CLI_WEIGHTS_OPTION(bench_args, model.source.weights),
    TC_CLI_TIMING_OPTION(bench_args, timing),
    TC_CLI_DB_OPTION(bench_args, model.db.path),
    TC_CLI_UNTUNED_OPTION(bench_args, model.db.untuned),
    TC_CLI_TARGET_OPTION(bench_args, model.target.name),
    TC_CLI_ACCURACY_OPTIONS(bench_args, model.accuracy),
    TC_CLI_THREADS_OPTION(bench_args, model.target.threads),
    TC_CLI_FLEET_OPTIONS(bench_args, fleet),
    TC_CLI_SEED_OPTION(bench_args, model.seed),
    TC_CLI_COMPLETE_OPTION(bench_args, model.require_complete),
    TC_CLI_REPEATS_OPTION(bench_args, repeats),
    TC_CLI_KERNEL_OPTION(bench_args, kernel),
    TC_CLI_SCHED_OPTION(bench_args, sched),
    TC_CLI_INPUTS_OPTION(bench_args, inputs),
    TC_CLI_OUTPUT(bench_args, plot, RESULT, "plot", "FILE.svg",
                  "also draw, as SVG, the latency over the range of each size, or the time of each kernel in a run"),
    TC_CLI_INPUT(bench_args, against, WHAT, "against", "BASE.json",
                 "compare with a result that --json printed earlier: run its schedules and today's in turns. Status 3 if "
                 "something is slower"),
    TC_CLI_PASS_OPTIONS(bench_args, model.source.passes),
    TC_CLI_NO_CACHE_OPTION(bench_args),
    TC_CLI_PROGRESS_OPTIONS(bench_args, model.progress),
    TC_CLI_FORMAT_OPTIONS(bench_args, format),
};

/* ---- reports ---- */

/* What a document does not say is 0. */
static double known(const json_t *j, const char *key) {
    double v = tc_cli_real(j, key);
    return isfinite(v) ? v : 0;
}

static double total_ms(const json_t *all) {
    double sum = 0;
    for (size_t i = 0; i < json_array_size(all); i++)
        sum += known(json_array_get(all, i), "total_ms");
    return sum;
}

/* Launches, the time of one, of all of them, and their share of `sum`. */
static void times_cells(tc_cli_table *t, const json_t *k, double sum) {
    double ms = known(k, "total_ms");
    long long count = tc_cli_number(k, "count");
    tc_cli_cell(t, "%lld", count);
    tc_cli_cell_time(t, ms / (double)count);
    tc_cli_cell_time(t, ms);
    tc_cli_cell_share(t, 1, sum > 0 ? ms / sum : 0);
}

/* Of smaller sizes than the largest there are no rates. */
static void rate_cells(tc_cli_table *t, const json_t *k) {
    bool rated = !json_is_null(json_object_get(k, "flops"));
    tc_cli_cell_real(t, 1, rated ? known(k, "gflops") : NAN);
    tc_cli_cell_share(t, 1, rated ? known(k, "of_peak") : NAN);
}

static void print_kernels(const json_t *kernels, const json_t *others, tc_cli_format format) {
    static const char *const head[] = {">#",       "kernel",   "nodes",      ">count", ">each|ms", ">total|ms",
                                       ">share|%", ">GFLOP/s", ">of peak|%", "form",   "schedule"};
    tc_cli_table t = tc_cli_table_new(format, TC_LEN(head), head);
    double sum = total_ms(kernels) + total_ms(others);
    for (size_t i = 0; i < json_array_size(kernels); i++) {
        const json_t *k = json_array_get(kernels, i);
        tc_cli_cell(&t, "%zu", i);
        tc_cli_cell(&t, "%s", tc_cli_text(k, "name"));
        tc_cli_cell_nodes(&t, k);
        times_cells(&t, k, sum);
        rate_cells(&t, k);
        tc_cli_cell(&t, "%s", tc_cli_text(k, "form"));
        if (json_object_get(k, "record"))
            tc_cli_cell(&t, "record %lld", tc_cli_number(k, "record"));
        else
            tc_cli_cell(&t, "default");
    }
    for (size_t i = 0; i < json_array_size(others); i++) {
        const json_t *o = json_array_get(others, i);
        tc_cli_cell_none(&t);
        tc_cli_cell(&t, "%s", tc_cli_text(o, "name"));
        tc_cli_cell_none(&t);
        times_cells(&t, o, sum);
        for (int k = 0; k < 3; k++)
            tc_cli_cell_none(&t);
        tc_cli_cell(&t, "library");
    }
    tc_cli_table_print(&t, stdout);
    tc_cli_table_free(&t);
}

static void print_peak(const json_t *j) {
    const char *isa = tc_cli_text(j, "isa"), *unit = json_string_value(json_object_get(j, "unit"));
    double g = tc_cli_real(j, "gflops"), f32 = tc_cli_real(j, "peak_gflops");
    double of_unit = unit ? known(json_object_get(j, "unit_peaks"), unit) : 0, peak = of_unit > 0 ? of_unit : f32;
    if (!isfinite(f32))
        tc_say(stdout, "the peak of the worker is not known\n");
    else if (isfinite(g) && peak > f32)
        tc_say(stdout, "%.1f GOP/s, %.1f %% of the peak of %.1f GOP/s (%s), %.1f GFLOP/s (f32, %s)\n", g, 100 * g / peak, peak,
               unit, f32, isa);
    else if (isfinite(g))
        tc_say(stdout, "%.1f GFLOP/s, %.1f %% of the peak of %.1f GFLOP/s (f32, %s)\n", g, 100 * g / peak, peak, isa);
    else
        tc_say(stdout, "peak %.1f GFLOP/s (f32, %s)\n", f32, isa);
    if (!unit)
        tc_cli_print_units(stdout, json_object_get(j, "unit_peaks"));
    tc_cli_print_caches(stdout, json_object_get(j, "caches"));
}

static void print_latency(const json_t *j) {
    char mid[24], low[24], high[24];
    const char *mode = json_string_value(json_object_get(j, "mode"));
    double median = tc_cli_real(j, "median_ms") / 1e3, constants = known(j, "constant_bytes");
    tc_say(stdout, "%s: median %s of %lld %s%sruns (%s to %s), %lld threads\n", tc_cli_text(j, "name"), tc_text_time(mid, median),
           tc_cli_number(j, "repeats"), mode ? mode : "", mode ? " " : "", tc_text_time(low, tc_cli_real(j, "min_ms") / 1e3),
           tc_text_time(high, tc_cli_real(j, "max_ms") / 1e3), tc_cli_number(j, "threads"));
    if (json_is_string(json_object_get(j, "worker")))
        tc_say(stdout, "measured by the worker %s, which measured its peak when it started\n", tc_cli_text(j, "worker"));
    tc_cli_print_busy(stdout, j, "times are longer than on a quiet machine");
    print_peak(j);
    if (constants > 0)
        tc_say(stdout, "every call reads the constants, %s, from memory: %.1f GB/s\n", tc_text_bytes(low, constants),
               constants / median / 1e9);
}

/* The run as a whole, for programs. */
static void print_whole(const json_t *j, tc_cli_format format) {
    static const char *const head[] = {"name",     ">threads", ">median|ms", ">least|ms",
                                       ">most|ms", ">runs",    ">GFLOP/s",   ">of peak|%"};
    tc_cli_table t = tc_cli_table_new(format, TC_LEN(head), head);
    tc_cli_cell(&t, "%s", tc_cli_text(j, "name"));
    tc_cli_cell(&t, "%lld", tc_cli_number(j, "threads"));
    tc_cli_cell_time(&t, tc_cli_real(j, "median_ms"));
    tc_cli_cell_time(&t, tc_cli_real(j, "min_ms"));
    tc_cli_cell_time(&t, tc_cli_real(j, "max_ms"));
    tc_cli_cell(&t, "%lld", tc_cli_number(j, "repeats"));
    tc_cli_cell_real(&t, 1, tc_cli_real(j, "gflops"));
    tc_cli_cell_share(&t, 1, tc_cli_real(j, "of_peak"));
    tc_cli_table_print(&t, stdout);
    tc_cli_table_free(&t);
}

static void print_network(const json_t *j, tc_cli_format format) {
    const json_t *kernels = json_object_get(j, "kernels"), *others = json_object_get(j, "others");
    if (json_array_size(kernels) + json_array_size(others)) {
        print_kernels(kernels, others, format);
        tc_say(stdout, "\n");
    }
    if (tc_cli_is_prose(format))
        print_latency(j);
    else
        print_whole(j, format);
}

static void print_kernel(const json_t *j, tc_cli_format format) {
    if (!tc_cli_is_prose(format)) {
        print_whole(j, format);
        return;
    }
    tc_say(stdout, "schedule: %s\n", tc_cli_text(j, "schedule"));
    print_latency(j);
}

/* ---- kernels, each by itself ---- */

static void apart_cells(tc_cli_table *t, const json_t *k, double sum) {
    const char *error = json_string_value(json_object_get(k, "error")), *worker = json_string_value(json_object_get(k, "worker"));
    if (error) {
        tc_cli_cell(t, "%lld", tc_cli_number(k, "count"));
        for (int i = 0; i < 5; i++)
            tc_cli_cell_none(t);
    } else {
        times_cells(t, k, sum);
        tc_cli_cell_real(t, 1, known(k, "gflops"));
        tc_cli_cell_share(t, 1, tc_cli_real(k, "of_peak"));
    }
    tc_cli_cell(t, "%s", tc_cli_text(k, "mode"));
    tc_cli_cell(t, "%s", worker ? worker : error ? "-" : "here");
    tc_cli_cell(t, "%s", tc_cli_text(k, "form"));
    if (error)
        tc_cli_cell(t, "%s: %s", error, tc_cli_text(k, "message"));
    else if (json_object_get(k, "record"))
        tc_cli_cell(t, "record %lld", tc_cli_number(k, "record"));
    else
        tc_cli_cell(t, "default");
}

static void print_apart(const json_t *j, tc_cli_format format) {
    static const char *const head[] = {">#",       "kernel",     "nodes", ">count", ">each|ms", ">total|ms", ">share|%",
                                       ">GFLOP/s", ">of peak|%", "timed", "worker", "form",     "schedule"};
    const json_t *kernels = json_object_get(j, "kernels");
    tc_cli_table t = tc_cli_table_new(format, TC_LEN(head), head);
    for (size_t i = 0; i < json_array_size(kernels); i++) {
        const json_t *k = json_array_get(kernels, i);
        tc_cli_cell(&t, "%zu", i);
        tc_cli_cell(&t, "%s", tc_cli_text(k, "name"));
        tc_cli_cell_nodes(&t, k);
        apart_cells(&t, k, total_ms(kernels));
    }
    tc_cli_table_print(&t, stdout);
    tc_cli_table_free(&t);
    if (!tc_cli_is_prose(format))
        return;
    tc_say(stdout,
           "\n%s: its kernels with %lld threads, each timed by itself. To time a whole run, with its library kernels and copies, "
           "use `tctune bench` without --fleet on such a machine\n",
           tc_cli_text(j, "name"), tc_cli_number(j, "threads"));
}

/* ---- the command ---- */

static int bench_range(const bench_args *a, tctune_model *m, const tctune_bench_options *o, tc_error *err) {
    char *text;
    if (tctune_bench_range(m, o, &text, TC_CLI_SAY(err)) != TCTUNE_OK)
        return TC_CLI_FAILED;
    json_t *j = tc_cli_document(text);
    tc_cli_tell_of(j, a->format, tc_cli_print_curves);
    int status = a->plot ? tc_cli_plot_curves(j, a->plot, err) : TC_CLI_DONE;
    json_decref(j);
    return status;
}

/* Once it is told. */
static int status_against(const json_t *j, bool slower, tc_error *err) {
    tc_strbuf text = {0};
    long long failed = tc_cli_number(j, "kernels_not_compared");
    if (slower)
        tc_fail(err, TC_ENV, "%s", tc_cli_say_slower(j, &text));
    else if (failed)
        tc_fail(err, TC_ENV,
                "%lld of the base's schedules did not run here, so their kernels were not compared; find out why, then make a "
                "new base",
                failed);
    tc_strbuf_free(&text);
    return slower ? TC_CLI_SLOWER : failed ? TC_CLI_FAILED : TC_CLI_DONE;
}

static int bench_against(const bench_args *a, tctune_model *m, const tctune_bench_options *o, tc_error *err) {
    char *text;
    int slower;
    if (tctune_bench_against(m, a->against, o, &slower, &text, TC_CLI_SAY(err)) != TCTUNE_OK)
        return TC_CLI_FAILED;
    json_t *j = tc_cli_document(text);
    tc_cli_tell_of(j, a->format, tc_cli_print_against);
    int status = status_against(j, slower, err);
    json_decref(j);
    return status;
}

static int bench_model(const bench_args *a, tctune_model *m, tc_error *err) {
    tctune_bench_options o = {.struct_size = sizeof o,
                              .name = tc_cli_work_path(&a->model.source),
                              .inputs = a->inputs,
                              .at = a->at.data,
                              .repeats = a->repeats,
                              .seed = a->model.seed,
                              .stop = tc_cli_stop_flag()};
    char *text;
    int status = tc_cli_check_model_at(m, &a->at, err);
    if (status != TC_CLI_DONE)
        return status;
    if (a->against)
        return bench_against(a, m, &o, err);
    if (tctune_model_num_sizes(m) && !a->at.len && !a->inputs)
        return bench_range(a, m, &o, err);
    if (tctune_bench(m, &o, &text, TC_CLI_SAY(err)) != TCTUNE_OK)
        return TC_CLI_FAILED;
    json_t *j = tc_cli_document(text);
    tc_cli_tell_of(j, a->format, print_network);
    status = a->plot ? tc_cli_plot_kernels(j, a->plot, err) : TC_CLI_DONE;
    json_decref(j);
    return status;
}

static int bench_network(const bench_args *a, tc_error *err) {
    tctune_model *m;
    tc_cli_model_args args = a->model;
    args.keep = a->against != NULL;
    int status = tc_cli_model_open(&args, &m, err);
    if (status == TC_CLI_DONE)
        status = bench_model(a, m, err);
    tctune_model_free(m);
    return status;
}

/* fleet: where a->fleet is put. */
static tctune_bench_kernel_options kernel_options(const bench_args *a, tctune_fleet *fleet) {
    *fleet = tc_cli_fleet(&a->fleet);
    return (tctune_bench_kernel_options){.struct_size = sizeof(tctune_bench_kernel_options),
                                         .schedule = a->sched,
                                         .database = tc_cli_db_to_read(&a->model.db),
                                         .at = a->at.data,
                                         .target = a->model.target.name,
                                         .threads = a->model.target.threads,
                                         .accuracy = a->model.accuracy.accuracy,
                                         .precision = a->model.accuracy.precision,
                                         .mode = a->timing,
                                         .repeats = a->repeats,
                                         .seed = a->model.seed,
                                         .stop = tc_cli_stop_flag(),
                                         .fleet = fleet->url ? fleet : NULL,
                                         .require_complete = a->model.require_complete};
}

static int bench_task(const bench_args *a, tctune_work *w, tc_error *err) {
    tctune_fleet fleet;
    tctune_bench_kernel_options o = kernel_options(a, &fleet);
    char *text;
    int task, status = tc_cli_one_task(w, tc_cli_work_path(&a->model.source), a->kernel, &task, err);
    if (status == TC_CLI_DONE)
        status = tc_cli_check_at(w, task, &a->at, err);
    if (status == TC_CLI_DONE)
        status = tc_cli_status(tctune_bench_kernel(w, task, &o, &text, TC_CLI_SAY(err)));
    if (status == TC_CLI_DONE)
        tc_cli_tell(text, a->format, print_kernel);
    return status;
}

/* Called after the table is printed: names the first kernel that failed, and says why. */
static int status_apart(const json_t *j, tc_error *err) {
    const json_t *kernels = json_object_get(j, "kernels"), *k = NULL;
    long long failed = tc_cli_number(j, "failed");
    size_t i = 0;
    if (!failed)
        return TC_CLI_DONE;
    while (k = json_array_get(kernels, i), k && !json_is_string(json_object_get(k, "error")))
        i++;
    const char *worker = json_string_value(json_object_get(k, "worker"));
    tc_strbuf others = {0};
    if (failed > 1)
        tc_sb_printf(&others, "; %lld other kernels were not measured either: the table says why", failed - 1);
    tc_fail(err, TC_ENV, "kernel %zu, %s, could not be measured%s%s: %s: %s%s", i, tc_cli_text(k, "name"), worker ? " by " : "",
            worker ? worker : "", tc_cli_text(k, "error"), tc_cli_text(k, "message"), tc_sb_str(&others));
    tc_strbuf_free(&others);
    return TC_CLI_FAILED;
}

/* Times the kernels of a network on workers of a fleet. If a kernel fails there, the others keep their results. */
static int bench_tasks(const bench_args *a, tctune_work *w, tc_error *err) {
    tctune_fleet fleet;
    tctune_bench_kernel_options o = kernel_options(a, &fleet);
    char *text;
    int status = tc_cli_status(tctune_bench_kernels(w, &o, NULL, &text, TC_CLI_SAY(err)));
    if (status != TC_CLI_DONE)
        return status;
    json_t *j = tc_cli_document(text);
    tc_cli_tell_of(j, a->format, print_apart);
    status = status_apart(j, err);
    json_decref(j);
    return status;
}

typedef int bench_work(const bench_args *a, tctune_work *w, tc_error *err);

static int bench_kernels(const bench_args *a, bench_work *way, tc_error *err) {
    tctune_work *w = NULL;
    tc_cli_source_args source = a->model.source;
    source.varying = a->at.len > 0;
    int status = tc_cli_check_target(&a->model.target, !a->fleet.url || a->fleet.fallback, err);
    if (status == TC_CLI_DONE)
        status = tc_cli_work_open(&source, NULL, a->model.seed, &w, err);
    if (status == TC_CLI_DONE)
        status = way(a, w, err);
    tctune_work_free(w);
    return status;
}

/* A kernel by itself, not a network. */
static bool is_of_kernel(const bench_args *a) {
    return a->model.source.te || a->kernel;
}

static int check_kernel(const bench_args *a, tc_error *err) {
    if (a->sched && !is_of_kernel(a))
        return tc_cli_usage(err, "--sched goes with --te or --kernel: a schedule belongs to one kernel");
    if (!a->kernel)
        return TC_CLI_DONE;
    if (a->model.source.te && a->against)
        return tc_cli_usage(err, "--kernel names a kernel of a network, but --te is a single kernel: leave --kernel out");
    if (a->inputs || a->plot || a->against)
        return tc_cli_usage(err, "--kernel times one kernel by itself; --inputs, --plot and --against need the whole network");
    if (a->model.source.model && tctune_is_library(a->model.source.model))
        return tc_cli_usage(
            err, "%s is a built library, which only runs as a whole: give --kernel with the network that it was built from",
            a->model.source.model);
    return TC_CLI_DONE;
}

static int check_elsewhere(const bench_args *a, tc_error *err) {
    if (a->inputs || a->plot || a->against)
        return tc_cli_usage(err, "--inputs, --plot and --against need a run of the whole network on this machine, but --fleet "
                                 "times each kernel by itself");
    if (!is_of_kernel(a) && a->at.len)
        return tc_cli_usage(err, "with --fleet, --at goes with --te or --kernel: a fleet times the kernels of a network at their "
                                 "largest sizes; --shape sets these");
    if (a->model.source.model && tctune_is_library(a->model.source.model))
        return tc_cli_usage(
            err, "%s is a built library, which only runs on this machine: give --fleet with the network that it was built from",
            a->model.source.model);
    return TC_CLI_DONE;
}

static int check_here(const bench_args *a, tc_error *err) {
    if (a->timing && !is_of_kernel(a))
        return tc_cli_usage(err,
                            "--mode goes with --te, --kernel or --fleet: the kernels of a network are timed as they run in it");
    if (a->at.len && a->inputs)
        return tc_cli_usage(err, "--at and --inputs exclude each other: inputs have sizes of their own");
    if (a->inputs && a->model.source.te)
        return tc_cli_usage(err, "--inputs goes with --model: a kernel of --te is timed and checked on random values");
    if (a->plot && a->model.source.te)
        return tc_cli_usage(err, "--plot draws the kernels of a network, or a range of sizes: it goes with --model");
    if (a->against && (a->plot || a->sched || a->timing || a->at.len))
        return tc_cli_usage(
            err,
            "--against compares the schedules of a whole network at fixed sizes: leave out --plot, --sched, --mode and --at");
    return a->plot && tc_fs_check_writable(a->plot, err) != TC_OK ? TC_CLI_FAILED : TC_CLI_DONE;
}

static int run(const void *args, tc_error *err) {
    const bench_args *a = args;
    int status = tc_cli_work_check(&a->model.source, err);
    if (status == TC_CLI_DONE)
        status = tc_cli_check_progress(&a->model.progress, err);
    if (status == TC_CLI_DONE)
        status = tc_cli_check_fleet(&a->fleet, err);
    if (status != TC_CLI_DONE)
        return status;
    status = check_kernel(a, err);
    if (status != TC_CLI_DONE)
        return status;
    status = a->fleet.url ? check_elsewhere(a, err) : check_here(a, err);
    if (status != TC_CLI_DONE)
        return status;
    tc_cli_catch_signals();
    if (a->fleet.url && !is_of_kernel(a))
        return bench_kernels(a, bench_tasks, err);
    return is_of_kernel(a) && !a->against ? bench_kernels(a, bench_task, err) : bench_network(a, err);
}

const tc_cli_command tc_cli_bench = {
    .name = "bench",
    .summary = "measure the latency of a network and of its kernels, or of one kernel",
    .source = "MODEL.onnx|LIBRARY.so|KERNEL.te",
    .synopsis = "[--threads N] [--repeats N] [--json] [--against BASE.json]",
    .details = "Kernels without a record in the database run with their default schedule. The peak of the machine, which "
               "percentages refer to, is "
               "measured before and after. A single kernel (a .te file, or --kernel) runs in a process of its own, and its "
               "result is checked. A record "
               "that fails this check is marked in the database and no longer used. "
               "With --fleet a worker times the single kernel, or the workers share the kernels of the network; the network as a "
               "whole is not timed. "
               "A network whose sizes vary is timed at the sizes of --at or of --inputs. Without both it is timed over the range "
               "of each size in turn, while "
               "the other sizes have their smallest positive value; --plot draws this. "
               "--against builds the schedules that BASE.json names and those of today, and runs the two in turns. It does not "
               "use the times in BASE.json. "
               "If a kernel or the network is slower beyond doubt, the command ends with status 3 and names it.",
    .examples = {{"Time a built library on 2 threads:", "tctune bench mlp.so --threads 2"},
                 {"Keep a result, to find out later with --against base.json whether something became slower:",
                  "tctune bench mlp.onnx --json >base.json"}},
    TC_CLI_ARGS(bench_args, options),
    .defaults = &(const bench_args){.model = TC_CLI_MODEL_DEFAULTS},
    .run = run,
};
