/* Quotients are rounded once: x / c is never x * (1 / c) where the two differ. This holds for Div, means, pools, norms, scales of
 * quantisation, the inverse Fourier transform and the size of a slice; in f16, f32 and f64; folded, evaluated, interpreted and
 * compiled. Floor and Ceil behind a quotient show its last bit. */
#include <float.h>
#include <math.h>

#include "graph/every_way.h"

#define EXACT_MODEL "quotients.onnx"
#define EXACT_SEED 33
#include "graph/ops/exact.h"

static const tc_dtype types[] = {TC_F16, TC_F32, TC_F64};

static void put(tc_graph_tensor *t, int64_t i, double v) {
    tc_store_f(t->dtype, t->data, i, v);
}

static double at(const tc_graph_tensor *t, int64_t i) {
    return tc_load_f(t->dtype, t->data, i);
}

static double small_number(fixture *f) {
    return (double)tc_rng_below(&f->rng, 17) - 8;
}

/* ---- Div ---- */

/* With 41, 47, 55 and 61 products of the reciprocal fall short of whole quotients. Powers of two may become products, but for those
 * whose reciprocal is no normal number. */
static const double divisors[] = {41,     47,       55,   61,   3,     7,        10,        255,         -49,      0.1,     2,
                                  0.125,  64,       -0.5, 3e38, 2e-39, 0x1p-127, 0x1p127,   0x1p-149,    FLT_MIN,  FLT_MAX, 1e308,
                                  4e-320, 0x1p1023, 0,    -0.0, 1,     INFINITY, -INFINITY, (double)NAN, 1.4142135};

enum { ROW = 48 };

/* Multiples of the divisor, and others; no quotient is a subnormal number, which kernels may make 0. */
static double dividend(fixture *f, tc_dtype t, double divisor, int i) {
    double unit = isfinite(divisor) && divisor != 0 ? divisor : 1;
    double v = tc_round_f(t, i < ROW / 2 ? unit * (i - 4) : unit * (tc_rng_unit(&f->rng) * 60 + 1));
    double q = fabs(v / divisor), least = t == TC_F64 ? DBL_MIN : FLT_MIN;
    return q > 0 && q < least ? 0 : v;
}

/* A row for each divisor; in f16 and f32 a quotient in double is rounded to the right one. */
static void fill_quotients(fixture *f, exact *e, tc_dtype t, const double *divisor, int n) {
    tc_graph_shape rows = {2, {n, ROW}}, column = {2, {n, 1}};
    e->in[0] = exact_tensor(f->arena, t, &rows);
    e->in[1] = exact_tensor(f->arena, t, n == 1 ? &(tc_graph_shape){0} : &column);
    for (int k = 0; k < 3; k++)
        e->want[k] = exact_tensor(f->arena, t, &rows);
    for (int r = 0; r < n; r++) {
        put(&e->in[1], r, divisor[r]);
        for (int i = 0; i < ROW; i++) {
            int place = r * ROW + i;
            put(&e->in[0], place, dividend(f, t, at(&e->in[1], r), i));
            double q = tc_round_f(t, at(&e->in[0], place) / at(&e->in[1], r));
            put(&e->want[0], place, q);
            put(&e->want[1], place, floor(q));
            put(&e->want[2], place, ceil(q));
        }
    }
}

static const exact division = {
    .name = "Div", .opset = 17, .step = {{"Div", "a,b", "x", NULL}, {"Floor", "x", "y", NULL}, {"Ceil", "x", "z", NULL}}};

static void test_quotients_by_rows(void **state) {
    fixture *f = *state;
    for (size_t t = 0; t < TC_LEN(types); t++)
        for (int nconst = 0; nconst < 2; nconst++) {
            exact e = division;
            e.nconst = nconst;
            fill_quotients(f, &e, types[t], divisors, (int)TC_LEN(divisors));
            exact_in_every_way(&e, f->target);
        }
}

