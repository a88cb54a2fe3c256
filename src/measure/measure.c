/* Batches: builds on all cores, then runs one after the other, so that no compiler disturbs a timing. */
#include "measure/measure.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "codegen/code/target.h"
#include "measure/drift.h"
#include "measure/process.h"
#include "measure/simulate.h"
#include "measure/worker_int.h"
#include "support/log.h"
#include "support/map.h"

enum {
    WIDER = 2,         /* times the repeats, and the doubt, while others use the machine */
    GROUP = 64,        /* candidates built before they are run: bounds the memory for objects */
    RUNNER_LIFE = 4000 /* candidates after which the runner is replaced: whatever leaks in it stays bounded */
};

/* A best is expected to run slower than it did by no more: beyond that it is not the clock, and racing would be given up. */
#define MOST_SLOWDOWN 1.5

struct tc_meas {
    tc_meas_options o;
    char *target, *exe, *worker_arg, threads_env[32], host[256];
    const char *runner_env[2], *builder_env[2];
    int nbuilder;
    tc_meas_proc *builders;
    tc_meas_proc runner;
    size_t runs; /* of the current runner process */
    tc_meas_drift drift;
    tc_meas_sim *sim; /* times are computed: neither builders nor runner are started. NULL: they are taken */
    tc_map seen;      /* workload, program and mode -> measured before */
    tc_meas_stats stats;
};

/* What one candidate carries from building to running. */
typedef struct job {
    const tc_meas_input *in;
    tc_record *r;
    void *object;
    size_t size;
    uint64_t workspace;
    double best;      /* seconds of the best that it is raced against; 0: none */
    double simulated; /* seconds of its program */
    uint64_t repeats; /* simulated before */
    bool ready;       /* built, waits to run */
} job;

/* One call of tc_meas_batch. */
typedef struct batch {
    tc_meas *m;
    tc_arena *a;
    job *jobs;
    tc_meas_progress *progress;
    void *user;
} batch;

/* ---- construction ---- */

static double or_default(double v, double d) {
    return v > 0 ? v : d;
}

static int or_cores(int n) {
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    return n > 0 ? n : (int)TC_MAX(cores, 1L);
}

static uint64_t physical_memory(void) {
    long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    return pages > 0 && page > 0 ? (uint64_t)pages * (uint64_t)page : (uint64_t)8 << 30;
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
        o->memory_limit = physical_memory() / 2;
}

static tc_status check_target(const char *text, tc_error *err) {
    tc_target *t;
    TC_TRY(tc_target_parse(text, &t, err));
    bool native = t->native;
    tc_target_free(t);
    if (!native)
        return tc_fail(
            err, TC_BAD_INPUT,
            "target `%s` does not run on this machine, so nothing can be measured for it. Tune on such a machine, or build from "
            "records that were made there",
            text);
    return TC_OK;
}

tc_status tc_meas_new(const tc_meas_options *o, tc_meas **out, tc_error *err) {
    *out = NULL;
    tc_meas_sim *sim = NULL;
    if (o->mode == TC_MEAS_SIMULATED)
        TC_TRY(tc_meas_sim_new(o->target, or_cores(o->threads), &sim, err));
    else
        TC_TRY(check_target(o->target, err));
    tc_meas *m = tc_xcalloc(1, sizeof *m);
    m->o = *o;
    m->sim = sim;
    apply_defaults(&m->o);
    m->target = tc_xstrdup(o->target);
    m->exe = o->exe ? tc_xstrdup(o->exe) : NULL;
    m->worker_arg = o->worker_arg ? tc_xstrdup(o->worker_arg) : NULL;
    gethostname(m->host, sizeof m->host - 1);
    snprintf(m->threads_env, sizeof m->threads_env, "OMP_NUM_THREADS=%d", m->o.threads);
    m->runner_env[0] = m->threads_env;
    m->builder_env[0] = "OMP_NUM_THREADS=1"; /* there is a builder per core already */
    tc_meas_proc_options p = {.exe = m->exe, .arg = m->worker_arg, .env = m->builder_env, .memory_limit = m->o.memory_limit};
    m->nbuilder = m->o.builders;
    m->builders = tc_xcalloc((size_t)m->nbuilder, sizeof *m->builders);
    for (int i = 0; i < m->nbuilder; i++)
        tc_meas_proc_init(&m->builders[i], &p);
    p.env = m->runner_env;
    tc_meas_proc_init(&m->runner, &p);
    *out = m;
    return TC_OK;
}

