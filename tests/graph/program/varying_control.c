/* If and Loop where sizes vary: at each size they give what the graph made for that size gives, from memory in which everything
 * past the sizes is no number, and they compute and copy only as much as the sizes ask for. Each third model is compiled as C
 * source, too, and all are in the full run. */
#include <dlfcn.h>

#include "graph/lower_common.h"
#include "graph/ops/ops.h"
#include "graph/saved/saved.h"

enum { MOST = 31, MAX_INPUTS = 6, MAX_OUT = 4, MAX_SIZES = 8, WIDE = 4, MANY = 40, LIBRARY = 13, POISON = 0xff };

/* ---- models ---- */

static tc_graph_writer *body(const char *name) {
    return tc_graph_writer_new(name, 17);
}

static tc_graph_writer *network(const char *inputs) {
    tc_graph_writer *w = tc_graph_writer_new("control", 17);
    static float weight[WIDE * WIDE];
    static int64_t first[1] = {0}, last[1] = {1};
    for (int i = 0; i < WIDE * WIDE; i++)
        weight[i] = (float)(i % 7 - 3) / 4;
    for (const char *x = inputs; *x; x++) /* one letter each */
        if (*x == 'c' || *x == 'd')
            tc_graph_writer_input(w, (char[]){*x, 0}, TC_BOOL, "");
        else if (*x == 'i')
            tc_graph_writer_input(w, (char[]){*x, 0}, TC_I64, "2");
        else
            tc_graph_writer_input(w, (char[]){*x, 0}, TC_F32, *x == 'b' ? "n,m,4" : *x == 'g' ? "m,4" : *x == 's' ? "4" : "n,4");
    tc_graph_writer_weight(w, "w", tc_graph_tensor_view(TC_F32, &(tc_graph_shape)DIMS(WIDE, WIDE), weight));
    tc_graph_writer_weight(w, "first", i64_tensor((tc_graph_shape)DIMS(1), first));
    tc_graph_writer_weight(w, "last", i64_tensor((tc_graph_shape)DIMS(1), last));
    return w;
}

static void returns(tc_graph_writer *w, const char *name) {
    tc_graph_writer_output(w, name, TC_F32, NULL);
}

static void branch_on(tc_graph_writer *w, const char *cond, const char *out, tc_graph_writer *yes, tc_graph_writer *no) {
    tc_graph_writer_node(w, "If", out, cond, out);
    tc_graph_writer_body(w, "then_branch", yes);
    tc_graph_writer_body(w, "else_branch", no);
}

/* relu(x w) x, or a softmax along what varies. */
static tc_graph_writer *computed(void) {
    tc_graph_writer *w = network("xc"), *yes = body("yes"), *no = body("no");
    tc_graph_writer_node(yes, "MatMul", "", "x,w", "p");
    tc_graph_writer_node(yes, "Relu", "", "p", "q");
    tc_graph_writer_node(yes, "MatMul", "", "q,w", "r");
    returns(yes, "r");
    tc_graph_writer_node(no, "Softmax", "", "x", "t");
    tc_graph_writer_int(no, "axis", 0);
    returns(no, "t");
    branch_on(w, "c", "y", yes, no);
    tc_graph_writer_node(w, "Add", "", "y,x", "z");
    returns(w, "z");
    return w;
}

/* A branch that returns a value of the graph around it, which also reads it otherwise; two results, the same value twice. */
static tc_graph_writer *outer_value(void) {
    tc_graph_writer *w = network("xc"), *yes = body("yes"), *no = body("no");
    tc_graph_writer_node(w, "MatMul", "", "x,w", "h");
    tc_graph_writer_node(yes, "Neg", "", "h", "a");
    returns(yes, "a");
    returns(yes, "a");
    tc_graph_writer_node(no, "Identity", "", "x", "b");
    returns(no, "b");
    returns(no, "h");
    branch_on(w, "c", "y,u", yes, no);
    tc_graph_writer_node(w, "Softmax", "", "y", "z");
    tc_graph_writer_int(w, "axis", 0);
    tc_graph_writer_node(w, "Mul", "", "u,h", "v");
    returns(w, "z");
    returns(w, "v");
    return w;
}

