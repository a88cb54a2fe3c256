/* Models in ../shared/models, most of them PyTorch's exports: imported, folded down to what computes, and evaluated against ONNX Runtime's outputs.
 * Where that folder is missing these tests are skipped; test_zoo covers the same operators on our own models. */
#include "graph/graph_test.h"
#include "graph/io/numpy.h"
#include "graph/model/model.h"
#include "graph/onnx/import.h"
#include "graph/ops/ops.h"
#include "graph/ops/symbols.h"
#include "graph/passes/pass.h"
#include "support/system/fs.h"

#define MODELS TCTUNE_SOURCE_DIR "/../shared/models/"

static bool available(void) {
    static const char *const needed[] = {MODELS "bert_tiny.topology.onnx", MODELS "fill_weights.py", "/usr/bin/python3"};
    for (size_t i = 0; i < TC_LEN(needed); i++)
        if (!tc_fs_exists(needed[i])) {
            print_message("skipped: ../shared is not there (%s)\n", needed[i]);
            return false;
        }
    if (system("/usr/bin/python3 -c 'import onnx, numpy' 2>/dev/null") != 0) {
        print_message("skipped: python3-onnx and python3-numpy fill in the weights and are not installed\n");
        return false;
    }
    return true;
}

/* Fills the weights in, once for all tests of a build. */
static char *filled(const char *model) {
    tc_strbuf b = {0};
    tc_sb_printf(
        &b,
        "test -s %s/%s.onnx || { /usr/bin/python3 %s/fill_weights.py %s/%s.topology.onnx %s/%s.tmp && mv %s/%s.tmp %s/%s.onnx; }",
        TCTUNE_TEST_TMP, model, MODELS, MODELS, model, TCTUNE_TEST_TMP, model, TCTUNE_TEST_TMP, model, TCTUNE_TEST_TMP, model);
    assert_int_equal(system(tc_sb_str(&b)), 0);
    tc_sb_clear(&b);
    tc_sb_printf(&b, "%s/%s.onnx", TCTUNE_TEST_TMP, model);
    char *path = strdup(tc_sb_str(&b));
    tc_strbuf_free(&b);
    return path;
}

static const tc_graph_tensor *reference(const tc_graph_bundle *b, const char *kind, const char *name) {
    char key[256];
    snprintf(key, sizeof key, "%s.%s", kind, name);
    const tc_graph_tensor *t = tc_graph_bundle_find(b, key);
    assert_non_null(t);
    return t;
}

static void expect_reference(const tc_graph *g, const char *npz, double bound) {
    tc_graph_bundle b;
    tc_graph_tensor in[16], out[16];
    assert_ok(tc_graph_npz_load(npz, &b, err));
    for (size_t i = 0; i < g->inputs.len - g->symbols.len; i++)
        in[i] = *reference(&b, "in", g->inputs.data[i]->name);
    assert_ok(tc_graph_eval(g, in, out, err));
    for (size_t i = 0; i < g->outputs.len - g->nsizes; i++) {
        tc_graph_diff d;
        assert_ok(tc_graph_tensor_compare(&out[i], reference(&b, "out", g->outputs.data[i].name), 0, 0, &d, err));
        if (d.rel > bound)
            fail_msg("%s: error %g", g->outputs.data[i].name, d.rel);
        tc_graph_tensor_free(&out[i]);
    }
    tc_graph_bundle_free(&b);
}

static size_t count_ops(const tc_graph *g, tc_graph_op op) {
    size_t n = 0;
    for (size_t i = 0; i < g->nodes.len; i++)
        n += g->nodes.data[i]->op == op;
    return n;
}

static void expect_bert_tiny(const char *model, const tc_graph_import_options *opts) {
    char *path = filled(model), npz[512];
    tc_graph *g;
    assert_ok(tc_graph_import(path, opts, &g, err));
    assert_ok(tc_graph_verify(g, err));
    assert_int_equal(count_ops(g, TC_GRAPH_OP_MATMUL), 16);
    assert_int_equal(count_ops(g, TC_GRAPH_OP_GATHER), 2); /* positions and the pooled row are folded or sliced */
    assert_int_equal(count_ops(g, TC_GRAPH_OP_CONCAT), 0);
    assert_int_equal(g->nodes.len, 121);
    snprintf(npz, sizeof npz, MODELS "%s.reference.npz", model);
    expect_reference(g, npz, 1e-5);
    tc_graph_free(g);
    free(path);
}

