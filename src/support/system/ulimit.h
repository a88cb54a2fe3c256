/* Limits of a process that end it by a signal: the size of files (ulimit -f, SIGXFSZ) and CPU time (ulimit -t, SIGXCPU). */
#ifndef TC_SUPPORT_SYSTEM_ULIMIT_H
#define TC_SUPPORT_SYSTEM_ULIMIT_H

/* Between these two calls the thread blocks SIGXFSZ, for a program that does not ignore it: a write beyond the limit fails with
 * EFBIG, which a message tells. Pairs may lie within each other. Threads that are started in between block the signal too. */
void tc_writes_begin(void);
void tc_writes_end(void);

/* SIGXCPU comes a second before the system kills the process. `ulimit -t N` sets both to the same second, so that it never comes.
 * With N = 1 it stays so. Async-signal-safe. */
void tc_cpu_limit_warns(void);

#endif
