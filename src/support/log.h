/* Diagnostics on stderr, off by default. Levels: error, warn, info, debug; set from TCTUNE_LOG or by the command line. */
#ifndef TC_SUPPORT_LOG_H
#define TC_SUPPORT_LOG_H

#include "support/status.h"

typedef enum tc_log_level { TC_LOG_ERROR, TC_LOG_WARN, TC_LOG_INFO, TC_LOG_DEBUG } tc_log_level;

void tc_log(tc_log_level level, const char *fmt, ...) TC_PRINTF(2, 3);
void tc_log_set_level(tc_log_level level);

/* Monotonic seconds. For budgets and progress; the search space never calls it. */
double tc_now(void);

#endif
