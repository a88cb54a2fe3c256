/* src/tir_lower/build owns the step from a schedule to an annotated nest: bound inference, regions, guards, storage;
 * and constants packed as the nest reads them. Not here: the passes that follow (src/tir_lower/passes). */
#ifndef TC_TIR_LOWER_BUILD_BUILD_H
#define TC_TIR_LOWER_BUILD_BUILD_H

#include "tir_lower/tir.h"

/* Annotated loop nest of a schedule. TC_ILLEGAL when the schedule cannot be lowered (attach cycles, a region that is not a box,
 * vectorised reduction, workspace over `max_workspace` bytes): err says why. The function lives in s->ctx. */
TC_NODISCARD tc_status tc_tir_build(tc_sched *s, const tc_machine *m, tc_func **out, tc_error *err);
/* Lays a constant out as the packed parameter wants it: src is row-major `param->layout` input, dst has buffer->size elements. */
void tc_tir_pack(const tc_func *f, int param, const void *src, void *dst);
/* Whether that puts the elements of constants of one shape into the same order for packed parameter p of f and q of g, */
bool tc_tir_orders_alike(const tc_func *f, int p, const tc_func *g, int q);
/* and whether it makes the same of the same constant for them. */
bool tc_tir_packs_alike(const tc_func *f, int p, const tc_func *g, int q);

#endif
