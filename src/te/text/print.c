/* Prints expressions as infix text, with the fewest parentheses that parse back to the same tree. parse_expr.c is the inverse;
 * text.h has the grammar. A literal is printed bare if the neighbouring operand (or the default) gives its dtype. Otherwise it
 * is printed as `f16(0.5)`. */
#include "support/numbers.h"
#include "te/te_int.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct printer {
    tc_strbuf *b;
    tc_expr_namer *namer;
    void *user;
} printer;

int te_precedence(tc_op op) {
    static const uint8_t INFIX[TC_NOPS] = {
        [TC_OP_OR] = TE_PREC_OR,      [TC_OP_AND] = TE_PREC_AND,    [TC_OP_EQ] = TE_PREC_COMPARE, [TC_OP_NE] = TE_PREC_COMPARE,
        [TC_OP_LT] = TE_PREC_COMPARE, [TC_OP_LE] = TE_PREC_COMPARE, [TC_OP_GT] = TE_PREC_COMPARE, [TC_OP_GE] = TE_PREC_COMPARE,
        [TC_OP_ADD] = TE_PREC_ADD,    [TC_OP_SUB] = TE_PREC_ADD,    [TC_OP_MUL] = TE_PREC_MUL,    [TC_OP_DIV] = TE_PREC_MUL,
        [TC_OP_MOD] = TE_PREC_MUL,
    };
    return INFIX[op] ? INFIX[op] : TE_PREC_UNARY;
}

/* Shortest digits that read back, rounded to the dtype, as the same value. */
static void print_float(tc_strbuf *b, tc_dtype t, double v) {
    if (isnan(v) || isinf(v)) {
        tc_sb_add(b, isnan(v) ? "nan" : v < 0 ? "-inf" : "inf");
        return;
    }
    char text[40];
    for (int digits = 1; digits <= 17; digits++) {
        tc_snprintf(text, sizeof text, "%.*g", digits, v);
        if (tc_round_f(t, tc_strtod(text, NULL)) == v)
            break;
    }
    tc_sb_add(b, text);
    if (!strpbrk(text, ".e"))
        tc_sb_add(b, ".0");
}

/* `bare`: the dtype that a bare literal would get here, by context. */
static void print_imm(printer *p, const tc_expr *e, tc_dtype bare) {
    if (e->dtype == TC_BOOL) {
        tc_sb_add(p->b, e->u.i ? "true" : "false");
        return;
    }
    if (e->dtype != bare)
        tc_sb_printf(p->b, "%s(", tc_dtype_name(e->dtype));
    if (e->op == TC_OP_FLOAT)
        print_float(p->b, e->dtype, e->u.f);
    else
        tc_sb_printf(p->b, "%lld", (long long)e->u.i); /* a u64 above INT64_MAX as the negative number that wraps to it */
    if (e->dtype != bare)
        tc_sb_addc(p->b, ')');
}

static bool is_imm(const tc_expr *e) {
    return e->op == TC_OP_INT || e->op == TC_OP_FLOAT;
}

static tc_dtype default_dtype(const tc_expr *imm) {
    return imm->op == TC_OP_FLOAT ? TC_F32 : TC_I64;
}

static void print(printer *p, const tc_expr *e, int min_prec);

/* An operand of an operation whose operands e->args[from..n) share one dtype. A literal may stand bare if another of them is
 * typed, or if it is the first and of the default dtype (the others then follow it). */
static void print_operand(printer *p, const tc_expr *e, int i, int from, int min_prec) {
    const tc_expr *x = e->args[i];
    if (!is_imm(x)) {
        print(p, x, min_prec);
        return;
    }
    bool typed = false;
    for (int k = from; k < e->nargs; k++)
        typed |= !is_imm(e->args[k]);
    print_imm(p, x, typed ? x->dtype : default_dtype(x));
}

static void print_list(printer *p, const tc_expr *e, int from) {
    for (int i = 0; i < e->nargs; i++) {
        tc_sb_add(p->b, i ? ", " : "");
        if (i < from)
            print(p, e->args[i], 0);
        else
            print_operand(p, e, i, from, 0);
    }
}

