/* Networks whose sizes vary as programs have them: libraries and C source, called with arrays as large as a run's sizes and not a
 * byte more, wherever they lie. */
#include <sys/mman.h>
#include <unistd.h>

#include "graph/graph_test.h"
#include "graph/model/model.h"
#include "graph/ops/ops.h"
#include "graph/saved/built_models.h"
#include "tctune/tctune.h"

enum { MAX_PORTS_HERE = 8 };

/* y = softmax(x w x^T + mask) x, and z = [old, x] along the rows. */
static tc_graph_writer *network(void) {
    static float w[36];
    for (int i = 0; i < 36; i++)
        w[i] = (float)(i % 7 - 3) / 5;
    tc_graph_writer *m = tc_graph_writer_new("network", 17);
    tc_graph_writer_input(m, "x", TC_F32, "batch,sequence,6");
    tc_graph_writer_input(m, "old", TC_F32, "batch,past,6");
    tc_graph_writer_input(m, "mask", TC_F32, "batch,sequence,sequence");
    tc_graph_writer_output(m, "y", TC_F32, NULL);
    tc_graph_writer_output(m, "z", TC_F32, NULL);
    tc_graph_writer_weight(m, "w", tc_graph_tensor_view(TC_F32, &(tc_graph_shape)DIMS(6, 6), w));
    tc_graph_writer_node(m, "MatMul", "", "x,w", "q");
    tc_graph_writer_node(m, "Transpose", "", "x", "t");
    tc_graph_writer_ints(m, "perm", "0,2,1");
    tc_graph_writer_node(m, "MatMul", "", "q,t", "s");
    tc_graph_writer_node(m, "Add", "", "s,mask", "h");
    tc_graph_writer_node(m, "Softmax", "", "h", "p");
    tc_graph_writer_node(m, "MatMul", "", "p,x", "y");
    tc_graph_writer_node(m, "Concat", "", "old,x", "z");
    tc_graph_writer_int(m, "axis", 1);
    return m;
}

static built open_network(void) {
    built b = {.name = "network"};
    tc_graph_binding dims[] = {
        {"batch", 1, {{1, 3, 1}}}, {"sequence", 1, {{1, 20, 1}}}, {"past", 1, {{0, 12, 4}}}, /* multiples */
    };
    assert_ok(import_model(network(), SCRATCH("sized.onnx"), &(tc_graph_import_options){.shapes = dims, .nshapes = TC_LEN(dims)},
                           &b.graph, err));
    assert_ok(tc_graph_program_new(b.graph, &b.program, err));
    assert_ok(tc_target_parse("native", &b.target, err));
    assert_ok(
        tc_graph_model_build(b.program, &(tc_graph_build_options){.target = b.target, .threads = BUILT_THREADS}, &b.model, err));
    return b;
}

/* ---- arrays that end where memory ends ---- */

typedef struct guarded {
    uint8_t *map, *data;
    size_t bytes, mapped;
} guarded;

/* `before`: how many bytes of memory are left behind the array, less than a page. */
static guarded guard(size_t bytes, size_t behind) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    guarded g = {.bytes = bytes, .mapped = (bytes + behind + page - 1) / page * page + page};
    g.map = mmap(NULL, g.mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(g.map != MAP_FAILED);
    assert_int_equal(mprotect(g.map + g.mapped - page, page, PROT_NONE), 0);
    g.data = g.map + g.mapped - page - behind - bytes;
    return g;
}

static void unguard(guarded *g) {
    munmap(g->map, g->mapped);
}

/* What lies behind it up to the next aligned address, so that it is itself aligned. */
static size_t slack(size_t bytes) {
    return (TC_RT_ALIGN - bytes % TC_RT_ALIGN) % TC_RT_ALIGN;
}

static size_t bytes_of(const tc_graph_tensor *t) {
    return tc_graph_tensor_bytes(t);
}

/* ---- one run ---- */

typedef int32_t run_fn(const void *const *in, void *const *out);

static void fill(tc_graph_tensor *t) {
    for (int64_t i = 0; i < tc_graph_tensor_count(t); i++)
        ((float *)t->data)[i] = (float)((i * 37 + t->shape.d[1]) % 101) / 50 - 1;
}

static void draw(int64_t batch, int64_t rows, int64_t past, tc_graph_tensor in[3]) {
    tc_graph_shape shapes[] = {DIMS(batch, rows, 6), DIMS(batch, past, 6), DIMS(batch, rows, rows)};
    for (int i = 0; i < 3; i++) {
        assert_ok(tc_graph_tensor_alloc(&in[i], TC_F32, &shapes[i], err));
        fill(&in[i]);
    }
}

