/* Private to tuning: the session and its parts. */
#ifndef TC_TUNE_TUNE_INT_H
#define TC_TUNE_TUNE_INT_H

#include "cost_model/cost.h"
#include "search_space/space.h"
#include "support/log.h"
#include "support/map.h"
#include "support/meanwhile.h"
#include "support/vec.h"
#include "tune/tune.h"

/* One measured program, ready to learn from. */
typedef struct sample {
    tc_cost_rows rows;
    int task, form;
    double seconds;  /* INFINITY: failed. On the common scale, as all times here */
    double measured; /* the smallest median that was taken of it, in turns if it ever was: `seconds` may be that of another, times
                      * a ratio */
    double fastest;  /* the smallest time that was ever taken of it, */
    double reference; /* tc_record.reference of that; 0: not known */
    double scale;     /* its record's times are this often those here: 1, but for machines of a fleet */
    int64_t id;       /* of the record; 0: in no database */
    int rounds;       /* tc_record.rounds */
    bool verified;    /* its result was right: may win */
    bool stopped;     /* given up after its first calls: may win only when it was timed in turns (recheck.c) */
    bool rechecked;   /* by this session */
    bool own;         /* measured by this session */
    uint64_t program;
    const char *trace;
} sample;

/* Features of programs, by their hashes. */
typedef struct tc_tune_programs {
    tc_map at; /* index into rows */
    TC_VEC(tc_cost_rows) rows;
} tc_tune_programs;

/* One workload that computes a task: its own, or an alternative. What was found is in the task's `found`, at the same place. */
typedef struct form {
    tc_workload const *w; /* canonical, in a context of its own */
    tc_ctx *ctx;
    tc_space *space;                /* made on first use */
    double flops, work;             /* work: tc_meas_input.work */
    int group;                      /* for the cost model: unique among the forms of all tasks */
    int rounds;                     /* those under way included */
    int flying;                     /* of them, under way */
    double pay[TC_TUNE_NPHASES];    /* what a trial of each phase gained lately (propose.c) */
    int failed_rounds;              /* rounds in a row without a valid candidate */
    TC_VEC(uint64_t) seen;          /* hashes of measured programs, sorted */
    tc_map lowered;                 /* tc_trace_hash -> hash of its program, 0: does not lower (realise.c) */
    tc_tune_programs recent, older; /* what describe.c remembers */
    TC_VEC(size_t) samples;         /* indices into session samples */
} form;

typedef struct task {
    int nform;
    form *form;
    tc_tune_form *found;    /* what the state shows of them */
    int rounds;             /* of all forms */
    int recalled;           /* trials of earlier sessions */
    int contested;          /* trials at the last contest */
    int barren;             /* rounds in a row without a gain */
    TC_VEC(double) history; /* best after each round, INFINITY before the first valid one */
} task;

struct tc_tune {
    tc_tune_options o;
    tc_machine machine; /* the target's, with the cores that the kernels may use, and the last cache as it is */
    tc_arena *arena;
    tc_meas_db *db;
    tc_meas *meas;
    tc_cost_model *model;
    tc_cost_local *local; /* of the form whose round it is; NULL: too few samples */
    tc_rng rng;
    int n, nform; /* tasks, and forms of all of them */
    task *task;
    tc_tune_state *state;
    tc_tune_report report;
    TC_VEC(sample) samples;
    tc_map known;    /* ids of records that are part of all this, whoever measured them */
    int64_t last_id; /* records up to here need not be looked at again */
    tc_digest target_hash;
    struct tc_tune_elders *elders;                /* relatives.c: kernels of earlier sessions; NULL: none */
    size_t fitted;                                /* samples when the model was last fitted */
    TC_VEC(double) spent, latency;                /* seconds, and latency then, after each round since every task has a best */
    double pairs, pairs_right, recalls, recalled; /* of the model's word on new candidates, fading */
    double known_pairs, known_right;              /* the same in tasks that are known well, not fading */
    bool warned;                                  /* of a busy machine */
    double started, deadline;                     /* deadline: of the search; INFINITY: none */
    double searched, closes;                /* when the search ended, and all is to; INFINITY: not yet, or whenever it does */
    int flying;                             /* candidates of rounds under way */
    TC_VEC(struct tc_tune_flight *) flight; /* these rounds, in the order in which they began */
};

