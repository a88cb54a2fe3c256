/* Removes parts from the annotated nest, so that passes see a program that never had them: tails, and the loads of sums. */
#include "tir_lower/passes/pass.h"
#include "tir_lower/program/ablate_int.h"

/* ---- tails ----
 *
 *     if guard io*16 + ii < 100 {S}   =>   if guard io*16 + 15 < 100 {S}          # ii < 16, unrolled or vectorised
 *
 * A tile is what is unrolled and vectorised, else the innermost loop of the condition. The new condition says that it holds for
 * the whole tile, so what was in bounds stays so. A guard is left that decides about values which addresses are made of. */

static bool of_tile(const tc_stmt *loop) {
    tc_for_kind kind = loop->u.loop.kind;
    return kind == TC_FOR_UNROLL || kind == TC_FOR_VECTOR || kind == TC_FOR_TENSOR;
}

/* The loop of a term that is its variable alone, times a number, with an extent that is known; NULL: it is none. */
static const ablate_loop *loop_of_term(const ablation *k, const tc_affine *a, int term) {
    const tc_expr *e = a->term[term].atom;
    const ablate_loop *l = e->op == TC_OP_VAR ? ablate_loop_of(k, e->u.var) : NULL;
    int64_t n;
    if (!l || !tir_const_extent(l->s, &n))
        return NULL;
    for (int i = 0; i < a->n; i++)
        if (i != term && tc_expr_uses_var(a->term[i].atom, e->u.var))
            return NULL;
    return l;
}

static bool any_of_tile(const ablation *k, const tc_affine *a) {
    for (int i = 0; i < a->n; i++) {
        const ablate_loop *l = loop_of_term(k, a, i);
        if (l && of_tile(l->s))
            return true;
    }
    return false;
}

/* Which term is the innermost loop; -1: none. */
static int innermost(const ablation *k, const tc_affine *a) {
    int deepest = -1, at = -1;
    for (int i = 0; i < a->n; i++) {
        const ablate_loop *l = loop_of_term(k, a, i);
        if (l && l->depth > deepest) {
            deepest = l->depth;
            at = i;
        }
    }
    return at;
}

/* The term's variable where the sum is least. */
static void take_least(const ablation *k, tc_affine *a, int term) {
    int64_t n, coef = a->term[term].coef;
    if (coef < 0 && tir_const_extent(loop_of_term(k, a, term)->s, &n))
        a->c += coef * (n - 1);
    tc_affine_drop(a, term);
}

/* One inequality for the whole tile; itself where it has no tile, or no tile would be whole. */
static const tc_expr *of_whole_tile(const ablation *k, const tc_expr *cond) {
    tc_affine a;
    if (!tir_cond_affine(k->c, cond, k->env, &a))
        return cond;
    if (any_of_tile(k, &a)) {
        for (int i = a.n - 1; i >= 0; i--) {
            const ablate_loop *l = loop_of_term(k, &a, i);
            if (l && of_tile(l->s))
                take_least(k, &a, i);
        }
    } else if (a.n > 1 && innermost(k, &a) >= 0) {
        take_least(k, &a, innermost(k, &a));
    }
    if (a.n == 0)
        return cond;
    const tc_expr *r = tir_affine_cond(k->c, &a);
    return tc_te_decide(r, k->env) == 0 ? cond : r;
}

typedef struct stored {
    const ablation *k;
    bool fixed;
} stored;

static void find_fixed_store(const tc_stmt *s, void *user) {
    stored *f = user;
    f->fixed |= s->kind == TC_STMT_STORE && ablate_is_fixed(f->k, s->u.store.buffer);
}

static bool stores_fixed(const ablation *k, const tc_stmt *s) {
    stored f = {.k = k};
    tc_tir_walk(s, find_fixed_store, &f);
    return f.fixed;
}

static bool is_tail(const ablation *k, const tc_expr *cond, const tc_expr *whole) {
    return whole != cond && tc_te_simplify(k->c, cond, k->env) != tc_te_simplify(k->c, whole, k->env);
}

static const tc_stmt *tail_rule(tc_ctx *c, const tc_stmt *s, void *user);

static const tir_rules TAIL_RULES = {{[TC_STMT_IF] = tail_rule}};

static const tc_stmt *tail_rule(tc_ctx *c, const tc_stmt *s, void *user) {
    ablation *k = user;
    const tc_expr *part[TIR_MAX_CONJUNCTS], *all = NULL;
    const tc_stmt *r = tir_rewrite_inside(c, &TAIL_RULES, s, k);
    int n = s->u.cond.guard ? tir_conjuncts(s->u.cond.cond, part, TIR_MAX_CONJUNCTS) : 0;
    if (!r || n == 0 || n > TIR_MAX_CONJUNCTS || s->u.cond.otherwise || stores_fixed(k, s))
        return r;
    bool any = false;
    for (int i = 0; i < n; i++) {
        const tc_expr *whole = of_whole_tile(k, part[i]);
        bool tail = is_tail(k, part[i], whole);
        any |= tail;
        all = all ? tc_bin(c, TC_OP_AND, all, tail ? whole : part[i]) : tail ? whole : part[i];
    }
    return any ? tc_tir_if(c, all, true, r->u.cond.then, NULL) : r;
}

tc_func *ablate_tails(ablation *k) {
    return ablate_with_body(k, tir_rewrite(k->c, &TAIL_RULES, k->f->body, k));
}

/* ---- loads ----
 *
 *     acc[i, j] = acc[i, j] + A[i, ko*4 + ki] * B[ko*4 + ki, j]   =>   acc[i, j] = acc[i, j] + A[i, 0] * B[0, j]
 *
 * What is left to load does not depend on the sum's loops, so that the compiler takes it out of them; the sums stay as many,
 * since each reads other elements. Operands that have no room in registers beside the sums would be spilled: these alternate
 * between two elements, k % 2, and are loaded from the first cache at each step. Loops of a unit's instruction stay, and so do
 * unrolled ones over narrow elements, which become such instructions (passes/units/dot.c). An index that a condition keeps in
 * bounds (padding) may stay as it is. */

