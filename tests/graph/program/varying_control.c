/* If and Loop where sizes vary: at each size they give what the graph made for that size gives, from memory in which everything past the sizes
 * is no number, and they compute and copy only as much as the sizes ask for. */
#include "graph/every_way.h"

enum { MOST = 31, MAX_INPUTS = 6, WIDE = 4 };

/* ---- models ---- */

static tc_graph_writer *body(const char *name) {
    return tc_graph_writer_new(name, 17);
}

static tc_graph_writer *network(const char *inputs) {
    tc_graph_writer *w = tc_graph_writer_new("control", 17);
    static float weight[WIDE * WIDE];
    static int64_t first[1] = {0}, last[1] = {1};
    for (int i = 0; i < WIDE * WIDE; i++)
        weight[i] = (float)(i % 7 - 3) / 4;
    for (const char *x = inputs; *x; x++) /* one letter each */
        if (*x == 'c' || *x == 'd')
            tc_graph_writer_input(w, (char[]){*x, 0}, TC_BOOL, "");
        else if (*x == 'i')
            tc_graph_writer_input(w, (char[]){*x, 0}, TC_I64, "2");
        else
            tc_graph_writer_input(w, (char[]){*x, 0}, TC_F32, *x == 'b' ? "n,m,4" : "n,4");
    tc_graph_writer_weight(w, "w", tc_graph_tensor_view(TC_F32, &(tc_graph_shape)DIMS(WIDE, WIDE), weight));
    tc_graph_writer_weight(w, "first", i64_tensor((tc_graph_shape)DIMS(1), first));
    tc_graph_writer_weight(w, "last", i64_tensor((tc_graph_shape)DIMS(1), last));
    return w;
}

static void returns(tc_graph_writer *w, const char *name) {
    tc_graph_writer_output(w, name, TC_F32, NULL);
}

static void branch_on(tc_graph_writer *w, const char *cond, const char *out, tc_graph_writer *yes, tc_graph_writer *no) {
    tc_graph_writer_node(w, "If", out, cond, out);
    tc_graph_writer_body(w, "then_branch", yes);
    tc_graph_writer_body(w, "else_branch", no);
}

/* relu(x w) x, or a softmax along what varies. */
static tc_graph_writer *computed(void) {
    tc_graph_writer *w = network("xc"), *yes = body("yes"), *no = body("no");
    tc_graph_writer_node(yes, "MatMul", "", "x,w", "p");
    tc_graph_writer_node(yes, "Relu", "", "p", "q");
    tc_graph_writer_node(yes, "MatMul", "", "q,w", "r");
    returns(yes, "r");
    tc_graph_writer_node(no, "Softmax", "", "x", "t");
    tc_graph_writer_int(no, "axis", 0);
    returns(no, "t");
    branch_on(w, "c", "y", yes, no);
    tc_graph_writer_node(w, "Add", "", "y,x", "z");
    returns(w, "z");
    return w;
}

/* A branch that returns a value of the graph around it, which also reads it otherwise; two results, the same value twice. */
static tc_graph_writer *outer_value(void) {
    tc_graph_writer *w = network("xc"), *yes = body("yes"), *no = body("no");
    tc_graph_writer_node(w, "MatMul", "", "x,w", "h");
    tc_graph_writer_node(yes, "Neg", "", "h", "a");
    returns(yes, "a");
    returns(yes, "a");
    tc_graph_writer_node(no, "Identity", "", "x", "b");
    returns(no, "b");
    returns(no, "h");
    branch_on(w, "c", "y,u", yes, no);
    tc_graph_writer_node(w, "Softmax", "", "y", "z");
    tc_graph_writer_int(w, "axis", 0);
    tc_graph_writer_node(w, "Mul", "", "u,h", "v");
    returns(w, "z");
    returns(w, "v");
    return w;
}

