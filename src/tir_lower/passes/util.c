/* Functions that the lowering passes share: see pass_int.h. */
#include "tir_lower/passes/pass.h"

#include <assert.h>
#include <string.h>

tc_func *tir_with_body(tc_ctx *c, const tc_func *f, const tc_stmt *body) {
    tc_func *r = tc_arena_dup(tc_ctx_arena(c), f, sizeof *f);
    r->body = body;
    return r;
}

/* ---- memo: open addressing; an epoch per slot makes clearing free ---- */

struct tir_memo_slot {
    uint32_t epoch;
    const tc_expr *key, *value;
};

static uint32_t memo_find(const tir_memo *m, const tc_expr *key) {
    uint32_t i = key->id * 2654435761u & (m->cap - 1);
    while (m->slot[i].epoch == m->epoch && m->slot[i].key != key)
        i = (i + 1) & (m->cap - 1);
    return i;
}

const tc_expr *tir_memo_get(const tir_memo *m, const tc_expr *key) {
    if (!m->used)
        return NULL;
    const struct tir_memo_slot *s = &m->slot[memo_find(m, key)];
    return s->epoch == m->epoch ? s->value : NULL;
}

static void memo_grow(tir_memo *m) {
    tir_memo old = *m;
    uint32_t cap = old.cap ? 4 * old.cap : 64;
    struct tir_memo_slot *slot = tc_try_slots(cap, sizeof *slot, old.used + 2 > old.cap);
    if (!slot)
        return;
    m->cap = cap;
    m->slot = slot;
    m->epoch = 1;
    for (uint32_t i = 0; i < old.cap; i++)
        if (old.slot[i].epoch == old.epoch)
            m->slot[memo_find(m, old.slot[i].key)] = (struct tir_memo_slot){1, old.slot[i].key, old.slot[i].value};
    free(old.slot);
}

void tir_memo_put(tir_memo *m, const tc_expr *key, const tc_expr *value) {
    if (2 * m->used >= m->cap)
        memo_grow(m);
    uint32_t i = memo_find(m, key);
    m->used += m->slot[i].epoch != m->epoch;
    m->slot[i] = (struct tir_memo_slot){m->epoch, key, value};
}

void tir_memo_clear(tir_memo *m) {
    m->used = 0;
    if (m->cap && ++m->epoch == 0) {
        memset(m->slot, 0, m->cap * sizeof *m->slot);
        m->epoch = 1;
    }
}

void tir_memo_free(tir_memo *m) {
    free(m->slot);
    *m = (tir_memo){0};
}

/* ---- names ---- */

static void collect_name(const tc_stmt *s, void *user) {
    if (s->kind == TC_STMT_ALLOC)
        tc_map_puts(user, s->u.alloc.buffer->name, 1);
}

void tir_names_init(tir_names *n, const tc_func *f) {
    *n = (tir_names){0};
    for (int i = 0; i < f->nparam; i++)
        tc_map_puts(&n->used, f->params[i].buffer->name, 1);
    if (f->body)
        tc_tir_walk(f->body, collect_name, &n->used);
}

void tir_names_free(tir_names *n) {
    tc_map_free(&n->used);
}

/* D for D_2, where there is a D: copies of copies count on. */
static const char *base_name(tc_arena *a, const tir_names *n, const char *name) {
    const char *end = strrchr(name, '_');
    if (!end || end == name || !end[1] || strspn(end + 1, "0123456789") != strlen(end + 1))
        return name;
    const char *base = tc_arena_strndup(a, name, (size_t)(end - name));
    return tc_map_gets(&n->used, base) ? base : name;
}

tc_buffer *tir_fresh_buffer(tc_ctx *c, tir_names *n, const tc_buffer *b) {
    tc_arena *a = tc_ctx_arena(c);
    const char *base = base_name(a, n, b->name), *name = base;
    uintptr_t *count = tc_map_gets(&n->used, base); /* the value counts copies made of this name */
    for (uintptr_t i = count ? *count : 1; tc_map_gets(&n->used, name); i++)
        name = tc_arena_printf(a, "%s_%d", base, (int)i);
    if (count)
        ++*count;
    tc_map_puts(&n->used, name, 1);
    tc_buffer *r = tc_arena_dup(a, b, sizeof *b);
    r->name = name;
    r->id = tc_ctx_next_id(c);
    return r;
}

/* ---- copies ---- */

