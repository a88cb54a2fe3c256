/* Sizes that a model relates by products, by quotients of which one size divides another, and by what must divide: each run is computed or
 * refused as its sizes say. By the evaluator of the graph, in this process, by a library that was loaded, and by what libraries and C source
 * say to programs; right is what the graph of exactly these sizes gives. */
#include <dlfcn.h>
#include <math.h>

#include "graph/graph_test.h"
#include "graph/model/parts.h"
#include "graph/ops/ops.h"
#include "graph/passes/pass.h"
#include "graph/saved/save_int.h"

enum { MAX_SIZES = 4, MAX_IN = 3, ELEMENTS = 2048, POISON = 0x5a };

typedef struct sample {
    const char *name;
    void (*make)(tc_graph_writer *w);
    const char *ranges[MAX_SIZES];      /* "n=1..6"; NULL behind the last */
    const char *inputs[MAX_IN];         /* dimensions of x, y and t: single letters of sizes, or digits */
    bool (*takes)(const int64_t *size); /* sizes in the order of the ranges */
    const char *says[2];                /* parts of what a refusal says, with %s for none */
} sample;

/* ---- models ---- */

/* "to": the sizes of `of`, with the number behind them, if it is not 0. */
static void shape_of(tc_graph_writer *w, const char *of, int64_t behind) {
    tc_graph_writer_node(w, "Shape", "", of, behind ? "sizes" : "to");
    if (!behind)
        return;
    tc_graph_writer_weight(w, "behind", i64_tensor((tc_graph_shape)DIMS(1), &behind));
    tc_graph_writer_node(w, "Concat", "", "sizes,behind", "to");
    tc_graph_writer_int(w, "axis", 0);
}

static void sum_rows(tc_graph_writer *w, const char *of) {
    static const int64_t last[] = {-1};
    tc_graph_writer_node(w, "Exp", "", of, "e");
    tc_graph_writer_weight(w, "last", i64_tensor((tc_graph_shape)DIMS(1), last));
    tc_graph_writer_node(w, "ReduceSum", "", "e,last", "s");
}

/* x[r, 2] as [b, s, 2], and a mask y[b, s]. */
static void rows(tc_graph_writer *w) {
    shape_of(w, "y", 2);
    tc_graph_writer_node(w, "Reshape", "node", "x,to", "z");
    sum_rows(w, "z");
    tc_graph_writer_weight(w, "axis", i64_tensor((tc_graph_shape)DIMS(1), (const int64_t[]){2}));
    tc_graph_writer_node(w, "Unsqueeze", "", "y,axis", "mask");
    tc_graph_writer_node(w, "Mul", "", "s,mask", "out");
}

/* x[n] as [m, -1]. */
static void parts(tc_graph_writer *w) {
    shape_of(w, "y", -1);
    tc_graph_writer_node(w, "Reshape", "node", "x,to", "z");
    sum_rows(w, "z");
    tc_graph_writer_weight(w, "axis", i64_tensor((tc_graph_shape)DIMS(1), (const int64_t[]){1}));
    tc_graph_writer_node(w, "Unsqueeze", "", "y,axis", "column");
    tc_graph_writer_node(w, "Add", "", "s,column", "out");
}

/* The same, whose columns another input has as well. */
static void columns(tc_graph_writer *w) {
    shape_of(w, "y", -1);
    tc_graph_writer_node(w, "Reshape", "node", "x,to", "z");
    tc_graph_writer_node(w, "Mul", "", "z,t", "p");
    sum_rows(w, "p");
    tc_graph_writer_node(w, "Add", "", "p,s", "out");
}

/* x[n, m, 3] as [-1, 4]. */
static void fours(tc_graph_writer *w) {
    static const int64_t shape[] = {-1, 4};
    tc_graph_writer_weight(w, "to", i64_tensor((tc_graph_shape)DIMS(2), shape));
    tc_graph_writer_node(w, "Reshape", "node", "x,to", "z");
    sum_rows(w, "z");
    tc_graph_writer_node(w, "Sub", "", "z,s", "out");
}

/* x[n, m] as y[k, 2]. */
static void alike(tc_graph_writer *w) {
    shape_of(w, "y", 0);
    tc_graph_writer_node(w, "Reshape", "node", "x,to", "z");
    tc_graph_writer_node(w, "Add", "", "z,y", "out");
}

/* `of` with itself, `times` times along its first dimension. */
static void repeat(tc_graph_writer *w, const char *of, int times, const char *to) {
    char list[40] = "";
    for (int i = 0; i < times; i++)
        snprintf(list + strlen(list), sizeof list - strlen(list), "%s%s", i ? "," : "", of);
    tc_graph_writer_node(w, "Concat", "", list, to);
    tc_graph_writer_int(w, "axis", 0);
}

