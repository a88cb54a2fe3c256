/* Error values. Messages are composed in a local buffer first, so a message may quote the one it replaces. */
#include "support/status.h"

#include <stdio.h>
#include <string.h>

/* Marks a message that did not fit, so that nobody takes a cut-off path for a whole one. */
static void mark_truncated(char *msg, size_t cap, int wanted) {
    if (wanted >= 0 && (size_t)wanted >= cap)
        memcpy(msg + cap - 4, "...", 4);
}

tc_status tc_vfail(tc_error *err, tc_status status, const char *fmt, va_list ap) {
    if (!err)
        return status;
    char msg[sizeof err->msg];
    int n = vsnprintf(msg, sizeof msg, fmt, ap);
    mark_truncated(msg, sizeof msg, n);
    memcpy(err->msg, msg, strlen(msg) + 1);
    err->status = status;
    return status;
}

tc_status tc_fail(tc_error *err, tc_status status, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    tc_vfail(err, status, fmt, ap);
    va_end(ap);
    return status;
}

void tc_error_prefix(tc_error *err, const char *fmt, ...) {
    if (!err)
        return;
    char msg[sizeof err->msg];
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(msg, sizeof msg, fmt, ap);
    va_end(ap);
    mark_truncated(msg, sizeof msg, n);
    size_t used = strlen(msg);
    int rest = snprintf(msg + used, sizeof msg - used, "%s", err->msg);
    mark_truncated(msg, sizeof msg, (int)used + rest);
    memcpy(err->msg, msg, strlen(msg) + 1);
}
