/* What callers may give a run, and what they may not: each thing that can be wrong with a tensor of DLPack is refused with what
 * was given, and nothing is written. */
#include "api_common.h"

#include <stdlib.h>

enum { ROWS = 6, COLS = 4, N = ROWS * COLS };

/* Two outputs, three inputs of different types. */
static const char text[] = "tensor A[6, 4] f32\ntensor B[6, 4] f32\ntensor K[4] i32\n"
                           "compute Y[i:6, j:4] = A[i, j] + B[i, j]\n"
                           "compute Z[i:6, j:4] = A[i, j] * f32(K[j])\noutput Y, Z\n";

typedef struct fixture {
    tctune_model *m;
    tctune_context *c;
    int64_t shape[2], strides[2];
    DLTensor in[3], out[2]; /* right ones */
    float *pool;            /* of all arrays of floats, N apart, with room behind */
} fixture;

static fixture f;

static DLTensor tensor(void *data, uint8_t code, int ndim, int64_t *shape) {
    return (DLTensor){.data = data, .device = {kDLCPU, 0}, .ndim = ndim, .dtype = {code, 32, 1}, .shape = shape};
}

static int setup(void **state) {
    static int32_t k[COLS] = {1, 2, 3, 4};
    (void)state;
    tctune_build_options o = {.struct_size = sizeof o, .threads = 1};
    tctune_work *w = open_text(text);
    OK(tctune_build(w, &o, &f.m, error, sizeof error));
    tctune_work_free(w);
    OK(tctune_context_new(f.m, &f.c, error, sizeof error));
    f.shape[0] = ROWS, f.shape[1] = COLS, f.strides[0] = COLS, f.strides[1] = 1;
    f.pool = aligned_alloc(64, 8 * 64 * sizeof *f.pool);
    assert_non_null(f.pool);
    for (int i = 0; i < 8 * 64; i++)
        f.pool[i] = (float)i;
    f.in[0] = tensor(f.pool, kDLFloat, 2, f.shape);
    f.in[1] = tensor(f.pool + 64, kDLFloat, 2, f.shape);
    f.in[2] = tensor(k, kDLInt, 1, &f.shape[1]);
    f.out[0] = tensor(f.pool + 128, kDLFloat, 2, f.shape);
    f.out[1] = tensor(f.pool + 192, kDLFloat, 2, f.shape);
    return 0;
}

static int teardown(void **state) {
    (void)state;
    tctune_context_free(f.c);
    tctune_model_free(f.m);
    free(f.pool);
    return 0;
}

static void expect_sums(const float *y) {
    for (int i = 0; i < N; i++)
        assert_true(y[i] == f.pool[i] + f.pool[64 + i]);
}

/* ---- what is right ---- */

static void test_right_ones(void **state) {
    (void)state;
    DLTensor in[3], out[2];
    memcpy(in, f.in, sizeof in);
    memcpy(out, f.out, sizeof out);
    OK(tctune_context_run(f.c, in, out, error, sizeof error));
    expect_sums(f.pool + 128);
    in[0].strides = out[1].strides = f.strides;
    OK(tctune_model_run(f.m, in, out, error, sizeof error));
    in[1].data = in[0].data; /* inputs may be one */
    OK(tctune_context_run(f.c, in, out, error, sizeof error));
    assert_true(f.pool[128 + 5] == 2 * f.pool[5]);
    in[1] = f.in[1];
    out[0].data = f.pool + 256; /* the offset counts, and one tensor may begin where another ends */
    out[0].byte_offset = N * sizeof(float);
    out[1].data = f.pool + 256;
    OK(tctune_context_run(f.c, in, out, error, sizeof error));
    expect_sums(f.pool + 256 + N);
    assert_true(f.pool[256 + 1] == f.pool[1] * 2);
}

/* ---- what is wrong ---- */

typedef struct wrong {
    const char *says[3]; /* all of them */
    int input, output;   /* which tensor is `t`: one past its number */
    DLTensor t;
} wrong;

static DLTensor changed(DLTensor t, DLDataType type, int ndim, int64_t *shape, int64_t *strides) {
    t.dtype = type;
    t.ndim = ndim;
    t.shape = shape;
    t.strides = strides;
    return t;
}