/* What indices that the data give are read by lies whole, and what is returned does not. */
static tc_graph_writer *whole_and_dense(void) {
    tc_graph_writer *w = network("xci"), *yes = body("yes"), *no = body("no");
    tc_graph_writer_node(yes, "Exp", "", "x", "a");
    tc_graph_writer_node(yes, "Gather", "", "a,i", "b");
    returns(yes, "a");
    returns(yes, "b");
    tc_graph_writer_node(no, "Gather", "", "x,i", "d");
    returns(no, "x");
    returns(no, "d");
    branch_on(w, "c", "y,u", yes, no);
    tc_graph_writer_node(w, "Transpose", "", "y", "t");
    tc_graph_writer_node(w, "MatMul", "", "t,x", "z");
    returns(w, "y");
    returns(w, "z");
    returns(w, "u");
    return w;
}

/* Only the first row of a result is read. */
static tc_graph_writer *one_row(void) {
    tc_graph_writer *w = network("xc"), *yes = body("yes"), *no = body("no");
    tc_graph_writer_node(yes, "MatMul", "", "x,w", "a");
    returns(yes, "a");
    tc_graph_writer_node(no, "Softmax", "", "x", "b");
    tc_graph_writer_int(no, "axis", 0);
    returns(no, "b");
    branch_on(w, "c", "y", yes, no);
    tc_graph_writer_node(w, "Gather", "", "y,first", "z");
    returns(w, "z");
    return w;
}

/* Rows above 0, by numbers that the branch finds; or all of them. The sizes of both branches differ. */
static tc_graph_writer *found(void) {
    tc_graph_writer *w = network("xc"), *yes = body("yes"), *no = body("no");
    static float zero[1] = {0};
    tc_graph_writer_node(yes, "ReduceSum", "", "x,last", "sum");
    tc_graph_writer_int(yes, "keepdims", 0);
    tc_graph_writer_weight(yes, "zero", f32_tensor((tc_graph_shape)SCALAR, zero));
    tc_graph_writer_node(yes, "Greater", "", "sum,zero", "above");
    tc_graph_writer_node(yes, "Compress", "", "x,above", "a");
    tc_graph_writer_int(yes, "axis", 0);
    tc_graph_writer_node(yes, "MatMul", "", "a,w", "b");
    returns(yes, "b");
    tc_graph_writer_node(no, "Neg", "", "x", "d");
    returns(no, "d");
    branch_on(w, "c", "y", yes, no);
    tc_graph_writer_node(w, "Exp", "", "y", "e");
    tc_graph_writer_node(w, "MatMul", "", "e,w", "f");
    tc_graph_writer_node(w, "ReduceSum", "", "f,first", "z");
    tc_graph_writer_int(w, "keepdims", 0);
    returns(w, "y");
    returns(w, "z");
    return w;
}

/* An If in a branch, whose branches read what the graph and the branch have. */
static tc_graph_writer *nested(void) {
    tc_graph_writer *w = network("xcd"), *yes = body("yes"), *no = body("no"), *in_yes = body("in_yes"), *in_no = body("in_no");
    tc_graph_writer_node(yes, "MatMul", "", "x,w", "a");
    tc_graph_writer_node(in_yes, "Mul", "", "a,x", "b");
    returns(in_yes, "b");
    tc_graph_writer_node(in_no, "Transpose", "", "a", "t");
    tc_graph_writer_node(in_no, "MatMul", "", "t,x", "g");
    tc_graph_writer_node(in_no, "MatMul", "", "x,g", "e");
    returns(in_no, "e");
    branch_on(yes, "d", "inner", in_yes, in_no);
    tc_graph_writer_node(yes, "Relu", "", "inner", "r");
    returns(yes, "r");
    returns(no, "x");
    branch_on(w, "c", "y", yes, no);
    tc_graph_writer_node(w, "Neg", "", "y", "z");
    returns(w, "z");
    return w;
}

