/* Parses expressions by precedence climbing. text.h has the grammar; print.c is the inverse. A literal has no type until a
 * neighbouring operand, a cast or the context gives it a dtype. The nesting of the text and the depth of the result bound the
 * recursion. */
#include "te/te_int.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>

#include "support/guess.h"
#include "support/inputs.h"

enum { MAX_NESTING = TC_DEPTH_TE, MAX_ARGS = 3 };

typedef struct parser {
    tc_ctx *c;
    tc_lex *lex;
    const tc_te_scope *scope;
    tc_error *err;
    int brackets; /* open ones: newlines are skipped inside */
    int nesting;
} parser;

typedef struct place {
    int line, col;
} place;

/* A parsed operand: an expression, or (e == NULL) a literal that has no dtype yet. */
typedef struct operand {
    const tc_expr *e;
    bool real; /* literal with a point or exponent: f, else i */
    int64_t i;
    double f;
    place at;
} operand;

static place here(const parser *p) {
    return (place){p->lex->tok.line, p->lex->tok.col};
}

/* Where an error belongs that shows only later. */
#define FAIL_AT(p, where, ...)                                                                                                   \
    ((p)->lex->tok.line = (where).line, (p)->lex->tok.col = (where).col, tc_lex_fail((p)->lex, (p)->err, __VA_ARGS__))

static tc_status skip_newlines(parser *p) {
    while (p->lex->tok.kind == TC_TOK_NEWLINE)
        TC_TRY(tc_lex_next(p->lex, p->err));
    return TC_OK;
}

static tc_status next(parser *p) {
    TC_TRY(tc_lex_next(p->lex, p->err));
    return p->brackets ? skip_newlines(p) : TC_OK;
}

static tc_status open_bracket(parser *p, const char *text) {
    p->brackets++;
    if (!tc_lex_is(p->lex, text))
        return tc_lex_expect(p->lex, text, p->err);
    return next(p);
}

static tc_status close_bracket(parser *p, const char *text) {
    if (!tc_lex_is(p->lex, text))
        return tc_lex_expect(p->lex, text, p->err); /* fails with the right words */
    p->brackets--;
    return next(p);
}

static tc_status expect(parser *p, const char *text) {
    if (!tc_lex_is(p->lex, text))
        return tc_lex_expect(p->lex, text, p->err);
    return next(p);
}

bool te_peek_is(const tc_lex *lex, const char *text) {
    tc_lex ahead = *lex;
    tc_error ignored = {0};
    return tc_lex_next(&ahead, &ignored) == TC_OK && tc_lex_is(&ahead, text);
}

/* ---- literals ---- */

static operand typed(const tc_expr *e, place at) {
    return (operand){.e = e, .at = at};
}

static operand literal_int(int64_t v, place at) {
    return (operand){.i = v, .at = at};
}

static operand literal_real(double v, place at) {
    return (operand){.real = true, .f = v, .at = at};
}

static double literal_value(const operand *x) {
    return x->real ? x->f : (double)x->i;
}

/* Gives a literal its dtype and lane count. */
static tc_status settle(parser *p, operand *x, tc_dtype t, int lanes) {
    const tc_expr *e;
    if (x->e)
        return TC_OK;
    if (tc_dtype_is_float(t)) {
        e = tc_float(p->c, t, literal_value(x));
    } else if (x->real) {
        return FAIL_AT(p, x->at, "expected %s, found a literal with a fraction; cast the other operand, e.g. f32(x)",
                       tc_dtype_name(t));
    } else {
        bool fits = t == TC_U64 || (x->i >= tc_int_min(t) && x->i <= tc_int_max(t));
        if (!fits)
            return FAIL_AT(p, x->at, "%lld does not fit in %s", (long long)x->i, tc_dtype_name(t));
        e = tc_int(p->c, t, x->i);
    }
    x->e = tc_bcast(p->c, e, lanes);
    return TC_OK;
}

