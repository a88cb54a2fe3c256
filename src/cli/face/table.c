/* Text for people: aligned tables. */
#include <string.h>

#include "cli/face/face.h"

tc_cli_table tc_cli_table_new(int ncol, const char *const *headings) {
    tc_cli_table t = {.arena = tc_arena_new(), .ncol = ncol};
    for (int i = 0; i < ncol; i++)
        tc_push(&t.cells, headings[i]);
    return t;
}

void tc_cli_cell(tc_cli_table *t, const char *fmt, ...) {
    tc_strbuf b = {0};
    va_list ap;
    va_start(ap, fmt);
    tc_sb_vprintf(&b, fmt, ap);
    va_end(ap);
    tc_push(&t->cells, tc_sb_keep(&b, t->arena));
}

static bool right(const tc_cli_table *t, int col) {
    return t->cells.data[col][0] == '>';
}

static const char *cell(const tc_cli_table *t, size_t i) {
    return t->cells.data[i] + (i < (size_t)t->ncol && right(t, (int)i));
}

void tc_cli_table_print(const tc_cli_table *t, FILE *f) {
    int *width = tc_xcalloc((size_t)t->ncol, sizeof *width);
    for (size_t i = 0; i < t->cells.len; i++) {
        int *w = &width[i % (size_t)t->ncol];
        *w = TC_MAX(*w, (int)strlen(cell(t, i)));
    }
    for (size_t i = 0; i < t->cells.len; i++) {
        int col = (int)(i % (size_t)t->ncol);
        bool last = col == t->ncol - 1;
        if (right(t, col))
            fprintf(f, "%*s", width[col], cell(t, i));
        else
            fprintf(f, "%-*s", last ? 0 : width[col], cell(t, i));
        fputs(last ? "\n" : "  ", f);
    }
    free(width);
}

void tc_cli_table_free(tc_cli_table *t) {
    tc_vec_free(&t->cells);
    tc_arena_free(t->arena);
}
