/* Implements turns.h. */
#include "graph/trials/turns.h"
#include "graph/model/parts.h"
#include "graph/trials/bench.h"
#include "support/clock/clock.h"
#include "support/log.h"
#include "support/system/stop.h"

static int kernels_of(const tc_graph_turns *t) {
    return t->kernels ? t->m[0]->nkernel : 0;
}

double *tc_graph_turns_of(const tc_graph_turns *t, int kernel, int model) {
    int row = kernel < 0 ? kernels_of(t) : kernel;
    return t->seconds + ((size_t)row * (size_t)t->n + (size_t)model) * (size_t)t->rounds;
}

static tc_status run_once(const tc_graph_turns *t, int model, double *whole, double *kernels, tc_error *err) {
    tc_graph_timing_options once = {.repeats = 1};
    int n;
    if (t->whole)
        TC_TRY(tc_graph_model_time(t->m[model], t->in, &once, whole, &n, err));
    return t->kernels ? tc_graph_model_kernel_times(t->m[model], t->in, kernels, err) : TC_OK;
}

static tc_status turn(const tc_graph_turns *t, int model, int round, double *kernels, tc_error *err) {
    double whole = 0;
    bool calm = false;
    for (int tries = 0; tries < TC_MAX(t->tries, 1) && !calm; tries++) {
        tc_stopwatch watch = tc_stopwatch_start();
        TC_TRY(run_once(t, model, &whole, kernels, err));
        calm = tc_stopwatch_read(&watch).whole;
    }
    for (int i = 0; i < kernels_of(t) && round >= 0; i++)
        tc_graph_turns_of(t, i, model)[round] = kernels[i];
    if (round >= 0)
        tc_graph_turns_of(t, -1, model)[round] = whole;
    return TC_OK;
}

/* Every other round goes backwards, so that no model always comes after the same one. */
static tc_status one_round(tc_graph_turns *t, int round, double *kernels, tc_error *err) {
    for (int i = 0; i < t->n; i++) {
        if (tc_is_raised(t->stop))
            return TC_OK;
        TC_TRY(turn(t, round % 2 ? t->n - 1 - i : i, round, kernels, err));
    }
    t->done += round >= 0;
    return TC_OK;
}

static bool may_begin(const tc_graph_turns *t) {
    return !tc_is_raised(t->stop) && tc_now() < (t->done < t->least ? t->last : t->until);
}

tc_status tc_graph_turns_take(tc_graph_turns *t, int rounds, tc_error *err) {
    enum { WARMUP = 2 };
    size_t rows = (size_t)kernels_of(t) + 1;
    int most = TC_MIN(t->done + rounds, t->rounds);
    double *kernels = tc_xcalloc(rows, sizeof *kernels);
    if (!t->seconds)
        t->seconds = tc_xcalloc(rows * (size_t)t->n * (size_t)t->rounds + 1, sizeof *t->seconds);
    tc_status s = TC_OK;
    for (int round = t->done ? t->done : -WARMUP; round < most && s == TC_OK && may_begin(t); round++)
        s = one_round(t, round, kernels, err);
    free(kernels);
    return s;
}
