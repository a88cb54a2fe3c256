/* Draws a search: how the sum of the best times fell, and which share of the final sum each task has. */
#include <math.h>

#include "cli/picture/picture.h"
#include "support/numbers.h"

static char *trials_text(char text[TC_CHART_TEXT], double v) {
    tc_snprintf(text, TC_CHART_TEXT, "%.0f", v);
    return text;
}

static char *seconds_text(char text[TC_CHART_TEXT], double v) {
    if (v >= 60)
        return tc_text_duration(text, v);
    tc_snprintf(text, TC_CHART_TEXT, "%.3g s", v);
    return text;
}

/* ---- charts ---- */

/* "sum of 9 tasks, each as often as it is launched; 2 others have no time" */
static const char *subtitle(tc_arena *a, const tc_cli_course *c, const json_t *j) {
    int missing = tc_cli_course_missing(c);
    const char *text =
        tc_arena_printf(a, "%zu tasks, each times its launches; before its first time, a task counts with that first time",
                        json_array_size(json_object_get(j, "tasks")));
    return missing ? tc_arena_printf(a, "%s; %d without a time do not count", text, missing) : text;
}

static void add_curve(tc_picture *p, tc_arena *a, const tc_cli_course *c, const json_t *j, bool by_time) {
    tc_cli_moment *moments;
    int n = tc_cli_course_moments(c, a, &moments);
    tc_chart_step *steps = TC_NEW_N(a, tc_chart_step, n);
    if (!n)
        return;
    for (int i = 0; i < n; i++)
        steps[i] = (tc_chart_step){by_time ? moments[i].seconds : moments[i].trials, moments[i].latency};
    tc_chart_steps chart = {.title = tc_arena_printf(a, "sum of the best times over %s", by_time ? "time" : "trials"),
                            .subtitle = subtitle(a, c, j),
                            .axis = by_time ? "time of this run" : "trials, also those of earlier runs",
                            .end = steps[n - 1].at,
                            .n = n,
                            .steps = steps};
    tc_picture_add_steps(p, &chart, by_time ? seconds_text : trials_text, tc_text_time);
}

/* "1.23 ms x 12, 97 % of the peak", or why there is none. */
static const char *says(tc_arena *a, const json_t *t) {
    char time[24];
    double best = tc_cli_real(t, "best_ms"), share = tc_cli_real(t, "of_peak"), weight = tc_cli_real(t, "weight");
    if (!isfinite(best))
        return tc_arena_printf(a, "%lld trials, none with a time", tc_cli_number(t, "trials"));
    const char *text = tc_text_time(time, best / 1e3);
    if (weight != 1)
        text = tc_arena_printf(a, "%s x %g", text, weight);
    if (isfinite(share))
        text = tc_arena_printf(a, "%s, %.0f %% of the peak", text, 100 * share);
    return tc_arena_strdup(a, text);
}

static void add_tasks(tc_picture *p, tc_arena *a, const json_t *j) {
    const json_t *tasks = json_object_get(j, "tasks");
    int n = (int)json_array_size(tasks);
    tc_chart_bar *bars = TC_NEW_N(a, tc_chart_bar, n);
    for (int i = 0; i < n; i++) {
        const json_t *t = json_array_get(tasks, (size_t)i);
        double ms = tc_cli_real(t, "best_ms") * tc_cli_real(t, "weight");
        bars[i] = (tc_chart_bar){.name = tc_cli_text(t, "name"), .amount = isfinite(ms) ? ms / 1e3 : 0, .says = says(a, t)};
    }
    tc_chart_bars chart = {.title = "best time of each task",
                           .subtitle =
                               tc_arena_printf(a, "a bar is the task's part of the sum; records are in %s", tc_cli_text(j, "db")),
                           .n = n,
                           .bars = bars};
    tc_picture_add_bars(p, &chart);
}

int tc_cli_plot_search(const tc_cli_course *c, const json_t *j, const char *file, tc_error *err) {
    tc_arena *a = tc_arena_new();
    tc_picture p = {0};
    add_curve(&p, a, c, j, false);
    add_curve(&p, a, c, j, true);
    add_tasks(&p, a, j);
    int status = tc_cli_picture_write(&p, file, err);
    tc_arena_free(a);
    return status;
}
