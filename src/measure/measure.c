/* Batches of candidates: all are built, then run one after the other, raced against the best so far; and candidates in turns.
 * A table of functions says who builds and runs them (carrier.h). */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "codegen/target/target.h"
#include "measure/machine/known.h"
#include "measure/machine/peak.h"
#include "measure/measure_int.h"
#include "support/clock/clock.h"
#include "support/log.h"
#include "support/system/memory.h"
#include "support/system/stop.h"
#include "support/system/threads.h"
#include "support/vec.h"
#include "tir_lower/program/ablate.h"

enum { GROUP = 64 /* candidates built before they are run: bounds the memory for objects */ };

/* ---- construction ---- */

static double or_default(double v, double d) {
    return v > 0 ? v : d;
}

static int or_cores(int n) {
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    return n > 0 ? n : (int)TC_MAX(cores, 1L);
}

static void apply_defaults(tc_meas_options *o) {
    o->threads = or_cores(o->threads);
    o->builders = or_cores(o->builders);
    o->build_limit = or_default(o->build_limit, 15);
    o->run_limit = or_default(o->run_limit, 10);
    o->prepare_limit = or_default(o->prepare_limit, 120);
    o->min_sample = or_default(o->min_sample, 0.002);
    o->budget = or_default(o->budget, 0.5);
    if (o->early_stop == 0)
        o->early_stop = 2;
    if (o->samples <= 0)
        o->samples = 7;
    if (o->memory_limit == 0)
        o->memory_limit = tc_memory_all() / 4 * 3;
}

/* What tuner and workers need of the smallest kernel. Measured: 24 MiB of a builder, 10 MiB of a runner, and 13 MiB of the tuner,
 * whose cost model asks for 64 MiB more (src/cost_model/booster.c). */
static tc_status check_memory(tc_error *err) {
    tc_status s = tc_memory_check((uint64_t)112 << 20, err);
    if (s != TC_OK)
        tc_error_prefix(err, "measuring kernels needs worker processes: ");
    return s;
}

static const tc_meas_carrier *carrier_of(const tc_meas_options *o) {
    if (o->carrier)
        return o->carrier;
    return o->mode == TC_MEAS_SIMULATED ? &tc_meas_simulated : &tc_meas_processes;
}

/* What would be timed is marked as emulated where it is. */
static void see_emulation(tc_meas *m) {
    bool timed = m->o.mode == TC_MEAS_HOT || m->o.mode == TC_MEAS_COLD;
    if (timed && m->carrier->emulated && m->carrier->emulated(&m->o))
        m->o.mode = TC_MEAS_EMULATED;
}

static bool is_timed_here(const tc_meas *m) {
    return m->carrier == &tc_meas_processes && !m->o.only_build;
}

/* What the reference takes on a quiet machine, of earlier sessions; and what this one says of it. */
static void recall_quiet(tc_meas *m) {
    double known = tc_meas_known(TC_MEAS_KNOWN_REFERENCE, "", m->o.threads);
    m->drift.quiet = known > 0 ? 1 / known : 0;
}

/* A runner that lies must not make the machine seem slow for weeks. */
static void remember_quiet(const tc_meas *m) {
    double calmest = m->drift.calmest;
    if (is_timed_here(m) && calmest > 0 && tc_meas_reference_is_possible(calmest, m->o.threads))
        (void)tc_meas_note(TC_MEAS_KNOWN_REFERENCE, "", m->o.threads, 1 / calmest);
}

tc_status tc_meas_new(const tc_meas_options *o, tc_meas **out, tc_error *err) {
    tc_meas *m = tc_xcalloc(1, sizeof *m);
    *out = NULL;
    m->o = *o;
    apply_defaults(&m->o);
    m->o.target = tc_xstrdup(o->target);
    m->o.exe = o->exe ? tc_xstrdup(o->exe) : NULL;
    m->o.worker_arg = o->worker_arg ? tc_xstrdup(o->worker_arg) : NULL;
    gethostname(m->host, sizeof m->host - 1);
    m->carrier = carrier_of(o);
    see_emulation(m);
    bool timed = !o->carrier && o->mode != TC_MEAS_SIMULATED && !o->only_build;
    tc_status s = timed ? tc_clock_check(TC_CLOCK_SAMPLES, err) : TC_OK;
    if (s == TC_OK && timed)
        s = tc_threads_check_now(m->o.threads, err);
    if (s == TC_OK && m->carrier == &tc_meas_processes)
        s = check_memory(err);
    if (s == TC_OK)
        s = m->carrier->open(m, &m->carries, err);
    if (s == TC_OK && is_timed_here(m))
        recall_quiet(m);
    if (s == TC_OK)
        *out = m;
    else
        tc_meas_free(m);
    return s;
}

