/* The reference interpreter's program: three-address code over registers of LANES values, one program per compute. A lane is
 * an output element or a point of the reduction. Every instruction runs over all lanes before the next one starts, so they
 * share the cost of dispatch. Instructions that do not depend on reduction axes come first, and run once per block of outputs. */
#ifndef TC_TE_INTERP_INT_H
#define TC_TE_INTERP_INT_H

#include "te/te_int.h"

enum { LANES = 128 };

typedef tc_scalar cell;

typedef cell lanes[LANES];

typedef struct insn {
    tc_op op;       /* READ, SELECT, CAST, FMA, or any unary or binary operation */
    tc_dtype dtype; /* of the result; of a comparison: of the operands */
    tc_dtype from;  /* CAST: of the operand */
    int dst, a, b, c;
    int mask; /* READ: register of the lanes in which it really happens, -1: all */
    const tc_expr *read;
    int idx[TC_MAX_DIMS]; /* READ: registers of the indices */
} insn;

typedef struct program {
    const tc_compute *op;
    int nreg;
    lanes *reg;
    int nonce, ncode; /* code[0..nonce) is free of reduction axes */
    insn *code;
    int axis[TC_MAX_DIMS], *raxis; /* registers of the axis variables; -1: not used */
    int body[TC_MAX_OUTS];
} program;

void te_program_compile(program *p, const tc_compute *op);
void te_program_free(program *p);

/* Runs one instruction other than READ over n lanes. */
void te_insn_run(const insn *k, lanes *reg, int n);
/* Loads the elements at offsets into dst. */
void te_gather(tc_dtype t, const void *base, const int64_t *offset, cell *dst, int n);
void te_scatter(tc_dtype t, void *base, const int64_t *offset, const cell *src, int n);

#endif
