/* tctune tune: spends trials on the kernels of a network, or on a single kernel. */
#include <signal.h>

#include "cli/commands.h"
#include "cli/picture/picture.h"
#include "cli/print.h"
#include "cli/work.h"
#include "support/system/fs.h"
#include "support/system/stop.h"

typedef struct tune_args {
    tc_cli_common common;
    tc_cli_model_args model;
    int trials;                   /* 0: not given, as for batch */
    double minutes, stop_at_roof; /* negative: not given */
    const char *search, *phases;
    tc_cli_texts start_from;
    const char *timing;
    bool deterministic;
    tc_cli_fleet_args fleet;
    int batch, rounds_at_once; /* 0: not given */
    const char *out, *name, *inputs, *plot;
    double budget; /* of the error of what is built; negative: not given */
    tc_cli_format format;
} tune_args;

static const tc_cli_option options[] = {
    TC_CLI_SOURCE_OPTIONS(tune_args, model.source),
    TC_CLI_WEIGHTS_OPTION(tune_args, model.source.weights),
    TC_CLI_COUNT(tune_args, trials, BUDGET, "trials", "N",
                 "how many candidates to measure in all; records that the database already holds count"),
    TC_CLI_REAL(tune_args, minutes, BUDGET, "minutes", "M",
                "how long the search may take. With --trials too, the search ends at whichever comes first"),
    TC_CLI_REAL(tune_args, stop_at_roof, BUDGET, "stop-at-roof", "SHARE",
                "a kernel that reaches this share of the machine's measured peak gets no more trials; default 0.97"),
    TC_CLI_CHOICE(tune_args, search, EXPERT, "search", "phases|random|ansor",
                  "how candidates are found. phases (default); for comparison: random (random samples) or ansor (only evolution, "
                  "with Ansor's constants)"),
    TC_CLI_TEXT(tune_args, phases, EXPERT, "phases", "LIST",
                "only these phases of the search, separated by commas: construct, transfer, descent, evolution; default all"),
    TC_CLI_INPUTS(
        tune_args, start_from, RECORDS, "start-from", "FILE|none",
        "records of similar kernels that the search starts from: JSON lines or a database; may be repeated. Default: the "
        "records that come with "
        "tctune"),
    TC_CLI_TIMING_OPTION(tune_args, timing),
    TC_CLI_FLAG(tune_args, deterministic, EXPERT, "deterministic-measure",
                "compute times from the programs instead of measuring them. The same seed then gives the same search, step by "
                "step. No model is built "
                "from computed times"),
    TC_CLI_FLEET_OPTIONS(tune_args, fleet),
    TC_CLI_DB_OPTION(tune_args, model.db.path),
    TC_CLI_TARGET_OPTION(tune_args, model.target.name),
    TC_CLI_ACCURACY_OPTIONS(tune_args, model.accuracy),
    TC_CLI_THREADS_OPTION(tune_args, model.target.threads),
    TC_CLI_SEED_OPTION(tune_args, model.seed),
    TC_CLI_COUNT(tune_args, batch, EXPERT, "batch", "N",
                 "how many candidates a round measures; default from the number of trials and of kernels"),
    TC_CLI_COUNT(tune_args, rounds_at_once, EXPERT, "rounds-at-once", "N",
                 "how many rounds are proposed before the results of the first one are known. Default 1; with --fleet 2, or more "
                 "where several tuners share the fleet"),
    TC_CLI_LIBRARY_OPTION(tune_args, out,
                          "build the model from the best records when the search ends, and write it to this file: M.so, M.o or "
                          "M.c, as `tctune build` does"),
    TC_CLI_BUDGET_OPTION(tune_args, budget),
    TC_CLI_NAMED(tune_args, inputs, WHAT, "inputs", "FILE.npz",
                 "the inputs that --error-budget is measured on; default random values"),
    TC_CLI_NAME_OPTION(tune_args, name),
    TC_CLI_OUTPUT(tune_args, plot, RESULT, "plot", "FILE.svg",
                  "also draw, as SVG, how the best times fell over trials and time, and how long each kernel takes"),
    TC_CLI_PASS_OPTIONS(tune_args, model.source.passes),
    TC_CLI_NO_CACHE_OPTION(tune_args),
    TC_CLI_PROGRESS_OPTIONS(tune_args, model.progress),
    TC_CLI_FORMAT_OPTIONS(tune_args, format),
};

