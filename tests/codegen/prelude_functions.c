#include "prelude_functions.h"

#include "codegen/c_source/prelude.h"

#define NUMBER_I8 (int8_t)
#define NUMBER_U8 (uint8_t)
#define NUMBER_F16 tc_from_f16
#define NUMBER_BF16 tc_from_bf16
typedef tc_i8 I8;
typedef tc_u8 U8;
typedef tc_i32 I32;
typedef tc_f16 F16;
typedef tc_bf16 BF16;
typedef tc_f32 F32;
#define ADD_WRAPS TC_ADD_WRAPPING
#define ADD_FUSED TC_ADD_FUSED
#define ADD_PAIRS TC_ADD_FUSED
#define ADD_TILE TC_ADD_APART

#define UNIT(id, text, of_acc, of_a, of_b, m, n, k, group, sums, ...)                                                            \
    static void add_##id(void *to, const void *x, const void *y) {                                                               \
        of_acc *acc = to;                                                                                                        \
        const of_a *a = x;                                                                                                       \
        const of_b *b = y;                                                                                                       \
        ADD_##sums(acc, a, NUMBER_##of_a, b, NUMBER_##of_b, m, n, k, group);                                                     \
    }
#include "te/intrinsics.def"
#undef UNIT

static void (*const add[])(void *, const void *, const void *) = {
#define UNIT(id, ...) add_##id,
#include "te/intrinsics.def"
#undef UNIT
};

const prelude_functions prelude = {
    .from_f16 = tc_from_f16,
    .from_bf16 = tc_from_bf16,
    .to_f16 = tc_to_f16,
    .to_bf16 = tc_to_bf16,
    .round_f16 = tc_round_f16,
    .round_bf16 = tc_round_bf16,
    .to_odd = tc_to_odd,
    .to_odd_i = tc_to_odd_i,
    .to_odd_u = tc_to_odd_u,
    .from_f8 = tc_from_f8,
    .to_f8 = tc_to_f8,
    .wrap_i4 = tc_wrap_i4,
    .wrap_u4 = tc_wrap_u4,
    .div = tc_div,
    .mod = tc_mod,
    .tdiv = tc_tdiv,
    .tmod = tc_tmod,
    .min_i = tc_min_i,
    .max_i = tc_max_i,
    .pow_i = tc_pow_i,
    .abs = tc_abs,
    .div_u = tc_div_u,
    .mod_u = tc_mod_u,
    .shl = tc_shl,
    .shr_u = tc_shr_u,
    .shr_i = tc_shr_i,
    .min_u = tc_min_u,
    .max_u = tc_max_u,
    .pow_u = tc_pow_u,
    .minf = tc_minf,
    .maxf = tc_maxf,
    .sigmoidf = tc_sigmoidf,
    .rsqrtf = tc_rsqrtf,
    .min = tc_min,
    .max = tc_max,
    .sigmoid = tc_sigmoid,
    .rsqrt = tc_rsqrt,
    .ncdf = tc_ncdf,
    .to_i = tc_to_i,
    .to_u = tc_to_u,
    .add = add,
};
