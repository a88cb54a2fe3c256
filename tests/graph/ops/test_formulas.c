/* Definitions of pointwise operators: every row of the operator table is read, with all types and attributes that it takes; a wrong
 * text is refused with the operator's name and the place; and what inference makes of a definition. */
#include "graph/graph_text.h"
#include "graph/ops/formula.h"
#include "graph/ops/functions.h"

/* ---- every row ---- */

typedef struct row {
    tc_ctx *c;
    tc_graph *g;
    tc_graph_op op;
    tc_graph_definition d;
} row;

/* An expression of type t that is no constant. */
static const tc_expr *operand(tc_ctx *c, tc_dtype t) {
    return tc_cast(c, t, tc_varx(c, tc_var_new(c, "i")));
}

/* Attribute k of the definition has one of the values that tests tell apart. */
static void choose(const row *r, tc_graph_node *n, int k, int choice) {
    const tc_graph_parameter *p = &r->d.attr[k];
    if (p->nwords)
        tc_graph_set_str(r->g, n, p->id, p->word[choice % p->nwords]);
    else if (tc_graph_attr_kind_of(p->id) == TC_GRAPH_ATTR_INT)
        tc_graph_set_int(r->g, n, p->id, choice);
}

/* False: an operand cannot have this type. */
static bool operands_of(const row *r, tc_dtype t, const tc_expr **x) {
    const tc_graph_types *types = NULL;
    for (int k = 0; k < r->d.nin; k++) {
        types = r->d.in[k].types ? r->d.in[k].types : types;
        bool is_condition = tc_graph_types_have(types, TC_BOOL) && !tc_graph_types_have(types, TC_F32) && k + 1 < r->d.nin &&
                            r->d.in[k + 1].types;
        if (!is_condition && !tc_graph_types_have(types, t))
            return false;
        x[k] = operand(r->c, is_condition ? TC_BOOL : t);
    }
    return true;
}

static int apply_all(const row *r, tc_dtype t) {
    const tc_expr *x[TC_GRAPH_MAX_OPERANDS], *y;
    tc_error err = {0};
    if (!operands_of(r, t, x))
        return 0;
    tc_dtype result = r->d.result < 0 ? TC_BOOL : (tc_dtype)x[r->d.result]->dtype;
    for (int choices = 0; choices < 1 << TC_GRAPH_MAX_PARAMETERS; choices++) {
        tc_graph_node *n = tc_graph_new_node(r->g, r->op, "n", NULL, 0);
        for (int k = 0; k < r->d.nattrs; k++)
            choose(r, n, k, choices >> k & 1);
        if (tc_graph_apply_formula(r->c, &r->d, n, x, &y, &err) != TC_OK)
            fail_msg("the definition of %s, for %s: %s", tc_graph_op_name(r->op), tc_dtype_name(t), err.msg);
        if ((y->dtype == TC_BOOL) != (result == TC_BOOL))
            fail_msg("the definition of %s, for %s: the formula gives %s", tc_graph_op_name(r->op), tc_dtype_name(t),
                     tc_dtype_name(y->dtype));
    }
    return 1;
}

static void every_row_is_read(void **state) {
    (void)state;
    for (int op = 0; op < TC_GRAPH_OP_COUNT; op++) {
        const char *text = tc_graph_op_definition((tc_graph_op)op);
        const tc_graph_op_info *info = tc_graph_op_info_of((tc_graph_op)op);
        bool by_formula = tc_graph_functions_of((tc_graph_op)op)->at == tc_graph_at_pointwise;
        row r = {.op = (tc_graph_op)op};
        tc_error err = {0};
        if (!text && by_formula)
            fail_msg("%s has no definition", info->name);
        if (!text)
            continue;
        r.c = tc_ctx_new();
        r.g = tc_graph_new("formulas");
        if (tc_graph_read_definition(r.g->arena, r.op, text, &r.d, &err) != TC_OK)
            fail_msg("the definition of %s: %s", info->name, err.msg);
        if (r.d.nin < info->min_in || (info->max_in >= 0 && r.d.nin != info->max_in))
            fail_msg("the definition of %s has %d operands", info->name, r.d.nin);
        if (by_formula != (r.d.lexer.tok.kind != TC_TOK_EOF))
            fail_msg("%s needs a formula, or a function in C that makes its expression, and not both", info->name);
        int types = 0;
        for (int t = 0; by_formula && t < TC_NDTYPES; t++)
            types += tc_dtype_is_stored((tc_dtype)t) ? 0 : apply_all(&r, (tc_dtype)t);
        assert_true(!by_formula || types > 0);
        tc_graph_free(r.g);
        tc_ctx_free(r.c);
    }
}