/* ---- what is built from what was found ---- */

/* json NULL: for people. */
static int report_precision(const tune_args *a, const tctune_model *m, json_t *json, tc_error *err) {
    char *text;
    if (tctune_model_report(m, &text, TC_CLI_SAY(err)) != TCTUNE_OK)
        return TC_CLI_FAILED;
    json_t *j = tc_cli_document(text), *precision = json_object_get(j, "precision");
    if (json)
        tc_json_set(json, "precision", json_incref(precision));
    else
        tc_cli_print_precision(precision, a->budget, a->inputs, a->format);
    json_decref(j);
    return TC_CLI_DONE;
}

static int build_result(const tune_args *a, tctune_work *w, json_t *json, tc_error *err) {
    tctune_model *m;
    tctune_build_options o = tc_cli_build_options(&a->model);
    o.error_budget = tc_cli_error_budget(a->budget);
    o.inputs = a->inputs;
    int status = tc_cli_status(tctune_build(w, &o, &m, TC_CLI_SAY(err)));
    if (status == TC_CLI_DONE && a->budget >= 0)
        status = report_precision(a, m, json, err);
    if (status == TC_CLI_DONE)
        status = tc_cli_status(tctune_model_save(m, a->out, a->name, TC_CLI_SAY(err)));
    if (status == TC_CLI_DONE && tc_cli_is_prose(a->format))
        tc_say(stdout, "%s is built from them\n", a->out);
    tctune_model_free(m);
    return status;
}

/* ---- the search ---- */

typedef struct listener {
    const tune_args *a;
    tc_cli_progress *progress;
    tc_cli_course *course;
    bool searched; /* there is something to report */
} listener;

static json_t *told_by(const tctune_session *s) {
    char *text;
    tc_error err;
    return tctune_session_describe(s, &text, TC_CLI_SAY(&err)) == TCTUNE_OK ? tc_cli_document(text) : NULL;
}

static void print_range(const tune_args *a, const json_t *range) {
    tc_say(stdout, "\n");
    tc_cli_print_variants(range, a->format);
    if (!tc_cli_is_prose(a->format))
        return;
    if (tc_cli_number(range, "refused"))
        tc_say(stdout, "%lld schedules for fixed sizes cannot be used where sizes vary; the first: %s\n",
               tc_cli_number(range, "refused"), tc_cli_text(range, "refused_why"));
    if (tc_cli_number(range, "failed"))
        tc_say(stdout, "%lld runs failed; the first: %s\n", tc_cli_number(range, "failed"), tc_cli_text(range, "failure"));
    if (a->deterministic)
        tc_say(stdout, "no variants are chosen: times are computed, not measured\n");
}

static int on_event(void *user, const tctune_event *e) {
    listener *l = user;
    bool text = tc_cli_tells_progress(&l->a->model.progress);
    if (text && !(e->kind == TCTUNE_EVENT_CLOSING && l->searched))
        tc_cli_show_progress(l->progress, e);
    else if (tc_cli_tells_events(&l->a->model.progress))
        tc_cli_tell_event(&l->a->model.progress, tc_cli_search_event(e));
    tc_cli_course_add(l->course, e);
    l->searched |= e->kind == TCTUNE_EVENT_SEARCHED;
    if (e->kind == TCTUNE_EVENT_CONTEST && text)
        tc_say(stderr, "%s: %d programs at %d sizes\n", e->name, e->programs, e->places);
    if (e->kind == TCTUNE_EVENT_CLOSING && l->searched && text)
        tc_cli_tell_closing(e, "the records and the default schedules run in turns");
    if (l->a->format == TC_CLI_JSON || (e->kind != TCTUNE_EVENT_SEARCHED && e->kind != TCTUNE_EVENT_COMPARED))
        return 0;
    json_t *j = told_by(e->session), *ranges = json_object_get(j, "ranges");
    if (e->kind == TCTUNE_EVENT_SEARCHED)
        tc_cli_print_tuning(j, l->a->format);
    else
        print_range(l->a, json_array_get(ranges, json_array_size(ranges) - 1));
    json_decref(j);
    return 0;
}

