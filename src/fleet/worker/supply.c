/* How a board that does not compile comes by objects: it looks for what is there already, asks the key's builders for the rest,
 * and takes what they say.
 *
 * A candidate that a builder could not build is a record, as one that could not be built here. All else is nobody's: a builder
 * that is lost in the middle has its job taken by another one; a chunk that is gone is asked for again; who sends what is no such
 * object is not believed any more, and another one is asked. Meanwhile the job that the board measures is said to be under way
 * (serve.c). */
#include <string.h>
#include <time.h>

#include "fleet/objects/objects.h"
#include "fleet/worker/serve_int.h"
#include "support/log.h"
#include "support/system/stop.h"
#include "support/vec.h"

enum { MOST_ASKED = 8 /* times that a board asks for the same */ };

static const double first_pause = 0.005, longest_pause = 0.1, look_seconds = 2;

typedef struct orders {
    fleet_worker *w;
    tc_arena *a;
    tc_fleet_build_job job; /* all of them */
    const char **id;
    uint64_t *seen;   /* of each, the number of the last word that was taken */
    uint64_t *number; /* of each, that of its last job in the queue */
    bool *got;
    size_t left;
    tc_meas_made *out;
    bool due;             /* what is left is to be asked for */
    double asked, looked; /* when that was, and when the queue was looked at */
    double patience;      /* seconds after which builders that say nothing of what was asked are not waited for */
} orders;

static const tc_meas_made nothing = {.error = TC_MEAS_INTERRUPTED, .message = ""};

/* ---- what is there ---- */

static void take(orders *x, size_t i, const tc_fleet_built_mail *mail, const tc_fleet_taken *taken) {
    x->seen[i] = mail->number;
    if (taken->there) {
        x->got[i] = true;
        x->left--;
        return;
    }
    x->out[i] = nothing;
    x->due = true;
    if (taken->wrong)
        fleet_disbelieve(x->w, mail->builder, taken->wrong);
    else
        tc_log(TC_LOG_DEBUG, "the object %s of %s is incomplete, and is asked for again", x->id[i], mail->builder);
}

static tc_status look_for(orders *x, size_t i, tc_error *err) {
    const char *key = x->w->self.key;
    while (!x->got[i]) {
        tc_fleet_built_mail mail;
        tc_fleet_taken taken;
        TC_TRY(tc_fleet_bus_next_built(x->w->bus, key, x->id[i], x->seen[i], x->a, &mail, err));
        if (!mail.text)
            return TC_OK;
        if (fleet_is_wrong(x->w, mail.builder)) {
            x->seen[i] = mail.number;
            continue;
        }
        TC_TRY(tc_fleet_object_take(x->w->bus, key, x->id[i], &mail, x->a, &x->out[i], &taken, err));
        take(x, i, &mail, &taken);
    }
    return TC_OK;
}

static tc_status look(orders *x, tc_error *err) {
    for (size_t i = 0; i < x->job.n && !tc_is_raised(x->w->o->stop); i++)
        TC_TRY(look_for(x, i, err));
    return TC_OK;
}

/* ---- what is not ---- */

/* which: of each of the job's candidates, its place among all. */
static tc_status send(const orders *x, const tc_fleet_build_job *j, const size_t *which, tc_error *err) {
    tc_strbuf text = {0};
    uint64_t number = 0;
    tc_fleet_build_job_write(j, &text);
    tc_status s = tc_fleet_bus_ask_build(x->w->bus, x->w->self.key, x->w->self.name, tc_sb_str(&text), &number, err);
    for (size_t i = 0; i < j->n; i++)
        x->number[which[i]] = number;
    tc_strbuf_free(&text);
    return s;
}

static tc_status ask(orders *x, tc_error *err) {
    tc_meas_input some[TC_FLEET_BUILDS];
    size_t which[TC_FLEET_BUILDS];
    tc_fleet_build_job j = x->job;
    j.asked++;
    j.barred = fleet_wrong_builders(x->w, x->a, &j.nbarred);
    j.in = some;
    j.n = 0;
    for (size_t i = 0; i < x->job.n; i++) {
        if (!x->got[i]) {
            some[j.n] = x->job.in[i];
            which[j.n++] = i;
        }
        if (j.n == TC_FLEET_BUILDS || (j.n > 0 && i + 1 == x->job.n)) {
            TC_TRY(send(x, &j, which, err));
            j.n = 0;
        }
    }
    x->job.asked = j.asked;
    x->due = false;
    x->asked = x->looked = tc_now();
    x->patience *= 2; /* they may be slow */
    return TC_OK;
}

