/* The latency of a network whose sizes vary, over the range of each: one after the other, the rest at their least. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "graph/trials/bench.h"
#include "support/chart.h"
#include "support/clock/clock.h"
#include "support/system/fs.h"

enum { WARMUP = 2, BAR = 40 };

typedef struct point {
    int64_t *sizes;
    double median, least, most;
    int n;
} point;

typedef struct curve {
    int of; /* the size that it runs over */
    TC_VEC(point) points;
} curve;

typedef struct curves {
    const tc_graph_size_rules *r;
    tc_arena *arena;
    curve *data;
    int n;
} curves;

/* ---- which sizes ---- */

/* What breaks the rules together with the least of the others is left out. */
static void add_point(curves *c, curve *v, int64_t size) {
    int64_t *sizes = TC_NEW_N(c->arena, int64_t, c->r->nsize);
    for (int k = 0; k < c->r->nsize; k++)
        sizes[k] = k == v->of ? size : -1;
    bool more = !v->points.len || v->points.data[v->points.len - 1].sizes[v->of] < size;
    if (more && tc_graph_size_rules_complete(c->r, sizes, NULL) == TC_OK)
        tc_push(&v->points, ((point){.sizes = sizes}));
}

/* The ends, and between them powers of two and, as other sizes are no less common, one between any two: of multiples. */
static void add_points(curves *c, curve *v) {
    int64_t *none = TC_NEW_N(c->arena, int64_t, c->r->nsize);
    for (int k = 0; k < c->r->nsize; k++)
        none[k] = -1;
    int64_t least = tc_graph_size_rules_first(c->r, v->of), step = tc_graph_size_rules_step(c->r, v->of);
    int64_t most = tc_graph_size_rules_most(c->r, none, v->of);
    add_point(c, v, least);
    for (int half = 0; half < 126; half++) {
        double size = round(exp2(half / 2.0)) * (double)step;
        if (size > (double)least && size < (double)most)
            add_point(c, v, (int64_t)size);
    }
    if (most > least)
        add_point(c, v, most);
}

static void choose(curves *c) {
    c->data = TC_NEW_N(c->arena, curve, c->r->nsize);
    for (int k = 0; k < c->r->nsize; k++)
        if (!c->r->size[k].is.text) {
            c->data[c->n].of = k;
            add_points(c, &c->data[c->n++]);
        }
}

/* ---- how long they take ---- */

static tc_status time_point(tc_graph_model *m, int nin, const tc_graph_timing_options *o, uint64_t seed, point *p,
                            tc_error *err) {
    tc_graph_tensor *in = tc_xcalloc((size_t)nin + 1, sizeof *in);
    double *times = tc_xcalloc((size_t)o->repeats, sizeof *times);
    tc_status st = tc_graph_model_random_inputs(m, p->sizes, seed, in, err);
    if (st == TC_OK)
        st = tc_graph_model_time(m, in, o, times, &p->n, err);
    p->least = INFINITY;
    for (int i = 0; i < p->n; i++) {
        p->least = fmin(p->least, times[i]);
        p->most = fmax(p->most, times[i]);
    }
    p->median = p->n ? tc_meas_median(times, (size_t)p->n) : 0;
    for (int i = 0; i < nin; i++)
        tc_graph_tensor_free(&in[i]);
    free(times);
    free(in);
    return st;
}

/* Stopped, it keeps what it has. */
static tc_status time_all(curves *c, tc_graph_model *m, int repeats, uint64_t seed, tc_error *err) {
    tc_graph_timing_options o = {.warmup = WARMUP, .repeats = repeats, .stop = tc_cli_stop_flag()};
    size_t measured = 0;
    TC_TRY(tc_clock_check(TC_CLOCK_CALLS, err));
    for (int i = 0; i < c->n; i++) {
        curve *v = &c->data[i];
        size_t done = 0;
        for (; done < v->points.len && !*o.stop; done++)
            TC_TRY(time_point(m, c->r->nin, &o, seed, &v->points.data[done], err));
        while (done && !v->points.data[done - 1].n)
            done--;
        v->points.len = done;
        measured += done;
    }
    return measured ? TC_OK : tc_fail(err, TC_ENV, "stopped before anything was measured");
}

/* ---- reports ---- */

static const char *bar(tc_arena *a, double share) {
    char text[BAR + 1];
    int n = TC_MAX(1, (int)lround(share * BAR));
    memset(text, '#', (size_t)n);
    return tc_arena_strndup(a, text, (size_t)n);
}

