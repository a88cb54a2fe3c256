/* Weights of ONNX files, which are read past the rest of the message: whole, wherever they stand, and from files that others
 * write to meanwhile. */
#include "graph/graph_test.h"
#include "graph/onnx/edit.h"
#include "support/strbuf.h"
#include "support/system/fs.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MODEL SCRATCH("weights.onnx")

/* ---- somebody else, who does something before the read of that number ---- */

static struct {
    int reads, at; /* at: -1 never */
    void (*act)(void);
    const char *file;
    int error;
} other = {.at = -1};

ssize_t pread(int fd, void *p, size_t n, off_t at) {
    if (other.reads++ == other.at && other.act)
        other.act();
    if (other.reads > other.at && other.at >= 0 && other.error) {
        errno = other.error;
        return -1;
    }
    return syscall(SYS_pread64, fd, p, n, at);
}

static void shorten(void) {
    struct stat st;
    assert_int_equal(stat(other.file, &st), 0);
    assert_int_equal(truncate(other.file, st.st_size / 3), 0);
}

static void lengthen(void) {
    struct stat st;
    assert_int_equal(stat(other.file, &st), 0);
    assert_int_equal(truncate(other.file, st.st_size + 1), 0);
}

static void overwrite(void) {
    int fd = open(other.file, O_WRONLY | O_CLOEXEC);
    assert_int_equal(pwrite(fd, "", 1, 9), 1);
    close(fd);
}

/* Its time is past, so that any write shows. */
static void put(const char *path, const void *data, size_t size) {
    assert_ok(tc_fs_write(path, data, size, err));
    assert_int_equal(utimensat(AT_FDCWD, path, (struct timespec[2]){{.tv_sec = 1000}, {.tv_sec = 1000}}, 0), 0);
}

/* ---- models ---- */

static float element(int64_t weight, int64_t i) {
    return (float)(weight * 1000003 + i % 8191);
}

static tc_graph_tensor numbered(int64_t weight, int64_t n) {
    tc_graph_tensor t;
    assert_ok(tc_graph_tensor_alloc(&t, TC_F32, &(tc_graph_shape){1, {n}}, err));
    for (int64_t i = 0; i < n; i++)
        ((float *)t.data)[i] = element(weight, i);
    return t;
}

/* On both sides of the size from which they are left out of the message. */
static const int64_t sizes[] = {16383, 16384, 3, 16385, 100000, 1};
enum { NSIZES = sizeof sizes / sizeof sizes[0] };

/* Initializers and attributes in turns. */
static tc_graph_writer *model_of_weights(void) {
    tc_graph_writer *w = tc_graph_writer_new("weights", 17);
    char name[16], x[32], y[16];
    tc_graph_writer_input(w, "x", TC_F32, "1");
    for (int i = 0; i < NSIZES; i++) {
        snprintf(name, sizeof name, "w%d", i);
        if (i % 2) {
            tc_graph_writer_weight(w, name, numbered(i, sizes[i]));
        } else {
            tc_graph_tensor t = numbered(i, sizes[i]);
            tc_graph_writer_node(w, "Constant", "", "", name);
            tc_graph_writer_tensor(w, "value", t);
        }
    }
    for (int i = 0; i < NSIZES; i++) {
        snprintf(x, sizeof x, "x,w%d", i);
        snprintf(y, sizeof y, "y%d", i);
        tc_graph_writer_node(w, "Add", "", x, y);
        tc_graph_writer_output(w, y, TC_F32, NULL);
    }
    return w;
}

static void check_weights(const char *path, const tc_graph_import_options *o) {
    tc_graph *g;
    assert_ok(tc_graph_import(path, o, &g, err));
    for (int k = 0; k < NSIZES; k++) {
        const tc_graph_tensor *t = g->outputs.data[k].value->producer->in[1]->constant;
        assert_int_equal(tc_graph_tensor_count(t), sizes[k]);
        for (int64_t i = 0; i < sizes[k]; i++)
            if (((const float *)t->data)[i] != element(k, i))
                fail_msg("%s: element %lld of weight %d is %g", path, (long long)i, k, (double)((const float *)t->data)[i]);
    }
    tc_graph_free(g);
}

static void test_sizes(void **state) {
    (void)state;
    tc_graph_writer *w = model_of_weights();
    assert_ok(tc_graph_writer_save(w, MODEL, err));
    tc_graph_writer_free(w);
    check_weights(MODEL, NULL);
    tc_onnx_edit *e;
    assert_ok(tc_onnx_edit_open(MODEL, &e, err));
    assert_ok(tc_onnx_edit_save(e, SCRATCH("weights_edited.onnx"), err));
    tc_onnx_edit_free(e);
    check_weights(SCRATCH("weights_edited.onnx"), NULL);
}

