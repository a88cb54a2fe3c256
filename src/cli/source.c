/* What commands work on, as their options say: the network or kernel, the target, the database. */
#include "cli/cli.h"
#include "graph/saved/saved.h"
#include "support/system/fs.h"

static const char default_db[] = "tctune.db";

/* ---- network or kernel ---- */

int tc_cli_check_source(const tc_cli_source_args *a, tc_error *err) {
    const tc_cli_pass_args *p = &a->passes;
    if (!a->model && !a->te)
        return tc_cli_usage(err, "nothing to work on: name a network with --model FILE.onnx or a kernel with --te FILE.te");
    if (a->model && a->te)
        return tc_cli_usage(err, "--model and --te exclude each other: give one of them");
    if (a->te && (p->level >= 0 || p->disable.len || p->times || p->dump))
        return tc_cli_usage(
            err, "--opt-level, --disable-pass, --print-pass-times and --dump-graph go with --model: a .te kernel has no graph");
    if (a->te && a->in_place_cache)
        return tc_cli_usage(err, "--in-place-cache goes with --model: a .te kernel has no cache");
    return tc_cli_check_passes(p, err);
}

tc_graph_pass_options tc_cli_pass_options(const tc_cli_pass_args *a) {
    return (tc_graph_pass_options){.level = a->level >= 0 ? a->level : TC_GRAPH_OPT_DEFAULT,
                                   .disabled = a->disable.data,
                                   .ndisabled = a->disable.len,
                                   .dump = a->dump,
                                   .times = a->times};
}

int tc_cli_check_passes(const tc_cli_pass_args *a, tc_error *err) {
    tc_graph_pass_options o = tc_cli_pass_options(a);
    return tc_graph_passes_check(&o, err) == TC_OK ? TC_CLI_DONE : TC_CLI_USAGE;
}

int tc_cli_open(const tc_cli_model_args *m, const char *constants, tc_graph_work **out, tc_error *err) {
    const tc_cli_source_args *a = &m->source;
    tc_graph_binding *shapes;
    *out = NULL;
    int status = tc_cli_check_source(a, err);
    if (status != TC_CLI_DONE)
        return status;
    if (tc_graph_bindings_parse(a->shape.data, a->shape.len, &shapes, err) != TC_OK)
        return TC_CLI_USAGE;
    tc_graph_work_options o = {.model = a->model,
                               .te = a->te,
                               .shapes = shapes,
                               .nshapes = a->shape.len,
                               .in_place_cache = a->in_place_cache,
                               .shape_weights = a->weights,
                               .passes = tc_cli_pass_options(&a->passes),
                               .varying = a->varying,
                               .constants = constants,
                               .seed = m->seed};
    tc_status st = tc_graph_work_open(&o, out, err);
    tc_graph_bindings_free(shapes, a->shape.len);
    if (st == TC_OK && *tc_graph_work_assumed(*out))
        fprintf(stderr, "sizes assumed: %s; give others with --shape NAME=LEAST..MOST\n", tc_graph_work_assumed(*out));
    return st == TC_OK ? TC_CLI_DONE : TC_CLI_FAILED;
}

int tc_cli_open_source(const tc_cli_source_args *a, tc_graph_work **out, tc_error *err) {
    return tc_cli_open(&(tc_cli_model_args){.source = *a}, NULL, out, err);
}

/* ---- target ---- */

int tc_cli_target(const tc_cli_target_args *a, bool runs_here, tc_target **out, tc_error *err) {
    *out = NULL;
    if (tc_target_parse(a->name ? a->name : "native", out, err) != TC_OK) {
        tc_error_prefix(err, "--target: ");
        return TC_CLI_USAGE;
    }
    if (runs_here && !(*out)->native) {
        tc_target_free(*out);
        *out = NULL;
        return tc_cli_usage(err,
                            "--target %s: code for it does not run on this machine, so nothing can be timed here; `tctune build "
                            "--target` makes a library for it: with the records of a database that was filled on such a "
                            "machine, and with default schedules where there are none",
                            a->name);
    }
    if (a->threads)
        (*out)->machine.cores = a->threads;
    return TC_CLI_DONE;
}