/* Sizes that meet where neither is free: x[n] twice and y[m] three times. */
static void twice(tc_graph_writer *w) {
    repeat(w, "x", 2, "xx");
    repeat(w, "y", 3, "yyy");
    tc_graph_writer_node(w, "Mul", "node", "xx,yyy", "z");
    sum_rows(w, "z");
    tc_graph_writer_node(w, "Add", "", "s,yyy", "out");
}

/* x[n], one, and y[m, 2] twice. */
static void one_more(tc_graph_writer *w) {
    tc_graph_writer_weight(w, "one", F32(DIMS(1, 1), 1));
    tc_graph_writer_node(w, "Concat", "", "x,one", "x1");
    tc_graph_writer_int(w, "axis", 0);
    repeat(w, "y", 2, "yy");
    tc_graph_writer_node(w, "Mul", "node", "yy,x1", "z");
    tc_graph_writer_node(w, "Exp", "", "x1", "e");
    tc_graph_writer_node(w, "Sub", "", "e,z", "out");
}

/* x[n] behind y[m], and t[k] twice. */
static void halves(tc_graph_writer *w) {
    tc_graph_writer_node(w, "Concat", "", "y,x", "yx");
    tc_graph_writer_int(w, "axis", 0);
    repeat(w, "t", 2, "tt");
    tc_graph_writer_node(w, "Add", "node", "tt,yx", "z");
    sum_rows(w, "z");
    tc_graph_writer_node(w, "Div", "", "z,s", "out");
}

/* The inner dimension of a product, and one that operands of Concat share: x[n, 2] twice, y[m, 2] three times. */
static void inner(tc_graph_writer *w) {
    repeat(w, "x", 2, "xx");
    repeat(w, "y", 3, "yyy");
    tc_graph_writer_node(w, "Transpose", "", "xx", "turned");
    tc_graph_writer_ints(w, "perm", "1,0");
    tc_graph_writer_node(w, "MatMul", "node", "turned,yyy", "p");
    tc_graph_writer_node(w, "Concat", "", "yyy,xx", "both");
    tc_graph_writer_int(w, "axis", 1);
    tc_graph_writer_weight(w, "fold", F32(DIMS(4, 2), 1, 2, 3, 4, 5, 6, 7, 8));
    tc_graph_writer_node(w, "MatMul", "", "both,fold", "q");
    tc_graph_writer_node(w, "MatMul", "", "q,p", "out");
}

/* ---- sizes that meet in bodies ---- */

/* "many": trips that are not written out; "none": 0. */
static void add_numbers(tc_graph_writer *w) {
    static const int64_t many[] = {40}, first[] = {0};
    tc_graph_writer_weight(w, "many", i64_tensor((tc_graph_shape)SCALAR, many));
    tc_graph_writer_weight(w, "first", i64_tensor((tc_graph_shape)SCALAR, first));
    tc_graph_writer_weight(w, "none", F32(SCALAR, 0));
}

/* "trips": as many as t has rows. */
static void count_trips(tc_graph_writer *w) {
    tc_graph_writer_node(w, "Shape", "", "t", "rows");
    tc_graph_writer_node(w, "Gather", "", "rows,first", "trips");
}

static tc_graph_writer *trip_of(const char *state) {
    static uint8_t yes[] = {1};
    tc_graph_writer *b = tc_graph_writer_new("trip", 17);
    tc_graph_writer_input(b, "i", TC_I64, "");
    tc_graph_writer_input(b, "before", TC_BOOL, "");
    tc_graph_writer_input(b, state, TC_F32, NULL);
    tc_graph_writer_weight(b, "go", tc_graph_tensor_view(TC_BOOL, &(tc_graph_shape)SCALAR, yes));
    tc_graph_writer_output(b, "go", TC_BOOL, NULL);
    return b;
}

static void loop(tc_graph_writer *w, const char *inputs, const char *outputs, tc_graph_writer *trip) {
    tc_graph_writer_node(w, "Loop", "loop", inputs, outputs);
    tc_graph_writer_body(w, "body", trip);
}

static void branch_on(tc_graph_writer *w, const char *cond, const char *out, tc_graph_writer *yes, tc_graph_writer *no) {
    tc_graph_writer_node(w, "If", "choose", cond, out);
    tc_graph_writer_body(w, "then_branch", yes);
    tc_graph_writer_body(w, "else_branch", no);
}

