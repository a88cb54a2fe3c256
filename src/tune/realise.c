/* Traces become programs, on all threads: the hash and the score of each. A form remembers the hash of every trace that it
 * lowered, so traces that construction and descent find again cost nothing. */
#include <stdlib.h>

#include "tir_lower/program/program.h"
#include "tune/propose.h"

int tc_tune_by_hash(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

bool tc_tune_known(const form *k, uint64_t program) {
    return k->seen.len && bsearch(&program, k->seen.data, k->seen.len, sizeof program, tc_tune_by_hash) != NULL;
}

void tc_tune_remember(form *k, uint64_t program) {
    size_t at = 0;
    if (tc_tune_known(k, program))
        return;
    tc_push(&k->seen, program);
    for (at = k->seen.len - 1; at > 0 && k->seen.data[at - 1] > program; at--)
        k->seen.data[at] = k->seen.data[at - 1];
    k->seen.data[at] = program;
}

/* The program's hash; 0: the trace does not lower. */
static uint64_t build(const tc_tune *t, const form *k, const tc_trace *tr, const tc_scorer *sc, int slot) {
    tc_ctx *ctx = tc_ctx_child(k->w->ctx);
    tc_tir_origin from = {.workload = k->w, .machine = &t->machine, .trace = tr};
    tc_tir_program p;
    if (tc_tir_program_make(ctx, &from, TC_TIR_HASH, &p, NULL) == TC_OK && sc)
        sc->add(sc->user, slot, p.hash, p.nest);
    tc_ctx_free(ctx);
    return p.hash;
}

void tc_tune_realise(const tc_tune *t, form *k, tc_candidate *c, int n, const tc_scorer *sc) {
    uint64_t *key = tc_xcalloc((size_t)n + 1, sizeof *key);
    bool *open = tc_xcalloc((size_t)n + 1, sizeof *open);
    for (int i = 0; i < n; i++) {
        key[i] = tc_trace_hash(c[i].trace);
        const uintptr_t *h = tc_map_get(&k->lowered, key[i]);
        c[i].hash = h ? *h : 0;
        bool scored = h && (!sc || !*h || tc_tune_known(k, *h) || sc->recall(sc->user, i, *h));
        open[i] = !scored;
    }
#pragma omp parallel for schedule(dynamic) num_threads(tc_tune_workers(t))
    for (int i = 0; i < n; i++)
        if (open[i])
            c[i].hash = tc_tune_stopped(t) ? 0 : build(t, k, c[i].trace, sc, i);
    for (int i = 0; i < n && !tc_tune_stopped(t); i++)
        if (open[i])
            tc_map_put(&k->lowered, key[i], c[i].hash);
    free(key);
    free(open);
}
