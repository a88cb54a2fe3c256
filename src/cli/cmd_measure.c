/* tctune measure: verifies and times one schedule that was written by hand. It stores the record beside the records of searches. */
#include <math.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/work.h"

typedef struct measure_args {
    tc_cli_common common;
    tc_cli_source_args source;
    const char *timing;
    tc_cli_db_args db;
    tc_cli_target_args target;
    tc_cli_fleet_args fleet;
    uint64_t seed;
    int repeats; /* 0: not given */
    const char *kernel, *sched;
    bool json;
} measure_args;

static const tc_cli_option options[] = {
    TC_CLI_SOURCE_OPTIONS(measure_args, source),
    TC_CLI_TIMING_OPTION(measure_args, timing),
    TC_CLI_DB_OPTION(measure_args, db.path),
    TC_CLI_TARGET_OPTION(measure_args, target.name),
    TC_CLI_THREADS_OPTION(measure_args, target.threads),
    TC_CLI_FLEET_OPTIONS(measure_args, fleet),
    TC_CLI_SEED_OPTION(measure_args, seed),
    TC_CLI_REPEATS_OPTION(measure_args, repeats),
    TC_CLI_KERNEL_OPTION(measure_args, kernel),
    TC_CLI_SCHED_OPTION(measure_args, sched),
    TC_CLI_PASS_OPTIONS(measure_args, source.passes),
    TC_CLI_NO_CACHE_OPTION(measure_args),
    TC_CLI_JSON_OPTION(measure_args, json),
};

typedef struct result {
    tctune_record r;
    const char *name, *db;
    double flops, best; /* best: the best time of the earlier records; INFINITY: there are none */
} result;

static void print(const measure_args *a, const result *x) {
    const tctune_record *r = &x->r;
    double gflops = x->flops > 0 ? x->flops / r->median / 1e9 : NAN;
    char time[24], best[24];
    if (a->json) {
        json_t *j = tc_json_pack("{s:s,s:s,s:s,s:s,s:I,s:f,s:i,s:b}", "kernel", x->name, "hash", r->workload_hash, "sched",
                                 a->sched, "db", x->db, "record", (json_int_t)r->id, "median_ms", r->median * 1e3, "threads",
                                 r->threads, "verified", r->verified);
        tc_json_set(j, "gflops", tc_json_real(gflops));
        tc_json_set(j, "max_error", tc_json_real(r->max_error));
        tc_json_set(j, "best_before_ms", tc_json_real(x->best * 1e3));
        tc_cli_json_print(j);
        return;
    }
    tc_say(stdout, "%s with %s: median %s of %zu %s samples, %d threads", x->name, a->sched, tc_text_time(time, r->median),
           r->ntimes, r->mode, r->threads);
    if (isfinite(gflops))
        tc_say(stdout, ", %.1f GFLOP/s", gflops);
    tc_say(stdout, "\nverified: the largest deviation from the reference is %.3g of the tolerance\n", r->max_error);
    tc_say(stdout, "record %lld of %s; ", (long long)r->id, x->db);
    if (isfinite(x->best))
        tc_say(stdout, "the best before took %s\n", tc_text_time(best, x->best));
    else
        tc_say(stdout, "the first record of this kernel\n");
}

/* Of the other records of its kind. */
static int find_best(tctune_database *db, result *x, tc_error *err) {
    tctune_query q = {.struct_size = sizeof q,
                      .workload_hash = x->r.workload_hash,
                      .mode = x->r.mode,
                      .threads = x->r.threads,
                      .verified = 1,
                      .order = TCTUNE_ORDER_BY_RANK};
    tctune_records *all;
    tctune_record r = {.struct_size = sizeof r};
    int status = tc_cli_status(tctune_database_records(db, &q, &all, TC_CLI_SAY(err)));
    for (size_t i = 0; status == TC_CLI_DONE && i < tctune_records_count(all) && !isfinite(x->best); i++) {
        status = tc_cli_status(tctune_records_get(all, i, &r, TC_CLI_SAY(err)));
        if (status == TC_CLI_DONE && r.id != x->r.id && strcmp(r.target, x->r.target) == 0)
            x->best = r.median;
    }
    tctune_records_free(all);
    return status;
}

