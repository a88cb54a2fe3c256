/* One tokeniser for the project's text forms (.te, .sched, .tir): identifiers, numbers, strings, punctuation, newlines,
 * `#` comments to the end of the line. Positions are 1-based line and column. */
#ifndef TC_SUPPORT_LEX_H
#define TC_SUPPORT_LEX_H

#include <stdbool.h>
#include <stdint.h>

#include "support/arena.h"
#include "support/status.h"

typedef enum tc_tok_kind {
    TC_TOK_EOF,
    TC_TOK_NEWLINE,
    TC_TOK_IDENT,
    TC_TOK_INT,
    TC_TOK_FLOAT,
    TC_TOK_STRING,
    TC_TOK_PUNCT
} tc_tok_kind;

typedef struct tc_tok {
    tc_tok_kind kind;
    const char *text; /* the token's text in the lexer's arena (STRING: unescaped, without quotes) */
    int64_t i;        /* INT */
    double f;         /* INT and FLOAT */
    int line, col;
    bool space_before; /* white space stood between the previous token and this one */
} tc_tok;

/* `file` is used in messages only. `src` must outlive the lexer. Identifiers: [A-Za-z_][A-Za-z0-9_]* ; multi-character
 * punctuation recognised: -> == != <= >= && || .. ; all else is one character. Consecutive newlines yield one NEWLINE
 * token, none at the very start; `keep_newlines` false drops them all. INT that overflows int64 is an error, except that
 * 9223372036854775808 directly after '-' yields i == INT64_MIN: negate with care. */
typedef struct tc_lex {
    const char *file, *src, *p, *line_start;
    tc_arena *arena;
    bool keep_newlines;
    int line;
    tc_tok tok; /* the current token */
} tc_lex;

tc_status tc_lex_open(tc_lex *l, tc_arena *arena, const char *file, const char *src, bool keep_newlines, tc_error *err);
tc_status tc_lex_next(tc_lex *l, tc_error *err);   /* advances l->tok */
bool tc_lex_is(const tc_lex *l, const char *text); /* current token is this identifier or punctuation */
/* Consumes the token if it is `text`; sets *took. */
tc_status tc_lex_accept(tc_lex *l, const char *text, bool *took, tc_error *err);
tc_status tc_lex_expect(tc_lex *l, const char *text, tc_error *err);
tc_status tc_lex_ident(tc_lex *l, const char **out, const char *what, tc_error *err);
tc_status tc_lex_int(tc_lex *l, int64_t *out, const char *what, tc_error *err); /* accepts a leading '-' */
/* "FILE:LINE:COL: message" as TC_BAD_INPUT, at the current token. */
tc_status tc_lex_fail(const tc_lex *l, tc_error *err, const char *fmt, ...) TC_PRINTF(3, 4);

#endif
