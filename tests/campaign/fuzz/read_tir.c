/* Loop nests. What the passes make of a nest that no schedule makes need not compute the same, since they rely on what schedules
 * keep to (a loop that is marked as a reduction is one); but it is a program that the verifier takes, and simplifying changes no
 * result. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "targets.h"
#include "te/eval.h"
#include "tir_lower/interp/interp.h"
#include "tir_lower/oracle.h"
#include "tir_lower/passes/passes.h"
#include "tir_lower/text/text.h"
#include "tir_lower/verify/verify.h"

/* Where sizes vary they are half as large as they may be; arrays have room for the most. */
static void **arguments(const tc_func *f) {
    void **args = tc_xcalloc((size_t)f->nparam + 1, sizeof *args);
    int64_t *sizes = tc_xcalloc((size_t)f->nsymbol + 1, sizeof *sizes);
    tc_rng r = tc_rng_seed(1);
    for (int i = 0; i < f->nsymbol; i++)
        sizes[i] = f->symbols[i]->least + (f->symbols[i]->most - f->symbols[i]->least) / 2;
    args[f->nparam] = sizes;
    for (int i = 0; i < f->nparam; i++) {
        const tc_buffer *b = f->params[i].buffer;
        size_t bytes = (size_t)b->size * (size_t)tc_dtype_bytes(b->dtype);
        args[i] = tc_xmalloc(bytes + 1);
        memset(args[i], 0x7b, bytes);
        if (f->params[i].kind != TC_PARAM_OUT)
            tc_te_random_fill(b->dtype, args[i], b->size, &r, 16);
    }
    return args;
}

static void free_arguments(const tc_func *f, void **args) {
    for (int i = 0; i <= f->nparam; i++)
        free(args[i]);
    free(args);
}

static void check_same(const tc_func *f, void *const *want, void *const *got) {
    for (int i = 0; i < f->nparam; i++) {
        const tc_buffer *b = f->params[i].buffer;
        for (int64_t k = 0; k < b->size; k++) {
            bool is_float = tc_dtype_is_float(b->dtype);
            double x = is_float ? tc_load_f(b->dtype, want[i], k) : 0, y = is_float ? tc_load_f(b->dtype, got[i], k) : 0;
            if (is_float ? x != y && !(isnan(x) && isnan(y)) : tc_load_i(b->dtype, want[i], k) != tc_load_i(b->dtype, got[i], k))
                fuzz_wrong("simplified, %s[%lld] is another number (%g, was %g)", b->name, (long long)k, y, x);
        }
    }
}

static void check_simplified(const tc_func *f, const tc_func *simple) {
    if (!fuzz_small_program(f))
        return;
    void **want = arguments(f), **got = arguments(f);
    tc_error err = {0};
    if (fuzz_good(tc_tir_interp(f, want, &err), &err)) {
        if (tc_tir_interp(simple, got, &err) != TC_OK)
            fuzz_wrong("simplified, it does not run: %s", err.msg);
        check_same(f, want, got);
    }
    free_arguments(f, want);
    free_arguments(f, got);
}

static void run(const tc_func *f) {
    if (!fuzz_small_program(f))
        return;
    void **args = arguments(f);
    tc_error err = {0};
    (void)fuzz_good(tc_tir_interp_shuffled(f, args, 7, &err), &err);
    free_arguments(f, args);
}

static void run_passes(tc_ctx *c, const tc_func *f) {
    unsigned have = tc_tir_built;
    const tc_func *now = f;
    for (int i = 0; i < tc_tir_npasses; i++) {
        tc_func *next;
        tc_error err = {0};
        if (!fuzz_good(tc_tir_run_pass(&tc_tir_passes[i], c, &test_machine, now, &have, &next, &err), &err))
            return;
        bool shown = tc_tir_verify(c, next, &err) == TC_OK;
        if (!shown && f->nsymbol)
            return;
        if (!shown)
            fuzz_wrong("after the pass %s: %s", tc_tir_passes[i].name, err.msg);
        if (i == 0)
            check_simplified(f, next);
        now = next;
    }
    fuzz_check_tir_text(c, now);
    run(now);
}

void fuzz_read_tir(const char *data, size_t size) {
    char *text = fuzz_text(data, size);
    tc_ctx *c = tc_ctx_new();
    tc_func *f = NULL;
    tc_error err = {0};
    if (fuzz_good(tc_tir_parse(c, "input.tir", text, &f, &err), &err)) {
        /* Others may use a buffer outside of its place, and have none once that is a loop of no turns. */
        if (fuzz_good(tc_tir_verify(c, f, &err), &err)) {
            fuzz_check_tir_text(c, f);
            run_passes(c, f);
        }
    }
    tc_ctx_free(c);
    free(text);
}