/* recall.c: what the database has becomes part of the state; and what others have stored there since. */
tc_status tc_tune_recall(tc_tune *t, tc_error *err);
tc_status tc_tune_share(tc_tune *t, tc_error *err);
/* round.c: one round of form f of task i with at most `want` candidates, of which measuring begins. NULL: there are none. */
tc_status tc_tune_begin_round(tc_tune *t, int i, int f, int want, struct tc_tune_flight **out, tc_error *err);
/* Waits for it. *measured: how many were. Results of rounds count in the order in which they are ended. */
tc_status tc_tune_end_round(struct tc_tune_flight *w, int *measured, tc_error *err);
void tc_tune_drop_round(struct tc_tune_flight *w); /* without waiting; what was measured by then is stored */
/* While something is computed for long: rounds under way go on. What they bring is stored, and counts when they are ended. */
void tc_tune_tend(tc_tune *t);
tc_meanwhile tc_tune_meanwhile(tc_tune *t); /* does so */
/* What the state and the report say of trials follows from the counts of the forms and of errors. */
void tc_tune_tally(tc_tune *t);
/* A measured program counts for its form and task. */
void tc_tune_count(tc_tune *t, int i, int f, const tc_record *r);
/* relatives.c: what is known of similar kernels, from earlier sessions and from the other tasks of this one. */
tc_status tc_tune_elders_new(tc_tune *t, tc_error *err);
void tc_tune_elders_free(tc_tune *t);
/* Schedules of the kernels most like form k, in its own space: at most cap, in `a`, the most promising first. */
int tc_tune_relatives(tc_tune *t, const form *k, tc_arena *a, tc_trace **out, int cap);
/* Programs of other kernels that were measured here: what the model learns from before it has any of its own. */
size_t tc_tune_elder_samples(const tc_tune *t, const tc_cost_sample **out);

/* contest.c */
/* Settles which candidate of task i is the best, by runs in turns; takes no trials. Nothing to settle: does nothing. */
tc_status tc_tune_contest(tc_tune *t, int i, tc_error *err);
/* Runs n samples of one task in turns, the incumbent first, and puts their times on its scale. *held: enough turns were made;
 * *failed: not so, because one of them failed now, which is not used any more. */
enum { TC_TUNE_RIVALS = 3 /* at a time, beside the incumbent */ };
tc_status tc_tune_in_turns(tc_tune *t, const int *samples, int n, bool *held, bool *failed, tc_error *err);
/* Runs the best of task i, if that could run in place of others, and of what would run along, in turns with the best of those, and
 * stores their times. */
tc_status tc_tune_beside(tc_tune *t, int i, tc_error *err);
/* Who holds the title of task i, whatever others did by themselves; -1: nobody yet. */
int tc_tune_incumbent(const tc_tune *t, int i);
bool tc_tune_contest_due(const tc_tune *t, int i); /* enough trials since the last, or its best would end the search */
void tc_tune_rerank(tc_tune *t, int i);            /* what the state says of the best follows the samples */
void tc_tune_watch(tc_tune *t);                    /* is the machine quiet? Warns once when it is not */

/* recheck.c: a task of earlier sessions in which nothing new is found: were its records disturbed when they were taken? */
tc_status tc_tune_recheck(tc_tune *t, int i, tc_error *err);

