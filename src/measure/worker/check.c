/* Verification of kernels against the reference interpreter. */
#include "measure/worker/check.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "support/system/memory.h"
#include "support/vec.h"

enum {
    POINTS = 128,    /* per output: corners, edges and random points */
    CORNER_DIMS = 5, /* corners of the first so many dimensions: at most 32 points */
    EDGE_POINTS = 6  /* per dimension: points in its last elements, where tails are */
};
/* Scalar evaluations that one attempt may cost: about a second of the interpreter. Fewer points are tried when they cost more. */
static const double MAX_COST = 3e7;
/* Share of elements that may differ where float values are rounded to steps: a last bit decides which step. */
static const double STEP_SHARE = 0.02;

typedef struct output {
    const tc_tensor *t;
    int64_t size;
    size_t npoint;
    int64_t *coords; /* npoint x ndim */
    tc_scalar *want; /* npoint */
    double rms;      /* of the finite wanted values: the scale of deviations where the value itself is near zero */
    double rel, abs; /* tolerance: rel * max(|want|, rms) + abs */
    void *trusted;   /* copy of the first output that passed */
} output;

struct tc_meas_check {
    const tc_workload *w;
    const void **in;
    output *out;
    bool steps;
};

/* ---- tolerance ---- */

typedef struct traits {
    double eps; /* of the narrowest float type computed in; 0: none */
    bool steps; /* rounds floats to steps */
} traits;

static void see(const tc_expr *e, void *user) {
    traits *t = user;
    bool leaf = (tc_op_traits(e->op) & TC_LEAF) != 0 || e->op == TC_OP_READ;
    if (!leaf && tc_dtype_is_float((tc_dtype)e->dtype))
        t->eps = TC_MAX(t->eps, tc_dtype_epsilon((tc_dtype)e->dtype));
    bool rounds =
        e->op == TC_OP_FLOOR || e->op == TC_OP_CEIL || e->op == TC_OP_ROUND || e->op == TC_OP_TRUNC || e->op == TC_OP_MOD;
    bool cast = e->op == TC_OP_CAST && !tc_dtype_is_float((tc_dtype)e->dtype);
    if ((rounds || cast) && tc_dtype_is_float((tc_dtype)e->args[0]->dtype))
        t->steps = true;
}

static traits traits_of(const tc_workload *w) {
    traits t = {0};
    for (int i = 0; i < w->ncompute; i++)
        for (int o = 0; o < w->computes[i]->nout; o++) {
            tc_dtype d = w->computes[i]->out[o]->dtype;
            tc_expr_walk(w->computes[i]->body[o], see, &t);
            if (tc_dtype_is_float(d))
                t.eps = TC_MAX(t.eps, tc_dtype_epsilon(d));
        }
    return t;
}

static double longest_reduction(const tc_workload *w) {
    double longest = 1;
    for (int i = 0; i < w->ncompute; i++) {
        double n = 1;
        for (int r = 0; r < w->computes[i]->nraxis; r++)
            n *= (double)w->computes[i]->raxes[r].extent;
        longest = TC_MAX(longest, n);
    }
    return longest;
}

/* Rounding errors of a sum of K random terms grow as sqrt(K) in another order of summation; the polynomials of exp, tanh, erf are
 * within a few units in the last place. A dropped or repeated term of a sum shows as about 1 / sqrt(K) of the result, far above
 * this. The floor of 800 units (1e-4 for f32) leaves room for the cancellation in normalisations. */
double tc_meas_tolerance(const tc_workload *w) {
    double eps = traits_of(w).eps;
    return eps * TC_MAX(eps > 1e-4 ? 8.0 : 800.0, 64 + 4 * sqrt(longest_reduction(w)));
}

/* ---- reference points ---- */

static void put_point(output *o, const int64_t *x) {
    if (o->npoint < POINTS)
        memcpy(o->coords + o->npoint++ * (size_t)o->t->ndim, x, (size_t)o->t->ndim * sizeof *x);
}

static void random_point(const tc_tensor *t, tc_rng *r, int64_t *x) {
    for (int d = 0; d < t->ndim; d++)
        x[d] = tc_rng_below(r, t->shape[d]);
}

