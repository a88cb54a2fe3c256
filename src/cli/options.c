/* Options: reads their values, and parses the command line by the table of a command. */
#include "cli/options.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "support/guess.h"
#include "support/numbers.h"
#include "support/strbuf.h"
#include "support/system/fs.h"

int tc_cli_usage(tc_error *err, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    tc_vfail(err, TC_BAD_INPUT, fmt, ap);
    va_end(ap);
    return TC_CLI_USAGE;
}

/* ---- values ---- */

/* Standard input or output, as the name of a file. */
static bool is_dash(const char *v) {
    return strcmp(v, "-") == 0;
}

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

int tc_cli_take_library(const tc_cli_option *o, const char *v, void *field, tc_error *err) {
    if (is_dash(v))
        return tc_cli_usage(err,
                            "--%s cannot be standard output: a library is linked and loaded by the name of its file; give one, "
                            "such as M.so",
                            o->name);
    return tc_cli_take_text(o, v, field, err);
}

int tc_cli_take_list(const tc_cli_option *o, const char *v, void *field, tc_error *err) {
    (void)o, (void)err;
    tc_cli_add_text(field, v);
    return TC_CLI_DONE;
}

int tc_cli_take_input(const tc_cli_option *o, const char *v, void *field, tc_error *err) {
    return tc_cli_take_text(o, is_dash(v) ? "/dev/stdin" : v, field, err);
}

int tc_cli_take_inputs(const tc_cli_option *o, const char *v, void *field, tc_error *err) {
    return tc_cli_take_list(o, is_dash(v) ? "/dev/stdin" : v, field, err);
}

int tc_cli_take_output(const tc_cli_option *o, const char *v, void *field, tc_error *err) {
    return tc_cli_take_text(o, is_dash(v) ? "/dev/stdout" : v, field, err);
}

int tc_cli_take_named(const tc_cli_option *o, const char *v, void *field, tc_error *err) {
    if (is_dash(v))
        return tc_cli_usage(
            err, "--%s cannot be standard input: tctune does not read this file from beginning to end; name a file", o->name);
    return tc_cli_take_text(o, v, field, err);
}

/* The words of "strict|fast|soon", in the arena. */
static tc_cli_texts choices_of(const char *argument, tc_arena *a) {
    tc_cli_texts all = {0};
    for (const char *p = argument; *p; p += strcspn(p, "|"), p += *p == '|')
        tc_cli_add_text(&all, tc_arena_printf(a, "%.*s", (int)strcspn(p, "|"), p));
    return all;
}

static int no_such_choice(const tc_cli_option *o, const char *v, const tc_cli_texts *choices, tc_error *err) {
    tc_strbuf list = {0};
    char text[TC_GUESS_TEXT];
    tc_guess g = tc_guess_new(v, strlen(v));
    for (size_t i = 0; i < choices->len; i++)
        tc_guess_add(&g, choices->data[i]);
    tc_sb_add_names(&list, choices->data, choices->len, "", "or");
    int status = tc_cli_usage(err, "--%s needs %s, not '%s'%s", o->name, tc_sb_str(&list), v,
                              g.nclose ? tc_guess_say(&g, "", NULL, text) : "");
    tc_strbuf_free(&list);
    return status;
}

int tc_cli_take_choice(const tc_cli_option *o, const char *v, void *field, tc_error *err) {
    tc_arena *a = tc_arena_new();
    tc_cli_texts choices = choices_of(o->argument, a);
    int status = TC_CLI_USAGE;
    for (size_t i = 0; i < choices.len; i++)
        if (strcmp(choices.data[i], v) == 0)
            status = TC_CLI_DONE;
    if (status == TC_CLI_DONE)
        *(const char **)field = v;
    else
        status = no_such_choice(o, v, &choices, err);
    tc_vec_free(&choices);
    tc_arena_free(a);
    return status;
}

