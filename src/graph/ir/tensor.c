/* Host tensors: shapes, storage, conversion, comparison. */
#include "graph/ir/tensor.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/numbers.h"
#include "support/system/memory.h"
#include "te/eval.h"

int64_t tc_graph_shape_count(const tc_graph_shape *s) {
    int64_t n = 1;
    for (int i = 0; i < s->ndim; i++)
        n *= s->d[i];
    return n;
}

bool tc_graph_shape_equal(const tc_graph_shape *a, const tc_graph_shape *b) {
    return a->ndim == b->ndim && memcmp(a->d, b->d, sizeof a->d[0] * (size_t)a->ndim) == 0;
}

/* The product of the non-zero dims must fit too: strides are computed from them. */
tc_status tc_graph_shape_check(const tc_graph_shape *s, tc_error *err) {
    int64_t bytes = sizeof(double); /* the widest element: what holds these of one type holds them of any */
    for (int i = 0; i < s->ndim; i++) {
        if (s->d[i] < 0)
            return tc_fail(err, TC_BAD_INPUT, "dimension %d is negative (%" PRId64 ")", i, s->d[i]);
        if (__builtin_mul_overflow(bytes, s->d[i] ? s->d[i] : 1, &bytes) || bytes > INT64_MAX / 2)
            return tc_fail(err, TC_BAD_INPUT, "the shape overflows: more than 2^59 elements up to dimension %d (%" PRId64 ")", i,
                           s->d[i]);
    }
    return TC_OK;
}

bool tc_graph_shape_broadcast(const tc_graph_shape *a, const tc_graph_shape *b, tc_graph_shape *out) {
    tc_graph_shape r = {.ndim = a->ndim > b->ndim ? a->ndim : b->ndim};
    for (int i = 0; i < r.ndim; i++) {
        int ia = i - (r.ndim - a->ndim), ib = i - (r.ndim - b->ndim);
        int64_t da = ia < 0 ? 1 : a->d[ia], db = ib < 0 ? 1 : b->d[ib];
        if (da != db && da != 1 && db != 1)
            return false;
        r.d[i] = da == 1 ? db : da;
    }
    *out = r;
    return true;
}

void tc_graph_shape_strides(const tc_graph_shape *s, int64_t strides[TC_GRAPH_MAX_DIMS]) {
    int64_t n = 1;
    for (int i = s->ndim - 1; i >= 0; i--) {
        strides[i] = n;
        n *= s->d[i];
    }
}

void tc_graph_shape_print(tc_strbuf *b, const tc_graph_shape *s) {
    tc_sb_addc(b, '[');
    for (int i = 0; i < s->ndim; i++)
        tc_sb_printf(b, "%s%" PRId64, i ? "," : "", s->d[i]);
    tc_sb_addc(b, ']');
}

const char *tc_graph_type_str(tc_arena *a, tc_dtype dtype, const tc_graph_shape *s) {
    tc_strbuf b = {0};
    tc_sb_add(&b, tc_dtype_name(dtype));
    tc_graph_shape_print(&b, s);
    return tc_sb_keep(&b, a);
}

tc_status tc_graph_tensor_alloc(tc_graph_tensor *t, tc_dtype dtype, const tc_graph_shape *shape, tc_error *err) {
    size_t bytes = (size_t)tc_graph_shape_count(shape) * (size_t)tc_dtype_bytes(dtype);
    TC_TRY(tc_memory_check(bytes, err));
    void *data = calloc(1, bytes ? bytes : 1);
    if (!data)
        return tc_memory_lacking(bytes, err);
    *t = (tc_graph_tensor){.dtype = dtype, .storage = TC_GRAPH_OWNED, .shape = *shape, .data = data};
    return TC_OK;
}

tc_status tc_graph_tensor_copy(const tc_graph_tensor *t, tc_graph_tensor *out, tc_error *err) {
    TC_TRY(tc_graph_tensor_alloc(out, t->dtype, &t->shape, err));
    memcpy(out->data, t->data, tc_graph_tensor_bytes(t));
    return TC_OK;
}

tc_graph_tensor tc_graph_tensor_view(tc_dtype dtype, const tc_graph_shape *shape, void *data) {
    return (tc_graph_tensor){.dtype = dtype, .storage = TC_GRAPH_VIEW, .shape = *shape, .data = data};
}

