/* Lowered kernels as C17. A vector is a loop over its lanes, in which every node is written as the scalar at lane `l`; compilers
 * make vectors of it again. What is read, computed and rounded is what the machine code does; only the rare functions come from
 * libm. */
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "codegen/code/c_source.h"
#include "support/map.h"
#include "support/vec.h"

enum { HAS_LOAD = 1, HAS_DIVISION = 2, KNOWN = 4 }; /* facts of a node and all under it */
enum { SEEN = 1, TWICE = 2, ALWAYS = 4 };           /* how a statement uses a node */

typedef struct writer {
    tc_strbuf *b;
    const tc_func *f;
    const char *thread; /* the pointer to the thread's workspace here */
    int nthreads, indent, regions;
    tc_map facts;                  /* of nodes, by id */
    tc_map use;                    /* of nodes in this statement, by id */
    TC_VEC(const tc_expr *) order; /* of them, operands first */
    tc_status status;
    tc_error *err;
} writer;

static void text(writer *w, const char *fmt, ...) TC_PRINTF(2, 3);
static void text(writer *w, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    tc_sb_vprintf(w->b, fmt, ap);
    va_end(ap);
}

static void line(writer *w, const char *fmt, ...) TC_PRINTF(2, 3);
static void line(writer *w, const char *fmt, ...) {
    va_list ap;
    for (int i = 0; i < w->indent; i++)
        tc_sb_add(w->b, "    ");
    va_start(ap, fmt);
    tc_sb_vprintf(w->b, fmt, ap);
    va_end(ap);
}

static void fail(writer *w, const char *what) {
    if (w->status == TC_OK)
        w->status = tc_fail(w->err, TC_ILLEGAL, "kernel '%s': no C for %s", w->f->name, what);
}

/* ---- the prelude ---- */

