/* Models that are long, or whose values are shared by many readers: what is computed of sizes is computed once, without deep recursion,
 * and names are looked up, not searched for. */
#include "graph/graph_test.h"
#include "graph/ir/sizes.h"
#include "graph/ops/dynamic.h"
#include "support/strbuf.h"

#define PATH SCRATCH("chains.onnx")

/* An input x[n, m], and its sizes as the scalars "n" and "m". */
static tc_graph_writer *sized(void) {
    tc_graph_writer *w = tc_graph_writer_new("chains", 17);
    tc_graph_writer_input(w, "x", TC_F32, "n,m");
    tc_graph_writer_weight(w, "zero", I64(SCALAR, 0));
    tc_graph_writer_weight(w, "one", I64(SCALAR, 1));
    tc_graph_writer_weight(w, "three", I64(SCALAR, 3));
    tc_graph_writer_weight(w, "list", I64(DIMS(1), 1));
    tc_graph_writer_node(w, "Shape", "", "x", "shape");
    tc_graph_writer_node(w, "Gather", "", "shape,zero", "n");
    tc_graph_writer_node(w, "Gather", "", "shape,one", "m");
    return w;
}

/* A node with the output "vK" that reads "v(K-1)", once or twice; v0 is `first`. Returns the name. */
typedef struct chain {
    tc_graph_writer *w;
    char last[32];
    int n;
} chain;

static chain chain_of(tc_graph_writer *w, const char *first) {
    chain c = {.w = w};
    snprintf(c.last, sizeof c.last, "%s", first);
    return c;
}

/* other: the second operand; "": there is none; NULL: the first once more. */
static void link_node(chain *c, const char *op, const char *other) {
    char in[80], out[32];
    snprintf(in, sizeof in, "%s%s%s", c->last, other && !*other ? "" : ",", other ? other : c->last);
    snprintf(out, sizeof out, "v%d", ++c->n);
    tc_graph_writer_node(c->w, op, "", in, out);
    snprintf(c->last, sizeof c->last, "%s", out);
}

/* y is as large as the chain's last value says. */
static tc_graph *import_sized(chain *c) {
    tc_graph *g = NULL;
    char in[80];
    snprintf(in, sizeof in, "%s,list", c->last);
    tc_graph_writer_node(c->w, "Reshape", "", in, "size");
    tc_graph_writer_node(c->w, "ConstantOfShape", "", "size", "y");
    tc_graph_writer_output(c->w, "y", TC_F32, NULL);
    assert_ok(import_model(c->w, PATH, NULL, &g, err));
    assert_ok(tc_graph_verify(g, err));
    return g;
}

/* The size of the only dimension of y, as text; it is an expression of symbols. */
static const char *size_of_y(tc_graph *g) {
    const tc_graph_value *size = g->outputs.data[1].value;
    tc_strbuf b = {0};
    tc_graph_sizes_print(&b, tc_graph_number_of(g, (tc_graph_value *)(uintptr_t)size, 0));
    return tc_sb_keep(&b, g->arena);
}

/* Each number of the chain is the same: the last is what the first is, however far away that is. */
static void test_long_chain_of_numbers(void **state) {
    (void)state;
    enum { LENGTH = 20000 };
    chain c = chain_of(sized(), "n");
    while (c.n < LENGTH)
        link_node(&c, "Mul", "one");
    link_node(&c, "Add", "three");
    tc_graph *g = import_sized(&c);
    assert_string_equal(size_of_y(g), "n + 3");
    tc_graph_free(g);
}

/* The same through a choice between two numbers, whose condition depends on the number before. */
static void test_long_chain_of_choices(void **state) {
    (void)state;
    enum { LENGTH = 5000 };
    chain c = chain_of(sized(), "n");
    while (c.n < LENGTH) {
        char in[80], out[32], before[32];
        snprintf(before, sizeof before, "%s", c.last);
        link_node(&c, "Less", "zero"); /* never: a size is not negative */
        snprintf(in, sizeof in, "%s,three,%s", c.last, before);
        snprintf(out, sizeof out, "w%d", c.n);
        tc_graph_writer_node(c.w, "Where", "", in, out);
        snprintf(c.last, sizeof c.last, "%s", out);
    }
    tc_graph *g = import_sized(&c);
    assert_string_equal(size_of_y(g), "n");
    tc_graph_free(g);
}