/* Corners and edges come first: they stay when points are dropped for their cost. */
static void choose_points(output *o, tc_rng *r) {
    const tc_tensor *t = o->t;
    int64_t x[TC_MAX_DIMS] = {0};
    int corner_dims = TC_MIN(t->ndim, CORNER_DIMS);
    o->coords = tc_xcalloc((size_t)POINTS * (size_t)TC_MAX(t->ndim, 1), sizeof *o->coords);
    put_point(o, x);
    for (unsigned m = (1U << corner_dims) - 1; m > 0; m--) {
        for (int d = 0; d < t->ndim; d++)
            x[d] = d >= corner_dims || (m >> d & 1) ? t->shape[d] - 1 : 0;
        put_point(o, x);
    }
    for (int d = 0; d < t->ndim; d++)
        for (int64_t k = 0; k < TC_MIN((int64_t)EDGE_POINTS, t->shape[d]); k++) {
            random_point(t, r, x);
            x[d] = t->shape[d] - 1 - k;
            put_point(o, x);
        }
    while (o->npoint < (size_t)TC_MIN((int64_t)POINTS, o->size)) {
        random_point(t, r, x);
        put_point(o, x);
    }
}

static tc_status evaluate(const tc_meas_check *c, int index, tc_error *err) {
    output *o = &c->out[index];
    o->want = tc_xcalloc(o->npoint, sizeof *o->want);
    for (;;) {
        double most = o->npoint == 1 ? 10 * MAX_COST : MAX_COST; /* one point may be a reduction over everything */
        tc_status s = tc_te_interp_points(c->w, c->in, index, o->npoint, o->coords, o->want, most, NULL, err);
        if (s != TC_ENV || o->npoint == 1)
            return s;
        o->npoint = TC_MAX(o->npoint / 4, (size_t)1);
    }
}

static void set_scale(output *o, const traits *t, double rel) {
    double sum = 0;
    size_t n = 0;
    if (!tc_dtype_is_float(o->t->dtype)) {
        /* A float that was rounded to an integer may land one step off; anything integral throughout is exact. */
        o->abs = t->eps > 0 && tc_dtype_bytes(o->t->dtype) <= 2 && o->t->dtype != TC_BOOL;
        return;
    }
    for (size_t i = 0; i < o->npoint; i++)
        if (isfinite(o->want[i].f))
            sum += o->want[i].f * o->want[i].f, n++;
    o->rms = n ? sqrt(sum / (double)n) : 0;
    o->rel = rel;
    o->abs = DBL_MIN;
}

tc_status tc_meas_check_new(const tc_workload *w, const void *const *in, uint64_t seed, tc_meas_check **out, tc_error *err) {
    tc_meas_check *c = tc_xcalloc(1, sizeof *c);
    traits t = traits_of(w);
    double rel = tc_meas_tolerance(w);
    tc_rng r = tc_rng_seed(seed);
    tc_status s = TC_OK;
    c->w = w;
    c->steps = t.steps;
    c->in = tc_xcalloc((size_t)w->nin + 1, sizeof *c->in);
    memcpy(c->in, in, (size_t)w->nin * sizeof *c->in);
    c->out = tc_xcalloc((size_t)w->nout, sizeof *c->out);
    for (int i = 0; i < w->nout && s == TC_OK; i++) {
        c->out[i].t = w->out[i];
        c->out[i].size = tc_tensor_size(w->out[i]);
        choose_points(&c->out[i], &r);
        s = evaluate(c, i, err);
        set_scale(&c->out[i], &t, rel);
    }
    if (s != TC_OK) {
        tc_error_prefix(err, "the reference cannot be computed: ");
        tc_meas_check_free(c);
        c = NULL;
    }
    *out = c;
    return s;
}

void tc_meas_check_free(tc_meas_check *c) {
    if (!c)
        return;
    for (int i = 0; i < c->w->nout; i++) {
        free(c->out[i].coords);
        free(c->out[i].want);
        free(c->out[i].trusted);
    }
    free(c->out);
    free(c->in);
    free(c);
}

