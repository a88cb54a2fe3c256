/* Short names for what is asked of LLVM's builder. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "codegen/code/code_int.h"

/* ---- life ---- */

void tc_cg_init(tc_cg *g, const tc_target *t, LLVMContextRef ctx, LLVMModuleRef mod, const char *name, tc_error *err) {
    *g = (tc_cg){.target = t, .symbol = name, .ctx = ctx, .mod = mod, .err = err};
    g->b = LLVMCreateBuilderInContext(ctx);
    g->i1 = LLVMInt1TypeInContext(ctx);
    g->i8 = LLVMInt8TypeInContext(ctx);
    g->i16 = LLVMInt16TypeInContext(ctx);
    g->i32 = LLVMInt32TypeInContext(ctx);
    g->i64 = LLVMInt64TypeInContext(ctx);
    g->f16 = LLVMHalfTypeInContext(ctx);
    g->f32 = LLVMFloatTypeInContext(ctx);
    g->f64 = LLVMDoubleTypeInContext(ctx);
    g->ptr = LLVMPointerTypeInContext(ctx, 0);
    g->nothing = LLVMVoidTypeInContext(ctx);
}

void tc_cg_done(tc_cg *g) {
    LLVMDisposeBuilder(g->b);
}

tc_val tc_cg_fail(tc_cg *g, const char *fmt, ...) {
    if (g->status != TC_OK)
        return NULL;
    va_list ap;
    va_start(ap, fmt);
    g->status = tc_vfail(g->err, TC_ILLEGAL, fmt, ap);
    va_end(ap);
    tc_error_prefix(g->err, "%s: ", g->k && g->k->f->name ? g->k->f->name : g->symbol);
    return NULL;
}

/* ---- types and constants ---- */

LLVMTypeRef tc_cg_vec(LLVMTypeRef elem, int lanes) {
    return lanes == 1 ? elem : LLVMVectorType(elem, (unsigned)lanes);
}

LLVMTypeRef tc_cg_mem_type(tc_cg *g, tc_dtype t) {
    int bytes = tc_dtype_bytes(t);
    if (t == TC_F32 || t == TC_F64)
        return t == TC_F32 ? g->f32 : g->f64;
    return bytes == 1 ? g->i8 : bytes == 2 ? g->i16 : bytes == 4 ? g->i32 : g->i64;
}

LLVMTypeRef tc_cg_val_type(tc_cg *g, tc_dtype t, int lanes) {
    LLVMTypeRef e = t == TC_BOOL ? g->i1 : tc_dtype_is_float(t) && t != TC_F64 ? g->f32 : tc_cg_mem_type(g, t);
    return tc_cg_vec(e, lanes);
}

int tc_cg_lanes(tc_val v) {
    LLVMTypeRef t = LLVMTypeOf(v);
    return LLVMGetTypeKind(t) == LLVMVectorTypeKind ? (int)LLVMGetVectorSize(t) : 1;
}

LLVMTypeRef tc_cg_like(tc_val v, LLVMTypeRef elem) {
    return tc_cg_vec(elem, tc_cg_lanes(v));
}

static tc_val const_splat(LLVMTypeRef type, tc_val scalar) {
    if (LLVMGetTypeKind(type) != LLVMVectorTypeKind)
        return scalar;
    unsigned n = LLVMGetVectorSize(type);
    tc_val *v = tc_xmalloc(n * sizeof *v);
    for (unsigned i = 0; i < n; i++)
        v[i] = scalar;
    tc_val out = LLVMConstVector(v, n);
    free(v);
    return out;
}

static LLVMTypeRef scalar_of(LLVMTypeRef type) {
    return LLVMGetTypeKind(type) == LLVMVectorTypeKind ? LLVMGetElementType(type) : type;
}

tc_val tc_cg_int(LLVMTypeRef type, int64_t v) {
    return const_splat(type, LLVMConstInt(scalar_of(type), (unsigned long long)v, 1));
}

tc_val tc_cg_real(LLVMTypeRef type, double v) {
    return const_splat(type, LLVMConstReal(scalar_of(type), v));
}

tc_val tc_cg_i64(tc_cg *g, int64_t v) {
    return LLVMConstInt(g->i64, (unsigned long long)v, 1);
}

tc_val tc_cg_iota(tc_cg *g, LLVMTypeRef elem, int lanes, int64_t step) {
    (void)g;
    if (lanes == 1)
        return LLVMConstInt(elem, 0, 0);
    tc_val *v = tc_xmalloc((size_t)lanes * sizeof *v);
    for (int i = 0; i < lanes; i++)
        v[i] = LLVMConstInt(elem, (unsigned long long)(i * step), 1);
    tc_val out = LLVMConstVector(v, (unsigned)lanes);
    free(v);
    return out;
}

tc_val tc_cg_splat(tc_cg *g, tc_val scalar, int lanes) {
    if (lanes == 1)
        return scalar;
    LLVMTypeRef vt = LLVMVectorType(LLVMTypeOf(scalar), (unsigned)lanes);
    if (LLVMIsConstant(scalar) && !LLVMIsUndef(scalar))
        return const_splat(vt, scalar);
    tc_val one = LLVMBuildInsertElement(g->b, LLVMGetPoison(vt), scalar, LLVMConstInt(g->i64, 0, 0), "");
    tc_val zero = LLVMConstNull(LLVMVectorType(g->i32, (unsigned)lanes));
    return LLVMBuildShuffleVector(g->b, one, LLVMGetPoison(vt), zero, "");
}

