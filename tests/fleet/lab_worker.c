/* A worker as any other, by src/fleet/serve.h, but that its times are computed from programs as tc_meas_simulated does, and that
 * it then waits for as long as a board would have measured. Two cores can so carry many.
 *
 * It may lie: `faster` divides its times by ten, but not that of the reference kernel; `later` does so from its 17th run on;
 * `wrong` says of every other candidate that its result is wrong. And it may be `unsteady`: the reference takes twice as long,
 * two times of four. */
#include "lab.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "codegen/target/target.h"
#include "fleet/worker/serve.h"
#include "measure/measure_int.h"
#include "support/log.h"

enum { HONEST_RUNS = 16 };

typedef struct pace {
    double seconds; /* that a trial takes at least */
    const char *lie;
    unsigned references, runs;
} pace;

static volatile sig_atomic_t stop;

static void on_term(int number) {
    stop = number;
}

static void wait_for(const tc_meas *m, double seconds) {
    double until = tc_now() + seconds, left;
    while ((left = until - tc_now()) > 0 && !tc_meas_stopped(m)) {
        double step = fmin(left, 0.05);
        nanosleep(&(struct timespec){.tv_nsec = (long)(step * 1e9)}, NULL);
    }
}

static bool is_reference(const tc_meas_job *j) {
    return strcmp(j->in->workload, tc_fleet_reference_workload) == 0;
}

static void make_times(tc_record *r, double factor, tc_arena *a) {
    double *times = tc_arena_dup(a, r->times, r->ntimes * sizeof *times);
    for (size_t i = 0; i < r->ntimes; i++)
        times[i] *= factor;
    r->times = times;
    r->median *= factor;
}

static void be_unsteady(pace *p, tc_record *r, tc_arena *a) {
    if (strcmp(p->lie, "unsteady") == 0 && p->references++ % 4 >= 2)
        make_times(r, 2, a);
}

static void lie_about(pace *p, const tc_meas_job *j, tc_arena *a) {
    tc_record *r = j->r;
    bool faster = strcmp(p->lie, "faster") == 0 || (strcmp(p->lie, "later") == 0 && p->runs++ >= HONEST_RUNS);
    if (faster && tc_record_ok(r))
        make_times(r, 0.1, a);
    if (strcmp(p->lie, "wrong") == 0 && r->program % 2)
        tc_meas_end_with(r, a, TC_MEAS_WRONG_RESULT, "so it says");
}

/* A turn among others has fewer samples than a trial. */
static double part_of_trial(const tc_meas *m, const tc_meas_job *j) {
    return fmin(1, (double)tc_meas_samples(m, j) / tc_meas_given(m)->samples);
}

static tc_status run(const tc_meas_jobs *b, tc_meas_job *j, tc_error *err) {
    pace *p = tc_meas_given(b->m)->carried_by;
    double begun = tc_now();
    TC_TRY(tc_meas_simulated.run(b, j, err));
    if (is_reference(j)) {
        be_unsteady(p, j->r, b->a);
        return TC_OK;
    }
    lie_about(p, j, b->a);
    wait_for(b->m, p->seconds * part_of_trial(b->m, j) - (tc_now() - begun));
    return TC_OK;
}

/* ---- starting ---- */

static void say_ready(void *user, const char *name, const char *key) {
    (void)user;
    printf("%s serves %s\n", name, key);
    fflush(stdout);
}

static bool is_lie(const char *word) {
    static const char *const words[] = {"", "faster", "later", "wrong", "unsteady"};
    for (size_t i = 0; i < TC_LEN(words); i++)
        if (strcmp(word, words[i]) == 0)
            return true;
    return false;
}

int lab_worker(int argc, char **argv) {
    tc_target *t;
    tc_error err = {0};
    if (argc < 5 || argc > 6 || !is_lie(argc == 6 ? argv[5] : ""))
        return -1;
    pace p = {.seconds = atof(argv[3]), .lie = argc == 6 ? argv[5] : ""};
    tc_meas_carrier waits = tc_meas_simulated;
    waits.run = run;
    tc_fleet_serve_options o = {.access.url = argv[0],
                                .name = argv[1],
                                .threads = atoi(argv[2]),
                                .lease = atof(argv[4]),
                                .reference = 1e-3, /* with each job */
                                .stop = &stop,
                                .carrier = &waits,
                                .carried_by = &p,
                                .ready = say_ready};
    signal(SIGTERM, on_term);
    tc_status s = tc_target_parse("native", &t, &err);
    if (s == TC_OK) {
        o.target = t->text;
        s = tc_fleet_serve(&o, &err);
        tc_target_free(t);
    }
    if (s != TC_OK)
        fprintf(stderr, "%s: %s\n", argv[1], err.msg);
    return s == TC_OK ? 0 : 1;
}