void tc_graph_tensor_free(tc_graph_tensor *t) {
    if (t->storage == TC_GRAPH_OWNED)
        free(t->data);
    *t = (tc_graph_tensor){0};
}

/* The block of that shape from one array to another, row by row, whose dimensions are `from` and `to`. Within one array it must not
 * move backwards. */
static void copy_block(char *dst, const tc_graph_shape *to, const char *src, const tc_graph_shape *from,
                       const tc_graph_shape *block, size_t size) {
    int64_t dst_strides[TC_GRAPH_MAX_DIMS], src_strides[TC_GRAPH_MAX_DIMS], index[TC_GRAPH_MAX_DIMS] = {0};
    int64_t n = tc_graph_shape_count(block), row = block->ndim ? block->d[block->ndim - 1] : 1;
    tc_graph_shape_strides(to, dst_strides);
    tc_graph_shape_strides(from, src_strides);
    for (int64_t done = 0; done < n; done += row) {
        int64_t at = 0, of = 0;
        for (int d = 0; d < block->ndim; d++) {
            at += index[d] * dst_strides[d];
            of += index[d] * src_strides[d];
        }
        memmove(dst + (size_t)at * size, src + (size_t)of * size, (size_t)row * size);
        for (int d = block->ndim - 2; d >= 0 && ++index[d] == block->d[d]; d--)
            index[d] = 0;
    }
}

void tc_graph_tensor_trim(tc_graph_tensor *t, const tc_graph_shape *to) {
    if (!tc_graph_shape_equal(&t->shape, to)) /* what is read lies never before what is written */
        copy_block(t->data, to, t->data, &t->shape, to, (size_t)tc_dtype_bytes(t->dtype));
    t->shape = *to;
}

void tc_graph_tensor_place(const tc_graph_tensor *t, const tc_graph_shape *shape, void *to) {
    copy_block(to, shape, t->data, &t->shape, &t->shape, (size_t)tc_dtype_bytes(t->dtype));
}

tc_status tc_graph_tensor_widen(const tc_graph_tensor *t, const tc_graph_shape *to, tc_graph_tensor *out, tc_error *err) {
    TC_TRY(tc_graph_tensor_alloc(out, t->dtype, to, err));
    tc_graph_tensor_place(t, to, out->data);
    return TC_OK;
}

int64_t tc_graph_tensor_count(const tc_graph_tensor *t) {
    return tc_graph_shape_count(&t->shape);
}

size_t tc_graph_tensor_bytes(const tc_graph_tensor *t) {
    return (size_t)tc_graph_tensor_count(t) * (size_t)tc_dtype_bytes(t->dtype);
}

bool tc_graph_tensor_equal(const tc_graph_tensor *a, const tc_graph_tensor *b) {
    return a->dtype == b->dtype && tc_graph_shape_equal(&a->shape, &b->shape) &&
           memcmp(a->data, b->data, tc_graph_tensor_bytes(a)) == 0;
}

int64_t tc_graph_tensor_nonfinite(const tc_graph_tensor *t) {
    int64_t n = tc_dtype_is_float(t->dtype) ? tc_graph_tensor_count(t) : 0;
    for (int64_t i = 0; i < n; i++)
        if (!isfinite(tc_load_f(t->dtype, t->data, i)))
            return i;
    return -1;
}

bool tc_graph_tensor_holds(const tc_graph_tensor *t, tc_dtype dtype) {
    int bits = tc_dtype_bits(dtype);
    if (t->dtype == dtype)
        return true;
    if (dtype == TC_BF16)
        return t->dtype == TC_U16;
    if (!tc_dtype_is_stored(dtype) || t->dtype != (dtype == TC_I4 ? TC_I8 : TC_U8))
        return false;
    int64_t low = dtype == TC_I4 ? -8 : 0, n = bits == 4 ? tc_graph_tensor_count(t) : 0;
    for (int64_t i = 0; i < n; i++)
        if (tc_load_i(t->dtype, t->data, i) < low || tc_load_i(t->dtype, t->data, i) > low + 15)
            return false;
    return true;
}