void tc_meas_free(tc_meas *m) {
    if (!m)
        return;
    for (int i = 0; i < m->nbuilder; i++)
        tc_meas_proc_close(&m->builders[i]);
    tc_meas_proc_close(&m->runner);
    tc_meas_sim_free(m->sim);
    tc_map_free(&m->seen);
    free(m->builders);
    free(m->target);
    free(m->exe);
    free(m->worker_arg);
    free(m);
}

int tc_meas_threads(const tc_meas *m) {
    return m->o.threads;
}

tc_meas_calm tc_meas_get_calm(const tc_meas *m) {
    return tc_meas_drift_state(&m->drift);
}

void tc_meas_set_deadline(tc_meas *m, double deadline) {
    m->o.deadline = deadline;
}

tc_meas_stats tc_meas_get_stats(const tc_meas *m) {
    tc_meas_stats s = m->stats;
    for (int i = 0; i < m->nbuilder; i++)
        s.restarts += m->builders[i].starts > 1 ? m->builders[i].starts - 1 : 0;
    s.restarts += m->runner.starts > 1 ? m->runner.starts - 1 : 0;
    return s;
}

/* ---- records ---- */

static bool stopped(const tc_meas *m) {
    return (m->o.stop && *m->o.stop) || (m->o.deadline > 0 && tc_now() >= m->o.deadline);
}

static void set_error(tc_record *r, tc_arena *a, tc_meas_error e, const char *message) {
    r->error = e;
    r->message = tc_arena_strdup(a, message);
    r->ntimes = 0;
    r->median = INFINITY;
    r->verified = false;
}

static tc_meas_mode mode_of(const tc_meas *m, const tc_meas_input *in) {
    return in->cold && m->o.mode == TC_MEAS_HOT ? TC_MEAS_COLD : m->o.mode;
}

static void begin_record(const tc_meas *m, job *j, tc_arena *a) {
    tc_record *r = j->r;
    *r = tc_meas_record_empty();
    tc_meas_record_identify(a, r, j->in->workload, j->in->workload_hash, m->target, j->in->trace);
    r->threads = m->o.threads;
    r->mode = mode_of(m, j->in);
    r->tctune_version = TCTUNE_VERSION;
    r->llvm_version = tc_cg_llvm_version();
    r->host = tc_arena_strdup(a, m->host);
    r->when_ms = tc_meas_now_ms();
    set_error(r, a, TC_MEAS_INTERRUPTED, tc_meas_error_meaning(TC_MEAS_INTERRUPTED));
}

static void record_death(job *j, tc_arena *a, const tc_meas_proc *p, bool running) {
    tc_strbuf b = {0};
    tc_meas_death_text(&p->death, &b);
    tc_meas_error crash = running ? TC_MEAS_RUN_CRASH : TC_MEAS_BUILD_CRASH,
                  memory = running ? TC_MEAS_RUN_MEMORY : TC_MEAS_BUILD_MEMORY;
    set_error(j->r, a, p->death.memory ? memory : crash, tc_sb_str(&b));
    j->r->signal = p->death.signal;
    tc_strbuf_free(&b);
}

static void record_timeout(job *j, tc_arena *a, double limit, bool running) {
    set_error(j->r, a, running ? TC_MEAS_RUN_TIMEOUT : TC_MEAS_BUILD_TIMEOUT,
              tc_arena_printf(a, "killed after %g s: %s", limit,
                              tc_meas_error_meaning(running ? TC_MEAS_RUN_TIMEOUT : TC_MEAS_BUILD_TIMEOUT)));
}

/* An error kind that came over the wire. */
static tc_meas_error received_kind(uint64_t v, tc_meas_error otherwise) {
    return v < TC_MEAS_NERRORS && v != TC_MEAS_INTERRUPTED ? (tc_meas_error)v : otherwise;
}

