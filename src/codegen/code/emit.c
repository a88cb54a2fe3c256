/* LLVM modules: attributes, the pass list, machine code, text.
 *
 * The pass list is short because the code arrives vectorised, unrolled and with its index arithmetic shared. It takes about a
 * tenth of the compile time of a GEMM with a GELU epilogue (60 ms); instruction selection and register allocation take the rest,
 * and neither LLVM's level 1 nor 3 changed their time or the spills (none in the k loop). */
#include <llvm-c/Analysis.h>
#include <llvm-c/Error.h>
#include <llvm-c/Transforms/PassBuilder.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "codegen/code/code_int.h"
#include "codegen/code/frames.h"

static const char PASSES[] =
    "function(sroa,early-cse<memssa>,instcombine<no-verify-fixpoint>,simplifycfg,loop-mssa(licm),early-cse<memssa>,adce)";
static const char FAST_PASSES[] = "function(sroa,early-cse)";

/* What LLVM will need for each instruction of a module at most: four times what it took of kernels of ResNet-50 and BERT-base and
 * of candidates of their searches, of 500 to 3,000 instructions, which was 0.8 to 4 KiB. */
static const uint64_t LLVM_EACH = 16 << 10;
static _Atomic uint64_t llvm_needs; /* of all threads that are in LLVM now */

static uint64_t instructions(LLVMModuleRef mod) {
    uint64_t n = 0;
    for (tc_val f = LLVMGetFirstFunction(mod); f; f = LLVMGetNextFunction(f))
        for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(f); b; b = LLVMGetNextBasicBlock(b))
            for (tc_val i = LLVMGetFirstInstruction(b); i; i = LLVMGetNextInstruction(i))
                n++;
    return n;
}

static tc_status begin_llvm(LLVMModuleRef mod, uint64_t *needs, tc_error *err) {
    *needs = LLVM_EACH * instructions(mod);
    tc_status s = tc_cg_llvm_fits(*needs + atomic_fetch_add(&llvm_needs, *needs), err);
    if (s != TC_OK)
        tc_error_prefix(err, "compiling: ");
    return s;
}

static void end_llvm(uint64_t needs) {
    atomic_fetch_sub(&llvm_needs, needs);
}

static tc_status module_error(LLVMErrorRef e, tc_error *err, const char *what) {
    char *msg = LLVMGetErrorMessage(e);
    tc_status s = tc_fail(err, TC_ENV, "%s: %s", what, msg);
    LLVMDisposeErrorMessage(msg);
    return s;
}

/* ---- attributes ---- */

static void text_attr(LLVMContextRef ctx, tc_val fn, const char *key, const char *value) {
    LLVMAttributeRef a = LLVMCreateStringAttribute(ctx, key, (unsigned)strlen(key), value, (unsigned)strlen(value));
    LLVMAddAttributeAtIndex(fn, LLVMAttributeFunctionIndex, a);
}

/* With what LLVM would do otherwise: it takes vpdpwssd apart into a product and a sum, since a chain of it has their latency.
 * Ours have enough sums beside each other. */
static void features_attr(LLVMContextRef ctx, const tc_target *t, tc_val fn) {
    tc_strbuf b = {0};
    tc_sb_add(&b, t->features);
    if (tc_cg_has_feature(t, "avx512vnni") || tc_cg_has_feature(t, "avxvnni"))
        tc_sb_add(&b, b.len ? ",+fast-dpwssd" : "+fast-dpwssd");
    if (b.len)
        text_attr(ctx, fn, "target-features", tc_sb_str(&b));
    tc_strbuf_free(&b);
}

/* LLVM prefers 256-bit vectors on most CPUs with AVX-512 and would split ours; we choose widths ourselves. */
void tc_cg_fn_attrs(LLVMContextRef ctx, const tc_target *t, tc_val fn) {
    if (strcmp(t->cpu, "generic"))
        text_attr(ctx, fn, "target-cpu", t->cpu);
    features_attr(ctx, t, fn);
    tc_cg_ask_for_frame(ctx, fn);
    if (tc_cg_scalable(t)) {
        unsigned kind = LLVMGetEnumAttributeKindForName("vscale_range", strlen("vscale_range"));
        uint64_t scale = (uint64_t)t->machine.vector_bytes / 16; /* least and most: the register is exactly that wide */
        LLVMAddAttributeAtIndex(fn, LLVMAttributeFunctionIndex, LLVMCreateEnumAttribute(ctx, kind, scale << 32 | scale));
    }
    const tc_cg_isa *isa = tc_cg_isa_of(t->triple);
    if (isa && isa->id == TC_CG_X86) {
        char bits[16];
        snprintf(bits, sizeof bits, "%d", 8 * t->machine.vector_bytes);
        text_attr(ctx, fn, "prefer-vector-width", bits);
        text_attr(ctx, fn, "min-legal-vector-width", bits);
    }
}

