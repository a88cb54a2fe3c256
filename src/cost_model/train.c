/* Training with the summed objective. A program's score is the sum of the trees over its rows. Its loss is w (score - label)^2,
 * plus a loss over pairs of one task. So all rows of a program get the same gradient: w (score - label) plus the gradient of the
 * pairs. The Hessian of a sum over r rows is w times the all-ones matrix. Its diagonal bound w r keeps a step from overshooting: a
 * round moves a program's score by the learning rate, however many rows the program has.
 *
 * How many rounds is decided on programs held out (a single split, or four folds while there are few), never on the training
 * error; the final trees are then grown on all samples. Everything is bounded by counts, not by a clock: equal input gives equal
 * trees. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cost_model/model_int.h"
#include "support/rng.h"
#include "support/vec.h"

/* Chosen; not measured apart. */
enum {
    FEWEST_TO_HOLD_OUT = 16,
    FOLDS = 4,
    FEW = 320,         /* up to here every program is held out once */
    PATIENCE = 10,     /* rounds without a better held-out loss */
    BLIND_ROUNDS = 25, /* with nothing held out */
    LEAST_ROUNDS = 4,
    DEFAULT_ROUNDS = 150,
};
/* Weight of the order beside the values; how sharply a pair's scores tell which is faster; labels nearer than the gap have no
 * order (as in quality.c). Weight and steepness are fitted: the best compromise of nine settings tried on the next batches of 36
 * searches (the 12 kernels of the search benchmark). `benchmarks/search/run --set apart` checks them on others. */
static const double RANK_WEIGHT = 1, STEEPNESS = 15, LABEL_GAP = 0.05;
enum { PEERS = 48 };                    /* of its task that a program is compared with: chosen; not measured apart */
static const double HELD_OUT = 0.15;    /* where programs are many: chosen; not measured apart */
static const double LEAST_WEIGHT = 0.1; /* of slow programs and failures, which still say what to avoid: chosen, likewise */

double sample_weight(const tc_cost_sample *s) {
    return s->weight * TC_MAX((double)s->label, LEAST_WEIGHT);
}

/* Some of the samples as one block of rows. */
typedef struct dataset {
    size_t n;
    tc_cost_sample *sample;
    size_t *first;     /* row of each program, and one past the last */
    size_t *order;     /* programs by task: a task's are neighbours */
    size_t *from, *to; /* range of a program's task in `order` */
    matrix rows;
} dataset;

static void dataset_free(dataset *d) {
    matrix_free(&d->rows);
    free(d->sample);
    free(d->first);
    free(d->order);
    free(d->from);
    free(d->to);
    *d = (dataset){0};
}

typedef struct member {
    int task;
    size_t at;
} member;

static int by_task(const void *x, const void *y) {
    const member *a = x, *b = y;
    return a->task != b->task ? (a->task < b->task ? -1 : 1) : (a->at > b->at) - (a->at < b->at);
}

static void group_by_task(dataset *d) {
    member *m = tc_xcalloc(d->n + 1, sizeof *m);
    d->order = tc_xcalloc(d->n + 1, sizeof *d->order);
    d->from = tc_xcalloc(d->n + 1, sizeof *d->from);
    d->to = tc_xcalloc(d->n + 1, sizeof *d->to);
    for (size_t i = 0; i < d->n; i++)
        m[i] = (member){d->sample[i].task, i};
    qsort(m, d->n, sizeof *m, by_task);
    for (size_t a = 0, b; a < d->n; a = b) {
        for (b = a; b < d->n && m[b].task == m[a].task; b++)
            ;
        for (size_t k = a; k < b; k++) {
            d->order[k] = m[k].at;
            d->from[m[k].at] = a;
            d->to[m[k].at] = b;
        }
    }
    free(m);
}

/* Samples i with take[i] == want. */
static tc_status dataset_new(dataset *d, size_t n, const tc_cost_sample *samples, const int *take, int want, bool equal,
                             int threads, tc_error *err) {
    *d = (dataset){.sample = tc_xcalloc(n + 1, sizeof *d->sample), .first = tc_xcalloc(n + 2, sizeof *d->first)};
    for (size_t i = 0; i < n; i++)
        if ((take[i] == want) == equal) {
            d->sample[d->n] = samples[i];
            d->first[d->n + 1] = d->first[d->n] + (size_t)samples[i].rows->nrow;
            d->n++;
        }
    group_by_task(d);
    size_t nrow = d->first[d->n], width = TC_COST_NFEATURE * sizeof(float);
    tc_status status = booster_room(nrow, err);
    if (status != TC_OK) {
        dataset_free(d);
        return status;
    }
    float *data = tc_xmalloc(nrow * width + 1);
    for (size_t i = 0; i < d->n; i++)
        memcpy(data + d->first[i] * TC_COST_NFEATURE, d->sample[i].rows->data, (d->first[i + 1] - d->first[i]) * width);
    status = matrix_new(&d->rows, data, nrow, threads, err);
    free(data);
    if (status != TC_OK)
        dataset_free(d);
    return status;
}

