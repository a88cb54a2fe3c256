#include "calls.h"

#include <dirent.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/commands.h"
#include "graph/onnx/write.h"
#include "graph/work/work.h"
#include "measure/records/exchange.h"
#include "support/strbuf.h"
#include "support/system/fs.h"
#include "support/system/memory.h"
#include "tctune/tctune.h"
#include "te/text.h"
#include "tune/tune.h"

/* Fails as the function that it stands in. */
#define REQUIRE(condition, ...)                                                                                                  \
    do {                                                                                                                         \
        if (!(condition))                                                                                                        \
            return tc_fail(err, TC_ENV, __VA_ARGS__);                                                                            \
    } while (0)

enum { IN = 4 * 8 * 8, OUT = 6, TRIALS = 12 };
static const char *const models[] = {"functions",    "if_concat", "loop_concat", "loop_while",      "scan_batch",
                                     "sequence_map", "optional",  "loop_hoist",  "loop_hoist_large"};
static const char kernel[] = "tensor X[16, 24] f32\ntensor W[24, 32] f32 const\ntensor B[32] f32 const\n"
                             "compute D[i:16, j:32] = sum(k:24) X[i, k] * W[k, j]\ncompute Y[i:16, j:32] = gelu(D[i, j] + B[j])\n"
                             "output Y\n";

static struct {
    const char *data;
    tctune_model *model, *made; /* what is run and saved; what a call built or loaded */
    tctune_model *loaded;       /* model's library, from its file */
    tctune_context *context;    /* of loaded */
    float in[IN], out[OUT], want[OUT];
    char *library, *lines; /* what is right */
    size_t library_size;
    tc_strbuf records, traces;
} world;

/* ---- a model ---- */

static tc_graph_tensor weights(tc_graph_shape shape) {
    tc_graph_tensor t;
    tc_error err = {0};
    if (tc_graph_tensor_alloc(&t, TC_F32, &shape, &err) != TC_OK)
        abort();
    int64_t n = tc_graph_shape_count(&shape);
    for (int64_t i = 0; i < n; i++)
        ((float *)t.data)[i] = (float)((i * 7 + 3) % 23 - 11) / 16;
    return t;
}

/* Convolution, norm, pooling, product, softmax, and a sort, which is a library kernel. */
static tc_status write_model(tc_error *err) {
    tc_graph_writer *w = tc_graph_writer_new("small", 17);
    tc_graph_writer_input(w, "x", TC_F32, "1,4,8,8");
    tc_graph_writer_output(w, "y", TC_F32, NULL);
    tc_graph_writer_weight(w, "w1", weights((tc_graph_shape){4, {8, 4, 3, 3}}));
    tc_graph_writer_node(w, "Conv", "conv", "x,w1", "h1");
    tc_graph_writer_ints(w, "pads", "1,1,1,1");
    tc_graph_writer_node(w, "Relu", "relu", "h1", "h2");
    tc_graph_writer_node(w, "GlobalAveragePool", "pool", "h2", "h3");
    tc_graph_writer_node(w, "Flatten", "flat", "h3", "h4");
    tc_graph_writer_weight(w, "w2", weights((tc_graph_shape){2, {8, 12}}));
    tc_graph_writer_node(w, "MatMul", "dense", "h4,w2", "h5");
    tc_graph_writer_node(w, "Softmax", "soft", "h5", "h6");
    int64_t k = OUT, one = 1;
    tc_graph_writer_raw(w, "k", 7, &one, 1, &k, sizeof k);
    tc_graph_writer_node(w, "TopK", "best", "h6,k", "y,index");
    tc_status s = tc_graph_writer_save(w, "small.onnx", err);
    tc_graph_writer_free(w);
    return s;
}

/* ---- the calls of tctune.h ---- */

static tc_status nothing(tc_error *err) {
    (void)err;
    return TC_OK;
}

static tc_status of(tctune_status s, const char *message, tc_error *err) {
    REQUIRE(s == TCTUNE_OK, "%s", message);
    return TC_OK;
}

/* A call that failed left nothing to whoever made it. */
static tc_status none_made(tc_error *err) {
    REQUIRE(!world.made, "it failed, and gave a model");
    return TC_OK;
}