/* ---- modules ---- */

static void prepare(LLVMModuleRef mod, const tc_target *t, LLVMTargetMachineRef tm) {
    LLVMSetTarget(mod, t->triple);
    LLVMTargetDataRef layout = LLVMCreateTargetDataLayout(tm);
    LLVMSetModuleDataLayout(mod, layout);
    LLVMDisposeTargetData(layout);
}

static tc_status optimise(LLVMModuleRef mod, LLVMTargetMachineRef tm, bool fast, tc_error *err) {
    LLVMPassBuilderOptionsRef o = LLVMCreatePassBuilderOptions();
    LLVMErrorRef e = LLVMRunPasses(mod, fast ? FAST_PASSES : PASSES, tm, o);
    LLVMDisposePassBuilderOptions(o);
    return e ? module_error(e, err, "LLVM's passes") : TC_OK;
}

/* So that debuggers and profilers find their way through kernels: it changes no code, and is text that nobody wants to read in
 * assembly. */
static void ask_for_unwinding(LLVMModuleRef mod) {
    static const char name[] = "uwtable";
    enum { AT_EVERY_INSTRUCTION = 2 };
    LLVMAttributeRef a = LLVMCreateEnumAttribute(LLVMGetModuleContext(mod),
                                                 LLVMGetEnumAttributeKindForName(name, sizeof name - 1), AT_EVERY_INSTRUCTION);
    for (tc_val f = LLVMGetFirstFunction(mod); f; f = LLVMGetNextFunction(f))
        if (!LLVMIsDeclaration(f))
            LLVMAddAttributeAtIndex(f, LLVMAttributeFunctionIndex, a);
}

/* *stack: bytes that the code takes. */
static tc_status machine_code(LLVMModuleRef mod, LLVMTargetMachineRef tm, LLVMCodeGenFileType kind, void **obj, size_t *size,
                              int64_t *stack, tc_error *err) {
    LLVMMemoryBufferRef buf = NULL;
    char *msg = NULL;
    tc_cg_frames frames;
    if (kind == LLVMObjectFile)
        ask_for_unwinding(mod);
    tc_cg_listen_to_frames(LLVMGetModuleContext(mod), &frames);
    bool failed = LLVMTargetMachineEmitToMemoryBuffer(tm, mod, kind, &msg, &buf);
    LLVMContextSetDiagnosticHandler(LLVMGetModuleContext(mod), NULL, NULL);
    tc_status s = TC_OK;
    if (failed || *frames.error)
        s = tc_fail(err, TC_ENV, "LLVM's code generator: %s", failed ? msg : frames.error);
    if (failed)
        LLVMDisposeMessage(msg);
    *stack = tc_cg_stack_of(&frames, mod);
    tc_cg_frames_free(&frames);
    if (s == TC_OK) {
        *size = LLVMGetBufferSize(buf);
        *obj = tc_xmalloc(*size + 1);
        memcpy(*obj, LLVMGetBufferStart(buf), *size);
        ((char *)*obj)[*size] = 0;
    }
    if (buf)
        LLVMDisposeMemoryBuffer(buf);
    return s;
}

static tc_status check(LLVMModuleRef mod, tc_error *err) {
    char *msg = NULL;
    tc_status s = TC_OK;
    if (LLVMVerifyModule(mod, LLVMReturnStatusAction, &msg))
        s = tc_fail(err, TC_ENV, "generated code does not pass LLVM's verifier (a bug of tctune): %s", msg);
    LLVMDisposeMessage(msg);
    return s;
}

tc_status tc_cg_object_of(const tc_target *t, LLVMModuleRef mod, void **obj, size_t *size, int64_t *stack, tc_error *err) {
    LLVMTargetMachineRef tm;
    TC_TRY(tc_cg_machine(t, false, &tm, err));
    prepare(mod, t, tm);
    uint64_t needs;
    tc_status s = begin_llvm(mod, &needs, err);
    if (s == TC_OK)
        s = check(mod, err);
    if (s == TC_OK)
        s = optimise(mod, tm, false, err);
    if (s == TC_OK)
        s = machine_code(mod, tm, LLVMObjectFile, obj, size, stack, err);
    end_llvm(needs);
    LLVMDisposeTargetMachine(tm);
    return s;
}

tc_status tc_cg_prepare(tc_error *err) {
    return tc_cg_llvm_init(err);
}

