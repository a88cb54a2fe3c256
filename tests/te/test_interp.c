/* The reference interpreter against loops written out in C, and against itself point by point. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <math.h>

#include "support/vec.h"
#include "te/eval.h"
#include "te/text.h"
#include "te/unit_gain.h"

enum { MAX_TENSORS = 24 };

/* A parsed workload with filled inputs and computed outputs. */
typedef struct run {
    tc_ctx *c;
    const tc_workload *w;
    void *in[MAX_TENSORS], *out[MAX_TENSORS];
} run;

static void *new_data(const tc_tensor *t) {
    return tc_xcalloc((size_t)tc_tensor_size(t) + 1, (size_t)tc_dtype_bytes(t->dtype));
}

static run open_run(const char *text) {
    run r = {.c = tc_ctx_new()};
    tc_error err;
    if (tc_te_parse(r.c, "test", text, &r.w, &err) != TC_OK)
        fail_msg("%s in\n%s", err.msg, text);
    tc_rng rng = tc_rng_seed(11);
    assert_true(r.w->nin < MAX_TENSORS && r.w->nout < MAX_TENSORS);
    for (int i = 0; i < r.w->nin; i++) {
        r.in[i] = new_data(r.w->in[i]);
        tc_te_random_fill(r.w->in[i]->dtype, r.in[i], tc_tensor_size(r.w->in[i]), &rng, tc_te_index_limit(r.w, i));
    }
    for (int i = 0; i < r.w->nout; i++)
        r.out[i] = new_data(r.w->out[i]);
    return r;
}

static void close_run(run *r) {
    for (int i = 0; i < r->w->nin; i++)
        free(r->in[i]);
    for (int i = 0; i < r->w->nout; i++)
        free(r->out[i]);
    tc_ctx_free(r->c);
}

/* A few points of every output must come out as in the whole. */
static void check_points(const run *r) {
    tc_error err;
    tc_rng rng = tc_rng_seed(5);
    for (int o = 0; o < r->w->nout; o++) {
        const tc_tensor *t = r->w->out[o];
        enum { N = 20 };
        int64_t coords[N * TC_MAX_DIMS], offset[N];
        tc_scalar results[N];
        double cost;
        for (int p = 0; p < N; p++) {
            offset[p] = 0;
            for (int d = 0; d < t->ndim; d++) {
                int64_t x = tc_rng_below(&rng, t->shape[d]);
                coords[p * t->ndim + d] = x;
                offset[p] = offset[p] * t->shape[d] + x;
            }
        }
        if (tc_te_interp_points(r->w, (const void *const *)r->in, o, N, coords, results, 0, &cost, &err) != TC_OK)
            fail_msg("%s", err.msg);
        assert_true(cost >= 0);
        for (int p = 0; p < N; p++) {
            tc_scalar whole = tc_scalar_at(t->dtype, r->out[o], offset[p]);
            double got = results[p].f, want = whole.f;
            bool same = tc_dtype_is_float(t->dtype)
                            ? fabs(got - want) <= 1e-6 * fabs(want) || (isnan(got) && isnan(want)) || got == want
                            : results[p].i == whole.i;
            if (!same)
                fail_msg("%s: point %lld is %.9g or %lld, but %.9g or %lld in the whole", t->name, (long long)offset[p], got,
                         (long long)results[p].i, want, (long long)whole.i);
        }
    }
}

static run interpret(const char *text) {
    run r = open_run(text);
    tc_error err;
    if (tc_te_interp(r.w, (const void *const *)r.in, r.out, &err) != TC_OK)
        fail_msg("%s in\n%s", err.msg, text);
    check_points(&r);
    return r;
}

static void near(double got, double want, double tolerance) {
    if (!(fabs(got - want) <= tolerance))
        fail_msg("got %.9g, expected %.9g", got, want);
}

/* ---- against C ---- */

static void gemm(void **state) {
    (void)state;
    enum { M = 33, N = 47, K = 70 };
    run r = interpret(
        "tensor X[33, 70] f32\ntensor W[70, 47] f32 const\ntensor B[47] f32\n"
        "compute D[i:33, j:47] = sum(k:70) X[i, k] * W[k, j]\ncompute Y[i:33, j:47] = gelu(D[i, j] + B[j])\noutput Y\n");
    const float *x = r.in[0], *w = r.in[1], *b = r.in[2], *y = r.out[0];
    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++) {
            double s = 0;
            for (int k = 0; k < K; k++)
                s += (double)x[i * K + k] * (double)w[k * N + j];
            s += (double)b[j];
            near(y[i * N + j], 0.5 * s * (1 + erf(s * sqrt(0.5))), 1e-5);
        }
    near(tc_te_flops(r.w), 2.0 * M * N * K + M * N * 6.0, 0);
    close_run(&r);
}

