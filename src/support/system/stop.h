/* Stop flags. A thread or a signal handler raises the flag, and a search, a measurement or a build looks at it now and then.
 * Both use lock-free atomic operations on an int, which are safe in a handler (C17 7.14.1.1). The flag passes nothing else, so
 * relaxed order is enough. */
#ifndef TC_SUPPORT_SYSTEM_STOP_H
#define TC_SUPPORT_SYSTEM_STOP_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>

/* The value that the flag was raised to; 0: it is down, or `stop` is NULL. */
static inline int tc_raised_to(const volatile sig_atomic_t *stop) {
    return stop ? __atomic_load_n(stop, __ATOMIC_RELAXED) : 0;
}

static inline bool tc_is_raised(const volatile sig_atomic_t *stop) {
    return tc_raised_to(stop) != 0;
}

/* To a value that is not 0: a signal's number, or 1. A flag that is up keeps its value: who raised it first is the reason. */
static inline void tc_raise_to(volatile sig_atomic_t *stop, int value) {
    sig_atomic_t down = 0;
    __atomic_compare_exchange_n(stop, &down, value, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

#endif
