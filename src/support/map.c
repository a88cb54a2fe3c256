/* Open addressing over indices into an insertion-ordered array of entries. A slot holds index + 1; 0 is free. Invariant: at most
 * half of the slots are taken, and nslots is 0 or a power of two. Where memory runs out more of them are, until the call ends
 * (alloc.h). */
#include "support/map.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "support/arena.h"
#include "support/hash.h"

static size_t slot_of(const tc_map *m, uint64_t key, const char *str) {
    size_t slot = (size_t)(str ? key : tc_hash_mix(key ^ m->of.a, m->of.b)) & (m->nslots - 1);
#ifdef TCTUNE_HOSTILE
    slot &= ~(size_t)63; /* all keys of a small map at one slot */
#endif
    return slot;
}

/* The slot that holds (key, str), or the free slot where it belongs. Integer keys have str == NULL. */
static uint32_t *find_slot(const tc_map *m, uint64_t key, const char *str) {
    for (size_t s = slot_of(m, key, str);; s = (s + 1) & (m->nslots - 1)) {
        uint32_t *slot = &m->slots[s];
        if (!*slot)
            return slot;
        const tc_map_entry *e = &m->entries[*slot - 1];
        if (e->key == key && !e->str == !str && (!str || strcmp(e->str, str) == 0))
            return slot;
    }
}

/* False, with the slots as they were, when memory for more has run out. */
static bool rehash(tc_map *m, size_t nslots) {
    uint32_t *slots = tc_try_slots(nslots, sizeof *slots, m->len + 2 > m->nslots);
    if (!slots)
        return false;
    free(m->slots);
    m->slots = slots;
    m->nslots = nslots;
    for (size_t i = 0; i < m->len; i++)
        *find_slot(m, m->entries[i].key, m->entries[i].str) = (uint32_t)(i + 1);
    return true;
}

/* For one entry more; true when the slots moved. */
static bool make_room(tc_map *m) {
    assert(m->len < UINT32_MAX / 4);
    if (m->len == m->cap) {
        m->cap = m->cap ? 2 * m->cap : 8;
        m->entries = tc_grow(m->entries, m->cap * sizeof *m->entries);
    }
    if (2 * (m->len + 1) <= m->nslots)
        return false;
    return rehash(m, m->nslots ? 2 * m->nslots : 16);
}

/* The map has entries. */
static uintptr_t *get(const tc_map *m, uint64_t key, const char *str) {
    uint32_t slot = *find_slot(m, key, str);
    return slot ? &m->entries[slot - 1].value : NULL;
}

/* The map has slots. */
static bool put(tc_map *m, uint64_t key, const char *str, uintptr_t value) {
    uint32_t *slot = find_slot(m, key, str);
    if (*slot) {
        m->entries[*slot - 1].value = value;
        return false;
    }
    if (make_room(m))
        slot = find_slot(m, key, str);
    *slot = (uint32_t)(m->len + 1);
    m->entries[m->len++] = (tc_map_entry){key, str ? tc_xstrdup(str) : NULL, value};
    return true;
}

static void begin(tc_map *m) {
    if (m->nslots)
        return;
    m->of = tc_hash_key_of_process();
    make_room(m);
}

static uint64_t string_key(const tc_map *m, const char *s) {
    return tc_keyed_hash(&m->of, s, strlen(s));
}

uintptr_t *tc_map_get(const tc_map *m, uint64_t key) {
    return m->len ? get(m, key, NULL) : NULL;
}

uintptr_t *tc_map_gets(const tc_map *m, const char *key) {
    return m->len ? get(m, string_key(m, key), key) : NULL;
}

bool tc_map_put(tc_map *m, uint64_t key, uintptr_t value) {
    begin(m);
    return put(m, key, NULL, value);
}

bool tc_map_puts(tc_map *m, const char *key, uintptr_t value) {
    begin(m);
    return put(m, string_key(m, key), key, value);
}

void tc_map_clear(tc_map *m) {
    for (size_t i = 0; i < m->len; i++)
        free((char *)m->entries[i].str);
    m->len = 0;
    if (m->slots)
        memset(m->slots, 0, m->nslots * sizeof *m->slots);
}

void tc_map_free(tc_map *m) {
    tc_map_clear(m);
    free(m->entries);
    free(m->slots);
    *m = (tc_map){0};
}
