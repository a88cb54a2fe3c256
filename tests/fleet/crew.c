#include "crew.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <signal.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MOST_ARGUMENTS = 4 };

pid_t test_crew_start(test_crew *c, const char *const *arguments) {
    const char *argv[MOST_ARGUMENTS + 3] = {c->program, "worker"};
    for (int i = 0; arguments[i]; i++) {
        assert_true(i < MOST_ARGUMENTS);
        argv[i + 2] = arguments[i];
    }
    assert_true(c->n < TEST_CREW);
    pid_t p = fork();
    assert_true(p >= 0);
    if (p == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        execv(c->program, (char **)(uintptr_t)argv);
        _exit(127);
    }
    return c->worker[c->n++] = p;
}

void test_crew_forget(test_crew *c, pid_t p) {
    for (int i = 0; i < c->n; i++)
        if (c->worker[i] == p) {
            c->worker[i] = c->worker[--c->n];
            return;
        }
}

int test_crew_finish(test_crew *c, pid_t p, int sig) {
    int status;
    if (sig)
        kill(p, sig);
    assert_int_equal(waitpid(p, &status, 0), p);
    test_crew_forget(c, p);
    return status;
}

void test_crew_end(test_crew *c) {
    while (c->n)
        (void)test_crew_finish(c, c->worker[0], SIGKILL);
}
