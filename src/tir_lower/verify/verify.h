/* src/tir_lower/verify owns the verifier of programs, annotated or lowered: their structure, and each access within its
 * buffer, shown by intervals, by running, and whatever the sizes are. Not here: anything that knows the passes, so that
 * it can judge them. */
#ifndef TC_TIR_LOWER_VERIFY_VERIFY_H
#define TC_TIR_LOWER_VERIFY_VERIFY_H

#include "tir_lower/tir.h"

/* Structural rules (variables in scope, dtypes and lanes agree, unique loop variables, REG buffers only at constant indices) and
 * every access in bounds by interval analysis with the guards' conditions. TC_ILLEGAL with the offending statement. */
TC_NODISCARD tc_status tc_tir_verify(tc_ctx *c, const tc_func *f, tc_error *err);
/* The same, with a budget of proofs (te/index/prove.h) that the caller may share among programs. Proofs take their steps from
 * *work. TC_ILLEGAL too where the budget was too small for a proof. */
TC_NODISCARD tc_status tc_tir_verify_within(tc_ctx *c, const tc_func *f, int64_t *work, tc_error *err);

#endif