/* ---- wrong texts ---- */

static tc_status apply_text(tc_graph_op op, const char *text, tc_error *err) {
    tc_ctx *c = tc_ctx_new();
    tc_graph *g = tc_graph_new("formulas");
    tc_graph_node *n = tc_graph_new_node(g, op, "n", NULL, 0);
    tc_graph_definition d;
    tc_status s = tc_graph_read_definition(g->arena, op, text, &d, err);
    if (s == TC_OK) {
        const tc_expr *x[TC_GRAPH_MAX_OPERANDS], *y;
        for (int k = 0; k < d.nin; k++)
            x[k] = operand(c, TC_F32);
        s = tc_graph_apply_formula(c, &d, n, x, &y, err);
    }
    tc_graph_free(g);
    tc_ctx_free(c);
    return s;
}

static void wrong_texts_are_refused(void **state) {
    static const struct {
        tc_graph_op op;
        const char *text, *place, *message;
    } cases[] = {
        {TC_GRAPH_OP_ELU, "x", "Elu:1:1", "expected '('"},
        {TC_GRAPH_OP_ELU, "(x): x", "Elu:1:3", "the first operand needs types: 'x: number'"},
        {TC_GRAPH_OP_ELU, "(x: half): x", "Elu:1:5", "'half' is no class of types"},
        {TC_GRAPH_OP_ELU, "(a: float, b, c, d): a", "Elu:1:19", "more than 3 operands"},
        {TC_GRAPH_OP_ELU, "(x: float, alpha = none): x", "Elu:1:20", "expected a number with a point, found 'none'"},
        {TC_GRAPH_OP_MOD, "(a: number, b, fmod = 0.0): a", "Mod:1:23", "expected a number without a point, found '0.0'"},
        {TC_GRAPH_OP_ELU, "(x: float) -> y: x", "Elu:1:15", "expected bool or an operand, found 'y'"},
        {TC_GRAPH_OP_ELU, "(x: float) x", "Elu:1:12", "expected ':'"},
        {TC_GRAPH_OP_ELU, "(x: float):", "Elu:1:12", "the expression ends too early"},
        {TC_GRAPH_OP_ELU, "(x: float): x * beta", "Elu:1:17", "unknown name 'beta'"},
        {TC_GRAPH_OP_ELU, "(x: float): expo(x)", "Elu:1:13", "unknown function 'expo'"},
        {TC_GRAPH_OP_ELU, "(x: float): x[x]", "Elu:1:15", "an index must be an integer"},
        {TC_GRAPH_OP_ELU, "(x: float): divided(x, x < 0)", "Elu:1:13", "must have one type, but are f32 and bool"},
        {TC_GRAPH_OP_ELU, "(x: float): divided(x)", "Elu:1:20", "divided takes 2 operands"},
        {TC_GRAPH_OP_ELU, "(x: float): x; x", "Elu:1:14", "expected the end of the text, found ';'"},
        {TC_GRAPH_OP_ELU, "(x: float): u = x u", "Elu:1:19", "expected ';'"},
        {TC_GRAPH_OP_ELU, "(x: float): if float: x", "Elu:1:24", "expected ';'"},
        {TC_GRAPH_OP_ELU, "(x: float): if bool: x", "Elu:1:23", "expected ';'"},
        {TC_GRAPH_OP_ELU, "(x: float, alpha = 1.0): if alpha: x; x", "Elu:1:34", "'alpha' is no test"},
        {TC_GRAPH_OP_ELU, "(x: float): if bool: x; if half: x; x", "Elu:1:32", "'half' is no test"},
        {TC_GRAPH_OP_ELU, "(x: float): a = x; b = a; c = b; d = c; e = d; f = e; g = f; h = g; h", "Elu:1:62",
         "more than 8 names"},
        {TC_GRAPH_OP_GELU, "(x: float, approximate = none | tahn): if approximate is tanh: x; x", "Gelu:1:62",
         "'approximate' is never 'tanh'"},
        {TC_GRAPH_OP_GELU, "(x: float, approximate = none | tanh | erf): x", "Gelu:1:40", "more than 2 words"},
    };
    (void)state;
    for (size_t i = 0; i < TC_LEN(cases); i++)
        assert_fails(TC_BAD_INPUT, apply_text(cases[i].op, cases[i].text, err), cases[i].place, cases[i].message);
}

/* ---- what a formula becomes ---- */

