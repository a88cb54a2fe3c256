/* Sizes that vary from run to run: what import assumes of them, how it relates them, and what a run's inputs are refused for. */
#include "graph/graph_test.h"
#include "graph/ir/sizes.h"
#include "graph/model/model.h"
#include "graph/model/parts.h"
#include "graph/onnx/import.h"
#include "graph/ops/ops.h"
#include "graph/saved/saved.h"

#include <math.h>

static tc_graph_binding range(const char *name, int64_t least, int64_t most, int64_t multiple) {
    return (tc_graph_binding){name, 1, {{least, most, multiple}}};
}

/* The sizes that a symbol of g has, and whether these are import's. */
static void expect_symbol(const tc_graph *g, const char *name, int64_t least, int64_t most, bool assumed) {
    const tc_graph_symbol *s = NULL;
    for (size_t i = 0; i < g->symbols.len; i++)
        if (strcmp(g->symbols.data[i].name, name) == 0)
            s = &g->symbols.data[i];
    assert_non_null(s);
    assert_int_equal(s->least, least);
    assert_int_equal(s->most, most);
    assert_int_equal(s->assumed, assumed);
}

static void expect_made_of(const tc_graph *g, const char *name, const char *want) {
    tc_strbuf b = {0};
    const tc_graph_size_symbol *y = tc_graph_sizes_symbol(g->sizes, name);
    assert_non_null(y);
    tc_graph_sizes_print(&b, y->is);
    assert_string_equal(tc_sb_str(&b), want);
    tc_strbuf_free(&b);
}

static tc_graph *import_ok(tc_graph_writer *w, const tc_graph_binding *dims, size_t n) {
    tc_graph *g;
    assert_ok(import_model(w, SCRATCH("sizes.onnx"), &(tc_graph_import_options){.shapes = dims, .nshapes = n}, &g, err));
    assert_ok(tc_graph_verify(g, err));
    return g;
}

#define assert_not_imported(writer, dims, n, ...)                                                                                \
    do {                                                                                                                         \
        tc_graph *none_;                                                                                                         \
        tc_graph_import_options o_ = {.shapes = (dims), .nshapes = (n)};                                                         \
        assert_fails(TC_BAD_INPUT, import_model((writer), SCRATCH("sizes.onnx"), &o_, &none_, err), __VA_ARGS__);                \
    } while (0)

enum { ROOM = 4096 };
static float numbers[ROOM];

/* 0, 1, 2, ... */
static tc_graph_tensor counted(tc_graph_shape shape) {
    for (int i = 0; i < ROOM; i++)
        numbers[i] = (float)i;
    assert_true(tc_graph_shape_count(&shape) <= ROOM);
    return tc_graph_tensor_view(TC_F32, &shape, numbers);
}

/* ---- total = past + sequence ---- */

/* y = Concat(past, new) + mask, along the second of three dimensions: a cache that grows. */
static tc_graph_writer *cache(void) {
    tc_graph_writer *w = tc_graph_writer_new("cache", 17);
    tc_graph_writer_input(w, "mask", TC_F32, "batch,total,1");
    tc_graph_writer_input(w, "old", TC_F32, "batch,past,2");
    tc_graph_writer_input(w, "new", TC_F32, "batch,sequence,2");
    tc_graph_writer_output(w, "y", TC_F32, "batch,total,2");
    tc_graph_writer_node(w, "Concat", "join", "old,new", "both");
    tc_graph_writer_int(w, "axis", 1);
    tc_graph_writer_node(w, "Add", "hide", "both,mask", "y");
    return w;
}

static tc_status run_cache(const tc_graph *g, int64_t batch, int64_t past, int64_t rows, int64_t total, tc_graph_tensor *out,
                           tc_error *err) {
    tc_graph_tensor in[] = {counted((tc_graph_shape)DIMS(batch, total, 1)), counted((tc_graph_shape)DIMS(batch, past, 2)),
                            counted((tc_graph_shape)DIMS(batch, rows, 2))};
    return tc_graph_eval(g, in, out, err);
}

static void expect_cache(const tc_graph *g, int64_t batch, int64_t past, int64_t rows) {
    tc_graph_tensor out;
    int64_t total = past + rows;
    assert_ok(run_cache(g, batch, past, rows, total, &out, err));
    assert_true(tc_graph_shape_equal(&out.shape, &(tc_graph_shape)DIMS(batch, total, 2)));
    for (int64_t b = 0; b < batch; b++)
        for (int64_t i = 0; i < 2 * total; i++) {
            int64_t is_past = i < 2 * past, from = is_past ? b * 2 * past + i : b * 2 * rows + i - 2 * past;
            assert_true(((float *)out.data)[b * 2 * total + i] == (float)from + (float)(b * total + i / 2));
        }
    tc_graph_tensor_free(&out);
}

static void test_total(void **state) {
    (void)state;
    tc_graph_binding dims[] = {range("past", 0, 5, 1), range("sequence", 1, 4, 1), range("batch", 1, 3, 1)};
    tc_graph *g = import_ok(cache(), dims, TC_LEN(dims));
    tc_graph_tensor out;
    expect_made_of(g, "total", "past + sequence");
    expect_symbol(g, "total", 1, 9, true);
    for (int64_t past = 0; past <= 5; past++)
        for (int64_t rows = 1; rows <= 4; rows++)
            expect_cache(g, 1 + (past + rows) % 3, past, rows);
    assert_fails(TC_BAD_INPUT, run_cache(g, 2, 3, 2, 6, &out, err), "dimension 1 of input 'mask' is 6",
                 "'total' must be past + sequence", "which is 5", "past is 3", "sequence is 2");
    assert_fails(TC_BAD_INPUT, run_cache(g, 2, 3, 5, 8, &out, err), "dimension 1 of input 'new' is 5",
                 "'sequence' was given as 1..4");
    assert_fails(TC_BAD_INPUT, run_cache(g, 2, 3, 2, 10, &out, err), "dimension 1 of input 'mask' is 10",
                 "'total' was assumed as 1..9");
    tc_graph_tensor other[] = {counted((tc_graph_shape)DIMS(2, 5, 1)), counted((tc_graph_shape)DIMS(2, 3, 2)),
                               counted((tc_graph_shape)DIMS(1, 2, 2))};
    assert_fails(TC_BAD_INPUT, tc_graph_eval(g, other, &out, err), "'batch' is 1 in dimension 0 of input 'new', but 2");
    tc_graph_free(g);
}

