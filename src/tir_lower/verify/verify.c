/* The verifier: structural rules, and every access in bounds.
 *
 * Structure: variables and buffers are used in scope. Each loop binds a variable of its own. Dtypes and lanes agree. Parallel
 * loops do not nest. A parallel iteration's allocations are private to it. Aligned constants index REG buffers.
 *
 * Bounds: by intervals, under everything known at the access: loop ranges, the conditions of IFs and selects around it, and its
 * mask. Vector expressions are read lane-wise: ramp(b, s, n) is b + s * lane with a variable `lane` in [0, n). If intervals are
 * not enough, and the loops involved have few values, the verifier runs over all values (enumerate.c). The interpreter checks
 * indices that depend on data.
 *
 * An argument with a varying size has no element beyond its size, for all values of the sizes (te/index/prove.h). */
#include <string.h>

#include "tir_lower/text/text.h"
#include "tir_lower/verify/verify.h"
#include "tir_lower/verify/verify_int.h"

static tc_status fail(verifier *v, const char *fmt, ...) TC_PRINTF(2, 3);

/* The message, then the statement at hand without its body. */
static tc_status fail(verifier *v, const char *fmt, ...) {
    if (!v->err)
        return TC_ILLEGAL;
    va_list ap;
    va_start(ap, fmt);
    tc_vfail(v->err, TC_ILLEGAL, fmt, ap);
    va_end(ap);
    if (!v->at)
        return TC_ILLEGAL;
    tc_strbuf b = {0}, all = {0};
    tc_tir_print_stmt(&b, v->at, 0);
    if (b.data && strchr(b.data, '\n'))
        *strchr(b.data, '\n') = 0;
    tc_sb_printf(&all, "%s; in `%s`", v->err->msg, tc_sb_str(&b));
    tc_fail(v->err, TC_ILLEGAL, "%s", tc_sb_str(&all));
    tc_strbuf_free(&b);
    tc_strbuf_free(&all);
    return TC_ILLEGAL;
}

/* ---- scopes ---- */

static bool var_in_scope(const verifier *v, const tc_var *var) {
    for (size_t i = v->loops.len; i-- > 0;)
        if (v->loops.data[i] == var)
            return true;
    for (int i = 0; i < v->f->nsymbol; i++)
        if (v->f->symbols[i] == var)
            return true;
    return var == v->lane;
}

static const buffer_scope *buffer_in_scope(const verifier *v, const tc_buffer *b) {
    for (size_t i = v->buffers.len; i-- > 0;)
        if (v->buffers.data[i].buffer == b)
            return &v->buffers.data[i];
    return NULL;
}

static tc_status check_buffer(verifier *v, const tc_buffer *b) {
    const buffer_scope *s = buffer_in_scope(v, b);
    if (!s)
        return fail(v, "buffer %s is used outside of its alloc", b->name);
    if (v->parallel && !s->parallel && !tc_tir_scope(b->scope)->shared)
        return fail(v, "buffer %s is private to a thread but used by parallel iterations", b->name);
    return TC_OK;
}

/* ---- lanes ---- */

static const tc_expr *lane_expr(tc_ctx *c, const tc_expr *e, void *user) {
    verifier *v = user;
    if (e->lanes == 1)
        return e;
    uintptr_t *have = tc_map_get(&v->lane_memo, e->id);
    if (have)
        return (const tc_expr *)*have;
    const tc_expr *r;
    if (e->op == TC_OP_BCAST)
        r = e->args[0];
    else if (e->op == TC_OP_RAMP)
        r = tc_add(c, e->args[0], tc_mul(c, e->args[1], tc_varx(c, v->lane)));
    else if (e->op == TC_OP_DOT)
        r = tc_cast(c, e->dtype, tc_varx(c, tc_var_new(c, "any"))); /* its operands have lanes of their own */
    else
        r = tc_expr_map_args(c, e, lane_expr, v);
    tc_map_put(&v->lane_memo, e->id, (uintptr_t)r);
    return r;
}

