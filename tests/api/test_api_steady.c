/* A run after the first asks for no memory: with a context of its own or the model's, of what was built here or loaded, on data
 * that is aligned or not, in sizes that vary. The counting malloc is that of the memory campaign. */
#include "api_common.h"

#include <limits.h>
#include <stdlib.h>

#include "campaign/memory/refuse.h"

enum { MOST = 8 };

/* An operand that is packed, intermediates, and an output whose sizes are outputs of their own. */
static const char fixed[] = "tensor X[48, 64] f32\ntensor W[64, 32] f32 const\n"
                            "compute Y[i:48, j:32] = sum(k:64) X[i, k] * W[k, j]\ncompute Z[i:48, j:32] = max(Y[i, j], f32(0))\n"
                            "output Z, Y\n";
static const char varying[] = "symbol S 1..40\ntensor X[S, 64] f32\ntensor W[64, 32] f32 const\n"
                              "compute Y[i:S, j:32] = sum(k:64) X[i, k] * W[k, j]\noutput Y\n";

typedef struct arrays {
    DLTensor in[MOST], out[MOST];
    int64_t shape[MOST][4];
    void *memory[2 * MOST];
    int nmemory;
} arrays;

/* `by` bytes past what is aligned; rows: of inputs whose sizes vary. */
static DLTensor tensor(arrays *a, DLDataType type, int ndim, const int64_t *shape, int64_t *own, int64_t rows, size_t by) {
    size_t bytes = type.bits / 8u;
    for (int d = 0; d < ndim; d++) {
        bytes *= (size_t)shape[d];
        own[d] = shape[d];
    }
    if (rows)
        own[0] = rows;
    char *data = aligned_alloc(64, (bytes / 64 + 2) * 64);
    assert_non_null(data);
    memset(data, 0, bytes + 64);
    a->memory[a->nmemory++] = data;
    return (DLTensor){.data = data + by, .device = {kDLCPU, 0}, .ndim = ndim, .dtype = type, .shape = own};
}

static void make_arrays(arrays *a, const tctune_model *m, size_t by) {
    DLDataType type;
    const int64_t *shape;
    int ndim, n = 0;
    *a = (arrays){0};
    assert_true(tctune_model_num_inputs(m) + tctune_model_num_outputs(m) <= MOST);
    for (int i = 0; tctune_model_input(m, i, &type, &ndim, &shape); i++, n++)
        a->in[i] = tensor(a, type, ndim, shape, a->shape[n], tctune_model_num_sizes(m) ? 17 : 0, by);
    for (int i = 0; tctune_model_output(m, i, &type, &ndim, &shape); i++, n++)
        a->out[i] = tensor(a, type, ndim, shape, a->shape[n], 0, by);
}

static void free_arrays(arrays *a) {
    for (int i = 0; i < a->nmemory; i++)
        free(a->memory[i]);
}

/* How often a run after the first asks for memory: the fewest of a few, as a thread that first gets a core in one of them asks
 * then, in the sanitizer, for where its stack lies. */
static long requests_of(tctune_model *m, tctune_context *c, arrays *a) {
    tctune_status s;
    long fewest = LONG_MAX;
    for (int i = 0; i < 5; i++) {
        refuse_begin(0, false);
        s = c ? tctune_context_run(c, a->in, a->out, error, sizeof error)
              : tctune_model_run(m, a->in, a->out, error, sizeof error);
        long n = refuse_end();
        if (s != TCTUNE_OK)
            fail_msg("%s", error);
        if (i && n < fewest)
            fewest = n;
    }
    return fewest;
}

static void expect_steady(tctune_model *m) {
    for (size_t by = 0; by <= 4; by += 4)
        for (int own = 0; own < 2; own++) {
            tctune_context *c = NULL;
            arrays a;
            make_arrays(&a, m, by);
            if (own)
                OK(tctune_context_new(m, &c, error, sizeof error));
            long n = requests_of(m, c, &a);
            if (n)
                fail_msg("%ld requests for memory in a run, %zu bytes from alignment, context %d", n, by, own);
            tctune_context_free(c);
            free_arrays(&a);
        }
}

static void test_steady(const char *te, int threads, const char *library) {
    tctune_build_options o = {.struct_size = sizeof o, .threads = threads};
    tctune_work *w = open_text(te);
    tctune_model *m, *loaded;
    OK(tctune_build(w, &o, &m, error, sizeof error));
    tctune_work_free(w);
    expect_steady(m);
    OK(tctune_model_save(m, library, "steady", error, sizeof error));
    tctune_model_free(m);
    OK(tctune_load(library, 0, &loaded, error, sizeof error));
    expect_steady(loaded);
    tctune_model_free(loaded);
}

static void test_fixed_sizes(void **state) {
    (void)state;
    test_steady(fixed, 1, SCRATCH("steady.so"));
}

static void test_sizes_that_vary(void **state) {
    (void)state;
    test_steady(varying, 1, SCRATCH("steady_sized.so"));
}

static void test_threads(void **state) {
    (void)state;
    test_steady(fixed, 2, SCRATCH("steady_threads.so"));
}

/* That it counts at all: what a context takes is seen. */
static void test_requests_are_counted(void **state) {
    (void)state;
    tctune_build_options o = {.struct_size = sizeof o, .threads = 1};
    tctune_work *w = open_text(fixed);
    tctune_model *m;
    tctune_context *c;
    OK(tctune_build(w, &o, &m, error, sizeof error));
    tctune_work_free(w);
    refuse_begin(0, false);
    tctune_status s = tctune_context_new(m, &c, error, sizeof error);
    assert_true(refuse_end() > 2);
    assert_int_equal(s, TCTUNE_OK);
    tctune_context_free(c);
    tctune_model_free(m);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_requests_are_counted),
        cmocka_unit_test(test_fixed_sizes),
        cmocka_unit_test(test_sizes_that_vary),
        cmocka_unit_test(test_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
