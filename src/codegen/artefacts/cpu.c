/* Does this CPU have what a library's code uses? Each entry point asks before it runs anything else, and the first answer is kept:
 *
 *   NAME(...):
 *     if cpu_known != 1 and cpu_status() != 1: return what the entry point says of another CPU
 *   cpu_status():                      code for the baseline of the instruction set alone
 *     cpu_known = the CPU has everything ? 1 : TC_CG_OTHER_CPU
 *     return cpu_known
 *
 * x86: CPUID says what the CPU has, and XGETBV which registers the system keeps. Elsewhere the system says it: AT_HWCAP, and on
 * AArch64 the width of SVE's registers, on RISC-V the call riscv_hwprobe; RISC-V's CSR vlenb has the width of vectors. */
#include <string.h>

#include "codegen/artefacts/artefacts_int.h"
#include "codegen/artefacts/library.h"
#include "codegen/target/needs.h"
#include "support/vec.h"

static tc_val i32(tc_cg *g, uint32_t v) {
    return LLVMConstInt(g->i32, v, 0);
}

static tc_val assembly(tc_cg *g, LLVMTypeRef result, const char *code, const char *uses, tc_val *args, unsigned n) {
    LLVMTypeRef params[2] = {g->i32, g->i32}, type = LLVMFunctionType(result, params, n, 0);
    tc_val fn = LLVMGetInlineAsm(type, code, strlen(code), uses, strlen(uses), 1, 0, LLVMInlineAsmDialectATT, 0);
    return LLVMBuildCall2(g->b, type, fn, args, n, "");
}

static tc_val both(tc_cg *g, tc_val a, tc_val b) {
    return LLVMBuildAnd(g->b, a, b, "");
}

static tc_val has_bits(tc_cg *g, tc_val v, tc_val bits) {
    return LLVMBuildICmp(g->b, LLVMIntEQ, both(g, v, bits), bits, "");
}

/* ---- x86 ---- */

static tc_val cpuid(tc_cg *g, uint32_t leaf, uint32_t sub, tc_cg_cpuid_reg reg) {
    tc_val four[] = {i32(g, 0), i32(g, 0), i32(g, 0), i32(g, 0)}, args[] = {i32(g, leaf), i32(g, sub)};
    LLVMTypeRef registers = LLVMTypeOf(LLVMConstStructInContext(g->ctx, four, TC_LEN(four), 0));
    tc_val all = assembly(g, registers, "cpuid", "={ax},={bx},={cx},={dx},{ax},{cx}", args, 2);
    return LLVMBuildExtractValue(g->b, all, (unsigned)reg, "");
}

/* A leaf that there is not answers with another leaf's bits. */
static tc_val has_word(tc_cg *g, const tc_cg_cpuid_word *w) {
    tc_val last = cpuid(g, w->leaf & 0x80000000U, 0, TC_CG_EAX);
    tc_val ok = LLVMBuildICmp(g->b, LLVMIntUGE, last, i32(g, w->leaf), "");
    if (w->sub)
        ok = both(g, ok, LLVMBuildICmp(g->b, LLVMIntUGE, cpuid(g, w->leaf, 0, TC_CG_EAX), i32(g, w->sub), ""));
    return both(g, ok, has_bits(g, cpuid(g, w->leaf, w->sub, w->reg), i32(g, w->bits)));
}

/* XGETBV is there where the system uses it. */
static tc_val can_ask_for_registers(tc_cg *g) {
    enum { OSXSAVE = 27 };
    return has_bits(g, cpuid(g, 1, 0, TC_CG_ECX), i32(g, (uint32_t)1 << OSXSAVE));
}

static tc_val keeps_registers(tc_cg *g, uint32_t kept) {
    tc_val zero = i32(g, 0);
    return has_bits(g, assembly(g, g->i32, "xgetbv", "={ax},{cx},~{dx}", &zero, 1), i32(g, kept));
}

/* ---- AArch64 and RISC-V ---- */

