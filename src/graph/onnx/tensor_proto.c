/* TensorProto <-> host tensor: raw bytes, typed fields, external files; and tensors alone in .pb files. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "graph/onnx/import.h"
#include "graph/onnx/onnx_int.h"
#include "support/inputs.h"
#include "support/system/fs.h"
#include "support/system/memory.h"

static const char *name_of(const Onnx__TensorProto *p) {
    return p->name && *p->name ? p->name : "(unnamed)";
}

static bool is_packed(tc_dtype t) {
    return tc_dtype_bits(t) == 4;
}

static tc_status read_type(const Onnx__TensorProto *p, tc_graph_tensor *out, tc_error *err) {
    *out = (tc_graph_tensor){0};
    if (!tc_graph_dtype_of_onnx(p->data_type, &out->dtype))
        return tc_refuse(err, TC_ERROR_UNSUPPORTED, "tensor '%s': element type %s (%d) is not supported", name_of(p),
                         tc_graph_onnx_type_name(p->data_type), p->data_type);
    if (p->n_dims > TC_GRAPH_MAX_DIMS)
        return tc_refuse(err, TC_ERROR_UNSUPPORTED, "tensor '%s' has %zu dimensions; at most %d are supported", name_of(p),
                         p->n_dims, TC_GRAPH_MAX_DIMS);
    out->shape.ndim = (int)p->n_dims;
    for (size_t i = 0; i < p->n_dims; i++)
        out->shape.d[i] = p->dims[i];
    if (tc_graph_shape_check(&out->shape, err) != TC_OK) {
        tc_error_prefix(err, "tensor '%s': ", name_of(p));
        return TC_BAD_INPUT;
    }
    return TC_OK;
}

static tc_status wrong_size(const Onnx__TensorProto *p, const tc_graph_tensor *t, size_t have, const char *unit, tc_error *err) {
    tc_arena *a = tc_arena_new();
    tc_status s = tc_fail(err, TC_BAD_INPUT,
                          "tensor '%s': its shape %s needs %zu %s, but the model holds %zu; the file is damaged or was "
                          "stripped of its weights",
                          name_of(p), tc_graph_type_str(a, t->dtype, &t->shape),
                          *unit == 'b' ? tc_graph_tensor_bytes(t) : (size_t)tc_graph_tensor_count(t), unit, have);
    tc_arena_free(a);
    return s;
}

static void normalise_bools(tc_graph_tensor *t) {
    if (t->dtype == TC_BOOL)
        for (int64_t i = 0, n = tc_graph_tensor_count(t); i < n; i++)
            ((uint8_t *)t->data)[i] = ((uint8_t *)t->data)[i] != 0;
}

static tc_status read_raw(Onnx__TensorProto *p, bool steal, tc_graph_tensor *t, tc_error *err) {
    if (p->raw_data.len != tc_graph_tensor_bytes(t))
        return wrong_size(p, t, p->raw_data.len, "bytes", err);
    if (steal && p->raw_data.len) {
        t->data = p->raw_data.data;
        t->storage = TC_GRAPH_OWNED;
        p->raw_data = (ProtobufCBinaryData){0};
    } else {
        TC_TRY(tc_graph_tensor_alloc(t, t->dtype, &t->shape, err));
        if (p->raw_data.len)
            memcpy(t->data, p->raw_data.data, p->raw_data.len);
    }
    normalise_bools(t);
    return TC_OK;
}

/* ---- typed fields ---- */

/* The field that ONNX prescribes for a type: its values, how many, and the bytes of each. What has no field of its own is in the
 * lower bytes of int32_data: narrow floats as bit patterns. */
typedef struct field {
    const void *values;
    size_t n, width;
} field;

static field field_of(const Onnx__TensorProto *p, tc_dtype t) {
    if (t == TC_F32)
        return (field){p->float_data, p->n_float_data, sizeof *p->float_data};
    if (t == TC_F64)
        return (field){p->double_data, p->n_double_data, sizeof *p->double_data};
    if (t == TC_I64)
        return (field){p->int64_data, p->n_int64_data, sizeof *p->int64_data};
    if (t == TC_U32 || t == TC_U64)
        return (field){p->uint64_data, p->n_uint64_data, sizeof *p->uint64_data};
    return (field){p->int32_data, p->n_int32_data, sizeof *p->int32_data};
}

static tc_status read_fields(const Onnx__TensorProto *p, tc_graph_tensor *t, tc_error *err) {
    field f = field_of(p, t->dtype);
    size_t bytes = (size_t)tc_dtype_bytes(t->dtype);
    if (f.n != (size_t)tc_graph_tensor_count(t))
        return wrong_size(p, t, f.n, "elements", err);
    TC_TRY(tc_graph_tensor_alloc(t, t->dtype, &t->shape, err));
    for (size_t i = 0; i < f.n; i++)
        memcpy((char *)t->data + i * bytes, (const char *)f.values + i * f.width, bytes);
    normalise_bools(t);
    return TC_OK;
}

/* ---- external data ---- */

typedef struct external {
    const char *location;
    int64_t offset, length; /* length -1: not given */
} external;

