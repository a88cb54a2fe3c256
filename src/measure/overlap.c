/* Do builders disturb what is timed? Cores that no measured kernel uses may build while it runs, unless they share with it what it
 * needs: an execution unit (two threads of one core, which virtual machines hide), a cache, the memory, the clock. So this is
 * measured: the rates of multiply-adds and of memory, on the threads of a kernel, are measured in turns alone and beside builders.
 * The builders build candidates that must be built anyway. */
#include <unistd.h>

#include "measure/machine/caches.h"
#include "measure/machine/probe.h"
#include "measure/processes_int.h"
#include "support/log.h"
#include "support/vec.h"

enum {
    TURNS = 9,        /* of each kind */
    FEWEST_TURNS = 5, /* that an opinion is made from */
    MOST_TRIES = 3    /* to come to one: builds that are over at once are not worth it */
};

static const double RATE_SECONDS = 0.005; /* that each rate is taken for: builds take several times as long */
static const double MOST_LOSS = 0.03;     /* of either rate, in the median: less than the repeats of a kernel differ */

/* What a kernel touches: timed hot, it lives in the caches, and cold, in memory. */
static int64_t footprint(const tc_meas_processes_state *x) {
    int64_t last = tc_meas_known_caches(&x->machine).last;
    if (last <= 0)
        last = x->machine.l2 * x->machine.cores;
    return x->m->o.mode == TC_MEAS_COLD ? 2 * last : last / 2;
}

/* One turn of both kinds. *whole false: there was nothing left to build, or it was built before the rates were taken. */
static tc_status take_turn(tc_meas_processes_state *x, const tc_meas_probe *p, tc_meas_speeds *loss, bool *whole, tc_error *err) {
    tc_meas_builds *w = &x->builds;
    tc_meas_speeds alone = tc_meas_probe_run(p, RATE_SECONDS), beside = alone;
    w->end = TC_MIN(w->next + (size_t)w->working, w->n);
    TC_TRY(tc_meas_feed_builders(x, err));
    if (tc_meas_builders_work(x))
        beside = tc_meas_probe_run(p, RATE_SECONDS);
    *whole = tc_meas_builders_work(x);
    *loss = (tc_meas_speeds){.compute = 1 - beside.compute / alone.compute, .memory = 1 - beside.memory / alone.memory};
    return tc_meas_finish_builds(x, err);
}

/* The median losses of `turns` turns, or of as many as there is something to build for. */
static tc_status take_turns(tc_meas_processes_state *x, const tc_meas_probe *p, tc_meas_speeds *loss, int *turns, tc_error *err) {
    double compute[TURNS], memory[TURNS];
    *turns = 0;
    for (int i = 0; i < TURNS && !tc_meas_stopped(x->m); i++) {
        bool whole;
        TC_TRY(take_turn(x, p, loss, &whole, err));
        compute[*turns] = loss->compute;
        memory[*turns] = loss->memory;
        *turns += whole;
    }
    *loss = (tc_meas_speeds){tc_meas_median(compute, (size_t)*turns), tc_meas_median(memory, (size_t)*turns)};
    return TC_OK;
}

static void conclude(tc_meas_processes_state *x, const tc_meas_speeds *loss) {
    int spare = x->builds.working;
    x->beside = TC_MAX(loss->compute, loss->memory) <= MOST_LOSS ? spare : 0;
    tc_log(TC_LOG_INFO,
           "builds %s while kernels are timed: beside %d builds arithmetic loses %.1f %% of its speed and memory %.1f %%; at "
           "most %.0f %% are allowed",
           x->beside ? "go on" : "wait", spare, 100 * loss->compute, 100 * loss->memory, 100 * MOST_LOSS);
}

tc_status tc_meas_try_overlap(tc_meas_processes_state *x, tc_error *err) {
    if (x->beside != TC_MEAS_BESIDE_UNKNOWN)
        return TC_OK;
    int spare = TC_MIN((int)sysconf(_SC_NPROCESSORS_ONLN) - x->m->o.threads, x->nbuilder), turns = 0;
    if (spare <= 0)
        x->beside = 0;
    spare = TC_MIN(spare, (int)(x->builds.n / TURNS)); /* each turn takes a job for each of them */
    if (spare <= 0)
        return TC_OK;
    tc_meas_probe *p = tc_meas_probe_new(x->m->o.threads, footprint(x));
    tc_meas_speeds loss;
    x->builds.working = spare;
    tc_status s = p ? take_turns(x, p, &loss, &turns, err) : TC_OK;
    if (s == TC_OK && turns >= FEWEST_TURNS)
        conclude(x, &loss);
    else if (++x->tries >= MOST_TRIES)
        x->beside = 0;
    tc_meas_probe_free(p);
    return s;
}

size_t tc_meas_build_first(const tc_meas_paces *pace, size_t n, int beside) {
    if (pace->build <= 0 || pace->run <= 0)
        return n;
    double later = (double)n * pace->run * beside / pace->build;
    return later >= (double)n - 1 ? TC_MIN(n, (size_t)1) : n - (size_t)later;
}
