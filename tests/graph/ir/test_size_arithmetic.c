/* Sizes as models compute them of other sizes: in floats, by remainders, products of a shape, choices. Import knows what they are, or
 * at least how large they may be, and both are right for every size of a run. */
#define SIZES_MODEL "size-arithmetic.onnx"
#include "graph/ir/sizes_common.h"
#include "graph/ops/dynamic.h"

#include <inttypes.h>
#include <math.h>

enum { MOST = 300 };

/* y = [0, ..]: as many as the model computes of the size n of x. */
typedef struct chain {
    tc_graph_writer *w;
    char now[16]; /* the name of the number so far */
    tc_dtype type;
    int steps;
} chain;

static chain begin(void) {
    chain c = {tc_graph_writer_new("sizes", 17), "size", TC_I64, 0};
    tc_graph_writer_input(c.w, "x", TC_F32, "n");
    tc_graph_writer_node(c.w, "Shape", "", "x", "size");
    return c;
}

static void step(chain *c, const char *op, const char *more) {
    char in[64], out[16];
    snprintf(in, sizeof in, "%s%s%s", c->now, more ? "," : "", more ? more : "");
    snprintf(out, sizeof out, "v%d", ++c->steps);
    tc_graph_writer_node(c->w, op, "", in, out);
    strcpy(c->now, out);
}

static void constant(chain *c, double v, char name[16]) {
    tc_graph_tensor t;
    snprintf(name, 16, "k%d", c->steps);
    assert_ok(tc_graph_tensor_alloc(&t, c->type, &(tc_graph_shape)DIMS(1), err));
    if (c->type == TC_I64)
        tc_store_i(c->type, t.data, 0, (int64_t)v);
    else
        tc_store_f(c->type, t.data, 0, v);
    tc_graph_writer_weight(c->w, name, t);
}

static double in_type(tc_dtype t, double v) {
    double held;
    if (t == TC_I64)
        return trunc(v);
    tc_store_f(t, &held, 0, v);
    return tc_load_f(t, &held, 0);
}

static const struct {
    const char *text;
    int onnx;
    tc_dtype type;
} casts[] = {{"f32", 1, TC_F32}, {"i64", 7, TC_I64}, {"f16", 10, TC_F16}, {"f64", 11, TC_F64}};
static const struct {
    const char *text, *op;
} operations[] = {{"+", "Add"}, {"-", "Sub"},       {"*", "Mul"},     {"/", "Div"},
                  {"%", "Mod"}, {"floor", "Floor"}, {"ceil", "Ceil"}, {"sqrt", "Sqrt"}};

/* What the step makes of `v`, of type *t, which becomes that of the result. */
static double value_of(const char *text, tc_dtype *t, double v) {
    for (size_t i = 0; i < TC_LEN(casts); i++)
        if (strcmp(text, casts[i].text) == 0)
            return in_type(*t = casts[i].type, v);
    double k = in_type(*t, atof(text + 1));
    switch (text[0]) {
    case '+':
        return in_type(*t, v + k);
    case '-':
        return in_type(*t, v - k);
    case '*':
        return in_type(*t, v * k);
    case '/':
        return in_type(*t, v / k);
    case '%':
        return v - k * floor(v / k);
    case 'f':
        return floor(v);
    case 'c':
        return ceil(v);
    default:
        return in_type(*t, sqrt(v));
    }
}

static void add_step(chain *c, const char *text) {
    char k[16];
    for (size_t i = 0; i < TC_LEN(casts); i++)
        if (strcmp(text, casts[i].text) == 0) {
            step(c, "Cast", NULL);
            tc_graph_writer_int(c->w, "to", casts[i].onnx);
            c->type = casts[i].type;
            return;
        }
    for (size_t i = 0; i < TC_LEN(operations); i++)
        if (strncmp(text, operations[i].text, strlen(operations[i].text)) == 0) {
            bool takes = strlen(operations[i].text) == 1;
            if (takes)
                constant(c, atof(text + 1), k);
            step(c, operations[i].op, takes ? k : NULL);
            return;
        }
    fail_msg("no such step: %s", text);
}

static tc_graph *finish(chain *c) {
    tc_graph_binding n = range("n", 1, MOST, 1);
    tc_graph_writer_node(c->w, "ConstantOfShape", "fill", c->now, "y");
    tc_graph_writer_output(c->w, "y", TC_F32, NULL);
    return import_ok(c->w, &n, 1);
}

/* What import takes the length of y for. */
static const tc_expr *length(tc_graph *g) {
    const tc_graph_value *y = g->outputs.data[0].value;
    int at = g->outputs.data[0].extent[0];
    return at ? tc_graph_number_of(g, g->outputs.data[at].value, 0) : tc_i64(g->sizes->ctx, y->shape.d[0]);
}

static int64_t run_length(const tc_graph *g, int64_t n) {
    tc_graph_tensor x = counted((tc_graph_shape)DIMS(n)), y;
    assert_ok(tc_graph_eval(g, &x, &y, err));
    int64_t d = y.shape.d[0];
    tc_graph_tensor_free(&y);
    return d;
}