static void expect_run(const built *b, run_fn *run, int64_t batch, int64_t rows, int64_t past, bool aligned) {
    tc_graph_tensor in[3], want[2];
    guarded arrays[5];
    int64_t sizes[3], more[MAX_PORTS_HERE] = {0};
    const void *ins[6];
    void *outs[MAX_PORTS_HERE];
    draw(batch, rows, past, in);
    assert_ok(tc_graph_eval(b->graph, in, want, err));
    for (int i = 0; i < 5; i++) {
        size_t n = bytes_of(i < 3 ? &in[i] : &want[i - 3]);
        arrays[i] = guard(n, aligned ? slack(n) : 0);
        if (i < 3)
            memcpy(arrays[i].data, in[i].data, n);
    }
    for (int k = 0; k < 3; k++) { /* in the order in which the model names them */
        const char *name = b->model->rules.size[k].name;
        sizes[k] = strcmp(name, "batch") == 0 ? batch : strcmp(name, "past") == 0 ? past : rows;
        ins[k] = arrays[k].data;
        ins[3 + k] = &sizes[k];
    }
    for (int i = 0; i < b->model->nout; i++)
        outs[i] = i < 2 ? (void *)arrays[3 + i].data : &more[i];
    assert_int_equal(run(ins, outs), 0);
    for (int i = 0; i < 2; i++) {
        for (int64_t e = 0; e < tc_graph_tensor_count(&want[i]); e++)
            assert_true(fabsf(((float *)want[i].data)[e] - ((float *)arrays[3 + i].data)[e]) < 1e-4f);
        for (int d = 0; d < 3; d++)
            if (b->model->out[i].extent[d])
                assert_int_equal(more[b->model->out[i].extent[d]], want[i].shape.d[d]);
    }
    for (int i = 0; i < 5; i++)
        unguard(&arrays[i]);
    for (int i = 0; i < 3; i++)
        tc_graph_tensor_free(&in[i]);
    for (int i = 0; i < 2; i++)
        tc_graph_tensor_free(&want[i]);
}

/* Sizes that the library was not built for: it returns before it reads or writes anything. */
static void expect_refused(const built *b, run_fn *run, int64_t batch, int64_t rows, int64_t past) {
    int64_t sizes[3];
    const void *ins[6] = {0};
    void *outs[MAX_PORTS_HERE] = {0};
    for (int k = 0; k < 3; k++) {
        const char *name = b->model->rules.size[k].name;
        sizes[k] = strcmp(name, "batch") == 0 ? batch : strcmp(name, "past") == 0 ? past : rows;
        ins[3 + k] = &sizes[k];
    }
    assert_int_equal(run(ins, outs), -2);
}

static void expect_sizes(const built *b, run_fn *run) {
    static const int64_t all[] = {1, 2, 7, 16, 17, 20};
    for (int64_t batch = 1; batch <= 3; batch += 2)
        for (size_t i = 0; i < TC_LEN(all); i++) {
            expect_run(b, run, batch, all[i], i % 4 * 4, true);
            expect_run(b, run, batch, all[i], (i + 1) % 4 * 4, false);
        }
    expect_refused(b, run, 0, 1, 0);
    expect_refused(b, run, 4, 1, 0);
    expect_refused(b, run, 1, 0, 0);
    expect_refused(b, run, 1, 21, 0);
    expect_refused(b, run, 1, 1, 16);
    expect_refused(b, run, 1, 1, 3);
    expect_refused(b, run, 1, 1, -4);
    expect_refused(b, run, INT64_MIN, INT64_MAX, INT64_MIN);
}

static void test_library(void **state) {
    (void)state;
    built b = open_network();
    built_library l = built_load(&b, SCRATCH("sized.so"), NULL);
    expect_sizes(&b, l.run);
    dlclose(l.handle);
    built_close(&b);
}

static void test_source(void **state) {
    (void)state;
    built b = open_network();
    if (system("gcc --version > /dev/null 2>&1") == 0) {
        built_library l = built_load(&b, SCRATCH("sized_source.so"), test_is_full() ? "gcc -O1" : "gcc -O0");
        for (int64_t rows = 1; rows <= 20; rows += 6) /* arrays are aligned there */
            expect_run(&b, l.run, 2, rows, 8, true);
        expect_refused(&b, l.run, 4, 1, 0);
        expect_refused(&b, l.run, 1, 1, 3);
        dlclose(l.handle);
    }
    built_close(&b);
}

