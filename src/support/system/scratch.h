/* A folder for temporary files. It is removed when it is closed, and when the process ends in any way. And files without a name. */
#ifndef TC_SUPPORT_SYSTEM_SCRATCH_H
#define TC_SUPPORT_SYSTEM_SCRATCH_H

#include "support/status.h"

typedef struct tc_scratch tc_scratch;

/* In $TMPDIR, else /tmp. The path begins with '/' or './', so that no program takes it for an option. TC_ENV when it cannot be
 * made. */
TC_NODISCARD tc_status tc_scratch_open(tc_scratch **out, tc_error *err);
const char *tc_scratch_path(const tc_scratch *s);
/* A descriptor that a program inherits if it may still write into the folder when this process has ended: the folder goes after it.
 * -1: there is none. */
int tc_scratch_watched(const tc_scratch *s);
void tc_scratch_close(tc_scratch *s); /* NULL is fine */

/* An empty file without a name, to read and to write: in memory, or in $TMPDIR, else /tmp, where the system has no such files.
 * `what` names it for those who look at this process. -1 with errno: it cannot be made. */
int tc_scratch_file(const char *what);

#endif
