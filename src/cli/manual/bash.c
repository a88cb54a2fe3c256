/* Writes the tables that the completion code of bash reads (shell.bash). */
#include <string.h>

#include "cli/manual/manual.h"

/* The commands, or those of a family. */
static void add_commands(tc_strbuf *b) {
    size_t n;
    char family[32];
    const tc_cli_command *const *all = manual_commands(&n);
    tc_sb_add(b, "# The commands; with an argument those of a family.\n_tctune_commands() {\n    case $1 in\n    '') echo");
    for (size_t i = 0; i < n; i++) {
        bool has = manual_family(all[i]->name, family);
        if (!has || manual_first_of_family(i))
            tc_sb_printf(b, " %s", family);
    }
    tc_sb_add(b, " ;;\n");
    for (size_t i = 0; i < n; i++) {
        if (!manual_family(all[i]->name, family) || !manual_first_of_family(i))
            continue;
        tc_sb_printf(b, "    %s) echo", family);
        for (size_t j = i, len = strlen(family); j < n; j++)
            if (strncmp(all[j]->name, family, len) == 0 && all[j]->name[len] == ' ')
                tc_sb_add(b, all[j]->name + len);
        tc_sb_add(b, " ;;\n");
    }
    tc_sb_add(b, "    esac\n}\n\n");
}

static void add_options(tc_strbuf *b) {
    size_t n;
    const tc_cli_command *const *all = manual_commands(&n);
    tc_sb_add(b, "# The options of a command.\n_tctune_options() {\n    case $1 in\n");
    for (size_t i = 0; i < n; i++) {
        tc_sb_printf(b, "    '%s') echo \"", all[i]->name);
        for (size_t j = 0; j < tc_cli_num_options(all[i]); j++)
            tc_sb_printf(b, "%s--%s", j ? " " : "", tc_cli_option_at(all[i], j)->name);
        tc_sb_add(b, "\" ;;\n");
    }
    tc_sb_add(b, "    esac\n}\n\n");
}

static void add_value(tc_strbuf *b, const tc_cli_command *c, const tc_cli_option *o) {
    tc_strbuf values = {0};
    manual_values(&values, o->argument);
    tc_sb_printf(b, "    '%s --%s') echo '%s' ;;\n", c->name, o->name, tc_sb_str(&values));
    tc_strbuf_free(&values);
}

static void add_operands(tc_strbuf *b, const tc_cli_command *c) {
    tc_strbuf values = {0};
    manual_operands(&values, c);
    if (values.len || c->operands)
        tc_sb_printf(b, "    '%s') echo '%s' ;;\n", c->name, tc_sb_str(&values));
    tc_strbuf_free(&values);
}

static void add_values(tc_strbuf *b) {
    size_t n;
    const tc_cli_command *const *all = manual_commands(&n);
    tc_sb_add(b, "# What the value of `COMMAND OPTION` can be, or the operands of `COMMAND`; fails where there are none.\n"
                 "_tctune_values() {\n    case $1 in\n");
    for (size_t i = 0; i < n; i++) {
        add_operands(b, all[i]);
        for (size_t j = 0; j < tc_cli_num_options(all[i]); j++)
            if (tc_cli_option_at(all[i], j)->argument)
                add_value(b, all[i], tc_cli_option_at(all[i], j));
    }
    tc_sb_add(b, "    *) return 1 ;;\n    esac\n}\n\n");
}

void manual_bash(tc_strbuf *b) {
    tc_sb_add(b, "# Completion of tctune for bash, made from the tables of its options when it was built.\n\n");
    add_commands(b);
    add_options(b);
    add_values(b);
}
