/* Sizes that a node does not take: runs with them are refused, with the node and both numbers, and nothing is written. Sizes that
 * depend on data are refused at the node. In this process, by libraries that were loaded, and by what libraries and C source say to
 * programs. */
#include <dlfcn.h>

#include "graph/graph_test.h"
#include "graph/ir/build.h"
#include "graph/passes/pass.h"
#include "graph/saved/saved.h"

enum { MOST = 9, POISON = 0x5a, FROM_DATA = 100 };

/* One node over x[n, 6]; takes(n): whether it can be. */
typedef struct sample {
    const char *op, *name;
    void (*make)(tc_graph_writer *w);
    bool (*takes)(int64_t n);
    int times;        /* so often a size is in what messages name */
    const char *need; /* what they say that it must be */
} sample;

static void list(tc_graph_writer *w, const char *name, int n, const int64_t *v) {
    tc_graph_writer_weight(w, name, i64_tensor((tc_graph_shape){1, {n}}, v));
}

static void rows_of_four(tc_graph_writer *w) {
    static const int64_t shape[] = {-1, 4};
    list(w, "s", 2, shape);
    tc_graph_writer_node(w, "Reshape", "node", "x,s", "y");
}

static void four_rows(tc_graph_writer *w) {
    static const int64_t shape[] = {4, 6};
    list(w, "s", 2, shape);
    tc_graph_writer_node(w, "Reshape", "node", "x,s", "y");
}

static void best_five(tc_graph_writer *w) {
    static const int64_t five[] = {5};
    list(w, "k", 1, five);
    tc_graph_writer_node(w, "TopK", "node", "x,k", "y,i");
    tc_graph_writer_int(w, "axis", 0);
}

static void fifth_row(tc_graph_writer *w) {
    static const int64_t rows[] = {0, 4};
    list(w, "i", 2, rows);
    tc_graph_writer_node(w, "Gather", "node", "x,i", "y");
}

static void fifth_row_from_the_end(tc_graph_writer *w) {
    static const int64_t rows[] = {-5};
    tc_graph_writer_weight(w, "i", i64_tensor((tc_graph_shape){2, {1, 1}}, rows));
    tc_graph_writer_node(w, "GatherND", "node", "x,i", "y");
}

static void new_fifth_row(tc_graph_writer *w) {
    static const int64_t rows[] = {4};
    static const float row[6] = {1};
    tc_graph_writer_weight(w, "i", i64_tensor((tc_graph_shape){2, {1, 1}}, rows));
    tc_graph_writer_weight(w, "u", f32_tensor((tc_graph_shape){2, {1, 6}}, row));
    tc_graph_writer_node(w, "ScatterND", "node", "x,i,u", "y");
}

static void without_four_rows(tc_graph_writer *w) {
    static const int64_t pads[] = {-3, 0, -1, 0};
    list(w, "p", 4, pads);
    tc_graph_writer_node(w, "Pad", "node", "x,p", "y");
}

static void reflected(tc_graph_writer *w) {
    static const int64_t pads[] = {3, 0, 0, 0};
    list(w, "p", 4, pads);
    tc_graph_writer_node(w, "Pad", "node", "x,p", "y");
    tc_graph_writer_str(w, "mode", "reflect");
}

/* "image" is x as [1, 6, n]. */
static void image(tc_graph_writer *w) {
    static const int64_t axis[] = {0};
    list(w, "axis", 1, axis);
    tc_graph_writer_node(w, "Transpose", "columns", "x", "t");
    tc_graph_writer_node(w, "Unsqueeze", "image", "t,axis", "image");
}

static void pool(tc_graph_writer *w, const char *op, const char *window, const char *pads) {
    image(w);
    tc_graph_writer_node(w, op, "node", "image", "y");
    tc_graph_writer_ints(w, "kernel_shape", window);
    tc_graph_writer_ints(w, "pads", pads);
}

/* A window of five columns, one of which is padding. */
static void window_of_five(tc_graph_writer *w) {
    pool(w, "MaxPool", "5", "1,0");
}

static void average_of_five(tc_graph_writer *w) {
    pool(w, "AveragePool", "5", "0,0");
    tc_graph_writer_int(w, "ceil_mode", 1);
}

static void norm_of_five(tc_graph_writer *w) {
    pool(w, "LpPool", "5", "0,1");
}

/* Three weights for each of the six channels, and two results. */
static void weights(tc_graph_writer *w, tc_dtype t, int64_t out, int64_t in) {
    tc_graph_tensor v;
    assert_ok(tc_graph_tensor_alloc(&v, t, &(tc_graph_shape){3, {out, in, 3}}, err));
    for (int64_t i = 0; i < out * in * 3; i++)
        t == TC_F32 ? tc_store_f(t, v.data, i, 1) : tc_store_i(t, v.data, i, 1);
    tc_graph_writer_weight(w, "w", v);
}

