/* Who measures for others. */
#include <string.h>

#include "report/report.h"

static json_t *worker(const tc_fleet_worker *w) {
    return json_pack("{s:s, s:s, s:s, s:s, s:i, s:s, s:I, s:b, s:f}", "name", w->name, "key", w->key, "host", w->host, "target",
                     w->target, "threads", w->threads, "build", w->build, "jobs", (json_int_t)w->jobs, "busy", w->busy,
                     "silent_seconds", w->age);
}

static tc_status add_key(const tc_fleet_crowd *c, const char *key, tc_fleet_bus *b, json_t *keys, tc_error *err) {
    int64_t waiting, under_way;
    TC_TRY(tc_fleet_bus_queue(b, key, &waiting, &under_way, err));
    json_array_append_new(keys, json_pack("{s:s, s:i, s:I, s:I}", "key", key, "workers", tc_fleet_crowd_of(c, key), "waiting",
                                          (json_int_t)waiting, "under_way", (json_int_t)under_way));
    return TC_OK;
}

tc_status tc_report_fleet(const tc_fleet_crowd *c, tc_fleet_bus *b, json_t **out, tc_error *err) {
    json_t *workers = json_array(), *keys = json_array();
    tc_status s = TC_OK;
    for (size_t i = 0; i < c->workers.len && s == TC_OK; i++) {
        json_array_append_new(workers, worker(&c->workers.data[i]));
        if (tc_fleet_crowd_first(c, i))
            s = add_key(c, c->workers.data[i].key, b, keys, err);
    }
    *out = json_pack("{s:s, s:o, s:o}", "server", tc_fleet_bus_url(b), "keys", keys, "workers", workers);
    if (s != TC_OK) {
        json_decref(*out);
        *out = NULL;
    }
    return s;
}
