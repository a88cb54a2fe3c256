/* What simulate.h describes. */
#include "measure/simulate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "codegen/code/target.h"
#include "cost_model/cost.h"
#include "support/log.h"
#include "support/rng.h"
#include "te/text.h"
#include "tir_lower/program.h"

/* Cycles per second; logarithmic spread of programs around the analytic model (a trained model errs by about that much on real
 * machines), and of one program's repeats. */
static const double clock_rate = 3e9, program_spread = 0.12, repeat_spread = 0.01;

struct tc_meas_sim {
    tc_target *target;
    char *text; /* of the workload in `ctx` */
    tc_ctx *ctx;
    const tc_workload *w;
    tc_cost_rows rows;
};

tc_status tc_meas_sim_new(const char *target, int threads, tc_meas_sim **out, tc_error *err) {
    tc_target *t;
    TC_TRY(tc_target_parse(target, &t, err));
    t->machine.cores = threads;
    *out = tc_xcalloc(1, sizeof **out);
    (*out)->target = t;
    return TC_OK;
}

static void forget(tc_meas_sim *s) {
    tc_ctx_free(s->ctx);
    free(s->text);
    s->ctx = NULL;
    s->text = NULL;
}

void tc_meas_sim_free(tc_meas_sim *s) {
    if (!s)
        return;
    forget(s);
    tc_cost_rows_free(&s->rows);
    tc_target_free(s->target);
    free(s);
}

static tc_status take_workload(tc_meas_sim *s, const char *text, tc_error *err) {
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

tc_status tc_meas_sim_program(tc_meas_sim *s, const char *workload, const char *trace, uint64_t *program, double *seconds,
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

void tc_meas_sim_times(uint64_t program, double seconds, uint64_t first, double *times, size_t n) {
    tc_rng all = tc_rng_seed(program ^ 0x74696d6573);
    for (size_t i = 0; i < n; i++) {
        tc_rng one = tc_rng_fork(&all, first + i);
        times[i] = seconds * exp(repeat_spread * fabs(tc_rng_normal(&one)));
    }
}