/* A statement whose vectors have another width than the last one's. */
static void set_lanes(verifier *v, int lanes) {
    tc_env_set(v->env, v->lane, (tc_ival){0, lanes - 1});
}

static void tell(verifier *v, const tc_expr *cond, bool holds) {
    if (holds)
        tc_env_assume(v->env, cond);
    else
        tc_env_assume_not(v->env, cond);
}

typedef struct fixed_var {
    const verifier *v;
    const tc_var *var; /* one that has a single value left; NULL: none */
    int64_t value;
} fixed_var;

static void find_fixed(const tc_expr *e, void *user) {
    fixed_var *f = user;
    if (e->op != TC_OP_VAR)
        return;
    tc_ival r = tc_env_get(f->v->env, e->u.var);
    if (r.lo != r.hi)
        r = tc_te_bounds(e, f->v->env);
    if (r.lo == r.hi) {
        f->var = e->u.var;
        f->value = r.lo;
    }
}

/* A condition that leaves a variable one value says more of what was known before: 64 * k + i < 300 and k == 3 bound i. Parts
 * stand alone: of some of them, such as comparisons of what is in memory, nothing can be made. */
static void assume(verifier *v, const tc_expr *cond, bool holds) {
    if (cond->op == (holds ? TC_OP_AND : TC_OP_OR)) {
        assume(v, cond->args[0], holds);
        assume(v, cond->args[1], holds);
        return;
    }
    cond = lane_expr(v->c, cond, v);
    tell(v, cond, holds);
    fixed_var f = {.v = v};
    tc_expr_walk(cond, find_fixed, &f);
    const tc_expr *value = tc_i64(v->c, f.value);
    for (size_t i = 0; f.var && i < v->known.len; i++)
        if (tc_expr_uses_var(v->known.data[i].cond, f.var))
            tell(v, tc_te_simplify(v->c, tc_expr_subst(v->c, v->known.data[i].cond, 1, &f.var, &value), NULL),
                 v->known.data[i].holds);
    tc_push(&v->known, ((tc_known_cond){cond, holds}));
}

/* ---- accesses ---- */

static tc_status check_reg_index(verifier *v, const tc_buffer *b, const tc_expr *index) {
    const tc_expr *base = index->op == TC_OP_RAMP ? index->args[0] : index;
    bool ramp = index->op != TC_OP_RAMP || tc_is_int(index->args[1], 1);
    if (base->op != TC_OP_INT || !ramp || index->lanes != b->reg_lanes || base->u.i % b->reg_lanes)
        return fail(v, "register buffer %s (%d lanes) is not indexed by an aligned constant", b->name, b->reg_lanes);
    return TC_OK;
}

/* By what is known of the loops and the conditions as they are: ranges that conditions narrowed show nothing where these
 * contradict each other, and the access is never made. */
static bool shown_from_conditions(verifier *v, const tc_expr *i, const tc_expr *size) {
    tc_env *plain = tc_env_new();
    for (size_t k = 0; k < v->loops.len; k++)
        tc_env_set(plain, v->loops.data[k], tc_env_given(v->env, v->loops.data[k]));
    if (v->lane)
        tc_env_set(plain, v->lane, tc_env_given(v->env, v->lane));
    tc_premises k = {v->c, plain, v->known.len, v->known.data, v->loops.len, v->loops.data, v->lane, v->work, &v->hints};
    bool shown = tc_te_below(&k, i, size) || tc_te_contradicts(&k);
    tc_env_free(plain);
    return shown;
}

/* A workspace has room for the largest sizes, and `20 * t + i < N` bounds t by what N is at most. Running over all sizes as well
 * as loops takes long, or is too much: a short proof is tried before, and a long one after. Without sizes a proof is what is left
 * for loops too long to be run. */
