/* Which builders a board that does not compile asks. A builder of another version makes other programs. A builder that sent
 * something else than the objects asked for is not believed any more. While there is no other builder, the board takes no
 * jobs, and says so. */
#include <stdio.h>
#include <string.h>

#include "fleet/bus_build.h"
#include "fleet/worker/serve_int.h"
#include "support/log.h"

typedef struct counting {
    fleet_worker *w;
    tc_arena *a;
    int n, wrong, others; /* that build for it; that are not believed; of other versions */
} counting;

static void count(void *user, const char *text, double age) {
    counting *c = user;
    tc_fleet_worker x;
    tc_error why = {0};
    (void)age;
    if (tc_fleet_worker_read(text, c->a, &x, &why) != TC_OK) {
        tc_log(TC_LOG_DEBUG, "a builder's announcement is left out: %s", why.msg);
        return;
    }
    if (x.role != TC_FLEET_BUILD || strcmp(x.state, TC_FLEET_SERVING) != 0)
        return;
    bool other = strcmp(x.build, c->w->told.build) != 0, wrong = !other && fleet_is_wrong(c->w, x.name);
    c->others += other;
    c->wrong += wrong;
    c->n += !other && !wrong;
}

static const char *say_why(const counting *c) {
    if (c->n)
        return "";
    return tc_arena_printf(c->a, "no builder for key %s%s: start `tctune worker --role build`", c->w->self.key,
                           c->wrong    ? " except builders that sent wrong objects"
                           : c->others ? " except builders of other versions of tctune"
                                       : "");
}

tc_status fleet_look_for_builders(fleet_worker *w, tc_error *err) {
    if (w->o->role != TC_FLEET_MEASURE)
        return TC_OK;
    counting c = {.w = w, .a = tc_arena_new()};
    tc_status s = tc_fleet_bus_builders_of(w->bus, w->self.key, count, &c, err);
    bool none = c.n == 0, news = false;
    if (s == TC_OK) {
        pthread_mutex_lock(&w->lock);
        news = w->unbuilt != none;
        w->unbuilt = none;
        if (news && !w->drained && !w->quarantined)
            fleet_show(w, say_why(&c));
        pthread_mutex_unlock(&w->lock);
    }
    if (news)
        tc_log(TC_LOG_WARN, none ? "this worker takes no jobs: %s" : "a builder for this worker is there%s", say_why(&c));
    tc_arena_free(c.a);
    return s;
}

bool fleet_is_unbuilt(fleet_worker *w, tc_error *err) {
    pthread_mutex_lock(&w->lock);
    bool none = w->unbuilt;
    pthread_mutex_unlock(&w->lock);
    if (none)
        (void)tc_fail(err, TC_ENV, "no builder for key %s: start `tctune worker --role build`", w->self.key);
    return none;
}

/* ---- who is not believed ---- */

/* Under the lock. */
static bool is_wrong(const fleet_worker *w, const char *builder) {
    for (size_t i = 0; i < w->nwrong; i++)
        if (strcmp(w->wrong[i], builder) == 0)
            return true;
    return false;
}

bool fleet_is_wrong(fleet_worker *w, const char *builder) {
    pthread_mutex_lock(&w->lock);
    bool wrong = is_wrong(w, builder);
    pthread_mutex_unlock(&w->lock);
    return wrong;
}

void fleet_disbelieve(fleet_worker *w, const char *builder, const char *why) {
    pthread_mutex_lock(&w->lock);
    bool is_new = !is_wrong(w, builder) && w->nwrong < FLEET_WRONG;
    if (is_new)
        snprintf(w->wrong[w->nwrong++], sizeof w->wrong[0], "%s", builder);
    pthread_mutex_unlock(&w->lock);
    if (is_new)
        tc_log(TC_LOG_WARN, "objects of the builder %s are no longer used: %s", builder, why);
}

const char *const *fleet_wrong_builders(fleet_worker *w, tc_arena *a, size_t *n) {
    const char **out = TC_NEW_N(a, const char *, FLEET_WRONG);
    pthread_mutex_lock(&w->lock);
    *n = w->nwrong;
    for (size_t i = 0; i < w->nwrong; i++)
        out[i] = tc_arena_strdup(a, w->wrong[i]);
    pthread_mutex_unlock(&w->lock);
    return out;
}
