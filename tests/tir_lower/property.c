/* Random workload x random legal trace -> build -> verify -> interpret -> compare with the reference interpreter of te; then the
 * same after the whole pass pipeline, with the parallel iterations shuffled. For every other seed also with sizes that vary, run at
 * several; for every fourth a workload in which sizes are made of others. On failure: the seed, the workload and a shrunken trace.
 *
 *     test_tir_property [CASES [SEED]] */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cases.h"
#include "common/random_symbols.h"
#include "common/random_trace.h"
#include "common/random_workload.h"
#include "te/text.h"
#include "tir_lower/build/build.h"
#include "tir_lower/oracle.h"
#include "tir_lower/passes/passes.h"
#include "tir_lower/text/text.h"

#ifdef TCTUNE_SANITIZED
enum { DEFAULT_CASES = 500 };
#else
enum { DEFAULT_CASES = 2000 };
#endif
enum { MAX_STEPS = 28, MAX_SIZES = 3 };

typedef struct totals {
    int64_t unproven; /* programs with sizes that vary whose accesses the verifier cannot show to be in bounds */
    int64_t cases, varying, illegal, in_place; /* pairs of an output and an input that it may be written over */
} totals;

/* Half as wide, half as many registers, tails as powers of two instead of masks, caches so small that weights are prefetched. */
static const tc_machine narrow_machine = {
    .vector_bytes = 32, .vector_regs = 16, .cores = 2, .l1 = 256, .l2 = 512, .l3 = 16 << 20, .line = 16};

/* A workload, and what it computes: once, or at several sizes. */
typedef struct subject {
    const tc_workload *w;
    int n;
    int64_t sizes[MAX_SIZES][TC_TEST_MAX_SYMBOLS];
    oracle at[MAX_SIZES];
} subject;

/* The verifier knows the program for all sizes: it looks at the first alone. */
static tc_status check_at(const subject *o, int i, tc_ctx *c, const tc_func *f, uint64_t shuffle, totals *sum, tc_error *err) {
    tc_status s = i == 0 ? oracle_check(&o->at[i], c, f, shuffle, err) : oracle_run(&o->at[i], f, shuffle, err);
    if (s == TC_ILLEGAL && o->w->nsymbol) {
        sum->unproven++;
        s = oracle_run(&o->at[i], f, shuffle, err);
    }
    for (int k = 0; s != TC_OK && k < o->w->nsymbol; k++)
        tc_error_prefix(err, "%s = %lld: ", o->w->symbols[k]->name, (long long)o->sizes[i][k]);
    return s;
}

static tc_status check_lowered(const subject *o, const tc_machine *m, tc_ctx *c, const tc_func *built, totals *sum,
                               tc_error *err) {
    tc_func *lowered;
    tc_status s = tc_tir_lower(c, m, built, NULL, &lowered, err);
    if (s == TC_ILLEGAL && o->w->nsymbol) { /* where each pass is verified */
        sum->unproven++;
        return TC_OK;
    }
    for (int i = 0; i < o->n && s == TC_OK; i++) {
        s = check_at(o, i, c, lowered, 7, sum, err);
        if (s == TC_OK)
            s = oracle_check_in_place(&o->at[i], lowered, 7, &sum->in_place, err);
    }
    if (s != TC_OK)
        tc_error_prefix(err, "lowered: ");
    return s == TC_ILLEGAL ? TC_BAD_INPUT : s;
}

static tc_status check_text(tc_ctx *c, const tc_func *f, tc_error *err) {
    tc_func *again;
    tc_strbuf a = {0}, b = {0};
    tc_tir_print(&a, f);
    tc_status s = tc_tir_parse(c, "printed.tir", tc_sb_str(&a), &again, err);
    if (s == TC_OK) {
        tc_tir_print(&b, again);
        if (strcmp(tc_sb_str(&a), tc_sb_str(&b)) != 0)
            s = tc_fail(err, TC_BAD_INPUT, "the text of the nest does not round-trip");
        else if (tc_tir_hash(f) != tc_tir_hash(again))
            s = tc_fail(err, TC_BAD_INPUT, "the nest read back has another hash");
    }
    tc_strbuf_free(&a);
    tc_strbuf_free(&b);
    return s;
}

/* TC_OK; TC_ILLEGAL: the schedule cannot be replayed or lowered (fine); else a failure. */
static tc_status check(const subject *o, const tc_trace *t, totals *sum, tc_error *err) {
    tc_ctx *c = tc_ctx_child(o->w->ctx);
    tc_sched *s;
    tc_func *built;
    tc_status status = tc_sch_replay(c, o->w, t, NULL, &s, err);
    if (status != TC_OK)
        status = TC_ILLEGAL;
    else
        status = tc_tir_build(s, &test_machine, &built, err);
    if (status == TC_OK) {
        status = check_text(c, built, err);
        for (int i = 0; i < o->n && status == TC_OK; i++)
            status = check_at(o, i, c, built, 0, sum, err);
        if (status == TC_OK)
            status = check_lowered(o, &test_machine, c, built, sum, err);
        if (status == TC_OK)
            status = check_lowered(o, &narrow_machine, c, built, sum, err);
        status = status == TC_ILLEGAL ? TC_BAD_INPUT : status;
    }
    tc_ctx_free(c);
    return status;
}

