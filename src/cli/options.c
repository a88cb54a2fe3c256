/* The option table: parsing and help, both from options.def. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

typedef enum kind { FLAG, TEXT, COUNT, LEVEL, SEED, REAL, LIST, FORMS, MODE } kind;

typedef struct spec {
    const char *name, *argument, *help;
    kind kind;
    size_t offset;
} spec;

static const spec specs[] = {
#define OPT(id, field, name, argument, kind, help) {name, argument, help, kind, offsetof(tc_cli_args, field)},
#include "cli/options.def"
#undef OPT
};

int tc_cli_usage(tc_error *err, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    tc_vfail(err, TC_BAD_INPUT, fmt, ap);
    va_end(ap);
    return TC_CLI_USAGE;
}

/* ---- values ---- */

static int take_count(const spec *o, const char *v, int *out, tc_error *err) {
    char *end;
    errno = 0;
    long n = strtol(v, &end, 10);
    if (end == v || *end)
        return tc_cli_usage(err, "--%s needs a whole number, not '%s'", o->name, v);
    if (errno || n < 1 || n > 1000000000)
        return tc_cli_usage(err, "--%s must be between 1 and 1000000000, not %s", o->name, v);
    *out = (int)n;
    return TC_CLI_DONE;
}

static int take_level(const spec *o, const char *v, int *out, tc_error *err) {
    if (*v < '0' || *v > '0' + TC_GRAPH_OPT_MAX || v[1])
        return tc_cli_usage(err, "--%s needs a number from 0 to %d, not '%s'", o->name, TC_GRAPH_OPT_MAX, v);
    *out = *v - '0';
    return TC_CLI_DONE;
}

static int take_seed(const spec *o, const char *v, uint64_t *out, tc_error *err) {
    char *end;
    errno = 0;
    *out = strtoull(v, &end, 0);
    if (end == v || *end || errno || *v == '-')
        return tc_cli_usage(err, "--%s needs a whole number that is not negative, not '%s'", o->name, v);
    return TC_CLI_DONE;
}

static int take_real(const spec *o, const char *v, double *out, tc_error *err) {
    char *end;
    *out = strtod(v, &end);
    if (end == v || *end || !(*out >= 0))
        return tc_cli_usage(err, "--%s needs a number that is not negative, not '%s'", o->name, v);
    return TC_CLI_DONE;
}

static int take_accuracy(const spec *o, const char *v, tc_accuracy *out, tc_error *err) {
    bool strict = strcmp(v, "strict") == 0;
    if (!strict && strcmp(v, "fast") != 0)
        return tc_cli_usage(err, "--%s is strict or fast, not '%s'", o->name, v);
    *out = strict ? TC_ACCURACY_STRICT : TC_ACCURACY_FAST;
    return TC_CLI_DONE;
}

static int take_mode(const spec *o, const char *v, tc_tune_timing *out, tc_error *err) {
    static const char *const names[] = {[TC_TUNE_AUTO] = "auto", [TC_TUNE_HOT] = "hot", [TC_TUNE_COLD] = "cold"};
    for (size_t i = 0; i < TC_LEN(names); i++)
        if (strcmp(v, names[i]) == 0) {
            *out = (tc_tune_timing)i;
            return TC_CLI_DONE;
        }
    return tc_cli_usage(err, "--%s is auto, hot or cold, not '%s'", o->name, v);
}

static int take_value(const spec *o, const char *v, tc_cli_args *a, tc_error *err) {
    void *field = (char *)a + o->offset;
    switch (o->kind) {
    case FLAG:
        *(bool *)field = true;
        return TC_CLI_DONE;
    case TEXT:
        if (!*v)
            return tc_cli_usage(err, "--%s needs a value: %s", o->name, o->argument);
        *(const char **)field = v;
        return TC_CLI_DONE;
    case COUNT:
        return take_count(o, v, field, err);
    case LEVEL:
        return take_level(o, v, field, err);
    case SEED:
        return take_seed(o, v, field, err);
    case REAL:
        return take_real(o, v, field, err);
    case LIST:
        tc_push((tc_cli_texts *)field, v);
        return TC_CLI_DONE;
    case FORMS:
        return take_accuracy(o, v, field, err);
    case MODE:
        return take_mode(o, v, field, err);
    }
    return TC_CLI_DONE;
}

