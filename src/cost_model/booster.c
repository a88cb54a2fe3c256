/* XGBoost's C interface: arrays go in as JSON descriptions of their memory, errors come back as a text per thread.
 *
 * A zero counts as "missing" for XGBoost. In a typical row half of the features are zero, and missing features cost nothing. */
#include "cost_model/booster.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xgboost/c_api.h>

#include "cost_model/cost.h"
#include "support/arena.h"
#include "support/system/memory.h"

enum {
    CONFIG_TEXT = 256,
    /* A round is a dozen short parallel regions. Below this many rows a second thread saves less than their barriers cost, and on
     * a busy machine they cost much more (2,000 programs on two threads of a loaded machine: 35 s instead of 4). */
    ROWS_FOR_THREADS = 20000
};

static const char PREDICT[] =
    "{\"type\": 1, \"training\": %s, \"iteration_begin\": 0, \"iteration_end\": 0, \"strict_shape\": false, "
    "\"cache_id\": 0, \"missing\": 0.0}";

static tc_status check(int rc, const char *doing, tc_error *err) {
    if (rc == 0)
        return TC_OK;
    return tc_fail(err, TC_ENV, "cost model: XGBoost failed while %s: %.900s", doing, XGBGetLastError());
}

static void describe_rows(char *text, const float *data, size_t nrow) {
    snprintf(text, CONFIG_TEXT, "{\"data\": [%" PRIuPTR ", true], \"shape\": [%zu, %d], \"typestr\": \"<f4\", \"version\": 3}",
             (uintptr_t)data, nrow, (int)TC_COST_NFEATURE);
}

/* Ours, its own copy with an index beside each number, and the histograms' bins; and what it makes of no rows at all. */
tc_status booster_room(size_t nrow, tc_error *err) {
    enum { ONCE = 64 << 20, COPIES = 4 };
    return tc_memory_check(ONCE + (uint64_t)nrow * TC_COST_NFEATURE * sizeof(float) * COPIES, err);
}

tc_status matrix_new(matrix *m, const float *data, size_t nrow, int threads, tc_error *err) {
    char rows[CONFIG_TEXT], config[CONFIG_TEXT];
    if (nrow < ROWS_FOR_THREADS)
        threads = 1;
    describe_rows(rows, data, nrow);
    snprintf(config, sizeof config, "{\"missing\": 0.0, \"nthread\": %d}", threads);
    m->nrow = nrow;
    return check(XGDMatrixCreateFromDense(rows, config, &m->handle), "reading the features", err);
}

void matrix_free(matrix *m) {
    if (m->handle)
        XGDMatrixFree(m->handle);
    m->handle = NULL;
}

/* Chosen on 880 measured schedules of four kernels (two matrix products, a softmax, attention scores; AVX-512, one thread):
 * depths of 4 to 7, steps of 0.15 to 0.4 and half or all of the columns rank within a per cent of each other there (97 % of
 * held-out pairs from 640 samples); shallow trees with leaves of several programs resist irrelevant columns best. Gamma is
 * Ansor's. */
static tc_status set_parameters(booster *b, int threads, uint64_t seed, tc_error *err) {
    char nthread[16], seeded[24];
    snprintf(nthread, sizeof nthread, "%d", threads);
    snprintf(seeded, sizeof seeded, "%u", (unsigned)(seed & 0x7fffffff));
    const char *const parameters[][2] = {
        {"verbosity", "0"},
        {"nthread", nthread},
        {"seed", seeded},
        {"booster", "gbtree"},
        {"tree_method", "hist"},
        {"objective", "reg:squarederror"},
        {"disable_default_eval_metric", "1"},
        {"base_score", "0"},
        {"max_depth", "5"},
        {"eta", "0.25"},
        {"gamma", "0.001"},
        {"min_child_weight", "2"},
        {"max_bin", "64"},
        {"colsample_bytree", "0.8"},
    };
    for (size_t i = 0; i < sizeof parameters / sizeof *parameters; i++)
        TC_TRY(check(XGBoosterSetParam(b->handle, parameters[i][0], parameters[i][1]), "setting a parameter", err));
    return TC_OK;
}

