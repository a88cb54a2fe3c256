/* tctune tune: spends trials on the kernels of a network, or on one kernel. */
#include <math.h>
#include <string.h>

#include "cli/cli.h"
#include "graph/saved/saved.h"
#include "graph/work/search.h"
#include "support/system/fs.h"

typedef struct tune_args {
    tc_cli_common common;
    tc_cli_model_args model;
    int trials;                   /* 0: not given, as for batch */
    double minutes, stop_at_roof; /* negative: not given */
    const char *search, *phases;
    tc_cli_texts start_from;
    tc_cli_timing timing;
    bool deterministic;
    int batch;
    const char *out, *name, *inputs;
    double budget; /* of the error of what is built; negative: not given */
    bool json;
} tune_args;

static const tc_cli_option options[] = {
    TC_CLI_SOURCE_OPTIONS(tune_args, model.source),
    TC_CLI_WEIGHTS_OPTION(tune_args, model.source.weights),
    TC_CLI_COUNT(tune_args, trials, "trials", "N", "candidates to measure in all; what the database holds already counts"),
    TC_CLI_REAL(tune_args, minutes, "minutes", "M", "wall time of the search, alone or with --trials: the first reached ends it"),
    TC_CLI_REAL(tune_args, stop_at_roof, "stop-at-roof", "SHARE",
                "a kernel that reaches this share of the measured peak gets no more trials; default 0.97"),
    TC_CLI_TEXT(tune_args, search, "search", "NAME",
                "phases (default), or for comparison random (samples), ansor (evolution alone, with Ansor's constants)"),
    TC_CLI_TEXT(tune_args, phases, "phases", "LIST",
                "only these, separated by commas: construct, transfer, descent, evolution; default all"),
    TC_CLI_LIST(tune_args, start_from, "start-from", "FILE|none",
                "records of similar kernels to start from: JSON lines or a database; may be repeated. Default what ships with "
                "tctune"),
    TC_CLI_TIMING_OPTION(tune_args, timing),
    TC_CLI_FLAG(
        tune_args, deterministic, "deterministic-measure",
        "compute times from the programs instead of taking them: one seed gives one search, step for step; nothing is built "
        "from such records"),
    TC_CLI_DB_OPTION(tune_args, model.db.path),
    TC_CLI_TARGET_OPTION(tune_args, model.target.name),
    TC_CLI_ACCURACY_OPTION(tune_args, model.accuracy),
    TC_CLI_PRECISION_OPTION(tune_args, model.accuracy),
    TC_CLI_THREADS_OPTION(tune_args, model.target.threads),
    TC_CLI_SEED_OPTION(tune_args, model.seed),
    TC_CLI_COUNT(tune_args, batch, "batch", "N", "candidates per round; default from trials and tasks"),
    TC_CLI_OUT_OPTION(tune_args, out),
    TC_CLI_BUDGET_OPTION(tune_args, budget),
    TC_CLI_TEXT(tune_args, inputs, "inputs", "FILE", "inputs of the network on which --error-budget measures the error (.npz)"),
    TC_CLI_NAME_OPTION(tune_args, name),
    TC_CLI_PASS_OPTIONS(tune_args, model.source.passes),
    TC_CLI_NO_CACHE_OPTION(tune_args),
    TC_CLI_JSON_OPTION(tune_args, json),
};

static void report(const tune_args *a, const tc_tune_report *r, json_t **json) {
    if (a->json)
        *json = tc_cli_tuning_json(r, tc_cli_db_path(&a->model.db));
    else
        tc_cli_report_tuning(stdout, r, tc_cli_db_path(&a->model.db));
}

/* Which kernels round, where there is a budget for it. */
static int choose_precision(const tune_args *a, tc_graph_work *w, const tc_target *t, tc_arena *arena, json_t *json,
                            tc_graph_precision *out, tc_error *err) {
    int status = tc_cli_precision(&a->model, w, t, a->inputs, a->budget, arena, out, err);
    if (status == TC_CLI_DONE && json)
        json_object_set_new(json, "precision", tc_cli_precision_json(out));
    else if (status == TC_CLI_DONE)
        tc_cli_report_precision(stdout, out, a->budget, a->inputs);
    return status;
}

