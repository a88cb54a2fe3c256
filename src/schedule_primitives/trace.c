/* Traces as data: the table of steps, copying, and comparison. trace_parse.c and trace_print.c parse and print them. */
#include "schedule_primitives/sch_int.h"
#include "support/hash.h"

static const tc_sch_form FORMS[TC_NPRIMS] = {
#define SAMPLED(id, word, how, ...) [TC_PRIM_##id] = {word, NULL, tc_sch_decide_##how, TC_BINDS_DECISION, __VA_ARGS__},
#define PRIM(id, word, how, binds, ...) [TC_PRIM_##id] = {word, tc_sch_do_##how, NULL, TC_BINDS_##binds, __VA_ARGS__},
#include "schedule_primitives/primitives.def"
#undef SAMPLED
#undef PRIM
};

const char *tc_prim_text(tc_prim p) {
    return FORMS[p].word;
}

bool tc_prim_sampled(tc_prim p) {
    return FORMS[p].decide != NULL;
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
