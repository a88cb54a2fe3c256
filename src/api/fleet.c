/* Fleets (include/tctune/fleet.h). */
#include "api/fleet_int.h"

#include <string.h>
#include <time.h>
#include <unistd.h>

#include "fleet/orders.h"
#include "fleet/team/follow.h"
#include "fleet/worker/serve.h"
#include "measure/machine/caches.h"
#include "measure/machine/rates.h"
#include "support/log.h"
#include "support/system/emulation.h"

static tc_status check(const tctune_fleet *given, tctune_fleet *o, tc_error *err) {
    if (!given)
        return tc_fail(err, TC_BAD_INPUT, "fleet is missing: name its server");
    TC_TRY(api_options(o, sizeof *o, given, "fleet", err));
    if (!o->url || !*o->url)
        return tc_fail(err, TC_BAD_INPUT, "the server is missing: give its address, nats://HOST:PORT");
    if (o->workers < 0 || !(o->patience >= 0) || !(o->weight >= 0))
        return tc_fail(err, TC_BAD_INPUT, "workers, patience and weight must not be negative");
    return TC_OK;
}

static tc_fleet_access access_of(const tctune_fleet *o) {
    return (tc_fleet_access){.url = o->url, .creds = o->creds, .nkey = o->nkey, .ca = o->tls_ca};
}

/* ---- tuners ---- */

tc_status api_fleet_join(const tctune_fleet *given, const char *work, const char *database, const tc_target *own, tc_fleet **out,
                         tc_error *err) {
    tctune_fleet o;
    char host[64] = "", tuner[40];
    bool absent = false;
    TC_TRY(check(given, &o, err));
    gethostname(host, sizeof host - 1);
    tc_strbuf b = {0};
    tc_sb_printf(&b, "%s\n%ld\n%s", host, (long)getuid(), work);
    snprintf(tuner, sizeof tuner, "t-%s", tc_digest_of(b.data, b.len).hex);
    tc_strbuf_free(&b);
    tc_fleet_options fo = {.access = access_of(&o),
                           .tuner = tuner,
                           .key = o.key,
                           .target = own->text,
                           .threads = own->machine.cores,
                           .in_flight = o.workers,
                           .weight = o.weight,
                           .patience = o.patience,
                           .database = database,
                           .absent = &absent};
    tc_status s = tc_fleet_join(&fo, out, err);
    if (s == TC_OK || !absent || !o.fallback)
        return s;
    tc_log(TC_LOG_WARN, "this machine measures instead of the fleet: %s", err->msg);
    return TC_OK;
}

/* The target of the workers if the caller gave none; the same for the number of threads. */
static tc_status take_target(const api_measured_by *by, const tc_fleet *f, tc_target **target, tc_error *err) {
    double gflops;
    int64_t last;
    if (!by->target && strcmp((*target)->text, tc_fleet_target(f)) != 0) {
        tc_target_free(*target);
        *target = NULL;
        TC_TRY(api_target(tc_fleet_target(f), by->threads, target, err));
    }
    if (!by->threads)
        (*target)->machine.cores = tc_fleet_threads(f);
    tc_fleet_machine(f, &gflops, &last);
    (*target)->native = false;
    (*target)->machine.l3 = last > 0 ? last : (*target)->machine.l3;
    return TC_OK;
}

tc_status api_fleet_target(const api_measured_by *by, tc_target **target, tc_fleet **fleet, tc_error *err) {
    int threads = by->threads ? by->threads : by->usual_threads;
    *fleet = NULL;
    *target = NULL;
    if (!by->fleet)
        return api_target_here(by->target, threads, target, err);
    TC_TRY(api_target(by->target, threads, target, err));
    TC_TRY(api_fleet_join(by->fleet, by->work, by->database, *target, fleet, err));
    if (*fleet)
        return take_target(by, *fleet, target, err);
    tc_target_free(*target);
    *target = NULL;
    return api_target_here(by->target, threads, target, err);
}

const char *api_fleet_once(tc_arena *a, const char *what) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return tc_arena_printf(a, "%s\n%ld\n%lld.%09ld", what, (long)getpid(), (long long)now.tv_sec, now.tv_nsec);
}

/* ---- workers ---- */

static tc_status key_of(const char *target, int threads, char **key, tc_error *err) {
    tc_target *t;
    TC_TRY(api_target(target, threads, &t, err));
    tc_arena *a = tc_arena_new();
    const char *real = tc_fleet_key(a, t->text, t->machine.cores, tc_fleet_build(a));
    *key = tc_xstrdup(tc_is_emulated() ? tc_fleet_emulated_key(a, real) : real);
    tc_arena_free(a);
    tc_target_free(t);
    return TC_OK;
}