static DLTensor moved(DLTensor t, void *data, uint64_t offset) {
    t.data = data;
    t.byte_offset = offset;
    return t;
}

static DLTensor on(DLTensor t, DLDeviceType type, int id) {
    t.device = (DLDevice){type, id};
    return t;
}

static void expect_refusal(const wrong *w) {
    DLTensor in[3], out[2];
    float before[8 * 64];
    memcpy(in, f.in, sizeof in);
    memcpy(out, f.out, sizeof out);
    if (w->input)
        in[w->input - 1] = w->t;
    if (w->output)
        out[w->output - 1] = w->t;
    memcpy(before, f.pool, sizeof before);
    for (int k = 0; k < 3 && w->says[k]; k++) {
        REFUSED(TCTUNE_BAD_INPUT, w->says[k], tctune_context_run(f.c, in, out, error, sizeof error));
        REFUSED(TCTUNE_BAD_INPUT, w->says[k], tctune_model_run(f.m, in, out, error, sizeof error));
        if (!w->output && !strstr(w->says[k], "overlaps")) {
            tctune_kernel_time times[8];
            assert_true(tctune_model_num_kernels(f.m) <= 8);
            REFUSED(TCTUNE_BAD_INPUT, w->says[k], tctune_context_profile(f.c, in, 1, times, error, sizeof error));
        }
    }
    assert_memory_equal(before, f.pool, sizeof before);
}

