/* What real files ask of import: branches that never fit the input, conditions of sizes, values that are fixed, sizes that import
 * chooses, nodes in any order, newer opsets, and files that Git has not fetched. */
#include "graph/lower_common.h"
#include "graph/onnx/import.h"
#include "graph/ops/ops.h"
#include "graph/saved/saved.h"
#include "support/system/fs.h"

enum { CHANNELS = 4 };

/* y, whose last dimension is squeezed if it is one, as torch.squeeze(-1) is exported. Then it is transposed as of two dimensions. */
static void squeeze_and_transpose(tc_graph_writer *w) {
    tc_graph_writer *yes = tc_graph_writer_new("yes", 17), *no = tc_graph_writer_new("no", 17);
    tc_graph_writer_weight(yes, "last", I64(DIMS(1), -1));
    tc_graph_writer_node(yes, "Squeeze", "squeeze", "y,last", "squeezed");
    tc_graph_writer_output(yes, "squeezed", TC_F32, NULL);
    tc_graph_writer_node(no, "Identity", "", "y", "same");
    tc_graph_writer_output(no, "same", TC_F32, NULL);
    tc_graph_writer_weight(w, "two", I64(DIMS(1), 2));
    tc_graph_writer_weight(w, "one", I64(DIMS(1), 1));
    tc_graph_writer_node(w, "Shape", "", "y", "shape");
    tc_graph_writer_node(w, "Gather", "", "shape,two", "size");
    tc_graph_writer_node(w, "Equal", "", "size,one", "is_one");
    tc_graph_writer_node(w, "If", "inner", "is_one", "z");
    tc_graph_writer_body(w, "then_branch", yes);
    tc_graph_writer_body(w, "else_branch", no);
    tc_graph_writer_node(w, "Transpose", "turn", "z", "t");
    tc_graph_writer_ints(w, "perm", "1,0");
}

/* Windows of `size` elements of x [b, n], then the rest needs that there is one. */
static tc_graph_writer *network_of(int64_t size) {
    tc_graph_writer *w = tc_graph_writer_new("network", 17);
    float *weights = tc_xcalloc((size_t)(CHANNELS * size), sizeof *weights);
    for (int64_t i = 0; i < CHANNELS * size; i++)
        weights[i] = (float)((i * 7 + size) % 11) - 5;
    tc_graph_tensor t = f32_tensor((tc_graph_shape){3, {CHANNELS, 1, size}}, weights);
    tc_graph_writer_weight(w, "w", t);
    free(weights);
    tc_graph_writer_weight(w, "at", I64(DIMS(1), 1));
    tc_graph_writer_node(w, "Unsqueeze", "", "x,at", "u");
    tc_graph_writer_node(w, "Conv", "windows", "u,w", "y");
    char stride[24];
    snprintf(stride, sizeof stride, "%lld", (long long)size);
    tc_graph_writer_ints(w, "strides", stride);
    squeeze_and_transpose(w);
    tc_graph_writer_output(w, "t", TC_F32, NULL);
    return w;
}

/* If(sr == 16000): windows of 64, else of 32, of which there are two in 64 elements. */
static tc_graph_writer *detector(const char *dims) {
    tc_graph_writer *w = tc_graph_writer_new("detector", 17);
    tc_graph_writer_input(w, "x", TC_F32, dims);
    tc_graph_writer_input(w, "sr", TC_I64, "");
    tc_graph_writer_weight(w, "rate", I64(SCALAR, 16000));
    tc_graph_writer_node(w, "Equal", "", "sr,rate", "is16");
    tc_graph_writer_node(w, "If", "choose", "is16", "out");
    tc_graph_writer_body(w, "then_branch", network_of(64));
    tc_graph_writer_body(w, "else_branch", network_of(32));
    tc_graph_writer_output(w, "out", TC_F32, NULL);
    return w;
}

static tc_status import_detector(const char *dims, const char *const *fixed, size_t n, tc_graph **g, tc_error *err) {
    return import_model(detector(dims), SCRATCH("detector.onnx"), &(tc_graph_import_options){.fixed = fixed, .nfixed = n}, g,
                        err);
}

