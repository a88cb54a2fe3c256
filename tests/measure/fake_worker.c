#include "fake_worker.h"

#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "measure/process/protocol.h"
#include "measure/records/record.h"
#include "measure/worker/worker.h"
#include "support/vec.h"

enum { FD = TC_MEAS_WORKER_FD };

/* Reads a number after `word`, or 0. */
static double number_after(const char *s, const char *word) {
    const char *at = strstr(s, word);
    return at ? atof(at + strlen(word)) : 0;
}

static void eat_memory(void) {
    for (;;) {
        char *p = tc_xmalloc(16 << 20); /* ends the process with a message when refused */
        memset(p, 1, 16 << 20);
    }
}

static void raw_reply(uint32_t magic, uint32_t type, uint64_t size, size_t sent) {
    tc_meas_frame f = {magic, type, size};
    char bytes[64] = {0};
    if (write(FD, &f, sizeof f) < 0 || write(FD, bytes, sent) < 0)
        _exit(9);
}

/* Misbehaves as `command` says; returns when the request shall be answered. `stage` is "build-", "prepare-" or "run-". */
static void obey(const char *stage, const char *command) {
    const char *at = strstr(command, stage);
    if (!at)
        return;
    at += strlen(stage);
    if (strncmp(at, "hang", 4) == 0)
        for (;;)
            pause();
    if (strncmp(at, "spin", 4) == 0)
        for (volatile unsigned i = 0;; i++) /* may wrap */
            ;
    if (strncmp(at, "crash", 5) == 0) {
        fprintf(stderr, "about to\tcrash\n");
        signal(SIGSEGV, SIG_DFL);
        raise(SIGSEGV);
    }
    if (strncmp(at, "exit", 4) == 0)
        _exit(5);
    if (strncmp(at, "memory", 6) == 0)
        eat_memory();
    if (strncmp(at, "cpu", 3) == 0)
        raise(SIGXCPU);
    if (strncmp(at, "garbage", 7) == 0)
        raw_reply(0x12345678, 0, 0, 0);
    if (strncmp(at, "giant", 5) == 0)
        raw_reply(TC_MEAS_FRAME_MAGIC, TC_MEAS_MSG_RAN, (uint64_t)1 << 60, 0);
    if (strncmp(at, "cut", 3) == 0) {
        raw_reply(TC_MEAS_FRAME_MAGIC, TC_MEAS_MSG_RAN, 1000, 20);
        _exit(0);
    }
    if (strncmp(at, "stall", 5) == 0) {
        raw_reply(TC_MEAS_FRAME_MAGIC, TC_MEAS_MSG_RAN, 1000, 20);
        pause();
    }
    if (strncmp(at, "empty", 5) == 0) {
        raw_reply(TC_MEAS_FRAME_MAGIC, strcmp(stage, "build-") == 0 ? TC_MEAS_MSG_BUILT : TC_MEAS_MSG_RAN, 0, 0);
        pause();
    }
    if (strncmp(at, "talk", 4) == 0)
        for (;;)
            fprintf(stderr, "%65536s\n", "blah");
    if (strncmp(at, "sleep", 5) == 0)
        usleep((useconds_t)(1e6 * atof(at + 5)));
}

static void reply_build(tc_meas_reader *r, tc_arena *a, tc_strbuf *b) {
    (void)tc_meas_get_text(r, a);
    const char *trace = tc_meas_get_text(r, a);
    obey("build-", trace);
    bool illegal = strstr(trace, "illegal") != NULL;
    tc_meas_put_u64(b, illegal ? TC_MEAS_ILLEGAL : TC_MEAS_NONE);
    tc_meas_put_text(b, illegal ? "step 1, `split`: no such loop" : "");
    tc_meas_put_u64(b, tc_hash64(trace, strcspn(trace, "#"), 0)); /* traces that differ after '#' give equal programs */
    tc_meas_put_f64(b, strstr(trace, "quick") ? 1e-6 : 0.25);
    tc_meas_put_u64(b, 0);
    tc_meas_put_bytes(b, trace, illegal ? 0 : strlen(trace));
}

/* What the trace commands at these sizes: what stands behind " at SIZES " holds there alone. */
static const char *command_at(const char *trace, const char *sizes) {
    const char *at = strstr(trace, " at ");
    size_t n = strlen(sizes);
    if (!at)
        return trace;
    return strncmp(at + 4, sizes, n) == 0 && at[4 + n] == ' ' ? at + 4 + n : "";
}

/* How much longer the reference takes than at best: as the trace says, and from some run on as the environment does. */
static double load_of(const char *trace, int run) {
    enum { QUIET_RUNS = 6 };
    const char *later = getenv(FAKE_LOAD);
    return number_after(trace, "load=") + (later && run > QUIET_RUNS ? atof(later) : 0);
}

