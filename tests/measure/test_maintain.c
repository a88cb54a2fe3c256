/* Whole databases: summaries, merging, pruning, checking, and files of older schemas. */
#include "database.h"

#include <math.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "codegen/target/target.h"
#include "fake_worker.h"
#include "measure/records/check.h"
#include "measure/records/exchange.h"
#include "measure/records/maintain.h"
#include "measure/rerun.h"
#include "support/vec.h"
#include "te/text.h"

static const char *in_dir(const char *name) {
    return tc_arena_printf(arena, "%s/%s", dir, name);
}

static int64_t insert(tc_meas_db *db, tc_record r) {
    tc_error err = {0};
    if (tc_meas_db_insert(db, &r, 1, &err) != TC_OK)
        fail_msg("%s", err.msg);
    return r.id;
}

static int64_t total(tc_meas_db *db) {
    tc_meas_counts n;
    assert_int_equal(tc_meas_db_count(db, &(tc_meas_filter){0}, &n, NULL), TC_OK);
    return n.total;
}

static void run_sql(const char *file, const char *sql) {
    sqlite3 *s;
    char *why = NULL;
    assert_int_equal(sqlite3_open(file, &s), SQLITE_OK);
    if (sqlite3_exec(s, sql, NULL, NULL, &why) != SQLITE_OK)
        fail_msg("%s: %s", sql, why);
    sqlite3_close(s);
}

static const tc_meas_summary *find(const tc_meas_summaries *all, const char *workload, tc_meas_mode mode) {
    for (size_t i = 0; i < all->len; i++)
        if (strcmp(all->data[i].workload, workload) == 0 && all->data[i].mode == mode)
            return &all->data[i];
    fail_msg("no summary of %s", workload);
    return NULL;
}

static tc_record later(tc_record r, int64_t ms) {
    r.when_ms += ms;
    return r;
}

static tc_record in_mode(tc_record r, tc_meas_mode mode) {
    r.mode = mode;
    return r;
}

static tc_record in_turns(tc_record r, int rounds) {
    r.rounds = rounds;
    return r;
}

static void summaries_count(void **state) {
    (void)state;
    tc_meas_db *db = open_db(in_dir("t.db"), TC_MEAS_DB_WRITE);
    insert(db, later(sample_record(arena, "v", 0, 2e-3), 500));
    int64_t best = insert(db, sample_record(arena, "v", 1, 1e-3));
    insert(db, later(sample_failure(arena, "v", 2, TC_MEAS_RUN_TIMEOUT), 900));
    insert(db, sample_failure(arena, "v", 3, TC_MEAS_RUN_TIMEOUT));
    insert(db, sample_failure(arena, "w", 4, TC_MEAS_ILLEGAL));
    insert(db, in_mode(sample_record(arena, "v", 1, 4e-3), TC_MEAS_COLD));
    tc_meas_summaries all;
    assert_int_equal(tc_meas_db_summaries(db, arena, &all, NULL), TC_OK);
    assert_int_equal(all.len, 3);
    const tc_meas_summary *s = find(&all, "v", TC_MEAS_HOT);
    assert_int_equal(s->counts.total, 4);
    assert_int_equal(s->counts.by_error[TC_MEAS_NONE], 2);
    assert_int_equal(s->counts.by_error[TC_MEAS_RUN_TIMEOUT], 2);
    assert_int_equal(s->best_id, best);
    assert_true(s->best == 1e-3);
    assert_int_equal(s->last_ms - s->first_ms, 900);
    assert_true(find(&all, "v", TC_MEAS_COLD)->best == 4e-3);
    s = find(&all, "w", TC_MEAS_HOT);
    assert_int_equal(s->best_id, 0);
    assert_true(isinf(s->best));
    tc_meas_db_close(db);
}

/* These were searched for: with what the summary is about, their unkeyed hash (tc_hash64) is the same. */
static void sizes_of_one_hash_are_two(void **state) {
    (void)state;
    static const char *const sizes[] = {"1643150075171,1761231255100", "1201013476027,1732337374100",
                                        "1643150075171,1761231255100"};
    tc_meas_db *db = open_db(in_dir("t.db"), TC_MEAS_DB_WRITE);
    tc_meas_summaries all;
    for (int i = 0; i < 3; i++) {
        tc_record r = sample_record(arena, "w", i, 1e-3);
        r.sizes = sizes[i];
        insert(db, r);
    }
    assert_int_equal(tc_meas_db_summaries(db, arena, &all, NULL), TC_OK);
    assert_int_equal(all.len, 1);
    assert_int_equal(all.data[0].counts.total, 3);
    assert_int_equal(all.data[0].sizes, 2);
    tc_meas_db_close(db);
}

/* The one to use: cold before hot, never a simulated or an emulated one, and one timed by itself must be clearly faster than one
 * timed in turns.
 * */
static void the_best_is_the_one_to_trust(void **state) {
    (void)state;
    tc_meas_db *db = open_db(in_dir("t.db"), TC_MEAS_DB_WRITE);
    tc_record r = sample_record(arena, "w", 0, 1.0), best;
    tc_meas_key key = {r.workload_hash, r.target_hash, 2, 0};
    bool found;
    insert(db, in_mode(sample_record(arena, "w", 9, 0.1), TC_MEAS_SIMULATED));
    insert(db, in_mode(sample_record(arena, "w", 8, 0.1), TC_MEAS_EMULATED));
    assert_int_equal(tc_meas_db_best(db, arena, &key, &best, &found, NULL), TC_OK);
    assert_false(found);
    insert(db, in_turns(r, 8));
    insert(db, sample_record(arena, "w", 1, 0.98)); /* luck, as far as is known */
    assert_int_equal(tc_meas_db_best(db, arena, &key, &best, &found, NULL), TC_OK);
    assert_true(found && best.median == 1.0 && best.rounds == 8);
    int64_t id = insert(db, sample_record(arena, "w", 2, 0.9));
    assert_int_equal(tc_meas_db_best(db, arena, &key, &best, &found, NULL), TC_OK);
    assert_true(best.id == id);
    double times[] = {1.1, 1.1};
    best.times = times, best.ntimes = 2, best.median = 1.1, best.rounds = 2;
    assert_int_equal(tc_meas_db_retime(db, &best, NULL), TC_OK);
    assert_int_equal(tc_meas_db_best(db, arena, &key, &best, &found, NULL), TC_OK);
    assert_true(best.median == 1.0);
    id = insert(db, in_mode(sample_record(arena, "w", 3, 5.0), TC_MEAS_COLD));
    assert_int_equal(tc_meas_db_best(db, arena, &key, &best, &found, NULL), TC_OK);
    assert_true(best.id == id);
    tc_meas_db_close(db);
}

