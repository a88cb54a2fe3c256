/* The table of loop kinds. */
#include "schedule_primitives/schedule.h"

enum {
#define LOOP(id, prim, is, text, inside) id = 1 << TC_FOR_##id,
#include "schedule_primitives/loop_kinds.def"
#undef LOOP
};

static const tc_for_info INFO[TC_NFORS] = {
#define LOOP(id, prim, is, text, inside) [TC_FOR_##id] = {prim, is, text, inside},
#include "schedule_primitives/loop_kinds.def"
#undef LOOP
};

const tc_for_info *tc_for_info_of(tc_for_kind kind) {
    return &INFO[kind];
}

bool tc_for_may_contain(tc_for_kind outer, tc_for_kind inner) {
    return INFO[outer].inside >> inner & 1;
}
