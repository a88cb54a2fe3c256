/* Expressions in C: the scalar at lane `lane` of each node. */
#include <assert.h>
#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "codegen/c_source/c_source_int.h"

static void integer(tc_cgc_writer *w, const tc_expr *e, const char *lane) {
    tc_dtype t = (tc_dtype)e->dtype;
    int64_t v = e->u.i;
    (void)lane;
    if (t == TC_U64)
        tc_cgc_text(w, "UINT64_C(%" PRIu64 ")", (uint64_t)v);
    else if (v == INT64_MIN)
        tc_cgc_text(w, "INT64_MIN");
    else if (v > INT32_MAX || v <= INT32_MIN)
        tc_cgc_text(w, v < 0 ? "(-INT64_C(%" PRId64 "))" : "INT64_C(%" PRId64 ")", v < 0 ? -v : v);
    else
        tc_cgc_text(w, v < 0 ? "(%" PRId64 ")" : "%" PRId64, v);
}

static void real(tc_cgc_writer *w, const tc_expr *e, const char *lane) {
    tc_dtype t = (tc_dtype)e->dtype;
    double v = e->u.f;
    const char *f = t == TC_F64 ? "" : "f";
    (void)lane;
    if (isnan(v))
        tc_cgc_text(w, "((%s)NAN)", tc_cgc_value_type(t));
    else if (isinf(v))
        tc_cgc_text(w, "(%s(%s)INFINITY)", v < 0 ? "-" : "", tc_cgc_value_type(t));
    else
        tc_cgc_text(w, "(%a%s)", v, f);
}

/* CALL(a, b, ...) of e's operands, the outside given as text. */
static void call(tc_cgc_writer *w, const char *before, const tc_expr *e, const char *lane) {
    tc_cgc_text(w, "%s(", before);
    for (int i = 0; i < e->nargs; i++) {
        tc_cgc_text(w, "%s", i ? ", " : "");
        tc_cgc_expr(w, e->args[i], lane);
    }
    tc_cgc_text(w, ")");
}

static void infix(tc_cgc_writer *w, const tc_expr *e, const char *op, const char *lane) {
    tc_cgc_text(w, "(");
    tc_cgc_expr(w, e->args[0], lane);
    tc_cgc_text(w, " %s ", op);
    tc_cgc_expr(w, e->args[1], lane);
    tc_cgc_text(w, ")");
}

/* Integers wrap, which C promises for unsigned ones only. */
static void wrapping(tc_cgc_writer *w, const tc_expr *e, const char *op, const char *lane) {
    tc_dtype t = (tc_dtype)e->dtype;
    if (t == TC_I64 && tc_te_stays_in_range(e, w->env)) {
        infix(w, e, op, lane);
        return;
    }
    const char *u = tc_dtype_bytes(t) == 8 ? "uint64_t" : "uint32_t";
    tc_cgc_text(w, "(%s)((%s)", tc_cgc_value_type(t), u);
    tc_cgc_expr(w, e->args[0], lane);
    tc_cgc_text(w, " %s (%s)", op, u);
    tc_cgc_expr(w, e->args[1], lane);
    tc_cgc_text(w, ")");
}

static void from_memory(tc_cgc_writer *w, tc_dtype t, const tc_buffer *b, const tc_expr *index, const char *lane) {
    if (tc_cgc_is_narrow(t))
        tc_cgc_text(w, "tc_from_%s", tc_dtype_name(t));
    tc_cgc_text(w, "%s", t == TC_BOOL || tc_cgc_is_narrow(t) ? "(" : "");
    tc_cgc_buffer(w, b);
    tc_cgc_text(w, "[");
    tc_cgc_expr(w, index, lane);
    tc_cgc_text(w, "]%s", t == TC_BOOL ? " != 0)" : tc_cgc_is_narrow(t) ? ")" : "");
}

static void load(tc_cgc_writer *w, const tc_expr *e, const char *lane) {
    tc_dtype t = (tc_dtype)e->dtype;
    if (e->u.buffer->dtype != t)
        tc_cgc_fail(w, "a load whose type differs from its buffer");
    if (e->nargs > 1) {
        tc_cgc_text(w, "(");
        tc_cgc_expr(w, e->args[1], e->args[1]->lanes > 1 ? lane : "0");
        tc_cgc_text(w, " ? ");
    }
    from_memory(w, t, e->u.buffer, e->args[0], lane);
    if (e->nargs > 1)
        tc_cgc_text(w, " : 0)");
}