/* Two sizes of which a branch makes one, and a branch that has it from elsewhere. */
static tc_graph_writer *reshaped(void) {
    tc_graph_writer *w = network("bc"), *yes = body("yes"), *no = body("no");
    static int64_t rows[2] = {-1, WIDE};
    tc_graph_writer_weight(w, "rows", i64_tensor((tc_graph_shape)DIMS(2), rows));
    tc_graph_writer_node(w, "Neg", "", "b", "h");
    tc_graph_writer_node(w, "Reshape", "", "h,rows", "k");
    tc_graph_writer_node(yes, "MatMul", "", "b,w", "a");
    tc_graph_writer_node(yes, "Reshape", "", "a,rows", "r");
    tc_graph_writer_node(yes, "Softmax", "", "r", "e");
    tc_graph_writer_int(yes, "axis", 0);
    returns(yes, "e");
    tc_graph_writer_node(no, "Exp", "", "k", "d");
    returns(no, "d");
    branch_on(w, "c", "y", yes, no);
    tc_graph_writer_node(w, "MatMul", "", "y,w", "z");
    returns(w, "z");
    returns(w, "k");
    return w;
}

/* The same of rows that the branch finds, so that nobody knows what one size has to do with the other. */
static tc_graph_writer *found_rows(void) {
    tc_graph_writer *w = network("bc"), *yes = body("yes"), *no = body("no");
    static int64_t rows[2] = {-1, WIDE}, inner[2] = {1, 2};
    static float zero[1] = {0};
    tc_graph_writer_weight(w, "rows", i64_tensor((tc_graph_shape)DIMS(2), rows));
    tc_graph_writer_weight(w, "inner", i64_tensor((tc_graph_shape)DIMS(2), inner));
    tc_graph_writer_weight(w, "zero", f32_tensor((tc_graph_shape)SCALAR, zero));
    tc_graph_writer_node(yes, "ReduceSum", "", "b,inner", "sum");
    tc_graph_writer_int(yes, "keepdims", 0);
    tc_graph_writer_node(yes, "Greater", "", "sum,zero", "above");
    tc_graph_writer_node(yes, "Compress", "", "b,above", "a");
    tc_graph_writer_int(yes, "axis", 0);
    tc_graph_writer_node(yes, "Reshape", "", "a,rows", "r");
    tc_graph_writer_node(yes, "Exp", "", "r", "e");
    returns(yes, "e");
    tc_graph_writer_node(no, "Reshape", "", "b,rows", "d");
    returns(no, "d");
    branch_on(w, "c", "y", yes, no);
    tc_graph_writer_node(w, "MatMul", "", "y,w", "z");
    returns(w, "z");
    return w;
}

/* ---- of loops ---- */

/* The body of a loop that goes on: of the number of a trip and states of one letter each. */
static tc_graph_writer *trip_of(const char *states) {
    tc_graph_writer *w = body("trip");
    static uint8_t yes[1] = {1};
    tc_graph_writer_input(w, "trip", TC_I64, "");
    tc_graph_writer_input(w, "before", TC_BOOL, "");
    for (const char *x = states; *x; x++)
        tc_graph_writer_input(w, (char[]){*x, 0}, TC_F32, NULL);
    tc_graph_writer_weight(w, "go", tc_graph_tensor_view(TC_BOOL, &(tc_graph_shape)SCALAR, yes));
    tc_graph_writer_output(w, "go", TC_BOOL, NULL);
    return w;
}

static void loop(tc_graph_writer *w, const char *inputs, const char *outputs, tc_graph_writer *trip) {
    static int64_t many[1] = {MANY};
    tc_graph_writer_weight(w, "many", i64_tensor((tc_graph_shape)SCALAR, many));
    tc_graph_writer_node(w, "Loop", outputs, inputs, outputs);
    tc_graph_writer_body(w, "body", trip);
}

/* "rows": the first size of x. */
static void count_rows(tc_graph_writer *w, const char *x) {
    tc_graph_writer_node(w, "Shape", "", x, "shape");
    tc_graph_writer_node(w, "Gather", "", "shape,first", "rows1");
    tc_graph_writer_node(w, "Squeeze", "", "rows1,first", "rows");
}

