/* The go-between hands every frame on to the real worker, which runs as a thread of this process, and every answer back. The
 * first candidate that is ever run becomes the victim: in some of its runs the real runner is given other code for it. So the
 * fault is a real one: code that writes past its buffers, that loses an addend, that does not come to an end; and the real runner
 * has to find it out. Times of good runs are replaced by ones that depend on the candidate alone, the victim's being by far the
 * best: what is tested does not depend on the machine. */
#include "flaky_worker.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "measure/process/protocol.h"
#include "measure/worker/worker.h"
#include "support/map.h"
#include "support/system/fs.h"
#include "support/vec.h"

#define TENSORS "tensor X[24, 32] f32\ntensor W[32, 48] f32\n"
const char flaky_kernel[] = TENSORS "compute Y[i:24, j:48] = sum(k:32) X[i, k] * W[k, j]\noutput Y\n";

static const struct {
    const char *name, *kernel;
} faults[] = {
    {"wrong", TENSORS "compute Y[i:24, j:48] = sum(k:31) X[i, k] * W[k, j]\noutput Y\n"},
    {"short",
     TENSORS "tensor B[48] f32\ncompute Y[i:1, j:1] = X[i, j] + W[i, j] + B[j]\noutput Y\n"}, /* of kernels with a bias */
    {"crash", TENSORS "compute Y[i:9000, j:48] = sum(k:32) X[i % 24, k] * W[k, j]\noutput Y\n"},
    {"hang", TENSORS "compute Y[i:24, j:48] = sum(k:1000000000000) X[i, k % 32] * W[k % 32, j]\noutput Y\n"},
};

static const double quiet = 1e-4; /* seconds of the reference work */
enum { QUIET_RUNS = 6 };          /* before the load comes */

typedef struct between {
    int inner; /* to the real worker */
    tc_arena *a;
    bool is_victim; /* of the run that is under way */
    uint64_t key;
    int runs;
} between;

static void need(bool ok) {
    if (!ok)
        _exit(9);
}

/* One request to the real worker, and its answer. */
static char *ask(between *b, tc_meas_msg type, const void *payload, size_t n, tc_meas_msg *answer, size_t *size) {
    char *reply;
    bool eof;
    need(tc_meas_write_frame(b->inner, type, payload, n, NULL) == TC_OK);
    need(tc_meas_read_frame(b->inner, answer, &reply, size, &eof, NULL) == TC_OK && !eof);
    return reply;
}

/* ---- the victim ---- */

/* Is it, or does it become, the victim? Forms of a kernel may have the same trace. */
static bool is_victim(const between *b, const char *workload, const char *trace) {
    const char *path = getenv(FLAKY_STATE), *own = tc_arena_printf(b->a, "%s\n%s", workload, trace);
    char *known;
    if (tc_fs_read(path, &known, NULL, NULL) != TC_OK)
        return tc_fs_write(path, own, strlen(own), NULL) == TC_OK;
    bool same = strcmp(known, own) == 0;
    free(known);
    return same;
}

/* Counts its runs, over all processes that there ever were: this one may not outlive the run. */
static bool fails_now(between *b) {
    FILE *f = fopen(tc_arena_printf(b->a, "%s.runs", getenv(FLAKY_STATE)), "a");
    need(f && fputc('.', f) != EOF);
    long run = ftell(f), from = atol(getenv(FLAKY_FROM));
    fclose(f);
    return run >= from && (run - from) % 2 == 0;
}

/* Code that goes wrong, as the real builder makes it. */
static tc_meas_reader bad_code(between *b, const char *target, int threads) {
    tc_strbuf q = {0};
    tc_meas_msg answer;
    size_t n, i = 0;
    while (i + 1 < TC_LEN(faults) && strcmp(faults[i].name, getenv(FLAKY_FAULT)) != 0)
        i++;
    tc_meas_put_text(&q, faults[i].kernel);
    tc_meas_put_text(&q, "");
    tc_meas_put_text(&q, target);
    tc_meas_put_u64(&q, (uint64_t)threads);
    tc_meas_put_u64(&q, 0);
    char *reply = ask(b, TC_MEAS_MSG_BUILD, q.data, q.len, &answer, &n);
    tc_strbuf_free(&q);
    tc_meas_reader r = tc_meas_reader_of(tc_arena_dup(b->a, reply, n), n);
    free(reply);
    need(tc_meas_get_u64(&r) == TC_MEAS_NONE);
    (void)tc_meas_get_text(&r, b->a);
    (void)tc_meas_get_u64(&r);
    (void)tc_meas_get_f64(&r);
    return r;
}

/* ---- frames ---- */