/* How binary operations on integers are written, for signed and unsigned ones and for bool: an operator, or one of the prelude's
 * functions. */
static const struct {
    const char *is_signed, *is_unsigned, *is_bool;
    bool wraps;
} INT_BINARY[TC_NOPS] = {
    [TC_OP_ADD] = {"+", "+", "+", true},
    [TC_OP_SUB] = {"-", "-", "-", true},
    [TC_OP_MUL] = {"*", "*", "*", true},
    [TC_OP_SHL] = {"tc_shl", "tc_shl", "tc_shl", false},
    [TC_OP_SHR] = {"tc_shr_i", "tc_shr_u", "tc_shr_u", false},
    [TC_OP_BAND] = {"&", "&", "&", false},
    [TC_OP_BOR] = {"|", "|", "|", false},
    [TC_OP_BXOR] = {"^", "^", "^", false},
    [TC_OP_DIV] = {"tc_div", "tc_div_u", "tc_div_u", false},
    [TC_OP_MOD] = {"tc_mod", "tc_mod_u", "tc_mod_u", false},
    [TC_OP_TDIV] = {"tc_tdiv", "tc_div_u", "tc_div_u", false},
    [TC_OP_TMOD] = {"tc_tmod", "tc_mod_u", "tc_mod_u", false},
    [TC_OP_MIN] = {"tc_min_i", "tc_min_u", "&", false},
    [TC_OP_MAX] = {"tc_max_i", "tc_max_u", "|", false},
    [TC_OP_POW] = {"tc_pow_i", "tc_pow_u", "tc_pow_u", false},
};

/* Operations on floats: an operator, or a function of f64 (of f32 with an f behind its name). */
static const char *const FLOATS[TC_NOPS] = {
    [TC_OP_ADD] = "+",
    [TC_OP_SUB] = "-",
    [TC_OP_MUL] = "*",
    [TC_OP_DIV] = "/",
    [TC_OP_TDIV] = "/",
    [TC_OP_MOD] = "fmod",
    [TC_OP_TMOD] = "fmod",
    [TC_OP_MIN] = "tc_min",
    [TC_OP_MAX] = "tc_max",
    [TC_OP_POW] = "pow",
    [TC_OP_FMA] = "fma",
    [TC_OP_ABS] = "fabs",
    [TC_OP_SQRT] = "sqrt",
    [TC_OP_EXP] = "exp",
    [TC_OP_LOG] = "log",
    [TC_OP_TANH] = "tanh",
    [TC_OP_ERF] = "erf",
    [TC_OP_SIN] = "sin",
    [TC_OP_COS] = "cos",
    [TC_OP_TAN] = "tan",
    [TC_OP_ASIN] = "asin",
    [TC_OP_ACOS] = "acos",
    [TC_OP_ATAN] = "atan",
    [TC_OP_SINH] = "sinh",
    [TC_OP_COSH] = "cosh",
    [TC_OP_ASINH] = "asinh",
    [TC_OP_ACOSH] = "acosh",
    [TC_OP_ATANH] = "atanh",
    [TC_OP_EXPM1] = "expm1",
    [TC_OP_LOG1P] = "log1p",
    [TC_OP_NCDF] = "tc_ncdf",
    [TC_OP_FLOOR] = "floor",
    [TC_OP_CEIL] = "ceil",
    [TC_OP_ROUND] = "rint",
    [TC_OP_TRUNC] = "trunc",
    [TC_OP_RSQRT] = "tc_rsqrt",
    [TC_OP_SIGMOID] = "tc_sigmoid",
};

/* Functions that round the result of f64 in f32, too: C's own functions of f32 err by up to two units in the last place. */
static const bool BY_F64[TC_NOPS] = {[TC_OP_TANH] = true,  [TC_OP_SINH] = true,  [TC_OP_COSH] = true, [TC_OP_ASINH] = true,
                                     [TC_OP_ACOSH] = true, [TC_OP_ATANH] = true, [TC_OP_NCDF] = true};

