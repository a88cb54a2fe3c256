/* The roofs of kernels (Williams et al. 2009): the rate of multiply-adds, the rate of the units that multiply narrow types, and the
 * bandwidth of each level of memory. The roofs are measured if the records were made on this machine. Else a document from the
 * other machine may give its peak and the bandwidth of its memory; its caches then have no roof. */
#include <math.h>
#include <string.h>

#include "measure/machine/caches.h"
#include "measure/machine/unit_peak.h"
#include "report/page/page_int.h"
#include "report/report.h"
#include "te/unit_gain.h"

static const double level_seconds = 0.1, unit_seconds = 0.1;

/* ---- measured ---- */

static void add_level(page_roofs *r, const char *name, int64_t bytes, int64_t footprint, int threads) {
    tc_meas_stream s = tc_meas_measure_stream(threads, footprint, level_seconds);
    r->level[r->nlevel++] = (page_level){name, bytes, TC_MAX(s.read_gbs, s.triad_gbs)};
}

/* A level that is no larger than the level before it gives no new information. Earlier walks have found the real size of the last
 * cache, and the bandwidth of the memory behind it. */
static void measure(page *p) {
    const tc_machine *m = &p->target->machine;
    tc_meas_caches c = tc_meas_known_caches(m);
    const struct {
        const char *name;
        int64_t bytes;
    } caches[] = {{"L1", m->l1 * p->threads}, {"L2", m->l2 * p->threads}, {"L3", c.last}};
    page_roofs *r = &p->roofs;
    int64_t held = 0;
    r->from = "measured";
    r->peak = tc_meas_measure_peak(p->threads, 0);
    tc_meas_peak_raise_units(&r->peak, p->target, m->intrinsics, unit_seconds);
    for (size_t i = 0; i < TC_LEN(caches); i++)
        if (caches[i].bytes > held) {
            held = caches[i].bytes;
            add_level(r, caches[i].name, held, held / 2, p->threads);
        }
    r->level[r->nlevel++] = (page_level){"memory", 0, c.memory_gbs > 0 ? c.memory_gbs : r->peak.triad_gbs};
}

/* ---- of a document ---- */

static bool of_document(page *p, const json_t *d) {
    const json_t *j = json_object_get(d, "document"), *units = json_object_get(j, "unit_peaks");
    double peak = json_number_value(json_object_get(j, "peak_gflops")),
           triad = json_number_value(json_object_get(j, "triad_gbs"));
    const char *isa = json_string_value(json_object_get(j, "isa"));
    if (!(peak > 0) || !(triad > 0) || json_integer_value(json_object_get(j, "threads")) != p->threads)
        return false;
    page_roofs *r = &p->roofs;
    r->from = json_string_value(json_object_get(d, "file"));
    r->peak = (tc_meas_peak){.threads = p->threads, .isa = isa ? isa : "", .f32_gflops = peak, .triad_gbs = triad};
    for (int i = 0; i < TC_NINTRINSICS; i++)
        r->peak.unit_gops[i] = json_number_value(json_object_get(units, tc_intrinsic_row((tc_intrinsic_id)i)->text));
    r->level[r->nlevel++] = (page_level){"memory", 0, triad};
    return true;
}

void page_find_roofs(page *p) {
    const json_t *d;
    size_t i;
    if (p->target && p->target->native && !p->o->quick) {
        measure(p);
        return;
    }
    json_array_foreach(p->documents, i, d) {
        if (of_document(p, d))
            return;
    }
    p->roofs.why = !p->target           ? p->target_why
                   : !p->target->native ? "the records are of another machine: nothing was measured here"
                                        : "nothing was measured (--quick)";
}

json_t *page_tell_roofs(const page_roofs *r) {
    if (!r->from)
        return tc_json_pack("{s:n,s:s}", "from", "why", r->why);
    json_t *levels = tc_json_array();
    for (int i = 0; i < r->nlevel; i++)
        tc_json_append(levels, tc_json_pack("{s:s,s:I,s:f}", "name", r->level[i].name, "bytes", (json_int_t)r->level[i].bytes,
                                            "gbs", r->level[i].gbs));
    return tc_json_pack("{s:s,s:i,s:s,s:f,s:o,s:o}", "from", r->from, "threads", r->peak.threads, "isa", r->peak.isa,
                        "f32_gflops", r->peak.f32_gflops, "unit_peaks", tc_report_units(&r->peak), "levels", levels);
}

/* ---- of a kernel ---- */

static bool is_cold(const tc_workload *w, tc_meas_mode mode) {
    return mode == TC_MEAS_COLD && tc_te_constant_bytes_read(w) > 0;
}

double page_traffic(const tc_workload *w, tc_meas_mode mode) {
    return is_cold(w, mode) ? tc_te_constant_bytes_read(w) : tc_te_bytes_moved(w);
}

/* The level of memory that holds the kernel's data; NULL: its bandwidth is not known. */
static const page_level *level_of(const page *p, double bytes, bool cold) {
    const page_roofs *r = &p->roofs;
    const tc_machine *m = &p->target->machine;
    if (!cold && r->nlevel == 1) /* memory alone, which says nothing of what caches hold */
        return bytes > (double)TC_MAX(m->l3, m->l2 * p->threads) ? &r->level[0] : NULL;
    for (int i = 0; i < r->nlevel && !cold; i++)
        if (r->level[i].bytes && bytes <= (double)r->level[i].bytes)
            return &r->level[i];
    return &r->level[r->nlevel - 1];
}

double page_roof(const page *p, const tc_workload *w, tc_meas_mode mode, const char **bound) {
    *bound = NULL;
    if (!p->roofs.from || !p->target)
        return NAN;
    double bytes = page_traffic(w, mode), peak = tc_meas_peak_of(&p->roofs.peak, tc_te_unit(w, p->target->machine.intrinsics));
    double arithmetic = tc_te_flops(w) / (peak * 1e9);
    const page_level *l = level_of(p, bytes, is_cold(w, mode));
    double moving = l ? bytes / (l->gbs * 1e9) : 0;
    *bound = moving > arithmetic ? l->name : "arithmetic";
    return fmax(moving, arithmetic);
}
