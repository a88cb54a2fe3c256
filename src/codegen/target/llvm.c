/* What llvm.h describes. */
#include "codegen/target/llvm.h"

#include <llvm-c/Core.h>
#include <llvm-c/Target.h>
#include <llvm/Config/llvm-config.h>
#include <pthread.h>

#include "codegen/llvm/on_demand.h"
#include "support/system/memory.h"

static void init_all(void) {
    LLVMInitializeAllTargetInfos();
    LLVMInitializeAllTargets();
    LLVMInitializeAllTargetMCs();
    LLVMInitializeAllAsmPrinters();
    LLVMInitializeAllAsmParsers();
}

/* Opens LLVM's library. Under a limit of addresses the loader's own message does not tell what to do. */
static tc_status load(tc_error *err) {
    static const uint64_t ROOM = 160 << 20; /* LLVM 19 of Debian 12 takes 127 MiB, and the libraries that it needs take more */
    tc_status s = tc_llvm_load(err);
    if (s != TC_OK && tc_memory_check(ROOM, err) != TC_OK)
        tc_error_prefix(err, "compiling needs LLVM's library, which cannot be opened: ");
    return s;
}

tc_status tc_cg_llvm_init(tc_error *err) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    TC_TRY(load(err));
    pthread_once(&once, init_all);
    return TC_OK;
}

/* What LLVM will need at most is asked for and given back before it begins. Measured on the kernels of ResNet-50 and BERT-base
 * and on candidates of their searches: 11 MiB for what it makes once in a process. Four times that is asked for. */
tc_status tc_cg_llvm_fits(uint64_t bytes, tc_error *err) {
    static const uint64_t ONCE = 44 << 20;
    return tc_memory_check(ONCE + bytes, err);
}

const char *tc_cg_llvm_version(void) {
    return LLVM_VERSION_STRING;
}

char *tc_cg_own_text(char *llvm) {
    if (!llvm)
        tc_alloc_refuse();
    char *copy = tc_xstrdup(llvm ? llvm : "");
    LLVMDisposeMessage(llvm);
    return copy;
}

tc_status tc_cg_machine(const tc_target *t, bool fast, LLVMTargetMachineRef *out, tc_error *err) {
    TC_TRY(tc_cg_llvm_fits(0, err));
    TC_TRY(tc_cg_llvm_init(err));
    LLVMTargetRef target;
    char *msg = NULL;
    if (LLVMGetTargetFromTriple(t->triple, &target, &msg)) {
        tc_status s = tc_fail(err, TC_BAD_INPUT, "target %s: %s", t->triple, msg);
        LLVMDisposeMessage(msg);
        return s;
    }
    LLVMCodeGenOptLevel level = fast ? LLVMCodeGenLevelLess : LLVMCodeGenLevelDefault;
    *out = LLVMCreateTargetMachine(target, t->triple, t->cpu, t->features, level, LLVMRelocPIC, LLVMCodeModelDefault);
    if (!*out)
        return tc_fail(err, TC_BAD_INPUT, "target %s: LLVM cannot make code for it", t->text);
    return TC_OK;
}
