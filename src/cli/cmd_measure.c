/* tctune measure: times one schedule written by hand, verifies it, and records it beside the found ones. */
#include <math.h>
#include <string.h>

#include "cli/cli.h"
#include "tune/kernel/kernel.h"

typedef struct measure_args {
    tc_cli_common common;
    tc_cli_source_args source;
    tc_cli_timing timing;
    tc_cli_db_args db;
    tc_cli_target_args target;
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
    TC_CLI_SEED_OPTION(measure_args, seed),
    TC_CLI_REPEATS_OPTION(measure_args, repeats),
    TC_CLI_KERNEL_OPTION(measure_args, kernel),
    TC_CLI_SCHED_OPTION(measure_args, sched),
    TC_CLI_PASS_OPTIONS(measure_args, source.passes),
    TC_CLI_NO_CACHE_OPTION(measure_args),
    TC_CLI_JSON_OPTION(measure_args, json),
};

typedef struct result {
    const tc_record *r;
    const char *name, *db;
    double flops, best; /* best: of the records there were before; INFINITY: none */
} result;

static void print(const measure_args *a, const result *x) {
    const tc_record *r = x->r;
    double gflops = x->flops > 0 ? x->flops / r->median / 1e9 : NAN;
    char time[24], best[24];
    if (a->json) {
        json_t *j = json_pack("{s:s,s:s,s:s,s:s,s:I,s:f,s:i,s:b}", "kernel", x->name, "hash", r->workload_hash.hex, "sched",
                              a->sched, "db", x->db, "record", (json_int_t)r->id, "median_ms", r->median * 1e3, "threads",
                              r->threads, "verified", r->verified);
        json_object_set_new(j, "gflops", tc_cli_json_real(gflops));
        json_object_set_new(j, "max_error", tc_cli_json_real(r->max_error));
        json_object_set_new(j, "best_before_ms", tc_cli_json_real(x->best * 1e3));
        tc_cli_json_print(j);
        return;
    }
    printf("%s with %s: median %s of %zu %s samples, %d threads", x->name, a->sched, tc_cli_time(time, r->median), r->ntimes,
           tc_meas_mode_text(r->mode), r->threads);
    if (isfinite(gflops))
        printf(", %.1f GFLOP/s", gflops);
    printf("\nverified: the largest deviation from the reference is %.3g of what is tolerated\n", r->max_error);
    printf("record %lld of %s; ", (long long)r->id, x->db);
    if (isfinite(x->best))
        printf("the best before took %s\n", tc_cli_time(best, x->best));
    else
        printf("the first one of this kernel\n");
}

/* Read before a database is made for its record. */
static tc_status read_schedule(const measure_args *a, const tc_tune_task *task, const tc_target *t, tc_arena *arena,
                               tc_tune_schedule *out, tc_error *err) {
    tc_tune_query q = {.workload = task->workload, .target = t, .accuracy = TC_ACCURACY_STRICT, .file = a->sched};
    TC_TRY(tc_tune_schedule_find(&q, arena, out, err));
    return tc_tune_schedule_canonical(task->workload, t, arena, out, err);
}

static tc_status measure(const measure_args *a, const tc_tune_task *task, const tc_tune_schedule *s, const tc_target *t,
                         tc_meas_db *db, tc_arena *arena, tc_error *err) {
    tc_tune_kernel_options o = {
        .target = t, .timing = a->timing.asked, .repeats = a->repeats, .seed = a->seed, .stop = tc_cli_stop_flag()};
    tc_record r;
    result x = {&r, task->name, tc_meas_db_path(db), tc_te_flops(task->workload), INFINITY};
    TC_TRY(tc_tune_kernel_record(task->workload, s, &o, db, arena, &r, &x.best, err));
    print(a, &x);
    return TC_OK;
}

static int run(const void *args, tc_error *err) {
    const measure_args *a = args;
    tc_graph_work *w = NULL;
    const tc_tune_task *task;
    tc_target *t = NULL;
    tc_meas_db *db = NULL;
    tc_arena *arena = tc_arena_new();
    tc_tune_schedule k;
    tc_cli_catch_signals();
    int status = tc_cli_check_source(&a->source, err);
    if (status == TC_CLI_DONE)
        status = tc_cli_target(&a->target, true, &t, err);
    if (status == TC_CLI_DONE)
        status = tc_cli_open_source(&a->source, &w, err);
    if (status == TC_CLI_DONE)
        status = tc_cli_pick_one(w, a->kernel, &task, err);
    if (status == TC_CLI_DONE && read_schedule(a, task, t, arena, &k, err) != TC_OK)
        status = TC_CLI_FAILED;
    if (status == TC_CLI_DONE && tc_cli_db_write(&a->db, &db, err) != TC_OK)
        status = TC_CLI_FAILED;
    if (status == TC_CLI_DONE && measure(a, task, &k, t, db, arena, err) != TC_OK)
        status = TC_CLI_FAILED;
    tc_meas_db_close(db);
    tc_graph_work_free(w);
    tc_target_free(t);
    tc_arena_free(arena);
    return status;
}

const tc_cli_command tc_cli_measure = {
    .name = "measure",
    .summary = "measure one schedule written by hand, verify it, and record it",
    .details =
        "Takes a .sched file in the kernel's own names or in canonical ones, as `tctune show --print schedule` prints them. "
        "It runs in the isolated process that tuning uses and is compared with the reference; a verified one becomes a "
        "record like any other, so that build uses it if it is the fastest and tune goes on from it.",
    TC_CLI_ARGS(measure_args, options),
    .defaults = &(const measure_args){.source = TC_CLI_SOURCE_DEFAULTS},
    .required = "sched",
    .run = run,
};
