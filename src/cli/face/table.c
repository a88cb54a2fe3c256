/* Tables: aligned for people, as Markdown, or as CSV (RFC 4180). */
#include <math.h>
#include <string.h>

#include "cli/face/face.h"

tc_cli_table tc_cli_table_new(tc_cli_format format, int ncol, const char *const *headings) {
    tc_cli_table t = {.arena = tc_arena_new(), .format = format, .ncol = ncol};
    for (int i = 0; i < ncol; i++)
        tc_cli_cell(&t, "%s", headings[i]);
    return t;
}

void tc_cli_table_free(tc_cli_table *t) {
    tc_vec_free(&t->cells);
    tc_arena_free(t->arena);
}

/* ---- cells ---- */

/* Characters of a cell at most. A name may be as long as a file, and each row is as wide as the longest cells. CSV has them whole. */
enum { CELL = 200, LAST_CELL = 2000 };

static void cut(tc_strbuf *b, size_t most) {
    char text[4 * LAST_CELL];
    if (b->len <= most)
        return;
    tc_say_to(text, sizeof text, "%.*s...", (int)most - 3, tc_sb_str(b));
    tc_sb_clear(b);
    tc_sb_add(b, text);
}

void tc_cli_cell(tc_cli_table *t, const char *fmt, ...) {
    tc_strbuf b = {0};
    va_list ap;
    va_start(ap, fmt);
    tc_sb_vsay(&b, fmt, ap);
    va_end(ap);
    bool last = (t->cells.len + 1) % (size_t)t->ncol == 0;
    if (t->format != TC_CLI_CSV)
        cut(&b, last ? LAST_CELL : CELL);
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

static int characters(const char *text, int n) {
    int count = 0;
    for (int i = 0; i < n; i++)
        count += ((unsigned char)text[i] & 0xC0) != 0x80;
    return count;
}

static void print_aligned(const tc_cli_table *t, FILE *f) {
    int *width = tc_xcalloc((size_t)t->ncol, sizeof *width);
    const char *text;
    for (size_t i = 0; i < t->cells.len; i++) {
        int *w = &width[i % (size_t)t->ncol], n = cell_of(t, i, &text);
        *w = TC_MAX(*w, characters(text, n));
    }
    for (size_t i = 0; i < t->cells.len; i++) {
        int col = (int)(i % (size_t)t->ncol), n = cell_of(t, i, &text);
        bool last = col == t->ncol - 1;
        if (is_right(t, col))
            tc_say(f, "%*.*s", width[col], n, text);
        else
            tc_say(f, "%-*.*s", last ? 0 : width[col], n, text);
        tc_say(f, last ? "\n" : "  ");
    }
    free(width);
}

/* '|' would end the cell, '<' begin markup, and a backslash before '|' be its escape. */
static void print_markdown_cell(FILE *f, const char *text, int n) {
    const char *end = text + n;
    while (text < end) {
        int some = TC_MIN((int)strcspn(text, "|<\\"), (int)(end - text));
        tc_say(f, "%.*s", some, text);
        text += some;
        if (text == end)
            break;
        bool before_bar = *text == '\\' && text[strspn(text, "\\")] == '|';
        tc_say(f, *text == '\\' && !before_bar ? "%c" : "\\%c", *text);
        text++;
    }
}

static void print_markdown(const tc_cli_table *t, FILE *f) {
    for (size_t i = 0; i < t->cells.len; i++) {
        size_t col = i % (size_t)t->ncol;
        const char *text;
        int n = cell_of(t, i, &text);
        tc_say(f, col ? " " : "| ");
        print_markdown_cell(f, text, n);
        tc_say(f, col + 1 == (size_t)t->ncol ? " |\n" : " |");
        for (int c = 0; i + 1 == (size_t)t->ncol && c < t->ncol; c++)
            tc_say(f, c + 1 == t->ncol ? "%s%s\n" : "%s%s", c ? " " : "| ", is_right(t, c) ? "---: |" : "--- |");
    }
}

static void print_csv_cell(FILE *f, const char *text) {
    bool plain = !strpbrk(text, ",\"\r\n");
    while (!plain) {
        int n = (int)strcspn(text, "\"");
        tc_say(f, "\"%.*s\"", n, text);
        plain = !text[n];
        text += n + !plain;
    }
    tc_say(f, "%s", text);
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
        tc_say(f, col + 1 == (size_t)t->ncol ? "\n" : ",");
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