/* What is said of the total holds as well. */
static void test_given_total(void **state) {
    (void)state;
    tc_graph_binding dims[] = {range("past", 0, 5, 1), range("sequence", 1, 4, 1), range("batch", 1, 1, 1),
                               range("total", 2, 6, 2)};
    tc_graph *g = import_ok(cache(), dims, TC_LEN(dims));
    tc_graph_tensor out;
    assert_int_equal(g->outputs.data[0].value->shape.d[1], 6);
    expect_cache(g, 1, 5, 1);
    expect_cache(g, 1, 0, 4);
    assert_fails(TC_BAD_INPUT, run_cache(g, 1, 5, 4, 9, &out, err), "'mask' is 9", "'total' was given as 2..6 in steps");
    assert_fails(TC_BAD_INPUT, run_cache(g, 1, 2, 1, 3, &out, err), "'mask' is 3", "'total' was given as 2..6 in steps");
    tc_graph_free(g);
    dims[3] = range("total", 10, 20, 1);
    assert_not_imported(cache(), dims, TC_LEN(dims), "node 'hide' (Add)", "'both' (past + sequence, at most 9)",
                        "'mask' (total, at most 20)", "must be equal", "--shape");
    dims[3] = range("total", 6, 6, 1); /* one size of the sum: runs check it */
    g = import_ok(cache(), dims, TC_LEN(dims));
    assert_int_equal(g->outputs.data[0].value->shape.d[1], 6);
    expect_cache(g, 1, 5, 1);
    expect_cache(g, 1, 2, 4);
    assert_fails(TC_BAD_INPUT, run_cache(g, 1, 2, 3, 6, &out, err), "node 'hide' (Add)", "dimension 1 of 'both'", "'mask'",
                 "must be equal", "past + sequence is 5 (past is 2, sequence is 3)", "6 is 6");
    tc_graph_free(g);
}

/* ---- nobody says ---- */

static void test_assumed(void **state) {
    (void)state;
    tc_graph *g = import_ok(cache(), NULL, 0);
    tc_strbuf b = {0};
    expect_symbol(g, "batch", 1, 16, true);
    expect_symbol(g, "past", 0, 512, true);
    expect_symbol(g, "sequence", 1, 512, true);
    tc_graph_sizes_print_assumed(&b, g->sizes);
    assert_string_equal(tc_sb_str(&b), "batch=1..16, total=past + sequence, past=0..512, sequence=1..512");
    tc_strbuf_free(&b);
    tc_graph_free(g);
    /* What is said of an input is said of the others' dimensions of the same names, also of those before it. */
    tc_graph_binding whole = {"new", 3, {{2, 2, 1}, {1, 3, 1}, {2, 2, 1}}};
    g = import_ok(cache(), &whole, 1);
    assert_int_equal(g->inputs.data[0]->shape.d[0], 2);
    expect_symbol(g, "sequence", 1, 3, false);
    expect_symbol(g, "past", 0, 512, true);
    tc_graph_free(g);
}

typedef struct built {
    tc_graph *g;
    tc_graph_program *p;
    tc_graph_model *m;
    tc_target *t;
} built;

static built build(tc_graph *g) {
    built b = {.g = g};
    assert_ok(tc_target_parse("native", &b.t, err));
    assert_ok(tc_graph_program_new(g, &b.p, err));
    assert_ok(tc_graph_model_build(b.p, &(tc_graph_build_options){.target = b.t, .threads = 1}, &b.m, err));
    return b;
}

static void free_built(built *b) {
    tc_graph_model_free(b->m);
    tc_graph_program_free(b->p);
    tc_target_free(b->t);
    tc_graph_free(b->g);
}

/* What is built checks sums of sizes, as the graph does. */
static void test_program(void **state) {
    (void)state;
    tc_graph_binding dims[] = {range("past", 0, 5, 1), range("sequence", 1, 4, 1), range("batch", 1, 3, 1)};
    built b = build(import_ok(cache(), dims, TC_LEN(dims)));
    tc_graph_tensor out;
    tc_graph_tensor in[] = {counted((tc_graph_shape)DIMS(2, 6, 1)), counted((tc_graph_shape)DIMS(2, 3, 2)),
                            counted((tc_graph_shape)DIMS(2, 2, 2))};
    assert_fails(TC_BAD_INPUT, tc_graph_model_run(b.m, in, &out, err), "dimension 1 of input 'mask' is 6",
                 "'total' must be past + sequence", "which is 5", "past is 3", "sequence is 2");
    in[0].shape.d[1] = 5;
    assert_ok(tc_graph_model_run(b.m, in, &out, err));
    tc_graph_tensor_free(&out);
    in[2].shape.d[0] = 1;
    assert_fails(TC_BAD_INPUT, tc_graph_model_run(b.m, in, &out, err), "'batch' is 1 in dimension 0 of input 'new', but 2");
    in[2].shape.d[0] = 2;
    in[2].shape.ndim = 2;
    assert_fails(TC_BAD_INPUT, tc_graph_model_run(b.m, in, &out, err), "input 'new' is f32[2,2]");
    free_built(&b);
}

/* [n] as [m, -1]: what is left of n is nobody's, so m must divide it. */
static void test_varying_divisor(void **state) {
    (void)state;
    tc_graph_binding dims[] = {range("n", 1, 16, 1), range("m", 0, 4, 1)};
    tc_graph_writer *w = tc_graph_writer_new("rows", 17);
    tc_graph_writer_input(w, "x", TC_F32, "n");
    tc_graph_writer_input(w, "y", TC_F32, "m");
    tc_graph_writer_output(w, "z", TC_F32, NULL);
    tc_graph_writer_weight(w, "open", tc_graph_tensor_view(TC_I64, &(tc_graph_shape)DIMS(1), &(int64_t){-1}));
    tc_graph_writer_node(w, "Shape", "", "y", "rows");
    tc_graph_writer_node(w, "Concat", "", "rows,open", "shape");
    tc_graph_writer_int(w, "axis", 0);
    tc_graph_writer_node(w, "Reshape", "fold", "x,shape", "z");
    tc_graph *g = import_ok(w, dims, TC_LEN(dims));
    for (int64_t n = 1; n <= 16; n++)
        for (int64_t m = 0; m <= 4; m++) {
            tc_graph_tensor in[] = {counted((tc_graph_shape)DIMS(n)), counted((tc_graph_shape)DIMS(m))}, out;
            char must[80], is[80];
            snprintf(is, sizeof is, "the number of elements of 'x', n, is %d (n is %d)", (int)n, (int)n);
            snprintf(must, sizeof must, "must be a multiple of m, which is %d (m is %d)", (int)m, (int)m);
            if (m == 0 || n % m != 0) {
                assert_fails(TC_BAD_INPUT, tc_graph_eval(g, in, &out, err), "node 'fold' (Reshape)", is, must);
                continue;
            }
            assert_ok(tc_graph_eval(g, in, &out, err));
            assert_true(tc_graph_shape_equal(&out.shape, &(tc_graph_shape)DIMS(m, n / m)));
            assert_memory_equal(out.data, in[0].data, (size_t)n * sizeof(float));
            tc_graph_tensor_free(&out);
        }
    tc_graph_free(g);
}

