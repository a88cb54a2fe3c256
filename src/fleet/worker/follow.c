/* How a worker follows what it is told. */
#include <stdio.h>
#include <string.h>

#include "fleet/worker/serve_int.h"
#include "support/log.h"
#include "support/system/stop.h"

void fleet_show(fleet_worker *w, const char *why) {
    snprintf(w->why, sizeof w->why, "%s", why);
    w->told.state = w->drained ? "draining" : w->quarantined ? "quarantined" : w->unbuilt ? "waiting" : TC_FLEET_SERVING;
    w->told.why = w->why;
    w->news = true;
}

/* Whether it is to take no jobs is as the order that stands says; whether it is to leave, only one that came after it did. */
static void follow(fleet_worker *w, const tc_fleet_told *o, bool came) {
    pthread_mutex_lock(&w->lock);
    bool leaves = came && *o->leave && !w->drained, other = w->quarantined != o->quarantined;
    w->drained |= leaves;
    w->quarantined = o->quarantined;
    if (leaves || other)
        fleet_show(w, o->why);
    pthread_mutex_unlock(&w->lock);
    const char *colon = *o->why ? ": " : "";
    if (leaves)
        tc_log(TC_LOG_WARN, "this worker was told to leave (%s)%s%s", o->leave, colon, o->why);
    else if (other)
        tc_log(TC_LOG_WARN,
               o->quarantined ? "this worker takes no jobs until it is released%s%s" : "this worker was released%s%s", colon,
               o->why);
    if (leaves && tc_fleet_told_kick(o))
        tc_raise_to(&w->stop, 1);
}

static tc_status look(fleet_worker *w, bool first, tc_error *err) {
    tc_fleet_told o = {.leave = "", .why = ""};
    const char *text;
    uint64_t number;
    tc_error why = {0};
    tc_arena *a = tc_arena_new();
    tc_status s = tc_fleet_bus_order(w->bus, w->self.key, w->self.name, a, &text, &number, err);
    bool came = s == TC_OK && number != w->order, damaged = s == TC_OK && text && tc_fleet_told_read(text, a, &o, &why) != TC_OK;
    if (damaged && (came || first))
        tc_log(TC_LOG_WARN, "an order to this worker is damaged, and not followed: %s", why.msg);
    if (s == TC_OK && !damaged)
        follow(w, &o, came && !first);
    if (s == TC_OK)
        w->order = number;
    tc_arena_free(a);
    return s;
}

tc_status fleet_find_orders(fleet_worker *w, tc_error *err) {
    return look(w, true, err);
}

void fleet_heed(fleet_worker *w) {
    tc_error why = {0};
    if (look(w, false, &why) != TC_OK)
        tc_log(TC_LOG_DEBUG, "%s", why.msg);
}
