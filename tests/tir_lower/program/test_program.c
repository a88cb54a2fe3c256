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

/* ---- programs by size ---- */

static const char rows_by_size[] = "symbol N 1..40\n"
                                   "symbol M 1..3\n"
                                   "tensor X[N, M, 32] f32\n"
                                   "compute E[i:N, m:M, k:32] = exp(X[i, m, k])\n"
                                   "compute Y[i:N, m:M] = sum(k:32) E[i, m, k]\n"
                                   "output Y\n";

/* The same in one stage, with symbols of its own. */
static const char in_one_stage[] = "symbol A 1..40\n"
                                   "symbol B 1..3\n"
                                   "tensor X[A, B, 32] f32\n"
                                   "compute Y[i:A, m:B] = sum(k:32) exp(X[i, m, k])\n"
                                   "output Y\n";

typedef struct several {
    tc_ctx *c;
    const tc_workload *w;
    int n; /* spans */
    const int64_t *upto;
    const tc_func *each[4]; /* of each span */
} several;

/* Parallel loops, packed rows and buffers of their own. */
static several open_several(int n, const int *program, const int64_t *upto) {
    static const char *const texts[] = {"compute_at E Y.i\n", "io, ii = split Y.i [_, 8]\nparallel Y.io\ncompute_at E Y.io\n",
                                        "f = fuse Y.i Y.m\nparallel Y.f\nvectorize E.k\n",
                                        "io, ii = split Y.i [_, 4]\nparallel Y.io\n"};
    const tc_workload *other;
    several x = {.c = tc_ctx_new(), .n = n, .upto = upto};
    const tc_func *all[TC_LEN(texts)];
    tc_error err = {0};
    assert_int_equal(tc_te_parse(x.c, "test.te", rows_by_size, &x.w, &err), TC_OK);
    assert_int_equal(tc_te_parse(x.c, "test.te", in_one_stage, &other, &err), TC_OK);
    for (size_t i = 0; i < TC_LEN(texts); i++) {
        tc_tir_origin from = {.workload = i < 3 ? x.w : other, .machine = &test_machine, .text = texts[i], .name = "test.sched"};
        tc_tir_program p;
        if (tc_tir_program_make(x.c, &from, TC_TIR_VERIFIED, &p, &err) != TC_OK)
            fail_msg("%s", err.msg);
        all[i] = p.lowered;
    }
    for (int i = 0; i < n; i++)
        x.each[i] = all[program[i]];
    return x;
}

/* One function of them, where `broken` is one that does nothing; NULL: none is. */
static const tc_func *joined(const several *x, const tc_func *broken) {
    const tc_func *each[TC_LEN(x->each)];
    tc_func *nothing = tc_arena_dup(tc_ctx_arena(x->c), x->each[0], sizeof *nothing), *out;
    tc_error err = {0};
    nothing->body = NULL;
    for (int i = 0; i < x->n; i++)
        each[i] = x->each[i] == broken ? nothing : x->each[i];
    assert_int_equal(tc_tir_variants(x->c, x->n, each, x->upto, &out, &err), TC_OK);
    return out;
}

static int span_of(const several *x, int64_t product) {
    int i = 0;
    while (product > x->upto[i])
        i++;
    return i;
}

/* Whichever serves a run, the result is right, and which one it is shows where the others are broken. */
static void check_all_sizes(const several *x) {
    for (int64_t n = 1; n <= 40; n++)
        for (int64_t m = 1; m <= 3; m++) {
            oracle o;
            tc_error err = {0};
            tc_ctx *at = tc_ctx_new();
            const int64_t sizes[] = {n, m};
            assert_int_equal(oracle_open_at(&o, at, x->w, sizes, (uint64_t)(n * 3 + m), &err), TC_OK);
            assert_int_equal(oracle_run(&o, joined(x, NULL), 1, &err), TC_OK);
            for (int i = 0; i < x->n; i++) {
                bool serves = x->each[span_of(x, n * m)] == x->each[i];
                assert_int_equal(oracle_run(&o, joined(x, x->each[i]), 1, &err) == TC_OK, !serves);
            }
            oracle_close(&o);
            tc_ctx_free(at);
        }
}

static void test_variants(void **state) {
    (void)state;
    static const int program[] = {0, 1, 2};
    static const int64_t upto[] = {6, 30, INT64_MAX};
    several x = open_several(3, program, upto);
    check_all_sizes(&x);
    tc_ctx_free(x.c);
}

static void count_stores(const tc_stmt *s, void *user) {
    *(int *)user += s->kind == TC_STMT_STORE;
}

