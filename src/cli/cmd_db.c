/* tctune db: what a database holds, and what can be done with whole databases. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "cli/cli.h"
#include "measure/records/exchange.h"
#include "measure/records/maintain.h"
#include "measure/rerun.h"

/* ---- export and import ---- */

typedef struct export_args {
    tc_cli_common common;
    tc_cli_db_args db;
    const char *out;
} export_args;

static const tc_cli_option export_options[] = {
    TC_CLI_DB_OPTION(export_args, db.path),
    TC_CLI_OUT_OPTION(export_args, out),
};

static int run_export(const void *args, tc_error *err) {
    const export_args *a = args;
    tc_meas_db *db = NULL;
    tc_meas_filter filter = {0};
    size_t n = 0;
    tc_status st = tc_meas_db_open(tc_cli_db_path(&a->db), TC_MEAS_DB_READ, &db, err);
    if (st == TC_OK)
        st = tc_meas_export(db, &filter, a->out, &n, err);
    tc_meas_db_close(db);
    if (st != TC_OK)
        return TC_CLI_FAILED;
    printf("%zu records of %s are in %s\n", n, tc_cli_db_path(&a->db), a->out);
    return TC_CLI_DONE;
}

typedef struct import_args {
    tc_cli_common common;
    tc_cli_db_args db;
} import_args;

static const tc_cli_option import_options[] = {TC_CLI_DB_OPTION(import_args, db.path)};

static void print_imported(void *user, const char *file, size_t added, size_t known) {
    (void)known;
    printf("%s: %zu records added to %s\n", file, added, (const char *)user);
}

static int run_import(const void *args, tc_error *err) {
    const import_args *a = args;
    const tc_cli_texts *files = &a->common.operands;
    const char *db = tc_cli_db_path(&a->db);
    tc_status st = tc_meas_import_files(db, files->data, files->len, print_imported, (void *)(uintptr_t)db, err);
    return st == TC_OK ? TC_CLI_DONE : TC_CLI_FAILED;
}

/* ---- merge ---- */

static void print_merged(void *user, const char *file, size_t added, size_t known) {
    printf("%s: %zu records added to %s, %zu were there\n", file, added, (const char *)user, known);
}

static int run_merge(const void *args, tc_error *err) {
    const import_args *a = args;
    const tc_cli_texts *files = &a->common.operands;
    const char *db = tc_cli_db_path(&a->db);
    tc_status st = tc_meas_merge_files(db, files->data, files->len, print_merged, (void *)(uintptr_t)db, err);
    return st == TC_OK ? TC_CLI_DONE : TC_CLI_FAILED;
}

/* ---- stats ---- */

/* "12 s", "3 min", "5 h", "2 d" */
static void put_age(tc_cli_table *t, int64_t when_ms, int64_t now_ms) {
    double s = (double)(now_ms - when_ms) / 1e3;
    if (s < 120)
        tc_cli_cell(t, "%.0f s", fmax(s, 0));
    else if (s < 7200)
        tc_cli_cell(t, "%.0f min", s / 60);
    else if (s < 48 * 3600)
        tc_cli_cell(t, "%.0f h", s / 3600);
    else
        tc_cli_cell(t, "%.0f d", s / 86400);
}

static void put_failures(tc_strbuf *b, const tc_meas_counts *c) {
    for (int e = 0; e < TC_MEAS_NERRORS; e++)
        if (e != TC_MEAS_NONE && c->by_error[e])
            tc_sb_printf(b, "%s%" PRId64 " %s", b->len ? ", " : "", c->by_error[e], tc_meas_error_text((tc_meas_error)e));
    if (!b->len)
        tc_sb_add(b, "-");
}

