/* Constructed schedules of kernels whose sizes vary: the verifier shows of the first one that it keeps within them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "search_space/space_int.h"
#include "te/index/prove.h"
#include "te/text.h"
#include "tir_lower/oracle.h"
#include "tir_lower/passes/passes.h"
#include "tir_lower/program/program.h"

/* Convolutions and pooling over images of a varying batch, one with tiles of columns that do not divide the row. */
static const char conv[] =
    "symbol N 1..16\n"
    "tensor X[N, 28, 28, 32] f32\n"
    "tensor W[3, 3, 32, 64] f32 const\n"
    "compute P[n:N, h:30, w:30, c:32] = select(h >= 1 && h < 29 && (w >= 1 && w < 29), X[n, h - 1, w - 1, c], 0.0)\n"
    "compute C[n:N, h:28, w:28, c:64] = sum(y:3, x:3, k:32) P[n, h + y, w + x, k] * W[y, x, k, c]\n"
    "compute Y[n:N, h:28, w:28, c:64] = max(C[n, h, w, c], 0.0)\n"
    "output Y\n";
static const char pooling[] =
    "symbol N 1..16\n"
    "tensor X[N, 56, 56, 64] f32\n"
    "compute P[n:N, h:58, w:58, c:64] = select(h >= 1 && h < 57 && (w >= 1 && w < 57), X[n, h - 1, w - 1, c], -inf)\n"
    "compute Y[n:N, h:28, w:28, c:64] = max(y:3, x:3) P[n, h * 2 + y, w * 2 + x, c]\n"
    "output Y\n";
/* A copy between arrays of different density, whose loops are one. */
static const char output[] = "symbol B 1..4\n"
                             "symbol S 1..512\n"
                             "tensor X[B, 512, 128] f32\n"
                             "compute Y[b:B, s:S, c:128] = X[b, s, c]\n"
                             "output Y\n";
static const char norm[] = "symbol B 1..4\n"
                           "symbol S 1..512\n"
                           "tensor X[B, S, 128] f32\n"
                           "compute M[b:B, s:S] = sum(k:128) X[b, s, k]\n"
                           "compute D[b:B, s:S, c:128] = X[b, s, c] - M[b, s] * 0.0078125\n"
                           "compute V[b:B, s:S] = sum(k:128) D[b, s, k] * D[b, s, k]\n"
                           "compute Y[b:B, s:S, c:128] = D[b, s, c] / sqrt(V[b, s] * 0.0078125 + 0.00001)\n"
                           "output Y\n";

/* Images of any height and width, their padding masked: a convolution, one of few rows, one of every other row, and by channels. */
#define IMAGE(n, c) "symbol H 1.." #n "\nsymbol W 1.." #n "\ntensor X[H, W, " #c "] f32\n"
#define PADDED(past, c)                                                                                                          \
    "compute P[h:" #past ", w:" #past ", c:" #c                                                                                  \
    "] = select(h >= 1 && w >= 1 && (W - w >= 0 && H - h >= 0), X[h - 1, w - 1, c], 0.0)\n"
static const char image[] = IMAGE(56, 64) "tensor K[3, 3, 64, 64] f32 const\n" PADDED(
    58, 64) "compute C[h:H, w:W, c:64] = sum(y:3, x:3, k:64) P[h + y, w + x, k] * K[y, x, k, c]\n"
            "compute Y[h:H, w:W, c:64] = max(C[h, w, c], 0.0)\n"
            "output Y\n";
static const char small_image[] = IMAGE(7, 512) "tensor K[3, 3, 512, 512] f32 const\n" PADDED(
    9, 512) "compute Y[h:H, w:W, c:512] = sum(y:3, x:3, k:512) P[h + y, w + x, k] * K[y, x, k, c]\n"
            "output Y\n";
static const char strided[] = "symbol R 1..14\nsymbol Q 1..14\n" IMAGE(28, 192) "tensor K[3, 3, 192] f32 const\n" PADDED(
    30, 192) "compute Y[h:R, w:Q, c:192] = sum(y:3, x:3) P[h * 2 + y, w * 2 + x, c] * K[y, x, c]\n"
             "output Y\n";
static const char by_channels[] = IMAGE(14, 384) "tensor K[3, 3, 384] f32 const\n" PADDED(
    16, 384) "compute Y[h:H, w:W, c:384] = sum(y:3, x:3) P[h + y, w + x, c] * K[y, x, c]\n"
             "output Y\n";

