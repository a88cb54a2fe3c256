/* A tuning session: opening it on a database, the loop over rounds, and the report. */
#include "tune/tune.h"

#include <math.h>
#include <string.h>

#include "measure/machine/unit_peak.h"
#include "support/clock/clock.h"
#include "support/map.h"
#include "support/system/threads.h"
#include "te/text.h"
#include "te/unit_gain.h"
#include "tune/propose.h"

/* Of the session's time for contests at the end, for those among candidates of one task; the rest is for kernels beside those that
 * they could run in place of. Chosen. */
static const double contests_share = 0.75;
/* Of a measurement of the peak: a hundred rounds and more of each loop of it. Chosen. */
static const double peak_seconds = 0.4, unit_seconds = 0.1;

/* ---- opening ---- */

/* Form f of task i; w is canonicalised into a context of its own. */
static void take_form(tc_tune *t, int i, int f, const char *name, const tc_workload *w) {
    tc_ctx *ctx = tc_ctx_new();
    form *k = &t->task[i].form[f];
    *k = (form){.w = tc_te_canonical(ctx, w), .ctx = ctx, .group = t->nform++};
    k->flops = tc_te_flops(k->w);
    k->work = tc_te_products(k->w) / tc_te_unit_gain(k->w, t->o.target->machine.intrinsics);
    t->task[i].found[f] = (tc_tune_form){.name = name,
                                         .workload = tc_te_text(t->arena, k->w),
                                         .hash = tc_te_hash(k->w),
                                         .constants = tc_te_constant_bytes_read(k->w),
                                         .unit = tc_te_unit(k->w, t->o.target->machine.intrinsics),
                                         .best = INFINITY,
                                         .rank = INFINITY};
}

static bool has_form(const tc_space_alternative_list *l, const char *name) {
    bool has = false;
    for (int k = 0; k < l->n; k++)
        has |= strcmp(l->data[k].name, name) == 0;
    return has;
}

/* The task's own workload, which is canonical, and the alternatives of it, of one size those that other sizes have as well. */
static void take_forms(tc_tune *t, int i, tc_ctx *scratch, const tc_workload *w, const tc_workload *varying) {
    tc_ctx *own = varying ? tc_ctx_new() : NULL;
    tc_space_alternative_list l = tc_space_alternatives(scratch, w, t->o.accuracy), of = l;
    if (varying)
        of = tc_space_alternatives(own, tc_te_canonical(own, varying), t->o.accuracy);
    tc_tune_state *s = &t->state[i];
    s->form = t->task[i].found = TC_NEW_N(t->arena, tc_tune_form, 1 + l.n);
    t->task[i].form = TC_NEW_N(t->arena, form, 1 + l.n);
    take_form(t, i, 0, "direct", w);
    s->nform = 1;
    for (int k = 0; k < l.n; k++)
        if (has_form(&of, l.data[k].name))
            take_form(t, i, s->nform++, tc_arena_strdup(t->arena, l.data[k].name), l.data[k].workload);
    t->task[i].nform = s->nform;
    s->workload = s->form[0].workload;
    s->hash = s->form[0].hash;
    tc_ctx_free(own);
}

/* Numbers of these given tasks; at[]: of each given one. */
static const int *numbers_of(tc_tune *t, const int *given, int n, const int *at) {
    int *x = TC_NEW_N(t->arena, int, n);
    for (int k = 0; k < n; k++)
        x[k] = at[given[k]];
    return x;
}

/* What could run in place of others, unless it runs as well; at[]: number of each given task. */
static void take_places(tc_tune *t, const tc_tune_task *tasks, int n, const int *at) {
    bool *runs = TC_NEW_N(t->arena, bool, n);
    for (int i = 0; i < n; i++)
        runs[at[i]] |= tasks[i].ninstead == 0;
    for (int i = 0; i < n; i++) {
        tc_tune_state *s = &t->state[at[i]];
        if (runs[at[i]] || s->ninstead)
            continue;
        s->ninstead = tasks[i].ninstead;
        s->instead = numbers_of(t, tasks[i].instead, s->ninstead, at);
        s->nalong = tasks[i].nalong;
        s->along = numbers_of(t, tasks[i].along, s->nalong, at);
    }
}

static double stake_of(const tc_tune_task *t) {
    return t->stake > 0 ? t->stake : t->weight;
}

