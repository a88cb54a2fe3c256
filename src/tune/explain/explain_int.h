/* Private to explanations: what is read off a program, and what takes part in the measurement. */
#ifndef TC_TUNE_EXPLAIN_INT_H
#define TC_TUNE_EXPLAIN_INT_H

#include "tune/explain/explain.h"

/* What is read off a nest and its features, for one program and those that it is compared with. All for the store that does
 * most. */
typedef struct traits {
    uint64_t program;
    double lanes;        /* of its vectorised loop; 1: none */
    double full_lanes;   /* of a vector register */
    double accumulators; /* vectors of the register tile */
    double spilled;      /* vectors that do not fit */
    double body;         /* instructions of the innermost loop that stays one */
    double wasted;       /* share of the iterations that are not wanted, or in partial tiles */
    double cores_used;   /* share of the cores that have work */
    double regions;      /* times that a parallel loop is entered */
    double task_work;    /* instructions of a task */
    double unrolled;     /* turns of the unrolled loops around it */
    bool reduces;        /* it accumulates */
    double across; /* share of reads that walk across rows: the vectorised loop's, or the innermost one's of what is not packed */
    const char *across_of;
    int64_t stride; /* bytes, a multiple of 4096: of a loop of `turns` turns */
    double turns;
    int strided;         /* input of the workload that lies so as it is; -1: none */
    int64_t task_stride; /* bytes between what neighbouring tasks store; 0: no tasks, or a line at least */
} traits;

/* The program of a trace; names are in `a`. */
TC_NODISCARD tc_status tune_traits(const tc_workload *w, const tc_machine *m, const tc_trace *trace, tc_arena *a, traits *out,
                                   tc_error *err);

/* Somebody who takes part: a trial with its input. */
typedef struct entrant {
    tc_tune_trial t;
    traits traits;
    tc_meas_input in;
    double screened; /* seconds, once; 0: failed */
    bool turns;      /* it is in the turns */
    tc_meas_counted counted;
} entrant;

typedef struct field {
    const tc_tune_schedule *s;
    const tc_tune_explain_options *o;
    tc_arena *arena;
    tc_ctx *ctx; /* of padded workloads */
    traits own;
    tc_tune_side *side;
    double began, seconds_left; /* tc_now() when measuring began, and what it may take */
    tc_meas_unrest unrest;      /* a moment for each round */
    double waited;              /* seconds, for the machine to become quiet */
    tc_meas_drift looks;        /* at the machine, while nothing is measured */
    double fork;                /* seconds of a parallel loop that does nothing; 0: unknown */
    tc_meas_input in;           /* the schedule's */
    double screened;            /* seconds */
    double seconds;             /* in turns */
    const char *unmeasured;     /* why there are no times to speak of; NULL: there are */
    tc_meas_shares shares;      /* of its threads' time */
    tc_meas_counted counted;    /* of the schedule */
    int n, cap;
    entrant *e; /* without the schedule itself */
} field;

/* Those that take part (entrants.c). */
TC_NODISCARD tc_status tune_enter(field *f, tc_error *err);
/* Each once, then the best and those that tell of causes in turns (turns.c). */
TC_NODISCARD tc_status tune_take_turns(field *f, tc_error *err);

/* What is measured on; tests make one up. */
typedef struct tune_machine {
    tc_meas_calm (*look)(void *user);            /* as it is now */
    double (*pause)(void *user, double seconds); /* the time, in seconds, when they are over */
    void *user;
} tune_machine;

/* Looks at the machine, and again while it is disturbed, for so many seconds at most; *calm: the last look. Returns the seconds
 * that it waited (calm.c). */
double tune_await_calm(const tune_machine *m, double most, const volatile sig_atomic_t *stop, tc_meas_calm *calm);

/* Of seconds[0..done) of the schedule, and of entrant i from seconds[(i + 1) * stride] on: what each takes against the schedule
 * (judge.c). Intervals are as much wider as the machine was disturbed. */
void tune_judge(field *f, const double *seconds, int stride, int done, entrant *const *in, int n);

/* What a cause costs by what is read off the program, as a share of the time: 0, not suspected. *why: what was seen (causes.c). */
double tune_suspect(const field *f, tc_tune_cause c, const char **why);
/* The entrant has clearly less of the cause than the schedule has, and was made by changing a decision. */
bool tune_has_less(const field *f, const entrant *e, tc_tune_cause c);

/* What counters saw of the finding's cause, in the schedule and in the trial that tells of it; NULL: nothing, or nothing that
 * could be trusted (counted.c). */
const char *tune_counted(const field *f, const tc_tune_finding *x);
/* Whether any cause could be told of by what was counted. */
bool tune_can_tell(const tc_meas_counted *x);

/* Findings in order (rank.c). */
void tune_rank(const field *f, tc_tune_explanation *x);
void tune_answer(const field *f, tc_tune_explanation *x);
/* What the time goes to (parts.c). */
void tune_parts(const field *f, tc_tune_explanation *x);
/* Limits of the machine (limits.c). */
void tune_limits(const field *f, tc_tune_explanation *x);

/* The row of features of the store that does most; NULL: there is none. */
const float *tune_hot_row(const tc_cost_rows *r);
/* Of a logarithmic column its value. */
double tune_feature(const float *row, int column);

#endif