/* ---- functions to modules ---- */

static bool verifies(const tc_cg_options *o) {
#ifdef TCTUNE_VERIFY
    (void)o;
    return true;
#else
    return o && o->verify;
#endif
}

static tc_status fill(const tc_target *t, LLVMContextRef ctx, LLVMModuleRef mod, const tc_func *const *funcs,
                      const char *const *names, int n, const tc_cg_text *text, tc_error *err) {
    tc_status s = TC_OK;
    for (int i = 0; i < n && s == TC_OK; i++) {
        const char *name = names ? names[i] : funcs[i]->name;
        if (!name || !*name || LLVMGetNamedFunction(mod, name))
            return tc_fail(err, TC_BAD_INPUT, "kernel %d: the name '%s' is %s", i, name ? name : "",
                           name && *name ? "used twice" : "empty");
        tc_cg g;
        tc_cg_init(&g, t, ctx, mod, name, err);
        tc_cg_function(&g, funcs[i], text ? &text[i] : NULL);
        s = g.status;
        tc_cg_done(&g);
    }
    return s;
}

typedef struct job {
    const tc_target *t;
    const tc_cg_options *opts;
    LLVMContextRef ctx;
    LLVMModuleRef mod;
    LLVMTargetMachineRef tm;
    uint64_t needs;
} job;

static void close_job(job *j) {
    if (j->mod)
        LLVMDisposeModule(j->mod);
    if (j->tm)
        LLVMDisposeTargetMachine(j->tm);
    if (j->ctx)
        LLVMContextDispose(j->ctx);
    end_llvm(j->needs);
}

/* Builds the module, without optimising. On failure everything is released. */
static tc_status open_job(job *j, const tc_target *t, const tc_func *const *funcs, const char *const *names, int n,
                          const tc_cg_options *opts, tc_error *err) {
    *j = (job){.t = t, .opts = opts};
    tc_status s = tc_cg_machine(t, opts && opts->fast, &j->tm, err);
    if (s == TC_OK) {
        j->ctx = LLVMContextCreate();
        j->mod = LLVMModuleCreateWithNameInContext("tctune", j->ctx);
        prepare(j->mod, t, j->tm);
        s = fill(t, j->ctx, j->mod, funcs, names, n, opts ? opts->text : NULL, err);
    }
    if (s == TC_OK)
        s = begin_llvm(j->mod, &j->needs, err);
    if (s == TC_OK && verifies(opts))
        s = check(j->mod, err);
    if (s != TC_OK)
        close_job(j);
    return s;
}

tc_status tc_cg_emit_object(const tc_target *t, const tc_func *const *funcs, const char *const *names, int n,
                            const tc_cg_options *opts, void **obj, size_t *size, tc_error *err) {
    job j;
    TC_TRY(open_job(&j, t, funcs, names, n, opts, err));
    int64_t stack = 0;
    tc_status s = optimise(j.mod, j.tm, opts && opts->fast, err);
    if (s == TC_OK)
        s = machine_code(j.mod, j.tm, LLVMObjectFile, obj, size, &stack, err);
    if (s == TC_OK && stack > TC_CG_MOST_STACK) {
        s = tc_fail(err, TC_ILLEGAL,
                    "%s: takes %lld bytes of stack; at most %d are allowed: give it smaller tiles or fewer copies",
                    names ? names[0] : funcs[0]->name, (long long)stack, TC_CG_MOST_STACK);
        free(*obj);
    }
    if (s == TC_OK && opts && opts->stack)
        *opts->stack = stack;
    close_job(&j);
    return s;
}

tc_status tc_cg_emit_text(const tc_target *t, const tc_func *const *funcs, const char *const *names, int n,
                          const tc_cg_options *opts, tc_cg_stage stage, tc_strbuf *b, tc_error *err) {
    job j;
    TC_TRY(open_job(&j, t, funcs, names, n, opts, err));
    tc_status s = stage == TC_CG_IR ? TC_OK : optimise(j.mod, j.tm, opts && opts->fast, err);
    if (s == TC_OK && stage == TC_CG_ASM) {
        void *text = NULL;
        size_t size;
        int64_t stack;
        LLVMSetTargetMachineAsmVerbosity(j.tm, 1); /* marks spills */
        s = machine_code(j.mod, j.tm, LLVMAssemblyFile, &text, &size, &stack, err);
        if (s == TC_OK)
            tc_sb_addn(b, text, size);
        free(text);
    } else if (s == TC_OK) {
        char *text = tc_cg_own_text(LLVMPrintModuleToString(j.mod));
        tc_sb_add(b, text);
        free(text);
    }
    close_job(&j);
    return s;
}
