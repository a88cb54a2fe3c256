/* tctune db: shows the contents of a database, and works on whole databases. */
#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <time.h>

#include "cli/commands.h"
#include "cli/picture/picture.h"
#include "cli/work.h"

/* ---- export and import ---- */

typedef struct export_args {
    tc_cli_common common;
    tc_cli_db_args db;
    const char *out;
} export_args;

static const tc_cli_option export_options[] = {
    TC_CLI_DB_OPTION(export_args, db.path),
    TC_CLI_OUT_OPTION(export_args, out, "FILE.json", "the file of JSON lines to write"),
};

static int open_database(const tc_cli_db_args *db, tctune_access access, tctune_database **out, tc_error *err) {
    return tc_cli_status(tctune_database_open(tc_cli_db_path(db), access, out, TC_CLI_SAY(err)));
}

static int run_export(const void *args, tc_error *err) {
    const export_args *a = args;
    tctune_database *db;
    size_t n = 0;
    int status = open_database(&a->db, TCTUNE_ACCESS_READ, &db, err);
    if (status == TC_CLI_DONE)
        status = tc_cli_status(tctune_database_export(db, NULL, a->out, &n, TC_CLI_SAY(err)));
    tctune_database_close(db);
    if (status == TC_CLI_DONE)
        tc_say(stdout, "%zu records of %s are in %s\n", n, tc_cli_db_path(&a->db), a->out);
    return status;
}

typedef struct import_args {
    tc_cli_common common;
    tc_cli_db_args db;
} import_args;

static const tc_cli_option import_options[] = {TC_CLI_DB_OPTION(import_args, db.path)};

static void print_imported(void *user, const char *file, size_t added, size_t known) {
    (void)known;
    tc_say(stdout, "%s: %zu records added to %s\n", file, added, (const char *)user);
}

static int add_files(const import_args *a, tctune_on_taken *taken, tc_error *err) {
    const char *db = tc_cli_db_path(&a->db);
    return tc_cli_status(tctune_database_add_files(db, a->common.operands.data, taken, (void *)(uintptr_t)db, TC_CLI_SAY(err)));
}

static int run_import(const void *args, tc_error *err) {
    return add_files(args, print_imported, err);
}

/* ---- merge ---- */

static void print_merged(void *user, const char *file, size_t added, size_t known) {
    tc_say(stdout, "%s: %zu records added to %s, %zu were there\n", file, added, (const char *)user, known);
}

static int run_merge(const void *args, tc_error *err) {
    return add_files(args, print_merged, err);
}

/* ---- stats ---- */

/* "12 s", "3 min", "5 h", "2 d" */
static void put_age(tc_cli_table *t, int64_t when_ms, int64_t now_ms) {
    double s = (double)(now_ms - when_ms) / 1e3;
    if (t->format == TC_CLI_CSV)
        tc_cli_cell(t, "%.0f", fmax(s, 0));
    else if (s < 120)
        tc_cli_cell(t, "%.0f s", fmax(s, 0));
    else if (s < 7200)
        tc_cli_cell(t, "%.0f min", s / 60);
    else if (s < 48 * 3600)
        tc_cli_cell(t, "%.0f h", s / 3600);
    else
        tc_cli_cell(t, "%.0f d", s / 86400);
}

static void put_failures(tc_cli_table *t, const json_t *failures) {
    tc_strbuf b = {0};
    const char *name;
    json_t *n;
    json_object_foreach((json_t *)(uintptr_t)failures, name, n) {
        tc_sb_printf(&b, "%s%lld %s", b.len ? ", " : "", (long long)json_integer_value(n), name);
    }
    if (b.len)
        tc_cli_cell(t, "%s", tc_sb_str(&b));
    else
        tc_cli_cell_none(t);
    tc_strbuf_free(&b);
}

static void put_best(tc_cli_table *t, const json_t *s) {
    if (json_object_get(s, "sizes"))
        tc_cli_cell(t, "%lld sizes", tc_cli_number(s, "sizes"));
    else
        tc_cli_cell_time(t, tc_cli_real(s, "best_ms"));
    tc_cli_cell_real(t, 1, tc_cli_real(s, "gflops"));
}