/* A state that stays as large as x, and what each trip has of it; and one that never changes. */
static tc_graph_writer *steady(void) {
    tc_graph_writer *w = network("xv"), *t = trip_of("hk");
    tc_graph_writer_node(t, "MatMul", "", "h,w", "p");
    tc_graph_writer_node(t, "Tanh", "", "p", "q");
    tc_graph_writer_node(t, "Add", "", "q,x", "h1");
    tc_graph_writer_node(t, "Mul", "", "q,k", "row");
    returns(t, "h1");
    returns(t, "k");
    returns(t, "row");
    loop(w, "many,,v,x", "y,u,all", t);
    tc_graph_writer_node(w, "Neg", "", "y", "z");
    tc_graph_writer_node(w, "ReduceSum", "", "all,first", "sum");
    tc_graph_writer_int(w, "keepdims", 0);
    returns(w, "z");
    returns(w, "u");
    returns(w, "sum");
    returns(w, "all");
    return w;
}

/* As many trips as rows, each of which a trip has; nobody reads the last state. */
static tc_graph_writer *steps(void) {
    tc_graph_writer *w = network("xs"), *t = trip_of("h");
    tc_graph_writer_node(t, "Gather", "", "x,trip", "xi");
    tc_graph_writer_node(t, "MatMul", "", "h,w", "p");
    tc_graph_writer_node(t, "Add", "", "p,xi", "q");
    tc_graph_writer_node(t, "Tanh", "", "q", "h1");
    returns(t, "h1");
    returns(t, "h1");
    count_rows(w, "x");
    loop(w, "rows,,s", "y,all", t);
    tc_graph_writer_node(w, "Softmax", "", "all", "z");
    tc_graph_writer_int(w, "axis", 0);
    returns(w, "z");
    returns(w, "all");
    return w;
}

/* a, b = b, a w + b; and one of which rows are read by numbers of the data. */
static tc_graph_writer *swapped(void) {
    tc_graph_writer *w = network("xvi"), *t = trip_of("abe");
    tc_graph_writer_node(t, "MatMul", "", "a,w", "p");
    tc_graph_writer_node(t, "Tanh", "", "p", "q");
    tc_graph_writer_node(t, "Add", "", "q,b", "b1");
    tc_graph_writer_node(t, "Gather", "", "e,i", "picked");
    tc_graph_writer_node(t, "ReduceMean", "", "picked", "mean");
    tc_graph_writer_ints(t, "axes", "0");
    tc_graph_writer_int(t, "keepdims", 1);
    tc_graph_writer_node(t, "Sub", "", "e,mean", "e1");
    returns(t, "b");
    returns(t, "b1");
    returns(t, "e1");
    loop(w, "many,,x,v,x", "y,u,f", t);
    tc_graph_writer_node(w, "Mul", "", "y,u", "z");
    returns(w, "z");
    returns(w, "f");
    return w;
}

/* Until a sum is large enough. */
static tc_graph_writer *until(void) {
    tc_graph_writer *w = network("x"), *t = body("trip");
    static float most[1] = {40};
    static uint8_t yes[1] = {1};
    tc_graph_writer_weight(w, "most", f32_tensor((tc_graph_shape)SCALAR, most));
    tc_graph_writer_weight(w, "yes", tc_graph_tensor_view(TC_BOOL, &(tc_graph_shape)SCALAR, yes));
    tc_graph_writer_input(t, "trip", TC_I64, "");
    tc_graph_writer_input(t, "before", TC_BOOL, "");
    tc_graph_writer_input(t, "h", TC_F32, NULL);
    tc_graph_writer_node(t, "Mul", "", "h,h", "square");
    tc_graph_writer_node(t, "Add", "", "square,square", "h1");
    tc_graph_writer_node(t, "ReduceSum", "", "h1", "sum");
    tc_graph_writer_int(t, "keepdims", 0);
    tc_graph_writer_node(t, "Less", "", "sum,most", "go");
    tc_graph_writer_output(t, "go", TC_BOOL, NULL);
    returns(t, "h1");
    returns(t, "h1");
    loop(w, "many,yes,x", "y,all", t);
    returns(w, "y");
    returns(w, "all");
    return w;
}

