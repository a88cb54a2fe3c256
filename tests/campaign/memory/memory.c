/* Refuses memory to calls of the library, request by request: each one alone (once), and it with all that follow until the call
 * has ended (all). The call must say that it failed, or be right; nothing that lasts may be harmed; nothing may leak (under the
 * address sanitizer); and the same call must then succeed, in this process.
 *   memory_campaign [--points N] [--seed S] [--only NAME] [--from A] [--to B] [--again K] [--at N --all 0|1]
 * N requests of each call, spread evenly from a drawn first one; all where N is 0, which is the default. Of those from the A-th
 * to the B-th, so that all requests of what makes many can be had in sittings; each K-th time the same call is tried again. */
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

/* What was asked for. */
typedef struct plan {
    long points, seed, from, to, again, at;
    const char *only;
    bool all;
} plan;

static point now; /* for the last words */

/* What a call takes between the refusal and its end must be less: an array whose doubling is refused has room for as much as it
 * holds, and then what the reserve has (alloc.c); one that is full once more ends the process. */
static const size_t ROOM = 4 << 20;

static void say(const char *what, const char *why) {
    printf("FAILED: %s, request %ld of %ld, %s: %s%s\n", now.c->name, now.at, now.of, now.all ? "all" : "once", what, why);
    fflush(stdout);
}

/* On the standard error: commands print to nowhere. */
static void last_words(int signal_number) {
    refuse_end();
    dprintf(STDERR_FILENO, "FAILED: %s, request %ld of %ld, %s: it ended by a signal: %s\n", now.c->name, now.at, now.of,
            now.all ? "all" : "once", strsignal(signal_number));
    void *frames[32];
    backtrace_symbols_fd(frames, backtrace(frames, 32), STDERR_FILENO);
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

static bool try_point(bool again, size_t *most) {
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
    if (used >= ROOM)
        say("it takes too much before it ends", "");
    bool ok = (s == TC_OK || err.msg[0]) && used < ROOM;
    if ((s == TC_OK ? c->right(&harm) : c->unharmed(&harm)) != TC_OK) {
        say(s == TC_OK ? "it is not right: " : "it did harm: ", harm.msg);
        ok = false;
    }
    if (getenv("MEMORY_VERBOSE"))
        printf("%s %ld %s: %s (%zu of the reserve)\n", c->name, now.at, now.all ? "all" : "once", s == TC_OK ? "done" : err.msg,
               used);
    if (again)
        ok = goes_on(c) && ok;
    if (__lsan_do_recoverable_leak_check()) {
        say("it leaks", "");
        ok = false;
    }
    return ok;
}

/* Each of its requests in steps; how many failed. */
static int try_call(const call *c, const plan *p, long *cases) {
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
    long step = p->points && now.of > p->points ? now.of / p->points : 1, before = *cases, to = p->to ? p->to : now.of;
    for (int all = 0; all < 2; all++)
        for (now.all = all, now.at = p->from + (p->seed + all) % step; now.at <= to && now.at <= now.of; now.at += step) {
            ++*cases;
            bad += !try_point(*cases % p->again == 0, &most);
        }
    printf("%s: %ld requests, %ld refused, %d bad; at most %zu KiB of the reserve\n", c->name, now.of, *cases - before, bad,
           most >> 10);
    fflush(stdout);
    return bad;
}

static int campaign(const plan *p) {
    int bad = 0;
    long cases = 0;
    size_t most = 0;
    for (int i = 0; i < ncalls; i++) {
        if (p->only && strcmp(p->only, calls[i].name))
            continue;
        now = (point){&calls[i], p->at, p->at, p->all};
        if (!p->at)
            bad += try_call(&calls[i], p, &cases);
        else
            bad += !goes_on(&calls[i]) || !try_point(true, &most);
    }
    printf("%ld requests refused (seed %ld), %d bad\n", cases, p->seed, bad);
    return bad != 0;
}

static plan plan_of(int argc, char **argv) {
    plan p = {.seed = 1, .from = 1, .again = 1};
    const struct {
        const char *name;
        long *value;
    } numbers[] = {{"--points", &p.points}, {"--seed", &p.seed},   {"--from", &p.from},
                   {"--to", &p.to},         {"--again", &p.again}, {"--at", &p.at}};
    for (int i = 1; i + 1 < argc; i += 2) {
        for (size_t k = 0; k < sizeof numbers / sizeof numbers[0]; k++)
            if (strcmp(argv[i], numbers[k].name) == 0)
                *numbers[k].value = atol(argv[i + 1]);
        if (strcmp(argv[i], "--only") == 0)
            p.only = argv[i + 1];
        if (strcmp(argv[i], "--all") == 0)
            p.all = atol(argv[i + 1]) != 0;
    }
    p.again = p.again < 1 ? 1 : p.again;
    return p;
}

int main(int argc, char **argv) {
    if (argc > 1 && strcmp(argv[1], "worker") == 0)
        return tc_meas_worker_main(TC_MEAS_WORKER_FD, TC_MEAS_WORKER_FD);
    const plan p = plan_of(argc, argv);
    signal(SIGABRT, last_words);
    signal(SIGSEGV, last_words);
    signal(SIGBUS, last_words);
    tc_error err = {0};
    char *folder;
    if (tc_fs_temp_dir(&folder, &err) != TC_OK || chdir(folder) != 0 || calls_setup(MEMORY_MODELS, &err) != TC_OK) {
        fprintf(stderr, "memory_campaign: %s\n", err.msg);
        return 1;
    }
    int status = campaign(&p);
    calls_free();
    tc_fs_remove_tree(folder);
    free(folder);
    return status;
}