/* Literals among x[0..n) take the dtype and lanes of a typed operand, or the default if there is none. */
static tc_status unify(parser *p, operand *x, int n) {
    const tc_expr *typed_one = NULL;
    bool real = false;
    for (int i = 0; i < n; i++) {
        if (x[i].e && (!typed_one || x[i].e->lanes > typed_one->lanes))
            typed_one = x[i].e;
        real |= !x[i].e && x[i].real;
    }
    for (int i = 0; i < n; i++)
        TC_TRY(settle(p, &x[i],
                      typed_one ? (tc_dtype)typed_one->dtype
                      : real    ? TC_F32
                                : TC_I64,
                      typed_one ? typed_one->lanes : 1));
    return TC_OK;
}

static tc_status settle_alone(parser *p, operand *x) {
    return settle(p, x, x->real ? TC_F32 : TC_I64, 1);
}

/* ---- building nodes ---- */

static void type_text(const tc_expr *e, char text[24]) {
    if (e->lanes > 1)
        snprintf(text, 24, "%sx%d", tc_dtype_name(e->dtype), e->lanes);
    else
        snprintf(text, 24, "%s", tc_dtype_name(e->dtype));
}

static tc_status made(parser *p, const tc_expr *e, place at, operand *out) {
    if (e->depth > TC_MAX_DEPTH)
        return tc_beyond(p->err, FAIL_AT(p, at, "the expression is more than %d operations deep; split it over several computes",
                                         TC_MAX_DEPTH));
    *out = typed(e, at);
    return TC_OK;
}

static tc_status check_operands(parser *p, tc_op op, const operand *x, const operand *y, place at) {
    const char *problem = te_op_problem(op, x->e, y ? y->e : NULL);
    if (!problem)
        return TC_OK;
    char a[24], b[24] = "";
    type_text(x->e, a);
    if (y)
        type_text(y->e, b);
    return FAIL_AT(p, at, "'%s' cannot be applied to %s%s%s: %s%s", tc_op_text(op), a, y ? " and " : "", b, problem,
                   y && x->e->dtype != y->e->dtype ? "; cast one of them, e.g. f32(x)" : "");
}

/* The node `like` with operands x. This is where every node that the text names is made, and where it is refused. */
static tc_status make(parser *p, const tc_expr *like, const operand *x, place at, operand *out) {
    const tc_expr *args[MAX_ARGS] = {NULL};
    for (int i = 0; i < like->nargs; i++)
        args[i] = x[i].e;
    const char *problem = te_problem(like, args);
    if (problem)
        return FAIL_AT(p, at, "%s", problem);
    return made(p, tc_with_args(p->c, like, args), at, out);
}

static bool is_zero(const tc_expr *e) {
    const tc_expr *k = te_const(e);
    return k && k->op == TC_OP_INT && k->u.i == 0;
}

static tc_status make_bin(parser *p, tc_op op, operand *x, operand *y, place at, operand *out) {
    operand both[2] = {*x, *y};
    TC_TRY(unify(p, both, 2));
    TC_TRY(check_operands(p, op, &both[0], &both[1], at));
    bool divides = op == TC_OP_DIV || op == TC_OP_MOD || op == TC_OP_TDIV || op == TC_OP_TMOD;
    if (divides && is_zero(both[1].e))
        return FAIL_AT(p, at, "integer division by zero");
    return make(p, &(tc_expr){.op = op, .nargs = 2}, both, at, out);
}

/* Arithmetic on two literals stays a literal: X[i] * (1.0 / 8.0) must not make an f32 out of the factor if X is f16. */
static tc_status fold_literals(parser *p, tc_op op, const operand *x, const operand *y, place at, operand *out) {
    if (x->real || y->real) {
        *out = literal_real(tc_eval_f(op, TC_F64, literal_value(x), literal_value(y)), x->at);
        return TC_OK;
    }
    if ((op == TC_OP_DIV || op == TC_OP_MOD) && y->i == 0)
        return FAIL_AT(p, at, "integer division by zero");
    if (op == TC_OP_DIV && y->i != -1 && x->i % y->i)
        return FAIL_AT(p, at, "%lld / %lld of integers rounds down; write %lld.0 / %lld.0 if the fraction is meant",
                       (long long)x->i, (long long)y->i, (long long)x->i, (long long)y->i);
    *out = literal_int(tc_eval_i(op, TC_I64, x->i, y->i), x->at);
    return TC_OK;
}

