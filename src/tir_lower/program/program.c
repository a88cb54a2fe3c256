/* Implements program.h. */
#include "tir_lower/program/program.h"
#include "tir_lower/build/build.h"
#include "tir_lower/passes/passes.h"
#include "tir_lower/verify/verify.h"

tc_status tc_tir_program_more(tc_ctx *ctx, const tc_tir_origin *from, unsigned want, tc_tir_program *p, tc_error *err) {
    if (!p->nest)
        TC_TRY(tc_tir_build(p->sched, from->machine, &p->nest, err));
    if (want & TC_TIR_HASH)
        p->hash = tc_tir_hash(p->nest);
    if (want & (TC_TIR_LOWERED | TC_TIR_VERIFIED))
        TC_TRY(tc_tir_lower(ctx, from->machine, p->nest, from->dump, &p->lowered, err));
    if (!(want & TC_TIR_VERIFIED))
        return TC_OK;
    return from->work ? tc_tir_verify_within(ctx, p->lowered, from->work, err) : tc_tir_verify(ctx, p->lowered, err);
}

tc_status tc_tir_program_make(tc_ctx *ctx, const tc_tir_origin *from, unsigned want, tc_tir_program *out, tc_error *err) {
    const tc_trace *trace = from->trace;
    *out = (tc_tir_program){0};
    if (!trace) {
        tc_trace *parsed;
        TC_TRY(tc_trace_parse(tc_ctx_arena(ctx), from->name, from->text, &parsed, err));
        trace = parsed;
    }
    TC_TRY(tc_sch_replay(ctx, from->workload, trace, from->rng, &out->sched, err));
    return want ? tc_tir_program_more(ctx, from, want, out, err) : TC_OK;
}