static tc_status parse_external(const Onnx__TensorProto *p, external *e, tc_error *err) {
    *e = (external){.length = -1};
    for (size_t i = 0; i < p->n_external_data; i++) {
        const char *key = p->external_data[i]->key, *value = p->external_data[i]->value;
        bool is_offset = key && strcmp(key, "offset") == 0, is_length = key && strcmp(key, "length") == 0;
        if (key && value && strcmp(key, "location") == 0)
            e->location = value;
        if (!is_offset && !is_length)
            continue;
        char *end = NULL;
        errno = 0;
        int64_t v = value ? strtoll(value, &end, 10) : -1;
        if (!value || !*value || *end || errno || v < 0)
            return tc_fail(err, TC_BAD_INPUT, "tensor '%s': external data has the %s '%s', which is not a size", name_of(p), key,
                           value ? value : "");
        *(is_offset ? &e->offset : &e->length) = v;
    }
    if (!e->location || !*e->location)
        return tc_fail(err, TC_BAD_INPUT, "tensor '%s': its data is external, but no location is given", name_of(p));
    return TC_OK;
}

/* A model may only name files beside or below itself. */
static tc_status cannot_open(const char *location, const char *path, int error, tc_error *err) {
    if (error == EXDEV)
        return tc_fail(err, TC_BAD_INPUT, "external data location '%s' leads out of the model's folder and is refused", location);
    if (error == ELOOP || error == ENOTDIR)
        return tc_fail(err, TC_BAD_INPUT,
                       "external data file %s is reached through a symbolic link, or through something that is not a folder, and "
                       "is refused; put the file itself beside the model",
                       path);
    return tc_fail(err, TC_BAD_INPUT, "external data file %s cannot be opened (%s); it must lie beside the model", path,
                   strerror(error));
}

static tc_status open_external(const char *dir, const char *location, const char *path, tc_onnx_source *out, tc_error *err) {
    size_t size;
    int fd = tc_fs_open_beneath(dir, location);
    if (fd < 0)
        return cannot_open(location, path, errno, err);
    tc_status s = tc_fs_check_regular(fd, path, &size, err);
    if (s != TC_OK) {
        close(fd);
        tc_error_prefix(err, "external data: ");
        return s;
    }
    return tc_onnx_source_of_file(fd, path, out, err);
}

/* Its bytes at e, of which t has `need`. */
static tc_status read_piece(tc_onnx_source *from, const external *e, size_t need, tc_graph_tensor *t, tc_error *err) {
    size_t offset = (size_t)e->offset;
    if (tc_onnx_is_lfs_pointer(from))
        return tc_fs_lfs_pointer(from->path, err);
    if (offset > from->size || need > from->size - offset)
        return tc_fail(err, TC_BAD_INPUT,
                       "external data needs bytes %zu to %zu of %s, which has only %zu; the file is truncated or "
                       "belongs to another model",
                       offset, offset + need, from->path, from->size);
    TC_TRY(tc_graph_tensor_alloc(t, t->dtype, &t->shape, err));
    return tc_onnx_source_copy(from, offset, t->data, need) ? TC_OK : TC_ENV;
}

/* Opened for each tensor: there may be a file for each, too. */
static tc_status read_external(const Onnx__TensorProto *p, const char *dir, tc_graph_tensor *t, tc_error *err) {
    external e;
    tc_onnx_source from;
    tc_strbuf path = {0};
    size_t need = tc_graph_tensor_bytes(t);
    TC_TRY(parse_external(p, &e, err));
    if (!dir)
        return tc_fail(err, TC_BAD_INPUT,
                       "tensor '%s': its data is in another file, '%s', and its folder is not known; give the folder of a model "
                       "in memory with data_folder",
                       name_of(p), e.location);
    if (e.length >= 0 && (size_t)e.length != need)
        return wrong_size(p, t, (size_t)e.length, "bytes", err);
    tc_sb_printf(&path, "%s/%s", dir, e.location);
    tc_status s = open_external(dir, e.location, tc_sb_str(&path), &from, err);
    if (s == TC_OK)
        s = tc_onnx_source_end(&from, read_piece(&from, &e, need, t, err), err);
    if (s == TC_OK)
        normalise_bools(t);
    else
        tc_graph_tensor_free(t);
    if (s != TC_OK)
        tc_error_prefix(err, "tensor '%s': ", name_of(p));
    tc_strbuf_free(&path);
    return s;
}

/* The elements of out, whose type and shape are known, one after the other. */
static tc_status read_elements(Onnx__TensorProto *p, const char *dir, bool steal, tc_graph_tensor *out, tc_error *err) {
    if (p->has_data_location && p->data_location == ONNX__TENSOR_PROTO__DATA_LOCATION__EXTERNAL)
        return read_external(p, dir, out, err);
    if (p->has_raw_data)
        return read_raw(p, steal, out, err);
    return read_fields(p, out, err);
}