static void free_text(const char *s) {
    free((void *)(uintptr_t)s);
}

void tc_meas_free(tc_meas *m) {
    if (!m)
        return;
    remember_quiet(m);
    m->carrier->close(m->carries);
    tc_map_free(&m->seen);
    free_text(m->o.target);
    free_text(m->o.exe);
    free_text(m->o.worker_arg);
    free(m);
}

const tc_meas_options *tc_meas_given(const tc_meas *m) {
    return &m->o;
}

void *tc_meas_carried(const tc_meas *m) {
    return m->carries;
}

int tc_meas_threads(const tc_meas *m) {
    return m->o.threads;
}

tc_meas_calm tc_meas_get_calm(const tc_meas *m) {
    return tc_meas_drift_state(&m->drift);
}

tc_meas_unrest tc_meas_get_unrest(const tc_meas *m) {
    return m->unrest;
}

/* Whether others used the machine in this run, as far as it shows. What reports say of the moment goes by those before it, too. */
static bool note_run(tc_meas *m, const tc_record *r) {
    bool disturbed = tc_meas_drift_add(&m->drift, r->reference, r->times, r->ntimes);
    tc_meas_calm now = tc_meas_drift_state(&m->drift);
    tc_meas_unrest_add(&m->unrest, &now);
    return disturbed;
}

double tc_meas_slowdown(const tc_meas *m, double reference) {
    double best = tc_meas_drift_best(&m->drift);
    return best > 0 ? fmax(1, reference / best) : 1;
}

void tc_meas_set_deadline(tc_meas *m, double deadline) {
    m->o.deadline = deadline;
}

double tc_meas_peak_known(tc_meas *m, double seconds) {
    if (seconds > 0)
        m->o.peak_gflops = fmax(m->o.peak_gflops, m->carrier->peak(m, seconds));
    return m->o.peak_gflops;
}

tc_meas_stats tc_meas_get_stats(const tc_meas *m) {
    tc_meas_stats s = m->stats;
    s.restarts += m->carrier->restarts(m->carries);
    return s;
}

/* ---- records ---- */

bool tc_meas_stopped(const tc_meas *m) {
    return tc_ran_out() || tc_is_raised(m->o.stop) || (m->o.deadline > 0 && tc_now() >= m->o.deadline);
}

void tc_meas_end_with(tc_record *r, tc_arena *a, tc_meas_error e, const char *message) {
    r->error = e;
    r->message = tc_arena_strdup(a, message);
    r->ntimes = 0;
    r->median = INFINITY;
    r->verified = false;
}

static void begin_record(const tc_meas *m, const tc_meas_job *j, tc_arena *a) {
    tc_record *r = j->r;
    *r = tc_meas_record_empty();
    tc_meas_record_identify(a, r, j->in->workload, j->in->workload_hash, m->o.target, j->in->trace);
    r->threads = m->o.threads;
    r->mode = j->in->cold && m->o.mode == TC_MEAS_HOT ? TC_MEAS_COLD : m->o.mode;
    r->tctune_version = TCTUNE_VERSION;
    r->llvm_version = tc_cg_llvm_version();
    r->host = tc_arena_strdup(a, m->host);
    r->sizes = tc_arena_strdup(a, j->in->sizes ? j->in->sizes : "");
    r->experiment = j->in->without || j->in->denormal > 0;
    r->when_ms = tc_meas_now_ms();
    tc_meas_end_with(r, a, TC_MEAS_INTERRUPTED, tc_meas_error_meaning(TC_MEAS_INTERRUPTED));
}

