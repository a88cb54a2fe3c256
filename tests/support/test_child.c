/* Children of programs that ignore SIGCHLD, or wait for every child. */
#include "support/cmocka_all.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/system/child.h"

static void set(void (*handler)(int), int flags) {
    struct sigaction a = {.sa_handler = handler, .sa_flags = flags};
    sigemptyset(&a.sa_mask);
    assert_int_equal(sigaction(SIGCHLD, &a, NULL), 0);
}

static int teardown(void **state) {
    (void)state;
    set(SIG_DFL, 0);
    return 0;
}

/* What a shell ends with that does so. */
static int run(const char *what, int *status) {
    char *argv[] = {(char *)(uintptr_t) "sh", (char *)(uintptr_t) "-c", (char *)(uintptr_t)what, NULL}, *env[] = {NULL};
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
    int error = tc_child_run(argv, env, &files, status);
    posix_spawn_file_actions_destroy(&files);
    return error;
}

static void check_all(void) {
    int status;
    assert_int_equal(run("exit 0", &status), 0);
    assert_int_equal(status, 0);
    assert_int_equal(run("exit 3", &status), 0);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 3);
    assert_int_equal(run("kill -9 $$", &status), 0);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    assert_true(waitpid(-1, &status, WNOHANG) == -1 && errno == ECHILD);
}

static void an_end_is_known(void **state) {
    (void)state;
    check_all();
}

static void an_end_is_known_where_children_are_ignored(void **state) {
    (void)state;
    set(SIG_IGN, 0);
    check_all();
    set(SIG_DFL, SA_NOCLDWAIT);
    check_all();
    struct sigaction a;
    assert_int_equal(sigaction(SIGCHLD, NULL, &a), 0);
    assert_true(a.sa_handler == SIG_DFL && (a.sa_flags & SA_NOCLDWAIT)); /* as it was */
}

static void what_is_no_program_is_told(void **state) {
    (void)state;
    int status;
    char *argv[] = {(char *)(uintptr_t) "/no/such/program", NULL}, *env[] = {NULL};
    for (int ignored = 0; ignored < 2; ignored++) {
        set(ignored ? SIG_IGN : SIG_DFL, 0);
        assert_int_equal(tc_child_run(argv, env, NULL, &status), ENOENT);
    }
}

static void wait_for_every_child(int number) {
    (void)number;
    int before = errno;
    while (waitpid(-1, NULL, WNOHANG) > 0)
        continue;
    errno = before;
}

/* Whoever is first has the status. */
static void an_end_that_another_heard_of_is_not_known(void **state) {
    (void)state;
    int status = 0, error = 0;
    set(wait_for_every_child, SA_RESTART);
    for (int i = 0; i < 1000 && error == 0; i++)
        error = run("exit 3", &status);
    if (error) {
        assert_int_equal(error, ECHILD);
        assert_int_equal(status, 0);
    }
    set(SIG_DFL, 0);
    pid_t child = fork();
    if (child == 0)
        _exit(3);
    assert_int_equal(waitpid(child, NULL, 0), child);
    status = 7;
    assert_false(tc_child_wait(child, &status));
    assert_int_equal(status, 0);
}

int main(void) {
#define TEST(f) cmocka_unit_test_teardown(f, teardown)
    const struct CMUnitTest tests[] = {
        TEST(an_end_is_known),
        TEST(an_end_is_known_where_children_are_ignored),
        TEST(what_is_no_program_is_told),
        TEST(an_end_that_another_heard_of_is_not_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
