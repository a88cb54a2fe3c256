/* Memory whose size comes from outside: from a model, a file, a caller's shapes. A size that could never be had is refused
 * before it is asked for, because the system often promises more than it has and ends the process when that is used. Also the
 * calls that a shortage of memory ends (alloc.h). */
#ifndef TC_SUPPORT_SYSTEM_MEMORY_H
#define TC_SUPPORT_SYSTEM_MEMORY_H

#include <stdint.h>

#include "support/status.h"

/* Bytes that all processes of this machine, or of the control groups that this one is in, can have together. */
uint64_t tc_memory_all(void);
/* Bytes that this process could still use: what the system has available and could swap out, at most what its control groups
 * allow. INT64_MAX where nothing tells. */
int64_t tc_memory_left(void);
/* TC_ENV with code MEMORY unless that many bytes could be had now; the message says how many are needed and how many are left. They are given back
 * before it returns. Small sizes are not looked at: the reserve has them. */
TC_NODISCARD tc_status tc_memory_check(uint64_t bytes, tc_error *err);
/* The smaller of `wish` and a quarter of what is left: for buffers that measure the machine, and serve smaller, too. */
int64_t tc_memory_share(int64_t wish);
/* The same message, with code MEMORY, for an allocation that failed. */
tc_status tc_memory_lacking(uint64_t bytes, tc_error *err);

/* A call of the library, from outside; calls may run at once, and lie within another. TC_ENV where memory ran out in one that is
 * under way, or the reserve cannot be had; then it has not begun. */
TC_NODISCARD tc_status tc_memory_begin(tc_error *err);
/* Its end, with what it returns: `s`, or TC_ENV with a message of its own when memory ran out meanwhile: what the call made is
 * then to be released, whatever s says. */
TC_NODISCARD tc_status tc_memory_end(tc_status s, tc_error *err);
/* The message of such a shortage, for whoever was about to make a result last. */
tc_status tc_memory_ran_out(tc_error *err);

#endif
