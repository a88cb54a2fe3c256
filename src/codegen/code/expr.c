/* Expressions: what a node does, comparisons, select, and the table of all nodes. */
#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "codegen/code/code_int.h"
#include "te/eval.h"

/* ---- what an expression does ---- */

unsigned tc_cg_flags(tc_cg *g, const tc_expr *e) {
    if (!e->nargs)
        return 0;
    const uintptr_t *known = tc_map_get(&g->k->flags, e->id);
    if (known && *known)
        return (unsigned)*known - 1;
    unsigned f = 0;
    for (int i = 0; i < e->nargs; i++)
        f |= tc_cg_flags(g, e->args[i]);
    if (e->op == TC_OP_LOAD) {
        const uintptr_t *s = tc_map_get(&g->k->slots, e->u.buffer->id);
        bool constant = s && *s && ((const tc_slot *)*s)->constant;
        f |= TC_EF_LOAD | (constant ? 0 : TC_EF_MUTABLE);
    }
    tc_map_put(&g->k->flags, e->id, f + 1);
    return f;
}

/* ---- comparisons ---- */

static const struct {
    LLVMIntPredicate is_signed, is_unsigned;
    LLVMRealPredicate is_float;
} PREDICATES[TC_NOPS] = {
    [TC_OP_EQ] = {LLVMIntEQ, LLVMIntEQ, LLVMRealOEQ},   [TC_OP_NE] = {LLVMIntNE, LLVMIntNE, LLVMRealUNE},
    [TC_OP_LT] = {LLVMIntSLT, LLVMIntULT, LLVMRealOLT}, [TC_OP_LE] = {LLVMIntSLE, LLVMIntULE, LLVMRealOLE},
    [TC_OP_GT] = {LLVMIntSGT, LLVMIntUGT, LLVMRealOGT}, [TC_OP_GE] = {LLVMIntSGE, LLVMIntUGE, LLVMRealOGE},
};

static bool is_moderate(tc_ival v) {
    const int64_t most = (int64_t)1 << 60;
    return v.lo >= -most && v.hi <= most;
}

/* Comparisons of index vectors, the masks of tails and paddings: s + d * lane OP 0 with a scalar s that is compared once, in 32
 * bits, instead of sixteen 64-bit sums. NULL when the comparison is not of that form.
 *
 *     ramp(j, 1, 16) < bcast(49)   =>   <0 .. 15> < splat(clamp(49 - j)) */
static tc_val compare_ramp(tc_cg *g, const tc_expr *e) {
    if (e->nargs < 2)
        return NULL;
    const tc_expr *a = e->args[0], *b = e->args[1];
    tc_cg_index x, y;
    if (e->lanes == 1 || a->dtype != TC_I64 || !tc_cg_flatten(a, &x) || !tc_cg_flatten(b, &y))
        return NULL;
    /* Neither side wraps, nor does their difference. */
    if (!is_moderate(tc_cg_index_range(g, &x, e->lanes)) || !is_moderate(tc_cg_index_range(g, &y, e->lanes)))
        return NULL;
    int64_t step = x.stride - y.stride;
    if (step < -64 || step > 64 || !tc_affine_add(&x.base, &y.base, -1))
        return NULL;
    tc_val s = LLVMBuildNeg(g->b, tc_cg_index_value(g, &x), ""); /* compare step * lane OP s */
    int64_t far = 64 * (int64_t)e->lanes + 64;
    s = tc_cg_intr2(g, "llvm.smin", tc_cg_intr2(g, "llvm.smax", s, tc_cg_i64(g, -far)), tc_cg_i64(g, far));
    tc_val narrow = tc_cg_splat(g, LLVMBuildTrunc(g->b, s, g->i32, ""), e->lanes);
    return LLVMBuildICmp(g->b, PREDICATES[e->op].is_signed, tc_cg_iota(g, g->i32, e->lanes, step), narrow, "");
}

