/* tctune explain: why a schedule is as fast as it is, and not faster. */
#include <string.h>

#include "cli/commands.h"
#include "cli/print.h"
#include "cli/work.h"

typedef struct explain_args {
    tc_cli_common common;
    tc_cli_source_args source;
    const char *timing;
    tc_cli_db_args db;
    tc_cli_target_args target;
    uint64_t seed;
    const char *sched, *kernel;
    double denormal;
    double seconds; /* 0: not given */
    tc_cli_texts at;
    bool json;
} explain_args;

static const tc_cli_option options[] = {
    TC_CLI_SOURCE_OPTIONS(explain_args, source),
    TC_CLI_KERNEL_OPTION(explain_args, kernel),
    TC_CLI_TEXT(
        explain_args, sched, "sched", "RECORD|FILE.sched",
        "what is explained: a record (12, or 12@FILE.db), a schedule in .sched form, best, or default; default best where "
        "there is a database"),
    TC_CLI_AT_OPTION(explain_args, at),
    TC_CLI_TIMING_OPTION(explain_args, timing),
    TC_CLI_REAL(explain_args, denormal, "denormal", "SHARE",
                "share of the values of inputs and constants that are denormal numbers"),
    TC_CLI_REAL(explain_args, seconds, "seconds", "S", "how long it may take; default 45"),
    TC_CLI_DB_OPTION(explain_args, db.path),
    TC_CLI_TARGET_OPTION(explain_args, target.name),
    TC_CLI_THREADS_OPTION(explain_args, target.threads),
    TC_CLI_SEED_OPTION(explain_args, seed),
    TC_CLI_PASS_OPTIONS(explain_args, source.passes),
    TC_CLI_NO_CACHE_OPTION(explain_args),
    TC_CLI_JSON_OPTION(explain_args, json),
};

/* A record's number without its file, or best. */
static bool needs_database(const char *sched) {
    return sched && (strcmp(sched, "best") == 0 || (*sched && strspn(sched, "0123456789") == strlen(sched)));
}

static tctune_explain_options options_of(const explain_args *a) {
    return (tctune_explain_options){.struct_size = sizeof(tctune_explain_options),
                                    .schedule = a->sched,
                                    .database = needs_database(a->sched) ? tc_cli_db_path(&a->db) : tc_cli_db_to_read(&a->db),
                                    .at = a->at.data,
                                    .target = a->target.name,
                                    .threads = a->target.threads,
                                    .mode = a->timing,
                                    .seconds = a->seconds,
                                    .denormal = a->denormal,
                                    .seed = a->seed,
                                    .stop = tc_cli_stop_flag()};
}

/* What is wrong with the options, before anything is opened. */
static int check(const explain_args *a, tc_error *err) {
    int of_record;
    tctune_explain_options o = options_of(a);
    if (tctune_explain_check(&o, &of_record, TC_CLI_SAY(err)) != TCTUNE_OK)
        return TC_CLI_USAGE;
    int status = tc_cli_kernel_check(&a->source, of_record, err);
    return status == TC_CLI_DONE ? tc_cli_check_target(&a->target, false, err) : status;
}

static int run(const void *args, tc_error *err) {
    const explain_args *a = args;
    tctune_work *w = NULL;
    int task;
    char *text;
    tc_cli_catch_signals();
    int status = check(a, err);
    if (status == TC_CLI_DONE)
        status = tc_cli_kernel_open(&a->source, a->kernel, &a->at, &w, &task, err);
    if (status == TC_CLI_DONE) {
        tctune_explain_options o = options_of(a);
        status = tc_cli_status(tctune_explain(w, task, &o, &text, TC_CLI_SAY(err)));
    }
    if (status == TC_CLI_DONE)
        tc_cli_tell(text, a->json, tc_cli_print_explanation);
    tctune_work_free(w);
    return status;
}

const tc_cli_command tc_cli_explain = {
    .name = "explain",
    .summary = "why a schedule of a kernel is as fast as it is, and not faster",
    .details =
        "The first sentence is the answer: what costs most, and what would have to change; or that nothing within the space "
        "helps, with the "
        "roof's share. Each decision of the schedule is changed alone to its neighbours, and the changes that matter run in "
        "turns "
        "with the schedule in the isolated process: what a decision is worth is the median of the rounds' ratios, with its "
        "95 % bootstrap interval. Causes are suspected by what the program shows, and count by what is saved when they are taken "
        "away: by a "
        "change, or by the same schedule under other conditions (constants in the caches, rows that are padded). The "
        "processor's counters stand beside that, where there are any and the kernel allows them. Which method "
        "gave which figure stands beside it. The kernel is that of --te or --model "
        "and --kernel, or of a record. A record of another machine, or a schedule for another --target, is explained by its "
        "program "
        "alone, and not run. While others use the machine it waits, for a quarter of its time at most; if they go on, it says so "
        "first, its intervals are wider, and no cause is certain. Nothing is stored.",
    TC_CLI_ARGS(explain_args, options),
    .defaults = &(const explain_args){.source = TC_CLI_SOURCE_DEFAULTS},
    .run = run,
};
