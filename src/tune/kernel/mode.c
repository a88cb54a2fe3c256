/* What mode.h describes. */
#include "tune/kernel/mode.h"

#include <math.h>
#include <string.h>

#include "measure/machine/caches.h"
#include "search_space/alternatives/alternatives.h"
#include "support/vec.h"

/* The other half is for what the kernel reads and writes besides, and for whoever else uses the cache. Chosen; not measured
 * apart. */
static const double constants_share = 0.5;

tc_status tc_tune_timing_parse(const char *name, tc_tune_timing *out, tc_error *err) {
    static const char *const names[] = {[TC_TUNE_AUTO] = "auto", [TC_TUNE_HOT] = "hot", [TC_TUNE_COLD] = "cold"};
    for (size_t i = 0; i < TC_LEN(names); i++)
        if (strcmp(name, names[i]) == 0) {
            *out = (tc_tune_timing)i;
            return TC_OK;
        }
    return tc_fail(err, TC_BAD_INPUT, "mode must be auto, hot or cold, not '%s'", name);
}

static int64_t last_cache(const tc_machine *m) {
    return TC_MAX(TC_MAX(m->l1, m->l2), m->l3);
}

tc_meas_mode tc_tune_mode_by_size(double constant_bytes, double network, const tc_machine *m) {
    double last = (double)last_cache(m), own = (double)TC_MAX(m->l1, m->l2);
    bool cold = constant_bytes > constants_share * last || (network > last && constant_bytes > own);
    return cold ? TC_MEAS_COLD : TC_MEAS_HOT;
}

tc_machine tc_tune_machine(const tc_target *t, int threads, double constants) {
    tc_machine m = t->machine;
    m.cores = threads;
    if (t->native && constants > (double)TC_MAX(m.l1, m.l2))
        m.l3 = tc_meas_known_caches(&m).last;
    return m;
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

tc_meas_mode tc_tune_mode(tc_tune_timing asked, const tc_workload *w, double network, const tc_machine *m) {
    if (asked != TC_TUNE_AUTO)
        return asked == TC_TUNE_COLD ? TC_MEAS_COLD : TC_MEAS_HOT;
    return tc_tune_mode_by_size(largest_constants(w), network, m);
}
