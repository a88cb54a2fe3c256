/* Contexts: an arena, a counter of ids, and the table of interned expressions. A child looks into its own table and the tables
 * of its parents. The parents are frozen while the child lives. So a child never makes a second copy of a parent's node, and
 * pointer equality holds across both contexts. Numbers in files become nodes: slots depend on a key of the process, so that nobody
 * can choose numbers that share one. */
#include "te/te_int.h"

#include <stdlib.h>

#include "support/keyed_hash.h"

struct tc_ctx {
    const tc_ctx *parent;
    tc_arena *arena;
    tc_hash_key key;
    uint32_t first_id, next_id;
    const tc_expr **slots; /* open addressing; at most half full */
    uint32_t nslots, len;
};

enum { FIRST_SLOTS = 1024 };

static tc_ctx *ctx_new(const tc_ctx *parent) {
    tc_ctx *c = tc_xcalloc(1, sizeof *c);
    c->parent = parent;
    c->arena = tc_arena_new();
    c->key = parent ? parent->key : tc_hash_key_of_process();
    c->first_id = c->next_id = parent ? parent->next_id : 1;
    c->nslots = FIRST_SLOTS;
    c->slots = tc_xcalloc(c->nslots, sizeof *c->slots);
    return c;
}

tc_ctx *tc_ctx_new(void) {
    return ctx_new(NULL);
}

tc_ctx *tc_ctx_child(const tc_ctx *parent) {
    return ctx_new(parent);
}

void tc_ctx_reset(tc_ctx *child) {
    assert(child->parent);
    tc_arena_reset(child->arena);
    child->first_id = child->next_id = child->parent->next_id;
    child->len = 0;
    memset(child->slots, 0, child->nslots * sizeof *child->slots);
}

void tc_ctx_free(tc_ctx *c) {
    if (!c)
        return;
    tc_arena_free(c->arena);
    free(c->slots);
    free(c);
}

tc_arena *tc_ctx_arena(tc_ctx *c) {
    return c->arena;
}

uint32_t tc_ctx_next_id(tc_ctx *c) {
    assert(!c->parent || c->parent->next_id == c->first_id); /* the parent grew under a live child */
    return c->next_id++;
}

const tc_var *tc_var_new(tc_ctx *c, const char *name) {
    tc_var *v = TC_NEW(c->arena, tc_var);
    v->name = tc_arena_strdup(c->arena, name);
    v->id = tc_ctx_next_id(c);
    return v;
}

const tc_var *tc_symbol_new(tc_ctx *c, const char *name, int64_t least, int64_t most) {
    assert(0 <= least && least <= most && 1 <= most && most <= TC_MAX_SIZE);
    tc_var *v = (tc_var *)tc_var_new(c, name); /* made above, not const */
    v->is_symbol = true;
    v->least = least;
    v->most = most;
    return v;
}

/* The payload as bits: ids where there are some, so that a hash does not depend on addresses more than it must. */
static uint64_t payload(const tc_expr *e) {
    if (e->op == TC_OP_VAR)
        return e->u.var->id;
    if (e->op == TC_OP_READ)
        return e->u.tensor->id;
    return (uint64_t)e->u.i; /* also the bits of a double, or a buffer's address */
}

static uint32_t hash_node(const tc_hash_key *k, const tc_expr *key, const tc_expr *const *args) {
    uint64_t h =
        (payload(key) ^ k->a) * 0x9e3779b97f4a7c15u ^ ((uint64_t)key->op << 32 | (uint64_t)key->dtype << 24 | key->lanes);
    for (int i = 0; i < key->nargs; i++)
        h = (h ^ args[i]->hash) * 0xff51afd7ed558ccdu + (h >> 29);
    h ^= (h >> 32) ^ k->b;
    h *= 0xc4ceb9fe1a85ec53u;
#ifdef TCTUNE_HOSTILE
    return (uint32_t)(h >> 32) & 0xfffc0; /* many equal ones in large contexts, none but equal slots in small ones */
#else
    return (uint32_t)(h >> 32);
#endif
}

static bool same(const tc_expr *e, const tc_expr *key, const tc_expr *const *args, uint32_t hash) {
    if (e->hash != hash || e->op != key->op || e->dtype != key->dtype || e->lanes != key->lanes || e->nargs != key->nargs ||
        e->u.i != key->u.i)
        return false;
    for (int i = 0; i < key->nargs; i++)
        if (e->args[i] != args[i])
            return false;
    return true;
}

/* Index of the slot that holds the node, or of the free slot where it belongs. */
static uint32_t find(const tc_ctx *c, const tc_expr *key, const tc_expr *const *args, uint32_t hash) {
    uint32_t s = hash & (c->nslots - 1);
    while (c->slots[s] && !same(c->slots[s], key, args, hash))
        s = (s + 1) & (c->nslots - 1);
    return s;
}

static void grow(tc_ctx *c) {
    uint32_t old_n = c->nslots;
    const tc_expr **old = c->slots, **slots = tc_try_slots(2 * (size_t)old_n, sizeof *slots, c->len + 1 >= old_n);
    if (!slots)
        return;
    c->nslots *= 2;
    c->slots = slots;
    for (uint32_t i = 0; i < old_n; i++) {
        if (!old[i])
            continue;
        uint32_t s = old[i]->hash & (c->nslots - 1);
        while (c->slots[s])
            s = (s + 1) & (c->nslots - 1);
        c->slots[s] = old[i];
    }
    free(old);
}

const tc_expr *te_intern(tc_ctx *c, const tc_expr *key, const tc_expr *const *args) {
    uint32_t hash = hash_node(&c->key, key, args);
    uint32_t s = find(c, key, args, hash);
    if (c->slots[s])
        return c->slots[s];
    for (const tc_ctx *p = c->parent; p; p = p->parent) {
        const tc_expr *known = p->slots[find(p, key, args, hash)];
        if (known)
            return known;
    }
    size_t bytes = sizeof *key + key->nargs * sizeof key->args[0];
    tc_expr *e = tc_arena_alloc(c->arena, bytes);
    memcpy(e, key, sizeof *key);
    e->depth = 1;
    for (int i = 0; i < key->nargs; i++) {
        e->args[i] = args[i];
        if (args[i]->depth >= e->depth)
            e->depth = (uint16_t)TC_MIN(args[i]->depth + 1, UINT16_MAX);
    }
    e->id = tc_ctx_next_id(c);
    e->hash = hash;
    c->slots[s] = e;
    if (2 * ++c->len > c->nslots)
        grow(c);
    return e;
}
