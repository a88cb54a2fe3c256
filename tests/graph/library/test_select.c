/* Sizes that depend on data: networks behind NonZero against loops written out here, in this process and as a library. */
#include <math.h>

#include "graph/graph_test.h"
#include "support/rng.h"
#include "tctune/tctune.h"

#define PATH SCRATCH("select.onnx")
enum { ROWS = 6, COLUMNS = 7 };

/* ---- networks behind NonZero, against loops ---- */

/* Where x [ROWS, COLUMNS] is not 0. */
typedef struct places {
    int64_t n, row[ROWS * COLUMNS], column[ROWS * COLUMNS];
} places;

static places places_of(const float *x) {
    places p = {0};
    for (int i = 0; i < ROWS * COLUMNS; i++)
        if (x[i] != 0) {
            p.row[p.n] = i / COLUMNS;
            p.column[p.n++] = i % COLUMNS;
        }
    return p;
}

/* Writes the nodes from nz [2, n] and t [n, 2] to y, and fills in what y must be: its shape and elements. */
typedef struct network {
    const char *name;
    tc_dtype dtype;
    void (*nodes)(tc_graph_writer *w);
    void (*want)(const float *x, const places *p, tc_graph_shape *s, double *y);
} network;

static void gather_nodes(tc_graph_writer *w) {
    tc_graph_writer_node(w, "GatherND", "g", "x,t", "y");
}
static void gather_want(const float *x, const places *p, tc_graph_shape *s, double *y) {
    *s = (tc_graph_shape)DIMS(p->n);
    for (int64_t i = 0; i < p->n; i++)
        y[i] = (double)x[p->row[i] * COLUMNS + p->column[i]];
}

static void flat_nodes(tc_graph_writer *w) {
    tc_graph_writer_weight(w, "all", I64(DIMS(1), -1));
    tc_graph_writer_node(w, "Reshape", "r", "nz,all", "y");
}
static void flat_want(const float *x, const places *p, tc_graph_shape *s, double *y) {
    (void)x;
    *s = (tc_graph_shape)DIMS(2 * p->n);
    for (int64_t i = 0; i < p->n; i++) {
        y[i] = (double)p->row[i];
        y[p->n + i] = (double)p->column[i];
    }
}

static void concat_nodes(tc_graph_writer *w) {
    tc_graph_writer_weight(w, "k", I64(DIMS(1, 2), 70, 80));
    tc_graph_writer_node(w, "Concat", "c", "t,k,t", "y");
    tc_graph_writer_int(w, "axis", 0);
}
static void concat_want(const float *x, const places *p, tc_graph_shape *s, double *y) {
    (void)x;
    *s = (tc_graph_shape)DIMS(2 * p->n + 1, 2);
    for (int64_t i = 0; i < p->n; i++) {
        y[2 * i] = y[2 * (p->n + 1 + i)] = (double)p->row[i];
        y[2 * i + 1] = y[2 * (p->n + 1 + i) + 1] = (double)p->column[i];
    }
    y[2 * p->n] = 70;
    y[2 * p->n + 1] = 80;
}

/* The last five but one, every second: t[-6:-1:2, 1] */
static void slice_nodes(tc_graph_writer *w) {
    tc_graph_writer_weight(w, "from", I64(DIMS(2), -6, 1));
    tc_graph_writer_weight(w, "to", I64(DIMS(2), -1, 2));
    tc_graph_writer_weight(w, "axes", I64(DIMS(2), 0, 1));
    tc_graph_writer_weight(w, "by", I64(DIMS(2), 2, 1));
    tc_graph_writer_node(w, "Slice", "s", "t,from,to,axes,by", "y");
}
static void slice_want(const float *x, const places *p, tc_graph_shape *s, double *y) {
    (void)x;
    int64_t n = 0;
    for (int64_t i = TC_MAX(p->n - 6, 0); i < p->n - 1; i += 2)
        y[n++] = (double)p->column[i];
    *s = (tc_graph_shape)DIMS(n, 1);
}

static void mean_nodes(tc_graph_writer *w) {
    tc_graph_writer_node(w, "Cast", "c", "t", "f");
    tc_graph_writer_int(w, "to", 1);
    tc_graph_writer_weight(w, "axes", I64(DIMS(1), 0));
    tc_graph_writer_node(w, "ReduceMean", "m", "f,axes", "y");
    tc_graph_writer_int(w, "keepdims", 0);
}
static void mean_want(const float *x, const places *p, tc_graph_shape *s, double *y) {
    (void)x;
    *s = (tc_graph_shape)DIMS(2);
    for (int64_t i = 0; i < p->n; i++) {
        y[0] += (double)p->row[i] / (double)p->n;
        y[1] += (double)p->column[i] / (double)p->n;
    }
}

