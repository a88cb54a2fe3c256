/* A quantity with its spread over a size: a band from the least to the most, and a line with points at the middle. */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>

#include "support/chart/draw.h"

static double abscissa(const tc_chart_point *p) {
    return p->at > 0 ? (double)p->at : 0.5;
}

static tc_axis horizontal(const tc_chart_spread *c) {
    double least = abscissa(c->points), most = abscissa(c->points + c->n - 1);
    return (tc_axis){least, most > least ? most : 2 * least, TC_DRAW_LEFT, TC_DRAW_WIDTH - TC_DRAW_RIGHT};
}

static tc_axis vertical(const tc_chart_spread *c) {
    double least = INFINITY, most = 0;
    for (int i = 0; i < c->n; i++) {
        least = fmin(least, c->points[i].least);
        most = fmax(most, c->points[i].most);
    }
    return tc_axis_of_values(least, most);
}

/* At powers of two, and where the curve begins and ends. */
static void draw_sizes(tc_picture *p, const tc_chart_spread *c, const tc_axis *x) {
    double last = tc_axis_log(x, abscissa(&c->points[c->n - 1]));
    for (int i = 0; i < c->n; i++) {
        int64_t n = c->points[i].at;
        double at = tc_axis_log(x, abscissa(&c->points[i]));
        bool end = i == 0 || i == c->n - 1;
        char text[TC_CHART_TEXT];
        if (!end && ((n & (n - 1)) != 0 || last - at < 24))
            continue;
        snprintf(text, sizeof text, "%lld", (long long)n);
        tc_draw_rule(&p->drawn, at, TC_DRAW_TOP, at, TC_DRAW_HEIGHT - TC_DRAW_BOTTOM);
        tc_draw_text(p, at, TC_DRAW_HEIGHT - TC_DRAW_BOTTOM + 16, TC_DRAW_MIDDLE, "", text);
    }
}

/* From the least to the most of each point, and back. */
static void draw_spread(tc_strbuf *b, const tc_chart_spread *c, const tc_axis *x, const tc_axis *y) {
    tc_sb_add(b, "<polygon fill=\"" TC_DRAW_AREA "\" points=\"");
    for (int i = 0; i < c->n; i++)
        tc_sb_printf(b, "%.1f,%.1f ", tc_axis_log(x, abscissa(&c->points[i])), tc_axis_log(y, c->points[i].least));
    for (int i = c->n; i-- > 0;)
        tc_sb_printf(b, "%.1f,%.1f ", tc_axis_log(x, abscissa(&c->points[i])), tc_axis_log(y, c->points[i].most));
    tc_sb_add(b, "\"/>\n");
}

static void draw_middle(tc_strbuf *b, const tc_chart_spread *c, const tc_axis *x, const tc_axis *y) {
    tc_sb_add(b, "<polyline fill=\"none\" stroke=\"" TC_DRAW_LINE "\" stroke-width=\"1.5\" points=\"");
    for (int i = 0; i < c->n; i++)
        tc_sb_printf(b, "%.1f,%.1f ", tc_axis_log(x, abscissa(&c->points[i])), tc_axis_log(y, c->points[i].middle));
    tc_sb_add(b, "\"/>\n");
    for (int i = 0; i < c->n; i++) {
        const tc_chart_point *p = &c->points[i];
        tc_sb_printf(b, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"2.5\" fill=\"" TC_DRAW_LINE "\"><title>",
                     tc_axis_log(x, abscissa(p)), tc_axis_log(y, p->middle));
        tc_draw_escaped(b, p->says);
        tc_sb_add(b, "</title></circle>\n");
    }
}

void tc_picture_add_spread(tc_picture *p, const tc_chart_spread *c, tc_chart_format *format) {
    tc_strbuf *b = tc_draw_begin(p, TC_DRAW_HEIGHT);
    tc_axis x = horizontal(c), y = vertical(c);
    tc_draw_values(p, &y, format);
    draw_sizes(p, c, &x);
    draw_spread(b, c, &x, &y);
    draw_middle(b, c, &x, &y);
    tc_draw_headings(p, TC_DRAW_LEFT, c->title, c->subtitle);
    tc_draw_text(p, (TC_DRAW_LEFT + TC_DRAW_WIDTH - TC_DRAW_RIGHT) / 2.0, TC_DRAW_HEIGHT - 8, TC_DRAW_MIDDLE, "", c->axis);
    tc_draw_end(p);
}