static tctune_tune_options session_options(const tune_args *a) {
    return (tctune_tune_options){.struct_size = sizeof(tctune_tune_options),
                                 .database = tc_cli_db_path(&a->model.db),
                                 .trials = a->trials,
                                 .seconds = a->minutes > 0 ? 60 * a->minutes : 0,
                                 .target = a->model.target.name,
                                 .threads = a->model.target.threads,
                                 .stop_at_roof = a->stop_at_roof > 0 ? a->stop_at_roof : 0,
                                 .batch = a->batch,
                                 .rounds_at_once = a->rounds_at_once,
                                 .seed = a->model.seed,
                                 .accuracy = a->model.accuracy.accuracy,
                                 .precision = a->model.accuracy.precision,
                                 .mode = a->timing,
                                 .search = a->search,
                                 .phases = a->phases,
                                 .start_from = a->start_from.data,
                                 .deterministic = a->deterministic,
                                 .progress = on_event,
                                 .measure_peak = 1,
                                 .stop = tc_cli_stop_flag()};
}

static int stopped(const tune_args *a, tc_error *err) {
    int signal = tc_raised_to(tc_cli_stop_flag());
    tc_fail(err, TC_ENV, "stopped by %s; the records are in %s, and the same command goes on from there%s%s",
            signal == SIGTERM   ? "SIGTERM"
            : signal == SIGXCPU ? "SIGXCPU (ulimit -t)"
                                : "Ctrl-C",
            tc_cli_db_path(&a->model.db), a->out ? ". Nothing was written to " : "", a->out ? a->out : "");
    return TC_CLI_FAILED;
}

/* Draws the search, also if it ended early. The exit status stays as it is. */
static int plot(const tune_args *a, const listener *l, const tctune_session *s, int status, tc_error *err) {
    json_t *j = told_by(s);
    tc_error later;
    int drawn = tc_cli_plot_search(l->course, j, a->plot, status == TC_CLI_DONE ? err : &later);
    json_decref(j);
    return status == TC_CLI_DONE ? drawn : status;
}

/* *json: what the search tells; NULL: nothing was searched. */
static int tune(const tune_args *a, tctune_work *w, json_t **json, tc_error *err) {
    listener l = {.a = a};
    tctune_tune_options o = session_options(a);
    tctune_fleet fleet = tc_cli_fleet(&a->fleet);
    tctune_session *s;
    o.fleet = fleet.url ? &fleet : NULL;
    o.user = &l;
    *json = NULL;
    if (tctune_session_new(w, &o, &s, TC_CLI_SAY(err)) != TCTUNE_OK)
        return TC_CLI_FAILED;
    l.progress = tc_cli_progress_new();
    l.course = tc_cli_course_new();
    tctune_status st = tctune_session_run(s, TC_CLI_SAY(err));
    int status = st == TCTUNE_STOPPED ? stopped(a, err) : tc_cli_status(st);
    if (l.searched)
        *json = told_by(s);
    if (a->plot && l.searched)
        status = plot(a, &l, s, status, err);
    tc_cli_progress_free(l.progress);
    tc_cli_course_free(l.course);
    tctune_session_free(s);
    return status;
}

/* ---- the command ---- */

static int check_budget(const tune_args *a, tc_error *err) {
    if (!a->trials && a->minutes < 0)
        return tc_cli_usage(err, "the budget is missing: give --trials N, --minutes M, or both");
    if (a->minutes == 0)
        return tc_cli_usage(err, "--minutes must be more than 0");
    if (a->deterministic && a->out)
        return tc_cli_usage(err,
                            "--out needs measured times, but --deterministic-measure computes them: leave one of the two out");
    if (a->deterministic && a->timing)
        return tc_cli_usage(
            err, "--mode says how kernels are timed, but --deterministic-measure times none: leave one of the two out");
    if (a->budget >= 0 && !a->out)
        return tc_cli_usage(err, "--error-budget goes with --out: it limits the error of the model that is built");
    if (a->inputs && a->budget < 0)
        return tc_cli_usage(err, "--inputs goes with --error-budget: kernels are timed on random inputs");
    if (a->stop_at_roof == 0)
        return tc_cli_usage(err, "--stop-at-roof must be more than 0: it is a share of the peak, such as 0.97");
    return TC_CLI_DONE;
}

