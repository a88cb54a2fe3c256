/* tctune trace: writes the timeline of one run, by thread. */
#include <stdlib.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/work.h"
#include "support/system/fs.h"

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
    TC_CLI_ACCURACY_OPTIONS(trace_args, model.accuracy),
    TC_CLI_THREADS_OPTION(trace_args, model.target.threads),
    TC_CLI_SEED_OPTION(trace_args, model.seed),
    TC_CLI_COMPLETE_OPTION(trace_args, model.require_complete),
    TC_CLI_INPUTS_OPTION(trace_args, inputs),
    TC_CLI_OUT_OPTION(trace_args, out, "FILE.json", "the timeline to write"),
    TC_CLI_PASS_OPTIONS(trace_args, model.source.passes),
    TC_CLI_NO_CACHE_OPTION(trace_args),
    TC_CLI_JSON_OPTION(trace_args, json),
};

/* ---- what is said of it ---- */

static json_t *summary(const char *out, const json_t *of) {
    static const char *const same[] = {"threads", "steps", "parallel_loops", "work_share", "fork_share", "wait_share"};
    json_t *j = tc_json_pack("{s:s, s:f}", "out", out, "run_ms", tc_cli_real(of, "run_us") / 1e3);
    for (size_t i = 0; i < TC_LEN(same); i++)
        tc_json_set(j, same[i], json_incref(json_object_get(of, same[i])));
    return j;
}

static void print(const char *out, const json_t *of) {
    char time[24];
    tc_say(stdout, "%s: one run of %s, %lld steps with %lld parallel loops on %lld threads\n", out,
           tc_text_time(time, tc_cli_real(of, "run_us") / 1e6), tc_cli_number(of, "steps"), tc_cli_number(of, "parallel_loops"),
           tc_cli_number(of, "threads"));
    tc_say(stdout, "of the threads' time: %.1f %% work in parallel loops, %.1f %% forks, %.1f %% waiting for the last thread\n",
           100 * tc_cli_real(of, "work_share"), 100 * tc_cli_real(of, "fork_share"), 100 * tc_cli_real(of, "wait_share"));
    tc_say(stdout, "open it in https://ui.perfetto.dev or chrome://tracing\n");
}

/* ---- the run ---- */

static int write_timeline(const char *out, const json_t *j, tc_error *err) {
    char *text = tc_json_text(j, JSON_COMPACT | JSON_REAL_PRECISION(15));
    if (!text) {
        tc_alloc_refuse();
        return TC_CLI_FAILED;
    }
    tc_status s = tc_fs_write(out, text, strlen(text), err);
    free(text);
    return s == TC_OK ? TC_CLI_DONE : TC_CLI_FAILED;
}

static int trace(const trace_args *a, tctune_model *m, tc_error *err) {
    tctune_trace_options o = {.struct_size = sizeof o,
                              .name = tc_cli_work_path(&a->model.source),
                              .inputs = a->inputs,
                              .at = a->at.data,
                              .seed = a->model.seed};
    char *text;
    int status = tc_cli_check_model_at(m, &a->at, err);
    if (status == TC_CLI_DONE)
        status = tc_cli_status(tctune_trace(m, &o, &text, TC_CLI_SAY(err)));
    if (status != TC_CLI_DONE)
        return status;
    json_t *j = tc_cli_document(text);
    const json_t *of = json_object_get(j, "otherData");
    status = write_timeline(a->out, j, err);
    if (status == TC_CLI_DONE && a->json)
        tc_cli_json_print(summary(a->out, of));
    else if (status == TC_CLI_DONE)
        print(a->out, of);
    json_decref(j);
    return status;
}

static int run(const void *args, tc_error *err) {
    trace_args a = *(const trace_args *)args;
    int status = tc_cli_work_check(&a.model.source, err);
    if (status != TC_CLI_DONE)
        return status;
    if (a.at.len && a.inputs)
        return tc_cli_usage(err, "--at and --inputs exclude each other: inputs have sizes of their own");
    a.model.source.varying = a.at.len > 0;
    if (tc_fs_check_writable(a.out, err) != TC_OK)
        return TC_CLI_FAILED;
    tctune_model *m;
    status = tc_cli_model_open(&a.model, &m, err);
    if (status == TC_CLI_DONE)
        status = trace(&a, m, err);
    tctune_model_free(m);
    return status;
}

const tc_cli_command tc_cli_trace = {
    .name = "trace",
    .summary = "write the timeline of one run, by thread, for Perfetto and chrome://tracing",
    .source = "MODEL.onnx|LIBRARY.so|KERNEL.te",
    .synopsis = "-o FILE.json [--threads N]",
    .details = "Each kernel is a slice on each thread that works for it. Within it, `fork` lasts until the thread begins, `work` "
               "is its part, and `wait` lasts until "
               "the last thread is done. The run is the fastest of ten after a few that are not timed. The peak and the "
               "bandwidth of the machine are measured after it. "
               "Where sizes vary, random inputs have the largest sizes; with --at they have the given ones.",
    .examples = {{"Write the timeline of a library:", "tctune trace mlp.so -o mlp.json"},
                 {"Write the timeline of a network on 2 threads:", "tctune trace mlp.onnx --threads 2 -o mlp.json"}},
    TC_CLI_ARGS(trace_args, options),
    .defaults = &(const trace_args){.model = TC_CLI_MODEL_DEFAULTS},
    .required = "out",
    .run = run,
};