static const char prelude[] =
    "#include <math.h>\n#include <stdint.h>\n#include <string.h>\n#ifdef _OPENMP\nextern int omp_get_thread_num(void);\n"
    "#define TC_THREAD omp_get_thread_num()\n#else\n#define TC_THREAD 0\n#endif\n"
    "#if defined(__GNUC__)\n#define TC_ALIAS __attribute__((may_alias))\n#define TC_FN static inline __attribute__((unused))\n"
    "#else\n#define TC_ALIAS\n#define TC_FN static inline\n#endif\n"
    "#if defined(__GNUC__) && !defined(__clang__)\n#pragma GCC diagnostic ignored \"-Wmaybe-uninitialized\"\n#endif\n\n"
    "/* Memory is reused for values of different types. bool is a byte; 16-bit floats are computed with as f32 and rounded. */\n"
    "typedef uint8_t TC_ALIAS tc_bool;\ntypedef int8_t TC_ALIAS tc_i8;\ntypedef uint8_t TC_ALIAS tc_u8;\n"
    "typedef int16_t TC_ALIAS tc_i16;\ntypedef uint16_t TC_ALIAS tc_u16;\ntypedef int32_t TC_ALIAS tc_i32;\n"
    "typedef uint32_t TC_ALIAS tc_u32;\ntypedef int64_t TC_ALIAS tc_i64;\ntypedef uint64_t TC_ALIAS tc_u64;\n"
    "typedef uint16_t TC_ALIAS tc_f16;\ntypedef uint16_t TC_ALIAS tc_bf16;\ntypedef float TC_ALIAS tc_f32;\n"
    "typedef double TC_ALIAS tc_f64;\n\n"
    "TC_FN uint32_t tc_bits(float f) { uint32_t u; memcpy(&u, &f, 4); return u; }\n"
    "TC_FN float tc_of(uint32_t u) { float f; memcpy(&f, &u, 4); return f; }\n"
    "TC_FN float tc_from_bf16(uint16_t h) { return tc_of((uint32_t)h << 16); }\n"
    "TC_FN uint16_t tc_to_bf16(float f) {\n    uint32_t u = tc_bits(f);\n"
    "    return (u & 0x7fffffffu) > 0x7f800000u ? (uint16_t)(u >> 16 | 0x40) : (uint16_t)((u + 0x7fff + ((u >> 16) & 1)) >> "
    "16);\n}\n"
    "TC_FN float tc_from_f16(uint16_t h) {\n    uint32_t s = (uint32_t)(h & 0x8000) << 16, e = (h >> 10) & 31, m = h & 0x3ff;\n"
    "    if (e == 31)\n        return tc_of(s | 0x7f800000 | m << 13);\n    if (e)\n        return tc_of(s | (e + 112) << 23 | m "
    "<< 13);\n"
    "    return tc_of(s | tc_bits((float)m * 0x1p-24f));\n}\n"
    "TC_FN uint16_t tc_to_f16(float f) {\n    uint32_t u = tc_bits(f), s = (u >> 16) & 0x8000, a = u & 0x7fffffff;\n"
    "    if (a > 0x7f800000)\n        return (uint16_t)(s | 0x7e00 | ((u >> 13) & 0x1ff));\n"
    "    if (a >= 0x477ff000)\n        return (uint16_t)(s | 0x7c00);\n"
    "    if (a < 0x38800000)\n        return (uint16_t)(s | (tc_bits(tc_of(a) + 0.5f) - 0x3f000000));\n"
    "    return (uint16_t)(s | ((a - 0x38000000 + 0xfff + ((a >> 13) & 1)) >> 13));\n}\n"
    "TC_FN float tc_round_f16(float f) { return tc_from_f16(tc_to_f16(f)); }\n"
    "TC_FN float tc_round_bf16(float f) { return tc_from_bf16(tc_to_bf16(f)); }\n"
    "TC_FN int64_t tc_div(int64_t a, int64_t b) { int64_t q = a / b; return q - ((a % b != 0) && ((a < 0) != (b < 0))); }\n"
    "TC_FN int64_t tc_mod(int64_t a, int64_t b) { int64_t r = a % b; return r != 0 && ((r < 0) != (b < 0)) ? r + b : r; }\n"
    "TC_FN int64_t tc_min_i(int64_t a, int64_t b) { return a < b ? a : b; }\n"
    "TC_FN int64_t tc_max_i(int64_t a, int64_t b) { return a > b ? a : b; }\n"
    "TC_FN uint64_t tc_min_u(uint64_t a, uint64_t b) { return a < b ? a : b; }\n"
    "TC_FN uint64_t tc_max_u(uint64_t a, uint64_t b) { return a > b ? a : b; }\n"
    "TC_FN int64_t tc_abs(int64_t a) { return a < 0 ? (int64_t)(0 - (uint64_t)a) : a; }\n"
    "TC_FN uint64_t tc_pow_u(uint64_t a, uint64_t n) {\n    uint64_t r = 1;\n    for (; n; n >>= 1, a *= a)\n"
    "        r = n & 1 ? r * a : r;\n    return r;\n}\n"
    "TC_FN int64_t tc_pow_i(int64_t a, int64_t n) {\n"
    "    return n >= 0 ? (int64_t)tc_pow_u((uint64_t)a, (uint64_t)n) : a == 1 ? 1 : a == -1 ? (n % 2 ? -1 : 1) : 0;\n}\n"
    "TC_FN float tc_minf(float a, float b) { return a != a ? a : a < b ? a : b; }\n"
    "TC_FN float tc_maxf(float a, float b) { return a != a ? a : a > b ? a : b; }\n"
    "TC_FN double tc_min(double a, double b) { return a != a ? a : a < b ? a : b; }\n"
    "TC_FN double tc_max(double a, double b) { return a != a ? a : a > b ? a : b; }\n"
    "TC_FN float tc_sigmoidf(float x) { return 1.0f / (1.0f + expf(-x)); }\n"
    "TC_FN double tc_sigmoid(double x) { return 1.0 / (1.0 + exp(-x)); }\n"
    "TC_FN float tc_rsqrtf(float x) { return 1.0f / sqrtf(x); }\n"
    "TC_FN double tc_rsqrt(double x) { return 1.0 / sqrt(x); }\n"
    "/* Truncates, saturates, and makes 0 of what is not a number. */\n"
    "TC_FN int64_t tc_to_i(double x, int64_t low, int64_t high) {\n"
    "    return x != x ? 0 : x <= (double)low ? low : x >= (double)high ? high : (int64_t)x;\n}\n"
    "TC_FN uint64_t tc_to_u(double x, uint64_t high) {\n"
    "    return !(x > 0) ? 0 : x >= (double)high ? high : (uint64_t)x;\n}\n\n";

void tc_cg_c_prelude(tc_strbuf *b) {
    tc_sb_add(b, prelude);
}

