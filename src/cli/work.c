/* Implements work.h. */
#include "cli/work.h"

#include <float.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/print.h"
#include "support/system/fs.h"
#include "support/system/stop.h"

static const char default_db[] = "tctune.db";

int tc_cli_refused(tctune_status s, tc_error *err) {
    if (s == TCTUNE_OK)
        return TC_CLI_DONE;
    tc_error_prefix(err, "--");
    return s == TCTUNE_BAD_INPUT ? TC_CLI_USAGE : TC_CLI_FAILED;
}

/* ---- network or kernel ---- */

tctune_level tc_cli_level(const tc_cli_pass_args *p) {
    return p->level < 0 ? TCTUNE_LEVEL_DEFAULT : (tctune_level)(TCTUNE_LEVEL_0 + p->level);
}

static tctune_work_options options_of(const tc_cli_source_args *a) {
    return (tctune_work_options){.struct_size = sizeof(tctune_work_options),
                                 .model = a->model,
                                 .te = a->te,
                                 .shapes = a->shape.data,
                                 .fixed_inputs = a->fixed.data,
                                 .shape_weights = a->weights,
                                 .in_place_cache = a->in_place_cache,
                                 .level = tc_cli_level(&a->passes),
                                 .without = a->passes.disable.data,
                                 .fixed = !a->varying,
                                 .dump_graph = a->passes.dump,
                                 .pass_times = a->passes.times};
}

int tc_cli_work_check(const tc_cli_source_args *a, tc_error *err) {
    const tc_cli_pass_args *p = &a->passes;
    if (!a->model && !a->te)
        return tc_cli_usage(
            err, "no model and no kernel is named: give an ONNX file (MODEL.onnx, or --model FILE) or a kernel (KERNEL.te, or "
                 "--te FILE)");
    if (a->model && a->te)
        return tc_cli_usage(err, "--model and --te exclude each other: give one of them");
    if (a->te && (p->level >= 0 || p->disable.len || p->times || p->dump))
        return tc_cli_usage(
            err, "--opt-level, --disable-pass, --print-pass-times and --dump-graph go with --model: a .te kernel has no graph");
    if (a->te && a->fixed.len)
        return tc_cli_usage(err, "--input goes with --model: a .te kernel has no inputs of fixed values");
    if (a->te && a->in_place_cache)
        return tc_cli_usage(err, "--in-place-cache goes with --model: a .te kernel has no cache");
    tctune_work_options o = options_of(a);
    return tctune_work_check(&o, TC_CLI_SAY(err)) == TCTUNE_OK ? TC_CLI_DONE : TC_CLI_USAGE;
}

int tc_cli_work_open(const tc_cli_source_args *a, const char *constants, uint64_t seed, tctune_work **out, tc_error *err) {
    *out = NULL;
    int status = tc_cli_work_check(a, err);
    if (status != TC_CLI_DONE)
        return status;
    tctune_work_options o = options_of(a);
    o.constants = constants;
    o.seed = seed;
    status = tc_cli_status(tctune_open(&o, out, TC_CLI_SAY(err)));
    if (status == TC_CLI_DONE && *tctune_work_assumed(*out))
        tc_say(stderr, "sizes assumed: %s; give others with --shape NAME=LEAST..MOST\n", tctune_work_assumed(*out));
    return status;
}

const char *tc_cli_work_path(const tc_cli_source_args *a) {
    return a->model ? a->model : a->te;
}

/* ---- target ---- */

int tc_cli_check_target(const tc_cli_target_args *a, bool runs_here, tc_error *err) {
    tctune_machine_options o = {.struct_size = sizeof o, .target = a->name, .threads = 1}; /* --threads is another matter */
    char *text;
    if (tctune_machine(&o, &text, TC_CLI_SAY(err)) != TCTUNE_OK) {
        tc_error_prefix(err, a->name ? "--target: " : "");
        return TC_CLI_USAGE;
    }
    json_t *machine = tc_cli_document(text);
    bool here = json_is_true(json_object_get(machine, "runs_here"));
    json_decref(machine);
    if (!runs_here || here)
        return TC_CLI_DONE;
    return tc_cli_usage(
        err,
        "--target %s: its code does not run on this machine, so nothing can be timed here. `tctune build --target` makes a "
        "library for it, from the records of such a machine (--db), or else with default schedules",
        a->name);
}