/* A branch that computes op of both. */
static tc_graph_writer *branch(const char *op, const char *both, const char *out) {
    tc_graph_writer *b = tc_graph_writer_new("branch", 17);
    tc_graph_writer_node(b, op, "node", both, out);
    tc_graph_writer_output(b, out, TC_F32, NULL);
    return b;
}

/* The number v is carried, and the sum of z added to it. */
static void carry_sum(tc_graph_writer *b, const char *z) {
    tc_graph_writer_node(b, "ReduceSum", "", z, "total");
    tc_graph_writer_int(b, "keepdims", 0);
    tc_graph_writer_node(b, "Add", "", "v,total", "next");
    tc_graph_writer_output(b, "next", TC_F32, NULL);
}

/* x[n] twice and y[m] three times, in each of 40 trips. */
static void in_loop(tc_graph_writer *w) {
    tc_graph_writer *b = trip_of("v");
    add_numbers(w);
    repeat(w, "x", 2, "xx"); /* rows of trips are as large as something around the loop */
    repeat(b, "y", 3, "yyy");
    tc_graph_writer_node(b, "Mul", "node", "xx,yyy", "z");
    carry_sum(b, "z");
    tc_graph_writer_output(b, "z", TC_F32, NULL);
    loop(w, "many,,none", "sum,all", b);
    tc_graph_writer_node(w, "Add", "", "all,sum", "out");
}

/* What is carried is as large as x[n], and y[m] is added to it: as often as t has rows, which may be never. */
static void in_state(tc_graph_writer *w) {
    tc_graph_writer *b = trip_of("h");
    add_numbers(w);
    count_trips(w);
    tc_graph_writer_node(b, "Add", "node", "h,y", "z");
    tc_graph_writer_node(b, "Tanh", "", "z", "h1");
    tc_graph_writer_output(b, "h1", TC_F32, NULL);
    loop(w, "trips,,x", "last", b);
    tc_graph_writer_node(w, "Neg", "", "last", "out");
}

/* x[n, 1] with one behind it, and y[m, 2] twice, along 40 numbers. */
static void in_scan(tc_graph_writer *w) {
    static float numbers[40];
    tc_graph_writer *b = tc_graph_writer_new("step", 17);
    add_numbers(w);
    for (int i = 0; i < 40; i++)
        numbers[i] = (float)(i % 5);
    tc_graph_writer_weight(w, "numbers", f32_tensor((tc_graph_shape)DIMS(40), numbers));
    tc_graph_writer_input(b, "v", TC_F32, NULL);
    tc_graph_writer_input(b, "number", TC_F32, NULL);
    tc_graph_writer_weight(b, "one", F32(DIMS(1, 1), 1));
    tc_graph_writer_node(b, "Concat", "", "x,one", "x1");
    tc_graph_writer_int(b, "axis", 0);
    repeat(w, "y", 2, "yy");
    tc_graph_writer_node(b, "Mul", "node", "yy,x1", "p");
    tc_graph_writer_node(b, "Mul", "", "p,number", "z");
    carry_sum(b, "z");
    tc_graph_writer_output(b, "z", TC_F32, NULL);
    tc_graph_writer_node(w, "Scan", "scan", "none,numbers", "sum,all");
    tc_graph_writer_int(w, "num_scan_inputs", 1);
    tc_graph_writer_body(w, "body", b);
    tc_graph_writer_node(w, "Sub", "", "all,sum", "out");
}

/* As `in_loop`, of a loop in a loop, the inner of which also has branches that rely on what its trips need. */
static void in_inner(tc_graph_writer *w) {
    tc_graph_writer *b = trip_of("v"), *inner = trip_of("u");
    add_numbers(w);
    count_trips(w);
    repeat(w, "x", 2, "xx");
    repeat(b, "y", 3, "yyy");
    tc_graph_writer_node(inner, "Mul", "node", "xx,yyy", "z");
    tc_graph_writer_node(inner, "Greater", "", "u,first_sum", "above");
    branch_on(inner, "above", "chosen", branch("Add", "xx,yyy", "a"), branch("Sub", "z,yyy", "d"));
    tc_graph_writer_node(inner, "ReduceSum", "", "chosen", "u1");
    tc_graph_writer_int(inner, "keepdims", 0);
    tc_graph_writer_output(inner, "u1", TC_F32, NULL);
    tc_graph_writer_output(inner, "chosen", TC_F32, NULL);
    tc_graph_writer_weight(w, "first_sum", F32(SCALAR, 1));
    loop(b, "many,,v", "u2,each", inner);
    carry_sum(b, "each");
    tc_graph_writer_node(b, "ReduceMean", "", "each", "mean");
    tc_graph_writer_ints(b, "axes", "0");
    tc_graph_writer_int(b, "keepdims", 0);
    tc_graph_writer_output(b, "mean", TC_F32, NULL);
    loop(w, "trips,,none", "sum,all", b);
    tc_graph_writer_node(w, "Mul", "", "all,xx", "out");
}

