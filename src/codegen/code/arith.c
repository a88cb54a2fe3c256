/* Arithmetic on integers and floats. The operations' semantics are those of te/expr.h. */
#include "codegen/code/code_int.h"

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
 * number must wrap, not trap. */
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

/* By what is not 0. */
static tc_val divide_by(tc_cg *g, const tc_expr *e, tc_val a, tc_val b, int64_t k) {
    bool quotient = e->op == TC_OP_DIV || e->op == TC_OP_TDIV, floors = e->op == TC_OP_DIV || e->op == TC_OP_MOD;
    LLVMTypeRef t = LLVMTypeOf(a);
    if (!tc_dtype_is_signed((tc_dtype)e->dtype))
        return binop(g, quotient ? LLVMUDiv : LLVMURem, a, b);
    if (floors && k > 0 && (k & (k - 1)) == 0) {
        int shift = __builtin_ctzll((unsigned long long)k);
        return quotient ? binop(g, LLVMAShr, a, tc_cg_int(t, shift)) : binop(g, LLVMAnd, a, tc_cg_int(t, k - 1));
    }
    if (k > 0 && tc_cg_range(g, e->args[0]).lo >= 0)
        return binop(g, quotient ? LLVMUDiv : LLVMURem, a, b);
    return divide_signed(g, e, a, b);
}

/* By zero, quotient and remainder are 0; it is divided by 1 there, since the machine would trap. */
static tc_val divide(tc_cg *g, const tc_expr *e, tc_val a, tc_val b) {
    int64_t k = const_divisor(e->args[1]);
    if (k)
        return divide_by(g, e, a, b, k);
    LLVMTypeRef t = LLVMTypeOf(a);
    tc_val zero = LLVMConstNull(t), none = LLVMBuildICmp(g->b, LLVMIntEQ, b, zero, "");
    tc_val v = divide_by(g, e, a, LLVMBuildSelect(g->b, none, tc_cg_int(t, 1), b, ""), 0);
    return LLVMBuildSelect(g->b, none, zero, v, "");
}

/* LLVM's shifts are poison by the width and more, which negative amounts are too. */
static tc_val shift(tc_cg *g, const tc_expr *e, tc_val a, tc_val b) {
    LLVMTypeRef t = LLVMTypeOf(a);
    int64_t width = 8 * tc_dtype_bytes((tc_dtype)e->dtype);
    bool left = e->op == TC_OP_SHL;
    if (!left && tc_dtype_is_signed((tc_dtype)e->dtype))
        return binop(g, LLVMAShr, a, tc_cg_intr2(g, "llvm.umin", b, tc_cg_int(t, width - 1)));
    tc_val within = LLVMBuildICmp(g->b, LLVMIntULT, b, tc_cg_int(t, width), "");
    return LLVMBuildSelect(g->b, within, binop(g, left ? LLVMShl : LLVMLShr, a, b), LLVMConstNull(t), "");
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
    build_fn *in_range;
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
};

static tc_val int_binary(tc_cg *g, const tc_expr *e, tc_val a, tc_val b) {
    tc_dtype t = (tc_dtype)e->dtype;
    bool s = tc_dtype_is_signed(t);
    LLVMOpcode code = t == TC_BOOL ? INT_OPCODES[e->op].is_bool
                      : s          ? INT_OPCODES[e->op].is_signed
                                   : INT_OPCODES[e->op].is_unsigned;
    build_fn *in_range = t == TC_I64 && e->lanes == 1 ? INT_OPCODES[e->op].in_range : NULL;
    if (in_range && tc_te_stays_in_range(e, g->k->env))
        return in_range(g->b, a, b, "");
    if (code)
        return binop(g, code, a, b);
    if (e->op == TC_OP_DIV || e->op == TC_OP_MOD || e->op == TC_OP_TDIV || e->op == TC_OP_TMOD)
        return divide(g, e, a, b);
    if (e->op == TC_OP_SHL || e->op == TC_OP_SHR)
        return shift(g, e, a, b);
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

/* ---- either ---- */

tc_val tc_cg_arithmetic(tc_cg *g, const tc_expr *e) {
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
