/* Writes manual pages in the macros of man(7). */
#include <string.h>

#include "cli/manual/manual.h"

/* ---- text ---- */

/* Plain text. A minus that can be typed stays one, and nothing is taken for a macro. */
static void add_text(tc_strbuf *b, const char *text, size_t n) {
    static const char special[] = "\\-~^`'";
    static const char *const written[] = {"\\e", "\\-", "\\(ti", "\\(ha", "\\(ga", "\\(aq"};
    for (size_t i = 0; i < n; i++) {
        const char *at = strchr(special, text[i]);
        bool starts = i == 0 && text[i] == '.';
        if (starts)
            tc_sb_add(b, "\\&");
        if (at && text[i])
            tc_sb_add(b, written[at - special]);
        else
            tc_sb_addc(b, text[i]);
    }
}

/* A paragraph: `x` is set in bold. */
static void add_prose(tc_strbuf *b, const char *text) {
    for (bool bold = false; *text; bold = !bold) {
        size_t n = strcspn(text, "`");
        tc_sb_add(b, bold ? "\\fB" : "");
        add_text(b, text, n);
        tc_sb_add(b, bold ? "\\fR" : "");
        text += n + (text[n] == '`');
    }
    tc_sb_addc(b, '\n');
}

static void add_font(tc_strbuf *b, char font, const char *text) {
    tc_sb_printf(b, "\\f%c", font);
    add_text(b, text, strlen(text));
    tc_sb_add(b, "\\fR");
}

static void add_heading(tc_strbuf *b, const char *page) {
    tc_sb_add(b, ".TH ");
    for (const char *p = page; *p; p++)
        tc_sb_addc(b, *p >= 'a' && *p <= 'z' ? (char)(*p - 'a' + 'A') : *p);
    tc_sb_printf(b, " 1 \"\" \"tctune %s\" \"tctune manual\"\n", TCTUNE_VERSION);
}

/* ---- a command ---- */

static void add_name(tc_strbuf *b, const tc_cli_command *c) {
    tc_strbuf page = {0};
    manual_page_name(&page, c);
    add_heading(b, tc_sb_str(&page));
    tc_sb_add(b, ".SH NAME\n");
    add_text(b, tc_sb_str(&page), page.len);
    tc_sb_add(b, " \\- ");
    add_prose(b, c->summary);
    tc_strbuf_free(&page);
}

static void add_synopsis(tc_strbuf *b, const tc_cli_command *c) {
    tc_sb_add(b, ".SH SYNOPSIS\n");
    add_font(b, 'B', "tctune ");
    add_font(b, 'B', c->name);
    tc_sb_addc(b, ' ');
    tc_strbuf synopsis = {0};
    tc_cli_synopsis(&synopsis, c);
    add_text(b, tc_sb_str(&synopsis), synopsis.len);
    tc_strbuf_free(&synopsis);
    tc_sb_addc(b, '\n');
}

static void add_option(tc_strbuf *b, const tc_cli_option *o) {
    tc_sb_add(b, ".TP\n\\fB");
    if (tc_cli_letter(o))
        tc_sb_printf(b, "\\-%c\\fR, \\fB", tc_cli_letter(o));
    tc_sb_add(b, "\\-\\-");
    add_text(b, o->name, strlen(o->name));
    tc_sb_add(b, "\\fR");
    if (o->argument) {
        tc_sb_addc(b, ' ');
        add_font(b, 'I', o->argument);
    }
    tc_sb_addc(b, '\n');
    add_prose(b, o->help);
}

static void add_options(tc_strbuf *b, const tc_cli_command *c) {
    tc_sb_add(b, ".SH OPTIONS\n");
    for (int g = 0; g < TC_CLI_NGROUP; g++) {
        size_t i = 0;
        const tc_cli_option *o = tc_cli_next_of(c, (tc_cli_group)g, &i);
        if (o)
            tc_sb_printf(b, ".SS %s\n", tc_cli_heading((tc_cli_group)g));
        for (; o; o = tc_cli_next_of(c, (tc_cli_group)g, &i))
            add_option(b, o);
    }
}

static void add_examples(tc_strbuf *b, const tc_cli_command *c) {
    tc_sb_add(b, ".SH EXAMPLES\n");
    for (size_t i = 0; i < TC_LEN(c->examples); i++) {
        add_prose(b, c->examples[i].purpose);
        tc_sb_add(b, ".PP\n.nf\n    ");
        add_text(b, c->examples[i].line, strlen(c->examples[i].line));
        tc_sb_add(b, "\n.fi\n");
        if (i + 1 < TC_LEN(c->examples))
            tc_sb_add(b, ".PP\n");
    }
}

/* Prose stands in lines of its own. */
static void add_source(tc_strbuf *b, const char *source) {
    tc_sb_add(b, source);
    if (*source && source[strlen(source) - 1] != '\n')
        tc_sb_addc(b, '\n');
}

void manual_page(tc_strbuf *b, const tc_cli_command *c, const char *prose) {
    add_name(b, c);
    add_synopsis(b, c);
    tc_sb_add(b, ".SH DESCRIPTION\n");
    add_prose(b, c->details ? c->details : c->summary);
    add_options(b, c);
    add_examples(b, c);
    add_source(b, prose);
    tc_sb_add(b, ".SH SEE ALSO\n.BR tctune (1)\nhas what all commands share.\n");
}

/* ---- all of them ---- */

static void add_commands(tc_strbuf *b) {
    size_t n;
    const tc_cli_command *const *all = manual_commands(&n);
    for (size_t i = 0; i < n; i++) {
        tc_sb_add(b, ".TP\n");
        add_font(b, 'B', all[i]->name);
        tc_sb_addc(b, '\n');
        add_prose(b, all[i]->summary);
    }
}

static void add_references(tc_strbuf *b) {
    size_t n;
    const tc_cli_command *const *all = manual_commands(&n);
    for (size_t i = 0; i < n; i++) {
        tc_strbuf page = {0};
        manual_page_name(&page, all[i]);
        tc_sb_add(b, ".BR ");
        add_text(b, tc_sb_str(&page), page.len);
        tc_sb_add(b, " (1),\n");
        tc_strbuf_free(&page);
    }
}

void manual_overview(tc_strbuf *b, const char *prose) {
    add_heading(b, "tctune");
    while (*prose) {
        size_t n = strcspn(prose, "\n");
        if (n == 9 && memcmp(prose, ".COMMANDS", n) == 0)
            add_commands(b);
        else if (n == 6 && memcmp(prose, ".PAGES", n) == 0)
            add_references(b);
        else
            tc_sb_printf(b, "%.*s\n", (int)n, prose);
        prose += n + (prose[n] == '\n');
    }
}
