/* Hashes that are the same on every machine and in every version: they key records and object caches. Nobody meets two texts of
 * one hash by chance, but whoever makes a file can make them. So code that joins what comes from outside compares the texts too, or
 * uses the hashes of keyed_hash.h. */
#ifndef TC_SUPPORT_HASH_H
#define TC_SUPPORT_HASH_H

#include <stddef.h>
#include <stdint.h>

/* 64-bit hash of n bytes with a seed (wyhash-like mixing; not cryptographic). */
uint64_t tc_hash64(const void *p, size_t n, uint64_t seed);
uint64_t tc_hash_mix(uint64_t a, uint64_t b);

/* 128-bit hash as 32 lower-case hex digits and a NUL. */
typedef struct tc_digest {
    char hex[33];
} tc_digest;
tc_digest tc_digest_of(const void *p, size_t n);

#endif
