/* Vectorise: loops marked VECTOR become explicit vector operations.
 *
 *     for j < 40 vectorized { Y[64*p + j] = A[j] * X[r] }                      # 16 lanes a register, masks
 *  => Y[ramp(64*p, 1, 16)] = A[ramp(0, 1, 16)] * bcast(X[r], 16)
 *     Y[ramp(64*p + 16, 1, 16)] = ...
 *     Y[ramp(64*p + 32, 1, 8)] = ...                                            # 8 is a register of half the width
 *
 * A chunk substitutes v := base + u with u < lanes, and rewrites expressions bottom-up: what does not use u stays scalar until it
 * meets a vector; an index affine in u is a ramp; other indices are vectors of their own (gather). A condition on u is a mask,
 * carried by the loads and the stores under it: arithmetic is never masked, except that a divisor is 1 where the mask is off.
 * Where a mask may be all off, loads that do not use u are masked gathers of one address, so that nothing is read that the
 * program would not read. Remainders: powers of two as they are (one element is a scalar), others under a constant mask, or as
 * powers of two where masks are dear. Loops of more than MAX_CHUNKS registers keep a serial loop around GROUP of them.
 *
 * Needs: iterations of a VECTOR loop are independent; NO_UNROLL, since a buffer index that an unrolled loop moves is no register
 * yet; NO_HINTS. Gives: NO_VECTOR. Breaks: TILE_LOOPS. */
#include "tir_lower/pass_int.h"

#include <assert.h>
#include <math.h>

enum { MAX_CHUNKS = 16, GROUP = 4 }; /* 16 registers a row is the largest register tile's width; longer loops only cost code */

typedef struct vectoriser {
    tc_ctx *c;
    const tc_machine *m;
    tir_names *names;
    tc_env *env;
    const tc_var *u; /* the lane within the current chunk */
    int lanes, active;
    const tc_expr *mask;            /* lanes that run the current statement; NULL: all */
    bool prefix;                    /* mask is NULL or true in lane 0 and then without gaps */
    bool maybe_empty;               /* mask may be off in every lane */
    const tc_expr *arm;             /* within an arm of a select: lanes that take it (implies mask); NULL outside */
    tir_memo memo;                  /* scalar -> vector, under the current mask and arm */
    const struct vectoriser *outer; /* within an arm: outside of it */
} vectoriser;

static const tc_expr *vec(vectoriser *k, const tc_expr *e);
static const tc_stmt *vec_stmt(vectoriser *k, const tc_stmt *s);
static const tc_stmt *walk(vectoriser *k, const tc_stmt *s);

static const tc_expr *widen(vectoriser *k, const tc_expr *e) {
    return e->lanes == 1 ? tc_bcast(k->c, e, k->lanes) : e;
}

/* ---- expressions ---- */

static const tc_expr *with_vectors(vectoriser *k, const tc_expr *e, const tc_expr **args) {
    bool any = false, changed = false;
    for (int i = 0; i < e->nargs; i++) {
        any |= args[i]->lanes > 1;
        changed |= args[i] != e->args[i];
    }
    for (int i = 0; any && i < e->nargs; i++)
        args[i] = widen(k, args[i]);
    return changed ? tc_with_args(k->c, e, args) : e;
}

static const tc_expr *vec_operands(vectoriser *k, const tc_expr *e) {
    const tc_expr *args[4];
    assert(e->nargs <= 4);
    for (int i = 0; i < e->nargs; i++)
        args[i] = vec(k, e->args[i]);
    return with_vectors(k, e, args);
}

/* Whether an atom of an index keeps it from being a ramp: it varies by lane, or it loads what no lane may be entitled to. */
static bool by_lane(const vectoriser *k, const tc_expr *atom) {
    return atom->op != TC_OP_VAR &&
           (tc_expr_uses_var(atom, k->u) || ((k->arm || k->maybe_empty) && tc_expr_touches_memory(atom)));
}

