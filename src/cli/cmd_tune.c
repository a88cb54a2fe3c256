/* tctune tune: spends trials on the kernels of a network, or on one kernel. */
#include <math.h>
#include <string.h>

#include "cli/cli.h"
#include "support/fs.h"

static const double peak_seconds = 0.4;

/* The machine drifts: the peak is taken before and after the work it is compared with, and the larger one counts. */
static tc_meas_peak larger(tc_meas_peak a, tc_meas_peak b) {
    a.f32_gflops = TC_MAX(a.f32_gflops, b.f32_gflops);
    a.triad_gbs = TC_MAX(a.triad_gbs, b.triad_gbs);
    return a;
}

static void print_report(const tc_cli_args *a, const tc_tune_report *r, const tc_meas_peak *peak) {
    if (a->json)
        tc_cli_json_print(tc_cli_tuning_json(r, peak, tc_cli_db_path(a)));
    else
        tc_cli_report_tuning(stdout, r, peak, tc_cli_db_path(a));
}

static int build_result(const tc_cli_args *a, tc_cli_source *s, const tc_target *t, tc_error *err) {
    tc_graph_model *m;
    int status = tc_cli_model_build(a, s, t, false, NULL, &m, err);
    if (status != TC_CLI_DONE)
        return status;
    if (tc_graph_model_save(m, a->out, a->name, err) != TC_OK)
        status = TC_CLI_FAILED;
    else if (!a->json)
        printf("%s is built from them\n", a->out);
    tc_graph_model_free(m);
    return status;
}

/* "random" */
static int read_search(const tc_cli_args *a, tc_tune_search *out, tc_error *err) {
    static const char *const names[] = {[TC_TUNE_PHASES] = "phases", [TC_TUNE_RANDOM] = "random", [TC_TUNE_ANSOR] = "ansor"};
    *out = TC_TUNE_PHASES;
    for (size_t i = 0; a->search && i < TC_LEN(names); i++)
        if (strcmp(a->search, names[i]) == 0) {
            *out = (tc_tune_search)i;
            return TC_CLI_DONE;
        }
    return a->search ? tc_cli_usage(err, "--search %s: there are phases, random and ansor", a->search) : TC_CLI_DONE;
}

/* "construct,descent": the others are skipped. */
static int read_phases(const tc_cli_args *a, unsigned *skip, tc_error *err) {
    *skip = 0;
    if (!a->phases)
        return TC_CLI_DONE;
    *skip = (1u << TC_TUNE_NPHASES) - 1;
    for (const char *s = a->phases; *s; s += *s == ',') {
        size_t n = strcspn(s, ",");
        int p = 0;
        while (p < TC_TUNE_NPHASES &&
               (strlen(tc_tune_phase_text((tc_tune_phase)p)) != n || strncmp(s, tc_tune_phase_text((tc_tune_phase)p), n) != 0))
            p++;
        if (p == TC_TUNE_NPHASES)
            return tc_cli_usage(err, "--phases: '%.*s' is none; there are construct, transfer, descent and evolution", (int)n, s);
        *skip &= ~(1u << p);
        s += n;
    }
    return *skip == (1u << TC_TUNE_NPHASES) - 1 ? tc_cli_usage(err, "--phases names no phase") : TC_CLI_DONE;
}

static int tune(const tc_cli_args *a, tc_cli_source *s, const tc_target *t, tc_meas_db *db, tc_error *err) {
    tc_meas_db *library = NULL;
    if (tc_cli_library(a, &library, err) != TC_OK) {
        tc_meas_db_close(library);
        return TC_CLI_FAILED;
    }
    tc_meas_peak peak = tc_meas_measure_peak(t->machine.cores, peak_seconds);
    tc_cli_progress *progress = tc_cli_progress_new(peak.f32_gflops);
    tc_tune_options o = {.target = t,
                         .trials = a->trials,
                         .seconds = 60 * a->minutes,
                         .peak_gflops = peak.f32_gflops,
                         .stop_at_roof = a->stop_at_roof,
                         .threads = t->machine.cores,
                         .batch = a->batch,
                         .library = library,
                         .seed = a->seed,
                         .accuracy = tc_cli_accuracy(a),
                         .stop = tc_cli_stop_flag(),
                         .progress = tc_cli_on_progress,
                         .user = progress};
    o.timing = a->mode;
    o.measure.mode = a->deterministic ? TC_MEAS_SIMULATED : TC_MEAS_HOT;
    (void)read_search(a, &o.search, err); /* both were checked before */
    (void)read_phases(a, &o.skip_phases, err);
    tc_tune *session = NULL;
    tc_status st = tc_tune_new(&o, s->tasks, s->ntask, db, &session, err);
    if (st == TC_OK) {
        st = tc_tune_run(session, err);
        if (tc_tune_get_report(session)->measured)
            peak = larger(peak, tc_meas_measure_peak(t->machine.cores, peak_seconds));
        print_report(a, tc_tune_get_report(session), &peak);
    }
    tc_tune_free(session);
    tc_cli_progress_free(progress);
    tc_meas_db_close(library);
    return st == TC_OK ? TC_CLI_DONE : TC_CLI_FAILED;
}

