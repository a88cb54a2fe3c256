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
    int vector_bytes;                         /* of SVE's registers, or at least of those of RISC-V; 0: any */
} tc_cg_needs;

/* Features that neither CPUID nor AT_HWCAP tells of (RISC-V's with names of several letters) are not among them. */
tc_cg_needs tc_cg_needs_of(const tc_target *t);
/* "avx2, fma, amx-int8": the features of the target that are asked for, and the width of registers; nothing unless there are any. */
void tc_cg_print_needs(const tc_target *t, tc_strbuf *b);

#endif