/* ---- building ---- */

static bool seen_before(tc_meas *m, const job *j) {
    uint64_t key =
        tc_hash64(j->in->workload_hash.hex, sizeof j->in->workload_hash.hex, j->r->program + (j->r->mode == TC_MEAS_COLD));
    return !tc_map_put(&m->seen, key, 1) && !j->in->again;
}

static void take_built(tc_meas *m, job *j, tc_meas_proc *p, tc_arena *a) {
    tc_meas_reader r = tc_meas_reader_of(p->reply, p->reply_size);
    tc_meas_error e = received_kind(tc_meas_get_u64(&r), TC_MEAS_BUILD_FAILED);
    const char *message = tc_meas_get_text(&r, a);
    j->r->program = tc_meas_get_u64(&r);
    j->r->build_seconds = tc_meas_get_f64(&r);
    j->workspace = tc_meas_get_u64(&r);
    const void *object = tc_meas_get_bytes(&r, &j->size);
    if (p->reply_type != TC_MEAS_MSG_BUILT || !tc_meas_reader_done(&r)) {
        set_error(j->r, a, TC_MEAS_BUILD_CRASH, "the builder's answer is malformed");
        tc_meas_proc_kill(p);
        return;
    }
    if (e != TC_MEAS_NONE) {
        set_error(j->r, a, e, message);
        return;
    }
    m->stats.built++;
    if (seen_before(m, j)) {
        set_error(j->r, a, TC_MEAS_DUPLICATE, tc_meas_error_meaning(TC_MEAS_DUPLICATE));
        return;
    }
    j->object = tc_xmalloc(j->size + 1);
    memcpy(j->object, object, j->size);
    j->ready = true;
}

static tc_status send_build(tc_meas *m, tc_meas_proc *p, const job *j, tc_error *err) {
    tc_strbuf b = {0};
    tc_meas_put_text(&b, j->in->workload);
    tc_meas_put_text(&b, j->in->trace);
    tc_meas_put_text(&b, m->target);
    tc_meas_put_u64(&b, (uint64_t)m->o.threads);
    tc_status s = tc_meas_proc_send(p, TC_MEAS_MSG_BUILD, b.data, b.len, m->o.build_limit, err);
    tc_strbuf_free(&b);
    return s;
}

static void report(const batch *b, const job *j) {
    if (b->progress && j->r->error != TC_MEAS_INTERRUPTED)
        b->progress(b->user, (size_t)(j - b->jobs), j->r);
}

static void finish_build(const batch *b, job *j, tc_meas_proc *p, tc_meas_event ev) {
    if (ev == TC_MEAS_EV_REPLY)
        take_built(b->m, j, p, b->a);
    else if (ev == TC_MEAS_EV_TIMEOUT)
        record_timeout(j, b->a, b->m->o.build_limit, false);
    else
        record_death(j, b->a, p, false);
    if (!j->ready)
        report(b, j);
}

/* Keeps every builder busy until all jobs are built or the stop flag is up. at[i]: what builder i works on, NULL when idle. */
static tc_status build_loop(const batch *b, tc_meas_proc **procs, job **at, job *jobs, size_t n, tc_error *err) {
    size_t next = 0;
    for (;;) {
        for (int i = 0; i < b->m->nbuilder && next < n && !stopped(b->m); i++) {
            if (at[i])
                continue;
            TC_TRY(send_build(b->m, procs[i], &jobs[next], err));
            at[i] = &jobs[next++];
        }
        tc_meas_event ev;
        int i = tc_meas_proc_wait(procs, (size_t)b->m->nbuilder, b->m->o.stop, &ev);
        if (i < 0)
            return TC_OK;
        job *j = at[i];
        at[i] = NULL;
        finish_build(b, j, procs[i], ev);
    }
}

