/* Sessions on machines that others use: no time is stored that no program can have, no search ends at a roof that is not there,
 * and what is chosen is nearly the best of what was measured. Times are computed and the clock is virtual (disturbed.h), so each
 * seed gives the same session on every machine. */
#include "session.h"

#include <stdio.h>
#include <stdlib.h>

#include "disturbed.h"
#include "tune/tune_int.h"

typedef struct outcome {
    int impossible; /* records that are faster than their program, by more than repeats scatter */
    int above;      /* records above the machine's peak */
    int wrong_ends; /* tasks that are said to be at a roof and are not */
    int late;       /* measurements that were killed, */
    int given_up;   /* and records that say so: of those that were killed twice */
    double chosen;  /* true seconds of an inference by what was chosen, over the best of what was measured */
    double seconds; /* that it took */
    double over;    /* seconds of contests after the search, beyond what they were said to take; a turn may be under way */
} outcome;

/* What a session says of its end. */
typedef struct teller {
    const machine *m;
    double closing, until; /* when its contests began, and were to end; 0: not yet */
    double ended;
    double least; /* of what was said to be left while the search went on */
} teller;

static void listen(void *user, tc_tune_event event, int i, const tc_tune_report *r) {
    teller *x = user;
    if (event == TC_TUNE_CLOSING && i < 0) {
        x->closing = x->m->now;
        x->until = x->m->now + r->seconds_left;
    }
    if (event == TC_TUNE_ROUND_DONE)
        x->least = fmin(x->least, r->seconds_left);
    if (event == TC_TUNE_FINISHED)
        x->ended = x->m->now;
}

/* True seconds of the record that a build would take. */
static double true_choice(bench *b, const machine *m, const tc_tune_state *s) {
    tc_arena *a = tc_arena_new();
    double rank = INFINITY, truth = INFINITY;
    for (int f = 0; f < s->nform; f++) {
        tc_meas_filter filter = {
            .workload_hash = s->form[f].hash.hex, .mode = "hot", .verified = true, .order = TC_MEAS_BY_RANK, .limit = 1};
        tc_meas_records r;
        tc_error err;
        assert_int_equal(tc_meas_db_select(b->db, a, &filter, &r, &err), TC_OK);
        if (r.len && tc_record_rank(&r.data[0]) < rank) {
            rank = tc_record_rank(&r.data[0]);
            truth = machine_truth(m, r.data[0].program);
        }
    }
    tc_arena_free(a);
    return truth;
}

static double true_best(bench *b, const machine *m, const tc_tune_state *s) {
    tc_arena *a = tc_arena_new();
    double best = INFINITY;
    for (int f = 0; f < s->nform; f++) {
        tc_meas_filter filter = {.workload_hash = s->form[f].hash.hex};
        tc_meas_records r;
        tc_error err;
        assert_int_equal(tc_meas_db_select(b->db, a, &filter, &r, &err), TC_OK);
        for (size_t i = 0; i < r.len; i++)
            if (r.data[i].verified)
                best = fmin(best, machine_truth(m, r.data[i].program));
    }
    tc_arena_free(a);
    return best;
}

static void look_at_records(bench *b, const machine *m, outcome *o) {
    tc_arena *a = tc_arena_new();
    tc_meas_records r;
    tc_error err;
    assert_int_equal(tc_meas_db_select(b->db, a, &(tc_meas_filter){.verified = true}, &r, &err), TC_OK);
    for (size_t i = 0; i < r.len; i++) {
        tc_ctx *ctx = tc_ctx_new();
        double work = tc_te_products(parse(ctx, r.data[i].workload));
        o->above += work / r.data[i].median > 1.05 * m->peak;
        o->impossible += r.data[i].median < 0.9 * machine_truth(m, r.data[i].program);
        tc_ctx_free(ctx);
    }
    assert_int_equal(tc_meas_db_select(b->db, a, &(tc_meas_filter){0}, &r, &err), TC_OK);
    for (size_t i = 0; i < r.len; i++) {
        o->given_up += r.data[i].error == TC_MEAS_RUN_LATE;
        assert_false(tc_meas_error_is(r.data[i].error, TC_MEAS_UNRELIABLE));
    }
    tc_arena_free(a);
}

static outcome session(bench *b, disturbance kind, uint64_t seed, double peak) {
    machine m;
    outcome o = {0};
    tc_tune_options with = options(b, 60);
    tc_error err;
    tc_tune *t;
    teller told = {.m = &m, .least = INFINITY};
    machine_begin(&m, kind, seed, peak);
    double begun = m.now;
    with.progress = listen;
    with.user = &told;
    with.threads = 2;
    with.timing = TC_TUNE_HOT;
    with.seed = seed;
    with.patience = 24;
    with.search = seed % 4 ? TC_TUNE_RANDOM : TC_TUNE_PHASES;
    with.measure.samples = 7;
    with.measure.carrier = &disturbed_carrier;
    with.measure.carried_by = &m;
    with.peak_gflops = disturbed_carrier.peak(&(tc_meas){.o.carried_by = &m}, 0.1);
    assert_int_equal(tc_tune_new(&with, b->task, 3, b->db, &t, &err), TC_OK);
    run_tune(t);
    const tc_tune_report *r = tc_tune_get_report(t);
    double sum = 0, best = 0;
    for (int i = 0; i < r->ntask; i++) {
        const tc_tune_state *s = &r->task[i];
        double choice = true_choice(b, &m, s);
        sum += s->weight * choice;
        best += s->weight * true_best(b, &m, s);
        if (s->at_roof && s->flops / choice < 0.9 * 0.97 * peak)
            o.wrong_ends++;
    }
    o.chosen = sum / best;
    o.seconds = m.now - begun;
    o.late = m.late;
    o.over = told.ended - told.until;
    assert_true(told.until - told.closing <= fmax(2, 0.1 * r->seconds) + 1e-3);
    assert_true(told.least >= 2 - 1e-3); /* the contests are part of it */
    look_at_records(b, &m, &o);
    tc_tune_free(t);
    machine_end(&m);
    return o;
}

