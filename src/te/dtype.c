/* The table of element types, and conversions for the float types that C lacks. */
#include "te/dtype.h"

#include <assert.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name;
    int bytes, bits;
} TYPES[] = {
#define DTYPE(id, text, bytes, bits, class) {text, bytes, bits},
    TC_DTYPES(DTYPE)
#undef DTYPE
};

const char *tc_dtype_name(tc_dtype t) {
    return TYPES[t].name;
}

int tc_dtype_bytes(tc_dtype t) {
    return TYPES[t].bytes;
}

int tc_dtype_bits(tc_dtype t) {
    return TYPES[t].bits;
}

bool tc_dtype_parse(const char *name, tc_dtype *out) {
    for (int t = 0; t < TC_NDTYPES; t++)
        if (strcmp(TYPES[t].name, name) == 0) {
            *out = (tc_dtype)t;
            return true;
        }
    return false;
}

static uint32_t bits_of(float f) {
    uint32_t u;
    memcpy(&u, &f, sizeof u);
    return u;
}

static float of_bits(uint32_t u) {
    float f;
    memcpy(&f, &u, sizeof f);
    return f;
}

float tc_f16_to_f32(uint16_t h) {
    uint32_t sign = (uint32_t)(h & 0x8000) << 16, exponent = (h >> 10) & 31, mantissa = h & 0x3ff;
    if (exponent == 31)
        return of_bits(sign | 0x7f800000 | mantissa << 13);
    if (exponent)
        return of_bits(sign | (exponent + 112) << 23 | mantissa << 13);
    float tiny = (float)mantissa * 0x1p-24f; /* zero and subnormals: exact */
    return of_bits(sign | bits_of(tiny));
}

/* Rounding happens in the float adder: adding a suitable power of two leaves exactly the bits that f16 has room for. */
uint16_t tc_f32_to_f16(float f) {
    uint32_t u = bits_of(f), sign = (u >> 16) & 0x8000, magnitude = u & 0x7fffffff;
    if (magnitude > 0x7f800000)
        return (uint16_t)(sign | 0x7e00 | ((u >> 13) & 0x1ff));
    if (magnitude >= 0x477ff000) /* 65520 and up round to infinity */
        return (uint16_t)(sign | 0x7c00);
    if (magnitude < 0x38800000) { /* below 2^-14: subnormal, in steps of 2^-24 */
        float steps = of_bits(magnitude) + 0.5f;
        return (uint16_t)(sign | (bits_of(steps) - 0x3f000000));
    }
    uint32_t odd = (magnitude >> 13) & 1;
    return (uint16_t)(sign | ((magnitude - 0x38000000 + 0xfff + odd) >> 13));
}

float tc_bf16_to_f32(uint16_t h) {
    return of_bits((uint32_t)h << 16);
}

uint16_t tc_f32_to_bf16(float f) {
    uint32_t u = bits_of(f);
    if ((u & 0x7fffffff) > 0x7f800000)
        return (uint16_t)(u >> 16 | 0x40);
    return (uint16_t)((u + 0x7fff + ((u >> 16) & 1)) >> 16);
}

float tc_f64_to_odd_f32(double v) {
    float f = (float)v;
    double back = (double)f;
    if (back == v || isnan(v))
        return f;
    return of_bits((bits_of(f) - (fabs(back) > fabs(v))) | 1);
}

const tc_float8 *tc_float8_of(tc_dtype t) {
    static const tc_float8 formats[TC_NDTYPES] = {
#define FLOAT8(id, sign, mantissa, bias, largest, over, nan) [TC_##id] = {sign, mantissa, bias, largest, over, nan},
        TC_FLOAT8S(FLOAT8)
#undef FLOAT8
    };
    return formats[t].bias ? &formats[t] : NULL;
}

/* Below the sign a code is the upper part of a float with another bias; what has no exponent counts in steps. */
float tc_f8_to_f32(const tc_float8 *f, uint8_t code) {
    uint32_t sign = code & f->sign ? 0x80000000u : 0, magnitude = code & (uint32_t)(f->sign - 1);
    if (!f->sign)
        return of_bits(code == f->nan ? 0x7fc00000 : code ? (uint32_t)code << 23 : 0x400000);
    if (code == 0x80 && f->nan == 0x80)
        return of_bits(0x7fc00000);
    if (magnitude > (uint32_t)f->largest)
        return of_bits(sign | (f->over != f->nan && magnitude == (uint32_t)f->over ? 0x7f800000 : 0x7fc00000));
    if (magnitude >> f->mantissa == 0)
        return of_bits(sign | bits_of(ldexpf((float)magnitude, 1 - f->bias - f->mantissa)));
    return of_bits(sign | ((magnitude << (23 - f->mantissa)) + ((uint32_t)(127 - f->bias) << 23)));
}

