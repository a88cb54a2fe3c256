/* Memory whose size comes from outside: of a model, a file, a caller's shapes. What could never be had is refused before it is
 * asked for, since the system often promises more than it has and ends the process when that is used. */
#ifndef TC_SUPPORT_MEMORY_H
#define TC_SUPPORT_MEMORY_H

#include <stdint.h>

#include "support/status.h"

/* Bytes that all processes of this machine, or of the control groups that this one is in, can have together. */
uint64_t tc_memory_all(void);
/* Bytes that this process could still use: what the system has available and could swap out, at most what its control groups
 * allow. INT64_MAX where nothing tells. */
int64_t tc_memory_left(void);
/* What control groups allow: `groups` is what /proc/PID/cgroup says, `root` where they are mounted. INT64_MAX: all there is. */
int64_t tc_memory_of_groups(const char *groups, const char *root);
/* TC_ENV unless that many bytes could be had now; the message says how many are needed and how many are left. Nothing is
 * allocated. Small sizes are not looked at: their allocation tells. */
TC_NODISCARD tc_status tc_memory_check(uint64_t bytes, tc_error *err);
/* The same message, for an allocation that failed. */
tc_status tc_memory_lacking(uint64_t bytes, tc_error *err);

#endif
