/* One seed, one search: with computed times two sessions make the same records in the same order, whatever the machine does. */
#include "session.h"

#include "measure/carrier.h"
#include "support/rng.h"

typedef struct variant {
    uint64_t seed;
    int rounds_at_once;
    struct elsewhere *fleet; /* NULL: measured here */
} variant;

enum { TRIALS = 60 }; /* enough that later rounds go by a model of earlier ones */

static const tc_meas_carrier shuffled;

static tc_meas_records search(bench *b, variant v, tc_arena *a) {
    tc_error err;
    tc_meas_db *kept = b->db;
    assert_int_equal(tc_meas_db_open_memory(&b->db, &err), TC_OK);
    tc_tune_options o = simulated(b, TRIALS);
    o.batch = 0;
    o.seed = v.seed;
    o.rounds_at_once = v.rounds_at_once;
    o.measure.carrier = v.fleet ? &shuffled : NULL;
    o.measure.carried_by = v.fleet;
    tc_tune *t = open_tune(b, &o);
    run_tune(t);
    tc_meas_records r;
    assert_int_equal(tc_meas_db_select(b->db, a, &(tc_meas_filter){0}, &r, &err), TC_OK);
    assert_int_equal(r.len, TRIALS);
    tc_tune_free(t);
    tc_meas_db_close(b->db);
    b->db = kept;
    return r;
}

/* ---- others who measure, in any order ---- */

typedef struct flight {
    struct elsewhere *e;
    const tc_meas_jobs *b;
    tc_meas_call c;
    TC_VEC(size_t) left; /* candidates */
} flight;

typedef struct elsewhere {
    tc_meas *here;
    tc_rng rng;
    TC_VEC(flight *) flights;
    size_t most, strangers; /* flights at once; results that came while another flight was waited for */
} elsewhere;

static tc_status open_elsewhere(const tc_meas *m, void **state, tc_error *err) {
    const tc_meas_options *o = tc_meas_given(m);
    elsewhere *e = o->carried_by;
    tc_meas_options plain = *o;
    plain.carrier = NULL;
    *state = e;
    return tc_meas_new(&plain, &e->here, err);
}

static void close_elsewhere(void *state) {
    elsewhere *e = state;
    tc_meas_free(e->here);
    tc_vec_free(&e->flights);
}

static tc_status begin_elsewhere(const tc_meas_jobs *b, const tc_meas_call *c, void **out, tc_error *err) {
    (void)err;
    flight *f = tc_xcalloc(1, sizeof *f);
    *f = (flight){.e = tc_meas_carried(b->m), .b = b, .c = *c};
    for (size_t i = 0; i < c->n && c->way == TC_MEAS_WAY_BATCH; i++)
        tc_push(&f->left, i);
    tc_push(&f->e->flights, f);
    f->e->most = TC_MAX(f->e->most, f->e->flights.len);
    *out = f;
    return TC_OK;
}

static void abandon_elsewhere(void *state) {
    flight *f = state;
    elsewhere *e = f->e;
    size_t at = 0;
    while (e->flights.data[at] != f)
        at++;
    e->flights.data[at] = e->flights.data[--e->flights.len];
    tc_vec_free(&f->left);
    free(f);
}

/* Some candidate of some flight. */
static tc_status measure_any(elsewhere *e, const flight *awaited, tc_error *err) {
    flight *f = e->flights.data[tc_rng_below(&e->rng, (int64_t)e->flights.len)];
    if (!f->left.len)
        return TC_OK;
    size_t at = (size_t)tc_rng_below(&e->rng, (int64_t)f->left.len), i = f->left.data[at];
    f->left.data[at] = f->left.data[--f->left.len];
    e->strangers += f != awaited;
    TC_TRY(tc_meas_batch(e->here, &f->c.in[i], 1, f->b->a, &f->c.out[i], NULL, NULL, err));
    (void)tc_meas_is_new(f->b->m, &f->b->job[i], f->b->a);
    tc_meas_report(f->b, &f->b->job[i]);
    return TC_OK;
}

