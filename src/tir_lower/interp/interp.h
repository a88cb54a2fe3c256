/* src/tir_lower/interp owns the TIR interpreter: it runs a program as it stands, to compare it with the interpreter of
 * workloads. Not here: anything that knows the passes, so that it can judge them. */
#ifndef TC_TIR_LOWER_INTERP_INTERP_H
#define TC_TIR_LOWER_INTERP_INTERP_H

#include "tir_lower/tir.h"

/* Executes the function literally (parallel loops in order), checking each access and that nothing reads what was never written.
 * args: one dense array per parameter, packed ones already packed, and the symbols' values if there are any; arrays are as large as
 * those say, and no larger. */
TC_NODISCARD tc_status tc_tir_interp(const tc_func *f, void *const *args, tc_error *err);
/* The same with the iterations of parallel loops in an order drawn from `shuffle_seed` (0: in order). Both forms report two
 * iterations of a parallel loop that touch the same element of a shared buffer, one of them writing. */
TC_NODISCARD tc_status tc_tir_interp_shuffled(const tc_func *f, void *const *args, uint64_t shuffle_seed, tc_error *err);
/* The same, shuffled, of a program of which a part was left out (program/ablate.h): what was never written reads as 0 or as what
 * was there before, and outputs need not be written. All else is checked. */
TC_NODISCARD tc_status tc_tir_interp_in_part(const tc_func *f, void *const *args, uint64_t shuffle_seed, tc_error *err);

#endif
