/* Implements the functions of manual.h about commands and about values. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/manual/manual.h"

/* ---- commands ---- */

const tc_cli_command *const *manual_commands(size_t *n) {
    static const tc_cli_command *const all[] = {TC_CLI_COMMANDS(TC_CLI_LISTED)};
    static const tc_cli_command *listed[TC_LEN(all)];
    *n = 0;
    for (size_t i = 0; i < TC_LEN(all); i++)
        if (!all[i]->hidden)
            listed[(*n)++] = all[i];
    return listed;
}

bool manual_family(const char *name, char family[32]) {
    snprintf(family, 32, "%.*s", (int)strcspn(name, " "), name);
    return strchr(name, ' ') != NULL;
}

bool manual_first_of_family(size_t i) {
    size_t n;
    char own[32], other[32];
    const tc_cli_command *const *all = manual_commands(&n);
    manual_family(all[i]->name, own);
    for (size_t j = 0; j < i; j++)
        if (manual_family(all[j]->name, other) && strcmp(own, other) == 0)
            return false;
    return true;
}

void manual_page_name(tc_strbuf *b, const tc_cli_command *c) {
    tc_sb_add(b, "tctune-");
    for (const char *p = c->name; *p; p++)
        tc_sb_addc(b, *p == ' ' ? '-' : *p);
}

/* ---- values ---- */

static bool is_all(const char *text, size_t n, int (*kind)(int)) {
    for (size_t i = 0; i < n; i++)
        if (!kind((unsigned char)text[i]))
            return false;
    return n > 0;
}

static int in_word(int c) {
    return islower(c) || isdigit(c) || c == '-';
}

static void add_word(tc_strbuf *b, const char *text, size_t n) {
    if (b->len)
        tc_sb_addc(b, ' ');
    tc_sb_addn(b, text, n);
}

/* "0..3" */
static bool add_numbers(tc_strbuf *b, const char *text, size_t n) {
    char *end, number[32];
    if (!isdigit((unsigned char)*text))
        return false;
    long from = strtol(text, &end, 10);
    if (strncmp(end, "..", 2) != 0 || !is_all(end + 2, n - (size_t)(end + 2 - text), isdigit))
        return false;
    for (long to = strtol(end + 2, NULL, 10); from <= to; from++)
        add_word(b, number, (size_t)snprintf(number, sizeof number, "%ld", from));
    return true;
}

/* One alternative. */
static void add_value(tc_strbuf *b, const char *text, size_t n) {
    const char *point = memchr(text, '.', n);
    size_t stem = point ? (size_t)(point - text) : n;
    bool plain = n == 4 ? memcmp(text, "FILE", 4) == 0 : n == 3 && memcmp(text, "DIR", 3) == 0;
    if (plain || is_all(text, n, in_word))
        add_word(b, text, n);
    else if (!add_numbers(b, text, n) && point && is_all(text, stem, isupper) && is_all(point + 1, n - stem - 1, islower))
        add_word(b, point, n - stem);
}

void manual_values(tc_strbuf *b, const char *argument) {
    size_t n = strlen(argument);
    if (n > 2 && argument[0] == '[')
        argument++, n -= 2;
    if (n > 3 && memcmp(argument + n - 3, "...", 3) == 0)
        n -= 3;
    for (size_t at = 0; at < n;) {
        const char *bar = memchr(argument + at, '|', n - at);
        size_t len = bar ? (size_t)(bar - argument) - at : n - at;
        add_value(b, argument + at, len);
        at += len + 1;
    }
}

void manual_operands(tc_strbuf *b, const tc_cli_command *c) {
    if (c->source)
        manual_values(b, c->source);
    if (c->operands)
        manual_values(b, c->operands);
}

void manual_short(tc_strbuf *b, const char *help) {
    static const char *const ends[] = {"; ", ". ", " (", ": "};
    enum { LEAST = 20 }; /* "fast (default)" alone says little */
    size_t n = strlen(help);
    for (size_t i = 0; n > LEAST && i < TC_LEN(ends); i++) {
        const char *end = strstr(help + LEAST, ends[i]);
        if (end && (size_t)(end - help) < n)
            n = (size_t)(end - help);
    }
    tc_sb_addn(b, help, n);
}

void manual_quote(tc_strbuf *b, const char *text) {
    tc_sb_addc(b, '\'');
    for (; *text; text++)
        if (*text == '\'')
            tc_sb_add(b, "'\\''");
        else
            tc_sb_addc(b, *text);
    tc_sb_addc(b, '\'');
}
