/* A kernel whose variants are of several forms: tiles of two for few images and of four for many, with one copy of what was made
 * of the weights. In this process and from a library, at every size. */
#include <unistd.h>

#include "graph/graph_test.h"
#include "graph/model/parts.h"
#include "graph/saved/saved.h"
#include "graph/work/work.h"
#include "measure/records/admission.h"
#include "measure/worker/worker.h"
#include "te/text.h"

enum { CHANNELS = 16, SIDE = 12, MOST = 6 };
static const char path[] = SCRATCH("variants.onnx"), so[] = SCRATCH("variants.so");

static tc_graph_tensor numbers(tc_graph_shape shape) {
    tc_graph_tensor t;
    assert_ok(tc_graph_tensor_alloc(&t, TC_F32, &shape, err));
    for (int64_t i = 0; i < tc_graph_shape_count(&shape); i++)
        ((float *)t.data)[i] = (float)((i * 7 + i / 5) % 11) / 11 - 0.4F;
    return t;
}

static tc_graph_work *open_network(void) {
    tc_graph_binding *b;
    tc_graph_work *work;
    static const char *const shapes[] = {"n=1..6"};
    tc_graph_writer *w = tc_graph_writer_new("variants", 17);
    tc_graph_writer_input(w, "x", TC_F32, "n,16,12,12");
    tc_graph_writer_weight(w, "w", numbers((tc_graph_shape){4, {CHANNELS, CHANNELS, 3, 3}}));
    tc_graph_writer_node(w, "Conv", "convolution", "x,w", "c");
    tc_graph_writer_ints(w, "pads", "1,1,1,1");
    tc_graph_writer_node(w, "Relu", "positive", "c", "y");
    tc_graph_writer_output(w, "y", TC_F32, NULL);
    assert_ok(tc_graph_writer_save(w, path, err));
    tc_graph_writer_free(w);
    assert_ok(tc_graph_bindings_parse(shapes, 1, &b, err));
    tc_graph_work_options o = {.model = path, .shapes = b, .nshapes = 1, .passes = {.level = TC_GRAPH_OPT_DEFAULT}};
    assert_ok(tc_graph_work_open(&o, &work, err));
    tc_graph_bindings_free(b, 1);
    return work;
}

/* The task that has Winograd's forms. */
static const tc_workload *convolution(tc_graph_work *work) {
    const tc_tune_task *task;
    int n = tc_graph_work_tasks(work, &task);
    for (int i = 0; i < n; i++)
        if (strncmp(task[i].name, "Conv", 4) == 0)
            return task[i].workload;
    fail_msg("there is no convolution");
    return NULL;
}

/* A contest's record, right on this machine. */
static void put(tc_meas_db *db, const tc_target *t, const tc_workload *w, const char *name, int64_t size, double seconds) {
    tc_ctx *c = tc_ctx_new();
    tc_arena *a = tc_ctx_arena(c);
    tc_space_alternative_list l = tc_space_alternatives(c, tc_te_canonical(c, w), TC_ACCURACY_FAST);
    tc_record r = tc_meas_record_empty();
    int k = 0;
    while (strcmp(l.data[k].name, name) != 0)
        k++;
    const tc_workload *own = tc_te_canonical(c, l.data[k].workload);
    tc_meas_record_identify(a, &r, tc_te_text(a, own), tc_te_hash(own), t->text, "");
    r.median = seconds;
    r.times = &seconds;
    r.ntimes = 1;
    r.verified = true;
    r.threads = 1;
    r.when_ms = 1;
    r.program = (uint64_t)k + 1;
    r.sizes = tc_meas_sizes_text(a, &size, 1);
    assert_ok(tc_meas_db_insert_measured(db, &r, 1, err));
    tc_ctx_free(c);
}

static tc_graph_model *build(tc_graph_program *p, tc_target *t, tc_meas_db *db) {
    tc_graph_model *m;
    tc_graph_build_options o = {.target = t, .threads = 1, .db = db, .accuracy = db ? TC_ACCURACY_FAST : TC_ACCURACY_STRICT};
    assert_ok(tc_graph_model_build(p, &o, &m, err));
    return m;
}

static void compare(tc_graph_model *m, tc_graph_model *want) {
    for (int64_t n = 1; n <= MOST; n++) {
        tc_graph_tensor x = numbers((tc_graph_shape){4, {n, CHANNELS, SIDE, SIDE}}), y, z;
        tc_graph_diff d;
        assert_ok(tc_graph_model_run(m, &x, &y, err));
        assert_ok(tc_graph_model_run(want, &x, &z, err));
        assert_ok(tc_graph_tensor_compare(&y, &z, 0, 0, &d, err));
        if (!(d.rel <= 5e-4))
            fail_msg("%d images: error %g", (int)n, d.rel);
        tc_graph_tensor_free(&x);
        tc_graph_tensor_free(&y);
        tc_graph_tensor_free(&z);
    }
}

static const tc_graph_kernel *kernel_of(const tc_graph_model *m) {
    const tc_graph_kernel *k;
    int n = tc_graph_model_kernels(m, &k);
    for (int i = 0; i < n; i++)
        if (strncmp(k[i].name, "Conv", 4) == 0)
            return &k[i];
    fail_msg("there is no convolution");
    return NULL;
}

static void check(const char *few, const char *many, const char *form) {
    tc_target *t;
    tc_meas_db *db;
    tc_graph_program *p;
    tc_graph_build_options o = {.threads = 1};
    tc_graph_work *work = open_network();
    assert_ok(tc_target_parse("native", &t, err));
    t->machine.cores = 1;
    o.target = t;
    assert_ok(tc_meas_db_open_memory(&db, err));
    for (int64_t n = 1; n <= MOST; n += MOST - 1) {
        put(db, t, convolution(work), few, n, n == 1 ? 1e-6 : 2e-6);
        put(db, t, convolution(work), many, n, n == 1 ? 2e-6 : 1e-6);
    }
    assert_ok(tc_graph_work_program(work, &o, NULL, &p, err));
    tc_graph_model *plain = build(p, t, NULL), *m = build(p, t, db), *loaded;
    assert_string_equal(kernel_of(plain)->form, "direct");
    assert_int_equal(kernel_of(m)->variants, 2);
    assert_string_equal(kernel_of(m)->form, form);
    assert_int_equal(m->blob_bytes, 36 * CHANNELS * CHANNELS * 4); /* one copy, of the larger form */
    compare(m, plain);
    assert_ok(tc_graph_model_save(m, so, NULL, err));
    assert_ok(tc_graph_model_load(so, 1, &loaded, err));
    compare(loaded, plain);
    tc_graph_model_free(loaded);
    unlink(so);
    tc_graph_model_free(m);
    tc_graph_model_free(plain);
    tc_meas_db_close(db);
    tc_graph_work_free(work);
    tc_target_free(t);
}

static void variants_of_two_forms(void **state) {
    (void)state;
    check("winograd-f2-of-f4", "winograd-f4", "winograd-f2-of-f4, winograd-f4");
    check("winograd-f4", "winograd-f2-of-f4", "winograd-f4, winograd-f2-of-f4");
}

int main(int argc, char **argv) {
    if (argc > 1 && strcmp(argv[1], "worker") == 0)
        return tc_meas_worker_main(TC_MEAS_WORKER_FD, TC_MEAS_WORKER_FD);
    const struct CMUnitTest tests[] = {cmocka_unit_test(variants_of_two_forms)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