static void test_wrong_ones(void **state) {
    (void)state;
    const DLDataType f32 = {kDLFloat, 32, 1};
    int64_t s65[] = {6, 5}, s46[] = {4, 6}, negative[] = {-6, 4}, huge[] = {INT64_MAX, 4}, s3[] = {6, 4, 1}, none[] = {0, 4};
    int64_t turned[] = {1, 6}, wide[] = {8, 1}, back[] = {-4, 1}, zero[] = {0, 0};
    int many = 1000;
    const DLTensor a = f.in[0], k = f.in[2], y = f.out[0];
#define TYPE(code, bits, lanes) changed(a, (DLDataType){code, bits, lanes}, 2, f.shape, NULL)
#define SHAPE(ndim, s) changed(a, f32, ndim, s, NULL)
#define STRIDES(s) changed(a, f32, 2, f.shape, s)
    const wrong cases[] = {
        /* types */
        {{"input 'A' is f64[6,4]; it must be a dense tensor f32[6,4] in CPU memory"}, 1, 0, TYPE(kDLFloat, 64, 1)},
        {{"input 'A' is i32[6,4];"}, 1, 0, TYPE(kDLInt, 32, 1)},
        {{"input 'A' is f32x4[6,4];"}, 1, 0, TYPE(kDLFloat, 32, 4)},
        {{"input 'A' is f32x0[6,4];"}, 1, 0, TYPE(kDLFloat, 32, 0)},
        {{"input 'A' is bf16[6,4];"}, 1, 0, TYPE(kDLBfloat, 16, 1)},
        {{"input 'A' is complex64[6,4];"}, 1, 0, TYPE(kDLComplex, 64, 1)},
        {{"input 'A' is bool[6,4];"}, 1, 0, TYPE(6, 8, 1)},
        {{"input 'A' is of type 77, 32 bits[6,4];"}, 1, 0, TYPE(77, 32, 1)},
        {{"input 'K' is u32[4]; it must be a dense tensor i32[4] in CPU memory"},
         3,
         0,
         changed(k, (DLDataType){kDLUInt, 32, 1}, 1, &f.shape[1], NULL)},
        {{"output 'Y' is f16[6,4];"}, 0, 1, TYPE(kDLFloat, 16, 1)},
        /* shapes */
        {{"input 'A' is f32[6,5];"}, 1, 0, SHAPE(2, s65)},
        {{"input 'A' is f32[4,6];"}, 1, 0, SHAPE(2, s46)},
        {{"input 'A' is f32[-6,4];"}, 1, 0, SHAPE(2, negative)},
        {{"input 'A' is f32[0,4];"}, 1, 0, SHAPE(2, none)},
        {{"input 'A' is f32[9223372036854775807,4];"}, 1, 0, SHAPE(2, huge)},
        {{"input 'A' is f32[6];"}, 1, 0, SHAPE(1, f.shape)},
        {{"input 'A' is f32[6,4,1];"}, 1, 0, SHAPE(3, s3)},
        {{"input 'A' is f32[];"}, 1, 0, SHAPE(0, NULL)},
        {{"input 'A' is f32 of -1 dimensions;"}, 1, 0, SHAPE(-1, f.shape)},
        {{"input 'A' is f32 of 1000 dimensions;"}, 1, 0, SHAPE(many, f.shape)},
        {{"input 'A' is f32 of 2 dimensions without a shape;"}, 1, 0, SHAPE(2, NULL)},
        {{"output 'Z' is f32[6,5];"}, 0, 2, changed(f.out[1], f32, 2, s65, NULL)},
        /* strides */
        {{"input 'A' is f32[6,4] with strides [1,6];"}, 1, 0, STRIDES(turned)},
        {{"input 'A' is f32[6,4] with strides [8,1];"}, 1, 0, STRIDES(wide)},
        {{"input 'A' is f32[6,4] with strides [-4,1];"}, 1, 0, STRIDES(back)},
        {{"input 'A' is f32[6,4] with strides [0,0];"}, 1, 0, STRIDES(zero)},
        {{"output 'Y' is f32[6,4] with strides [1,6];"}, 0, 1, changed(y, f32, 2, f.shape, turned)},
        /* devices */
        {{"input 'A' is f32[6,4] on CUDA device 1;"}, 1, 0, on(a, kDLCUDA, 1)},
        {{"input 'A' is f32[6,4] on ROCm device 0;"}, 1, 0, on(a, kDLROCM, 0)},
        {{"input 'A' is f32[6,4] on device 2 of type 99;"}, 1, 0, on(a, (DLDeviceType)99, 2)},
        {{"output 'Y' is f32[6,4] on CUDA device 0;"}, 0, 1, on(y, kDLCUDA, 0)},
        /* no data */
        {{"input 'A' is f32[6,4] without data (NULL);"}, 1, 0, moved(a, NULL, 0)},
        {{"input 'A' is f32[6,4] without data (NULL);"}, 1, 0, moved(a, NULL, 64)},
        {{"output 'Z' is f32[6,4] without data (NULL);"}, 0, 2, moved(f.out[1], NULL, 0)},
        /* overlap: the same, the last element, the first one, an offset */
        {{"output 'Y' overlaps that of input 'A'", "memory that no other tensor"}, 0, 1, moved(y, f.pool, 0)},
        {{"output 'Y' overlaps that of input 'A'"}, 0, 1, moved(y, f.pool + N - 1, 0)},
        {{"output 'Y' overlaps that of input 'B'"}, 0, 1, moved(y, f.pool + 64 - N + 1, 0)},
        {{"output 'Y' overlaps that of input 'B'"}, 0, 1, moved(y, f.pool, 64 * sizeof(float))},
        {{"output 'Y' overlaps that of input 'K'"}, 0, 1, moved(y, k.data, 0)},
        {{"output 'Z' overlaps that of output 'Y'"}, 0, 2, moved(f.out[1], y.data, 0)},
        {{"output 'Z' overlaps that of output 'Y'"}, 0, 2, moved(f.out[1], (float *)y.data + N - 1, 0)},
        {{"output 'Y' overlaps that of input 'A'"}, 1, 0, moved(a, (float *)y.data + 1, 0)},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        expect_refusal(&cases[i]);
}

static void test_no_arrays(void **state) {
    (void)state;
    tctune_kernel_time times[8];
    DLTensor out[2];
    memcpy(out, f.out, sizeof out);
    REFUSED(TCTUNE_BAD_INPUT, "the array of inputs is missing: the model has 3",
            tctune_model_run(f.m, NULL, out, error, sizeof error));
    REFUSED(TCTUNE_BAD_INPUT, "the array of outputs is missing: the model has 2",
            tctune_model_run(f.m, f.in, NULL, error, sizeof error));
    REFUSED(TCTUNE_BAD_INPUT, "the array of inputs is missing", tctune_model_profile(f.m, NULL, 1, times, error, sizeof error));
    REFUSED(TCTUNE_BAD_INPUT, "at least 1 run, not 0", tctune_model_profile(f.m, f.in, 0, times, error, sizeof error));
}

/* ---- sizes that vary ---- */

static void test_sizes_that_vary(void **state) {
    (void)state;
    static const char varying[] = "symbol S 0..8\ntensor X[S, 4] f32\ntensor W[S, 4] f32\n"
                                  "compute Y[i:S, j:4] = X[i, j] - W[i, j]\noutput Y\n";
    tctune_build_options o = {.struct_size = sizeof o, .threads = 1};
    tctune_work *w = open_text(varying);
    tctune_model *m;
    OK(tctune_build(w, &o, &m, error, sizeof error));
    tctune_work_free(w);
    int64_t rows[] = {3, 4}, other[] = {2, 4}, most[] = {8, 4}, none[] = {0, 4}, beyond[] = {9, 4}, huge[] = {INT64_MAX / 2, 4},
            five[] = {3, 5}, odd[] = {9, 7};
    DLTensor in[] = {tensor(f.pool, kDLFloat, 2, rows), tensor(f.pool + 64, kDLFloat, 2, rows)},
             out[] = {tensor(f.pool + 128, kDLFloat, 2, most)};
    OK(tctune_model_run(m, in, out, error, sizeof error));
    assert_int_equal(tctune_model_output_shape(m, 0)[0], 3);
    assert_true(f.pool[128 + 11] == -64);
    in[0].shape = in[1].shape = none; /* nothing needs no memory, and strides of nothing are any */
    in[0].data = NULL;
    in[0].strides = odd;
    OK(tctune_model_run(m, in, out, error, sizeof error));
    assert_int_equal(tctune_model_output_shape(m, 0)[0], 0);
    in[0].strides = NULL;
    in[0].shape = in[1].shape = rows;
    REFUSED(TCTUNE_BAD_INPUT, "input 'X' is f32[3,4] without data", tctune_model_run(m, in, out, error, sizeof error));
    in[0].data = f.pool;
    in[0].strides = odd;
    REFUSED(TCTUNE_BAD_INPUT, "input 'X' is f32[3,4] with strides [9,7]; it must be a dense tensor of at most f32[8,4]",
            tctune_model_run(m, in, out, error, sizeof error));
    in[0].strides = NULL;
    in[0].shape = five;
    REFUSED(TCTUNE_BAD_INPUT, "input 'X' is f32[3,5]; it must be a dense tensor of at most f32[8,4]",
            tctune_model_run(m, in, out, error, sizeof error));
    in[0].shape = beyond;
    REFUSED(TCTUNE_BAD_INPUT, "dimension 0 of input 'X' is 9", tctune_model_run(m, in, out, error, sizeof error));
    in[0].shape = huge;
    REFUSED(TCTUNE_BAD_INPUT, "dimension 0 of input 'X' is 46116860", tctune_model_run(m, in, out, error, sizeof error));
    in[0].shape = other;
    REFUSED(TCTUNE_BAD_INPUT, "'S' is 3 in dimension 0 of input 'W', but 2", tctune_model_run(m, in, out, error, sizeof error));
    in[0].shape = rows;
    out[0].shape = rows;
    REFUSED(TCTUNE_BAD_INPUT, "output 'Y' is f32[3,4]; it must be a dense tensor f32[8,4]",
            tctune_model_run(m, in, out, error, sizeof error));
    out[0].shape = most;
    out[0].data = f.pool + 12; /* behind what the input has in this run; outputs have their largest size */
    in[1].data = f.pool + 12 + 31;
    REFUSED(TCTUNE_BAD_INPUT, "output 'Y' overlaps that of input 'W'", tctune_model_run(m, in, out, error, sizeof error));
    in[1].data = f.pool + 12 + 32;
    OK(tctune_model_run(m, in, out, error, sizeof error));
    tctune_model_free(m);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_right_ones),
        cmocka_unit_test(test_wrong_ones),
        cmocka_unit_test(test_no_arrays),
        cmocka_unit_test(test_sizes_that_vary),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