static tc_val has_hwcaps(tc_cg *g, const uint64_t bits[2]) {
    enum { AT_HWCAP_ = 16, AT_HWCAP2_ = 26 };
    tc_val ok = LLVMConstInt(LLVMInt1TypeInContext(g->ctx), 1, 0);
    for (int i = 0; i < 2; i++) {
        tc_val which = tc_cg_i64(g, i ? AT_HWCAP2_ : AT_HWCAP_), want = LLVMConstInt(g->i64, bits[i], 0);
        if (bits[i])
            ok = both(g, ok, has_bits(g, tc_cg_call_named(g, "getauxval", g->i64, &which, 1), want));
    }
    return ok;
}

/* Kernels that do not know the call say nothing: then the extensions count as there. */
static tc_val has_probed(tc_cg *g, uint64_t bits) {
    enum { HWPROBE = 258, IMA_EXT_0 = 4 };
    tc_val pair = LLVMBuildAlloca(g->b, LLVMArrayType2(g->i64, 2), ""), at = tc_cg_i64(g, 1), zero = tc_cg_i64(g, 0);
    tc_val value = LLVMBuildGEP2(g->b, g->i64, pair, &at, 1, "");
    LLVMBuildStore(g->b, tc_cg_i64(g, IMA_EXT_0), pair);
    LLVMBuildStore(g->b, zero, value);
    tc_val args[] = {tc_cg_i64(g, HWPROBE), pair, tc_cg_i64(g, 1), zero, zero, zero};
    tc_val failed = LLVMBuildICmp(g->b, LLVMIntNE, tc_cg_call_named(g, "syscall", g->i64, args, TC_LEN(args)), zero, "");
    tc_val want = LLVMConstInt(g->i64, bits, 0);
    return LLVMBuildOr(g->b, failed, has_bits(g, LLVMBuildLoad2(g->b, g->i64, value, ""), want), "");
}

static tc_val has_vectors(tc_cg *g, const tc_cg_needs *n) {
    enum { PR_SVE_GET_VL_ = 51, WIDTH = 0xffff };
    if (n->isa == TC_CG_RISCV) {
        tc_val bytes = assembly(g, g->i64, "csrr $0, 0xc22" /* vlenb */, "=r", NULL, 0);
        return LLVMBuildICmp(g->b, LLVMIntUGE, bytes, tc_cg_i64(g, n->vector_bytes), "");
    }
    tc_val none = tc_cg_i64(g, 0), args[] = {i32(g, PR_SVE_GET_VL_), none, none, none, none};
    tc_val bytes = both(g, tc_cg_call_named(g, "prctl", g->i32, args, TC_LEN(args)), i32(g, WIDTH));
    return LLVMBuildICmp(g->b, LLVMIntEQ, bytes, i32(g, (uint32_t)n->vector_bytes), "");
}

/* ---- all of it ---- */

/* Keeps the answer, and returns it. */
static void answer(tc_cg *g, tc_val known, int status) {
    tc_val v = LLVMConstInt(g->i32, (unsigned long long)(long long)status, 1), store = LLVMBuildStore(g->b, v, known);
    LLVMSetOrdering(store, LLVMAtomicOrderingMonotonic);
    LLVMSetAlignment(store, 4);
    LLVMBuildRet(g->b, v);
}

/* Goes on where it holds, else to `lacks`. */
static void go_on_if(tc_cg *g, tc_val holds, LLVMBasicBlockRef lacks) {
    LLVMBasicBlockRef next = LLVMAppendBasicBlockInContext(g->ctx, g->fn, "next");
    LLVMBuildCondBr(g->b, holds, next, lacks);
    LLVMPositionBuilderAtEnd(g->b, next);
}

