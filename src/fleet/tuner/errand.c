/* Jobs asked for, and their answers. */
#include "fleet/tuner/errand_int.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "support/log.h"

bool errand_is_batch(const errand *e) {
    return e->c.way == TC_MEAS_WAY_BATCH;
}

/* ---- asking ---- */

/* Until this tuner waits no more; 0: it has no deadline. */
static double seconds_left(const errand *e) {
    double deadline = tc_meas_given(e->b->m)->deadline;
    return deadline > 0 ? fmin(fmax(deadline - tc_now(), 1e-3), TC_FLEET_LONGEST) : 0;
}

tc_status errand_send(errand *e, parcel *p, tc_error *err) {
    tc_strbuf text = {0};
    size_t n = e->f->barred.len;
    const char **barred = TC_NEW_N(e->a, const char *, n + (size_t)p->nexcept + 1);
    for (size_t i = 0; i < n; i++)
        barred[i] = e->f->barred.data[i];
    for (int i = 0; i < p->nexcept; i++)
        barred[n++] = p->except[i];
    p->job.barred = barred;
    p->job.nbarred = n;
    p->job.asked++;
    p->job.wanted = seconds_left(e);
    p->sent = tc_now();
    tc_fleet_job_write(&p->job, &text);
    tc_status s = tc_fleet_bus_ask(e->f->bus, e->f->key, e->f->tuner, p->job.id, p->job.asked, tc_sb_str(&text), &p->number, err);
    tc_strbuf_free(&text);
    return s;
}

/* One order as a job of its own. */
tc_fleet_job errand_job_of(const errand *e, const order *o) {
    tc_fleet_job j = {.tuner = e->f->tuner, .measure = *tc_meas_given(e->b->m), .call = e->c};
    if (errand_is_batch(e))
        j.call = (tc_meas_call){.way = TC_MEAS_WAY_BATCH, .in = &o->in, .n = 1};
    return j;
}

/* Gives an order its id: one that no other order ever had, where it is fresh or was answered wrongly. */
static void name(errand *e, order *o) {
    tc_fleet_job j = errand_job_of(e, o);
    o->id = tc_fleet_job_id(e->a, &j, o->fresh || o->tries ? e->f->session ^ ++e->f->serial : 0);
    tc_map_puts(&e->at, o->id, (uintptr_t)(o - e->order));
}

static const char *id_of_all(tc_arena *a, const char *const *each, size_t n) {
    tc_strbuf b = {0};
    for (size_t i = 0; i < n; i++)
        tc_sb_printf(&b, "%s\n", each[i]);
    const char *id = tc_arena_strdup(a, tc_digest_of(b.data, b.len).hex);
    tc_strbuf_free(&b);
    return id;
}

/* Asks for the orders that `which` lists. */
static tc_status dispatch(errand *e, const size_t *which, size_t n, tc_error *err) {
    parcel p = {.job = errand_job_of(e, &e->order[which[0]]), .size = n, .left = n};
    p.job.id = e->order[which[0]].id;
    if (errand_is_batch(e)) {
        tc_meas_input *in = TC_NEW_N(e->a, tc_meas_input, n);
        const char **each = TC_NEW_N(e->a, const char *, n);
        for (size_t i = 0; i < n; i++) {
            in[i] = e->order[which[i]].in;
            each[i] = e->order[which[i]].id;
        }
        p.job.each = each;
        p.job.call.in = in;
        p.job.call.n = n;
        p.job.id = n > 1 ? id_of_all(e->a, each, n) : each[0];
    }
    for (size_t i = 0; i < n; i++) {
        e->order[which[i]].parcel = e->parcel.len;
        e->order[which[i]].asked = true;
    }
    tc_push(&e->parcel, p);
    e->flying++;
    e->waiting += n;
    return errand_send(e, &e->parcel.data[e->parcel.len - 1], err);
}

bool errand_settle_one(errand *e, size_t at) {
    parcel *p = &e->parcel.data[at];
    if (p->left == p->size) /* a worker has it */
        e->waiting -= p->size;
    if (--p->left > 0)
        return false;
    e->flying--;
    return true;
}

static void settle(errand *e, order *o) {
    if (o->asked && errand_settle_one(e, o->parcel))
        e->slowest = TC_MAX(e->slowest, tc_now() - e->parcel.data[o->parcel].sent);
    o->asked = false;
}

/* It has a record, by whoever asked before. */
static tc_status recall(errand *e, order *o, bool *known, tc_error *err) {
    tc_meas_records r = {0};
    *known = false;
    if (!e->f->db)
        return TC_OK;
    TC_TRY(tc_meas_db_select(e->f->db, e->b->a, &(tc_meas_filter){.job = o->id, .limit = 1}, &r, err));
    *known = r.len > 0;
    if (!*known)
        return TC_OK;
    tc_record *to = &e->c.out[o->first];
    *to = r.data[0];
    to->elsewhere = true;
    o->done = true;
    e->done++;
    if (tc_record_ok(to) && to->verified)
        errand_lower_mark(e, o, to->median);
    if (to->error == TC_MEAS_NONE)
        (void)tc_meas_is_new(e->b->m, &e->b->job[o->first], e->b->a);
    tc_meas_report(e->b, &e->b->job[o->first]);
    return TC_OK;
}