/* Canonicalises the tasks and merges equal ones. */
static void take_tasks(tc_tune *t, const tc_tune_task *tasks, int n) {
    tc_map at = {0};
    int *number = TC_NEW_N(t->arena, int, n);
    t->task = TC_NEW_N(t->arena, task, n);
    t->state = TC_NEW_N(t->arena, tc_tune_state, n);
    for (int i = 0; i < n; i++) {
        tc_ctx *ctx = tc_ctx_new();
        const tc_workload *w = tc_te_canonical(ctx, tasks[i].workload);
        tc_digest h = tc_te_hash(w);
        uintptr_t *same = tc_map_gets(&at, h.hex);
        if (same) {
            t->state[*same].weight += tasks[i].weight;
            t->state[*same].stake += stake_of(&tasks[i]);
            number[i] = (int)*same;
        } else {
            number[i] = t->n;
            tc_map_puts(&at, h.hex, (uintptr_t)t->n);
            t->state[t->n] = (tc_tune_state){.name = tc_arena_strdup(t->arena, tasks[i].name),
                                             .weight = tasks[i].weight,
                                             .stake = stake_of(&tasks[i]),
                                             .flops = tc_te_flops(w),
                                             .best = INFINITY,
                                             .winner = -1};
            take_forms(t, t->n++, ctx, w, tasks[i].varying);
        }
        tc_ctx_free(ctx);
    }
    take_places(t, tasks, n, number);
    tc_map_free(&at);
}

/* The machine as it is, and how each task is timed on it. */
static void choose_modes(tc_tune *t) {
    bool apart = tc_meas_mode_is_apart(t->o.measure.mode);
    double network = 0;
    for (int i = 0; i < t->n; i++)
        network += t->state[i].ninstead ? 0 : t->state[i].weight * t->state[i].form[0].constants;
    t->machine = t->o.target->machine;
    t->machine.cores = t->o.threads;
    if (!apart)
        t->machine = tc_tune_machine(t->o.target, t->o.threads, network);
    for (int i = 0; i < t->n; i++)
        t->state[i].mode = apart ? t->o.measure.mode : tc_tune_mode(t->o.timing, t->task[i].form[0].w, network, &t->machine);
    if (t->machine.l3 != t->o.target->machine.l3)
        tc_log(TC_LOG_INFO, "the last cache has %.1f MiB, but this machine gets only %.1f of them",
               (double)t->o.target->machine.l3 / 0x1p20, (double)t->machine.l3 / 0x1p20);
}

/* A database that knows other machines only may not be the one that was meant. */
static tc_status tell_of_strangers(const tc_tune *t, tc_error *err) {
    tc_meas_db_stats all;
    tc_meas_counts own;
    tc_meas_records first;
    TC_TRY(tc_meas_db_stat(t->db, &all, err));
    TC_TRY(tc_meas_db_count(t->db, &(tc_meas_filter){.target_hash = t->target_hash.hex}, &own, err));
    if (all.records == 0 || own.total > 0)
        return TC_OK;
    TC_TRY(tc_meas_db_select(t->db, t->arena, &(tc_meas_filter){.limit = 1}, &first, err));
    if (first.len)
        tc_log(TC_LOG_WARN,
               "%s: none of its %lld records is for this target, `%.100s`: they are for %lld others, the first for `%.100s`. "
               "They only guide the start of the search; nothing is built from them",
               tc_meas_db_path(t->db), (long long)all.records, t->o.target->text, (long long)all.targets, first.data[0].target);
    return TC_OK;
}

/* *any: form f of task i was timed hot by an earlier session. */
static tc_status was_hot(const tc_tune *t, int i, int f, bool *any, tc_error *err) {
    tc_meas_records r;
    tc_meas_filter filter = {.workload_hash = t->state[i].form[f].hash.hex,
                             .target_hash = t->target_hash.hex,
                             .threads = t->o.threads,
                             .mode = tc_meas_mode_text(TC_MEAS_HOT),
                             .limit = 1};
    TC_TRY(tc_meas_db_select(t->db, t->arena, &filter, &r, err));
    *any |= r.len > 0;
    return TC_OK;
}

/* Kernels that were tuned when all were timed hot are tuned again. */
static tc_status tell_of_hot_records(const tc_tune *t, tc_error *err) {
    int n = 0, first = -1;
    for (int i = 0; i < t->n; i++) {
        bool any = false;
        if (t->o.timing != TC_TUNE_AUTO || t->state[i].mode != TC_MEAS_COLD || t->state[i].trials > 0)
            continue;
        for (int f = 0; f < t->task[i].nform && !any; f++)
            TC_TRY(was_hot(t, i, f, &any, err));
        first = any && first < 0 ? i : first;
        n += any;
    }
    if (n)
        tc_log(TC_LOG_WARN,
               "%s%s: all records are of hot runs, but in a network the constants come from memory. These kernels are now timed "
               "cold; the hot records only guide the start. --mode hot goes on as before",
               t->state[first].name, n > 1 ? " and others" : "");
    return TC_OK;
}

