/* The decisions that a trace's steps make: sampled ones, factors of splits, and annotations, layouts and pragmas, which can be
 * taken out. */
#include "schedule_primitives/sample.h"
#include "search_space/changes/changes_int.h"

#include <stdio.h>
#include <string.h>

/* ---- what a factor is about ---- */

static const char *loop_part(const char *qualified) {
    const char *dot = strchr(qualified, '.');
    return dot ? dot + 1 : qualified;
}

/* A later step is of that primitive and about a loop of this name, of whatever stage: an attached one computes what the loops of
 * its reader ask for. */
static bool is_made(const tc_trace *t, int from, const char *loop, tc_prim p) {
    for (int i = from; i < t->n; i++)
        if (t->steps[i].prim == p && t->steps[i].nnames && strcmp(loop_part(t->steps[i].names[0]), loop) == 0)
            return true;
    return false;
}

static tc_space_change_kind kind_of_loop(const tc_trace *t, int from, const char *loop) {
    if (is_made(t, from, loop, TC_PRIM_VECTORIZE))
        return TC_CHANGE_VECTOR;
    if (is_made(t, from, loop, TC_PRIM_UNROLL))
        return TC_CHANGE_REGISTERS;
    return TC_CHANGE_BLOCK;
}

static bool refers(const tc_int_arg *x, const char *decision, int part) {
    return x->kind == TC_ARG_REF && strcmp(x->ref, decision) == 0 && x->part == part;
}

/* Where a decision's part is used first: as a factor, which makes the loop *loop of the stage or loop *of, or by another step. */
typedef struct use {
    tc_space_change_kind kind;
    const char *of, *loop; /* NULL: it makes no loop */
} use;

static use use_of(const tc_trace *t, int at, int part) {
    const char *name = t->steps[at].outs[0];
    for (int i = at + 1; i < t->n; i++) {
        const tc_instr *s = &t->steps[i];
        for (int k = 0; k < s->nints; k++) {
            if (!refers(&s->ints[k], name, part))
                continue;
            if (s->prim == TC_PRIM_PRAGMA)
                return (use){TC_CHANGE_UNROLL, s->names[0], NULL};
            if (s->prim == TC_PRIM_PREFETCH)
                return (use){TC_CHANGE_PREFETCH, s->names[0], NULL};
            if (s->prim == TC_PRIM_SPLIT)
                return (use){kind_of_loop(t, i, s->outs[k]), s->names[0], s->outs[k]};
        }
    }
    return (use){TC_CHANGE_LAYOUT, "", NULL};
}

static tc_space_change described(const collector *c, int at, const use *u, int64_t from, int64_t to) {
    tc_space_change x = {.kind = u->kind, .step = at, .more = to > from};
    x.decision = u->loop ? tc_arena_printf(c->a, "%s in %s", u->loop, u->of)
                         : tc_arena_printf(c->a, "%s%s%s", c->t->steps[at].outs[0], *u->of ? " of " : "", u->of);
    x.what = tc_arena_printf(c->a, "%lld -> %lld", (long long)from, (long long)to);
    return x;
}

/* ---- sampled steps ---- */

/* One step to either side; of few alternatives, all. */
static void change_choice(collector *c, int at) {
    const tc_instr *s = &c->t->steps[at];
    use u = use_of(c->t, at, -1);
    int here = 0;
    while (here < s->nints && s->ints[here].value != s->dec[0])
        here++;
    for (int i = 0; i < s->nints; i++) {
        if (i == here || (s->nints > 4 && here < s->nints && i != here - 1 && i != here + 1))
            continue;
        tc_space_change x = described(c, at, &u, s->dec[0], s->ints[i].value);
        x.trace = tc_trace_copy(c->a, c->t);
        x.trace->steps[at].dec[0] = s->ints[i].value;
        space_add_change(c, &x);
    }
}

/* Length of the loop that the step divides. */
static int64_t extent_at(const collector *c, int at) {
    tc_ctx *ctx = tc_ctx_child(c->w->ctx);
    tc_trace before = *c->t;
    tc_sched *s;
    int64_t extent = 0;
    before.n = at;
    before.id = 0;
    if (tc_sch_replay(ctx, c->w, &before, NULL, &s, NULL) == TC_OK) {
        tc_loop l = tc_sch_find_loop(s, c->t->steps[at].names[0]);
        extent = l >= 0 ? s->loops[l].extent : 0;
    }
    tc_ctx_free(ctx);
    return extent;
}

/* The nearest legal factor above or below, at most by a factor of two away; 0: none. */
static int64_t next_factor(const tc_instr *s, int part, int64_t extent, bool more) {
    int64_t dec[TC_MAX_PARTS], here = s->dec[part];
    memcpy(dec, s->dec, sizeof dec);
    for (int64_t k = 2; k <= 4; k++) { /* twice or half as much, or three or four times where that is not possible */
        dec[part] = more ? here * k : here / k;
        if ((more || here % k == 0) && dec[part] > 0 && tc_sch_tile_legal(extent, (int)s->ints[0].value, s->ints[1].value, dec))
            return dec[part];
    }
    return 0;
}

