/* The interpreter's instructions. Common arithmetic has its own loops, which the compiler vectorises. All other instructions use
 * the scalar definitions in eval.c, lane by lane. Both give the same results. */
#include "te/interp/interp_int.h"

#include <math.h>

static void round_lanes(tc_dtype t, cell *d, int n) {
    if (t == TC_F64)
        return;
    for (int l = 0; l < n && t == TC_F32; l++)
        d[l].f = (double)(float)d[l].f;
    for (int l = 0; l < n && t != TC_F32; l++)
        d[l].f = tc_round_f(t, d[l].f);
}

static void wrap_lanes(tc_dtype t, cell *d, int n) {
    if (t == TC_I64 || t == TC_U64)
        return;
    for (int l = 0; l < n; l++)
        d[l].i = tc_wrap_i(t, d[l].i);
}

/* ---- loops that the compiler vectorises ---- */

typedef void loop(cell *restrict d, const cell *a, const cell *b, int n);

static void add_f(cell *restrict d, const cell *a, const cell *b, int n) {
    for (int l = 0; l < n; l++)
        d[l].f = a[l].f + b[l].f;
}

static void sub_f(cell *restrict d, const cell *a, const cell *b, int n) {
    for (int l = 0; l < n; l++)
        d[l].f = a[l].f - b[l].f;
}

static void mul_f(cell *restrict d, const cell *a, const cell *b, int n) {
    for (int l = 0; l < n; l++)
        d[l].f = a[l].f * b[l].f;
}

static void div_f(cell *restrict d, const cell *a, const cell *b, int n) {
    for (int l = 0; l < n; l++)
        d[l].f = a[l].f / b[l].f;
}

static void max_f(cell *restrict d, const cell *a, const cell *b, int n) {
    for (int l = 0; l < n; l++)
        d[l].f = a[l].f != a[l].f || a[l].f > b[l].f ? a[l].f : b[l].f;
}

static void min_f(cell *restrict d, const cell *a, const cell *b, int n) {
    for (int l = 0; l < n; l++)
        d[l].f = a[l].f != a[l].f || a[l].f < b[l].f ? a[l].f : b[l].f;
}

static void add_i(cell *restrict d, const cell *a, const cell *b, int n) {
    for (int l = 0; l < n; l++)
        d[l].i = (int64_t)((uint64_t)a[l].i + (uint64_t)b[l].i);
}

static void sub_i(cell *restrict d, const cell *a, const cell *b, int n) {
    for (int l = 0; l < n; l++)
        d[l].i = (int64_t)((uint64_t)a[l].i - (uint64_t)b[l].i);
}

static void mul_i(cell *restrict d, const cell *a, const cell *b, int n) {
    for (int l = 0; l < n; l++)
        d[l].i = (int64_t)((uint64_t)a[l].i * (uint64_t)b[l].i);
}

static void and_i(cell *restrict d, const cell *a, const cell *b, int n) {
    for (int l = 0; l < n; l++)
        d[l].i = a[l].i & b[l].i;
}

static void less_i(cell *restrict d, const cell *a, const cell *b, int n) {
    for (int l = 0; l < n; l++)
        d[l].i = a[l].i < b[l].i;
}

static void at_least_i(cell *restrict d, const cell *a, const cell *b, int n) {
    for (int l = 0; l < n; l++)
        d[l].i = a[l].i >= b[l].i;
}

static loop *const FLOAT_LOOPS[TC_NOPS] = {
    [TC_OP_ADD] = add_f, [TC_OP_SUB] = sub_f, [TC_OP_MUL] = mul_f, [TC_OP_DIV] = div_f, [TC_OP_MAX] = max_f, [TC_OP_MIN] = min_f};
static loop *const INT_LOOPS[TC_NOPS] = {[TC_OP_ADD] = add_i, [TC_OP_SUB] = sub_i, [TC_OP_MUL] = mul_i, [TC_OP_AND] = and_i};
/* Signed; u64 compares otherwise. */
static loop *const COMPARE_LOOPS[TC_NOPS] = {[TC_OP_LT] = less_i, [TC_OP_GE] = at_least_i};

static void binary_f(const insn *k, cell *restrict d, const cell *a, const cell *b, int n) {
    if (FLOAT_LOOPS[k->op])
        FLOAT_LOOPS[k->op](d, a, b, n);
    else
        for (int l = 0; l < n; l++)
            d[l].f = tc_eval_f(k->op, TC_F64, a[l].f, b[l].f);
    round_lanes(k->dtype, d, n);
}

static void binary_i(const insn *k, cell *restrict d, const cell *a, const cell *b, int n) {
    if (INT_LOOPS[k->op]) {
        INT_LOOPS[k->op](d, a, b, n);
        wrap_lanes(k->dtype, d, n);
        return;
    }
    for (int l = 0; l < n; l++)
        d[l].i = tc_eval_i(k->op, k->dtype, a[l].i, b[l].i);
}

