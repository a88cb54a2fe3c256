/* What mode.h describes. */
#include "tune/kernel/mode.h"

#include <math.h>

#include "search_space/alternatives/alternatives.h"
#include "support/vec.h"

/* The other half is for what the kernel reads and writes besides, and for whoever else uses the cache. Chosen; not measured
 * apart. */
static const double constants_share = 0.5;

tc_meas_mode tc_tune_mode_by_size(double constant_bytes, const tc_machine *m) {
    int64_t last = TC_MAX(TC_MAX(m->l1, m->l2), m->l3);
    return constant_bytes > constants_share * (double)last ? TC_MEAS_COLD : TC_MEAS_HOT;
}

static double largest_constants(const tc_workload *w) {
    double most = tc_te_constant_bytes_read(w);
    tc_ctx *c = tc_ctx_new();
    tc_space_alternative_list l = tc_space_alternatives(c, tc_te_canonical(c, w), TC_ACCURACY_FAST);
    for (int i = 0; i < l.n; i++)
        most = fmax(most, tc_te_constant_bytes_read(l.data[i].workload));
    tc_ctx_free(c);
    return most;
}

tc_meas_mode tc_tune_mode(tc_tune_timing asked, const tc_workload *w, const tc_machine *m) {
    if (asked != TC_TUNE_AUTO)
        return asked == TC_TUNE_COLD ? TC_MEAS_COLD : TC_MEAS_HOT;
    return tc_tune_mode_by_size(largest_constants(w), m);
}
