/* Mathematical functions. For f32 the frequent ones are inlined polynomials on vectors of any width, written for throughput. The
 * others (sin, cos, tan, asin, acos, atan, sinh, cosh, asinh, acosh, atanh, general pow), and all of f64, call libm for each lane.
 * te/accuracy.def has the largest errors.
 *
 * Infinities, NaN, signed zeros and subnormal arguments give the results of C's functions. A result that would be subnormal is
 * subnormal or zero (func.c). The same holds for intermediate products: without multiply-add, erf and tanh of arguments near the
 * smallest normal number may be off by 1.2 times that number. f16 and bf16 are computed in f32.
 *
 * Coefficients are from fit_math.py; the comment behind each array is the relative error of the fit. */
#include <math.h>

#include "codegen/code/code_int.h"

static const double EXP_F32[] = {0.499999934478, 0.166665206317, 0.041668388048, 0.00836871688356,
                                 0.00138145985128}; /* 3.1e-09 */
static const double EXPM1_F32[] = {0.49999998154, 0.16666543621, 0.0416671998594, 0.00836652057863,
                                   0.00138825214847}; /* 1.3e-08 */
static const double LOG_F32[] = {0.333333126041,  -0.250000095993, 0.200021186577,  -0.166679958568, 0.142195523815,
                                 -0.124055888815, 0.118881620943,  -0.116756519852, 0.0674664107863}; /* 7.5e-10 */
static const double ERF_SMALL[] = {0.128379142313,   -0.376124459362,  0.112813206889,
                                   -0.0267488642594, 0.00496750677481, -0.000586208182192}; /* 2.2e-08 */
static const double ERF_LARGE[] = {-0.000166447768714, -1.12779724203,    -0.63697608403,   -0.104113678175,
                                   0.0223152128629,    -0.00306549026415, 0.000198219652262}; /* 1.7e-09 */

static const double NCDF_F32[] = {0.0997466242666, 0.0995160204051, 0.0953309170153, 0.0728205728913,
                                  0.0843852378453, 0.0167758560991, 0.0237257760079, 0.0550685499708,
                                  -0.064201725894, 0.0168321756556}; /* 8.5e-09 */

/* ln 2 in two parts; the product of the first with any exponent is exact in f32. */
static const double LN2_HI = 0.693359375, LN2_LO = -2.12194440054690583e-4;
/* 1.5 * 2^23: adding it rounds to an integer and leaves that integer in the low bits. */
static const double MAGIC = 12582912.0;
enum { MAGIC_BITS = 0x4b400000 };

/* ---- little helpers; all take and give vectors of one width ---- */

static tc_val konst(tc_val like, double v) {
    return tc_cg_real(LLVMTypeOf(like), v);
}

static tc_val fmadd(tc_cg *g, tc_val a, tc_val b, tc_val c) {
    if (!g->k->fma)
        return LLVMBuildFAdd(g->b, LLVMBuildFMul(g->b, a, b, ""), c, "");
    LLVMTypeRef t = LLVMTypeOf(a);
    tc_val args[] = {a, b, c};
    return tc_cg_intrinsic(g, "llvm.fma", &t, 1, args, 3);
}

/* Horner, constant term first in c. */
static tc_val polynomial(tc_cg *g, tc_val x, const double *c, int n) {
    tc_val p = konst(x, c[n - 1]);
    for (int i = n - 2; i >= 0; i--)
        p = fmadd(g, p, x, konst(x, c[i]));
    return p;
}

/* x, but at most (at least) limit; NaN stays. One instruction on x86, in this order of operands. */
static tc_val at_most(tc_cg *g, tc_val x, double limit) {
    tc_val l = konst(x, limit);
    return LLVMBuildSelect(g->b, LLVMBuildFCmp(g->b, LLVMRealOLT, l, x, ""), l, x, "");
}

static tc_val at_least(tc_cg *g, tc_val x, double limit) {
    tc_val l = konst(x, limit);
    return LLVMBuildSelect(g->b, LLVMBuildFCmp(g->b, LLVMRealOGT, l, x, ""), l, x, "");
}

/* x = n * ln 2 + r with |r| <= ln 2 / 2; n as float and as i32. */
typedef struct reduced {
    tc_val r, n, ni;
} reduced;