void tc_graph_tensor_to_f64(const tc_graph_tensor *t, double *dst) {
    int64_t n = tc_graph_tensor_count(t);
    if (t->dtype == TC_F32) {
        const float *src = t->data;
        for (int64_t i = 0; i < n; i++)
            dst[i] = src[i];
    } else if (tc_dtype_is_float(t->dtype)) {
        for (int64_t i = 0; i < n; i++)
            dst[i] = tc_load_f(t->dtype, t->data, i);
    } else if (t->dtype == TC_U64) {
        for (int64_t i = 0; i < n; i++)
            dst[i] = (double)((const uint64_t *)t->data)[i];
    } else {
        for (int64_t i = 0; i < n; i++)
            dst[i] = (double)tc_load_i(t->dtype, t->data, i);
    }
}

/* Float to integer as C does for values in range; NaN gives 0 and the rest saturates, so that nothing is undefined. */
static int64_t truncate_to_i64(double v) {
    if (isnan(v))
        return 0;
    if (v >= 0x1p63)
        return INT64_MAX;
    return v <= -0x1p63 ? INT64_MIN : (int64_t)v;
}

void tc_graph_tensor_to_i64(const tc_graph_tensor *t, int64_t *dst) {
    int64_t n = tc_graph_tensor_count(t);
    bool is_float = tc_dtype_is_float(t->dtype);
    for (int64_t i = 0; i < n; i++)
        dst[i] = is_float ? truncate_to_i64(tc_load_f(t->dtype, t->data, i)) : tc_load_i(t->dtype, t->data, i);
}

void tc_graph_tensor_from_f64(tc_graph_tensor *t, const double *src) {
    int64_t n = tc_graph_tensor_count(t);
    if (t->dtype == TC_F32) {
        for (int64_t i = 0; i < n; i++)
            ((float *)t->data)[i] = (float)src[i];
        return;
    }
    for (int64_t i = 0; i < n; i++) {
        if (tc_dtype_is_float(t->dtype))
            tc_store_f(t->dtype, t->data, i, src[i]);
        else if (t->dtype == TC_BOOL)
            ((uint8_t *)t->data)[i] = src[i] != 0;
        else if (t->dtype == TC_U64 && src[i] >= 0x1p63)
            ((uint64_t *)t->data)[i] = src[i] >= 0x1p64 ? UINT64_MAX : (uint64_t)src[i];
        else
            tc_store_i(t->dtype, t->data, i, truncate_to_i64(src[i]));
    }
}

void tc_graph_tensor_from_i64(tc_graph_tensor *t, const int64_t *src) {
    int64_t n = tc_graph_tensor_count(t);
    for (int64_t i = 0; i < n; i++) {
        if (tc_dtype_is_float(t->dtype))
            tc_store_f(t->dtype, t->data, i, tc_cast_if(TC_I64, t->dtype, src[i]));
        else
            tc_store_i(t->dtype, t->data, i, t->dtype == TC_BOOL ? src[i] != 0 : src[i]);
    }
}

static void floats_of_u64(tc_graph_tensor *dst, const uint64_t *src, size_t n) {
    for (size_t i = 0; i < n; i++)
        tc_store_f(dst->dtype, dst->data, (int64_t)i, tc_cast_if(TC_U64, dst->dtype, (int64_t)src[i]));
}

void tc_graph_tensor_cast(tc_graph_tensor *dst, const tc_graph_tensor *src) {
    size_t n = (size_t)tc_graph_tensor_count(src);
    if (dst->dtype == src->dtype) {
        memcpy(dst->data, src->data, tc_graph_tensor_bytes(src));
    } else if (src->dtype == TC_U64 && tc_dtype_is_float(dst->dtype)) {
        floats_of_u64(dst, src->data, n);
    } else if (tc_dtype_is_float(src->dtype)) {
        double *v = tc_xmalloc((n ? n : 1) * sizeof *v);
        tc_graph_tensor_to_f64(src, v);
        tc_graph_tensor_from_f64(dst, v);
        free(v);
    } else {
        int64_t *v = tc_xmalloc((n ? n : 1) * sizeof *v);
        tc_graph_tensor_to_i64(src, v);
        tc_graph_tensor_from_i64(dst, v);
        free(v);
    }
}

