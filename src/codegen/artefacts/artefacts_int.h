/* Inside the room of artefacts: modules that are not kernels, and names in objects. */
#ifndef TC_CODEGEN_ARTEFACTS_ARTEFACTS_INT_H
#define TC_CODEGEN_ARTEFACTS_ARTEFACTS_INT_H

#include "codegen/code/builder.h"
#include "codegen/profile/profile.h"

/* ---- unit.c ---- */

/* Begins a module of its own, called `name`. TC_ENV: there is no LLVM. */
TC_NODISCARD tc_status tc_cg_open_unit(tc_cg *g, const tc_target *t, const char *name, tc_error *err);
/* Compiles what was built, unless that failed, and releases the module. *stack: bytes that its functions take. */
TC_NODISCARD tc_status tc_cg_close_unit(tc_cg *g, void **obj, size_t *size, int64_t *stack);
/* The address `bytes` bytes behind base. */
tc_val tc_cg_at_bytes(tc_cg *g, tc_val base, int64_t bytes);
/* Calls the C function `name`, which the module declares where it does not yet, with n <= 5 arguments. */
tc_val tc_cg_call_named(tc_cg *g, const char *name, LLVMTypeRef result, tc_val *args, unsigned n);
/* Begins a function: an empty block "entry", where the builder then stands. */
tc_val tc_cg_begin_function(tc_cg *g, const char *name, LLVMTypeRef ret, LLVMTypeRef *params, int n, bool exported);

/* ---- cpu.c ---- */

typedef struct tc_cg_cpu_check {
    tc_val known, status; /* the answer that is kept, and the function that finds it; NULL: every CPU will do */
} tc_cg_cpu_check;
/* The function that asks whether the CPU has what the module's target uses. TC_ENV: there is no LLVM. */
TC_NODISCARD tc_status tc_cg_begin_cpu_check(tc_cg *g, tc_cg_cpu_check *c, tc_error *err);
/* Returns `refusal` from the function that is built where the CPU lacks something. It goes before all else. */
void tc_cg_check_cpu(tc_cg *g, const tc_cg_cpu_check *c, tc_val refusal);

/* ---- profile_table.c ---- */

/* The address of the table, as the module's constant. */
tc_val tc_cg_profile_table(tc_cg *g, const tc_cg_profile *p);

/* ---- rename.c ---- */

/* Gives the symbol `from` of a relocatable object the name `to`, and from.PART the name to.PART; *obj is malloced and replaced.
 * TC_BAD_INPUT when there is no such symbol. */
TC_NODISCARD tc_status tc_cg_rename_symbol(void **obj, size_t *size, const char *from, const char *to, tc_error *err);

#endif
