/* Concatenations: those that need no kernel because their operands are written to their places, and operators of more operands
 * than a kernel takes. */
#include <math.h>

#include "common/test_size.h"
#include "graph/every_way.h"
#include "graph/graph_text.h"
#include "graph/onnx/import.h"
#include "graph/ops/ops.h"

#define DATA(name) TCTUNE_TEST_DIR "/data/" name

/* ---- pieces ---- */

static int count(const char *text, const char *what) {
    int n = 0;
    for (; (text = strstr(text, what)); text++)
        n++;
    return n;
}

/* So many values lie in others, and so many kernels concatenate. */
static void expect_program(const char *name, const tc_graph *g, int pieces, int concats) {
    tc_graph_program *p;
    tc_strbuf b = {0};
    assert_ok(tc_graph_program_new(g, &p, err));
    tc_graph_program_print(p, &b);
    const char *tasks = strstr(tc_sb_str(&b), "task 0 x");
    if (count(tc_sb_str(&b), " lies in ") != pieces || count(tc_sb_str(&b), "Concat") - count(tasks, "Concat") != concats)
        fail_msg("%s: expected %d pieces and %d concatenations in\n%s", name, pieces, concats, tc_sb_str(&b));
    tc_strbuf_free(&b);
    tc_graph_program_free(p);
}

static void fill(tc_graph_tensor *t, int k) {
    for (int64_t i = 0; i < tc_graph_tensor_count(t); i++)
        ((float *)t->data)[i] = (float)((i * 7 + k * 5) % 13 - 6) / 8;
}

/* The evaluator says what is right. */
static void check_graph(const char *name, tc_graph *g, const tc_graph_tensor *in) {
    tc_graph_tensor want[MAX_OUT];
    int n = (int)(g->outputs.len - g->nsizes);
    assert_ok(tc_graph_eval(g, in, want, err));
    check_every_way(&(checked){.program = "concat", .name = name, .in = in, .want = want, .nout = n}, g);
    for (int i = 0; i < n; i++)
        tc_graph_tensor_free(&want[i]);
}

#define LAYERS                                                                                                                   \
    "input %x : f32[2,32]\n"                                                                                                     \
    "const %w0 : f32[32,32]\n"                                                                                                   \
    "const %w1 : f32[32,32]\n"                                                                                                   \
    "const %w2 : f32[32,32]\n"                                                                                                   \
    "const %s : f32[1] = {0.04}\n"                                                                                               \
    "%a0 = MatMul(%x, %w0)\n"                                                                                                    \
    "%a = Mul(%a0, %s)\n"                                                                                                        \
    "%b0 = MatMul(%a, %w1)\n"                                                                                                    \
    "%b = Mul(%b0, %s)\n"                                                                                                        \
    "%c0 = MatMul(%b, %w2)\n"                                                                                                    \
    "%c = Mul(%c0, %s)\n"

