/* Tuning sessions over two small kernels, for the tests of this folder. The executable is its own worker. */
#ifndef TC_TESTS_TUNE_SESSION_H
#define TC_TESTS_TUNE_SESSION_H

#include "support/cmocka_all.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

#include "measure/worker/worker.h"
#include "support/vec.h"
#include "te/text.h"
#include "tune/tune.h"

static const char dense[] =
    "tensor X[24, 32] f32\ntensor W[32, 48] f32 const\ntensor B[48] f32 const\n"
    "compute D[i:24, j:48] = sum(k:32) X[i, k] * W[k, j]\ncompute Y[i:24, j:48] = gelu(D[i, j] + B[j])\noutput Y\n";
/* The same kernel under other names: one task. */
static const char renamed[] =
    "tensor A[24, 32] f32\ntensor V[32, 48] f32 const\ntensor C[48] f32 const\n"
    "compute E[a:24, b:48] = sum(c:32) A[a, c] * V[c, b]\ncompute Z[a:24, b:48] = gelu(E[a, b] + C[b])\noutput Z\n";
static const char rows[] =
    "tensor X[40, 64] f32\ncompute m[i:40] = max(k:64) X[i, k]\ncompute e[i:40, j:64] = exp(X[i, j] - m[i])\n"
    "compute s[i:40] = sum(k:64) e[i, k]\ncompute Y[i:40, j:64] = e[i, j] / s[i]\noutput Y\n";

typedef struct bench {
    tc_ctx *ctx;
    tc_target *target;
    tc_tune_task task[3];
    tc_meas_db *db;
} bench;

static inline const tc_workload *parse(tc_ctx *c, const char *text) {
    const tc_workload *w;
    tc_error err;
    if (tc_te_parse(c, "kernel", text, &w, &err) != TC_OK)
        fail_msg("%s", err.msg);
    return w;
}

static inline int setup(void **state) {
    bench *b = tc_xcalloc(1, sizeof *b);
    tc_error err;
    b->ctx = tc_ctx_new();
    assert_int_equal(tc_target_parse("native", &b->target, &err), TC_OK);
    assert_int_equal(tc_meas_db_open_memory(&b->db, &err), TC_OK);
    b->task[0] = (tc_tune_task){.name = "dense", .workload = parse(b->ctx, dense), .weight = 12};
    b->task[1] = (tc_tune_task){.name = "rows", .workload = parse(b->ctx, rows), .weight = 1};
    b->task[2] = (tc_tune_task){.name = "renamed", .workload = parse(b->ctx, renamed), .weight = 2};
    *state = b;
    return 0;
}

static inline int teardown(void **state) {
    bench *b = *state;
    tc_meas_db_close(b->db);
    tc_target_free(b->target);
    tc_ctx_free(b->ctx);
    free(b);
    return 0;
}

/* No peak is measured, so that no kernel is at its roof: how many trials are made does not depend on the machine. */
static inline tc_tune_options options(const bench *b, int trials) {
    return (tc_tune_options){.target = b->target,
                             .trials = trials,
                             .threads = 1,
                             .batch = 6,
                             .seed = 5,
                             .measure = {.samples = 3, .min_sample = 1e-4}};
}

/* The same, with computed times: nothing is compiled, and what happens does not depend on the machine. */
static inline tc_tune_options simulated(const bench *b, int trials) {
    tc_tune_options o = options(b, trials);
    o.measure.mode = TC_MEAS_SIMULATED;
    return o;
}

static inline tc_tune *open_tune(bench *b, const tc_tune_options *o) {
    tc_tune *t;
    tc_error err;
    if (tc_tune_new(o, b->task, 3, b->db, &t, &err) != TC_OK)
        fail_msg("%s", err.msg);
    return t;
}

static inline void run_tune(tc_tune *t) {
    tc_error err;
    if (tc_tune_run(t, &err) != TC_OK)
        fail_msg("%s", err.msg);
}

#define SESSION_TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

#endif
