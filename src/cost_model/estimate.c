/* A simple throughput model of one store: what the features call "estimate". Not meant to be exact; it gives the trees one column
 * that is nearly monotone in time, and ranks programs while no model is trained.
 *
 * The port counts and latencies are those of the cores we tune for first (AVX-512 x86: one or two vector operations, two loads and
 * one store a cycle, 4 cycles of latency for a fused multiply-add); the bandwidths are a core's sustained bytes per cycle, rounded
 * down. ARITH_PORTS was 2 at first; nobody recorded on which kernels it was calibrated to 1.5. Constants marked "chosen" were not
 * measured by themselves. */
#include "cost_model/nest.h"

#include <math.h>

static const double ARITH_PORTS = 1.5, LOAD_PORTS = 2, FMA_LATENCY = 4;
static const double BRANCH_CYCLES = 1.5;                    /* counting, comparing, jumping: chosen */
static const double LEVEL_BYTES_PER_CYCLE[3] = {32, 24, 6}; /* into l1, l2, l3 */
static const double REGION_CYCLES = 4000;                   /* starting and joining a team: about a microsecond */
static const double OVERLAP = 0.15;       /* share of the shorter of compute and memory that is not hidden: chosen */
static const double INDEX_DIV_CYCLES = 4; /* chosen */
enum { MEMORY_CORES = 4 };                /* that many saturate the memory: chosen */

/* Multiplications of tiles beside the loads and stores that feed them. */
static double tile_cycles(const store_site *s, const row_facts *r) {
    double multiply = s->arith_plain * s->tiles->cycles;
    if (s->tiles->place == TC_UNIT_BLOCK && r->accumulators > 0) /* chained ones wait, as in vectors */
        multiply = TC_MAX(multiply, s->arith_plain * FMA_LATENCY / r->accumulators);
    double move = r->loads * s->tiles->load + r->stores * s->tiles->store;
    return TC_MAX(multiply, move) + OVERLAP * TC_MIN(multiply, move);
}

double estimate_compute(const nest *n, const store_site *s, const row_facts *r) {
    if (s->tiles)
        return (tile_cycles(s, r) + BRANCH_CYCLES * r->branches) * r->imbalance / n->m->cores;
    double arith = s->arith / ARITH_PORTS;
    if (s->accumulates && r->accumulators > 0 && r->acc_trips > 1)
        arith = TC_MAX(arith, s->arith_plain * FMA_LATENCY / TC_MAX(r->accumulators, 1));
    double spilled = TC_MAX(0, r->live - n->m->vector_regs), bands = r->body > 0 ? (s->arith_plain + r->loads) / r->body : 0;
    double loads = (r->loads + spilled * bands) / LOAD_PORTS, stores = r->stores + spilled * bands;
    double cycles = TC_MAX(arith, TC_MAX(loads, stores)) + BRANCH_CYCLES * r->branches + INDEX_DIV_CYCLES * s->index_div;
    return cycles * r->imbalance / n->m->cores;
}

double estimate_memory(const row_facts *r) {
    double most = 0;
    for (int i = 0; i < 3; i++) {
        double cores = TC_MAX(TC_MIN(r->cores, i == 2 ? MEMORY_CORES : r->cores), 1);
        most = TC_MAX(most, r->traffic[i] / LEVEL_BYTES_PER_CYCLE[i] / cores);
    }
    return most;
}

double tc_cost_region(void) {
    return REGION_CYCLES;
}

double estimate_total(const nest *n, double compute, double memory, const row_facts *r) {
    double region = n->m->cores == 1 ? 0 : REGION_CYCLES; /* one thread is no team */
    return TC_MAX(compute, memory) + OVERLAP * TC_MIN(compute, memory) + region * r->regions;
}
