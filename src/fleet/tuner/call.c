/* The carrier: calls that are under way, what is heard of all of them, and silence. Results are heard as they are sent; what was
 * missed while the connection was lost is looked for in the stream. */
#include "fleet/tuner/errand_int.h"

#include <stdlib.h>
#include <string.h>

#include "support/log.h"

enum { MOST_CAUGHT = 64 /* results at once, before more is asked for */ };
static const double hear_seconds = 0.05, look_seconds = 2, tend_seconds = 0.02;

/* ---- what is heard ---- */

static tc_status take_either(errand *e, order *o, const tc_fleet_mail *mail, tc_error *err) {
    return errand_is_second(o, mail->id) ? errand_take_second(e, o, mail, err) : errand_take(e, o, mail, err);
}

/* The order that a result is of; NULL: none that is awaited. */
static order *order_of(errand *e, const char *id) {
    const uintptr_t *at = tc_map_gets(&e->at, id);
    order *o = at ? &e->order[*at] : NULL;
    bool awaited = o && ((o->asked && strcmp(o->id, id) == 0) || errand_is_second(o, id));
    return awaited ? o : NULL;
}

static tc_status follow(tc_fleet *f, const tc_fleet_mail *mail, tc_error *err) {
    for (size_t i = 0; i < f->errands.len; i++) {
        order *o = order_of(f->errands.data[i], mail->id);
        if (o)
            return take_either(f->errands.data[i], o, mail, err);
    }
    return TC_OK;
}

static tc_status hear(tc_fleet *f, double seconds, bool *heard, tc_error *err) {
    tc_fleet_mail mail;
    tc_arena *a = tc_arena_new();
    tc_status s = tc_fleet_bus_hear(f->bus, seconds, a, &mail, err);
    *heard = s == TC_OK && mail.text;
    if (*heard)
        s = follow(f, &mail, err);
    tc_arena_free(a);
    return s;
}

/* ---- silence ---- */

static tc_status look(errand *e, tc_error *err) {
    for (size_t i = 0; i < e->next; i++) {
        order *o = &e->order[i];
        tc_fleet_mail mail;
        const char *id = o->asked ? o->id : o->claim ? o->claim->second : NULL;
        if (!id)
            continue;
        TC_TRY(tc_fleet_bus_find(e->f->bus, e->f->key, e->f->tuner, id, e->a, &mail, err));
        if (mail.text)
            TC_TRY(take_either(e, o, &mail, err));
    }
    return TC_OK;
}

static tc_status ask_for_rest(errand *e, tc_error *err) {
    for (size_t i = 0; i < e->parcel.len; i++) {
        parcel *p = &e->parcel.data[i];
        if (p->left == 0)
            continue;
        if (p->job.asked >= MOST_ASKED)
            return tc_fail(err, TC_ENV, "%s: job %s was sent %d times, and no worker answered", tc_fleet_bus_url(e->f->bus),
                           p->job.id, p->job.asked);
        TC_TRY(errand_send(e, p, err));
    }
    return TC_OK;
}

/* The queue was lost, or what was in it is too old or was dropped: what is awaited is asked for again, by a tuner that is there. */
static tc_status ask_again(tc_fleet *f, tc_error *err) {
    f->attended = 0;
    TC_TRY(fleet_attend(f, err));
    for (size_t i = 0; i < f->errands.len; i++)
        TC_TRY(ask_for_rest(f->errands.data[i], err));
    return TC_OK;
}

/* What the server passed over is asked for again. What workers have ended is not in the queue any more, also where the answer was
 * not heard yet. */
static tc_status ask_for_passed(errand *e, uint64_t ended, tc_error *err) {
    for (size_t i = 0; i < e->parcel.len; i++) {
        parcel *p = &e->parcel.data[i];
        if (p->left < p->size || p->number == 0 || p->number > ended || !tc_fleet_bus_take_out(e->f->bus, p->number))
            continue;
        tc_log(TC_LOG_INFO, "the server did not hand out job %s for %.1f s; the job is sent again", p->job.id,
               tc_now() - p->sent);
        TC_TRY(errand_send(e, p, err));
    }
    return TC_OK;
}

static tc_status look_for_passed(tc_fleet *f, tc_error *err) {
    uint64_t ended;
    TC_TRY(tc_fleet_bus_ended(f->bus, f->key, &ended, err));
    for (size_t i = 0; i < f->errands.len && ended; i++)
        TC_TRY(ask_for_passed(f->errands.data[i], ended, err));
    return TC_OK;
}

