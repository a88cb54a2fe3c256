/* Tensor files: .npy, .npz and ONNX .pb, written by us and by NumPy (data/deflated.npz). */
#include "graph/graph_test.h"
#include "graph/io/numpy.h"
#include "graph/onnx/import.h"
#include "support/system/fs.h"

static tc_graph_tensor counting(tc_dtype dtype, tc_graph_shape shape) {
    tc_graph_tensor t;
    assert_ok(tc_graph_tensor_alloc(&t, dtype, &shape, err));
    int64_t n = tc_graph_tensor_count(&t), *v = calloc((size_t)n + 1, sizeof *v);
    for (int64_t i = 0; i < n; i++)
        v[i] = dtype == TC_BOOL ? i % 2 : i;
    tc_graph_tensor_from_i64(&t, v);
    free(v);
    return t;
}

static void test_npy_round_trip(void **state) {
    (void)state;
    const tc_graph_shape shapes[] = {SCALAR, DIMS(5), DIMS(2, 3), DIMS(0, 4), DIMS(1, 2, 1, 2)};
    for (int t = 0; t < TC_NDTYPES; t++)
        for (size_t i = 0; i < TC_LEN(shapes); i++) {
            tc_graph_tensor a = counting((tc_dtype)t, shapes[i]), b;
            assert_ok(tc_graph_npy_save(SCRATCH("files.npy"), &a, err));
            assert_ok(tc_graph_npy_load(SCRATCH("files.npy"), &b, err));
            if (t == TC_BF16 || tc_dtype_is_stored((tc_dtype)t)) { /* NumPy has no such type */
                tc_graph_diff d;
                tc_dtype holder = tc_dtype_is_float((tc_dtype)t) ? TC_F32 : t == TC_I4 ? TC_I8 : TC_U8;
                assert_int_equal(b.dtype, holder);
                tc_graph_tensor wide;
                assert_ok(tc_graph_tensor_alloc(&wide, holder, &a.shape, err));
                tc_graph_tensor_cast(&wide, &a);
                assert_ok(tc_graph_tensor_compare(&b, &wide, 0, 0, &d, err));
                assert_int_equal(d.violations, 0);
                tc_graph_tensor_free(&wide);
            } else {
                assert_true(tc_graph_tensor_equal(&a, &b));
            }
            tc_graph_tensor_free(&a);
            tc_graph_tensor_free(&b);
        }
}

static void write_text(const char *path, const void *data, size_t size) {
    assert_ok(tc_fs_write(path, data, size, err));
}

static void test_npy_bad(void **state) {
    (void)state;
    tc_graph_tensor t = counting(TC_F32, (tc_graph_shape)DIMS(4, 4)), out;
    tc_strbuf b = {0};
    tc_graph_npy_format(&t, &b);
    assert_int_equal((b.len - 64) % 64, 0);
    for (size_t n = 0; n < b.len; n++) /* no truncation goes unnoticed, or reads past the end */
        assert_fails(TC_BAD_INPUT, tc_graph_npy_parse("cut.npy", b.data, n, &out, err), "cut.npy");
    char *text = strstr(b.data + 10, "<f4");
    memcpy(text, "<c8", 3);
    assert_fails(TC_BAD_INPUT, tc_graph_npy_parse("c.npy", b.data, b.len, &out, err), "element type '<c8'", "float32");
    memcpy(text, "<f4", 3);
    memcpy(strstr(b.data + 10, "(4, 4)"), "(4,-4)", 6);
    assert_fails(TC_BAD_INPUT, tc_graph_npy_parse("n.npy", b.data, b.len, &out, err), "malformed");
    tc_strbuf_free(&b);
    tc_graph_tensor_free(&t);
    assert_fails(TC_BAD_INPUT, tc_graph_npy_load(SCRATCH("missing.npy"), &out, err), "missing.npy");
}

/* Deflated members, big-endian and column-major arrays, a scalar, booleans. */
static void test_npz_of_numpy(void **state) {
    (void)state;
    tc_graph_bundle b;
    assert_ok(tc_graph_npz_load(TCTUNE_TEST_DIR "/data/deflated.npz", &b, err));
    assert_int_equal(b.len, 5);
    tc_graph_shape sa = DIMS(10, 20), sb = DIMS(2, 3), sc = DIMS(2, 3, 4);
    tc_graph_tensor a = counting(TC_F32, sa), c = counting(TC_I64, sc);
    assert_true(tc_graph_tensor_equal(tc_graph_bundle_find(&b, "a"), &a));
    assert_true(tc_graph_tensor_equal(tc_graph_bundle_find(&b, "c"), &c));
    const tc_graph_tensor *big = tc_graph_bundle_find(&b, "b"), *scalar = tc_graph_bundle_find(&b, "d");
    assert_true(big->dtype == TC_I32 && tc_graph_shape_equal(&big->shape, &sb));
    assert_memory_equal(big->data, ((int32_t[]){1, 2, 3, 4, 5, 6}), 24);
    assert_true(scalar->dtype == TC_F64 && scalar->shape.ndim == 0 && *(double *)scalar->data == 2.5);
    assert_memory_equal(tc_graph_bundle_find(&b, "e")->data, ((uint8_t[]){1, 0}), 2);
    assert_null(tc_graph_bundle_find(&b, "f"));
    tc_graph_bundle_free(&b);
    tc_graph_tensor_free(&a);
    tc_graph_tensor_free(&c);
}

