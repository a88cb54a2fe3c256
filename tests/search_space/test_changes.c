/* Decisions changed one at a time: each change is another trace that differs where it says, every decision has some, and those
 * that are legal lower. */
#include <string.h>

#include "support/cmocka_all.h"

#include "search_space/changes/changes.h"
#include "te/text.h"
#include "tir_lower/program/program.h"

enum { CHANGES = 128 };

static const char workload[] = "tensor X[128, 96] f32\n"
                               "tensor W[96, 64] f32 const\n"
                               "compute D[i:128, j:64] = sum(k:96) X[i, k] * W[k, j]\n"
                               "output D\n";

static const tc_machine machine = {.vector_bytes = 64,
                                   .vector_regs = 32,
                                   .masks = true,
                                   .fma = true,
                                   .cores = 2,
                                   .l1 = 32 << 10,
                                   .l2 = 1 << 20,
                                   .l3 = 8 << 20,
                                   .line = 64};

typedef struct fixture {
    tc_ctx *ctx;
    tc_arena *arena;
    const tc_workload *w;
    tc_trace *t;
    int n;
    tc_space_change change[CHANGES];
} fixture;

static fixture *changes_of(const char *trace) {
    fixture *f = tc_xcalloc(1, sizeof *f);
    tc_error err = {0};
    f->ctx = tc_ctx_new();
    f->arena = tc_arena_new();
    assert_int_equal(tc_te_parse(f->ctx, "workload", workload, &f->w, &err), TC_OK);
    assert_int_equal(tc_trace_parse(f->arena, "trace", trace, &f->t, &err), TC_OK);
    if (tc_space_changes(f->w, &machine, f->t, f->arena, f->change, CHANGES, &f->n, &err) != TC_OK)
        fail_msg("%s", err.msg);
    return f;
}

static void release(fixture *f) {
    tc_ctx_free(f->ctx);
    tc_arena_free(f->arena);
    free(f);
}

static const tc_space_change *find(const fixture *f, tc_space_change_kind kind, const char *decision, const char *what) {
    for (int i = 0; i < f->n; i++)
        if (f->change[i].kind == kind && strcmp(f->change[i].decision, decision) == 0 && strcmp(f->change[i].what, what) == 0)
            return &f->change[i];
    for (int i = 0; i < f->n; i++)
        print_message("%s: %s: %s\n", tc_space_change_text(f->change[i].kind), f->change[i].decision, f->change[i].what);
    fail_msg("there is no change of %s, %s", decision, what);
    return NULL;
}

static bool lowers(const fixture *f, const tc_trace *t) {
    tc_ctx *ctx = tc_ctx_child(f->w->ctx);
    tc_tir_origin from = {.workload = f->w, .machine = &machine, .trace = t};
    tc_tir_program p;
    tc_status st = tc_tir_program_make(ctx, &from, TC_TIR_LOWERED | TC_TIR_VERIFIED, &p, NULL);
    tc_ctx_free(ctx);
    return st == TC_OK;
}

static void check_all(const fixture *f) {
    for (int i = 0; i < f->n; i++) {
        const tc_space_change *x = &f->change[i];
        assert_false(tc_trace_equal(x->trace, f->t));
        for (int k = 0; k < i; k++)
            assert_false(tc_trace_equal(x->trace, f->change[k].trace));
        assert_true(x->step >= -1 && x->step < f->t->n);
    }
}

static const char sampled[] = "v = sample_categorical [16, 32, 64] ~32\n"
                              "jt, jv = split D.j [_, v]\n"
                              "t = sample_tile D.i parts=3 max_inner=16 ~[4, 8]\n"
                              "i0, i1, i2 = split D.i [_, t.1, t.2]\n"
                              "ko, ku = split D.k [_, 4]\n"
                              "reorder D.i0 D.jt D.i1 D.ko D.ku D.i2 D.jv\n"
                              "unroll D.i2\n"
                              "unroll D.ku\n"
                              "vectorize D.jv\n"
                              "transform_layout W (a, b) -> (b / 32, a, b % 32)\n"
                              "parallel D.i0\n";

