/* The entry points of a library that stands alone: what C programs call. A context is one piece of memory, in which the arena lies
 * behind the head, and behind that copies of what callers did not align.
 *
 *   Every entry point first returns where the CPU lacks something (cpu.c).
 *
 *   NAME_context_run(context, inputs, outputs):
 *     return -1 where the context is NULL
 *     where a profile is wanted and nobody watches the context: return tc_profile_run(..., this function), which watches it
 *     return -2 unless the sizes among the inputs are what they must be, -3 unless inputs that are outputs too are the same
 *       aligned arrays
 *     in[i], out[i] = aligned pointers; copies in the context stand in for those that are not
 *     rt = {abi, min(context.threads, built for), context.parallel_for or RUNTIME, context.impl}
 *     status = DRIVER(in, out, arena, CONSTANTS, &rt, context)
 *     copies of outputs go home
 *
 *   NAME_run(inputs, outputs):
 *     mine = exchange(busy, 1) == 0
 *     context = mine ? pool : NAME_context_new()        a second thread at the same time gets one of its own
 *     status = NAME_context_run(context, inputs, outputs)
 *     the context is given back */
#include <stdio.h>
#include <stdlib.h>

#include "codegen/artefacts/artefacts_int.h"
#include "codegen/artefacts/library.h"
#include "support/vec.h"

enum { HUGE_PAGE = 2 << 20, HEAD = TC_RT_ALIGN };
_Static_assert(sizeof(tc_cg_context) <= HEAD, "the arena begins behind it");

typedef struct entry {
    tc_cg *g;
    const tc_cg_entry *e;
    int64_t stage_at, total, align; /* bytes: where copies start, size of a context, what it is aligned to */
    tc_val create, release, run;    /* functions of contexts */
    tc_cg_cpu_check cpu;
    tc_val fn, context, inputs, outputs, in, out;
} entry;

static int64_t rounded(int64_t v) {
    return (v + TC_RT_ALIGN - 1) / TC_RT_ALIGN * TC_RT_ALIGN;
}

/* Bytes of its copy. */
static int64_t staged(const tc_cg_array *a) {
    return a->shared ? 0 : rounded(a->most);
}

static tc_val element(tc_cg *g, tc_val array, int i) {
    return tc_cg_at_bytes(g, array, 8 * (int64_t)i);
}

static tc_val i32(tc_cg *g, int v) {
    return LLVMConstInt(g->i32, (unsigned long long)(long long)v, 1);
}

static LLVMBasicBlockRef block(entry *x, const char *name) {
    return LLVMAppendBasicBlockInContext(x->g->ctx, x->fn, name);
}

static tc_val global(tc_cg *g, LLVMTypeRef type, const char *name, tc_val init, int align, bool exported) {
    tc_val v = LLVMAddGlobal(g->mod, type, name);
    LLVMSetInitializer(v, init);
    LLVMSetAlignment(v, (unsigned)align);
    if (!exported)
        LLVMSetLinkage(v, LLVMInternalLinkage);
    return v;
}

static tc_val external(tc_cg *g, const char *name, LLVMTypeRef type) {
    tc_val fn = LLVMGetNamedFunction(g->mod, name);
    return fn ? fn : LLVMAddFunction(g->mod, name, type);
}

static bool is_large(const entry *x) {
    return x->align == HUGE_PAGE;
}

/* Before memory is first touched: with pages of 4 KiB it depends on luck which of its lines share the sets of a cache. A wish:
 * failing changes nothing. */
static void ask_for_huge_pages(entry *x, tc_val memory) {
    tc_cg *g = x->g;
    enum { MADV_HUGEPAGE_ = 14 };
    LLVMTypeRef params[] = {g->ptr, g->i64, g->i32}, type = LLVMFunctionType(g->i32, params, 3, 0);
    tc_val args[] = {memory, tc_cg_i64(g, x->total), i32(g, MADV_HUGEPAGE_)};
    LLVMBuildCall2(g->b, type, external(g, "madvise", type), args, 3, "");
}

static tc_val begin(entry *x, const char *what, LLVMTypeRef result, int nparam) {
    LLVMTypeRef params[] = {x->g->ptr, x->g->ptr, x->g->ptr};
    char name[512];
    snprintf(name, sizeof name, "%s_%s", x->e->name, what);
    return x->fn = tc_cg_begin_function(x->g, name, result, params, nparam, true);
}

