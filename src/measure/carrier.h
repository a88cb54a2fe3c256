/* Who carries jobs: how candidates are built and run, and on which machine. Measuring (measure.c) uses this table. A carrier
 * of a higher floor comes with the options. */
#ifndef TC_MEASURE_CARRIER_H
#define TC_MEASURE_CARRIER_H

#include "measure/measure.h"

/* What one candidate carries from building to running. */
typedef struct tc_meas_job {
    const tc_meas_input *in;
    tc_record *r;
    bool ready;   /* built, waits to run */
    double best;  /* seconds of the best that it is raced against; 0: none */
    bool put_off; /* it was too late on a busy machine, and is tried again, once */
    bool patient; /* may take as long as any: being late would count against it elsewhere too */
    void *object; /* of processes: what was built */
    size_t size;  /* of it */
    uint64_t workspace;
    double simulated; /* of computed times: seconds of its program */
    uint64_t repeats; /* of them that it was given before */
} tc_meas_job;

/* One call of measure.h. */
typedef struct tc_meas_jobs {
    tc_meas *m;
    tc_arena *a;
    tc_meas_job *job;
    tc_meas_progress *progress;
    void *user;
} tc_meas_jobs;

/* The ways of measuring: tc_meas_batch, tc_meas_interleave, tc_meas_over_sizes. Numbers of a fleet's messages. */
typedef enum tc_meas_way { TC_MEAS_WAY_BATCH, TC_MEAS_WAY_TURNS, TC_MEAS_WAY_SIZES, TC_MEAS_NWAYS } tc_meas_way;

/* Such a call as a whole: the functions' arguments. */
typedef struct tc_meas_call {
    tc_meas_way way;
    const tc_meas_input *in;
    size_t n;
    const char *const *sizes; /* of SIZES: npoint of them */
    size_t npoint;
    int rounds;      /* of TURNS and SIZES */
    tc_record *out;  /* begun, a record for each candidate, of SIZES at each size */
    double *seconds; /* of TURNS */
    int *done;       /* of TURNS */
} tc_meas_call;

/* It fills records and decides nothing: what is raced against what, when to stop and what counts as measured is measure.c's. An
 * error means that nothing can be measured at all. */
typedef struct tc_meas_carrier {
    /* Starts nothing yet. TC_BAD_INPUT for a target that it cannot serve. */
    tc_status (*open)(const tc_meas *m, void **state, tc_error *err);
    void (*close)(void *state); /* NULL is fine */
    /* Makes each of n jobs ready; the record of one that cannot be says why, and it is reported. A stop leaves some as they
     * were. in_order: they are run once each, in their order, and awaited first, so that the later ones may be built meanwhile. */
    tc_status (*build)(const tc_meas_jobs *b, tc_meas_job *jobs, size_t n, bool in_order, tc_error *err);
    /* Of a carrier that leaves some for later: waits until this one is built, or there is a stop. NULL: all are. */
    tc_status (*await)(const tc_meas_jobs *b, const tc_meas_job *j, tc_error *err);
    void (*settle)(const tc_meas_jobs *b); /* no more of them are awaited; NULL where await is */
    /* Runs a job that is ready: its record gets the times, or says why there are none. A job may be run again. */
    tc_status (*run)(const tc_meas_jobs *b, tc_meas_job *j, tc_error *err);
    /* In place of both, of a carrier that has candidates measured elsewhere: a whole call, which goes on while others are begun
     * and ended. b and what c points to live until its end. Records are reported as they come, in any order, and only while one
     * is begun, tended or ended. */
    tc_status (*begin)(const tc_meas_jobs *b, const tc_meas_call *c, void **flight, tc_error *err);
    /* Waits for it, and frees it; a stop leaves some records as they were. */
    tc_status (*end)(void *flight, tc_error *err);
    void (*abandon)(void *flight);                    /* frees it, and waits for nothing */
    void (*tend)(const tc_meas *m);                   /* tc_meas_tend; what goes wrong, the next begin or end tells */
    size_t (*appetite)(const tc_meas *m);             /* tc_meas_appetite */
    double (*peak)(const tc_meas *m, double seconds); /* GFLOP/s now */
    size_t (*restarts)(const void *state);            /* of processes, after a death */
    bool (*emulated)(const tc_meas_options *o);       /* times would be taken on emulated processors; NULL: they never are */
    /* It measures inputs that are experiments, or want shares; a call of another carrier has none among its inputs */
    bool experiments;
} tc_meas_carrier;

const tc_meas_options *tc_meas_given(const tc_meas *m); /* with defaults */
void *tc_meas_carried(const tc_meas *m);                /* what the carrier's open made */
bool tc_meas_stopped(const tc_meas *m);
/* The candidate ended like this: no time, not verified. */
void tc_meas_end_with(tc_record *r, tc_arena *a, tc_meas_error e, const char *message);
/* Its record has the program's hash: is it to be run? One that was measured before ends as a duplicate, unless it comes again by
 * intent. */
bool tc_meas_is_new(tc_meas *m, const tc_meas_job *j, tc_arena *a);
/* Tells the caller of the batch that a job has ended. */
void tc_meas_report(const tc_meas_jobs *b, const tc_meas_job *j);
/* Samples that the job is to have on a quiet machine. */
int tc_meas_samples(const tc_meas *m, const tc_meas_job *j);
/* What jobs[i] is raced against: the best that the caller knows or that those before it have shown; 0: none. */
double tc_meas_best_so_far(const tc_meas_job *jobs, size_t i);

#endif