bool tc_meas_is_new(tc_meas *m, const tc_meas_job *j, tc_arena *a) {
    uint64_t key =
        tc_hash64(j->in->workload_hash.hex, sizeof j->in->workload_hash.hex, j->r->program + (j->r->mode == TC_MEAS_COLD));
    if (*j->r->sizes)
        key = tc_hash64(j->r->sizes, strlen(j->r->sizes), key);
    if (j->r->experiment)
        key = tc_hash64(&j->in->denormal, sizeof j->in->denormal, tc_hash64(&j->in->without, sizeof j->in->without, key));
    if (tc_map_put(&m->seen, key, 1) || j->in->again)
        return true;
    tc_meas_end_with(j->r, a, TC_MEAS_DUPLICATE, tc_meas_error_meaning(TC_MEAS_DUPLICATE));
    return false;
}

void tc_meas_report(const tc_meas_jobs *b, const tc_meas_job *j) {
    if (b->progress && j->r->error != TC_MEAS_INTERRUPTED)
        b->progress(b->user, (size_t)(j - b->job), j->r);
}

int tc_meas_samples(const tc_meas *m, const tc_meas_job *j) {
    return j->in->samples > 0 ? j->in->samples : m->o.samples;
}

/* Whether they can be measured as they ask for. */
static tc_status check_inputs(const tc_meas *m, const tc_meas_input *in, size_t n, tc_error *err) {
    for (size_t i = 0; i < n; i++) {
        bool plain = !in[i].without && in[i].denormal == 0 && !in[i].shares && !in[i].counts;
        if (!plain && !m->carrier->experiments)
            return tc_fail(err, TC_BAD_INPUT,
                           "programs without a part, denormal data, waiting times of threads and processor counters can be "
                           "measured by processes of this machine only: measure without a fleet, and not in simulated time");
        if ((in[i].without & ~TC_TIR_ALL_PARTS) || !(in[i].denormal >= 0 && in[i].denormal <= 1))
            return tc_fail(err, TC_BAD_INPUT,
                           "input %zu leaves out the parts %#x and has a share of %g of denormal numbers; expected parts in %#x "
                           "and a share of 0 to 1",
                           i, in[i].without, in[i].denormal, TC_TIR_ALL_PARTS);
    }
    return TC_OK;
}

/* ---- batches ---- */

double tc_meas_best_so_far(const tc_meas_job *jobs, size_t i) {
    double best = jobs[i].in->best > 0 ? jobs[i].in->best : INFINITY;
    for (size_t k = 0; k < i && !jobs[i].r->experiment; k++)
        if (!jobs[k].r->experiment && tc_record_ok(jobs[k].r) && jobs[k].r->verified && jobs[k].r->mode == jobs[i].r->mode &&
            strcmp(jobs[k].in->workload, jobs[i].in->workload) == 0 && strcmp(jobs[k].r->sizes, jobs[i].r->sizes) == 0)
            best = TC_MIN(best, jobs[k].r->median);
    return isfinite(best) ? best : 0;
}

/* What would be slower than the best by that on a quiet machine is not timed again. Chosen: a disturbed machine's slowness is known
 * to some 10 %. */
static const double hopeless = 1.15;

/* The fastest of its times, on a machine that was as it is at its best. */
static bool is_hopeless(const tc_meas_jobs *b, const tc_meas_job *j) {
    return j->best > 0 && tc_record_fastest(j->r) > hopeless * j->best * tc_meas_slowdown(b->m, j->r->reference);
}

/* Shares of the peak above which a time is doubted: the peak drifts by a few per cent (benchmarks/README.md). Above the second one
 * it is never believed: a peak that was measured beside others may be too low, but not by so much. Chosen. */
static const double doubted = 1.08, never = 4;
static const double peak_seconds = 0.05;

static bool surpasses(const tc_meas *m, const tc_meas_job *j, double share) {
    double peak = m->o.peak_gflops * 1e9;
    return peak > 0 && j->in->work > share * peak * j->r->median;
}

/* The peak is looked at again before. */
static bool is_doubtful(tc_meas *m, const tc_meas_job *j) {
    return surpasses(m, j, doubted) && tc_meas_peak_known(m, peak_seconds) > 0 && surpasses(m, j, doubted);
}

/* Of more times than were asked for the fastest stay. They were taken because others use the machine, and others only add to a
 * time. */
