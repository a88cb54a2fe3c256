/* Element types. One table; enum, names, sizes and classes all come from it. */
#ifndef TC_TE_DTYPE_H
#define TC_TE_DTYPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* DTYPE(id, text, bytes, class): class b bool, i signed, u unsigned, f float. Order is part of the record format. */
#define TC_DTYPES(DTYPE)                                                                                                         \
    DTYPE(BOOL, "bool", 1, 'b')                                                                                                  \
    DTYPE(I8, "i8", 1, 'i')                                                                                                      \
    DTYPE(U8, "u8", 1, 'u')                                                                                                      \
    DTYPE(I16, "i16", 2, 'i')                                                                                                    \
    DTYPE(U16, "u16", 2, 'u')                                                                                                    \
    DTYPE(I32, "i32", 4, 'i')                                                                                                    \
    DTYPE(U32, "u32", 4, 'u')                                                                                                    \
    DTYPE(I64, "i64", 8, 'i')                                                                                                    \
    DTYPE(U64, "u64", 8, 'u')                                                                                                    \
    DTYPE(F16, "f16", 2, 'f')                                                                                                    \
    DTYPE(BF16, "bf16", 2, 'f')                                                                                                  \
    DTYPE(F32, "f32", 4, 'f')                                                                                                    \
    DTYPE(F64, "f64", 8, 'f')

typedef enum tc_dtype {
#define DTYPE(id, text, bytes, class) TC_##id,
    TC_DTYPES(DTYPE)
#undef DTYPE
        TC_NDTYPES
} tc_dtype;

const char *tc_dtype_name(tc_dtype t); /* "f32" */
int tc_dtype_bytes(tc_dtype t);

/* The table's classes as data of this header: every expression that is made asks for them. */
static inline char tc_dtype_class(tc_dtype t) {
    static const char classes[] = {
#define DTYPE(id, text, bytes, class) class,
        TC_DTYPES(DTYPE)
#undef DTYPE
    };
    return classes[t];
}
static inline bool tc_dtype_is_float(tc_dtype t) {
    return tc_dtype_class(t) == 'f';
}
static inline bool tc_dtype_is_int(tc_dtype t) { /* signed or unsigned, not bool */
    return tc_dtype_class(t) == 'i' || tc_dtype_class(t) == 'u';
}
static inline bool tc_dtype_is_signed(tc_dtype t) { /* signed integers and floats */
    return tc_dtype_class(t) == 'i' || tc_dtype_class(t) == 'f';
}
/* Finds by name; returns false if there is none. */
bool tc_dtype_parse(const char *name, tc_dtype *out);

/* Conversions of the storage formats that C has no type for (round to nearest even, NaN kept). */
float tc_f16_to_f32(uint16_t h);
uint16_t tc_f32_to_f16(float f);
float tc_bf16_to_f32(uint16_t h);
uint16_t tc_f32_to_bf16(float f);

/* Reads / writes element `i` of a typed array. Integers go through int64 (U64 wraps), floats through double; writing rounds to
 * the type (integers wrap modulo 2^bits, floats round to nearest even; float to integer is not done here). */
double tc_load_f(tc_dtype t, const void *base, int64_t i);
int64_t tc_load_i(tc_dtype t, const void *base, int64_t i);
void tc_store_f(tc_dtype t, void *base, int64_t i, double v);
void tc_store_i(tc_dtype t, void *base, int64_t i, int64_t v);

#endif
