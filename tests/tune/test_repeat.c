/* One seed, one search: with computed times two sessions make the same records in the same order, whatever the machine does. */
#include "session.h"

static tc_meas_records search(bench *b, uint64_t seed, tc_arena *a) {
    tc_error err;
    tc_meas_db *kept = b->db;
    assert_int_equal(tc_meas_db_open_memory(&b->db, &err), TC_OK);
    tc_tune_options o = simulated(b, 120);
    o.batch = 0;
    o.seed = seed;
    tc_tune *t = open_tune(b, &o);
    run_tune(t);
    tc_meas_records r;
    assert_int_equal(tc_meas_db_select(b->db, a, &(tc_meas_filter){0}, &r, &err), TC_OK);
    assert_int_equal(r.len, 120);
    tc_tune_free(t);
    tc_meas_db_close(b->db);
    b->db = kept;
    return r;
}

static void one_seed_one_search(void **state) {
    tc_arena *a = tc_arena_new();
    tc_meas_records x = search(*state, 3, a), y = search(*state, 3, a);
    for (size_t i = 0; i < x.len; i++) {
        assert_string_equal(x.data[i].trace, y.data[i].trace);
        assert_string_equal(x.data[i].workload_hash.hex, y.data[i].workload_hash.hex);
        assert_true(x.data[i].program == y.data[i].program);
        assert_true(x.data[i].error == y.data[i].error);
        assert_true(x.data[i].median == y.data[i].median || x.data[i].error != TC_MEAS_NONE);
        assert_int_equal(x.data[i].rounds, y.data[i].rounds);
        assert_int_equal(x.data[i].ntimes, y.data[i].ntimes);
        assert_memory_equal(x.data[i].times, y.data[i].times, x.data[i].ntimes * sizeof *x.data[i].times);
    }
    tc_arena_free(a);
}

static void another_seed_another_search(void **state) {
    tc_arena *a = tc_arena_new();
    tc_meas_records x = search(*state, 3, a), y = search(*state, 4, a);
    size_t same = 0;
    for (size_t i = 0; i < x.len; i++)
        same += strcmp(x.data[i].trace, y.data[i].trace) == 0;
    assert_true(same < x.len);
    tc_arena_free(a);
}

int main(int argc, char **argv) {
    if (argc > 1 && strcmp(argv[1], "worker") == 0)
        return tc_meas_worker_main(TC_MEAS_WORKER_FD, TC_MEAS_WORKER_FD);
    const struct CMUnitTest tests[] = {SESSION_TEST(one_seed_one_search), SESSION_TEST(another_seed_another_search)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