int tc_cli_take_format(const tc_cli_option *o, const char *v, void *field, tc_error *err) {
    static const char *const names[] = {
        [TC_CLI_TABLE] = "table", [TC_CLI_MARKDOWN] = "markdown", [TC_CLI_CSV] = "csv", [TC_CLI_JSON] = "json"};
    const char *chosen = NULL;
    int status = tc_cli_take_choice(o, v, &chosen, err);
    for (size_t i = 0; chosen && i < TC_LEN(names); i++)
        if (strcmp(names[i], chosen) == 0)
            *(tc_cli_format *)field = (tc_cli_format)i;
    return status;
}

int tc_cli_take_json(const tc_cli_option *o, const char *v, void *field, tc_error *err) {
    (void)o, (void)v, (void)err;
    *(tc_cli_format *)field = TC_CLI_JSON;
    return TC_CLI_DONE;
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
    double x = tc_strtod(v, &end);
    if (end == v || *end || !(x >= 0))
        return tc_cli_usage(err, "--%s needs a number that is not negative, not '%s'", o->name, v);
    *(double *)field = x;
    return TC_CLI_DONE;
}

/* ---- the command line ---- */

/* Behind the rows of every table. */
static const tc_cli_option common_options[] = {TC_CLI_FLAG(tc_cli_common, help, HELP, "help", "print this help"),
                                               TC_CLI_FLAG(tc_cli_common, version, HELP, "version", "print the version")};

static const struct letter {
    char letter;
    const char *option;
} letters[] = {{'o', "--out"}, {'h', "--help"}};

size_t tc_cli_num_options(const tc_cli_command *c) {
    return c->noption + TC_LEN(common_options);
}

const tc_cli_option *tc_cli_option_at(const tc_cli_command *c, size_t i) {
    return i < c->noption ? &c->options[i] : &common_options[i - c->noption];
}

const tc_cli_option *tc_cli_next_of(const tc_cli_command *c, tc_cli_group g, size_t *i) {
    while (*i < tc_cli_num_options(c)) {
        const tc_cli_option *o = tc_cli_option_at(c, (*i)++);
        if (o->group == g)
            return o;
    }
    return NULL;
}

bool tc_cli_is_list(const tc_cli_option *o) {
    return o->take == tc_cli_take_list || o->take == tc_cli_take_inputs;
}

char tc_cli_letter(const tc_cli_option *o) {
    for (size_t i = 0; i < TC_LEN(letters); i++)
        if (strcmp(letters[i].option + 2, o->name) == 0)
            return letters[i].letter;
    return 0;
}

/* The row of an option by its whole name; -1: the command does not take it. */
static int find(const tc_cli_command *c, const char *name, size_t len) {
    for (size_t i = 0; i < tc_cli_num_options(c); i++)
        if (strlen(tc_cli_option_at(c, i)->name) == len && memcmp(tc_cli_option_at(c, i)->name, name, len) == 0)
            return (int)i;
    return -1;
}

static int unknown(const tc_cli_command *c, const char *name, size_t len, tc_error *err) {
    char text[TC_GUESS_TEXT];
    tc_guess g = tc_guess_new(name, len);
    for (size_t i = 0; i < tc_cli_num_options(c); i++)
        tc_guess_add(&g, tc_cli_option_at(c, i)->name);
    return tc_cli_usage(err, "%s has no option --%.*s%s", c->name, (int)len, name, tc_guess_say(&g, "--", NULL, text));
}

/* The row of an option by its name, or by a beginning of it that no other option has. TC_CLI_DONE, or TC_CLI_USAGE. */
static int find_or_refuse(const tc_cli_command *c, const char *name, size_t len, int *row, tc_error *err) {
    const char *fits[TC_CLI_SHOWN];
    size_t n = 0;
    *row = find(c, name, len);
    for (size_t i = 0; *row < 0 && len && i < tc_cli_num_options(c); i++)
        if (strncmp(tc_cli_option_at(c, i)->name, name, len) == 0) {
            if (n < TC_CLI_SHOWN)
                fits[n] = tc_cli_option_at(c, i)->name;
            n++;
        }
    if (n == 1)
        *row = find(c, fits[0], strlen(fits[0]));
    if (n > 1)
        return tc_cli_ambiguous(err, "--", name, len, fits, n);
    return *row < 0 ? unknown(c, name, len, err) : TC_CLI_DONE;
}

