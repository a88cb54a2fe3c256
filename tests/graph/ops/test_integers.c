/* Integers are computed exactly, also beyond 2^53, where a double holds no longer all of them: folded at import, evaluated,
 * interpreted and compiled give the same numbers, which wrap like their type. Means are those of sums that do not overflow. */
#include <math.h>

#include "graph/ir/build.h"
#define EXACT_MODEL "integers.onnx"
#define EXACT_SEED 53
#include "graph/ops/exact.h"

static const tc_dtype types[] = {TC_I64, TC_U64, TC_I32, TC_U32};

typedef __int128 wide;

/* What a double would round, the ends of the types, and what lies beside both. */
static int64_t edge(fixture *f, tc_dtype t) {
    static const int64_t edges[] = {0,
                                    1,
                                    -1,
                                    2,
                                    -3,
                                    41,
                                    INT32_MAX,
                                    INT32_MIN,
                                    (int64_t)1 << 30,
                                    UINT32_MAX,
                                    ((int64_t)1 << 53) - 1,
                                    (int64_t)1 << 53,
                                    ((int64_t)1 << 53) + 1,
                                    ((int64_t)1 << 53) + 2,
                                    -((int64_t)1 << 53) - 1,
                                    (int64_t)1 << 62,
                                    ((int64_t)1 << 62) + 1,
                                    INT64_MAX,
                                    INT64_MAX - 1,
                                    INT64_MIN,
                                    INT64_MIN + 1};
    return tc_wrap_i(t, edges[tc_rng_below(&f->rng, TC_LEN(edges))]);
}

static int64_t at(const tc_graph_tensor *t, int64_t i) {
    return tc_load_i(t->dtype, t->data, i);
}

static void put(tc_graph_tensor *t, int64_t i, int64_t v) {
    tc_store_i(t->dtype, t->data, i, v);
}

static wide value(const tc_graph_tensor *t, int64_t i) {
    return t->dtype == TC_U64 ? (wide)(uint64_t)at(t, i) : (wide)at(t, i);
}

static tc_graph_tensor edges(fixture *f, tc_dtype t, tc_graph_shape s) {
    tc_graph_tensor v = exact_tensor(f->arena, t, &s);
    for (int64_t i = 0; i < tc_graph_tensor_count(&v); i++)
        put(&v, i, edge(f, t));
    return v;
}

/* ---- rows ---- */

enum { ROWS = 24, LENGTH = 5 };

typedef wide row_value(const wide *x);

static wide total(const wide *x) {
    wide r = 0;
    for (int i = 0; i < LENGTH; i++)
        r += x[i];
    return r;
}

static wide magnitudes(const wide *x) {
    wide r = 0;
    for (int i = 0; i < LENGTH; i++)
        r += x[i] < 0 ? -x[i] : x[i];
    return r;
}

/* Unsigned arithmetic: these wrap even beyond the wide type. */
static wide squares(const wide *x) {
    unsigned __int128 r = 0;
    for (int i = 0; i < LENGTH; i++)
        r += (unsigned __int128)x[i] * (unsigned __int128)x[i];
    return (wide)r;
}

static wide product(const wide *x) {
    unsigned __int128 r = 1;
    for (int i = 0; i < LENGTH; i++)
        r *= (unsigned __int128)x[i];
    return (wide)r;
}

static wide largest(const wide *x) {
    wide r = x[0];
    for (int i = 1; i < LENGTH; i++)
        r = x[i] > r ? x[i] : r;
    return r;
}

static wide smallest(const wide *x) {
    wide r = x[0];
    for (int i = 1; i < LENGTH; i++)
        r = x[i] < r ? x[i] : r;
    return r;
}

static wide mean(const wide *x) {
    return total(x) / LENGTH;
}

static wide place(const wide *x, wide v, bool last) {
    int r = last ? LENGTH - 1 : 0;
    while (x[r] != v)
        r += last ? -1 : 1;
    return r;
}

static wide first_largest(const wide *x) {
    return place(x, largest(x), false);
}

static wide last_largest(const wide *x) {
    return place(x, largest(x), true);
}

