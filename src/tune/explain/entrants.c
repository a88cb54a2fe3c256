/* The programs that run in turns with the schedule: the schedule with a decision changed, schedules that the space constructs,
 * the known record, and the schedule under conditions that show a cause. */
#include <math.h>
#include <string.h>

#include "search_space/space.h"
#include "te/text.h"
#include "tir_lower/program/ablate.h"
#include "tune/explain/explain_int.h"

/* Changes that are looked at, those that are measured, of one cause and of all; schedules that are constructed. A change takes
 * half a second to build and run. */
enum { LOOKED_AT = 128, OF_A_CAUSE = 4, MEASURED = 22, CONSTRUCTED = 2 };

static entrant *enter(field *f, const entrant *e) {
    if (f->n == f->cap)
        return NULL;
    f->e[f->n] = *e;
    entrant *x = &f->e[f->n++];
    x->t.low = x->t.high = NAN;
    x->t.without = x->in.without ? x->t.without : -1;
    if (!x->in.workload) {
        x->in = f->in;
        x->in.shares = x->in.counts = false;
        x->in.trace = x->t.trace;
    }
    return x;
}

static bool is_in(const field *f, uint64_t program) {
    for (int i = 0; i < f->n; i++)
        if (f->e[i].traits.program == program)
            return true;
    return f->own.program == program;
}

/* ---- changes ---- */

typedef struct pool {
    int n;
    tc_space_change change[LOOKED_AT];
    traits traits[LOOKED_AT];
    bool taken[LOOKED_AT]; /* or not legal, or the same program */
} pool;

static void look_at_all(const field *f, pool *p) {
    for (int i = 0; i < p->n; i++) {
        p->taken[i] =
            tune_traits(f->o->workload, &f->o->target->machine, p->change[i].trace, f->arena, &p->traits[i], NULL) != TC_OK ||
            p->traits[i].program == f->own.program;
        for (int k = 0; k < i && !p->taken[i]; k++)
            p->taken[i] = !p->taken[k] && p->traits[k].program == p->traits[i].program;
    }
}

static void take(field *f, pool *p, int i) {
    entrant e = {.t = {.kind = TC_TRIAL_CHANGE, .change = p->change[i], .cause = TC_NCAUSES}, .traits = p->traits[i]};
    e.t.trace = tc_trace_text(f->arena, p->change[i].trace);
    p->taken[i] = true;
    (void)enter(f, &e);
}

/* Those that have less of what is suspected. */
static void take_for_causes(field *f, pool *p) {
    const char *why;
    for (int c = 0; c < TC_NCAUSES; c++) {
        if (tune_suspect(f, (tc_tune_cause)c, &why) <= 0)
            continue;
        for (int i = 0, n = 0; i < p->n && n < OF_A_CAUSE; i++) {
            entrant e = {.t = {.kind = TC_TRIAL_CHANGE, .change = p->change[i]}, .traits = p->traits[i]};
            if (p->taken[i] || !tune_has_less(f, &e, (tc_tune_cause)c))
                continue;
            take(f, p, i);
            n++;
        }
    }
}

/* Then of each decision one, and another, until there are enough. */
static void take_the_rest(field *f, pool *p) {
    for (bool any = true; any && f->n < MEASURED;) {
        const char *last = NULL;
        any = false;
        for (int i = 0; i < p->n && f->n < MEASURED; i++) {
            if (p->taken[i] || (last && strcmp(last, p->change[i].decision) == 0))
                continue;
            last = p->change[i].decision;
            take(f, p, i);
            any = true;
        }
    }
}

static tc_status enter_changes(field *f, const tc_trace *t, tc_error *err) {
    pool *p = tc_arena_alloc(f->arena, sizeof *p);
    *p = (pool){0};
    TC_TRY(tc_space_changes(f->o->workload, &f->o->target->machine, t, f->arena, p->change, LOOKED_AT, &p->n, err));
    look_at_all(f, p);
    take_for_causes(f, p);
    take_the_rest(f, p);
    return TC_OK;
}

/* ---- other schedules ---- */

static void enter_schedule(field *f, tc_tune_trial_kind kind, const tc_trace *t, const char *what, const char *where) {
    entrant e = {.t = {.kind = kind, .change = {.step = -1, .decision = what, .what = where}, .cause = TC_NCAUSES}};
    if (tune_traits(f->o->workload, &f->o->target->machine, t, f->arena, &e.traits, NULL) != TC_OK || is_in(f, e.traits.program))
        return;
    e.t.trace = tc_trace_text(f->arena, t);
    (void)enter(f, &e);
}

static tc_status enter_constructed(field *f, tc_error *err) {
    tc_space *s;
    tc_trace *t[CONSTRUCTED + 1];
    TC_TRY(tc_space_new(f->o->workload, &f->o->target->machine, &s, err));
    int n = tc_space_construct(s, f->arena, t, CONSTRUCTED);
    tc_status st = tc_space_default(s, f->arena, &t[n], err);
    for (int i = n; st == TC_OK && i >= 0; i--)
        enter_schedule(f, TC_TRIAL_CONSTRUCTED, t[i], i == n ? "the untuned schedule" : "a constructed schedule",
                       "another structure");
    tc_space_free(s);
    return st;
}

/* One of another form of the kernel has no place here: it has no decision in common. */
static void enter_known(field *f) {
    const tc_tune_schedule *k = f->o->known;
    tc_trace *t;
    if (!k || strcmp(k->hash.hex, f->s->hash.hex) != 0 || tc_trace_parse(f->arena, "record", k->trace, &t, NULL) != TC_OK)
        return;
    const char *where = k->record ? tc_arena_printf(f->arena, "record %lld of %s", (long long)k->record->id, k->db) : "a file";
    enter_schedule(f, TC_TRIAL_KNOWN, t, "the best record", where);
}

