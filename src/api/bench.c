/* Latency (include/tctune/bench.h). */
#include "graph/trials/bench.h"

#include "api/model_int.h"
#include "graph/model/parts.h"
#include "graph/trials/against.h"
#include "graph/trials/bundle.h"
#include "graph/trials/curve.h"
#include "te/text.h"
#include "tune/kernel/kernel.h"
#include "tune/kernel/sizes.h"
#include "tune/kernel/variants.h"

/* ---- a model ---- */

static tc_status read_options(const tctune_bench_options *options, tctune_bench_options *o, tc_error *err) {
    TC_TRY(API_OPTIONS(*o, options, err));
    if (o->repeats < 0)
        return tc_fail(err, TC_BAD_INPUT, "repeats is not negative");
    if (o->at && o->inputs)
        return tc_fail(err, TC_BAD_INPUT, "at and inputs exclude each other: inputs have sizes of their own");
    if (!o->repeats)
        o->repeats = TC_TUNE_REPEATS;
    if (!o->name)
        o->name = "model";
    return TC_OK;
}

/* Where it was built here, as its kernels then have schedules. */
static void tell_conditions(const tc_graph_model *m, tc_report_timed *r) {
    if (!m->program)
        return;
    r->target = m->target->text;
    r->accuracy = tc_accuracy_text(m->accuracy);
    r->precision = tc_accuracy_precision_text(m->accuracy);
}

static tc_status tell_model(const tctune_bench_options *o, const tc_graph_model *m, const tc_graph_tensor *in,
                            const tc_graph_bench *b, tc_arena *a, char **json, tc_error *err) {
    const tc_graph_size_rules *rules = tc_graph_model_sizes(m);
    int64_t *sizes = TC_NEW_N(a, int64_t, rules->nsize);
    TC_TRY(tc_graph_size_rules_bind(rules, in, sizes, err));
    tc_report_timed r = {.name = tc_arena_printf(a, "%s%s", o->name, tc_report_sizes_text(a, rules, sizes)),
                         .threads = tc_graph_model_threads(m),
                         .times = b->times,
                         .ntimes = b->n,
                         .flops = tc_graph_model_flops(m),
                         .peak = &b->peak,
                         .rules = rules,
                         .sizes = sizes};
    tell_conditions(m, &r);
    r.nkernel = tc_graph_model_kernels(m, &r.kernels);
    r.nother = tc_graph_model_others(m, &r.others);
    return tc_report_text(tc_report_latency(&r), json, err);
}

static tc_status bench_on(const tctune_bench_options *o, tc_graph_model *m, const tc_graph_bundle *in, tc_arena *a, char **json,
                          tc_error *err) {
    tc_graph_tensor *views = tc_xcalloc(in->len + 1, sizeof *views);
    tc_graph_bench b = {0};
    tc_status st = tc_graph_model_match(m, in, views, err);
    if (st == TC_OK)
        st = tc_graph_model_bench(m, views, o->repeats, o->stop, &b, err);
    if (st == TC_OK)
        st = tell_model(o, m, views, &b, a, json, err);
    else if (o->inputs)
        tc_error_prefix(err, "%s: ", o->inputs);
    free(views);
    free(b.times);
    return st;
}

static tc_status bench_at(const tctune_bench_options *o, tc_graph_model *m, tc_arena *a, char **json, tc_error *err) {
    tc_graph_bundle in = {0};
    const int64_t *sizes;
    TC_TRY(api_model_sizes(o->at, tc_graph_model_sizes(m), a, &sizes, err));
    tc_status st = tc_graph_inputs_load(m, o->inputs, sizes, o->seed, &in, err);
    if (st == TC_OK)
        st = bench_on(o, m, &in, a, json, err);
    tc_graph_bundle_free(&in);
    return st;
}