static tc_status make_infix(parser *p, tc_op op, operand *x, operand *y, place at, operand *out) {
    bool arithmetic = op == TC_OP_ADD || op == TC_OP_SUB || op == TC_OP_MUL || op == TC_OP_DIV || op == TC_OP_MOD;
    if (!x->e && !y->e && arithmetic)
        return fold_literals(p, op, x, y, at, out);
    return make_bin(p, op, x, y, at, out);
}

static tc_status make_un(parser *p, tc_op op, operand *x, place at, operand *out) {
    if (!x->e && ((tc_op_traits(op) & TC_MATH) || op == TC_OP_ISNAN || op == TC_OP_ISINF))
        TC_TRY(settle(p, x, TC_F32, 1));
    TC_TRY(settle_alone(p, x));
    TC_TRY(check_operands(p, op, x, NULL, at));
    return make(p, &(tc_expr){.op = op, .nargs = 1}, x, at, out);
}

/* ---- calls ---- */

static tc_status parse(parser *p, int min_prec, operand *out);

static tc_status parse_args(parser *p, const char *name, int n, operand *args) {
    place at = here(p);
    TC_TRY(open_bracket(p, "("));
    for (int i = 0; i < n; i++) {
        if (i) {
            if (!tc_lex_is(p->lex, ","))
                return FAIL_AT(p, at, "%s takes %d operands", name, n);
            TC_TRY(expect(p, ","));
        }
        TC_TRY(parse(p, 0, &args[i]));
    }
    if (tc_lex_is(p->lex, ","))
        return FAIL_AT(p, at, "%s takes %d operand%s", name, n, n == 1 ? "" : "s");
    return close_bracket(p, ")");
}

static tc_status call_cast(parser *p, tc_dtype t, place at, operand *out) {
    operand x;
    TC_TRY(parse_args(p, tc_dtype_name(t), 1, &x));
    if (!x.e && x.real && !tc_dtype_is_float(t)) {
        *out = typed(tc_int(p->c, t, tc_cast_fi(t, x.f)), at);
        return TC_OK;
    }
    TC_TRY(settle(p, &x, t, 1));
    return make(p, &(tc_expr){.op = TC_OP_CAST, .dtype = (uint8_t)t, .nargs = 1}, &x, at, out);
}

static tc_status call_select(parser *p, tc_op op, place at, operand *out) {
    operand x[3];
    TC_TRY(parse_args(p, tc_op_text(op), 3, x));
    TC_TRY(settle_alone(p, &x[0]));
    TC_TRY(unify(p, x + 1, 2));
    if (x[0].e->dtype != TC_BOOL)
        return FAIL_AT(p, x[0].at, "the first operand of select must be bool, not %s", tc_dtype_name(x[0].e->dtype));
    for (int i = 1; i < 3; i++) /* a scalar literal beside a vector condition */
        if (te_const(x[i].e) && x[i].e->lanes == 1 && x[0].e->lanes > 1)
            x[i].e = tc_bcast(p->c, x[i].e, x[0].e->lanes);
    TC_TRY(check_operands(p, op, &x[1], &x[2], at));
    if (x[0].e->lanes != x[1].e->lanes)
        return FAIL_AT(p, at, "select: the condition has %d lanes, the arms have %d", x[0].e->lanes, x[1].e->lanes);
    return make(p, &(tc_expr){.op = op, .nargs = 3}, x, at, out);
}

static tc_status call_fma(parser *p, tc_op op, place at, operand *out) {
    operand x[3];
    TC_TRY(parse_args(p, tc_op_text(op), 3, x));
    TC_TRY(unify(p, x, 3));
    TC_TRY(check_operands(p, op, &x[0], &x[1], at));
    TC_TRY(check_operands(p, op, &x[0], &x[2], at));
    return make(p, &(tc_expr){.op = op, .nargs = 3}, x, at, out);
}

