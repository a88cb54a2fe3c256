/* Structural hash of a function. Loops number the variables in binding order, and declarations number the buffers. So names do
 * not matter. Two traces that lower to the same program have the same hash. */
#include <string.h>

#include "support/hash.h"
#include "support/map.h"
#include "tir_lower/tir.h"

typedef struct hasher {
    tc_map ids;  /* variable or buffer id (bit 63 / bit 62 set) -> number */
    tc_map memo; /* expression id -> hash */
    uint64_t next;
} hasher;

static uint64_t mix(uint64_t h, uint64_t v) {
    return tc_hash_mix(h, v);
}

static uint64_t number(hasher *h, uint64_t key) {
    uintptr_t *have = tc_map_get(&h->ids, key);
    if (have)
        return *have;
    tc_map_put(&h->ids, key, ++h->next);
    return h->next;
}

static uint64_t var_number(hasher *h, const tc_var *v) {
    return number(h, (uint64_t)1 << 63 | v->id);
}

static uint64_t buffer_number(hasher *h, const tc_buffer *b) {
    return number(h, (uint64_t)1 << 62 | b->id);
}

static uint64_t hash_expr(hasher *h, const tc_expr *e) {
    if (!e)
        return 0x9e3779b97f4a7c15u;
    uintptr_t *have = e->nargs ? tc_map_get(&h->memo, e->id) : NULL; /* leaves cost less than looking them up */
    if (have)
        return *have;
    uint64_t v = mix(e->op + 1u, (uint64_t)e->dtype << 32 | (uint64_t)e->lanes << 8 | e->nargs), bits;
    if (e->op == TC_OP_FLOAT) {
        memcpy(&bits, &e->u.f, sizeof bits);
        v = mix(v, bits);
    }
    if (e->op == TC_OP_INT)
        v = mix(v, (uint64_t)e->u.i);
    if (e->op == TC_OP_VAR)
        v = mix(v, var_number(h, e->u.var));
    if (e->op == TC_OP_LOAD)
        v = mix(v, buffer_number(h, e->u.buffer));
    for (int i = 0; i < e->nargs; i++)
        v = mix(v, hash_expr(h, e->args[i]));
    if (e->nargs)
        tc_map_put(&h->memo, e->id, (uintptr_t)v);
    return v;
}

static uint64_t size_number(hasher *h, const tc_var *symbol) {
    return !symbol ? 0 : symbol->value ? hash_expr(h, symbol->value) : var_number(h, symbol);
}

static uint64_t hash_buffer(hasher *h, const tc_buffer *b) {
    uint64_t v = mix(buffer_number(h, b), (uint64_t)b->size);
    for (int d = 0; tc_tir_varies(b) && d < b->tensor->ndim; d++)
        v = mix(v, size_number(h, b->tensor->symbol[d]));
    return mix(v, (uint64_t)b->dtype << 40 | (uint64_t)b->scope << 32 | (uint64_t)b->reg_lanes << 16 | (uint64_t)b->align << 1 |
                      b->local);
}

static uint64_t hash_intrin(hasher *h, const tc_tile_stmt *t) {
    uint64_t v = mix((uint64_t)t->op, (uint64_t)t->stride);
    if (t->unit)
        v = mix(v, tc_hash64(t->unit->text, strlen(t->unit->text), 0));
    for (int i = 0; i < 3; i++)
        v = mix(v, t->tile[i] ? buffer_number(h, t->tile[i]) : 0);
    return mix(mix(v, t->memory ? buffer_number(h, t->memory) : 0), hash_expr(h, t->index));
}

static uint64_t hash_stmt(hasher *h, const tc_stmt *s) {
    if (!s)
        return 0x2545f4914f6cdd1du;
    uint64_t v = (uint64_t)s->kind + 101;
    switch (s->kind) {
    case TC_STMT_SEQ:
        for (int i = 0; i < s->u.seq.n; i++)
            v = mix(v, hash_stmt(h, s->u.seq.s[i]));
        return v;
    case TC_STMT_FOR:
        v = mix(v, hash_expr(h, s->u.loop.extent));
        v = mix(v, var_number(h, s->u.loop.var) << 4 | (uint64_t)s->u.loop.kind << 1 | s->u.loop.reduce);
        if (s->u.loop.unit)
            v = mix(v, tc_hash64(s->u.loop.unit->text, strlen(s->u.loop.unit->text), 0));
        return mix(v, hash_stmt(h, s->u.loop.body));
    case TC_STMT_IF:
        v = mix(mix(v, s->u.cond.guard), hash_expr(h, s->u.cond.cond));
        return mix(mix(v, hash_stmt(h, s->u.cond.then)), hash_stmt(h, s->u.cond.otherwise));
    case TC_STMT_STORE:
        v = mix(v, buffer_number(h, s->u.store.buffer));
        v = mix(mix(v, hash_expr(h, s->u.store.index)), hash_expr(h, s->u.store.value));
        return mix(v, hash_expr(h, s->u.store.mask));
    case TC_STMT_ALLOC:
        v = mix(v, hash_buffer(h, s->u.alloc.buffer));
        return mix(v, hash_stmt(h, s->u.alloc.body));
    case TC_STMT_PREFETCH:
        return mix(mix(v, buffer_number(h, s->u.prefetch.buffer)), hash_expr(h, s->u.prefetch.index));
    case TC_STMT_INTRIN:
        return mix(v, hash_intrin(h, &s->u.intrin));
    case TC_NSTMTS:
        break;
    }
    return v;
}

static uint64_t hash_param(hasher *h, const tc_param *p) {
    uint64_t v = mix(hash_buffer(h, p->buffer), (uint64_t)p->kind << 32 | (uint64_t)(uint32_t)p->index);
    if (p->overlaps)
        v = mix(v, 1);
    if (p->ahead)
        v = mix(v, (uint64_t)p->ahead);
    for (int i = 0; p->layout && i < p->layout->nin; i++)
        v = mix(v, var_number(h, p->layout->var[i]));
    for (int i = 0; p->layout && i < p->layout->nout; i++)
        v = mix(v, hash_expr(h, p->layout->to[i]));
    return v;
}

uint64_t tc_tir_hash(const tc_func *f) {
    hasher h = {0};
    uint64_t v = (uint64_t)f->nparam;
    for (int i = 0; i < f->nsymbol; i++) {
        v = mix(v, var_number(&h, f->symbols[i]));
        v = mix(mix(v, (uint64_t)f->symbols[i]->least), (uint64_t)f->symbols[i]->most);
    }
    for (int i = 0; i < f->nparam; i++)
        v = mix(v, hash_param(&h, &f->params[i]));
    v = mix(v, hash_stmt(&h, f->body));
    tc_map_free(&h.ids);
    tc_map_free(&h.memo);
    return v;
}
