/* What the files of targets share. */
#ifndef TC_CODEGEN_TARGET_TARGET_INT_H
#define TC_CODEGEN_TARGET_TARGET_INT_H

#include "codegen/target/isa.h"
#include "support/strbuf.h"

/* ---- host.c ---- */

/* This machine as the system tells of it, without LLVM on x86 and AArch64. Sizes are bytes, 0 or less where they are not known. */
typedef struct tc_cg_host {
    const char *triple;
    const char *cpu; /* what LLVM calls its processor; NULL: only LLVM knows */
    char *features;  /* of those that -mattr may name, those that it has: "+a,-b" */
    int64_t l1, l2, l3, line;
    int vector_bytes;         /* of the registers whose width the machine says: AArch64's SVE, RISC-V's V; 0: it has none */
    uint64_t letters, probed; /* RISC-V: AT_HWCAP, and bits of riscv.def: all, where the kernel does not tell */
} tc_cg_host;
const tc_cg_host *tc_cg_this_host(void);
/* What LLVM calls its processor, and the features of that as they become part of the target: by cpuid.def and midr.def, and by
 * LLVM what is not there. TC_ENV: there is no LLVM, and it would be needed. */
TC_NODISCARD tc_status tc_cg_name_host(const char **cpu, const char **features, tc_error *err);

/* ---- needs.c ---- */

/* Whether a machine of the target's instruction set has what a library's own check would ask for (needs.h). */
bool tc_cg_meets(const tc_target *t, const tc_cg_host *h);
/* What it lacks, "xop, SVE registers of exactly 32 bytes"; h NULL: all that is needed. */
void tc_cg_print_lacks(const tc_target *t, const tc_cg_host *h, tc_strbuf *b);

/* ---- cpuid.c ---- */

/* This machine's processor, where it is one of x86, without LLVM and in its words: all features that -mattr may name, "+a,-b",
 * appended; its name, NULL where only LLVM can tell. */
void tc_cg_cpuid_features(tc_strbuf *b);
const char *tc_cg_cpuid_name(void);

/* ---- midr.c ---- */

/* What LLVM calls the AArch64 processor that such a text of /proc/cpuinfo is of. */
const char *tc_cg_arm_name(const char *cpuinfo);

/* ---- machine.c ---- */
void tc_cg_detect_machine(tc_machine *m);
void tc_cg_default_machine(const tc_target *t, int vector_bytes, tc_machine *m);
int tc_cg_widest_vector(const tc_target *t); /* bytes */

bool tc_cg_tiles_work(void); /* here; asks a child process (probe.c) */

#endif