/* ---- the command line ---- */

static bool takes(const tc_cli_command *c, int id) {
    return id == TC_CLI_OPT_HELP || (c->options >> id & 1);
}

static int find(const char *name, size_t len) {
    for (int i = 0; i < TC_CLI_NOPTS; i++)
        if (strlen(specs[i].name) == len && memcmp(specs[i].name, name, len) == 0)
            return i;
    return -1;
}

static int unknown(const tc_cli_command *c, const char *arg, tc_error *err) {
    tc_strbuf known = {0};
    for (int i = 0; i < TC_CLI_NOPTS; i++)
        if (takes(c, i))
            tc_sb_printf(&known, "%s--%s", known.len ? ", " : "", specs[i].name);
    int s =
        tc_cli_usage(err, "there is no option %.*s here; %s takes %s", (int)strcspn(arg, "="), arg, c->name, tc_sb_str(&known));
    tc_strbuf_free(&known);
    return s;
}

/* Takes the option at argv[*i] and its value, as "--name value" or "--name=value". */
static int take_option(const tc_cli_command *c, int argc, char **argv, int *i, tc_cli_args *a, tc_error *err) {
    const char *arg = argv[*i];
    if (strcmp(arg, "-h") == 0)
        arg = "--help";
    else if (strcmp(arg, "-o") == 0)
        arg = "--out";
    size_t len = strcspn(arg, "=");
    int id = arg[1] == '-' ? find(arg + 2, len - 2) : -1;
    if (id < 0 || !takes(c, id))
        return unknown(c, arg, err);
    const spec *o = &specs[id];
    const char *v = arg[len] ? arg + len + 1 : NULL;
    if (o->kind == FLAG && v)
        return tc_cli_usage(err, "--%s takes no value", o->name);
    if (o->kind != FLAG && !v) {
        if (*i + 1 >= argc)
            return tc_cli_usage(err, "--%s needs a value: --%s %s", o->name, o->name, o->argument);
        v = argv[++*i];
    }
    if (o->kind != LIST && (a->given >> id & 1))
        return tc_cli_usage(err, "--%s is given twice", o->name);
    a->given |= UINT64_C(1) << id;
    return take_value(o, v, a, err);
}

int tc_cli_parse(const tc_cli_command *c, int argc, char **argv, tc_cli_args *a, tc_error *err) {
    bool only_operands = false;
    *a = (tc_cli_args){0};
    for (int i = 0; i < argc; i++) {
        if (!only_operands && strcmp(argv[i], "--") == 0) {
            only_operands = true;
        } else if (!only_operands && argv[i][0] == '-' && argv[i][1]) {
            int s = take_option(c, argc, argv, &i, a, err);
            if (s != TC_CLI_DONE)
                return s;
        } else {
            tc_push(&a->rest, argv[i]);
        }
    }
    if (a->help)
        return TC_CLI_DONE;
    if (a->rest.len && !c->operands)
        return tc_cli_usage(err, "'%s' is not understood: %s takes options only", a->rest.data[0], c->name);
    if (!a->rest.len && c->operands && c->operands[0] != '[')
        return tc_cli_usage(err, "%s needs %s", c->name, c->operands);
    for (int i = 0; i < TC_CLI_NOPTS; i++)
        if ((c->required & ~a->given) >> i & 1)
            return tc_cli_usage(err, "--%s %s is missing: %s", specs[i].name, specs[i].argument, specs[i].help);
    return TC_CLI_DONE;
}

void tc_cli_args_free(tc_cli_args *a) {
    tc_vec_free(&a->shape);
    tc_vec_free(&a->disable_pass);
    tc_vec_free(&a->rest);
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
    for (int i = 0; i < TC_CLI_NOPTS; i++) {
        if (!takes(c, i))
            continue;
        const spec *o = &specs[i];
        int n = fprintf(f, "  --%s%s%s", o->name, o->argument ? " " : "", o->argument ? o->argument : "");
        if (n >= HELP_COLUMN) {
            fprintf(f, "\n");
            n = 0;
        }
        fprintf(f, "%*s", HELP_COLUMN - n, "");
        wrap(f, o->help, HELP_COLUMN, HELP_COLUMN);
    }
}
