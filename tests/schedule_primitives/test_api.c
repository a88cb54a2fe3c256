/* What other folders call besides applying steps: look-ups, candidates, steps built by programs, lifetimes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "schedule_primitives/schedule.h"
#include "support/vec.h"
#include "te/text.h"

static const char *const ROWS = "tensor X[37, 100] f32\n"
                                "compute M[i:37] = max(k:100) X[i, k]\n"
                                "compute E[i:37, j:100] = exp(X[i, j] - M[i])\n"
                                "compute S[i:37] = sum(k:100) E[i, k]\n"
                                "compute Y[i:37, j:100] = E[i, j] / S[i]\n"
                                "output Y\n";

static tc_sched *schedule(tc_ctx *c, const char *te, const char *steps) {
    const tc_workload *w = NULL;
    tc_trace *t = NULL;
    tc_sched *s = NULL;
    tc_error err = {0};
    if (tc_te_parse(c, "test.te", te, &w, &err) != TC_OK ||
        tc_trace_parse(tc_ctx_arena(c), "test.sched", steps, &t, &err) != TC_OK ||
        tc_sch_replay(c, w, t, NULL, &s, &err) != TC_OK)
        fail_msg("%s", err.msg);
    return s;
}

static void assert_locations(const char *steps, const char *stage, const char *expected) {
    tc_ctx *c = tc_ctx_new();
    tc_sched *s = schedule(c, ROWS, steps);
    const char *where[32];
    int n = tc_sch_locations(s, tc_sch_find_stage(s, stage), where, 32);
    tc_strbuf b = {0};
    for (int i = 0; i < n; i++)
        tc_sb_printf(&b, "%s%s", i ? " " : "", where[i]);
    assert_string_equal(tc_sb_str(&b), expected);
    assert_int_equal(tc_sch_locations(s, tc_sch_find_stage(s, stage), where, 0), n);
    tc_strbuf_free(&b);
    tc_ctx_free(c);
}

static void test_locations(void **state) {
    (void)state;
    assert_locations("", "M", "root E.i E.j");
    assert_locations("", "S", "root Y.i Y.j");
    assert_locations("", "Y", "root");
    assert_locations("", "E", "root inline"); /* two consumers that are apart */
    assert_locations("compute_at S Y.i\n", "E", "root inline Y.i");
    assert_locations("compute_at S Y.i\ncompute_at E Y.i\n", "M", "root Y.i E.i E.j");
    assert_locations("compute_at S Y.i\ncompute_at E Y.i\ncompute_at M Y.i\n", "E", "inline Y.i"); /* root would strand M */
    assert_locations("vectorize Y.j\n", "S", "root Y.i");
    assert_locations("compute_inline E\n", "E", "");
    assert_locations("io, ii = split Y.i [_, 8]\nf = fuse Y.ii Y.j\n", "S", "root Y.io Y.f");
}

static void test_lookups(void **state) {
    (void)state;
    tc_ctx *c = tc_ctx_new();
    tc_sched *s = schedule(c, ROWS, "io, ii = split Y.i [_, 8]\npragma E auto_unroll_max 3\n");
    int e = tc_sch_find_stage(s, "E"), reader[4];
    assert_int_equal(e, 1);
    assert_int_equal(tc_sch_find_stage(s, "X"), -1);
    assert_int_equal(tc_sch_find_loop(s, "Y.nope"), -1);
    assert_int_equal(tc_sch_find_loop(s, "Y"), -1);
    assert_int_equal(s->loops[tc_sch_find_loop(s, "Y.ii")].extent, 8);
    assert_int_equal(tc_sch_consumers(s, e, reader, 4), 2);
    assert_int_equal(reader[0], 2);
    assert_int_equal(reader[1], 3);
    assert_int_equal(tc_sch_stage_of(s, s->workload->in[0]), -1);
    assert_int_equal(tc_sch_stage_of(s, s->workload->out[0]), 3);
    assert_int_equal(tc_sch_pragma(&s->stages[e], "auto_unroll_max", 7), 3);
    assert_int_equal(tc_sch_pragma(&s->stages[e], "other", 7), 7);
    tc_ctx_free(c);
}

