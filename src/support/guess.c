/* Names that are close to a mistyped one. The distance is Damerau's and Levenshtein's without restrictions: letters may be inserted
 * between two that are exchanged, so that "zen4" is 3 away from "znver4" (Lowrance and Wagner, 1975). */
#include "support/guess.h"

#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "support/vec.h"

enum { LONGEST = 64 };

static int least3(int a, int b, int c) {
    return TC_MIN(a, TC_MIN(b, c));
}

/* d[i + 1][j + 1]: the distance of the first i letters of a from the first j of b. Row and column 0 stand for "never". */
typedef int distances[LONGEST + 2][LONGEST + 2];

static void start(distances d, size_t na, size_t nb) {
    int never = (int)(na + nb);
    d[0][0] = never;
    for (size_t i = 0; i <= na; i++) {
        d[i + 1][0] = never;
        d[i + 1][1] = (int)i;
    }
    for (size_t j = 0; j <= nb; j++) {
        d[0][j + 1] = never;
        d[1][j + 1] = (int)j;
    }
}

static void fill(distances d, const char *a, size_t na, const char *b, size_t nb) {
    size_t seen[UCHAR_MAX + 1] = {0}; /* where a letter was last in a, from 1 */
    start(d, na, nb);
    for (size_t i = 1; i <= na; i++) {
        size_t same = 0; /* where this letter of a was last in b, from 1 */
        int x = tolower((unsigned char)a[i - 1]);
        for (size_t j = 1; j <= nb; j++) {
            int y = tolower((unsigned char)b[j - 1]);
            size_t k = seen[y], l = same;
            int exchanged = d[k][l] + (int)(i - k - 1) + 1 + (int)(j - l - 1);
            int replaced = d[i][j] + (x != y);
            if (x == y)
                same = j;
            d[i + 1][j + 1] = TC_MIN(exchanged, least3(replaced, d[i + 1][j] + 1, d[i][j + 1] + 1));
        }
        seen[x] = i;
    }
}

int tc_edit_distance(const char *a, size_t na, const char *b, size_t nb) {
    distances d;
    if (na > LONGEST || nb > LONGEST)
        return INT_MAX;
    fill(d, a, na, b, nb);
    return d[na + 1][nb + 1];
}

/* How far `typed` is from the name, or, with 1 more, from a beginning of it ("bart" of "bert-base"). INT_MAX: it is not close. At
 * most half of the letters may be wrong, and four. */
static int distance_of(const char *typed, size_t n, const char *name) {
    enum { MOST = 4 };
    distances d;
    size_t m = strlen(name);
    if (n == 0 || n > LONGEST || m > LONGEST)
        return INT_MAX;
    fill(d, typed, n, name, m);
    int whole = d[n + 1][m + 1], begin = 2 * LONGEST; /* farther than any */
    for (size_t j = 1; j < m; j++)
        begin = TC_MIN(begin, d[n + 1][j + 1]);
    begin++;
    whole = 2 * whole <= (int)TC_MAX(n, m) && whole <= MOST ? whole : INT_MAX;
    begin = 2 * begin <= (int)n && begin <= MOST ? begin : INT_MAX;
    return TC_MIN(whole, begin);
}

tc_guess tc_guess_new(const char *typed, size_t len) {
    return (tc_guess){.typed = typed, .len = len, .distance = INT_MAX};
}

void tc_guess_add(tc_guess *g, const char *name) {
    int distance = distance_of(g->typed, g->len, name);
    if (g->n < TC_GUESS_FEW)
        g->few[g->n] = name;
    g->n++;
    if (distance < g->distance) {
        g->distance = distance;
        g->nclose = 0;
    }
    if (distance == g->distance && distance < INT_MAX && g->nclose < TC_GUESS_CLOSE)
        g->close[g->nclose++] = name;
}

void tc_sb_add_names(tc_strbuf *b, const char *const *names, size_t n, const char *before, const char *word) {
    for (size_t i = 0; i < n; i++) {
        if (i)
            tc_sb_printf(b, i + 1 < n ? ", " : " %s ", word);
        tc_sb_printf(b, "%s%s", before, names[i]);
    }
}

const char *tc_guess_say(const tc_guess *g, const char *before, const char *hint, char text[TC_GUESS_TEXT]) {
    tc_strbuf b = {0};
    if (g->nclose) {
        tc_sb_add(&b, "; did you mean ");
        tc_sb_add_names(&b, g->close, g->nclose, before, "or");
        tc_sb_addc(&b, '?');
    } else if (g->n && g->n <= TC_GUESS_FEW) {
        tc_sb_add(&b, g->n == 1 ? "; there is only " : "; there are ");
        tc_sb_add_names(&b, g->few, g->n, before, "and");
    } else if (hint) {
        tc_sb_printf(&b, "; %s", hint);
    }
    snprintf(text, TC_GUESS_TEXT, "%s", tc_sb_str(&b));
    tc_strbuf_free(&b);
    return text;
}