/* The adder rounds what has no exponent, as for f16. */
uint8_t tc_f32_to_f8(const tc_float8 *f, float v) {
    uint32_t u = bits_of(v), sign = u >> 31 ? (uint32_t)f->sign : 0, a = u & 0x7fffffff, shift = 23 - (uint32_t)f->mantissa;
    uint32_t smallest = (uint32_t)(128 - f->bias) << 23; /* normal number */
    if (!f->sign)
        return (uint8_t)(a >> 23);
    if (a > 0x7f800000)
        return (uint8_t)(f->nan == f->largest ? (uint32_t)f->nan : sign | (uint32_t)f->nan);
    float step = ldexpf(1, 24 - f->bias - f->mantissa);
    uint32_t r = a < smallest ? bits_of(of_bits(a) + step) - bits_of(step)
                              : (a - (smallest - (1u << 23)) + (1u << (shift - 1)) - 1 + ((a >> shift) & 1)) >> shift;
    if (r > (uint32_t)f->largest)
        r = (uint32_t)f->over;
    return (uint8_t)(r == 0 && f->nan == 0x80 ? 0 : sign | r);
}

float tc_f8_largest(const tc_float8 *f) {
    return tc_f8_to_f32(f, (uint8_t)f->largest);
}

double tc_dtype_epsilon(tc_dtype t) {
    const tc_float8 *f = tc_float8_of(t);
    return f ? ldexp(1, -f->mantissa) : t == TC_F16 ? 0x1p-10 : t == TC_BF16 ? 0x1p-7 : t == TC_F64 ? DBL_EPSILON : FLT_EPSILON;
}

bool tc_dtype_inverts(tc_dtype t, double v) {
    int above, most = t == TC_F64 ? DBL_MAX_EXP - 2 : FLT_MAX_EXP - 2; /* 1 / 2^most is the smallest normal number */
    if (!isnormal(v) || fabs(frexp(v, &above)) != 0.5)
        return false;
    return abs(above - 1) <= most;
}

/* ---- elements of arrays ---- */

double tc_load_f(tc_dtype t, const void *base, int64_t i) {
    if (t == TC_F32)
        return (double)((const float *)base)[i];
    if (t == TC_F64)
        return ((const double *)base)[i];
    if (t == TC_F16 || t == TC_BF16) {
        uint16_t code = ((const uint16_t *)base)[i];
        return (double)(t == TC_F16 ? tc_f16_to_f32(code) : tc_bf16_to_f32(code));
    }
    if (tc_dtype_is_float(t))
        return (double)tc_f8_to_f32(tc_float8_of(t), ((const uint8_t *)base)[i]);
    return t == TC_U64 ? (double)((const uint64_t *)base)[i] : (double)tc_load_i(t, base, i);
}

int64_t tc_load_i(tc_dtype t, const void *base, int64_t i) {
    bool is_signed = tc_dtype_is_signed(t);
    assert(!tc_dtype_is_float(t));
    if (t == TC_BOOL)
        return ((const uint8_t *)base)[i] != 0;
    switch (tc_dtype_bytes(t)) {
    case 1:
        return is_signed ? ((const int8_t *)base)[i] : ((const uint8_t *)base)[i];
    case 2:
        return is_signed ? ((const int16_t *)base)[i] : ((const uint16_t *)base)[i];
    case 4:
        return is_signed ? ((const int32_t *)base)[i] : (int64_t)((const uint32_t *)base)[i];
    }
    return ((const int64_t *)base)[i];
}

void tc_store_f(tc_dtype t, void *base, int64_t i, double v) {
    assert(tc_dtype_is_float(t));
    if (t == TC_F32)
        ((float *)base)[i] = (float)v;
    else if (t == TC_F64)
        ((double *)base)[i] = v;
    else if (t == TC_F16 || t == TC_BF16)
        ((uint16_t *)base)[i] = t == TC_F16 ? tc_f32_to_f16(tc_f64_to_odd_f32(v)) : tc_f32_to_bf16(tc_f64_to_odd_f32(v));
    else
        ((uint8_t *)base)[i] = tc_f32_to_f8(tc_float8_of(t), tc_f64_to_odd_f32(v));
}

void tc_store_i(tc_dtype t, void *base, int64_t i, int64_t v) {
    assert(!tc_dtype_is_float(t));
    v = tc_wrap_i(t, v);
    switch (tc_dtype_bytes(t)) {
    case 1:
        ((uint8_t *)base)[i] = (uint8_t)v;
        return;
    case 2:
        ((uint16_t *)base)[i] = (uint16_t)v;
        return;
    case 4:
        ((uint32_t *)base)[i] = (uint32_t)v;
        return;
    }
    ((int64_t *)base)[i] = v;
}

/* ---- rounding to a type ---- */

int64_t tc_wrap_i(tc_dtype t, int64_t v) {
    int above = 64 - tc_dtype_bits(t);
    if (t == TC_BOOL)
        return v != 0;
    return tc_dtype_is_signed(t) ? (int64_t)((uint64_t)v << above) >> above : (int64_t)((uint64_t)v << above >> above);
}

double tc_distance_i(tc_dtype t, int64_t a, int64_t b) {
    bool less = t == TC_U64 ? (uint64_t)a < (uint64_t)b : a < b;
    return (double)(less ? (uint64_t)b - (uint64_t)a : (uint64_t)a - (uint64_t)b);
}

double tc_round_f(tc_dtype t, double v) {
    uint64_t element;
    if (t == TC_F64)
        return v;
    tc_store_f(t, &element, 0, v);
    return tc_load_f(t, &element, 0);
}
