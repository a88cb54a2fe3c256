/* Workloads that were made for the largest sizes, ended at sizes: what of them is left, and that what is left is the same. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support/vec.h"
#include "te/te.h"
#include "te/text.h"

/* Symbols of a workload by name, so that masks in its text mean them. */
static const tc_var *symbol_named(const tc_workload *w, const char *name) {
    for (int i = 0; i < w->nsymbol; i++)
        if (strcmp(w->symbols[i]->name, name) == 0)
            return w->symbols[i];
    fail_msg("there is no symbol %s", name);
    return NULL;
}

typedef struct limited {
    tc_arena *arena;
    tc_ctx *ctx;
    const tc_workload *before, *after;
    tc_te_part asked[4], read[8];
} limited;

/* `asked`: names of the sizes of the first output's dimensions, "-" for all; inputs end where they are read. */
static limited limit(const char *text, const char *const *asked) {
    limited l = {.arena = tc_arena_new(), .ctx = tc_ctx_new()};
    tc_error err = {0};
    if (tc_te_parse(l.ctx, "test.te", text, &l.before, &err) != TC_OK)
        fail_msg("%s", err.msg);
    for (int d = 0; d < l.before->out[0]->ndim; d++)
        l.asked[0].size[d] = strcmp(asked[d], "-") == 0 ? NULL : symbol_named(l.before, asked[d]);
    tc_te_part want = l.asked[0];
    assert_int_equal(tc_te_limit(l.ctx, l.before, l.before->nsymbol, l.before->symbols, l.asked, NULL, NULL, l.read, &err),
                     TC_OK);
    l.asked[0] = want;
    tc_te_part again[8];
    if (tc_te_limit(l.ctx, l.before, l.before->nsymbol, l.before->symbols, l.asked, l.read, &l.after, again, &err) != TC_OK)
        fail_msg("%s", err.msg);
    assert_memory_equal(again, l.read, sizeof l.read[0] * (size_t)l.before->nin);
    return l;
}

static void expect_text(const limited *l, const char *want) {
    assert_string_equal(tc_te_text(l->arena, tc_te_canonical(l->ctx, l->after)), want);
}

static void close_limited(limited *l) {
    tc_ctx_free(l->ctx);
    tc_arena_free(l->arena);
}

/* What makes the operand of a sum ends where the sum does, and the mask vanishes. */
static void test_masked_sum(void **state) {
    (void)state;
    limited l = limit("symbol N 0..8\n"
                      "tensor X[4, 8] f32\n"
                      "compute E[i:4, k:8] = exp(X[i, k])\n"
                      "compute Y[i:4] = sum(k:N) select(k < N, E[i, k], 0.0)\n"
                      "output Y\n",
                      (const char *const[]){"-"});
    expect_text(&l, "symbol s0 0..8\n"
                    "tensor p0[4, s0] f32\n"
                    "compute t0[i0:4, i1:s0] = exp(p0[i0, i1])\n"
                    "compute t1[i0:4] = sum(k0:s0) t0[i0, k0]\n"
                    "output t1\n");
    close_limited(&l);
}

/* Softmax over masked rows. */
static void test_softmax(void **state) {
    (void)state;
    limited l = limit("symbol R 1..4\n"
                      "symbol N 1..8\n"
                      "tensor X[4, 8] f32\n"
                      "compute M[i:4] = max(k:N) select(k < N, X[i, k], -inf)\n"
                      "compute E[i:4, k:8] = exp(select(k < N, X[i, k], -inf) - M[i])\n"
                      "compute S[i:4] = sum(k:N) E[i, k]\n"
                      "compute Z[i:4] = select(i < R, 1.0, 0.0)\n"
                      "compute Y[i:4, j:8] = E[i, j] / S[i] * Z[i]\n"
                      "output Y\n",
                      (const char *const[]){"R", "N"});
    expect_text(&l, "symbol s0 1..4\n"
                    "symbol s1 1..8\n"
                    "tensor p0[s0, s1] f32\n"
                    "compute t0[i0:s0] = max(k0:s1) p0[i0, k0]\n"
                    "compute t1[i0:s0, i1:s1] = exp(p0[i0, i1] - t0[i0])\n"
                    "compute t2[i0:s0] = sum(k0:s1) t1[i0, k0]\n"
                    "compute t3[i0:s0] = 1.0\n"
                    "compute t4[i0:s0, i1:s1] = t1[i0, i1] / t2[i0] * t3[i0]\n"
                    "output t4\n");
    close_limited(&l);
}

