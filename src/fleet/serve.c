/* The worker's loop, and the thread that says that it is there while it measures. */
#include "fleet/serve.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "fleet/message.h"
#include "measure/measure.h"
#include "support/log.h"
#include "support/system/stop.h"

enum {
    DEADLY = 2,  /* workers that a job may end before it is taken for the cause */
    HOPELESS = 3 /* jobs in a row that could not be measured here at all */
};

static const double fetch_seconds = 0.5, usual_lease = 30, longest_beat = 5, wait_after_failure = 5;

typedef struct worker {
    const tc_fleet_serve_options *o;
    tc_fleet_bus *bus;
    tc_arena *arena;
    tc_fleet_worker told; /* what it tells of itself */
    double beat;          /* seconds between two signs of life */
    tc_meas *meas;        /* for jobs that are measured like the last one; NULL: none yet */
    char like[40];        /* what says so */
    int failures;         /* in a row */
    pthread_mutex_t lock;
    pthread_cond_t wake;
    tc_fleet_delivery *now; /* under way, under `lock`, as `told` is */
    bool leaving;
} worker;

/* ---- signs of life ---- */

static void announce(worker *w) {
    tc_strbuf b = {0};
    tc_error why = {0};
    tc_fleet_worker_write(&w->told, &b);
    if (tc_fleet_bus_announce(w->bus, w->told.key, w->told.name, tc_sb_str(&b), &why) != TC_OK)
        tc_log(TC_LOG_DEBUG, "%s", why.msg); /* the server is away: it hears of this worker when it is back */
    tc_strbuf_free(&b);
}

static struct timespec after(double seconds) {
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    long ns = t.tv_nsec + (long)((seconds - (double)(long)seconds) * 1e9);
    return (struct timespec){.tv_sec = t.tv_sec + (long)seconds + ns / 1000000000, .tv_nsec = ns % 1000000000};
}

static void *live(void *user) {
    worker *w = user;
    pthread_mutex_lock(&w->lock);
    while (!w->leaving) {
        if (w->now)
            tc_fleet_delivery_touch(w->now);
        announce(w);
        struct timespec until = after(w->beat);
        pthread_cond_timedwait(&w->wake, &w->lock, &until);
    }
    pthread_mutex_unlock(&w->lock);
    return NULL;
}

static void set_now(worker *w, tc_fleet_delivery *d) {
    pthread_mutex_lock(&w->lock);
    w->now = d;
    w->told.busy = d != NULL;
    w->told.jobs += d == NULL;
    pthread_mutex_unlock(&w->lock);
}

/* ---- measuring ---- */

/* A measuring state for jobs of these options, the last one's if it is like them. */
static tc_status prepare(worker *w, const tc_fleet_job *j, tc_arena *a, tc_error *err) {
    const char *like = tc_fleet_job_id(a, &(tc_fleet_job){.measure = j->measure}, 0);
    if (w->meas && strcmp(w->like, like) == 0)
        return TC_OK;
    tc_meas_options o = j->measure;
    o.stop = w->o->stop;
    tc_meas_free(w->meas);
    w->meas = NULL;
    TC_TRY(tc_meas_new(&o, &w->meas, err));
    snprintf(w->like, sizeof w->like, "%s", like);
    return TC_OK;
}

