/* From index expressions to pointers.
 *
 * An index is brought to the form  sum(coef * atom) + c + stride * lane  and built as a chain of pointer additions with the atoms
 * of outer loops first and the constant last:
 *
 *     p0 = base + coef(outer) * outer          computed once per outer iteration
 *     p1 = p0 + coef(k) * k                    the moving part
 *     p1 + c                                   folds into the displacement of the load
 *
 * Prefixes are memoised, so all accesses of an unrolled body that differ by constants share one register. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "codegen/code/code_int.h"

/* ---- the affine form ---- */

/* The integer that every lane of e is, if it is one. */
static bool constant_of(const tc_expr *e, int64_t *v) {
    while (e->op == TC_OP_BCAST)
        e = e->args[0];
    if (e->op != TC_OP_INT)
        return false;
    *v = e->u.i;
    return true;
}

/* a + b * c, which wraps as indices do */
static int64_t add_product(int64_t a, int64_t b, int64_t c) {
    return (int64_t)((uint64_t)a + (uint64_t)b * (uint64_t)c);
}

static bool flatten(const tc_expr *e, int64_t scale, tc_cg_index *x) {
    int64_t v;
    if (e->op == TC_OP_INT) {
        x->base.c = add_product(x->base.c, scale, e->u.i);
        return true;
    }
    if (e->op == TC_OP_BCAST)
        return flatten(e->args[0], scale, x);
    if (e->op == TC_OP_RAMP) {
        if (!constant_of(e->args[1], &v))
            return false;
        x->stride = add_product(x->stride, scale, v);
        return flatten(e->args[0], scale, x);
    }
    if (e->op == TC_OP_ADD || e->op == TC_OP_SUB)
        return flatten(e->args[0], scale, x) && flatten(e->args[1], e->op == TC_OP_ADD ? scale : add_product(0, scale, -1), x);
    if (e->op == TC_OP_MUL && constant_of(e->args[1], &v))
        return flatten(e->args[0], add_product(0, scale, v), x);
    if (e->op == TC_OP_MUL && constant_of(e->args[0], &v))
        return flatten(e->args[1], add_product(0, scale, v), x);
    return e->lanes == 1 && tc_affine_term(&x->base, e, scale);
}

bool tc_cg_flatten(const tc_expr *e, tc_cg_index *out) {
    out->base.n = 0;
    out->base.c = out->stride = 0;
    return e->dtype == TC_I64 && flatten(e, 1, out);
}

/* ---- ranges ---- */

tc_ival tc_cg_index_range(tc_cg *g, const tc_cg_index *x, int lanes) {
    const tc_affine *a = &x->base;
    tc_ival r = {a->c, a->c};
    for (int i = 0; i < a->n; i++)
        r = tc_ival_add(r, tc_ival_scale(tc_te_bounds(a->term[i].atom, g->k->env), a->term[i].coef));
    return tc_ival_add(r, tc_ival_scale((tc_ival){0, lanes - 1}, x->stride));
}

tc_ival tc_cg_range(tc_cg *g, const tc_expr *e) {
    if (e->lanes == 1)
        return tc_te_bounds(e, g->k->env);
    tc_cg_index x;
    if (tc_cg_flatten(e, &x))
        return tc_cg_index_range(g, &x, e->lanes);
    int64_t k;
    bool by = e->nargs == 2 && constant_of(e->args[1], &k) && k > 0;
    if (e->op == TC_OP_BCAST)
        return tc_te_bounds(e->args[0], g->k->env);
    if (e->op == TC_OP_DIV && by && e->dtype == TC_I64)
        return tc_ival_div(tc_cg_range(g, e->args[0]), (tc_ival){k, k}, true);
    if (e->op == TC_OP_MOD && by && e->dtype == TC_I64)
        return (tc_ival){0, k - 1};
    if ((e->op == TC_OP_ADD || e->op == TC_OP_SUB) && e->dtype == TC_I64) {
        tc_ival b = tc_cg_range(g, e->args[1]);
        return tc_ival_add(tc_cg_range(g, e->args[0]), e->op == TC_OP_ADD ? b : tc_ival_scale(b, -1));
    }
    if (e->op == TC_OP_MUL && by && e->dtype == TC_I64)
        return tc_ival_scale(tc_cg_range(g, e->args[0]), k);
    return tc_ival_of_dtype(e->dtype);
}

int tc_cg_index_align(const tc_cg_index *x, int bytes, int base_align) {
    uint64_t bits = (uint64_t)base_align | (uint64_t)x->base.c * (uint64_t)bytes;
    for (int i = 0; i < x->base.n; i++)
        bits |= (uint64_t)x->base.term[i].coef * (uint64_t)bytes;
    return (int)(bits & -bits);
}

/* ---- values ---- */

typedef struct innermost {
    tc_map *var_at;
    int depth;
} innermost;

