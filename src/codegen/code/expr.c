/* Expressions: arithmetic, comparisons, casts, select. The operations' semantics are those of te/expr.h. */
#include <assert.h>
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
    bool divides = e->op == TC_OP_DIV || e->op == TC_OP_MOD || e->op == TC_OP_TDIV || e->op == TC_OP_TMOD;
    if (divides && !tc_dtype_is_float((tc_dtype)e->dtype)) {
        const tc_expr *d = e->args[1]->op == TC_OP_BCAST ? e->args[1]->args[0] : e->args[1];
        if (d->op != TC_OP_INT || d->u.i == 0)
            f |= TC_EF_HAZARD;
    }
    tc_map_put(&g->k->flags, e->id, f + 1);
    return f;
}

/* ---- integers ---- */

static tc_val no_code(tc_cg *g, const tc_expr *e) {
    return tc_cg_fail(g, "no code for %s on %s", tc_op_text(e->op), tc_dtype_name((tc_dtype)e->dtype));
}

static tc_val binop(tc_cg *g, LLVMOpcode op, tc_val a, tc_val b) {
    return LLVMBuildBinOp(g->b, op, a, b, "");
}

/* The value of a constant divisor, 0 when it is none. */
static int64_t const_divisor(const tc_expr *e) {
    if (e->op == TC_OP_BCAST)
        e = e->args[0];
    return e->op == TC_OP_INT ? e->u.i : 0;
}

/* Division of signed integers that may be negative. -1 is replaced by 1 and the dividend negated: the quotient of the smallest
 * number must wrap, not trap. Divisors in lanes that are not wanted become 1. */
static tc_val divide_signed(tc_cg *g, const tc_expr *e, tc_val a, tc_val b) {
    LLVMTypeRef t = LLVMTypeOf(a);
    tc_val zero = LLVMConstNull(t), one = tc_cg_int(t, 1);
    tc_val minus = LLVMBuildICmp(g->b, LLVMIntEQ, b, tc_cg_int(t, -1), "");
    a = LLVMBuildSelect(g->b, minus, LLVMBuildSub(g->b, zero, a, ""), a, "");
    b = LLVMBuildSelect(g->b, minus, one, b, "");
    bool quotient = e->op == TC_OP_DIV || e->op == TC_OP_TDIV, floors = e->op == TC_OP_DIV || e->op == TC_OP_MOD;
    tc_val q = quotient ? binop(g, LLVMSDiv, a, b) : NULL;
    if (quotient && !floors)
        return q;
    tc_val r = binop(g, LLVMSRem, a, b);
    if (!floors)
        return r;
    tc_val opposite = LLVMBuildICmp(g->b, LLVMIntSLT, LLVMBuildXor(g->b, r, b, ""), zero, "");
    tc_val down = LLVMBuildAnd(g->b, LLVMBuildICmp(g->b, LLVMIntNE, r, zero, ""), opposite, "");
    if (quotient)
        return LLVMBuildSub(g->b, q, LLVMBuildSelect(g->b, down, one, zero, ""), "");
    return LLVMBuildAdd(g->b, r, LLVMBuildSelect(g->b, down, b, zero, ""), "");
}

static tc_val divide(tc_cg *g, const tc_expr *e, tc_val a, tc_val b) {
    bool quotient = e->op == TC_OP_DIV || e->op == TC_OP_TDIV, floors = e->op == TC_OP_DIV || e->op == TC_OP_MOD;
    int64_t k = const_divisor(e->args[1]);
    LLVMTypeRef t = LLVMTypeOf(a);
    if (!tc_dtype_is_signed((tc_dtype)e->dtype)) {
        tc_val want = k ? NULL : tc_cg_pred_for(g, e->lanes);
        b = want ? LLVMBuildSelect(g->b, want, b, tc_cg_int(t, 1), "") : b;
        return binop(g, quotient ? LLVMUDiv : LLVMURem, a, b);
    }
    if (floors && k > 0 && (k & (k - 1)) == 0) {
        int shift = __builtin_ctzll((unsigned long long)k);
        return quotient ? binop(g, LLVMAShr, a, tc_cg_int(t, shift)) : binop(g, LLVMAnd, a, tc_cg_int(t, k - 1));
    }
    if (k > 0 && tc_cg_range(g, e->args[0]).lo >= 0)
        return binop(g, quotient ? LLVMUDiv : LLVMURem, a, b);
    tc_val want = k ? NULL : tc_cg_pred_for(g, e->lanes);
    return divide_signed(g, e, a, want ? LLVMBuildSelect(g->b, want, b, tc_cg_int(t, 1), "") : b);
}

