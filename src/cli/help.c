/* Prints the text of --help, as wide as the terminal: a usage line with the required arguments, the options by groups, and
 * examples. */
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cli/options.h"

/* Lines of text are hard to read beyond 120 columns; below 40 nothing fits beside the options. */
enum { LEAST_WIDTH = 40, USUAL_WIDTH = 80, MOST_WIDTH = 120, HELP_COLUMN = 24 };

const char *tc_cli_heading(tc_cli_group g) {
#define HEADING(id, heading) heading,
    static const char *const headings[] = {TC_CLI_GROUPS(HEADING)};
#undef HEADING
    return headings[g];
}

int tc_cli_width(FILE *f) {
    const char *told = getenv("COLUMNS");
    struct winsize size;
    int width = told ? atoi(told) : 0;
    if (width <= 0 && ioctl(fileno(f), TIOCGWINSZ, &size) == 0)
        width = size.ws_col;
    return width <= 0 ? USUAL_WIDTH : TC_MIN(TC_MAX(width, LEAST_WIDTH), MOST_WIDTH);
}

/* Text from column `at`, broken between words before the width. Lines after the first begin at `indent`. */
static void wrap(FILE *f, const char *text, int at, int indent) {
    int width = tc_cli_width(f);
    for (bool first = true; *text; first = false) {
        int n = (int)strcspn(text, " ");
        if (!first && at + 1 + n > width) {
            tc_say(f, "\n%*s", indent, "");
            at = indent;
        } else if (!first) {
            tc_say(f, " ");
            at++;
        }
        tc_say(f, "%.*s", n, text);
        at += n;
        text += n;
        text += *text == ' ';
    }
    tc_say(f, "\n");
}

void tc_cli_synopsis(tc_strbuf *b, const tc_cli_command *c) {
    const char *const parts[] = {c->source, c->operands, c->synopsis, "[options]"};
    const char *sep = "";
    for (size_t i = 0; i < TC_LEN(parts); i++)
        if (parts[i]) {
            tc_sb_printf(b, "%s%s", sep, parts[i]);
            sep = " ";
        }
}

static void print_usage(FILE *f, const tc_cli_command *c) {
    tc_strbuf synopsis = {0};
    tc_cli_synopsis(&synopsis, c);
    int indent = tc_say(f, "usage: tctune %s ", c->name);
    wrap(f, tc_sb_str(&synopsis), indent, indent);
    tc_strbuf_free(&synopsis);
}

void tc_cli_list(FILE *f, const char *name, const char *text) {
    enum { COLUMN = 20 };
    int at = tc_say(f, "  %-*s", COLUMN - 2, name);
    wrap(f, text, at, COLUMN);
}

static void print_option(FILE *f, const tc_cli_option *o) {
    char letter = tc_cli_letter(o);
    int n = letter ? tc_say(f, "  -%c, --%s", letter, o->name) : tc_say(f, "  --%s", o->name);
    if (o->argument)
        n += tc_say(f, " %s", o->argument);
    if (n + 2 > HELP_COLUMN) {
        tc_say(f, "\n");
        n = 0;
    }
    tc_say(f, "%*s", HELP_COLUMN - n, "");
    wrap(f, o->help, HELP_COLUMN, HELP_COLUMN);
}

static void print_group(FILE *f, const tc_cli_command *c, tc_cli_group g) {
    size_t i = 0;
    const tc_cli_option *o = tc_cli_next_of(c, g, &i);
    if (o)
        tc_say(f, "\n%s:\n", tc_cli_heading(g));
    for (; o; o = tc_cli_next_of(c, g, &i))
        print_option(f, o);
}

static void print_examples(FILE *f, const tc_cli_command *c) {
    tc_say(f, "\nexamples:\n");
    for (size_t i = 0; i < TC_LEN(c->examples); i++) {
        tc_say(f, "  ");
        wrap(f, c->examples[i].purpose, 2, 2);
        tc_say(f, "      %s\n", c->examples[i].line); /* whole, so that it can be copied */
    }
}

void tc_cli_help(FILE *f, const tc_cli_command *c) {
    print_usage(f, c);
    tc_say(f, "\n");
    wrap(f, c->summary, 0, 0);
    if (c->details) {
        tc_say(f, "\n");
        wrap(f, c->details, 0, 0);
    }
    for (int g = 0; g < TC_CLI_NGROUP; g++)
        print_group(f, c, (tc_cli_group)g);
    print_examples(f, c);
}