static void keep_fastest(const tc_meas_jobs *b, tc_meas_job *j) {
    tc_record *r = j->r;
    size_t want = (size_t)tc_meas_samples(b->m, j), n = 0;
    if (r->ntimes <= want)
        return;
    double slowest = tc_meas_smallest(r->times, r->ntimes, want - 1), *kept = TC_NEW_N(b->a, double, want);
    for (size_t i = 0; i < r->ntimes && n < want; i++)
        if (r->times[i] <= slowest)
            kept[n++] = r->times[i];
    r->times = kept;
    r->ntimes = n;
    r->median = tc_meas_median(kept, n);
}

/* What was timed while others used the machine is timed again, some times, as is what surpasses the machine's peak. Of disturbed
 * times the fastest counts: others only add to a time. Of doubtful ones the slowest does. Where others have used the machine for a
 * while, a quiet moment will not come soon: then contests decide, and each run counts as it is (measured in computed sessions,
 * tests/tune/disturbed.h: a fifth less time for the same choices). */
static tc_status run_quietly(const tc_meas_jobs *b, tc_meas_job *j, tc_error *err) {
    enum { TRIES = 3 };
    tc_meas *m = b->m;
    bool is_steady = tc_meas_drift_state(&m->drift).disturbed;
    tc_record fastest = {.median = INFINITY}, slowest = {.median = 0};
    for (int i = 0; i < TRIES && (i == 0 || !tc_meas_stopped(m)); i++) {
        TC_TRY(m->carrier->run(b, j, err));
        if (!tc_record_ok(j->r))
            return TC_OK;
        bool disturbed = note_run(m, j->r);
        keep_fastest(b, j);
        if (is_doubtful(m, j)) {
            slowest = j->r->median > slowest.median ? *j->r : slowest;
            continue;
        }
        if (!disturbed || is_steady || is_hopeless(b, j))
            return TC_OK;
        fastest = j->r->median < fastest.median ? *j->r : fastest;
    }
    *j->r = isfinite(fastest.median) ? fastest : slowest;
    if (surpasses(m, j, never))
        tc_meas_end_with(j->r, b->a, TC_MEAS_IMPOSSIBLE_TIME,
                         tc_arena_printf(b->a, "%.3g s for %.3g operations of multiply-adds, at a peak of %.3g GFLOP/s",
                                         j->r->median, j->in->work, m->o.peak_gflops));
    return TC_OK;
}

static tc_status run_one(const tc_meas_jobs *b, tc_meas_job *jobs, size_t i, tc_error *err) {
    const tc_meas_carrier *carrier = b->m->carrier;
    tc_meas_job *j = &jobs[i];
    if (carrier->await)
        TC_TRY(carrier->await(b, j, err));
    if (!j->ready)
        return TC_OK;
    j->best = tc_meas_best_so_far(jobs, i);
    TC_TRY(run_quietly(b, j, err));
    j->r->when_ms = tc_meas_now_ms();
    if (tc_meas_error_is(j->r->error, TC_MEAS_UNSETTLED) && !j->put_off)
        j->put_off = true;
    else
        tc_meas_report(b, j);
    return TC_OK;
}

/* Those for which the machine was too busy, after all others. What is stopped before is as it was. */
static tc_status run_put_off(const tc_meas_jobs *b, tc_meas_job *jobs, size_t n, tc_error *err) {
    tc_status s = TC_OK;
    for (size_t i = 0; i < n && s == TC_OK; i++) {
        tc_meas_job *j = &jobs[i];
        if (!j->ready || !j->put_off || !tc_meas_error_is(j->r->error, TC_MEAS_UNSETTLED))
            continue;
        if (tc_meas_stopped(b->m))
            tc_meas_report(b, j);
        else
            s = run_one(b, jobs, i, err);
    }
    return s;
}

static tc_status run_all(const tc_meas_jobs *b, tc_meas_job *jobs, size_t n, tc_error *err) {
    tc_meas *m = b->m;
    double start = tc_now();
    tc_status s = TC_OK;
    for (size_t i = 0; i < n && s == TC_OK && !tc_meas_stopped(m); i++)
        s = run_one(b, jobs, i, err);
    if (m->carrier->settle)
        m->carrier->settle(b);
    if (s == TC_OK)
        s = run_put_off(b, jobs, n, err);
    m->stats.run_seconds += tc_now() - start;
    return s;
}