/* ---- conditions ---- */

static entrant condition(const field *f, tc_tune_cause c, const char *what, const char *how) {
    entrant e = {.t = {.kind = TC_TRIAL_CONDITION, .change = {.step = -1, .decision = what, .what = how}, .cause = c}};
    e.t.trace = f->s->trace;
    e.traits = f->own;
    e.in = f->in;
    e.in.shares = e.in.counts = false;
    return e;
}

/* The workload with rows of input `in` that are a few lines longer, of which the end is never read. NULL: it cannot be. */
static const tc_workload *padded(field *f, int in) {
    enum { LINES = 2 };
    const tc_workload *w = f->o->workload, *out;
    const tc_tensor *t = w->in[in];
    int last = t->ndim - 1;
    if (last < 0 || t->symbol[last])
        return NULL;
    int64_t more = (int64_t)LINES * f->o->target->machine.line / tc_dtype_bytes(t->dtype);
    const char *text = tc_te_text(f->arena, w), *head = tc_arena_printf(f->arena, "tensor %s[", t->name),
               *at = strstr(text, head);
    const char *end = at ? strchr(at, ']') : NULL;
    if (!end)
        return NULL;
    while (end[-1] >= '0' && end[-1] <= '9')
        end--;
    const char *rest = strchr(end, ']');
    const char *changed =
        tc_arena_printf(f->arena, "%.*s%lld%s", (int)(end - text), text, (long long)(t->shape[last] + more), rest);
    return tc_te_parse(f->ctx, "padded", changed, &out, NULL) == TC_OK ? out : NULL;
}

static void enter_padded(field *f) {
    const char *why;
    if (f->own.strided < 0 || tune_suspect(f, TC_CAUSE_STRIDES, &why) <= 0)
        return;
    const tc_workload *w = padded(f, f->own.strided);
    if (!w)
        return;
    entrant e = condition(f, TC_CAUSE_STRIDES, "the same schedule",
                          tc_arena_printf(f->arena, "rows of %s are longer", f->o->workload->in[f->own.strided]->name));
    e.in.workload = tc_te_text(f->arena, w);
    e.in.workload_hash = tc_te_hash(w);
    (void)enter(f, &e);
}

static void enter_hot(field *f) {
    const char *why;
    if (tune_suspect(f, TC_CAUSE_COLD_WEIGHTS, &why) <= 0)
        return;
    entrant e = condition(f, TC_CAUSE_COLD_WEIGHTS, "the same schedule", "its constants stay in the caches from call to call");
    e.in.cold = false;
    (void)enter(f, &e);
}

static void enter_normal(field *f) {
    if (f->o->denormal <= 0)
        return;
    entrant e = condition(f, TC_CAUSE_DENORMALS, "the same schedule", "its data have no denormal numbers");
    e.in.denormal = 0;
    (void)enter(f, &e);
}

/* What a part costs is what the schedule takes longer with it. Of some that is what a cause costs. */
static tc_tune_cause cause_of_part(tc_tir_part p) {
    switch (p) {
    case TC_TIR_PART_TAILS:
        return TC_CAUSE_TAIL;
    case TC_TIR_PART_STORES:
        return TC_CAUSE_FALSE_SHARING;
    case TC_TIR_PART_LOADS:
    case TC_TIR_PART_PACKING:
    case TC_TIR_PART_EPILOGUE:
    case TC_TIR_PART_ARITH:
    case TC_TIR_PART_MEMORY:
    case TC_TIR_NPARTS:
        break;
    }
    return TC_NCAUSES;
}

/* Whether the program has the part at all is found before anything is built. */
static bool has_part(const field *f, const tc_trace *own, tc_tir_part p) {
    tc_ctx *ctx = tc_ctx_child(f->o->workload->ctx);
    tc_tir_origin from = {.workload = f->o->workload, .machine = &f->o->target->machine, .trace = own};
    tc_tir_program made;
    tc_status st = tc_tir_program_without(ctx, &from, TC_TIR_WITHOUT(p), &made, NULL);
    tc_ctx_free(ctx);
    return st == TC_OK;
}

static void enter_parts(field *f, const tc_trace *own) {
    for (int p = 0; p < TC_TIR_NPARTS; p++) {
        if (!has_part(f, own, (tc_tir_part)p))
            continue;
        entrant e =
            condition(f, cause_of_part((tc_tir_part)p), tc_arena_printf(f->arena, "no %s:", tc_tir_part_text((tc_tir_part)p)),
                      tc_tir_part_left((tc_tir_part)p));
        e.t.without = p;
        e.in.without = TC_TIR_WITHOUT(p);
        (void)enter(f, &e);
    }
}

tc_status tune_enter(field *f, tc_error *err) {
    tc_trace *own;
    TC_TRY(tc_trace_parse(f->arena, "schedule", f->s->trace, &own, err));
    TC_TRY(tune_traits(f->o->workload, &f->o->target->machine, own, f->arena, &f->own, err));
    f->cap = MEASURED + TC_NCAUSES * OF_A_CAUSE + CONSTRUCTED + 8 + TC_TIR_NPARTS;
    f->e = TC_NEW_N(f->arena, entrant, (size_t)f->cap);
    enter_padded(f);
    enter_hot(f);
    enter_normal(f);
    enter_parts(f, own);
    enter_known(f);
    TC_TRY(enter_constructed(f, err));
    return enter_changes(f, own, err);
}
