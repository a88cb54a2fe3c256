/* An arena for each test, and the check that no process of the test's outlives it. */
#ifndef TC_TESTS_MEASURE_ARENA_H
#define TC_TESTS_MEASURE_ARENA_H

#include <errno.h>
#include <sys/wait.h>

#include "support/arena.h"

static tc_arena *arena;

static int setup(void **state) {
    (void)state;
    arena = tc_arena_new();
    return 0;
}

static int teardown(void **state) {
    (void)state;
    tc_arena_free(arena);
    return waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD ? 0 : -1;
}

#endif
