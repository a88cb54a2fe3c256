/* Limits of the machine: how long each of them takes for what the schedule asks of it. Rates are measured here and now. What
 * the schedule asks for is counted in its program. */
#include <math.h>

#include "measure/machine/peak.h"
#include "te/unit_gain.h"
#include "tune/explain/explain_int.h"

static void put(tc_tune_explanation *x, const char *name, const char *how, double seconds) {
    if (x->nlimit < TC_TUNE_LIMITS && seconds > 0 && isfinite(seconds))
        x->limit[x->nlimit++] = (tc_tune_limit){name, how, seconds};
}

static double total(const tc_cost_rows *r, int column) {
    double sum = 0;
    for (int i = 0; i < r->nrow; i++)
        sum += tune_feature(r->data + (size_t)i * TC_COST_NFEATURE, column);
    return sum;
}

/* Bytes from a level whose rate is that of passes over `footprint`. */
static void put_level(const field *f, tc_tune_explanation *x, const char *name, double bytes, double footprint) {
    static const double seconds = 0.15;
    tc_meas_stream s = tc_meas_measure_stream(f->o->target->machine.cores, (int64_t)footprint, seconds);
    put(x, name, "bytes counted, rate measured", bytes / (TC_MAX(s.read_gbs, s.triad_gbs) * 1e9));
}

static void put_memory(const field *f, tc_tune_explanation *x) {
    const tc_machine *m = &f->o->target->machine;
    const tc_cost_rows *r = &x->side.features;
    double cores = TC_MAX(1, m->cores), last = (double)TC_MAX(m->l2 * m->cores, m->l3);
    bool cold = f->o->mode == TC_MEAS_COLD;
    put_level(f, x, "L2", cores * total(r, TC_COST_L1_TRAFFIC), cores * (double)m->l2 / 2);
    if ((double)m->l3 > cores * (double)m->l2 * 1.5 && x->roof.bytes > cores * (double)m->l2)
        put_level(f, x, "L3", cores * total(r, TC_COST_L2_TRAFFIC), (cores * (double)m->l2 + (double)m->l3) / 2);
    if (cold || x->roof.bytes > last)
        put(x, "memory", "bytes counted, rate measured", x->roof.bytes / (x->roof.bandwidth_gbs * 1e9));
}

/* Two loads and a store a cycle, beside two multiply-adds, whose rate says how long a cycle is. */
static void put_ports(const field *f, tc_tune_explanation *x) {
    enum { LOADS = 2, FMAS = 2 };
    const tc_machine *m = &f->o->target->machine;
    double lanes = m->vector_bytes / 4.0, cycle = m->cores * FMAS * 2 * lanes / (x->roof.peak_gflops * 1e9);
    if (x->roof.unit || !m->fma)
        return;
    double loads = total(&x->side.features, TC_COST_VEC_LOAD), stores = total(&x->side.features, TC_COST_VEC_STORE);
    put(x, "load and store ports", "instructions counted", cycle * TC_MAX(loads / LOADS, stores) / m->cores);
}

void tune_limits(const field *f, tc_tune_explanation *x) {
    put(x, x->roof.unit ? x->roof.unit->text : "multiply-adds", "operations counted, rate measured",
        x->roof.flops / (x->roof.peak_gflops * 1e9));
    put_ports(f, x);
    put_memory(f, x);
    if (f->fork > 0)
        put(x, "fork and barrier", "loops counted, cost measured", f->own.regions * f->fork);
    x->binds = -1;
    for (int i = 0; i < x->nlimit; i++)
        if (x->binds < 0 || x->limit[i].seconds > x->limit[x->binds].seconds)
            x->binds = i;
}