tc_status booster_new(booster *b, int nmatrix, const matrix *const *remembered, int threads, uint64_t seed, tc_error *err) {
    DMatrixHandle handles[2] = {NULL, NULL};
    int n = 0;
    size_t nrow = 0;
    for (int i = 0; i < nmatrix && n < 2; i++)
        if (remembered[i]->handle) {
            handles[n++] = remembered[i]->handle;
            nrow += remembered[i]->nrow;
        }
    if (nrow < ROWS_FOR_THREADS)
        threads = 1;
    b->handle = NULL;
    XGBSetGlobalConfig("{\"verbosity\": 0}"); /* of this thread; a failure only means warnings */
    TC_TRY(check(XGBoosterCreate(handles, (bst_ulong)n, &b->handle), "creating a model", err));
    tc_status status = set_parameters(b, threads, seed, err);
    if (status != TC_OK)
        booster_free(b);
    return status;
}

void booster_free(booster *b) {
    if (b->handle)
        XGBoosterFree(b->handle);
    b->handle = NULL;
}

tc_status booster_scores(booster *b, const matrix *m, const float **out, tc_error *err) {
    char config[CONFIG_TEXT];
    bst_ulong const *shape;
    bst_ulong dim;
    snprintf(config, sizeof config, PREDICT, "true");
    return check(XGBoosterPredictFromDMatrix(b->handle, m->handle, config, &shape, &dim, out), "predicting", err);
}

tc_status booster_step(booster *b, const matrix *m, float *gradient, float *hessian, tc_error *err) {
    return check(XGBoosterBoostOneIter(b->handle, m->handle, gradient, hessian, (bst_ulong)m->nrow), "adding a tree", err);
}

tc_status booster_predict(const booster *b, const float *data, size_t nrow, float *out, tc_error *err) {
    char rows[CONFIG_TEXT], config[CONFIG_TEXT];
    bst_ulong const *shape;
    bst_ulong dim;
    const float *result = NULL;
    if (nrow == 0)
        return TC_OK;
    describe_rows(rows, data, nrow);
    snprintf(config, sizeof config, PREDICT, "false");
    TC_TRY(check(XGBoosterPredictFromDense(b->handle, rows, config, NULL, &shape, &dim, &result), "predicting", err));
    memcpy(out, result, nrow * sizeof *out);
    return TC_OK;
}

tc_status booster_to_bytes(const booster *b, char **data, size_t *size, tc_error *err) {
    bst_ulong n = 0;
    const char *bytes = NULL;
    TC_TRY(check(XGBoosterSaveModelToBuffer(b->handle, "{\"format\": \"ubj\"}", &n, &bytes), "saving the model", err));
    *data = tc_xmalloc((size_t)n);
    memcpy(*data, bytes, (size_t)n);
    *size = (size_t)n;
    return TC_OK;
}

tc_status booster_from_bytes(booster *b, const void *data, size_t size, tc_error *err) {
    TC_TRY(booster_new(b, 0, NULL, 1, 0, err));
    tc_status status = check(XGBoosterLoadModelFromBuffer(b->handle, data, (bst_ulong)size), "loading a model", err);
    bst_ulong features = 0;
    if (status == TC_OK)
        status = check(XGBoosterGetNumFeature(b->handle, &features), "loading a model", err);
    if (status == TC_OK && features != TC_COST_NFEATURE)
        status = tc_fail(err, TC_BAD_INPUT, "cost model: the model has %llu features, but this tctune has %d; train a new model",
                         (unsigned long long)features, (int)TC_COST_NFEATURE);
    if (status != TC_OK)
        booster_free(b);
    return status;
}
