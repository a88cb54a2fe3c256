/* src/tune owns the tuning round that ties space, cost model and measurement together; what others store in the same
 * database meanwhile (recall.c); the scheduler that shares trials among tasks; progress events; ranges of sizes
 * (range.c, range_entrants.c). Not here: the candidates' rules (src/search_space) and their measuring (src/measure).
 *
 * A task is its workload and the alternatives of it (search_space/alternatives/alternatives.h): its forms. Each has its
 * own space and records; they share the task's trials, and the best record of any of them is the task's.
 *
 * A round of one form: candidates (constructed, then evolved under the cost model) -> measured -> one transaction into
 * the database -> model refitted. Every loop is bounded and ends within about a second of the stop flag; what was
 * measured is never lost. The same call on the same database goes on where the last one stopped. */
#ifndef TC_TUNE_TUNE_H
#define TC_TUNE_TUNE_H

#include <signal.h>

#include "codegen/target/target.h"
#include "measure/machine/peak.h"
#include "measure/measure.h"
#include "measure/records/database.h"
#include "search_space/alternatives/alternatives.h"
#include "tune/kernel/mode.h"

typedef struct tc_tune_task {
    const char *name;            /* for reports */
    const tc_workload *workload; /* canonicalised inside; tasks with equal canonical text are merged */
    double weight;               /* how often the kernel runs per inference: > 0 */
    /* How much each size of what varies counts; NULL: by the logarithm, or it does not vary */
    const struct tc_tune_weights *sizes;
    double stake; /* what a second of it counts for beside others' when trials are shared; 0: its weight */
    /* It is this one, with symbols, at some sizes: forms that this does not have are of no use; NULL: it is not */
    const tc_workload *varying;
    int ninstead;       /* of a kernel that only could run, in place of others: how many, */
    const int *instead; /* and which of the tasks these are; 0: it is one of those that run */
    int nalong;         /* others of the kind that would then run too, a task once per launch, */
    const int *along;   /* as in `instead` */
    int nnode;          /* nodes of the model that its launches are made from, by name, each once; 0: of none, or not known */
    const char *const *nodes;
} tc_tune_task;

/* What is known of one form of a task. */
typedef struct tc_tune_form {
    const char *name;     /* "direct": the task's own workload; else the alternative's */
    const char *workload; /* canonical text */
    tc_digest hash;
    double constants; /* bytes that a call reads */
    int trials, valid;
    double best;              /* seconds of the best verified candidate; INFINITY: none */
    double rank;              /* tc_record_rank of it: what "best" goes by */
    const char *trace;        /* of the best; NULL: none */
    bool exhausted;           /* the space has no new candidate */
    const tc_intrinsic *unit; /* the fastest that its sums can take; NULL: none */
} tc_tune_form;

/* What is known of a task. Strings live as long as the session. */
typedef struct tc_tune_state {
    const char *name, *workload; /* canonical text */
    tc_digest hash;
    tc_meas_mode mode;    /* how it is timed: what is said here is of records of that mode */
    double weight, flops; /* flops: of the task's own workload, whichever form wins */
    double stake;         /* as tc_tune_task has it, but never 0 */
    int ninstead;         /* of a kernel that only could run: in place of so many others, by number; 0: it runs */
    const int *instead;
    int nalong; /* together with so many others, by number */
    const int *along;
    int trials;          /* measured candidates, earlier runs' too; failures count */
    int valid;           /* of these, the ones with a time */
    double best;         /* seconds of the best verified candidate; INFINITY: none */
    bool in_turns;       /* the best was timed in turns with its rivals */
    bool exhausted;      /* no form's space has a new candidate */
    bool at_roof;        /* as fast as stop_at_roof asks for: gets no more trials */
    int since_gain;      /* trials since the best last became noticeably better */
    bool settled;        /* nothing gained over the patience: gets no more trials while other tasks can use them */
    const char *failure; /* first error message seen, NULL: none */
    int nform;           /* at least 1: form[0] is the task's own workload */
    const tc_tune_form *form;
    int winner; /* the form that `best` is of; -1: none yet */
} tc_tune_state;

