/* Hash map from a 64-bit key, or from a string, to a pointer-sized value. Iteration follows insertion order. No removal. Keys may
 * come from outside: slots depend on a key of the process (keyed_hash.h), and nothing else does. */
#ifndef TC_SUPPORT_MAP_H
#define TC_SUPPORT_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "support/keyed_hash.h"

typedef struct tc_map_entry {
    uint64_t key;    /* the key itself, or the hash of `str`, which differs from run to run */
    const char *str; /* NULL for integer keys; owned by the map */
    uintptr_t value;
} tc_map_entry;

/* Zero-initialised is empty and valid. entries[0..len) in insertion order. */
typedef struct tc_map {
    tc_map_entry *entries;
    uint32_t *slots;
    size_t len, cap, nslots;
    tc_hash_key of; /* where there are slots: their key */
} tc_map;

/* Returns the entry's value slot or NULL. */
uintptr_t *tc_map_get(const tc_map *m, uint64_t key);
uintptr_t *tc_map_gets(const tc_map *m, const char *key);
/* Inserts or overwrites; returns true when the key was new. */
bool tc_map_put(tc_map *m, uint64_t key, uintptr_t value);
bool tc_map_puts(tc_map *m, const char *key, uintptr_t value);
void tc_map_clear(tc_map *m);
void tc_map_free(tc_map *m);

#endif
