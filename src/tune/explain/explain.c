/* The steps of explain.h, in order: read the program, choose the entrants, measure them, rank the causes. */
#include "tune/explain/explain.h"

#include <math.h>

#include "measure/machine/fork.h"
#include "support/clock/clock.h"
#include "support/log.h"
#include "tune/explain/explain_int.h"

static const double all_seconds = 45, roof_seconds = 4 /* that the roofs take */;

static void take_over(const field *f, tc_tune_explanation *x) {
    x->ntrial = f->n;
    x->trial = TC_NEW_N(f->arena, tc_tune_trial, (size_t)f->n);
    for (int i = 0; i < f->n; i++)
        x->trial[i] = f->e[i].t;
}

static tc_status measure(field *f, tc_tune_explanation *x, tc_error *err) {
    const tc_tune_explain_options *o = f->o;
    TC_TRY(tc_clock_check(TC_CLOCK_SAMPLES, err));
    x->roof = tc_tune_roofline(o->timed, o->target, o->mode, NULL);
    f->fork = o->target->machine.cores > 1 ? tc_meas_measure_fork(o->target->machine.cores, 0) : 0;
    TC_TRY(tune_take_turns(f, err));
    x->seconds = f->seconds;
    x->unrest = f->unrest;
    x->disturbed = tc_meas_is_restless(&f->unrest);
    x->waited = f->waited;
    if (f->unmeasured)
        return TC_OK;
    x->roof = tc_tune_roofline(o->timed, o->target, o->mode, &x->roof); /* the larger rates of before and after */
    tune_limits(f, x);
    tune_parts(f, x);
    x->counted = f->counted;
    return TC_OK;
}

static tc_status explain(field *f, tc_tune_explanation *x, tc_error *err) {
    TC_TRY(tc_tune_side_make(f->o->target, f->s->workload, f->s->trace, &x->side, err));
    TC_TRY(tune_enter(f, err));
    if (!f->o->why_unmeasured)
        TC_TRY(measure(f, x, err));
    x->unmeasured = f->unmeasured;
    tune_rank(f, x);
    tune_answer(f, x);
    take_over(f, x);
    return TC_OK;
}

tc_status tc_tune_explain(const tc_tune_schedule *s, const tc_tune_explain_options *o, tc_arena *a, tc_tune_explanation *out,
                          tc_error *err) {
    *out = (tc_tune_explanation){.binds = -1};
    field f = {.s = s, .o = o, .arena = a, .ctx = tc_ctx_new(), .side = &out->side, .began = tc_now()};
    f.seconds_left = (o->seconds > 0 ? o->seconds : all_seconds) - roof_seconds;
    f.unmeasured = o->why_unmeasured;
    f.in = (tc_meas_input){.workload = s->workload,
                           .trace = s->trace,
                           .workload_hash = s->hash,
                           .again = true,
                           .cold = o->mode == TC_MEAS_COLD,
                           .sizes = s->sizes,
                           .denormal = o->denormal,
                           .shares = true,
                           .counts = true};
    tc_status st = explain(&f, out, err);
    out->took = tc_now() - f.began;
    tc_ctx_free(f.ctx);
    if (st != TC_OK)
        tc_tune_side_free(&out->side);
    return st;
}
