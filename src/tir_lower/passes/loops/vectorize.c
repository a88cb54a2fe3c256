/* Vectorise: loops marked VECTOR become explicit vector operations.
 *
 *     for j < 40 vectorized { Y[64*p + j] = A[j] * X[r] }                      # 16 lanes a register, masks
 *  => Y[ramp(64*p, 1, 16)] = A[ramp(0, 1, 16)] * bcast(X[r], 16)
 *     Y[ramp(64*p + 16, 1, 16)] = ...
 *     Y[ramp(64*p + 32, 1, 8)] = ...                                            # 8 is a register of half the width
 *
 * A chunk substitutes v := base + u with u < lanes, and rewrites expressions bottom-up. An expression without u stays scalar
 * until it meets a vector. An index that is affine in u becomes a ramp. Any other index with u becomes a vector of indices
 * (gather). A condition on u becomes a mask of the loads and stores under it. Arithmetic is never masked, but a divisor is 1
 * where the mask is off. If a mask may be off in all lanes, loads without u become masked gathers of one address. So the vector
 * code reads nothing that the program would not read. A remainder whose length is a power of two gets a vector of that length
 * (one element is a scalar). Other remainders use a constant mask, or vectors of powers of two if masks are slow. A loop of more
 * than MAX_CHUNKS registers keeps a serial loop around GROUP registers.
 *
 * Needs: iterations of a VECTOR loop are independent; NO_UNROLL, because a buffer index that an unrolled loop moves is not yet a
 * register; NO_HINTS. Gives: NO_VECTOR. Breaks: TILE_LOOPS. */
#include "tir_lower/passes/loops/vectorize_int.h"

#include <assert.h>

enum { MAX_CHUNKS = 16, GROUP = 4 }; /* 16 registers a row is the largest register tile's width; longer loops only cost code */

static const tc_stmt *vec_stmt(tir_vectoriser *k, const tc_stmt *s);
static const tc_stmt *walk(tir_vectoriser *k, const tc_stmt *s);

/* ---- statements ---- */

static const tc_stmt *vec_store(tc_ctx *c, const tc_stmt *s, void *user) {
    tir_vectoriser *k = user;
    const tc_expr *index = tir_widen(k, tir_vec(k, s->u.store.index));
    const tc_expr *value = tir_widen(k, tir_vec(k, s->u.store.value));
    return tc_tir_store(c, s->u.store.buffer, index, value, k->mask);
}

typedef struct mask_state {
    const tc_expr *mask;
    bool prefix, maybe_empty;
} mask_state;

static const tc_stmt *vec_under(tir_vectoriser *k, const tc_stmt *s, mask_state to) {
    mask_state from = {k->mask, k->prefix, k->maybe_empty};
    k->mask = to.mask, k->prefix = to.prefix, k->maybe_empty = to.maybe_empty;
    tir_memo_clear(&k->memo);
    s = vec_stmt(k, s);
    k->mask = from.mask, k->prefix = from.prefix, k->maybe_empty = from.maybe_empty;
    tir_memo_clear(&k->memo);
    return s;
}

static mask_state narrow(const tir_vectoriser *k, const tc_expr *by) {
    return (mask_state){k->mask ? tc_bin(k->c, TC_OP_AND, k->mask, by) : by, false, true};
}

/* The condition that some lane passes `cond`, an inequality affine in u; sets *prefix if lane 0 is the last to fail. */
static const tc_expr *any_lane(tir_vectoriser *k, const tc_expr *cond, bool *prefix) {
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
    tir_vectoriser *k = user;
    const tc_expr *scalar = tc_te_simplify(c, s->u.cond.cond, k->env), *cond = tir_vec(k, scalar);
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
        const tc_stmt *then = vec_under(k, s->u.cond.then, on);
        bool known = tc_expr_names_symbol(some) && tc_te_decide(some, k->env) == 1; /* partition asked outside */
        return known ? then : tc_tir_if(c, some, s->u.cond.guard, then, NULL);
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
    tir_vectoriser *k = user;
    const tc_buffer *b = s->u.alloc.buffer;
    tc_buffer *wide = tir_fresh_buffer(c, k->names, b);
    wide->size = b->size * k->lanes;
    expansion x = {b, wide, tc_i64(c, k->lanes), tc_varx(c, k->u)};
    return tc_tir_alloc(c, wide, vec_stmt(k, tir_rewrite(c, &EXPAND, s->u.alloc.body, &x)));
}