static void stats_row(tc_cli_table *t, const tc_meas_summary *s, int64_t now) {
    tc_strbuf failures = {0}, operands = {0};
    char time[24];
    double flops = tc_meas_summary_flops(s);
    put_failures(&failures, &s->counts);
    tc_meas_summary_operands(&operands, s);
    tc_cli_cell(t, "%.8s", s->workload_hash.hex);
    tc_cli_cell(t, "%.8s", s->target_hash.hex);
    tc_cli_cell(t, "%d", s->threads);
    tc_cli_cell(t, "%s", tc_meas_mode_text(s->mode));
    tc_cli_cell(t, "%" PRId64, s->counts.total);
    tc_cli_cell(t, "%" PRId64, s->counts.by_error[TC_MEAS_NONE]);
    if (s->sizes)
        tc_cli_cell(t, "%d sizes", s->sizes);
    else
        tc_cli_cell(t, "%s", s->best_id ? tc_cli_time(time, s->best) : "-");
    if (s->best_id && flops > 0)
        tc_cli_cell(t, "%.1f", flops / s->best / 1e9);
    else
        tc_cli_cell(t, "-");
    put_age(t, s->last_ms, now);
    tc_cli_cell(t, "%s", tc_sb_str(&failures));
    tc_cli_cell(t, "%.60s", tc_sb_str(&operands));
    tc_strbuf_free(&failures);
    tc_strbuf_free(&operands);
}

static void print_stats(const tc_meas_db_stats *whole, const tc_meas_summaries *all, const char *path) {
    static const char *const head[] = {"workload", "target",   ">threads", "mode",     ">records", ">valid",
                                       ">best",    ">GFLOP/s", ">age",     "failures", "operands"};
    char size[24];
    tc_cli_table t = tc_cli_table_new(TC_LEN(head), head);
    const char *target = NULL;
    for (size_t i = 0; i < all->len; i++)
        stats_row(&t, &all->data[i], tc_meas_now_ms());
    tc_cli_table_print(&t, stdout);
    tc_cli_table_free(&t);
    for (size_t i = 0; i < all->len; i++) {
        if (!target || strcmp(target, all->data[i].target) != 0)
            printf("target %.8s: %s\n", all->data[i].target_hash.hex, all->data[i].target);
        target = all->data[i].target;
    }
    printf("%s: %" PRId64 " records of %" PRId64 " workloads for %" PRId64 " targets, %" PRId64 " cost models, %s, schema %d\n",
           path, whole->records, whole->workloads, whole->targets, whole->models, tc_cli_bytes(size, (double)whole->bytes),
           whole->schema);
}

static json_t *summary_json(const tc_meas_summary *s) {
    json_t *failures = json_object();
    for (int e = 0; e < TC_MEAS_NERRORS; e++)
        if (e != TC_MEAS_NONE && s->counts.by_error[e])
            json_object_set_new(failures, tc_meas_error_text((tc_meas_error)e), json_integer(s->counts.by_error[e]));
    json_t *j = json_pack("{s:s,s:s,s:s,s:i,s:s,s:I,s:I,s:I,s:o,s:I,s:o,s:i,s:I,s:I}", "hash", s->workload_hash.hex, "workload",
                          s->workload, "target", s->target, "threads", s->threads, "mode", tc_meas_mode_text(s->mode), "records",
                          (json_int_t)s->counts.total, "valid", (json_int_t)s->counts.by_error[TC_MEAS_NONE], "verified",
                          (json_int_t)s->counts.verified, "failures", failures, "best", (json_int_t)s->best_id, "best_ms",
                          tc_cli_json_real(s->best * 1e3), "best_rounds", s->best_rounds, "first_ms", (json_int_t)s->first_ms,
                          "last_ms", (json_int_t)s->last_ms);
    if (s->sizes)
        json_object_set_new(j, "sizes", json_integer(s->sizes));
    return j;
}

static void print_stats_json(const tc_meas_db_stats *whole, const tc_meas_summaries *all, const char *path) {
    json_t *list = json_array();
    for (size_t i = 0; i < all->len; i++)
        json_array_append_new(list, summary_json(&all->data[i]));
    tc_cli_json_print(json_pack("{s:s,s:i,s:I,s:I,s:I,s:I,s:I,s:o}", "db", path, "schema", whole->schema, "workloads",
                                (json_int_t)whole->workloads, "targets", (json_int_t)whole->targets, "records",
                                (json_int_t)whole->records, "models", (json_int_t)whole->models, "bytes",
                                (json_int_t)whole->bytes, "summaries", list));
}

typedef struct stats_args {
    tc_cli_common common;
    tc_cli_db_args db;
    bool json;
} stats_args;

static const tc_cli_option stats_options[] = {
    TC_CLI_DB_OPTION(stats_args, db.path),
    TC_CLI_JSON_OPTION(stats_args, json),
};

