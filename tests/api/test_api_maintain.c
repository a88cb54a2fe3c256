/* Databases looked after: what they hold, files joined, made smaller, audited, their best records measured again. */
#include "api_documents.h"

#include <math.h>
#include <sqlite3.h>

static const char db[] = SCRATCH("api_maintain.db"), lines[] = SCRATCH("api_maintain.jsonl"), joined[] = SCRATCH("api_joined.db");

/* simulated: times are computed; else candidates are measured. */
static void fill(int trials, int simulated) {
    tctune_work *w = open_text(gemm_text);
    tctune_tune_options o = {
        .struct_size = sizeof o, .database = db, .trials = trials, .threads = 1, .batch = 4, .deterministic = simulated};
    remove_database(db);
    OK(tctune_tune(w, &o, error, sizeof error));
    tctune_work_free(w);
}

static tctune_database *opened(const char *path, tctune_access access) {
    tctune_database *d;
    OK(tctune_database_open(path, access, &d, error, sizeof error));
    return d;
}

static void test_describe(void **state) {
    (void)state;
    char *text;
    fill(12, 1);
    tctune_database *d = opened(db, TCTUNE_ACCESS_READ);
    tctune_database_stats s = {.struct_size = sizeof s};
    OK(tctune_database_stat(d, &s, error, sizeof error));
    OK(tctune_database_describe(d, &text, error, sizeof error));
    json_t *j = document(text), *first = json_array_get(json_object_get(j, "summaries"), 0);
    assert_int_equal(number(j, "records"), s.records);
    assert_int_equal(json_array_size(json_object_get(j, "summaries")), 1);
    assert_int_equal(number(first, "records"), s.records);
    assert_string_equal(text_of(first, "mode"), "simulated");
    assert_string_equal(text_of(first, "operands"), "p0[48, 64] p1[64, 32]");
    json_decref(j);
    tctune_database_close(d);
}

typedef struct taken {
    int files;
    size_t added, known;
} taken;

static void on_taken(void *user, const char *file, size_t added, size_t known) {
    taken *t = user;
    assert_non_null(file);
    t->files++;
    t->added += added;
    t->known += known;
}

static void test_joined(void **state) {
    (void)state;
    size_t n;
    taken t = {0};
    fill(12, 1);
    remove_database(joined);
    tctune_database *d = opened(db, TCTUNE_ACCESS_READ);
    OK(tctune_database_export(d, NULL, lines, &n, error, sizeof error));
    const char *const both[] = {lines, db, NULL}, *const missing[] = {lines, "/no/such.db", NULL},
                      *const bad[] = {__FILE__, NULL};
    REFUSED(TCTUNE_BAD_INPUT, "/no/such.db", tctune_database_add_files(joined, missing, on_taken, &t, error, sizeof error));
    REFUSED(TCTUNE_BAD_INPUT, __FILE__, tctune_database_add_files(joined, bad, NULL, NULL, error, sizeof error));
    assert_int_equal(access(joined, F_OK), -1);
    OK(tctune_database_add_files(joined, both, on_taken, &t, error, sizeof error));
    assert_true(t.files == 2 && t.added == n && t.known == n);
    tctune_database_close(d);
}

static void test_pruned(void **state) {
    (void)state;
    fill(12, 1);
    tctune_database *d = opened(db, TCTUNE_ACCESS_CHANGE);
    tctune_audit a = {.struct_size = sizeof a};
    tctune_pruned p = {.struct_size = sizeof p};
    OK(tctune_database_verify(d, NULL, NULL, &a, error, sizeof error));
    assert_true(a.records >= 12 && a.replayed > 0 && a.problems == 0 && a.workloads == 1 && a.targets == 1);
    REFUSED(TCTUNE_BAD_INPUT, "nothing to prune", tctune_database_prune(d, 0, 0, &p, error, sizeof error));
    p.struct_size = 0;
    REFUSED(TCTUNE_BAD_INPUT, "struct_size", tctune_database_prune(d, 1, 1, &p, error, sizeof error));
    p.struct_size = sizeof p;
    OK(tctune_database_prune(d, 1, 1, &p, error, sizeof error));
    assert_int_equal(p.records, a.records - 1);
    assert_true(p.workloads == 0 && p.bytes_before >= p.bytes_after && p.bytes_after > 0);
    tctune_database_close(d);
}

static void on_rerun(void *user, const tctune_rerun *r) {
    ((int *)user)[r->end]++;
    if (r->end == TCTUNE_RERUN_END_TIMED)
        assert_true(r->record > 0 && isfinite(r->now) && isfinite(r->recorded) && !*r->message && r->threads == 1);
    else
        assert_true(*r->message && !isfinite(r->now));
}

static void close_once(void *user, const tctune_rerun *r) {
    tctune_database **d = user;
    assert_true(*r->message); /* which is the library's still */
    tctune_database_close(*d);
    *d = NULL;
}

static void complain_and_close(void *user, const char *text) {
    tctune_database **d = user;
    assert_true(*text);
    tctune_database_close(*d);
    *d = NULL;
}

/* The call goes on with the database, and closes it when it ends. */
static void test_closed_by_its_callback(void **state) {
    (void)state;
    fill(4, 1);
    tctune_database *d = opened(db, TCTUNE_ACCESS_CHANGE);
    tctune_rerun_options o = {.struct_size = sizeof o, .each = close_once, .user = &d};
    OK(tctune_database_rerun(d, &o, NULL, error, sizeof error));
    assert_null(d);
    sqlite3 *sql;
    assert_int_equal(sqlite3_open(db, &sql), SQLITE_OK);
    assert_int_equal(sqlite3_exec(sql, "UPDATE records SET median = 2 * median WHERE median NOT NULL", NULL, NULL, NULL),
                     SQLITE_OK);
    sqlite3_close(sql);
    d = opened(db, TCTUNE_ACCESS_READ);
    REFUSED(TCTUNE_BAD_INPUT, "problems", tctune_database_verify(d, complain_and_close, &d, NULL, error, sizeof error));
    assert_null(d);
    remove_database(db);
}

static void test_rerun(void **state) {
    (void)state;
    int count[3] = {0}, stop = 1;
    int64_t unmarked = -1;
    tctune_rerun_options o = {.struct_size = sizeof o, .each = on_rerun, .user = count};
    fill(4, 0);
    tctune_database *d = opened(db, TCTUNE_ACCESS_CHANGE);
    OK(tctune_database_rerun(d, &o, &unmarked, error, sizeof error));
    assert_true(unmarked == 0 && count[TCTUNE_RERUN_END_TIMED] == 1 && count[TCTUNE_RERUN_END_FAILED] == 0);
    o.stop = &stop;
    assert_int_equal(tctune_database_rerun(d, &o, NULL, error, sizeof error), TCTUNE_STOPPED);
    tctune_database_close(d);
    fill(4, 1);
    d = opened(db, TCTUNE_ACCESS_CHANGE);
    o.stop = NULL;
    int skipped = count[TCTUNE_RERUN_END_SKIPPED]; /* the comparison with the default schedule, in the network */
    OK(tctune_database_rerun(d, &o, NULL, error, sizeof error));
    assert_int_equal(count[TCTUNE_RERUN_END_SKIPPED], skipped + 1);
    tctune_database_close(d);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_describe),
        cmocka_unit_test(test_joined),
        cmocka_unit_test(test_pruned),
        cmocka_unit_test(test_rerun),
        cmocka_unit_test(test_closed_by_its_callback),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
