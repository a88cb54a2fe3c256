/* Text for people: aligned tables, times, sizes; and numbers for JSON. */
#include <math.h>
#include <string.h>

#include "cli/cli.h"

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

/* ---- numbers ---- */

static char *scaled(char buf[24], double v, const char *const *units, int n, double step) {
    int u = 0;
    while (u < n - 1 && v >= 999.5) {
        v /= step;
        u++;
    }
    snprintf(buf, 24, "%.*f %s", v < 9.995 ? 2 : v < 99.95 ? 1 : 0, v, units[u]);
    return buf;
}

char *tc_cli_time(char buf[24], double seconds) {
    static const char *const units[] = {"us", "ms", "s"};
    if (!isfinite(seconds)) {
        snprintf(buf, 24, "-");
        return buf;
    }
    return scaled(buf, seconds * 1e6, units, 3, 1000);
}

char *tc_cli_bytes(char buf[24], double n) {
    static const char *const units[] = {"B", "KiB", "MiB", "GiB"};
    return scaled(buf, n, units, 4, 1024);
}

char *tc_cli_duration(char buf[24], double seconds) {
    if (!(seconds >= 0) || seconds > 1e8) {
        snprintf(buf, 24, "-");
        return buf;
    }
    long s = lround(seconds);
    if (s >= 3600)
        snprintf(buf, 24, "%ld:%02ld:%02ld", s / 3600, s / 60 % 60, s % 60);
    else
        snprintf(buf, 24, "%ld:%02ld", s / 60, s % 60);
    return buf;
}

json_t *tc_cli_json_real(double v) {
    return isfinite(v) ? json_real(v) : json_null();
}

void tc_cli_json_print(json_t *j) {
    json_dumpf(j, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(9));
    putchar('\n');
    json_decref(j);
}