static bool is_function(const char *text) {
    return isalpha((unsigned char)*text);
}

static void int_binary(tc_cgc_writer *w, const tc_expr *e, const char *lane) {
    tc_dtype t = (tc_dtype)e->dtype;
    const char *how = t == TC_BOOL            ? INT_BINARY[e->op].is_bool
                      : tc_dtype_is_signed(t) ? INT_BINARY[e->op].is_signed
                                              : INT_BINARY[e->op].is_unsigned;
    char before[48];
    if (!how) {
        tc_cgc_fail(w, tc_op_text(e->op));
    } else if (INT_BINARY[e->op].wraps) {
        wrapping(w, e, how, lane);
    } else if (is_function(how)) {
        snprintf(before, sizeof before, "(%s)%s", tc_cgc_value_type(t), how);
        call(w, before, e, lane);
    } else {
        infix(w, e, how, lane);
    }
}

static void float_operation(tc_cgc_writer *w, const tc_expr *e, const char *lane) {
    const char *how = FLOATS[e->op];
    char before[32];
    if (!how) {
        tc_cgc_fail(w, tc_op_text(e->op));
    } else if (is_function(how)) {
        if (e->dtype == TC_F64 || !BY_F64[e->op])
            snprintf(before, sizeof before, "%s%s", how, e->dtype == TC_F64 ? "" : "f");
        else
            snprintf(before, sizeof before, "(float)%s", how);
        call(w, before, e, lane);
    } else {
        infix(w, e, how, lane);
    }
}

static void int_unary(tc_cgc_writer *w, const tc_expr *e, const char *lane) {
    tc_dtype t = (tc_dtype)e->dtype;
    char before[32];
    if (e->op == TC_OP_ABS && tc_dtype_is_signed(t)) {
        snprintf(before, sizeof before, "(%s)tc_abs", tc_cgc_value_type(t));
        call(w, before, e, lane);
    } else if (e->op == TC_OP_NOT) {
        call(w, "(!", e, lane);
        tc_cgc_text(w, ")");
    } else {
        tc_cgc_expr(w, e->args[0], lane); /* already whole */
    }
}

static void int_fma(tc_cgc_writer *w, const tc_expr *e, const char *lane) {
    const char *u = tc_dtype_bytes((tc_dtype)e->dtype) == 8 ? "uint64_t" : "uint32_t";
    static const char *const between[] = {"", " * ", " + "};
    tc_cgc_text(w, "(%s)(", tc_cgc_value_type((tc_dtype)e->dtype));
    for (int i = 0; i < 3; i++) {
        tc_cgc_text(w, "%s(%s)", between[i], u);
        tc_cgc_expr(w, e->args[i], lane);
    }
    tc_cgc_text(w, ")");
}

static void arithmetic(tc_cgc_writer *w, const tc_expr *e, const char *lane) {
    tc_dtype t = (tc_dtype)e->dtype;
    if (tc_cgc_is_narrow(t))
        tc_cgc_text(w, "tc_round_%s(", tc_dtype_name(t));
    if (tc_dtype_is_float(t))
        float_operation(w, e, lane);
    else if (e->op == TC_OP_FMA)
        int_fma(w, e, lane);
    else if (e->nargs > 1)
        int_binary(w, e, lane);
    else
        int_unary(w, e, lane);
    tc_cgc_text(w, "%s", tc_cgc_is_narrow(t) ? ")" : "");
}

static void product(tc_cgc_writer *w, const tc_expr *e, int q, const char *lane, const char *between) {
    char a[32], b[64];
    snprintf(a, sizeof a, "%d", q);
    snprintf(b, sizeof b, "(%d * %s + %d)", e->args[1]->lanes, lane, q);
    tc_cgc_expr(w, e->args[1], a);
    tc_cgc_text(w, "%s", between);
    tc_cgc_expr(w, e->args[2], b);
}

