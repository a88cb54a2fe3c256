/* The database: what it keeps, what it refuses, and what survives. */
#include "database.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "measure/records/admission.h"
#include "measure/records/exchange.h"
#include "support/log.h"

/* Opening must fail with `status`, naming the file and saying each of the phrases. */
static void check_open_fails(tc_meas_db_mode mode, tc_status status, const char *phrase, const char *remedy) {
    tc_meas_db *db;
    tc_error err = {0};
    assert_int_equal(tc_meas_db_open(path, mode, &db, &err), status);
    assert_null(db);
    if (!strstr(err.msg, path) || !strstr(err.msg, phrase) || !strstr(err.msg, remedy))
        fail_msg("'%s' does not say '%s' and '%s'", err.msg, phrase, remedy);
}

static void insert(tc_meas_db *db, tc_record r) {
    tc_error err = {0};
    if (tc_meas_db_insert(db, &r, 1, &err) != TC_OK)
        fail_msg("%s", err.msg);
    assert_true(r.id > 0);
}

static int64_t total(tc_meas_db *db) {
    tc_meas_counts n;
    assert_int_equal(tc_meas_db_count(db, &(tc_meas_filter){0}, &n, NULL), TC_OK);
    return n.total;
}

static void records_come_back(void **state) {
    (void)state;
    tc_meas_db *db = open_db(path, TC_MEAS_DB_WRITE);
    tc_record in[4] = {sample_record(arena, "w0", 0, 3e-3), sample_failure(arena, "w0", 1, TC_MEAS_RUN_TIMEOUT),
                       sample_record(arena, "w1", 2, 1e-3), sample_failure(arena, "w1", 3, TC_MEAS_INTERRUPTED)};
    assert_int_equal(tc_meas_db_insert(db, in, 4, NULL), TC_OK);
    assert_true(in[0].id > 0 && in[1].id == in[0].id + 1 && in[3].id == 0);
    tc_meas_db_close(db);
    db = open_db(path, TC_MEAS_DB_READ);
    tc_meas_records out;
    assert_int_equal(tc_meas_db_select(db, arena, &(tc_meas_filter){0}, &out, NULL), TC_OK);
    assert_int_equal(out.len, 3);
    for (size_t i = 0; i < 3; i++)
        assert_same_record(&in[i], &out.data[i]);
    assert_int_equal(tc_meas_db_select(db, arena, &(tc_meas_filter){.after_id = in[1].id}, &out, NULL), TC_OK);
    assert_int_equal(out.len, 1);
    assert_string_equal(out.data[0].workload, "w1");
    const char *text;
    assert_int_equal(tc_meas_db_workload(db, arena, in[0].workload_hash, &text, NULL), TC_OK);
    assert_string_equal(text, "w0");
    assert_int_equal(tc_meas_db_workload(db, arena, tc_meas_text_hash("nowhere"), &text, NULL), TC_OK);
    assert_null(text);
    tc_meas_db_close(db);
}

/* Nothing of a call in which one is among the records. */
static void experiments_are_refused(void **state) {
    (void)state;
    tc_meas_db *db = open_db(path, TC_MEAS_DB_WRITE);
    tc_record in[2] = {sample_record(arena, "w0", 0, 3e-3), sample_record(arena, "w0", 1, 1e-3)};
    tc_error err = {0};
    in[1].experiment = true;
    assert_int_equal(tc_meas_db_insert(db, in, 2, &err), TC_BAD_INPUT);
    assert_non_null(strstr(err.msg, "experiment"));
    assert_int_equal(tc_meas_db_insert_measured(db, in, 2, &err), TC_BAD_INPUT);
    assert_int_equal(total(db), 0);
    tc_meas_db_close(db);
}

