/* Programs with a part left out: random workload x random legal trace x each part, each pair of parts and all that the program
 * has. Each is one that the verifier takes, stays within its buffers when it is interpreted, and has the statements of the whole
 * program, but for those that the part is; the whole program is what it was. For every third seed with sizes that vary. On
 * failure: the seed, the parts, the workload and the trace.
 *
 *     test_tir_ablate_property [CASES [SEED]] */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cases.h"
#include "common/random_symbols.h"
#include "common/random_trace.h"
#include "common/random_workload.h"
#include "te/text.h"
#include "tir_lower/oracle.h"
#include "tir_lower/program/ablate.h"
#include "tir_lower/text/text.h"

#ifdef TCTUNE_SANITIZED
enum { DEFAULT_CASES = 150 };
#else
enum { DEFAULT_CASES = 600 };
#endif
enum { MAX_STEPS = 28 };

/* The random workloads are small, so caches are. */
static const tc_machine machine = {.vector_bytes = 32,
                                   .vector_regs = 32,
                                   .masks = true,
                                   .fma = true,
                                   .intrinsics = TC_INTRINSICS_ALL,
                                   .cores = 2,
                                   .l1 = 512,
                                   .l2 = 2048,
                                   .l3 = 16 << 20,
                                   .line = 64};

typedef struct totals {
    int64_t whole, programs, varying, unproven;
    int64_t of[TC_TIR_NPARTS]; /* programs that have it */
} totals;

typedef struct subject {
    const tc_workload *w;
    const tc_trace *trace;
    oracle at;
    tc_ctx *own; /* of the whole program */
    tc_tir_program whole;
    totals *sum;
} subject;

/* ---- what is counted ---- */

typedef struct counts {
    int64_t stores, loads, loops;
} counts;

static void count_load(const tc_expr *e, void *user) {
    ((counts *)user)->loads += e->op == TC_OP_LOAD;
}

static void count(const tc_stmt *s, void *user) {
    counts *n = user;
    n->stores += s->kind == TC_STMT_STORE || s->kind == TC_STMT_INTRIN;
    n->loops += s->kind == TC_STMT_FOR;
    tc_tir_walk_exprs(s, count_load, n);
}

static counts counts_of(const tc_func *f) {
    counts n = {0};
    tc_tir_walk(f->body, count, &n);
    return n;
}

/* What stays as it was, of parts that are taken out of the lowered program. */
static tc_status check_counts(tc_tir_part p, const tc_func *whole, const tc_func *f, tc_error *err) {
    counts a = counts_of(whole), b = counts_of(f);
    bool same = a.stores == b.stores && a.loops <= b.loops && b.loops <= 2 * a.loops, ok = true;
    switch (p) {
    case TC_TIR_PART_TAILS:
    case TC_TIR_PART_LOADS:
        break; /* passes made another program of it */
    case TC_TIR_PART_STORES:
    case TC_TIR_PART_MEMORY: /* two loads at one statement may become one and the same */
        ok = same && b.loads <= a.loads;
        break;
    case TC_TIR_PART_EPILOGUE:
        ok = a.stores == b.stores && a.loops == b.loops && b.loads <= a.loads;
        break;
    case TC_TIR_PART_ARITH:
    case TC_TIR_PART_PACKING:
        ok = b.stores <= a.stores && b.loops <= a.loops && (p == TC_TIR_PART_ARITH || b.stores < a.stores);
        break;
    case TC_TIR_NPARTS:
        break;
    }
    return ok ? TC_OK
              : tc_fail(err, TC_BAD_INPUT, "%lld stores, %lld loads, %lld loops became %lld, %lld, %lld", (long long)a.stores,
                        (long long)a.loads, (long long)a.loops, (long long)b.stores, (long long)b.loads, (long long)b.loops);
}

/* ---- one program ---- */

static bool has_none(const tc_error *err) {
    return strncmp(err->msg, "the program has no ", 19) == 0 || strncmp(err->msg, "without ", 8) == 0;
}

