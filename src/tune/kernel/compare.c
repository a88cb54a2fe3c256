/* What compare.h describes: lowering each side, feature differences, the roofline, and the statistics of the verdict. */
#include "tune/kernel/compare.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "codegen/code/code.h"
#include "measure/machine/caches.h"
#include "measure/machine/unit_peak.h"
#include "support/vec.h"
#include "te/text.h"
#include "te/unit_gain.h"
#include "tir_lower/program/program.h"
#include "tir_lower/text/text.h"

/* ---- one side ---- */

static tc_status lower(tc_ctx *ctx, const tc_target *t, const char *workload, const char *trace, tc_tune_side *out,
                       tc_error *err) {
    const tc_workload *w;
    tc_tir_program p;
    tc_rng rng = tc_rng_seed(0);
    TC_TRY(tc_te_parse(ctx, "workload", workload, &w, err));
    tc_tir_origin from = {.workload = w, .machine = &t->machine, .text = trace, .name = "schedule", .rng = &rng};
    TC_TRY(tc_tir_program_make(ctx, &from, TC_TIR_HASH | TC_TIR_LOWERED, &p, err));
    out->program = p.hash;
    tc_tir_print(&out->nest, p.nest);
    TC_TRY(tc_cost_features(p.nest, &t->machine, &out->features, err));
    out->cycles = tc_cost_estimate(&out->features);
    const tc_func *funcs[] = {p.lowered};
    return tc_cg_emit_text(t, funcs, NULL, 1, NULL, TC_CG_ASM, &out->assembly, err);
}

tc_status tc_tune_side_make(const tc_target *t, const char *workload, const char *trace, tc_tune_side *out, tc_error *err) {
    tc_ctx *ctx = tc_ctx_new();
    *out = (tc_tune_side){0};
    tc_status s = lower(ctx, t, workload, trace, out, err);
    if (s == TC_OK)
        tc_cg_asm_facts_read(t, tc_sb_str(&out->assembly), &out->facts);
    tc_ctx_free(ctx);
    if (s != TC_OK)
        tc_tune_side_free(out);
    return s;
}

void tc_tune_side_free(tc_tune_side *s) {
    tc_strbuf_free(&s->nest);
    tc_strbuf_free(&s->assembly);
    tc_cg_asm_facts_free(&s->facts);
    tc_cost_rows_free(&s->features);
    *s = (tc_tune_side){0};
}

/* ---- features ---- */

static int by_difference(const void *x, const void *y) {
    const tc_tune_difference *a = x, *b = y;
    double da = fabs(a->a - a->b), db = fabs(b->a - b->b);
    if (a->store != b->store)
        return a->store - b->store;
    return da > db ? -1 : da < db ? 1 : strcmp(a->name, b->name);
}

tc_tune_difference *tc_tune_differences(const tc_tune_side *a, const tc_tune_side *b, int *n, int *unpaired) {
    int rows = TC_MIN(a->features.nrow, b->features.nrow);
    tc_tune_difference *d = tc_xcalloc((size_t)rows * TC_COST_NFEATURE + 1, sizeof *d);
    *n = 0;
    *unpaired = abs(a->features.nrow - b->features.nrow);
    for (int r = 0; r < rows; r++)
        for (int i = 0; i < TC_COST_NFEATURE; i++) {
            double x = (double)a->features.data[r * TC_COST_NFEATURE + i], y = (double)b->features.data[r * TC_COST_NFEATURE + i];
            if (x != y)
                d[(*n)++] = (tc_tune_difference){r, tc_cost_feature_name(i), x, y};
        }
    qsort(d, (size_t)*n, sizeof *d, by_difference);
    return d;
}

/* ---- roofline ---- */

/* Bytes of which nothing is in a cache at the next pass. A virtual machine reports the last cache of its host, many times of what
 * it has. */
static double beyond_caches(const tc_machine *m) {
    enum { BEYOND = 4 /* times the last cache */ };
    int64_t last = tc_meas_known_caches(m).last;
    return BEYOND * (double)TC_MAX(m->l2, last > 0 ? last : m->l3);
}

/* What a call must move. Timed cold, what is not constant was written just before: it is in a cache. */
static double traffic(const tc_workload *w, tc_meas_mode mode) {
    bool cold = mode == TC_MEAS_COLD && tc_te_constant_bytes_read(w) > 0;
    return cold ? tc_te_constant_bytes_read(w) : tc_te_bytes_moved(w);
}

static tc_tune_roof describe(const tc_workload *w, const tc_target *t, tc_meas_mode mode) {
    tc_tune_roof r = {.flops = tc_te_flops(w), .bytes = traffic(w, mode), .unit = tc_te_unit(w, t->machine.intrinsics)};
    r.intensity = r.flops / r.bytes;
    return r;
}

/* Under the two rates. One that is 0 bounds nothing. */
static void place(tc_tune_roof *r) {
    double by_memory = r->bandwidth_gbs > 0 ? r->intensity * r->bandwidth_gbs : INFINITY,
           by_units = r->peak_gflops > 0 ? r->peak_gflops : INFINITY;
    r->memory_bound = by_memory < by_units;
    r->roof_gflops = TC_MIN(by_memory, by_units);
    r->seconds = r->memory_bound ? r->bytes / (r->bandwidth_gbs * 1e9) : r->flops / (r->peak_gflops * 1e9);
    if (!isfinite(r->roof_gflops))
        r->roof_gflops = r->seconds = NAN;
}