static void best_is_the_fastest_verified_one(void **state) {
    (void)state;
    tc_meas_db *db = open_db(path, TC_MEAS_DB_WRITE);
    tc_record unchecked = sample_record(arena, "w", 0, 1e-4), slow = sample_record(arena, "w", 1, 2e-3),
              fast = sample_record(arena, "w", 2, 1e-3), best;
    bool found;
    unchecked.verified = false;
    insert(db, unchecked);
    insert(db, slow);
    insert(db, fast);
    insert(db, sample_failure(arena, "w", 3, TC_MEAS_WRONG_RESULT));
    assert_int_equal(tc_meas_db_best(db, arena, &(tc_meas_key){fast.workload_hash, fast.target_hash, 2, 0}, &best, &found, NULL),
                     TC_OK);
    assert_true(found);
    assert_same_record(&fast, &best);
    assert_int_equal(tc_meas_db_set_verified(db, best.id, false, 3.5, NULL), TC_OK);
    assert_int_equal(tc_meas_db_best(db, arena, &(tc_meas_key){fast.workload_hash, fast.target_hash, 2, 0}, &best, &found, NULL),
                     TC_OK);
    assert_true(found);
    assert_same_record(&slow, &best);
    assert_int_equal(tc_meas_db_best(db, arena, &(tc_meas_key){fast.workload_hash, fast.target_hash, 3, 0}, &best, &found, NULL),
                     TC_OK);
    assert_false(found);
    tc_meas_records top;
    assert_int_equal(
        tc_meas_db_select(
            db, arena,
            &(tc_meas_filter){.workload_hash = fast.workload_hash.hex, .ok = true, .order = TC_MEAS_BY_MEDIAN, .limit = 2}, &top,
            NULL),
        TC_OK);
    assert_int_equal(top.len, 2);
    assert_true(top.data[0].median < top.data[1].median);
    tc_meas_counts n;
    assert_int_equal(tc_meas_db_count(db, &(tc_meas_filter){.threads = 2}, &n, NULL), TC_OK);
    assert_int_equal(n.total, 4);
    assert_int_equal(n.verified, 1);
    assert_int_equal(n.by_error[TC_MEAS_NONE], 3);
    assert_int_equal(n.by_error[TC_MEAS_WRONG_RESULT], 1);
    tc_meas_db_close(db);
}

static tc_meas_records of_job(tc_meas_db *db, const char *job) {
    tc_meas_records out;
    assert_int_equal(tc_meas_db_select(db, arena, &(tc_meas_filter){.job = job}, &out, NULL), TC_OK);
    return out;
}

static void a_job_has_one_record(void **state) {
    (void)state;
    tc_meas_db *db = open_db(path, TC_MEAS_DB_WRITE);
    tc_record first = sample_record(arena, "w", 0, 1e-3), again = first, other = sample_record(arena, "w", 1, 2e-3);
    first.job = again.job = "j1";
    first.phase = "descent";
    first.predicted = 0.75;
    again.when_ms++;
    other.job = "j2";
    tc_record in[3] = {first, again, other};
    assert_int_equal(tc_meas_db_insert(db, in, 3, NULL), TC_OK);
    assert_true(in[0].id > 0 && in[1].id == in[0].id && in[2].id > in[0].id);
    insert(db, sample_record(arena, "w", 2, 1)); /* of no job: as many as there are */
    insert(db, sample_record(arena, "w", 2, 1));
    assert_int_equal(total(db), 4);
    assert_int_equal(of_job(db, "j1").len, 1);
    assert_same_record(&first, of_job(db, "j1").data);
    assert_int_equal(of_job(db, "j3").len, 0);
    tc_record failure = sample_failure(arena, "w", 0, TC_MEAS_RUN_CRASH); /* found by whoever ran it again: must not be lost */
    failure.job = "j1";
    insert(db, failure);
    assert_int_equal(total(db), 5);
    assert_true(tc_record_ok(of_job(db, "j1").data));
    assert_int_equal(tc_meas_db_insert(db, &first, 1, NULL), TC_OK);
    assert_int_equal(total(db), 5);
    tc_meas_db_close(db);
}

static void check_nearest(tc_meas_db *db, const char *workload, const char *target, int threads, bool want, const char *phrase) {
    tc_meas_key key = {tc_meas_text_hash(workload), tc_meas_text_hash(target), threads, 0};
    tc_meas_near near;
    assert_int_equal(tc_meas_db_nearest(db, arena, &key, workload, &near, NULL), TC_OK);
    assert_int_equal(near.found, want);
    if (!strstr(near.why, phrase))
        fail_msg("'%s' does not say '%s'", near.why, phrase);
}

