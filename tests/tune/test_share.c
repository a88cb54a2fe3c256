/* Sessions that share a database file with others: who tune with it too, or remove what it has. */
#include "session.h"

#include <stdio.h>
#include <stdlib.h>

#include "measure/records/maintain.h"
#include "support/system/fs.h"

/* A session on a file, and a second handle of it that stands for another process. */
typedef struct shared {
    bench *b;
    char *dir;
    tc_meas_db *other;
    tc_tune *rival;
    int events, stored;
    bool prune;
} shared;

static tc_meas_db *open_file(const shared *s) {
    char path[512];
    tc_meas_db *db;
    tc_error err;
    snprintf(path, sizeof path, "%s/t.db", s->dir);
    if (tc_meas_db_open(path, TC_MEAS_DB_WRITE, &db, &err) != TC_OK)
        fail_msg("%s", err.msg);
    return db;
}

static shared begin(bench *b) {
    shared s = {.b = b};
    assert_int_equal(tc_fs_temp_dir(&s.dir, NULL), TC_OK);
    tc_meas_db_close(b->db);
    b->db = open_file(&s);
    s.other = open_file(&s);
    return s;
}

static void end(shared *s) {
    tc_meas_db_close(s->other);
    tc_fs_remove_tree(s->dir);
    free(s->dir);
}

static int64_t total(tc_meas_db *db) {
    tc_meas_counts n;
    assert_int_equal(tc_meas_db_count(db, &(tc_meas_filter){0}, &n, NULL), TC_OK);
    return n.total;
}

/* ---- each record when it is measured ---- */

static void look(void *user, tc_tune_event e, int task, const tc_tune_report *r) {
    shared *s = user;
    (void)task;
    if (e != TC_TUNE_MEASURED)
        return;
    s->events++;
    assert_int_equal(total(s->other), r->measured);
}

static void each_record_is_stored_when_it_is_measured(void **state) {
    shared s = begin(*state);
    tc_tune_options o = simulated(s.b, 20);
    o.progress = look;
    o.user = &s;
    tc_tune *t = open_tune(s.b, &o);
    run_tune(t);
    assert_true(s.events >= 20);
    tc_tune_free(t);
    end(&s);
}

/* ---- others ---- */

/* After its second round the rival begins, and spends its trials at once. */
static void let_rival_run(void *user, tc_tune_event e, int task, const tc_tune_report *r) {
    shared *s = user;
    (void)task;
    if (e != TC_TUNE_ROUND_DONE || ++s->events != 2)
        return;
    tc_meas_db *own = s->b->db;
    tc_tune_options o = simulated(s->b, r->trials + 30);
    o.seed = 77;
    s->b->db = s->other;
    s->rival = open_tune(s->b, &o);
    run_tune(s->rival);
    s->stored = tc_tune_get_report(s->rival)->measured;
    s->b->db = own;
}

static void sessions_see_what_others_store(void **state) {
    enum { TRIALS = 80 };
    shared s = begin(*state);
    tc_tune_options o = simulated(s.b, TRIALS);
    o.progress = let_rival_run;
    o.user = &s;
    tc_tune *t = open_tune(s.b, &o);
    run_tune(t);
    const tc_tune_report *r = tc_tune_get_report(t);
    assert_int_equal(s.stored, 30);
    assert_int_equal(r->shared, 30);
    assert_int_equal(r->trials, TRIALS); /* the rival's count: both work on one budget */
    assert_int_equal(r->measured, TRIALS - 30);
    assert_int_equal(total(s.b->db), TRIALS);
    for (int i = 0; i < r->ntask; i++) { /* the best is the best of both */
        tc_meas_records all;
        tc_error err;
        tc_arena *a = tc_arena_new();
        tc_meas_filter f = {.workload_hash = r->task[i].form[TC_MAX(r->task[i].winner, 0)].hash.hex,
                            .mode = "simulated",
                            .verified = true,
                            .order = TC_MEAS_BY_RANK,
                            .limit = 1};
        assert_int_equal(tc_meas_db_select(s.b->db, a, &f, &all, &err), TC_OK);
        assert_true(all.len == 1 && r->task[i].best <= all.data[0].median * 1.0001);
        tc_arena_free(a);
    }
    tc_tune_free(s.rival);
    tc_tune_free(t);
    end(&s);
}

/* ---- removed ---- */

static void empty_it(void *user, tc_tune_event e, int task, const tc_tune_report *r) {
    shared *s = user;
    tc_meas_pruned gone;
    (void)task, (void)r;
    if (e == TC_TUNE_ROUND_DONE && ++s->events % 2 == 0)
        assert_int_equal(tc_meas_db_prune(s->other, &(tc_meas_prune){.keep = 1, .drop_failures = true}, &gone, NULL), TC_OK);
}

static void pruning_is_no_harm_to_a_session(void **state) {
    shared s = begin(*state);
    tc_tune_options o = options(s.b, 30); /* with contests, which time records again */
    o.progress = empty_it;
    o.user = &s;
    tc_tune *t = open_tune(s.b, &o);
    run_tune(t);
    assert_int_equal(tc_tune_get_report(t)->measured, 30);
    assert_true(s.events >= 4);
    tc_tune_free(t);
    end(&s);
}

int main(int argc, char **argv) {
    if (argc > 1 && strcmp(argv[1], "worker") == 0)
        return tc_meas_worker_main(TC_MEAS_WORKER_FD, TC_MEAS_WORKER_FD);
    const struct CMUnitTest tests[] = {
        SESSION_TEST(each_record_is_stored_when_it_is_measured),
        SESSION_TEST(sessions_see_what_others_store),
        SESSION_TEST(pruning_is_no_harm_to_a_session),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
