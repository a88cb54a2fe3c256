/* One stage's loop nest, as numbers and expressions. The extents of its region give the extents of its leaf loops. The leaf
 * variables give the coordinate of each root axis. The nest also has the boundary tests.
 *
 *     split  whole -> p0, p1 .. pn   p_i runs to min(f_i, ceil(ext / f_i+1 .. f_n)), p0 to ceil(ext / f_1 .. f_n);
 *                                    whole = (p0 * f1 + p1) * f2 + p2 .., guarded by whole < ext unless it divides
 *     fuse   p0, p1 .. pn -> whole   whole runs to the product; p_n = whole % ext_n, p_n-1 = whole / ext_n % ext_n-1 ..
 *                                    by sizes instead, if axes vary and more loops are inside
 *
 * Guards stand in normal form (an affine comparison). Each guard is a condition of its own, as far out as its variables allow. */
#include "support/map.h"
#include "support/vec.h"
#include "tir_lower/build/build_int.h"

static const tc_var *symbol_of(const nest *n, int i) {
    const tc_compute *op = n->st->op;
    return i < n->naxis ? op->axes[i].symbol : op->raxes[i - n->naxis].symbol;
}

static void split_extents(builder *b, const tc_rel *r) {
    int64_t ext = b->loop_ext[r->whole], inner = 1;
    for (int i = r->n - 1; i > 0; i--) {
        b->loop_ext[r->parts[i]] = TC_MIN(r->factor[i], tc_ceil_div(ext, inner));
        inner *= r->factor[i];
    }
    b->loop_ext[r->parts[0]] = tc_ceil_div(ext, inner);
}

static void fuse_extents(builder *b, const tc_rel *r) {
    int64_t ext = 1;
    for (int i = 0; i < r->n; i++)
        ext *= b->loop_ext[r->parts[i]];
    b->loop_ext[r->whole] = ext;
}

static void leaf_extents(builder *b, nest *n) {
    for (int i = 0; i < n->nroot; i++)
        b->loop_ext[n->st->root[i]] = n->ext[i];
    for (int i = 0; i < n->st->nrel; i++) {
        const tc_rel *r = &n->st->rel[i];
        if (r->kind == TC_REL_SPLIT)
            split_extents(b, r);
        else
            fuse_extents(b, r);
    }
}

static void leaf_vars(builder *b, nest *n) {
    for (int i = 0; i < n->st->nleaf; i++) {
        tc_loop l = n->st->leaf[i];
        if (b->loop_ext[l] == 1 && b->s->loops[l].kind != TC_FOR_TENSOR) {
            b->loop_val[l] = tc_i64(b->c, 0);
            continue;
        }
        n->var[i] = tc_var_new(b->c, b->s->loops[l].name);
        b->loop_val[l] = tc_varx(b->c, n->var[i]);
        tc_env_set(b->env, n->var[i], (tc_ival){0, b->loop_ext[l] - 1});
    }
}

/* The innermost leaf that cond uses, and 1. */
static int depth_of(const nest *n, const tc_expr *cond) {
    int depth = 0;
    for (int i = 0; i < n->st->nleaf; i++)
        if (n->var[i] && tc_expr_uses_var(cond, n->var[i]))
            depth = i + 1;
    return depth;
}

/* `update`: it says whether there is anything to reduce, and so never keeps the initialisation. */
static void add_guard(builder *b, nest *n, const tc_expr *cond, bool update) {
    cond = tc_te_simplify(b->c, cond, b->env);
    if (tc_is_int(cond, 1))
        return;
    for (size_t i = 0; i < n->guards.len; i++)
        if (n->guards.data[i].cond == cond)
            return;
    nest_guard g = {.cond = cond, .depth = update ? n->first_reduce + 1 : 0, .reduce = update};
    for (int i = 0; i < n->st->nleaf; i++)
        if (n->var[i] && tc_expr_uses_var(cond, n->var[i])) {
            g.depth = TC_MAX(g.depth, i + 1);
            g.reduce |= b->s->loops[n->st->leaf[i]].reduce;
        }
    tc_push(&n->guards, g);
}

static void split_value(builder *b, nest *n, const tc_rel *r) {
    tc_ctx *c = b->c;
    const tc_expr *v = b->loop_val[r->parts[0]];
    int64_t span = b->loop_ext[r->parts[0]] - 1;
    for (int i = 1; i < r->n; i++) {
        v = tc_add(c, tc_mul(c, v, tc_i64(c, r->factor[i])), b->loop_val[r->parts[i]]);
        span = span * r->factor[i] + b->loop_ext[r->parts[i]] - 1;
    }
    v = tc_te_simplify(c, v, b->env);
    b->loop_val[r->whole] = v;
    if (span >= b->loop_ext[r->whole])
        add_guard(b, n, tc_bin(c, TC_OP_LT, v, tc_i64(c, b->loop_ext[r->whole])), false);
}

