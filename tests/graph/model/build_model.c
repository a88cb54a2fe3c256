/* Whole models: built and run in this process, saved as a library, loaded again, and called by a C program of thirty lines. */
#include <math.h>
#include <sys/stat.h>
#include <unistd.h>

#include "graph/graph_text.h"
#include "graph/io/numpy.h"
#include "graph/lower_common.h"
#include "graph/onnx/import.h"
#include "graph/ops/ops.h"
#include "graph/saved/saved.h"
#include "graph/trials/bench.h"
#include "graph/zoo/zoo.h"
#include "measure/process/process.h"
#include "measure/records/admission.h"
#include "measure/records/maintain.h"
#include "measure/worker/worker.h"
#include "search_space/space.h"
#include "support/system/fs.h"
#include "tctune/tctune.h"
#include "te/text.h"
#include "tir_lower/program/program.h"

#define MODELS TCTUNE_SOURCE_DIR "/../shared/models/"
enum { MAX_PORTS = 8 };

static tc_target *native(void) {
    tc_target *t;
    assert_ok(tc_target_parse("native", &t, err));
    return t;
}

/* max|got - want| / max|want| of every output is within bound. */
static void expect_close(const tc_graph_tensor *got, const tc_graph_tensor *want, int n, double bound) {
    for (int i = 0; i < n; i++) {
        tc_graph_diff d;
        assert_ok(tc_graph_tensor_compare(&got[i], &want[i], 0, 0, &d, err));
        if (!(d.rel <= bound))
            fail_msg("output %d: error %g", i, d.rel);
    }
}

static void free_tensors(tc_graph_tensor *t, int n) {
    for (int i = 0; i < n; i++)
        tc_graph_tensor_free(&t[i]);
}

/* ---- the program in C ---- */

static void write_bytes(const char *path, const void *data, size_t size) {
    assert_ok(tc_fs_write(path, data, size, err));
}

static void run_caller(tc_graph_model *m, const char *so, const char *name, const tc_graph_tensor *in,
                       const tc_graph_tensor *want, double bound) {
    const tc_graph_port *ip, *op;
    int nin = tc_graph_model_inputs(m, &ip), nout = tc_graph_model_outputs(m, &op);
    char *dir, path[1200];
    assert_ok(tc_fs_temp_dir(&dir, err));
    tc_strbuf b = {0};
    tc_sb_printf(&b,
                 "cc -std=c17 -O1 -Wall -Wextra -Wpedantic -Werror -include %.*s.h -DMODEL=%s -DNIN=%d -DNOUT=%d -DOUT_BYTES=",
                 (int)strlen(so) - 3, so, name, nin, nout);
    for (int i = 0; i < nout; i++)
        tc_sb_printf(&b, "%s%zu", i ? "," : "", tc_graph_tensor_bytes(&want[i]));
    tc_sb_printf(&b, " %s/model/build_caller.c %s -Wl,-rpath,%s -o %s/caller && %s/caller %s", TCTUNE_TEST_DIR, so,
                 TCTUNE_TEST_TMP, dir, dir, dir);
    for (int i = 0; i < nin; i++) {
        snprintf(path, sizeof path, "%s/in.%d", dir, i);
        write_bytes(path, in[i].data, tc_graph_tensor_bytes(&in[i]));
    }
    assert_int_equal(system(tc_sb_str(&b)), 0);
    for (int i = 0; i < nout; i++) {
        char *data;
        size_t size;
        snprintf(path, sizeof path, "%s/out.%d", dir, i);
        assert_ok(tc_fs_read(path, &data, &size, err));
        assert_int_equal(size, tc_graph_tensor_bytes(&want[i]));
        tc_graph_tensor got = tc_graph_tensor_view(want[i].dtype, &want[i].shape, data);
        expect_close(&got, &want[i], 1, bound);
        free(data);
    }
    tc_strbuf_free(&b);
    tc_fs_remove_tree(dir);
    free(dir);
}

