/* Claims to be the best. A program that would be the best of its workload is measured by another worker too, before it is
 * believed and told to others. So a worker that lies about its times is found at the first lie that matters. */
#include "fleet/tuner/errand_int.h"

#include <math.h>
#include <string.h>

#include "support/log.h"

static const double least_wait = 10;

/* The mark of what is compared with it, made where there is none. */
size_t errand_mark_of(errand *e, const tc_meas_input *in) {
    for (size_t i = 0; i < e->mark.len; i++) {
        const tc_meas_input *m = e->mark.data[i].of;
        if (m->cold == in->cold && strcmp(m->workload, in->workload) == 0 &&
            strcmp(m->sizes ? m->sizes : "", in->sizes ? in->sizes : "") == 0)
            return i;
    }
    tc_push(&e->mark, ((mark){.of = in, .best = INFINITY}));
    return e->mark.len - 1;
}

void errand_lower_mark(errand *e, const order *o, double seconds) {
    mark *m = &e->mark.data[o->mark];
    m->best = TC_MIN(m->best, seconds);
}

bool errand_would_be_best(const errand *e, const order *o, const tc_fleet_result *x, double scale) {
    const tc_record *r = x->n == 1 ? &x->record[0] : NULL;
    return errand_is_batch(e) && r && tc_record_ok(r) && r->verified && !r->stopped_early &&
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

void errand_hold(errand *e, order *o, const tc_fleet_result *x, double scale) {
    o->claim = TC_NEW(e->a, claim);
    *o->claim = (claim){.x = *x, .scale = scale, .opinion[0] = opinion_of(&x->record[0], scale), .worker[0] = x->worker, .n = 1};
    tc_push(&e->claims, o);
}

/* Nobody is asked about it any more. */
static void drop_second(errand *e, claim *c) {
    if (c->second)
        (void)errand_settle_one(e, c->parcel);
    c->second = NULL;
}

static void drop_claim(errand *e, order *o) {
    e->f->forgotten |= o->claim->second != NULL;
    drop_second(e, o->claim);
    for (size_t i = 0; i < e->claims.len; i++)
        if (e->claims.data[i] == o)
            e->claims.data[i] = e->claims.data[--e->claims.len];
    o->claim = NULL;
}

static void release(errand *e, order *o) {
    claim c = *o->claim;
    drop_claim(e, o);
    errand_accept(e, o, &c.x, c.scale);
}

static void believe(errand *e, order *o) {
    errand_lower_mark(e, o, claimed(o->claim));
    release(e, o);
}

static tc_status ask_second(errand *e, order *o, tc_error *err) {
    claim *c = o->claim;
    parcel p = {.job = errand_job_of(e, o), .size = 1, .left = 1, .except = c->worker, .nexcept = c->n};
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
    e->waiting++;
    return errand_send(e, &e->parcel.data[c->parcel], err);
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
    return e->f->workers <= c->n || (c->refused > 0 && tc_now() - c->refused > TC_MAX(e->f->pauses * least_wait, 2 * e->slowest));
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
                            "its times are not the times of the programs. For job %s, on the scale of the reference kernel, "
                            "workers report: %s. Check that machine, and take its worker out of the fleet",
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
        return errand_ask_another(e, o, c->x.worker, "it gave a wrong answer before", err);
    }
    if (claimed(c) >= e->mark.data[o->mark].best)
        release(e, o);
    else if (is_last_word(e, c))
        return judge(e, o, err);
    else if (!c->second && tc_now() >= c->due && is_first(e, o))
        return ask_second(e, o, err);
    return TC_OK;
}

tc_status errand_review(errand *e, tc_error *err) {
    for (size_t i = e->claims.len; i-- > 0;)
        if (i < e->claims.len)
            TC_TRY(review_one(e, e->claims.data[i], err));
    return TC_OK;
}

/* What another worker, or one that is no other, answers about a claim. */
tc_status errand_take_second(errand *e, order *o, const tc_fleet_mail *mail, tc_error *err) {
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
    if (errand_understand(e, o, mail, &x, &why) != TC_OK)
        return fleet_bar(e->f, mail->worker, why.msg, err);
    TC_TRY(fleet_note_pace(e->f, &x, &scale, err));
    e->f->heard = tc_now();
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

/* What is heard about a claim is not what it claims. */
bool errand_is_second(const order *o, const char *id) {
    return o->claim && o->claim->second && strcmp(o->claim->second, id) == 0;
}
