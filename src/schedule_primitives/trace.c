/* Traces as data: the table of steps, copying and comparing. Parsing and printing are beside this file. */
#include "schedule_primitives/sch_int.h"
#include "support/hash.h"

static const struct {
    const char *text;
    bool sampled;
} PRIMS[TC_NPRIMS] = {
#define PRIM(id, text, sampled) [TC_PRIM_##id] = {text, sampled},
#include "schedule_primitives/primitives.def"
#undef PRIM
};

/* Outs, names, integers, text, usage. */
static const tc_sch_form FORMS[TC_NPRIMS] = {
    [TC_PRIM_SAMPLE_TILE] = {1, 1, 1, 1, TC_INTS_TILE, 2, 2, TC_TEXT_NONE, "t = sample_tile Y.i parts=3 max_inner=16"},
    [TC_PRIM_SAMPLE_CATEGORICAL] = {1, 1, 0, 0, TC_INTS_LIST, 1, TC_SCH_MAX_VALUES, TC_TEXT_NONE,
                                    "u = sample_categorical [0, 16, 64]"},
    [TC_PRIM_SAMPLE_LOCATION] = {1, 1, 1, 1, TC_INTS_NONE, 0, 0, TC_TEXT_NONE, "l = sample_compute_location B"},
    [TC_PRIM_SPLIT] = {2, TC_MAX_PARTS, 1, 1, TC_INTS_LIST, 2, TC_MAX_PARTS, TC_TEXT_NONE, "io, ii = split Y.i [_, 6]"},
    [TC_PRIM_TILE] = {4, 4, 2, 2, TC_INTS_PLAIN, 2, 2, TC_TEXT_NONE, "xo, yo, xi, yi = tile Y.i Y.j 8 16"},
    [TC_PRIM_FUSE] = {1, 1, 2, TC_MAX_PARTS, TC_INTS_NONE, 0, 0, TC_TEXT_NONE, "f = fuse Y.io Y.jo"},
    [TC_PRIM_REORDER] = {0, 0, 2, TC_SCH_MAX_NAMES, TC_INTS_NONE, 0, 0, TC_TEXT_NONE, "reorder Y.io Y.jo"},
    [TC_PRIM_VECTORIZE] = {0, 0, 1, 1, TC_INTS_NONE, 0, 0, TC_TEXT_NONE, "vectorize Y.ji"},
    [TC_PRIM_UNROLL] = {0, 0, 1, 1, TC_INTS_NONE, 0, 0, TC_TEXT_NONE, "unroll Y.ii"},
    [TC_PRIM_PARALLEL] = {0, 0, 1, 1, TC_INTS_NONE, 0, 0, TC_TEXT_NONE, "parallel Y.f"},
    [TC_PRIM_COMPUTE_AT] = {0, 0, 2, 2, TC_INTS_NONE, 0, 0, TC_TEXT_NONE, "compute_at D Y.jm"},
    [TC_PRIM_COMPUTE_INLINE] = {0, 0, 1, 1, TC_INTS_NONE, 0, 0, TC_TEXT_NONE, "compute_inline B"},
    [TC_PRIM_COMPUTE_ROOT] = {0, 0, 1, 1, TC_INTS_NONE, 0, 0, TC_TEXT_NONE, "compute_root B"},
    [TC_PRIM_CACHE_READ] = {1, 1, 1, TC_SCH_MAX_NAMES, TC_INTS_NONE, 0, 0, TC_TEXT_SCOPE, "C = cache_read W D global"},
    [TC_PRIM_CACHE_WRITE] = {1, 1, 1, 1, TC_INTS_NONE, 0, 0, TC_TEXT_SCOPE, "L = cache_write D local"},
    [TC_PRIM_RFACTOR] = {1, 1, 1, 1, TC_INTS_NONE, 0, 0, TC_TEXT_NONE, "R = rfactor D.ko"},
    [TC_PRIM_TRANSFORM_LAYOUT] = {0, 0, 1, 1, TC_INTS_NONE, 0, 0, TC_TEXT_LAYOUT,
                                  "transform_layout W (k, j) -> (j / 64, k, j % 64)"},
    [TC_PRIM_STORAGE_ALIGN] = {0, 0, 1, 1, TC_INTS_PLAIN, 2, 2, TC_TEXT_NONE, "storage_align D 0 16"},
    [TC_PRIM_SET_SCOPE] = {0, 0, 1, 1, TC_INTS_NONE, 0, 0, TC_TEXT_SCOPE, "set_scope D local"},
    [TC_PRIM_PRAGMA] = {0, 0, 1, 1, TC_INTS_PLAIN, 1, 1, TC_TEXT_KEY, "pragma Y auto_unroll_max 64"},
};

const char *tc_prim_text(tc_prim p) {
    return PRIMS[p].text;
}

bool tc_prim_sampled(tc_prim p) {
    return PRIMS[p].sampled;
}

const tc_sch_form *tc_sch_form_of(tc_prim p) {
    return &FORMS[p];
}

static const char *const *copy_strings(tc_arena *a, int n, const char *const *from) {
    const char **to = TC_NEW_N(a, const char *, n);
    for (int i = 0; i < n; i++)
        to[i] = tc_arena_strdup(a, from[i]);
    return to;
}