/* The variable that callers may lower. */
static tc_val threads(entry *x) {
    tc_cg *g = x->g;
    char name[512];
    snprintf(name, sizeof name, "%s_threads", x->e->name);
    tc_val v = LLVMGetNamedGlobal(g->mod, name);
    return v ? v : global(g, g->i32, name, i32(g, x->e->nthreads), 4, true);
}

static tc_val threads_of(entry *x, tc_val context) {
    return tc_cg_at_bytes(x->g, context, (int64_t)offsetof(tc_cg_context, threads));
}

static void set_threads(entry *x, tc_val context) {
    tc_cg *g = x->g;
    LLVMBuildStore(g->b, LLVMBuildLoad2(g->b, g->i32, threads(x), ""), threads_of(x, context));
}

static void build_new(entry *x) {
    tc_cg *g = x->g;
    LLVMTypeRef params[] = {g->i64, g->i64}, type = LLVMFunctionType(g->ptr, params, 2, 0);
    x->create = begin(x, "context_new", g->ptr, 0);
    tc_cg_check_cpu(g, &x->cpu, LLVMConstNull(g->ptr));
    tc_val size[] = {tc_cg_i64(g, x->align), tc_cg_i64(g, x->total)};
    tc_val c = LLVMBuildCall2(g->b, type, external(g, "aligned_alloc", type), size, 2, "context");
    LLVMBasicBlockRef none = block(x, "none"), some = block(x, "some");
    LLVMBuildCondBr(g->b, LLVMBuildIsNull(g->b, c, ""), none, some);
    LLVMPositionBuilderAtEnd(g->b, some);
    if (is_large(x))
        ask_for_huge_pages(x, c);
    LLVMBuildMemSet(g->b, c, LLVMConstInt(g->i8, 0, 0), tc_cg_i64(g, HEAD), HEAD);
    set_threads(x, c);
    LLVMBuildBr(g->b, none);
    LLVMPositionBuilderAtEnd(g->b, none);
    LLVMBuildRet(g->b, c);
}

static void build_free(entry *x) {
    tc_cg *g = x->g;
    LLVMTypeRef type = LLVMFunctionType(g->nothing, &g->ptr, 1, 0);
    x->release = begin(x, "context_free", g->nothing, 1);
    tc_val c = LLVMGetParam(x->fn, 0);
    LLVMBuildCall2(g->b, type, external(g, "free", type), &c, 1, "");
    LLVMBuildRetVoid(g->b);
}

static tc_val misaligned(tc_cg *g, tc_val p) {
    tc_val low = LLVMBuildAnd(g->b, LLVMBuildPtrToInt(g->b, p, g->i64, ""), tc_cg_i64(g, TC_RT_ALIGN - 1), "");
    return LLVMBuildICmp(g->b, LLVMIntNE, low, tc_cg_i64(g, 0), "");
}

static tc_val pointer_at(tc_cg *g, tc_val array, int i) {
    return LLVMBuildLoad2(g->b, g->ptr, element(g, array, i), "");
}

static tc_val size_at(tc_cg *g, tc_val array, int i) {
    return LLVMBuildLoad2(g->b, g->i64, pointer_at(g, array, i), "size");
}

/* Bytes of an array in this run, whose sizes are in `list`. */
static tc_val bytes_of(entry *x, const tc_cg_array *a, tc_val list) {
    tc_cg *g = x->g;
    tc_val bytes = tc_cg_i64(g, a->each);
    for (int i = 0; i < a->nsize; i++)
        bytes = LLVMBuildMul(g->b, bytes, size_at(g, list, a->size[i]), "");
    return bytes;
}

/* if (cond) memcpy(to, from, bytes) */
static void copy_if(entry *x, tc_val cond, tc_val to, tc_val from, const tc_cg_array *a, tc_val list) {
    tc_cg *g = x->g;
    LLVMBasicBlockRef copy = block(x, "copy"), next = block(x, "next");
    LLVMBuildCondBr(g->b, cond, copy, next);
    LLVMPositionBuilderAtEnd(g->b, copy);
    LLVMBuildMemCpy(g->b, to, 1, from, 1, bytes_of(x, a, list));
    LLVMBuildBr(g->b, next);
    LLVMPositionBuilderAtEnd(g->b, next);
}

