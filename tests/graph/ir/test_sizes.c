/* Sizes that vary from run to run: what import assumes of them, how it relates them, and what a run's inputs are refused for. */
#define SIZES_MODEL "sizes.onnx"
#include "graph/ir/sizes_common.h"
#include "graph/model/model.h"
#include "graph/model/parts.h"
#include "graph/ops/ops.h"
#include "graph/saved/saved.h"

#include <math.h>

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
                 "'sequence' was given as 1..4", "build the model with --shape sequence=1..5");
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

/* [n, m] as [-1, 4], and in one row again: as many as there were, as runs check that 4 divides them. */
static void test_fours_and_back(void **state) {
    (void)state;
    tc_graph_binding dims[] = {range("n", 0, 6, 1), range("m", 1, 6, 1)};
    tc_graph_writer *w = tc_graph_writer_new("fours", 17);
    tc_graph_writer_input(w, "x", TC_F32, "n,m,6");
    tc_graph_writer_output(w, "u", TC_F32, NULL);
    tc_graph_writer_weight(w, "fours", I64(DIMS(2), -1, 4));
    tc_graph_writer_weight(w, "open", tc_graph_tensor_view(TC_I64, &(tc_graph_shape)DIMS(1), &(int64_t){-1}));
    tc_graph_writer_weight(w, "column", F32(DIMS(4), 0, 1, 2, 3));
    tc_graph_writer_node(w, "Reshape", "fold", "x,fours", "z");
    tc_graph_writer_node(w, "Add", "", "z,column", "s");
    tc_graph_writer_node(w, "Reshape", "back", "s,open", "t");
    tc_graph_writer_node(w, "Reshape", "flat", "x,open", "f");
    tc_graph_writer_node(w, "Mul", "", "t,f", "u");
    tc_graph *g = import_ok(w, dims, TC_LEN(dims));
    assert_int_equal(g->sizes->limits.len, 1); /* and not that both factors are as long */
    assert_int_equal(g->outputs.data[0].value->shape.d[0], 216);
    built b = build(g);
    for (int64_t n = 0; n <= 6; n++)
        for (int64_t m = 1; m <= 6; m++) {
            tc_graph_tensor in = counted((tc_graph_shape)DIMS(n, m, 6)), out;
            if (n * m % 2 != 0) {
                assert_fails(TC_BAD_INPUT, tc_graph_model_run(b.m, &in, &out, err), "node 'fold' (Reshape)",
                             "must be a multiple of 4");
                continue;
            }
            assert_ok(tc_graph_model_run(b.m, &in, &out, err));
            assert_int_equal(out.shape.d[0], n * m * 6);
            for (int64_t i = 0; i < out.shape.d[0]; i++)
                assert_true(((float *)out.data)[i] == (float)(i * (i + i % 4)));
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
    assert_not_imported(nameless(), &dim, 1, "--shape z", "no input or symbolic dimension of that name", "there is only x");
}

/* A failure under assumed sizes says what they are and how to say otherwise. */
static void test_failure_of_assumed(void **state) {
    (void)state;
    tc_graph_writer *w = tc_graph_writer_new("resized", 17);
    tc_graph_writer_input(w, "x", TC_F32, "images,3,height,4");
    tc_graph_writer_output(w, "y", TC_F32, NULL);
    tc_graph_writer_weight(w, "regions", F32(DIMS(1, 5), 0, 0, 0, 1, 1));
    tc_graph_writer_node(w, "MaxRoiPool", "pool", "x,regions", "y");
    tc_graph_writer_ints(w, "pooled_shape", "2,2");
    assert_not_imported(w, NULL, 0, "images=1..16, height=1..512", "assumed", "--shape NAME=LEAST..MOST",
                        "node 'pool' (MaxRoiPool)", "needs its size to be known");
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

/* x [n, 3] without its first dimension, or without all that are 1. */
static tc_graph_writer *squeezed(bool all) {
    tc_graph_writer *w = tc_graph_writer_new("squeezed", 17);
    tc_graph_writer_input(w, "x", TC_F32, "n,3");
    tc_graph_writer_output(w, "y", TC_F32, NULL);
    tc_graph_writer_weight(w, "axis", I64(DIMS(1), 0));
    tc_graph_writer_node(w, "Squeeze", "squeeze", all ? "x" : "x,axis", "y");
    return w;
}

/* Of n from `least` on, sizes that are to be 1, or not to be, and what is said of others. */
static void check_squeezed(bool all, int64_t least, const char *why) {
    tc_graph_binding n = range("n", least, 4, 1);
    tc_graph *g = import_ok(squeezed(all), &n, 1);
    for (int64_t size = least; size <= 4; size++) {
        tc_graph_tensor in = counted((tc_graph_shape)DIMS(size, 3)), out;
        if ((size == 1) == all) {
            assert_fails(TC_BAD_INPUT, tc_graph_eval(g, &in, &out, err), "node 'squeeze' (Squeeze): dimension 0 of 'x'", why);
            continue;
        }
        assert_ok(tc_graph_eval(g, &in, &out, err));
        assert_int_equal(out.shape.ndim, all ? 2 : 1);
        assert_memory_equal(out.data, in.data, (size_t)(size * 3) * sizeof(float));
        tc_graph_tensor_free(&out);
    }
    tc_graph_free(g);
}

static void test_squeezed(void **state) {
    (void)state;
    check_squeezed(false, 0, "must be 1");
    check_squeezed(true, 0, "the number of dimensions of a result cannot vary");
    check_squeezed(true, 1, "the number of dimensions of a result cannot vary");
    tc_graph *g = import_ok(squeezed(false), NULL, 0); /* a size that is assumed is 1 */
    assert_int_equal(g->symbols.len, 0);
    assert_int_equal(g->inputs.data[0]->shape.d[0], 1);
    tc_graph_free(g);
    tc_graph_binding n = range("n", 2, 4, 1);
    assert_not_imported(squeezed(false), &n, 1, "node 'squeeze' (Squeeze)", "there is no run in which dimension 0 of 'x' is 1");
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
    w = tc_graph_writer_new("sum", 17);
    tc_graph_writer_input(w, "a", TC_F32, "n,1");
    tc_graph_writer_input(w, "b", TC_F32, "m,1");
    tc_graph_writer_output(w, "y", TC_F32, NULL);
    tc_graph_writer_node(w, "Add", "", "a,b", "y");
    assert_not_imported(w, huge, 2, "input 'a'");
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
        cmocka_unit_test(test_squeezed),
        cmocka_unit_test(test_table),
        cmocka_unit_test(test_shared_table),
        cmocka_unit_test(test_without_bounds),
        cmocka_unit_test(test_completed),
        cmocka_unit_test(test_usable),
        cmocka_unit_test(test_names_with_commas),
        cmocka_unit_test(test_varying_divisor),
        cmocka_unit_test(test_folded_and_back),
        cmocka_unit_test(test_fours_and_back),
        cmocka_unit_test(test_joined_zeros),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