/* acc + a[0] * b[g * lane] + a[1] * b[g * lane + 1] ..., in this order. */
static void dot(tc_cgc_writer *w, const tc_expr *e, const char *lane) {
    int group = e->args[1]->lanes;
    if (e->dtype != TC_F32) {
        tc_cgc_text(w, "(int32_t)((uint32_t)");
        tc_cgc_expr(w, e->args[0], lane);
        for (int q = 0; q < group; q++) {
            tc_cgc_text(w, " + (uint32_t)(");
            product(w, e, q, lane, " * ");
            tc_cgc_text(w, ")");
        }
        tc_cgc_text(w, ")");
        return;
    }
    for (int q = group; q-- > 0;) { /* the outermost call is the last of the sum */
        tc_cgc_text(w, "fmaf(");
        product(w, e, q, lane, ", ");
        tc_cgc_text(w, ", ");
    }
    tc_cgc_expr(w, e->args[0], lane);
    for (int q = 0; q < group; q++)
        tc_cgc_text(w, ")");
}

static void float_to_int(tc_cgc_writer *w, const tc_expr *e, tc_dtype t, const char *lane) {
    int bits = tc_dtype_bits(t);
    const char *limits = bits == 4               ? tc_dtype_is_signed(t) ? ", -8, 7)" : ", 15)"
                         : tc_dtype_is_signed(t) ? ", INT%d_MIN, INT%d_MAX)"
                                                 : ", UINT%d_MAX)";
    tc_cgc_text(w, "(%s)tc_to_%s((double)", tc_cgc_value_type(t), tc_dtype_is_signed(t) ? "i" : "u");
    tc_cgc_expr(w, e->args[0], lane);
    tc_cgc_text(w, limits, bits, bits);
}

/* The prelude's function that makes f32 of a number that is then rounded again; NULL: f32 holds the number. */
static const char *to_odd(tc_dtype from) {
    if (from == TC_F64)
        return "tc_to_odd";
    if (tc_dtype_is_float(from) || tc_dtype_bytes(from) < 4)
        return NULL;
    return tc_dtype_is_signed(from) ? "tc_to_odd_i" : "tc_to_odd_u";
}

static void cast(tc_cgc_writer *w, const tc_expr *e, const char *lane) {
    tc_dtype t = (tc_dtype)e->dtype, from = (tc_dtype)e->args[0]->dtype;
    if (t == TC_BOOL) {
        tc_cgc_text(w, "(");
        tc_cgc_expr(w, e->args[0], lane);
        tc_cgc_text(w, " != 0)");
    } else if (tc_dtype_is_float(from) && !tc_dtype_is_float(t)) {
        float_to_int(w, e, t, lane);
    } else {
        const char *odd = tc_cgc_is_narrow(t) ? to_odd(from) : NULL;
        if (tc_cgc_is_narrow(t))
            tc_cgc_text(w, "tc_round_%s", tc_dtype_name(t));
        else if (tc_dtype_bits(t) == 4)
            tc_cgc_text(w, "tc_wrap_%s", tc_dtype_name(t));
        tc_cgc_text(w, odd ? "(%s(" : "((%s)", odd ? odd : tc_cgc_value_type(t));
        tc_cgc_expr(w, e->args[0], lane);
        tc_cgc_text(w, odd ? "))" : ")");
    }
}

/* isnan, isinf */
static void classify(tc_cgc_writer *w, const tc_expr *e, const char *lane) {
    if (!tc_dtype_is_float((tc_dtype)e->args[0]->dtype)) {
        tc_cgc_text(w, "0");
        return;
    }
    call(w, e->op == TC_OP_ISNAN ? "(0 != isnan" : "(0 != isinf", e, lane);
    tc_cgc_text(w, ")");
}

/* Comparisons, and the logic of bools: as they are written in text. */
static void relation(tc_cgc_writer *w, const tc_expr *e, const char *lane) {
    infix(w, e, tc_op_text(e->op), lane);
}

static void variable(tc_cgc_writer *w, const tc_expr *e, const char *lane) {
    (void)lane;
    tc_cgc_name(w, e->u.var->name, e->u.var->id);
}

static void no_read(tc_cgc_writer *w, const tc_expr *e, const char *lane) {
    (void)e, (void)lane;
    tc_cgc_fail(w, "a read of a tensor");
}

static void ramp(tc_cgc_writer *w, const tc_expr *e, const char *lane) {
    const char *u = tc_te_stays_in_range(e, w->env) ? "" : "(uint64_t)";
    tc_cgc_text(w, *u ? "(int64_t)(%s" : "(%s", u);
    tc_cgc_expr(w, e->args[0], "0");
    tc_cgc_text(w, " + %s%s * %s", u, lane, u);
    tc_cgc_expr(w, e->args[1], "0");
    tc_cgc_text(w, ")");
}