/* What an emulated processor finds wrong is wrong, and what takes long there says nothing. */
static void emulated_failures_count_but_for_their_time(void **state) {
    (void)state;
    tc_meas_db *db = open_db(in_dir("t.db"), TC_MEAS_DB_WRITE);
    tc_record r = sample_record(arena, "w", 0, 1.0), best;
    tc_meas_key key = {r.workload_hash, r.target_hash, 2, 0};
    bool found;
    insert(db, r);
    for (int wrong = 0; wrong < 2; wrong++) {
        tc_record f = sample_failure(arena, "w", 0, wrong ? TC_MEAS_WRONG_RESULT : TC_MEAS_RUN_TIMEOUT);
        f.program = r.program;
        insert(db, in_mode(f, TC_MEAS_EMULATED));
        assert_int_equal(tc_meas_db_best(db, arena, &key, &best, &found, NULL), TC_OK);
        assert_int_equal(found, !wrong);
    }
    tc_meas_db_close(db);
}

/* ---- older files ---- */

static const char downgrade[] =
    "DROP TABLE writer; DROP TABLE admissions; ALTER TABLE models DROP COLUMN seal;"
    "ALTER TABLE records DROP COLUMN mode; ALTER TABLE records DROP COLUMN rounds;"
    "ALTER TABLE records DROP COLUMN sizes; DROP INDEX records_job; ALTER TABLE records DROP COLUMN job;"
    "ALTER TABLE records DROP COLUMN phase; ALTER TABLE records DROP COLUMN predicted;"
    "PRAGMA user_version = 1";

static void older_files_are_read_and_migrated(void **state) {
    (void)state;
    tc_record r = sample_record(arena, "w", 0, 1e-3);
    tc_meas_key key = {r.workload_hash, r.target_hash, 2, 0};
    tc_meas_db *db = open_db(path, TC_MEAS_DB_WRITE);
    insert(db, r);
    tc_meas_db_close(db);
    run_sql(path, downgrade);
    for (int i = 0; i < 2; i++) { /* read as it is, then brought up to date */
        tc_record best;
        bool found;
        tc_meas_db_stats whole;
        db = open_db(path, i ? TC_MEAS_DB_WRITE : TC_MEAS_DB_READ);
        assert_int_equal(tc_meas_db_best(db, arena, &key, &best, &found, NULL), TC_OK);
        assert_true(found && best.mode == TC_MEAS_HOT && best.rounds == 0);
        assert_same_record(&r, &best);
        assert_int_equal(tc_meas_db_stat(db, &whole, NULL), TC_OK);
        assert_int_equal(whole.schema, i ? 5 : 1);
        tc_meas_db_close(db);
    }
}

/* As the version before jobs made them. */
static void files_without_jobs_are_read_and_migrated(void **state) {
    (void)state;
    tc_record r = sample_record(arena, "w", 0, 1e-3);
    tc_meas_db *db = open_db(path, TC_MEAS_DB_WRITE);
    r.sizes = "17";
    insert(db, r);
    tc_meas_db_close(db);
    run_sql(path, "DROP INDEX records_job; ALTER TABLE records DROP COLUMN job; ALTER TABLE records DROP COLUMN phase;"
                  "ALTER TABLE records DROP COLUMN predicted; PRAGMA user_version = 4");
    for (int i = 0; i < 2; i++) {
        tc_meas_records of_job, all;
        db = open_db(path, i ? TC_MEAS_DB_WRITE : TC_MEAS_DB_READ);
        assert_int_equal(tc_meas_db_select(db, arena, &(tc_meas_filter){.job = "j"}, &of_job, NULL), TC_OK);
        assert_int_equal(tc_meas_db_select(db, arena, &(tc_meas_filter){0}, &all, NULL), TC_OK);
        assert_true(of_job.len == 0 && all.len == 1);
        assert_same_record(&r, all.data);
        tc_meas_db_close(db);
    }
}

/* What others made of the new columns is met by no query. */
static void jobs_and_phases_are_words(void **state) {
    (void)state;
    static const char *const spoils[] = {"job = 'a b'", "phase = '<script>'", "predicted = 'much'", "phase = x'00'",
                                         "job = x'41'"};
    for (size_t i = 0; i < sizeof spoils / sizeof *spoils; i++) {
        tc_meas_records all;
        tc_meas_db *db = open_db(path, TC_MEAS_DB_WRITE);
        insert(db, sample_record(arena, "w", (int)i, 1e-3));
        tc_meas_db_close(db);
        run_sql(path, tc_arena_printf(arena, "UPDATE records SET %s", spoils[i]));
        db = open_db(path, TC_MEAS_DB_WRITE);
        assert_int_equal(tc_meas_db_select(db, arena, &(tc_meas_filter){0}, &all, NULL), TC_OK);
        assert_int_equal(all.len, 0);
        tc_meas_db_close(db);
        run_sql(path, "DELETE FROM records");
    }
}

/* ---- merging ---- */

