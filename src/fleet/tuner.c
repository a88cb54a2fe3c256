/* Jobs asked for, results awaited. Results are heard as they are sent; what was missed while the connection was lost is looked for in
 * the stream. */
#include "fleet/tuner.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "fleet/crowd.h"
#include "support/log.h"

static const double hear_seconds = 0.05, look_seconds = 2, usual_patience = 60;

struct tc_fleet {
    tc_fleet_bus *bus;
    tc_arena *arena; /* of its texts */
    const char *tuner, *key, *target;
    int threads, in_flight;
    double patience;
    uint64_t session, serial; /* make jobs that are wanted anew other ones */
};

/* ---- who is there ---- */

/* The key that fits, of all that are served; NULL: none, or several. */
static const tc_fleet_worker *choose(const tc_fleet_crowd *c, const char *pattern, const char *build) {
    const tc_fleet_worker *found = NULL;
    for (size_t i = 0; i < c->workers.len; i++) {
        const tc_fleet_worker *w = &c->workers.data[i];
        if (fnmatch(pattern, w->key, 0) != 0 || strcmp(w->build, build) != 0)
            continue;
        if (found && strcmp(found->key, w->key) != 0)
            return NULL;
        found = w;
    }
    return found;
}

/* "; served are: KEY (tctune 0.1.0/19.1.7), ..." */
static const char *keys_there_are(const tc_fleet_crowd *c) {
    tc_strbuf b = {0};
    for (size_t i = 0; i < c->workers.len; i++)
        if (tc_fleet_crowd_first(c, i))
            tc_sb_printf(&b, "%s%s (tctune %s)", b.len ? ", " : "; served are: ", c->workers.data[i].key,
                         c->workers.data[i].build);
    return b.len ? tc_sb_keep(&b, c->arena) : "; no worker is there at all";
}

static tc_status nobody(const tc_fleet *f, const tc_fleet_crowd *c, const char *key, tc_error *err) {
    return tc_fail(err, TC_BAD_INPUT,
                   "%s: not one worker serves the key %s of tctune %s%s. Start `tctune worker` on such a machine, or "
                   "choose workers by their key",
                   tc_fleet_bus_url(f->bus), key, tc_fleet_build(c->arena), keys_there_are(c));
}

/* ---- joining ---- */

static tc_status choose_key(tc_fleet *f, const tc_fleet_options *o, tc_fleet_crowd *c, tc_error *err) {
    const char *build = tc_fleet_build(c->arena),
               *pattern = o->key ? o->key : tc_fleet_key(c->arena, o->target, o->threads, build);
    TC_TRY(tc_fleet_crowd_see(c, f->bus, err));
    const tc_fleet_worker *w = choose(c, pattern, build);
    if (!w)
        return nobody(f, c, pattern, err);
    f->key = tc_arena_strdup(f->arena, w->key);
    f->target = tc_arena_strdup(f->arena, w->target);
    f->threads = w->threads;
    f->in_flight = o->in_flight > 0 ? o->in_flight : 2 * tc_fleet_crowd_of(c, w->key);
    return TC_OK;
}

static tc_status join(tc_fleet *f, const tc_fleet_options *o, tc_error *err) {
    tc_fleet_crowd c = tc_fleet_crowd_new();
    tc_status s = tc_fleet_bus_open(&o->access, o->tuner, &f->bus, err);
    if (s == TC_OK)
        s = choose_key(f, o, &c, err);
    if (s == TC_OK)
        s = tc_fleet_bus_listen(f->bus, f->tuner, err);
    tc_fleet_crowd_free(&c);
    return s;
}