/* [n] as [m, -1], and [n] again: as many as there were, as m divides n in every run. */
static void test_folded_and_back(void **state) {
    (void)state;
    tc_graph_binding dims[] = {range("n", 0, 16, 1), range("m", 0, 4, 1)};
    tc_graph_writer *w = tc_graph_writer_new("back", 17);
    tc_graph_writer_input(w, "x", TC_F32, "n");
    tc_graph_writer_input(w, "y", TC_F32, "m");
    tc_graph_writer_output(w, "u", TC_F32, NULL);
    tc_graph_writer_weight(w, "open", tc_graph_tensor_view(TC_I64, &(tc_graph_shape)DIMS(1), &(int64_t){-1}));
    tc_graph_writer_weight(w, "last", tc_graph_tensor_view(TC_I64, &(tc_graph_shape)DIMS(1), &(int64_t){1}));
    tc_graph_writer_node(w, "Shape", "", "y", "rows");
    tc_graph_writer_node(w, "Concat", "", "rows,open", "shape");
    tc_graph_writer_int(w, "axis", 0);
    tc_graph_writer_node(w, "Reshape", "fold", "x,shape", "z");
    tc_graph_writer_node(w, "Unsqueeze", "", "y,last", "column");
    tc_graph_writer_node(w, "Add", "", "z,column", "s");
    tc_graph_writer_node(w, "Reshape", "back", "s,open", "t");
    tc_graph_writer_node(w, "Mul", "", "t,x", "u");
    tc_graph *g = import_ok(w, dims, TC_LEN(dims));
    const tc_graph_value *u = g->outputs.data[0].value;
    assert_int_equal(u->shape.d[0], 16); /* not 16 * 4 */
    assert_ptr_equal(u->extent[0], g->inputs.data[0]->extent[0]);
    assert_int_equal(g->sizes->limits.len, 1);
    built b = build(g);
    for (int64_t n = 0; n <= 16; n++)
        for (int64_t m = 0; m <= 4; m++) {
            tc_graph_tensor in[] = {counted((tc_graph_shape)DIMS(n)), counted((tc_graph_shape)DIMS(m))}, out;
            if (m == 0 || n % m != 0) {
                assert_fails(TC_BAD_INPUT, tc_graph_model_run(b.m, in, &out, err), "node 'fold' (Reshape)",
                             "must be a multiple of m");
                continue;
            }
            assert_ok(tc_graph_model_run(b.m, in, &out, err));
            assert_int_equal(out.shape.d[0], n);
            for (int64_t i = 0; i < n; i++)
                assert_true(((float *)out.data)[i] == (float)(i * (i + i / (n / m))));
            tc_graph_tensor_free(&out);
        }
    free_built(&b);
}

/* Zeros that the model joins to a row are elements: times infinity they are no number. */
static void test_joined_zeros(void **state) {
    (void)state;
    tc_graph_binding dims[] = {range("n", 1, 6, 1)};
    tc_graph_writer *w = tc_graph_writer_new("padded", 17);
    tc_graph_writer_input(w, "x", TC_F32, "1,n");
    tc_graph_writer_input(w, "y", TC_F32, "1,t");
    tc_graph_writer_output(w, "z", TC_F32, NULL);
    tc_graph_writer_weight(w, "zero", tc_graph_tensor_view(TC_F32, &(tc_graph_shape)DIMS(1, 1), &(float){0}));
    tc_graph_writer_node(w, "Concat", "join", "x,zero", "padded");
    tc_graph_writer_int(w, "axis", 1);
    tc_graph_writer_node(w, "Mul", "", "padded,y", "each");
    tc_graph_writer_node(w, "ReduceSum", "", "each", "z");
    built b = build(import_ok(w, dims, TC_LEN(dims)));
    float y[] = {1, 1, 1, INFINITY};
    tc_graph_tensor in[] = {counted((tc_graph_shape)DIMS(1, 3)), tc_graph_tensor_view(TC_F32, &(tc_graph_shape)DIMS(1, 4), y)},
                    out;
    assert_ok(tc_graph_model_run(b.m, in, &out, err));
    assert_true(isnan(*(float *)out.data));
    tc_graph_tensor_free(&out);
    free_built(&b);
}

/* Kernels of different sizes are given each its own, whatever these are called. */
static void test_names_with_commas(void **state) {
    (void)state;
    static const char *const names[] = {"a,b", "c", "a", "b,c"};
    tc_graph_writer *w = tc_graph_writer_new("two", 17);
    for (int i = 0; i < 2; i++) {
        tc_graph_writer_input(w, i ? "x1" : "x0", TC_F32, i ? "r,s" : "p,q");
        tc_graph_writer_output(w, i ? "y1" : "y0", TC_F32, NULL);
        tc_graph_writer_node(w, "Relu", "", i ? "x1" : "x0", i ? "y1" : "y0");
    }
    tc_graph *g = import_ok(w, NULL, 0);
    tc_graph_tensor out[2];
    assert_int_equal(g->symbols.len, TC_LEN(names));
    for (size_t i = 0; i < TC_LEN(names); i++)
        g->symbols.data[i].value->name = names[i];
    built b = build(g);
    tc_graph_tensor in[] = {counted((tc_graph_shape)DIMS(2, 3)), counted((tc_graph_shape)DIMS(5, 7))};
    assert_ok(tc_graph_model_run(b.m, in, out, err));
    for (int i = 0; i < 2; i++) {
        assert_memory_equal(out[i].data, in[i].data, sizeof(float) * (size_t)tc_graph_tensor_count(&in[i]));
        tc_graph_tensor_free(&out[i]);
    }
    free_built(&b);
}

enum { MOST_TRIED = 24 };

static int64_t between(tc_rng *g, int64_t least, int64_t most) {
    return least + tc_rng_below(g, most - least + 1);
}

/* (constant + times[0] * a + times[1] * b) / divisor */
typedef struct divided_sum {
    int64_t constant, times[2], divisor;
} divided_sum;

static int64_t value_at(const divided_sum *x, int64_t a, int64_t b) {
    return (x->constant + x->times[0] * a + x->times[1] * b) / x->divisor;
}

