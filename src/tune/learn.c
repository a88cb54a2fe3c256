/* What tuning learns from: measured programs as feature rows, the model fitted on them, and the scorer that the search calls.
 *
 * One model serves all tasks of a session and is kept in the database under the target, so the next session starts with it. */
#include <math.h>
#include <string.h>

#include "tir_lower/program/program.h"
#include "tune/propose.h"

/* Name under which the database keeps the model of a target. */

/* Chosen; not measured apart. */
enum { LEAST_FRESH = 8, FRESH_SHARE = 16 };
/* Programs of a form before they are asked about its others. Chosen. */
enum { LEAST_OWN = 16 };

bool tc_tune_features(const tc_tune *t, const tc_workload *w, const char *trace, tc_cost_rows *rows) {
    tc_ctx *ctx = tc_ctx_child(w->ctx);
    tc_tir_origin from = {.workload = w, .machine = &t->machine, .text = trace, .name = "record"};
    tc_tir_program p;
    bool ok = tc_tir_program_make(ctx, &from, TC_TIR_NEST, &p, NULL) == TC_OK &&
              tc_cost_features(p.nest, &t->machine, rows, NULL) == TC_OK;
    tc_ctx_free(ctx);
    return ok;
}

/* On the common scale, as r's median is. */
static double fastest_of(const tc_record *r) {
    return r->error == TC_MEAS_NONE ? r->median * tc_record_fastest(r) / tc_meas_median(r->times, r->ntimes) : INFINITY;
}

void tc_tune_add_samples(tc_tune *t, int i, int which, const tc_record *r, size_t n, bool *added) {
    form *k = &t->task[i].form[which];
    tc_cost_rows *rows = tc_xcalloc(n + 1, sizeof *rows);
#pragma omp parallel for schedule(dynamic) num_threads(tc_tune_workers(t))
    for (size_t j = 0; j < n; j++)
        added[j] = !tc_meas_error_is(r[j].error, TC_MEAS_MUTE) && tc_tune_features(t, k->w, r[j].trace, &rows[j]);
    for (size_t j = 0; j < n; j++) {
        if (!added[j]) {
            tc_cost_rows_free(&rows[j]);
            continue;
        }
        sample x = {.rows = rows[j],
                    .task = i,
                    .form = which,
                    .seconds = r[j].error == TC_MEAS_NONE ? r[j].median : INFINITY,
                    .measured = r[j].error == TC_MEAS_NONE ? r[j].median : INFINITY,
                    .scale = r[j].scale > 0 ? r[j].scale : 1,
                    .fastest = fastest_of(&r[j]),
                    .reference = r[j].reference,
                    .id = r[j].id,
                    .rounds = r[j].rounds,
                    .verified = tc_record_ok(&r[j]) && r[j].verified,
                    .stopped = r[j].stopped_early,
                    .program = r[j].program,
                    .trace = tc_arena_strdup(t->arena, r[j].trace)};
        tc_push(&k->samples, t->samples.len);
        tc_push(&t->samples, x);
    }
    free(rows);
}

/* Enough is new for a fit: what fitting costs stays in proportion to what was measured. */
static bool worth_fitting(const tc_tune *t) {
    size_t fresh = t->samples.len - t->fitted;
    return t->fitted == 0 || fresh >= TC_MAX((size_t)LEAST_FRESH, t->samples.len / FRESH_SHARE);
}

/* Times are corrected by no more: what is slower than that is disturbed in other ways than by a lower clock. Chosen; with a
 * foreign process on one of two cores the reference took 40 % more (measure/machine/drift.c). */
static const double most_drift = 1.3;

static tc_cost_sample as_sample(const tc_tune *t, const sample *x) {
    double best = t->state[x->task].form[x->form].best, drift = fmin(most_drift, tc_meas_slowdown(t->meas, x->reference)),
           label = isfinite(x->seconds) && isfinite(best) ? best * drift / x->seconds : 0.0;
    return (tc_cost_sample){
        .rows = &x->rows, .label = (float)fmin(1.0, label), .weight = 1.0f, .task = t->task[x->task].form[x->form].group};
}

tc_status tc_tune_learn(tc_tune *t, tc_error *err) {
    double t0 = tc_now();
    const tc_cost_sample *elder;
    size_t nelder = tc_tune_elder_samples(t, &elder), n = nelder + t->samples.len;
    if (n == 0 || !worth_fitting(t))
        return TC_OK;
    tc_cost_sample *s = tc_xcalloc(n, sizeof *s);
    for (size_t i = 0; i < nelder; i++)
        s[i] = elder[i];
    for (size_t i = 0; i < t->samples.len; i++)
        s[nelder + i] = as_sample(t, &t->samples.data[i]);
    tc_cost_options o = {.threads = tc_tune_workers(t), .seed = t->o.seed, .growing = true, .meanwhile = tc_tune_meanwhile(t)};
    tc_status st = tc_cost_fit(t->model, n, s, &o, NULL, err);
    free(s);
    t->fitted = t->samples.len;
    t->report.model_trusted = tc_tune_can_score(t);
    t->report.model_seconds += tc_now() - t0;
    return st;
}