static int build_result(const tune_args *a, tc_graph_work *w, const tc_target *t, json_t *json, tc_error *err) {
    tc_graph_model *m = NULL;
    tc_graph_precision precision = {0};
    tc_arena *arena = tc_arena_new();
    int status = TC_CLI_DONE;
    if (a->budget >= 0)
        status = choose_precision(a, w, t, arena, json, &precision, err);
    if (status == TC_CLI_DONE)
        status = tc_cli_model_build(&a->model, w, t, false, NULL, precision.accuracy, &m, err);
    if (status == TC_CLI_DONE && tc_graph_model_save(m, a->out, a->name, err) != TC_OK)
        status = TC_CLI_FAILED;
    if (status == TC_CLI_DONE && !a->json)
        printf("%s is built from them\n", a->out);
    tc_graph_model_free(m);
    tc_arena_free(arena);
    return status;
}

/* What the command line says of a session. */
static int session_options(const tune_args *a, tc_tune_options *o, tc_error *err) {
    *o = (tc_tune_options){.trials = a->trials,
                           .seconds = 60 * TC_MAX(a->minutes, 0),
                           .stop_at_roof = TC_MAX(a->stop_at_roof, 0),
                           .batch = a->batch,
                           .seed = a->model.seed,
                           .accuracy = a->model.accuracy,
                           .stop = tc_cli_stop_flag(),
                           .timing = a->timing.asked,
                           .measure.mode = a->deterministic ? TC_MEAS_SIMULATED : TC_MEAS_HOT};
    if (a->search && tc_tune_search_parse(a->search, &o->search, err) != TC_OK) {
        tc_error_prefix(err, "--search: ");
        return TC_CLI_USAGE;
    }
    if (a->phases && tc_tune_phases_parse(a->phases, &o->skip_phases, err) != TC_OK) {
        tc_error_prefix(err, "--phases: ");
        return TC_CLI_USAGE;
    }
    return TC_CLI_DONE;
}

/* ---- what is tuned ---- */

typedef struct session {
    tc_tune_options o;
    tc_graph_work *w;
    tc_graph_search *search;
    tc_target *t;
    tc_meas_db *db;
} session;

static void close_session(session *s) {
    tc_graph_search_free(s->search);
    tc_meas_db_close(s->db);
    tc_meas_db_close(s->o.library);
    s->search = NULL;
    s->db = s->o.library = NULL;
}

typedef struct listener {
    const tune_args *a;
    json_t *json; /* NULL: not asked for, or nothing was searched */
} listener;

static void on_searched(void *user, const tc_tune_report *r) {
    listener *l = user;
    report(l->a, r, &l->json);
}

static void on_contest(void *user, const tc_tune_range *r, int programs, int places) {
    (void)user;
    fprintf(stderr, "%s: %d programs at %d sizes\n", r->name, programs, places);
}

static void put_range(json_t *json, const tc_tune_range *r, const tc_tune_range_report *c, const tc_tune_variants *v) {
    json_t *j = tc_cli_variants_json(r->name, r->workload, v), *ranges = json_object_get(json, "ranges");
    if (!ranges)
        json_object_set_new(json, "ranges", ranges = json_array());
    json_object_set_new(j, "tuned", tc_cli_places_json(r->workload, &r->tuned));
    json_object_set_new(j, "entrants", json_integer(c->entrants));
    json_object_set_new(j, "refused", json_integer(c->refused));
    json_object_set_new(j, "failed", json_integer(c->failed));
    json_object_set_new(j, "held", json_boolean(c->held));
    json_array_append_new(ranges, j);
}

static void on_compared(void *user, const tc_tune_range *r, const tc_tune_range_report *c, const tc_tune_variants *v) {
    const listener *l = user;
    if (l->json) {
        put_range(l->json, r, c, v);
        return;
    }
    putchar('\n');
    tc_cli_report_variants(stdout, r->name, r->workload, v);
    if (c->refused)
        printf("%d schedules of fixed sizes are none where they vary; the first: %s\n", c->refused, c->why);
    if (c->failed)
        printf("%d runs failed; the first: %s\n", c->failed, c->failure);
    if (l->a->deterministic)
        puts("computed times choose no variants");
}

static int tune(const tune_args *a, const session *s, json_t **json, tc_error *err) {
    tc_cli_progress *progress = tc_cli_progress_new();
    listener l = {.a = a};
    tc_graph_search_listener told = {&l, on_searched, on_contest, on_compared};
    tc_tune_options o = s->o;
    o.target = s->t;
    o.threads = s->t->machine.cores;
    o.measure_peak = true;
    o.progress = tc_cli_on_progress;
    o.user = progress;
    tc_status st = tc_graph_search_run(s->search, &o, s->db, &told, err);
    *json = l.json;
    tc_cli_progress_free(progress);
    return st == TC_OK ? TC_CLI_DONE : TC_CLI_FAILED;
}

