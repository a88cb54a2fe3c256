/* Import of small models: types, folding, canonical form, shape bindings, external data; checked on the printed graph. */
#include "graph/graph_test.h"
#include "graph/onnx/import.h"
#include "graph/ops/ops.h"
#include "support/system/fs.h"

#include <sys/stat.h>
#include <unistd.h>

/* Imports the writer's model and compares the printed graph. */
static void expect(tc_graph_writer *w, const tc_graph_import_options *opts, const char *want) {
    tc_graph *g = NULL;
    tc_strbuf b = {0};
    assert_ok(import_model(w, SCRATCH("import.onnx"), opts, &g, err));
    assert_ok(tc_graph_verify(g, err));
    tc_graph_print(g, &b);
    assert_string_equal(tc_sb_str(&b), want);
    tc_strbuf_free(&b);
    tc_graph_free(g);
}

static void test_linear(void **state) {
    (void)state;
    tc_graph_writer *w = tc_graph_writer_new("linear", 17);
    tc_graph_writer_input(w, "x", TC_F32, "2,3");
    tc_graph_writer_output(w, "y", TC_F32, "2,2");
    tc_graph_writer_weight(w, "w", F32(DIMS(2, 3), 1, 2, 3, 4, 5, 6));
    tc_graph_writer_weight(w, "b", F32(DIMS(2), 0.5F, -1));
    tc_graph_writer_node(w, "Gemm", "fc", "x,w,b", "h");
    tc_graph_writer_int(w, "transB", 1);
    tc_graph_writer_node(w, "Relu", "", "h", "y");
    expect(w, NULL,
           "graph \"linear\"\n"
           "input %x : f32[2,3]\n"
           "const %w : f32[2,3] = {1, 2, 3, 4, 5, 6}\n"
           "const %b : f32[2] = {0.5, -1}\n"
           "  %h = Gemm(%x, %w, %b) {transB=1, alpha=1, beta=1, transA=0} : f32[2,2]\n"
           "  %y = Relu(%h) : f32[2,2]\n"
           "output y = %y : f32[2,2]\n");
}

/* x.view(x.size(0), x.size(1), 2, -1) as PyTorch exports it: the arithmetic on shapes disappears. */
static tc_graph_writer *dynamic_view(void) {
    tc_graph_writer *w = tc_graph_writer_new("view", 14);
    tc_graph_writer_input(w, "x", TC_F32, "batch,seq,6");
    tc_graph_writer_output(w, "y", TC_F32, "a,b,c,d");
    tc_graph_writer_weight(w, "zero", I64(SCALAR, 0));
    tc_graph_writer_weight(w, "one", I64(SCALAR, 1));
    tc_graph_writer_weight(w, "axis", I64(DIMS(1), 0));
    tc_graph_writer_weight(w, "tail", I64(DIMS(2), 2, -1));
    tc_graph_writer_node(w, "Shape", "", "x", "s");
    tc_graph_writer_node(w, "Gather", "", "s,zero", "d0");
    tc_graph_writer_node(w, "Gather", "", "s,one", "d1");
    tc_graph_writer_node(w, "Unsqueeze", "", "d0,axis", "u0");
    tc_graph_writer_node(w, "Unsqueeze", "", "d1,axis", "u1");
    tc_graph_writer_node(w, "Concat", "", "u0,u1,tail", "shape");
    tc_graph_writer_int(w, "axis", 0);
    tc_graph_writer_node(w, "Reshape", "", "x,shape", "y");
    return w;
}

static const char dynamic_view_printed[] = "graph \"view\"\n"
                                           "input %x : f32[3,5,6]\n"
                                           "  %y = Reshape(%x) {shape=[3,5,2,3]} : f32[3,5,2,3]\n"
                                           "output y = %y : f32[3,5,2,3]\n";