static int report(const measure_args *a, const tctune_task *task, tctune_database *db, const tctune_records *measured,
                  tc_error *err) {
    result x = {
        .r.struct_size = sizeof x.r, .name = task->name, .db = tc_cli_db_path(&a->db), .flops = task->flops, .best = INFINITY};
    int status = tc_cli_status(tctune_records_get(measured, 0, &x.r, TC_CLI_SAY(err)));
    if (status == TC_CLI_DONE)
        status = find_best(db, &x, err);
    if (status == TC_CLI_DONE)
        print(a, &x);
    return status;
}

static int measure(const measure_args *a, const tctune_task *task, const tctune_schedule *s, tc_error *err) {
    tctune_measure_options o = {
        .struct_size = sizeof o, .repeats = a->repeats, .mode = a->timing, .seed = a->seed, .stop = tc_cli_stop_flag()};
    tctune_fleet fleet = tc_cli_fleet(&a->fleet);
    tctune_database *db;
    tctune_records *measured;
    o.fleet = fleet.url ? &fleet : NULL;
    if (tctune_database_open(tc_cli_db_path(&a->db), TCTUNE_ACCESS_CREATE, &db, TC_CLI_SAY(err)) != TCTUNE_OK)
        return TC_CLI_FAILED;
    int status = tc_cli_status(tctune_schedule_measure(s, &o, db, &measured, TC_CLI_SAY(err)));
    if (status == TC_CLI_DONE)
        status = report(a, task, db, measured, err);
    tctune_records_free(measured);
    tctune_database_close(db);
    return status;
}

/* The schedule is read before a database is made for its record. */
static int measure_task(const measure_args *a, tctune_work *w, int i, tc_error *err) {
    tctune_schedule_options o = {
        .struct_size = sizeof o, .target = a->target.name, .threads = a->target.threads, .file = a->sched};
    tctune_task task = {.struct_size = sizeof task};
    tctune_schedule *s;
    int status = tc_cli_status(tctune_work_task(w, i, &task, TC_CLI_SAY(err)));
    if (status != TC_CLI_DONE || tctune_schedule_new(w, i, &o, &s, TC_CLI_SAY(err)) != TCTUNE_OK)
        return TC_CLI_FAILED;
    status = measure(a, &task, s, err);
    tctune_schedule_free(s);
    return status;
}

static int run(const void *args, tc_error *err) {
    const measure_args *a = args;
    tctune_work *w = NULL;
    int task;
    tc_cli_catch_signals();
    int status = tc_cli_work_check(&a->source, err);
    if (status == TC_CLI_DONE)
        status = tc_cli_check_fleet(&a->fleet, err);
    if (status == TC_CLI_DONE)
        status = tc_cli_check_target(&a->target, !a->fleet.url || a->fleet.fallback, err);
    if (status == TC_CLI_DONE)
        status = tc_cli_work_open(&a->source, NULL, 0, &w, err);
    if (status == TC_CLI_DONE)
        status = tc_cli_one_task(w, tc_cli_work_path(&a->source), a->kernel, &task, err);
    if (status == TC_CLI_DONE)
        status = measure_task(a, w, task, err);
    tctune_work_free(w);
    return status;
}

const tc_cli_command tc_cli_measure = {
    .name = "measure",
    .summary = "measure a schedule that was written by hand, check its result, and store its record",
    .source = "MODEL.onnx|KERNEL.te",
    .synopsis = "--sched FILE.sched [--kernel NAME] [--db FILE.db]",
    .details =
        "The schedule can use the kernel's own names or the canonical names, as `tctune show --print schedule` prints them. "
        "It runs in an isolated process, as in tuning, and its result is compared with the reference. If the result is right, it "
        "becomes a "
        "record: build uses it if it is the fastest, and tune goes on from it.",
    .examples = {{"Save the best schedule of a kernel to a file, to change it by hand:",
                  "tctune show gemm.te --print schedule >mine.sched"},
                 {"Measure the changed schedule:", "tctune measure gemm.te --sched mine.sched"}},
    TC_CLI_ARGS(measure_args, options),
    .defaults = &(const measure_args){.source = TC_CLI_SOURCE_DEFAULTS},
    .required = "sched",
    .run = run,
};