/* Square and multiply over every bit of the exponent; negative exponents give the real value rounded towards zero. */
static tc_val int_pow(tc_cg *g, tc_dtype dt, tc_val x, tc_val y) {
    LLVMTypeRef t = LLVMTypeOf(x);
    tc_val one = tc_cg_int(t, 1), zero = LLVMConstNull(t), r = one, b = x;
    int bits = 8 * tc_dtype_bytes(dt);
    for (int i = 0; i < bits; i++) {
        tc_val bit = LLVMBuildAnd(g->b, LLVMBuildLShr(g->b, y, tc_cg_int(t, i), ""), one, "");
        tc_val odd = LLVMBuildICmp(g->b, LLVMIntNE, bit, zero, "");
        r = LLVMBuildSelect(g->b, odd, LLVMBuildMul(g->b, r, b, ""), r, "");
        b = LLVMBuildMul(g->b, b, b, "");
    }
    if (!tc_dtype_is_signed(dt))
        return r;
    tc_val odd = LLVMBuildICmp(g->b, LLVMIntNE, LLVMBuildAnd(g->b, y, one, ""), zero, "");
    tc_val sign = LLVMBuildSelect(g->b, odd, tc_cg_int(t, -1), one, "");
    tc_val small = LLVMBuildSelect(g->b, LLVMBuildICmp(g->b, LLVMIntEQ, x, tc_cg_int(t, -1), ""), sign, zero, "");
    small = LLVMBuildSelect(g->b, LLVMBuildICmp(g->b, LLVMIntEQ, x, one, ""), one, small, "");
    return LLVMBuildSelect(g->b, LLVMBuildICmp(g->b, LLVMIntSLT, y, zero, ""), small, r, "");
}

typedef tc_val build_fn(LLVMBuilderRef b, tc_val x, tc_val y, const char *name);

/* Operations on integers that are one of LLVM's, 0: not on this type; and how they are written where they cannot overflow. */
static const struct {
    LLVMOpcode is_signed, is_unsigned, is_bool;
    build_fn *of_index;
} INT_OPCODES[TC_NOPS] = {
    [TC_OP_ADD] = {LLVMAdd, LLVMAdd, LLVMAdd, LLVMBuildNSWAdd},
    [TC_OP_SUB] = {LLVMSub, LLVMSub, LLVMSub, LLVMBuildNSWSub},
    [TC_OP_MUL] = {LLVMMul, LLVMMul, LLVMMul, LLVMBuildNSWMul},
    [TC_OP_MIN] = {0, 0, LLVMAnd, NULL},
    [TC_OP_MAX] = {0, 0, LLVMOr, NULL},
    [TC_OP_AND] = {LLVMAnd, LLVMAnd, LLVMAnd, NULL},
    [TC_OP_OR] = {LLVMOr, LLVMOr, LLVMOr, NULL},
    [TC_OP_BAND] = {LLVMAnd, LLVMAnd, LLVMAnd, NULL},
    [TC_OP_BOR] = {LLVMOr, LLVMOr, LLVMOr, NULL},
    [TC_OP_BXOR] = {LLVMXor, LLVMXor, LLVMXor, NULL},
    [TC_OP_SHL] = {LLVMShl, LLVMShl, LLVMShl, NULL},
    [TC_OP_SHR] = {LLVMAShr, LLVMLShr, LLVMLShr, NULL},
};

