/* What the time goes to: by the same program without a part, and by what its threads were seen to do. */
#include <math.h>

#include "tir_lower/program/ablate.h"
#include "tune/explain/explain_int.h"

static void put(tc_tune_explanation *x, tc_tune_part p) {
    if (x->npart < TC_TUNE_PARTS)
        x->part[x->npart++] = p;
}

static void put_waiting(const field *f, tc_tune_explanation *x) {
    const char *counted = tc_meas_is_restless(&f->unrest) ? "counted on a busy machine" : "counted while it ran";
    const tc_meas_shares *s = &f->shares;
    if (s->work + s->fork + s->wait + s->alone <= 0)
        return;
    put(x, (tc_tune_part){"forks", counted, s->fork, NAN, NAN});
    put(x, (tc_tune_part){"waiting for other threads", counted, s->wait, NAN, NAN});
    put(x, (tc_tune_part){"one thread alone", counted, s->alone, NAN, NAN});
}

void tune_parts(const field *f, tc_tune_explanation *x) {
    for (int i = 0; i < f->n; i++) {
        const tc_tune_trial *t = &f->e[i].t;
        if (t->without >= 0 && t->rounds)
            put(x, (tc_tune_part){tc_tir_part_text((tc_tir_part)t->without),
                                  tc_arena_printf(f->arena, "measured without: %s", t->change.what), 1 - t->ratio, 1 - t->high,
                                  1 - t->low});
    }
    put_waiting(f, x);
}
