/* Limits on the number of threads, and the trial that starts them. */
#include "support/system/threads.h"

#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "support/numbers.h"
#include "support/system/fs.h"
#include "support/system/groups.h"
#include "support/system/memory.h"
#include "support/vec.h"

int tc_threads_cores(void) {
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) > 0)
        return CPU_COUNT(&set);
    long n = sysconf(_SC_NPROCESSORS_ONLN);
    return n > 0 ? (int)n : 1;
}

/* ---- limits ---- */

enum {
    MAPPINGS = 2,            /* of each thread: its stack and the page that guards it */
    KERNEL_BYTES = 32 << 10, /* of each thread at least: 16 KiB of the kernel's stack, and the first pages of its own */
    /* GNU's runtime keeps 120 bytes for each thread that it starts, all on the stack of the thread that starts them. */
    STARTER_BYTES = 128,
    STARTER_PART = 4, /* a quarter of that stack is left for it */
    USUAL_STACK = 8 << 20
};

/* A number in a file of /proc; INT64_MAX: nothing tells. */
static int64_t number_in(const char *path) {
    char text[32], *end;
    size_t n = tc_fs_read_head(path, text, sizeof text - 1);
    text[n] = 0;
    int64_t v = strtoll(text, &end, 10);
    return end == text || v < 0 ? INT64_MAX : v;
}

static void lower(tc_threads_bound *b, int64_t most, const char *why, ...) TC_PRINTF(3, 4);
static void lower(tc_threads_bound *b, int64_t most, const char *why, ...) {
    va_list ap;
    if (most >= b->most)
        return;
    b->most = most;
    va_start(ap, why);
    tc_vsnprintf(b->why, sizeof b->why, why, ap);
    va_end(ap);
}

static void lower_to_file(tc_threads_bound *b, const char *path, const char *name, int64_t each) {
    int64_t is = number_in(path);
    lower(b, is / each, "%s is %lld", name, (long long)is);
}

/* Bytes of the calling thread's stack. */
static int64_t own_stack(void) {
    pthread_attr_t a;
    size_t bytes = USUAL_STACK;
    if (pthread_getattr_np(pthread_self(), &a) == 0) {
        (void)pthread_attr_getstacksize(&a, &bytes);
        pthread_attr_destroy(&a);
    }
    return (int64_t)TC_MIN(bytes, (size_t)INT64_MAX);
}

tc_threads_bound tc_threads_limit(void) {
    static const tc_groups_resource pids = {.controller = "pids", .limit = "pids.max", .limit_v1 = "pids.max"};
    tc_threads_bound b = {.most = INT32_MAX, .why = "a count of threads has 31 bits"};
    struct rlimit user;
    int64_t group = tc_groups_limit(&pids), left = tc_memory_left(), stack = own_stack();
    lower_to_file(&b, "/proc/sys/kernel/threads-max", "kernel.threads-max", 1);
    lower_to_file(&b, "/proc/sys/kernel/pid_max", "kernel.pid_max", 1);
    lower_to_file(&b, "/proc/sys/vm/max_map_count", "vm.max_map_count", MAPPINGS);
    lower(&b, group, "pids.max of its control group is %lld", (long long)group);
    if (geteuid() != 0 && getrlimit(RLIMIT_NPROC, &user) == 0 && user.rlim_cur < INT32_MAX)
        lower(&b, (int64_t)user.rlim_cur, "ulimit -u is %lld", (long long)user.rlim_cur);
    lower(&b, left / KERNEL_BYTES, "%lld MiB of memory are free", (long long)(left >> 20));
    lower(&b, stack / STARTER_PART / STARTER_BYTES, "the stack of the thread that starts them has %lld KiB",
          (long long)(stack >> 10));
    b.most = TC_MAX(b.most, 1);
    return b;
}

tc_status tc_threads_check(int n, tc_error *err) {
    tc_threads_bound b = tc_threads_limit();
    if (n <= b.most)
        return TC_OK;
    return tc_fail(
        err, TC_BAD_INPUT,
        "%d threads cannot be started: this process can have %lld at most (%s). Give fewer threads: this machine has %d core%s",
        n, (long long)b.most, b.why, tc_threads_cores(), tc_threads_cores() == 1 ? "" : "s");
}

/* ---- threads that are tried ---- */

typedef struct tried {
    pthread_mutex_t *gate; /* held until all are there */
    pthread_t thread;
    int id; /* the kernel's */
} tried;

static void *wait_at_gate(void *user) {
    tried *t = user;
    t->id = (int)syscall(SYS_gettid);
    pthread_mutex_lock(t->gate);
    pthread_mutex_unlock(t->gate);
    return NULL;
}

/* A thread that was joined may count for a limit still. */
static void await_end(int id) {
    enum { LOOKS = 10000 };
    for (int i = 0; i < LOOKS && syscall(SYS_tgkill, getpid(), id, 0) == 0; i++)
        sched_yield();
}

/* Starts n - 1 threads and ends them. Returns how many there were with the calling one; *why: the error number where that is less
 * than n. */
static int try_to_start(int n, int *why) {
    pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
    tried *t = tc_xcalloc((size_t)n, sizeof *t);
    sigset_t all, before;
    int started = 0;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before); /* signals are for the program's own threads */
    pthread_mutex_lock(&gate);
    for (*why = 0; started < n - 1; started++) {
        t[started].gate = &gate;
        if ((*why = pthread_create(&t[started].thread, NULL, wait_at_gate, &t[started])) != 0)
            break;
    }
    pthread_mutex_unlock(&gate);
    for (int i = 0; i < started; i++)
        pthread_join(t[i].thread, NULL);
    for (int i = 0; i < started; i++)
        await_end(t[i].id);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    free(t);
    return started + 1;
}

/* Of the calling thread: the largest team that could be started, and the smallest that could not. */
static _Thread_local int startable = 1, refused = INT_MAX;

static int try_team(int n, int *why) {
    int got = try_to_start(n, why);
    startable = TC_MAX(startable, got);
    refused = got < n ? n : INT_MAX;
    return got;
}

int tc_threads_startable(int n) {
    int why;
    if (n > startable && n < refused)
        (void)try_team(n, &why);
    return TC_MAX(TC_MIN(n, startable), 1);
}

int tc_threads_team(int n) {
    return tc_threads_startable(TC_MIN(n, tc_threads_cores()));
}

tc_status tc_threads_check_now(int n, tc_error *err) {
    int why, got;
    TC_TRY(tc_threads_check(n, err));
    if (n <= startable || (got = try_team(n, &why)) >= n)
        return TC_OK;
    return tc_fail(err, TC_ENV,
                   "%d threads cannot be started: after %d the system says: %s. Give fewer threads, or raise this program's "
                   "limit on processes or memory (ulimit -u, ulimit -v, the pids limit of a container)",
                   n, got, strerror(why));
}
