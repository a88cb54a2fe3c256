/* Jobs whose times are computed from the program instead of measured. One program always gets the same times, on every machine,
 * whatever else runs there. So a search can be repeated step for step. Nothing is compiled and nothing is run.
 *
 * A program's time is what the analytic model behind the cost model's features expects, times a factor of its own, drawn from its
 * hash: the model knows most of the truth, not all of it. Repeats scatter upwards, as they do on a machine. */
#include "measure/measure_int.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "codegen/target/target.h"
#include "cost_model/cost.h"
#include "measure/records/check.h"
#include "support/log.h"
#include "support/rng.h"
#include "support/vec.h"
#include "te/text.h"
#include "tir_lower/program/program.h"

/* Cycles per second; logarithmic spread of programs around the analytic model (a trained model errs by about that much on real
 * machines), and of one program's repeats (as on an idle machine: drift.c). */
static const double clock_rate = 3e9, program_spread = 0.12, repeat_spread = 0.01;

typedef struct simulator {
    tc_target *target;
    char *text; /* of the workload in `ctx` */
    tc_ctx *ctx;
    const tc_workload *w;
    tc_cost_rows rows;
} simulator;

static tc_status open_simulator(const tc_meas *m, void **state, tc_error *err) {
    tc_target *t;
    TC_TRY(tc_target_parse(m->o.target, &t, err));
    t->machine.cores = m->o.threads;
    simulator *s = tc_xcalloc(1, sizeof *s);
    s->target = t;
    *state = s;
    return TC_OK;
}

static void forget(simulator *s) {
    tc_ctx_free(s->ctx);
    free(s->text);
    s->ctx = NULL;
    s->text = NULL;
}

static void close_simulator(void *state) {
    simulator *s = state;
    if (!s)
        return;
    forget(s);
    tc_cost_rows_free(&s->rows);
    tc_target_free(s->target);
    free(s);
}

static tc_status take_workload(simulator *s, const char *text, tc_error *err) {
    if (s->text && strcmp(s->text, text) == 0)
        return TC_OK;
    forget(s);
    s->ctx = tc_ctx_new();
    tc_status st = tc_te_parse(s->ctx, "workload", text, &s->w, err);
    if (st == TC_OK)
        s->text = tc_xstrdup(text);
    else
        forget(s);
    return st;
}

/* Hash and seconds of the program that `trace` makes of `workload` (texts). TC_ILLEGAL when it makes none. */
static tc_status program_of(simulator *s, const char *workload, const char *trace, uint64_t *program, double *seconds,
                            tc_error *err) {
    tc_tir_program p;
    TC_TRY(take_workload(s, workload, err));
    tc_ctx *ctx = tc_ctx_child(s->w->ctx);
    tc_tir_origin from = {.workload = s->w, .machine = &s->target->machine, .text = trace, .name = "trace"};
    tc_status st = tc_tir_program_make(ctx, &from, TC_TIR_HASH, &p, err);
    if (st == TC_OK)
        st = tc_cost_features(p.nest, &s->target->machine, &s->rows, err);
    if (st == TC_OK) {
        *program = p.hash;
        tc_rng rng = tc_rng_seed(*program);
        *seconds = (1 + tc_cost_estimate(&s->rows)) / clock_rate * exp(program_spread * tc_rng_normal(&rng));
    }
    tc_ctx_free(ctx);
    return st;
}

/* Repeats first .. first + n of a program that takes `seconds`. */
static void repeats_of(uint64_t program, double seconds, uint64_t first, double *times, size_t n) {
    tc_rng all = tc_rng_seed(program ^ 0x74696d6573);
    for (size_t i = 0; i < n; i++) {
        tc_rng one = tc_rng_fork(&all, first + i);
        times[i] = seconds * exp(repeat_spread * fabs(tc_rng_normal(&one)));
    }
}

/* ---- the carrier ---- */

static tc_status build(const tc_meas_jobs *b, tc_meas_job *jobs, size_t n, bool in_order, tc_error *err) {
    (void)err, (void)in_order;
    for (tc_meas_job *j = jobs; j < jobs + n && !tc_meas_stopped(b->m); j++) {
        tc_error why = {0};
        if (program_of(b->m->carries, j->in->workload, j->in->trace, &j->r->program, &j->simulated, &why) != TC_OK)
            tc_meas_end_with(j->r, b->a, TC_MEAS_ILLEGAL, why.msg);
        else
            j->ready = tc_meas_is_new(b->m, j, b->a);
        if (!j->ready)
            tc_meas_report(b, j);
    }
    return TC_OK;
}

/* What the program takes at the sizes of the record: of its time for the largest what they leave of the work, times a factor of
 * their own. */
static tc_status seconds_at(simulator *s, const tc_meas_job *j, double *seconds, tc_error *err) {
    *seconds = j->simulated;
    if (!*j->r->sizes)
        return TC_OK;
    TC_TRY(take_workload(s, j->in->workload, err));
    tc_ctx *ctx = tc_ctx_child(s->w->ctx);
    int64_t *sizes = TC_NEW_N(tc_ctx_arena(ctx), int64_t, s->w->nsymbol);
    const tc_workload *at;
    tc_status st = tc_meas_check_sizes(s->w, j->r->sizes, sizes, err);
    if (st == TC_OK)
        st = tc_te_at(ctx, s->w, sizes, &at, err);
    if (st == TC_OK) {
        tc_rng rng = tc_rng_seed(tc_hash64(sizes, (size_t)s->w->nsymbol * sizeof *sizes, j->r->program));
        *seconds *= (1 + tc_te_flops(at)) / (1 + tc_te_flops(s->w)) * exp(program_spread * tc_rng_normal(&rng));
    }
    tc_ctx_free(ctx);
    return st;
}

static tc_status run(const tc_meas_jobs *b, tc_meas_job *j, tc_error *err) {
    tc_record *r = j->r;
    size_t n = (size_t)tc_meas_samples(b->m, j);
    double *times = TC_NEW_N(b->a, double, n), seconds;
    TC_TRY(seconds_at(b->m->carries, j, &seconds, err));
    repeats_of(r->program, seconds, j->repeats, times, n);
    j->repeats += n;
    tc_meas_end_with(r, b->a, TC_MEAS_NONE, "");
    r->verified = true; /* of its kind: records of this mode are never built into anything */
    r->times = times;
    r->ntimes = n;
    r->median = tc_meas_median(times, n);
    return TC_OK;
}

/* Computed times have no roof. */
static double peak(const tc_meas *m, double seconds) {
    (void)m, (void)seconds;
    return 0;
}

static size_t restarts(const void *state) {
    (void)state;
    return 0;
}

const tc_meas_carrier tc_meas_simulated = {
    .open = open_simulator, .close = close_simulator, .build = build, .run = run, .peak = peak, .restarts = restarts};