static tc_status call_dot(parser *p, tc_op op, place at, operand *out) {
    operand x[3];
    TC_TRY(parse_args(p, tc_op_text(op), 3, x));
    for (int i = 0; i < 3; i++)
        TC_TRY(settle_alone(p, &x[i]));
    return make(p, &(tc_expr){.op = op, .nargs = 3}, x, at, out);
}

static tc_status parse_lanes(parser *p, int *lanes) {
    TC_TRY(expect(p, ","));
    if (p->lex->tok.kind != TC_TOK_INT || p->lex->tok.i < 2 || p->lex->tok.i > TC_MAX_LANES)
        return tc_lex_fail(p->lex, p->err, "expected the lane count, an integer from 2 to %d", TC_MAX_LANES);
    *lanes = (int)p->lex->tok.i;
    TC_TRY(next(p));
    return close_bracket(p, ")");
}

static tc_status call_vector(parser *p, tc_op op, place at, operand *out) {
    operand x[2];
    int n = tc_op_arity(op), lanes = 1;
    TC_TRY(open_bracket(p, "("));
    for (int i = 0; i < n; i++) {
        if (i)
            TC_TRY(expect(p, ","));
        TC_TRY(parse(p, 0, &x[i]));
        TC_TRY(settle_alone(p, &x[i]));
        const tc_expr one = {.op = op, .nargs = 1, .lanes = 1};
        const char *problem = te_problem(&one, (const tc_expr *[]){x[i].e});
        if (problem)
            return FAIL_AT(p, x[i].at, "%s", problem);
    }
    TC_TRY(parse_lanes(p, &lanes));
    return make(p, &(tc_expr){.op = op, .nargs = (uint8_t)n, .lanes = (uint16_t)lanes}, x, at, out);
}

/* Activation functions by their definitions. */
static const tc_expr *sugar(tc_ctx *c, const char *name, const tc_expr *x) {
    tc_dtype t = x->dtype;
    if (strcmp(name, "relu") == 0)
        return tc_bin(c, TC_OP_MAX, x, tc_bcast(c, tc_imm(c, t, 0), x->lanes));
    if (strcmp(name, "silu") == 0)
        return tc_mul(c, x, tc_un(c, TC_OP_SIGMOID, x));
    const tc_expr *scaled = tc_mul(c, x, tc_bcast(c, tc_float(c, t, 0.70710678118654752), x->lanes)); /* 1 / sqrt(2) */
    const tc_expr *phi = tc_add(c, tc_un(c, TC_OP_ERF, scaled), tc_bcast(c, tc_float(c, t, 1), x->lanes));
    return tc_mul(c, tc_mul(c, x, tc_bcast(c, tc_float(c, t, 0.5), x->lanes)), phi);
}

static const char *const SUGAR[] = {"gelu", "silu", "relu"};

static bool is_sugar(const char *name) {
    for (size_t i = 0; i < TC_LEN(SUGAR); i++)
        if (strcmp(SUGAR[i], name) == 0)
            return true;
    return false;
}

static tc_status call_sugar(parser *p, const char *name, place at, operand *out) {
    operand x;
    TC_TRY(parse_args(p, name, 1, &x));
    TC_TRY(settle(p, &x, TC_F32, 1));
    if (!tc_dtype_is_float(x.e->dtype) && (strcmp(name, "relu") != 0 || x.e->dtype == TC_BOOL))
        return FAIL_AT(p, at, "%s needs a float operand, not %s", name, tc_dtype_name(x.e->dtype));
    if (tc_dtype_is_stored(x.e->dtype))
        return FAIL_AT(p, at, "%s of %s; cast it, e.g. f32(x)", name, tc_dtype_name(x.e->dtype));
    return made(p, sugar(p->c, name, x.e), at, out);
}

static bool find_op(const char *name, tc_op *op) {
    for (int i = 0; i < TC_NOPS; i++)
        if (tc_op_text((tc_op)i)[0] && strcmp(tc_op_text((tc_op)i), name) == 0) {
            *op = (tc_op)i;
            return true;
        }
    return false;
}

