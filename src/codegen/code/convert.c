/* From one type to another: casts, and the formats in which values are stored. */
#include "codegen/code/code_int.h"

#include <math.h>

/* ---- storage formats ---- */

static tc_val f16_to_f32(tc_cg *g, tc_val h) {
    if (g->k->f16c)
        return LLVMBuildFPExt(g->b, LLVMBuildBitCast(g->b, h, tc_cg_like(h, g->f16), ""), tc_cg_like(h, g->f32), "");
    LLVMTypeRef it = tc_cg_like(h, g->i32), ft = tc_cg_like(h, g->f32);
    tc_val w = LLVMBuildZExt(g->b, h, it, "");
    tc_val sign = LLVMBuildShl(g->b, LLVMBuildAnd(g->b, w, tc_cg_int(it, 0x8000), ""), tc_cg_int(it, 16), "");
    tc_val em = LLVMBuildShl(g->b, LLVMBuildAnd(g->b, w, tc_cg_int(it, 0x7fff), ""), tc_cg_int(it, 13), "");
    /* The product rebiases the exponent, and normalises subnormals. */
    tc_val scaled = LLVMBuildFMul(g->b, LLVMBuildBitCast(g->b, em, ft, ""), tc_cg_real(ft, 0x1p112), "");
    tc_val bits = LLVMBuildBitCast(g->b, scaled, it, "");
    tc_val special = LLVMBuildICmp(g->b, LLVMIntUGE, em, tc_cg_int(it, 0x7c00 << 13), "");
    bits = LLVMBuildSelect(g->b, special, LLVMBuildOr(g->b, em, tc_cg_int(it, 0x7f800000), ""), bits, "");
    return LLVMBuildBitCast(g->b, LLVMBuildOr(g->b, bits, sign, ""), ft, "");
}

/* Round to nearest even, by integer arithmetic; the result is i16. */
static tc_val f32_to_f16_bits(tc_cg *g, tc_val v) {
    LLVMTypeRef it = tc_cg_like(v, g->i32), ft = tc_cg_like(v, g->f32);
    tc_val u = LLVMBuildBitCast(g->b, v, it, "");
    tc_val sign = LLVMBuildAnd(g->b, LLVMBuildLShr(g->b, u, tc_cg_int(it, 16), ""), tc_cg_int(it, 0x8000), "");
    tc_val a = LLVMBuildAnd(g->b, u, tc_cg_int(it, 0x7fffffff), "");
    tc_val odd = LLVMBuildAnd(g->b, LLVMBuildLShr(g->b, a, tc_cg_int(it, 13), ""), tc_cg_int(it, 1), "");
    tc_val normal = LLVMBuildAdd(g->b, LLVMBuildAdd(g->b, a, odd, ""), tc_cg_int(it, (int32_t)0xc8000fffu), "");
    normal = LLVMBuildLShr(g->b, normal, tc_cg_int(it, 13), "");
    /* 0.5 has the unit in the last place of f16's subnormals: adding it rounds. */
    tc_val half = LLVMBuildFAdd(g->b, LLVMBuildBitCast(g->b, a, ft, ""), tc_cg_real(ft, 0.5), "");
    tc_val sub = LLVMBuildSub(g->b, LLVMBuildBitCast(g->b, half, it, ""), tc_cg_int(it, 0x3f000000), "");
    tc_val r = LLVMBuildSelect(g->b, LLVMBuildICmp(g->b, LLVMIntULT, a, tc_cg_int(it, 0x38800000), ""), sub, normal, "");
    r = LLVMBuildSelect(g->b, LLVMBuildICmp(g->b, LLVMIntUGE, a, tc_cg_int(it, 0x477ff000), ""), tc_cg_int(it, 0x7c00), r, "");
    r = LLVMBuildSelect(g->b, LLVMBuildICmp(g->b, LLVMIntUGT, a, tc_cg_int(it, 0x7f800000), ""), tc_cg_int(it, 0x7e00), r, "");
    return LLVMBuildTrunc(g->b, LLVMBuildOr(g->b, r, sign, ""), tc_cg_like(v, g->i16), "");
}