/* The fastest unit that the sums of the winner, or else of the task's own form, can take; NULL: none. */
const tc_intrinsic *tc_tune_unit(const tc_tune_state *s);

/* Where candidates come from. */
typedef enum tc_tune_phase {
#define PHASE(id, text, meaning) TC_TUNE_##id,
#include "tune/phases.def"
#undef PHASE
    TC_TUNE_NPHASES
} tc_tune_phase;
#define TC_TUNE_PHASE_BIT(id) (1u << TC_TUNE_##id)
const char *tc_tune_phase_text(tc_tune_phase p);    /* "descent" */
const char *tc_tune_phase_meaning(tc_tune_phase p); /* a clause for messages */
/* "construct,descent": all others are skipped, as TC_TUNE_PHASE_BITs. TC_BAD_INPUT when the text names none, or something else. */
TC_NODISCARD tc_status tc_tune_phases_parse(const char *list, unsigned *skip, tc_error *err);

/* How to search. The plain ones are for comparison. */
typedef enum tc_tune_search {
    TC_TUNE_PHASES, /* all phases, but those to skip */
    TC_TUNE_RANDOM, /* random instances of the sketches */
    TC_TUNE_ANSOR   /* evolution alone, with Ansor's population, mutation, share of measured programs and batch */
} tc_tune_search;
/* "phases", "random" or "ansor". */
TC_NODISCARD tc_status tc_tune_search_parse(const char *name, tc_tune_search *out, tc_error *err);

/* Why a run ended. */
typedef enum tc_tune_end {
#define END(id, text, meaning) TC_TUNE_END_##id,
#include "tune/ends.def"
#undef END
    TC_TUNE_NENDS
} tc_tune_end;
const char *tc_tune_end_text(tc_tune_end e);    /* "at_roof" */
const char *tc_tune_end_meaning(tc_tune_end e); /* a clause for messages */

/* Of a task, from which on its model should know it. */
enum { TC_TUNE_KNOWN_RECORDS = 128 };

typedef struct tc_tune_report {
    int ntask;
    const tc_tune_state *task;
    int trials, target_trials;         /* of all tasks; earlier runs' included. target 0: no limit */
    int measured;                      /* by this run */
    int64_t by_error[TC_MEAS_NERRORS]; /* of this run */
    double latency;                    /* weighted sum of the best times; INFINITY while a task that runs has none */
    double seconds, seconds_limit;     /* wall time of this run; limit 0: none */
    double seconds_left;               /* until the run ends, contests at the end included, as far as known; NAN: not known yet */
    tc_tune_end end;                   /* once it is finished */
    double search_seconds, model_seconds, build_seconds, run_seconds, store_seconds;
    double contest_seconds; /* runs in turns: building and running count as such too */
    int contests, ties;     /* contests held by this run; rivals in them that could not be told from the incumbent */
    int shared;             /* records that others stored in the same database while this ran, and that it used */
    int rechecked;          /* records of earlier runs that were timed again, in turns with the best */
    int corrected;          /* of these, the ones that are noticeably faster than their records said */
    int unreliable;         /* records that failed when they were run again, whenever they were made: they are used no more, and
                             * those of this run count as failures */
    tc_meas_calm calm;      /* is the machine quiet now? */
    tc_meas_unrest unrest;  /* how often it was not */
    tc_meas_peak peak;      /* where it was asked for: the larger of before and after */
    /* The cost model's word on candidates before they were measured, of the last rounds, as tc_cost_quality has it: share of
     * pairs ordered rightly, share of the fastest tenth in the first third. NAN: none worth asking yet. */
    double pairwise, top_recall;
    /* The share of pairs in all rounds that began with TC_TUNE_KNOWN_RECORDS of their task or more. NAN: none. */
    double pairwise_known;
    bool model_trusted; /* better than chance: else candidates are ranked by an analytic model */
    int tried[TC_TUNE_NPHASES], improved[TC_TUNE_NPHASES]; /* by this run: candidates, and those that became the best */
    double expected_gain;    /* seconds of latency that the next minute should gain; NAN: not known yet */
    const char *first_error; /* NULL: none */
} tc_tune_report;