/* Some programs with sizes that vary cannot be proved by the verifier, with or without a part. Anything else is a failure. */
static tc_status explain_refusal(const subject *o, const tc_error *err) {
    bool unproven = o->w->nsymbol && strstr(err->msg, "may reach outside its buffers");
    o->sum->unproven += unproven;
    return unproven ? TC_ILLEGAL : TC_BAD_INPUT;
}

/* TC_ILLEGAL: the program has nothing of one of the parts. */
static tc_status check_without(const subject *o, unsigned without, tc_error *err) {
    tc_ctx *c = tc_ctx_child(o->w->ctx);
    tc_tir_program p;
    const tc_tir_origin from = {.workload = o->w, .machine = &machine, .trace = o->trace};
    tc_status s = tc_tir_program_without(c, &from, without, &p, err);
    if (s == TC_ILLEGAL && !has_none(err))
        s = explain_refusal(o, err);
    if (s == TC_OK) {
        o->sum->programs++;
        s = oracle_run_in_part(&o->at, p.lowered, 7, err);
    }
    for (int i = 0; i < TC_TIR_NPARTS && s == TC_OK; i++)
        if (without == TC_TIR_WITHOUT(i))
            s = check_counts((tc_tir_part)i, o->whole.lowered, p.lowered, err);
    if (s == TC_OK && p.hash != o->whole.hash)
        s = tc_fail(err, TC_BAD_INPUT, "the hash is not the whole program's");
    tc_ctx_free(c);
    return s;
}

static void report(const subject *o, unsigned without, uint64_t seed, const tc_error *err) {
    tc_strbuf te = {0}, sched = {0};
    tc_te_print(&te, o->w);
    tc_trace_print(&sched, o->trace);
    fprintf(stderr, "FAILED seed %llu, without", (unsigned long long)seed);
    for (int i = 0; i < TC_TIR_NPARTS; i++)
        if (without & TC_TIR_WITHOUT(i))
            fprintf(stderr, " %s", tc_tir_part_text((tc_tir_part)i));
    fprintf(stderr, ": %s\n--- .te\n%s--- .sched\n%s---\n", err->msg, tc_sb_str(&te), tc_sb_str(&sched));
    tc_strbuf_free(&te);
    tc_strbuf_free(&sched);
}

static bool good(const subject *o, unsigned without, uint64_t seed, bool *has) {
    tc_error err = {0};
    tc_status s = check_without(o, without, &err);
    *has = s == TC_OK;
    if (s == TC_OK || s == TC_ILLEGAL)
        return true;
    report(o, without, seed, &err);
    return false;
}

/* Each part, then pairs of those that it has, then all of them: together they may leave nothing of one another. */
static bool run_parts(const subject *o, uint64_t seed) {
    unsigned all = 0;
    bool ok = true, has;
    for (int i = 0; i < TC_TIR_NPARTS && ok; i++) {
        ok = good(o, TC_TIR_WITHOUT(i), seed, &has);
        o->sum->of[i] += has;
        all |= has ? TC_TIR_WITHOUT(i) : 0;
    }
    for (int i = 0; i < TC_TIR_NPARTS && ok; i++)
        for (int k = 0; k < i && ok; k++)
            if ((all >> i & 1) && (all >> k & 1))
                ok = good(o, TC_TIR_WITHOUT(i) | TC_TIR_WITHOUT(k), seed, &has);
    return ok && good(o, all, seed, &has);
}

/* The parts' functions leave the program that they are given as it is. */
static bool is_left_alone(const subject *o) {
    uint64_t nest = tc_tir_hash(o->whole.nest), lowered = tc_tir_hash(o->whole.lowered);
    tc_error err;
    tc_func *f;
    for (int i = 0; i < TC_TIR_NPARTS; i++) {
        tc_status first = tc_tir_ablate_nest(o->own, &machine, o->whole.nest, TC_TIR_WITHOUT(i), &f, &err);
        tc_status second = tc_tir_ablate(o->own, &machine, o->whole.lowered, TC_TIR_WITHOUT(i), &f, &err);
        if (first != TC_OK && second != TC_OK && first != TC_ILLEGAL && second != TC_ILLEGAL)
            return false;
    }
    return tc_tir_hash(o->whole.nest) == nest && tc_tir_hash(o->whole.lowered) == lowered;
}

