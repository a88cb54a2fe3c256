/* Jobs asked for, results awaited. Results are heard as they are sent; what was missed while the connection was lost is looked for in
 * the stream. */
#include "fleet/tuner/tuner_int.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "support/log.h"
#include "support/map.h"

enum {
    GROUP =
        8, /* candidates of a job at most: a worker builds them on all its cores, and more would be measured anew where it is lost */
    MOST_ASKED = 16 /* times that a job is asked for */
};

static const double hear_seconds = 0.05, look_seconds = 2, least_wait = 10;

/* An answer that would be the best of its workload, and what others say of its program. */
typedef struct claim {
    tc_fleet_result x;
    double scale;
    tc_fleet_opinion opinion[3]; /* its own, and of those that were asked */
    const char *worker[3];
    int n;
    const char *second; /* the job by which another one is asked now; NULL: none */
    size_t parcel;      /* of it */
    double due;         /* when that may be asked for again */
    double refused;     /* when it first came to one that had been asked, others being busy or gone; 0: it did not */
} claim;

/* Programs that are compared with one another, and the least seconds of them that are believed, on the common scale. */
typedef struct mark {
    const tc_meas_input *of;
    double best;
} mark;

/* What is answered at once: a candidate of a batch, or all of another call. */
typedef struct order {
    const char *id;
    tc_meas_input in; /* of a batch */
    size_t first, n;  /* its records, of the call's */
    size_t parcel;    /* that it is asked for with */
    int tries;        /* workers that gave a wrong answer */
    size_t mark;      /* of a batch */
    claim *claim;     /* it waits for others to confirm it; NULL: it does not */
    bool fresh;       /* nobody can have answered it before */
    bool asked, done;
} order;

/* A job in the queue. */
typedef struct parcel {
    tc_fleet_job job;
    size_t left;               /* orders of it without an answer */
    const char *const *except; /* workers that are not to measure it, beside those that nothing is asked of */
    int nexcept;
    double sent; /* when it was asked for last */
} parcel;

typedef struct errand {
    tc_fleet *f;
    const tc_meas_jobs *b;
    const tc_meas_call *c;
    tc_arena *a; /* of messages */
    order *order;
    size_t n, next, done;
    tc_map at; /* id -> index of its order */
    TC_VEC(parcel) parcel;
    size_t flying; /* parcels with something left */
    TC_VEC(mark) mark;
    TC_VEC(order *) claims;
    bool forgotten;       /* something may be in the queue that nobody waits for */
    double slowest;       /* seconds that the answer to a job took */
    double heard, looked; /* when a result came last, and when the stream was looked at */
} errand;

static bool is_batch(const errand *e) {
    return e->c->way == TC_MEAS_WAY_BATCH;
}

/* ---- asking ---- */

static tc_status send(errand *e, parcel *p, tc_error *err) {
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
    p->sent = tc_now();
    tc_fleet_job_write(&p->job, &text);
    tc_status s = tc_fleet_bus_ask(e->f->bus, e->f->key, e->f->tuner, p->job.id, p->job.asked, tc_sb_str(&text), err);
    tc_strbuf_free(&text);
    return s;
}

/* One order as a job of its own. */
static tc_fleet_job job_of(const errand *e, const order *o) {
    tc_fleet_job j = {.tuner = e->f->tuner, .measure = *tc_meas_given(e->b->m), .call = *e->c};
    if (is_batch(e))
        j.call = (tc_meas_call){.way = TC_MEAS_WAY_BATCH, .in = &o->in, .n = 1};
    return j;
}