static int run_stats(const void *args, tc_error *err) {
    const stats_args *a = args;
    tc_meas_db *db = NULL;
    tc_meas_db_stats whole;
    tc_meas_summaries all;
    tc_arena *arena = tc_arena_new();
    tc_status st = tc_meas_db_open(tc_cli_db_path(&a->db), TC_MEAS_DB_READ, &db, err);
    if (st == TC_OK)
        st = tc_meas_db_stat(db, &whole, err);
    if (st == TC_OK)
        st = tc_meas_db_summaries(db, arena, &all, err);
    if (st == TC_OK)
        (a->json ? print_stats_json : print_stats)(&whole, &all, tc_cli_db_path(&a->db));
    tc_meas_db_close(db);
    tc_arena_free(arena);
    return st == TC_OK ? TC_CLI_DONE : TC_CLI_FAILED;
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
    TC_CLI_COUNT(prune_args, keep, "keep", "K", "keep the K fastest valid records of every workload and target"),
    TC_CLI_FLAG(prune_args, drop_failures, "drop-failures", "remove the records of candidates that failed"),
};

static int run_prune(const void *args, tc_error *err) {
    const prune_args *a = args;
    tc_meas_db *db = NULL;
    tc_meas_pruned gone;
    tc_meas_prune p = {.keep = a->keep, .drop_failures = a->drop_failures};
    char before[24], after[24];
    if (!a->keep && !a->drop_failures)
        return tc_cli_usage(err, "nothing to prune: give --keep K, --drop-failures, or both");
    tc_status st = tc_meas_db_open(tc_cli_db_path(&a->db), TC_MEAS_DB_CHANGE, &db, err);
    if (st == TC_OK)
        st = tc_meas_db_prune(db, &p, &gone, err);
    tc_meas_db_close(db);
    if (st != TC_OK)
        return TC_CLI_FAILED;
    printf("%s: %" PRId64 " records, %" PRId64 " workloads and %" PRId64 " targets removed; %s are now %s\n",
           tc_cli_db_path(&a->db), gone.records, gone.workloads, gone.targets, tc_cli_bytes(before, (double)gone.bytes_before),
           tc_cli_bytes(after, (double)gone.bytes_after));
    return TC_CLI_DONE;
}

/* ---- verify ---- */

static void print_complaint(void *user, const char *text) {
    (void)user;
    printf("%s\n", text);
}

typedef struct reruns {
    int done, failed, skipped;
} reruns;

static void print_rerun(void *user, const tc_meas_summary *s, const tc_record *recorded, const tc_record *now) {
    reruns *n = user;
    char was[24], is[24];
    if (tc_record_ok(now)) {
        n->done++;
        printf("record %" PRId64 " of workload %.8s (%s, %d threads): %s, recorded %s, %+.1f %%\n", recorded->id,
               s->workload_hash.hex, tc_meas_mode_text(s->mode), s->threads, tc_cli_time(is, now->median),
               tc_cli_time(was, recorded->median), 100 * (now->median / recorded->median - 1));
    } else {
        n->failed++;
        printf("record %" PRId64 " of workload %.8s (%s, %d threads): %s: %s\n", recorded->id, s->workload_hash.hex,
               tc_meas_mode_text(s->mode), s->threads, tc_meas_error_meaning(now->error), now->message);
    }
}

static void print_skipped(void *user, const tc_meas_summary *s, const char *why) {
    ((reruns *)user)->skipped++;
    printf("workload %.8s (%s, %d threads) is not measured: %s\n", s->workload_hash.hex, tc_meas_mode_text(s->mode), s->threads,
           why);
}

static int rerun(tc_meas_db *db, tc_error *err) {
    reruns n = {0};
    int64_t unmarked;
    tc_meas_rerun o = {.stop = tc_cli_stop_flag(), .done = print_rerun, .skipped = print_skipped, .user = &n};
    if (tc_meas_db_rerun(db, &o, &unmarked, err) != TC_OK)
        return TC_CLI_FAILED;
    printf("%d measured again, %d failed, %d skipped\n", n.done, n.failed, n.skipped);
    if (*tc_cli_stop_flag())
        return TC_CLI_FAILED;
    if (!n.failed)
        return TC_CLI_DONE;
    tc_fail(err, TC_BAD_INPUT, "%d of the best records cannot be measured any more; %" PRId64 " of them are no longer applied",
            n.failed, unmarked);
    return TC_CLI_FAILED;
}

