/* Removes parts of stored values, in the lowered program: copies, epilogues, arithmetic. */
#include "tir_lower/passes/pass.h"
#include "tir_lower/program/ablate_int.h"

/* ---- what a value is made of ---- */

typedef struct operands {
    const ablation *k;
    tc_map seen;
    TC_VEC(const tc_expr *) loads; /* those that can stand alone: what an arm of a select reads may be out of bounds otherwise */
    int ops;                       /* operations, but casts and broadcasts */
} operands;

static bool is_free(tc_op op) {
    return op == TC_OP_CAST || op == TC_OP_BCAST || op == TC_OP_RAMP || (tc_op_traits(op) & TC_LEAF);
}

static void take_apart(operands *x, const tc_expr *e, bool chosen) {
    if (!tc_map_put(&x->seen, e->id, 1))
        return;
    if (e->op == TC_OP_LOAD) {
        if (!chosen || ablate_within(x->k, e->u.buffer, e->args[0]))
            tc_push(&x->loads, e);
        return;
    }
    x->ops += !is_free(e->op);
    for (int i = 0; i < e->nargs; i++)
        take_apart(x, e->args[i], chosen || (e->op == TC_OP_SELECT && i > 0));
}

static operands operands_of(const ablation *k, const tc_expr *value) {
    operands x = {.k = k};
    take_apart(&x, value, false);
    return x;
}

static void operands_free(operands *x) {
    tc_map_free(&x->seen);
    tc_vec_free(&x->loads);
}

/* A load as a value of that type, in as many lanes; NULL: it has others. */
static const tc_expr *as_value(tc_ctx *c, const tc_expr *load, const tc_expr *like) {
    if (load->lanes != like->lanes && load->lanes != 1)
        return NULL;
    const tc_expr *x = tc_cast(c, (tc_dtype)like->dtype, load);
    return load->lanes == like->lanes ? x : tc_bcast(c, x, like->lanes);
}

static bool is_own(const tc_expr *load, const tc_stmt *s) {
    return load->u.buffer == s->u.store.buffer && load->args[0] == s->u.store.index;
}

static const tc_stmt *storing(tc_ctx *c, const tc_stmt *s, const tc_expr *value) {
    return value ? tir_with_store(c, s, s->u.store.index, value, s->u.store.mask) : s;
}

/* ---- packing ----
 *
 *     alloc P { for .. { P[j*4 + k] = B[k*64 + j] } S }   =>   alloc P { S }
 *
 * P lies in a workspace, and B is none of the sums that are kept in registers or beside them: storing these is no copy. */

static bool in_memory(const tc_buffer *b) {
    return b->scope == TC_BUF_PARAM || b->scope == TC_BUF_SHARED || b->scope == TC_BUF_THREAD;
}

/* An element of such memory, or what stands for it in the padding. */
static bool is_element(const tc_expr *e) {
    if (e->op == TC_OP_SELECT)
        return is_element(e->args[1]) && is_element(e->args[2]) && (e->args[1]->op == TC_OP_LOAD || e->args[2]->op == TC_OP_LOAD);
    if (e->op == TC_OP_BCAST)
        return is_element(e->args[0]);
    return e->op == TC_OP_INT || e->op == TC_OP_FLOAT || (e->op == TC_OP_LOAD && in_memory(e->u.buffer) && !e->u.buffer->local);
}

static const tc_stmt *copy_rule(tc_ctx *c, const tc_stmt *s, void *user) {
    const ablation *k = user;
    const tc_buffer *b = s->u.store.buffer;
    (void)c;
    bool constant = !tc_expr_touches_memory(s->u.store.value);
    bool copies = tc_tir_scope(b->scope)->addressed && b->scope != TC_BUF_PARAM && !constant && is_element(s->u.store.value);
    return copies && !ablate_is_fixed(k, b) ? NULL : s;
}

