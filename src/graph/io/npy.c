/* NumPy's .npy format, versions 1 to 3 (numpy.lib.format). Files are written as version 1: "\x93NUMPY", 1, 0, header length (2
 * bytes), a Python dict padded so that the data starts at a multiple of 64, then the elements. Files are read in either byte order
 * and in either array order; the result is native and row-major. A type that NumPy lacks is written as a wider type: bf16 and 8-bit
 * floats as f32, i4 as i8 and u4 as u8. */
#include "graph/io/numpy.h"
#include "graph/ir/tensor.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/system/fs.h"
#include "support/vec.h"

static const struct {
    char kind;
    int bytes;
    tc_dtype dtype;
} npy_types[] = {{'b', 1, TC_BOOL}, {'i', 1, TC_I8},  {'u', 1, TC_U8},  {'i', 2, TC_I16}, {'u', 2, TC_U16}, {'i', 4, TC_I32},
                 {'u', 4, TC_U32},  {'i', 8, TC_I64}, {'u', 8, TC_U64}, {'f', 2, TC_F16}, {'f', 4, TC_F32}, {'f', 8, TC_F64}};

enum { SHORTEST = 10 }; /* bytes before the header's text */

typedef struct npy_header {
    tc_dtype dtype;
    bool swap, fortran;
    tc_graph_shape shape;
} npy_header;

/* The text after `'key':` in the header's dict, or NULL. */
static const char *dict_value(const char *dict, const char *key) {
    char quoted[32];
    for (int q = 0; q < 2; q++) {
        snprintf(quoted, sizeof quoted, "%c%s%c", "'\""[q], key, "'\""[q]);
        const char *p = strstr(dict, quoted);
        if (!p)
            continue;
        p += strlen(quoted);
        p += strspn(p, " ");
        if (*p == ':')
            return p + 1 + strspn(p + 1, " ");
    }
    return NULL;
}

static tc_status parse_descr(const char *file, const char *p, npy_header *h, tc_error *err) {
    char text[16] = {0};
    size_t n = p && (*p == '\'' || *p == '"') ? strcspn(p + 1, "'\"") : 0;
    if (n > 0 && n < sizeof text)
        memcpy(text, p + 1, n);
    char *end = text;
    long bytes = n > 2 ? strtol(text + 2, &end, 10) : 0;
    for (size_t i = 0; n > 2 && *end == 0 && strchr("<>|=", text[0]) && i < TC_LEN(npy_types); i++)
        if (npy_types[i].kind == text[1] && npy_types[i].bytes == bytes) {
            h->dtype = npy_types[i].dtype;
            h->swap = text[0] == '>' && bytes > 1;
            return TC_OK;
        }
    return tc_refuse(err, TC_ERROR_UNSUPPORTED,
                     "%s: element type '%s' is not supported; save the array as bool, (u)int8..64, float16, float32 or float64",
                     file, text);
}

static tc_status parse_shape(const char *file, const char *p, tc_graph_shape *s, tc_error *err) {
    *s = (tc_graph_shape){0};
    if (!p || *p++ != '(')
        return tc_fail(err, TC_BAD_INPUT, "%s: the .npy header has no shape", file);
    for (;;) {
        p += strspn(p, " ,");
        if (*p == ')')
            return TC_OK;
        char *end;
        long long v = strtoll(p, &end, 10);
        if (end == p || v < 0)
            return tc_fail(err, TC_BAD_INPUT, "%s: the shape in the .npy header is malformed", file);
        if (s->ndim == TC_GRAPH_MAX_DIMS)
            return tc_fail(err, TC_BAD_INPUT, "%s: more than %d dimensions", file, TC_GRAPH_MAX_DIMS);
        s->d[s->ndim++] = v;
        p = end + (*end == 'L');
    }
}

static tc_status parse_dict(const char *file, const char *dict, npy_header *h, tc_error *err) {
    TC_TRY(parse_descr(file, dict_value(dict, "descr"), h, err));
    const char *order = dict_value(dict, "fortran_order");
    h->fortran = order && strncmp(order, "True", 4) == 0;
    if (!h->fortran && (!order || strncmp(order, "False", 5) != 0))
        return tc_fail(err, TC_BAD_INPUT, "%s: fortran_order in the .npy header is neither True nor False", file);
    TC_TRY(parse_shape(file, dict_value(dict, "shape"), &h->shape, err));
    if (tc_graph_shape_check(&h->shape, err) != TC_OK) {
        tc_error_prefix(err, "%s: ", file);
        return TC_BAD_INPUT;
    }
    return TC_OK;
}

static void swap_bytes(tc_graph_tensor *t) {
    size_t size = (size_t)tc_dtype_bytes(t->dtype), n = tc_graph_tensor_bytes(t);
    for (char *p = t->data, *end = p + n; p < end; p += size)
        for (size_t i = 0; i < size / 2; i++) {
            char c = p[i];
            p[i] = p[size - 1 - i];
            p[size - 1 - i] = c;
        }
}

static void from_column_major(tc_graph_tensor *t, const char *src) {
    int64_t count = tc_graph_tensor_count(t), size = tc_dtype_bytes(t->dtype);
    int64_t index[TC_GRAPH_MAX_DIMS] = {0};
    for (int64_t i = 0; i < count; i++) {
        int64_t at = 0;
        for (int d = t->shape.ndim - 1; d >= 0; d--)
            at = at * t->shape.d[d] + index[d];
        memcpy((char *)t->data + i * size, src + at * size, (size_t)size);
        for (int d = t->shape.ndim - 1; d >= 0 && ++index[d] == t->shape.d[d]; d--)
            index[d] = 0;
    }
}

