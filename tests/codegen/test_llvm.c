/* LLVM's library is opened when something of it is first wanted: not before, only once, and where it cannot be opened compiling
 * says so while what needs no compiler goes on. Each test is a process of its own, since a library that is open stays open. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "codegen/llvm/on_demand.h"
#include "kernel.h"
#include "support/system/fs.h"

static const char TEXT[] = "func one\nparam X f32[16] in 0 align 64\nparam Y f32[16] out 0 align 64\nbody\n"
                           "for i in 16 {\nY[i] = X[i] + f32(1)\n}\n";

/* Whether the process has the library, whoever opened it. */
static bool is_there(void) {
    void *library = dlopen(LLVM_SONAME, RTLD_LAZY | RTLD_NOLOAD);
    if (library)
        dlclose(library);
    return library != NULL;
}

static int by_itself(int (*check)(void)) {
    int status = 0;
    pid_t child = fork();
    if (child == 0)
        _exit(check());
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

/* ---- opened on demand ---- */

static int opened_by_compiling(void) {
    if (is_there() || tc_llvm_is_loaded())
        return 1;
    if (!*tc_cg_llvm_version() || is_there())
        return 2;
    kernel k;
    kernel_parse(&k, TEXT);
    kernel_compile(&k, kernel_target(), NULL);
    if (!is_there() || !tc_llvm_is_loaded())
        return 3;
    void **args = kernel_args(k.f);
    kernel_run(&k, args, 1);
    return ((float *)args[1])[15] == ((float *)args[0])[15] + 1 ? 0 : 4;
}

static void opens_on_demand(void **state) {
    (void)state;
    assert_int_equal(by_itself(opened_by_compiling), 0);
    assert_false(is_there());
}

static void *load(void *arg) {
    (void)arg;
    return tc_llvm_load(NULL) == TC_OK && tc_llvm_is_loaded() ? NULL : (void *)&TEXT;
}

static int opened_by_many(void) {
    pthread_t t[4];
    int bad = 0;
    for (size_t i = 0; i < TC_LEN(t); i++)
        if (pthread_create(&t[i], NULL, load, NULL))
            return 1;
    for (size_t i = 0; i < TC_LEN(t); i++) {
        void *said;
        pthread_join(t[i], &said);
        bad += said != NULL;
    }
    return bad;
}

static void opens_for_many_threads(void **state) {
    (void)state;
    assert_int_equal(by_itself(opened_by_many), 0);
}

/* ---- not there ---- */

static int says_what_is_missing(void) {
    tc_error err = {0};
    tc_target *t;
    if (tc_llvm_load(&err) != TC_ENV || tc_llvm_is_loaded())
        return 1;
    static const char *const words[] = {LLVM_SONAME, "cannot be opened", "package libllvm19", "--role measure"};
    for (size_t i = 0; i < TC_LEN(words); i++)
        if (!strstr(err.msg, words[i])) {
            fprintf(stderr, "%s\n", err.msg);
            return 2;
        }
    if (tc_llvm_load(NULL) != TC_ENV) /* again */
        return 3;
    return tc_target_parse("llvm -mtriple=mips64el-linux-gnu", &t, &err) == TC_ENV ? 0 : 4;
}

/* The loader looks here first, and finds a file that is no library. */
static void missing_library(void **state) {
    static const char *const folder = TCTUNE_TEST_TMP "/no-llvm";
    char *const args[] = {*state, "missing", NULL};
    tc_error err = {0};
    int status = 0;
    assert_true(mkdir(folder, 0700) == 0 || tc_fs_is_dir(folder));
    assert_int_equal(tc_fs_write(TCTUNE_TEST_TMP "/no-llvm/" LLVM_SONAME, "none\n", 5, &err), TC_OK);
    pid_t child = fork();
    if (child == 0) {
        setenv("LD_LIBRARY_PATH", folder, 1);
        execv("/proc/self/exe", args);
        _exit(127);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

int main(int argc, char **argv) {
    if (argc == 2 && !strcmp(argv[1], "missing"))
        return says_what_is_missing();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(opens_on_demand),
        cmocka_unit_test(opens_for_many_threads),
        cmocka_unit_test_prestate(missing_library, argv[0]),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
