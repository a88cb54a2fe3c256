/* How a job becomes answers: each candidate of a batch is answered as soon as it is measured.
 *
 * A candidate may end the machine that runs it. What a worker begins it notes, and who comes upon notes of others who never said
 * how it ended measures the candidates of that job one at a time, each noted for itself, so that those beside the culprit are
 * measured. Two machines that ended with one candidate are its doing: that is recorded. Where workers vanished of whom is not
 * known whether their machines did end, or the network between, nothing is recorded, and nobody else is put at risk. */
#include "fleet/worker/serve_int.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "support/log.h"
#include "support/system/stop.h"
#include "support/vec.h"

enum {
    DEADLY = 2, /* machines that a candidate may end before it is taken for the cause */
    REFERENCE_SAMPLES = 7
};

static const double first_pause = 0.1, longest_pause = 5, usual_reference_pause = 5, most_reference_share = 0.02;

/* ---- answers ---- */

static void wait_for(double seconds) {
    nanosleep(&(struct timespec){.tv_sec = (time_t)seconds, .tv_nsec = (long)((seconds - (double)(time_t)seconds) * 1e9)}, NULL);
}

/* While the server is away, or full, it is tried again. */
static tc_status send(const fleet_worker *w, const char *tuner, const char *id, const char *text, tc_error *err) {
    for (double pause = first_pause;; pause = TC_MIN(2 * pause, longest_pause)) {
        tc_status s = tc_fleet_bus_answer(w->bus, &w->self, tuner, id, text, err);
        if (s != TC_ENV || tc_is_raised(w->o->stop))
            return s;
        tc_log(pause == first_pause ? TC_LOG_WARN : TC_LOG_DEBUG, "a result cannot be sent yet: %s", err->msg);
        wait_for(pause);
    }
}

static tc_fleet_result about(const fleet_worker *w, const char *id) {
    tc_meas_calm calm = w->meas ? tc_meas_get_calm(w->meas) : (tc_meas_calm){.slowdown = 1};
    return (tc_fleet_result){.id = id,
                             .worker = w->self.name,
                             .host = w->told.host,
                             .refused = "",
                             .slowdown = calm.slowdown,
                             .reference = tc_fleet_pace_last(&w->reference.pace),
                             .references = w->reference.taken};
}

static tc_status answer(const fleet_worker *w, const tc_fleet_job *j, const tc_fleet_result *x, tc_error *err) {
    tc_strbuf b = {0};
    tc_fleet_result_write(x, &b);
    tc_status s = send(w, j->tuner, x->id, tc_sb_str(&b), err);
    if (s == TC_BAD_INPUT && !*x->refused) { /* too large for this server, or not allowed */
        tc_fleet_result refusal = about(w, x->id);
        refusal.refused = err->msg;
        tc_sb_clear(&b);
        tc_fleet_result_write(&refusal, &b);
        s = send(w, j->tuner, x->id, tc_sb_str(&b), &(tc_error){0});
    }
    tc_strbuf_free(&b);
    return s;
}

/* The same of the job, or of each of its candidates. */
static tc_status answer_all(const fleet_worker *w, const tc_fleet_job *j, tc_fleet_result x, tc_error *err) {
    for (size_t i = 0; i < (j->each ? j->call.n : 1); i++) {
        x.id = j->each ? j->each[i] : j->id;
        TC_TRY(answer(w, j, &x, err));
    }
    return TC_OK;
}

/* ---- the reference ---- */

/* A million multiply-adds: tens of microseconds on a fast core and a millisecond on a slow one, in loops that keep vector units and
 * all threads busy, over 100 KiB. */
const char tc_fleet_reference_workload[] = "tensor p0[128, 128] f32\ntensor p1[128, 64] f32\n"
                                           "compute t0[i0:128, i1:64] = sum(k0:128) p0[i0, k0] * p1[k0, i1]\noutput t0\n";
const char tc_fleet_reference_trace[] = "io, ii = split t0.i0 [_, 4]\njo, ji = split t0.i1 [_, 16]\n"
                                        "reorder t0.io t0.jo t0.k0 t0.ii t0.ji\nunroll t0.ii\nvectorize t0.ji\nparallel t0.io\n";

static void note_reference(fleet_worker *w, const tc_record *r) {
    fleet_reference *ref = &w->reference;
    if (tc_record_ok(r))
        tc_fleet_pace_note(&ref->pace, ++ref->taken, r->median);
    else if (r->error != TC_MEAS_INTERRUPTED)
        tc_log(TC_LOG_WARN, "the reference kernel could not be timed: %s: %s", tc_meas_error_meaning(r->error), r->message);
}

/* What stands in its way stands in the way of the job, which says so. Not cold: what memory gives is shared with others in a
 * machine. */