void tir_bind(tir_copier *k, const tc_var *v, const tc_expr *to) {
    tc_push(&k->vars, ((tir_binding){v, to}));
    tir_memo_clear(&k->memo);
}

void tir_unbind(tir_copier *k) {
    assert(k->vars.len);
    k->vars.len--;
    tir_memo_clear(&k->memo);
}

void tir_copier_free(tir_copier *k) {
    tc_vec_free(&k->vars);
    tc_vec_free(&k->bufs);
    tir_memo_free(&k->memo);
}

static const tc_expr *copy_var(const tir_copier *k, const tc_expr *e) {
    for (size_t i = k->vars.len; i-- > 0;)
        if (k->vars.data[i].var == e->u.var)
            return k->vars.data[i].to;
    return e;
}

static const tc_buffer *copy_buffer(const tir_copier *k, const tc_buffer *b) {
    for (size_t i = k->bufs.len; i-- > 0;)
        if (k->bufs.data[i].from == b)
            return k->bufs.data[i].to;
    return b;
}

static const tc_expr *copy_arg(tc_ctx *c, const tc_expr *e, void *user) {
    (void)c;
    return tir_copy_expr(user, e);
}

static const tc_expr *copy_node(tir_copier *k, const tc_expr *e) {
    const tc_buffer *b = e->op == TC_OP_LOAD ? copy_buffer(k, e->u.buffer) : NULL;
    if (!b || b == e->u.buffer)
        return tc_expr_map_args(k->c, e, copy_arg, k);
    const tc_expr *index = tir_copy_expr(k, e->args[0]);
    return tc_load(k->c, b, e->dtype, index, e->nargs > 1 ? tir_copy_expr(k, e->args[1]) : NULL);
}

const tc_expr *tir_copy_expr(tir_copier *k, const tc_expr *e) {
    if (!e || e->op == TC_OP_INT || e->op == TC_OP_FLOAT)
        return e;
    if (e->op == TC_OP_VAR)
        return copy_var(k, e);
    const tc_expr *r = tir_memo_get(&k->memo, e);
    if (!r) {
        r = copy_node(k, e);
        tir_memo_put(&k->memo, e, r);
    }
    return r;
}

static const tc_stmt *copy_for(tc_ctx *c, const tc_stmt *s, void *user) {
    tir_copier *k = user;
    const tc_expr *extent = tir_copy_expr(k, s->u.loop.extent);
    const tc_var *v = s->u.loop.var;
    if (k->fresh) {
        v = tc_var_new(c, v->name);
        tir_bind(k, s->u.loop.var, tc_varx(c, v));
    }
    const tc_stmt *body = tir_copy_stmt(k, s->u.loop.body);
    if (k->fresh)
        tir_unbind(k);
    return tc_tir_for_like(c, s, v, extent, body);
}

static const tc_stmt *copy_if(tc_ctx *c, const tc_stmt *s, void *user) {
    const tc_expr *cond = tir_copy_expr(user, s->u.cond.cond);
    const tc_stmt *then = tir_copy_stmt(user, s->u.cond.then);
    return tir_with_arms(c, s, cond, then, tir_copy_stmt(user, s->u.cond.otherwise));
}

static const tc_stmt *copy_store(tc_ctx *c, const tc_stmt *s, void *user) {
    const tc_expr *mask = tir_copy_expr(user, s->u.store.mask), *value = tir_copy_expr(user, s->u.store.value);
    return tc_tir_store(c, copy_buffer(user, s->u.store.buffer), tir_copy_expr(user, s->u.store.index), value, mask);
}

static const tc_stmt *copy_alloc(tc_ctx *c, const tc_stmt *s, void *user) {
    tir_copier *k = user;
    const tc_buffer *b = copy_buffer(k, s->u.alloc.buffer);
    if (k->fresh) {
        b = tir_fresh_buffer(c, k->names, b);
        tc_push(&k->bufs, ((tir_rename){s->u.alloc.buffer, b}));
        tir_memo_clear(&k->memo);
    }
    const tc_stmt *body = tir_copy_stmt(k, s->u.alloc.body);
    if (k->fresh) {
        k->bufs.len--;
        tir_memo_clear(&k->memo);
    }
    return tc_tir_alloc(c, b, body);
}

static const tc_stmt *copy_prefetch(tc_ctx *c, const tc_stmt *s, void *user) {
    return tc_tir_prefetch(c, copy_buffer(user, s->u.prefetch.buffer), tir_copy_expr(user, s->u.prefetch.index));
}

