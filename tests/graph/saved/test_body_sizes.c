/* What nodes in the bodies of Loop, Scan and If need of sizes of the graph around them: sizes that meet there, and what one node
 * alone needs (related.h). */
#include "graph/ops/ops.h"
#include "graph/saved/related.h"

typedef related_sample sample;

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
    related_repeat(w, "x", 2, "xx"); /* rows of trips are as large as something around the loop */
    related_repeat(b, "y", 3, "yyy");
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
    related_repeat(w, "y", 2, "yy");
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
    related_repeat(w, "x", 2, "xx");
    related_repeat(b, "y", 3, "yyy");
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
    related_repeat(w, "x", 2, "xx");
    related_repeat(w, "y", 3, "yyy");
    tc_graph_writer_node(w, "Mul", "node", "xx,yyy", "z");
    tc_graph_writer_weight(w, "one", F32(SCALAR, 1));
    tc_graph_writer_node(w, "ReduceSum", "", "x", "total");
    tc_graph_writer_int(w, "keepdims", 0);
    tc_graph_writer_node(w, "Greater", "", "total,one", "above");
    branch_on(w, "above", "chosen", branch("Add", "xx,yyy", "a"), branch("Sub", "yyy,xx", "d"));
    tc_graph_writer_node(w, "Mul", "", "chosen,z", "out");
}

/* ---- what one node alone needs there ---- */

static void weight_of_numbers(tc_graph_writer *w, const char *name, int64_t n, const int64_t *v) {
    tc_graph_writer_weight(w, name, i64_tensor((tc_graph_shape)DIMS(n), v));
}

static void gather(tc_graph_writer *w, const char *name, const char *in, const char *out) {
    tc_graph_writer_node(w, "Gather", name, in, out);
    tc_graph_writer_int(w, "axis", 0);
}

/* x[n, m, 3] as rows of four, in each of 40 trips. */
static void fours_in_loop(tc_graph_writer *w) {
    tc_graph_writer *b = trip_of("v");
    add_numbers(w);
    weight_of_numbers(w, "to", 2, (const int64_t[]){-1, 4});
    tc_graph_writer_node(b, "Reshape", "node", "x,to", "z");
    carry_sum(b, "z");
    loop(w, "many,,none", "sum", b);
    tc_graph_writer_node(w, "Add", "", "x,sum", "out");
}

/* Rows of x[n, 2], in steps along y[k, 2]. */
static void rows_in_scan(tc_graph_writer *w) {
    tc_graph_writer *b = tc_graph_writer_new("step", 17);
    add_numbers(w);
    weight_of_numbers(w, "at", 2, (const int64_t[]){4, -3});
    tc_graph_writer_input(b, "v", TC_F32, NULL);
    tc_graph_writer_input(b, "row", TC_F32, NULL);
    gather(b, "node", "x,at", "two");
    tc_graph_writer_node(b, "Mul", "", "two,row", "z");
    carry_sum(b, "z");
    tc_graph_writer_node(w, "Scan", "scan", "none,y", "sum");
    tc_graph_writer_int(w, "num_scan_inputs", 1);
    tc_graph_writer_body(w, "body", b);
    tc_graph_writer_node(w, "Add", "", "y,sum", "out");
}

/* As many trips as y[k] has rows, of which each needs the first one, and the third of x[n]: where there is none, none is
 * missing. */
static void first_of_trips(tc_graph_writer *w) {
    tc_graph_writer *b = trip_of("v");
    add_numbers(w);
    weight_of_numbers(w, "front", 1, (const int64_t[]){0});
    weight_of_numbers(w, "third", 1, (const int64_t[]){2});
    tc_graph_writer_node(w, "Shape", "", "y", "rows");
    tc_graph_writer_node(w, "Gather", "", "rows,first", "trips");
    gather(b, "first row", "y,front", "one");
    gather(b, "node", "x,third", "other");
    tc_graph_writer_node(b, "Concat", "", "other,one", "z");
    tc_graph_writer_int(b, "axis", 0);
    carry_sum(b, "z");
    loop(w, "trips,,none", "sum", b);
    tc_graph_writer_node(w, "Add", "", "x,sum", "out");
}

