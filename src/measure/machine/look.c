/* The reference, run by this process: how the machine does at this moment. */
#include "codegen/artefacts/runtime.h"
#include "measure/machine/drift.h"
#include "measure/machine/known.h"
#include "measure/machine/peak.h"
#include "measure/records/record.h"
#include "support/log.h"
#include "support/vec.h"

enum {
    REPEATS = 5,
    REFERENCES = 48 /* of a repeat: it lasts as long as a sample of a candidate, 2 ms */
};

static void reference(int64_t begin, int64_t end, int32_t thread, void *closure) {
    (void)begin, (void)end, (void)thread, (void)closure;
    tc_meas_reference_work();
}

/* Seconds of each reference of a repeat, on all threads; returns those of all. */
static double repeat(const tc_rt *rt, double *each) {
    double sum = 0;
    for (int i = 0; i < REFERENCES; i++) {
        double start = tc_now();
        rt->parallel_for(rt, rt->nthreads, reference, NULL);
        each[i] = tc_now() - start;
        sum += each[i];
    }
    return sum;
}

/* Returns the seconds of the reference. */
static double look_once(tc_meas_drift *d, const tc_rt *rt) {
    double each[REPEATS * REFERENCES], times[REPEATS];
    for (int i = 0; i < REPEATS; i++)
        times[i] = repeat(rt, &each[i * REFERENCES]);
    double reference = tc_meas_median(each, TC_LEN(each));
    tc_meas_drift_add(d, reference, times, REPEATS);
    return reference;
}

void tc_meas_drift_look(tc_meas_drift *d, int threads) {
    double woken[REFERENCES], reference[TC_MEAS_DRIFT_WINDOW / 2];
    tc_rt rt = tc_cg_measuring_runtime(threads);
    repeat(&rt, woken); /* the team is made, or wakes */
    for (int i = 0; i < TC_MEAS_DRIFT_WINDOW / 2; i++)
        reference[i] = look_once(d, &rt);
    double known = tc_meas_note(TC_MEAS_KNOWN_LOOK, "", threads, 1 / tc_meas_median(reference, TC_LEN(reference)));
    d->quiet = known > 0 ? 1 / known : 0;
}

void tc_meas_unrest_look(tc_meas_unrest *u, int threads) {
    tc_meas_drift d = {0};
    tc_meas_drift_look(&d, threads);
    tc_meas_calm now = tc_meas_drift_state(&d);
    tc_meas_unrest_add(u, &now);
}