/* In process, saved and loaded, and from C: three times the expected outputs. */
static void check_model(const tc_graph *g, const char *name, const tc_graph_tensor *in, const tc_graph_tensor *want,
                        double bound) {
    tc_target *t = native();
    tc_graph_program *p;
    tc_graph_model *m, *loaded;
    tc_graph_tensor out[MAX_PORTS];
    int n = (int)g->outputs.len;
    char so[1024];
    snprintf(so, sizeof so, TCTUNE_TEST_TMP "/%s.so", name);
    assert_ok(tc_graph_program_new(g, &p, err));
    assert_ok(tc_graph_model_build(p, &(tc_graph_build_options){.target = t, .threads = 2}, &m, err));
    for (int run = 0; run < 2; run++) {
        assert_ok(tc_graph_model_run(m, in, out, err));
        expect_close(out, want, n, bound);
        free_tensors(out, n);
    }
    assert_ok(tc_graph_model_save(m, so, NULL, err));
    assert_ok(tc_graph_model_load(so, 0, &loaded, err));
    assert_ok(tc_graph_model_run(loaded, in, out, err));
    expect_close(out, want, n, bound);
    free_tensors(out, n);
    run_caller(loaded, so, name, in, want, bound);
    tc_graph_model_free(loaded);
    tc_graph_model_free(m);
    tc_graph_program_free(p);
    tc_target_free(t);
    remove(so);
}

static void test_mlp(void **state) {
    (void)state;
    tc_graph *g;
    tc_graph_tensor in[MAX_PORTS], want[MAX_PORTS];
    assert_ok(tc_graph_zoo("mlp", SCRATCH("build_mlp.onnx"), err));
    assert_ok(tc_graph_import(SCRATCH("build_mlp.onnx"), NULL, &g, err));
    assert_ok(tc_graph_tensor_alloc(&in[0], TC_F32, &g->inputs.data[0]->shape, err));
    for (int64_t i = 0; i < tc_graph_tensor_count(&in[0]); i++)
        ((float *)in[0].data)[i] = sinf((float)i);
    assert_ok(tc_graph_eval(g, in, want, err));
    check_model(g, "mlp", in, want, 1e-5);
    free_tensors(in, 1);
    free_tensors(want, (int)g->outputs.len);
    tc_graph_free(g);
    remove(SCRATCH("build_mlp.onnx"));
}

/* Results in place: from the library too, and from the C program. */
static void test_in_place(void **state) {
    (void)state;
    tc_graph *g;
    tc_graph_tensor in, want;
    assert_ok(graph_of_text("residuals", RESIDUALS, &g, err));
    assert_ok(tc_graph_tensor_alloc(&in, TC_F32, &g->inputs.data[0]->shape, err));
    for (int64_t i = 0; i < tc_graph_tensor_count(&in); i++)
        ((float *)in.data)[i] = sinf((float)i);
    assert_ok(tc_graph_eval(g, &in, &want, err));
    check_model(g, "residuals", &in, &want, 1e-5);
    tc_graph_tensor_free(&in);
    tc_graph_tensor_free(&want);
    tc_graph_free(g);
}

/* ---- networks with references ---- */

static void check_reference(const char *path, const char *npz, const char *model, const tc_graph_import_options *opts) {
    char key[256];
    tc_graph *g;
    tc_graph_bundle b;
    tc_graph_tensor in[MAX_PORTS], want[MAX_PORTS];
    assert_ok(tc_graph_import(path, opts, &g, err));
    assert_ok(tc_graph_npz_load(npz, &b, err));
    for (size_t i = 0; i < g->inputs.len; i++) {
        snprintf(key, sizeof key, "in.%s", g->inputs.data[i]->name);
        in[i] = *tc_graph_bundle_find(&b, key);
    }
    for (size_t i = 0; i < g->outputs.len; i++) {
        snprintf(key, sizeof key, "out.%s", g->outputs.data[i].name);
        want[i] = *tc_graph_bundle_find(&b, key);
    }
    check_model(g, model, in, want, 1e-4);
    tc_graph_bundle_free(&b);
    tc_graph_free(g);
}

