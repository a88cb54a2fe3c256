/* Draws the contents of a database: a bar for each workload, target and number of threads. It also tells how many records
 * failed. */
#include <math.h>

#include "cli/picture/picture.h"

/* "40, best 1.23 ms, 230.4 GFLOP/s" */
static const char *says(tc_arena *a, const json_t *s) {
    char time[24];
    double best = tc_cli_real(s, "best_ms"), rate = tc_cli_real(s, "gflops");
    const char *text = tc_arena_printf(a, "%lld", tc_cli_number(s, "records"));
    if (json_object_get(s, "sizes"))
        return tc_arena_printf(a, "%s at %lld sizes", text, tc_cli_number(s, "sizes"));
    if (isfinite(best))
        text = tc_arena_printf(a, "%s, best %s", text, tc_text_time(time, best / 1e3));
    return isfinite(rate) ? tc_arena_printf(a, "%s, %.1f GFLOP/s", text, rate) : text;
}

static tc_chart_bar bar_of(tc_arena *a, const json_t *s) {
    double records = (double)tc_cli_number(s, "records");
    return (tc_chart_bar){.name = tc_arena_printf(a, "%.8s %s", tc_cli_text(s, "hash"), tc_cli_text(s, "operands")),
                          .amount = records,
                          .part = records - (double)tc_cli_number(s, "valid"),
                          .says = says(a, s)};
}

int tc_cli_plot_database(const json_t *j, const char *file, tc_error *err) {
    const json_t *all = json_object_get(j, "summaries");
    tc_arena *a = tc_arena_new();
    int n = (int)json_array_size(all);
    tc_chart_bar *bars = TC_NEW_N(a, tc_chart_bar, n);
    for (int i = 0; i < n; i++)
        bars[i] = bar_of(a, json_array_get(all, (size_t)i));
    tc_picture p = {0};
    tc_chart_bars c = {
        .title = tc_cli_text(j, "db"),
        .subtitle = tc_arena_printf(a, "%lld records of %lld workloads for %lld targets; orange: records that failed",
                                    tc_cli_number(j, "records"), tc_cli_number(j, "workloads"), tc_cli_number(j, "targets")),
        .n = n,
        .bars = bars};
    tc_picture_add_bars(&p, &c);
    int status = tc_cli_picture_write(&p, file, err);
    tc_arena_free(a);
    return status;
}