static int stopped(const tc_cli_args *a, tc_error *err) {
    int signal = *tc_cli_stop_flag();
    tc_fail(err, TC_ENV, "stopped by %s; what was measured is in %s, and the same command goes on from there%s%s",
            signal == SIGTERM ? "SIGTERM" : "Ctrl-C", tc_cli_db_path(a), a->out ? ". Nothing was written to " : "",
            a->out ? a->out : "");
    return 128 + signal;
}

static int check_budget(const tc_cli_args *a, tc_error *err) {
    if (!a->trials && !tc_cli_given(a, TC_CLI_BIT(MINUTES)))
        return tc_cli_usage(err, "the budget is missing: give --trials N, --minutes M, or both");
    if (tc_cli_given(a, TC_CLI_BIT(MINUTES)) && !(a->minutes > 0))
        return tc_cli_usage(err, "--minutes must be more than 0");
    if (a->deterministic && a->out)
        return tc_cli_usage(err, "--out needs measured times: with --deterministic-measure there are none to build from");
    if (a->deterministic && tc_cli_given(a, TC_CLI_BIT(MODE)))
        return tc_cli_usage(err, "--mode says how times are taken: with --deterministic-measure none are");
    if (tc_cli_given(a, TC_CLI_BIT(STOP_AT_ROOF)) && !(a->stop_at_roof > 0))
        return tc_cli_usage(err, "--stop-at-roof must be more than 0: it is a share of the peak, such as 0.97");
    return TC_CLI_DONE;
}

/* Everything that can be wrong is found before the first trial. */
static int prepare(const tc_cli_args *a, tc_cli_source *s, tc_target **t, tc_meas_db **db, tc_error *err) {
    tc_tune_search search;
    unsigned skip;
    int status = check_budget(a, err);
    if (status == TC_CLI_DONE)
        status = read_search(a, &search, err);
    if (status == TC_CLI_DONE)
        status = read_phases(a, &skip, err);
    if (status == TC_CLI_DONE)
        status = tc_cli_check_source(a, err);
    if (status == TC_CLI_DONE)
        status = tc_cli_target(a, true, t, err);
    if (status == TC_CLI_DONE && a->out && tc_fs_check_writable(a->out, err) != TC_OK)
        status = TC_CLI_FAILED;
    if (status == TC_CLI_DONE)
        status = tc_cli_source_open(a, s, err);
    if (status == TC_CLI_DONE && tc_cli_db_write(a, db, err) != TC_OK)
        status = TC_CLI_FAILED;
    return status;
}

static int run(const tc_cli_args *a, tc_error *err) {
    tc_cli_source s = {0};
    tc_target *t = NULL;
    tc_meas_db *db = NULL;
    tc_cli_catch_signals();
    int status = prepare(a, &s, &t, &db, err);
    if (status == TC_CLI_DONE)
        status = tune(a, &s, t, db, err);
    tc_meas_db_close(db);
    if (status == TC_CLI_DONE && *tc_cli_stop_flag())
        status = stopped(a, err);
    else if (status == TC_CLI_DONE && a->out)
        status = build_result(a, &s, t, err);
    tc_cli_source_free(&s);
    tc_target_free(t);
    return status;
}

const tc_cli_command tc_cli_tune = {
    .name = "tune",
    .summary = "search for fast schedules of a network's kernels, or of one kernel",
    .details =
        "Measures candidates in processes of their own and commits every round to the database: after an interruption, or kill "
        "-9, "
        "the same command goes on. Ctrl-C ends the round, saves, and prints the table. Kernels near the machine's peak, and "
        "those that gained nothing for long, "
        "leave their trials to others; a model that is tuned already is left alone. With --out the network is then built.",
    .options = TC_CLI_BIT(NO_CACHE) | TC_CLI_BIT(MODEL) | TC_CLI_BIT(TE) | TC_CLI_BIT(SHAPE) | TC_CLI_BIT(TRIALS) |
               TC_CLI_BIT(MINUTES) | TC_CLI_BIT(STOP_AT_ROOF) | TC_CLI_BIT(MODE) | TC_CLI_BIT(DETERMINISTIC) |
               TC_CLI_BIT(SEARCH) | TC_CLI_BIT(PHASES) | TC_CLI_BIT(START_FROM) | TC_CLI_BIT(DB) | TC_CLI_BIT(TARGET) |
               TC_CLI_BIT(ACCURACY) | TC_CLI_BIT(THREADS) | TC_CLI_BIT(SEED) | TC_CLI_BIT(BATCH) | TC_CLI_BIT(OUT) |
               TC_CLI_BIT(NAME) | TC_CLI_BIT(JSON) | TC_CLI_PASS_BITS,
    .run = run,
};