/* Libraries and C sources too: Floor and Ceil behind the quotient are one off where it is not the right one. */
static void test_libraries_and_sources(void **state) {
    fixture *f = *state;
    for (size_t t = 0; t < TC_LEN(types); t++) {
        tc_graph *g;
        exact e = division;
        e.nconst = 1;
        fill_quotients(f, &e, types[t], divisors, (int)TC_LEN(divisors));
        assert_ok(import_model(exact_model(&e, false), SCRATCH(EXACT_MODEL), NULL, &g, err));
        check_every_way(&(checked){.program = "quotients", .name = "Div", .in = e.in, .want = e.want, .nout = 3}, g);
        tc_graph_free(g);
    }
}

static void test_quotients_by_one_constant(void **state) {
    fixture *f = *state;
    for (size_t t = 0; t < TC_LEN(types); t++)
        for (size_t i = 0; i < TC_LEN(divisors); i++) {
            exact e = division;
            e.nconst = 1;
            fill_quotients(f, &e, types[t], &divisors[i], 1);
            exact_in_every_way(&e, f->target);
        }
}

/* ---- means ---- */

static const int lengths[] = {3, 7, 41, 47, 49, 55, 61, 64};

/* Rows of whole numbers, whose sums are exact in any order; the first of ones, and the second of threes. */
enum { ROWS = 9 };

static void fill_rows(fixture *f, tc_graph_tensor *t, int n) {
    for (int i = 0; i < ROWS * n; i++)
        put(t, i, i < n ? 1 : i < 2 * n ? 3 : small_number(f));
}

static double sum_of(const tc_graph_tensor *t, int64_t from, int64_t n) {
    double sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += at(t, from + i);
    return sum;
}

static void check_mean(fixture *f, const exact_step *step, tc_dtype t, int n, const tc_graph_shape *in,
                       const tc_graph_shape *out) {
    exact e = {.name = step->op, .opset = 17, .step = {*step, {"Floor", "x", "y", NULL}, {"Ceil", "x", "z", NULL}}};
    e.in[0] = exact_tensor(f->arena, t, in);
    for (int k = 0; k < 3; k++)
        e.want[k] = exact_tensor(f->arena, t, out);
    fill_rows(f, &e.in[0], n);
    for (int r = 0; r < ROWS; r++) {
        double mean = tc_round_f(t, sum_of(&e.in[0], (int64_t)r * n, n) / n);
        put(&e.want[0], r, mean);
        put(&e.want[1], r, floor(mean));
        put(&e.want[2], r, ceil(mean));
    }
    exact_in_every_way(&e, f->target);
}

static void test_means(void **state) {
    fixture *f = *state;
    for (size_t t = 0; t < TC_LEN(types); t++)
        for (size_t i = 0; i < TC_LEN(lengths); i++) {
            int n = lengths[i];
            char attrs[64];
            const exact_step mean = {"ReduceMean", "a", "x", "axes:I=1 keepdims:i=0"},
                             pool = {"GlobalAveragePool", "a", "x", NULL}, window = {"AveragePool", "a", "x", attrs};
            snprintf(attrs, sizeof attrs, "kernel_shape:I=%d strides:I=%d", n, n);
            check_mean(f, &mean, types[t], n, &(tc_graph_shape){2, {ROWS, n}}, &(tc_graph_shape){1, {ROWS}});
            check_mean(f, &pool, types[t], n, &(tc_graph_shape){3, {1, ROWS, n}}, &(tc_graph_shape){3, {1, ROWS, 1}});
            check_mean(f, &window, types[t], n, &(tc_graph_shape){3, {1, 1, ROWS * n}}, &(tc_graph_shape){3, {1, 1, ROWS}});
        }
}