/* What tuners go by who are elsewhere. */
static void measure_machine(const tc_target *t, tc_meas_rates *rates, tc_fleet_serve_options *o) {
    tc_meas_caches caches = tc_meas_known_caches(&t->machine);
    *rates = tc_meas_measure_rates(t, &caches);
    o->rates = rates;
    o->gbytes = caches.memory_gbs;
    o->last_cache = caches.last;
}

/* Nothing is measured here, so the facts about this machine are not needed. */
static tc_status serve_boards(const tctune_worker_options *o, const tctune_fleet *fleet, tc_error *err) {
    char *own = NULL;
    volatile int never = 0;
    if (o->key && (o->target || o->threads))
        return tc_fail(err, TC_BAD_INPUT, "a key contains target and threads: give either the key, or these two");
    if (!o->key)
        TC_TRY(key_of(o->target, o->threads, &own, err));
    tc_fleet_serve_options so = {.access = access_of(fleet),
                                 .name = o->name,
                                 .role = TC_FLEET_BUILD,
                                 .key = o->key ? o->key : own,
                                 .lease = o->lease,
                                 .stop = o->stop ? o->stop : &never,
                                 .ready = o->ready,
                                 .user = o->user};
    tc_status s = tc_fleet_serve(&so, err);
    free(own);
    return s;
}

static tc_status serve(const tctune_worker_options *options, tc_error *err) {
    tctune_worker_options o;
    tctune_fleet fleet;
    tc_target *t;
    tc_meas_rates rates;
    volatile int never = 0;
    TC_TRY(API_OPTIONS(o, options, err));
    TC_TRY(check(o.fleet, &fleet, err));
    if (!(o.lease >= 0))
        return tc_fail(err, TC_BAD_INPUT, "lease must not be negative");
    tc_fleet_role role = TC_FLEET_BOTH;
    if (o.role && !tc_fleet_role_parse(o.role, &role))
        return tc_fail(err, TC_BAD_INPUT, "there is no role '%s': a worker's role is both, build or measure", o.role);
    if (role == TC_FLEET_BUILD)
        return serve_boards(&o, &fleet, err);
    if (o.key)
        return tc_fail(err, TC_BAD_INPUT, "key goes with the role build: a worker that measures has the key of its machine");
    TC_TRY(api_target_here(o.target, o.threads, &t, err));
    tc_fleet_serve_options so = {.access = access_of(&fleet),
                                 .name = o.name,
                                 .role = role,
                                 .target = t->text,
                                 .threads = t->machine.cores,
                                 .lease = o.lease,
                                 .emulated = tc_is_emulated(),
                                 .stop = o.stop ? o.stop : &never,
                                 .ready = o.ready,
                                 .user = o.user};
    measure_machine(t, &rates, &so);
    tc_status s = tc_fleet_serve(&so, err);
    tc_target_free(t);
    return s;
}

tctune_status tctune_fleet_serve(const tctune_worker_options *options, char *error, size_t error_size) {
    api_find_worker();
    API_CALL(err, error, error_size, serve(options, &err), (void)0);
}

tctune_status tctune_fleet_key(const char *target, int threads, char **key, char *error, size_t error_size) {
    *key = NULL;
    API_CALL(err, error, error_size, key_of(target, threads, key, &err), (free(*key), *key = NULL));
}

/* ---- what there is, and what workers are told ---- */

/* Requests to a fleet's server that need neither a tuner nor a worker. */
typedef tc_status visit(tc_fleet_bus *b, const void *what, json_t **out, tc_error *err);

/* Connects, does the work, and turns its document into text. */
static tc_status visiting(const tctune_fleet *given, visit *work, const void *what, char **json, tc_error *err) {
    tctune_fleet o;
    tc_fleet_bus *b;
    json_t *j = NULL;
    TC_TRY(check(given, &o, err));
    tc_fleet_access access = access_of(&o);
    TC_TRY(tc_fleet_bus_open(&access, "status", &b, err));
    tc_status s = work(b, what, &j, err);
    if (s == TC_OK)
        s = tc_report_text(j, json, err);
    tc_fleet_bus_close(b);
    return s;
}

static tc_status describe(tc_fleet_bus *b, const void *nothing, json_t **out, tc_error *err) {
    (void)nothing;
    tc_fleet_crowd c = tc_fleet_crowd_new();
    tc_status s = tc_fleet_crowd_see(&c, b, err);
    if (s == TC_OK)
        s = tc_report_fleet(&c, b, out, err);
    tc_fleet_crowd_free(&c);
    return s;
}

tctune_status tctune_fleet_status(const tctune_fleet *fleet, char **json, char *error, size_t error_size) {
    API_DOCUMENT(err, error, error_size, json, visiting(fleet, describe, NULL, json, &err));
}

typedef struct telling {
    const char *word, *const *who, *why;
    tc_fleet_order order;
} telling;