tc_func *ablate_packing(ablation *k) {
    static const tir_rules RULES = {{[TC_STMT_STORE] = copy_rule}};
    return ablate_with_body(k, tir_rewrite(k->c, &RULES, k->f->body, k));
}

/* ---- epilogue ----
 *
 *     Y[i] = gelu(R[0] + b[i])   =>   Y[i] = R[0]
 *
 * R is a sum, or made of sums by the store before. */

typedef struct epilogue {
    const ablation *k;
    tc_map sums; /* buffers of sums, and of what is made of them */
} epilogue;

static bool is_sum(const tc_expr *e, const void *user) {
    return e->op == TC_OP_LOAD && tc_map_get(user, e->u.buffer->id);
}

static void find_tile_sum(epilogue *x, const tc_tile_stmt *t) {
    if (t->op == TC_TILE_MULTIPLY)
        tc_map_put(&x->sums, t->tile[0]->id, 1);
    if (t->op == TC_TILE_STORE && tc_map_get(&x->sums, t->tile[0]->id))
        tc_map_put(&x->sums, t->memory->id, 1);
}

static void find_sum(const tc_stmt *s, void *user) {
    epilogue *x = user;
    if (s->kind == TC_STMT_INTRIN)
        find_tile_sum(x, &s->u.intrin);
    if (s->kind == TC_STMT_STORE && (ablate_accumulates(s) || tc_expr_any(s->u.store.value, is_sum, &x->sums)))
        tc_map_put(&x->sums, s->u.store.buffer->id, 1);
}

/* Of the sums that the value is computed of, one for each lane before one for all. */
static const tc_expr *plain_sum(tc_ctx *c, const epilogue *x, const tc_stmt *s) {
    const tc_expr *value = s->u.store.value, *best = NULL;
    operands o = operands_of(x->k, value);
    for (size_t i = 0; i < o.loads.len && o.ops > 0; i++) {
        const tc_expr *load = o.loads.data[i];
        const tc_expr *as = is_sum(load, &x->sums) ? as_value(c, load, value) : NULL;
        if (as && (!best || load->lanes > 1)) {
            best = as;
            if (load->lanes == value->lanes)
                break;
        }
    }
    operands_free(&o);
    return best;
}

static const tc_stmt *epilogue_rule(tc_ctx *c, const tc_stmt *s, void *user) {
    const epilogue *x = user;
    if (ablate_accumulates(s) || ablate_is_fixed(x->k, s->u.store.buffer))
        return s;
    return storing(c, s, plain_sum(c, x, s));
}

tc_func *ablate_epilogue(ablation *k) {
    static const tir_rules RULES = {{[TC_STMT_STORE] = epilogue_rule}};
    epilogue x = {.k = k};
    for (size_t before = SIZE_MAX; before != x.sums.len;) {
        before = x.sums.len;
        tc_tir_walk(k->f->body, find_sum, &x);
    }
    tc_func *r = ablate_with_body(k, tir_rewrite(k->c, &RULES, k->f->body, &x));
    tc_map_free(&x.sums);
    return r;
}

/* ---- arithmetic ----
 *
 *     R0 = R0 + a*u; R1 = R1 + a*v; R2 = R2 + b*u; R3 = R3 + b*v   =>   R0 = R0 + a*u; R1 = R1 + a*v; R2 = R2 + b*u
 *     Y[i] = exp(X[i]) * Z[i]                                      =>   Y[i] = X[i] + Z[i]
 *
 * Within a loop's body, or an arm: a sum's step that loads nothing new goes, and of each of the others one operation stays, or
 * the sum of what it loads. */

enum { PLAIN = 2 }; /* operations of a multiply-add */

typedef struct arithmetic {
    const ablation *k;
    tc_map used; /* loads and tiles of this body: 1 if they have been used */
} arithmetic;

static bool use(arithmetic *x, uint32_t id) {
    uintptr_t *u = tc_map_get(&x->used, id);
    bool first = !u || !*u;
    tc_map_put(&x->used, id, 1);
    return first;
}

