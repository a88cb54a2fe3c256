/* What is sent along with a database: journals from which SQLite would change it and delete other files, logs of other databases,
 * and what is no file at all. */
#include "database.h"

#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/strbuf.h"

enum { PAGE = 4096, SECTOR = 512 };
static const char MAGIC[] = "\xd9\xd5\x05\xf9\x20\xa1\x63\xd7";

static const char *beside(const char *end) {
    return tc_arena_printf(arena, "%s%s", path, end);
}

static void make_database(int records) {
    tc_meas_db *db = open_db(path, TC_MEAS_DB_WRITE);
    for (int i = 0; i < records; i++) {
        tc_record r = sample_record(arena, sample_workload(arena, 8), i, 1e-3 * (i + 1));
        assert_int_equal(tc_meas_db_insert(db, &r, 1, NULL), TC_OK);
    }
    tc_meas_db_close(db);
}

static void write_file(const char *name, const void *data, size_t size) {
    assert_int_equal(tc_fs_write(name, data, size, NULL), TC_OK);
}

static char *read_file(const char *name, size_t *size) {
    char *data;
    assert_int_equal(tc_fs_read(name, &data, size, NULL), TC_OK);
    return data;
}

static void run_sql(const char *name, const char *sql) {
    sqlite3 *s;
    assert_int_equal(sqlite3_open(name, &s), SQLITE_OK);
    sqlite3_exec(s, sql, NULL, NULL, NULL); /* whether it works is another question */
    sqlite3_close(s);
}

static size_t records_in(tc_meas_db_mode mode) {
    tc_meas_db *db = open_db(path, mode);
    tc_meas_counts n;
    assert_int_equal(tc_meas_db_count(db, &(tc_meas_filter){0}, &n, NULL), TC_OK);
    tc_meas_db_close(db);
    return (size_t)n.total;
}

/* By every way to open it, and nothing is changed. */
static void check_refused(const char *says) {
    size_t before, after;
    char *was = read_file(path, &before);
    for (int mode = TC_MEAS_DB_READ; mode <= TC_MEAS_DB_WRITE; mode++) {
        tc_meas_db *db;
        tc_error err = {0};
        assert_int_equal(tc_meas_db_open(path, (tc_meas_db_mode)mode, &db, &err), TC_BAD_INPUT);
        if (!strstr(err.msg, path) || !strstr(err.msg, says) || !strstr(err.msg, "Remove"))
            fail_msg("'%s' is not said: '%s'", says, err.msg);
    }
    char *is = read_file(path, &after);
    assert_true(before == after && !memcmp(was, is, after));
    free(was);
    free(is);
}

/* ---- journals (SQLite's file format, 3) ---- */

static void add_number(tc_strbuf *b, uint32_t n) {
    const char bytes[] = {(char)(n >> 24), (char)(n >> 16), (char)(n >> 8), (char)n};
    tc_sb_addn(b, bytes, sizeof bytes);
}

/* One that puts the first n pages back, of zeros but for their first byte, and leaves `pages`. */
static void add_journal(tc_strbuf *b, uint32_t n, uint32_t pages) {
    static const char zeros[PAGE];
    tc_sb_addn(b, MAGIC, 8);
    const uint32_t numbers[] = {n, 0, pages, SECTOR, PAGE};
    for (size_t i = 0; i < 5; i++)
        add_number(b, numbers[i]);
    tc_sb_addn(b, zeros, SECTOR - b->len);
    for (uint32_t i = 1; i <= n; i++) {
        add_number(b, i);
        tc_sb_addn(b, zeros, PAGE);
        add_number(b, 0); /* the sum of some bytes of the page */
    }
}

static void add_other_file(tc_strbuf *b, const char *name) {
    uint32_t sum = 0;
    tc_sb_add(b, name);
    for (const char *p = name; *p; p++)
        sum += (uint32_t)*p;
    add_number(b, (uint32_t)strlen(name));
    add_number(b, sum);
    tc_sb_addn(b, MAGIC, 8);
}

/* That it is dangerous is seen by what SQLite alone does with it. */
static void journals_that_name_other_files(void **state) {
    (void)state;
    const char *dear = tc_arena_printf(arena, "%s/dear", dir), *copy = tc_arena_printf(arena, "%s/copy.db", dir);
    tc_strbuf b = {0};
    size_t size;
    make_database(3);
    char *database = read_file(path, &size);
    write_file(copy, database, size);
    for (int alone = 0; alone < 2; alone++) { /* the name needs nothing before it */
        write_file(dear, "of value", 8);
        tc_sb_clear(&b);
        if (!alone)
            add_journal(&b, 0, (uint32_t)(size / PAGE));
        add_other_file(&b, dear);
        write_file(tc_arena_printf(arena, "%s-journal", copy), b.data, b.len);
        run_sql(copy, "SELECT * FROM records");
        assert_false(tc_fs_exists(dear));
        write_file(dear, "of value", 8);
        write_file(beside("-journal"), b.data, b.len);
        check_refused(beside("-journal"));
        assert_true(tc_fs_exists(dear));
    }
    unlink(beside("-journal"));
    assert_int_equal(records_in(TC_MEAS_DB_WRITE), 3);
    free(database);
    tc_strbuf_free(&b);
}

static void journals_that_put_back_more_than_ours(void **state) {
    (void)state;
    static const struct { uint32_t pages, left; } cases[] = {{0, 0}, {0, 1}, {0, 1000000}, {2, 0}, {1, 3}, {0, 0x7fffffff}};
    make_database(40);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        tc_strbuf b = {0};
        add_journal(&b, cases[i].pages, cases[i].left);
        write_file(beside("-journal"), b.data, b.len);
        check_refused(beside("-journal"));
        tc_strbuf_free(&b);
    }
}

