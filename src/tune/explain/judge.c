/* What the times of the rounds say of each that took part. */
#include "tune/explain/explain_int.h"

void tune_judge(field *f, const double *seconds, int stride, int done, entrant *const *in, int n) {
    double wider = 1 + tc_meas_unrest_error(&f->unrest);
    f->seconds = tc_meas_median(seconds, (size_t)done);
    for (int i = 0; i < n; i++) {
        tc_tune_verdict v = tc_tune_judge(seconds, seconds + (size_t)(i + 1) * (size_t)stride, done, f->o->seed);
        in[i]->t.rounds = done;
        in[i]->t.ratio = v.ratio;
        in[i]->t.low = v.low / wider;
        in[i]->t.high = v.high * wider;
    }
}
