/* What disturbed.h describes. */
#include "disturbed.h"

#include <math.h>
#include <string.h>

#include "support/log.h"
#include "te/text.h"

static const char *const texts[] = {
#define KIND(id, meaning) [id] = #id,
    DISTURBANCES(KIND)
#undef KIND
};

const char *disturbance_text(disturbance d) {
    return texts[d];
}

/* ---- the clock ---- */

static machine *now_on;

/* The linker gives this for tc_now: reading the clock takes a microsecond, so that loops until a time end. */
double __wrap_tc_now(void);
double __wrap_tc_now(void) {
    static double alone;
    double *clock = now_on ? &now_on->now : &alone;
    return *clock += 1e-6;
}

static double between(machine *m, double low, double high) {
    return low + (high - low) * tc_rng_unit(&m->rng);
}

void machine_begin(machine *m, disturbance kind, uint64_t seed, double peak) {
    *m = (machine){.kind = kind, .rng = tc_rng_seed(seed), .now = 1000, .peak = peak, .level = 1};
    m->load = between(m, 0.2, 0.7);
    now_on = m;
}

void machine_end(machine *m) {
    now_on = NULL;
    tc_map_free(&m->truth);
    tc_vec_free(&m->seconds);
}

double machine_truth(const machine *m, uint64_t program) {
    const uintptr_t *at = tc_map_get(&m->truth, program);
    return at ? m->seconds.data[*at] : 0;
}

/* ---- what others do ---- */

/* Of a logarithmic scale. */
static double about(machine *m, double low, double high) {
    return exp(between(m, log(low), log(high)));
}

static double exponential(machine *m, double mean) {
    return -mean * log(1 - tc_rng_unit(&m->rng));
}

static bool often(machine *m, double share) {
    return tc_rng_unit(&m->rng) < share;
}

static double burst(machine *m) {
    if (m->now >= m->until) {
        m->level = m->level > 1 ? 1 : about(m, 1.4, 4);
        m->until = m->now + exponential(m, m->level > 1 ? 2 : 3);
    }
    return m->level > 1 ? fmax(1, m->level * exp(0.3 * tc_rng_normal(&m->rng))) : 1;
}

/* As seen on two cores beside four busy threads: of samples of 2 ms a part waits once or more for a core, 4 ms each time; the others
 * scatter by some per cent. */
static double steady(machine *m, double seconds) {
    const double wait = 4e-3, hit = m->load * fmin(1, seconds / 2e-3);
    double waits = 0;
    while (often(m, hit))
        waits += wait * about(m, 0.5, 1.5);
    return (1 + waits / seconds) * (1 + 0.05 * fabs(tc_rng_normal(&m->rng)));
}

static double step(machine *m) {
    static const double levels[] = {1, 1.1, 1.25, 1.5};
    if (m->now >= m->until) {
        m->level = levels[tc_rng_below(&m->rng, TC_LEN(levels))];
        m->until = m->now + exponential(m, 5);
    }
    return m->level;
}

/* One measurement: what is the same for all of its samples. */
typedef struct moment {
    disturbance kind;
    double starved; /* times as long as samples take for want of a core; 1: there is one */
    double leap;    /* times as long as the clock says */
} moment;

static moment begin_moment(machine *m) {
    moment x = {m->kind, 1, 1};
    if (m->kind == MIXED)
        x.kind = (disturbance)tc_rng_below(&m->rng, MIXED);
    if (x.kind == STARVED && often(m, 0.3))
        x.starved = about(m, 2, 1000);
    if (x.kind == LEAPS && often(m, 0.02))
        x.leap = about(m, 1e-3, 0.5);
    return x;
}

/* Times as long as something that lasts so many seconds takes now. `alone`: it has one thread. */
static double slowness(machine *m, const moment *x, bool alone, double seconds) {
    switch (x->kind) {
    case BURSTS:
        return burst(m);
    case STEADY:
        return alone && often(m, 0.5) ? 1 : steady(m, seconds);
    case STEPS:
        return step(m);
    case STARVED:
        return alone || often(m, 0.2) ? 1 : x->starved;
    default:
        return 1;
    }
}

/* ---- the carrier ---- */

static machine *machine_of(const tc_meas *m) {
    return tc_meas_given(m)->carried_by;
}

