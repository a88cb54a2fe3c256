/* The table of operations, and the constructors. Constructors canonicalise locally and exactly for every dtype, and never look
 * at node ids. So the same construction gives the same tree in every context. Canonical text depends on this. */
#include "te/te_int.h"

#include <math.h>

static const struct {
    const char *text;
    int arity;
} OPS[] = {
#define OP(id, text, arity, traits, takes) {text, arity},
#include "te/ops.def"
#undef OP
};

const char *tc_op_text(tc_op op) {
    return OPS[op].text;
}

int tc_op_arity(tc_op op) {
    return OPS[op].arity;
}

/* ---- leaves ---- */

const tc_expr *tc_int(tc_ctx *c, tc_dtype t, int64_t v) {
    assert(!tc_dtype_is_float(t));
    tc_expr key = {.op = TC_OP_INT, .dtype = (uint8_t)t, .lanes = 1, .u.i = tc_wrap_i(t, v)};
    return te_intern(c, &key, NULL);
}

const tc_expr *tc_i64(tc_ctx *c, int64_t v) {
    return tc_int(c, TC_I64, v);
}

const tc_expr *tc_bool(tc_ctx *c, bool v) {
    return tc_int(c, TC_BOOL, v);
}

const tc_expr *tc_float(tc_ctx *c, tc_dtype t, double v) {
    assert(tc_dtype_is_float(t));
    /* One NaN only: interning compares bits. */
    tc_expr key = {.op = TC_OP_FLOAT, .dtype = (uint8_t)t, .lanes = 1, .u.f = isnan(v) ? (double)NAN : tc_round_f(t, v)};
    return te_intern(c, &key, NULL);
}

const tc_expr *tc_imm(tc_ctx *c, tc_dtype t, double v) {
    return tc_dtype_is_float(t) ? tc_float(c, t, v) : tc_int(c, t, tc_cast_fi(t, v));
}

const tc_expr *tc_varx(tc_ctx *c, const tc_var *v) {
    if (v->value)
        return v->value;
    tc_expr key = {.op = TC_OP_VAR, .dtype = TC_I64, .lanes = 1, .u.var = v};
    return te_intern(c, &key, NULL);
}

/* ---- memory and vectors ---- */

/* A node whose operands were not looked at yet. */
static const tc_expr *checked(tc_ctx *c, const tc_expr *key, const tc_expr *const *args) {
    assert(!te_problem(key, args));
    return te_intern(c, key, args);
}

const tc_expr *tc_read(tc_ctx *c, const tc_tensor *t, int n, const tc_expr *const *idx) {
    const tc_expr *args[TC_MAX_DIMS];
    tc_expr key = {.op = TC_OP_READ, .dtype = (uint8_t)t->dtype, .nargs = (uint8_t)n, .lanes = 1, .u.tensor = t};
    for (int i = 0; i < n; i++)
        args[i] = tc_cast(c, TC_I64, idx[i]);
    assert(!te_problem(&key, idx));
    return te_intern(c, &key, args);
}

const tc_expr *tc_load(tc_ctx *c, const tc_buffer *b, tc_dtype elem, const tc_expr *index, const tc_expr *mask) {
    if (mask && te_const(mask) && te_const(mask)->u.i && mask->lanes == index->lanes)
        mask = NULL;
    const tc_expr *args[] = {index, mask};
    tc_expr key = {.op = TC_OP_LOAD, .dtype = (uint8_t)elem, .nargs = mask ? 2 : 1, .lanes = index->lanes, .u.buffer = b};
    return checked(c, &key, args);
}

const tc_expr *tc_ramp(tc_ctx *c, const tc_expr *base, const tc_expr *stride, int lanes) {
    assert(lanes <= UINT16_MAX);
    const tc_expr *args[] = {base, stride};
    tc_expr key = {.op = TC_OP_RAMP, .dtype = TC_I64, .nargs = 2, .lanes = (uint16_t)lanes};
    return lanes == 1 ? base : checked(c, &key, args);
}

const tc_expr *tc_bcast(tc_ctx *c, const tc_expr *x, int lanes) {
    if (lanes == 1)
        return x;
    assert(lanes <= UINT16_MAX);
    tc_expr key = {.op = TC_OP_BCAST, .dtype = x->dtype, .nargs = 1, .lanes = (uint16_t)lanes};
    return checked(c, &key, &x);
}

/* ---- operations ---- */

static const tc_expr *node(tc_ctx *c, tc_op op, tc_dtype t, int lanes, int n, const tc_expr *const *args) {
    tc_expr key = {.op = op, .dtype = (uint8_t)t, .nargs = (uint8_t)n, .lanes = (uint16_t)lanes};
    return te_intern(c, &key, args);
}