static void spoil_run(between *b, const char *payload, size_t n, tc_strbuf *out) {
    tc_meas_reader r = tc_meas_reader_of(payload, n);
    size_t size;
    const char *workload = tc_meas_get_text(&r, b->a), *sizes = tc_meas_get_text(&r, b->a);
    uint64_t seed = tc_meas_get_u64(&r);
    double denormal = tc_meas_get_f64(&r);
    const char *trace = tc_meas_get_text(&r, b->a), *target = tc_meas_get_text(&r, b->a);
    const void *object = tc_meas_get_bytes(&r, &size);
    uint64_t workspace = tc_meas_get_u64(&r);
    tc_meas_timing t = tc_meas_get_timing(&r);
    b->is_victim = is_victim(b, workload, trace);
    b->key = tc_hash64(trace, strlen(trace), 0);
    if (b->is_victim && fails_now(b)) {
        tc_meas_reader bad = bad_code(b, target, t.threads);
        workspace = tc_meas_get_u64(&bad);
        object = tc_meas_get_bytes(&bad, &size);
    }
    tc_meas_put_text(out, workload);
    tc_meas_put_text(out, sizes);
    tc_meas_put_u64(out, seed);
    tc_meas_put_f64(out, denormal);
    tc_meas_put_text(out, trace);
    tc_meas_put_text(out, target);
    tc_meas_put_bytes(out, object, size);
    tc_meas_put_u64(out, workspace);
    tc_meas_put_timing(out, &t);
}

static void set_times(between *b, const char *payload, size_t n, tc_strbuf *out) {
    tc_meas_reader r = tc_meas_reader_of(payload, n);
    size_t bytes;
    tc_meas_put_u64(out, tc_meas_get_u64(&r));
    tc_meas_put_text(out, tc_meas_get_text(&r, b->a));
    const void *taken = tc_meas_get_bytes(&r, &bytes);
    double *times = tc_arena_dup(b->a, taken, bytes);
    for (size_t i = 0; i < bytes / sizeof *times; i++)
        times[i] = b->is_victim ? 1e-6 : 1e-3 * (1 + (double)(b->key % 100) / 100);
    tc_meas_put_bytes(out, times, bytes);
    tc_meas_put_u64(out, tc_meas_get_u64(&r));
    tc_meas_put_f64(out, tc_meas_get_f64(&r));
    tc_meas_put_u64(out, tc_meas_get_u64(&r));
    tc_meas_put_f64(out, tc_meas_get_f64(&r));
    (void)tc_meas_get_f64(&r);
    const char *load = getenv(FLAKY_LOAD);
    tc_meas_put_f64(out, load && b->runs++ >= QUIET_RUNS ? quiet * atof(load) : quiet);
    tc_meas_put_shares(out, &(tc_meas_shares){0});
    tc_meas_put_counts(out, &(tc_meas_counted){0});
}

/* With the fault "build", the builder of the victim dies. */
static void die_of(between *b, const char *payload, size_t n) {
    tc_meas_reader r = tc_meas_reader_of(payload, n);
    const char *workload = tc_meas_get_text(&r, b->a), *trace = tc_meas_get_text(&r, b->a);
    if (strcmp(getenv(FLAKY_FAULT), "build") == 0 && is_victim(b, workload, trace)) {
        fprintf(stderr, "this builder dies on purpose\n");
        abort();
    }
}

static void pass_on(between *b, tc_meas_msg type, const char *payload, size_t n) {
    tc_strbuf spoilt = {0}, timed = {0};
    tc_meas_msg answer;
    if (type == TC_MEAS_MSG_BUILD)
        die_of(b, payload, n);
    if (type == TC_MEAS_MSG_RUN)
        spoil_run(b, payload, n, &spoilt);
    else
        tc_sb_addn(&spoilt, payload, n);
    char *reply = ask(b, type, spoilt.data, spoilt.len, &answer, &n);
    if (type == TC_MEAS_MSG_RUN)
        set_times(b, reply, n, &timed);
    else
        tc_sb_addn(&timed, reply, n);
    need(tc_meas_write_frame(TC_MEAS_WORKER_FD, answer, timed.data, timed.len, NULL) == TC_OK);
    free(reply);
    tc_strbuf_free(&spoilt);
    tc_strbuf_free(&timed);
    tc_arena_reset(b->a);
}

static void *real_worker(void *fd) {
    tc_meas_worker_main(*(int *)fd, *(int *)fd);
    close(*(int *)fd);
    return NULL;
}

int flaky_worker_main(void) {
    int pair[2];
    pthread_t thread;
    between b = {.a = tc_arena_new()};
    tc_meas_msg type;
    char *payload;
    size_t n;
    bool eof;
    unsetenv(TC_MEAS_WORKER_RUNS); /* a runner compiles here, too: the victim's code that goes wrong */
    need(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0 && pthread_create(&thread, NULL, real_worker, &pair[1]) == 0);
    b.inner = pair[0];
    need(tc_meas_read_frame(b.inner, &type, &payload, &n, &eof, NULL) == TC_OK && !eof);
    need(tc_meas_write_frame(TC_MEAS_WORKER_FD, type, payload, n, NULL) == TC_OK);
    free(payload);
    while (tc_meas_read_frame(TC_MEAS_WORKER_FD, &type, &payload, &n, &eof, NULL) == TC_OK && !eof) {
        pass_on(&b, type, payload, n);
        free(payload);
    }
    shutdown(pair[0], SHUT_WR);
    pthread_join(thread, NULL);
    close(pair[0]);
    tc_arena_free(b.a);
    return 0;
}