static tc_status check_value(const builder *b, tc_loop l) {
    if (tc_sch_index_fits(b->loop_val[l]))
        return TC_OK;
    return tc_fail(b->err, TC_ILLEGAL, "loop %s is an expression of more than %d terms: it is split and fused too often",
                   b->s->loops[l].name, TC_SCH_MAX_INDEX);
}

static void fuse_values(builder *b, const tc_rel *r) {
    tc_ctx *c = b->c;
    const tc_expr *rest = b->loop_val[r->whole];
    for (int i = r->n - 1; i > 0; i--) {
        const tc_expr *ext = tc_i64(c, b->loop_ext[r->parts[i]]);
        b->loop_val[r->parts[i]] = tc_te_simplify(c, tc_mod(c, rest, ext), b->env);
        rest = tc_te_simplify(c, tc_div(c, rest, ext), b->env);
    }
    b->loop_val[r->parts[0]] = rest;
}

/* ---- loops fused of axes that vary ---- */

/* The root axis that loop l is; -1: it is none. */
static int root_of(const nest *n, tc_loop l) {
    for (int i = 0; i < n->naxis; i++)
        if (n->st->root[i] == l)
            return i;
    return -1;
}

/* Whether the leaves that are made of r's loop have something inside, and are no tile. */
static bool is_outer_loop(const builder *b, const nest *n, const tc_rel *r) {
    const tc_stage *st = n->st;
    tc_map made = {0};
    tc_map_put(&made, (uint64_t)r->whole, 1);
    for (const tc_rel *q = r + 1; q < st->rel + st->nrel; q++) {
        bool from = q->kind == TC_REL_SPLIT && tc_map_get(&made, (uint64_t)q->whole);
        for (int i = 0; q->kind == TC_REL_FUSE && i < q->n; i++)
            from |= tc_map_get(&made, (uint64_t)q->parts[i]) != NULL;
        for (int i = 0; from && q->kind == TC_REL_SPLIT && i < q->n; i++)
            tc_map_put(&made, (uint64_t)q->parts[i], 1);
        if (from && q->kind == TC_REL_FUSE)
            tc_map_put(&made, (uint64_t)q->whole, 1);
    }
    bool outer = true;
    for (int i = 0; i < st->nleaf; i++)
        if (tc_map_get(&made, (uint64_t)st->leaf[i]))
            outer &= i + 1 < st->nleaf &&
                     (b->s->loops[st->leaf[i]].kind == TC_FOR_SERIAL || b->s->loops[st->leaf[i]].kind == TC_FOR_PARALLEL);
    tc_map_free(&made);
    return outer;
}

/* Rows of several dimensions: 12 x N of them are 12 * N iterations, not 12 times as many as N may be. */
static bool fuses_sizes(const builder *b, const nest *n, const tc_rel *r) {
    bool varies = false;
    if (!b->s->workload->nsymbol || n->at_pos >= 0)
        return false;
    for (int i = 0; i < r->n; i++) {
        int d = root_of(n, r->parts[i]);
        if (d < 0)
            return false;
        varies |= i > 0 && symbol_of(n, d);
    }
    return varies && is_outer_loop(b, n, r);
}

static const tc_expr *root_size(const builder *b, const nest *n, int d) {
    if (n->part.size && n->part.axis == d)
        return n->part.size;
    return symbol_of(n, d) ? tir_symbol(b->c, symbol_of(n, d)) : tc_i64(b->c, n->ext[d]);
}

static void note_within(builder *b, nest *n, int d, const tc_expr *value, const tc_expr *size, int depth) {
    const tc_expr *facts[] = {tc_bin(b->c, TC_OP_GE, value, tc_i64(b->c, 0)), tc_bin(b->c, TC_OP_LT, value, size)};
    n->within |= (uint64_t)1 << d;
    for (int i = 0; i < 2; i++)
        tc_push(&n->facts, ((nest_guard){.cond = facts[i], .depth = depth}));
}