int tc_cli_ambiguous(tc_error *err, const char *before, const char *typed, size_t len, const char *const *fits, size_t n) {
    tc_strbuf b = {0};
    tc_sb_add_names(&b, fits, TC_MIN(n, TC_CLI_SHOWN), before, "or");
    if (n > TC_CLI_SHOWN)
        tc_sb_printf(&b, " and %zu more", n - TC_CLI_SHOWN);
    int status = tc_cli_usage(err, "%s%.*s can mean %s: type more of it", before, (int)len, typed, tc_sb_str(&b));
    tc_strbuf_free(&b);
    return status;
}

/* What is being read. */
typedef struct command_line {
    const tc_cli_command *command;
    int argc, i; /* i: the argument that is looked at */
    char **argv;
    bool *given; /* by row */
    tc_cli_common *args;
} command_line;

/* "--out" of "-o"; any other argument as it is. */
static const char *long_form(const char *arg) {
    for (size_t i = 0; i < TC_LEN(letters); i++)
        if (arg[1] == letters[i].letter && !arg[2])
            return letters[i].option;
    return arg;
}

/* Whether the option names a model or a kernel. Such a file may also stand on the command line without the option. */
static bool is_source(const tc_cli_command *c, const tc_cli_option *o) {
    return c->source && (strcmp(o->name, "model") == 0 || strcmp(o->name, "te") == 0);
}

/* One file at most is standard input, and one standard output. */
static int take_stdin(command_line *l, tc_error *err) {
    if (l->args->reads_stdin)
        return tc_cli_usage(err, "two options read standard input (-); name a file for one of them");
    l->args->reads_stdin = true;
    return TC_CLI_DONE;
}

static int take_dash(command_line *l, const tc_cli_option *o, tc_error *err) {
    if (o->take == tc_cli_take_input || o->take == tc_cli_take_inputs)
        return take_stdin(l, err);
    if (o->take != tc_cli_take_output)
        return TC_CLI_DONE;
    if (l->args->writes_stdout)
        return tc_cli_usage(err, "two options write to standard output (-); name a file for one of them");
    l->args->writes_stdout = true;
    return TC_CLI_DONE;
}

static int take_value(command_line *l, int row, const char *v, tc_error *err) {
    const tc_cli_command *c = l->command;
    const tc_cli_option *o = tc_cli_option_at(c, (size_t)row);
    if (l->given[row] && is_source(c, o))
        return tc_cli_usage(err, "'%s': %s takes one %s at a time", v, c->name, strcmp(o->name, "te") == 0 ? "kernel" : "model");
    if (l->given[row] && !tc_cli_is_list(o))
        return tc_cli_usage(err, "--%s is given twice", o->name);
    l->given[row] = true;
    int status = v && is_dash(v) ? take_dash(l, o, err) : TC_CLI_DONE;
    if (status != TC_CLI_DONE)
        return status;
    return o->take(o, v, (char *)l->args + o->offset, err);
}

/* Takes the option at argv[i] and its value, as "--name value" or "--name=value". */
static int take_option(command_line *l, tc_error *err) {
    const char *arg = long_form(l->argv[l->i]);
    if (arg[1] != '-')
        return tc_cli_usage(err, "there is no option %s: options begin with two dashes, except -o (--out) and -h (--help)", arg);
    size_t len = strcspn(arg, "=");
    int row, status = find_or_refuse(l->command, arg + 2, len - 2, &row, err);
    if (status != TC_CLI_DONE)
        return status;
    const tc_cli_option *o = tc_cli_option_at(l->command, (size_t)row);
    const char *v = arg[len] ? arg + len + 1 : NULL;
    if (!o->argument && v)
        return tc_cli_usage(err, "--%s takes no value", o->name);
    if (o->argument && !v) {
        if (l->i + 1 >= l->argc)
            return tc_cli_usage(err, "--%s needs a value: --%s %s", o->name, o->name, o->argument);
        v = l->argv[++l->i];
    }
    return take_value(l, row, v, err);
}

