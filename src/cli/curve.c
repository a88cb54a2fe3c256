/* Prints the latency of a network whose sizes vary, as one table for each size over its range. The input is a document of
 * tctune_bench_range. */
#include <math.h>
#include <string.h>

#include "cli/print.h"

enum { BAR = 40 };

static double seconds_of(const json_t *point, const char *key) {
    return tc_cli_real(point, key) / 1e3;
}

static const char *bar(tc_arena *a, double share) {
    char text[BAR + 1];
    int n = TC_MAX(1, (int)lround(share * BAR));
    memset(text, '#', (size_t)n);
    return tc_arena_strndup(a, text, (size_t)n);
}

/* A column for each size of a point, then the columns of the times. */
static tc_cli_table new_table(tc_arena *a, json_t *sizes, tc_cli_format format) {
    static const char *const rest[] = {">median|ms", ">least|ms", ">most|ms", ""};
    const char **head = TC_NEW_N(a, const char *, (int)(json_object_size(sizes) + TC_LEN(rest))), *name;
    int n = 0;
    json_t *value;
    json_object_foreach(sizes, name, value) head[n++] = tc_arena_printf(a, ">%s", name);
    for (size_t i = 0; i < TC_LEN(rest) - !tc_cli_is_prose(format); i++)
        head[n++] = rest[i];
    return tc_cli_table_new(format, n, head);
}

static void print_curve(tc_arena *a, const json_t *points, tc_cli_format format) {
    tc_cli_table t = new_table(a, json_object_get(json_array_get(points, 0), "sizes"), format);
    double slowest = 0;
    for (size_t i = 0; i < json_array_size(points); i++)
        slowest = fmax(slowest, seconds_of(json_array_get(points, i), "median_ms"));
    for (size_t i = 0; i < json_array_size(points); i++) {
        const json_t *p = json_array_get(points, i);
        const char *name;
        json_t *value;
        json_object_foreach(json_object_get(p, "sizes"), name, value)
            tc_cli_cell(&t, "%lld", (long long)json_integer_value(value));
        tc_cli_cell_time(&t, tc_cli_real(p, "median_ms"));
        tc_cli_cell_time(&t, tc_cli_real(p, "min_ms"));
        tc_cli_cell_time(&t, tc_cli_real(p, "max_ms"));
        if (tc_cli_is_prose(format))
            tc_cli_cell(&t, "%s", bar(a, slowest > 0 ? seconds_of(p, "median_ms") / slowest : 0));
    }
    tc_cli_table_print(&t, stdout);
    tc_cli_table_free(&t);
}

void tc_cli_print_curves(const json_t *j, tc_cli_format format) {
    const json_t *curves = json_object_get(j, "curves");
    tc_arena *a = tc_arena_new();
    for (size_t i = 0; i < json_array_size(curves); i++) {
        const json_t *c = json_array_get(curves, i), *points = json_object_get(c, "points");
        if (json_array_size(points)) {
            if (tc_cli_is_prose(format))
                tc_say(stdout, "%s over %s\n", tc_cli_text(j, "name"), tc_cli_text(c, "over"));
            else if (i)
                tc_say(stdout, "\n");
            print_curve(a, points, format);
            if (tc_cli_is_prose(format))
                tc_say(stdout, "\n");
        }
    }
    if (tc_cli_is_prose(format))
        tc_say(stdout, "medians of at most %lld runs, %lld threads; for more about one size, give --at NAME=SIZE\n",
               tc_cli_number(j, "repeats"), tc_cli_number(j, "threads"));
    tc_arena_free(a);
}
