/* A run touches no more memory than its sizes need, of a model that serves much larger ones: which pages of the context, and of
 * what the caller gives, are there after a run of one row, and after one of the largest. */
#include <malloc.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "graph/graph_test.h"
#include "graph/model/parts.h"
#include "graph/passes/pass.h"
#include "graph/saved/saved.h"

enum { ROWS = 2048, INNER = 64, WIDE = 1024 };

/* y = softmax(h h^T) h of h = relu(x a) b: among its intermediates are [rows, WIDE], and [rows, rows] where attention is no
 * kernel. */
static tc_graph_writer *network(void) {
    static float a[INNER * WIDE], b[WIDE * INNER];
    for (int i = 0; i < INNER * WIDE; i++) {
        a[i] = (float)(i % 11 - 5) / 64;
        b[i] = (float)(i % 13 - 6) / 512;
    }
    tc_graph_writer *m = tc_graph_writer_new("network", 17);
    tc_graph_writer_input(m, "x", TC_F32, "rows,64");
    tc_graph_writer_output(m, "y", TC_F32, NULL);
    tc_graph_writer_weight(m, "a", tc_graph_tensor_view(TC_F32, &(tc_graph_shape)DIMS(INNER, WIDE), a));
    tc_graph_writer_weight(m, "b", tc_graph_tensor_view(TC_F32, &(tc_graph_shape)DIMS(WIDE, INNER), b));
    tc_graph_writer_node(m, "MatMul", "", "x,a", "p");
    tc_graph_writer_node(m, "Relu", "", "p", "q");
    tc_graph_writer_node(m, "MatMul", "", "q,b", "h");
    tc_graph_writer_node(m, "Transpose", "", "h", "t");
    tc_graph_writer_ints(m, "perm", "1,0");
    tc_graph_writer_node(m, "MatMul", "", "h,t", "s");
    tc_graph_writer_node(m, "Softmax", "", "s", "w");
    tc_graph_writer_node(m, "MatMul", "", "w,h", "y");
    return m;
}

/* Bytes of the pages of [p, p + bytes) that are in memory. */
static size_t resident(const void *p, size_t bytes) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE), n = 0;
    uintptr_t from = (uintptr_t)p / page * page, pages = ((uintptr_t)p + bytes - from + page - 1) / page;
    unsigned char *there = malloc(pages);
    assert_non_null(there);
    assert_int_equal(mincore((void *)from, pages * page, there), 0);
    for (size_t i = 0; i < pages; i++)
        n += there[i] & 1;
    free(there);
    return n * page;
}

static float *map(size_t bytes) {
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(p != MAP_FAILED);
    return p;
}

/* The memory that runs of a context share: its own, and that of the library that it is of. */
static size_t touched(const tc_graph_context *c) {
    const void *p = c->library ? (const void *)c->library : c->memory;
    return resident(p, c->library ? malloc_usable_size(c->library) : (size_t)c->m->arena_bytes);
}

static void run(tc_graph_context *c, float *x, float *y, int64_t rows) {
    tc_graph_tensor in = tc_graph_tensor_view(TC_F32, &(tc_graph_shape)DIMS(rows, INNER), x);
    tc_graph_tensor out = tc_graph_tensor_view(TC_F32, &(tc_graph_shape)DIMS(ROWS, INNER), y);
    assert_ok(tc_graph_context_run_into(c, &in, &out, err));
    assert_int_equal(tc_graph_context_output_shape(c, 0)->d[0], rows);
}

/* by: how far the arrays are from being aligned, in floats: then copies are made, in memory that stays. */
static void expect_short_runs(const tc_graph_model *m, int by) {
    size_t bytes = (ROWS * INNER + 16) * sizeof(float), small = 64 << 10, large = (size_t)ROWS * WIDE * sizeof(float);
    float *x = map(bytes), *y = map(bytes);
    tc_graph_context *c;
    assert_ok(tc_graph_context_new(m, &c, err));
    assert_true(touched(c) <= small);
    for (int i = 0; i < INNER; i++)
        x[by + i] = (float)(i % 5) / 4;
    run(c, x + by, y + by, 1);
    size_t few = touched(c);
    assert_true(resident(x, bytes) <= small && resident(y, bytes) <= small);
    if (by) {
        assert_true(resident(c->staging[0], bytes) <= small && resident(c->beside[0], bytes) <= small);
        for (int i = 0; i < INNER; i++)
            assert_true(y[by + i] != 0);
    }
    run(c, x + by, y + by, ROWS);
    size_t all = touched(c);
    assert_true(all >= large && resident(y, bytes) >= bytes / 2);
    if (few > all / 16)
        fail_msg("a run of one row touches %zu bytes, one of %d rows %zu", few, ROWS, all);
    tc_graph_context_free(c);
    munmap(x, bytes);
    munmap(y, bytes);
}

static void test_short_runs(void **state) {
    (void)state;
    tc_graph_binding dims[] = {{"rows", 1, {{1, ROWS, 1}}}};
    tc_graph *g;
    tc_graph_program *p;
    tc_target *t;
    tc_graph_model *m, *loaded;
    assert_ok(import_model(network(), SCRATCH("short.onnx"), &(tc_graph_import_options){.shapes = dims, .nshapes = 1}, &g, err));
    assert_ok(tc_graph_passes(g, NULL, err));
    assert_ok(tc_graph_program_new(g, &p, err));
    assert_ok(tc_target_parse("native", &t, err));
    assert_ok(tc_graph_model_build(p, &(tc_graph_build_options){.target = t, .threads = 1}, &m, err));
    assert_ok(tc_graph_model_save(m, SCRATCH("short.so"), "network", err));
    assert_ok(tc_graph_model_load(SCRATCH("short.so"), 0, &loaded, err));
    expect_short_runs(m, 0);
    expect_short_runs(m, 1);
    expect_short_runs(loaded, 0);
    expect_short_runs(loaded, 1);
    tc_graph_model_free(loaded);
    tc_graph_model_free(m);
    tc_graph_program_free(p);
    tc_target_free(t);
    tc_graph_free(g);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_short_runs)};
    prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0); /* one page of 2 MiB is more than a short run needs of any array */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