static tc_status measure(worker *w, const tc_fleet_job *j, tc_arena *a, tc_fleet_result *x, tc_error *err) {
    const tc_meas_call *c = &j->call;
    double *seconds = TC_NEW_N(a, double, c->n *(size_t)(c->rounds + 1));
    x->n = c->way == TC_MEAS_WAY_SIZES ? c->n * c->npoint : c->n;
    x->record = TC_NEW_N(a, tc_record, x->n);
    TC_TRY(prepare(w, j, a, err));
    switch (c->way) {
    case TC_MEAS_WAY_BATCH:
        TC_TRY(tc_meas_batch(w->meas, c->in, c->n, a, x->record, NULL, NULL, err));
        break;
    case TC_MEAS_WAY_TURNS:
        TC_TRY(tc_meas_interleave(w->meas, c->in, c->n, NULL, c->rounds, a, x->record, seconds, &x->done, err));
        x->seconds = TC_NEW_N(a, double, c->n *(size_t)(x->done + 1));
        for (size_t i = 0; i < c->n; i++)
            memcpy(x->seconds + i * (size_t)x->done, seconds + i * (size_t)c->rounds, (size_t)x->done * sizeof *seconds);
        break;
    case TC_MEAS_WAY_SIZES:
        TC_TRY(tc_meas_over_sizes(w->meas, c->in, c->n, c->sizes, c->npoint, c->rounds, a, x->record, NULL, NULL, err));
        break;
    case TC_MEAS_NWAYS:
        break;
    }
    x->slowdown = tc_meas_get_calm(w->meas).slowdown;
    return TC_OK;
}

/* What nobody will measure a third time. */
static void record_deaths(const tc_fleet_job *j, tc_arena *a, tc_fleet_result *x) {
    x->n = j->call.way == TC_MEAS_WAY_SIZES ? j->call.n * j->call.npoint : j->call.n;
    x->record = TC_NEW_N(a, tc_record, x->n);
    for (size_t i = 0; i < x->n; i++) {
        x->record[i] = tc_meas_record_empty();
        x->record[i].error = TC_MEAS_RUN_CRASH;
        x->record[i].message = "two workers of the fleet were lost while they measured it";
    }
}

/* ---- jobs ---- */

static tc_status answer(const worker *w, const tc_fleet_job *j, const tc_fleet_result *x, tc_error *err) {
    tc_strbuf b = {0};
    tc_fleet_result_write(x, &b);
    tc_status s = tc_fleet_bus_answer(w->bus, j->tuner, j->id, tc_sb_str(&b), err);
    tc_strbuf_free(&b);
    return s;
}

/* A result for the job. An error: this worker cannot, and another one may. */
static tc_status serve_job(worker *w, const tc_fleet_job *j, tc_arena *a, tc_error *err) {
    tc_fleet_result x = {.id = j->id, .worker = w->told.name, .host = w->told.host, .refused = "", .slowdown = 1};
    int before;
    if (strcmp(j->measure.target, w->told.target) != 0 || j->measure.threads != w->told.threads) {
        x.refused = tc_arena_printf(a, "it serves %s with %d threads", w->told.target, w->told.threads);
        return answer(w, j, &x, err);
    }
    TC_TRY(tc_fleet_bus_begin(w->bus, j->id, &before, err));
    tc_status s = TC_OK;
    if (before >= DEADLY)
        record_deaths(j, a, &x);
    else
        s = measure(w, j, a, &x, err);
    if (s == TC_OK && tc_is_raised(w->o->stop))
        s = tc_fail(err, TC_ENV, "stopped");
    if (s == TC_OK)
        s = answer(w, j, &x, err);
    tc_fleet_bus_end(w->bus, j->id, s == TC_OK ? 0 : before);
    return s;
}

/* Ends the delivery in one way or the other. */
static tc_status serve_delivery(worker *w, tc_fleet_delivery *d, tc_error *err) {
    tc_fleet_job j;
    tc_error why = {0};
    tc_arena *a = tc_arena_new();
    if (tc_fleet_job_read(tc_fleet_delivery_text(d), a, &j, &why) != TC_OK) {
        tc_log(TC_LOG_WARN, "a job is damaged and nobody's: %s", why.msg);
        tc_fleet_delivery_refuse(d);
        tc_arena_free(a);
        return TC_OK;
    }
    set_now(w, d);
    tc_status s = serve_job(w, &j, a, &why);
    set_now(w, NULL);
    bool own = s != TC_OK && !tc_is_raised(w->o->stop);
    w->failures = own ? w->failures + 1 : 0;
    if (own)
        tc_log(TC_LOG_WARN, "job %s goes to another worker: %s", j.id, why.msg);
    if (s == TC_OK)
        tc_fleet_delivery_done(d);
    else
        tc_fleet_delivery_back(d, own ? wait_after_failure : 0);
    tc_arena_free(a);
    return w->failures < HOPELESS ? TC_OK
                                  : tc_fail(err, TC_ENV, "%d jobs in a row could not be measured here: %s", HOPELESS, why.msg);
}