/* ---- names and types ---- */

/* Of a value: 16-bit floats are f32, bool is int. */
static const char *value_type(tc_dtype t) {
    static const char *const names[TC_NDTYPES] = {"int",     "int8_t",   "uint8_t", "int16_t", "uint16_t", "int32_t", "uint32_t",
                                                  "int64_t", "uint64_t", "float",   "float",   "float",    "double"};
    return names[t];
}

static void name(writer *w, const char *s, uint32_t id) {
    for (size_t i = 0; s && s[i] && i < 40; i++) {
        char c = s[i];
        bool ok = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9' && i > 0) || c == '_';
        tc_sb_addc(w->b, ok ? c : '_');
    }
    text(w, "_%" PRIu32, id);
}

static void buffer(writer *w, const tc_buffer *b) {
    name(w, b->name, b->id);
}

/* ---- facts ---- */

static unsigned facts(writer *w, const tc_expr *e) {
    const uintptr_t *known = tc_map_get(&w->facts, e->id);
    if (known)
        return (unsigned)*known;
    bool divides = (e->op == TC_OP_DIV || e->op == TC_OP_MOD || e->op == TC_OP_TDIV || e->op == TC_OP_TMOD) &&
                   !tc_dtype_is_float((tc_dtype)e->dtype);
    unsigned all = KNOWN | (e->op == TC_OP_LOAD ? HAS_LOAD : 0u) | (divides ? HAS_DIVISION : 0u);
    for (int i = 0; i < e->nargs; i++)
        all |= facts(w, e->args[i]);
    tc_map_put(&w->facts, e->id, all);
    return all;
}

/* ---- expressions ---- */

static void expr(writer *w, const tc_expr *e, const char *lane);

static void integer(writer *w, tc_dtype t, int64_t v) {
    if (v == INT64_MIN)
        text(w, "INT64_MIN");
    else if (t == TC_U64)
        text(w, "UINT64_C(%" PRIu64 ")", (uint64_t)v);
    else if (v > INT32_MAX || v <= INT32_MIN)
        text(w, v < 0 ? "(-INT64_C(%" PRId64 "))" : "INT64_C(%" PRId64 ")", v < 0 ? -v : v);
    else
        text(w, v < 0 ? "(%" PRId64 ")" : "%" PRId64, v);
}

static void real(writer *w, tc_dtype t, double v) {
    const char *f = t == TC_F64 ? "" : "f";
    if (isnan(v))
        text(w, "((%s)NAN)", value_type(t));
    else if (isinf(v))
        text(w, "(%s(%s)INFINITY)", v < 0 ? "-" : "", value_type(t));
    else
        text(w, "(%a%s)", v, f);
}

/* CALL(a, b, ...) of e's operands, the outside given as text. */
static void call(writer *w, const char *before, const tc_expr *e, const char *lane) {
    text(w, "%s(", before);
    for (int i = 0; i < e->nargs; i++) {
        text(w, "%s", i ? ", " : "");
        expr(w, e->args[i], lane);
    }
    text(w, ")");
}

static void infix(writer *w, const tc_expr *e, const char *op, const char *lane) {
    text(w, "(");
    expr(w, e->args[0], lane);
    text(w, " %s ", op);
    expr(w, e->args[1], lane);
    text(w, ")");
}

/* Integers wrap, which C promises for unsigned ones only. */
static void wrapping(writer *w, const tc_expr *e, const char *op, const char *lane) {
    tc_dtype t = (tc_dtype)e->dtype;
    if (t == TC_I64 && !(facts(w, e) & HAS_LOAD)) { /* an index: in bounds by proof */
        infix(w, e, op, lane);
        return;
    }
    const char *u = tc_dtype_bytes(t) == 8 ? "uint64_t" : "uint32_t";
    text(w, "(%s)((%s)", value_type(t), u);
    expr(w, e->args[0], lane);
    text(w, " %s (%s)", op, u);
    expr(w, e->args[1], lane);
    text(w, ")");
}

static void from_memory(writer *w, tc_dtype t, const tc_buffer *b, const tc_expr *index, const char *lane) {
    text(w, "%s", t == TC_F16 ? "tc_from_f16(" : t == TC_BF16 ? "tc_from_bf16(" : t == TC_BOOL ? "(" : "");
    buffer(w, b);
    text(w, "[");
    expr(w, index, lane);
    text(w, "]%s", t == TC_BOOL ? " != 0)" : t == TC_F16 || t == TC_BF16 ? ")" : "");
}