/* Whether builders have gone on behind a job of what is left. They have ended it, or the server has passed it over: nats-server 2.9
 * does that now and then, as it does with jobs of tuners (tc_fleet_bus_ended). Such a job stays in the queue, and no builder is
 * given it. It does no harm there, and goes after an hour. */
static tc_status is_behind(const orders *x, bool *is, tc_error *err) {
    uint64_t ended;
    TC_TRY(tc_fleet_bus_builds_ended(x->w->bus, x->w->self.key, &ended, err));
    *is = false;
    for (size_t i = 0; i < x->job.n; i++)
        *is |= !x->got[i] && x->number[i] > 0 && x->number[i] <= ended;
    return TC_OK;
}

/* Are jobs of this board in the queue, for a builder to take? The server may also call jobs under way that no builder has. */
static tc_status is_in_queue(const orders *x, bool *is, tc_error *err) {
    const char *key = x->w->self.key;
    int64_t n, waiting, under_way;
    bool behind = false;
    TC_TRY(tc_fleet_bus_builds(x->w->bus, key, x->w->self.name, &n, err));
    if (n > 0)
        TC_TRY(tc_fleet_bus_build_queue(x->w->bus, key, &waiting, &under_way, err));
    *is = n > 0 && (waiting > 0 || (under_way > 0 && tc_now() - x->asked < x->patience));
    if (*is)
        TC_TRY(is_behind(x, &behind, err));
    *is &= !behind;
    return TC_OK;
}

/* What is in no queue, and was not built before that was seen, is lost: the queue was deleted, the server passed over the job, or a
 * builder took it for none. Builders put a result on the server before they end the job. */
static tc_status look_after(orders *x, tc_error *err) {
    bool is;
    x->looked = tc_now();
    TC_TRY(is_in_queue(x, &is, err));
    if (is)
        return TC_OK;
    TC_TRY(look(x, err));
    x->due |= x->left > 0;
    return TC_OK;
}

static tc_status try_step(orders *x, tc_error *err) {
    if (x->due)
        TC_TRY(ask(x, err));
    TC_TRY(look(x, err));
    return x->left > 0 && tc_now() - x->looked > fleet_pause(x->w, look_seconds) ? look_after(x, err) : TC_OK;
}

/* A server that is away is waited for. */
static tc_status step(orders *x, tc_error *err) {
    if (fleet_is_unbuilt(x->w, err))
        return TC_ENV;
    if (x->due && x->job.asked >= MOST_ASKED)
        return tc_fail(err, TC_ENV, "builders of the key %s were asked for the same object %d times, and sent none",
                       x->w->self.key, MOST_ASKED);
    tc_status s = try_step(x, err);
    if (s == TC_ENV)
        tc_log(TC_LOG_DEBUG, "objects cannot be fetched yet: %s", err->msg);
    return s == TC_ENV ? TC_OK : s;
}

static tc_status wait_for_all(orders *x, tc_error *err) {
    for (double pause = first_pause; x->left > 0 && !tc_is_raised(x->w->o->stop); pause = TC_MIN(1.5 * pause, longest_pause)) {
        TC_TRY(step(x, err));
        if (x->left > 0)
            nanosleep(&(struct timespec){.tv_nsec = (long)(pause * 1e9)}, NULL);
    }
    return TC_OK;
}

static tc_status supply(void *user, const tc_meas_options *o, const tc_meas_input *const *in, size_t n, tc_arena *a,
                        tc_meas_made *out, tc_error *err) {
    fleet_worker *w = user;
    tc_meas_input *all = TC_NEW_N(a, tc_meas_input, n);
    orders x = {.w = w,
                .a = a,
                .id = TC_NEW_N(a, const char *, n),
                .seen = TC_NEW_N(a, uint64_t, n),
                .number = TC_NEW_N(a, uint64_t, n),
                .got = TC_NEW_N(a, bool, n),
                .left = n,
                .patience = w->lease,
                .out = out};
    x.job = (tc_fleet_build_job){
        .board = w->self.name, .target = o->target, .threads = o->threads, .limit = o->build_limit, .in = all, .n = n};
    for (size_t i = 0; i < n; i++)
        all[i] = *in[i];
    for (size_t i = 0; i < n; i++) {
        out[i] = nothing;
        x.id[i] = tc_fleet_build_id(a, &x.job, i);
    }
    tc_status s = look(&x, err);
    x.due = x.left > 0;
    return s == TC_OK || s == TC_ENV ? wait_for_all(&x, err) : s;
}

const tc_meas_supplier fleet_supplier = {.supply = supply};
