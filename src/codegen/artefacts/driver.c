/* The entry point of a whole model: runs its steps in order. */
#include <stdlib.h>

#include "codegen/artefacts/artefacts_int.h"
#include "codegen/artefacts/library.h"
#include "support/vec.h"

static tc_val load_pointer(tc_cg *g, tc_val array, int64_t i) {
    tc_val k = tc_cg_i64(g, i);
    return LLVMBuildLoad2(g->b, g->ptr, LLVMBuildGEP2(g->b, g->ptr, array, &k, 1, ""), "");
}

enum { P_INPUTS, P_OUTPUTS, P_ARENA, P_CONSTS, P_RT, P_CONTEXT };

static tc_val operand(tc_cg *g, const tc_cg_operand *o) {
    switch (o->where) {
    case TC_CG_INPUT:
        return load_pointer(g, LLVMGetParam(g->fn, P_INPUTS), o->at);
    case TC_CG_OUTPUT:
        return tc_cg_at_bytes(g, load_pointer(g, LLVMGetParam(g->fn, P_OUTPUTS), o->at), o->skip);
    case TC_CG_ARENA:
        return tc_cg_at_bytes(g, LLVMGetParam(g->fn, P_ARENA), o->at);
    case TC_CG_CONST:
        return tc_cg_at_bytes(g, LLVMGetParam(g->fn, P_CONSTS), o->at);
    }
    return NULL;
}

static void call_kernel(tc_cg *g, const tc_cg_step *s, tc_val table, int64_t workspace_at) {
    LLVMTypeRef params[] = {g->ptr, g->ptr, g->ptr};
    LLVMTypeRef type = LLVMFunctionType(g->i32, params, 3, 0);
    tc_val fn = LLVMGetNamedFunction(g->mod, s->kernel);
    if (!fn)
        fn = LLVMAddFunction(g->mod, s->kernel, type);
    for (int i = 0; i < s->nargs; i++) {
        tc_val k = tc_cg_i64(g, i);
        LLVMBuildStore(g->b, operand(g, &s->args[i]), LLVMBuildGEP2(g->b, g->ptr, table, &k, 1, ""));
    }
    tc_val args[] = {table, tc_cg_at_bytes(g, LLVMGetParam(g->fn, P_ARENA), workspace_at), LLVMGetParam(g->fn, P_RT)};
    tc_val status = LLVMBuildCall2(g->b, type, fn, args, 3, "");
    LLVMBasicBlockRef bad = LLVMAppendBasicBlockInContext(g->ctx, g->fn, "bad"),
                      next = LLVMAppendBasicBlockInContext(g->ctx, g->fn, "next");
    LLVMBuildCondBr(g->b, LLVMBuildICmp(g->b, LLVMIntNE, status, LLVMConstInt(g->i32, 0, 0), ""), bad, next);
    LLVMPositionBuilderAtEnd(g->b, bad);
    LLVMBuildRet(g->b, status);
    LLVMPositionBuilderAtEnd(g->b, next);
}

static tc_status check_step(const tc_cg_driver *d, int i, tc_error *err) {
    const tc_cg_step *s = &d->steps[i];
    int want = tc_cg_step_operands(s->kind);
    if (want >= 0 && (s->nargs != want || s->target < 0 || s->target > d->nsteps))
        return tc_fail(err, TC_BAD_INPUT,
                       "%s: step %d is a jump with %d operands and target %d; expected %d operands and a target of at most %d",
                       d->name, i, s->nargs, s->target, want, d->nsteps);
    if (want < 0 && !s->kernel && (s->nargs < 2 || s->nargs > 3 || s->bytes < 0))
        return tc_fail(err, TC_BAD_INPUT,
                       "%s: step %d is a copy with %d operands and size %lld; expected 2 or 3 operands and a size of at least 0",
                       d->name, i, s->nargs, (long long)s->bytes);
    return TC_OK;
}

static void copy(tc_cg *g, const tc_cg_step *s) {
    tc_val to = operand(g, &s->args[1]);
    if (s->nargs == 3) {
        tc_val row = LLVMBuildLoad2(g->b, g->i64, operand(g, &s->args[2]), "row");
        tc_val off = LLVMBuildMul(g->b, row, tc_cg_i64(g, s->bytes), "");
        to = LLVMBuildGEP2(g->b, g->i8, to, &off, 1, "");
    }
    LLVMBuildMemMove(g->b, to, 1, operand(g, &s->args[0]), 1, tc_cg_i64(g, s->bytes));
}