/* As fuse_values, with quotients and remainders by sizes: where the guard holds, each is less than its size. */
static void fuse_values_by_size(builder *b, nest *n, const tc_rel *r) {
    tc_ctx *c = b->c;
    const tc_expr *rest = b->loop_val[r->whole], *total = NULL;
    for (int i = 0; i < r->n; i++) {
        const tc_expr *size = root_size(b, n, root_of(n, r->parts[i]));
        total = total ? tc_mul(c, total, size) : size;
    }
    int depth = depth_of(n, rest);
    add_guard(b, n, tc_bin(c, TC_OP_LT, rest, total), false);
    for (int i = r->n - 1; i >= 0; i--) {
        int d = root_of(n, r->parts[i]);
        const tc_expr *size = root_size(b, n, d), *value = i ? tc_mod(c, rest, size) : rest;
        b->loop_val[r->parts[i]] = tc_te_simplify(c, value, b->env);
        note_within(b, n, d, b->loop_val[r->parts[i]], size, depth);
        rest = tc_te_simplify(c, tc_div(c, rest, size), b->env);
    }
}

/* From the leaves back to the root axes. */
static tc_status loop_values(builder *b, nest *n) {
    for (int i = n->st->nrel - 1; i >= 0; i--) {
        const tc_rel *r = &n->st->rel[i];
        if (r->kind == TC_REL_SPLIT) {
            split_value(b, n, r);
            TC_TRY(check_value(b, r->whole));
            continue;
        }
        if (fuses_sizes(b, n, r))
            fuse_values_by_size(b, n, r);
        else
            fuse_values(b, r);
        for (int k = 0; k < r->n; k++)
            TC_TRY(check_value(b, r->parts[k]));
    }
    return TC_OK;
}

/* Regions may reach past the tensor: no coordinate out there is computed, because its operands may not exist. */
static void shape_guards(builder *b, nest *n, int d) {
    tc_ctx *c = b->c;
    int64_t shape = n->st->op->axes[d].extent;
    tc_ival m = tc_te_bounds(n->min[d], b->env);
    if (m.lo < 0)
        add_guard(b, n, tc_bin(c, TC_OP_GE, n->value[d], tc_i64(c, 0)), false);
    if (m.hi > shape - n->ext[d])
        add_guard(b, n, tc_bin(c, TC_OP_LT, n->value[d], tc_i64(c, shape)), false);
}

/* One that another implies. */
static void drop_guard(builder *b, nest *n, const tc_expr *cond) {
    size_t kept = 0;
    cond = tc_te_simplify(b->c, cond, b->env);
    for (size_t i = 0; i < n->guards.len; i++)
        if (n->guards.data[i].cond != cond)
            n->guards.data[kept++] = n->guards.data[i];
    n->guards.len = kept;
}

/* Assumes what the guards of n outside of leaf position `depth` say of sizes; `init`: those that the initialisation has. */
static void suppose(builder *b, const nest *n, int depth, bool init) {
    for (size_t i = 0; i < n->guards.len; i++) {
        const nest_guard *g = &n->guards.data[i];
        if (g->depth <= depth && !(init && g->reduce) && tc_expr_names_symbol(g->cond))
            tc_env_assume(b->env, g->cond);
    }
    for (size_t i = 0; i < n->facts.len; i++)
        if (n->facts.data[i].depth <= depth)
            tc_env_assume(b->env, n->facts.data[i].cond);
}

/* The same of the nests that n stands in. */
static size_t suppose_around(builder *b, const nest *n) {
    size_t mark = tc_env_mark(b->env);
    for (; b->s->workload->nsymbol && n->at_pos >= 0; n = &b->nests[n->st->at_stage])
        suppose(b, &b->nests[n->st->at_stage], n->at_pos + 1, false);
    return mark;
}

size_t nest_suppose(builder *b, const nest *n, bool init) {
    size_t mark = suppose_around(b, n);
    if (b->s->workload->nsymbol)
        suppose(b, n, n->st->nleaf, init);
    return mark;
}

/* x < size. Of loops that are fused, x is y / c and more: y / c + z < size is y + c * z < c * size, without a division. */
static const tc_expr *below(builder *b, const tc_expr *x, const tc_expr *size) {
    tc_affine a;
    int at = -1;
    if (!tc_te_affine(b->c, x, b->env, &a))
        return tc_bin(b->c, TC_OP_LT, x, size);
    for (int i = 0; i < a.n && at < 0; i++) {
        const tc_expr *e = a.term[i].atom;
        if (a.term[i].coef == 1 && e->op == TC_OP_DIV && e->args[1]->op == TC_OP_INT && e->args[1]->u.i > 0)
            at = i;
    }
    if (at < 0)
        return tc_bin(b->c, TC_OP_LT, x, size);
    const tc_expr *y = a.term[at].atom->args[0], *c = a.term[at].atom->args[1];
    tc_affine_drop(&a, at);
    const tc_expr *whole = tc_add(b->c, y, tc_mul(b->c, tc_te_from_affine(b->c, &a), c));
    return below(b, tc_te_simplify(b->c, whole, b->env), tc_mul(b->c, size, c));
}

