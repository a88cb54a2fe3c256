/* Where Resize takes its elements from, for all pairs of sizes up to 40: exact fractions, written out here as ONNX defines them.
 * Sizes are given, or a scale that is their ratio rounded to f32. Places and weights are computed at import, and in a run where
 * sizes vary. */
#include <math.h>

#include "graph/lower_common.h"
#include "graph/ops/ops.h"

enum { MOST = 40, NCOORDS = 7, NROUNDS = 4, NMODES = NROUNDS + 2 };

static const char *const coords[NCOORDS] = {"half_pixel",           "pytorch_half_pixel",   "align_corners",     "asymmetric",
                                            "half_pixel_symmetric", "tf_half_pixel_for_nn", "tf_crop_and_resize"};
static const char *const rounds[NROUNDS] = {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"};

/* num / den */
typedef struct fraction {
    int64_t num, den;
} fraction;

/* How one dimension is resized: its sizes, and the scale up / down, which need not be their ratio. */
typedef struct axis {
    int64_t in, out, up, down;
} axis;

static axis to_size(int64_t in, int64_t out) {
    return (axis){in, out, out, in};
}

/* Output i; a region from 0.25 to 0.75 for tf_crop_and_resize. */
static fraction place_of(int coord, int64_t i, axis a) {
    fraction half = {(2 * i + 1) * a.down - a.up, 2 * a.up};
    switch (coord) {
    case 1:
        return a.out > 1 ? half : (fraction){0, 1};
    case 2:
        return a.out > 1 ? (fraction){i * (a.in - 1), a.out - 1} : (fraction){0, 1};
    case 3:
        return (fraction){i * a.down, a.up};
    case 4:
        return (fraction){half.num + a.in * a.up - a.out * a.down, half.den};
    case 5: /* ONNX Runtime leaves a dimension as it is whose size stays */
        return a.up == a.down ? half : (fraction){(2 * i + 1) * a.down, 2 * a.up};
    case 6:
        return a.out > 1 ? (fraction){(a.in - 1) * (a.out - 1) + 2 * i * (a.in - 1), 4 * (a.out - 1)} : (fraction){a.in - 1, 2};
    default:
        return half;
    }
}

static int64_t floor_of(int64_t num, int64_t den) {
    return num >= 0 ? num / den : -((-num + den - 1) / den);
}

static int64_t rounded(int round, fraction p) {
    int64_t below = floor_of(p.num, p.den), rest = 2 * (p.num - below * p.den);
    switch (round) {
    case 0:
        return rest > p.den ? below + 1 : below;
    case 1:
        return rest >= p.den ? below + 1 : below;
    case 2:
        return below;
    default:
        return rest > 0 ? below + 1 : below;
    }
}

static int64_t within(int64_t i, int64_t n) {
    return i < 0 ? 0 : i >= n ? n - 1 : i;
}

static double cubic(double x) {
    const double a = -0.75;
    x = fabs(x);
    return x < 1 ? ((a + 2) * x - (a + 3)) * x * x + 1 : x < 2 ? ((a * x - 5 * a) * x + 8 * a) * x - 4 * a : 0;
}

/* The operand's elements are their own squares' halves, so that neighbours differ. */
static float element(int64_t i) {
    return (float)(i * i) / 2;
}

/* Modes: the four of nearest, linear, cubic. */
static double wanted(int mode, int coord, int64_t i, axis a) {
    fraction p = place_of(coord, i, a);
    if (mode < NROUNDS)
        return (double)element(within(rounded(mode, p), a.in));
    int64_t below = floor_of(p.num, p.den);
    double part = (double)(p.num - below * p.den) / (double)p.den, sum = 0;
    if (mode == NROUNDS)
        return (double)element(within(below, a.in)) * (1 - part) + (double)element(within(below + 1, a.in)) * part;
    for (int k = -1; k < 3; k++)
        sum += (double)element(within(below + k, a.in)) * cubic(part - k);
    return sum;
}

static void expect(const float *y, int mode, int coord, axis a, const char *how) {
    for (int64_t i = 0; i < a.out; i++) {
        double want = wanted(mode, coord, i, a), bound = mode < NROUNDS ? 0 : 1e-5 * (double)element(a.in);
        if (!(fabs((double)y[i] - want) <= bound))
            fail_msg("%s, %s, %d to %d, %s: element %d is %g, not %g", coords[coord],
                     mode < NROUNDS    ? rounds[mode]
                     : mode == NROUNDS ? "linear"
                                       : "cubic",
                     (int)a.in, (int)a.out, how, (int)i, (double)y[i], want);
    }
}

static void add_resize(tc_graph_writer *w, int mode, int coord, const char *inputs, const char *output) {
    tc_graph_writer_node(w, "Resize", output, inputs, output);
    tc_graph_writer_str(w, "coordinate_transformation_mode", coords[coord]);
    tc_graph_writer_str(w, "mode", mode < NROUNDS ? "nearest" : mode == NROUNDS ? "linear" : "cubic");
    if (mode < NROUNDS)
        tc_graph_writer_str(w, "nearest_mode", rounds[mode]);
}

/* ---- at import ---- */

/* What one node resizes: to a size, or by the scale that is the ratio of both. */
typedef struct resized {
    int64_t out;
    int mode, coord;
    bool by_scale;
} resized;

/* All pairs and modes of nearest; of small sizes also linear and cubic, which are folded from many nodes. *n: how many. */
static resized *all_resized(int64_t in, int *n) {
    resized *r = tc_xcalloc((size_t)MOST * 2 * NCOORDS * NMODES, sizeof *r);
    *n = 0;
    for (int64_t out = 1; out <= MOST; out++)
        for (int k = 0; k < 2 * NCOORDS * NMODES; k++)
            if (k / 2 % NMODES < NROUNDS || (in <= MOST / 2 && out <= MOST / 2))
                r[(*n)++] = (resized){out, k / 2 % NMODES, k / 2 / NMODES, k % 2};
    return r;
}

static void add_operands(tc_graph_writer *w, int64_t in) {
    static const float region[] = {0.25F, 0.75F};
    float x[MOST];
    char name[16];
    for (int64_t i = 0; i < in; i++)
        x[i] = element(i);
    tc_graph_writer_weight(w, "x", f32_tensor((tc_graph_shape){1, {in}}, x));
    tc_graph_writer_weight(w, "region", f32_tensor((tc_graph_shape)DIMS(2), region));
    for (int64_t out = 1; out <= MOST; out++) {
        float scale = (float)out / (float)in;
        snprintf(name, sizeof name, "scale%d", (int)out);
        tc_graph_writer_weight(w, name, f32_tensor((tc_graph_shape)DIMS(1), &scale));
        snprintf(name, sizeof name, "size%d", (int)out);
        tc_graph_writer_weight(w, name, I64(DIMS(1), out));
    }
}

/* From one size to all, in one model. */
static void check_size(int64_t in) {
    tc_graph_writer *w = tc_graph_writer_new("resize", 18);
    tc_graph *g;
    int n;
    resized *r = all_resized(in, &n);
    add_operands(w, in);
    for (int k = 0; k < n; k++) {
        char name[16], inputs[40];
        snprintf(name, sizeof name, "y%d", k);
        snprintf(inputs, sizeof inputs, r[k].by_scale ? "x,region,scale%d" : "x,region,,size%d", (int)r[k].out);
        add_resize(w, r[k].mode, r[k].coord, inputs, name);
        tc_graph_writer_output(w, name, TC_F32, NULL);
    }
    assert_ok(import_model(w, SCRATCH("resize.onnx"), NULL, &g, err));
    for (int k = 0; k < n; k++) {
        const tc_graph_value *y = g->outputs.data[k].value;
        assert_non_null(y->constant);
        assert_int_equal(y->shape.d[0], r[k].out);
        expect(y->constant->data, r[k].mode, r[k].coord, to_size(in, r[k].out), r[k].by_scale ? "scale" : "size");
    }
    tc_graph_free(g);
    free(r);
}

static void test_all_pairs(void **state) {
    (void)state;
    for (int64_t in = 1; in <= MOST; in++)
        check_size(in);
}

/* ---- in a run ---- */

/* y = x [in], resized to `out`, which is the size of another input, or by a scale above 0. */
static tc_graph *varying_graph(int mode, int coord, float scale) {
    tc_graph_writer *w = tc_graph_writer_new("resize", 18);
    tc_graph_binding sizes[2];
    tc_graph *g;
    tc_graph_writer_input(w, "x", TC_F32, "in");
    tc_graph_writer_input(w, "like", TC_F32, "out");
    tc_graph_writer_node(w, "Shape", "size", "like", "size");
    tc_graph_writer_weight(w, "scale", f32_tensor((tc_graph_shape)DIMS(1), &scale));
    add_resize(w, mode, coord, scale > 0 ? "x,,scale" : "x,,,size", "y");
    tc_graph_writer_output(w, "y", TC_F32, NULL);
    assert_ok(tc_graph_binding_parse("in=1..40", &sizes[0], err));
    assert_ok(tc_graph_binding_parse("out=1..40", &sizes[1], err));
    assert_ok(
        import_model(w, SCRATCH("resize_varying.onnx"), &(tc_graph_import_options){.shapes = sizes, .nshapes = 2}, &g, err));
    for (int i = 0; i < 2; i++)
        free((char *)(uintptr_t)sizes[i].name);
    return g;
}

/* up 0: to all sizes; else by up / down. */
static void check_varying(int mode, int coord, int64_t up, int64_t down, const tc_target *t) {
    tc_graph_program *p;
    tc_graph_model *m;
    float x[MOST];
    tc_graph *g = varying_graph(mode, coord, (float)up / (float)down);
    assert_ok(tc_graph_passes(g, NULL, err));
    assert_ok(tc_graph_program_new(g, &p, err));
    assert_ok(tc_graph_model_build(p, &(tc_graph_build_options){.target = t, .threads = 1}, &m, err));
    for (int64_t i = 0; i < MOST; i++)
        x[i] = element(i);
    for (int64_t in = 1; in <= MOST; in++)
        for (int64_t out = 1; out <= (up ? 1 : MOST); out++) {
            tc_graph_tensor y, operands[] = {f32_tensor((tc_graph_shape){1, {in}}, x), f32_tensor((tc_graph_shape){1, {out}}, x)};
            axis a = up ? (axis){in, in * up / down, up, down} : to_size(in, out);
            assert_ok(tc_graph_model_run(m, operands, &y, err));
            assert_int_equal(y.shape.d[0], a.out);
            expect(y.data, mode, coord, a, "in a run");
            tc_graph_tensor_free(&y);
        }
    tc_graph_model_free(m);
    tc_graph_program_free(p);
    tc_graph_free(g);
}

static void test_varying(void **state) {
    (void)state;
    static const int64_t scales[][2] = {{2, 1}, {3, 2}, {13, 10}, {7, 10}, {1, 3}};
    tc_target *t;
    assert_ok(tc_target_parse("native", &t, err));
    for (int coord = 0; coord < NCOORDS - 1; coord++) /* tf_crop_and_resize needs single sizes */
        for (int mode = 0; mode < NMODES; mode++)
            check_varying(mode, coord, 0, 1, t);
    for (int k = 0; k < NMODES * (int)TC_LEN(scales); k++)
        check_varying(k % NMODES, k % (NCOORDS - 1), scales[k / NMODES][0], scales[k / NMODES][1], t);
    tc_target_free(t);
}

/* ---- scales that are no ratio of the sizes ---- */

/* x [in] of its own numbers, resized by `scale`: the sizes, and the elements that are nearest. */
static void check_scale(float scale, const char *coord, int64_t in, int64_t out, const float *want) {
    tc_graph_writer *w = tc_graph_writer_new("resize", 18);
    float x[100];
    tc_graph *g;
    for (int64_t i = 0; i < in; i++)
        x[i] = (float)i;
    tc_graph_writer_weight(w, "x", f32_tensor((tc_graph_shape){1, {in}}, x));
    tc_graph_writer_weight(w, "scale", f32_tensor((tc_graph_shape)DIMS(1), &scale));
    tc_graph_writer_node(w, "Resize", "y", "x,,scale", "y");
    tc_graph_writer_str(w, "coordinate_transformation_mode", coord);
    tc_graph_writer_str(w, "nearest_mode", "floor");
    tc_graph_writer_output(w, "y", TC_F32, NULL);
    assert_ok(import_model(w, SCRATCH("resize.onnx"), NULL, &g, err));
    const tc_graph_value *y = g->outputs.data[0].value;
    assert_int_equal(y->shape.d[0], out);
    for (int64_t i = 0; i < out; i++)
        if (((const float *)y->constant->data)[i] != want[i])
            fail_msg("scale %g: element %d is %g", (double)scale, (int)i, (double)((const float *)y->constant->data)[i]);
    tc_graph_free(g);
}

static void test_scales(void **state) {
    (void)state;
    check_scale(0.7F, "asymmetric", 10, 7, (const float[]){0, 1, 2, 4, 5, 7, 8});   /* 0.7F is below 7/10 */
    check_scale(0.6F, "asymmetric", 7, 4, (const float[]){0, 1, 3, 5});             /* element 3 is at 5 exactly */
    check_scale(1.5F, "asymmetric", 3, 4, (const float[]){0, 0, 1, 2});             /* of 4.5 */
    check_scale(2.0F / 3, "half_pixel", 4, 2, (const float[]){0, 1});               /* at 0.25 and 1.75 */
    check_scale(1.7320508F, "asymmetric", 4, 6, (const float[]){0, 0, 1, 1, 2, 2}); /* of 6.93 */
    check_scale(1e-3F, "asymmetric", 40, 0, (const float[]){0});
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_all_pairs), cmocka_unit_test(test_varying),
                                       cmocka_unit_test(test_scales)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
