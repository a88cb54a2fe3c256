/* src/support/chart owns charts as SVG: one or more in a picture, one below the other. Not here: what a chart is about
 * (src/cli/picture).
 *
 * A picture is as wide as its texts need: they are set in a monospaced font, in which the width of a text follows from its
 * characters, whatever font a viewer has. */
#ifndef TC_SUPPORT_CHART_CHART_H
#define TC_SUPPORT_CHART_CHART_H

#include <stdint.h>

#include "support/strbuf.h"

/* A number in words, in `text`. */
enum { TC_CHART_TEXT = 24 };
typedef char *tc_chart_format(char text[TC_CHART_TEXT], double v);

/* A picture that is being made: charts are added at its lower end. Zeroed at first. */
typedef struct tc_picture {
    tc_strbuf drawn;
    int height;
    double left, right; /* how far it reaches: as far as its texts do, and the axes */
} tc_picture;
/* Adds the whole of it to `out`, and frees it. */
void tc_picture_end(tc_picture *p, tc_strbuf *out);

/* ---- a quantity with its spread over a size, both axes by the logarithm (spread.c) ---- */

typedef struct tc_chart_point {
    int64_t at;                 /* not negative; 0 stands an octave before 1 */
    double least, middle, most; /* above 0 */
    const char *says;           /* where it is pointed at */
} tc_chart_point;

typedef struct tc_chart_spread {
    const char *title, *subtitle, *axis; /* axis: what the size is called */
    int n;                               /* at least 1 */
    const tc_chart_point *points;        /* in ascending order */
} tc_chart_spread;

void tc_picture_add_spread(tc_picture *p, const tc_chart_spread *c, tc_chart_format *format);

/* ---- a quantity that stays as it is until it changes, by the logarithm, over what goes on evenly (steps.c) ---- */

typedef struct tc_chart_step {
    double at;    /* ascending, from 0 on */
    double value; /* from here on; above 0 */
} tc_chart_step;

typedef struct tc_chart_steps {
    const char *title, *subtitle, *axis;
    double end; /* of the axis: the last value holds until there; at least the last step's place */
    int n;      /* at least 1 */
    const tc_chart_step *steps;
} tc_chart_steps;

/* `place` says places of the axis in words, `format` the quantity. */
void tc_picture_add_steps(tc_picture *p, const tc_chart_steps *c, tc_chart_format *place, tc_chart_format *format);

/* ---- amounts of named things (bars.c) ---- */

typedef struct tc_chart_bar {
    const char *name;
    double amount, part; /* not negative; of the amount the part that is drawn in another colour */
    const char *says;    /* behind the bar */
} tc_chart_bar;

typedef struct tc_chart_bars {
    const char *title, *subtitle;
    int n; /* 0 is fine */
    const tc_chart_bar *bars;
} tc_chart_bars;

void tc_picture_add_bars(tc_picture *p, const tc_chart_bars *c);

#endif
