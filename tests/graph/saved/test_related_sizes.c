/* Sizes that a model relates by products, by quotients of which one size divides another, and by what must divide (related.h). */
#include "graph/saved/related.h"

typedef related_sample sample;

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

/* Sizes that meet where neither is free: x[n] twice and y[m] three times. */
static void twice(tc_graph_writer *w) {
    related_repeat(w, "x", 2, "xx");
    related_repeat(w, "y", 3, "yyy");
    tc_graph_writer_node(w, "Mul", "node", "xx,yyy", "z");
    sum_rows(w, "z");
    tc_graph_writer_node(w, "Add", "", "s,yyy", "out");
}

/* x[n], one, and y[m, 2] twice. */
static void one_more(tc_graph_writer *w) {
    tc_graph_writer_weight(w, "one", F32(DIMS(1, 1), 1));
    tc_graph_writer_node(w, "Concat", "", "x,one", "x1");
    tc_graph_writer_int(w, "axis", 0);
    related_repeat(w, "y", 2, "yy");
    tc_graph_writer_node(w, "Mul", "node", "yy,x1", "z");
    tc_graph_writer_node(w, "Exp", "", "x1", "e");
    tc_graph_writer_node(w, "Sub", "", "e,z", "out");
}

/* x[n] behind y[m], and t[k] twice. */
static void halves(tc_graph_writer *w) {
    tc_graph_writer_node(w, "Concat", "", "y,x", "yx");
    tc_graph_writer_int(w, "axis", 0);
    related_repeat(w, "t", 2, "tt");
    tc_graph_writer_node(w, "Add", "node", "tt,yx", "z");
    sum_rows(w, "z");
    tc_graph_writer_node(w, "Div", "", "z,s", "out");
}

/* The inner dimension of a product, and one that operands of Concat share: x[n, 2] twice, y[m, 2] three times. */
static void inner(tc_graph_writer *w) {
    related_repeat(w, "x", 2, "xx");
    related_repeat(w, "y", 3, "yyy");
    tc_graph_writer_node(w, "Transpose", "", "xx", "turned");
    tc_graph_writer_ints(w, "perm", "1,0");
    tc_graph_writer_node(w, "MatMul", "node", "turned,yyy", "p");
    tc_graph_writer_node(w, "Concat", "", "yyy,xx", "both");
    tc_graph_writer_int(w, "axis", 1);
    tc_graph_writer_weight(w, "fold", F32(DIMS(4, 2), 1, 2, 3, 4, 5, 6, 7, 8));
    tc_graph_writer_node(w, "MatMul", "", "both,fold", "q");
    tc_graph_writer_node(w, "MatMul", "", "q,p", "out");
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
};

static void test_related(void **state) {
    (void)state;
    for (size_t i = 0; i < TC_LEN(samples); i++)
        related_check_all(&samples[i], "related", (int)i, 3, 3);
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
    tc_graph_note note = {.arena = tc_arena_new()};
    tc_graph_size_rules r;
    snprintf(whole, sizeof whole, text, is);
    json_t *j = json_loads(whole, 0, NULL);
    assert_non_null(j);
    bool ok = tc_graph_rules_from_json(&note, j, ports, TC_LEN(ports), &r);
    json_decref(j);
    if (ok) {
        int64_t size[] = {n, m};
        assert_ok(tc_graph_size_rules_complete(&r, size, err));
        size[1]++;
        assert_int_equal(tc_graph_size_rules_complete(&r, size, NULL), TC_BAD_INPUT);
        j = tc_graph_rules_to_json(&r); /* what is read is written */
        assert_true(tc_graph_rules_from_json(&note, j, ports, TC_LEN(ports), &r));
        json_decref(j);
    }
    assert_int_equal(ok, !note.why[0]);
    tc_arena_free(note.arena);
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
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_related), cmocka_unit_test(test_metadata)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