static void simulate_build(const batch *b, job *j) {
    tc_error err = {0};
    tc_record *r = j->r;
    if (tc_meas_sim_program(b->m->sim, j->in->workload, j->in->trace, &r->program, &j->simulated, &err) != TC_OK)
        set_error(r, b->a, TC_MEAS_ILLEGAL, err.msg);
    else if (seen_before(b->m, j))
        set_error(r, b->a, TC_MEAS_DUPLICATE, tc_meas_error_meaning(TC_MEAS_DUPLICATE));
    else
        j->ready = true;
    if (!j->ready)
        report(b, j);
}

static tc_status build_all(const batch *b, job *jobs, size_t n, tc_error *err) {
    tc_meas *m = b->m;
    double start = tc_now();
    for (size_t i = 0; m->sim && i < n && !stopped(m); i++)
        simulate_build(b, &jobs[i]);
    if (m->sim)
        return TC_OK;
    tc_meas_proc **procs = tc_xcalloc((size_t)m->nbuilder, sizeof(tc_meas_proc *));
    job **at = tc_xcalloc((size_t)m->nbuilder, sizeof(job *));
    for (int i = 0; i < m->nbuilder; i++)
        procs[i] = &m->builders[i];
    tc_status s = build_loop(b, procs, at, jobs, n, err);
    for (int i = 0; i < m->nbuilder; i++)
        if (at[i])
            tc_meas_proc_kill(procs[i]); /* stopped in the middle: its answer would come at the wrong time */
    free(procs);
    free(at);
    m->stats.build_seconds += tc_now() - start;
    return s;
}

/* ---- running ---- */

typedef struct request {
    tc_meas_msg type, answer;
    const tc_strbuf *payload;
    double limit;
} request;

/* One request to the runner and its answer. *answered false: j->r has become a failure, or stays INTERRUPTED. */
static tc_status ask_runner(const batch *b, job *j, const request *q, bool *answered, tc_error *err) {
    tc_meas_proc *p = &b->m->runner;
    tc_meas_event ev;
    *answered = false;
    TC_TRY(tc_meas_proc_send(p, q->type, q->payload->data, q->payload->len, q->limit, err));
    tc_meas_proc_wait(&p, 1, b->m->o.stop, &ev);
    switch (ev) {
    case TC_MEAS_EV_NONE:
        tc_meas_proc_kill(p);
        break;
    case TC_MEAS_EV_TIMEOUT:
        record_timeout(j, b->a, q->limit, true);
        break;
    case TC_MEAS_EV_DIED:
        record_death(j, b->a, p, true);
        break;
    case TC_MEAS_EV_REPLY:
        *answered = p->reply_type == q->answer;
        if (!*answered) {
            set_error(j->r, b->a, TC_MEAS_RUN_CRASH, "the runner's answer is malformed");
            tc_meas_proc_kill(p);
        }
        break;
    }
    return TC_OK;
}

/* Has the runner make inputs and reference of the workload, unless it has them. */
static tc_status prepare(const batch *b, job *j, bool *ready, tc_error *err) {
    tc_strbuf payload = {0};
    tc_meas_put_text(&payload, j->in->workload);
    tc_meas_put_u64(&payload, b->m->o.seed);
    tc_status s =
        ask_runner(b, j, &(request){TC_MEAS_MSG_PREPARE, TC_MEAS_MSG_PREPARED, &payload, b->m->o.prepare_limit}, ready, err);
    tc_strbuf_free(&payload);
    if (s != TC_OK || !*ready)
        return s;
    tc_meas_reader r = tc_meas_reader_of(b->m->runner.reply, b->m->runner.reply_size);
    tc_meas_error e = received_kind(tc_meas_get_u64(&r), TC_MEAS_RUN_FAILED);
    const char *message = tc_meas_get_text(&r, b->a);
    *ready = tc_meas_reader_done(&r) && e == TC_MEAS_NONE;
    if (!*ready)
        set_error(j->r, b->a, e == TC_MEAS_NONE ? TC_MEAS_RUN_CRASH : e, message);
    return TC_OK;
}