/* At the ends of the image a window holds fewer elements. */
static void test_padded_windows(void **state) {
    enum { N = 41, PAD = 9, LENGTH = 50, OUT = LENGTH + 2 * PAD - N + 1 };
    fixture *f = *state;
    for (size_t t = 0; t < TC_LEN(types); t++)
        for (int counts = 0; counts < 2; counts++) {
            char attrs[80];
            snprintf(attrs, sizeof attrs, "kernel_shape:I=%d pads:I=%d,%d count_include_pad:i=%d", N, PAD, PAD, counts);
            exact e = {.name = "AveragePool", .opset = 17, .step = {{"AveragePool", "a", "x", attrs}, {"Floor", "x", "y", NULL}}};
            e.in[0] = exact_tensor(f->arena, types[t], &(tc_graph_shape){3, {1, 1, LENGTH}});
            for (int k = 0; k < 2; k++)
                e.want[k] = exact_tensor(f->arena, types[t], &(tc_graph_shape){3, {1, 1, OUT}});
            for (int i = 0; i < LENGTH; i++)
                put(&e.in[0], i, i % 10 ? 3 : 5);
            for (int o = 0; o < OUT; o++) {
                int from = TC_MAX(o - PAD, 0), to = TC_MIN(o - PAD + N, LENGTH);
                double mean = tc_round_f(types[t], sum_of(&e.in[0], from, to - from) / (counts ? N : to - from));
                put(&e.want[0], o, mean);
                put(&e.want[1], o, floor(mean));
            }
            exact_in_every_way(&e, f->target);
        }
}

/* A pool of sums, which LpPool is for p = 1, neither divides nor multiplies. */
static void test_pools_of_sums(void **state) {
    enum { N = 49 };
    fixture *f = *state;
    for (size_t t = 0; t < TC_LEN(types); t++) {
        exact e = {.name = "LpPool", .opset = 17, .step = {{"LpPool", "a", "x", "kernel_shape:I=49 strides:I=49 p:i=1"}}};
        e.in[0] = exact_tensor(f->arena, types[t], &(tc_graph_shape){3, {1, 1, ROWS * N}});
        e.want[0] = exact_tensor(f->arena, types[t], &(tc_graph_shape){3, {1, 1, ROWS}});
        for (int i = 0; i < ROWS; i++) {
            put(&e.in[0], i * N + i, i % 2 ? i : -i);
            put(&e.want[0], i, i);
        }
        exact_in_every_way(&e, f->target);
    }
}

/* Of a row of equal elements nothing is left but the bias. */
static void test_normalised_constants(void **state) {
    fixture *f = *state;
    for (size_t t = 0; t < TC_LEN(types); t++)
        for (size_t i = 0; i < TC_LEN(lengths); i++) {
            int n = lengths[i];
            exact e = {.name = "LayerNormalization", .opset = 17, .step = {{"LayerNormalization", "a,b,c", "x", "axis:i=1"}}};
            e.in[0] = exact_tensor(f->arena, types[t], &(tc_graph_shape){2, {ROWS, n}});
            for (int k = 1; k < 3; k++)
                e.in[k] = exact_tensor(f->arena, types[t], &(tc_graph_shape){1, {n}});
            e.want[0] = exact_tensor(f->arena, types[t], &(tc_graph_shape){2, {ROWS, n}});
            for (int k = 0; k < ROWS * n; k++) {
                put(&e.in[0], k, k / n + 1);
                put(&e.in[1], k % n, 8192);
                put(&e.in[2], k % n, k % n);
                put(&e.want[0], k, k % n);
            }
            exact_in_every_way(&e, f->target);
        }
}

/* ---- others that divide ---- */

