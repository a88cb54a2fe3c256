/* Options: reading values, the command line by a command's table, and its help. */
#include "cli/options.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "support/strbuf.h"

int tc_cli_usage(tc_error *err, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    tc_vfail(err, TC_BAD_INPUT, fmt, ap);
    va_end(ap);
    return TC_CLI_USAGE;
}

/* ---- values ---- */

int tc_cli_take_flag(const tc_cli_option *o, const char *v, void *field, tc_error *err) {
    (void)o, (void)v, (void)err;
    *(bool *)field = true;
    return TC_CLI_DONE;
}

int tc_cli_take_text(const tc_cli_option *o, const char *v, void *field, tc_error *err) {
    if (!*v)
        return tc_cli_usage(err, "--%s needs a value: %s", o->name, o->argument);
    *(const char **)field = v;
    return TC_CLI_DONE;
}

int tc_cli_take_list(const tc_cli_option *o, const char *v, void *field, tc_error *err) {
    (void)o, (void)err;
    tc_cli_add_text(field, v);
    return TC_CLI_DONE;
}

/* "strict, fast or soon" of "strict|fast|soon" */
static void put_choices(tc_strbuf *b, const char *argument) {
    for (const char *p = argument; *p; p++)
        if (*p != '|')
            tc_sb_addc(b, *p);
        else
            tc_sb_add(b, strchr(p + 1, '|') ? ", " : " or ");
}

int tc_cli_take_choice(const tc_cli_option *o, const char *v, void *field, tc_error *err) {
    size_t n = strlen(v);
    for (const char *p = o->argument; *p; p += strcspn(p, "|"), p += *p == '|')
        if (n && strcspn(p, "|") == n && memcmp(p, v, n) == 0) {
            *(const char **)field = v;
            return TC_CLI_DONE;
        }
    tc_strbuf choices = {0};
    put_choices(&choices, o->argument);
    int status = tc_cli_usage(err, "--%s needs %s, not '%s'", o->name, tc_sb_str(&choices), v);
    tc_strbuf_free(&choices);
    return status;
}

int tc_cli_take_count(const tc_cli_option *o, const char *v, void *field, tc_error *err) {
    char *end;
    errno = 0;
    long n = strtol(v, &end, 10);
    if (end == v || *end)
        return tc_cli_usage(err, "--%s needs a whole number, not '%s'", o->name, v);
    if (errno || n < 1 || n > 1000000000)
        return tc_cli_usage(err, "--%s must be between 1 and 1000000000, not %s", o->name, v);
    *(int *)field = (int)n;
    return TC_CLI_DONE;
}

int tc_cli_take_level(const tc_cli_option *o, const char *v, void *field, tc_error *err) {
    int most = TCTUNE_LEVEL_3 - TCTUNE_LEVEL_0;
    if (*v < '0' || *v > '0' + most || v[1])
        return tc_cli_usage(err, "--%s needs a number from 0 to %d, not '%s'", o->name, most, v);
    *(int *)field = *v - '0';
    return TC_CLI_DONE;
}

int tc_cli_take_seed(const tc_cli_option *o, const char *v, void *field, tc_error *err) {
    char *end;
    errno = 0;
    *(uint64_t *)field = strtoull(v, &end, 0);
    if (end == v || *end || errno || *v == '-')
        return tc_cli_usage(err, "--%s needs a whole number that is not negative, not '%s'", o->name, v);
    return TC_CLI_DONE;
}

int tc_cli_take_real(const tc_cli_option *o, const char *v, void *field, tc_error *err) {
    char *end;
    double x = strtod(v, &end);
    if (end == v || *end || !(x >= 0))
        return tc_cli_usage(err, "--%s needs a number that is not negative, not '%s'", o->name, v);
    *(double *)field = x;
    return TC_CLI_DONE;
}

/* ---- the command line ---- */

/* The last row of every table. */
static const tc_cli_option help_option = TC_CLI_FLAG(tc_cli_common, help, "help", "print this help");

const tc_cli_option *tc_cli_option_at(const tc_cli_command *c, size_t i) {
    return i < c->noption ? &c->options[i] : &help_option;
}

/* Its row, noption for --help; -1: the command does not take it. */
static int find(const tc_cli_command *c, const char *name, size_t len) {
    for (size_t i = 0; i <= c->noption; i++)
        if (strlen(tc_cli_option_at(c, i)->name) == len && memcmp(tc_cli_option_at(c, i)->name, name, len) == 0)
            return (int)i;
    return -1;
}

static int unknown(const tc_cli_command *c, const char *arg, tc_error *err) {
    tc_strbuf known = {0};
    for (size_t i = 0; i <= c->noption; i++)
        tc_sb_printf(&known, "%s--%s", i ? ", " : "", tc_cli_option_at(c, i)->name);
    int s =
        tc_cli_usage(err, "there is no option %.*s here; %s takes %s", (int)strcspn(arg, "="), arg, c->name, tc_sb_str(&known));
    tc_strbuf_free(&known);
    return s;
}

/* What is being read. */
typedef struct command_line {
    const tc_cli_command *command;
    int argc, i; /* i: the argument that is looked at */
    char **argv;
    bool *given; /* by row */
    tc_cli_common *args;
} command_line;