/* The model's input and output, in world. */
static void ports_of(const tctune_model *m, DLTensor *in, DLTensor *out) {
    const int64_t *shape;
    int ndim;
    *in = (DLTensor){.data = world.in, .device = {kDLCPU, 0}};
    *out = (DLTensor){.data = world.out, .device = {kDLCPU, 0}};
    tctune_model_input(m, 0, &in->dtype, &ndim, &shape);
    in->ndim = ndim;
    in->shape = (int64_t *)(uintptr_t)shape;
    tctune_model_output(m, 0, &out->dtype, &ndim, &shape);
    out->ndim = ndim;
    out->shape = (int64_t *)(uintptr_t)shape;
    memset(world.out, 0, sizeof world.out);
}

static tc_status run_it(tctune_model *m, tc_error *err) {
    char message[1024] = "";
    DLTensor in, out;
    ports_of(m, &in, &out);
    return of(tctune_model_run(m, &in, &out, message, sizeof message), message, err);
}

static tc_status run_in(tctune_context *c, const tctune_model *m, tc_error *err) {
    char message[1024] = "";
    DLTensor in, out;
    ports_of(m, &in, &out);
    return of(tctune_context_run(c, &in, &out, message, sizeof message), message, err);
}

static tc_status outputs_right(tc_error *err) {
    for (int i = 0; i < OUT; i++)
        REQUIRE(fabsf(world.out[i] - world.want[i]) <= 1e-5F, "output %d is %g and should be %g", i, world.out[i], world.want[i]);
    return TC_OK;
}

/* What was built or loaded computes what it should. */
static tc_status made_right(tc_error *err) {
    REQUIRE(world.made, "it gave no model");
    tc_status s = run_it(world.made, err);
    tctune_model_free(world.made);
    world.made = NULL;
    return s == TC_OK ? outputs_right(err) : s;
}

static tc_status build_with(const char *database, tc_error *err) {
    char message[1024] = "";
    tctune_build_options o = {.struct_size = sizeof o, .threads = 1, .database = database};
    return of(tctune_build_file("small.onnx", &o, &world.made, message, sizeof message), message, err);
}

static tc_status build(tc_error *err) {
    return build_with(NULL, err);
}

static tc_status build_tuned(tc_error *err) {
    return build_with("tuned.db", err);
}

static tc_status load(tc_error *err) {
    char message[1024] = "";
    return of(tctune_load("whole/net.so", 1, &world.made, message, sizeof message), message, err);
}

static tc_status run(tc_error *err) {
    return run_it(world.model, err);
}

/* A context of its own for each call: made, run and freed. */
static tc_status new_context_of(const tctune_model *m, tc_error *err) {
    char message[1024] = "";
    tctune_context *c = NULL;
    tc_status s = of(tctune_context_new(m, &c, message, sizeof message), message, err);
    REQUIRE((s == TC_OK) == (c != NULL), "it %s, and gave %s context", s == TC_OK ? "was done" : "failed", c ? "a" : "no");
    if (c)
        s = run_in(c, m, err);
    tctune_context_free(c);
    return s;
}

static tc_status new_context(tc_error *err) {
    return new_context_of(world.model, err);
}

static tc_status new_context_of_library(tc_error *err) {
    return new_context_of(world.loaded, err);
}

static tc_status run_context(tc_error *err) {
    return run_in(world.context, world.loaded, err);
}

static tc_status profile_context(tc_error *err) {
    char message[1024] = "";
    tctune_kernel_time times[64];
    DLTensor in, out;
    ports_of(world.loaded, &in, &out);
    return of(tctune_context_profile(world.context, &in, 2, times, message, sizeof message), message, err);
}

static tc_status profile(tc_error *err) {
    char message[1024] = "";
    tctune_kernel_time times[64];
    DLTensor in, out;
    ports_of(world.model, &in, &out);
    return of(tctune_model_profile(world.model, &in, 2, times, message, sizeof message), message, err);
}

/* ---- files ---- */