static void sum_rows(const dataset *d, const float *row, double *score) {
    for (size_t i = 0; i < d->n; i++) {
        double s = 0;
        for (size_t r = d->first[i]; r < d->first[i + 1]; r++)
            s += row[r];
        score[i] = s;
    }
}

/* Of the logistic loss over pairs of program i and others of its task (RankNet, Burges et al. 2005): what the search needs is
 * their order, and squared errors say little of the order of the fast ones. */
static double rank_gradient(const dataset *d, size_t i, const double *score) {
    size_t n = d->to[i] - d->from[i], step = n / PEERS + 1;
    double g = 0, li = d->sample[i].label;
    int k = 0;
    for (size_t p = d->from[i] + i % step; p < d->to[i]; p += step, k++) {
        size_t j = d->order[p];
        double lj = d->sample[j].label, top = TC_MAX(li, lj), w = TC_MAX(top, LEAST_WEIGHT);
        if (fabs(li - lj) < LABEL_GAP * top)
            continue;
        double sign = li > lj ? 1 : -1;
        g -= sign * w / (1 + exp(sign * STEEPNESS * (score[i] - score[j])));
    }
    return k ? d->sample[i].weight * g / k : 0;
}

/* One more tree. */
static tc_status boost(booster *b, const dataset *d, float *gradient, float *hessian, double *score, tc_error *err) {
    const float *row;
    TC_TRY(booster_scores(b, &d->rows, &row, err));
    sum_rows(d, row, score);
    for (size_t i = 0; i < d->n; i++) {
        double w = sample_weight(&d->sample[i]),
               g = w * (score[i] - d->sample[i].label) + RANK_WEIGHT * rank_gradient(d, i, score);
        for (size_t r = d->first[i]; r < d->first[i + 1]; r++) {
            gradient[r] = (float)g;
            hessian[r] = (float)(w * (double)(d->first[i + 1] - d->first[i]));
        }
    }
    return booster_step(b, &d->rows, gradient, hessian, err);
}

typedef struct fold {
    dataset train, held;
    booster trees;
    float *gradient, *hessian;
    double *score, *held_score;
} fold;

static void fold_free(fold *f) {
    booster_free(&f->trees);
    dataset_free(&f->train);
    dataset_free(&f->held);
    free(f->gradient);
    free(f->hessian);
    free(f->score);
    free(f->held_score);
}

/* Trains on what `part` does not give to fold `which`; with which < 0, on everything. */
static tc_status fold_new(fold *f, size_t n, const tc_cost_sample *samples, const int *part, int which, const tc_cost_options *o,
                          tc_error *err) {
    *f = (fold){0};
    TC_TRY(dataset_new(&f->train, n, samples, part, which, false, o->threads, err));
    if (which >= 0)
        TC_TRY(dataset_new(&f->held, n, samples, part, which, true, o->threads, err));
    f->gradient = tc_xcalloc(f->train.rows.nrow + 1, sizeof *f->gradient);
    f->hessian = tc_xcalloc(f->train.rows.nrow + 1, sizeof *f->hessian);
    f->score = tc_xcalloc(f->train.n + 1, sizeof *f->score);
    f->held_score = tc_xcalloc(f->held.n + 1, sizeof *f->held_score);
    return booster_new(&f->trees, 2, (const matrix *const[]){&f->train.rows, &f->held.rows}, o->threads, o->seed, err);
}

static tc_status fold_round(fold *f, tc_error *err) {
    const float *row;
    TC_TRY(boost(&f->trees, &f->train, f->gradient, f->hessian, f->score, err));
    TC_TRY(booster_scores(&f->trees, &f->held.rows, &row, err));
    sum_rows(&f->held, row, f->held_score);
    return TC_OK;
}

/* All held-out programs of the folds, with the scores they have now. */
typedef struct pool {
    size_t n;
    tc_cost_sample *sample;
    double *score;
} pool;

static double pooled_loss(const fold *f, int nfold, pool *p) {
    double loss = 0, weight = 0;
    p->n = 0;
    for (int k = 0; k < nfold; k++)
        for (size_t i = 0; i < f[k].held.n; i++) {
            const tc_cost_sample *s = &f[k].held.sample[i];
            double w = sample_weight(s), d = f[k].held_score[i] - s->label;
            loss += w * d * d;
            weight += w;
            p->sample[p->n] = *s;
            p->score[p->n++] = f[k].held_score[i];
        }
    return weight > 0 ? loss / weight : 0;
}