static void product_nodes(tc_graph_writer *w) {
    tc_graph_writer_node(w, "Cast", "c", "t", "f");
    tc_graph_writer_int(w, "to", 1);
    tc_graph_writer_node(w, "Transpose", "tr", "f", "ft");
    tc_graph_writer_node(w, "MatMul", "m", "ft,f", "y");
}
static void product_want(const float *x, const places *p, tc_graph_shape *s, double *y) {
    (void)x;
    *s = (tc_graph_shape)DIMS(2, 2);
    for (int64_t i = 0; i < p->n; i++) {
        y[0] += (double)(p->row[i] * p->row[i]);
        y[1] += (double)(p->row[i] * p->column[i]);
        y[2] += (double)(p->row[i] * p->column[i]);
        y[3] += (double)(p->column[i] * p->column[i]);
    }
}

/* The columns of the elements in the last row but one, each once */
static void nested_nodes(tc_graph_writer *w) {
    tc_graph_writer_weight(w, "zero", I64(SCALAR, 0));
    tc_graph_writer_weight(w, "one", I64(SCALAR, 1));
    tc_graph_writer_weight(w, "row", I64(SCALAR, ROWS - 2));
    tc_graph_writer_node(w, "Gather", "g0", "nz,zero", "rows");
    tc_graph_writer_node(w, "Gather", "g1", "nz,one", "columns");
    tc_graph_writer_node(w, "Equal", "e", "rows,row", "here");
    tc_graph_writer_node(w, "Compress", "c", "columns,here", "some");
    tc_graph_writer_node(w, "Concat", "cc", "some,some", "twice");
    tc_graph_writer_int(w, "axis", 0);
    tc_graph_writer_node(w, "Unique", "u", "twice", "y");
}
static void nested_want(const float *x, const places *p, tc_graph_shape *s, double *y) {
    (void)x;
    int64_t n = 0;
    for (int64_t i = 0; i < p->n; i++)
        if (p->row[i] == ROWS - 2)
            y[n++] = (double)p->column[i];
    *s = (tc_graph_shape)DIMS(n);
}

/* Range(0, n) + n by the sizes that the model computes */
static void shape_nodes(tc_graph_writer *w) {
    tc_graph_writer_weight(w, "zero", I64(SCALAR, 0));
    tc_graph_writer_weight(w, "one", I64(SCALAR, 1));
    tc_graph_writer_node(w, "Shape", "s", "t", "shape");
    tc_graph_writer_node(w, "Gather", "g", "shape,zero", "n");
    tc_graph_writer_node(w, "Range", "r", "zero,n,one", "range");
    tc_graph_writer_node(w, "Add", "a", "range,n", "y");
}
static void shape_want(const float *x, const places *p, tc_graph_shape *s, double *y) {
    (void)x;
    *s = (tc_graph_shape)DIMS(p->n);
    for (int64_t i = 0; i < p->n; i++)
        y[i] = (double)(p->n + i);
}

/* Twice x, with 0 written where it is not 0, by indices that count from the end; and that plus x, added there. */
static void scatter_nodes(tc_graph_writer *w) {
    tc_graph_writer_weight(w, "size", I64(DIMS(2), ROWS, COLUMNS));
    tc_graph_writer_weight(w, "zero", F32(SCALAR, 0));
    tc_graph_writer_node(w, "GatherND", "g", "x,t", "v");
    tc_graph_writer_node(w, "Mul", "m", "v,zero", "none");
    tc_graph_writer_node(w, "Sub", "s", "t,size", "from_end");
    tc_graph_writer_node(w, "Add", "a", "x,x", "twice");
    tc_graph_writer_node(w, "ScatterND", "s0", "twice,from_end,none", "cleared");
    tc_graph_writer_node(w, "ScatterND", "s1", "cleared,t,v", "y");
    tc_graph_writer_str(w, "reduction", "add");
}
static void scatter_want(const float *x, const places *p, tc_graph_shape *s, double *y) {
    (void)p;
    *s = (tc_graph_shape)DIMS(ROWS, COLUMNS);
    for (int i = 0; i < ROWS * COLUMNS; i++)
        y[i] = (double)x[i];
}

