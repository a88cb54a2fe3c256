/* Writes docs/reference/options.md: every option of every command on one page. */
#include <ctype.h>
#include <string.h>

#include "cli/manual/manual.h"

/* Text in a cell of a table. */
static void add_cell(tc_strbuf *b, const char *text) {
    for (bool code = false; *text; text++) {
        code ^= *text == '`';
        if (*text == '|' || (!code && *text != '`' && strchr("<>*_[]", *text)))
            tc_sb_addc(b, '\\');
        tc_sb_addc(b, *text);
    }
}

static void add_option(tc_strbuf *b, const tc_cli_option *o) {
    tc_sb_add(b, "| ");
    if (tc_cli_letter(o))
        tc_sb_printf(b, "`-%c`, ", tc_cli_letter(o));
    tc_sb_printf(b, "`--%s", o->name);
    if (o->argument) {
        tc_sb_addc(b, ' ');
        add_cell(b, o->argument);
    }
    tc_sb_add(b, "` | ");
    add_cell(b, o->help);
    tc_sb_add(b, " |\n");
}

static void add_group(tc_strbuf *b, const tc_cli_command *c, tc_cli_group g) {
    size_t i = 0;
    const tc_cli_option *o = tc_cli_next_of(c, g, &i);
    if (o)
        tc_sb_printf(b, "| **%s** | |\n", tc_cli_heading(g));
    for (; o; o = tc_cli_next_of(c, g, &i))
        add_option(b, o);
}

static void add_command(tc_strbuf *b, const tc_cli_command *c) {
    tc_sb_printf(b, "\n## tctune %s\n\n%c%s.\n\n```text\ntctune %s ", c->name, toupper((unsigned char)c->summary[0]),
                 c->summary + 1, c->name);
    tc_cli_synopsis(b, c);
    tc_sb_add(b, "\n```\n\n| option | |\n|---|---|\n");
    for (int g = 0; g < TC_CLI_IN_HELP; g++)
        add_group(b, c, (tc_cli_group)g);
    tc_sb_add(b, "\n```text\n");
    for (size_t i = 0; i < TC_LEN(c->examples); i++)
        tc_sb_printf(b, "# %s\n%s\n", c->examples[i].purpose, c->examples[i].line);
    tc_sb_add(b, "```\n");
}

void manual_reference(tc_strbuf *b) {
    size_t n;
    const tc_cli_command *const *all = manual_commands(&n);
    tc_sb_add(b, "# Options\n\n<!-- Written from the tables in src/cli by `cmake --build build/release --target options_page`: "
                 "change those, not this page. "
                 "-->\nEvery option of every command. All commands also take `-h`, `--help` and `--version`; "
                 "[Commands](commands.md) says what "
                 "they have in common.\n");
    for (size_t i = 0; i < n; i++)
        add_command(b, all[i]);
}