void tc_graph_tensor_print_element(tc_strbuf *b, const tc_graph_tensor *t, int64_t i) {
    if (t->dtype == TC_BOOL)
        tc_sb_add(b, ((const uint8_t *)t->data)[i] ? "true" : "false");
    else if (t->dtype == TC_F32) /* the shortest text of the float, not of the double nearest to it */
        for (int digits = 6; digits <= 9; digits++) {
            char text[32];
            float v = ((const float *)t->data)[i];
            tc_snprintf(text, sizeof text, "%.*g", digits, v);
            if (digits == 9 || isnan(v) || tc_strtof(text, NULL) == v) {
                tc_sb_add(b, text);
                return;
            }
        }
    else if (tc_dtype_is_float(t->dtype))
        tc_sb_double(b, tc_load_f(t->dtype, t->data, i));
    else if (t->dtype == TC_U64)
        tc_sb_printf(b, "%" PRIu64, ((const uint64_t *)t->data)[i]);
    else
        tc_sb_printf(b, "%" PRId64, tc_load_i(t->dtype, t->data, i));
}

void tc_graph_tensor_print_values(tc_strbuf *b, const tc_graph_tensor *t, int64_t limit) {
    int64_t n = tc_graph_tensor_count(t);
    for (int64_t i = 0; i < n && i < limit; i++) {
        if (i)
            tc_sb_add(b, ", ");
        tc_graph_tensor_print_element(b, t, i);
    }
    if (n > limit)
        tc_sb_add(b, ", ...");
}

static tc_status comparable(const tc_graph_tensor *a, const tc_graph_tensor *ref, tc_error *err) {
    if (a->dtype == ref->dtype && tc_graph_shape_equal(&a->shape, &ref->shape))
        return TC_OK;
    tc_strbuf b = {0};
    tc_sb_add(&b, tc_dtype_name(a->dtype));
    tc_graph_shape_print(&b, &a->shape);
    tc_sb_printf(&b, ", but %s", tc_dtype_name(ref->dtype));
    tc_graph_shape_print(&b, &ref->shape);
    tc_status s = tc_fail(err, TC_BAD_INPUT, "the result is %s was expected", tc_sb_str(&b));
    tc_strbuf_free(&b);
    return s;
}

/* |a - b| where equal infinities differ by 0 and a lone NaN by infinity. */
static double distance(double a, double b) {
    if (isnan(a) || isnan(b))
        return isnan(a) && isnan(b) ? 0 : INFINITY;
    return a == b ? 0 : fabs(a - b);
}

/* Integers beyond 2^53 are subtracted before they become a double: unequal ones never differ by 0. */
static double distance_at(const tc_graph_tensor *a, const tc_graph_tensor *ref, int64_t i) {
    if (tc_dtype_is_float(ref->dtype))
        return distance(tc_load_f(a->dtype, a->data, i), tc_load_f(ref->dtype, ref->data, i));
    return tc_distance_i(ref->dtype, tc_load_i(a->dtype, a->data, i), tc_load_i(ref->dtype, ref->data, i));
}

tc_status tc_graph_tensor_compare(const tc_graph_tensor *a, const tc_graph_tensor *ref, double rtol, double atol,
                                  tc_graph_diff *out, tc_error *err) {
    TC_TRY(comparable(a, ref, err));
    tc_graph_diff r = {.worst = -1};
    bool is_float = tc_dtype_is_float(ref->dtype);
    int64_t n = tc_graph_tensor_count(a);
    for (int64_t i = 0; i < n; i++) {
        double want = tc_load_f(ref->dtype, ref->data, i), d = distance_at(a, ref, i);
        if (d > r.max_abs || r.worst < 0) {
            r.max_abs = d;
            r.worst = i;
        }
        if (isfinite(want) && fabs(want) > r.max_ref)
            r.max_ref = fabs(want);
        if (d > atol + (is_float && isfinite(want) ? rtol * fabs(want) : 0))
            r.violations++;
    }
    r.rel = r.max_abs == 0 ? 0 : r.max_abs / r.max_ref;
    *out = r;
    return TC_OK;
}

const tc_graph_tensor *tc_graph_bundle_find(const tc_graph_bundle *b, const char *name) {
    for (size_t i = 0; i < b->len; i++)
        if (strcmp(b->items[i].name, name) == 0)
            return &b->items[i].t;
    return NULL;
}

void tc_graph_bundle_free(tc_graph_bundle *b) {
    for (size_t i = 0; i < b->len; i++) {
        free(b->items[i].name);
        tc_graph_tensor_free(&b->items[i].t);
    }
    free(b->items);
    *b = (tc_graph_bundle){0};
}