static void test_bert_tiny(void **state) {
    (void)state;
    if (!available())
        skip();
    expect_bert_tiny("bert_tiny", NULL);
}

/* With its shapes given, the dynamic export is the same network as the static one. */
static void test_bert_tiny_dyn(void **state) {
    (void)state;
    if (!available())
        skip();
    tc_graph_binding dims[] = {FIXED("input_ids", 1, 128), FIXED("token_type_ids", 1, 128), FIXED("attention_mask", 1, 128)};
    expect_bert_tiny("bert_tiny_dyn", &(tc_graph_import_options){.shapes = dims, .nshapes = 3});
}

static void test_bert_base(void **state) {
    (void)state;
    if (!available() || !test_is_full()) /* its weights are 440 MB */
        skip();
    char *path = filled("bert_base_s128");
    tc_graph *g;
    assert_ok(tc_graph_import(path, NULL, &g, err));
    assert_ok(tc_graph_verify(g, err));
    assert_int_equal(count_ops(g, TC_GRAPH_OP_MATMUL), 96);
    assert_int_equal(g->nodes.len, 621);
    tc_graph_free(g);
    free(path);
}

/* One token after a past of 31, a prompt without a past, and two sequences of an export with symbols. */
static void test_decoders(void **state) {
    (void)state;
    static const struct {
        const char *model, *reference;
        int64_t batch, rows, past;
    } cases[] = {{"decoder_q4", "decoder_q4", 0, 0, 0},
                 {"decoder_q4_prompt", "decoder_q4_prompt", 0, 0, 0},
                 {"decoder_q4_dyn", "decoder_q4_dyn.b2_s1_p40", 2, 1, 40}};
    if (!available() || !tc_fs_exists(MODELS "decoder_q4.topology.onnx"))
        skip();
    for (size_t i = 0; i < TC_LEN(cases); i++) {
        char *path = filled(cases[i].model), npz[512];
        tc_graph_binding dims[] = {FIXED("batch", cases[i].batch), FIXED("sequence", cases[i].rows), FIXED("past", cases[i].past),
                                   FIXED("total", cases[i].past + cases[i].rows)};
        tc_graph *g;
        assert_ok(tc_graph_import(path, &(tc_graph_import_options){.shapes = dims, .nshapes = cases[i].batch ? TC_LEN(dims) : 0},
                                  &g, err));
        assert_ok(tc_graph_verify(g, err));
        assert_int_equal(count_ops(g, TC_GRAPH_OP_MS_MATMUL_NBITS), 13);
        snprintf(npz, sizeof npz, MODELS "%s.reference.npz", cases[i].reference);
        expect_reference(g, npz, 1e-5);
        tc_graph_free(g);
        free(path);
    }
}

/* One graph for all sizes of a range. */
static void test_sizes_that_vary(void **state) {
    (void)state;
    static const struct {
        const char *model;
        tc_graph_binding sizes[3];
        const char *references[4];
    } cases[] = {
        {"bert_tiny_dyn", {{"batch", 1, {{1, 1, 1}}}, {"sequence", 1, {{1, 136, 1}}}}, {"bert_tiny_dyn"}},
        {"gpt2_past_dyn",
         {{"batch", 1, {{1, 1, 1}}}, {"sequence", 1, {{1, 16, 1}}}, {"past", 1, {{0, 16, 1}}}},
         {"gpt2_past_dyn.b1_s16_p0", "gpt2_past_dyn.b1_s1_p16"}},
        {"decoder_q4_dyn",
         {{"batch", 1, {{1, 2, 1}}}, {"sequence", 1, {{1, 16, 1}}}, {"past", 1, {{0, 40, 1}}}},
         {"decoder_q4_dyn.b1_s16_p0", "decoder_q4_dyn.b1_s1_p31", "decoder_q4_dyn.b2_s1_p40"}},
    };
    if (!available() || !tc_fs_exists(MODELS "gpt2_past_dyn.topology.onnx"))
        skip();
    for (size_t i = 0; i < TC_LEN(cases); i++) {
        char *path = filled(cases[i].model), npz[512];
        tc_graph *g;
        size_t n = 0;
        while (n < TC_LEN(cases[i].sizes) && cases[i].sizes[n].name)
            n++;
        assert_ok(tc_graph_import(path, &(tc_graph_import_options){.shapes = cases[i].sizes, .nshapes = n}, &g, err));
        assert_ok(tc_graph_verify(g, err));
        for (size_t k = 0; k < TC_LEN(cases[i].references) && cases[i].references[k]; k++) {
            snprintf(npz, sizeof npz, MODELS "%s.reference.npz", cases[i].references[k]);
            expect_reference(g, npz, 1e-5);
        }
        tc_graph_free(g);
        free(path);
    }
}