static void merging_is_idempotent(void **state) {
    (void)state;
    const char *a = in_dir("a.db"), *b = in_dir("b.db");
    size_t added, known;
    tc_meas_db *db = open_db(a, TC_MEAS_DB_WRITE);
    insert(db, sample_record(arena, sample_workload(arena, 8), 0, 1e-3));
    insert(db, in_mode(sample_record(arena, sample_workload(arena, 8), 0, 1e-3), TC_MEAS_COLD));
    insert(db, sample_failure(arena, sample_workload(arena, 9), 1, TC_MEAS_RUN_CRASH));
    tc_meas_db_close(db);
    run_sql(a, "PRAGMA wal_checkpoint(TRUNCATE)");
    db = open_db(b, TC_MEAS_DB_WRITE);
    insert(db, sample_record(arena, sample_workload(arena, 8), 0, 1e-3));
    insert(db, later(sample_record(arena, sample_workload(arena, 8), 0, 1e-3), 1)); /* measured again */
    assert_int_equal(tc_meas_db_merge(db, a, &added, &known, NULL), TC_OK);
    assert_int_equal(added, 2);
    assert_int_equal(known, 1);
    assert_int_equal(tc_meas_db_merge(db, a, &added, &known, NULL), TC_OK);
    assert_int_equal(added, 0);
    assert_int_equal(total(db), 4);
    run_sql(a, downgrade);
    assert_int_equal(tc_meas_db_merge(db, a, &added, &known, NULL), TC_OK); /* the cold one is hot there */
    assert_int_equal(added, 0);
    tc_meas_records r;
    assert_int_equal(tc_meas_db_select(db, arena, &(tc_meas_filter){.mode = "cold"}, &r, NULL), TC_OK);
    assert_int_equal(r.len, 1);
    tc_meas_db_close(db);
}

static void what_cannot_be_merged_is_told(void **state) {
    (void)state;
    const char *newer = in_dir("newer.db"), *text = in_dir("text.db");
    size_t added, known;
    tc_error err = {0};
    tc_meas_db_close(open_db(newer, TC_MEAS_DB_WRITE));
    run_sql(newer, "PRAGMA user_version = 99");
    assert_int_equal(tc_fs_write(text, dir, strlen(dir), NULL), TC_OK);
    tc_meas_db *db = open_db(path, TC_MEAS_DB_WRITE);
    assert_int_equal(tc_meas_db_merge(db, newer, &added, &known, &err), TC_BAD_INPUT);
    assert_non_null(strstr(err.msg, "newer tctune"));
    assert_int_equal(tc_meas_db_merge(db, text, &added, &known, &err), TC_BAD_INPUT);
    assert_non_null(strstr(err.msg, "not a tctune database"));
    assert_int_equal(tc_meas_db_merge(db, in_dir("none.db"), &added, &known, &err), TC_BAD_INPUT);
    assert_int_equal(tc_meas_db_merge(db, path, &added, &known, &err), TC_BAD_INPUT);
    assert_non_null(strstr(err.msg, "target of the merge"));
    assert_int_equal(total(db), 0);
    tc_meas_db_close(db);
}

/* ---- pruning ---- */

static void pruning_keeps_the_best(void **state) {
    (void)state;
    tc_meas_db *db = open_db(in_dir("t.db"), TC_MEAS_DB_WRITE);
    tc_meas_pruned gone;
    tc_meas_summaries all;
    tc_error err = {0};
    const char *v = sample_workload(arena, 8), *w = sample_workload(arena, 9), *x = sample_workload(arena, 10);
    for (int i = 0; i < 400; i++)
        insert(db, sample_record(arena, v, i, 1e-3 * (400 - i)));
    int64_t trusted = insert(db, in_turns(sample_record(arena, v, 400, 0.99e-3), 6));
    tc_record quick = sample_record(arena, v, 401, 1e-5);
    quick.verified = false;
    insert(db, quick);
    insert(db, sample_record(arena, w, 1, 1));
    insert(db, sample_failure(arena, w, 2, TC_MEAS_RUN_CRASH));
    insert(db, sample_failure(arena, x, 3, TC_MEAS_RUN_CRASH));
    assert_int_equal(tc_meas_db_prune(db, &(tc_meas_prune){0}, &gone, &err), TC_BAD_INPUT);
    assert_int_equal(tc_meas_db_prune(db, &(tc_meas_prune){.keep = 3}, &gone, &err), TC_OK);
    assert_int_equal(gone.records, 399);
    assert_int_equal(gone.workloads, 0);
    assert_true(gone.bytes_after < gone.bytes_before / 2);
    assert_int_equal(tc_meas_db_summaries(db, arena, &all, NULL), TC_OK);
    const tc_meas_summary *s = find(&all, v, TC_MEAS_HOT);
    assert_int_equal(s->counts.total, 3);
    assert_int_equal(s->counts.verified, 3);
    assert_int_equal(s->best_id, trusted);
    assert_int_equal(find(&all, w, TC_MEAS_HOT)->counts.total, 2);
    assert_int_equal(tc_meas_db_prune(db, &(tc_meas_prune){.drop_failures = true}, &gone, &err), TC_OK);
    assert_int_equal(gone.records, 2);
    assert_int_equal(gone.workloads, 1);
    assert_int_equal(total(db), 4);
    tc_meas_db_close(db);
}

/* ---- sizes that vary ---- */

static const char varying[] = "symbol s0 1..64\ntensor p0[s0] f32\ncompute t0[i0:s0] = p0[i0]\noutput t0\n";

static tc_record at_size(const char *sizes, int i, double seconds) {
    tc_record r = sample_record(arena, varying, i, seconds);
    r.sizes = sizes;
    return r;
}

