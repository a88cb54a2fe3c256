/* Measures the roof of each kernel of a model (trace.h). */
#include "graph/model/parts.h"
#include "graph/trials/bench.h"
#include "graph/trials/trace.h"
#include "measure/machine/unit_peak.h"

static const double stream_seconds = 0.05;

/* Footprints of like size live at the same level: each power of two is measured once. */
static double bandwidth(const tc_graph_model *m, double bytes, double *known) {
    int class = 12;
    while (class < 40 && (double)((int64_t)1 << class) < bytes)
        class ++;
    if (!known[class]) {
        tc_meas_stream s = tc_meas_measure_stream(m->threads, (int64_t)1 << class, stream_seconds);
        known[class] = TC_MAX(s.read_gbs, s.triad_gbs);
    }
    return known[class];
}

void tc_graph_measure_roofs(const tc_graph_model *m, tc_graph_roofs *out) {
    double known[41] = {0};
    *out = (tc_graph_roofs){.gbs = tc_xcalloc((size_t)m->nkernel + 1, sizeof *out->gbs),
                            .seconds = tc_xcalloc((size_t)m->nkernel + 1, sizeof *out->seconds)};
    tc_graph_raise_peaks(m, &out->peak);
    for (int i = 0; i < m->nkernel; i++) {
        const tc_graph_kernel *k = &m->kernels[i];
        if (k->bytes <= 0)
            continue;
        out->gbs[i] = bandwidth(m, k->bytes, known);
        out->seconds[i] = TC_MAX(k->bytes / (out->gbs[i] * 1e9), k->flops / (tc_meas_peak_of(&out->peak, k->unit) * 1e9));
    }
}

void tc_graph_roofs_free(tc_graph_roofs *r) {
    free(r->gbs);
    free(r->seconds);
    *r = (tc_graph_roofs){0};
}
