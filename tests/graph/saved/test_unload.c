/* A library may be closed while its threads wait for its next run: 1,000 times, from a thread that ends, and from Python; also a
 * library with OpenMP's team, and one of C source. The library goes with its threads; OpenMP's runtime stays. */
#include "graph/model/parts.h"
#include "graph/saved/small_model.h"
#include "support/system/fs.h"

#define NAME "small"

/* `how` goes before the command: an environment. */
static void expect_lives(const char *dir, const char *how, const char *command, int times) {
    tc_strbuf b = {0};
    char line[64] = "";
    tc_sb_printf(&b, "cd %s && %s %s ./small.so " NAME " %d", dir, how, command, times);
    FILE *f = popen(tc_sb_str(&b), "r");
    assert_non_null(f);
    bool lived = fgets(line, sizeof line, f) && strcmp(line, "lived\n") == 0;
    int status = pclose(f);
    if (!lived || status != 0)
        fail_msg("status %x: %s", (unsigned)status, tc_sb_str(&b));
    tc_strbuf_free(&b);
}

static void must_run(const char *dir, const char *command) {
    tc_strbuf b = {0};
    tc_sb_printf(&b, "cd %s && %s", dir, command);
    if (system(tc_sb_str(&b)) != 0)
        fail_msg("failed: %s", tc_sb_str(&b));
    tc_strbuf_free(&b);
}

static void check(const char *dir, int times) {
    static const char *const HOW[] = {"env -u OMP_WAIT_POLICY OMP_NUM_THREADS=2", "env OMP_WAIT_POLICY=passive"};
    for (size_t i = 0; i < TC_LEN(HOW); i++)
        expect_lives(dir, HOW[i], "./caller", times / (int)TC_LEN(HOW));
    if (small_model_has("python3"))
        expect_lives(dir, HOW[1], "python3 " TCTUNE_TEST_DIR "/saved/unload_caller.py", times / 10);
    else
        print_message("Python is not here: the library is not closed in it\n");
}

static void test_closed(void **state) {
    (void)state;
    char *dir, path[1200];
    small_model s = small_model_open(SMALL_MODEL("256"), "native");
    assert_ok(tc_fs_temp_dir(&dir, err));
    must_run(dir, "cc -std=gnu17 -O1 -Wall -Wextra -Werror " TCTUNE_TEST_DIR "/saved/unload_caller.c -o caller -ldl -pthread");
    snprintf(path, sizeof path, "%s/small.so", dir);
    assert_ok(tc_graph_model_save(s.model, path, NAME, err));
    check(dir, 1000);
    s.model->team = TC_GRAPH_TEAM_OPENMP;
    assert_ok(tc_graph_model_save(s.model, path, NAME, err));
    check(dir, 1000);
    snprintf(path, sizeof path, "%s/small.c", dir);
    assert_ok(tc_graph_model_save(s.model, path, NAME, err));
    static const char *const COMPILERS[] = {"gcc", "clang-19"}; /* with a runtime of its own, if that is here */
    for (size_t i = 0; i < TC_LEN(COMPILERS); i++) {
        char command[300];
        if (!small_model_has(COMPILERS[i]))
            continue;
        snprintf(command, sizeof command, "%s -std=c17 -O1 -Wall -Wextra -Werror -fopenmp -fPIC -shared small.c -o small.so -lm",
                 COMPILERS[i]);
        must_run(dir, command);
        check(dir, 200);
    }
    small_model_close(&s);
    tc_fs_remove_tree(dir);
    free(dir);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_closed)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