static void stats_row(tc_cli_table *t, const json_t *s, int64_t now) {
    tc_cli_cell(t, "%.8s", tc_cli_text(s, "hash"));
    tc_cli_cell(t, "%.8s", tc_cli_text(s, "target_hash"));
    tc_cli_cell(t, "%lld", tc_cli_number(s, "threads"));
    tc_cli_cell(t, "%s", tc_cli_text(s, "mode"));
    tc_cli_cell(t, "%lld", tc_cli_number(s, "records"));
    tc_cli_cell(t, "%lld", tc_cli_number(s, "valid"));
    put_best(t, s);
    put_age(t, tc_cli_number(s, "last_ms"), now);
    put_failures(t, json_object_get(s, "failures"));
    tc_cli_cell(t, "%.60s", tc_cli_text(s, "operands"));
}

static int64_t now_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static void print_targets(const json_t *summaries) {
    const char *last = "";
    size_t i;
    const json_t *s;
    json_array_foreach(summaries, i, s) {
        if (strcmp(last, tc_cli_text(s, "target")) != 0)
            tc_say(stdout, "target %.8s: %s\n", tc_cli_text(s, "target_hash"), tc_cli_text(s, "target"));
        last = tc_cli_text(s, "target");
    }
}

static void print_stats(const json_t *d, tc_cli_format format) {
    static const char *const head[] = {"workload", "target",   ">threads", "mode",     ">records", ">valid",
                                       ">best|ms", ">GFLOP/s", ">age|s",   "failures", "operands"};
    const json_t *all = json_object_get(d, "summaries"), *s;
    char size[24];
    size_t i;
    tc_cli_table t = tc_cli_table_new(format, TC_LEN(head), head);
    json_array_foreach(all, i, s) {
        stats_row(&t, s, now_ms());
    }
    tc_cli_table_print(&t, stdout);
    tc_cli_table_free(&t);
    if (!tc_cli_is_prose(format))
        return;
    print_targets(all);
    tc_say(stdout, "%s: %lld records of %lld workloads for %lld targets, %lld cost models, %s, schema %lld\n",
           tc_cli_text(d, "db"), tc_cli_number(d, "records"), tc_cli_number(d, "workloads"), tc_cli_number(d, "targets"),
           tc_cli_number(d, "models"), tc_text_bytes(size, tc_cli_real(d, "bytes")), tc_cli_number(d, "schema"));
}

typedef struct stats_args {
    tc_cli_common common;
    tc_cli_db_args db;
    const char *plot;
    tc_cli_format format;
} stats_args;

static const tc_cli_option stats_options[] = {
    TC_CLI_DB_OPTION(stats_args, db.path),
    TC_CLI_OUTPUT(stats_args, plot, RESULT, "plot", "FILE.svg",
                  "also draw, as SVG, how many records each workload has, and how many of them failed"),
    TC_CLI_FORMAT_OPTIONS(stats_args, format),
};

static int run_stats(const void *args, tc_error *err) {
    const stats_args *a = args;
    tctune_database *db;
    char *text;
    int status = open_database(&a->db, TCTUNE_ACCESS_READ, &db, err);
    if (status == TC_CLI_DONE)
        status = tc_cli_status(tctune_database_describe(db, &text, TC_CLI_SAY(err)));
    tctune_database_close(db);
    if (status != TC_CLI_DONE)
        return status;
    json_t *j = tc_cli_document(text);
    tc_cli_tell_of(j, a->format, print_stats);
    status = a->plot ? tc_cli_plot_database(j, a->plot, err) : TC_CLI_DONE;
    json_decref(j);
    return status;
}

/* ---- prune ---- */

typedef struct prune_args {
    tc_cli_common common;
    tc_cli_db_args db;
    int keep; /* 0: not given */
    bool drop_failures;
} prune_args;

static const tc_cli_option prune_options[] = {
    TC_CLI_DB_OPTION(prune_args, db.path),
    TC_CLI_COUNT(prune_args, keep, RECORDS, "keep", "K", "keep only the K fastest valid records of each workload and target"),
    TC_CLI_FLAG(prune_args, drop_failures, RECORDS, "drop-failures",
                "remove the records of candidates that failed, and records whose texts and hashes do not fit"),
};