static tc_status bench_over(const tctune_bench_options *o, tc_graph_model *m, tc_arena *a, char **json, tc_error *err) {
    tc_graph_curve_options co = {.repeats = o->repeats, .seed = o->seed, .stop = o->stop};
    tc_graph_curves c = {0};
    if (o->at || o->inputs)
        return tc_fail(err, TC_BAD_INPUT, "a range has sizes of its own: it goes without at and inputs");
    if (!tc_graph_model_sizes(m)->nsize)
        return tc_fail(err, TC_BAD_INPUT, "no size of the network varies: there is no range to time it over");
    tc_status st = tc_graph_curves_time(m, &co, a, &c, err);
    if (st == TC_OK)
        st = tc_report_text(tc_report_curves(o->name, tc_graph_model_threads(m), o->repeats, &c), json, err);
    tc_graph_curves_free(&c);
    return st;
}

typedef tc_status bench_way(const tctune_bench_options *o, tc_graph_model *m, tc_arena *a, char **json, tc_error *err);

static tc_status bench_model(bench_way *way, const tctune_bench_options *options, tctune_bench_options *o, tc_graph_model *m,
                             char **json, tc_error *err) {
    TC_TRY(read_options(options, o, err));
    tc_arena *a = tc_arena_new();
    tc_status st = way(o, m, a, json, err);
    tc_arena_free(a);
    return st;
}

static tctune_status call_model(bench_way *way, tctune_model *m, const tctune_bench_options *options, tctune_bench_options *o,
                                char **json, char *error, size_t error_size) {
    API_DOCUMENT(err, error, error_size, json, bench_model(way, options, o, m->model, json, &err));
}

tctune_status tctune_bench(tctune_model *m, const tctune_bench_options *options, char **json, char *error, size_t error_size) {
    tctune_bench_options o = {0};
    tctune_status s = call_model(bench_at, m, options, &o, json, error, error_size);
    return api_unless_stopped(s, o.stop);
}

tctune_status tctune_bench_range(tctune_model *m, const tctune_bench_options *options, char **json, char *error,
                                 size_t error_size) {
    tctune_bench_options o = {0};
    tctune_status s = call_model(bench_over, m, options, &o, json, error, error_size);
    return api_unless_stopped(s, o.stop);
}

/* ---- a model against what it was ---- */

typedef struct comparison {
    tctune_bench_options o;
    tctune_model *m;
    tc_graph_base base;
    tc_graph_against found;
    tc_arena *arena;
} comparison;

static tc_status read_comparison(const tctune_bench_options *options, comparison *c, tc_error *err) {
    TC_TRY(read_options(options, &c->o, err));
    if (c->o.at)
        return tc_fail(err, TC_BAD_INPUT, "at goes with a network whose sizes vary, of which none is compared with a base");
    if (c->o.repeats < TC_TUNE_SURE_ROUNDS)
        return tc_fail(err, TC_BAD_INPUT, "repeats: fewer than %d rounds cannot tell anything apart, not %d", TC_TUNE_SURE_ROUNDS,
                       c->o.repeats);
    return TC_OK;
}

static tc_status compare_on(comparison *c, const tc_graph_bundle *in, tc_error *err) {
    tc_graph_model *m = c->m->model;
    tc_graph_tensor *views = TC_NEW_N(c->arena, tc_graph_tensor, in->len);
    tc_graph_against_options o = {.rounds = c->o.repeats,
                                  .accuracies = c->m->precision ? c->m->precision->accuracy : NULL,
                                  .seed = c->o.seed,
                                  .stop = c->o.stop};
    tc_status st = tc_graph_model_match(m, in, views, err);
    if (st != TC_OK && c->o.inputs)
        tc_error_prefix(err, "%s: ", c->o.inputs);
    TC_TRY(st);
    return tc_graph_against_run(m, &c->base, views, &o, c->arena, &c->found, err);
}

static tc_status compare(comparison *c, const char *base, tc_error *err) {
    tc_graph_bundle in = {0};
    TC_TRY(tc_graph_base_read(base, c->arena, &c->base, err));
    TC_TRY(tc_graph_inputs_load(c->m->model, c->o.inputs, NULL, c->o.seed, &in, err));
    tc_status st = compare_on(c, &in, err);
    tc_graph_bundle_free(&in);
    return st;
}

