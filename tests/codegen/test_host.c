/* What this machine is without LLVM and what LLVM says must be the same: the target's text is part of every record and of a
 * board's key. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dlfcn.h>
#include <llvm-c/Core.h>
#include <llvm-c/TargetMachine.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "codegen/llvm/on_demand.h"
#include "codegen/target/llvm.h"
#include "codegen/target/target_int.h"
#include "support/vec.h"

static char *llvm_features, *llvm_cpu, *llvm_triple;

static int ask_llvm(void **state) {
    (void)state;
    tc_error err = {0};
    if (tc_llvm_load(&err) != TC_OK) {
        fprintf(stderr, "%s\n", err.msg);
        return -1;
    }
    llvm_features = tc_cg_own_text(LLVMGetHostCPUFeatures());
    llvm_cpu = tc_cg_own_text(LLVMGetHostCPUName());
    llvm_triple = tc_cg_own_text(LLVMGetDefaultTargetTriple());
    return 0;
}

static int forget(void **state) {
    (void)state;
    free(llvm_features);
    free(llvm_cpu);
    free(llvm_triple);
    return 0;
}

/* Whether a list "+a,-b" has the feature on. */
static bool is_on(const char *list, const char *name, size_t n) {
    for (const char *p = list; *p; p += strcspn(p, ","), p += *p == ',')
        if (*p == '+' && strcspn(p + 1, ",") == n && !strncmp(p + 1, name, n))
            return true;
    return false;
}

static void same_triple(void **state) {
    (void)state;
    assert_string_equal(tc_cg_this_host()->triple, llvm_triple);
}

static void same_processor(void **state) {
    (void)state;
    const char *cpu, *features;
    tc_error err = {0};
    assert_int_equal(tc_cg_name_host(&cpu, &features, &err), TC_OK);
    assert_string_equal(cpu, llvm_cpu);
}

/* Of all features that -mattr may name. */
static void same_features(void **state) {
    (void)state;
#ifdef __x86_64__
    const char *own = tc_cg_this_host()->features;
    const char *const all = tc_cg_isa_row(TC_CG_X86)->features;
    int known = 0;
    for (const char *p = all + strspn(all, " "); *p; p += strcspn(p, " "), p += strspn(p, " ")) {
        const size_t n = strcspn(p, " ");
        if (is_on(own, p, n) != is_on(llvm_features, p, n))
            fail_msg("%.*s: %d, by LLVM %d", (int)n, p, is_on(own, p, n), is_on(llvm_features, p, n));
        known++;
    }
    for (const char *p = own; *p; p += strcspn(p, ","), p += *p == ',')
        known--;
    assert_int_equal(known, 0); /* no feature is without a row of cpuid.def, nor a row without a feature */
#endif
}

/* ---- AArch64 processors, by what Linux tells of them ---- */

/* LLVM's own, of C++: llvm::sys::detail::getHostCPUNameForARM(StringRef), which any machine has. A StringRef is passed as these
 * two. */
typedef struct words {
    const char *text;
    size_t n;
} words;
typedef words name_for_arm(words cpuinfo);

static name_for_arm *llvms;

static void same_name(const char *cpuinfo) {
    const words want = llvms((words){cpuinfo, strlen(cpuinfo)});
    const char *got = tc_cg_arm_name(cpuinfo);
    if (strlen(got) != want.n || memcmp(got, want.text, want.n) != 0)
        fail_msg("%s, by LLVM %.*s: %s", got, (int)want.n, want.text, cpuinfo);
}

static const char *core(char out[256], int implementer, int variant, int part) {
    snprintf(out, 256,
             "processor\t: 0\nBogoMIPS\t: 100.00\nFeatures\t: fp asimd\nCPU implementer\t: 0x%02x\nCPU architecture: 8\n"
             "CPU variant\t: 0x%x\nCPU part\t: 0x%03x\nCPU revision\t: 1\n\n",
             implementer, variant, part);
    return out;
}

