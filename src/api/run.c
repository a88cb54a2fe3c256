/* Running models on DLPack's tensors, in contexts, and timing their kernels (include/tctune/model.h). */
#include <stdlib.h>

#include "api/model_int.h"
#include "graph/model/parts.h"
#include "graph/trials/bench.h"

/* ---- tensors ---- */

/* kDLBool of DLPack 0.8 and later, kDLFloat8_* of 1.1. */
enum {
    DL_BOOL = 6,
    DL_FLOAT8_E4M3FN = 10,
    DL_FLOAT8_E4M3FNUZ = 11,
    DL_FLOAT8_E5M2 = 12,
    DL_FLOAT8_E5M2FNUZ = 13,
    DL_FLOAT8_E8M0FNU = 14
};

DLDataType api_dl_type(tc_dtype t) {
    uint8_t code = t == TC_BOOL            ? DL_BOOL
                   : t == TC_BF16          ? kDLBfloat
                   : t == TC_F8E4M3FN      ? DL_FLOAT8_E4M3FN
                   : t == TC_F8E4M3FNUZ    ? DL_FLOAT8_E4M3FNUZ
                   : t == TC_F8E5M2        ? DL_FLOAT8_E5M2
                   : t == TC_F8E5M2FNUZ    ? DL_FLOAT8_E5M2FNUZ
                   : t == TC_F8E8M0        ? DL_FLOAT8_E8M0FNU
                   : t == TC_F4E2M1        ? kDLUInt /* its code: DLPack's own packs two to a byte */
                   : tc_dtype_is_float(t)  ? kDLFloat
                   : tc_dtype_is_signed(t) ? kDLInt
                                           : kDLUInt;
    return (DLDataType){.code = code, .bits = (uint8_t)(8 * tc_dtype_bytes(t)), .lanes = 1};
}

static void *address(const DLTensor *t) {
    return (char *)t->data + t->byte_offset;
}

/* Its elements are the first of each dimension of a dense array of that shape. */
static bool lies_in(const DLTensor *t, const int64_t *shape) {
    int64_t stride = 1, dense = 1;
    bool fits = true;
    for (int d = t->ndim - 1; d >= 0; d--) {
        fits &= t->shape[d] == 1 || (t->strides ? t->strides[d] : dense) == stride;
        stride *= shape[d];
        dense *= t->shape[d];
    }
    return fits || dense == 0;
}

static bool is_of_type(const tc_graph_port *p, const DLTensor *t) {
    DLDataType type = api_dl_type(p->dtype);
    return t->dtype.code == type.code && t->dtype.bits == type.bits && t->dtype.lanes == 1 && t->ndim == p->shape.ndim &&
           t->device.device_type == kDLCPU;
}

static tc_status not_taken(const tc_graph_port *p, const tc_graph_port *room, tc_error *err) {
    tc_arena *a = tc_arena_new();
    const char *type = tc_graph_type_str(a, p->dtype, &p->shape);
    tc_status s = TC_BAD_INPUT;
    if (room)
        s = tc_fail(err, s,
                    "'%s' lies in the buffer of '%s': it must be a tensor of at most %s in CPU memory, with the strides of %s",
                    p->name, room->name, type, tc_graph_type_str(a, room->dtype, &room->shape));
    else
        s = tc_fail(err, s, "'%s' must be a dense tensor %s in CPU memory", p->name, type);
    tc_arena_free(a);
    return s;
}

/* The port's view of t; TC_BAD_INPUT when it is anything else. varies: sizes that do are whatever t says, which the run looks at. room: the
 * output in whose buffer it lies; NULL: it is dense. */
static tc_status take(const tc_graph_port *p, const DLTensor *t, bool varies, const tc_graph_port *room, tc_graph_tensor *out,
                      tc_error *err) {
    bool same = is_of_type(p, t);
    tc_graph_shape shape = p->shape;
    for (int d = 0; same && d < t->ndim; d++) {
        same = t->shape[d] == p->shape.d[d] || (varies && p->extent[d] && t->shape[d] >= 0);
        shape.d[d] = t->shape[d];
    }
    if (!same || !lies_in(t, room ? room->shape.d : shape.d))
        return not_taken(p, room, err);
    *out = tc_graph_tensor_view(p->dtype, &shape, address(t));
    return TC_OK;
}

/* outputs: in which inputs may lie; NULL: there are none. */
static tc_status take_inputs(const tc_graph_model *m, const DLTensor *given, const tc_graph_tensor *outputs, tc_graph_tensor *out,
                             tc_error *err) {
    const tc_graph_port *ip, *op;
    int n = tc_graph_model_inputs(m, &ip);
    tc_graph_model_outputs(m, &op);
    for (int i = 0; i < n; i++) {
        int at = ip[i].shared - 1;
        bool inside = outputs && at >= 0 && outputs[at].data == address(&given[i]);
        TC_TRY(take(&ip[i], &given[i], true, inside ? &op[at] : NULL, &out[i], err));
    }
    return TC_OK;
}

static tc_status take_outputs(const tc_graph_model *m, const DLTensor *given, tc_graph_tensor *out, tc_error *err) {
    const tc_graph_port *p;
    int n = tc_graph_model_outputs(m, &p);
    for (int i = 0; i < n; i++)
        TC_TRY(take(&p[i], &given[i], false, NULL, &out[i], err));
    return TC_OK;
}