static tc_graph_size_value value_of(tc_arena *a, const char *text, const divided_sum *x) {
    tc_formula f = tc_formula_number(a, x->constant);
    for (int k = 0; k < 2; k++)
        if (x->times[k])
            f = tc_formula_join(a, f,
                                tc_formula_join(a, tc_formula_size(a, k), tc_formula_number(a, x->times[k]), TC_FORMULA_MUL),
                                TC_FORMULA_ADD);
    if (x->divisor > 1)
        f = tc_formula_join(a, f, tc_formula_number(a, x->divisor), TC_FORMULA_DIV);
    return (tc_graph_size_value){.text = text, .formula = f};
}

/* Of sizes a and b, and what is made of them, as the rules say; by trying all. */
static bool is_right(const tc_graph_size_rules *r, const divided_sum *is, const divided_sum *limited, int64_t a, int64_t b) {
    int64_t i = a / r->size[0].multiple, j = b / r->size[1].multiple, size[] = {a, b, value_at(is, i, j)};
    for (int k = 0; k < 3; k++)
        if (size[k] < r->size[k].least || size[k] > r->size[k].most || size[k] % r->size[k].multiple)
            return false;
    return value_at(limited, i, j) <= r->limit[0].most;
}

static int64_t least_of(const tc_graph_size_rule *s) {
    int64_t size = s->least ? s->least : s->multiple;
    while (size % s->multiple)
        size++;
    return size <= s->most ? size : 0;
}

/* Sizes of a run from some of them, against all that there are. */
static void test_completed(void **state) {
    (void)state;
    tc_rng g = tc_rng_seed(7);
    int given = 0, refused = 0, limited = 0;
    for (int round = 0; round < 3000; round++) {
        tc_arena *arena = tc_arena_new();
        divided_sum is = {0, {between(&g, 1, 3), between(&g, 0, 2)}, 1},
                    limited_by = {0, {between(&g, 0, 2), 1}, between(&g, 1, 2)};
        tc_graph_size_rule size[3] = {{.name = "a"}, {.name = "b"}, {.name = "sum"}};
        tc_graph_size_bound limit = {
            .x = value_of(arena, "limit", &limited_by), .least = INT64_MIN, .most = between(&g, 1, 40), .multiple = 1};
        tc_graph_size_rules r = {.nsize = 3, .nlimit = 1, .size = size, .limit = &limit};
        for (int k = 0; k < 3; k++) {
            size[k].multiple = k < 2 ? between(&g, 1, 3) : 1;
            size[k].least = between(&g, 0, 4);
            size[k].most = k < 2 ? between(&g, size[k].least + 2, MOST_TRIED) : between(&g, 10, 90);
        }
        is.constant = between(&g, 0, 1);
        is.divisor = between(&g, 1, 3);
        size[2].is = value_of(arena, "the sum", &is);
        int64_t a = between(&g, 0, MOST_TRIED), b = least_of(&size[1]), some[] = {a, -1, -1}, none[] = {-1, -1, -1}, all[3];
        assert_int_equal(tc_graph_size_rules_complete(&r, some, NULL) == TC_OK, is_right(&r, &is, &limited_by, a, b));
        given += is_right(&r, &is, &limited_by, a, b);
        refused += !is_right(&r, &is, &limited_by, a, b);
        int64_t most = -1, most_b = -1;
        for (int64_t i = 0; i <= MOST_TRIED; i++)
            most = is_right(&r, &is, &limited_by, i, b) ? i : most;
        int64_t whole[] = {size[0].most / size[0].multiple * size[0].multiple,
                           size[1].most / size[1].multiple * size[1].multiple};
        if (is_right(&r, &is, &limited_by, whole[0], whole[1])) {
            assert_ok(tc_graph_size_rules_largest(&r, all, err));
            assert_int_equal(all[0], whole[0]);
            assert_int_equal(all[1], whole[1]);
        }
        if (!is_right(&r, &is, &limited_by, least_of(&size[0]), b))
            goto next; /* larger sizes may make a sum large enough: which, nobody asks */
        assert_int_equal(tc_graph_size_rules_most(&r, none, 0), most);
        for (int64_t i = 0; i <= MOST_TRIED; i++)
            most_b = is_right(&r, &is, &limited_by, most, i) ? i : most_b;
        if (is_right(&r, &is, &limited_by, whole[0], whole[1]))
            goto next;
        assert_ok(tc_graph_size_rules_largest(&r, all, err));
        assert_int_equal(all[0], most);
        assert_int_equal(all[1], most_b);
        limited++;
    next:
        tc_arena_free(arena);
    }
    assert_true(given > 300 && refused > 300 && limited > 300);
}

/* What nodes need of one size alone, against all sizes that there are. */
static void test_usable(void **state) {
    (void)state;
    tc_rng g = tc_rng_seed(8);
    int some = 0;
    for (int round = 0; round < 2000; round++) {
        tc_arena *arena = tc_arena_new();
        divided_sum of[] = {{0, {between(&g, 1, 6), 0}, 1}, {0}};
        int64_t first = -1, last = -1;
        tc_graph_size_rule rule = {.name = "a", .least = between(&g, 0, 4), .most = MOST_TRIED, .multiple = between(&g, 1, 3)};
        tc_graph_size_bound limit[2] = {{.least = INT64_MIN, .most = INT64_MAX, .multiple = 1, .what = "a node's"}};
        limit[1] = limit[0];
        limit[0].multiple = between(&g, 1, 8);
        limit[1].least = between(&g, 0, 40);
        of[1] = of[0];
        of[1].constant = between(&g, 0, 3);
        for (int i = 0; i < 2; i++)
            limit[i].x = value_of(arena, "a sum", &of[i]);
        tc_graph_size_rules r = {.nsize = 1, .nlimit = 2, .size = &rule, .limit = limit};
        for (int64_t a = 1; a <= MOST_TRIED; a++) {
            int64_t u = a / rule.multiple;
            bool right = a % rule.multiple == 0 && a >= rule.least && value_at(&of[0], u, 0) % limit[0].multiple == 0 &&
                         value_at(&of[1], u, 0) >= limit[1].least;
            int64_t size[] = {a};
            assert_int_equal(tc_graph_size_rules_complete(&r, size, NULL) == TC_OK, right);
            first = right && first < 0 ? a : first;
            last = right ? a : last;
        }
        if (first < 0)
            goto next;
        int64_t none[] = {-1}, all[1];
        assert_true(tc_graph_size_rules_first(&r, 0) == first || tc_graph_size_rules_first(&r, 0) == 0);
        assert_int_equal(tc_graph_size_rules_most(&r, none, 0), last);
        assert_ok(tc_graph_size_rules_largest(&r, all, err));
        assert_int_equal(all[0], last);
        assert_ok(tc_graph_size_rules_complete(&r, none, err));
        assert_int_equal(none[0], first);
        some++;
    next:
        tc_arena_free(arena);
    }
    assert_true(some > 500);
}

