/* The data that candidates of a workload run on: seeded inputs, which all candidates share, outputs, packed constants, and the
 * check. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "measure/worker/worker_int.h"
#include "support/rng.h"
#include "tir_lower/build/build.h"

/* ---- inputs and outputs ---- */

static size_t tensor_bytes(const tc_tensor *t) {
    return (size_t)tc_tensor_size(t) * (size_t)tc_dtype_bytes(t->dtype);
}

/* How inputs are drawn. */
typedef struct draw {
    uint64_t seed;
    double denormal; /* share */
} draw;

static void fill_inputs(const tc_meas_data *d, const draw *of, bool positive) {
    for (int i = 0; i < d->w->nin; i++) {
        const tc_tensor *t = d->w->in[i];
        tc_rng parent = tc_rng_seed(of->seed), r = tc_rng_fork(&parent, (uint64_t)i);
        int64_t n = tc_tensor_size(t);
        tc_te_random_fill(t->dtype, d->in[i].data, n, &r, tc_te_index_limit(d->w, i));
        for (int64_t k = 0; positive && tc_dtype_is_float(t->dtype) && k < n; k++)
            tc_store_f(t->dtype, d->in[i].data, k, fabs(tc_load_f(t->dtype, d->in[i].data, k)) + 0.25);
        tc_te_make_denormal(t->dtype, d->in[i].data, n, &r, of->denormal);
    }
}

static tc_status make_check(tc_meas_data *d, uint64_t seed, tc_error *err) {
    const void **in = tc_xcalloc((size_t)d->w->nin + 1, sizeof *in);
    for (int i = 0; i < d->w->nin; i++)
        in[i] = d->in[i].data;
    tc_meas_check_free(d->check);
    tc_status s = tc_meas_check_new(d->w, in, seed, &d->check, err);
    free(in);
    return s;
}

/* A workload that takes logarithms or square roots gives NaN for half of all random inputs; with positive ones it can be checked.
 */
static tc_status fill_and_check(tc_meas_data *d, const draw *of, tc_error *err) {
    fill_inputs(d, of, false);
    TC_TRY(make_check(d, of->seed, err));
    if (tc_meas_check_finite(d->check) < 0.75) {
        fill_inputs(d, of, true);
        TC_TRY(make_check(d, of->seed, err));
    }
    for (int i = 0; i < d->w->nin; i++)
        tc_meas_region_protect(&d->in[i]);
    return TC_OK;
}

tc_status tc_meas_data_new(const tc_workload *w, uint64_t seed, double denormal, tc_meas_data **out, tc_error *err) {
    tc_meas_data *d = tc_xcalloc(1, sizeof *d);
    tc_status s = TC_OK;
    d->w = w;
    d->in = tc_xcalloc((size_t)w->nin + 1, sizeof *d->in);
    d->out = tc_xcalloc((size_t)w->nout, sizeof *d->out);
    for (int i = 0; i < w->nin && s == TC_OK; i++)
        s = tc_meas_region_new(tensor_bytes(w->in[i]), &d->in[i], err);
    for (int i = 0; i < w->nout && s == TC_OK; i++)
        s = tc_meas_region_new(tensor_bytes(w->out[i]), &d->out[i], err);
    if (s == TC_OK)
        s = fill_and_check(d, &(draw){seed, denormal}, err);
    if (s != TC_OK) {
        tc_meas_data_free(d);
        d = NULL;
    }
    *out = d;
    return s;
}

void tc_meas_data_free(tc_meas_data *d) {
    if (!d)
        return;
    tc_meas_check_free(d->check);
    for (int i = 0; i < d->w->nin; i++)
        tc_meas_region_free(&d->in[i]);
    for (int i = 0; i < d->w->nout; i++)
        tc_meas_region_free(&d->out[i]);
    for (int i = 0; i < TC_MEAS_PACKED_KEPT; i++) {
        tc_meas_region_free(&d->packed[i].mem);
        free(d->packed[i].key);
    }
    free(d->in);
    free(d->out);
    free(d);
}

/* ---- packed constants ---- */

static void packed_key(const tc_param *p, tc_strbuf *b) {
    tc_sb_printf(b, "%d %lld (", p->index, (long long)p->buffer->size);
    for (int i = 0; i < p->layout->nin; i++)
        tc_sb_printf(b, "%s ", p->layout->var[i]->name);
    tc_sb_add(b, ") ->");
    for (int i = 0; i < p->layout->nout; i++) {
        tc_sb_addc(b, ' ');
        tc_expr_print(b, p->layout->to[i]);
    }
}

static tc_meas_packed *find_packed(tc_meas_data *d, const char *key) {
    tc_meas_packed *oldest = &d->packed[0];
    for (int i = 0; i < TC_MEAS_PACKED_KEPT; i++) {
        if (d->packed[i].key && strcmp(d->packed[i].key, key) == 0)
            return &d->packed[i];
        if (d->packed[i].used < oldest->used)
            oldest = &d->packed[i];
    }
    return oldest;
}

static tc_status pack(tc_meas_data *d, const tc_func *f, int param, void **out, tc_error *err) {
    const tc_param *p = &f->params[param];
    tc_strbuf key = {0};
    packed_key(p, &key);
    tc_meas_packed *k = find_packed(d, tc_sb_str(&key));
    tc_status s = TC_OK;
    if (!k->key || strcmp(k->key, tc_sb_str(&key)) != 0) {
        free(k->key);
        k->key = NULL;
        tc_meas_region_free(&k->mem);
        s = tc_meas_region_new((size_t)p->buffer->size * (size_t)tc_dtype_bytes(p->buffer->dtype), &k->mem, err);
        if (s == TC_OK) {
            k->key = tc_xstrdup(tc_sb_str(&key));
            tc_tir_pack(f, param, d->in[p->index].data, k->mem.data);
            tc_meas_region_protect(&k->mem);
        }
    }
    k->used = ++d->clock;
    *out = k->mem.data;
    tc_strbuf_free(&key);
    return s;
}

tc_status tc_meas_data_arguments(tc_meas_data *d, const tc_func *f, void **args, tc_error *err) {
    for (int i = 0; i < f->nparam; i++) {
        const tc_param *p = &f->params[i];
        if (p->kind == TC_PARAM_PACKED)
            TC_TRY(pack(d, f, i, &args[i], err));
        else
            args[i] = p->kind == TC_PARAM_IN ? d->in[p->index].data : d->out[p->index].data;
    }
    return TC_OK;
}
