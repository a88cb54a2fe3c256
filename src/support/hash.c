/* Hashing by 64x64 -> 128 bit multiplication, sixteen bytes a step. Bytes are read as little-endian on every machine: the values
 * key records that outlive the process, so they may never change (tests/support pins them). */
#include "support/hash.h"

#include <stdio.h>

/* Odd constants with 32 bits set: the digits of pi's fraction, adjusted to that. The second pair serves the second half of a
 * digest. */
typedef struct secret {
    uint64_t a, b;
} secret;
static const secret FIRST = {0x243f6a8885a308d3u, 0x13198a2e03707345u};
static const secret SECOND = {0xa4093822299f31d1u, 0x082efa98ec4e6c89u};

/* Both halves of the product, and the operands again: a zero operand must not swallow the other one. */
static uint64_t mix(uint64_t a, uint64_t b) {
    unsigned __int128 p = (unsigned __int128)a * b;
    return (a + 0x9e3779b97f4a7c15u) ^ (b << 32 | b >> 32) ^ (uint64_t)p ^ (uint64_t)(p >> 64);
}

static uint64_t read_le(const unsigned char *p, size_t n) {
    uint64_t v = 0;
    for (size_t i = 0; i < n; i++)
        v |= (uint64_t)p[i] << (8 * i);
    return v;
}

static uint64_t hash_with(const secret *k, const void *p, size_t n, uint64_t seed) {
    const unsigned char *bytes = p;
    uint64_t h = mix(seed ^ k->a, k->b);
    size_t left = n;
    for (; left > 16; left -= 16, bytes += 16)
        h = mix(read_le(bytes, 8) ^ k->a ^ h, read_le(bytes + 8, 8) ^ k->b);
    size_t low = left < 8 ? left : 8;
    h = mix(read_le(bytes, low) ^ k->a ^ h, read_le(bytes + low, left - low) ^ k->b);
    return mix(h ^ (uint64_t)n, k->b ^ 0x9e3779b97f4a7c15u);
}

uint64_t tc_hash64(const void *p, size_t n, uint64_t seed) {
    return hash_with(&FIRST, p, n, seed);
}

uint64_t tc_hash_mix(uint64_t a, uint64_t b) {
    return mix(mix(a ^ FIRST.a, FIRST.b) ^ b, SECOND.a);
}

tc_digest tc_digest_of(const void *p, size_t n) {
    tc_digest d;
    snprintf(d.hex, sizeof d.hex, "%016llx%016llx", (unsigned long long)hash_with(&FIRST, p, n, 1),
             (unsigned long long)hash_with(&SECOND, p, n, 2));
    return d;
}
