/* Random workload x random legal trace -> build -> verify -> interpret -> compare with the reference interpreter of te; then the
 * same after the whole pass pipeline, with the parallel iterations shuffled. On failure: the seed, the workload and a shrunken
 * trace.
 *
 *     test_tir_property [CASES [SEED]]        also TC_PROPERTY_CASES, TC_PROPERTY_SEED */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/random_trace.h"
#include "common/random_workload.h"
#include "te/text.h"
#include "tir_lower/oracle.h"

#ifdef TCTUNE_SANITIZED
enum { DEFAULT_CASES = 500 };
#else
enum { DEFAULT_CASES = 2000 };
#endif
enum { MAX_STEPS = 28 };

typedef struct totals {
    int64_t illegal, in_place; /* pairs of an output and an input that it may be written over */
} totals;

/* Half as wide, half as many registers, tails as powers of two instead of masks, caches so small that weights are prefetched. */
static const tc_machine narrow_machine = {
    .vector_bytes = 32, .vector_regs = 16, .cores = 2, .l1 = 256, .l2 = 512, .l3 = 16 << 20, .line = 16};

static tc_status check_lowered(const oracle *o, const tc_machine *m, tc_ctx *c, const tc_func *built, totals *sum,
                               tc_error *err) {
    tc_func *lowered;
    tc_status s = tc_tir_lower(c, m, built, NULL, &lowered, err);
    if (s == TC_OK)
        s = oracle_check(o, c, lowered, 7, err);
    if (s == TC_OK)
        s = oracle_check_in_place(o, lowered, 7, &sum->in_place, err);
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
static tc_status check(const oracle *o, const tc_trace *t, totals *sum, tc_error *err) {
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
        if (status == TC_OK)
            status = oracle_check(o, c, built, 0, err);
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
static tc_trace *shrink(const oracle *o, tc_arena *a, const tc_trace *t) {
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

static void report(const oracle *o, const tc_trace *t, uint64_t seed) {
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

static bool run_case(uint64_t seed, totals *sum) {
    tc_rng rng = tc_rng_seed(seed);
    tc_ctx *c = tc_ctx_new();
    tc_error err = {0};
    oracle o;
    tc_workload *w = tc_test_random_workload(c, &rng);
    tc_status s = oracle_open(&o, w, seed, &err);
    if (s == TC_OK) {
        tc_ctx *child = tc_ctx_child(c);
        tc_trace *made = tc_test_random_trace(child, w, &rng, MAX_STEPS);
        tc_arena *a = tc_arena_new();
        tc_trace *t = tc_trace_copy(a, made);
        tc_ctx_free(child);
        s = check(&o, t, sum, &err);
        sum->illegal += s == TC_ILLEGAL;
        if (s != TC_OK && s != TC_ILLEGAL)
            report(&o, t, seed);
        tc_arena_free(a);
    } else {
        fprintf(stderr, "FAILED seed %llu: the reference interpreter: %s\n", (unsigned long long)seed, err.msg);
    }
    oracle_close(&o);
    tc_ctx_free(c);
    return s == TC_OK || s == TC_ILLEGAL;
}

static uint64_t option(int argc, char **argv, int i, const char *name, uint64_t otherwise) {
    const char *text = argc > i ? argv[i] : getenv(name);
    return text && *text ? strtoull(text, NULL, 10) : otherwise;
}

int main(int argc, char **argv) {
    uint64_t cases = option(argc, argv, 1, "TC_PROPERTY_CASES", DEFAULT_CASES),
             seed = option(argc, argv, 2, "TC_PROPERTY_SEED", 1);
    totals sum = {0};
    int failed = 0;
    for (uint64_t i = 0; i < cases && failed < 5; i++)
        failed += !run_case(seed + i, &sum);
    printf("%llu cases from seed %llu: %d failed, %lld refused by lowering, %lld pairs in place\n", (unsigned long long)cases,
           (unsigned long long)seed, failed, (long long)sum.illegal, (long long)sum.in_place);
    /* A generator that makes mostly refused schedules tests nothing, nor one whose kernels never write in place. */
    return failed || (cases >= 100 && ((uint64_t)sum.illegal * 3 > cases || (uint64_t)sum.in_place * 20 < cases));
}
