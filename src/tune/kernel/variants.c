/* The choice of variants.h. The set of spans that loses least is found exactly, by dynamic programming: the best for the first
 * points of the grid, with each number of spans. */
#include "tune/kernel/variants.h"

#include <math.h>
#include <stdlib.h>

#include "support/vec.h"

/* The best for the points before one, with so many spans. */
typedef struct cell {
    double loss;       /* weighted sum; INFINITY: there is none */
    int from, program; /* of the last span */
} cell;

static double seconds_at(const tc_tune_times *t, int program, int point) {
    return t->seconds[(size_t)program * (size_t)t->npoint + (size_t)point];
}

/* Of any program: what all are measured by. */
static double best_at(const tc_tune_times *t, int point) {
    double best = INFINITY;
    for (int i = 0; i < t->nprogram; i++)
        best = TC_MIN(best, seconds_at(t, i, point));
    return best;
}

/* A run does not tell points of one product apart. */
static bool can_cut(const tc_tune_times *t, int at) {
    return at == 0 || at == t->npoint || t->product[at - 1] < t->product[at];
}

/* Tries all last spans of `program` that end before point `to`. */
static void extend(const tc_tune_times *t, const double *best, const cell *fewer, int program, int to, cell *out) {
    double loss = 0;
    for (int from = to - 1; from >= 0 && isfinite(loss); from--) {
        loss += t->weight[from] * log(seconds_at(t, program, from) / best[from]);
        if (can_cut(t, from) && fewer[from].loss + loss < out->loss)
            *out = (cell){fewer[from].loss + loss, from, program};
    }
}

static int64_t middle(int64_t below, int64_t above) {
    double m = sqrt((double)below) * sqrt((double)above);
    return m >= (double)above ? above - 1 : TC_MAX((int64_t)m, below);
}

static tc_tune_choice trace_back(const tc_tune_times *t, const cell *table, int n, double sum) {
    size_t row = (size_t)t->npoint + 1;
    tc_tune_choice c = {.n = n, .loss = table[(size_t)n * row + (size_t)t->npoint].loss / sum};
    for (int k = n, to = t->npoint; k > 0; k--) {
        const cell *x = &table[(size_t)k * row + (size_t)to];
        c.program[k - 1] = x->program;
        c.upto[k - 1] = k == n ? INT64_MAX : middle(t->product[to - 1], t->product[to]);
        to = x->from;
    }
    return c;
}

/* What counts: a further span must pay. */
static double cost_of(const tc_tune_choice *c) {
    return c->n ? c->loss + c->n * log1p(TC_TUNE_VARIANT_PAYS) : INFINITY;
}

static tc_tune_choice choose_in_group(const tc_tune_times *t, const double *best, int group, int most, double sum) {
    size_t row = (size_t)t->npoint + 1;
    cell *table = tc_xcalloc(((size_t)most + 1) * row, sizeof *table);
    tc_tune_choice choice = {0};
    for (size_t i = 1; i < row; i++)
        table[i].loss = INFINITY;
    for (int k = 1; k <= most; k++) {
        cell *cells = table + (size_t)k * row;
        for (int to = 0; to <= t->npoint; to++) {
            cells[to].loss = INFINITY;
            for (int i = 0; i < t->nprogram && can_cut(t, to); i++)
                if (t->group[i] == group)
                    extend(t, best, cells - row, i, to, &cells[to]);
        }
        if (!isfinite(cells[t->npoint].loss))
            continue;
        tc_tune_choice c = trace_back(t, table, k, sum);
        if (cost_of(&c) < cost_of(&choice))
            choice = c;
    }
    free(table);
    return choice;
}

tc_tune_choice tc_tune_choose(const tc_tune_times *t, int most) {
    tc_tune_choice choice = {0};
    double *best = tc_xcalloc((size_t)t->npoint + 1, sizeof *best), sum = 0;
    for (int i = 0; i < t->npoint; i++) {
        best[i] = best_at(t, i);
        sum += t->weight[i];
    }
    for (int i = 0; i < t->nprogram && t->npoint; i++) {
        bool met = false;
        for (int k = 0; k < i; k++)
            met |= t->group[k] == t->group[i];
        if (met)
            continue;
        tc_tune_choice c = choose_in_group(t, best, t->group[i], TC_MIN(most, (int)TC_TUNE_VARIANTS), sum);
        if (cost_of(&c) < cost_of(&choice))
            choice = c;
    }
    free(best);
    return choice;
}

int tc_tune_variant_at(const tc_tune_variants *v, const int64_t *sizes, int n) {
    int64_t product = tc_tune_product(sizes, n);
    int i = 0;
    while (i + 1 < v->n && product > v->v[i].upto)
        i++;
    return i;
}
