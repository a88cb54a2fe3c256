/* Ranges, weights and biases: what the integers are, against their definitions. */
#include <math.h>

#include "graph/graph_test.h"
#include "graph/quantize/quantize_int.h"
#include "support/rng.h"

static range *seen(const float *v, int64_t n, tc_quantize_method m) {
    range *r = tc_xcalloc(1, sizeof *r);
    r->low = INFINITY;
    r->high = -INFINITY;
    quant_range_see(r, v, n);
    if (m != TC_QUANTIZE_MINMAX)
        quant_range_count(r, m, v, n);
    return r;
}

static quant_params params_of(const float *v, int64_t n, const tc_quantize_options *o) {
    range *r = seen(v, n, o->method);
    quant_params p = quant_range_params(r, o);
    free(r);
    return p;
}

/* Zero is a value of its own, and nothing that was seen is further than half a step from one, whatever the numbers. */
static void test_minmax_covers(void **state) {
    (void)state;
    enum { N = 200 };
    float v[N];
    for (uint64_t c = 0; c < 200; c++) {
        tc_rng r = tc_rng_seed(c);
        double scale = pow(10, tc_rng_below(&r, 12) - 6), offset = scale * (double)tc_rng_below(&r, 7) - 3 * scale;
        for (int i = 0; i < N; i++)
            v[i] = (float)(offset + scale * tc_rng_normal(&r));
        for (int s8 = 0; s8 < 2; s8++) {
            quant_params p = params_of(v, N, &(tc_quantize_options){.activations = s8 ? TC_I8 : TC_U8});
            int low = s8 ? -127 : 0, high = s8 ? 127 : 255;
            assert_true(p.zero >= low && p.zero <= high && (!s8 || p.zero == 0));
            for (int i = 0; i < N; i++) {
                double q = fmin(fmax(nearbyint(v[i] / p.scale) + p.zero, low), high);
                /* A zero point that had to be rounded moves the range by up to half a step. */
                assert_true(fabs((q - p.zero) * p.scale - v[i]) <= 1.001 * p.scale);
            }
        }
    }
}

static void test_zeros_have_a_scale(void **state) {
    (void)state;
    const float zeros[4] = {0}, tiny[2] = {1e-44f, -1e-44f};
    quant_params p = params_of(zeros, 4, &(tc_quantize_options){.activations = TC_U8});
    assert_true(p.scale == 1 && p.zero == 0);
    p = params_of(tiny, 2, &(tc_quantize_options){.activations = TC_I8});
    assert_true(p.scale == 1 && p.zero == 0);
}

/* One value in ten thousand is far out: the share and the entropy leave it out, the whole range does not. */
static void test_outliers_are_left_out(void **state) {
    (void)state;
    enum { N = 20000 };
    static float v[N];
    tc_rng r = tc_rng_seed(7);
    for (int i = 0; i < N; i++)
        v[i] = (float)fabs(tc_rng_normal(&r));
    v[5] = v[6] = 400;
    tc_quantize_options o = {.activations = TC_U8, .percentile = 99.9};
    assert_true(params_of(v, N, &o).scale * 255 > 399);
    o.method = TC_QUANTIZE_PERCENTILE;
    double share = params_of(v, N, &o).scale * 255;
    assert_true(share > 2.5 && share < 4.5); /* a bin is 0.2 wide */
    o.method = TC_QUANTIZE_ENTROPY;
    assert_true(params_of(v, N, &o).scale * 255 < 200);
}

static void test_percentile_keeps_its_share(void **state) {
    (void)state;
    enum { N = 5000 };
    static float v[N];
    for (uint64_t c = 0; c < 20; c++) {
        tc_rng r = tc_rng_seed(c);
        for (int i = 0; i < N; i++)
            v[i] = (float)(tc_rng_normal(&r) * (i % 50 ? 1 : 8));
        tc_quantize_options o = {.activations = TC_U8, .method = TC_QUANTIZE_PERCENTILE, .percentile = 90 + (double)(c % 10)};
        quant_params p = params_of(v, N, &o);
        int inside = 0;
        for (int i = 0; i < N; i++)
            inside += v[i] >= (-p.zero - 1) * p.scale && v[i] <= (256 - p.zero) * p.scale;
        assert_true(inside >= N * o.percentile / 100 - 1);
    }
}

