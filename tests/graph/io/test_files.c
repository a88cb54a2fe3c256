/* Tensor files: .npy, .npz and ONNX .pb, written by us and by NumPy (data/deflated.npz). */
#include "graph/graph_test.h"

#include <sys/mman.h>
#include <unistd.h>

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

/* Headers of an archive, as APPNOTE.TXT has them: a signature, and where the fields are that readers believe. */
typedef struct header {
    const char *signature;
    int flags, method, crc, packed, size, name;
} header;
static const header local = {"PK\3\4", 6, 8, 14, 18, 22, 30}, central = {"PK\1\2", 8, 10, 16, 20, 24, 46};

/* The k-th header of a kind. */
static char *find_header(char *data, size_t size, const header *h, int k) {
    for (size_t i = 0; i + 46 < size; i++)
        if (memcmp(data + i, h->signature, 4) == 0 && k-- == 0)
            return data + i;
    fail_msg("the archive has no such header");
    return NULL;
}

static void put_number(char *at, uint32_t value, int bytes) {
    for (int i = 0; i < bytes; i++)
        at[i] = (char)(value >> 8 * i);
}

typedef struct change {
    int flags, method; /* -1: as it is */
    int64_t packed, size;
    const char *second; /* name of the second member */
} change;

/* The archive of a file with its first member's headers changed. */
static void load_changed(const char *file, const change *c, const char *says, const char *more) {
    char *data;
    size_t size;
    tc_graph_bundle b;
    assert_ok(tc_fs_read(file, &data, &size, err));
    for (int i = 0; i < 2; i++) {
        const header *h = i ? &local : &central;
        char *at = find_header(data, size, h, 0);
        if (c->flags >= 0)
            put_number(at + h->flags, (uint32_t)c->flags, 2);
        if (c->method >= 0)
            put_number(at + h->method, (uint32_t)c->method, 2);
        if (c->packed >= 0)
            put_number(at + h->packed, (uint32_t)c->packed, 4);
        if (c->size >= 0)
            put_number(at + h->size, (uint32_t)c->size, 4);
        if (c->second)
            memcpy(find_header(data, size, h, 1) + h->name, c->second, strlen(c->second));
    }
    write_text(SCRATCH("changed.npz"), data, size);
    assert_fails(TC_BAD_INPUT, tc_graph_npz_load(SCRATCH("changed.npz"), &b, err), "changed.npz: ", says, more);
    assert_int_equal(b.len, 0);
    free(data);
}

/* What an archive says of its members is not believed. */
static void test_npz_headers(void **state) {
    (void)state;
    static const change same = {-1, -1, -1, -1, NULL};
    const char *packed = TCTUNE_TEST_DIR "/data/deflated.npz", *stored = SCRATCH("stored.npz");
    tc_graph_tensor x = counting(TC_F32, (tc_graph_shape)DIMS(3, 5)), y = counting(TC_U8, (tc_graph_shape)DIMS(7));
    tc_graph_named items[] = {{(char *)"x", x}, {(char *)"y", y}};
    assert_ok(tc_graph_npz_save(stored, items, 2, err));
    change c = same;
    c.flags = 1;
    load_changed(stored, &c, "member 'x.npy'", "encrypted");
    load_changed(packed, &c, "member 'a.npy'", "encrypted");
    c = same, c.method = 12;
    load_changed(stored, &c, "method 12", "numpy.savez");
    c.method = 93;
    load_changed(packed, &c, "method 93", "expected 0 (stored) or 8 (deflated)");
    c = same, c.size = 4000000000;
    load_changed(stored, &c, "member 'x.npy'", "says that it has 4000000000");
    load_changed(packed, &c, "says that it has 4000000000 bytes", "more than can be compressed");
    c.packed = 4000000000;
    load_changed(stored, &c, "changed.npz", "4000000000");
    c = same, c.size = 927; /* of 928 */
    load_changed(packed, &c, "member 'a.npy'", "damaged");
    c.size = 929;
    load_changed(packed, &c, "member 'a.npy'", "damaged");
    c = same, c.second = "x.npy";
    load_changed(stored, &c, "member 'x.npy'", "two arrays of this name");
    tc_graph_tensor_free(&x);
    tc_graph_tensor_free(&y);
}

/* Many members that are the same bytes of the file: each is possible, all together are not. */
static void test_npz_overlap(void **state) {
    (void)state;
    enum { MEMBERS = 60, ENTRY = 46 + 5, END = 22 };
    tc_graph_bundle b;
    char *data;
    size_t size;
    assert_ok(tc_fs_read(TCTUNE_TEST_DIR "/data/zeros.npz", &data, &size, err)); /* 1 MB of zeros in 1 KB */
    char *entry = find_header(data, size, &central, 0);
    tc_strbuf all = {0};
    tc_sb_addn(&all, data, (size_t)(entry - data));
    for (int i = 0; i < MEMBERS; i++) {
        entry[central.name] = (char)('A' + i);
        tc_sb_addn(&all, entry, ENTRY);
    }
    char end[END];
    memcpy(end, data + size - END, END);
    put_number(end + 8, MEMBERS, 2);
    put_number(end + 10, MEMBERS, 2);
    put_number(end + 12, MEMBERS * ENTRY, 4);
    tc_sb_addn(&all, end, END);
    write_text(SCRATCH("overlap.npz"), all.data, all.len);
    assert_fails(TC_BAD_INPUT, tc_graph_npz_load(SCRATCH("overlap.npz"), &b, err), "overlap.npz: member '", "more than can be");
    tc_strbuf_free(&all);
    free(data);
}

