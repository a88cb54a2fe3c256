/* src/measure/worker owns the worker process: it builds candidates, runs them on data of its own, times them, and
 * checks what they computed. Not here: its sandbox (src/measure/sandbox) and its limits (src/measure/process).
 *
 * `tctune worker` runs it. It answers requests (protocol.h) until the other side closes. It returns nothing but bytes
 * to the search: whatever a candidate breaks, it breaks here. */
#ifndef TC_MEASURE_WORKER_WORKER_H
#define TC_MEASURE_WORKER_WORKER_H

enum { TC_MEAS_WORKER_FD = 3 }; /* both directions, when started by tc_meas_proc */

/* Exit status of the process: 0 when the tuner closed the connection. */
int tc_meas_worker_main(int fd_in, int fd_out);

#endif
