/* See ulimit.h. */
#include "support/system/ulimit.h"

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/resource.h>
#include <time.h>

/* Of this thread: how many pairs are open, and whether the first of them blocked the signal. */
static _Thread_local int depth;
static _Thread_local bool blocks;

static sigset_t file_size(void) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGXFSZ);
    return set;
}

void tc_writes_begin(void) {
    sigset_t set = file_size(), before;
    if (depth++ == 0)
        blocks = pthread_sigmask(SIG_BLOCK, &set, &before) == 0 && !sigismember(&before, SIGXFSZ);
}

/* The signal of a write that failed is taken away before it can be delivered. */
void tc_writes_end(void) {
    sigset_t set = file_size();
    if (--depth > 0 || !blocks)
        return;
    while (sigtimedwait(&set, NULL, &(struct timespec){0}) == SIGXFSZ)
        ;
    pthread_sigmask(SIG_UNBLOCK, &set, NULL);
}

void tc_cpu_limit_warns(void) {
    struct rlimit r;
    if (getrlimit(RLIMIT_CPU, &r) != 0 || r.rlim_max == RLIM_INFINITY || r.rlim_cur < r.rlim_max || r.rlim_max < 2)
        return;
    r.rlim_cur = r.rlim_max - 1;
    setrlimit(RLIMIT_CPU, &r);
}