static void expect_equal(const tc_graph_tensor *got, tc_graph_tensor want) {
    tc_graph_diff d;
    assert_ok(tc_graph_tensor_compare(got, &want, 1e-5, 1e-5, &d, err));
    assert_int_equal(d.violations, 0);
}

static tc_status put_file(const char *path, const char *text, tc_error *err) {
    (void)remove(path);
    return tc_fs_write_scratch(path, text, strlen(text), err);
}

static void fill(float *x, int n) {
    for (int i = 0; i < n; i++)
        x[i] = (float)(i % 13) / 8 - 0.75f;
}

static tc_graph_model *build(const tc_graph_program *p) {
    tc_target *t;
    tc_graph_model *m;
    assert_ok(tc_target_parse("native", &t, err));
    assert_ok(tc_graph_model_build(p, &(tc_graph_build_options){.target = t, .threads = 2}, &m, err));
    tc_target_free(t);
    return m;
}

/* Runs with the one rate give `want`, those with the other are refused, and the message says where, why, and what to type. */
static void check_runs(tc_graph_model *m, const tc_graph_tensor *x, const tc_graph_tensor *want) {
    tc_graph_tensor y;
    assert_ok(tc_graph_model_run(m, (tc_graph_tensor[]){*x, I64(SCALAR, 16000)}, &y, err));
    expect_equal(&y, *want);
    tc_graph_tensor_free(&y);
    for (int i = 0; i < 2; i++) /* a refused run leaves nothing behind */
        assert_fails(TC_BAD_INPUT, tc_graph_model_run(m, (tc_graph_tensor[]){*x, I64(SCALAR, 8000)}, &y, err),
                     "node 'choose' (If)", "'is16'", "else_branch", "node 'turn' (Transpose)", "--input sr=VALUE");
}

/* In this process, as a library, and as C source. */
static void test_branch_that_never_fits(void **state) {
    (void)state;
    tc_graph *g, *known;
    tc_graph_program *p;
    tc_graph_model *m, *loaded;
    tc_graph_tensor want, y;
    const tc_graph_port *ports;
    char *source;
    float x_values[64];
    fill(x_values, 64);
    tc_graph_tensor x = f32_tensor((tc_graph_shape)DIMS(1, 64), x_values);
    assert_ok(import_detector("1,64", (const char *[]){"sr=16000"}, 1, &known, err));
    assert_int_equal(known->inputs.len, 1);
    assert_ok(tc_graph_eval(known, &x, &want, err));
    assert_ok(import_detector("1,64", NULL, 0, &g, err));
    assert_ok(tc_graph_verify(g, err));
    assert_ok(tc_graph_eval(g, (tc_graph_tensor[]){x, I64(SCALAR, 16000)}, &y, err));
    expect_equal(&y, want);
    tc_graph_tensor_free(&y);
    assert_fails(TC_BAD_INPUT, tc_graph_eval(g, (tc_graph_tensor[]){x, I64(SCALAR, 8000)}, &y, err), "else_branch");
    assert_ok(tc_graph_program_new(g, &p, err));
    assert_int_equal(tc_graph_program_inputs(p, &ports), 2);
    assert_int_equal(ports[1].drawn.low, 16000); /* random inputs take the branch that there is */
    m = build(p);
    check_runs(m, &x, &want);
    assert_ok(tc_graph_model_save(m, SCRATCH("detector.so"), "detector", err));
    assert_ok(tc_graph_model_save(m, SCRATCH("detector.c"), "detector", err));
    assert_ok(tc_graph_model_load(SCRATCH("detector.so"), 0, &loaded, err));
    check_runs(loaded, &x, &want);
    assert_ok(tc_fs_read_text(SCRATCH("detector.h"), &source, err));
    assert_non_null(strstr(source, "A run that returns 256 was refused: "));
    free(source);
    tc_graph_model_free(loaded);
    tc_graph_model_free(m);
    tc_graph_program_free(p);
    tc_graph_tensor_free(&want);
    tc_graph_free(known);
    tc_graph_free(g);
}

