/* Element types. One table; enum, names, sizes and classes all come from it. */
#ifndef TC_TE_DTYPE_H
#define TC_TE_DTYPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* DTYPE(id, text, bytes, bits, class): bytes of an element in memory, bits of its range; class b bool, i signed, u unsigned, f
 * float. Order is part of the record format. What is narrower than a byte has one to itself; only files pack two. */
#define TC_DTYPES(DTYPE)                                                                                                         \
    DTYPE(BOOL, "bool", 1, 1, 'b')                                                                                               \
    DTYPE(I8, "i8", 1, 8, 'i')                                                                                                   \
    DTYPE(U8, "u8", 1, 8, 'u')                                                                                                   \
    DTYPE(I16, "i16", 2, 16, 'i')                                                                                                \
    DTYPE(U16, "u16", 2, 16, 'u')                                                                                                \
    DTYPE(I32, "i32", 4, 32, 'i')                                                                                                \
    DTYPE(U32, "u32", 4, 32, 'u')                                                                                                \
    DTYPE(I64, "i64", 8, 64, 'i')                                                                                                \
    DTYPE(U64, "u64", 8, 64, 'u')                                                                                                \
    DTYPE(F16, "f16", 2, 16, 'f')                                                                                                \
    DTYPE(BF16, "bf16", 2, 16, 'f')                                                                                              \
    DTYPE(F32, "f32", 4, 32, 'f')                                                                                                \
    DTYPE(F64, "f64", 8, 64, 'f')                                                                                                \
    DTYPE(F8E4M3FN, "f8e4m3fn", 1, 8, 'f')                                                                                       \
    DTYPE(F8E4M3FNUZ, "f8e4m3fnuz", 1, 8, 'f')                                                                                   \
    DTYPE(F8E5M2, "f8e5m2", 1, 8, 'f')                                                                                           \
    DTYPE(F8E5M2FNUZ, "f8e5m2fnuz", 1, 8, 'f')                                                                                   \
    DTYPE(I4, "i4", 1, 4, 'i')                                                                                                   \
    DTYPE(U4, "u4", 1, 4, 'u')                                                                                                   \
    DTYPE(F4E2M1, "f4e2m1", 1, 4, 'f')                                                                                           \
    DTYPE(F8E8M0, "f8e8m0", 1, 8, 'f')

/* FLOAT8(id, sign, mantissa, bias, largest, over, nan): the floats of a byte and of less. The bit of the sign; bits of the
 * mantissa; what is added to the exponent; and below the sign the code of the largest number, of numbers beyond it (infinity
 * where there is one) and of NaN. In the formats "UZ" zero has no sign: its other code, 0x80, is the only NaN. F4E2M1 has neither
 * infinities nor NaN: NaN becomes its largest number. F8E8M0 is an exponent alone: all its numbers are powers of two, and a float
 * becomes the one at or below its magnitude. */
#define TC_FLOAT8S(FLOAT8)                                                                                                       \
    FLOAT8(F8E4M3FN, 0x80, 3, 7, 0x7e, 0x7f, 0x7f)                                                                               \
    FLOAT8(F8E4M3FNUZ, 0x80, 3, 8, 0x7f, 0x80, 0x80)                                                                             \
    FLOAT8(F8E5M2, 0x80, 2, 15, 0x7b, 0x7c, 0x7f)                                                                                \
    FLOAT8(F8E5M2FNUZ, 0x80, 2, 16, 0x7f, 0x80, 0x80)                                                                            \
    FLOAT8(F4E2M1, 0x8, 1, 1, 0x7, 0x7, 0x7)                                                                                     \
    FLOAT8(F8E8M0, 0, 0, 127, 0xfe, 0xff, 0xff)

typedef enum tc_dtype {
#define DTYPE(id, text, bytes, bits, class) TC_##id,
    TC_DTYPES(DTYPE)
#undef DTYPE
        TC_NDTYPES
} tc_dtype;

const char *tc_dtype_name(tc_dtype t); /* "f32" */
int tc_dtype_bytes(tc_dtype t);
int tc_dtype_bits(tc_dtype t);

/* The table's classes as data of this header: every expression that is made asks for them. */
static inline char tc_dtype_class(tc_dtype t) {
    static const char classes[] = {
#define DTYPE(id, text, bytes, bits, class) class,
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
/* Floats of a byte or less, and integers of less: they are stored, moved, compared and cast, not computed with. */
static inline bool tc_dtype_is_stored(tc_dtype t) {
    return t >= TC_F8E4M3FN && t < TC_NDTYPES;
}
/* Finds by name; returns false if there is none. */
bool tc_dtype_parse(const char *name, tc_dtype *out);

/* Conversions of the storage formats that C has no type for (round to nearest even, NaN kept). */
float tc_f16_to_f32(uint16_t h);
uint16_t tc_f32_to_f16(float f);
float tc_bf16_to_f32(uint16_t h);
uint16_t tc_f32_to_bf16(float f);
/* v as f32, rounded to odd: if f32 lacks v, the neighbour of v whose last bit is 1. A second rounding, to a type with at least
 * two bits less, then gives what one rounding of v gives. */
float tc_f64_to_odd_f32(double v);

/* A row of TC_FLOAT8S. */
typedef struct tc_float8 {
    int sign, mantissa, bias, largest, over, nan;
} tc_float8;
const tc_float8 *tc_float8_of(tc_dtype t); /* NULL: of no such type */
float tc_f8_to_f32(const tc_float8 *f, uint8_t code);
uint8_t tc_f32_to_f8(const tc_float8 *f, float v);
float tc_f8_largest(const tc_float8 *f);

/* Reads / writes element `i` of a typed array. Integers go through int64 (U64 wraps), floats through double; writing rounds to
 * the type (integers wrap modulo 2^bits, floats round to nearest even; float to integer is not done here). */
double tc_load_f(tc_dtype t, const void *base, int64_t i);
int64_t tc_load_i(tc_dtype t, const void *base, int64_t i);
void tc_store_f(tc_dtype t, void *base, int64_t i, double v);
void tc_store_i(tc_dtype t, void *base, int64_t i, int64_t v);

/* Wraps v to the integer type t (bool: v != 0). U64 keeps its bits in the int64. */
int64_t tc_wrap_i(tc_dtype t, int64_t v);
/* |a - b| of integers of type t: 0 only where they are equal, also beyond 2^53. */
double tc_distance_i(tc_dtype t, int64_t a, int64_t b);
/* Rounds v to the float type t. */
double tc_round_f(tc_dtype t, double v);
/* From 1 to the next number of the float type t. */
double tc_dtype_epsilon(tc_dtype t);
/* x / v equals x * (1 / v) for every x of the type t, f32 or f64: v is a power of two, and v and 1 / v are normal numbers. */
bool tc_dtype_inverts(tc_dtype t, double v);

#endif