/* Steps that no parser would make are refused, not believed. */
static void test_malformed_steps(void **state) {
    (void)state;
    tc_ctx *c = tc_ctx_new();
    tc_sched *s = schedule(c, ROWS, "");
    const char *loop = "Y.i", *outs[8] = {"a", "b", "c", "d", "e", "f", "g", "h"};
    tc_int_arg ints[8] = {{.kind = TC_ARG_INFER}};
    const tc_instr bad[] = {
        {.prim = TC_PRIM_UNROLL},
        {.prim = TC_PRIM_SPLIT, .nnames = 1, .names = &loop, .nouts = 8, .outs = outs, .nints = 8, .ints = ints},
        {.prim = TC_PRIM_SPLIT, .nnames = 1, .names = &loop, .nouts = 2, .outs = outs},
        {.prim = TC_PRIM_UNROLL, .nnames = 1, .names = &loop, .text = "local"},
        {.prim = TC_PRIM_UNROLL, .nnames = 1, .names = &loop, .ndec = 1},
        {.prim = TC_PRIM_SET_SCOPE, .nnames = 1, .names = &loop},
        {.prim = (tc_prim)99},
        {.prim = TC_PRIM_SAMPLE_LOCATION, .nnames = 1, .names = &loop, .nouts = 1, .outs = outs, .ndec = 1},
    };
    for (size_t i = 0; i < TC_LEN(bad); i++) {
        tc_error err = {0};
        assert_int_equal(tc_sch_apply(s, &bad[i], NULL, &err), TC_BAD_INPUT);
        assert_true(err.msg[0]);
        assert_int_equal(tc_sch_apply(s, &bad[i], NULL, NULL), TC_BAD_INPUT);
    }
    assert_int_equal(s->trace->n, 0);
    tc_ctx_free(c);
}

/* A schedule depends on nothing that the caller releases after tc_sch_apply. */
static void test_steps_are_copied(void **state) {
    (void)state;
    tc_ctx *c = tc_ctx_new();
    tc_sched *s = schedule(c, ROWS, "");
    tc_arena *a = tc_arena_new();
    tc_trace *t = NULL;
    assert_int_equal(
        tc_trace_parse(a, "x", "t = sample_tile Y.i parts=2 max_inner=8 ~[5]\nio, ii = split Y.i [_, t.1]\n", &t, NULL), TC_OK);
    for (int i = 0; i < t->n; i++)
        assert_int_equal(tc_sch_apply(s, &t->steps[i], NULL, NULL), TC_OK);
    tc_arena_free(a);
    tc_strbuf b = {0};
    tc_trace_print(&b, s->trace);
    assert_string_equal(tc_sb_str(&b), "t = sample_tile Y.i parts=2 max_inner=8 ~[5]\nio, ii = split Y.i [_, t.1]\n");
    assert_int_equal(s->loops[tc_sch_find_loop(s, "Y.io")].extent, 8);
    tc_strbuf_free(&b);
    tc_ctx_free(c);
}

/* Decisions are drawn from the given generator only: the same state gives the same trace, and a decided trace draws nothing. */
static void test_draws_are_reproducible(void **state) {
    (void)state;
    static const char *const SKETCH = "t = sample_tile Y.j parts=4 max_inner=16\nu = sample_categorical [0, 16, 64, 512]\n"
                                      "l = sample_compute_location S\ncompute_at S l\n";
    tc_ctx *c = tc_ctx_new();
    const tc_workload *w = NULL;
    tc_trace *t = NULL;
    tc_sched *s[3];
    assert_int_equal(tc_te_parse(c, "rows.te", ROWS, &w, NULL), TC_OK);
    assert_int_equal(tc_trace_parse(tc_ctx_arena(c), "x", SKETCH, &t, NULL), TC_OK);
    for (int i = 0; i < 2; i++) {
        tc_rng r = tc_rng_seed(11);
        assert_int_equal(tc_sch_replay(c, w, t, &r, &s[i], NULL), TC_OK);
    }
    assert_true(tc_trace_equal(s[0]->trace, s[1]->trace));
    assert_false(tc_trace_equal(s[0]->trace, t));
    assert_int_equal(tc_sch_replay(c, w, s[0]->trace, NULL, &s[2], NULL), TC_OK);
    assert_true(tc_trace_equal(s[0]->trace, s[2]->trace));
    tc_ctx_free(c);
}