static void test_bert(void **state) {
    (void)state;
    tc_graph_binding dims[] = {FIXED("batch", 2), FIXED("sequence", 7)};
    check_reference(TCTUNE_TEST_NETWORKS "/bert.onnx", TCTUNE_TEST_NETWORKS "/bert.b2_s7.npz", "bert",
                    &(tc_graph_import_options){.shapes = dims, .nshapes = TC_LEN(dims)});
}

/* Of ../shared, where that is there. */
static void check_shared(const char *model, const tc_graph_import_options *opts) {
    char path[1024], npz[1024], command[4096];
    snprintf(path, sizeof path, TCTUNE_TEST_TMP "/build_%s.onnx", model);
    snprintf(npz, sizeof npz, MODELS "%s.reference.npz", model);
    snprintf(command, sizeof command, "/usr/bin/python3 " MODELS "fill_weights.py " MODELS "%s.topology.onnx %s", model, path);
    if (!tc_fs_exists(npz))
        return;
    assert_int_equal(system(command), 0);
    check_reference(path, npz, model, opts);
    remove(path);
}

static void test_shared(void **state) {
    (void)state;
    tc_graph_binding dims[] = {FIXED("input_ids", 1, 128), FIXED("token_type_ids", 1, 128), FIXED("attention_mask", 1, 128)};
    check_shared("bert_tiny", NULL);
    check_shared("bert_tiny_dyn", &(tc_graph_import_options){.shapes = dims, .nshapes = TC_LEN(dims)});
}

/* ---- outputs that no kernel writes ---- */

static void test_copies(void **state) {
    (void)state;
    float w[] = {1, 2, 3, 4, 5, 6};
    tc_graph_writer *wr = tc_graph_writer_new("copies", 17);
    tc_graph_writer_input(wr, "x", TC_F32, "2,3");
    tc_graph_writer_weight(wr, "w", f32_tensor((tc_graph_shape)DIMS(2, 3), w));
    tc_graph_writer_node(wr, "Relu", "relu", "x", "y");
    tc_graph_writer_node(wr, "Transpose", "turn", "y", "z");
    tc_graph_writer_ints(wr, "perm", "1,0");
    tc_graph_writer_node(wr, "Flatten", "flat", "y", "f");
    tc_graph_writer_int(wr, "axis", 0);
    tc_graph_writer_node(wr, "Identity", "same", "x", "i");
    tc_graph_writer_node(wr, "Identity", "weight", "w", "c");
    static const char *const outs[] = {"y", "z", "f", "i", "c"};
    for (size_t i = 0; i < TC_LEN(outs); i++)
        tc_graph_writer_output(wr, outs[i], TC_F32, NULL);
    tc_graph *g;
    assert_ok(import_model(wr, SCRATCH("build_copies.onnx"), NULL, &g, err));
    tc_graph_tensor in[1] = {F32(DIMS(2, 3), -1, 2, -3, 4, 5, -6)}, want[MAX_PORTS];
    assert_ok(tc_graph_eval(g, in, want, err));
    check_model(g, "copies", in, want, 0);
    free_tensors(want, (int)g->outputs.len);
    tc_graph_free(g);
}

/* ---- one workload, records ---- */

static const char gemm[] =
    "tensor X[24, 40] f32\ntensor W[40, 33] f32 const\ncompute Y[i:24, j:33] = sum(k:40) X[i, k] * W[k, j]\noutput Y\n";

typedef struct bench {
    tc_ctx *ctx;
    const tc_workload *w;
    tc_target *target;
    tc_meas_db *db;
} bench;

static bench open_bench(void) {
    bench b = {.ctx = tc_ctx_new(), .target = native()};
    assert_ok(tc_te_parse(b.ctx, "gemm.te", gemm, &b.w, err));
    assert_ok(tc_meas_db_open_memory(&b.db, err));
    return b;
}

