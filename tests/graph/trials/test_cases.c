/* Cases: which differences between results and expected values fail a case, and, where inputs and outputs are lists, what runs and
 * what is refused. The models of lists are those of Debian's libonnx-testdata; each test puts a case of its own together. */
#include "graph/trials/cases.h"

#include <sys/stat.h>

#include "codegen/target/target.h"
#include "graph/graph_test.h"
#include "support/system/fs.h"

#define CASE SCRATCH("lists")
#define VALUES SCRATCH("values")

static void put(const char *from, const char *to) {
    char *data, path[1024];
    size_t size;
    snprintf(path, sizeof path, TCTUNE_ONNX_TESTDATA "/node/%s", from);
    assert_ok(tc_fs_read(path, &data, &size, err));
    snprintf(path, sizeof path, CASE "/%s", to);
    assert_ok(tc_fs_write(path, data, size, err));
    free(data);
}

/* The case runs as often as it has data sets. A negative tolerance is the default. */
static tc_graph_case run(const char *folder, double tolerance, tc_arena *a) {
    tc_target *t;
    assert_ok(tc_target_parse("native", &t, err));
    t->machine.cores = 1;
    tc_graph_case_options o = {.target = t, .tolerance = {.rtol = tolerance, .atol = tolerance}};
    tc_graph_case c = tc_graph_case_run(folder, &o, a);
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
        tc_graph_case c = run(CASE, -1, a);
        if (c.verdict != r->verdict || !strstr(c.why, r->why))
            fail_msg("row %zu: %s", i, c.why);
        tc_fs_remove_tree(CASE);
    }
    tc_arena_free(a);
}

/* ---- values ---- */

/* An Identity of two elements, of which the data set expects others; the verdict at the default tolerance, and at none. */
typedef struct values {
    tc_dtype type;
    uint64_t given, expected; /* the bits of the second element */
    tc_graph_verdict usual, strict;
    const char *why;
} values;

static const values value_rows[] = {
    {TC_I64, 0x20000000000000, 0x20000000000000, TC_GRAPH_CASE_PASSED, TC_GRAPH_CASE_PASSED, ""},
    {TC_I64, 0x20000000000000, 0x20000000000001, TC_GRAPH_CASE_FAILED, TC_GRAPH_CASE_FAILED,
     "element 1 is 9007199254740992, but 9007199254740993 was expected"},
    {TC_U64, UINT64_MAX, UINT64_MAX - 1, TC_GRAPH_CASE_FAILED, TC_GRAPH_CASE_FAILED, "18446744073709551614 was expected"},
    {TC_F64, 0x3ff0000000000001, 0x3ff0000000000000, TC_GRAPH_CASE_PASSED, TC_GRAPH_CASE_FAILED, "1.0000000000000002"}, /* 1 */
    {TC_F64, 0x8000000000000000, 0, TC_GRAPH_CASE_PASSED, TC_GRAPH_CASE_PASSED, ""},                           /* -0, 0 */
    {TC_F64, 0x7ff8000000000000, 0x3ff0000000000000, TC_GRAPH_CASE_FAILED, TC_GRAPH_CASE_FAILED, "element 1"}, /* NaN, 1 */
    {TC_F64, 0x3ff0000000000000, 0x7ff8000000000000, TC_GRAPH_CASE_FAILED, TC_GRAPH_CASE_FAILED, "element 1"}, /* 1, NaN */
    {TC_F64, 0x7ff8000000000000, 0xfff8000000000001, TC_GRAPH_CASE_PASSED, TC_GRAPH_CASE_PASSED, ""},          /* two NaN */
    {TC_F64, 0x7fefffffffffffff, 0x7ff0000000000000, TC_GRAPH_CASE_FAILED, TC_GRAPH_CASE_FAILED, "inf"}, /* largest, infinity */
    {TC_F64, 0xfff0000000000000, 0x7ff0000000000000, TC_GRAPH_CASE_FAILED, TC_GRAPH_CASE_FAILED, "inf"}, /* both infinities */
    {TC_BOOL, 1, 0, TC_GRAPH_CASE_FAILED, TC_GRAPH_CASE_FAILED, "element 1 is true, but false was expected"},
};