/* A fork shares strings and nothing that a search changes; hashes tell traces apart as tc_trace_equal does. */
static void test_forks_and_hashes(void **state) {
    (void)state;
    static const char *const DECIDED = "t = sample_tile Y.j parts=3 max_inner=16 ~[2, 4]\nl = sample_compute_location S ~Y.i\n";
    tc_arena *a = tc_arena_new(), *b = tc_arena_new();
    tc_trace *t = NULL, *again = NULL;
    assert_int_equal(tc_trace_parse(a, "x", DECIDED, &t, NULL), TC_OK);
    assert_int_equal(tc_trace_parse(b, "x", DECIDED, &again, NULL), TC_OK);
    tc_trace *fork = tc_trace_fork(b, t);
    assert_true(tc_trace_equal(fork, t));
    assert_ptr_equal(fork->steps[0].names, t->steps[0].names);
    assert_true(tc_trace_hash(fork) == tc_trace_hash(t) && tc_trace_hash(again) == tc_trace_hash(t));
    fork->steps[0].dec[1] = 8;
    assert_int_equal(t->steps[0].dec[1], 4);
    assert_false(tc_trace_equal(fork, t));
    assert_true(tc_trace_hash(fork) != tc_trace_hash(t));
    again->steps[1].dec_loc = "root";
    assert_true(tc_trace_hash(again) != tc_trace_hash(t));
    fork->steps[0].dec[1] = 4;
    fork->steps[0].dec[2] = 7; /* not of the decision */
    assert_true(tc_trace_equal(fork, t) && tc_trace_hash(fork) == tc_trace_hash(t));
    fork->steps[0].ndec = 0;
    assert_true(tc_trace_hash(fork) != tc_trace_hash(t));
    assert_true(tc_trace_hash_steps(fork) == tc_trace_hash_steps(again));
    assert_true(tc_trace_hash_decisions(tc_trace_hash_steps(again), fork) == tc_trace_hash(fork));
    tc_arena_free(a);
    tc_arena_free(b);
}

/* The text of a trace in canonical names, and back in those of the workload. */
static void assert_renamed(const char *steps, const char *canonical, const char *own) {
    tc_ctx *c = tc_ctx_new();
    tc_arena *a = tc_ctx_arena(c);
    const tc_workload *w = NULL;
    tc_trace *t = NULL;
    assert_int_equal(tc_te_parse(c, "rows.te", ROWS, &w, NULL), TC_OK);
    assert_int_equal(tc_trace_parse(a, "x", steps, &t, NULL), TC_OK);
    tc_trace *there = tc_trace_canonical(a, w, t), *back = tc_trace_own(a, w, there);
    assert_string_equal(tc_trace_text(a, there), canonical);
    assert_string_equal(tc_trace_text(a, back), own);
    tc_ctx_free(c);
}

static void test_names(void **state) {
    (void)state;
    static const char *const TILED = "t = sample_tile Y.j parts=2 max_inner=16 ~[4]\njo, ji = split Y.j [_, t.1]\n"
                                     "l = sample_compute_location S ~Y.jo\ncompute_at S l\nC = cache_read X M local\n";
    assert_renamed(TILED,
                   "t = sample_tile t3.i1 parts=2 max_inner=16 ~[4]\njo, ji = split t3.i1 [_, t.1]\n"
                   "l = sample_compute_location t2 ~t3.jo\ncompute_at t2 l\nC = cache_read p0 t0 local\n",
                   TILED);
    /* A stage that is made has the axes of the one that it comes from. */
    assert_renamed("L = cache_write S local\nko, ki = split L.k [_, 8]\nreorder L.i L.ko L.ki\n",
                   "L = cache_write t2 local\nko, ki = split L.k0 [_, 8]\nreorder L.i0 L.ko L.ki\n",
                   "L = cache_write S local\nko, ki = split L.k [_, 8]\nreorder L.i L.ko L.ki\n");
    /* A name that is a canonical one gets out of their way, and comes back. */
    assert_renamed("i1, t0 = split Y.i [_, 5]\nunroll Y.t0\n", "own_i1, own_t0 = split t3.i0 [_, 5]\nunroll t3.own_t0\n",
                   "i1, t0 = split Y.i [_, 5]\nunroll Y.t0\n");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_locations),
        cmocka_unit_test(test_lookups),
        cmocka_unit_test(test_malformed_steps),
        cmocka_unit_test(test_steps_are_copied),
        cmocka_unit_test(test_draws_are_reproducible),
        cmocka_unit_test(test_forks_and_hashes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
