/* What the files of tir_lower share and no other folder sees. */
#ifndef TC_TIR_INT_H
#define TC_TIR_INT_H

#include "tir_lower/tir.h"

/* Extents of a layout's physical coordinates for logical extents `shape`. */
void tir_layout_extents(const tc_layout *l, const int64_t *shape, int64_t *out);

/* A symbol's value: the variable, or the only one that it has. */
const tc_expr *tir_symbol(tc_ctx *c, const tc_var *v);
/* x * scale, as indices write it: symbols in `scale`, and an atom of another form before it. NULL as scale: x. */
const tc_expr *tir_scaled(tc_ctx *c, const tc_expr *x, const tc_expr *scale);

#endif
