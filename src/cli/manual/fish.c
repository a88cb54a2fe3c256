/* Writes the completion of fish (shell.fish): a line for each command and each option. The line of an option has the option's
 * command as its condition. */
#include <string.h>

#include "cli/manual/manual.h"

static void add_quoted(tc_strbuf *b, const char *text) {
    tc_sb_addc(b, '\'');
    for (; *text; text++) {
        if (*text == '\'' || *text == '\\')
            tc_sb_addc(b, '\\');
        tc_sb_addc(b, *text);
    }
    tc_sb_addc(b, '\'');
}

static void add_short(tc_strbuf *b, const char *help) {
    tc_strbuf text = {0};
    manual_short(&text, help);
    tc_sb_add(b, " -d ");
    add_quoted(b, tc_sb_str(&text));
    tc_strbuf_free(&text);
}

/* -a 'WORDS', where each may be a call that lists files. */
static void add_candidates(tc_strbuf *b, tc_strbuf *values) {
    tc_strbuf words = {0};
    bool files = false, suffixes = false;
    tc_sb_add(values, "");
    for (char *save = NULL, *v = strtok_r(values->data, " ", &save); v; v = strtok_r(NULL, " ", &save)) {
        if (strcmp(v, "FILE") == 0)
            files = true;
        else if (strcmp(v, "DIR") == 0)
            tc_sb_add(&words, "(__fish_complete_directories (commandline -ct)) ");
        else
            tc_sb_printf(&words, *v == '.' ? "(__fish_complete_suffix %s) " : "%s ", v);
        suffixes = suffixes || *v == '.';
    }
    tc_sb_add(b, files ? " -F" : " -f");
    if (words.len) {
        tc_sb_add(b, suffixes ? " -k -a " : " -a ");
        add_quoted(b, tc_sb_str(&words));
    }
    tc_strbuf_free(&words);
}

static void add_option(tc_strbuf *b, const tc_cli_command *c, const tc_cli_option *o) {
    tc_sb_printf(b, "complete -c tctune -n '__tctune_is %s' -l %s", c->name, o->name);
    if (tc_cli_letter(o))
        tc_sb_printf(b, " -s %c", tc_cli_letter(o));
    if (o->argument) {
        tc_strbuf values = {0};
        manual_values(&values, o->argument);
        tc_sb_add(b, " -r");
        add_candidates(b, &values);
        tc_strbuf_free(&values);
    }
    add_short(b, o->help);
    tc_sb_addc(b, '\n');
}

static void add_command(tc_strbuf *b, size_t i, const tc_cli_command *c) {
    char family[32];
    bool has = manual_family(c->name, family);
    if (has && manual_first_of_family(i))
        tc_sb_printf(b, "set -g __tctune_families $__tctune_families %s\ncomplete -c tctune -n '__tctune_is' -a %s\n", family,
                     family);
    tc_sb_printf(b, "complete -c tctune -n '__tctune_is%s%s' -a %s", has ? " " : "", has ? family : "",
                 c->name + (has ? strlen(family) + 1 : 0));
    add_short(b, c->summary);
    tc_sb_addc(b, '\n');
    for (size_t j = 0; j < tc_cli_num_options(c); j++)
        add_option(b, c, tc_cli_option_at(c, j));
    if (c->source || c->operands) {
        tc_strbuf values = {0};
        manual_operands(&values, c);
        tc_sb_printf(b, "complete -c tctune -n '__tctune_is %s'", c->name);
        add_candidates(b, &values);
        tc_sb_addc(b, '\n');
        tc_strbuf_free(&values);
    }
}

void manual_fish(tc_strbuf *b) {
    size_t n;
    const tc_cli_command *const *all = manual_commands(&n);
    tc_sb_add(b, "# Completion of tctune for fish, made from the tables of its options when it was built.\n\nset -g "
                 "__tctune_families\n\n");
    for (size_t i = 0; i < n; i++)
        add_command(b, i, all[i]);
}
