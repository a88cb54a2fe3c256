/* The texts of operators (src/graph/ir/expansions.txt): all of them read without a mistake, and a mistake is named with its
 * row and column. */
#include "support/cmocka_all.h"

#include <string.h>

#include "graph/ops/expand_syntax.h"
#include "graph/ops/functions.h"

static void test_all_read(void **state) {
    (void)state;
    assert_true(tc_graph_expansion_count > 10);
    for (size_t i = 0; i < tc_graph_expansion_count; i++) {
        tc_error err = {0};
        if (tc_graph_expansion_check(&tc_graph_expansions[i], &err) != TC_OK)
            fail_msg("%s: %s", tc_graph_expansions[i].name, err.msg);
    }
}

static void test_rows(void **state) {
    (void)state;
    int row = 0;
    for (size_t i = 0; i < tc_graph_expansion_count; i++) {
        const tc_graph_expansion *x = &tc_graph_expansions[i];
        assert_true(x->row > row);
        row = x->row;
        assert_true(strncmp(x->text, "op ", 3) == 0 || strncmp(x->text, "def ", 4) == 0 || strncmp(x->text, "sizes ", 6) == 0 ||
                    strncmp(x->text, "always ", 7) == 0);
        for (size_t k = 0; k < i; k++)
            assert_string_not_equal(tc_graph_expansions[k].name, x->name);
    }
}

/* The column rewrite of the operator table says `text` where there is a text for sizes that vary, `always` where there is a text that
 * always runs, and neither elsewhere. */
static void test_sizes(void **state) {
    (void)state;
    int count = 0;
    for (size_t i = 0; i < tc_graph_expansion_count; i++) {
        const tc_graph_expansion *x = &tc_graph_expansions[i];
        tc_graph_op op;
        bool always = strncmp(x->text, "always ", 7) == 0;
        if (!always && strncmp(x->text, "sizes ", 6) != 0)
            continue;
        count++;
        assert_true(tc_graph_op_find(x->name, &op));
        if (tc_graph_functions_of(op)->rewrite != (always ? tc_graph_rewrite_always : tc_graph_rewrite_text))
            fail_msg("the text of %s is of another kind than its row says", x->name);
    }
    for (int op = 0; op < TC_GRAPH_OP_COUNT; op++) {
        tc_graph_dynamic_fn *f = tc_graph_functions_of((tc_graph_op)op)->rewrite;
        count -= f == tc_graph_rewrite_text || f == tc_graph_rewrite_always;
    }
    assert_int_equal(count, 0);
}

static void test_mistakes(void **state) {
    (void)state;
    static const struct {
        const char *text, *message;
    } mistakes[] = {
        {"op A 1 (x) => (y) {\n    y = Abs(z)\n}\n", "expansions.txt:8:13: there is no name 'z'"},
        {"op A 1 (x) => (y) {\n    y = Abbs(x)\n}\n", "expansions.txt:8:9: there is no operator 'Abbs'"},
        {"op A 1 (x) => (y) {\n    y = abs(x)\n}\n", "expansions.txt:8:9: there is no function 'abs'"},
        {"op A 1 (x) => (y) {\n    y = Softmax<axes = 1, axi = 1>(x)\n}\n", "expansions.txt:8:27: there is no attribute 'axi'"},
        {"op A 1 (x) => (y) {\n    y = Softmax<axis>(x)\n}\n", "expansions.txt:8:21: '=' is expected"},
        {"op A 1 (x) => (y) {\n    y = (x + 1\n}\n", "expansions.txt:9:1: ')' is expected"},
        {"op A 1 (x) => (y) {\n    y = x +\n}\n", "expansions.txt:8:12: a name is expected"},
        {"op A 1 (x) => (y) {\n    y = x x\n}\n", "expansions.txt:8:11: the end of the line is expected"},
        {"op A 1 (x) => (y) {\n    if x { y = x\n}\n", "expansions.txt:10:1: a name is expected"},
        {"op A 1 (x) => (y) {\n    expect x : \"no {w}\"\n    y = x\n}\n", "expansions.txt:8:21: there is no name 'w'"},
        {"op A 1 (x) => (y) {\n    expect x \"no\"\n    y = x\n}\n", "expansions.txt:8:14: ':' is expected"},
        {"op A 1 (x) => (y) {\n    y = rank(x, x)\n}\n", "expansions.txt:8:19: rank takes 1 arguments, not 2"},
        {"op A 1 (x) => (y) {\n    y = asked(z)\n}\n", "expansions.txt:8:17: 'z' is no output"},
        {"op A 1 (x) => (y) {\n    y = scan abs(1, 0, [x])\n}\n", "expansions.txt:8:14: there is no function 'abs'"},
        {"op A 1 (x) => (y) {\n    y = scan Abs(1, 0, [x])\n}\n",
         "expansions.txt:8:14: a function with a number of steps, a direction and a list of states is expected"},
        {"op A 1 (x) => (y) {\n    y = scan widened(1, 0)\n}\n",
         "expansions.txt:8:14: a function with a number of steps, a direction and a list of states is expected"},
        {"op A 1 (x: int) => (y) {\n    y = x\n}\n", "expansions.txt:7:12: float, byte or like is expected"},
        {"op A 1 (x) => (y) {\n    z = x\n}\n", "expansions.txt:9:2: output 'y' is never set"},
        {"op A 1 (x, x) => (y) {\n    y = x\n}\n", "expansions.txt:7:13: two are called 'x'"},
        {"op A 1 (x) => (y) {\n    if 0 {\n        y = [x, z]\n    }\n    y = x\n}\n",
         "expansions.txt:9:17: there is no name 'z'"},
        {"sizes A 1 (x) => () {\n    x = Abs(x)\n}\n", "expansions.txt:7:9: '(' is expected"},
        {"sizes A (x) => () {\n    x = Nodes(x)\n}\n", "expansions.txt:8:9: there is no operator 'Nodes'"},
        {"sizes A (x) => () {\n    require_number(\"n {z}\", x, 0)\n}\n", "expansions.txt:8:24: there is no name 'z'"},
        {"function A(x) => (y) {\n    y = x\n}\n", "expansions.txt:7:1: 'def' is expected"},
    };
    for (size_t i = 0; i < TC_LEN(mistakes); i++) {
        tc_error err = {0};
        tc_graph_expansion x = {"A", 7, mistakes[i].text};
        assert_int_equal(tc_graph_expansion_check(&x, &err), TC_BAD_INPUT);
        assert_string_equal(err.msg, mistakes[i].message);
    }
}

/* An import reads a text once, also for the bodies of its nodes. */
static void test_read_once(void **state) {
    (void)state;
    tc_graph *g = tc_graph_new(""), *body = tc_graph_new("");
    tc_status s = TC_OK;
    tc_error err = {0};
    body->texts = tc_graph_texts_of(g);
    const tc_graph_text *lrn = tc_graph_text_of(body, TC_GRAPH_OP_LRN, &s, &err);
    assert_non_null(lrn);
    assert_string_equal(lrn->x->name, "LRN");
    assert_ptr_equal(tc_graph_text_of(g, TC_GRAPH_OP_LRN, &s, &err), lrn);
    assert_int_equal(s, TC_OK);
    tc_graph_free(body);
    assert_ptr_equal(tc_graph_text_of(g, TC_GRAPH_OP_LRN, &s, &err), lrn);
    assert_true(lrn->is_operator && lrn->nin == 1 && lrn->nattrs == 4);
    tc_graph_free(g);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_read), cmocka_unit_test(test_rows),      cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_mistakes), cmocka_unit_test(test_read_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