static const struct {
    const char *name, *text;
    int pieces, concats;
} cases[] = {
    /* in the caller's memory, where the pieces are read again */
    {"output", LAYERS "%y = Concat(%c, %a, %b) {axis=0}\noutput y = %y\n", 3, 0},
    {"row of a block",
     LAYERS "%r = Reshape(%b) {shape=[1,2,32]}\n%q = Reshape(%c) {shape=[1,2,32]}\n%t = Concat(%r, %q) {axis=0}\n"
            "%y = MatMul(%t, %w0)\noutput y = %y\n",
     2, 0},
    {"along the second dimension",
     LAYERS "%r = Reshape(%b) {shape=[1,2,32]}\n%q = Reshape(%c) {shape=[1,2,32]}\n%t = Concat(%r, %q) {axis=1}\n"
            "%y = MatMul(%t, %w0)\noutput y = %y\n",
     2, 0},
    /* of one that is read as well */
    {"nested",
     LAYERS "%p = Concat(%c, %a) {axis=0}\n%q = Concat(%b, %p) {axis=0}\n%u = MatMul(%p, %w0)\n%v = MatMul(%q, %w1)\n"
            "output u = %u\noutput v = %v\n",
     4, 0},
    {"read beside its piece",
     LAYERS "%p = Concat(%c, %a) {axis=0}\n%m = ReduceMax(%a) {axes=[0], keepdims=1}\n%q = Mul(%p, %m)\n"
            "%u = MatMul(%q, %w0)\noutput u = %u\n",
     2, 0},
    /* an elementwise operand of its own is no more kernels; of two, the concatenation makes both */
    {"one that nobody else reads", LAYERS "%d = Mul(%a, %b)\n%p = Concat(%c, %d) {axis=0}\n%u = MatMul(%p, %w0)\noutput u = %u\n",
     2, 0},
    {"two that nobody else reads",
     LAYERS "%d = Mul(%a, %b)\n%e = Sub(%a, %b)\n%p = Concat(%d, %e) {axis=0}\n%u = MatMul(%p, %w0)\noutput u = %u\n", 0, 1},
    {"twice the same", LAYERS "%p = Concat(%a, %a) {axis=0}\n%u = MatMul(%p, %w0)\noutput u = %u\noutput c = %c\n", 0, 1},
    {"in two",
     LAYERS "%p = Concat(%a, %b) {axis=0}\n%q = Concat(%b, %c) {axis=0}\n%u = MatMul(%p, %w0)\n%v = MatMul(%q, %w1)\n"
            "output u = %u\noutput v = %v\n",
     2, 1},
    {"also an output", LAYERS "%p = Concat(%a, %b) {axis=0}\n%u = MatMul(%p, %w0)\noutput u = %u\noutput b = %b\noutput c = %c\n",
     0, 1},
    {"part of an output",
     LAYERS "%p = Concat(%a, %b) {axis=0}\n%u = MatMul(%p, %w0)\n%q = Slice(%b) {axes=[1], starts=[3], ends=[9]}\n"
            "output u = %u\noutput s = %q\noutput c = %c\n",
     0, 1},
    {"of an input", LAYERS "%p = Concat(%x, %c) {axis=0}\n%u = MatMul(%p, %w0)\noutput u = %u\n", 0, 1},
    {"side by side",
     LAYERS "%p = Concat(%b, %c) {axis=1}\n%r = Reshape(%p) {shape=[4,32]}\n%u = MatMul(%r, %w0)\noutput u = %u\n", 0, 1},
    {"unaligned",
     "input %x : f32[1,9]\nconst %w : f32[9,9]\n%a = MatMul(%x, %w)\n%b = MatMul(%a, %w)\n%p = Concat(%a, %b) {axis=0}\n"
     "%u = MatMul(%p, %w)\noutput u = %u\n",
     0, 1},
};

static void test_pieces(void **state) {
    (void)state;
    for (size_t i = 0; i < TC_LEN(cases); i++) {
        tc_graph *g;
        tc_graph_tensor in;
        assert_ok(graph_of_text(cases[i].name, cases[i].text, &g, err));
        assert_ok(tc_graph_tensor_alloc(&in, TC_F32, &g->inputs.data[0]->shape, err));
        fill(&in, 1);
        expect_program(cases[i].name, g, cases[i].pieces, cases[i].concats);
        check_graph(cases[i].name, g, &in);
        tc_graph_tensor_free(&in);
        tc_graph_free(g);
    }
}

/* What is put together in a trip is alive from its first piece on, whatever else the trip needs. */
static void test_in_a_loop(void **state) {
    (void)state;
    for (int k = 0; k < 3; k++) {
        tc_graph *g;
        tc_graph_tensor h, in[2] = {{0}, F32(SCALAR, (float)k * 8 - 4)};
        assert_ok(tc_graph_import(DATA("loop_concat.onnx"), NULL, &g, err));
        assert_ok(tc_graph_tensor_alloc(&h, TC_F32, &g->inputs.data[0]->shape, err));
        fill(&h, k);
        in[0] = h;
        expect_program("loop", g, 3, 0);
        check_graph("loop", g, in);
        tc_graph_tensor_free(&h);
        tc_graph_free(g);
    }
}