static tc_status measure_group(const tc_meas_jobs *b, tc_meas_job *jobs, size_t n, tc_error *err) {
    tc_status s = b->m->carrier->build(b, jobs, n, true, err);
    if (s == TC_OK)
        s = run_all(b, jobs, n, err);
    for (size_t i = 0; i < n; i++)
        free(jobs[i].object);
    return s;
}

/* Of a carrier that has candidates measured elsewhere. */
static tc_status call_whole(const tc_meas_jobs *b, const tc_meas_call *c, tc_error *err) {
    const tc_meas_carrier *carrier = b->m->carrier;
    double start = tc_now();
    void *flight = NULL;
    tc_status s = c->n && !tc_meas_stopped(b->m) ? carrier->begin(b, c, &flight, err) : TC_OK;
    if (flight)
        s = carrier->end(flight, err);
    b->m->stats.run_seconds += tc_now() - start;
    return s;
}

struct tc_meas_flight {
    tc_meas_jobs b;
    size_t n;
    void *flight; /* of the carrier; NULL: nothing is under way there */
};

tc_status tc_meas_begin(tc_meas *m, const tc_meas_input *inputs, size_t n, tc_arena *arena, tc_record *out,
                        tc_meas_progress *progress, void *user, tc_meas_flight **flight, tc_error *err) {
    tc_meas_flight *f = tc_xcalloc(1, sizeof *f);
    *f = (tc_meas_flight){.b = {m, arena, tc_xcalloc(n ? n : 1, sizeof(tc_meas_job)), progress, user}, .n = n};
    *flight = NULL;
    for (size_t i = 0; i < n; i++) {
        f->b.job[i].in = &inputs[i];
        f->b.job[i].r = &out[i];
        begin_record(m, &f->b.job[i], arena);
    }
    tc_meas_call c = {.way = TC_MEAS_WAY_BATCH, .in = inputs, .n = n, .out = out};
    tc_status s = check_inputs(m, inputs, n, err);
    if (s == TC_OK && m->carrier->begin && n && !tc_meas_stopped(m))
        s = m->carrier->begin(&f->b, &c, &f->flight, err);
    if (s == TC_OK)
        *flight = f;
    else
        tc_meas_abandon(f);
    return s;
}

void tc_meas_abandon(tc_meas_flight *f) {
    if (f && f->flight)
        f->b.m->carrier->abandon(f->flight);
    if (f)
        free(f->b.job);
    free(f);
}

tc_status tc_meas_end(tc_meas_flight *f, tc_error *err) {
    tc_meas *m = f->b.m;
    tc_status s = TC_OK;
    double start = tc_now();
    if (f->flight) {
        s = m->carrier->end(f->flight, err);
        m->stats.run_seconds += tc_now() - start;
    }
    for (size_t i = 0; i < f->n && s == TC_OK && !m->carrier->begin && !tc_meas_stopped(m); i += GROUP)
        s = measure_group(&f->b, f->b.job + i, TC_MIN(f->n - i, (size_t)GROUP), err);
    free(f->b.job);
    free(f);
    return s;
}

bool tc_meas_overlaps(const tc_meas *m) {
    return m->carrier->begin != NULL;
}

void tc_meas_tend(const tc_meas *m) {
    if (m->carrier->tend)
        m->carrier->tend(m);
}

size_t tc_meas_appetite(const tc_meas *m) {
    return m->carrier->appetite ? m->carrier->appetite(m) : 0;
}

tc_status tc_meas_batch(tc_meas *m, const tc_meas_input *inputs, size_t n, tc_arena *arena, tc_record *out,
                        tc_meas_progress *progress, void *user, tc_error *err) {
    tc_meas_flight *f;
    tc_status s = tc_meas_begin(m, inputs, n, arena, out, progress, user, &f, err);
    return s == TC_OK ? tc_meas_end(f, err) : s;
}

tc_status tc_meas_kernel_time(tc_meas *m, const tc_meas_input *input, int samples, tc_arena *arena, tc_record *out,
                              tc_error *err) {
    tc_meas_input one = *input;
    double budget = m->o.budget;
    one.best = 0;
    one.again = true;
    one.samples = samples;
    m->o.budget = TC_MAX(budget, m->o.run_limit / 4);
    tc_status s = tc_meas_batch(m, &one, 1, arena, out, NULL, NULL, err);
    m->o.budget = budget;
    return s;
}