/* A unit gains on floats what its lanes take at once, and only where the sums are of its types. */
static void unit_gain(void **state) {
    (void)state;
    tc_intrinsic_set dots = 0, tiles = 0, blocks = 0;
    for (int i = 0; i < TC_NINTRINSICS; i++) {
        const tc_intrinsic *row = tc_intrinsic_row((tc_intrinsic_id)i);
        dots |= (tc_intrinsic_set)(row->place == TC_UNIT_VECTOR) << i;
        tiles |= (tc_intrinsic_set)(row->place == TC_UNIT_TILE) << i;
        blocks |= (tc_intrinsic_set)(row->place == TC_UNIT_BLOCK) << i;
    }
    run bytes = interpret("tensor X[4, 8] u8\ntensor W[8, 6] i8 const\n"
                          "compute D[i:4, j:6] = sum(k:8) i32(X[i, k]) * i32(W[k, j])\noutput D\n");
    near(tc_te_unit_gain(bytes.w, dots), 4, 0);
    near(tc_te_unit_gain(bytes.w, tiles), 32, 0);
    near(tc_te_unit_gain(bytes.w, blocks), 8, 0);
    near(tc_te_unit_gain(bytes.w, 0), 1, 0);
    close_run(&bytes);
    run floats = interpret("tensor X[4, 8] f32\ntensor W[8, 6] f32 const\n"
                           "compute D[i:4, j:6] = sum(k:8) X[i, k] * W[k, j]\noutput D\n");
    near(tc_te_unit_gain(floats.w, dots | tiles), 1, 0);
    close_run(&floats);
}

static void softmax(void **state) {
    (void)state;
    enum { R = 5, C = 300 };
    run r = interpret("tensor X[5, 300] f32\ncompute M[i:5] = max(j:300) X[i, j]\ncompute E[i:5, j:300] = exp(X[i, j] - M[i])\n"
                      "compute S[i:5] = sum(j:300) E[i, j]\ncompute Y[i:5, j:300] = E[i, j] / S[i]\noutput Y\n");
    const float *x = r.in[0], *y = r.out[0];
    for (int i = 0; i < R; i++) {
        double s = 0;
        for (int j = 0; j < C; j++)
            s += exp((double)x[i * C + j]);
        for (int j = 0; j < C; j++)
            near(y[i * C + j], exp((double)x[i * C + j]) / s, 1e-7);
    }
    close_run(&r);
}

static void argmax(void **state) {
    (void)state;
    run r = interpret("tensor X[6, 100] i8\ncompute V, I[i:6] = argmax(k:100) (X[i, k], k)\n"
                      "compute A, J[i:6] = argmin(k:100) (f32(X[i, k]), i32(99 - k))\noutput V, I, A, J\n");
    const int8_t *x = r.in[0], *v = r.out[0];
    const int64_t *index = r.out[1];
    const float *low = r.out[2];
    const int32_t *last = r.out[3];
    for (int i = 0; i < 6; i++) {
        int best = 0, worst = 0;
        for (int k = 1; k < 100; k++) {
            best = x[i * 100 + k] > x[i * 100 + best] ? k : best;
            worst = x[i * 100 + k] <= x[i * 100 + worst] ? k : worst; /* 99 - k: the smallest index is the last k */
        }
        assert_int_equal(index[i], best);
        assert_int_equal(v[i], x[i * 100 + best]);
        assert_int_equal(last[i], 99 - worst);
        near(low[i], x[i * 100 + worst], 0);
    }
    close_run(&r);
}

static void gather(void **state) {
    (void)state;
    run r = interpret("tensor T[50, 16] f32\ntensor I[40] i32\ncompute K[i:40] = I[i] + 2\ncompute Y[i:40, d:16] = T[K[i], 15 - "
                      "d]\noutput Y\n");
    assert_int_equal(tc_te_index_limit(r.w, 1), 48);
    assert_int_equal(tc_te_index_limit(r.w, 0), 0);
    const float *t = r.in[0], *y = r.out[0];
    int32_t *index = r.in[1];
    for (int i = 0; i < 40; i++)
        for (int d = 0; d < 16; d++)
            near(y[i * 16 + d], t[(index[i] + 2) * 16 + 15 - d], 0);
    tc_error err;
    index[17] = 48;
    assert_int_equal(tc_te_interp(r.w, (const void *const *)r.in, r.out, &err), TC_BAD_INPUT);
    assert_non_null(strstr(err.msg, "is 50, outside of [0, 50)"));
    close_run(&r);
}