double tc_meas_check_finite(const tc_meas_check *c) {
    size_t finite = 0, all = 0;
    for (int i = 0; i < c->w->nout; i++)
        for (size_t k = 0; k < c->out[i].npoint; k++, all++)
            finite += !tc_dtype_is_float(c->out[i].t->dtype) || isfinite(c->out[i].want[k].f);
    return all ? (double)finite / (double)all : 1;
}

/* ---- unwritten elements ---- */

/* Pass 0: all ones: for floats a NaN that no instruction produces, for bool no value at all. Integers and floats of a byte may
 * really hold it: pass 1 tells. */
static int pattern(int pass) {
    return pass == 0 ? 0xff : 0x5a;
}

void tc_meas_check_poison(void *data, size_t bytes, int pass) {
    memset(data, pattern(pass), bytes);
}

static bool holds(const void *data, int bytes, int64_t i, int pass) {
    unsigned char want[8];
    memset(want, pattern(pass), sizeof want);
    return memcmp((const unsigned char *)data + i * bytes, want, (size_t)bytes) == 0;
}

int64_t tc_meas_check_poisoned(const tc_meas_check *c, int o, const void *data, int pass) {
    int bytes = tc_dtype_bytes(c->out[o].t->dtype);
    const unsigned char *p = data;
    int64_t n = 0;
    for (int64_t i = 0; i < c->out[o].size; i++)
        n += p[i * bytes] == pattern(pass) && holds(data, bytes, i, pass);
    return n;
}

int64_t tc_meas_check_unwritten(const tc_meas_check *c, int o, const void *first, const void *second) {
    int bytes = tc_dtype_bytes(c->out[o].t->dtype);
    int64_t n = 0;
    for (int64_t i = 0; i < c->out[o].size; i++)
        n += holds(first, bytes, i, 0) && holds(second, bytes, i, 1);
    return n;
}

/* ---- comparison ---- */

/* Deviation in units of the tolerance; 0 for equal, for two NaN, for two equal infinities. */
static double deviation(const output *o, tc_scalar got, tc_scalar want, double slack) {
    bool is_float = tc_dtype_is_float(o->t->dtype);
    if (is_float ? got.f == want.f || (isnan(got.f) && isnan(want.f)) : got.i == want.i)
        return 0;
    double tolerance = slack * (is_float ? o->rel * TC_MAX(fabs(want.f), o->rms) + o->abs : o->abs);
    double d = is_float ? fabs(got.f - want.f) : tc_distance_i(o->t->dtype, got.i, want.i);
    if (!isfinite(d))
        return DBL_MAX;
    if (d <= tolerance)
        return d / tolerance;
    return tolerance > d / DBL_MAX ? d / tolerance : DBL_MAX;
}

static int64_t flat_index(const tc_tensor *t, const int64_t *x) {
    int64_t i = 0;
    for (int d = 0; d < t->ndim; d++)
        i = i * t->shape[d] + x[d];
    return i;
}

static void unflatten(const tc_tensor *t, int64_t i, int64_t *x) {
    for (int d = t->ndim - 1; d >= 0; d--) {
        x[d] = i % t->shape[d];
        i /= t->shape[d];
    }
}

static void print_scalar(tc_strbuf *b, tc_dtype t, tc_scalar v) {
    if (tc_dtype_is_float(t))
        tc_sb_printf(b, "%.*g", t == TC_F64 ? 17 : 9, v.f);
    else if (t == TC_U64)
        tc_sb_printf(b, "%llu", (unsigned long long)v.i);
    else
        tc_sb_printf(b, "%lld", (long long)v.i);
}

static tc_status wrong(const output *o, const int64_t *x, tc_scalar got, tc_scalar want, tc_error *err) {
    tc_strbuf b = {0};
    tc_sb_printf(&b, "%s[", o->t->name);
    for (int d = 0; d < o->t->ndim; d++)
        tc_sb_printf(&b, "%s%lld", d ? ", " : "", (long long)x[d]);
    tc_sb_add(&b, "] is ");
    print_scalar(&b, o->t->dtype, got);
    tc_sb_add(&b, ", the reference has ");
    print_scalar(&b, o->t->dtype, want);
    tc_status s = tc_fail(err, TC_ILLEGAL, "%s", tc_sb_str(&b));
    tc_strbuf_free(&b);
    return s;
}