static void test_norms(void **state) {
    static const double sides[][3] = {{3, 4, 0},   {5, 12, 0}, {-8, 15, 0}, {7, -24, 0},
                                      {20, 21, 0}, {0, 0, 0},  {2, 3, 6},   {40960, 43008, 0}}; /* f16 holds no such sum */
    fixture *f = *state;
    for (size_t t = 0; t < TC_LEN(types); t++)
        for (int p = 1; p < 3; p++) {
            tc_graph_shape s = {2, {TC_LEN(sides), 3}};
            char attrs[32];
            snprintf(attrs, sizeof attrs, "axis:i=1 p:i=%d", p);
            exact e = {.name = "LpNormalization", .opset = 17, .step = {{"LpNormalization", "a", "x", attrs}}};
            e.in[0] = exact_tensor(f->arena, types[t], &s);
            e.want[0] = exact_tensor(f->arena, types[t], &s);
            for (size_t r = 0; r < TC_LEN(sides); r++) {
                const double *v = sides[r];
                double norm = p == 1 ? fabs(v[0]) + fabs(v[1]) + fabs(v[2]) : sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
                for (int i = 0; i < 3; i++) {
                    put(&e.in[0], (int64_t)r * 3 + i, v[i]);
                    put(&e.want[0], (int64_t)r * 3 + i, tc_round_f(types[t], v[i] / (norm > 0 ? norm : 1)));
                }
            }
            exact_in_every_way(&e, f->target);
        }
}

/* The third powers of an image of 8 pixels, which f16 does not hold. */
static void test_pool_of_powers(void **state) {
    static const double pixels[] = {0x1p-9, 0x1p-10, 0x1p5, 0x1p6};
    fixture *f = *state;
    exact e = {.name = "GlobalLpPool", .opset = 17, .step = {{"GlobalLpPool", "a", "x", "p:i=3"}}};
    e.in[0] = exact_tensor(f->arena, TC_F16, &(tc_graph_shape){3, {1, TC_LEN(pixels), 8}});
    e.want[0] = exact_tensor(f->arena, TC_F16, &(tc_graph_shape){3, {1, TC_LEN(pixels), 1}});
    for (size_t c = 0; c < TC_LEN(pixels); c++) {
        for (int64_t i = 0; i < 8; i++)
            put(&e.in[0], (int64_t)c * 8 + i, pixels[c]);
        put(&e.want[0], (int64_t)c, 2 * pixels[c]);
    }
    exact_in_every_way(&e, f->target);
}

/* As f32 arithmetic gives it, also where the range is as wide on both sides of 0, so that 0 lies between two steps. */
static void test_dynamic_quantisation(void **state) {
    enum { N = 32, RANGES = 12 };
    fixture *f = *state;
    for (int range = 0; range < RANGES; range++) {
        exact e = {.name = "DynamicQuantizeLinear", .opset = 17, .step = {{"DynamicQuantizeLinear", "a", "x,y,z", NULL}}};
        e.in[0] = exact_tensor(f->arena, TC_F32, &(tc_graph_shape){1, {N}});
        e.want[0] = exact_tensor(f->arena, TC_U8, &(tc_graph_shape){1, {N}});
        e.want[1] = exact_tensor(f->arena, TC_F32, &(tc_graph_shape){0});
        e.want[2] = exact_tensor(f->arena, TC_U8, &(tc_graph_shape){0});
        float *x = e.in[0].data, high = range ? (float)(tc_rng_unit(&f->rng) * 50 + 1) : 21.247353F;
        for (int i = 0; i < N; i++)
            x[i] = i == 0 ? -high : i == 1 ? high : i == 2 ? high / 3 : (float)(tc_rng_unit(&f->rng) * 2 - 1) * high;
        float scale = (high + high) / 255, zero = nearbyintf(high / scale);
        *(float *)e.want[1].data = scale;
        *(uint8_t *)e.want[2].data = (uint8_t)zero;
        for (int i = 0; i < N; i++)
            ((uint8_t *)e.want[0].data)[i] = (uint8_t)fminf(fmaxf(nearbyintf(x[i] / scale) + zero, 0), 255);
        exact_in_every_way(&e, f->target);
    }
}