static void arm_processors_are_called_what_llvm_calls_them(void **state) {
    (void)state;
    enum { PARTS = 0x1000, MAKERS = 0x100 };
    static const int MADE[] = {0x41, 0x42, 0x43, 0x46, 0x48, 0x4e, 0x51, 0x53, 0x6d, 0xc0}, KNOWN[] = {0xd03, 0x516, 1, 0xac3};
    char text[256], both[600];
    union {
        void *object;
        name_for_arm *function;
    } found = {dlsym(RTLD_DEFAULT, "_ZN4llvm3sys6detail20getHostCPUNameForARMENS_9StringRefE")};
    void *library = dlopen(TEST_LLVM, RTLD_NOW | RTLD_NOLOAD);
    if (!found.object && library)
        found.object = dlsym(library, "_ZN4llvm3sys6detail20getHostCPUNameForARMENS_9StringRefE");
    assert_non_null(found.object);
    llvms = found.function;
    for (size_t i = 0; i < TC_LEN(MADE); i++)
        for (int part = 0; part < PARTS; part++)
            same_name(core(text, MADE[i], 0, part));
    for (int maker = 0; maker < MAKERS; maker++)
        for (size_t i = 0; i < TC_LEN(KNOWN); i++)
            same_name(core(text, maker, 0, KNOWN[i]));
    for (int variant = 0; variant < 16; variant++)
        for (int part = 0; part < 8; part++)
            same_name(core(text, 0x53, variant, part));
    for (size_t i = 0; i < TC_LEN(MADE); i++) { /* of cores of two kinds */
        snprintf(both, sizeof both, "%s", core(text, MADE[i], 1, KNOWN[0]));
        snprintf(both + strlen(both), sizeof both - strlen(both), "%sHardware\t: Qualcomm Technologies, Inc MSM8%s\n",
                 core(text, 0x41, 0, 0xd08), i % 2 ? "994" : "000");
        same_name(both);
    }
    static const char *const ODD[] = {"",
                                      "\n",
                                      "CPU part",
                                      "CPU implementer\nCPU part\n",
                                      "CPU implementer\t: 0x41\n",
                                      "CPU implementer\t: 0x41\nCPU part\t: 0xd03 \n",
                                      "CPU part\t: 0xd03\nCPU implementer\t: 0x41",
                                      "vendor_id\t: AuthenticAMD\ncpu family\t: 26\n"};
    for (size_t i = 0; i < TC_LEN(ODD); i++)
        same_name(ODD[i]);
    if (library)
        dlclose(library);
}

/* Nothing of what a target needs is asked of LLVM where it is of Linux on one of our instruction sets. */
static void plain_triples_are_llvms(void **state) {
    (void)state;
    static const char *const PLAIN[] = {"x86_64-pc-linux-gnu", "x86_64-unknown-linux-musl", "aarch64-unknown-linux-gnu",
                                        "riscv64-unknown-linux-gnu"};
    for (size_t i = 0; i < TC_LEN(PLAIN); i++) {
        char text[128];
        tc_target *t;
        LLVMTargetMachineRef tm;
        char *normal = tc_cg_own_text(LLVMNormalizeTargetTriple(PLAIN[i]));
        assert_string_equal(normal, PLAIN[i]);
        snprintf(text, sizeof text, "llvm -mtriple=%s", PLAIN[i]);
        assert_int_equal(tc_target_parse(text, &t, NULL), TC_OK);
        assert_string_equal(t->triple, PLAIN[i]);
        assert_int_equal(tc_cg_machine(t, true, &tm, NULL), TC_OK);
        LLVMDisposeTargetMachine(tm);
        tc_target_free(t);
        free(normal);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(same_triple),
        cmocka_unit_test(same_processor),
        cmocka_unit_test(same_features),
        cmocka_unit_test(arm_processors_are_called_what_llvm_calls_them),
        cmocka_unit_test(plain_triples_are_llvms),
    };
    return cmocka_run_group_tests(tests, ask_llvm, forget);
}