/* Sum of what is loaded, of a sum's step with what it was before; NULL where that cannot be added up. */
static const tc_expr *sum_of_loads(tc_ctx *c, const operands *o, const tc_stmt *s) {
    const tc_expr *value = s->u.store.value, *sum = NULL;
    bool adds = value->dtype != TC_BOOL && !tc_dtype_is_stored((tc_dtype)value->dtype);
    for (size_t i = 0; i < o->loads.len && (adds || !sum); i++) {
        const tc_expr *x = as_value(c, o->loads.data[i], value);
        if (!x)
            return NULL;
        sum = sum ? tc_add(c, sum, x) : x;
    }
    return sum;
}

/* How many of the loads are used for the first time. */
static int use_loads(arithmetic *x, const operands *o, const tc_stmt *s) {
    int first = 0;
    for (size_t i = 0; i < o->loads.len; i++)
        first += !is_own(o->loads.data[i], s) && use(x, o->loads.data[i]->id);
    return first;
}

static const tc_stmt *less_arithmetic(tc_ctx *c, arithmetic *x, const operands *o, const tc_stmt *s) {
    bool sum = ablate_accumulates(s);
    if (sum && o->loads.len > 1 && use_loads(x, o, s) == 0)
        return NULL;
    bool plain = o->ops <= (sum ? PLAIN : 0) || o->ops < (int)o->loads.len;
    return plain ? s : storing(c, s, sum_of_loads(c, o, s));
}

static const tc_stmt *arithmetic_rule(tc_ctx *c, const tc_stmt *s, void *user) {
    arithmetic *x = user;
    if (ablate_is_fixed(x->k, s->u.store.buffer))
        return s;
    operands o = operands_of(x->k, s->u.store.value);
    const tc_stmt *r = less_arithmetic(c, x, &o, s);
    operands_free(&o);
    return r;
}

static const tc_stmt *tile_rule(tc_ctx *c, const tc_stmt *s, void *user) {
    arithmetic *x = user;
    const tc_tile_stmt *t = &s->u.intrin;
    (void)c;
    if (t->op == TC_TILE_LOAD)
        tc_map_put(&x->used, t->tile[0]->id, 0);
    if (t->op != TC_TILE_MULTIPLY || ablate_is_fixed(x->k, t->tile[0]))
        return s;
    bool first = use(x, t->tile[1]->id);
    return use(x, t->tile[2]->id) || first ? s : NULL;
}

static const tc_stmt *body_rule(tc_ctx *c, const tc_stmt *s, void *user);

static const tir_rules ARITHMETIC_RULES = {
    {[TC_STMT_STORE] = arithmetic_rule, [TC_STMT_INTRIN] = tile_rule, [TC_STMT_FOR] = body_rule, [TC_STMT_IF] = body_rule}};

/* What was used before it, or in the other arm, may have been used in another turn, or not at all. */
static const tc_stmt *body_rule(tc_ctx *c, const tc_stmt *s, void *user) {
    arithmetic *x = user;
    tc_map_clear(&x->used);
    if (s->kind == TC_STMT_FOR) {
        const tc_stmt *r = tir_rewrite_inside(c, &ARITHMETIC_RULES, s, x);
        tc_map_clear(&x->used);
        return r;
    }
    const tc_stmt *then = tir_rewrite(c, &ARITHMETIC_RULES, s->u.cond.then, x);
    tc_map_clear(&x->used);
    const tc_stmt *otherwise = tir_rewrite(c, &ARITHMETIC_RULES, s->u.cond.otherwise, x);
    tc_map_clear(&x->used);
    return tir_with_arms(c, s, s->u.cond.cond, then, otherwise);
}

tc_func *ablate_arithmetic(ablation *k) {
    arithmetic x = {.k = k};
    tc_func *r = ablate_with_body(k, tir_rewrite(k->c, &ARITHMETIC_RULES, k->f->body, &x));
    tc_map_free(&x.used);
    return r;
}