static int report_audit(const tc_meas_audit *x, const char *path, tc_error *err) {
    printf("%s: %" PRId64 " workloads, %" PRId64 " targets, %" PRId64 " records; %" PRId64 " traces replay, %" PRId64
           " of them to another program than when they were measured\n",
           path, x->workloads, x->targets, x->records, x->replayed, x->changed);
    if (!x->problems)
        return TC_CLI_DONE;
    tc_fail(err, TC_BAD_INPUT,
            "%s: %" PRId64 " problems, printed above. Export what is good with `tctune db export`, or start a new database", path,
            x->problems);
    return TC_CLI_FAILED;
}

typedef struct db_verify_args {
    tc_cli_common common;
    tc_cli_db_args db;
    bool rerun;
} db_verify_args;

static const tc_cli_option verify_options[] = {
    TC_CLI_DB_OPTION(db_verify_args, db.path),
    TC_CLI_FLAG(db_verify_args, rerun, "rerun", "also measure the best record of every workload again"),
};

static int run_verify(const void *args, tc_error *err) {
    const db_verify_args *a = args;
    const char *path = tc_cli_db_path(&a->db);
    tc_meas_db *db = NULL;
    tc_meas_audit x;
    tc_cli_catch_signals();
    tc_status st = tc_meas_db_open(path, a->rerun ? TC_MEAS_DB_CHANGE : TC_MEAS_DB_READ, &db, err);
    if (st == TC_OK)
        st = tc_meas_db_audit(db, print_complaint, NULL, &x, err);
    int status = st == TC_OK ? report_audit(&x, path, err) : TC_CLI_FAILED;
    if (status == TC_CLI_DONE && a->rerun)
        status = rerun(db, err);
    tc_meas_db_close(db);
    return status;
}

/* ---- the commands ---- */

#define EXPORT(command, secret)                                                                                                  \
    {                                                                                                                            \
        .name = command, .summary = "write a database's records to a file of JSON lines",                                        \
        TC_CLI_ARGS(export_args, export_options), .required = "out", .run = run_export, .hidden = secret                         \
    }
#define IMPORT(command, secret)                                                                                                  \
    {                                                                                                                            \
        .name = command, .summary = "add records from files of JSON lines to a database", .operands = "FILE...",                 \
        TC_CLI_ARGS(import_args, import_options), .run = run_import, .hidden = secret                                            \
    }

const tc_cli_command tc_cli_export = EXPORT("export", true), tc_cli_db_export = EXPORT("db export", false),
                     tc_cli_import = IMPORT("import", true), tc_cli_db_import = IMPORT("db import", false);

const tc_cli_command tc_cli_db_stats = {
    .name = "db stats",
    .summary = "say what a database holds: per workload and target, records, best times and failures",
    TC_CLI_ARGS(stats_args, stats_options),
    .run = run_stats,
};

const tc_cli_command tc_cli_db_merge = {
    .name = "db merge",
    .summary = "add the records of other databases to one",
    .details = "A record that is there already (same workload, target, trace and time of measuring) is not added again, so that "
               "merging twice changes nothing. Each file is merged whole or not at all.",
    .operands = "FILE.db...",
    TC_CLI_ARGS(import_args, import_options),
    .required = "db",
    .run = run_merge,
};

const tc_cli_command tc_cli_db_prune = {
    .name = "db prune",
    .summary = "remove records that are not needed and give their space back",
    .details = "What is removed no longer counts as a trial and teaches the cost model nothing: tuning may measure it again. "
               "The best record of every workload and target is always kept.",
    TC_CLI_ARGS(prune_args, prune_options),
    .run = run_prune,
};

const tc_cli_command tc_cli_db_verify = {
    .name = "db verify",
    .summary = "check a database: its structure, its hashes, and that every trace still makes a program",
    .details = "Changes nothing. With --rerun the best record of every workload is also measured again where its target runs "
               "here; one that now gives a wrong result, crashes or cannot be built is marked as not verified, so that nothing "
               "is built from it.",
    TC_CLI_ARGS(db_verify_args, verify_options),
    .run = run_verify,
};
