/* Status codes and error values. Four kinds of failure, never mixed: an illegal schedule (normal in a search), bad input,
 * the environment, and a bug (an assertion, never a status). */
#ifndef TC_SUPPORT_STATUS_H
#define TC_SUPPORT_STATUS_H

#include <stdarg.h>

#define TC_NODISCARD __attribute__((warn_unused_result))
#define TC_PRINTF(f, a) __attribute__((format(printf, f, a)))

typedef enum tc_status {
    TC_OK = 0,
    TC_ILLEGAL,   /* a schedule step whose precondition fails; a cheap answer, part of every search */
    TC_BAD_INPUT, /* what the user gave is wrong: the message names file, place and remedy */
    TC_ENV        /* disk, process, compiler, clock, memory limit */
} tc_status;

/* The message of a failure. Callers own it (usually on the stack); every function taking `tc_error *err` accepts NULL. */
typedef struct tc_error {
    tc_status status;
    char msg[1536];
} tc_error;

/* Sets err (if not NULL) to status and the formatted message; returns status, so `return tc_fail(err, TC_ENV, ...)` reads well.
 */
tc_status tc_fail(tc_error *err, tc_status status, const char *fmt, ...) TC_PRINTF(3, 4);
tc_status tc_vfail(tc_error *err, tc_status status, const char *fmt, va_list ap);

/* Puts a formatted prefix before the message already in err ("bert.onnx: node 'x': " + ...). Keeps the status. */
void tc_error_prefix(tc_error *err, const char *fmt, ...) TC_PRINTF(2, 3);

/* Returns early from a function that itself returns tc_status. */
#define TC_TRY(call)                                                                                                             \
    do {                                                                                                                         \
        tc_status tc_try_s_ = (call);                                                                                            \
        if (tc_try_s_ != TC_OK)                                                                                                  \
            return tc_try_s_;                                                                                                    \
    } while (0)

#endif
