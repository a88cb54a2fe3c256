/* What a CPU must have to run a target's code, in the words in which the CPU or its system tells programs of it: for code that asks
 * before it runs kernels. */
#ifndef TC_CODEGEN_TARGET_NEEDS_H
#define TC_CODEGEN_TARGET_NEEDS_H

#include <stdint.h>

#include "codegen/target/isa.h"
#include "support/strbuf.h"

/* ---- x86: what CPUID answers ---- */

typedef enum tc_cg_cpuid_reg { TC_CG_EAX, TC_CG_EBX, TC_CG_ECX, TC_CG_EDX } tc_cg_cpuid_reg;
/* A feature of cpuid.def. */
typedef struct tc_cg_cpuid_row {
    const char *name;
    uint32_t leaf, sub;
    tc_cg_cpuid_reg reg;
    int bit;
    uint32_t kept; /* bits of XCR0: the registers that the system keeps for each thread */
} tc_cg_cpuid_row;
const tc_cg_cpuid_row *tc_cg_cpuid_rows(int *n);

/* ---- AArch64: what the system tells each process ---- */

/* A feature of hwcap.def. */
typedef struct tc_cg_hwcap {
    const char *name, *macro;
    uint64_t bits[2]; /* of AT_HWCAP and AT_HWCAP2 */
} tc_cg_hwcap;
const tc_cg_hwcap *tc_cg_hwcaps(int *n);

/* ---- RISC-V: what the system tells who asks ---- */

/* An extension of riscv.def. */
typedef struct tc_cg_probe {
    const char *name, *macro;
    int bit; /* of riscv_hwprobe's answer */
} tc_cg_probe;
const tc_cg_probe *tc_cg_probes(int *n);

/* ---- of a target ---- */

/* Bits of a register after CPUID. */
typedef struct tc_cg_cpuid_word {
    uint32_t leaf, sub;
    tc_cg_cpuid_reg reg;
    uint32_t bits;
} tc_cg_cpuid_word;
enum { TC_CG_CPUID_WORDS = 16 };

typedef struct tc_cg_needs {
    tc_cg_isa_id isa;
    bool any; /* else every CPU of the instruction set will do */
    int nword;
    tc_cg_cpuid_word word[TC_CG_CPUID_WORDS]; /* x86 */
    uint32_t kept;                            /* x86: bits of XCR0 */
    uint64_t hwcap[2];                        /* AArch64 and RISC-V: bits of AT_HWCAP and AT_HWCAP2 */
    uint64_t probe;                           /* RISC-V: bits of riscv_hwprobe's answer, where there is one */
    int vector_bytes;                         /* of SVE's registers, or at least of those of RISC-V; 0: any */
} tc_cg_needs;

/* Of the target's features, and of what LLVM's code for its CPU has besides. What no table of these tells of is not among them: most
 * of RISC-V's extensions with names of several letters. */
tc_cg_needs tc_cg_needs_of(const tc_target *t);
/* "avx2, fma, amx-int8": the features that are asked for, and the width of registers; nothing unless there are any. */
void tc_cg_print_needs(const tc_target *t, tc_strbuf *b);
/* Those of them that this machine lacks. */
void tc_cg_print_lacking_here(const tc_target *t, tc_strbuf *b);

#endif