static void close_bench(bench *b) {
    tc_meas_db_close(b->db);
    tc_target_free(b->target);
    tc_ctx_free(b->ctx);
}

static void test_workload(void **state) {
    (void)state;
    bench b = open_bench();
    tc_graph_tensor ones, x, out, bad;
    assert_ok(tc_graph_tensor_alloc(&ones, TC_F32, &(tc_graph_shape)DIMS(40, 33), err));
    assert_ok(tc_graph_tensor_alloc(&x, TC_F32, &(tc_graph_shape)DIMS(24, 40), err));
    assert_ok(tc_graph_tensor_alloc(&bad, TC_F32, &(tc_graph_shape)DIMS(40, 24), err));
    for (int i = 0; i < 40 * 33; i++)
        ((float *)ones.data)[i] = 1;
    for (int i = 0; i < 24 * 40; i++)
        ((float *)x.data)[i] = (float)(i / 40);
    tc_graph_named named = {(char[]){"W"}, ones}, wrong = {(char[]){"W"}, bad};
    tc_graph_program *p;
    tc_graph_model *m;
    assert_fails(TC_BAD_INPUT, tc_graph_program_of_workload(b.w, "gemm", &wrong, 1, 1, &p, err), "'W'", "f32[40,24]",
                 "f32[40,33]");
    assert_ok(tc_graph_program_of_workload(b.w, "gemm", &named, 1, 1, &p, err));
    assert_ok(tc_graph_model_build(p, &(tc_graph_build_options){.target = b.target, .threads = 1}, &m, err));
    assert_ok(tc_graph_model_run(m, &x, &out, err));
    for (int i = 0; i < 24 * 33; i++)
        assert_float_equal(((float *)out.data)[i], 40.0F * (float)(i / 33), 1e-3);
    assert_fails(TC_BAD_INPUT, tc_graph_model_run(m, &bad, &out, err), "input 'X'", "f32[40,24]", "f32[24,40]");
    tc_graph_bundle none = {0}, got;
    assert_fails(TC_BAD_INPUT, tc_graph_model_run_named(m, &none, &got, err), "the model has the inputs X", "none");
    tc_graph_named mistyped = {(char[]){"XX"}, x};
    assert_fails(TC_BAD_INPUT, tc_graph_model_run_named(m, &(tc_graph_bundle){&mistyped, 1}, &got, err),
                 "arrays are XX; 'XX' is none of them; did you mean X?");
    tc_graph_tensor_free(&out);
    tc_graph_tensor_free(&ones);
    tc_graph_tensor_free(&x);
    tc_graph_tensor_free(&bad);
    tc_graph_model_free(m);
    tc_graph_program_free(p);
    close_bench(&b);
}

/* A record with a trace of our own, as verified as can be. */
static void put_record(const bench *b, const tc_tune_task *task, const char *trace, int threads) {
    tc_arena *a = tc_arena_new();
    tc_record r = tc_meas_record_empty();
    tc_strbuf text = {0};
    double time = 1e-5;
    tc_te_print(&text, task->workload);
    tc_meas_record_identify(a, &r, tc_sb_str(&text), tc_te_hash(task->workload), b->target->text, trace);
    r.times = &time;
    r.ntimes = 1;
    r.median = time;
    r.verified = true;
    r.threads = threads;
    assert_ok(tc_meas_db_insert(b->db, &r, 1, err));
    tc_strbuf_free(&text);
    tc_arena_free(a);
}

static const tc_graph_kernel *build_kernel(const bench *b, const tc_graph_program *p, int threads, tc_graph_model **m) {
    const tc_graph_kernel *k;
    assert_ok(tc_graph_model_build(p, &(tc_graph_build_options){.target = b->target, .threads = threads, .db = b->db}, m, err));
    assert_int_equal(tc_graph_model_kernels(*m, &k), 1);
    return k;
}