static tc_status check_magic(const char *file, const void *head, size_t size, tc_error *err) {
    return size >= SHORTEST && memcmp(head, "\x93NUMPY", 6) == 0
               ? TC_OK
               : tc_fail(err, TC_BAD_INPUT, "%s: not a .npy array (its magic bytes are missing)", file);
}

tc_status tc_graph_npy_parse(const char *file, const void *data, size_t size, tc_graph_tensor *out, tc_error *err) {
    const unsigned char *p = data;
    TC_TRY(check_magic(file, data, size, err));
    size_t at = p[6] == 1 ? 10 : 12;
    size_t len = p[8] | (size_t)p[9] << 8;
    if (at == 12 && size >= 12)
        len |= (size_t)p[10] << 16 | (size_t)p[11] << 24;
    if (p[6] < 1 || p[6] > 3 || size < at || len > size - at)
        return tc_fail(err, TC_BAD_INPUT, "%s: the .npy header is truncated or of an unknown version (%d)", file, p[6]);
    char *dict = tc_xmalloc(len + 1);
    memcpy(dict, p + at, len);
    dict[len] = 0;
    npy_header h = {0};
    tc_status s = parse_dict(file, dict, &h, err);
    free(dict);
    TC_TRY(s);
    size_t need = (size_t)tc_graph_shape_count(&h.shape) * (size_t)tc_dtype_bytes(h.dtype);
    if (size - at - len < need)
        return tc_fail(err, TC_BAD_INPUT, "%s: truncated: the array needs %zu bytes of data, the file has %zu", file, need,
                       size - at - len);
    if (size - at - len > need)
        return tc_fail(
            err, TC_BAD_INPUT,
            "%s: damaged: the array needs %zu bytes of data, the file has %zu; expected one array and nothing behind it", file,
            need, size - at - len);
    TC_TRY(tc_graph_tensor_alloc(out, h.dtype, &h.shape, err));
    const char *src = (const char *)p + at + len;
    if (h.fortran && h.shape.ndim > 1)
        from_column_major(out, src);
    else
        memcpy(out->data, src, need);
    if (h.swap)
        swap_bytes(out);
    for (size_t i = 0; h.dtype == TC_BOOL && i < need; i++)
        ((uint8_t *)out->data)[i] = ((uint8_t *)out->data)[i] != 0;
    return TC_OK;
}

static void format_header(tc_strbuf *dict, tc_dtype dtype, const tc_graph_shape *s) {
    char kind = 'f';
    for (size_t i = 0; i < TC_LEN(npy_types); i++)
        if (npy_types[i].dtype == dtype)
            kind = npy_types[i].kind;
    int bytes = tc_dtype_bytes(dtype);
    tc_sb_printf(dict, "{'descr': '%c%c%d', 'fortran_order': False, 'shape': (", bytes == 1 ? '|' : '<', kind, bytes);
    for (int i = 0; i < s->ndim; i++)
        tc_sb_printf(dict, "%s%" PRId64 "%s", i ? ", " : "", s->d[i], s->ndim == 1 ? "," : "");
    tc_sb_add(dict, "), }");
}

static tc_dtype npy_holder(tc_dtype t) {
    return tc_dtype_is_float(t) ? TC_F32 : tc_dtype_is_signed(t) ? TC_I8 : TC_U8;
}

void tc_graph_npy_format(const tc_graph_tensor *t, tc_strbuf *out) {
    if (t->dtype == TC_BF16 || tc_dtype_is_stored(t->dtype)) {
        tc_graph_tensor wide;
        if (tc_graph_tensor_alloc(&wide, npy_holder(t->dtype), &t->shape, NULL) != TC_OK)
            return tc_alloc_refuse();
        tc_graph_tensor_cast(&wide, t);
        tc_graph_npy_format(&wide, out);
        tc_graph_tensor_free(&wide);
        return;
    }
    tc_strbuf dict = {0};
    format_header(&dict, t->dtype, &t->shape);
    while ((10 + dict.len + 1) % 64 != 0)
        tc_sb_addc(&dict, ' ');
    tc_sb_addc(&dict, '\n');
    tc_sb_addn(out, "\x93NUMPY\x01", 7);
    tc_sb_addc(out, 0);
    tc_sb_addc(out, (char)(dict.len & 255));
    tc_sb_addc(out, (char)(dict.len >> 8));
    tc_sb_addn(out, dict.data, dict.len);
    tc_sb_addn(out, t->data, tc_graph_tensor_bytes(t));
    tc_strbuf_free(&dict);
}

tc_status tc_graph_npy_load(const char *path, tc_graph_tensor *out, tc_error *err) {
    char *data, head[SHORTEST];
    size_t size;
    if (tc_fs_read_head(path, head, sizeof head) == sizeof head) { /* before a large file is read */
        TC_TRY(tc_fs_refuse_lfs_pointer(path, err));
        TC_TRY(check_magic(path, head, sizeof head, err));
    }
    TC_TRY(tc_fs_read(path, &data, &size, err));
    tc_status s = tc_graph_npy_parse(path, data, size, out, err);
    free(data);
    return s;
}

tc_status tc_graph_npy_save(const char *path, const tc_graph_tensor *t, tc_error *err) {
    tc_strbuf b = {0};
    tc_graph_npy_format(t, &b);
    tc_status s = tc_fs_write(path, b.data, b.len, err);
    tc_strbuf_free(&b);
    return s;
}
