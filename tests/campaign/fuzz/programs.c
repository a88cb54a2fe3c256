/* Programs that inputs lead to: how large they are, their text, their lowering. */
#include <math.h>
#include <string.h>

#include "targets.h"
#include "te/text.h"
#include "tir_lower/build/build.h"
#include "tir_lower/oracle.h"
#include "tir_lower/passes/passes.h"
#include "tir_lower/text/text.h"
#include "tir_lower/verify/verify.h"

/* Elements, and steps of an interpreter. */
#define MOST_ELEMENTS 1e6
#define MOST_STEPS 1e5

bool fuzz_small_workload(const tc_workload *w) {
    double elements = 0;
    for (int i = 0; i < w->nin; i++)
        elements += (double)tc_tensor_size(w->in[i]);
    for (int i = 0; i < w->ncompute; i++)
        for (int o = 0; o < w->computes[i]->nout; o++)
            elements += (double)tc_tensor_size(w->computes[i]->out[o]);
    return elements < MOST_ELEMENTS && tc_te_flops(w) < MOST_STEPS;
}

/* Statements and lanes that are run, at most. */
static double steps_of(const tc_stmt *s) {
    double steps = 1, trips = 1;
    if (s->kind == TC_STMT_STORE)
        steps += s->u.store.index->lanes;
    if (s->kind == TC_STMT_INTRIN)
        steps += (double)s->u.intrin.tile[0]->size;
    if (s->kind == TC_STMT_FOR)
        trips = s->u.loop.extent->op == TC_OP_INT ? fmax(0, (double)s->u.loop.extent->u.i) : INFINITY;
    const tc_stmt *child;
    for (int i = 0; (child = tc_tir_child(s, i)); i++)
        steps += steps_of(child);
    return steps * trips;
}

static void add_elements(const tc_stmt *s, void *sum) {
    if (s->kind == TC_STMT_ALLOC)
        *(double *)sum += (double)s->u.alloc.buffer->size;
}

bool fuzz_small_program(const tc_func *f) {
    double elements = (double)f->shared_bytes + (double)f->thread_bytes;
    for (int i = 0; i < f->nparam; i++)
        elements += (double)f->params[i].buffer->size;
    tc_tir_walk(f->body, add_elements, &elements);
    return elements < MOST_ELEMENTS && (!f->body || steps_of(f->body) < MOST_STEPS);
}

void fuzz_check_tir_text(tc_ctx *c, const tc_func *f) {
    tc_func *again;
    tc_strbuf a = {0}, b = {0};
    tc_error err = {0};
    tc_tir_print(&a, f);
    if (tc_tir_parse(c, "printed.tir", tc_sb_str(&a), &again, &err) != TC_OK)
        fuzz_wrong("printed, it is refused: %s\n%s", err.msg, tc_sb_str(&a));
    tc_tir_print(&b, again);
    if (strcmp(tc_sb_str(&a), tc_sb_str(&b)) != 0)
        fuzz_wrong("read back, it prints otherwise:\n%s---\n%s", tc_sb_str(&a), tc_sb_str(&b));
    if (tc_tir_hash(f) != tc_tir_hash(again))
        fuzz_wrong("read back, it has another hash:\n%s", tc_sb_str(&a));
    tc_strbuf_free(&a);
    tc_strbuf_free(&b);
}

/* Where sizes vary the verifier may fail to see that a right program is right; what is wrong shows when it is run. */
static void verify(tc_ctx *c, const tc_func *f, const char *what) {
    tc_error err = {0};
    if (tc_tir_verify(c, f, &err) == TC_OK || f->nsymbol)
        return;
    tc_strbuf b = {0};
    tc_tir_print(&b, f);
    fuzz_wrong("%s is not what the verifier takes: %s\n%s", what, err.msg, tc_sb_str(&b));
}

void fuzz_lower(tc_ctx *c, tc_sched *s, tc_func **nest, tc_func **lowered) {
    tc_error err = {0};
    *nest = *lowered = NULL;
    if (!fuzz_good(tc_tir_build(s, &test_machine, nest, &err), &err)) {
        *nest = NULL;
        return;
    }
    verify(c, *nest, "the nest of a schedule");
    if (!fuzz_good(tc_tir_lower(c, &test_machine, *nest, NULL, lowered, &err), &err)) {
        *lowered = NULL;
        return;
    }
    verify(c, *lowered, "a lowered program");
}
