/* A search: how the sum of the best times fell, and what each task takes of it in the end. */
#include <math.h>

#include "cli/picture/picture.h"

/* A sum that is known from here on. */
typedef struct moment {
    int trials;
    double seconds, latency;
} moment;

struct tc_cli_course {
    TC_VEC(moment) lower; /* each below the one before */
    int trials;           /* at the last event */
    double seconds;
};

tc_cli_course *tc_cli_course_new(void) {
    return tc_xcalloc(1, sizeof(tc_cli_course));
}

void tc_cli_course_free(tc_cli_course *c) {
    if (c)
        tc_vec_free(&c->lower);
    free(c);
}

void tc_cli_course_add(tc_cli_course *c, const tctune_report *r) {
    size_t n = c->lower.len;
    c->trials = r->trials;
    c->seconds = r->seconds;
    /* A contest may find that a time was too good: the sum rises then. */
    if (isfinite(r->latency) && r->latency > 0 && (!n || c->lower.data[n - 1].latency != r->latency))
        tc_push(&c->lower, ((moment){r->trials, r->seconds, r->latency}));
}

static char *trials_text(char text[TC_CHART_TEXT], double v) {
    snprintf(text, TC_CHART_TEXT, "%.0f", v);
    return text;
}

static char *seconds_text(char text[TC_CHART_TEXT], double v) {
    if (v >= 60)
        return tc_text_duration(text, v);
    snprintf(text, TC_CHART_TEXT, "%.3g s", v);
    return text;
}

/* ---- charts ---- */

static void add_curve(tc_picture *p, tc_arena *a, const tc_cli_course *c, const json_t *j, bool by_time) {
    int n = (int)c->lower.len;
    tc_chart_step *steps = TC_NEW_N(a, tc_chart_step, n);
    for (int i = 0; i < n; i++) {
        const moment *m = &c->lower.data[i];
        steps[i] = (tc_chart_step){by_time ? m->seconds : m->trials, m->latency};
    }
    tc_chart_steps chart = {.title = tc_arena_printf(a, "sum of the best times over %s", by_time ? "time" : "trials"),
                            .subtitle = tc_arena_printf(a, "%zu tasks, each as often as it is launched; records are in %s",
                                                        json_array_size(json_object_get(j, "tasks")), tc_cli_text(j, "db")),
                            .axis = by_time ? "time of this run" : "trials, earlier runs' too",
                            .end = by_time ? c->seconds : c->trials,
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
    tc_chart_bars chart = {.title = "the best of each task", .subtitle = "its part of the sum", .n = n, .bars = bars};
    tc_picture_add_bars(p, &chart);
}

int tc_cli_plot_search(const tc_cli_course *c, const json_t *j, const char *file, tc_error *err) {
    tc_arena *a = tc_arena_new();
    tc_picture p = {0};
    if (c->lower.len) {
        add_curve(&p, a, c, j, false);
        add_curve(&p, a, c, j, true);
    }
    add_tasks(&p, a, j);
    int status = tc_cli_picture_write(&p, file, err);
    tc_arena_free(a);
    return status;
}