static void dilated(tc_graph_writer *w) {
    image(w);
    weights(w, TC_F32, 2, 6);
    tc_graph_writer_node(w, "Conv", "node", "image,w", "y");
    tc_graph_writer_ints(w, "dilations", "2");
}

/* n + 2 columns, four or five of which go. */
static void without_columns(tc_graph_writer *w) {
    image(w);
    weights(w, TC_F32, 6, 2);
    tc_graph_writer_node(w, "ConvTranspose", "node", "image,w", "y");
    tc_graph_writer_ints(w, "pads", "3,2");
}

static void of_bytes(tc_graph_writer *w) {
    image(w);
    weights(w, TC_I8, 2, 6);
    tc_graph_writer_node(w, "Cast", "bytes", "image", "image8");
    tc_graph_writer_int(w, "to", tc_graph_dtype_to_onnx(TC_U8));
    tc_graph_writer_node(w, "ConvInteger", "node", "image8,w", "sums");
    tc_graph_writer_ints(w, "dilations", "2");
    tc_graph_writer_node(w, "Cast", "floats", "sums", "y");
    tc_graph_writer_int(w, "to", tc_graph_dtype_to_onnx(TC_F32));
}

static bool even(int64_t n) {
    return n % 2 == 0;
}
static bool four(int64_t n) {
    return n == 4;
}
static bool four_or_more(int64_t n) {
    return n >= 4;
}
static bool five_or_more(int64_t n) {
    return n >= 5;
}

static const sample samples[] = {
    {"Reshape", "the number of elements of 'x'", rows_of_four, even, 6, "a multiple of 4"},
    {"Reshape", "the number of elements of 'x'", four_rows, four, 6, "24"},
    {"TopK", "dimension 0 of 'x'", best_five, five_or_more, 1, "at least 5"},
    {"Gather", "dimension 0 of 'x'", fifth_row, five_or_more, 1, "at least 5"},
    {"GatherND", "dimension 0 of 'x'", fifth_row_from_the_end, five_or_more, 1, "at least 5"},
    {"ScatterND", "dimension 0 of 'x'", new_fifth_row, five_or_more, 1, "at least 5"},
    {"Pad", "dimension 0 of 'x'", without_four_rows, four_or_more, 1, "at least 4"},
    {"Pad", "dimension 0 of 'x'", reflected, four_or_more, 1, "at least 4"},
    {"MaxPool", "dimension 2 of 'image'", window_of_five, four_or_more, 1, "at least 4"},
    {"AveragePool", "dimension 2 of 'image'", average_of_five, five_or_more, 1, "at least 5"},
    {"LpPool", "dimension 2 of 'image'", norm_of_five, four_or_more, 1, "at least 4"},
    {"Conv", "dimension 2 of 'image'", dilated, five_or_more, 1, "at least 5"},
    {"ConvTranspose", "dimension 2 of 'image'", without_columns, four_or_more, 1, "at least 4"},
    {"ConvInteger", "dimension 2 of 'image8'", of_bytes, five_or_more, 1, "at least 5"},
};

/* ---- what is built ---- */

typedef struct built {
    tc_graph *g;
    tc_graph_program *p;
    tc_target *t;
    tc_graph_model *m, *loaded;
    void *library[2]; /* of machine code, and of C source */
    int32_t (*run[2])(const void *const *, void *const *);
    char path[2][1200];
} built;

static void open_library(built *b, int i) {
    void *run;
    b->library[i] = dlopen(b->path[i], RTLD_NOW | RTLD_LOCAL);
    run = b->library[i] ? dlsym(b->library[i], "model_run") : NULL;
    assert_non_null(run);
    memcpy(&b->run[i], &run, sizeof run);
}

static void save(built *b, int number) {
    char source[1200], command[4000];
    snprintf(b->path[0], sizeof b->path[0], TCTUNE_TEST_TMP "/refused%d.so", number);
    snprintf(b->path[1], sizeof b->path[1], TCTUNE_TEST_TMP "/refused%d_c.so", number);
    snprintf(source, sizeof source, TCTUNE_TEST_TMP "/refused%d.c", number);
    assert_ok(tc_graph_model_save(b->m, b->path[0], "model", err));
    assert_ok(tc_graph_model_save(b->m, source, "model", err));
    assert_ok(tc_graph_model_load(b->path[0], 0, &b->loaded, err));
    snprintf(command, sizeof command, "cc -std=c17 -O0 -Wall -Werror -fPIC -shared %s -o %s -lm", source, b->path[1]);
    assert_int_equal(system(command), 0);
    remove(source);
    open_library(b, 0);
    open_library(b, 1);
}

