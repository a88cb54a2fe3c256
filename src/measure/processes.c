/* Jobs carried by processes of this machine: builders on all cores, then one runner, so that no compiler disturbs a timing. */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "codegen/target/target.h"
#include "measure/machine/peak.h"
#include "measure/measure_int.h"
#include "measure/process/process.h"
#include "support/log.h"
#include "support/system/emulation.h"
#include "support/system/user_folder.h"
#include "support/vec.h"

enum {
    WIDER = 2,         /* times the repeats, and the doubt, while others use the machine */
    RUNNER_LIFE = 4000 /* candidates after which the runner is replaced: whatever leaks in it stays bounded */
};

/* What a builder comes by with: LLVM takes some 200 MB for the largest kernels. */
static const uint64_t BUILDER_MEMORY = 512 << 20;

/* A best is expected to run slower than it did by no more: beyond that it is not the clock, and racing would be given up. */
#define MOST_SLOWDOWN 1.5

typedef struct processes {
    char threads_env[32];
    const char *runner_env[3], *builder_env[2];
    char *folder; /* of compiled objects, which builders may use; NULL: none */
    int nbuilder;
    tc_meas_proc *builders;
    tc_meas_proc runner;
    size_t runs; /* of the current runner process */
} processes;

/* ---- construction ---- */

static tc_status check_target(const char *text, bool runs, tc_error *err) {
    tc_target *t;
    TC_TRY(tc_target_parse(text, &t, err));
    bool native = t->native;
    tc_target_free(t);
    if (runs && !native)
        return tc_fail(
            err, TC_BAD_INPUT,
            "target `%s` does not run on this machine, so nothing can be measured for it. Tune on such a machine, or build from "
            "records that were made there",
            text);
    return TC_OK;
}

/* Of the memory that all workers may have together, two thirds are the runner's, who holds tensors. The builders share the rest, and are
 * no more than it is enough for. Where there is only one of both kinds, it has all. */
typedef struct share {
    uint64_t runner, builder;
    int builders;
} share;

static share share_of(const tc_meas *m) {
    if (m->o.supplier)
        return (share){.runner = m->o.memory_limit};
    uint64_t rest = m->o.only_build ? m->o.memory_limit : m->o.memory_limit / 3;
    int builders = (int)TC_MIN((uint64_t)m->o.builders, TC_MAX(rest / BUILDER_MEMORY, 1));
    return (share){.runner = m->o.memory_limit - rest, .builder = rest / (uint64_t)builders, .builders = builders};
}

static tc_status open_processes(const tc_meas *m, void **state, tc_error *err) {
    TC_TRY(check_target(m->o.target, !m->o.only_build, err));
    processes *x = tc_xcalloc(1, sizeof *x);
    snprintf(x->threads_env, sizeof x->threads_env, "OMP_NUM_THREADS=%d", m->o.threads);
    x->runner_env[0] = x->threads_env;
    x->runner_env[1] = m->o.counters ? TC_MEAS_WORKER_COUNTERS "=1" : NULL;
    x->builder_env[0] = "OMP_NUM_THREADS=1"; /* there is a builder per core already */
    x->folder = tc_user_folder();
    share of = share_of(m);
    tc_meas_proc_options p = {.exe = m->o.exe,
                              .arg = m->o.worker_arg,
                              .env = x->builder_env,
                              .folder = x->folder,
                              .memory_limit = of.builder,
                              .threads = 1};
    x->nbuilder = of.builders;
    x->builders = tc_xcalloc((size_t)TC_MAX(x->nbuilder, 1), sizeof *x->builders);
    for (int i = 0; i < x->nbuilder; i++)
        tc_meas_proc_init(&x->builders[i], &p);
    p.env = x->runner_env;
    p.folder = NULL;
    p.memory_limit = of.runner;
    p.threads = m->o.threads;
    tc_meas_proc_init(&x->runner, &p);
    *state = x;
    return TC_OK;
}

static void close_processes(void *state) {
    processes *x = state;
    if (!x)
        return;
    for (int i = 0; i < x->nbuilder; i++)
        tc_meas_proc_close(&x->builders[i]);
    tc_meas_proc_close(&x->runner);
    free(x->builders);
    free(x->folder);
    free(x);
}

static size_t restarts_of(const tc_meas_proc *p) {
    return p->starts > 1 ? p->starts - 1 : 0;
}

