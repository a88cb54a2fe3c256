/* Reductions over dimensions that vary end at the size of a run. */
#include "graph/graph_test.h"
#include "graph/work/work.h"

static const char path[] = SCRATCH("ends.onnx");

enum { MOST = 48 };

typedef struct reducing {
    const char *op, *a, *b; /* b: the shape of a second operand; NULL: there is none */
    tc_dtype t;
    int axis, trans_a; /* -1: the operator has no such attribute */
} reducing;

static const reducing rows[] = {
    {"ReduceL1", "n,5", NULL, TC_F32, -1, -1},     {"ReduceL2", "n,5", NULL, TC_F32, -1, -1},
    {"ReduceLogSum", "n,5", NULL, TC_F32, -1, -1}, {"ReduceLogSumExp", "n,5", NULL, TC_F32, -1, -1},
    {"ReduceMax", "n,5", NULL, TC_F32, -1, -1},    {"ReduceMax", "n,5", NULL, TC_I8, -1, -1},
    {"ReduceMean", "n,5", NULL, TC_F16, -1, -1},   {"ReduceMin", "n,5", NULL, TC_I64, -1, -1},
    {"ReduceMin", "n,5", NULL, TC_U8, -1, -1},     {"ReduceProd", "n,5", NULL, TC_F64, -1, -1},
    {"ReduceSum", "5,n", NULL, TC_I32, -1, -1},    {"ReduceSumSquare", "5,n", NULL, TC_F32, -1, -1},
    {"ArgMax", "n,5", NULL, TC_F32, 0, -1},        {"ArgMin", "5,n", NULL, TC_F16, 1, -1},
    {"Softmax", "n,5", NULL, TC_F32, 0, -1},       {"LogSoftmax", "5,n", NULL, TC_F32, 1, -1},
    {"Hardmax", "5,n", NULL, TC_F32, 1, -1},       {"MatMul", "3,n", "n,4", TC_F32, -1, -1},
    {"MatMul", "2,3,n", "n,4", TC_I32, -1, -1},    {"Gemm", "n,3", "n,4", TC_F32, -1, 1},
    {"Gemm", "3,n", "n,4", TC_F16, -1, 0},
};

static void write_model(const reducing *r) {
    tc_graph_writer *w = tc_graph_writer_new("ends", 17);
    tc_graph_writer_input(w, "a", r->t, r->a);
    if (r->b)
        tc_graph_writer_input(w, "b", r->t, r->b);
    tc_graph_writer_node(w, r->op, "node", r->b ? "a,b" : "a", "y");
    if (r->axis >= 0)
        tc_graph_writer_int(w, "axis", r->axis);
    if (r->trans_a >= 0)
        tc_graph_writer_int(w, "transA", r->trans_a);
    tc_graph_writer_output(w, "y", strncmp(r->op, "Arg", 3) == 0 ? TC_I64 : r->t, NULL);
    assert_ok(tc_graph_writer_save(w, path, err));
    tc_graph_writer_free(w);
}

/* How many of the workload's reduction axes end at a symbol; fails for an axis that goes on to the largest size. */
static int ended_axes(const reducing *r, const tc_workload *w) {
    int n = 0;
    for (int i = 0; i < w->ncompute; i++)
        for (int k = 0; k < w->computes[i]->nraxis; k++) {
            const tc_axis *a = &w->computes[i]->raxes[k];
            n += a->symbol != NULL;
            if (!a->symbol && a->extent >= MOST)
                fail_msg("%s of %s: a reduction goes on to the largest size", r->op, tc_dtype_name(r->t));
        }
    return n;
}

static void test_reductions(void **state) {
    (void)state;
    for (size_t i = 0; i < TC_LEN(rows); i++) {
        const char *const shape = "n=1..48";
        tc_graph_binding *b;
        tc_graph_work *w;
        const tc_tune_task *tasks;
        int n = 0;
        write_model(&rows[i]);
        assert_ok(tc_graph_bindings_parse(&shape, 1, &b, err));
        tc_graph_work_options o = {.model = path, .shapes = b, .nshapes = 1, .passes = {.level = TC_GRAPH_OPT_DEFAULT}};
        assert_ok(tc_graph_work_open(&o, &w, err));
        for (int k = 0, ntask = tc_graph_work_tasks(w, &tasks); k < ntask; k++)
            n += ended_axes(&rows[i], tasks[k].workload);
        if (n == 0)
            fail_msg("%s of %s: there is no reduction that ends", rows[i].op, tc_dtype_name(rows[i].t));
        tc_graph_work_free(w);
        tc_graph_bindings_free(b, 1);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_reductions)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
