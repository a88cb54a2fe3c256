/* Damaged models: whatever bytes are changed, import ends with a graph that verifies or with a message. Run it in the `dev`
 * preset to have the sanitizers look on. */
#include "graph/graph_test.h"
#include "graph/onnx/import.h"
#include "support/rng.h"
#include "support/system/fs.h"

static tc_graph_writer *victim(void) {
    tc_graph_writer *w = tc_graph_writer_new("victim", 17);
    tc_graph_writer_input(w, "x", TC_F32, "1,2,4,4");
    tc_graph_writer_output(w, "y", TC_F32, NULL);
    tc_graph_writer_weight(w, "k", F32(DIMS(2, 2, 1, 1), 1, 2, 3, 4));
    tc_graph_writer_weight(w, "shape", I64(DIMS(2), 2, -1));
    tc_graph_writer_weight(w, "starts", I64(DIMS(1), 1));
    tc_graph_writer_weight(w, "ends", I64(DIMS(1), 9));
    tc_graph_writer_weight(w, "axes", I64(DIMS(1), 1));
    tc_graph_writer_node(w, "Conv", "conv", "x,k", "c");
    tc_graph_writer_ints(w, "pads", "1,1,1,1");
    tc_graph_writer_node(w, "MaxPool", "pool", "c", "p");
    tc_graph_writer_ints(w, "kernel_shape", "2,2");
    tc_graph_writer_node(w, "Reshape", "reshape", "p,shape", "r");
    tc_graph_writer_node(w, "Slice", "slice", "r,starts,ends,axes", "s");
    tc_graph_writer_node(w, "Transpose", "transpose", "s", "t");
    tc_graph_writer_ints(w, "perm", "1,0");
    tc_graph_writer_node(w, "Shape", "count", "t", "n");
    tc_graph_writer_node(w, "ConstantOfShape", "fill", "n", "f");
    tc_graph_writer_node(w, "Concat", "concat", "t,f", "u");
    tc_graph_writer_int(w, "axis", 1);
    tc_graph_writer_node(w, "Softmax", "softmax", "u", "v");
    tc_graph_writer_node(w, "ReduceSum", "sum", "v,axes", "w");
    tc_graph_writer_node(w, "Split", "split", "w", "a,b");
    tc_graph_writer_node(w, "Gather", "gather", "a,starts", "g");
    tc_graph_writer_node(w, "Max", "max", "g,b,b", "y");
    return w;
}

/* A few changed bytes; sometimes the end is cut off. */
static size_t damage(char *data, size_t size, tc_rng *r) {
    for (int64_t n = 1 + tc_rng_below(r, 3); n > 0; n--) {
        size_t at = (size_t)tc_rng_below(r, (int64_t)size);
        switch (tc_rng_below(r, 4)) {
        case 0:
            data[at] = (char)tc_rng_next(r);
            break;
        case 1:
            data[at] = (char)tc_rng_below(r, 8);
            break;
        case 2:
            data[at] ^= (char)(1 << tc_rng_below(r, 8));
            break;
        default:
            data[at] = (char)0xff;
            break;
        }
    }
    return tc_rng_below(r, 8) ? size : 1 + (size_t)tc_rng_below(r, (int64_t)size);
}

static void test_damaged_models(void **state) {
    (void)state;
    enum { ROUNDS = 1500 };
    tc_graph_writer *w = victim();
    char *data;
    size_t size;
    int imported = 0;
    assert_ok(tc_graph_writer_save(w, SCRATCH("fuzz.onnx"), err));
    tc_graph_writer_free(w);
    assert_ok(tc_fs_read(SCRATCH("fuzz.onnx"), &data, &size, err));
    for (int i = 0; i < ROUNDS; i++) {
        tc_rng r = tc_rng_seed((uint64_t)i);
        char *copy = malloc(size);
        memcpy(copy, data, size);
        size_t cut = damage(copy, size, &r);
        FILE *f = fopen(SCRATCH("fuzz.onnx"), "wb");
        assert_int_equal(fwrite(copy, 1, cut, f), cut);
        fclose(f);
        free(copy);
        tc_graph *g = NULL;
        tc_error e = {0};
        if (tc_graph_import(SCRATCH("fuzz.onnx"), NULL, &g, &e) == TC_OK) {
            assert_ok(tc_graph_verify(g, err));
            imported++;
        } else if (!strstr(e.msg, "fuzz.onnx: ")) {
            fail_msg("seed %d: a message without the file: '%s'", i, e.msg);
        }
        tc_graph_free(g);
    }
    free(data);
    assert_true(imported > 0 && imported < ROUNDS);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_damaged_models)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
