/* What the units of intrinsics.def can do on this machine, measured. Kernels of bytes and bf16 are shown as shares of it, as
 * kernels of f32 are shown as shares of the multiply-adds (peak.h). */
#ifndef TC_MEASURE_MACHINE_UNIT_PEAK_H
#define TC_MEASURE_MACHINE_UNIT_PEAK_H

#include "codegen/target/target.h"
#include "measure/machine/peak.h"

/* Appends a lowered program (tir_lower/tir.h) that does `steps` times as many independent ones of the instruction as
 * tc_meas_unit_sums says, on operands in registers. */
void tc_meas_unit_program(const tc_intrinsic *unit, int64_t steps, tc_strbuf *text);
int tc_meas_unit_sums(const tc_intrinsic *unit);

/* Measures the unit's rate on p->threads threads, in about `seconds`, and keeps the larger one. t is this machine; a unit that it
 * lacks, or NULL, stays unknown. */
void tc_meas_peak_raise_unit(tc_meas_peak *p, const tc_target *t, const tc_intrinsic *unit, double seconds);

/* Each unit of the set once, in about `seconds` each. */
void tc_meas_peak_raise_units(tc_meas_peak *p, const tc_target *t, tc_intrinsic_set units, double seconds);

/* GOP/s of what bounds sums that the unit can take: of the unit; of f32's multiply-adds where that is not known, or unit is
 * NULL. */
double tc_meas_peak_of(const tc_meas_peak *p, const tc_intrinsic *unit);

#endif