tc_status tc_tune_learn_form(tc_tune *t, const form *k, tc_error *err) {
    double t0 = tc_now();
    tc_status st = TC_OK;
    tc_cost_local_free(t->local);
    t->local = NULL;
    if (k->samples.len >= LEAST_OWN && t->o.search == TC_TUNE_PHASES) {
        tc_cost_sample *s = tc_xcalloc(k->samples.len, sizeof *s);
        for (size_t i = 0; i < k->samples.len; i++)
            s[i] = as_sample(t, &t->samples.data[k->samples.data[i]]);
        st = tc_cost_local_new(k->samples.len, s, &(tc_cost_options){.seed = t->o.seed}, &t->local, err);
        free(s);
    }
    t->report.model_trusted = tc_tune_can_score(t);
    t->report.model_seconds += tc_now() - t0;
    return st;
}

/* ---- scoring ---- */

typedef struct scorer {
    tc_tune *t;
    form *k;
    tc_cost_rows *rows;
    uint64_t *program;
    int n, cap;
} scorer;

static void begin(void *user, int n) {
    scorer *s = user;
    if (n > s->cap) {
        s->rows = tc_xrealloc(s->rows, sizeof *s->rows * (size_t)n);
        memset(s->rows + s->cap, 0, sizeof *s->rows * (size_t)(n - s->cap));
        s->program = tc_xrealloc(s->program, sizeof *s->program * (size_t)n);
        s->cap = n;
    }
    for (int i = 0; i < n; i++)
        s->rows[i].nrow = 0;
    s->n = n;
}

static bool recall(void *user, int slot, uint64_t program) {
    scorer *s = user;
    const tc_cost_rows *known = tc_tune_described(s->k, program);
    if (!known)
        return false;
    tc_cost_rows_copy(&s->rows[slot], known);
    s->program[slot] = program;
    return true;
}

static void add(void *user, int slot, uint64_t program, const tc_func *f) {
    scorer *s = user;
    s->program[slot] = program;
    if (tc_cost_features(f, &s->t->machine, &s->rows[slot], NULL) != TC_OK)
        s->rows[slot].nrow = 0;
}

static void score(void *user, int n, double *scores) {
    scorer *s = user;
    const tc_cost_rows **p = tc_xcalloc((size_t)n + 1, sizeof *p);
    for (int i = 0; i < n; i++)
        p[i] = &s->rows[i];
    if (!tc_cost_predict(s->t->model, s->t->local, (size_t)n, p, tc_tune_workers(s->t), scores))
        for (int i = 0; i < n; i++)
            scores[i] = s->rows[i].nrow ? 1e6 / (1.0 + tc_cost_estimate(&s->rows[i])) : 0.0;
    for (int i = 0; i < n; i++)
        if (s->rows[i].nrow)
            tc_tune_describe(s->k, s->program[i], &s->rows[i]);
    free(p);
}

tc_scorer tc_tune_scorer(tc_tune *t, form *k) {
    scorer *s = tc_xcalloc(1, sizeof *s);
    s->t = t;
    s->k = k;
    return (tc_scorer){.user = s, .begin = begin, .recall = recall, .add = add, .score = score};
}

void tc_tune_scorer_free(tc_scorer *sc) {
    scorer *s = sc->user;
    for (int i = 0; i < s->cap; i++)
        tc_cost_rows_free(&s->rows[i]);
    free(s->rows);
    free(s->program);
    free(s);
}

bool tc_tune_can_score(const tc_tune *t) {
    return tc_cost_trusted(t->model) || (t->local && tc_cost_local_trusted(t->local));
}

/* ---- keeping ---- */

/* "cost", and where the records that it learnt from are of a mode apart, "cost-emulated": searches of others do not begin with
 * it. */
static const char *model_name(const tc_tune *t, tc_arena *a) {
    tc_meas_mode m = t->o.measure.mode;
    return tc_meas_mode_is_apart(m) ? tc_arena_printf(a, "cost-%s", tc_meas_mode_text(m)) : "cost";
}

tc_status tc_tune_load_model(tc_tune *t, tc_error *err) {
    tc_arena *a = tc_arena_new();
    const void *data;
    size_t size;
    tc_error why = {0};
    t->model = tc_cost_new();
    tc_status st = tc_meas_db_get_model(t->db, a, t->target_hash, model_name(t, a), &data, &size, err);
    if (st == TC_OK && data && tc_cost_from_bytes(t->model, tc_meas_db_path(t->db), data, size, &why) != TC_OK)
        tc_log(TC_LOG_WARN, "the stored cost model is not used: %s", why.msg); /* it is refitted from the records */
    tc_arena_free(a);
    return st;
}

tc_status tc_tune_store_model(tc_tune *t, tc_error *err) {
    char *data;
    size_t size;
    if (!tc_cost_trained(t->model) || !t->report.measured)
        return TC_OK;
    TC_TRY(tc_cost_to_bytes(t->model, &data, &size, err));
    tc_arena *a = tc_arena_new();
    tc_status st = tc_meas_db_put_model(t->db, t->target_hash, model_name(t, a), data, size, err);
    tc_arena_free(a);
    free(data);
    return st;
}