/* The command's way: what the file says of itself is checked, and messages name sizes. */
static void test_loaded(void **state) {
    (void)state;
    built b = open_network();
    tc_graph_model *m;
    tc_graph_tensor in[3], want[2], got[2];
    assert_ok(tc_graph_model_save(b.model, SCRATCH("loaded.so"), "network", err));
    assert_ok(tc_graph_model_load(SCRATCH("loaded.so"), 0, &m, err));
    for (int64_t rows = 1; rows <= 20; rows += 5) {
        draw(2, rows, 4, in);
        assert_ok(tc_graph_eval(b.graph, in, want, err));
        assert_ok(tc_graph_model_run(m, in, got, err));
        for (int i = 0; i < 2; i++) {
            tc_graph_diff d;
            assert_ok(tc_graph_tensor_compare(&got[i], &want[i], 0, 0, &d, err));
            assert_true(d.rel < 1e-4);
            tc_graph_tensor_free(&want[i]);
            tc_graph_tensor_free(&got[i]);
        }
        for (int i = 0; i < 3; i++)
            tc_graph_tensor_free(&in[i]);
    }
    draw(2, 7, 4, in);
    in[1].shape.d[1] = 3;
    assert_fails(TC_BAD_INPUT, tc_graph_model_run(m, in, got, err), "dimension 1 of input 'old' is 3", "given as 0..12 in steps");
    in[1].shape.d[1] = 4;
    in[2].shape.d[1] = 6;
    assert_fails(TC_BAD_INPUT, tc_graph_model_run(m, in, got, err), "'sequence' is 6 in dimension 1 of input 'mask', but 7");
    for (int i = 0; i < 3; i++)
        tc_graph_tensor_free(&in[i]);
    tc_graph_model_free(m);
    built_close(&b);
}

/* ---- programs that use the library ---- */

static DLTensor as_dl(tc_graph_tensor *t) {
    return (DLTensor){
        .data = t->data, .device = {kDLCPU, 0}, .ndim = t->shape.ndim, .dtype = {kDLFloat, 32, 1}, .shape = t->shape.d};
}

static void test_api(void **state) {
    (void)state;
    static const char *const shapes[] = {"batch=1..3", "sequence=1..20", "past=0..12:4", NULL};
    built b = open_network();
    tctune_model *m;
    char error[512] = "";
    tc_graph_tensor in[3], want[2], out[2];
    tc_graph_shape most[] = {DIMS(3, 20, 6), DIMS(3, 32, 6)};
    tctune_work_options wo = {.struct_size = sizeof wo, .model = SCRATCH("sized.onnx"), .shapes = shapes};
    tctune_build_options o = {.struct_size = sizeof o, .threads = 1};
    tctune_work *work;
    if (tctune_open(&wo, &work, error, sizeof error) != TCTUNE_OK || tctune_build(work, &o, &m, error, sizeof error) != TCTUNE_OK)
        fail_msg("%s", error);
    tctune_work_free(work);
    assert_int_equal(tctune_model_num_inputs(m), 3);
    draw(2, 9, 8, in);
    assert_ok(tc_graph_eval(b.graph, in, want, err));
    for (int i = 0; i < 2; i++)
        assert_ok(tc_graph_tensor_alloc(&out[i], TC_F32, &most[i], err));
    DLTensor ins[] = {as_dl(&in[0]), as_dl(&in[1]), as_dl(&in[2])}, outs[] = {as_dl(&out[0]), as_dl(&out[1])};
    if (tctune_model_run(m, ins, outs, error, sizeof error) != TCTUNE_OK)
        fail_msg("%s", error);
    for (int i = 0; i < 2; i++) {
        assert_memory_equal(tctune_model_output_shape(m, i), want[i].shape.d, 3 * sizeof(int64_t));
        for (int64_t e = 0; e < tc_graph_tensor_count(&want[i]); e++)
            assert_true(fabsf(((float *)want[i].data)[e] - ((float *)out[i].data)[e]) < 1e-4f);
    }
    in[1].shape.d[1] = 6;
    assert_int_equal(tctune_model_run(m, ins, outs, error, sizeof error), TCTUNE_BAD_INPUT);
    assert_non_null(strstr(error, "dimension 1 of input 'old' is 6"));
    for (int i = 0; i < 3; i++)
        tc_graph_tensor_free(&in[i]);
    for (int i = 0; i < 2; i++) {
        tc_graph_tensor_free(&want[i]);
        tc_graph_tensor_free(&out[i]);
    }
    tctune_model_free(m);
    built_close(&b);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_library), cmocka_unit_test(test_source),
                                       cmocka_unit_test(test_loaded), cmocka_unit_test(test_api)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
