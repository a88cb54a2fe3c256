/* What commands work on: the network or kernel, the target, the database, and the schedule that a kernel would get. */
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "graph/onnx/import.h"
#include "support/fs.h"
#include "te/text.h"

static const char default_db[] = "tctune.db";

/* ---- network or kernel ---- */

int tc_cli_check_source(const tc_cli_source_args *a, tc_error *err) {
    const tc_cli_pass_args *p = &a->passes;
    if (!a->model && !a->te)
        return tc_cli_usage(err, "nothing to work on: name a network with --model FILE.onnx or a kernel with --te FILE.te");
    if (a->model && a->te)
        return tc_cli_usage(err, "--model and --te exclude each other: give one of them");
    if (a->te && a->shape.len)
        return tc_cli_usage(err, "--shape goes with --model: a .te kernel states its shapes itself");
    if (a->te && (p->level >= 0 || p->disable.len || p->times || p->dump))
        return tc_cli_usage(
            err, "--opt-level, --disable-pass, --print-pass-times and --dump-graph go with --model: a .te kernel has no graph");
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

int tc_cli_passes(const tc_cli_pass_args *a, tc_graph *g, tc_error *err) {
    tc_graph_pass_options o = tc_cli_pass_options(a);
    return tc_graph_passes(g, &o, err) == TC_OK ? TC_CLI_DONE : TC_CLI_FAILED;
}

bool tc_cli_is_library(const char *path) {
    char head[4] = "";
    FILE *f = fopen(path, "rb");
    bool elf = f && fread(head, 1, sizeof head, f) == sizeof head && memcmp(head, "\177ELF", 4) == 0;
    if (f)
        fclose(f);
    return elf;
}

static int open_model(const tc_cli_source_args *a, tc_cli_source *s, tc_error *err) {
    tc_graph_binding *shapes;
    if (tc_graph_bindings_parse(a->shape.data, a->shape.len, &shapes, err) != TC_OK)
        return TC_CLI_USAGE;
    tc_graph_import_options o = {.shapes = shapes, .nshapes = a->shape.len};
    tc_status st = tc_graph_import(a->model, &o, &s->graph, err);
    tc_graph_bindings_free(shapes, a->shape.len);
    if (st != TC_OK)
        return TC_CLI_FAILED;
    int status = tc_cli_passes(&a->passes, s->graph, err);
    if (status != TC_CLI_DONE)
        return status;
    if (tc_graph_program_new(s->graph, &s->program, err) != TC_OK) {
        tc_error_prefix(err, "%s: ", a->model);
        return TC_CLI_FAILED;
    }
    s->ntask = tc_graph_program_tasks(s->program, &s->tasks);
    return TC_CLI_DONE;
}

/* "gemm" of "dir/gemm.te", in s->ctx. */
static const char *stem(tc_cli_source *s) {
    const char *slash = strrchr(s->path, '/'), *name = slash ? slash + 1 : s->path;
    const char *dot = strrchr(name, '.');
    return tc_arena_strndup(tc_ctx_arena(s->ctx), name, dot && dot > name ? (size_t)(dot - name) : strlen(name));
}

static int open_te(const tc_cli_source_args *a, tc_cli_source *s, tc_error *err) {
    char *text = NULL;
    s->ctx = tc_ctx_new();
    tc_status st = tc_fs_read(a->te, &text, NULL, err);
    if (st == TC_OK)
        st = tc_te_parse(s->ctx, a->te, text, &s->workload, err);
    free(text);
    if (st != TC_OK)
        return TC_CLI_FAILED;
    s->single = (tc_tune_task){.name = stem(s), .workload = s->workload, .weight = 1};
    s->tasks = &s->single;
    s->ntask = 1;
    return TC_CLI_DONE;
}

int tc_cli_source_open(const tc_cli_source_args *a, tc_cli_source *s, tc_error *err) {
    *s = (tc_cli_source){.path = a->model ? a->model : a->te};
    int status = tc_cli_check_source(a, err);
    if (status != TC_CLI_DONE)
        return status;
    return a->model ? open_model(a, s, err) : open_te(a, s, err);
}

tc_status tc_cli_source_program(tc_cli_source *s, uint64_t seed, tc_graph_program **out, tc_error *err) {
    tc_status st = TC_OK;
    tc_graph_bundle constants = {0};
    if (!s->program && s->constants)
        st = tc_graph_bundle_load(s->constants, "input", NULL, 0, &constants, err);
    if (st == TC_OK && !s->program)
        st = tc_graph_program_of_workload(s->workload, s->single.name, constants.items, constants.len, seed, &s->program, err);
    tc_graph_bundle_free(&constants);
    *out = s->program;
    return st;
}

void tc_cli_source_free(tc_cli_source *s) {
    tc_graph_program_free(s->program);
    tc_graph_free(s->graph);
    tc_ctx_free(s->ctx);
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
                            "--target %s: code for it does not run on this machine, so it cannot be measured here; "
                            "`tctune build --target` makes a library for it from the records of a database",
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

static tc_graph_build_options build_options(const tc_cli_model_args *a, const tc_target *target, tc_meas_db *db) {
    return (tc_graph_build_options){.target = target,
                                    .threads = target->machine.cores,
                                    .accuracy = a->accuracy,
                                    .db = db,
                                    .require_complete = a->require_complete,
                                    .stop = tc_cli_stop_flag(),
                                    .progress = tc_cli_on_build};
}

int tc_cli_model_build(const tc_cli_model_args *a, tc_cli_source *s, const tc_target *target, bool object_only,
                       const tc_graph_choice *choices, tc_graph_model **out, tc_error *err) {
    tc_meas_db *db = NULL;
    tc_graph_program *p;
    *out = NULL;
    tc_status st = tc_cli_source_program(s, a->seed, &p, err);
    if (st == TC_OK)
        st = tc_cli_db_read(&a->db, &db, err);
    if (st == TC_OK) {
        tc_graph_build_options o = build_options(a, target, db);
        o.object_only = object_only;
        o.use_up_constants = true;
        o.choices = choices;
        st = tc_graph_model_build(p, &o, out, err);
    }
    tc_meas_db_close(db);
    return st == TC_OK ? TC_CLI_DONE : TC_CLI_FAILED;
}

static int with_source(const tc_cli_model_args *a, tc_cli_use_model *use, const void *user, tc_error *err) {
    tc_cli_source s = {0};
    tc_target *t = NULL;
    tc_graph_model *m = NULL;
    int status = tc_cli_target(&a->target, true, &t, err);
    if (status == TC_CLI_DONE)
        status = tc_cli_source_open(&a->source, &s, err);
    if (status == TC_CLI_DONE)
        status = tc_cli_model_build(a, &s, t, false, NULL, &m, err);
    if (status == TC_CLI_DONE && use(user, m, err) != TC_OK)
        status = TC_CLI_FAILED;
    tc_graph_model_free(m);
    tc_cli_source_free(&s);
    tc_target_free(t);
    return status;
}

static int with_library(const tc_cli_model_args *a, tc_cli_use_model *use, const void *user, tc_error *err) {
    tc_graph_model *m = NULL;
    tc_status st = tc_graph_model_load(a->source.model, a->target.threads, &m, err);
    if (st == TC_OK)
        st = use(user, m, err);
    tc_graph_model_free(m);
    return st == TC_OK ? TC_CLI_DONE : TC_CLI_FAILED;
}

int tc_cli_with_model(const tc_cli_model_args *a, tc_cli_use_model *use, const void *user, tc_error *err) {
    bool library = a->source.model && tc_cli_is_library(a->source.model);
    return (library ? with_library : with_source)(a, use, user, err);
}

int tc_cli_contest(const tc_cli_model_args *a, tc_cli_source *s, const tc_target *target, int k, tc_arena *arena,
                   tc_graph_admission *admitted, tc_graph_contest *out, tc_error *err) {
    tc_graph_program *p;
    tc_graph_build_options o = build_options(a, target, NULL);
    tc_status st = tc_cli_source_program(s, a->seed, &p, err);
    if (st == TC_OK)
        st = tc_graph_contest_hold(p, &o, reads_db(&a->db) ? tc_cli_db_path(&a->db) : NULL, k, arena, admitted, out, err);
    return st == TC_OK ? TC_CLI_DONE : TC_CLI_FAILED;
}
