/* Whole networks: imported, folded down to what computes, evaluated and built, against outputs that others computed. Networks of
 * the project (tests/models) have NumPy's outputs. Those of ../shared/models, most of them PyTorch's exports, have ONNX
 * Runtime's; where that folder is not there, only the project's own are run. */
#include "graph/graph_test.h"
#include "graph/io/numpy.h"
#include "graph/model/model.h"
#include "graph/onnx/import.h"
#include "graph/ops/ops.h"
#include "graph/ops/symbols.h"
#include "graph/passes/pass.h"
#include "support/system/fs.h"

#define SHARED TCTUNE_SOURCE_DIR "/../shared/models/"

static char *printed(const char *format, ...) {
    va_list ap;
    tc_strbuf b = {0};
    va_start(ap, format);
    tc_sb_vprintf(&b, format, ap);
    va_end(ap);
    return b.data;
}

/* Are there any? Those of the project always are. */
static bool is_there(bool shared) {
    return !shared || tc_fs_exists(SHARED "fill_weights.py");
}

/* Its file; free it. Weights of ../shared are filled in, once for all tests of a build. */
static char *file_of(const char *model, bool shared) {
    if (!shared)
        return printed(TCTUNE_TEST_NETWORKS "/%s.onnx", model);
    char *path = printed(TCTUNE_TEST_TMP "/%s.onnx", model);
    char *fill =
        printed("test -s %s || { /usr/bin/python3 " SHARED "fill_weights.py " SHARED "%s.topology.onnx %s.tmp && mv %s.tmp %s; }",
                path, model, path, path, path);
    assert_int_equal(system(fill), 0);
    free(fill);
    return path;
}

static char *reference_of(const char *name, bool shared) {
    return shared ? printed(SHARED "%s.reference.npz", name) : printed(TCTUNE_TEST_NETWORKS "/%s.npz", name);
}

static const tc_graph_tensor *reference(const tc_graph_bundle *b, const char *kind, const char *name) {
    char key[256];
    snprintf(key, sizeof key, "%s.%s", kind, name);
    const tc_graph_tensor *t = tc_graph_bundle_find(b, key);
    assert_non_null(t);
    return t;
}

static void load_reference(const char *name, bool shared, tc_graph_bundle *out) {
    char *npz = reference_of(name, shared);
    assert_ok(tc_graph_npz_load(npz, out, err));
    free(npz);
}