static void test_dynamic_shapes(void **state) {
    (void)state;
    tc_graph *g;
    tc_graph_binding whole = FIXED("x", 3, 5, 6), wrong = FIXED("x", 3, 5, 7), rank = FIXED("x", 3, 5), other = FIXED("z", 3);
    tc_graph_binding dims[] = {FIXED("seq", 5), FIXED("batch", 3)};
    expect(dynamic_view(), &(tc_graph_import_options){.shapes = &whole, .nshapes = 1}, dynamic_view_printed);
    expect(dynamic_view(), &(tc_graph_import_options){.shapes = dims, .nshapes = 2}, dynamic_view_printed);
    tc_graph_import_options opts = {.shapes = &wrong, .nshapes = 1};
    assert_fails(TC_BAD_INPUT, import_model(dynamic_view(), SCRATCH("dyn.onnx"), &opts, &g, err), "dimension 2 as 7",
                 "fixes it at 6");
    opts.shapes = &rank;
    assert_fails(TC_BAD_INPUT, import_model(dynamic_view(), SCRATCH("dyn.onnx"), &opts, &g, err), "2 dimensions", "has 3");
    opts = (tc_graph_import_options){.shapes = (tc_graph_binding[]){whole, other}, .nshapes = 2};
    assert_fails(TC_BAD_INPUT, import_model(dynamic_view(), SCRATCH("dyn.onnx"), &opts, &g, err), "--shape z",
                 "there are x, batch and seq");
}

static void test_binding_text(void **state) {
    (void)state;
    tc_graph_binding b;
    assert_ok(tc_graph_binding_parse("input=a=1,128", &b, err));
    assert_string_equal(b.name, "input=a");
    assert_true(b.ndim == 2 && b.d[0].least == 1 && b.d[0].most == 1 && b.d[1].least == 128 && b.d[1].most == 128);
    free((void *)(uintptr_t)b.name);
    assert_ok(tc_graph_binding_parse("x=", &b, err));
    assert_int_equal(b.ndim, 0);
    free((void *)(uintptr_t)b.name);
    const char *bad[] = {
        "x",     "=1",    "x=1,",  "x=,1",    "x=1,-2",   "x=1x",    "x=99999999999999999999",    "x=1,1,1,1,1,1,1,1,1",
        "x=1..", "x=..2", "x=1.2", "x=1..2:", "x=1..2:x", "x=1...2", "x=1..99999999999999999999", "x=8:4"};
    for (size_t i = 0; i < TC_LEN(bad); i++)
        assert_fails(TC_BAD_INPUT, tc_graph_binding_parse(bad[i], &b, err), bad[i], "expected NAME=");
}

static void test_range_text(void **state) {
    (void)state;
    static const struct {
        const char *text;
        tc_graph_range range;
    } good[] = {{"n=1..512", {1, 512, 1}},
                {"n=0..0", {0, 0, 1}},
                {"n=1..512:32", {32, 512, 32}},
                {"n=33..100:32", {64, 96, 32}},
                {"n=9223372036854775807..9223372036854775807", {INT64_MAX, INT64_MAX, 1}}};
    tc_graph_binding b;
    for (size_t i = 0; i < TC_LEN(good); i++) {
        assert_ok(tc_graph_binding_parse(good[i].text, &b, err));
        assert_int_equal(b.ndim, 1);
        assert_memory_equal(&b.d[0], &good[i].range, sizeof good[i].range);
        assert_int_equal(tc_graph_bindings_vary(&b, 1), b.d[0].least < b.d[0].most);
        free((void *)(uintptr_t)b.name);
    }
    const char *empty[] = {"n=2..1", "n=1..512:0", "n=33..63:32",
                           "n=9223372036854775806..9223372036854775807:9223372036854775805"};
    for (size_t i = 0; i < TC_LEN(empty); i++)
        assert_fails(TC_BAD_INPUT, tc_graph_binding_parse(empty[i], &b, err), empty[i], "a range has no size in it");
}

static tc_graph_range range_of(int64_t least, int64_t most, int64_t multiple) {
    return (tc_graph_range){least, most, multiple};
}

/* x[:5 - k]: that k is not negative is likely, but nothing is left out for that. */
static void test_data_may_be_negative(void **state) {
    (void)state;
    tc_graph *g;
    tc_graph_writer *w = tc_graph_writer_new("slice", 14);
    tc_graph_writer_input(w, "x", TC_F32, "10");
    tc_graph_writer_input(w, "k", TC_I64, "1");
    tc_graph_writer_output(w, "y", TC_F32, "n");
    tc_graph_writer_weight(w, "zero", I64(DIMS(1), 0));
    tc_graph_writer_weight(w, "five", I64(DIMS(1), 5));
    tc_graph_writer_node(w, "Sub", "", "five,k", "end");
    tc_graph_writer_node(w, "Slice", "", "x,zero,end", "y");
    assert_ok(import_model(w, SCRATCH("slice.onnx"), NULL, &g, err));
    for (int64_t k = -7; k <= 5; k++) {
        tc_graph_tensor in[] = {F32(DIMS(10), 0, 1, 2, 3, 4, 5, 6, 7, 8, 9), I64(DIMS(1), k)}, out;
        assert_ok(tc_graph_eval(g, in, &out, err));
        assert_true(tc_graph_shape_equal(&out.shape, &(tc_graph_shape)DIMS(TC_MIN(5 - k, 10))));
        assert_memory_equal(out.data, in[0].data, tc_graph_tensor_bytes(&out));
        tc_graph_tensor_free(&out);
    }
    tc_graph_free(g);
}