/* A dimension without a name has one of the input's, by which it can be given. */
static tc_graph_writer *nameless(void) {
    tc_graph_writer *w = tc_graph_writer_new("nameless", 17);
    tc_graph_writer_input(w, "x", TC_F32, "?,3");
    tc_graph_writer_output(w, "y", TC_F32, NULL);
    tc_graph_writer_node(w, "Relu", "", "x", "y");
    return w;
}

static void test_nameless(void **state) {
    (void)state;
    tc_graph_binding dim = range("x.shape[0]", 2, 8, 1);
    tc_graph *g = import_ok(nameless(), NULL, 0);
    expect_symbol(g, "x.shape[0]", 1, 16, true);
    tc_graph_free(g);
    g = import_ok(nameless(), &dim, 1);
    expect_symbol(g, "x.shape[0]", 2, 8, false);
    tc_graph_free(g);
    dim.name = "z";
    assert_not_imported(nameless(), &dim, 1, "--shape z", "no input or symbolic dimension of that name", "its inputs are x");
}

/* A failure under assumed sizes says what they are and how to say otherwise. */
static void test_failure_of_assumed(void **state) {
    (void)state;
    tc_graph_writer *w = tc_graph_writer_new("resized", 17);
    tc_graph_writer_input(w, "x", TC_F32, "images,3,height,4");
    tc_graph_writer_output(w, "y", TC_F32, NULL);
    tc_graph_writer_node(w, "MaxPool", "pool", "x", "y,places");
    tc_graph_writer_ints(w, "kernel_shape", "2,2");
    assert_not_imported(w, NULL, 0, "images=1..16, height=1..512", "assumed", "--shape NAME=LEAST..MOST", "node 'pool' (MaxPool)",
                        "needs its size to be known");
}

/* A window that is larger than what it moves over, also where that is another one's result. */
static void test_windows_without_room(void **state) {
    (void)state;
    tc_graph_writer *w = tc_graph_writer_new("windows", 17);
    tc_graph_binding n = range("n", 0, 12, 1);
    tc_graph_writer_input(w, "x", TC_F32, "1,1,n");
    tc_graph_writer_output(w, "y", TC_F32, NULL);
    tc_graph_writer_node(w, "MaxPool", "first", "x", "a");
    tc_graph_writer_ints(w, "kernel_shape", "3");
    tc_graph_writer_ints(w, "strides", "2");
    tc_graph_writer_node(w, "MaxPool", "second", "a", "y");
    tc_graph_writer_ints(w, "kernel_shape", "2");
    tc_graph *g = import_ok(w, &n, 1);
    for (int64_t size = 0; size <= 12; size++) {
        tc_graph_tensor in = counted((tc_graph_shape)DIMS(1, 1, size)), out;
        if (size < 3) {
            assert_fails(TC_BAD_INPUT, tc_graph_eval(g, &in, &out, err), "node 'first' (MaxPool): dimension 2 of 'x'",
                         "must be at least 3");
        } else if (size < 5) {
            assert_fails(TC_BAD_INPUT, tc_graph_eval(g, &in, &out, err), "node 'second' (MaxPool): dimension 2 of 'a'",
                         "must be at least 2");
        } else {
            assert_ok(tc_graph_eval(g, &in, &out, err));
            assert_int_equal(out.shape.d[2], (size - 3) / 2);
            tc_graph_tensor_free(&out);
        }
    }
    tc_graph_free(g);
}

/* ---- other relations ---- */

/* y = x[::2] + half */
static tc_graph_writer *halves(void) {
    tc_graph_writer *w = tc_graph_writer_new("halves", 17);
    tc_graph_writer_input(w, "x", TC_F32, "H");
    tc_graph_writer_input(w, "half", TC_F32, "h");
    tc_graph_writer_output(w, "y", TC_F32, "h");
    tc_graph_writer_weight(w, "from", I64(DIMS(1), 0));
    tc_graph_writer_weight(w, "to", I64(DIMS(1), INT64_MAX));
    tc_graph_writer_weight(w, "axis", I64(DIMS(1), 0));
    tc_graph_writer_weight(w, "step", I64(DIMS(1), 2));
    tc_graph_writer_node(w, "Slice", "", "x,from,to,axis,step", "even");
    tc_graph_writer_node(w, "Add", "", "even,half", "y");
    return w;
}

/* As a library that was loaded: it gives what is evaluated, and refuses what is no half by its name. */
static void expect_built_halves(const tc_graph *g) {
    tc_graph_program *p;
    tc_graph_model *m, *loaded;
    tc_target *target;
    assert_ok(tc_graph_program_new(g, &p, err));
    assert_ok(tc_target_parse("native", &target, err));
    assert_ok(tc_graph_model_build(p, &(tc_graph_build_options){.target = target, .threads = 1}, &m, err));
    assert_ok(tc_graph_model_save(m, SCRATCH("halves.so"), "halves", err));
    assert_ok(tc_graph_model_load(SCRATCH("halves.so"), 0, &loaded, err));
    for (int64_t n = 1; n <= 20; n++) {
        tc_graph_tensor in[] = {counted((tc_graph_shape)DIMS(n)), counted((tc_graph_shape)DIMS((n + 1) / 2))}, out;
        assert_ok(tc_graph_model_run(loaded, in, &out, err));
        assert_true(tc_graph_shape_equal(&out.shape, &in[1].shape));
        for (int64_t i = 0; i < in[1].shape.d[0]; i++)
            assert_true(((float *)out.data)[i] == (float)(3 * i));
        tc_graph_tensor_free(&out);
    }
    for (int64_t wrong = 3; wrong <= 5; wrong += 2) {
        tc_graph_tensor in[] = {counted((tc_graph_shape)DIMS(7)), counted((tc_graph_shape)DIMS(wrong))}, out;
        assert_fails(TC_BAD_INPUT, tc_graph_model_run(loaded, in, &out, err), "dimension 0 of input 'half' is", "'h' must be",
                     "which is 4", "H is 7");
    }
    tc_graph_model_free(loaded);
    tc_graph_model_free(m);
    tc_graph_program_free(p);
    tc_target_free(target);
}