static void take_ran(tc_meas *m, job *j, tc_arena *a) {
    tc_meas_proc *p = &m->runner;
    tc_meas_reader r = tc_meas_reader_of(p->reply, p->reply_size);
    size_t bytes;
    tc_meas_error e = received_kind(tc_meas_get_u64(&r), TC_MEAS_RUN_FAILED);
    const char *message = tc_meas_get_text(&r, a);
    const void *times = tc_meas_get_bytes(&r, &bytes);
    bool verified = tc_meas_get_u64(&r) != 0;
    j->r->max_error = tc_meas_get_f64(&r);
    j->r->stopped_early = tc_meas_get_u64(&r) != 0;
    j->r->run_seconds = tc_meas_get_f64(&r);
    double reference = tc_meas_get_f64(&r);
    if (!tc_meas_reader_done(&r) || bytes % sizeof(double) != 0 || (e == TC_MEAS_NONE && bytes == 0)) {
        set_error(j->r, a, TC_MEAS_RUN_CRASH, "the runner's answer is malformed");
        tc_meas_proc_kill(p);
        return;
    }
    set_error(j->r, a, e, message);
    if (e != TC_MEAS_NONE)
        return;
    j->r->verified = verified;
    j->r->ntimes = bytes / sizeof(double);
    j->r->times = tc_arena_dup(a, times, bytes);
    j->r->median = tc_meas_median(j->r->times, j->r->ntimes);
    tc_meas_drift_add(&m->drift, reference, j->r->times, j->r->ntimes);
}

/* Seconds that a candidate may take: no more than one that could be of use, where a best is known. */
static double run_limit(const tc_meas *m, const job *j) {
    double useful = 3 + m->o.budget + 300 * j->best;
    return j->best > 0 && m->o.early_stop > 0 ? TC_MIN(m->o.run_limit, useful) : m->o.run_limit;
}

static void put_run(const tc_meas *m, const job *j, tc_strbuf *b) {
    tc_meas_calm calm = tc_meas_drift_state(&m->drift);
    bool disturbed = calm.disturbed;
    int samples = j->in->samples > 0 ? j->in->samples : m->o.samples;
    tc_meas_timing t = {.threads = m->o.threads,
                        .samples = disturbed ? WIDER * samples : samples,
                        .min_sample = m->o.min_sample,
                        .budget = m->o.budget,
                        .best = j->best * TC_MIN(calm.slowdown, MOST_SLOWDOWN), /* was taken on a machine at its best */
                        .early_stop = TC_MAX(m->o.early_stop, 0.0),
                        .doubt = disturbed ? WIDER : 1,
                        .mode = mode_of(m, j->in),
                        .verify = !m->o.no_verify};
    tc_meas_put_text(b, j->in->workload);
    tc_meas_put_u64(b, m->o.seed);
    tc_meas_put_text(b, j->in->trace);
    tc_meas_put_text(b, m->target);
    tc_meas_put_bytes(b, j->object, j->size);
    tc_meas_put_u64(b, j->workspace);
    tc_meas_put_timing(b, &t);
}

static void simulate_run(const batch *b, job *j) {
    tc_record *r = j->r;
    size_t n = (size_t)(j->in->samples > 0 ? j->in->samples : b->m->o.samples);
    double *times = TC_NEW_N(b->a, double, n);
    tc_meas_sim_times(r->program, j->simulated, j->repeats, times, n);
    j->repeats += n;
    set_error(r, b->a, TC_MEAS_NONE, "");
    r->verified = true; /* of its kind: records of this mode are never built into anything */
    r->times = times;
    r->ntimes = n;
    r->median = tc_meas_median(times, n);
}

static tc_status run_one(const batch *b, job *j, tc_error *err) {
    tc_meas *m = b->m;
    bool ready, ran;
    tc_strbuf payload = {0};
    if (m->sim) {
        simulate_run(b, j);
        return TC_OK;
    }
    if (m->runs++ >= RUNNER_LIFE) {
        tc_meas_proc_kill(&m->runner);
        m->runs = 0;
    }
    TC_TRY(prepare(b, j, &ready, err));
    if (!ready)
        return TC_OK;
    put_run(m, j, &payload);
    tc_status s = ask_runner(b, j, &(request){TC_MEAS_MSG_RUN, TC_MEAS_MSG_RAN, &payload, run_limit(m, j)}, &ran, err);
    if (s == TC_OK && ran)
        take_ran(m, j, b->a);
    tc_strbuf_free(&payload);
    m->stats.ran++;
    return s;
}

