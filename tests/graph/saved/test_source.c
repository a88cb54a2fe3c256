/* Models as C source: every fourth case of tests/targets, against the code in this process, through GCC with warnings as errors;
 * each 16th with optimisation, and through Clang 19 where it is here (test_size.h: or all); with threads and without; and a network
 * with large weights and one of library kernels, also as relocatable objects. */
#include <dirent.h>
#include <dlfcn.h>
#include <math.h>
#include <unistd.h>

#include "common/test_size.h"
#include "graph/graph_text.h"
#include "graph/lower_common.h"
#include "graph/onnx/import.h"
#include "graph/ops/ops.h"
#include "graph/saved/saved.h"
#include "graph/trials/bench.h"
#include "graph/zoo/zoo.h"
#include "support/rng.h"
#include "support/system/fs.h"
#include "te/text.h"

#define CASES TCTUNE_SOURCE_DIR "/tests/targets/cases/"
enum { MAX_PORTS = 16, FLAGS = 63 /* of MXCSR: what happened so far */ };

/* Sanitizers look at the program that writes the source, not at compilers. */
#ifdef TCTUNE_SANITIZED
#define GCC_OPTIONS "-O0"
#else
#define GCC_OPTIONS "-O1"
#endif

static void must_run(const tc_strbuf *b) {
    int code = system(b->data);
    if (code != 0)
        fail_msg("status %d: %s", code, b->data);
}

static bool has(const char *program) {
    char command[200];
    snprintf(command, sizeof command, "command -v %s >/dev/null", program);
    return system(command) == 0;
}

/* How the processor computes in this thread. */
static unsigned mode(void) {
#if defined(__SSE__)
    return __builtin_ia32_stmxcsr();
#else
    return 0;
#endif
}

/* Compiles a file of folder dir to a library and calls NAME_run of it. */
static void expect_same(const char *compile, const char *dir, const char *file, const char *name, const tc_graph_tensor *in,
                        int nin, const tc_graph_tensor *want, const tc_graph_port *largest, int nout, double bound) {
    static int64_t sizes[MAX_PORTS]; /* past the outputs that are shown */
    static int count;
    char so[1200], symbol[200];
    tc_strbuf b = {0};
    const void *ins[MAX_PORTS];
    void *outs[MAX_PORTS], *run;
    tc_graph_tensor out[MAX_PORTS];
    snprintf(so, sizeof so, "%s/lib%d.so", dir, count++);
    tc_sb_printf(&b, "cd %s && %s -fPIC -shared %s -o %s -lm", dir, compile, file, so);
    must_run(&b);
    tc_strbuf_free(&b);
    void *lib = dlopen(so, RTLD_NOW | RTLD_LOCAL);
    if (!lib)
        fail_msg("%s", dlerror());
    snprintf(symbol, sizeof symbol, "%s_run", name);
    run = dlsym(lib, symbol);
    assert_non_null(run);
    void (*call)(const void *const *, void *const *);
    memcpy(&call, &run, sizeof run);
    for (int i = 0; i < nin; i++)
        ins[i] = in[i].data;
    for (int i = 0; i < nout; i++) {
        assert_ok(tc_graph_tensor_alloc(&out[i], want[i].dtype, &largest[i].shape, err));
        outs[i] = out[i].data;
    }
    for (int i = nout; i < MAX_PORTS; i++)
        outs[i] = &sizes[i];
    unsigned before = mode();
    call(ins, outs);
    assert_int_equal(mode() & ~FLAGS, before & ~FLAGS);
    for (int i = 0; i < nout; i++) {
        tc_graph_diff d;
        out[i].shape = want[i].shape; /* dense in the shape of this run */
        assert_ok(tc_graph_tensor_compare(&out[i], &want[i], 0, 0, &d, err));
        if (!(d.rel <= bound))
            fail_msg("%s, %s: output %d differs by %g", name, compile, i, d.rel);
        tc_graph_tensor_free(&out[i]);
    }
    dlclose(lib);
}

