/* tctune trace: the timeline of one run, by thread. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/watch/timeline.h"
#include "support/system/fs.h"
#include "support/system/memory.h"

typedef struct trace_args {
    tc_cli_common common;
    tc_cli_model_args model;
    const char *out, *inputs;
    tc_cli_texts at;
    bool json;
} trace_args;

static const tc_cli_option options[] = {
    TC_CLI_SOURCE_OPTIONS(trace_args, model.source),
    TC_CLI_AT_OPTION(trace_args, at),
    TC_CLI_WEIGHTS_OPTION(trace_args, model.source.weights),
    TC_CLI_DB_OPTION(trace_args, model.db.path),
    TC_CLI_UNTUNED_OPTION(trace_args, model.db.untuned),
    TC_CLI_TARGET_OPTION(trace_args, model.target.name),
    TC_CLI_ACCURACY_OPTION(trace_args, model.accuracy),
    TC_CLI_PRECISION_OPTION(trace_args, model.accuracy),
    TC_CLI_THREADS_OPTION(trace_args, model.target.threads),
    TC_CLI_SEED_OPTION(trace_args, model.seed),
    TC_CLI_COMPLETE_OPTION(trace_args, model.require_complete),
    TC_CLI_INPUTS_OPTION(trace_args, inputs),
    TC_CLI_OUT_OPTION(trace_args, out),
    TC_CLI_PASS_OPTIONS(trace_args, model.source.passes),
    TC_CLI_NO_CACHE_OPTION(trace_args),
    TC_CLI_JSON_OPTION(trace_args, json),
};

static const char *path_of(const trace_args *a) {
    return a->model.source.model ? a->model.source.model : a->model.source.te;
}

/* ---- what is said of it ---- */

/* Seconds of all threads together. */
typedef struct shares {
    double work, fork, wait;
} shares;

static shares shares_of(const tc_graph_trace *t) {
    shares s = {0};
    for (int i = 0; i < t->threads; i++)
        for (int k = 0; k < t->npart[i]; k++) {
            const tc_graph_traced_part *p = &t->parts[i][k];
            s.work += p->end - p->begin;
            s.fork += p->begin - t->loops[p->loop].begin;
            s.wait += fmax(0, t->loops[p->loop].end - p->end);
        }
    return s;
}

static void print(const trace_args *a, const tc_graph_trace *t) {
    shares s = shares_of(t);
    double all = t->seconds * t->threads;
    char time[24];
    if (a->json) {
        tc_cli_json_print(json_pack("{s:s, s:f, s:i, s:i, s:i, s:f, s:f, s:f}", "out", a->out, "run_ms", t->seconds * 1e3,
                                    "threads", t->threads, "steps", t->nstep, "parallel_loops", t->nloop, "work_share",
                                    s.work / all, "fork_share", s.fork / all, "wait_share", s.wait / all));
        return;
    }
    printf("%s: one run of %s, %d steps with %d parallel loops on %d threads\n", a->out, tc_cli_time(time, t->seconds), t->nstep,
           t->nloop, t->threads);
    printf("of the threads' time: %.1f %% work in parallel loops, %.1f %% forks, %.1f %% waiting for the last thread\n",
           100 * s.work / all, 100 * s.fork / all, 100 * s.wait / all);
    printf("open it in https://ui.perfetto.dev or chrome://tracing\n");
}

/* ---- the run ---- */

static tc_status write_timeline(const trace_args *a, const tc_cli_timeline *l, tc_error *err) {
    json_t *j = tc_cli_timeline_json(l);
    char *text = json_dumps(j, JSON_COMPACT | JSON_REAL_PRECISION(15));
    json_decref(j);
    if (!text) {
        tc_alloc_refuse();
        return tc_memory_ran_out(err);
    }
    tc_status st = tc_fs_write(a->out, text, strlen(text), err);
    free(text);
    return st;
}

static bool is_smaller(const tc_graph_size_rules *rules, const int64_t *sizes) {
    for (int k = 0; k < rules->nsize; k++)
        if (sizes[k] < rules->size[k].most)
            return true;
    return false;
}

