/* How much a network's sizes count reaches its kernels: through sums, products and quotients of sizes, multiples, and each launch
 * of a kernel that several have in common. What depends on data alone is left. */
#include "graph/graph_test.h"
#include "graph/model/parts.h"
#include "graph/work/work.h"
#include "support/strbuf.h"
#include "support/system/fs.h"
#include "te/text.h"

static const char path[] = SCRATCH("weights.onnx"), file[] = SCRATCH("weights.txt");

static tc_graph_tensor numbers(tc_graph_shape shape) {
    tc_graph_tensor t;
    assert_ok(tc_graph_tensor_alloc(&t, TC_F32, &shape, err));
    for (int64_t i = 0; i < tc_graph_shape_count(&shape); i++)
        ((float *)t.data)[i] = (float)(i % 7) - 3;
    return t;
}

/* Ends the model. */
static void save(tc_graph_writer *w, const char *weights) {
    assert_ok(tc_graph_writer_save(w, path, err));
    tc_graph_writer_free(w);
    assert_ok(tc_fs_write(file, weights, strlen(weights), err));
}

static tc_status open_work(const char *const *shapes, size_t n, tc_graph_work **out, tc_error *err) {
    tc_graph_binding *b;
    TC_TRY(tc_graph_bindings_parse(shapes, n, &b, err));
    tc_graph_work_options o = {
        .model = path, .shapes = b, .nshapes = n, .passes = {.level = TC_GRAPH_OPT_DEFAULT}, .shape_weights = file};
    tc_status s = tc_graph_work_open(&o, out, err);
    tc_graph_bindings_free(b, n);
    return s;
}

/* "MatMul+Relu 17:0.5 300:2": what varies of it, and how much it counts. */
static void print(tc_strbuf *b, const tc_tune_task *t) {
    tc_sb_printf(b, "%.*s", (int)strcspn(t->name, " "), t->name);
    if (!t->sizes)
        tc_sb_add(b, " by the logarithm");
    for (int i = 0; t->sizes && i < t->sizes->n; i++) {
        for (int k = 0; k < t->workload->nsymbol; k++)
            tc_sb_printf(b, "%s%lld", k ? "x" : " ", (long long)t->sizes->data[i].sizes[k]);
        tc_sb_printf(b, ":%g", t->sizes->data[i].weight);
    }
    tc_sb_add(b, "\n");
}

static void check(const char *const *shapes, size_t n, const char *want) {
    tc_graph_work *w;
    const tc_tune_task *tasks;
    tc_strbuf b = {0};
    assert_ok(open_work(shapes, n, &w, err));
    int ntask = tc_graph_work_tasks(w, &tasks);
    for (int i = 0; i < ntask; i++)
        if (!tasks[i].ninstead && tasks[i].workload->nsymbol)
            print(&b, &tasks[i]);
    if (strcmp(tc_sb_str(&b), want) != 0)
        fail_msg("expected\n%sbut there is\n%s", want, tc_sb_str(&b));
    tc_strbuf_free(&b);
    tc_graph_work_free(w);
}

/* y = softmax(p behind x), z = x W: one kernel has both sizes, one a single one. */
static void sums_are_of_both(void **state) {
    (void)state;
    tc_graph_writer *w = tc_graph_writer_new("sums", 17);
    tc_graph_writer_input(w, "x", TC_F32, "rows,24");
    tc_graph_writer_input(w, "p", TC_F32, "past,24");
    tc_graph_writer_input(w, "t", TC_F32, "total,40");
    tc_graph_writer_weight(w, "w", numbers((tc_graph_shape){2, {24, 40}}));
    tc_graph_writer_node(w, "Concat", "both", "p,x", "h");
    tc_graph_writer_int(w, "axis", 0);
    tc_graph_writer_node(w, "MatMul", "product", "h,w", "m");
    tc_graph_writer_node(w, "Add", "sum", "m,t", "y");
    tc_graph_writer_node(w, "MatMul", "of_x", "x,w", "z");
    tc_graph_writer_output(w, "y", TC_F32, NULL);
    tc_graph_writer_output(w, "z", TC_F32, NULL);
    save(w, "past=7 rows=3 2\nrows=1 past=0 total=1 0.5\n");
    check((const char *const[]){"rows=1..4", "past=0..9"}, 2,
          "Appended 7x3:2 0x1:0.5\nMatMul+Add 3x7:2 1x0:0.5\nMatMul 3:2 1:0.5\n");
}