/* Left by a process that is killed while it changes the kind of a database that others made. */
static void ours_is_put_back(void **state) {
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct stat st;
        int status;
        unlink(path);
        make_database(5);
        run_sql(path, "PRAGMA journal_mode=DELETE");
        pid_t pid = fork();
        if (pid == 0) {
            sqlite3 *s;
            bool ok =
                sqlite3_open(path, &s) == SQLITE_OK &&
                sqlite3_exec(s, "PRAGMA cache_size=1; BEGIN IMMEDIATE; PRAGMA user_version=77", NULL, NULL, NULL) == SQLITE_OK &&
                sqlite3_db_cacheflush(s) == SQLITE_OK;
            _exit(ok ? 0 : 1);
        }
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_int_equal(status, 0);
        assert_true(stat(beside("-journal"), &st) == 0 && st.st_size > PAGE);
        assert_int_equal(records_in(i ? TC_MEAS_DB_WRITE : TC_MEAS_DB_CHANGE), 5);
        assert_false(tc_fs_exists(beside("-journal")));
    }
}

/* What a process leaves that is killed while it makes the file; and journals that SQLite does not look at. */
static void a_journal_of_the_beginning_is_no_hindrance(void **state) {
    (void)state;
    static const char zeros[PAGE];
    for (size_t bytes = 0; bytes <= PAGE; bytes += PAGE) {
        tc_strbuf b = {0};
        add_journal(&b, 0, 0);
        write_file(path, zeros, bytes);
        write_file(beside("-journal"), b.data, b.len);
        make_database(2);
        assert_int_equal(records_in(TC_MEAS_DB_READ), 2);
        unlink(path);
        tc_strbuf_free(&b);
    }
    make_database(2);
    for (size_t bytes = 0; bytes <= PAGE; bytes += PAGE) {
        write_file(beside("-journal"), zeros, bytes);
        assert_int_equal(records_in(TC_MEAS_DB_READ), 2);
    }
}

/* ---- logs ---- */

static void other_kinds_of_files_are_refused(void **state) {
    (void)state;
    static const char *const ends[] = {"-journal", "-wal", "-shm"};
    const char *dear = tc_arena_printf(arena, "%s/dear", dir);
    make_database(2);
    write_file(dear, "of value", 8);
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        const char *name = beside(ends[i]);
        assert_int_equal(symlink(dear, name), 0);
        check_refused(name);
        assert_int_equal(unlink(name), 0);
        assert_int_equal(mkfifo(name, 0600), 0);
        check_refused(name);
        assert_int_equal(unlink(name), 0);
        assert_int_equal(mkdir(name, 0700), 0);
        check_refused(name);
        assert_int_equal(rmdir(name), 0);
    }
    size_t size;
    free(read_file(dear, &size));
    assert_int_equal(size, 8);
    assert_int_equal(records_in(TC_MEAS_DB_WRITE), 2);
}

/* A link to a database has its log beside what it leads to. */
static void links_are_followed_to_what_lies_there(void **state) {
    (void)state;
    tc_strbuf b = {0};
    const char *there = path, *link = tc_arena_printf(arena, "%s/link.db", dir);
    make_database(3);
    assert_int_equal(symlink(there, link), 0);
    add_journal(&b, 0, 0);
    write_file(beside("-journal"), b.data, b.len);
    tc_meas_db *db;
    tc_error err = {0};
    assert_int_equal(tc_meas_db_open(link, TC_MEAS_DB_WRITE, &db, &err), TC_BAD_INPUT);
    assert_non_null(strstr(err.msg, beside("-journal")));
    tc_strbuf_free(&b);
}

/* The last pages of a log that others send are the database: its tables are looked at as those of the file. */
static void logs_of_others_are_looked_at_like_the_file(void **state) {
    (void)state;
    const char *copy = tc_arena_printf(arena, "%s/copy.db", dir), *log = tc_arena_printf(arena, "%s-wal", copy);
    sqlite3 *s;
    size_t size, bytes;
    make_database(3);
    char *database = read_file(path, &bytes);
    write_file(copy, database, bytes);
    assert_int_equal(sqlite3_open(copy, &s), SQLITE_OK);
    assert_int_equal(sqlite3_exec(s, "CREATE VIEW more AS SELECT 1", NULL, NULL, NULL), SQLITE_OK);
    char *wal = read_file(log, &size);
    assert_true(size > PAGE);
    sqlite3_close(s);
    for (int mode = TC_MEAS_DB_READ; mode <= TC_MEAS_DB_WRITE; mode++) {
        tc_meas_db *db;
        tc_error err = {0};
        write_file(path, database, bytes);
        write_file(beside("-wal"), wal, size);
        write_file(beside("-shm"), wal, size);
        assert_int_equal(tc_meas_db_open(path, (tc_meas_db_mode)mode, &db, &err), TC_BAD_INPUT);
        if (!strstr(err.msg, "the view 'more'"))
            fail_msg("%s", err.msg);
    }
    free(database);
    free(wal);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(journals_that_name_other_files, setup, teardown),
        cmocka_unit_test_setup_teardown(journals_that_put_back_more_than_ours, setup, teardown),
        cmocka_unit_test_setup_teardown(ours_is_put_back, setup, teardown),
        cmocka_unit_test_setup_teardown(a_journal_of_the_beginning_is_no_hindrance, setup, teardown),
        cmocka_unit_test_setup_teardown(other_kinds_of_files_are_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(links_are_followed_to_what_lies_there, setup, teardown),
        cmocka_unit_test_setup_teardown(logs_of_others_are_looked_at_like_the_file, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
