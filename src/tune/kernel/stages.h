/* One kernel and its schedule as text, in every stage from workload to assembly. */
#ifndef TC_TUNE_STAGES_H
#define TC_TUNE_STAGES_H

#include "codegen/assembly/asm_facts.h"
#include "tune/kernel/schedule.h"

typedef enum tc_tune_stage {
#define STAGE(id, name, heading, lowered) TC_TUNE_STAGE_##id,
#include "tune/kernel/stages.def"
#undef STAGE
    TC_TUNE_NSTAGES
} tc_tune_stage;
#define TC_TUNE_STAGE_BIT(id) (1u << TC_TUNE_STAGE_##id)

typedef struct tc_tune_stage_info {
    const char *name, *heading;
    bool lowered; /* comes after the passes */
} tc_tune_stage_info;
const tc_tune_stage_info *tc_tune_stage_of(tc_tune_stage s);
/* The stage whose name are these `len` characters; TC_TUNE_NSTAGES: there is none. */
tc_tune_stage tc_tune_stage_find(const char *name, size_t len);

/* Zero-initialised is empty. */
typedef struct tc_tune_stages {
    tc_strbuf text[TC_TUNE_NSTAGES]; /* of those that were asked for; others may be there too */
    tc_cg_asm_facts facts;           /* of the assembly */
} tc_tune_stages;

/* Makes the stages of `want`, a set of TC_TUNE_STAGE_BITs, of the schedule s for t. dump: as in tc_tir_lower; not NULL, all passes
 * are run. Free *out in any case. */
TC_NODISCARD tc_status tc_tune_stages_make(const tc_target *t, const tc_tune_schedule *s, unsigned want, const char *dump,
                                           tc_tune_stages *out, tc_error *err);
void tc_tune_stages_free(tc_tune_stages *s);

#endif
