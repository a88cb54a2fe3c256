/* From a trace to a program: only what is wanted is made, and what a failure leaves. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "te/text.h"
#include "tir_lower/oracle.h"
#include "tir_lower/program/program.h"

static const char sum_of_rows[] = "tensor X[64, 32] f32\ncompute Y[i:64] = sum(k:32) X[i, k]\noutput Y\n";

typedef struct fixture {
    tc_ctx *ctx;
    const tc_workload *w;
    tc_tir_program p;
    tc_error err;
} fixture;

static fixture open_workload(void) {
    fixture x = {.ctx = tc_ctx_new()};
    if (tc_te_parse(x.ctx, "test.te", sum_of_rows, &x.w, &x.err) != TC_OK)
        fail_msg("%s", x.err.msg);
    return x;
}

static tc_status make(fixture *x, const char *text, tc_rng *rng, unsigned want) {
    tc_tir_origin from = {.workload = x->w, .machine = &test_machine, .text = text, .name = "test.sched", .rng = rng};
    return tc_tir_program_make(x->ctx, &from, want, &x->p, &x->err);
}

static void test_only_what_is_wanted(void **state) {
    (void)state;
    const char text[] = "io, ii = split Y.i [_, 16]\nparallel Y.io\n";
    fixture x = open_workload();
    assert_int_equal(make(&x, text, NULL, 0), TC_OK);
    assert_non_null(x.p.sched);
    assert_null(x.p.nest);
    assert_int_equal(make(&x, text, NULL, TC_TIR_NEST), TC_OK);
    assert_non_null(x.p.nest);
    assert_null(x.p.lowered);
    assert_true(x.p.hash == 0);
    uint64_t hash = tc_tir_hash(x.p.nest);
    assert_int_equal(make(&x, text, NULL, TC_TIR_HASH), TC_OK);
    assert_true(x.p.hash == hash);
    assert_null(x.p.lowered);
    assert_int_equal(make(&x, text, NULL, TC_TIR_LOWERED), TC_OK);
    assert_non_null(x.p.lowered);
    assert_true(x.p.hash == 0);
    assert_true(x.p.lowered->place != NULL || x.p.lowered->nplace == 0);
    assert_true(tc_tir_hash(x.p.lowered) != hash);
    tc_ctx_free(x.ctx);
}

/* A schedule that there is goes on to the same program as one in a single call. */
static void test_in_two_calls(void **state) {
    (void)state;
    const char text[] = "io, ii = split Y.i [_, 16]\nparallel Y.io\n";
    fixture x = open_workload();
    const tc_tir_origin from = {.machine = &test_machine};
    assert_int_equal(make(&x, text, NULL, TC_TIR_HASH), TC_OK);
    uint64_t hash = x.p.hash;
    assert_int_equal(make(&x, text, NULL, 0), TC_OK);
    const tc_sched *sched = x.p.sched;
    assert_int_equal(tc_tir_program_more(x.ctx, &from, TC_TIR_HASH, &x.p, &x.err), TC_OK);
    assert_ptr_equal(x.p.sched, sched);
    assert_true(x.p.hash == hash);
    const tc_func *nest = x.p.nest;
    assert_int_equal(tc_tir_program_more(x.ctx, &from, TC_TIR_LOWERED, &x.p, &x.err), TC_OK);
    assert_ptr_equal(x.p.nest, nest);
    assert_non_null(x.p.lowered);
    tc_ctx_free(x.ctx);
}

/* What is drawn stands in the schedule's trace, which makes the same program without a generator. */
static void test_drawn_decisions(void **state) {
    (void)state;
    const char open[] = "t = sample_tile Y.i parts=2 max_inner=64\nio, ii = split Y.i [_, t.1]\n";
    fixture x = open_workload();
    tc_rng rng = tc_rng_seed(3);
    assert_int_equal(make(&x, open, &rng, TC_TIR_HASH), TC_OK);
    uint64_t hash = x.p.hash;
    tc_tir_origin from = {.workload = x.w, .machine = &test_machine, .trace = x.p.sched->trace};
    assert_int_equal(tc_tir_program_make(x.ctx, &from, TC_TIR_HASH, &x.p, &x.err), TC_OK);
    assert_true(x.p.hash == hash);
    tc_ctx_free(x.ctx);
}

static void test_failures(void **state) {
    (void)state;
    fixture x = open_workload();
    assert_int_equal(make(&x, "split Y.i", NULL, TC_TIR_HASH), TC_BAD_INPUT);
    assert_non_null(strstr(x.err.msg, "test.sched:1"));
    assert_null(x.p.sched);
    assert_int_equal(make(&x, "io, ii = split Y.i [_, 0]\n", NULL, TC_TIR_HASH), TC_ILLEGAL);
    assert_non_null(strstr(x.err.msg, "step 1"));
    assert_null(x.p.nest);
    assert_int_equal(make(&x, "vectorize Y.i\n", NULL, TC_TIR_HASH | TC_TIR_LOWERED), TC_ILLEGAL); /* around a reduction */
    assert_non_null(x.p.sched);
    assert_null(x.p.nest);
    assert_true(x.p.hash == 0);
    assert_null(x.p.lowered);
    tc_ctx_free(x.ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_only_what_is_wanted),
        cmocka_unit_test(test_in_two_calls),
        cmocka_unit_test(test_drawn_decisions),
        cmocka_unit_test(test_failures),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
