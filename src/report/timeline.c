/* Writes a trace as events of the Trace Event Format, which Perfetto and chrome://tracing show. Each thread is a row. A kernel that
 * the thread worked for is a slice on that row. Inside it are the slices in which the thread forked, worked and waited. */
#include <math.h>

#include "measure/machine/unit_peak.h"
#include "report/report.h"

/* Microseconds, rounded to the nanosecond: a slice ends no later than the slice around it. */
static json_t *microseconds(double seconds) {
    return tc_json_real(round(seconds * 1e9) / 1e3);
}

static json_t *slice(const char *name, const char *category, int thread, double begin, double end) {
    json_t *e = tc_json_pack("{s:s, s:s, s:s, s:i, s:i}", "name", name, "cat", category, "ph", "X", "pid", 1, "tid", thread);
    double ns = round(begin * 1e9), until = round(end * 1e9);
    tc_json_set(e, "ts", tc_json_real(ns / 1e3));
    tc_json_set(e, "dur", tc_json_real((until - ns) / 1e3));
    return e;
}

static void put(json_t *events, json_t *e) {
    tc_json_append(events, e);
}

static void rates(json_t *a, const tc_report_timeline *l, int task, double seconds) {
    const tc_graph_kernel *k = &l->kernels[task];
    const tc_graph_roofs *r = l->roofs;
    tc_json_set(a, "flops", tc_json_real(k->flops));
    if (k->bytes > 0)
        tc_json_set(a, "bytes", tc_json_real(k->bytes));
    if (seconds <= 0)
        return;
    tc_json_set(a, "GFLOP/s", tc_json_real(k->flops / seconds / 1e9));
    tc_json_set(a, "of_peak", tc_json_real(k->flops / seconds / 1e9 / tc_meas_peak_of(&r->peak, k->unit)));
    if (r->seconds[task] > 0)
        tc_json_set(a, "of_roof", tc_json_real(r->seconds[task] / seconds));
}

/* What is known of a kernel; seconds: of the launch. */
static json_t *arguments(const tc_report_timeline *l, int task, double seconds) {
    const tc_graph_kernel *k = &l->kernels[task];
    json_t *a = tc_json_pack("{s:i, s:s, s:s}", "kernel", task, "workload", k->hash.hex, "form", k->form);
    if (k->source == TC_GRAPH_FROM_RECORD)
        tc_json_set(a, "record", tc_json_integer((json_int_t)k->record));
    else
        tc_json_set(a, "schedule", tc_json_string("default"));
    if (!l->smaller)
        rates(a, l, task, seconds);
    return a;
}

static const char *name_of(const tc_report_timeline *l, const tc_graph_traced_step *s) {
    return s->task >= 0 ? l->kernels[s->task].name : l->others[s->other].name;
}

static const char *category_of(const tc_graph_traced_step *s) {
    return s->task >= 0 ? "kernel" : "library";
}

/* The thread that runs the model: a slice for each step. */
static void steps(const tc_report_timeline *l, json_t *events) {
    for (int i = 0; i < l->trace->nstep; i++) {
        const tc_graph_traced_step *s = &l->trace->steps[i];
        json_t *e = slice(name_of(l, s), category_of(s), 0, s->begin, s->end), *a = NULL;
        a = s->task >= 0 ? arguments(l, s->task, s->end - s->begin) : tc_json_object();
        tc_json_set(a, "step", tc_json_integer(i));
        if (s->nnode)
            tc_json_set(a, "nodes", tc_report_names(s->nnode, s->nodes));
        tc_json_set(e, "args", a);
        put(events, e);
    }
}

/* When the thread was free for its i-th part: the loop began, or an earlier part of it ended. */
static double free_since(const tc_graph_trace *t, int thread, int i) {
    const tc_graph_traced_part *p = &t->parts[thread][i];
    return i > 0 && p[-1].loop == p->loop ? p[-1].end : t->loops[p->loop].begin;
}

