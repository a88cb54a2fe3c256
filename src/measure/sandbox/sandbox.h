/* src/measure/sandbox owns what a worker process may still do: its environment, limits on resources, Landlock, the
 * filter of system calls. Not here: starting and watching the process (src/measure/process).
 *
 * A worker compiles traces or runs the code that came of them, and either may be hostile. Before it reads its first
 * request it gives up other processes, the network, and all files but those of one folder. Four layers, each of use
 * where the next is missing: an environment of few names, limits on resources, Landlock (files, abstract sockets,
 * signals) and a filter of system calls. The process cannot take any of this back.
 *
 * Left to it: memory within its limit, threads, the clock, its own signals, and the descriptors that it was started
 * with or opened before. Among these are counters of itself, which it can only read. */
#ifndef TC_MEASURE_SANDBOX_SANDBOX_H
#define TC_MEASURE_SANDBOX_SANDBOX_H

#include <stdbool.h>
#include <stdint.h>

#include "support/strbuf.h"

/* ---- by the process that starts a worker ---- */

/* The names that a worker has a use for, as they are here, with `own` ("NAME=value", NULL-terminated, may be NULL) put over them
 * and added. malloc'ed, as is nothing that it points to. */
char **tc_sandbox_environment(const char *const *own);
/* Whether this process's environment asks that OpenMP binds threads to processors. */
bool tc_sandbox_binds_threads(void);
/* Between fork and exec, with system calls alone: limits (`memory`: bytes of heap, anonymous mappings and stacks; 0: none, and
 * none in sanitized builds, whose shadow is larger than any), no new privileges, and the kernel's attention when memory runs out.
 * Bounded by what is here already, it never fails. */
void tc_sandbox_limit(uint64_t memory);

/* ---- by the worker ---- */

typedef struct tc_sandbox {
    const char *folder; /* whose files it may read, write, make and remove; NULL: it has no files */
    int threads;        /* that it will have */
} tc_sandbox;

/* Closes the sandbox around the calling thread and those that it will start: to be called before there are others. What the
 * kernel lacks, or does not let us use, is appended to `lacks`, a sentence each; the rest is done. */
void tc_sandbox_enter(const tc_sandbox *s, tc_strbuf *lacks);

#endif