/* Looks into the stream; what is awaited then, and was in no queue before, is lost. */
static tc_status look_again(tc_fleet *f, tc_error *err) {
    int64_t mine;
    TC_TRY(tc_fleet_bus_asked(f->bus, f->key, f->tuner, &mine, err));
    f->looked = tc_now();
    for (size_t i = 0; i < f->errands.len; i++)
        TC_TRY(look(f->errands.data[i], err));
    TC_TRY(look_for_passed(f, err));
    return mine == 0 && errand_jobs(f) ? ask_again(f, err) : TC_OK;
}

/* Nothing was heard for long: is there anybody who could answer? */
static tc_status look_for_workers(tc_fleet *f, tc_error *err) {
    tc_fleet_crowd c = tc_fleet_crowd_new();
    tc_status s = fleet_look_around(f, &c, err);
    if (s == TC_OK && f->workers == 0)
        s = fleet_nobody(f, &c, f->key, err);
    tc_fleet_crowd_free(&c);
    f->heard = tc_now();
    if (s != TC_OK)
        return s;
    int64_t waiting, under_way; /* of all tuners: what is in the queue was given away too often */
    TC_TRY(tc_fleet_bus_queue(f->bus, f->key, &waiting, &under_way, err));
    return waiting + under_way == 0 ? ask_again(f, err) : TC_OK;
}

static tc_status bear_silence(tc_fleet *f, tc_error *err) {
    double now = tc_now();
    if (tc_fleet_bus_connected(f->bus) && now - f->looked > f->pauses * look_seconds)
        TC_TRY(look_again(f, err));
    if (now - f->heard < f->patience)
        return TC_OK;
    if (tc_fleet_bus_connected(f->bus))
        return look_for_workers(f, err);
    return tc_fail(
        err, TC_ENV,
        "%s: the server is gone, and did not come back within %g s; the records are kept, and the same command goes on from them",
        tc_fleet_bus_url(f->bus), f->patience);
}

/* ---- the carrier ---- */

static tc_status ask(errand *e, tc_error *err) {
    while (errand_may_ask(e) && tc_fleet_bus_connected(e->f->bus))
        TC_TRY(errand_ask_next(e, err));
    return TC_OK;
}

/* `first` before the others, which are asked for in the order in which they were begun. */
static tc_status ask_all(tc_fleet *f, errand *first, tc_error *err) {
    if (!tc_fleet_bus_connected(f->bus))
        return TC_OK;
    TC_TRY(fleet_attend(f, err));
    if (first)
        TC_TRY(ask(first, err));
    for (size_t i = 0; i < f->errands.len; i++)
        TC_TRY(ask(f->errands.data[i], err));
    return TC_OK;
}

static tc_status review(tc_fleet *f, tc_error *err) {
    for (size_t i = 0; i < f->errands.len; i++)
        TC_TRY(errand_review(f->errands.data[i], err));
    return TC_OK;
}

/* What went wrong while nobody waited is told once. */
static tc_status tell_trouble(tc_fleet *f, tc_error *err) {
    tc_error x = f->trouble;
    f->trouble = (tc_error){0};
    return x.status == TC_OK ? TC_OK : tc_fail(err, x.status, "%s", x.msg);
}

/* A step of all that is under way; e is waited for. */
static tc_status step(errand *e, tc_error *err) {
    tc_fleet *f = e->f;
    bool heard;
    TC_TRY(ask_all(f, e, err));
    TC_TRY(hear(f, hear_seconds, &heard, err));
    TC_TRY(review(f, err));
    return heard ? TC_OK : bear_silence(f, err);
}

/* What has come by now, and what can be asked for then. */
static tc_status catch_up(tc_fleet *f, tc_error *err) {
    bool heard = true;
    for (int n = 0; n < MOST_CAUGHT && heard; n++)
        TC_TRY(hear(f, 0, &heard, err));
    TC_TRY(review(f, err));
    return ask_all(f, NULL, err);
}

static void tend(const tc_meas *m) {
    tc_fleet *f = tc_meas_carried(m);
    double now = tc_now();
    if (f->errands.len == 0 || now - f->tended < tend_seconds || f->trouble.status != TC_OK || tc_meas_stopped(m))
        return;
    f->trouble.status = catch_up(f, &f->trouble);
    f->tended = tc_now();
}