/* x[n] as [m, -1], and back, in a loop in a loop. */
static void parts_in_inner(tc_graph_writer *w) {
    tc_graph_writer *b = trip_of("v"), *inner = trip_of("u");
    add_numbers(w);
    weight_of_numbers(w, "rest", 1, (const int64_t[]){-1});
    tc_graph_writer_node(inner, "Shape", "", "y", "m");
    tc_graph_writer_node(inner, "Concat", "", "m,rest", "to");
    tc_graph_writer_int(inner, "axis", 0);
    tc_graph_writer_node(inner, "Reshape", "node", "x,to", "z");
    tc_graph_writer_node(inner, "ReduceMax", "", "z", "most");
    tc_graph_writer_ints(inner, "axes", "0");
    tc_graph_writer_node(inner, "Sub", "", "z,most", "less");
    tc_graph_writer_node(inner, "Reshape", "", "less,rest", "line");
    tc_graph_writer_node(inner, "Add", "", "line,x", "both");
    tc_graph_writer_node(inner, "ReduceSum", "", "both", "total");
    tc_graph_writer_int(inner, "keepdims", 0);
    tc_graph_writer_node(inner, "Add", "", "u,total", "u1");
    tc_graph_writer_output(inner, "u1", TC_F32, NULL);
    loop(b, "many,,none", "u2", inner);
    carry_sum(b, "u2");
    loop(w, "many,,none", "sum", b);
    tc_graph_writer_node(w, "Mul", "", "x,sum", "out");
}

/* What is carried is x[n], and one longer after each trip: the first needs x to have that row. */
static void row_of_state(tc_graph_writer *w) {
    tc_graph_writer *b = trip_of("h");
    add_numbers(w);
    weight_of_numbers(w, "at", 1, (const int64_t[]){3});
    gather(b, "node", "h,at", "row");
    tc_graph_writer_node(b, "Tanh", "", "row", "less");
    tc_graph_writer_node(b, "Concat", "", "h,less", "h1");
    tc_graph_writer_int(b, "axis", 0);
    tc_graph_writer_output(b, "h1", TC_F32, NULL);
    loop(w, "many,,x", "last", b);
    tc_graph_writer_node(w, "Neg", "", "last", "out");
}

/* The largest of x[n], and its borders mirrored. */
static void windows_in_loop(tc_graph_writer *w) {
    tc_graph_writer *b = trip_of("v");
    add_numbers(w);
    weight_of_numbers(w, "three", 1, (const int64_t[]){3});
    weight_of_numbers(w, "pads", 2, (const int64_t[]){3, 1});
    tc_graph_writer_node(b, "TopK", "", "x,three", "best,where");
    tc_graph_writer_node(b, "Pad", "node", "x,pads", "wide");
    tc_graph_writer_str(b, "mode", "reflect");
    tc_graph_writer_node(b, "Concat", "", "best,wide", "z");
    tc_graph_writer_int(b, "axis", 0);
    carry_sum(b, "z");
    loop(w, "many,,none", "sum", b);
    tc_graph_writer_node(w, "Add", "", "x,sum", "out");
}

/* ---- branches that compare sizes first ---- */

/* "n", "m": the sizes of x[n] and y[m]; "above": n is more than four; "same": they are equal. */
static void compare_sizes(tc_graph_writer *w) {
    add_numbers(w);
    weight_of_numbers(w, "four", 1, (const int64_t[]){4});
    weight_of_numbers(w, "at", 2, (const int64_t[]){4, -5});
    tc_graph_writer_node(w, "Shape", "", "x", "n");
    tc_graph_writer_node(w, "Shape", "", "y", "m");
    tc_graph_writer_node(w, "Greater", "", "n,four", "above");
    tc_graph_writer_node(w, "Equal", "", "n,m", "same");
}

