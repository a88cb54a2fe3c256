/* tctune db follow: copies the records of a fleet's tuners into a database of the user, as they appear. */
#include <inttypes.h>

#include "cli/commands.h"
#include "cli/print.h"
#include "cli/work.h"

typedef struct follow_args {
    tc_cli_common common;
    tc_cli_fleet_args fleet;
    tc_cli_db_args db;
    const char *tuner;
    bool once;
    tc_cli_progress_args progress;
} follow_args;

static const tc_cli_option follow_options[] = {
    TC_CLI_DB_OPTION(follow_args, db.path),
    TC_CLI_TEXT(
        follow_args, fleet.key, FLEET, "key", "PATTERN",
        "only records of workers whose key matches, with * and ? as wildcards (`tctune fleet status` lists keys); default all"),
    TC_CLI_TEXT(follow_args, tuner, FLEET, "tuner", "PATTERN",
                "only records of tuners whose name matches, with * and ? as wildcards; default all"),
    TC_CLI_FLAG(follow_args, once, BUDGET, "once", "end when all present records are taken, instead of waiting for more"),
    TC_CLI_ACCESS_OPTIONS(follow_args, fleet),
    TC_CLI_PROGRESS_OPTIONS(follow_args, progress),
};

static void put_counts(FILE *f, const char *db, const tctune_followed *n) {
    tc_say(f, "%s: %" PRId64 " records added, %" PRId64 " were there, %" PRId64 " changed, %" PRId64 " refused", db, n->stored,
           n->known, n->changed, n->refused);
    if (n->others)
        tc_say(f, ", %" PRId64 " of others", n->others);
    tc_say(f, "\n");
}

static json_t *event_of(const tctune_followed *n, const char *refusal) {
    json_t *j = tc_json_pack("{s:s,s:I,s:I,s:I,s:I,s:I}", "event", refusal ? "refused" : "followed", "stored",
                             (json_int_t)n->stored, "known", (json_int_t)n->known, "changed", (json_int_t)n->changed, "refused",
                             (json_int_t)n->refused, "others", (json_int_t)n->others);
    if (refusal)
        tc_json_set(j, "message", tc_json_string(refusal));
    return j;
}

static void on_followed(void *user, const tctune_followed *so_far, const char *refusal) {
    const follow_args *a = user;
    if (tc_cli_tells_events(&a->progress))
        tc_cli_tell_event(&a->progress, event_of(so_far, refusal));
    else if (refusal)
        tc_say(stderr, "tctune db follow: refused: %s\n", refusal);
    else if (!a->once && tc_cli_tells_progress(&a->progress)) /* else the counts are on standard output, at the end */
        put_counts(stderr, tc_cli_db_path(&a->db), so_far);
}

static int run_follow(const void *args, tc_error *err) {
    const follow_args *a = args;
    const char *db = tc_cli_db_path(&a->db);
    if (a->common.operands.len > 1)
        return tc_cli_usage(err, "'%s': db follow takes one server only", a->common.operands.data[1]);
    tctune_fleet fleet = tc_cli_fleet(&a->fleet);
    fleet.url = a->common.operands.data[0];
    tctune_followed n = {.struct_size = sizeof n};
    tctune_follow_options o = {.struct_size = sizeof o,
                               .tuner = a->tuner,
                               .once = a->once,
                               .stop = tc_cli_stop_flag(),
                               .each = on_followed,
                               .user = (void *)(uintptr_t)a};
    int status = tc_cli_check_progress(&a->progress, err);
    if (status != TC_CLI_DONE)
        return status;
    tc_cli_catch_signals();
    status = tc_cli_status(tctune_fleet_follow(&fleet, db, &o, &n, TC_CLI_SAY(err)));
    if (status == TC_CLI_DONE)
        put_counts(stdout, db, &n);
    return status;
}

const tc_cli_command tc_cli_db_follow = {
    .name = "db follow",
    .summary = "copy the records of a fleet's tuners into a database, until it is stopped",
    .details = "Tuners (`tctune tune --fleet`) put each record into a stream of the fleet's server once it is confirmed and "
               "stored. This command takes the records from the stream and checks them as `tctune db import` checks the records "
               "of a file. A record that its tuner no longer trusts is no longer used here either. The database remembers the "
               "position in the stream: the command may be killed at any moment and goes on there. While the server does not "
               "answer, it waits. Ctrl-C and SIGTERM end it.",
    .operands = "URL",
    .synopsis = "[--db FILE.db] [--once]",
    .examples = {{"Collect the records of all tuners in team.db:", "tctune db follow nats://server:4222 --db team.db"},
                 {"Take the records that are there, and end:", "tctune db follow nats://server:4222 --db team.db --once"}},
    TC_CLI_ARGS(follow_args, follow_options),
    .run = run_follow,
};
