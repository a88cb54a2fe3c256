/* The environment of a worker: variables that the loader, the OpenMP runtimes, sanitizers and tctune itself read, and no
 * others. Environments hold keys and addresses that no kernel should see. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "measure/sandbox/sandbox.h"
#include "support/vec.h"

/* Beginnings of names. Wherever threads are bound or how long they spin is part of what is measured; an emulator is told where
 * libraries are. */
static const char *const KEPT[] = {"LD_LIBRARY_PATH=", "OMP_",          "GOMP_",         "KMP_",           "TCTUNE_",
                                   "ASAN_OPTIONS=",    "LSAN_OPTIONS=", "TSAN_OPTIONS=", "UBSAN_OPTIONS=", "QEMU_LD_PREFIX="};

/* What asks a process to write files: a worker can write none. */
static const char *const LEFT_OUT[] = {"TCTUNE_PERF=", "TCTUNE_PROFILE="};

static bool begins_as_one_of(const char *entry, const char *const *names, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (strncmp(entry, names[i], strlen(names[i])) == 0)
            return true;
    return false;
}

static bool is_kept(const char *entry) {
    return begins_as_one_of(entry, KEPT, TC_LEN(KEPT)) && !begins_as_one_of(entry, LEFT_OUT, TC_LEN(LEFT_OUT));
}

static bool is_overridden(const char *entry, const char *const *own) {
    size_t name = strcspn(entry, "=") + 1;
    for (; own && *own; own++)
        if (strncmp(entry, *own, name) == 0)
            return true;
    return false;
}

bool tc_sandbox_binds_threads(void) {
    static const char *const by[] = {"OMP_PROC_BIND", "OMP_PLACES", "GOMP_CPU_AFFINITY", "KMP_AFFINITY"};
    for (size_t i = 0; i < TC_LEN(by); i++) {
        const char *value = getenv(by[i]);
        if (value && strcmp(value, "disabled") != 0)
            return true;
    }
    return false;
}

/* LLVM's OpenMP sets the threads' affinity, to all processors, also where nobody asked for it, and ends where it may not. */
static char UNBOUND[] = "KMP_AFFINITY=disabled";

char **tc_sandbox_environment(const char *const *own) {
    TC_VEC(char *) v = {0};
    if (!tc_sandbox_binds_threads() && !getenv("KMP_AFFINITY"))
        tc_push(&v, UNBOUND);
    for (char **e = environ; *e; e++)
        if (is_kept(*e) && !is_overridden(*e, own))
            tc_push(&v, *e);
    for (; own && *own; own++)
        tc_push(&v, (char *)(uintptr_t)*own);
    tc_push(&v, NULL);
    return v.data;
}
