/* map.h, hash.h and keyed_hash.h. */
#include "support/cmocka_all.h"

#include <stdio.h>
#include <string.h>

#include "support/hash.h"
#include "support/keyed_hash.h"
#include "support/map.h"
#include "support/rng.h"

static void empty_map_answers(void **state) {
    (void)state;
    tc_map m = {0};
    assert_null(tc_map_get(&m, 0));
    assert_null(tc_map_gets(&m, ""));
    tc_map_clear(&m);
    tc_map_free(&m);
    assert_null(tc_map_get(&m, 0));
}

static void integer_keys_survive_growth(void **state) {
    (void)state;
    enum { N = 3000 };
    tc_map m = {0};
    tc_rng r = tc_rng_seed(5);
    uint64_t keys[N];
    for (size_t i = 0; i < N; i++) {
        /* Random, dense, and differing in the high bits only: the patterns that naive slot choices cluster on. */
        keys[i] = i % 3 == 0 ? tc_rng_next(&r) : i % 3 == 1 ? i : (uint64_t)i << 40;
        assert_true(tc_map_put(&m, keys[i], i));
        assert_int_equal(m.len, i + 1);
    }
    for (size_t i = 0; i < N; i++) {
        assert_int_equal(*tc_map_get(&m, keys[i]), i);
        assert_true(m.entries[i].key == keys[i]);
        assert_null(m.entries[i].str);
    }
    assert_null(tc_map_get(&m, 0xdeadbeefcafe));
    assert_false(tc_map_put(&m, keys[7], 1234));
    assert_int_equal(*tc_map_get(&m, keys[7]), 1234);
    assert_int_equal(m.len, N);
    *tc_map_get(&m, keys[8]) = 99; /* the slot is writable */
    assert_int_equal(*tc_map_get(&m, keys[8]), 99);
    tc_map_free(&m);
}

static void string_keys_are_copied(void **state) {
    (void)state;
    tc_map m = {0};
    char key[32];
    for (int i = 0; i < 2000; i++) {
        snprintf(key, sizeof key, "key%d", i);
        assert_true(tc_map_puts(&m, key, (uintptr_t)i));
    }
    memset(key, 'x', 10);
    assert_null(tc_map_gets(&m, key));
    assert_true(tc_map_puts(&m, "", 77));
    for (int i = 0; i < 2000; i++) {
        snprintf(key, sizeof key, "key%d", i);
        assert_int_equal(*tc_map_gets(&m, key), i);
        assert_string_equal(m.entries[i].str, key);
    }
    assert_int_equal(*tc_map_gets(&m, ""), 77);
    assert_false(tc_map_puts(&m, "key5", 6));
    assert_int_equal(*tc_map_gets(&m, "key5"), 6);
    tc_map_free(&m);
}

static void integer_and_string_keys_do_not_meet(void **state) {
    (void)state;
    tc_map m = {0};
    tc_map_puts(&m, "abc", 1);
    uint64_t h = m.entries[0].key;
    assert_null(tc_map_get(&m, h));
    tc_map_put(&m, h, 2);
    assert_int_equal(*tc_map_gets(&m, "abc"), 1);
    assert_int_equal(*tc_map_get(&m, h), 2);
    tc_map_free(&m);
}

static void clear_keeps_the_map_usable(void **state) {
    (void)state;
    tc_map m = {0};
    for (int round = 0; round < 3; round++) {
        for (uint64_t i = 0; i < 100; i++)
            tc_map_put(&m, i, (uintptr_t)(i + (uint64_t)round));
        tc_map_puts(&m, "s", 1);
        assert_int_equal(m.len, 101);
        assert_int_equal(*tc_map_get(&m, 50), 50 + round);
        tc_map_clear(&m);
        assert_int_equal(m.len, 0);
        assert_null(tc_map_get(&m, 50));
        assert_null(tc_map_gets(&m, "s"));
    }
    tc_map_free(&m);
}

/* The longest row of slots that are taken. */
static size_t longest_run(const tc_map *m) {
    size_t longest = 0, run = 0;
    for (size_t i = 0; i < m->nslots; i++) {
        run = m->slots[i] ? run + 1 : 0;
        longest = run > longest ? run : longest;
    }
    return longest;
}

/* Keys that a hash without a key of the process puts into few slots. Names and numbers in files can be chosen so. */
static void chosen_keys_do_not_gather(void **state) {
    (void)state;
    enum { N = 2000, SLOTS = 1 << 12, GATHERED = SLOTS / 16, LONGEST = 500 };
    tc_map names = {0}, numbers = {0};
    char name[32];
    for (uint64_t i = 0; names.len < N; i++) {
        int len = snprintf(name, sizeof name, "%llx", (unsigned long long)i);
        uint64_t h = tc_hash64(name, (size_t)len, 0);
        if ((tc_hash_mix(h, 0) & (SLOTS - 1)) < GATHERED)
            tc_map_puts(&names, name, 1);
    }
    for (uint64_t i = 0; numbers.len < N; i++)
        if ((tc_hash_mix(i, 0) & (SLOTS - 1)) < GATHERED)
            tc_map_put(&numbers, i, 1);
#ifndef TCTUNE_HOSTILE
    assert_in_range(longest_run(&names), 1, LONGEST);
    assert_in_range(longest_run(&numbers), 1, LONGEST);
#else
    assert_true(longest_run(&names) > 0 && longest_run(&numbers) > 0);
#endif
    tc_map_free(&names);
    tc_map_free(&numbers);
}