static void ask_for_all(tc_cg *g, const tc_cg_needs *n, LLVMBasicBlockRef lacks) {
    for (int i = 0; i < n->nword; i++)
        go_on_if(g, has_word(g, &n->word[i]), lacks);
    if (n->kept) {
        go_on_if(g, can_ask_for_registers(g), lacks);
        go_on_if(g, keeps_registers(g, n->kept), lacks);
    }
    if (n->hwcap[0] || n->hwcap[1])
        go_on_if(g, has_hwcaps(g, n->hwcap), lacks);
    if (n->probe)
        go_on_if(g, has_probed(g, n->probe), lacks);
    if (n->vector_bytes)
        go_on_if(g, has_vectors(g, n), lacks);
}

/* In functions with other features it would be code for those. */
static void keep_apart(tc_cg *g, tc_val fn) {
    static const char *const KINDS[] = {"noinline", "cold"};
    for (size_t i = 0; i < TC_LEN(KINDS); i++)
        LLVMAddAttributeAtIndex(fn, LLVMAttributeFunctionIndex,
                                LLVMCreateEnumAttribute(g->ctx, LLVMGetEnumAttributeKindForName(KINDS[i], strlen(KINDS[i])), 0));
}

/* base: the target without anything beyond the baseline. */
static tc_val status_function(tc_cg *g, const tc_target *base, const tc_cg_needs *n, tc_val known) {
    const tc_target *whole = g->target;
    g->target = base;
    tc_val fn = tc_cg_begin_function(g, "cpu_status", g->i32, NULL, 0, false);
    g->target = whole;
    keep_apart(g, fn);
    LLVMBasicBlockRef lacks = LLVMAppendBasicBlockInContext(g->ctx, fn, "lacks");
    ask_for_all(g, n, lacks);
    answer(g, known, TC_CG_RIGHT_CPU);
    LLVMPositionBuilderAtEnd(g->b, lacks);
    answer(g, known, TC_CG_OTHER_CPU);
    return fn;
}

tc_status tc_cg_begin_cpu_check(tc_cg *g, tc_cg_cpu_check *c, tc_error *err) {
    tc_cg_needs n = tc_cg_needs_of(g->target);
    char text[160];
    tc_target *base;
    *c = (tc_cg_cpu_check){0};
    if (!n.any)
        return TC_OK;
    snprintf(text, sizeof text, "llvm -mtriple=%s", g->target->triple);
    TC_TRY(tc_target_parse(text, &base, err));
    c->known = LLVMAddGlobal(g->mod, g->i32, "cpu_known");
    LLVMSetInitializer(c->known, i32(g, 0));
    LLVMSetLinkage(c->known, LLVMInternalLinkage);
    c->status = status_function(g, base, &n, c->known);
    tc_target_free(base);
    return TC_OK;
}

void tc_cg_check_cpu(tc_cg *g, const tc_cg_cpu_check *c, tc_val refusal) {
    if (!c->status)
        return;
    LLVMBasicBlockRef unknown = LLVMAppendBasicBlockInContext(g->ctx, g->fn, "unknown"),
                      refuse = LLVMAppendBasicBlockInContext(g->ctx, g->fn, "refuse"),
                      right = LLVMAppendBasicBlockInContext(g->ctx, g->fn, "right");
    tc_val known = LLVMBuildLoad2(g->b, g->i32, c->known, ""), want = i32(g, TC_CG_RIGHT_CPU);
    LLVMSetOrdering(known, LLVMAtomicOrderingMonotonic);
    LLVMSetAlignment(known, 4);
    LLVMBuildCondBr(g->b, LLVMBuildICmp(g->b, LLVMIntEQ, known, want, ""), right, unknown);
    LLVMPositionBuilderAtEnd(g->b, unknown);
    tc_val status = LLVMBuildCall2(g->b, LLVMGlobalGetValueType(c->status), c->status, NULL, 0, "");
    LLVMBuildCondBr(g->b, LLVMBuildICmp(g->b, LLVMIntEQ, status, want, ""), right, refuse);
    LLVMPositionBuilderAtEnd(g->b, refuse);
    LLVMBuildRet(g->b, refusal);
    LLVMPositionBuilderAtEnd(g->b, right);
}