/* The immediate v of dtype t in every lane. */
static const tc_expr *splat_int(tc_ctx *c, tc_dtype t, int lanes, int64_t v) {
    return tc_bcast(c, tc_int(c, t, v), lanes);
}

/* Both operands are immediates x and y. NULL: leave the operation as it is. */
static const tc_expr *fold_bin(tc_ctx *c, tc_op op, const tc_expr *x, const tc_expr *y, int lanes) {
    tc_dtype t = x->dtype;
    bool compares = tc_op_traits(op) & TC_COMPARE;
    if (tc_dtype_is_float(t)) {
        if (compares)
            return splat_int(c, TC_BOOL, lanes, tc_eval_compare_f(op, x->u.f, y->u.f));
        return tc_op_traits(op) & TC_FOLDS ? tc_bcast(c, tc_float(c, t, tc_eval_f(op, t, x->u.f, y->u.f)), lanes) : NULL;
    }
    return splat_int(c, compares ? TC_BOOL : t, lanes, tc_eval_i(op, t, x->u.i, y->u.i));
}

static const tc_expr *integer_identity(tc_ctx *c, tc_op op, const tc_expr *a, int64_t y) {
    enum { NEITHER, NOTHING, ZERO }; /* what it does: nothing, or it leaves zero */
    static const uint8_t BY[2][TC_NOPS] = {
        {[TC_OP_ADD] = NOTHING, [TC_OP_SUB] = NOTHING, [TC_OP_MUL] = ZERO},
        {[TC_OP_MUL] = NOTHING, [TC_OP_DIV] = NOTHING, [TC_OP_TDIV] = NOTHING, [TC_OP_MOD] = ZERO, [TC_OP_TMOD] = ZERO}};
    int does = y == 0 || y == 1 ? BY[y][op] : NEITHER;
    return does == NOTHING ? a : does == ZERO ? splat_int(c, a->dtype, a->lanes, 0) : NULL;
}

/* x + 0.0 is not x for x = -0.0, but x + -0.0 is. */
static const tc_expr *float_identity(tc_op op, const tc_expr *a, double y) {
    if (op == TC_OP_ADD)
        return y == 0 && signbit(y) ? a : NULL;
    if (op == TC_OP_SUB)
        return y == 0 && !signbit(y) ? a : NULL;
    return (op == TC_OP_MUL || op == TC_OP_DIV) && y == 1 ? a : NULL;
}

static const tc_expr *logic_identity(tc_op op, const tc_expr *a, const tc_expr *b) {
    for (int i = 0; i < 2; i++) {
        const tc_expr *k = te_const(i ? a : b), *x = i ? b : a;
        if (k && op == TC_OP_AND)
            return k->u.i ? x : (i ? a : b);
        if (k && op == TC_OP_OR)
            return k->u.i ? (i ? a : b) : x;
    }
    return a == b ? a : NULL;
}

/* The operand or immediate that `a op b` is, if that is plain to see. */
static const tc_expr *trivial_bin(tc_ctx *c, tc_op op, const tc_expr *a, const tc_expr *b) {
    const tc_expr *x = te_const(a), *y = te_const(b);
    if (x && y) {
        const tc_expr *folded = fold_bin(c, op, x, y, a->lanes);
        if (folded)
            return folded;
    }
    if (op == TC_OP_AND || op == TC_OP_OR)
        return logic_identity(op, a, b);
    if (a == b && (tc_op_traits(op) & TC_IDEMPOTENT))
        return a;
    if (!y)
        return NULL;
    return tc_dtype_is_float(a->dtype) ? float_identity(op, a, y->u.f) : integer_identity(c, op, a, y->u.i);
}

const tc_expr *tc_bin(tc_ctx *c, tc_op op, const tc_expr *a, const tc_expr *b) {
    assert(tc_op_arity(op) == 2 && op != TC_OP_RAMP && !te_op_problem(op, a, b));
    if ((op == TC_OP_ADD || op == TC_OP_MUL) && te_const(a) && !te_const(b)) {
        const tc_expr *swap = a;
        a = b;
        b = swap;
    }
    const tc_expr *r = trivial_bin(c, op, a, b);
    if (r)
        return r;
    const tc_expr *y = te_const(b);
    if (op == TC_OP_SUB && y && y->op == TC_OP_INT && tc_dtype_is_signed(y->dtype) && y->u.i != tc_int_min(y->dtype)) {
        op = TC_OP_ADD; /* x - 3 is x + -3 */
        b = splat_int(c, y->dtype, b->lanes, -y->u.i);
    }
    const tc_expr *args[] = {a, b};
    return node(c, op, tc_op_traits(op) & TC_COMPARE ? TC_BOOL : a->dtype, a->lanes, 2, args);
}

