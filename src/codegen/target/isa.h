/* Facts of instruction sets and CPUs, from isa.def. */
#ifndef TC_CODEGEN_TARGET_ISA_H
#define TC_CODEGEN_TARGET_ISA_H

#include "codegen/target/target.h"

typedef enum tc_cg_isa_id { TC_CG_X86, TC_CG_ARM, TC_CG_RISCV, TC_CG_NISAS } tc_cg_isa_id;

typedef struct tc_cg_isa {
    tc_cg_isa_id id;
    const char *spelling[2]; /* how triples begin; the second may be NULL */
    const char *triple;      /* where none is named */
    const char *gcc;         /* GNU's compiler for it, and its objcopy, as distributions name them */
    const char *objcopy;
    const char *plain_cpu;   /* LLVM's name of a CPU that has the baseline only */
    const char *implied_cpu; /* whose features such a one has, as a CPU's name; or NULL */
    const char *wider;       /* how to ask for wider vectors, as the end of a message */
    const char *features;    /* that -mattr may name, each between blanks */
} tc_cg_isa;

/* The instruction set of a triple, NULL for others than ours. */
const tc_cg_isa *tc_cg_isa_of(const char *triple);
const tc_cg_isa *tc_cg_isa_row(tc_cg_isa_id id);

/* A fact is 0 where the table does not say otherwise. */
typedef enum tc_cg_fact {
    TC_CG_VECTOR_BYTES,  /* of a vector register, where no width is named */
    TC_CG_WIDEST_BYTES,  /* that may be named, where it is more */
    TC_CG_VECTOR_REGS,   /* how many */
    TC_CG_MASKED_FROM,   /* vectors of so many bytes and more have masks for tails; 0: none */
    TC_CG_SCALABLE_FROM, /* vectors of so many bytes and more are in registers whose width the machine says */
    TC_CG_FMA,           /* fused multiply-add */
    TC_CG_LOAD_STORE,    /* arithmetic has no operands in memory */
    TC_CG_F16,           /* conversions between f16 and f32 */
    TC_CG_GATHER,        /* an instruction for gathers */
    TC_CG_NAN_MAXIMUM,   /* minimum and maximum that are NaN if an operand is */
    TC_CG_AVX,
    TC_CG_AVX512,
    TC_CG_L1_KIB, /* of the common first-level cache, where it is not 32 */
    TC_CG_L2_KIB  /* of the common second-level cache, where it is not 1024 */
} tc_cg_fact;

int tc_cg_fact_of(const tc_target *t, tc_cg_fact fact);
bool tc_cg_has_feature(const tc_target *t, const char *name);
/* '+' or '-': how the target's text mentions a feature; 0: not at all. */
char tc_cg_mention_of(const tc_target *t, const char *name);
/* Whether "a,b,c" has a name. */
bool tc_cg_lists(const char *names, const char *name);
/* Whether gathers of this CPU, if it has the instruction, are slower than separate loads. */
bool tc_cg_slow_gather(const char *cpu);
bool tc_cg_scalable(const tc_target *t); /* vectors are held in SVE registers of machine.vector_bytes */
/* LLVM's name of a CPU. */
const char *tc_cg_llvm_cpu(const char *cpu);

typedef struct tc_cg_cpu {
    const char *name;
    tc_cg_isa_id isa;
    const char *features; /* "a,b,c": that the name implies */
    const char *more;     /* the same of what LLVM's code for it may have besides, which is no part of targets' texts */
} tc_cg_cpu;

const tc_cg_cpu *tc_cg_cpus(int *n);
const tc_cg_cpu *tc_cg_cpu_named(const char *name); /* NULL: it is none of them */

#endif
