/* Turns DLPack tensors into the tensors of a run. A tensor that does not match the model is refused; the message describes the
 * tensor. */
#include <stdio.h>

#include "api/model_int.h"
#include "support/strbuf.h"

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

static bool is_type(DLDataType a, DLDataType b) {
    return a.code == b.code && a.bits == b.bits && a.lanes == b.lanes;
}

/* An input or output of a model. */
typedef struct port {
    const char *kind; /* "input" */
    const tc_graph_port *port;
    bool varies; /* sizes that vary have their value in the run, else the largest value */
} port;

/* ---- what was given, in words ---- */

/* "f32", as messages name the types of models; "i32x4", "complex64", "of type 77, 16 bits". */
static void print_type(tc_strbuf *b, DLDataType t) {
    static const char *const names[] = {
        [kDLInt] = "i",     [kDLUInt] = "u",         [kDLFloat] = "f", [kDLOpaqueHandle] = "handle",
        [kDLBfloat] = "bf", [kDLComplex] = "complex"};
    for (int own = 0; own < TC_NDTYPES; own++)
        if (is_type(api_dl_type((tc_dtype)own), t)) {
            tc_sb_add(b, tc_dtype_name((tc_dtype)own));
            return;
        }
    if (t.code < TC_LEN(names))
        tc_sb_printf(b, "%s%d", names[t.code], t.bits);
    else
        tc_sb_printf(b, "of type %d, %d bits", t.code, t.bits);
    if (t.lanes != 1)
        tc_sb_printf(b, "x%d", t.lanes);
}

static void print_numbers(tc_strbuf *b, const int64_t *n, int count) {
    tc_sb_add(b, "[");
    for (int i = 0; i < count; i++)
        tc_sb_printf(b, "%s%lld", i ? "," : "", (long long)n[i]);
    tc_sb_add(b, "]");
}

static void print_device(tc_strbuf *b, DLDevice d) {
    static const char *const names[] = {[kDLCUDA] = "CUDA",
                                        [kDLCUDAHost] = "CUDA's host memory",
                                        [kDLOpenCL] = "OpenCL",
                                        [kDLVulkan] = "Vulkan",
                                        [kDLMetal] = "Metal",
                                        [kDLROCM] = "ROCm",
                                        [kDLROCMHost] = "ROCm's host memory"};
    if (d.device_type == kDLCPU)
        return;
    const char *name = (size_t)d.device_type < TC_LEN(names) ? names[d.device_type] : NULL;
    if (name)
        tc_sb_printf(b, " on %s device %d", name, d.device_id);
    else
        tc_sb_printf(b, " on device %d of type %d", d.device_id, (int)d.device_type);
}

/* "f64[2,3] with strides [1,2] on CUDA device 0" */
static void print_given(tc_strbuf *b, const DLTensor *t) {
    bool listed = t->ndim >= 0 && t->ndim <= TC_GRAPH_MAX_DIMS && (t->shape || !t->ndim);
    print_type(b, t->dtype);
    if (listed)
        print_numbers(b, t->shape, t->ndim);
    else
        tc_sb_printf(b, " of %d dimensions%s", t->ndim, t->shape ? "" : " without a shape");
    if (listed && t->strides) {
        tc_sb_add(b, " with strides ");
        print_numbers(b, t->strides, t->ndim);
    }
    print_device(b, t->device);
    if (!t->data)
        tc_sb_add(b, " without data (NULL)");
}

/* room: as for take */
static tc_status not_taken(const port *p, const DLTensor *t, const tc_graph_port *room, tc_error *err) {
    tc_arena *a = tc_arena_new();
    tc_strbuf given = {0};
    const char *type = tc_graph_type_str(a, p->port->dtype, &p->port->shape);
    bool smaller = false;
    for (int d = 0; d < p->port->shape.ndim && p->varies; d++)
        smaller |= p->port->extent[d] != 0;
    print_given(&given, t);
    tc_status s = TC_BAD_INPUT;
    if (room)
        s = tc_fail(
            err, s,
            "%s '%s' lies in the buffer of '%s' and is %s; there it must be a tensor of at most %s in CPU memory, with the "
            "strides of %s",
            p->kind, p->port->name, room->name, tc_sb_str(&given), type, tc_graph_type_str(a, room->dtype, &room->shape));
    else
        s = tc_fail(err, s, "%s '%s' is %s; it must be a dense tensor %s%s in CPU memory", p->kind, p->port->name,
                    tc_sb_str(&given), smaller ? "of at most " : "", type);
    tc_strbuf_free(&given);
    tc_arena_free(a);
    return s;
}

/* ---- one tensor ---- */

static char *address(const DLTensor *t) {
    return t->data ? (char *)t->data + t->byte_offset : NULL;
}

static bool is_empty(const DLTensor *t) {
    bool empty = false;
    for (int d = 0; d < t->ndim; d++)
        empty |= t->shape[d] == 0;
    return empty;
}

/* The tensor has the first elements of each dimension of a dense array of that shape. Sizes out of range are refused later, so any
 * number may be multiplied here. */
