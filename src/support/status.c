/* Error values. Messages are composed in a local buffer first, so a message may quote the one it replaces. */
#include "support/status.h"

#include <stdio.h>
#include <string.h>

static const struct {
    bool unsupported, wants_constant;
} codes[] = {
#define CODE(id, unsupported, wants_constant) {unsupported, wants_constant},
#include "support/error_codes.def"
#undef CODE
};

bool tc_error_unsupported(const tc_error *err) {
    return codes[err->code].unsupported;
}

bool tc_error_wants_constant(const tc_error *err) {
    return codes[err->code].wants_constant;
}

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
    err->code = TC_ERROR_PLAIN;
    return status;
}

tc_status tc_fail(tc_error *err, tc_status status, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    tc_vfail(err, status, fmt, ap);
    va_end(ap);
    return status;
}

tc_status tc_vrefuse(tc_error *err, tc_error_code code, const char *fmt, va_list ap) {
    tc_vfail(err, TC_BAD_INPUT, fmt, ap);
    if (err)
        err->code = code;
    return TC_BAD_INPUT;
}

tc_status tc_refuse(tc_error *err, tc_error_code code, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    tc_vrefuse(err, code, fmt, ap);
    va_end(ap);
    return TC_BAD_INPUT;
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