/* Rows of two sizes as one, of which one comes in fours; pairs of columns; one column more. */
static void products_quotients_and_constants(void **state) {
    (void)state;
    static const int64_t rows[] = {-1, 6}, pads[] = {0, 0, 0, 0, 0, 1};
    tc_graph_writer *w = tc_graph_writer_new("products", 17);
    tc_graph_writer_input(w, "x", TC_F32, "batch,sequence,6");
    tc_graph_writer_input(w, "u", TC_F32, "batch,6,columns");
    tc_graph_writer_weight(w, "w", numbers((tc_graph_shape){2, {6, 40}}));
    tc_graph_writer_weight(w, "rows", i64_tensor((tc_graph_shape){1, {2}}, rows));
    tc_graph_writer_weight(w, "pads", i64_tensor((tc_graph_shape){1, {6}}, pads));
    tc_graph_writer_node(w, "Reshape", "flat", "x,rows", "f");
    tc_graph_writer_node(w, "MatMul", "product", "f,w", "y");
    tc_graph_writer_node(w, "MaxPool", "pairs", "u", "p");
    tc_graph_writer_ints(w, "kernel_shape", "2");
    tc_graph_writer_ints(w, "strides", "2");
    tc_graph_writer_node(w, "Softmax", "of_pairs", "p", "z");
    tc_graph_writer_int(w, "axis", 1);
    tc_graph_writer_node(w, "Pad", "more", "u,pads", "m");
    tc_graph_writer_node(w, "Softmax", "of_more", "m", "v");
    tc_graph_writer_int(w, "axis", 1);
    tc_graph_writer_output(w, "y", TC_F32, NULL);
    tc_graph_writer_output(w, "z", TC_F32, NULL);
    tc_graph_writer_output(w, "v", TC_F32, NULL);
    save(w, "batch=3 sequence=8 columns=9 1\nbatch=1 sequence=20 columns=4 4\n");
    check((const char *const[]){"batch=1..3", "sequence=4..20:4", "columns=2..9"}, 3,
          "Input 3x9:1 1x4:4\nMatMul 3x8:1 1x20:4\nMaxPool 3x4x9:1 1x2x4:4\nSoftmax 3x4:1 1x2:4\n"
          "Gather+Where+Softmax 3x10:1 1x5:4\n");
}

/* Two launches of one kernel count for themselves. */
static void launches_of_one_kernel_add_up(void **state) {
    (void)state;
    tc_graph_writer *w = tc_graph_writer_new("launches", 17);
    tc_graph_writer_input(w, "x", TC_F32, "n,16");
    tc_graph_writer_input(w, "u", TC_F32, "m,16");
    tc_graph_writer_input(w, "v", TC_F32, "n,16");
    tc_graph_writer_node(w, "Softmax", "first", "x", "y");
    tc_graph_writer_node(w, "Softmax", "second", "u", "z");
    tc_graph_writer_node(w, "Softmax", "third", "v", "r");
    tc_graph_writer_output(w, "y", TC_F32, NULL);
    tc_graph_writer_output(w, "z", TC_F32, NULL);
    tc_graph_writer_output(w, "r", TC_F32, NULL);
    save(w, "n=3 m=9 0.5\nn=4 m=9 1\n");
    check((const char *const[]){"n=1..9", "m=1..9"}, 2, "Softmax 3:1 9:0.5 4:2 9:1\n");
}

/* Of NonZero's results there is no more to say than how many there can be. */
static void data_say_their_own_sizes(void **state) {
    (void)state;
    tc_graph_writer *w = tc_graph_writer_new("data", 17);
    tc_graph_writer_input(w, "x", TC_F32, "n,16");
    tc_graph_writer_node(w, "NonZero", "found", "x", "i");
    tc_graph_writer_node(w, "Neg", "less", "i", "y");
    tc_graph_writer_node(w, "Softmax", "all", "x", "z");
    tc_graph_writer_output(w, "y", TC_I64, NULL);
    tc_graph_writer_output(w, "z", TC_F32, NULL);
    save(w, "n=3 1\n");
    check((const char *const[]){"n=1..9"}, 1, "Masked 3:1\nNeg by the logarithm\nSoftmax 3:1\n");
}

static void refuse(const char *weights, const char *says) {
    static const char *const shapes[] = {"n=2..8:2", "m=1..9"};
    tc_graph_work *work;
    assert_ok(tc_fs_write(file, weights, strlen(weights), err));
    assert_fails(TC_BAD_INPUT, open_work(shapes, 2, &work, err), file, says);
    assert_null(work);
}

static void lines_that_fit_no_run_are_refused(void **state) {
    (void)state;
    tc_graph_writer *w = tc_graph_writer_new("refused", 17);
    tc_graph_writer_input(w, "x", TC_F32, "n,16");
    tc_graph_writer_input(w, "p", TC_F32, "m,16");
    tc_graph_writer_input(w, "t", TC_F32, "both,16");
    tc_graph_writer_node(w, "Concat", "joined", "x,p", "h");
    tc_graph_writer_int(w, "axis", 0);
    tc_graph_writer_node(w, "Add", "sum", "h,t", "y");
    tc_graph_writer_output(w, "y", TC_F32, NULL);
    save(w, "");
    refuse("", "has no sizes");
    refuse("n=2 m=3 1\nn=2 k=3 1\n", ":2: nothing has a size k that varies; there are n, m and both");
    refuse("n=2 1\n", ":1: does not say the size of m");
    refuse("n=10 m=1 1\n", ":1: size 'n' is 10, but 'n' was given as 2..8");
    refuse("n=3 m=1 1\n", ":1: size 'n' is 3, but 'n' was given as 2..8 in steps");
    refuse("n=2 m=3 both=6 1\n", ":1: size 'both' is 6, but 'both' must be ");
    refuse("n=2 m=3 -1\n", ":1: the weight is -1");
}