/* Weights of a convolution take a divisor behind it only where that rounds nothing: 41 and 47 no, 4 and 0.5 yes. */
static void test_behind_convolutions(void **state) {
    enum { N = 64 };
    static const float by[][2] = {{41, 47}, {4, 0.5F}, {4, 55}};
    fixture *f = *state;
    for (size_t k = 0; k < TC_LEN(by); k++) {
        exact e = {.name = "Conv and Div",
                   .opset = 17,
                   .step = {{"Conv", "a,b", "q", NULL}, {"Div", "q,c", "x", NULL}, {"Floor", "x", "y", NULL}},
                   .nconst = 2};
        e.in[0] = exact_tensor(f->arena, TC_F32, &(tc_graph_shape){3, {1, 1, N}});
        e.in[1] = exact_tensor(f->arena, TC_F32, &(tc_graph_shape){3, {2, 1, 1}});
        e.in[2] = exact_tensor(f->arena, TC_F32, &(tc_graph_shape){3, {1, 2, 1}});
        for (int o = 0; o < 2; o++) {
            put(&e.in[1], o, 1);
            put(&e.in[2], o, (double)by[k][o]);
            e.want[o] = exact_tensor(f->arena, TC_F32, &(tc_graph_shape){3, {1, 2, N}});
        }
        for (int i = 0; i < N; i++) {
            put(&e.in[0], i, (double)(i * 41 * 47 * 55));
            for (int o = 0; o < 2; o++) {
                double q = (double)(((float *)e.in[0].data)[i] / by[k][o]);
                put(&e.want[0], o * N + i, q);
                put(&e.want[1], o * N + i, floor(q));
            }
        }
        exact_in_every_way(&e, f->target);
    }
}

/* Of one bin, n times the constant; the inverse divides by n. */
static void test_inverse_transform(void **state) {
    fixture *f = *state;
    for (size_t i = 0; i < TC_LEN(lengths); i++) {
        int n = lengths[i];
        tc_graph_shape s = {3, {1, n, 2}};
        exact e = {.name = "DFT", .opset = 17, .step = {{"DFT", "a", "x", "inverse:i=1 axis:i=1"}, {"Floor", "x", "y", NULL}}};
        e.in[0] = exact_tensor(f->arena, TC_F32, &s);
        put(&e.in[0], 0, 3.0 * n);
        for (int k = 0; k < 2; k++) {
            e.want[k] = exact_tensor(f->arena, TC_F32, &s);
            for (int j = 0; j < n; j++)
                put(&e.want[k], 2 * j, 3);
        }
        exact_in_every_way(&e, f->target);
    }
}

/* ---- sizes ---- */

/* x[0 : floor(n / 41)], where n is a symbol and the quotient is one of floats. */
static tc_graph_writer *slicing_model(void) {
    tc_graph_writer *w = tc_graph_writer_new("slice", 17);
    tc_graph_writer_input(w, "x", TC_F32, "n");
    tc_graph_writer_weight(w, "by", F32({0}, 41));
    tc_graph_writer_weight(w, "zero", I64(DIMS(1), 0));
    tc_graph_writer_node(w, "Shape", "", "x", "shape");
    tc_graph_writer_node(w, "Cast", "", "shape", "float");
    tc_graph_writer_int(w, "to", 1);
    tc_graph_writer_node(w, "Div", "", "float,by", "part");
    tc_graph_writer_node(w, "Floor", "", "part", "whole");
    tc_graph_writer_node(w, "Cast", "", "whole", "end");
    tc_graph_writer_int(w, "to", 7);
    tc_graph_writer_node(w, "Slice", "", "x,zero,end", "y");
    tc_graph_writer_output(w, "y", TC_F32, NULL);
    return w;
}

/* A model with a size that varies: evaluated, and built. */
typedef struct sized {
    tc_graph_binding size;
    tc_graph *graph, *passed;
    tc_graph_program *program;
    tc_graph_model *built;
} sized;

static sized open_sized(tc_graph_writer *w, const char *size, const tc_target *target) {
    sized s;
    assert_ok(tc_graph_binding_parse(size, &s.size, err));
    const tc_graph_import_options o = {.shapes = &s.size, .nshapes = 1};
    assert_ok(import_model(w, SCRATCH(EXACT_MODEL), &o, &s.graph, err));
    assert_ok(tc_graph_import(SCRATCH(EXACT_MODEL), &o, &s.passed, err));
    assert_ok(tc_graph_passes(s.passed, NULL, err));
    assert_ok(tc_graph_program_new(s.passed, &s.program, err));
    assert_ok(tc_graph_model_build(s.program, &(tc_graph_build_options){.target = target, .threads = 1}, &s.built, err));
    return s;
}

