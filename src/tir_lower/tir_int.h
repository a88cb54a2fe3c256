/* What the files of tir_lower share and no other folder sees. */
#ifndef TC_TIR_INT_H
#define TC_TIR_INT_H

#include "tir_lower/tir.h"

/* Extents of a layout's physical coordinates for logical extents `shape`. */
void tir_layout_extents(const tc_layout *l, const int64_t *shape, int64_t *out);

#endif
