#include "tir_lower/oracle.h"
#include "tir_lower/build/build.h"
#include "tir_lower/interp/interp.h"
#include "tir_lower/program/program.h"
#include "tir_lower/verify/verify.h"

#include <math.h>
#include <string.h>

#include "support/vec.h"

const tc_machine test_machine = {.vector_bytes = 64,
                                 .vector_regs = 32,
                                 .masks = true,
                                 .fma = true,
                                 .intrinsics = TC_INTRINSICS_ALL,
                                 .cores = 2,
                                 .l1 = 32 << 10,
                                 .l2 = 1 << 20,
                                 .l3 = 16 << 20,
                                 .line = 64};

static void *new_array(tc_dtype t, int64_t n) {
    return tc_xcalloc((size_t)n, (size_t)tc_dtype_bytes(t));
}

tc_status oracle_open(oracle *o, const tc_workload *w, uint64_t seed, tc_error *err) {
    tc_rng rng = tc_rng_seed(seed);
    *o = (oracle){
        .w = w, .in = tc_xcalloc((size_t)w->nin + 1, sizeof *o->in), .want = tc_xcalloc((size_t)w->nout, sizeof *o->want)};
    for (int i = 0; i < w->nin; i++) {
        o->in[i] = new_array(w->in[i]->dtype, tc_tensor_size(w->in[i]));
        tc_te_random_fill(w->in[i]->dtype, o->in[i], tc_tensor_size(w->in[i]), &rng, tc_te_index_limit(w, i));
    }
    for (int i = 0; i < w->nout; i++)
        o->want[i] = new_array(w->out[i]->dtype, tc_tensor_size(w->out[i]));
    return tc_te_interp(w, (const void *const *)o->in, o->want, err);
}

tc_status oracle_open_at(oracle *o, tc_ctx *c, const tc_workload *w, const int64_t *sizes, uint64_t seed, tc_error *err) {
    const tc_workload *fixed;
    *o = (oracle){0};
    TC_TRY(tc_te_at(c, w, sizes, &fixed, err));
    tc_status s = oracle_open(o, fixed, seed, err);
    o->sizes = sizes;
    return s;
}

void oracle_close(oracle *o) {
    if (!o->w)
        return;
    for (int i = 0; i < o->w->nin; i++)
        free(o->in[i]);
    for (int i = 0; i < o->w->nout; i++)
        free(o->want[i]);
    free(o->in);
    free(o->want);
}

static double tolerance(tc_dtype t) {
    switch (t) {
    case TC_F64:
        return 1e-9;
    case TC_F32:
        return 2e-4;
    case TC_F16:
        return 4e-2;
    case TC_BF16:
        return 2e-1;
    default:
        return 0;
    }
}

static bool close_enough(tc_dtype t, double got, double want) {
    if (isnan(want) || isinf(want))
        return isnan(want) ? isnan(got) : got == want || fabs(got) > 3e4;
    return fabs(got - want) <= tolerance(t) * fmax(1, fabs(want));
}

static tc_status compare(const tc_tensor *t, const void *got, const void *want, tc_error *err) {
    for (int64_t i = 0; i < tc_tensor_size(t); i++) {
        if (tc_dtype_is_float(t->dtype)) {
            double g = tc_load_f(t->dtype, got, i), w = tc_load_f(t->dtype, want, i);
            if (!close_enough(t->dtype, g, w))
                return tc_fail(err, TC_BAD_INPUT, "%s[%lld] is %.9g, expected %.9g", t->name, (long long)i, g, w);
        } else if (tc_load_i(t->dtype, got, i) != tc_load_i(t->dtype, want, i)) {
            return tc_fail(err, TC_BAD_INPUT, "%s[%lld] is %lld, expected %lld", t->name, (long long)i,
                           (long long)tc_load_i(t->dtype, got, i), (long long)tc_load_i(t->dtype, want, i));
        }
    }
    return TC_OK;
}

