/* The carrier of this machine's processes: its state, its runner (processes.c), its builders (builders.c), and whether both may
 * work at once (overlap.c). */
#ifndef TC_MEASURE_PROCESSES_INT_H
#define TC_MEASURE_PROCESSES_INT_H

#include "measure/measure_int.h"
#include "measure/process/process.h"
#include "tir_lower/tir.h"

/* What is being built. Jobs are handed out in their order. */
typedef struct tc_meas_builds {
    const tc_meas_jobs *b;
    tc_meas_job *jobs;
    size_t n, next; /* next: the first that no builder was given */
    size_t end;     /* that are handed out for now */
    int working;    /* builders that are given any */
} tc_meas_builds;

/* How long things take, smoothed over candidates; 0: not known. */
typedef struct tc_meas_paces {
    double build; /* seconds of one builder */
    double run;   /* seconds of the runner */
} tc_meas_paces;

typedef struct tc_meas_processes_state {
    const tc_meas *m;
    tc_machine machine; /* of the target */
    char threads_env[32];
    const char *runner_env[4], *builder_env[2];
    char *folder; /* of compiled objects, which builders may use; NULL: none */
    int nbuilder;
    tc_meas_proc *process; /* the builders, and the runner last */
    tc_meas_proc **all;    /* pointers to these, for waiting */
    tc_meas_job **at;      /* what builder i works on, NULL when idle */
    size_t runs;           /* of the current runner process */
    tc_meas_builds builds;
    tc_meas_paces pace;
    int beside; /* builders that work while a candidate runs; TC_MEAS_BESIDE_UNKNOWN until that was measured */
    int tries;  /* to measure it */
} tc_meas_processes_state;

enum { TC_MEAS_BESIDE_UNKNOWN = -1 };

static inline tc_meas_processes_state *tc_meas_processes_of(const tc_meas *m) {
    return m->carries;
}

static inline tc_meas_proc *tc_meas_runner(const tc_meas_processes_state *x) {
    return &x->process[x->nbuilder];
}

/* Folds a new value into a pace. */
void tc_meas_pace(double *pace, double seconds);
/* The job ended with the process, which died while it ran or built it. */
void tc_meas_record_death(tc_meas_job *j, tc_arena *a, const tc_meas_proc *p, bool running);
/* The process was killed because the job took too long: a verdict on the job, unless others use the machine. */
void tc_meas_record_timeout(const tc_meas_jobs *b, tc_meas_job *j, const tc_meas_proc *p, bool running);
/* What a worker that was just sent to says of its sandbox: once in the life of this process, whose kernel stays the same. */
void tc_meas_tell_lacks(const tc_meas_proc *p);

/* ---- builders.c ---- */

/* The carrier's build, await and settle. */
tc_status tc_meas_processes_build(const tc_meas_jobs *b, tc_meas_job *jobs, size_t n, bool in_order, tc_error *err);
tc_status tc_meas_processes_await(const tc_meas_jobs *b, const tc_meas_job *j, tc_error *err);
void tc_meas_processes_settle(const tc_meas_jobs *b);
/* Gives every builder that may work something to do. */
tc_status tc_meas_feed_builders(tc_meas_processes_state *x, tc_error *err);
/* Waits until all that was handed out is built, handing out more meanwhile. */
tc_status tc_meas_finish_builds(tc_meas_processes_state *x, tc_error *err);
/* Whether all builders that may work are at it, none having an answer already. */
bool tc_meas_builders_work(const tc_meas_processes_state *x);
/* Waits for the next answer of any process, the runner among them if it is busy. A builder's is taken in, and it is given its
 * next job. *runner: the answer was the runner's, as `ev` says. False: nothing is busy, or a stop was raised. */
bool tc_meas_next_answer(tc_meas_processes_state *x, bool *runner, tc_meas_event *ev);

/* ---- overlap.c ---- */

/* Measures whether building disturbs what is timed, unless that is known or cannot be now: builds some of the jobs meanwhile. */
tc_status tc_meas_try_overlap(tc_meas_processes_state *x, tc_error *err);
/* How many of n jobs to build before the first of them runs, so that those beside build the others in time: while all of them
 * run. */
size_t tc_meas_build_first(const tc_meas_paces *pace, size_t n, int beside);

#endif
