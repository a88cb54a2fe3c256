/* The tokeniser of the text forms. It holds one token. After an error it still has the token's position, and the message of
 * tc_lex_fail points there. A minus sign is punctuation, with one exception: directly before 9223372036854775808 it is part of the
 * number, because INT64_MIN could not be written otherwise. */
#include "support/lex.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/numbers.h"
#include "support/strbuf.h"

static bool is_ident_start(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

static bool is_ident(char c) {
    return is_ident_start(c) || is_digit(c);
}

static bool is_space(char c) {
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static int column(const tc_lex *l) {
    return (int)(l->p - l->line_start) + 1;
}

tc_status tc_lex_fail(const tc_lex *l, tc_error *err, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    tc_vfail(err, TC_BAD_INPUT, fmt, ap);
    va_end(ap);
    tc_error_prefix(err, "%s:%d:%d: ", l->file, l->tok.line, l->tok.col);
    return TC_BAD_INPUT;
}

/* Skips white space and comments; true if at least one newline was among it. */
static bool skip_space(tc_lex *l) {
    bool newline = false;
    for (;; l->p++) {
        if (*l->p == '#')
            l->p += strcspn(l->p, "\n");
        if (*l->p == '\n') {
            newline = true;
            l->line++;
            l->line_start = l->p + 1;
        } else if (*l->p != ' ' && *l->p != '\t' && *l->p != '\r') {
            return newline;
        }
    }
}

static void finish(tc_lex *l, tc_tok_kind kind, const char *start) {
    l->tok.kind = kind;
    l->tok.text = tc_arena_strndup(l->arena, start, (size_t)(l->p - start));
}

/* digits [. digits] [e [+-] digits]. A dot counts only before a digit: `0..8` is a range and `A.1` is no number. */
static tc_status scan_number(tc_lex *l, tc_error *err) {
    const char *start = l->p;
    bool real = false;
    while (is_digit(*l->p))
        l->p++;
    if (*l->p == '.' && is_digit(l->p[1])) {
        real = true;
        for (l->p++; is_digit(*l->p);)
            l->p++;
    }
    const char *e = l->p;
    if ((*e == 'e' || *e == 'E') && (is_digit(e[1]) || ((e[1] == '-' || e[1] == '+') && is_digit(e[2])))) {
        real = true;
        for (l->p += 2; is_digit(*l->p);)
            l->p++;
    }
    finish(l, real ? TC_TOK_FLOAT : TC_TOK_INT, start);
    l->tok.f = tc_strtod(l->tok.text, NULL);
    if (real)
        return TC_OK;
    bool negated = start > l->src && start[-1] == '-';
    errno = 0;
    l->tok.i = strtoll(l->tok.text, NULL, 10);
    if (errno == ERANGE && negated && strcmp(l->tok.text + strspn(l->tok.text, "0"), "9223372036854775808") == 0)
        l->tok.i = INT64_MIN;
    else if (errno == ERANGE)
        return tc_lex_fail(l, err, "the integer %s does not fit in 64 bits", l->tok.text);
    return TC_OK;
}

static int hex_value(char c) {
    return is_digit(c) ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* The character after a backslash; advances past it. */
static tc_status scan_escape(tc_lex *l, char *out, tc_error *err) {
    static const char FROM[] = "nrt\\\"", TO[] = "\n\r\t\\\"";
    l->p++;
    const char *known = *l->p ? strchr(FROM, *l->p) : NULL;
    if (known) {
        *out = TO[known - FROM];
        l->p++;
        return TC_OK;
    }
    if (*l->p == 'x' && hex_value(l->p[1]) >= 0 && hex_value(l->p[2]) >= 0) {
        int v = 16 * hex_value(l->p[1]) + hex_value(l->p[2]);
        *out = (char)v;
        l->p += 3;
        if (v)
            return TC_OK;
    }
    l->tok.col = column(l);
    return tc_lex_fail(l, err, "unknown escape in a string; known are \\n \\r \\t \\\\ \\\" and \\xHH (not \\x00)");
}

static tc_status scan_string(tc_lex *l, tc_error *err) {
    tc_strbuf text = {0};
    tc_status s = TC_OK;
    for (l->p++; s == TC_OK && *l->p != '"';) {
        char c = *l->p;
        if (!c || c == '\n') {
            s = tc_lex_fail(l, err, "the string that starts here has no closing quote on its line");
            break;
        }
        if (c == '\\')
            s = scan_escape(l, &c, err);
        else
            l->p++;
        tc_sb_addc(&text, c);
    }
    if (s == TC_OK) {
        l->p++;
        l->tok.kind = TC_TOK_STRING;
        l->tok.text = tc_arena_strdup(l->arena, tc_sb_str(&text));
    }
    tc_strbuf_free(&text);
    return s;
}

static tc_status scan_punct(tc_lex *l, tc_error *err) {
    static const char *const PAIRS[] = {"->", "==", "!=", "<=", ">=", "&&", "||", ".."};
    unsigned char c = (unsigned char)*l->p;
    if (c < 0x20 || c >= 0x7f)
        return tc_lex_fail(l, err, "byte 0x%02x cannot stand here; outside strings and comments only ASCII text is allowed", c);
    const char *start = l->p++;
    for (size_t i = 0; i < sizeof PAIRS / sizeof PAIRS[0]; i++)
        if (start[0] == PAIRS[i][0] && start[1] == PAIRS[i][1])
            l->p = start + 2;
    finish(l, TC_TOK_PUNCT, start);
    return TC_OK;
}

tc_status tc_lex_next(tc_lex *l, tc_error *err) {
    const char *before = l->p;
    int line = l->line, col = column(l);
    bool newline = skip_space(l);
    bool first = before == l->src;
    l->tok = (tc_tok){
        .kind = TC_TOK_EOF, .text = "", .line = l->line, .col = column(l), .space_before = l->p > l->src && is_space(l->p[-1])};
    if (newline && l->keep_newlines && !first) {
        /* The newline stands where the line before it ended. */
        l->tok.kind = TC_TOK_NEWLINE;
        l->tok.text = "\n";
        l->tok.line = line;
        l->tok.col = col;
        l->tok.space_before = false;
        return TC_OK;
    }
    if (!*l->p)
        return TC_OK;
    if (is_ident_start(*l->p)) {
        const char *start = l->p;
        while (is_ident(*l->p))
            l->p++;
        finish(l, TC_TOK_IDENT, start);
        return TC_OK;
    }
    if (is_digit(*l->p))
        return scan_number(l, err);
    return *l->p == '"' ? scan_string(l, err) : scan_punct(l, err);
}

tc_status tc_lex_open(tc_lex *l, tc_arena *arena, const char *file, const char *src, bool keep_newlines, tc_error *err) {
    *l = (tc_lex){
        .file = file, .src = src, .p = src, .line_start = src, .arena = arena, .keep_newlines = keep_newlines, .line = 1};
    return tc_lex_next(l, err);
}

bool tc_lex_is(const tc_lex *l, const char *text) {
    return (l->tok.kind == TC_TOK_IDENT || l->tok.kind == TC_TOK_PUNCT) && strcmp(l->tok.text, text) == 0;
}

tc_status tc_lex_accept(tc_lex *l, const char *text, bool *took, tc_error *err) {
    *took = tc_lex_is(l, text);
    return *took ? tc_lex_next(l, err) : TC_OK;
}

/* Fails with "expected WHAT, found ...". `quote` surrounds a word that the text must contain literally. */
static tc_status fail_expected(const tc_lex *l, const char *quote, const char *what, tc_error *err) {
    static const char *const NAMES[] = {[TC_TOK_EOF] = "the end of the file", [TC_TOK_NEWLINE] = "the end of the line"};
    if (l->tok.kind <= TC_TOK_NEWLINE)
        return tc_lex_fail(l, err, "expected %s%s%s, found %s", quote, what, quote, NAMES[l->tok.kind]);
    if (l->tok.kind == TC_TOK_STRING)
        return tc_lex_fail(l, err, "expected %s%s%s, found the string \"%s\"", quote, what, quote, l->tok.text);
    return tc_lex_fail(l, err, "expected %s%s%s, found '%s'", quote, what, quote, l->tok.text);
}

tc_status tc_lex_expect(tc_lex *l, const char *text, tc_error *err) {
    return tc_lex_is(l, text) ? tc_lex_next(l, err) : fail_expected(l, "'", text, err);
}

tc_status tc_lex_ident(tc_lex *l, const char **out, const char *what, tc_error *err) {
    if (l->tok.kind != TC_TOK_IDENT)
        return fail_expected(l, "", what, err);
    *out = l->tok.text;
    return tc_lex_next(l, err);
}

tc_status tc_lex_int(tc_lex *l, int64_t *out, const char *what, tc_error *err) {
    bool negative;
    TC_TRY(tc_lex_accept(l, "-", &negative, err));
    if (l->tok.kind != TC_TOK_INT)
        return fail_expected(l, "", what, err);
    if (l->tok.i == INT64_MIN && !negative)
        return tc_lex_fail(l, err, "the integer %s does not fit in 64 bits", l->tok.text);
    *out = negative && l->tok.i != INT64_MIN ? -l->tok.i : l->tok.i;
    return tc_lex_next(l, err);
}
