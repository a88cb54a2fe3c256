/* Lookups in the table of instructions. */
#include "te/intrinsic.h"

#include <stddef.h>

static const tc_intrinsic ROWS[TC_NINTRINSICS] = {
#define INTRINSIC(id, acc, a, b, group, lanes, feature, llvm) {TC_##acc, TC_##a, TC_##b, group, lanes, feature, llvm},
#include "te/intrinsics.def"
#undef INTRINSIC
};

const tc_intrinsic *tc_intrinsic_row(tc_intrinsic_id id) {
    return &ROWS[id];
}

const tc_intrinsic *tc_intrinsic_of(tc_intrinsic_set set, tc_dtype acc, tc_dtype x, tc_dtype y) {
    for (int i = 0; i < TC_NINTRINSICS; i++) {
        const tc_intrinsic *r = &ROWS[i];
        if ((set >> i & 1) && r->acc == acc && ((r->a == x && r->b == y) || (r->a == y && r->b == x)))
            return r;
    }
    return NULL;
}
