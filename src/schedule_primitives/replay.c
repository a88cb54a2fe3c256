/* Applies steps and replays traces. Every step is first copied into the schedule's arena. So the schedule and its trace do not
 * depend on memory that the caller may release. */
#include "schedule_primitives/sch_int.h"

static bool within(int n, int min, int max) {
    return n >= min && n <= max;
}

/* A step built by a program may have any shape; one that was parsed has the right one. */
static tc_status check_form(const tc_instr *in, tc_error *err) {
    if ((unsigned)in->prim >= TC_NPRIMS)
        return tc_fail(err, TC_BAD_INPUT, "there is no primitive number %d", (int)in->prim);
    const tc_sch_form *f = tc_sch_form_of(in->prim);
    if (!within(in->nouts, f->min_outs, f->max_outs))
        return BAD(err, in, "cannot bind %d names; write it as in `%s`", in->nouts, f->usage);
    if (!within(in->nnames, f->min_names, f->max_names))
        return BAD(err, in, "cannot take %d operands; write it as in `%s`", in->nnames, f->usage);
    if (!within(in->nints, f->min_ints, f->max_ints))
        return BAD(err, in, "cannot take %d integers; write it as in `%s`", in->nints, f->usage);
    if ((f->text != TC_TEXT_NONE) != (in->text != NULL))
        return BAD(err, in, "%s; write it as in `%s`", in->text ? "takes no text" : "needs one more word", f->usage);
    if (!within(in->ndec, 0, TC_MAX_PARTS) || (in->ndec && !tc_prim_sampled(in->prim)))
        return BAD(err, in, "takes no decision of %d values", in->ndec);
    if (in->ndec && in->prim == TC_PRIM_SAMPLE_LOCATION && !in->dec_loc)
        return BAD(err, in, "the decision has no location");
    return TC_OK;
}

static void append(tc_sched *s, const tc_instr *in) {
    tc_sch_impl *m = tc_sch_impl_of(s);
    tc_trace *t = s->trace;
    if (t->n == m->cap_step) {
        m->cap_step = m->cap_step ? 2 * m->cap_step : 32;
        tc_instr *bigger = TC_NEW_N(t->arena, tc_instr, m->cap_step);
        if (t->n)
            memcpy(bigger, t->steps, sizeof *bigger * (size_t)t->n);
        t->steps = bigger;
    }
    t->steps[t->n++] = *in;
}

tc_status tc_sch_apply(tc_sched *s, const tc_instr *step, tc_rng *rng, tc_error *err) {
    TC_TRY(check_form(step, err));
    tc_instr in = tc_sch_copy_step(s->trace->arena, step);
    const tc_sch_form *f = tc_sch_form_of(in.prim);
    TC_TRY(f->run ? f->run(s, &in, err) : tc_sch_do_sampled(s, &in, rng, err));
    append(s, &in);
    return TC_OK;
}

static void name_step(tc_error *err, int n, const tc_instr *step) {
    enum { MOST = 200 }; /* characters of a step, so that there is room for what is wrong with it */
    tc_strbuf b = {0};
    tc_sch_print_step(&b, step);
    const char *cut = b.len > MOST ? " ..." : "";
    if (step->line)
        tc_error_prefix(err, "step %d (line %d, column %d), `%.*s%s`: ", n, step->line, step->col, MOST, tc_sb_str(&b), cut);
    else
        tc_error_prefix(err, "step %d, `%.*s%s`: ", n, MOST, tc_sb_str(&b), cut);
    tc_strbuf_free(&b);
}

tc_status tc_sch_replay(tc_ctx *ctx, const tc_workload *w, const tc_trace *t, tc_rng *rng, tc_sched **out, tc_error *err) {
    tc_sched *s = tc_sch_new(ctx, w);
    for (int i = 0; i < t->n; i++) {
        tc_status status = tc_sch_apply(s, &t->steps[i], rng, err);
        if (status == TC_OK)
            continue;
        if (err && (unsigned)t->steps[i].prim < TC_NPRIMS)
            name_step(err, i + 1, &t->steps[i]);
        return status;
    }
    *out = s;
    return TC_OK;
}