/* Whatever byte of an archive is another one: what is read has the values that were written, or nothing is. The files are in
 * memory: there are thousands, which no disk needs to be waited for. */
static void test_npz_any_byte(void **state) {
    (void)state;
    char path[32];
    int fd = memfd_create("any.npz", MFD_CLOEXEC);
    assert_true(fd >= 0);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    static const char *const files[] = {TCTUNE_TEST_DIR "/data/deflated.npz", SCRATCH("stored.npz")};
    for (size_t f = 0; f < TC_LEN(files); f++) {
        char *data;
        size_t size, refused = 0;
        tc_graph_bundle want, got;
        assert_ok(tc_graph_npz_load(files[f], &want, err));
        assert_ok(tc_fs_read(files[f], &data, &size, err));
        for (size_t i = 0; i < 2 * size; i++) { /* changed, and cut off */
            if (i < size)
                data[i] ^= 0x15;
            size_t n = i < size ? size : i - size;
            assert_int_equal(ftruncate(fd, 0), 0);
            assert_int_equal(pwrite(fd, data, n, 0), n);
            tc_status s = tc_graph_npz_load(path, &got, NULL);
            refused += s != TC_OK;
            for (size_t k = 0; s == TC_OK && k < got.len; k++)
                if (k >= want.len || !tc_graph_tensor_equal(&got.items[k].t, &want.items[k].t))
                    fail_msg("%s: byte %zu is another one, and array %zu too", files[f], i, k);
            if (s == TC_OK && (i >= size || got.len != want.len))
                fail_msg("%s: %zu arrays are read of %zu, with byte %zu another one", files[f], got.len, want.len, i);
            if (i < size)
                data[i] ^= 0x15;
            tc_graph_bundle_free(&got);
        }
        assert_true(refused > size);
        tc_graph_bundle_free(&want);
        free(data);
    }
    close(fd);
}

/* Bytes behind the data change nothing without a word. */
static void test_trailing(void **state) {
    (void)state;
    static const char *const says[] = {"which ONNX does not define", "field 'raw_data' twice", "bad.pb"};
    static const struct {
        const char bytes[12];
        size_t n;
    } more[] = {{"\xfa\x01\x01x", 4}, {"\x4a\x08\0\0\0\0\0\0\0\0", 10}, {"\0\0\0\0", 4}};
    tc_graph_tensor t = F32(DIMS(2), 1, 2), out;
    char *data, *name;
    size_t size;
    assert_ok(tc_graph_pb_save(SCRATCH("good.pb"), "t", &t, err));
    assert_ok(tc_fs_read(SCRATCH("good.pb"), &data, &size, err));
    for (size_t i = 0; i < TC_LEN(more); i++) {
        tc_strbuf b = {0};
        tc_sb_addn(&b, data, size);
        tc_sb_addn(&b, more[i].bytes, more[i].n);
        write_text(SCRATCH("bad.pb"), b.data, b.len);
        assert_fails(TC_BAD_INPUT, tc_graph_pb_load(SCRATCH("bad.pb"), &out, &name, err), "bad.pb", says[i]);
        tc_strbuf_free(&b);
    }
    free(data);
    tc_strbuf b = {0};
    tc_graph_npy_format(&t, &b);
    tc_sb_addc(&b, 0);
    assert_fails(TC_BAD_INPUT, tc_graph_npy_parse("more.npy", b.data, b.len, &out, err), "more.npy", "nothing behind it");
    tc_strbuf_free(&b);
    write_text(SCRATCH("zeros.npy"), "\0\0\0\0\0\0\0\0\0\0\0\0", 12);
    assert_fails(TC_BAD_INPUT, tc_graph_npy_load(SCRATCH("zeros.npy"), &out, err), "zeros.npy", "magic");
    assert_fails(TC_BAD_INPUT, tc_graph_pb_load("/dev/zero", &out, &name, err), "/dev/zero", "it is a device");
    assert_fails(TC_BAD_INPUT, tc_graph_npy_load("/dev/zero", &out, err), "/dev/zero", "it is a device");
    tc_graph_bundle all;
    assert_fails(TC_BAD_INPUT, tc_graph_npz_load("/dev/zero", &all, err), "/dev/zero", "it is a device");
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
        cmocka_unit_test(test_npy_round_trip), cmocka_unit_test(test_npy_bad),
        cmocka_unit_test(test_npz_of_numpy),   cmocka_unit_test(test_npz_round_trip),
        cmocka_unit_test(test_npz_bad),        cmocka_unit_test(test_npz_headers),
        cmocka_unit_test(test_npz_overlap),    cmocka_unit_test(test_npz_any_byte),
        cmocka_unit_test(test_trailing),       cmocka_unit_test(test_pb),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
