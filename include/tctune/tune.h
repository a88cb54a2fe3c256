/* Searches for fast schedules. A session proposes candidates, measures them in processes of their own, and stores each record in
 * the database before it reports the record. A session that was stopped or killed continues from its database. */
#ifndef TCTUNE_TUNE_H
#define TCTUNE_TUNE_H

#include <tctune/fleet.h>
#include <tctune/work.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A search. */
typedef struct tctune_session tctune_session;

/* The state of one task of a session. If the sizes of a work's task vary, the session has a task for each of a few sizes. The
 * texts live as long as those of the report: in a callback until it returns, else until the next run. */
typedef struct tctune_task_state {
    size_t struct_size;
    const char *name, *hash;
    double weight;       /* launches in a run of the network */
    int trials;          /* candidates measured, in earlier sessions too */
    int valid;           /* measured candidates that have a time */
    double best;         /* seconds of the best verified candidate; INFINITY: none yet */
    const char *form;    /* the best candidate's form: "direct", "winograd-f4", ...; "": none yet */
    const char *trace;   /* the best candidate's schedule, as canonical .sched text; "": none yet */
    const char *mode;    /* how the task is timed: "hot" or "cold" */
    double flops;        /* floating-point operations of a launch, in the direct form */
    int at_roof;         /* 1: near enough to the machine's peak, so it gets no more trials */
    int settled;         /* 1: no gain for long, so other tasks come first */
    const char *failure; /* the first message of a candidate that failed; "": none */
    int exhausted;       /* 1: every candidate has been tried */
    int since_gain;      /* trials since the best last improved noticeably */
    int forms;           /* number of forms that are tried */
    double peak;         /* operations a second of the unit that does the task's sums, as measured; 0: not known */
} tctune_task_state;

/* The state of a session. */
typedef struct tctune_report {
    size_t struct_size;
    int tasks;            /* number of tasks */
    int trials;           /* of all tasks, in earlier sessions too */
    int target_trials;    /* the budget's; 0: no limit */
    int measured;         /* candidates measured in this run */
    double latency;       /* seconds: weighted sum of the best times; INFINITY while a task has none */
    double seconds;       /* wall time of this run */
    const char *end;      /* why the run ended: "trials", "time", "at_roof", ...; "": it has not ended */
    int quiet;            /* 1: yes; 0: other work disturbs the machine, and times scatter */
    double seconds_limit; /* the budget's; 0: no limit */
    double expected_gain; /* seconds of latency that the next minute should gain; NAN: not known yet */
    /* Share of candidate pairs that the cost model ordered right before they were measured; NAN: not known yet */
    double pairwise;
    /* A fixed piece of work is timed now and then: its time over its best time, and the width of the middle half of its times
     * over their median. */
    double slowdown, spread;
    /* Until the run ends, with the contests at its end, which take at most a tenth of it; NAN: not known yet */
    double seconds_left;
    /* What the last run gained: seconds of a run without and with the records, in turns on this machine. NAN: not compared. */
    double untuned, tuned;
    double speedup, speedup_low, speedup_high; /* untuned over tuned, and its 95 % interval; NAN: not compared */
    int kernels;                               /* that were compared with their default schedules; 0: none */
    int kept; /* of these, the ones that keep the default schedule: no record was faster beyond doubt */
} tctune_report;

/* What happened. */
typedef enum tctune_event_kind {
    TCTUNE_EVENT_STARTED,       /* the session looks up earlier records */
    TCTUNE_EVENT_ROUND_STARTED, /* a round of `task` proposes candidates */
    TCTUNE_EVENT_MEASURED,      /* some candidates of `task` were measured */
    TCTUNE_EVENT_ROUND_DONE,    /* a round of `task` ended */
    TCTUNE_EVENT_SEARCHED,      /* the search ended; contests may follow */
    TCTUNE_EVENT_CONTEST,       /* a contest begins: `programs` programs are compared at `places` sizes */
    TCTUNE_EVENT_COMPARED,      /* the contest ended: `variants` programs serve the kernel's sizes */
    /* Contests begin, for `seconds_left` at most: the best candidates and their rivals in turns, or, after SEARCHED, the records
     * and the default schedules. With a `task`: a contest of it ended */
    TCTUNE_EVENT_CLOSING,
    TCTUNE_EVENT_GAINED /* the records and the default schedules were compared, or could not be */
} tctune_event_kind;

/* What a callback receives. All pointers are valid until the callback returns. */
typedef struct tctune_event {
    size_t struct_size; /* set by the library */
    tctune_event_kind kind;
    int task;         /* a task of the session; -1: the event belongs to no single task */
    const char *name; /* name of the task or of the contest's kernel; "": the event belongs to the session as a whole */
    int programs, places, variants;
    const tctune_report *report;
    const tctune_session *session; /* for tctune_session_task */
} tctune_event;

