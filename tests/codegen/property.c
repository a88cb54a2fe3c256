/* Random workload x random legal trace -> build -> lower -> compile -> run on 1 and 3 threads -> compare with the TIR interpreter
 * on the same lowered function, so that what differs is the code generator's fault. For every third seed also with sizes that
 * vary, at two of them; for every sixth a workload in which sizes are made of others. On failure: seed, lowered TIR.
 *
 *     test_cg_property [CASES [SEED]] */
#include <stdio.h>
#include <stdlib.h>

#include "common/cases.h"
#include "common/random_symbols.h"
#include "common/random_trace.h"
#include "common/random_workload.h"
#include "kernel.h"
#include "tir_lower/interp/interp.h"
#include "tir_lower/program/program.h"
#include "tir_lower/text/text.h"

enum { DEFAULT_CASES = 300, MAX_STEPS = 28 };

static int64_t first_difference(const tc_buffer *b, int64_t n, const void *got, const void *want) {
    for (int64_t i = 0; i < n; i++)
        if (!kernel_same(b->dtype, got, want, i))
            return i;
    return -1;
}

static bool agree(const tc_func *f, const int64_t *sizes, void **got, void **want, int threads) {
    for (int i = 0; i < f->nparam; i++) {
        const tc_buffer *b = f->params[i].buffer;
        int64_t at = first_difference(b, tc_tir_size_at(f, b, sizes), got[i], want[i]);
        if (at >= 0) {
            bool isf = tc_dtype_is_float(b->dtype);
            fprintf(stderr, "%d threads: %s[%lld] is %.9g, the interpreter has %.9g\n", threads, b->name, (long long)at,
                    isf ? tc_load_f(b->dtype, got[i], at) : (double)tc_load_i(b->dtype, got[i], at),
                    isf ? tc_load_f(b->dtype, want[i], at) : (double)tc_load_i(b->dtype, want[i], at));
            return false;
        }
    }
    return true;
}

static bool run_lowered(const tc_workload *w, tc_func *f, const int64_t *sizes, uint64_t seed) {
    tc_error err = {0};
    void **want = kernel_random_args(w, f, sizes, seed);
    tc_status s = tc_tir_interp(f, want, &err);
    kernel k = {.f = f};
    bool ok = s == TC_OK;
    if (ok)
        s = kernel_try(&k, kernel_target(), &(tc_cg_options){.verify = true}, &err);
    ok = ok && s == TC_OK;
    for (int threads = 1; ok && threads <= 3; threads += 2) {
        void **got = kernel_random_args(w, f, sizes, seed);
        kernel_run(&k, got, threads);
        ok = agree(f, sizes, got, want, threads);
        kernel_free_args(f, got);
    }
    if (s != TC_OK)
        fprintf(stderr, "interpreter or code generator: %s\n", err.msg);
    tc_cg_module_free(k.mod);
    kernel_free_args(f, want);
    return ok;
}

typedef struct totals {
    int64_t cases, refused, varying;
} totals;

/* Once, or at two sizes. */
static bool run_program(const tc_workload *w, tc_func *f, tc_rng *r, uint64_t seed) {
    int64_t sizes[TC_TEST_MAX_SYMBOLS];
    bool ok = true;
    for (int i = 0; ok && i < (w->nsymbol ? 2 : 1); i++) {
        tc_test_random_sizes(w, r, sizes);
        ok = run_lowered(w, f, sizes, seed);
    }
    if (ok)
        return true;
    tc_strbuf b = {0};
    tc_tir_print(&b, f);
    fprintf(stderr, "FAILED seed %llu", (unsigned long long)seed);
    for (int i = 0; i < w->nsymbol; i++)
        fprintf(stderr, " %s = %lld", w->symbols[i]->name, (long long)sizes[i]);
    fprintf(stderr, "\n%s\n", tc_sb_str(&b));
    tc_strbuf_free(&b);
    return false;
}

static bool run_workload(const tc_workload *w, tc_rng *r, uint64_t seed, totals *sum) {
    tc_ctx *child = tc_ctx_child(w->ctx);
    tc_error err = {0};
    tc_trace *t = tc_test_random_trace(child, w, r, MAX_STEPS);
    tc_tir_origin from = {.workload = w, .machine = &kernel_target()->machine, .trace = t};
    tc_tir_program p;
    bool made = tc_tir_program_make(child, &from, TC_TIR_LOWERED, &p, &err) == TC_OK;
    bool ok = !made || run_program(w, p.lowered, r, seed);
    sum->cases++;
    sum->refused += !made;
    tc_ctx_free(child);
    return ok;
}

static bool run_case(uint64_t seed, totals *sum) {
    tc_rng rng = tc_rng_seed(seed);
    tc_ctx *c = tc_ctx_new();
    const tc_workload *w = tc_test_random_workload(c, &rng);
    bool ok = run_workload(w, &rng, seed, sum);
    const tc_workload *varying = ok && seed % 3 == 0 ? tc_test_vary(c, w, &rng) : NULL;
    if (varying)
        ok = run_workload(varying, &rng, seed, sum);
    sum->varying += varying != NULL;
    const tc_workload *joined = ok && seed % 6 == 1 ? tc_test_random_joined(c, &rng) : NULL;
    if (joined)
        ok = run_workload(joined, &rng, seed, sum);
    sum->varying += joined != NULL;
    tc_ctx_free(c);
    return ok;
}

int main(int argc, char **argv) {
    const test_cases asked = test_cases_of(argc, argv, DEFAULT_CASES);
    totals sum = {0};
    int failed = 0;
    for (uint64_t i = 0; i < asked.n && failed < 3; i++)
        failed += !run_case(asked.seed + i, &sum);
    printf("%lld cases from seed %llu, of which %lld with sizes that vary: %d failed, %lld refused by lowering\n",
           (long long)sum.cases, (unsigned long long)asked.seed, (long long)sum.varying, failed, (long long)sum.refused);
    return failed || (asked.n >= 100 && (sum.refused * 3 > sum.cases || sum.varying * 8 < sum.cases));
}
