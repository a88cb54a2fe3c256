/* src/measure/machine owns what this machine can do, found by running: the peaks of its cores and units (peak.h), its
 * memory, its last cache (caches.h), the cost of a fork; whether it is quiet and how fast from moment to moment
 * (probe.h); counters of processor and kernel. Not here: advice on what to change (src/measure/doctor).
 *
 * This header: a machine's peaks and bandwidths over footprints, found once and told to those who are elsewhere. Who is
 * on the machine measures the peak beside the kernel instead (peak.h), since machines drift. */
#ifndef TC_MEASURE_MACHINE_RATES_H
#define TC_MEASURE_MACHINE_RATES_H

#include "codegen/target/target.h"
#include "measure/machine/caches.h"
#include "measure/machine/peak.h"

enum { TC_MEAS_RATES = 16 /* footprints at most */ };

/* Zero-initialised, with an isa of "" or NULL, is a machine of which nothing is known. */
typedef struct tc_meas_rates {
    tc_meas_peak peak;                /* of all its threads; what is 0 is not known */
    int n;                            /* footprints, */
    tc_meas_stream at[TC_MEAS_RATES]; /* each larger than the one before it; a rate of 0 is not known */
} tc_meas_rates;

/* Of t, which is this machine, on its cores, in about a second: the units that it has, and footprints from half of the cores' first
 * caches to the last one; beyond that memory is read as walks found, and what writing does to it is not known. */
tc_meas_rates tc_meas_measure_rates(const tc_target *t, const tc_meas_caches *c);

/* The bandwidth at the footprint nearest to so many bytes, by their ratio. bytes 0: none is known. */
tc_meas_stream tc_meas_rates_at(const tc_meas_rates *r, double bytes);

#endif
