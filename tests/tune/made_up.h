/* An explanation's field with made-up results: nothing runs, and no clock is looked at. */
#ifndef TC_TESTS_TUNE_MADE_UP_H
#define TC_TESTS_TUNE_MADE_UP_H

#include "support/cmocka_all.h"

#include <math.h>
#include <string.h>

#include "te/text.h"
#include "tune/explain/explain_int.h"

enum { MADE_UP = 8 };

typedef struct made_up {
    tc_arena *arena;
    tc_ctx *ctx;
    tc_target target;
    tc_tune_explain_options o;
    tc_tune_side side;
    entrant e[MADE_UP];
    field f;
    tc_tune_explanation x;
} made_up;

/* A product on two cores, by a schedule with which nothing is the matter; it takes 1 ms, at the half of its roof. */
static inline int begin(void **state) {
    made_up *m = tc_xcalloc(1, sizeof *m);
    m->arena = tc_arena_new();
    m->ctx = tc_ctx_new();
    m->target.machine = (tc_machine){.vector_bytes = 64, .vector_regs = 32, .fma = true, .cores = 2, .line = 64};
    m->o.target = &m->target;
    assert_int_equal(tc_te_parse(m->ctx, "kernel",
                                 "tensor X[64, 64] f32\ntensor W[64, 64] f32 const\n"
                                 "compute Y[i:64, j:64] = sum(k:64) X[i, k] * W[k, j]\noutput Y\n",
                                 &m->o.workload, NULL),
                     TC_OK);
    m->side.facts = (tc_cg_asm_facts){.known = true, .hot = 0, .mix = {.instructions = 40, .fma = 24, .other = 3}};
    m->f = (field){.o = &m->o,
                   .arena = m->arena,
                   .ctx = m->ctx,
                   .side = &m->side,
                   .seconds = 1e-3,
                   .screened = 1e-3,
                   .e = m->e,
                   .cap = MADE_UP};
    m->f.own = (traits){.lanes = 16,
                        .full_lanes = 16,
                        .accumulators = 24,
                        .body = 40,
                        .cores_used = 1,
                        .regions = 1,
                        .unrolled = 4,
                        .reduces = true,
                        .strided = -1};
    m->x = (tc_tune_explanation){.binds = -1, .seconds = 1e-3, .roof = {.seconds = 0.5e-3}};
    *state = m;
    return 0;
}

static inline int end(void **state) {
    made_up *m = *state;
    tc_ctx_free(m->ctx);
    tc_arena_free(m->arena);
    free(m);
    return 0;
}

/* Somebody who took part: of the schedule's time, with its interval, over ten rounds; low NAN: tried once. The schedule's traits
 * are its own. */
static inline entrant *enter(made_up *m, tc_tune_trial_kind kind, double ratio, double low, double high) {
    assert_true(m->f.n < MADE_UP);
    entrant *e = &m->e[m->f.n++];
    *e = (entrant){.traits = m->f.own, .screened = ratio * 1e-3};
    e->t = (tc_tune_trial){.kind = kind,
                           .change = {.step = 0, .decision = "Y.i", .what = "6 -> 12", .more = true},
                           .cause = TC_NCAUSES,
                           .without = -1,
                           .rounds = isnan(low) ? 0 : 10,
                           .ratio = ratio,
                           .low = low,
                           .high = high};
    return e;
}

static inline entrant *change(made_up *m, tc_space_change_kind about, double ratio, double low, double high) {
    entrant *e = enter(m, TC_TRIAL_CHANGE, ratio, low, high);
    e->t.change.kind = about;
    return e;
}

/* The register tile spills, and a smaller one takes that much. */
static inline entrant *spilling(made_up *m, double ratio, double low, double high) {
    m->f.own.spilled = 8;
    m->side.facts.mix.spills = 16;
    entrant *e = change(m, TC_CHANGE_REGISTERS, ratio, low, high);
    e->traits.spilled = 0;
    return e;
}

static inline void rank(made_up *m) {
    tune_rank(&m->f, &m->x);
    tune_answer(&m->f, &m->x);
}

static inline bool begins(const char *text, const char *with) {
    return strncmp(text, with, strlen(with)) == 0;
}

#define MADE_UP_TEST(f) cmocka_unit_test_setup_teardown(f, begin, end)

#endif
