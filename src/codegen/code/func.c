/* Kernels as functions. A kernel becomes
 *
 *     SYMBOL(args, workspace, rt)        exported: loads the argument pointers and sizes, calls SYMBOL.body
 *     SYMBOL.body(p0, p1, ..., shared, threads, rt, n0, n1, ...)
 *     SYMBOL.parN(begin, end, thread, closure)   what parallel_for calls: loads the closure, calls SYMBOL.parN.body
 *     SYMBOL.parN.body(begin, end, p0, p1, ..., shared, thread's workspace, captured arrays, outer variables)
 *
 * Bodies take every pointer as a `noalias` parameter of known alignment, unless it may overlap: this tells LLVM that buffers are
 * distinct. Bodies are never inlined. The two functions without .body set the thread's rounding mode before they call the body, and
 * restore it afterwards; all arithmetic must happen in between. */
#include <stdio.h>
#include <string.h>

#include "codegen/code/code_int.h"

int64_t tc_cg_round64(int64_t n) {
    return (n + 63) & ~(int64_t)63;
}

int64_t tc_cg_workspace_bytes(const tc_func *f, int nthreads) {
    return tc_cg_round64(f->shared_bytes) + TC_MAX(nthreads, 1) * tc_cg_round64(f->thread_bytes);
}

/* ---- functions ---- */

static void attribute(tc_cg *g, tc_val fn, unsigned at, const char *name, uint64_t value) {
    unsigned kind = LLVMGetEnumAttributeKindForName(name, strlen(name));
    LLVMAddAttributeAtIndex(fn, at, LLVMCreateEnumAttribute(g->ctx, kind, value));
}

/* What does not fit into registers is spilled to whole lines of the stack. On x86 the ABI aligns it to 16 bytes, and once
 * registers are being allocated it is too late to align it better: spilled vectors would then lie across two lines by luck, which
 * costs up to three times a kernel's time. */
static void align_stack(tc_cg *g, tc_val fn) {
    if (g->target->machine.vector_bytes > 16)
        attribute(g, fn, LLVMAttributeFunctionIndex, "alignstack", (uint64_t)g->target->machine.vector_bytes);
}

tc_val tc_cg_new_function(tc_cg *g, const char *name, LLVMTypeRef ret, LLVMTypeRef *params, int n, bool exported) {
    tc_val fn = LLVMAddFunction(g->mod, name, LLVMFunctionType(ret, params, (unsigned)n, 0));
    if (!exported)
        LLVMSetLinkage(fn, LLVMInternalLinkage);
    attribute(g, fn, LLVMAttributeFunctionIndex, "nounwind", 0);
    align_stack(g, fn);
    tc_cg_fn_attrs(g->ctx, g->target, fn);
    return fn;
}

/* Facts about pointer parameter `at` of a body. `bytes` 0: the size is not known. */
void tc_cg_pointer_attributes(tc_cg *g, tc_val fn, int at, int64_t bytes, bool readonly, bool overlaps) {
    unsigned i = (unsigned)at + 1;
    if (!overlaps)
        attribute(g, fn, i, "noalias", 0);
    attribute(g, fn, i, "nocapture", 0);
    attribute(g, fn, i, "align", TC_RT_ALIGN);
    if (readonly)
        attribute(g, fn, i, "readonly", 0);
    if (bytes > 0)
        attribute(g, fn, i, "dereferenceable", (uint64_t)bytes);
}

void tc_cg_open_function(tc_cg *g, tc_val fn, const tc_stmt *s) {
    g->fn = fn;
    tc_cg_lines_function(g, fn, s);
    g->entry = LLVMAppendBasicBlockInContext(g->ctx, fn, "entry");
    LLVMPositionBuilderAtEnd(g->b, LLVMAppendBasicBlockInContext(g->ctx, fn, "start"));
}

void tc_cg_close_function(tc_cg *g, tc_val result) {
    if (result)
        LLVMBuildRet(g->b, result);
    else
        LLVMBuildRetVoid(g->b);
    LLVMBasicBlockRef start = LLVMGetNextBasicBlock(g->entry);
    LLVMPositionBuilderAtEnd(g->b, g->entry);
    LLVMBuildBr(g->b, start);
}

/* ---- small numbers ---- */

/* Intel's cores take a hundred cycles and more to make a number that is smaller than the smallest normal one, and as many again
 * each time one is read; they are what is left of exp and sigmoid far out, and of products with that. Such results become zero
 * while a kernel runs. Operands are read as they are: logarithms and conversions of f16 depend on it. The bit is the thread's
 * own, so each chunk of a parallel loop sets it. Arm's cores compute with such numbers at full speed. */
