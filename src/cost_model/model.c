/* The model: checks of its input, thinning of large training sets, prediction, and whether its predictions can be trusted. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cost_model/model_int.h"
#include "support/log.h"
#include "support/rng.h"
#include "support/vec.h"

/* Chosen; not measured apart. */
enum { DEFAULT_SAMPLES = 2500, CHUNK_ROWS = 2048 };
/* What the nearest programs of the task say counts that much, the trees the rest: fitted, the best of five shares on the searches
 * that RIDGE and REACH (ridge.c) were chosen on. On the next batches there both together order 80 % of the pairs, the trees alone
 * 77 %. `benchmarks/search/run --set apart` checks it on others. */
static const double NEAR = 0.7;

tc_cost_model *tc_cost_new(void) {
    return tc_xcalloc(1, sizeof(tc_cost_model));
}

void tc_cost_free(tc_cost_model *m) {
    if (!m)
        return;
    booster_free(&m->trees);
    free(m);
}

bool tc_cost_trained(const tc_cost_model *m) {
    return m->trained;
}

const tc_cost_report *tc_cost_last_report(const tc_cost_model *m) {
    return &m->report;
}

bool tc_cost_trusted(const tc_cost_model *m) {
    return m->trained && better_than_chance(&m->report.held_out);
}

/* ---- fitting ---- */

static int first_not_finite(const tc_cost_rows *r) {
    for (size_t i = 0; i < (size_t)r->nrow * TC_COST_NFEATURE; i++)
        if (!isfinite(r->data[i]))
            return (int)(i % TC_COST_NFEATURE);
    return -1;
}

tc_status check_samples(size_t n, const tc_cost_sample *samples, tc_error *err) {
    if (n == 0)
        return tc_fail(err, TC_BAD_INPUT, "cost model: no samples to learn from");
    for (size_t i = 0; i < n; i++) {
        const tc_cost_sample *s = &samples[i];
        if (!s->rows || s->rows->nrow <= 0)
            return tc_fail(err, TC_BAD_INPUT, "cost model: sample %zu has no feature rows", i);
        if (!(s->label >= 0 && s->label <= 1))
            return tc_fail(err, TC_BAD_INPUT,
                           "cost model: sample %zu has the label %g; expected a throughput relative to the best, 0 to 1", i,
                           (double)s->label);
        if (!(s->weight > 0 && isfinite(s->weight)))
            return tc_fail(err, TC_BAD_INPUT, "cost model: sample %zu has the weight %g; expected a positive number", i,
                           (double)s->weight);
        int bad = first_not_finite(s->rows);
        if (bad >= 0)
            return tc_fail(err, TC_BAD_INPUT, "cost model: feature '%s' of sample %zu is not finite", tc_cost_feature_name(bad),
                           i);
    }
    return TC_OK;
}

typedef struct ranked {
    float label;
    size_t index;
} ranked;

static int by_label(const void *x, const void *y) {
    const ranked *a = x, *b = y;
    return a->label != b->label ? (a->label < b->label ? 1 : -1) : (a->index > b->index) - (a->index < b->index);
}

size_t thin(size_t n, const tc_cost_sample *samples, size_t most, uint64_t seed, tc_cost_sample *out) {
    if (n <= most) {
        memcpy(out, samples, n * sizeof *out);
        return n;
    }
    ranked *r = tc_xcalloc(n, sizeof *r);
    for (size_t i = 0; i < n; i++)
        r[i] = (ranked){samples[i].label, i};
    qsort(r, n, sizeof *r, by_label);
    tc_rng rng = tc_rng_seed(seed);
    for (size_t i = 0; i < most; i++) {
        if (i >= most / 2) {
            size_t j = i + (size_t)tc_rng_below(&rng, (int64_t)(n - i));
            ranked t = r[i];
            r[i] = r[j];
            r[j] = t;
        }
        out[i] = samples[r[i].index];
    }
    free(r);
    return most;
}