static int stopped(const tune_args *a, tc_error *err) {
    int signal = *tc_cli_stop_flag();
    tc_fail(err, TC_ENV, "stopped by %s; what was measured is in %s, and the same command goes on from there%s%s",
            signal == SIGTERM ? "SIGTERM" : "Ctrl-C", tc_cli_db_path(&a->model.db), a->out ? ". Nothing was written to " : "",
            a->out ? a->out : "");
    return TC_CLI_FAILED;
}

static int check_budget(const tune_args *a, tc_error *err) {
    if (!a->trials && a->minutes < 0)
        return tc_cli_usage(err, "the budget is missing: give --trials N, --minutes M, or both");
    if (a->minutes == 0)
        return tc_cli_usage(err, "--minutes must be more than 0");
    if (a->deterministic && a->out)
        return tc_cli_usage(err, "--out needs measured times: with --deterministic-measure there are none to build from");
    if (a->deterministic && a->timing.given)
        return tc_cli_usage(err, "--mode says how times are taken: with --deterministic-measure none are");
    if (a->budget >= 0 && !a->out)
        return tc_cli_usage(err, "--error-budget is for what is built: it goes with --out");
    if (a->inputs && a->budget < 0)
        return tc_cli_usage(err, "--inputs goes with --error-budget: kernels are timed on drawn inputs");
    if (a->stop_at_roof == 0)
        return tc_cli_usage(err, "--stop-at-roof must be more than 0: it is a share of the peak, such as 0.97");
    return TC_CLI_DONE;
}

static int open_work(const tune_args *a, session *s, tc_error *err) {
    tc_cli_model_args model = a->model;
    model.source.varying = !a->out;
    int status = tc_cli_open(&model, NULL, &s->w, err);
    if (status == TC_CLI_DONE && tc_graph_search_new(s->w, &s->search, err) != TC_OK)
        status = TC_CLI_FAILED;
    return status;
}

/* Everything that can be wrong is found before the first trial. */
static int prepare(const tune_args *a, session *s, tc_error *err) {
    int status = check_budget(a, err);
    if (status == TC_CLI_DONE && a->budget >= 0)
        status = tc_cli_check_budget(&a->model, false, err);
    if (status == TC_CLI_DONE)
        status = session_options(a, &s->o, err);
    if (status == TC_CLI_DONE)
        status = tc_cli_check_source(&a->model.source, err);
    if (status == TC_CLI_DONE)
        status = tc_cli_target(&a->model.target, true, &s->t, err);
    if (status == TC_CLI_DONE && a->out && tc_fs_check_writable(a->out, err) != TC_OK)
        status = TC_CLI_FAILED;
    if (status == TC_CLI_DONE)
        status = open_work(a, s, err);
    if (status == TC_CLI_DONE && a->inputs)
        status = tc_cli_check_inputs(s->w, a->inputs, err);
    if (status == TC_CLI_DONE && tc_tune_start_records(a->start_from.data, a->start_from.len, &s->o.library, err) != TC_OK)
        status = TC_CLI_FAILED;
    if (status == TC_CLI_DONE && tc_cli_db_write(&a->model.db, &s->db, err) != TC_OK)
        status = TC_CLI_FAILED;
    return status;
}

static int run(const void *args, tc_error *err) {
    const tune_args *a = args;
    session s = {0};
    json_t *json = NULL;
    tc_cli_catch_signals();
    int status = prepare(a, &s, err);
    if (status == TC_CLI_DONE)
        status = tune(a, &s, &json, err);
    close_session(&s);
    if (status == TC_CLI_DONE && *tc_cli_stop_flag())
        status = stopped(a, err);
    else if (status == TC_CLI_DONE && a->out)
        status = build_result(a, s.w, s.t, json, err);
    if (json)
        tc_cli_json_print(json);
    tc_graph_work_free(s.w);
    tc_target_free(s.t);
    return status;
}

const tc_cli_command tc_cli_tune = {
    .name = "tune",
    .summary = "search for fast schedules of a network's kernels, or of one kernel",
    .details =
        "Measures candidates in processes of their own and commits each record to the database: after an interruption, or kill "
        "-9, the same command goes on. Ctrl-C ends the round, saves, and prints the table. Kernels near the machine's peak, and "
        "those that gained nothing for long, "
        "leave their trials to others; a model that is tuned already is left alone. A kernel whose sizes vary is tuned at a few "
        "of them, "
        "and its best programs are compared over its whole range. With --out the network is then built, with "
        "--error-budget "
        "as `build` does.",
    TC_CLI_ARGS(tune_args, options),
    .defaults = &(const tune_args){.model = TC_CLI_MODEL_DEFAULTS, .minutes = -1, .stop_at_roof = -1, .budget = -1},
    .run = run,
};