static tc_val int_binary(tc_cg *g, const tc_expr *e, tc_val a, tc_val b) {
    tc_dtype t = (tc_dtype)e->dtype;
    bool s = tc_dtype_is_signed(t);
    LLVMOpcode code = t == TC_BOOL ? INT_OPCODES[e->op].is_bool
                      : s          ? INT_OPCODES[e->op].is_signed
                                   : INT_OPCODES[e->op].is_unsigned;
    /* Index arithmetic does not overflow: the verifier keeps indices in bounds. */
    bool index = t == TC_I64 && e->lanes == 1 && !(tc_cg_flags(g, e) & TC_EF_LOAD);
    if (index && INT_OPCODES[e->op].of_index)
        return INT_OPCODES[e->op].of_index(g->b, a, b, "");
    if (code)
        return binop(g, code, a, b);
    if (e->op == TC_OP_DIV || e->op == TC_OP_MOD || e->op == TC_OP_TDIV || e->op == TC_OP_TMOD)
        return divide(g, e, a, b);
    if (e->op == TC_OP_MIN)
        return tc_cg_intr2(g, s ? "llvm.smin" : "llvm.umin", a, b);
    if (e->op == TC_OP_MAX)
        return tc_cg_intr2(g, s ? "llvm.smax" : "llvm.umax", a, b);
    return e->op == TC_OP_POW ? int_pow(g, t, a, b) : no_code(g, e);
}

/* ---- floats ---- */

static bool is_number(tc_val v) {
    if (!LLVMIsConstant(v))
        return false;
    tc_val one = tc_cg_lanes(v) > 1 ? LLVMGetAggregateElement(v, 0) : v;
    LLVMBool loses;
    if (!one || !LLVMIsAConstantFP(one))
        return false;
    double d = LLVMConstRealGetDouble(one, &loses);
    return d == d && v == tc_cg_real(LLVMTypeOf(v), d);
}

/* x86's instruction on a whole register: b when either is NaN. NULL: there is none of this size. */
static tc_val x86_max(tc_cg *g, tc_val a, tc_val b, bool max) {
    LLVMTypeRef t = LLVMTypeOf(a);
    int lanes = tc_cg_lanes(a);
    bool f32 = lanes > 1 && LLVMGetTypeKind(LLVMGetElementType(t)) == LLVMFloatTypeKind;
    if (f32 && lanes == 16 && g->k->avx512) {
        tc_val args[] = {a, b, LLVMConstInt(g->i32, 4, 0)};
        return tc_cg_intrinsic(g, max ? "llvm.x86.avx512.max.ps.512" : "llvm.x86.avx512.min.ps.512", NULL, 0, args, 3);
    }
    tc_val args[] = {a, b};
    if (f32 && lanes == 8 && g->k->avx)
        return tc_cg_intrinsic(g, max ? "llvm.x86.avx.max.ps.256" : "llvm.x86.avx.min.ps.256", NULL, 0, args, 2);
    return NULL;
}

/* `a OP b ? a : b` is right for a NaN in b, and one instruction on x86; only one in a needs more: that lane keeps a. The
 * intrinsic is for LLVM, which would merge the two choices into one with a condition of three instructions. Callers put a
 * constant, or else the newer value of a reduction, into a: the accumulator's chain stays short. */
tc_val tc_cg_max(tc_cg *g, tc_val a, tc_val b, bool max) {
    if (g->k->nan_maximum)
        return tc_cg_intr2(g, max ? "llvm.maximum" : "llvm.minimum", a, b);
    if (is_number(b)) {
        tc_val t = a;
        a = b;
        b = t;
    }
    tc_val r = is_number(a) ? NULL : x86_max(g, a, b, max);
    if (r)
        return LLVMBuildSelect(g->b, LLVMBuildFCmp(g->b, LLVMRealORD, a, a, ""), r, a, "");
    r = LLVMBuildSelect(g->b, LLVMBuildFCmp(g->b, max ? LLVMRealOGT : LLVMRealOLT, a, b, ""), a, b, "");
    if (is_number(a))
        return r;
    return LLVMBuildSelect(g->b, LLVMBuildFCmp(g->b, LLVMRealUNO, a, a, ""), a, r, "");
}

static bool reads_register(const tc_expr *e) {
    return e->op == TC_OP_LOAD && e->u.buffer->scope == TC_BUF_REG;
}