/* The same for the sum x + rest. n is that of `near`, which differs from the sum by less than 1/4. */
static reduced reduce_sum(tc_cg *g, tc_val near, tc_val x, tc_val rest) {
    LLVMTypeRef it = tc_cg_like(x, g->i32);
    reduced o;
    tc_val t = fmadd(g, near, konst(x, M_LOG2E), konst(x, MAGIC));
    o.n = LLVMBuildFSub(g->b, t, konst(x, MAGIC), "");
    o.ni = LLVMBuildSub(g->b, LLVMBuildBitCast(g->b, t, it, ""), tc_cg_int(it, MAGIC_BITS), "");
    o.r = fmadd(g, o.n, konst(x, -LN2_HI), x);
    o.r = rest ? LLVMBuildFAdd(g->b, o.r, rest, "") : o.r;
    o.r = fmadd(g, o.n, konst(x, -LN2_LO), o.r);
    return o;
}

static reduced reduce_ln2(tc_cg *g, tc_val x) {
    return reduce_sum(g, x, x, NULL);
}

/* 2^n for n in [-126, 127] */
static tc_val exp2i(tc_cg *g, tc_val n) {
    LLVMTypeRef it = LLVMTypeOf(n);
    tc_val bits = LLVMBuildShl(g->b, LLVMBuildAdd(g->b, n, tc_cg_int(it, 127), ""), tc_cg_int(it, 23), "");
    return LLVMBuildBitCast(g->b, bits, tc_cg_like(n, g->f32), "");
}

/* p * 2^n, n in [-252, 254], rounded once, also where the result is subnormal or infinite. */
static tc_val scale(tc_cg *g, tc_val p, const reduced *x) {
    if (g->k->avx512 && tc_cg_lanes(p) == 16) {
        tc_val args[] = {p, x->n, p, LLVMConstAllOnes(g->i16), LLVMConstInt(g->i32, 4, 0)};
        return tc_cg_intrinsic(g, "llvm.x86.avx512.mask.scalef.ps.512", NULL, 0, args, 5);
    }
    LLVMTypeRef it = LLVMTypeOf(x->ni);
    tc_val n1 = LLVMBuildAShr(g->b, x->ni, tc_cg_int(it, 1), ""), n2 = LLVMBuildSub(g->b, x->ni, n1, "");
    return LLVMBuildFMul(g->b, LLVMBuildFMul(g->b, p, exp2i(g, n1), ""), exp2i(g, n2), "");
}

/* ---- f32 functions ---- */

static tc_val exp_reduced(tc_cg *g, reduced d) {
    tc_val q = polynomial(g, d.r, EXP_F32, TC_LEN(EXP_F32));
    tc_val p = fmadd(g, LLVMBuildFMul(g->b, d.r, d.r, ""), q, d.r);
    return scale(g, LLVMBuildFAdd(g->b, p, konst(d.r, 1), ""), &d);
}

/* exp for arguments in [-104, 89]. */
static tc_val exp_inside(tc_cg *g, tc_val x) {
    return exp_reduced(g, reduce_ln2(g, x));
}

static tc_val exp_f32(tc_cg *g, tc_val x) {
    return exp_inside(g, at_least(g, at_most(g, x, 89.0), -104.0));
}

/* Half of the result is 2^(n-1) (exp(r) - 1) + (2^(n-1) - 1/2); 2^n could overflow. Below 2^-24 the result is x. */
static tc_val expm1_f32(tc_cg *g, tc_val x) {
    reduced d = reduce_ln2(g, at_least(g, at_most(g, x, 89.0), -18.0));
    tc_val q = polynomial(g, d.r, EXPM1_F32, TC_LEN(EXPM1_F32));
    tc_val e = fmadd(g, LLVMBuildFMul(g->b, d.r, d.r, ""), q, d.r);
    tc_val s = exp2i(g, LLVMBuildSub(g->b, d.ni, tc_cg_int(LLVMTypeOf(d.ni), 1), ""));
    tc_val half = fmadd(g, s, e, LLVMBuildFSub(g->b, s, konst(x, 0.5), ""));
    tc_val tiny = LLVMBuildFCmp(g->b, LLVMRealOLT, tc_cg_intr1(g, "llvm.fabs", x), konst(x, 0x1p-24), "");
    return LLVMBuildSelect(g->b, tiny, x, LLVMBuildFAdd(g->b, half, half, ""), "");
}