static tc_status report(const trace_args *a, tc_graph_model *m, const tc_graph_tensor *in, const tc_graph_trace *t,
                        tc_error *err) {
    tc_arena *arena = tc_arena_new();
    const tc_graph_size_rules *rules = tc_graph_model_sizes(m);
    int64_t *sizes = TC_NEW_N(arena, int64_t, rules->nsize);
    tc_graph_roofs roofs = {0};
    tc_cli_timeline l = {.trace = t, .roofs = &roofs};
    tc_status st = tc_graph_size_rules_bind(rules, in, sizes, err);
    if (st == TC_OK) {
        l.what = tc_arena_printf(arena, "%s%s", path_of(a), tc_cli_sizes_text(arena, rules, sizes));
        l.smaller = is_smaller(rules, sizes);
        tc_graph_model_kernels(m, &l.kernels);
        tc_graph_model_others(m, &l.others);
        tc_graph_measure_roofs(m, &roofs);
        st = write_timeline(a, &l, err);
    }
    if (st == TC_OK)
        print(a, t);
    tc_graph_roofs_free(&roofs);
    tc_arena_free(arena);
    return st;
}

static tc_status trace_on(const trace_args *a, tc_graph_model *m, const tc_graph_bundle *in, tc_error *err) {
    tc_graph_tensor *views = tc_xcalloc(in->len + 1, sizeof *views);
    tc_graph_trace t = {0};
    tc_status st = tc_graph_model_match(m, in, views, err);
    if (st == TC_OK)
        st = tc_graph_model_trace(m, views, &t, err);
    else if (a->inputs)
        tc_error_prefix(err, "%s: ", a->inputs);
    if (st == TC_OK)
        st = report(a, m, views, &t, err);
    tc_graph_trace_free(&t);
    free(views);
    return st;
}

static int trace_model(const void *user, tc_graph_model *m, tc_error *err) {
    const trace_args *a = user;
    tc_arena *arena = tc_arena_new();
    const int64_t *sizes;
    tc_graph_bundle in = {0};
    int status = tc_cli_at_network(&a->at, tc_graph_model_sizes(m), arena, &sizes, err);
    if (status == TC_CLI_DONE) {
        tc_status st = tc_graph_inputs_load(m, a->inputs, sizes, a->model.seed, &in, err);
        if (st == TC_OK)
            st = trace_on(a, m, &in, err);
        status = st == TC_OK ? TC_CLI_DONE : TC_CLI_FAILED;
    }
    tc_graph_bundle_free(&in);
    tc_arena_free(arena);
    return status;
}

/* The model may be named without --model. */
static int take_operand(trace_args *a, tc_error *err) {
    if (!a->common.operands.len)
        return TC_CLI_DONE;
    if (a->common.operands.len > 1 || a->model.source.model || a->model.source.te)
        return tc_cli_usage(err, "'%s': one model is traced at a time", a->common.operands.data[0]);
    a->model.source.model = a->common.operands.data[0];
    return TC_CLI_DONE;
}

static int run(const void *args, tc_error *err) {
    trace_args a = *(const trace_args *)args;
    int status = take_operand(&a, err);
    if (status == TC_CLI_DONE)
        status = tc_cli_check_source(&a.model.source, err);
    if (status != TC_CLI_DONE)
        return status;
    if (a.at.len && a.inputs)
        return tc_cli_usage(err, "--at and --inputs exclude each other: inputs have sizes of their own");
    a.model.source.varying = a.at.len > 0;
    if (tc_fs_check_writable(a.out, err) != TC_OK)
        return TC_CLI_FAILED;
    return tc_cli_with_model(&a.model, trace_model, &a, err);
}

const tc_cli_command tc_cli_trace = {
    .name = "trace",
    .summary = "write the timeline of one run, by thread, for Perfetto and chrome://tracing",
    .operands = "[FILE]",
    .details =
        "FILE is the model, as of --model. A slice for each kernel on each thread that worked for it, and in that from the fork "
        "until the thread began (fork), its part (work), and until the last thread was done (wait). It is the fastest of ten, "
        "after "
        "unmeasured ones; peaks and bandwidths that kernels are shares of are measured behind it. "
        "Of sizes that vary drawn inputs have the largest; with --at those, and the least above 0 that it does not tell.",
    TC_CLI_ARGS(trace_args, options),
    .defaults = &(const trace_args){.model = TC_CLI_MODEL_DEFAULTS},
    .required = "out",
    .run = run,
};