/* `text`: what import takes it for; NULL: it only knows that it is at most `most`. */
static void check_length(tc_graph *g, const char *what, const char *text, int64_t most) {
    tc_strbuf b = {0};
    tc_graph_sizes_print(&b, length(g));
    if (text && strcmp(tc_sb_str(&b), text) != 0)
        fail_msg("%s: import takes it for %s, and not %s", what, tc_sb_str(&b), text);
    if (g->outputs.data[0].value->shape.d[0] != most)
        fail_msg("%s: at most %" PRId64 ", and not %" PRId64, what, g->outputs.data[0].value->shape.d[0], most);
    tc_strbuf_free(&b);
}

/* Import's expression, where it is one of n alone, in a run. */
static void check_value(tc_graph *g, const char *what, int64_t n, int64_t want) {
    const tc_var *var = g->sizes->symbols.data[0].var;
    tc_formula f;
    int64_t got = want;
    if (tc_formula_of(length(g), 1, &var, g->arena, &f))
        assert_true(tc_formula_value(&f, &n, &got));
    if (got != want || run_length(g, n) != want)
        fail_msg("%s: of n = %" PRId64 " import makes %" PRId64 ", a run %" PRId64 ", and the model %" PRId64, what, n, got,
                 run_length(g, n), want);
}

static void test_floats(void **state) {
    (void)state;
    static const struct {
        const char *steps, *text;
        int64_t most;
    } rows[] = {
        {"f32 *2 i64", "n * 2", 600},
        {"f32 *0.5 floor i64", "n / 2", 150},
        {"f32 *0.5 i64", "n / 2", 150},
        {"f32 *1.5 floor i64", "n + n / 2", 450},
        {"f32 /3 floor i64", "n / 3", 100},
        {"f32 /7 ceil i64", "(n + 6) / 7", 43},
        {"f64 /49 ceil i64", "(n + 48) / 49", 7},
        {"f32 -1 /2 floor +1 i64", "(n + 1) / 2", 150},
        {"f32 +1 /2 floor *2 i64", "(n + 1) / 2 * 2", 300},
        {"f32 *0.1 floor i64", NULL, 30},
        {"f32 *0.3333333 ceil i64", NULL, 101},
        {"f32 /3 *3 i64", NULL, 300},
        {"f32 /3 f16 floor i64", NULL, 100},
        {"f16 *0.25 floor i64", "n / 4", 75},
        {"f16 *9 floor i64", NULL, 2704},
        {"f32 sqrt i64", NULL, 17},
        {"f32 sqrt ceil i64", NULL, 18},
        {"%16", "n % 16", 15},
        {"+15 /16 *16", "(n + 15) / 16 * 16", 304},
        {"%16 f32 /2 ceil i64", "(n % 16 + 1) / 2", 8},
        {"f32 sqrt sqrt floor i64 *64", NULL, 256},
    };
    for (size_t i = 0; i < TC_LEN(rows); i++) {
        chain c = begin();
        char text[64], *at = text, *word;
        strcpy(text, rows[i].steps);
        while ((word = strtok_r(at, " ", &at)))
            add_step(&c, word);
        tc_graph *g = finish(&c);
        check_length(g, rows[i].steps, rows[i].text, rows[i].most);
        for (int64_t n = 1; n <= MOST; n++) {
            double v = (double)n;
            tc_dtype t = TC_I64;
            strcpy(text, rows[i].steps);
            for (at = text; (word = strtok_r(at, " ", &at));)
                v = value_of(word, &t, v);
            check_value(g, rows[i].steps, n, (int64_t)v);
        }
        tc_graph_free(g);
    }
}

/* What is made of a shape of which one size varies. */
static void test_shapes(void **state) {
    (void)state;
    static const struct {
        const char *op, *text;
        int64_t most;
    } rows[] = {{"ReduceProd", "n * 12", 12 * MOST},
                {"ReduceSum", "n + 7", MOST + 7},
                {"ReduceMax", "max(n, 4)", MOST},
                {"ReduceMin", "min(n, 3)", 3}};
    for (size_t i = 0; i < TC_LEN(rows); i++) {
        chain c = begin();
        tc_graph_writer_weight(c.w, "more", (tc_graph_tensor)I64(DIMS(2), 3, 4));
        tc_graph_writer_node(c.w, "Concat", "", "size,more", "shape");
        tc_graph_writer_int(c.w, "axis", 0);
        strcpy(c.now, "shape");
        step(&c, rows[i].op, NULL);
        tc_graph_writer_int(c.w, "keepdims", 1);
        tc_graph *g = finish(&c);
        check_length(g, rows[i].op, rows[i].text, rows[i].most);
        for (int64_t n = 1; n <= MOST; n++) {
            const int64_t want[] = {12 * n, n + 7, TC_MAX(n, 4), TC_MIN(n, 3)};
            check_value(g, rows[i].op, n, want[i]);
        }
        tc_graph_free(g);
    }
}

