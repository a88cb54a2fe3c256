/* Error values. Messages are composed in a local buffer first, so a message may quote the one it replaces. */
#include "support/status.h"

#include <string.h>

#include "support/say.h"

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

/* Marks a message that did not fit, so that nobody takes a cut-off path for a whole one. The message stays UTF-8. */
static void mark_truncated(char *msg, size_t cap, int wanted) {
    size_t at = strlen(msg);
    if ((size_t)wanted < cap)
        return;
    if (at > cap - 4)
        at = cap - 4;
    while (at > 0 && ((unsigned char)msg[at] & 0xC0) == 0x80)
        at--;
    memcpy(msg + at, "...", 4);
}

tc_status tc_vfail(tc_error *err, tc_status status, const char *fmt, va_list ap) {
    if (!err)
        return status;
    char msg[sizeof err->msg];
    int n = tc_vsay_message(msg, sizeof msg, fmt, ap);
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
    int n = tc_vsay_message(msg, sizeof msg, fmt, ap);
    va_end(ap);
    mark_truncated(msg, sizeof msg, n);
    size_t used = strlen(msg);
    n = tc_say_to(msg + used, sizeof msg - used, "%s", err->msg);
    mark_truncated(msg, sizeof msg, (int)used + n);
    memcpy(err->msg, msg, strlen(msg) + 1);
}
