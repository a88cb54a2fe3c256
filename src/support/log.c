/* What log.h describes. Level and taker are the process's; the level starts from the environment. */
#include "support/log.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "support/say.h"

static const char *const LEVEL_NAMES[] = {
    [TC_LOG_ERROR] = "error", [TC_LOG_WARN] = "warn", [TC_LOG_INFO] = "info", [TC_LOG_DEBUG] = "debug"};
enum { NLEVELS = sizeof LEVEL_NAMES / sizeof LEVEL_NAMES[0] };

static atomic_int current_level = TC_LOG_AS_ENVIRONMENT;

static int level_from_environment(void) {
    const char *text = getenv("TCTUNE_LOG");
    for (int i = 0; text && i < NLEVELS; i++)
        if (strcmp(text, LEVEL_NAMES[i]) == 0)
            return i;
    return TC_LOG_SILENT;
}

void tc_log_set_level(tc_log_level level) {
    atomic_store(&current_level, (int)level);
}

/* ---- who takes the lines ---- */

static struct {
    atomic_bool there;    /* false: lines go to standard error, without the lock */
    pthread_mutex_t lock; /* held while the function is called */
    tc_log_taker *function;
    void *user;
} taker = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* This thread is in the function, and has the lock. Aligned as the section behind it: else LLD 14 may begin the memory that is made
 * read-only with a page that is not there, by the size of the code, and the program does not start. */
static _Thread_local _Alignas(16) bool in_taker;

static void lock_taker(void) {
    if (!in_taker)
        pthread_mutex_lock(&taker.lock);
}

static void unlock_taker(void) {
    if (!in_taker)
        pthread_mutex_unlock(&taker.lock);
}

/* A child whose parent was in the function when it forked could never take the lock. */
static void hold_over_forks(void) {
    pthread_atfork(lock_taker, unlock_taker, unlock_taker);
}

bool tc_log_use(tc_log_taker *function, void *user, tc_log_level level, void **before) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    if (in_taker)
        return false;
    pthread_once(&once, hold_over_forks);
    lock_taker();
    *before = taker.user;
    taker.function = function;
    taker.user = user;
    atomic_store(&taker.there, function != NULL);
    tc_log_set_level(level);
    unlock_taker();
    return true;
}

/* One write per line: lines of several processes on one terminal do not mix. */
static void print(tc_log_level level, const char *line) {
    char text[2048];
    tc_say_to(text, sizeof text - 1, "tctune: %s: %s", LEVEL_NAMES[level], line); /* cut off, it is still one line */
    size_t len = strlen(text);
    text[len++] = '\n';
    ssize_t ignored = write(STDERR_FILENO, text, len);
    (void)ignored;
}

static void tell(tc_log_level level, const char *line) {
    if (!atomic_load(&taker.there)) {
        print(level, line);
        return;
    }
    if (in_taker)
        return;
    lock_taker();
    tc_log_taker *function = taker.function;
    in_taker = true;
    if (function)
        function(taker.user, level, line);
    in_taker = false;
    unlock_taker();
    if (!function) /* it was taken away meanwhile */
        print(level, line);
}

void tc_log(tc_log_level level, const char *fmt, ...) {
    int limit = atomic_load(&current_level);
    if (limit == TC_LOG_AS_ENVIRONMENT)
        atomic_store(&current_level, limit = level_from_environment());
    if ((int)level > limit)
        return;
    char line[2048];
    va_list ap;
    va_start(ap, fmt);
    tc_vsay_to(line, sizeof line, fmt, ap);
    va_end(ap);
    tell(level, line);
}

double tc_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}
