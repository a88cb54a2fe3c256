/* A builder's jobs. Processes of this machine build candidates, for a target that may be another machine's, and the results go
 * to the server. The one who asks knows a result by a word that follows from what is built (build.h), and the word is computed
 * here anew. */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "fleet/objects/objects.h"
#include "fleet/worker/serve_int.h"
#include "support/log.h"
#include "support/system/stop.h"
#include "support/vec.h"

static const double first_pause = 0.1, longest_pause = 5;

bool fleet_is_of_key(const fleet_worker *w, const tc_fleet_build_job *j, tc_arena *a) {
    const char *key = tc_fleet_key(a, j->target, j->threads, w->told.build);
    return strcmp(key, w->self.key) == 0 || strcmp(tc_fleet_emulated_key(a, key), w->self.key) == 0;
}

/* A state that builds for jobs of this target, the last one's if it does. */
static tc_status prepare(fleet_worker *w, const tc_fleet_build_job *j, tc_arena *a, tc_error *err) {
    const char *all = tc_arena_printf(a, "%s\n%d\n%.17g", j->target, j->threads, j->limit);
    tc_digest like = tc_digest_of(all, strlen(all));
    if (w->meas && strcmp(w->like, like.hex) == 0)
        return TC_OK;
    tc_meas_options o = {
        .target = j->target, .threads = j->threads, .build_limit = j->limit, .stop = w->o->stop, .only_build = true};
    tc_meas_free(w->meas);
    w->meas = NULL;
    TC_TRY(tc_meas_new(&o, &w->meas, err));
    snprintf(w->like, sizeof w->like, "%s", like.hex);
    return TC_OK;
}

/* While the server is away, or full, it is tried again. */
static tc_status put(const fleet_worker *w, const char *id, const tc_meas_made *made, bool again, tc_error *err) {
    for (double pause = first_pause;; pause = TC_MIN(2 * pause, longest_pause)) {
        tc_status s = tc_fleet_object_put(w->bus, &w->self, id, made, again, err);
        if (s != TC_ENV || tc_is_raised(w->o->stop))
            return s;
        tc_log(pause == first_pause ? TC_LOG_WARN : TC_LOG_DEBUG, "an object cannot be sent yet: %s", err->msg);
        nanosleep(&(struct timespec){.tv_sec = (time_t)pause, .tv_nsec = (long)((pause - (double)(time_t)pause) * 1e9)}, NULL);
    }
}

tc_status fleet_serve_build(fleet_worker *w, const tc_fleet_build_job *j, tc_arena *a, tc_error *err) {
    tc_meas_made *made = TC_NEW_N(a, tc_meas_made, j->n);
    TC_TRY(prepare(w, j, a, err));
    TC_TRY(tc_meas_build(w->meas, j->in, j->n, a, made, err));
    for (size_t i = 0; i < j->n; i++) {
        if (made[i].error == TC_MEAS_INTERRUPTED)
            return tc_fail(err, TC_ENV, "stopped");
        TC_TRY(put(w, tc_fleet_build_id(a, j, i), &made[i], j->asked > 1, err));
    }
    return TC_OK;
}
