/* XGBoost behind a handful of calls: the only place that knows its interface. Internal to cost_model. */
#ifndef TC_COST_MODEL_BOOSTER_H
#define TC_COST_MODEL_BOOSTER_H

#include <stddef.h>
#include <stdint.h>

#include "support/status.h"

/* Training rows, quantised once. Zero-initialised is empty. */
typedef struct matrix {
    void *handle;
    size_t nrow;
} matrix;

typedef struct booster {
    void *handle;
} booster;

/* Whether there is memory for training on so many rows: XGBoost may end the process where there is none. */
tc_status booster_room(size_t nrow, tc_error *err);
tc_status matrix_new(matrix *m, const float *data, size_t nrow, int threads, tc_error *err);
void matrix_free(matrix *m);

/* An empty ensemble that remembers its predictions on the given matrices, so that each round evaluates one tree only. */
tc_status booster_new(booster *b, int nmatrix, const matrix *const *remembered, int threads, uint64_t seed, tc_error *err);
void booster_free(booster *b);
/* Sum over the trees for each row. *out is valid until this thread's next call on b. */
tc_status booster_scores(booster *b, const matrix *m, const float **out, tc_error *err);
/* Adds one tree fitted to the gradients; both arrays have m->nrow elements. */
tc_status booster_step(booster *b, const matrix *m, float *gradient, float *hessian, tc_error *err);
/* Scores of rows that are no matrix. Threads may call it at once. */
tc_status booster_predict(const booster *b, const float *data, size_t nrow, float *out, tc_error *err);

tc_status booster_to_bytes(const booster *b, char **data, size_t *size, tc_error *err); /* malloc'ed */
tc_status booster_from_bytes(booster *b, const void *data, size_t size, tc_error *err);

#endif