static tc_status build(const tc_meas_jobs *b, tc_meas_job *jobs, size_t n, bool in_order, tc_error *err) {
    machine_of(b->m)->now += 0.03 * (double)n;
    return tc_meas_simulated.build(b, jobs, n, in_order, err);
}

/* No program surpasses the peak. */
static double truth_of(machine *m, const tc_meas_job *j) {
    const uintptr_t *at = tc_map_get(&m->truth, j->r->program);
    if (at)
        return m->seconds.data[*at];
    tc_ctx *ctx = tc_ctx_new();
    const tc_workload *w;
    double least = 0;
    if (tc_te_parse(ctx, "workload", j->in->workload, &w, NULL) == TC_OK)
        least = tc_te_flops(w) / m->peak;
    tc_ctx_free(ctx);
    double seconds = fmax(j->simulated, least * (1.01 + 0.04 * (double)(j->r->program % 97) / 97));
    tc_map_put(&m->truth, j->r->program, m->seconds.len);
    tc_push(&m->seconds, seconds);
    return seconds;
}

/* A kernel of microseconds that runs for seconds is killed. */
static bool is_too_late(const moment *now, bool alone) {
    return now->kind == STARVED && !alone && now->starved > 300;
}

/* As the worker does: one that is clearly slower than the best is given up, and repeats scatter upwards. */
static tc_status run(const tc_meas_jobs *b, tc_meas_job *j, tc_error *err) {
    enum { EARLY = 2, REFERENCES = 6, WIDER = 2 };
    const double reference = 50e-6, sample = 2e-3, most_slowdown = 1.5, late = 3.5;
    machine *m = machine_of(b->m);
    tc_record *r = j->r;
    tc_meas_calm calm = tc_meas_drift_state(&b->m->drift);
    int doubt = calm.disturbed ? WIDER : 1, n = tc_meas_samples(b->m, j) * doubt;
    double *times = TC_NEW_N(b->a, double, n), beside[REFERENCES], truth = truth_of(m, j);
    double best = j->best * fmin(calm.slowdown, most_slowdown);
    bool alone = r->program % 4 == 0;
    moment now = begin_moment(m);
    (void)err;
    for (int i = 0; i < REFERENCES; i++)
        m->now += beside[i] = reference * slowness(m, &now, false, reference) * (1 + 0.01 * fabs(tc_rng_normal(&m->rng)));
    if (is_too_late(&now, alone)) {
        m->now += late;
        m->late++;
        tc_meas_end_with(r, b->a, TC_MEAS_RUN_LATE, "a thread had no core");
        return TC_OK;
    }
    tc_meas_end_with(r, b->a, TC_MEAS_NONE, "");
    r->stopped_early = false;
    for (int i = 0; i < n && !r->stopped_early; i++) {
        double real = truth * slowness(m, &now, alone, fmax(truth, sample)) * exp(0.01 * fabs(tc_rng_normal(&m->rng)));
        m->now += fmax(real, sample);
        times[i] = real * now.leap;
        r->ntimes = (size_t)i + 1;
        r->stopped_early = i + 1 == EARLY && best > 0 && fmin(times[0], times[1]) > EARLY * doubt * best;
    }
    r->verified = true;
    r->times = times;
    r->median = tc_meas_median(times, r->ntimes);
    r->run_seconds = 0.01;
    r->reference = tc_meas_median(beside, REFERENCES);
    return TC_OK;
}

static double peak(const tc_meas *t, double seconds) {
    machine *m = machine_of(t);
    moment now = begin_moment(m);
    double best = INFINITY;
    m->now += seconds;
    for (int i = 0; i < 4; i++)
        best = fmin(best, slowness(m, &now, false, 100e-6));
    return m->peak / best / 1e9;
}

static tc_status open_machine(const tc_meas *m, void **state, tc_error *err) {
    return tc_meas_simulated.open(m, state, err);
}

static void close_machine(void *state) {
    tc_meas_simulated.close(state);
}

static size_t restarts(const void *state) {
    return tc_meas_simulated.restarts(state);
}

const tc_meas_carrier disturbed_carrier = {
    .open = open_machine, .close = close_machine, .build = build, .run = run, .peak = peak, .restarts = restarts};
