/* The prelude's functions, for a test that has te's of the same names beside them. */
#ifndef TC_TESTS_CODEGEN_PRELUDE_FUNCTIONS_H
#define TC_TESTS_CODEGEN_PRELUDE_FUNCTIONS_H

#include <stdint.h>

typedef struct prelude_functions {
    float (*from_f16)(uint16_t), (*from_bf16)(uint16_t);
    uint16_t (*to_f16)(float), (*to_bf16)(float);
    float (*round_f16)(float), (*round_bf16)(float);
    float (*to_odd)(double), (*to_odd_i)(int64_t), (*to_odd_u)(uint64_t);
    float (*from_f8)(uint8_t, uint32_t, int, int, uint32_t, uint32_t, uint32_t);
    uint8_t (*to_f8)(float, uint32_t, int, int, uint32_t, uint32_t, uint32_t);
    int8_t (*wrap_i4)(int64_t);
    uint8_t (*wrap_u4)(int64_t);
    int64_t (*div)(int64_t, int64_t), (*mod)(int64_t, int64_t), (*tdiv)(int64_t, int64_t), (*tmod)(int64_t, int64_t);
    int64_t (*min_i)(int64_t, int64_t), (*max_i)(int64_t, int64_t);
    int64_t (*pow_i)(int64_t, int64_t), (*abs)(int64_t);
    uint64_t (*div_u)(uint64_t, uint64_t), (*mod_u)(uint64_t, uint64_t), (*shl)(uint64_t, uint64_t), (*shr_u)(uint64_t, uint64_t);
    int64_t (*shr_i)(int64_t, uint64_t);
    uint64_t (*min_u)(uint64_t, uint64_t), (*max_u)(uint64_t, uint64_t), (*pow_u)(uint64_t, uint64_t);
    float (*minf)(float, float), (*maxf)(float, float), (*sigmoidf)(float), (*rsqrtf)(float);
    double (*min)(double, double), (*max)(double, double), (*sigmoid)(double), (*rsqrt)(double), (*ncdf)(double);
    int64_t (*to_i)(double, int64_t, int64_t);
    uint64_t (*to_u)(double, uint64_t);
    void (*const *add)(void *acc, const void *a, const void *b); /* the largest products of each row of intrinsics.def */
} prelude_functions;

extern const prelude_functions prelude;

#endif