static tc_val compare(tc_cg *g, const tc_expr *e) {
    tc_dtype t = (tc_dtype)e->args[0]->dtype;
    tc_val v = compare_ramp(g, e);
    if (v || g->status != TC_OK)
        return v;
    tc_val a = tc_cg_expr(g, e->args[0]), b = e->nargs > 1 ? tc_cg_expr(g, e->args[1]) : NULL;
    if (!a || (e->nargs > 1 && !b))
        return NULL;
    if (e->op == TC_OP_ISNAN || e->op == TC_OP_ISINF) {
        if (!tc_dtype_is_float(t))
            return LLVMConstNull(tc_cg_vec(g->i1, e->lanes));
        if (e->op == TC_OP_ISNAN)
            return LLVMBuildFCmp(g->b, LLVMRealUNO, a, a, "");
        return LLVMBuildFCmp(g->b, LLVMRealOEQ, tc_cg_intr1(g, "llvm.fabs", a),
                             tc_cg_real(LLVMTypeOf(a), (double)__builtin_inff()), "");
    }
    if (tc_dtype_is_float(t))
        return LLVMBuildFCmp(g->b, PREDICATES[e->op].is_float, a, b, "");
    bool s = tc_dtype_is_signed(t);
    return LLVMBuildICmp(g->b, s ? PREDICATES[e->op].is_signed : PREDICATES[e->op].is_unsigned, a, b, "");
}

/* ---- select ---- */

static tc_val join(tc_cg *g, tc_val a, tc_val b) {
    if (!a || !b)
        return a ? a : b;
    int la = tc_cg_lanes(a), lb = tc_cg_lanes(b);
    if (la == lb)
        return LLVMBuildAnd(g->b, a, b, "");
    return LLVMBuildAnd(g->b, la == 1 ? tc_cg_splat(g, a, lb) : a, lb == 1 ? tc_cg_splat(g, b, la) : b, "");
}

/* An arm's value under the condition that takes it. What is computed here is forgotten after: it is only good where the condition
 * holds. */
static tc_val arm(tc_cg *g, const tc_expr *e, tc_val cond, bool taken) {
    if (!(tc_cg_flags(g, e) & TC_EF_LOAD))
        return tc_cg_expr(g, e);
    tc_val outer = g->k->pred;
    size_t pure = tc_memo_mark(&g->k->pure), local = tc_memo_mark(&g->k->local);
    g->k->pred = join(g, outer, taken ? cond : LLVMBuildNot(g->b, cond, ""));
    tc_val v = tc_cg_expr(g, e);
    g->k->pred = outer;
    tc_memo_undo(&g->k->pure, pure);
    tc_memo_undo(&g->k->local, local);
    return v;
}

static tc_val select_expr(tc_cg *g, const tc_expr *e) {
    const tc_expr *c = e->args[0];
    tc_val vc = tc_cg_expr(g, c);
    /* A condition that is the same in all lanes guards as a scalar: it may clamp an address instead of masking a load. */
    tc_val one = vc && c->op == TC_OP_BCAST ? tc_cg_expr(g, c->args[0]) : vc;
    tc_val a = one ? arm(g, e->args[1], one, true) : NULL;
    tc_val b = a ? arm(g, e->args[2], one, false) : NULL;
    return b ? LLVMBuildSelect(g->b, vc, a, b, "") : NULL;
}

/* ---- nodes ---- */

static tc_val variable(tc_cg *g, const tc_expr *e) {
    const uintptr_t *at = tc_map_get(&g->k->var_at, e->u.var->id);
    if (!at || !*at)
        return tc_cg_fail(g, "variable %s is used outside its loop", e->u.var->name);
    return g->k->vars.data[*at - 1].value;
}

static tc_val ramp(tc_cg *g, const tc_expr *e) {
    tc_val base = tc_cg_expr(g, e->args[0]), step = tc_cg_expr(g, e->args[1]);
    if (!base || !step)
        return NULL;
    tc_val lane = tc_cg_iota(g, g->i64, e->lanes, 1);
    return LLVMBuildAdd(g->b, tc_cg_splat(g, base, e->lanes), LLVMBuildMul(g->b, lane, tc_cg_splat(g, step, e->lanes), ""), "");
}

static tc_val fma_expr(tc_cg *g, const tc_expr *e) {
    tc_val args[3];
    for (int i = 0; i < 3; i++)
        if (!(args[i] = tc_cg_expr(g, e->args[i])))
            return NULL;
    if (!tc_dtype_is_float((tc_dtype)e->dtype))
        return LLVMBuildAdd(g->b, LLVMBuildMul(g->b, args[0], args[1], ""), args[2], "");
    LLVMTypeRef t = LLVMTypeOf(args[0]);
    return tc_cg_round(g, (tc_dtype)e->dtype, tc_cg_intrinsic(g, "llvm.fma", &t, 1, args, 3));
}