/* Sizes of the model's symbols, and one of a symbol's own for a dimension without a name. */
static void test_sizes_that_vary(void **state) {
    (void)state;
    tc_graph *g;
    tc_graph_binding dims[] = {{"seq", 1, {range_of(2, 6, 2)}}, FIXED("batch", 3)};
    tc_graph_import_options opts = {.shapes = dims, .nshapes = 2};
    assert_ok(import_model(dynamic_view(), SCRATCH("dyn.onnx"), &opts, &g, err));
    assert_int_equal(g->symbols.len, 1);
    assert_string_equal(g->symbols.data[0].name, "seq");
    assert_int_equal(g->symbols.data[0].value->most, 6);
    static float x[3 * 6 * 6];
    for (int64_t n = 2; n <= 6; n += 2) {
        tc_graph_tensor in = tc_graph_tensor_view(TC_F32, &(tc_graph_shape)DIMS(3, n, 6), x), out;
        for (int i = 0; i < 3 * n * 6; i++)
            x[i] = (float)i;
        assert_ok(tc_graph_eval(g, &in, &out, err));
        assert_true(tc_graph_shape_equal(&out.shape, &(tc_graph_shape)DIMS(3, n, 2, 3)));
        assert_memory_equal(out.data, x, (size_t)(3 * n * 6) * sizeof *x);
        tc_graph_tensor_free(&out);
    }
    tc_graph_tensor out, odd = tc_graph_tensor_view(TC_F32, &(tc_graph_shape)DIMS(3, 3, 6), x);
    tc_graph_tensor large = tc_graph_tensor_view(TC_F32, &(tc_graph_shape)DIMS(3, 8, 6), x);
    tc_graph_tensor other = tc_graph_tensor_view(TC_F32, &(tc_graph_shape)DIMS(2, 4, 6), x);
    assert_fails(TC_BAD_INPUT, tc_graph_eval(g, &odd, &out, err), "dimension 1 of input 'x' is 3",
                 "'seq' was given as 2..6 in steps");
    assert_fails(TC_BAD_INPUT, tc_graph_eval(g, &large, &out, err), "dimension 1 of input 'x' is 8");
    assert_fails(TC_BAD_INPUT, tc_graph_eval(g, &other, &out, err), "input 'x' must be f32[3,6,6]");
    tc_graph_free(g);
}

/* Graph inputs given as constants: what conformance cases do with axes and shapes. */
static void test_given_constants(void **state) {
    (void)state;
    tc_graph_writer *w = tc_graph_writer_new("given", 18);
    tc_graph_writer_input(w, "x", TC_F32, "2,3");
    tc_graph_writer_input(w, "axes", TC_I64, "1");
    tc_graph_writer_output(w, "y", TC_F32, "2");
    tc_graph_writer_node(w, "ReduceMean", "mean", "x,axes", "y");
    tc_graph_writer_int(w, "keepdims", 0);
    tc_graph_named axes = {(char *)"axes", I64(DIMS(1), -1)};
    tc_graph *g;
    assert_ok(tc_graph_writer_save(w, SCRATCH("given.onnx"), err));
    assert_fails(TC_BAD_INPUT, tc_graph_import(SCRATCH("given.onnx"), NULL, &g, err), "node 'mean' (ReduceMean): input 1 (axes)",
                 "must be known when the model is imported");
    expect(w, &(tc_graph_import_options){.constants = &axes, .nconstants = 1},
           "graph \"given\"\n"
           "input %x : f32[2,3]\n"
           "  %y = ReduceMean(%x) {axes=[1], keepdims=0} : f32[2]\n"
           "output y = %y : f32[2]\n");
}

