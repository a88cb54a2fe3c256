/* Searches for fast schedules: candidates are made, measured in processes of their own, and every record is in the database once
 * it is told of. A session that was stopped, or killed, goes on from its database. */
#ifndef TCTUNE_TUNE_H
#define TCTUNE_TUNE_H

#include <tctune/fleet.h>
#include <tctune/work.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A search. */
typedef struct tctune_session tctune_session;

/* What is known of one task of a session. Where the sizes of a task of the work vary, the session has a task for each of a few
 * sizes. Texts live as long as the report that it is of. */
typedef struct tctune_task_state {
    size_t struct_size;
    const char *name, *hash;
    double weight;
    int trials, valid;    /* candidates measured, earlier sessions' too; of these, the ones with a time */
    double best;          /* seconds of the best verified one; INFINITY: none yet */
    const char *form;     /* how that one computes it: "direct", "winograd-f4" ...; "": none yet */
    const char *trace;    /* its schedule, .sched text in canonical names; "" */
    const char *mode;     /* how it is timed: "hot" or "cold" */
    double flops;         /* of a launch, in the task's own form */
    int at_roof, settled; /* it gets no more trials: near enough to the machine's peak; nothing gained for long */
    const char *failure;  /* the first message of a candidate that failed; "" */
    int exhausted;        /* there is no candidate that was not tried */
    int since_gain;       /* trials since the best last became noticeably better */
    int forms;            /* how many ways of computing it are tried */
    double peak;          /* operations a second of the unit that can take its sums, as measured; 0: not known */
} tctune_task_state;

/* What is known of a session. */
typedef struct tctune_report {
    size_t struct_size;
    int tasks;
    int trials, target_trials; /* of all tasks, earlier sessions' too; of the budget, 0: none */
    int measured;              /* by this session */
    double latency;            /* seconds: weighted sum of the best times; INFINITY while a task has none */
    double seconds;            /* wall time of this session */
    const char *end;           /* once it has ended: "trials", "time", "at_roof" ... ; "" */
    int quiet;                 /* 0: the machine is busy with other work, and times scatter */
    double seconds_limit;      /* of the budget; 0: none */
    double expected_gain;      /* seconds of latency that the next minute should gain; NAN: not known yet */
    double pairwise; /* share of pairs that the cost model ordered rightly before they were measured; NAN: not known yet */
    double slowdown,
        spread; /* a fixed piece of work: its time over the best, and the width of the middle half of its times over their median */
} tctune_report;

/* What happened. */
typedef enum tctune_event_kind {
    TCTUNE_EVENT_STARTED,
    TCTUNE_EVENT_ROUND_STARTED, /* of `task` */
    TCTUNE_EVENT_MEASURED,      /* some candidates of it */
    TCTUNE_EVENT_ROUND_DONE,
    TCTUNE_EVENT_SEARCHED, /* what comes now are comparisons over the sizes of what varies */
    TCTUNE_EVENT_CONTEST,  /* one of these begins: `programs` at `places` sizes */
    TCTUNE_EVENT_COMPARED  /* and ended, with `variants` programs for its sizes */
} tctune_event_kind;

/* What a callback is told. Valid until it returns. */
typedef struct tctune_event {
    size_t struct_size; /* as the library knows it */
    tctune_event_kind kind;
    int task;         /* of the session; -1: of none */
    const char *name; /* of what the event is of; "": of the session as a whole */
    int programs, places, variants;
    const tctune_report *report;   /* until the call returns */
    const tctune_session *session; /* tctune_session_task says more of its tasks */
} tctune_event;

/* Called in the thread that runs the session. Other than 0: that is enough, as tctune_session_stop. */
typedef int tctune_on_event(void *user, const tctune_event *event);

/* How much is searched, and how. */
typedef struct tctune_tune_options {
    size_t struct_size;
    const char *database; /* file; made where there is none */
    int trials;           /* in all, what the database holds counts; 0: no limit */
    double seconds;       /* of wall time; 0: no limit. One of the two is given, the first reached ends it */
    const char *target;   /* one that runs on this machine; NULL: this machine */
    int threads;          /* of the kernels; 0: every core */
    double stop_at_roof;  /* a kernel that reaches this share of the peak gets no more trials; 0: 0.97 */
    int batch;            /* candidates of a round; 0: from trials and tasks */
    uint64_t seed;
    const char *accuracy, *precision; /* as in tctune_build_options; "auto" is "bf16" here */
    const char *mode;                 /* how kernels are timed: "auto" (NULL), "hot", "cold" */
    const char *search;               /* "phases" (NULL), "random", "ansor" */
    const char *phases;               /* "construct,descent": only these; NULL: all */
    const char *const
        *start_from;           /* files with records of similar kernels, NULL-terminated, or {"none", NULL}; NULL: what ships with
                                       * tctune */
    int deterministic;         /* times are computed, not taken: one seed gives one search; nothing is built from such records */
    tctune_on_event *progress; /* NULL: nobody */
    void *user;
    int measure_peak; /* not 0: the machine's peak is measured where times are computed (deterministic), too */
    volatile int *
        stop; /* once it is not 0, a run ends as by tctune_session_stop, which sets it; the caller clears it; NULL: one of the session's own */
    const tctune_fleet *fleet; /* who measures; NULL: this machine. Without a target, its workers' target and threads are taken */
    int rounds_at_once; /* that are under way, up to 8: what is proposed does not know their results; 0: 2 with a fleet, which measures one
                                * while the next is proposed, or more where other tuners share it, else 1. One seed and one number give one search, whoever measures */
} tctune_tune_options;

/* Whether the options are in order; opens nothing. */
TCTUNE_API tctune_status tctune_tune_check(const tctune_tune_options *options, char *error, size_t error_size);

/* Everything that can be wrong with the options is found now. */
TCTUNE_API tctune_status tctune_session_new(tctune_work *work, const tctune_tune_options *options, tctune_session **session,
                                            char *error, size_t error_size);
TCTUNE_API void tctune_session_free(tctune_session *session); /* not while it runs; NULL is fine */
/* Spends the budget. TCTUNE_STOPPED: it was asked to stop; called again, it goes on. */
TCTUNE_API tctune_status tctune_session_run(tctune_session *session, char *error, size_t error_size);
/* Ends a run within about a second, from any thread or a signal handler; one that has not begun ends at once. */
TCTUNE_API void tctune_session_stop(tctune_session *session);

/* What is known now: in a callback, or between runs. */
TCTUNE_API tctune_status tctune_session_report(const tctune_session *session, tctune_report *report, char *error,
                                               size_t error_size);
/* The same of task i. TCTUNE_BAD_INPUT where i is out of range. */
TCTUNE_API tctune_status tctune_session_task(const tctune_session *session, int i, tctune_task_state *task, char *error,
                                             size_t error_size);

/* What became of each task, what was measured, how well the cost model knew it, why the search ended, what the machine can do,
 * and the variants of what varies, as JSON (docs/json.md): of the last run, in a callback also of the one under way. Give it back
 * with tctune_text_free. TCTUNE_BAD_INPUT before the first. */
TCTUNE_API tctune_status tctune_session_describe(const tctune_session *session, char **json, char *error, size_t error_size);

/* All of it: the tasks of the work are tuned as the options say. */
TCTUNE_API tctune_status tctune_tune(tctune_work *work, const tctune_tune_options *options, char *error, size_t error_size);

#ifdef __cplusplus
}
#endif

#endif
