/* tctune fleet drain, kick, quarantine and release: give orders to workers. tctune fleet log: tells how jobs ended. */
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
    TC_CLI_TEXT(tell_args, why, FLEET, "why", "TEXT",
                "the reason, in one line: workers log it, and `tctune fleet status` shows it"),
    TC_CLI_JSON_OPTION(tell_args, json),
};

static void print_told(const json_t *d, tc_cli_format format) {
    (void)format;
    size_t i;
    const json_t *w;
    json_array_foreach(json_object_get(d, "workers"), i, w) {
        tc_say(stdout, "%s of %s gets the order: %s\n", tc_cli_text(w, "name"), tc_cli_text(w, "key"), tc_cli_text(d, "order"));
    }
}

static int tell(const tell_args *a, const char *order, tc_error *err) {
    tctune_fleet fleet = tc_cli_fleet(&a->fleet);
    char *text;
    int status = tc_cli_status(tctune_fleet_tell(&fleet, order, a->common.operands.data, a->why, &text, TC_CLI_SAY(err)));
    if (status == TC_CLI_DONE)
        tc_cli_tell(text, a->json ? TC_CLI_JSON : TC_CLI_TABLE, print_told);
    return status;
}

#define WHOM                                                                                                                     \
    "WORKER is the name or the key of a worker, with * and ? as wildcards (quote them). If one of several WORKERs matches "      \
    "nobody, no worker is "                                                                                                      \
    "told anything. Workers obey within about a second, or when they reach the server again."

/* The command, and what it does. */
#define ORDER(word, what, ...)                                                                                                   \
    static int run_##word(const void *args, tc_error *err) {                                                                     \
        return tell(args, #word, err);                                                                                           \
    }                                                                                                                            \
    const tc_cli_command tc_cli_fleet_##word = {                                                                                 \
        .name = "fleet " #word,                                                                                                  \
        .summary = what,                                                                                                         \
        .operands = "WORKER...",                                                                                                 \
        .details = WHOM,                                                                                                         \
        .synopsis = "--nats URL [--why TEXT]",                                                                                   \
        .examples = {__VA_ARGS__},                                                                                               \
        TC_CLI_ARGS(tell_args, tell_options),                                                                                    \
        .required = "nats",                                                                                                      \
        .run = run_##word,                                                                                                       \
    }

ORDER(drain, "let workers finish their job, take no other one, and leave",
      {"Let a worker finish and leave:", "tctune fleet drain board3 --nats nats://server:4222"},
      {"Let all workers of a key leave, and say why:",
       "tctune fleet drain 'znver4-*' --why 'new kernel' --nats nats://server:4222"});
ORDER(kick, "make workers leave at once: their jobs go to other workers",
      {"Make a worker leave:", "tctune fleet kick board3 --nats nats://server:4222"},
      {"Make several workers leave:", "tctune fleet kick 'board*' --nats nats://server:4222"});
ORDER(quarantine, "make workers stay without taking jobs, until they are released",
      {"Stop a worker that measures badly:", "tctune fleet quarantine board3 --why 'fan broken' --nats nats://server:4222"},
      {"Stop all workers of a key:", "tctune fleet quarantine 'znver4-*' --nats nats://server:4222"});
ORDER(release, "let quarantined workers take jobs again",
      {"Release a worker:", "tctune fleet release board3 --nats nats://server:4222"},
      {"Release all workers:", "tctune fleet release '*' --nats nats://server:4222"});

/* ---- log ---- */

typedef struct log_args {
    tc_cli_common common;
    tc_cli_fleet_args fleet;
    const char *worker;
    int last;
    tc_cli_format format;
} log_args;

static const tc_cli_option log_options[] = {
    TC_CLI_NATS_OPTIONS(log_args, fleet),
    TC_CLI_TEXT(log_args, worker, FLEET, "worker", "NAME", "only jobs of this worker"),
    TC_CLI_COUNT(log_args, last, BUDGET, "last", "N", "how many jobs to list, at most 1000; default 20"),
    TC_CLI_FORMAT_OPTIONS(log_args, format),
};

/* By the server's clock and this machine's. */
static void put_when(tc_cli_table *t, int64_t when_ms) {
    char text[32];
    struct tm local;
    time_t when = (time_t)(when_ms / 1000);
    strftime(text, sizeof text, "%m-%d %H:%M:%S", localtime_r(&when, &local));
    tc_cli_cell(t, "%s", text);
}

static void print_log(const json_t *d, tc_cli_format format) {
    static const char *const headings[] = {"when", "worker", "tuner", "job", ">time|ms", "outcome", ""};
    const json_t *jobs = json_object_get(d, "jobs"), *j;
    size_t i;
    if (json_array_size(jobs) == 0 && tc_cli_is_prose(format)) {
        tc_say(stdout, "%s: the server has no results\n", tc_cli_text(d, "server"));
        return;
    }
    tc_cli_table t = tc_cli_table_new(format, TC_LEN(headings), headings);
    json_array_foreach(jobs, i, j) {
        put_when(&t, tc_cli_number(j, "when_ms"));
        tc_cli_cell(&t, "%s", tc_cli_text(j, "worker"));
        tc_cli_cell(&t, "%s", tc_cli_text(j, "tuner"));
        tc_cli_cell(&t, "%s", tc_cli_text(j, "job"));
        tc_cli_cell_time(&t, 1e3 * tc_cli_real(j, "seconds"));
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
        tc_cli_tell(text, a->format, print_log);
    return status;
}

const tc_cli_command tc_cli_fleet_log = {
    .name = "fleet log",
    .summary = "list the last jobs of a fleet: who did them, and how they ended",
    .synopsis = "--nats URL [--worker NAME] [--last N]",
    .details = "The latest job comes first; each candidate has a row. The server keeps results for a day. Jobs that wait for "
               "their results "
               "are not listed; `tctune fleet status` counts them.",
    .examples = {{"List the last 20 jobs:", "tctune fleet log --nats nats://server:4222"},
                 {"List the last 100 jobs of a worker:",
                  "tctune fleet log --worker board3 --last 100 --nats nats://server:4222"}},
    TC_CLI_ARGS(log_args, log_options),
    .required = "nats",
    .run = run_log,
};
