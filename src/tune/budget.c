/* Budgets: trials, time, and when a task has had enough.
 *
 * A task is done for good at its roof, when its space is exhausted, or when nothing of it can be measured. A task that gained
 * nothing over its patience has settled, and others go first. Trials that were asked for are spent all the same, once every
 * task has settled. Where only time was given, the run ends when every task went LONG patiences without a gain. */
#include <math.h>

#include "support/system/stop.h"
#include "te/unit_gain.h"
#include "tune/tune_int.h"

/* MAX_BATCH is Ansor's number of measurements in a round. The others, here and below, were chosen and not measured apart, but for
 * what says more. */
enum { MIN_BATCH = 8, MAX_BATCH = 64, FIRST_BATCH = 12, RAMP = 5, DEAD_ROUNDS = 3, PATIENCE = 96, LONG = 3, LOOKS = 5 };

/* A best that became better by less is noise. */
static const double noticeable = 0.995, default_roof = 0.97;
static const double peak_seconds = 0.05; /* a hundred rounds of the loop in each slice (measure/machine/peak.c) */
/* Shares of the peak above that are errors of the peak: it drifts by a few per cent (benchmarks/README.md). */
static const double believable = 1.08;

/* A form with fewer operations than the one that reached its roof may win yet: it gets so many trials, if it is no further
 * behind. */
enum { RIVAL_TRIALS = 64 };
static const double rival_behind = 1.25;

/* Trials a second, to size batches by where only time is given: measured, what small kernels reach on two cores. */
static const double trials_per_second = 10;

/* Where only trials are given, of any session. Chosen: what building and timing a small network takes. */
static const double least_closing = 2;
/* Of the time for what follows the search, for the session's own contests. Chosen. */
static const double own_share = 0.35;

bool tc_tune_late(const tc_tune *t) {
    return tc_now() >= t->deadline;
}

bool tc_tune_interrupted(const tc_tune *t) {
    return tc_ran_out() || tc_is_raised(t->o.stop);
}

bool tc_tune_stopped(const tc_tune *t) {
    return tc_tune_interrupted(t) || tc_tune_late(t);
}

/* ---- the end ---- */

/* Of a search that takes so many seconds. Contests of computed times are part of what a seed determines. */
static double closing_seconds(const tc_tune *t, double search) {
    if (t->o.measure.mode == TC_MEAS_SIMULATED)
        return INFINITY;
    return t->o.seconds > 0 ? TC_TUNE_CLOSING_SHARE * t->o.seconds : fmax(least_closing, TC_TUNE_CLOSING_SHARE * search);
}

void tc_tune_begin_closing(tc_tune *t) {
    t->searched = tc_now();
    t->closes = t->searched + closing_seconds(t, t->searched - t->started);
    if (t->o.seconds > 0)
        t->closes = fmin(t->closes, t->started + t->o.seconds);
}

void tc_tune_extend_closing(tc_tune *t, double seconds) {
    t->searched += seconds;
    t->closes += seconds;
}

double tc_tune_closing_end(const tc_tune *t, double share) {
    bool all = t->o.measure.carrier || tc_meas_mode_is_apart(t->o.measure.mode); /* nothing follows */
    return t->searched + share * (all ? 1 : own_share) * (t->closes - t->searched);
}

double tc_tune_closing_left(const tc_tune *t) {
    return fmax(0, t->closes - tc_now());
}

double tc_tune_seconds_left(const tc_tune *t) {
    const tc_tune_report *r = &t->report;
    double trials = NAN, time = NAN, search;
    if (isfinite(t->closes))
        return tc_tune_closing_left(t);
    if (r->target_trials && r->measured > 0) {
        search = r->seconds / r->measured * (r->measured + r->target_trials - r->trials);
        trials = search - r->seconds + fmax(least_closing, TC_TUNE_CLOSING_SHARE * search);
    }
    if (r->seconds_limit > 0)
        time = fmax(0, r->seconds_limit - r->seconds);
    return fmin(trials, time); /* of a NAN and a number, the number */
}

/* ---- tasks ---- */

static int patience(const tc_tune *t) {
    return t->o.patience > 0 ? t->o.patience : PATIENCE;
}

/* What the machine can do for task i, by the unit that its sums can use. */
static double peak_of(const tc_tune *t, int i) {
    int f = t->state[i].winner;
    return tc_meas_peak_known(t->meas, 0) * 1e9 * tc_te_unit_gain(t->task[i].form[f < 0 ? 0 : f].w, t->machine.intrinsics);
}

bool tc_tune_reaches_roof(const tc_tune *t, int i) {
    double share = t->o.stop_at_roof > 0 ? t->o.stop_at_roof : default_roof, best = t->state[i].best;
    return tc_meas_peak_known(t->meas, 0) > 0 && isfinite(best) && !tc_meas_mode_is_apart(t->o.measure.mode) &&
           tc_tune_work(t, i) / best >= share * peak_of(t, i);
}

/* A kernel that surpasses the peak shows that the peak is too low: on a machine that others use, by any factor. */
static bool doubtful(const tc_tune *t, int i) {
    return tc_tune_work(t, i) / t->state[i].best > believable * peak_of(t, i);
}

/* A peak that was measured while others used the machine is too low, and would end a task too soon: before a task is done for
 * good, it is measured again. Nobody knows where the roof is while others use a machine that no earlier session knows, nor where a
 * kernel surpasses the peak. Nor does a time end a task that was taken once. */