static size_t restarts(const void *state) {
    const processes *x = state;
    size_t n = restarts_of(&x->runner);
    for (int i = 0; i < x->nbuilder; i++)
        n += restarts_of(&x->builders[i]);
    return n;
}

static double peak(const tc_meas *m, double seconds) {
    return tc_meas_measure_fma(m->o.threads, seconds);
}

static processes *carried(const tc_meas *m) {
    return m->carries;
}

/* What a worker that was just sent to says of its sandbox: once in the life of this process, whose kernel stays the same. */
static void tell_lacks(const tc_meas_proc *p) {
    static atomic_flag told = ATOMIC_FLAG_INIT;
    if (p->lacks[0] && !atomic_flag_test_and_set(&told))
        tc_log(TC_LOG_WARN, "the sandbox of workers is not whole here. %s", p->lacks);
}

/* ---- failures ---- */

static void record_death(tc_meas_job *j, tc_arena *a, const tc_meas_proc *p, bool running) {
    tc_strbuf b = {0};
    tc_meas_death_text(&p->death, &b);
    tc_meas_error crash = running ? TC_MEAS_RUN_CRASH : TC_MEAS_BUILD_CRASH,
                  memory = running ? TC_MEAS_RUN_MEMORY : TC_MEAS_BUILD_MEMORY;
    if (running && (p->death.forbidden || p->death.crowd || p->death.damaged))
        crash = TC_MEAS_RUN_FORBIDDEN;
    tc_meas_end_with(j->r, a, p->death.memory ? memory : crash, tc_sb_str(&b));
    j->r->signal = p->death.signal;
    tc_strbuf_free(&b);
}

static void record_timeout(tc_meas_job *j, tc_arena *a, double limit, bool running) {
    tc_meas_end_with(j->r, a, running ? TC_MEAS_RUN_TIMEOUT : TC_MEAS_BUILD_TIMEOUT,
                     tc_arena_printf(a, "killed after %g s: %s", limit,
                                     tc_meas_error_meaning(running ? TC_MEAS_RUN_TIMEOUT : TC_MEAS_BUILD_TIMEOUT)));
}

/* ---- building ---- */

/* What a job is built to, by whomever. */
static void take_made(tc_meas *m, tc_meas_job *j, tc_arena *a, const tc_meas_made *b) {
    j->r->program = b->program;
    j->r->build_seconds = b->seconds;
    j->workspace = b->workspace;
    if (b->error != TC_MEAS_NONE) {
        tc_meas_end_with(j->r, a, b->error, b->message);
        j->r->signal = b->signal;
        return;
    }
    m->stats.built++;
    if (!tc_meas_is_new(m, j, a))
        return;
    j->object = tc_try_malloc(b->size + 1);
    if (!j->object) /* the call is ending */
        return;
    j->size = b->size;
    memcpy(j->object, b->object, j->size);
    j->ready = true;
}

static void take_built(tc_meas *m, tc_meas_job *j, tc_meas_proc *p, tc_arena *a) {
    tc_meas_built b;
    if (p->reply_type != TC_MEAS_MSG_BUILT || !tc_meas_get_built(p->reply, p->reply_size, a, &b)) {
        tc_meas_end_with(j->r, a, TC_MEAS_BUILD_CRASH, "the builder's answer is malformed");
        tc_meas_proc_kill(p);
        return;
    }
    take_made(m, j, a,
              &(tc_meas_made){.error = b.error,
                              .message = b.message,
                              .program = b.program,
                              .workspace = b.workspace,
                              .seconds = b.seconds,
                              .object = b.object,
                              .size = b.size});
}

static tc_status send_build(tc_meas *m, tc_meas_proc *p, const tc_meas_job *j, tc_error *err) {
    tc_strbuf b = {0};
    tc_meas_put_text(&b, j->in->workload);
    tc_meas_put_text(&b, j->in->trace);
    tc_meas_put_text(&b, m->o.target);
    tc_meas_put_u64(&b, (uint64_t)m->o.threads);
    tc_meas_put_u64(&b, j->in->without);
    tc_status s = tc_meas_proc_send(p, TC_MEAS_MSG_BUILD, b.data, b.len, m->o.build_limit, err);
    tell_lacks(p);
    tc_strbuf_free(&b);
    return s;
}

static void finish_build(const tc_meas_jobs *b, tc_meas_job *j, tc_meas_proc *p, tc_meas_event ev) {
    if (ev == TC_MEAS_EV_REPLY)
        take_built(b->m, j, p, b->a);
    else if (ev == TC_MEAS_EV_TIMEOUT)
        record_timeout(j, b->a, b->m->o.build_limit, false);
    else
        record_death(j, b->a, p, false);
    if (!j->ready)
        tc_meas_report(b, j);
}

