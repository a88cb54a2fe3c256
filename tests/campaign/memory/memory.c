/* Refuses memory to calls of the library, request by request: each one alone (once), and it with all that follow until the call has
 * ended (all). The call must say that it failed, or be right; nothing that lasts may be harmed; nothing may leak (under the
 * address sanitizer); and the same call must then succeed, in this process.
 *   memory_campaign [--points N] [--seed S] [--only NAME] [--at N once|all]
 * N requests of each call, spread evenly from a drawn first one; all where N is 0, which is the default. */
#include <execinfo.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "calls.h"
#include "measure/worker/worker.h"
#include "refuse.h"
#include "support/alloc.h"
#include "support/system/fs.h"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/lsan_interface.h>
#else
static int __lsan_do_recoverable_leak_check(void) {
    return 0;
}
#endif

typedef struct point {
    const call *c;
    long at, of;
    bool all;
} point;

static point now; /* for the last words */

static void say(const char *what, const char *why) {
    printf("FAILED: %s, request %ld of %ld, %s: %s%s\n", now.c->name, now.at, now.of, now.all ? "all" : "once", what, why);
    fflush(stdout);
}

static void last_words(int signal_number) {
    refuse_end();
    say("it ended by a signal: ", strsignal(signal_number));
    void *frames[32];
    backtrace_symbols_fd(frames, backtrace(frames, 32), STDOUT_FILENO);
    signal(signal_number, SIG_DFL);
    raise(signal_number);
}

/* The same call, with all memory it wants. */
static bool goes_on(const call *c) {
    tc_error err = {0};
    bool ok = c->prepare(&err) == TC_OK && c->run(&err) == TC_OK && c->right(&err) == TC_OK;
    if (!ok)
        say("the same call does not succeed afterwards: ", err.msg);
    return ok;
}

static bool try_point(size_t *most) {
    tc_error err = {0}, harm = {0};
    const call *c = now.c;
    if (c->prepare(&err) != TC_OK) {
        say("it cannot be prepared: ", err.msg);
        return false;
    }
    refuse_begin(now.at, now.all);
    tc_status s = c->run(&err);
    refuse_end();
    size_t used = tc_alloc_used();
    *most = used > *most ? used : *most;
    if (s != TC_OK && !err.msg[0])
        say("it says nothing", "");
    bool ok = s == TC_OK || err.msg[0];
    if ((s == TC_OK ? c->right(&harm) : c->unharmed(&harm)) != TC_OK) {
        say(s == TC_OK ? "it is not right: " : "it did harm: ", harm.msg);
        ok = false;
    }
    if (getenv("MEMORY_VERBOSE"))
        printf("%s %ld %s: %s (%zu of the reserve)\n", c->name, now.at, now.all ? "all" : "once", s == TC_OK ? "done" : err.msg,
               used);
    ok = goes_on(c) && ok;
    if (__lsan_do_recoverable_leak_check()) {
        say("it leaks", "");
        ok = false;
    }
    return ok;
}

/* Each of its requests in steps; how many failed. */
static int try_call(const call *c, long points, long seed, long *cases) {
    tc_error err = {0};
    int bad = 0;
    size_t most = 0;
    now = (point){c, 0, 0, false};
    if (!goes_on(c)) /* it makes what it makes once */
        return 1;
    c->prepare(&err);
    refuse_begin(0, false);
    tc_status s = c->run(&err);
    now.of = refuse_end();
    if (s != TC_OK || c->right(&err) != TC_OK) {
        say("it fails although nothing is refused: ", err.msg);
        return 1;
    }
    long step = points && now.of > points ? now.of / points : 1, before = *cases;
    for (int all = 0; all < 2; all++)
        for (now.all = all, now.at = (seed + all) % step + 1; now.at <= now.of; now.at += step) {
            bad += !try_point(&most);
            ++*cases;
        }
    printf("%s: %ld requests, %ld refused, %d bad; at most %zu KiB of the reserve\n", c->name, now.of, *cases - before, bad,
           most >> 10);
    fflush(stdout);
    return bad;
}

static int campaign(long points, long seed, const char *only, long at, bool all) {
    int bad = 0;
    long cases = 0;
    size_t most = 0;
    for (int i = 0; i < ncalls; i++) {
        if (only && strcmp(only, calls[i].name))
            continue;
        now = (point){&calls[i], at, at, all};
        if (!at)
            bad += try_call(&calls[i], points, seed, &cases);
        else
            bad += !goes_on(&calls[i]) || !try_point(&most);
    }
    printf("%ld requests refused (seed %ld), %d bad\n", cases, seed, bad);
    return bad != 0;
}

int main(int argc, char **argv) {
    if (argc > 1 && strcmp(argv[1], "worker") == 0)
        return tc_meas_worker_main(TC_MEAS_WORKER_FD, TC_MEAS_WORKER_FD);
    long points = 0, seed = 1, at = 0;
    const char *only = NULL;
    bool all = false;
    for (int i = 1; i + 1 < argc; i += 2) {
        if (strcmp(argv[i], "--points") == 0)
            points = atol(argv[i + 1]);
        else if (strcmp(argv[i], "--seed") == 0)
            seed = atol(argv[i + 1]);
        else if (strcmp(argv[i], "--only") == 0)
            only = argv[i + 1];
        else if (strcmp(argv[i], "--at") == 0)
            at = atol(argv[i + 1]);
        else if (strcmp(argv[i], "--all") == 0)
            all = atol(argv[i + 1]) != 0;
    }
    signal(SIGABRT, last_words);
    signal(SIGSEGV, last_words);
    signal(SIGBUS, last_words);
    tc_error err = {0};
    char *folder;
    if (tc_fs_temp_dir(&folder, &err) != TC_OK || chdir(folder) != 0 || calls_setup(MEMORY_MODELS, &err) != TC_OK) {
        fprintf(stderr, "memory_campaign: %s\n", err.msg);
        return 1;
    }
    int status = campaign(points, seed, only, at, all);
    calls_free();
    tc_fs_remove_tree(folder);
    free(folder);
    return status;
}