/* With m = exp(2|x|) - 1, computed without cancellation: tanh|x| = m / (m + 2). */
static tc_val tanh_f32(tc_cg *g, tc_val x) {
    tc_val a = at_most(g, tc_cg_intr1(g, "llvm.fabs", x), 10.0);
    reduced d = reduce_ln2(g, LLVMBuildFAdd(g->b, a, a, ""));
    tc_val q = polynomial(g, d.r, EXPM1_F32, TC_LEN(EXPM1_F32));
    tc_val e = fmadd(g, LLVMBuildFMul(g->b, d.r, d.r, ""), q, d.r), s = exp2i(g, d.ni);
    tc_val m = fmadd(g, s, e, LLVMBuildFSub(g->b, s, konst(x, 1), ""));
    tc_val t = LLVMBuildFDiv(g->b, m, LLVMBuildFAdd(g->b, m, konst(x, 2), ""), "");
    return tc_cg_intr2(g, "llvm.copysign", t, x);
}

/* 1 / (1 + e) or e / (1 + e) with e = exp(-|x|): never overflows, and small results keep their precision. */
static tc_val sigmoid(tc_cg *g, tc_val x) {
    tc_val minus = LLVMBuildFNeg(g->b, tc_cg_intr1(g, "llvm.fabs", x), "");
    tc_val e = tc_cg_math(g, TC_OP_EXP, minus), one = konst(x, 1);
    tc_val top = LLVMBuildSelect(g->b, LLVMBuildFCmp(g->b, LLVMRealOLT, x, konst(x, 0), ""), e, one, "");
    return LLVMBuildFDiv(g->b, top, LLVMBuildFAdd(g->b, e, one, ""), "");
}

/* |x| < 0.92: x + x S(x^2); else 1 - exp(L(|x|)), L the logarithm of erfc. At 4 it has rounded to 1. */
static tc_val erf_f32(tc_cg *g, tc_val x) {
    tc_val a = at_most(g, tc_cg_intr1(g, "llvm.fabs", x), 4), u = LLVMBuildFMul(g->b, a, a, "");
    tc_val small = fmadd(g, a, polynomial(g, u, ERF_SMALL, TC_LEN(ERF_SMALL)), a);
    tc_val large = LLVMBuildFSub(g->b, konst(x, 1), exp_inside(g, polynomial(g, a, ERF_LARGE, TC_LEN(ERF_LARGE))), "");
    tc_val low = LLVMBuildFCmp(g->b, LLVMRealOLT, a, konst(x, 0.92), "");
    return tc_cg_intr2(g, "llvm.copysign", LLVMBuildSelect(g->b, low, small, large, ""), x);
}

/* With a = |x| and t = 4 / (4 + a), the lower tail is exp(-a^2 / 2) t P(t), and the upper one 1 less that. The square is the sum of
 * an exact number and a small rest: exp would magnify the rounding error of a plain square. Beyond 14.4 the tail is 0. */
static tc_val ncdf_f32(tc_cg *g, tc_val x) {
    LLVMTypeRef it = tc_cg_like(x, g->i32);
    tc_val a = at_most(g, tc_cg_intr1(g, "llvm.fabs", x), 14.4), half = konst(x, -0.5);
    tc_val upper = LLVMBuildAnd(g->b, LLVMBuildBitCast(g->b, a, it, ""), tc_cg_int(it, (int32_t)0xfffff000u), "");
    tc_val head = LLVMBuildBitCast(g->b, upper, LLVMTypeOf(x), "");
    tc_val square = LLVMBuildFMul(g->b, LLVMBuildFMul(g->b, head, head, ""), half, "");
    tc_val rest = LLVMBuildFMul(g->b, LLVMBuildFSub(g->b, a, head, ""), LLVMBuildFAdd(g->b, a, head, ""), "");
    tc_val e = exp_reduced(g, reduce_sum(g, LLVMBuildFMul(g->b, LLVMBuildFMul(g->b, a, a, ""), half, ""), square,
                                         LLVMBuildFMul(g->b, rest, half, "")));
    tc_val t = LLVMBuildFDiv(g->b, konst(x, 4), LLVMBuildFAdd(g->b, a, konst(x, 4), ""), "");
    tc_val tail = LLVMBuildFMul(g->b, e, LLVMBuildFMul(g->b, t, polynomial(g, t, NCDF_F32, TC_LEN(NCDF_F32)), ""), "");
    tc_val above = LLVMBuildFCmp(g->b, LLVMRealOGT, x, konst(x, 0), "");
    return LLVMBuildSelect(g->b, above, LLVMBuildFSub(g->b, konst(x, 1), tail, ""), tail, "");
}