static const tc_stmt *copy_intrin(tc_ctx *c, const tc_stmt *s, void *user) {
    tc_tile_stmt t = s->u.intrin;
    for (int i = 0; i < 3; i++)
        t.tile[i] = copy_buffer(user, t.tile[i]);
    t.memory = copy_buffer(user, t.memory);
    t.index = tir_copy_expr(user, t.index);
    return tc_tir_tile(c, &t);
}

const tc_stmt *tir_copy_stmt(tir_copier *k, const tc_stmt *s) {
    static const tir_rules RULES = {{[TC_STMT_FOR] = copy_for,
                                     [TC_STMT_IF] = copy_if,
                                     [TC_STMT_STORE] = copy_store,
                                     [TC_STMT_ALLOC] = copy_alloc,
                                     [TC_STMT_PREFETCH] = copy_prefetch,
                                     [TC_STMT_INTRIN] = copy_intrin}};
    return tir_rewrite(k->c, &RULES, s, k);
}

/* ---- ranges ---- */

tc_ival tir_loop_range(const tc_expr *extent, const tc_env *env) {
    tc_ival r = tc_te_bounds(extent, env);
    return (tc_ival){0, r.hi == TC_INF ? TC_INF : r.hi - 1};
}

static void assume_below(tc_ctx *c, tc_env *env, const tc_expr *v, const tc_expr *extent) {
    if (extent->op == TC_OP_INT)
        return;
    if (extent->op != TC_OP_MIN) {
        tc_env_assume(env, tc_bin(c, TC_OP_LT, v, extent));
        return;
    }
    assume_below(c, env, v, extent->args[0]);
    assume_below(c, env, v, extent->args[1]);
}

size_t tir_enter_loop(tc_ctx *c, tc_env *env, const tc_var *v, const tc_expr *extent) {
    size_t mark = tc_env_mark(env);
    tc_env_set(env, v, tir_loop_range(extent, env));
    if (extent->op != TC_OP_INT)
        assume_below(c, env, tc_varx(c, v), extent);
    return mark;
}

bool tir_const_extent(const tc_stmt *loop, int64_t *n) {
    *n = loop->u.loop.extent->u.i;
    return loop->u.loop.extent->op == TC_OP_INT;
}

static int64_t saturate(int64_t a, int64_t b) {
    int64_t r;
    return __builtin_mul_overflow(a, b, &r) ? INT64_MAX / 4 : TC_MIN(r, INT64_MAX / 4);
}

/* A store counts 1, unless its value is larger than any of a network's: then each 16 terms more are another store. */
static int64_t weight_of_store(const tc_expr *value) {
    enum { SHALLOW = 10, ORDINARY = 1024, TERMS = 16 }; /* so shallow a value is no larger */
    int64_t terms = value->depth <= SHALLOW ? 0 : tc_expr_tree_size(value, TC_MAX_TREE);
    return 1 + TC_MAX(terms - ORDINARY, 0) / TERMS;
}

static int64_t terms_of_store(const tc_expr *value) {
    return tc_expr_tree_size(value, TC_MAX_TREE);
}

/* What of_store says of each store's value, once for each copy that unrolling makes. */
static int64_t weigh(const tc_stmt *s, int lanes, int64_t (*of_store)(const tc_expr *value)) {
    const tc_stmt *inside;
    int64_t n, w = s->kind == TC_STMT_STORE ? of_store(s->u.store.value) : 0;
    for (int i = 0; (inside = tc_tir_child(s, i)); i++) {
        w += weigh(inside, lanes, of_store); /* not in TC_MIN, which would call it twice, and so 2^depth times */
        w = TC_MIN(w, INT64_MAX / 4);
    }
    if (s->kind != TC_STMT_FOR)
        return w;
    if (!tir_const_extent(s, &n) || s->u.loop.kind == TC_FOR_SERIAL || s->u.loop.kind == TC_FOR_PARALLEL)
        return w + 1;
    if (s->u.loop.kind == TC_FOR_TENSOR) /* becomes a few instructions */
        return w;
    return saturate(w, s->u.loop.kind == TC_FOR_VECTOR ? tc_ceil_div(n, lanes) : n);
}

int64_t tir_weight(const tc_stmt *s, int lanes) {
    return weigh(s, lanes, weight_of_store);
}

int64_t tir_terms(const tc_stmt *s, int lanes) {
    return weigh(s, lanes, terms_of_store);
}