/* Keeps every builder busy until all jobs are built or the stop flag is up. at[i]: what builder i works on, NULL when idle. */
static tc_status build_loop(const tc_meas_jobs *b, tc_meas_proc **procs, tc_meas_job **at, tc_meas_job *jobs, size_t n,
                            tc_error *err) {
    const processes *x = carried(b->m);
    size_t next = 0;
    for (;;) {
        for (int i = 0; i < x->nbuilder && next < n && !tc_meas_stopped(b->m); i++) {
            if (at[i])
                continue;
            TC_TRY(send_build(b->m, procs[i], &jobs[next], err));
            at[i] = &jobs[next++];
        }
        tc_meas_event ev;
        int i = tc_meas_proc_wait(procs, (size_t)x->nbuilder, b->m->o.stop, &ev);
        if (i < 0)
            return TC_OK;
        tc_meas_job *j = at[i];
        at[i] = NULL;
        finish_build(b, j, procs[i], ev);
    }
}

static tc_status build_here(const tc_meas_jobs *b, tc_meas_job *jobs, size_t n, tc_error *err) {
    const processes *x = carried(b->m);
    tc_meas_proc **procs = tc_xcalloc((size_t)x->nbuilder, sizeof(tc_meas_proc *));
    tc_meas_job **at = tc_xcalloc((size_t)x->nbuilder, sizeof(tc_meas_job *));
    for (int i = 0; i < x->nbuilder; i++)
        procs[i] = &x->builders[i];
    tc_status s = build_loop(b, procs, at, jobs, n, err);
    for (int i = 0; i < x->nbuilder; i++)
        if (at[i])
            tc_meas_proc_kill(procs[i]); /* stopped in the middle: its answer would come at the wrong time */
    free(procs);
    free(at);
    return s;
}

static tc_status have_built(const tc_meas_jobs *b, tc_meas_job *jobs, size_t n, tc_error *err) {
    const tc_meas_options *o = &b->m->o;
    tc_meas_made *made = TC_NEW_N(b->a, tc_meas_made, n);
    const tc_meas_input **in = TC_NEW_N(b->a, const tc_meas_input *, n);
    for (size_t i = 0; i < n; i++)
        in[i] = jobs[i].in;
    TC_TRY(o->supplier->supply(o->supplied_by, o, in, n, b->a, made, err));
    for (size_t i = 0; i < n; i++) {
        if (made[i].error == TC_MEAS_INTERRUPTED)
            continue;
        take_made(b->m, &jobs[i], b->a, &made[i]);
        if (!jobs[i].ready)
            tc_meas_report(b, &jobs[i]);
    }
    return TC_OK;
}

static tc_status build(const tc_meas_jobs *b, tc_meas_job *jobs, size_t n, tc_error *err) {
    double start = tc_now();
    tc_status s = b->m->o.supplier ? have_built(b, jobs, n, err) : build_here(b, jobs, n, err);
    b->m->stats.build_seconds += tc_now() - start;
    return s;
}

/* ---- running ---- */

typedef struct request {
    tc_meas_msg type, answer;
    const tc_strbuf *payload;
    double limit;
} request;

/* One request to the runner and its answer. *answered false: j->r has become a failure, or stays INTERRUPTED. */
static tc_status ask_runner(const tc_meas_jobs *b, tc_meas_job *j, const request *q, bool *answered, tc_error *err) {
    tc_meas_proc *p = &carried(b->m)->runner;
    tc_meas_event ev;
    *answered = false;
    TC_TRY(tc_meas_proc_send(p, q->type, q->payload->data, q->payload->len, q->limit, err));
    tell_lacks(p);
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
            tc_meas_end_with(j->r, b->a, TC_MEAS_RUN_FORBIDDEN, "the runner's answer is malformed");
            tc_meas_proc_kill(p);
        }
        break;
    }
    return TC_OK;
}

/* What is run: both requests begin with it. */
static void put_subject(const tc_meas *m, const tc_meas_job *j, tc_strbuf *b) {
    tc_meas_put_text(b, j->in->workload);
    tc_meas_put_text(b, j->r->sizes);
    tc_meas_put_u64(b, m->o.seed);
    tc_meas_put_f64(b, j->in->denormal);
}