static void print_call(printer *p, const tc_expr *e, const char *name, int from) {
    tc_sb_printf(p->b, "%s(", name);
    print_list(p, e, from);
    if (e->op == TC_OP_RAMP || e->op == TC_OP_BCAST)
        tc_sb_printf(p->b, ", %d", e->lanes);
    tc_sb_addc(p->b, ')');
}

static void print_access(printer *p, const tc_expr *e) {
    tc_sb_printf(p->b, "%s[", p->namer(p->user, e));
    if (e->op == TC_OP_READ) {
        print_list(p, e, e->nargs);
    } else {
        print(p, e->args[0], 0);
        if (e->nargs == 2) {
            tc_sb_add(p->b, ", mask: ");
            print(p, e->args[1], 0);
        }
    }
    tc_sb_addc(p->b, ']');
}

/* x + -3 prints as x - 3; so does its vector form. */
static bool prints_as_minus(const tc_expr *e, const tc_expr **magnitude_of) {
    if (e->op != TC_OP_ADD)
        return false;
    const tc_expr *k = te_const(e->args[1]);
    *magnitude_of = k;
    return k && k->op == TC_OP_INT && !te_const(e->args[0]) && tc_dtype_is_signed(k->dtype) && k->u.i < 0 &&
           k->u.i != tc_int_min(k->dtype);
}

static void print_infix(printer *p, const tc_expr *e, int prec) {
    int left = prec == TE_PREC_COMPARE ? prec + 1 : prec;
    const tc_expr *k;
    print_operand(p, e, 0, 0, left);
    if (prints_as_minus(e, &k)) {
        if (e->lanes == 1)
            tc_sb_printf(p->b, " - %lld", -(long long)k->u.i);
        else if (k->dtype == TC_I64)
            tc_sb_printf(p->b, " - bcast(%lld, %d)", -(long long)k->u.i, e->lanes);
        else
            tc_sb_printf(p->b, " - bcast(%s(%lld), %d)", tc_dtype_name(k->dtype), -(long long)k->u.i, e->lanes);
        return;
    }
    tc_sb_printf(p->b, " %s ", tc_op_text(e->op));
    print_operand(p, e, 1, 0, prec + 1);
}

static void print(printer *p, const tc_expr *e, int min_prec) {
    int prec = te_precedence(e->op);
    bool paren = prec < min_prec;
    if (paren)
        tc_sb_addc(p->b, '(');
    if (is_imm(e)) {
        print_imm(p, e, default_dtype(e));
    } else if (e->op == TC_OP_VAR) {
        tc_sb_add(p->b, p->namer(p->user, e));
    } else if (tc_op_traits(e->op) & TC_MEMORY) {
        print_access(p, e);
    } else if (e->op == TC_OP_NOT) {
        tc_sb_addc(p->b, '!');
        print(p, e->args[0], TE_PREC_UNARY);
    } else if (prec < TE_PREC_UNARY) {
        print_infix(p, e, prec);
    } else if (e->op == TC_OP_CAST) {
        print_call(p, e, tc_dtype_name(e->dtype), 0);
    } else { /* the condition of a select has a dtype of its own */
        print_call(p, e, tc_op_text(e->op), e->op == TC_OP_SELECT);
    }
    if (paren)
        tc_sb_addc(p->b, ')');
}

static const char *own_name(void *unused, const tc_expr *e) {
    (void)unused;
    return e->op == TC_OP_VAR ? e->u.var->name : e->op == TC_OP_READ ? e->u.tensor->name : "?"; /* a buffer is TIR's to name */
}

void tc_expr_print_named(tc_strbuf *b, const tc_expr *e, tc_expr_namer *namer, void *user) {
    printer p = {b, namer, user};
    print(&p, e, 0);
}

void tc_expr_print(tc_strbuf *b, const tc_expr *e) {
    tc_expr_print_named(b, e, own_name, NULL);
}