static bool at_roof(tc_tune *t, int i) {
    bool disturbed = tc_meas_get_calm(t->meas).disturbed;
    if (!tc_tune_reaches_roof(t, i) || !t->state[i].in_turns)
        return false; /* also when another form with fewer operations became the winner */
    if (t->state[i].at_roof)
        return true;
    for (int k = 0; k < (disturbed ? LOOKS : 1); k++)
        (void)tc_meas_peak_known(t->meas, peak_seconds);
    return tc_tune_reaches_roof(t, i) && !doubtful(t, i) && (!disturbed || t->report.peak.known_gflops > 0);
}

/* A look at the peak for one task may have shown that others are not at the roof either. */
static void lift_roof(tc_tune *t) {
    for (int i = 0; i < t->n; i++)
        t->state[i].at_roof = t->state[i].at_roof && tc_tune_reaches_roof(t, i);
}

void tc_tune_settle(tc_tune *t, int i, double before, int trials) {
    tc_tune_state *s = &t->state[i];
    s->since_gain = isfinite(s->best) && !(s->best >= noticeable * before) ? 0 : s->since_gain + trials;
    s->at_roof = at_roof(t, i);
    lift_roof(t);
    s->settled = s->since_gain >= patience(t);
}

void tc_tune_reopen(tc_tune *t, int i) {
    t->state[i].since_gain = 0;
    tc_tune_settle(t, i, t->state[i].best, 0);
}

bool tc_tune_usable(const tc_tune *t, int i, int f) {
    return !t->state[i].form[f].exhausted && t->task[i].form[f].failed_rounds < DEAD_ROUNDS;
}

bool tc_tune_rival(const tc_tune *t, int i, int f) {
    const tc_tune_state *s = &t->state[i];
    if (s->winner < 0 || !tc_tune_usable(t, i, f) || t->task[i].form[f].flops >= tc_tune_work(t, i))
        return false;
    return s->form[f].best < rival_behind * s->best && s->form[f].trials < RIVAL_TRIALS;
}

static bool has_rival(const tc_tune *t, int i) {
    for (int f = 0; f < t->state[i].nform; f++)
        if (tc_tune_rival(t, i, f))
            return true;
    return false;
}

/* No form of it has a candidate left that can be measured. */
static bool dead(const tc_tune *t, int i) {
    return tc_tune_next_form(t, i) < 0;
}

bool tc_tune_behind(const tc_tune *t, int i) {
    double together = tc_tune_together(&t->report, i);
    return t->state[i].ninstead && isfinite(together) && together > rival_behind * tc_tune_apart(&t->report, i);
}

/* What could run in place of others is given up when it is far behind them after so many trials. */
static bool lost(const tc_tune *t, int i) {
    return t->state[i].trials >= RIVAL_TRIALS && tc_tune_behind(t, i);
}

bool tc_tune_open(const tc_tune *t, int i, bool patient) {
    const tc_tune_state *s = &t->state[i];
    if (tc_tune_waits(t, i)) /* the roof of one algorithm is not that of another */
        return true;
    if (lost(t, i))
        return false;
    if (s->at_roof)
        return has_rival(t, i);
    if (s->exhausted || dead(t, i))
        return false;
    if (!s->settled)
        return true;
    return patient && (t->o.trials > 0 || s->since_gain < LONG * patience(t));
}

tc_tune_end tc_tune_why_ended(const tc_tune *t) {
    int exhausted = 0, roof = 0;
    if (tc_tune_interrupted(t))
        return TC_TUNE_END_STOPPED;
    if (t->o.trials > 0 && t->report.trials >= t->o.trials)
        return TC_TUNE_END_TRIALS;
    if (tc_tune_late(t))
        return TC_TUNE_END_TIME;
    for (int i = 0; i < t->n; i++) {
        roof += t->state[i].at_roof;
        exhausted += !t->state[i].at_roof && (t->state[i].exhausted || dead(t, i));
    }
    return roof == t->n ? TC_TUNE_END_AT_ROOF : roof + exhausted == t->n ? TC_TUNE_END_EXHAUSTED : TC_TUNE_END_NO_GAIN;
}

/* ---- rounds ---- */

/* Every form of a task should see a handful of rounds, each big enough to teach the model something. */
int tc_tune_batch_size(const tc_tune *t) {
    if (t->o.batch > 0)
        return t->o.batch;
    if (t->o.search == TC_TUNE_ANSOR)
        return MAX_BATCH;
    double trials = t->o.trials > 0 ? t->o.trials : INFINITY;
    if (t->o.seconds > 0)
        trials = fmin(trials, trials_per_second * t->o.seconds);
    return (int)fmax(MIN_BATCH, fmin(MAX_BATCH, trials / (4 * t->nform)));
}

/* A form's first rounds are small: each makes the next one better. */
int tc_tune_ramp(const tc_tune *t, int i, int f, int want) {
    int rounds = t->task[i].form[f].rounds;
    if (t->o.batch > 0 || t->o.search != TC_TUNE_PHASES || rounds >= RAMP)
        return want;
    return TC_MIN(want, FIRST_BATCH << rounds / 2);
}

/* A batch, but never so much that a form still waiting for its first round would get none. */
int tc_tune_round_size(const tc_tune *t, int batch) {
    int left = t->o.trials > 0 ? t->o.trials - t->report.trials - t->flying : INT32_MAX, waiting = 0;
    for (int i = 0; i < t->n; i++)
        for (int f = 0; f < t->task[i].nform; f++)
            waiting += t->task[i].form[f].rounds == 0 && tc_tune_usable(t, i, f);
    return TC_MAX(0, TC_MIN(batch, waiting > 1 ? TC_MAX(TC_MIN(1, left), left / waiting) : left));
}