/* From memory, where no file of that name is. */
static void test_bytes(void **state) {
    (void)state;
    char *bytes;
    size_t size;
    tc_graph *g;
    tc_graph_writer *w = model_of_weights();
    assert_ok(tc_graph_writer_save(w, MODEL, err));
    tc_graph_writer_free(w);
    assert_ok(tc_fs_read(MODEL, &bytes, &size, err));
    tc_graph_import_options o = {.bytes = bytes, .nbytes = size};
    check_weights("memory.onnx", &o);
    for (size_t n = 0; n < size; n += 1 + size / 100) {
        o.nbytes = n;
        assert_fails(TC_BAD_INPUT, tc_graph_import("memory.onnx", &o, &g, err), "memory.onnx: ");
    }
    free(bytes);
}

/* ---- damaged messages, by hand ---- */

static void varint(tc_strbuf *b, uint64_t v) {
    for (; v >= 128; v >>= 7)
        tc_sb_addc(b, (char)(v | 128));
    tc_sb_addc(b, (char)v);
}

static void field(tc_strbuf *b, int number, const tc_strbuf *content) {
    varint(b, (uint64_t)number << 3 | 2);
    varint(b, content->len);
    tc_sb_addn(b, tc_sb_str(content), content->len);
}

static void text(tc_strbuf *b, int number, const char *content) {
    tc_strbuf c = {0};
    tc_sb_add(&c, content);
    field(b, number, &c);
    tc_strbuf_free(&c);
}

/* y = w, of u8, where w has `fields` besides its name, type and dimension. */
static void put_constant(const char *path, size_t n, const tc_strbuf *fields) {
    tc_strbuf w = {0}, node = {0}, y = {0}, graph = {0}, opset = {0}, model = {0};
    tc_sb_add(&w, "\x08");
    varint(&w, n);
    tc_sb_add(&w, "\x10\x02");
    text(&w, 8, "w");
    tc_sb_addn(&w, fields->data, fields->len);
    text(&node, 1, "w");
    text(&node, 2, "y");
    text(&node, 4, "Identity");
    field(&graph, 1, &node);
    text(&graph, 2, "constant");
    field(&graph, 5, &w);
    text(&y, 1, "y");
    field(&graph, 12, &y);
    tc_sb_add(&opset, "\x10\x11");
    tc_sb_add(&model, "\x08\x08");
    field(&model, 7, &graph);
    field(&model, 8, &opset);
    put(path, model.data, model.len);
    tc_strbuf *all[] = {&w, &node, &y, &graph, &opset, &model};
    for (size_t i = 0; i < TC_LEN(all); i++)
        tc_strbuf_free(all[i]);
}

static void add_raw(tc_strbuf *b, size_t n, char value) {
    tc_strbuf c = {0};
    for (size_t i = 0; i < n; i++)
        tc_sb_addc(&c, value);
    field(b, 9, &c);
    tc_strbuf_free(&c);
}

/* What the reader writes for itself where weights are left out, a file may bring, too. */
static void test_forged(void **state) {
    (void)state;
    enum { N = 70000, PIECE = (1 << 29) - 1 };
    static const size_t numbers[] = {0, 1, 1000};
    tc_graph *g;
    for (size_t i = 0; i < TC_LEN(numbers); i++)
        for (int after = 0; after < 2; after++) {
            tc_strbuf fields = {0};
            if (after)
                add_raw(&fields, N, 7);
            varint(&fields, (uint64_t)PIECE << 3 | 1);
            tc_sb_addn(&fields, (const char *)&numbers[i], 8);
            if (!after)
                add_raw(&fields, N, 7);
            put_constant(SCRATCH("forged.onnx"), N, &fields);
            assert_ok(tc_graph_import(SCRATCH("forged.onnx"), NULL, &g, err));
            const tc_graph_tensor *t = g->outputs.data[0].value->constant;
            for (int k = 0; k < N; k++)
                assert_int_equal(((const uint8_t *)t->data)[k], 7);
            tc_graph_free(g);
            tc_strbuf_free(&fields);
        }
    tc_strbuf alone = {0};
    varint(&alone, (uint64_t)PIECE << 3 | 1);
    tc_sb_addn(&alone, "\0\0\0\0\0\0\0", 8);
    put_constant(SCRATCH("forged.onnx"), N, &alone);
    assert_fails(TC_BAD_INPUT, tc_graph_import(SCRATCH("forged.onnx"), NULL, &g, err), "forged.onnx", "tensor 'w'");
    tc_strbuf_free(&alone);
}

static void test_twice(void **state) {
    (void)state;
    static const size_t sizes_of[][2] = {{70000, 70000}, {4, 70000}, {70000, 4}, {4, 4}};
    tc_graph *g;
    for (size_t i = 0; i < TC_LEN(sizes_of); i++) {
        tc_strbuf fields = {0};
        add_raw(&fields, sizes_of[i][0], 1);
        add_raw(&fields, sizes_of[i][1], 2);
        put_constant(SCRATCH("twice.onnx"), sizes_of[i][1], &fields);
        assert_fails(TC_BAD_INPUT, tc_graph_import(SCRATCH("twice.onnx"), NULL, &g, err), "twice.onnx", "'raw_data' twice");
        tc_strbuf_free(&fields);
    }
}

/* ---- others write meanwhile ---- */

