/* Promote: accumulators become registers.
 *
 * (a) A private buffer whose every access is at a constant index:
 *
 *     alloc acc f32[384] { acc[ramp(0, 1, 16)] = 0 ...  for k { acc[ramp(0, 1, 16)] = acc[ramp(0, 1, 16)] + ... } ... }
 *  => alloc acc f32[384] reg lanes 16 { the same: every acc[ramp(16*n, 1, 16)] is a value }
 *
 * (b) Elements of any buffer that a loop updates in place, at indices that do not depend on the loop:
 *
 *     for k { C[x] = C[x] + f(k) }
 *  => alloc R reg { R[0] = C[x]  for k { R[0] = R[0] + f(k) }  C[x] = R[0] ... the statements after the loop }
 *
 * over as many nested loops as allow it. Forwarding (forward.c) then passes an initial constant directly to R, lets a consumer
 * read R, and drops stores that no load reads any more.
 *
 * A slot is one index (a scalar, or a ramp of stride 1) that is always accessed with the same lanes. Slots may not overlap. A
 * mask of a register's stores is dropped if all its accesses have the mask; otherwise it becomes a select. A load's mask is
 * dropped if the result is stored under the same mask; otherwise it becomes a select with 0. Slots of different width go to
 * different buffers. Promotion stops at the number of the machine's vector registers, because a spilled register costs as much
 * as memory.
 *
 * Needs: NO_UNROLL and NO_VECTOR (indices are final). Gives: REGISTERS. Keeps: order of reduction. */
#include "tir_lower/passes/memory/promote_int.h"

#include <assert.h>
#include <string.h>

typedef struct promoter {
    tc_ctx *c;
    const tc_machine *m;
    tir_names *names;
    tc_env *env;
    tir_memo memo;
    const tir_scan *active; /* while rewriting */
    const tc_expr *mask;    /* of the store at hand: lanes outside do not matter */
    int free_regs;
    bool changed; /* (b) happened: forwarding is worth while */
} promoter;

static const tc_stmt *walk(promoter *k, const tc_stmt *s);
static const tc_stmt *walk_inside(promoter *k, const tc_stmt *s);

/* ---- choosing ---- */

static bool varies(const tc_expr *e, const void *bound) {
    return (e->op == TC_OP_VAR && tc_map_get(bound, e->u.var->id)) || e->op == TC_OP_LOAD;
}

static bool invariant(const tir_scan *k, const tc_expr *e) {
    return !e || !tc_expr_any(e, varies, &k->bound);
}

/* Slots of one buffer must all be known, invariant and apart from each other. Returns the registers they need, 0 if that fails. */
static int admissible(promoter *k, tir_scan *sc, const tc_buffer *b) {
    int regs = 0;
    for (size_t i = 0; i < sc->list.len; i++) {
        tir_slot *s = &sc->list.data[i];
        if (s->buffer != b)
            continue;
        s->at = tir_place_of(k->c, k->env, s->index);
        s->at.span = s->active;
        if (!s->at.known || (!sc->constant && (s->mixed || !invariant(sc, s->index) || !invariant(sc, s->mask))))
            return 0;
        for (size_t j = 0; j < i; j++)
            if (sc->list.data[j].buffer == b && !tir_places_disjoint(&s->at, &sc->list.data[j].at))
                return 0;
        if (sc->constant || s->stored)
            regs += TC_MAX(1, s->index->lanes * tc_dtype_bytes(b->dtype) / k->m->vector_bytes);
    }
    return regs;
}

/* Gives the slots of b registers: one buffer for each width. */
static void assign(promoter *k, tir_scan *sc, const tc_buffer *b, const tc_buffer **made, int *nmade) {
    for (size_t i = 0; i < sc->list.len; i++) {
        tir_slot *s = &sc->list.data[i];
        if (s->buffer != b || !(sc->constant || s->stored))
            continue;
        for (size_t j = 0; !s->reg && j < i; j++)
            if (sc->list.data[j].buffer == b && sc->list.data[j].reg && sc->list.data[j].reg->reg_lanes == s->index->lanes)
                s->reg = sc->list.data[j].reg;
        if (!s->reg) {
            s->reg = tir_fresh_buffer(k->c, k->names, b);
            if (sc->constant && *nmade == 0)
                s->reg->name = b->name; /* b itself goes */
            s->reg->scope = TC_BUF_REG;
            s->reg->param = -1;
            s->reg->local = true;
            s->reg->reg_lanes = s->index->lanes;
            s->reg->size = 0;
            s->reg->tensor = sc->constant ? b->tensor : NULL;
            made[(*nmade)++] = s->reg;
        }
        const tc_expr *at = tc_i64(k->c, s->reg->size);
        s->reg_index = s->index->lanes == 1 ? at : tc_ramp(k->c, at, tc_i64(k->c, 1), s->index->lanes);
        s->reg->size += s->index->lanes;
    }
}