static int run_prune(const void *args, tc_error *err) {
    const prune_args *a = args;
    tctune_database *db;
    tctune_pruned gone = {.struct_size = sizeof gone};
    char before[24], after[24];
    if (!a->keep && !a->drop_failures)
        return tc_cli_usage(err, "nothing to prune: give --keep K, --drop-failures, or both");
    int status = open_database(&a->db, TCTUNE_ACCESS_CHANGE, &db, err);
    if (status == TC_CLI_DONE)
        status = tc_cli_status(tctune_database_prune(db, a->keep, a->drop_failures, &gone, TC_CLI_SAY(err)));
    tctune_database_close(db);
    if (status == TC_CLI_DONE)
        tc_say(stdout, "%s: %" PRId64 " records, %" PRId64 " workloads and %" PRId64 " targets removed; %s are now %s\n",
               tc_cli_db_path(&a->db), gone.records, gone.workloads, gone.targets,
               tc_text_bytes(before, (double)gone.bytes_before), tc_text_bytes(after, (double)gone.bytes_after));
    return status;
}

/* ---- verify ---- */

static void print_complaint(void *user, const char *text) {
    (void)user;
    tc_say(stdout, "%s\n", text);
}

static void print_rerun(void *user, const tctune_rerun *r) {
    int *count = user;
    char was[24], is[24];
    count[r->end]++;
    switch (r->end) {
    case TCTUNE_RERUN_END_TIMED:
        tc_say(stdout, "record %" PRId64 " of workload %.8s (%s, %d threads): %s, recorded %s, %+.1f %%\n", r->record,
               r->workload_hash, r->mode, r->threads, tc_text_time(is, r->now), tc_text_time(was, r->recorded),
               100 * (r->now / r->recorded - 1));
        break;
    case TCTUNE_RERUN_END_FAILED:
        tc_say(stdout, "record %" PRId64 " of workload %.8s (%s, %d threads): %s\n", r->record, r->workload_hash, r->mode,
               r->threads, r->message);
        break;
    case TCTUNE_RERUN_END_SKIPPED:
        tc_say(stdout, "workload %.8s (%s, %d threads) is not measured: %s\n", r->workload_hash, r->mode, r->threads, r->message);
        break;
    }
}

static int rerun(tctune_database *db, tc_error *err) {
    int count[3] = {0}; /* by how they ended */
    int64_t unmarked;
    tctune_rerun_options o = {.struct_size = sizeof o, .stop = tc_cli_stop_flag(), .each = print_rerun, .user = count};
    tctune_status s = tctune_database_rerun(db, &o, &unmarked, TC_CLI_SAY(err));
    if (s != TCTUNE_OK && s != TCTUNE_STOPPED)
        return TC_CLI_FAILED;
    tc_say(stdout, "%d measured again, %d failed, %d skipped\n", count[TCTUNE_RERUN_END_TIMED], count[TCTUNE_RERUN_END_FAILED],
           count[TCTUNE_RERUN_END_SKIPPED]);
    if (s == TCTUNE_STOPPED || !count[TCTUNE_RERUN_END_FAILED])
        return tc_cli_status(s);
    tc_fail(err, TC_BAD_INPUT, "%d of the best records cannot be measured any more; %" PRId64 " of them are no longer used",
            count[TCTUNE_RERUN_END_FAILED], unmarked);
    return TC_CLI_FAILED;
}

static void report_audit(const tctune_audit *x, const char *path) {
    tc_say(stdout,
           "%s: %" PRId64 " workloads, %" PRId64 " targets, %" PRId64 " records; %" PRId64 " traces replay, and %" PRId64
           " of these now make another program than when they were measured\n",
           path, x->workloads, x->targets, x->records, x->replayed, x->changed);
}

typedef struct db_verify_args {
    tc_cli_common common;
    tc_cli_db_args db;
    bool rerun;
} db_verify_args;

static const tc_cli_option verify_options[] = {
    TC_CLI_DB_OPTION(db_verify_args, db.path),
    TC_CLI_FLAG(db_verify_args, rerun, RECORDS, "rerun", "also measure the best record of each workload again"),
};

static int run_verify(const void *args, tc_error *err) {
    const db_verify_args *a = args;
    tctune_database *db;
    tctune_audit x = {.struct_size = sizeof x};
    tc_cli_catch_signals();
    int status = open_database(&a->db, a->rerun ? TCTUNE_ACCESS_CHANGE : TCTUNE_ACCESS_READ, &db, err);
    if (status == TC_CLI_DONE) {
        status = tc_cli_status(tctune_database_verify(db, print_complaint, NULL, &x, TC_CLI_SAY(err)));
        if (status == TC_CLI_DONE || x.problems)
            report_audit(&x, tc_cli_db_path(&a->db));
    }
    if (status == TC_CLI_DONE && a->rerun)
        status = rerun(db, err);
    tctune_database_close(db);
    return status;
}