static void compare_i64(const insn *k, cell *restrict d, const cell *a, const cell *b, int n) {
    if (COMPARE_LOOPS[k->op] && k->dtype != TC_U64) {
        COMPARE_LOOPS[k->op](d, a, b, n);
        return;
    }
    for (int l = 0; l < n; l++)
        d[l].i = tc_eval_i(k->op, k->dtype, a[l].i, b[l].i);
}

static void compare_f(const insn *k, cell *restrict d, const cell *a, const cell *b, int n) {
    for (int l = 0; l < n; l++)
        d[l].i = tc_eval_compare_f(k->op, a[l].f, b ? b[l].f : 0);
}

static void cast(const insn *k, cell *restrict d, const cell *a, int n) {
    bool from_float = tc_dtype_is_float(k->from), to_float = tc_dtype_is_float(k->dtype);
    if (from_float && to_float) {
        memcpy(d, a, (size_t)n * sizeof *d);
        round_lanes(k->dtype, d, n);
    } else if (to_float) {
        for (int l = 0; l < n; l++)
            d[l].f = tc_cast_if(k->from, k->dtype, a[l].i);
    } else if (from_float) {
        for (int l = 0; l < n; l++)
            d[l].i = tc_cast_fi(k->dtype, a[l].f);
    } else {
        memcpy(d, a, (size_t)n * sizeof *d);
        if (k->dtype == TC_I64 || k->dtype == TC_U64)
            return;
        wrap_lanes(k->dtype, d, n);
    }
}

static void select_lanes(cell *restrict d, const cell *c, const cell *a, const cell *b, int n) {
    for (int l = 0; l < n; l++)
        d[l].i = c[l].i ? a[l].i : b[l].i;
}

void te_insn_run(const insn *k, lanes *reg, int n) {
    cell *d = reg[k->dst];
    const cell *a = reg[k->a], *b = k->b >= 0 ? reg[k->b] : NULL, *c = k->c >= 0 ? reg[k->c] : NULL;
    bool is_float = tc_dtype_is_float(k->dtype);
    if (k->op == TC_OP_SELECT) {
        select_lanes(d, a, b, c, n);
    } else if (k->op == TC_OP_CAST) {
        cast(k, d, a, n);
    } else if (k->op == TC_OP_FMA) {
        for (int l = 0; l < n; l++)
            d[l].f = tc_eval_fma(k->dtype, a[l].f, b[l].f, c[l].f);
    } else if (tc_op_traits(k->op) & TC_COMPARE) {
        (is_float ? compare_f : compare_i64)(k, d, a, b, n);
    } else if (!b) {
        for (int l = 0; l < n && is_float; l++)
            d[l].f = tc_eval_f(k->op, k->dtype, a[l].f, 0);
        for (int l = 0; l < n && !is_float; l++)
            d[l].i = tc_eval_i(k->op, k->dtype, a[l].i, 0);
    } else if (is_float) {
        binary_f(k, d, a, b, n);
    } else {
        binary_i(k, d, a, b, n);
    }
}

/* ---- memory ---- */

/* Types that most elements have, with loops of their own: the calls of tc_load_i and its like cost more than the loads. */
#define COMMON_TYPES(X)                                                                                                          \
    X(TC_F32, float, f, double)                                                                                                  \
    X(TC_I8, int8_t, i, int64_t) X(TC_U8, uint8_t, i, int64_t) X(TC_I32, int32_t, i, int64_t) X(TC_I64, int64_t, i, int64_t)

void te_gather(tc_dtype t, const void *base, const int64_t *offset, cell *dst, int n) {
#define GATHER(id, type, member, wide)                                                                                           \
    if (t == (id)) {                                                                                                             \
        for (int l = 0; l < n; l++)                                                                                              \
            dst[l].member = (wide)((const type *)base)[offset[l]];                                                               \
        return;                                                                                                                  \
    }
    COMMON_TYPES(GATHER)
#undef GATHER
    bool is_float = tc_dtype_is_float(t);
    for (int l = 0; l < n; l++) {
        if (is_float)
            dst[l].f = tc_load_f(t, base, offset[l]);
        else
            dst[l].i = tc_load_i(t, base, offset[l]);
    }
}

void te_scatter(tc_dtype t, void *base, const int64_t *offset, const cell *src, int n) {
#define SCATTER(id, type, member, wide)                                                                                          \
    if (t == (id)) {                                                                                                             \
        for (int l = 0; l < n; l++)                                                                                              \
            ((type *)base)[offset[l]] = (type)src[l].member;                                                                     \
        return;                                                                                                                  \
    }
    COMMON_TYPES(SCATTER)
#undef SCATTER
    bool is_float = tc_dtype_is_float(t);
    for (int l = 0; l < n; l++) {
        if (is_float)
            tc_store_f(t, base, offset[l], src[l].f);
        else
            tc_store_i(t, base, offset[l], src[l].i);
    }
}
