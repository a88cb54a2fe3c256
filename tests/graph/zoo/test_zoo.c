/* The zoo's models import with the expected shapes, are the same each time, and their activations stay at a sane scale. */
#include <math.h>

#include "graph/graph_test.h"
#include "graph/onnx/import.h"
#include "graph/ops/ops.h"
#include "graph/zoo/zoo.h"
#include "support/hash.h"
#include "support/log.h"
#include "support/rng.h"
#include "support/system/fs.h"

static tc_graph *write_and_import(const char *name, const char *path) {
    tc_graph *g = NULL;
    assert_ok(tc_graph_zoo(name, path, err));
    assert_ok(tc_graph_import(path, NULL, &g, err));
    assert_ok(tc_graph_verify(g, err));
    remove(path);
    return g;
}

static void expect_type(const tc_graph_value *v, const char *want) {
    tc_arena *a = tc_arena_new();
    assert_string_equal(tc_graph_type_str(a, v->dtype, &v->shape), want);
    tc_arena_free(a);
}

/* Seeded inputs: token numbers, or normal pixels. */
static void fill_inputs(const tc_graph *g, tc_graph_tensor *in) {
    tc_rng r = tc_rng_seed(7);
    for (size_t i = 0; i < g->inputs.len; i++) {
        const tc_graph_value *v = g->inputs.data[i];
        assert_ok(tc_graph_tensor_alloc(&in[i], v->dtype, &v->shape, err));
        for (int64_t k = 0, n = tc_graph_tensor_count(&in[i]); k < n; k++)
            if (v->dtype == TC_I64)
                ((int64_t *)in[i].data)[k] = tc_rng_below(&r, strcmp(v->name, "input_ids") == 0 ? 30522 : 2);
            else
                ((float *)in[i].data)[k] = (float)tc_rng_normal(&r);
    }
}

/* Evaluates the model; every output is finite and its root mean square lies within [lo, hi]. */
static void expect_scale(const tc_graph *g, double lo, double hi) {
    tc_graph_tensor in[4], out[4];
    fill_inputs(g, in);
    assert_ok(tc_graph_eval(g, in, out, err));
    for (size_t i = 0; i < g->outputs.len; i++) {
        double sum = 0;
        int64_t n = tc_graph_tensor_count(&out[i]);
        for (int64_t k = 0; k < n; k++)
            sum += pow((double)((float *)out[i].data)[k], 2);
        double rms = sqrt(sum / (double)n);
        if (!(rms >= lo && rms <= hi))
            fail_msg("%s: root mean square %g", g->outputs.data[i].name, rms);
        tc_graph_tensor_free(&out[i]);
    }
    for (size_t i = 0; i < g->inputs.len; i++)
        tc_graph_tensor_free(&in[i]);
}

static void test_mlp(void **state) {
    (void)state;
    tc_graph *g = write_and_import("mlp", SCRATCH("zoo-mlp.onnx"));
    expect_type(g->outputs.data[0].value, "f32[1,10]");
    expect_scale(g, 0.1, 0.5);
    tc_graph_free(g);
}

static void test_bert_tiny(void **state) {
    (void)state;
    tc_graph *g = write_and_import("bert-tiny", SCRATCH("zoo-bert-tiny.onnx"));
    assert_int_equal(g->inputs.len, 3);
    expect_type(g->inputs.data[0], "i64[1,128]");
    expect_type(g->outputs.data[0].value, "f32[1,128,128]");
    expect_type(g->outputs.data[1].value, "f32[1,128]");
    expect_scale(g, 0.2, 2);
    tc_graph_free(g);
}

/* The function that writes it is that of bert-tiny. Its 440 MB of weights are drawn, written and read again in the full run
 * alone. */
static void test_bert_base(void **state) {
    (void)state;
    if (!test_is_full())
        skip();
    double start = tc_now();
    tc_graph *g = write_and_import("bert-base", SCRATCH("zoo-bert-base.onnx"));
    print_message("BERT-base written and imported in %.1f s\n", tc_now() - start);
    expect_type(g->outputs.data[0].value, "f32[1,128,768]");
    assert_int_equal(g->nodes.len, 621);
    tc_graph_free(g);
}

static void test_convolutional(void **state) {
    (void)state;
    tc_graph *g = write_and_import("mobilenet-v2", SCRATCH("zoo-mobilenet.onnx"));
    expect_type(g->outputs.data[0].value, "f32[1,1000]");
    expect_scale(g, 0.01, 100);
    tc_graph_free(g);
    g = write_and_import("cnn", SCRATCH("zoo-cnn.onnx"));
    expect_type(g->outputs.data[0].value, "f32[1,10]");
    expect_scale(g, 0.01, 100);
    tc_graph_free(g);
    g = write_and_import("resnet50", SCRATCH("zoo-resnet50.onnx"));
    expect_type(g->outputs.data[0].value, "f32[1,1000]");
    tc_graph_free(g);
}

static void test_same_each_time(void **state) {
    (void)state;
    tc_digest d[2];
    for (int i = 0; i < 2; i++) {
        char *data;
        size_t size;
        assert_ok(tc_graph_zoo("mlp", SCRATCH("zoo-same.onnx"), err));
        assert_ok(tc_fs_read(SCRATCH("zoo-same.onnx"), &data, &size, err));
        d[i] = tc_digest_of(data, size);
        free(data);
    }
    assert_string_equal(d[0].hex, d[1].hex);
}

static void test_refusals(void **state) {
    (void)state;
    assert_fails(TC_BAD_INPUT, tc_graph_zoo("gpt-5", SCRATCH("zoo-x.onnx"), err), "'gpt-5' is not in the zoo", "bert-base");
    assert_false(tc_fs_exists(SCRATCH("zoo-x.onnx")));
    assert_fails(TC_ENV, tc_graph_zoo("mlp", SCRATCH("no-folder/x.onnx"), err), "no-folder");
    for (const char *const *n = tc_graph_zoo_names(); *n; n++)
        assert_non_null(*n);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_mlp),           cmocka_unit_test(test_bert_tiny),      cmocka_unit_test(test_bert_base),
        cmocka_unit_test(test_convolutional), cmocka_unit_test(test_same_each_time), cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
