/* The sandbox by itself: what a worker with a folder of kept objects may do, and one without; what it is told by its environment.
 * The attacks on it are tests/campaign/hostile_code. */
#include "support/cmocka_all.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "measure/sandbox/sandbox.h"
#include "support/system/fs.h"

static char *folder;
static char outside[512];

static int setup(void **state) {
    (void)state;
    if (tc_fs_temp_dir(&folder, NULL) != TC_OK)
        return -1;
    snprintf(outside, sizeof outside, "%s.outside", folder);
    return tc_fs_write(outside, "x", 1, NULL) == TC_OK ? 0 : -1;
}

static int teardown(void **state) {
    (void)state;
    tc_fs_remove_tree(folder);
    unlink(outside);
    free(folder);
    return 0;
}

enum { LACKS = 99 };

/* The exit status of `act` in a sandbox, or minus the signal that ended it. What a kernel without Landlock or filters cannot show
 * is left out. */
static int inside(const tc_sandbox *s, int (*act)(void)) {
    int status;
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        tc_strbuf lacks = {0};
        tc_sandbox_limit((uint64_t)1 << 30);
        tc_sandbox_enter(s, &lacks);
        if (lacks.len)
            print_message("%s\n", tc_sb_str(&lacks));
        _exit(lacks.len ? LACKS : act());
    }
    waitpid(pid, &status, 0);
    if (WIFEXITED(status) && WEXITSTATUS(status) == LACKS)
        skip();
    return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

static bool opens(const char *path, int flags) {
    int fd = open(path, flags, 0600);
    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

/* As objects are kept: made under another name, moved, read, removed. 0: all of it works, and nothing of it elsewhere. */
static int keep_objects(void) {
    char one[600], two[600], elsewhere[600];
    snprintf(one, sizeof one, "%s/new", folder);
    snprintf(two, sizeof two, "%s/object", folder);
    snprintf(elsewhere, sizeof elsewhere, "%s.moved", folder);
    if (!opens(one, O_WRONLY | O_CREAT | O_EXCL) || rename(one, two) != 0 || !opens(two, O_RDONLY))
        return 1;
    if (opens(outside, O_RDONLY) || opens(outside, O_WRONLY) || opens("/etc/passwd", O_RDONLY) ||
        opens(elsewhere, O_RDWR | O_CREAT))
        return 2;
    if (rename(two, elsewhere) == 0 || unlink(outside) == 0)
        return 3;
    return unlink(two) == 0 ? 0 : 4;
}

static void who_compiles_has_its_folder(void **state) {
    (void)state;
    assert_int_equal(inside(&(tc_sandbox){.folder = folder, .threads = 1}, keep_objects), 0);
    assert_true(tc_fs_exists(outside));
}

static int read_outside(void) {
    return opens(outside, O_RDONLY) || opens(folder, O_RDONLY | O_DIRECTORY);
}

static int write_outside(void) {
    return opens(outside, O_WRONLY);
}

static void who_runs_kernels_has_no_files(void **state) {
    (void)state;
    const tc_sandbox s = {.threads = 1};
    assert_int_equal(inside(&s, read_outside), 0);
    assert_int_equal(inside(&s, write_outside), -SIGSYS);
}

/* Ends as threads of GNU's OpenMP do, for which glibc wants a library that nothing in this program is linked with. */
static void *one(void *p) {
    *(int *)p = 1;
    pthread_exit(NULL);
}

/* Threads, memory and the clock. */
static int compute(void) {
    int ran = 0;
    pthread_t t;
    char *p = malloc(1 << 20);
    struct rlimit r;
    if (!p || pthread_create(&t, NULL, one, &ran) != 0 || pthread_join(t, NULL) != 0 || !ran)
        return 1;
    memset(p, 1, 1 << 20);
    free(p);
    return usleep(1) == 0 && getrlimit(RLIMIT_DATA, &r) == 0 ? 0 : 2;
}

static int start_process(void) {
    return fork() >= 0;
}

static void computing_goes_on_and_nothing_else(void **state) {
    (void)state;
    const tc_sandbox with = {.folder = folder, .threads = 2}, without = {.threads = 2};
    assert_int_equal(inside(&with, compute), 0);
    assert_int_equal(inside(&without, compute), 0);
    assert_int_equal(inside(&with, start_process), -SIGSYS);
    assert_int_equal(inside(&without, start_process), -SIGSYS);
}

static const char *in(char *const *env, const char *name) {
    size_t n = strlen(name);
    for (; *env; env++)
        if (strncmp(*env, name, n) == 0 && (*env)[n] == '=')
            return *env + n + 1;
    return NULL;
}

static void the_environment_is_small(void **state) {
    (void)state;
    setenv("A_SECRET", "1", 1);
    setenv("OMP_WAIT_POLICY", "active", 1);
    setenv("OMP_NUM_THREADS", "7", 1);
    const char *const own[] = {"OMP_NUM_THREADS=2", "TCTUNE_CACHE=off", NULL};
    char **env = tc_sandbox_environment(own);
    assert_null(in(env, "A_SECRET"));
    assert_null(in(env, "PATH"));
    assert_string_equal(in(env, "OMP_WAIT_POLICY"), "active");
    assert_string_equal(in(env, "OMP_NUM_THREADS"), "2");
    assert_string_equal(in(env, "TCTUNE_CACHE"), "off");
    free(env);
}

/* LLVM's OpenMP would set the affinity by itself, and the sandbox forbids it; whoever asks for bound threads gets them. */
static void threads_are_bound_where_it_is_asked_for(void **state) {
    (void)state;
    char **env = tc_sandbox_environment(NULL);
    assert_string_equal(in(env, "KMP_AFFINITY"), "disabled");
    free(env);
    assert_false(tc_sandbox_binds_threads());
    setenv("KMP_AFFINITY", "disabled", 1);
    assert_false(tc_sandbox_binds_threads());
    unsetenv("KMP_AFFINITY");
    setenv("OMP_PROC_BIND", "close", 1);
    env = tc_sandbox_environment(NULL);
    assert_null(in(env, "KMP_AFFINITY"));
    assert_string_equal(in(env, "OMP_PROC_BIND"), "close");
    free(env);
    assert_true(tc_sandbox_binds_threads());
    unsetenv("OMP_PROC_BIND");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_compiles_has_its_folder),
        cmocka_unit_test(who_runs_kernels_has_no_files),
        cmocka_unit_test(computing_goes_on_and_nothing_else),
        cmocka_unit_test(the_environment_is_small),
        cmocka_unit_test(threads_are_bound_where_it_is_asked_for),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