static void print_curve(const curves *c, const curve *v) {
    const char **head = TC_NEW_N(c->arena, const char *, c->r->nsize + 4);
    int n = 0;
    double slowest = 0;
    for (int k = 0; k < c->r->nsize; k++)
        head[n++] = tc_arena_printf(c->arena, ">%s", c->r->size[k].name);
    head[n++] = ">median";
    head[n++] = ">least";
    head[n++] = ">most";
    head[n++] = "";
    tc_cli_table t = tc_cli_table_new(n, head);
    for (size_t i = 0; i < v->points.len; i++)
        slowest = fmax(slowest, v->points.data[i].median);
    for (size_t i = 0; i < v->points.len; i++) {
        const point *p = &v->points.data[i];
        char median[24], least[24], most[24];
        for (int k = 0; k < c->r->nsize; k++)
            tc_cli_cell(&t, "%lld", (long long)p->sizes[k]);
        tc_cli_cell(&t, "%s", tc_cli_time(median, p->median));
        tc_cli_cell(&t, "%s", tc_cli_time(least, p->least));
        tc_cli_cell(&t, "%s", tc_cli_time(most, p->most));
        tc_cli_cell(&t, "%s", bar(c->arena, slowest > 0 ? p->median / slowest : 0));
    }
    tc_cli_table_print(&t, stdout);
    tc_cli_table_free(&t);
}

static void print_text(const curves *c, const char *what, int threads, int repeats) {
    for (int i = 0; i < c->n; i++)
        if (c->data[i].points.len) {
            printf("%s over %s\n", what, c->r->size[c->data[i].of].name);
            print_curve(c, &c->data[i]);
            putchar('\n');
        }
    printf("medians of at most %d runs, %d threads; --at NAME=SIZE says more of one size\n", repeats, threads);
}

static void print_json(const curves *c, const char *what, int threads) {
    json_t *all = json_array();
    for (int i = 0; i < c->n; i++) {
        const curve *v = &c->data[i];
        json_t *points = json_array();
        for (size_t k = 0; k < v->points.len; k++) {
            const point *p = &v->points.data[k];
            json_array_append_new(points,
                                  json_pack("{s:o,s:f,s:f,s:f,s:i}", "sizes", tc_cli_sizes_json(c->r, p->sizes), "median_ms",
                                            p->median * 1e3, "min_ms", p->least * 1e3, "max_ms", p->most * 1e3, "repeats", p->n));
        }
        json_array_append_new(all, json_pack("{s:s,s:o}", "over", c->r->size[v->of].name, "points", points));
    }
    tc_cli_json_print(json_pack("{s:s,s:i,s:o}", "name", what, "threads", threads, "curves", all));
}

/* ---- a picture ---- */

/* "tiny.so over past, sequence = 2": what stays as it is where nothing else depends on the size. */
static const char *title(const curves *c, const curve *v, const tc_cli_curve_options *o) {
    const char *text = tc_arena_printf(c->arena, "%s over %s", o->what, c->r->size[v->of].name);
    for (int k = 0; k < c->r->nsize; k++)
        if (k != v->of && !c->r->size[k].is.text)
            text = tc_arena_printf(c->arena, "%s, %s = %lld", text, c->r->size[k].name, (long long)v->points.data[0].sizes[k]);
    return text;
}

static tc_chart chart_of(const curves *c, const curve *v, const tc_cli_curve_options *o, int threads) {
    tc_chart_point *points = TC_NEW_N(c->arena, tc_chart_point, v->points.len);
    for (size_t i = 0; i < v->points.len; i++) {
        const point *p = &v->points.data[i];
        char text[TC_CHART_TEXT];
        const char *sizes = tc_cli_sizes_text(c->arena, c->r, p->sizes) + 1; /* behind the space */
        points[i] = (tc_chart_point){p->sizes[v->of], p->least, p->median, p->most,
                                     tc_arena_printf(c->arena, "%s: %s", sizes, tc_cli_time(text, p->median))};
    }
    return (tc_chart){.title = title(c, v, o),
                      .subtitle = tc_arena_printf(c->arena, "medians of at most %d runs, least to most in light blue; %d threads",
                                                  o->repeats, threads),
                      .axis = c->r->size[v->of].name,
                      .n = (int)v->points.len,
                      .points = points};
}

static tc_status write_plot(const curves *c, const tc_cli_curve_options *o, int threads, tc_error *err) {
    tc_chart *charts = TC_NEW_N(c->arena, tc_chart, c->n);
    tc_strbuf b = {0};
    int n = 0;
    for (int i = 0; i < c->n; i++)
        if (c->data[i].points.len)
            charts[n++] = chart_of(c, &c->data[i], o, threads);
    tc_chart_svg(charts, n, tc_cli_time, &b);
    tc_status s = tc_fs_write(o->plot, tc_sb_str(&b), b.len, err);
    tc_strbuf_free(&b);
    return s;
}

int tc_cli_bench_curve(tc_graph_model *m, const tc_cli_curve_options *o, tc_error *err) {
    curves c = {.r = tc_graph_model_sizes(m), .arena = tc_arena_new()};
    choose(&c);
    tc_status st = time_all(&c, m, o->repeats, o->seed, err);
    if (st == TC_OK && o->json)
        print_json(&c, o->what, tc_graph_model_threads(m));
    else if (st == TC_OK)
        print_text(&c, o->what, tc_graph_model_threads(m), o->repeats);
    if (st == TC_OK && o->plot)
        st = write_plot(&c, o, tc_graph_model_threads(m), err);
    for (int i = 0; i < c.n; i++)
        tc_vec_free(&c.data[i].points);
    tc_arena_free(c.arena);
    return st == TC_OK ? TC_CLI_DONE : TC_CLI_FAILED;
}
