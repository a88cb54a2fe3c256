/* Prints two texts side by side in columns. */
#include <stdlib.h>
#include <string.h>

#include "cli/face/face.h"

typedef struct text {
    const char **line;
    int *len;
    int n;
} text;

/* Beyond this many lines the table of the longest common subsequence would be large; lines are then paired as they come. */
enum { MAX_LINES = 2000 };

static text split(const char *s) {
    text t = {0};
    int n = 1;
    for (const char *p = s; *p; p++)
        n += *p == '\n';
    t.line = tc_xcalloc((size_t)n, sizeof *t.line);
    t.len = tc_xcalloc((size_t)n, sizeof *t.len);
    while (*s) {
        t.line[t.n] = s;
        t.len[t.n] = (int)strcspn(s, "\n");
        s += t.len[t.n] + (s[t.len[t.n]] == '\n');
        t.n++;
    }
    return t;
}

static void free_text(text *t) {
    free(t->line);
    free(t->len);
}

static bool same(const text *a, int i, const text *b, int j) {
    return a->len[i] == b->len[j] && memcmp(a->line[i], b->line[j], (size_t)a->len[i]) == 0;
}

typedef struct columns {
    FILE *f;
    const text *a, *b;
    int width; /* of one column */
} columns;

/* A row of line i of a and line j of b; -1: none. */
static void row(const columns *c, int i, int j) {
    int left = i < 0 ? 0 : TC_MIN(c->a->len[i], c->width), right = j < 0 ? 0 : TC_MIN(c->b->len[j], c->width);
    char mark = i < 0 ? '>' : j < 0 ? '<' : same(c->a, i, c->b, j) ? ' ' : '|';
    tc_say(c->f, "%.*s%*s %c%s%.*s\n", left, i < 0 ? "" : c->a->line[i], c->width - left, "", mark, right ? " " : "", right,
           j < 0 ? "" : c->b->line[j]);
}

/* Lines i..ie of a were replaced by lines j..je of b. */
static void replaced(const columns *c, int i, int ie, int j, int je) {
    while (i < ie || j < je) {
        row(c, i < ie ? i : -1, j < je ? j : -1);
        i++;
        j++;
    }
}

/* common[i * (nb + 1) + j]: longest common subsequence of a from i and b from j. */
static short *common_lengths(const text *a, const text *b) {
    size_t w = (size_t)b->n + 1;
    short *common = tc_xcalloc(((size_t)a->n + 1) * w, sizeof *common);
    for (int i = a->n - 1; i >= 0; i--)
        for (int j = b->n - 1; j >= 0; j--) {
            short down = common[(size_t)(i + 1) * w + (size_t)j], across = common[(size_t)i * w + (size_t)j + 1];
            common[(size_t)i * w + (size_t)j] =
                same(a, i, b, j) ? (short)(common[(size_t)(i + 1) * w + (size_t)j + 1] + 1) : TC_MAX(down, across);
        }
    return common;
}

static void aligned(const columns *c) {
    short *common = common_lengths(c->a, c->b);
    size_t w = (size_t)c->b->n + 1;
    int i = 0, j = 0, i0 = 0, j0 = 0; /* i0, j0: where the pending difference begins */
    while (i < c->a->n && j < c->b->n) {
        if (same(c->a, i, c->b, j)) {
            replaced(c, i0, i, j0, j);
            row(c, i++, j++);
            i0 = i;
            j0 = j;
        } else if (common[(size_t)(i + 1) * w + (size_t)j] >= common[(size_t)i * w + (size_t)j + 1]) {
            i++;
        } else {
            j++;
        }
    }
    replaced(c, i0, c->a->n, j0, c->b->n);
    free(common);
}

void tc_cli_side_by_side(FILE *f, const char *left, const char *right, int width) {
    text a = split(left), b = split(right);
    columns c = {f, &a, &b, TC_MAX((width - 3) / 2, 20)};
    if (a.n <= MAX_LINES && b.n <= MAX_LINES)
        aligned(&c);
    else
        replaced(&c, 0, a.n, 0, b.n);
    free_text(&a);
    free_text(&b);
}
