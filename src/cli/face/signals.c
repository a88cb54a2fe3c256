/* Signals. The stop flag is the only mutable global state of the command, since a signal handler can reach nothing else. */
#include <signal.h>

#include "cli/face/face.h"
#include "support/system/stop.h"

static volatile sig_atomic_t stop_signal;

static void on_stop(int number) {
    tc_raise_to(&stop_signal, number);
}

volatile sig_atomic_t *tc_cli_stop_flag(void) {
    return &stop_signal;
}

void tc_cli_catch_signals(void) {
    struct sigaction act = {.sa_handler = on_stop, .sa_flags = (int)SA_RESETHAND | SA_RESTART};
    sigemptyset(&act.sa_mask);
    sigaction(SIGINT, &act, NULL);
    sigaction(SIGTERM, &act, NULL);
    sigaction(SIGXCPU, &act, NULL);
}