/* The process's so-manieth run. */
static void reply_run(tc_meas_reader *r, int run, tc_arena *a, tc_strbuf *b) {
    (void)tc_meas_get_text(r, a);
    const char *sizes = tc_meas_get_text(r, a);
    (void)tc_meas_get_u64(r);
    (void)tc_meas_get_f64(r);
    const char *trace = tc_meas_get_text(r, a), *command = command_at(trace, sizes);
    size_t size, n = 3;
    (void)tc_meas_get_text(r, a);
    (void)tc_meas_get_bytes(r, &size);
    (void)tc_meas_get_u64(r);
    tc_meas_timing timing = tc_meas_get_timing(r);
    obey("run-", command);
    bool wrong = strstr(command, "wrong") != NULL, echo = strstr(trace, "echo") != NULL;
    double t[64];
    if (echo)
        n = TC_MIN((size_t)timing.samples, TC_LEN(t));
    for (size_t i = 0; i < n; i++)
        t[i] = strstr(trace, "time=") ? number_after(trace, "time=") : 1;
    tc_meas_put_u64(b, wrong ? TC_MEAS_WRONG_RESULT : TC_MEAS_NONE);
    tc_meas_put_text(b, wrong ? "t0[0] is 1, the reference has 2" : "");
    tc_meas_put_bytes(b, t, wrong ? 0 : n * sizeof *t);
    tc_meas_put_u64(b, !wrong);
    tc_meas_put_f64(b, echo ? timing.doubt : 0.5);
    tc_meas_put_u64(b, run <= (int)number_after(trace, "slow-until=")); /* stopped early */
    tc_meas_put_f64(b, 0.125);
    tc_meas_put_f64(b, 1e-4 * (1 + load_of(trace, run)));
    tc_meas_put_shares(b, &(tc_meas_shares){.work = number_after(trace, "work="), .wait = 0.25});
    double missing = number_after(trace, "missing=");
    tc_meas_put_counts(b, &(tc_meas_counted){.asked = timing.counts,
                                             .of_call = {number_after(trace, "counted=")},
                                             .missing = {[TC_MEAS_NCOUNTERS - 1] = (int)missing}});
}

static void reply_prepare(tc_meas_reader *r, tc_arena *a, tc_strbuf *b) {
    const char *workload = tc_meas_get_text(r, a);
    obey("prepare-", workload);
    bool bad = strstr(workload, "unpreparable") != NULL;
    tc_meas_put_u64(b, bad ? TC_MEAS_RUN_FAILED : TC_MEAS_NONE);
    tc_meas_put_text(b, bad ? "the reference cannot be computed" : "");
}

/* As the kernel does for want of memory. */
static void be_killed(void) {
    const char *kills = getenv(FAKE_KILLS), *counter = getenv(FAKE_KILLED);
    struct stat st;
    int f = kills && counter ? open(counter, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600) : -1;
    if (f >= 0 && fstat(f, &st) == 0 && st.st_size < atol(kills) && write(f, "x", 1) == 1)
        kill(getpid(), SIGKILL);
    if (f >= 0)
        close(f);
}

int fake_worker_main(void) {
    tc_strbuf b = {0};
    tc_arena *a = tc_arena_new();
    const char *start = getenv("FAKE_START");
    int runs = 0;
    be_killed();
    obey("start-", start ? start : "");
    tc_meas_put_u64(&b, start && strstr(start, "old") ? TC_MEAS_PROTOCOL + 1 : TC_MEAS_PROTOCOL);
    tc_meas_put_text(&b, "19.0");
    tc_meas_put_text(&b, "");
    if (tc_meas_write_frame(FD, TC_MEAS_MSG_READY, b.data, b.len, NULL) != TC_OK)
        return 1;
    for (;;) {
        tc_meas_msg type;
        char *payload;
        size_t n;
        bool eof;
        if (tc_meas_read_frame(FD, &type, &payload, &n, &eof, NULL) != TC_OK || eof)
            return eof ? 0 : 1;
        tc_meas_reader r = tc_meas_reader_of(payload, n);
        tc_sb_clear(&b);
        if (type == TC_MEAS_MSG_BUILD)
            reply_build(&r, a, &b);
        else if (type == TC_MEAS_MSG_RUN)
            reply_run(&r, ++runs, a, &b);
        else
            reply_prepare(&r, a, &b);
        if (tc_meas_write_frame(FD, (tc_meas_msg)(type + 1), b.data, b.len, NULL) != TC_OK)
            return 1;
        free(payload);
    }
}