/* Branches rely on what the graph around them needs. */
static void in_branch(tc_graph_writer *w) {
    repeat(w, "x", 2, "xx");
    repeat(w, "y", 3, "yyy");
    tc_graph_writer_node(w, "Mul", "node", "xx,yyy", "z");
    tc_graph_writer_weight(w, "one", F32(SCALAR, 1));
    tc_graph_writer_node(w, "ReduceSum", "", "x", "total");
    tc_graph_writer_int(w, "keepdims", 0);
    tc_graph_writer_node(w, "Greater", "", "total,one", "above");
    branch_on(w, "above", "chosen", branch("Add", "xx,yyy", "a"), branch("Sub", "yyy,xx", "d"));
    tc_graph_writer_node(w, "Mul", "", "chosen,z", "out");
}

static bool takes_rows(const int64_t *v) {
    return v[2] == v[0] * v[1];
}
static bool takes_parts(const int64_t *v) {
    return v[1] > 0 && v[0] % v[1] == 0;
}
static bool takes_columns(const int64_t *v) {
    return v[0] % v[1] == 0 && v[2] == v[0] / v[1];
}
static bool takes_fours(const int64_t *v) {
    return v[0] * v[1] % 4 == 0;
}
static bool takes_alike(const int64_t *v) {
    return v[0] * v[1] == v[2] * 2;
}

static bool takes_twice(const int64_t *v) {
    return 2 * v[0] == 3 * v[1];
}
static bool takes_one_more(const int64_t *v) {
    return v[0] + 1 == 2 * v[1];
}
static bool takes_halves(const int64_t *v) {
    return v[0] + v[1] == 2 * v[2];
}

static bool takes_alike_states(const int64_t *v) {
    return v[0] == v[1];
}

static const sample samples[] = {
    {"rows", rows, {"b=1..3", "s=1..4", "r=1..12"}, {"r2", "bs"}, takes_rows, {"'r' must be b * s, which is", "b is"}},
    {"multiples of rows", rows, {"b=1..3", "s=2..4:2", "r=4..12:4"}, {"r2", "bs"}, takes_rows, {"'r' must be", "s is"}},
    {"parts",
     parts,
     {"n=1..12", "m=0..4"},
     {"n", "m"},
     takes_parts,
     {"elements of 'x', n, is", "must be a multiple of m, which is"}},
    {"columns", columns, {"n=1..12", "m=1..3", "c=1..12"}, {"n", "m", "c"}, takes_columns, {" (n is ", "m is "}},
    {"fours", fours, {"n=1..6", "m=1..5"}, {"nm3"}, takes_fours, {"elements of 'x', ", "must be a multiple of 4"}},
    {"alike", alike, {"n=1..5", "m=1..4", "k=1..7"}, {"nm", "k2"}, takes_alike, {"must be", "k is "}},
    {"twice", twice, {"n=0..9", "m=0..6"}, {"n", "m"}, takes_twice, {"node 'node' (Mul): dimension 0 of", "(m is "}},
    {"steps", twice, {"n=0..12:3", "m=1..8"}, {"n", "m"}, takes_twice, {"must be equal, but", "(n is "}},
    {"one more", one_more, {"n=1..11", "m=1..6"}, {"n1", "m2"}, takes_one_more, {"n + 1 is", "m * 2 is"}},
    {"halves", halves, {"n=1..7", "m=0..5", "k=1..6"}, {"n", "m", "k"}, takes_halves, {"m is ", "k * 2 is"}},
    {"inner", inner, {"n=1..12", "m=1..8"}, {"n2", "m2"}, takes_twice, {"(MatMul): dimension 1 of 'turned'", "must be equal"}},
    {"in loop",
     in_loop,
     {"n=0..9", "m=0..6"},
     {"n", "m"},
     takes_twice,
     {"(Mul): dimension 0 of 'xx' and dimension 0 of", "(m is "}},
    {"in state",
     in_state,
     {"n=1..4", "m=1..4", "k=0..2"},
     {"n", "m", "k"},
     takes_alike_states,
     {"'n' is ", " in dimension 0 of input 'y', but "}},
    {"in scan", in_scan, {"n=1..11", "m=1..6"}, {"n1", "m2"}, takes_one_more, {"n + 1 is", "m * 2 is"}},
    {"in inner", in_inner, {"n=0..6", "m=0..4", "k=1..2"}, {"n", "m", "k"}, takes_twice, {"must be equal, but", "(n is "}},
    {"in branch", in_branch, {"n=0..9", "m=0..6"}, {"n", "m"}, takes_twice, {"node 'node' (Mul): dimension 0 of", "(m is "}},
};