static bool in_bounds(verifier *v, const tc_buffer *b, const tc_expr *i, tc_ival range) {
    tc_premises k = {v->c, v->env, v->known.len, v->known.data, v->loops.len, v->loops.data, v->lane, v->work, &v->hints};
    if (tc_tir_varies(b))
        return tc_te_in_size(&k, i, b->tensor) || tc_te_contradicts(&k);
    if (range.lo >= 0 && range.hi < b->size)
        return true;
    const tc_expr *size = tc_i64(v->c, b->size);
    if (!v->f->nsymbol)
        return verify_by_running(v, i, b->size) || shown_from_conditions(v, i, size);
    return tc_te_plainly_below(&k, i, size) || verify_by_running(v, i, b->size) || tc_te_below(&k, i, size) ||
           tc_te_contradicts(&k);
}

static tc_status check_access(verifier *v, const tc_buffer *b, const tc_expr *index, const tc_expr *mask, const char *what) {
    TC_TRY(check_buffer(v, b));
    if (index->dtype != TC_I64)
        return fail(v, "the index of %s is %s, not i64", b->name, tc_dtype_name(index->dtype));
    if (mask && (mask->dtype != TC_BOOL || mask->lanes != index->lanes))
        return fail(v, "the mask of %s does not fit its index", b->name);
    if (b->scope == TC_BUF_TILE)
        return fail(v, "tile %s is used as memory", b->name);
    if (!tc_tir_scope(b->scope)->addressed)
        TC_TRY(check_reg_index(v, b, index));
    const tc_expr *i = lane_expr(v->c, index, v);
    size_t mark = tc_env_mark(v->env), known = v->known.len;
    if (mask)
        assume(v, mask, true);
    tc_ival r = tc_te_bounds(i, v->env);
    bool ok = v->never || r.lo > r.hi || tc_expr_touches_memory(index) || in_bounds(v, b, i, r);
    v->known.len = known;
    tc_env_undo(v->env, mark);
    if (ok)
        return TC_OK;
    if (*v->work <= 0)
        return fail(v, "%s %s may reach beyond its elements: no proof was found within %d steps", what, b->name, TC_PROOF_WORK);
    if (tc_tir_varies(b))
        return fail(v, "%s %s may reach beyond its elements at some sizes", what, b->name);
    if (!tc_ival_bounded(r))
        return fail(v, "%s %s may reach beyond its elements 0..%lld", what, b->name, (long long)b->size - 1);
    return fail(v, "%s %s may reach elements %lld..%lld, but it has 0..%lld", what, b->name, (long long)r.lo, (long long)r.hi,
                (long long)b->size - 1);
}

/* ---- expressions ---- */

static tc_status check_expr(verifier *v, const tc_expr *e);

static tc_status check_select(verifier *v, const tc_expr *e) {
    TC_TRY(check_expr(v, e->args[0]));
    for (int arm = 1; arm <= 2; arm++) {
        size_t mark = tc_env_mark(v->env), known = v->known.len, seen = v->seen.len;
        assume(v, e->args[0], arm == 1);
        tc_status s = check_expr(v, e->args[arm]);
        v->seen.len = seen; /* what was checked under this condition holds only under it */
        v->known.len = known;
        tc_env_undo(v->env, mark);
        TC_TRY(s);
    }
    return TC_OK;
}

/* The operands have other widths than the statement. */
static tc_status check_dot(verifier *v, const tc_expr *e) {
    TC_TRY(check_expr(v, e->args[0]));
    for (int k = 1; k <= 2; k++) {
        set_lanes(v, e->args[k]->lanes);
        tc_status s = check_expr(v, e->args[k]);
        set_lanes(v, e->lanes);
        TC_TRY(s);
    }
    return TC_OK;
}

