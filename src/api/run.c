/* Runs models on DLPack tensors, in contexts, and times their kernels (include/tctune/model.h). */
#include <stdlib.h>

#include "api/model_int.h"
#include "graph/model/parts.h"
#include "graph/trials/bench.h"

/* ---- contexts ---- */

static void make_arrays(tctune_context *c, const tctune_model *m) {
    size_t nin = (size_t)tctune_model_num_inputs(m), nout = (size_t)tctune_model_num_outputs(m);
    c->of = m;
    c->in = tc_xcalloc(nin + 1, sizeof *c->in);
    c->out = tc_xcalloc(nout + 1, sizeof *c->out);
    c->spans = tc_xcalloc(nin + nout + 1, sizeof *c->spans);
}

void api_free_arrays(tctune_context *c) {
    free(c->in);
    free(c->out);
    free(c->spans);
}

static tc_status new_context(const tctune_model *m, tctune_context **c, tc_error *err) {
    *c = tc_xcalloc(1, sizeof **c);
    make_arrays(*c, m);
    return tc_graph_context_new(m->model, &(*c)->context, err);
}

tctune_status tctune_context_new(const tctune_model *m, tctune_context **context, char *error, size_t error_size) {
    *context = NULL;
    API_CALL(err, error, error_size, new_context(m, context, &err), (tctune_context_free(*context), *context = NULL));
}

void tctune_context_free(tctune_context *c) {
    if (!c)
        return;
    tc_graph_context_free(c->context);
    api_free_arrays(c);
    free(c);
}

/* The context of runs that name none: the model's own, which other functions of the model use too. */
static tc_status own_context(tctune_model *m, tctune_context **c, tc_error *err) {
    *c = &m->own;
    if (!m->own.of)
        make_arrays(&m->own, m);
    return tc_graph_model_own(m->model, &m->own.context, err);
}

/* ---- runs ---- */

static tc_status run(tctune_context *c, const DLTensor *inputs, const DLTensor *outputs, tc_error *err) {
    const tc_graph_model *m = c->of->model;
    TC_TRY(api_take_outputs(m, outputs, c->out, err));
    TC_TRY(api_take_inputs(m, inputs, c->out, c->in, err));
    TC_TRY(api_check_apart(m, c->in, c->out, c->spans, err));
    return tc_graph_context_run_into(c->context, c->in, c->out, err);
}

static tc_status run_own(tctune_model *m, const DLTensor *inputs, const DLTensor *outputs, tc_error *err) {
    tctune_context *c;
    TC_TRY(own_context(m, &c, err));
    return run(c, inputs, outputs, err);
}

tctune_status tctune_model_run(tctune_model *m, const DLTensor *inputs, DLTensor *outputs, char *error, size_t error_size) {
    API_RUN(err, error, error_size, run_own(m, inputs, outputs, &err));
}

tctune_status tctune_context_run(tctune_context *c, const DLTensor *inputs, DLTensor *outputs, char *error, size_t error_size) {
    API_RUN(err, error, error_size, run(c, inputs, outputs, &err));
}

const int64_t *tctune_context_output_shape(const tctune_context *c, int i) {
    return i >= 0 && i < tctune_model_num_outputs(c->of) ? tc_graph_context_output_shape(c->context, i)->d : NULL;
}

/* ---- profile ---- */

int tctune_model_num_kernels(const tctune_model *m) {
    const tc_graph_kernel *k;
    const tc_graph_other *o;
    return tc_graph_model_kernels(m->model, &k) + tc_graph_model_others(m->model, &o);
}

static tc_status profile(tctune_context *c, const DLTensor *inputs, int runs, tctune_kernel_time *times, tc_error *err) {
    const tc_graph_kernel *k;
    const tc_graph_other *o;
    int nk = tc_graph_model_kernels(c->of->model, &k), no = tc_graph_model_others(c->of->model, &o);
    if (runs < 1)
        return tc_fail(err, TC_BAD_INPUT, "a profile needs at least 1 run, not %d", runs);
    TC_TRY(api_take_inputs(c->of->model, inputs, NULL, c->in, err));
    double *seconds = tc_xcalloc((size_t)(nk + no) + 1, sizeof *seconds);
    tc_status s =
        tc_graph_context_profile(c->context, c->in, &(tc_graph_timing_options){.warmup = 1, .repeats = runs}, seconds, err);
    for (int i = 0; i < nk && s == TC_OK; i++)
        times[i] = (tctune_kernel_time){k[i].name, k[i].count, seconds[i]};
    for (int i = 0; i < no && s == TC_OK; i++)
        times[nk + i] = (tctune_kernel_time){o[i].name, o[i].count, seconds[nk + i]};
    free(seconds);
    return s;
}

static tc_status profile_own(tctune_model *m, const DLTensor *inputs, int runs, tctune_kernel_time *times, tc_error *err) {
    tctune_context *c;
    TC_TRY(own_context(m, &c, err));
    return profile(c, inputs, runs, times, err);
}

tctune_status tctune_context_profile(tctune_context *c, const DLTensor *inputs, int runs, tctune_kernel_time *times, char *error,
                                     size_t error_size) {
    API_CALL(err, error, error_size, profile(c, inputs, runs, times, &err), (void)0);
}

tctune_status tctune_model_profile(tctune_model *m, const DLTensor *inputs, int runs, tctune_kernel_time *times, char *error,
                                   size_t error_size) {
    API_CALL(err, error, error_size, profile_own(m, inputs, runs, times, &err), (void)0);
}
