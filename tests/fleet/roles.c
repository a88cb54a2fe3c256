/* See roles.h. */
#include "roles.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "codegen/target/target.h"
#include "fleet/crowd.h"
#include "fleet/worker/serve.h"

static volatile sig_atomic_t stop;

static void on_term(int number) {
    stop = number;
}

/* The first job that comes to a worker of this name. */
static tc_fleet_bus *take_one(const char *url, const tc_fleet_self *self, tc_fleet_delivery **d, tc_fleet_job *j) {
    tc_fleet_bus *b;
    *d = NULL;
    if (tc_fleet_bus_open(&(tc_fleet_access){.url = url}, self->name, &b, NULL) != TC_OK ||
        tc_fleet_bus_come_back(b, self, NULL) != TC_OK || tc_fleet_bus_serve(b, self->key, atof(TEST_LEASE), NULL) != TC_OK)
        _exit(1);
    while (!*d)
        if (tc_fleet_bus_fetch(b, 1, d, NULL) != TC_OK)
            _exit(1);
    if (tc_fleet_job_read(tc_fleet_delivery_text(*d), tc_arena_new(), j, NULL) != TC_OK)
        _exit(1);
    return b;
}

/* One that is lost in the middle of its first job: what it begins is the job, or its third candidate where that was lost before.
 * With a machine that begins anew it is one that was there before, and tells so when it is started again. */
static void be_lost(const char *url, const char *key, const char *boot) {
    tc_fleet_self self = {.key = key, .name = "lost", .boot = boot};
    tc_fleet_delivery *d;
    tc_fleet_job j;
    tc_fleet_bus *b = take_one(url, &self, &d, &j);
    bool alone = tc_fleet_delivery_times(d) > 1 && j.each && j.call.n > 2;
    const char *id = alone ? j.each[2] : j.id;
    tc_fleet_losses l;
    bool begun = tc_fleet_bus_losses(b, &self, id, &l, NULL) == TC_OK && tc_fleet_bus_begin(b, &self, id, l.here, NULL) == TC_OK;
    _exit(begun ? 42 : 1);
}

/* One that leaves with its first job, and says whether that is wanted for so many seconds: up to 1000, of which some are over. */
static void be_asked_how_long(const char *url, const char *key) {
    tc_fleet_self self = {.key = key, .name = "asked", .boot = "b"};
    tc_fleet_delivery *d;
    tc_fleet_job j;
    tc_fleet_bus *b = take_one(url, &self, &d, &j);
    tc_fleet_delivery_back(d, 0);
    tc_fleet_bus_close(b);
    _exit(j.wanted > 500 && j.wanted <= 1000 ? 42 : 1);
}

tc_meas_rates test_rates_of(const char *name) {
    size_t n = strlen(name);
    return (tc_meas_rates){
        .peak = {.isa = "made up", .f32_gflops = 10 * (name[n - 1] - '0') + (double)n}, .n = 1, .at = {{4096, 30, 20}}};
}

/* One that answers everything wrongly, in one way after the other, until it is ended. */
static void be_liar(const char *url, const char *key, const char *target) {
    static const char *const lies[] = {"no answer", "{\"version\":2,\"kind\":\"result\"}", NULL};
    tc_fleet_self self = {.key = key, .name = "liar", .boot = "b"};
    tc_fleet_worker told = {.name = "liar",
                            .key = key,
                            .host = "h",
                            .target = target,
                            .build = tc_fleet_build(tc_arena_new()),
                            .state = TC_FLEET_SERVING,
                            .why = "",
                            .threads = 1};
    tc_strbuf b = {0};
    tc_fleet_worker_write(&told, &b);
    tc_fleet_bus *bus;
    if (tc_fleet_bus_open(&(tc_fleet_access){.url = url}, "liar", &bus, NULL) != TC_OK ||
        tc_fleet_bus_serve(bus, key, atof(TEST_LEASE), NULL) != TC_OK ||
        tc_fleet_bus_announce(bus, key, "liar", tc_sb_str(&b), NULL) != TC_OK)
        _exit(1);
    for (unsigned n = 0;; n++) {
        tc_fleet_delivery *d;
        tc_fleet_job j;
        if (tc_fleet_bus_fetch(bus, 1, &d, NULL) != TC_OK)
            _exit(1);
        if (!d)
            continue;
        if (tc_fleet_job_read(tc_fleet_delivery_text(d), tc_arena_new(), &j, NULL) != TC_OK)
            _exit(1);
        if (j.nbarred) { /* it was found out */
            nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL);
            tc_fleet_delivery_back(d, 0);
            continue;
        }
        for (size_t i = 0; j.each && i < j.call.n; i++) {
            tc_fleet_result forged = {.id = j.each[i], .worker = "w1", .host = "h", .refused = "", .lost = true};
            tc_strbuf text = {0};
            tc_fleet_result_write(&forged, &text);
            if (tc_fleet_bus_answer(bus, &self, j.tuner, j.each[i], lies[n % 3] ? lies[n % 3] : tc_sb_str(&text), NULL) != TC_OK)
                _exit(1);
        }
        tc_fleet_delivery_done(d);
    }
}

int test_be_worker(char **argv) {
    tc_target *t;
    tc_error why = {0};
    if (tc_target_parse("native", &t, &why) != TC_OK)
        return 1;
    if (strcmp(argv[1], "lost") == 0)
        be_lost(argv[0], argv[2], argv[3]);
    if (strcmp(argv[1], "asked") == 0)
        be_asked_how_long(argv[0], argv[2]);
    if (strcmp(argv[1], "liar") == 0)
        be_liar(argv[0], argv[2], t->text);
    signal(SIGTERM, on_term);
    tc_fleet_serve_options o = {
        .access.url = argv[0], .name = argv[1], .threads = atoi(argv[2]), .lease = atof(TEST_LEASE), .stop = &stop};
    tc_meas_rates rates = test_rates_of(argv[1]);
    o.rates = &rates;
    o.emulated = strcmp(argv[3], "emulated") == 0;
    o.target = t->text;
    tc_status s = tc_fleet_serve(&o, &why);
    if (s != TC_OK)
        fprintf(stderr, "%s\n", why.msg);
    tc_target_free(t);
    return s == TC_OK ? 0 : 1;
}
