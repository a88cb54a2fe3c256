/* A tuning session: opening it on a database, the loop over rounds, and the report. */
#include "tune/tune.h"

#include <math.h>
#include <string.h>

#include "support/map.h"
#include "te/text.h"
#include "tune/tune_int.h"

enum { MIN_BATCH = 8, MAX_BATCH = 64 };

/* ---- opening ---- */

static const char *text_of(tc_arena *a, const tc_workload *w) {
    tc_strbuf b = {0};
    tc_te_print(&b, w);
    const char *s = tc_arena_strdup(a, tc_sb_str(&b));
    tc_strbuf_free(&b);
    return s;
}

/* Canonicalises the tasks and merges equal ones. */
static void take_tasks(tc_tune *t, const tc_tune_task *tasks, int n) {
    tc_map at = {0};
    t->task = TC_NEW_N(t->arena, task, n);
    t->state = TC_NEW_N(t->arena, tc_tune_state, n);
    for (int i = 0; i < n; i++) {
        tc_ctx *ctx = tc_ctx_new();
        const tc_workload *w = tc_te_canonical(ctx, tasks[i].workload);
        tc_digest h = tc_te_hash(w);
        uintptr_t *same = tc_map_gets(&at, h.hex);
        if (same) {
            t->state[*same].weight += tasks[i].weight;
            tc_ctx_free(ctx);
            continue;
        }
        tc_map_puts(&at, h.hex, (uintptr_t)t->n);
        t->task[t->n] = (task){.w = w, .ctx = ctx};
        t->state[t->n++] = (tc_tune_state){.name = tc_arena_strdup(t->arena, tasks[i].name),
                                           .workload = text_of(t->arena, w),
                                           .hash = h,
                                           .weight = tasks[i].weight,
                                           .flops = tc_te_flops(w),
                                           .best = INFINITY};
    }
    tc_map_free(&at);
}