/* How many there are in each column. */
static void count_nodes(tc_graph_writer *w) {
    tc_graph_writer_weight(w, "one", I64(SCALAR, 1));
    tc_graph_writer_weight(w, "zeros", (tc_graph_tensor)I64(DIMS(COLUMNS), 0, 0, 0, 0, 0, 0, 0));
    tc_graph_writer_node(w, "Gather", "g", "nz,one", "columns");
    tc_graph_writer_node(w, "Equal", "e", "columns,columns", "same");
    tc_graph_writer_node(w, "Cast", "c", "same", "ones");
    tc_graph_writer_int(w, "to", 7);
    tc_graph_writer_node(w, "ScatterElements", "s", "zeros,columns,ones", "y");
    tc_graph_writer_str(w, "reduction", "add");
}
static void count_want(const float *x, const places *p, tc_graph_shape *s, double *y) {
    (void)x;
    *s = (tc_graph_shape)DIMS(COLUMNS);
    for (int64_t i = 0; i < p->n; i++)
        y[p->column[i]]++;
}

/* Padded to 50 rows with -1, backwards, and twice. */
static void pad_nodes(tc_graph_writer *w) {
    tc_graph_writer_weight(w, "first", I64(DIMS(1), 0));
    tc_graph_writer_weight(w, "second", I64(DIMS(1), 1));
    tc_graph_writer_weight(w, "two", I64(DIMS(1), 2));
    tc_graph_writer_weight(w, "room", I64(DIMS(1), 50));
    tc_graph_writer_weight(w, "last", I64(DIMS(1), -1));
    tc_graph_writer_weight(w, "end", I64(DIMS(1), INT64_MIN));
    tc_graph_writer_weight(w, "fill", I64(SCALAR, -1));
    tc_graph_writer_weight(w, "twice", I64(DIMS(2), 2, 1));
    tc_graph_writer_node(w, "Shape", "sh", "t", "shape");
    tc_graph_writer_node(w, "Slice", "sl", "shape,first,second", "n");
    tc_graph_writer_node(w, "Sub", "s", "room,n", "more");
    tc_graph_writer_node(w, "Concat", "c", "first,first,more,first", "pads");
    tc_graph_writer_int(w, "axis", 0);
    tc_graph_writer_node(w, "Slice", "back", "t,last,end,first,last", "turned");
    tc_graph_writer_node(w, "Pad", "p", "turned,pads,fill", "padded");
    tc_graph_writer_node(w, "Tile", "tl", "turned,twice", "tiled");
    tc_graph_writer_node(w, "Concat", "all", "padded,tiled", "y");
    tc_graph_writer_int(w, "axis", 0);
}
static void pad_want(const float *x, const places *p, tc_graph_shape *s, double *y) {
    (void)x;
    *s = (tc_graph_shape)DIMS(50 + 2 * p->n, 2);
    for (int64_t i = 0; i < s->d[0]; i++) {
        int64_t from = i < 50 ? i : (i - 50) % p->n;
        y[2 * i] = from < p->n ? (double)p->row[p->n - 1 - from] : -1;
        y[2 * i + 1] = from < p->n ? (double)p->column[p->n - 1 - from] : -1;
    }
}

/* Regions from where there is something to two further, of an image that is 1 + row + 2 column: the places in the middle. */
static void region_nodes(tc_graph_writer *w) {
    float image[100];
    for (int i = 0; i < 100; i++)
        image[i] = (float)(1 + i / 10 + 2 * (i % 10));
    tc_graph_writer_weight(w, "image", f32_tensor((tc_graph_shape)DIMS(1, 1, 10, 10), image));
    tc_graph_writer_weight(w, "zero", I64(SCALAR, 0));
    tc_graph_writer_weight(w, "two", F32(SCALAR, 2));
    tc_graph_writer_weight(w, "turn", I64(DIMS(2), 1, 0));
    tc_graph_writer_node(w, "Gather", "g", "t,turn", "xy");
    tc_graph_writer_int(w, "axis", 1);
    tc_graph_writer_node(w, "Cast", "c", "xy", "from");
    tc_graph_writer_int(w, "to", 1);
    tc_graph_writer_node(w, "Add", "a", "from,two", "to");
    tc_graph_writer_node(w, "Concat", "cc", "from,to", "rois");
    tc_graph_writer_int(w, "axis", 1);
    tc_graph_writer_node(w, "Gather", "g0", "nz,zero", "rows");
    tc_graph_writer_node(w, "Mul", "m", "rows,zero", "batch");
    tc_graph_writer_node(w, "RoiAlign", "r", "image,rois,batch", "y");
    tc_graph_writer_str(w, "coordinate_transformation_mode", "output_half_pixel");
}
static void region_want(const float *x, const places *p, tc_graph_shape *s, double *y) {
    (void)x;
    *s = (tc_graph_shape)DIMS(p->n, 1, 1, 1);
    for (int64_t i = 0; i < p->n; i++)
        y[i] = 1 + (double)(p->row[i] + 1) + 2 * (double)(p->column[i] + 1);
}