static bool run_subject(subject *o, tc_rng *rng, uint64_t seed) {
    tc_error err = {0};
    tc_arena *a = tc_arena_new();
    tc_ctx *child = tc_ctx_child(o->w->ctx);
    o->trace = tc_trace_copy(a, tc_test_random_trace(child, o->w, rng, MAX_STEPS));
    tc_ctx_free(child);
    o->own = tc_ctx_child(o->w->ctx);
    const tc_tir_origin from = {.workload = o->w, .machine = &machine, .trace = o->trace};
    bool ok = true;
    if (tc_tir_program_make(o->own, &from, TC_TIR_HASH | TC_TIR_LOWERED, &o->whole, &err) == TC_OK) {
        o->sum->whole++;
        ok = run_parts(o, seed);
        if (ok && !is_left_alone(o)) {
            report(o, TC_TIR_ALL_PARTS, seed, &(tc_error){.msg = "the whole program is another one now"});
            ok = false;
        }
    }
    tc_ctx_free(o->own);
    tc_arena_free(a);
    return ok;
}

static bool run_fixed(tc_ctx *c, tc_rng *rng, uint64_t seed, totals *sum) {
    tc_error err = {0};
    subject o = {.w = tc_test_random_workload(c, rng), .sum = sum};
    bool ok = oracle_open(&o.at, o.w, seed, &err) == TC_OK && run_subject(&o, rng, seed);
    oracle_close(&o.at);
    return ok;
}

/* Where none of the extents can vary, nothing is run. */
static bool run_varying(tc_ctx *c, tc_rng *rng, uint64_t seed, totals *sum) {
    tc_error err = {0};
    int64_t sizes[TC_TEST_MAX_SYMBOLS];
    subject o = {.w = tc_test_vary(c, tc_test_random_workload(c, rng), rng), .sum = sum};
    if (!o.w)
        return true;
    sum->varying++;
    tc_ctx *own = tc_ctx_new();
    tc_test_random_sizes(o.w, rng, sizes);
    bool ok = oracle_open_at(&o.at, own, o.w, sizes, seed, &err) == TC_OK && run_subject(&o, rng, seed);
    oracle_close(&o.at);
    tc_ctx_free(own);
    return ok;
}

static bool run_case(uint64_t seed, totals *sum) {
    tc_rng rng = tc_rng_seed(seed);
    tc_ctx *c = tc_ctx_new();
    bool ok = seed % 3 ? run_fixed(c, &rng, seed, sum) : run_varying(c, &rng, seed, sum);
    tc_ctx_free(c);
    return ok;
}

int main(int argc, char **argv) {
    const test_cases asked = test_cases_of(argc, argv, DEFAULT_CASES);
    totals sum = {0};
    int failed = 0;
    bool seldom = false;
    for (uint64_t i = 0; i < asked.n && failed < 5; i++)
        failed += !run_case(asked.seed + i, &sum);
    printf("%lld programs from seed %llu, %lld with sizes that vary: %lld with a part left out, %d failed, %lld not proved\n",
           (long long)sum.whole, (unsigned long long)asked.seed, (long long)sum.varying, (long long)sum.programs, failed,
           (long long)sum.unproven);
    for (int i = 0; i < TC_TIR_NPARTS; i++) {
        printf("%s: %lld\n", tc_tir_part_text((tc_tir_part)i), (long long)sum.of[i]);
        seldom |= sum.of[i] * 40 < sum.whole;
    }
    /* Parts that few programs have are not tested, nor is what cannot be proved. */
    return failed || (asked.n >= 100 && (seldom || sum.programs < sum.whole || sum.unproven * 50 > sum.programs));
}
