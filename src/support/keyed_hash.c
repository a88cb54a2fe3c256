/* SipHash (Aumasson and Bernstein, "SipHash: a fast short-input PRF", 2012) with one round for each 8 bytes and three at the end. */
#include "support/keyed_hash.h"

#include <string.h>
#include <sys/auxv.h>

#include "support/hash.h"

tc_hash_key tc_hash_key_of_process(void) {
    /* The C library guards the stack with these bytes themselves, so the key is a hash of them. */
    enum { RANDOM_BYTES = 16 };
    const void *random = (const void *)(uintptr_t)getauxval(AT_RANDOM);
    if (!random)
        return (tc_hash_key){0};
    return (tc_hash_key){tc_hash64(random, RANDOM_BYTES, 1), tc_hash64(random, RANDOM_BYTES, 2)};
}

static inline uint64_t rotated(uint64_t v, int by) {
    return v << by | v >> (64 - by);
}

static inline void do_round(uint64_t v[4]) {
    v[0] += v[1];
    v[1] = rotated(v[1], 13) ^ v[0];
    v[0] = rotated(v[0], 32);
    v[2] += v[3];
    v[3] = rotated(v[3], 16) ^ v[2];
    v[0] += v[3];
    v[3] = rotated(v[3], 21) ^ v[0];
    v[2] += v[1];
    v[1] = rotated(v[1], 17) ^ v[2];
    v[2] = rotated(v[2], 32);
}

static inline void take(uint64_t v[4], uint64_t word) {
    v[3] ^= word;
    do_round(v);
    v[0] ^= word;
}

uint64_t tc_keyed_hash(const tc_hash_key *k, const void *p, size_t n) {
    const unsigned char *bytes = p;
    uint64_t v[4] = {k->a ^ 0x736f6d6570736575u, k->b ^ 0x646f72616e646f6du, k->a ^ 0x6c7967656e657261u,
                     k->b ^ 0x7465646279746573u};
    uint64_t word, last = (uint64_t)n << 56;
    size_t left = n;
    for (; left >= sizeof word; left -= sizeof word, bytes += sizeof word) {
        memcpy(&word, bytes, sizeof word);
        take(v, word);
    }
    for (size_t i = 0; i < left; i++)
        last |= (uint64_t)bytes[i] << (8 * i);
    take(v, last);
    v[2] ^= 0xff;
    do_round(v);
    do_round(v);
    do_round(v);
    return v[0] ^ v[1] ^ v[2] ^ v[3];
}