static const network networks[] = {
    {"scatter", TC_F32, scatter_nodes, scatter_want},
    {"count", TC_I64, count_nodes, count_want},
    {"pad", TC_I64, pad_nodes, pad_want},
    {"regions", TC_F32, region_nodes, region_want},
    {"gather", TC_F32, gather_nodes, gather_want},
    {"flat", TC_I64, flat_nodes, flat_want},
    {"concat", TC_I64, concat_nodes, concat_want},
    {"slice", TC_I64, slice_nodes, slice_want},
    {"mean", TC_F32, mean_nodes, mean_want},
    {"product", TC_F32, product_nodes, product_want},
    {"nested", TC_I64, nested_nodes, nested_want},
    {"shape", TC_I64, shape_nodes, shape_want},
};

static tc_graph_writer *network_model(const network *n) {
    tc_graph_writer *w = tc_graph_writer_new("net", 18);
    tc_graph_writer_input(w, "x", TC_F32, "6,7");
    tc_graph_writer_node(w, "NonZero", "nz", "x", "nz");
    tc_graph_writer_node(w, "Transpose", "tp", "nz", "t");
    n->nodes(w);
    tc_graph_writer_output(w, "y", n->dtype, NULL);
    return w;
}

/* Every element is there with a probability of tenths / 10. */
static void draw(float *x, tc_rng *r, int64_t tenths) {
    for (int i = 0; i < ROWS * COLUMNS; i++)
        x[i] = tc_rng_below(r, 10) < tenths ? (float)i + 1 : 0;
    x[(ROWS - 2) * COLUMNS] = 1; /* no result is empty, or a mean of none */
}

static void check_network(const network *n, tctune_model *m, const float *x) {
    enum { MOST = 7 * ROWS * COLUMNS };
    static _Alignas(64) unsigned char bytes[MOST * 16];
    double want[MOST] = {0}, got[MOST];
    places p = places_of(x);
    tc_graph_shape s;
    n->want(x, &p, &s, want);
    DLDataType type;
    int ndim;
    const int64_t *most;
    char error[512];
    assert_non_null(tctune_model_output(m, 0, &type, &ndim, &most));
    int64_t dims[] = {ROWS, COLUMNS}, room[TC_GRAPH_MAX_DIMS];
    memcpy(room, most, sizeof room[0] * (size_t)ndim);
    DLTensor in = {(void *)(uintptr_t)x, {kDLCPU, 0}, 2, {kDLFloat, 32, 1}, dims, NULL, 0};
    DLTensor out = {bytes, {kDLCPU, 0}, ndim, type, room, NULL, 0};
    if (tctune_model_run(m, &in, &out, error, sizeof error) != TCTUNE_OK)
        fail_msg("%s: %s", n->name, error);
    assert_int_equal(ndim, s.ndim);
    for (int d = 0; d < ndim; d++)
        assert_int_equal(tctune_model_output_shape(m, 0)[d], s.d[d]);
    tc_graph_tensor view = tc_graph_tensor_view(n->dtype, &s, bytes);
    tc_graph_tensor_to_f64(&view, got);
    for (int64_t i = 0; i < tc_graph_shape_count(&s); i++)
        if (fabs(got[i] - want[i]) > 1e-4 * (1 + fabs(want[i])))
            fail_msg("%s: element %lld is %g, but %g was expected", n->name, (long long)i, got[i], want[i]);
}