static void change_tile(collector *c, int at) {
    const tc_instr *s = &c->t->steps[at];
    int64_t extent = extent_at(c, at);
    for (int part = 0; part < s->ndec && extent; part++)
        for (int more = 0; more < 2; more++) {
            use u = use_of(c->t, at, part + 1);
            int64_t to = next_factor(s, part, extent, more);
            if (!to)
                continue;
            tc_space_change x = described(c, at, &u, s->dec[part], to);
            x.trace = tc_trace_copy(c->a, c->t);
            x.trace->steps[at].dec[part] = to;
            space_add_change(c, &x);
        }
}

static void change_location(collector *c, int at) {
    enum { PLACES = 8 };
    const tc_instr *s = &c->t->steps[at];
    const char *place[PLACES];
    int stage = tc_sch_find_stage(c->s, s->names[0]);
    int n = stage < 0 ? 0 : TC_MIN(PLACES, tc_sch_locations(c->s, stage, place, PLACES));
    for (int i = 0; i < n; i++) {
        tc_space_change x = {.kind = TC_CHANGE_PLACE, .step = at, .more = true};
        x.decision = tc_arena_printf(c->a, "place of %s", s->names[0]);
        x.what = tc_arena_printf(c->a, "%s -> %s", s->dec_loc, place[i]);
        x.trace = tc_trace_copy(c->a, c->t);
        x.trace->steps[at].dec_loc = tc_arena_strdup(c->a, place[i]);
        space_add_change(c, &x);
    }
}

/* ---- numbers that stand in steps ---- */

static void change_number(collector *c, int at, int k, int64_t to, const use *u) {
    const tc_instr *s = &c->t->steps[at];
    tc_int_arg *ints = TC_NEW_N(c->a, tc_int_arg, (size_t)s->nints);
    tc_space_change x = described(c, at, u, s->ints[k].value, to);
    memcpy(ints, s->ints, (size_t)s->nints * sizeof *ints);
    ints[k].value = to;
    x.trace = tc_trace_copy(c->a, c->t);
    x.trace->steps[at].ints = ints;
    x.trace->id = 0;
    space_add_change(c, &x);
}

static void change_split(collector *c, int at) {
    const tc_instr *s = &c->t->steps[at];
    for (int k = 1; k < s->nints; k++) {
        if (s->ints[k].kind != TC_ARG_LITERAL)
            continue;
        use u = {kind_of_loop(c->t, at, s->outs[k]), s->names[0], s->outs[k]};
        change_number(c, at, k, s->ints[k].value * 2, &u);
        if (s->ints[k].value > 1)
            change_number(c, at, k, tc_ceil_div(s->ints[k].value, 2), &u);
    }
}

/* ---- what can be taken out ---- */

static void take_out(collector *c, int at, tc_space_change_kind kind) {
    tc_strbuf text = {0};
    tc_sch_print_step(&text, &c->t->steps[at]);
    tc_space_change x = {.kind = kind, .step = at, .decision = tc_arena_strdup(c->a, tc_sb_str(&text)), .what = "taken out"};
    x.trace = space_spliced(c, at, 1, "");
    space_add_change(c, &x);
    tc_strbuf_free(&text);
}

static void change_pragma(collector *c, int at) {
    const tc_instr *s = &c->t->steps[at];
    if (s->ints[0].kind != TC_ARG_LITERAL)
        return;
    use u = {TC_CHANGE_UNROLL, s->names[0], "auto_unroll_max"};
    change_number(c, at, 0, TC_MAX(16, s->ints[0].value * 4), &u);
    take_out(c, at, TC_CHANGE_UNROLL);
}

static void change_step(collector *c, int at) {
    switch (c->t->steps[at].prim) {
    case TC_PRIM_SAMPLE_TILE:
        change_tile(c, at);
        break;
    case TC_PRIM_SAMPLE_CATEGORICAL:
        change_choice(c, at);
        break;
    case TC_PRIM_SAMPLE_LOCATION:
        change_location(c, at);
        break;
    case TC_PRIM_SPLIT:
        change_split(c, at);
        break;
    case TC_PRIM_VECTORIZE:
        take_out(c, at, TC_CHANGE_VECTOR);
        break;
    case TC_PRIM_UNROLL:
        take_out(c, at, TC_CHANGE_UNROLL);
        break;
    case TC_PRIM_PARALLEL:
        take_out(c, at, TC_CHANGE_PARALLEL);
        break;
    case TC_PRIM_TRANSFORM_LAYOUT:
        take_out(c, at, TC_CHANGE_LAYOUT);
        break;
    case TC_PRIM_PREFETCH:
        take_out(c, at, TC_CHANGE_PREFETCH);
        break;
    case TC_PRIM_PRAGMA:
        change_pragma(c, at);
        break;
    case TC_PRIM_TILE:
    case TC_PRIM_FUSE:
    case TC_PRIM_REORDER:
    case TC_PRIM_COMPUTE_AT:
    case TC_PRIM_COMPUTE_INLINE:
    case TC_PRIM_COMPUTE_ROOT:
    case TC_PRIM_CACHE_READ:
    case TC_PRIM_CACHE_PART:
    case TC_PRIM_CACHE_WRITE:
    case TC_PRIM_RFACTOR:
    case TC_PRIM_STORAGE_ALIGN:
    case TC_PRIM_SET_SCOPE:
    case TC_PRIM_TENSORIZE:
    case TC_NPRIMS:
        break; /* the structure that the decisions stand in */
    }
}

void space_change_steps(collector *c) {
    for (int i = 0; i < c->t->n; i++)
        change_step(c, i);
}
