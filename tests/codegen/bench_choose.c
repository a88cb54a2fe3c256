/* What it costs that a kernel chooses among its variants by the sizes of a run: one row of 16 numbers, which takes next to
 * nothing, by a function of so many variants and by the program that serves that size alone, in turns.
 *     bench_codegen_choose [VARIANTS] */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernel.h"
#include "te/text.h"
#include "tir_lower/program/program.h"

enum { MOST = 8, TURNS = 101, CALLS = 20000, LAST = 1 << 12 };

static const char te[] = "symbol N 1..4096\ntensor X[N, 16] f32\ncompute Y[i:N, j:16] = X[i, j] + 1.0\noutput Y\n";

static void die_if(tc_status s, const tc_error *err) {
    if (s == TC_OK)
        return;
    fprintf(stderr, "%s\n", err->msg);
    exit(1);
}

/* Different programs: i in pieces of 2, 3, .. */
static tc_func *program(tc_ctx *c, const tc_workload *w, int i) {
    char text[128];
    tc_error err;
    tc_tir_program p;
    snprintf(text, sizeof text, "i_0, i_1 = split Y.i [_, %d]\nvectorize Y.j\n", 2 + i);
    tc_tir_origin from = {
        .workload = w, .machine = &kernel_target()->machine, .text = tc_arena_strdup(tc_ctx_arena(c), text), .name = "variant"};
    die_if(tc_tir_program_make(c, &from, TC_TIR_VERIFIED, &p, &err), &err);
    return p.lowered;
}

static double seconds(const kernel *k, void *const *args) {
    double begin = kernel_clock(1);
    for (int i = 0; i < CALLS; i++)
        k->fn(args, NULL, NULL);
    return (kernel_clock(1) - begin) / CALLS;
}

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *x) {
    qsort(x, TURNS, sizeof *x, ascending);
    return x[TURNS / 2];
}

/* Spans end at 1, 2, 4 .. but for the last; a size of each. */
int main(int argc, char **argv) {
    int n = argc > 1 ? atoi(argv[1]) : MOST;
    tc_error err;
    const tc_workload *w;
    const tc_func *each[MOST];
    int64_t upto[MOST];
    kernel all = {.ctx = tc_ctx_new()};
    if (n < 2 || n > MOST) {
        fprintf(stderr, "usage: bench_codegen_choose [VARIANTS], from 2 to %d\n", MOST);
        return 2;
    }
    die_if(tc_te_parse(all.ctx, "row", te, &w, &err), &err);
    for (int i = 0; i < n; i++) {
        each[i] = program(all.ctx, w, i);
        upto[i] = i + 1 < n ? INT64_C(1) << i : INT64_MAX;
    }
    die_if(tc_tir_variants(all.ctx, n, each, upto, &all.f, &err), &err);
    kernel_compile(&all, kernel_target(), NULL);
    printf("%d variants\n  size  variant   chosen ns   alone ns   difference ns (medians of %d turns of %d calls)\n", n, TURNS,
           CALLS);
    for (int i = 0; i<n; i += n - 1> 2 ? (n - 1) / 2 : 1) {
        int64_t size[] = {INT64_C(1) << i};
        double chosen[TURNS], alone[TURNS], apart[TURNS];
        kernel one = {.ctx = all.ctx, .f = (tc_func *)(uintptr_t)each[i]};
        kernel_compile(&one, kernel_target(), NULL);
        void **args = kernel_args_at(all.f, size);
        seconds(&all, args);
        seconds(&one, args);
        for (int t = 0; t < TURNS; t++) {
            chosen[t] = seconds(&all, args);
            alone[t] = seconds(&one, args);
            apart[t] = chosen[t] - alone[t];
        }
        printf("%6lld  %7d  %10.2f  %9.2f  %13.2f\n", (long long)size[0], i + 1, 1e9 * median(chosen), 1e9 * median(alone),
               1e9 * median(apart));
        kernel_free_args(all.f, args);
        tc_cg_module_free(one.mod);
    }
    kernel_free(&all);
    return 0;
}