static tc_status tell_all(tc_fleet_bus *b, const void *what, json_t **out, tc_error *err) {
    const telling *t = what;
    tc_fleet_crowd told = tc_fleet_crowd_new();
    tc_status s = tc_fleet_tell(b, t->order, t->who, t->why, &told, err);
    if (s == TC_OK)
        *out = tc_report_told(&told, t->word, b);
    tc_fleet_crowd_free(&told);
    return s;
}

static tc_status tell(const tctune_fleet *fleet, const char *order, const char *const *workers, const char *why, char **json,
                      tc_error *err) {
    telling t = {.word = order, .who = workers, .why = why ? why : ""};
    if (!order || !tc_fleet_order_parse(order, &t.order))
        return tc_fail(err, TC_BAD_INPUT, "there is no order '%s': give drain, kick, quarantine or release", order ? order : "");
    if (api_length(workers) == 0)
        return tc_fail(err, TC_BAD_INPUT, "workers are missing: give the names or keys of the workers to %s", order);
    return visiting(fleet, tell_all, &t, json, err);
}

tctune_status tctune_fleet_tell(const tctune_fleet *fleet, const char *order, const char *const *workers, const char *why,
                                char **json, char *error, size_t error_size) {
    API_DOCUMENT(err, error, error_size, json, tell(fleet, order, workers, why, json, &err));
}

enum { USUAL_LOG = 20, LONGEST_LOG = 1000 };

typedef struct looking {
    const char *worker;
    size_t most;
} looking;

static tc_status look_back(tc_fleet_bus *b, const void *what, json_t **out, tc_error *err) {
    const looking *l = what;
    return tc_report_fleet_log(b, l->worker, l->most, out, err);
}

static tc_status show_log(const tctune_fleet *fleet, const char *worker, int last, char **json, tc_error *err) {
    looking l = {.worker = worker, .most = last ? (size_t)last : USUAL_LOG};
    if (worker && !tc_fleet_is_word(worker))
        return tc_fail(err, TC_BAD_INPUT, "'%s' cannot name a worker: a name has at most %d letters, digits, - and _", worker,
                       TC_FLEET_NAME);
    if (last < 0 || last > LONGEST_LOG)
        return tc_fail(err, TC_BAD_INPUT, "last must be from 1 to %d, not %d", LONGEST_LOG, last);
    return visiting(fleet, look_back, &l, json, err);
}

tctune_status tctune_fleet_log(const tctune_fleet *fleet, const char *worker, int last, char **json, char *error,
                               size_t error_size) {
    API_DOCUMENT(err, error, error_size, json, show_log(fleet, worker, last, json, &err));
}

/* ---- databases that follow ---- */

typedef struct listener {
    tctune_on_followed *each; /* NULL: nobody */
    void *user;
} listener;

static tctune_followed followed_of(const tc_fleet_followed *n) {
    return (tctune_followed){.struct_size = sizeof(tctune_followed),
                             .stored = n->stored,
                             .known = n->known,
                             .changed = n->changed,
                             .refused = n->refused,
                             .others = n->others};
}

static void tell_listener(void *user, const tc_fleet_followed *so_far, const char *refusal) {
    const listener *l = user;
    tctune_followed n = followed_of(so_far);
    if (l->each)
        l->each(l->user, &n, refusal);
}

static tc_status follow(const tctune_fleet *given, const char *database, const tctune_follow_options *options,
                        tctune_followed *out, tc_error *err) {
    tctune_fleet fleet;
    tctune_follow_options o;
    tctune_followed followed = {0};
    tc_fleet_followed n = {0};
    TC_TRY(check(given, &fleet, err));
    TC_TRY(API_OPTIONS(o, options, err));
    if (!database || !*database)
        return tc_fail(err, TC_BAD_INPUT, "the database is missing: name its file");
    if (out) /* a struct that does not fit is refused before anything is stored */
        TC_TRY(API_FILL(out, followed, err));
    listener l = {.each = o.each, .user = o.user};
    tc_fleet_follow_options fo = {.access = access_of(&fleet),
                                  .database = database,
                                  .key = fleet.key,
                                  .tuner = o.tuner,
                                  .once = o.once != 0,
                                  .patience = fleet.patience,
                                  .stop = o.stop,
                                  .told = tell_listener,
                                  .user = &l};
    tc_status s = tc_fleet_follow(&fo, &n, err);
    followed = followed_of(&n);
    if (out && s == TC_OK)
        return API_FILL(out, followed, err);
    return s;
}

tctune_status tctune_fleet_follow(const tctune_fleet *fleet, const char *database, const tctune_follow_options *options,
                                  tctune_followed *followed, char *error, size_t error_size) {
    API_CALL(err, error, error_size, follow(fleet, database, options, followed, &err), (void)0);
}