/* Has the runner make inputs and reference of the workload, unless it has them. */
static tc_status prepare(const tc_meas_jobs *b, tc_meas_job *j, bool *ready, tc_error *err) {
    tc_strbuf payload = {0};
    put_subject(b->m, j, &payload);
    tc_status s =
        ask_runner(b, j, &(request){TC_MEAS_MSG_PREPARE, TC_MEAS_MSG_PREPARED, &payload, b->m->o.prepare_limit}, ready, err);
    tc_strbuf_free(&payload);
    if (s != TC_OK || !*ready)
        return s;
    const tc_meas_proc *p = &carried(b->m)->runner;
    tc_meas_error e;
    const char *message;
    *ready = tc_meas_get_prepared(p->reply, p->reply_size, b->a, &e, &message) && e == TC_MEAS_NONE;
    if (!*ready)
        tc_meas_end_with(j->r, b->a, e == TC_MEAS_NONE ? TC_MEAS_RUN_CRASH : e, message);
    return TC_OK;
}

static void take_ran(tc_meas *m, tc_meas_job *j, tc_arena *a) {
    tc_meas_proc *p = &carried(m)->runner;
    tc_meas_ran ran;
    if (!tc_meas_get_ran(p->reply, p->reply_size, a, &ran)) {
        tc_meas_end_with(j->r, a, TC_MEAS_RUN_FORBIDDEN, "the runner's answer is malformed");
        tc_meas_proc_kill(p);
        return;
    }
    j->r->max_error = ran.max_error;
    j->r->stopped_early = ran.stopped_early;
    j->r->run_seconds = ran.seconds;
    tc_meas_end_with(j->r, a, ran.error, ran.message);
    if (ran.error != TC_MEAS_NONE)
        return;
    j->r->verified = ran.verified;
    j->r->shares = ran.shares;
    j->r->counts = ran.counts;
    j->r->ntimes = ran.ntimes;
    j->r->times = ran.times;
    j->r->median = tc_meas_median(j->r->times, j->r->ntimes);
    tc_meas_drift_add(&m->drift, ran.reference, j->r->times, j->r->ntimes);
}

/* Seconds that a candidate may take: no more than one that could be of use, where a best is known. */
static double run_limit(const tc_meas *m, const tc_meas_job *j) {
    double useful = 3 + m->o.budget + 300 * j->best;
    return j->best > 0 && m->o.early_stop > 0 && !j->patient ? TC_MIN(m->o.run_limit, useful) : m->o.run_limit;
}

static void put_run(const tc_meas *m, const tc_meas_job *j, tc_strbuf *b) {
    tc_meas_calm calm = tc_meas_drift_state(&m->drift);
    bool disturbed = calm.disturbed;
    int samples = tc_meas_samples(m, j);
    tc_meas_timing t = {.threads = m->o.threads,
                        .samples = disturbed ? WIDER * samples : samples,
                        .min_sample = m->o.min_sample,
                        .budget = m->o.budget,
                        .best = j->best * TC_MIN(calm.slowdown, MOST_SLOWDOWN), /* was taken on a machine at its best */
                        .early_stop = TC_MAX(m->o.early_stop, 0.0),
                        .doubt = disturbed ? WIDER : 1,
                        .mode = j->r->mode,
                        .verify = !m->o.no_verify && !j->r->experiment,
                        .shares = j->in->shares,
                        .counts = j->in->counts};
    put_subject(m, j, b);
    tc_meas_put_text(b, j->in->trace);
    tc_meas_put_text(b, m->o.target);
    tc_meas_put_bytes(b, j->object, j->size);
    tc_meas_put_u64(b, j->workspace);
    tc_meas_put_timing(b, &t);
}

static tc_status run(const tc_meas_jobs *b, tc_meas_job *j, tc_error *err) {
    tc_meas *m = b->m;
    processes *x = carried(m);
    bool ready, ran;
    tc_strbuf payload = {0};
    if (x->runs++ >= RUNNER_LIFE) {
        tc_meas_proc_kill(&x->runner);
        x->runs = 0;
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

static bool emulated(const tc_meas_options *o) {
    (void)o;
    return tc_is_emulated();
}

const tc_meas_carrier tc_meas_processes = {.open = open_processes,
                                           .close = close_processes,
                                           .build = build,
                                           .run = run,
                                           .peak = peak,
                                           .restarts = restarts,
                                           .emulated = emulated,
                                           .experiments = true};
