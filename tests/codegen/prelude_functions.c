#include "prelude_functions.h"

#include "codegen/c_source/prelude.h"

const prelude_functions prelude = {
    .from_f16 = tc_from_f16,
    .from_bf16 = tc_from_bf16,
    .to_f16 = tc_to_f16,
    .to_bf16 = tc_to_bf16,
    .round_f16 = tc_round_f16,
    .round_bf16 = tc_round_bf16,
    .div = tc_div,
    .mod = tc_mod,
    .tdiv = tc_tdiv,
    .tmod = tc_tmod,
    .min_i = tc_min_i,
    .max_i = tc_max_i,
    .pow_i = tc_pow_i,
    .abs = tc_abs,
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
    .to_i = tc_to_i,
    .to_u = tc_to_u,
};
