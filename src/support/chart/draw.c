/* What draw.h describes, and pictures as wholes. */
#include "support/chart/draw.h"

#include <math.h>

#include "support/vec.h"

/* An axis that spans less than FEW times its least value has about RULES evenly spaced rules: 1, 2 and 5 of each decade would leave one. */
enum { FEW = 5, RULES = 5 };

double tc_axis_log(const tc_axis *a, double v) {
    return a->from + (a->to - a->from) * log(v / a->least) / log(a->most / a->least);
}

double tc_axis_even(const tc_axis *a, double v) {
    return a->from + (a->to - a->from) * (v - a->least) / (a->most - a->least);
}

tc_axis tc_axis_of_values(double least, double most) {
    return (tc_axis){least / 1.1, most * 1.1, TC_DRAW_HEIGHT - TC_DRAW_BOTTOM, TC_DRAW_TOP};
}

tc_strbuf *tc_draw_begin(tc_picture *p, int height) {
    tc_sb_printf(&p->drawn, "<g transform=\"translate(0 %d)\">\n", p->height);
    p->height += height;
    return &p->drawn;
}

void tc_draw_end(tc_picture *p) {
    tc_sb_add(&p->drawn, "</g>\n");
}

void tc_draw_escaped(tc_strbuf *b, const char *s) {
    for (; *s; s++)
        if (*s == '<' || *s == '&')
            tc_sb_add(b, *s == '<' ? "&lt;" : "&amp;");
        else if ((unsigned char)*s >= ' ')
            tc_sb_addc(b, *s);
}

void tc_draw_text(tc_strbuf *b, double x, double y, const char *how, const char *text) {
    tc_sb_printf(b, "<text x=\"%.1f\" y=\"%.1f\" %s>", x, y, how);
    tc_draw_escaped(b, text);
    tc_sb_add(b, "</text>\n");
}

void tc_draw_rule(tc_strbuf *b, double x1, double y1, double x2, double y2) {
    tc_sb_printf(b, "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" stroke=\"#ddd\"/>\n", x1, y1, x2, y2);
}

void tc_draw_headings(tc_strbuf *b, const char *title, const char *subtitle) {
    tc_draw_text(b, TC_DRAW_LEFT, 20, "font-size=\"13\" font-weight=\"bold\"", title);
    tc_draw_text(b, TC_DRAW_LEFT, 36, "fill=\"#555\"", subtitle);
}

static void draw_value(tc_strbuf *b, const tc_axis *y, double v, tc_chart_format *format) {
    char text[TC_CHART_TEXT];
    if (v < y->least || v > y->most)
        return;
    tc_draw_rule(b, TC_DRAW_LEFT, tc_axis_log(y, v), TC_DRAW_WIDTH - TC_DRAW_RIGHT, tc_axis_log(y, v));
    tc_draw_text(b, TC_DRAW_LEFT - 6, tc_axis_log(y, v) + 4, "text-anchor=\"end\"", format(text, v));
}

double tc_draw_round(double v) {
    static const double steps[] = {1, 2, 5, 10};
    double decade = pow(10, floor(log10(v)));
    size_t i = 0;
    while (i + 1 < TC_LEN(steps) && steps[i] * decade < v)
        i++;
    return steps[i] * decade;
}

void tc_draw_values(tc_strbuf *b, const tc_axis *y, tc_chart_format *format) {
    static const double steps[] = {1, 2, 5};
    if (y->most < FEW * y->least) {
        double step = tc_draw_round((y->most - y->least) / RULES);
        for (double i = ceil(y->least / step); i * step <= y->most; i++)
            draw_value(b, y, i * step, format);
        return;
    }
    for (int decade = (int)floor(log10(y->least)); pow(10, decade) <= y->most; decade++)
        for (size_t i = 0; i < TC_LEN(steps); i++)
            draw_value(b, y, steps[i] * pow(10, decade), format);
}

void tc_picture_end(tc_picture *p, tc_strbuf *out) {
    tc_sb_printf(out,
                 "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" font-family=\"sans-serif\" "
                 "font-size=\"11\">\n<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n",
                 TC_DRAW_WIDTH, p->height);
    tc_sb_addn(out, tc_sb_str(&p->drawn), p->drawn.len);
    tc_sb_add(out, "</svg>\n");
    tc_strbuf_free(&p->drawn);
    *p = (tc_picture){0};
}