/* What indices that the data give are read by lies whole, and what is returned does not. */
static tc_graph_writer *whole_and_dense(void) {
    tc_graph_writer *w = network("xci"), *yes = body("yes"), *no = body("no");
    tc_graph_writer_node(yes, "Exp", "", "x", "a");
    tc_graph_writer_node(yes, "Gather", "", "a,i", "b");
    returns(yes, "a");
    returns(yes, "b");
    tc_graph_writer_node(no, "Gather", "", "x,i", "d");
    returns(no, "x");
    returns(no, "d");
    branch_on(w, "c", "y,u", yes, no);
    tc_graph_writer_node(w, "Transpose", "", "y", "t");
    tc_graph_writer_node(w, "MatMul", "", "t,x", "z");
    returns(w, "y");
    returns(w, "z");
    returns(w, "u");
    return w;
}

/* Only the first row of a result is read. */
static tc_graph_writer *one_row(void) {
    tc_graph_writer *w = network("xc"), *yes = body("yes"), *no = body("no");
    tc_graph_writer_node(yes, "MatMul", "", "x,w", "a");
    returns(yes, "a");
    tc_graph_writer_node(no, "Softmax", "", "x", "b");
    tc_graph_writer_int(no, "axis", 0);
    returns(no, "b");
    branch_on(w, "c", "y", yes, no);
    tc_graph_writer_node(w, "Gather", "", "y,first", "z");
    returns(w, "z");
    return w;
}

/* Rows above 0, by numbers that the branch finds; or all of them. The sizes of both branches differ. */
static tc_graph_writer *found(void) {
    tc_graph_writer *w = network("xc"), *yes = body("yes"), *no = body("no");
    static float zero[1] = {0};
    tc_graph_writer_node(yes, "ReduceSum", "", "x,last", "sum");
    tc_graph_writer_int(yes, "keepdims", 0);
    tc_graph_writer_weight(yes, "zero", f32_tensor((tc_graph_shape)SCALAR, zero));
    tc_graph_writer_node(yes, "Greater", "", "sum,zero", "above");
    tc_graph_writer_node(yes, "Compress", "", "x,above", "a");
    tc_graph_writer_int(yes, "axis", 0);
    tc_graph_writer_node(yes, "MatMul", "", "a,w", "b");
    returns(yes, "b");
    tc_graph_writer_node(no, "Neg", "", "x", "d");
    returns(no, "d");
    branch_on(w, "c", "y", yes, no);
    tc_graph_writer_node(w, "Exp", "", "y", "e");
    tc_graph_writer_node(w, "MatMul", "", "e,w", "f");
    tc_graph_writer_node(w, "ReduceSum", "", "f,first", "z");
    tc_graph_writer_int(w, "keepdims", 0);
    returns(w, "y");
    returns(w, "z");
    return w;
}

/* An If in a branch, whose branches read what the graph and the branch have. */
static tc_graph_writer *nested(void) {
    tc_graph_writer *w = network("xcd"), *yes = body("yes"), *no = body("no"), *in_yes = body("in_yes"), *in_no = body("in_no");
    tc_graph_writer_node(yes, "MatMul", "", "x,w", "a");
    tc_graph_writer_node(in_yes, "Mul", "", "a,x", "b");
    returns(in_yes, "b");
    tc_graph_writer_node(in_no, "Transpose", "", "a", "t");
    tc_graph_writer_node(in_no, "MatMul", "", "t,x", "g");
    tc_graph_writer_node(in_no, "MatMul", "", "x,g", "e");
    returns(in_no, "e");
    branch_on(yes, "d", "inner", in_yes, in_no);
    tc_graph_writer_node(yes, "Relu", "", "inner", "r");
    returns(yes, "r");
    returns(no, "x");
    branch_on(w, "c", "y", yes, no);
    tc_graph_writer_node(w, "Neg", "", "y", "z");
    returns(w, "z");
    return w;
}

