/* Sizes that meet, as they do in a sum: the one is what the other is made of, or runs check that they are equal. */
#define SIZES_MODEL "meeting_sizes.onnx"
#include "graph/ir/sizes_common.h"
#include "graph/model/model.h"
#include "graph/ops/ops.h"
#include "graph/saved/saved.h"

/* y = x[::2] + half */
static tc_graph_writer *halves(void) {
    tc_graph_writer *w = tc_graph_writer_new("halves", 17);
    tc_graph_writer_input(w, "x", TC_F32, "H");
    tc_graph_writer_input(w, "half", TC_F32, "h");
    tc_graph_writer_output(w, "y", TC_F32, "h");
    tc_graph_writer_weight(w, "from", I64(DIMS(1), 0));
    tc_graph_writer_weight(w, "to", I64(DIMS(1), INT64_MAX));
    tc_graph_writer_weight(w, "axis", I64(DIMS(1), 0));
    tc_graph_writer_weight(w, "step", I64(DIMS(1), 2));
    tc_graph_writer_node(w, "Slice", "", "x,from,to,axis,step", "even");
    tc_graph_writer_node(w, "Add", "", "even,half", "y");
    return w;
}

/* As a library that was loaded: it gives what is evaluated, and refuses what is no half by its name. */
static void expect_built_halves(const tc_graph *g) {
    tc_graph_program *p;
    tc_graph_model *m, *loaded;
    tc_target *target;
    assert_ok(tc_graph_program_new(g, &p, err));
    assert_ok(tc_target_parse("native", &target, err));
    assert_ok(tc_graph_model_build(p, &(tc_graph_build_options){.target = target, .threads = 1}, &m, err));
    assert_ok(tc_graph_model_save(m, SCRATCH("halves.so"), "halves", err));
    assert_ok(tc_graph_model_load(SCRATCH("halves.so"), 0, &loaded, err));
    for (int64_t n = 1; n <= 20; n++) {
        tc_graph_tensor in[] = {counted((tc_graph_shape)DIMS(n)), counted((tc_graph_shape)DIMS((n + 1) / 2))}, out;
        assert_ok(tc_graph_model_run(loaded, in, &out, err));
        assert_true(tc_graph_shape_equal(&out.shape, &in[1].shape));
        for (int64_t i = 0; i < in[1].shape.d[0]; i++)
            assert_true(((float *)out.data)[i] == (float)(3 * i));
        tc_graph_tensor_free(&out);
    }
    for (int64_t wrong = 3; wrong <= 5; wrong += 2) {
        tc_graph_tensor in[] = {counted((tc_graph_shape)DIMS(7)), counted((tc_graph_shape)DIMS(wrong))}, out;
        assert_fails(TC_BAD_INPUT, tc_graph_model_run(loaded, in, &out, err), "dimension 0 of input 'half' is", "'h' must be",
                     "which is 4", "H is 7");
    }
    tc_graph_model_free(loaded);
    tc_graph_model_free(m);
    tc_graph_program_free(p);
    tc_target_free(target);
}

static void test_quotient(void **state) {
    (void)state;
    tc_graph_binding dim = range("H", 1, 20, 1);
    tc_graph *g = import_ok(halves(), &dim, 1);
    expect_symbol(g, "h", 1, 10, true);
    for (int64_t n = 1; n <= 20; n++) {
        tc_graph_tensor in[] = {counted((tc_graph_shape)DIMS(n)), counted((tc_graph_shape)DIMS((n + 1) / 2))}, out;
        assert_ok(tc_graph_eval(g, in, &out, err));
        assert_true(tc_graph_shape_equal(&out.shape, &in[1].shape));
        for (int64_t i = 0; i < in[1].shape.d[0]; i++)
            assert_true(((float *)out.data)[i] == (float)(3 * i));
        tc_graph_tensor_free(&out);
    }
    tc_graph_tensor in[] = {counted((tc_graph_shape)DIMS(7)), counted((tc_graph_shape)DIMS(3))}, out;
    assert_fails(TC_BAD_INPUT, tc_graph_eval(g, in, &out, err), "dimension 0 of input 'half' is 3", "'h' must be", "which is 4",
                 "H is 7");
    expect_built_halves(g);
    tc_graph_free(g);
    dim = range("H", 4, 20, 4); /* of multiples, halves are whole */
    g = import_ok(halves(), &dim, 1);
    expect_symbol(g, "h", 2, 10, true);
    expect_made_of(g, "h", "(H / 4) * 2");
    tc_graph_free(g);
}