static void index_limits(void **state) {
    (void)state;
    run r = open_run(
        "tensor T[50] f32\ntensor A[4] i64\ntensor B[4] u8\ntensor C[4] i64\n"
        "compute Y[i:4] = T[min(max(A[i], 0), 49)] + T[select(B[i] < 40, i64(B[i]), 0)] + T[C[i] * 2 + 1] + T[C[i]]\noutput Y\n");
    assert_true(tc_te_index_limit(r.w, 1) >= 1 << 30); /* clamped: anything goes */
    assert_true(tc_te_index_limit(r.w, 2) >= 40);
    assert_int_equal(tc_te_index_limit(r.w, 3), 25);
    close_run(&r);
}

static void padding(void **state) {
    (void)state;
    run r =
        interpret("tensor X[7, 9] f32\ncompute P[i:9, j:11] = select(i > 0 && i <= 7 && j > 0 && j <= 9, X[i - 1, j - 1], -inf)\n"
                  "compute Y[i:4, j:5] = max(r:3, s:3) P[i * 2 + r, j * 2 + s]\noutput Y, P\n");
    const float *x = r.in[0], *y = r.out[0];
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 5; j++) {
            float best = -INFINITY;
            for (int h = 2 * i - 1; h <= 2 * i + 1; h++)
                for (int w = 2 * j - 1; w <= 2 * j + 1; w++)
                    if (h >= 0 && h < 7 && w >= 0 && w < 9)
                        best = fmaxf(best, x[h * 9 + w]);
            near(y[i * 5 + j], best, 0);
        }
    close_run(&r);
}

static void convolution(void **state) {
    (void)state;
    run r = interpret(
        "tensor X[2, 8, 8, 3] f16\ntensor W[3, 3, 3, 5] f16 const\n"
        "compute C[n:2, h:6, w:6, f:5] = sum(r:3, s:3, c:3) f32(X[n, h + r, w + s, c]) * f32(W[r, s, c, f])\noutput C\n");
    const uint16_t *x = r.in[0], *w = r.in[1];
    const float *y = r.out[0];
    for (int64_t at = 0; at < 2 * 6 * 6 * 5; at++) {
        int f = (int)(at % 5), j = (int)(at / 5 % 6), i = (int)(at / 30 % 6), n = (int)(at / 180);
        double s = 0;
        for (int a = 0; a < 3; a++)
            for (int b = 0; b < 3; b++)
                for (int c = 0; c < 3; c++)
                    s += (double)tc_f16_to_f32(x[((n * 8 + i + a) * 8 + j + b) * 3 + c]) *
                         (double)tc_f16_to_f32(w[((a * 3 + b) * 3 + c) * 5 + f]);
        near(y[at], (float)s, 1e-6);
    }
    close_run(&r);
}

/* A million small terms: a float accumulator would lose more than this. */
static void long_sum(void **state) {
    (void)state;
    run r = interpret("tensor X[1] f32\ncompute S[] = sum(i:1000, k:1000) X[0] * 0.0 + 0.1\noutput S\n");
    near(((const float *)r.out[0])[0], 1e5, 0.01);
    close_run(&r);
}

static void scalar_reductions(void **state) {
    (void)state;
    run r = interpret("tensor X[1000] i32\ntensor N[3] f64\ncompute S[] = sum(k:1000) X[k]\ncompute P[] = prod(k:3) N[k]\n"
                      "compute M[] = min(k:1000) X[k]\ncompute A[i:2] = S[] + M[]\noutput S, P, M, A\n");
    const int32_t *x = r.in[0];
    const double *n = r.in[1];
    int32_t s = 0, m = x[0];
    for (int i = 0; i < 1000; i++) {
        s += x[i];
        m = TC_MIN(m, x[i]);
    }
    assert_int_equal(((int32_t *)r.out[0])[0], s);
    near(((double *)r.out[1])[0], n[0] * n[1] * n[2], 0);
    assert_int_equal(((int32_t *)r.out[2])[0], m);
    assert_int_equal(((int32_t *)r.out[3])[1], s + m);
    close_run(&r);
}

/* ---- coverage ---- */