/* When it had to do nothing else for the loop: where it has another part, that is the part's end. */
static double free_until(const tc_graph_trace *t, int thread, int i) {
    const tc_graph_traced_part *p = &t->parts[thread][i];
    bool last = i + 1 == t->npart[thread] || p[1].loop != p->loop;
    return last ? fmax(t->loops[p->loop].end, p->end) : p->end;
}

/* fork: until the thread begins its part; wait: until all are done. */
static void part(const tc_report_timeline *l, json_t *events, int thread, int i) {
    const tc_graph_traced_part *p = &l->trace->parts[thread][i];
    const tc_graph_traced_loop *loop = &l->trace->loops[p->loop];
    const tc_graph_traced_step *s = &l->trace->steps[loop->step];
    double begin = free_since(l->trace, thread, i), end = free_until(l->trace, thread, i);
    if (thread && begin == loop->begin) {
        json_t *e = slice(name_of(l, s), category_of(s), thread, loop->begin, fmax(loop->end, p->end));
        tc_json_set(e, "args", tc_json_pack("{s:i}", "step", loop->step));
        put(events, e);
    }
    put(events, slice("fork", "wait", thread, begin, p->begin));
    json_t *work = slice("work", "work", thread, p->begin, p->end);
    tc_json_set(
        work, "args",
        tc_json_pack("{s:I, s:I, s:I}", "from", (json_int_t)p->from, "to", (json_int_t)p->to, "of", (json_int_t)loop->items));
    put(events, work);
    if (end > p->end)
        put(events, slice("wait", "wait", thread, p->end, end));
}

static void describe_threads(const tc_report_timeline *l, json_t *events) {
    put(events, tc_json_pack("{s:s, s:s, s:i, s:{s:s}}", "name", "process_name", "ph", "M", "pid", 1, "args", "name", l->what));
    for (int t = 0; t < l->trace->threads; t++) {
        char name[64];
        snprintf(name, sizeof name, t ? "thread %d" : "thread %d, which runs the model", t);
        put(events, tc_json_pack("{s:s, s:s, s:i, s:i, s:{s:s}}", "name", "thread_name", "ph", "M", "pid", 1, "tid", t, "args",
                                 "name", name));
    }
}

/* The shares of the time of all threads together, by activity. */
static void add_shares(json_t *j, const tc_graph_trace *t) {
    double work = 0, fork = 0, wait = 0, all = t->seconds * t->threads;
    for (int i = 0; i < t->threads; i++)
        for (int k = 0; k < t->npart[i]; k++) {
            const tc_graph_traced_part *p = &t->parts[i][k];
            work += p->end - p->begin;
            fork += p->begin - free_since(t, i, k);
            wait += free_until(t, i, k) - p->end;
        }
    tc_json_set(j, "steps", tc_json_integer(t->nstep));
    tc_json_set(j, "parallel_loops", tc_json_integer(t->nloop));
    tc_json_set(j, "work_share", tc_json_real(work / all));
    tc_json_set(j, "fork_share", tc_json_real(fork / all));
    tc_json_set(j, "wait_share", tc_json_real(wait / all));
}

json_t *tc_report_traced(const tc_report_timeline *l) {
    json_t *events = tc_json_array();
    describe_threads(l, events);
    steps(l, events);
    for (int t = 0; t < l->trace->threads; t++)
        for (int i = 0; i < l->trace->npart[t]; i++)
            part(l, events, t, i);
    json_t *other =
        tc_json_pack("{s:s, s:i, s:o, s:f, s:s}", "model", l->what, "threads", l->trace->threads, "run_us",
                     microseconds(l->trace->seconds), "peak_gflops", l->roofs->peak.f32_gflops, "isa", l->roofs->peak.isa);
    add_shares(other, l->trace);
    return tc_json_pack("{s:o, s:s, s:o}", "traceEvents", events, "displayTimeUnit", "ns", "otherData", other);
}
