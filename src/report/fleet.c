/* Describes a fleet: the machines that measure for others. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "fleet/bus_build.h"
#include "fleet/scale.h"
#include "report/report.h"
#include "support/log.h"

/* The ratio of a worker's times to those of most workers of its key, by the reference kernel. */
static double ratio_of(const tc_fleet_crowd *c, const tc_fleet_worker *w) {
    double *all = tc_xcalloc(c->workers.len, sizeof *all);
    size_t n = 0;
    for (size_t i = 0; i < c->workers.len; i++)
        if (tc_fleet_measures(&c->workers.data[i]) && strcmp(c->workers.data[i].key, w->key) == 0)
            all[n++] = c->workers.data[i].reference;
    double ratio = tc_fleet_ratio_among(w->reference, all, n);
    free(all);
    return ratio;
}

static json_t *number_or_null(double x) {
    return x > 0 ? tc_json_real(x) : json_null();
}

static json_t *worker(const tc_fleet_crowd *c, const tc_fleet_worker *w) {
    return tc_json_pack("{s:s, s:s, s:s, s:s, s:s, s:i, s:s, s:I, s:b, s:b, s:s, s:s, s:o, s:o, s:o, s:f}", "name", w->name,
                        "key", w->key, "host", w->host, "role", tc_fleet_role_text(w->role), "target", w->target, "threads",
                        w->threads, "build", w->build, "jobs", (json_int_t)w->jobs, "busy", w->busy, "emulated",
                        tc_fleet_key_is_emulated(w->key), "state", w->state, "why", w->why, "reference_seconds",
                        number_or_null(w->reference), "reference_spread", number_or_null(w->spread), "scale",
                        number_or_null(ratio_of(c, w)), "silent_seconds", w->age);
}

static tc_status add_key(const tc_fleet_crowd *c, const char *key, tc_fleet_bus *b, json_t *keys, tc_error *err) {
    int64_t waiting, under_way, builds, building;
    TC_TRY(tc_fleet_bus_queue(b, key, &waiting, &under_way, err));
    TC_TRY(tc_fleet_bus_build_queue(b, key, &builds, &building, err));
    tc_json_append(keys, tc_json_pack("{s:s, s:i, s:i, s:I, s:I, s:I, s:I}", "key", key, "workers", tc_fleet_crowd_of(c, key),
                                      "builders", tc_fleet_crowd_builders(c, key), "waiting", (json_int_t)waiting, "under_way",
                                      (json_int_t)under_way, "builds_waiting", (json_int_t)builds, "builds_under_way",
                                      (json_int_t)building));
    return TC_OK;
}

typedef struct tuners {
    tc_arena *a;
    json_t *all, *rankings;
} tuners;

/* The report of another tuner of the key about the same two workers; NULL: there is none. */
static json_t *ranking_there(json_t *all, const char *key, const tc_fleet_ranking *k) {
    size_t i;
    json_t *o;
    json_array_foreach(all, i, o) {
        const json_t *w = json_object_get(o, "workers");
        if (strcmp(json_string_value(json_object_get(o, "key")), key) == 0 &&
            strcmp(json_string_value(json_array_get(w, 0)), k->worker[0]) == 0 &&
            strcmp(json_string_value(json_array_get(w, 1)), k->worker[1]) == 0)
            return o;
    }
    return NULL;
}

/* Pairs of workers, each once: what all tuners of a key had them time counts together. */
static void add_ranking(json_t *all, const char *key, const tc_fleet_ranking *k) {
    tc_fleet_flips f = k->flips;
    json_t *o = ranking_there(all, key, k);
    if (!o) {
        o = tc_json_pack("{s:s, s:[s, s]}", "key", key, "workers", k->worker[0], k->worker[1]);
        tc_json_append(all, o);
    }
    f.pairs += (size_t)json_integer_value(json_object_get(o, "pairs"));
    f.flipped += (size_t)json_integer_value(json_object_get(o, "flipped"));
    tc_json_set(o, "pairs", tc_json_integer((json_int_t)f.pairs));
    tc_json_set(o, "flipped", tc_json_integer((json_int_t)f.flipped));
    tc_json_set(o, "flip_share", tc_json_real((double)f.flipped / (double)f.pairs));
    tc_json_set(o, "differ", json_boolean(tc_fleet_rank_otherwise(f)));
}

static void add_tuner(void *user, const char *text, double age) {
    tuners *t = user;
    tc_fleet_tuner x;
    tc_error why = {0};
    if (tc_fleet_tuner_read(text, t->a, &x, &why) != TC_OK) {
        tc_log(TC_LOG_WARN, "a tuner's announcement is left out: %s", why.msg);
        return;
    }
    tc_json_append(t->all,
                   tc_json_pack("{s:s, s:s, s:f, s:f}", "name", x.name, "key", x.key, "weight", x.weight, "silent_seconds", age));
    for (size_t i = 0; i < x.rankings.len; i++)
        add_ranking(t->rankings, x.key, &x.rankings.data[i]);
}

