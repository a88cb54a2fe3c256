/* Databases: records queried, exported, joined, made fewer and checked. */
#include "api_common.h"

#include <stdio.h>

static const char db[] = SCRATCH("api_db.db"), other[] = SCRATCH("api_other.db"), lines[] = SCRATCH("api_db.jsonl");

static void fill(const char *path) {
    tctune_work *w = open_text(gemm_text);
    tctune_tune_options o = {
        .struct_size = sizeof o, .database = path, .trials = 12, .threads = 1, .deterministic = 1, .start_from = NULL};
    remove_database(path);
    OK(tctune_tune(w, &o, error, sizeof error));
    tctune_work_free(w);
}

static size_t count(tctune_database *d, const tctune_query *q) {
    tctune_records *l;
    OK(tctune_database_records(d, q, &l, error, sizeof error));
    size_t n = tctune_records_count(l);
    tctune_records_free(l);
    return n;
}

static tctune_database *open_database(const char *path, tctune_access access) {
    tctune_database *d;
    OK(tctune_database_open(path, access, &d, error, sizeof error));
    return d;
}

static void test_queries(void **state) {
    (void)state;
    fill(db);
    tctune_database *d = open_database(db, TCTUNE_ACCESS_READ);
    tctune_query q = {.struct_size = sizeof q};
    tctune_record r = {.struct_size = sizeof r}, next = r;
    tctune_records *l;
    size_t all = count(d, NULL);
    assert_true(all >= 12);
    q.limit = 5;
    assert_int_equal(count(d, &q), 5);
    q = (tctune_query){.struct_size = sizeof q, .valid = 1, .order = TCTUNE_ORDER_BY_MEDIAN};
    OK(tctune_database_records(d, &q, &l, error, sizeof error));
    size_t n = tctune_records_count(l);
    assert_true(n > 1);
    for (size_t i = 0; i + 1 < n; i++) {
        OK(tctune_records_get(l, i, &r, error, sizeof error));
        OK(tctune_records_get(l, i + 1, &next, error, sizeof error));
        assert_true(r.median <= next.median);
        assert_string_equal(r.outcome, "ok");
        assert_string_equal(r.mode, "simulated");
    }
    REFUSED(TCTUNE_BAD_INPUT, "there is no record", tctune_records_get(l, n, &r, error, sizeof error));
    OK(tctune_records_get(l, 0, &r, error, sizeof error));
    q = (tctune_query){.struct_size = sizeof q, .workload_hash = r.workload_hash};
    assert_int_equal(count(d, &q), all);
    q.workload_hash = "0123";
    assert_int_equal(count(d, &q), 0);
    q = (tctune_query){.struct_size = sizeof q, .after_id = (int64_t)all - 2};
    assert_int_equal(count(d, &q), 2);
    tctune_database_close(d);
    OK(tctune_records_get(l, 0, &r, error, sizeof error)); /* it outlives the handle */
    assert_non_null(strstr(r.workload, "output"));
    tctune_records_free(l);
}

static void complain(void *user, const char *text) {
    (void)text;
    ++*(int *)user;
}

static void test_files(void **state) {
    (void)state;
    fill(db);
    size_t written, added, known;
    int complaints = 0;
    tctune_database_stats s = {.struct_size = sizeof s};
    tctune_database *d = open_database(db, TCTUNE_ACCESS_CHANGE), *o;
    size_t all = count(d, NULL);
    OK(tctune_database_export(d, NULL, lines, &written, error, sizeof error));
    assert_int_equal(written, all);
    remove_database(other);
    REFUSED(TCTUNE_BAD_INPUT, other, tctune_database_open(other, TCTUNE_ACCESS_CHANGE, &o, error, sizeof error));
    assert_null(o);
    o = open_database(other, TCTUNE_ACCESS_CREATE);
    OK(tctune_database_add(o, lines, &added, &known, error, sizeof error));
    assert_int_equal(added, all);
    OK(tctune_database_add(o, db, &added, &known, error, sizeof error));
    assert_true(added == 0 && known == all);
    REFUSED(TCTUNE_BAD_INPUT, "/no/such", tctune_database_add(o, "/no/such.jsonl", NULL, NULL, error, sizeof error));
    OK(tctune_database_stat(o, &s, error, sizeof error));
    assert_true(s.records == (int64_t)all && s.workloads == 1 && s.targets == 1 && s.bytes > 0);
    OK(tctune_database_verify(o, complain, &complaints, NULL, error, sizeof error));
    assert_int_equal(complaints, 0);
    REFUSED(TCTUNE_BAD_INPUT, "nothing to prune", tctune_database_prune(o, 0, 0, NULL, error, sizeof error));
    OK(tctune_database_prune(o, 1, 1, NULL, error, sizeof error));
    assert_int_equal(count(o, NULL), 1);
    tctune_database_close(o);
    tctune_database_close(d);
}

static void test_bad_files(void **state) {
    (void)state;
    tctune_database *d;
    FILE *f = fopen(other, "w");
    remove_database(db);
    fputs("this is no database, though it is long enough to be looked at\n", f);
    fclose(f);
    REFUSED(TCTUNE_BAD_INPUT, other, tctune_database_open(other, TCTUNE_ACCESS_READ, &d, error, sizeof error));
    REFUSED(TCTUNE_BAD_INPUT, "access", tctune_database_open(db, (tctune_access)9, &d, error, sizeof error));
    tctune_query q = {.struct_size = sizeof q, .mode = "warm"};
    tctune_records *l;
    d = open_database(db, TCTUNE_ACCESS_CREATE);
    REFUSED(TCTUNE_BAD_INPUT, "warm", tctune_database_records(d, &q, &l, error, sizeof error));
    q.mode = "clod";
    REFUSED(TCTUNE_BAD_INPUT, "did you mean cold?", tctune_database_records(d, &q, &l, error, sizeof error));
    assert_null(l);
    REFUSED(TCTUNE_BAD_INPUT, other, tctune_database_add(d, other, NULL, NULL, error, sizeof error));
    assert_int_equal(count(d, NULL), 0);
    tctune_database_close(d);
    tctune_database_close(NULL);
    tctune_records_free(NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_queries),
        cmocka_unit_test(test_files),
        cmocka_unit_test(test_bad_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