static void test_decisions(void **state) {
    (void)state;
    fixture *f = changes_of(sampled);
    check_all(f);
    assert_int_equal(find(f, TC_CHANGE_VECTOR, "jv in D.j", "32 -> 64")->trace->steps[0].dec[0], 64);
    assert_int_equal(find(f, TC_CHANGE_VECTOR, "jv in D.j", "32 -> 16")->trace->steps[0].dec[0], 16);
    const tc_space_change *rows = find(f, TC_CHANGE_REGISTERS, "i2 in D.i", "8 -> 16");
    assert_int_equal(rows->trace->steps[2].dec[1], 16);
    assert_int_equal(rows->trace->steps[2].dec[0], 4); /* nothing else */
    assert_int_equal(rows->step, 2);
    assert_true(rows->more);
    (void)find(f, TC_CHANGE_BLOCK, "i1 in D.i", "4 -> 2");
    (void)find(f, TC_CHANGE_REGISTERS, "ku in D.k", "4 -> 8");
    const tc_space_change *serial = find(f, TC_CHANGE_PARALLEL, "parallel D.i0", "taken out");
    assert_int_equal(serial->trace->n, f->t->n - 1);
    assert_false(serial->more);
    (void)find(f, TC_CHANGE_LAYOUT, "layout of W", "panels of 16 along dimension 1");
    for (int i = 0; i < f->n; i++) /* each step is one of a schedule that can have any of these factors */
        if (f->change[i].kind == TC_CHANGE_REGISTERS || f->change[i].kind == TC_CHANGE_BLOCK)
            assert_true(lowers(f, f->change[i].trace));
    release(f);
}

static void test_what_is_missing(void **state) {
    (void)state;
    fixture *f = changes_of("");
    check_all(f);
    assert_true(lowers(f, find(f, TC_CHANGE_VECTOR, "vectors along D.j", "added, 16 lanes")->trace));
    assert_true(lowers(f, find(f, TC_CHANGE_PARALLEL, "tasks along D.i", "added")->trace));
    assert_true(lowers(f, find(f, TC_CHANGE_UNROLL, "unrolling of D.k", "added, 4 steps")->trace));
    assert_true(lowers(f, find(f, TC_CHANGE_LAYOUT, "layout of W", "panels of 16 along dimension 1")->trace));
    release(f);
}

/* A loop that is entered often gives its tasks to the outermost one; one at the top takes more turns at a time, or the next one
 * takes over. */
static void test_tasks(void **state) {
    (void)state;
    fixture *f = changes_of("parallel D.j\n");
    assert_true(lowers(f, find(f, TC_CHANGE_PARALLEL, "tasks along D.i", "moved from j")->trace));
    release(f);
    f = changes_of("parallel D.i\n");
    assert_true(lowers(f, find(f, TC_CHANGE_PARALLEL, "tasks along D.i", "32 iterations in each task")->trace));
    assert_true(lowers(f, find(f, TC_CHANGE_PARALLEL, "tasks along D.j", "moved from the loop around it")->trace));
    release(f);
}

static void test_refused(void **state) {
    (void)state;
    tc_ctx *ctx = tc_ctx_new();
    tc_arena *a = tc_arena_new();
    const tc_workload *w;
    tc_trace *t;
    tc_space_change out[CHANGES];
    tc_error err = {0};
    int n;
    assert_int_equal(tc_te_parse(ctx, "workload", workload, &w, &err), TC_OK);
    assert_int_equal(tc_trace_parse(a, "trace", "unroll D.x\n", &t, &err), TC_OK);
    assert_int_not_equal(tc_space_changes(w, &machine, t, a, out, CHANGES, &n, &err), TC_OK);
    assert_non_null(strstr(err.msg, "D.x"));
    tc_arena_free(a);
    tc_ctx_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_decisions), cmocka_unit_test(test_what_is_missing),
                                       cmocka_unit_test(test_tasks), cmocka_unit_test(test_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