/* Makes the next order ready; *wanted: it is to be asked for, nobody having answered it in this tuner's name before. */
static tc_status next_order(errand *e, bool *wanted, tc_error *err) {
    order *o = &e->order[e->next];
    tc_fleet_mail mail = {0};
    bool known = false;
    if (errand_is_batch(e)) {
        o->in = e->c.in[e->next];
        o->in.best = tc_meas_best_so_far(e->b->job, e->next);
        o->mark = errand_mark_of(e, &e->c.in[e->next]);
        if (o->in.best > 0)
            errand_lower_mark(e, o, o->in.best);
    }
    o->fresh = !errand_is_batch(e) || o->in.again;
    name(e, o);
    e->next++;
    if (!o->fresh) {
        TC_TRY(recall(e, o, &known, err));
        if (!known)
            TC_TRY(tc_fleet_bus_find(e->f->bus, e->f->key, e->f->tuner, o->id, e->a, &mail, err));
        if (mail.text && !fleet_bars(e->f, mail.worker))
            TC_TRY(errand_take(e, o, &mail, err));
    }
    *wanted = !o->done && !o->asked && !o->claim;
    return TC_OK;
}

size_t errand_jobs(const tc_fleet *f) {
    size_t n = 0;
    for (size_t i = 0; i < f->errands.len; i++)
        n += f->errands.data[i]->flying;
    return n;
}

static size_t orders_that_wait(const tc_fleet *f) {
    size_t n = 0;
    for (size_t i = 0; i < f->errands.len; i++)
        n += f->errands.data[i]->waiting;
    return n;
}

static bool shares_by_candidates(const tc_fleet *f) {
    return f->shared && !f->most;
}

/* Candidates of a tuner that wait in the queue at once. Tuners share by these: all wait for as long, whatever jobs they are in,
 * so that each has as many measured as its part of what waits. What a worker has begun takes longer the more candidates the job
 * has, and is not counted. Half of a job's for each of fleet_share's: with the one that a worker has under way that is enough for
 * it. */
static size_t share_of(const tc_fleet *f) {
    return (size_t)TC_MAX(f->in_flight, 1) * GROUP / 2;
}

static size_t room(const tc_fleet *f) {
    size_t waiting = orders_that_wait(f), share = share_of(f);
    return waiting < share ? share - waiting : 0;
}

/* A tuner that is alone, or was told how many jobs it may have, counts these. Where candidates are counted there is to be room
 * for half a job: of ever smaller ones each would be built alone. */
bool errand_may_ask(const errand *e) {
    const tc_fleet *f = e->f;
    size_t left = e->n - e->next;
    if (left == 0)
        return false;
    return shares_by_candidates(f) ? room(f) >= TC_MIN(TC_MIN(share_of(f), GROUP) / 2, left)
                                   : errand_jobs(f) < (size_t)f->in_flight;
}

/* As many that all workers have two jobs of those that are left, whatever they are of. One worker has them all, in whatever
 * jobs. */
static size_t group_size(const errand *e) {
    const tc_fleet *f = e->f;
    size_t left = 0, jobs = (size_t)TC_MAX(f->in_flight, 1), most = GROUP;
    for (size_t i = 0; i < f->errands.len; i++)
        left += f->errands.data[i]->n - f->errands.data[i]->next;
    if (shares_by_candidates(f))
        most = TC_MIN(most, room(f));
    return f->workers > 1 ? TC_MIN(TC_MAX((left + jobs - 1) / jobs, (size_t)1), most) : most;
}

tc_status errand_ask_next(errand *e, tc_error *err) {
    size_t which[GROUP], n = 0, group = group_size(e);
    while (n < group && e->next < e->n) {
        bool wanted;
        TC_TRY(next_order(e, &wanted, err));
        if (wanted)
            which[n++] = e->next - 1;
    }
    return n ? dispatch(e, which, n, err) : TC_OK;
}

/* ---- results ---- */

/* The worker's part of a record; what it is of the tuner knows. */
static void fill(const errand *e, const order *o, tc_record *to, const tc_record *r, const tc_fleet_result *x, double scale) {
    tc_arena *a = e->b->a;
    tc_meas_end_with(to, a, r->error, r->message);
    to->program = r->program;
    to->times = tc_arena_dup(a, r->times, r->ntimes * sizeof *r->times);
    to->ntimes = r->ntimes;
    to->median = r->median;
    to->verified = r->verified;
    to->max_error = r->max_error;
    to->stopped_early = r->stopped_early;
    to->build_seconds = r->build_seconds;
    to->run_seconds = r->run_seconds;
    to->signal = r->signal;
    to->rounds = r->rounds;
    to->when_ms = tc_meas_now_ms();
    to->elsewhere = true;
    to->scale = scale;
    to->host = tc_arena_printf(a, "%s@%s", x->worker, x->host);
    if (errand_is_batch(e))
        to->job = tc_arena_strdup(a, o->id);
}