tc_val tc_cg_resized(tc_cg *g, tc_val v, int lanes, tc_val rest) {
    enum { MOST = 128 };
    tc_val at[MOST];
    int have = tc_cg_lanes(v);
    if (have == lanes || lanes > MOST)
        return v;
    for (int l = 0; l < lanes; l++)
        at[l] = tc_cg_int(g->i32, TC_MIN(l, have));
    if (LLVMGetTypeKind(LLVMTypeOf(v)) != LLVMVectorTypeKind) {
        LLVMTypeRef one = LLVMVectorType(LLVMTypeOf(v), 1);
        v = LLVMBuildBitCast(g->b, v, one, "");
        rest = LLVMBuildBitCast(g->b, rest, one, "");
    }
    return LLVMBuildShuffleVector(g->b, v, rest, LLVMConstVector(at, (unsigned)lanes), "");
}

bool tc_cg_all_ones(tc_val mask) {
    return LLVMIsConstant(mask) && mask == LLVMConstAllOnes(LLVMTypeOf(mask));
}

/* ---- calls ---- */

tc_val tc_cg_intrinsic(tc_cg *g, const char *name, LLVMTypeRef *over, int nover, tc_val *args, int nargs) {
    unsigned id = LLVMLookupIntrinsicID(name, strlen(name));
    if (!id)
        return tc_cg_fail(g, "this LLVM has no intrinsic %s", name);
    tc_val fn = LLVMGetIntrinsicDeclaration(g->mod, id, over, (size_t)nover);
    LLVMTypeRef type = LLVMIntrinsicGetType(g->ctx, id, over, (size_t)nover);
    return LLVMBuildCall2(g->b, type, fn, args, (unsigned)nargs, "");
}

tc_val tc_cg_intr1(tc_cg *g, const char *name, tc_val a) {
    LLVMTypeRef t = LLVMTypeOf(a);
    return tc_cg_intrinsic(g, name, &t, 1, &a, 1);
}

tc_val tc_cg_intr2(tc_cg *g, const char *name, tc_val a, tc_val b) {
    LLVMTypeRef t = LLVMTypeOf(a);
    tc_val args[] = {a, b};
    return tc_cg_intrinsic(g, name, &t, 1, args, 2);
}

static tc_val c_function(tc_cg *g, const char *symbol, LLVMTypeRef type) {
    tc_val fn = LLVMGetNamedFunction(g->mod, symbol);
    if (fn)
        return fn;
    fn = LLVMAddFunction(g->mod, symbol, type);
    /* LLVM is not told what the function is: it would make powf(128, y) exp2f(7 * y), whose argument has been rounded. */
    static const char *const attrs[] = {"nounwind", "willreturn", "nobuiltin"};
    for (size_t i = 0; i < TC_LEN(attrs); i++) {
        unsigned kind = LLVMGetEnumAttributeKindForName(attrs[i], strlen(attrs[i]));
        LLVMAddAttributeAtIndex(fn, LLVMAttributeFunctionIndex, LLVMCreateEnumAttribute(g->ctx, kind, 0));
    }
    return fn;
}

tc_val tc_cg_call_lanes(tc_cg *g, const char *symbol, tc_val *args, int nargs) {
    int lanes = tc_cg_lanes(args[0]);
    LLVMTypeRef elem = scalar_of(LLVMTypeOf(args[0]));
    LLVMTypeRef params[3] = {elem, elem, elem};
    LLVMTypeRef type = LLVMFunctionType(elem, params, (unsigned)nargs, 0);
    tc_val fn = c_function(g, symbol, type);
    if (lanes == 1)
        return LLVMBuildCall2(g->b, type, fn, args, (unsigned)nargs, "");
    tc_val out = LLVMGetPoison(LLVMTypeOf(args[0]));
    for (int i = 0; i < lanes; i++) {
        tc_val lane = LLVMConstInt(g->i64, (unsigned long long)i, 0), a[3];
        for (int k = 0; k < nargs; k++)
            a[k] = LLVMBuildExtractElement(g->b, args[k], lane, "");
        tc_val r = LLVMBuildCall2(g->b, type, fn, a, (unsigned)nargs, "");
        out = LLVMBuildInsertElement(g->b, out, r, lane, "");
    }
    return out;
}

tc_val tc_cg_alloca(tc_cg *g, LLVMTypeRef type, int64_t count, int align, const char *name) {
    LLVMBasicBlockRef here = LLVMGetInsertBlock(g->b);
    tc_val first = LLVMGetFirstInstruction(g->entry);
    if (first)
        LLVMPositionBuilderBefore(g->b, first);
    else
        LLVMPositionBuilderAtEnd(g->b, g->entry);
    LLVMTypeRef t = count == 1 ? type : LLVMArrayType2(type, (uint64_t)count);
    tc_val a = LLVMBuildAlloca(g->b, t, name);
    LLVMSetAlignment(a, (unsigned)align);
    LLVMPositionBuilderAtEnd(g->b, here);
    return a;
}

/* ---- predicates ---- */

tc_val tc_cg_any_lane(tc_cg *g, tc_val mask) {
    if (tc_cg_lanes(mask) == 1)
        return mask;
    LLVMTypeRef t = LLVMTypeOf(mask);
    return tc_cg_intrinsic(g, "llvm.vector.reduce.or", &t, 1, &mask, 1);
}