/* Operators that become others, and outputs that turn out to be inputs or constants. */
static void test_rewrites(void **state) {
    (void)state;
    tc_graph_writer *w = tc_graph_writer_new("rewrites", 11);
    tc_graph_writer_input(w, "x", TC_F32, "2,3,4");
    for (int i = 0; i < 6; i++)
        tc_graph_writer_output(w, (const char *[]){"flat", "clipped", "soft", "same", "const", "last"}[i], TC_F32, NULL);
    tc_graph_writer_node(w, "Flatten", "", "x", "flat");
    tc_graph_writer_node(w, "Constant", "", "", "lo");
    tc_graph_writer_float(w, "value_float", 0);
    tc_graph_writer_node(w, "Clip", "", "x,lo", "clipped");
    tc_graph_writer_node(w, "Softmax", "", "x", "soft");
    tc_graph_writer_node(w, "Dropout", "", "x", "same,mask");
    tc_graph_writer_node(w, "Constant", "", "", "const");
    tc_graph_writer_tensor(w, "value", F32(DIMS(2), 1, 2));
    tc_graph_writer_node(w, "Split", "", "x", "first,,last");
    tc_graph_writer_int(w, "axis", 1);
    expect(w, NULL,
           "graph \"rewrites\"\n"
           "input %x : f32[2,3,4]\n"
           "const %lo : f32[] = {0}\n"
           "const %const : f32[2] = {1, 2}\n"
           "  %flat = Reshape(%x) {shape=[2,12]} : f32[2,12]\n"
           "  %clipped = Max(%x, %lo) : f32[2,3,4]\n"
           "  %soft.Softmax = Softmax(%flat) {axis=1} : f32[2,12]\n"
           "  %soft.Reshape.2 = Reshape(%soft.Softmax) {shape=[2,3,4]} : f32[2,3,4]\n"
           "  %last = Slice(%x) {starts=[0,2,0], steps=[1,1,1]} : f32[2,1,4]\n"
           "output flat = %flat : f32[2,12]\n"
           "output clipped = %clipped : f32[2,3,4]\n"
           "output soft = %soft.Reshape.2 : f32[2,3,4]\n"
           "output same = %x : f32[2,3,4]\n"
           "output const = %const : f32[2]\n"
           "output last = %last : f32[2,1,4]\n");
}

static void write_external_file(const char *path, size_t floats) {
    float *v = calloc(floats, sizeof *v);
    for (size_t i = 0; i < floats; i++)
        v[i] = (float)i;
    assert_ok(tc_fs_write(path, v, floats * sizeof *v, err));
    free(v);
}

static tc_graph_writer *external_model(const char *location, int64_t offset, int64_t length) {
    tc_graph_writer *w = tc_graph_writer_new("external", 17);
    tc_graph_writer_input(w, "x", TC_F32, "4");
    tc_graph_writer_output(w, "y", TC_F32, "4");
    tc_graph_writer_external(w, "w", TC_F32, "4", location, offset, length);
    tc_graph_writer_node(w, "Add", "add", "x,w", "y");
    return w;
}

static void test_external_data(void **state) {
    (void)state;
    write_external_file(SCRATCH("import.weights"), 12);
    expect(external_model("import.weights", 16, 16), NULL,
           "graph \"external\"\n"
           "input %x : f32[4]\n"
           "const %w : f32[4] = {4, 5, 6, 7}\n"
           "  %y = Add(%x, %w) : f32[4]\n"
           "output y = %y : f32[4]\n");
    expect(external_model("./import.weights", 4, -1), NULL, /* not aligned: copied */
           "graph \"external\"\n"
           "input %x : f32[4]\n"
           "const %w : f32[4] = {1, 2, 3, 4}\n"
           "  %y = Add(%x, %w) : f32[4]\n"
           "output y = %y : f32[4]\n");
}