/* Gives an order its id: one that no other order ever had, where it is fresh or was answered wrongly. */
static void name(errand *e, order *o) {
    tc_fleet_job j = job_of(e, o);
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
    parcel p = {.job = job_of(e, &e->order[which[0]]), .left = n};
    p.job.id = e->order[which[0]].id;
    if (is_batch(e)) {
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
    return send(e, &e->parcel.data[e->parcel.len - 1], err);
}

static void settle(errand *e, order *o) {
    parcel *p = &e->parcel.data[o->parcel];
    if (o->asked && --p->left == 0) {
        e->flying--;
        e->slowest = TC_MAX(e->slowest, tc_now() - p->sent);
    }
    o->asked = false;
}

static tc_status take(errand *e, order *o, const tc_fleet_mail *mail, tc_error *err);

/* The mark of what is compared with it, made where there is none. */
static size_t mark_of(errand *e, const tc_meas_input *in) {
    for (size_t i = 0; i < e->mark.len; i++) {
        const tc_meas_input *m = e->mark.data[i].of;
        if (m->cold == in->cold && strcmp(m->workload, in->workload) == 0 &&
            strcmp(m->sizes ? m->sizes : "", in->sizes ? in->sizes : "") == 0)
            return i;
    }
    tc_push(&e->mark, ((mark){.of = in, .best = INFINITY}));
    return e->mark.len - 1;
}

static void lower_mark(errand *e, const order *o, double seconds) {
    mark *m = &e->mark.data[o->mark];
    m->best = TC_MIN(m->best, seconds);
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
    tc_record *to = &e->c->out[o->first];
    *to = r.data[0];
    to->elsewhere = true;
    o->done = true;
    e->done++;
    if (tc_record_ok(to) && to->verified)
        lower_mark(e, o, to->median);
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
    if (is_batch(e)) {
        o->in = e->c->in[e->next];
        o->in.best = tc_meas_best_so_far(e->b->job, e->next);
        o->mark = mark_of(e, &e->c->in[e->next]);
        if (o->in.best > 0)
            lower_mark(e, o, o->in.best);
    }
    o->fresh = !is_batch(e) || o->in.again;
    name(e, o);
    e->next++;
    if (!o->fresh) {
        TC_TRY(recall(e, o, &known, err));
        if (!known)
            TC_TRY(tc_fleet_bus_find(e->f->bus, e->f->key, e->f->tuner, o->id, e->a, &mail, err));
        if (mail.text && !fleet_bars(e->f, mail.worker))
            TC_TRY(take(e, o, &mail, err));
    }
    *wanted = !o->done && !o->asked;
    return TC_OK;
}

/* As many that all workers have two jobs of those that are left. */
static size_t group_size(const errand *e) {
    size_t left = e->n - e->next, jobs = (size_t)TC_MAX(e->f->in_flight, 1), each = (left + jobs - 1) / jobs;
    return TC_MIN(TC_MAX(each, (size_t)1), (size_t)GROUP);
}

static tc_status ask_next(errand *e, tc_error *err) {
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
    if (is_batch(e))
        to->job = tc_arena_strdup(a, o->id);
}

static void report(const errand *e, size_t i) {
    if (is_batch(e)) {
        if (e->c->out[i].error == TC_MEAS_NONE)
            (void)tc_meas_is_new(e->b->m, &e->b->job[i], e->b->a);
        tc_meas_report(e->b, &e->b->job[i]);
    } else if (e->b->progress && e->c->out[i].error != TC_MEAS_INTERRUPTED) {
        e->b->progress(e->b->user, i, &e->c->out[i]);
    }
}

/* Turns: seconds are [candidate][round] there and here, with room for all rounds here. */
static void fill_seconds(const errand *e, const tc_fleet_result *x) {
    if (e->c->way != TC_MEAS_WAY_TURNS)
        return;
    *e->c->done = x->done;
    for (size_t i = 0; i < x->n; i++)
        memcpy(e->c->seconds + i * (size_t)e->c->rounds, x->seconds + i * (size_t)x->done, (size_t)x->done * sizeof(double));
}

/* Whether it goes with what was asked. */
static tc_status check(const errand *e, const order *o, const tc_fleet_mail *mail, const tc_fleet_result *x, tc_error *err) {
    if (strcmp(x->worker, mail->worker) != 0 || strcmp(x->id, mail->id) != 0)
        return tc_fail(err, TC_ENV, "it sends what is said to be the answer of %s to job %s", x->worker, x->id);
    if (*x->refused)
        return tc_fail(err, TC_ENV, "it does not measure job %s: %s", o->id, x->refused);
    if (x->done > e->c->rounds)
        return tc_fail(err, TC_ENV, "it tells of %d rounds of job %s, which has %d", x->done, o->id, e->c->rounds);
    for (size_t i = 0; i < x->n && is_batch(e); i++)
        if (x->record[i].error == TC_MEAS_INTERRUPTED || x->record[i].error == TC_MEAS_DUPLICATE)
            return tc_fail(err, TC_ENV, "it says of job %s: %s", o->id, tc_meas_error_meaning(x->record[i].error));
    return TC_OK;
}

static tc_status understand(const errand *e, const order *o, const tc_fleet_mail *mail, tc_fleet_result *x, tc_error *err) {
    if (tc_fleet_result_read(mail->text, o->n, e->a, x, err) == TC_OK)
        return check(e, o, mail, x, err);
    tc_error_prefix(err, "its answer to job %s is damaged: ", o->id);
    return TC_ENV;
}

/* The answer is not to be believed: another worker is asked. */
static tc_status ask_another(errand *e, order *o, const char *worker, const char *why, tc_error *err) {
    size_t which = (size_t)(o - e->order);
    TC_TRY(fleet_bar(e->f, worker, why, err));
    settle(e, o);
    if (++o->tries >= MOST_ASKED)
        return tc_fail(err, TC_ENV, "%s: job %s was answered wrongly %d times, by %s at last: %s. Keep it away from the fleet",
                       tc_fleet_bus_url(e->f->bus), o->id, o->tries, worker, why);
    name(e, o);
    return dispatch(e, &which, 1, err);
}

static void accept(errand *e, order *o, const tc_fleet_result *x, double scale) {
    o->done = true;
    e->done++;
    if (x->lost)
        tc_log(TC_LOG_WARN, "job %s is left unmeasured: workers vanished with it", o->id);
    for (size_t i = 0; i < x->n; i++)
        fill(e, o, &e->c->out[o->first + i], &x->record[i], x, scale);
    if (!x->lost)
        fill_seconds(e, x);
    for (size_t i = 0; i < x->n; i++)
        report(e, o->first + i);
}

/* ---- the best ----
 *
 * What would be the best of its workload is measured by another worker too before it is believed, and told of: one that says of its programs
 * what is not so is found by the first that matters. */

static bool would_be_best(const errand *e, const order *o, const tc_fleet_result *x, double scale) {
    const tc_record *r = x->n == 1 ? &x->record[0] : NULL;
    return is_batch(e) && r && tc_record_ok(r) && r->verified && !r->stopped_early &&
           r->median / scale < e->mark.data[o->mark].best;
}

static tc_fleet_opinion opinion_of(const tc_record *r, double scale) {
    tc_fleet_opinion x = {r->times[0] / scale, r->times[0] / scale};
    for (size_t i = 1; i < r->ntimes; i++) {
        x.least = TC_MIN(x.least, r->times[i] / scale);
        x.most = TC_MAX(x.most, r->times[i] / scale);
    }
    return x;
}

static double claimed(const claim *c) {
    return c->x.record[0].median / c->scale;
}

static void hold(errand *e, order *o, const tc_fleet_result *x, double scale) {
    o->claim = TC_NEW(e->a, claim);
    *o->claim = (claim){.x = *x, .scale = scale, .opinion[0] = opinion_of(&x->record[0], scale), .worker[0] = x->worker, .n = 1};
    tc_push(&e->claims, o);
}

/* Nobody is asked about it any more. */
static void drop_second(errand *e, claim *c) {
    if (c->second && --e->parcel.data[c->parcel].left == 0)
        e->flying--;
    c->second = NULL;
}

static void drop_claim(errand *e, order *o) {
    e->forgotten |= o->claim->second != NULL;
    drop_second(e, o->claim);
    for (size_t i = 0; i < e->claims.len; i++)
        if (e->claims.data[i] == o)
            e->claims.data[i] = e->claims.data[--e->claims.len];
    o->claim = NULL;
}

static void release(errand *e, order *o) {
    claim c = *o->claim;
    drop_claim(e, o);
    accept(e, o, &c.x, c.scale);
}

static void believe(errand *e, order *o) {
    lower_mark(e, o, claimed(o->claim));
    release(e, o);
}

static tc_status ask_second(errand *e, order *o, tc_error *err) {
    claim *c = o->claim;
    parcel p = {.job = job_of(e, o), .left = 1, .except = c->worker, .nexcept = c->n};
    tc_meas_input *in = tc_arena_dup(e->a, p.job.call.in, sizeof *in);
    const char **each = TC_NEW(e->a, const char *);
    in->best = 0; /* it is to be timed as long as the claim was */
    p.job.call.in = in;
    p.job.second = true;
    each[0] = p.job.id = c->second = tc_fleet_job_id(e->a, &p.job, e->f->session ^ ++e->f->serial);
    p.job.each = each;
    tc_map_puts(&e->at, c->second, (uintptr_t)(o - e->order));
    c->parcel = e->parcel.len;
    tc_push(&e->parcel, p);
    e->flying++;
    return send(e, &e->parcel.data[c->parcel], err);
}

/* A claim that nobody is asked about, and that another one of its kind is not faster than. */
static bool is_first(const errand *e, const order *o) {
    for (size_t i = 0; i < e->claims.len; i++) {
        const order *other = e->claims.data[i];
        if (other != o && other->mark == o->mark && claimed(other->claim) < claimed(o->claim))
            return false;
    }
    return true;
}

/* "w1 0.5 ms, w2 5.1 ms" */
static const char *say_opinions(errand *e, const claim *c) {
    tc_strbuf b = {0};
    for (int i = 0; i < c->n; i++)
        tc_sb_printf(&b, "%s%s %.4g ms", i ? ", " : "", c->worker[i], 1e3 * c->opinion[i].least);
    return tc_sb_keep(&b, e->a);
}

/* Nobody else will say anything: there is no other, or none that had time while jobs came and
 * went. */
static bool is_last_word(const errand *e, const claim *c) {
    return e->f->workers <= c->n || (c->refused > 0 && tc_now() - c->refused > TC_MAX(least_wait, 2 * e->slowest));
}

/* The claim falls, or stands. */
static tc_status judge(errand *e, order *o, tc_error *err) {
    claim *c = o->claim;
    int wrong = tc_fleet_wrong(c->opinion, c->n, !is_last_word(e, c));
    if (wrong == TC_FLEET_ASK_THIRD)
        return TC_OK;
    if (wrong >= 0) {
        const char *why =
            tc_arena_printf(e->a,
                            "its times are not what programs take. Of job %s, on the scale of the reference kernel, "
                            "workers say: %s. Look at that machine, and take its worker out of the fleet",
                            o->id, say_opinions(e, c));
        TC_TRY(fleet_disown(e->f, c->worker[wrong], why, err));
    }
    if (wrong != 0)
        believe(e, o);
    return TC_OK;
}

static tc_status review_one(errand *e, order *o, tc_error *err) {
    claim *c = o->claim;
    if (fleet_bars(e->f, c->x.worker)) {
        drop_claim(e, o);
        return ask_another(e, o, c->x.worker, "it gave a wrong answer before", err);
    }
    if (claimed(c) >= e->mark.data[o->mark].best)
        release(e, o);
    else if (is_last_word(e, c))
        return judge(e, o, err);
    else if (!c->second && tc_now() >= c->due && is_first(e, o))
        return ask_second(e, o, err);
    return TC_OK;
}

static tc_status review(errand *e, tc_error *err) {
    for (size_t i = e->claims.len; i-- > 0;)
        if (i < e->claims.len)
            TC_TRY(review_one(e, e->claims.data[i], err));
    return TC_OK;
}

/* What another worker, or one that is no other, answers about a claim. */
static tc_status take_second(errand *e, order *o, const tc_fleet_mail *mail, tc_error *err) {
    static const double pause = 0.1;
    claim *c = o->claim;
    tc_fleet_result x;
    tc_error why = {0};
    double scale;
    drop_second(e, c);
    for (int i = 0; i < c->n; i++)
        if (strcmp(c->worker[i], mail->worker) == 0) {
            c->due = tc_now() + pause;
            c->refused = c->refused > 0 ? c->refused : tc_now();
            return TC_OK;
        }
    if (fleet_bars(e->f, mail->worker))
        return TC_OK;
    if (understand(e, o, mail, &x, &why) != TC_OK)
        return fleet_bar(e->f, mail->worker, why.msg, err);
    TC_TRY(fleet_note_pace(e->f, &x, &scale, err));
    e->heard = tc_now();
    if (x.lost || !tc_record_ok(&x.record[0])) { /* says nothing of the time; whether it is right others see, before it is used */
        believe(e, o);
        return TC_OK;
    }
    tc_fleet_opinion says = opinion_of(&x.record[0], scale);
    for (int i = 0; i < c->n; i++)
        tc_fleet_scale_meet(&e->f->scale, tc_hash64(o->in.workload, strlen(o->in.workload), o->in.cold), c->worker[i],
                            c->opinion[i], x.worker, says);
    c->worker[c->n] = x.worker;
    c->opinion[c->n++] = says;
    c->refused = 0;
    return judge(e, o, err);
}

static tc_status take(errand *e, order *o, const tc_fleet_mail *mail, tc_error *err) {
    tc_fleet_result x;
    tc_error why = {0};
    if (fleet_bars(e->f, mail->worker))
        return ask_another(e, o, mail->worker, "it gave a wrong answer before", err);
    if (understand(e, o, mail, &x, &why) != TC_OK)
        return ask_another(e, o, mail->worker, why.msg, err);
    double scale;
    TC_TRY(fleet_note_pace(e->f, &x, &scale, err));
    settle(e, o);
    e->heard = tc_now();
    bool best = would_be_best(e, o, &x, scale);
    if (best && e->f->workers > 1) {
        hold(e, o, &x, scale);
        return TC_OK;
    }
    if (best)
        lower_mark(e, o, x.record[0].median / scale);
    accept(e, o, &x, scale);
    return TC_OK;
}

/* What is heard about a claim is not what it claims. */
static bool is_second(const order *o, const char *id) {
    return o->claim && o->claim->second && strcmp(o->claim->second, id) == 0;
}

static tc_status take_either(errand *e, order *o, const tc_fleet_mail *mail, tc_error *err) {
    return is_second(o, mail->id) ? take_second(e, o, mail, err) : take(e, o, mail, err);
}

/* The order that a result is of; NULL: none that is awaited. */
static order *order_of(errand *e, const char *id) {
    const uintptr_t *at = tc_map_gets(&e->at, id);
    order *o = at ? &e->order[*at] : NULL;
    bool awaited = o && ((o->asked && strcmp(o->id, id) == 0) || is_second(o, id));
    return awaited ? o : NULL;
}

static tc_status hear(errand *e, bool *heard, tc_error *err) {
    tc_fleet_mail mail;
    TC_TRY(tc_fleet_bus_hear(e->f->bus, hear_seconds, e->a, &mail, err));
    *heard = mail.text != NULL;
    order *o = mail.text ? order_of(e, mail.id) : NULL;
    return o ? take_either(e, o, &mail, err) : TC_OK;
}

/* ---- silence ---- */

static tc_status look(errand *e, tc_error *err) {
    e->looked = tc_now();
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

/* The queue was lost, or what was in it is too old or was dropped: what is awaited is asked for again, by a tuner that is there. */
static tc_status ask_again(errand *e, tc_error *err) {
    e->f->attended = 0;
    TC_TRY(fleet_attend(e->f, err));
    for (size_t i = 0; i < e->parcel.len; i++) {
        parcel *p = &e->parcel.data[i];
        if (p->left == 0)
            continue;
        if (p->job.asked >= MOST_ASKED)
            return tc_fail(err, TC_ENV, "%s: job %s was asked for %d times, and nobody answers it", tc_fleet_bus_url(e->f->bus),
                           p->job.id, p->job.asked);
        TC_TRY(send(e, p, err));
    }
    return TC_OK;
}

/* Looks into the stream; what is awaited then, and was in no queue before, is lost. */
static tc_status look_again(errand *e, tc_error *err) {
    int64_t mine;
    TC_TRY(tc_fleet_bus_asked(e->f->bus, e->f->key, e->f->tuner, &mine, err));
    TC_TRY(look(e, err));
    return mine == 0 && e->flying ? ask_again(e, err) : TC_OK;
}

/* Nothing was heard for long: is there anybody who could answer? */
static tc_status look_for_workers(errand *e, tc_error *err) {
    tc_fleet_crowd c = tc_fleet_crowd_new();
    tc_status s = fleet_look_around(e->f, &c, err);
    if (s == TC_OK && e->f->workers == 0)
        s = fleet_nobody(e->f, &c, e->f->key, err);
    tc_fleet_crowd_free(&c);
    e->heard = tc_now();
    if (s != TC_OK)
        return s;
    int64_t waiting, under_way; /* of all tuners: what is in the queue was given away too often */
    TC_TRY(tc_fleet_bus_queue(e->f->bus, e->f->key, &waiting, &under_way, err));
    return waiting + under_way == 0 ? ask_again(e, err) : TC_OK;
}

static tc_status bear_silence(errand *e, tc_error *err) {
    double now = tc_now();
    if (tc_fleet_bus_connected(e->f->bus) && now - e->looked > look_seconds)
        TC_TRY(look_again(e, err));
    if (now - e->heard < e->f->patience)
        return TC_OK;
    if (tc_fleet_bus_connected(e->f->bus))
        return look_for_workers(e, err);
    return tc_fail(err, TC_ENV,
                   "%s: the server is gone, and did not come back within %g s; what was measured is kept, and the same "
                   "command goes on from it",
                   tc_fleet_bus_url(e->f->bus), e->f->patience);
}

/* ---- the carrier ---- */

static tc_status go(errand *e, tc_error *err) {
    e->heard = e->looked = tc_now();
    while (e->done < e->n && !tc_meas_stopped(e->b->m)) {
        bool heard;
        if (tc_fleet_bus_connected(e->f->bus))
            TC_TRY(fleet_attend(e->f, err));
        while (e->next < e->n && e->flying < (size_t)e->f->in_flight && tc_fleet_bus_connected(e->f->bus))
            TC_TRY(ask_next(e, err));
        TC_TRY(hear(e, &heard, err));
        TC_TRY(review(e, err));
        if (!heard)
            TC_TRY(bear_silence(e, err));
    }
    return TC_OK;
}

static tc_status call(const tc_meas_jobs *b, const tc_meas_call *c, tc_error *err) {
    bool batch = c->way == TC_MEAS_WAY_BATCH;
    size_t records = c->way == TC_MEAS_WAY_SIZES ? c->n * c->npoint : c->n, n = batch ? c->n : 1;
    errand e = {.f = tc_meas_carried(b->m), .b = b, .c = c, .a = tc_arena_new(), .order = tc_xcalloc(n, sizeof(order)), .n = n};
    for (size_t i = 0; i < n; i++) {
        e.order[i].first = i;
        e.order[i].n = batch ? 1 : records;
    }
    tc_status s = go(&e, err);
    if (e.flying || e.forgotten)
        tc_fleet_bus_withdraw(e.f->bus, e.f->key, e.f->tuner);
    free(e.order);
    tc_vec_free(&e.parcel);
    tc_vec_free(&e.mark);
    tc_vec_free(&e.claims);
    tc_map_free(&e.at);
    tc_arena_free(e.a);
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

static double peak(const tc_meas *m, double seconds) {
    (void)m, (void)seconds; /* that of another machine */
    return 0;
}

static size_t restarts(const void *state) {
    (void)state; /* workers do not tell */
    return 0;
}

const tc_meas_carrier tc_meas_fleet = {
    .open = open_fleet, .close = close_fleet, .call = call, .peak = peak, .restarts = restarts};
