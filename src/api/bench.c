/* Measures latency (include/tctune/bench.h). */
#include "graph/trials/bench.h"

#include "api/fleet_int.h"
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
        return tc_fail(err, TC_BAD_INPUT, "repeats must not be negative");
    if (o->at && o->inputs)
        return tc_fail(err, TC_BAD_INPUT, "at and inputs exclude each other: inputs have sizes of their own");
    if (!o->repeats)
        o->repeats = TC_TUNE_REPEATS;
    if (!o->name)
        o->name = "model";
    return TC_OK;
}

/* Only for a model that was built here, since its kernels then have schedules. */
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
                         .unrest = b->unrest,
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
        return tc_fail(err, TC_BAD_INPUT, "a range has sizes of its own: leave out at and inputs");
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
        return tc_fail(
            err, TC_BAD_INPUT,
            "at goes with a network whose sizes vary, but only a network with fixed sizes can be compared with a base");
    if (c->o.repeats < TC_TUNE_SURE_ROUNDS)
        return tc_fail(err, TC_BAD_INPUT, "repeats: a comparison needs at least %d rounds, not %d", TC_TUNE_SURE_ROUNDS,
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

/* ---- kernels, in the isolated process that tuning uses, or on workers of a fleet ---- */

typedef struct timed_kernel {
    tc_tune_task task;
    const tc_workload *timed; /* the task's, at these sizes */
    const int64_t *sizes;     /* NULL: it has none */
    tc_tune_schedule schedule;
    tc_tune_kernel_bench bench;
} timed_kernel;

typedef struct kernel_bench {
    tctune_bench_kernel_options o;
    tc_tune_kernel_options options;
    tc_accuracy accuracy;
    tc_target *target;
    tc_fleet *fleet; /* NULL: this machine runs them */
    tc_arena *arena;
    tc_ctx *ctx;
    const char *path;     /* of the work */
    timed_kernel *kernel; /* n of them */
    int n;
} kernel_bench;

static tc_status read_kernel_options(const tctune_bench_kernel_options *options, kernel_bench *b, tc_error *err) {
    TC_TRY(API_OPTIONS(b->o, options, err));
    if (b->o.repeats < 0)
        return tc_fail(err, TC_BAD_INPUT, "repeats must not be negative");
    TC_TRY(api_accuracy(b->o.accuracy, b->o.precision, &b->accuracy, err));
    if (b->o.mode)
        TC_TRY(tc_tune_timing_parse(b->o.mode, &b->options.timing, err));
    api_measured_by by = {
        .fleet = b->o.fleet, .work = api_fleet_once(b->arena, "bench"), .target = b->o.target, .threads = b->o.threads};
    TC_TRY(api_fleet_target(&by, &b->target, &b->fleet, err));
    b->options.target = b->target;
    b->options.repeats = b->o.repeats;
    b->options.seed = b->o.seed;
    b->options.stop = b->o.stop;
    b->options.carrier = b->fleet ? &tc_meas_fleet : NULL;
    b->options.carried_by = b->fleet;
    return TC_OK;
}

static tc_status find_sizes(const kernel_bench *b, timed_kernel *k, tc_error *err) {
    const tc_workload *w = k->timed = k->task.workload;
    TC_TRY(api_task_sizes(b->o.at, w, b->arena, &k->sizes, err));
    if (!w->nsymbol)
        return TC_OK;
    if (!k->sizes) {
        int64_t *largest = TC_NEW_N(b->arena, int64_t, w->nsymbol);
        for (int i = 0; i < w->nsymbol; i++)
            largest[i] = w->symbols[i]->most;
        k->sizes = largest;
    }
    k->task.name = tc_tune_name_at(b->arena, k->task.name, w, k->sizes);
    return tc_te_at(b->ctx, w, k->sizes, &k->timed, err);
}

/* db NULL: none. */
static tc_status find_schedule(const kernel_bench *b, tc_meas_db *db, timed_kernel *k, tc_error *err) {
    tc_tune_query q = {
        .workload = k->task.workload, .target = b->target, .accuracy = b->accuracy, .file = b->o.schedule, .db = db};
    TC_TRY(k->sizes ? tc_tune_schedule_at(&q, k->task.sizes, k->sizes, b->arena, &k->schedule, err)
                    : tc_tune_schedule_find(&q, b->arena, &k->schedule, err));
    if (b->o.require_complete && !k->schedule.record && !k->schedule.variant)
        return tc_fail(
            err, TC_BAD_INPUT,
            "%s has no record for target '%s' with %d threads: %s. Tune it with this database first, or do not require "
            "complete records",
            k->task.name, b->target->text, b->target->machine.cores, tc_report_origin(&k->schedule, b->arena));
    return TC_OK;
}

/* The database is closed again: while a reader has it open, new notes stay in its log. */
static tc_status find_all(const kernel_bench *b, tc_error *err) {
    tc_meas_db *db = NULL;
    tc_status st = TC_OK;
    if (b->o.database)
        TC_TRY(tc_meas_db_open(b->o.database, TC_MEAS_DB_READ, &db, err));
    for (int i = 0; i < b->n && st == TC_OK; i++) {
        st = find_sizes(b, &b->kernel[i], err);
        if (st == TC_OK)
            st = find_schedule(b, db, &b->kernel[i], err);
    }
    tc_meas_db_close(db);
    return st;
}

/* The rates come from the kernel's worker, which measured its machine. */
static void take_rates(const kernel_bench *b, tc_tune_kernel_bench *x) {
    tc_meas_rates told;
    if (!b->fleet || !tc_record_ok(&x->record))
        return;
    (void)tc_fleet_rates_of(b->fleet, x->record.host, &told);
    tc_meas_stream at = tc_meas_rates_at(&told, (double)x->stream.bytes);
    x->peak = told.peak;
    x->stream.read_gbs = at.read_gbs;
    x->stream.triad_gbs = at.triad_gbs;
}

static tc_status measure_all(const kernel_bench *b, tc_error *err) {
    tc_tune_timed *k = TC_NEW_N(b->arena, tc_tune_timed, b->n);
    tc_tune_kernel_bench *found = TC_NEW_N(b->arena, tc_tune_kernel_bench, b->n);
    for (int i = 0; i < b->n; i++)
        k[i] = (tc_tune_timed){b->kernel[i].timed, &b->kernel[i].schedule};
    TC_TRY(tc_tune_kernels_measure(k, (size_t)b->n, &b->options, b->arena, found, err));
    for (int i = 0; i < b->n; i++) {
        b->kernel[i].bench = found[i];
        take_rates(b, &b->kernel[i].bench);
    }
    return TC_OK;
}

/* Marks a record that fails here, so that it is not used any more. Returns the result of that as text, or "". */
static const char *note_failure(const kernel_bench *b, const timed_kernel *k) {
    const tc_tune_schedule *s = &k->schedule;
    return s->record ? tc_tune_note_failure(s->db, s->record, &k->bench.record, b->arena) : "";
}

/* NULL: this machine, or nobody. */
static const char *worker_of(const kernel_bench *b, const timed_kernel *k) {
    return b->fleet && *k->bench.record.host ? k->bench.record.host : NULL;
}

static tc_status not_measured(const kernel_bench *b, const timed_kernel *k, tc_error *err) {
    const tc_record *now = &k->bench.record;
    const char *noted = note_failure(b, k), *worker = worker_of(b, k);
    if (now->error == TC_MEAS_INTERRUPTED) /* the message says by what */
        return tc_fail(err, TC_ENV, "%s: the kernel could not be measured: %s", b->path, now->message);
    return tc_fail(err, TC_ENV, "%s: the kernel could not be measured%s%s: %s: %s%s%s", b->path, worker ? " by " : "",
                   worker ? worker : "", tc_meas_error_meaning(now->error), now->message, *noted ? "; " : "", noted);
}

/* The trace as everybody may read it. */
static tc_status describe(const kernel_bench *b, const timed_kernel *k, int count, tc_graph_kernel *out, tc_error *err) {
    const tc_tune_schedule *s = &k->schedule;
    tc_tune_schedule canonical = *s;
    const tc_record *r = s->record;
    if (s->file)
        TC_TRY(tc_tune_schedule_canonical(k->task.workload, b->target, b->arena, &canonical, err));
    *out = (tc_graph_kernel){.name = k->task.name,
                             .symbol = "",
                             .form = s->form,
                             .workload = s->workload,
                             .trace = canonical.trace,
                             .trace_hash = tc_meas_text_hash(canonical.trace),
                             .hash = tc_te_hash(k->task.workload),
                             .form_hash = canonical.hash,
                             .count = count,
                             .flops = tc_te_flops(k->timed),
                             .unit = k->bench.unit,
                             .source = r ? TC_GRAPH_FROM_RECORD : TC_GRAPH_FROM_DEFAULT,
                             .record = r ? r->id : 0,
                             .recorded = r ? r->median : 0,
                             .why = r ? "" : tc_report_origin(s, b->arena)};
    if (tc_record_ok(&k->bench.record))
        out->seconds = count * k->bench.record.median;
    return TC_OK;
}

static tc_status tell_kernel(const kernel_bench *b, char **json, tc_error *err) {
    const timed_kernel *k = b->kernel;
    const tc_tune_kernel_bench *x = &k->bench;
    tc_graph_kernel one;
    TC_TRY(describe(b, k, 1, &one, err));
    tc_report_timed t = {.name = one.name,
                         .threads = b->target->machine.cores,
                         .times = tc_arena_dup(b->arena, x->record.times, x->record.ntimes * sizeof(double)),
                         .ntimes = (int)x->record.ntimes,
                         .flops = one.flops,
                         .peak = &x->peak,
                         .unrest = x->unrest,
                         .kernels = &one,
                         .nkernel = 1,
                         .unit = x->unit,
                         .stream = x->stream,
                         .target = b->target->text,
                         .accuracy = tc_accuracy_text(b->accuracy),
                         .precision = tc_accuracy_precision_text(b->accuracy),
                         .worker = worker_of(b, k),
                         .origin = tc_report_origin(&k->schedule, b->arena),
                         .mode = tc_meas_mode_text(x->record.mode),
                         .constants = x->constants};
    return tc_report_text(tc_report_latency(&t), json, err);
}

/* The parts of a call that make a document of it; *failed: the number of kernels that could not be measured. */
typedef tc_status bench_kernels(kernel_bench *b, const tctune_work *w, int task, int *failed, char **json, tc_error *err);

static tc_status bench_one(kernel_bench *b, const tctune_work *w, int task, int *failed, char **json, tc_error *err) {
    const tc_tune_task *tasks;
    (void)failed;
    TC_TRY(api_check_task(w, task, err));
    tc_graph_work_tasks(w->w, &tasks);
    timed_kernel *k = b->kernel = TC_NEW(b->arena, timed_kernel);
    *k = (timed_kernel){.task = tasks[task]};
    b->n = 1;
    TC_TRY(find_all(b, err));
    TC_TRY(b->fleet ? measure_all(b, err)
                    : tc_tune_kernel_measure(k->timed, &k->schedule, &b->options, b->arena, &k->bench, err));
    return tc_record_ok(&k->bench.record) ? tell_kernel(b, json, err) : not_measured(b, k, err);
}

/* ---- all that a run launches ---- */

/* Those of the program as it would be built, and how much of constants they read together. */
static tc_status find_launched(kernel_bench *b, const tctune_work *w, tc_error *err) {
    tc_graph_build_options o = {.target = b->target, .accuracy = b->accuracy};
    tc_graph_program *p;
    const tc_tune_task *tasks;
    if (b->o.at || b->o.schedule)
        return tc_fail(err, TC_BAD_INPUT,
                       "at and schedule are for one kernel: the kernels of a network are timed with the schedules of their "
                       "records, at their largest sizes");
    TC_TRY(tc_graph_work_program(w->w, &o, b->o.database, &p, err));
    b->n = tc_graph_program_tasks(p, &tasks);
    b->kernel = TC_NEW_N(b->arena, timed_kernel, b->n);
    for (int i = 0; i < b->n; i++) {
        b->kernel[i] = (timed_kernel){.task = tasks[i]};
        b->options.network += tasks[i].weight * tc_te_constant_bytes_read(tasks[i].workload);
    }
    return TC_OK;
}

static tc_status tell_all(const kernel_bench *b, int *failed, char **json, tc_error *err) {
    tc_report_apart *all = TC_NEW_N(b->arena, tc_report_apart, b->n);
    *failed = 0;
    for (int i = 0; i < b->n; i++) {
        timed_kernel *k = &b->kernel[i];
        TC_TRY(describe(b, k, TC_MAX((int)k->task.weight, 1), &all[i].kernel, err));
        all[i].origin = tc_report_origin(&k->schedule, b->arena);
        all[i].worker = worker_of(b, k);
        all[i].bench = &k->bench;
        if (tc_record_ok(&k->bench.record))
            continue;
        ++*failed;
        const char *noted = note_failure(b, k);
        if (*noted)
            k->bench.record.message = tc_arena_printf(b->arena, "%s; %s", k->bench.record.message, noted);
    }
    return tc_report_text(tc_report_kernels_apart(b->path, b->target, b->accuracy, all, b->n), json, err);
}

static tc_status bench_all(kernel_bench *b, const tctune_work *w, int task, int *failed, char **json, tc_error *err) {
    (void)task;
    TC_TRY(find_launched(b, w, err));
    TC_TRY(find_all(b, err));
    TC_TRY(measure_all(b, err));
    return tell_all(b, failed, json, err);
}

/* ---- calls ---- */

typedef struct kernel_call {
    bench_kernels *way;
    const tctune_work *work;
    int task;
    const volatile int *stop; /* of the options */
    int failed;
} kernel_call;

static tc_status bench_with(kernel_call *c, const tctune_bench_kernel_options *options, char **json, tc_error *err) {
    kernel_bench b = {.arena = tc_arena_new(), .ctx = tc_ctx_new(), .path = tc_graph_work_path(c->work->w)};
    tc_status st = read_kernel_options(options, &b, err);
    c->stop = b.o.stop;
    if (st == TC_OK)
        st = c->way(&b, c->work, c->task, &c->failed, json, err);
    tc_fleet_leave(b.fleet);
    tc_ctx_free(b.ctx);
    tc_arena_free(b.arena);
    tc_target_free(b.target);
    return st;
}

static tctune_status call_kernels(kernel_call *c, const tctune_bench_kernel_options *options, char **json, char *error,
                                  size_t error_size) {
    api_find_worker();
    API_DOCUMENT(err, error, error_size, json, bench_with(c, options, json, &err));
}

tctune_status tctune_bench_kernel(const tctune_work *w, int task, const tctune_bench_kernel_options *options, char **json,
                                  char *error, size_t error_size) {
    kernel_call c = {.way = bench_one, .work = w, .task = task};
    return api_unless_stopped(call_kernels(&c, options, json, error, error_size), c.stop);
}

tctune_status tctune_bench_kernels(tctune_work *w, const tctune_bench_kernel_options *options, int *failed, char **json,
                                   char *error, size_t error_size) {
    kernel_call c = {.way = bench_all, .work = w};
    tctune_status s = call_kernels(&c, options, json, error, error_size);
    if (failed)
        *failed = c.failed;
    return api_unless_stopped(s, c.stop);
}
