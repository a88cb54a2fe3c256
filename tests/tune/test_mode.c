/* Hot or cold: the rule, and a session in which one task is timed so and another otherwise. */
#include "session.h"

#include "tune/kernel/mode.h"

enum { MIB = 1 << 20 };

static void half_of_the_last_cache_decides(void **state) {
    (void)state;
    tc_machine m = {.l1 = 32 << 10, .l2 = MIB, .l3 = 32 * MIB};
    assert_int_equal(tc_tune_mode_by_size(0, 0, &m), TC_MEAS_HOT);
    assert_int_equal(tc_tune_mode_by_size(16.0 * MIB, 0, &m), TC_MEAS_HOT);
    assert_int_equal(tc_tune_mode_by_size(16.0 * MIB + 4, 0, &m), TC_MEAS_COLD);
    m.l3 = 0; /* there is none */
    assert_int_equal(tc_tune_mode_by_size(0.5 * MIB, 0, &m), TC_MEAS_HOT);
    assert_int_equal(tc_tune_mode_by_size(0.5 * MIB + 4, 0, &m), TC_MEAS_COLD);
}

/* A network whose constants no cache keeps: what a core's own caches hold costs little even there. */
static void the_network_decides(void **state) {
    (void)state;
    tc_machine m = {.l1 = 32 << 10, .l2 = MIB, .l3 = 32 * MIB};
    assert_int_equal(tc_tune_mode_by_size(2.0 * MIB, 32.0 * MIB, &m), TC_MEAS_HOT);
    assert_int_equal(tc_tune_mode_by_size(2.0 * MIB, 32.0 * MIB + 4, &m), TC_MEAS_COLD);
    assert_int_equal(tc_tune_mode_by_size(1.0 * MIB, 400.0 * MIB, &m), TC_MEAS_HOT);
    assert_int_equal(tc_tune_mode_by_size(1.0 * MIB + 4, 400.0 * MIB, &m), TC_MEAS_COLD);
    assert_int_equal(tc_tune_mode_by_size(17.0 * MIB, 17.0 * MIB, &m), TC_MEAS_COLD);
}

static tc_meas_mode automatic(tc_ctx *c, const char *te, int64_t cache) {
    return tc_tune_mode(TC_TUNE_AUTO, parse(c, te), 0, &(tc_machine){.l3 = cache});
}

static void constants_decide(void **state) {
    (void)state;
    tc_ctx *c = tc_ctx_new();
    static const char product[] = "tensor X[8, 64] f32\ntensor W[64, 96] f32 const\n"
                                  "compute Y[i:8, j:96] = sum(k:64) X[i, k] * W[k, j]\noutput Y\n",
                      given[] = "tensor X[8, 64] f32\ntensor W[64, 96] f32\n"
                                "compute Y[i:8, j:96] = sum(k:64) X[i, k] * W[k, j]\noutput Y\n",
                      gather[] = "tensor T[4096, 64] f32 const\ntensor I[8] i64\n"
                                 "compute G[i:8, j:64] = T[I[i], j]\noutput G\n";
    const int64_t bytes = 4 * 64 * 96;
    assert_int_equal(automatic(c, product, 2 * bytes - 2), TC_MEAS_COLD);
    assert_int_equal(automatic(c, product, 2 * bytes), TC_MEAS_HOT);
    assert_int_equal(automatic(c, given, bytes), TC_MEAS_HOT);     /* written by another kernel just before */
    assert_int_equal(automatic(c, gather, 64 << 10), TC_MEAS_HOT); /* 8 rows of a table of a megabyte */
    assert_int_equal(automatic(c, gather, 8 * 64 * 4), TC_MEAS_COLD);
    tc_machine small = {.l3 = bytes}, large = {.l3 = 4 * bytes};
    assert_int_equal(tc_tune_mode(TC_TUNE_HOT, parse(c, product), 0, &small), TC_MEAS_HOT);
    assert_int_equal(tc_tune_mode(TC_TUNE_COLD, parse(c, product), 0, &large), TC_MEAS_COLD);
    tc_ctx_free(c);
}

/* Winograd's F(4,3) makes 36 weights of 9: its size counts for all forms. */
static void the_largest_form_decides(void **state) {
    (void)state;
    tc_ctx *c = tc_ctx_new();
    static const char conv[] = "tensor X[9, 11, 16] f32\ntensor W[3, 3, 16, 24] f32 const\n"
                               "compute C[h:7, w:9, o:24] = sum(r:3, s:3, c:16) X[h + r, w + s, c] * W[r, s, c, o]\noutput C\n";
    const int64_t own = 4 * 9 * 16 * 24, largest = 4 * own;
    assert_int_equal(automatic(c, conv, 2 * largest), TC_MEAS_HOT);
    assert_int_equal(automatic(c, conv, 2 * largest - 2), TC_MEAS_COLD);
    assert_int_equal(automatic(c, conv, 2 * own + 2), TC_MEAS_COLD);
    tc_ctx_free(c);
}

