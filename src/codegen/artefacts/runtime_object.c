/* parallel_for as an object, for libraries that stand alone: runtime.c without tctune.
 *
 *   NAME(rt, n, body, closure): one thread runs all of it, or GOMP_parallel(team, ..., startable(rt.nthreads))
 *   startable(n): OpenMP's runtimes end the process if they cannot start a thread of a team. So before a thread first runs with a
 *                 larger team, it starts that many plain threads and ends them. The team is no larger than the number that started.
 *   constructor: __register_atfork(before_fork, NULL, NULL, &handle)      before_fork: omp_pause_resource_all(omp_pause_soft)
 *                dladdr(GOMP_parallel, &runtime), dlopen(runtime.file, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE)
 *   destructor:  __cxa_finalize(&handle)
 *
 * The handlers go with the library, whichever linker made it. Where libc has no such function, a child of fork has no team.
 *
 * OpenMP's threads wait in the code of its runtime for the next team, also when this library is closed. So the runtime's library
 * stays loaded. This library does not: a program may load another file of the same name. */
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

/* ---- threads that can be started ---- */

/* A variable of the unit: of each thread, or of all. */
static tc_val variable(tc_cg *g, const char *name, tc_val init, bool of_thread) {
    tc_val v = LLVMAddGlobal(g->mod, LLVMTypeOf(init), name);
    LLVMSetInitializer(v, init);
    LLVMSetLinkage(v, LLVMInternalLinkage);
    LLVMSetThreadLocal(v, of_thread);
    return v;
}

static tc_val i32(tc_cg *g, int v) {
    return LLVMConstInt(g->i32, (unsigned long long)(long long)v, 1);
}

/* Waits until all are started: void *wait_at_gate(void *gate) { lock it, unlock it } */
static tc_val gate_function(tc_cg *g) {
    tc_val fn = tc_cg_begin_function(g, "wait_at_gate", g->ptr, &g->ptr, 1, false), gate = LLVMGetParam(fn, 0);
    (void)tc_cg_call_named(g, "pthread_mutex_lock", g->i32, &gate, 1);
    (void)tc_cg_call_named(g, "pthread_mutex_unlock", g->i32, &gate, 1);
    LLVMBuildRet(g->b, LLVMConstNull(g->ptr));
    return fn;
}

/* A loop over i from 0 to below n, which ends early where the body says so. */
typedef struct loop {
    LLVMBasicBlockRef head, body, end;
    tc_val i, at;
} loop;

static loop begin_loop(tc_cg *g, tc_val fn, tc_val n) {
    loop l = {.head = LLVMAppendBasicBlockInContext(g->ctx, fn, "head"),
              .body = LLVMAppendBasicBlockInContext(g->ctx, fn, "body"),
              .end = LLVMAppendBasicBlockInContext(g->ctx, fn, "end")};
    l.at = LLVMBuildAlloca(g->b, g->i32, "i");
    LLVMBuildStore(g->b, i32(g, 0), l.at);
    LLVMBuildBr(g->b, l.head);
    LLVMPositionBuilderAtEnd(g->b, l.head);
    l.i = LLVMBuildLoad2(g->b, g->i32, l.at, "");
    LLVMBuildCondBr(g->b, LLVMBuildICmp(g->b, LLVMIntSLT, l.i, n, ""), l.body, l.end);
    LLVMPositionBuilderAtEnd(g->b, l.body);
    return l;
}

/* Where `goes_on` (NULL: always) the next step follows. Returns how many steps there were. */
static tc_val end_loop(tc_cg *g, tc_val fn, const loop *l, tc_val goes_on) {
    LLVMBasicBlockRef next = LLVMAppendBasicBlockInContext(g->ctx, fn, "next");
    if (goes_on)
        LLVMBuildCondBr(g->b, goes_on, next, l->end);
    else
        LLVMBuildBr(g->b, next);
    LLVMPositionBuilderAtEnd(g->b, next);
    LLVMBuildStore(g->b, LLVMBuildAdd(g->b, l->i, i32(g, 1), ""), l->at);
    LLVMBuildBr(g->b, l->head);
    LLVMPositionBuilderAtEnd(g->b, l->end);
    return LLVMBuildLoad2(g->b, g->i32, l->at, "");
}

/* pthread_t is as large as a pointer in every C library of Linux. */
static tc_val handle_at(tc_cg *g, tc_val handles, tc_val i) {
    return LLVMBuildGEP2(g->b, g->ptr, handles, &i, 1, "");
}