/* Bytes of the widest element that is computed with. Index arithmetic is i64 and does not count: it is scalar, or a ramp. */
static void widest_value(const tc_expr *e, void *user) {
    int *w = user;
    if (e->dtype != TC_I64)
        *w = TC_MAX(*w, tc_dtype_bytes(e->dtype));
}

static void widest_store(const tc_stmt *s, void *user) {
    int *w = user;
    if (s->kind != TC_STMT_STORE)
        return;
    *w = TC_MAX(*w, tc_dtype_bytes(s->u.store.buffer->dtype));
    tc_expr_walk(s->u.store.value, widest_value, w);
}

int tir_lanes(const tc_machine *m, const tc_stmt *body) {
    int widest = 1;
    tc_tir_walk(body, widest_store, &widest);
    return TC_MAX(1, m->vector_bytes / widest);
}

/* ---- conditions ---- */

/* Numbers near the ends of i64 are no sizes or places, and what is computed with them would wrap. */
static bool is_moderate(const tc_affine *a) {
    static const int64_t most = (int64_t)1 << 48;
    bool ok = a->c >= -most && a->c <= most;
    for (int i = 0; ok && i < a->n; i++)
        ok = a->term[i].coef >= -most && a->term[i].coef <= most;
    return ok;
}

bool tir_cond_affine(tc_ctx *c, const tc_expr *cond, const tc_env *env, tc_affine *a) {
    bool swap = cond->op == TC_OP_LT || cond->op == TC_OP_LE, strict = cond->op == TC_OP_LT || cond->op == TC_OP_GT;
    if (!swap && cond->op != TC_OP_GE && cond->op != TC_OP_GT)
        return false;
    if (cond->lanes != 1 || cond->args[0]->dtype != TC_I64)
        return false;
    tc_affine less;
    if (!tc_te_affine(c, cond->args[swap], env, a) || !tc_te_affine(c, cond->args[!swap], env, &less))
        return false;
    if (!is_moderate(a) || !is_moderate(&less) || !tc_affine_add(a, &less, -1))
        return false;
    a->c -= strict;
    return true;
}

/* sum(neg) < sum(pos) + c + 1, which reads as the guards of the schedule do. */
const tc_expr *tir_affine_cond(tc_ctx *c, const tc_affine *a) {
    tc_affine left = {0}, right = {.c = 0};
    for (int i = 0; i < a->n; i++) {
        tc_affine *side = a->term[i].coef < 0 ? &left : &right;
        side->term[side->n++] = (tc_term){a->term[i].atom, a->term[i].coef < 0 ? -a->term[i].coef : a->term[i].coef};
    }
    if (!left.n) {
        const tc_expr *l = tc_te_from_affine(c, &right);
        return tc_bin(c, TC_OP_GE, l, tc_i64(c, -a->c));
    }
    right.c = a->c + 1;
    return tc_bin(c, TC_OP_LT, tc_te_from_affine(c, &left), tc_te_from_affine(c, &right));
}

tc_ival tir_affine_bounds(tc_ctx *c, const tc_affine *a, const tc_env *env) {
    return tc_te_bounds(tc_te_from_affine(c, a), env);
}

int tir_conjuncts(const tc_expr *cond, const tc_expr **out, int cap) {
    if (cond->op != TC_OP_AND) {
        if (cap > 0)
            out[0] = cond;
        return 1;
    }
    int n = tir_conjuncts(cond->args[0], out, cap);
    return n + tir_conjuncts(cond->args[1], out + TC_MIN(n, cap), TC_MAX(cap - n, 0));
}

size_t tir_suppose(tc_env *env, const tc_expr *cond, bool holds) {
    size_t mark = tc_env_mark(env);
    if (holds)
        tc_env_assume(env, cond);
    else
        tc_env_assume_not(env, cond);
    return mark;
}

const tc_stmt *tir_rewrite_arms(tc_ctx *c, const tir_rules *r, const tc_stmt *s, tc_env *env, void *pass) {
    size_t mark = tir_suppose(env, s->u.cond.cond, true);
    const tc_stmt *then = tir_rewrite(c, r, s->u.cond.then, pass), *otherwise = NULL;
    tc_env_undo(env, mark);
    if (s->u.cond.otherwise) {
        tir_suppose(env, s->u.cond.cond, false);
        otherwise = tir_rewrite(c, r, s->u.cond.otherwise, pass);
        tc_env_undo(env, mark);
    }
    return tir_with_arms(c, s, s->u.cond.cond, then, otherwise);
}