tc_val tc_cg_begin_flush(tc_cg *g) {
    enum { FLUSH_TO_ZERO = 1 << 15 };
    const tc_cg_isa *isa = tc_cg_isa_of(g->target->triple);
    if (!isa || isa->id != TC_CG_X86)
        return NULL;
    tc_val before = tc_cg_alloca(g, g->i32, 1, 4, "before"), now = tc_cg_alloca(g, g->i32, 1, 4, "flushing");
    tc_cg_intrinsic(g, "llvm.x86.sse.stmxcsr", NULL, 0, &before, 1);
    tc_val word = LLVMBuildLoad2(g->b, g->i32, before, "");
    LLVMBuildStore(g->b, LLVMBuildOr(g->b, word, LLVMConstInt(g->i32, FLUSH_TO_ZERO, 0), ""), now);
    tc_cg_intrinsic(g, "llvm.x86.sse.ldmxcsr", NULL, 0, &now, 1);
    return before;
}

void tc_cg_end_flush(tc_cg *g, tc_val before) {
    if (before)
        tc_cg_intrinsic(g, "llvm.x86.sse.ldmxcsr", NULL, 0, &before, 1);
}

/* ---- the kernel ---- */

static tc_val build_body(tc_cg *g) {
    int n = g->k->f->nparam, nsymbol = g->k->f->nsymbol;
    LLVMTypeRef params[TC_CG_MAX_ARGS];
    char name[256];
    for (int i = 0; i < n + 3 + nsymbol; i++)
        params[i] = i < n + 3 ? g->ptr : g->i64;
    snprintf(name, sizeof name, "%.200s.body", g->symbol);
    tc_cg_open_function(g, tc_cg_new_function(g, name, g->i32, params, n + 3 + nsymbol, false), NULL);
    tc_cg_add_params(g, 0);
    g->k->shared = LLVMGetParam(g->fn, (unsigned)n);
    tc_cg_pointer_attributes(g, g->fn, n, tc_cg_round64(g->k->f->shared_bytes), false, false);
    g->k->threads = g->k->thread = LLVMGetParam(g->fn, (unsigned)n + 1);
    tc_cg_pointer_attributes(g, g->fn, n + 1, tc_cg_round64(g->k->f->thread_bytes), false, false);
    g->k->rt = LLVMGetParam(g->fn, (unsigned)n + 2);
    for (int i = 0; i < nsymbol; i++)
        tc_cg_bind_symbol(g, g->k->f->symbols[i], LLVMGetParam(g->fn, (unsigned)(n + 3 + i)));
    tc_val fn = g->fn;
    tc_cg_stmt(g, g->k->f->body);
    tc_cg_release_tiles(g);
    tc_cg_close_function(g, LLVMConstInt(g->i32, 0, 0));
    return fn;
}

/* array[i] */
static tc_val nth(tc_cg *g, LLVMTypeRef type, tc_val array, int i) {
    tc_val k = tc_cg_i64(g, i);
    return LLVMBuildLoad2(g->b, type, LLVMBuildGEP2(g->b, type, array, &k, 1, ""), "");
}

static void build_kernel(tc_cg *g, const tc_func *f) {
    if (f->nparam + f->nsymbol > TC_CG_MAX_ARGS - 8) {
        tc_cg_fail(g, "has %d arguments; at most %d are supported", f->nparam + f->nsymbol, TC_CG_MAX_ARGS - 8);
        return;
    }
    tc_val body = build_body(g);
    LLVMTypeRef params[] = {g->ptr, g->ptr, g->ptr};
    tc_val args[TC_CG_MAX_ARGS];
    tc_cg_open_function(g, tc_cg_new_function(g, g->symbol, g->i32, params, 3, true), NULL);
    tc_cg_permit_tiles(g);
    for (int i = 0; i < f->nparam; i++)
        args[i] = nth(g, g->ptr, LLVMGetParam(g->fn, 0), i);
    tc_val sizes = f->nsymbol ? nth(g, g->ptr, LLVMGetParam(g->fn, 0), f->nparam) : NULL;
    for (int i = 0; i < f->nsymbol; i++)
        args[f->nparam + 3 + i] = nth(g, g->i64, sizes, i);
    tc_val off = tc_cg_i64(g, tc_cg_round64(f->shared_bytes));
    args[f->nparam] = LLVMGetParam(g->fn, 1);
    args[f->nparam + 1] = LLVMBuildGEP2(g->b, g->i8, LLVMGetParam(g->fn, 1), &off, 1, "");
    args[f->nparam + 2] = LLVMGetParam(g->fn, 2);
    tc_val before = tc_cg_begin_flush(g);
    tc_val status = LLVMBuildCall2(g->b, LLVMGlobalGetValueType(body), body, args, (unsigned)(f->nparam + 3 + f->nsymbol), "");
    tc_cg_end_flush(g, before);
    tc_cg_close_function(g, status);
}

void tc_cg_function(tc_cg *g, const tc_func *f, const tc_cg_text *text) {
    tc_cg_kernel k;
    tc_cg_kernel_init(&k, g, f);
    tc_cg_lines_open(g, f, text);
    build_kernel(g, f);
    tc_cg_lines_close(g);
    tc_cg_kernel_done(g);
}
