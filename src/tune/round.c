/* One round of one form of a task: propose candidates, measure them, commit the records, and take note of what was learnt. */
#include <math.h>
#include <string.h>

#include "te/text.h"
#include "tune/tune_int.h"

enum { POPULATION = 384, GENERATIONS = 3, SEEDS = 32 };

/* Share of a first round that goes to constructed schedules; the rest is drawn by the model or at random. */
static const double constructed_share = 0.75;
/* Times are corrected by no more: what is slower than that is disturbed in other ways than by a lower clock. */
static const double MOST_DRIFT = 1.3;

typedef struct proposals {
    tc_arena *arena;
    tc_candidate *c;
    int n;
} proposals;

static int compare_hash(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

static bool known(const form *k, uint64_t h) {
    return k->seen.len && bsearch(&h, k->seen.data, k->seen.len, sizeof h, compare_hash) != NULL;
}

static void remember(form *k, uint64_t h) {
    size_t at = 0;
    tc_push(&k->seen, h);
    for (at = k->seen.len - 1; at > 0 && k->seen.data[at - 1] > h; at--)
        k->seen.data[at] = k->seen.data[at - 1];
    k->seen.data[at] = h;
}

/* Hash of the program that a trace makes; false when it does not lower. */
static bool program_hash(const form *k, const tc_machine *m, const tc_trace *t, uint64_t *h) {
    tc_ctx *ctx = tc_ctx_child(k->w->ctx);
    tc_sched *s;
    tc_func *f;
    bool ok = tc_sch_replay(ctx, k->w, t, NULL, &s, NULL) == TC_OK && tc_tir_build(s, m, &f, NULL) == TC_OK;
    if (ok)
        *h = tc_tir_hash(f);
    tc_ctx_free(ctx);
    return ok;
}

static void add_constructed(tc_tune *t, form *k, proposals *p, int want) {
    tc_trace **tr = TC_NEW_N(p->arena, tc_trace *, 4 * want);
    int n = tc_space_construct(k->space, p->arena, tr, 4 * want);
    for (int i = 0; i < n && p->n < want && !tc_tune_stopped(t); i++) {
        uint64_t h;
        bool dup = !program_hash(k, &t->machine, tr[i], &h) || known(k, h);
        for (int j = 0; j < p->n && !dup; j++)
            dup = p->c[j].hash == h;
        if (!dup)
            p->c[p->n++] = (tc_candidate){.trace = tr[i], .hash = h};
    }
}

static int by_seconds(const void *a, const void *b) {
    const sample *x = *(const sample *const *)a, *y = *(const sample *const *)b;
    return x->seconds < y->seconds ? -1 : x->seconds > y->seconds;
}

/* Traces of the best measured programs of the form, best first. */
static int best_traces(const tc_tune *t, const form *k, tc_arena *a, const tc_trace **out) {
    const sample **s = TC_NEW_N(a, const sample *, k->samples.len);
    int n = 0, m = 0;
    for (size_t i = 0; i < k->samples.len; i++)
        if (isfinite(t->samples.data[k->samples.data[i]].seconds))
            s[n++] = &t->samples.data[k->samples.data[i]];
    qsort(s, (size_t)n, sizeof *s, by_seconds);
    for (int i = 0; i < n && m < SEEDS; i++) {
        tc_trace *tr;
        if (tc_trace_parse(a, "record", s[i]->trace, &tr, NULL) == TC_OK)
            out[m++] = tr;
    }
    return m;
}

static tc_status add_evolved(tc_tune *t, form *k, proposals *p, int want, tc_error *err) {
    TC_VEC(uint64_t) skip = {0};
    for (size_t j = 0; j < k->seen.len; j++)
        tc_push(&skip, k->seen.data[j]);
    for (int j = 0; j < p->n; j++)
        tc_push(&skip, p->c[j].hash);
    if (skip.len)
        qsort(skip.data, skip.len, sizeof *skip.data, compare_hash);
    const tc_trace **seeds = TC_NEW_N(p->arena, const tc_trace *, SEEDS);
    int nseeds = best_traces(t, k, p->arena, seeds), n = 0;
    tc_space_options o = tc_space_options_default();
    o.population = POPULATION;
    o.generations = GENERATIONS;
    o.threads = tc_tune_workers(t);
    o.stop = t->o.stop;
    tc_scorer sc = tc_tune_scorer(t);
    tc_status st = tc_space_search(k->space, &o, &sc, &t->rng, seeds, nseeds, skip.data, skip.len, want - p->n, p->arena,
                                   p->c + p->n, &n, err);
    p->n += n;
    tc_tune_scorer_free(&sc);
    tc_vec_free(&skip);
    return st;
}

static tc_status propose(tc_tune *t, form *k, proposals *p, int want, tc_error *err) {
    if (!k->space)
        TC_TRY(tc_space_new(k->w, &t->machine, &k->space, err));
    p->c = TC_NEW_N(p->arena, tc_candidate, want);
    if (k->rounds == 0)
        add_constructed(t, k, p, (int)ceil(want * constructed_share));
    if (p->n < want && !tc_tune_stopped(t))
        return add_evolved(t, k, p, want, err);
    return TC_OK;
}

/* ---- measuring ---- */

void tc_tune_count(tc_tune *t, int i, int f, const tc_record *r) {
    tc_tune_state *s = &t->state[i];
    tc_tune_form *k = &t->task[i].found[f];
    s->trials++;
    k->trials++;
    if (!tc_record_ok(r))
        return;
    s->valid++;
    k->valid++;
    if (!r->verified || r->stopped_early || tc_record_rank(r) >= k->rank)
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
    rep->measured++;
    rep->trials++;
    rep->by_error[r->error]++;
    tc_tune_count(t, i, f, r);
    if (tc_record_ok(r))
        return;
    const char *why = tc_arena_printf(t->arena, "%s: %s", tc_meas_error_meaning(r->error), r->message);
    s->failure = s->failure ? s->failure : why;
    rep->first_error = rep->first_error ? rep->first_error : why;
}

typedef struct watcher {
    tc_tune *t;
    int task, form;
} watcher;

static void on_measured(void *user, size_t index, const tc_record *r) {
    watcher *w = user;
    (void)index;
    note_record(w->t, w->task, w->form, r);
    if (w->t->o.progress) {
        w->t->report.seconds = tc_now() - w->t->started;
        w->t->o.progress(w->t->o.user, TC_TUNE_MEASURED, w->task, &w->t->report);
    }
}

static tc_status measure(tc_tune *t, int i, int f, proposals *p, tc_record *out, tc_error *err) {
    const tc_tune_form *s = &t->state[i].form[f];
    tc_meas_input *in = TC_NEW_N(p->arena, tc_meas_input, p->n);
    for (int j = 0; j < p->n; j++) {
        tc_strbuf b = {0};
        tc_trace_print(&b, p->c[j].trace);
        in[j] = (tc_meas_input){.workload = s->workload,
                                .workload_hash = s->hash,
                                .trace = tc_arena_strdup(p->arena, tc_sb_str(&b)),
                                .best = isfinite(s->best) ? s->best : 0};
        tc_strbuf_free(&b);
    }
    watcher w = {.t = t, .task = i, .form = f};
    return tc_meas_batch(t->meas, in, (size_t)p->n, p->arena, out, on_measured, &w, err);
}

/* Share of pairs that the model ordered rightly, on candidates it had not seen. */
static double pairwise(const proposals *p, const tc_record *r) {
    int right = 0, all = 0;
    for (int i = 0; i < p->n; i++)
        for (int j = 0; j < i; j++) {
            if (!tc_record_ok(&r[i]) || !tc_record_ok(&r[j]) || p->c[i].score == p->c[j].score)
                continue;
            all++;
            right += (p->c[i].score > p->c[j].score) == (r[i].median < r[j].median);
        }
    return all ? (double)right / all : NAN;
}

static void digest_round(tc_tune *t, int i, int f, const proposals *p, const tc_record *r, double before) {
    task *whole = &t->task[i];
    form *k = &whole->form[f];
    int valid = 0, scored = 0, tried = 0;
    tc_tune_watch(t);
    for (int j = 0; j < p->n; j++) {
        if (r[j].error == TC_MEAS_INTERRUPTED)
            continue;
        tried++;
        remember(k, p->c[j].hash);
        if (r[j].program && r[j].program != p->c[j].hash && !known(k, r[j].program))
            remember(k, r[j].program);
        if (tc_tune_add_sample(t, i, f, &r[j]))
            t->samples.data[t->samples.len - 1].drift = fmin(MOST_DRIFT, t->report.calm.slowdown);
        valid += tc_record_ok(&r[j]);
        scored += p->c[j].score != 0;
    }
    double acc = scored > 1 ? pairwise(p, r) : NAN;
    if (!isnan(acc))
        t->report.pairwise = acc;
    k->rounds++;
    k->failed_rounds = valid ? 0 : k->failed_rounds + 1;
    whole->rounds++;
    tc_tune_settle(t, i, before, tried);
    whole->barren = t->state[i].best < 0.99 * before ? 0 : whole->barren + 1;
    tc_push(&whole->history, t->state[i].best);
}

static void exhaust(tc_tune *t, int i, int f) {
    tc_tune_state *s = &t->state[i];
    t->task[i].found[f].exhausted = true;
    s->exhausted = true;
    for (int k = 0; k < s->nform; k++)
        s->exhausted &= s->form[k].exhausted;
}

tc_status tc_tune_round(tc_tune *t, int i, int f, int want, int *measured, tc_error *err) {
    proposals p = {.arena = tc_arena_new()};
    double before = t->state[i].best, t0 = tc_now();
    tc_status st = propose(t, &t->task[i].form[f], &p, want, err);
    t->report.search_seconds += tc_now() - t0;
    *measured = 0;
    if (st == TC_OK && p.n == 0 && !tc_tune_stopped(t))
        exhaust(t, i, f);
    if (st == TC_OK && p.n > 0 && !tc_tune_stopped(t)) {
        tc_record *r = TC_NEW_N(p.arena, tc_record, p.n);
        st = measure(t, i, f, &p, r, err);
        t0 = tc_now();
        tc_error store = {0};
        tc_status stored = tc_meas_db_insert(t->db, r, (size_t)p.n, &store);
        t->report.store_seconds += tc_now() - t0;
        if (stored != TC_OK) /* what was measured must not be lost silently: this outranks the measurement's own error */
            st = tc_fail(err, stored, "%s", store.msg);
        if (st == TC_OK)
            digest_round(t, i, f, &p, r, before);
        if (st == TC_OK && tc_tune_contest_due(t, i) && !tc_tune_stopped(t))
            st = tc_tune_contest(t, i, err);
        *measured = p.n;
    }
    tc_arena_free(p.arena);
    return st;
}