static tc_status compare_points(const tc_meas_check *c, const output *o, const void *data, double *max_error, tc_error *err) {
    size_t bad = 0, at = 0;
    for (size_t i = 0; i < o->npoint; i++) {
        tc_scalar got = tc_scalar_at(o->t->dtype, data, flat_index(o->t, o->coords + i * (size_t)o->t->ndim));
        double d = deviation(o, got, o->want[i], 1);
        if (d > 1 && bad++ == 0)
            at = i;
        if (d <= 1 || !c->steps)
            *max_error = TC_MAX(*max_error, d);
    }
    if (bad == 0 || (c->steps && (double)bad <= STEP_SHARE * (double)o->npoint))
        return TC_OK;
    const int64_t *x = o->coords + at * (size_t)o->t->ndim;
    return wrong(o, x, tc_scalar_at(o->t->dtype, data, flat_index(o->t, x)), o->want[at], err);
}

/* First element that differs from the trusted output by more than both may be off, and how many there are. */
static int64_t differing(const output *o, const void *data, int64_t *first) {
    int64_t n = 0;
    if (memcmp(data, o->trusted, (size_t)o->size * (size_t)tc_dtype_bytes(o->t->dtype)) == 0)
        return 0;
    if (o->t->dtype == TC_F32) {
        const float *got = data, *want = o->trusted;
        float rel = (float)(2 * o->rel), rms = (float)o->rms;
        for (int64_t i = 0; i < o->size; i++) {
            float scale = fabsf(want[i]) > rms ? fabsf(want[i]) : rms;
            bool same = got[i] == want[i] || fabsf(got[i] - want[i]) <= rel * scale || (got[i] != got[i] && want[i] != want[i]);
            if (!same && n++ == 0)
                *first = i;
        }
        return n;
    }
    for (int64_t i = 0; i < o->size; i++)
        if (deviation(o, tc_scalar_at(o->t->dtype, data, i), tc_scalar_at(o->t->dtype, o->trusted, i), 2) > 1 && n++ == 0)
            *first = i;
    return n;
}

static tc_status trust(output *o, const void *data, tc_error *err) {
    size_t bytes = (size_t)o->size * (size_t)tc_dtype_bytes(o->t->dtype);
    if (!o->trusted)
        o->trusted = tc_try_malloc(bytes);
    if (!o->trusted)
        return tc_memory_ran_out(err);
    memcpy(o->trusted, data, bytes);
    return TC_OK;
}

/* The interpreter decides at the first element that differs. When the trusted output was the wrong one, this one replaces it. */
static tc_status compare_whole(const tc_meas_check *c, int index, const void *data, double *max_error, tc_error *err) {
    output *o = &c->out[index];
    int64_t first = 0, x[TC_MAX_DIMS];
    if (!o->trusted)
        return trust(o, data, err);
    int64_t n = differing(o, data, &first);
    if (n == 0 || (c->steps && (double)n <= STEP_SHARE * (double)o->size))
        return TC_OK;
    tc_scalar want, got = tc_scalar_at(o->t->dtype, data, first);
    unflatten(o->t, first, x);
    TC_TRY(tc_te_interp_points(c->w, c->in, index, 1, x, &want, 10 * MAX_COST, NULL, err));
    double d = deviation(o, got, want, 1);
    if (d > 1) {
        *max_error = TC_MAX(*max_error, d);
        return wrong(o, x, got, want, err);
    }
    return trust(o, data, err);
}

tc_status tc_meas_check_compare(tc_meas_check *c, void *const *out, double *max_error, tc_error *err) {
    *max_error = 0;
    for (int i = 0; i < c->w->nout; i++)
        TC_TRY(compare_points(c, &c->out[i], out[i], max_error, err));
    for (int i = 0; i < c->w->nout; i++)
        TC_TRY(compare_whole(c, i, out[i], max_error, err));
    return TC_OK;
}