/* An If in a loop, whose branches read the state and x; and a loop in a branch. */
static tc_graph_writer *branches_in_trips(void) {
    tc_graph_writer *w = network("xcd"), *t = trip_of("h"), *yes = body("yes"), *no = body("no"), *all = body("all"),
                    *none = body("none");
    tc_graph_writer_node(yes, "MatMul", "", "h,w", "p");
    tc_graph_writer_node(yes, "Tanh", "", "p", "q");
    returns(yes, "q");
    returns(no, "h");
    branch_on(t, "d", "r", yes, no);
    tc_graph_writer_node(t, "Add", "", "r,x", "h1");
    returns(t, "h1");
    returns(t, "r");
    loop(all, "many,,x", "y,rows", t);
    tc_graph_writer_node(all, "ReduceMax", "", "rows", "m");
    tc_graph_writer_ints(all, "axes", "0");
    tc_graph_writer_int(all, "keepdims", 0);
    tc_graph_writer_node(all, "Add", "", "y,m", "e");
    returns(all, "e");
    tc_graph_writer_node(none, "Exp", "", "x", "f");
    returns(none, "f");
    branch_on(w, "c", "z", all, none);
    returns(w, "z");
    return w;
}

/* A loop in a loop, the trips of both as many as the data say. */
static tc_graph_writer *loop_in_loop(void) {
    tc_graph_writer *w = network("x"), *t = trip_of("h"), *in = trip_of("k");
    tc_graph_writer_node(in, "Gather", "", "x,trip", "xi");
    tc_graph_writer_node(in, "Add", "", "k,xi", "e");
    tc_graph_writer_node(in, "Tanh", "", "e", "k1");
    returns(in, "k1");
    tc_graph_writer_node(t, "MatMul", "", "h,w", "p");
    loop(t, "rows,,p", "q", in);
    tc_graph_writer_node(t, "Add", "", "q,h", "r");
    tc_graph_writer_node(t, "Tanh", "", "r", "h1");
    returns(t, "h1");
    count_rows(w, "x");
    loop(w, "rows,,x", "y", t);
    returns(w, "y");
    return w;
}

/* A state that has one column more after each trip: its rows lie densely, its columns cannot. */
static tc_graph_writer *growing(void) {
    tc_graph_writer *w = network("x"), *t = trip_of("h");
    tc_graph_writer_node(t, "ReduceMean", "", "h", "mean");
    tc_graph_writer_ints(t, "axes", "1");
    tc_graph_writer_node(t, "Concat", "", "h,mean", "h1");
    tc_graph_writer_int(t, "axis", 1);
    returns(t, "h1");
    loop(w, "many,,x", "y", t);
    tc_graph_writer_node(w, "Neg", "", "y", "z");
    returns(w, "z");
    return w;
}

/* States and rows whose first size is a product. */
static tc_graph_writer *of_products(void) {
    tc_graph_writer *w = network("b"), *t = trip_of("h");
    static int64_t flat[2] = {-1, WIDE};
    tc_graph_writer_weight(w, "flat", i64_tensor((tc_graph_shape)DIMS(2), flat));
    tc_graph_writer_node(w, "Reshape", "", "b,flat", "x");
    tc_graph_writer_node(t, "MatMul", "", "h,w", "p");
    tc_graph_writer_node(t, "Tanh", "", "p", "q");
    tc_graph_writer_node(t, "Add", "", "q,x", "h1");
    tc_graph_writer_node(t, "Mul", "", "q,h", "row");
    returns(t, "h1");
    returns(t, "row");
    loop(w, "many,,x", "y,all", t);
    tc_graph_writer_node(w, "ReduceSum", "", "all,first", "sum");
    tc_graph_writer_int(w, "keepdims", 0);
    returns(w, "sum");
    returns(w, "all");
    return w;
}

/* Along one size, of rows of another. */
static tc_graph_writer *scanned(void) {
    tc_graph_writer *w = network("bg"), *t = body("trip");
    tc_graph_writer_input(t, "h", TC_F32, NULL);
    tc_graph_writer_input(t, "e", TC_F32, NULL);
    tc_graph_writer_node(t, "MatMul", "", "h,w", "p");
    tc_graph_writer_node(t, "Add", "", "p,e", "q");
    tc_graph_writer_node(t, "Tanh", "", "q", "h1");
    returns(t, "h1");
    returns(t, "h1");
    tc_graph_writer_node(w, "Scan", "", "g,b", "y,all");
    tc_graph_writer_int(w, "num_scan_inputs", 1);
    tc_graph_writer_body(w, "body", t);
    returns(w, "y");
    returns(w, "all");
    return w;
}