/* ---- fleet ---- */

tctune_fleet tc_cli_fleet(const tc_cli_fleet_args *a) {
    return (tctune_fleet){.struct_size = sizeof(tctune_fleet),
                          .url = a->url,
                          .creds = a->creds,
                          .nkey = a->nkey,
                          .tls_ca = a->ca,
                          .key = a->key,
                          .workers = a->workers,
                          .weight = a->weight,
                          .fallback = a->fallback};
}

int tc_cli_check_fleet(const tc_cli_fleet_args *a, tc_error *err) {
    if (!a->url && (a->creds || a->nkey || a->ca || a->key || a->workers || a->weight || a->fallback))
        return tc_cli_usage(err, "--key, --workers, --weight, --fleet-fallback, --creds, --nkey and --tls-ca go with --fleet: "
                                 "without it this machine measures");
    return TC_CLI_DONE;
}

/* ---- database ---- */

const char *tc_cli_db_path(const tc_cli_db_args *a) {
    return a->path ? a->path : default_db;
}

const char *tc_cli_db_to_read(const tc_cli_db_args *a) {
    return !a->untuned && (a->path || tc_fs_exists(default_db)) ? tc_cli_db_path(a) : NULL;
}

/* ---- one kernel ---- */

int tc_cli_task(const tctune_work *w, const char *kernel, int *out, tc_error *err) {
    *out = tctune_work_num_tasks(w) == 1 ? 0 : -1;
    if (!kernel || tctune_work_find_task(w, kernel, out, TC_CLI_SAY(err)) == TCTUNE_OK)
        return TC_CLI_DONE;
    tc_error_prefix(err, "--kernel: ");
    return TC_CLI_USAGE;
}

int tc_cli_one_task(const tctune_work *w, const char *path, const char *kernel, int *out, tc_error *err) {
    int status = tc_cli_task(w, kernel, out, err);
    if (status == TC_CLI_DONE && *out < 0)
        return tc_cli_usage(err, "%s has %d kernels: name one with --kernel; `tctune show` lists them", path,
                            tctune_work_num_tasks(w));
    return status;
}

int tc_cli_check_at(const tctune_work *w, int task, const tc_cli_texts *at, tc_error *err) {
    return tc_cli_refused(tctune_work_sizes_at(w, task, at->data, NULL, TC_CLI_SAY(err)), err);
}

/* ---- models ---- */

static int on_build(void *user, int done, int total, const char *kernel) {
    const tc_cli_progress_args *a = user;
    if (tc_cli_tells_events(a)) {
        tc_cli_tell_event(a, tc_cli_build_event(done, total, kernel));
    } else if (tc_cli_tells_progress(a) && isatty(STDERR_FILENO)) {
        if (done < total)
            tc_say(stderr, "\rbuilding %d of %d: %.48s\033[K", done + 1, total, kernel);
        else
            tc_say(stderr, "\r\033[K");
        fflush(stderr);
    }
    return 0; /* the library sees the stop flag itself */
}

tctune_build_options tc_cli_build_options(const tc_cli_model_args *a) {
    return (tctune_build_options){.struct_size = sizeof(tctune_build_options),
                                  .target = a->target.name,
                                  .threads = a->target.threads,
                                  .database = tc_cli_db_to_read(&a->db),
                                  .require_complete = a->require_complete,
                                  .accuracy = a->accuracy.accuracy,
                                  .precision = a->accuracy.precision,
                                  .progress = on_build,
                                  .user = (void *)(uintptr_t)&a->progress,
                                  .last = !a->keep,
                                  .stop = tc_cli_stop_flag()};
}