/* What was timed at one size says nothing of another: no record is the best, and none is found where one size is asked for. */
static void records_at_sizes_have_no_best(void **state) {
    (void)state;
    tc_meas_db *db = open_db(in_dir("t.db"), TC_MEAS_DB_WRITE);
    insert(db, at_size("1", 0, 1e-6));
    insert(db, at_size("64", 0, 1e-3));
    insert(db, at_size("64", 1, 2e-3));
    tc_meas_summaries all;
    assert_int_equal(tc_meas_db_summaries(db, arena, &all, NULL), TC_OK);
    assert_int_equal(all.len, 1);
    assert_true(all.data[0].sizes == 2 && all.data[0].best_id == 0 && all.data[0].counts.total == 3);
    tc_record r = at_size("1", 0, 1), best;
    tc_meas_key key = {r.workload_hash, r.target_hash, 2, 0};
    bool found;
    assert_int_equal(tc_meas_db_best(db, arena, &key, &best, &found, NULL), TC_OK);
    assert_false(found);
    tc_meas_records sized;
    assert_int_equal(tc_meas_db_select(db, arena, &(tc_meas_filter){.sized = true, .verified = true}, &sized, NULL), TC_OK);
    assert_true(sized.len == 3 && strcmp(sized.data[2].sizes, "64") == 0);
    tc_meas_db_close(db);
}

/* One program, one time, two sizes: two records. */
static void sizes_tell_records_apart(void **state) {
    (void)state;
    size_t added, known;
    const char *a = in_dir("a.db");
    tc_meas_db *db = open_db(a, TC_MEAS_DB_WRITE), *into = open_db(in_dir("b.db"), TC_MEAS_DB_WRITE);
    insert(db, at_size("1", 0, 1e-6));
    insert(db, at_size("64", 0, 1e-3));
    tc_meas_db_close(db);
    assert_int_equal(tc_meas_db_merge(into, a, &added, &known, NULL), TC_OK);
    assert_true(added == 2 && known == 0);
    assert_int_equal(tc_meas_db_merge(into, a, &added, &known, NULL), TC_OK);
    assert_true(added == 0 && known == 2);
    tc_meas_db_close(into);
}

/* Of contests the last one counts, with all its records; failures stay, as they do of others. */
static void pruning_keeps_the_last_contest(void **state) {
    (void)state;
    tc_meas_db *db = open_db(in_dir("t.db"), TC_MEAS_DB_WRITE);
    tc_meas_pruned gone;
    insert(db, at_size("1", 0, 1e-9));
    insert(db, later(at_size("1", 1, 1e-6), 5));
    insert(db, later(at_size("64", 1, 1e-3), 5));
    insert(db, sample_record(arena, "w", 1, 1));
    assert_int_equal(tc_meas_db_prune(db, &(tc_meas_prune){.keep = 1}, &gone, NULL), TC_OK);
    assert_int_equal(gone.records, 1);
    assert_int_equal(total(db), 3);
    tc_meas_db_close(db);
}

/* Sizes that the workload does not have come from another one. */
static void sizes_that_do_not_fit_are_refused(void **state) {
    (void)state;
    static const struct {
        const char *sizes, *says;
    } bad[] = {{"", "symbol s0 of its workload varies"},
               {"65", "timed at s0 = 65, but s0 runs from 1 to 64"},
               {"0", "timed at s0 = 0"},
               {"1,2", "the number of symbols in its workload is 1"}};
    const char *a = in_dir("a.db"), *lines = in_dir("a.jsonl");
    size_t added, known, n;
    tc_error err = {0};
    tc_meas_db *into = open_db(in_dir("b.db"), TC_MEAS_DB_WRITE);
    for (size_t i = 0; i < TC_LEN(bad); i++) {
        tc_meas_db *db = open_db(a, TC_MEAS_DB_WRITE);
        insert(db, at_size(bad[i].sizes, 0, 1));
        assert_int_equal(tc_meas_export(db, &(tc_meas_filter){0}, lines, &n, NULL), TC_OK);
        tc_meas_db_close(db);
        assert_int_equal(tc_meas_db_merge(into, a, &added, &known, &err), TC_BAD_INPUT);
        assert_non_null(strstr(err.msg, bad[i].says));
        assert_int_equal(tc_meas_import(into, lines, &added, &err), TC_BAD_INPUT);
        assert_non_null(strstr(err.msg, bad[i].says));
        assert_non_null(strstr(err.msg, "a.jsonl:1"));
        run_sql(a, "DELETE FROM records");
    }
    tc_record fixed = sample_record(arena, sample_workload(arena, 8), 0, 1);
    fixed.sizes = "8";
    tc_meas_db *db = open_db(a, TC_MEAS_DB_WRITE);
    insert(db, fixed);
    tc_meas_db_close(db);
    assert_int_equal(tc_meas_db_merge(into, a, &added, &known, &err), TC_BAD_INPUT);
    assert_non_null(strstr(err.msg, "has no symbols"));
    assert_int_equal(total(into), 0);
    tc_meas_db_close(into);
}

/* ---- checking ---- */

static const char gemm[] = "tensor X[16, 32] f32\ntensor W[32, 48] f32 const\n"
                           "compute Y[i:16, j:48] = sum(k:32) X[i, k] * W[k, j]\noutput Y\n";

/* A record of the matmul above with `trace`, as measuring makes them. */
static tc_record real_record(const char *trace, double seconds) {
    tc_ctx *ctx = tc_ctx_new();
    const tc_workload *w;
    tc_target *t;
    tc_strbuf text = {0};
    assert_int_equal(tc_te_parse(ctx, "gemm", gemm, &w, NULL), TC_OK);
    assert_int_equal(tc_target_parse("native", &t, NULL), TC_OK);
    tc_te_print(&text, tc_te_canonical(ctx, w));
    tc_record r = sample_record(arena, "", 0, seconds);
    tc_meas_record_identify(arena, &r, tc_sb_str(&text), tc_te_hash(w), t->text, trace);
    tc_strbuf_free(&text);
    tc_target_free(t);
    tc_ctx_free(ctx);
    return r;
}

typedef struct complaints {
    int n;
    char last[512];
} complaints;

static void complain(void *user, const char *text) {
    complaints *c = user;
    c->n++;
    snprintf(c->last, sizeof c->last, "%s", text);
}