static const tc_stmt *vec_for(tc_ctx *c, const tc_stmt *s, void *user) {
    tir_vectoriser *k = user;
    size_t mark = tir_enter_loop(c, k->env, s->u.loop.var, s->u.loop.extent);
    if (tc_env_mark(k->env) != mark) /* what follows from the extent holds inside only */
        tir_memo_clear(&k->memo);
    const tc_stmt *body = vec_stmt(k, s->u.loop.body);
    if (tc_env_mark(k->env) != mark)
        tir_memo_clear(&k->memo);
    tc_env_undo(k->env, mark);
    return tir_with_loop(c, s, s->u.loop.extent, body);
}

static const tc_stmt *vec_stmt(tir_vectoriser *k, const tc_stmt *s) {
    static const tir_rules RULES = {
        {[TC_STMT_FOR] = vec_for, [TC_STMT_IF] = vec_if, [TC_STMT_STORE] = vec_store, [TC_STMT_ALLOC] = vec_alloc}};
    return tir_rewrite(k->c, &RULES, s, k);
}

/* ---- loops ---- */

static const tc_stmt *simplify_store(tc_ctx *c, const tc_stmt *s, void *user) {
    const tir_vectoriser *k = user;
    const tc_expr *index = tc_te_simplify(c, s->u.store.index, k->env), *value = tc_te_simplify(c, s->u.store.value, k->env);
    return tc_tir_store(c, s->u.store.buffer, index, value, NULL);
}

static const tir_rules SIMPLIFY_SCALAR = {{[TC_STMT_STORE] = simplify_store}};

/* Iterations [base, base + active) of loop s in `lanes` lanes, as a copy with its own loops and buffers. */
static const tc_stmt *chunk(tir_vectoriser *k, const tc_stmt *s, const tc_expr *base, int lanes, int active) {
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
static int remainder_chunks(tir_vectoriser *k, const tc_stmt *s, int64_t base, int64_t r, int lanes, const tc_stmt **out) {
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

static const tc_stmt *chunks(tir_vectoriser *k, const tc_stmt *s, int64_t n, int lanes) {
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

static const tc_stmt *expand_loop(tir_vectoriser *k, const tc_stmt *s) {
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
    const tir_vectoriser *k = user;
    return tir_rewrite_arms(c, &WALK, s, k->env, user);
}

static const tc_stmt *walk_for(tc_ctx *c, const tc_stmt *s, void *user) {
    tir_vectoriser *k = user;
    size_t mark = tir_enter_loop(c, k->env, s->u.loop.var, s->u.loop.extent);
    s = s->u.loop.kind == TC_FOR_VECTOR ? expand_loop(k, s) : tir_rewrite_inside(c, &WALK, s, user);
    tc_env_undo(k->env, mark);
    return s;
}

static const tc_stmt *walk(tir_vectoriser *k, const tc_stmt *s) {
    return tir_rewrite(k->c, &WALK, s, k);
}

tc_status tir_pass_vectorize(tc_ctx *c, const tc_machine *m, const tc_func *in, tc_func **out, tc_error *err) {
    (void)err;
    tir_names names;
    tir_names_init(&names, in);
    tir_vectoriser k = {.c = c, .m = m, .names = &names, .env = tc_env_new()};
    *out = tir_with_body(c, in, walk(&k, in->body));
    tc_env_free(k.env);
    tir_memo_free(&k.memo);
    tir_names_free(&names);
    return TC_OK;
}
