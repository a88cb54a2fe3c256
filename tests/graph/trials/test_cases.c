/* Cases whose inputs and outputs are lists: what runs, and what is refused. The models are those of Debian's libonnx-testdata;
 * each test puts a case of its own together from their files. */
#include "graph/trials/cases.h"

#include <sys/stat.h>

#include "codegen/target/target.h"
#include "graph/graph_test.h"
#include "support/system/fs.h"

#define CASE SCRATCH("lists")

static void put(const char *from, const char *to) {
    char *data, path[1024];
    size_t size;
    snprintf(path, sizeof path, TCTUNE_ONNX_TESTDATA "/node/%s", from);
    assert_ok(tc_fs_read(path, &data, &size, err));
    snprintf(path, sizeof path, CASE "/%s", to);
    assert_ok(tc_fs_write(path, data, size, err));
    free(data);
}

/* The case runs as often as it has data sets. */
static tc_graph_case run(tc_arena *a) {
    tc_target *t;
    assert_ok(tc_target_parse("native", &t, err));
    t->machine.cores = 1;
    tc_graph_case_options o = {.target = t, .tolerance = {.rtol = -1, .atol = -1}};
    tc_graph_case c = tc_graph_case_run(CASE, &o, a);
    tc_target_free(t);
    return c;
}

typedef struct row {
    const char *model, *input, *output; /* files of these cases */
    tc_graph_verdict verdict;
    const char *why;
} row;

static const row rows[] = {
    {"test_identity_sequence", "test_identity_sequence", "test_identity_sequence", TC_GRAPH_CASE_PASSED, ""},
    {"test_identity_opt", "test_identity_opt", "test_identity_opt", TC_GRAPH_CASE_PASSED, ""},
    {"test_optional_get_element", "test_optional_get_element", "test_optional_get_element", TC_GRAPH_CASE_PASSED, ""},
    /* three elements of one expected, four of another */
    {"test_identity_sequence", "test_sequence_map_identity_1_sequence", "test_identity_sequence", TC_GRAPH_CASE_FAILED,
     "number of elements"},
    /* the same number, other values */
    {"test_sequence_map_identity_1_sequence", "test_sequence_map_identity_1_sequence", "test_sequence_map_add_2_sequences",
     TC_GRAPH_CASE_FAILED, "output 0"},
    /* files of another kind */
    {"test_identity_sequence", "test_abs", "test_identity_sequence", TC_GRAPH_CASE_FAILED, "sequence"},
    {"test_abs", "test_identity_sequence", "test_abs", TC_GRAPH_CASE_FAILED, "not an ONNX tensor"},
    {"test_optional_get_element", "test_identity_opt", "test_optional_get_element", TC_GRAPH_CASE_FAILED,
     "holds a sequence, but the model's 'optional_input' is an optional tensor"},
    {"test_identity_opt", "test_optional_get_element", "test_identity_opt", TC_GRAPH_CASE_FAILED,
     "holds a tensor, but the model's 'opt_in' is an optional sequence"},
};

static void test_lists(void **state) {
    (void)state;
    tc_arena *a = tc_arena_new();
    tc_fs_remove_tree(CASE); /* what an earlier run that ended left */
    for (size_t i = 0; i < TC_LEN(rows); i++) {
        const row *r = &rows[i];
        assert_int_equal(mkdir(CASE, 0777) | mkdir(CASE "/test_data_set_0", 0777), 0);
        put(tc_arena_printf(a, "%s/model.onnx", r->model), "model.onnx");
        put(tc_arena_printf(a, "%s/test_data_set_0/input_0.pb", r->input), "test_data_set_0/input_0.pb");
        put(tc_arena_printf(a, "%s/test_data_set_0/output_0.pb", r->output), "test_data_set_0/output_0.pb");
        tc_graph_case c = run(a);
        if (c.verdict != r->verdict || !strstr(c.why, r->why))
            fail_msg("row %zu: %s", i, c.why);
        tc_fs_remove_tree(CASE);
    }
    tc_arena_free(a);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_lists)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