/* learn.c */
tc_status tc_tune_learn(tc_tune *t, tc_error *err); /* refits the model on all samples */
/* Before a round of k: fits what its own samples say of its order. */
tc_status tc_tune_learn_form(tc_tune *t, const form *k, tc_error *err);
/* Candidates of the round's form have scores worth following. */
bool tc_tune_can_score(const tc_tune *t);
/* Features of the program that the text of a trace makes of w, a form or an elder; false: it makes none. Threads may call it. */
bool tc_tune_features(const tc_tune *t, const tc_workload *w, const char *trace, tc_cost_rows *rows);
/* Adds measured programs: replays the traces, extracts features. added[j]: not one that does not replay, nor one that says
 * nothing of a program's speed. */
void tc_tune_add_samples(tc_tune *t, int i, int f, const tc_record *r, size_t n, bool *added);
tc_scorer tc_tune_scorer(tc_tune *t, form *k);
void tc_tune_scorer_free(tc_scorer *s);
tc_status tc_tune_load_model(tc_tune *t, tc_error *err);
tc_status tc_tune_store_model(tc_tune *t, tc_error *err);
/* scheduler.c: the task to spend the next round on; -1: none can use one. */
int tc_tune_next_task(const tc_tune *t);
int tc_tune_next_form(const tc_tune *t, int i); /* of task i; -1: none can use one */
/* Some form of task i that can use a round has none yet that gave a time. */
bool tc_tune_waits(const tc_tune *t, int i);
/* Operations of the form of task i that is in use: the speed of the machine is measured by what it does, not by what it saves. */
double tc_tune_work(const tc_tune *t, int i);
/* Seconds of an inference by the best times; INFINITY while a task that runs has none. */
double tc_tune_latency(const tc_tune *t);
bool tc_tune_interrupted(const tc_tune *t); /* by the flag, or a shortage of memory */
/* After a round: what the next minute should gain. */
void tc_tune_foresee(tc_tune *t);
/* The search is over, and how long contests may take is known now. */
void tc_tune_begin_closing(tc_tune *t);
/* By seconds in which nothing could be compared. */
void tc_tune_extend_closing(tc_tune *t, double seconds);
/* tc_now() when this share of the time for the session's own contests is spent; INFINITY: it has no end. */
double tc_tune_closing_end(const tc_tune *t, double share);
/* Seconds until the run ends, as far as known; NAN: it is not. */
double tc_tune_seconds_left(const tc_tune *t);
/* By the flag, or because the time is up. */
bool tc_tune_stopped(const tc_tune *t);
/* budget.c: what may still be spent, and on whom. */
bool tc_tune_late(const tc_tune *t); /* the time is up */
/* The best of task i turned out to be no good, and with it what it said of roof and patience. */
void tc_tune_reopen(tc_tune *t, int i);
/* The best of task i is as fast as asked for, if its time is right. */
bool tc_tune_reaches_roof(const tc_tune *t, int i);
/* After new records of task i, its best having been `before`: is it at its roof, or has it not gained for long? */
void tc_tune_settle(tc_tune *t, int i, double before, int trials);
/* What could run in place of others is far behind them. */
bool tc_tune_behind(const tc_tune *t, int i);
/* Candidates per round; trials that the next round may spend, 0: none. */
int tc_tune_batch_size(const tc_tune *t);
int tc_tune_round_size(const tc_tune *t, int batch);
int tc_tune_ramp(const tc_tune *t, int i, int f, int want); /* of these, what a round of form f of task i takes */
/* Form f of task i can use a round: its space is not exhausted, and it did not fail again and again. */
bool tc_tune_usable(const tc_tune *t, int i, int f);
/* Form f has fewer operations than the winner of task i, is not far behind, and was hardly tried: it gets rounds although the
 * winner is at its roof. */
bool tc_tune_rival(const tc_tune *t, int i, int f);
/* Can task i use trials? `patient`: also when it has settled. */
bool tc_tune_open(const tc_tune *t, int i, bool patient);
/* Why there is no next round. */
tc_tune_end tc_tune_why_ended(const tc_tune *t);
/* Threads for the tuner's own work: every core, whatever the kernels may use. */
int tc_tune_workers(const tc_tune *t);

#endif
