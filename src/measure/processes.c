/* Jobs carried by processes of this machine: builders (builders.c), and one runner, which no compiler disturbs. */
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "codegen/target/target.h"
#include "measure/machine/peak.h"
#include "measure/processes_int.h"
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

typedef tc_meas_processes_state processes;

/* ---- construction ---- */

static tc_status check_target(const char *text, bool runs, tc_machine *machine, tc_error *err) {
    tc_target *t;
    TC_TRY(tc_target_parse(text, &t, err));
    bool native = t->native;
    *machine = t->machine;
    tc_target_free(t);
    if (runs && !native)
        return tc_fail(err, TC_BAD_INPUT,
                       "target `%s` does not run on this machine, so nothing can be measured for it. Tune on a machine of that "
                       "target, or build from records that were made there",
                       text);
    return TC_OK;
}

/* Builders that the limit of open files allows. Machines have more cores by now than the usual limit has room for. */
static int allowed_by_descriptors(void) {
    enum { OF_A_WORKER = 2, SPARE = 16 /* databases, logs, what a process opens for a moment */ };
    struct rlimit r;
    int next = open("/dev/null", O_RDONLY | O_CLOEXEC); /* those below it are in use */
    if (next >= 0)
        close(next);
    if (next < 0 || getrlimit(RLIMIT_NOFILE, &r) != 0 || r.rlim_cur > INT_MAX)
        return next < 0 ? 1 : INT_MAX;
    return TC_MAX(((int)r.rlim_cur - next - SPARE) / OF_A_WORKER - 1, 1);
}

/* Of the memory that all workers may have together, two thirds are the runner's, who holds tensors. The builders share the rest,
 * and are no more than it, and the limit of open files, are enough for. Where there is only one of both kinds, it has all. No limit
 * is below what a worker maps before it uses any of it: in a small control group the group's own limit ends the worker. */
typedef struct share {
    uint64_t runner, builder;
    int builders;
} share;

/* Measured: 92 MiB for the libraries' data and LLVM's reserve on 2 cores, and the stack of each thread. */
static uint64_t mapped_at_least(int threads) {
    return ((uint64_t)256 + 8 * (uint64_t)TC_MAX(threads, 1)) << 20;
}

static share share_of(const tc_meas *m) {
    const uint64_t least = mapped_at_least(m->o.threads);
    if (m->o.supplier)
        return (share){.runner = TC_MAX(m->o.memory_limit, least)};
    uint64_t rest = m->o.only_build ? m->o.memory_limit : m->o.memory_limit / 3;
    int builders = (int)TC_MIN((uint64_t)m->o.builders, TC_MAX(rest / BUILDER_MEMORY, 1));
    builders = TC_MIN(builders, allowed_by_descriptors());
    return (share){.runner = TC_MAX(m->o.memory_limit - rest, least),
                   .builder = TC_MAX(rest / (uint64_t)builders, mapped_at_least(1)),
                   .builders = builders};
}