/* The C source, compiled, returns what its header says. */
static void test_source(void **state) {
    (void)state;
    static const char caller[] =
        "#include <stdio.h>\n#include \"detector.h\"\nint main(void) {\n    static _Alignas(64) float x[64], out[4];\n"
        "    static const int64_t good = 16000, bad = 8000;\n    const void *in[] = {x, &good};\n    void *outs[] = {out};\n"
        "    int a = detector_run(in, outs);\n    in[1] = &bad;\n    return a == 0 && detector_run(in, outs) == 256 ? 0 : "
        "1;\n}\n";
    assert_ok(put_file(SCRATCH("caller.c"), caller, err));
    assert_int_equal(system("cd " TCTUNE_TEST_TMP " && cc -std=c11 -o caller caller.c detector.c -lm && ./caller"), 0);
}

/* Branches of different types: the first is kept. */
static void test_other_types(void **state) {
    (void)state;
    tc_graph *g;
    tc_graph_tensor y, x = F32(DIMS(2, 2), 1, -2, 3, 4);
    tc_graph_writer *w = tc_graph_writer_new("types", 17), *yes = tc_graph_writer_new("yes", 17),
                    *no = tc_graph_writer_new("no", 17);
    tc_graph_writer_input(w, "x", TC_F32, "2,2");
    tc_graph_writer_input(w, "c", TC_BOOL, "");
    tc_graph_writer_node(yes, "Neg", "", "x", "a");
    tc_graph_writer_output(yes, "a", TC_F32, NULL);
    tc_graph_writer_weight(no, "at", I64(DIMS(1), 0));
    tc_graph_writer_node(no, "Unsqueeze", "", "x,at", "b");
    tc_graph_writer_output(no, "b", TC_F32, NULL);
    tc_graph_writer_node(w, "If", "choose", "c", "out");
    tc_graph_writer_body(w, "then_branch", yes);
    tc_graph_writer_body(w, "else_branch", no);
    tc_graph_writer_output(w, "out", TC_F32, NULL);
    assert_ok(import_model(w, SCRATCH("types.onnx"), NULL, &g, err));
    uint8_t c = 1;
    tc_graph_tensor in[] = {x, tc_graph_tensor_view(TC_BOOL, &(tc_graph_shape)SCALAR, &c)};
    assert_ok(tc_graph_eval(g, in, &y, err));
    expect_equal(&y, F32(DIMS(2, 2), -1, 2, -3, -4));
    tc_graph_tensor_free(&y);
    c = 0;
    assert_fails(TC_BAD_INPUT, tc_graph_eval(g, in, &y, err), "f32[2,2] or f32[1,2,2]", "--input c=VALUE");
    tc_graph_free(g);
    /* the other one */
    assert_ok(tc_graph_import(SCRATCH("types.onnx"),
                              &(tc_graph_import_options){.fixed = (const char *[]){"c=false"}, .nfixed = 1}, &g, err));
    assert_int_equal(g->outputs.data[0].value->shape.ndim, 3);
    tc_graph_free(g);
}

/* ---- values that are fixed ---- */

static void test_fixed_values(void **state) {
    (void)state;
    tc_graph *g;
    static const struct {
        const char *given, *message;
    } refused[] = {{"sr=fast", "value 0 is no i64"},
                   {"sr=1,2", "2 values do not fill"},
                   {"sr=1.5", "value 0 is no i64"},
                   {"rate=1", "the model has no input"},
                   {"sr=99999999999999999999", "value 0 is no i64"}};
    for (size_t i = 0; i < TC_LEN(refused); i++)
        assert_fails(TC_BAD_INPUT, import_detector("1,64", &refused[i].given, 1, &g, err), "--input", refused[i].message);
    assert_fails(TC_BAD_INPUT, tc_graph_fixed_check("sr", err), "--input sr", "NAME=VALUE");
    assert_fails(TC_BAD_INPUT, tc_graph_fixed_check("=1", err), "NAME=VALUE");
    assert_fails(TC_BAD_INPUT, tc_graph_fixed_check("sr=", err), "NAME=VALUE");
    /* --shape of a number is a slip that has a remedy */
    tc_graph_binding b = FIXED("sr", 16000);
    assert_fails(TC_BAD_INPUT,
                 tc_graph_import(SCRATCH("detector.onnx"), &(tc_graph_import_options){.shapes = &b, .nshapes = 1}, &g, err),
                 "input 'sr' is a single number", "--input sr=16000");
}