/* ---- recurrent layers ---- */

static tc_graph_writer *recurrent(const char *op, const char *direction, int directions, int gates, const char *outputs) {
    tc_graph_writer *w = network("b");
    static float weights[2 * 4 * WIDE * WIDE];
    for (size_t i = 0; i < TC_LEN(weights); i++)
        weights[i] = (float)(i % 13) / 16 - 0.375F;
    tc_graph_shape s = DIMS(directions, gates * WIDE, WIDE);
    tc_graph_writer_weight(w, "in", tc_graph_tensor_view(TC_F32, &s, weights));
    tc_graph_writer_weight(w, "again", tc_graph_tensor_view(TC_F32, &s, weights));
    tc_graph_writer_node(w, op, "", "b,in,again", outputs);
    tc_graph_writer_int(w, "hidden_size", WIDE);
    tc_graph_writer_str(w, "direction", direction);
    return w;
}

static tc_graph_writer *lstm(void) {
    tc_graph_writer *w = recurrent("LSTM", "forward", 1, 4, "y,h,e");
    tc_graph_writer_node(w, "Neg", "", "y", "z");
    returns(w, "z");
    returns(w, "e");
    return w;
}

static tc_graph_writer *gru(void) {
    tc_graph_writer *w = recurrent("GRU", "bidirectional", 2, 3, "y");
    returns(w, "y");
    return w;
}

static tc_graph_writer *rnn(void) {
    tc_graph_writer *w = recurrent("RNN", "reverse", 1, 1, ",h");
    returns(w, "h");
    return w;
}

/* ---- at every size ---- */

typedef struct model {
    const char *name;
    tc_graph_writer *(*make)(void);
    int least;     /* of n */
    double shrink; /* how many times less work one row is than MOST of them, at least */
} model;

static const model models[] = {
    {"computed", computed, 0, 8},
    {"outer value", outer_value, 0, 8},
    {"whole and dense", whole_and_dense, 1, 0},
    {"one row", one_row, 1, 8},
    {"found", found, 0, 5},
    {"nested", nested, 0, 8},
    {"reshaped", reshaped, 0, 8},
    {"found rows", found_rows, 0, 3},
    {"steady", steady, 0, 8},
    {"steps", steps, 0, 8},
    {"swapped", swapped, 1, 0},
    {"until", until, 0, 8},
    {"growing", growing, 0, 8},
    {"of products", of_products, 0, 8},
    {"branches in trips", branches_in_trips, 0, 8},
    {"scanned", scanned, 0, 10},
    {"loop in loop", loop_in_loop, 0, 64},
    {"lstm", lstm, 0, 10},
    {"gru", gru, 0, 10},
    {"rnn", rnn, 0, 10},
};

typedef struct varying {
    const model *of;
    tc_graph *graph, *passed;
    tc_graph_program *program;
    tc_graph_model *built;
    void *source; /* a library of its C source */
    int32_t (*run)(const void *const *in, void *const *out);
} varying;

static bool has_two_sizes(const model *of) {
    return of->make == reshaped || of->make == found_rows || of->make == scanned || of->make == of_products || of->make == lstm ||
           of->make == gru || of->make == rnn;
}

static tc_graph *imported(const model *of, int64_t least, int64_t most) {
    int64_t m = least == most ? 1 + least % 3 : 0;
    tc_graph_binding sizes[] = {{"n", 1, {{least, most, 1}}}, {"m", 1, {{m ? m : 1, m ? m : 3, 1}}}};
    tc_graph_import_options o = {.shapes = sizes, .nshapes = has_two_sizes(of) ? 2 : 1};
    tc_graph *g;
    assert_ok(tc_graph_import(SCRATCH("varying_control.onnx"), &o, &g, err));
    return g;
}

