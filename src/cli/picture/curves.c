/* Draws the latency of a network whose sizes vary: one chart for each size. */
#include "cli/picture/picture.h"

static double seconds_of(const json_t *point, const char *key) {
    return tc_cli_real(point, key) / 1e3;
}

/* "tiny.so over past, sequence = 2". After "over past" the title lists the other sizes of the first point; they are fixed unless
 * they depend on this size. */
static const char *title(tc_arena *a, const json_t *j, const json_t *curve) {
    const json_t *curves = json_object_get(j, "curves"), *first = json_array_get(json_object_get(curve, "points"), 0);
    const char *text = tc_arena_printf(a, "%s over %s", tc_cli_text(j, "name"), tc_cli_text(curve, "over"));
    for (size_t k = 0; k < json_array_size(curves); k++) {
        const char *name = tc_cli_text(json_array_get(curves, k), "over");
        if (json_array_get(curves, k) != curve)
            text = tc_arena_printf(a, "%s, %s = %lld", text, name, tc_cli_number(json_object_get(first, "sizes"), name));
    }
    return text;
}

/* "batch=1 sequence=17: 1.23 ms" */
static const char *says(tc_arena *a, const json_t *point) {
    const char *text = "", *name;
    json_t *value;
    char median[TC_CHART_TEXT];
    json_object_foreach(json_object_get(point, "sizes"), name, value) text =
        tc_arena_printf(a, "%s%s%s=%lld", text, *text ? " " : "", name, (long long)json_integer_value(value));
    return tc_arena_printf(a, "%s: %s", text, tc_text_time(median, seconds_of(point, "median_ms")));
}

static tc_chart_spread chart_of(tc_arena *a, const json_t *j, const json_t *curve) {
    const json_t *of = json_object_get(curve, "points");
    const char *over = tc_cli_text(curve, "over");
    int n = (int)json_array_size(of);
    tc_chart_point *points = TC_NEW_N(a, tc_chart_point, n);
    for (int i = 0; i < n; i++) {
        const json_t *p = json_array_get(of, (size_t)i);
        points[i] = (tc_chart_point){tc_cli_number(json_object_get(p, "sizes"), over), seconds_of(p, "min_ms"),
                                     seconds_of(p, "median_ms"), seconds_of(p, "max_ms"), says(a, p)};
    }
    return (tc_chart_spread){
        .title = title(a, j, curve),
        .subtitle =
            tc_arena_printf(a, "medians of at most %lld runs, in light blue from the shortest to the longest run; %lld threads",
                            tc_cli_number(j, "repeats"), tc_cli_number(j, "threads")),
        .axis = over,
        .n = n,
        .points = points};
}

int tc_cli_plot_curves(const json_t *j, const char *file, tc_error *err) {
    const json_t *curves = json_object_get(j, "curves");
    tc_arena *a = tc_arena_new();
    tc_picture p = {0};
    for (size_t i = 0; i < json_array_size(curves); i++)
        if (json_array_size(json_object_get(json_array_get(curves, i), "points"))) {
            tc_chart_spread c = chart_of(a, j, json_array_get(curves, i));
            tc_picture_add_spread(&p, &c, tc_text_time);
        }
    int status = tc_cli_picture_write(&p, file, err);
    tc_arena_free(a);
    return status;
}
