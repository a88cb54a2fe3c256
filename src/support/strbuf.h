/* Growable text buffer. `tc_strbuf b = {0};` is empty and valid; release with tc_strbuf_free. */
#ifndef TC_SUPPORT_STRBUF_H
#define TC_SUPPORT_STRBUF_H

#include <stdarg.h>
#include <stddef.h>

#include "support/arena.h"
#include "support/status.h"

typedef struct tc_strbuf {
    char *data; /* always NUL-terminated once anything was added; NULL when empty and never used */
    size_t len, cap;
} tc_strbuf;

void tc_sb_add(tc_strbuf *b, const char *s);
void tc_sb_addn(tc_strbuf *b, const char *s, size_t n);
void tc_sb_addc(tc_strbuf *b, char c);
void tc_sb_printf(tc_strbuf *b, const char *fmt, ...) TC_PRINTF(2, 3);
void tc_sb_vprintf(tc_strbuf *b, const char *fmt, va_list ap);
void tc_sb_indent(tc_strbuf *b, int spaces);
/* Shortest decimal that reads back to the same double ("1", "0.5", "1e-05", "inf", "-inf", "nan"). */
void tc_sb_double(tc_strbuf *b, double v);
/* A word of a command line, in quotes where a shell would take it apart: 'a b', or $'\033[2J' where a terminal would act on it. */
void tc_sb_add_word(tc_strbuf *b, const char *word);
const char *tc_sb_str(const tc_strbuf *b); /* "" when empty; valid until the next change */
void tc_sb_clear(tc_strbuf *b);
void tc_strbuf_free(tc_strbuf *b);
/* Moves the text into the arena, and leaves the buffer empty. */
const char *tc_sb_keep(tc_strbuf *b, tc_arena *a);

#endif