tc_status tc_cost_fit(tc_cost_model *m, size_t n, const tc_cost_sample *samples, const tc_cost_options *o, tc_cost_report *report,
                      tc_error *err) {
    tc_cost_options options = o ? *o : (tc_cost_options){0};
    size_t most = options.max_samples > 0 ? (size_t)options.max_samples : DEFAULT_SAMPLES;
    TC_TRY(check_samples(n, samples, err));
    tc_cost_sample *kept = tc_xcalloc(n, sizeof *kept);
    size_t used = thin(n, samples, most, options.seed, kept);
    tc_cost_report r = {.used = (int)used, .thinned = (int)(n - used)};
    booster trees = {0};
    bool same = options.growing && m->validated && n < m->validated + m->validated / 2 && tc_cost_trusted(m);
    tc_status status = train(used, kept, &options, same ? &m->report : NULL, &trees, &r, err);
    free(kept);
    if (status != TC_OK)
        return status;
    booster_free(&m->trees);
    m->trees = trees;
    m->trained = true;
    m->report = r;
    m->validated = same ? m->validated : n;
    if (report)
        *report = r;
    return TC_OK;
}

/* ---- predicting ---- */

/* Programs [from, to): their rows in one block, at most CHUNK_ROWS unless a single program has more. */
static tc_status predict_chunk(const tc_cost_model *m, const tc_cost_rows *const *rows, size_t from, size_t to, size_t nrow,
                               double *score) {
    tc_error err = {0};
    float *data = tc_xmalloc(nrow * (TC_COST_NFEATURE + 1) * sizeof *data + 1), *sum = data + nrow * TC_COST_NFEATURE;
    size_t at = 0;
    for (size_t i = from; i < to; at += (size_t)rows[i++]->nrow)
        if (rows[i]->nrow)
            memcpy(data + at * TC_COST_NFEATURE, rows[i]->data, (size_t)rows[i]->nrow * TC_COST_NFEATURE * sizeof *data);
    tc_status status = booster_predict(&m->trees, data, nrow, sum, &err);
    if (status != TC_OK)
        tc_log(TC_LOG_WARN, "%s", err.msg);
    at = 0;
    for (size_t i = from; i < to && status == TC_OK; i++) {
        double s = 0;
        for (int r = 0; r < rows[i]->nrow; r++)
            s += sum[at++];
        score[i] = s;
    }
    free(data);
    return status;
}

/* By the trees. */
static bool predict(const tc_cost_model *m, size_t n, const tc_cost_rows *const *rows, int threads, double *score) {
    typedef struct chunk {
        size_t from, to, nrow;
    } chunk;
    TC_VEC(chunk) chunks = {0};
    bool good = true;
    for (size_t i = 0; i < n; i++) {
        size_t nrow = (size_t)rows[i]->nrow;
        if (!chunks.len || chunks.data[chunks.len - 1].nrow + nrow > CHUNK_ROWS)
            tc_push(&chunks, ((chunk){i, i, 0}));
        chunks.data[chunks.len - 1].to = i + 1;
        chunks.data[chunks.len - 1].nrow += nrow;
    }
    double *result = tc_xcalloc(n + 1, sizeof *result);
#pragma omp parallel for schedule(dynamic) num_threads(TC_MAX(threads, 1)) reduction(&& : good)
    for (size_t c = 0; c < chunks.len; c++)
        good = predict_chunk(m, rows, chunks.data[c].from, chunks.data[c].to, chunks.data[c].nrow, result) == TC_OK && good;
    if (good && n)
        memcpy(score, result, n * sizeof *score);
    free(result);
    tc_vec_free(&chunks);
    return good;
}

bool tc_cost_predict(const tc_cost_model *m, const tc_cost_local *local, size_t n, const tc_cost_rows *const *rows, int threads,
                     double *score) {
    bool near = local && tc_cost_local_trusted(local), far = tc_cost_trusted(m);
    if ((!near && !far) || (far && !predict(m, n, rows, threads, score)))
        return false;
#pragma omp parallel for schedule(static) num_threads(TC_MAX(threads, 1))
    for (size_t i = 0; i < n; i++) {
        double trees = far ? score[i] : 0;
        if (first_not_finite(rows[i]) >= 0)
            score[i] = -INFINITY;
        else if (near && rows[i]->nrow)
            score[i] = far ? NEAR * local_predict(local, rows[i]) + (1 - NEAR) * trees : local_predict(local, rows[i]);
        else
            score[i] = trees;
    }
    return true;
}