static void test_records(void **state) {
    (void)state;
    bench b = open_bench();
    tc_graph_program *p;
    tc_graph_model *m;
    const tc_tune_task *task;
    assert_ok(tc_graph_program_of_workload(b.w, "gemm", NULL, 0, 1, &p, err));
    assert_int_equal(tc_graph_program_tasks(p, &task), 1);
    tc_graph_build_options strict = {.target = b.target, .threads = 1, .db = b.db, .require_complete = true};
    assert_fails(TC_BAD_INPUT, tc_graph_model_build(p, &strict, &m, err), "1 of 1 kernels", "gemm f32[24,33]", "Tune the model");
    put_record(&b, task, "reorder t0.k0 t0.i1\nvectorize t0.i1\n", 1);
    const tc_graph_kernel *k = build_kernel(&b, p, 1, &m);
    assert_int_equal(k->source, TC_GRAPH_FROM_RECORD);
    assert_string_equal(k->trace, "reorder t0.k0 t0.i1\nvectorize t0.i1\n");
    assert_true(k->recorded == 1e-5 && k->record > 0);
    tc_graph_model_free(m);
    k = build_kernel(&b, p, 2, &m);
    assert_int_equal(k->source, TC_GRAPH_FROM_DEFAULT);
    assert_non_null(strstr(k->why, "threads"));
    tc_graph_model_free(m);
    tc_graph_program_free(p);
    close_bench(&b);
}

static bool is_admitted(const bench *b, const tc_tune_task *task, const char *trace) {
    tc_strbuf text = {0};
    bool is;
    tc_te_print(&text, task->workload);
    assert_ok(tc_meas_db_is_admitted(b->db, &(tc_meas_program){tc_sb_str(&text), b->target->text, trace, 1, 0}, &is, err));
    tc_strbuf_free(&text);
    return is;
}

static uint64_t program_of(const bench *b, const tc_tune_task *task, const char *trace) {
    tc_ctx *ctx = tc_ctx_child(task->workload->ctx);
    tc_machine machine = b->target->machine;
    tc_tir_program p;
    machine.cores = 1;
    tc_tir_origin from = {.workload = task->workload, .machine = &machine, .text = trace, .name = "record"};
    assert_ok(tc_tir_program_make(ctx, &from, TC_TIR_HASH, &p, err));
    tc_ctx_free(ctx);
    return p.hash;
}

/* A record runs here only when a worker of this build found it right on this machine; then nobody asks again. */
static void test_admission(void **state) {
    (void)state;
    static const char good[] = "reorder t0.k0 t0.i1\nvectorize t0.i1\n";
    bench b = open_bench();
    tc_graph_program *p;
    tc_graph_model *m;
    const tc_tune_task *task;
    const tc_graph_kernel *k;
    assert_ok(tc_graph_program_of_workload(b.w, "gemm", NULL, 0, 1, &p, err));
    tc_graph_program_tasks(p, &task);
    put_record(&b, task, good, 1);
    tc_graph_build_options o = {.target = b.target, .threads = 1, .db = b.db};
    tc_meas_worker_use("");
    assert_ok(tc_graph_model_build(p, &o, &m, err));
    tc_graph_model_kernels(m, &k);
    assert_int_equal(k->source, TC_GRAPH_FROM_DEFAULT);
    assert_non_null(strstr(k->why, "not measured by this build on this machine"));
    tc_graph_model_free(m);
    assert_false(is_admitted(&b, task, good));
    tc_meas_worker_use(NULL);
    assert_int_equal(build_kernel(&b, p, 1, &m)->source, TC_GRAPH_FROM_RECORD); /* by a worker */
    tc_graph_model_free(m);
    assert_true(is_admitted(&b, task, good));
    assert_false(is_admitted(&b, task, "vectorize t0.i1\n"));
    tc_meas_worker_use("");
    assert_ok(tc_graph_model_build(p, &o, &m, err)); /* without one: it is known */
    tc_meas_worker_use(NULL);
    tc_graph_model_kernels(m, &k);
    assert_int_equal(k->source, TC_GRAPH_FROM_RECORD);
    int64_t id = k->record;
    tc_graph_model_free(m);
    tc_record wrong = tc_meas_record_empty();
    wrong.error = TC_MEAS_WRONG_RESULT;
    wrong.program = program_of(&b, task, good);
    assert_ok(tc_meas_db_note_failure(b.db, id, &wrong, err));
    assert_false(is_admitted(&b, task, good));
    tc_graph_program_free(p);
    close_bench(&b);
}

