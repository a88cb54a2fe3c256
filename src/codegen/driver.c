/* Objects that are not kernels: the entry point of a whole model, and parallel_for for libraries without tctune. */
#include "codegen/codegen_int.h"

typedef struct unit {
    LLVMContextRef ctx;
    LLVMModuleRef mod;
    tc_cg g;
} unit;

static void open_unit(unit *u, const tc_target *t, const char *name, tc_error *err) {
    u->ctx = LLVMContextCreate();
    u->mod = LLVMModuleCreateWithNameInContext(name, u->ctx);
    tc_cg_init(&u->g, t, u->ctx, u->mod, err);
    u->g.symbol = name;
}

/* Compiles what was built (unless status is a failure) and releases the unit. */
static tc_status close_unit(unit *u, tc_status s, void **obj, size_t *size, tc_error *err) {
    if (s == TC_OK)
        s = u->g.status;
    if (s == TC_OK)
        s = tc_cg_object_of(u->g.target, u->mod, false, obj, size, err);
    tc_cg_done(&u->g);
    LLVMDisposeModule(u->mod);
    LLVMContextDispose(u->ctx);
    return s;
}

static tc_val function(tc_cg *g, const char *name, LLVMTypeRef ret, LLVMTypeRef *params, int n, bool exported) {
    tc_val fn = LLVMAddFunction(g->mod, name, LLVMFunctionType(ret, params, (unsigned)n, 0));
    if (!exported)
        LLVMSetLinkage(fn, LLVMInternalLinkage);
    tc_cg_fn_attrs(g->ctx, g->target, fn);
    LLVMPositionBuilderAtEnd(g->b, LLVMAppendBasicBlockInContext(g->ctx, fn, "entry"));
    g->fn = fn;
    return fn;
}

static tc_val at_bytes(tc_cg *g, tc_val base, int64_t bytes) {
    tc_val off = tc_cg_i64(g, bytes);
    return bytes ? LLVMBuildGEP2(g->b, g->i8, base, &off, 1, "") : base;
}

static tc_val load_pointer(tc_cg *g, tc_val array, int64_t i) {
    tc_val k = tc_cg_i64(g, i);
    return LLVMBuildLoad2(g->b, g->ptr, LLVMBuildGEP2(g->b, g->ptr, array, &k, 1, ""), "");
}

/* ---- a model's entry point ---- */

enum { P_INPUTS, P_OUTPUTS, P_ARENA, P_CONSTS, P_RT };