/* ---- rewriting ---- */

static const tir_slot *slot_of(const promoter *k, const tc_buffer *b, const tc_expr *index) {
    const uintptr_t *at = tc_map_get(&k->active->slots, tir_slot_key(b, index));
    const tir_slot *s = at ? &k->active->list.data[*at] : NULL;
    return s && s->reg ? s : NULL;
}

static const tc_expr *load_slot(promoter *k, const tir_slot *s) {
    return tc_load(k->c, s->reg, s->buffer->dtype, s->reg_index, NULL);
}

/* A masked load gives 0 where the mask is off. */
static const tc_expr *load_masked(promoter *k, const tir_slot *s, const tc_expr *mask) {
    const tc_expr *r = load_slot(k, s);
    if (!mask || mask == k->mask)
        return r;
    return tc_select(k->c, mask, r, tc_bcast(k->c, tc_imm(k->c, s->buffer->dtype, 0), r->lanes));
}

static const tc_expr *rewrite_expr(tc_ctx *c, const tc_expr *e, void *user) {
    promoter *k = user;
    if (!e || e->nargs == 0)
        return e;
    const tc_expr *r = tir_memo_get(&k->memo, e);
    if (r)
        return r;
    const tir_slot *s = e->op == TC_OP_LOAD ? slot_of(k, e->u.buffer, e->args[0]) : NULL;
    r = s ? load_masked(k, s, e->nargs > 1 ? rewrite_expr(c, e->args[1], k) : NULL) : tc_expr_map_args(c, e, rewrite_expr, k);
    tir_memo_put(&k->memo, e, r);
    return r;
}

/* The memo holds what is right under the mask of the store at hand. */
static void set_mask(promoter *k, const tc_expr *mask) {
    if (k->mask != mask)
        tir_memo_clear(&k->memo);
    k->mask = mask;
}

static const tc_stmt *use_store(tc_ctx *c, const tc_stmt *s, void *user) {
    promoter *k = user;
    const tir_slot *to = slot_of(k, s->u.store.buffer, s->u.store.index);
    set_mask(k, s->u.store.mask);
    const tc_expr *value = rewrite_expr(c, s->u.store.value, k), *mask = rewrite_expr(c, s->u.store.mask, k);
    if (!to)
        return tc_tir_store(c, s->u.store.buffer, rewrite_expr(c, s->u.store.index, k), value, mask);
    if (mask && to->mixed)
        value = tc_select(c, mask, value, load_slot(k, to));
    return tc_tir_store(c, to->reg, to->reg_index, value, NULL);
}

static const tc_stmt *use_if(tc_ctx *c, const tc_stmt *s, void *user);
static const tir_rules USE = {{[TC_STMT_IF] = use_if, [TC_STMT_STORE] = use_store}};

static const tc_stmt *use_if(tc_ctx *c, const tc_stmt *s, void *user) {
    set_mask(user, NULL);
    const tc_expr *cond = rewrite_expr(c, s->u.cond.cond, user);
    const tc_stmt *then = tir_rewrite(c, &USE, s->u.cond.then, user);
    return tir_with_arms(c, s, cond, then, tir_rewrite(c, &USE, s->u.cond.otherwise, user));
}

/* s with the scan's registers in use. */
static const tc_stmt *use_registers(promoter *k, const tir_scan *sc, const tc_stmt *s) {
    k->active = sc;
    tir_memo_clear(&k->memo);
    return tir_rewrite(k->c, &USE, s, k);
}

static const tc_stmt *wrap_allocs(promoter *k, const tc_buffer *const *made, int n, const tc_stmt *body) {
    for (int i = n; i-- > 0;)
        body = tc_tir_alloc(k->c, made[i], body);
    return body;
}

