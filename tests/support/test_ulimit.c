/* Limits that would end a process by a signal: a write of the library beyond the size of files fails instead, and the signal of the
 * limit of CPU time comes before the end. */
#include "support/cmocka_all.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/system/ulimit.h"
#include "support/vec.h"

enum { LIMIT = 4096 };

/* In a child: waitpid's status. */
static int in_child(void (*work)(void)) {
    int status;
    pid_t pid = fork();
    if (pid == 0) {
        work();
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return status;
}

/* Of a file that has all the bytes that it may have. False: it succeeded. */
static bool fails_to_write(void) {
    int fd = open(".", O_TMPFILE | O_WRONLY, 0600);
    char bytes[LIMIT] = {0};
    if (fd < 0 || write(fd, bytes, sizeof bytes) != LIMIT)
        _exit(2);
    return write(fd, bytes, 1) < 0 && errno == EFBIG;
}

static void prepare(void) {
    signal(SIGXFSZ, SIG_DFL);
    setrlimit(RLIMIT_FSIZE, &(struct rlimit){LIMIT, LIMIT});
}

static void write_too_much(void) {
    prepare();
    for (int i = 0; i < 3; i++) {
        tc_writes_begin();
        tc_writes_begin();
        if (!fails_to_write())
            _exit(1);
        tc_writes_end();
        if (!fails_to_write()) /* the outer pair is still open */
            _exit(1);
        tc_writes_end();
    }
}

static void write_too_much_afterwards(void) {
    write_too_much();
    (void)fails_to_write();
}

/* A program that blocks the signal keeps it blocked, and pending. */
static void write_too_much_while_blocked(void) {
    sigset_t set, pending;
    prepare();
    sigemptyset(&set);
    sigaddset(&set, SIGXFSZ);
    sigprocmask(SIG_BLOCK, &set, NULL);
    tc_writes_begin();
    if (!fails_to_write())
        _exit(1);
    tc_writes_end();
    if (sigpending(&pending) != 0 || !sigismember(&pending, SIGXFSZ))
        _exit(1);
}

static void writes_beyond_the_limit_fail(void **state) {
    (void)state;
    assert_int_equal(in_child(write_too_much), 0);
    assert_int_equal(in_child(write_too_much_while_blocked), 0);
    int status = in_child(write_too_much_afterwards); /* the program's own writes */
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGXFSZ);
}

static void warn_of_cpu(void) {
    static const struct {
        rlim_t soft, hard, warned;
    } cases[] = {{RLIM_INFINITY, RLIM_INFINITY, RLIM_INFINITY}, {900, RLIM_INFINITY, 900}, {800, 900, 800}, {900, 900, 899}};
    for (size_t i = 0; i < TC_LEN(cases); i++) {
        struct rlimit r = {cases[i].soft, cases[i].hard};
        if (setrlimit(RLIMIT_CPU, &r) != 0)
            _exit(2);
        tc_cpu_limit_warns();
        tc_cpu_limit_warns(); /* once is enough */
        if (getrlimit(RLIMIT_CPU, &r) != 0 || r.rlim_cur != cases[i].warned || r.rlim_max != cases[i].hard)
            _exit(1);
    }
}

static void the_signal_of_cpu_time_comes_first(void **state) {
    (void)state;
    assert_int_equal(in_child(warn_of_cpu), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(writes_beyond_the_limit_fail),
                                       cmocka_unit_test(the_signal_of_cpu_time_comes_first)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