static const tc_expr *trivial_un(tc_ctx *c, tc_op op, const tc_expr *a) {
    const tc_expr *x = te_const(a);
    bool rounds = op == TC_OP_FLOOR || op == TC_OP_CEIL || op == TC_OP_ROUND || op == TC_OP_TRUNC;
    if (rounds && !tc_dtype_is_float(a->dtype))
        return a;
    if (op == TC_OP_NOT && a->op == TC_OP_NOT)
        return a->args[0];
    if (x && x->op == TC_OP_INT)
        return splat_int(c, x->dtype, a->lanes, tc_eval_i(op, x->dtype, x->u.i, 0));
    if (x && (tc_op_traits(op) & TC_COMPARE))
        return splat_int(c, TC_BOOL, a->lanes, tc_eval_compare_f(op, x->u.f, 0));
    return x && op == TC_OP_ABS ? tc_bcast(c, tc_float(c, x->dtype, fabs(x->u.f)), a->lanes) : NULL;
}

const tc_expr *tc_un(tc_ctx *c, tc_op op, const tc_expr *a) {
    assert(tc_op_arity(op) == 1 && op != TC_OP_BCAST && op != TC_OP_CAST && !te_op_problem(op, a, NULL));
    const tc_expr *r = trivial_un(c, op, a);
    return r ? r : node(c, op, tc_op_traits(op) & TC_COMPARE ? TC_BOOL : a->dtype, a->lanes, 1, &a);
}

static tc_expr ternary(tc_op op, const tc_expr *like) {
    return (tc_expr){.op = op, .dtype = like->dtype, .nargs = 3, .lanes = like->lanes};
}

const tc_expr *tc_fma(tc_ctx *c, const tc_expr *a, const tc_expr *b, const tc_expr *d) {
    const tc_expr *args[] = {a, b, d}, key = ternary(TC_OP_FMA, a);
    return checked(c, &key, args);
}

const tc_expr *tc_dot(tc_ctx *c, const tc_expr *acc, const tc_expr *a, const tc_expr *b) {
    const tc_expr *args[] = {acc, a, b}, key = ternary(TC_OP_DOT, acc);
    return checked(c, &key, args);
}

const tc_expr *tc_select(tc_ctx *c, const tc_expr *cond, const tc_expr *a, const tc_expr *b) {
    const tc_expr *args[] = {cond, a, b}, key = ternary(TC_OP_SELECT, a), *k = te_const(cond);
    assert(!te_problem(&key, args));
    if (k)
        return k->u.i ? a : b;
    return a == b ? a : te_intern(c, &key, args);
}

/* The immediate x in dtype t. */
static const tc_expr *cast_imm(tc_ctx *c, tc_dtype t, const tc_expr *x) {
    bool from_float = tc_dtype_is_float(x->dtype);
    if (tc_dtype_is_float(t))
        return tc_float(c, t, from_float ? x->u.f : tc_cast_if(x->dtype, t, x->u.i));
    return tc_int(c, t, from_float ? tc_cast_fi(t, x->u.f) : tc_cast_ii(t, x->u.i));
}

const tc_expr *tc_cast(tc_ctx *c, tc_dtype t, const tc_expr *a) {
    if (a->dtype == t)
        return a;
    const tc_expr *x = te_const(a);
    return x ? tc_bcast(c, cast_imm(c, t, x), a->lanes) : node(c, TC_OP_CAST, t, a->lanes, 1, &a);
}

const tc_expr *tc_with_args(tc_ctx *c, const tc_expr *e, const tc_expr *const *args) {
    switch (te_takes_of(e->op)) {
    case TE_NOTHING:
        return e;
    case TE_INDICES:
        return tc_read(c, e->u.tensor, e->nargs, args);
    case TE_ADDRESS:
        return tc_load(c, e->u.buffer, e->dtype, args[0], e->nargs == 2 ? args[1] : NULL);
    case TE_PROGRESSION:
        return tc_ramp(c, args[0], args[1], e->lanes);
    case TE_SCALAR:
        return tc_bcast(c, args[0], e->lanes);
    case TE_GROUPS:
        return tc_dot(c, args[0], args[1], args[2]);
    case TE_CHOICE:
        return tc_select(c, args[0], args[1], args[2]);
    case TE_CONVERTIBLE:
        return tc_cast(c, e->dtype, args[0]);
    case TE_ANYTHING:
    case TE_BOOLS:
    case TE_BITS:
    case TE_NUMBERS:
    case TE_INTEGERS:
    case TE_FLOATS:
    case TE_A_FLOAT:
        break;
    }
    if (e->nargs == 3)
        return tc_fma(c, args[0], args[1], args[2]);
    return e->nargs == 2 ? tc_bin(c, e->op, args[0], args[1]) : tc_un(c, e->op, args[0]);
}