/* y = a + b, then y + w where there are weights. */
static tc_graph_writer *sum(bool weights) {
    tc_graph_writer *w = tc_graph_writer_new("sum", 17);
    tc_graph_writer_input(w, "a", TC_F32, "n,1");
    tc_graph_writer_input(w, "b", TC_F32, "m,1");
    tc_graph_writer_output(w, "y", TC_F32, NULL);
    tc_graph_writer_node(w, "Add", "meet", "a,b", weights ? "s" : "y");
    if (weights) {
        tc_graph_writer_weight(w, "w", F32(DIMS(5, 1), 1, 2, 3, 4, 5));
        tc_graph_writer_node(w, "Add", "fixed", "s,w", "y");
    }
    return w;
}

static void test_same_and_fixed(void **state) {
    (void)state;
    tc_graph_tensor in[] = {counted((tc_graph_shape)DIMS(3, 1)), counted((tc_graph_shape)DIMS(4, 1))}, out;
    tc_graph_binding dims[] = {range("n", 1, 6, 1), range("m", 3, 9, 1)};
    tc_graph *g = import_ok(sum(false), dims, 2);
    expect_symbol(g, "n", 3, 6, false); /* what both may be */
    assert_fails(TC_BAD_INPUT, tc_graph_eval(g, in, &out, err), "'n' is 4 in dimension 0 of input 'b', but 3");
    in[1].shape.d[0] = 3;
    assert_ok(tc_graph_eval(g, in, &out, err));
    tc_graph_tensor_free(&out);
    tc_graph_free(g);
    g = import_ok(sum(true), NULL, 0); /* a size that is assumed is what the weights have */
    assert_int_equal(g->symbols.len, 0);
    assert_int_equal(g->inputs.data[1]->shape.d[0], 5);
    assert_fails(TC_BAD_INPUT, tc_graph_eval(g, in, &out, err), "input 'a' must be f32[5,1]");
    tc_graph_free(g);
    assert_not_imported(sum(true), dims, 2, "node 'fixed' (Add)", "'s' (n, at most 6)", "'w' (5)", "must be equal", "--shape");
    dims[1] = range("m", 7, 9, 1);
    assert_not_imported(sum(false), dims, 2, "node 'meet' (Add)", "(n, at most 6)", "(m, at most 9)", "must be equal");
}

/* a twice and b three times; the same of c in the end, if `more`. */
static tc_graph_writer *times(bool more) {
    tc_graph_writer *w = tc_graph_writer_new("times", 17);
    tc_graph_writer_input(w, "a", TC_F32, "n");
    tc_graph_writer_input(w, "b", TC_F32, "m");
    if (more)
        tc_graph_writer_input(w, "c", TC_F32, "k");
    tc_graph_writer_output(w, "y", TC_F32, NULL);
    tc_graph_writer_node(w, "Concat", "", "a,a", "aa");
    tc_graph_writer_int(w, "axis", 0);
    tc_graph_writer_node(w, "Concat", "", "b,b,b", "bbb");
    tc_graph_writer_int(w, "axis", 0);
    tc_graph_writer_node(w, "Add", "meet", "aa,bbb", more ? "s" : "y");
    if (more)
        tc_graph_writer_node(w, "Add", "last", "c,s", "y");
    return w;
}

