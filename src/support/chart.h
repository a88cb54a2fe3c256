/* Charts as SVG: a quantity with its spread over a size, both axes by the logarithm. */
#ifndef TC_SUPPORT_CHART_H
#define TC_SUPPORT_CHART_H

#include <stdint.h>

#include "support/strbuf.h"

typedef struct tc_chart_point {
    int64_t at;                 /* not negative; 0 stands an octave before 1 */
    double least, middle, most; /* above 0 */
    const char *says;           /* where it is pointed at */
} tc_chart_point;

typedef struct tc_chart {
    const char *title, *subtitle, *axis; /* axis: what the size is called */
    int n;                               /* at least 1 */
    const tc_chart_point *points;        /* in ascending order */
} tc_chart;

/* A number of the quantity in words, in `text`. */
enum { TC_CHART_TEXT = 24 };
typedef char *tc_chart_format(char text[TC_CHART_TEXT], double v);

/* Adds a picture of n charts, one below the other. */
void tc_chart_svg(const tc_chart *charts, int n, tc_chart_format *format, tc_strbuf *out);

#endif
