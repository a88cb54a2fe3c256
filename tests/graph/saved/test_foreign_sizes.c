/* A library for a CPU that this machine is not, run under qemu: at sizes that contradict what its nodes need it does nothing, as
 * the one for this machine, computes the same at all others, and its file says why with the same words. */
#include "graph/graph_test.h"
#include "graph/passes/pass.h"
#include "graph/saved/save_int.h"
#include "support/system/fs.h"

#define COMPILER "aarch64-linux-gnu-gcc"
#define EMULATOR "qemu-aarch64 -L /usr/aarch64-linux-gnu"
#define CPU "llvm -mtriple=aarch64-linux-gnu -mcpu=neoverse-n1"

static bool has(const char *program) {
    char command[200];
    snprintf(command, sizeof command, "command -v %s >/dev/null", program);
    return system(command) == 0;
}

static void list(tc_graph_writer *w, const char *name, int64_t n, const int64_t *v) {
    tc_graph_writer_weight(w, name, i64_tensor((tc_graph_shape)DIMS(n), v));
}

static void repeated(tc_graph_writer *w, const char *all, const char *to) {
    tc_graph_writer_node(w, "Concat", "", all, to);
    tc_graph_writer_int(w, "axis", 0);
}

/* In each of 40 trips x[n] twice and y[m] three times meet, and the fourth number of x is needed. */
static tc_graph_writer *make(void) {
    static uint8_t yes[] = {1};
    static const int64_t many[] = {40}, fourth[] = {3};
    tc_graph_writer *w = tc_graph_writer_new("foreign", 17), *b = tc_graph_writer_new("trip", 17);
    tc_graph_writer_input(w, "x", TC_F32, "n");
    tc_graph_writer_input(w, "y", TC_F32, "m");
    tc_graph_writer_weight(w, "many", i64_tensor((tc_graph_shape){0}, many));
    tc_graph_writer_weight(w, "none", F32({0}, 0));
    list(w, "at", 1, fourth);
    tc_graph_writer_input(b, "i", TC_I64, "");
    tc_graph_writer_input(b, "before", TC_BOOL, "");
    tc_graph_writer_input(b, "v", TC_F32, NULL);
    tc_graph_writer_weight(b, "go", tc_graph_tensor_view(TC_BOOL, &(tc_graph_shape){0}, yes));
    tc_graph_writer_output(b, "go", TC_BOOL, NULL);
    repeated(b, "x,x", "xx");
    repeated(b, "y,y,y", "yyy");
    tc_graph_writer_node(b, "Mul", "meet", "xx,yyy", "z");
    tc_graph_writer_node(b, "Gather", "take", "x,at", "one");
    repeated(b, "z,one", "all");
    tc_graph_writer_node(b, "ReduceSum", "", "all", "sum");
    tc_graph_writer_int(b, "keepdims", 0);
    tc_graph_writer_node(b, "Add", "", "v,sum", "next");
    tc_graph_writer_output(b, "next", TC_F32, NULL);
    tc_graph_writer_node(w, "Loop", "loop", "many,,none", "total");
    tc_graph_writer_body(w, "body", b);
    tc_graph_writer_node(w, "Add", "", "x,total", "out");
    tc_graph_writer_output(w, "out", TC_F32, NULL);
    return w;
}

static bool takes(int64_t n, int64_t m) {
    return n >= 4 && 2 * n == 3 * m;
}