static tc_status open_processes(const tc_meas *m, void **state, tc_error *err) {
    tc_machine machine;
    TC_TRY(check_target(m->o.target, !m->o.only_build, &machine, err));
    processes *x = tc_xcalloc(1, sizeof *x);
    x->m = m;
    x->machine = machine;
    snprintf(x->threads_env, sizeof x->threads_env, "OMP_NUM_THREADS=%d", m->o.threads);
    x->runner_env[0] = x->threads_env;
    x->runner_env[1] = TC_MEAS_WORKER_RUNS "=1";
    x->runner_env[2] = m->o.counters ? TC_MEAS_WORKER_COUNTERS "=1" : NULL;
    x->builder_env[0] = "OMP_NUM_THREADS=1"; /* there is a builder per core already */
    x->folder = tc_user_folder();
    x->beside = m->o.beside ? TC_MAX(m->o.beside, 0) : TC_MEAS_BESIDE_UNKNOWN;
    share of = share_of(m);
    tc_meas_proc_options p = {.exe = m->o.exe,
                              .arg = m->o.worker_arg,
                              .env = x->builder_env,
                              .folder = x->folder,
                              .memory_limit = of.builder,
                              .threads = 1};
    x->nbuilder = of.builders;
    x->process = tc_xcalloc((size_t)x->nbuilder + 1, sizeof *x->process);
    x->all = tc_xcalloc((size_t)x->nbuilder + 1, sizeof(tc_meas_proc *));
    x->at = tc_xcalloc((size_t)TC_MAX(x->nbuilder, 1), sizeof(tc_meas_job *));
    for (int i = 0; i < x->nbuilder; i++)
        tc_meas_proc_init(&x->process[i], &p);
    p.env = x->runner_env;
    p.folder = NULL;
    p.memory_limit = of.runner;
    p.threads = m->o.threads;
    tc_meas_proc_init(tc_meas_runner(x), &p);
    for (int i = 0; i <= x->nbuilder; i++)
        x->all[i] = &x->process[i];
    *state = x;
    return TC_OK;
}

static void close_processes(void *state) {
    processes *x = state;
    if (!x)
        return;
    for (int i = 0; i <= x->nbuilder; i++)
        tc_meas_proc_close(&x->process[i]);
    free(x->process);
    free(x->all);
    free(x->at);
    free(x->folder);
    free(x);
}

static size_t restarts(const void *state) {
    const processes *x = state;
    size_t n = 0;
    for (int i = 0; i <= x->nbuilder; i++)
        n += TC_MAX(x->process[i].starts, 1) - 1;
    return n;
}

static double peak(const tc_meas *m, double seconds) {
    return tc_meas_known_fma(m->o.threads, seconds);
}

void tc_meas_tell_lacks(const tc_meas_proc *p) {
    static atomic_flag told = ATOMIC_FLAG_INIT;
    if (p->lacks[0] && !atomic_flag_test_and_set(&told))
        tc_log(TC_LOG_WARN, "the sandbox of workers is incomplete on this machine. %s", p->lacks);
}

/* ---- failures ---- */

/* The user allows each process so much CPU time (ulimit -t). */
static bool is_cpu_limited(void) {
    struct rlimit r;
    return getrlimit(RLIMIT_CPU, &r) == 0 && r.rlim_cur != RLIM_INFINITY;
}

void tc_meas_record_death(tc_meas_job *j, tc_arena *a, const tc_meas_proc *p, bool running) {
    tc_strbuf b = {0};
    tc_meas_death_text(&p->death, &b);
    tc_meas_error crash = running ? TC_MEAS_RUN_CRASH : TC_MEAS_BUILD_CRASH,
                  memory = running ? TC_MEAS_RUN_MEMORY : TC_MEAS_BUILD_MEMORY;
    if (p->death.signal == SIGXCPU && is_cpu_limited()) /* any candidate could have met it */
        crash = running ? TC_MEAS_RUN_FAILED : TC_MEAS_BUILD_TIMEOUT;
    if (running && (p->death.forbidden || p->death.crowd || p->death.damaged))
        crash = TC_MEAS_RUN_FORBIDDEN;
    tc_meas_end_with(j->r, a, p->death.memory ? memory : crash, tc_sb_str(&b));
    j->r->signal = p->death.signal;
    tc_strbuf_free(&b);
}

/* Others kept the process from running; or the times of candidates say so of several threads, where the host of a virtual machine has
 * the processors. */
static bool is_disturbed(const tc_meas *m, const tc_meas_proc *p, bool running) {
    return p->hindered || (running && m->o.threads > 1 && tc_meas_drift_state(&m->drift).disturbed);
}