static tc_status check_node(verifier *v, const tc_expr *e) {
    if (e->op == TC_OP_SELECT)
        return check_select(v, e);
    if (e->op == TC_OP_DOT)
        return check_dot(v, e);
    for (int i = 0; i < e->nargs; i++)
        TC_TRY(check_expr(v, e->args[i]));
    if (e->op == TC_OP_VAR)
        return var_in_scope(v, e->u.var) ? TC_OK : fail(v, "variable %s is not in scope", e->u.var->name);
    if (e->op == TC_OP_READ)
        return fail(v, "tensor %s is read, but TIR has buffers only", e->u.tensor->name);
    if (e->op != TC_OP_LOAD)
        return TC_OK;
    if (e->dtype != e->u.buffer->dtype)
        return fail(v, "a load of %s has dtype %s", e->u.buffer->name, tc_dtype_name(e->dtype));
    return check_access(v, e->u.buffer, e->args[0], e->nargs == 2 ? e->args[1] : NULL, "a load of");
}

static tc_status check_expr(verifier *v, const tc_expr *e) {
    if (e->op == TC_OP_INT || e->op == TC_OP_FLOAT)
        return TC_OK;
    for (size_t i = v->seen.len; i-- > 0;)
        if (v->seen.data[i] == e)
            return TC_OK;
    TC_TRY(check_node(v, e));
    tc_push(&v->seen, e);
    return TC_OK;
}

/* ---- statements ---- */

static tc_status check_stmt(verifier *v, const tc_stmt *s);

/* Below the smaller of two is below both, each of which may be an affine condition. */
static void assume_below(verifier *v, const tc_var *var, const tc_expr *extent) {
    if (extent->op == TC_OP_MIN) {
        assume_below(v, var, extent->args[0]);
        assume_below(v, var, extent->args[1]);
    } else if (extent->op != TC_OP_INT) {
        assume(v, tc_bin(v->c, TC_OP_LT, tc_varx(v->c, var), extent), true);
    }
}

static tc_status check_for(verifier *v, const tc_stmt *s) {
    const tc_var *var = s->u.loop.var;
    bool parallel = s->u.loop.kind == TC_FOR_PARALLEL;
    TC_TRY(check_expr(v, s->u.loop.extent));
    if (!tc_map_put(&v->bound, var->id, 1))
        return fail(v, "variable %s is bound by two loops", var->name);
    if (v->parallel && !tc_for_may_contain(TC_FOR_PARALLEL, s->u.loop.kind))
        return fail(v, "a parallel loop runs inside another one");
    tc_ival n = tc_te_bounds(s->u.loop.extent, v->env);
    tc_env_set(v->env, var, (tc_ival){0, n.hi == TC_INF ? TC_INF : n.hi - 1});
    tc_push(&v->loops, var);
    size_t mark = tc_env_mark(v->env), known = v->known.len;
    assume_below(v, var, s->u.loop.extent);
    v->parallel |= parallel;
    TC_TRY(check_stmt(v, s->u.loop.body));
    if (parallel)
        v->parallel = false;
    v->known.len = known;
    tc_env_undo(v->env, mark);
    v->loops.len--;
    return TC_OK;
}

static tc_status check_if(verifier *v, const tc_stmt *s) {
    if (s->u.cond.cond->dtype != TC_BOOL || s->u.cond.cond->lanes != 1)
        return fail(v, "a condition is not a scalar bool");
    TC_TRY(check_expr(v, s->u.cond.cond));
    int holds = v->never ? -1 : tc_te_decide(s->u.cond.cond, v->env);
    for (int arm = 0; arm < 2; arm++) {
        size_t mark = tc_env_mark(v->env), known = v->known.len;
        bool around = v->never;
        v->never |= holds >= 0 && holds == arm; /* such an arm lies in copies for some sizes until it is taken out */
        assume(v, s->u.cond.cond, arm == 0);
        TC_TRY(check_stmt(v, arm == 0 ? s->u.cond.then : s->u.cond.otherwise));
        v->never = around;
        v->known.len = known;
        tc_env_undo(v->env, mark);
    }
    return TC_OK;
}