static void open_source(varying *v) {
    assert_ok(tc_graph_model_save(v->built, SCRATCH("varying_control.c"), "model", err));
    assert_int_equal(system("cc -std=c17 -O0 -Wall -Wextra -Werror -fPIC -shared " SCRATCH("varying_control.c") " -o " SCRATCH(
                         "varying_control_c.so") " -lm"),
                     0);
    v->source = dlopen(SCRATCH("varying_control_c.so"), RTLD_NOW | RTLD_LOCAL);
    void *run = v->source ? dlsym(v->source, "model_run") : NULL;
    assert_non_null(run);
    memcpy(&v->run, &run, sizeof run);
    remove(SCRATCH("varying_control.c"));
    remove(SCRATCH("varying_control_c.so"));
}

/* with_source: as C source, too. */
static varying open_varying(const model *of, bool with_source) {
    tc_graph_writer *w = of->make();
    tc_target *t;
    varying v = {.of = of};
    assert_ok(tc_graph_writer_save(w, SCRATCH("varying_control.onnx"), err));
    tc_graph_writer_free(w);
    v.graph = imported(of, of->least, MOST);
    v.passed = imported(of, of->least, MOST);
    assert_ok(tc_graph_verify(v.graph, err));
    assert_ok(tc_graph_passes(v.passed, NULL, err));
    assert_ok(tc_graph_program_new(v.passed, &v.program, err));
    assert_ok(tc_target_parse("native", &t, err));
    assert_ok(tc_graph_model_build(v.program, &(tc_graph_build_options){.target = t, .threads = 1}, &v.built, err));
    tc_target_free(t);
    if (with_source)
        open_source(&v);
    return v;
}

static void close_varying(varying *v) {
    if (v->source)
        dlclose(v->source);
    tc_graph_model_free(v->built);
    tc_graph_program_free(v->program);
    tc_graph_free(v->passed);
    tc_graph_free(v->graph);
}

static void fill(const tc_graph_value *v, int64_t n, int flags, tc_graph_tensor *t) {
    assert_ok(tc_graph_tensor_alloc(t, v->dtype, &v->shape, err));
    for (int64_t i = 0; i < tc_graph_shape_count(&v->shape); i++)
        if (v->dtype == TC_F32)
            tc_store_f(TC_F32, t->data, i, (double)((i * 37 + 11 * *v->name) % 41 - 20) / 16);
        else if (v->dtype == TC_BOOL)
            tc_store_i(TC_BOOL, t->data, i, flags >> (*v->name - 'c') & 1);
        else
            tc_store_i(TC_I64, t->data, i, i == 0 ? n - 1 : 0);
}

static void expect_equal(const varying *v, int nout, const tc_graph_tensor *want, tc_graph_tensor *got, const char *how,
                         int64_t n, int flags) {
    for (int k = 0; k < nout; k++) {
        tc_graph_diff d;
        assert_ok(tc_graph_tensor_compare(&got[k], &want[k], 1e-5, 1e-5, &d, err));
        if (d.violations)
            fail_msg("%s, %s, n=%lld, conditions %d: output %d is wrong", v->of->name, how, (long long)n, flags, k);
        tc_graph_tensor_free(&got[k]);
    }
}

static void run_library_of(const varying *v, const tc_graph_tensor *in, tc_graph_tensor *out) {
    tc_graph_model *m;
    assert_ok(tc_graph_model_save(v->built, SCRATCH("varying_control.so"), NULL, err));
    assert_ok(tc_graph_model_load(SCRATCH("varying_control.so"), 0, &m, err));
    assert_ok(tc_graph_model_run(m, in, out, err));
    tc_graph_model_free(m);
}

static int64_t size_of(const char *name, int64_t n) {
    return strcmp(name, "n") == 0 ? n : 1 + n % 3;
}

/* To the sizes of the run; nothing is written past them. */
static void trim(const varying *v, int k, void *const *outs, tc_graph_tensor *t) {
    const tc_graph_program *p = v->program;
    const uint8_t *data = t->data;
    size_t room = tc_graph_tensor_bytes(t);
    tc_graph_shape s = t->shape;
    for (int d = 0; d < s.ndim; d++)
        if (p->out[k].extent[d])
            s.d[d] = *(const int64_t *)outs[p->out[k].extent[d]];
    if (!p->out[k].is_dense) {
        tc_graph_tensor_trim(t, &s);
        return;
    }
    t->shape = s;
    for (size_t i = tc_graph_tensor_bytes(t); i < room; i++)
        assert_int_equal(data[i], POISON);
}

