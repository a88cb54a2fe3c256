/* Private to the reading of assembly: what one instruction is. */
#ifndef TC_CODEGEN_ASSEMBLY_ASM_INT_H
#define TC_CODEGEN_ASSEMBLY_ASM_INT_H

#include "codegen/assembly/asm_facts.h"

typedef enum asm_kind {
    ASM_OTHER,
    ASM_FMA,
    ASM_ARITH,
    ASM_LOAD,
    ASM_BCAST, /* loads one element */
    ASM_STORE,
    ASM_MOVE,
    ASM_SCALAR,
    ASM_PREFETCH
} asm_kind;

typedef struct asm_op {
    asm_kind kind;
    int bits; /* of the widest vector register; 0: it has none */
    bool folded, masked;
    uint32_t writes; /* vector registers, by number */
} asm_op;

typedef struct asm_isa {
    const char *comment; /* what comments begin with */
    void (*classify)(const tc_target *t, const char *mnemonic, const char *operands, asm_op *op);
} asm_isa;

/* NULL for a target without rules. */
const asm_isa *tc_cg_asm_isa(const tc_target *t);

#endif
