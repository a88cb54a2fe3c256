/* The command with a worker that spoils one candidate (tests/tune/flaky_worker.h) where the environment asks for it: main.c is
 * compiled to call this instead of the real worker. */
#include <stdlib.h>

#include "measure/worker/worker.h"
#include "tune/flaky_worker.h"

int flaky_entry(int fd_in, int fd_out);

int flaky_entry(int fd_in, int fd_out) {
    return getenv(FLAKY_STATE) ? flaky_worker_main() : tc_meas_worker_main(fd_in, fd_out);
}
