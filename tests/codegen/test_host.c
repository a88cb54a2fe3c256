/* What this machine is without LLVM and what LLVM says must be the same: the target's text is part of every record and of a board's key. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

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
        cmocka_unit_test(plain_triples_are_llvms),
    };
    return cmocka_run_group_tests(tests, ask_llvm, forget);
}