static const char *const FLOATS[] = {"f16", "bf16", "f32", "f64"};
static const char *const INTS[] = {"i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64"};

static bool is_integer_op(tc_op op) {
    return op == TC_OP_BAND || op == TC_OP_BOR || op == TC_OP_BXOR || op == TC_OP_SHL || op == TC_OP_SHR || op == TC_OP_TDIV ||
           op == TC_OP_TMOD;
}

static void op_text(char *out, size_t n, tc_op op) {
    const char *t = tc_op_text(op);
    if (t[0] >= 'a' && t[0] <= 'z')
        snprintf(out, n, tc_op_arity(op) == 1 ? "%s(A[i])" : "%s(A[i], B[i])", t);
    else
        snprintf(out, n, "A[i] %s B[i]", t);
}

static void check_op(tc_op op, const char *type) {
    char text[256], body[64];
    tc_dtype t;
    assert_true(tc_dtype_parse(type, &t));
    op_text(body, sizeof body, op);
    snprintf(text, sizeof text, "tensor A[300] %s\ntensor B[300] %s\ncompute Y[i:300] = %s\noutput Y\n", type, type, body);
    run r = open_run(text);
    bool is_float = tc_dtype_is_float(t), compares = tc_op_traits(op) & TC_COMPARE;
    for (int i = 0; i < 300 && !is_float; i++) { /* divisors and shifts: 1..7 */
        int64_t b = tc_load_i(t, r.in[1], i);
        tc_store_i(t, r.in[1], i, 1 + (b < 0 ? -b : b) % 7);
    }
    tc_error err;
    if (tc_te_interp(r.w, (const void *const *)r.in, r.out, &err) != TC_OK)
        fail_msg("%s: %s", body, err.msg);
    for (int i = 0; i < 300; i++) {
        if (is_float) {
            double a = tc_load_f(t, r.in[0], i), b = tc_load_f(t, r.in[1], i);
            double want = compares ? tc_eval_compare_f(op, a, b) : tc_eval_f(op, t, a, b),
                   got = tc_load_f(r.w->out[0]->dtype, r.out[0], i);
            if (got != want && !(isnan(got) && isnan(want)))
                fail_msg("%s %s at %d: %.9g, not %.9g", body, type, i, got, want);
            continue;
        }
        assert_int_equal(tc_load_i(r.w->out[0]->dtype, r.out[0], i),
                         tc_eval_i(op, t, tc_load_i(t, r.in[0], i), tc_load_i(t, r.in[1], i)));
    }
    close_run(&r);
}

/* Every arithmetic operation of the table on every type it takes. */
static void all_ops(void **state) {
    (void)state;
    for (int i = 0; i < TC_NOPS; i++) {
        tc_op op = (tc_op)i;
        if ((tc_op_traits(op) & (TC_LEAF | TC_MEMORY | TC_VECTOR | TC_LOGIC)) || op == TC_OP_SELECT || op == TC_OP_CAST ||
            op == TC_OP_FMA)
            continue;
        bool floats_only = (tc_op_traits(op) & TC_MATH && op != TC_OP_POW) || op == TC_OP_ISNAN || op == TC_OP_ISINF;
        for (size_t t = 0; t < TC_LEN(FLOATS) && !is_integer_op(op); t++)
            check_op(op, FLOATS[t]);
        for (size_t t = 0; t < TC_LEN(INTS) && !floats_only; t++)
            check_op(op, INTS[t]);
    }
}

static void all_casts(void **state) {
    (void)state;
    for (int from = 0; from < TC_NDTYPES; from++)
        for (int to = 0; to < TC_NDTYPES; to++) {
            char text[256];
            snprintf(text, sizeof text, "tensor A[200] %s\ncompute Y[i:200] = %s(A[i])\noutput Y\n",
                     tc_dtype_name((tc_dtype)from), tc_dtype_name((tc_dtype)to));
            run r = interpret(text);
            for (int i = 0; i < 200; i++) {
                double a = tc_load_f((tc_dtype)from, r.in[0], i), y = tc_load_f((tc_dtype)to, r.out[0], i);
                if (to == TC_BOOL)
                    near(y, a != 0, 0);
                else if (tc_dtype_is_float((tc_dtype)to))
                    near(y, tc_round_f((tc_dtype)to, a), 0);
                else if (tc_dtype_is_float((tc_dtype)from))
                    near(y, (double)tc_cast_fi((tc_dtype)to, a), 0);
                else
                    assert_int_equal(tc_load_i((tc_dtype)to, r.out[0], i),
                                     tc_wrap_i((tc_dtype)to, tc_load_i((tc_dtype)from, r.in[0], i)));
            }
            close_run(&r);
        }
}