static void load(writer *w, const tc_expr *e, const char *lane) {
    tc_dtype t = (tc_dtype)e->dtype;
    if (e->u.buffer->dtype != t)
        fail(w, "a load of another type than its buffer's");
    if (e->nargs > 1) {
        text(w, "(");
        expr(w, e->args[1], e->args[1]->lanes > 1 ? lane : "0");
        text(w, " ? ");
    }
    from_memory(w, t, e->u.buffer, e->args[0], lane);
    if (e->nargs > 1)
        text(w, " : 0)");
}

static void int_binary(writer *w, const tc_expr *e, const char *lane) {
    tc_dtype t = (tc_dtype)e->dtype;
    bool s = tc_dtype_is_signed(t), b = t == TC_BOOL;
    char before[48];
    const char *f = NULL;
    switch (e->op) {
    case TC_OP_ADD:
        wrapping(w, e, "+", lane);
        return;
    case TC_OP_SUB:
        wrapping(w, e, "-", lane);
        return;
    case TC_OP_MUL:
        wrapping(w, e, "*", lane);
        return;
    case TC_OP_SHL:
        wrapping(w, e, "<<", lane);
        return;
    case TC_OP_SHR:
        infix(w, e, ">>", lane);
        return;
    case TC_OP_BAND:
        infix(w, e, "&", lane);
        return;
    case TC_OP_BOR:
        infix(w, e, "|", lane);
        return;
    case TC_OP_BXOR:
        infix(w, e, "^", lane);
        return;
    case TC_OP_TDIV:
        infix(w, e, "/", lane);
        return;
    case TC_OP_TMOD:
        infix(w, e, "%", lane);
        return;
    case TC_OP_DIV:
        f = s ? "tc_div" : NULL;
        break;
    case TC_OP_MOD:
        f = s ? "tc_mod" : NULL;
        break;
    case TC_OP_MIN:
        f = b ? NULL : s ? "tc_min_i" : "tc_min_u";
        break;
    case TC_OP_MAX:
        f = b ? NULL : s ? "tc_max_i" : "tc_max_u";
        break;
    case TC_OP_POW:
        f = s ? "tc_pow_i" : "tc_pow_u";
        break;
    default:
        fail(w, tc_op_text(e->op));
        return;
    }
    if (!f) {
        infix(w, e, e->op == TC_OP_DIV ? "/" : e->op == TC_OP_MOD ? "%" : e->op == TC_OP_MIN ? "&" : "|", lane);
        return;
    }
    snprintf(before, sizeof before, "(%s)%s", value_type(t), f);
    call(w, before, e, lane);
}

static void float_binary(writer *w, const tc_expr *e, const char *lane) {
    const char *f = e->dtype == TC_F64 ? "" : "f";
    char before[32];
    switch (e->op) {
    case TC_OP_ADD:
        infix(w, e, "+", lane);
        return;
    case TC_OP_SUB:
        infix(w, e, "-", lane);
        return;
    case TC_OP_MUL:
        infix(w, e, "*", lane);
        return;
    case TC_OP_DIV:
    case TC_OP_TDIV:
        infix(w, e, "/", lane);
        return;
    case TC_OP_MOD:
    case TC_OP_TMOD:
        snprintf(before, sizeof before, "fmod%s", f);
        break;
    case TC_OP_MIN:
        snprintf(before, sizeof before, "tc_min%s", f);
        break;
    case TC_OP_MAX:
        snprintf(before, sizeof before, "tc_max%s", f);
        break;
    case TC_OP_POW:
        snprintf(before, sizeof before, "pow%s", f);
        break;
    default:
        fail(w, tc_op_text(e->op));
        return;
    }
    call(w, before, e, lane);
}

static void float_unary(writer *w, const tc_expr *e, const char *lane) {
    bool ours = e->op == TC_OP_RSQRT || e->op == TC_OP_SIGMOID;
    const char *n = e->op == TC_OP_ABS ? "fabs" : e->op == TC_OP_ROUND ? "rint" : tc_op_text(e->op);
    char before[32];
    snprintf(before, sizeof before, "%s%s%s", ours ? "tc_" : "", n, e->dtype == TC_F64 ? "" : "f");
    call(w, before, e, lane);
}