/* Neither 2 n nor 3 m is free to be the other: runs check that they are the same, and have no more room than both need. */
static void test_neither_is_free(void **state) {
    (void)state;
    tc_graph_binding dims[] = {range("n", 0, 16, 1), range("m", 0, 16, 1)};
    tc_graph *g = import_ok(times(false), dims, 2);
    tc_graph_tensor out;
    expect_symbol(g, "n", 0, 15, false);
    expect_symbol(g, "m", 0, 10, false);
    assert_int_equal(g->outputs.data[0].value->shape.d[0], 30);
    for (int64_t n = 0; n <= 15; n++)
        for (int64_t m = 0; m <= 10; m++) {
            tc_graph_tensor in[] = {counted((tc_graph_shape)DIMS(n)), counted((tc_graph_shape)DIMS(m))};
            char is[80];
            snprintf(is, sizeof is, "n * 2 is %d (n is %d), and m * 3 is %d (m is %d)", 2 * (int)n, (int)n, 3 * (int)m, (int)m);
            if (2 * n != 3 * m) {
                assert_fails(TC_BAD_INPUT, tc_graph_eval(g, in, &out, err), "node 'meet' (Add): dimension 0 of 'aa'",
                             "dimension 0 of 'bbb'", "must be equal, but", is);
                continue;
            }
            assert_ok(tc_graph_eval(g, in, &out, err));
            assert_int_equal(out.shape.d[0], 2 * n);
            for (int64_t i = 0; i < 2 * n; i++)
                assert_true(((float *)out.data)[i] == (float)(i % n + i % m));
            tc_graph_tensor_free(&out);
        }
    tc_graph_tensor in[] = {counted((tc_graph_shape)DIMS(15)), counted((tc_graph_shape)DIMS(11))};
    assert_fails(TC_BAD_INPUT, tc_graph_eval(g, in, &out, err), "dimension 0 of input 'b' is 11",
                 "'m' fits the other sizes as 0..10");
    tc_graph_free(g);
}

static void repeated(tc_graph_writer *w, const char *list, const char *to) {
    tc_graph_writer_node(w, "Concat", "", list, to);
    tc_graph_writer_int(w, "axis", 0);
}

/* n + m, 2 k and 3 j: what one leaves the second is left of the first as well. */
static void test_three_equal(void **state) {
    (void)state;
    tc_graph_writer *w = tc_graph_writer_new("three", 17);
    tc_graph_writer_input(w, "a", TC_F32, "n");
    tc_graph_writer_input(w, "b", TC_F32, "m");
    tc_graph_writer_input(w, "c", TC_F32, "k");
    tc_graph_writer_input(w, "d", TC_F32, "j");
    tc_graph_writer_output(w, "y", TC_F32, NULL);
    repeated(w, "a,b", "ab");
    repeated(w, "c,c", "cc");
    repeated(w, "d,d,d", "ddd");
    tc_graph_writer_node(w, "Add", "first", "ab,cc", "s");
    tc_graph_writer_node(w, "Add", "second", "cc,ddd", "t");
    tc_graph_writer_node(w, "Mul", "third", "ddd,ab", "u");
    tc_graph_writer_node(w, "Sub", "", "s,t", "v");
    tc_graph_writer_node(w, "Add", "", "u,v", "y");
    tc_graph_binding dims[] = {range("n", 1, 6, 1), range("m", 1, 6, 1), range("k", 1, 5, 1), range("j", 1, 4, 1)};
    tc_graph *g = import_ok(w, dims, TC_LEN(dims));
    assert_int_equal(g->outputs.data[0].value->shape.d[0], 6); /* of 3, 6, 9, 12 and 2, 4, 6, 8, 10 nothing else is left */
    expect_symbol(g, "k", 3, 3, false);
    tc_arena *a = tc_arena_new();
    tc_graph_size_rules r;
    int64_t most[4];
    tc_graph_size_rules_of(g, a, &r);
    assert_ok(tc_graph_size_rules_largest(&r, most, err));
    assert_int_equal(most[0] + most[1], 6);
    tc_arena_free(a);
    tc_graph_tensor out;
    for (int64_t n = 1; n <= 5; n++) {
        tc_graph_tensor in[] = {counted((tc_graph_shape)DIMS(n)), counted((tc_graph_shape)DIMS(6 - n)),
                                counted((tc_graph_shape)DIMS(3)), counted((tc_graph_shape)DIMS(2))};
        assert_ok(tc_graph_eval(g, in, &out, err));
        for (int64_t i = 0; i < 6; i++) {
            float ab = (float)(i < n ? i : i - n), d = (float)(i % 2);
            assert_true(((float *)out.data)[i] == d * ab + ab - d);
        }
        tc_graph_tensor_free(&out);
        in[0].shape.d[0] = n + 1;
        if (n < 5)
            assert_fails(TC_BAD_INPUT, tc_graph_eval(g, in, &out, err), "must be equal, but", "is 7", "is 6");
    }
    tc_graph_free(g);
}