static void take_reference(fleet_worker *w, const tc_fleet_job *j, tc_arena *a) {
    fleet_reference *ref = &w->reference;
    bool computed = j->measure.mode == TC_MEAS_SIMULATED;
    double begun = tc_now();
    tc_record r;
    tc_error why = {0};
    if (computed != ref->computed)
        *ref = (fleet_reference){.taken = ref->taken, .computed = computed};
    if (begun < ref->due || j->measure.mode == TC_MEAS_COLD)
        return;
    tc_meas_input in = {.workload = tc_fleet_reference_workload,
                        .workload_hash = tc_digest_of(tc_fleet_reference_workload, strlen(tc_fleet_reference_workload)),
                        .trace = tc_fleet_reference_trace};
    if (tc_meas_kernel_time(w->meas, &in, REFERENCE_SAMPLES, a, &r, &why) == TC_OK)
        note_reference(w, &r);
    else
        tc_log(TC_LOG_DEBUG, "the reference kernel could not be timed: %s", why.msg);
    double now = tc_now(), usual = TC_MAX(usual_reference_pause, (now - begun) / most_reference_share);
    ref->due = now + (w->o->reference > 0 ? w->o->reference : usual);
}

/* ---- measuring ---- */

/* A measuring state for jobs of these options, the last one's if it is like them. */
static tc_status prepare(fleet_worker *w, const tc_fleet_job *j, tc_arena *a, tc_error *err) {
    const char *like = tc_fleet_job_id(a, &(tc_fleet_job){.measure = j->measure}, 0);
    if (w->meas && strcmp(w->like, like) == 0)
        return TC_OK;
    tc_meas_options o = j->measure;
    o.stop = w->o->stop;
    o.carrier = w->o->carrier;
    o.carried_by = w->o->carried_by;
    if (w->o->role == TC_FLEET_MEASURE) {
        o.supplier = &fleet_supplier;
        o.supplied_by = w;
    }
    tc_meas_free(w->meas);
    w->meas = NULL;
    TC_TRY(tc_meas_new(&o, &w->meas, err));
    snprintf(w->like, sizeof w->like, "%s", like);
    return TC_OK;
}

typedef struct posting {
    const fleet_worker *w;
    const tc_fleet_job *j;
    tc_status s; /* of the first answer that could not be sent */
    tc_error *err;
} posting;

static void post(void *user, size_t i, const tc_record *r) {
    posting *p = user;
    tc_record one = *r;
    if (p->s != TC_OK || r->error == TC_MEAS_INTERRUPTED)
        return;
    tc_fleet_result x = about(p->w, p->j->each[i]);
    x.record = &one;
    x.n = 1;
    p->s = answer(p->w, p->j, &x, p->err);
}

static tc_status measure_batch(fleet_worker *w, const tc_fleet_job *j, tc_arena *a, tc_error *err) {
    tc_error why = {0};
    posting p = {.w = w, .j = j, .err = &why};
    tc_record *r = TC_NEW_N(a, tc_record, j->call.n);
    TC_TRY(tc_meas_batch(w->meas, j->call.in, j->call.n, a, r, post, &p, err));
    return p.s == TC_OK ? TC_OK : tc_fail(err, p.s, "%s", why.msg);
}

static tc_status measure_turns(fleet_worker *w, const tc_fleet_job *j, tc_arena *a, tc_error *err) {
    const tc_meas_call *c = &j->call;
    double *seconds = TC_NEW_N(a, double, c->n *(size_t)(c->rounds + 1));
    tc_record *r = TC_NEW_N(a, tc_record, c->n);
    int done;
    TC_TRY(tc_meas_interleave(w->meas, c->in, c->n, NULL, c->rounds, a, r, seconds, &done, err));
    tc_fleet_result x = about(w, j->id);
    x.record = r;
    x.n = c->n;
    x.done = done;
    x.seconds = TC_NEW_N(a, double, c->n *(size_t)(done + 1));
    for (size_t i = 0; i < c->n; i++)
        memcpy(x.seconds + i * (size_t)done, seconds + i * (size_t)c->rounds, (size_t)done * sizeof *seconds);
    return tc_is_raised(w->o->stop) ? TC_OK : answer(w, j, &x, err);
}

static tc_status measure_sizes(fleet_worker *w, const tc_fleet_job *j, tc_arena *a, tc_error *err) {
    const tc_meas_call *c = &j->call;
    size_t n = c->n * c->npoint;
    tc_record *r = TC_NEW_N(a, tc_record, n);
    TC_TRY(tc_meas_over_sizes(w->meas, c->in, c->n, c->sizes, c->npoint, c->rounds, a, r, NULL, NULL, err));
    tc_fleet_result x = about(w, j->id);
    x.record = r;
    x.n = n;
    return tc_is_raised(w->o->stop) ? TC_OK : answer(w, j, &x, err);
}