static void report(const errand *e, size_t i) {
    if (errand_is_batch(e)) {
        if (e->c.out[i].error == TC_MEAS_NONE)
            (void)tc_meas_is_new(e->b->m, &e->b->job[i], e->b->a);
        tc_meas_report(e->b, &e->b->job[i]);
    } else if (e->b->progress && e->c.out[i].error != TC_MEAS_INTERRUPTED) {
        e->b->progress(e->b->user, i, &e->c.out[i]);
    }
}

/* Turns: seconds are [candidate][round] there and here, with room for all rounds here. */
static void fill_seconds(const errand *e, const tc_fleet_result *x) {
    if (e->c.way != TC_MEAS_WAY_TURNS)
        return;
    *e->c.done = x->done;
    for (size_t i = 0; i < x->n; i++)
        memcpy(e->c.seconds + i * (size_t)e->c.rounds, x->seconds + i * (size_t)x->done, (size_t)x->done * sizeof(double));
}

/* Whether it goes with what was asked. */
static tc_status check(const errand *e, const order *o, const tc_fleet_mail *mail, const tc_fleet_result *x, tc_error *err) {
    if (strcmp(x->worker, mail->worker) != 0 || strcmp(x->id, mail->id) != 0)
        return tc_fail(err, TC_ENV, "it sends a message in another name, as the answer of %s to job %s", x->worker, x->id);
    if (*x->refused)
        return tc_fail(err, TC_ENV, "it does not measure job %s: %s", o->id, x->refused);
    if (x->done > e->c.rounds)
        return tc_fail(err, TC_ENV, "it reports %d rounds of job %s, which has %d", x->done, o->id, e->c.rounds);
    for (size_t i = 0; i < x->n && errand_is_batch(e); i++)
        if (x->record[i].error == TC_MEAS_INTERRUPTED || x->record[i].error == TC_MEAS_DUPLICATE)
            return tc_fail(err, TC_ENV, "it reports about job %s: %s", o->id, tc_meas_error_meaning(x->record[i].error));
    return TC_OK;
}

tc_status errand_understand(const errand *e, const order *o, const tc_fleet_mail *mail, tc_fleet_result *x, tc_error *err) {
    if (tc_fleet_result_read(mail->text, o->n, e->a, x, err) == TC_OK)
        return check(e, o, mail, x, err);
    tc_error_prefix(err, "its answer to job %s is damaged: ", o->id);
    return TC_ENV;
}

/* The answer is not to be believed: another worker is asked. */
tc_status errand_ask_another(errand *e, order *o, const char *worker, const char *why, tc_error *err) {
    size_t which = (size_t)(o - e->order);
    TC_TRY(fleet_bar(e->f, worker, why, err));
    settle(e, o);
    if (++o->tries >= MOST_ASKED)
        return tc_fail(err, TC_ENV,
                       "%s: job %s got %d wrong answers, the last from the worker %s: %s. Keep that worker away from the fleet",
                       tc_fleet_bus_url(e->f->bus), o->id, o->tries, worker, why);
    name(e, o);
    return dispatch(e, &which, 1, err);
}

void errand_accept(errand *e, order *o, const tc_fleet_result *x, double scale) {
    o->done = true;
    e->done++;
    if (x->lost)
        tc_log(TC_LOG_WARN, "job %s is left unmeasured: the workers that had it vanished", o->id);
    for (size_t i = 0; i < x->n; i++)
        fill(e, o, &e->c.out[o->first + i], &x->record[i], x, scale);
    if (!x->lost)
        fill_seconds(e, x);
    for (size_t i = 0; i < x->n; i++)
        report(e, o->first + i);
}

tc_status errand_take(errand *e, order *o, const tc_fleet_mail *mail, tc_error *err) {
    tc_fleet_result x;
    tc_error why = {0};
    if (fleet_bars(e->f, mail->worker))
        return errand_ask_another(e, o, mail->worker, "it gave a wrong answer before", err);
    if (errand_understand(e, o, mail, &x, &why) != TC_OK)
        return errand_ask_another(e, o, mail->worker, why.msg, err);
    double scale;
    TC_TRY(fleet_note_pace(e->f, &x, &scale, err));
    settle(e, o);
    e->f->heard = tc_now();
    bool best = errand_would_be_best(e, o, &x, scale);
    if (best && e->f->workers > 1) {
        errand_hold(e, o, &x, scale);
        return TC_OK;
    }
    if (best)
        errand_lower_mark(e, o, x.record[0].median / scale);
    errand_accept(e, o, &x, scale);
    return TC_OK;
}