/* What is in new/ is what stood there before, or all of `data`. */
static tc_status whole(const char *name, const char *data, size_t size, bool done, tc_error *err) {
    static const char former[] = "the former one";
    char path[64], *now;
    size_t n;
    struct dirent *e;
    DIR *d = opendir("new");
    while (d && (e = readdir(d)))
        REQUIRE(!strstr(e->d_name, ".tmp-"), "new/%s is left", e->d_name);
    closedir(d);
    snprintf(path, sizeof path, "new/%s", name);
    TC_TRY(tc_fs_read(path, &now, &n, err));
    bool is_new = n == size && !memcmp(now, data, n), is_former = n == sizeof former - 1 && !memcmp(now, former, n);
    free(now);
    REQUIRE(is_new || (!done && is_former), "%s is neither whole nor the former one", path);
    return TC_OK;
}

static tc_status empty_new(tc_error *err) {
    tc_fs_remove_tree("new");
    REQUIRE(mkdir("new", 0700) == 0, "cannot make new/");
    return TC_OK;
}

static tc_status former_file(const char *name, tc_error *err) {
    char path[64];
    TC_TRY(empty_new(err));
    snprintf(path, sizeof path, "new/%s", name);
    return tc_fs_write(path, "the former one", 14, err);
}

static tc_status former_library(tc_error *err) {
    return former_file("net.so", err);
}

static tc_status save(tc_error *err) {
    char message[1024] = "";
    return of(tctune_model_save(world.model, "new/net.so", NULL, message, sizeof message), message, err);
}

static tc_status library_right(tc_error *err) {
    return whole("net.so", world.library, world.library_size, true, err);
}

static tc_status library_whole(tc_error *err) {
    return whole("net.so", world.library, world.library_size, false, err);
}

/* ---- what is not in tctune.h ---- */

static tc_status import_file(const char *path, tc_error *err) {
    tc_graph_work *w;
    tc_graph_work_options o = {.model = path, .passes.level = TC_GRAPH_OPT_DEFAULT};
    tc_status s = tc_graph_work_open(&o, &w, err);
    tc_graph_work_free(w);
    return s;
}

static tc_status import_all(tc_error *err) {
    char path[4096];
    tc_status s = import_file("small.onnx", err);
    for (size_t i = 0; s == TC_OK && i < sizeof models / sizeof models[0]; i++) {
        snprintf(path, sizeof path, "%s/%s.onnx", world.data, models[i]);
        s = import_file(path, err);
    }
    return s;
}

static tc_status import(tc_error *err) {
    tc_status s = tc_memory_begin(err);
    return s == TC_OK ? tc_memory_end(import_all(err), err) : s;
}

static tc_status search(tc_tune_options *o, tc_meas_db *db, const tc_workload *w, tc_error *err) {
    tc_tune *t;
    tc_tune_task task = {.name = "dense", .workload = w, .weight = 1};
    TC_TRY(tc_tune_new(o, &task, 1, db, &t, err));
    tc_status s = tc_tune_run(t, err);
    tc_tune_free(t);
    return s;
}

static tc_status tune_with(const char *path, bool simulated, int trials, tc_error *err) {
    tc_target *target = NULL;
    tc_meas_db *db = NULL;
    const tc_workload *w;
    tc_ctx *c = tc_ctx_new();
    tc_status s = tc_te_parse(c, "kernel", kernel, &w, err);
    if (s == TC_OK)
        s = tc_target_parse("native", &target, err);
    if (s == TC_OK)
        s = tc_meas_db_open(path, TC_MEAS_DB_WRITE, &db, err);
    if (s == TC_OK) {
        tc_tune_options o = {.target = target, .trials = trials, .threads = 1, .batch = trials / 2, .seed = 5};
        o.measure = (tc_meas_options){.samples = 3, .min_sample = 1e-4, .mode = simulated ? TC_MEAS_SIMULATED : TC_MEAS_HOT};
        s = search(&o, db, w, err);
    }
    tc_meas_db_close(db);
    tc_target_free(target);
    tc_ctx_free(c);
    return s;
}

static tc_status tune_call(bool simulated, int trials, tc_error *err) {
    tc_status s = tc_memory_begin(err);
    return s == TC_OK ? tc_memory_end(tune_with("new/t.db", simulated, trials, err), err) : s;
}