static bool ends(const char *path, const char *end) {
    size_t n = strlen(path), m = strlen(end);
    return n > m && strcmp(path + n - m, end) == 0;
}

/* Whether a text begins like a kernel: after comments comes a statement. */
static bool is_kernel(const char *text) {
    static const char *const first[] = {"tensor ", "symbol ", "compute "};
    while (*text == '#' || *text == '\n')
        text += *text == '#' ? strcspn(text, "\n") : 1;
    for (size_t i = 0; i < TC_LEN(first); i++)
        if (strncmp(text, first[i], strlen(first[i])) == 0)
            return true;
    return false;
}

/* A file without a known suffix: a library is an ELF file, and an ONNX file begins with its version (field 1, a number). */
static const char *option_by_content(const char *path) {
    char head[1024] = {0};
    size_t n = tc_fs_read_head(path, head, sizeof head - 1);
    if (n > 4 && (memcmp(head, "\177ELF", 4) == 0 || head[0] == '\x08'))
        return "model";
    return is_kernel(head) ? "te" : NULL;
}

const char *tc_cli_source_option(const char *path) {
    if (ends(path, ".onnx") || ends(path, ".so"))
        return "model";
    return ends(path, ".te") ? "te" : option_by_content(path);
}

/* Takes an argument that is no option. If the command accepts a model or a kernel, it counts as the value of --model or --te. Else
 * it is an operand. */
static int take_operand(command_line *l, const char *arg, tc_error *err) {
    const char *option = l->command->source ? tc_cli_source_option(arg) : NULL;
    if (is_dash(arg) && l->command->reads_stdin) {
        arg = "/dev/stdin";
        int status = take_stdin(l, err);
        if (status != TC_CLI_DONE)
            return status;
    }
    if (option)
        return take_value(l, find(l->command, option, strlen(option)), arg, err);
    tc_cli_add_text(&l->args->operands, arg);
    return TC_CLI_DONE;
}

static int take_all(command_line *l, tc_error *err) {
    bool only_operands = false;
    int status = TC_CLI_DONE;
    for (; status == TC_CLI_DONE && l->i < l->argc; l->i++) {
        const char *arg = l->argv[l->i];
        if (!only_operands && strcmp(arg, "--") == 0)
            only_operands = true;
        else if (!only_operands && arg[0] == '-' && arg[1])
            status = take_option(l, err);
        else
            status = take_operand(l, arg, err);
    }
    return status;
}

/* A word that the command has no use for. */
static int refuse_operand(const tc_cli_command *c, const char *word, tc_error *err) {
    if (is_dash(word) && c->source)
        return tc_cli_usage(err, "'-' is not understood: say what standard input holds; --te - reads a kernel from it");
    if (!c->source)
        return tc_cli_usage(err, "'%s' is not understood: %s takes options only", word, c->name);
    if (tc_fs_exists(word))
        return tc_cli_usage(err, "'%s' is neither a model (an ONNX file or a library) nor a kernel (.te)", word);
    return tc_cli_usage(err, "'%s' is not understood: there is no file of this name, and %s takes a file (%s) and options", word,
                        c->name, c->source);
}

/* What is missing, or too much. */
static int check(const command_line *l, tc_error *err) {
    const tc_cli_command *c = l->command;
    const tc_cli_texts *operands = &l->args->operands;
    if (operands->len && !c->operands)
        return refuse_operand(c, operands->data[0], err);
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
    l.given = tc_xcalloc(tc_cli_num_options(c), sizeof *l.given);
    int status = take_all(&l, err);
    if (status == TC_CLI_DONE && !l.args->help && !l.args->version)
        status = check(&l, err);
    free(l.given);
    return status;
}

void tc_cli_args_free(const tc_cli_command *c, tc_cli_common *args) {
    for (size_t i = 0; i < c->noption; i++)
        if (tc_cli_is_list(&c->options[i]))
            tc_vec_free((tc_cli_texts *)(void *)((char *)args + c->options[i].offset));
    tc_vec_free(&args->operands);
    free(args);
}