/* The same through floats. */
static void test_long_chain_of_floats(void **state) {
    (void)state;
    enum { LENGTH = 2000 };
    chain c = chain_of(sized(), "n");
    while (c.n < LENGTH) {
        link_node(&c, "Cast", "");
        tc_graph_writer_int(c.w, "to", 1);
        link_node(&c, "Floor", "");
        link_node(&c, "Cast", "");
        tc_graph_writer_int(c.w, "to", 7);
    }
    tc_graph *g = import_sized(&c);
    assert_string_equal(size_of_y(g), "n");
    tc_graph_free(g);
}

/* Each number reads the one before it twice. As a tree, the last would have 2^LEVELS leaves. */
static void test_shared_numbers(void **state) {
    (void)state;
    enum { LEVELS = 200 };
    static const char *const ops[] = {"Mul", "Add", "Max", "Sub"};
    for (size_t i = 0; i < TC_LEN(ops); i++) {
        chain c = chain_of(sized(), "n");
        link_node(&c, "Div", "three");
        while (c.n < LEVELS)
            link_node(&c, ops[i], NULL);
        link_node(&c, "Min", "three"); /* so that a largest size is known */
        link_node(&c, "Max", "zero");
        tc_graph_free(import_sized(&c));
    }
}

static void test_shared_floats(void **state) {
    (void)state;
    enum { LEVELS = 60 };
    chain c = chain_of(sized(), "n");
    link_node(&c, "Cast", "");
    tc_graph_writer_int(c.w, "to", 1);
    while (c.n < LEVELS)
        link_node(&c, c.n % 2 ? "Add" : "Mul", NULL);
    link_node(&c, "Cast", "");
    tc_graph_writer_int(c.w, "to", 7);
    link_node(&c, "Min", "three");
    link_node(&c, "Max", "zero");
    tc_graph_free(import_sized(&c));
}

static tc_graph_writer *negated(const char *op, const char *out) {
    tc_graph_writer *w = tc_graph_writer_new("branch", 17);
    tc_graph_writer_node(w, op, "", "x", out);
    tc_graph_writer_output(w, out, TC_F32, NULL);
    return w;
}

/* x[n, m] with If at the end of conditions that read each other twice. They are all n > 0. */
static void test_shared_conditions(void **state) {
    (void)state;
    enum { LEVELS = 200 };
    for (int with_not = 0; with_not < 2; with_not++) {
        tc_graph *g = NULL;
        chain c = chain_of(sized(), "n");
        link_node(&c, "Greater", "zero");
        while (c.n < LEVELS) {
            link_node(&c, c.n % 2 ? "And" : "Or", NULL);
            if (with_not) {
                link_node(&c, "Not", "");
                link_node(&c, "Not", "");
            }
        }
        tc_graph_writer_node(c.w, "If", "", c.last, "y");
        tc_graph_writer_body(c.w, "then_branch", negated("Neg", "t"));
        tc_graph_writer_body(c.w, "else_branch", negated("Abs", "e"));
        tc_graph_writer_output(c.w, "y", TC_F32, NULL);
        assert_ok(import_model(c.w, PATH, NULL, &g, err));
        assert_int_equal(g->nodes.len, 1); /* the condition is known: sizes that are assumed begin at 1 */
        assert_int_equal(g->nodes.data[0]->op, TC_GRAPH_OP_NEG);
        tc_graph_free(g);
    }
}

/* A message of a bounded length, soon. */
static void test_many_unknown_operators(void **state) {
    (void)state;
    enum { N = 20000 };
    tc_graph *g = NULL;
    tc_graph_writer *w = tc_graph_writer_new("chains", 17);
    tc_graph_writer_input(w, "x", TC_F32, "4");
    chain c = chain_of(w, "x");
    char op[32], others[64];
    for (int i = 0; i < N; i++) {
        snprintf(op, sizeof op, "Odd%d", i);
        link_node(&c, op, "");
        if (i % 2)
            tc_graph_writer_domain(w, "com.example");
    }
    link_node(&c, "Odd0", "");
    tc_graph_writer_output(w, c.last, TC_F32, NULL);
    snprintf(others, sizeof others, ", and %d others.", N - 8);
    assert_fails(TC_BAD_INPUT, import_model(w, PATH, NULL, &g, err), "Odd0 (domain ai.onnx, first in node 'v1'; 2 in all)",
                 "Odd5 (domain com.example, first in node 'v6'; 1 in all)", others);
}

static void test_many_symbols(void **state) {
    (void)state;
    enum { N = 8000 };
    tc_graph *g = NULL;
    tc_graph_writer *w = tc_graph_writer_new("chains", 17);
    char name[32], dims[32];
    for (int i = 0; i < N; i++) {
        snprintf(name, sizeof name, "i%d", i);
        snprintf(dims, sizeof dims, "s%d,4", i);
        tc_graph_writer_input(w, name, TC_F32, dims);
    }
    tc_graph_writer_node(w, "Relu", "", "i0", "y");
    tc_graph_writer_output(w, "y", TC_F32, NULL);
    assert_fails(TC_BAD_INPUT, import_model(w, PATH, NULL, &g, err), PATH, "s0=1..16", " and 1008 others, which are assumed",
                 "input 'i1024'", "more than 1024 sizes that vary", "--shape i1024=1,128");
}