static void test_broken_record(void **state) {
    (void)state;
    bench b = open_bench();
    tc_graph_program *p;
    tc_graph_model *m;
    const tc_tune_task *task;
    assert_ok(tc_graph_program_of_workload(b.w, "gemm", NULL, 0, 1, &p, err));
    tc_graph_program_tasks(p, &task);
    put_record(&b, task, "vectorize t9.i1\n", 1);
    const tc_graph_kernel *k = build_kernel(&b, p, 1, &m);
    assert_int_equal(k->source, TC_GRAPH_FROM_DEFAULT);
    assert_non_null(strstr(k->why, "failed when it was checked: the trace does not apply"));
    tc_graph_tensor in[1], out[1];
    assert_ok(tc_graph_model_random_inputs(m, NULL, 1, in, err));
    assert_ok(tc_graph_model_run(m, in, out, err));
    double times[8];
    int n;
    tc_graph_timing_options o = {.warmup = 1, .repeats = 5};
    assert_ok(tc_graph_model_time(m, in, &o, times, &n, err));
    assert_int_equal(n, 5);
    assert_ok(tc_graph_model_profile(m, in, &o, err));
    assert_true(k->seconds > 0);
    tc_graph_tensor_free(in);
    tc_graph_tensor_free(out);
    tc_graph_model_free(m);
    tc_graph_program_free(p);
    close_bench(&b);
}

/* ---- places and targets that do not work ---- */

static void test_refusals(void **state) {
    (void)state;
    bench b = open_bench();
    tc_graph_program *p;
    tc_graph_model *m;
    tc_target *arm;
    tc_graph_tensor in[1], out[1];
    assert_ok(tc_graph_program_of_workload(b.w, "gemm", NULL, 0, 1, &p, err));
    assert_ok(tc_graph_model_build(p, &(tc_graph_build_options){.target = b.target, .threads = 1}, &m, err));
    assert_fails(TC_ENV, tc_graph_model_save(m, "/no/such/folder/m.so", NULL, err), "/no/such/folder");
    assert_false(tc_fs_exists("/no/such/folder/m.h"));
    assert_fails(TC_BAD_INPUT, tc_graph_model_save(m, SCRATCH("m.so"), "no-name", err), "no-name");
    tc_graph_model_free(m);
    const char *foreign =
        strncmp(b.target->triple, "aarch64", 7) ? "llvm -mtriple=aarch64-linux-gnu" : "llvm -mtriple=x86_64-linux-gnu";
    assert_ok(tc_target_parse(foreign, &arm, err));
    assert_fails(TC_BAD_INPUT, tc_graph_model_build(p, &(tc_graph_build_options){.target = arm, .threads = 1}, &m, err),
                 "cannot run");
    assert_ok(tc_graph_model_build(p, &(tc_graph_build_options){.target = arm, .threads = 1, .object_only = true}, &m, err));
    assert_ok(tc_graph_model_random_inputs(m, NULL, 1, in, err));
    assert_fails(TC_BAD_INPUT, tc_graph_model_run(m, in, out, err), "cannot run in this process");
    tc_graph_tensor_free(in);
    tc_graph_model_free(m);
    tc_target_free(arm);
    assert_fails(TC_BAD_INPUT, tc_graph_model_load(SCRATCH("nothing.so"), 0, &m, err), "no such file");
    write_bytes(SCRATCH("build_text.so"), "text", 4);
    assert_fails(TC_BAD_INPUT, tc_graph_model_load(SCRATCH("build_text.so"), 0, &m, err), "build_text.so",
                 "not a library that tctune built");
    tc_graph_program_free(p);
    close_bench(&b);
}