static void test_fixed_arrays(void **state) {
    (void)state;
    static const char *const fixed[] = {"a=-1.5,2,3e2", "b=-128,127", "c=true,0,1"};
    tc_graph *g;
    tc_graph_writer *w = tc_graph_writer_new("arrays", 17);
    tc_graph_writer_input(w, "a", TC_F32, "n");
    tc_graph_writer_input(w, "b", TC_I8, "2");
    tc_graph_writer_input(w, "c", TC_BOOL, "1,m");
    for (int i = 0; i < 3; i++) {
        tc_graph_writer_node(w, "Identity", "", (const char *[]){"a", "b", "c"}[i], (const char *[]){"p", "q", "r"}[i]);
        tc_graph_writer_output(w, (const char *[]){"p", "q", "r"}[i], (tc_dtype[]){TC_F32, TC_I8, TC_BOOL}[i], NULL);
    }
    assert_ok(import_model(w, SCRATCH("arrays.onnx"), &(tc_graph_import_options){.fixed = fixed, .nfixed = 3}, &g, err));
    assert_int_equal(g->inputs.len, 0);
    const tc_graph_tensor *t[3];
    for (int i = 0; i < 3; i++)
        assert_non_null(t[i] = g->outputs.data[i].value->constant);
    expect_equal(t[0], F32(DIMS(3), -1.5f, 2, 300));
    assert_memory_equal(t[1]->data, ((const int8_t[]){-128, 127}), 2);
    assert_memory_equal(t[2]->data, ((const uint8_t[]){1, 0, 1}), 3);
    assert_int_equal(t[2]->shape.d[1], 3);
    tc_graph_free(g);
    assert_fails(TC_BAD_INPUT,
                 tc_graph_import(SCRATCH("arrays.onnx"),
                                 &(tc_graph_import_options){.fixed = (const char *[]){"b=1,128"}, .nfixed = 1}, &g, err),
                 "value 1 is no i8");
}

/* ---- conditions of sizes ---- */

/* cast: the condition is cast to an integer and back. */
static tc_graph_writer *squeezed(bool cast) {
    tc_graph_writer *w = tc_graph_writer_new("squeezed", 17), *yes = tc_graph_writer_new("yes", 17),
                    *no = tc_graph_writer_new("no", 17);
    tc_graph_writer_input(w, "x", TC_F32, "2,n,4");
    tc_graph_writer_weight(yes, "at", I64(DIMS(1), 1));
    tc_graph_writer_node(yes, "Squeeze", "", "x,at", "a");
    tc_graph_writer_output(yes, "a", TC_F32, NULL);
    tc_graph_writer_node(no, "Identity", "", "x", "b");
    tc_graph_writer_output(no, "b", TC_F32, NULL);
    tc_graph_writer_weight(w, "one", I64(DIMS(1), 1));
    tc_graph_writer_node(w, "Shape", "", "x", "shape");
    tc_graph_writer_node(w, "Gather", "", "shape,one", "size");
    tc_graph_writer_node(w, "Equal", "", "size,one", "is_one");
    tc_graph_writer_node(w, "Cast", "", "is_one", "number");
    tc_graph_writer_int(w, "to", 7);
    tc_graph_writer_node(w, "Cast", "", "number", "again");
    tc_graph_writer_int(w, "to", 9);
    tc_graph_writer_node(w, "If", "choose", cast ? "again" : "is_one", "y");
    tc_graph_writer_body(w, "then_branch", yes);
    tc_graph_writer_body(w, "else_branch", no);
    tc_graph_writer_node(w, "Relu", "", "y", "out");
    tc_graph_writer_output(w, "out", TC_F32, NULL);
    return w;
}

/* How many dimensions the result has, and the range of n that is left; none: n does not vary. */
static void check_squeezed(bool cast, const char *shape, int ndim, int64_t least, int64_t most) {
    tc_graph *g;
    tc_graph_binding b = {0};
    if (shape)
        assert_ok(tc_graph_binding_parse(shape, &b, err));
    assert_ok(import_model(squeezed(cast), SCRATCH("squeezed.onnx"),
                           &(tc_graph_import_options){.shapes = &b, .nshapes = shape != NULL}, &g, err));
    assert_int_equal(g->outputs.data[0].value->shape.ndim, ndim);
    for (size_t i = 0; i < g->nodes.len; i++)
        assert_int_not_equal(g->nodes.data[i]->op, TC_GRAPH_OP_REQUIRE);
    assert_int_equal(g->symbols.len, least < most);
    if (least < most) {
        assert_int_equal(g->symbols.data[0].least, least);
        assert_int_equal(g->symbols.data[0].most, most);
    }
    tc_graph_free(g);
    free((char *)(uintptr_t)b.name);
}