/* Where(n > k, n, 7): sizes decide which it is, for each element of a shape, or both say how large it may be. */
static void test_choices(void **state) {
    (void)state;
    static const struct {
        int64_t k;
        const char *text;
        int64_t most;
    } rows[] = {{0, "n", MOST}, {-1, "n", MOST}, {MOST, "7", 7}, {20, NULL, MOST}};
    for (size_t i = 0; i < TC_LEN(rows); i++) {
        char k[16], choice[64];
        chain c = begin();
        c.type = TC_I64;
        constant(&c, (double)rows[i].k, k);
        step(&c, "Greater", k);
        tc_graph_writer_weight(c.w, "seven", (tc_graph_tensor)I64(DIMS(1), 7));
        snprintf(choice, sizeof choice, "%s,size,seven", c.now);
        tc_graph_writer_node(c.w, "Where", "", choice, "chosen");
        strcpy(c.now, "chosen");
        tc_graph *g = finish(&c);
        check_length(g, "Where", rows[i].text, rows[i].most);
        for (int64_t n = 1; n <= MOST; n++)
            check_value(g, "Where", n, n > rows[i].k ? n : 7);
        tc_graph_free(g);
    }
}

/* A size that does not vary is a constant, though others of the same shape do: nodes that import cannot look through fold. */
static void test_fixed(void **state) {
    (void)state;
    tc_graph *g;
    tc_graph_binding n = range("n", 1, MOST, 1);
    tc_graph_writer *w = tc_graph_writer_new("fixed", 17);
    tc_graph_writer_input(w, "x", TC_F32, "n,49");
    tc_graph_writer_weight(w, "one", (tc_graph_tensor)I64(DIMS(1), 1));
    tc_graph_writer_node(w, "Shape", "", "x", "shape");
    tc_graph_writer_node(w, "Gather", "", "shape,one", "size");
    tc_graph_writer_node(w, "Cast", "", "size", "float");
    tc_graph_writer_int(w, "to", 1);
    tc_graph_writer_node(w, "Erf", "", "float", "erf");
    tc_graph_writer_node(w, "Cast", "", "erf", "k");
    tc_graph_writer_int(w, "to", 7);
    tc_graph_writer_node(w, "Tile", "", "x,ones", "y");
    tc_graph_writer_node(w, "Concat", "", "k,k", "ones");
    tc_graph_writer_int(w, "axis", 0);
    tc_graph_writer_output(w, "y", TC_F32, NULL);
    assert_ok(import_model(w, SCRATCH(SIZES_MODEL), &(tc_graph_import_options){.shapes = &n, .nshapes = 1}, &g, err));
    assert_int_equal(g->outputs.data[0].value->shape.d[1], 49);
    assert_int_equal(g->nodes.len, 0);
    tc_graph_free(g);
}

/* A table of 100 positions: import assumes no more of them, and a range that has more is refused in runs. */
static void test_positions(void **state) {
    (void)state;
    tc_graph_tensor table;
    tc_graph_binding given[] = {range("n", 1, MOST, 1)};
    for (int is_given = 0; is_given < 2; is_given++) {
        tc_graph_writer *w = tc_graph_writer_new("positions", 17);
        tc_graph_writer_input(w, "x", TC_F32, "1,n,1");
        assert_ok(tc_graph_tensor_alloc(&table, TC_F32, &(tc_graph_shape)DIMS(100, 2), err));
        for (int i = 0; i < 200; i++)
            ((float *)table.data)[i] = (float)i;
        tc_graph_writer_weight(w, "table", table);
        tc_graph_writer_weight(w, "zero", (tc_graph_tensor)I64({0}, 0));
        tc_graph_writer_weight(w, "one", (tc_graph_tensor)I64({0}, 1));
        tc_graph_writer_node(w, "Shape", "", "x", "shape");
        tc_graph_writer_node(w, "Gather", "", "shape,one", "size");
        tc_graph_writer_node(w, "Range", "", "zero,size,one", "positions");
        tc_graph_writer_node(w, "Gather", "look", "table,positions", "rows");
        tc_graph_writer_node(w, "Add", "", "rows,x", "y");
        tc_graph_writer_output(w, "y", TC_F32, NULL);
        tc_graph *g = import_ok(w, given, (size_t)is_given);
        expect_symbol(g, "n", 1, is_given ? MOST : 100, !is_given);
        tc_graph_tensor x = counted((tc_graph_shape)DIMS(1, 100, 1)), y;
        assert_ok(tc_graph_eval(g, &x, &y, err));
        for (int i = 0; i < 200; i++)
            assert_true(((float *)y.data)[i] == (float)(i + i / 2));
        tc_graph_tensor_free(&y);
        x = counted((tc_graph_shape)DIMS(1, 101, 1));
        if (is_given)
            assert_fails(TC_BAD_INPUT, tc_graph_eval(g, &x, &y, err), "node 'look' (Gather)", "'positions'",
                         "indices are below 100");
        else
            assert_fails(TC_BAD_INPUT, tc_graph_eval(g, &x, &y, err), "'n' was assumed as 1..100");
        tc_graph_free(g);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_floats), cmocka_unit_test(test_shapes),
                                       cmocka_unit_test(test_choices), cmocka_unit_test(test_fixed),
                                       cmocka_unit_test(test_positions)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