/* As tc_normal_cdf (te/eval.c). Beyond 40, where `rest` may be NaN, the factor is 1. */
static tc_val ncdf_f64(tc_cg *g, tc_val x) {
    LLVMTypeRef t = LLVMTypeOf(x);
    tc_val root = konst(x, 0x1.6a09e667f3bcdp-1), a = LLVMBuildFNeg(g->b, LLVMBuildFMul(g->b, x, root, ""), "");
    tc_val low = LLVMBuildFMul(g->b, x, konst(x, -0x1.bdd3413b26456p-55), "");
    tc_val rest = LLVMBuildFAdd(g->b, tc_cg_intrinsic(g, "llvm.fma", &t, 1, (tc_val[]){x, root, a}, 3), low, "");
    tc_val near = LLVMBuildFAdd(g->b, LLVMBuildFMul(g->b, a, a, ""), konst(x, 1.5), "");
    tc_val slope = LLVMBuildFAdd(g->b, a, tc_cg_intr1(g, "llvm.sqrt", near), "");
    tc_val factor = LLVMBuildFAdd(g->b, LLVMBuildFMul(g->b, rest, slope, ""), konst(x, 1), "");
    tc_val inside = LLVMBuildFCmp(g->b, LLVMRealOLT, tc_cg_intr1(g, "llvm.fabs", x), konst(x, 40), "");
    factor = LLVMBuildSelect(g->b, inside, factor, konst(x, 1), "");
    tc_val half = LLVMBuildFMul(g->b, tc_cg_call_lanes(g, "erfc", &a, 1), konst(x, 0.5), "");
    return LLVMBuildFMul(g->b, half, factor, "");
}

/* The logarithm of 2^e (1 + f) for 1 + f in [sqrt(1/2), sqrt(2)): f - f^2/2 + f^3 P(f) + e ln 2 */
static tc_val log_parts(tc_cg *g, tc_val f, tc_val e) {
    tc_val f2 = LLVMBuildFMul(g->b, f, f, "");
    tc_val y = LLVMBuildFMul(g->b, LLVMBuildFMul(g->b, f, f2, ""), polynomial(g, f, LOG_F32, TC_LEN(LOG_F32)), "");
    y = fmadd(g, e, konst(f, LN2_LO), y);
    y = LLVMBuildFAdd(g->b, f, fmadd(g, f2, konst(f, -0.5), y), "");
    return fmadd(g, e, konst(f, LN2_HI), y);
}

/* y is the logarithm of x. For infinity, zero, negative numbers and NaN the result is that of C's log. */
static tc_val log_ends(tc_cg *g, tc_val x, tc_val y) {
    tc_val inf = konst(x, INFINITY), zero = konst(x, 0);
    y = LLVMBuildSelect(g->b, LLVMBuildFCmp(g->b, LLVMRealOEQ, x, inf, ""), inf, y, "");
    y = LLVMBuildSelect(g->b, LLVMBuildFCmp(g->b, LLVMRealOEQ, x, zero, ""), konst(x, -INFINITY), y, "");
    return LLVMBuildSelect(g->b, LLVMBuildFCmp(g->b, LLVMRealULT, x, zero, ""), konst(x, NAN), y, "");
}

/* x = 2^e * m, m in [sqrt(1/2), sqrt(2)) */
static tc_val split_exponent(tc_cg *g, tc_val x, tc_val *e) {
    LLVMTypeRef it = tc_cg_like(x, g->i32);
    tc_val bits = LLVMBuildBitCast(g->b, x, it, "");
    *e = LLVMBuildAShr(g->b, LLVMBuildSub(g->b, bits, tc_cg_int(it, 0x3f3504f3), ""), tc_cg_int(it, 23), "");
    tc_val m = LLVMBuildSub(g->b, bits, LLVMBuildShl(g->b, *e, tc_cg_int(it, 23), ""), "");
    return LLVMBuildBitCast(g->b, m, LLVMTypeOf(x), "");
}