/* At each of the reads of an import from `first`, which then fails; the file is as it was before, for each of them. */
static void check_meanwhile(const char *file, int first, void (*act)(void)) {
    tc_graph *g;
    char *data;
    size_t size;
    assert_ok(tc_fs_read(file, &data, &size, err));
    for (int at = first, last = first; at <= last; at++) {
        put(file, data, size);
        other.reads = 0;
        assert_ok(tc_graph_import(MODEL, NULL, &g, err));
        tc_graph_free(g);
        last = other.reads - 1;
        assert_true(last >= first);
        other.reads = 0;
        other.at = at;
        other.act = act;
        other.file = file;
        assert_fails(TC_ENV, tc_graph_import(MODEL, NULL, &g, err), file + sizeof TCTUNE_TEST_TMP,
                     "another program wrote to it while it was read");
        other.at = -1;
    }
    put(file, data, size);
    free(data);
}

static void test_meanwhile(void **state) {
    (void)state;
    tc_graph_writer *w = model_of_weights();
    assert_ok(tc_graph_writer_save(w, MODEL, err));
    tc_graph_writer_free(w);
    check_meanwhile(MODEL, 0, shorten);
    check_meanwhile(MODEL, 0, lengthen);
    check_meanwhile(MODEL, 0, overwrite);
}

static void put_external_model(const char *weights) {
    tc_graph_tensor t = numbered(1, 100000);
    put(weights, t.data, tc_graph_tensor_bytes(&t));
    tc_graph_tensor_free(&t);
    tc_graph_writer *w = tc_graph_writer_new("external", 17);
    tc_graph_writer_input(w, "x", TC_F32, "50000");
    tc_graph_writer_output(w, "y", TC_F32, NULL);
    tc_graph_writer_external(w, "a", TC_F32, "50000", "weights.data", 0, 200000);
    tc_graph_writer_external(w, "b", TC_F32, "50000", "weights.data", 200000, -1);
    tc_graph_writer_node(w, "Add", "", "x,a", "s");
    tc_graph_writer_node(w, "Mul", "", "s,b", "y");
    assert_ok(tc_graph_writer_save(w, MODEL, err));
    tc_graph_writer_free(w);
}

/* A model that was imported keeps what it read. */
static void test_external(void **state) {
    (void)state;
    const char *weights = SCRATCH("weights.data");
    tc_graph *g;
    put_external_model(weights);
    check_meanwhile(weights, 1, shorten); /* the first read is the model's */
    check_meanwhile(weights, 1, lengthen);
    check_meanwhile(weights, 1, overwrite);
    assert_ok(tc_graph_import(MODEL, NULL, &g, err));
    assert_int_equal(truncate(weights, 0), 0);
    const tc_graph_node *mul = g->outputs.data[0].value->producer;
    const tc_graph_tensor *b = mul->in[1]->constant;
    for (int i = 0; i < 50000; i++)
        assert_true(((const float *)b->data)[i] == element(1, 50000 + i));
    tc_graph_free(g);
    assert_fails(TC_BAD_INPUT, tc_graph_import(MODEL, NULL, &g, err), "tensor 'a'", "weights.data", "has only 0");
}

/* The data of a model in memory lie in the folder that is given, and nowhere else. */
static void test_external_bytes(void **state) {
    (void)state;
    char *bytes;
    size_t size;
    tc_graph *g;
    put_external_model(SCRATCH("weights.data"));
    assert_ok(tc_fs_read(MODEL, &bytes, &size, err));
    tc_graph_import_options o = {.bytes = bytes, .nbytes = size, .folder = TCTUNE_TEST_TMP};
    assert_ok(tc_graph_import("memory.onnx", &o, &g, err));
    tc_graph_free(g);
    o.folder = "/no/such";
    assert_fails(TC_BAD_INPUT, tc_graph_import("memory.onnx", &o, &g, err), "memory.onnx: ", "/no/such/weights.data");
    o.folder = NULL;
    assert_fails(TC_BAD_INPUT, tc_graph_import(MODEL, &o, &g, err), "tensor 'a'", "'weights.data'", "data_folder");
    free(bytes);
    /* Of a file, too, it comes before the file's own. */
    assert_ok(tc_graph_import(MODEL, &(tc_graph_import_options){.folder = TCTUNE_TEST_TMP}, &g, err));
    tc_graph_free(g);
    assert_fails(TC_BAD_INPUT, tc_graph_import(MODEL, &(tc_graph_import_options){.folder = "/no/such"}, &g, err),
                 "/no/such/weights.data");
}

static void test_error(void **state) {
    (void)state;
    tc_graph *g;
    put_external_model(SCRATCH("weights.data"));
    for (other.at = 0; other.at < 3; other.at++) {
        other.reads = 0;
        other.error = EIO;
        other.act = NULL;
        assert_fails(TC_ENV, tc_graph_import(MODEL, NULL, &g, err), other.at ? "weights.data" : "weights.onnx", "cannot be read");
    }
    other.error = 0;
    other.at = -1;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sizes),          cmocka_unit_test(test_bytes),     cmocka_unit_test(test_forged),
        cmocka_unit_test(test_twice),          cmocka_unit_test(test_meanwhile), cmocka_unit_test(test_external),
        cmocka_unit_test(test_external_bytes), cmocka_unit_test(test_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