/* What a program with the library prints; in `read`, what the library's file says of itself. */
static char *run_built(const tc_graph_program *p, const char *dir, const char *target, const char *compiler, const char *emulator,
                       tc_graph_model *read) {
    tc_target *t;
    tc_graph_model *m;
    char path[1200], *printed;
    const char *name, *built_for;
    tc_strbuf b = {0};
    assert_ok(tc_target_parse(target, &t, err));
    assert_ok(tc_graph_model_build(p, &(tc_graph_build_options){.target = t, .threads = 2, .object_only = true}, &m, err));
    snprintf(path, sizeof path, "%s/foreign.so", dir);
    assert_ok(tc_graph_model_save(m, path, NULL, err));
    assert_ok(tc_graph_read_library(read, path, &name, &built_for, err));
    tc_sb_printf(&b, "cd %s && %s -O1 -Wall -Wextra -Wpedantic -Werror -include foreign.h %s/saved/foreign_caller.c ./foreign.so",
                 dir, compiler, TCTUNE_TEST_DIR);
    tc_sb_printf(&b, " -Wl,-rpath,%s -o caller && %s ./caller > printed", dir, emulator);
    if (system(tc_sb_str(&b)) != 0)
        fail_msg("failed: %s", tc_sb_str(&b));
    snprintf(path, sizeof path, "%s/printed", dir);
    assert_ok(tc_fs_read(path, &printed, NULL, err));
    tc_strbuf_free(&b);
    tc_graph_model_free(m);
    tc_target_free(t);
    return printed;
}

/* At every size: what the program says, and what the rules of both files do. */
static void expect_refusals(const char *printed, const tc_graph_size_rules *here, const tc_graph_size_rules *there) {
    const char *line = printed;
    int taken = 0;
    assert_string_equal(there->size[0].name, "n");
    for (int64_t n = 0; n <= 9; n++)
        for (int64_t m = 0; m <= 6; m++) {
            char want[160];
            tc_error e[2] = {0};
            int64_t size[2][2] = {{n, m}, {n, m}};
            snprintf(want, sizeof want,
                     takes(n, m) ? "%d %d: status 0, rows %d, written" : "%d %d: status -2, rows -1, untouched\n", (int)n, (int)m,
                     (int)n);
            if (strncmp(line, want, strlen(want)) != 0)
                fail_msg("expected '%s', but there is: %.*s", want, (int)strcspn(line, "\n"), line);
            line = strchr(line, '\n') + 1;
            taken += takes(n, m);
            tc_status s = takes(n, m) ? TC_OK : TC_BAD_INPUT;
            assert_int_equal(tc_graph_size_rules_complete(here, size[0], &e[0]), s);
            assert_int_equal(tc_graph_size_rules_complete(there, size[1], &e[1]), s);
            assert_string_equal(e[0].msg, e[1].msg);
            if (2 * n != 3 * m)
                snprintf(want, sizeof want, "must be equal, but n * 2 is %d (n is %d), and m * 3 is %d (m is %d)", 2 * (int)n,
                         (int)n, 3 * (int)m, (int)m);
            else
                snprintf(want, sizeof want, "node 'take' (Gather): dimension 0 of 'x', n, is %d", (int)n);
            if (!takes(n, m) && !strstr(e[1].msg, want))
                fail_msg("expected '%s', but there is: %s", want, e[1].msg);
        }
    assert_true(taken >= 2 && *line == 0);
}

static void test_refused(void **state) {
    (void)state;
    tc_graph_binding sizes[] = {{"n", 1, {{0, 9, 1}}}, {"m", 1, {{0, 6, 1}}}};
    tc_graph *g;
    tc_graph_program *p;
    char *dir;
    if (!has(COMPILER) || !has("qemu-aarch64")) {
        print_message("skipped: %s or qemu-aarch64 is not installed\n", COMPILER);
        skip();
    }
    assert_ok(tc_fs_temp_dir(&dir, err));
    assert_ok(
        import_model(make(), SCRATCH("foreign_sizes.onnx"), &(tc_graph_import_options){.shapes = sizes, .nshapes = 2}, &g, err));
    assert_ok(tc_graph_passes(g, NULL, err));
    assert_ok(tc_graph_program_new(g, &p, err));
    tc_graph_model read[2] = {{.arena = tc_arena_new()}, {.arena = tc_arena_new()}};
    char *here = run_built(p, dir, "native", "cc", "", &read[0]);
    char *there = run_built(p, dir, CPU, COMPILER, EMULATOR, &read[1]);
    assert_string_equal(here, there);
    expect_refusals(there, &read[0].rules, &read[1].rules);
    for (int i = 0; i < 2; i++)
        tc_arena_free(read[i].arena);
    free(here);
    free(there);
    tc_graph_program_free(p);
    tc_graph_free(g);
    tc_fs_remove_tree(dir);
    free(dir);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