/* Two sizes of which a branch makes one, and a branch that has it from elsewhere. */
static tc_graph_writer *reshaped(void) {
    tc_graph_writer *w = network("bc"), *yes = body("yes"), *no = body("no");
    static int64_t rows[2] = {-1, WIDE};
    tc_graph_writer_weight(w, "rows", i64_tensor((tc_graph_shape)DIMS(2), rows));
    tc_graph_writer_node(w, "Neg", "", "b", "h");
    tc_graph_writer_node(w, "Reshape", "", "h,rows", "k");
    tc_graph_writer_node(yes, "MatMul", "", "b,w", "a");
    tc_graph_writer_node(yes, "Reshape", "", "a,rows", "r");
    tc_graph_writer_node(yes, "Softmax", "", "r", "e");
    tc_graph_writer_int(yes, "axis", 0);
    returns(yes, "e");
    tc_graph_writer_node(no, "Exp", "", "k", "d");
    returns(no, "d");
    branch_on(w, "c", "y", yes, no);
    tc_graph_writer_node(w, "MatMul", "", "y,w", "z");
    returns(w, "z");
    returns(w, "k");
    return w;
}

/* The same of rows that the branch finds, so that nobody knows what one size has to do with the other. */
static tc_graph_writer *found_rows(void) {
    tc_graph_writer *w = network("bc"), *yes = body("yes"), *no = body("no");
    static int64_t rows[2] = {-1, WIDE}, inner[2] = {1, 2};
    static float zero[1] = {0};
    tc_graph_writer_weight(w, "rows", i64_tensor((tc_graph_shape)DIMS(2), rows));
    tc_graph_writer_weight(w, "inner", i64_tensor((tc_graph_shape)DIMS(2), inner));
    tc_graph_writer_weight(w, "zero", f32_tensor((tc_graph_shape)SCALAR, zero));
    tc_graph_writer_node(yes, "ReduceSum", "", "b,inner", "sum");
    tc_graph_writer_int(yes, "keepdims", 0);
    tc_graph_writer_node(yes, "Greater", "", "sum,zero", "above");
    tc_graph_writer_node(yes, "Compress", "", "b,above", "a");
    tc_graph_writer_int(yes, "axis", 0);
    tc_graph_writer_node(yes, "Reshape", "", "a,rows", "r");
    tc_graph_writer_node(yes, "Exp", "", "r", "e");
    returns(yes, "e");
    tc_graph_writer_node(no, "Reshape", "", "b,rows", "d");
    returns(no, "d");
    branch_on(w, "c", "y", yes, no);
    tc_graph_writer_node(w, "MatMul", "", "y,w", "z");
    returns(w, "z");
    return w;
}

/* ---- at every size ---- */

typedef struct model {
    const char *name;
    tc_graph_writer *(*make)(void);
    int least;     /* of n */
    double shrink; /* how many times less work one row is than MOST of them, at least */
} model;

static const model models[] = {
    {"computed", computed, 0, 8},
    {"outer value", outer_value, 0, 8},
    {"whole and dense", whole_and_dense, 1, 0},
    {"one row", one_row, 1, 8},
    {"found", found, 0, 5},
    {"nested", nested, 0, 8},
    {"reshaped", reshaped, 0, 8},
    {"found rows", found_rows, 0, 3},
};

typedef struct varying {
    const model *of;
    tc_graph *graph, *passed;
    tc_graph_program *program;
    tc_graph_model *built;
} varying;

static tc_graph *imported(const model *of, int64_t least, int64_t most) {
    int64_t m = least == most ? 1 + least % 3 : 0;
    tc_graph_binding sizes[] = {{"n", 1, {{least, most, 1}}}, {"m", 1, {{m ? m : 1, m ? m : 3, 1}}}};
    tc_graph_import_options o = {.shapes = sizes, .nshapes = of->make == reshaped || of->make == found_rows ? 2 : 1};
    tc_graph *g;
    assert_ok(tc_graph_import(SCRATCH("varying_control.onnx"), &o, &g, err));
    return g;
}