static bool is_allowed(const parser *p, tc_op op) {
    return p->scope->dialect == TC_DIALECT_TIR || !(tc_op_traits(op) & TC_VECTOR);
}

static tc_status unknown_function(parser *p, const char *name, place at) {
    char text[TC_GUESS_TEXT];
    tc_guess g = tc_guess_new(name, strlen(name));
    for (int i = 0; i < TC_NOPS; i++)
        if (i != TC_OP_CAST && isalpha((unsigned char)tc_op_text((tc_op)i)[0]) && is_allowed(p, (tc_op)i))
            tc_guess_add(&g, tc_op_text((tc_op)i));
    for (size_t i = 0; i < TC_LEN(SUGAR); i++)
        tc_guess_add(&g, SUGAR[i]);
    for (int t = 0; t < TC_NDTYPES; t++)
        tc_guess_add(&g, tc_dtype_name((tc_dtype)t));
    return FAIL_AT(p, at, "unknown function '%s'%s", name, tc_guess_say(&g, "", "`man tctune-te` describes all functions", text));
}

static tc_status call_op(parser *p, tc_op op, place at, operand *out) {
    operand x[2];
    int arity = tc_op_arity(op);
    TC_TRY(parse_args(p, tc_op_text(op), arity, x));
    return arity == 1 ? make_un(p, op, &x[0], at, out) : make_bin(p, op, &x[0], &x[1], at, out);
}

/* Functions that take something else than one or two operands of a kind. */
static tc_status (*const CALLS[TC_NOPS])(parser *p, tc_op op, place at, operand *out) = {
    [TC_OP_SELECT] = call_select, [TC_OP_FMA] = call_fma,      [TC_OP_DOT] = call_dot,
    [TC_OP_RAMP] = call_vector,   [TC_OP_BCAST] = call_vector,
};

static const tc_te_function *own_function(const parser *p, const char *name) {
    for (const tc_te_function *f = p->scope->functions; f && f->name; f++)
        if (strcmp(f->name, name) == 0)
            return f;
    return NULL;
}

static tc_status call_own(parser *p, const tc_te_function *f, place at, operand *out) {
    operand x[2];
    TC_TRY(parse_args(p, f->name, 2, x));
    TC_TRY(unify(p, x, 2));
    if (x[0].e->dtype != x[1].e->dtype || x[0].e->lanes != x[1].e->lanes)
        return FAIL_AT(p, at, "the operands of %s must have one type, but are %s and %s", f->name, tc_dtype_name(x[0].e->dtype),
                       tc_dtype_name(x[1].e->dtype));
    return made(p, f->make(p->c, x[0].e, x[1].e), at, out);
}

static tc_status parse_call(parser *p, const char *name, place at, operand *out) {
    tc_dtype t;
    tc_op op;
    const tc_te_function *own = own_function(p, name);
    if (own)
        return call_own(p, own, at, out);
    if (tc_dtype_parse(name, &t))
        return call_cast(p, t, at, out);
    if (is_sugar(name))
        return call_sugar(p, name, at, out);
    if (!find_op(name, &op))
        return unknown_function(p, name, at);
    if (!is_allowed(p, op))
        return FAIL_AT(p, at, "the body of a compute must be a scalar expression, without %s",
                       op == TC_OP_DOT ? "dot" : "ramp and bcast");
    return CALLS[op] ? CALLS[op](p, op, at, out) : call_op(p, op, at, out);
}

/* ---- names ---- */

static const tc_expr *lookup(parser *p, const char *name, int n, const tc_expr *const *idx) {
    if (p->scope->why)
        *p->scope->why = NULL;
    return p->scope->resolve(p->scope->user, name, n, idx);
}

static tc_status unknown(parser *p, const char *name, place at) {
    const char **why = p->scope->why;
    if (why && *why)
        return FAIL_AT(p, at, "%s", *why);
    return FAIL_AT(p, at, "unknown name '%s'", name);
}