static wide first_smallest(const wide *x) {
    return place(x, smallest(x), false);
}

static wide last_smallest(const wide *x) {
    return place(x, smallest(x), true);
}

static const struct {
    const char *op, *attrs;
    row_value *f;
    bool is_place;
} row_ops[] = {
    {"ReduceSum", "keepdims:i=0", total, false},
    {"ReduceL1", "keepdims:i=0 axes:I=1", magnitudes, false},
    {"ReduceSumSquare", "keepdims:i=0 axes:I=1", squares, false},
    {"ReduceProd", "keepdims:i=0 axes:I=1", product, false},
    {"ReduceMax", "keepdims:i=0 axes:I=1", largest, false},
    {"ReduceMin", "keepdims:i=0 axes:I=1", smallest, false},
    {"ReduceMean", "keepdims:i=0 axes:I=1", mean, false},
    {"ArgMax", "keepdims:i=0 axis:i=1", first_largest, true},
    {"ArgMax", "keepdims:i=0 axis:i=1 select_last_index:i=1", last_largest, true},
    {"ArgMin", "keepdims:i=0 axis:i=1", first_smallest, true},
    {"ArgMin", "keepdims:i=0 axis:i=1 select_last_index:i=1", last_smallest, true},
};

static void test_rows(void **state) {
    static const int64_t axis = 1;
    fixture *f = *state;
    for (size_t t = 0; t < TC_LEN(types); t++)
        for (size_t k = 0; k < TC_LEN(row_ops); k++) {
            bool by_input = strcmp(row_ops[k].op, "ReduceSum") == 0;
            exact e = {.name = row_ops[k].op,
                       .opset = 17,
                       .step = {{row_ops[k].op, by_input ? "a,b" : "a", "x", row_ops[k].attrs}},
                       .nconst = by_input};
            e.in[0] = edges(f, types[t], (tc_graph_shape){2, {ROWS, LENGTH}});
            if (by_input)
                e.in[1] = i64_tensor((tc_graph_shape){1, {1}}, &axis);
            e.want[0] = exact_tensor(f->arena, row_ops[k].is_place ? TC_I64 : types[t], &(tc_graph_shape){1, {ROWS}});
            for (int r = 0; r < ROWS; r++) {
                wide x[LENGTH];
                for (int i = 0; i < LENGTH; i++)
                    x[i] = value(&e.in[0], r * LENGTH + i);
                put(&e.want[0], r, (int64_t)row_ops[k].f(x));
            }
            exact_in_every_way(&e, f->target);
        }
}

static void test_running_sums(void **state) {
    static const int64_t axis = 1;
    fixture *f = *state;
    for (size_t t = 0; t < TC_LEN(types); t++)
        for (int how = 0; how < 4; how++) {
            bool exclusive = how & 1, reverse = how & 2;
            char attrs[48];
            snprintf(attrs, sizeof attrs, "exclusive:i=%d reverse:i=%d", exclusive, reverse);
            exact e = {.name = "CumSum", .opset = 17, .step = {{"CumSum", "a,b", "x", attrs}}, .nconst = 1};
            e.in[0] = edges(f, types[t], (tc_graph_shape){2, {ROWS, LENGTH}});
            e.in[1] = i64_tensor((tc_graph_shape){0}, &axis);
            e.want[0] = exact_tensor(f->arena, types[t], &e.in[0].shape);
            for (int r = 0; r < ROWS; r++) {
                wide sum = 0;
                for (int i = 0; i < LENGTH; i++) {
                    int to = r * LENGTH + (reverse ? LENGTH - 1 - i : i);
                    wide own = value(&e.in[0], to);
                    put(&e.want[0], to, (int64_t)(exclusive ? sum : sum + own));
                    sum += own;
                }
            }
            exact_in_every_way(&e, f->target);
        }
}

