/* The worker's loop, and the thread that says that it is there while it measures. */
#include "fleet/worker/serve_int.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "codegen/target/target.h"
#include "fleet/bus_build.h"
#include "support/clock/clock.h"
#include "support/log.h"
#include "support/system/fs.h"
#include "support/system/stop.h"
#include "support/vec.h"

enum { HOPELESS = 3 /* jobs in a row that could not be measured here at all */ };

/* The first line holds for the usual lease (fleet_pause). */
static const double fetch_seconds = 0.5, wait_after_failure = 5, look_seconds = 2, heed_seconds = 1, tick = 0.1;
static const double usual_lease = 30, longest_beat = 5, wait_when_barred = 1, least_fetch = 0.05, least_pause = 0.01;

double fleet_pause(const fleet_worker *w, double usual) {
    return TC_MAX(usual * TC_MIN(w->lease / usual_lease, 1), least_pause);
}

/* It only does that. */
static bool builds(const fleet_worker *w) {
    return w->o->role == TC_FLEET_BUILD;
}

static tc_status serve_queue(fleet_worker *w, tc_error *err) {
    return builds(w) ? tc_fleet_bus_serve_builds(w->bus, w->self.key, w->lease, err)
                     : tc_fleet_bus_serve(w->bus, w->self.key, w->lease, err);
}

/* ---- signs of life ---- */

static void announce(fleet_worker *w) {
    tc_strbuf b = {0};
    tc_error why = {0};
    double load;
    if (getloadavg(&load, 1) == 1)
        w->told.load = load;
    tc_fleet_worker_write(&w->told, &b);
    tc_status s = builds(w) ? tc_fleet_bus_announce_builder(w->bus, w->told.key, w->told.name, tc_sb_str(&b), &why)
                            : tc_fleet_bus_announce(w->bus, w->told.key, w->told.name, tc_sb_str(&b), &why);
    if (s != TC_OK)
        tc_log(TC_LOG_DEBUG, "%s", why.msg); /* the server is away: it hears of this worker when it is back */
    tc_strbuf_free(&b);
}

/* What measuring and answering look at is raised by orders too. */
static void mind_caller(fleet_worker *w) {
    if (tc_is_raised(w->asked))
        tc_raise_to(&w->stop, tc_raised_to(w->asked));
}

/* Under the lock, that others wait for no longer than a server which is there takes to answer. */
static void say_alive(fleet_worker *w) {
    if (w->now)
        tc_fleet_delivery_touch(w->now);
    announce(w);
    w->news = false;
}

static void look_for_builders(fleet_worker *w) {
    tc_error why = {0};
    if (fleet_look_for_builders(w, &why) != TC_OK)
        tc_log(TC_LOG_DEBUG, "%s", why.msg);
}

static void *live(void *user) {
    fleet_worker *w = user;
    double said = 0, heeded = 0;
    pthread_mutex_lock(&w->lock);
    while (!w->leaving) {
        double now = tc_now();
        mind_caller(w);
        if (now - heeded >= fleet_pause(w, heed_seconds) && tc_fleet_bus_connected(w->bus)) {
            heeded = now;
            pthread_mutex_unlock(&w->lock);
            fleet_heed(w);
            look_for_builders(w);
            pthread_mutex_lock(&w->lock);
        }
        if ((w->news || now - said >= w->beat) && tc_fleet_bus_connected(w->bus)) {
            said = now;
            say_alive(w);
        }
        struct timespec until = tc_clock_after(fleet_pause(w, tick));
        pthread_cond_clockwait(&w->wake, &w->lock, CLOCK_MONOTONIC, &until);
    }
    pthread_mutex_unlock(&w->lock);
    return NULL;
}

static void set_now(fleet_worker *w, tc_fleet_delivery *d) {
    pthread_mutex_lock(&w->lock);
    w->now = d;
    w->told.busy = d != NULL;
    w->told.jobs += d == NULL;
    w->told.reference = tc_fleet_pace_median(&w->reference.pace);
    w->told.spread = tc_fleet_pace_spread(&w->reference.pace);
    pthread_mutex_unlock(&w->lock);
}

/* ---- jobs ---- */

static bool takes_jobs(fleet_worker *w) {
    pthread_mutex_lock(&w->lock);
    bool takes = !w->drained && !w->quarantined && !w->unbuilt;
    pthread_mutex_unlock(&w->lock);
    return takes;
}