static void nearest_names_the_difference(void **state) {
    (void)state;
    tc_meas_db *db = open_db(path, TC_MEAS_DB_WRITE);
    tc_record unchecked = sample_record(arena, "tensor u[7]", 0, 1);
    unchecked.verified = false;
    insert(db, sample_record(arena, "tensor a[128]\ntensor b[3]", 0, 1));
    insert(db, unchecked);
    insert(db, sample_failure(arena, "tensor f[1]", 0, TC_MEAS_BUILD_FAILED));
    check_nearest(db, "tensor a[128]\ntensor b[3]", "llvm -mcpu=test", 4, true, "threads: recorded with 2, asked for 4");
    check_nearest(db, "tensor a[128]\ntensor b[3]", "llvm -mcpu=other", 2, true, "target: recorded for `llvm -mcpu=test`");
    check_nearest(db, "tensor a[128]\ntensor b[64]", "llvm -mcpu=test", 2, true,
                  "recorded `tensor b[3]`, asked for `tensor b[64]`");
    check_nearest(db, "tensor u[7]", "llvm -mcpu=test", 2, true, "never checked");
    check_nearest(db, "tensor f[1]", "llvm -mcpu=test", 2, true, "build_failed: because");
    check_nearest(db, "tensor z[1]", "llvm -mcpu=test", 2, false, "never measured");
    tc_meas_db_close(db);
}

static void models_are_kept_by_target_and_name(void **state) {
    (void)state;
    tc_meas_db *db = open_db(path, TC_MEAS_DB_WRITE);
    tc_digest t = tc_meas_text_hash("a"), u = tc_meas_text_hash("b");
    const void *data;
    size_t n;
    assert_int_equal(tc_meas_db_put_model(db, t, "xgb", "one\0two", 7, NULL), TC_OK);
    assert_int_equal(tc_meas_db_put_model(db, t, "xgb", "three\0four", 10, NULL), TC_OK);
    assert_int_equal(tc_meas_db_get_model(db, arena, t, "xgb", &data, &n, NULL), TC_OK);
    assert_int_equal(n, 10);
    assert_memory_equal(data, "three\0four", 10);
    assert_int_equal(tc_meas_db_get_model(db, arena, u, "xgb", &data, &n, NULL), TC_OK);
    assert_null(data);
    tc_meas_db_stats st;
    insert(db, sample_record(arena, "w", 0, 1));
    assert_int_equal(tc_meas_db_stat(db, &st, NULL), TC_OK);
    assert_true(st.schema == 5 && st.workloads == 1 && st.targets == 1 && st.records == 1 && st.models == 1 && st.bytes > 0);
    tc_meas_db_close(db);
}

static tc_status stop_at_second(void *user, const tc_record *r, tc_error *err) {
    (void)r;
    return ++*(int *)user == 2 ? tc_fail(err, TC_ILLEGAL, "enough") : TC_OK;
}

static void visiting_can_stop(void **state) {
    (void)state;
    tc_meas_db *db;
    tc_error err = {0};
    int seen = 0;
    assert_int_equal(tc_meas_db_open_memory(&db, &err), TC_OK);
    for (int i = 0; i < 5; i++)
        insert(db, sample_record(arena, "w", i, 1));
    assert_int_equal(tc_meas_db_each(db, &(tc_meas_filter){0}, stop_at_second, &seen, &err), TC_ILLEGAL);
    assert_int_equal(seen, 2);
    tc_meas_db_close(db);
}

static void records_travel_as_json_lines(void **state) {
    (void)state;
    tc_meas_db *db = open_db(path, TC_MEAS_DB_WRITE), *other;
    tc_error err = {0};
    size_t n;
    const char *file = tc_arena_printf(arena, "%s/log.jsonl", dir);
    for (int i = 0; i < 5; i++)
        insert(db, sample_record(arena, sample_workload(arena, 8), i, 1));
    assert_int_equal(tc_meas_export(db, &(tc_meas_filter){.limit = 3}, file, &n, &err), TC_OK);
    assert_int_equal(n, 3);
    assert_int_equal(tc_meas_db_open_memory(&other, &err), TC_OK);
    insert(other, sample_record(arena, sample_workload(arena, 8), 1, 1));
    assert_int_equal(tc_meas_import(other, file, &n, &err), TC_OK);
    assert_int_equal(n, 2); /* one was there */
    assert_int_equal(tc_meas_import(other, file, &n, &err), TC_OK);
    assert_int_equal(n, 0);
    assert_int_equal(total(other), 3);
    char *text;
    assert_int_equal(tc_fs_read(file, &text, NULL, &err), TC_OK);
    char *bad = tc_arena_printf(arena, "\n%s{\"half\": ", text);
    free(text);
    assert_int_equal(tc_fs_write(file, bad, strlen(bad), &err), TC_OK);
    tc_meas_db *third;
    assert_int_equal(tc_meas_db_open_memory(&third, &err), TC_OK);
    assert_int_equal(tc_meas_import(third, file, &n, &err), TC_BAD_INPUT);
    assert_non_null(strstr(err.msg, "log.jsonl:5"));
    assert_int_equal(total(third), 0); /* all or none */
    tc_meas_db_close(db);
    tc_meas_db_close(other);
    tc_meas_db_close(third);
}