/* ---- (a) private buffers ---- */

/* Selects need the register to have a value before the first store under a mask. */
static const tc_stmt *clear_mixed(promoter *k, const tir_scan *sc, const tc_stmt *body) {
    TC_VEC(const tc_stmt *) seq = {0};
    for (size_t i = 0; i < sc->list.len; i++) {
        const tir_slot *s = &sc->list.data[i];
        if (!s->reg || !s->mixed || !s->masked_first)
            continue;
        const tc_expr *zero = tc_bcast(k->c, tc_imm(k->c, s->buffer->dtype, 0), s->index->lanes);
        tc_push(&seq, tc_tir_store(k->c, s->reg, s->reg_index, zero, NULL));
    }
    tc_push(&seq, body);
    body = tc_tir_seq(k->c, (int)seq.len, seq.data);
    tc_vec_free(&seq);
    return body;
}

static const tc_stmt *promote_alloc(promoter *k, const tc_stmt *s) {
    const tc_buffer *b = s->u.alloc.buffer, *made[32];
    if (!tc_tir_scope(b->scope)->addressed || b->size > TIR_MAX_SLOTS * 64)
        return NULL;
    tir_scan sc = {.constant = true};
    tc_map_put(&sc.stored, b->id, 1);
    tir_scan_stmt(&sc, s->u.alloc.body, k->env);
    int nmade = 0, regs = *tc_map_get(&sc.stored, b->id) == 1 ? admissible(k, &sc, b) : 0;
    const tc_stmt *r = NULL;
    if (regs > 0 && regs <= k->free_regs) {
        assign(k, &sc, b, made, &nmade);
        const tc_stmt *body = clear_mixed(k, &sc, use_registers(k, &sc, s->u.alloc.body));
        k->free_regs -= regs;
        r = wrap_allocs(k, made, nmade, walk(k, body));
        k->free_regs += regs;
    }
    tir_scan_free(&sc);
    return r;
}

/* ---- (b) loops ---- */

typedef struct promoted {
    const tc_stmt *code; /* loads, the loop, stores */
    const tc_buffer *made[32];
    int nmade;
} promoted;

static const tc_stmt *transfers(promoter *k, const tir_scan *sc, const tc_stmt *loop) {
    TC_VEC(const tc_stmt *) seq = {0};
    for (size_t i = 0; i < sc->list.len; i++) {
        const tir_slot *s = &sc->list.data[i];
        if (s->reg && s->read_first)
            tc_push(&seq, tc_tir_store(k->c, s->reg, s->reg_index, tc_load(k->c, s->buffer, s->buffer->dtype, s->index, s->mask),
                                       NULL));
    }
    tc_push(&seq, loop);
    for (size_t i = 0; i < sc->list.len; i++) {
        const tir_slot *s = &sc->list.data[i];
        if (s->reg)
            tc_push(&seq, tc_tir_store(k->c, s->buffer, s->index, load_slot(k, s), s->mask));
    }
    const tc_stmt *r = tc_tir_seq(k->c, (int)seq.len, seq.data);
    tc_vec_free(&seq);
    return r;
}

/* Which buffers of a scanned loop get registers. Returns how many registers that takes. */
static int choose_buffers(promoter *k, tir_scan *sc, promoted *out) {
    int used = 0;
    for (size_t i = 0; i < sc->list.len; i++) {
        const tc_buffer *b = sc->list.data[i].buffer;
        if (*tc_map_get(&sc->stored, b->id) == 2)
            continue;
        int regs = out->nmade + 6 < (int)TC_LEN(out->made) ? admissible(k, sc, b) : 0;
        if (regs > 0 && used + regs <= k->free_regs) {
            assign(k, sc, b, out->made, &out->nmade);
            used += regs;
        }
        tir_scan_refuse(sc, b); /* decided */
    }
    return used;
}

static void note_stored(const tc_stmt *s, void *user) {
    tc_map *stored = user;
    if (s->kind == TC_STMT_ALLOC)
        tc_map_put(stored, s->u.alloc.buffer->id, 2); /* (b): it does not live outside the loop */
    else if (s->kind == TC_STMT_STORE && s->u.store.buffer->scope != TC_BUF_REG && !tc_map_get(stored, s->u.store.buffer->id))
        tc_map_put(stored, s->u.store.buffer->id, 1);
}