static void test_npz_round_trip(void **state) {
    (void)state;
    tc_graph_tensor x = counting(TC_F32, (tc_graph_shape)DIMS(3, 5)), y = counting(TC_U8, (tc_graph_shape)SCALAR);
    tc_graph_named items[] = {{(char *)"in.x", x}, {(char *)"layer/0:y", y}};
    tc_graph_bundle b;
    assert_ok(tc_graph_npz_save(SCRATCH("files.npz"), items, 2, err));
    assert_ok(tc_graph_npz_save(SCRATCH("files.npz"), items, 2, err)); /* over an old one */
    assert_ok(tc_graph_npz_load(SCRATCH("files.npz"), &b, err));
    assert_int_equal(b.len, 2);
    assert_true(tc_graph_tensor_equal(tc_graph_bundle_find(&b, "in.x"), &x));
    assert_true(tc_graph_tensor_equal(tc_graph_bundle_find(&b, "layer/0:y"), &y));
    tc_graph_bundle_free(&b);
    tc_graph_tensor_free(&x);
    tc_graph_tensor_free(&y);
}

static void test_npz_bad(void **state) {
    (void)state;
    tc_graph_bundle b;
    char *data;
    size_t size;
    assert_fails(TC_BAD_INPUT, tc_graph_npz_load(SCRATCH("none.npz"), &b, err), "no such file");
    write_text(SCRATCH("text.npz"), "hello", 5);
    assert_fails(TC_BAD_INPUT, tc_graph_npz_load(SCRATCH("text.npz"), &b, err), "text.npz", "not a readable .npz");
    static const char pointer[] = "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n";
    write_text(SCRATCH("pointer.npz"), pointer, sizeof pointer - 1);
    assert_fails(TC_BAD_INPUT, tc_graph_npz_load(SCRATCH("pointer.npz"), &b, err), "pointer.npz", "git lfs pull");
    assert_ok(tc_fs_read(TCTUNE_TEST_DIR "/data/deflated.npz", &data, &size, err));
    data[90] ^= 0x55; /* inside the first member's compressed data */
    write_text(SCRATCH("damaged.npz"), data, size);
    assert_fails(TC_BAD_INPUT, tc_graph_npz_load(SCRATCH("damaged.npz"), &b, err), "damaged.npz: member 'a.npy'");
    free(data);
    tc_graph_tensor x = F32(DIMS(1), 1);
    assert_fails(TC_ENV, tc_graph_npz_save(SCRATCH("no-such-folder/x.npz"), &(tc_graph_named){(char *)"x", x}, 1, err),
                 "no-such-folder");
}

static void test_pb(void **state) {
    (void)state;
    for (int t = 0; t < TC_NDTYPES; t++) {
        tc_graph_tensor a = counting((tc_dtype)t, (tc_graph_shape)DIMS(2, 3)), b;
        char *name;
        assert_ok(tc_graph_pb_save(SCRATCH("files.pb"), "tensor", &a, err));
        assert_ok(tc_graph_pb_load(SCRATCH("files.pb"), &b, &name, err));
        assert_true(tc_graph_tensor_equal(&a, &b));
        assert_string_equal(name, "tensor");
        free(name);
        tc_graph_tensor_free(&a);
        tc_graph_tensor_free(&b);
    }
    tc_graph_tensor out;
    write_text(SCRATCH("bad.pb"), "\xff\xff\xff", 3);
    assert_fails(TC_BAD_INPUT, tc_graph_pb_load(SCRATCH("bad.pb"), &out, NULL, err), "bad.pb", "not an ONNX tensor");
    /* FLOAT [2] with float_data of one element */
    write_text(SCRATCH("short.pb"), "\x08\x02\x10\x01\x22\x04\0\0\0\0", 10);
    assert_fails(TC_BAD_INPUT, tc_graph_pb_load(SCRATCH("short.pb"), &out, NULL, err), "needs 2 elements", "holds 1");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_npy_round_trip), cmocka_unit_test(test_npy_bad), cmocka_unit_test(test_npz_of_numpy),
        cmocka_unit_test(test_npz_round_trip), cmocka_unit_test(test_npz_bad), cmocka_unit_test(test_pb),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