static tc_val round_bf16(tc_cg *g, tc_val v) {
    LLVMTypeRef it = tc_cg_like(v, g->i32);
    tc_val u = LLVMBuildBitCast(g->b, v, it, "");
    tc_val odd = LLVMBuildAnd(g->b, LLVMBuildLShr(g->b, u, tc_cg_int(it, 16), ""), tc_cg_int(it, 1), "");
    tc_val up = LLVMBuildAdd(g->b, LLVMBuildAdd(g->b, u, odd, ""), tc_cg_int(it, 0x7fff), "");
    tc_val quiet = LLVMBuildOr(g->b, u, tc_cg_int(it, 0x400000), "");
    tc_val nan = LLVMBuildFCmp(g->b, LLVMRealUNO, v, v, "");
    tc_val r = LLVMBuildAnd(g->b, LLVMBuildSelect(g->b, nan, quiet, up, ""), tc_cg_int(it, (int32_t)0xffff0000u), "");
    return LLVMBuildBitCast(g->b, r, LLVMTypeOf(v), "");
}

/* From where the sign of a float is to where it is in a code. */
static int64_t sign_shift(const tc_float8 *f) {
    return f->sign == 0x80 ? 24 : 28;
}

/* The code of a power of two as an exponent; that of 2^-127 has none. */
static tc_val power_to_f32(tc_cg *g, const tc_float8 *f, tc_val w) {
    LLVMTypeRef it = LLVMTypeOf(w);
    tc_val bits = LLVMBuildShl(g->b, w, tc_cg_int(it, 23), ""),
           none = LLVMBuildICmp(g->b, LLVMIntEQ, w, tc_cg_int(it, f->nan), "");
    tc_val first = LLVMBuildICmp(g->b, LLVMIntEQ, w, LLVMConstNull(it), "");
    bits = LLVMBuildSelect(g->b, first, tc_cg_int(it, 0x400000), bits, "");
    bits = LLVMBuildSelect(g->b, none, tc_cg_int(it, 0x7fc00000), bits, "");
    return LLVMBuildBitCast(g->b, bits, tc_cg_like(w, g->f32), "");
}

/* As tc_f8_to_f32 (te/dtype.c): the code's bits are the upper ones of a float with another bias; what has no exponent counts in
 * steps, so that no float below the smallest normal one arises, which kernels would take for zero. */
static tc_val f8_to_f32(tc_cg *g, const tc_float8 *f, tc_val code) {
    LLVMTypeRef it = tc_cg_like(code, g->i32), ft = tc_cg_like(code, g->f32);
    tc_val w = LLVMBuildZExt(g->b, code, it, ""), nan = tc_cg_int(it, 0x7fc00000);
    if (!f->sign)
        return power_to_f32(g, f, w);
    tc_val sign = LLVMBuildShl(g->b, LLVMBuildAnd(g->b, w, tc_cg_int(it, f->sign), ""), tc_cg_int(it, sign_shift(f)), "");
    tc_val a = LLVMBuildAnd(g->b, w, tc_cg_int(it, f->sign - 1), "");
    tc_val bits = LLVMBuildShl(g->b, a, tc_cg_int(it, 23 - f->mantissa), "");
    bits = LLVMBuildAdd(g->b, bits, tc_cg_int(it, (int64_t)(127 - f->bias) << 23), "");
    tc_val steps = LLVMBuildFMul(g->b, LLVMBuildSIToFP(g->b, a, ft, ""), tc_cg_real(ft, ldexp(1, 1 - f->bias - f->mantissa)), "");
    tc_val small = LLVMBuildICmp(g->b, LLVMIntULT, a, tc_cg_int(it, (int64_t)1 << f->mantissa), "");
    bits = LLVMBuildSelect(g->b, small, LLVMBuildBitCast(g->b, steps, it, ""), bits, "");
    if (f->over < f->nan) {
        tc_val over = LLVMBuildICmp(g->b, LLVMIntEQ, a, tc_cg_int(it, f->over), "");
        bits = LLVMBuildSelect(g->b, over, tc_cg_int(it, 0x7f800000), bits, "");
    }
    if (f->nan == f->largest)
        return LLVMBuildBitCast(g->b, LLVMBuildOr(g->b, bits, sign, ""), ft, "");
    bool unsigned_zero = f->nan == 0x80;
    tc_val none = unsigned_zero ? LLVMBuildICmp(g->b, LLVMIntEQ, w, tc_cg_int(it, f->nan), "")
                                : LLVMBuildICmp(g->b, LLVMIntUGT, a, tc_cg_int(it, f->over < f->nan ? f->over : f->largest), "");
    bits = LLVMBuildSelect(g->b, none, nan, LLVMBuildOr(g->b, bits, sign, ""), "");
    return LLVMBuildBitCast(g->b, bits, ft, "");
}