static tc_status measure(fleet_worker *w, const tc_fleet_job *j, tc_arena *a, tc_error *err) {
    tc_status s = prepare(w, j, a, err);
    if (s != TC_OK)
        return s;
    take_reference(w, j, a);
    switch (j->call.way) {
    case TC_MEAS_WAY_BATCH:
        s = measure_batch(w, j, a, err);
        break;
    case TC_MEAS_WAY_TURNS:
        s = measure_turns(w, j, a, err);
        break;
    case TC_MEAS_WAY_SIZES:
        s = measure_sizes(w, j, a, err);
        break;
    case TC_MEAS_NWAYS:
        break;
    }
    return s == TC_OK && tc_is_raised(w->o->stop) ? tc_fail(err, TC_ENV, "stopped") : s;
}

/* ---- jobs that workers were lost with ---- */

/* What nobody will measure a third time. */
static tc_status answer_deaths(const fleet_worker *w, const tc_fleet_job *j, tc_arena *a, tc_error *err) {
    tc_fleet_result x = about(w, j->id);
    x.n = j->each ? 1 : j->call.way == TC_MEAS_WAY_SIZES ? j->call.n * j->call.npoint : j->call.n;
    x.record = TC_NEW_N(a, tc_record, x.n);
    for (size_t i = 0; i < x.n; i++) {
        x.record[i] = tc_meas_record_empty();
        x.record[i].error = TC_MEAS_RUN_CRASH;
        x.record[i].message = "the machines of two workers ended while they measured it";
    }
    return answer_all(w, j, x, err);
}

static tc_status answer_lost(const fleet_worker *w, const tc_fleet_job *j, tc_error *err) {
    tc_fleet_result x = about(w, j->id);
    x.lost = true;
    tc_log(TC_LOG_WARN, "job %s is not measured: the workers that had it vanished", j->id);
    return answer_all(w, j, x, err);
}

static tc_status serve_after(fleet_worker *w, const tc_fleet_job *j, const tc_fleet_losses *l, tc_arena *a, tc_error *err) {
    if (l->died >= DEADLY)
        return answer_deaths(w, j, a, err);
    if (l->died + l->vanished >= DEADLY)
        return answer_lost(w, j, err);
    TC_TRY(tc_fleet_bus_begin(w->bus, &w->self, j->id, l->here, err));
    tc_status s = measure(w, j, a, err);
    tc_fleet_bus_end(w->bus, &w->self, j->id, l->here);
    return s;
}

/* One at a time. A loss of the job counts for a candidate with which another worker was lost alone. */
static tc_status serve_each(fleet_worker *w, const tc_fleet_job *j, const tc_fleet_losses *before, tc_arena *a, tc_error *err) {
    for (size_t i = 0; i < j->call.n; i++) {
        tc_fleet_job one = *j;
        tc_fleet_losses l;
        one.id = j->each[i];
        one.each = &j->each[i];
        one.call.in = &j->call.in[i];
        one.call.n = 1;
        TC_TRY(tc_fleet_bus_losses(w->bus, &w->self, one.id, &l, err));
        if (l.died + l.vanished > 0) {
            l.died += before->died;
            l.vanished += before->vanished;
        }
        TC_TRY(serve_after(w, &one, &l, a, err));
    }
    return TC_OK;
}

/* ---- jobs ---- */

bool fleet_is_named(const fleet_worker *w, const char *const *names, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (strcmp(names[i], w->self.name) == 0)
            return true;
    return false;
}

static bool is_named(const fleet_worker *w, const tc_fleet_job *j) {
    return fleet_is_named(w, j->barred, j->nbarred);
}

bool fleet_is_barred(const fleet_worker *w, const tc_fleet_job *j) {
    return !j->second && is_named(w, j);
}

static tc_status refuse(const fleet_worker *w, const tc_fleet_job *j, const char *why, tc_error *err) {
    tc_fleet_result x = about(w, j->id);
    x.refused = why;
    return answer_all(w, j, x, err);
}

/* What would count as another machine's than this one's. */
static bool is_mistaken(const fleet_worker *w, const tc_fleet_job *j) {
    tc_meas_mode m = j->measure.mode;
    return m != TC_MEAS_SIMULATED && (m == TC_MEAS_EMULATED) != w->o->emulated;
}

tc_status fleet_serve_job(fleet_worker *w, const tc_fleet_job *j, int times, tc_arena *a, tc_error *err) {
    tc_fleet_losses l = {0};
    if (strcmp(j->measure.target, w->told.target) != 0 || j->measure.threads != w->told.threads)
        return refuse(w, j, tc_arena_printf(a, "it serves %s with %d threads", w->told.target, w->told.threads), err);
    if (is_mistaken(w, j))
        return refuse(w, j,
                      w->o->emulated ? "its processor is emulated, and the job wants times of a real one"
                                     : "its processor is real, and the job wants an emulated one",
                      err);
    if (j->second && is_named(w, j))
        return refuse(w, j, "it is for another worker", err);
    if (times > 1 || j->asked > 1)
        TC_TRY(tc_fleet_bus_losses(w->bus, &w->self, j->id, &l, err));
    if (l.died + l.vanished > 0 && j->each && j->call.n > 1)
        return serve_each(w, j, &l, a, err);
    return serve_after(w, j, &l, a, err);
}