static void check_program(const tc_graph_program *p, const char *dir, const char *name, bool object, bool thorough) {
    /* What GCC warns of depends on what its passes find out; results do not, and without optimisation they are there sooner. */
    static const struct { const char *name, *options; } compilers[] = {{"gcc", GCC_OPTIONS}, {"clang-19", "-O0"}, {"gcc", "-O0"}};
    tc_target *t;
    tc_graph_model *m;
    tc_graph_tensor in[MAX_PORTS], out[MAX_PORTS];
    const tc_graph_port *ports, *inputs;
    char path[1200], file[200], command[200];
    assert_ok(tc_target_parse("native", &t, err));
    assert_ok(tc_graph_model_build(p, &(tc_graph_build_options){.target = t, .threads = 2}, &m, err));
    int nin = tc_graph_model_inputs(m, &inputs), nout = tc_graph_model_outputs(m, &ports);
    assert_ok(tc_graph_model_random_inputs(m, NULL, 3, in, err));
    assert_ok(tc_graph_model_run(m, in, out, err));
    double bound = ports[0].dtype == TC_F16 || ports[0].dtype == TC_BF16 ? 1e-2 : 1e-4;
    snprintf(path, sizeof path, "%s/%s.c", dir, name);
    assert_ok(tc_graph_model_save(m, path, name, err));
    snprintf(file, sizeof file, "%s.c", name);
    for (size_t i = thorough ? 0 : 2; i < (thorough ? 2 : 3); i++) {
        snprintf(command, sizeof command, "%s -std=c17 %s -Wall -Werror", compilers[i].name, compilers[i].options);
        if (has(compilers[i].name))
            expect_same(command, dir, file, name, in, nin, out, ports, nout, bound);
    }
    if (object) {
        expect_same("gcc -std=c17 -O0 -fopenmp -Wall -Werror", dir, file, name, in, nin, out, ports, nout, bound);
        snprintf(path, sizeof path, "%s/%s.o", dir, name);
        snprintf(file, sizeof file, "%s.o -lgomp", name);
        assert_ok(tc_graph_model_save(m, path, name, err));
        expect_same("cc", dir, file, name, in, nin, out, ports, nout, bound);
    }
    for (int i = 0; i < nin; i++)
        tc_graph_tensor_free(&in[i]);
    for (int i = 0; i < nout; i++)
        tc_graph_tensor_free(&out[i]);
    tc_graph_model_free(m);
    tc_target_free(t);
}

static void check_case(const char *file, const char *dir, bool thorough) {
    char path[1200], name[128], *text;
    const tc_workload *w;
    tc_graph_program *p;
    tc_ctx *ctx = tc_ctx_new();
    snprintf(path, sizeof path, CASES "%s", file);
    snprintf(name, sizeof name, "%.*s", (int)strlen(file) - 3, file);
    assert_ok(tc_fs_read(path, &text, NULL, err));
    assert_ok(tc_te_parse(ctx, file, text, &w, err));
    assert_ok(tc_graph_program_of_workload(w, name, NULL, 0, 5, &p, err));
    print_message("%s\n", name);
    check_program(p, dir, name, false, thorough);
    tc_graph_program_free(p);
    tc_ctx_free(ctx);
    free(text);
}

static int is_case(const struct dirent *d) {
    size_t n = strlen(d->d_name);
    return n > 3 && !strcmp(d->d_name + n - 3, ".te");
}

static void test_cases(void **state) {
    (void)state;
    char *dir;
    assert_ok(tc_fs_temp_dir(&dir, err));
    struct dirent **files;
    int n = scandir(CASES, &files, is_case, alphasort);
    assert_true(n > 0);
    for (int i = 0; i < n; i++) {
        if (i % 4 == 0 || test_is_full())
            check_case(files[i]->d_name, dir, i % 16 == 0 || test_is_full());
        free(files[i]);
    }
    free(files);
    tc_fs_remove_tree(dir);
    free(dir);
}

/* All of its results are below the smallest normal number: where those become zero here, they do so in every other form, in every
 * thread. */
static void test_small_results(void **state) {
    (void)state;
    static const char te[] = "tensor X[64, 256] f32\n"
                             "compute E[i:64, j:256] = exp(X[i, j] * 0.25 - 88.0)\n"
                             "compute Y[i:64, j:256] = E[i, j] * (X[i, j] + 2.0) * 0.125\n"
                             "output Y\n";
    char *dir;
    const tc_workload *w;
    tc_graph_program *p;
    tc_ctx *ctx = tc_ctx_new();
    assert_ok(tc_fs_temp_dir(&dir, err));
    assert_ok(tc_te_parse(ctx, "small.te", te, &w, err));
    assert_ok(tc_graph_program_of_workload(w, "small", NULL, 0, 5, &p, err));
    check_program(p, dir, "small", true, true);
    tc_graph_program_free(p);
    tc_ctx_free(ctx);
    tc_fs_remove_tree(dir);
    free(dir);
}

/* Weights of two megabytes, which stand beside the source. */
static void test_network(void **state) {
    (void)state;
    char *dir;
    tc_graph *g;
    tc_graph_program *p;
    assert_ok(tc_fs_temp_dir(&dir, err));
    assert_ok(tc_graph_zoo("mlp", SCRATCH("source_mlp.onnx"), err));
    assert_ok(tc_graph_import(SCRATCH("source_mlp.onnx"), NULL, &g, err));
    assert_ok(tc_graph_program_new(g, &p, err));
    check_program(p, dir, "net", true, true);
    tc_graph_program_free(p);
    tc_graph_free(g);
    tc_fs_remove_tree(dir);
    free(dir);
    remove(SCRATCH("source_mlp.onnx"));
}

