/* src/cost_model owns the features of a lowered program, the XGBoost model of all tasks (train.c), the ridge regression
 * of one task (ridge.c), and the files of models. Not here: traces, databases and clocks: this folder sees arrays of
 * numbers.
 *
 * Features are those of tc_tir_build's annotated nest: one row per store of the program. A program's score is the sum
 * of the model over its rows; higher is faster. Labels are throughput relative to the best of the task. Features follow
 * Ansor (Zheng et al., OSDI 2020, appendix B), with fused multiply-adds, register tiles, partial tiles and cache levels
 * added. */
#ifndef TC_COST_MODEL_COST_H
#define TC_COST_MODEL_COST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "support/meanwhile.h"
#include "support/status.h"
#include "tir_lower/tir.h"

/* ---- features ---- */

/* Stored with models: a model fits only the version it was trained on. */
#define TC_COST_FEATURE_VERSION 2u

enum tc_cost_feature {
#define FEATURE(id, text) TC_COST_##id,
#include "cost_model/features.def"
    TC_COST_NSCALAR
};
enum tc_cost_access {
#define ACCESS(id, text) TC_COST_ACCESS_##id,
#include "cost_model/features.def"
    TC_COST_NACCESS
};
enum { TC_COST_NBUFFER = 5, TC_COST_NFEATURE = TC_COST_NSCALAR + TC_COST_NBUFFER * TC_COST_NACCESS };

/* Column of an access feature of the row's buffer `b`, the one with most bytes accessed being 0. */
#define TC_COST_AT(b, id) (TC_COST_NSCALAR + (b)*TC_COST_NACCESS + TC_COST_ACCESS_##id)

const char *tc_cost_feature_name(int i); /* "float.fma", "buffer0.stride"; NULL out of range */

/* Rows of one program, nrow x TC_COST_NFEATURE. Zero-initialised is empty and valid. */
typedef struct tc_cost_rows {
    float *data;
    int nrow, cap;
} tc_cost_rows;

void tc_cost_rows_free(tc_cost_rows *r);
/* A copy with exactly the memory it needs, for keeping. */
void tc_cost_rows_copy(tc_cost_rows *dst, const tc_cost_rows *src);

/* Replaces `out` with the features of `built` (not yet lowered). All are finite. Threads may call it at once with distinct `out`.
 * TC_BAD_INPUT for nests that no schedule makes: more than 64 loops around a store. */
TC_NODISCARD tc_status tc_cost_features(const tc_func *built, const tc_machine *m, tc_cost_rows *out, tc_error *err);

/* Cycles the simple throughput model behind the features gives the program: for ranking while no trained model is there. */
double tc_cost_estimate(const tc_cost_rows *rows);
/* Cycles that this model gives the start and end of a parallel loop, with what then moves from one core to another. */
double tc_cost_region(void);

/* ---- model ---- */

typedef struct tc_cost_model tc_cost_model;

/* One measured program. */
typedef struct tc_cost_sample {
    const tc_cost_rows *rows;
    float label;  /* throughput relative to the task's best, in [0, 1]; 0 for a failure */
    float weight; /* > 0; 1 unless there is a reason. The fit itself leans towards fast programs */
    int task;     /* programs are compared only within a task */
} tc_cost_sample;

typedef struct tc_cost_options {
    int threads;     /* 0: one; small sets use one in any case */
    uint64_t seed;   /* of the held-out split and of the subsample */
    int max_samples; /* 0: 2500. More are thinned: the fastest of each task and a random rest stay */
    int max_rounds;  /* 0: 150 */
    bool growing;    /* the samples of the last fit and some more: while these are under a half, its number of rounds and its
                      * quality on held-out programs stay, which takes a fifth of the time */
    tc_meanwhile meanwhile; /* done after each tree */
} tc_cost_options;