/* c NULL: with the model's own. */
static tctune_status run(tc_graph_model *m, tc_graph_context *c, const DLTensor *inputs, const DLTensor *outputs, char *error,
                         size_t error_size) {
    tc_error err = {0};
    const tc_graph_port *ip, *op;
    tc_status s = tc_memory_begin(&err);
    if (s != TC_OK)
        return api_answer(s, &err, error, error_size);
    int nin = tc_graph_model_inputs(m, &ip), nout = tc_graph_model_outputs(m, &op);
    tc_graph_tensor *in = tc_xcalloc((size_t)nin + 1, sizeof *in), *out = tc_xcalloc((size_t)nout + 1, sizeof *out);
    s = take_outputs(m, outputs, out, &err);
    if (s == TC_OK)
        s = take_inputs(m, inputs, out, in, &err);
    if (s == TC_OK)
        s = c ? tc_graph_context_run_into(c, in, out, &err) : tc_graph_model_run_into(m, in, out, &err);
    s = tc_memory_end(s, &err);
    free(in);
    free(out);
    return api_answer(s, &err, error, error_size);
}

tctune_status tctune_run(tctune_model *m, const DLTensor *inputs, DLTensor *outputs, char *error, size_t error_size) {
    return run(m->model, NULL, inputs, outputs, error, error_size);
}

/* ---- contexts ---- */

struct tctune_context {
    const tctune_model *of;
    tc_graph_context *context;
};

tctune_status tctune_context_new(const tctune_model *m, tctune_context **context, char *error, size_t error_size) {
    tc_error err = {0};
    tc_status s = tc_memory_begin(&err);
    if (s != TC_OK)
        return api_answer(s, &err, error, error_size);
    tctune_context *c = tc_xcalloc(1, sizeof *c);
    c->of = m;
    s = tc_memory_end(tc_graph_context_new(m->model, &c->context, &err), &err);
    if (s == TC_OK)
        *context = c;
    else
        tctune_context_free(c);
    return api_answer(s, &err, error, error_size);
}

void tctune_context_free(tctune_context *c) {
    if (!c)
        return;
    tc_graph_context_free(c->context);
    free(c);
}

tctune_status tctune_context_run(tctune_context *c, const DLTensor *inputs, DLTensor *outputs, char *error, size_t error_size) {
    return run(c->of->model, c->context, inputs, outputs, error, error_size);
}

const int64_t *tctune_context_output_shape(const tctune_context *c, int i) {
    return i >= 0 && i < tctune_num_outputs(c->of) ? tc_graph_context_output_shape(c->context, i)->d : NULL;
}

/* ---- profile ---- */

int tctune_num_kernels(const tctune_model *m) {
    const tc_graph_kernel *k;
    const tc_graph_other *o;
    return tc_graph_model_kernels(m->model, &k) + tc_graph_model_others(m->model, &o);
}

static tc_status profile(const tctune_context *c, const DLTensor *inputs, int runs, tc_graph_tensor *in, double *seconds,
                         tc_error *err) {
    if (runs < 1)
        return tc_fail(err, TC_BAD_INPUT, "a profile of %d runs says nothing; ask for at least 1", runs);
    TC_TRY(take_inputs(c->of->model, inputs, NULL, in, err));
    return tc_graph_context_profile(c->context, in, &(tc_graph_timing_options){.warmup = 1, .repeats = runs}, seconds, err);
}

tctune_status tctune_context_profile(tctune_context *c, const DLTensor *inputs, int runs, tctune_kernel_time *times, char *error,
                                     size_t error_size) {
    tc_error err = {0};
    const tc_graph_kernel *k;
    const tc_graph_other *o;
    tc_status s = tc_memory_begin(&err);
    if (s != TC_OK)
        return api_answer(s, &err, error, error_size);
    int nk = tc_graph_model_kernels(c->of->model, &k), no = tc_graph_model_others(c->of->model, &o);
    tc_graph_tensor *in = tc_xcalloc((size_t)tctune_num_inputs(c->of) + 1, sizeof *in);
    double *seconds = tc_xcalloc((size_t)(nk + no) + 1, sizeof *seconds);
    s = tc_memory_end(profile(c, inputs, runs, in, seconds, &err), &err);
    for (int i = 0; i < nk && s == TC_OK; i++)
        times[i] = (tctune_kernel_time){k[i].name, k[i].count, seconds[i]};
    for (int i = 0; i < no && s == TC_OK; i++)
        times[nk + i] = (tctune_kernel_time){o[i].name, o[i].count, seconds[nk + i]};
    free(in);
    free(seconds);
    return api_answer(s, &err, error, error_size);
}

tctune_status tctune_profile(tctune_model *m, const DLTensor *inputs, int runs, tctune_kernel_time *times, char *error,
                             size_t error_size) {
    tc_error err = {0};
    tctune_context own = {.of = m};
    tc_status s = tc_memory_begin(&err);
    if (s == TC_OK)
        s = tc_memory_end(tc_graph_model_own(m->model, &own.context, &err), &err);
    return s == TC_OK ? tctune_context_profile(&own, inputs, runs, times, error, error_size)
                      : api_answer(s, &err, error, error_size);
}