/* What a name leads to may be elsewhere: links are not followed, wherever they stand, and pipes are not waited for. */
static void test_external_links(void **state) {
    (void)state;
    const char *path = SCRATCH("import_links/model.onnx");
    tc_graph *g;
    tc_fs_remove_tree(SCRATCH("import_links"));
    assert_int_equal(mkdir(SCRATCH("import_links"), 0700), 0);
    assert_int_equal(mkdir(SCRATCH("import_links/below"), 0700), 0);
    write_external_file(SCRATCH("import_links/weights"), 8);
    write_external_file(SCRATCH("import_links/below/weights"), 8);
    assert_int_equal(symlink("/etc/passwd", SCRATCH("import_links/out")), 0);
    assert_int_equal(symlink("weights", SCRATCH("import_links/link")), 0);
    assert_int_equal(symlink("below", SCRATCH("import_links/folder")), 0);
    assert_int_equal(mkfifo(SCRATCH("import_links/pipe"), 0600), 0);
    static const char *const refused[] = {"out", "link", "folder/weights", "./folder//weights"};
    for (size_t i = 0; i < TC_LEN(refused); i++)
        assert_fails(TC_BAD_INPUT, import_model(external_model(refused[i], 0, 16), path, NULL, &g, err), "tensor 'w'",
                     "symbolic link");
    assert_fails(TC_BAD_INPUT, import_model(external_model("pipe", 0, 16), path, NULL, &g, err),
                 "it is a pipe, a file was expected");
    assert_fails(TC_BAD_INPUT, import_model(external_model("below/../../secret", 0, 16), path, NULL, &g, err), "leads out");
    assert_ok(import_model(external_model("below//weights", 0, 16), path, NULL, &g, err));
    tc_graph_free(g);
    /* The model itself may be reached through a link: its folder is the one that was named. */
    assert_int_equal(symlink("import_links", SCRATCH("import_linked")), 0);
    assert_ok(import_model(external_model("./weights", 0, 16), SCRATCH("import_linked/model.onnx"), NULL, &g, err));
    tc_graph_free(g);
    unlink(SCRATCH("import_linked"));
    tc_fs_remove_tree(SCRATCH("import_links"));
}

static void test_bad_external_data(void **state) {
    (void)state;
    tc_graph *g;
    const char *path = SCRATCH("import-ext.onnx");
    write_external_file(SCRATCH("import2.weights"), 8);
    assert_fails(TC_BAD_INPUT, import_model(external_model("missing.weights", 0, 16), path, NULL, &g, err),
                 "import-ext.onnx: tensor 'w'", "missing.weights", "cannot be opened", "beside the model");
    assert_fails(TC_BAD_INPUT, import_model(external_model("../secret", 0, 16), path, NULL, &g, err), "'../secret' leads out",
                 "refused");
    assert_fails(TC_BAD_INPUT, import_model(external_model("a/../../secret", 0, 16), path, NULL, &g, err), "beside the model");
    assert_fails(TC_BAD_INPUT, import_model(external_model("/etc/passwd", 0, 16), path, NULL, &g, err), "refused");
    assert_fails(TC_BAD_INPUT, import_model(external_model("import2.weights", 20, 16), path, NULL, &g, err), "bytes 20 to 36",
                 "only 32");
    assert_fails(TC_BAD_INPUT, import_model(external_model("import2.weights", 1LL << 62, 16), path, NULL, &g, err), "only 32");
    assert_fails(TC_BAD_INPUT, import_model(external_model("import2.weights", 0, 12), path, NULL, &g, err), "needs 16 bytes",
                 "holds 12");
    assert_fails(TC_BAD_INPUT, import_model(external_model("import2.weights", -4, 16), path, NULL, &g, err), "offset '-4'");
    assert_fails(TC_BAD_INPUT, import_model(external_model(".", 0, 16), path, NULL, &g, err),
                 "it is a folder, a file was expected");
    assert_fails(TC_BAD_INPUT, import_model(external_model("import2.weights/x", 0, 16), path, NULL, &g, err),
                 "that is not a folder");
    assert_fails(TC_BAD_INPUT, import_model(external_model("/", 0, 16), path, NULL, &g, err), "refused");
}

/* Names made up for added nodes never take one that the file uses later. */
static void test_invented_names(void **state) {
    (void)state;
    tc_graph_writer *w = tc_graph_writer_new("names", 13);
    tc_graph_writer_input(w, "x", TC_F32, "2");
    tc_graph_writer_output(w, "z", TC_F32, "2");
    tc_graph_writer_node(w, "Sum", "", "x,x,x", "y");
    tc_graph_writer_node(w, "Exp", "", "y", "y.Add");
    tc_graph_writer_node(w, "Neg", "", "y.Add", "z");
    expect(w, NULL,
           "graph \"names\"\n"
           "input %x : f32[2]\n"
           "  %y.Add.2 = Add(%x, %x) : f32[2]\n"
           "  %y = Add(%y.Add.2, %x) : f32[2]\n"
           "  %y.Add = Exp(%y) : f32[2]\n"
           "  %z = Neg(%y.Add) : f32[2]\n"
           "output z = %z : f32[2]\n");
}

