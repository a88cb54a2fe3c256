/* src/codegen/c_source owns lowered TIR as C17 source, for compilers other than LLVM, and the header that generated
 * files begin with. Not here: whole models as C (src/graph/saved). */
#ifndef TC_CODEGEN_C_SOURCE_C_SOURCE_H
#define TC_CODEGEN_C_SOURCE_C_SOURCE_H

#include "support/status.h"
#include "support/strbuf.h"
#include "tir_lower/tir.h"

/* What every file with such kernels begins with: headers, types, and helper functions. */
void tc_cg_c_prelude(tc_strbuf *b);
/* A lowered function as C17: `static void SYMBOL(const void *a0, ..., void *aN, uint8_t *workspace)`, the arguments in order; where
 * sizes vary, `const int64_t *sizes` comes before the workspace, the symbols' values in order. Its
 * workspace is that of tc_cg_workspace_bytes(f, nthreads), aligned to 64; arguments need the alignment of their elements only.
 * Parallel loops are OpenMP's where the compiler has it switched on, and serial otherwise. *stack (NULL: not wanted): bytes of all
 * that the function declares, as if nothing shared a place; what compilers add is not known. */
TC_NODISCARD tc_status tc_cg_emit_c(const tc_func *f, const char *symbol, int nthreads, tc_strbuf *b, int64_t *stack,
                                    tc_error *err);

#endif