enum {
    WIDE = 4, /* bytes of elements that no instruction takes several of */
    SPARE = 2 /* registers for what is not kept */
};

typedef struct sums {
    const ablation *k;
    const tc_stmt *store;
    TC_VEC(const tc_expr *) operands;
    tc_map kept; /* those that stay in registers */
} sums;

static bool is_stepped(const ablate_loop *l, const tc_expr *load) {
    tc_for_kind kind = l->s->u.loop.kind;
    if (!l->s->u.loop.reduce || l->of_unit)
        return false;
    return kind == TC_FOR_SERIAL || (kind == TC_FOR_UNROLL && tc_dtype_bytes((tc_dtype)load->dtype) >= WIDE);
}

static bool is_operand(const sums *x, const tc_expr *e) {
    return e->op == TC_OP_LOAD && e->u.buffer != x->store->u.store.buffer && !ablate_is_fixed(x->k, e->u.buffer);
}

static void add_operand(const tc_expr *e, void *user) {
    sums *x = user;
    if (is_operand(x, e))
        tc_push(&x->operands, e);
}

/* Registers that a tile of what is at this index takes. */
static int64_t registers_of(const sums *x, const tc_expr *index) {
    const tc_machine *m = x->k->m;
    int64_t lanes = TC_MAX(m->vector_bytes / tc_dtype_bytes(x->store->u.store.buffer->dtype), 1), all = 1, n;
    for (size_t i = 0; i < x->k->loops.len; i++) {
        const tc_stmt *l = x->k->loops.data[i].s;
        if (!of_tile(l) || l->u.loop.reduce || !tir_const_extent(l, &n) || !tc_expr_uses_var(index, l->u.loop.var))
            continue;
        all *= l->u.loop.kind == TC_FOR_UNROLL ? n : (n + lanes - 1) / lanes;
        all = TC_MIN(all, TC_MAX_SIZE);
    }
    return all;
}

/* The smallest first. */
static void choose_kept(sums *x) {
    int64_t left = x->k->m->vector_regs - registers_of(x, x->store->u.store.index) - SPARE;
    for (;;) {
        const tc_expr *best = NULL;
        int64_t least = left;
        for (size_t i = 0; i < x->operands.len; i++) {
            const tc_expr *e = x->operands.data[i];
            int64_t n = registers_of(x, e->args[0]);
            if (n <= least && !tc_map_get(&x->kept, e->id)) {
                best = e;
                least = n - 1; /* of equal ones the first */
            }
        }
        if (!best)
            return;
        left -= least + 1;
        tc_map_put(&x->kept, best->id, 1);
    }
}

/* The innermost loop that steps through the load's elements; NULL: none does. */
static const tc_stmt *stepping(const sums *x, const tc_expr *load) {
    const ablate_loop *best = NULL;
    for (size_t i = 0; i < x->k->loops.len; i++) {
        const ablate_loop *l = &x->k->loops.data[i];
        if (l->s->u.loop.kind == TC_FOR_SERIAL && is_stepped(l, load) && tc_expr_uses_var(load->args[0], l->s->u.loop.var) &&
            (!best || l->depth > best->depth))
            best = l;
    }
    return best ? best->s : NULL;
}

static const tc_expr *load_once(tc_ctx *c, const tc_expr *e, void *user) {
    const sums *x = user;
    if (!is_operand(x, e))
        return e;
    const tc_stmt *alternates = tc_map_get(&x->kept, e->id) ? NULL : stepping(x, e);
    const tc_expr *index = e->args[0];
    for (size_t i = 0; i < x->k->loops.len; i++) {
        const ablate_loop *l = &x->k->loops.data[i];
        const tc_var *v = l->s->u.loop.var;
        const tc_expr *to = l->s == alternates ? tc_mod(c, tc_varx(c, v), tc_i64(c, 2)) : tc_i64(c, 0);
        if (is_stepped(l, e))
            index = tc_expr_subst(c, index, 1, &v, &to);
    }
    if (index == e->args[0] || !ablate_within(x->k, e->u.buffer, index))
        return e;
    return tc_load(c, e->u.buffer, (tc_dtype)e->dtype, index, e->nargs > 1 ? e->args[1] : NULL);
}

static const tc_stmt *load_rule(tc_ctx *c, const tc_stmt *s, void *user) {
    const ablation *k = user;
    if (!ablate_accumulates(s) || ablate_is_fixed(k, s->u.store.buffer))
        return s;
    sums x = {.k = k, .store = s};
    tc_expr_walk(s->u.store.value, add_operand, &x);
    choose_kept(&x);
    const tc_expr *value = tc_expr_map(c, s->u.store.value, load_once, &x);
    tc_vec_free(&x.operands);
    tc_map_free(&x.kept);
    return tir_with_store(c, s, s->u.store.index, value, s->u.store.mask);
}

static const tc_stmt *arms_rule(tc_ctx *c, const tc_stmt *s, void *user);

static const tir_rules LOAD_RULES = {{[TC_STMT_STORE] = load_rule, [TC_STMT_IF] = arms_rule}};

static const tc_stmt *arms_rule(tc_ctx *c, const tc_stmt *s, void *user) {
    ablation *k = user;
    return tir_rewrite_arms(c, &LOAD_RULES, s, k->env, k);
}

tc_func *ablate_loads(ablation *k) {
    return ablate_with_body(k, tir_rewrite(k->c, &LOAD_RULES, k->f->body, k));
}
