/* src/command owns the program `tctune`: main(), which runs the command or, when tctune is started as a worker, a worker process.
 * Not here: anything else. */
#include <string.h>
#include <sys/socket.h>

#include "cli/commands.h"
#include "measure/worker/worker.h"

/* Else `tctune worker` is a command. */
static int started_as_worker(int argc, char **argv) {
    int type;
    socklen_t size = sizeof type;
    return argc == 2 && strcmp(argv[1], "worker") == 0 && getsockopt(TC_MEAS_WORKER_FD, SOL_SOCKET, SO_TYPE, &type, &size) == 0;
}

int main(int argc, char **argv) {
    if (started_as_worker(argc, argv))
        return tc_meas_worker_main(TC_MEAS_WORKER_FD, TC_MEAS_WORKER_FD);
    return tc_cli_main(argc, argv);
}
