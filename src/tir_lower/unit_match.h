/* Loop nests matched with the table of instructions: do the loops that a schedule gives to a unit compute what the unit
 * computes, on operands that lie as it wants them? */
#ifndef TC_TIR_UNIT_MATCH_H
#define TC_TIR_UNIT_MATCH_H

#include "te/index/affine.h"
#include "tir_lower/tir.h"

/* Elements of a buffer in the order of a row of intrinsics.def: `stride` from row to row of acc and a, from group to group of b. */
typedef struct tir_operand {
    const tc_buffer *buffer;
    const tc_expr *base; /* of its first element, without the unit's loops */
    int64_t stride;
} tir_operand;

/* What a nest of TENSOR loops does. */
typedef struct tir_unit_nest {
    const tc_intrinsic *unit; /* NULL: it sets acc to zero, before a unit adds to it */
    int m, n, k;
    tir_operand acc, a, b;
} tir_unit_nest;

/* Reads the nest of loops that stand for a unit's m (where it has more than one), n and k, outermost first, and the store in them;
 * with `guarded` also guards between them. `env` learns the loops' ranges. False: `why` (may be NULL) says what does not fit. */
bool tir_match_unit(tc_ctx *c, tc_env *env, const tc_stmt *s, const tc_intrinsic *unit, bool guarded, tir_unit_nest *out,
                    tc_error *why);

#endif
