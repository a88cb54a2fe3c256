/* A schedule moved to another sketch, of the same workload or of a similar one: the other sketch takes over its decisions.
 *
 * A decision is found again by its role, the anchor that it belongs to, and its place among the decisions of that role.
 * Decisions without a counterpart are constructed for the schedule's register tile. A tile that spanned its whole axis spans
 * the new axis too. */
#include "schedule_primitives/sample.h"
#include "search_space/construct_int.h"

#include <string.h>

/* A trace with the decisions it makes. */
typedef struct instance {
    const tc_space *s;
    const sketch *k;
    const tc_trace *t;
} instance;

static const tc_instr *step_of(const instance *x, int dec) {
    return &x->t->steps[x->k->dec[dec].step];
}

/* Place of decision `dec` among those of its role and anchor. */
static int place_of(const sketch *k, int dec) {
    int n = 0;
    for (int i = 0; i < dec; i++)
        n += k->dec[i].role == k->dec[dec].role && k->dec[i].anchor == k->dec[dec].anchor;
    return n;
}

/* The decision of x like `dec` of sketch k, -1: none. */
static int counterpart(const instance *x, const sketch *k, int dec) {
    int place = place_of(k, dec);
    for (int i = 0; i < x->k->ndec; i++)
        if (x->k->dec[i].role == k->dec[dec].role && x->k->dec[i].anchor == k->dec[dec].anchor && place-- == 0)
            return i;
    return -1;
}

/* Rows of the register tile: of the axis that has most of them. */
static int64_t rows_of(const instance *x) {
    int64_t rows = 1;
    for (int i = 0; i < x->k->ndec; i++) {
        const tc_instr *s = step_of(x, i);
        if (x->k->dec[i].role == ROLE_ROW_TILE)
            rows = TC_MAX(rows, s->dec[1]);
        else if (x->k->dec[i].role == ROLE_REG_ROW)
            rows = TC_MAX(rows, s->dec[0]);
    }
    return rows;
}

static int64_t first_of(const instance *x, role r, int64_t otherwise) {
    for (int i = 0; i < x->k->ndec; i++)
        if (x->k->dec[i].role == r)
            return step_of(x, i)->dec[0];
    return otherwise;
}

/* What is not decided is as the estimate prefers it: four steps of the reduction, four vectors. */
static tc_space_tile tile_of(const instance *x) {
    int64_t lanes = x->s->m.vector_bytes / 4;
    for (int i = 0; i < x->k->ndec; i++)
        if (x->k->dec[i].role == ROLE_VEC)
            lanes = x->k->dec[i].lanes;
    return (tc_space_tile){.rows = (int)rows_of(x),
                           .vecs = (int)TC_MAX(1, first_of(x, ROLE_VEC, lanes) / lanes),
                           .unroll = (int)first_of(x, ROLE_UNROLL_K, 4),
                           .width = (int)TC_MAX(1, first_of(x, ROLE_WIDTH, 4 * lanes) / lanes)};
}

int64_t tc_space_tiled_extent(const sketch *k, const tc_trace *t, int dec) {
    const decision *d = &k->dec[dec];
    role counts = d->role == ROLE_TILE_BLOCK ? ROLE_TILE_ROWS : d->role == ROLE_TILE_PANELS ? ROLE_TILE_COLUMNS : ROLE_VEC;
    if (counts == ROLE_VEC && d->role != ROLE_VEC_OUTER && d->role != ROLE_BLOCK_VEC)
        return d->extent;
    const decision *width = tc_space_role_of(k, d->anchor, counts);
    return width ? tc_ceil_div(d->extent, t->steps[width->step].dec[0]) : d->extent;
}

/* The value among the step's candidates that is next to `want`. */
static int64_t nearest(const tc_instr *step, int64_t want) {
    int64_t best = step->ints[0].value;
    for (int i = 1; i < step->nints; i++)
        if (llabs(step->ints[i].value - want) < llabs(best - want))
            best = step->ints[i].value;
    return best;
}

static int64_t product(const int64_t *v, int n) {
    int64_t p = 1;
    for (int i = 0; i < n; i++)
        p *= v[i];
    return p;
}

/* Takes the factors of `from`, made for an axis of length `was`, over to an axis of length `is`. False: they do not fit. */
static bool take_tile(const tc_instr *from, int64_t was, int64_t is, tc_instr *to) {
    int64_t parts = to->ints[0].value, dec[TC_MAX_PARTS];
    int n = (int)parts - 1;
    if (from->ndec != n || n < 1)
        return false;
    memcpy(dec, from->dec, sizeof *dec * (size_t)n);
    if (was > 0 && product(dec, n) >= was)
        dec[0] = (is + product(dec + 1, n - 1) - 1) / product(dec + 1, n - 1);
    dec[n - 1] = TC_MIN(dec[n - 1], is);
    while (dec[0] > 1 && !tc_sch_tile_legal(is, (int)parts, to->ints[1].value, dec))
        dec[0]--;
    if (!tc_sch_tile_legal(is, (int)parts, to->ints[1].value, dec))
        return false;
    memcpy(to->dec, dec, sizeof *dec * (size_t)n);
    return true;
}

/* Decision `dec` of `from` becomes decision `as` of sketch k in t. */
static void take(const instance *from, int dec, const sketch *k, int as, tc_trace *t) {
    const tc_instr *s = step_of(from, dec);
    tc_instr *to = &t->steps[k->dec[as].step];
    if (to->prim == TC_PRIM_SAMPLE_CATEGORICAL && s->prim == to->prim)
        to->dec[0] = nearest(to, s->dec[0]);
    else if (to->prim == TC_PRIM_SAMPLE_TILE && s->prim == to->prim)
        take_tile(s, tc_space_tiled_extent(from->k, from->t, dec), tc_space_tiled_extent(k, t, as), to);
}

static tc_trace *move(const instance *from, const tc_space *to, int sk, tc_arena *a) {
    tc_space_tile tile = tile_of(from);
    tc_trace *t = tc_space_fill(to, sk, &tile, a);
    const sketch *k = &to->sk[sk];
    for (int i = 0; i < k->ndec; i++) {
        int same = counterpart(from, k, i);
        if (same >= 0)
            take(from, same, k, i, t);
    }
    return t;
}

int tc_space_transfer(const tc_space *from, const tc_trace *t, const tc_space *to, tc_arena *a, tc_trace **out, int cap) {
    int k = tc_space_sketch_of(from, t), n = 0;
    if (k < 0 || from->sk[k].ndec == 0)
        return 0;
    instance x = {from, &from->sk[k], t};
    for (int i = 0; i < x.k->ndec; i++)
        if (step_of(&x, i)->ndec == 0)
            return 0;
    for (int same = 1; same >= 0; same--)
        for (int i = 0; i < to->nsketch && n < cap; i++)
            if ((memcmp(&to->sk[i].v, &x.k->v, sizeof x.k->v) == 0) == (same != 0) && !(from == to && i == k))
                out[n++] = move(&x, to, i, a);
    return n;
}
