/* One round of one form of a task. Candidates are proposed and sent off; when their records have arrived and are stored, the
 * search learns from them. Where candidates are measured elsewhere, the next round is proposed meanwhile. */
#include <math.h>
#include <stdlib.h>

#include "measure/carrier.h"
#include "measure/records/admission.h"
#include "measure/records/check.h"
#include "tune/propose.h"

/* What earlier rounds say of the model counts that much less with every round. Chosen: it concerns a report alone. */
static const double forgetting = 0.75;

/* ---- measuring ---- */

void tc_tune_tally(tc_tune *t) {
    tc_tune_report *rep = &t->report;
    rep->trials = rep->measured = 0;
    for (int i = 0; i < t->n; i++) {
        tc_tune_state *s = &t->state[i];
        s->trials = s->valid = 0;
        s->exhausted = true;
        for (int f = 0; f < s->nform; f++) {
            s->trials += s->form[f].trials;
            s->valid += s->form[f].valid;
            s->exhausted &= s->form[f].exhausted;
        }
        rep->trials += s->trials;
    }
    for (int e = 0; e < TC_MEAS_NERRORS; e++)
        rep->measured += (int)rep->by_error[e];
}

void tc_tune_count(tc_tune *t, int i, int f, const tc_record *r) {
    tc_tune_state *s = &t->state[i];
    tc_tune_form *k = &t->task[i].found[f];
    k->trials++;
    k->valid += tc_record_ok(r);
    tc_tune_tally(t);
    if (!tc_record_ok(r) || !r->verified || r->stopped_early || tc_record_rank(r) >= k->rank)
        return;
    k->best = r->median;
    k->rank = tc_record_rank(r);
    k->trace = tc_arena_strdup(t->arena, r->trace);
    if (s->winner < 0 || k->rank < s->form[s->winner].rank || s->winner == f) {
        s->best = k->best;
        s->winner = f;
        s->in_turns = r->rounds > 0;
    }
}

static void note_record(tc_tune *t, int i, int f, const tc_record *r) {
    tc_tune_state *s = &t->state[i];
    tc_tune_report *rep = &t->report;
    if (r->error == TC_MEAS_INTERRUPTED)
        return;
    rep->by_error[r->error]++;
    tc_tune_count(t, i, f, r);
    if (tc_record_ok(r))
        return;
    const char *why = tc_arena_printf(t->arena, "%s: %s", tc_meas_error_meaning(r->error), r->message);
    s->failure = s->failure ? s->failure : why;
    rep->first_error = rep->first_error ? rep->first_error : why;
}

/* With what proposed the candidate. What is stored is what its machine took; the search goes by the common scale of all. */
static void store(tc_tune_flight *w, size_t j) {
    double t0 = tc_now();
    tc_record *r = &w->out[j];
    tc_error impossible = {0};
    r->phase = tc_tune_phase_text(w->p.phase[j]);
    r->predicted = w->p.predicted ? w->p.score[j] : NAN;
    if (tc_meas_check_time(r, w->t->task[w->task].form[w->form].work, &impossible) != TC_OK) /* another machine's */
        tc_meas_end_with(r, w->p.arena, TC_MEAS_IMPOSSIBLE_TIME, impossible.msg);
    if (w->store == TC_OK)
        w->store = tc_meas_db_insert_measured(w->t->db, r, 1, &w->why);
    tc_map_put(&w->t->known, (uint64_t)r->id, 1);
    tc_record_to_scale(r);
    w->came[j] = true;
    w->t->report.store_seconds += tc_now() - t0;
}

static void count(tc_tune_flight *w, size_t j) {
    tc_tune *t = w->t;
    note_record(t, w->task, w->form, &w->out[j]);
    if (t->o.progress) {
        t->report.seconds = tc_now() - t->started;
        t->o.progress(t->o.user, TC_TUNE_MEASURED, w->task, &t->report);
    }
}

/* Each is stored when it is measured: whatever ends this process loses none. It counts when its round is waited for: what is
 * proposed meanwhile does not depend on who was faster. */
static void on_measured(void *user, size_t index, const tc_record *r) {
    tc_tune_flight *w = user;
    (void)r;
    store(w, index);
    if (w->awaited)
        count(w, index);
}