static void broadcast(tc_cgc_writer *w, const tc_expr *e, const char *lane) {
    (void)lane;
    tc_cgc_expr(w, e->args[0], "0");
}

static void choose(tc_cgc_writer *w, const tc_expr *e, const char *lane) {
    tc_cgc_text(w, "(");
    tc_cgc_expr(w, e->args[0], lane);
    tc_cgc_text(w, " ? ");
    tc_cgc_expr(w, e->args[1], lane);
    tc_cgc_text(w, " : ");
    tc_cgc_expr(w, e->args[2], lane);
    tc_cgc_text(w, ")");
}

typedef void printer(tc_cgc_writer *w, const tc_expr *e, const char *lane);

static printer *const PRINTERS[] = {
    [TC_OP_INT] = integer,
    [TC_OP_FLOAT] = real,
    [TC_OP_VAR] = variable,
    [TC_OP_READ] = no_read,
    [TC_OP_LOAD] = load,
    [TC_OP_RAMP] = ramp,
    [TC_OP_BCAST] = broadcast,
    [TC_OP_ADD] = arithmetic,
    [TC_OP_SUB] = arithmetic,
    [TC_OP_MUL] = arithmetic,
    [TC_OP_DIV] = arithmetic,
    [TC_OP_MOD] = arithmetic,
    [TC_OP_TDIV] = arithmetic,
    [TC_OP_TMOD] = arithmetic,
    [TC_OP_MIN] = arithmetic,
    [TC_OP_MAX] = arithmetic,
    [TC_OP_POW] = arithmetic,
    [TC_OP_FMA] = arithmetic,
    [TC_OP_DOT] = dot,
    [TC_OP_EQ] = relation,
    [TC_OP_NE] = relation,
    [TC_OP_LT] = relation,
    [TC_OP_LE] = relation,
    [TC_OP_GT] = relation,
    [TC_OP_GE] = relation,
    [TC_OP_AND] = relation,
    [TC_OP_OR] = relation,
    [TC_OP_NOT] = arithmetic,
    [TC_OP_BAND] = arithmetic,
    [TC_OP_BOR] = arithmetic,
    [TC_OP_BXOR] = arithmetic,
    [TC_OP_SHL] = arithmetic,
    [TC_OP_SHR] = arithmetic,
    [TC_OP_SELECT] = choose,
    [TC_OP_CAST] = cast,
    [TC_OP_ABS] = arithmetic,
    [TC_OP_SQRT] = arithmetic,
    [TC_OP_RSQRT] = arithmetic,
    [TC_OP_EXP] = arithmetic,
    [TC_OP_LOG] = arithmetic,
    [TC_OP_TANH] = arithmetic,
    [TC_OP_ERF] = arithmetic,
    [TC_OP_SIGMOID] = arithmetic,
    [TC_OP_SIN] = arithmetic,
    [TC_OP_COS] = arithmetic,
    [TC_OP_TAN] = arithmetic,
    [TC_OP_ASIN] = arithmetic,
    [TC_OP_ACOS] = arithmetic,
    [TC_OP_ATAN] = arithmetic,
    [TC_OP_SINH] = arithmetic,
    [TC_OP_COSH] = arithmetic,
    [TC_OP_ASINH] = arithmetic,
    [TC_OP_ACOSH] = arithmetic,
    [TC_OP_ATANH] = arithmetic,
    [TC_OP_EXPM1] = arithmetic,
    [TC_OP_LOG1P] = arithmetic,
    [TC_OP_NCDF] = arithmetic,
    [TC_OP_FLOOR] = arithmetic,
    [TC_OP_CEIL] = arithmetic,
    [TC_OP_ROUND] = arithmetic,
    [TC_OP_TRUNC] = arithmetic,
    [TC_OP_ISNAN] = classify,
    [TC_OP_ISINF] = classify,
};
static_assert(TC_LEN(PRINTERS) == TC_NOPS, "an operation has no printer");

void tc_cgc_node(tc_cgc_writer *w, const tc_expr *e, const char *lane) {
    PRINTERS[e->op](w, e, lane);
}
