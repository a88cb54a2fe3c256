/* src/codegen/assembly owns what stands in the assembly of a kernel: its loops, the hot one, and the processor's work
 * in it. Not here: why that is slow (src/tune/explain).
 *
 * It works on the text that tc_cg_emit_text writes (LLVM names its blocks and comments its spills there). A table per
 * instruction set in asm_rules.c classes the mnemonics: x86-64, AArch64 (NEON and SVE) and RISC-V with vectors. */
#ifndef TC_CODEGEN_ASSEMBLY_ASM_FACTS_H
#define TC_CODEGEN_ASSEMBLY_ASM_FACTS_H

#include "codegen/code/code.h"

/* What an instruction is counted as. A load that is part of an arithmetic instruction is counted as `folded` besides. */
typedef struct tc_cg_mix {
    int instructions;
    int fma;        /* fused vector multiply-adds, and dot products */
    int arithmetic; /* other vector arithmetic */
    int loads;      /* vector loads, gathers too */
    int broadcasts; /* loads of one element: broadcast, or read by lane */
    int stores;     /* vector stores */
    int moves;      /* vector moves and shuffles between registers */
    int scalar;     /* scalar floating-point arithmetic */
    int prefetches;
    int other;        /* addresses, counters, branches */
    int folded;       /* arithmetic with an operand in memory */
    int spills;       /* of the above: vector registers saved to and fetched from the stack, as LLVM says */
    int masked;       /* of the above: under a mask or predicate */
    int accumulators; /* registers that only multiply-adds write: carried from one turn to the next */
    int vector_bits;  /* of the widest vector register in arithmetic; 0: none */
} tc_cg_mix;

typedef struct tc_cg_asm_loop {
    int first, last; /* lines of the text, from 0, inclusive */
    int parent;      /* index of the loop around it, -1: none */
    int depth;       /* 1: outermost */
    bool innermost;
    char name[40]; /* of the loop in TIR, as far as LLVM kept it; else its label */
    tc_cg_mix own; /* without the loops inside it */
} tc_cg_asm_loop;

/* Zero-initialised is empty. */
typedef struct tc_cg_asm_facts {
    bool known; /* the mnemonics of this target are known; otherwise only `instructions` and `other` are counted */
    int nloop;
    tc_cg_asm_loop *loops;          /* by first line */
    int hot;                        /* index of the loop with most arithmetic; -1: code without a loop */
    tc_cg_mix mix;                  /* of the hot loop; of everything when there is no loop */
    int tails;                      /* other innermost loops with vector or scalar arithmetic */
    int tails_masked, tails_scalar; /* of these: with masked instructions, with scalar floating-point arithmetic */
} tc_cg_asm_facts;

/* The hot loop is the one with most arithmetic: bytes of vector arithmetic per turn (multiply-adds that accumulate counting
 * 8 times, since epilogues and polynomials have multiply-adds too), times 16 for each level of nesting. Trip counts are not in
 * the text. */
void tc_cg_asm_facts_read(const tc_target *t, const char *text, tc_cg_asm_facts *out);
void tc_cg_asm_facts_free(tc_cg_asm_facts *f);

/* Shares in [0, 1]: multiply-adds among all instructions; among vector and floating-point arithmetic (moves and spills count as
 * arithmetic here: they are work that computes nothing; loads that feed do not). 0 when there are none. */
double tc_cg_fma_share(const tc_cg_mix *m);
double tc_cg_fma_purity(const tc_cg_mix *m);

/* A few lines for people; each begins with `prefix`. */
void tc_cg_asm_facts_print(const tc_cg_asm_facts *f, const char *prefix, tc_strbuf *b);
/* The text with a margin of two columns: "| " beside the hot loop, else blank. Above it the facts, as comments. */
void tc_cg_asm_mark(const tc_target *t, const char *text, const tc_cg_asm_facts *f, tc_strbuf *b);

#endif