static varying open_varying(const model *of) {
    tc_graph_writer *w = of->make();
    tc_target *t;
    varying v = {.of = of};
    assert_ok(tc_graph_writer_save(w, SCRATCH("varying_control.onnx"), err));
    tc_graph_writer_free(w);
    v.graph = imported(of, of->least, MOST);
    v.passed = imported(of, of->least, MOST);
    assert_ok(tc_graph_verify(v.graph, err));
    assert_ok(tc_graph_passes(v.passed, NULL, err));
    assert_ok(tc_graph_program_new(v.passed, &v.program, err));
    assert_ok(tc_target_parse("native", &t, err));
    assert_ok(tc_graph_model_build(v.program, &(tc_graph_build_options){.target = t, .threads = 1}, &v.built, err));
    tc_target_free(t);
    return v;
}

static void close_varying(varying *v) {
    tc_graph_model_free(v->built);
    tc_graph_program_free(v->program);
    tc_graph_free(v->passed);
    tc_graph_free(v->graph);
}

static void fill(const tc_graph_value *v, int64_t n, int flags, tc_graph_tensor *t) {
    assert_ok(tc_graph_tensor_alloc(t, v->dtype, &v->shape, err));
    for (int64_t i = 0; i < tc_graph_shape_count(&v->shape); i++)
        if (v->dtype == TC_F32)
            tc_store_f(TC_F32, t->data, i, (double)((i * 37 + 11 * *v->name) % 41 - 20) / 16);
        else if (v->dtype == TC_BOOL)
            tc_store_i(TC_BOOL, t->data, i, flags >> (*v->name - 'c') & 1);
        else
            tc_store_i(TC_I64, t->data, i, i == 0 ? n - 1 : 0);
}

static void expect_equal(const varying *v, int nout, const tc_graph_tensor *want, tc_graph_tensor *got, const char *how,
                         int64_t n, int flags) {
    for (int k = 0; k < nout; k++) {
        tc_graph_diff d;
        assert_ok(tc_graph_tensor_compare(&got[k], &want[k], 1e-5, 1e-5, &d, err));
        if (d.violations)
            fail_msg("%s, %s, n=%lld, conditions %d: output %d is wrong", v->of->name, how, (long long)n, flags, k);
        tc_graph_tensor_free(&got[k]);
    }
}

/* Returns the work of the interpreter. */
static double expect_same(const varying *v, int64_t n, int flags) {
    tc_graph *fixed = imported(v->of, n, n);
    tc_graph_tensor in[MAX_INPUTS], got[MAX_OUT], want[MAX_OUT];
    int nout = (int)(fixed->outputs.len - fixed->nsizes);
    double work;
    for (size_t i = 0; i < fixed->inputs.len; i++)
        fill(fixed->inputs.data[i], n, flags, &in[i]);
    assert_ok(tc_graph_eval(fixed, in, want, err));
    assert_ok(tc_graph_eval(v->graph, in, got, err));
    expect_equal(v, nout, want, got, "evaluated", n, flags);
    assert_ok(interpret_counting(v->program, in, got, &work, err));
    expect_equal(v, nout, want, got, "interpreted", n, flags);
    assert_ok(tc_graph_model_run(v->built, in, got, err));
    expect_equal(v, nout, want, got, "compiled", n, flags);
    for (int k = 0; k < nout; k++)
        tc_graph_tensor_free(&want[k]);
    for (size_t i = 0; i < fixed->inputs.len; i++)
        tc_graph_tensor_free(&in[i]);
    tc_graph_free(fixed);
    return work;
}

static void expect_every_size(const model *of) {
    static const int64_t sizes[] = {0, 1, 2, 13, MOST};
    varying v = open_varying(of);
    for (int flags = 0; flags < 4; flags++) {
        double one = 0, all = 0;
        for (size_t i = 0; i < TC_LEN(sizes); i++) {
            double work = sizes[i] >= of->least ? expect_same(&v, sizes[i], flags) : 0;
            one = sizes[i] == 1 ? work : one;
            all = sizes[i] == MOST ? work : all;
        }
        if (one * of->shrink > all)
            fail_msg("%s, conditions %d: one row is %g points and bytes, %d rows are %g", of->name, flags, one, MOST, all);
    }
    close_varying(&v);
}

static void test_models(void **state) {
    (void)state;
    for (size_t i = 0; i < TC_LEN(models); i++)
        expect_every_size(&models[i]);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_models)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