static size_t bytes_of(const oracle *o, const tc_func *f, int i) {
    const tc_buffer *b = f->params[i].buffer;
    return (size_t)tc_tir_size_at(f, b, o->sizes) * (size_t)tc_dtype_bytes(b->dtype);
}

/* A place for each argument, and for the sizes, which are there. */
static void **new_arguments(const oracle *o, const tc_func *f) {
    void **args = tc_xcalloc((size_t)f->nparam + 1, sizeof *args);
    args[f->nparam] = (void *)(uintptr_t)o->sizes;
    return args;
}

static void *argument(const oracle *o, const tc_func *f, int i) {
    size_t bytes = bytes_of(o, f, i);
    if (f->params[i].kind == TC_PARAM_IN)
        return o->in[f->params[i].index];
    void *p = tc_xmalloc(bytes + 1);
    memset(p, 0x7b, bytes); /* what is not written must not pass for right */
    if (f->params[i].kind == TC_PARAM_PACKED)
        tc_tir_pack(f, i, o->in[f->params[i].index], p);
    return p;
}

/* Frees the arguments that are not the oracle's. */
static void free_arguments(const tc_func *f, void **args) {
    for (int i = 0; i < f->nparam; i++)
        if (f->params[i].kind != TC_PARAM_IN)
            free(args[i]);
    free(args);
}

/* Runs f and compares its outputs with what is wanted; frees the arguments that are not the oracle's. */
static tc_status run_and_compare(const oracle *o, const tc_func *f, void **args, uint64_t shuffle, tc_error *err) {
    tc_status s = tc_tir_interp_shuffled(f, args, shuffle, err);
    for (int i = 0; i < f->nparam && s == TC_OK; i++)
        if (f->params[i].kind == TC_PARAM_OUT)
            s = compare(o->w->out[f->params[i].index], args[i], o->want[f->params[i].index], err);
    free_arguments(f, args);
    return s;
}

tc_status oracle_run_in_part(const oracle *o, const tc_func *f, uint64_t shuffle, tc_error *err) {
    void **args = new_arguments(o, f);
    for (int i = 0; i < f->nparam; i++)
        args[i] = argument(o, f, i);
    tc_status s = tc_tir_interp_in_part(f, args, shuffle, err);
    free_arguments(f, args);
    return s;
}

tc_status oracle_run(const oracle *o, const tc_func *f, uint64_t shuffle, tc_error *err) {
    void **args = new_arguments(o, f);
    for (int i = 0; i < f->nparam; i++)
        args[i] = argument(o, f, i);
    return run_and_compare(o, f, args, shuffle, err);
}

tc_status oracle_check(const oracle *o, tc_ctx *c, const tc_func *f, uint64_t shuffle, tc_error *err) {
    tc_status s = tc_tir_verify(c, f, err);
    if (s != TC_OK) {
        tc_error_prefix(err, "verify: ");
        return s;
    }
    return oracle_run(o, f, shuffle, err);
}

static tc_status check_pair(const oracle *o, const tc_func *f, int out, int in, uint64_t shuffle, tc_error *err) {
    const tc_buffer *b = f->params[in].buffer;
    size_t bytes = bytes_of(o, f, in);
    void **args = new_arguments(o, f);
    for (int i = 0; i < f->nparam; i++)
        args[i] = i == out || i == in ? NULL : argument(o, f, i);
    args[in] = args[out] = tc_xmalloc(bytes + 1);
    memcpy(args[in], o->in[f->params[in].index], bytes);
    tc_status s = run_and_compare(o, f, args, shuffle, err);
    if (s != TC_OK)
        tc_error_prefix(err, "%s written over %s: ", f->params[out].buffer->name, b->name);
    return s;
}

tc_status oracle_check_in_place(const oracle *o, const tc_func *f, uint64_t shuffle, int64_t *pairs, tc_error *err) {
    for (int out = 0; out < f->nparam; out++)
        for (int in = 0; in < f->nparam; in++)
            if (tc_tir_may_overwrite(f, out, in)) {
                ++*pairs;
                TC_TRY(check_pair(o, f, out, in, shuffle, err));
            }
    return TC_OK;
}
