/* Writes the tables that the completion code of zsh reads (shell.zsh): commands for _describe, options for _arguments. */
#include <string.h>

#include "cli/manual/manual.h"

/* In brackets and before a colon of _arguments. */
static void add_escaped(tc_strbuf *b, const char *text) {
    for (; *text; text++) {
        if (strchr("[]:\\", *text))
            tc_sb_addc(b, '\\');
        tc_sb_addc(b, *text);
    }
}

static void add_short(tc_strbuf *b, const char *help) {
    tc_strbuf text = {0};
    manual_short(&text, help);
    add_escaped(b, tc_sb_str(&text));
    tc_strbuf_free(&text);
}

/* ":ARGUMENT: what completes it" */
static void add_value(tc_strbuf *b, const char *argument, const tc_strbuf *values) {
    tc_sb_addc(b, ':');
    add_escaped(b, argument);
    tc_sb_printf(b, ":%s%s", values->len ? " _tctune_values " : " ", tc_sb_str(values));
}

/* `spelt`: as "--out=" or "-o". */
static void add_spec(tc_strbuf *b, const tc_cli_option *o, const char *spelt) {
    tc_strbuf spec = {0};
    tc_sb_printf(&spec, "%s%s[", tc_cli_is_list(o) ? "*" : "", spelt);
    add_short(&spec, o->help);
    tc_sb_addc(&spec, ']');
    if (o->argument) {
        tc_strbuf values = {0};
        manual_values(&values, o->argument);
        add_value(&spec, o->argument, &values);
        tc_strbuf_free(&values);
    }
    tc_sb_add(b, " \\\n            ");
    manual_quote(b, tc_sb_str(&spec));
    tc_strbuf_free(&spec);
}

static void add_option(tc_strbuf *b, const tc_cli_option *o) {
    char spelt[64];
    snprintf(spelt, sizeof spelt, "--%s%s", o->name, o->argument ? "=" : "");
    add_spec(b, o, spelt);
    if (tc_cli_letter(o)) {
        snprintf(spelt, sizeof spelt, "-%c", tc_cli_letter(o));
        add_spec(b, o, spelt);
    }
}

static void add_arguments(tc_strbuf *b, const tc_cli_command *c) {
    tc_sb_printf(b, "    ('%s')\n        _arguments", c->name);
    for (size_t i = 0; i < tc_cli_num_options(c); i++)
        add_option(b, tc_cli_option_at(c, i));
    if (c->source || c->operands) {
        tc_strbuf spec = {0}, values = {0};
        manual_operands(&values, c);
        tc_sb_addc(&spec, '*');
        add_value(&spec, c->operands ? c->operands : c->source, &values);
        tc_strbuf_free(&values);
        tc_sb_add(b, " \\\n            ");
        manual_quote(b, tc_sb_str(&spec));
        tc_strbuf_free(&spec);
    }
    tc_sb_add(b, " ;;\n");
}

static void add_described(tc_strbuf *b, const char *name, const char *summary) {
    tc_strbuf item = {0};
    tc_sb_printf(&item, "%s:", name);
    add_short(&item, summary);
    tc_sb_add(b, "\n        ");
    manual_quote(b, tc_sb_str(&item));
    tc_strbuf_free(&item);
}

/* The commands of one word, with the families, or those of one family. */
static void add_list(tc_strbuf *b, const char *of) {
    size_t n, len = strlen(of);
    char family[32];
    const tc_cli_command *const *all = manual_commands(&n);
    for (size_t i = 0; i < n; i++) {
        bool has = manual_family(all[i]->name, family);
        if (len && has && strcmp(family, of) == 0)
            add_described(b, all[i]->name + len + 1, all[i]->summary);
        else if (!len && !has)
            add_described(b, all[i]->name, all[i]->summary);
        else if (!len && manual_first_of_family(i))
            add_described(b, family, "commands of their own");
    }
}

/* $commands of a family; of '' those of one word. */
static void add_commands(tc_strbuf *b) {
    size_t n;
    char family[32];
    const tc_cli_command *const *all = manual_commands(&n);
    tc_sb_add(b, "_tctune_commands() {\n    commands=()\n    case $1 in\n    ('') commands=(");
    add_list(b, "");
    tc_sb_add(b, ") ;;\n");
    for (size_t i = 0; i < n; i++)
        if (manual_family(all[i]->name, family) && manual_first_of_family(i)) {
            tc_sb_printf(b, "    (%s) commands=(", family);
            add_list(b, family);
            tc_sb_add(b, ") ;;\n");
        }
    tc_sb_add(b, "    esac\n}\n\n");
}

void manual_zsh(tc_strbuf *b) {
    size_t n;
    const tc_cli_command *const *all = manual_commands(&n);
    tc_sb_add(b, "#compdef tctune\n# Completion of tctune for zsh, made from the tables of its options when it was built.\n\n");
    add_commands(b);
    tc_sb_add(b, "_tctune_arguments() {\n    case $1 in\n");
    for (size_t i = 0; i < n; i++)
        add_arguments(b, all[i]);
    tc_sb_add(b, "    esac\n}\n\n");
}