tc_tune_roof tc_tune_roof_by(const tc_workload *w, const tc_target *t, tc_meas_mode mode, const tc_meas_rates *told) {
    tc_tune_roof r = describe(w, t, mode);
    const tc_meas_stream *largest = told->n ? &told->at[told->n - 1] : NULL;
    tc_meas_stream stream = tc_meas_rates_at(told, mode == TC_MEAS_COLD && largest ? (double)largest->bytes : r.bytes);
    r.peak_gflops = tc_meas_peak_of(&told->peak, r.unit);
    r.bandwidth_gbs = TC_MAX(stream.read_gbs, stream.triad_gbs);
    place(&r);
    return r;
}

tc_tune_roof tc_tune_roofline(const tc_workload *w, const tc_target *t, tc_meas_mode mode, const tc_tune_roof *earlier) {
    const tc_machine *m = &t->machine;
    int threads = m->cores;
    tc_tune_roof r = describe(w, t, mode);
    double footprint = mode == TC_MEAS_COLD ? fmax(r.bytes, beyond_caches(m)) : r.bytes;
    tc_meas_stream stream = tc_meas_measure_stream(threads, (int64_t)footprint, 0.4);
    tc_meas_peak peak = {0};
    tc_meas_peak_raise_fma(&peak, threads, 0.4);
    tc_meas_peak_raise_unit(&peak, t, r.unit, 0.3);
    r.peak_gflops = TC_MAX(tc_meas_peak_of(&peak, r.unit), earlier ? earlier->peak_gflops : 0);
    r.bandwidth_gbs = TC_MAX(stream.read_gbs, stream.triad_gbs);
    if (earlier)
        r.bandwidth_gbs = TC_MAX(r.bandwidth_gbs, earlier->bandwidth_gbs);
    place(&r);
    return r;
}

/* ---- verdict ---- */

enum { RESAMPLES = 4000 };

static int by_value(const void *x, const void *y) {
    double a = *(const double *)x, b = *(const double *)y;
    return a < b ? -1 : a > b;
}

/* The median of n draws, of which times[i] are v[i]: v is sorted, so nothing has to be. */
static double median_of_draws(const double *v, const int *times, int n) {
    int i = -1, k, drawn = 0;
    while (drawn < (n + 1) / 2)
        drawn += times[++i];
    for (k = i; drawn < n / 2 + 1;)
        drawn += times[++k];
    return (v[i] + v[k]) / 2;
}

/* The 95 % percentile bootstrap interval of the median of v, which is sorted. */
static void bootstrap(const double *v, int n, uint64_t seed, double *low, double *high) {
    tc_rng rng = tc_rng_seed(seed);
    double *medians = tc_xcalloc(RESAMPLES, sizeof *medians);
    int *times = tc_xcalloc((size_t)n, sizeof *times);
    for (int i = 0; i < RESAMPLES && !tc_ran_out(); i++) {
        memset(times, 0, (size_t)n * sizeof *times);
        for (int k = 0; k < n; k++)
            times[tc_rng_below(&rng, n)]++;
        medians[i] = median_of_draws(v, times, n);
    }
    qsort(medians, RESAMPLES, sizeof *medians, by_value);
    *low = medians[RESAMPLES * 25 / 1000];
    *high = medians[RESAMPLES * 975 / 1000];
    free(medians);
    free(times);
}

/* How likely it is that of n fair coins at most k, or at least n - k, show heads. */
static double sign_test(int n, int k) {
    double tail = 0;
    for (int i = 0; i <= TC_MIN(k, n - k); i++)
        tail += exp(lgamma(n + 1.0) - lgamma(i + 1.0) - lgamma(n - i + 1.0) - n * log(2));
    return TC_MIN(1.0, 2 * tail);
}

tc_tune_verdict tc_tune_judge(const double *a, const double *b, int rounds, uint64_t seed) {
    tc_tune_verdict v = {.rounds = rounds, .sign_p = 1, .ratio = 1, .low = 1, .high = 1};
    if (rounds < 1)
        return v;
    double *ratio = tc_xcalloc((size_t)rounds, sizeof *ratio);
    int above = 0, below = 0;
    for (int i = 0; i < rounds; i++) {
        ratio[i] = b[i] / a[i];
        above += b[i] > a[i];
        below += b[i] < a[i];
    }
    v.a = tc_meas_median(a, (size_t)rounds);
    v.b = tc_meas_median(b, (size_t)rounds);
    v.ratio = tc_meas_median(ratio, (size_t)rounds);
    qsort(ratio, (size_t)rounds, sizeof *ratio, by_value);
    bootstrap(ratio, rounds, seed, &v.low, &v.high);
    v.sign_p = above + below ? sign_test(above + below, above) : 1;
    if (v.sign_p < 0.05)
        v.faster = v.low > 1 ? -1 : v.high < 1 ? 1 : 0;
    free(ratio);
    return v;
}
