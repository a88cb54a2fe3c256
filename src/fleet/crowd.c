#include "fleet/crowd.h"

#include <string.h>

#include "fleet/bus_build.h"
#include "support/log.h"

tc_fleet_crowd tc_fleet_crowd_new(void) {
    return (tc_fleet_crowd){.arena = tc_arena_new()};
}

void tc_fleet_crowd_free(tc_fleet_crowd *c) {
    tc_vec_free(&c->workers);
    tc_arena_free(c->arena);
}

static void note(void *user, const char *text, double age) {
    tc_fleet_crowd *c = user;
    tc_fleet_worker w;
    tc_error why;
    if (tc_fleet_worker_read(text, c->arena, &w, &why) != TC_OK) {
        tc_log(TC_LOG_WARN, "a worker's announcement is left out: %s", why.msg);
        return;
    }
    w.age = age;
    tc_push(&c->workers, w);
}

tc_status tc_fleet_crowd_see(tc_fleet_crowd *c, tc_fleet_bus *b, tc_error *err) {
    TC_TRY(tc_fleet_bus_workers(b, note, c, err));
    return tc_fleet_bus_builders(b, note, c, err);
}

bool tc_fleet_crowd_first(const tc_fleet_crowd *c, size_t i) {
    for (size_t k = 0; k < i; k++)
        if (strcmp(c->workers.data[k].key, c->workers.data[i].key) == 0)
            return false;
    return true;
}

bool tc_fleet_measures(const tc_fleet_worker *w) {
    return w->role != TC_FLEET_BUILD;
}

int tc_fleet_crowd_of(const tc_fleet_crowd *c, const char *key) {
    int n = 0;
    for (size_t i = 0; i < c->workers.len; i++)
        n += tc_fleet_measures(&c->workers.data[i]) && strcmp(c->workers.data[i].key, key) == 0;
    return n;
}

int tc_fleet_crowd_builders(const tc_fleet_crowd *c, const char *key) {
    int n = 0;
    for (size_t i = 0; i < c->workers.len; i++)
        n += !tc_fleet_measures(&c->workers.data[i]) && strcmp(c->workers.data[i].key, key) == 0;
    return n;
}

bool tc_fleet_is_serving(const tc_fleet_worker *w) {
    return strcmp(w->state, TC_FLEET_SERVING) == 0;
}
