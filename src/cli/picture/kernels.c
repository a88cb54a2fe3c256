/* Draws how the time of a run divides among the kernels: a bar for each kernel, the longest first. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/picture/picture.h"

static int slower_first(const void *x, const void *y) {
    const tc_chart_bar *a = x, *b = y;
    return a->amount != b->amount ? (a->amount < b->amount) - (a->amount > b->amount) : strcmp(a->name, b->name);
}

/* "1.23 ms, 12 times, 97 % of the peak" */
static const char *says(tc_arena *a, const json_t *k, double seconds) {
    char time[24];
    double share = tc_cli_real(k, "of_peak");
    const char *text = tc_text_time(time, seconds);
    if (tc_cli_number(k, "count") > 1)
        text = tc_arena_printf(a, "%s, %lld times", text, tc_cli_number(k, "count"));
    if (isfinite(share))
        text = tc_arena_printf(a, "%s, %.0f %% of the peak", text, 100 * share);
    return tc_arena_strdup(a, text);
}

static int bars_of(tc_arena *a, const json_t *list, tc_chart_bar *bars) {
    int n = (int)json_array_size(list);
    for (int i = 0; i < n; i++) {
        const json_t *k = json_array_get(list, (size_t)i);
        double ms = tc_cli_real(k, "total_ms"), seconds = isfinite(ms) ? ms / 1e3 : 0;
        bars[i] = (tc_chart_bar){.name = tc_cli_text(k, "name"), .amount = seconds, .says = says(a, k, seconds)};
    }
    return n;
}

static const char *subtitle(tc_arena *a, const json_t *j) {
    char median[24], least[24], most[24];
    return tc_arena_printf(a,
                           "median %s of %lld runs (%s to %s), %lld threads; a kernel's bar is the sum of its launches in a run",
                           tc_text_time(median, tc_cli_real(j, "median_ms") / 1e3), tc_cli_number(j, "repeats"),
                           tc_text_time(least, tc_cli_real(j, "min_ms") / 1e3),
                           tc_text_time(most, tc_cli_real(j, "max_ms") / 1e3), tc_cli_number(j, "threads"));
}

int tc_cli_plot_kernels(const json_t *j, const char *file, tc_error *err) {
    const json_t *kernels = json_object_get(j, "kernels"), *others = json_object_get(j, "others");
    tc_arena *a = tc_arena_new();
    tc_chart_bar *bars = TC_NEW_N(a, tc_chart_bar, json_array_size(kernels) + json_array_size(others));
    int n = bars_of(a, kernels, bars);
    n += bars_of(a, others, bars + n);
    qsort(bars, (size_t)n, sizeof *bars, slower_first);
    tc_picture p = {0};
    tc_chart_bars c = {.title = tc_cli_text(j, "name"), .subtitle = subtitle(a, j), .n = n, .bars = bars};
    tc_picture_add_bars(&p, &c);
    int status = tc_cli_picture_write(&p, file, err);
    tc_arena_free(a);
    return status;
}