/* False if nothing in the loop can be promoted. A loop that may not run at all would load what need not exist. */
static bool promote_loop(promoter *k, const tc_stmt *s, promoted *out) {
    if (s->kind != TC_STMT_FOR || s->u.loop.kind != TC_FOR_SERIAL || tc_te_bounds(s->u.loop.extent, k->env).lo < 1)
        return false;
    tir_scan sc = {0};
    tc_tir_walk(s->u.loop.body, note_stored, &sc.stored);
    tir_scan_stmt(&sc, s, k->env);
    out->nmade = 0;
    int used = choose_buffers(k, &sc, out);
    if (out->nmade) {
        k->free_regs -= used;
        out->code = transfers(k, &sc, walk_inside(k, use_registers(k, &sc, s)));
        k->free_regs += used;
        k->changed = true;
    }
    tir_scan_free(&sc);
    return out->nmade > 0;
}

/* A sequence. Registers of a promoted loop stay visible to what follows it. */
static const tc_stmt *walk_each(promoter *k, int n, const tc_stmt *const *s) {
    const tc_stmt **out = TC_NEW_N(tc_ctx_arena(k->c), const tc_stmt *, n + 1);
    for (int i = 0; i < n; i++) {
        promoted p;
        if (!promote_loop(k, s[i], &p)) {
            out[i] = walk(k, s[i]);
            continue;
        }
        const tc_stmt *two[2] = {p.code, walk_each(k, n - i - 1, s + i + 1)};
        out[i] = wrap_allocs(k, p.made, p.nmade, tc_tir_seq(k->c, 2, two));
        return tc_tir_seq(k->c, i + 1, out);
    }
    return tc_tir_seq(k->c, n, out);
}

static const tc_stmt *walk_seq(tc_ctx *c, const tc_stmt *s, void *user) {
    (void)c;
    return walk_each(user, s->u.seq.n, s->u.seq.s);
}

static const tc_stmt *walk_for(tc_ctx *c, const tc_stmt *s, void *user) {
    (void)c;
    promoter *k = user;
    promoted p;
    if (promote_loop(k, s, &p))
        return wrap_allocs(k, p.made, p.nmade, p.code);
    tc_env_set(k->env, s->u.loop.var, tir_loop_range(s->u.loop.extent, k->env));
    return walk_inside(k, s);
}

static const tc_stmt *walk_if(tc_ctx *c, const tc_stmt *s, void *user);
static const tc_stmt *walk_alloc(tc_ctx *c, const tc_stmt *s, void *user);
static const tir_rules WALK = {
    {[TC_STMT_SEQ] = walk_seq, [TC_STMT_FOR] = walk_for, [TC_STMT_IF] = walk_if, [TC_STMT_ALLOC] = walk_alloc}};

static const tc_stmt *walk_if(tc_ctx *c, const tc_stmt *s, void *user) {
    const promoter *k = user;
    return tir_rewrite_arms(c, &WALK, s, k->env, user);
}

static const tc_stmt *walk_alloc(tc_ctx *c, const tc_stmt *s, void *user) {
    (void)c;
    const tc_stmt *r = promote_alloc(user, s);
    return r ? r : walk_inside(user, s);
}

static const tc_stmt *walk_inside(promoter *k, const tc_stmt *s) {
    return tir_rewrite_inside(k->c, &WALK, s, k);
}

static const tc_stmt *walk(promoter *k, const tc_stmt *s) {
    return tir_rewrite(k->c, &WALK, s, k);
}

tc_status tir_pass_promote(tc_ctx *c, const tc_machine *m, const tc_func *in, tc_func **out, tc_error *err) {
    (void)err;
    *out = tir_with_body(c, in, in->body);
    if (!in->body)
        return TC_OK;
    tir_names names;
    tir_names_init(&names, in);
    promoter k = {.c = c, .m = m, .names = &names, .env = tc_env_new(), .free_regs = m->vector_regs};
    (*out)->body = walk(&k, in->body);
    if (k.changed)
        (*out)->body = tir_forward_stores(c, k.env, (*out)->body);
    tc_env_free(k.env);
    tir_memo_free(&k.memo);
    tir_names_free(&names);
    return TC_OK;
}
