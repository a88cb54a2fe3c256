/* Host tensors: the values of constants, inputs and outputs. They are dense, row-major and little-endian. A bool is one byte (0 or
 * 1). A rank-0 tensor is a scalar with one element. */
#ifndef TC_GRAPH_IR_TENSOR_H
#define TC_GRAPH_IR_TENSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "support/arena.h"
#include "support/status.h"
#include "support/strbuf.h"
#include "te/dtype.h"

enum { TC_GRAPH_MAX_DIMS = 8 };

typedef struct tc_graph_shape {
    int ndim;
    int64_t d[TC_GRAPH_MAX_DIMS]; /* each >= 0 */
} tc_graph_shape;

/* Where the bytes live. VIEW: someone else keeps them alive (an arena, a graph, a mapping). OWNED: malloc'ed, released by
 * tc_graph_tensor_free. */
typedef enum tc_graph_storage { TC_GRAPH_VIEW, TC_GRAPH_OWNED } tc_graph_storage;

typedef struct tc_graph_tensor {
    tc_dtype dtype;
    tc_graph_storage storage;
    tc_graph_shape shape;
    void *data; /* 16-byte aligned when allocated here; not NULL, also for zero elements */
} tc_graph_tensor;

/* A named tensor, as stored in .npz files and given on the command line. `name` is malloc'ed when it comes from a loader. */
typedef struct tc_graph_named {
    char *name;
    tc_graph_tensor t;
} tc_graph_named;

typedef struct tc_graph_bundle {
    tc_graph_named *items;
    size_t len;
} tc_graph_bundle;

/* ---- shapes ---- */
int64_t tc_graph_shape_count(const tc_graph_shape *s); /* product; shapes that overflow are never built (see _check) */
bool tc_graph_shape_equal(const tc_graph_shape *a, const tc_graph_shape *b);
/* TC_BAD_INPUT unless all dims are >= 0 and their elements, of whatever type, fit in half of the address space; empty dims count
 * as 1. */
TC_NODISCARD tc_status tc_graph_shape_check(const tc_graph_shape *s, tc_error *err);
/* NumPy broadcasting of a and b; false when they do not match. */
bool tc_graph_shape_broadcast(const tc_graph_shape *a, const tc_graph_shape *b, tc_graph_shape *out);
void tc_graph_shape_strides(const tc_graph_shape *s, int64_t strides[TC_GRAPH_MAX_DIMS]); /* in elements, row-major */
void tc_graph_shape_print(tc_strbuf *b, const tc_graph_shape *s);                         /* [1,128] */
/* "f32[1,128]" in the arena. */
const char *tc_graph_type_str(tc_arena *a, tc_dtype dtype, const tc_graph_shape *s);

/* ---- tensors ---- */
/* Zero-filled, OWNED. The shape must have passed tc_graph_shape_check; TC_ENV when memory is short. */
TC_NODISCARD tc_status tc_graph_tensor_alloc(tc_graph_tensor *t, tc_dtype dtype, const tc_graph_shape *shape, tc_error *err);
/* *out (OWNED) is as t. */
TC_NODISCARD tc_status tc_graph_tensor_copy(const tc_graph_tensor *t, tc_graph_tensor *out, tc_error *err);
tc_graph_tensor tc_graph_tensor_view(tc_dtype dtype, const tc_graph_shape *shape, void *data);
void tc_graph_tensor_free(tc_graph_tensor *t);
/* Cuts t down to the first elements of each dimension, in place: what is left is dense. `to` is not larger than t's shape. */
void tc_graph_tensor_trim(tc_graph_tensor *t, const tc_graph_shape *to);
/* The other way: *out (OWNED) is of shape `to`, not smaller than t's, with t's elements the first of each dimension and zeros
 * behind. */
TC_NODISCARD tc_status tc_graph_tensor_widen(const tc_graph_tensor *t, const tc_graph_shape *to, tc_graph_tensor *out,
                                             tc_error *err);
/* t's elements as the first of each dimension of the array `to`, whose shape is not smaller; no others are written. */
void tc_graph_tensor_place(const tc_graph_tensor *t, const tc_graph_shape *shape, void *to);
int64_t tc_graph_tensor_count(const tc_graph_tensor *t);
size_t tc_graph_tensor_bytes(const tc_graph_tensor *t);
bool tc_graph_tensor_equal(const tc_graph_tensor *a, const tc_graph_tensor *b); /* type, shape and every byte */
/* The first element of a float tensor that is no number or infinite; -1: there is none, as in tensors of other types. */
int64_t tc_graph_tensor_nonfinite(const tc_graph_tensor *t);
/* Are t's bytes elements of `dtype`? Those of a type that other programs' arrays lack may come in one of the same bytes: bf16 in
 * u16, the codes of floats of a byte or less in u8, i4 in i8 and u4 in u8, within their range. */
bool tc_graph_tensor_holds(const tc_graph_tensor *t, tc_dtype dtype);
/* Whole tensors widened to one kind (integers wrap, floats round to nearest even on the way back; single elements: tc_load_f
 * and its like in te/dtype.h). The buffers hold count elements. */
void tc_graph_tensor_to_f64(const tc_graph_tensor *t, double *dst);
void tc_graph_tensor_to_i64(const tc_graph_tensor *t, int64_t *dst);
void tc_graph_tensor_from_f64(tc_graph_tensor *t, const double *src);
void tc_graph_tensor_from_i64(tc_graph_tensor *t, const int64_t *src);
/* dst keeps its dtype and takes src's values (same count) by ONNX Cast rules. */
void tc_graph_tensor_cast(tc_graph_tensor *dst, const tc_graph_tensor *src);
/* An element as text from which the same number is read. */
void tc_graph_tensor_print_element(tc_strbuf *b, const tc_graph_tensor *t, int64_t i);
/* "0.5, 1, 2, ..." : at most `limit` elements. */
void tc_graph_tensor_print_values(tc_strbuf *b, const tc_graph_tensor *t, int64_t limit);

typedef struct tc_graph_diff {
    double max_abs;     /* max |a - b|; infinity where one is NaN and the other is not */
    double max_ref;     /* max |ref| */
    double rel;         /* max_abs / max_ref: the error measure of the project's reference files (0 when both are 0) */
    int64_t worst;      /* index of max_abs, -1 for empty tensors */
    int64_t violations; /* elements with |a - ref| > atol + rtol * |ref|; of integers, > atol */
} tc_graph_diff;
/* Integers are compared exactly, 64-bit ones too. Zeros of either sign are equal, and so are two NaN. TC_BAD_INPUT when shape or
 * dtype differ (the message says which). */
TC_NODISCARD tc_status tc_graph_tensor_compare(const tc_graph_tensor *a, const tc_graph_tensor *ref, double rtol, double atol,
                                               tc_graph_diff *out, tc_error *err);

const tc_graph_tensor *tc_graph_bundle_find(const tc_graph_bundle *b, const char *name); /* NULL when absent */
void tc_graph_bundle_free(tc_graph_bundle *b);

#endif