static void write_values(const char *name, tc_dtype t, uint64_t bits) {
    uint64_t data[2] = {0};
    tc_graph_tensor v = tc_graph_tensor_view(t, &(tc_graph_shape){1, {2}}, data);
    memcpy((char *)data + tc_dtype_bytes(t), &bits, (size_t)tc_dtype_bytes(t));
    assert_ok(tc_graph_pb_save(name, "", &v, err));
}

static void test_values(void **state) {
    (void)state;
    tc_fs_remove_tree(VALUES);
    assert_int_equal(mkdir(VALUES, 0777) | mkdir(VALUES "/test_data_set_0", 0777), 0);
    for (size_t i = 0; i < TC_LEN(value_rows); i++) {
        const values *r = &value_rows[i];
        tc_graph_writer *w = tc_graph_writer_new("values", 17);
        tc_graph_writer_input(w, "x", r->type, "2");
        tc_graph_writer_node(w, "Identity", "", "x", "y");
        tc_graph_writer_output(w, "y", r->type, "2");
        assert_ok(tc_graph_writer_save(w, VALUES "/model.onnx", err));
        tc_graph_writer_free(w);
        write_values(VALUES "/test_data_set_0/input_0.pb", r->type, r->given);
        write_values(VALUES "/test_data_set_0/output_0.pb", r->type, r->expected);
        for (int strict = 0; strict < 2; strict++) {
            tc_arena *a = tc_arena_new();
            tc_graph_case c = run(VALUES, strict ? 0 : -1, a);
            tc_graph_verdict want = strict ? r->strict : r->usual;
            if (c.verdict != want || (want == TC_GRAPH_CASE_FAILED && !strstr(c.why, r->why)))
                fail_msg("row %zu, %s: verdict %d, %s", i, strict ? "strict" : "default", (int)c.verdict, c.why);
            tc_arena_free(a);
        }
    }
    tc_fs_remove_tree(VALUES);
}

/* ---- inputs that become constants ---- */

/* x[k] as often as r says, and that as often as s says: their numbers have no largest value. */
static void write_tiles(void) {
    tc_graph_writer *w = tc_graph_writer_new("tiles", 17);
    const tc_graph_tensor operands[] = {F32(DIMS(2), 1, 2), I64(DIMS(1), 2), I64(DIMS(1), 3)};
    const tc_graph_tensor y = F32(DIMS(12), 1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2);
    tc_graph_writer_input(w, "x", TC_F32, "k");
    tc_graph_writer_input(w, "r", TC_I64, "n");
    tc_graph_writer_input(w, "s", TC_I64, "m");
    tc_graph_writer_node(w, "Tile", "", "x,r", "z");
    tc_graph_writer_node(w, "Tile", "", "z,s", "y");
    tc_graph_writer_output(w, "y", TC_F32, NULL);
    assert_ok(tc_graph_writer_save(w, VALUES "/model.onnx", err));
    tc_graph_writer_free(w);
    for (int i = 0; i < 3; i++) {
        char path[1024];
        snprintf(path, sizeof path, VALUES "/test_data_set_0/input_%d.pb", i);
        assert_ok(tc_graph_pb_save(path, (const char *[]){"x", "r", "s"}[i], &operands[i], err));
    }
    assert_ok(tc_graph_pb_save(VALUES "/test_data_set_0/output_0.pb", "y", &y, err));
}

typedef struct said {
    const char *shape, *fixed; /* options; NULL: none */
    const char *constants;     /* that are given then */
    const char *why;           /* NULL: the case passes */
} said;

/* Options may name inputs that are given as constants. */
static const said said_rows[] = {
    {NULL, NULL, "r,s", NULL},     {"n=1", NULL, "r,s", NULL},
    {"k=2..4", NULL, "r,s", NULL}, {"s=1", NULL, "r,s", NULL},
    {NULL, "r=2", "s", NULL},      {NULL, "s=3", "r", NULL},
    {"m=1", "r=2", "s", NULL},     {"q=1", NULL, "", "the model has no input or symbolic dimension of that name"},
};

