/* See child.h. Where the program ignores SIGCHLD, a process between the two waits for the child: it treats the signal as usual. It
 * runs no other program, because the system would drop its own end too; it leaves the status in memory that both share. */
#include "support/system/child.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/vec.h"

bool tc_child_wait(pid_t pid, int *status) {
    pid_t got;
    do
        got = waitpid(pid, status, 0);
    while (got < 0 && errno == EINTR);
    if (got != pid)
        *status = 0;
    return got == pid;
}

static bool ignores_children(void) {
    struct sigaction a;
    return sigaction(SIGCHLD, NULL, &a) == 0 && (a.sa_handler == SIG_IGN || (a.sa_flags & SA_NOCLDWAIT));
}

static int run(char *const *argv, char *const *env, const posix_spawn_file_actions_t *files, int *status) {
    pid_t pid;
    int error = posix_spawnp(&pid, argv[0], files, NULL, argv, env);
    return error ? error : tc_child_wait(pid, status) ? 0 : ECHILD;
}

typedef struct outcome {
    int error, status;
} outcome;

static int run_between(char *const *argv, char *const *env, const posix_spawn_file_actions_t *files, int *status) {
    outcome *o = mmap(NULL, sizeof *o, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (o == MAP_FAILED)
        return errno;
    o->error = ECHILD;
    pid_t between = fork();
    if (between == 0) {
        signal(SIGCHLD, SIG_DFL);
        o->error = run(argv, env, files, &o->status);
        _exit(0);
    }
    int error = between < 0 ? errno : 0, ignored;
    if (between > 0) {
        (void)tc_child_wait(between, &ignored);
        error = o->error;
        *status = o->status;
    }
    munmap(o, sizeof *o);
    return error;
}

int tc_child_run(char *const *argv, char *const *env, const posix_spawn_file_actions_t *files, int *status) {
    return ignores_children() ? run_between(argv, env, files, status) : run(argv, env, files, status);
}

const char *tc_child_remedy(int error) {
    static const struct {
        int error;
        const char *text;
    } known[] = {
        {EMFILE, ". Raise the limit of open files (ulimit -n)"},
        {ENFILE, ". Close other programs: the whole system may have no more open files"},
        {EAGAIN, ". Close other programs, or raise the limit of processes (ulimit -u, or the pids limit of a container)"},
        {ENOMEM, ". Close other programs, or raise the limit of memory (ulimit -v, or that of a container)"},
    };
    for (size_t i = 0; i < TC_LEN(known); i++)
        if (known[i].error == error)
            return known[i].text;
    return "";
}