/* table[i] = aligned ? theirs[i] : stage; inputs are copied there. */
static void align_pointers(entry *x, tc_val theirs, tc_val table, int n, const tc_cg_array *array, bool input) {
    tc_cg *g = x->g;
    for (int i = 0; i < n; i++) {
        if (array[i].shared) {
            LLVMBuildStore(g->b, pointer_at(g, theirs, i), element(g, table, i));
            continue;
        }
        tc_val p = pointer_at(g, theirs, i), stage = tc_cg_at_bytes(g, x->context, x->stage_at), bad = misaligned(g, p);
        if (input)
            copy_if(x, bad, stage, p, &array[i], theirs);
        LLVMBuildStore(g->b, LLVMBuildSelect(g->b, bad, stage, p, ""), element(g, table, i));
        x->stage_at += staged(&array[i]);
    }
}

static void return_outputs(entry *x) {
    tc_cg *g = x->g;
    for (int i = 0; i < x->e->nout; i++) {
        if (x->e->out[i].shared)
            continue;
        tc_val theirs = pointer_at(g, x->outputs, i), ours = pointer_at(g, x->out, i);
        copy_if(x, LLVMBuildICmp(g->b, LLVMIntNE, theirs, ours, ""), theirs, ours, &x->e->out[i], x->out);
    }
}

/* More threads than the arena has workspace for are not used. */
static tc_val thread_count(entry *x) {
    tc_cg *g = x->g;
    tc_val n = LLVMBuildLoad2(g->b, g->i32, threads_of(x, x->context), ""), most = i32(g, x->e->nthreads), one = i32(g, 1);
    n = LLVMBuildSelect(g->b, LLVMBuildICmp(g->b, LLVMIntSGT, n, most, ""), most, n, "");
    return LLVMBuildSelect(g->b, LLVMBuildICmp(g->b, LLVMIntSLT, n, one, ""), one, n, "");
}

static tc_val pointer_in_context(entry *x, size_t at) {
    return LLVMBuildLoad2(x->g->b, x->g->ptr, tc_cg_at_bytes(x->g, x->context, (int64_t)at), "");
}

static tc_val symbol(tc_cg *g, const char *name) {
    return name ? LLVMAddGlobal(g->mod, g->i8, name) : LLVMConstNull(g->ptr);
}

/* parallel_for of its runs. */
static tc_val runtime_of(entry *x) {
    tc_cg *g = x->g;
    tc_val theirs = pointer_in_context(x, offsetof(tc_cg_context, parallel_for));
    return LLVMBuildSelect(g->b, LLVMBuildIsNull(g->b, theirs, ""), symbol(g, x->e->runtime), theirs, "");
}

static tc_val call_driver(entry *x) {
    tc_cg *g = x->g;
    LLVMTypeRef params[] = {g->ptr, g->ptr, g->ptr, g->ptr, g->ptr, g->ptr};
    LLVMTypeRef type = LLVMFunctionType(g->i32, params, TC_LEN(params), 0);
    tc_val rt = tc_cg_alloca(g, g->i64, 3, 8, "rt"); /* tc_rt: two i32, two pointers */
    LLVMBuildStore(g->b, i32(g, TC_RT_ABI), rt);
    LLVMBuildStore(g->b, thread_count(x), tc_cg_at_bytes(g, rt, 4));
    LLVMBuildStore(g->b, runtime_of(x), tc_cg_at_bytes(g, rt, 8));
    LLVMBuildStore(g->b, pointer_in_context(x, offsetof(tc_cg_context, impl)), tc_cg_at_bytes(g, rt, 16));
    tc_val arena = tc_cg_at_bytes(g, x->context, HEAD),
           args[] = {x->in, x->out, arena, symbol(g, x->e->constants), rt, x->context};
    return LLVMBuildCall2(g->b, type, external(g, x->e->driver, type), args, TC_LEN(args), "status");
}

/* Whether v is out of the range. */
static tc_val beyond(tc_cg *g, tc_val v, int64_t least, int64_t most) {
    return LLVMBuildOr(g->b, LLVMBuildICmp(g->b, LLVMIntSLT, v, tc_cg_i64(g, least), ""),
                       LLVMBuildICmp(g->b, LLVMIntSGT, v, tc_cg_i64(g, most), ""), "");
}