enum { MAX_DOT_LANES = 64 };

/* The first lanes of v, or v and others that hold anything: the rest of the register. */
static tc_val resized(tc_cg *g, tc_val v, int lanes) {
    return tc_cg_resized(g, v, lanes, LLVMGetPoison(LLVMTypeOf(v)));
}

/* One instruction, of which fewer lanes may be wanted than it has. The group of args[1] stands in every lane. */
static tc_val dot_instruction(tc_cg *g, const tc_expr *e, const tc_intrinsic *row, tc_val acc, tc_val x, tc_val w) {
    bool swap = e->args[1]->dtype != row->a;
    int lanes = e->lanes;
    x = tc_cg_splat(g, LLVMBuildBitCast(g->b, x, g->i32, ""), row->n);
    w = resized(g, w, tc_cg_lanes(w) / lanes * row->n);
    acc = tc_cg_unit(g, row, resized(g, acc, row->n), swap ? w : x, swap ? x : w);
    return acc ? resized(g, acc, lanes) : NULL;
}

/* Lanes first, first + stride, ... of v, as numbers of the accumulator's type. */
static tc_val lanes_of(tc_cg *g, tc_val v, tc_dtype from, tc_dtype to, int first, int stride, int lanes) {
    tc_val at[MAX_DOT_LANES];
    for (int l = 0; l < lanes; l++)
        at[l] = tc_cg_int(g->i32, first + stride * l);
    tc_val some = LLVMBuildShuffleVector(g->b, v, LLVMGetPoison(LLVMTypeOf(v)), LLVMConstVector(at, (unsigned)lanes), "");
    return tc_cg_cast(g, tc_cg_from_memory(g, from, some), from, to);
}

/* The same without such an instruction. */
static tc_val dot_steps(tc_cg *g, const tc_expr *e, tc_val acc, tc_val x, tc_val w) {
    tc_dtype t = (tc_dtype)e->dtype, a = (tc_dtype)e->args[1]->dtype, b = (tc_dtype)e->args[2]->dtype;
    int group = e->args[1]->lanes;
    LLVMTypeRef type = LLVMTypeOf(acc);
    for (int q = 0; q < group; q++) {
        tc_val args[] = {lanes_of(g, x, a, t, q, 0, e->lanes), lanes_of(g, w, b, t, q, group, e->lanes), acc};
        acc = tc_dtype_is_float(t) ? tc_cg_intrinsic(g, "llvm.fma", &type, 1, args, 3)
                                   : LLVMBuildAdd(g->b, LLVMBuildMul(g->b, args[0], args[1], ""), acc, "");
    }
    return acc;
}

/* Neighbours in memory as they are stored, or integers that were computed from such. */
static tc_val dot_operand(tc_cg *g, const tc_expr *e) {
    return e->op != TC_OP_LOAD && tc_dtype_is_int(e->dtype) ? tc_cg_expr(g, e) : tc_cg_raw_load(g, e);
}

static tc_val dot_expr(tc_cg *g, const tc_expr *e) {
    tc_val acc = tc_cg_expr(g, e->args[0]), x = acc ? dot_operand(g, e->args[1]) : NULL;
    tc_val w = x ? dot_operand(g, e->args[2]) : NULL;
    if (!w)
        return NULL;
    if (e->lanes > MAX_DOT_LANES)
        return tc_cg_fail(g, "has a dot of %d lanes; at most %d are supported", e->lanes, MAX_DOT_LANES);
    const tc_intrinsic *row =
        tc_intrinsic_of_lanes(g->k->m->intrinsics, e->dtype, e->args[1]->dtype, e->args[2]->dtype, e->lanes);
    if (!row) { /* a part of a register costs what all of it does */
        row = tc_intrinsic_of(g->k->m->intrinsics, e->dtype, e->args[1]->dtype, e->args[2]->dtype);
        row = row && row->n > e->lanes ? row : NULL;
    }
    return row ? dot_instruction(g, e, row, acc, x, w) : dot_steps(g, e, acc, x, w);
}

