/* Sizes that are defined by other sizes: total = past + new, rows = batch * length, half = (length + 1) / 2. */
#include "te/te_int.h"

static bool is_definition(const tc_expr *e) {
    if (e->dtype != TC_I64 || e->lanes != 1)
        return false;
    if (e->op == TC_OP_INT || tc_expr_is_symbol(e))
        return true;
    if (e->op == TC_OP_DIV)
        return e->args[1]->op == TC_OP_INT && e->args[1]->u.i > 0 && is_definition(e->args[0]);
    bool sums = e->op == TC_OP_ADD || e->op == TC_OP_SUB || e->op == TC_OP_MUL;
    return sums && is_definition(e->args[0]) && is_definition(e->args[1]);
}

/* A name stands for its definition, so that each line of a text can double the terms. */
bool tc_symbol_is_too_large(const tc_expr *value) {
    return value->depth > TC_MAX_DEPTH || tc_expr_tree_size(value, TC_MAX_SIZE_TREE) > TC_MAX_SIZE_TREE;
}

const char *tc_symbol_problem(const tc_expr *value) {
    _Static_assert(TC_MAX_SIZE_TREE == 1024, "the message names it");
    if (tc_symbol_is_too_large(value))
        return "with the definitions of its symbols written out, it has more than 1024 terms; define it by fewer symbols";
    if (!is_definition(value))
        return "expected symbols and integers with +, -, * and division by a positive integer";
    tc_ival r = tc_te_bounds(value, NULL);
    return r.lo < 0 || r.hi < 1 || r.hi > TC_MAX_SIZE ? "its value can be negative or too large, or is never positive" : NULL;
}

const tc_var *tc_symbol_defined(tc_ctx *c, const char *name, const tc_expr *value) {
    assert(!tc_symbol_problem(value));
    tc_ival r = tc_te_bounds(value, NULL);
    tc_var *v = (tc_var *)tc_symbol_new(c, name, r.lo, r.hi); /* made above, not const */
    v->value = value;
    return v;
}

static int64_t value_at(const tc_expr *e, int n, const tc_var *const *given, const int64_t *sizes) {
    if (e->op == TC_OP_INT)
        return e->u.i;
    if (e->op == TC_OP_VAR)
        return tc_symbol_at(e->u.var, n, given, sizes);
    return tc_eval_i(e->op, TC_I64, value_at(e->args[0], n, given, sizes), value_at(e->args[1], n, given, sizes));
}

int64_t tc_symbol_at(const tc_var *v, int n, const tc_var *const *given, const int64_t *sizes) {
    if (v->value)
        return value_at(v->value, n, given, sizes);
    for (int i = 0; i < n; i++)
        if (given[i] == v)
            return sizes[i];
    return v->most;
}

bool te_same_size(const tc_var *a, const tc_var *b) {
    return a == b || (a->value && a->value == b->value);
}