static const LLVMOpcode FLOAT_OPCODES[TC_NOPS] = {
    [TC_OP_ADD] = LLVMFAdd, [TC_OP_SUB] = LLVMFSub, [TC_OP_MUL] = LLVMFMul, [TC_OP_DIV] = LLVMFDiv, [TC_OP_TDIV] = LLVMFDiv};

static tc_val float_mod(tc_cg *g, tc_val a, tc_val b) {
    tc_val args[] = {a, b};
    LLVMTypeRef s = tc_cg_lanes(a) > 1 ? LLVMGetElementType(LLVMTypeOf(a)) : LLVMTypeOf(a);
    return tc_cg_call_lanes(g, LLVMGetTypeKind(s) == LLVMFloatTypeKind ? "fmodf" : "fmod", args, 2);
}

static tc_val float_binary(tc_cg *g, const tc_expr *e, tc_val a, tc_val b) {
    if (FLOAT_OPCODES[e->op])
        return binop(g, FLOAT_OPCODES[e->op], a, b);
    if (e->op == TC_OP_MOD || e->op == TC_OP_TMOD)
        return float_mod(g, a, b);
    if ((e->op == TC_OP_MIN || e->op == TC_OP_MAX) && reads_register(e->args[0]))
        return tc_cg_max(g, b, a, e->op == TC_OP_MAX);
    if (e->op == TC_OP_MIN || e->op == TC_OP_MAX)
        return tc_cg_max(g, a, b, e->op == TC_OP_MAX);
    return e->op == TC_OP_POW ? tc_cg_pow(g, a, b) : no_code(g, e);
}

/* The kernel runs in the default mode of rounding: rint rounds half to even. */
static const char *const FLOAT_INTRINSICS[TC_NOPS] = {[TC_OP_ABS] = "llvm.fabs",
                                                      [TC_OP_FLOOR] = "llvm.floor",
                                                      [TC_OP_CEIL] = "llvm.ceil",
                                                      [TC_OP_ROUND] = "llvm.rint",
                                                      [TC_OP_TRUNC] = "llvm.trunc"};

static tc_val float_unary(tc_cg *g, const tc_expr *e, tc_val a) {
    const char *name = FLOAT_INTRINSICS[e->op];
    return name ? tc_cg_intr1(g, name, a) : tc_cg_math(g, e->op, a);
}

static tc_val int_abs(tc_cg *g, tc_val a) {
    return LLVMBuildSelect(g->b, LLVMBuildICmp(g->b, LLVMIntSLT, a, LLVMConstNull(LLVMTypeOf(a)), ""), LLVMBuildNeg(g->b, a, ""),
                           a, "");
}