static void test_sizes_decide(void **state) {
    (void)state;
    for (int cast = 0; cast < 2; cast++) {
        check_squeezed(cast, "n=2..5", 3, 2, 5);
        check_squeezed(cast, "n=7", 3, 7, 7);
        check_squeezed(cast, "n=1", 2, 1, 1);
        check_squeezed(cast, NULL, 3, 2, 512); /* most of the sizes that are assumed */
    }
}

/* ---- branches that fit some of the sizes ---- */

enum { WINDOW = 32 };

/* If(c): x [1, n] through `op` with the operand k, else -x. The sum of that. */
static tc_status import_partial(const char *op, tc_graph_tensor k, const char *inputs, tc_graph **g, tc_error *err) {
    tc_graph_writer *w = tc_graph_writer_new("partial", 17), *yes = tc_graph_writer_new("yes", 17),
                    *no = tc_graph_writer_new("no", 17);
    tc_graph_writer_input(w, "x", TC_F32, "1,1,n");
    tc_graph_writer_input(w, "c", TC_BOOL, "");
    tc_graph_writer_weight(yes, "k", k);
    tc_graph_writer_node(yes, op, "partial", inputs, "v");
    if (strcmp(op, "Pad") == 0)
        tc_graph_writer_str(yes, "mode", "reflect");
    tc_graph_writer_node(yes, "ReduceSum", "", "v", "s");
    tc_graph_writer_int(yes, "keepdims", 0);
    tc_graph_writer_output(yes, "s", TC_F32, NULL);
    tc_graph_writer_node(no, "Neg", "", "x", "v");
    tc_graph_writer_node(no, "ReduceSum", "", "v", "s");
    tc_graph_writer_int(no, "keepdims", 0);
    tc_graph_writer_output(no, "s", TC_F32, NULL);
    tc_graph_writer_node(w, "If", "choose", "c", "y");
    tc_graph_writer_body(w, "then_branch", yes);
    tc_graph_writer_body(w, "else_branch", no);
    tc_graph_writer_output(w, "y", TC_F32, NULL);
    tc_graph_binding n = {"n", 1, {{1, 64, 1}}};
    return import_model(w, SCRATCH("partial.onnx"), &(tc_graph_import_options){.shapes = &n, .nshapes = 1}, g, err);
}

/* x is n ones: the branch of c gives `want`; 0: n does not fit it, and the message has `why`. */
static void run_partial(tc_graph_model *m, int64_t n, bool c, float want, const char *why) {
    float ones[64];
    tc_graph_tensor y;
    for (int i = 0; i < 64; i++)
        ones[i] = 1;
    uint8_t choice = c;
    const tc_graph_tensor in[] = {f32_tensor((tc_graph_shape)DIMS(1, 1, n), ones),
                                  tc_graph_tensor_view(TC_BOOL, &(tc_graph_shape)SCALAR, &choice)};
    if (want == 0) {
        assert_fails(TC_BAD_INPUT, tc_graph_model_run(m, in, &y, err), why, "the run is refused", "If");
        return;
    }
    assert_ok(tc_graph_model_run(m, in, &y, err));
    assert_true(*(float *)y.data == want);
    tc_graph_tensor_free(&y);
}

/* With the size `fits` (0: there is none) the branch gives `want`. */
static void check_partial(const char *op, tc_graph_tensor k, const char *inputs, int64_t fits, int64_t too_small, float want,
                          const char *why) {
    tc_graph *g;
    tc_graph_program *p;
    assert_ok(import_partial(op, k, inputs, &g, err));
    assert_ok(tc_graph_program_new(g, &p, err));
    tc_graph_model *m = build(p);
    if (fits)
        run_partial(m, fits, true, want, NULL);
    run_partial(m, too_small, true, 0, why);
    run_partial(m, too_small, false, -(float)too_small, NULL);
    run_partial(m, 64, false, -64, NULL);
    tc_graph_model_free(m);
    tc_graph_program_free(p);
    tc_graph_free(g);
}