/* ---- the commands ---- */

#define EXPORT(command, secret)                                                                                                  \
    {                                                                                                                            \
        .name = command, .summary = "write the records of a database to a file of JSON lines",                                   \
        .synopsis = "-o FILE.json [--db FILE.db]", TC_CLI_ARGS(export_args, export_options), .required = "out",                  \
        .run = run_export, .hidden = secret, .examples = {                                                                       \
            {"Write the records of tctune.db to a file:", "tctune db export -o records.json"},                                   \
            {"Count them:", "tctune db export -o - | wc -l"}                                                                     \
        }                                                                                                                        \
    }
#define IMPORT(command, secret)                                                                                                  \
    {                                                                                                                            \
        .name = command, .summary = "add records from files of JSON lines to a database", .operands = "FILE.json...",            \
        .synopsis = "[--db FILE.db]", TC_CLI_ARGS(import_args, import_options), .reads_stdin = true, .run = run_import,          \
        .hidden = secret, .details = "The file `-` is standard input.", .examples = {                                            \
            {"Add the records of a file to tctune.db:", "tctune db import records.json"},                                        \
            {"Add compressed records to another database:", "zcat records.json.gz | tctune db import - --db mine.db"}            \
        }                                                                                                                        \
    }

const tc_cli_command tc_cli_export = EXPORT("export", true), tc_cli_db_export = EXPORT("db export", false),
                     tc_cli_import = IMPORT("import", true), tc_cli_db_import = IMPORT("db import", false);

const tc_cli_command tc_cli_db_stats = {
    .name = "db stats",
    .summary = "print what a database holds: records, best times and failures of each workload and target",
    .synopsis = "[--db FILE.db] [--json]",
    .examples = {{"Print what tctune.db holds:", "tctune db stats"}, {"Draw it:", "tctune db stats --plot records.svg"}},
    TC_CLI_ARGS(stats_args, stats_options),
    .run = run_stats,
};

const tc_cli_command tc_cli_db_merge = {
    .name = "db merge",
    .summary = "add the records of other databases to a database",
    .details = "A record that the database already has (same workload, target, trace and time of measuring) is not added again: "
               "merging twice changes nothing. Each file is merged whole or not at all.",
    .operands = "FILE.db...",
    .synopsis = "--db FILE.db",
    .examples = {{"Add the records of two databases to all.db:", "tctune db merge mine.db theirs.db --db all.db"},
                 {"Add the records of every database in a folder:", "tctune db merge tuned/*.db --db all.db"}},
    TC_CLI_ARGS(import_args, import_options),
    .required = "db",
    .run = run_merge,
};

const tc_cli_command tc_cli_db_prune = {
    .name = "db prune",
    .summary = "remove records that are not needed, and make the file smaller",
    .details =
        "A removed record no longer counts as a trial, and the cost model no longer learns from it: tuning may measure it again. "
        "The best record of each workload and target is always kept. Rows that cannot be true (`tctune db verify` lists them) "
        "are "
        "removed too, and records with ids that tctune never gives get others.",
    .synopsis = "(--keep K | --drop-failures) [--db FILE.db]",
    .examples = {{"Keep the 10 fastest records of each workload:", "tctune db prune --keep 10"},
                 {"Remove the records of candidates that failed:", "tctune db prune --drop-failures"}},
    TC_CLI_ARGS(prune_args, prune_options),
    .run = run_prune,
};

const tc_cli_command tc_cli_db_verify = {
    .name = "db verify",
    .summary = "check a database: its structure, its hashes, and that each trace still makes a program",
    .details = "Nothing is changed. With --rerun the best record of each workload is also measured again, if its target runs "
               "on this machine. A record that now gives a wrong result, crashes or cannot be built is marked as not verified, "
               "and nothing "
               "is built from it any more.",
    .synopsis = "[--rerun] [--db FILE.db]",
    .examples = {{"Check tctune.db:", "tctune db verify"}, {"Also measure its best records again:", "tctune db verify --rerun"}},
    TC_CLI_ARGS(db_verify_args, verify_options),
    .run = run_verify,
};
