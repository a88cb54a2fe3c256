/* What stages.h describes. */
#include "tune/kernel/stages.h"

#include <string.h>

#include "te/text.h"
#include "tir_lower/program/program.h"
#include "tir_lower/text/text.h"

static const tc_tune_stage_info infos[] = {
#define STAGE(id, name, heading, lowered) {name, heading, lowered},
#include "tune/kernel/stages.def"
#undef STAGE
};

const tc_tune_stage_info *tc_tune_stage_of(tc_tune_stage s) {
    return &infos[s];
}

tc_tune_stage tc_tune_stage_find(const char *name, size_t len) {
    int s = 0;
    while (s < TC_TUNE_NSTAGES && (strlen(infos[s].name) != len || memcmp(infos[s].name, name, len) != 0))
        s++;
    return (tc_tune_stage)s;
}

static bool wants_lowered(unsigned want) {
    for (int s = 0; s < TC_TUNE_NSTAGES; s++)
        if ((want >> s & 1) && infos[s].lowered)
            return true;
    return false;
}

/* Code generation takes long: only what is asked for. */
static tc_status emit(const tc_target *t, const tc_func *f, unsigned want, tc_tune_stages *out, tc_error *err) {
    static const struct {
        tc_tune_stage stage;
        tc_cg_stage as;
    } codes[] = {{TC_TUNE_STAGE_RAW_IR, TC_CG_IR}, {TC_TUNE_STAGE_IR, TC_CG_OPT_IR}, {TC_TUNE_STAGE_ASM, TC_CG_ASM}};
    for (size_t i = 0; i < TC_LEN(codes); i++)
        if (want >> codes[i].stage & 1)
            TC_TRY(tc_cg_emit_text(t, &f, NULL, 1, NULL, codes[i].as, &out->text[codes[i].stage], err));
    tc_cg_asm_facts_read(t, tc_sb_str(&out->text[TC_TUNE_STAGE_ASM]), &out->facts);
    return TC_OK;
}

static tc_status make(tc_ctx *ctx, const tc_target *t, const tc_tune_schedule *s, unsigned want, const char *dump,
                      tc_tune_stages *out, tc_error *err) {
    const tc_workload *w;
    tc_tir_program p;
    tc_rng rng = tc_rng_seed(0);
    bool lowers = dump || wants_lowered(want);
    TC_TRY(tc_te_parse(ctx, "workload", s->workload, &w, err));
    tc_tir_origin from = {.workload = w, .machine = &t->machine, .text = s->trace, .name = "schedule", .rng = &rng, .dump = dump};
    TC_TRY(tc_tir_program_make(ctx, &from, lowers ? TC_TIR_LOWERED : TC_TIR_NEST, &p, err));
    tc_sb_add(&out->text[TC_TUNE_STAGE_WORKLOAD], s->workload);
    tc_sb_add(&out->text[TC_TUNE_STAGE_SCHEDULE], s->trace);
    tc_sch_print(&out->text[TC_TUNE_STAGE_STAGES], p.sched);
    tc_tir_print(&out->text[TC_TUNE_STAGE_NEST], p.nest);
    if (!lowers)
        return TC_OK;
    tc_tir_print(&out->text[TC_TUNE_STAGE_TIR], p.lowered);
    return emit(t, p.lowered, want, out, err);
}

tc_status tc_tune_stages_make(const tc_target *t, const tc_tune_schedule *s, unsigned want, const char *dump, tc_tune_stages *out,
                              tc_error *err) {
    tc_ctx *ctx = tc_ctx_new();
    *out = (tc_tune_stages){0};
    tc_status st = make(ctx, t, s, want, dump, out, err);
    tc_ctx_free(ctx);
    return st;
}

void tc_tune_stages_free(tc_tune_stages *s) {
    for (int i = 0; i < TC_TUNE_NSTAGES; i++)
        tc_strbuf_free(&s->text[i]);
    tc_cg_asm_facts_free(&s->facts);
}