static void int_unary(writer *w, const tc_expr *e, const char *lane) {
    tc_dtype t = (tc_dtype)e->dtype;
    char before[32];
    if (e->op == TC_OP_ABS && tc_dtype_is_signed(t)) {
        snprintf(before, sizeof before, "(%s)tc_abs", value_type(t));
        call(w, before, e, lane);
    } else if (e->op == TC_OP_NOT) {
        call(w, "(!", e, lane);
        text(w, ")");
    } else {
        expr(w, e->args[0], lane); /* already whole */
    }
}

static void arithmetic(writer *w, const tc_expr *e, const char *lane) {
    tc_dtype t = (tc_dtype)e->dtype;
    const char *round = t == TC_F16 ? "tc_round_f16(" : t == TC_BF16 ? "tc_round_bf16(" : "";
    text(w, "%s", round);
    if (tc_dtype_is_float(t) && e->op == TC_OP_FMA)
        call(w, t == TC_F64 ? "fma" : "fmaf", e, lane);
    else if (tc_dtype_is_float(t))
        e->nargs > 1 ? float_binary(w, e, lane) : float_unary(w, e, lane);
    else
        e->nargs > 1 ? int_binary(w, e, lane) : int_unary(w, e, lane);
    text(w, "%s", *round ? ")" : "");
}

static void int_fma(writer *w, const tc_expr *e, const char *lane) {
    const char *u = tc_dtype_bytes((tc_dtype)e->dtype) == 8 ? "uint64_t" : "uint32_t";
    static const char *const between[] = {"", " * ", " + "};
    text(w, "(%s)(", value_type((tc_dtype)e->dtype));
    for (int i = 0; i < 3; i++) {
        text(w, "%s(%s)", between[i], u);
        expr(w, e->args[i], lane);
    }
    text(w, ")");
}

static void product(writer *w, const tc_expr *e, int q, const char *lane, const char *between) {
    char a[32], b[64];
    snprintf(a, sizeof a, "%d", q);
    snprintf(b, sizeof b, "(%d * %s + %d)", e->args[1]->lanes, lane, q);
    expr(w, e->args[1], a);
    text(w, "%s", between);
    expr(w, e->args[2], b);
}

/* acc + a[0] * b[g * lane] + a[1] * b[g * lane + 1] ..., in this order. */
static void dot(writer *w, const tc_expr *e, const char *lane) {
    int group = e->args[1]->lanes;
    if (e->dtype != TC_F32) {
        text(w, "(int32_t)((uint32_t)");
        expr(w, e->args[0], lane);
        for (int q = 0; q < group; q++) {
            text(w, " + (uint32_t)(");
            product(w, e, q, lane, " * ");
            text(w, ")");
        }
        text(w, ")");
        return;
    }
    for (int q = group; q-- > 0;) { /* the outermost call is the last of the sum */
        text(w, "fmaf(");
        product(w, e, q, lane, ", ");
        text(w, ", ");
    }
    expr(w, e->args[0], lane);
    for (int q = 0; q < group; q++)
        text(w, ")");
}

static void float_to_int(writer *w, const tc_expr *e, tc_dtype t, const char *lane) {
    int bits = 8 * tc_dtype_bytes(t);
    text(w, "(%s)tc_to_%s((double)", value_type(t), tc_dtype_is_signed(t) ? "i" : "u");
    expr(w, e->args[0], lane);
    text(w, tc_dtype_is_signed(t) ? ", INT%d_MIN, INT%d_MAX)" : ", UINT%d_MAX)", bits, bits);
}

static void cast(writer *w, const tc_expr *e, const char *lane) {
    tc_dtype t = (tc_dtype)e->dtype, from = (tc_dtype)e->args[0]->dtype;
    const char *round = t == TC_F16 ? "tc_round_f16(" : t == TC_BF16 ? "tc_round_bf16(" : "(";
    if (t == TC_BOOL) {
        text(w, "(");
        expr(w, e->args[0], lane);
        text(w, " != 0)");
    } else if (tc_dtype_is_float(from) && !tc_dtype_is_float(t)) {
        float_to_int(w, e, t, lane);
    } else {
        text(w, "%s(%s)", round, value_type(t));
        expr(w, e->args[0], lane);
        text(w, ")");
    }
}

