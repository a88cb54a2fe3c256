/* What fleet.h describes. */
#include "campaign/names/fleet.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fleet/bus.h"
#include "fleet/message.h"
#include "fleet/server.h"
#include "support/json/json.h"
#include "support/vec.h"

#define KEY "k1"

static test_server server;
static tc_fleet_bus *bus;
static tc_error why;

const char *names_fleet_start(void) {
    test_server_start(&server, "");
    return tc_fleet_bus_open(&(tc_fleet_access){.url = server.url}, "names", &bus, &why) == TC_OK ? server.url : NULL;
}

void names_fleet_stop(void) {
    tc_fleet_bus_close(bus);
    test_server_stop(&server);
}

/* A worker with one drawn text. */
static tc_status announce(const char *const text[], int i) {
    char entry[16];
    snprintf(entry, sizeof entry, "w%d", i);
    tc_fleet_worker w = {.name = entry,
                         .key = KEY,
                         .host = "h",
                         .build = "b",
                         .target = "t",
                         .state = TC_FLEET_SERVING,
                         .why = "",
                         .threads = 1,
                         .rates = {.peak = {.isa = "AVX2", .f32_gflops = 1, .triad_gbs = 1}}};
    const char **const field[NAMES_FLEET_COUNT] = {[NAMES_FLEET_HOST] = &w.host,     [NAMES_FLEET_BUILD] = &w.build,
                                                   [NAMES_FLEET_TARGET] = &w.target, [NAMES_FLEET_ISA] = &w.rates.peak.isa,
                                                   [NAMES_FLEET_WHY] = &w.why,       [NAMES_FLEET_NAME] = &w.name,
                                                   [NAMES_FLEET_KEY] = &w.key};
    if (field[i])
        *field[i] = text[i];
    tc_strbuf b = {0};
    tc_fleet_worker_write(&w, &b);
    tc_status s = tc_fleet_bus_announce(bus, KEY, entry, tc_sb_str(&b), &why);
    tc_strbuf_free(&b);
    return s;
}

static tc_status attend(const char *const text[]) {
    tc_fleet_ranking pair = {{text[NAMES_FLEET_NAME], "w1"}, {.pairs = 6, .flipped = 1}};
    tc_status s = TC_OK;
    for (int i = 0; i < 3 && s == TC_OK; i++) {
        char entry[16];
        tc_strbuf b = {0};
        snprintf(entry, sizeof entry, "t%d", i);
        tc_fleet_tuner t = {
            .name = i == 0 ? text[NAMES_FLEET_TUNER] : entry, .key = i == 1 ? text[NAMES_FLEET_KEY] : KEY, .weight = 1};
        if (i == 2)
            t.rankings = (tc_fleet_rankings){&pair, 1};
        tc_fleet_tuner_write(&t, &b);
        s = tc_fleet_bus_attend(bus, entry, tc_sb_str(&b), &why);
        tc_strbuf_free(&b);
    }
    return s;
}

/* Results of one job: a failure with a message, a refusal, and those of hosts and workers with drawn names. */
static tc_status answer(const char *const text[]) {
    static const tc_fleet_self self = {.key = KEY, .name = "w1", .boot = "1"};
    tc_record r = tc_meas_record_empty();
    tc_status s = TC_OK;
    r.error = TC_MEAS_RUN_CRASH;
    r.message = text[NAMES_FLEET_MESSAGE];
    const tc_fleet_result results[] = {{.id = "j0", .worker = "w1", .host = "h", .refused = "", .record = &r, .n = 1},
                                       {.id = "j1", .worker = "w1", .host = "h", .refused = text[NAMES_FLEET_MESSAGE]},
                                       {.id = "j2", .worker = "w1", .host = text[NAMES_FLEET_HOST], .refused = "no"},
                                       {.id = "j3", .worker = text[NAMES_FLEET_NAME], .host = "h", .refused = "no"}};
    for (size_t i = 0; i < TC_LEN(results) && s == TC_OK; i++) {
        tc_strbuf b = {0};
        tc_fleet_result_write(&results[i], &b);
        s = tc_fleet_bus_answer(bus, &self, "t2", results[i].id, tc_sb_str(&b), &why);
        tc_strbuf_free(&b);
    }
    return s;
}

/* An order, as another program may write it. */
static tc_status order(const char *to, const char *name, const char *reason) {
    json_t *j = tc_json_pack("{s:i, s:s, s:s, s:s, s:s, s:b, s:s}", "version", TC_FLEET_VERSION, "kind", "order", "name", name,
                             "key", KEY, "leave", "", "quarantined", 1, "why", reason);
    char *document = tc_json_text(j, 0);
    tc_status s = tc_fleet_bus_tell(bus, KEY, to, document, &why);
    free(document);
    json_decref(j);
    return s;
}

/* The record with drawn names of its host and its tuner. */
static tc_status share(const char *const text[], const char *record) {
    static int message;
    tc_status s = tc_fleet_bus_keep_records(bus, &why);
    for (int i = 0; i < 2 && s == TC_OK; i++) {
        char once[24], job[16];
        json_t *r = tc_json_read_own(record);
        snprintf(once, sizeof once, "m%d", ++message);
        snprintf(job, sizeof job, "job-%d", i);
        tc_json_set(r, "job", tc_json_string(job));
        if (i == 0)
            tc_json_set(r, "host", tc_json_string(text[NAMES_FLEET_HOST]));
        json_t *j = tc_json_pack("{s:i, s:s, s:s, s:o}", "version", TC_FLEET_VERSION, "kind", "record", "tuner",
                                 i == 1 ? text[NAMES_FLEET_TUNER] : "t1", "record", r);
        char *document = tc_json_text(j, JSON_COMPACT | JSON_REAL_PRECISION(17));
        s = tc_fleet_bus_keep(bus, KEY, job, once, document, &why);
        free(document);
        json_decref(j);
    }
    return s;
}

const char *names_fleet_say(const char *const text[NAMES_FLEET_COUNT], const char *record) {
    tc_status s = TC_OK;
    for (int i = 0; i < NAMES_FLEET_COUNT && s == TC_OK; i++)
        s = announce(text, i);
    if (s == TC_OK)
        s = attend(text);
    if (s == TC_OK)
        s = answer(text);
    if (s == TC_OK)
        s = order("away", "away", text[NAMES_FLEET_REASON]);
    if (s == TC_OK)
        s = order("gone", text[NAMES_FLEET_NAME], "");
    if (s == TC_OK)
        s = share(text, record);
    return s == TC_OK ? NULL : why.msg;
}
