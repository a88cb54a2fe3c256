/* The task scheduler: which task gets the next round. Gradient of the model's latency with respect to a round, as in Ansor
 * (OSDI'20, section 6): what the last rounds of a task gained (backward), and what it could still gain (forward), weighted by how
 * often the kernel runs. A task without a valid candidate comes first, but not for ever: after DEAD_ROUNDS it is passed over. */
#include <math.h>

#include "tune/tune_int.h"

enum { WINDOW = 3, DEAD_ROUNDS = 3 };

/* Ansor's shares: what was gained lately counts a fifth, what similar kernels reach four fifths. */
static const double backward_share = 0.2, optimism = 0.7;

bool tc_tune_stopped(const tc_tune *t) {
    return t->o.stop && *t->o.stop;
}

static double speed(const tc_tune *t, int i) {
    return isfinite(t->state[i].best) ? t->state[i].flops / t->state[i].best : 0.0;
}

/* Seconds per inference that another round may save. */
static double gain(const tc_tune *t, int i, double top_speed) {
    const task *k = &t->task[i];
    const tc_tune_state *s = &t->state[i];
    size_t n = k->history.len;
    double now = s->best * s->weight, back = 0.0;
    if (n > WINDOW && isfinite(k->history.data[n - 1 - WINDOW]))
        back = (k->history.data[n - 1 - WINDOW] - s->best) * s->weight / WINDOW;
    else
        back = now / (double)(n + 1);
    double rounds = (double)TC_MAX(1, k->rounds);
    double by_rounds = now / rounds; /* each round's average share so far */
    double by_peers =
        top_speed > 0 ? now - optimism * s->flops / top_speed * s->weight : now; /* as fast as the fastest kernel here */
    double forward = fmax(0.0, fmin(by_rounds, by_peers));
    return backward_share * back + (1.0 - backward_share) * forward / (1.0 + 0.5 * k->barren);
}

int tc_tune_next_task(const tc_tune *t) {
    int best = -1;
    double most = -1.0, top = 0.0;
    for (int i = 0; i < t->n; i++)
        top = fmax(top, speed(t, i));
    for (int i = 0; i < t->n; i++) {
        const task *k = &t->task[i];
        if (t->state[i].exhausted || k->failed_rounds >= DEAD_ROUNDS)
            continue;
        double g = isfinite(t->state[i].best) && k->rounds > 0
                       ? gain(t, i, top)
                       : HUGE_VAL; /* every task gets its first round before any gets a second */
        if (g == HUGE_VAL && most == HUGE_VAL &&
            t->state[i].weight * t->state[i].flops <= t->state[best].weight * t->state[best].flops)
            continue;
        if (g > most || g == HUGE_VAL) {
            most = g;
            best = i;
        }
    }
    return best;
}