/* ---- database ---- */

const char *tc_cli_db_path(const tc_cli_db_args *a) {
    return a->path ? a->path : default_db;
}

tc_status tc_cli_db_write(const tc_cli_db_args *a, tc_meas_db **out, tc_error *err) {
    return tc_meas_db_open(tc_cli_db_path(a), TC_MEAS_DB_WRITE, out, err);
}

/* Whether there is a database to read. */
static bool reads_db(const tc_cli_db_args *a) {
    return !a->untuned && (a->path || tc_fs_exists(default_db));
}

tc_status tc_cli_db_read(const tc_cli_db_args *a, tc_meas_db **out, tc_error *err) {
    *out = NULL;
    if (!reads_db(a))
        return TC_OK;
    return tc_meas_db_open(tc_cli_db_path(a), TC_MEAS_DB_READ, out, err);
}

/* ---- built model ---- */

/* The database to read; NULL: none. */
static const char *db_to_read(const tc_cli_db_args *a) {
    return reads_db(a) ? tc_cli_db_path(a) : NULL;
}

static tc_graph_build_options build_options(const tc_cli_model_args *a, const tc_graph_work *w, const tc_target *target) {
    return (tc_graph_build_options){.target = target,
                                    .threads = target->machine.cores,
                                    .weights = tc_graph_work_weights(w),
                                    .accuracy = a->accuracy,
                                    .require_complete = a->require_complete,
                                    .stop = tc_cli_stop_flag(),
                                    .progress = tc_cli_on_build};
}

int tc_cli_model_build(const tc_cli_model_args *a, tc_graph_work *w, const tc_target *target, bool object_only,
                       const tc_graph_choice *choices, const tc_accuracy *accuracies, tc_graph_model **out, tc_error *err) {
    tc_graph_build_options o = build_options(a, w, target);
    o.object_only = object_only;
    o.use_up_constants = true;
    o.listing = a->listing;
    o.choices = choices;
    o.accuracies = accuracies;
    return tc_graph_work_build(w, &o, db_to_read(&a->db), out, err) == TC_OK ? TC_CLI_DONE : TC_CLI_FAILED;
}

static int with_source(const tc_cli_model_args *a, tc_cli_use_model *use, const void *user, tc_error *err) {
    tc_graph_work *w = NULL;
    tc_target *t = NULL;
    tc_graph_model *m = NULL;
    int status = tc_cli_target(&a->target, true, &t, err);
    if (status == TC_CLI_DONE)
        status = tc_cli_open(a, NULL, &w, err);
    if (status == TC_CLI_DONE)
        status = tc_cli_model_build(a, w, t, false, NULL, NULL, &m, err);
    if (status == TC_CLI_DONE)
        status = use(user, m, err);
    tc_graph_model_free(m);
    tc_graph_work_free(w);
    tc_target_free(t);
    return status;
}

static int with_library(const tc_cli_model_args *a, tc_cli_use_model *use, const void *user, tc_error *err) {
    tc_graph_model *m = NULL;
    if (a->source.in_place_cache)
        return tc_cli_usage(err, "%s: --in-place-cache is said when a library is built; this one is as it was built",
                            a->source.model);
    if (a->source.weights)
        return tc_cli_usage(err, "%s: --shape-weights is said when a library is built; this one is as it was built",
                            a->source.model);
    tc_status st = tc_graph_model_load(a->source.model, a->target.threads, &m, err);
    int status = st == TC_OK ? use(user, m, err) : TC_CLI_FAILED;
    tc_graph_model_free(m);
    return status;
}

int tc_cli_with_model(const tc_cli_model_args *a, tc_cli_use_model *use, const void *user, tc_error *err) {
    bool library = a->source.model && tc_graph_is_library(a->source.model);
    return (library ? with_library : with_source)(a, use, user, err);
}