tc_status tc_report_fleet(const tc_fleet_crowd *c, tc_fleet_bus *b, json_t **out, tc_error *err) {
    json_t *workers = tc_json_array(), *keys = tc_json_array();
    tuners t = {.a = c->arena, .all = tc_json_array(), .rankings = tc_json_array()};
    tc_status s = tc_fleet_bus_tuners(b, add_tuner, &t, err);
    for (size_t i = 0; i < c->workers.len && s == TC_OK; i++) {
        tc_json_append(workers, worker(c, &c->workers.data[i]));
        if (tc_fleet_crowd_first(c, i))
            s = add_key(c, c->workers.data[i].key, b, keys, err);
    }
    *out = tc_json_pack("{s:s, s:o, s:o, s:o, s:o}", "server", tc_fleet_bus_url(b), "keys", keys, "workers", workers, "tuners",
                        t.all, "rankings", t.rankings);
    if (s != TC_OK) {
        json_decref(*out);
        *out = NULL;
    }
    return s;
}

/* ---- orders ---- */

json_t *tc_report_told(const tc_fleet_crowd *told, const char *what, const tc_fleet_bus *b) {
    json_t *workers = tc_json_array();
    for (size_t i = 0; i < told->workers.len; i++) {
        const tc_fleet_worker *w = &told->workers.data[i];
        tc_json_append(workers, tc_json_pack("{s:s, s:s, s:s}", "name", w->name, "key", w->key, "host", w->host));
    }
    return tc_json_pack("{s:s, s:s, s:o}", "server", tc_fleet_bus_url(b), "order", what, "workers", workers);
}

/* ---- what became of jobs ---- */

/* The number of records that a result declares; damage to a record does not matter here. */
static size_t count_records(const char *text) {
    json_t *j = tc_json_read(text, TC_INPUT_MESSAGE, JSON_REJECT_DUPLICATES, NULL);
    size_t n = json_array_size(json_object_get(j, "records"));
    json_decref(j);
    return n;
}

/* For several records: the first that failed says how the job ended, the fastest of the others how fast it was. */
static void put_outcome(json_t *o, const tc_fleet_result *x) {
    const tc_record *failed = NULL;
    double best = INFINITY;
    for (size_t i = 0; i < x->n; i++) {
        if (x->record[i].error != TC_MEAS_NONE && !failed)
            failed = &x->record[i];
        else if (x->record[i].error == TC_MEAS_NONE && x->record[i].median < best)
            best = x->record[i].median;
    }
    const char *outcome = *x->refused ? "refused"
                          : x->lost   ? "lost"
                                      : tc_meas_error_text(failed ? failed->error : TC_MEAS_NONE),
               *message = *x->refused ? x->refused
                          : failed    ? failed->message
                                      : "";
    tc_json_set(o, "outcome", tc_json_string(outcome));
    tc_json_set(o, "message", tc_json_string(message));
    tc_json_set(o, "host", tc_json_string(x->host));
    tc_json_set(o, "records", tc_json_integer((json_int_t)x->n));
    tc_json_set(o, "seconds", tc_json_real(best));
}

static void add_logged(void *user, const tc_fleet_logged *l) {
    json_t *o = tc_json_pack("{s:I, s:s, s:s, s:s, s:s}", "when_ms", (json_int_t)l->when_ms, "worker", l->worker, "key", l->key,
                             "tuner", l->tuner, "job", l->id);
    tc_fleet_result x;
    tc_error why = {0};
    tc_arena *a = tc_arena_new();
    if (tc_fleet_result_read(l->text, count_records(l->text), a, &x, &why) != TC_OK)
        x = (tc_fleet_result){.host = "", .refused = ""};
    put_outcome(o, &x);
    if (*why.msg) {
        tc_json_set(o, "outcome", tc_json_string("damaged"));
        tc_json_set(o, "message", tc_json_string(why.msg));
    }
    tc_json_append(user, o);
    tc_arena_free(a);
}

tc_status tc_report_fleet_log(tc_fleet_bus *b, const char *worker, size_t most, json_t **out, tc_error *err) {
    json_t *jobs = tc_json_array();
    tc_status s = tc_fleet_bus_log(b, worker, most, add_logged, jobs, err);
    *out = tc_json_pack("{s:s, s:o}", "server", tc_fleet_bus_url(b), "jobs", jobs);
    if (s != TC_OK) {
        json_decref(*out);
        *out = NULL;
    }
    return s;
}
