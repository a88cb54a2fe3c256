/* How well scores order measured programs. */
#include <math.h>
#include <stdlib.h>

#include "cost_model/model_int.h"
#include "support/vec.h"

/* Labels nearer than this are equal: repeated measurements of one program scatter by a few per cent (drift.c has figures). */
static const double LABEL_GAP = 0.05;
enum { MAX_JUDGED = 4096 }; /* pairs are quadratic; chosen */

typedef struct judged {
    int task;
    double label, score;
} judged;

static int by_task(const void *x, const void *y) {
    const judged *a = x, *b = y;
    return a->task != b->task ? (a->task < b->task ? -1 : 1) : (a->label < b->label) - (a->label > b->label);
}

/* Of equal scores the fastest first. */
static int by_score(const void *x, const void *y) {
    const judged *a = x, *b = y;
    return a->score != b->score ? (a->score < b->score ? 1 : -1) : (a->label < b->label) - (a->label > b->label);
}

/* Of one task, fastest first. */
static void count_pairs(const judged *p, size_t n, int64_t *pairs, double *right) {
    for (size_t i = 0; i < n; i++)
        for (size_t j = i + 1; j < n; j++) {
            if (p[i].label - p[j].label < LABEL_GAP * p[i].label)
                continue;
            ++*pairs;
            *right += p[i].score > p[j].score ? 1 : p[i].score == p[j].score ? 0.5 : 0;
        }
}

/* Share of the fastest tenth that the first third of the ranking holds. Reorders p. */
static double recall(judged *p, size_t n) {
    size_t top = (n + 9) / 10, first = (n + 2) / 3, found = 0;
    double least = p[top - 1].label;
    qsort(p, n, sizeof *p, by_score);
    for (size_t i = 0; i < first; i++)
        found += p[i].label >= least;
    return TC_MIN((double)found / (double)top, 1);
}

tc_cost_quality tc_cost_judge(size_t n, const tc_cost_sample *samples, const double *score) {
    enum { FEWEST = 4 }; /* programs of a task for a ranking to mean anything */
    tc_cost_quality q = {.pair_accuracy = 0.5};
    size_t step = n / MAX_JUDGED + 1, used = 0;
    judged *p = tc_xcalloc(n + 1, sizeof *p);
    double weight = 0, right = 0;
    int tasks = 0;
    for (size_t i = 0; i < n; i += step) {
        p[used++] = (judged){samples[i].task, samples[i].label, score[i]};
        double w = sample_weight(&samples[i]), d = score[i] - samples[i].label;
        q.loss += w * d * d;
        weight += w;
    }
    qsort(p, used, sizeof *p, by_task);
    for (size_t from = 0, to; from < used; from = to) {
        for (to = from; to < used && p[to].task == p[from].task; to++)
            ;
        count_pairs(p + from, to - from, &q.pairs, &right);
        if (to - from >= FEWEST) {
            q.top_recall += recall(p + from, to - from);
            tasks++;
        }
    }
    free(p);
    q.programs = (int)used;
    q.loss = weight > 0 ? q.loss / weight : 0;
    q.top_recall = tasks ? q.top_recall / tasks : 0;
    if (q.pairs)
        q.pair_accuracy = right / (double)q.pairs;
    return q;
}

/* Under random scores the pair accuracy of p programs has the spread of Kendall's tau, halved. Two such deviations above a half,
 * and at least 3 %, are asked for: choosing the round with the best held-out loss flatters the number. Both were chosen and
 * not measured apart. */
bool better_than_chance(const tc_cost_quality *q) {
    double p = q->programs;
    if (p < 4 || q->pairs < 4)
        return false;
    double two_deviations = sqrt(2 * (2 * p + 5) / (9 * p * (p - 1)));
    return q->pair_accuracy > 0.5 + TC_MAX(two_deviations, 0.03);
}