static void test_branch_that_fits_some_sizes(void **state) {
    (void)state;
    static float ones[WINDOW];
    for (int i = 0; i < WINDOW; i++)
        ones[i] = 1;
    tc_graph_tensor window = f32_tensor((tc_graph_shape)DIMS(1, 1, WINDOW), ones);
    check_partial("Conv", window, "x,k", 40, WINDOW - 1, 9 * WINDOW, "dimension 2 of 'x' must be at least 32");
    check_partial("Pad", I64(DIMS(6), 0, 0, 20, 0, 0, 20), "x,k", 21, 20, 61, "at least 21");
    check_partial("Reshape", I64(DIMS(2), -1, 8), "x,k", 24, 23, 24, "a multiple of 8");
    /* A branch for a single size is left out. */
    check_partial("Reshape", I64(DIMS(2), 4, 8), "x,k", 0, 32, 0, "then_branch");
}

/* The detector for 32 to 127 elements: each branch takes those that are one window of its own. rate 0: it is an input. */
static void check_windows(int64_t rate) {
    tc_graph *g, *one;
    tc_graph_program *p;
    tc_graph_tensor y, want;
    float x_values[127];
    char fixed[24], dims[24];
    const char *given = fixed;
    tc_graph_binding n = {"n", 1, {{32, 127, 1}}};
    fill(x_values, 127);
    snprintf(fixed, sizeof fixed, "sr=%lld", (long long)rate);
    tc_graph_import_options o = {.shapes = &n, .nshapes = 1, .fixed = &given, .nfixed = rate != 0};
    assert_ok(import_model(detector("1,n"), SCRATCH("detector.onnx"), &o, &g, err));
    assert_ok(tc_graph_program_new(g, &p, err));
    tc_graph_model *m = build(p);
    for (int64_t size = 32; size <= 127; size += size == 32 || size == 63 || size == 126 ? 1 : 30)
        for (int64_t sr = 8000; sr <= 16000; sr += 8000) {
            const tc_graph_tensor in[] = {f32_tensor((tc_graph_shape)DIMS(1, size), x_values), I64(SCALAR, sr)};
            if (rate && sr != rate)
                continue;
            if ((sr == 16000) != (size >= 64)) {
                assert_fails(TC_BAD_INPUT, tc_graph_model_run(m, in, &y, err),
                             rate == 16000  ? "must be at least 64"
                             : rate == 8000 ? "it must be 1"
                                            : "the run is refused");
                continue;
            }
            snprintf(fixed, sizeof fixed, "sr=%lld", (long long)sr);
            snprintf(dims, sizeof dims, "1,%lld", (long long)size);
            assert_ok(import_detector(dims, &given, 1, &one, err));
            assert_ok(tc_graph_eval(one, in, &want, err));
            assert_ok(tc_graph_model_run(m, in, &y, err));
            expect_equal(&y, want);
            tc_graph_tensor_free(&y);
            tc_graph_tensor_free(&want);
            tc_graph_free(one);
        }
    tc_graph_model_free(m);
    tc_graph_program_free(p);
    tc_graph_free(g);
}

/* Of the branches of the inner If, the nodes behind it decide which is kept: the one for one window. */
static void test_branches_that_fit_other_sizes(void **state) {
    (void)state;
    check_windows(0);
    check_windows(16000);
    check_windows(8000);
}

/* ---- sizes that import assumes ---- */

static void check_assumed(const char *const *fixed, size_t nfixed, const char *want) {
    tc_graph *g;
    tc_strbuf b = {0};
    assert_ok(import_detector("?,?", fixed, nfixed, &g, err));
    tc_graph_sizes_print_assumed(&b, g->sizes);
    assert_string_equal(tc_sb_str(&b), want);
    tc_strbuf_free(&b);
    tc_graph_free(g);
}