tc_status tc_fleet_join(const tc_fleet_options *o, tc_fleet **out, tc_error *err) {
    *out = NULL;
    if (!tc_fleet_is_word(o->tuner))
        return tc_fail(err, TC_BAD_INPUT, "a tuner's name is letters, digits, - and _, %d at most", TC_FLEET_NAME);
    tc_fleet *f = tc_xcalloc(1, sizeof *f);
    f->arena = tc_arena_new();
    f->tuner = tc_arena_strdup(f->arena, o->tuner);
    f->patience = o->patience > 0 ? o->patience : usual_patience;
    if (getrandom(&f->session, sizeof f->session, 0) != (ssize_t)sizeof f->session)
        f->session = (uint64_t)tc_meas_now_ms();
    tc_status s = join(f, o, err);
    if (s == TC_OK)
        *out = f;
    else
        tc_fleet_leave(f);
    return s;
}

void tc_fleet_leave(tc_fleet *f) {
    if (!f)
        return;
    tc_fleet_bus_close(f->bus);
    tc_arena_free(f->arena);
    free(f);
}

const char *tc_fleet_target(const tc_fleet *f) {
    return f->target;
}

int tc_fleet_threads(const tc_fleet *f) {
    return f->threads;
}

/* ---- one call ---- */

/* One job of it. */
typedef struct order {
    tc_fleet_job job;
    size_t first, n; /* its records, of the call's */
    bool fresh;      /* nobody can have answered it before */
    bool asked, done;
} order;

typedef struct errand {
    tc_fleet *f;
    const tc_meas_jobs *b;
    const tc_meas_call *c;
    tc_arena *a; /* of messages */
    order *order;
    size_t n, next, done, flying;
    double heard, looked; /* when a result came last, and when the stream was looked at */
} errand;

/* What one job of a batch is. */
static tc_meas_call part_of(const errand *e, size_t i) {
    if (e->c->way != TC_MEAS_WAY_BATCH)
        return *e->c;
    tc_meas_input *in = tc_arena_dup(e->a, &e->c->in[i], sizeof *in);
    in->best = tc_meas_best_so_far(e->b->job, i);
    return (tc_meas_call){.way = TC_MEAS_WAY_BATCH, .in = in, .n = 1};
}

static tc_status send(errand *e, const order *o, tc_error *err) {
    tc_strbuf text = {0};
    tc_fleet_job_write(&o->job, &text);
    tc_status s = tc_fleet_bus_ask(e->f->bus, e->f->key, e->f->tuner, o->job.id, tc_sb_str(&text), err);
    tc_strbuf_free(&text);
    return s;
}

static tc_status take(errand *e, order *o, const char *text, tc_error *err);

/* Asks for the next job, unless it was answered in this tuner's name before. */
static tc_status ask_next(errand *e, tc_error *err) {
    order *o = &e->order[e->next];
    const char *text = NULL;
    o->job = (tc_fleet_job){.tuner = e->f->tuner, .measure = *tc_meas_given(e->b->m), .call = part_of(e, e->next)};
    o->fresh = e->c->way != TC_MEAS_WAY_BATCH || o->job.call.in->again;
    o->job.id = tc_fleet_job_id(e->a, &o->job, o->fresh ? e->f->session ^ ++e->f->serial : 0);
    e->next++;
    if (!o->fresh)
        TC_TRY(tc_fleet_bus_find(e->f->bus, e->f->tuner, o->job.id, e->a, &text, err));
    o->asked = true;
    e->flying++;
    return text ? take(e, o, text, err) : send(e, o, err);
}

/* ---- results ---- */

/* The worker's part of a record; what it is of the tuner knows. */
static void fill(const errand *e, tc_record *to, const tc_record *r, const tc_fleet_result *x) {
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
    to->host = tc_arena_printf(a, "%s@%s", x->worker, x->host);
}