/* What is the same as another size may be what a third one is made of. */
static void test_equal_and_made_of(void **state) {
    (void)state;
    tc_graph *g = import_ok(times(true), NULL, 0);
    tc_graph_tensor out;
    expect_made_of(g, "k", "n * 2");
    tc_graph_tensor in[] = {counted((tc_graph_shape)DIMS(6)), counted((tc_graph_shape)DIMS(4)),
                            counted((tc_graph_shape)DIMS(12))};
    assert_ok(tc_graph_eval(g, in, &out, err));
    assert_true(((float *)out.data)[11] == 11 + 5 + 3);
    tc_graph_tensor_free(&out);
    in[2].shape.d[0] = 10;
    assert_fails(TC_BAD_INPUT, tc_graph_eval(g, in, &out, err), "'k' must be n * 2, which is 12");
    in[2].shape.d[0] = 12;
    in[1].shape.d[0] = 5;
    assert_fails(TC_BAD_INPUT, tc_graph_eval(g, in, &out, err), "must be equal, but n * 2 is 12 (n is 6), and m * 3 is 15");
    tc_graph_free(g);
}

/* x twice, or with one more if `one` is, meets what there are `n` of. */
static tc_graph_writer *against(const char *nodes, int64_t n) {
    static float zeros[16];
    tc_graph_writer *w = tc_graph_writer_new("against", 17);
    tc_graph_shape shape = DIMS(n);
    tc_graph_writer_input(w, "a", TC_F32, "n");
    tc_graph_writer_output(w, "y", TC_F32, NULL);
    tc_graph_writer_weight(w, "w", tc_graph_tensor_view(TC_F32, &shape, zeros));
    tc_graph_writer_weight(w, "one", F32(DIMS(1), 1));
    tc_graph_writer_node(w, "Concat", "join", nodes, "s");
    tc_graph_writer_int(w, "axis", 0);
    tc_graph_writer_node(w, "Add", "meet", "s,w", "y");
    return w;
}

/* A size of which nobody said anything is what a fixed one leaves it. No range is made a single size, and what cannot be is
 * refused. */
static void test_meets_fixed(void **state) {
    (void)state;
    tc_graph_binding dims[] = {range("n", 1, 9, 1), range("m", 4, 9, 1)};
    tc_graph *g = import_ok(against("a,a", 8), NULL, 0);
    assert_int_equal(g->symbols.len, 0);
    assert_int_equal(g->inputs.data[0]->shape.d[0], 4);
    tc_graph_free(g);
    g = import_ok(against("a,one", 8), NULL, 0);
    assert_int_equal(g->inputs.data[0]->shape.d[0], 7);
    tc_graph_free(g);
    assert_not_imported(against("a,a", 7), NULL, 0, "node 'meet' (Add)", "'s' (n * 2", "'w' (7)", "must be equal", "--shape");
    assert_not_imported(against("a,a", 8), dims, 1, "node 'meet' (Add)", "'s' (n * 2", "'w' (8)", "must be equal", "--shape");
    dims[0] = range("n", 1, 5, 1); /* 2 to 10, and 12 to 27 */
    assert_not_imported(times(false), dims, 2, "node 'meet' (Add)", "'aa' (n * 2, at most 10)", "'bbb' (m * 3, at most 27)",
                        "must be equal", "varies is not broadcast");
}