static void test_quotient(void **state) {
    (void)state;
    tc_graph_binding dim = range("H", 1, 20, 1);
    tc_graph *g = import_ok(halves(), &dim, 1);
    expect_symbol(g, "h", 1, 10, true);
    for (int64_t n = 1; n <= 20; n++) {
        tc_graph_tensor in[] = {counted((tc_graph_shape)DIMS(n)), counted((tc_graph_shape)DIMS((n + 1) / 2))}, out;
        assert_ok(tc_graph_eval(g, in, &out, err));
        assert_true(tc_graph_shape_equal(&out.shape, &in[1].shape));
        for (int64_t i = 0; i < in[1].shape.d[0]; i++)
            assert_true(((float *)out.data)[i] == (float)(3 * i));
        tc_graph_tensor_free(&out);
    }
    tc_graph_tensor in[] = {counted((tc_graph_shape)DIMS(7)), counted((tc_graph_shape)DIMS(3))}, out;
    assert_fails(TC_BAD_INPUT, tc_graph_eval(g, in, &out, err), "dimension 0 of input 'half' is 3", "'h' must be", "which is 4",
                 "H is 7");
    expect_built_halves(g);
    tc_graph_free(g);
    dim = range("H", 4, 20, 4); /* of multiples, halves are whole */
    g = import_ok(halves(), &dim, 1);
    expect_symbol(g, "h", 2, 10, true);
    expect_made_of(g, "h", "(H / 4) * 2");
    tc_graph_free(g);
}

/* y = a + b, then y + w where there are weights. */
static tc_graph_writer *sum(bool weights) {
    tc_graph_writer *w = tc_graph_writer_new("sum", 17);
    tc_graph_writer_input(w, "a", TC_F32, "n,1");
    tc_graph_writer_input(w, "b", TC_F32, "m,1");
    tc_graph_writer_output(w, "y", TC_F32, NULL);
    tc_graph_writer_node(w, "Add", "meet", "a,b", weights ? "s" : "y");
    if (weights) {
        tc_graph_writer_weight(w, "w", F32(DIMS(5, 1), 1, 2, 3, 4, 5));
        tc_graph_writer_node(w, "Add", "fixed", "s,w", "y");
    }
    return w;
}

static void test_same_and_fixed(void **state) {
    (void)state;
    tc_graph_tensor in[] = {counted((tc_graph_shape)DIMS(3, 1)), counted((tc_graph_shape)DIMS(4, 1))}, out;
    tc_graph_binding dims[] = {range("n", 1, 6, 1), range("m", 3, 9, 1)};
    tc_graph *g = import_ok(sum(false), dims, 2);
    expect_symbol(g, "n", 3, 6, false); /* what both may be */
    assert_fails(TC_BAD_INPUT, tc_graph_eval(g, in, &out, err), "'n' is 4 in dimension 0 of input 'b', but 3");
    in[1].shape.d[0] = 3;
    assert_ok(tc_graph_eval(g, in, &out, err));
    tc_graph_tensor_free(&out);
    tc_graph_free(g);
    g = import_ok(sum(true), NULL, 0); /* a size that is assumed is what the weights have */
    assert_int_equal(g->symbols.len, 0);
    assert_int_equal(g->inputs.data[1]->shape.d[0], 5);
    assert_fails(TC_BAD_INPUT, tc_graph_eval(g, in, &out, err), "input 'a' must be f32[5,1]");
    tc_graph_free(g);
    assert_not_imported(sum(true), dims, 2, "node 'fixed' (Add)", "'s' (n, at most 6)", "'w' (5)", "must be equal", "--shape");
    dims[1] = range("m", 7, 9, 1);
    assert_not_imported(sum(false), dims, 2, "node 'meet' (Add)", "(n, at most 6)", "(m, at most 9)", "must be equal");
}

/* a twice and b three times; the same of c in the end, if `more`. */
static tc_graph_writer *times(bool more) {
    tc_graph_writer *w = tc_graph_writer_new("times", 17);
    tc_graph_writer_input(w, "a", TC_F32, "n");
    tc_graph_writer_input(w, "b", TC_F32, "m");
    if (more)
        tc_graph_writer_input(w, "c", TC_F32, "k");
    tc_graph_writer_output(w, "y", TC_F32, NULL);
    tc_graph_writer_node(w, "Concat", "", "a,a", "aa");
    tc_graph_writer_int(w, "axis", 0);
    tc_graph_writer_node(w, "Concat", "", "b,b,b", "bbb");
    tc_graph_writer_int(w, "axis", 0);
    tc_graph_writer_node(w, "Add", "meet", "aa,bbb", more ? "s" : "y");
    if (more)
        tc_graph_writer_node(w, "Add", "last", "c,s", "y");
    return w;
}

/* Neither 2 n nor 3 m is free to be the other: runs check that they are the same, and have no more room than both need. */
static void test_neither_is_free(void **state) {
    (void)state;
    tc_graph_binding dims[] = {range("n", 0, 16, 1), range("m", 0, 16, 1)};
    tc_graph *g = import_ok(times(false), dims, 2);
    tc_graph_tensor out;
    expect_symbol(g, "n", 0, 15, false);
    expect_symbol(g, "m", 0, 10, false);
    assert_int_equal(g->outputs.data[0].value->shape.d[0], 30);
    for (int64_t n = 0; n <= 15; n++)
        for (int64_t m = 0; m <= 10; m++) {
            tc_graph_tensor in[] = {counted((tc_graph_shape)DIMS(n)), counted((tc_graph_shape)DIMS(m))};
            char is[80];
            snprintf(is, sizeof is, "n * 2 is %d (n is %d), and m * 3 is %d (m is %d)", 2 * (int)n, (int)n, 3 * (int)m, (int)m);
            if (2 * n != 3 * m) {
                assert_fails(TC_BAD_INPUT, tc_graph_eval(g, in, &out, err), "node 'meet' (Add): dimension 0 of 'aa'",
                             "dimension 0 of 'bbb'", "must be equal, but", is);
                continue;
            }
            assert_ok(tc_graph_eval(g, in, &out, err));
            assert_int_equal(out.shape.d[0], 2 * n);
            for (int64_t i = 0; i < 2 * n; i++)
                assert_true(((float *)out.data)[i] == (float)(i % n + i % m));
            tc_graph_tensor_free(&out);
        }
    tc_graph_tensor in[] = {counted((tc_graph_shape)DIMS(15)), counted((tc_graph_shape)DIMS(11))};
    assert_fails(TC_BAD_INPUT, tc_graph_eval(g, in, &out, err), "dimension 0 of input 'b' is 11",
                 "'m' fits the other sizes as 0..10");
    tc_graph_free(g);
}