static void compare(writer *w, const tc_expr *e, const char *lane) {
    if (e->op != TC_OP_ISNAN && e->op != TC_OP_ISINF) {
        infix(w, e, tc_op_text(e->op), lane);
        return;
    }
    if (!tc_dtype_is_float((tc_dtype)e->args[0]->dtype)) {
        text(w, "0");
        return;
    }
    call(w, e->op == TC_OP_ISNAN ? "(0 != isnan" : "(0 != isinf", e, lane);
    text(w, ")");
}

static void node(writer *w, const tc_expr *e, const char *lane) {
    switch (e->op) {
    case TC_OP_INT:
        integer(w, (tc_dtype)e->dtype, e->u.i);
        return;
    case TC_OP_FLOAT:
        real(w, (tc_dtype)e->dtype, e->u.f);
        return;
    case TC_OP_VAR:
        name(w, e->u.var->name, e->u.var->id);
        return;
    case TC_OP_READ:
        fail(w, "a read of a tensor");
        return;
    case TC_OP_LOAD:
        load(w, e, lane);
        return;
    case TC_OP_RAMP:
        text(w, "(");
        expr(w, e->args[0], "0");
        text(w, " + %s * ", lane);
        expr(w, e->args[1], "0");
        text(w, ")");
        return;
    case TC_OP_BCAST:
        expr(w, e->args[0], "0");
        return;
    case TC_OP_DOT:
        dot(w, e, lane);
        return;
    case TC_OP_SELECT:
        text(w, "(");
        expr(w, e->args[0], lane);
        text(w, " ? ");
        expr(w, e->args[1], lane);
        text(w, " : ");
        expr(w, e->args[2], lane);
        text(w, ")");
        return;
    case TC_OP_CAST:
        cast(w, e, lane);
        return;
    case TC_OP_AND:
        infix(w, e, "&&", lane);
        return;
    case TC_OP_OR:
        infix(w, e, "||", lane);
        return;
    case TC_OP_FMA:
        if (tc_dtype_is_float((tc_dtype)e->dtype))
            arithmetic(w, e, lane);
        else
            int_fma(w, e, lane);
        return;
    default:
        if (tc_op_traits(e->op) & TC_COMPARE)
            compare(w, e, lane);
        else
            arithmetic(w, e, lane);
    }
}

/* ---- values used twice ---- */

static bool has_name(writer *w, const tc_expr *e) {
    const uintptr_t *u = tc_map_get(&w->use, e->id);
    bool safe = !(facts(w, e) & (HAS_LOAD | HAS_DIVISION));
    return u && (*u & TWICE) && ((*u & ALWAYS) || safe) && e->op != TC_OP_BCAST && e->op != TC_OP_RAMP;
}

static void expr(writer *w, const tc_expr *e, const char *lane) {
    bool here = e->lanes == 1 || strcmp(lane, "l") == 0; /* of others there is one value per lane */
    if (e->nargs && here && has_name(w, e))
        text(w, "t%" PRIu32, e->id);
    else
        node(w, e, lane);
}

/* Notes what a statement computes. always: whether it does so for every lane, so that it may be computed ahead. */
static void note(writer *w, const tc_expr *e, bool always) {
    if (!e->nargs)
        return;
    uintptr_t *known = tc_map_get(&w->use, e->id), now = SEEN | (always ? ALWAYS : 0u);
    if (known) {
        bool more = always && !(*known & ALWAYS);
        *known |= TWICE | now;
        if (!more)
            return;
    } else {
        tc_map_put(&w->use, e->id, now);
    }
    int n = e->op == TC_OP_DOT ? 1 : e->nargs; /* its other operands are read at other lanes */
    for (int i = 0; i < n; i++)
        note(w, e->args[i], always && !(e->op == TC_OP_SELECT && i > 0) && !(e->op == TC_OP_LOAD && e->nargs > 1 && i == 0));
    if (!known)
        tc_push(&w->order, e);
}

static void name_values(writer *w, const char *lane) {
    for (size_t i = 0; i < w->order.len; i++) {
        const tc_expr *e = w->order.data[i];
        if (!has_name(w, e))
            continue;
        line(w, "const %s t%" PRIu32 " = ", value_type((tc_dtype)e->dtype), e->id);
        node(w, e, e->lanes > 1 ? lane : "0");
        text(w, ";\n");
    }
}