/* The plan says where, and is smaller for it. */
static void expect_in_place(const tc_graph_program *p, int results) {
    tc_target *t;
    tc_graph_model *m;
    tc_graph_plan apart;
    tc_strbuf b = {0};
    assert_ok(tc_target_parse("native", &t, err));
    assert_ok(tc_graph_model_build(p, &(tc_graph_build_options){.target = t, .threads = 2, .object_only = true}, &m, err));
    tc_graph_plan_memory(p, NULL, NULL, NULL, m->arena, &apart);
    assert_true(m->plan.bytes < apart.bytes);
    tc_graph_model_print_plan(m, &b);
    int n = 0;
    for (const char *at = tc_sb_str(&b); (at = strstr(at, " in place of %")); at++)
        n++;
    assert_int_equal(n, results);
    tc_strbuf_free(&b);
    tc_graph_model_free(m);
    tc_target_free(t);
}

static void test_in_place(void **state) {
    (void)state;
    char *dir;
    tc_graph *g;
    tc_graph_program *p;
    assert_ok(tc_fs_temp_dir(&dir, err));
    assert_ok(graph_of_text("residuals", RESIDUALS, &g, err));
    assert_ok(tc_graph_program_new(g, &p, err));
    expect_in_place(p, 2);
    check_program(p, dir, "residuals", true, test_is_full()); /* with optimisation GCC takes longer than for all cases */
    tc_graph_program_free(p);
    tc_graph_free(g);
    tc_fs_remove_tree(dir);
    free(dir);
}

/* ---- library kernels: selecting, sorting and what depends on data ---- */

static tc_graph *select_graph(void) {
    tc_graph *g;
    tc_graph_writer *w = tc_graph_writer_new("select", 13);
    tc_graph_writer_input(w, "x", TC_F32, "4,100");
    tc_graph_writer_weight(w, "k", I64(DIMS(1), 9));
    tc_graph_writer_weight(w, "flat", I64(DIMS(1), -1));
    tc_graph_writer_node(w, "TopK", "top", "x,k", "values,indices");
    tc_graph_writer_node(w, "Relu", "relu", "x", "y");
    tc_graph_writer_node(w, "Reshape", "line", "y,flat", "row");
    tc_graph_writer_node(w, "NonZero", "nz", "row", "places");
    tc_graph_writer_node(w, "Unique", "unique", "y", "different");
    tc_graph_writer_output(w, "values", TC_F32, NULL);
    tc_graph_writer_output(w, "indices", TC_I64, NULL);
    tc_graph_writer_output(w, "places", TC_I64, NULL);
    tc_graph_writer_output(w, "different", TC_F32, NULL);
    assert_ok(import_model(w, SCRATCH("source_select.onnx"), NULL, &g, err));
    remove(SCRATCH("source_select.onnx"));
    return g;
}

static void test_library(void **state) {
    (void)state;
    char *dir;
    tc_graph_program *p;
    tc_graph *g = select_graph();
    assert_ok(tc_fs_temp_dir(&dir, err));
    assert_ok(tc_graph_program_new(g, &p, err));
    check_program(p, dir, "select", true, true);
    tc_graph_program_free(p);
    tc_graph_free(g);
    tc_fs_remove_tree(dir);
    free(dir);
}

/* The profile of a model in this process counts them beside the kernels. */
static void test_library_profile(void **state) {
    (void)state;
    tc_graph_program *p;
    tc_graph_model *m;
    tc_target *t;
    tc_graph_tensor in;
    tc_graph *g = select_graph();
    const tc_graph_other *others;
    assert_ok(tc_target_parse("native", &t, err));
    assert_ok(tc_graph_program_new(g, &p, err));
    assert_ok(tc_graph_model_build(p, &(tc_graph_build_options){.target = t, .threads = 1}, &m, err));
    assert_ok(tc_graph_model_random_inputs(m, NULL, 1, &in, err));
    assert_ok(tc_graph_model_profile(m, &in, &(tc_graph_timing_options){.repeats = 3}, err));
    int n = tc_graph_model_others(m, &others), sorts = 0;
    for (int i = 0; i < n; i++) {
        sorts += strcmp(others[i].name, "TopKList") == 0;
        assert_true(others[i].count > 0 && others[i].seconds > 0);
    }
    assert_true(n >= 3);
    assert_int_equal(sorts, 1);
    tc_graph_tensor_free(&in);
    tc_graph_model_free(m);
    tc_graph_program_free(p);
    tc_target_free(t);
    tc_graph_free(g);
}