static const char *const names[] = {"x", "y", "t"};

static void dims_of(const char *letters, char *out) {
    for (const char *p = letters; *p; p++) {
        *out++ = *p;
        *out++ = p[1] ? ',' : 0;
    }
}

static tc_graph *graph_of(const sample *s, const tc_graph_binding *shapes, size_t n) {
    tc_graph_writer *w = tc_graph_writer_new("related", 17);
    tc_graph *g;
    char dims[16];
    for (int i = 0; i < MAX_IN && s->inputs[i]; i++) {
        dims_of(s->inputs[i], dims);
        tc_graph_writer_input(w, names[i], TC_F32, dims);
    }
    s->make(w);
    tc_graph_writer_output(w, "out", TC_F32, NULL);
    assert_ok(import_model(w, SCRATCH("related.onnx"), &(tc_graph_import_options){.shapes = shapes, .nshapes = n}, &g, err));
    return g;
}

/* ---- what is built ---- */

typedef struct built {
    const sample *s;
    int nsize, nin;
    tc_graph_binding range[MAX_SIZES];
    tc_graph *varying, *passed; /* as it was imported, and as the program has it */
    tc_graph_program *p;
    tc_target *t;
    tc_graph_model *m, *loaded;
    void *library[2]; /* of machine code, and of C source */
    int32_t (*run[2])(const void *const *, void *const *);
} built;

static void open_library(built *b, int i, const char *path) {
    b->library[i] = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    void *run = b->library[i] ? dlsym(b->library[i], "model_run") : NULL;
    assert_non_null(run);
    memcpy(&b->run[i], &run, sizeof run);
    remove(path);
}

static void save(built *b, int number) {
    char path[2][1200], source[1200], command[4000];
    snprintf(path[0], sizeof path[0], TCTUNE_TEST_TMP "/related%d.so", number);
    snprintf(path[1], sizeof path[1], TCTUNE_TEST_TMP "/related%d_c.so", number);
    snprintf(source, sizeof source, TCTUNE_TEST_TMP "/related%d.c", number);
    assert_ok(tc_graph_model_save(b->m, path[0], "model", err));
    assert_ok(tc_graph_model_save(b->m, source, "model", err));
    assert_ok(tc_graph_model_load(path[0], 0, &b->loaded, err));
    snprintf(command, sizeof command, "cc -std=c17 -O0 -Wall -Wextra -Werror -fPIC -shared %s -o %s -lm", source, path[1]);
    assert_int_equal(system(command), 0);
    remove(source);
    open_library(b, 0, path[0]);
    open_library(b, 1, path[1]);
}

static built open_sample(const sample *s, int number) {
    built b = {.s = s};
    for (; b.nsize < MAX_SIZES && s->ranges[b.nsize]; b.nsize++)
        assert_ok(tc_graph_binding_parse(s->ranges[b.nsize], &b.range[b.nsize], err));
    while (b.nin < MAX_IN && s->inputs[b.nin])
        b.nin++;
    b.varying = graph_of(s, b.range, (size_t)b.nsize);
    b.passed = graph_of(s, b.range, (size_t)b.nsize);
    assert_ok(tc_graph_passes(b.passed, NULL, err));
    assert_ok(tc_graph_program_new(b.passed, &b.p, err));
    assert_ok(tc_target_parse("native", &b.t, err));
    assert_ok(tc_graph_model_build(b.p, &(tc_graph_build_options){.target = b.t, .threads = 1}, &b.m, err));
    save(&b, number);
    return b;
}

static void release(built *b) {
    for (int i = 0; i < 2; i++)
        dlclose(b->library[i]);
    for (int k = 0; k < b->nsize; k++)
        free((char *)(uintptr_t)b->range[k].name);
    tc_graph_model_free(b->loaded);
    tc_graph_model_free(b->m);
    tc_graph_program_free(b->p);
    tc_target_free(b->t);
    tc_graph_free(b->passed);
    tc_graph_free(b->varying);
}

/* ---- runs ---- */

static int64_t size_named(const built *b, const int64_t *size, const char *name) {
    for (int k = 0; k < b->nsize; k++)
        if (strcmp(b->range[k].name, name) == 0)
            return size[k];
    fail_msg("there is no size %s", name);
    return 0;
}