static tc_meas_audit audit(const char *file, complaints *c) {
    tc_meas_db *db = open_db(file, TC_MEAS_DB_READ);
    tc_meas_audit x;
    tc_error err = {0};
    *c = (complaints){0};
    if (tc_meas_db_audit(db, complain, c, &x, &err) != TC_OK)
        fail_msg("%s", err.msg);
    assert_int_equal(x.problems, c->n);
    tc_meas_db_close(db);
    return x;
}

static void make_good_database(void) {
    tc_meas_db *db = open_db(path, TC_MEAS_DB_WRITE);
    insert(db, real_record("i0_0, i0_1 = split t0.i0 [_, 4]\n", 1e-3));
    insert(db, real_record("i0_0, i0_1 = split t0.i0 [_, 8]\nparallel t0.i0_0\n", 2e-3));
    tc_record refused = real_record("parallel t0.nowhere\n", 1);
    refused.error = TC_MEAS_ILLEGAL;
    refused.ntimes = 0;
    refused.median = INFINITY;
    refused.verified = false;
    refused.program = 0;
    insert(db, refused);
    tc_meas_db_close(db);
}

static void a_good_database_is_good(void **state) {
    (void)state;
    complaints c;
    make_good_database();
    tc_meas_audit x = audit(path, &c);
    if (c.n)
        fail_msg("%s", c.last);
    assert_int_equal(x.records, 3);
    assert_int_equal(x.workloads, 1);
    assert_int_equal(x.targets, 1);
    assert_int_equal(x.replayed, 2);
    assert_int_equal(x.changed, 2); /* the sample's program hashes are made up */
}

static void every_lie_is_told(void **state) {
    (void)state;
    const struct {
        const char *sql, *says;
    } lies[] = {
        {"UPDATE records SET trace = replace(trace, '4', '5')", "does not match the hash under which it is stored"},
        {"UPDATE workloads SET text = replace(text, '48', '49')", "has the hash"},
        {"UPDATE workloads SET text = 'tensor'", "does not parse"},
        {"UPDATE workloads SET text = text || '# note' || char(10)", "not the canonical one"},
        {"UPDATE targets SET text = text || ' -mcpu=none'", "target"},
        {"UPDATE records SET times = x'' WHERE id = 1", "has no times"},
        {"UPDATE records SET program = 1 WHERE id = 3; UPDATE records SET error = 'ok', times = x'000000000000f03f', median = 1 "
         "WHERE id = 3",
         "no longer applies"},
        {"UPDATE records SET median = -1 WHERE id = 2", "record 2: its median is -1 s"},
        {"DELETE FROM targets", "its target is missing"},
    };
    for (size_t i = 0; i < TC_LEN(lies); i++) {
        complaints c;
        make_good_database();
        run_sql(path, lies[i].sql);
        audit(path, &c);
        if (c.n == 0 || !strstr(c.last, lies[i].says))
            fail_msg("%s: %d complaints, '%s'", lies[i].sql, c.n, c.last);
        remove(path);
        remove(in_dir("t.db-wal"));
        remove(in_dir("t.db-shm"));
    }
}

/* What no processor does in that time: 49,152 operations of 2 threads take 64 ns on one that does 768 GFLOP/s. */
static void impossible_times_are_found_and_go(void **state) {
    (void)state;
    const double soon = 63.9e-9, late = 64.1e-9;
    const char *lines = in_dir("lines.jsonl"), *other = in_dir("other.db");
    complaints c;
    tc_error err = {0};
    tc_meas_pruned gone;
    size_t n, added, known;
    tc_meas_db *db = open_db(path, TC_MEAS_DB_WRITE);
    insert(db, real_record("i0_0, i0_1 = split t0.i0 [_, 4]\n", soon));
    int64_t possible = insert(db, real_record("i0_0, i0_1 = split t0.i0 [_, 8]\n", late));
    insert(db, in_mode(real_record("i0_0, i0_1 = split t0.i0 [_, 2]\n", soon), TC_MEAS_SIMULATED)); /* of no processor */
    assert_int_equal(tc_meas_export(db, &(tc_meas_filter){0}, lines, &n, &err), TC_OK);
    tc_meas_db_close(db);

    audit(path, &c);
    assert_int_equal(c.n, 1);
    assert_non_null(strstr(c.last, "record 1: its time of 6.39e-08 s is impossible"));

    db = open_db(other, TC_MEAS_DB_WRITE); /* a merge and an import leave it out */
    assert_int_equal(tc_meas_db_merge(db, path, &added, &known, &err), TC_BAD_INPUT);
    assert_int_equal(err.code, TC_ERROR_BEYOND);
    assert_non_null(strstr(err.msg, "is impossible"));
    assert_int_equal(added, 2);
    assert_int_equal(tc_meas_import(db, lines, &added, &err), TC_BAD_INPUT);
    assert_non_null(strstr(err.msg, "is impossible"));
    assert_int_equal(added, 0);
    assert_int_equal(total(db), 2);
    tc_meas_db_close(db);

    db = open_db(path, TC_MEAS_DB_WRITE); /* not the one that is kept because it ranks first */
    assert_int_equal(tc_meas_db_prune(db, &(tc_meas_prune){.keep = 1}, &gone, &err), TC_OK);
    assert_int_equal(gone.records, 1);
    tc_meas_records left;
    assert_int_equal(tc_meas_db_select(db, arena, &(tc_meas_filter){.mode = "hot"}, &left, &err), TC_OK);
    assert_true(left.len == 1 && left.data[0].id == possible);
    tc_meas_db_close(db);
    audit(path, &c);
    assert_int_equal(c.n, 0);
}