/* Of types that are only stored: weights, attributes, inputs and outputs; in a file two elements of 4 bits share a byte. */
static void test_stored_types(void **state) {
    (void)state;
    int8_t numbers[] = {-8, 7, -1};
    tc_graph_tensor three = tc_graph_tensor_view(TC_I4, &(tc_graph_shape)DIMS(3), numbers);
    tc_graph_writer *w = tc_graph_writer_new("stored", 21);
    tc_graph_writer_input(w, "x", TC_F8E5M2, "2,3");
    tc_graph_writer_output(w, "y", TC_F8E5M2, NULL);
    tc_graph_writer_output(w, "z", TC_F32, NULL);
    tc_graph_writer_output(w, "v", TC_I4, NULL);
    tc_graph_writer_weight(w, "w", three);
    tc_graph_writer_raw(w, "f", 17, (int64_t[]){2}, 1, (uint8_t[]){0x7e, 0xb8}, 2);
    tc_graph_writer_node(w, "Constant", "", "", "c");
    tc_graph_writer_tensor(w, "value", three);
    tc_graph_writer_node(w, "Transpose", "", "x", "y");
    tc_graph_writer_node(w, "Cast", "", "f", "z");
    tc_graph_writer_int(w, "to", 1);
    tc_graph_writer_node(w, "Concat", "", "w,c", "v");
    tc_graph_writer_int(w, "axis", 0);
    expect(w, NULL,
           "graph \"stored\"\n"
           "input %x : f8e5m2[2,3]\n"
           "const %z : f32[2] = {448, -1}\n"
           "const %v : i4[6] = {-8, 7, -1, -8, 7, -1}\n"
           "  %y = Transpose(%x) {perm=[1,0]} : f8e5m2[3,2]\n"
           "output y = %y : f8e5m2[3,2]\n"
           "output z = %z : f32[2]\n"
           "output v = %v : i4[6]\n");
}

/* Codes of E2M1 two to a byte, the first in the low bits, scaled by powers of two in blocks of three. */
static void test_microscaling(void **state) {
    (void)state;
    tc_graph_writer *w = tc_graph_writer_new("mx", 24);
    tc_graph_writer_output(w, "y", TC_F32, NULL);
    tc_graph_writer_output(w, "p", TC_F8E8M0, NULL);
    tc_graph_writer_raw(w, "x", 23, (int64_t[]){5}, 1, (uint8_t[]){0x91, 0x72, 0x0f}, 3);
    tc_graph_writer_raw(w, "s", 24, (int64_t[]){2}, 1, (uint8_t[]){0x80, 0x7e}, 2);
    tc_graph_writer_raw(w, "f", 1, (int64_t[]){4}, 1, (float[]){1, -3, 5, 0.26f}, 16);
    tc_graph_writer_node(w, "DequantizeLinear", "", "x,s", "y");
    tc_graph_writer_int(w, "axis", 0);
    tc_graph_writer_int(w, "block_size", 3);
    tc_graph_writer_node(w, "Cast", "", "f", "p");
    tc_graph_writer_int(w, "to", 24);
    expect(w, NULL,
           "graph \"mx\"\n"
           "const %y.Mul : f32[5] = {1, -1, 2, 3, -3}\n"
           "const %p : f8e8m0[4] = {1, 4, 8, 0.5}\n"
           "output y = %y.Mul : f32[5]\n"
           "output p = %p : f8e8m0[4]\n");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_linear),          cmocka_unit_test(test_dynamic_shapes),
        cmocka_unit_test(test_binding_text),    cmocka_unit_test(test_range_text),
        cmocka_unit_test(test_sizes_that_vary), cmocka_unit_test(test_data_may_be_negative),
        cmocka_unit_test(test_given_constants), cmocka_unit_test(test_rewrites),
        cmocka_unit_test(test_external_data),   cmocka_unit_test(test_bad_external_data),
        cmocka_unit_test(test_external_links),  cmocka_unit_test(test_invented_names),
        cmocka_unit_test(test_stored_types),    cmocka_unit_test(test_microscaling),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