/* The logarithm of u = 1 + x. The rounding error of u, scaled as u is, is added to f. */
static tc_val log1p_f32(tc_cg *g, tc_val x) {
    tc_val one = konst(x, 1), u = LLVMBuildFAdd(g->b, x, one, ""), e;
    tc_val is_large = LLVMBuildFCmp(g->b, LLVMRealOGT, x, one, "");
    tc_val large = LLVMBuildSelect(g->b, is_large, x, one, ""), small = LLVMBuildSelect(g->b, is_large, one, x, "");
    tc_val missing = LLVMBuildFSub(g->b, small, LLVMBuildFSub(g->b, u, large, ""), "");
    tc_val m = split_exponent(g, u, &e);
    tc_val down = LLVMBuildSub(g->b, LLVMConstNull(LLVMTypeOf(e)), e, ""), least = tc_cg_int(LLVMTypeOf(e), -100);
    tc_val by = exp2i(g, tc_cg_intr2(g, "llvm.smax", down, least)); /* smaller scales change nothing */
    tc_val f = LLVMBuildFAdd(g->b, LLVMBuildFSub(g->b, m, one, ""), LLVMBuildFMul(g->b, missing, by, ""), "");
    tc_val y = log_ends(g, u, log_parts(g, f, LLVMBuildSIToFP(g->b, e, LLVMTypeOf(x), "")));
    return tc_cg_intr2(g, "llvm.copysign", y, x);
}

static tc_val log_f32(tc_cg *g, tc_val x) {
    tc_val tiny = LLVMBuildFCmp(g->b, LLVMRealOLT, x, konst(x, 0x1p-126), ""), e;
    tc_val big = LLVMBuildSelect(g->b, tiny, LLVMBuildFMul(g->b, x, konst(x, 0x1p23), ""), x, "");
    tc_val m = split_exponent(g, big, &e), ef = LLVMBuildSIToFP(g->b, e, LLVMTypeOf(x), "");
    ef = LLVMBuildFSub(g->b, ef, LLVMBuildSelect(g->b, tiny, konst(x, 23), konst(x, 0), ""), "");
    return log_ends(g, x, log_parts(g, LLVMBuildFSub(g->b, m, konst(x, 1), ""), ef));
}

/* ---- dispatch ---- */

/* Functions of libm, in f32 and in f64. Without a name for f32 the kernel calls that of f64 and rounds: libm's own functions of f32
 * err by two units in the last place. */
static const char *const LIBM[TC_NOPS][2] = {
    [TC_OP_EXP] = {NULL, "exp"},      [TC_OP_LOG] = {NULL, "log"},      [TC_OP_TANH] = {NULL, "tanh"},
    [TC_OP_ERF] = {NULL, "erf"},      [TC_OP_SIN] = {"sinf", "sin"},    [TC_OP_COS] = {"cosf", "cos"},
    [TC_OP_TAN] = {"tanf", "tan"},    [TC_OP_ASIN] = {"asinf", "asin"}, [TC_OP_ACOS] = {"acosf", "acos"},
    [TC_OP_ATAN] = {"atanf", "atan"}, [TC_OP_SINH] = {NULL, "sinh"},    [TC_OP_COSH] = {NULL, "cosh"},
    [TC_OP_ASINH] = {NULL, "asinh"},  [TC_OP_ACOSH] = {NULL, "acosh"},  [TC_OP_ATANH] = {NULL, "atanh"},
    [TC_OP_EXPM1] = {NULL, "expm1"},  [TC_OP_LOG1P] = {NULL, "log1p"}};

typedef tc_val function(tc_cg *g, tc_val x);

/* Functions that are inlined in f32, and in f64. */
static function *const INLINED[TC_NOPS][2] = {[TC_OP_SIGMOID] = {sigmoid, sigmoid},
                                              [TC_OP_EXP] = {exp_f32},
                                              [TC_OP_LOG] = {log_f32},
                                              [TC_OP_TANH] = {tanh_f32},
                                              [TC_OP_ERF] = {erf_f32},
                                              [TC_OP_EXPM1] = {expm1_f32},
                                              [TC_OP_LOG1P] = {log1p_f32},
                                              [TC_OP_NCDF] = {ncdf_f32, ncdf_f64}};