/* x of `given`: the rows that are to be kept. */
static void rows_of_data(tc_graph_writer *w) {
    tc_graph_writer_input(w, "given", TC_F32, "9,6");
    tc_graph_writer_input(w, "keep", TC_BOOL, "9");
    tc_graph_writer_node(w, "Compress", "rows", "given,keep", "x");
    tc_graph_writer_int(w, "axis", 0);
}

static void build(const sample *s, int number, built *b) {
    tc_graph_binding *shapes;
    tc_graph_writer *w = tc_graph_writer_new("refused", 17);
    if (number < FROM_DATA)
        tc_graph_writer_input(w, "x", TC_F32, "n,6");
    else
        rows_of_data(w);
    s->make(w);
    tc_graph_writer_output(w, "y", TC_F32, NULL);
    assert_ok(tc_graph_bindings_parse((const char *const[]){"n=0..9"}, 1, &shapes, err));
    tc_graph_import_options o = {.shapes = shapes, .nshapes = number < FROM_DATA};
    assert_ok(import_model(w, SCRATCH("refused.onnx"), &o, &b->g, err));
    tc_graph_bindings_free(shapes, 1);
    assert_ok(tc_graph_passes(b->g, NULL, err));
    assert_ok(tc_graph_program_new(b->g, &b->p, err));
    assert_ok(tc_target_parse("native", &b->t, err));
    assert_ok(tc_graph_model_build(b->p, &(tc_graph_build_options){.target = b->t, .threads = 1}, &b->m, err));
    save(b, number);
}

static void release(built *b) {
    for (int i = 0; i < 2; i++) {
        dlclose(b->library[i]);
        remove(b->path[i]);
    }
    tc_graph_model_free(b->loaded);
    tc_graph_model_free(b->m);
    tc_graph_program_free(b->p);
    tc_target_free(b->t);
    tc_graph_free(b->g);
}

/* ---- runs ---- */

static void check_message(const sample *s, tc_graph_model *m, const tc_graph_tensor *in, int64_t n) {
    tc_graph_tensor out;
    tc_error e = {0};
    char number[80], node[80], need[160];
    int64_t next = n + 1;
    while (next <= MOST && !s->takes(next))
        next++;
    snprintf(node, sizeof node, "node 'node' (%s): %s", s->op, s->name);
    snprintf(need, sizeof need,
             next > MOST ? "but it must be %s"
                         : "but it must be %s; the next larger n that fits is %d (dimension 0 of input 'x')",
             s->need, (int)next);
    snprintf(number, sizeof number, "n%s, is %d (n is %d)", s->times == 6 ? " * 6" : "", s->times * (int)n, (int)n);
    if (s->takes(n)) {
        assert_ok(tc_graph_model_run(m, in, &out, err));
        tc_graph_tensor_free(&out);
        return;
    }
    assert_int_equal(tc_graph_model_run(m, in, &out, &e), TC_BAD_INPUT);
    if (!strstr(e.msg, node) || !strstr(e.msg, number) || !strstr(e.msg, need))
        fail_msg("expected '%s', '%s' and '%s', but there is: %s", node, number, need, e.msg);
}

/* As programs call it: outputs of all sizes that there may be. */
static void check_call(const sample *s, const built *b, int way, const float *x, int64_t n) {
    static float y[256];
    int64_t size = -1;
    memset(y, POISON, sizeof y);
    int32_t status = b->run[way]((const void *const[]){x, &n}, (void *const[]){y, &size});
    assert_int_equal(status, s->takes(n) ? 0 : -2);
    for (size_t i = 0; i < sizeof y && status; i++)
        assert_int_equal(((const unsigned char *)y)[i], POISON);
    assert_true(status == 0 || size == -1);
}

static void nodes_refuse_what_they_do_not_take(void **state) {
    (void)state;
    _Alignas(64) static float x[MOST * 6];
    for (int i = 0; i < MOST * 6; i++)
        x[i] = (float)(i * 7 % 23);
    for (size_t i = 0; i < TC_LEN(samples); i++) {
        built b;
        build(&samples[i], (int)i, &b);
        for (int64_t n = 0; n <= MOST; n++) {
            tc_graph_tensor in = f32_tensor((tc_graph_shape){2, {n, 6}}, x);
            check_message(&samples[i], b.m, &in, n);
            check_message(&samples[i], b.loaded, &in, n);
            check_call(&samples[i], &b, 0, x, n);
            check_call(&samples[i], &b, 1, x, n);
        }
        release(&b);
    }
}

/* ---- sizes that depend on data ---- */