/* As programs call C source: sizes behind the inputs, and behind the outputs. */
static void run_source(const varying *v, int64_t n, const tc_graph_tensor *in, tc_graph_tensor *out) {
    const tc_graph_model *m = v->built;
    int64_t given[MAX_SIZES], more[MAX_SIZES];
    const void *ins[MAX_INPUTS + MAX_SIZES];
    void *outs[MAX_OUT + MAX_SIZES];
    int nin = m->rules.nin, nout = (int)(v->graph->outputs.len - v->graph->nsizes);
    assert_true(m->rules.nsize <= MAX_SIZES && m->nout - nout <= MAX_SIZES);
    for (int i = 0; i < nin; i++)
        ins[i] = in[i].data;
    for (int k = 0; k < m->rules.nsize; k++) {
        given[k] = size_of(m->rules.size[k].name, n);
        ins[nin + k] = &given[k];
    }
    for (int k = 0; k < m->nout; k++) {
        if (k < nout) {
            assert_ok(tc_graph_tensor_alloc(&out[k], m->out[k].dtype, &m->out[k].shape, err));
            memset(out[k].data, POISON, tc_graph_tensor_bytes(&out[k]));
        }
        outs[k] = k < nout ? out[k].data : &more[k - nout];
    }
    assert_int_equal(v->run(ins, outs), 0);
    for (int k = 0; k < nout; k++)
        trim(v, k, outs, &out[k]);
}

/* Returns the work of the interpreter. */
static double expect_same(const varying *v, int64_t n, int flags) {
    tc_graph *fixed = imported(v->of, n, n);
    tc_graph_tensor in[MAX_INPUTS], got[MAX_OUT], want[MAX_OUT];
    int nout = (int)(fixed->outputs.len - fixed->nsizes);
    double work;
    for (size_t i = 0; i < fixed->inputs.len; i++)
        fill(fixed->inputs.data[i], n, flags, &in[i]);
    assert_ok(tc_graph_eval(fixed, in, want, err));
    assert_ok(tc_graph_eval(v->graph, in, got, err));
    expect_equal(v, nout, want, got, "evaluated", n, flags);
    assert_ok(interpret_counting(v->program, in, got, &work, err));
    expect_equal(v, nout, want, got, "interpreted", n, flags);
    assert_ok(tc_graph_model_run(v->built, in, got, err));
    expect_equal(v, nout, want, got, "compiled", n, flags);
    if (v->source) {
        run_source(v, n, in, got);
        expect_equal(v, nout, want, got, "C source", n, flags);
    }
    if (n == LIBRARY && flags == 3) {
        run_library_of(v, in, got);
        expect_equal(v, nout, want, got, "library", n, flags);
    }
    for (int k = 0; k < nout; k++)
        tc_graph_tensor_free(&want[k]);
    for (size_t i = 0; i < fixed->inputs.len; i++)
        tc_graph_tensor_free(&in[i]);
    tc_graph_free(fixed);
    return work;
}

static void expect_every_size(const model *of, bool with_source) {
    static const int64_t sizes[] = {0, 1, 2, LIBRARY, MOST};
    varying v = open_varying(of, with_source);
    for (int flags = 0; flags < 4; flags++) {
        double one = 0, all = 0;
        for (size_t i = 0; i < TC_LEN(sizes); i++) {
            double work = sizes[i] >= of->least ? expect_same(&v, sizes[i], flags) : 0;
            one = sizes[i] == 1 ? work : one;
            all = sizes[i] == MOST ? work : all;
        }
        if (one * of->shrink > all)
            fail_msg("%s, conditions %d: one row is %g points and bytes, %d rows are %g", of->name, flags, one, MOST, all);
    }
    close_varying(&v);
}

static void test_models(void **state) {
    (void)state;
    for (size_t i = 0; i < TC_LEN(models); i++)
        expect_every_size(&models[i], i % 3 == 0 || test_is_full());
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_models)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