/* What this worker could not do goes to another one. That nobody builds for it is not its own failure. */
static tc_status end_delivery(fleet_worker *w, tc_fleet_delivery *d, const char *job, tc_status s, const tc_error *why,
                              tc_error *err) {
    bool own = s != TC_OK && !tc_is_raised(w->o->stop) && takes_jobs(w);
    w->failures = own ? w->failures + 1 : 0;
    if (own)
        tc_log(TC_LOG_WARN, "job %s goes to another worker: %s", job, why->msg);
    if (s == TC_OK)
        tc_fleet_delivery_done(d);
    else
        tc_fleet_delivery_back(d, own ? fleet_pause(w, wait_after_failure) : 0);
    return w->failures < HOPELESS ? TC_OK
                                  : tc_fail(err, TC_ENV, "%d jobs in a row could not be %s here: %s", HOPELESS,
                                            builds(w) ? "built" : "measured", why->msg);
}

static tc_status measure(fleet_worker *w, tc_fleet_delivery *d, const tc_fleet_job *j, tc_arena *a, tc_error *err) {
    tc_error why = {0};
    set_now(w, d);
    tc_status s = fleet_serve_job(w, j, tc_fleet_delivery_times(d), a, &why);
    set_now(w, NULL);
    return end_delivery(w, d, j->id, s, &why, err);
}

static tc_status build(fleet_worker *w, tc_fleet_delivery *d, const tc_fleet_build_job *j, tc_arena *a, tc_error *err) {
    tc_error why = {0};
    set_now(w, d);
    tc_status s = fleet_serve_build(w, j, a, &why);
    set_now(w, NULL);
    return end_delivery(w, d, tc_arena_printf(a, "of %s", j->board), s, &why, err);
}

static void wait_for(double seconds) {
    nanosleep(&(struct timespec){.tv_sec = (time_t)seconds, .tv_nsec = (long)((seconds - (double)(time_t)seconds) * 1e9)}, NULL);
}

/* Waited for here: the server adds to a delay what it waits for those that are lost again. */
static void leave_to_others(const fleet_worker *w, tc_fleet_delivery *d) {
    wait_for(TC_MIN(wait_when_barred, w->lease / 2));
    tc_fleet_delivery_back(d, 0);
}

/* It was told to take no jobs while it waited for one. */
static void give_back(fleet_worker *w, tc_fleet_delivery *d) {
    tc_fleet_bus_rest(w->bus, d);
    w->rested = true;
}

/* Ends the delivery in one way or the other. */
static tc_status serve_measuring(fleet_worker *w, tc_fleet_delivery *d, tc_arena *a, tc_error *err) {
    tc_fleet_job j;
    tc_error why = {0};
    if (tc_fleet_job_read(tc_fleet_delivery_text(d), a, &j, &why) != TC_OK) {
        tc_log(TC_LOG_WARN, "a job is damaged, and no worker gets it: %s", why.msg);
        tc_fleet_delivery_refuse(d);
    } else if (!tc_fleet_bus_is_awaited(w->bus, j.tuner, d, j.wanted)) {
        tc_log(TC_LOG_DEBUG, "no tuner waits for job %s any more", j.id);
        tc_fleet_delivery_refuse(d);
    } else if (!takes_jobs(w)) {
        give_back(w, d);
    } else if (fleet_is_barred(w, &j)) {
        leave_to_others(w, d);
    } else {
        return measure(w, d, &j, a, err);
    }
    return TC_OK;
}

/* The same. */
static tc_status serve_building(fleet_worker *w, tc_fleet_delivery *d, tc_arena *a, tc_error *err) {
    tc_fleet_build_job j;
    tc_error why = {0};
    if (tc_fleet_build_job_read(tc_fleet_delivery_text(d), a, &j, &why) != TC_OK) {
        tc_log(TC_LOG_WARN, "a build job is damaged, and no worker gets it: %s", why.msg);
        tc_fleet_delivery_refuse(d);
    } else if (!fleet_is_of_key(w, &j, a)) {
        tc_log(TC_LOG_WARN, "the board %s asks for an object that is not of its key, %s: it is not built", j.board, w->self.key);
        tc_fleet_delivery_refuse(d);
    } else if (!takes_jobs(w)) {
        give_back(w, d);
    } else if (fleet_is_named(w, j.barred, j.nbarred)) {
        leave_to_others(w, d);
    } else {
        return build(w, d, &j, a, err);
    }
    return TC_OK;
}

