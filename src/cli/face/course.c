/* Implements course.h. */
#include "cli/face/course.h"

#include <math.h>

/* The term of a task. A task that could run in place of others is no term of the sum: `offset` below accounts for it. */
typedef struct term {
    double weight, first, best; /* first, best: INFINITY: none yet; weight 0: it does not count */
} term;

/* A best time that is new. */
typedef struct change {
    int trials, task;
    double seconds, best;
} change;

struct tc_cli_course {
    int n; /* tasks; 0: before the first event */
    term *terms;
    TC_VEC(change) changes;
    tc_cli_moment begin, now; /* without latencies */
    double offset;            /* the difference between the terms' sum and the sum that the session last reported */
};

tc_cli_course *tc_cli_course_new(void) {
    return tc_xcalloc(1, sizeof(tc_cli_course));
}

void tc_cli_course_free(tc_cli_course *c) {
    if (!c)
        return;
    free(c->terms);
    tc_vec_free(&c->changes);
    free(c);
}

/* ---- events ---- */

static void begin(tc_cli_course *c, const tctune_event *e) {
    char *text;
    tc_error err;
    if (tctune_session_describe(e->session, &text, TC_CLI_SAY(&err)) != TCTUNE_OK)
        return;
    json_t *j = tc_cli_document(text);
    const json_t *tasks = json_object_get(j, "tasks");
    c->n = (int)json_array_size(tasks);
    c->terms = tc_xcalloc((size_t)c->n, sizeof *c->terms);
    for (int i = 0; i < c->n; i++) {
        const json_t *t = json_array_get(tasks, (size_t)i);
        bool counts = json_array_size(json_object_get(t, "instead_of")) == 0;
        c->terms[i] = (term){counts ? tc_cli_real(t, "weight") : 0, INFINITY, INFINITY};
    }
    json_decref(j);
    c->begin = (tc_cli_moment){e->report->trials, e->report->seconds, 0};
}

static void look_at(tc_cli_course *c, const tctune_event *e, int i) {
    tctune_task_state t = {.struct_size = sizeof t, .best = INFINITY};
    tc_error err;
    term *x = &c->terms[i];
    if (tctune_session_task(e->session, i, &t, TC_CLI_SAY(&err)) != TCTUNE_OK || t.best == x->best)
        return;
    tc_push(&c->changes, ((change){e->report->trials, i, e->report->seconds, t.best}));
    x->best = t.best;
    if (!isfinite(x->first))
        x->first = t.best;
}

static bool is_timed(const term *x) {
    return x->weight > 0 && isfinite(x->first);
}

static double sum_now(const tc_cli_course *c) {
    double sum = 0;
    for (int i = 0; i < c->n; i++)
        sum += is_timed(&c->terms[i]) ? c->terms[i].weight * c->terms[i].best : 0;
    return sum;
}

/* While a round is measured, the report has the sum from before the round. */
void tc_cli_course_add(tc_cli_course *c, const tctune_event *e) {
    bool within = e->kind == TCTUNE_EVENT_MEASURED;
    if (!c->n)
        begin(c, e);
    c->now = (tc_cli_moment){e->report->trials, e->report->seconds, 0};
    for (int i = 0; i < c->n; i++)
        if (!within || e->task == i)
            look_at(c, e, i);
    if (!within && isfinite(e->report->latency))
        c->offset = e->report->latency - sum_now(c);
}

/* ---- the course ---- */

int tc_cli_course_missing(const tc_cli_course *c) {
    int n = 0;
    for (int i = 0; i < c->n; i++)
        n += c->terms[i].weight > 0 && !is_timed(&c->terms[i]);
    return n;
}

int tc_cli_course_moments(const tc_cli_course *c, tc_arena *a, tc_cli_moment **out) {
    double *best = TC_NEW_N(a, double, c->n), sum = c->offset;
    int n = 0;
    *out = TC_NEW_N(a, tc_cli_moment, c->changes.len + 2);
    for (int i = 0; i < c->n; i++) {
        best[i] = c->terms[i].first;
        sum += is_timed(&c->terms[i]) ? c->terms[i].weight * best[i] : 0;
    }
    if (!(sum > 0))
        return 0;
    (*out)[n++] = (tc_cli_moment){c->begin.trials, c->begin.seconds, sum};
    for (size_t k = 0; k < c->changes.len; k++) {
        const change *x = &c->changes.data[k];
        double gain = c->terms[x->task].weight > 0 ? c->terms[x->task].weight * (best[x->task] - x->best) : 0;
        best[x->task] = x->best;
        sum -= gain;
        if (gain != 0)
            (*out)[n++] = (tc_cli_moment){x->trials, x->seconds, sum};
    }
    (*out)[n++] = (tc_cli_moment){c->now.trials, c->now.seconds, sum};
    return n;
}