/* The branch's pieces are written to their places in the result of the If. */
static void test_in_a_branch(void **state) {
    (void)state;
    for (uint8_t c = 0; c < 2; c++) {
        tc_graph *g;
        tc_graph_tensor x, in[2];
        assert_ok(tc_graph_import(DATA("if_concat.onnx"), NULL, &g, err));
        assert_ok(tc_graph_tensor_alloc(&x, TC_F32, &g->inputs.data[1]->shape, err));
        fill(&x, c);
        in[0] = tc_graph_tensor_view(TC_BOOL, &(tc_graph_shape)SCALAR, &c);
        in[1] = x;
        expect_program("if", g, 4, 1);
        check_graph("if", g, in);
        tc_graph_tensor_free(&x);
        tc_graph_free(g);
    }
}

/* ---- many operands ---- */

enum { ROWS = 2, COLS = 3, EACH = ROWS * COLS };

typedef struct many {
    const char *op;
    int n;
    tc_graph_tensor *in; /* [n], each ROWS x COLS */
    tc_graph_writer *w;
    tc_strbuf names;
} many;

static void open_many(many *m, const char *op, int n) {
    char name[16];
    *m = (many){.op = op, .n = n, .in = tc_xcalloc((size_t)n, sizeof *m->in), .w = tc_graph_writer_new(op, 13)};
    for (int i = 0; i < n; i++) {
        assert_ok(tc_graph_tensor_alloc(&m->in[i], TC_F32, &(tc_graph_shape)DIMS(ROWS, COLS), err));
        fill(&m->in[i], i);
        snprintf(name, sizeof name, "x%d", i);
        tc_graph_writer_input(m->w, name, TC_F32, "2,3");
        tc_sb_printf(&m->names, "%s%s", i ? "," : "", name);
    }
}

static void close_many(many *m, const tc_graph_tensor *want) {
    tc_graph *g;
    char path[1200];
    snprintf(path, sizeof path, SCRATCH("concat_%s.onnx"), m->op);
    tc_graph_writer_output(m->w, "y", TC_F32, NULL);
    assert_ok(import_model(m->w, path, NULL, &g, err));
    check_every_way(&(checked){.program = "concat", .name = m->op, .in = m->in, .want = want, .nout = 1}, g);
    for (int i = 0; i < m->n; i++)
        tc_graph_tensor_free(&m->in[i]);
    free(m->in);
    tc_strbuf_free(&m->names);
    tc_graph_free(g);
    remove(path);
}

static float at(const many *m, int k, int i) {
    return ((const float *)m->in[k].data)[i];
}

/* Element i of the result of Sum, Mean, Max or Min. */
static float combined(const many *m, int i) {
    float sum = 0, most = at(m, 0, i), least = most;
    for (int k = 0; k < m->n; k++) {
        sum += at(m, k, i);
        most = TC_MAX(most, at(m, k, i));
        least = TC_MIN(least, at(m, k, i));
    }
    return strcmp(m->op, "Sum") == 0 ? sum : strcmp(m->op, "Mean") == 0 ? sum / (float)m->n : m->op[1] == 'a' ? most : least;
}

static void combine_many(const char *op, int n) {
    many m;
    float want[EACH];
    open_many(&m, op, n);
    for (int i = 0; i < EACH; i++)
        want[i] = combined(&m, i);
    tc_graph_writer_node(m.w, op, "node", tc_sb_str(&m.names), "y");
    tc_graph_tensor t = f32_tensor((tc_graph_shape)DIMS(ROWS, COLS), want);
    close_many(&m, &t);
}