/* Readers that do not agree get all of it; what depends on data, too. */
static void test_not_ended(void **state) {
    (void)state;
    limited l = limit("symbol N 1..8\n"
                      "tensor X[8] f32\n"
                      "tensor I[8] i64\n"
                      "compute T[i:8] = X[i] * 2.0\n"
                      "compute Y[i:8] = select(i < N, T[i], 0.0) + T[7 - i] + X[max(min(I[i], 7), 0)]\n"
                      "output Y\n",
                      (const char *const[]){"N"});
    expect_text(&l, "symbol s0 1..8\n"
                    "tensor p0[8] f32\n"
                    "tensor p1[s0] i64\n"
                    "compute t0[i0:8] = p0[i0] * 2.0\n"
                    "compute t1[i0:s0] = t0[i0] + t0[7 - i0] + p0[max(min(p1[i0], 7), 0)]\n"
                    "output t1\n");
    close_limited(&l);
}

/* Who reads the first element alone agrees with every size that is not 0, not just with the one that is looked at first. */
static void test_first(void **state) {
    (void)state;
    limited l = limit("symbol B 1..4\n"
                      "symbol S 1..8\n"
                      "symbol Z 0..8\n"
                      "tensor X[4, 8] f32\n"
                      "tensor V[4, 8] f32\n"
                      "compute T[b:4, s:8] = X[b, s] * 2.0\n"
                      "compute U[b:4, s:8] = V[b, s] * 3.0\n"
                      "compute Y[b:4, s:8] = T[b, s] + T[b, 0] + U[b, 0] + f32(B + S + Z)\n"
                      "output Y\n",
                      (const char *const[]){"B", "S"});
    expect_text(&l, "symbol s0 1..4\n"
                    "symbol s1 1..8\n"
                    "symbol s2 0..8\n"
                    "tensor p0[s0, s1] f32\n"
                    "tensor p1[s0, s0] f32\n"
                    "compute t0[i0:s0, i1:s1] = p0[i0, i1] * 2.0\n"
                    "compute t1[i0:s0, i1:s0] = p1[i0, i1] * 3.0\n"
                    "compute t2[i0:s0, i1:s1] = t0[i0, i1] + t0[i0, 0] + t1[i0, 0] + f32(s0 + s1 + s2)\n"
                    "output t2\n");
    close_limited(&l);
}

/* There may be no first element. */
static void test_no_first(void **state) {
    (void)state;
    limited l = limit("symbol Z 0..8\n"
                      "tensor X[8] f32\n"
                      "compute T[z:8] = X[z] * 2.0\n"
                      "compute Y[z:8] = T[z] + T[0] + f32(Z)\n"
                      "output Y\n",
                      (const char *const[]){"Z"});
    expect_text(&l, "symbol s0 0..8\n"
                    "tensor p0[8] f32\n"
                    "compute t0[i0:8] = p0[i0] * 2.0\n"
                    "compute t1[i0:s0] = t0[i0] + t0[0] + f32(s0)\n"
                    "output t1\n");
    close_limited(&l);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_masked_sum), cmocka_unit_test(test_softmax),
                                       cmocka_unit_test(test_not_ended), cmocka_unit_test(test_first),
                                       cmocka_unit_test(test_no_first)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
