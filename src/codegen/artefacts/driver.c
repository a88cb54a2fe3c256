/* The entry point of a whole model: runs its steps in order. */
#include <stddef.h>
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

/* What one function of the driver does: steps [from, to) of it. */
typedef struct part {
    const tc_cg_driver *d;
    int from, to;
    bool alone; /* it is a branch: its kernels run on its thread */
    int64_t workspace_at;
    tc_val table; /* for a kernel's arguments */
} part;

static void return_status(tc_cg *g, tc_val status) {
    LLVMBasicBlockRef bad = LLVMAppendBasicBlockInContext(g->ctx, g->fn, "bad"),
                      next = LLVMAppendBasicBlockInContext(g->ctx, g->fn, "next");
    LLVMBuildCondBr(g->b, LLVMBuildICmp(g->b, LLVMIntNE, status, LLVMConstInt(g->i32, 0, 0), ""), bad, next);
    LLVMPositionBuilderAtEnd(g->b, bad);
    LLVMBuildRet(g->b, status);
    LLVMPositionBuilderAtEnd(g->b, next);
}

static void call_kernel(tc_cg *g, const tc_cg_step *s, const part *p) {
    LLVMTypeRef params[] = {g->ptr, g->ptr, g->ptr};
    LLVMTypeRef type = LLVMFunctionType(g->i32, params, 3, 0);
    tc_val fn = LLVMGetNamedFunction(g->mod, s->kernel);
    if (!fn)
        fn = LLVMAddFunction(g->mod, s->kernel, type);
    for (int i = 0; i < s->nargs; i++) {
        tc_val k = tc_cg_i64(g, i);
        LLVMBuildStore(g->b, operand(g, &s->args[i]), LLVMBuildGEP2(g->b, g->ptr, p->table, &k, 1, ""));
    }
    tc_val rt = p->alone ? LLVMConstNull(g->ptr) : LLVMGetParam(g->fn, P_RT);
    tc_val args[] = {p->table, tc_cg_at_bytes(g, LLVMGetParam(g->fn, P_ARENA), p->workspace_at), rt};
    return_status(g, LLVMBuildCall2(g->b, type, fn, args, 3, ""));
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

/* ---- forks ---- */

/* What the threads of a fork are given: these pointers, and behind them the status of each branch. */
enum { F_INPUTS, F_OUTPUTS, F_ARENA, F_CONSTS, F_CONTEXT, F_POINTERS };

static LLVMTypeRef driver_type(tc_cg *g) {
    LLVMTypeRef params[] = {g->ptr, g->ptr, g->ptr, g->ptr, g->ptr, g->ptr};
    return LLVMFunctionType(g->i32, params, TC_LEN(params), 0);
}

static tc_val status_at(tc_cg *g, tc_val closure, tc_val branch) {
    return LLVMBuildGEP2(g->b, g->i32, tc_cg_at_bytes(g, closure, F_POINTERS * (int64_t)sizeof(void *)), &branch, 1, "");
}

static int count_branches(const tc_cg_driver *d, int fork) {
    int n = 0;
    for (int i = fork + 1; i < d->steps[fork].target; i = d->steps[i].target)
        n++;
    return n;
}

/* A tc_rt_body that runs branches [begin, end). */
static tc_val branches_function(tc_cg *g, int n, const tc_val *branch) {
    enum { BEGIN, END, THREAD, CLOSURE };
    LLVMTypeRef params[] = {g->i64, g->i64, g->i32, g->ptr};
    tc_val fn = tc_cg_begin_function(g, "branches", g->nothing, params, TC_LEN(params), false);
    tc_val closure = LLVMGetParam(fn, CLOSURE);
    LLVMBasicBlockRef head = LLVMAppendBasicBlockInContext(g->ctx, fn, "head"),
                      choose = LLVMAppendBasicBlockInContext(g->ctx, fn, "choose"),
                      next = LLVMAppendBasicBlockInContext(g->ctx, fn, "next"),
                      out = LLVMAppendBasicBlockInContext(g->ctx, fn, "out");
    LLVMBuildBr(g->b, head);
    LLVMPositionBuilderAtEnd(g->b, head);
    tc_val k = LLVMBuildPhi(g->b, g->i64, "k"), begin = LLVMGetParam(fn, BEGIN);
    LLVMAddIncoming(k, &begin, &g->entry, 1);
    LLVMBuildCondBr(g->b, LLVMBuildICmp(g->b, LLVMIntSLT, k, LLVMGetParam(fn, END), ""), choose, out);
    LLVMPositionBuilderAtEnd(g->b, choose);
    tc_val which = LLVMBuildSwitch(g->b, k, next, (unsigned)n);
    for (int i = 0; i < n; i++) {
        LLVMBasicBlockRef block = LLVMAppendBasicBlockInContext(g->ctx, fn, "branch");
        LLVMAddCase(which, tc_cg_i64(g, i), block);
        LLVMPositionBuilderAtEnd(g->b, block);
        tc_val args[] = {load_pointer(g, closure, F_INPUTS),
                         load_pointer(g, closure, F_OUTPUTS),
                         load_pointer(g, closure, F_ARENA),
                         load_pointer(g, closure, F_CONSTS),
                         LLVMConstNull(g->ptr),
                         load_pointer(g, closure, F_CONTEXT)};
        tc_val status = LLVMBuildCall2(g->b, driver_type(g), branch[i], args, TC_LEN(args), "");
        LLVMBuildStore(g->b, status, status_at(g, closure, tc_cg_i64(g, i)));
        LLVMBuildBr(g->b, next);
    }
    LLVMPositionBuilderAtEnd(g->b, next);
    tc_val more = LLVMBuildAdd(g->b, k, tc_cg_i64(g, 1), "");
    LLVMAddIncoming(k, &more, &next, 1);
    LLVMBuildBr(g->b, head);
    LLVMPositionBuilderAtEnd(g->b, out);
    LLVMBuildRetVoid(g->b);
    return fn;
}

/* Calls the branches by the threads of the run, or one after the other where somebody watches. */
static void call_branches(tc_cg *g, tc_val fn, int n, tc_val closure) {
    LLVMTypeRef body[] = {g->i64, g->i64, g->i32, g->ptr}, loop[] = {g->ptr, g->i64, g->ptr, g->ptr};
    LLVMBasicBlockRef here = LLVMAppendBasicBlockInContext(g->ctx, g->fn, "watched"),
                      team = LLVMAppendBasicBlockInContext(g->ctx, g->fn, "team"),
                      done = LLVMAppendBasicBlockInContext(g->ctx, g->fn, "done");
    tc_val watches = load_pointer(g, LLVMGetParam(g->fn, P_CONTEXT), 0), rt = LLVMGetParam(g->fn, P_RT);
    LLVMBuildCondBr(g->b, LLVMBuildIsNull(g->b, watches, ""), team, here);
    LLVMPositionBuilderAtEnd(g->b, here);
    tc_val all[] = {tc_cg_i64(g, 0), tc_cg_i64(g, n), LLVMConstInt(g->i32, 0, 0), closure};
    LLVMBuildCall2(g->b, LLVMFunctionType(g->nothing, body, TC_LEN(body), 0), fn, all, TC_LEN(all), "");
    LLVMBuildBr(g->b, done);
    LLVMPositionBuilderAtEnd(g->b, team);
    tc_val split[] = {rt, tc_cg_i64(g, n), fn, closure};
    tc_val parallel_for = LLVMBuildLoad2(g->b, g->ptr, tc_cg_at_bytes(g, rt, offsetof(tc_rt, parallel_for)), "");
    return_status(g,
                  LLVMBuildCall2(g->b, LLVMFunctionType(g->i32, loop, TC_LEN(loop), 0), parallel_for, split, TC_LEN(split), ""));
    LLVMBuildBr(g->b, done);
    LLVMPositionBuilderAtEnd(g->b, done);
}

static void call_fork(tc_cg *g, tc_val fn, int n) {
    static const int pointers[] = {
        [F_INPUTS] = P_INPUTS, [F_OUTPUTS] = P_OUTPUTS, [F_ARENA] = P_ARENA, [F_CONSTS] = P_CONSTS, [F_CONTEXT] = P_CONTEXT};
    tc_val closure = tc_cg_alloca(g, g->i64, F_POINTERS + (n + 1) / 2, 8, "fork");
    for (int i = 0; i < F_POINTERS; i++) {
        tc_val k = tc_cg_i64(g, i);
        LLVMBuildStore(g->b, LLVMGetParam(g->fn, (unsigned)pointers[i]), LLVMBuildGEP2(g->b, g->ptr, closure, &k, 1, ""));
    }
    call_branches(g, fn, n, closure);
    for (int i = 0; i < n; i++)
        return_status(g, LLVMBuildLoad2(g->b, g->i32, status_at(g, closure, tc_cg_i64(g, i)), ""));
}

static tc_status check_fork(const tc_cg_driver *d, int fork, tc_error *err) {
    int end = d->steps[fork].target, branch = fork + 1;
    for (int i = fork + 1; i < end; i++) {
        const tc_cg_step *s = &d->steps[i];
        bool begins = i == branch;
        if (begins != (s->kind == TC_CG_BRANCH) || (!begins && s->kind != TC_CG_DO) ||
            (begins && (s->target <= i || s->target > end)))
            return tc_fail(err, TC_BAD_INPUT,
                           "%s: step %d is in the fork at step %d; expected branches one behind the other, which end where the "
                           "next begins, of kernels and copies",
                           d->name, i, fork);
        branch = begins ? s->target : branch;
    }
    return TC_OK;
}

/* ---- the functions ---- */

static void do_step(tc_cg *g, const part *p, int i) {
    const tc_cg_step *s = &p->d->steps[i];
    if (s->kernel)
        call_kernel(g, s, p);
    else if (s->bytes)
        copy(g, s);
    tell(g, i);
}

/* Every step begins a block of its own where some step decides; else all are in one. forks[]: by step. */
static void steps(tc_cg *g, const part *p, const tc_val *forks) {
    const tc_cg_step *all = p->d->steps;
    LLVMBasicBlockRef *blocks = tc_xcalloc((size_t)p->to + 1, sizeof *blocks);
    bool decides = false;
    for (int i = p->from; i < p->to; i++)
        decides |= tc_cg_step_decides(all[i].kind);
    for (int i = p->from; i <= p->to && decides; i = i < p->to && all[i].kind == TC_CG_FORK ? all[i].target : i + 1)
        blocks[i] = LLVMAppendBasicBlockInContext(g->ctx, g->fn, "step");
    for (int i = p->from, next; i <= p->to; i = next) {
        if (blocks[i]) {
            if (!LLVMGetBasicBlockTerminator(LLVMGetInsertBlock(g->b)))
                LLVMBuildBr(g->b, blocks[i]);
            LLVMPositionBuilderAtEnd(g->b, blocks[i]);
        }
        next = i + 1;
        if (i == p->to)
            break;
        if (all[i].kind == TC_CG_DO) {
            do_step(g, p, i);
        } else if (all[i].kind == TC_CG_FORK) {
            call_fork(g, forks[i], count_branches(p->d, i));
            next = all[i].target;
        } else if (all[i].kind != TC_CG_BRANCH) {
            decide(g, &all[i], blocks[i + 1], blocks);
        }
    }
    free(blocks);
}

static tc_val emit_part(tc_cg *g, const char *name, part p, const tc_val *forks) {
    int most = 1;
    for (int i = p.from; i < p.to; i++)
        most = TC_MAX(most, p.d->steps[i].nargs);
    LLVMTypeRef params[] = {g->ptr, g->ptr, g->ptr, g->ptr, g->ptr, g->ptr};
    tc_val fn = tc_cg_begin_function(g, name, g->i32, params, TC_LEN(params), !p.alone);
    p.table = LLVMBuildAlloca(g->b, LLVMArrayType2(g->ptr, (uint64_t)most), "args");
    steps(g, &p, forks);
    LLVMBuildRet(g->b, LLVMConstInt(g->i32, 0, 0));
    return fn;
}

/* The function that runs the branches of the fork at step `fork`. */
static tc_val emit_fork(tc_cg *g, const tc_cg_driver *d, int fork) {
    int n = count_branches(d, fork), k = 0;
    tc_val *branch = tc_xcalloc((size_t)n + 1, sizeof *branch);
    for (int i = fork + 1; i < d->steps[fork].target; i = d->steps[i].target, k++)
        branch[k] = emit_part(g, "branch",
                              (part){.d = d,
                                     .from = i + 1,
                                     .to = d->steps[i].target,
                                     .alone = true,
                                     .workspace_at = d->workspace_at + k * d->branch_bytes},
                              NULL);
    tc_val fn = branches_function(g, n, branch);
    free(branch);
    return fn;
}

tc_status tc_cg_emit_driver(const tc_target *t, const tc_cg_driver *d, void **obj, size_t *size, int64_t *stack, tc_error *err) {
    tc_cg unit, *g = &unit;
    for (int i = 0; i < d->nsteps; i++)
        TC_TRY(check_step(d, i, err));
    for (int i = 0; i < d->nsteps; i++)
        if (d->steps[i].kind == TC_CG_FORK)
            TC_TRY(check_fork(d, i, err));
    TC_TRY(tc_cg_open_unit(g, t, d->name, err));
    tc_val *forks = tc_xcalloc((size_t)d->nsteps + 1, sizeof *forks);
    for (int i = 0; i < d->nsteps; i++)
        if (d->steps[i].kind == TC_CG_FORK)
            forks[i] = emit_fork(g, d, i);
    emit_part(g, d->name, (part){.d = d, .to = d->nsteps, .workspace_at = d->workspace_at}, forks);
    free(forks);
    return tc_cg_close_unit(g, obj, size, stack);
}