tc_instr tc_sch_copy_step(tc_arena *a, const tc_instr *in) {
    tc_instr to = *in;
    to.outs = copy_strings(a, in->nouts, in->outs);
    to.names = copy_strings(a, in->nnames, in->names);
    tc_int_arg *ints = tc_arena_dup(a, in->ints, sizeof *in->ints * (size_t)in->nints);
    for (int i = 0; i < in->nints; i++)
        ints[i].ref = ints[i].kind == TC_ARG_REF ? tc_arena_strdup(a, ints[i].ref) : NULL;
    to.ints = ints;
    to.text = in->text ? tc_arena_strdup(a, in->text) : NULL;
    to.dec_loc = in->dec_loc ? tc_arena_strdup(a, in->dec_loc) : NULL;
    return to;
}

tc_trace *tc_trace_copy(tc_arena *a, const tc_trace *t) {
    tc_trace *to = TC_NEW(a, tc_trace);
    *to = (tc_trace){.arena = a, .n = t->n, .id = t->id, .steps = TC_NEW_N(a, tc_instr, t->n)};
    for (int i = 0; i < t->n; i++)
        to->steps[i] = t->arena == a ? t->steps[i] : tc_sch_copy_step(a, &t->steps[i]);
    return to;
}

tc_trace *tc_trace_fork(tc_arena *a, const tc_trace *t) {
    tc_trace *to = TC_NEW(a, tc_trace);
    *to = (tc_trace){.arena = a, .n = t->n, .id = t->id, .steps = tc_arena_dup(a, t->steps, sizeof *t->steps * (size_t)t->n)};
    return to;
}

static bool same_text(const char *a, const char *b) {
    return a == b || (a && b && strcmp(a, b) == 0);
}

static bool same_strings(int n, const char *const *a, const char *const *b) {
    for (int i = 0; i < n; i++)
        if (!same_text(a[i], b[i]))
            return false;
    return true;
}

static bool same_int(const tc_int_arg *a, const tc_int_arg *b) {
    if (a->kind != b->kind)
        return false;
    if (a->kind == TC_ARG_LITERAL)
        return a->value == b->value;
    return a->kind == TC_ARG_INFER || (a->part == b->part && same_text(a->ref, b->ref));
}

static bool same_step(const tc_instr *a, const tc_instr *b) {
    if (a->prim != b->prim || a->nouts != b->nouts || a->nnames != b->nnames || a->nints != b->nints)
        return false;
    if (!same_strings(a->nouts, a->outs, b->outs) || !same_strings(a->nnames, a->names, b->names) || !same_text(a->text, b->text))
        return false;
    for (int i = 0; i < a->nints; i++)
        if (!same_int(&a->ints[i], &b->ints[i]))
            return false;
    return true;
}

static bool same_decision(const tc_instr *a, const tc_instr *b) {
    if (a->ndec != b->ndec)
        return false;
    if (a->ndec && a->prim == TC_PRIM_SAMPLE_LOCATION)
        return same_text(a->dec_loc, b->dec_loc);
    return memcmp(a->dec, b->dec, sizeof *a->dec * (size_t)a->ndec) == 0;
}

static uint64_t hash_text(uint64_t h, const char *s) {
    return s ? tc_hash64(s, strlen(s), h) : tc_hash_mix(h, 0);
}

static uint64_t hash_int(uint64_t h, const tc_int_arg *a) {
    h = tc_hash_mix(h, (uint64_t)a->kind);
    if (a->kind == TC_ARG_LITERAL)
        return tc_hash_mix(h, (uint64_t)a->value);
    return a->kind == TC_ARG_INFER ? h : hash_text(tc_hash_mix(h, (uint64_t)a->part), a->ref);
}

static uint64_t hash_step(uint64_t h, const tc_instr *s) {
    h = tc_hash_mix(h, (uint64_t)s->prim << 48 | (uint64_t)s->nouts << 32 | (uint64_t)s->nnames << 16 | (uint64_t)s->nints);
    for (int i = 0; i < s->nouts; i++)
        h = hash_text(h, s->outs[i]);
    for (int i = 0; i < s->nnames; i++)
        h = hash_text(h, s->names[i]);
    for (int i = 0; i < s->nints; i++)
        h = hash_int(h, &s->ints[i]);
    return hash_text(h, s->text);
}

uint64_t tc_trace_hash_steps(const tc_trace *t) {
    uint64_t h = (uint64_t)t->n;
    if (t->id)
        return t->id;
    for (int i = 0; i < t->n; i++)
        h = hash_step(h, &t->steps[i]);
    return h;
}

uint64_t tc_trace_hash_decisions(uint64_t h, const tc_trace *t) {
    for (int i = 0; i < t->n; i++) {
        const tc_instr *s = &t->steps[i];
        if (!tc_prim_sampled(s->prim))
            continue;
        h = tc_hash_mix(h, (uint64_t)s->ndec);
        if (s->ndec && s->prim == TC_PRIM_SAMPLE_LOCATION)
            h = hash_text(h, s->dec_loc);
        else
            for (int k = 0; k < s->ndec; k++)
                h = tc_hash_mix(h, (uint64_t)s->dec[k]);
    }
    return h;
}

uint64_t tc_trace_hash(const tc_trace *t) {
    return tc_trace_hash_decisions(tc_trace_hash_steps(t), t);
}

bool tc_trace_same_steps(const tc_trace *a, const tc_trace *b) {
    if (a->n != b->n)
        return false;
    for (int i = 0; i < a->n; i++)
        if (!same_step(&a->steps[i], &b->steps[i]))
            return false;
    return true;
}

bool tc_trace_equal(const tc_trace *a, const tc_trace *b) {
    if (a->n != b->n)
        return false;
    for (int i = 0; i < a->n; i++)
        if (!same_decision(&a->steps[i], &b->steps[i]) || !same_step(&a->steps[i], &b->steps[i]))
            return false;
    return true;
}