static void run_sized(const sized *s, const tc_graph_tensor *in, tc_graph_tensor *y) {
    assert_ok(tc_graph_eval(s->graph, in, &y[0], err));
    assert_ok(tc_graph_model_run(s->built, in, &y[1], err));
}

static void close_sized(sized *s) {
    tc_graph_model_free(s->built);
    tc_graph_program_free(s->program);
    tc_graph_free(s->passed);
    tc_graph_free(s->graph);
    free((char *)(uintptr_t)s->size.name);
}

static void test_sizes(void **state) {
    enum { MOST = 330 };
    static float x[MOST];
    fixture *f = *state;
    sized s = open_sized(slicing_model(), "n=1..330", f->target);
    for (int64_t n = 40; n <= MOST; n++) {
        tc_graph_tensor in = f32_tensor((tc_graph_shape){1, {n}}, x), y[2];
        run_sized(&s, &in, y);
        for (int way = 0; way < 2; way++) {
            if (y[way].shape.ndim != 1 || y[way].shape.d[0] != n / 41)
                fail_msg("%s: of %lld elements %lld are left", way ? "built" : "evaluated", (long long)n,
                         (long long)y[way].shape.d[0]);
            tc_graph_tensor_free(&y[way]);
        }
    }
    close_sized(&s);
}

/* Averages of threes, where the number of elements in a window depends on a symbol. */
static void test_averages_of_sizes(void **state) {
    enum { MOST = 90 };
    static const char *const pads[] = {"SAME_UPPER", "SAME_LOWER"};
    static float x[MOST];
    fixture *f = *state;
    for (int i = 0; i < MOST; i++)
        x[i] = 3;
    for (size_t k = 0; k < TC_LEN(pads); k++) {
        tc_graph_writer *w = tc_graph_writer_new("pool", 17);
        tc_graph_writer_input(w, "x", TC_F32, "1,1,n");
        tc_graph_writer_node(w, "AveragePool", "", "x", "y");
        tc_graph_writer_ints(w, "kernel_shape", "41");
        tc_graph_writer_ints(w, "strides", "2");
        tc_graph_writer_str(w, "auto_pad", pads[k]);
        tc_graph_writer_output(w, "y", TC_F32, NULL);
        sized s = open_sized(w, "n=50..90", f->target);
        for (int64_t n = 50; n <= MOST; n++) {
            tc_graph_tensor in = f32_tensor((tc_graph_shape){3, {1, 1, n}}, x), y[2];
            run_sized(&s, &in, y);
            for (int way = 0; way < 2; way++) {
                assert_int_equal(tc_graph_tensor_count(&y[way]), (n + 1) / 2);
                for (int64_t i = 0; i < (n + 1) / 2; i++)
                    if (((float *)y[way].data)[i] != 3)
                        fail_msg("%s, %s: element %lld of %lld is %.9g", pads[k], way ? "built" : "evaluated", (long long)i,
                                 (long long)n, (double)((float *)y[way].data)[i]);
                tc_graph_tensor_free(&y[way]);
            }
        }
        close_sized(&s);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_quotients_by_rows),
        cmocka_unit_test(test_quotients_by_one_constant),
        cmocka_unit_test(test_libraries_and_sources),
        cmocka_unit_test(test_means),
        cmocka_unit_test(test_padded_windows),
        cmocka_unit_test(test_pools_of_sums),
        cmocka_unit_test(test_normalised_constants),
        cmocka_unit_test(test_norms),
        cmocka_unit_test(test_pool_of_powers),
        cmocka_unit_test(test_dynamic_quantisation),
        cmocka_unit_test(test_behind_convolutions),
        cmocka_unit_test(test_inverse_transform),
        cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_averages_of_sizes),
    };
    return cmocka_run_group_tests(tests, open_fixture, close_fixture);
}