static tc_status parse_index(parser *p, operand *x) {
    TC_TRY(parse(p, 0, x));
    TC_TRY(settle(p, x, TC_I64, 1));
    if (!tc_dtype_is_int(x->e->dtype))
        return FAIL_AT(p, x->at, "an index must be an integer, not %s", tc_dtype_name(x->e->dtype));
    x->e = tc_cast(p->c, TC_I64, x->e);
    return TC_OK;
}

/* , mask: m] */
static tc_status parse_mask(parser *p, operand *access) {
    operand m;
    place at = here(p);
    TC_TRY(next(p));
    TC_TRY(expect(p, ":"));
    TC_TRY(parse(p, 0, &m));
    TC_TRY(settle_alone(p, &m));
    const tc_expr *e = access->e;
    if (e->op != TC_OP_LOAD || e->nargs != 1)
        return FAIL_AT(p, at, "only loads from buffers take a mask");
    if (m.e->dtype != TC_BOOL || m.e->lanes != e->lanes)
        return FAIL_AT(p, m.at, "the mask must be bool with the index's %d lanes", e->lanes);
    access->e = tc_load(p->c, e->u.buffer, e->dtype, e->args[0], m.e);
    return TC_OK;
}

static tc_status parse_access(parser *p, const char *name, place at, operand *out) {
    const tc_expr *idx[TC_MAX_DIMS] = {NULL};
    int n = 0;
    bool mask = false;
    TC_TRY(open_bracket(p, "["));
    while (!tc_lex_is(p->lex, "]") && !mask) {
        operand x;
        if (n == TC_MAX_DIMS)
            return tc_lex_fail(p->lex, p->err, "more than %d indices", TC_MAX_DIMS);
        TC_TRY(parse_index(p, &x));
        idx[n++] = x.e;
        if (tc_lex_is(p->lex, "]"))
            break;
        TC_TRY(expect(p, ","));
        mask = tc_lex_is(p->lex, "mask") && te_peek_is(p->lex, ":");
    }
    const tc_expr *e = lookup(p, name, n, idx);
    if (!e)
        return unknown(p, name, at);
    *out = typed(e, at);
    if (mask)
        TC_TRY(parse_mask(p, out));
    TC_TRY(made(p, out->e, at, out));
    return close_bracket(p, "]");
}

static tc_status parse_name(parser *p, operand *out) {
    place at = here(p);
    const char *name = p->lex->tok.text;
    TC_TRY(next(p));
    if (tc_lex_is(p->lex, "("))
        return parse_call(p, name, at, out);
    if (tc_lex_is(p->lex, "["))
        return parse_access(p, name, at, out);
    if (strcmp(name, "true") == 0 || strcmp(name, "false") == 0) {
        *out = typed(tc_bool(p->c, name[0] == 't'), at);
        return TC_OK;
    }
    if (strcmp(name, "inf") == 0 || strcmp(name, "nan") == 0) {
        *out = literal_real(name[0] == 'i' ? (double)INFINITY : (double)NAN, at);
        return TC_OK;
    }
    tc_te_literal v;
    if (p->scope->number && p->scope->number(p->scope->user, name, &v)) {
        *out = v.real ? literal_real(v.f, at) : literal_int(v.i, at);
        return TC_OK;
    }
    const tc_expr *e = lookup(p, name, 0, NULL);
    if (!e)
        return unknown(p, name, at);
    *out = typed(e, at);
    return TC_OK;
}

/* ---- operators ---- */

static tc_status negate(parser *p, operand *x, place at, operand *out) {
    if (!x->e) {
        *out = x->real ? literal_real(-x->f, at) : literal_int((int64_t)(0 - (uint64_t)x->i), at);
        return TC_OK;
    }
    if (!tc_dtype_is_float(x->e->dtype)) {
        operand zero = literal_int(0, at);
        return make_bin(p, TC_OP_SUB, &zero, x, at, out);
    }
    operand minus_one = literal_real(-1, at);
    return make_bin(p, TC_OP_MUL, x, &minus_one, at, out);
}