static void expect_reference(const tc_graph *g, const char *name, bool shared, double bound) {
    tc_graph_bundle b;
    tc_graph_tensor in[16], out[16];
    load_reference(name, shared, &b);
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

/* With its sizes given, an export with symbols is the same network as one without. */
static void test_encoders(void **state) {
    (void)state;
    static const struct {
        const char *model, *reference;
        bool shared;
        int64_t sequence; /* 0: the model says */
        size_t matmuls, nodes;
    } cases[] = {{"bert", "bert.b1_s16", false, 16, 16, 123},
                 {"bert_tiny", "bert_tiny", true, 0, 16, 121},
                 {"bert_tiny_dyn", "bert_tiny_dyn", true, 128, 16, 121}};
    for (size_t i = 0; i < TC_LEN(cases); i++) {
        if (!is_there(cases[i].shared))
            continue;
        char *path = file_of(cases[i].model, cases[i].shared);
        int64_t n = cases[i].sequence;
        tc_graph_binding dims[] = {FIXED("input_ids", 1, n), FIXED("token_type_ids", 1, n), FIXED("attention_mask", 1, n)};
        tc_graph *g;
        assert_ok(tc_graph_import(path, &(tc_graph_import_options){.shapes = dims, .nshapes = n ? TC_LEN(dims) : 0}, &g, err));
        assert_ok(tc_graph_verify(g, err));
        assert_int_equal(count_ops(g, TC_GRAPH_OP_MATMUL), cases[i].matmuls);
        assert_int_equal(count_ops(g, TC_GRAPH_OP_GATHER), 2); /* positions and the pooled row are folded or sliced */
        assert_int_equal(count_ops(g, TC_GRAPH_OP_CONCAT), 0);
        assert_int_equal(g->nodes.len, cases[i].nodes);
        expect_reference(g, cases[i].reference, cases[i].shared, 1e-5);
        tc_graph_free(g);
        free(path);
    }
}

/* The full size, whose weights are 440 MB, in the full test. */
static void test_large_encoder(void **state) {
    (void)state;
    if (!is_there(true) || !test_is_full())
        return;
    char *path = file_of("bert_base_s128", true);
    tc_graph *g;
    assert_ok(tc_graph_import(path, NULL, &g, err));
    assert_ok(tc_graph_verify(g, err));
    assert_int_equal(count_ops(g, TC_GRAPH_OP_MATMUL), 96);
    assert_int_equal(g->nodes.len, 621);
    tc_graph_free(g);
    free(path);
}

/* One token after a past, a prompt without a past, and two sequences of an export with symbols. */
static void test_decoders(void **state) {
    (void)state;
    static const struct {
        const char *model, *reference;
        bool shared;
        int64_t batch, rows, past; /* batch 0: the model says */
        size_t matmuls;
    } cases[] = {{"decoder_q4", "decoder_q4.b1_s1_p31", false, 1, 1, 31, 8},
                 {"decoder_q4", "decoder_q4.b1_s16_p0", false, 1, 16, 0, 8},
                 {"decoder_q4", "decoder_q4.b2_s1_p40", false, 2, 1, 40, 8},
                 {"decoder_q4", "decoder_q4", true, 0, 0, 0, 13},
                 {"decoder_q4_prompt", "decoder_q4_prompt", true, 0, 0, 0, 13},
                 {"decoder_q4_dyn", "decoder_q4_dyn.b2_s1_p40", true, 2, 1, 40, 13}};
    for (size_t i = 0; i < TC_LEN(cases); i++) {
        if (!is_there(cases[i].shared))
            continue;
        char *path = file_of(cases[i].model, cases[i].shared);
        tc_graph_binding dims[] = {FIXED("batch", cases[i].batch), FIXED("sequence", cases[i].rows), FIXED("past", cases[i].past),
                                   FIXED("total", cases[i].past + cases[i].rows)};
        tc_graph *g;
        assert_ok(tc_graph_import(path, &(tc_graph_import_options){.shapes = dims, .nshapes = cases[i].batch ? TC_LEN(dims) : 0},
                                  &g, err));
        assert_ok(tc_graph_verify(g, err));
        assert_int_equal(count_ops(g, TC_GRAPH_OP_MATMUL_BLOCKS), cases[i].matmuls);
        expect_reference(g, cases[i].reference, cases[i].shared, 1e-5);
        tc_graph_free(g);
        free(path);
    }
}

/* What is done with a network whose sizes vary. */
enum { EVALUATED = 1, BUILT = 2 };

/* A network, some of whose sizes are given as ranges (the others are assumed), and sizes at which there are references. */
typedef struct ranged {
    const char *model;
    int how;
    bool shared, full; /* full: for the full test alone */
    tc_graph_binding sizes[3];
    const char *references[4];
} ranged;

static const ranged RANGED[] = {
    {"bert",
     EVALUATED | BUILT,
     false,
     false,
     {{"batch", 1, {{1, 2, 1}}}, {"sequence", 1, {{1, 48, 1}}}},
     {"bert.b1_s16", "bert.b2_s7", "bert.b2_s40"}},
    {"gpt",
     EVALUATED | BUILT,
     false,
     false,
     {{"batch", 1, {{1, 2, 1}}}, {"sequence", 1, {{1, 16, 1}}}, {"past", 1, {{0, 48, 1}}}},
     {"gpt.b1_s16_p0", "gpt.b1_s1_p16", "gpt.b1_s12_p12", "gpt.b2_s1_p40"}},
    {"gpt", BUILT, false, true, {{NULL}}, {"gpt.b1_s1_p16", "gpt.b2_s1_p40"}},
    {"decoder_q4",
     EVALUATED,
     false,
     false,
     {{"batch", 1, {{1, 2, 1}}}, {"sequence", 1, {{1, 16, 1}}}, {"past", 1, {{0, 40, 1}}}},
     {"decoder_q4.b1_s16_p0", "decoder_q4.b1_s1_p31", "decoder_q4.b2_s1_p40"}},
    {"decoder_q4", BUILT, false, false, {{NULL}}, {"decoder_q4.b1_s16_p0", "decoder_q4.b2_s1_p40"}},
    {"resnet", EVALUATED | BUILT, false, false, {{"batch", 1, {{1, 4, 1}}}}, {"resnet.b1", "resnet.b3"}},
    {"bert_tiny_dyn", EVALUATED, true, false, {{"batch", 1, {{1, 1, 1}}}, {"sequence", 1, {{1, 136, 1}}}}, {"bert_tiny_dyn"}},
    {"bert_tiny_dyn", BUILT, true, false, {{"batch", 1, {{1, 2, 1}}}, {"sequence", 1, {{1, 200, 1}}}}, {"bert_tiny_dyn"}},
    {"gpt2_past_dyn",
     EVALUATED,
     true,
     false,
     {{"batch", 1, {{1, 1, 1}}}, {"sequence", 1, {{1, 16, 1}}}, {"past", 1, {{0, 16, 1}}}},
     {"gpt2_past_dyn.b1_s16_p0", "gpt2_past_dyn.b1_s1_p16"}},
    {"gpt2_past_dyn",
     BUILT,
     true,
     true,
     {{"batch", 1, {{1, 2, 1}}}, {"sequence", 1, {{1, 64, 1}}}, {"past", 1, {{0, 128, 1}}}},
     {"gpt2_past_dyn.b1_s16_p0", "gpt2_past_dyn.b1_s1_p16", "gpt2_past_dyn.b1_s64_p64", "gpt2_past_dyn.b2_s1_p100"}},
    {"gpt2_past_dyn", BUILT, true, true, {{NULL}}, {"gpt2_past_dyn.b1_s1_p16", "gpt2_past_dyn.b2_s1_p100"}},
    {"resnet18_dynb", BUILT, true, true, {{"batch", 1, {{1, 4, 1}}}}, {"resnet18_dynb.b1", "resnet18_dynb.b3"}},
    {"decoder_q4_dyn",
     EVALUATED,
     true,
     false,
     {{"batch", 1, {{1, 2, 1}}}, {"sequence", 1, {{1, 16, 1}}}, {"past", 1, {{0, 40, 1}}}},
     {"decoder_q4_dyn.b1_s16_p0", "decoder_q4_dyn.b1_s1_p31", "decoder_q4_dyn.b2_s1_p40"}},
    {"decoder_q4_dyn", BUILT, true, false, {{NULL}}, {"decoder_q4_dyn.b1_s16_p0", "decoder_q4_dyn.b2_s1_p40"}},
};

static void expect_built_reference(tc_graph_model *m, const char *name, bool shared) {
    const tc_graph_port *ports;
    tc_graph_bundle b;
    tc_graph_tensor in[16], out[16];
    load_reference(name, shared, &b);
    for (int i = 0, n = tc_graph_model_inputs(m, &ports); i < n; i++)
        in[i] = *reference(&b, "in", ports[i].name);
    assert_ok(tc_graph_model_run(m, in, out, err));
    for (int i = 0, n = tc_graph_model_outputs(m, &ports); i < n; i++) {
        tc_graph_diff d;
        assert_ok(tc_graph_tensor_compare(&out[i], reference(&b, "out", ports[i].name), 0, 0, &d, err));
        if (d.rel > 1e-4)
            fail_msg("%s, %s: error %g", name, ports[i].name, d.rel);
        tc_graph_tensor_free(&out[i]);
    }
    tc_graph_bundle_free(&b);
}

/* A program, built. */
typedef struct made {
    tc_graph *g;
    tc_graph_program *p;
    tc_graph_model *m;
} made;

static made build(tc_graph *g) {
    made x = {.g = g};
    tc_target *t;
    assert_ok(tc_target_parse("native", &t, err));
    assert_ok(tc_graph_passes(g, NULL, err));
    assert_ok(tc_graph_program_new(g, &x.p, err));
    assert_ok(tc_graph_model_build(x.p, &(tc_graph_build_options){.target = t, .threads = 2}, &x.m, err));
    tc_target_free(t);
    return x;
}

static void free_made(made *x) {
    tc_graph_model_free(x->m);
    tc_graph_program_free(x->p);
    tc_graph_free(x->g);
}

/* At each size of the references; frees the graph. */
static void expect_evaluated(tc_graph *g, const ranged *r) {
    assert_ok(tc_graph_verify(g, err));
    for (size_t k = 0; k < TC_LEN(r->references) && r->references[k]; k++)
        expect_reference(g, r->references[k], r->shared, 1e-5);
    tc_graph_free(g);
}

static void expect_built(tc_graph *g, const ranged *r) {
    made x = build(g);
    for (size_t k = 0; k < TC_LEN(r->references) && r->references[k]; k++)
        expect_built_reference(x.m, r->references[k], r->shared);
    free_made(&x);
}

static void each_ranged(int how, void (*expect)(tc_graph *g, const ranged *r)) {
    for (size_t i = 0; i < TC_LEN(RANGED); i++) {
        const ranged *r = &RANGED[i];
        size_t n = 0;
        tc_graph *g;
        if (!(r->how & how) || !is_there(r->shared) || (r->full && !test_is_full()))
            continue;
        while (n < TC_LEN(r->sizes) && r->sizes[n].name)
            n++;
        char *path = file_of(r->model, r->shared);
        assert_ok(tc_graph_import(path, &(tc_graph_import_options){.shapes = r->sizes, .nshapes = n}, &g, err));
        expect(g, r);
        free(path);
    }
}

/* One graph for all sizes of a range. */
static void test_sizes_that_vary(void **state) {
    (void)state;
    each_ranged(EVALUATED, expect_evaluated);
}

/* One program for all sizes of a range, given or assumed. */
static void test_built_for_ranges(void **state) {
    (void)state;
    each_ranged(BUILT, expect_built);
}

/* Of a tagger, at sizes other than those that it was exported with: as the graph of exactly these gives. */
static void expect_like_exact(tc_graph_model *m, const char *path, const tc_graph_binding *sizes, int64_t vocabulary) {
    static int64_t ids[3 * 64];
    tc_graph_shape shape = {2, {sizes[0].d[0].least, sizes[1].d[0].least}};
    tc_graph_tensor in = tc_graph_tensor_view(TC_I64, &shape, ids), want, got;
    tc_graph *exact;
    tc_graph_diff d;
    for (size_t i = 0; i < TC_LEN(ids); i++)
        ids[i] = (int64_t)i * 37 % vocabulary;
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

/* A tagger of sentences, both of whose sizes become symbols, so that its steps are trips: with the reference at the sizes that it
 * was exported with, and at others. */
static void expect_tagger(const char *model, const char *name, bool shared, int64_t vocabulary) {
    static const int64_t at[][2] = {{1, 1}, {2, 7}, {3, 33}, {3, 64}};
    char *fixed = file_of(model, shared), *path = printed(TCTUNE_TEST_TMP "/%s_varying.onnx", model);
    tc_arena *a = tc_arena_new();
    varied v;
    tc_graph *g;
    vary_model(fixed, path, VARY_ALL, NULL, 0, a, &v);
    assert_int_equal(v.nsymbol, 2);
    tc_graph_binding sizes[] = {symbol_range(a, 0, 1, 3), symbol_range(a, 1, 1, 64)};
    assert_ok(tc_graph_import(path, &(tc_graph_import_options){.shapes = sizes, .nshapes = 2}, &g, err));
    expect_reference(g, name, shared, 1e-5);
    made x = build(g);
    expect_built_reference(x.m, name, shared);
    for (size_t i = 0; i < TC_LEN(at); i++) {
        tc_graph_binding exact[] = {symbol_range(a, 0, at[i][0], at[i][0]), symbol_range(a, 1, at[i][1], at[i][1])};
        expect_like_exact(x.m, path, exact, vocabulary);
    }
    remove(path);
    free_made(&x);
    tc_arena_free(a);
    free(path);
    free(fixed);
}

static void test_taggers_that_vary(void **state) {
    (void)state;
    expect_tagger("tagger", "tagger", false, 100);
    if (is_there(true))
        expect_tagger("lstm_tagger", "lstm_tagger", true, 5000);
}

/* ---- a cache in place ---- */

enum { MAX_OUTPUTS = 9, PROMPT = 16, LONGEST = 40 };

typedef struct decoder {
    const char *model, *prompt;
    bool shared;
    int kept; /* inputs that are what earlier runs kept */
    int64_t heads, width, vocabulary;
} decoder;

/* The same model twice: one copies what it kept, the other keeps it in buffers. */
typedef struct decoding {
    const decoder *of;
    made x[2];
    tc_graph_bundle prompt;
    tc_graph_tensor kept[MAX_OUTPUTS], buffer[MAX_OUTPUTS];
} decoding;

static void open_decoding(decoding *d) {
    static const tc_graph_binding sizes[] = {
        {"batch", 1, {{1, 1, 1}}}, {"sequence", 1, {{1, 64, 1}}}, {"past", 1, {{0, 192, 1}}}};
    const tc_graph_port *ports;
    char *path = file_of(d->of->model, d->of->shared);
    for (int k = 0; k < 2; k++) {
        tc_graph *g;
        assert_ok(tc_graph_import(path, &(tc_graph_import_options){.shapes = sizes, .nshapes = TC_LEN(sizes)}, &g, err));
        if (k == 1)
            assert_ok(tc_graph_grow_in_place(g, err));
        d->x[k] = build(g);
    }
    assert_int_equal(tc_graph_model_outputs(d->x[1].m, &ports), 1 + d->of->kept);
    for (int i = 0; i < 1 + d->of->kept; i++) {
        d->buffer[i] = tc_graph_tensor_view(TC_F32, &ports[i].shape, NULL);
        assert_non_null(d->buffer[i].data = aligned_alloc(64, (tc_graph_tensor_bytes(&d->buffer[i]) + 63) / 64 * 64));
    }
    load_reference(d->of->prompt, d->of->shared, &d->prompt);
    free(path);
}

static void close_decoding(decoding *d) {
    for (int i = 0; i < 1 + d->of->kept; i++) {
        tc_graph_tensor_free(&d->kept[i]);
        free(d->buffer[i].data);
    }
    for (int k = 0; k < 2; k++)
        free_made(&d->x[k]);
    tc_graph_bundle_free(&d->prompt);
}

/* The prompt is compared with the reference, tokens after it with the model that copies. */
static void decode(decoding *d, int64_t past, int64_t *ids) {
    tc_graph_tensor in[MAX_OUTPUTS], out[MAX_OUTPUTS];
    tc_graph_diff diff;
    in[0] = tc_graph_tensor_view(TC_I64, &(tc_graph_shape){2, {1, past ? 1 : PROMPT}}, ids);
    for (int i = 1; i < 1 + d->of->kept; i++)
        in[i] = tc_graph_tensor_view(TC_F32, &(tc_graph_shape){4, {1, d->of->heads, past, d->of->width}},
                                     past ? d->kept[i].data : d->buffer[i].data);
    assert_ok(tc_graph_model_run(d->x[0].m, in, out, err));
    for (int i = 1; i < 1 + d->of->kept; i++)
        in[i].data = d->buffer[i].data;
    assert_ok(tc_graph_model_run_into(d->x[1].m, in, d->buffer, err));
    tc_graph_tensor logits = tc_graph_tensor_view(TC_F32, tc_graph_model_output_shape(d->x[1].m, 0), d->buffer[0].data);
    const tc_graph_tensor *want = past ? &out[0] : reference(&d->prompt, "out", "logits");
    assert_ok(tc_graph_tensor_compare(&logits, want, 0, 0, &diff, err));
    if (diff.rel > 1e-5)
        fail_msg("%s after %d tokens: error %g", d->of->model, (int)past, diff.rel);
    for (int i = 0; i < 1 + d->of->kept; i++) {
        tc_graph_tensor_free(&d->kept[i]);
        d->kept[i] = out[i];
    }
}

/* A prompt, then token after token. */
static void test_decodes_in_place(void **state) {
    (void)state;
    static const decoder decoders[] = {{"gpt", "gpt.b1_s16_p0", false, 4, 2, 16, 100},
                                       {"gpt2_past_dyn", "gpt2_past_dyn.b1_s16_p0", true, 8, 4, 64, 1000}};
    for (size_t i = 0; i < TC_LEN(decoders); i++) {
        if (!is_there(decoders[i].shared) || (decoders[i].shared && !test_is_full()))
            continue;
        int64_t ids[PROMPT];
        decoding d = {.of = &decoders[i]};
        open_decoding(&d);
        memcpy(ids, reference(&d.prompt, "in", "input_ids")->data, sizeof ids);
        for (int64_t past = 0; past < LONGEST; past += past ? 1 : PROMPT) {
            ids[0] = past ? 37 * past % decoders[i].vocabulary : ids[0];
            decode(&d, past, ids);
        }
        close_decoding(&d);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_encoders),         cmocka_unit_test(test_large_encoder),
        cmocka_unit_test(test_decoders),         cmocka_unit_test(test_sizes_that_vary),
        cmocka_unit_test(test_built_for_ranges), cmocka_unit_test(test_taggers_that_vary),
        cmocka_unit_test(test_decodes_in_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