/* Two elements to a byte, the first in the low bits; the last byte may hold one. */
static tc_status read_four_bits(Onnx__TensorProto *p, const char *dir, tc_graph_tensor *out, tc_error *err) {
    int64_t n = tc_graph_tensor_count(out);
    tc_graph_tensor packed = tc_graph_tensor_view(TC_U8, &(tc_graph_shape){1, {(n + 1) / 2}}, NULL);
    TC_TRY(read_elements(p, dir, false, &packed, err));
    tc_status s = tc_graph_tensor_alloc(out, out->dtype, &out->shape, err);
    for (int64_t i = 0; i < n && s == TC_OK; i++) /* a float is its code */
        tc_store_i(tc_dtype_is_signed(out->dtype) && tc_dtype_is_int(out->dtype) ? TC_I4 : TC_U4, out->data, i,
                   ((const uint8_t *)packed.data)[i / 2] >> (i % 2 * 4));
    tc_graph_tensor_free(&packed);
    return s;
}

tc_status tc_onnx_read_tensor(Onnx__TensorProto *p, const char *dir, bool steal, tc_graph_tensor *out, tc_error *err) {
    TC_TRY(read_type(p, out, err));
    if (p->segment)
        return tc_refuse(err, TC_ERROR_UNSUPPORTED, "tensor '%s': segments are not supported", name_of(p));
    return is_packed(out->dtype) ? read_four_bits(p, dir, out, err) : read_elements(p, dir, steal, out, err);
}

static ProtobufCBinaryData pack_four_bits(tc_arena *a, const tc_graph_tensor *t) {
    int64_t n = tc_graph_tensor_count(t);
    uint8_t *packed = TC_NEW_N(a, uint8_t, (n + 1) / 2 + 1);
    for (int64_t i = 0; i < n; i++)
        packed[i / 2] |= (uint8_t)((((const uint8_t *)t->data)[i] & 15) << (i % 2 * 4));
    return (ProtobufCBinaryData){(size_t)(n + 1) / 2, packed};
}

void tc_onnx_fill_tensor(tc_arena *a, Onnx__TensorProto *p, const char *name, const tc_graph_tensor *t) {
    onnx__tensor_proto__init(p);
    p->dims = tc_arena_dup(a, t->shape.d, sizeof t->shape.d);
    p->n_dims = (size_t)t->shape.ndim;
    p->has_data_type = 1;
    p->data_type = tc_graph_dtype_to_onnx(t->dtype);
    p->name = (char *)name;
    p->has_raw_data = 1;
    p->raw_data = is_packed(t->dtype) ? pack_four_bits(a, t) : (ProtobufCBinaryData){tc_graph_tensor_bytes(t), t->data};
}

Onnx__ValueInfoProto *tc_onnx_value_info(tc_arena *a, const char *name, tc_dtype t, Onnx__TensorShapeProto *shape) {
    Onnx__TypeProto__Tensor *tensor = TC_NEW(a, Onnx__TypeProto__Tensor);
    onnx__type_proto__tensor__init(tensor);
    tensor->has_elem_type = 1;
    tensor->elem_type = tc_graph_dtype_to_onnx(t);
    tensor->shape = shape;
    Onnx__TypeProto *type = TC_NEW(a, Onnx__TypeProto);
    onnx__type_proto__init(type);
    type->value_case = ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE;
    type->tensor_type = tensor;
    Onnx__ValueInfoProto *v = TC_NEW(a, Onnx__ValueInfoProto);
    onnx__value_info_proto__init(v);
    v->name = tc_arena_strdup(a, name);
    v->type = type;
    return v;
}

/* ---- .pb files ---- */

tc_status tc_graph_pb_load(const char *path, tc_graph_tensor *out, char **name, tc_error *err) {
    char *data;
    size_t size;
    TC_TRY(tc_fs_read_most(path, TC_BYTES_PB, &data, &size, err));
    ProtobufCMessage *message;
    tc_onnx_source from = {.data = (const uint8_t *)data, .size = size};
    tc_status s = tc_onnx_unpack(&onnx__tensor_proto__descriptor, NULL, &from, NULL, &message, err);
    Onnx__TensorProto *p = (Onnx__TensorProto *)message;
    if (!p) {
        tc_error_prefix(err, "%s: not an ONNX tensor: ", path);
    } else if ((s = tc_onnx_read_tensor(p, NULL, true, out, err)) != TC_OK) {
        tc_error_prefix(err, "%s: ", path);
    } else if (name) {
        *name = tc_xstrdup(p->name ? p->name : "");
    }
    if (p)
        onnx__tensor_proto__free_unpacked(p, NULL);
    free(data);
    return s;
}

tc_status tc_graph_pb_save(const char *path, const char *name, const tc_graph_tensor *t, tc_error *err) {
    Onnx__TensorProto p;
    tc_arena *a = tc_arena_new();
    tc_onnx_fill_tensor(a, &p, name, t);
    size_t size = onnx__tensor_proto__get_packed_size(&p);
    uint8_t *bytes = NULL;
    tc_status s = tc_memory_check(size, err);
    if (s == TC_OK) {
        bytes = tc_xmalloc(size + 1);
        onnx__tensor_proto__pack(&p, bytes);
        s = tc_fs_write(path, bytes, size, err);
    }
    free(bytes);
    tc_arena_free(a);
    return s;
}
