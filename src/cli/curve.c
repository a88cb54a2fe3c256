/* The latency of a network whose sizes vary, over the range of each, as tables and as a picture: a document of tctune_bench_range. */
#include <math.h>
#include <string.h>

#include "cli/print.h"
#include "support/chart.h"
#include "support/system/fs.h"

enum { BAR = 40 };

static double seconds_of(const json_t *point, const char *key) {
    return tc_cli_real(point, key) / 1e3;
}

/* ---- tables ---- */

static const char *bar(tc_arena *a, double share) {
    char text[BAR + 1];
    int n = TC_MAX(1, (int)lround(share * BAR));
    memset(text, '#', (size_t)n);
    return tc_arena_strndup(a, text, (size_t)n);
}

/* A column for each size, as a point has them, and those of the times. */
static tc_cli_table new_table(tc_arena *a, json_t *sizes) {
    static const char *const rest[] = {">median", ">least", ">most", ""};
    const char **head = TC_NEW_N(a, const char *, (int)(json_object_size(sizes) + TC_LEN(rest))), *name;
    int n = 0;
    json_t *value;
    json_object_foreach(sizes, name, value) head[n++] = tc_arena_printf(a, ">%s", name);
    for (size_t i = 0; i < TC_LEN(rest); i++)
        head[n++] = rest[i];
    return tc_cli_table_new(n, head);
}

static void print_curve(tc_arena *a, const json_t *points) {
    tc_cli_table t = new_table(a, json_object_get(json_array_get(points, 0), "sizes"));
    double slowest = 0;
    for (size_t i = 0; i < json_array_size(points); i++)
        slowest = fmax(slowest, seconds_of(json_array_get(points, i), "median_ms"));
    for (size_t i = 0; i < json_array_size(points); i++) {
        const json_t *p = json_array_get(points, i);
        const char *name;
        json_t *value;
        char median[24], least[24], most[24];
        json_object_foreach(json_object_get(p, "sizes"), name, value)
            tc_cli_cell(&t, "%lld", (long long)json_integer_value(value));
        tc_cli_cell(&t, "%s", tc_text_time(median, seconds_of(p, "median_ms")));
        tc_cli_cell(&t, "%s", tc_text_time(least, seconds_of(p, "min_ms")));
        tc_cli_cell(&t, "%s", tc_text_time(most, seconds_of(p, "max_ms")));
        tc_cli_cell(&t, "%s", bar(a, slowest > 0 ? seconds_of(p, "median_ms") / slowest : 0));
    }
    tc_cli_table_print(&t, stdout);
    tc_cli_table_free(&t);
}

void tc_cli_print_curves(const json_t *j) {
    const json_t *curves = json_object_get(j, "curves");
    tc_arena *a = tc_arena_new();
    for (size_t i = 0; i < json_array_size(curves); i++) {
        const json_t *c = json_array_get(curves, i), *points = json_object_get(c, "points");
        if (json_array_size(points)) {
            printf("%s over %s\n", tc_cli_text(j, "name"), tc_cli_text(c, "over"));
            print_curve(a, points);
            putchar('\n');
        }
    }
    printf("medians of at most %lld runs, %lld threads; --at NAME=SIZE says more of one size\n", tc_cli_number(j, "repeats"),
           tc_cli_number(j, "threads"));
    tc_arena_free(a);
}

/* ---- a picture ---- */

/* "tiny.so over past, sequence = 2": what stays as it is where nothing else depends on the size. */
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

static tc_chart chart_of(tc_arena *a, const json_t *j, const json_t *curve) {
    const json_t *of = json_object_get(curve, "points");
    const char *over = tc_cli_text(curve, "over");
    int n = (int)json_array_size(of);
    tc_chart_point *points = TC_NEW_N(a, tc_chart_point, n);
    for (int i = 0; i < n; i++) {
        const json_t *p = json_array_get(of, (size_t)i);
        points[i] = (tc_chart_point){tc_cli_number(json_object_get(p, "sizes"), over), seconds_of(p, "min_ms"),
                                     seconds_of(p, "median_ms"), seconds_of(p, "max_ms"), says(a, p)};
    }
    return (tc_chart){.title = title(a, j, curve),
                      .subtitle = tc_arena_printf(a, "medians of at most %lld runs, least to most in light blue; %lld threads",
                                                  tc_cli_number(j, "repeats"), tc_cli_number(j, "threads")),
                      .axis = over,
                      .n = n,
                      .points = points};
}

int tc_cli_plot_curves(const json_t *j, const char *file, tc_error *err) {
    const json_t *curves = json_object_get(j, "curves");
    tc_arena *a = tc_arena_new();
    tc_chart *charts = TC_NEW_N(a, tc_chart, (int)json_array_size(curves));
    tc_strbuf b = {0};
    int n = 0;
    for (size_t i = 0; i < json_array_size(curves); i++)
        if (json_array_size(json_object_get(json_array_get(curves, i), "points")))
            charts[n++] = chart_of(a, j, json_array_get(curves, i));
    tc_chart_svg(charts, n, tc_text_time, &b);
    tc_status s = tc_fs_write(file, tc_sb_str(&b), b.len, err);
    tc_strbuf_free(&b);
    tc_arena_free(a);
    return s == TC_OK ? TC_CLI_DONE : TC_CLI_FAILED;
}