/* What job i is raced against: the best that the caller knows or that this group has shown. */
static double best_so_far(const job *jobs, size_t i) {
    double best = jobs[i].in->best > 0 ? jobs[i].in->best : INFINITY;
    for (size_t k = 0; k < i; k++)
        if (tc_record_ok(jobs[k].r) && jobs[k].r->verified && jobs[k].r->mode == jobs[i].r->mode &&
            strcmp(jobs[k].in->workload, jobs[i].in->workload) == 0)
            best = TC_MIN(best, jobs[k].r->median);
    return isfinite(best) ? best : 0;
}

static tc_status run_all(const batch *b, job *jobs, size_t n, tc_error *err) {
    tc_meas *m = b->m;
    double start = tc_now();
    tc_status s = TC_OK;
    for (size_t i = 0; i < n && s == TC_OK && !stopped(m); i++) {
        if (!jobs[i].ready)
            continue;
        jobs[i].best = best_so_far(jobs, i);
        s = run_one(b, &jobs[i], err);
        jobs[i].r->when_ms = tc_meas_now_ms();
        if (s == TC_OK)
            report(b, &jobs[i]);
    }
    m->stats.run_seconds += tc_now() - start;
    return s;
}

/* ---- batches ---- */

static tc_status measure_group(const batch *b, job *jobs, size_t n, tc_error *err) {
    tc_status s = build_all(b, jobs, n, err);
    if (s == TC_OK)
        s = run_all(b, jobs, n, err);
    for (size_t i = 0; i < n; i++)
        free(jobs[i].object);
    return s;
}

tc_status tc_meas_batch(tc_meas *m, const tc_meas_input *inputs, size_t n, tc_arena *arena, tc_record *out,
                        tc_meas_progress *progress, void *user, tc_error *err) {
    tc_status s = TC_OK;
    batch b = {m, arena, tc_xcalloc(n ? n : 1, sizeof(job)), progress, user};
    for (size_t i = 0; i < n; i++) {
        b.jobs[i].in = &inputs[i];
        b.jobs[i].r = &out[i];
        begin_record(m, &b.jobs[i], arena);
    }
    for (size_t i = 0; i < n && s == TC_OK && !stopped(m); i += GROUP)
        s = measure_group(&b, b.jobs + i, TC_MIN(n - i, (size_t)GROUP), err);
    free(b.jobs);
    return s;
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

/* ---- in turns ---- */

typedef struct turns {
    const batch *b;
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
        if (stopped(t->b->m))
            return TC_OK;
        if (i == t->n) {
            TC_TRY(t->guest->turn(t->guest->user, out, err));
            continue;
        }
        job *j = &t->b->jobs[i];
        TC_TRY(run_one(t->b, j, err));
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

tc_status tc_meas_interleave(tc_meas *m, const tc_meas_input *inputs, size_t n, const tc_meas_guest *guest, int rounds,
                             tc_arena *arena, tc_record *out, double *seconds, int *done, tc_error *err) {
    batch b = {m, arena, tc_xcalloc(n ? n : 1, sizeof(job)), NULL, NULL};
    turns t = {&b, n, guest, rounds, seconds};
    bool ready = true;
    *done = 0;
    for (size_t i = 0; i < n; i++) {
        b.jobs[i].in = &inputs[i];
        b.jobs[i].r = &out[i];
        begin_record(m, &b.jobs[i], arena);
    }
    tc_status s = build_all(&b, b.jobs, n, err);
    for (size_t i = 0; i < n; i++)
        ready &= b.jobs[i].ready;
    if (s == TC_OK && ready)
        s = run_rounds(&t, done, err);
    for (size_t i = 0; i < n; i++) {
        sum_up(&out[i], seconds + i * (size_t)rounds, *done, arena);
        free(b.jobs[i].object);
    }
    free(b.jobs);
    return s;
}