static tc_status check_store(verifier *v, const tc_stmt *s) {
    const tc_buffer *b = s->u.store.buffer;
    const tc_expr *index = s->u.store.index, *value = s->u.store.value, *mask = s->u.store.mask;
    set_lanes(v, index->lanes);
    if (value->dtype != b->dtype || value->lanes != index->lanes)
        return fail(v, "a store to %s (%s) of %s x %d at %d indices: expected equal types and numbers of lanes", b->name,
                    tc_dtype_name(b->dtype), tc_dtype_name(value->dtype), value->lanes, index->lanes);
    if (b->scope == TC_BUF_PARAM && v->f->params[b->param].kind != TC_PARAM_OUT)
        return fail(v, "a store to the input %s", b->name);
    TC_TRY(check_expr(v, index));
    if (mask)
        TC_TRY(check_expr(v, mask));
    TC_TRY(check_expr(v, value));
    return check_access(v, b, index, mask, "a store to");
}

static tc_status check_alloc(verifier *v, const tc_stmt *s) {
    const tc_buffer *b = s->u.alloc.buffer;
    if (buffer_in_scope(v, b))
        return fail(v, "buffer %s is allocated inside its own alloc", b->name);
    if (b->scope == TC_BUF_PARAM || (tc_tir_scope(b->scope)->shared && v->parallel))
        return fail(v, "buffer %s of scope %s must not be allocated%s", b->name, tc_tir_scope(b->scope)->text,
                    v->parallel ? " by a parallel iteration" : "");
    if (b->size < 1 || b->reg_lanes < 1 || b->size % b->reg_lanes)
        return fail(v, "buffer %s has %lld elements, but needs a positive multiple of its %d lanes", b->name, (long long)b->size,
                    b->reg_lanes);
    if (b->scope == TC_BUF_TILE &&
        (b->reg_lanes * tc_dtype_bytes(b->dtype) > TC_TILE_BYTES || tc_tir_tile_rows(b) > TC_TILE_ROWS))
        return fail(v, "tile %s has more than %d rows of %d bytes", b->name, TC_TILE_ROWS, TC_TILE_BYTES);
    v->tiles += b->scope == TC_BUF_TILE;
    if (v->tiles > TC_MOST_BLOCKS)
        return fail(v, "more than %d tiles are alive", TC_MOST_BLOCKS);
    tc_push(&v->buffers, ((buffer_scope){b, v->parallel}));
    TC_TRY(check_stmt(v, s->u.alloc.body));
    v->buffers.len--;
    v->tiles -= b->scope == TC_BUF_TILE;
    return TC_OK;
}

/* The first and the last element are in bounds: the others lie between them. */
static tc_status check_tile_memory(verifier *v, const tc_tile_stmt *t) {
    const tc_buffer *tile = t->tile[0], *b = t->memory;
    const tc_expr *last = tc_add(v->c, t->index, tc_i64(v->c, (tc_tir_tile_rows(tile) - 1) * t->stride + tile->reg_lanes - 1));
    const char *what = t->op == TC_TILE_LOAD ? "a tile's load of" : "a tile's store to";
    set_lanes(v, 1);
    if (b->dtype != tile->dtype || t->stride < 0)
        return fail(v, "a tile of %s, memory of %s, stride %lld: expected equal types and a stride of at least 0",
                    tc_dtype_name(tile->dtype), tc_dtype_name(b->dtype), (long long)t->stride);
    if (t->op == TC_TILE_STORE && b->scope == TC_BUF_PARAM && v->f->params[b->param].kind != TC_PARAM_OUT)
        return fail(v, "a store to the input %s", b->name);
    TC_TRY(check_expr(v, t->index));
    TC_TRY(check_access(v, b, t->index, NULL, what));
    return check_access(v, b, last, NULL, what);
}

