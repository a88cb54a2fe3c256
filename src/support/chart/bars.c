/* Amounts of named things: a bar each, the longest as long as there is room. */
#include <math.h>
#include <stdbool.h>

#include "support/chart/draw.h"
#include "support/say.h"

enum { ROW = 20, THICK = 14, ROOM = 300 /* pixels of the longest bar */, NAME = 72 /* characters */, NAME_END = 28 };

/* The first byte of the character that has n characters before it, or the end. */
static const char *character(const char *text, int n) {
    for (; *text; text++)
        if (((unsigned char)*text & 0xC0) != 0x80 && n-- == 0)
            break;
    return text;
}

static int characters(const char *text) {
    int n = 0;
    for (; *text; text++)
        n += ((unsigned char)*text & 0xC0) != 0x80;
    return n;
}

/* A long name keeps its beginning and its end, which has the sizes. */
static const char *shortened(tc_arena *a, const char *name) {
    tc_strbuf plain = {0};
    tc_sb_say(&plain, "%s", name);
    name = tc_sb_keep(&plain, a);
    int n = characters(name);
    if (n <= NAME)
        return name;
    int kept = (int)(character(name, NAME - NAME_END - 1) - name);
    return tc_arena_printf(a, "%.*s\xe2\x80\xa6%s", kept, name, character(name, n - NAME_END));
}

static void draw_name(tc_picture *p, tc_arena *a, double x, double y, const char *name) {
    tc_sb_add(&p->drawn, "<g><title>");
    tc_draw_escaped(&p->drawn, name);
    tc_sb_add(&p->drawn, "</title>");
    tc_draw_text(p, x, y, TC_DRAW_END, "", shortened(a, name));
    tc_sb_add(&p->drawn, "</g>\n");
}

static void draw_bar(tc_strbuf *b, double from, double to, double y, const char *colour) {
    if (to > from)
        tc_sb_printf(b, "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%d\" fill=\"%s\"/>\n", from, y, to - from, THICK,
                     colour);
}

void tc_picture_add_bars(tc_picture *p, const tc_chart_bars *c) {
    tc_arena *a = tc_arena_new();
    tc_strbuf *b = tc_draw_begin(p, TC_DRAW_TOP + c->n * ROW + ROW);
    double most = 0, from = TC_DRAW_LEFT;
    for (int i = 0; i < c->n; i++) {
        most = fmax(most, c->bars[i].amount);
        from = fmax(from, TC_DRAW_MARGIN + tc_draw_width(shortened(a, c->bars[i].name)));
    }
    tc_draw_headings(p, TC_DRAW_MARGIN, c->title, c->subtitle);
    for (int i = 0; i < c->n; i++) {
        const tc_chart_bar *r = &c->bars[i];
        double y = TC_DRAW_TOP + i * ROW, scale = most > 0 ? ROOM / most : 0, start = from + 6;
        double whole = start + r->amount * scale, rest = start + (r->amount - fmin(r->part, r->amount)) * scale;
        draw_name(p, a, from, y + THICK - 3, r->name);
        draw_bar(b, start, rest, y, TC_DRAW_LINE);
        draw_bar(b, rest, whole, y, TC_DRAW_OTHER);
        tc_draw_text(p, whole + 6, y + THICK - 3, TC_DRAW_START, "fill=\"#555\"", r->says);
    }
    tc_draw_end(p);
    tc_arena_free(a);
}