/* Where a choice by indices may leave out products (padding), or sizes vary, no time is impossible. */
static void only_products_bound_times(void **state) {
    (void)state;
    static const struct {
        const char *text;
        double work;
    } known[] = {
        {gemm, 2.0 * 16 * 48 * 32},
        {"tensor X[16] f32\ncompute Y[i:16] = sum(k:3) select(i + k < 16, X[i + k], 0.0) * X[i]\noutput Y\n", 0},
        {"tensor X[16] f32\ncompute P[i:18] = select(i < 16, X[i], 0.0)\ncompute Y[i:16] = sum(k:3) P[i + k] * X[i]\noutput Y\n",
         0},
        {"symbol n 1..64\ntensor X[n, 8] f32\ncompute Y[i:n] = sum(k:8) X[i, k] * X[i, k]\noutput Y\n", 0},
        {"tensor X[16, 8] f32\ncompute Y[i:16] = sum(k:8) X[i, k]\noutput Y\n", 0},
    };
    for (size_t i = 0; i < TC_LEN(known); i++) {
        tc_ctx *ctx = tc_ctx_new();
        const tc_workload *w;
        tc_error err = {0};
        if (tc_te_parse(ctx, "w", known[i].text, &w, &err) != TC_OK)
            fail_msg("%s", err.msg);
        assert_true(tc_meas_work(w) == known[i].work);
        tc_ctx_free(ctx);
    }
}

/* ---- measuring again (with a worker that does as it is told) ---- */

typedef struct again {
    int done, failed, skipped;
    double median;
} again;

static void done(void *user, const tc_meas_summary *s, const tc_record *recorded, const tc_record *now) {
    again *a = user;
    assert_int_equal(s->best_id, recorded->id);
    assert_string_equal(recorded->trace, now->trace);
    if (tc_record_ok(now))
        a->done++, a->median = now->median;
    else
        a->failed++;
}

static void skipped(void *user, const tc_meas_summary *s, const char *why) {
    assert_true(s->workload && *why);
    ((again *)user)->skipped++;
}

/* Somebody else empties the database while the first record runs. */
static void empty_it(void *user, const tc_meas_summary *s, const tc_record *recorded, const tc_record *now) {
    done(user, s, recorded, now);
    run_sql(in_dir("t.db"), "DELETE FROM records");
}

static void what_was_removed_meanwhile_is_skipped(void **state) {
    (void)state;
    tc_meas_db *db = open_db(in_dir("t.db"), TC_MEAS_DB_WRITE);
    tc_target *t;
    int64_t unmarked;
    again a = {0};
    tc_error err = {0};
    assert_int_equal(tc_target_parse("native", &t, NULL), TC_OK);
    for (int i = 0; i < 3; i++) {
        const char *workload = tc_arena_printf(arena, "w%d", i);
        tc_record r = sample_record(arena, workload, 0, 1);
        tc_meas_record_identify(arena, &r, workload, r.workload_hash, t->text, "good time=0.5");
        insert(db, r);
    }
    tc_meas_rerun o = {.worker_arg = "fake", .done = empty_it, .skipped = skipped, .user = &a};
    if (tc_meas_db_rerun(db, &o, &unmarked, &err) != TC_OK)
        fail_msg("%s", err.msg);
    assert_int_equal(a.done, 1);
    assert_int_equal(a.skipped, 2);
    tc_meas_db_close(db);
    tc_target_free(t);
}

static void the_best_are_measured_again(void **state) {
    (void)state;
    tc_meas_db *db = open_db(in_dir("t.db"), TC_MEAS_DB_WRITE);
    tc_target *t;
    int64_t unmarked;
    again a = {0};
    tc_error err = {0};
    assert_int_equal(tc_target_parse("native", &t, NULL), TC_OK);
    const struct {
        const char *workload, *target, *trace;
    } in[] = {{"u", t->text, "good time=0.5"},
              {"v", t->text, "wrong"},
              {"unpreparable", t->text, "good"},
              {"x", "llvm -mtriple=riscv64-unknown-linux-gnu", "good"}};
    for (size_t i = 0; i < TC_LEN(in); i++) {
        tc_record r = sample_record(arena, in[i].workload, 0, 1);
        tc_meas_record_identify(arena, &r, in[i].workload, r.workload_hash, in[i].target, in[i].trace);
        insert(db, r);
    }
    insert(db, sample_failure(arena, "y", 0, TC_MEAS_ILLEGAL));
    tc_meas_rerun o = {.worker_arg = "fake", .done = done, .skipped = skipped, .user = &a};
    if (tc_meas_db_rerun(db, &o, &unmarked, &err) != TC_OK)
        fail_msg("%s", err.msg);
    assert_int_equal(a.done, 1);
    assert_true(a.median == 0.5);
    assert_int_equal(a.failed, 2);
    assert_int_equal(a.skipped, 2);
    assert_int_equal(unmarked, 1); /* the wrong one; the other says nothing about the record */
    tc_meas_counts n;
    assert_int_equal(tc_meas_db_count(db, &(tc_meas_filter){0}, &n, NULL), TC_OK);
    assert_int_equal(n.verified, 3);
    tc_target_free(t);
    tc_meas_db_close(db);
}

static tc_record in_graph(tc_record r, double seconds, int64_t when) {
    r = later(in_turns(in_mode(r, TC_MEAS_IN_GRAPH), 20), when);
    r.times = tc_arena_dup(arena, &seconds, sizeof seconds);
    r.ntimes = 1;
    r.median = seconds;
    return r;
}

/* A form takes as long as its constants are read, whatever its hot time says, and no longer where it computes meanwhile; a cold
 * time has that in it. */
static void the_reading_of_constants(void **state) {
    (void)state;
    tc_meas_db *db = open_db(in_dir("reading.db"), TC_MEAS_DB_WRITE);
    tc_record direct = sample_record(arena, "w", 0, 2.0), large = sample_record(arena, "other form", 1, 1.9);
    tc_meas_key key[] = {{.workload = direct.workload_hash, .target = direct.target_hash, .threads = 2},
                         {.workload = large.workload_hash, .target = large.target_hash, .threads = 2}};
    tc_meas_records r;
    int64_t first = insert(db, direct), second = insert(db, large);
    assert_int_equal(tc_meas_db_ranked(db, arena, key, 2, 8, &r, NULL), TC_OK);
    assert_true(r.len == 2 && r.data[0].id == second);
    key[1].reading = 1.5;
    assert_int_equal(tc_meas_db_ranked(db, arena, key, 2, 8, &r, NULL), TC_OK);
    assert_true(r.len == 2 && r.data[0].id == second);
    key[1].reading = 2.5;
    assert_int_equal(tc_meas_db_ranked(db, arena, key, 2, 8, &r, NULL), TC_OK);
    assert_true(r.len == 2 && r.data[0].id == first && r.data[1].median == 1.9);
    int64_t cold[] = {insert(db, in_mode(direct, TC_MEAS_COLD)), insert(db, in_mode(large, TC_MEAS_COLD))};
    assert_int_equal(tc_meas_db_ranked(db, arena, key, 2, 8, &r, NULL), TC_OK);
    assert_true(r.len == 4 && r.data[0].id == cold[1] && r.data[1].id == cold[0]);
    tc_meas_db_close(db);
}