static void logic(void **state) {
    (void)state;
    run r = interpret("tensor A[100] bool\ntensor B[100] bool\ncompute Y[i:100] = A[i] && !B[i] || bitxor(A[i], B[i]) && i < 50\n"
                      "compute M[] = max(i:100) bitand(A[i], B[i])\noutput Y, M\n");
    const uint8_t *a = r.in[0], *b = r.in[1], *y = r.out[0];
    for (int i = 0; i < 100; i++)
        assert_int_equal(y[i], (a[i] && !b[i]) || (a[i] != b[i] && i < 50));
    close_run(&r);
}

static void fused(void **state) {
    (void)state;
    run r =
        interpret("tensor A[50] f32\ntensor B[50] f32\ncompute Y[i:50] = fma(A[i], B[i], 0.1) - (A[i] * B[i] + 0.1)\noutput Y\n");
    const float *a = r.in[0], *b = r.in[1], *y = r.out[0];
    for (int i = 0; i < 50; i++) {
        float product = a[i] * b[i];
        float apart = product + 0.1f;
        near(y[i], fmaf(a[i], b[i], 0.1f) - apart, 0);
    }
    close_run(&r);
}

/* ---- what is not executed ---- */

static void untaken_arms(void **state) {
    (void)state;
    run r = interpret("tensor N[20] i32\ntensor T[20] f32\n"
                      "compute Y[i:20] = select(N[i] != 0, 100 / N[i], 0)\ncompute Z[i:20] = select(N[i] >= 0, T[N[i]], 0.5) + "
                      "T[i]\noutput Y, Z\n");
    int32_t *n = r.in[0];
    const int32_t *y = r.out[0];
    const float *t = r.in[1], *z = r.out[1];
    for (int i = 0; i < 20; i++)
        n[i] = i - 10;
    assert_int_equal(tc_te_interp(r.w, (const void *const *)r.in, r.out, NULL), TC_OK);
    for (int i = 0; i < 20; i++) {
        assert_int_equal(y[i], i == 10 ? 0 : (int32_t)floor(100.0 / n[i]));
        near(z[i], (n[i] >= 0 ? t[n[i]] : 0.5f) + t[i], 0);
    }
    close_run(&r);
}

static void division_by_zero(void **state) {
    (void)state;
    run r = open_run("tensor N[20] i32\ncompute Y[i:20] = 100 / N[i]\noutput Y\n");
    memset(r.in[0], 0, 80);
    assert_int_equal(tc_te_interp(r.w, (const void *const *)r.in, r.out, NULL), TC_OK);
    for (int i = 0; i < 20; i++)
        assert_int_equal(((int32_t *)r.out[0])[i], 0);
    close_run(&r);
}

static void points_cost(void **state) {
    (void)state;
    run r = open_run("tensor X[512, 512] f32\ncompute D[i:512, j:512] = sum(k:512) X[i, k] * X[k, j]\n"
                     "compute S[i:512] = sum(j:512) D[i, j]\noutput S\n");
    tc_error err;
    tc_scalar value;
    double cost;
    int64_t at = 7;
    assert_int_equal(tc_te_interp_points(r.w, (const void *const *)r.in, 0, 1, &at, &value, 0, &cost, &err), TC_OK);
    assert_true(cost > 512 * 512 && cost < 100.0 * 512 * 512); /* one row of D, not all of it */
    assert_int_equal(tc_te_interp_points(r.w, (const void *const *)r.in, 0, 1, &at, &value, 1000, &cost, &err), TC_ENV);
    at = 512;
    assert_int_equal(tc_te_interp_points(r.w, (const void *const *)r.in, 0, 1, &at, &value, 0, &cost, &err), TC_BAD_INPUT);
    close_run(&r);
}

