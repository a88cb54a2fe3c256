/* Describes the machine, and finds conditions that disturb measurements (include/tctune/machine.h). */
#include "api/api_int.h"
#include "measure/machine/unit_peak.h"

const char *tctune_llvm_version(void) {
    return tc_cg_llvm_version();
}

/* ---- what it can do ---- */

static tc_meas_peak measure(const tc_target *t) {
    tc_meas_peak p = tc_meas_measure_peak(t->machine.cores, 0);
    tc_meas_peak_raise_units(&p, t, t->machine.intrinsics, 0.1);
    return p;
}

static tc_status describe(const tctune_machine_options *options, char **json, tc_error *err) {
    tctune_machine_options o;
    tc_target *t;
    TC_TRY(API_OPTIONS(o, options, err));
    TC_TRY((o.measure ? api_target_here : api_target)(o.target, o.threads, &t, err));
    tc_meas_peak peak = o.measure ? measure(t) : (tc_meas_peak){0};
    tc_status s = tc_report_text(tc_report_machine(t, &peak), json, err);
    tc_target_free(t);
    return s;
}

tctune_status tctune_machine(const tctune_machine_options *options, char **json, char *error, size_t error_size) {
    API_DOCUMENT(err, error, error_size, json, describe(options, json, &err));
}

/* ---- the doctor ---- */

static tc_status examine(const tctune_doctor_options *options, char **json, tc_error *err) {
    tctune_doctor_options o;
    tc_target *t;
    TC_TRY(API_OPTIONS(o, options, err));
    TC_TRY(api_target_here(NULL, o.threads, &t, err));
    tc_doctor d = {.arena = tc_arena_new()};
    tc_doctor_measured m = tc_doctor_examine(&d, t, o.quick != 0);
    tc_status s = tc_report_text(tc_report_doctor(&d, &m), json, err);
    tc_target_free(t);
    tc_doctor_free(&d);
    tc_arena_free(d.arena);
    return s;
}

tctune_status tctune_doctor(const tctune_doctor_options *options, char **json, char *error, size_t error_size) {
    API_DOCUMENT(err, error, error_size, json, examine(options, json, &err));
}