/* Rounds at the best held-out loss, and the quality there. */
static tc_status choose_rounds(fold *f, int nfold, size_t n, const tc_cost_options *o, tc_cost_report *report, tc_error *err) {
    pool p = {0, tc_xcalloc(n + 1, sizeof *p.sample), tc_xcalloc(n + 1, sizeof *p.score)};
    double best = INFINITY;
    tc_status status = TC_OK;
    for (int round = 1; status == TC_OK && round <= o->max_rounds; round++) {
        for (int k = 0; k < nfold && status == TC_OK; k++) {
            status = fold_round(&f[k], err);
            tc_meanwhile_do(&o->meanwhile);
        }
        if (status != TC_OK || round < LEAST_ROUNDS)
            continue;
        double loss = pooled_loss(f, nfold, &p);
        if (loss < best) {
            best = loss;
            report->rounds = round;
            report->held_out = tc_cost_judge(p.n, p.sample, p.score);
        } else if (round - report->rounds >= PATIENCE)
            break;
    }
    free(p.sample);
    free(p.score);
    return status;
}

/* part[i]: the fold that holds sample i out, or -1. Each task is spread evenly: programs are shuffled, ordered by task, then
 * dealt. */
static int deal_folds(size_t n, const tc_cost_sample *samples, tc_rng *rng, int *part) {
    for (size_t i = 0; i < n; i++)
        part[i] = -1;
    if (n < FEWEST_TO_HOLD_OUT)
        return 0;
    bool few = n <= FEW;
    int deals = few ? FOLDS : (int)(1 / HELD_OUT + 0.5);
    int next = 0;
    size_t *order = tc_xcalloc(n, sizeof *order);
    for (size_t i = 0; i < n; i++) {
        size_t j = (size_t)tc_rng_below(rng, (int64_t)i + 1);
        order[i] = order[j];
        order[j] = i;
    }
    /* A stable pass per task would be quadratic in tasks; dealing by a counter per task (hashed) is even enough. */
    int counter[64] = {0};
    for (size_t i = 0; i < n; i++) {
        unsigned slot = (unsigned)samples[order[i]].task * 2654435761u >> 26;
        int deal = (counter[slot]++ + (int)slot) % deals;
        part[order[i]] = few || deal == 0 ? deal : -1;
        next += part[order[i]] == 0;
    }
    free(order);
    return next == 0 ? 0 : few ? FOLDS : 1;
}

static tc_status validate(size_t n, const tc_cost_sample *samples, const tc_cost_options *o, const int *part, int nfold,
                          tc_cost_report *report, tc_error *err) {
    fold f[FOLDS] = {0};
    tc_status status = TC_OK;
    for (int k = 0; k < nfold && status == TC_OK; k++)
        status = fold_new(&f[k], n, samples, part, k, o, err);
    if (status == TC_OK)
        status = choose_rounds(f, nfold, n, o, report, err);
    for (int k = 0; k < nfold; k++)
        fold_free(&f[k]);
    return status;
}

tc_status train(size_t n, const tc_cost_sample *samples, const tc_cost_options *given, const tc_cost_report *known, booster *out,
                tc_cost_report *report, tc_error *err) {
    tc_cost_options o = *given;
    o.threads = TC_MAX(o.threads, 1);
    o.max_rounds = o.max_rounds > 0 ? TC_MAX(o.max_rounds, LEAST_ROUNDS) : DEFAULT_ROUNDS;
    tc_rng rng = tc_rng_seed(o.seed ^ 0x636f7374);
    int *part = tc_xcalloc(n + 1, sizeof *part);
    int nfold = known ? 0 : deal_folds(n, samples, &rng, part);
    report->rounds = TC_MIN(known ? known->rounds : BLIND_ROUNDS, o.max_rounds);
    report->held_out = known ? known->held_out : (tc_cost_quality){.pair_accuracy = 0.5};
    fold all = {0};
    tc_status status = nfold ? validate(n, samples, &o, part, nfold, report, err) : TC_OK;
    if (status == TC_OK)
        status = fold_new(&all, n, samples, part, -2, &o, err);
    for (int round = 0; status == TC_OK && round < report->rounds; round++) {
        status = boost(&all.trees, &all.train, all.gradient, all.hessian, all.score, err);
        tc_meanwhile_do(&o.meanwhile);
    }
    if (status == TC_OK) {
        *out = all.trees;
        all.trees = (booster){0};
    }
    fold_free(&all);
    free(part);
    return status;
}