/* A branch in which a few numbers of x are summed up. */
static tc_graph_writer *few_of(const char *op, const char *in) {
    tc_graph_writer *b = tc_graph_writer_new("branch", 17);
    tc_graph_writer_node(b, op, "node", in, "few");
    tc_graph_writer_node(b, "ReduceSum", "", "few", "sum");
    tc_graph_writer_int(b, "keepdims", 0);
    tc_graph_writer_output(b, "sum", TC_F32, NULL);
    return b;
}

/* In the one branch x has what it needs, in the other its sizes are those of y. */
static void guarded(tc_graph_writer *w) {
    compare_sizes(w);
    tc_graph_writer_node(w, "Not", "", "above", "below");
    branch_on(w, "above", "p", few_of("Gather", "x,at"), few_of("Neg", "x"));
    branch_on(w, "below", "q", few_of("Exp", "x"), few_of("Gather", "x,at"));
    branch_on(w, "same", "r", few_of("Mul", "x,y"), few_of("Tanh", "y"));
    tc_graph_writer_node(w, "Sum", "", "x,p,q,r", "out");
}

/* In trips, which take branches by what is compared around them, or in them. */
static void guarded_in_loop(tc_graph_writer *w) {
    tc_graph_writer *b = trip_of("v");
    compare_sizes(w);
    tc_graph_writer_node(b, "And", "", "above,same", "both");
    tc_graph_writer_node(b, "LessOrEqual", "", "n,four", "below");
    branch_on(b, "above", "p", few_of("Gather", "x,at"), few_of("Neg", "x"));
    branch_on(b, "below", "q", few_of("Exp", "x"), few_of("Gather", "x,at"));
    tc_graph_writer_node(b, "Where", "", "both,p,q", "r");
    carry_sum(b, "r");
    loop(w, "many,,none", "sum", b);
    tc_graph_writer_node(w, "Mul", "", "x,sum", "out");
}

/* As `in_branch`: what relies on it stands before what needs it. */
static void before_need(tc_graph_writer *w) {
    related_repeat(w, "x", 2, "xx");
    related_repeat(w, "y", 3, "yyy");
    tc_graph_writer_weight(w, "one", F32(SCALAR, 1));
    tc_graph_writer_node(w, "ReduceSum", "", "x", "total");
    tc_graph_writer_int(w, "keepdims", 0);
    tc_graph_writer_node(w, "Greater", "", "total,one", "above");
    branch_on(w, "above", "chosen", branch("Add", "xx,yyy", "a"), branch("Sub", "yyy,xx", "d"));
    tc_graph_writer_node(w, "Neg", "", "chosen", "less");
    tc_graph_writer_node(w, "Mul", "node", "xx,yyy", "z");
    tc_graph_writer_node(w, "Mul", "", "less,z", "out");
}

/* Of one size, in a branch and a trip behind it. */
static void before_trips(tc_graph_writer *w) {
    tc_graph_writer *b = trip_of("v");
    add_numbers(w);
    weight_of_numbers(w, "at", 1, (const int64_t[]){4});
    weight_of_numbers(w, "to", 2, (const int64_t[]){-1, 4});
    tc_graph_writer_node(w, "ReduceSum", "", "y", "total");
    tc_graph_writer_int(w, "keepdims", 0);
    tc_graph_writer_node(w, "Greater", "", "total,none", "above");
    branch_on(w, "above", "few", few_of("Gather", "x,at"), few_of("Reshape", "x,to"));
    tc_graph_writer_node(b, "Reshape", "node", "x,to", "z");
    tc_graph_writer_node(b, "TopK", "node", "x,five", "best,where");
    tc_graph_writer_node(b, "ReduceMax", "", "best", "most");
    tc_graph_writer_int(b, "keepdims", 0);
    tc_graph_writer_node(b, "Add", "", "z,most", "p");
    carry_sum(b, "p");
    weight_of_numbers(w, "five", 1, (const int64_t[]){5});
    loop(w, "many,,none", "sum", b);
    tc_graph_writer_node(w, "Sum", "", "y,few,sum", "out");
}

static bool takes_twice(const int64_t *v) {
    return 2 * v[0] == 3 * v[1];
}
static bool takes_one_more(const int64_t *v) {
    return v[0] + 1 == 2 * v[1];
}
static bool takes_alike_states(const int64_t *v) {
    return v[0] == v[1];
}