/* What upscales images by sub-pixels: nine channels, in planes. Rows of 192 are two tiles of columns; rows of 208, 223 and 224 are
 * three, the last of which is in part padding. */
#define PLANES(n, past, padded)                                                                                                  \
    "symbol N 1..16\ntensor X[N, " #n ", " #n ", 32] f32\ntensor W[3, 3, 32, 9] f32 const\ntensor B[9] f32 const\n"              \
    "compute P[n:N, h:" #padded ", w:" #padded ", c:32] = select(h >= 1 && h < " #past " && (w >= 1 && w < " #past               \
    "), X[n, h - 1, w - 1, c], 0.0)\n"                                                                                           \
    "compute C[n:N, h:" #n ", w:" #n ", c:9] = sum(y:3, x:3, k:32) P[n, h + y, w + x, k] * W[y, x, k, c]\n"                      \
    "compute Y[n:N, c:9, h:" #n ", w:" #n "] = C[n, h, w, c] + B[c]\noutput Y\n"
static const char planes_192[] = PLANES(192, 193, 194), planes_208[] = PLANES(208, 209, 210),
                  planes_223[] = PLANES(223, 224, 225), planes_224[] = PLANES(224, 225, 226);

/* Pooling of volumes whose sizes all vary, but for their channels. */
static const char volume[] =
    "symbol N 1..16\nsymbol D 1..512\nsymbol H 1..512\nsymbol W 1..512\n"
    "symbol d = (D - 1) / 2 + 1\nsymbol h = (H - 1) / 2 + 1\nsymbol w = (W - 1) / 2 + 1\n"
    "tensor X[N, 8, D, H, W] f32\n"
    "compute P[n:N, c:8, z:514, y:514, x:514] = select(z >= 1 && y >= 1 && x >= 1 && (D - z >= 0 && H - y >= 0 && W - x >= 0), "
    "X[n, c, z - 1, y - 1, x - 1], -inf)\n"
    "compute Y[n:N, c:8, z:d, y:h, x:w] = max(i:3, j:3, k:3) P[n, c, z * 2 + i, y * 2 + j, x * 2 + k]\n"
    "output Y\n";

typedef struct fixture {
    tc_ctx *ctx;
    tc_arena *arena;
    const tc_workload *w;
    tc_space *space;
    tc_error err;
} fixture;

static fixture open_space(const char *text) {
    fixture x = {.ctx = tc_ctx_new(), .arena = tc_arena_new()};
    if (tc_te_parse(x.ctx, "test.te", text, &x.w, &x.err) != TC_OK || tc_space_new(x.w, &test_machine, &x.space, &x.err) != TC_OK)
        fail_msg("%s", x.err.msg);
    return x;
}

static void close_space(fixture *x) {
    tc_space_free(x->space);
    tc_arena_free(x->arena);
    tc_ctx_free(x->ctx);
}

static void test_first_is_shown(void **state) {
    (void)state;
    static const char *const texts[] = {conv,        pooling,    output,     norm,       image,      small_image, strided,
                                        by_channels, planes_192, planes_208, planes_223, planes_224, volume};
    for (size_t i = 0; i < TC_LEN(texts); i++) {
        fixture x = open_space(texts[i]);
        tc_trace *first, *chosen;
        assert_int_equal(tc_space_construct(x.space, x.arena, &first, 1), 1);
        assert_int_equal(tc_space_default(x.space, x.arena, &chosen, &x.err), TC_OK);
        if (!tc_trace_equal(first, chosen))
            fail_msg("workload %zu: the first constructed schedule is not shown to be right", i);
        close_space(&x);
    }
}

/* The proofs are short: together they take a small part of the budget. */
static void test_budget_hardly_shrinks(void **state) {
    (void)state;
    static const char *const texts[] = {conv, pooling, norm, image, planes_192, planes_208, planes_223, planes_224, volume};
    for (size_t i = 0; i < TC_LEN(texts); i++) {
        fixture x = open_space(texts[i]);
        tc_trace *first;
        tc_tir_program p;
        assert_int_equal(tc_space_construct(x.space, x.arena, &first, 1), 1);
        int64_t work = TC_PROOF_WORK;
        tc_tir_origin from = {.workload = x.w, .machine = &test_machine, .trace = first, .work = &work};
        if (tc_tir_program_make(x.ctx, &from, TC_TIR_VERIFIED, &p, &x.err) != TC_OK)
            fail_msg("workload %zu: %s", i, x.err.msg);
        assert_in_range(TC_PROOF_WORK - work, 1, TC_PROOF_WORK / 8);
        close_space(&x);
    }
}

