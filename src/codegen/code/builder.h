/* A module that is being built with LLVM. Only the rooms of code generation include this: they alone know LLVM.
 *
 * Failure is sticky. tc_cg_fail keeps the first message, a function that fails returns NULL, and the caller that began the
 * module checks g->status once, at the end. */
#ifndef TC_CODEGEN_CODE_BUILDER_H
#define TC_CODEGEN_CODE_BUILDER_H

#include <llvm-c/Core.h>

#include "codegen/target/llvm.h"
#include "support/status.h"

typedef LLVMValueRef tc_val;

typedef struct tc_cg {
    const tc_target *target;
    const char *symbol; /* what is being built, for messages */
    LLVMContextRef ctx;
    LLVMModuleRef mod;
    LLVMBuilderRef b;
    LLVMTypeRef i1, i8, i16, i32, i64, f16, f32, f64, ptr, nothing;
    tc_val fn;                 /* function being built */
    LLVMBasicBlockRef entry;   /* its entry block: allocas go there */
    struct tc_cg_kernel *k;    /* the kernel being lowered; NULL in other modules */
    struct tc_cg_lines *lines; /* of its text; NULL: code says nothing of them */
    tc_status status;
    tc_error *err;
} tc_cg;

void tc_cg_init(tc_cg *g, const tc_target *t, LLVMContextRef ctx, LLVMModuleRef mod, const char *symbol, tc_error *err);
void tc_cg_done(tc_cg *g);                                         /* the module and its context stay */
tc_val tc_cg_fail(tc_cg *g, const char *fmt, ...) TC_PRINTF(2, 3); /* TC_ILLEGAL; returns NULL */
tc_val tc_cg_i64(tc_cg *g, int64_t v);
tc_val tc_cg_alloca(tc_cg *g, LLVMTypeRef type, int64_t count, int align, const char *name); /* in the entry block */
void tc_cg_fn_attrs(LLVMContextRef ctx, const tc_target *t, tc_val fn);                      /* the target's, of a function */

/* ---- modules to machine code (emit.c) ---- */

/* Checks, optimises and compiles the module; *obj is malloc'ed. *stack: bytes that its functions take, where all call each
 * other. */
TC_NODISCARD tc_status tc_cg_object_of(const tc_target *t, LLVMModuleRef mod, void **obj, size_t *size, int64_t *stack,
                                       tc_error *err);

#endif