static tc_status parse_primary(parser *p, operand *out) {
    const tc_tok *t = &p->lex->tok;
    place at = here(p);
    if (t->kind == TC_TOK_INT || t->kind == TC_TOK_FLOAT) {
        *out = t->kind == TC_TOK_INT ? literal_int(t->i, at) : literal_real(t->f, at);
        return next(p);
    }
    if (t->kind == TC_TOK_IDENT)
        return parse_name(p, out);
    if (!tc_lex_is(p->lex, "("))
        return t->kind == TC_TOK_EOF || t->kind == TC_TOK_NEWLINE
                   ? tc_lex_fail(p->lex, p->err, "the expression ends too early")
                   : tc_lex_fail(p->lex, p->err, "expected an expression, found '%s'", t->text);
    TC_TRY(open_bracket(p, "("));
    TC_TRY(parse(p, 0, out));
    return close_bracket(p, ")");
}

static tc_status too_deep(parser *p) {
    return tc_beyond(p->err,
                     tc_lex_fail(p->lex, p->err, "the expression is nested too deeply (more than %d levels)", MAX_NESTING));
}

static tc_status parse_unary(parser *p, operand *out) {
    place at = here(p);
    bool minus = tc_lex_is(p->lex, "-"), not = tc_lex_is(p->lex, "!");
    if (!minus && !not )
        return parse_primary(p, out);
    operand x;
    enum { AS_PRINTED = 2 }; /* 0 - (x): what is printed must be read again */
    if ((p->nesting += AS_PRINTED) > MAX_NESTING)
        return too_deep(p);
    TC_TRY(next(p));
    TC_TRY(parse_unary(p, &x));
    p->nesting -= AS_PRINTED;
    return minus ? negate(p, &x, at, out) : make_un(p, TC_OP_NOT, &x, at, out);
}

/* The infix operator at the current token; false if there is none. */
static bool infix(const parser *p, tc_op *op) {
    for (int i = TC_OP_ADD; i < TC_NOPS && p->lex->tok.kind == TC_TOK_PUNCT; i++)
        if (te_precedence((tc_op)i) < TE_PREC_UNARY && strcmp(p->lex->tok.text, tc_op_text((tc_op)i)) == 0) {
            *op = (tc_op)i;
            return true;
        }
    return false;
}

static tc_status parse(parser *p, int min_prec, operand *out) {
    if (++p->nesting > MAX_NESTING)
        return too_deep(p);
    TC_TRY(parse_unary(p, out));
    bool compared = false;
    for (tc_op op; infix(p, &op) && te_precedence(op) >= min_prec;) {
        place at = here(p);
        int prec = te_precedence(op);
        if (prec == TE_PREC_COMPARE && compared)
            return tc_lex_fail(p->lex, p->err, "comparisons do not chain; write a < b && b < c");
        operand right, left = *out;
        TC_TRY(next(p));
        TC_TRY(skip_newlines(p));
        TC_TRY(parse(p, prec + 1, &right));
        TC_TRY(make_infix(p, op, &left, &right, at, out));
        compared = prec == TE_PREC_COMPARE;
    }
    p->nesting--;
    return TC_OK;
}

/* Each gelu(x) has x twice, and each symbol all of its definition: a short text can make a large tree. */
static tc_status check_terms(parser *p, const operand *x) {
    int64_t own = TC_MAX_TREE, *left = p->scope->terms ? p->scope->terms : &own;
    *left -= tc_expr_tree_size(x->e, *left);
    if (*left >= 0)
        return TC_OK;
    return tc_beyond(
        p->err, FAIL_AT(p, x->at,
                        "with what its names and functions stand for, this expression has too many terms; all expressions here "
                        "may have %d",
                        TC_MAX_TREE));
}

tc_status tc_te_parse_expr(tc_ctx *c, tc_lex *lex, const tc_te_scope *scope, const tc_expr **out, tc_error *err) {
    parser p = {.c = c, .lex = lex, .scope = scope, .err = err};
    operand x;
    TC_TRY(parse(&p, 0, &x));
    if (scope->literal)
        TC_TRY(settle(&p, &x, *scope->literal, 1));
    TC_TRY(settle_alone(&p, &x));
    *out = x.e;
    return check_terms(&p, &x);
}