static tc_status tune(tc_error *err) {
    return tune_call(true, TRIALS, err);
}

static tc_status tune_real(tc_error *err) {
    return tune_call(false, 2, err);
}

/* A line for each record of the file: what is the same in each search that has one seed. Times may change while it goes on. */
static tc_status list_records(const char *path, bool times, tc_strbuf *b, tc_error *err) {
    tc_meas_db *db;
    tc_meas_records r;
    if (access(path, F_OK) != 0)
        return TC_OK;
    TC_TRY(tc_meas_db_open(path, TC_MEAS_DB_WRITE, &db, err)); /* it may be empty yet */
    tc_arena *a = tc_arena_new();
    tc_status s = tc_meas_db_select(db, a, &(tc_meas_filter){0}, &r, err);
    for (size_t i = 0; s == TC_OK && i < r.len; i++)
        tc_sb_printf(b, "%s %s %a\n", r.data[i].trace_hash.hex, tc_meas_error_text(r.data[i].error),
                     times ? r.data[i].median : 0);
    tc_arena_free(a);
    tc_meas_db_close(db);
    return s;
}

static tc_status records_right(tc_error *err) {
    tc_strbuf b = {0};
    tc_status s = list_records("new/t.db", true, &b, err);
    if (s == TC_OK && strcmp(tc_sb_str(&b), tc_sb_str(&world.records)))
        s = tc_fail(err, TC_ENV, "the records are\n%sand should be\n%s", tc_sb_str(&b), tc_sb_str(&world.records));
    tc_strbuf_free(&b);
    return s;
}

/* Each record is one that should be there, and the same search ends on this file. */
static tc_status records_sound(tc_error *err) {
    tc_strbuf b = {0};
    tc_status s = list_records("new/t.db", false, &b, err);
    for (char *line = b.data ? strtok(b.data, "\n") : NULL; s == TC_OK && line; line = strtok(NULL, "\n"))
        if (!strstr(tc_sb_str(&world.traces), line))
            s = tc_fail(err, TC_ENV, "a record was made that should not be there: %s", line);
    tc_strbuf_free(&b);
    return s == TC_OK ? tune(err) : s;
}

/* Whatever was measured was right: no candidate failed for what was refused here. */
static tc_status real_records_sound(tc_error *err) {
    tc_strbuf b = {0};
    tc_status s = list_records("new/t.db", false, &b, err);
    for (char *line = b.data ? strtok(b.data, "\n") : NULL; s == TC_OK && line; line = strtok(NULL, "\n"))
        if (!strstr(line, " ok "))
            s = tc_fail(err, TC_ENV, "a candidate failed: %s", line);
    tc_strbuf_free(&b);
    return s;
}

static tc_status export_to(const char *path, tc_error *err) {
    tc_meas_db *db;
    size_t n;
    TC_TRY(tc_meas_db_open("searched.db", TC_MEAS_DB_READ, &db, err));
    tc_status s = tc_meas_export(db, &(tc_meas_filter){0}, path, &n, err);
    tc_meas_db_close(db);
    return s;
}

static tc_status export_records(tc_error *err) {
    tc_status s = tc_memory_begin(err);
    return s == TC_OK ? tc_memory_end(export_to("new/all.json", err), err) : s;
}

static tc_status former_lines(tc_error *err) {
    return former_file("all.json", err);
}

static tc_status lines_right(tc_error *err) {
    return whole("all.json", world.lines, strlen(world.lines), true, err);
}

static tc_status lines_whole(tc_error *err) {
    return whole("all.json", world.lines, strlen(world.lines), false, err);
}

static void taken(void *user, const char *file, size_t added, size_t known) {
    (void)user;
    (void)file;
    (void)added;
    (void)known;
}

static tc_status import_records(tc_error *err) {
    tc_status s = tc_memory_begin(err);
    const char *file = "whole/tuned.json";
    return s == TC_OK ? tc_memory_end(tc_meas_take_files("new/t.db", &file, 1, taken, NULL, err), err) : s;
}

static tc_status merge_records(tc_error *err) {
    tc_status s = tc_memory_begin(err);
    const char *file = "tuned.db";
    return s == TC_OK ? tc_memory_end(tc_meas_take_files("new/t.db", &file, 1, taken, NULL, err), err) : s;
}

