/* Hashes that are trusted (BLAKE2b): nobody can find two texts with the same seal, or the seal of any text without its key.
 * Use hash.h where nobody gains by forging. */
#ifndef TC_SUPPORT_SEAL_H
#define TC_SUPPORT_SEAL_H

#include <stddef.h>

/* 256 bits as 64 lower-case hex digits and a NUL. */
typedef struct tc_seal {
    char hex[65];
} tc_seal;

enum { TC_SEAL_KEY = 64 /* bytes of a key at most */ };
/* Of n bytes; nkey 0: anybody can make it. */
tc_seal tc_seal_of(const void *key, size_t nkey, const void *p, size_t n);

#endif