static tc_status check_intrin(verifier *v, const tc_tile_stmt *t) {
    for (int i = 0; i < 3 && t->tile[i]; i++) {
        TC_TRY(check_buffer(v, t->tile[i]));
        if (t->tile[i]->scope != TC_BUF_TILE)
            return fail(v, "%s is no tile", t->tile[i]->name);
    }
    if (t->memory)
        return check_tile_memory(v, t);
    if (t->op != TC_TILE_MULTIPLY)
        return TC_OK;
    const tc_intrinsic *u = t->unit;
    const tc_buffer *acc = t->tile[0], *a = t->tile[1], *b = t->tile[2];
    bool types = u->place != TC_UNIT_VECTOR && acc->dtype == u->acc && a->dtype == u->a && b->dtype == u->b;
    int deep = tc_tir_tile_rows(b) * u->group;
    bool part = u->place == TC_UNIT_BLOCK && a->reg_lanes < deep; /* of the last group */
    bool shapes = tc_tir_tile_rows(acc) == tc_tir_tile_rows(a) && acc->reg_lanes * u->group == b->reg_lanes &&
                  (a->reg_lanes == deep || part) && acc != a && acc != b && a != b;
    return types && shapes ? TC_OK : fail(v, "the types or shapes of the tiles do not fit unit %s", u->text);
}

static tc_status check_stmt(verifier *v, const tc_stmt *s) {
    if (!s)
        return TC_OK;
    v->at = s;
    v->seen.len = 0;
    switch (s->kind) {
    case TC_STMT_SEQ:
        for (int i = 0; i < s->u.seq.n; i++)
            TC_TRY(check_stmt(v, s->u.seq.s[i]));
        return TC_OK;
    case TC_STMT_FOR:
        return check_for(v, s);
    case TC_STMT_IF:
        return check_if(v, s);
    case TC_STMT_STORE:
        return check_store(v, s);
    case TC_STMT_ALLOC:
        return check_alloc(v, s);
    case TC_STMT_PREFETCH:
        TC_TRY(check_buffer(v, s->u.prefetch.buffer));
        return check_expr(v, s->u.prefetch.index);
    case TC_STMT_INTRIN:
        return check_intrin(v, &s->u.intrin);
    case TC_NSTMTS:
        break;
    }
    return fail(v, "a statement of unknown kind");
}

static tc_status check_params(verifier *v) {
    for (int i = 0; i < v->f->nparam; i++) {
        const tc_param *p = &v->f->params[i];
        if (p->buffer->scope != TC_BUF_PARAM || p->buffer->param != i)
            return fail(v, "parameter %d (%s) is not a parameter buffer of that number", i, p->buffer->name);
        if (p->kind == TC_PARAM_PACKED && !p->layout)
            return fail(v, "packed parameter %s has no layout", p->buffer->name);
        tc_push(&v->buffers, ((buffer_scope){p->buffer, false}));
    }
    return TC_OK;
}

tc_status tc_tir_verify(tc_ctx *c, const tc_func *f, tc_error *err) {
    int64_t work = TC_PROOF_WORK;
    return tc_tir_verify_within(c, f, &work, err);
}

tc_status tc_tir_verify_within(tc_ctx *c, const tc_func *f, int64_t *work, tc_error *err) {
    verifier v = {.c = c, .f = f, .err = err, .env = tc_env_new(), .work = work, .lane = tc_var_new(c, "lane")};
    tc_status s = check_params(&v);
    if (s == TC_OK)
        s = check_stmt(&v, f->body);
    tc_env_free(v.env);
    tc_proof_hints_free(&v.hints);
    tc_map_free(&v.bound);
    tc_map_free(&v.lane_memo);
    tc_vec_free(&v.loops);
    tc_vec_free(&v.buffers);
    tc_vec_free(&v.seen);
    tc_vec_free(&v.known);
    return s;
}