static tc_val operand(tc_cg *g, const tc_cg_operand *o) {
    switch (o->where) {
    case TC_CG_INPUT:
        return load_pointer(g, LLVMGetParam(g->fn, P_INPUTS), o->at);
    case TC_CG_OUTPUT:
        return at_bytes(g, load_pointer(g, LLVMGetParam(g->fn, P_OUTPUTS), o->at), o->skip);
    case TC_CG_ARENA:
        return at_bytes(g, LLVMGetParam(g->fn, P_ARENA), o->at);
    case TC_CG_CONST:
        return at_bytes(g, LLVMGetParam(g->fn, P_CONSTS), o->at);
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
    tc_val args[] = {table, at_bytes(g, LLVMGetParam(g->fn, P_ARENA), workspace_at), LLVMGetParam(g->fn, P_RT)};
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
        return tc_fail(err, TC_BAD_INPUT, "%s: step %d decides where to go on; it has %d operands of %d and the target %d of %d",
                       d->name, i, s->nargs, want, s->target, d->nsteps);
    if (want < 0 && !s->kernel && (s->nargs < 2 || s->nargs > 3 || s->bytes < 0))
        return tc_fail(err, TC_BAD_INPUT, "%s: step %d copies, and so needs 2 or 3 operands and a size; it has %d and %lld",
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

static tc_val watcher(tc_cg *g, const tc_cg_driver *d) {
    LLVMTypeRef fields[] = {g->ptr, g->ptr}, type = LLVMStructTypeInContext(g->ctx, fields, 2, 0);
    tc_val v = LLVMAddGlobal(g->mod, type, d->watch);
    LLVMSetInitializer(v, LLVMConstNull(type));
    LLVMSetAlignment(v, 8);
    return v;
}

static void tell(tc_cg *g, tc_val watch, int step) {
    LLVMTypeRef params[] = {g->ptr, g->i32};
    LLVMBasicBlockRef call = LLVMAppendBasicBlockInContext(g->ctx, g->fn, "tell"),
                      next = LLVMAppendBasicBlockInContext(g->ctx, g->fn, "told");
    tc_val f = load_pointer(g, watch, 0);
    LLVMBuildCondBr(g->b, LLVMBuildIsNull(g->b, f, ""), next, call);
    LLVMPositionBuilderAtEnd(g->b, call);
    tc_val args[] = {load_pointer(g, watch, 1), LLVMConstInt(g->i32, (unsigned)step, 0)};
    LLVMBuildCall2(g->b, LLVMFunctionType(g->nothing, params, 2, 0), f, args, 2, "");
    LLVMBuildBr(g->b, next);
    LLVMPositionBuilderAtEnd(g->b, next);
}

/* Every step begins a block of its own where some step decides; else all are in one. */
static void steps(tc_cg *g, const tc_cg_driver *d, tc_val table) {
    tc_val watch = d->watch ? watcher(g, d) : NULL;
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
        if (watch && s->kind == TC_CG_DO)
            tell(g, watch, i);
    }
    if (decides && d->steps[d->nsteps - 1].kind == TC_CG_DO)
        LLVMBuildBr(g->b, blocks[d->nsteps]);
    if (decides)
        LLVMPositionBuilderAtEnd(g->b, blocks[d->nsteps]);
    free(blocks);
}

tc_status tc_cg_emit_driver(const tc_target *t, const tc_cg_driver *d, void **obj, size_t *size, tc_error *err) {
    int most = 1;
    unit u;
    for (int i = 0; i < d->nsteps; i++) {
        TC_TRY(check_step(d, i, err));
        most = TC_MAX(most, d->steps[i].nargs);
    }
    open_unit(&u, t, d->name, err);
    tc_cg *g = &u.g;
    LLVMTypeRef params[] = {g->ptr, g->ptr, g->ptr, g->ptr, g->ptr};
    function(g, d->name, g->i32, params, 5, true);
    steps(g, d, LLVMBuildAlloca(g->b, LLVMArrayType2(g->ptr, (uint64_t)most), "args"));
    LLVMBuildRet(g->b, LLVMConstInt(g->i32, 0, 0));
    return close_unit(&u, TC_OK, obj, size, err);
}

/* ---- parallel_for for libraries that stand alone ---- */

/* The team's function: thread `id` of `team` runs body(n * id / team, n * (id + 1) / team, id, closure). data: {n, body,
 * closure}. */
static tc_val team_function(tc_cg *g) {
    LLVMTypeRef none = LLVMFunctionType(g->i32, NULL, 0, 0), params[] = {g->ptr};
    LLVMTypeRef body_params[] = {g->i64, g->i64, g->i32, g->ptr}, body_type = LLVMFunctionType(g->nothing, body_params, 4, 0);
    tc_val id_fn = LLVMAddFunction(g->mod, "omp_get_thread_num", none),
           team_fn = LLVMAddFunction(g->mod, "omp_get_num_threads", none);
    tc_val fn = function(g, "team", g->nothing, params, 1, false), data = LLVMGetParam(fn, 0);
    tc_val n = LLVMBuildLoad2(g->b, g->i64, data, "n");
    tc_val body = LLVMBuildLoad2(g->b, g->ptr, at_bytes(g, data, 8), "body"),
           env = LLVMBuildLoad2(g->b, g->ptr, at_bytes(g, data, 16), "closure");
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
    unit u;
    open_unit(&u, t, name, err);
    tc_cg *g = &u.g;
    tc_val team = team_function(g);
    LLVMTypeRef gomp_params[] = {g->ptr, g->ptr, g->i32, g->i32}, gomp = LLVMFunctionType(g->nothing, gomp_params, 4, 0);
    LLVMTypeRef none = LLVMFunctionType(g->i32, NULL, 0, 0), params[] = {g->ptr, g->i64, g->ptr, g->ptr};
    tc_val fork = LLVMAddFunction(g->mod, "GOMP_parallel", gomp), nested = LLVMAddFunction(g->mod, "omp_in_parallel", none);
    tc_val fn = function(g, name, g->i32, params, 4, true), p[4];
    LLVMGetParams(fn, p);
    tc_val data = LLVMBuildAlloca(g->b, LLVMArrayType2(g->i64, 3), "data");
    tc_val threads = LLVMBuildLoad2(g->b, g->i32, at_bytes(g, p[0], 4), "nthreads");
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
        LLVMBuildStore(g->b, p[i + 1], at_bytes(g, data, 8 * i));
    tc_val args[] = {team, data, threads, LLVMConstInt(g->i32, 0, 0)};
    LLVMBuildCall2(g->b, gomp, fork, args, 4, "");
    LLVMBuildRet(g->b, LLVMConstInt(g->i32, 0, 0));
    return close_unit(&u, TC_OK, obj, size, err);
}