/* What sessions of one kind came to. */
typedef struct tally {
    int sessions, impossible, above, wrong_ends, late, given_up;
    double log_chosen, worst, seconds, over;
} tally;

/* Session number k of all: the kinds take turns, as do machines with a low, a middling and a high peak. */
static void hold(int k, tally *all) {
    static const double peaks[] = {8e9, 30e9, 1000e9};
    int kind = k % NDISTURBANCES, n = k / NDISTURBANCES;
    void *state;
    setup(&state);
    outcome o = session(state, (disturbance)kind, (uint64_t)n, peaks[n % (int)TC_LEN(peaks)]);
    teardown(&state);
    tally *t = &all[kind];
    if (o.above || o.wrong_ends)
        print_message("session %d: %d above the peak, %d wrong ends\n", k, o.above, o.wrong_ends);
    t->sessions++;
    t->impossible += o.impossible;
    t->above += o.above;
    t->wrong_ends += o.wrong_ends;
    t->log_chosen += log(o.chosen);
    t->late += o.late;
    t->given_up += o.given_up;
    t->seconds += o.seconds;
    t->worst = fmax(t->worst, o.chosen);
    t->over = fmax(t->over, o.over);
}

static int sessions, first;

/* A clock that leaps tells times that are too short and not above the peak: those alone nobody can know until they are taken
 * again, which only the best are. */
static void sessions_end_well(void **state) {
    tally all[NDISTURBANCES] = {0};
    (void)state;
    for (int k = first; k < first + sessions; k++)
        hold(k, all);
    for (int kind = 0; kind < NDISTURBANCES; kind++) {
        const tally *t = &all[kind];
        double chosen = exp(t->log_chosen / TC_MAX(t->sessions, 1));
        print_message(
            "%-8s %d sessions: %d records too short, %d above the peak, %d wrong ends, chosen over best %.4f, at most %.3f, "
            "%.1f s each; %d killed, %d given up; %.2f s over the time for contests\n",
            disturbance_text((disturbance)kind), t->sessions, t->impossible, t->above, t->wrong_ends, chosen, t->worst,
            t->seconds / TC_MAX(t->sessions, 1), t->late, t->given_up, t->over);
        assert_int_equal(t->above, 0);
        assert_int_equal(t->wrong_ends, 0);
        assert_true(t->impossible == 0 || kind == LEAPS || kind == MIXED);
        assert_true(chosen <= 1.02);
        assert_true(t->given_up <= t->late / 4); /* the others ran at the second try */
        /* A turn may be under way; what is killed and tried again takes 3.5 s each time, and some clocks leap. */
        assert_true(t->over < (t->late || kind == LEAPS || kind == MIXED ? 10 : 2));
    }
}

/* Every run waits a second for its turn: contests of all tasks would take as long as the search. */
static tc_status run_slowly(const tc_meas_jobs *b, tc_meas_job *j, tc_error *err) {
    machine *m = tc_meas_given(b->m)->carried_by;
    m->now += 1;
    return disturbed_carrier.run(b, j, err);
}

static void contests_end_in_time(void **state) {
    bench *b = *state;
    machine m;
    teller told = {.m = &m, .least = INFINITY};
    tc_meas_carrier slow = disturbed_carrier;
    tc_tune_options o = options(b, 60);
    tc_tune *t;
    tc_error err;
    slow.run = run_slowly;
    machine_begin(&m, QUIET, 1, 30e9);
    o.timing = TC_TUNE_HOT;
    o.progress = listen;
    o.user = &told;
    o.measure.carrier = &slow;
    o.measure.carried_by = &m;
    assert_int_equal(tc_tune_new(&o, b->task, 3, b->db, &t, &err), TC_OK);
    run_tune(t);
    double search = told.closing - t->started;
    assert_true(search >= 60 && fabs(told.until - told.closing - 0.1 * search) < 1e-3);
    assert_true(told.ended > told.closing + 1);     /* there was something to settle, */
    assert_true(told.ended < told.until + 1 + 0.5); /* and no run began when the time was up */
    tc_tune_free(t);
    machine_end(&m);
}

/* test_tune_disturbed [SESSIONS [FIRST]] */
int main(int argc, char **argv) {
    sessions = argc > 1 ? atoi(argv[1]) : 6 * NDISTURBANCES;
    first = argc > 2 ? atoi(argv[2]) : 1;
    const struct CMUnitTest tests[] = {cmocka_unit_test(sessions_end_well), SESSION_TEST(contests_end_in_time)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
