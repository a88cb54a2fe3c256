/* tc_graph_simplify and the building functions that passes use. */
#include "graph/graph_test.h"
#include "graph/ops/ops.h"

/* Appends op(in...) and gives its result, found by name. */
static tc_graph_value *add(tc_graph *g, tc_graph_op op, const char *name, tc_graph_value *a, tc_graph_value *b) {
    tc_graph_value *in[] = {a, b};
    tc_graph_node *n = tc_graph_new_node(g, op, name, in, b ? 2 : 1);
    assert_ok(tc_graph_append(g, n, &name, 1, err));
    return tc_graph_find_value(g, name);
}

static tc_graph_value *reshape(tc_graph *g, const char *name, tc_graph_value *x, tc_graph_shape s) {
    tc_graph_node *n = tc_graph_new_node(g, TC_GRAPH_OP_RESHAPE, name, &x, 1);
    tc_graph_set_shape(g, n, s.d, (size_t)s.ndim);
    assert_ok(tc_graph_append(g, n, &name, 1, err));
    return tc_graph_find_value(g, name);
}

static void expect(tc_graph *g, const char *want) {
    tc_strbuf b = {0};
    tc_graph_simplify(g);
    assert_ok(tc_graph_verify(g, err));
    tc_graph_print(g, &b);
    assert_string_equal(tc_sb_str(&b), want);
    tc_strbuf_free(&b);
    tc_graph_free(g);
}

static void test_common_and_dead(void **state) {
    (void)state;
    tc_graph *g = tc_graph_new("test");
    tc_graph_value *x = tc_graph_add_input(g, "x", TC_F32, &(tc_graph_shape)DIMS(4));
    tc_graph_tensor one = F32(SCALAR, 1), uno = F32(SCALAR, 1);
    tc_graph_value *a = add(g, TC_GRAPH_OP_ADD, "a", x, tc_graph_add_constant(g, "one", &one));
    tc_graph_value *b = add(g, TC_GRAPH_OP_ADD, "b", x, tc_graph_add_constant(g, "uno", &uno));
    add(g, TC_GRAPH_OP_EXP, "unused", x, NULL);
    tc_graph_add_output(g, "y", add(g, TC_GRAPH_OP_MUL, "y", a, b));
    expect(g, "graph \"graph\"\n"
              "input %x : f32[4]\n"
              "const %one : f32[] = {1}\n"
              "  %a = Add(%x, %one) : f32[4]\n"
              "  %y = Mul(%a, %a) : f32[4]\n"
              "output y = %y : f32[4]\n");
}

static void test_reshapes(void **state) {
    (void)state;
    tc_graph *g = tc_graph_new("test");
    tc_graph_value *x = tc_graph_add_input(g, "x", TC_F32, &(tc_graph_shape)DIMS(2, 6));
    tc_graph_value *a = reshape(g, "a", x, (tc_graph_shape)DIMS(12)), *b = reshape(g, "b", a, (tc_graph_shape)DIMS(3, 4));
    tc_graph_value *c = reshape(g, "c", b, (tc_graph_shape)DIMS(2, -1)), *d = add(g, TC_GRAPH_OP_IDENTITY, "d", c, NULL);
    tc_graph_add_output(g, "b", b);
    tc_graph_add_output(g, "y", d);
    tc_graph_add_output(g, "z", add(g, TC_GRAPH_OP_RELU, "r", d, NULL));
    expect(g, "graph \"graph\"\n"
              "input %x : f32[2,6]\n"
              "  %b = Reshape(%x) {shape=[3,4]} : f32[3,4]\n"
              "  %r = Relu(%x) : f32[2,6]\n"
              "output b = %b : f32[3,4]\n"
              "output y = %x : f32[2,6]\n"
              "output z = %r : f32[2,6]\n");
}

static void test_replace_and_uses(void **state) {
    (void)state;
    tc_graph *g = tc_graph_new("test");
    tc_graph_value *x = tc_graph_add_input(g, "x", TC_F32, &(tc_graph_shape)DIMS(4));
    tc_graph_value *a = add(g, TC_GRAPH_OP_EXP, "a", x, NULL), *b = add(g, TC_GRAPH_OP_NEG, "b", a, NULL);
    tc_graph_add_output(g, "b", b);
    tc_graph_add_output(g, "a", a);
    uint32_t *uses = tc_graph_count_uses(g);
    assert_int_equal(uses[a->id], 2);
    free(uses);
    tc_graph_replace(g, a, x);
    expect(g, "graph \"graph\"\n"
              "input %x : f32[4]\n"
              "  %b = Neg(%x) : f32[4]\n"
              "output b = %b : f32[4]\n"
              "output a = %x : f32[4]\n");
}

