/* The entry point of a library that stands alone: what C programs call. It owns the arena, aligns what is not, and calls the
 * driver.
 *
 *   NAME(inputs, outputs):
 *     mine = exchange(busy, 1) == 0
 *     arena = mine ? pool : aligned_alloc(64, size)        a second thread at the same time gets memory of its own
 *     in[i], out[i] = aligned pointers; copies in the arena stand in for those that are not
 *     rt = {abi, min(THREADS, built for), RUNTIME}
 *     status = DRIVER(in, out, arena, CONSTANTS, &rt)
 *     copies of outputs go home; the arena is given back */
#include <string.h>

#include "codegen/artefacts/artefacts_int.h"
#include "codegen/artefacts/library.h"
#include "support/vec.h"

enum { HUGE_PAGE = 2 << 20 };

typedef struct entry {
    tc_cg *g;
    const tc_cg_entry *e;
    int64_t stage_at, total; /* bytes: where copies start, size of the whole */
    tc_val fn, inputs, outputs, arena, in, out;
} entry;

static int64_t rounded(int64_t v) {
    return (v + TC_RT_ALIGN - 1) / TC_RT_ALIGN * TC_RT_ALIGN;
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

/* Once, before the pool is first touched: with pages of 4 KiB it depends on luck which of its lines share the sets of a cache. A
 * wish: failing changes nothing. */
static void ask_for_huge_pages(entry *x, tc_val pool, int64_t size) {
    tc_cg *g = x->g;
    enum { MADV_HUGEPAGE_ = 14 };
    LLVMTypeRef params[] = {g->ptr, g->i64, g->i32}, type = LLVMFunctionType(g->i32, params, 3, 0);
    tc_val asked = global(g, g->i32, "asked", i32(g, 0), 4, false);
    tc_val old = LLVMBuildAtomicRMW(g->b, LLVMAtomicRMWBinOpXchg, asked, i32(g, 1), LLVMAtomicOrderingAcquireRelease, 0);
    LLVMBasicBlockRef ask = block(x, "ask"), next = block(x, "asked");
    LLVMBuildCondBr(g->b, LLVMBuildICmp(g->b, LLVMIntEQ, old, i32(g, 0), "first"), ask, next);
    LLVMPositionBuilderAtEnd(g->b, ask);
    tc_val args[] = {pool, tc_cg_i64(g, size), i32(g, MADV_HUGEPAGE_)};
    LLVMBuildCall2(g->b, type, LLVMAddFunction(g->mod, "madvise", type), args, 3, "");
    LLVMBuildBr(g->b, next);
    LLVMPositionBuilderAtEnd(g->b, next);
}

/* The static pool when nobody holds it, else fresh memory. Returns with -1 when there is none. *busy is the pool's flag. */
static tc_val take_arena(entry *x, tc_val *busy, tc_val *mine) {
    tc_cg *g = x->g;
    bool large = x->total >= HUGE_PAGE / 4;
    int64_t size_of_pool = large ? (x->total + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE : x->total;
    LLVMTypeRef bytes = LLVMArrayType2(g->i8, (uint64_t)size_of_pool), params[] = {g->i64, g->i64};
    tc_val pool = global(g, bytes, "pool", LLVMConstNull(bytes), large ? HUGE_PAGE : TC_RT_ALIGN, false);
    if (large)
        ask_for_huge_pages(x, pool, size_of_pool);
    *busy = global(g, g->i32, "busy", i32(g, 0), 4, false);
    tc_val old = LLVMBuildAtomicRMW(g->b, LLVMAtomicRMWBinOpXchg, *busy, i32(g, 1), LLVMAtomicOrderingAcquireRelease, 0);
    *mine = LLVMBuildICmp(g->b, LLVMIntEQ, old, i32(g, 0), "mine");
    LLVMBasicBlockRef from = LLVMGetInsertBlock(g->b), other = block(x, "other"), none = block(x, "none"), go = block(x, "go");
    LLVMBuildCondBr(g->b, *mine, go, other);
    LLVMPositionBuilderAtEnd(g->b, other);
    LLVMTypeRef type = LLVMFunctionType(g->ptr, params, 2, 0);
    tc_val size[] = {tc_cg_i64(g, TC_RT_ALIGN), tc_cg_i64(g, x->total)};
    tc_val fresh = LLVMBuildCall2(g->b, type, LLVMAddFunction(g->mod, "aligned_alloc", type), size, 2, "fresh");
    LLVMBuildCondBr(g->b, LLVMBuildIsNull(g->b, fresh, ""), none, go);
    LLVMPositionBuilderAtEnd(g->b, none);
    LLVMBuildRet(g->b, i32(g, -1));
    LLVMPositionBuilderAtEnd(g->b, go);
    tc_val phi = LLVMBuildPhi(g->b, g->ptr, "arena"), values[] = {pool, fresh};
    LLVMBasicBlockRef blocks[] = {from, other};
    LLVMAddIncoming(phi, values, blocks, 2);
    return phi;
}

static tc_val misaligned(tc_cg *g, tc_val p) {
    tc_val low = LLVMBuildAnd(g->b, LLVMBuildPtrToInt(g->b, p, g->i64, ""), tc_cg_i64(g, TC_RT_ALIGN - 1), "");
    return LLVMBuildICmp(g->b, LLVMIntNE, low, tc_cg_i64(g, 0), "");
}

/* if (cond) memcpy(to, from, bytes) */
static void copy_if(entry *x, tc_val cond, tc_val to, tc_val from, int64_t bytes) {
    tc_cg *g = x->g;
    LLVMBasicBlockRef copy = block(x, "copy"), next = block(x, "next");
    LLVMBuildCondBr(g->b, cond, copy, next);
    LLVMPositionBuilderAtEnd(g->b, copy);
    LLVMBuildMemCpy(g->b, to, 1, from, 1, tc_cg_i64(g, bytes));
    LLVMBuildBr(g->b, next);
    LLVMPositionBuilderAtEnd(g->b, next);
}

/* table[i] = aligned ? theirs[i] : stage; inputs are copied there. */
static void align_pointers(entry *x, tc_val theirs, tc_val table, int n, const int64_t *bytes, bool input) {
    tc_cg *g = x->g;
    for (int i = 0; i < n; i++) {
        tc_val p = LLVMBuildLoad2(g->b, g->ptr, element(g, theirs, i), ""), stage = tc_cg_at_bytes(g, x->arena, x->stage_at),
               bad = misaligned(g, p);
        if (input)
            copy_if(x, bad, stage, p, bytes[i]);
        LLVMBuildStore(g->b, LLVMBuildSelect(g->b, bad, stage, p, ""), element(g, table, i));
        x->stage_at += rounded(bytes[i]);
    }
}

static void return_outputs(entry *x) {
    tc_cg *g = x->g;
    for (int i = 0; i < x->e->nout; i++) {
        tc_val theirs = LLVMBuildLoad2(g->b, g->ptr, element(g, x->outputs, i), "");
        tc_val ours = LLVMBuildLoad2(g->b, g->ptr, element(g, x->out, i), "");
        copy_if(x, LLVMBuildICmp(g->b, LLVMIntNE, theirs, ours, ""), theirs, ours, x->e->out_bytes[i]);
    }
}

/* The variable that callers may lower; more threads than the arena has workspace for are not used. */
static tc_val thread_count(entry *x) {
    tc_cg *g = x->g;
    tc_val var = global(g, g->i32, x->e->threads, i32(g, x->e->nthreads), 4, true), n = LLVMBuildLoad2(g->b, g->i32, var, "");
    tc_val most = i32(g, x->e->nthreads), one = i32(g, 1);
    n = LLVMBuildSelect(g->b, LLVMBuildICmp(g->b, LLVMIntSGT, n, most, ""), most, n, "");
    return LLVMBuildSelect(g->b, LLVMBuildICmp(g->b, LLVMIntSLT, n, one, ""), one, n, "");
}

static tc_val symbol(tc_cg *g, const char *name) {
    return name ? LLVMAddGlobal(g->mod, g->i8, name) : LLVMConstNull(g->ptr);
}

static tc_val call_driver(entry *x) {
    tc_cg *g = x->g;
    LLVMTypeRef params[] = {g->ptr, g->ptr, g->ptr, g->ptr, g->ptr}, type = LLVMFunctionType(g->i32, params, 5, 0);
    tc_val rt = tc_cg_alloca(g, g->i64, 3, 8, "rt"); /* tc_rt: two i32, two pointers */
    LLVMBuildStore(g->b, i32(g, TC_RT_ABI), rt);
    LLVMBuildStore(g->b, thread_count(x), tc_cg_at_bytes(g, rt, 4));
    LLVMBuildStore(g->b, symbol(g, x->e->runtime), tc_cg_at_bytes(g, rt, 8));
    LLVMBuildStore(g->b, LLVMConstNull(g->ptr), tc_cg_at_bytes(g, rt, 16));
    tc_val args[] = {x->in, x->out, x->arena, symbol(g, x->e->constants), rt};
    return LLVMBuildCall2(g->b, type, LLVMAddFunction(g->mod, x->e->driver, type), args, 5, "status");
}

static void give_back(entry *x, tc_val busy, tc_val mine) {
    tc_cg *g = x->g;
    LLVMTypeRef params[] = {g->ptr}, type = LLVMFunctionType(g->nothing, params, 1, 0);
    LLVMBasicBlockRef ours = block(x, "ours"), theirs = block(x, "theirs"), end = block(x, "end");
    LLVMBuildCondBr(g->b, mine, ours, theirs);
    LLVMPositionBuilderAtEnd(g->b, ours);
    tc_val st = LLVMBuildStore(g->b, i32(g, 0), busy);
    LLVMSetOrdering(st, LLVMAtomicOrderingRelease);
    LLVMSetAlignment(st, 4);
    LLVMBuildBr(g->b, end);
    LLVMPositionBuilderAtEnd(g->b, theirs);
    LLVMBuildCall2(g->b, type, LLVMAddFunction(g->mod, "free", type), &x->arena, 1, "");
    LLVMBuildBr(g->b, end);
    LLVMPositionBuilderAtEnd(g->b, end);
}

static void sizes(entry *x) {
    x->stage_at = x->total = rounded(x->e->arena_bytes);
    for (int i = 0; i < x->e->nin; i++)
        x->total += rounded(x->e->in_bytes[i]);
    for (int i = 0; i < x->e->nout; i++)
        x->total += rounded(x->e->out_bytes[i]);
    x->total = TC_MAX(x->total, TC_RT_ALIGN);
}

static void build_entry(entry *x) {
    tc_cg *g = x->g;
    LLVMTypeRef params[] = {g->ptr, g->ptr};
    x->fn = tc_cg_begin_function(g, x->e->name, g->i32, params, 2, true);
    x->inputs = LLVMGetParam(x->fn, 0);
    x->outputs = LLVMGetParam(x->fn, 1);
    sizes(x);
    x->in = tc_cg_alloca(g, g->ptr, TC_MAX(x->e->nin, 1), 8, "in");
    x->out = tc_cg_alloca(g, g->ptr, TC_MAX(x->e->nout, 1), 8, "out");
    tc_val busy, mine;
    x->arena = take_arena(x, &busy, &mine);
    align_pointers(x, x->inputs, x->in, x->e->nin, x->e->in_bytes, true);
    align_pointers(x, x->outputs, x->out, x->e->nout, x->e->out_bytes, false);
    tc_val status = call_driver(x);
    return_outputs(x);
    give_back(x, busy, mine);
    LLVMBuildRet(g->b, status);
}

/* The ELF format's: the lengths of owner and text, a type, then both, each padded to 4 bytes. The symbol stands for the text. */
static void put_note(tc_cg *g, const tc_cg_entry *e) {
    static const char owner[8] = TC_CG_NOTE_OWNER; /* padded */
    uint32_t size = (uint32_t)strlen(e->text) + 1, pad = (4 - size % 4) % 4;
    tc_val parts[] = {i32(g, sizeof TC_CG_NOTE_OWNER),
                      i32(g, (int)size),
                      i32(g, TC_CG_NOTE_TYPE),
                      LLVMConstStringInContext(g->ctx, owner, sizeof owner, 1),
                      LLVMConstStringInContext(g->ctx, e->text, size - 1, 0),
                      LLVMConstNull(LLVMArrayType2(LLVMInt8TypeInContext(g->ctx), pad))};
    tc_val note = LLVMConstStructInContext(g->ctx, parts, TC_LEN(parts), 1);
    tc_val whole = global(g, LLVMTypeOf(note), "note", note, 4, false), at[] = {i32(g, 0), i32(g, 4)};
    LLVMSetGlobalConstant(whole, 1);
    LLVMSetSection(whole, ".note." TC_CG_NOTE_OWNER);
    LLVMAddAlias2(g->mod, LLVMTypeOf(parts[4]), 0, LLVMConstInBoundsGEP2(LLVMTypeOf(note), whole, at, 2), e->metadata);
}

tc_status tc_cg_emit_entry(const tc_target *t, const tc_cg_entry *e, void **obj, size_t *size, tc_error *err) {
    tc_cg unit, *g = &unit;
    tc_cg_open_unit(g, t, e->name, err);
    entry x = {.g = g, .e = e};
    build_entry(&x);
    put_note(g, e);
    return tc_cg_close_unit(g, obj, size);
}