static void report(const errand *e, size_t i) {
    if (e->c->way == TC_MEAS_WAY_BATCH) {
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

static tc_status check(const errand *e, const order *o, const tc_fleet_result *x, tc_error *err) {
    bool unmeasured = e->c->way == TC_MEAS_WAY_BATCH && x->n && x->record->error == TC_MEAS_INTERRUPTED;
    if (*x->refused)
        return tc_fail(err, TC_ENV, "the worker %s does not measure job %s: %s", x->worker, o->job.id, x->refused);
    if (unmeasured || x->done > e->c->rounds)
        return tc_fail(err, TC_ENV, "what the worker %s says of job %s does not go with it", x->worker, o->job.id);
    return TC_OK;
}

static tc_status take(errand *e, order *o, const char *text, tc_error *err) {
    tc_fleet_result x;
    if (tc_fleet_result_read(text, o->n, e->a, &x, err) != TC_OK) {
        tc_error_prefix(err, "the result of job %s is damaged: ", o->job.id);
        err->status = TC_ENV;
        return TC_ENV;
    }
    TC_TRY(check(e, o, &x, err));
    o->done = true;
    e->done++;
    e->flying--;
    e->heard = tc_now();
    for (size_t i = 0; i < x.n; i++)
        fill(e, &e->c->out[o->first + i], &x.record[i], &x);
    fill_seconds(e, &x);
    for (size_t i = 0; i < x.n; i++)
        report(e, o->first + i);
    return TC_OK;
}

/* The job that a result is of; NULL: none that is awaited. */
static order *order_of(errand *e, const char *text) {
    const char *id = tc_fleet_result_id(text, e->a);
    for (size_t i = 0; id && i < e->next; i++)
        if (!e->order[i].done && strcmp(e->order[i].job.id, id) == 0)
            return &e->order[i];
    return NULL;
}

static tc_status hear(errand *e, bool *heard, tc_error *err) {
    const char *text;
    TC_TRY(tc_fleet_bus_hear(e->f->bus, hear_seconds, e->a, &text, err));
    *heard = text != NULL;
    order *o = text ? order_of(e, text) : NULL;
    return o ? take(e, o, text, err) : TC_OK;
}

/* ---- silence ---- */

static tc_status look(errand *e, tc_error *err) {
    e->looked = tc_now();
    for (size_t i = 0; i < e->next; i++) {
        const char *text;
        if (e->order[i].done)
            continue;
        TC_TRY(tc_fleet_bus_find(e->f->bus, e->f->tuner, e->order[i].job.id, e->a, &text, err));
        if (text)
            TC_TRY(take(e, &e->order[i], text, err));
    }
    return TC_OK;
}

/* The queue was lost, or what was in it is too old: what is awaited is asked for again. */
static tc_status ask_again(errand *e, tc_error *err) {
    int64_t waiting, under_way;
    TC_TRY(tc_fleet_bus_queue(e->f->bus, e->f->key, &waiting, &under_way, err));
    for (size_t i = 0; i < e->next && waiting + under_way == 0; i++)
        if (!e->order[i].done)
            TC_TRY(send(e, &e->order[i], err));
    return TC_OK;
}

/* Nothing was heard for long: is there anybody who could answer? */
static tc_status look_for_workers(errand *e, tc_error *err) {
    tc_fleet_crowd c = tc_fleet_crowd_new();
    tc_status s = tc_fleet_crowd_see(&c, e->f->bus, err);
    if (s == TC_OK && tc_fleet_crowd_of(&c, e->f->key) == 0)
        s = nobody(e->f, &c, e->f->key, err);
    tc_fleet_crowd_free(&c);
    e->heard = tc_now();
    return s == TC_OK ? ask_again(e, err) : s;
}

static tc_status bear_silence(errand *e, tc_error *err) {
    double now = tc_now();
    if (tc_fleet_bus_connected(e->f->bus) && now - e->looked > look_seconds)
        TC_TRY(look(e, err));
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
        while (e->next < e->n && e->flying < (size_t)e->f->in_flight && tc_fleet_bus_connected(e->f->bus))
            TC_TRY(ask_next(e, err));
        TC_TRY(hear(e, &heard, err));
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
    if (e.flying)
        tc_fleet_bus_withdraw(e.f->bus, e.f->key, e.f->tuner);
    free(e.order);
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