/* The last comparison is the one that was stored last, whatever the clock was set to before. */
static void a_comparison_comes_after_all_others(void **state) {
    (void)state;
    static const int64_t days = 24 * 3600 * 1000;
    tc_meas_db *db = open_db(in_dir("clock.db"), TC_MEAS_DB_WRITE);
    tc_record r = sample_record(arena, "w", 0, 1.0);
    int64_t ms, now = tc_meas_now_ms();
    r.when_ms = 0;
    insert(db, later(r, now + 1000 * days)); /* of no comparison */
    insert(db, in_graph(r, 1.0, now - days));
    assert_int_equal(tc_meas_db_next_ms(db, TC_MEAS_IN_GRAPH, &ms, NULL), TC_OK);
    assert_true(ms >= now && ms < now + days);
    insert(db, in_graph(r, 1.0, now + 400 * days));
    assert_int_equal(tc_meas_db_next_ms(db, TC_MEAS_IN_GRAPH, &ms, NULL), TC_OK);
    assert_true(ms == now + 400 * days + 1);
    assert_int_equal(tc_meas_db_next_ms(db, TC_MEAS_BESIDE, &ms, NULL), TC_OK);
    assert_true(ms < now + days);
    tc_meas_db_close(db);
}

/* What a network said of its kernel's records counts until a better record is found that it has not seen. */
static void the_network_has_the_last_word(void **state) {
    (void)state;
    tc_meas_db *db = open_db(in_dir("t.db"), TC_MEAS_DB_WRITE);
    tc_record fast = sample_record(arena, "w", 0, 1.0), slow = sample_record(arena, "other form", 1, 2.0), best;
    tc_meas_key key[] = {{fast.workload_hash, fast.target_hash, 2, 0}, {slow.workload_hash, slow.target_hash, 2, 0}};
    tc_meas_records r;
    tc_meas_pruned pruned;
    bool found;
    int64_t id = insert(db, fast);
    insert(db, slow);
    insert(db, in_graph(slow, 9.0, 1000)); /* an older network, which the last one replaces */
    insert(db, in_graph(fast, 5.0, 2000));
    int64_t winner = insert(db, in_graph(slow, 4.0, 2000));
    assert_int_equal(tc_meas_db_ranked(db, arena, key, 2, 8, &r, NULL), TC_OK);
    assert_int_equal(r.len, 2);
    assert_true(r.data[0].id == winner && r.data[1].median == 5.0);
    assert_int_equal(tc_meas_db_ranked(db, arena, key, 2, 1, &r, NULL), TC_OK);
    assert_true(r.len == 1 && r.data[0].id == winner);
    assert_int_equal(tc_meas_db_best(db, arena, &key[0], &best, &found, NULL), TC_OK);
    assert_true(found && best.median == 5.0);
    assert_int_equal(tc_meas_db_prune(db, &(tc_meas_prune){.keep = 1}, &pruned, NULL), TC_OK);
    assert_int_equal(pruned.records, 1); /* of the older network */
    assert_int_equal(tc_meas_db_ranked(db, arena, key, 2, 8, &r, NULL), TC_OK);
    assert_true(r.len == 2 && r.data[0].id == winner);
    int64_t newer = insert(db, sample_record(arena, "w", 7, 0.5));
    assert_int_equal(tc_meas_db_ranked(db, arena, key, 2, 8, &r, NULL), TC_OK);
    assert_true(r.len == 3 && r.data[0].id == newer && r.data[1].id == id);
    assert_int_equal(tc_meas_db_set_verified(db, newer, false, 2.0, NULL), TC_OK);
    assert_int_equal(tc_meas_db_set_verified(db, id, false, 2.0, NULL), TC_OK); /* nor in the network then */
    assert_int_equal(tc_meas_db_best(db, arena, &key[0], &best, &found, NULL), TC_OK);
    assert_false(found);
    tc_meas_db_close(db);
}

/* ---- candidates that fail only sometimes ---- */

static int64_t used(tc_meas_db *db, const tc_record *like) {
    tc_record best;
    bool found;
    assert_int_equal(
        tc_meas_db_best(db, arena, &(tc_meas_key){like->workload_hash, like->target_hash, like->threads, 0}, &best, &found, NULL),
        TC_OK);
    return found ? best.id : 0;
}

/* A failure of another session, measuring in another way, speaks against all records of the program, and pruning does not make it
 * unsaid. */
