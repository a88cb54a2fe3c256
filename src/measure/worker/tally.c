/* A runtime that keeps count: each parallel_for goes to the one that is given, and each thread notes when its bodies began
 * and ended.
 *
 *     loop     |------------------------------|
 *     thread 0 |fork| body |       wait       |
 *     thread 1 | fork |        body           |
 *
 * A note costs two looks at the clock for each body, some 50 ns. */
#include "measure/worker/worker_int.h"
#include "support/log.h"

/* A line of the cache for each thread, so that they do not wait for one another. */
typedef struct tc_meas_turn {
    _Alignas(64) double begin; /* of its first body */
    double end;                /* of its last; 0: it has no part in this loop */
    double work;               /* seconds in bodies */
} tc_meas_turn;

typedef struct counted {
    tc_meas_tally *t;
    tc_rt_body *body;
    void *closure;
} counted;

static void counted_body(int64_t begin, int64_t end, int32_t thread, void *closure) {
    const counted *x = closure;
    tc_meas_turn *turn = &x->t->turn[thread];
    double from = tc_now();
    x->body(begin, end, thread, x->closure);
    if (turn->end <= 0)
        turn->begin = from;
    turn->end = tc_now();
    turn->work += turn->end - from;
}

static int32_t counted_for(const tc_rt *rt, int64_t n, tc_rt_body *body, void *closure) {
    tc_meas_tally *t = rt->impl;
    counted x = {t, body, closure};
    for (int i = 0; i < t->inner.nthreads; i++)
        t->turn[i].end = t->turn[i].work = 0;
    double start = tc_now();
    int32_t rc = t->inner.parallel_for(&t->inner, n, counted_body, &x);
    double end = tc_now();
    for (int i = 0; i < t->inner.nthreads; i++) {
        const tc_meas_turn *turn = &t->turn[i];
        bool had = turn->end > 0;
        t->work += turn->work;
        t->fork += had ? turn->begin - start : 0;
        t->wait += had ? end - turn->begin - turn->work : end - start;
    }
    t->loop_seconds += end - start;
    t->loops++;
    return rc;
}

tc_rt tc_meas_tally_on(tc_meas_tally *t, const tc_rt *inner, tc_arena *a) {
    char *turns = tc_arena_alloc(a, sizeof(tc_meas_turn) * (size_t)(inner->nthreads + 1));
    uintptr_t unaligned = (uintptr_t)turns % sizeof(tc_meas_turn);
    *t = (tc_meas_tally){.inner = *inner,
                         .turn = (tc_meas_turn *)(void *)(turns + (unaligned ? sizeof(tc_meas_turn) - unaligned : 0))};
    tc_rt rt = *inner;
    rt.parallel_for = counted_for;
    rt.impl = t;
    return rt;
}

tc_meas_shares tc_meas_tally_shares(const tc_meas_tally *t, double seconds, int64_t calls) {
    double all = seconds * t->inner.nthreads, alone = (seconds - t->loop_seconds) * t->inner.nthreads;
    double sum = t->work + t->fork + t->wait + TC_MAX(alone, 0.0);
    if (calls <= 0 || !(all > 0) || !(sum > 0)) /* the clock did not go */
        return (tc_meas_shares){0};
    return (tc_meas_shares){.work = t->work / sum,
                            .fork = t->fork / sum,
                            .wait = t->wait / sum,
                            .alone = TC_MAX(alone, 0.0) / sum,
                            .loops = (double)t->loops / (double)calls};
}
