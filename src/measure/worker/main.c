/* tctune-worker: the worker process of programs that use libtctune, which finds it in the folder tctune beside itself. It answers
 * on the descriptor that it is started with, and is of no use otherwise. */
#include <stdio.h>
#include <sys/socket.h>

#include "measure/worker/worker.h"
#include "support/say.h"

int main(void) {
    int type;
    socklen_t size = sizeof type;
    if (getsockopt(TC_MEAS_WORKER_FD, SOL_SOCKET, SO_TYPE, &type, &size) == 0)
        return tc_meas_worker_main(TC_MEAS_WORKER_FD, TC_MEAS_WORKER_FD);
    tc_say(stderr, "tctune-worker measures kernels for programs that use libtctune %s; these programs start it themselves\n",
           TCTUNE_VERSION);
    return 2;
}