/* Where others share the queue: what this tuner may have in it, and once more as much, which lasts while that is measured. */
static size_t appetite(const tc_meas *m) {
    const tc_fleet *f = tc_meas_carried(m);
    return f->shared ? 2 * (size_t)f->in_flight * GROUP : 0;
}

/* The last one that leaves takes out of the queue what nobody waits for. */
static void abandon(void *flight) {
    errand *e = flight;
    tc_fleet *f = e->f;
    size_t at = 0;
    f->forgotten |= e->flying > 0;
    while (f->errands.data[at] != e)
        at++;
    memmove(&f->errands.data[at], &f->errands.data[at + 1], (f->errands.len - at - 1) * sizeof(errand *));
    f->errands.len--;
    if (f->forgotten && f->errands.len == 0) {
        tc_fleet_bus_withdraw(f->bus, f->key, f->tuner);
        f->forgotten = false;
    }
    free(e->order);
    tc_vec_free(&e->parcel);
    tc_vec_free(&e->mark);
    tc_vec_free(&e->claims);
    tc_map_free(&e->at);
    tc_arena_free(e->a);
    free(e);
}

static tc_status end(void *flight, tc_error *err) {
    errand *e = flight;
    tc_status s = tell_trouble(e->f, err);
    e->f->heard = e->f->looked = tc_now();
    while (s == TC_OK && e->done < e->n && !tc_meas_stopped(e->b->m))
        s = step(e, err);
    abandon(e);
    return s;
}

/* Nobody answers what every worker refuses to read. */
static tc_status check_call(const tc_meas_call *c, tc_error *err) {
    int most = c->rounds;
    for (size_t i = 0; i < c->n; i++)
        most = TC_MAX(most, c->in[i].samples);
    return most <= TC_FLEET_MANY
               ? TC_OK
               : tc_fail(err, TC_BAD_INPUT, "a job of a fleet has at most %d repeats of a kernel, not %d: ask for fewer",
                         TC_FLEET_MANY, most);
}

static tc_status begin(const tc_meas_jobs *b, const tc_meas_call *c, void **flight, tc_error *err) {
    bool batch = c->way == TC_MEAS_WAY_BATCH;
    size_t records = c->way == TC_MEAS_WAY_SIZES ? c->n * c->npoint : c->n, n = batch ? c->n : 1;
    tc_fleet *f = tc_meas_carried(b->m);
    *flight = NULL;
    TC_TRY(check_call(c, err));
    TC_TRY(tell_trouble(f, err));
    errand *e = tc_xcalloc(1, sizeof *e);
    *e = (errand){.f = f, .b = b, .c = *c, .a = tc_arena_new(), .order = tc_xcalloc(n, sizeof(order)), .n = n};
    for (size_t i = 0; i < n; i++) {
        e->order[i].first = i;
        e->order[i].n = batch ? 1 : records;
    }
    tc_push(&f->errands, e);
    tc_status s = ask_all(f, NULL, err);
    *flight = s == TC_OK ? e : NULL;
    if (s != TC_OK)
        abandon(e);
    return s;
}

static tc_status open_fleet(const tc_meas *m, void **state, tc_error *err) {
    const tc_meas_options *o = tc_meas_given(m);
    tc_fleet *f = o->carried_by;
    if (strcmp(o->target, f->target) != 0 || o->threads != f->threads)
        return tc_fail(err, TC_BAD_INPUT, "the workers of %s measure for %s with %d threads, not for %s with %d", f->key,
                       f->target, f->threads, o->target, o->threads);
    *state = f;
    return TC_OK;
}

static void close_fleet(void *state) {
    (void)state; /* whoever joined it leaves it */
}

/* As its workers said when they began. */
static double peak(const tc_meas *m, double seconds) {
    const tc_fleet *f = tc_meas_carried(m);
    (void)seconds;
    return f->gflops;
}

static size_t restarts(const void *state) {
    (void)state; /* workers do not tell */
    return 0;
}

static bool emulated(const tc_meas_options *o) {
    return tc_fleet_is_emulated(o->carried_by);
}

const tc_meas_carrier tc_meas_fleet = {.open = open_fleet,
                                       .close = close_fleet,
                                       .begin = begin,
                                       .end = end,
                                       .abandon = abandon,
                                       .tend = tend,
                                       .appetite = appetite,
                                       .peak = peak,
                                       .restarts = restarts,
                                       .emulated = emulated};
