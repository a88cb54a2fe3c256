/* Who measures for others. */
#include <stdlib.h>
#include <string.h>

#include "fleet/scale.h"
#include "report/report.h"

/* What its times are over those of the workers of its key: of most of them, by the reference kernel. */
static double ratio_of(const tc_fleet_crowd *c, const tc_fleet_worker *w) {
    double *all = tc_xcalloc(c->workers.len, sizeof *all);
    size_t n = 0;
    for (size_t i = 0; i < c->workers.len; i++)
        if (strcmp(c->workers.data[i].key, w->key) == 0)
            all[n++] = c->workers.data[i].reference;
    double ratio = tc_fleet_ratio_among(w->reference, all, n);
    free(all);
    return ratio;
}

static json_t *number_or_null(double x) {
    return x > 0 ? json_real(x) : json_null();
}

static json_t *worker(const tc_fleet_crowd *c, const tc_fleet_worker *w) {
    return json_pack("{s:s, s:s, s:s, s:s, s:i, s:s, s:I, s:b, s:o, s:o, s:o, s:f}", "name", w->name, "key", w->key, "host",
                     w->host, "target", w->target, "threads", w->threads, "build", w->build, "jobs", (json_int_t)w->jobs, "busy",
                     w->busy, "reference_seconds", number_or_null(w->reference), "reference_spread", number_or_null(w->spread),
                     "scale", number_or_null(ratio_of(c, w)), "silent_seconds", w->age);
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
        json_array_append_new(workers, worker(c, &c->workers.data[i]));
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