static tc_val int_literal(tc_cg *g, const tc_expr *e) {
    return tc_cg_int(tc_cg_val_type(g, (tc_dtype)e->dtype, e->lanes), e->u.i);
}

static tc_val float_literal(tc_cg *g, const tc_expr *e) {
    return tc_cg_real(tc_cg_val_type(g, (tc_dtype)e->dtype, e->lanes), e->u.f);
}

static tc_val no_read(tc_cg *g, const tc_expr *e) {
    return tc_cg_fail(g, "reads tensor %s; tensors must be lowered to buffers first", e->u.tensor->name);
}

static tc_val broadcast(tc_cg *g, const tc_expr *e) {
    tc_val v = tc_cg_expr(g, e->args[0]);
    return v ? tc_cg_splat(g, v, e->lanes) : NULL;
}

static const tc_expr *one_lane(const tc_expr *e) {
    return e->op == TC_OP_BCAST ? e->args[0] : e;
}

/* min(max(x, low), high), of which every number fits into i32. */
static bool is_bounded(const tc_expr *e) {
    if (e->op != TC_OP_MIN || e->args[0]->op != TC_OP_MAX)
        return false;
    const tc_expr *high = one_lane(e->args[1]), *low = one_lane(e->args[0]->args[1]);
    return high->op == TC_OP_FLOAT && low->op == TC_OP_FLOAT && low->u.f >= INT32_MIN && high->u.f < -(double)INT32_MIN;
}

static bool is_whole(const tc_expr *literal) {
    return literal->u.f == floor(literal->u.f);
}

/* Of a bounded number: rounding, then taking the bounds makes the same as taking bounds that are whole, then rounding, which is
 * what a conversion does. So x is not rounded for itself. */
static tc_val bounded_value(tc_cg *g, const tc_expr *e, bool *nearest) {
    const tc_expr *low = one_lane(e->args[0]->args[1]), *high = one_lane(e->args[1]), *x = e->args[0]->args[0];
    *nearest = x->op == TC_OP_ROUND && e->dtype == TC_F32 && is_whole(low) && is_whole(high);
    if (!*nearest)
        return tc_cg_expr(g, e);
    tc_val v = tc_cg_expr(g, x->args[0]);
    LLVMTypeRef t = v ? LLVMTypeOf(v) : NULL;
    return v ? tc_cg_max(g, tc_cg_max(g, v, tc_cg_real(t, low->u.f), true), tc_cg_real(t, high->u.f), false) : NULL;
}

/* i32(min(max(x, low), high)), of which only the low 16 bits count where `narrow` says so; NULL without a failure: e is no such
 * thing. */
static tc_val bounded_cast(tc_cg *g, const tc_expr *e, bool narrow) {
    bool nearest;
    if (e->op != TC_OP_CAST || e->dtype != TC_I32 || !tc_dtype_is_float(e->args[0]->dtype) || !is_bounded(e->args[0]))
        return NULL;
    tc_val v = bounded_value(g, e->args[0], &nearest);
    return v ? tc_cg_bounded_to_i32(g, v, nearest, narrow) : NULL;
}

static tc_val cast_expr(tc_cg *g, const tc_expr *e) {
    bool narrow = tc_dtype_is_int((tc_dtype)e->dtype) && tc_dtype_bytes((tc_dtype)e->dtype) < 4;
    tc_val bounded = bounded_cast(g, narrow ? e->args[0] : e, narrow);
    if (bounded || g->status != TC_OK)
        return bounded && narrow ? tc_cg_cast(g, bounded, TC_I32, (tc_dtype)e->dtype) : bounded;
    tc_val v = tc_cg_expr(g, e->args[0]);
    return v ? tc_cg_cast(g, v, (tc_dtype)e->args[0]->dtype, (tc_dtype)e->dtype) : NULL;
}

typedef tc_val lower_fn(tc_cg *g, const tc_expr *e);

