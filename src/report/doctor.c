/* Describes the conditions of this machine that disturb measurements. */
#include "report/report.h"

static int warnings(const tc_doctor *d) {
    int n = 0;
    for (size_t i = 0; i < d->findings.len; i++)
        n += d->findings.data[i].level == TC_DOCTOR_WARNING;
    return n;
}

static json_t *finding(const tc_doctor_finding *f) {
    json_t *j = tc_json_pack("{s:s, s:s, s:s}", "check", tc_doctor_name(f->check), "level", tc_doctor_level_name(f->level),
                             "found", f->text);
    if (*f->remedy)
        tc_json_set(j, "remedy", tc_json_string(f->remedy));
    return j;
}

json_t *tc_report_doctor(const tc_doctor *d, const tc_doctor_measured *m) {
    json_t *list = tc_json_array();
    for (size_t i = 0; i < d->findings.len; i++)
        tc_json_append(list, finding(&d->findings.data[i]));
    json_t *all = tc_json_pack("{s:i, s:o}", "warnings", warnings(d), "findings", list);
    if (m->threads)
        tc_json_set(all, "measured",
                    tc_json_pack("{s:i, s:f, s:f, s:f, s:f, s:f, s:s, s:I, s:I}", "threads", m->threads, "spread", m->spread,
                                 "slowdown", m->slowdown, "one_thread_gflops", m->alone, "peak_gflops", m->peak.f32_gflops,
                                 "triad_gbs", m->peak.triad_gbs, "isa", m->peak.isa, "last_cache_bytes",
                                 (json_int_t)m->caches.last, "last_cache_reported_bytes", (json_int_t)m->caches.reported));
    return all;
}
