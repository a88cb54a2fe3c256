/* What all charts are drawn with. */
#ifndef TC_SUPPORT_CHART_DRAW_H
#define TC_SUPPORT_CHART_DRAW_H

#include "support/chart/chart.h"

/* In pixels; TOP and BOTTOM of a chart that has axes. */
enum {
    TC_DRAW_WIDTH = 760,
    TC_DRAW_MARGIN = 12,
    TC_DRAW_HEIGHT = 360,
    TC_DRAW_LEFT = 80,
    TC_DRAW_RIGHT = 24,
    TC_DRAW_TOP = 48,
    TC_DRAW_BOTTOM = 44
};

#define TC_DRAW_LINE "#2171b5"
#define TC_DRAW_AREA "#c6dbef"
#define TC_DRAW_OTHER "#fdae6b"

/* From `least` at pixel `from` to `most` at pixel `to`: by the logarithm, or evenly. */
typedef struct tc_axis {
    double least, most, from, to;
} tc_axis;
double tc_axis_log(const tc_axis *a, double v);
double tc_axis_even(const tc_axis *a, double v);
/* The vertical axis of a chart whose quantity lies within these. */
tc_axis tc_axis_of_values(double least, double most);

/* A group of the picture that is so high; what is drawn until its end has its upper left corner at 0. */
tc_strbuf *tc_draw_begin(tc_picture *p, int height);
void tc_draw_end(tc_picture *p);

/* What of a text is at x. */
typedef enum tc_draw_anchor { TC_DRAW_START, TC_DRAW_MIDDLE, TC_DRAW_END } tc_draw_anchor;

/* `how`: further attributes, or "". The text may hold anything; the picture becomes as wide as it needs. */
void tc_draw_text(tc_picture *p, double x, double y, tc_draw_anchor anchor, const char *how, const char *text);
/* The pixels that it takes. */
double tc_draw_width(const char *text);
void tc_draw_escaped(tc_strbuf *b, const char *text);
void tc_draw_rule(tc_strbuf *b, double x1, double y1, double x2, double y2);
void tc_draw_headings(tc_picture *p, double x, const char *title, const char *subtitle);
/* The least of 1, 2 and 5 times a power of ten that is at least v, which is above 0. */
double tc_draw_round(double v);
/* Rules and words of a vertical axis, at round values. */
void tc_draw_values(tc_picture *p, const tc_axis *y, tc_chart_format *format);

#endif
