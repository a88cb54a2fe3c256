/* Finds the range of an activation: collects the values that occur, and chooses the part of them that the integers cover. */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "graph/quantize/quantize_int.h"

void quant_range_see(range *r, const float *v, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        r->low = fmin(r->low, v[i]);
        r->high = fmax(r->high, v[i]);
    }
}

static double largest(const range *r) {
    return fmax(fabs(r->low), fabs(r->high));
}

void quant_range_count(range *r, tc_quantize_method m, const float *v, int64_t n) {
    bool absolute = m == TC_QUANTIZE_ENTROPY;
    double from = absolute ? 0 : r->low, width = (absolute ? largest(r) : r->high - r->low) / QUANT_BINS;
    if (!(width > 0))
        return;
    for (int64_t i = 0; i < n; i++) {
        double at = ((absolute ? fabs(v[i]) : v[i]) - from) / width;
        r->bins[(int)fmin(fmax(at, 0), QUANT_BINS - 1)]++;
    }
    r->counted = true;
}

static double sum(const double *bins, int n) {
    double total = 0;
    for (int i = 0; i < n; i++)
        total += bins[i];
    return total;
}

/* ---- percentile ---- */

/* The range that holds the share, what is outside halved between both ends; an end at zero loses nothing. */
static void clip_to_share(const range *r, double percentile, double *low, double *high) {
    double outside = (1 - percentile / 100) * sum(r->bins, QUANT_BINS) * (r->low < 0 ? 0.5 : 1),
           width = (r->high - r->low) / QUANT_BINS, seen = 0;
    int first = 0, last = QUANT_BINS;
    while (r->low < 0 && first < QUANT_BINS && seen + r->bins[first] <= outside)
        seen += r->bins[first++];
    for (seen = 0; last > first + 1 && seen + r->bins[last - 1] <= outside;)
        seen += r->bins[--last];
    *low = r->low + first * width;
    *high = r->low + last * width;
}

/* ---- entropy ---- */

/* What is lost where the first `used` bins, the last of which gets all that is beyond, are told apart by `levels` values only:
 * the divergence of that distribution from its own average over each level's bins that are not empty. */
static double divergence(const double *bins, int used, int levels, double total) {
    double beyond = sum(bins + used, QUANT_BINS - used), loss = 0;
    if (beyond >= total)
        return INFINITY;
    for (int k = 0; k < levels; k++) {
        int from = (int)((int64_t)k * used / levels), to = (int)((int64_t)(k + 1) * used / levels), full = 0;
        double inside = sum(bins + from, to - from);
        for (int i = from; i < to; i++)
            full += bins[i] > 0;
        for (int i = from; i < to; i++) {
            double p = bins[i] + (i == used - 1 ? beyond : 0), q = bins[i] > 0 ? inside / full : 0;
            /* Mass that was cut off onto a bin that is empty has nothing to stand for it. */
            if (p > 0)
                loss += p / total * log(p / fmax(q, 1e-9 * total) * (total - beyond) / total);
        }
    }
    return loss;
}

/* The largest absolute value that is worth a level of its own. */
static double clip_by_entropy(const range *r, int levels) {
    double total = sum(r->bins, QUANT_BINS), best = INFINITY;
    int used = QUANT_BINS;
    for (int n = levels; n <= QUANT_BINS; n++) {
        double loss = divergence(r->bins, n, levels, total);
        if (loss < best) {
            best = loss;
            used = n;
        }
    }
    return largest(r) * used / QUANT_BINS;
}

/* ---- scale and zero point ---- */

static quant_params symmetric(double low, double high) {
    return (quant_params){fmax(fabs(low), fabs(high)) / INT8_MAX, 0};
}

static quant_params asymmetric(double low, double high) {
    double scale = (high - low) / UINT8_MAX;
    return (quant_params){scale, scale > 0 ? (int)fmin(fmax(nearbyint(-low / scale), 0), UINT8_MAX) : 0};
}

quant_params quant_range_params(const range *r, const tc_quantize_options *o) {
    double low = r->low, high = r->high;
    bool one_sided = low >= 0 && o->activations == TC_U8;
    if (r->counted && o->method == TC_QUANTIZE_PERCENTILE)
        clip_to_share(r, o->percentile, &low, &high);
    if (r->counted && o->method == TC_QUANTIZE_ENTROPY) {
        double most = clip_by_entropy(r, one_sided ? UINT8_MAX + 1 : INT8_MAX + 1);
        low = fmax(low, -most);
        high = fmin(high, most);
    }
    /* Zero must be a value of its own: of padding, of what was clipped. */
    low = fmin(low, 0);
    high = fmax(high, 0);
    quant_params p = o->activations == TC_U8 ? asymmetric(low, high) : symmetric(low, high);
    if (!(p.scale >= FLT_MIN)) /* nothing but zeros was seen */
        p = (quant_params){1, 0};
    p.scale = (float)p.scale;
    return p;
}