/* blocks[i]: where step i begins. */
static void decide(tc_cg *g, const tc_cg_step *s, LLVMBasicBlockRef next, const LLVMBasicBlockRef *blocks) {
    tc_val a[2], holds;
    for (int i = 0; i < s->nargs; i++)
        a[i] = operand(g, &s->args[i]);
    if (s->kind == TC_CG_UNLESS) {
        tc_val v = LLVMBuildLoad2(g->b, g->i8, a[0], "");
        holds = LLVMBuildICmp(g->b, LLVMIntNE, v, LLVMConstInt(g->i8, 0, 0), "");
        LLVMBuildCondBr(g->b, holds, next, blocks[s->target]);
    } else if (s->kind == TC_CG_UNLESS_LESS) {
        holds =
            LLVMBuildICmp(g->b, LLVMIntSLT, LLVMBuildLoad2(g->b, g->i64, a[0], ""), LLVMBuildLoad2(g->b, g->i64, a[1], ""), "");
        LLVMBuildCondBr(g->b, holds, next, blocks[s->target]);
    } else {
        if (s->kind == TC_CG_AGAIN)
            LLVMBuildStore(g->b, LLVMBuildAdd(g->b, LLVMBuildLoad2(g->b, g->i64, a[0], ""), tc_cg_i64(g, 1), ""), a[0]);
        LLVMBuildBr(g->b, blocks[s->target]);
    }
}

static void tell(tc_cg *g, int step) {
    LLVMTypeRef params[] = {g->ptr, g->i32};
    LLVMBasicBlockRef call = LLVMAppendBasicBlockInContext(g->ctx, g->fn, "tell"),
                      next = LLVMAppendBasicBlockInContext(g->ctx, g->fn, "told");
    tc_val context = LLVMGetParam(g->fn, P_CONTEXT), f = load_pointer(g, context, 0);
    LLVMBuildCondBr(g->b, LLVMBuildIsNull(g->b, f, ""), next, call);
    LLVMPositionBuilderAtEnd(g->b, call);
    tc_val args[] = {load_pointer(g, context, 1), LLVMConstInt(g->i32, (unsigned)step, 0)};
    LLVMBuildCall2(g->b, LLVMFunctionType(g->nothing, params, 2, 0), f, args, 2, "");
    LLVMBuildBr(g->b, next);
    LLVMPositionBuilderAtEnd(g->b, next);
}

/* Every step begins a block of its own where some step decides; else all are in one. */
static void steps(tc_cg *g, const tc_cg_driver *d, tc_val table) {
    LLVMBasicBlockRef *blocks = tc_xcalloc((size_t)d->nsteps + 1, sizeof *blocks);
    bool decides = false;
    for (int i = 0; i < d->nsteps; i++)
        decides |= d->steps[i].kind != TC_CG_DO;
    for (int i = 0; i <= d->nsteps && decides; i++)
        blocks[i] = LLVMAppendBasicBlockInContext(g->ctx, g->fn, "step");
    for (int i = 0; i < d->nsteps; i++) {
        const tc_cg_step *s = &d->steps[i];
        if (decides && (i == 0 || d->steps[i - 1].kind == TC_CG_DO))
            LLVMBuildBr(g->b, blocks[i]);
        if (decides)
            LLVMPositionBuilderAtEnd(g->b, blocks[i]);
        if (s->kind != TC_CG_DO)
            decide(g, s, blocks[i + 1], blocks);
        else if (s->kernel)
            call_kernel(g, s, table, d->workspace_at);
        else if (s->bytes)
            copy(g, s);
        if (s->kind == TC_CG_DO)
            tell(g, i);
    }
    if (decides && d->steps[d->nsteps - 1].kind == TC_CG_DO)
        LLVMBuildBr(g->b, blocks[d->nsteps]);
    if (decides)
        LLVMPositionBuilderAtEnd(g->b, blocks[d->nsteps]);
    free(blocks);
}

tc_status tc_cg_emit_driver(const tc_target *t, const tc_cg_driver *d, void **obj, size_t *size, int64_t *stack, tc_error *err) {
    int most = 1;
    tc_cg unit, *g = &unit;
    for (int i = 0; i < d->nsteps; i++) {
        TC_TRY(check_step(d, i, err));
        most = TC_MAX(most, d->steps[i].nargs);
    }
    TC_TRY(tc_cg_open_unit(g, t, d->name, err));
    LLVMTypeRef params[] = {g->ptr, g->ptr, g->ptr, g->ptr, g->ptr, g->ptr};
    tc_cg_begin_function(g, d->name, g->i32, params, TC_LEN(params), true);
    steps(g, d, LLVMBuildAlloca(g->b, LLVMArrayType2(g->ptr, (uint64_t)most), "args"));
    LLVMBuildRet(g->b, LLVMConstInt(g->i32, 0, 0));
    return tc_cg_close_unit(g, obj, size, stack);
}
