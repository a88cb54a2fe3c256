/* Growable text. Invariant: data is NULL, or data[len] is NUL and len < cap. */
#include "support/strbuf.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/arena.h"
#include "support/numbers.h"
#include "support/say.h"

/* False when memory for it has run out: what was to be added is then left out, since nobody will see the text. */
static bool reserve(tc_strbuf *b, size_t extra) {
    size_t need = b->len + extra + 1;
    if (need <= b->cap)
        return true;
    size_t cap = b->cap ? b->cap : 64;
    while (cap < need)
        cap *= 2;
    char *data = tc_try_grow(b->data, cap);
    if (!data)
        return false;
    b->data = data;
    b->cap = cap;
    return true;
}

void tc_sb_addn(tc_strbuf *b, const char *s, size_t n) {
    if (!reserve(b, n))
        return;
    if (n)
        memcpy(b->data + b->len, s, n);
    b->len += n;
    b->data[b->len] = 0;
}

void tc_sb_add(tc_strbuf *b, const char *s) {
    tc_sb_addn(b, s, strlen(s));
}

void tc_sb_addc(tc_strbuf *b, char c) {
    tc_sb_addn(b, &c, 1);
}

void tc_sb_vprintf(tc_strbuf *b, const char *fmt, va_list ap) {
    va_list again;
    if (!reserve(b, 64))
        return;
    va_copy(again, ap);
    size_t room = b->cap - b->len;
    int n = tc_vsnprintf(b->data + b->len, room, fmt, ap);
    assert(n >= 0);
    bool fits = (size_t)n < room || reserve(b, (size_t)n);
    if (fits && (size_t)n >= room)
        tc_vsnprintf(b->data + b->len, (size_t)n + 1, fmt, again);
    va_end(again);
    b->len += fits ? (size_t)n : 0;
    b->data[b->len] = 0;
}

void tc_sb_printf(tc_strbuf *b, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    tc_sb_vprintf(b, fmt, ap);
    va_end(ap);
}

/* A terminal acts on control characters, also within quotes, when the line is pasted. */
static void add_codes(tc_strbuf *b, const char *word) {
    tc_sb_add(b, "$'");
    for (const unsigned char *p = (const unsigned char *)word; *p; p++)
        if (*p < ' ' || *p >= 0x7F)
            tc_sb_printf(b, "\\%03o", *p);
        else
            tc_sb_printf(b, *p == '\'' || *p == '\\' ? "\\%c" : "%c", *p);
    tc_sb_addc(b, '\'');
}

void tc_sb_add_word(tc_strbuf *b, const char *word) {
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./,:=+-";
    if (*word && word[strspn(word, plain)] == 0) {
        tc_sb_add(b, word);
        return;
    }
    if (!tc_is_plain(word)) {
        add_codes(b, word);
        return;
    }
    tc_sb_addc(b, '\'');
    for (const char *p = word; *p; p++)
        if (*p == '\'')
            tc_sb_add(b, "'\\''");
        else
            tc_sb_addc(b, *p);
    tc_sb_addc(b, '\'');
}

void tc_sb_indent(tc_strbuf *b, int spaces) {
    for (int i = 0; i < spaces; i++)
        tc_sb_addc(b, ' ');
}

/* Fifteen digits always survive text -> double -> text, so %.15g is the shortest form whenever it reads back. Subnormals carry
 * fewer digits, so there every length is tried. */
void tc_sb_double(tc_strbuf *b, double v) {
    if (isnan(v)) {
        tc_sb_add(b, "nan");
        return;
    }
    char text[40];
    int digits = fpclassify(v) == FP_SUBNORMAL ? 1 : 15;
    for (; digits <= 17; digits++) {
        tc_snprintf(text, sizeof text, "%.*g", digits, v);
        if (tc_strtod(text, NULL) == v)
            break;
    }
    tc_sb_add(b, text);
}

const char *tc_sb_str(const tc_strbuf *b) {
    return b->data ? b->data : "";
}

void tc_sb_clear(tc_strbuf *b) {
    b->len = 0;
    if (b->data)
        b->data[0] = 0;
}

void tc_strbuf_free(tc_strbuf *b) {
    free(b->data);
    *b = (tc_strbuf){0};
}

const char *tc_sb_keep(tc_strbuf *b, tc_arena *a) {
    const char *text = tc_arena_strdup(a, tc_sb_str(b));
    tc_strbuf_free(b);
    return text;
}