/* ---- building alone ---- */

static tc_meas_made made_of(const tc_meas_job *j, tc_arena *a) {
    const tc_record *r = j->r;
    tc_meas_made made = {.error = j->ready ? TC_MEAS_NONE : r->error,
                         .message = j->ready ? "" : r->message,
                         .signal = r->signal,
                         .program = r->program,
                         .workspace = j->workspace,
                         .seconds = r->build_seconds};
    if (j->ready) {
        made.object = tc_arena_dup(a, j->object, j->size);
        made.size = j->size;
    }
    return made;
}

static tc_status build_group(const tc_meas_jobs *b, tc_meas_job *jobs, size_t n, tc_meas_made *out, tc_error *err) {
    tc_status s = b->m->carrier->build(b, jobs, n, false, err);
    for (size_t i = 0; i < n; i++) {
        out[i] = made_of(&jobs[i], b->a);
        free(jobs[i].object);
    }
    return s;
}

tc_status tc_meas_build(tc_meas *m, const tc_meas_input *inputs, size_t n, tc_arena *arena, tc_meas_made *out, tc_error *err) {
    tc_meas_jobs b = {m, arena, tc_xcalloc(n ? n : 1, sizeof(tc_meas_job)), NULL, NULL};
    tc_meas_input *in = tc_arena_dup(arena, inputs, n * sizeof *inputs);
    tc_record *made = TC_NEW_N(arena, tc_record, n);
    for (size_t i = 0; i < n; i++) {
        in[i].again = true;
        b.job[i].in = &in[i];
        b.job[i].r = &made[i];
        begin_record(m, &b.job[i], arena);
        out[i] = made_of(&b.job[i], arena);
    }
    tc_status s = check_inputs(m, inputs, n, err);
    if (s == TC_OK && m->carrier != &tc_meas_processes)
        s = tc_fail(err, TC_BAD_INPUT, "only processes of this machine can build objects: build without a fleet");
    for (size_t i = 0; i < n && s == TC_OK && !tc_meas_stopped(m); i += GROUP)
        s = build_group(&b, b.job + i, TC_MIN(n - i, (size_t)GROUP), out + i, err);
    free(b.job);
    return s;
}

/* ---- in turns ---- */

typedef struct turns {
    const tc_meas_jobs *b;
    size_t n;                   /* candidates */
    const tc_meas_guest *guest; /* NULL: none */
    int rounds;
    double *seconds; /* [n + 1][rounds] */
} turns;

/* One round, forwards or backwards. *whole: all have a time. */
static tc_status run_round(const turns *t, int round, bool *whole, tc_error *err) {
    size_t all = t->n + (t->guest != NULL);
    *whole = false;
    for (size_t k = 0; k < all; k++) {
        size_t i = round % 2 ? all - 1 - k : k;
        double *out = &t->seconds[i * (size_t)t->rounds + (size_t)round];
        if (tc_meas_stopped(t->b->m))
            return TC_OK;
        if (i == t->n) {
            TC_TRY(t->guest->turn(t->guest->user, out, err));
            continue;
        }
        tc_meas_job *j = &t->b->job[i];
        TC_TRY(run_quietly(t->b, j, err));
        j->r->when_ms = tc_meas_now_ms();
        if (!tc_record_ok(j->r))
            return TC_OK;
        *out = j->r->median;
    }
    *whole = true;
    return TC_OK;
}

static tc_status run_rounds(const turns *t, int *done, tc_error *err) {
    for (bool whole = true; *done < t->rounds && whole; *done += whole)
        TC_TRY(run_round(t, *done, &whole, err));
    return TC_OK;
}

/* The record of all rounds, from that of the last one. */
static void sum_up(tc_record *r, const double *seconds, int done, tc_arena *arena) {
    if (!tc_record_ok(r) || done == 0)
        return;
    r->ntimes = (size_t)done;
    r->times = tc_arena_dup(arena, seconds, r->ntimes * sizeof *seconds);
    r->median = tc_meas_median(r->times, r->ntimes);
    r->rounds = done;
}