/* Takes the option at argv[i] and its value, as "--name value" or "--name=value". */
static int take_option(command_line *l, tc_error *err) {
    const char *arg = l->argv[l->i];
    if (strcmp(arg, "-h") == 0)
        arg = "--help";
    else if (strcmp(arg, "-o") == 0)
        arg = "--out";
    size_t len = strcspn(arg, "=");
    int row = arg[1] == '-' ? find(l->command, arg + 2, len - 2) : -1;
    if (row < 0)
        return unknown(l->command, arg, err);
    const tc_cli_option *o = tc_cli_option_at(l->command, (size_t)row);
    const char *v = arg[len] ? arg + len + 1 : NULL;
    if (!o->argument && v)
        return tc_cli_usage(err, "--%s takes no value", o->name);
    if (o->argument && !v) {
        if (l->i + 1 >= l->argc)
            return tc_cli_usage(err, "--%s needs a value: --%s %s", o->name, o->name, o->argument);
        v = l->argv[++l->i];
    }
    if (o->take != tc_cli_take_list && l->given[row])
        return tc_cli_usage(err, "--%s is given twice", o->name);
    l->given[row] = true;
    return o->take(o, v, (char *)l->args + o->offset, err);
}

static int take_all(command_line *l, tc_error *err) {
    bool only_operands = false;
    for (; l->i < l->argc; l->i++) {
        char *arg = l->argv[l->i];
        if (!only_operands && strcmp(arg, "--") == 0) {
            only_operands = true;
        } else if (!only_operands && arg[0] == '-' && arg[1]) {
            int s = take_option(l, err);
            if (s != TC_CLI_DONE)
                return s;
        } else {
            tc_cli_add_text(&l->args->operands, arg);
        }
    }
    return TC_CLI_DONE;
}

/* What is missing, or too much. */
static int check(const command_line *l, tc_error *err) {
    const tc_cli_command *c = l->command;
    const tc_cli_texts *operands = &l->args->operands;
    if (operands->len && !c->operands)
        return tc_cli_usage(err, "'%s' is not understood: %s takes options only", operands->data[0], c->name);
    if (!operands->len && c->operands && c->operands[0] != '[')
        return tc_cli_usage(err, "%s needs %s", c->name, c->operands);
    for (size_t i = 0; c->required && i < c->noption; i++) {
        const tc_cli_option *o = &c->options[i];
        if (!l->given[i] && strcmp(o->name, c->required) == 0)
            return tc_cli_usage(err, "--%s %s is missing: %s", o->name, o->argument, o->help);
    }
    return TC_CLI_DONE;
}

int tc_cli_parse(const tc_cli_command *c, int argc, char **argv, tc_cli_common **args, tc_error *err) {
    command_line l = {.command = c, .argc = argc, .argv = argv};
    l.args = *args = tc_xcalloc(1, c->size);
    if (c->defaults)
        memcpy(l.args, c->defaults, c->size);
    l.given = tc_xcalloc(c->noption + 1, sizeof *l.given);
    int status = take_all(&l, err);
    if (status == TC_CLI_DONE && !l.args->help)
        status = check(&l, err);
    free(l.given);
    return status;
}

void tc_cli_args_free(const tc_cli_command *c, tc_cli_common *args) {
    for (size_t i = 0; i < c->noption; i++)
        if (c->options[i].take == tc_cli_take_list)
            tc_vec_free((tc_cli_texts *)(void *)((char *)args + c->options[i].offset));
    tc_vec_free(&args->operands);
    free(args);
}

/* ---- help ---- */

enum { HELP_COLUMN = 24, HELP_WIDTH = 100 };

/* Words of text from column `at`, broken before HELP_WIDTH. */
static void wrap(FILE *f, const char *text, int at, int indent) {
    int col = at;
    for (const char *p = text; *p;) {
        int n = (int)strcspn(p, " ");
        if (col + n > HELP_WIDTH && col > indent) {
            fprintf(f, "\n%*s", indent, "");
            col = indent;
        }
        fprintf(f, "%.*s", n, p);
        col += n;
        p += n;
        if (*p == ' ') {
            p++;
            fputc(' ', f);
            col++;
        }
    }
    fputc('\n', f);
}

void tc_cli_help(FILE *f, const tc_cli_command *c) {
    fprintf(f, "usage: tctune %s [options]%s%s\n\n", c->name, c->operands ? " " : "", c->operands ? c->operands : "");
    wrap(f, c->summary, 0, 0);
    if (c->details) {
        fputc('\n', f);
        wrap(f, c->details, 0, 0);
    }
    fprintf(f, "\noptions:\n");
    for (size_t i = 0; i <= c->noption; i++) {
        const tc_cli_option *o = tc_cli_option_at(c, i);
        int n = fprintf(f, "  --%s%s%s", o->name, o->argument ? " " : "", o->argument ? o->argument : "");
        if (n >= HELP_COLUMN) {
            fprintf(f, "\n");
            n = 0;
        }
        fprintf(f, "%*s", HELP_COLUMN - n, "");
        wrap(f, o->help, HELP_COLUMN, HELP_COLUMN);
    }
}