/* i64 arithmetic: a ramp if it is affine in u; (16 * x + u) / 16 is, once simplified. */
static const tc_expr *vec_index(vectoriser *k, const tc_expr *e, bool simplified) {
    tc_affine a;
    if (e->nargs == 0)
        return vec(k, e);
    if (!tc_te_affine(k->c, e, k->env, &a))
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
    if (other && !simplified)
        return vec_index(k, tc_te_simplify(k->c, e, k->env), true);
    if (other)
        return vec_operands(k, e);
    return stride ? tc_ramp(k->c, tc_te_from_affine(k->c, &a), tc_i64(k->c, stride), k->lanes) : tc_te_from_affine(k->c, &a);
}

/* Whether every lane may be read, whatever the program's conditions say: an input, in bounds. */
static bool readable(const vectoriser *k, const tc_buffer *b, const tc_expr *index) { /* index: scalar, in u */
    if (b->scope != TC_BUF_PARAM || !b->tensor || b->tensor->op)
        return false;
    tc_ival r = tc_te_bounds(index, k->env);
    return r.lo >= 0 && r.hi < b->size && k->active == k->lanes;
}

static const tc_expr *vec_load(vectoriser *k, const tc_expr *e) {
    for (const vectoriser *o = k->outer; o; o = o->outer)
        if (tir_memo_get(&o->memo, e)) /* read there in any case */
            return tir_memo_get(&o->memo, e);
    const tc_expr *v = vec(k, e->args[0]), *mask = k->mask;
    bool maybe_empty = k->maybe_empty;
    if (k->arm && !readable(k, e->u.buffer, e->args[0])) {
        mask = k->arm;
        maybe_empty = true;
    }
    if (v->lanes == 1 && !maybe_empty)
        return v == e->args[0] ? e : tc_load(k->c, e->u.buffer, e->dtype, v, NULL);
    return tc_load(k->c, e->u.buffer, e->dtype, widen(k, v), mask);
}