/* Builds all, then runs them. */
static tc_status take_turns(const turns *t, int *done, tc_error *err) {
    bool ready = true;
    tc_status s = t->b->m->carrier->build(t->b, t->b->job, t->n, false, err);
    for (size_t i = 0; i < t->n; i++)
        ready &= t->b->job[i].ready;
    if (s == TC_OK && ready)
        s = run_rounds(t, done, err);
    for (size_t i = 0; i < t->n; i++) {
        sum_up(t->b->job[i].r, t->seconds + i * (size_t)t->rounds, *done, t->b->a);
        free(t->b->job[i].object);
    }
    return s;
}

tc_status tc_meas_interleave(tc_meas *m, const tc_meas_input *inputs, size_t n, const tc_meas_guest *guest, int rounds,
                             tc_arena *arena, tc_record *out, double *seconds, int *done, tc_error *err) {
    tc_meas_jobs b = {m, arena, tc_xcalloc(n ? n : 1, sizeof(tc_meas_job)), NULL, NULL};
    turns t = {&b, n, guest, rounds, seconds};
    tc_meas_call whole = {TC_MEAS_WAY_TURNS, inputs, n, NULL, 0, rounds, out, seconds, done};
    *done = 0;
    for (size_t i = 0; i < n; i++) {
        b.job[i].in = &inputs[i];
        b.job[i].r = &out[i];
        begin_record(m, &b.job[i], arena);
    }
    tc_status s = check_inputs(m, inputs, n, err);
    if (s == TC_OK)
        s = !m->carrier->begin ? take_turns(&t, done, err)
            : !guest           ? call_whole(&b, &whole, err)
                               : tc_fail(err, TC_BAD_INPUT,
                                         "a guest in this process cannot take turns with kernels that other machines measure: compare "
                                                   "without the fleet");
    free(b.job);
    return s;
}

/* ---- over sizes ---- */

/* After so many rounds in which a program was clearly slower than the best it is out of the race: one alone may be the machine's
 * doing. */
enum { SLOW_ROUNDS = 2 };

typedef struct field {
    const tc_meas_jobs *b; /* its jobs are what was built */
    size_t n, npoint;
    const char *const *sizes;
    int rounds;
    tc_record *out;
    double *seconds; /* [program][round], of one point */
    int *done;       /* rounds of each program there */
    int *slow;       /* of these, those in which it was clearly slower than the best */
} field;

static tc_record *record_at(const field *f, size_t program, size_t point) {
    return &f->out[program * f->npoint + point];
}

/* Whether the program is to be run there: it was built, and went wrong nowhere before. Its record takes over why not. */
static bool may_run(const field *f, size_t i, size_t point) {
    const tc_record *before = point ? record_at(f, i, point - 1) : f->b->job[i].r;
    bool failed = tc_meas_error_is(before->error, TC_MEAS_DISPROVES) || tc_meas_error_is(before->error, TC_MEAS_UNRELIABLE);
    bool good = point ? !failed : f->b->job[i].ready;
    tc_record *r = record_at(f, i, point);
    r->program = f->b->job[i].r->program;
    r->build_seconds = f->b->job[i].r->build_seconds;
    if (!good) {
        tc_meas_end_with(r, f->b->a, before->error, before->message);
        r->signal = before->signal;
    }
    return good && f->b->job[i].ready;
}

static double best_there(const field *f) {
    double best = INFINITY;
    for (size_t i = 0; i < f->n; i++)
        if (f->done[i])
            best = TC_MIN(best, tc_meas_median(f->seconds + i * (size_t)f->rounds, (size_t)f->done[i]));
    return isfinite(best) ? best : 0;
}

/* One run of program i. */
static tc_status run_there(const field *f, size_t i, size_t point, tc_error *err) {
    tc_meas_input in = *f->b->job[i].in;
    tc_meas_job j = f->b->job[i];
    in.sizes = f->sizes[point];
    j.in = &in;
    j.r = record_at(f, i, point);
    j.best = best_there(f);
    j.patient = true;
    TC_TRY(run_quietly(f->b, &j, err));
    f->b->job[i].repeats = j.repeats;
    j.r->when_ms = tc_meas_now_ms();
    if (tc_record_ok(j.r))
        f->seconds[i * (size_t)f->rounds + (size_t)f->done[i]++] = j.r->median;
    return TC_OK;
}