static tc_status against(tctune_model *m, const char *base, const tctune_bench_options *options, const volatile int **stop,
                         int *slower, char **json, tc_error *err) {
    comparison c = {.m = m, .arena = tc_arena_new()};
    tc_status st = read_comparison(options, &c, err);
    *stop = c.o.stop;
    if (st == TC_OK)
        st = compare(&c, base, err);
    if (st == TC_OK)
        st = tc_report_text(tc_report_against(c.o.name, &c.base, &c.found), json, err);
    if (st == TC_OK && slower)
        *slower = c.found.nslower > 0 || c.found.network == TC_GRAPH_SLOWER;
    tc_arena_free(c.arena);
    return st;
}

static tctune_status call_against(tctune_model *m, const char *base, const tctune_bench_options *options,
                                  const volatile int **stop, int *slower, char **json, char *error, size_t error_size) {
    API_DOCUMENT(err, error, error_size, json, against(m, base, options, stop, slower, json, &err));
}

tctune_status tctune_bench_against(tctune_model *m, const char *base, const tctune_bench_options *options, int *slower,
                                   char **json, char *error, size_t error_size) {
    const volatile int *stop = NULL;
    if (slower)
        *slower = 0;
    api_find_worker();
    tctune_status s = call_against(m, base, options, &stop, slower, json, error, error_size);
    return api_unless_stopped(s, stop);
}

/* ---- one kernel, in the isolated process that tuning uses ---- */

typedef struct kernel_bench {
    tctune_bench_kernel_options o;
    tc_tune_kernel_options options;
    tc_accuracy accuracy;
    tc_target *target;
    tc_arena *arena;
    tc_ctx *ctx;
    tc_tune_task task;
    const tc_workload *timed; /* the task's, at these sizes */
    const int64_t *sizes;     /* NULL: it has none */
    tc_tune_schedule schedule;
    tc_tune_kernel_bench bench;
} kernel_bench;

static tc_status read_kernel_options(const tctune_bench_kernel_options *options, kernel_bench *k, tc_error *err) {
    TC_TRY(API_OPTIONS(k->o, options, err));
    if (k->o.repeats < 0)
        return tc_fail(err, TC_BAD_INPUT, "repeats is not negative");
    TC_TRY(api_accuracy(k->o.accuracy, k->o.precision, &k->accuracy, err));
    if (k->o.mode)
        TC_TRY(tc_tune_timing_parse(k->o.mode, &k->options.timing, err));
    TC_TRY(api_target_here(k->o.target, k->o.threads, &k->target, err));
    k->options.target = k->target;
    k->options.repeats = k->o.repeats;
    k->options.seed = k->o.seed;
    k->options.stop = k->o.stop;
    return TC_OK;
}

static tc_status find_sizes(kernel_bench *k, tc_error *err) {
    const tc_workload *w = k->timed = k->task.workload;
    TC_TRY(api_task_sizes(k->o.at, w, k->arena, &k->sizes, err));
    if (!w->nsymbol)
        return TC_OK;
    if (!k->sizes) {
        int64_t *largest = TC_NEW_N(k->arena, int64_t, w->nsymbol);
        for (int i = 0; i < w->nsymbol; i++)
            largest[i] = w->symbols[i]->most;
        k->sizes = largest;
    }
    k->task.name = tc_tune_name_at(k->arena, k->task.name, w, k->sizes);
    return tc_te_at(k->ctx, w, k->sizes, &k->timed, err);
}

/* The database is closed again: while somebody reads it, what is noted stays in its log. */
static tc_status find_schedule(kernel_bench *k, tc_error *err) {
    tc_tune_query q = {.workload = k->task.workload, .target = k->target, .accuracy = k->accuracy, .file = k->o.schedule};
    if (k->o.database)
        TC_TRY(tc_meas_db_open(k->o.database, TC_MEAS_DB_READ, &q.db, err));
    tc_status st = k->sizes ? tc_tune_schedule_at(&q, k->task.sizes, k->sizes, k->arena, &k->schedule, err)
                            : tc_tune_schedule_find(&q, k->arena, &k->schedule, err);
    tc_meas_db_close(q.db);
    return st;
}

/* A record that fails here is not used any more. */
static tc_status not_measured(const kernel_bench *k, const char *path, tc_error *err) {
    const tc_tune_schedule *s = &k->schedule;
    const tc_record *now = &k->bench.record;
    const char *noted = s->record ? tc_tune_note_failure(s->db, s->record, now, k->arena) : "";
    return tc_fail(err, TC_ENV, "%s: the kernel could not be measured: %s: %s%s%s", path, tc_meas_error_meaning(now->error),
                   now->message, *noted ? "; " : "", noted);
}

