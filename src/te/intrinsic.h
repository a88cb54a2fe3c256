/* What is known of instructions that do more than one operation per lane: the table intrinsics.def, a row per form. The pass that
 * makes DOTs, the sketches that lay operands out for them, both interpreters and code generation ask here. */
#ifndef TC_TE_INTRINSIC_H
#define TC_TE_INTRINSIC_H

#include "te/dtype.h"

typedef enum tc_intrinsic_id {
#define INTRINSIC(id, acc, a, b, group, lanes, feature, llvm) TC_INTRINSIC_##id,
#include "te/intrinsics.def"
#undef INTRINSIC
    TC_NINTRINSICS
} tc_intrinsic_id;

/* A row; see intrinsics.def. */
typedef struct tc_intrinsic {
    tc_dtype acc, a, b;
    int group, lanes;
    const char *feature, *llvm;
} tc_intrinsic;

/* Sets of rows, a bit per id. */
typedef uint32_t tc_intrinsic_set;
#define TC_INTRINSICS_ALL (((tc_intrinsic_set)1 << TC_NINTRINSICS) - 1)

const tc_intrinsic *tc_intrinsic_row(tc_intrinsic_id id);
/* The first row of the set that adds products of x and y, in either order, to acc; NULL: there is none. */
const tc_intrinsic *tc_intrinsic_of(tc_intrinsic_set set, tc_dtype acc, tc_dtype x, tc_dtype y);

#endif