/* As tc_f32_to_f8; the result is i8. */
static tc_val f32_to_f8(tc_cg *g, const tc_float8 *f, tc_val v) {
    LLVMTypeRef it = tc_cg_like(v, g->i32), ft = tc_cg_like(v, g->f32);
    int64_t shift = 23 - f->mantissa, smallest = (int64_t)(128 - f->bias) << 23;
    double step = ldexp(1, 24 - f->bias - f->mantissa);
    tc_val u = LLVMBuildBitCast(g->b, v, it, ""), a = LLVMBuildAnd(g->b, u, tc_cg_int(it, 0x7fffffff), "");
    if (!f->sign)
        return LLVMBuildTrunc(g->b, LLVMBuildLShr(g->b, a, tc_cg_int(it, shift), ""), tc_cg_like(v, g->i8), "");
    tc_val sign = LLVMBuildAnd(g->b, LLVMBuildLShr(g->b, u, tc_cg_int(it, sign_shift(f)), ""), tc_cg_int(it, f->sign), "");
    tc_val odd = LLVMBuildAnd(g->b, LLVMBuildLShr(g->b, a, tc_cg_int(it, shift), ""), tc_cg_int(it, 1), "");
    tc_val up = LLVMBuildAdd(g->b, a, tc_cg_int(it, (1 << 23) - smallest + (1 << (shift - 1)) - 1), "");
    tc_val normal = LLVMBuildLShr(g->b, LLVMBuildAdd(g->b, up, odd, ""), tc_cg_int(it, shift), "");
    tc_val steps = LLVMBuildFAdd(g->b, LLVMBuildBitCast(g->b, a, ft, ""), tc_cg_real(ft, step), "");
    tc_val first = LLVMBuildBitCast(g->b, tc_cg_real(ft, step), it, "");
    steps = LLVMBuildSub(g->b, LLVMBuildBitCast(g->b, steps, it, ""), first, "");
    tc_val r = LLVMBuildSelect(g->b, LLVMBuildICmp(g->b, LLVMIntULT, a, tc_cg_int(it, smallest), ""), steps, normal, "");
    tc_val over = LLVMBuildICmp(g->b, LLVMIntUGT, r, tc_cg_int(it, f->largest), "");
    r = LLVMBuildSelect(g->b, over, tc_cg_int(it, f->over), r, "");
    tc_val none = LLVMBuildICmp(g->b, LLVMIntUGT, a, tc_cg_int(it, 0x7f800000), "");
    r = LLVMBuildSelect(g->b, none, tc_cg_int(it, f->nan), r, "");
    tc_val coded = LLVMBuildOr(g->b, r, sign, "");
    if (f->nan == f->largest)
        coded = LLVMBuildSelect(g->b, none, r, coded, "");
    if (f->nan == 0x80)
        coded = LLVMBuildSelect(g->b, LLVMBuildICmp(g->b, LLVMIntEQ, r, LLVMConstNull(it), ""), r, coded, "");
    return LLVMBuildTrunc(g->b, coded, tc_cg_like(v, g->i8), "");
}

tc_val tc_cg_round(tc_cg *g, tc_dtype t, tc_val v) {
    if (tc_float8_of(t))
        return f8_to_f32(g, tc_float8_of(t), f32_to_f8(g, tc_float8_of(t), v));
    if (t == TC_BF16)
        return round_bf16(g, v);
    if (t != TC_F16)
        return v;
    if (!g->k->f16c)
        return f16_to_f32(g, f32_to_f16_bits(g, v));
    return LLVMBuildFPExt(g->b, LLVMBuildFPTrunc(g->b, v, tc_cg_like(v, g->f16), ""), LLVMTypeOf(v), "");
}

tc_val tc_cg_from_memory(tc_cg *g, tc_dtype t, tc_val v) {
    if (t == TC_BOOL)
        return LLVMBuildICmp(g->b, LLVMIntNE, v, LLVMConstNull(LLVMTypeOf(v)), "");
    if (t == TC_F16)
        return f16_to_f32(g, v);
    if (tc_float8_of(t))
        return f8_to_f32(g, tc_float8_of(t), v);
    if (t != TC_BF16)
        return v;
    LLVMTypeRef it = tc_cg_like(v, g->i32);
    tc_val w = LLVMBuildShl(g->b, LLVMBuildZExt(g->b, v, it, ""), tc_cg_int(it, 16), "");
    return LLVMBuildBitCast(g->b, w, tc_cg_like(v, g->f32), "");
}