/* ---- several processes ---- */

static int exit_status(pid_t pid) {
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return status;
}

/* In a child: inserts `n` batches of `size` records, printing a byte to `done` after each; ends with status 0. */
static pid_t start_writer(const char *name, int n, int size, int done) {
    pid_t pid = fork();
    if (pid != 0)
        return pid;
    tc_meas_db *db;
    tc_error err;
    tc_arena *a = tc_arena_new();
    if (tc_meas_db_open(path, TC_MEAS_DB_WRITE, &db, &err) != TC_OK) {
        fprintf(stderr, "writer: %s\n", err.msg);
        _exit(2);
    }
    for (int i = 0; i < n; i++) {
        tc_record r[64];
        for (int k = 0; k < size; k++)
            r[k] = sample_record(a, name, i * size + k, 1);
        if (tc_meas_db_insert(db, r, (size_t)size, &err) != TC_OK) {
            fprintf(stderr, "writer: %s\n", err.msg);
            _exit(3);
        }
        if (done >= 0 && write(done, "x", 1) != 1)
            _exit(4);
    }
    tc_meas_db_close(db);
    _exit(0);
}

static void processes_share_a_database(void **state) {
    (void)state;
    pid_t pid[4]; /* from nothing: they also race to create it */
    for (int i = 0; i < 4; i++)
        pid[i] = start_writer(i % 2 ? "odd" : "even", 25, 8, -1);
    for (int i = 0; i < 4; i++)
        assert_int_equal(exit_status(pid[i]), 0);
    tc_meas_db *db = open_db(path, TC_MEAS_DB_READ);
    assert_int_equal(total(db), 4 * 25 * 8);
    tc_meas_db_close(db);
}

static void kill_loses_no_committed_batch(void **state) {
    (void)state;
    enum { SIZE = 16 };
    for (int round = 0; round < 5; round++) {
        int p[2];
        char byte;
        int64_t before = 0, committed = 0;
        if (tc_fs_exists(path)) {
            tc_meas_db *db = open_db(path, TC_MEAS_DB_WRITE);
            before = total(db);
            tc_meas_db_close(db);
        }
        assert_int_equal(pipe(p), 0);
        pid_t pid = start_writer("w", 1000000, SIZE, p[1]);
        close(p[1]);
        while (committed < 10 + 7 * round && read(p[0], &byte, 1) == 1)
            committed++;
        kill(pid, SIGKILL);
        assert_true(WIFSIGNALED(exit_status(pid)));
        while (read(p[0], &byte, 1) == 1)
            committed++;
        close(p[0]);
        tc_meas_db *db = open_db(path, TC_MEAS_DB_WRITE);
        int64_t after = total(db) - before;
        assert_true(after >= committed * SIZE && after <= (committed + 1) * SIZE);
        assert_int_equal(after % SIZE, 0); /* a batch is all or nothing */
        tc_meas_db_close(db);
    }
}

/* ---- bad files ---- */