static void check_data_message(const sample *s, tc_graph_model *m, const tc_graph_tensor *in, int64_t n) {
    tc_graph_tensor out;
    tc_error e = {0};
    char text[240];
    if (s->takes(n)) {
        assert_ok(tc_graph_model_run(m, in, &out, err));
        tc_graph_tensor_free(&out);
        return;
    }
    snprintf(text, sizeof text, "node 'node' (%s): %s depends on data, and must be %s", s->op, s->name, s->need);
    assert_int_equal(tc_graph_model_run(m, in, &out, &e), TC_BAD_INPUT);
    if (!strstr(e.msg, text))
        fail_msg("expected '%s', but there is: %s", text, e.msg);
}

static void nodes_refuse_sizes_of_data(void **state) {
    (void)state;
    static float x[MOST * 6], y[256];
    for (int i = 0; i < MOST * 6; i++)
        x[i] = (float)(i * 7 % 23);
    for (size_t i = 0; i < TC_LEN(samples); i++) {
        built b;
        build(&samples[i], FROM_DATA + (int)i, &b);
        for (int64_t n = 0; n <= MOST; n++) {
            uint8_t keep[MOST] = {0};
            int64_t size;
            memset(keep + MOST - n, 1, (size_t)n);
            tc_graph_tensor in[] = {f32_tensor((tc_graph_shape){2, {MOST, 6}}, x),
                                    tc_graph_tensor_view(TC_BOOL, &(tc_graph_shape){1, {MOST}}, keep)};
            check_data_message(&samples[i], b.m, in, n);
            check_data_message(&samples[i], b.loaded, in, n);
            for (int way = 0; way < 2; way++)
                assert_int_equal(b.run[way]((const void *const[]){x, keep}, (void *const[]){y, &size}),
                                 samples[i].takes(n) ? 0 : 256);
        }
        release(&b);
    }
}

static int checks_in(const tc_graph *g) {
    int n = 0;
    for (size_t i = 0; i < g->nodes.len; i++)
        n += g->nodes.data[i]->op == TC_GRAPH_OP_REQUIRE;
    return n;
}

/* a + b + b of two selections of rows, which are as many if the data say so. */
static void sizes_of_data_are_equal(void **state) {
    (void)state;
    static float x[MOST * 6];
    tc_graph_writer *w = tc_graph_writer_new("equal", 17);
    tc_graph *g;
    tc_graph_program *p;
    tc_graph_model *m;
    tc_target *t;
    tc_graph_writer_input(w, "given", TC_F32, "9,6");
    for (int k = 0; k < 2; k++) {
        tc_graph_writer_input(w, k ? "second" : "first", TC_BOOL, "9");
        tc_graph_writer_node(w, "Compress", "", k ? "given,second" : "given,first", k ? "b" : "a");
        tc_graph_writer_int(w, "axis", 0);
    }
    tc_graph_writer_node(w, "Add", "meet", "a,b", "s");
    tc_graph_writer_node(w, "Add", "again", "s,b", "y");
    tc_graph_writer_output(w, "y", TC_F32, NULL);
    assert_ok(import_model(w, SCRATCH("refused.onnx"), NULL, &g, err));
    assert_int_equal(checks_in(g), 1);
    assert_ok(tc_graph_program_new(g, &p, err));
    assert_ok(tc_target_parse("native", &t, err));
    assert_ok(tc_graph_model_build(p, &(tc_graph_build_options){.target = t, .threads = 1}, &m, err));
    for (int i = 0; i < MOST * 6; i++)
        x[i] = (float)i;
    for (int n = 0; n <= MOST; n += 3)
        for (int k = 0; k <= MOST; k += 3) {
            uint8_t keep[2][MOST] = {0};
            tc_graph_tensor out;
            memset(keep[0], 1, (size_t)n);
            memset(keep[1] + MOST - k, 1, (size_t)k);
            const tc_graph_tensor in[] = {f32_tensor((tc_graph_shape){2, {MOST, 6}}, x),
                                          tc_graph_tensor_view(TC_BOOL, &(tc_graph_shape){1, {MOST}}, keep[0]),
                                          tc_graph_tensor_view(TC_BOOL, &(tc_graph_shape){1, {MOST}}, keep[1])};
            if (n != k) {
                assert_fails(TC_BAD_INPUT, tc_graph_model_run(m, in, &out, err), "node 'meet' (Add)",
                             "dimension 0 of 'a' and dimension 0 of 'b' depend on data, and must be equal");
                continue;
            }
            assert_ok(tc_graph_model_run(m, in, &out, err));
            assert_int_equal(out.shape.d[0], n);
            for (int i = 0; i < n * 6; i++)
                assert_true(((float *)out.data)[i] == x[i] + 2 * x[i + (MOST - n) * 6]);
            tc_graph_tensor_free(&out);
        }
    tc_graph_model_free(m);
    tc_graph_program_free(p);
    tc_target_free(t);
    tc_graph_free(g);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(nodes_refuse_what_they_do_not_take),
                                       cmocka_unit_test(nodes_refuse_sizes_of_data), cmocka_unit_test(sizes_of_data_are_equal)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