int tc_cli_check_error_budget(const tc_cli_model_args *a, bool in_graph, tc_error *err) {
    if (!a->accuracy.precision || strcmp(a->accuracy.precision, "f32") == 0)
        return tc_cli_usage(err, "--error-budget goes with --precision auto: in f32 there is nothing to choose");
    if (in_graph || a->source.te || a->target.name)
        return tc_cli_usage(
            err,
            "--error-budget runs the network on this machine: give it with --model, and without --target and --top-k-in-graph");
    return TC_CLI_DONE;
}

double tc_cli_error_budget(double budget) {
    return budget < 0 ? 0 : budget > 0 ? budget : DBL_MIN; /* no error of an output is that small */
}

static int open_library(const tc_cli_model_args *a, tctune_model **out, tc_error *err) {
    const char *path = a->source.model;
    if (a->source.in_place_cache)
        return tc_cli_usage(err, "%s: a built library cannot change; give --in-place-cache to `tctune build`", path);
    if (a->source.weights)
        return tc_cli_usage(err, "%s: a built library cannot change; give --shape-weights to `tctune build`", path);
    return tc_cli_status(tctune_load(path, a->target.threads, out, TC_CLI_SAY(err)));
}

void tc_cli_warn_of(const json_t *report) {
    const json_t *unused = json_object_get(report, "unused_records");
    if (json_is_object(unused))
        tc_say(stderr, "warning: %s\n", tc_cli_text(unused, "message"));
}

static int warn(const tctune_model *m, tc_error *err) {
    char *text;
    if (tctune_model_report(m, &text, TC_CLI_SAY(err)) != TCTUNE_OK)
        return TC_CLI_FAILED;
    json_t *report = tc_cli_document(text);
    tc_cli_warn_of(report);
    json_decref(report);
    return TC_CLI_DONE;
}

int tc_cli_model_open(const tc_cli_model_args *a, tctune_model **out, tc_error *err) {
    tctune_work *w = NULL;
    *out = NULL;
    if (a->source.model && tctune_is_library(a->source.model))
        return open_library(a, out, err);
    tctune_build_options o = tc_cli_build_options(a);
    int status = tc_cli_check_target(&a->target, true, err);
    if (status == TC_CLI_DONE)
        status = tc_cli_work_open(&a->source, NULL, a->seed, &w, err);
    if (status == TC_CLI_DONE)
        status = tc_cli_status(tctune_build(w, &o, out, TC_CLI_SAY(err)));
    if (status == TC_CLI_DONE && (status = warn(*out, err)) != TC_CLI_DONE) {
        tctune_model_free(*out);
        *out = NULL;
    }
    tctune_work_free(w);
    return status;
}

int tc_cli_check_model_at(const tctune_model *m, const tc_cli_texts *at, tc_error *err) {
    return tc_cli_refused(tctune_model_sizes_at(m, at->data, NULL, TC_CLI_SAY(err)), err);
}

double tc_cli_tolerance_of(double given) {
    return given > 0 ? given : given < 0 ? 0 : -1;
}

static bool is_named(const tc_cli_source_args *a) {
    return a->te || a->model;
}

int tc_cli_kernel_check(const tc_cli_source_args *a, int of_record, tc_error *err) {
    if (!is_named(a) && !of_record)
        return tc_cli_usage(err, "no kernel is named: give a kernel (KERNEL.te), or a model (MODEL.onnx) and --kernel");
    return is_named(a) ? tc_cli_work_check(a, err) : TC_CLI_DONE;
}

int tc_cli_kernel_open(const tc_cli_source_args *a, const char *kernel, const tc_cli_texts *at, tctune_work **w, int *task,
                       tc_error *err) {
    tc_cli_source_args source = *a;
    *w = NULL;
    *task = 0;
    if (!is_named(a))
        return TC_CLI_DONE;
    source.varying = at->len > 0;
    int status = tc_cli_work_open(&source, NULL, 0, w, err);
    if (status == TC_CLI_DONE)
        status = tc_cli_one_task(*w, tc_cli_work_path(&source), kernel, task, err);
    return status == TC_CLI_DONE ? tc_cli_check_at(*w, *task, at, err) : status;
}
