/* Tables: aligned for people, as Markdown, or as CSV (RFC 4180). */
#include <math.h>
#include <string.h>

#include "cli/face/face.h"

tc_cli_table tc_cli_table_new(tc_cli_format format, int ncol, const char *const *headings) {
    tc_cli_table t = {.arena = tc_arena_new(), .format = format, .ncol = ncol};
    for (int i = 0; i < ncol; i++)
        tc_push(&t.cells, headings[i]);
    return t;
}

void tc_cli_table_free(tc_cli_table *t) {
    tc_vec_free(&t->cells);
    tc_arena_free(t->arena);
}

/* ---- cells ---- */

void tc_cli_cell(tc_cli_table *t, const char *fmt, ...) {
    tc_strbuf b = {0};
    va_list ap;
    va_start(ap, fmt);
    tc_sb_vprintf(&b, fmt, ap);
    va_end(ap);
    tc_push(&t->cells, tc_sb_keep(&b, t->arena));
}

static bool is_bare(const tc_cli_table *t) {
    return t->format == TC_CLI_CSV;
}

void tc_cli_cell_none(tc_cli_table *t) {
    tc_cli_cell(t, "%s", is_bare(t) ? "" : "-");
}

void tc_cli_cell_real(tc_cli_table *t, int digits, double v) {
    if (!isfinite(v))
        tc_cli_cell_none(t);
    else if (is_bare(t))
        tc_cli_cell(t, "%.9g", v);
    else
        tc_cli_cell(t, "%.*f", digits, v);
}

void tc_cli_cell_share(tc_cli_table *t, int digits, double share) {
    if (is_bare(t) || !isfinite(share))
        tc_cli_cell_real(t, digits, 100 * share);
    else
        tc_cli_cell(t, "%.*f %%", digits, 100 * share);
}

void tc_cli_cell_time(tc_cli_table *t, double ms) {
    char text[24];
    if (is_bare(t) || !isfinite(ms))
        tc_cli_cell_real(t, 0, ms);
    else
        tc_cli_cell(t, "%s", tc_text_time(text, ms / 1e3));
}

/* ---- printing ---- */

static bool is_right(const tc_cli_table *t, int col) {
    return t->cells.data[col][0] == '>';
}

/* How long the heading of a column is, and where it begins. Its unit stands behind '|'. */
static int heading_of(const tc_cli_table *t, int col, const char **text, const char **unit) {
    const char *h = t->cells.data[col] + is_right(t, col), *bar = strchr(h, '|');
    *text = h;
    *unit = bar ? bar + 1 : NULL;
    return bar ? (int)(bar - h) : (int)strlen(h);
}

/* Cell i without what only marks a heading. */
static int cell_of(const tc_cli_table *t, size_t i, const char **text) {
    const char *unit;
    if (i < (size_t)t->ncol)
        return heading_of(t, (int)i, text, &unit);
    *text = t->cells.data[i];
    return (int)strlen(*text);
}

static void print_aligned(const tc_cli_table *t, FILE *f) {
    int *width = tc_xcalloc((size_t)t->ncol, sizeof *width);
    const char *text;
    for (size_t i = 0; i < t->cells.len; i++) {
        int *w = &width[i % (size_t)t->ncol];
        *w = TC_MAX(*w, cell_of(t, i, &text));
    }
    for (size_t i = 0; i < t->cells.len; i++) {
        int col = (int)(i % (size_t)t->ncol), n = cell_of(t, i, &text);
        bool last = col == t->ncol - 1;
        if (is_right(t, col))
            fprintf(f, "%*.*s", width[col], n, text);
        else
            fprintf(f, "%-*.*s", last ? 0 : width[col], n, text);
        fputs(last ? "\n" : "  ", f);
    }
    free(width);
}

static void print_markdown_cell(FILE *f, const char *text, int n) {
    for (int i = 0; i < n; i++)
        if (text[i] == '|')
            fputs("\\|", f);
        else
            fputc(text[i] == '\n' ? ' ' : text[i], f);
}

static void print_markdown(const tc_cli_table *t, FILE *f) {
    for (size_t i = 0; i < t->cells.len; i++) {
        size_t col = i % (size_t)t->ncol;
        const char *text;
        int n = cell_of(t, i, &text);
        fputs(col ? " " : "| ", f);
        print_markdown_cell(f, text, n);
        fputs(col + 1 == (size_t)t->ncol ? " |\n" : " |", f);
        for (int c = 0; i + 1 == (size_t)t->ncol && c < t->ncol; c++)
            fprintf(f, "%s%s%s", c ? " " : "| ", is_right(t, c) ? "---: |" : "--- |", c + 1 == t->ncol ? "\n" : "");
    }
}

static void print_csv_cell(FILE *f, const char *text) {
    bool plain = !strpbrk(text, ",\"\r\n");
    if (!plain)
        fputc('"', f);
    for (; *text; text++)
        fputs(*text == '"' ? "\"\"" : (char[]){*text, 0}, f);
    if (!plain)
        fputc('"', f);
}

static const char *csv_heading(const tc_cli_table *t, int col) {
    const char *text, *unit;
    int n = heading_of(t, col, &text, &unit);
    return unit ? tc_arena_printf(t->arena, "%.*s (%s)", n, text, unit) : text;
}

static void print_csv(const tc_cli_table *t, FILE *f) {
    for (size_t i = 0; i < t->cells.len; i++) {
        size_t col = i % (size_t)t->ncol;
        print_csv_cell(f, i < (size_t)t->ncol ? csv_heading(t, (int)i) : t->cells.data[i]);
        fputc(col + 1 == (size_t)t->ncol ? '\n' : ',', f);
    }
}

void tc_cli_table_print(const tc_cli_table *t, FILE *f) {
    switch (t->format) {
    case TC_CLI_TABLE:
    case TC_CLI_JSON:
        print_aligned(t, f);
        break;
    case TC_CLI_MARKDOWN:
        print_markdown(t, f);
        break;
    case TC_CLI_CSV:
        print_csv(t, f);
        break;
    }
}