/* A model and the library made of it tell of the same kernels. */
static void check_profile(const char *name, tctune_model *m, tctune_model *loaded, const float *x) {
    enum { MOST = 64 };
    char error[512];
    tctune_kernel_time a[MOST], b[MOST];
    int64_t dims[] = {ROWS, COLUMNS};
    DLTensor in = {(void *)(uintptr_t)x, {kDLCPU, 0}, 2, {kDLFloat, 32, 1}, dims, NULL, 0};
    int n = tctune_model_num_kernels(m);
    assert_true(n > 0 && n <= MOST);
    assert_int_equal(tctune_model_num_kernels(loaded), n);
    if (tctune_model_profile(m, &in, 3, a, error, sizeof error) != TCTUNE_OK ||
        tctune_model_profile(loaded, &in, 3, b, error, sizeof error) != TCTUNE_OK)
        fail_msg("%s: %s", name, error);
    bool library = false;
    for (int i = 0; i < n; i++) {
        assert_string_equal(a[i].name, b[i].name);
        assert_int_equal(a[i].launches, b[i].launches);
        assert_true(a[i].launches > 0 && a[i].seconds > 0 && b[i].seconds > 0);
        library |= strcmp(b[i].name, "NonZeroList") == 0;
    }
    assert_true(library);
    assert_int_equal(tctune_model_profile(loaded, &in, 0, b, error, sizeof error), TCTUNE_BAD_INPUT);
}

static void test_networks(void **state) {
    (void)state;
    float x[ROWS * COLUMNS];
    char error[512];
    for (size_t i = 0; i < TC_LEN(networks); i++) {
        tctune_model *m, *loaded;
        tc_rng r = tc_rng_seed(i);
        tc_graph_writer *w = network_model(&networks[i]);
        assert_ok(tc_graph_writer_save(w, PATH, err));
        tc_graph_writer_free(w);
        if (tctune_build_file(PATH, &(tctune_build_options){.struct_size = sizeof(tctune_build_options), .threads = 2}, &m, error,
                              sizeof error) != TCTUNE_OK ||
            tctune_model_save(m, SCRATCH("select.so"), NULL, error, sizeof error) != TCTUNE_OK ||
            tctune_load(SCRATCH("select.so"), 0, &loaded, error, sizeof error) != TCTUNE_OK)
            fail_msg("%s: %s", networks[i].name, error);
        for (int64_t tenths = 0; tenths <= 10; tenths += 2) {
            draw(x, &r, tenths);
            check_network(&networks[i], m, x);
            check_network(&networks[i], loaded, x);
        }
        assert_null(tctune_model_output_shape(m, 1));
        check_profile(networks[i].name, m, loaded, x);
        tctune_model_free(loaded);
        tctune_model_free(m);
    }
    remove(PATH);
    remove(SCRATCH("select.so"));
    remove(SCRATCH("select.h"));
}

/* ---- refusals name node and dimension ---- */

static void refuse(const char *op, const char *inputs, void (*more)(tc_graph_writer *w), const char *a, const char *b) {
    tc_graph *g;
    tc_graph_writer *w = tc_graph_writer_new("net", 13);
    tc_graph_writer_input(w, "x", TC_F32, "6,7");
    tc_graph_writer_input(w, "k", TC_I64, "1");
    tc_graph_writer_node(w, "NonZero", "nz", "x", "nz");
    tc_graph_writer_node(w, "Cast", "c", "nz", "f");
    tc_graph_writer_int(w, "to", 1);
    tc_graph_writer_node(w, op, "bad", inputs, "y");
    if (more)
        more(w);
    tc_graph_writer_output(w, "y", TC_F32, NULL);
    assert_fails(TC_BAD_INPUT, import_model(w, PATH, NULL, &g, err), "node 'bad'", a, b);
}

static void no_axis(tc_graph_writer *w) {
    tc_graph_writer_int(w, "axis", 2);
}

static void test_refusals(void **state) {
    (void)state;
    refuse("MaxRoiPool", "f,x", NULL, "it expects an input [N, C, H, W]", "f32[2,42]");
    refuse("GatherND", "x,nz", NULL, "dimension 1 of input 1 ('nz')", "at most 42");
    refuse("ScatterND", "x,nz,f", NULL, "dimension 1 of input 1 ('nz')", "at most 42");
    refuse("Reshape", "f,k", NULL, "shape[0]", "largest value");
    refuse("Compress", "f,x", NULL, "condition 'x'", "list of bool");
    refuse("Unique", "x", no_axis, "axis 2", "2 dimensions");
    refuse("NonMaxSuppression", "x,x", NULL, "boxes must be f32", "f32[6,7]");
    remove(PATH);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_networks), cmocka_unit_test(test_refusals)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