static void find_innermost(const tc_expr *e, void *user) {
    innermost *x = user;
    const uintptr_t *at = e->op == TC_OP_VAR ? tc_map_get(x->var_at, e->u.var->id) : NULL;
    if (at)
        x->depth = TC_MAX(x->depth, (int)*at);
    if (e->op == TC_OP_LOAD)
        x->depth = INT32_MAX;
}

/* Nesting depth of the innermost variable that e depends on; reading memory counts as innermost. */
static int depth_of(tc_cg *g, const tc_expr *e) {
    innermost x = {.var_at = &g->k->var_at};
    tc_expr_walk(e, find_innermost, &x);
    return x.depth;
}

/* The terms by depth, outermost first, and as they are written where it is the same. */
static void order_terms(tc_cg *g, const tc_affine *a, const tc_term **order) {
    int depth[TC_MAX_TERMS];
    tc_affine_order(a, order);
    for (int i = 0; i < a->n; i++) {
        const tc_term *t = order[i];
        int d = depth_of(g, t->atom), j = i;
        for (; j > 0 && depth[j - 1] > d; j--) {
            depth[j] = depth[j - 1];
            order[j] = order[j - 1];
        }
        depth[j] = d;
        order[j] = t;
    }
}

/* Sums and products get LLVM's promise that they do not wrap where their ranges show it. */
static tc_val term_value(tc_cg *g, const tc_term *t, tc_ival *range) {
    tc_val v = tc_cg_expr(g, t->atom);
    *range = tc_ival_scale(tc_te_bounds(t->atom, g->k->env), t->coef);
    if (!v)
        return tc_cg_i64(g, 0);
    if (t->coef == 1)
        return v;
    return (tc_ival_bounded(*range) ? LLVMBuildNSWMul : LLVMBuildMul)(g->b, v, tc_cg_i64(g, t->coef), "");
}

static tc_val add(tc_cg *g, tc_val a, tc_ival *range, tc_val b, tc_ival with) {
    *range = tc_ival_add(*range, with);
    return (tc_ival_bounded(*range) ? LLVMBuildNSWAdd : LLVMBuildAdd)(g->b, a, b, "");
}

tc_val tc_cg_index_value(tc_cg *g, const tc_cg_index *x) {
    const tc_affine *a = &x->base;
    const tc_term *order[TC_MAX_TERMS];
    tc_ival range, of_term;
    order_terms(g, a, order);
    if (!a->n)
        return tc_cg_i64(g, a->c);
    tc_val v = term_value(g, order[0], &range);
    for (int k = 1; k < a->n; k++) {
        tc_val t = term_value(g, order[k], &of_term);
        v = add(g, v, &range, t, of_term);
    }
    return a->c ? add(g, v, &range, tc_cg_i64(g, a->c), (tc_ival){a->c, a->c}) : v;
}

static tc_val advance(tc_cg *g, const tc_slot *s, tc_val p, tc_val by) {
    return LLVMBuildGEP2(g->b, tc_cg_mem_type(g, s->buffer->dtype), p, &by, 1, "");
}

/* The number of the prefix that a term makes of the prefix `before`; before 0: of a buffer alone, whose id is `atom`. It is 1 or
 * more. Two prefixes never have one number: a kernel's text chooses the coefficients, and could choose them so that hashes of two
 * prefixes are equal. */
static uint64_t prefix_of(tc_cg *g, uint64_t before, uint64_t atom, int64_t coef) {
    char key[64];
    snprintf(key, sizeof key, "%" PRIx64 " %" PRIx64 " %" PRIx64, before, atom, (uint64_t)coef);
    const uintptr_t *known = tc_map_gets(&g->k->prefixes, key);
    if (!known)
        tc_map_puts(&g->k->prefixes, key, g->k->prefixes.len + 1);
    return known ? *known : g->k->prefixes.len;
}

tc_val tc_cg_pointer(tc_cg *g, const tc_slot *s, const tc_cg_index *x) {
    const tc_affine *a = &x->base;
    const tc_term *order[TC_MAX_TERMS];
    order_terms(g, a, order);
    tc_val p = s->ptr;
    uint64_t prefix = prefix_of(g, 0, s->buffer->id, 0);
    bool mutable_index = false;
    tc_ival range;
    for (int k = 0; k < a->n; k++) {
        const tc_term *t = order[k];
        mutable_index |= tc_cg_flags(g, t->atom) & TC_EF_MUTABLE;
        prefix = prefix_of(g, prefix, t->atom->id, t->coef);
        uint64_t key = prefix | 1ull << 63; /* no expression's id */
        tc_memo *memo = mutable_index ? &g->k->local : &g->k->pure;
        tc_val known = (tc_val)tc_memo_get(memo, key);
        if (!known) {
            known = advance(g, s, p, term_value(g, t, &range));
            tc_memo_set(memo, key, (uintptr_t)known);
        }
        p = known;
    }
    return a->c ? advance(g, s, p, tc_cg_i64(g, a->c)) : p;
}

tc_val tc_cg_element(tc_cg *g, const tc_slot *s, tc_val index) {
    return advance(g, s, s->ptr, index);
}