static lower_fn *const LOWER[] = {
    [TC_OP_INT] = int_literal,
    [TC_OP_FLOAT] = float_literal,
    [TC_OP_VAR] = variable,
    [TC_OP_READ] = no_read,
    [TC_OP_LOAD] = tc_cg_load_expr,
    [TC_OP_RAMP] = ramp,
    [TC_OP_BCAST] = broadcast,
    [TC_OP_ADD] = tc_cg_arithmetic,
    [TC_OP_SUB] = tc_cg_arithmetic,
    [TC_OP_MUL] = tc_cg_arithmetic,
    [TC_OP_DIV] = tc_cg_arithmetic,
    [TC_OP_MOD] = tc_cg_arithmetic,
    [TC_OP_TDIV] = tc_cg_arithmetic,
    [TC_OP_TMOD] = tc_cg_arithmetic,
    [TC_OP_MIN] = tc_cg_arithmetic,
    [TC_OP_MAX] = tc_cg_arithmetic,
    [TC_OP_POW] = tc_cg_arithmetic,
    [TC_OP_FMA] = fma_expr,
    [TC_OP_DOT] = dot_expr,
    [TC_OP_EQ] = compare,
    [TC_OP_NE] = compare,
    [TC_OP_LT] = compare,
    [TC_OP_LE] = compare,
    [TC_OP_GT] = compare,
    [TC_OP_GE] = compare,
    [TC_OP_AND] = tc_cg_arithmetic,
    [TC_OP_OR] = tc_cg_arithmetic,
    [TC_OP_NOT] = tc_cg_arithmetic,
    [TC_OP_BAND] = tc_cg_arithmetic,
    [TC_OP_BOR] = tc_cg_arithmetic,
    [TC_OP_BXOR] = tc_cg_arithmetic,
    [TC_OP_SHL] = tc_cg_arithmetic,
    [TC_OP_SHR] = tc_cg_arithmetic,
    [TC_OP_SELECT] = select_expr,
    [TC_OP_CAST] = cast_expr,
    [TC_OP_ABS] = tc_cg_arithmetic,
    [TC_OP_SQRT] = tc_cg_arithmetic,
    [TC_OP_RSQRT] = tc_cg_arithmetic,
    [TC_OP_EXP] = tc_cg_arithmetic,
    [TC_OP_LOG] = tc_cg_arithmetic,
    [TC_OP_TANH] = tc_cg_arithmetic,
    [TC_OP_ERF] = tc_cg_arithmetic,
    [TC_OP_SIGMOID] = tc_cg_arithmetic,
    [TC_OP_SIN] = tc_cg_arithmetic,
    [TC_OP_COS] = tc_cg_arithmetic,
    [TC_OP_TAN] = tc_cg_arithmetic,
    [TC_OP_ASIN] = tc_cg_arithmetic,
    [TC_OP_ACOS] = tc_cg_arithmetic,
    [TC_OP_ATAN] = tc_cg_arithmetic,
    [TC_OP_SINH] = tc_cg_arithmetic,
    [TC_OP_COSH] = tc_cg_arithmetic,
    [TC_OP_ASINH] = tc_cg_arithmetic,
    [TC_OP_ACOSH] = tc_cg_arithmetic,
    [TC_OP_ATANH] = tc_cg_arithmetic,
    [TC_OP_EXPM1] = tc_cg_arithmetic,
    [TC_OP_LOG1P] = tc_cg_arithmetic,
    [TC_OP_NCDF] = tc_cg_arithmetic,
    [TC_OP_FLOOR] = tc_cg_arithmetic,
    [TC_OP_CEIL] = tc_cg_arithmetic,
    [TC_OP_ROUND] = tc_cg_arithmetic,
    [TC_OP_TRUNC] = tc_cg_arithmetic,
    [TC_OP_ISNAN] = compare,
    [TC_OP_ISINF] = compare,
};
static_assert(TC_LEN(LOWER) == TC_NOPS, "an operation has no code");

tc_val tc_cg_expr(tc_cg *g, const tc_expr *e) {
    if (g->status != TC_OK)
        return NULL;
    if (!e->nargs)
        return LOWER[e->op](g, e);
    tc_memo *memo = tc_cg_flags(g, e) & TC_EF_MUTABLE ? &g->k->local : &g->k->pure;
    tc_val v = (tc_val)tc_memo_get(memo, e->id);
    if (!v && (v = LOWER[e->op](g, e)))
        tc_memo_set(memo, e->id, (uintptr_t)v);
    return v;
}
