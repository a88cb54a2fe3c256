/* What is asked of LLVM about targets, and whether there is memory for it. For code generation's rooms only, which alone know
 * LLVM. */
#ifndef TC_CODEGEN_TARGET_LLVM_H
#define TC_CODEGEN_TARGET_LLVM_H

#include <llvm-c/TargetMachine.h>

#include "codegen/target/target.h"

/* Opens LLVM's library, which must be done before any function of it is called, with every target that it was built with; once. */
TC_NODISCARD tc_status tc_cg_llvm_init(tc_error *err);
/* LLVM ends the process when it is refused memory: whether there is enough for what it makes once in a process, and `bytes`
 * more. */
TC_NODISCARD tc_status tc_cg_llvm_fits(uint64_t bytes, tc_error *err);
/* A text of LLVM's as our own, malloc'ed; "" where LLVM had no memory for it, which tc_ran_out says then. */
char *tc_cg_own_text(char *llvm);
TC_NODISCARD tc_status tc_cg_machine(const tc_target *t, bool fast, LLVMTargetMachineRef *out, tc_error *err);

#endif