static int by_value(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

/* What the database holds on task i becomes part of its state. */
static tc_status recall(tc_tune *t, int i, tc_error *err) {
    tc_arena *a = tc_arena_new();
    tc_meas_filter f = {.workload_hash = t->state[i].hash.hex, .target_hash = t->target_hash.hex, .threads = t->o.threads};
    tc_meas_records r;
    tc_status st = tc_meas_db_select(t->db, a, &f, &r, err);
    for (size_t k = 0; st == TC_OK && k < r.len; k++) {
        const tc_record *rec = &r.data[k];
        t->state[i].trials++;
        if (rec->program)
            tc_push(&t->task[i].seen, rec->program);
        tc_tune_add_sample(t, i, rec);
        if (!tc_record_ok(rec))
            continue;
        t->state[i].valid++;
        if (rec->verified && rec->median < t->state[i].best) {
            t->state[i].best = rec->median;
            t->state[i].trace = tc_arena_strdup(t->arena, rec->trace);
        }
    }
    if (t->task[i].seen.len)
        qsort(t->task[i].seen.data, t->task[i].seen.len, sizeof(uint64_t), by_value);
    if (t->state[i].valid) {
        t->task[i].rounds = 1;
        tc_push(&t->task[i].history, t->state[i].best);
    }
    t->report.trials += t->state[i].trials;
    tc_arena_free(a);
    return st;
}

static void refresh(tc_tune *t) {
    tc_tune_report *r = &t->report;
    r->latency = 0;
    for (int i = 0; i < t->n; i++)
        r->latency += t->state[i].weight * t->state[i].best;
    r->seconds = tc_now() - t->started;
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

tc_status tc_tune_new(const tc_tune_options *o, const tc_tune_task *tasks, int n, tc_meas_db *db, tc_tune **out, tc_error *err) {
    *out = NULL;
    if (o->trials < 1)
        return tc_fail(err, TC_BAD_INPUT, "the number of trials must be at least 1, not %d", o->trials);
    if (n < 1)
        return tc_fail(err, TC_BAD_INPUT, "there is nothing to tune: the model has no kernel");
    tc_arena *a = tc_arena_new();
    tc_tune *t = TC_NEW(a, tc_tune);
    *t = (tc_tune){.o = *o, .arena = a, .db = db, .rng = tc_rng_seed(o->seed), .started = tc_now()};
    t->machine = o->target->machine;
    t->machine.cores = o->threads;
    t->target_hash = tc_meas_text_hash(o->target->text);
    t->report.pairwise = NAN;
    take_tasks(t, tasks, n);
    t->report.ntask = t->n;
    t->report.task = t->state;
    t->report.target_trials = o->trials;
    tc_meas_options m = o->measure;
    m.target = o->target->text;
    m.threads = o->threads;
    m.seed = o->seed;
    m.stop = o->stop;
    tc_status st = tc_meas_new(&m, &t->meas, err);
    if (st == TC_OK)
        st = tc_tune_load_model(t, err);
    for (int i = 0; st == TC_OK && i < t->n; i++)
        st = recall(t, i, err);
    if (st != TC_OK) {
        tc_tune_free(t);
        return st;
    }
    refresh(t);
    *out = t;
    return TC_OK;
}

void tc_tune_free(tc_tune *t) {
    if (!t)
        return;
    for (int i = 0; i < t->n; i++) {
        tc_space_free(t->task[i].space);
        tc_ctx_free(t->task[i].ctx);
        tc_vec_free(&t->task[i].seen);
        tc_vec_free(&t->task[i].samples);
        tc_vec_free(&t->task[i].history);
    }
    for (size_t i = 0; i < t->samples.len; i++)
        tc_cost_rows_free(&t->samples.data[i].rows);
    tc_vec_free(&t->samples);
    tc_cost_free(t->model);
    tc_meas_free(t->meas);
    tc_arena_free(t->arena);
}

int tc_tune_workers(const tc_tune *t) {
    return TC_MAX(1, t->o.target->machine.cores);
}

const tc_tune_report *tc_tune_get_report(const tc_tune *t) {
    return &t->report;
}

/* ---- running ---- */

/* Candidates per round: every task should see a handful of rounds, each big enough to teach the model something. */
static int batch_size(const tc_tune *t) {
    if (t->o.batch > 0)
        return t->o.batch;
    int b = t->o.trials / (4 * t->n);
    return TC_MAX(MIN_BATCH, TC_MIN(MAX_BATCH, b));
}

/* What the next round may spend: a batch, but never so much that a task still waiting for its first round would get none. */
static int round_size(const tc_tune *t, int batch) {
    int left = t->o.trials - t->report.trials, waiting = 0;
    for (int i = 0; i < t->n; i++)
        waiting += t->task[i].rounds == 0 && !t->state[i].exhausted;
    return TC_MIN(batch, waiting > 1 ? TC_MAX(1, left / waiting) : left);
}

static int64_t valid_now(const tc_tune *t) {
    return t->report.by_error[TC_MEAS_NONE];
}

tc_status tc_tune_run(tc_tune *t, tc_error *err) {
    int batch = batch_size(t), i;
    tell(t, TC_TUNE_STARTED, -1);
    while (t->report.trials < t->o.trials && !tc_tune_stopped(t) && (i = tc_tune_next_task(t)) >= 0) {
        int measured = 0, want = round_size(t, batch);
        tell(t, TC_TUNE_ROUND_STARTED, i);
        TC_TRY(tc_tune_round(t, i, want, &measured, err));
        tell(t, TC_TUNE_ROUND_DONE, i);
        if (measured && !tc_tune_stopped(t))
            TC_TRY(tc_tune_learn(t, err));
    }
    TC_TRY(tc_tune_store_model(t, err));
    tell(t, TC_TUNE_FINISHED, -1);
    if (t->report.measured && !valid_now(t) && !tc_tune_stopped(t))
        return tc_fail(err, TC_ENV, "none of the %d candidates tried in this run could be measured; the first failed with: %s",
                       t->report.measured, t->report.first_error ? t->report.first_error : "no message");
    if (t->report.trials == 0 && !tc_tune_stopped(t))
        return tc_fail(err, TC_ENV, "nothing was measured: no task has a schedule that can be built");
    return TC_OK;
}
