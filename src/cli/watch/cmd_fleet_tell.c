/* tctune fleet drain, kick, quarantine and release: what workers are told; and fleet log: what became of jobs. */
#include <inttypes.h>
#include <time.h>

#include "cli/commands.h"
#include "cli/work.h"

/* ---- orders ---- */

typedef struct tell_args {
    tc_cli_common common;
    tc_cli_fleet_args fleet;
    const char *why;
    bool json;
} tell_args;

static const tc_cli_option tell_options[] = {
    TC_CLI_NATS_OPTIONS(tell_args, fleet),
    TC_CLI_TEXT(tell_args, why, "why", "TEXT", "the reason, one line: workers log it, and `tctune fleet status` shows it"),
    TC_CLI_JSON_OPTION(tell_args, json),
};

static void print_told(const json_t *d) {
    size_t i;
    const json_t *w;
    json_array_foreach(json_object_get(d, "workers"), i, w) {
        printf("%s of %s is told: %s\n", tc_cli_text(w, "name"), tc_cli_text(w, "key"), tc_cli_text(d, "order"));
    }
}

static int tell(const tell_args *a, const char *order, tc_error *err) {
    tctune_fleet fleet = tc_cli_fleet(&a->fleet);
    char *text;
    int status = tc_cli_status(tctune_fleet_tell(&fleet, order, a->common.operands.data, a->why, &text, TC_CLI_SAY(err)));
    if (status == TC_CLI_DONE)
        tc_cli_tell(text, a->json, print_told);
    return status;
}

#define WHOM                                                                                                                     \
    "WORKER is the name of a worker or its key, in which * and ? stand for any characters (quote them). Where one is nobody, "   \
    "nobody is told. Workers follow within about a second, or once they hear of the server again."

/* The command, and what it does. */
#define ORDER(word, what)                                                                                                        \
    static int run_##word(const void *args, tc_error *err) {                                                                     \
        return tell(args, #word, err);                                                                                           \
    }                                                                                                                            \
    const tc_cli_command tc_cli_fleet_##word = {                                                                                 \
        .name = "fleet " #word,                                                                                                  \
        .summary = what,                                                                                                         \
        .operands = "WORKER...",                                                                                                 \
        .details = WHOM,                                                                                                         \
        TC_CLI_ARGS(tell_args, tell_options),                                                                                    \
        .required = "nats",                                                                                                      \
        .run = run_##word,                                                                                                       \
    }

ORDER(drain, "have workers end the job that they have, take no more, and leave");
ORDER(kick, "have workers leave at once: their jobs go to others");
ORDER(quarantine, "have workers take no jobs, and stay, until they are released");
ORDER(release, "have quarantined workers take jobs again");

/* ---- log ---- */

typedef struct log_args {
    tc_cli_common common;
    tc_cli_fleet_args fleet;
    const char *worker;
    int last;
    bool json;
} log_args;

static const tc_cli_option log_options[] = {
    TC_CLI_NATS_OPTIONS(log_args, fleet),
    TC_CLI_TEXT(log_args, worker, "worker", "NAME", "only what this worker did"),
    TC_CLI_COUNT(log_args, last, "last", "N", "how many, 1000 at most; default 20"),
    TC_CLI_JSON_OPTION(log_args, json),
};

/* By the server's clock and this machine's. */
static void put_when(tc_cli_table *t, int64_t when_ms) {
    char text[32];
    struct tm local;
    time_t when = (time_t)(when_ms / 1000);
    strftime(text, sizeof text, "%m-%d %H:%M:%S", localtime_r(&when, &local));
    tc_cli_cell(t, "%s", text);
}

static void print_log(const json_t *d) {
    static const char *const headings[] = {"when", "worker", "tuner", "job", ">time", "outcome", ""};
    const json_t *jobs = json_object_get(d, "jobs"), *j;
    char time[24];
    size_t i;
    if (json_array_size(jobs) == 0) {
        printf("%s: no results are kept\n", tc_cli_text(d, "server"));
        return;
    }
    tc_cli_table t = tc_cli_table_new(TC_LEN(headings), headings);
    json_array_foreach(jobs, i, j) {
        put_when(&t, tc_cli_number(j, "when_ms"));
        tc_cli_cell(&t, "%s", tc_cli_text(j, "worker"));
        tc_cli_cell(&t, "%s", tc_cli_text(j, "tuner"));
        tc_cli_cell(&t, "%s", tc_cli_text(j, "job"));
        tc_cli_cell(&t, "%s", tc_text_time(time, tc_cli_real(j, "seconds")));
        tc_cli_cell(&t, "%s", tc_cli_text(j, "outcome"));
        tc_cli_cell(&t, "%.100s", tc_cli_text(j, "message"));
    }
    tc_cli_table_print(&t, stdout);
    tc_cli_table_free(&t);
}

static int run_log(const void *args, tc_error *err) {
    const log_args *a = args;
    tctune_fleet fleet = tc_cli_fleet(&a->fleet);
    char *text;
    int status = tc_cli_status(tctune_fleet_log(&fleet, a->worker, a->last, &text, TC_CLI_SAY(err)));
    if (status == TC_CLI_DONE)
        tc_cli_tell(text, a->json, print_log);
    return status;
}

const tc_cli_command tc_cli_fleet_log = {
    .name = "fleet log",
    .summary = "list what became of the last jobs, and who did them",
    .details = "As far as the server keeps results, which is a day: the latest first, candidate by candidate. Jobs that workers "
               "have not answered are none of them (`tctune fleet status` counts those).",
    TC_CLI_ARGS(log_args, log_options),
    .required = "nats",
    .run = run_log,
};
