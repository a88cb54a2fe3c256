/* Modules that are not kernels: opened, filled with functions, compiled, released. */
#include <assert.h>

#include "codegen/artefacts/artefacts_int.h"

tc_status tc_cg_open_unit(tc_cg *g, const tc_target *t, const char *name, tc_error *err) {
    TC_TRY(tc_cg_llvm_init(err));
    LLVMContextRef ctx = LLVMContextCreate();
    tc_cg_init(g, t, ctx, LLVMModuleCreateWithNameInContext(name, ctx), name, err);
    return TC_OK;
}

tc_status tc_cg_close_unit(tc_cg *g, void **obj, size_t *size, int64_t *stack) {
    tc_status s = g->status == TC_OK ? tc_cg_object_of(g->target, g->mod, obj, size, stack, g->err) : g->status;
    tc_cg_done(g);
    LLVMDisposeModule(g->mod);
    LLVMContextDispose(g->ctx);
    return s;
}

tc_val tc_cg_at_bytes(tc_cg *g, tc_val base, int64_t bytes) {
    tc_val off = tc_cg_i64(g, bytes);
    return bytes ? LLVMBuildGEP2(g->b, g->i8, base, &off, 1, "") : base;
}

tc_val tc_cg_call_named(tc_cg *g, const char *name, LLVMTypeRef result, tc_val *args, unsigned n) {
    enum { MOST = 6 };
    LLVMTypeRef params[MOST];
    assert(n <= MOST);
    for (unsigned i = 0; i < n; i++)
        params[i] = LLVMTypeOf(args[i]);
    LLVMTypeRef type = LLVMFunctionType(result, params, n, 0);
    tc_val fn = LLVMGetNamedFunction(g->mod, name);
    return LLVMBuildCall2(g->b, type, fn ? fn : LLVMAddFunction(g->mod, name, type), args, n, "");
}

tc_val tc_cg_begin_function(tc_cg *g, const char *name, LLVMTypeRef ret, LLVMTypeRef *params, int n, bool exported) {
    g->fn = LLVMAddFunction(g->mod, name, LLVMFunctionType(ret, params, (unsigned)n, 0));
    if (!exported)
        LLVMSetLinkage(g->fn, LLVMInternalLinkage);
    tc_cg_fn_attrs(g->ctx, g->target, g->fn);
    g->entry = LLVMAppendBasicBlockInContext(g->ctx, g->fn, "entry");
    LLVMPositionBuilderAtEnd(g->b, g->entry);
    return g->fn;
}
