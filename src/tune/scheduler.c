/* The task scheduler: which task gets the next round. Gradient of the model's latency with respect to a round, as in Ansor
 * (OSDI'20, section 6): what the last rounds of a task gained (backward), and what it could still gain (forward), weighted by how
 * often the kernel runs. A form without a valid candidate comes first, but not for ever: budget.c says which are done.
 *
 * Within a task each form gets a round; from then on rounds go to forms by a power of their speed, so that one that is far behind
 * is all but dropped, and one that is close gets its share. */
#include <math.h>

#include "tune/tune_int.h"

/* WINDOW is Ansor's. */
enum { WINDOW = 3, LEAST_ROUNDS = 4 };

/* Ansor's shares: what was gained lately counts a fifth, what similar kernels reach four fifths. The optimism is ours: chosen. */
static const double backward_share = 0.2, optimism = 0.7;

/* A form at half the speed of the best one gets a sixteenth of its rounds. Chosen; not measured apart. */
static const double preference = 4.0;

double tc_tune_work(const tc_tune *t, int i) {
    int f = t->state[i].winner;
    return t->task[i].form[f < 0 ? 0 : f].flops;
}

static double speed(const tc_tune *t, int i) {
    return isfinite(t->state[i].best) ? tc_tune_work(t, i) / t->state[i].best : 0.0;
}

/* Constants that a cold task brings in from memory, in bytes per second; 0: of a hot one. */
static double stream(const tc_tune *t, int i) {
    const tc_tune_state *s = &t->state[i];
    return s->mode == TC_MEAS_COLD && s->winner >= 0 ? s->form[s->winner].constants / s->best : 0.0;
}

/* The highest seen of any task. */
typedef struct fastest {
    double speed, stream;
} fastest;

/* What task i would take if it were as fast as the fastest kernel here. */
static double by_peers(const tc_tune *t, int i, const fastest *top) {
    const tc_tune_state *s = &t->state[i];
    double seconds = top->speed > 0 ? tc_tune_work(t, i) / top->speed : 0.0;
    return stream(t, i) > 0 ? fmax(seconds, s->form[s->winner].constants / top->stream) : seconds;
}

/* Seconds per inference that another round may save where the winner is at its roof: what the forms with fewer operations
 * promise, the less the more they were tried. */
static double gain_of_rivals(const tc_tune *t, int i) {
    const tc_tune_state *s = &t->state[i];
    double most = 0.0;
    for (int f = 0; f < s->nform; f++)
        if (tc_tune_rival(t, i, f))
            most = fmax(most, (1.0 - t->task[i].form[f].flops / tc_tune_work(t, i)) / (1.0 + t->task[i].form[f].rounds));
    return most * s->best * s->stake;
}

/* Seconds per inference that another round may save. */
static double gain(const tc_tune *t, int i, const fastest *top) {
    const task *k = &t->task[i];
    const tc_tune_state *s = &t->state[i];
    if (s->at_roof)
        return gain_of_rivals(t, i);
    size_t n = k->history.len;
    double now = s->best * s->stake, back = 0.0;
    if (n > WINDOW && isfinite(k->history.data[n - 1 - WINDOW]))
        back = (k->history.data[n - 1 - WINDOW] - s->best) * s->stake / WINDOW;
    else
        back = now / (double)(n + 1);
    double rounds = (double)TC_MAX(1, k->rounds);
    double by_rounds = now / rounds; /* each round's average share so far */
    double forward = fmax(0.0, fmin(by_rounds, now - optimism * by_peers(t, i, top) * s->stake));
    return backward_share * back + (1.0 - backward_share) * forward / (1.0 + 0.5 * k->barren);
}

/* It has had no round yet, or none that gave a time. One whose first is under way has to wait for that. */
static bool is_new(const tc_tune *t, int i, int f) {
    const form *k = &t->task[i].form[f];
    return k->rounds == 0 || (k->flying == 0 && !isfinite(t->state[i].form[f].best));
}

int tc_tune_next_form(const tc_tune *t, int i) {
    const tc_tune_state *s = &t->state[i];
    int best = -1;
    double least = HUGE_VAL;
    for (int f = 0; f < s->nform; f++) {
        if (!tc_tune_usable(t, i, f) || (s->at_roof && t->task[i].form[f].rounds > 0 && !tc_tune_rival(t, i, f)))
            continue;
        int rounds = t->task[i].form[f].rounds;
        if (is_new(t, i, f))
            return f;
        double cost = (1.0 + rounds) * pow(s->form[f].best / s->best, preference);
        if (cost < least) {
            least = cost;
            best = f;
        }
    }
    return best;
}

bool tc_tune_waits(const tc_tune *t, int i) {
    int f = tc_tune_next_form(t, i);
    return f >= 0 && is_new(t, i, f);
}

static int next_of(const tc_tune *t, bool patient) {
    int best = -1;
    double most = -1.0;
    fastest top = {0};
    for (int i = 0; i < t->n; i++) {
        top.speed = fmax(top.speed, speed(t, i));
        top.stream = fmax(top.stream, stream(t, i));
    }
    for (int i = 0; i < t->n; i++) {
        if (!tc_tune_open(t, i, patient))
            continue;
        double g =
            tc_tune_waits(t, i) ? HUGE_VAL : gain(t, i, &top); /* every form gets its first round before any gets a second */
        if (g == HUGE_VAL && most == HUGE_VAL &&
            t->state[i].stake * t->state[i].flops <= t->state[best].stake * t->state[best].flops)
            continue;
        if (g > most || g == HUGE_VAL) {
            most = g;
            best = i;
        }
    }
    return best;
}

int tc_tune_next_task(const tc_tune *t) {
    int i = next_of(t, false);
    return i >= 0 ? i : next_of(t, true);
}

static double sum_of(const tc_tune_report *r, const int *tasks, int n) {
    double sum = 0;
    for (int k = 0; k < n; k++)
        sum += r->task[tasks[k]].best;
    return sum;
}

double tc_tune_apart(const tc_tune_report *r, int i) {
    return sum_of(r, r->task[i].instead, r->task[i].ninstead);
}

double tc_tune_together(const tc_tune_report *r, int i) {
    return r->task[i].best + sum_of(r, r->task[i].along, r->task[i].nalong);
}

/* What could run in place of others does where it is faster; each of those that do so together accounts for its part. */
double tc_tune_latency(const tc_tune *t) {
    double sum = 0;
    for (int i = 0; i < t->n; i++) {
        const tc_tune_state *s = &t->state[i];
        double apart = tc_tune_apart(&t->report, i), together = tc_tune_together(&t->report, i);
        if (!s->ninstead)
            sum += s->weight * s->best;
        else if (together < apart && isfinite(apart))
            sum -= s->weight * (apart - together) / (1 + s->nalong);
    }
    return sum;
}

/* A search gains about as much in every doubling of its time. So of what was gained since half of it the next minute should bring
 * the part that a minute is of the next doubling. */
void tc_tune_foresee(tc_tune *t) {
    double now = tc_now() - t->started, sum = tc_tune_latency(t);
    size_t half = 0;
    if (!isfinite(sum))
        return;
    tc_push(&t->spent, now);
    tc_push(&t->latency, sum);
    while (half + 1 < t->spent.len && t->spent.data[half + 1] <= now / 2)
        half++;
    if (t->spent.len >= LEAST_ROUNDS && t->spent.data[half] <= now / 2)
        t->report.expected_gain = fmax(0, (t->latency.data[half] - sum) / log(now / t->spent.data[half]) * log1p(60 / now));
}
