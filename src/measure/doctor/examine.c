/* All checks, in order. */
#include <time.h>

#include "measure/doctor/doctor.h"

/* Long enough for the system's ticks, of which there are a hundred a second. */
static void rest(void) {
    nanosleep(&(struct timespec){.tv_nsec = 800000000}, NULL);
}

static tc_doctor_measured measure(tc_doctor *d, const tc_target *t) {
    tc_doctor_ticks first = tc_doctor_read_ticks("");
    rest();
    tc_doctor_ticks idle = tc_doctor_read_ticks("");
    tc_doctor_measured m = tc_doctor_measure(t);
    tc_doctor_ticks busy = tc_doctor_read_ticks("");
    tc_doctor_judge_load(d, &first, &idle);
    tc_doctor_judge_steal(d, &first, &busy);
    tc_doctor_judge_measured(d, &m);
    return m;
}

tc_doctor_measured tc_doctor_examine(tc_doctor *d, const tc_target *t, bool quick) {
    tc_doctor_process p = tc_doctor_ask_process(t, d->arena);
    tc_doctor_read_system(d, "");
    tc_doctor_read_limits(d, "");
    tc_doctor_judge_process(d, "", &p);
    return quick ? (tc_doctor_measured){0} : measure(d, t);
}