/* Every weight is within half a step of its integer, in every channel; the largest of a channel is +-127. */
static void test_weights_by_channel(void **state) {
    (void)state;
    enum { N = 4 * 6 * 5 };
    float v[N];
    tc_graph_shape shape = {3, {4, 6, 5}};
    for (int axis = -1; axis < 3; axis++) {
        tc_rng r = tc_rng_seed((uint64_t)(axis + 1));
        tc_graph_tensor q, s, z, w = tc_graph_tensor_view(TC_F32, &shape, v);
        for (int i = 0; i < N; i++)
            v[i] = (float)tc_rng_normal(&r) * (float)(i % 5 + 1);
        assert_ok(quant_weights_s8(&w, axis, &q, &s, &z, err));
        int64_t channels = axis < 0 ? 1 : shape.d[axis], inner = axis == 0 ? 30 : axis == 1 ? 5 : 1;
        int most[6] = {0};
        assert_int_equal(tc_graph_tensor_count(&s), channels);
        assert_int_equal(s.shape.ndim, axis >= 0);
        for (int64_t i = 0; i < N; i++) {
            int64_t c = axis < 0 ? 0 : i / inner % channels;
            int value = ((int8_t *)q.data)[i];
            double unit = ((float *)s.data)[c];
            assert_true(fabs(value * unit - v[i]) <= 0.5001 * unit);
            most[c] = TC_MAX(most[c], abs(value));
        }
        for (int64_t c = 0; c < channels; c++)
            assert_int_equal(most[c], 127);
        tc_graph_tensor_free(&q);
        tc_graph_tensor_free(&s);
        tc_graph_tensor_free(&z);
    }
}

/* Read back as MatMulNBits does: no weight is further off than a step of its block, and rows past the last are zero. */
static void test_weights_of_4_bits(void **state) {
    (void)state;
    enum { K = 37, N = 3, BLOCK = 16, BLOCKS = 3 };
    float v[K * N];
    for (int turned = 0; turned < 2; turned++) {
        tc_rng r = tc_rng_seed((uint64_t)turned);
        tc_graph_shape shape = turned ? (tc_graph_shape){2, {N, K}} : (tc_graph_shape){2, {K, N}};
        tc_graph_tensor q, s, w = tc_graph_tensor_view(TC_F32, &shape, v);
        for (int i = 0; i < K * N; i++)
            v[i] = (float)tc_rng_normal(&r);
        for (int i = 0; i < BLOCK; i++) /* a block of zeros */
            v[turned ? i : i * N] = 0;
        assert_ok(quant_weights_4bit(&w, turned, BLOCK, &q, &s, err));
        const uint8_t *bytes = q.data;
        for (int j = 0; j < N; j++)
            for (int k = 0; k < BLOCKS * BLOCK; k++) {
                int at = (j * BLOCKS * BLOCK + k) / 2, nibble = bytes[at] >> 4 * (k % 2) & 15;
                double unit = ((float *)s.data)[j * BLOCKS + k / BLOCK], got = (nibble - 8) * unit;
                double want = k < K ? v[turned ? j * K + k : k * N + j] : 0;
                assert_true(fabs(got - want) <= 1.0001 * fabs(unit) * (want != 0));
            }
        tc_graph_tensor_free(&q);
        tc_graph_tensor_free(&s);
    }
}

static void test_bias_in_units_of_products(void **state) {
    (void)state;
    tc_graph_tensor b = F32(DIMS(3), 0.5f, -0.25f, 100), s = F32(DIMS(3), 0.1f, 0.01f, 1), q, u;
    assert_ok(tc_graph_tensor_alloc(&q, TC_I32, &b.shape, err));
    assert_ok(tc_graph_tensor_alloc(&u, TC_F32, &s.shape, err));
    assert_true(quant_bias(&b, 0.5, &s, &q, &u));
    assert_int_equal(((int32_t *)q.data)[0], 10);
    assert_int_equal(((int32_t *)q.data)[1], -50);
    assert_int_equal(((int32_t *)q.data)[2], 200);
    assert_false(quant_bias(&b, 1e-9, &s, &q, &u)); /* 100 / 1e-9 is no s32 */
    tc_graph_tensor_free(&q);
    tc_graph_tensor_free(&u);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_minmax_covers),
        cmocka_unit_test(test_zeros_have_a_scale),
        cmocka_unit_test(test_outliers_are_left_out),
        cmocka_unit_test(test_percentile_keeps_its_share),
        cmocka_unit_test(test_weights_by_channel),
        cmocka_unit_test(test_weights_of_4_bits),
        cmocka_unit_test(test_bias_in_units_of_products),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
