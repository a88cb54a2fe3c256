/* A tuner without a search: candidates that differ, as many as are asked for or as the seconds are enough for, by the carrier
 * that searches use. It tells what it had measured, in how long, and how much of that it took of a processor itself. */
#include "lab.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "codegen/target/target.h"
#include "fleet/tuner/tuner.h"
#include "support/log.h"
#include "support/rng.h"

#define GEMM                                                                                                                     \
    "tensor p0[64, 64] f32\ntensor p1[64, 64] f32\ncompute t0[i0:64, i1:64] = sum(k0:64) p0[i0, k0] * p1[k0, i1]\noutput t0\n"

enum { MOST = 62 /* parts that an axis of 64 is split into, from 2 on */ };

typedef struct tally {
    size_t measured, failed;
} tally;

static void count(void *user, size_t index, const tc_record *r) {
    tally *t = user;
    (void)index;
    if (tc_record_ok(r))
        t->measured++;
    else if (r->error != TC_MEAS_INTERRUPTED)
        t->failed++;
}

/* One of a quarter of a million programs. */
static tc_meas_input candidate(uint64_t number, tc_arena *a) {
    int i = (int)(number % MOST), j = (int)(number / MOST % MOST), k = (int)(number / MOST / MOST % MOST);
    return (tc_meas_input){.workload = GEMM,
                           .workload_hash = tc_meas_text_hash(GEMM),
                           .again = true,
                           .trace = tc_arena_printf(a,
                                                    "io, ii = split t0.i0 [_, %d]\njo, ji = split t0.i1 [_, %d]\nko, ki = split "
                                                    "t0.k0 [_, %d]\n",
                                                    i + 2, j + 2, k + 2)};
}

static double processor_seconds(void) {
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) + (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}

static tc_status propose(tc_fleet *f, size_t n, double seconds, uint64_t seed, tc_error *err) {
    tc_meas *m;
    tally t = {0};
    tc_arena *a = tc_arena_new();
    tc_meas_options o = {.target = tc_fleet_target(f),
                         .threads = tc_fleet_threads(f),
                         .mode = TC_MEAS_SIMULATED,
                         .carrier = &tc_meas_fleet,
                         .carried_by = f};
    tc_meas_input *in = TC_NEW_N(a, tc_meas_input, n);
    tc_record *out = TC_NEW_N(a, tc_record, n);
    for (size_t i = 0; i < n; i++)
        in[i] = candidate(seed + i, a);
    TC_TRY(tc_meas_new(&o, &m, err));
    double begun = tc_now(), own = processor_seconds();
    if (seconds > 0)
        tc_meas_set_deadline(m, begun + seconds);
    tc_status s = tc_meas_batch(m, in, n, a, out, count, &t, err);
    double took = tc_now() - begun;
    printf("measured %zu failed %zu seconds %.3f rate %.2f own %.3f\n", t.measured, t.failed, took, (double)t.measured / took,
           processor_seconds() - own);
    tc_meas_free(m);
    tc_arena_free(a);
    return s;
}

int lab_tuner(int argc, char **argv) {
    tc_target *t;
    tc_fleet *f;
    tc_error err = {0};
    if (argc < 6 || argc > 7 || atol(argv[3]) < 1)
        return -1;
    tc_status s = tc_target_parse("native", &t, &err);
    if (s != TC_OK)
        return fprintf(stderr, "%s\n", err.msg), 1;
    tc_fleet_options o = {.access.url = argv[0],
                          .tuner = argv[1],
                          .target = t->text,
                          .threads = atoi(argv[2]),
                          .weight = argc == 7 ? atof(argv[6]) : 0};
    s = tc_fleet_join(&o, &f, &err);
    if (s == TC_OK) {
        s = propose(f, (size_t)atol(argv[3]), atof(argv[4]), strtoull(argv[5], NULL, 10), &err);
        tc_fleet_leave(f);
    }
    tc_target_free(t);
    if (s != TC_OK)
        fprintf(stderr, "%s\n", err.msg);
    return s == TC_OK ? 0 : 1;
}
