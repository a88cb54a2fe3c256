/* Object code loaded into this process: by our own loader (codegen/load), or by LLVM's (ORC's LLJIT) for targets that ours has
 * no tables for. */
#include <llvm-c/Error.h>
#include <llvm-c/LLJIT.h>
#include <llvm-c/Orc.h>

#include "codegen/code/code_int.h"
#include "codegen/load/load.h"
#include "codegen/perf/perf.h"

struct tc_cg_module {
    tc_load_image *image; /* or: */
    LLVMOrcLLJITRef jit;
};

static tc_status orc_error(LLVMErrorRef e, tc_status status, tc_error *err, const char *what) {
    char *msg = LLVMGetErrorMessage(e);
    tc_fail(err, status, "%s: %s", what, msg);
    LLVMDisposeErrorMessage(msg);
    return status;
}

static tc_status add(LLVMOrcLLJITRef jit, const void *obj, size_t size, tc_error *err) {
    LLVMOrcJITDylibRef lib = LLVMOrcLLJITGetMainJITDylib(jit);
    LLVMOrcDefinitionGeneratorRef process;
    LLVMErrorRef e = LLVMOrcCreateDynamicLibrarySearchGeneratorForProcess(&process, LLVMOrcLLJITGetGlobalPrefix(jit), NULL, NULL);
    if (e)
        return orc_error(e, TC_ENV, err, "looking up this process's symbols");
    LLVMOrcJITDylibAddGenerator(lib, process);
    LLVMMemoryBufferRef buf = LLVMCreateMemoryBufferWithMemoryRangeCopy(obj, size, "kernel");
    if ((e = LLVMOrcLLJITAddObjectFile(jit, lib, buf)))
        return orc_error(e, TC_BAD_INPUT, err, "loading object code");
    return TC_OK;
}

/* Addresses are known once something was looked up. */
static void tell_profilers(tc_cg_module *m, const void *obj, size_t size) {
    tc_cg_functions f;
    tc_error err = {0};
    tc_kernel *at;
    if (!tc_cg_perf_wanted() || !tc_cg_perf_functions(obj, size, &f))
        return;
    if (tc_cg_lookup(m, f.exported, &at, &err) == TC_OK)
        tc_cg_perf_tell(&f, (uintptr_t)at);
    tc_cg_perf_free(&f);
}

static tc_status load_by_llvm(tc_cg_module *m, const void *obj, size_t size, tc_error *err) {
    TC_TRY(tc_cg_llvm_init(err));
    LLVMErrorRef e = LLVMOrcCreateLLJIT(&m->jit, NULL);
    if (e)
        return orc_error(e, TC_ENV, err, "starting LLVM's JIT");
    return add(m->jit, obj, size, err);
}

tc_status tc_cg_load(const void *obj, size_t size, tc_cg_module **out, tc_error *err) {
    tc_error why = {0};
    tc_cg_module *m = tc_xcalloc(1, sizeof *m);
    tc_status s = tc_load_object(obj, size, &m->image, &why);
    if (s != TC_OK && tc_error_unsupported(&why)) {
        s = load_by_llvm(m, obj, size, err);
        if (s != TC_OK)
            tc_error_prefix(err, "%s; ", why.msg);
    } else if (s != TC_OK) {
        tc_fail(err, s, "loading object code: %s", why.msg);
    }
    if (s != TC_OK) {
        tc_cg_module_free(m);
        return s;
    }
    tell_profilers(m, obj, size);
    *out = m;
    return TC_OK;
}

static tc_status look_up_by_llvm(tc_cg_module *m, const char *name, tc_kernel **out, tc_error *err) {
    LLVMOrcExecutorAddress at = 0;
    LLVMErrorRef e = LLVMOrcLLJITLookup(m->jit, &at, name);
    if (e)
        return orc_error(e, TC_BAD_INPUT, err, name);
    *out = (tc_kernel *)(uintptr_t)at;
    return TC_OK;
}

tc_status tc_cg_lookup(tc_cg_module *m, const char *name, tc_kernel **out, tc_error *err) {
    if (m->jit)
        return look_up_by_llvm(m, name, out, err);
    void *at = tc_load_find(m->image, name);
    if (!at)
        return tc_fail(err, TC_BAD_INPUT, "the object defines no '%.200s'", name);
    *out = (tc_kernel *)(uintptr_t)at;
    return TC_OK;
}

void tc_cg_module_free(tc_cg_module *m) {
    if (!m)
        return;
    tc_load_free(m->image);
    LLVMErrorRef e = m->jit ? LLVMOrcDisposeLLJIT(m->jit) : NULL;
    if (e)
        LLVMConsumeError(e);
    free(m);
}