/* A kernel takes at most 500 buffers: a sum of one size and a minimum of the other, and each operator with both in the full run. */
static void test_many_combined(void **state) {
    (void)state;
    static const char *const ops[] = {"Sum", "Mean", "Max", "Min"};
    static const int sizes[] = {600, 1100};
    for (size_t i = 0; i < TC_LEN(ops); i++)
        for (size_t k = 0; k < TC_LEN(sizes); k++)
            if (i == 3 * k || test_is_full())
                combine_many(ops[i], sizes[k]);
}

/* Side by side: row r of the result is that of all operands. The larger number in the full run. */
static void test_many_concatenated(void **state) {
    (void)state;
    for (int n = 600; n <= (test_is_full() ? 1100 : 600); n += 500) {
        many m;
        open_many(&m, "Concat", n);
        float *want = tc_xcalloc((size_t)n * EACH, sizeof *want);
        for (int i = 0; i < n * EACH; i++)
            want[i] = at(&m, i / COLS % n, i / (n * COLS) * COLS + i % COLS);
        tc_graph_writer_node(m.w, "Concat", "node", tc_sb_str(&m.names), "y");
        tc_graph_writer_int(m.w, "axis", 1);
        tc_graph_tensor t = f32_tensor((tc_graph_shape)DIMS(ROWS, (int64_t)n * COLS), want);
        close_many(&m, &t);
        free(want);
    }
}

static void test_many_in_a_sequence(void **state) {
    (void)state;
    enum { N = 600 };
    many m;
    static float want[N * EACH];
    open_many(&m, "ConcatFromSequence", N);
    for (int i = 0; i < N * EACH; i++)
        want[i] = at(&m, i / EACH, i % EACH);
    tc_graph_writer_node(m.w, "SequenceConstruct", "list", tc_sb_str(&m.names), "s");
    tc_graph_writer_node(m.w, "ConcatFromSequence", "node", "s", "y");
    tc_graph_writer_int(m.w, "axis", 0);
    tc_graph_writer_int(m.w, "new_axis", 1);
    tc_graph_tensor t = f32_tensor((tc_graph_shape)DIMS(N, ROWS, COLS), want);
    close_many(&m, &t);
}

/* Each part is made in the kernel of the concatenation and is one of several itself: a kernel takes only some of them. */
static void test_many_of_many(void **state) {
    (void)state;
    enum { N = 250, PARTS = 12 };
    many m;
    static float want[N * PARTS * EACH];
    tc_strbuf parts = {0}, wholes = {0};
    open_many(&m, "Concat", N);
    for (int k = 0; k < N; k++) {
        char name[16];
        snprintf(name, sizeof name, "c%d", k);
        parts.len = 0;
        for (int j = 0; j < PARTS; j++)
            tc_sb_printf(&parts, "%sx%d", j ? "," : "", (k + j) % N);
        for (int j = 0; j < PARTS * EACH; j++)
            want[k * PARTS * EACH + j] = at(&m, (k + j / EACH) % N, j % EACH);
        tc_graph_writer_node(m.w, "Concat", name, tc_sb_str(&parts), name);
        tc_graph_writer_int(m.w, "axis", 0);
        tc_sb_printf(&wholes, "%s%s", k ? "," : "", name);
    }
    tc_graph_writer_node(m.w, "Concat", "node", tc_sb_str(&wholes), "y");
    tc_graph_writer_int(m.w, "axis", 0);
    tc_graph_tensor t = f32_tensor((tc_graph_shape)DIMS((int64_t)N * PARTS * ROWS, COLS), want);
    close_many(&m, &t);
    tc_strbuf_free(&parts);
    tc_strbuf_free(&wholes);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pieces),        cmocka_unit_test(test_in_a_loop),         cmocka_unit_test(test_in_a_branch),
        cmocka_unit_test(test_many_combined), cmocka_unit_test(test_many_concatenated), cmocka_unit_test(test_many_in_a_sequence),
        cmocka_unit_test(test_many_of_many)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