int tc_cli_check_budget(const tc_cli_model_args *a, bool in_graph, tc_error *err) {
    if (!(a->accuracy & TC_ACCURACY_BF16))
        return tc_cli_usage(err, "--error-budget goes with --precision auto: in f32 there is nothing to choose");
    if (in_graph || a->source.te || a->target.name)
        return tc_cli_usage(
            err, "--error-budget chooses by running the network on this machine: it goes with --model, without --target and "
                 "--top-k-in-graph");
    return TC_CLI_DONE;
}

/* inputs NULL: none. */
static tc_status load_inputs(tc_graph_work *w, const tc_graph_build_options *o, const char *db, const char *inputs,
                             tc_graph_program **p, tc_graph_bundle *out, tc_error *err) {
    const tc_graph_port *ports;
    TC_TRY(tc_graph_work_program(w, o, db, p, err));
    int n = tc_graph_program_inputs(*p, &ports);
    return inputs ? tc_graph_bundle_load(inputs, "input", ports, n, out, err) : TC_OK;
}

int tc_cli_check_inputs(tc_graph_work *w, const char *inputs, tc_error *err) {
    tc_graph_program *p;
    tc_graph_bundle data = {0};
    tc_status st = load_inputs(w, NULL, NULL, inputs, &p, &data, err);
    tc_graph_bundle_free(&data);
    return st == TC_OK ? TC_CLI_DONE : TC_CLI_FAILED;
}

int tc_cli_precision(const tc_cli_model_args *a, tc_graph_work *w, const tc_target *target, const char *inputs, double budget,
                     tc_arena *arena, tc_graph_precision *out, tc_error *err) {
    tc_graph_program *p;
    tc_graph_bundle data = {0};
    tc_graph_build_options o = build_options(a, w, target);
    tc_status st = load_inputs(w, &o, db_to_read(&a->db), inputs, &p, &data, err);
    if (st == TC_OK) {
        st = tc_graph_precision_choose(p, &o, db_to_read(&a->db), &data, inputs != NULL, budget, arena, out, err);
        if (st == TC_BAD_INPUT && inputs)
            tc_error_prefix(err, "%s: ", inputs);
    }
    tc_graph_bundle_free(&data);
    return st == TC_OK ? TC_CLI_DONE : TC_CLI_FAILED;
}

int tc_cli_contest(const tc_cli_model_args *a, tc_graph_work *w, const tc_target *target, int k, tc_arena *arena,
                   tc_graph_admission *admitted, tc_graph_contest *out, tc_error *err) {
    tc_graph_program *p;
    tc_graph_build_options o = build_options(a, w, target);
    tc_status st = tc_graph_work_program(w, &o, db_to_read(&a->db), &p, err);
    if (st == TC_OK)
        st = tc_graph_contest_hold(p, &o, db_to_read(&a->db), k, arena, admitted, out, err);
    return st == TC_OK ? TC_CLI_DONE : TC_CLI_FAILED;
}

/* ---- one kernel ---- */

int tc_cli_pick(const tc_graph_work *w, const char *kernel, int *out, tc_error *err) {
    const tc_tune_task *tasks;
    int n = tc_graph_work_tasks(w, &tasks);
    *out = !kernel ? (n == 1 ? 0 : -1) : tc_graph_work_find(w, kernel);
    if (!kernel || *out >= 0)
        return TC_CLI_DONE;
    return tc_cli_usage(
        err, "--kernel: %s has no kernel '%s'; they are numbered 0 to %d, and `tctune show` without --kernel lists them",
        tc_graph_work_path(w), kernel, n - 1);
}

int tc_cli_pick_one(const tc_graph_work *w, const char *kernel, const tc_tune_task **out, tc_error *err) {
    int i, n = tc_graph_work_tasks(w, out), status = tc_cli_pick(w, kernel, &i, err);
    if (status == TC_CLI_DONE && i < 0)
        return tc_cli_usage(err, "%s has %d kernels: name one with --kernel; `tctune show` lists them", tc_graph_work_path(w), n);
    *out += TC_MAX(i, 0);
    return status;
}
