/* parallel_for as an object, for libraries that stand alone: runtime.c without tctune. */
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

tc_status tc_cg_emit_runtime(const tc_target *t, const char *name, void **obj, size_t *size, tc_error *err) {
    tc_cg unit, *g = &unit;
    tc_cg_open_unit(g, t, name, err);
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
    return tc_cg_close_unit(g, obj, size);
}