static void expect_built_reference(tc_graph_model *m, const char *npz) {
    const tc_graph_port *ports;
    tc_graph_bundle b;
    tc_graph_tensor in[16], out[16];
    assert_ok(tc_graph_npz_load(npz, &b, err));
    for (int i = 0, n = tc_graph_model_inputs(m, &ports); i < n; i++)
        in[i] = *reference(&b, "in", ports[i].name);
    assert_ok(tc_graph_model_run(m, in, out, err));
    for (int i = 0, n = tc_graph_model_outputs(m, &ports); i < n; i++) {
        tc_graph_diff d;
        assert_ok(tc_graph_tensor_compare(&out[i], reference(&b, "out", ports[i].name), 0, 0, &d, err));
        if (d.rel > 1e-4)
            fail_msg("%s, %s: error %g", npz, ports[i].name, d.rel);
        tc_graph_tensor_free(&out[i]);
    }
    tc_graph_bundle_free(&b);
}

/* One program for all sizes of a range, given or assumed; without the dearest two where the test is not the full one. */
static void test_built_for_ranges(void **state) {
    (void)state;
    static const struct {
        const char *model;
        tc_graph_binding sizes[3];
        const char *references[4];
        bool full;
    } cases[] = {
        {"bert_tiny_dyn", {{"batch", 1, {{1, 2, 1}}}, {"sequence", 1, {{1, 200, 1}}}}, {"bert_tiny_dyn"}, false},
        {"gpt2_past_dyn",
         {{"batch", 1, {{1, 2, 1}}}, {"sequence", 1, {{1, 64, 1}}}, {"past", 1, {{0, 128, 1}}}},
         {"gpt2_past_dyn.b1_s16_p0", "gpt2_past_dyn.b1_s1_p16", "gpt2_past_dyn.b1_s64_p64", "gpt2_past_dyn.b2_s1_p100"},
         false},
        {"gpt2_past_dyn", {{NULL}}, {"gpt2_past_dyn.b1_s1_p16", "gpt2_past_dyn.b2_s1_p100"}, true},
        {"resnet18_dynb", {{"batch", 1, {{1, 4, 1}}}}, {"resnet18_dynb.b1", "resnet18_dynb.b3"}, true},
        {"decoder_q4_dyn", {{NULL}}, {"decoder_q4_dyn.b1_s16_p0", "decoder_q4_dyn.b2_s1_p40"}, false},
    };
    if (!available() || !tc_fs_exists(MODELS "gpt2_past_dyn.topology.onnx"))
        skip();
    tc_target *t;
    assert_ok(tc_target_parse("native", &t, err));
    for (size_t i = 0; i < TC_LEN(cases); i++) {
        if (cases[i].full && !test_is_full())
            continue;
        char *path = filled(cases[i].model), npz[512];
        tc_graph *g;
        tc_graph_program *p;
        tc_graph_model *m;
        size_t n = 0;
        while (n < TC_LEN(cases[i].sizes) && cases[i].sizes[n].name)
            n++;
        assert_ok(tc_graph_import(path, &(tc_graph_import_options){.shapes = cases[i].sizes, .nshapes = n}, &g, err));
        assert_ok(tc_graph_passes(g, NULL, err));
        assert_ok(tc_graph_program_new(g, &p, err));
        assert_ok(tc_graph_model_build(p, &(tc_graph_build_options){.target = t, .threads = 2}, &m, err));
        for (size_t k = 0; k < TC_LEN(cases[i].references) && cases[i].references[k]; k++) {
            snprintf(npz, sizeof npz, MODELS "%s.reference.npz", cases[i].references[k]);
            expect_built_reference(m, npz);
        }
        tc_graph_model_free(m);
        tc_graph_program_free(p);
        tc_graph_free(g);
        free(path);
    }
    tc_target_free(t);
}