static bool lies_in(const DLTensor *t, const int64_t *shape) {
    uint64_t stride = 1, dense = 1;
    bool fits = true;
    for (int d = t->ndim - 1; d >= 0; d--) {
        fits &= t->shape[d] == 1 || (t->strides ? (uint64_t)t->strides[d] : dense) == stride;
        stride *= (uint64_t)shape[d];
        dense *= (uint64_t)t->shape[d];
    }
    return fits || is_empty(t);
}

static bool is_of_type(const tc_graph_port *p, const DLTensor *t) {
    return is_type(t->dtype, api_dl_type(p->dtype)) && t->ndim == p->shape.ndim && (t->shape || !t->ndim) &&
           t->device.device_type == kDLCPU;
}

/* Makes the port's view of t; TC_BAD_INPUT if t does not match. Sizes that vary come from t; the run checks them. room: the output
 * in whose buffer t lies; NULL: t is dense. */
static tc_status take(const port *p, const DLTensor *t, const tc_graph_port *room, tc_graph_tensor *out, tc_error *err) {
    bool same = is_of_type(p->port, t);
    tc_graph_shape shape = p->port->shape;
    for (int d = 0; same && d < t->ndim; d++) {
        same = t->shape[d] == p->port->shape.d[d] || (p->varies && p->port->extent[d] && t->shape[d] >= 0);
        shape.d[d] = t->shape[d];
    }
    if (!same || !lies_in(t, room ? room->shape.d : shape.d) || (!t->data && !is_empty(t)))
        return not_taken(p, t, room, err);
    *out = tc_graph_tensor_view(p->port->dtype, &shape, address(t));
    return TC_OK;
}

/* ---- those of a run ---- */

static tc_status nothing_given(const char *kind, int n, tc_error *err) {
    return tc_fail(err, TC_BAD_INPUT, "the array of %ss is missing: the model has %d, each with a tensor in the array", kind, n);
}

tc_status api_take_inputs(const tc_graph_model *m, const DLTensor *given, const tc_graph_tensor *outputs, tc_graph_tensor *in,
                          tc_error *err) {
    const tc_graph_port *ip, *op;
    int n = tc_graph_model_inputs(m, &ip);
    tc_graph_model_outputs(m, &op);
    if (n && !given)
        return nothing_given("input", n, err);
    for (int i = 0; i < n; i++) {
        int at = ip[i].shared - 1;
        bool inside = outputs && at >= 0 && given[i].data && outputs[at].data == address(&given[i]);
        port p = {"input", &ip[i], true};
        TC_TRY(take(&p, &given[i], inside ? &op[at] : NULL, &in[i], err));
    }
    return TC_OK;
}

tc_status api_take_outputs(const tc_graph_model *m, const DLTensor *given, tc_graph_tensor *out, tc_error *err) {
    const tc_graph_port *op;
    int n = tc_graph_model_outputs(m, &op);
    if (n && !given)
        return nothing_given("output", n, err);
    for (int i = 0; i < n; i++) {
        port p = {"output", &op[i], false};
        TC_TRY(take(&p, &given[i], NULL, &out[i], err));
    }
    return TC_OK;
}

/* Sizes out of range are refused later, so the check is limited to the possible sizes. */
static api_span span_of(const tc_graph_tensor *t, const tc_graph_port *p) {
    int64_t bytes = tc_dtype_bytes(p->dtype);
    for (int d = 0; d < p->shape.ndim; d++)
        bytes *= TC_MIN(t->shape.d[d], p->shape.d[d]);
    uintptr_t from = (uintptr_t)t->data;
    return bytes ? (api_span){from, from + (uintptr_t)bytes} : (api_span){0, 0};
}

static bool meet(api_span a, api_span b) {
    return a.from < b.to && b.from < a.to;
}

static tc_status overlap(const char *output, const char *kind, const char *other, tc_error *err) {
    return tc_fail(
        err, TC_BAD_INPUT,
        "the memory of output '%s' overlaps that of %s '%s'; an output needs memory that no other tensor of the run has", output,
        kind, other);
}

tc_status api_check_apart(const tc_graph_model *m, const tc_graph_tensor *in, const tc_graph_tensor *out, api_span *spans,
                          tc_error *err) {
    const tc_graph_port *ip, *op;
    int nin = tc_graph_model_inputs(m, &ip), nout = tc_graph_model_outputs(m, &op);
    for (int i = 0; i < nin; i++)
        spans[i] = span_of(&in[i], &ip[i]);
    for (int o = 0; o < nout; o++) {
        api_span own = spans[nin + o] = span_of(&out[o], &op[o]);
        for (int i = 0; i < nin; i++)
            if (meet(own, spans[i]) && !(ip[i].shared == o + 1 && in[i].data == out[o].data))
                return overlap(op[o].name, "input", ip[i].name, err);
        for (int k = 0; k < o; k++)
            if (meet(own, spans[nin + k]))
                return overlap(op[o].name, "output", op[k].name, err);
    }
    return TC_OK;
}
