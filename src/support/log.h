/* Diagnostics, a line each. They go to standard error, or to a function that tc_log_use names. The library is silent until a
 * level is set, by the environment variable TCTUNE_LOG ("error", "warn", "info", "debug") or by the program: lines above it are
 * not written. */
#ifndef TC_SUPPORT_LOG_H
#define TC_SUPPORT_LOG_H

#include <stdbool.h>

#include "support/status.h"

typedef enum tc_log_level {
    TC_LOG_AS_ENVIRONMENT = -2, /* the level of TCTUNE_LOG, else silent */
    TC_LOG_SILENT = -1,
    TC_LOG_ERROR,
    TC_LOG_WARN,
    TC_LOG_INFO,
    TC_LOG_DEBUG
} tc_log_level;

void tc_log(tc_log_level level, const char *fmt, ...) TC_PRINTF(2, 3);
void tc_log_set_level(tc_log_level level);

/* Takes a line without prefix and newline, in the thread that logs. Calls come one at a time. Lines that the function itself logs
 * are dropped. */
typedef void tc_log_taker(void *user, tc_log_level level, const char *line);
/* Sends lines up to `level` to `taker`; NULL: to standard error. Once it returns, the previous taker is not called any more, and
 * *before is that taker's `user`. Any thread may call it but a taker: then it returns false, and nothing has changed. */
TC_NODISCARD bool tc_log_use(tc_log_taker *taker, void *user, tc_log_level level, void **before);

/* Monotonic seconds. For budgets and progress; the search space never calls it. */
double tc_now(void);

#endif