static tc_status depart(tc_tune_flight *w, tc_error *err) {
    tc_tune *t = w->t;
    const tc_tune_form *s = &t->state[w->task].form[w->form];
    tc_proposals *p = &w->p;
    tc_meas_input *in = TC_NEW_N(p->arena, tc_meas_input, p->n);
    for (int j = 0; j < p->n; j++)
        in[j] = (tc_meas_input){.workload = s->workload,
                                .workload_hash = s->hash,
                                .trace = tc_trace_text(p->arena, p->c[j].trace),
                                .work = t->task[w->task].form[w->form].work,
                                .cold = t->state[w->task].mode == TC_MEAS_COLD,
                                .best = isfinite(s->best) ? s->best : 0};
    w->out = TC_NEW_N(p->arena, tc_record, p->n);
    w->came = TC_NEW_N(p->arena, bool, p->n);
    return tc_meas_begin(t->meas, in, (size_t)p->n, p->arena, w->out, on_measured, w, &w->flight, err);
}

static tc_status arrive(tc_tune_flight *w, tc_error *err) {
    w->awaited = true;
    for (int j = 0; j < w->p.n; j++)
        if (w->came[j])
            count(w, (size_t)j);
    tc_status st = tc_meas_end(w->flight, err);
    w->flight = NULL;
    for (int j = 0; j < w->p.n; j++) /* where the batch failed, one may have ended without being told of */
        if (!w->came[j] && w->out[j].error != TC_MEAS_INTERRUPTED)
            store(w, (size_t)j);
    /* What was measured must not be lost silently: this outranks the measurement's own error. */
    return w->store == TC_OK ? st : tc_fail(err, w->store, "%s", w->why.msg);
}

/* How well the model ordered candidates that it had not seen: of this round, and of the ones before with less weight. */
static void judge_model(tc_tune *t, int i, int f, const tc_proposals *p, const tc_record *r) {
    tc_tune_report *rep = &t->report;
    tc_cost_sample *s = TC_NEW_N(p->arena, tc_cost_sample, p->n);
    double *score = TC_NEW_N(p->arena, double, p->n), best = t->state[i].form[f].best;
    size_t n = 0;
    if (!p->predicted)
        return;
    for (int j = 0; j < p->n; j++)
        if (tc_record_ok(&r[j])) {
            s[n] = (tc_cost_sample){.label = (float)fmin(1, best / r[j].median), .weight = 1};
            score[n++] = p->score[j];
        }
    tc_cost_quality q = tc_cost_judge(n, s, score);
    if (q.pairs == 0)
        return;
    t->pairs = forgetting * t->pairs + (double)q.pairs;
    t->pairs_right = forgetting * t->pairs_right + (double)q.pairs * q.pair_accuracy;
    t->recalls = forgetting * t->recalls + 1;
    t->recalled = forgetting * t->recalled + q.top_recall;
    rep->pairwise = t->pairs_right / t->pairs;
    if (t->state[i].trials - p->n >= TC_TUNE_KNOWN_RECORDS) {
        t->known_pairs += (double)q.pairs;
        t->known_right += (double)q.pairs * q.pair_accuracy;
        rep->pairwise_known = t->known_right / t->known_pairs;
    }
    rep->top_recall = t->recalled / t->recalls;
}

/* `before`, form_before: the best of the task and of the form until then. */
static void digest(const tc_tune_flight *w, double before, double form_before) {
    tc_tune *t = w->t;
    const tc_proposals *p = &w->p;
    const tc_record *r = w->out;
    int i = w->task, f = w->form;
    task *whole = &t->task[i];
    form *k = &whole->form[f];
    int valid = 0, tried = 0;
    size_t first = t->samples.len;
    tc_tune_watch(t);
    tc_tune_add_samples(t, i, f, r, (size_t)p->n, TC_NEW_N(p->arena, bool, p->n));
    for (size_t j = first; j < t->samples.len; j++)
        t->samples.data[j].own = true;
    for (int j = 0; j < p->n; j++) {
        if (r[j].error == TC_MEAS_INTERRUPTED)
            continue;
        tried++;
        if (r[j].program)
            tc_tune_remember(k, r[j].program);
        valid += tc_record_ok(&r[j]);
    }
    judge_model(t, i, f, p, r);
    tc_tune_pay(t, k, p, r, form_before);
    k->failed_rounds = valid ? 0 : k->failed_rounds + 1;
    tc_tune_settle(t, i, before, tried);
    whole->barren = t->state[i].best < 0.99 * before ? 0 : whole->barren + 1;
    tc_push(&whole->history, t->state[i].best);
}