static bool takes_fours(const int64_t *v) {
    return v[0] * v[1] % 4 == 0;
}
static bool takes_five(const int64_t *v) {
    return v[0] >= 5;
}
static bool takes_three(const int64_t *v) {
    return v[0] >= 3;
}
static bool takes_four(const int64_t *v) {
    return v[0] >= 4;
}
static bool takes_parts(const int64_t *v) {
    return v[1] > 0 && v[0] % v[1] == 0;
}
static bool takes_eights(const int64_t *v) {
    return v[0] >= 5 && v[0] % 4 == 0;
}
static bool takes_all(const int64_t *v) {
    (void)v;
    return true;
}

static const sample samples[] = {
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
    {"fours in loop",
     fours_in_loop,
     {"n=1..6", "m=1..5"},
     {"nm3"},
     takes_fours,
     {"node 'node' (Reshape): the number of elements of 'x', ", "must be a multiple of 4"}},
    {"rows in scan",
     rows_in_scan,
     {"n=1..9", "k=0..2"},
     {"n2", "k2"},
     takes_five,
     {"node 'node' (Gather): dimension 0 of 'x', n, is", "it must be at least 5"}},
    {"first of trips",
     first_of_trips,
     {"n=1..5", "k=0..2"},
     {"n", "k"},
     takes_three,
     {"node 'node' (Gather): dimension 0 of 'x', n, is", "it must be at least 3"}},
    {"parts in inner",
     parts_in_inner,
     {"n=1..12", "m=0..4"},
     {"n", "m"},
     takes_parts,
     {"node 'node' (Reshape): the number of elements of 'x', n, is", "must be a multiple of m, which is"}},
    {"row of state",
     row_of_state,
     {"n=0..8"},
     {"n"},
     takes_four,
     {"node 'node' (Gather): dimension 0 of 'h', n, is", "at least 4"}},
    {"before need", before_need, {"n=0..9", "m=0..6"}, {"n", "m"}, takes_twice, {"node 'node' (Mul): dimension 0 of", "(m is "}},
    {"before trips", before_trips, {"n=1..12", "m=1..2"}, {"n", "m"}, takes_eights, {"node 'node'", "it must be a"}},
    {"windows", windows_in_loop, {"n=0..9"}, {"n"}, takes_four, {"dimension 0 of 'x', n, is", "(n is "}},
};

static const sample compared[] = {
    {"guarded", guarded, {"n=1..7", "m=1..7"}, {"n", "m"}, takes_all, {"%s", "%s"}},
    {"guarded in loop", guarded_in_loop, {"n=1..7", "m=1..2"}, {"n", "m"}, takes_all, {"%s", "%s"}},
};