static tc_status serve_delivery(fleet_worker *w, tc_fleet_delivery *d, tc_error *err) {
    tc_arena *a = tc_arena_new();
    tc_status s = builds(w) ? serve_building(w, d, a, err) : serve_measuring(w, d, a, err);
    tc_arena_free(a);
    return s;
}

/* Nothing came: is there a queue? One that was deleted is made again, if this user may; else a tuner does. */
static void look_for_queue(fleet_worker *w) {
    tc_error why = {0};
    double now = tc_now();
    if (!tc_fleet_bus_connected(w->bus))
        nanosleep(&(struct timespec){.tv_nsec = 100000000}, NULL);
    else if (now - w->looked > fleet_pause(w, look_seconds)) {
        w->looked = now;
        if (!tc_fleet_bus_is_served(w->bus, w->self.key) && serve_queue(w, &why) != TC_OK)
            tc_log(TC_LOG_DEBUG, "the queue is gone: %s", why.msg);
    }
}

static bool is_to_leave(fleet_worker *w) {
    mind_caller(w);
    pthread_mutex_lock(&w->lock);
    bool drained = w->drained;
    pthread_mutex_unlock(&w->lock);
    return drained || tc_is_raised(w->o->stop);
}

/* Nothing to do, until it is released or leaves. */
static void rest(const fleet_worker *w) {
    for (int i = 0; i < 5 && !tc_is_raised(w->asked) && !tc_is_raised(w->o->stop); i++)
        wait_for(fleet_pause(w, tick));
}

/* After a rest. */
static bool serves_again(fleet_worker *w) {
    tc_error why = {0};
    if (w->rested && serve_queue(w, &why) != TC_OK) {
        tc_log(TC_LOG_DEBUG, "%s", why.msg);
        return false;
    }
    w->rested = false;
    return true;
}

