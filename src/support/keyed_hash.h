/* Hashes for tables in memory whose keys come from outside: names in files, numbers in messages. Whoever writes the file does not
 * know the key of the process, so nobody can choose names that all get one slot. They are never stored, and never decide an order:
 * hash.h has those that outlive the process. */
#ifndef TC_SUPPORT_KEYED_HASH_H
#define TC_SUPPORT_KEYED_HASH_H

#include <stddef.h>
#include <stdint.h>

typedef struct tc_hash_key {
    uint64_t a, b;
} tc_hash_key;

/* The same in the whole process, and in its forks. It is made of the random bytes that the kernel gives each program. */
tc_hash_key tc_hash_key_of_process(void);

/* SipHash-1-3 of n bytes. */
uint64_t tc_keyed_hash(const tc_hash_key *k, const void *p, size_t n);

#endif
