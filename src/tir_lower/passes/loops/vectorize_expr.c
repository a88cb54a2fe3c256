/* The expressions of vectorise, rewritten bottom-up. An expression without the lane variable stays scalar until it meets a
 * vector. See vectorize.c. */
#include "tir_lower/passes/loops/vectorize_int.h"

#include <assert.h>
#include <math.h>

const tc_expr *tir_widen(const tir_vectoriser *k, const tc_expr *e) {
    return e->lanes == 1 ? tc_bcast(k->c, e, k->lanes) : e;
}

static const tc_expr *with_vectors(tir_vectoriser *k, const tc_expr *e, const tc_expr **args) {
    bool any = false, changed = false;
    for (int i = 0; i < e->nargs; i++) {
        any |= args[i]->lanes > 1;
        changed |= args[i] != e->args[i];
    }
    for (int i = 0; any && i < e->nargs; i++)
        args[i] = tir_widen(k, args[i]);
    return changed ? tc_with_args(k->c, e, args) : e;
}

static const tc_expr *vec_operands(tir_vectoriser *k, const tc_expr *e) {
    const tc_expr *args[4];
    assert(e->nargs <= 4);
    for (int i = 0; i < e->nargs; i++)
        args[i] = tir_vec(k, e->args[i]);
    return with_vectors(k, e, args);
}

/* Whether an atom of an index keeps it from being a ramp: it varies by lane, or it loads what no lane may be entitled to. */
static bool by_lane(const tir_vectoriser *k, const tc_expr *atom) {
    return atom->op != TC_OP_VAR &&
           (tc_expr_uses_var(atom, k->u) || ((k->arm || k->maybe_empty) && tc_expr_touches_memory(atom)));
}

/* e, simplified: so are its operands then, and need not be at each level of what may be deep. It may be no arithmetic any more. */
static const tc_expr *vec_simple(tir_vectoriser *k, const tc_expr *e) {
    bool before = k->simple;
    k->simple = true;
    e = tir_vec(k, tc_te_simplify(k->c, e, k->env));
    k->simple = before;
    return e;
}

/* i64 arithmetic: a ramp if it is affine in u; (16 * x + u) / 16 is, once simplified. */
static const tc_expr *vec_index(tir_vectoriser *k, const tc_expr *e) {
    tc_affine a = {0};
    if (e->nargs == 0)
        return tir_vec(k, e);
    if (!(k->simple ? tc_affine_linear(&a, e, 1) : tc_te_affine(k->c, e, k->env, &a)))
        return vec_operands(k, e);
    int64_t stride = 0;
    bool other = false;
    for (int i = a.n; i-- > 0;) {
        const tc_expr *atom = a.term[i].atom;
        if (atom->op == TC_OP_VAR && atom->u.var == k->u) {
            stride = a.term[i].coef;
            tc_affine_drop(&a, i);
        } else {
            other |= by_lane(k, atom);
        }
    }
    if (other && k->simple)
        return vec_operands(k, e);
    if (other)
        return vec_simple(k, e);
    return stride ? tc_ramp(k->c, tc_te_from_affine(k->c, &a), tc_i64(k->c, stride), k->lanes) : tc_te_from_affine(k->c, &a);
}

/* Whether every lane may be read, whatever the program's conditions say: an input, in bounds. */
static bool readable(const tir_vectoriser *k, const tc_buffer *b, const tc_expr *index) { /* index: scalar, in u */
    if (b->scope != TC_BUF_PARAM || !b->tensor || b->tensor->op)
        return false;
    tc_ival r = tc_te_bounds(index, k->env);
    return r.lo >= 0 && r.hi < tc_tir_least_size(b) && k->active == k->lanes;
}

static const tc_expr *vec_load(tir_vectoriser *k, const tc_expr *e) {
    for (const tir_vectoriser *o = k->outer; o; o = o->outer)
        if (tir_memo_get(&o->memo, e)) /* read there in any case */
            return tir_memo_get(&o->memo, e);
    const tc_expr *v = tir_vec(k, e->args[0]), *mask = k->mask;
    bool maybe_empty = k->maybe_empty;
    if (k->arm && !readable(k, e->u.buffer, e->args[0])) {
        mask = k->arm;
        maybe_empty = true;
    }
    if (v->lanes == 1 && !maybe_empty)
        return v == e->args[0] ? e : tc_load(k->c, e->u.buffer, e->dtype, v, NULL);
    return tc_load(k->c, e->u.buffer, e->dtype, tir_widen(k, v), mask);
}

/* The value of an arm of a select, read only where `taken`. */
static const tc_expr *vec_arm(tir_vectoriser *k, const tc_expr *e, const tc_expr *taken) {
    if (!tc_expr_touches_memory(e))
        return tir_vec(k, e);
    const tc_expr *outer = k->arm ? k->arm : k->mask;
    tir_vectoriser in = *k;
    in.memo = (tir_memo){0};
    in.outer = k;
    in.arm = outer ? tc_bin(k->c, TC_OP_AND, outer, taken) : taken;
    const tc_expr *r = tir_vec(&in, e);
    tir_memo_free(&in.memo);
    return r;
}

static bool is_zero(const tc_expr *e) {
    if (e->op == TC_OP_BCAST)
        e = e->args[0];
    return (e->op == TC_OP_INT && e->u.i == 0) || (e->op == TC_OP_FLOAT && e->u.f == 0 && !signbit(e->u.f));
}

/* select(m, B[x, m], 0) is B[x, m]: lanes off load 0. */
static bool is_masked_load(const tc_expr *const *args) {
    const tc_expr *load = args[1];
    return load->op == TC_OP_LOAD && load->nargs == 2 && load->args[1] == args[0] && is_zero(args[2]);
}

static const tc_expr *vec_select(tir_vectoriser *k, const tc_expr *e) {
    const tc_expr *cond = tir_vec(k, k->simple ? e->args[0] : tc_te_simplify(k->c, e->args[0], k->env));
    if (cond->op == TC_OP_INT)
        return tir_vec(k, e->args[cond->u.i ? 1 : 2]);
    if (cond->lanes == 1 && !tc_expr_uses_var(e, k->u) && !k->arm && !k->maybe_empty)
        return e;
    cond = tir_widen(k, cond);
    const tc_expr *args[3] = {cond, vec_arm(k, e->args[1], cond), vec_arm(k, e->args[2], tc_un(k->c, TC_OP_NOT, cond))};
    return is_masked_load(args) ? args[1] : with_vectors(k, e, args);
}

static const tc_expr *vec_node(tir_vectoriser *k, const tc_expr *e) {
    if (e->op == TC_OP_LOAD)
        return vec_load(k, e);
    if (e->op == TC_OP_SELECT)
        return vec_select(k, e);
    return e->dtype == TC_I64 ? vec_index(k, e) : vec_operands(k, e);
}

const tc_expr *tir_vec(tir_vectoriser *k, const tc_expr *e) {
    if (e->op == TC_OP_VAR)
        return e->u.var == k->u ? tc_ramp(k->c, tc_i64(k->c, 0), tc_i64(k->c, 1), k->lanes) : e;
    if (e->nargs == 0)
        return e;
    const tc_expr *r = tir_memo_get(&k->memo, e);
    if (!r) {
        r = vec_node(k, e);
        tir_memo_put(&k->memo, e, r);
    }
    return r;
}
