/* Amounts of named things: a bar each, the longest as long as there is room. */
#include <math.h>
#include <stdbool.h>

#include "support/chart/draw.h"

enum {
    ROW = 20,
    THICK = 14,
    NAMES = 280 /* pixels for names */,
    WORDS = 170 /* behind the longest bar */,
    NAME = 46 /* characters */
};

/* Long names keep their beginning. Characters of several bytes are not cut apart. */
static void draw_name(tc_strbuf *b, double y, const char *name) {
    tc_strbuf shown = {0};
    int n = 0;
    for (const char *c = name; *c; c++) {
        bool begins = ((unsigned char)*c & 0xC0) != 0x80;
        if (begins && n == NAME) {
            tc_sb_add(&shown, "\xe2\x80\xa6"); /* ... */
            break;
        }
        n += begins;
        tc_sb_addc(&shown, *c);
    }
    tc_draw_text(b, NAMES - 6, y, "text-anchor=\"end\"", tc_sb_str(&shown));
    tc_strbuf_free(&shown);
}

static void draw_bar(tc_strbuf *b, double from, double to, double y, const char *colour) {
    if (to > from)
        tc_sb_printf(b, "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%d\" fill=\"%s\"/>\n", from, y, to - from, THICK,
                     colour);
}

void tc_picture_add_bars(tc_picture *p, const tc_chart_bars *c) {
    int height = TC_DRAW_TOP + c->n * ROW + ROW;
    tc_strbuf *b = tc_draw_begin(p, height);
    double most = 0, room = TC_DRAW_WIDTH - NAMES - WORDS;
    for (int i = 0; i < c->n; i++)
        most = fmax(most, c->bars[i].amount);
    tc_draw_headings(b, c->title, c->subtitle);
    for (int i = 0; i < c->n; i++) {
        const tc_chart_bar *r = &c->bars[i];
        double y = TC_DRAW_TOP + i * ROW, scale = most > 0 ? room / most : 0;
        double whole = NAMES + r->amount * scale, rest = NAMES + (r->amount - fmin(r->part, r->amount)) * scale;
        draw_name(b, y + THICK - 3, r->name);
        draw_bar(b, NAMES, rest, y, TC_DRAW_LINE);
        draw_bar(b, rest, whole, y, TC_DRAW_OTHER);
        tc_draw_text(b, whole + 6, y + THICK - 3, "fill=\"#555\"", r->says);
    }
    tc_draw_end(p);
}