/* As an object for a CPU that this machine is not: a program of C with it runs under qemu. */
static void check_foreign(const tc_graph_program *p, const char *arch, const char *target, const tc_graph_tensor *in,
                          const tc_graph_tensor *want, int nsizes) {
    char *dir, path[1200], compiler[64], emulator[64];
    tc_target *t;
    tc_graph_model *m;
    const tc_graph_port *ports;
    snprintf(compiler, sizeof compiler, "%s-linux-gnu-gcc", arch);
    snprintf(emulator, sizeof emulator, "qemu-%s", arch);
    if (!has(compiler) || !has(emulator)) {
        print_message("skipped: %s or %s is not installed\n", compiler, emulator);
        return;
    }
    assert_ok(tc_fs_temp_dir(&dir, err));
    assert_ok(tc_target_parse(target, &t, err));
    assert_ok(tc_graph_model_build(p, &(tc_graph_build_options){.target = t, .threads = 2, .object_only = true}, &m, err));
    int nout = tc_graph_model_outputs(m, &ports);
    snprintf(path, sizeof path, "%s/sel.so", dir);
    assert_ok(tc_graph_model_save(m, path, NULL, err));
    snprintf(path, sizeof path, "%s/sel.o", dir);
    assert_ok(tc_graph_model_save(m, path, NULL, err));
    tc_strbuf b = {0};
    tc_sb_printf(&b,
                 "cd %s && %s -static -fopenmp -O1 -Wall -Wextra -Wpedantic -Werror -include sel.h -DMODEL=sel -DNIN=1 -DNOUT=%d "
                 "-DOUT_BYTES=",
                 dir, compiler, nout + nsizes);
    for (int i = 0; i < nout; i++)
        tc_sb_printf(&b, "%lld,", (long long)(tc_graph_shape_count(&ports[i].shape) * tc_dtype_bytes(ports[i].dtype)));
    for (int i = 0; i < nsizes; i++)
        tc_sb_printf(&b, "%s8", i ? "," : "");
    tc_sb_printf(&b, " %s/model/build_caller.c sel.o -lm -o caller && %s ./caller .", TCTUNE_TEST_DIR, emulator);
    snprintf(path, sizeof path, "%s/in.0", dir);
    assert_ok(tc_fs_write(path, in->data, tc_graph_tensor_bytes(in), err));
    must_run(&b);
    for (int i = 0; i < nout; i++) {
        char *data;
        tc_graph_diff d;
        snprintf(path, sizeof path, "%s/out.%d", dir, i);
        assert_ok(tc_fs_read(path, &data, NULL, err));
        tc_graph_tensor got = tc_graph_tensor_view(want[i].dtype, &want[i].shape, data);
        assert_ok(tc_graph_tensor_compare(&got, &want[i], 0, 0, &d, err));
        if (d.violations)
            fail_msg("%s: output %d differs", target, i);
        free(data);
    }
    tc_strbuf_free(&b);
    tc_graph_model_free(m);
    tc_target_free(t);
    tc_fs_remove_tree(dir);
    free(dir);
}

static void test_foreign(void **state) {
    (void)state;
    tc_graph_tensor in, want[MAX_PORTS];
    tc_graph_program *p;
    tc_graph *g = select_graph();
    tc_rng r = tc_rng_seed(7);
    assert_ok(tc_graph_tensor_alloc(&in, TC_F32, &(tc_graph_shape)DIMS(4, 100), err));
    for (int i = 0; i < 400; i++)
        ((float *)in.data)[i] = (float)tc_rng_below(&r, 60) - 30;
    assert_ok(tc_graph_eval(g, &in, want, err));
    assert_ok(tc_graph_program_new(g, &p, err));
    check_foreign(p, "aarch64", "llvm -mtriple=aarch64-linux-gnu -mcpu=neoverse-n1", &in, want, g->nsizes);
    check_foreign(p, "riscv64", "generic-rv64", &in, want, g->nsizes);
    for (size_t i = 0; i < g->outputs.len; i++)
        tc_graph_tensor_free(&want[i]);
    tc_graph_tensor_free(&in);
    tc_graph_program_free(p);
    tc_graph_free(g);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_cases),   cmocka_unit_test(test_small_results),
                                       cmocka_unit_test(test_network), cmocka_unit_test(test_in_place),
                                       cmocka_unit_test(test_library), cmocka_unit_test(test_library_profile),
                                       cmocka_unit_test(test_foreign)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
