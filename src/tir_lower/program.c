/* What program.h describes. */
#include "tir_lower/program.h"

tc_status tc_tir_program_make(tc_ctx *ctx, const tc_tir_origin *from, unsigned want, tc_tir_program *out, tc_error *err) {
    const tc_trace *trace = from->trace;
    *out = (tc_tir_program){0};
    if (!trace) {
        tc_trace *parsed;
        TC_TRY(tc_trace_parse(tc_ctx_arena(ctx), from->name, from->text, &parsed, err));
        trace = parsed;
    }
    TC_TRY(tc_sch_replay(ctx, from->workload, trace, from->rng, &out->sched, err));
    if (!want)
        return TC_OK;
    TC_TRY(tc_tir_build(out->sched, from->machine, &out->nest, err));
    if (want & TC_TIR_HASH)
        out->hash = tc_tir_hash(out->nest);
    return want & TC_TIR_LOWERED ? tc_tir_lower(ctx, from->machine, out->nest, from->dump, &out->lowered, err) : TC_OK;
}
