/* Tunes a network, and shows how the search goes: tune NETWORK.onnx DATABASE TRIALS. Run again, it goes on; Ctrl-C ends it well. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <tctune/tctune.h>

static tctune_session *session;

static void on_signal(int number) {
    (void)number;
    tctune_session_stop(session);
}

static int show(void *user, const tctune_event *e) {
    (void)user;
    if (e->kind == TCTUNE_EVENT_ROUND_DONE)
        printf("%4d trials, %6.1f s: %8.1f us, last %s\n", e->report->trials, e->report->seconds, e->report->latency * 1e6,
               e->name);
    return 0; /* go on */
}

int main(int argc, char **argv) {
    char error[1024];
    if (argc != 4)
        return fprintf(stderr, "usage: tune NETWORK.onnx DATABASE TRIALS\n"), 2;
    tctune_work_options wo = {.struct_size = sizeof wo, .model = argv[1]};
    tctune_tune_options to = {
        .struct_size = sizeof to, .database = argv[2], .trials = atoi(argv[3]), .threads = 1, .progress = show};
    tctune_work *work = NULL;
    tctune_status s = tctune_open(&wo, &work, error, sizeof error);
    if (s == TCTUNE_OK)
        s = tctune_session_new(work, &to, &session, error, sizeof error);
    if (s == TCTUNE_OK) {
        signal(SIGINT, on_signal);
        s = tctune_session_run(session, error, sizeof error);
        tctune_report r = {.struct_size = sizeof r};
        tctune_session_report(session, &r, NULL, 0);
        printf("latency %.1f us after %d trials\n", r.latency * 1e6, r.trials);
        for (int i = 0; i < r.tasks; i++) {
            tctune_task_state t = {.struct_size = sizeof t};
            if (tctune_session_task(session, i, &t, NULL, 0) == TCTUNE_OK)
                printf("%10.2f us  %gx  %s\n", t.best * 1e6, t.weight, t.name);
        }
    }
    if (s != TCTUNE_OK)
        fprintf(stderr, "%s\n", error);
    tctune_session_free(session);
    tctune_work_free(work);
    return s == TCTUNE_OK || s == TCTUNE_STOPPED ? 0 : 1;
}