/* There is one window in 64 to 127 elements, or in 32 to 63: the condition on the number of windows says so. */
static void test_assumed_sizes(void **state) {
    (void)state;
    check_assumed(NULL, 0, "x.shape[0]=1..16, x.shape[1]=64..127");
    check_assumed((const char *[]){"sr=16000"}, 1, "x.shape[0]=1..16, x.shape[1]=64..127");
    check_assumed((const char *[]){"sr=8000"}, 1, "x.shape[0]=1..16, x.shape[1]=32..63");
}

/* y of a node x: the sizes that import assumes for the last dimension of x are `want`. */
static void check_length(const char *dims, tc_graph_writer *w, const char *want) {
    tc_graph *g;
    tc_strbuf b = {0};
    tc_graph_writer_input(w, "x", TC_F32, dims);
    tc_graph_writer_output(w, "y", TC_F32, NULL);
    assert_ok(import_model(w, SCRATCH("long.onnx"), NULL, &g, err));
    tc_graph_sizes_print_assumed(&b, g->sizes);
    assert_string_equal(tc_sb_str(&b), want);
    assert_true(tc_graph_shape_count(&g->outputs.data[0].value->shape) > 0);
    tc_strbuf_free(&b);
    tc_graph_free(g);
}

static tc_graph_writer *windows(int64_t size) {
    tc_graph_writer *w = tc_graph_writer_new("windows", 17);
    static float weights[700];
    tc_graph_writer_weight(w, "w", f32_tensor((tc_graph_shape)DIMS(1, 1, size), weights));
    tc_graph_writer_node(w, "Conv", "", "x,w", "y");
    return w;
}

static tc_graph_writer *rows_of(int64_t size) {
    tc_graph_writer *w = tc_graph_writer_new("rows", 17);
    tc_graph_writer_weight(w, "to", I64(DIMS(2), -1, size));
    tc_graph_writer_node(w, "Reshape", "", "x,to", "rows");
    tc_graph_writer_node(w, "Relu", "", "rows", "y");
    return w;
}

static tc_graph_writer *mirrored(int64_t pads) {
    tc_graph_writer *w = tc_graph_writer_new("mirrored", 17);
    tc_graph_writer_weight(w, "pads", I64(DIMS(4), 0, pads, 0, pads));
    tc_graph_writer_node(w, "Pad", "", "x,pads", "y");
    tc_graph_writer_str(w, "mode", "reflect");
    return w;
}

/* What a network needs of a length says where the assumed range begins, and a long least size makes it longer. */
static void test_longer_sizes(void **state) {
    (void)state;
    check_length("1,1,length", windows(1), "length=1..512");
    check_length("1,1,length", windows(25), "length=25..512");
    check_length("1,1,length", windows(400), "length=400..6400");
    check_length("1,1,length", windows(700), "length=700..11200");
    check_length("1,length", rows_of(256), "length=256..4096");
    check_length("1,length", rows_of(600), "length=600..9600");
    check_length("1,length", mirrored(128), "length=129..2064");
}

/* ---- order, opsets, files ---- */

static void test_order(void **state) {
    (void)state;
    tc_graph *g;
    tc_graph_tensor y, x = F32(DIMS(2), -1, 2);
    tc_graph_writer *w = tc_graph_writer_new("order", 17), *body[2];
    tc_graph_writer_input(w, "x", TC_F32, "2");
    tc_graph_writer_input(w, "c", TC_BOOL, "");
    tc_graph_writer_node(w, "If", "choose", "c", "z");
    for (int k = 0; k < 2; k++) { /* a body reads what the graph around it makes behind, and is in no order itself */
        body[k] = tc_graph_writer_new("body", 17);
        tc_graph_writer_node(body[k], "Neg", "", "twice", "r");
        tc_graph_writer_node(body[k], k ? "Add" : "Mul", "", "late,late", "twice");
        tc_graph_writer_output(body[k], "r", TC_F32, NULL);
        tc_graph_writer_body(w, k ? "else_branch" : "then_branch", body[k]);
    }
    tc_graph_writer_node(w, "Add", "", "h,x", "late");
    tc_graph_writer_node(w, "Abs", "", "x", "h");
    tc_graph_writer_output(w, "z", TC_F32, NULL);
    assert_ok(import_model(w, SCRATCH("order.onnx"), NULL, &g, err));
    uint8_t c = 0;
    tc_graph_tensor in[] = {x, tc_graph_tensor_view(TC_BOOL, &(tc_graph_shape)SCALAR, &c)};
    assert_ok(tc_graph_eval(g, in, &y, err));
    expect_equal(&y, F32(DIMS(2), -0.f, -8));
    tc_graph_tensor_free(&y);
    tc_graph_free(g);
}