/* How well scores order programs. Pairs are of the same task, with labels at least 5 % apart. */
typedef struct tc_cost_quality {
    int programs;
    int64_t pairs;
    double pair_accuracy; /* share of pairs ordered rightly, ties half; 0.5 is chance; 0.5 without pairs */
    double top_recall;    /* mean over tasks: share of the fastest tenth (at least 1) found in the first third of the ranking */
    double loss;          /* weighted mean squared error of the score */
} tc_cost_quality;

typedef struct tc_cost_report {
    int used, thinned; /* programs fitted (held-out ones included), programs left out */
    int rounds;
    tc_cost_quality held_out; /* on programs the model being judged did not see; programs == 0 when too few to hold any out */
} tc_cost_report;

tc_cost_model *tc_cost_new(void);
void tc_cost_free(tc_cost_model *m); /* NULL is fine */

/* Trains anew. On failure the model is as before. TC_BAD_INPUT: no samples, a sample without rows, a label outside of [0, 1], a
 * weight that is not positive, a feature that is not finite (err names sample and feature). TC_ENV: the library failed. `report`
 * and `o` may be NULL. */
TC_NODISCARD tc_status tc_cost_fit(tc_cost_model *m, size_t n, const tc_cost_sample *samples, const tc_cost_options *o,
                                   tc_cost_report *report, tc_error *err);

bool tc_cost_trained(const tc_cost_model *m); /* fitted or loaded */
/* Trained, and better than chance on what was held out: predictions are worth following. */
bool tc_cost_trusted(const tc_cost_model *m);
const tc_cost_report *tc_cost_last_report(const tc_cost_model *m); /* of the fit; kept by save and load */

/* ---- one task's own order ---- */

/* Kernel ridge regression on the programs of one task. It knows its task better than the trees of all of them do, and no other;
 * it is quickly made anew from samples, so it is not kept in files. */
typedef struct tc_cost_local tc_cost_local;

/* `samples` are all of one task. Of `o` (may be NULL) the seed and max_samples count, here 512 unless given: the time is their
 * cube. TC_BAD_INPUT as in tc_cost_fit. */
TC_NODISCARD tc_status tc_cost_local_new(size_t n, const tc_cost_sample *samples, const tc_cost_options *o, tc_cost_local **out,
                                         tc_error *err);
void tc_cost_local_free(tc_cost_local *l); /* NULL is fine */
/* It orders programs better than chance, each judged by the fit to the others. */
bool tc_cost_local_trusted(const tc_cost_local *l);
const tc_cost_quality *tc_cost_local_quality(const tc_cost_local *l); /* on those; programs == 0: no two of them differ */

/* score[i] of rows[i], by the model and by `local`, the own order of the rows' task (NULL: none), as far as they are trusted.
 * Returns false where neither is: rank by tc_cost_estimate or at random then. A program with a feature that is not finite scores
 * -INFINITY. Threads may call it at once. `threads` as in the options. */
bool tc_cost_predict(const tc_cost_model *m, const tc_cost_local *local, size_t n, const tc_cost_rows *const *rows, int threads,
                     double *score);

/* Order of `score` against the samples' labels: for any ranking, the model's or another. */
tc_cost_quality tc_cost_judge(size_t n, const tc_cost_sample *samples, const double *score);

/* ---- model files ---- */

/* *data is malloc'ed. TC_BAD_INPUT for an untrained model. */
TC_NODISCARD tc_status tc_cost_to_bytes(const tc_cost_model *m, char **data, size_t *size, tc_error *err);
/* TC_BAD_INPUT, `m` unchanged: truncated, corrupt, another format or feature version. `name` says in messages what is being read.
 */
TC_NODISCARD tc_status tc_cost_from_bytes(tc_cost_model *m, const char *name, const void *data, size_t size, tc_error *err);
TC_NODISCARD tc_status tc_cost_save(const tc_cost_model *m, const char *path, tc_error *err);
TC_NODISCARD tc_status tc_cost_load(tc_cost_model *m, const char *path, tc_error *err);

#endif
