/* Records that were disturbed when they were taken.
 *
 * While another program has a core, every candidate for all cores takes twice its time, and a candidate for fewer wins.
 * Nothing looks at such records again: no phase proposes a known program, and they seem too slow for a contest. So a session
 * that returns to a task and finds nothing new spends a few runs on doubt. In turns with the best run the schedule of untuned
 * kernels, the programs that the analytic model thinks fastest (no record misleads it), and the records that rank next. A
 * program that is faster than its record said is corrected, and then more are doubted. */
#include <math.h>
#include <stdlib.h>

#include "tir_lower/program/program.h"
#include "tune/tune_int.h"

enum { TURNS = 4 /* in a row */ };

/* A record was disturbed when its program takes no more than this share of its time. Chosen: repeats of a kernel on an idle
 * machine span 1 to 3 % (measure/machine/drift.c), records of a disturbed one took twice their time and more. */
static const double disturbed = 0.9;

/* Nothing new of it is found, and earlier sessions measured it. */
static bool due(const tc_tune *t, int i) {
    const tc_tune_state *s = &t->state[i];
    return t->o.search == TC_TUNE_PHASES && t->task[i].recalled > 0 && (s->exhausted || s->settled) && !s->at_roof;
}

/* The program that form f of task i runs untuned; 0: there is none. */
static uint64_t default_program(tc_tune *t, int i, int f) {
    form *k = &t->task[i].form[f];
    tc_arena *a = tc_arena_new();
    tc_ctx *ctx = tc_ctx_child(k->w->ctx);
    tc_trace *tr;
    tc_tir_program p;
    uint64_t h = 0;
    if ((k->space || tc_space_new(k->w, &t->machine, &k->space, NULL) == TC_OK) &&
        tc_space_default(k->space, a, &tr, NULL) == TC_OK) {
        tc_tir_origin from = {.workload = k->w, .machine = &t->machine, .trace = tr};
        h = tc_tir_program_make(ctx, &from, TC_TIR_HASH, &p, NULL) == TC_OK ? p.hash : 0;
    }
    tc_ctx_free(ctx);
    tc_arena_free(a);
    return h;
}

/* ---- whom to doubt ---- */

typedef struct suspects {
    int n, at[1 + TC_TUNE_RIVALS]; /* samples; the incumbent first */
} suspects;

static bool open_to_doubt(const tc_tune *t, const suspects *s, int at) {
    const sample *x = &t->samples.data[at];
    for (int j = 0; j < s->n; j++)
        if (s->at[j] == at)
            return false;
    return x->verified && !x->rechecked && x->id != 0 && isfinite(x->seconds);
}

typedef double measure_of(const sample *x, uint64_t default_program);

static double by_default(const sample *x, uint64_t program) {
    return program != 0 && x->program == program ? 0 : INFINITY;
}

static double by_estimate(const sample *x, uint64_t program) {
    (void)program;
    return tc_cost_estimate(&x->rows);
}

static double by_record(const sample *x, uint64_t program) {
    (void)program;
    return x->seconds;
}

/* The one with the least measure joins, if any has one. */
static void doubt(const tc_tune *t, int i, measure_of *of, const uint64_t *defaults, suspects *s) {
    int best = -1;
    double least = INFINITY;
    for (int f = 0; f < t->task[i].nform && s->n < (int)TC_LEN(s->at); f++) {
        const form *k = &t->task[i].form[f];
        for (size_t j = 0; j < k->samples.len; j++) {
            int at = (int)k->samples.data[j];
            if (!open_to_doubt(t, s, at) || of(&t->samples.data[at], defaults[f]) >= least)
                continue;
            least = of(&t->samples.data[at], defaults[f]);
            best = at;
        }
    }
    if (best >= 0)
        s->at[s->n++] = best;
}

/* ---- turns ---- */

/* *corrected: how many were disturbed. *failed: one of them is out, and the others are still to be doubted. */
static tc_status recheck_once(tc_tune *t, int i, const uint64_t *defaults, int *corrected, bool *failed, tc_error *err) {
    static measure_of *const measures[] = {by_default, by_estimate, by_record, by_estimate};
    suspects s = {0};
    double recorded[TC_LEN(s.at)];
    int incumbent = tc_tune_incumbent(t, i), first = incumbent >= 0; /* all may have been given up */
    bool held;
    *corrected = 0;
    *failed = false;
    if (incumbent >= 0)
        s.at[s.n++] = incumbent;
    for (size_t m = 0; m < TC_LEN(measures); m++)
        doubt(t, i, measures[m], defaults, &s);
    if (s.n == first)
        return TC_OK;
    for (int k = 0; k < s.n; k++)
        recorded[k] = t->samples.data[s.at[k]].seconds;
    TC_TRY(tc_tune_in_turns(t, s.at, s.n, &held, failed, err));
    for (int k = first; k < s.n && !*failed; k++)
        t->samples.data[s.at[k]].rechecked = true;
    for (int k = first; k < s.n && held; k++) {
        t->report.rechecked++;
        *corrected += t->samples.data[s.at[k]].seconds < disturbed * recorded[k];
    }
    t->report.corrected += *corrected;
    return TC_OK;
}

tc_status tc_tune_recheck(tc_tune *t, int i, tc_error *err) {
    int corrected = 1, failures = 0;
    bool failed = false;
    double t0 = tc_now();
    tc_status st = TC_OK;
    if (!due(t, i) || tc_meas_get_calm(t->meas).disturbed) /* what is taken now would be no better */
        return TC_OK;
    uint64_t *defaults = tc_xcalloc((size_t)t->task[i].nform, sizeof *defaults);
    for (int f = 0; f < t->task[i].nform; f++)
        defaults[f] = default_program(t, i, f);
    for (int k = 0; k < TURNS && (corrected > 0 || failed) && st == TC_OK && !tc_tune_interrupted(t); k++) {
        st = recheck_once(t, i, defaults, &corrected, &failed, err);
        failures += failed;
    }
    free(defaults);
    tc_tune_rerank(t, i);
    if (failures)
        tc_tune_reopen(t, i);
    t->report.contest_seconds += tc_now() - t0;
    return st;
}
