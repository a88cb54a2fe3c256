/* Private to tuning: the session and its parts. */
#ifndef TC_TUNE_TUNE_INT_H
#define TC_TUNE_TUNE_INT_H

#include "cost_model/cost.h"
#include "search_space/space.h"
#include "support/log.h"
#include "support/vec.h"
#include "tune/tune.h"

/* One measured program, ready to learn from. */
typedef struct sample {
    tc_cost_rows rows;
    int task;
    double seconds; /* INFINITY: failed */
    const char *trace;
} sample;

typedef struct task {
    tc_workload const *w; /* canonical, in a context of its own */
    tc_ctx *ctx;
    tc_space *space; /* made on first use */
    int rounds;
    int failed_rounds;      /* rounds in a row without a valid candidate */
    int barren;             /* rounds in a row without a gain */
    TC_VEC(uint64_t) seen;  /* program hashes, sorted */
    TC_VEC(size_t) samples; /* indices into session samples */
    TC_VEC(double) history; /* best after each round, INFINITY before the first valid one */
} task;

struct tc_tune {
    tc_tune_options o;
    tc_machine machine; /* the target's, with the cores that the kernels may use */
    tc_arena *arena;
    tc_meas_db *db;
    tc_meas *meas;
    tc_cost_model *model;
    tc_rng rng;
    int n;
    task *task;
    tc_tune_state *state;
    tc_tune_report report;
    TC_VEC(sample) samples;
    tc_digest target_hash;
    double started;
};

/* round.c: one round of task i with at most `want` candidates. *measured: how many were. */
tc_status tc_tune_round(tc_tune *t, int i, int want, int *measured, tc_error *err);
/* learn.c */
tc_status tc_tune_learn(tc_tune *t, tc_error *err); /* refits the model on all samples */
/* Adds a measured program: replays the trace, extracts features. Programs that do not replay are skipped. */
void tc_tune_add_sample(tc_tune *t, int i, const tc_record *r);
tc_scorer tc_tune_scorer(tc_tune *t);
void tc_tune_scorer_free(tc_scorer *s);
tc_status tc_tune_load_model(tc_tune *t, tc_error *err);
tc_status tc_tune_store_model(tc_tune *t, tc_error *err);
/* scheduler.c: the task to spend the next round on; -1: none can use one. */
int tc_tune_next_task(const tc_tune *t);
bool tc_tune_stopped(const tc_tune *t);
/* Threads for the tuner's own work: every core, whatever the kernels may use. */
int tc_tune_workers(const tc_tune *t);

#endif
