/* Status codes and error values. Four kinds of failure, never mixed: an illegal schedule (normal in a search), bad input,
 * the environment, and a bug (an assertion, never a status). */
#ifndef TC_SUPPORT_STATUS_H
#define TC_SUPPORT_STATUS_H

#include <stdarg.h>
#include <stdbool.h>

#include "support/alloc.h"

#define TC_NODISCARD __attribute__((warn_unused_result))
#define TC_PRINTF(f, a) __attribute__((format(printf, f, a)))

typedef enum tc_status {
    TC_OK = 0,
    TC_ILLEGAL,   /* a schedule step whose precondition fails; a cheap answer, part of every search */
    TC_BAD_INPUT, /* what the user gave is wrong: the message names file, place and remedy */
    TC_ENV        /* disk, process, compiler, clock, memory limit */
} tc_status;

/* Why a call failed, for code that reacts to it. Code never looks at the words of a message. */
typedef enum tc_error_code {
#define CODE(id, unsupported, wants_constant) TC_ERROR_##id,
#include "support/error_codes.def"
#undef CODE
} tc_error_code;

/* The message of a failure. Callers own it (usually on the stack); every function taking `tc_error *err` accepts NULL. */
typedef struct tc_error {
    tc_status status;
    tc_error_code code;
    char msg[1536];
} tc_error;

/* What error_codes.def says of the error's code. */
bool tc_error_unsupported(const tc_error *err);
bool tc_error_wants_constant(const tc_error *err);

/* Sets err (if not NULL) to status and the formatted message, with code PLAIN; returns status, so `return tc_fail(err, TC_ENV,
 * ...)` reads well. */
tc_status tc_fail(tc_error *err, tc_status status, const char *fmt, ...) TC_PRINTF(3, 4);
tc_status tc_vfail(tc_error *err, tc_status status, const char *fmt, va_list ap);
/* The same with TC_BAD_INPUT and a code. */
tc_status tc_refuse(tc_error *err, tc_error_code code, const char *fmt, ...) TC_PRINTF(3, 4);
tc_status tc_vrefuse(tc_error *err, tc_error_code code, const char *fmt, va_list ap);

/* The failure s, which err tells, is that an input is beyond a bound (inputs.def): its code becomes BEYOND. Returns s. */
static inline tc_status tc_beyond(tc_error *err, tc_status s) {
    if (err)
        err->code = TC_ERROR_BEYOND;
    return s;
}

/* Puts a formatted prefix before the message already in err ("bert.onnx: node 'x': " + ...). Keeps status and code. */
void tc_error_prefix(tc_error *err, const char *fmt, ...) TC_PRINTF(2, 3);

/* Returns early from a function that itself returns tc_status. After memory ran out, `call` is not made: the function returns as if
 * `call` had failed before it did anything. The message is written when the call of the library ends (tc_memory_end). */
#define TC_TRY(call)                                                                                                             \
    do {                                                                                                                         \
        if (tc_ran_out())                                                                                                        \
            return TC_ENV;                                                                                                       \
        tc_status tc_try_s_ = (call);                                                                                            \
        if (tc_try_s_ != TC_OK)                                                                                                  \
            return tc_try_s_;                                                                                                    \
    } while (0)

#endif