static void forget(writer *w) {
    tc_map_free(&w->use);
    w->use = (tc_map){0};
    w->order.len = 0;
}

/* ---- statements ---- */

static void statement(writer *w, const tc_stmt *s);

static int64_t round64(int64_t n) {
    return (n + 63) / 64 * 64;
}

typedef struct other_reads {
    const tc_buffer *buffer;
    const tc_expr *index;
    bool found;
} other_reads;

static void find_reads(const tc_expr *e, void *user) {
    other_reads *o = user;
    if (e->op == TC_OP_LOAD && e->u.buffer == o->buffer && e->args[0] != o->index)
        o->found = true;
}

static void put(writer *w, const tc_stmt *s, const char *value) {
    const char *lane = s->u.store.index->lanes > 1 ? "l" : "0";
    const tc_buffer *b = s->u.store.buffer;
    const char *to = b->dtype == TC_F16 ? "tc_to_f16(" : b->dtype == TC_BF16 ? "tc_to_bf16(" : "(";
    line(w, "%s", "");
    if (s->u.store.mask) {
        text(w, "if (0 != ");
        expr(w, s->u.store.mask, lane);
        text(w, ") ");
    }
    buffer(w, b);
    text(w, "[");
    expr(w, s->u.store.index, lane);
    text(w, "] = %s", b->dtype == TC_F16 || b->dtype == TC_BF16 ? to : "(");
    if (b->dtype == TC_BOOL)
        text(w, "0 != ");
    if (value)
        text(w, "%s", value);
    else
        expr(w, s->u.store.value, lane);
    text(w, ");\n");
}

static void open_lanes(writer *w, int lanes) {
    if (lanes > 1)
        line(w, "for (int64_t l = 0; l < %d; l++) {\n", lanes);
    else
        line(w, "{\n");
    w->indent++;
}

static void close_lanes(writer *w) {
    w->indent--;
    line(w, "}\n");
    forget(w);
}

/* A vector that is made of other places of the buffer it goes to is complete before any of it is stored. */
static void store(writer *w, const tc_stmt *s) {
    int lanes = s->u.store.index->lanes;
    bool masked = s->u.store.mask != NULL;
    const char *lane = lanes > 1 ? "l" : "0";
    other_reads o = {s->u.store.buffer, s->u.store.index, false};
    tc_expr_walk(s->u.store.value, find_reads, &o);
    bool apart = o.found && lanes > 1;
    if (masked)
        note(w, s->u.store.mask, true);
    note(w, s->u.store.value, !masked);
    if (!apart)
        note(w, s->u.store.index, !masked);
    if (apart) {
        line(w, "{\n");
        w->indent++;
        line(w, "%s all[%d];\n", value_type(s->u.store.buffer->dtype), lanes);
    }
    open_lanes(w, lanes);
    name_values(w, lane);
    if (apart) {
        line(w, "all[l] = ");
        if (masked) {
            expr(w, s->u.store.mask, lane);
            text(w, " ? ");
        }
        expr(w, s->u.store.value, lane);
        text(w, masked ? " : 0;\n" : ";\n");
        close_lanes(w);
        open_lanes(w, lanes);
    }
    put(w, s, apart ? "all[l]" : NULL);
    close_lanes(w);
    if (apart) {
        w->indent--;
        line(w, "}\n");
    }
}

static void scalar(writer *w, const tc_expr *e) {
    forget(w);
    expr(w, e, "0");
}

static void loop(writer *w, const tc_stmt *s) {
    const tc_var *v = s->u.loop.var;
    const char *outer = w->thread;
    char inner[32];
    bool parallel = s->u.loop.kind == TC_FOR_PARALLEL;
    if (s->u.loop.kind != TC_FOR_SERIAL && !parallel) {
        fail(w, "a loop that is still to be unrolled");
        return;
    }
    if (parallel && w->nthreads > 1)
        text(w, "#ifdef _OPENMP\n#pragma omp parallel for schedule(static) num_threads(%d)\n#endif\n", w->nthreads);
    line(w, "for (int64_t ");
    name(w, v->name, v->id);
    text(w, " = 0; ");
    name(w, v->name, v->id);
    text(w, " < ");
    scalar(w, s->u.loop.extent);
    text(w, "; ");
    name(w, v->name, v->id);
    text(w, "++) {\n");
    w->indent++;
    if (parallel) {
        snprintf(inner, sizeof inner, "thread%d", ++w->regions);
        line(w, "uint8_t *const %s = thread0 + (int64_t)TC_THREAD * %" PRId64 ";\n", inner,
             w->nthreads > 1 ? round64(w->f->thread_bytes) : (int64_t)0);
        line(w, "(void)%s;\n", inner);
        w->thread = inner;
    }
    statement(w, s->u.loop.body);
    w->thread = outer;
    w->indent--;
    line(w, "}\n");
}

