/* tctune worker lets this machine measure for others. tctune fleet status lists the workers of a fleet. */
#include <string.h>

#include "cli/commands.h"
#include "cli/work.h"

/* ---- worker ---- */

typedef struct worker_args {
    tc_cli_common common;
    tc_cli_fleet_args fleet;
    const char *name, *role, *key;
    tc_cli_target_args target;
    double lease;
    bool print_key;
} worker_args;

static const tc_cli_option worker_options[] = {
    TC_CLI_NATS_OPTIONS(worker_args, fleet),
    TC_CLI_TEXT(worker_args, name, FLEET, "name", "NAME",
                "the name of this worker, which no other worker may have; default from the host's name and the process number"),
    TC_CLI_CHOICE(worker_args, role, FLEET, "role", "both|build|measure",
                  "what the worker does. both (default): build candidates and measure them. build: build for machines that "
                  "cannot compile. measure: "
                  "measure what a building worker has built"),
    TC_CLI_TEXT(worker_args, key, FLEET, "key", "KEY",
                "with --role build: the key of the machines to build for, which --print-key prints on such a machine; default "
                "the key of this machine"),
    TC_CLI_TARGET_OPTION(worker_args, target.name),
    TC_CLI_THREADS_OPTION(worker_args, target.threads),
    TC_CLI_REAL(worker_args, lease, FLEET, "lease", "SECONDS",
                "how long this worker may be silent before its job goes to another worker; default 30"),
    TC_CLI_FLAG(worker_args, print_key, RESULT, "print-key", "only print the key of the queue that this machine would serve"),
    TC_CLI_NO_CACHE_OPTION(worker_args),
};

static void on_ready(void *user, const char *name, const char *key) {
    (void)user;
    tc_say(stdout, "%s serves %s\n", name, key);
    fflush(stdout);
}

static int print_key(const worker_args *a, tc_error *err) {
    char *key;
    int status = tc_cli_status(tctune_fleet_key(a->target.name, a->target.threads, &key, TC_CLI_SAY(err)));
    if (status == TC_CLI_DONE)
        tc_say(stdout, "%s\n", key);
    tctune_text_free(key);
    return status;
}

static int run_worker(const void *args, tc_error *err) {
    const worker_args *a = args;
    if (a->print_key)
        return print_key(a, err);
    if (!a->fleet.url)
        return tc_cli_usage(err, "--nats is missing: give the address of the fleet's server");
    if (a->key && (!a->role || strcmp(a->role, "build") != 0))
        return tc_cli_usage(err, "--key goes with --role build: a worker that measures has the key of its machine");
    tctune_fleet fleet = tc_cli_fleet(&a->fleet);
    tctune_worker_options o = {.struct_size = sizeof o,
                               .fleet = &fleet,
                               .name = a->name,
                               .target = a->target.name,
                               .threads = a->target.threads,
                               .lease = a->lease,
                               .stop = tc_cli_stop_flag(),
                               .ready = on_ready,
                               .role = a->role,
                               .key = a->key};
    tc_cli_catch_signals();
    return tc_cli_status(tctune_fleet_serve(&o, TC_CLI_SAY(err)));
}

const tc_cli_command tc_cli_worker = {
    .name = "worker",
    .summary = "measure candidates for tuners on other machines, until it is stopped",
    .synopsis = "--nats URL [--threads N]",
    .details =
        "The worker takes jobs for its key from a queue on a NATS server with JetStream, one at a time. It measures them in "
        "processes of "
        "their own, as tune does, and sends the results. A machine without room for a compiler only measures (--role measure): "
        "its objects come from workers that build for its key (--role build), even on another kind of processor. Ctrl-C and "
        "SIGTERM end the worker: its job goes back into the queue. `tctune fleet drain`, `kick` and `quarantine` control it from "
        "another machine. While the "
        "server does not answer, it waits.",
    .examples = {{"Measure for the tuners of a server, on 2 threads:", "tctune worker --nats nats://server:4222 --threads 2"},
                 {"Print this machine's key:", "tctune worker --print-key"}},
    TC_CLI_ARGS(worker_args, worker_options),
    .run = run_worker,
};

/* ---- fleet status ---- */

typedef struct fleet_args {
    tc_cli_common common;
    tc_cli_fleet_args fleet;
    tc_cli_format format;
} fleet_args;

static const tc_cli_option status_options[] = {
    TC_CLI_NATS_OPTIONS(fleet_args, fleet),
    TC_CLI_FORMAT_OPTIONS(fleet_args, format),
};

static void print_keys(const json_t *keys, tc_cli_format format) {
    static const char *const headings[] = {"key", ">workers", ">builders", ">waiting", ">under way"};
    tc_cli_table t = tc_cli_table_new(format, TC_LEN(headings), headings);
    size_t i;
    const json_t *k;
    json_array_foreach(keys, i, k) {
        tc_cli_cell(&t, "%s", tc_cli_text(k, "key"));
        tc_cli_cell(&t, "%lld", tc_cli_number(k, "workers"));
        tc_cli_cell(&t, "%lld", tc_cli_number(k, "builders"));
        tc_cli_cell(&t, "%lld", tc_cli_number(k, "waiting"));
        tc_cli_cell(&t, "%lld", tc_cli_number(k, "under_way"));
    }
    tc_cli_table_print(&t, stdout);
    tc_cli_table_free(&t);
}