static void sizes_that_are_fixed_have_no_weights(void **state) {
    (void)state;
    tc_graph_work *work;
    tc_graph_writer *w = tc_graph_writer_new("fixed", 17);
    tc_graph_writer_input(w, "x", TC_F32, "n,16");
    tc_graph_writer_node(w, "Relu", "positive", "x", "y");
    tc_graph_writer_output(w, "y", TC_F32, NULL);
    save(w, "n=4 1\n");
    assert_fails(TC_BAD_INPUT, open_work((const char *const[]){"n=4"}, 1, &work, err),
                 ":1: nothing has a size n that varies; all sizes are fixed");
}

/* ---- what is built ---- */

/* A contest's record of the only kernel of w. */
static void put(tc_meas_db *db, const tc_workload *w, const char *trace, int64_t size, double seconds) {
    tc_arena *a = tc_arena_new();
    tc_record r = tc_meas_record_empty();
    tc_meas_record_identify(a, &r, tc_te_text(a, w), tc_te_hash(w), "native", trace);
    r.median = seconds;
    r.times = &seconds;
    r.ntimes = 1;
    r.verified = true;
    r.threads = 1;
    r.when_ms = 1;
    r.program = strlen(trace);
    r.sizes = tc_meas_sizes_text(a, &size, 1);
    assert_ok(tc_meas_db_insert(db, &r, 1, err));
    tc_arena_free(a);
}

static int variants_of(const tc_graph_build_options *o) {
    tc_graph_work *w;
    tc_graph_program *p;
    tc_graph_choice c;
    tc_graph_build_options with = *o;
    tc_arena *a = tc_arena_new();
    assert_ok(open_work((const char *const[]){"n=2..64:2"}, 1, &w, err));
    assert_ok(tc_graph_work_program(w, o, NULL, &p, err));
    assert_ok(tc_graph_variants_of(p, 0, &with, a, &c, err));
    with.weights = tc_graph_work_weights(w);
    int without = c.n;
    assert_ok(tc_graph_variants_of(p, 0, &with, a, &c, err));
    assert_int_equal(without, 2);
    tc_graph_work_free(w);
    tc_arena_free(a);
    return c.n;
}

/* Of two programs, one for small and one for large sizes, a build takes both, unless the sizes of one hardly ever come. */
static void a_build_goes_by_the_weights(void **state) {
    (void)state;
    static const char *const trace[] = {"i0_0, i0_1 = split t0.i0 [_, 2]\n", "i0_0, i0_1 = split t0.i0 [_, 8]\n"};
    static const char db_path[] = SCRATCH("weights.db");
    tc_target t = {.text = (char *)(uintptr_t) "native", .machine.cores = 1};
    tc_graph_build_options o = {.target = &t, .threads = 1};
    const tc_tune_task *tasks;
    tc_graph_work *work;
    tc_graph_writer *w = tc_graph_writer_new("built", 17);
    tc_graph_writer_input(w, "x", TC_F32, "n,16");
    tc_graph_writer_node(w, "Relu", "positive", "x", "y");
    tc_graph_writer_output(w, "y", TC_F32, NULL);
    save(w, "n=2 1\n");
    remove(db_path);
    assert_ok(tc_meas_db_open(db_path, TC_MEAS_DB_WRITE, &o.db, err));
    assert_ok(open_work((const char *const[]){"n=2..64:2"}, 1, &work, err));
    assert_int_equal(tc_graph_work_tasks(work, &tasks), 1);
    for (int i = 0; i < 2; i++)
        for (int64_t size = 2; size <= 64; size *= 32)
            put(o.db, tasks[0].workload, trace[i], size, (i == 0) == (size == 2) ? 1e-6 : 1.1e-6);
    tc_graph_work_free(work);
    assert_int_equal(variants_of(&o), 1);
    assert_ok(tc_fs_write(file, "n=2 1\nn=64 1\n", 13, err));
    assert_int_equal(variants_of(&o), 2);
    tc_meas_db_close(o.db);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_are_of_both),
        cmocka_unit_test(products_quotients_and_constants),
        cmocka_unit_test(launches_of_one_kernel_add_up),
        cmocka_unit_test(data_say_their_own_sizes),
        cmocka_unit_test(lines_that_fit_no_run_are_refused),
        cmocka_unit_test(sizes_that_are_fixed_have_no_weights),
        cmocka_unit_test(a_build_goes_by_the_weights),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