tc_val tc_cg_to_memory(tc_cg *g, tc_dtype t, tc_val v) {
    if (t == TC_BOOL)
        return LLVMBuildZExt(g->b, v, tc_cg_like(v, g->i8), "");
    if (t == TC_F16 && !g->k->f16c)
        return f32_to_f16_bits(g, v);
    if (tc_float8_of(t))
        return f32_to_f8(g, tc_float8_of(t), v);
    if (t == TC_F16)
        return LLVMBuildBitCast(g->b, LLVMBuildFPTrunc(g->b, v, tc_cg_like(v, g->f16), ""), tc_cg_like(v, g->i16), "");
    if (t != TC_BF16)
        return v;
    tc_val u =
        LLVMBuildLShr(g->b, LLVMBuildBitCast(g->b, v, tc_cg_like(v, g->i32), ""), tc_cg_int(tc_cg_like(v, g->i32), 16), "");
    return LLVMBuildTrunc(g->b, u, tc_cg_like(v, g->i16), "");
}

/* ---- casts ---- */

/* `r` where `a` is a number; 0 elsewhere. */
static tc_val zero_for_nan(tc_cg *g, tc_val a, tc_val r) {
    return LLVMBuildSelect(g->b, LLVMBuildFCmp(g->b, LLVMRealUNO, a, a, ""), LLVMConstNull(LLVMTypeOf(r)), r, "");
}

/* Vectors, and what is narrower than a byte, by way of i32: LLVM takes its own saturating conversion apart, lane by lane. What
 * the plain one makes of numbers that do not fit is not used. */
static tc_val vector_to_int(tc_cg *g, tc_val a, tc_dtype to) {
    LLVMTypeRef wide = tc_cg_like(a, g->i32), t = LLVMTypeOf(a);
    int bits = tc_dtype_bits(to) - tc_dtype_is_signed(to);
    double past = ldexp(1, bits), low = tc_dtype_is_signed(to) ? -past : 0;
    tc_val r = LLVMBuildFPToSI(g->b, a, wide, "");
    tc_val over = LLVMBuildFCmp(g->b, LLVMRealOGE, a, tc_cg_real(t, past), "");
    tc_val under = LLVMBuildFCmp(g->b, LLVMRealOLE, a, tc_cg_real(t, low), "");
    r = LLVMBuildSelect(g->b, over, tc_cg_int(wide, (int64_t)past - 1), r, "");
    r = LLVMBuildSelect(g->b, under, tc_cg_int(wide, (int64_t)low), r, "");
    r = zero_for_nan(g, a, r);
    return bits > 16 ? r : LLVMBuildTrunc(g->b, r, tc_cg_like(a, tc_cg_mem_type(g, to)), "");
}

/* x86's own conversion of a vector of f32, to the nearest number or towards 0; NaN becomes INT32_MIN. NULL: there is none. */
static tc_val x86_to_i32(tc_cg *g, tc_val a, bool nearest) {
    enum { CURRENT = 4 /* mode of rounding */ };
    int lanes =
        LLVMGetTypeKind(LLVMTypeOf(a)) == LLVMVectorTypeKind && tc_cg_like(a, g->f32) == LLVMTypeOf(a) ? tc_cg_lanes(a) : 0;
    if (lanes == 16 && g->k->avx512) {
        LLVMTypeRef whole = tc_cg_like(a, g->i32);
        tc_val args[] = {a, LLVMConstNull(whole), LLVMConstAllOnes(g->i16), tc_cg_int(g->i32, CURRENT)};
        return tc_cg_intrinsic(g, nearest ? "llvm.x86.avx512.mask.cvtps2dq.512" : "llvm.x86.avx512.mask.cvttps2dq.512", NULL, 0,
                               args, 4);
    }
    if (lanes == 8 && g->k->avx)
        return tc_cg_intrinsic(g, nearest ? "llvm.x86.avx.cvt.ps2dq.256" : "llvm.x86.avx.cvtt.ps2dq.256", NULL, 0, &a, 1);
    return NULL;
}

tc_val tc_cg_bounded_to_i32(tc_cg *g, tc_val a, bool nearest, bool low) {
    tc_val r = x86_to_i32(g, a, nearest);
    if (r)
        return low ? r : zero_for_nan(g, a, r);
    if (nearest)
        a = tc_cg_intr1(g, "llvm.rint", a);
    return zero_for_nan(g, a, LLVMBuildFPToSI(g->b, a, tc_cg_like(a, g->i32), ""));
}

static tc_val float_to_int(tc_cg *g, tc_val a, tc_dtype to) {
    bool fits = tc_dtype_bytes(to) < 4 || to == TC_I32;
    if ((tc_cg_lanes(a) > 1 && fits) || tc_dtype_bits(to) < 8)
        return vector_to_int(g, a, to);
    LLVMTypeRef over[] = {tc_cg_like(a, tc_cg_mem_type(g, to)), LLVMTypeOf(a)};
    return tc_cg_intrinsic(g, tc_dtype_is_signed(to) ? "llvm.fptosi.sat" : "llvm.fptoui.sat", over, 2, &a, 1);
}

