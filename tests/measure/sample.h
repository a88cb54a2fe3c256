/* Records for the tests of this folder. */
#ifndef TC_TESTS_MEASURE_SAMPLE_H
#define TC_TESTS_MEASURE_SAMPLE_H

/* cmocka wants these before it, in this order. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "measure/records/record.h"
#include "te/text.h"

/* The text of a workload that can be computed, as records have it. */
static inline const char *sample_workload(tc_arena *a, int length) {
    return tc_arena_printf(a, "tensor p0[%d] f32\ncompute t0[i0:%d] = p0[i0]\noutput t0\n", length, length);
}

/* Of a text that is none: any that is its own. */
static inline tc_digest sample_hash(const char *workload) {
    tc_ctx *ctx = tc_ctx_new();
    const tc_workload *w;
    tc_digest hash = tc_te_parse(ctx, "w", workload, &w, NULL) == TC_OK ? tc_te_hash(w) : tc_meas_text_hash(workload);
    tc_ctx_free(ctx);
    return hash;
}

/* A measured record of workload `w` whose median is `seconds`, numbered i. */
static inline tc_record sample_record(tc_arena *a, const char *w, int i, double seconds) {
    tc_record r = tc_meas_record_empty();
    tc_meas_record_identify(a, &r, w, sample_hash(w), "llvm -mcpu=test", tc_arena_printf(a, "split t0.i0 [_, %d]\n", i + 1));
    double *t = TC_NEW_N(a, double, 3);
    t[0] = seconds * 1.1, t[1] = seconds, t[2] = seconds * 0.9;
    r.times = t;
    r.ntimes = 3;
    r.median = tc_meas_median(t, 3);
    r.program = 0xf00dfeed00000000U + (unsigned)i;
    r.build_seconds = 0.125;
    r.run_seconds = 1.0 / 3;
    r.verified = true;
    r.max_error = 0.25;
    r.threads = 2;
    r.mode = TC_MEAS_HOT;
    r.when_ms = 1700000000123;
    r.tctune_version = "0.1.0";
    r.llvm_version = "19.1.7";
    r.host = "somewhere";
    return r;
}

static inline tc_record sample_failure(tc_arena *a, const char *w, int i, tc_meas_error e) {
    tc_record r = sample_record(a, w, i, 1);
    r.error = e;
    r.ntimes = 0;
    r.median = tc_meas_median(NULL, 0);
    r.verified = false;
    r.message = "because";
    return r;
}

static inline void assert_same_record(const tc_record *a, const tc_record *b) {
    assert_string_equal(a->workload, b->workload);
    assert_string_equal(a->target, b->target);
    assert_string_equal(a->trace, b->trace);
    assert_string_equal(a->workload_hash.hex, b->workload_hash.hex);
    assert_string_equal(a->target_hash.hex, b->target_hash.hex);
    assert_string_equal(a->trace_hash.hex, b->trace_hash.hex);
    assert_true(a->program == b->program);
    assert_int_equal(a->ntimes, b->ntimes);
    assert_memory_equal(a->times, b->times, a->ntimes * sizeof *a->times);
    assert_true(a->median == b->median);
    assert_true(a->build_seconds == b->build_seconds && a->run_seconds == b->run_seconds && a->max_error == b->max_error);
    assert_int_equal(a->error, b->error);
    assert_int_equal(a->signal, b->signal);
    assert_string_equal(a->message, b->message);
    assert_int_equal(a->verified, b->verified);
    assert_int_equal(a->stopped_early, b->stopped_early);
    assert_int_equal(a->threads, b->threads);
    assert_int_equal(a->mode, b->mode);
    assert_int_equal(a->rounds, b->rounds);
    assert_string_equal(a->sizes, b->sizes);
    assert_string_equal(a->job, b->job);
    assert_string_equal(a->phase, b->phase);
    assert_true(a->predicted == b->predicted || (isnan(a->predicted) && isnan(b->predicted)));
    assert_true(a->when_ms == b->when_ms);
    assert_string_equal(a->tctune_version, b->tctune_version);
    assert_string_equal(a->llvm_version, b->llvm_version);
    assert_string_equal(a->host, b->host);
}

#endif