/* Those that are still in the race, forwards or backwards. */
static tc_status run_turn(const field *f, size_t point, int round, bool *in, tc_error *err) {
    for (size_t k = 0; k < f->n; k++) {
        size_t i = round % 2 ? f->n - 1 - k : k;
        if (!in[i] || tc_meas_stopped(f->b->m))
            continue;
        TC_TRY(run_there(f, i, point, err));
        f->slow[i] += record_at(f, i, point)->stopped_early;
        in[i] = tc_record_ok(record_at(f, i, point)) && f->slow[i] < SLOW_ROUNDS;
    }
    return TC_OK;
}

static tc_status run_point(const field *f, size_t point, tc_error *err) {
    const tc_meas_jobs *b = f->b;
    bool *in = TC_NEW_N(b->a, bool, f->n);
    tc_status s = TC_OK;
    for (size_t i = 0; i < f->n; i++) {
        tc_meas_input at = *b->job[i].in;
        at.sizes = f->sizes[point];
        begin_record(b->m, &(tc_meas_job){.in = &at, .r = record_at(f, i, point)}, b->a);
        in[i] = may_run(f, i, point);
        f->done[i] = f->slow[i] = 0;
    }
    for (int round = 0; round < f->rounds && s == TC_OK; round++)
        s = run_turn(f, point, round, in, err);
    for (size_t i = 0; i < f->n; i++) {
        tc_record *r = record_at(f, i, point);
        sum_up(r, f->seconds + i * (size_t)f->rounds, f->done[i], b->a);
        if (b->progress && r->error != TC_MEAS_INTERRUPTED)
            b->progress(b->user, i * f->npoint + point, r);
    }
    return s;
}

/* Builds all, then runs them at one size after the other. */
static tc_status run_field(const field *f, const tc_meas_jobs *built, tc_error *err) {
    tc_meas *m = f->b->m;
    tc_status s = f->n ? m->carrier->build(built, built->job, f->n, false, err) : TC_OK;
    double start = tc_now();
    for (size_t p = 0; p < f->npoint && s == TC_OK; p++)
        s = run_point(f, p, err);
    m->stats.run_seconds += tc_now() - start;
    for (size_t i = 0; i < f->n; i++)
        free(built->job[i].object);
    return s;
}

/* The same, of a carrier that has it done elsewhere. */
static tc_status call_field(const field *f, const tc_meas_input *in, tc_error *err) {
    for (size_t i = 0; i < f->n * f->npoint; i++) {
        tc_meas_input at = in[i / f->npoint];
        at.sizes = f->sizes[i % f->npoint];
        begin_record(f->b->m, &(tc_meas_job){.in = &at, .r = &f->out[i]}, f->b->a);
    }
    return call_whole(f->b, &(tc_meas_call){TC_MEAS_WAY_SIZES, in, f->n, f->sizes, f->npoint, f->rounds, f->out, NULL, NULL},
                      err);
}

tc_status tc_meas_over_sizes(tc_meas *m, const tc_meas_input *programs, size_t n, const char *const *sizes, size_t npoint,
                             int rounds, tc_arena *arena, tc_record *out, tc_meas_progress *progress, void *user, tc_error *err) {
    tc_meas_jobs built = {m, arena, tc_xcalloc(n + 1, sizeof(tc_meas_job)), NULL, NULL},
                 b = {m, arena, built.job, progress, user};
    field f = {&b,
               n,
               npoint,
               sizes,
               rounds,
               out,
               TC_NEW_N(arena, double, n *(size_t)rounds),
               TC_NEW_N(arena, int, n),
               TC_NEW_N(arena, int, n)};
    tc_record *made = TC_NEW_N(arena, tc_record, n);
    tc_meas_input *in = tc_arena_dup(arena, programs, n * sizeof *programs);
    for (size_t i = 0; i < n; i++) {
        in[i].again = true;
        b.job[i].in = &in[i];
        b.job[i].r = &made[i];
        begin_record(m, &b.job[i], arena);
    }
    tc_status s = check_inputs(m, programs, n, err);
    if (s == TC_OK)
        s = m->carrier->begin ? call_field(&f, in, err) : run_field(&f, &built, err);
    free(b.job);
    return s;
}
