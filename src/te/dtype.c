/* The table of element types and the conversions of the 16-bit floats. */
#include "te/dtype.h"

#include <assert.h>
#include <string.h>

static const struct {
    const char *name;
    int bytes;
} TYPES[] = {
#define DTYPE(id, text, bytes, class) {text, bytes},
    TC_DTYPES(DTYPE)
#undef DTYPE
};

const char *tc_dtype_name(tc_dtype t) {
    return TYPES[t].name;
}

int tc_dtype_bytes(tc_dtype t) {
    return TYPES[t].bytes;
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

double tc_load_f(tc_dtype t, const void *base, int64_t i) {
    switch (t) {
    case TC_F16:
        return (double)tc_f16_to_f32(((const uint16_t *)base)[i]);
    case TC_BF16:
        return (double)tc_bf16_to_f32(((const uint16_t *)base)[i]);
    case TC_F32:
        return (double)((const float *)base)[i];
    case TC_F64:
        return ((const double *)base)[i];
    case TC_BOOL:
    case TC_I8:
    case TC_U8:
    case TC_I16:
    case TC_U16:
    case TC_I32:
    case TC_U32:
    case TC_I64:
    case TC_U64:
    case TC_NDTYPES:
        break;
    }
    return t == TC_U64 ? (double)((const uint64_t *)base)[i] : (double)tc_load_i(t, base, i);
}

int64_t tc_load_i(tc_dtype t, const void *base, int64_t i) {
    switch (t) {
    case TC_BOOL:
        return ((const uint8_t *)base)[i] != 0;
    case TC_I8:
        return ((const int8_t *)base)[i];
    case TC_U8:
        return ((const uint8_t *)base)[i];
    case TC_I16:
        return ((const int16_t *)base)[i];
    case TC_U16:
        return ((const uint16_t *)base)[i];
    case TC_I32:
        return ((const int32_t *)base)[i];
    case TC_U32:
        return ((const uint32_t *)base)[i];
    case TC_I64:
    case TC_U64:
        return ((const int64_t *)base)[i];
    case TC_F16:
    case TC_BF16:
    case TC_F32:
    case TC_F64:
    case TC_NDTYPES:
        break;
    }
    assert(!"tc_load_i of a float type");
    return 0;
}

void tc_store_f(tc_dtype t, void *base, int64_t i, double v) {
    switch (t) {
    case TC_F16:
        ((uint16_t *)base)[i] = tc_f32_to_f16((float)v);
        return;
    case TC_BF16:
        ((uint16_t *)base)[i] = tc_f32_to_bf16((float)v);
        return;
    case TC_F32:
        ((float *)base)[i] = (float)v;
        return;
    case TC_F64:
        ((double *)base)[i] = v;
        return;
    case TC_BOOL:
    case TC_I8:
    case TC_U8:
    case TC_I16:
    case TC_U16:
    case TC_I32:
    case TC_U32:
    case TC_I64:
    case TC_U64:
    case TC_NDTYPES:
        break;
    }
    assert(!"tc_store_f to an integer type");
}

void tc_store_i(tc_dtype t, void *base, int64_t i, int64_t v) {
    switch (t) {
    case TC_BOOL:
        ((uint8_t *)base)[i] = v != 0;
        return;
    case TC_I8:
    case TC_U8:
        ((uint8_t *)base)[i] = (uint8_t)v;
        return;
    case TC_I16:
    case TC_U16:
        ((uint16_t *)base)[i] = (uint16_t)v;
        return;
    case TC_I32:
    case TC_U32:
        ((uint32_t *)base)[i] = (uint32_t)v;
        return;
    case TC_I64:
    case TC_U64:
        ((int64_t *)base)[i] = v;
        return;
    case TC_F16:
    case TC_BF16:
    case TC_F32:
    case TC_F64:
    case TC_NDTYPES:
        break;
    }
    assert(!"tc_store_i to a float type");
}
