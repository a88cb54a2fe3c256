/* A worker for tests: the real one behind a go-between that makes one candidate fail in some of its runs and not in others, and
 * can pretend that others use the machine. */
#ifndef TC_TESTS_TUNE_FLAKY_WORKER_H
#define TC_TESTS_TUNE_FLAKY_WORKER_H

/* The kernel that it knows how to spoil. */
extern const char flaky_kernel[];

/* What the environment says: */
#define FLAKY_FAULT "TCTUNE_FLAKY_FAULT" /* wrong, short, crash, hang, or build: its builder dies */
#define FLAKY_FROM "TCTUNE_FLAKY_FROM"   /* the victim's first run that fails, counted from 1; then every other one */
#define FLAKY_LOAD "TCTUNE_FLAKY_LOAD"   /* times as long as at first that the reference work takes; unset: 1 */
#define FLAKY_STATE "TCTUNE_FLAKY_STATE" /* the victim's workload and trace; PATH.runs has a byte for each of its runs */

int flaky_worker_main(void);

#endif