static void draw(const built *b, const int64_t *size, float (*data)[ELEMENTS], tc_graph_tensor *in) {
    for (int i = 0; i < b->nin; i++) {
        tc_graph_shape shape = {0};
        for (const char *p = b->s->inputs[i]; *p; p++)
            shape.d[shape.ndim++] = *p <= '9' ? *p - '0' : size_named(b, size, (const char[]){*p, 0});
        assert_true(tc_graph_shape_count(&shape) <= ELEMENTS);
        for (int64_t e = 0; e < tc_graph_shape_count(&shape); e++)
            data[i][e] = (float)((e * 37 + 11 * i) % 23) / 23;
        in[i] = tc_graph_tensor_view(TC_F32, &shape, data[i]);
    }
}

static void expect_output(const built *b, const tc_graph_tensor *want, tc_status s, tc_error *e, tc_graph_tensor *got) {
    tc_graph_diff d;
    if (!want) {
        assert_int_equal(s, TC_BAD_INPUT);
        for (size_t i = 0; i < TC_LEN(b->s->says); i++)
            if (!strstr(e->msg, b->s->says[i]))
                fail_msg("%s: expected '%s', but there is: %s", b->s->name, b->s->says[i], e->msg);
        return;
    }
    if (s != TC_OK)
        fail_msg("%s: %s", b->s->name, e->msg);
    assert_true(tc_graph_shape_equal(&got->shape, &want->shape));
    assert_ok(tc_graph_tensor_compare(got, want, 0, 0, &d, err));
    assert_true(d.rel < 1e-4);
    tc_graph_tensor_free(got);
}

/* Element e of the output as a program finds it: by the sizes of the run, or by the largest where it says so. */
static float element(const tc_graph_port *p, const tc_graph_shape *shape, const float *y, int64_t e) {
    const tc_graph_shape *lies = p->is_dense ? shape : &p->shape;
    int64_t strides[TC_GRAPH_MAX_DIMS], at = 0;
    tc_graph_shape_strides(lies, strides);
    for (int d = shape->ndim - 1; d >= 0; e /= shape->d[d--])
        at += e % shape->d[d] * strides[d];
    return y[at];
}

static void check_call(const built *b, int way, const int64_t *size, const tc_graph_tensor *in, const tc_graph_tensor *want) {
    static float y[ELEMENTS];
    int64_t given[MAX_SIZES], more[8];
    const void *ins[MAX_IN + MAX_SIZES];
    void *outs[8] = {y};
    memset(y, POISON, sizeof y);
    for (int i = 0; i < b->nin; i++)
        ins[i] = in[i].data;
    for (int k = 0; k < b->m->rules.nsize; k++) {
        given[k] = size_named(b, size, b->m->rules.size[k].name);
        ins[b->nin + k] = &given[k];
    }
    assert_true(b->m->nout <= 8 && tc_graph_shape_count(&b->m->out[0].shape) <= ELEMENTS);
    for (int i = 1; i < b->m->nout; i++)
        outs[i] = &more[i];
    int32_t status = b->run[way](ins, outs);
    assert_int_equal(status, want ? 0 : -2);
    for (size_t i = 0; i < sizeof y && !want; i++)
        assert_int_equal(((const unsigned char *)y)[i], POISON);
    for (int64_t e = 0; want && e < tc_graph_tensor_count(want); e++)
        assert_true(fabsf(element(&b->m->out[0], &want->shape, y, e) - ((const float *)want->data)[e]) < 1e-3f);
}

static void check(const built *b, const int64_t *size) {
    _Alignas(64) static float data[MAX_IN][ELEMENTS];
    bool takes = b->s->takes(size);
    tc_graph_tensor in[MAX_IN], got, want = {0};
    tc_graph_model *models[] = {b->m, b->loaded};
    tc_error e = {0};
    draw(b, size, data, in);
    if (takes) {
        tc_graph_binding one[MAX_SIZES];
        for (int k = 0; k < b->nsize; k++)
            one[k] = (tc_graph_binding){b->range[k].name, 1, {{size[k], size[k], 1}}};
        tc_graph *fixed = graph_of(b->s, one, (size_t)b->nsize);
        assert_ok(tc_graph_eval(fixed, in, &want, err));
        tc_graph_free(fixed);
    }
    const tc_graph_tensor *right = takes ? &want : NULL;
    tc_status s = tc_graph_eval(b->varying, in, &got, &e);
    expect_output(b, right, s, &e, &got);
    for (size_t i = 0; i < TC_LEN(models); i++) {
        s = tc_graph_model_run(models[i], in, &got, &e);
        expect_output(b, right, s, &e, &got);
    }
    bool joined = b->m->rules.nsize < b->nsize; /* two sizes are one, which programs give once */
    for (int way = 0; way < 2 && (takes || !joined); way++)
        check_call(b, way, size, in, right);
    tc_graph_tensor_free(&want);
}