/* The order of entries is that in which they came, whatever the key of the process is. */
static void order_is_that_of_insertion(void **state) {
    (void)state;
    enum { N = 500 };
    tc_map m = {0};
    char name[32];
    for (int i = 0; i < N; i++) {
        snprintf(name, sizeof name, "%d", i * 7919 % N);
        tc_map_puts(&m, name, (uintptr_t)i);
    }
    for (int i = 0; i < N; i++) {
        snprintf(name, sizeof name, "%d", i * 7919 % N);
        assert_string_equal(m.entries[i].str, name);
    }
    tc_map_free(&m);
}

static void keyed_hash_is_siphash(void **state) {
    (void)state;
    const tc_hash_key zero = {0}, counted = {0x0706050403020100u, 0x0f0e0d0c0b0a0908u};
    const unsigned char text[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14};
    assert_int_equal(tc_keyed_hash(&zero, "a", 1), 0x407448d2b89b1813u);
    assert_int_equal(tc_keyed_hash(&zero, "abcdefgh", 8), 0x3f7b849c0b8e35eau);
    assert_int_equal(tc_keyed_hash(&zero, "The quick brown fox", 19), 0x975e410714568333u);
    assert_int_equal(tc_keyed_hash(&counted, "", 0), 0xabac0158050fc4dcu);
    assert_int_equal(tc_keyed_hash(&counted, text, sizeof text), 0xd320d86d2a519956u);
}

static void keyed_hash_depends_on_the_key(void **state) {
    (void)state;
    tc_hash_key own = tc_hash_key_of_process(), same = tc_hash_key_of_process(), other = {own.a, own.b + 1};
    assert_true(own.a == same.a && own.b == same.b);
    assert_true(own.a != 0 && own.b != 0 && own.a != own.b);
    assert_true(tc_keyed_hash(&own, "name", 4) != tc_keyed_hash(&other, "name", 4));
}

/* These values key records on disk: if this test fails, the function changed, and it may not. */
static void hashes_are_pinned(void **state) {
    (void)state;
    assert_int_equal(tc_hash64("", 0, 0), 0x8fd46a133f37a8f5u);
    assert_int_equal(tc_hash64("tctune", 6, 1), 0x367e38b88b8e2c6cu);
    assert_int_equal(tc_hash64("a text of more than sixteen bytes", 33, 2), 0xa00f74021661a93cu);
    assert_int_equal(tc_hash_mix(1, 2), 0x2b37e8efc73a7ec3u);
    assert_string_equal(tc_digest_of("tctune", 6).hex, "367e38b88b8e2c6c0aa525179c66d42a");
}

static void hash_sees_every_byte_length_and_seed(void **state) {
    (void)state;
    unsigned char text[70] = {0};
    tc_map seen = {0};
    for (size_t n = 0; n <= sizeof text; n++) {
        assert_true(tc_map_put(&seen, tc_hash64(text, n, 0), n)); /* zeros of every length differ */
        assert_true(tc_map_put(&seen, tc_hash64(text, n, 1), n));
    }
    for (size_t i = 0; i < sizeof text; i++)
        for (int bit = 0; bit < 8; bit++) {
            text[i] = (unsigned char)(1 << bit);
            assert_true(tc_map_put(&seen, tc_hash64(text, sizeof text, 0), 0));
            text[i] = 0;
        }
    tc_map_free(&seen);
    assert_true(tc_hash_mix(1, 2) != tc_hash_mix(2, 1));
    assert_true(tc_hash_mix(0, 0) != tc_hash_mix(0, 1));
}

/* Flipping one input bit flips about half of the output's: 32 +- 4 of 64 on average for each input bit. */
static void hash_avalanches(void **state) {
    (void)state;
    tc_rng r = tc_rng_seed(3);
    for (int bit = 0; bit < 192; bit++) {
        int flipped = 0;
        for (int i = 0; i < 200; i++) {
            uint64_t text[3] = {tc_rng_next(&r), tc_rng_next(&r), tc_rng_next(&r)};
            uint64_t h = tc_hash64(text, sizeof text, 0);
            text[bit / 64] ^= 1ull << (bit % 64);
            flipped += __builtin_popcountll(h ^ tc_hash64(text, sizeof text, 0));
        }
        assert_in_range(flipped, 28 * 200, 36 * 200);
    }
}

static void digests_have_two_independent_halves(void **state) {
    (void)state;
    tc_digest a = tc_digest_of("x", 1), b = tc_digest_of("y", 1);
    assert_int_equal(strlen(a.hex), 32);
    assert_int_equal(strspn(a.hex, "0123456789abcdef"), 32);
    assert_true(strncmp(a.hex, b.hex, 16) != 0);
    assert_true(strcmp(a.hex + 16, b.hex + 16) != 0);
    assert_true(strncmp(a.hex, a.hex + 16, 16) != 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(empty_map_answers),
        cmocka_unit_test(integer_keys_survive_growth),
        cmocka_unit_test(string_keys_are_copied),
        cmocka_unit_test(integer_and_string_keys_do_not_meet),
        cmocka_unit_test(clear_keeps_the_map_usable),
        cmocka_unit_test(chosen_keys_do_not_gather),
        cmocka_unit_test(order_is_that_of_insertion),
        cmocka_unit_test(keyed_hash_is_siphash),
        cmocka_unit_test(keyed_hash_depends_on_the_key),
        cmocka_unit_test(hashes_are_pinned),
        cmocka_unit_test(hash_sees_every_byte_length_and_seed),
        cmocka_unit_test(hash_avalanches),
        cmocka_unit_test(digests_have_two_independent_halves),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
