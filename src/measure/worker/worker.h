/* The worker process: what `tctune worker` runs. It answers requests (protocol.h) until the other side closes. It never returns
 * to the search anything but bytes; whatever a candidate breaks, it breaks here. */
#ifndef TC_MEASURE_WORKER_WORKER_H
#define TC_MEASURE_WORKER_WORKER_H

enum { TC_MEAS_WORKER_FD = 3 }; /* both directions, when started by tc_meas_proc */

/* Exit status of the process: 0 when the tuner closed the connection. */
int tc_meas_worker_main(int fd_in, int fd_out);

#endif
