/* Databases that are the same on every machine: two kernels for a target that is none, with times that are made up. fixture DIR
 * writes normal.db, base.db, in which the same take longer, and empty.db. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "measure/records/database.h"
#include "te/text.h"
#include "tune/kernel/schedule.h"

static const char target_text[] = "rv64gcv";
static const char gemm[] = "tensor X[12, 32] f32\ntensor W[32, 48] f32 const\n"
                           "compute D[i:12, j:48] = sum(k:32) X[i, k] * W[k, j]\n"
                           "compute Y[i:12, j:48] = max(D[i, j], 0)\noutput Y\n";
static const char addition[] = "tensor A[1000] f32\ntensor B[1000] f32\ncompute Y[i:1000] = A[i] + B[i]\noutput Y\n";

typedef struct kernel {
    const char *workload, *trace;
    tc_digest hash;
} kernel;

static void must(tc_status s, const tc_error *err) {
    if (s == TC_OK)
        return;
    fprintf(stderr, "fixture: %s\n", err->msg);
    exit(1);
}

static kernel prepare(tc_arena *a, tc_ctx *c, const tc_target *t, const char *text) {
    const tc_workload *w;
    tc_tune_schedule s;
    tc_error err = {0};
    must(tc_te_parse(c, "fixture", text, &w, &err), &err);
    w = tc_te_canonical(c, w);
    tc_tune_query q = {.workload = w, .target = t};
    must(tc_tune_schedule_find(&q, a, &s, &err), &err);
    return (kernel){tc_te_text(a, w), s.trace, tc_te_hash(w)};
}

/* The trace with its first decision made otherwise. */
static const char *decided(tc_arena *a, const char *trace, int value) {
    const char *at = strstr(trace, " ~");
    if (!at || !value)
        return trace;
    const char *end = strchr(at, '\n');
    return tc_arena_printf(a, "%.*s ~%d%s", (int)(at - trace), trace, value, end ? end : "");
}

static tc_record record(tc_arena *a, const kernel *k, const tc_target *t, int n, double seconds) {
    static const char *const phases[] = {"construct", "transfer", "descent", "evolution"};
    tc_record r = tc_meas_record_empty();
    double *times = TC_NEW_N(a, double, 5);
    tc_meas_record_identify(a, &r, k->workload, k->hash, t->text, decided(a, k->trace, n));
    for (int i = 0; i < 5; i++)
        times[i] = seconds * (1 + 0.01 * (i - 2));
    r.times = times;
    r.ntimes = 5;
    r.median = tc_meas_median(times, 5);
    r.program = 0x1000 + (uint64_t)n;
    r.build_seconds = 0.25;
    r.run_seconds = 0.5;
    r.verified = true;
    r.threads = 1;
    r.when_ms = 1700000000000 + n * 1000;
    r.tctune_version = "0.1.0";
    r.llvm_version = "19.1.7";
    r.host = "fixture";
    r.phase = phases[n / 3 % 4];
    r.predicted = n % 3 ? 1.0 / (1 + n) : NAN;
    return r;
}

static void fail(tc_record *r, tc_meas_error e, const char *message) {
    r->error = e;
    r->message = message;
    r->ntimes = 0;
    r->median = INFINITY;
    r->verified = false;
}

enum { TRIALS = 12 };

static size_t fill(tc_arena *a, const kernel k[2], const tc_target *t, double slower, tc_record *out) {
    size_t n = 0;
    for (int i = 0; i < TRIALS; i++)
        out[n++] = record(a, &k[0], t, i, slower * (40e-6 + 3e-6 * ((i * 7) % TRIALS)));
    fail(&out[5], TC_MEAS_RUN_CRASH, "killed by signal 11");
    fail(&out[8], TC_MEAS_WRONG_RESULT, "element 3 is 2, not 1");
    fail(&out[9], TC_MEAS_WRONG_RESULT, "element 4 is 2, not 1");
    out[0].rounds = 7;
    for (int i = 0; i < 4; i++)
        out[n++] = record(a, &k[1], t, 20 + i, slower * (2e-6 - 1e-7 * i));
    out[n - 1] = record(a, &k[1], t, 0, slower * 1.5e-6);
    out[n] = record(a, &k[0], t, 30, slower * 45e-6);
    out[n++].mode = TC_MEAS_IN_GRAPH;
    return n;
}

static void write(const char *dir, const char *name, tc_record *r, size_t n) {
    char path[4096];
    tc_error err = {0};
    tc_meas_db *db;
    snprintf(path, sizeof path, "%s/%s", dir, name);
    must(tc_meas_db_open(path, TC_MEAS_DB_WRITE, &db, &err), &err);
    must(tc_meas_db_insert(db, r, n, &err), &err);
    tc_meas_db_close(db);
}

int main(int argc, char **argv) {
    tc_target *t;
    tc_error err = {0};
    tc_record r[TRIALS + 8];
    if (argc != 2) {
        fprintf(stderr, "usage: fixture DIR\n");
        return 2;
    }
    tc_arena *a = tc_arena_new();
    tc_ctx *c = tc_ctx_new();
    must(tc_target_parse(target_text, &t, &err), &err);
    t->machine.cores = 1;
    const kernel k[2] = {prepare(a, c, t, gemm), prepare(a, c, t, addition)};
    write(argv[1], "normal.db", r, fill(a, k, t, 1, r));
    write(argv[1], "base.db", r, fill(a, k, t, 1.25, r));
    write(argv[1], "empty.db", NULL, 0);
    tc_target_free(t);
    tc_ctx_free(c);
    tc_arena_free(a);
    return 0;
}