static tc_status tell_kernel(const kernel_bench *k, char **json, tc_error *err) {
    const tc_tune_schedule *s = &k->schedule;
    tc_tune_schedule canonical = *s; /* as everybody may read it */
    if (s->file)
        TC_TRY(tc_tune_schedule_canonical(k->task.workload, k->target, k->arena, &canonical, err));
    const tc_tune_kernel_bench *b = &k->bench;
    const tc_record *r = s->record;
    const char *origin = tc_report_origin(s, k->arena);
    tc_graph_kernel one = {.name = k->task.name,
                           .symbol = "",
                           .form = s->form,
                           .workload = s->workload,
                           .trace = canonical.trace,
                           .trace_hash = tc_meas_text_hash(canonical.trace),
                           .hash = tc_te_hash(k->task.workload),
                           .form_hash = canonical.hash,
                           .count = 1,
                           .flops = tc_te_flops(k->timed),
                           .unit = b->unit,
                           .source = r ? TC_GRAPH_FROM_RECORD : TC_GRAPH_FROM_DEFAULT,
                           .record = r ? r->id : 0,
                           .recorded = r ? r->median : 0,
                           .why = r ? "" : origin,
                           .seconds = b->record.median};
    tc_report_timed t = {.name = one.name,
                         .threads = k->target->machine.cores,
                         .times = tc_arena_dup(k->arena, b->record.times, b->record.ntimes * sizeof(double)),
                         .ntimes = (int)b->record.ntimes,
                         .flops = one.flops,
                         .peak = &b->peak,
                         .kernels = &one,
                         .nkernel = 1,
                         .unit = b->unit,
                         .stream = b->stream,
                         .target = k->target->text,
                         .accuracy = tc_accuracy_text(k->accuracy),
                         .precision = tc_accuracy_precision_text(k->accuracy),
                         .origin = origin,
                         .mode = tc_meas_mode_text(b->record.mode),
                         .constants = b->constants};
    return tc_report_text(tc_report_latency(&t), json, err);
}

static tc_status bench_kernel(const tctune_work *w, int task, kernel_bench *k, char **json, tc_error *err) {
    const tc_tune_task *tasks;
    TC_TRY(api_check_task(w, task, err));
    tc_graph_work_tasks(w->w, &tasks);
    k->task = tasks[task];
    TC_TRY(find_sizes(k, err));
    TC_TRY(find_schedule(k, err));
    TC_TRY(tc_tune_kernel_measure(k->timed, &k->schedule, &k->options, k->arena, &k->bench, err));
    if (!tc_record_ok(&k->bench.record))
        return not_measured(k, tc_graph_work_path(w->w), err);
    return tell_kernel(k, json, err);
}

static tc_status bench_kernel_with(const tctune_work *w, int task, const tctune_bench_kernel_options *options,
                                   const volatile int **stop, char **json, tc_error *err) {
    kernel_bench k = {.arena = tc_arena_new(), .ctx = tc_ctx_new()};
    tc_status st = read_kernel_options(options, &k, err);
    *stop = k.o.stop;
    if (st == TC_OK)
        st = bench_kernel(w, task, &k, json, err);
    tc_ctx_free(k.ctx);
    tc_arena_free(k.arena);
    tc_target_free(k.target);
    return st;
}

static tctune_status call_kernel(const tctune_work *w, int task, const tctune_bench_kernel_options *options,
                                 const volatile int **stop, char **json, char *error, size_t error_size) {
    API_DOCUMENT(err, error, error_size, json, bench_kernel_with(w, task, options, stop, json, &err));
}

tctune_status tctune_bench_kernel(const tctune_work *w, int task, const tctune_bench_kernel_options *options, char **json,
                                  char *error, size_t error_size) {
    const volatile int *stop = NULL;
    api_find_worker();
    tctune_status s = call_kernel(w, task, options, &stop, json, error, error_size);
    return api_unless_stopped(s, stop);
}