static void exhaust(tc_tune *t, int i, int f) {
    t->task[i].found[f].exhausted = true;
    tc_tune_tally(t);
}

/* A form that has no legal candidate is no reason to end the search for the others. */
static tc_status pass_over(tc_tune *t, int i, int f, const tc_error *none, tc_error *err) {
    tc_tune_state *s = &t->state[i];
    if (none->status == TC_ENV)
        return tc_fail(err, TC_ENV, "%s", none->msg);
    const char *why = tc_arena_printf(t->arena, "it has no legal candidate: %s", none->msg);
    exhaust(t, i, f);
    tc_log(TC_LOG_WARN, "%s (%s): %s; the search goes on without it", s->name, s->form[f].name, why);
    s->failure = s->failure ? s->failure : why;
    t->report.first_error = t->report.first_error ? t->report.first_error : why;
    return TC_OK;
}

static tc_status propose(tc_tune_flight *w, int want, tc_error *err) {
    tc_tune *t = w->t;
    form *k = &t->task[w->task].form[w->form];
    tc_error none = {0};
    double t0 = tc_now();
    tc_status st = tc_tune_propose(t, k, &w->p, want, &none);
    if (st != TC_OK)
        st = pass_over(t, w->task, w->form, &none, err);
    else
        tc_tune_predict(t, k, &w->p);
    t->report.search_seconds += tc_now() - t0;
    return st;
}

/* From here on the round counts, and nobody proposes the same again. */
static void board(tc_tune_flight *w) {
    task *whole = &w->t->task[w->task];
    form *k = &whole->form[w->form];
    for (int j = 0; j < w->p.n; j++)
        tc_tune_remember(k, w->p.c[j].hash);
    k->rounds++;
    k->flying++;
    whole->rounds++;
    w->t->flying += w->p.n;
}

static void leave(tc_tune_flight *w) {
    if (w->out) {
        w->t->task[w->task].form[w->form].flying--;
        w->t->flying -= w->p.n;
    }
    tc_arena_free(w->p.arena);
    free(w);
}

tc_status tc_tune_begin_round(tc_tune *t, int i, int f, int want, tc_tune_flight **out, tc_error *err) {
    tc_tune_flight *w = tc_xcalloc(1, sizeof *w);
    *w = (tc_tune_flight){.t = t, .task = i, .form = f, .p.arena = tc_arena_new()};
    *out = NULL;
    tc_status st = propose(w, want, err);
    if (st == TC_OK && w->p.n == 0 && !tc_tune_stopped(t))
        exhaust(t, i, f);
    if (st == TC_OK && w->p.n > 0 && !tc_tune_stopped(t)) {
        st = depart(w, err);
        board(w);
        *out = st == TC_OK ? w : NULL;
    }
    if (!*out)
        leave(w);
    return st;
}

tc_status tc_tune_end_round(tc_tune_flight *w, int *measured, tc_error *err) {
    tc_tune *t = w->t;
    int i = w->task;
    double before = t->state[i].best, form_before = t->state[i].form[w->form].best;
    *measured = w->p.n;
    tc_status st = arrive(w, err);
    if (st == TC_OK)
        digest(w, before, form_before);
    leave(w);
    if (st == TC_OK && tc_tune_contest_due(t, i) && !tc_tune_stopped(t)) {
        st = tc_tune_contest(t, i, err);
        tc_tune_settle(t, i, t->state[i].best, 0);
    }
    return st;
}

void tc_tune_tend(tc_tune *t) {
    if (t->flying)
        tc_meas_tend(t->meas);
}

static void tend(void *tune) {
    tc_tune_tend(tune);
}

tc_meanwhile tc_tune_meanwhile(tc_tune *t) {
    return (tc_meanwhile){.call = tend, .user = t};
}

void tc_tune_drop_round(tc_tune_flight *w) {
    tc_meas_abandon(w->flight);
    leave(w);
}