static tc_status as_many(bool none, tc_error *err) {
    tc_strbuf is = {0}, want = {0};
    tc_status s = list_records("new/t.db", false, &is, err);
    if (s == TC_OK)
        s = list_records("tuned.db", false, &want, err);
    if (s == TC_OK && strcmp(tc_sb_str(&is), tc_sb_str(&want)) && !(none && !is.len))
        s = tc_fail(err, TC_ENV, "some of the records were taken in:\n%s", tc_sb_str(&is));
    tc_strbuf_free(&is);
    tc_strbuf_free(&want);
    return s;
}

static tc_status all_taken(tc_error *err) {
    return as_many(false, err);
}

static tc_status all_or_none_taken(tc_error *err) {
    return as_many(true, err);
}

/* ---- commands ---- */

static tc_status parse_and_run(const tc_cli_command *c, int argc, char **argv, tc_error *err) {
    tc_cli_common *args;
    int status = tc_cli_parse(c, argc, argv, &args, err);
    if (status == TC_CLI_DONE)
        status = c->run(args, err);
    tc_cli_args_free(c, args);
    return status == TC_CLI_DONE ? TC_OK : TC_ENV;
}

/* As the command does it, with words apart by spaces; what it prints is not looked at. */
static tc_status command(const tc_cli_command *c, const char *line, tc_error *err) {
    enum { MOST = 24 };
    char words[512], *argv[MOST], *save = NULL;
    int argc = 0;
    snprintf(words, sizeof words, "%s", line);
    for (char *word = strtok_r(words, " ", &save); word && argc < MOST; word = strtok_r(NULL, " ", &save))
        argv[argc++] = word;
    fflush(stdout);
    int was = dup(STDOUT_FILENO), none = open("/dev/null", O_WRONLY | O_CLOEXEC);
    dup2(none, STDOUT_FILENO);
    tc_status s = tc_memory_begin(err);
    if (s == TC_OK)
        s = tc_memory_end(parse_and_run(c, argc, argv, err), err);
    fflush(stdout);
    dup2(was, STDOUT_FILENO);
    close(was);
    close(none);
    return s;
}

static tc_status command_run(tc_error *err) {
    return command(&tc_cli_run, "--model small.onnx --db tuned.db --threads 1", err);
}

static tc_status command_build(tc_error *err) {
    return command(&tc_cli_build, "--model small.onnx --db tuned.db --threads 1 --out new/net.so", err);
}

static tc_status command_tune(tc_error *err) {
    return command(&tc_cli_tune, "--te kernel.te --db new/t.db --threads 1 --trials 2 --batch 2 --mode hot", err);
}

/* With computed times: what a command asks for, without the workers that take most of its time. */
static tc_status command_tune_computed(tc_error *err) {
    return command(&tc_cli_tune, "--te kernel.te --db new/t.db --threads 1 --trials 2 --batch 2 --deterministic-measure", err);
}

static tc_status command_import(tc_error *err) {
    return command(&tc_cli_db_import, "whole/tuned.json --db new/t.db", err);
}

/* What the build wrote computes what it should. */
static tc_status library_loads(tc_error *err) {
    char message[1024] = "";
    TC_TRY(of(tctune_load("new/net.so", 1, &world.made, message, sizeof message), message, err));
    return made_right(err);
}

static tc_status library_loads_or_is_former(tc_error *err) {
    tc_error other = {0};
    return library_whole(&other) == TC_OK ? TC_OK : library_loads(err);
}

/* ---- the table ---- */