/* ---- the public API ---- */

/* What the model itself gave, twice and in a profile. */
static const tctune_build_options one_thread = {.struct_size = sizeof one_thread, .threads = 1};

static void check_api_context(const tctune_model *m, const DLTensor *in, DLTensor *out) {
    tctune_context *c;
    tctune_kernel_time times[32];
    float want[10];
    char error[512];
    memcpy(want, out->data, sizeof want);
    assert_int_equal(tctune_context_new(m, &c, error, sizeof error), TCTUNE_OK);
    assert_int_equal(tctune_context_output_shape(c, 0)[1], 10);
    assert_null(tctune_context_output_shape(c, 1));
    for (int i = 0; i < 2; i++) {
        memset(out->data, 0, sizeof want);
        assert_int_equal(tctune_context_run(c, in, out, error, sizeof error), TCTUNE_OK);
        assert_memory_equal(out->data, want, sizeof want);
    }
    assert_true(tctune_model_num_kernels(m) > 0 && tctune_model_num_kernels(m) <= (int)TC_LEN(times));
    assert_int_equal(tctune_context_profile(c, in, 2, times, error, sizeof error), TCTUNE_OK);
    assert_true(times[0].seconds > 0 && times[0].launches > 0);
    assert_int_equal(tctune_context_profile(c, in, 0, times, error, sizeof error), TCTUNE_BAD_INPUT);
    tctune_context_free(c);
}

static void test_api(void **state) {
    (void)state;
    tctune_model *m;
    char error[512] = "";
    DLDataType type;
    int ndim;
    const int64_t *shape;
    assert_ok(tc_graph_zoo("mlp", SCRATCH("build_api.onnx"), err));
    assert_int_equal(tctune_build_file(SCRATCH("none.onnx"), NULL, &m, error, sizeof error), TCTUNE_BAD_INPUT);
    assert_non_null(strstr(error, "none.onnx"));
    assert_int_equal(tctune_build_file(SCRATCH("build_api.onnx"), &one_thread, &m, error, sizeof error), TCTUNE_OK);
    assert_int_equal(tctune_model_num_inputs(m), 1);
    assert_string_equal(tctune_model_input(m, 0, &type, &ndim, &shape), "input");
    assert_null(tctune_model_output(m, 1, &type, &ndim, &shape));
    static float x[1 + 784], y[1 + 10];
    DLTensor in = {.data = x + 1, .device = {kDLCPU, 0}, .ndim = ndim, .dtype = type, .shape = (int64_t *)(uintptr_t)shape};
    tctune_model_output(m, 0, &type, &ndim, &shape);
    DLTensor out = {.data = y + 1, .device = {kDLCPU, 0}, .ndim = ndim, .dtype = type, .shape = (int64_t *)(uintptr_t)shape};
    assert_int_equal(tctune_model_run(m, &in, &out, error, sizeof error), TCTUNE_OK);
    float sum = 0;
    for (int i = 1; i <= 10; i++)
        sum += y[i];
    assert_true(isfinite(sum) && sum != 0);
    check_api_context(m, &in, &out);
    out.dtype.bits = 64;
    assert_int_equal(tctune_model_run(m, &in, &out, error, sizeof error), TCTUNE_BAD_INPUT);
    assert_non_null(strstr(error, "f32[1,10]"));
    tctune_model_free(m);
    remove(SCRATCH("build_api.onnx"));
}

