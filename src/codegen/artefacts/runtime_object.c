/* parallel_for as an object, for libraries that stand alone: runtime.c without tctune.
 *
 *   constructor: __register_atfork(before_fork, NULL, NULL, &handle)      before_fork: omp_pause_resource_all(omp_pause_soft)
 *   destructor:  __cxa_finalize(&handle)
 *
 * The handlers go with the library, whichever linker made it. Where libc has no such function, a child of fork has no team. */
#include "codegen/artefacts/artefacts_int.h"
#include "codegen/artefacts/runtime.h"

/* The team's function: thread `id` of `team` runs body(n * id / team, n * (id + 1) / team, id, closure). data: {n, body,
 * closure}. */
static tc_val team_function(tc_cg *g) {
    LLVMTypeRef none = LLVMFunctionType(g->i32, NULL, 0, 0), params[] = {g->ptr};
    LLVMTypeRef body_params[] = {g->i64, g->i64, g->i32, g->ptr}, body_type = LLVMFunctionType(g->nothing, body_params, 4, 0);
    tc_val id_fn = LLVMAddFunction(g->mod, "omp_get_thread_num", none),
           team_fn = LLVMAddFunction(g->mod, "omp_get_num_threads", none);
    tc_val fn = tc_cg_begin_function(g, "team", g->nothing, params, 1, false), data = LLVMGetParam(fn, 0);
    tc_val n = LLVMBuildLoad2(g->b, g->i64, data, "n");
    tc_val body = LLVMBuildLoad2(g->b, g->ptr, tc_cg_at_bytes(g, data, 8), "body"),
           env = LLVMBuildLoad2(g->b, g->ptr, tc_cg_at_bytes(g, data, 16), "closure");
    tc_val id32 = LLVMBuildCall2(g->b, none, id_fn, NULL, 0, "id");
    tc_val id = LLVMBuildSExt(g->b, id32, g->i64, ""),
           team = LLVMBuildSExt(g->b, LLVMBuildCall2(g->b, none, team_fn, NULL, 0, "team"), g->i64, "");
    tc_val begin = LLVMBuildSDiv(g->b, LLVMBuildMul(g->b, n, id, ""), team, "begin");
    tc_val end = LLVMBuildSDiv(g->b, LLVMBuildMul(g->b, n, LLVMBuildAdd(g->b, id, tc_cg_i64(g, 1), ""), ""), team, "end");
    LLVMBasicBlockRef work = LLVMAppendBasicBlockInContext(g->ctx, fn, "work"),
                      done = LLVMAppendBasicBlockInContext(g->ctx, fn, "done");
    LLVMBuildCondBr(g->b, LLVMBuildICmp(g->b, LLVMIntSLT, begin, end, ""), work, done);
    LLVMPositionBuilderAtEnd(g->b, work);
    tc_val args[] = {begin, end, id32, env};
    LLVMBuildCall2(g->b, body_type, body, args, 4, "");
    LLVMBuildBr(g->b, done);
    LLVMPositionBuilderAtEnd(g->b, done);
    LLVMBuildRetVoid(g->b);
    return fn;
}

static void single(tc_cg *g, tc_val n, tc_val body, tc_val env) {
    LLVMTypeRef params[] = {g->i64, g->i64, g->i32, g->ptr};
    tc_val args[] = {tc_cg_i64(g, 0), n, LLVMConstInt(g->i32, 0, 0), env};
    LLVMBuildCall2(g->b, LLVMFunctionType(g->nothing, params, 4, 0), body, args, 4, "");
    LLVMBuildRet(g->b, LLVMConstInt(g->i32, 0, 0));
}

/* ---- fork ---- */

static tc_val weak(tc_cg *g, const char *name, LLVMTypeRef type) {
    tc_val fn = LLVMAddFunction(g->mod, name, type);
    LLVMSetLinkage(fn, LLVMExternalWeakLinkage);
    return fn;
}

static tc_val before_fork(tc_cg *g) {
    enum { OMP_PAUSE_SOFT = 1 };
    LLVMTypeRef type = LLVMFunctionType(g->i32, &g->i32, 1, 0);
    tc_val fn = tc_cg_begin_function(g, "before_fork", g->nothing, NULL, 0, false),
           kind = LLVMConstInt(g->i32, OMP_PAUSE_SOFT, 0);
    LLVMBuildCall2(g->b, type, LLVMAddFunction(g->mod, "omp_pause_resource_all", type), &kind, 1, "");
    LLVMBuildRetVoid(g->b);
    return fn;
}

/* A function that calls `callee` where that is there. */
static tc_val guarded(tc_cg *g, const char *name, tc_val callee, tc_val *args, unsigned n) {
    tc_val fn = tc_cg_begin_function(g, name, g->nothing, NULL, 0, false);
    LLVMBasicBlockRef there = LLVMAppendBasicBlockInContext(g->ctx, fn, "there"),
                      done = LLVMAppendBasicBlockInContext(g->ctx, fn, "done");
    LLVMBuildCondBr(g->b, LLVMBuildIsNull(g->b, callee, ""), done, there);
    LLVMPositionBuilderAtEnd(g->b, there);
    LLVMBuildCall2(g->b, LLVMGlobalGetValueType(callee), callee, args, n, "");
    LLVMBuildBr(g->b, done);
    LLVMPositionBuilderAtEnd(g->b, done);
    LLVMBuildRetVoid(g->b);
    return fn;
}