static tc_status serve_all(fleet_worker *w, tc_error *err) {
    while (!is_to_leave(w)) {
        tc_fleet_delivery *d;
        tc_error why = {0};
        if (!takes_jobs(w) || !serves_again(w)) {
            tc_fleet_bus_rest(w->bus, NULL);
            w->rested = true;
            rest(w);
            continue;
        }
        tc_status s = tc_fleet_bus_fetch(w->bus, TC_MAX(fleet_pause(w, fetch_seconds), least_fetch), &d, &why);
        if (s == TC_BAD_INPUT)
            return tc_fail(err, s, "%s", why.msg);
        if (s != TC_OK) { /* the queue was deleted */
            tc_log(TC_LOG_DEBUG, "%s", why.msg);
            nanosleep(&(struct timespec){.tv_nsec = 100000000}, NULL);
        }
        if (d)
            TC_TRY(serve_delivery(w, d, err));
        else
            look_for_queue(w);
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

/* What tells one run of this machine from another. */
static const char *this_boot(tc_arena *a) {
    char *text;
    if (tc_fs_read_text("/proc/sys/kernel/random/boot_id", &text, NULL) != TC_OK)
        return "unknown";
    const char *boot = tc_arena_strndup(a, text, strspn(text, "0123456789abcdef-"));
    free(text);
    return *boot ? boot : "unknown";
}

static void describe_machine(fleet_worker *w) {
    tc_target *t;
    if (builds(w) || tc_target_parse(w->o->target, &t, NULL) != TC_OK)
        return;
    w->told.l1 = t->machine.l1;
    w->told.l2 = t->machine.l2;
    w->told.l3 = w->o->last_cache > 0 ? w->o->last_cache : t->machine.l3;
    tc_target_free(t);
}

static const char *key_of(const fleet_worker *w, const char *build) {
    const tc_fleet_serve_options *o = w->o;
    if (builds(w))
        return o->key;
    const char *key = tc_fleet_key(w->arena, o->target, o->threads, build);
    return o->emulated ? tc_fleet_emulated_key(w->arena, key) : key;
}

static tc_status introduce(fleet_worker *w, tc_error *err) {
    char host[128] = "";
    const tc_fleet_serve_options *o = w->o;
    gethostname(host, sizeof host - 1);
    const char *build = tc_fleet_build(w->arena);
    w->told = (tc_fleet_worker){.name = o->name ? o->name : own_name(w->arena, host),
                                .key = key_of(w, build),
                                .host = tc_arena_strdup(w->arena, *host ? host : "unknown"),
                                .target = builds(w) ? "" : o->target,
                                .build = build,
                                .role = o->role,
                                .state = TC_FLEET_SERVING,
                                .why = "",
                                .threads = builds(w) ? 1 : o->threads, /* jobs say */
                                .gbytes = o->gbytes};
    w->self = (tc_fleet_self){.key = w->told.key, .name = w->told.name, .boot = o->boot ? o->boot : this_boot(w->arena)};
    if (o->rates)
        w->told.rates = *o->rates;
    describe_machine(w);
    if (!tc_fleet_is_word(w->told.key))
        return tc_fail(err, TC_BAD_INPUT, "'%s' is not a key: `tctune worker --print-key` on a board prints the board's key",
                       w->told.key);
    if (!tc_fleet_is_word(w->told.name))
        return tc_fail(err, TC_BAD_INPUT, "'%s' cannot name a worker: a name has at most %d letters, digits, - and _",
                       w->told.name, TC_FLEET_NAME);
    return TC_OK;
}

static tc_status serve_alive(fleet_worker *w, tc_error *err) {
    pthread_t beat;
    announce(w); /* whoever is told that it is there finds it there, also where the thread comes late to run */
    if (pthread_create(&beat, NULL, live, w) != 0)
        return tc_fail(err, TC_ENV, "a thread cannot be started");
    if (w->o->ready)
        w->o->ready(w->o->user, w->told.name, w->told.key);
    tc_status s = serve_all(w, err);
    tc_fleet_bus_rest(w->bus, NULL);
    pthread_mutex_lock(&w->lock);
    w->leaving = true;
    pthread_cond_signal(&w->wake);
    pthread_mutex_unlock(&w->lock);
    pthread_join(beat, NULL);
    if (builds(w))
        tc_fleet_bus_leave_builder(w->bus, w->told.key, w->told.name);
    else
        tc_fleet_bus_leave(w->bus, w->told.key, w->told.name);
    return s;
}

static tc_status meet_server(fleet_worker *w, tc_error *err) {
    TC_TRY(tc_fleet_bus_open(&w->o->access, w->told.name, &w->bus, err));
    if (!builds(w))
        TC_TRY(tc_fleet_bus_come_back(w->bus, &w->self, err));
    TC_TRY(serve_queue(w, err));
    TC_TRY(fleet_find_orders(w, err));
    return fleet_look_for_builders(w, err);
}

/* A server that is away is waited for: boards start before it, or while it is mended. TC_OK also where the worker is to leave. */
static tc_status await_server(fleet_worker *w, tc_error *err) {
    for (bool said = false;; said = true) {
        tc_status s = meet_server(w, err);
        if (s != TC_ENV || tc_ran_out())
            return s;
        tc_fleet_bus_close(w->bus);
        w->bus = NULL;
        mind_caller(w);
        if (tc_is_raised(w->o->stop))
            return TC_OK;
        tc_log(said ? TC_LOG_DEBUG : TC_LOG_WARN, "this worker waits for its server: %s", err->msg);
        rest(w);
    }
}

static tc_status come(fleet_worker *w, tc_error *err) {
    w->lease = w->o->lease > 0 ? w->o->lease : usual_lease;
    w->beat = TC_MIN(w->lease / 3, longest_beat);
    TC_TRY(introduce(w, err));
    TC_TRY(await_server(w, err));
    return w->bus ? serve_alive(w, err) : TC_OK;
}

tc_status tc_fleet_serve(const tc_fleet_serve_options *o, tc_error *err) {
    tc_fleet_serve_options own = *o;
    fleet_worker w = {.o = &own,
                      .asked = o->stop,
                      .arena = tc_arena_new(),
                      .lock = PTHREAD_MUTEX_INITIALIZER,
                      .wake = PTHREAD_COND_INITIALIZER};
    own.stop = &w.stop;
    tc_status s = come(&w, err);
    tc_meas_free(w.meas);
    tc_fleet_bus_close(w.bus);
    tc_arena_free(w.arena);
    return s;
}
