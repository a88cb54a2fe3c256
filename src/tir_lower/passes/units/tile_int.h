/* What the files of the pass tile share. */
#ifndef TC_TIR_LOWER_PASSES_UNITS_TILE_INT_H
#define TC_TIR_LOWER_PASSES_UNITS_TILE_INT_H

#include "tir_lower/passes/pass.h"

/* Gives the loops of units constant extents where guards are left in them; TC_ILLEGAL where an edge's shape depends on the loops
 * around. */
tc_status tir_settle_unit_guards(tc_ctx *c, const tc_stmt *body, const tc_stmt **out, tc_error *err);

#endif