static void return_if(entry *x, tc_val cond, int status) {
    tc_cg *g = x->g;
    LLVMBasicBlockRef refuse = block(x, "refuse"), go = block(x, "go");
    LLVMBuildCondBr(g->b, cond, refuse, go);
    LLVMPositionBuilderAtEnd(g->b, refuse);
    LLVMBuildRet(g->b, i32(g, status));
    LLVMPositionBuilderAtEnd(g->b, go);
}

/* Returns from the function where an input is not the output that it must be, or kernels could not use it where it lies. */
static void check_shared(entry *x) {
    tc_cg *g = x->g;
    for (int i = 0; i < x->e->nin; i++) {
        int output = x->e->in[i].shared - 1;
        if (output < 0)
            continue;
        tc_val p = pointer_at(g, x->inputs, i);
        tc_val other = LLVMBuildICmp(g->b, LLVMIntNE, p, pointer_at(g, x->outputs, output), "");
        return_if(x, LLVMBuildOr(g->b, other, misaligned(g, p), ""), TC_CG_OTHER_BUFFERS);
    }
}

static tc_val false_of(tc_cg *g) {
    return LLVMConstInt(LLVMInt1TypeInContext(g->ctx), 0, 0);
}

/* Returns where a size is out of its range; units[]: how many times its multiple each is. */
static void check_ranges(entry *x, tc_val *units) {
    tc_cg *g = x->g;
    const tc_cg_size_checks *c = &x->e->sizes;
    tc_val bad = false_of(g);
    for (int k = 0; k < c->nsize; k++) {
        tc_val size = size_at(g, x->inputs, c->first + k), multiple = tc_cg_i64(g, c->range[k].multiple);
        units[k] = LLVMBuildSDiv(g->b, size, multiple, "");
        tc_val again = LLVMBuildMul(g->b, units[k], multiple, "");
        bad = LLVMBuildOr(g->b, bad, LLVMBuildICmp(g->b, LLVMIntNE, again, size, ""), "");
        bad = LLVMBuildOr(g->b, bad, beyond(g, size, c->range[k].least, c->range[k].most), "");
    }
    return_if(x, bad, TC_CG_WRONG_SIZES);
}

static tc_val smaller(tc_cg *g, tc_val a, tc_val b, LLVMIntPredicate less) {
    return LLVMBuildSelect(g->b, LLVMBuildICmp(g->b, less, a, b, ""), a, b, "");
}

/* The quotient of a and b, rounded down, or what is left; *bad: also where b is not above 0, and the result any. */
static tc_val divided(tc_cg *g, tc_val a, tc_val b, bool rest, tc_val *bad) {
    tc_val zero = tc_cg_i64(g, 0), one = tc_cg_i64(g, 1), wrong = LLVMBuildICmp(g->b, LLVMIntSLT, b, one, "");
    *bad = LLVMBuildOr(g->b, *bad, wrong, "");
    b = LLVMBuildSelect(g->b, wrong, one, b, "");
    tc_val left = LLVMBuildSRem(g->b, a, b, ""), below = LLVMBuildICmp(g->b, LLVMIntSLT, left, zero, "");
    if (rest)
        return LLVMBuildAdd(g->b, left, LLVMBuildSelect(g->b, below, b, zero, ""), "");
    return LLVMBuildSub(g->b, LLVMBuildSDiv(g->b, a, b, ""), LLVMBuildSelect(g->b, below, one, zero, ""), "");
}

static tc_val operation(tc_cg *g, tc_formula_op op, tc_val a, tc_val b, tc_val *bad) {
    switch (op) {
    case TC_FORMULA_NUMBER:
    case TC_FORMULA_SIZE:
        break;
    case TC_FORMULA_ADD:
        return LLVMBuildAdd(g->b, a, b, "");
    case TC_FORMULA_SUB:
        return LLVMBuildSub(g->b, a, b, "");
    case TC_FORMULA_MUL:
        return LLVMBuildMul(g->b, a, b, "");
    case TC_FORMULA_DIV:
    case TC_FORMULA_MOD:
        return divided(g, a, b, op == TC_FORMULA_MOD, bad);
    case TC_FORMULA_MIN:
        return smaller(g, a, b, LLVMIntSLT);
    case TC_FORMULA_MAX:
        return smaller(g, a, b, LLVMIntSGT);
    }
    return a;
}