static void refresh(tc_tune *t) {
    tc_tune_report *r = &t->report;
    r->latency = tc_tune_latency(t);
    r->seconds = tc_now() - t->started;
    r->seconds_left = tc_tune_seconds_left(t);
    if (t->meas) {
        tc_meas_stats s = tc_meas_get_stats(t->meas);
        r->build_seconds = s.build_seconds;
        r->run_seconds = s.run_seconds;
    }
}

static void tell(tc_tune *t, tc_tune_event e, int i) {
    refresh(t);
    if (t->o.progress)
        t->o.progress(t->o.user, e, i, &t->report);
}

/* Peaks of the units that some form can use. */
static void raise_units(tc_tune *t) {
    tc_intrinsic_set units = 0;
    for (int i = 0; i < t->n; i++)
        for (int f = 0; f < t->state[i].nform; f++)
            units |= tc_intrinsic_alone(t->state[i].form[f].unit);
    tc_meas_peak_raise_units(&t->report.peak, t->o.target, units, unit_seconds);
}

const tc_intrinsic *tc_tune_unit(const tc_tune_state *s) {
    return s->form[TC_MAX(s->winner, 0)].unit;
}

tc_status tc_tune_new(const tc_tune_options *o, const tc_tune_task *tasks, int n, tc_meas_db *db, tc_tune **out, tc_error *err) {
    *out = NULL;
    if (o->trials < 0 || !(o->seconds >= 0) || (o->trials == 0 && o->seconds == 0))
        return tc_fail(err, TC_BAD_INPUT, "there is no budget: give a number of trials, or a time, or both");
    if (n < 1)
        return tc_fail(err, TC_BAD_INPUT, "there is nothing to tune: the model has no kernel");
    TC_TRY(tc_clock_check(TC_CLOCK_SAMPLES, err));
    tc_meas_peak peak = {.f32_gflops = o->peak_gflops, .threads = o->threads};
    if (o->measure_peak)
        tc_meas_peak_raise_fma(&peak, o->threads, peak_seconds / 2);
    tc_arena *a = tc_arena_new();
    tc_tune *t = TC_NEW(a, tc_tune);
    *t = (tc_tune){.o = *o, .arena = a, .db = db, .rng = tc_rng_seed(o->seed), .started = tc_now(), .closes = INFINITY};
    t->report.peak = peak;
    t->deadline = o->seconds > 0 ? t->started + (1 - TC_TUNE_CLOSING_SHARE) * o->seconds : INFINITY;
    t->target_hash = tc_meas_text_hash(o->target->text);
    t->report.pairwise = t->report.pairwise_known = t->report.top_recall = t->report.expected_gain = NAN;
    take_tasks(t, tasks, n);
    if (o->measure_peak)
        raise_units(t);
    choose_modes(t);
    t->report.ntask = t->n;
    t->report.task = t->state;
    t->report.target_trials = o->trials;
    t->report.seconds_limit = o->seconds;
    tc_meas_options m = o->measure;
    if (!tc_meas_mode_is_apart(m.mode))
        m.mode = TC_MEAS_HOT; /* cold tasks say so */
    m.target = o->target->text;
    m.threads = o->threads;
    m.seed = o->seed;
    m.stop = o->stop;
    m.peak_gflops = tc_meas_mode_is_apart(m.mode) ? 0 : fmax(peak.f32_gflops, peak.known_gflops); /* computed times: no roof */
    m.deadline = isfinite(t->deadline) ? t->deadline : 0;
    tc_status st = tc_meas_new(&m, &t->meas, err);
    if (st == TC_OK)
        st = tc_tune_load_model(t, err);
    if (st == TC_OK)
        st = tc_tune_recall(t, err);
    if (st == TC_OK)
        st = tell_of_strangers(t, err);
    if (st == TC_OK)
        st = tell_of_hot_records(t, err);
    if (st == TC_OK)
        st = tc_tune_elders_new(t, err);
    if (st != TC_OK) {
        tc_tune_free(t);
        return st;
    }
    refresh(t);
    *out = t;
    return TC_OK;
}

static void free_form(form *k) {
    tc_space_free(k->space);
    tc_ctx_free(k->ctx);
    tc_vec_free(&k->seen);
    tc_map_free(&k->lowered);
    tc_tune_forget_descriptions(k);
    tc_vec_free(&k->samples);
}