static void test_constants(void **state) {
    (void)state;
    tc_target *t;
    assert_ok(tc_target_parse("native", &t, err));
    t->machine.cores = 1;
    tc_fs_remove_tree(VALUES);
    assert_int_equal(mkdir(VALUES, 0777) | mkdir(VALUES "/test_data_set_0", 0777), 0);
    write_tiles();
    for (size_t i = 0; i < TC_LEN(said_rows); i++) {
        const said *r = &said_rows[i];
        tc_arena *a = tc_arena_new();
        tc_graph_case_options o = {.target = t,
                                   .tolerance = {.rtol = -1, .atol = -1},
                                   .shapes = &r->shape,
                                   .nshapes = r->shape != NULL,
                                   .fixed = &r->fixed,
                                   .nfixed = r->fixed != NULL};
        tc_graph_case c = tc_graph_case_run(VALUES, &o, a);
        const char *constants = "";
        for (size_t k = 0; k < c.nconstants; k++)
            constants = tc_arena_printf(a, "%s%s%s", constants, k ? "," : "", c.constants[k]);
        if ((c.verdict == TC_GRAPH_CASE_PASSED) != !r->why || (r->why && !strstr(c.why, r->why)) ||
            strcmp(constants, r->constants) != 0)
            fail_msg("row %zu: %s, with the constants %s", i, c.why, constants);
        tc_arena_free(a);
    }
    tc_fs_remove_tree(VALUES);
    tc_target_free(t);
}

/* They are as large as the options say. */
static void test_sizes_of_constants(void **state) {
    (void)state;
    tc_graph *g;
    tc_graph_named r = {"r", I64(DIMS(2), 2, 2)};
    static const char *const shapes[] = {"n=1", "r=3", "r=2,1"};
    static const char *const why[] = {"--shape gives dimension 0 as 1, but its value has 2",
                                      "--shape gives dimension 0 as 3, but its value has 2", "--shape gives 2 dimensions"};
    for (size_t i = 0; i < TC_LEN(shapes); i++) {
        tc_graph_writer *w = tc_graph_writer_new("tiles", 17);
        tc_graph_binding b;
        tc_graph_writer_input(w, "x", TC_F32, "2,2");
        tc_graph_writer_input(w, "r", TC_I64, "n");
        tc_graph_writer_node(w, "Tile", "", "x,r", "y");
        tc_graph_writer_output(w, "y", TC_F32, NULL);
        assert_ok(tc_graph_binding_parse(shapes[i], &b, err));
        tc_graph_import_options o = {.shapes = &b, .nshapes = 1, .constants = &r, .nconstants = 1};
        assert_fails(TC_BAD_INPUT, import_model(w, SCRATCH("cases.onnx"), &o, &g, err), "input 'r'", why[i]);
        free((char *)(uintptr_t)b.name);
    }
}

static void count_case(void *user, const char *dir) {
    *(int *)user += strstr(dir, "/case") != NULL;
}

/* Folders that lead to themselves in nine ways: 9^6 paths. */
static void test_links(void **state) {
    (void)state;
    static const char folder[] = SCRATCH("links");
    int n = 0;
    tc_fs_remove_tree(folder);
    assert_int_equal(mkdir(folder, 0700), 0);
    assert_int_equal(mkdir(SCRATCH("links/deep"), 0700), 0);
    assert_int_equal(mkdir(SCRATCH("links/deep/case"), 0700), 0);
    assert_ok(tc_fs_write(SCRATCH("links/deep/case/model.onnx"), "", 0, err));
    for (int i = 0; i < 9; i++) {
        char link[1024];
        snprintf(link, sizeof link, "%s/deep/%d", folder, i);
        assert_int_equal(symlink("..", link), 0);
    }
    assert_true(tc_graph_cases_walk(folder, NULL, count_case, &n));
    assert_int_equal(n, 1);
    tc_fs_remove_tree(folder);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_lists), cmocka_unit_test(test_values),
                                       cmocka_unit_test(test_constants), cmocka_unit_test(test_sizes_of_constants),
                                       cmocka_unit_test(test_links)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