/* The mean where the number of rows varies: it is asked for when the model runs. */
static void test_means_of_sizes(void **state) {
    fixture *f = *state;
    for (size_t t = 0; t < TC_LEN(types); t++) {
        tc_graph_writer *w = tc_graph_writer_new("mean", 17);
        tc_graph_binding sizes;
        tc_graph *g;
        tc_graph_program *p;
        tc_graph_model *m;
        tc_graph_writer_input(w, "x", types[t], "n");
        tc_graph_writer_node(w, "ReduceMean", "", "x", "y");
        tc_graph_writer_int(w, "keepdims", 0);
        tc_graph_writer_output(w, "y", types[t], "");
        assert_ok(tc_graph_binding_parse("n=1..9", &sizes, err));
        assert_ok(import_model(w, SCRATCH(EXACT_MODEL), &(tc_graph_import_options){.shapes = &sizes, .nshapes = 1}, &g, err));
        tc_graph_tensor x[10], got, want[10];
        for (int64_t n = 1; n < 10; n++) {
            wide sum = 0;
            x[n] = edges(f, types[t], (tc_graph_shape){1, {n}});
            want[n] = exact_tensor(f->arena, types[t], &(tc_graph_shape){0});
            for (int64_t i = 0; i < n; i++)
                sum += value(&x[n], i);
            put(&want[n], 0, (int64_t)(sum / n));
            assert_ok(tc_graph_eval(g, &x[n], &got, err));
            assert_int_equal(at(&got, 0), at(&want[n], 0));
            tc_graph_tensor_free(&got);
        }
        assert_ok(tc_graph_passes(g, NULL, err));
        assert_ok(tc_graph_program_new(g, &p, err));
        assert_ok(tc_graph_model_build(p, &(tc_graph_build_options){.target = f->target, .threads = 1}, &m, err));
        for (int64_t n = 1; n < 10; n++) {
            assert_ok(tc_graph_model_run(m, &x[n], &got, err));
            assert_int_equal(at(&got, 0), at(&want[n], 0));
            tc_graph_tensor_free(&got);
        }
        tc_graph_model_free(m);
        tc_graph_program_free(p);
        tc_graph_free(g);
        free((char *)(uintptr_t)sizes.name);
    }
}

/* ---- elements ---- */

static wide difference(wide a, wide b) {
    return a - b;
}

static wide sum(wide a, wide b) {
    return a + b;
}

static wide times(wide a, wide b) {
    return (wide)((unsigned __int128)a * (unsigned __int128)b);
}

static wide quotient(wide a, wide b) {
    return a / b;
}

static wide remainder_of_divisor(wide a, wide b) {
    return a % b && (a % b < 0) != (b < 0) ? a % b + b : a % b;
}

static wide remainder_of_dividend(wide a, wide b) {
    return a % b;
}

static wide larger(wide a, wide b) {
    return a > b ? a : b;
}

static wide smaller(wide a, wide b) {
    return a < b ? a : b;
}

static wide equal(wide a, wide b) {
    return a == b;
}

static wide less(wide a, wide b) {
    return a < b;
}

static const struct {
    const char *op, *attrs;
    wide (*f)(wide a, wide b);
    bool is_bool;
} pair_ops[] = {
    {"Add", NULL, sum, false},
    {"Sub", NULL, difference, false},
    {"Mul", NULL, times, false},
    {"Div", NULL, quotient, false},
    {"Mod", NULL, remainder_of_divisor, false},
    {"Mod", "fmod:i=1", remainder_of_dividend, false},
    {"Max", NULL, larger, false},
    {"Min", NULL, smaller, false},
    {"Equal", NULL, equal, true},
    {"Less", NULL, less, true},
};

static void test_pairs(void **state) {
    enum { N = 100 };
    fixture *f = *state;
    for (size_t t = 0; t < TC_LEN(types); t++)
        for (size_t k = 0; k < TC_LEN(pair_ops); k++) {
            exact e = {.name = pair_ops[k].op, .opset = 17, .step = {{pair_ops[k].op, "a,b", "x", pair_ops[k].attrs}}};
            for (int i = 0; i < 2; i++)
                e.in[i] = edges(f, types[t], (tc_graph_shape){1, {N}});
            e.want[0] = exact_tensor(f->arena, pair_ops[k].is_bool ? TC_BOOL : types[t], &e.in[0].shape);
            for (int i = 0; i < N; i++) {
                if (at(&e.in[1], i) == 0) /* a quotient by 0 is refused */
                    put(&e.in[1], i, 1);
                put(&e.want[0], i, (int64_t)pair_ops[k].f(value(&e.in[0], i), value(&e.in[1], i)));
            }
            exact_in_every_way(&e, f->target);
        }
}

