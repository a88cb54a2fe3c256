/* src/tir_lower/passes/units owns the passes that find instructions: *tile* (tile registers), *dot* (dot products),
 * *fma* (fused multiply-adds). Not here: the table of instructions (src/te/intrinsics.def).
 *
 * This header is what the files of *tile* share. */
#ifndef TC_TIR_LOWER_PASSES_UNITS_TILE_INT_H
#define TC_TIR_LOWER_PASSES_UNITS_TILE_INT_H

#include "tir_lower/passes/pass.h"

/* Gives the loops of units constant extents where guards are left in them; TC_ILLEGAL where an edge's shape depends on the loops
 * around. */
tc_status tir_settle_unit_guards(tc_ctx *c, const tc_stmt *body, const tc_stmt **out, tc_error *err);

#endif