static void add_terms(const tc_stmt *s, void *user) {
    int64_t *terms = user;
    if (s->kind == TC_STMT_STORE)
        *terms += tc_expr_tree_size(s->u.store.value, INT32_MAX);
}

/* Each select has a guard of its own, and a copy of the body for each side of it would have a guard less. Copies end before the
 * program is large, and so do proofs. */
static void test_many_selects_make_no_large_program(void **state) {
    (void)state;
    tc_strbuf b = {0};
    tc_sb_add(&b, "symbol N 1..64\nsymbol M 1..64\nsymbol P = N + M\ntensor A[N, M] f32\ntensor B[P] f32\n"
                  "compute Y[i:N, j:M] = A[i, j]");
    for (int k = 0; k < 40; k++)
        tc_sb_printf(&b,
                     k % 3 == 0   ? " + select(i * M + j < N * M - %d, A[(i * M + j + %d) / M, (i * M + j + %d) %% M], 0.0)"
                     : k % 3 == 1 ? " + select(j + %d < M && i >= %d, A[i - %d, j], 0.0)"
                                  : " + select(i * %d + j < P, B[(i * %d + j) %% P], f32(%d))",
                     k % 9 + 1, k % 9 + 1, k % 9 + 1);
    tc_sb_add(&b, "\noutput Y\n");
    fixture x = open_space(tc_sb_str(&b));
    tc_trace *first, *chosen;
    tc_tir_program p;
    int64_t work = TC_PROOF_WORK, terms = 0;
    assert_int_equal(tc_space_construct(x.space, x.arena, &first, 1), 1);
    assert_int_equal(tc_space_default(x.space, x.arena, &chosen, &x.err), TC_OK);
    assert_true(tc_trace_equal(first, chosen));
    tc_tir_origin from = {.workload = x.w, .machine = &test_machine, .trace = first, .work = &work};
    assert_int_equal(tc_tir_program_make(x.ctx, &from, TC_TIR_VERIFIED, &p, &x.err), TC_OK);
    tc_tir_walk(p.lowered->body, add_terms, &terms);
    assert_in_range(terms, 1, 1 << 20);
    assert_in_range(TC_PROOF_WORK - work, 1, TC_PROOF_WORK / 2);
    tc_strbuf_free(&b);
    close_space(&x);
}

/* Rows of a tile are columns of an image, which there are in every run. */
static void test_tile_is_of_fixed_size(void **state) {
    (void)state;
    fixture x = open_space(conv);
    tc_trace *t;
    assert_int_equal(tc_space_construct(x.space, x.arena, &t, 1), 1);
    const sketch *k = &x.space->sk[tc_space_sketch_of(x.space, t)];
    int nrow = 0;
    for (int i = 0; i < k->ndec; i++) {
        const decision *d = &k->dec[i];
        if (d->role != ROLE_ROW_TILE)
            continue;
        nrow++;
        assert_int_equal(d->varies, d->extent == 16);
        if (d->varies)
            assert_int_equal(t->steps[d->step].dec[1], 1);
    }
    assert_int_equal(nrow, 3);
    close_space(&x);
}

/* No tile is so long that what a size leaves of it is computed with tests. */
static void test_rows_are_left(void **state) {
    (void)state;
    static const char *const texts[] = {image, small_image};
    for (size_t t = 0; t < TC_LEN(texts); t++) {
        fixture x = open_space(texts[t]);
        tc_trace *first;
        assert_int_equal(tc_space_construct(x.space, x.arena, &first, 1), 1);
        const sketch *k = &x.space->sk[tc_space_sketch_of(x.space, first)];
        for (int i = 0; i < k->ndec; i++)
            if (k->dec[i].role == ROLE_ROW_TILE && k->dec[i].primary)
                assert_in_range(first->steps[k->dec[i].step].dec[1], 2, TC_TIR_ROWS_LEFT + 1);
        close_space(&x);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_first_is_shown), cmocka_unit_test(test_budget_hardly_shrinks),
                                       cmocka_unit_test(test_many_selects_make_no_large_program),
                                       cmocka_unit_test(test_tile_is_of_fixed_size), cmocka_unit_test(test_rows_are_left)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
