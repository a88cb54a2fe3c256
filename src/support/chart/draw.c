/* What draw.h describes, and pictures as wholes. */
#include "support/chart/draw.h"

#include <math.h>

#include "support/say.h"
#include "support/vec.h"

/* An axis that spans less than FEW times its least value has about RULES evenly spaced rules: 1, 2 and 5 of each decade would
 * leave one. */
enum { FEW = 5, RULES = 5 };

enum { FONT = 11 /* pixels */, TITLE_FONT = 13 };
/* The width of a character by the size of the font, at most: 0.6 in Courier and Liberation Mono, 0.602 in DejaVu Sans Mono. */
static const double advance = 0.605;

double tc_axis_log(const tc_axis *a, double v) {
    return a->from + (a->to - a->from) * log(v / a->least) / log(a->most / a->least);
}

double tc_axis_even(const tc_axis *a, double v) {
    return a->from + (a->to - a->from) * (v - a->least) / (a->most - a->least);
}

tc_axis tc_axis_of_values(double least, double most) {
    double room = fmin(1.1, fmax(1.01, pow(most / least, 0.15)));
    return (tc_axis){least / room, most * room, TC_DRAW_HEIGHT - TC_DRAW_BOTTOM, TC_DRAW_TOP};
}

tc_strbuf *tc_draw_begin(tc_picture *p, int height) {
    tc_sb_printf(&p->drawn, "<g transform=\"translate(0 %d)\">\n", p->height);
    p->height += height;
    return &p->drawn;
}

void tc_draw_end(tc_picture *p) {
    tc_sb_add(&p->drawn, "</g>\n");
}

void tc_draw_escaped(tc_strbuf *b, const char *text) {
    tc_strbuf plain = {0}; /* XML has no control characters */
    tc_sb_say(&plain, "%s", text);
    for (const char *s = tc_sb_str(&plain); *s; s++)
        if (*s == '<' || *s == '&' || *s == '>')
            tc_sb_add(b, *s == '<' ? "&lt;" : *s == '&' ? "&amp;" : "&gt;");
        else
            tc_sb_addc(b, *s);
    tc_strbuf_free(&plain);
}

/* Characters of text; those from U+1100 on may be twice as wide as others. */
static double columns(const char *text) {
    int n = 0;
    for (const unsigned char *c = (const unsigned char *)text; *c; c++)
        n += (*c & 0xC0) != 0x80 ? 1 + (*c > 0xE1 || (*c == 0xE1 && c[1] >= 0x84)) : 0;
    return n;
}

double tc_draw_width(const char *text) {
    return columns(text) * FONT * advance;
}

static void reach(tc_picture *p, double left, double right) {
    p->left = fmin(p->left, left - TC_DRAW_MARGIN);
    p->right = fmax(p->right, right + TC_DRAW_MARGIN);
}

static void draw_text(tc_picture *p, double x, double y, tc_draw_anchor anchor, const char *how, const char *text, int font) {
    static const char *const anchors[] = {"start", "middle", "end"};
    tc_strbuf plain = {0};
    tc_sb_say(&plain, "%s", text);
    double width = columns(tc_sb_str(&plain)) * font * advance, before = width * anchor / TC_DRAW_END;
    reach(p, x - before, x - before + width);
    tc_sb_printf(&p->drawn, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\" %s>", x, y, anchors[anchor], how);
    tc_draw_escaped(&p->drawn, tc_sb_str(&plain));
    tc_sb_add(&p->drawn, "</text>\n");
    tc_strbuf_free(&plain);
}

void tc_draw_text(tc_picture *p, double x, double y, tc_draw_anchor anchor, const char *how, const char *text) {
    draw_text(p, x, y, anchor, how, text, FONT);
}

void tc_draw_rule(tc_strbuf *b, double x1, double y1, double x2, double y2) {
    tc_sb_printf(b, "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" stroke=\"#ddd\"/>\n", x1, y1, x2, y2);
}

void tc_draw_headings(tc_picture *p, double x, const char *title, const char *subtitle) {
    draw_text(p, x, 20, TC_DRAW_START, "font-size=\"13\" font-weight=\"bold\"", title, TITLE_FONT);
    tc_draw_text(p, x, 36, TC_DRAW_START, "fill=\"#555\"", subtitle);
}

static void draw_value(tc_picture *p, const tc_axis *y, double v, tc_chart_format *format) {
    char text[TC_CHART_TEXT];
    if (v < y->least || v > y->most)
        return;
    tc_draw_rule(&p->drawn, TC_DRAW_LEFT, tc_axis_log(y, v), TC_DRAW_WIDTH - TC_DRAW_RIGHT, tc_axis_log(y, v));
    tc_draw_text(p, TC_DRAW_LEFT - 6, tc_axis_log(y, v) + 4, TC_DRAW_END, "", format(text, v));
}

double tc_draw_round(double v) {
    static const double steps[] = {1, 2, 5, 10};
    double decade = pow(10, floor(log10(v)));
    size_t i = 0;
    while (i + 1 < TC_LEN(steps) && steps[i] * decade < v)
        i++;
    return steps[i] * decade;
}

void tc_draw_values(tc_picture *p, const tc_axis *y, tc_chart_format *format) {
    static const double steps[] = {1, 2, 5};
    reach(p, 0, TC_DRAW_WIDTH - TC_DRAW_RIGHT);
    if (y->most < FEW * y->least) {
        double step = tc_draw_round((y->most - y->least) / RULES);
        for (double i = ceil(y->least / step); i * step <= y->most; i++)
            draw_value(p, y, i * step, format);
        return;
    }
    for (int decade = (int)floor(log10(y->least)); pow(10, decade) <= y->most; decade++)
        for (size_t i = 0; i < TC_LEN(steps); i++)
            draw_value(p, y, steps[i] * pow(10, decade), format);
}

void tc_picture_end(tc_picture *p, tc_strbuf *out) {
    tc_sb_printf(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%d\" font-family=\"monospace\" "
        "font-size=\"%d\">\n<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n<g transform=\"translate(%.1f 0)\">\n",
        ceil(p->right - p->left), p->height, FONT, -p->left);
    tc_sb_addn(out, tc_sb_str(&p->drawn), p->drawn.len);
    tc_sb_add(out, "</g>\n</svg>\n");
    tc_strbuf_free(&p->drawn);
    *p = (tc_picture){0};
}