/* As tc_f64_to_odd_f32 (te/dtype.c). */
static tc_val f64_to_odd_f32(tc_cg *g, tc_val a) {
    LLVMTypeRef it = tc_cg_like(a, g->i32), ft = tc_cg_like(a, g->f32);
    tc_val f = LLVMBuildFPTrunc(g->b, a, ft, ""), back = LLVMBuildFPExt(g->b, f, LLVMTypeOf(a), "");
    tc_val inexact = LLVMBuildFCmp(g->b, LLVMRealONE, back, a, "");
    tc_val beyond = LLVMBuildFCmp(g->b, LLVMRealOGT, tc_cg_intr1(g, "llvm.fabs", back), tc_cg_intr1(g, "llvm.fabs", a), "");
    tc_val bits = LLVMBuildBitCast(g->b, f, it, "");
    bits = LLVMBuildSub(g->b, bits, LLVMBuildZExt(g->b, beyond, it, ""), "");
    bits = LLVMBuildOr(g->b, bits, LLVMBuildZExt(g->b, inexact, it, ""), "");
    return LLVMBuildBitCast(g->b, bits, ft, "");
}

/* As sticky (te/eval.c): f64 holds the result, and it rounds to bf16 or less as the integer does. */
static tc_val sticky(tc_cg *g, tc_val a, tc_dtype from) {
    LLVMTypeRef t = LLVMTypeOf(a);
    bool s = tc_dtype_is_signed(from);
    tc_val high = LLVMBuildAnd(g->b, a, tc_cg_int(t, ~(int64_t)0xffff), ""),
           low = LLVMBuildAnd(g->b, a, tc_cg_int(t, 0xffff), "");
    tc_val any = LLVMBuildICmp(g->b, LLVMIntNE, low, LLVMConstNull(t), "");
    tc_val coarse = LLVMBuildOr(g->b, high, LLVMBuildSelect(g->b, any, tc_cg_int(t, 0x8000), LLVMConstNull(t), ""), "");
    tc_val size = s ? LLVMBuildXor(g->b, a, LLVMBuildAShr(g->b, a, tc_cg_int(t, 63), ""), "") : a;
    tc_val small = LLVMBuildICmp(g->b, LLVMIntEQ, LLVMBuildLShr(g->b, size, tc_cg_int(t, 32), ""), LLVMConstNull(t), "");
    return LLVMBuildSelect(g->b, small, a, coarse, "");
}

/* f32 holds all integers that a type narrower than f32 does not take for infinite, unless the type has f32's exponents. */
static tc_val int_to_float(tc_cg *g, tc_val a, tc_dtype from, tc_dtype to) {
    bool s = tc_dtype_is_signed(from), twice = (to == TC_BF16 || to == TC_F8E8M0) && tc_dtype_bytes(from) >= 4;
    LLVMTypeRef t = tc_cg_like(a, to == TC_F64 || twice ? g->f64 : g->f32);
    if (twice && tc_dtype_bytes(from) == 8)
        a = sticky(g, a, from);
    a = s ? LLVMBuildSIToFP(g->b, a, t, "") : LLVMBuildUIToFP(g->b, a, t, "");
    return tc_cg_round(g, to, twice ? f64_to_odd_f32(g, a) : a);
}

static tc_val float_to_float(tc_cg *g, tc_val a, tc_dtype from, tc_dtype to) {
    if (to == TC_F64)
        return LLVMBuildFPExt(g->b, a, tc_cg_like(a, g->f64), "");
    if (from == TC_F64)
        a = to == TC_F32 ? LLVMBuildFPTrunc(g->b, a, tc_cg_like(a, g->f32), "") : f64_to_odd_f32(g, a);
    return to == TC_F32 ? a : tc_cg_round(g, to, a);
}

/* The bits of i4 and u4 that a byte holds, extended to all of it. */
static tc_val low_bits(tc_cg *g, tc_val a, tc_dtype to) {
    LLVMTypeRef t = LLVMTypeOf(a);
    if (!tc_dtype_is_signed(to))
        return LLVMBuildAnd(g->b, a, tc_cg_int(t, 15), "");
    return LLVMBuildAShr(g->b, LLVMBuildShl(g->b, a, tc_cg_int(t, 4), ""), tc_cg_int(t, 4), "");
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

tc_val tc_cg_cast(tc_cg *g, tc_val a, tc_dtype from, tc_dtype to) {
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
    if (tf)
        return int_to_float(g, a, from, to);
    a = int_to_int(g, a, from, to);
    return tc_dtype_bits(to) < 8 ? low_bits(g, a, to) : a;
}