void tc_tune_free(tc_tune *t) {
    if (!t)
        return;
    for (int i = 0; i < t->n; i++) {
        for (int f = 0; f < t->task[i].nform; f++)
            free_form(&t->task[i].form[f]);
        tc_vec_free(&t->task[i].history);
    }
    for (size_t i = 0; i < t->samples.len; i++)
        tc_cost_rows_free(&t->samples.data[i].rows);
    tc_vec_free(&t->samples);
    tc_map_free(&t->known);
    tc_vec_free(&t->spent);
    tc_vec_free(&t->latency);
    tc_vec_free(&t->flight);
    tc_tune_elders_free(t);
    tc_cost_free(t->model);
    tc_cost_local_free(t->local);
    tc_meas_free(t->meas);
    tc_arena_free(t->arena);
}

int tc_tune_workers(const tc_tune *t) {
    return tc_threads_team(t->o.target->machine.cores);
}

const tc_tune_report *tc_tune_get_report(const tc_tune *t) {
    return &t->report;
}

/* ---- running ---- */

static int64_t valid_now(const tc_tune *t) {
    return t->report.by_error[TC_MEAS_NONE];
}

/* A run that had nothing to spend leaves everything alone. */
static bool idle(const tc_tune *t) {
    return t->report.measured == 0 && t->report.end == TC_TUNE_END_TRIALS;
}

typedef tc_status contest_of(tc_tune *t, int i, tc_error *err);

/* Where one fails now it is held again: its task needs another best, and what a failure takes is no part of the time. */
static tc_status hold_one(tc_tune *t, int i, double share, contest_of *hold, tc_error *err) {
    for (bool again = true; again && !tc_tune_interrupted(t);) {
        double begin = tc_now(), end = tc_tune_closing_end(t, share);
        int unreliable = t->report.unreliable;
        tc_meas_set_deadline(t->meas, isfinite(end) ? end : 0);
        TC_TRY(hold(t, i, err));
        again = t->report.unreliable > unreliable && isfinite(end);
        if (again)
            tc_tune_extend_closing(t, tc_now() - begin);
    }
    return TC_OK;
}

/* Of all tasks, until so much of the time is spent. */
static tc_status hold_all(tc_tune *t, const int *order, double share, contest_of *hold, tc_error *err) {
    for (int i = 0; i < t->n && !tc_tune_interrupted(t) && tc_now() < tc_tune_closing_end(t, share); i++) {
        TC_TRY(hold_one(t, order[i], share, hold, err));
        tell(t, TC_TUNE_CLOSING, order[i]);
    }
    return TC_OK;
}

static double at_stake(const tc_tune *t, int i) {
    return isfinite(t->state[i].best) ? t->state[i].stake * t->state[i].best : 0;
}

/* Those first that a run spends most on: time may be short. */
static int *by_stake(const tc_tune *t) {
    int *order = TC_NEW_N(t->arena, int, t->n);
    for (int i = 0; i < t->n; i++) {
        int place = i;
        for (; place > 0 && at_stake(t, order[place - 1]) < at_stake(t, i); place--)
            order[place] = order[place - 1];
        order[place] = i;
    }
    return order;
}

/* What is best is settled once more: what the run found, and what an earlier one was interrupted before. */
static tc_status last_contests(tc_tune *t, tc_error *err) {
    const int *order = by_stake(t);
    if (idle(t) || tc_tune_interrupted(t))
        return TC_OK;
    tc_tune_begin_closing(t);
    tell(t, TC_TUNE_CLOSING, -1);
    TC_TRY(hold_all(t, order, contests_share, tc_tune_recheck, err));
    if (t->report.measured)
        TC_TRY(hold_all(t, order, contests_share, tc_tune_contest, err));
    if (t->report.measured)
        TC_TRY(hold_all(t, order, 1, tc_tune_beside, err));
    return TC_OK;
}

static bool can_go_on(const tc_tune *t, int batch) {
    return !tc_tune_stopped(t) && tc_tune_round_size(t, batch) > 0 && tc_tune_next_task(t) >= 0;
}