/* Lists a function in llvm.global_ctors or _dtors. */
static void run_at(tc_cg *g, const char *list, tc_val fn) {
    enum { DEFAULT_PRIORITY = 65535 };
    tc_val fields[] = {LLVMConstInt(g->i32, DEFAULT_PRIORITY, 0), fn, LLVMConstNull(g->ptr)};
    tc_val item = LLVMConstStructInContext(g->ctx, fields, TC_LEN(fields), 0);
    tc_val array = LLVMConstArray2(LLVMTypeOf(item), &item, 1), all = LLVMAddGlobal(g->mod, LLVMTypeOf(array), list);
    LLVMSetInitializer(all, array);
    LLVMSetLinkage(all, LLVMAppendingLinkage);
}

static void build_fork(tc_cg *g) {
    LLVMTypeRef params[] = {g->ptr, g->ptr, g->ptr, g->ptr};
    tc_val enter = weak(g, "__register_atfork", LLVMFunctionType(g->i32, params, 4, 0)),
           remove = weak(g, "__cxa_finalize", LLVMFunctionType(g->nothing, params, 1, 0));
    tc_val handle = LLVMAddGlobal(g->mod, g->i8, "handle"), none = LLVMConstNull(g->ptr);
    LLVMSetInitializer(handle, LLVMConstInt(g->i8, 0, 0));
    LLVMSetLinkage(handle, LLVMInternalLinkage);
    tc_val args[] = {before_fork(g), none, none, handle};
    run_at(g, "llvm.global_ctors", guarded(g, "opened", enter, args, TC_LEN(args)));
    run_at(g, "llvm.global_dtors", guarded(g, "closed", remove, &handle, 1));
}

tc_status tc_cg_emit_runtime(const tc_target *t, const char *name, void **obj, size_t *size, int64_t *stack, tc_error *err) {
    tc_cg unit, *g = &unit;
    TC_TRY(tc_cg_open_unit(g, t, name, err));
    build_fork(g);
    tc_val team = team_function(g);
    LLVMTypeRef gomp_params[] = {g->ptr, g->ptr, g->i32, g->i32}, gomp = LLVMFunctionType(g->nothing, gomp_params, 4, 0);
    LLVMTypeRef none = LLVMFunctionType(g->i32, NULL, 0, 0), params[] = {g->ptr, g->i64, g->ptr, g->ptr};
    tc_val fork = LLVMAddFunction(g->mod, "GOMP_parallel", gomp), nested = LLVMAddFunction(g->mod, "omp_in_parallel", none);
    tc_val fn = tc_cg_begin_function(g, name, g->i32, params, 4, true), p[4];
    LLVMGetParams(fn, p);
    tc_val data = LLVMBuildAlloca(g->b, LLVMArrayType2(g->i64, 3), "data");
    tc_val threads = LLVMBuildLoad2(g->b, g->i32, tc_cg_at_bytes(g, p[0], 4), "nthreads");
    LLVMBasicBlockRef more = LLVMAppendBasicBlockInContext(g->ctx, fn, "more"),
                      one = LLVMAppendBasicBlockInContext(g->ctx, fn, "one");
    LLVMBasicBlockRef many = LLVMAppendBasicBlockInContext(g->ctx, fn, "many");
    tc_val few = LLVMBuildOr(g->b, LLVMBuildICmp(g->b, LLVMIntSLE, p[1], tc_cg_i64(g, 1), ""),
                             LLVMBuildICmp(g->b, LLVMIntSLE, threads, LLVMConstInt(g->i32, 1, 0), ""), "");
    LLVMBuildCondBr(g->b, few, one, more);
    LLVMPositionBuilderAtEnd(g->b, more);
    tc_val inside = LLVMBuildCall2(g->b, none, nested, NULL, 0, "");
    LLVMBuildCondBr(g->b, LLVMBuildICmp(g->b, LLVMIntNE, inside, LLVMConstInt(g->i32, 0, 0), ""), one, many);
    LLVMPositionBuilderAtEnd(g->b, one);
    single(g, p[1], p[2], p[3]);
    LLVMPositionBuilderAtEnd(g->b, many);
    for (int i = 0; i < 3; i++)
        LLVMBuildStore(g->b, p[i + 1], tc_cg_at_bytes(g, data, 8 * i));
    tc_val args[] = {team, data, threads, LLVMConstInt(g->i32, 0, 0)};
    LLVMBuildCall2(g->b, gomp, fork, args, 4, "");
    LLVMBuildRet(g->b, LLVMConstInt(g->i32, 0, 0));
    return tc_cg_close_unit(g, obj, size, stack);
}