/* Of the tagger, at sizes other than those that it was exported with: as the graph of exactly these gives. */
static void expect_like_exact(tc_graph_model *m, const char *path, const tc_graph_binding *sizes) {
    static int64_t ids[3 * 64];
    tc_graph_shape shape = {2, {sizes[0].d[0].least, sizes[1].d[0].least}};
    tc_graph_tensor in = tc_graph_tensor_view(TC_I64, &shape, ids), want, got;
    tc_graph *exact;
    tc_graph_diff d;
    for (size_t i = 0; i < TC_LEN(ids); i++)
        ids[i] = (int64_t)(i * 37 % 5000);
    assert_ok(tc_graph_import(path, &(tc_graph_import_options){.shapes = sizes, .nshapes = 2}, &exact, err));
    assert_ok(tc_graph_eval(exact, &in, &want, err));
    assert_ok(tc_graph_model_run(m, &in, &got, err));
    assert_true(tc_graph_shape_equal(&got.shape, &want.shape));
    assert_ok(tc_graph_tensor_compare(&got, &want, 0, 0, &d, err));
    assert_true(d.rel < 1e-4);
    tc_graph_tensor_free(&got);
    tc_graph_tensor_free(&want);
    tc_graph_free(exact);
}

/* A tagger of sentences, both of whose sizes become symbols, so that its steps are trips: with ONNX Runtime's output at the sizes that it was
 * exported with, and at others. */
static void test_tagger_that_varies(void **state) {
    (void)state;
    static const int64_t at[][2] = {{1, 1}, {2, 7}, {3, 33}, {3, 64}};
    if (!available() || !tc_fs_exists(MODELS "lstm_tagger.topology.onnx"))
        skip();
    char *fixed = filled("lstm_tagger");
    const char *path = SCRATCH("lstm_tagger_dyn.onnx"), *npz = MODELS "lstm_tagger.reference.npz";
    tc_arena *a = tc_arena_new();
    varied v;
    tc_graph *g;
    tc_target *t;
    tc_graph_program *p;
    tc_graph_model *m;
    vary_model(fixed, path, VARY_ALL, NULL, 0, a, &v);
    assert_int_equal(v.nsymbol, 2);
    tc_graph_binding sizes[] = {symbol_range(a, 0, 1, 3), symbol_range(a, 1, 1, 64)};
    assert_ok(tc_target_parse("native", &t, err));
    assert_ok(tc_graph_import(path, &(tc_graph_import_options){.shapes = sizes, .nshapes = 2}, &g, err));
    expect_reference(g, npz, 1e-5);
    assert_ok(tc_graph_passes(g, NULL, err));
    assert_ok(tc_graph_program_new(g, &p, err));
    assert_ok(tc_graph_model_build(p, &(tc_graph_build_options){.target = t, .threads = 2}, &m, err));
    expect_built_reference(m, npz);
    for (size_t i = 0; i < TC_LEN(at); i++) {
        tc_graph_binding exact[] = {symbol_range(a, 0, at[i][0], at[i][0]), symbol_range(a, 1, at[i][1], at[i][1])};
        expect_like_exact(m, path, exact);
    }
    remove(path);
    tc_graph_model_free(m);
    tc_graph_program_free(p);
    tc_graph_free(g);
    tc_target_free(t);
    tc_arena_free(a);
    free(fixed);
}

/* ---- a cache in place ---- */

enum { KEPT = 8, OUTPUTS = 1 + KEPT, PROMPT = 16, LONGEST = 40 };

/* The same model twice: one copies what it kept, the other keeps it in buffers. */
typedef struct decoding {
    tc_graph *g[2];
    tc_graph_program *p[2];
    tc_graph_model *m[2];
    tc_graph_bundle prompt;
    tc_graph_tensor kept[OUTPUTS], buffer[OUTPUTS];
} decoding;