static tc_status import_at(int opset, const char *op, const char *inputs, const char *attribute, int64_t value, tc_error *err) {
    tc_graph *g = NULL;
    tc_graph_writer *w = tc_graph_writer_new("opset", opset);
    tc_graph_writer_versions(w, 13, opset);
    tc_graph_writer_input(w, "x", TC_F32, "1,2,3,4");
    tc_graph_writer_node(w, op, "it", inputs, "y");
    if (attribute)
        tc_graph_writer_int(w, attribute, value);
    tc_graph_writer_output(w, "y", TC_F32, NULL);
    tc_status s = import_model(w, SCRATCH("opset.onnx"), NULL, &g, err);
    tc_graph_free(g);
    return s;
}

static void test_opsets(void **state) {
    (void)state;
    for (int opset = 24; opset <= 26; opset++) {
        assert_ok(import_at(opset, "Relu", "x", NULL, 0, err));
        assert_ok(import_at(opset, "Cast", "x", "to", 11, err));
        assert_ok(import_at(opset, "Flatten", "x", "axis", 2, err));
    }
    assert_ok(import_at(24, "Attention", "x,x,x", NULL, 0, err));
    assert_fails(TC_BAD_INPUT, import_at(25, "Attention", "x,x,x", NULL, 0, err), "not supported at opset 25", "Attention",
                 "'it'");
    assert_fails(TC_BAD_INPUT, import_at(26, "BitCast", "x", "to", 6, err), "not supported at opset 26", "BitCast");
    assert_fails(TC_BAD_INPUT, import_at(26, "CumProd", "x,x", NULL, 0, err), "CumProd");
    assert_fails(TC_BAD_INPUT, import_at(26, "Cast", "x", "to", 26, err), "INT2");
    assert_fails(TC_BAD_INPUT, import_at(27, "Relu", "x", NULL, 0, err), "opset 27", "1 to 26");
}

static void test_lfs_pointer(void **state) {
    (void)state;
    static const char pointer[] = "version https://git-lfs.github.com/spec/v1\noid sha256:"
                                  "4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393\nsize 12345\n";
    tc_graph *g;
    assert_ok(put_file(SCRATCH("pointer.onnx"), pointer, err));
    assert_fails(TC_BAD_INPUT, tc_graph_import(SCRATCH("pointer.onnx"), NULL, &g, err), "pointer.onnx", "Git LFS pointer",
                 "git lfs pull");
    assert_fails(TC_BAD_INPUT,
                 tc_graph_import("m", &(tc_graph_import_options){.bytes = pointer, .nbytes = sizeof pointer - 1}, &g, err),
                 "Git LFS pointer");
    tc_graph_writer *w = tc_graph_writer_new("weights", 17);
    tc_graph_writer_input(w, "x", TC_F32, "8");
    tc_graph_writer_external(w, "w", TC_F32, "8", "pointer.onnx", 0, 32);
    tc_graph_writer_node(w, "Add", "", "x,w", "y");
    tc_graph_writer_output(w, "y", TC_F32, NULL);
    assert_fails(TC_BAD_INPUT, import_model(w, SCRATCH("weights.onnx"), NULL, &g, err), "tensor 'w'", "Git LFS pointer",
                 "git lfs pull");
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_branch_that_never_fits),
                                       cmocka_unit_test(test_source),
                                       cmocka_unit_test(test_other_types),
                                       cmocka_unit_test(test_fixed_values),
                                       cmocka_unit_test(test_fixed_arrays),
                                       cmocka_unit_test(test_sizes_decide),
                                       cmocka_unit_test(test_branch_that_fits_some_sizes),
                                       cmocka_unit_test(test_branches_that_fit_other_sizes),
                                       cmocka_unit_test(test_assumed_sizes),
                                       cmocka_unit_test(test_longer_sizes),
                                       cmocka_unit_test(test_order),
                                       cmocka_unit_test(test_opsets),
                                       cmocka_unit_test(test_lfs_pointer)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