/* Receives an event, in the thread that runs the session. Return 0 to go on; any other value stops the run, as
 * tctune_session_stop does. */
typedef int tctune_on_event(void *user, const tctune_event *event);

/* How much is searched, and how. */
typedef struct tctune_tune_options {
    size_t struct_size;
    const char *database; /* file; created if it is missing */
    int trials;           /* the budget, in all; records in the database count. 0: no limit */
    double seconds; /* the budget of wall time; 0: no limit. Give trials, seconds, or both: the first one reached ends the run */
    const char *target;  /* must run on this machine; NULL: this machine */
    int threads;         /* of the kernels; 0: every core */
    double stop_at_roof; /* a task that reaches this share of the machine's peak gets no more trials; 0: 0.97 */
    int batch;           /* candidates of a round; 0: chosen from trials and tasks */
    uint64_t seed;
    const char *accuracy;  /* as in tctune_build_options */
    const char *precision; /* as in tctune_build_options; "auto" means "bf16" here */
    const char *mode;      /* how kernels are timed: "auto" (NULL), "hot", "cold" */
    const char *search;    /* "phases" (NULL), "random", "ansor" */
    const char *phases;    /* "construct,descent": only these phases; NULL: all */
    /* Files with records of similar kernels to start from, NULL-terminated, or {"none", NULL}; NULL: the records that ship with
     * tctune. */
    const char *const *start_from;
    /* Not 0: times are computed instead of measured, so that a seed gives one search; such records are never built */
    int deterministic;
    tctune_on_event *progress; /* receives the events; NULL: no calls */
    void *user;                /* first argument of `progress` */
    int measure_peak;          /* with deterministic: not 0: measure the machine's peak anyway */
    /* A run ends, as tctune_session_stop ends it, soon after this becomes non-zero. tctune_session_stop sets it, and the caller
     * clears it. NULL: the session has a flag of its own. */
    volatile int *stop;
    /* Workers of this fleet measure; without target and threads, theirs are taken. NULL: this machine measures */
    const tctune_fleet *fleet;
    /* Rounds under way at once, up to 8. With more rounds, candidates are proposed with fewer results known. 0: 1 on this
     * machine; 2 or more with a fleet, so that workers always have jobs. Seed and number together determine the search, whoever
     * measures. */
    int rounds_at_once;
} tctune_tune_options;

/* Checks the options. Opens no file. */
TCTUNE_API tctune_status tctune_tune_check(const tctune_tune_options *options, char *error, size_t error_size);

/* Makes a session that tunes the tasks of the work. Release it with tctune_session_free. Every fault of the options is found
 * now. */
TCTUNE_API tctune_status tctune_session_new(tctune_work *work, const tctune_tune_options *options, tctune_session **session,
                                            char *error, size_t error_size);

/* Releases the session. In a callback this stops the run, and the session is released when the run ends. Otherwise the session must
 * not be running. NULL is allowed. */
TCTUNE_API void tctune_session_free(tctune_session *session);

/* Runs the search until the budget is spent. TCTUNE_STOPPED: the run was stopped; the next call continues. TCTUNE_BAD_INPUT: it is
 * running, and a callback made this call. */
TCTUNE_API tctune_status tctune_session_run(tctune_session *session, char *error, size_t error_size);

/* Ends a run within about a second. Any thread and any signal handler may call it. A run that has not begun ends at once. */
TCTUNE_API void tctune_session_stop(tctune_session *session);

/* Writes the state of the session to *report. Call it in a callback or between runs. */
TCTUNE_API tctune_status tctune_session_report(const tctune_session *session, tctune_report *report, char *error,
                                               size_t error_size);

/* Writes the state of task i, counted from 0, to *task. Call it in a callback or between runs. TCTUNE_BAD_INPUT: i is out of
 * range. */
TCTUNE_API tctune_status tctune_session_task(const tctune_session *session, int i, tctune_task_state *task, char *error,
                                             size_t error_size);

/* Describes the last run, or, in a callback, the run under way, as JSON (docs/json.md): what became of each task, what was
 * measured, how good the cost model was, why the search ended, what the machine can do, and the variants for sizes that vary.
 * Give *json back with tctune_text_free. TCTUNE_BAD_INPUT: the session has not run yet. */
TCTUNE_API tctune_status tctune_session_describe(const tctune_session *session, char **json, char *error, size_t error_size);

/* Makes a session, runs it and releases it. */
TCTUNE_API tctune_status tctune_tune(tctune_work *work, const tctune_tune_options *options, char *error, size_t error_size);

#ifdef __cplusplus
}
#endif

#endif