/* Of the sizes within their ranges the next, the first of which counts fastest; false: that was all. */
static bool count_up(const built *b, int64_t *size) {
    for (int k = 0; k < b->nsize; k++) {
        const tc_graph_range *r = &b->range[k].d[0];
        size[k] += r->multiple;
        if (size[k] <= r->most)
            return true;
        size[k] = r->least;
    }
    return false;
}

static void test_related(void **state) {
    (void)state;
    for (size_t i = 0; i < TC_LEN(samples); i++) {
        built b = open_sample(&samples[i], (int)i);
        int64_t size[MAX_SIZES], some[MAX_SIZES];
        int taken = 0, refused = 0;
        for (int k = 0; k < b.nsize; k++)
            size[k] = b.range[k].d[0].least;
        do {
            check(&b, size);
            taken += samples[i].takes(size);
            refused += !samples[i].takes(size);
        } while (count_up(&b, size));
        assert_true(taken > 3 && refused > 3);
        for (int k = 0; k < b.m->rules.nsize; k++)
            some[k] = -1;
        assert_ok(tc_graph_size_rules_complete(&b.m->rules, some, err)); /* some that go together are found */
        assert_ok(tc_graph_size_rules_largest(&b.loaded->rules, some, err));
        release(&b);
    }
}

/* ---- branches, which a run may do without ---- */

/* x[n] and y[m], which nothing but a branch needs to be equal. */
static void only_in_branch(tc_graph_writer *w) {
    tc_graph_writer_weight(w, "one", F32(SCALAR, 1));
    tc_graph_writer_node(w, "ReduceSum", "", "x", "total");
    tc_graph_writer_int(w, "keepdims", 0);
    tc_graph_writer_node(w, "Greater", "", "total,one", "above");
    branch_on(w, "above", "out", branch("Add", "x,y", "a"), branch("Neg", "x", "d"));
}

/* In a branch in the trips of a loop. */
static void branch_in_trip(tc_graph_writer *w) {
    tc_graph_writer *b = trip_of("h");
    add_numbers(w);
    only_in_branch(b);
    tc_graph_writer_output(b, "out", TC_F32, NULL);
    loop(w, "many,,x", "out", b);
}

/* In the trips of a loop in a branch. */
static void trip_in_branch(tc_graph_writer *w) {
    tc_graph_writer *b = trip_of("h"), *yes = tc_graph_writer_new("yes", 17);
    add_numbers(w);
    tc_graph_writer_node(b, "Add", "node", "h,y", "h1");
    tc_graph_writer_output(b, "h1", TC_F32, NULL);
    loop(yes, "many,,x", "last", b);
    tc_graph_writer_output(yes, "last", TC_F32, NULL);
    tc_graph_writer_node(w, "ReduceSum", "", "x", "total");
    tc_graph_writer_int(w, "keepdims", 0);
    tc_graph_writer_node(w, "Greater", "", "total,none", "above");
    branch_on(w, "above", "out", yes, branch("Neg", "x", "d"));
}

/* x[n] as large as y[m]. */
static void reshaped_in_branch(tc_graph_writer *w) {
    tc_graph_writer *yes = tc_graph_writer_new("yes", 17);
    tc_graph_writer_node(yes, "Shape", "", "y", "to");
    tc_graph_writer_node(yes, "Reshape", "node", "x,to", "a");
    tc_graph_writer_output(yes, "a", TC_F32, NULL);
    tc_graph_writer_weight(w, "one", F32(SCALAR, 1));
    tc_graph_writer_node(w, "ReduceSum", "", "x", "total");
    tc_graph_writer_int(w, "keepdims", 0);
    tc_graph_writer_node(w, "Greater", "", "total,one", "above");
    branch_on(w, "above", "out", yes, branch("Neg", "x", "d"));
}

static tc_status import_of(void (*make)(tc_graph_writer *w), const char *y, const char *ranges[2], tc_graph **g, tc_error *e) {
    tc_graph_writer *w = tc_graph_writer_new("branches", 17);
    tc_graph_binding range[2];
    tc_graph_writer_input(w, "x", TC_F32, "n");
    tc_graph_writer_input(w, "y", TC_F32, y);
    make(w);
    tc_graph_writer_output(w, "out", TC_F32, NULL);
    for (int k = 0; k < 2; k++)
        assert_ok(tc_graph_binding_parse(ranges[k], &range[k], err));
    size_t n = strcmp(y, "n") == 0 ? 1 : 2;
    tc_status s = import_model(w, SCRATCH("branches.onnx"), &(tc_graph_import_options){.shapes = range, .nshapes = n}, g, e);
    for (int k = 0; k < 2; k++)
        free((char *)(uintptr_t)range[k].name);
    return s;
}