static void open_decoding(const char *path, const tc_target *t, decoding *d) {
    static const tc_graph_binding sizes[] = {
        {"batch", 1, {{1, 1, 1}}}, {"sequence", 1, {{1, 64, 1}}}, {"past", 1, {{0, 192, 1}}}};
    const tc_graph_port *ports;
    for (int k = 0; k < 2; k++) {
        assert_ok(tc_graph_import(path, &(tc_graph_import_options){.shapes = sizes, .nshapes = TC_LEN(sizes)}, &d->g[k], err));
        if (k == 1)
            assert_ok(tc_graph_grow_in_place(d->g[k], err));
        assert_ok(tc_graph_passes(d->g[k], NULL, err));
        assert_ok(tc_graph_program_new(d->g[k], &d->p[k], err));
        assert_ok(tc_graph_model_build(d->p[k], &(tc_graph_build_options){.target = t, .threads = 2}, &d->m[k], err));
    }
    assert_int_equal(tc_graph_model_outputs(d->m[1], &ports), OUTPUTS);
    for (int i = 0; i < OUTPUTS; i++) {
        d->buffer[i] = tc_graph_tensor_view(TC_F32, &ports[i].shape, NULL);
        assert_non_null(d->buffer[i].data = aligned_alloc(64, tc_graph_tensor_bytes(&d->buffer[i])));
    }
    assert_ok(tc_graph_npz_load(MODELS "gpt2_past_dyn.b1_s16_p0.reference.npz", &d->prompt, err));
}

static void close_decoding(decoding *d) {
    for (int i = 0; i < OUTPUTS; i++) {
        tc_graph_tensor_free(&d->kept[i]);
        free(d->buffer[i].data);
    }
    for (int k = 0; k < 2; k++) {
        tc_graph_model_free(d->m[k]);
        tc_graph_program_free(d->p[k]);
        tc_graph_free(d->g[k]);
    }
    tc_graph_bundle_free(&d->prompt);
}

/* The prompt is compared with the reference, tokens after it with the model that copies. */
static void decode(decoding *d, int64_t past, int64_t *ids) {
    tc_graph_tensor in[OUTPUTS], out[OUTPUTS];
    tc_graph_diff diff;
    in[0] = tc_graph_tensor_view(TC_I64, &(tc_graph_shape){2, {1, past ? 1 : PROMPT}}, ids);
    for (int i = 1; i < OUTPUTS; i++)
        in[i] = tc_graph_tensor_view(TC_F32, &(tc_graph_shape){4, {1, 4, past, 64}}, past ? d->kept[i].data : d->buffer[i].data);
    assert_ok(tc_graph_model_run(d->m[0], in, out, err));
    for (int i = 1; i < OUTPUTS; i++)
        in[i].data = d->buffer[i].data;
    assert_ok(tc_graph_model_run_into(d->m[1], in, d->buffer, err));
    tc_graph_tensor logits = tc_graph_tensor_view(TC_F32, tc_graph_model_output_shape(d->m[1], 0), d->buffer[0].data);
    const tc_graph_tensor *want = past ? &out[0] : reference(&d->prompt, "out", "logits");
    assert_ok(tc_graph_tensor_compare(&logits, want, 0, 0, &diff, err));
    if (diff.rel > 1e-5)
        fail_msg("after %d tokens: error %g", (int)past, diff.rel);
    for (int i = 0; i < OUTPUTS; i++) {
        tc_graph_tensor_free(&d->kept[i]);
        d->kept[i] = out[i];
    }
}

/* A prompt, then token after token. */
static void test_decodes_in_place(void **state) {
    (void)state;
    if (!available() || !tc_fs_exists(MODELS "gpt2_past_dyn.topology.onnx"))
        skip();
    char *path = filled("gpt2_past_dyn");
    int64_t ids[PROMPT];
    decoding d = {0};
    tc_target *t;
    assert_ok(tc_target_parse("native", &t, err));
    open_decoding(path, t, &d);
    memcpy(ids, reference(&d.prompt, "in", "input_ids")->data, sizeof ids);
    for (int64_t past = 0; past < LONGEST; past += past ? 1 : PROMPT) {
        ids[0] = past ? 37 * past % 1000 : ids[0];
        decode(&d, past, ids);
    }
    close_decoding(&d);
    tc_target_free(t);
    free(path);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bert_tiny),        cmocka_unit_test(test_bert_tiny_dyn),
        cmocka_unit_test(test_bert_base),        cmocka_unit_test(test_decoders),
        cmocka_unit_test(test_sizes_that_vary),  cmocka_unit_test(test_built_for_ranges),
        cmocka_unit_test(test_decodes_in_place), cmocka_unit_test(test_tagger_that_varies),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
