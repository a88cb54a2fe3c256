/* Describes the measured limits of a machine, which reports print beside times. */
#include "measure/machine/caches.h"
#include "report/report.h"

json_t *tc_report_units(const tc_meas_peak *p) {
    json_t *j = tc_json_object();
    for (int i = 0; i < TC_NINTRINSICS; i++)
        if (p->unit_gops[i] > 0)
            tc_json_set(j, tc_intrinsic_row((tc_intrinsic_id)i)->text, tc_json_real(p->unit_gops[i]));
    return j;
}

json_t *tc_report_unit(const tc_intrinsic *unit) {
    return unit ? tc_json_string(unit->text) : json_null();
}

static bool caches_of(int threads, tc_meas_caches *c) {
    tc_target *t;
    tc_error why = {0};
    if (tc_target_parse("native", &t, &why) != TC_OK)
        return false;
    t->machine.cores = threads;
    bool kept = tc_meas_kept_caches(&t->machine, c);
    tc_target_free(t);
    return kept;
}

json_t *tc_report_caches(int threads) {
    tc_meas_caches c;
    if (!caches_of(threads, &c))
        return json_null();
    json_t *walk = tc_json_array();
    for (int i = 0; i < c.n; i++)
        tc_json_append(walk, tc_json_pack("{s:I, s:f}", "bytes", (json_int_t)c.walk[i].bytes, "line_ns", c.walk[i].ns));
    return tc_json_pack("{s:I, s:I, s:i, s:f, s:o}", "reported_bytes", (json_int_t)c.reported, "measured_bytes",
                        (json_int_t)c.last, "walks", c.walks, "memory_gbs", c.memory_gbs, "walk", walk);
}

void tc_report_unrest(json_t *j, const tc_meas_unrest *u) {
    bool some = u->moments > 0, busy = tc_meas_is_restless(u);
    tc_strbuf text = {0};
    tc_meas_unrest_text(u, &text);
    tc_json_set(j, "busy", json_boolean(busy));
    tc_json_set(j, "busy_text", busy ? tc_json_string(tc_sb_str(&text)) : json_null());
    tc_strbuf_free(&text);
    tc_json_set(j, "busy_share", some ? tc_json_real((double)u->rough / u->moments) : json_null());
    tc_json_set(j, "slowdown", some ? tc_json_real(u->slowdown) : json_null());
    tc_json_set(j, "spread", some ? tc_json_real(u->spread) : json_null());
}

json_t *tc_report_peak(const tc_meas_peak *p) {
    return tc_json_pack("{s:i, s:s, s:f, s:f, s:o}", "threads", p->threads, "isa", p->isa, "f32_gflops", p->f32_gflops,
                        "triad_gbs", p->triad_gbs, "unit_peaks", tc_report_units(p));
}

static json_t *units_of(const tc_machine *m) {
    json_t *list = tc_json_array();
    for (int i = 0; i < TC_NINTRINSICS; i++) {
        const tc_intrinsic *row = tc_intrinsic_row((tc_intrinsic_id)i);
        if (tc_intrinsic_in(m->intrinsics, row))
            tc_json_append(list, tc_json_string(row->text));
    }
    return list;
}

json_t *tc_report_machine(const tc_target *t, const tc_meas_peak *p) {
    const tc_machine *m = &t->machine;
    json_t *j = tc_json_pack("{s:s, s:s, s:s, s:s, s:b, s:i}", "target", t->text, "triple", t->triple, "cpu", t->cpu, "features",
                             t->features, "runs_here", t->native, "cores", m->cores);
    tc_json_set(j, "vector_bytes", tc_json_integer(m->vector_bytes));
    tc_json_set(j, "vector_registers", tc_json_integer(m->vector_regs));
    tc_json_set(j, "units", units_of(m));
    tc_json_set(j, "cache_bytes", tc_json_pack("[I, I, I]", (json_int_t)m->l1, (json_int_t)m->l2, (json_int_t)m->l3));
    tc_json_set(j, "line_bytes", tc_json_integer(m->line));
    tc_json_set(j, "caches", t->native ? tc_report_caches(m->cores) : json_null());
    tc_json_set(j, "peak", p->threads ? tc_report_peak(p) : json_null());
    return j;
}
