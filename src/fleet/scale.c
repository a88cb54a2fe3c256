#include "fleet/scale.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "measure/records/record.h"

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* ---- one machine ---- */

static size_t known(const tc_fleet_pace *p) {
    return TC_MIN(p->n, (size_t)TC_FLEET_PACE_WINDOW);
}

bool tc_fleet_pace_note(tc_fleet_pace *p, int64_t taken, double seconds) {
    if (!(seconds > 0) || !isfinite(seconds) || (p->n > 0 && taken == p->taken))
        return false;
    p->seconds[p->n++ % TC_FLEET_PACE_WINDOW] = seconds;
    p->taken = taken;
    return true;
}

double tc_fleet_pace_last(const tc_fleet_pace *p) {
    return p->n ? p->seconds[(p->n - 1) % TC_FLEET_PACE_WINDOW] : 0;
}

double tc_fleet_pace_median(const tc_fleet_pace *p) {
    return p->n ? tc_meas_median(p->seconds, known(p)) : 0;
}

double tc_fleet_pace_spread(const tc_fleet_pace *p) {
    enum { N = TC_FLEET_PACE_WINDOW };
    double s[N];
    if (p->n < N)
        return 0;
    memcpy(s, p->seconds, sizeof s);
    qsort(s, N, sizeof *s, by_value);
    return (s[3 * N / 4 - 1] - s[N / 4]) / tc_meas_median(s, N);
}

void tc_fleet_pace_range(const tc_fleet_pace *p, double *least, double *most) {
    *least = *most = p->n ? p->seconds[0] : 0;
    for (size_t i = 1; i < known(p); i++) {
        *least = fmin(*least, p->seconds[i]);
        *most = fmax(*most, p->seconds[i]);
    }
}

/* ---- many ---- */

void tc_fleet_scale_free(tc_fleet_scale *s) {
    tc_vec_free(&s->workers);
    tc_vec_free(&s->met);
}

/* As many as there are: of no name that is known. */
static size_t place_of(const tc_fleet_scale *s, const char *name) {
    size_t i = 0;
    while (i < s->workers.len && strcmp(s->workers.data[i].name, name) != 0)
        i++;
    return i;
}

tc_fleet_pace *tc_fleet_scale_pace(tc_fleet_scale *s, tc_arena *a, const char *name) {
    size_t at = place_of(s, name);
    if (at < s->workers.len)
        return &s->workers.data[at].pace;
    tc_push(&s->workers, (tc_fleet_paced){.name = tc_arena_strdup(a, name)});
    return &s->workers.data[s->workers.len - 1].pace;
}

double tc_fleet_scale_ratio(tc_fleet_scale *s, const tc_fleet_pace *p) {
    double own = tc_fleet_pace_median(p);
    if (s->common == 0)
        s->common = own;
    return own > 0 ? own / s->common : 1;
}

double tc_fleet_ratio_among(double reference, const double *all, size_t n) {
    double *some = tc_xmalloc((n + 1) * sizeof *some);
    size_t have = 0;
    for (size_t i = 0; i < n; i++)
        if (all[i] > 0)
            some[have++] = all[i];
    double ratio = have && reference > 0 ? reference / tc_meas_median(some, have) : 0;
    free(some);
    return ratio;
}

/* ---- who is wrong ---- */

bool tc_fleet_agree(const tc_fleet_opinion *x, const tc_fleet_opinion *y) {
    return x->least <= TC_FLEET_MOST_APART * y->most && y->least <= TC_FLEET_MOST_APART * x->most;
}

int tc_fleet_wrong(const tc_fleet_opinion *x, int n, bool third) {
    if (n < 2 || tc_fleet_agree(&x[0], &x[1]))
        return TC_FLEET_NOBODY;
    if (n == 2 && third)
        return TC_FLEET_ASK_THIRD;
    if (n == 2)
        return x[0].least < x[1].least ? 0 : 1;
    bool first = tc_fleet_agree(&x[0], &x[2]), second = tc_fleet_agree(&x[1], &x[2]);
    return first == second ? TC_FLEET_NOBODY : first ? 1 : 0;
}

/* ---- who ranks alike ---- */

void tc_fleet_scale_meet(tc_fleet_scale *s, uint64_t of, const char *x, tc_fleet_opinion x_says, const char *y,
                         tc_fleet_opinion y_says) {
    size_t at = place_of(s, x), other = place_of(s, y);
    if (at == other || at == s->workers.len || other == s->workers.len)
        return;
    tc_fleet_meeting m = {.first = at, .second = other, .of = of, .says = {x_says, y_says}};
    if (at > other)
        m = (tc_fleet_meeting){.first = other, .second = at, .of = of, .says = {y_says, x_says}};
    tc_push(&s->met, m);
}

/* -1: x is faster, 1: y is, 0: neither clearly. */
static int order(tc_fleet_opinion x, tc_fleet_opinion y) {
    return x.most * TC_FLEET_CLEARLY < y.least ? -1 : y.most * TC_FLEET_CLEARLY < x.least;
}

/* Adds a pair of programs that two workers both timed. */
static void add_pair(tc_fleet_flips *f, const tc_fleet_meeting *x, const tc_fleet_meeting *y) {
    int one = order(x->says[0], y->says[0]), other = order(x->says[1], y->says[1]);
    f->pairs += one && other;
    f->flipped += one * other < 0;
}

static bool are_a_pair(const tc_fleet_meeting *x, const tc_fleet_meeting *y) {
    return x->first == y->first && x->second == y->second && x->of == y->of;
}

bool tc_fleet_rank_otherwise(tc_fleet_flips f) {
    return f.pairs >= TC_FLEET_FLIP_PAIRS && (double)f.flipped > TC_FLEET_MOST_FLIPS * (double)f.pairs;
}

static tc_fleet_ranking ranking_of(const tc_fleet_scale *s, size_t first, size_t second, tc_fleet_flips f) {
    const char *x = s->workers.data[first].name, *y = s->workers.data[second].name;
    bool ordered = strcmp(x, y) < 0;
    return (tc_fleet_ranking){.worker = {ordered ? x : y, ordered ? y : x}, .flips = f};
}

tc_fleet_rankings tc_fleet_scale_rankings(const tc_fleet_scale *s, tc_arena *a) {
    size_t n = s->workers.len, len = 0;
    tc_fleet_flips *f = tc_xcalloc(n * n + 1, sizeof *f);
    for (size_t i = 0; i < s->met.len; i++)
        for (size_t k = 0; k < i; k++)
            if (are_a_pair(&s->met.data[i], &s->met.data[k]))
                add_pair(&f[s->met.data[i].first * n + s->met.data[i].second], &s->met.data[i], &s->met.data[k]);
    for (size_t i = 0; i < n * n; i++)
        len += f[i].pairs > 0;
    tc_fleet_rankings out = {.data = TC_NEW_N(a, tc_fleet_ranking, len)};
    for (size_t i = 0; i < n * n; i++)
        if (f[i].pairs > 0)
            out.data[out.len++] = ranking_of(s, i / n, i % n, f[i]);
    free(f);
    return out;
}