/* int try(int n): starts n - 1 threads, ends them, and returns how many threads there were with the calling one. */
static tc_val try_function(tc_cg *g) {
    enum {
        MUTEX_BYTES = 64 /* zeros are an open one */,
        UNTIL_GONE = 200 /* us: threads that were joined count for limits a little longer */
    };
    tc_val start = gate_function(g), none = LLVMConstNull(g->ptr);
    tc_val gate = variable(g, "gate", LLVMConstNull(LLVMArrayType2(g->i64, MUTEX_BYTES / 8)), false);
    tc_val fn = tc_cg_begin_function(g, "try_threads", g->i32, &g->i32, 1, false), n = LLVMGetParam(fn, 0);
    tc_val bytes = LLVMBuildMul(g->b, LLVMBuildSExt(g->b, n, g->i64, ""), tc_cg_i64(g, sizeof(void *)), "");
    tc_val handles = tc_cg_call_named(g, "malloc", g->ptr, &bytes, 1);
    tc_val others =
        LLVMBuildSelect(g->b, LLVMBuildIsNull(g->b, handles, ""), i32(g, 0), LLVMBuildSub(g->b, n, i32(g, 1), ""), "");
    (void)tc_cg_call_named(g, "pthread_mutex_lock", g->i32, &gate, 1);
    loop l = begin_loop(g, fn, others);
    tc_val args[] = {handle_at(g, handles, l.i), none, start, gate};
    tc_val failed = tc_cg_call_named(g, "pthread_create", g->i32, args, TC_LEN(args));
    tc_val started = end_loop(g, fn, &l, LLVMBuildICmp(g->b, LLVMIntEQ, failed, i32(g, 0), ""));
    (void)tc_cg_call_named(g, "pthread_mutex_unlock", g->i32, &gate, 1);
    l = begin_loop(g, fn, started);
    tc_val join[] = {LLVMBuildLoad2(g->b, g->ptr, handle_at(g, handles, l.i), ""), none};
    (void)tc_cg_call_named(g, "pthread_join", g->i32, join, TC_LEN(join));
    (void)end_loop(g, fn, &l, NULL);
    (void)tc_cg_call_named(g, "free", g->nothing, &handles, 1);
    tc_val pause = i32(g, UNTIL_GONE);
    (void)tc_cg_call_named(g, "usleep", g->i32, &pause, 1);
    LLVMBuildRet(g->b, LLVMBuildAdd(g->b, started, i32(g, 1), ""));
    return fn;
}

static tc_val smaller(tc_cg *g, tc_val a, tc_val b) {
    return LLVMBuildSelect(g->b, LLVMBuildICmp(g->b, LLVMIntSLT, a, b, ""), a, b, "");
}

/* int startable(int n): n, or as many threads as the calling thread's team can have. */
static tc_val startable_function(tc_cg *g) {
    /* The leak sanitizer of GCC 12 crashes where a library's thread-local storage begins 16 bytes into a page: it reads a header that
     * is not there. */
    enum { THREAD_LOCAL_ALIGN = 64 };
    tc_val trial = try_function(g);
    tc_val most = variable(g, "startable_threads", i32(g, 1), true),
           refused = variable(g, "refused_threads", i32(g, INT32_MAX), true);
    LLVMSetAlignment(most, THREAD_LOCAL_ALIGN);
    tc_val fn = tc_cg_begin_function(g, "startable", g->i32, &g->i32, 1, false), n = LLVMGetParam(fn, 0);
    LLVMBasicBlockRef unknown = LLVMAppendBasicBlockInContext(g->ctx, fn, "unknown"),
                      known = LLVMAppendBasicBlockInContext(g->ctx, fn, "known");
    tc_val more = LLVMBuildICmp(g->b, LLVMIntSGT, n, LLVMBuildLoad2(g->b, g->i32, most, ""), "");
    tc_val fewer = LLVMBuildICmp(g->b, LLVMIntSLT, n, LLVMBuildLoad2(g->b, g->i32, refused, ""), "");
    LLVMBuildCondBr(g->b, LLVMBuildAnd(g->b, more, fewer, ""), unknown, known);
    LLVMPositionBuilderAtEnd(g->b, unknown);
    tc_val got = LLVMBuildCall2(g->b, LLVMGlobalGetValueType(trial), trial, &n, 1, "got"),
           before = LLVMBuildLoad2(g->b, g->i32, most, "");
    tc_val larger = LLVMBuildICmp(g->b, LLVMIntSGT, got, before, "");
    LLVMBuildStore(g->b, LLVMBuildSelect(g->b, larger, got, before, ""), most);
    tc_val whole = LLVMBuildICmp(g->b, LLVMIntEQ, got, n, "");
    LLVMBuildStore(g->b, LLVMBuildSelect(g->b, whole, i32(g, INT32_MAX), n, ""), refused);
    LLVMBuildBr(g->b, known);
    LLVMPositionBuilderAtEnd(g->b, known);
    LLVMBuildRet(g->b, smaller(g, n, LLVMBuildLoad2(g->b, g->i32, most, "")));
    return fn;
}

/* ---- when the library is opened and closed ---- */

static tc_val gomp_parallel(tc_cg *g) {
    static const char NAME[] = "GOMP_parallel";
    LLVMTypeRef params[] = {g->ptr, g->ptr, g->i32, g->i32};
    tc_val fn = LLVMGetNamedFunction(g->mod, NAME);
    return fn ? fn : LLVMAddFunction(g->mod, NAME, LLVMFunctionType(g->nothing, params, TC_LEN(params), 0));
}

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

