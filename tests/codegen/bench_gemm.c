/* What the code generator makes of hand-written TIR: C = A x B with 6 x 64 register tiles and packed B, on this machine.
 *     bench_codegen_gemm [M N K [threads [unroll [asm|ir|opt]]]]
 * Prints compile time, GFLOP/s, and the share of the machine's FMA peak measured beside it with dependency-free FMAs in the same
 * kind of code. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernel.h"
#include "support/strbuf.h"

enum { ROWS = 6, COLS = 64, LANES = 16 };

typedef struct gemm {
    tc_ctx *c;
    const tc_buffer *a, *b, *out;
    const tc_var *t;
    int64_t n, k;
    int unroll;
} gemm;

static const tc_expr *reg(tc_ctx *c, int64_t at) {
    return tc_ramp(c, tc_i64(c, at), tc_i64(c, 1), LANES);
}

static const tc_stmt *block(gemm *g, int rows, const tc_buffer *acc, const tc_expr *row, const tc_expr *col, const tc_var *k) {
    tc_ctx *c = g->c;
    const tc_stmt *s[ROWS * COLS];
    int n = 0;
    const tc_expr *kk = tc_mul(c, tc_varx(c, k), tc_i64(c, g->unroll));
    for (int u = 0; u < g->unroll; u++)
        for (int i = 0; i < rows; i++)
            for (int v = 0; v < COLS; v += LANES) {
                const tc_expr *at = reg(c, i * COLS + v);
                const tc_expr *ai =
                    tc_add(c, tc_mul(c, tc_add(c, row, tc_i64(c, i)), tc_i64(c, g->k)), tc_add(c, kk, tc_i64(c, u)));
                const tc_expr *bi =
                    tc_add(c, tc_mul(c, col, tc_i64(c, COLS * g->k)), tc_mul(c, tc_add(c, kk, tc_i64(c, u)), tc_i64(c, COLS)));
                const tc_expr *x = tc_bcast(c, tc_load(c, g->a, TC_F32, ai, NULL), LANES);
                const tc_expr *y = tc_load(c, g->b, TC_F32, tc_ramp(c, tc_add(c, bi, tc_i64(c, v)), tc_i64(c, 1), LANES), NULL);
                s[n++] = tc_tir_store(c, acc, at, tc_fma(c, x, y, tc_load(c, acc, TC_F32, at, NULL)), NULL);
            }
    return tc_tir_seq(c, n, s);
}

static const tc_stmt *tile(gemm *g, int rows) {
    tc_ctx *c = g->c;
    tc_buffer *acc = (tc_buffer *)tc_tir_buffer(c, "acc", TC_F32, rows * COLS, TC_BUF_REG, NULL);
    acc->reg_lanes = LANES;
    const tc_stmt *s[2 * ROWS * COLS / LANES + 1];
    int n = 0;
    const tc_expr *cols = tc_i64(c, g->n / COLS), *row = tc_mul(c, tc_div(c, tc_varx(c, g->t), cols), tc_i64(c, ROWS)),
                  *col = tc_mod(c, tc_varx(c, g->t), cols);
    const tc_var *k = tc_var_new(c, "k");
    for (int i = 0; i < rows * COLS; i += LANES)
        s[n++] = tc_tir_store(c, acc, reg(c, i), tc_bcast(c, tc_float(c, TC_F32, 0), LANES), NULL);
    s[n++] = tc_tir_for(c, k, tc_i64(c, g->k / g->unroll), TC_FOR_SERIAL, true, block(g, rows, acc, row, col, k));
    for (int i = 0; i < rows; i++)
        for (int v = 0; v < COLS; v += LANES) {
            const tc_expr *at = tc_add(c, tc_mul(c, tc_add(c, row, tc_i64(c, i)), tc_i64(c, g->n)),
                                       tc_add(c, tc_mul(c, col, tc_i64(c, COLS)), tc_i64(c, v)));
            s[n++] = tc_tir_store(c, g->out, tc_ramp(c, at, tc_i64(c, 1), LANES),
                                  tc_load(c, acc, TC_F32, reg(c, i * COLS + v), NULL), NULL);
        }
    return tc_tir_alloc(c, acc, tc_tir_seq(c, n, s));
}

static const tc_buffer *param(tc_ctx *c, tc_param *p, int i, const char *name, int64_t n) {
    tc_buffer *b = (tc_buffer *)tc_tir_buffer(c, name, TC_F32, n, TC_BUF_PARAM, NULL);
    b->param = i;
    p[i] = (tc_param){.buffer = b, .kind = i < 2 ? TC_PARAM_IN : TC_PARAM_OUT, .index = i < 2 ? i : 0};
    return b;
}

static void make_gemm(kernel *k, int64_t m, int64_t n, int64_t depth, int unroll) {
    tc_ctx *c = tc_ctx_new();
    *k = (kernel){.ctx = c};
    tc_param *p = TC_NEW_N(tc_ctx_arena(c), tc_param, 3);
    gemm g = {.c = c, .t = tc_var_new(c, "t"), .n = n, .k = depth, .unroll = unroll};
    g.a = param(c, p, 0, "A", m * depth);
    g.b = param(c, p, 1, "B", n * depth);
    g.out = param(c, p, 2, "C", m * n);
    int64_t full = m / ROWS, tail = m % ROWS, cols = n / COLS;
    const tc_stmt *body = tile(&g, ROWS);
    if (tail)
        body = tc_tir_if(c, tc_bin(c, TC_OP_LT, tc_varx(c, g.t), tc_i64(c, full * cols)), false, body, tile(&g, (int)tail));
    tc_func *f = TC_NEW(tc_ctx_arena(c), tc_func);
    *f = (tc_func){.name = "gemm", .nparam = 3, .params = p};
    f->body = tc_tir_for(c, g.t, tc_i64(c, (full + (tail > 0)) * cols), TC_FOR_PARALLEL, false, body);
    k->f = f;
}

static void make_peak(kernel *k) {
    tc_ctx *c = tc_ctx_new();
    *k = (kernel){.ctx = c};
    tc_param *p = TC_NEW_N(tc_ctx_arena(c), tc_param, 3);
    const tc_buffer *out = param(c, p, 2, "C", 16 * 384);
    p[0] = p[2];
    tc_buffer *acc = (tc_buffer *)tc_tir_buffer(c, "acc", TC_F32, 384, TC_BUF_REG, NULL);
    acc->reg_lanes = LANES;
    const tc_var *t = tc_var_new(c, "t"), *i = tc_var_new(c, "i");
    const tc_expr *x = tc_bcast(c, tc_cast(c, TC_F32, tc_varx(c, t)), LANES);
    const tc_stmt *s[49], *inner[24];
    for (int v = 0; v < 24; v++) {
        s[v] = tc_tir_store(c, acc, reg(c, v * LANES), tc_add(c, x, tc_bcast(c, tc_float(c, TC_F32, v), LANES)), NULL);
        inner[v] =
            tc_tir_store(c, acc, reg(c, v * LANES), tc_fma(c, tc_load(c, acc, TC_F32, reg(c, v * LANES), NULL), x, x), NULL);
        const tc_expr *at =
            tc_ramp(c, tc_add(c, tc_mul(c, tc_varx(c, t), tc_i64(c, 384)), tc_i64(c, v * LANES)), tc_i64(c, 1), LANES);
        s[25 + v] = tc_tir_store(c, out, at, tc_load(c, acc, TC_F32, reg(c, v * LANES), NULL), NULL);
    }
    s[24] = tc_tir_for(c, i, tc_i64(c, 100000), TC_FOR_SERIAL, false, tc_tir_seq(c, 24, inner));
    tc_func *f = TC_NEW(tc_ctx_arena(c), tc_func);
    *f = (tc_func){.name = "peak", .nparam = 1, .params = p};
    f->body = tc_tir_for(c, t, tc_i64(c, 16), TC_FOR_PARALLEL, false, tc_tir_alloc(c, acc, tc_tir_seq(c, 49, s)));
    k->f = f;
}

static double peak_gflops(int threads) {
    kernel k;
    make_peak(&k);
    kernel_compile(&k, kernel_target(), NULL);
    void **args = kernel_args(k.f);
    double best = 1e9;
    for (int r = 0; r < 7; r++) {
        double s = kernel_clock(threads);
        kernel_run(&k, args, threads);
        best = fmin(best, kernel_clock(threads) - s);
    }
    kernel_free_args(k.f, args);
    kernel_free(&k);
    return 16.0 * 100000 * 24 * 16 * 2 / best / 1e9;
}

static void fill(float *p, int64_t n, unsigned seed) {
    for (int64_t i = 0; i < n; i++) {
        seed = seed * 1664525u + 1013904223u;
        p[i] = (float)(int)(seed >> 16 & 255) / 256 - 0.5f;
    }
}

static double check(const float *a, const float *b, const float *c, int64_t m, int64_t n, int64_t k) {
    double worst = 0;
    for (int64_t s = 0; s < 200; s++) {
        int64_t i = s * 7919 % m, j = s * 104729 % n;
        double sum = 0;
        for (int64_t x = 0; x < k; x++)
            sum += (double)a[i * k + x] * b[j / COLS * k * COLS + x * COLS + j % COLS];
        worst = fmax(worst, fabs(sum - c[i * n + j]));
    }
    return worst;
}

static void print_code(kernel *k, const char *what, const char *target) {
    char *out = kernel_text(k, target, !strcmp(what, "asm") ? TC_CG_ASM : !strcmp(what, "ir") ? TC_CG_IR : TC_CG_OPT_IR);
    puts(out);
    free(out);
    kernel_free(k);
}

int main(int argc, char **argv) {
    int64_t m = argc > 3 ? atoi(argv[1]) : 1024, n = argc > 3 ? atoi(argv[2]) : 1024, k = argc > 3 ? atoi(argv[3]) : 1024;
    int threads = argc > 4 ? atoi(argv[4]) : 2, unroll = argc > 5 ? atoi(argv[5]) : 4;
    kernel kern;
    make_gemm(&kern, m, n, k, unroll);
    if (argc > 6) {
        print_code(&kern, argv[6], argc > 7 ? argv[7] : "native");
        return 0;
    }
    kernel_compile(&kern, kernel_target(), NULL);
    void **args = kernel_args(kern.f);
    fill(args[0], m * k, 1);
    fill(args[1], n * k, 2);
    double best = 1e9, flops = 2.0 * (double)m * (double)n * (double)k, peak = peak_gflops(threads);
    for (int r = 0; r < 50; r++) {
        double s = kernel_clock(threads);
        kernel_run(&kern, args, threads);
        best = fmin(best, kernel_clock(threads) - s);
    }
    peak = fmax(peak, peak_gflops(threads));
    printf("gemm %lld x %lld x %lld, %d threads, k unrolled by %d: compile %.1f ms, %.3f ms, %.1f GFLOP/s, peak %.1f, share %.1f "
           "%%, error %.2g\n",
           (long long)m, (long long)n, (long long)k, threads, unroll, kern.compile_seconds * 1e3, best * 1e3, flops / best / 1e9,
           peak, 100 * flops / best / 1e9 / peak, check(args[0], args[1], args[2], m, n, k));
    kernel_free_args(kern.f, args);
    kernel_free(&kern);
    return 0;
}