static void repeated(tc_graph_writer *w, const char *list, const char *to) {
    tc_graph_writer_node(w, "Concat", "", list, to);
    tc_graph_writer_int(w, "axis", 0);
}

/* n + m, 2 k and 3 j: what one leaves the second is left of the first as well. */
static void test_three_equal(void **state) {
    (void)state;
    tc_graph_writer *w = tc_graph_writer_new("three", 17);
    tc_graph_writer_input(w, "a", TC_F32, "n");
    tc_graph_writer_input(w, "b", TC_F32, "m");
    tc_graph_writer_input(w, "c", TC_F32, "k");
    tc_graph_writer_input(w, "d", TC_F32, "j");
    tc_graph_writer_output(w, "y", TC_F32, NULL);
    repeated(w, "a,b", "ab");
    repeated(w, "c,c", "cc");
    repeated(w, "d,d,d", "ddd");
    tc_graph_writer_node(w, "Add", "first", "ab,cc", "s");
    tc_graph_writer_node(w, "Add", "second", "cc,ddd", "t");
    tc_graph_writer_node(w, "Mul", "third", "ddd,ab", "u");
    tc_graph_writer_node(w, "Sub", "", "s,t", "v");
    tc_graph_writer_node(w, "Add", "", "u,v", "y");
    tc_graph_binding dims[] = {range("n", 1, 6, 1), range("m", 1, 6, 1), range("k", 1, 5, 1), range("j", 1, 4, 1)};
    tc_graph *g = import_ok(w, dims, TC_LEN(dims));
    assert_int_equal(g->outputs.data[0].value->shape.d[0], 6); /* of 3, 6, 9, 12 and 2, 4, 6, 8, 10 nothing else is left */
    expect_symbol(g, "k", 3, 3, false);
    tc_arena *a = tc_arena_new();
    tc_graph_size_rules r;
    int64_t most[4];
    tc_graph_size_rules_of(g, a, &r);
    assert_ok(tc_graph_size_rules_largest(&r, most, err));
    assert_int_equal(most[0] + most[1], 6);
    tc_arena_free(a);
    tc_graph_tensor out;
    for (int64_t n = 1; n <= 5; n++) {
        tc_graph_tensor in[] = {counted((tc_graph_shape)DIMS(n)), counted((tc_graph_shape)DIMS(6 - n)),
                                counted((tc_graph_shape)DIMS(3)), counted((tc_graph_shape)DIMS(2))};
        assert_ok(tc_graph_eval(g, in, &out, err));
        for (int64_t i = 0; i < 6; i++) {
            float ab = (float)(i < n ? i : i - n), d = (float)(i % 2);
            assert_true(((float *)out.data)[i] == d * ab + ab - d);
        }
        tc_graph_tensor_free(&out);
        in[0].shape.d[0] = n + 1;
        if (n < 5)
            assert_fails(TC_BAD_INPUT, tc_graph_eval(g, in, &out, err), "must be equal, but", "is 7", "is 6");
    }
    tc_graph_free(g);
}

/* What is the same as another size may be what a third one is made of. */
static void test_equal_and_made_of(void **state) {
    (void)state;
    tc_graph *g = import_ok(times(true), NULL, 0);
    tc_graph_tensor out;
    expect_made_of(g, "k", "n * 2");
    tc_graph_tensor in[] = {counted((tc_graph_shape)DIMS(6)), counted((tc_graph_shape)DIMS(4)),
                            counted((tc_graph_shape)DIMS(12))};
    assert_ok(tc_graph_eval(g, in, &out, err));
    assert_true(((float *)out.data)[11] == 11 + 5 + 3);
    tc_graph_tensor_free(&out);
    in[2].shape.d[0] = 10;
    assert_fails(TC_BAD_INPUT, tc_graph_eval(g, in, &out, err), "'k' must be n * 2, which is 12");
    in[2].shape.d[0] = 12;
    in[1].shape.d[0] = 5;
    assert_fails(TC_BAD_INPUT, tc_graph_eval(g, in, &out, err), "must be equal, but n * 2 is 12 (n is 6), and m * 3 is 15");
    tc_graph_free(g);
}

/* x twice, or with one more if `one` is, meets what there are `n` of. */
static tc_graph_writer *against(const char *nodes, int64_t n) {
    static float zeros[16];
    tc_graph_writer *w = tc_graph_writer_new("against", 17);
    tc_graph_shape shape = DIMS(n);
    tc_graph_writer_input(w, "a", TC_F32, "n");
    tc_graph_writer_output(w, "y", TC_F32, NULL);
    tc_graph_writer_weight(w, "w", tc_graph_tensor_view(TC_F32, &shape, zeros));
    tc_graph_writer_weight(w, "one", F32(DIMS(1), 1));
    tc_graph_writer_node(w, "Concat", "join", nodes, "s");
    tc_graph_writer_int(w, "axis", 0);
    tc_graph_writer_node(w, "Add", "meet", "s,w", "y");
    return w;
}

/* A size of which nobody said anything is what a fixed one leaves it. No range is made a single size, and what cannot be is refused. */
static void test_meets_fixed(void **state) {
    (void)state;
    tc_graph_binding dims[] = {range("n", 1, 9, 1), range("m", 4, 9, 1)};
    tc_graph *g = import_ok(against("a,a", 8), NULL, 0);
    assert_int_equal(g->symbols.len, 0);
    assert_int_equal(g->inputs.data[0]->shape.d[0], 4);
    tc_graph_free(g);
    g = import_ok(against("a,one", 8), NULL, 0);
    assert_int_equal(g->inputs.data[0]->shape.d[0], 7);
    tc_graph_free(g);
    assert_not_imported(against("a,a", 7), NULL, 0, "node 'meet' (Add)", "'s' (n * 2", "'w' (7)", "must be equal", "--shape");
    assert_not_imported(against("a,a", 8), dims, 1, "node 'meet' (Add)", "'s' (n * 2", "'w' (8)", "must be equal", "--shape");
    dims[0] = range("n", 1, 5, 1); /* 2 to 10, and 12 to 27 */
    assert_not_imported(times(false), dims, 2, "node 'meet' (Add)", "'aa' (n * 2, at most 10)", "'bbb' (m * 3, at most 27)",
                        "must be equal", "varies is not broadcast");
}