/* An integer to the power of an integer wraps like the base's type. A negative power is rounded towards 0; those of 0 are left out. */
static wide power(wide a, wide b) {
    if (b < 0)
        return a == 1 ? 1 : a == -1 ? (b % 2 ? -1 : 1) : 0;
    unsigned __int128 r = 1, square = (unsigned __int128)a;
    for (; b; b /= 2, square *= square)
        r *= b % 2 ? square : 1;
    return (wide)r;
}

static void expect_powers(fixture *f, tc_dtype base, tc_dtype exponent, bool constant) {
    enum { N = 80 };
    exact e = {.name = "Pow", .opset = 17, .step = {{"Pow", "a,b", "x", NULL}}, .nconst = constant};
    tc_graph_shape one = {0}, all = {1, {N}};
    e.in[0] = edges(f, base, all);
    e.in[1] = edges(f, exponent, constant ? one : all);
    e.want[0] = exact_tensor(f->arena, base, &all);
    for (int i = 0; i < N; i++) {
        int64_t k = constant ? 0 : i;
        if (value(&e.in[0], i) == 0 && value(&e.in[1], k) < 0)
            put(&e.in[0], i, 1);
        put(&e.want[0], i, (int64_t)power(value(&e.in[0], i), value(&e.in[1], k)));
    }
    exact_in_every_way(&e, f->target);
}

/* Exponents of all integer types, also beyond 2^53, and constant ones, which become products. */
static void test_powers(void **state) {
    static const tc_dtype exponents[] = {TC_I64, TC_U64, TC_I32, TC_U32, TC_I16, TC_U8};
    enum { CONSTANTS = 2 };
    fixture *f = *state;
    for (size_t t = 0; t < TC_LEN(types); t++)
        for (size_t k = 0; k < TC_LEN(exponents); k++) {
            expect_powers(f, types[t], exponents[k], false);
            for (int i = 0; i < CONSTANTS; i++)
                expect_powers(f, types[t], exponents[k], true);
        }
}

static void test_casts(void **state) {
    static const tc_dtype all[] = {TC_I64, TC_U64, TC_I32, TC_U32, TC_I16, TC_U8, TC_BOOL};
    enum { N = 60 };
    fixture *f = *state;
    for (size_t t = 0; t < TC_LEN(all); t++)
        for (size_t to = 0; to < TC_LEN(all); to++) {
            char attrs[16];
            if (t == to)
                continue;
            snprintf(attrs, sizeof attrs, "to:i=%d", (int)tc_graph_dtype_to_onnx(all[to]));
            exact e = {.name = "Cast", .opset = 17, .step = {{"Cast", "a", "x", attrs}}};
            e.in[0] = edges(f, all[t], (tc_graph_shape){1, {N}});
            e.want[0] = exact_tensor(f->arena, all[to], &e.in[0].shape);
            for (int i = 0; i < N; i++)
                put(&e.want[0], i, tc_wrap_i(all[to], at(&e.in[0], i)));
            exact_in_every_way(&e, f->target);
        }
}

/* ---- products ---- */

