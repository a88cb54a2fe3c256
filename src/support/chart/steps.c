/* A quantity over trials or time: a value holds until the next step. */
#include <math.h>

#include "support/chart/draw.h"

enum { PLACES = 8 /* about so many words along the axis */ };

static tc_axis horizontal(const tc_chart_steps *c) {
    return (tc_axis){0, c->end > 0 ? c->end : 1, TC_DRAW_LEFT, TC_DRAW_WIDTH - TC_DRAW_RIGHT};
}

static tc_axis vertical(const tc_chart_steps *c) {
    double least = INFINITY, most = 0;
    for (int i = 0; i < c->n; i++) {
        least = fmin(least, c->steps[i].value);
        most = fmax(most, c->steps[i].value);
    }
    return tc_axis_of_values(least, most);
}

static void draw_places(tc_picture *p, const tc_axis *x, tc_chart_format *place) {
    double step = tc_draw_round(x->most / PLACES);
    for (double i = 0; i * step <= x->most; i++) {
        char text[TC_CHART_TEXT];
        double at = tc_axis_even(x, i * step);
        tc_draw_rule(&p->drawn, at, TC_DRAW_TOP, at, TC_DRAW_HEIGHT - TC_DRAW_BOTTOM);
        tc_draw_text(p, at, TC_DRAW_HEIGHT - TC_DRAW_BOTTOM + 16, TC_DRAW_MIDDLE, "", place(text, i * step));
    }
}

static void draw_steps(tc_strbuf *b, const tc_chart_steps *c, const tc_axis *x, const tc_axis *y) {
    tc_sb_add(b, "<polyline fill=\"none\" stroke=\"" TC_DRAW_LINE "\" stroke-width=\"1.5\" points=\"");
    for (int i = 0; i < c->n; i++) {
        double until = i + 1 < c->n ? c->steps[i + 1].at : c->end, height = tc_axis_log(y, c->steps[i].value);
        tc_sb_printf(b, "%.1f,%.1f %.1f,%.1f ", tc_axis_even(x, c->steps[i].at), height, tc_axis_even(x, until), height);
    }
    tc_sb_add(b, "\"/>\n");
}

static void draw_points(tc_strbuf *b, const tc_chart_steps *c, const tc_axis *x, const tc_axis *y, tc_chart_format *place,
                        tc_chart_format *format) {
    for (int i = 0; i < c->n; i++) {
        char at[TC_CHART_TEXT], value[TC_CHART_TEXT];
        const tc_chart_step *s = &c->steps[i];
        tc_sb_printf(b, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"2.5\" fill=\"" TC_DRAW_LINE "\"><title>%s: %s</title></circle>\n",
                     tc_axis_even(x, s->at), tc_axis_log(y, s->value), place(at, s->at), format(value, s->value));
    }
}

void tc_picture_add_steps(tc_picture *p, const tc_chart_steps *c, tc_chart_format *place, tc_chart_format *format) {
    tc_strbuf *b = tc_draw_begin(p, TC_DRAW_HEIGHT);
    tc_axis x = horizontal(c), y = vertical(c);
    tc_draw_values(p, &y, format);
    draw_places(p, &x, place);
    draw_steps(b, c, &x, &y);
    draw_points(b, c, &x, &y, place, format);
    tc_draw_headings(p, TC_DRAW_LEFT, c->title, c->subtitle);
    tc_draw_text(p, (TC_DRAW_LEFT + TC_DRAW_WIDTH - TC_DRAW_RIGHT) / 2.0, TC_DRAW_HEIGHT - 8, TC_DRAW_MIDDLE, "", c->axis);
    tc_draw_end(p);
}