static tc_graph_writer *product(void) {
    tc_graph_writer *w = tc_graph_writer_new("product", 17);
    tc_graph_writer_input(w, "a", TC_F32, "2,k");
    tc_graph_writer_input(w, "b", TC_F32, "l,2");
    tc_graph_writer_output(w, "y", TC_F32, NULL);
    tc_graph_writer_node(w, "MatMul", "", "a,b", "y");
    return w;
}

/* Only what is there is summed. */
static void test_inner_dimension(void **state) {
    (void)state;
    tc_graph_binding dim = range("k", 1, 6, 1);
    tc_graph *g = import_ok(product(), &dim, 1);
    for (int64_t k = 1; k <= 6; k++) {
        tc_graph_tensor in[] = {counted((tc_graph_shape)DIMS(2, k)), counted((tc_graph_shape)DIMS(k, 2))}, out;
        float want = 0;
        for (int64_t i = 0; i < k; i++)
            want += (float)(i * 2 * i);
        assert_ok(tc_graph_eval(g, in, &out, err));
        assert_true(*(float *)out.data == want);
        tc_graph_tensor_free(&out);
    }
    tc_graph_tensor in[] = {counted((tc_graph_shape)DIMS(2, 3)), counted((tc_graph_shape)DIMS(4, 2))}, out;
    assert_fails(TC_BAD_INPUT, tc_graph_eval(g, in, &out, err), "'k' is 4 in dimension 0 of input 'b', but 3");
    tc_graph_free(g);
}

/* Before opset 7, b [m] lies at a dimension of a [n, k, 2]. */
static tc_graph_writer *old_sum(int64_t axis, bool broadcast) {
    tc_graph_writer *w = tc_graph_writer_new("old", 6);
    tc_graph_writer_input(w, "a", TC_F32, "n,k,2");
    tc_graph_writer_input(w, "b", TC_F32, "m");
    tc_graph_writer_output(w, "y", TC_F32, NULL);
    tc_graph_writer_node(w, "Add", "meet", "a,b", "y");
    tc_graph_writer_int(w, "axis", axis);
    tc_graph_writer_int(w, "broadcast", broadcast);
    return w;
}

static void test_old_places(void **state) {
    (void)state;
    tc_graph_binding dims[] = {range("n", 1, 3, 1), range("k", 1, 5, 1), range("m", 1, 9, 1)};
    tc_graph *g;
    for (int i = 0; i < 4; i++) { /* from the end, too */
        g = import_ok(old_sum((int64_t[]){0, -3, 1, -2}[i], true), dims, 3);
        assert_int_equal(g->inputs.data[1]->shape.d[0], i < 2 ? 3 : 5);
        tc_graph_free(g);
    }
    g = import_ok(old_sum(0, false), NULL, 0); /* an axis alone says nothing */
    assert_int_equal(g->inputs.data[1]->shape.d[0], 2);
    tc_graph_free(g);
    static const int64_t outside[] = {3, -4, INT32_MAX, INT64_C(1) << 32, INT64_MAX, INT64_MIN};
    for (size_t i = 0; i < TC_LEN(outside); i++) {
        char text[64];
        snprintf(text, sizeof text, "axis %lld is outside of a tensor with 3 dimensions", (long long)outside[i]);
        assert_not_imported(old_sum(outside[i], true), dims, 3, "node 'meet' (Add)", text);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_quotient),        cmocka_unit_test(test_same_and_fixed),    cmocka_unit_test(test_neither_is_free),
        cmocka_unit_test(test_three_equal),     cmocka_unit_test(test_equal_and_made_of), cmocka_unit_test(test_meets_fixed),
        cmocka_unit_test(test_inner_dimension), cmocka_unit_test(test_old_places),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