/* alpha * a b + beta * c, of which MatMul is the first part */
static void test_products(void **state) {
    enum { M = 3, K = 4, N = 5, ALPHA = 3, BETA = -2 };
    fixture *f = *state;
    for (size_t t = 0; t < TC_LEN(types); t++)
        for (int how = 0; how < 3; how++) { /* MatMul, Gemm, and Gemm of transposed operands */
            bool turned = how == 2;
            exact e = {.name = how ? "Gemm" : "MatMul", .opset = 17};
            e.step[0] = (exact_step){"MatMul", "a,b", "x", NULL};
            if (how)
                e.step[0] = (exact_step){"Gemm", "a,b,c", "x",
                                         turned ? "alpha:f=3 beta:f=-2 transA:i=1 transB:i=1" : "alpha:f=3 beta:f=-2"};
            e.in[0] = edges(f, types[t], turned ? (tc_graph_shape){2, {K, M}} : (tc_graph_shape){2, {M, K}});
            e.in[1] = edges(f, types[t], turned ? (tc_graph_shape){2, {N, K}} : (tc_graph_shape){2, {K, N}});
            if (how)
                e.in[2] = edges(f, types[t], (tc_graph_shape){1, {N}});
            e.want[0] = exact_tensor(f->arena, types[t], &(tc_graph_shape){2, {M, N}});
            for (int i = 0; i < M * N; i++) {
                uint64_t s = 0;
                for (int k = 0; k < K; k++)
                    s += (uint64_t)at(&e.in[0], turned ? k * M + i / N : i / N * K + k) *
                         (uint64_t)at(&e.in[1], turned ? i % N * K + k : k * N + i % N);
                if (how)
                    s = (uint64_t)ALPHA * s + (uint64_t)BETA * (uint64_t)at(&e.in[2], i % N);
                put(&e.want[0], i, (int64_t)s);
            }
            exact_in_every_way(&e, f->target);
        }
}

static void test_refused_factors(void **state) {
    fixture *f = *state;
    exact e = {.name = "Gemm", .opset = 17, .step = {{"Gemm", "a,b,c", "x", "alpha:f=0.5"}}};
    for (int k = 0; k < 3; k++)
        e.in[k] = edges(f, TC_I64, (tc_graph_shape){2, {2, 2}});
    e.want[0] = e.in[0];
    tc_graph *g = NULL;
    assert_fails(TC_BAD_INPUT, import_model(exact_model(&e, false), SCRATCH(EXACT_MODEL), NULL, &g, err), "alpha (0.5)",
                 "whole numbers", "i64");
}

/* ---- ranges ---- */

typedef struct range {
    int64_t start, limit, delta, n;
} range;

static void test_ranges(void **state) {
    static const int64_t big = (int64_t)1 << 53, half = (int64_t)1 << 62;
    const range i64[] = {{0, half + 1, half, 2},
                         {big, big + 3, 1, 3},
                         {big + 1, big + 3, 1, 2},
                         {0, big + 1, big, 2},
                         {INT64_MIN, INT64_MAX, INT64_MAX, 3},
                         {INT64_MAX, INT64_MIN, INT64_MIN, 2},
                         {INT64_MAX, INT64_MAX - 2, -1, 2},
                         {3, 3, 1, 0},
                         {3, 4, -1, 0}};
    const range u64[] = {{INT64_MAX, INT64_MIN + 2, 1, 3}, {-3, -1, 1, 2}, {0, -1, INT64_MIN, 2}, {-1, 0, 1, 0}};
    fixture *f = *state;
    for (size_t k = 0; k < TC_LEN(i64) + TC_LEN(u64); k++) {
        tc_dtype t = k < TC_LEN(i64) ? TC_I64 : TC_U64;
        const range *r = k < TC_LEN(i64) ? &i64[k] : &u64[k - TC_LEN(i64)];
        const int64_t given[] = {r->start, r->limit, r->delta};
        exact e = {.name = "Range", .opset = 17, .step = {{"Range", "a,b,c", "x", NULL}}};
        for (int i = 0; i < 3; i++) {
            e.in[i] = exact_tensor(f->arena, t, &(tc_graph_shape){0});
            put(&e.in[i], 0, given[i]);
        }
        e.want[0] = exact_tensor(f->arena, t, &(tc_graph_shape){1, {r->n}});
        for (int64_t i = 0; i < r->n; i++)
            put(&e.want[0], i, (int64_t)((uint64_t)r->start + (uint64_t)i * (uint64_t)r->delta));
        exact_folded(&e);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows),   cmocka_unit_test(test_running_sums),    cmocka_unit_test(test_means_of_sizes),
        cmocka_unit_test(test_pairs),  cmocka_unit_test(test_casts),           cmocka_unit_test(test_products),
        cmocka_unit_test(test_ranges), cmocka_unit_test(test_refused_factors), cmocka_unit_test(test_powers),
    };
    return cmocka_run_group_tests(tests, open_fixture, close_fixture);
}