static tc_val value_of(tc_cg *g, const tc_formula *f, const tc_val *units, tc_val *bad) {
    tc_val stack[TC_FORMULA_STACK + 1] = {0};
    int top = 0;
    for (int i = 0; i < f->n; i++) {
        const tc_formula_step *s = &f->steps[i];
        if (s->op == TC_FORMULA_NUMBER)
            stack[top++] = tc_cg_i64(g, s->arg);
        else if (s->op == TC_FORMULA_SIZE)
            stack[top++] = units[s->arg];
        else
            top--, stack[top - 1] = operation(g, s->op, stack[top - 1], stack[top], bad);
    }
    return stack[0];
}

/* Returns from the function where a size is not what it must be. */
static void check_sizes(entry *x) {
    tc_cg *g = x->g;
    const tc_cg_size_checks *c = &x->e->sizes;
    if (!c->nsize)
        return;
    tc_val *units = tc_xcalloc((size_t)c->nsize, sizeof *units), bad = false_of(g);
    check_ranges(x, units);
    for (int i = 0; i < c->ncheck; i++) {
        tc_val v = value_of(g, &c->check[i].formula, units, &bad);
        bad = LLVMBuildOr(g->b, bad, beyond(g, v, c->check[i].least, c->check[i].most), "");
    }
    free(units);
    if (c->ncheck)
        return_if(x, bad, TC_CG_WRONG_SIZES);
}

static tc_val hidden(tc_val v) {
    LLVMSetVisibility(v, LLVMHiddenVisibility);
    return v;
}

/* Unless it is wanted this is a load and a branch. */
static void hand_to_profile(entry *x) {
    tc_cg *g = x->g;
    if (!x->e->profile)
        return;
    LLVMBasicBlockRef wanted = block(x, "wanted"), watch = block(x, "watch"), plain = block(x, "plain");
    tc_val flag = LLVMBuildLoad2(g->b, g->i32, hidden(LLVMAddGlobal(g->mod, g->i32, "tc_profile_wanted")), "");
    LLVMBuildCondBr(g->b, LLVMBuildICmp(g->b, LLVMIntEQ, flag, i32(g, 0), ""), plain, wanted);
    LLVMPositionBuilderAtEnd(g->b, wanted);
    tc_val step = pointer_in_context(x, offsetof(tc_cg_context, step));
    LLVMBuildCondBr(g->b, LLVMBuildIsNull(g->b, step, ""), watch, plain);
    LLVMPositionBuilderAtEnd(g->b, watch);
    LLVMTypeRef params[] = {g->ptr, g->ptr, g->ptr, g->ptr, g->ptr}, type = LLVMFunctionType(g->i32, params, 5, 0);
    tc_val args[] = {tc_cg_profile_table(g, x->e->profile), x->context, x->inputs, x->outputs, x->fn};
    LLVMBuildRet(g->b, LLVMBuildCall2(g->b, type, hidden(external(g, "tc_profile_run", type)), args, 5, ""));
    LLVMPositionBuilderAtEnd(g->b, plain);
}

static void build_context_run(entry *x) {
    tc_cg *g = x->g;
    x->run = begin(x, "context_run", g->i32, 3);
    x->context = LLVMGetParam(x->fn, 0);
    x->inputs = LLVMGetParam(x->fn, 1);
    x->outputs = LLVMGetParam(x->fn, 2);
    tc_cg_check_cpu(g, &x->cpu, i32(g, TC_CG_OTHER_CPU));
    return_if(x, LLVMBuildIsNull(g->b, x->context, ""), TC_CG_NO_MEMORY);
    hand_to_profile(x);
    check_sizes(x);
    check_shared(x);
    x->in = tc_cg_alloca(g, g->ptr, TC_MAX(x->e->nin, 1), 8, "in");
    x->out = tc_cg_alloca(g, g->ptr, TC_MAX(x->e->nout, 1), 8, "out");
    align_pointers(x, x->inputs, x->in, x->e->nin, x->e->in, true);
    align_pointers(x, x->outputs, x->out, x->e->nout, x->e->out, false);
    tc_val status = call_driver(x);
    return_outputs(x);
    LLVMBuildRet(g->b, status);
}

