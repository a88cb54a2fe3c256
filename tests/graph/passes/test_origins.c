/* What the kernels of a graph say of the nodes that they are made from, after passes and fusion, and what they are called. */
#include "graph/graph_text.h"
#include "graph/passes/pass.h"
#include "graph/program/program.h"

/* "Conv+Relu f32[..]: c n r" for each kernel of the text's graph, spare ones behind. */
static void assert_kernels(const char *text, const char *expected) {
    tc_graph *g;
    tc_graph_program *p;
    const tc_tune_task *t;
    tc_strbuf got = {0};
    assert_ok(graph_of_text("test", text, &g, err));
    assert_ok(tc_graph_passes(g, NULL, err));
    assert_ok(tc_graph_program_new(g, &p, err));
    for (int i = 0, n = tc_graph_program_tunable(p, &t); i < n; i++) {
        tc_sb_printf(&got, "%s:", t[i].name);
        for (int k = 0; k < t[i].nnode; k++)
            tc_sb_printf(&got, " %s", t[i].nodes[k]);
        tc_sb_addc(&got, '\n');
    }
    assert_string_equal(tc_sb_str(&got), expected);
    tc_strbuf_free(&got);
    tc_graph_program_free(p);
    tc_graph_free(g);
}

static void test_fused(void **state) {
    (void)state;
    assert_kernels("input %x : f32[4,8]\nconst %w : f32[8,16]\nconst %b : f32[16]\n"
                   "%m = MatMul(%x, %w)\n%a = Add(%m, %b)\n%r = Relu(%a)\noutput r = %r\n",
                   "MatMul+Add+Relu f32[4,16]: m a r\n");
}

/* Batch norm and padding become parts of the convolution; the forms of its operands are nobody's. */
static void test_folded(void **state) {
    (void)state;
    assert_kernels("input %x : f32[1,2,6,6]\nconst %w : f32[3,2,3,3]\nconst %one : f32[3]\nconst %var : f32[3]\n"
                   "%p = Pad(%x) {mode=\"constant\", pads=[0,0,1,1,0,0,1,1]}\n%c = Conv(%p, %w)\n"
                   "%n = BatchNormalization(%c, %one, %one, %one, %var)\n%r = Relu(%n)\noutput r = %r\n",
                   "Conv+Relu+Transpose f32[3,6,6]: c n p r\n");
}

static const char *const joined =
    "input %x : f32[4,8]\nconst %wq : f32[8,16]\nconst %wk : f32[8,16]\nconst %bq : f32[16]\nconst %bk : f32[16]\n"
    "%mq = MatMul(%x, %wq)\n%q = Add(%mq, %bq)\n%mk = MatMul(%x, %wk)\n%k = Add(%mk, %bk)\n"
    "%s = Softmax(%q) {axis=1}\n%t = Tanh(%k)\noutput s = %s\noutput t = %t\n";

/* Two products become one kernel, which is both; their readers stay apart. */
static void test_combined(void **state) {
    (void)state;
    assert_kernels(joined, "MatMul+Add f32[4,32]: mq mk q k\nSoftmax f32[4,16]: s\nTanh f32[4,16]: t\n");
}

/* Of equal nodes one is kept, and it is both. */
static void test_equal(void **state) {
    (void)state;
    assert_kernels("input %x : f32[4,8]\n%a = Exp(%x)\n%b = Exp(%x)\n%s = Softmax(%a) {axis=1}\n%t = Softmax(%b) {axis=1}\n"
                   "%i = Identity(%s)\noutput i = %i\noutput t = %t\n",
                   "Exp+Softmax f32[4,8]: a b s t\n");
}

/* What a quantised contraction is made of is named by the nodes around it. */
static void test_quantised(void **state) {
    (void)state;
    assert_kernels("input %x : u8[4,8]\nconst %s : f32[] = {0.02}\nconst %z : u8[] = {7}\nconst %w : i8[8,16]\n"
                   "const %sw : f32[] = {0.1}\nconst %zw : i8[] = {0}\n"
                   "%dx = DequantizeLinear(%x, %s, %z)\n%dw = DequantizeLinear(%w, %sw, %zw)\n%m = MatMul(%dx, %dw)\n"
                   "%q = QuantizeLinear(%m, %s, %z)\noutput q = %q\n",
                   "MatMul+Add+Cast+Mul+QuantizeLinear u8[4,16]: dx dw m q\n");
}

/* Kernels of one name differ by a number, in their order. */
static void test_names(void **state) {
    (void)state;
    assert_kernels("input %x : f32[4,8]\nconst %u : f32[8,16]\nconst %v : f32[16,24]\nconst %w : f32[24,16]\n"
                   "%a = MatMul(%x, %u)\n%b = MatMul(%a, %v)\n%c = MatMul(%b, %w)\noutput c = %c\n",
                   "MatMul f32[4,16]#1: a\nMatMul f32[4,24]: b\nMatMul f32[4,16]#2: c\n");
    const tc_tune_task first = {.name = "MatMul f32[4,16]#1"};
    assert_true(tc_graph_is_called(&first, "MatMul f32[4,16]#1"));
    assert_true(tc_graph_is_called(&first, "MatMul f32[4,16]"));
    assert_false(tc_graph_is_called(&first, "MatMul f32[4,16]#"));
    assert_false(tc_graph_is_called(&first, "MatMul"));
    assert_false(tc_graph_is_called(&first, "MatMul f32[4,16]#12"));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_fused),     cmocka_unit_test(test_folded),
                                       cmocka_unit_test(test_combined),  cmocka_unit_test(test_equal),
                                       cmocka_unit_test(test_quantised), cmocka_unit_test(test_names)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