static tc_status end_elsewhere(void *state, tc_error *err) {
    flight *f = state;
    elsewhere *e = f->e;
    const tc_meas_call *c = &f->c;
    tc_status s = TC_OK;
    if (c->way == TC_MEAS_WAY_TURNS)
        s = tc_meas_interleave(e->here, c->in, c->n, NULL, c->rounds, f->b->a, c->out, c->seconds, c->done, err);
    while (s == TC_OK && f->left.len)
        s = measure_any(e, f, err);
    abandon_elsewhere(f);
    return s;
}

static double no_peak(const tc_meas *m, double seconds) {
    (void)m, (void)seconds;
    return 0;
}

static size_t no_restarts(const void *state) {
    (void)state;
    return 0;
}

static const tc_meas_carrier shuffled = {.open = open_elsewhere,
                                         .close = close_elsewhere,
                                         .begin = begin_elsewhere,
                                         .end = end_elsewhere,
                                         .abandon = abandon_elsewhere,
                                         .peak = no_peak,
                                         .restarts = no_restarts};

static int by_trace(const void *a, const void *b) {
    const tc_record *x = a, *y = b;
    int workload = strcmp(x->workload, y->workload);
    return workload ? workload : strcmp(x->trace, y->trace);
}

/* ---- the tests ---- */

static void one_seed_one_search(void **state) {
    tc_arena *a = tc_arena_new();
    tc_meas_records x = search(*state, (variant){.seed = 3}, a), y = search(*state, (variant){.seed = 3}, a);
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
    tc_meas_records x = search(*state, (variant){.seed = 3}, a), y = search(*state, (variant){.seed = 4}, a);
    size_t same = 0;
    for (size_t i = 0; i < x.len; i++)
        same += strcmp(x.data[i].trace, y.data[i].trace) == 0;
    assert_true(same < x.len);
    tc_arena_free(a);
}

/* What is proposed while others measure does not depend on who of them is faster: rounds that are under way at once make the same
 * search as rounds of this machine, of which each is proposed without the results of as many. */
static void order_of_results_changes_nothing(void **state) {
    for (int at_once = 1; at_once <= 3; at_once++) {
        tc_arena *a = tc_arena_new();
        elsewhere e = {.rng = tc_rng_seed((uint64_t)at_once)};
        tc_meas_records x = search(*state, (variant){5, at_once, NULL}, a), y = search(*state, (variant){5, at_once, &e}, a);
        qsort(x.data, x.len, sizeof *x.data, by_trace);
        qsort(y.data, y.len, sizeof *y.data, by_trace);
        for (size_t i = 0; i < x.len; i++) {
            assert_string_equal(x.data[i].trace, y.data[i].trace);
            assert_int_equal(x.data[i].error, y.data[i].error);
            assert_true(x.data[i].median == y.data[i].median || x.data[i].error != TC_MEAS_NONE);
            assert_int_equal(x.data[i].rounds, y.data[i].rounds);
        }
        assert_in_range(e.most, TC_MAX(at_once, 1), at_once + 1); /* a contest beside them */
        assert_int_equal(e.strangers > 0, at_once > 1);
        tc_arena_free(a);
    }
}

/* A round is proposed without the results of those under way. */
static void rounds_at_once_are_another_search(void **state) {
    tc_arena *a = tc_arena_new();
    tc_meas_records x = search(*state, (variant){3, 1, NULL}, a), y = search(*state, (variant){3, 2, NULL}, a);
    size_t same = 0;
    for (size_t i = 0; i < x.len; i++)
        same += strcmp(x.data[i].trace, y.data[i].trace) == 0;
    assert_true(same < x.len);
    for (size_t i = 0; i < y.len; i++) /* and none is proposed twice */
        for (size_t j = 0; j < i; j++)
            assert_true(y.data[i].program != y.data[j].program || strcmp(y.data[i].workload, y.data[j].workload) != 0);
    tc_arena_free(a);
}

int main(int argc, char **argv) {
    if (argc > 1 && strcmp(argv[1], "worker") == 0)
        return tc_meas_worker_main(TC_MEAS_WORKER_FD, TC_MEAS_WORKER_FD);
    const struct CMUnitTest tests[] = {SESSION_TEST(one_seed_one_search), SESSION_TEST(another_seed_another_search),
                                       SESSION_TEST(order_of_results_changes_nothing),
                                       SESSION_TEST(rounds_at_once_are_another_search)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