/* Loops run to the most that a size may be. */
static void symbol_guard(builder *b, nest *n, int i) {
    const tc_var *symbol = symbol_of(n, i);
    if (!symbol)
        return;
    drop_guard(b, n, tc_bin(b->c, TC_OP_LT, n->value[i], tc_i64(b->c, symbol->most)));
    bool may_be_nothing = i >= n->naxis && symbol->least == 0;
    add_guard(b, n, below(b, n->value[i], tir_symbol(b->c, symbol)), may_be_nothing && n->reduces);
}

/* Of an axis of which a part is computed, whose loops run as far as if it were all. */
static void part_values(builder *b, nest *n) {
    int i = n->part.axis;
    n->value[i] = tc_te_simplify(b->c, tc_add(b->c, n->part.from, n->local[i]), b->env);
    if (n->within >> i & 1)
        return;
    drop_guard(b, n, tc_bin(b->c, TC_OP_LT, n->local[i], tc_i64(b->c, n->ext[i])));
    add_guard(b, n, below(b, n->local[i], n->part.size), false);
}

static void root_values(builder *b, nest *n) {
    for (int i = 0; i < n->nroot; i++) {
        n->local[i] = b->loop_val[n->st->root[i]];
        n->value[i] = n->local[i];
        if (!tc_is_int(n->min[i], 0)) {
            n->value[i] = tc_te_simplify(b->c, tc_add(b->c, n->min[i], n->local[i]), b->env);
            shape_guards(b, n, i);
        }
        if (n->part.size && n->part.axis == i)
            part_values(b, n);
        else if (!(n->within >> i & 1))
            symbol_guard(b, n, i);
    }
}

static void note_read(const tc_expr *e, void *user) {
    if (e->op != TC_OP_READ)
        return;
    builder *b = ((void **)user)[0];
    const nest *n = ((void **)user)[1];
    int o;
    tc_push(&b->reads, ((read_ref){e, n->id, stage_of_tensor(b, e->u.tensor, &o)}));
}

static void make_body(builder *b, nest *n) {
    const tc_compute *op = n->st->op;
    const tc_var **vars = TC_NEW_N(tc_ctx_arena(b->c), const tc_var *, n->nroot);
    for (int i = 0; i < n->nroot; i++)
        vars[i] = i < op->naxis ? op->axes[i].var : op->raxes[i - op->naxis].var;
    void *user[] = {b, n};
    size_t mark = nest_suppose(b, n, false);
    for (int o = 0; o < op->nout; o++) {
        n->body[o] = tc_te_simplify(b->c, tc_expr_subst(b->c, op->body[o], n->nroot, vars, n->value), b->env);
        tc_expr_walk(n->body[o], note_read, user);
    }
    tc_env_undo(b->env, mark);
}

/* A reduction over a single element is its value, unless there may be none. */
static bool may_reduce_nothing(const nest *n) {
    bool any = false;
    for (int i = n->naxis; i < n->nroot; i++)
        any |= symbol_of(n, i) && symbol_of(n, i)->least == 0;
    return any;
}

static void leaf_kinds(builder *b, nest *n) {
    n->first_reduce = n->st->nleaf;
    for (int i = n->st->nleaf - 1; i >= 0; i--) {
        const tc_loop_info *l = &b->s->loops[n->st->leaf[i]];
        n->kind[i] = l->kind;
        if (!l->reduce || (b->loop_ext[n->st->leaf[i]] == 1 && !may_reduce_nothing(n)))
            continue;
        n->reduces = n->st->op->reducer != TC_RED_NONE;
        n->first_reduce = i;
    }
    /* A unit's loops stay together: results are set to zero before the outermost of them. */
    while (n->first_reduce < n->st->nleaf && n->first_reduce > 0 && n->kind[n->first_reduce - 1] == TC_FOR_TENSOR)
        n->first_reduce--;
}

tc_status nest_finish(builder *b, nest *n) {
    leaf_extents(b, n);
    leaf_kinds(b, n);
    leaf_vars(b, n);
    TC_TRY(loop_values(b, n));
    size_t mark = suppose_around(b, n);
    root_values(b, n);
    tc_env_undo(b->env, mark);
    make_body(b, n);
    return TC_OK;
}
