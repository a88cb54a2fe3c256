/* What the units of intrinsics.def gain on multiply-adds of floats. */
#ifndef TC_TE_UNIT_GAIN_H
#define TC_TE_UNIT_GAIN_H

#include "te/intrinsic.h"
#include "te/te.h"

/* The unit of the set that gains most on sums of w; NULL: none takes any. */
const tc_intrinsic *tc_te_unit(const tc_workload *w, tc_intrinsic_set set);

/* How much faster than with multiply-adds of floats the sums of w can be with a unit of the set: 1 where none takes them. */
double tc_te_unit_gain(const tc_workload *w, tc_intrinsic_set set);

#endif