static void run_sql(const char *sql) {
    sqlite3 *s;
    assert_int_equal(sqlite3_open(path, &s), SQLITE_OK);
    assert_int_equal(sqlite3_exec(s, sql, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(s);
}

static void make_database(int records) {
    tc_meas_db *db = open_db(path, TC_MEAS_DB_WRITE);
    for (int i = 0; i < records; i++)
        insert(db, sample_record(arena, tc_arena_printf(arena, "workload %d", i), i, 1));
    tc_meas_db_close(db);
}

static void newer_schema_is_refused(void **state) {
    (void)state;
    make_database(1);
    run_sql("PRAGMA user_version = 99");
    check_open_fails(TC_MEAS_DB_WRITE, TC_BAD_INPUT, "newer tctune (schema 99", "Upgrade tctune");
    check_open_fails(TC_MEAS_DB_READ, TC_BAD_INPUT, "newer tctune (schema 99", "--db");
}

static void other_files_are_refused(void **state) {
    (void)state;
    run_sql("CREATE TABLE cats(name TEXT)");
    check_open_fails(TC_MEAS_DB_WRITE, TC_BAD_INPUT, "another program", "--db");
    check_open_fails(TC_MEAS_DB_READ, TC_BAD_INPUT, "another program", "--db");
    const char text[] =
        "this is a text file that is longer than the header of a SQLite database, which has one hundred bytes of it, and so on";
    assert_int_equal(tc_fs_write(path, text, sizeof text, NULL), TC_OK);
    check_open_fails(TC_MEAS_DB_WRITE, TC_BAD_INPUT, "not a tctune database", "--db");
    check_open_fails(TC_MEAS_DB_READ, TC_BAD_INPUT, "not a tctune database", "--db");
    const char pointer[] = "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n";
    assert_int_equal(tc_fs_write(path, pointer, sizeof pointer - 1, NULL), TC_OK);
    check_open_fails(TC_MEAS_DB_WRITE, TC_BAD_INPUT, "Git LFS pointer", "git lfs pull");
    check_open_fails(TC_MEAS_DB_READ, TC_BAD_INPUT, "Git LFS pointer", "git lfs pull");
    assert_int_equal(tc_fs_write(path, text, sizeof text, NULL), TC_OK);
    char *back;
    assert_int_equal(tc_fs_read(path, &back, NULL, NULL), TC_OK);
    assert_string_equal(back, text); /* and untouched */
    free(back);
    unlink(path);
    assert_int_equal(mkdir(path, 0700), 0);
    check_open_fails(TC_MEAS_DB_WRITE, TC_BAD_INPUT, "not a file", "--db");
}

static void missing_places_are_refused(void **state) {
    (void)state;
    check_open_fails(TC_MEAS_DB_READ, TC_BAD_INPUT, "cannot be opened", "--db");
    assert_false(tc_fs_exists(path));
    const char *keep = path;
    path = tc_arena_printf(arena, "%s/no/such/t.db", dir);
    check_open_fails(TC_MEAS_DB_WRITE, TC_ENV, "no/such", "");
    path = (char *)(uintptr_t)keep;
    assert_int_equal(tc_fs_write(path, "", 0, NULL), TC_OK);
    check_open_fails(TC_MEAS_DB_READ, TC_BAD_INPUT, "empty", "Tune first");
    tc_meas_db_close(open_db(path, TC_MEAS_DB_WRITE)); /* to write, an empty file is a new database */
}

static void damage_is_told(void **state) {
    (void)state;
    char *data;
    size_t n;
    make_database(200);
    assert_int_equal(tc_fs_read(path, &data, &n, NULL), TC_OK);
    assert_true(n > 40000);
    assert_int_equal(tc_fs_write(path, data, n / 2 / 4096 * 4096, NULL), TC_OK); /* cut off */
    check_open_fails(TC_MEAS_DB_WRITE, TC_BAD_INPUT, "damaged", ".recover");
    for (size_t i = 8192; i < n; i++)
        data[i] = (char)(i * 7);
    assert_int_equal(tc_fs_write(path, data, n, NULL), TC_OK);
    check_open_fails(TC_MEAS_DB_WRITE, TC_BAD_INPUT, "damaged", ".recover");
    check_open_fails(TC_MEAS_DB_READ, TC_BAD_INPUT, "damaged", ".recover");
    free(data);
}

/* The permissions of files bind everybody but root, so these run as nobody. 77: cannot become nobody. */
static int as_nobody(mode_t folder, int (*body)(void)) {
    chmod(dir, folder);
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        if (geteuid() == 0 && (setgid(65534) != 0 || setuid(65534) != 0))
            _exit(77);
        _exit(body());
    }
    int status = exit_status(pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int reads_but_does_not_write(void) {
    tc_meas_db *db;
    tc_error err = {0};
    tc_meas_counts n;
    if (tc_meas_db_open(path, TC_MEAS_DB_WRITE, &db, &err) != TC_ENV || !strstr(err.msg, path) || !strstr(err.msg, "permissions"))
        return 1;
    if (tc_meas_db_open(path, TC_MEAS_DB_READ, &db, &err) != TC_OK) {
        fprintf(stderr, "%s\n", err.msg);
        return 2;
    }
    if (tc_meas_db_count(db, &(tc_meas_filter){0}, &n, &err) != TC_OK || n.total != 3)
        return 3;
    tc_meas_db_close(db);
    return 0;
}

static int cannot_create(void) {
    tc_meas_db *db;
    tc_error err = {0};
    char other[512];
    snprintf(other, sizeof other, "%s/other.db", dir);
    return tc_meas_db_open(other, TC_MEAS_DB_WRITE, &db, &err) == TC_ENV && strstr(err.msg, dir) ? 0 : 1;
}

static int cannot_read(void) {
    tc_meas_db *db;
    tc_error err = {0};
    return tc_meas_db_open(path, TC_MEAS_DB_READ, &db, &err) == TC_ENV && strstr(err.msg, "cannot be read") ? 0 : 1;
}

static void read_only_places(void **state) {
    (void)state;
    make_database(3);
    chmod(path, 0444);
    int rc = as_nobody(0555, reads_but_does_not_write);
    if (rc == 77) {
        print_message("skipped: places that cannot be written to (nobody here is without the right)\n");
        skip();
    }
    assert_int_equal(rc, 0);
    assert_int_equal(as_nobody(0555, cannot_create), 0);
    chmod(path, 0);
    assert_int_equal(as_nobody(0555, cannot_read), 0);
}

/* ---- a reader leaves no file beside the database ---- */

static bool is_beside(const char *end) {
    char file[600];
    snprintf(file, sizeof file, "%s%s", path, end);
    return access(file, F_OK) == 0;
}

static void assert_nothing_beside(void) {
    assert_false(is_beside("-wal"));
    assert_false(is_beside("-shm"));
}

static void read_and_close(int64_t want) {
    tc_meas_db *db = open_db(path, TC_MEAS_DB_READ);
    assert_int_equal(total(db), want);
    tc_meas_db_close(db);
}

static void readers_leave_nothing(void **state) {
    (void)state;
    make_database(3);
    assert_nothing_beside();
    read_and_close(3);
    assert_nothing_beside();
    /* a process writes meanwhile: its files stay, the reader sees what is in them, and they go when the writer does */
    tc_meas_db *writer = open_db(path, TC_MEAS_DB_WRITE);
    insert(writer, sample_record(arena, "w0", 77, 1e-3));
    read_and_close(4);
    assert_true(is_beside("-wal") && is_beside("-shm"));
    tc_meas_db *reader = open_db(path, TC_MEAS_DB_READ);
    tc_meas_db_close(writer);
    assert_int_equal(total(reader), 4);
    tc_meas_db_close(reader);
    assert_nothing_beside();
}

/* What a writer left that was killed: the reader sees it, and clears it away. */
static void readers_clear_away_what_the_killed_left(void **state) {
    (void)state;
    make_database(3);
    pid_t pid = fork();
    if (pid == 0) {
        tc_meas_db *db = open_db(path, TC_MEAS_DB_WRITE);
        insert(db, sample_record(arena, "w0", 77, 1e-3));
        _exit(0);
    }
    assert_int_equal(exit_status(pid), 0);
    assert_true(is_beside("-wal"));
    read_and_close(4);
    assert_nothing_beside();
}

static void readers_change_nothing(void **state) {
    (void)state;
    make_database(3);
    tc_meas_db *db = open_db(path, TC_MEAS_DB_READ);
    tc_record r = sample_record(arena, "w0", 77, 1e-3);
    assert_int_not_equal(tc_meas_db_insert(db, &r, 1, NULL), TC_OK);
    assert_int_equal(total(db), 3);
    tc_meas_db_close(db);
}

static int reads_beside_nothing(void) {
    tc_meas_db *db;
    tc_error err = {0};
    tc_meas_counts n;
    if (tc_meas_db_open(path, TC_MEAS_DB_READ, &db, &err) != TC_OK)
        return 1;
    if (tc_meas_db_count(db, &(tc_meas_filter){0}, &n, &err) != TC_OK || n.total != 3)
        return 2;
    tc_meas_db_close(db);
    return is_beside("-wal") || is_beside("-shm") ? 3 : 0;
}

/* A database that is somebody else's, in a folder where everybody may write. */
static void readers_of_others_files_leave_nothing(void **state) {
    (void)state;
    make_database(3);
    chmod(path, 0444);
    int rc = as_nobody(0777, reads_beside_nothing);
    if (rc == 77)
        skip();
    assert_int_equal(rc, 0);
    assert_nothing_beside();
}

/* A limit on the size of files stands in for a full disk: writes fail in the middle of a transaction. */
static int fill_the_disk(void) {
    tc_meas_db *db;
    tc_error err = {0};
    tc_arena *a = tc_arena_new();
    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &(struct rlimit){512 * 1024, 512 * 1024});
    if (tc_meas_db_open(path, TC_MEAS_DB_WRITE, &db, &err) != TC_OK)
        return 1;
    for (int i = 0; i < 10000; i++) {
        tc_record r[16];
        for (int k = 0; k < 16; k++)
            r[k] = sample_record(a, "w", i, 1);
        if (tc_meas_db_insert(db, r, 16, &err) == TC_OK)
            continue;
        tc_meas_counts n;
        if (err.status != TC_ENV || !strstr(err.msg, path) || !strstr(err.msg, "same command"))
            return 2;
        if (tc_meas_db_count(db, &(tc_meas_filter){0}, &n, &err) != TC_OK || n.total != i * 16)
            return 3; /* what was committed can still be read, and only that */
        tc_meas_db_close(db);
        return i < 10 ? 4 : 0;
    }
    return 5;
}

static void full_disk(void **state) {
    (void)state;
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0)
        _exit(fill_the_disk());
    int status = exit_status(pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    tc_meas_db *db = open_db(path, TC_MEAS_DB_WRITE);
    int64_t n = total(db);
    assert_true(n > 0 && n % 16 == 0);
    insert(db, sample_record(arena, "w", 0, 1));
    tc_meas_db_close(db);
}

/* ---- without locks ---- */

static int (*fcntl_before)(int, int, ...);

/* As a file system does that has no locks to give: NFS without its lock manager, some of FUSE. */
static int fcntl_without_locks(int fd, int command, void *argument) {
    if (command != F_SETLK)
        return fcntl_before(fd, command, argument);
    errno = ENOLCK;
    return -1;
}

static void take_locks_away(bool away) {
    sqlite3_vfs *vfs = sqlite3_vfs_find(NULL);
    if (away)
        fcntl_before = (int (*)(int, int, ...))vfs->xGetSystemCall(vfs, "fcntl");
    sqlite3_syscall_ptr is = away ? (sqlite3_syscall_ptr)fcntl_without_locks : (sqlite3_syscall_ptr)fcntl_before;
    assert_int_equal(vfs->xSetSystemCall(vfs, "fcntl", is), SQLITE_OK);
}

/* SQLite takes that for the lock of another process, and would wait for its end. */
static void a_file_system_without_locks_is_told(void **state) {
    (void)state;
    static const char what[] = "its file system gives no locks", remedy[] = "Put the database on a local disk";
    double start = tc_now();
    take_locks_away(true);
    check_open_fails(TC_MEAS_DB_WRITE, TC_ENV, what, remedy);
    assert_int_not_equal(access(path, F_OK), 0); /* no empty file is left */
    take_locks_away(false);
    tc_meas_db *db = open_db(path, TC_MEAS_DB_WRITE);
    insert(db, sample_record(arena, "w0", 0, 3e-3));
    tc_meas_db_close(db);
    take_locks_away(true);
    check_open_fails(TC_MEAS_DB_WRITE, TC_ENV, what, remedy);
    check_open_fails(TC_MEAS_DB_READ, TC_ENV, what, remedy);
    take_locks_away(false);
    assert_true(tc_now() - start < 15); /* half of what another process is waited for */
    db = open_db(path, TC_MEAS_DB_READ);
    assert_int_equal(total(db), 1);
    tc_meas_db_close(db);
}

int main(void) {
    setenv("TMPDIR", P_tmpdir, 1); /* nobody may not enter the folder of the build, if that is in root's own */
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(records_come_back),
        TEST(a_job_has_one_record),
        TEST(experiments_are_refused),
        TEST(best_is_the_fastest_verified_one),
        TEST(nearest_names_the_difference),
        TEST(models_are_kept_by_target_and_name),
        TEST(visiting_can_stop),
        TEST(records_travel_as_json_lines),
        TEST(processes_share_a_database),
        TEST(kill_loses_no_committed_batch),
        TEST(newer_schema_is_refused),
        TEST(other_files_are_refused),
        TEST(missing_places_are_refused),
        TEST(damage_is_told),
        TEST(read_only_places),
        TEST(readers_leave_nothing),
        TEST(readers_clear_away_what_the_killed_left),
        TEST(readers_change_nothing),
        TEST(readers_of_others_files_leave_nothing),
        TEST(full_disk),
        TEST(a_file_system_without_locks_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