/* Every error that can be found before the first trial is found here. */
static int prepare(const tune_args *a, tctune_work **w, tc_error *err) {
    tctune_tune_options o = session_options(a);
    tc_cli_source_args source = a->model.source;
    source.varying = !a->out;
    int status = check_budget(a, err);
    if (status == TC_CLI_DONE && a->budget >= 0)
        status = tc_cli_check_error_budget(&a->model, false, err);
    if (status == TC_CLI_DONE)
        status = tc_cli_refused(tctune_tune_check(&o, TC_CLI_SAY(err)), err);
    if (status == TC_CLI_DONE)
        status = tc_cli_work_check(&source, err);
    if (status == TC_CLI_DONE)
        status = tc_cli_check_progress(&a->model.progress, err);
    if (status == TC_CLI_DONE)
        status = tc_cli_check_fleet(&a->fleet, err);
    if (status == TC_CLI_DONE)
        status = tc_cli_check_target(&a->model.target, !a->fleet.url || a->fleet.fallback, err);
    if (status == TC_CLI_DONE && a->out && tc_fs_check_replaceable(a->out, err) != TC_OK)
        status = TC_CLI_FAILED;
    if (status == TC_CLI_DONE && a->plot && tc_fs_check_writable(a->plot, err) != TC_OK)
        status = TC_CLI_FAILED;
    if (status == TC_CLI_DONE)
        status = tc_cli_work_open(&source, NULL, a->model.seed, w, err);
    if (status == TC_CLI_DONE && a->inputs)
        status = tc_cli_status(tctune_work_check_inputs(*w, a->inputs, TC_CLI_SAY(err)));
    return status;
}

static int run(const void *args, tc_error *err) {
    const tune_args *a = args;
    tctune_work *w = NULL;
    json_t *json = NULL;
    tc_cli_catch_signals();
    int status = prepare(a, &w, err);
    if (status == TC_CLI_DONE)
        status = tune(a, w, &json, err);
    if (status == TC_CLI_DONE && a->out)
        status = build_result(a, w, a->format == TC_CLI_JSON ? json : NULL, err);
    if (json && a->format == TC_CLI_JSON)
        tc_cli_json_print(json_incref(json));
    else if (json && tc_cli_is_prose(a->format))
        tc_cli_print_gain(json);
    json_decref(json);
    tctune_work_free(w);
    return status;
}

const tc_cli_command tc_cli_tune = {
    .name = "tune",
    .summary = "search for fast schedules of the kernels of a network, or of one kernel",
    .source = "MODEL.onnx|KERNEL.te",
    .synopsis = "(--trials N | --minutes M) [-o FILE] [--db FILE.db] [--threads N]",
    .details =
        "Each candidate is measured in a process of its own, and its record is stored in the database at once. After an "
        "interruption, even kill "
        "-9, the same command goes on where it stopped. Ctrl-C ends the search, saves it, and prints the table. Kernels near the "
        "machine's peak, and "
        "kernels that no longer get faster, leave their trials to the others. A model that is already tuned is left as it is. "
        "A kernel whose sizes vary is tuned at a few of its sizes; then its best programs are compared over the whole range. "
        "Last, the "
        "network runs with and without the records, in turns: kernels whose record is not faster beyond doubt keep the default "
        "schedule, "
        "and the last line says what was gained. That takes at most a tenth of the time, or two seconds.",
    .examples = {{"Tune a network with 200 trials, and build a library from the best schedules:",
                  "tctune tune mlp.onnx --trials 200 -o mlp.so"},
                 {"Tune one kernel on 2 threads, for a minute:", "tctune tune gemm.te --minutes 1 --threads 2"}},
    TC_CLI_ARGS(tune_args, options),
    .defaults = &(const tune_args){.model = TC_CLI_MODEL_DEFAULTS, .minutes = -1, .stop_at_roof = -1, .budget = -1},
    .run = run,
};
