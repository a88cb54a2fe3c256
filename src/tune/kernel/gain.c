/* Implements gain.h. */
#include "tune/kernel/gain.h"

#include <math.h>
#include <string.h>

#include "support/log.h"

/* Enough to rank behind another, too little to be seen. */
static const double tie = 1 + 1e-6;
/* Deviations that the sign test of a verdict is satisfied with, nearly; differences that nobody looks for. Chosen. */
static const double surely = 2.5, noticeable = 0.005;
/* Of a record that replaces the default schedule, over it. Chosen: by so much the same code differs where a build places it
 * otherwise, or where the kernel before it runs otherwise. */
static const double least_gain = 1.02;

double tc_tune_gain_last(double until) {
    const double least = 10; /* chosen: what building and running a middling network takes where others use the cores */
    return until + fmax(least, until - tc_now());
}

void tc_tune_pair_judge(tc_tune_pair *x, uint64_t seed) {
    tc_tune_verdict v = tc_tune_judge(x->seconds, x->before, x->rounds, seed);
    x->speedup = v.ratio;
    x->kept = v.faster >= 0 || v.ratio < least_gain || v.b - v.a < x->least || x->rounds < TC_TUNE_MIN_ROUNDS;
}

bool tc_tune_pair_is_open(const tc_tune_pair *x, tc_arena *a) {
    double *ratio = TC_NEW_N(a, double, x->rounds), faster = 0;
    for (int i = 0; i < x->rounds; i++) {
        ratio[i] = x->before[i] / x->seconds[i];
        faster += x->before[i] > x->seconds[i];
    }
    double off = fabs(faster - 0.5 * x->rounds) / (0.5 * sqrt(x->rounds)); /* in deviations of as many fair coins */
    return off < surely && fabs(tc_meas_median(ratio, (size_t)x->rounds) - 1) > noticeable;
}

/* r with these times, on a scale on which their median is `median`. */
static tc_record retimed(const tc_record *r, const double *times, int n, double median, int64_t now, tc_arena *a) {
    tc_record x = *r;
    double *scaled = TC_NEW_N(a, double, n), own = tc_meas_median(times, (size_t)n);
    for (int i = 0; i < n; i++)
        scaled[i] = times[i] * (median / own);
    x.id = 0;
    x.mode = TC_MEAS_IN_GRAPH;
    x.median = median;
    x.times = scaled;
    x.ntimes = (size_t)n;
    x.rounds = n;
    x.when_ms = now;
    x.job = "";
    x.tctune_version = TCTUNE_VERSION;
    return x;
}

static bool same_schedule(const tc_record *x, const tc_record *y) {
    return strcmp(x->workload_hash.hex, y->workload_hash.hex) == 0 && strcmp(x->trace, y->trace) == 0;
}

/* The record was the first of an earlier comparison: those behind it stay behind it. */
static tc_status put_others(const tc_tune_pair *x, tc_meas_db *db, const tc_meas_key *keys, int n, double median, int64_t now,
                            tc_arena *a, tc_tune_verdicts *out, tc_error *err) {
    enum { MOST = 64 };
    tc_meas_records all;
    if (x->record->mode != TC_MEAS_IN_GRAPH)
        return TC_OK;
    TC_TRY(tc_meas_db_ranked(db, a, keys, n, MOST, &all, err));
    for (size_t i = 0; i < all.len; i++) {
        const tc_record *r = &all.data[i];
        if (r->mode == TC_MEAS_IN_GRAPH && !same_schedule(r, x->record) && !same_schedule(r, x->untuned))
            tc_push(out, retimed(r, x->seconds, x->rounds, fmax(r->median / x->record->median, 1) * median * tie, now, a));
    }
    return TC_OK;
}

tc_status tc_tune_pair_put(const tc_tune_pair *x, tc_meas_db *db, const tc_meas_key *keys, int n, int64_t now, tc_arena *a,
                           tc_tune_verdicts *out, tc_error *err) {
    double before = tc_meas_median(x->before, (size_t)x->rounds), median = before / x->speedup;
    if (x->kept)
        median = fmax(median, before * tie);
    tc_push(out, retimed(x->untuned, x->before, x->rounds, before, now, a));
    tc_push(out, retimed(x->record, x->seconds, x->rounds, median, now, a));
    return put_others(x, db, keys, n, median, now, a, out, err);
}