static tc_status serve_all(worker *w, tc_error *err) {
    while (!tc_is_raised(w->o->stop)) {
        tc_fleet_delivery *d;
        TC_TRY(tc_fleet_bus_fetch(w->bus, fetch_seconds, &d, err));
        if (d)
            TC_TRY(serve_delivery(w, d, err));
        else if (!tc_fleet_bus_connected(w->bus))
            nanosleep(&(struct timespec){.tv_nsec = 100000000}, NULL);
    }
    return TC_OK;
}

/* ---- coming and going ---- */

/* "HOST-PID", of what of the host's name may be in it. */
static const char *own_name(tc_arena *a, const char *host) {
    enum { ROOM = TC_FLEET_NAME - 12 };
    char *name = tc_arena_strndup(a, host, strnlen(host, ROOM));
    for (char *c = name; *c; c++)
        if (!tc_fleet_is_word((char[]){*c, '\0'}))
            *c = '_';
    return tc_arena_printf(a, "%s-%d", name, (int)getpid());
}

static tc_status introduce(worker *w, tc_error *err) {
    char host[128] = "";
    const tc_fleet_serve_options *o = w->o;
    gethostname(host, sizeof host - 1);
    const char *build = tc_fleet_build(w->arena);
    w->told = (tc_fleet_worker){.name = o->name ? o->name : own_name(w->arena, host),
                                .key = tc_fleet_key(w->arena, o->target, o->threads, build),
                                .host = tc_arena_strdup(w->arena, *host ? host : "unknown"),
                                .target = o->target,
                                .build = build,
                                .threads = o->threads};
    if (!tc_fleet_is_word(w->told.name))
        return tc_fail(err, TC_BAD_INPUT, "'%s' is no name of a worker: it is letters, digits, - and _, %d at most", w->told.name,
                       TC_FLEET_NAME);
    return TC_OK;
}

static tc_status serve_alive(worker *w, tc_error *err) {
    pthread_t beat;
    if (pthread_create(&beat, NULL, live, w) != 0)
        return tc_fail(err, TC_ENV, "a thread cannot be started");
    if (w->o->ready)
        w->o->ready(w->o->user, w->told.name, w->told.key);
    tc_status s = serve_all(w, err);
    pthread_mutex_lock(&w->lock);
    w->leaving = true;
    pthread_cond_signal(&w->wake);
    pthread_mutex_unlock(&w->lock);
    pthread_join(beat, NULL);
    tc_fleet_bus_leave(w->bus, w->told.key, w->told.name);
    return s;
}

static tc_status come(worker *w, tc_error *err) {
    double lease = w->o->lease > 0 ? w->o->lease : usual_lease;
    w->beat = lease / 3 < longest_beat ? lease / 3 : longest_beat;
    TC_TRY(introduce(w, err));
    TC_TRY(tc_fleet_bus_open(&w->o->access, w->told.name, &w->bus, err));
    TC_TRY(tc_fleet_bus_serve(w->bus, w->told.key, lease, err));
    return serve_alive(w, err);
}

tc_status tc_fleet_serve(const tc_fleet_serve_options *o, tc_error *err) {
    worker w = {.o = o, .arena = tc_arena_new(), .lock = PTHREAD_MUTEX_INITIALIZER, .wake = PTHREAD_COND_INITIALIZER};
    tc_status s = come(&w, err);
    tc_meas_free(w.meas);
    tc_fleet_bus_close(w.bus);
    tc_arena_free(w.arena);
    return s;
}