static tc_val int_unary(tc_cg *g, const tc_expr *e, tc_val a) {
    if (e->op == TC_OP_ABS)
        return tc_dtype_is_signed((tc_dtype)e->dtype) ? int_abs(g, a) : a;
    if (e->op == TC_OP_NOT)
        return LLVMBuildNot(g->b, a, "");
    bool rounds = e->op == TC_OP_FLOOR || e->op == TC_OP_CEIL || e->op == TC_OP_ROUND || e->op == TC_OP_TRUNC;
    return rounds ? a : no_code(g, e);
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
    /* Loaded values may be anything, and their difference may overflow; index arithmetic does not. */
    if ((tc_cg_flags(g, a) | tc_cg_flags(g, b)) & TC_EF_LOAD)
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

/* ---- casts ---- */

static tc_val float_to_int(tc_cg *g, tc_val a, tc_dtype to) {
    LLVMTypeRef over[] = {tc_cg_like(a, tc_cg_mem_type(g, to)), LLVMTypeOf(a)};
    return tc_cg_intrinsic(g, tc_dtype_is_signed(to) ? "llvm.fptosi.sat" : "llvm.fptoui.sat", over, 2, &a, 1);
}

static tc_val int_to_float(tc_cg *g, tc_val a, tc_dtype from, tc_dtype to) {
    LLVMTypeRef t = tc_cg_like(a, to == TC_F64 ? g->f64 : g->f32);
    bool s = tc_dtype_is_signed(from);
    return tc_cg_round(g, to, s ? LLVMBuildSIToFP(g->b, a, t, "") : LLVMBuildUIToFP(g->b, a, t, ""));
}

static tc_val float_to_float(tc_cg *g, tc_val a, tc_dtype from, tc_dtype to) {
    if (to == TC_F64)
        return LLVMBuildFPExt(g->b, a, tc_cg_like(a, g->f64), "");
    if (from == TC_F64)
        a = LLVMBuildFPTrunc(g->b, a, tc_cg_like(a, g->f32), "");
    return to == TC_F32 ? a : tc_cg_round(g, to, a);
}

static tc_val int_to_int(tc_cg *g, tc_val a, tc_dtype from, tc_dtype to) {
    LLVMTypeRef t = tc_cg_like(a, tc_cg_mem_type(g, to));
    int have = from == TC_BOOL ? 0 : tc_dtype_bytes(from), want = tc_dtype_bytes(to);
    if (have == want)
        return a;
    if (have > want)
        return LLVMBuildTrunc(g->b, a, t, "");
    return tc_dtype_is_signed(from) ? LLVMBuildSExt(g->b, a, t, "") : LLVMBuildZExt(g->b, a, t, "");
}

static tc_val cast(tc_cg *g, tc_val a, tc_dtype from, tc_dtype to) {
    if (from == to)
        return a;
    bool ff = tc_dtype_is_float(from), tf = tc_dtype_is_float(to);
    if (to == TC_BOOL && ff)
        return LLVMBuildFCmp(g->b, LLVMRealUNE, a, LLVMConstNull(LLVMTypeOf(a)), "");
    if (to == TC_BOOL)
        return LLVMBuildICmp(g->b, LLVMIntNE, a, LLVMConstNull(LLVMTypeOf(a)), "");
    if (ff && tf)
        return float_to_float(g, a, from, to);
    if (ff)
        return float_to_int(g, a, to);
    return tf ? int_to_float(g, a, from, to) : int_to_int(g, a, from, to);
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
    if (!(tc_cg_flags(g, e) & (TC_EF_LOAD | TC_EF_HAZARD)))
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

/* vpdpbusd multiplies unsigned by signed bytes; vdpbf16ps, pairs of bf16. The group of args[1] stands in every lane. */
static tc_val dot_instruction(tc_cg *g, const tc_expr *e, tc_val acc, tc_val x, tc_val w) {
    bool swap = e->args[1]->dtype == TC_I8, isf = e->dtype == TC_F32;
    LLVMTypeRef pairs = LLVMVectorType(LLVMBFloatTypeInContext(g->ctx), 2 * (unsigned)e->lanes);
    LLVMTypeRef t = isf ? pairs : LLVMVectorType(g->i32, (unsigned)e->lanes);
    x = LLVMBuildBitCast(g->b, tc_cg_splat(g, LLVMBuildBitCast(g->b, x, g->i32, ""), e->lanes), t, "");
    w = LLVMBuildBitCast(g->b, w, t, "");
    tc_val args[] = {acc, swap ? w : x, swap ? x : w};
    return tc_cg_intrinsic(g, isf ? "llvm.x86.avx512bf16.dpbf16ps.512" : "llvm.x86.avx512.vpdpbusd.512", NULL, 0, args, 3);
}

/* Lanes first, first + stride, ... of v, as numbers of the accumulator's type. */
static tc_val lanes_of(tc_cg *g, tc_val v, tc_dtype from, tc_dtype to, int first, int stride, int lanes) {
    tc_val at[MAX_DOT_LANES];
    for (int l = 0; l < lanes; l++)
        at[l] = tc_cg_int(g->i32, first + stride * l);
    tc_val some = LLVMBuildShuffleVector(g->b, v, LLVMGetPoison(LLVMTypeOf(v)), LLVMConstVector(at, (unsigned)lanes), "");
    return cast(g, tc_cg_from_memory(g, from, some), from, to);
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

static tc_val dot_expr(tc_cg *g, const tc_expr *e) {
    tc_val acc = tc_cg_expr(g, e->args[0]), x = acc ? tc_cg_raw_load(g, e->args[1]) : NULL;
    tc_val w = x ? tc_cg_raw_load(g, e->args[2]) : NULL;
    if (!w)
        return NULL;
    if (e->lanes > MAX_DOT_LANES)
        return tc_cg_fail(g, "has a dot of %d lanes; at most %d are supported", e->lanes, MAX_DOT_LANES);
    bool have = e->dtype == TC_F32 ? g->k->dot_bf16 : g->k->dot_i8;
    return have && e->lanes == 16 ? dot_instruction(g, e, acc, x, w) : dot_steps(g, e, acc, x, w);
}

static tc_val arithmetic(tc_cg *g, const tc_expr *e) {
    tc_dtype t = (tc_dtype)e->dtype;
    bool isf = tc_dtype_is_float(t);
    tc_val a = tc_cg_expr(g, e->args[0]), b = a && e->nargs > 1 ? tc_cg_expr(g, e->args[1]) : NULL;
    if (!a || (e->nargs > 1 && !b))
        return NULL;
    tc_val v;
    if (e->nargs > 1)
        v = isf ? float_binary(g, e, a, b) : int_binary(g, e, a, b);
    else
        v = isf ? float_unary(g, e, a) : int_unary(g, e, a);
    return v && isf ? tc_cg_round(g, t, v) : v;
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

static tc_val cast_expr(tc_cg *g, const tc_expr *e) {
    tc_val v = tc_cg_expr(g, e->args[0]);
    return v ? cast(g, v, (tc_dtype)e->args[0]->dtype, (tc_dtype)e->dtype) : NULL;
}

typedef tc_val lower_fn(tc_cg *g, const tc_expr *e);

static lower_fn *const LOWER[] = {
    [TC_OP_INT] = int_literal,      [TC_OP_FLOAT] = float_literal, [TC_OP_VAR] = variable,       [TC_OP_READ] = no_read,
    [TC_OP_LOAD] = tc_cg_load_expr, [TC_OP_RAMP] = ramp,           [TC_OP_BCAST] = broadcast,    [TC_OP_ADD] = arithmetic,
    [TC_OP_SUB] = arithmetic,       [TC_OP_MUL] = arithmetic,      [TC_OP_DIV] = arithmetic,     [TC_OP_MOD] = arithmetic,
    [TC_OP_TDIV] = arithmetic,      [TC_OP_TMOD] = arithmetic,     [TC_OP_MIN] = arithmetic,     [TC_OP_MAX] = arithmetic,
    [TC_OP_POW] = arithmetic,       [TC_OP_FMA] = fma_expr,        [TC_OP_DOT] = dot_expr,       [TC_OP_EQ] = compare,
    [TC_OP_NE] = compare,           [TC_OP_LT] = compare,          [TC_OP_LE] = compare,         [TC_OP_GT] = compare,
    [TC_OP_GE] = compare,           [TC_OP_AND] = arithmetic,      [TC_OP_OR] = arithmetic,      [TC_OP_NOT] = arithmetic,
    [TC_OP_BAND] = arithmetic,      [TC_OP_BOR] = arithmetic,      [TC_OP_BXOR] = arithmetic,    [TC_OP_SHL] = arithmetic,
    [TC_OP_SHR] = arithmetic,       [TC_OP_SELECT] = select_expr,  [TC_OP_CAST] = cast_expr,     [TC_OP_ABS] = arithmetic,
    [TC_OP_SQRT] = arithmetic,      [TC_OP_RSQRT] = arithmetic,    [TC_OP_EXP] = arithmetic,     [TC_OP_LOG] = arithmetic,
    [TC_OP_TANH] = arithmetic,      [TC_OP_ERF] = arithmetic,      [TC_OP_SIGMOID] = arithmetic, [TC_OP_SIN] = arithmetic,
    [TC_OP_COS] = arithmetic,       [TC_OP_TAN] = arithmetic,      [TC_OP_ASIN] = arithmetic,    [TC_OP_ACOS] = arithmetic,
    [TC_OP_ATAN] = arithmetic,      [TC_OP_SINH] = arithmetic,     [TC_OP_COSH] = arithmetic,    [TC_OP_FLOOR] = arithmetic,
    [TC_OP_CEIL] = arithmetic,      [TC_OP_ROUND] = arithmetic,    [TC_OP_TRUNC] = arithmetic,   [TC_OP_ISNAN] = compare,
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
