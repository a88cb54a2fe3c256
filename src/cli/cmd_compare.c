/* tctune compare: shows two schedules of one kernel side by side, or one schedule and another library. */
#include "cli/commands.h"
#include "cli/print.h"
#include "cli/work.h"

typedef struct compare_args {
    tc_cli_common common;
    tc_cli_source_args source;
    const char *timing;
    tc_cli_db_args db;
    tc_cli_target_args target;
    tc_cli_fleet_args fleet;
    uint64_t seed;
    int repeats; /* 0: not given */
    const char *kernel;
    tc_cli_texts at;
    tc_cli_format format;
} compare_args;

static const tc_cli_option options[] = {
    TC_CLI_SOURCE_OPTIONS(compare_args, source),      TC_CLI_AT_OPTION(compare_args, at),
    TC_CLI_TIMING_OPTION(compare_args, timing),       TC_CLI_DB_OPTION(compare_args, db.path),
    TC_CLI_TARGET_OPTION(compare_args, target.name),  TC_CLI_THREADS_OPTION(compare_args, target.threads),
    TC_CLI_FLEET_OPTIONS(compare_args, fleet),        TC_CLI_SEED_OPTION(compare_args, seed),
    TC_CLI_REPEATS_OPTION(compare_args, repeats),     TC_CLI_KERNEL_OPTION(compare_args, kernel),
    TC_CLI_PASS_OPTIONS(compare_args, source.passes), TC_CLI_NO_CACHE_OPTION(compare_args),
    TC_CLI_FORMAT_OPTIONS(compare_args, format),
};

/* fleet: where a.fleet is put. */
static tctune_compare_options options_of(const compare_args *a, tctune_fleet *fleet) {
    const tc_cli_texts *ab = &a->common.operands;
    *fleet = tc_cli_fleet(&a->fleet);
    return (tctune_compare_options){.struct_size = sizeof(tctune_compare_options),
                                    .a = ab->data[0],
                                    .b = ab->data[1],
                                    .database = tc_cli_db_path(&a->db),
                                    .at = a->at.data,
                                    .target = a->target.name,
                                    .threads = a->target.threads,
                                    .mode = a->timing,
                                    .rounds = a->repeats,
                                    .seed = a->seed,
                                    .stop = tc_cli_stop_flag(),
                                    .fleet = fleet->url ? fleet : NULL};
}

/* What is wrong with the options, before anything is opened. */
static int check(const compare_args *a, tc_error *err) {
    int of_record;
    tctune_fleet fleet;
    if (a->common.operands.len != 2)
        return tc_cli_usage(err, "compare takes two schedules, A and B; %zu were given", a->common.operands.len);
    int fits = tc_cli_check_fleet(&a->fleet, err);
    if (fits != TC_CLI_DONE)
        return fits;
    tctune_compare_options o = options_of(a, &fleet);
    if (tctune_compare_check(&o, &of_record, TC_CLI_SAY(err)) != TCTUNE_OK)
        return TC_CLI_USAGE;
    int status = tc_cli_kernel_check(&a->source, of_record, err);
    return status == TC_CLI_DONE ? tc_cli_check_target(&a->target, !a->fleet.url || a->fleet.fallback, err) : status;
}

static int run(const void *args, tc_error *err) {
    const compare_args *a = args;
    tctune_work *w = NULL;
    int task;
    char *text;
    tc_cli_catch_signals();
    int status = check(a, err);
    if (status == TC_CLI_DONE)
        status = tc_cli_kernel_open(&a->source, a->kernel, &a->at, &w, &task, err);
    if (status == TC_CLI_DONE) {
        tctune_fleet fleet;
        tctune_compare_options o = options_of(a, &fleet);
        status = tc_cli_status(tctune_compare_show(w, task, &o, &text, TC_CLI_SAY(err)));
    }
    if (status == TC_CLI_DONE)
        tc_cli_tell(text, a->format, tc_cli_print_comparison);
    tctune_work_free(w);
    return status;
}

const tc_cli_command tc_cli_compare = {
    .name = "compare",
    .summary = "compare two schedules of a kernel, or a schedule and another library",
    .source = "[MODEL.onnx|KERNEL.te]",
    .operands = "A B",
    .reads_stdin = true,
    .synopsis = "[--kernel NAME] [--threads N]",
    .details = "A and B are each a record of the kernel in any form (12, or 12@FILE.db), a .sched file, default (the default "
               "schedule), best (the best record "
               "of --db), or, for a plain matmul, onednn or openblas, which the benchmark program gemm_peers runs (TCTUNE_PEERS "
               "names it). "
               "Both run in turns in the isolated process, in --repeats rounds. The verdict is the median of the rounds' ratios "
               "with its 95 % bootstrap interval. "
               "A side is called faster only if the interval excludes equality and a sign test agrees (p < 0.001). The command "
               "also shows both schedules and loop nests "
               "side by side, the features of the cost model that differ, the instructions of the hot loops, and the place on "
               "the roofline. "
               "A record that fails is marked in its database and no longer used. The kernel is a .te file, a kernel of a model "
               "(--kernel), or the kernel of a record. "
               "For a kernel with symbols --at gives the sizes, and best is the variant that serves them. "
               "With --fleet one worker runs all rounds, and the verdict names it; the roofline is that of this worker, and "
               "libraries cannot be compared. "
               "Without --threads the number of threads is that of the first record. Without --mode both are timed cold if a "
               "record was, or if tune would do so.",
    .examples = {{"Compare a schedule that was written by hand with the best record:", "tctune compare gemm.te mine.sched best"},
                 {"Compare the default schedule with the best record:", "tctune compare gemm.te default best"}},
    TC_CLI_ARGS(compare_args, options),
    .defaults = &(const compare_args){.source = TC_CLI_SOURCE_DEFAULTS},
    .run = run,
};