void tc_meas_record_timeout(const tc_meas_jobs *b, tc_meas_job *j, const tc_meas_proc *p, bool running) {
    tc_meas_error e = running ? TC_MEAS_RUN_TIMEOUT : TC_MEAS_BUILD_TIMEOUT;
    const char *why = tc_arena_printf(b->a, "killed after %g s: %s", p->limit, tc_meas_error_meaning(e));
    if (is_disturbed(b->m, p, running)) {
        e = running ? TC_MEAS_RUN_LATE : TC_MEAS_BUILD_LATE;
        why = tc_arena_printf(
            b->a, "killed after %.3g s on a busy machine: it had a processor for %.0f %% of the time that it wanted one",
            p->waited, 100 * p->share);
    }
    tc_meas_end_with(j->r, b->a, e, why);
}

/* ---- running ---- */

typedef struct request {
    tc_meas_msg type, answer;
    const tc_strbuf *payload;
    double limit;
} request;

/* Until the runner has answered; builders that may work beside it are kept busy. */
static tc_status wait_for_runner(processes *x, tc_meas_event *ev, tc_error *err) {
    for (bool runner = false, any = true; any && !runner;) {
        tc_status s = tc_meas_feed_builders(x, err);
        if (s != TC_OK) {
            tc_meas_proc_kill(tc_meas_runner(x));
            return s;
        }
        any = tc_meas_next_answer(x, &runner, ev);
    }
    return TC_OK;
}

/* One request to the runner and its answer. *answered false: j->r has become a failure, or stays INTERRUPTED. */
static tc_status ask_runner(const tc_meas_jobs *b, tc_meas_job *j, const request *q, bool *answered, tc_error *err) {
    processes *x = tc_meas_processes_of(b->m);
    tc_meas_proc *p = tc_meas_runner(x);
    tc_meas_event ev = TC_MEAS_EV_NONE;
    *answered = false;
    TC_TRY(tc_meas_proc_send(p, q->type, q->payload->data, q->payload->len, q->limit, err));
    tc_meas_tell_lacks(p);
    TC_TRY(wait_for_runner(x, &ev, err));
    switch (ev) {
    case TC_MEAS_EV_NONE:
        tc_meas_proc_kill(p);
        break;
    case TC_MEAS_EV_TIMEOUT:
        tc_meas_record_timeout(b, j, p, true);
        break;
    case TC_MEAS_EV_DIED:
        tc_meas_record_death(j, b->a, p, true);
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
    const tc_meas_proc *p = tc_meas_runner(tc_meas_processes_of(b->m));
    tc_meas_error e;
    const char *message;
    *ready = tc_meas_get_prepared(p->reply, p->reply_size, b->a, &e, &message) && e == TC_MEAS_NONE;
    if (!*ready)
        tc_meas_end_with(j->r, b->a, e == TC_MEAS_NONE ? TC_MEAS_RUN_CRASH : e, message);
    return TC_OK;
}

static void take_ran(tc_meas *m, tc_meas_job *j, tc_arena *a) {
    tc_meas_proc *p = tc_meas_runner(tc_meas_processes_of(m));
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
    j->r->reference = ran.reference;
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
    processes *x = tc_meas_processes_of(m);
    bool ready, ran;
    tc_strbuf payload = {0};
    if (x->runs++ >= RUNNER_LIFE) {
        tc_meas_proc_kill(tc_meas_runner(x));
        x->runs = 0;
    }
    TC_TRY(prepare(b, j, &ready, err));
    if (!ready)
        return TC_OK;
    put_run(m, j, &payload);
    double start = tc_now();
    tc_status s = ask_runner(b, j, &(request){TC_MEAS_MSG_RUN, TC_MEAS_MSG_RAN, &payload, run_limit(m, j)}, &ran, err);
    if (s == TC_OK && ran)
        take_ran(m, j, b->a);
    tc_meas_pace(&x->pace.run, tc_now() - start);
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
                                           .build = tc_meas_processes_build,
                                           .await = tc_meas_processes_await,
                                           .settle = tc_meas_processes_settle,
                                           .run = run,
                                           .peak = peak,
                                           .restarts = restarts,
                                           .emulated = emulated,
                                           .experiments = true};
