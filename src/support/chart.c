/* What chart.h describes. */
#include "support/chart.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>

#include "support/vec.h"

enum { WIDTH = 760, HEIGHT = 360, LEFT = 80, RIGHT = 24, TOP = 48, BOTTOM = 44 };

/* From `least` at pixel `from` to `most` at pixel `to`. */
typedef struct axis {
    double least, most, from, to;
} axis;

static double place(const axis *a, double v) {
    return a->from + (a->to - a->from) * log(v / a->least) / log(a->most / a->least);
}

static double abscissa(const tc_chart_point *p) {
    return p->at > 0 ? (double)p->at : 0.5;
}

static axis axis_of(double least, double most, double from, double to) {
    return (axis){least, most > least ? most : 2 * least, from, to};
}

static axis horizontal(const tc_chart *c) {
    return axis_of(abscissa(c->points), abscissa(c->points + c->n - 1), LEFT, WIDTH - RIGHT);
}

static axis vertical(const tc_chart *c) {
    double least = INFINITY, most = 0;
    for (int i = 0; i < c->n; i++) {
        least = fmin(least, c->points[i].least);
        most = fmax(most, c->points[i].most);
    }
    return axis_of(least / 1.1, most * 1.1, HEIGHT - BOTTOM, TOP);
}

static void add_text(tc_strbuf *b, const char *s) {
    for (; *s; s++)
        if (*s == '<' || *s == '&')
            tc_sb_add(b, *s == '<' ? "&lt;" : "&amp;");
        else if ((unsigned char)*s >= ' ')
            tc_sb_addc(b, *s);
}

static void label(tc_strbuf *b, double x, double y, const char *how, const char *text) {
    tc_sb_printf(b, "<text x=\"%.1f\" y=\"%.1f\" %s>", x, y, how);
    add_text(b, text);
    tc_sb_add(b, "</text>\n");
}

static void line(tc_strbuf *b, double x1, double y1, double x2, double y2) {
    tc_sb_printf(b, "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" stroke=\"#ddd\"/>\n", x1, y1, x2, y2);
}

/* At 1, 2 and 5 of each decade. */
static void draw_values(tc_strbuf *b, const axis *y, tc_chart_format *format) {
    static const double steps[] = {1, 2, 5};
    for (int decade = (int)floor(log10(y->least)); pow(10, decade) <= y->most; decade++)
        for (size_t i = 0; i < TC_LEN(steps); i++) {
            double v = steps[i] * pow(10, decade);
            char text[TC_CHART_TEXT];
            if (v < y->least || v > y->most)
                continue;
            line(b, LEFT, place(y, v), WIDTH - RIGHT, place(y, v));
            label(b, LEFT - 6, place(y, v) + 4, "text-anchor=\"end\"", format(text, v));
        }
}

/* At powers of two, and where the curve begins and ends. */
static void draw_sizes(tc_strbuf *b, const tc_chart *c, const axis *x) {
    double last = place(x, abscissa(&c->points[c->n - 1]));
    for (int i = 0; i < c->n; i++) {
        int64_t n = c->points[i].at;
        double at = place(x, abscissa(&c->points[i]));
        bool end = i == 0 || i == c->n - 1;
        char text[TC_CHART_TEXT];
        if (!end && ((n & (n - 1)) != 0 || last - at < 24))
            continue;
        snprintf(text, sizeof text, "%lld", (long long)n);
        line(b, at, TOP, at, HEIGHT - BOTTOM);
        label(b, at, HEIGHT - BOTTOM + 16, "text-anchor=\"middle\"", text);
    }
}

/* From the least to the most of each point, and back. */
static void draw_spread(tc_strbuf *b, const tc_chart *c, const axis *x, const axis *y) {
    tc_sb_add(b, "<polygon fill=\"#c6dbef\" points=\"");
    for (int i = 0; i < c->n; i++)
        tc_sb_printf(b, "%.1f,%.1f ", place(x, abscissa(&c->points[i])), place(y, c->points[i].least));
    for (int i = c->n; i-- > 0;)
        tc_sb_printf(b, "%.1f,%.1f ", place(x, abscissa(&c->points[i])), place(y, c->points[i].most));
    tc_sb_add(b, "\"/>\n");
}

static void draw_middle(tc_strbuf *b, const tc_chart *c, const axis *x, const axis *y) {
    tc_sb_add(b, "<polyline fill=\"none\" stroke=\"#2171b5\" stroke-width=\"1.5\" points=\"");
    for (int i = 0; i < c->n; i++)
        tc_sb_printf(b, "%.1f,%.1f ", place(x, abscissa(&c->points[i])), place(y, c->points[i].middle));
    tc_sb_add(b, "\"/>\n");
    for (int i = 0; i < c->n; i++) {
        const tc_chart_point *p = &c->points[i];
        tc_sb_printf(b, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"2.5\" fill=\"#2171b5\"><title>", place(x, abscissa(p)),
                     place(y, p->middle));
        add_text(b, p->says);
        tc_sb_add(b, "</title></circle>\n");
    }
}

static void draw(tc_strbuf *b, const tc_chart *c, tc_chart_format *format) {
    axis x = horizontal(c), y = vertical(c);
    draw_values(b, &y, format);
    draw_sizes(b, c, &x);
    draw_spread(b, c, &x, &y);
    draw_middle(b, c, &x, &y);
    label(b, LEFT, 20, "font-size=\"13\" font-weight=\"bold\"", c->title);
    label(b, LEFT, 36, "fill=\"#555\"", c->subtitle);
    label(b, (LEFT + WIDTH - RIGHT) / 2.0, HEIGHT - 8, "text-anchor=\"middle\"", c->axis);
}

void tc_chart_svg(const tc_chart *charts, int n, tc_chart_format *format, tc_strbuf *out) {
    tc_sb_printf(out,
                 "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" font-family=\"sans-serif\" "
                 "font-size=\"11\">\n<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n",
                 WIDTH, n * HEIGHT);
    for (int i = 0; i < n; i++) {
        tc_sb_printf(out, "<g transform=\"translate(0 %d)\">\n", HEIGHT * i);
        draw(out, &charts[i], format);
        tc_sb_add(out, "</g>\n");
    }
    tc_sb_add(out, "</svg>\n");
}