static tc_val piece_of(tc_cg *g, tc_op op, tc_val x) {
    bool f32 = LLVMGetTypeKind(tc_cg_lanes(x) > 1 ? LLVMGetElementType(LLVMTypeOf(x)) : LLVMTypeOf(x)) == LLVMFloatTypeKind;
    if (op == TC_OP_SQRT)
        return tc_cg_intr1(g, "llvm.sqrt", x);
    if (op == TC_OP_RSQRT)
        return LLVMBuildFDiv(g->b, konst(x, 1), tc_cg_intr1(g, "llvm.sqrt", x), "");
    if (INLINED[op][!f32])
        return INLINED[op][!f32](g, x);
    const char *name = LIBM[op][!f32], *wide = LIBM[op][1];
    if (name)
        return tc_cg_call_lanes(g, name, &x, 1);
    if (!wide)
        return tc_cg_fail(g, "no code for function %s", tc_op_text(op));
    tc_val y = LLVMBuildFPExt(g->b, x, tc_cg_like(x, g->f64), "");
    y = tc_cg_call_lanes(g, wide, &y, 1);
    return y ? LLVMBuildFPTrunc(g->b, y, LLVMTypeOf(x), "") : NULL;
}

static tc_val slice(tc_cg *g, tc_val v, int first, int n) {
    tc_val sel[64];
    for (int i = 0; i < n; i++)
        sel[i] = tc_cg_int(g->i32, first + i);
    return LLVMBuildShuffleVector(g->b, v, LLVMGetPoison(LLVMTypeOf(v)), LLVMConstVector(sel, (unsigned)n), "");
}

static tc_val concat(tc_cg *g, tc_val a, tc_val b) {
    int n = tc_cg_lanes(a) + tc_cg_lanes(b);
    tc_val *sel = tc_xmalloc((size_t)n * sizeof *sel);
    for (int i = 0; i < n; i++)
        sel[i] = tc_cg_int(g->i32, i);
    tc_val v = LLVMBuildShuffleVector(g->b, a, b, LLVMConstVector(sel, (unsigned)n), "");
    free(sel);
    return v;
}

/* Wide vectors go through register-sized pieces: fewer values are live at once. */
tc_val tc_cg_math(tc_cg *g, tc_op op, tc_val x) {
    int lanes = tc_cg_lanes(x), native = TC_MAX(g->k->m->vector_bytes / 4, 4);
    if (lanes <= native || lanes % (2 * native) || native > 64)
        return piece_of(g, op, x);
    tc_val lo = tc_cg_math(g, op, slice(g, x, 0, TC_MIN(lanes / 2, 64)));
    tc_val hi = tc_cg_math(g, op, slice(g, x, lanes / 2, TC_MIN(lanes / 2, 64)));
    return lo && hi ? concat(g, lo, hi) : NULL;
}

/* pow by a constant that is exact in few operations. */
static tc_val pow_const(tc_cg *g, tc_val x, double y) {
    if (y == 1)
        return x;
    if (y == 2)
        return LLVMBuildFMul(g->b, x, x, "");
    if (y == 3)
        return LLVMBuildFMul(g->b, LLVMBuildFMul(g->b, x, x, ""), x, "");
    if (y == -1)
        return LLVMBuildFDiv(g->b, konst(x, 1), x, "");
    if (y == 0.5) { /* pow(-0, 0.5) is +0 and pow(-inf, 0.5) is inf */
        tc_val r = LLVMBuildFAdd(g->b, tc_cg_intr1(g, "llvm.sqrt", x), konst(x, 0), "");
        return LLVMBuildSelect(g->b, LLVMBuildFCmp(g->b, LLVMRealOEQ, x, konst(x, -INFINITY), ""), konst(x, INFINITY), r, "");
    }
    return NULL;
}

tc_val tc_cg_pow(tc_cg *g, tc_val x, tc_val y) {
    LLVMTypeRef elem = tc_cg_lanes(x) > 1 ? LLVMGetElementType(LLVMTypeOf(x)) : LLVMTypeOf(x);
    LLVMBool loses;
    if (LLVMIsConstant(y)) {
        tc_val one = tc_cg_lanes(y) > 1 ? LLVMGetAggregateElement(y, 0) : y;
        bool same = one && LLVMIsAConstantFP(one) && y == tc_cg_real(LLVMTypeOf(y), LLVMConstRealGetDouble(one, &loses));
        tc_val r = same ? pow_const(g, x, LLVMConstRealGetDouble(one, &loses)) : NULL;
        if (r)
            return r;
    }
    tc_val args[] = {x, y};
    return tc_cg_call_lanes(g, LLVMGetTypeKind(elem) == LLVMFloatTypeKind ? "powf" : "pow", args, 2);
}