static void expect_expression(tc_graph_op op, tc_dtype t, const char *text, const char *want) {
    tc_ctx *c = tc_ctx_new();
    tc_graph *g = tc_graph_new("formulas");
    tc_graph_node *n = tc_graph_new_node(g, op, "n", NULL, 0);
    tc_graph_definition d;
    const tc_expr *x[] = {operand(c, t), operand(c, t), operand(c, t)}, *y;
    tc_strbuf b = {0};
    assert_ok(tc_graph_read_definition(g->arena, op, text, &d, err));
    assert_ok(tc_graph_apply_formula(c, &d, n, x, &y, err));
    tc_expr_print(&b, y);
    assert_string_equal(tc_sb_str(&b), want);
    tc_strbuf_free(&b);
    tc_graph_free(g);
    tc_ctx_free(c);
}

static void formulas_become_expressions(void **state) {
    (void)state;
    /* a default is f32; the first result whose test holds; a name that is given again */
    expect_expression(TC_GRAPH_OP_ELU, TC_F64, "(x: float, alpha = 0.1): x * alpha", "f64(i) * 0.10000000149011612");
    expect_expression(TC_GRAPH_OP_ABS, TC_I32, "(x: number): if signed: abs(x); x", "abs(i32(i))");
    expect_expression(TC_GRAPH_OP_ABS, TC_U32, "(x: number): if signed: abs(x); x", "u32(i)");
    expect_expression(TC_GRAPH_OP_ABS, TC_F32, "(x: number): if integer: x = f64(x); u = x * x; u = u + x; u * u",
                      "(f32(i) * f32(i) + f32(i)) * (f32(i) * f32(i) + f32(i))");
    expect_expression(TC_GRAPH_OP_GELU, TC_F32, "(x: float, approximate = none | tanh): if approximate is tanh: tanh(x); x",
                      "f32(i)");
    expect_expression(TC_GRAPH_OP_MOD, TC_I32, "(a: number, b, fmod = 1): if fmod: tmod(a, b); a % b", "tmod(i32(i), i32(i))");
    /* numbers of the type; a product where it equals the quotient */
    expect_expression(TC_GRAPH_OP_ABS, TC_U8, "(x: number): bitxor(x, ones)", "bitxor(u8(i), 255)");
    expect_expression(TC_GRAPH_OP_ABS, TC_I16, "(x: number): select(x < bits, x, ones)", "select(i16(i) < 16, i16(i), -1)");
    expect_expression(TC_GRAPH_OP_ABS, TC_F32, "(x: number): divided(x, 4) + divided(x, 3)", "f32(i) * 0.25 + f32(i) / 3.0");
}

/* ---- inference ---- */

static tc_status infer(const char *text, tc_error *err) {
    tc_graph *g = NULL;
    tc_status s = graph_of_text("formulas", text, &g, err);
    tc_graph_free(g);
    return s;
}

#define X(type) "input %x : " type "[2]\n"

static void inference_follows_the_definition(void **state) {
    (void)state;
    assert_ok(infer(X("u8") "%y = BitShift(%x, %x) {direction=\"LEFT\"}\noutput y = %y\n", err));
    assert_fails(TC_BAD_INPUT, infer(X("u8") "%y = BitShift(%x, %x)\noutput y = %y\n", err),
                 "attribute direction is ''; it must be LEFT or RIGHT");
    assert_fails(TC_BAD_INPUT, infer(X("f32") "%y = Gelu(%x) {approximate=\"erf\"}\noutput y = %y\n", err),
                 "attribute approximate is 'erf'; it must be none or tanh");
    assert_fails(TC_BAD_INPUT, infer(X("f32") "%y = BitwiseNot(%x)\noutput y = %y\n", err),
                 "input 0 ('x') must be an integer, but is f32");
    assert_fails(TC_BAD_INPUT, infer(X("f32") "%y = Not(%x)\noutput y = %y\n", err), "input 0 ('x') must be bool, but is f32");
    assert_fails(TC_BAD_INPUT, infer(X("i32") "%y = Mish(%x)\noutput y = %y\n", err),
                 "input 0 ('x') must be floating point, but is i32");
    assert_fails(TC_BAD_INPUT, infer(X("i32") "%e = Equal(%x, %x)\n%y = Add(%e, %x)\noutput y = %y\n", err),
                 "input 0 ('e') must be of numbers, but is bool");
    assert_fails(TC_BAD_INPUT, infer(X("f32") "%e = Equal(%x, %x)\n%y = Where(%e, %x, %e)\noutput y = %y\n", err),
                 "inputs 1 and 2 must have one type, but are f32 and bool");
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_row_is_read), cmocka_unit_test(wrong_texts_are_refused),
                                       cmocka_unit_test(formulas_become_expressions),
                                       cmocka_unit_test(inference_follows_the_definition)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