static void test_bodies(void **state) {
    (void)state;
    for (size_t i = 0; i < TC_LEN(samples); i++)
        related_check_all(&samples[i], "bodies", (int)i, 3, 3);
    for (size_t i = 0; i < TC_LEN(compared); i++)
        related_check_all(&compared[i], "compared", (int)i, 3, -1);
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

/* A run with n and m elements that takes the branch, or does not. why NULL: it is right; else it is refused for that. */
static void check_run(const tc_graph *g, int64_t n, int64_t m, bool takes, const char *why) {
    float of_x[16], of_y[16];
    tc_graph_tensor out;
    for (int i = 0; i < 16; i++)
        of_x[i] = of_y[i] = takes ? 2 : -2;
    const tc_graph_tensor in[] = {f32_tensor((tc_graph_shape)DIMS(n), of_x), f32_tensor((tc_graph_shape)DIMS(m), of_y)};
    if (why) {
        assert_fails(TC_BAD_INPUT, tc_graph_eval(g, in, &out, err), why, "the run is refused", "If");
        return;
    }
    assert_ok(tc_graph_eval(g, in, &out, err));
    tc_graph_tensor_free(&out);
}

/* They are not known to be equal: the model is built without the branch. Not where they are one symbol, or single numbers. */
static void test_branches(void **state) {
    (void)state;
    void (*const make[])(tc_graph_writer *) = {only_in_branch, branch_in_trip, trip_in_branch, reshaped_in_branch};
    static const char *const nodes[] = {"node 'node' (Add)", "node 'node' (Add)", "node 'node' (Add)", "node 'node' (Reshape)"};
    for (size_t i = 0; i < TC_LEN(make); i++) {
        tc_graph *g;
        assert_ok(import_of(make[i], "m", (const char *[]){"n=1..6", "m=1..4"}, &g, err));
        check_run(g, 3, 4, true, nodes[i]);
        check_run(g, 3, 4, false, NULL);
        tc_graph_free(g);
        assert_ok(import_of(make[i], "n", (const char *[]){"n=1..6", "n=1..6"}, &g, err));
        check_run(g, 3, 3, true, NULL);
        tc_graph_free(g);
        assert_ok(import_of(make[i], "m", (const char *[]){"n=3", "m=3"}, &g, err));
        tc_graph_free(g);
    }
}

/* The same of what one node needs of x[n]. */
static void needs_rows(tc_graph_writer *w) {
    weight_of_numbers(w, "at", 1, (const int64_t[]){4});
    tc_graph_writer_weight(w, "one", F32(SCALAR, 1));
    tc_graph_writer_node(w, "ReduceSum", "", "y", "total");
    tc_graph_writer_int(w, "keepdims", 0);
    tc_graph_writer_node(w, "Greater", "", "total,one", "above");
    branch_on(w, "above", "out", few_of("Gather", "x,at"), few_of("Neg", "x"));
}

static void needs_fours(tc_graph_writer *w) {
    tc_graph_writer *yes = tc_graph_writer_new("yes", 17);
    weight_of_numbers(w, "to", 2, (const int64_t[]){-1, 4});
    tc_graph_writer_weight(w, "one", F32(SCALAR, 1));
    tc_graph_writer_node(w, "ReduceSum", "", "y", "total");
    tc_graph_writer_int(w, "keepdims", 0);
    tc_graph_writer_node(w, "Greater", "", "total,one", "above");
    tc_graph_writer_node(yes, "Reshape", "node", "x,to", "z");
    tc_graph_writer_node(yes, "ReduceMax", "", "z", "most");
    tc_graph_writer_int(yes, "keepdims", 0);
    tc_graph_writer_output(yes, "most", TC_F32, NULL);
    branch_on(w, "above", "out", yes, few_of("Neg", "x"));
}

/* Which is known where a node before the branches needs the same, or more. */
static void needed_before(tc_graph_writer *w) {
    weight_of_numbers(w, "last", 1, (const int64_t[]){5});
    gather(w, "before", "x,last", "sixth");
    needs_rows(w);
}

static void test_needs(void **state) {
    (void)state;
    tc_graph *g;
    assert_ok(import_of(needs_rows, "m", (const char *[]){"n=1..9", "m=1..4"}, &g, err));
    check_run(g, 5, 4, true, NULL);
    check_run(g, 4, 4, true, "node 'node' (Gather): dimension 0 of 'x' must be at least 5");
    check_run(g, 4, 4, false, NULL);
    tc_graph_free(g);
    assert_ok(import_of(needs_fours, "m", (const char *[]){"n=1..9", "m=1..4"}, &g, err));
    check_run(g, 8, 4, true, NULL);
    check_run(g, 6, 4, true, "node 'node' (Reshape): the number of elements of 'x' must be a multiple of 4");
    check_run(g, 6, 4, false, NULL);
    tc_graph_free(g);
    assert_ok(import_of(needs_rows, "m", (const char *[]){"n=5..9", "m=1..4"}, &g, err));
    tc_graph_free(g);
    assert_ok(import_of(needs_fours, "m", (const char *[]){"n=4..12:4", "m=1..4"}, &g, err));
    tc_graph_free(g);
    assert_ok(import_of(needed_before, "m", (const char *[]){"n=1..9", "m=1..4"}, &g, err));
    tc_graph_free(g);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_bodies), cmocka_unit_test(test_branches),
                                       cmocka_unit_test(test_needs)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
