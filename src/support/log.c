/* Diagnostics. The level is process-wide; it starts from the environment. */
#include "support/log.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const char *const LEVEL_NAMES[] = {
    [TC_LOG_ERROR] = "error", [TC_LOG_WARN] = "warn", [TC_LOG_INFO] = "info", [TC_LOG_DEBUG] = "debug"};
enum { NLEVELS = sizeof LEVEL_NAMES / sizeof LEVEL_NAMES[0], SILENT = -1, UNSET = -2 };

static atomic_int current_level = UNSET;

static int level_from_environment(void) {
    const char *text = getenv("TCTUNE_LOG");
    for (int i = 0; text && i < NLEVELS; i++)
        if (strcmp(text, LEVEL_NAMES[i]) == 0)
            return i;
    return SILENT;
}

void tc_log_set_level(tc_log_level level) {
    atomic_store(&current_level, (int)level);
}

/* One write per line: lines of several processes on one terminal do not mix. */
void tc_log(tc_log_level level, const char *fmt, ...) {
    int limit = atomic_load(&current_level);
    if (limit == UNSET)
        atomic_store(&current_level, limit = level_from_environment());
    if ((int)level > limit)
        return;
    char line[2048];
    int used = snprintf(line, sizeof line, "tctune: %s: ", LEVEL_NAMES[level]);
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(line + used, sizeof line - (size_t)used - 1, fmt, ap);
    va_end(ap);
    size_t len = n < 0 ? (size_t)used : strlen(line);
    line[len++] = '\n';
    ssize_t ignored = write(STDERR_FILENO, line, len);
    (void)ignored;
}

double tc_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}
