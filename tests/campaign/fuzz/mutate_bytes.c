/* Damage to bytes and to text, and to the targets whose inputs are text. */
#include "mutate.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "support/vec.h"

int64_t fuzz_number(tc_rng *r) {
    static const int64_t ends[] = {INT8_MAX,  INT16_MAX,       INT32_MAX, INT32_MIN,     UINT32_MAX, 1LL << 30,
                                   1LL << 31, (1LL << 32) + 1, 1LL << 40, INT64_MAX - 1, INT64_MAX,  INT64_MIN};
    if (tc_rng_below(r, 3))
        return tc_rng_below(r, 12) - 4;
    return ends[tc_rng_below(r, (int64_t)TC_LEN(ends))];
}

/* [at, at + n): where and how much of a text to damage. */
static void somewhere(tc_rng *r, size_t size, size_t *at, size_t *n) {
    *at = (size_t)tc_rng_below(r, (int64_t)size);
    *n = (size_t)tc_rng_below(r, TC_MIN((int64_t)(size - *at), 32)) + 1;
}

static void replace(tc_strbuf *b, size_t at, size_t n, const char *with, size_t len) {
    tc_strbuf out = {0};
    tc_sb_addn(&out, b->data, at);
    tc_sb_addn(&out, with, len);
    tc_sb_addn(&out, b->data + at + n, b->len - at - n);
    tc_strbuf_free(b);
    *b = out;
}

static void damage_once(tc_rng *r, tc_strbuf *b) {
    size_t at, n;
    char byte = tc_rng_below(r, 2) ? (char)tc_rng_next(r) : (char)(tc_rng_below(r, 2) ? 0xff : tc_rng_below(r, 8));
    if (b->len == 0)
        return;
    somewhere(r, b->len, &at, &n);
    switch (tc_rng_below(r, 7)) {
    case 0:
        b->data[at] ^= (char)(1 << tc_rng_below(r, 8));
        return;
    case 1:
        replace(b, at, n, "", 0);
        return;
    case 2: { /* said twice */
        tc_strbuf part = {0};
        tc_sb_addn(&part, b->data + at, n);
        replace(b, at, 0, part.data, n);
        tc_strbuf_free(&part);
        return;
    }
    case 3:
        replace(b, at, 0, &byte, 1);
        return;
    case 4:
        if (tc_rng_below(r, 4) == 0)
            replace(b, at, b->len - at, "", 0);
        return;
    default:
        b->data[at] = byte;
        return;
    }
}

void fuzz_damage_bytes(tc_rng *r, const char *data, size_t size, tc_strbuf *out) {
    tc_sb_addn(out, data, size);
    for (int64_t k = 1 + tc_rng_below(r, 4); k > 0; k--)
        damage_once(r, out);
}

/* Replaces a number by another, or a word or sign by one from elsewhere in the text. */
static void damage_token(tc_rng *r, tc_strbuf *b) {
    size_t at = (size_t)tc_rng_below(r, (int64_t)b->len), end, from, to;
    while (at > 0 && isalnum((unsigned char)b->data[at]) && isalnum((unsigned char)b->data[at - 1]))
        at--;
    for (end = at + 1; end < b->len && isalnum((unsigned char)b->data[at]) && isalnum((unsigned char)b->data[end]);)
        end++;
    if (isdigit((unsigned char)b->data[at])) {
        char number[32];
        int len = snprintf(number, sizeof number, "%" PRId64, fuzz_number(r));
        replace(b, at, end - at, number, (size_t)len);
        return;
    }
    from = (size_t)tc_rng_below(r, (int64_t)b->len);
    while (from > 0 && isalnum((unsigned char)b->data[from]) && isalnum((unsigned char)b->data[from - 1]))
        from--;
    for (to = from + 1; to < b->len && isalnum((unsigned char)b->data[from]) && isalnum((unsigned char)b->data[to]);)
        to++;
    tc_strbuf word = {0};
    tc_sb_addn(&word, b->data + from, to - from);
    replace(b, at, tc_rng_below(r, 4) ? end - at : 0, word.data, word.len);
    tc_strbuf_free(&word);
}

void fuzz_damage_text(tc_rng *r, const char *text, size_t size, tc_strbuf *out) {
    tc_sb_addn(out, text, size);
    for (int64_t k = 1 + tc_rng_below(r, 4); k > 0 && out->len > 0; k--)
        if (tc_rng_below(r, 4))
            damage_token(r, out);
        else
            damage_once(r, out);
}

void fuzz_damage_te(tc_rng *r, const char *data, size_t size, tc_strbuf *out) {
    fuzz_damage_text(r, data, size, out);
}

void fuzz_damage_sched(tc_rng *r, const char *data, size_t size, tc_strbuf *out) {
    fuzz_damage_text(r, data, size, out);
}

void fuzz_damage_tir(tc_rng *r, const char *data, size_t size, tc_strbuf *out) {
    fuzz_damage_text(r, data, size, out);
}

void fuzz_damage_record(tc_rng *r, const char *data, size_t size, tc_strbuf *out) {
    fuzz_damage_text(r, data, size, out);
}
