/* What transplant.h describes. */
#include "tune/kernel/transplant.h"

#include "tir_lower/build/build.h"

typedef bool comparison(const tc_func *f, int p, const tc_func *g, int q);

static bool compare(const tc_func *f, const tc_func *g, comparison *alike) {
    bool same = f->nparam == g->nparam;
    for (int i = 0; same && i < f->nparam; i++) {
        const tc_param *p = &f->params[i], *q = &g->params[i];
        same = p->kind == q->kind && p->index == q->index && (p->kind != TC_PARAM_PACKED || alike(f, i, g, i));
    }
    return same;
}

bool tc_tune_packs_alike(const tc_func *f, const tc_func *g) {
    return compare(f, g, tc_tir_packs_alike);
}

/* What the trace makes of one of the two. */
static tc_status make(const tc_tune_transplant *x, const tc_workload *w, tc_ctx *ctx, unsigned want, tc_tir_program *out,
                      tc_error *err) {
    tc_tir_origin from = {.workload = w, .machine = x->machine, .text = x->trace, .name = "record"};
    tc_status s = tc_tir_program_make(ctx, &from, want, out, err);
    return s == TC_BAD_INPUT ? TC_ILLEGAL : s; /* a loop that it names is not there: at one size it was another nest */
}

tc_status tc_tune_transplant_make(const tc_tune_transplant *x, tc_arena *a, const char **trace, uint64_t *program,
                                  tc_error *err) {
    tc_ctx *from = tc_ctx_child(x->from->ctx), *to = tc_ctx_child(x->to->ctx);
    tc_tir_program before, after;
    tc_status s = make(x, x->from, from, TC_TIR_NEST, &before, err);
    if (s == TC_OK)
        s = make(x, x->to, to, TC_TIR_HASH | TC_TIR_VERIFIED, &after, err);
    if (s == TC_OK && !compare(before.nest, after.nest, tc_tir_orders_alike))
        s = tc_fail(err, TC_ILLEGAL, "its constants have another order where sizes vary");
    if (s == TC_OK) {
        *trace = tc_trace_text(a, after.sched->trace);
        *program = after.hash;
    }
    tc_ctx_free(from);
    tc_ctx_free(to);
    return s;
}