/* More than any machine has: refused before anything is allocated or compiled, by name and size, also by the public functions. */
static void test_too_large(void **state) {
    (void)state;
    tc_graph *g;
    tc_graph_model *m = NULL;
    tctune_model *api = NULL;
    char error[512];
    tc_target *t;
    assert_ok(tc_target_parse("native", &t, err));
    tc_graph_writer *w = tc_graph_writer_new("huge", 17);
    tc_graph_writer_input(w, "a", TC_F32, "1048576,1");
    tc_graph_writer_input(w, "b", TC_F32, "1,1048576");
    tc_graph_writer_output(w, "y", TC_F32, NULL);
    tc_graph_writer_node(w, "MatMul", "first", "a,b", "between");
    tc_graph_writer_node(w, "MatMul", "again", "between,a", "y");
    assert_ok(tc_graph_writer_save(w, SCRATCH("huge.onnx"), err));
    tc_graph_writer_free(w);
    assert_ok(tc_graph_import(SCRATCH("huge.onnx"), NULL, &g, err));
    tc_graph_program *p;
    assert_ok(tc_graph_program_new(g, &p, err));
    tc_graph_build_options o = {.target = t, .threads = 1};
    assert_fails(TC_ENV, tc_graph_model_build(p, &o, &m, err), "'between', 4398046511104 bytes", "4.0 TiB", "are free");
    assert_null(m);
    assert_int_equal(tctune_build_file(SCRATCH("huge.onnx"), &one_thread, &api, error, sizeof error), TCTUNE_ENVIRONMENT);
    assert_non_null(strstr(error, "'between'"));
    tc_graph_program_free(p);
    tc_graph_free(g);
    tc_target_free(t);
    remove(SCRATCH("huge.onnx"));
}

/* The same of results, whose memory is asked for when the model runs. */
static void test_too_large_output(void **state) {
    (void)state;
    tc_graph *g;
    tc_graph_model *m;
    tc_target *t;
    assert_ok(tc_target_parse("native", &t, err));
    static float ones[1 << 20];
    tc_graph_tensor in = tc_graph_tensor_view(TC_F32, &(tc_graph_shape)DIMS(1, 1 << 20), ones), out;
    tc_graph_writer *w = tc_graph_writer_new("wide", 17);
    tc_graph_writer_input(w, "x", TC_F32, "1,1048576");
    tc_graph_writer_output(w, "y", TC_F32, NULL);
    tc_graph_writer_weight(w, "rows", I64(DIMS(2), 1 << 20, 1));
    tc_graph_writer_node(w, "Expand", "wide", "x,rows", "y");
    assert_ok(tc_graph_writer_save(w, SCRATCH("wide.onnx"), err));
    tc_graph_writer_free(w);
    assert_ok(tc_graph_import(SCRATCH("wide.onnx"), NULL, &g, err));
    tc_graph_program *p;
    assert_ok(tc_graph_program_new(g, &p, err));
    assert_ok(tc_graph_model_build(p, &(tc_graph_build_options){.target = t, .threads = 1}, &m, err));
    assert_fails(TC_ENV, tc_graph_model_run(m, &in, &out, err), "the output 'y', f32[1048576,1048576]", "4.0 TiB");
    assert_fails(TC_BAD_INPUT, tc_graph_model_save(m, SCRATCH("wide.so"), NULL, err), "wide.so: 43", "2 GiB", "--shape");
    tc_graph_model_free(m);
    tc_graph_program_free(p);
    tc_graph_free(g);
    tc_target_free(t);
    remove(SCRATCH("wide.onnx"));
}

int main(int argc, char **argv) {
    if (argc > 1 && strcmp(argv[1], "worker") == 0)
        return tc_meas_worker_main(TC_MEAS_WORKER_FD, TC_MEAS_WORKER_FD);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_mlp),
        cmocka_unit_test(test_in_place),
        cmocka_unit_test(test_copies),
        cmocka_unit_test(test_workload),
        cmocka_unit_test(test_records),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_admission),
        cmocka_unit_test(test_broken_record),
        cmocka_unit_test(test_api),
        cmocka_unit_test(test_bert),
        cmocka_unit_test(test_shared),
        cmocka_unit_test(test_too_large),
        cmocka_unit_test(test_too_large_output),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
