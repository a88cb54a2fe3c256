/* Fleets (include/tctune/fleet.h). */
#include "api/fleet_int.h"

#include <unistd.h>

#include "fleet/crowd.h"
#include "fleet/serve.h"

static tc_status check(const tctune_fleet *given, tctune_fleet *o, tc_error *err) {
    if (!given)
        return tc_fail(err, TC_BAD_INPUT, "there is no fleet: name its server");
    TC_TRY(api_options(o, sizeof *o, given, "fleet", err));
    if (!o->url || !*o->url)
        return tc_fail(err, TC_BAD_INPUT, "there is no server: give its address, nats://HOST:PORT");
    if (o->workers < 0 || !(o->patience >= 0))
        return tc_fail(err, TC_BAD_INPUT, "workers and patience are not negative");
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
                           .patience = o.patience,
                           .database = database};
    return tc_fleet_join(&fo, out, err);
}

/* ---- workers ---- */

static tc_status serve(const tctune_worker_options *options, tc_error *err) {
    tctune_worker_options o;
    tctune_fleet fleet;
    tc_target *t;
    volatile int never = 0;
    TC_TRY(API_OPTIONS(o, options, err));
    TC_TRY(check(o.fleet, &fleet, err));
    if (!(o.lease >= 0))
        return tc_fail(err, TC_BAD_INPUT, "lease is not negative");
    TC_TRY(api_target_here(o.target, o.threads, &t, err));
    tc_fleet_serve_options so = {.access = access_of(&fleet),
                                 .name = o.name,
                                 .target = t->text,
                                 .threads = t->machine.cores,
                                 .lease = o.lease,
                                 .stop = o.stop ? o.stop : &never,
                                 .ready = o.ready,
                                 .user = o.user};
    tc_status s = tc_fleet_serve(&so, err);
    tc_target_free(t);
    return s;
}

tctune_status tctune_fleet_serve(const tctune_worker_options *options, char *error, size_t error_size) {
    api_find_worker();
    API_CALL(err, error, error_size, serve(options, &err), (void)0);
}

static tc_status key_of(const char *target, int threads, char **key, tc_error *err) {
    tc_target *t;
    TC_TRY(api_target(target, threads, &t, err));
    tc_arena *a = tc_arena_new();
    *key = tc_xstrdup(tc_fleet_key(a, t->text, t->machine.cores, tc_fleet_build(a)));
    tc_arena_free(a);
    tc_target_free(t);
    return TC_OK;
}

tctune_status tctune_fleet_key(const char *target, int threads, char **key, char *error, size_t error_size) {
    *key = NULL;
    API_CALL(err, error, error_size, key_of(target, threads, key, &err), (free(*key), *key = NULL));
}

/* ---- what there is ---- */

static tc_status describe(const tctune_fleet *given, char **json, tc_error *err) {
    tctune_fleet o;
    tc_fleet_bus *b;
    TC_TRY(check(given, &o, err));
    tc_fleet_access access = access_of(&o);
    TC_TRY(tc_fleet_bus_open(&access, "status", &b, err));
    tc_fleet_crowd c = tc_fleet_crowd_new();
    json_t *j = NULL;
    tc_status s = tc_fleet_crowd_see(&c, b, err);
    if (s == TC_OK)
        s = tc_report_fleet(&c, b, &j, err);
    if (s == TC_OK)
        s = tc_report_text(j, json, err);
    tc_fleet_crowd_free(&c);
    tc_fleet_bus_close(b);
    return s;
}

tctune_status tctune_fleet_status(const tctune_fleet *fleet, char **json, char *error, size_t error_size) {
    API_DOCUMENT(err, error, error_size, json, describe(fleet, json, &err));
}