/* As many as are taken. */
static void test_symbols_up_to_the_bound(void **state) {
    (void)state;
    enum { N = 1024 };
    tc_graph *g = NULL;
    tc_graph_writer *w = tc_graph_writer_new("chains", 17);
    tc_arena *a = tc_arena_new();
    tc_graph_size_rules rules;
    char name[32], dims[32];
    for (int i = 0; i < N; i++) {
        snprintf(name, sizeof name, "i%d", i);
        snprintf(dims, sizeof dims, "s%d", i);
        tc_graph_writer_input(w, name, TC_F32, dims);
    }
    tc_graph_writer_node(w, "Relu", "", "i1023", "y");
    tc_graph_writer_output(w, "y", TC_F32, NULL);
    assert_ok(import_model(w, PATH, NULL, &g, err));
    assert_int_equal(g->symbols.len, N);
    assert_string_equal(tc_graph_sizes_symbol(g->sizes, "s1023")->name, "s1023");
    assert_null(tc_graph_sizes_symbol(g->sizes, "s1024"));
    tc_graph_size_rules_of(g, a, &rules);
    assert_int_equal(rules.nsize, N);
    tc_arena_free(a);
    tc_graph_free(g);
}

/* Operands whose sizes vary are joined one by one. */
static void test_wide_concatenation(void **state) {
    (void)state;
    for (int n = 128; n <= 129; n++) {
        tc_graph *g = NULL;
        tc_strbuf in = {0};
        tc_graph_writer *w = tc_graph_writer_new("chains", 17);
        tc_graph_writer_input(w, "x", TC_F32, "n");
        for (int i = 0; i < n; i++)
            tc_sb_add(&in, i ? ",x" : "x");
        tc_graph_writer_node(w, "Concat", "join", tc_sb_str(&in), "y");
        tc_graph_writer_int(w, "axis", 0);
        tc_graph_writer_output(w, "y", TC_F32, NULL);
        if (n == 128)
            assert_ok(import_model(w, PATH, NULL, &g, err));
        else
            assert_fails(TC_BAD_INPUT, import_model(w, PATH, NULL, &g, err), "node 'join' (Concat)",
                         "joins 129 operands along axis 0", "at most 128", "--shape");
        tc_strbuf_free(&in);
        tc_graph_free(g);
    }
}

/* The models that were found to hang or to crash, where they are there. */
static void test_known_models(void **state) {
    (void)state;
    static const struct {
        const char *path;
        bool imports;
    } rows[] = {{"shape-chain/a80000.onnx", true},
                {"onnx-conditions-exponential/and31.onnx", true},
                {"onnx-conditions-exponential/and31_ifs100.onnx", true},
                {"onnx-quadratic/unknown_ops_20000.onnx", false},
                {"onnx-quadratic/loops_2_to_16.onnx", false},
                {"hash-flooding/flood30.onnx", true}};
    for (size_t i = 0; i < TC_LEN(rows); i++) {
        char path[512];
        tc_error err = {0};
        tc_graph *g = NULL;
        snprintf(path, sizeof path, "%s/../shared/cases/hostile/%s", TCTUNE_SOURCE_DIR, rows[i].path);
        FILE *f = fopen(path, "rb");
        if (!f)
            continue;
        fclose(f);
        tc_status s = tc_graph_import(path, NULL, &g, &err);
        if ((s == TC_OK) != rows[i].imports)
            fail_msg("%s: %s", path, s == TC_OK ? "imported" : err.msg);
        if (s != TC_OK)
            assert_true(strstr(err.msg, rows[i].path) != NULL);
        tc_graph_free(g);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_long_chain_of_numbers),
        cmocka_unit_test(test_long_chain_of_choices),
        cmocka_unit_test(test_long_chain_of_floats),
        cmocka_unit_test(test_shared_numbers),
        cmocka_unit_test(test_shared_floats),
        cmocka_unit_test(test_shared_conditions),
        cmocka_unit_test(test_many_unknown_operators),
        cmocka_unit_test(test_many_symbols),
        cmocka_unit_test(test_symbols_up_to_the_bound),
        cmocka_unit_test(test_wide_concatenation),
        cmocka_unit_test(test_known_models),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