const call calls[] = {
    {"import", nothing, import, nothing, nothing},
    {"build", nothing, build, made_right, none_made},
    {"build tuned", nothing, build_tuned, made_right, none_made},
    {"save", former_library, save, library_right, library_whole},
    {"load", nothing, load, made_right, none_made},
    {"run", nothing, run, outputs_right, nothing},
    {"profile", nothing, profile, nothing, nothing},
    {"new context", nothing, new_context, outputs_right, nothing},
    {"new context of a library", nothing, new_context_of_library, outputs_right, nothing},
    {"run a context", nothing, run_context, outputs_right, nothing},
    {"profile a context", nothing, profile_context, nothing, nothing},
    {"tune", empty_new, tune, records_right, records_sound},
    {"tune with workers", empty_new, tune_real, real_records_sound, real_records_sound},
    {"export", former_lines, export_records, lines_right, lines_whole},
    {"take in lines", empty_new, import_records, all_taken, all_or_none_taken},
    {"take in a database", empty_new, merge_records, all_taken, all_or_none_taken},
    {"tctune run", empty_new, command_run, nothing, nothing},
    {"tctune build", former_library, command_build, library_loads, library_loads_or_is_former},
    {"tctune tune", empty_new, command_tune, real_records_sound, real_records_sound},
    {"tctune tune, computed", empty_new, command_tune_computed, real_records_sound, real_records_sound},
    {"tctune db import", empty_new, command_import, all_taken, all_or_none_taken},
};
const int ncalls = sizeof calls / sizeof calls[0];

/* ---- what the calls need ---- */

/* The model's kernels, measured here, so that builds use them. */
static tc_status tune_model(tc_error *err) {
    tc_graph_work *w;
    tc_target *target = NULL;
    tc_meas_db *db = NULL;
    tc_tune *t = NULL;
    const tc_tune_task *tasks;
    tc_graph_work_options o = {.model = "small.onnx", .passes.level = TC_GRAPH_OPT_DEFAULT};
    TC_TRY(tc_graph_work_open(&o, &w, err));
    int n = tc_graph_work_tasks(w, &tasks);
    tc_status s = tc_target_parse("native", &target, err);
    if (s == TC_OK)
        s = tc_meas_db_open("tuned.db", TC_MEAS_DB_WRITE, &db, err);
    if (s == TC_OK) {
        tc_tune_options to = {.target = target, .trials = 2 * n, .threads = 1, .batch = 2, .seed = 5};
        to.measure = (tc_meas_options){.samples = 3, .min_sample = 1e-4};
        s = tc_tune_new(&to, tasks, n, db, &t, err);
    }
    if (s == TC_OK)
        s = tc_tune_run(t, err);
    tc_tune_free(t);
    size_t lines;
    if (s == TC_OK)
        s = tc_meas_export(db, &(tc_meas_filter){0}, "whole/tuned.json", &lines, err);
    tc_meas_db_close(db);
    tc_target_free(target);
    tc_graph_work_free(w);
    return s;
}

tc_status calls_setup(const char *data, tc_error *err) {
    char message[1024] = "";
    world.data = data;
    REQUIRE(mkdir("whole", 0700) == 0, "cannot make whole/");
    for (int i = 0; i < IN; i++)
        world.in[i] = (float)(i % 13 - 6) / 8;
    TC_TRY(tc_fs_write("kernel.te", kernel, strlen(kernel), err));
    TC_TRY(write_model(err));
    TC_TRY(tune_model(err));
    TC_TRY(build(err));
    world.model = world.made;
    world.made = NULL;
    TC_TRY(run(err));
    memcpy(world.want, world.out, sizeof world.want);
    TC_TRY(of(tctune_model_save(world.model, "whole/net.so", NULL, message, sizeof message), message, err));
    TC_TRY(tc_fs_read("whole/net.so", &world.library, &world.library_size, err));
    TC_TRY(of(tctune_load("whole/net.so", 1, &world.loaded, message, sizeof message), message, err));
    TC_TRY(of(tctune_context_new(world.loaded, &world.context, message, sizeof message), message, err));
    TC_TRY(tune_with("searched.db", true, TRIALS, err));
    TC_TRY(list_records("searched.db", true, &world.records, err));
    TC_TRY(list_records("searched.db", false, &world.traces, err));
    TC_TRY(export_to("whole/all.json", err));
    return tc_fs_read("whole/all.json", &world.lines, NULL, err);
}

void calls_free(void) {
    tctune_context_free(world.context);
    tctune_model_free(world.loaded);
    tctune_model_free(world.model);
    free(world.library);
    free(world.lines);
    tc_strbuf_free(&world.records);
    tc_strbuf_free(&world.traces);
}