static void alloc(writer *w, const tc_stmt *s) {
    const tc_buffer *b = s->u.alloc.buffer;
    int64_t at = -1;
    for (int i = 0; i < w->f->nplace; i++)
        if (w->f->place[i].buffer == b)
            at = w->f->place[i].offset;
    line(w, "{\n");
    w->indent++;
    if (b->scope == TC_BUF_STACK || b->scope == TC_BUF_REG) {
        line(w, "_Alignas(64) tc_%s ", tc_dtype_name(b->dtype));
        buffer(w, b);
        text(w, "[%" PRId64 "];\n", b->size);
    } else if (at < 0) {
        fail(w, "a buffer that has no place in the workspace");
    } else {
        line(w, "tc_%s *const ", tc_dtype_name(b->dtype));
        buffer(w, b);
        text(w, " = (tc_%s *)(void *)(%s + %" PRId64 ");\n", tc_dtype_name(b->dtype),
             b->scope == TC_BUF_SHARED ? "shared" : w->thread, at);
    }
    statement(w, s->u.alloc.body);
    w->indent--;
    line(w, "}\n");
}

static void branch(writer *w, const tc_stmt *s) {
    line(w, "if (0 != ");
    scalar(w, s->u.cond.cond);
    text(w, ") {\n");
    w->indent++;
    if (s->u.cond.then)
        statement(w, s->u.cond.then);
    w->indent--;
    if (s->u.cond.otherwise) {
        line(w, "} else {\n");
        w->indent++;
        statement(w, s->u.cond.otherwise);
        w->indent--;
    }
    line(w, "}\n");
}

static void statement(writer *w, const tc_stmt *s) {
    if (w->status != TC_OK)
        return;
    switch (s->kind) {
    case TC_STMT_SEQ:
        for (int i = 0; i < s->u.seq.n; i++)
            statement(w, s->u.seq.s[i]);
        return;
    case TC_STMT_FOR:
        loop(w, s);
        return;
    case TC_STMT_IF:
        branch(w, s);
        return;
    case TC_STMT_STORE:
        store(w, s);
        return;
    case TC_STMT_ALLOC:
        alloc(w, s);
        return;
    case TC_STMT_PREFETCH: /* a hint only */
    case TC_NSTMTS:
        return;
    }
}

/* ---- functions ---- */

static void open_function(writer *w, const char *symbol) {
    text(w, "static void %s(", symbol);
    for (int i = 0; i < w->f->nparam; i++)
        text(w, "%svoid *a%d, ", w->f->params[i].kind == TC_PARAM_OUT ? "" : "const ", i);
    text(w, "uint8_t *workspace) {\n");
    w->indent = 1;
    for (int i = 0; i < w->f->nparam; i++) {
        const tc_param *p = &w->f->params[i];
        line(w, "%stc_%s *%sconst ", p->kind == TC_PARAM_OUT ? "" : "const ", tc_dtype_name(p->buffer->dtype),
             p->overlaps ? "" : "restrict ");
        buffer(w, p->buffer);
        text(w, " = a%d;\n", i);
        line(w, "(void)");
        buffer(w, p->buffer);
        text(w, ";\n");
    }
    line(w, "uint8_t *const shared = workspace, *const thread0 = workspace + %" PRId64 ";\n", round64(w->f->shared_bytes));
    line(w, "(void)shared, (void)thread0;\n");
}

tc_status tc_cg_emit_c(const tc_func *f, const char *symbol, int nthreads, tc_strbuf *b, tc_error *err) {
    writer w = {.b = b, .f = f, .thread = "thread0", .nthreads = nthreads, .err = err};
    open_function(&w, symbol);
    statement(&w, f->body);
    text(&w, "}\n\n");
    tc_map_free(&w.facts);
    tc_map_free(&w.use);
    tc_vec_free(&w.order);
    return w.status;
}