static void one_failure_is_enough(void **state) {
    (void)state;
    tc_meas_db *db = open_db(in_dir("t.db"), TC_MEAS_DB_WRITE);
    tc_meas_pruned gone;
    tc_meas_counts n;
    tc_meas_summaries all;
    const char *v = sample_workload(arena, 8), *w = sample_workload(arena, 9);
    tc_record fast = sample_record(arena, w, 0, 1.0), slow = sample_record(arena, w, 1, 2.0);
    int64_t first = insert(db, fast), second = insert(db, slow);
    insert(db, sample_failure(arena, v, 0, TC_MEAS_RUN_CRASH)); /* the same program number, of another workload */
    insert(db, in_mode(sample_failure(arena, w, 1, TC_MEAS_RUN_FAILED), TC_MEAS_COLD)); /* says nothing of the program */
    assert_int_equal(used(db, &fast), first);
    insert(db, later(in_mode(sample_failure(arena, w, 0, TC_MEAS_WRONG_RESULT), TC_MEAS_COLD), 500));
    assert_int_equal(used(db, &fast), second);
    assert_int_equal(tc_meas_db_summaries(db, arena, &all, NULL), TC_OK);
    assert_int_equal(find(&all, w, TC_MEAS_HOT)->best_id, second);
    assert_int_equal(tc_meas_db_count(db, &(tc_meas_filter){.workload_hash = fast.workload_hash.hex}, &n, NULL), TC_OK);
    assert_int_equal(n.verified, 1);
    assert_int_equal(tc_meas_db_prune(db, &(tc_meas_prune){.drop_failures = true}, &gone, NULL), TC_OK);
    assert_int_equal(gone.records, 3);
    assert_int_equal(used(db, &fast), second);
    tc_meas_db_close(db);
}

/* Whichever of its records was to be built: none is tried again. */
static void what_is_not_built_is_not_tried_again(void **state) {
    (void)state;
    for (int which = 0; which < 2; which++) {
        tc_meas_db *db = open_db(in_dir(which ? "one.db" : "two.db"), TC_MEAS_DB_WRITE);
        tc_record fast = sample_record(arena, sample_workload(arena, 9), 0, 1.0),
                  slow = sample_record(arena, sample_workload(arena, 9), 1, 2.0),
                  why = sample_failure(arena, sample_workload(arena, 9), 0, TC_MEAS_BUILD_CRASH);
        int64_t id[] = {insert(db, fast), insert(db, in_graph(fast, 0.5, 1000))}, second = insert(db, slow);
        assert_int_equal(used(db, &fast), id[1]);
        assert_int_equal(tc_meas_db_note_failure(db, id[which], &why, NULL), TC_OK);
        assert_int_equal(used(db, &fast), second);
        tc_meas_db_close(db);
    }
}

/* All records of the program become the failure; copies of them that others have learn of it, by merging or importing. */
static void a_disqualified_record_stays_so(void **state) {
    (void)state;
    const char *lines = in_dir("t.jsonl");
    tc_meas_db *db = open_db(path, TC_MEAS_DB_WRITE), *copy = open_db(in_dir("copy.db"), TC_MEAS_DB_WRITE),
               *old = open_db(in_dir("old.db"), TC_MEAS_DB_WRITE);
    tc_record fast = sample_record(arena, sample_workload(arena, 9), 0, 1.0), cold = later(in_mode(fast, TC_MEAS_COLD), 5),
              slow = sample_record(arena, sample_workload(arena, 9), 1, 2.0),
              why = sample_failure(arena, sample_workload(arena, 9), 0, TC_MEAS_RUN_CRASH);
    tc_meas_records r;
    size_t added, known;
    int64_t id = insert(db, fast);
    insert(db, cold);
    insert(db, slow);
    insert(copy, cold);
    insert(copy, slow);
    insert(old, cold);
    why.signal = 11;
    assert_int_equal(tc_meas_db_disqualify(db, id, &why, NULL), TC_OK);
    assert_int_equal(used(db, &fast), 3);
    assert_int_equal(tc_meas_db_select(db, arena, &(tc_meas_filter){0}, &r, NULL), TC_OK);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(r.data[i].error, TC_MEAS_RUN_CRASH);
        assert_true(!r.data[i].verified && r.data[i].ntimes == 0 && isinf(r.data[i].median));
        assert_int_equal(r.data[i].signal, 11);
        assert_string_equal(r.data[i].message, "because");
    }
    assert_int_equal(tc_meas_export(db, &(tc_meas_filter){0}, lines, &added, NULL), TC_OK);
    assert_int_equal(tc_meas_import(old, lines, &added, NULL), TC_OK);
    assert_int_equal(added, 3); /* both failures, and the good one */
    assert_int_equal(used(old, &fast), 4);
    assert_int_equal(used(copy, &fast), 1);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(tc_meas_db_merge(copy, path, &added, &known, NULL), TC_OK);
        assert_int_equal(added, i == 0 ? 2 : 0);
        assert_int_equal(used(copy, &fast), 2);
    }
    assert_int_equal(tc_meas_db_merge(db, in_dir("old.db"), &added, &known, NULL), TC_OK);
    assert_int_equal(added, 0); /* what is known to fail is not taken back */
    tc_meas_db_close(db);
    tc_meas_db_close(copy);
    tc_meas_db_close(old);
}

int main(int argc, char **argv) {
    if (argc > 1 && strcmp(argv[1], "fake") == 0)
        return fake_worker_main();
    setenv("TCTUNE_CACHE", "off", 1); /* what these workers say is of no machine */
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(summaries_count),
        TEST(sizes_of_one_hash_are_two),
        TEST(the_best_is_the_one_to_trust),
        TEST(the_reading_of_constants),
        TEST(a_comparison_comes_after_all_others),
        TEST(the_network_has_the_last_word),
        TEST(one_failure_is_enough),
        TEST(emulated_failures_count_but_for_their_time),
        TEST(a_disqualified_record_stays_so),
        TEST(what_is_not_built_is_not_tried_again),
        TEST(older_files_are_read_and_migrated),
        TEST(files_without_jobs_are_read_and_migrated),
        TEST(jobs_and_phases_are_words),
        TEST(merging_is_idempotent),
        TEST(what_cannot_be_merged_is_told),
        TEST(pruning_keeps_the_best),
        TEST(records_at_sizes_have_no_best),
        TEST(sizes_tell_records_apart),
        TEST(pruning_keeps_the_last_contest),
        TEST(sizes_that_do_not_fit_are_refused),
        TEST(a_good_database_is_good),
        TEST(every_lie_is_told),
        TEST(impossible_times_are_found_and_go),
        TEST(only_products_bound_times),
        TEST(the_best_are_measured_again),
        TEST(what_was_removed_meanwhile_is_skipped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