static tc_graph_writer *product(void) {
    tc_graph_writer *w = tc_graph_writer_new("product", 17);
    tc_graph_writer_input(w, "a", TC_F32, "2,k");
    tc_graph_writer_input(w, "b", TC_F32, "l,2");
    tc_graph_writer_output(w, "y", TC_F32, NULL);
    tc_graph_writer_node(w, "MatMul", "", "a,b", "y");
    return w;
}

/* Only what is there is summed. */
static void test_inner_dimension(void **state) {
    (void)state;
    tc_graph_binding dim = range("k", 1, 6, 1);
    tc_graph *g = import_ok(product(), &dim, 1);
    for (int64_t k = 1; k <= 6; k++) {
        tc_graph_tensor in[] = {counted((tc_graph_shape)DIMS(2, k)), counted((tc_graph_shape)DIMS(k, 2))}, out;
        float want = 0;
        for (int64_t i = 0; i < k; i++)
            want += (float)(i * 2 * i);
        assert_ok(tc_graph_eval(g, in, &out, err));
        assert_true(*(float *)out.data == want);
        tc_graph_tensor_free(&out);
    }
    tc_graph_tensor in[] = {counted((tc_graph_shape)DIMS(2, 3)), counted((tc_graph_shape)DIMS(4, 2))}, out;
    assert_fails(TC_BAD_INPUT, tc_graph_eval(g, in, &out, err), "'k' is 4 in dimension 0 of input 'b', but 3");
    tc_graph_free(g);
}

/* ---- as many as a table has ---- */

/* y = x + table[:n]: x has n rows; with a past, Concat(old, x). */
static tc_graph_writer *positions(bool past) {
    tc_graph_writer *w = tc_graph_writer_new("positions", 17);
    tc_graph_writer_input(w, "x", TC_F32, "n");
    if (past)
        tc_graph_writer_input(w, "old", TC_F32, "past");
    tc_graph_writer_output(w, "y", TC_F32, NULL);
    tc_graph_writer_weight(w, "table", F32(DIMS(8), 10, 11, 12, 13, 14, 15, 16, 17));
    tc_graph_writer_weight(w, "from", I64(DIMS(1), 0));
    if (past) {
        tc_graph_writer_node(w, "Concat", "", "old,x", "all");
        tc_graph_writer_int(w, "axis", 0);
    }
    tc_graph_writer_node(w, "Shape", "", past ? "all" : "x", "to");
    tc_graph_writer_node(w, "Slice", "", "table,from,to", "rows");
    tc_graph_writer_node(w, "Add", "place", past ? "all,rows" : "x,rows", "y");
    return w;
}

static void test_table(void **state) {
    (void)state;
    tc_graph *g = import_ok(positions(false), NULL, 0);
    expect_symbol(g, "n", 1, 8, true);
    tc_graph_free(g);
    tc_graph_binding dims[] = {range("n", 1, 9, 1), range("past", 0, 100, 1)};
    assert_not_imported(positions(false), dims, 1, "node 'place' (Add)", "'x' (n, at most 9)", "min(n, 8)", "--shape");
    g = import_ok(positions(true), dims + 1, 1);
    expect_symbol(g, "n", 1, 8, true);
    expect_symbol(g, "past", 0, 100, false);
    assert_int_equal(g->outputs.data[0].value->shape.d[0], 8);
    tc_graph_tensor in[] = {counted((tc_graph_shape)DIMS(5)), counted((tc_graph_shape)DIMS(3))}, out;
    assert_ok(tc_graph_eval(g, in, &out, err));
    assert_true(tc_graph_shape_equal(&out.shape, &(tc_graph_shape)DIMS(8)));
    assert_true(((float *)out.data)[7] == 4 + 17);
    tc_graph_tensor_free(&out);
    in[1].shape.d[0] = 4;
    assert_fails(TC_BAD_INPUT, tc_graph_eval(g, in, &out, err), "n + past is 9", "n is 5", "past is 4", "at most 8");
    tc_graph_free(g);
}

/* What is assumed goes together; what is given is no less for it. */
static void test_shared_table(void **state) {
    (void)state;
    tc_graph *g = import_ok(positions(true), NULL, 0);
    expect_symbol(g, "n", 1, 2, true);
    expect_symbol(g, "past", 0, 6, true);
    tc_graph_free(g);
    tc_graph_binding few = range("n", 1, 3, 1), all = range("n", 1, 8, 1);
    g = import_ok(positions(true), &few, 1);
    expect_symbol(g, "past", 0, 5, true);
    tc_graph_free(g);
    g = import_ok(positions(true), &all, 1);
    expect_symbol(g, "past", 0, 7, true);
    tc_graph_free(g);
}

/* ---- what cannot be bounded, and what no memory holds ---- */

static void test_without_bounds(void **state) {
    (void)state;
    tc_graph_writer *w = tc_graph_writer_new("open", 17);
    tc_graph_writer_input(w, "count", TC_I64, "1");
    tc_graph_writer_output(w, "y", TC_F32, NULL);
    tc_graph_writer_node(w, "ConstantOfShape", "fill", "count", "y");
    assert_not_imported(w, NULL, 0, "node 'fill' (ConstantOfShape)", "shape[0]", "without a known largest value");
    tc_graph_binding huge[] = {range("n", 1, INT64_MAX, 1), range("m", 1, INT64_MAX, 1)};
    assert_not_imported(sum(false), huge, 2, "input 'a'");
    huge[0] = range("past", 0, INT64_MAX / 16, 1);
    huge[1] = range("sequence", 1, INT64_MAX / 16, 1);
    assert_not_imported(cache(), huge, 2, "input 'old'", "overflows");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_total),
        cmocka_unit_test(test_given_total),
        cmocka_unit_test(test_assumed),
        cmocka_unit_test(test_nameless),
        cmocka_unit_test(test_program),
        cmocka_unit_test(test_failure_of_assumed),
        cmocka_unit_test(test_windows_without_room),
        cmocka_unit_test(test_quotient),
        cmocka_unit_test(test_same_and_fixed),
        cmocka_unit_test(test_neither_is_free),
        cmocka_unit_test(test_three_equal),
        cmocka_unit_test(test_equal_and_made_of),
        cmocka_unit_test(test_meets_fixed),
        cmocka_unit_test(test_inner_dimension),
        cmocka_unit_test(test_table),
        cmocka_unit_test(test_shared_table),
        cmocka_unit_test(test_without_bounds),
        cmocka_unit_test(test_completed),
        cmocka_unit_test(test_usable),
        cmocka_unit_test(test_names_with_commas),
        cmocka_unit_test(test_varying_divisor),
        cmocka_unit_test(test_folded_and_back),
        cmocka_unit_test(test_joined_zeros),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