typedef enum tc_tune_event {
    TC_TUNE_STARTED,
    TC_TUNE_ROUND_STARTED,
    TC_TUNE_MEASURED,
    TC_TUNE_ROUND_DONE,
    TC_TUNE_CLOSING, /* the search is over: contests begin (task -1), or one of `task` was held */
    TC_TUNE_FINISHED
} tc_tune_event;

/* `task`: index into report->task, -1 where none is meant. Called from the tuning thread. */
typedef void tc_tune_progress(void *user, tc_tune_event event, int task, const tc_tune_report *report);

/* One is measured while the next is proposed; each more is proposed without the results of one more. */
enum { TC_TUNE_MOST_ROUNDS = 8 };

typedef struct tc_tune_options {
    const tc_target *target; /* must run here */
    int trials;              /* in all, shared among the tasks; 0: no limit */
    double seconds;          /* wall time of the run; 0: no limit. One of the two must be given; the first reached ends it */
    bool measure_peak;       /* before the session begins and when it has ended, for the report */
    double peak_gflops;      /* unless it is measured: of the machine with these threads; 0: unknown, then no task is ever at its
                              * roof */
    double stop_at_roof;     /* a task with that share of the peak is done; 0: 0.97 */
    int patience;            /* trials of a task without a gain after which others go first; 0: 96 */
    int threads;             /* of the measured kernels */
    int batch;               /* candidates a round; 0: chosen from trials and tasks */
    tc_tune_search search;
    unsigned skip_phases; /* TC_TUNE_PHASE_BITs */
    tc_meas_db *library;  /* records of other kernels to start from, of this machine or another; NULL: those of the session's own
                           * database alone. Must outlive the session; is only read */
    uint64_t seed;
    tc_accuracy accuracy;              /* which alternatives are tried */
    const volatile sig_atomic_t *stop; /* may be NULL */
    tc_tune_progress *progress;        /* may be NULL */
    void *user;
    tc_tune_timing timing; /* how tasks are timed, unless all of it is in a mode apart */
    /* Under way, up to TC_TUNE_MOST_ROUNDS; 0: 2 where candidates are measured elsewhere, or more where others share who
     * measures, else 1 */
    int rounds_at_once;
    tc_meas_options measure; /* target, threads, seed and stop are filled in; mode: SIMULATED or EMULATED, or left to `timing` */
} tc_tune_options;

/* A library in memory of the records of n files, JSON lines or databases; "none" names none. Without any, of what ships with
 * tctune: a file of that which cannot be read is said in the log and passed over. Close *out in any case. */
TC_NODISCARD tc_status tc_tune_start_records(const char *const *files, size_t n, tc_meas_db **out, tc_error *err);

typedef struct tc_tune tc_tune;

/* Opens a session over tasks and a database (which must outlive it). Reads what the database holds on them. */
TC_NODISCARD tc_status tc_tune_new(const tc_tune_options *o, const tc_tune_task *tasks, int n, tc_meas_db *db, tc_tune **out,
                                   tc_error *err);
/* Share of a session for what is compared when its search is over: of the time limit, or else of the time that the search took,
 * but then no less than two seconds. Where this machine measures, the session's own contests get a third of it: the rest is for
 * the comparison with the default schedules. */
#define TC_TUNE_CLOSING_SHARE 0.1
/* Spends the trials. TC_ENV when nothing could be measured in all of the run (err gives the first reason), or the database or the
 * workers fail; an interrupted run is TC_OK. */
TC_NODISCARD tc_status tc_tune_run(tc_tune *t, tc_error *err);
const tc_tune_report *tc_tune_get_report(const tc_tune *t);
/* Of a session that ended: seconds that are left of this share. */
double tc_tune_closing_left(const tc_tune *t);
/* Seconds that the kernels take, one after the other, in whose place task i could run; INFINITY: one has no time yet. */
double tc_tune_apart(const tc_tune_report *r, int i);
/* What task i and those that would run along with it take then. */
double tc_tune_together(const tc_tune_report *r, int i);
void tc_tune_free(tc_tune *t);

#endif