static const char *state_of(const json_t *worker) {
    const char *state = tc_cli_text(worker, "state");
    bool busy = json_is_true(json_object_get(worker, "busy"));
    return strcmp(state, "serving") != 0 ? state : busy ? "busy" : "idle";
}

static void print_workers(const json_t *workers, tc_cli_format format) {
    static const char *const headings[] = {"worker", "host", "key", "role", ">jobs", "state", ">scale", ">heard of|s", "why"};
    tc_cli_table t = tc_cli_table_new(format, TC_LEN(headings), headings);
    size_t i;
    const json_t *w;
    json_array_foreach(workers, i, w) {
        tc_cli_cell(&t, "%s", tc_cli_text(w, "name"));
        tc_cli_cell(&t, "%s", tc_cli_text(w, "host"));
        tc_cli_cell(&t, "%s", tc_cli_text(w, "key"));
        tc_cli_cell(&t, "%s", tc_cli_text(w, "role"));
        tc_cli_cell(&t, "%lld", tc_cli_number(w, "jobs"));
        tc_cli_cell(&t, "%s", state_of(w));
        if (json_is_number(json_object_get(w, "scale")))
            tc_cli_cell_real(&t, 3, tc_cli_real(w, "scale"));
        else
            tc_cli_cell(&t, "%s", "");
        tc_cli_cell(&t, format == TC_CLI_CSV ? "%.0f" : "%.0f s ago", tc_cli_real(w, "silent_seconds"));
        tc_cli_cell(&t, "%s", tc_cli_text(w, "why"));
    }
    tc_cli_table_print(&t, stdout);
    tc_cli_table_free(&t);
}

static void print_tuners(const json_t *tuners, tc_cli_format format) {
    static const char *const headings[] = {"tuner", "key", ">weight"};
    tc_cli_table t = tc_cli_table_new(format, TC_LEN(headings), headings);
    size_t i;
    const json_t *j;
    json_array_foreach(tuners, i, j) {
        tc_cli_cell(&t, "%s", tc_cli_text(j, "name"));
        tc_cli_cell(&t, "%s", tc_cli_text(j, "key"));
        tc_cli_cell(&t, "%g", tc_cli_real(j, "weight"));
    }
    tc_cli_table_print(&t, stdout);
    tc_cli_table_free(&t);
}

/* How alike two workers rank what they both timed. */
static void print_rankings(const json_t *rankings, tc_cli_format format) {
    static const char *const headings[] = {"key", "two workers", "", ">pairs", ">flipped|%", ""};
    tc_cli_table t = tc_cli_table_new(format, TC_LEN(headings), headings);
    size_t i;
    const json_t *j;
    json_array_foreach(rankings, i, j) {
        const json_t *w = json_object_get(j, "workers");
        tc_cli_cell(&t, "%s", tc_cli_text(j, "key"));
        for (size_t k = 0; k < 2; k++) {
            const char *name = json_string_value(json_array_get(w, k));
            tc_cli_cell(&t, "%s", name ? name : "?");
        }
        tc_cli_cell(&t, "%lld", tc_cli_number(j, "pairs"));
        tc_cli_cell_share(&t, 0, tc_cli_real(j, "flip_share"));
        tc_cli_cell(&t, "%s", json_is_true(json_object_get(j, "differ")) ? "not of one kind" : "");
    }
    tc_cli_table_print(&t, stdout);
    tc_cli_table_free(&t);
}

static void print_status(const json_t *d, tc_cli_format format) {
    const json_t *workers = json_object_get(d, "workers");
    if (json_array_size(workers) == 0 && tc_cli_is_prose(format)) {
        tc_say(stdout, "%s: no worker is there\n", tc_cli_text(d, "server"));
        return;
    }
    print_keys(json_object_get(d, "keys"), format);
    tc_say(stdout, "\n");
    print_workers(workers, format);
    const json_t *tuners = json_object_get(d, "tuners");
    if (json_array_size(tuners) > 0) {
        tc_say(stdout, "\n");
        print_tuners(tuners, format);
    }
    const json_t *rankings = json_object_get(d, "rankings");
    if (json_array_size(rankings) > 0) {
        tc_say(stdout, "\n");
        print_rankings(rankings, format);
    }
}

static int run_status(const void *args, tc_error *err) {
    const fleet_args *a = args;
    tctune_fleet fleet = tc_cli_fleet(&a->fleet);
    char *text;
    int status = tc_cli_status(tctune_fleet_status(&fleet, &text, TC_CLI_SAY(err)));
    if (status == TC_CLI_DONE)
        tc_cli_tell(text, a->format, print_status);
    return status;
}

const tc_cli_command tc_cli_fleet_status = {
    .name = "fleet status",
    .summary = "list the workers and tuners of a fleet, and how many jobs wait for each key",
    .synopsis = "--nats URL [--json]",
    .examples = {{"List the workers of a fleet:", "tctune fleet status --nats nats://server:4222"},
                 {"The same, for a program:", "tctune fleet status --nats nats://server:4222 --json"}},

    TC_CLI_ARGS(fleet_args, status_options),
    .required = "nats",
    .run = run_status,
};