/* The pool asks for huge pages once. */
static void prepare_pool(entry *x, tc_val pool) {
    tc_cg *g = x->g;
    tc_val asked = global(g, g->i32, "asked", i32(g, 0), 4, false);
    LLVMBasicBlockRef ask = block(x, "ask"), next = block(x, "asked");
    tc_val is = LLVMBuildLoad2(g->b, g->i32, asked, "");
    LLVMBuildCondBr(g->b, LLVMBuildICmp(g->b, LLVMIntEQ, is, i32(g, 0), "first"), ask, next);
    LLVMPositionBuilderAtEnd(g->b, ask);
    LLVMBuildStore(g->b, i32(g, 1), asked);
    ask_for_huge_pages(x, pool);
    LLVMBuildBr(g->b, next);
    LLVMPositionBuilderAtEnd(g->b, next);
}

static tc_val run_in(entry *x, tc_val context) {
    tc_val args[] = {context, LLVMGetParam(x->fn, 0), LLVMGetParam(x->fn, 1)};
    return LLVMBuildCall2(x->g->b, LLVMGlobalGetValueType(x->run), x->run, args, 3, "status");
}

static void build_run(entry *x) {
    tc_cg *g = x->g;
    LLVMTypeRef bytes = LLVMArrayType2(g->i8, (uint64_t)x->total);
    tc_val pool = global(g, bytes, "pool", LLVMConstNull(bytes), (int)x->align, false),
           busy = global(g, g->i32, "busy", i32(g, 0), 4, false);
    begin(x, "run", g->i32, 2);
    tc_cg_check_cpu(g, &x->cpu, i32(g, TC_CG_OTHER_CPU)); /* an exchange may be an instruction that it has not */
    LLVMBasicBlockRef ours = block(x, "ours"), other = block(x, "other"), some = block(x, "some"), none = block(x, "none");
    tc_val old = LLVMBuildAtomicRMW(g->b, LLVMAtomicRMWBinOpXchg, busy, i32(g, 1), LLVMAtomicOrderingAcquireRelease, 0);
    LLVMBuildCondBr(g->b, LLVMBuildICmp(g->b, LLVMIntEQ, old, i32(g, 0), "mine"), ours, other);
    LLVMPositionBuilderAtEnd(g->b, ours);
    if (is_large(x))
        prepare_pool(x, pool);
    set_threads(x, pool);
    tc_val status = run_in(x, pool), freed = LLVMBuildStore(g->b, i32(g, 0), busy);
    LLVMSetOrdering(freed, LLVMAtomicOrderingRelease);
    LLVMSetAlignment(freed, 4);
    LLVMBuildRet(g->b, status);
    LLVMPositionBuilderAtEnd(g->b, other);
    tc_val context = LLVMBuildCall2(g->b, LLVMGlobalGetValueType(x->create), x->create, NULL, 0, "context");
    LLVMBuildCondBr(g->b, LLVMBuildIsNull(g->b, context, ""), none, some);
    LLVMPositionBuilderAtEnd(g->b, some);
    status = run_in(x, context);
    LLVMBuildCall2(g->b, LLVMGlobalGetValueType(x->release), x->release, &context, 1, "");
    LLVMBuildRet(g->b, status);
    LLVMPositionBuilderAtEnd(g->b, none);
    LLVMBuildRet(g->b, i32(g, TC_CG_NO_MEMORY));
}

int64_t tc_cg_context_bytes(const tc_cg_entry *e) {
    int64_t total = HEAD + rounded(e->arena_bytes);
    for (int i = 0; i < e->nin; i++)
        total += staged(&e->in[i]);
    for (int i = 0; i < e->nout; i++)
        total += staged(&e->out[i]);
    int64_t align = total >= HUGE_PAGE / 4 ? HUGE_PAGE : TC_RT_ALIGN;
    return (total + align - 1) / align * align;
}

static void sizes(entry *x) {
    x->stage_at = HEAD + rounded(x->e->arena_bytes);
    x->total = tc_cg_context_bytes(x->e);
    x->align = x->total >= HUGE_PAGE ? HUGE_PAGE : TC_RT_ALIGN;
}

tc_status tc_cg_emit_entry(const tc_target *t, const tc_cg_entry *e, void **obj, size_t *size, int64_t *stack, tc_error *err) {
    tc_cg unit, *g = &unit;
    TC_TRY(tc_cg_open_unit(g, t, e->name, err));
    entry x = {.g = g, .e = e};
    sizes(&x);
    g->status = tc_cg_begin_cpu_check(g, &x.cpu, err);
    build_new(&x);
    build_free(&x);
    build_context_run(&x);
    build_run(&x);
    return tc_cg_close_unit(g, obj, size, stack);
}