static tc_graph_value *large_constant(tc_graph *g, const char *name, float last) {
    enum { N = 4096 };
    static float data[N];
    data[N - 1] = last;
    tc_graph_tensor t = tc_graph_tensor_view(TC_F32, &(tc_graph_shape)DIMS(N), data);
    return tc_graph_add_constant(g, name, &t);
}

/* Equal ones are one, also where they are large; those that agree at first only are not. */
static void test_equal_constants(void **state) {
    (void)state;
    tc_graph *g = tc_graph_new("test");
    tc_graph_value *a = large_constant(g, "a", 1), *b = large_constant(g, "b", 2), *c = large_constant(g, "c", 1);
    tc_graph_value *x = tc_graph_add_input(g, "x", TC_F32, &a->shape);
    tc_graph_value *p = add(g, TC_GRAPH_OP_MUL, "p", x, a), *q = add(g, TC_GRAPH_OP_SUB, "q", x, b),
                   *r = add(g, TC_GRAPH_OP_DIV, "r", x, c);
    tc_graph_add_output(g, "p", p);
    tc_graph_add_output(g, "q", q);
    tc_graph_add_output(g, "r", r);
    tc_graph_simplify(g);
    assert_ptr_equal(p->producer->in[1], a);
    assert_ptr_equal(q->producer->in[1], b);
    assert_ptr_equal(r->producer->in[1], a);
    tc_graph_free(g);
}

/* Memory goes when the last that shares it does. */
static void test_release(void **state) {
    (void)state;
    tc_graph *g = tc_graph_new("test");
    tc_graph_value *a = large_constant(g, "a", 1), *b = large_constant(g, "b", 2);
    tc_graph_value *view = reshape(g, "view", a, (tc_graph_shape)DIMS(64, 64));
    tc_graph_value *x = tc_graph_add_input(g, "x", TC_F32, &view->shape);
    tc_graph_value *y = add(g, TC_GRAPH_OP_MUL, "y", x, view);
    tc_graph_add_output(g, "y", y);
    tc_graph_release_constants(g);
    assert_int_equal(g->blocks.len, 1);
    assert_null(a->constant);
    assert_null(b->constant);
    assert_true(((const float *)view->constant->data)[4095] == 1);
    tc_graph_replace(g, y, x);
    tc_graph_drop_dead(g);
    tc_graph_release_constants(g);
    assert_int_equal(g->blocks.len, 0);
    assert_ok(tc_graph_verify(g, err));
    tc_graph_free(g);
}

static void test_attributes(void **state) {
    (void)state;
    tc_graph *g = tc_graph_new("test");
    tc_graph_value *x = tc_graph_add_input(g, "x", TC_F32, &(tc_graph_shape)DIMS(4));
    tc_graph_node *n = tc_graph_new_node(g, TC_GRAPH_OP_RELU, NULL, &x, 1);
    static const tc_graph_attr_id ids[] = {TC_ATTR_axis,      TC_ATTR_keepdims, TC_ATTR_group,   TC_ATTR_k,      TC_ATTR_to,
                                           TC_ATTR_exclusive, TC_ATTR_reverse,  TC_ATTR_largest, TC_ATTR_sorted, TC_ATTR_upper};
    for (int i = 0; i < 10; i++)
        tc_graph_set_int(g, n, ids[i], i);
    tc_graph_set_k(g, n, 33);
    tc_graph_drop_attr(n, TC_ATTR_axis);
    tc_graph_drop_attr(n, TC_ATTR_none);
    assert_int_equal(n->nattrs, 9);
    assert_int_equal(tc_graph_attr_k(n), 33);
    assert_int_equal(tc_graph_attr_upper(n), 9);
    assert_int_equal(tc_graph_attr_axis_or(n, -1), -1);
    assert_int_equal((int)tc_graph_attr_alpha_or(n, 7), 7);
    assert_int_equal((int)tc_graph_attr_epsilon_or(n, 0), 0);
    assert_string_equal(n->name, "Relu_0");
    tc_graph_free(g);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_common_and_dead), cmocka_unit_test(test_reshapes), cmocka_unit_test(test_replace_and_uses),
        cmocka_unit_test(test_equal_constants), cmocka_unit_test(test_release),  cmocka_unit_test(test_attributes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