/* The value of an arm of a select, read only where `taken`. */
static const tc_expr *vec_arm(vectoriser *k, const tc_expr *e, const tc_expr *taken) {
    if (!tc_expr_touches_memory(e))
        return vec(k, e);
    const tc_expr *outer = k->arm ? k->arm : k->mask;
    vectoriser in = *k;
    in.memo = (tir_memo){0};
    in.outer = k;
    in.arm = outer ? tc_bin(k->c, TC_OP_AND, outer, taken) : taken;
    const tc_expr *r = vec(&in, e);
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

static const tc_expr *vec_select(vectoriser *k, const tc_expr *e) {
    const tc_expr *cond = vec(k, tc_te_simplify(k->c, e->args[0], k->env));
    if (cond->op == TC_OP_INT)
        return vec(k, e->args[cond->u.i ? 1 : 2]);
    if (cond->lanes == 1 && !tc_expr_uses_var(e, k->u) && !k->arm && !k->maybe_empty)
        return e;
    cond = widen(k, cond);
    const tc_expr *args[3] = {cond, vec_arm(k, e->args[1], cond), vec_arm(k, e->args[2], tc_un(k->c, TC_OP_NOT, cond))};
    return is_masked_load(args) ? args[1] : with_vectors(k, e, args);
}

/* Where no lane runs, 0 was loaded as the divisor. */
static const tc_expr *vec_division(vectoriser *k, const tc_expr *e) {
    const tc_expr *mask = k->arm ? k->arm : k->mask, *args[2] = {vec(k, e->args[0]), vec(k, e->args[1])};
    bool constant = args[1]->op == TC_OP_INT || (args[1]->op == TC_OP_BCAST && args[1]->args[0]->op == TC_OP_INT);
    if (mask && !constant && (args[0]->lanes > 1 || args[1]->lanes > 1))
        args[1] = tc_select(k->c, mask, widen(k, args[1]), tc_bcast(k->c, tc_imm(k->c, e->dtype, 1), k->lanes));
    return with_vectors(k, e, args);
}

static bool divides(tc_op op) {
    return op == TC_OP_DIV || op == TC_OP_MOD || op == TC_OP_TDIV || op == TC_OP_TMOD;
}

static const tc_expr *vec_node(vectoriser *k, const tc_expr *e) {
    if (e->op == TC_OP_LOAD)
        return vec_load(k, e);
    if (e->op == TC_OP_SELECT)
        return vec_select(k, e);
    if (divides(e->op) && !tc_dtype_is_float(e->dtype) && (e->dtype != TC_I64 || e->args[1]->op != TC_OP_INT))
        return vec_division(k, e);
    return e->dtype == TC_I64 ? vec_index(k, e, false) : vec_operands(k, e);
}

static const tc_expr *vec(vectoriser *k, const tc_expr *e) {
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

/* ---- statements ---- */

static const tc_stmt *vec_store(tc_ctx *c, const tc_stmt *s, void *user) {
    vectoriser *k = user;
    const tc_expr *index = widen(k, vec(k, s->u.store.index));
    const tc_expr *value = widen(k, vec(k, s->u.store.value));
    return tc_tir_store(c, s->u.store.buffer, index, value, k->mask);
}

typedef struct mask_state {
    const tc_expr *mask;
    bool prefix, maybe_empty;
} mask_state;

static const tc_stmt *vec_under(vectoriser *k, const tc_stmt *s, mask_state to) {
    mask_state from = {k->mask, k->prefix, k->maybe_empty};
    k->mask = to.mask, k->prefix = to.prefix, k->maybe_empty = to.maybe_empty;
    tir_memo_clear(&k->memo);
    s = vec_stmt(k, s);
    k->mask = from.mask, k->prefix = from.prefix, k->maybe_empty = from.maybe_empty;
    tir_memo_clear(&k->memo);
    return s;
}

static mask_state narrow(const vectoriser *k, const tc_expr *by) {
    return (mask_state){k->mask ? tc_bin(k->c, TC_OP_AND, k->mask, by) : by, false, true};
}

/* The condition that some lane passes `cond`, an inequality affine in u; sets *prefix if lane 0 is the last to fail. */
static const tc_expr *any_lane(vectoriser *k, const tc_expr *cond, bool *prefix) {
    tc_affine a;
    if (!tir_cond_affine(k->c, cond, k->env, &a))
        return NULL;
    int64_t coef = 0;
    for (int i = a.n; i-- > 0;) {
        if (a.term[i].atom->op == TC_OP_VAR && a.term[i].atom->u.var == k->u) {
            coef = a.term[i].coef;
            tc_affine_drop(&a, i);
        } else if (tc_expr_uses_var(a.term[i].atom, k->u)) {
            return NULL;
        }
    }
    *prefix = coef < 0;
    if (coef > 0)
        a.c += coef * (k->active - 1);
    return tir_affine_cond(k->c, &a);
}

static const tc_stmt *vec_if(tc_ctx *c, const tc_stmt *s, void *user) {
    vectoriser *k = user;
    const tc_expr *scalar = tc_te_simplify(c, s->u.cond.cond, k->env), *cond = vec(k, scalar);
    if (cond->op == TC_OP_INT)
        return vec_stmt(k, cond->u.i ? s->u.cond.then : s->u.cond.otherwise);
    if (cond->lanes == 1) {
        const tc_stmt *then = vec_stmt(k, s->u.cond.then);
        return tir_with_arms(c, s, cond, then, vec_stmt(k, s->u.cond.otherwise));
    }
    bool prefix;
    const tc_expr *some = s->u.cond.otherwise ? NULL : any_lane(k, scalar, &prefix);
    mask_state on = narrow(k, cond);
    if (some) {
        on.prefix = prefix && k->prefix;
        on.maybe_empty = k->maybe_empty || (k->mask && !on.prefix);
        return tc_tir_if(c, some, s->u.cond.guard, vec_under(k, s->u.cond.then, on), NULL);
    }
    const tc_stmt *both[2] = {vec_under(k, s->u.cond.then, on), NULL};
    if (s->u.cond.otherwise)
        both[1] = vec_under(k, s->u.cond.otherwise, narrow(k, tc_un(c, TC_OP_NOT, cond)));
    return tc_tir_seq(c, 2, both);
}

typedef struct expansion {
    const tc_buffer *from, *to;
    const tc_expr *lanes, *u;
} expansion;

static const tc_expr *expand_load(tc_ctx *c, const tc_expr *e, void *user) {
    const expansion *x = user;
    if (e->op != TC_OP_LOAD || e->u.buffer != x->from)
        return e;
    return tc_load(c, x->to, e->dtype, tc_add(c, tc_mul(c, e->args[0], x->lanes), x->u), NULL);
}

static const tc_stmt *expand_if(tc_ctx *c, const tc_stmt *s, void *user);
static const tc_stmt *expand_store(tc_ctx *c, const tc_stmt *s, void *user);
static const tir_rules EXPAND = {{[TC_STMT_IF] = expand_if, [TC_STMT_STORE] = expand_store}};

static const tc_stmt *expand_if(tc_ctx *c, const tc_stmt *s, void *user) {
    const tc_expr *cond = tc_expr_map(c, s->u.cond.cond, expand_load, user);
    const tc_stmt *then = tir_rewrite(c, &EXPAND, s->u.cond.then, user);
    return tir_with_arms(c, s, cond, then, tir_rewrite(c, &EXPAND, s->u.cond.otherwise, user));
}

static const tc_stmt *expand_store(tc_ctx *c, const tc_stmt *s, void *user) {
    const expansion *x = user;
    const tc_expr *index = tc_expr_map(c, s->u.store.index, expand_load, user);
    const tc_expr *value = tc_expr_map(c, s->u.store.value, expand_load, user);
    if (s->u.store.buffer != x->from)
        return tc_tir_store(c, s->u.store.buffer, index, value, NULL);
    return tc_tir_store(c, x->to, tc_add(c, tc_mul(c, index, x->lanes), x->u), value, NULL);
}

/* A buffer of one iteration becomes one of `lanes` iterations, interleaved. */
static const tc_stmt *vec_alloc(tc_ctx *c, const tc_stmt *s, void *user) {
    vectoriser *k = user;
    const tc_buffer *b = s->u.alloc.buffer;
    tc_buffer *wide = tir_fresh_buffer(c, k->names, b);
    wide->size = b->size * k->lanes;
    expansion x = {b, wide, tc_i64(c, k->lanes), tc_varx(c, k->u)};
    return tc_tir_alloc(c, wide, vec_stmt(k, tir_rewrite(c, &EXPAND, s->u.alloc.body, &x)));
}

static const tc_stmt *vec_for(tc_ctx *c, const tc_stmt *s, void *user) {
    vectoriser *k = user;
    size_t mark = tir_enter_loop(c, k->env, s->u.loop.var, s->u.loop.extent);
    if (tc_env_mark(k->env) != mark) /* what follows from the extent holds inside only */
        tir_memo_clear(&k->memo);
    const tc_stmt *body = vec_stmt(k, s->u.loop.body);
    if (tc_env_mark(k->env) != mark)
        tir_memo_clear(&k->memo);
    tc_env_undo(k->env, mark);
    return tir_with_loop(c, s, s->u.loop.extent, body);
}

static const tc_stmt *vec_stmt(vectoriser *k, const tc_stmt *s) {
    static const tir_rules RULES = {
        {[TC_STMT_FOR] = vec_for, [TC_STMT_IF] = vec_if, [TC_STMT_STORE] = vec_store, [TC_STMT_ALLOC] = vec_alloc}};
    return tir_rewrite(k->c, &RULES, s, k);
}

/* ---- loops ---- */

static const tc_stmt *simplify_store(tc_ctx *c, const tc_stmt *s, void *user) {
    const vectoriser *k = user;
    const tc_expr *index = tc_te_simplify(c, s->u.store.index, k->env), *value = tc_te_simplify(c, s->u.store.value, k->env);
    return tc_tir_store(c, s->u.store.buffer, index, value, NULL);
}

static const tir_rules SIMPLIFY_SCALAR = {{[TC_STMT_STORE] = simplify_store}};

/* Iterations [base, base + active) of loop s in `lanes` lanes, as a copy with its own loops and buffers. */
static const tc_stmt *chunk(vectoriser *k, const tc_stmt *s, const tc_expr *base, int lanes, int active) {
    tc_ctx *c = k->c;
    tir_copier copy = {.c = c, .names = k->names, .fresh = true};
    k->u = lanes > 1 ? tc_var_new(c, "lane") : NULL;
    tir_bind(&copy, s->u.loop.var, k->u ? tc_add(c, base, tc_varx(c, k->u)) : base);
    const tc_stmt *body = tir_copy_stmt(&copy, s->u.loop.body);
    tir_copier_free(&copy);
    if (!body || !k->u)
        return body ? walk(k, tir_rewrite(c, &SIMPLIFY_SCALAR, body, k)) : NULL;
    tc_env_set(k->env, k->u, (tc_ival){0, active - 1});
    k->lanes = lanes;
    k->active = active;
    k->mask = NULL;
    if (active < lanes) {
        const tc_expr *lane = tc_ramp(c, tc_i64(c, 0), tc_i64(c, 1), lanes);
        k->mask = tc_bin(c, TC_OP_LT, lane, tc_bcast(c, tc_i64(c, active), lanes));
    }
    k->prefix = true;
    k->maybe_empty = false;
    tir_memo_clear(&k->memo);
    return vec_stmt(k, body);
}

static bool power_of_two(int64_t n) {
    return (n & (n - 1)) == 0;
}

/* The last r < lanes iterations, from `base`. Appends to out. */
static int remainder_chunks(vectoriser *k, const tc_stmt *s, int64_t base, int64_t r, int lanes, const tc_stmt **out) {
    tc_ctx *c = k->c;
    int n = 0;
    if (r == 0)
        return 0;
    if (power_of_two(r)) {
        out[n++] = chunk(k, s, tc_i64(c, base), (int)r, (int)r);
        return n;
    }
    if (k->m->masks) {
        out[n++] = chunk(k, s, tc_i64(c, base), lanes, (int)r);
        return n;
    }
    for (int64_t w = lanes / 2; r > 0; w /= 2) {
        if (w > r)
            continue;
        out[n++] = chunk(k, s, tc_i64(c, base), (int)w, (int)w);
        base += w;
        r -= w;
    }
    return n;
}

static const tc_stmt *chunks(vectoriser *k, const tc_stmt *s, int64_t n, int lanes) {
    tc_ctx *c = k->c;
    const tc_stmt *out[MAX_CHUNKS + GROUP + 16];
    int m = 0;
    int64_t q = n / lanes, done = 0;
    if (q > MAX_CHUNKS) {
        const tc_var *v = tc_var_new(c, s->u.loop.var->name);
        const tc_stmt *part[GROUP];
        tc_env_set(k->env, v, (tc_ival){0, q / GROUP - 1});
        for (int i = 0; i < GROUP; i++) {
            const tc_expr *base = tc_mul(c, tc_varx(c, v), tc_i64(c, (int64_t)GROUP * lanes));
            part[i] = chunk(k, s, tc_add(c, base, tc_i64(c, (int64_t)i * lanes)), lanes, lanes);
        }
        out[m++] = tc_tir_for(c, v, tc_i64(c, q / GROUP), TC_FOR_SERIAL, s->u.loop.reduce, tc_tir_seq(c, GROUP, part));
        done = q / GROUP * GROUP;
    }
    for (; done < q; done++)
        out[m++] = chunk(k, s, tc_i64(c, done * lanes), lanes, lanes);
    m += remainder_chunks(k, s, q * lanes, n - q * lanes, lanes, out + m);
    return tc_tir_seq(c, m, out);
}

typedef struct checker {
    const tc_var *v;
    bool scalar; /* the loop has to run lane by lane */
} checker;

/* A store to one place from every iteration, or a vector inside, cannot be vectorised; buffers of the iteration itself can. */
static void check(tc_ctx *c, const tc_stmt *s, checker *k) {
    const tc_stmt *inside;
    if (s->kind == TC_STMT_STORE)
        k->scalar |= !tc_expr_uses_var(s->u.store.index, k->v);
    if (s->kind == TC_STMT_FOR)
        k->scalar |= s->u.loop.kind == TC_FOR_VECTOR || tc_expr_uses_var(s->u.loop.extent, k->v);
    if (s->kind == TC_STMT_ALLOC) { /* its stores become stores at u */
        expansion x = {s->u.alloc.buffer, s->u.alloc.buffer, tc_i64(c, 1), tc_varx(c, k->v)};
        s = tir_with_alloc(c, s, tir_rewrite(c, &EXPAND, s->u.alloc.body, &x));
    }
    for (int i = 0; s && (inside = tc_tir_child(s, i)); i++)
        check(c, inside, k);
}

static const tc_stmt *expand_loop(vectoriser *k, const tc_stmt *s) {
    int64_t n;
    if (!tir_const_extent(s, &n)) { /* build never makes these */
        const tc_stmt *body = walk(k, s->u.loop.body);
        return tc_tir_for(k->c, s->u.loop.var, s->u.loop.extent, TC_FOR_SERIAL, s->u.loop.reduce, body);
    }
    checker check_loop = {s->u.loop.var, false};
    check(k->c, s->u.loop.body, &check_loop);
    if (!check_loop.scalar)
        return chunks(k, s, n, tir_lanes(k->m, s->u.loop.body));
    const tc_stmt **out = TC_NEW_N(tc_ctx_arena(k->c), const tc_stmt *, n);
    for (int64_t i = 0; i < n; i++)
        out[i] = chunk(k, s, tc_i64(k->c, i), 1, 1);
    return tc_tir_seq(k->c, (int)n, out);
}

static const tc_stmt *walk_if(tc_ctx *c, const tc_stmt *s, void *user);
static const tc_stmt *walk_for(tc_ctx *c, const tc_stmt *s, void *user);
static const tir_rules WALK = {{[TC_STMT_FOR] = walk_for, [TC_STMT_IF] = walk_if}};

static const tc_stmt *walk_if(tc_ctx *c, const tc_stmt *s, void *user) {
    const vectoriser *k = user;
    return tir_rewrite_arms(c, &WALK, s, k->env, user);
}

static const tc_stmt *walk_for(tc_ctx *c, const tc_stmt *s, void *user) {
    vectoriser *k = user;
    size_t mark = tir_enter_loop(c, k->env, s->u.loop.var, s->u.loop.extent);
    s = s->u.loop.kind == TC_FOR_VECTOR ? expand_loop(k, s) : tir_rewrite_inside(c, &WALK, s, user);
    tc_env_undo(k->env, mark);
    return s;
}

static const tc_stmt *walk(vectoriser *k, const tc_stmt *s) {
    return tir_rewrite(k->c, &WALK, s, k);
}

tc_status tir_pass_vectorize(tc_ctx *c, const tc_machine *m, const tc_func *in, tc_func **out, tc_error *err) {
    (void)err;
    tir_names names;
    tir_names_init(&names, in);
    vectoriser k = {.c = c, .m = m, .names = &names, .env = tc_env_new()};
    *out = tir_with_body(c, in, walk(&k, in->body));
    tc_env_free(k.env);
    tir_memo_free(&k.memo);
    tir_names_free(&names);
    return TC_OK;
}