static int stores_of(const tc_func *f) {
    int n = 0;
    tc_tir_walk(f->body, count_stores, &n);
    return n;
}

static bool stands_first(const several *x, int span) {
    for (int i = 0; i < span; i++)
        if (x->each[i] == x->each[span])
            return false;
    return true;
}

/* It stands there once, in the middle, at the end and beside the others. */
static void test_a_program_of_several_spans(void **state) {
    (void)state;
    static const int program[][4] = {{0, 1, 0, 1}, {1, 2, 1, 0}, {0, 1, 2, 0}, {2, 1, 1, 2}};
    static const int64_t upto[] = {6, 30, 60, INT64_MAX};
    for (size_t i = 0; i < TC_LEN(program); i++) {
        several x = open_several(4, program[i], upto);
        int once = 0;
        for (int k = 0; k < x.n; k++)
            once += stands_first(&x, k) ? stores_of(x.each[k]) : 0;
        assert_int_equal(stores_of(joined(&x, NULL)), once);
        check_all_sizes(&x);
        tc_ctx_free(x.c);
    }
}

/* What takes and gives the same can be a variant, whichever stands first. */
static void test_programs_of_other_workloads(void **state) {
    (void)state;
    static const int program[][3] = {{3, 1, 3}, {0, 3, 2}};
    static const int64_t upto[] = {6, 30, INT64_MAX};
    for (size_t i = 0; i < TC_LEN(program); i++) {
        several x = open_several(3, program[i], upto);
        check_all_sizes(&x);
        tc_ctx_free(x.c);
    }
}

/* One that packs its weights otherwise cannot be called with the other's. */
static void test_other_layout(void **state) {
    (void)state;
    static const char text[] = "symbol N 1..40\n"
                               "tensor X[N, 32] f32\n"
                               "tensor W[32, 64] f32 const\n"
                               "compute Y[i:N, j:64] = sum(k:32) X[i, k] * W[k, j]\n"
                               "output Y\n";
    static const int64_t upto[] = {8, INT64_MAX};
    tc_error err = {0};
    tc_ctx *c = tc_ctx_new();
    const tc_workload *w;
    tc_func *out;
    const tc_func *each[2];
    assert_int_equal(tc_te_parse(c, "test.te", text, &w, &err), TC_OK);
    for (int i = 0; i < 2; i++) {
        tc_tir_origin from = {.workload = w,
                              .machine = &test_machine,
                              .text = i ? "transform_layout W (x0, x1) -> (x1 / 16, x0, x1 % 16)\n" : "",
                              .name = "test.sched"};
        tc_tir_program p;
        if (tc_tir_program_make(c, &from, TC_TIR_LOWERED, &p, &err) != TC_OK)
            fail_msg("%s", err.msg);
        each[i] = p.lowered;
    }
    assert_int_equal(tc_tir_variants(c, 2, each, upto, &out, &err), TC_ILLEGAL);
    tc_ctx_free(c);
}

/* One whose sizes have another range is for other runs. */
static void test_other_range(void **state) {
    (void)state;
    static const char *const text[] = {"symbol N 1..40\ntensor X[N] f32\ncompute Y[i:N] = X[i] + 1.0\noutput Y\n",
                                       "symbol N 2..40\ntensor X[N] f32\ncompute Y[i:N] = X[i] + 1.0\noutput Y\n"};
    static const int64_t upto[] = {8, INT64_MAX};
    tc_error err = {0};
    tc_ctx *c = tc_ctx_new();
    tc_func *out;
    const tc_func *each[2];
    for (int i = 0; i < 2; i++) {
        const tc_workload *w;
        tc_tir_program p;
        assert_int_equal(tc_te_parse(c, "test.te", text[i], &w, &err), TC_OK);
        tc_tir_origin from = {.workload = w, .machine = &test_machine, .text = "", .name = "test.sched"};
        assert_int_equal(tc_tir_program_make(c, &from, TC_TIR_LOWERED, &p, &err), TC_OK);
        each[i] = p.lowered;
    }
    assert_int_equal(tc_tir_variants(c, 2, each, upto, &out, &err), TC_ILLEGAL);
    tc_ctx_free(c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_variants),
        cmocka_unit_test(test_a_program_of_several_spans),
        cmocka_unit_test(test_programs_of_other_workloads),
        cmocka_unit_test(test_other_range),
        cmocka_unit_test(test_other_layout),
        cmocka_unit_test(test_only_what_is_wanted),
        cmocka_unit_test(test_in_two_calls),
        cmocka_unit_test(test_drawn_decisions),
        cmocka_unit_test(test_failures),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
