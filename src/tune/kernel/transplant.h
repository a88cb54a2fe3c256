/* A schedule found at fixed sizes, taken to the kernel with symbols, or to a form of it with the same stages
 * (tc_space_alternative.stages). Its trace is replayed on the workload that varies: inner factors stay, the outermost follows
 * from the largest size, and guards cover the rest. */
#ifndef TC_TUNE_TRANSPLANT_H
#define TC_TUNE_TRANSPLANT_H

#include "tir_lower/program/program.h"

typedef struct tc_tune_transplant {
    const tc_workload *from,
        *to; /* canonical: `to` has symbols, `from` is it, or what has the same stages, at some sizes (tc_te_at) */
    const tc_machine *machine;
    const char *trace; /* of `from`, text with all decisions */
} tc_tune_transplant;

/* *trace: that of x->to, in `a`; *program: its tc_tir_hash there. TC_ILLEGAL says why there is none: a step does not apply to
 * sizes that vary, the verifier cannot show that the program keeps within them, or it would have a constant in another order than
 * it has in x->from, and so is another program than the one that was found fast. */
TC_NODISCARD tc_status tc_tune_transplant_make(const tc_tune_transplant *x, tc_arena *a, const char **trace, uint64_t *program,
                                               tc_error *err);
/* Whether two programs read every constant in the same layout. */
bool tc_tune_packs_alike(const tc_func *f, const tc_func *g);

#endif
