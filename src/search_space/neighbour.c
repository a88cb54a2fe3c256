/* The neighbours of a schedule, for local descent. Each differs in one decision, or takes the same decisions to another
 * sketch. */
#include "schedule_primitives/sample.h"
#include "search_space/space_int.h"

#include <string.h>

/* Neighbours of one tile that are drawn; other sketches that are tried. Chosen; not measured apart. */
enum { TILES = 6, SKETCHES = 12 };

typedef struct found {
    tc_arena *a;
    tc_trace **out;
    int n, cap;
} found;

static void add(found *f, tc_trace *t) {
    for (int i = 0; i < f->n; i++)
        if (tc_trace_equal(f->out[i], t))
            return;
    if (f->n < f->cap)
        f->out[f->n++] = t;
}

/* One step to either side; of few alternatives, all. */
static void choices(found *f, const tc_trace *t, int at) {
    const tc_instr *s = &t->steps[at];
    int here = 0;
    while (here < s->nints && s->ints[here].value != s->dec[0])
        here++;
    for (int i = 0; i < s->nints; i++) {
        if (i == here || (s->nints > 4 && here < s->nints && i != here - 1 && i != here + 1))
            continue;
        tc_trace *x = tc_trace_copy(f->a, t);
        x->steps[at].dec[0] = s->ints[i].value;
        add(f, x);
    }
}

static void tiles(found *f, const tc_trace *t, int at, int64_t extent, tc_rng *rng) {
    const tc_instr *s = &t->steps[at];
    int64_t parts = s->ints[0].value;
    for (int i = 0; i < TILES; i++) {
        tc_trace *x = tc_trace_copy(f->a, t);
        if (tc_sch_mutate_tile(extent, (int)parts, s->ints[1].value, rng, s->dec, x->steps[at].dec))
            add(f, x);
    }
}

static void decisions(found *f, const sketch *k, const tc_trace *t, tc_rng *rng) {
    for (int i = 0; i < k->ndec; i++) {
        int at = k->dec[i].step;
        if (t->steps[at].ndec == 0)
            continue;
        if (t->steps[at].prim == TC_PRIM_SAMPLE_CATEGORICAL)
            choices(f, t, at);
        else if (t->steps[at].prim == TC_PRIM_SAMPLE_TILE && k->dec[i].extent > 0)
            tiles(f, t, at, tc_space_tiled_extent(k, t, i), rng);
    }
}

/* The same decisions in some of the other sketches. */
static void sketches(found *f, const tc_space *s, const tc_trace *t, tc_rng *rng) {
    tc_trace **all = TC_NEW_N(f->a, tc_trace *, s->nsketch);
    int n = tc_space_transfer(s, t, s, f->a, all, s->nsketch);
    for (int i = 0; i < n && i < SKETCHES; i++) {
        int j = i + (int)tc_rng_below(rng, n - i);
        add(f, all[j]);
        all[j] = all[i];
    }
}

static void keep_fitting(found *f, const tc_space *s) {
    int n = 0;
    for (int i = 0; i < f->n; i++)
        if (tc_space_fits(s, f->out[i]))
            f->out[n++] = f->out[i];
    f->n = n;
}

int tc_space_neighbours(const tc_space *s, const tc_trace *t, tc_rng *rng, tc_arena *a, tc_trace **out, int cap) {
    int k = tc_space_sketch_of(s, t);
    found f = {.a = a, .out = out, .cap = cap};
    if (k < 0)
        return 0;
    decisions(&f, &s->sk[k], t, rng);
    sketches(&f, s, t, rng);
    keep_fitting(&f, s);
    for (int i = f.n - 1; i > 0; i--) { /* where they cannot all be tried, none is preferred */
        int j = (int)tc_rng_below(rng, i + 1);
        tc_trace *x = out[i];
        out[i] = out[j];
        out[j] = x;
    }
    return f.n;
}