/* Keeps the library that GOMP_parallel is from. In a program that has OpenMP's runtime of its own there is nothing to keep. */
static tc_val keep_function(tc_cg *g) {
    enum { RTLD_LAZY_ = 1, RTLD_NOLOAD_ = 4, RTLD_NODELETE_ = 0x1000, DL_INFO = 4 };
    LLVMTypeRef two[] = {g->ptr, g->ptr}, open[] = {g->ptr, g->i32};
    tc_val where = weak(g, "dladdr", LLVMFunctionType(g->i32, two, 2, 0)),
           load = weak(g, "dlopen", LLVMFunctionType(g->ptr, open, 2, 0));
    tc_val fn = tc_cg_begin_function(g, "keep_runtime", g->nothing, NULL, 0, false);
    LLVMBasicBlockRef look = LLVMAppendBasicBlockInContext(g->ctx, fn, "look"),
                      keep = LLVMAppendBasicBlockInContext(g->ctx, fn, "keep"),
                      done = LLVMAppendBasicBlockInContext(g->ctx, fn, "done");
    tc_val info = LLVMBuildAlloca(g->b, LLVMArrayType2(g->ptr, DL_INFO), "info");
    tc_val missing = LLVMBuildOr(g->b, LLVMBuildIsNull(g->b, where, ""), LLVMBuildIsNull(g->b, load, ""), "");
    LLVMBuildCondBr(g->b, missing, done, look);
    LLVMPositionBuilderAtEnd(g->b, look);
    tc_val args[] = {gomp_parallel(g), info};
    tc_val found = LLVMBuildCall2(g->b, LLVMGlobalGetValueType(where), where, args, 2, "");
    LLVMBuildCondBr(g->b, LLVMBuildICmp(g->b, LLVMIntEQ, found, i32(g, 0), ""), done, keep);
    LLVMPositionBuilderAtEnd(g->b, keep);
    tc_val file[] = {LLVMBuildLoad2(g->b, g->ptr, info, "file"), i32(g, RTLD_LAZY_ | RTLD_NOLOAD_ | RTLD_NODELETE_)};
    LLVMBuildCall2(g->b, LLVMGlobalGetValueType(load), load, file, 2, "");
    LLVMBuildBr(g->b, done);
    LLVMPositionBuilderAtEnd(g->b, done);
    LLVMBuildRetVoid(g->b);
    return fn;
}

/* A function that calls both. */
static tc_val in_turn(tc_cg *g, const char *name, tc_val first, tc_val second) {
    tc_val fn = tc_cg_begin_function(g, name, g->nothing, NULL, 0, false);
    LLVMBuildCall2(g->b, LLVMGlobalGetValueType(first), first, NULL, 0, "");
    LLVMBuildCall2(g->b, LLVMGlobalGetValueType(second), second, NULL, 0, "");
    LLVMBuildRetVoid(g->b);
    return fn;
}

static void build_opening(tc_cg *g) {
    LLVMTypeRef params[] = {g->ptr, g->ptr, g->ptr, g->ptr};
    tc_val enter = weak(g, "__register_atfork", LLVMFunctionType(g->i32, params, 4, 0)),
           remove = weak(g, "__cxa_finalize", LLVMFunctionType(g->nothing, params, 1, 0));
    tc_val handle = LLVMAddGlobal(g->mod, g->i8, "handle"), none = LLVMConstNull(g->ptr);
    LLVMSetInitializer(handle, LLVMConstInt(g->i8, 0, 0));
    LLVMSetLinkage(handle, LLVMInternalLinkage);
    tc_val args[] = {before_fork(g), none, none, handle};
    tc_val watch = guarded(g, "watch_forks", enter, args, TC_LEN(args));
    run_at(g, "llvm.global_ctors", in_turn(g, "opened", watch, keep_function(g)));
    run_at(g, "llvm.global_dtors", guarded(g, "closed", remove, &handle, 1));
}

tc_status tc_cg_emit_runtime(const tc_target *t, const char *name, void **obj, size_t *size, int64_t *stack, tc_error *err) {
    tc_cg unit, *g = &unit;
    TC_TRY(tc_cg_open_unit(g, t, name, err));
    build_opening(g);
    tc_val team = team_function(g), can_start = startable_function(g);
    LLVMTypeRef none = LLVMFunctionType(g->i32, NULL, 0, 0), params[] = {g->ptr, g->i64, g->ptr, g->ptr};
    tc_val fork = gomp_parallel(g), nested = LLVMAddFunction(g->mod, "omp_in_parallel", none);
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
    tc_val members = LLVMBuildCall2(g->b, LLVMGlobalGetValueType(can_start), can_start, &threads, 1, "members");
    tc_val args[] = {team, data, members, LLVMConstInt(g->i32, 0, 0)};
    LLVMBuildCall2(g->b, LLVMGlobalGetValueType(fork), fork, args, 4, "");
    LLVMBuildRet(g->b, LLVMConstInt(g->i32, 0, 0));
    return tc_cg_close_unit(g, obj, size, stack);
}
