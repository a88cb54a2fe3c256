/* The first half of promote: which places of which buffers a scope accesses, how, and under which masks. */
#include "tir_lower/passes/memory/promote_int.h"

/* Lanes that a constant mask `ramp(0, 1, n) < bcast(r)` leaves on. */
static int active_lanes(const tc_expr *index, const tc_expr *mask) {
    if (!mask || mask->op != TC_OP_LT || mask->args[0]->op != TC_OP_RAMP || mask->args[1]->op != TC_OP_BCAST)
        return index->lanes;
    const tc_expr *ramp = mask->args[0], *limit = mask->args[1]->args[0];
    if (!tc_is_int(ramp->args[0], 0) || !tc_is_int(ramp->args[1], 1) || limit->op != TC_OP_INT)
        return index->lanes;
    return (int)TC_MAX(1, TC_MIN(limit->u.i, index->lanes));
}

void tir_scan_refuse(tir_scan *k, const tc_buffer *b) {
    tc_map_put(&k->stored, b->id, 2);
}

uint64_t tir_slot_key(const tc_buffer *b, const tc_expr *index) {
    return (uint64_t)b->id << 32 | index->id;
}

static bool constant_index(const tc_expr *e) {
    return e->op == TC_OP_INT || (e->op == TC_OP_RAMP && e->args[0]->op == TC_OP_INT && tc_is_int(e->args[1], 1));
}

static void access(tir_scan *k, const tc_buffer *b, const tc_expr *index, const tc_expr *mask, bool store) {
    uintptr_t *state = tc_map_get(&k->stored, b->id);
    if (!state || *state == 2)
        return;
    if (k->constant ? !constant_index(index) || k->under : k->under > 0) {
        tir_scan_refuse(k, b);
        return;
    }
    uintptr_t *at = tc_map_get(&k->slots, tir_slot_key(b, index));
    if (!at) {
        if (k->list.len == TIR_MAX_SLOTS) {
            tir_scan_refuse(k, b);
            return;
        }
        tc_map_put(&k->slots, tir_slot_key(b, index), k->list.len);
        tc_push(&k->list,
                ((tir_slot){.index = index, .mask = mask, .buffer = b, .read_first = !store, .masked_first = mask != NULL}));
        at = tc_map_get(&k->slots, tir_slot_key(b, index));
    }
    tir_slot *s = &k->list.data[*at];
    s->mixed |= s->mask != mask;
    s->stored |= store;
    s->active = TC_MAX(s->active, active_lanes(index, mask));
}

static void scan_expr(tir_scan *k, const tc_expr *e) {
    if (!e || e->nargs == 0 || tir_memo_get(&k->seen, e))
        return;
    tir_memo_put(&k->seen, e, e);
    for (int i = 0; i < e->nargs; i++)
        scan_expr(k, e->args[i]);
    if (e->op == TC_OP_LOAD)
        access(k, e->u.buffer, e->args[0], e->nargs > 1 ? e->args[1] : NULL, false);
}

static void scan_for(tir_scan *k, const tc_stmt *s, tc_env *env) {
    bool maybe = k->constant ? s->u.loop.kind == TC_FOR_PARALLEL
                             : s->u.loop.kind != TC_FOR_SERIAL || tc_te_bounds(s->u.loop.extent, env).lo < 1;
    tc_env_set(env, s->u.loop.var, tir_loop_range(s->u.loop.extent, env));
    tc_map_put(&k->bound, s->u.loop.var->id, 1);
    if (s->u.loop.kind == TC_FOR_PARALLEL)
        tir_memo_clear(&k->seen); /* a register cannot be used by other threads, whatever was loaded before */
    k->under += maybe;
    tir_scan_stmt(k, s->u.loop.body, env);
    k->under -= maybe;
}

static void scan_store(tir_scan *k, const tc_stmt *s) {
    scan_expr(k, s->u.store.index);
    scan_expr(k, s->u.store.value);
    scan_expr(k, s->u.store.mask);
    access(k, s->u.store.buffer, s->u.store.index, s->u.store.mask, true);
}

void tir_scan_stmt(tir_scan *k, const tc_stmt *s, tc_env *env) {
    const tc_stmt *inside;
    bool conditional = s->kind == TC_STMT_IF && !k->constant;
    if (s->kind == TC_STMT_FOR) {
        scan_for(k, s, env);
        return;
    }
    if (s->kind == TC_STMT_STORE)
        scan_store(k, s);
    if (s->kind == TC_STMT_IF)
        scan_expr(k, s->u.cond.cond);
    if (s->kind == TC_STMT_INTRIN && s->u.intrin.memory)
        tir_scan_refuse(k, s->u.intrin.memory);
    k->under += conditional;
    for (int i = 0; (inside = tc_tir_child(s, i)); i++)
        tir_scan_stmt(k, inside, env);
    k->under -= conditional;
}

void tir_scan_free(tir_scan *k) {
    tc_map_free(&k->slots);
    tc_map_free(&k->stored);
    tc_map_free(&k->bound);
    tc_vec_free(&k->list);
    tir_memo_free(&k->seen);
}