/* Proposes a round, of which measuring begins. Where nothing is left to propose none does. */
static tc_status begin_round(tc_tune *t, int batch, tc_error *err) {
    tc_tune_flight *flight;
    TC_TRY(tc_tune_share(t, err));
    if (!can_go_on(t, batch)) /* the others may have spent what was left */
        return TC_OK;
    int i = tc_tune_next_task(t), f = tc_tune_next_form(t, i);
    if (t->report.measured == 0) /* what is in the database, and what others left */
        TC_TRY(tc_tune_learn(t, err));
    TC_TRY(tc_tune_learn_form(t, &t->task[i].form[f], err));
    tell(t, TC_TUNE_ROUND_STARTED, i);
    TC_TRY(tc_tune_begin_round(t, i, f, tc_tune_ramp(t, i, f, tc_tune_round_size(t, batch)), &flight, err));
    if (flight)
        tc_push(&t->flight, flight);
    else
        tell(t, TC_TUNE_ROUND_DONE, i);
    return TC_OK;
}

/* Waits for the round that began first. */
static tc_status end_round(tc_tune *t, tc_error *err) {
    tc_tune_flight *flight = t->flight.data[0];
    int measured, i = flight->task;
    memmove(t->flight.data, t->flight.data + 1, --t->flight.len * sizeof(flight));
    TC_TRY(tc_tune_end_round(flight, &measured, err));
    tc_tune_foresee(t);
    tell(t, TC_TUNE_ROUND_DONE, i);
    return measured && !tc_tune_stopped(t) ? tc_tune_learn(t, err) : TC_OK;
}

/* Of rounds under way, without the results of which the next is proposed, no more than are needed. Where workers are shared,
 * those behind the first are to last while the next is proposed, and this search has its share of the workers. */
static bool wants_round(const tc_tune *t) {
    size_t n = t->flight.len, usual = tc_meas_overlaps(t->meas) ? 2 : 1;
    if (t->o.rounds_at_once > 0)
        return n < (size_t)t->o.rounds_at_once;
    if (n < usual)
        return true;
    return n < TC_TUNE_MOST_ROUNDS && (size_t)(t->flying - t->flight.data[0]->p.n) < tc_meas_appetite(t->meas);
}

static tc_status rounds(tc_tune *t, int batch, tc_error *err) {
    do {
        while (wants_round(t) && can_go_on(t, batch))
            TC_TRY(begin_round(t, batch, err));
        if (t->flight.len)
            TC_TRY(end_round(t, err));
    } while (t->flight.len || can_go_on(t, batch));
    return TC_OK;
}

static tc_status search(tc_tune *t, int batch, tc_error *err) {
    tc_meas_set_deadline(t->meas, isfinite(t->deadline) ? t->deadline : 0);
    t->closes = INFINITY;
    tc_status s = rounds(t, batch, err);
    for (size_t k = 0; k < t->flight.len; k++)
        tc_tune_drop_round(t->flight.data[k]);
    t->flight.len = 0;
    if (s == TC_OK)
        t->report.end = tc_tune_why_ended(t);
    return s;
}

static tc_status run(tc_tune *t, tc_error *err) {
    int batch = tc_tune_batch_size(t), unreliable;
    t->report.end = TC_TUNE_END_FAILED;
    tell(t, TC_TUNE_STARTED, -1);
    do { /* once, unless what ended the search was no good after all */
        TC_TRY(search(t, batch, err));
        unreliable = t->report.unreliable;
        TC_TRY(last_contests(t, err));
    } while (t->report.unreliable > unreliable && can_go_on(t, batch));
    TC_TRY(tc_tune_store_model(t, err));
    tell(t, TC_TUNE_FINISHED, -1);
    if (t->report.measured && !valid_now(t) && !tc_tune_interrupted(t))
        return tc_fail(err, TC_ENV, "none of the %d candidates tried in this run could be measured; the first failed with: %s",
                       t->report.measured, t->report.first_error ? t->report.first_error : "no message");
    if (t->report.trials == 0 && tc_tune_late(t) && !tc_tune_interrupted(t))
        return tc_fail(err, TC_ENV, "the time was up before a candidate was measured: give more time");
    if (t->report.trials == 0 && !tc_tune_stopped(t))
        return tc_fail(err, TC_ENV, "nothing was measured: no task has a schedule that can be built%s%s",
                       t->report.first_error ? "; the first: " : "", t->report.first_error ? t->report.first_error : "");
    return TC_OK;
}

tc_status tc_tune_run(tc_tune *t, tc_error *err) {
    tc_status st = run(t, err);
    double ended = tc_now();
    if (t->o.measure_peak && !tc_ran_out()) { /* once memory was refused, nobody looks at the rates */
        tc_meas_peak_raise(&t->report.peak, t->o.threads, peak_seconds);
        raise_units(t);
    }
    t->closes += tc_now() - ended; /* which is no part of what contests may take */
    return st;
}