/* Drops steps, last first, as long as the rest still fails. */
static tc_trace *shrink(const subject *o, tc_arena *a, const tc_trace *t) {
    tc_trace *best = tc_trace_copy(a, t);
    for (bool dropped = true; dropped;) {
        dropped = false;
        for (int i = best->n - 1; i >= 0; i--) {
            tc_error err;
            tc_trace *less = tc_trace_copy(a, best);
            memmove(&less->steps[i], &less->steps[i + 1], sizeof *less->steps * (size_t)(less->n - i - 1));
            less->n--;
            tc_status s = check(o, less, &(totals){0}, &err);
            if (s == TC_OK || s == TC_ILLEGAL)
                continue;
            best = less;
            dropped = true;
        }
    }
    return best;
}

static void report(const subject *o, const tc_trace *t, uint64_t seed) {
    tc_arena *a = tc_arena_new();
    tc_strbuf te = {0}, sched = {0};
    tc_error err = {0};
    tc_trace *small = shrink(o, a, t);
    (void)!check(o, small, &(totals){0}, &err);
    tc_te_print(&te, o->w);
    tc_trace_print(&sched, small);
    fprintf(stderr, "FAILED seed %llu: %s\n--- .te\n%s--- .sched\n%s---\n", (unsigned long long)seed, err.msg, tc_sb_str(&te),
            tc_sb_str(&sched));
    tc_strbuf_free(&te);
    tc_strbuf_free(&sched);
    tc_arena_free(a);
}

static bool run_subject(const subject *o, tc_rng *rng, uint64_t seed, totals *sum) {
    tc_error err = {0};
    tc_ctx *child = tc_ctx_child(o->w->ctx);
    tc_trace *made = tc_test_random_trace(child, o->w, rng, MAX_STEPS);
    tc_arena *a = tc_arena_new();
    tc_trace *t = tc_trace_copy(a, made);
    tc_ctx_free(child);
    tc_status s = check(o, t, sum, &err);
    sum->cases++;
    sum->illegal += s == TC_ILLEGAL;
    if (s != TC_OK && s != TC_ILLEGAL)
        report(o, t, seed);
    tc_arena_free(a);
    return s == TC_OK || s == TC_ILLEGAL;
}

static bool opened(tc_status s, uint64_t seed, const tc_error *err) {
    if (s != TC_OK)
        fprintf(stderr, "FAILED seed %llu: the reference interpreter: %s\n", (unsigned long long)seed, err->msg);
    return s == TC_OK;
}

static bool run_fixed(const tc_workload *w, tc_rng *rng, uint64_t seed, totals *sum) {
    tc_error err = {0};
    subject o = {.w = w, .n = 1};
    bool ok = opened(oracle_open(&o.at[0], w, seed, &err), seed, &err) && run_subject(&o, rng, seed, sum);
    oracle_close(&o.at[0]);
    return ok;
}

/* w, or nothing where it is NULL. Each size in a context of its own: schedules are made in children of the workload's, which must
 * not grow meanwhile. */
static bool run_varying(const tc_workload *w, tc_rng *rng, uint64_t seed, totals *sum) {
    tc_error err = {0};
    subject o = {.w = w};
    tc_ctx *own[MAX_SIZES];
    bool ok = true;
    for (int i = 0; o.w && i < MAX_SIZES && ok; i++) {
        own[i] = tc_ctx_new();
        tc_test_random_sizes(o.w, rng, o.sizes[i]);
        ok = opened(oracle_open_at(&o.at[i], own[i], o.w, o.sizes[i], seed, &err), seed, &err);
        o.n += ok;
    }
    ok = ok && (!o.w || run_subject(&o, rng, seed, sum));
    for (int i = 0; i < o.n; i++) {
        oracle_close(&o.at[i]);
        tc_ctx_free(own[i]);
    }
    sum->varying += o.w != NULL;
    return ok;
}

static bool run_case(uint64_t seed, totals *sum) {
    tc_rng rng = tc_rng_seed(seed);
    tc_ctx *c = tc_ctx_new();
    const tc_workload *w = tc_test_random_workload(c, &rng);
    bool ok = run_fixed(w, &rng, seed, sum);
    if (ok && seed % 2)
        ok = run_varying(tc_test_vary(c, w, &rng), &rng, seed, sum);
    if (ok && seed % 4 == 0)
        ok = run_varying(tc_test_random_joined(c, &rng), &rng, seed, sum);
    tc_ctx_free(c);
    return ok;
}

int main(int argc, char **argv) {
    const test_cases asked = test_cases_of(argc, argv, DEFAULT_CASES);
    totals sum = {0};
    int failed = 0;
    for (uint64_t i = 0; i < asked.n && failed < 5; i++)
        failed += !run_case(asked.seed + i, &sum);
    printf("%lld cases from seed %llu, of which %lld with sizes that vary: %d failed, %lld refused by lowering, %lld not proved, "
           "%lld pairs in place\n",
           (long long)sum.cases, (unsigned long long)asked.seed, (long long)sum.varying, failed, (long long)sum.illegal,
           (long long)sum.unproven, (long long)sum.in_place);
    /* A generator that makes mostly refused schedules tests nothing, nor one whose kernels never write in place, or seldom vary. */
    return failed || (asked.n >= 100 && (sum.illegal * 3 > sum.cases || sum.in_place * 20 < sum.cases ||
                                         sum.varying * 5 < sum.cases || sum.unproven * 10 > 3 * sum.varying));
}
