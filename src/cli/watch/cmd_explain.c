/* tctune explain: says why a schedule is as fast as it is, and not faster. */
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
    tc_cli_format format;
} explain_args;

static const tc_cli_option options[] = {
    TC_CLI_SOURCE_OPTIONS(explain_args, source),
    TC_CLI_KERNEL_OPTION(explain_args, kernel),
    TC_CLI_INPUT(
        explain_args, sched, WHAT, "sched", "RECORD|FILE.sched",
        "which schedule to explain: a record (12, or 12@FILE.db), a .sched file, best (the best record), or default (the "
        "default schedule). Without it: best if there is a database, else default"),
    TC_CLI_AT_OPTION(explain_args, at),
    TC_CLI_TIMING_OPTION(explain_args, timing),
    TC_CLI_REAL(explain_args, denormal, EXPERT, "denormal", "SHARE",
                "draw inputs and constants of which this share (0 to 1) are denormal numbers; default 0"),
    TC_CLI_REAL(explain_args, seconds, BUDGET, "seconds", "S", "how long the command may take; default 45"),
    TC_CLI_DB_OPTION(explain_args, db.path),
    TC_CLI_TARGET_OPTION(explain_args, target.name),
    TC_CLI_THREADS_OPTION(explain_args, target.threads),
    TC_CLI_SEED_OPTION(explain_args, seed),
    TC_CLI_PASS_OPTIONS(explain_args, source.passes),
    TC_CLI_NO_CACHE_OPTION(explain_args),
    TC_CLI_FORMAT_OPTIONS(explain_args, format),
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
        tc_cli_tell(text, a->format, tc_cli_print_explanation);
    tctune_work_free(w);
    return status;
}

const tc_cli_command tc_cli_explain = {
    .name = "explain",
    .summary = "explain why a schedule of a kernel is as fast as it is, and not faster",
    .source = "[MODEL.onnx|KERNEL.te]",
    .synopsis = "[--kernel NAME] [--sched RECORD|FILE.sched] [--seconds S]",
    .details = "The first sentence is the answer: what costs most and what would have to change, or that no change of the "
               "schedule helps, with the share of the roof "
               "that it reaches. For this each decision of the schedule is changed alone. The changes that matter run in turns "
               "with the schedule, in an isolated process. "
               "What a decision is worth is the median of the rounds' ratios, with a 95 % bootstrap interval. The program "
               "suggests possible causes. A cause counts for "
               "the time that is saved when it is taken away: by a change of the schedule, or by the same schedule under other "
               "conditions (constants in the caches, padded "
               "rows). Counters of the processor are shown where the kernel allows them. Each figure says how it was found. The "
               "kernel is a .te file, a kernel of a model "
               "(--kernel), or the kernel of a record. A record of another machine, or a schedule for another --target, is "
               "explained by its program alone and does not run. "
               "While other programs use the machine, the command waits for at most a quarter of its time. If they go on, it "
               "says so first, and its intervals are wider. "
               "Nothing is stored.",
    .examples = {{"Explain the best schedule of a kernel:", "tctune explain gemm.te"},
                 {"Explain a schedule that was written by hand:", "tctune explain gemm.te --sched mine.sched"}},
    TC_CLI_ARGS(explain_args, options),
    .defaults = &(const explain_args){.source = TC_CLI_SOURCE_DEFAULTS},
    .run = run,
};