/* Reductions over nothing leave what they start from; what has no elements is not computed, so that its reads need no care. */
static void no_elements(void **state) {
    (void)state;
    static const char TEXT[] = "symbol N 0..4\ntensor X[3, N] f32\ntensor Z[N] i32\ncompute S[i:3] = sum(k:N) X[i, k]\n"
                               "compute P[i:3] = prod(k:N) X[i, k]\ncompute M[i:3] = max(k:N) X[i, k]\n"
                               "compute V, I[i:3] = argmin(k:N) (X[i, k], k)\ncompute L[i:2] = min(k:N) Z[k]\n"
                               "compute E[i:N] = X[2, N - 1 - i]\noutput S, P, M, V, I, L, E\n";
    tc_ctx *c = tc_ctx_new();
    const tc_workload *w, *at;
    tc_error err;
    assert_int_equal(tc_te_parse(c, "test", TEXT, &w, &err), TC_OK);
    assert_int_equal(tc_te_at(c, w, (int64_t[]){0}, &at, &err), TC_OK);
    float s[3], p[3], m[3], v[3], e = 5;
    int64_t index[3];
    int32_t l[2];
    void *const out[] = {s, p, m, v, index, l, &e};
    assert_int_equal(tc_te_interp(at, (const void *const[]){NULL, NULL}, out, &err), TC_OK);
    for (int i = 0; i < 3; i++) {
        assert_true(s[i] == 0 && p[i] == 1 && isinf(m[i]) && m[i] < 0 && isinf(v[i]) && v[i] > 0);
        assert_true(index[i] == INT64_MAX);
    }
    assert_true(l[0] == INT32_MAX && l[1] == INT32_MAX && e == 5);
    assert_int_equal(tc_te_at(c, w, (int64_t[]){5}, &at, &err), TC_BAD_INPUT);
    tc_ctx_free(c);
}

static void random_filling(void **state) {
    (void)state;
    for (int t = 0; t < TC_NDTYPES; t++) {
        unsigned char a[8 * 256], b[8 * 256];
        tc_rng one = tc_rng_seed(3), two = tc_rng_seed(3);
        tc_te_random_fill((tc_dtype)t, a, 256, &one, 5);
        tc_te_random_fill((tc_dtype)t, b, 256, &two, 5);
        assert_memory_equal(a, b, (size_t)(256 * tc_dtype_bytes((tc_dtype)t)));
        for (int i = 0; i < 256; i++) {
            double v = tc_load_f((tc_dtype)t, a, i);
            assert_true(tc_dtype_is_float((tc_dtype)t) ? v >= -1 && v < 1 : v >= 0 && v < 5);
        }
    }
}

/* As many as were asked for, of the types whose numbers can be denormal; the rest stays as it was. */
static void denormals(void **state) {
    (void)state;
    enum { N = 2000 };
    for (int t = 0; t < TC_NDTYPES; t++) {
        tc_dtype type = (tc_dtype)t;
        static unsigned char a[8 * N], b[8 * N];
        tc_rng rng = tc_rng_seed(5);
        bool can = type == TC_F16 || type == TC_BF16 || type == TC_F32 || type == TC_F64;
        tc_te_random_fill(type, a, N, &rng, 5);
        memcpy(b, a, sizeof b);
        double before = tc_te_denormal_share(type, a, N);
        assert_true(type == TC_F16 ? before < 0.01 : before == 0);
        tc_te_make_denormal(type, a, N, &rng, 0);
        assert_memory_equal(a, b, sizeof a);
        tc_te_make_denormal(type, a, N, &rng, 0.25);
        double share = tc_te_denormal_share(type, a, N);
        assert_true(can ? share > 0.2 && share < 0.3 : share == 0);
        for (int i = 0; i < N; i++) {
            double was = tc_load_f(type, b, i), is = tc_load_f(type, a, i);
            assert_true(was == is || (can && is != 0 && fabs(is) < 1e-4 && fabs(was) > fabs(is)));
        }
        tc_te_make_denormal(type, a, N, &rng, 1);
        assert_true(tc_te_denormal_share(type, a, N) == (can ? 1 : 0));
        assert_true(tc_te_denormal_share(type, a, 0) == 0);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gemm),         cmocka_unit_test(unit_gain),
        cmocka_unit_test(softmax),      cmocka_unit_test(argmax),
        cmocka_unit_test(gather),       cmocka_unit_test(index_limits),
        cmocka_unit_test(padding),      cmocka_unit_test(convolution),
        cmocka_unit_test(long_sum),     cmocka_unit_test(scalar_reductions),
        cmocka_unit_test(all_ops),      cmocka_unit_test(all_casts),
        cmocka_unit_test(logic),        cmocka_unit_test(fused),
        cmocka_unit_test(untaken_arms), cmocka_unit_test(division_by_zero),
        cmocka_unit_test(points_cost),  cmocka_unit_test(random_filling),
        cmocka_unit_test(no_elements),  cmocka_unit_test(denormals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