/* ---- a session ---- */

static size_t records(const bench *b, const char *mode) {
    tc_meas_records r;
    tc_arena *a = tc_arena_new();
    tc_meas_filter f = {.mode = mode};
    assert_int_equal(tc_meas_db_select(b->db, a, &f, &r, NULL), TC_OK);
    size_t found = r.len;
    tc_arena_free(a);
    return found;
}

/* Half of the last cache holds all but the dense layer's constants. */
static void shrink_caches(const bench *b) {
    tc_machine *m = &b->target->machine;
    m->l1 = m->l2 = m->l3 = 8 << 10;
}

static void check_session(bench *b, const tc_tune_options *o, tc_meas_mode dense_mode, int measured) {
    tc_tune *t = open_tune(b, o);
    run_tune(t);
    const tc_tune_report *r = tc_tune_get_report(t);
    assert_int_equal(r->ntask, 2);
    assert_int_equal(r->task[0].mode, dense_mode);
    assert_int_equal(r->task[1].mode, TC_MEAS_HOT);
    assert_int_equal(r->measured, measured);
    assert_int_equal(r->trials, 24);
    assert_int_equal(r->task[0].trials + r->task[1].trials, r->trials);
    for (int i = 0; i < 2; i++)
        assert_true(r->task[i].valid > 0 && isfinite(r->task[i].best));
    tc_tune_free(t);
}

static void a_task_keeps_to_its_mode(void **state) {
    bench *b = *state;
    shrink_caches(b);
    tc_tune_options o = options(b, 24);
    check_session(b, &o, TC_MEAS_COLD, 24);
    size_t cold = records(b, "cold"), hot = records(b, "hot");
    assert_true(cold > 0 && hot > 0);
    assert_int_equal(cold + hot, 24);
    check_session(b, &o, TC_MEAS_COLD, 0); /* it is tuned already */
    o.timing = TC_TUNE_HOT;                /* what is known of it is of another mode */
    check_session(b, &o, TC_MEAS_HOT, (int)cold);
    assert_int_equal(records(b, "cold"), cold);
    assert_int_equal(records(b, "hot"), 24);
}

/* Records of the other mode are no times of this one, but they say where to begin. */
static void records_of_the_other_mode_are_a_start(void **state) {
    bench *b = *state;
    tc_tune_options o = options(b, 24);
    o.timing = TC_TUNE_HOT;
    check_session(b, &o, TC_MEAS_HOT, 24);
    shrink_caches(b);
    o.timing = TC_TUNE_AUTO;
    tc_tune *t = open_tune(b, &o);
    run_tune(t);
    const tc_tune_report *r = tc_tune_get_report(t);
    assert_true(r->measured > 0 && r->tried[TC_TUNE_TRANSFER] > 0);
    assert_int_equal(records(b, "cold"), r->measured);
    tc_record best;
    bool found;
    tc_meas_key key = {.workload = r->task[0].hash, .target = tc_meas_text_hash(b->target->text), .threads = 1};
    tc_arena *a = tc_arena_new();
    assert_int_equal(tc_meas_db_best(b->db, a, &key, &best, &found, NULL), TC_OK);
    assert_true(found);
    assert_int_equal(best.mode, TC_MEAS_COLD);
    assert_true(best.median == r->task[0].best);
    tc_arena_free(a);
    tc_tune_free(t);
}

static void simulated_sessions_stay_so(void **state) {
    bench *b = *state;
    shrink_caches(b);
    tc_tune_options o = simulated(b, 12);
    tc_tune *t = open_tune(b, &o);
    run_tune(t);
    assert_int_equal(tc_tune_get_report(t)->task[0].mode, TC_MEAS_SIMULATED);
    assert_int_equal(records(b, "simulated"), 12);
    tc_tune_free(t);
}

int main(int argc, char **argv) {
    if (argc > 1 && strcmp(argv[1], "worker") == 0)
        return tc_meas_worker_main(TC_MEAS_WORKER_FD, TC_MEAS_WORKER_FD);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(half_of_the_last_cache_decides),
        cmocka_unit_test(the_network_decides),
        cmocka_unit_test(constants_decide),
        cmocka_unit_test(the_largest_form_decides),
        SESSION_TEST(a_task_keeps_to_its_mode),
        SESSION_TEST(records_of_the_other_mode_are_a_start),
        SESSION_TEST(simulated_sessions_stay_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