/* They are not known to be equal: the model is refused, with both. Not where they are one symbol, or single numbers. */
static void test_branches(void **state) {
    (void)state;
    void (*const make[])(tc_graph_writer *) = {only_in_branch, branch_in_trip, trip_in_branch, reshaped_in_branch};
    static const char *const nodes[] = {"node 'node' (Add)", "node 'node' (Add)", "node 'node' (Add)", "node 'node' (Reshape)"};
    for (size_t i = 0; i < TC_LEN(make); i++) {
        tc_graph *g;
        assert_fails(TC_BAD_INPUT, import_of(make[i], "m", (const char *[]){"n=1..6", "m=1..4"}, &g, err), nodes[i],
                     "(n, at most 6)", "(m, at most 4)", "this branch of an If", "--shape");
        assert_ok(import_of(make[i], "n", (const char *[]){"n=1..6", "n=1..6"}, &g, err));
        tc_graph_free(g);
        assert_ok(import_of(make[i], "m", (const char *[]){"n=3", "m=3"}, &g, err));
        tc_graph_free(g);
    }
}

/* ---- what files say ---- */

/* Of sizes n, 0 to 9, and m, which is what the text says of n. */
static bool reads(const char *is, int64_t n, int64_t m) {
    static const char text[] =
        "{\"inputs\": [[0, 1]], \"limits\": [{\"size\": {\"text\": \"n\", \"formula\": [[0]]}, \"least\": 0}], "
        "\"sizes\": [{\"name\": \"n\", \"least\": 0, \"most\": 9, \"multiple\": 1}, {\"name\": \"m\", "
        "\"least\": 0, \"most\": 99, \"multiple\": 1, \"is\": {\"text\": \"it\", %s}}]}";
    const tc_graph_port ports[] = {
        {.name = "x", .dtype = TC_F32, .shape = DIMS(9, 99)}, {.name = "n", .dtype = TC_I64}, {.name = "m", .dtype = TC_I64}};
    char whole[sizeof text + 400];
    tc_arena *a = tc_arena_new();
    tc_graph_size_rules r;
    snprintf(whole, sizeof whole, text, is);
    json_t *j = json_loads(whole, 0, NULL);
    assert_non_null(j);
    bool ok = tc_graph_rules_from_json(j, a, ports, TC_LEN(ports), &r);
    json_decref(j);
    if (ok) {
        int64_t size[] = {n, m};
        assert_ok(tc_graph_size_rules_complete(&r, size, err));
        size[1]++;
        assert_int_equal(tc_graph_size_rules_complete(&r, size, NULL), TC_BAD_INPUT);
        j = tc_graph_rules_to_json(&r); /* what is read is written */
        assert_true(tc_graph_rules_from_json(j, a, ports, TC_LEN(ports), &r));
        json_decref(j);
    }
    tc_arena_free(a);
    return ok;
}

static void test_metadata(void **state) {
    (void)state;
    assert_true(reads("\"formula\": [[0], 3, \"*\", 1, \"+\", 2, \"/\"]", 5, 8));
    assert_true(reads("\"formula\": [[0], [0], \"*\"]", 7, 49));
    assert_true(reads("\"constant\": 1, \"times\": [3, 0], \"divisor\": 2", 5, 8)); /* of earlier versions */
    assert_true(reads("\"constant\": 4, \"times\": [1, 0]", 5, 9));
    static const char *const damaged[] = {
        "\"formula\": []",
        "\"formula\": [[0], \"+\"]",
        "\"formula\": [[0], [0]]",
        "\"formula\": [[2]]",
        "\"formula\": [[-1]]",
        "\"formula\": [[0, 1]]",
        "\"formula\": [[0], 2, \"pow\"]",
        "\"formula\": [[0], 1.5, \"*\"]",
        "\"formula\": [[0], 4611686018427387904, \"*\"]",
        "\"formula\": [[0], 0, \"/\"]",
        "\"formula\": 1",
        "\"constant\": 9223372036854775807, \"times\": [1, 0]",
        "\"constant\": 1, \"times\": [3, 0, 4]",
        "\"constant\": 1, \"times\": [3, 0], \"divisor\": 0",
    };
    for (size_t i = 0; i < TC_LEN(damaged); i++)
        if (reads(damaged[i], 1, 1))
            fail_msg("%s is read", damaged[i]);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_related), cmocka_unit_test(test_branches),
                                       cmocka_unit_test(test_metadata)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
