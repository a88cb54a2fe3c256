/* A worker that misbehaves on command. The command is a word in the workload (PREPARE) or the trace (BUILD, RUN). A test program
 * becomes it when its first argument is "fake". */
#ifndef TC_TESTS_MEASURE_FAKE_WORKER_H
#define TC_TESTS_MEASURE_FAKE_WORKER_H

/* In the environment: how much longer the reference work takes after some runs, as a share; unset: none. */
#define FAKE_LOAD "TCTUNE_FAKE_LOAD"

/* How many processes in all are killed while they start, and the file that counts them. */
#define FAKE_KILLS "TCTUNE_FAKE_KILLS"
#define FAKE_KILLED "TCTUNE_FAKE_KILLED"

int fake_worker_main(void);

#endif
