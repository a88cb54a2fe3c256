/* Renames a trace to canonical names, and back to the names of its workload. A stage that a step makes (cache_write, rfactor)
 * takes over the axis names of its source stage, so these names follow the same renaming. All other names that steps make are
 * free. */
#include <ctype.h>

#include "schedule_primitives/sch_int.h"

/* A stage that a step made, and the compute whose axes it has. */
typedef struct made {
    const char *stage;
    const tc_compute *like;
} made;

typedef struct renamer {
    tc_arena *a;
    const tc_workload *w;
    bool back; /* from canonical names to those of w */
    TC_VEC(made) made;
    TC_VEC(const char *) decisions;
} renamer;

/* Looks like p0, t1, t1_1, i2 or k3. */
static bool canonical_form(const char *name) {
    if (!strchr("ptik", *name) || !isdigit((unsigned char)name[1]))
        return false;
    return name[strspn(name + 1, "0123456789_") + 1] == 0;
}

/* A name that a step makes, out of the way of canonical ones, and back. */
static const char *free_name(const renamer *r, const char *name) {
    static const char mark[] = "own_";
    bool marked = strncmp(name, mark, sizeof mark - 1) == 0 && canonical_form(name + sizeof mark - 1);
    if (r->back)
        return tc_arena_strdup(r->a, marked ? name + sizeof mark - 1 : name);
    return canonical_form(name) ? tc_arena_printf(r->a, "%s%s", mark, name) : tc_arena_strdup(r->a, name);
}

/* The other name, where `name` is the one that is replaced; NULL: it is not. */
static const char *other(const renamer *r, const char *name, const char *own, const char *canonical) {
    return strcmp(name, r->back ? canonical : own) != 0 ? NULL : r->back ? own : canonical;
}

static const char *output_name(const renamer *r, int compute, int output) {
    return output ? tc_arena_printf(r->a, "t%d_%d", compute, output) : tc_arena_printf(r->a, "t%d", compute);
}

static const char *tensor(const renamer *r, const char *name) {
    const char *to = NULL;
    for (int i = 0; i < r->w->nin && !to; i++)
        to = other(r, name, r->w->in[i]->name, tc_arena_printf(r->a, "p%d", i));
    for (int i = 0; i < r->w->ncompute; i++)
        for (int o = 0; o < r->w->computes[i]->nout && !to; o++)
            to = other(r, name, r->w->computes[i]->out[o]->name, output_name(r, i, o));
    return to ? to : free_name(r, name);
}

/* The compute whose axes a stage has; NULL: none of the workload's. */
static const tc_compute *like(const renamer *r, const char *stage) {
    for (size_t i = 0; i < r->made.len; i++)
        if (strcmp(r->made.data[i].stage, stage) == 0)
            return r->made.data[i].like;
    for (int i = 0; i < r->w->ncompute; i++)
        if (other(r, stage, r->w->computes[i]->name, output_name(r, i, 0)))
            return r->w->computes[i];
    return NULL;
}

static const char *loop(const renamer *r, const tc_compute *c, const char *name) {
    const char *to = NULL;
    for (int i = 0; c && i < c->naxis && !to; i++)
        to = other(r, name, c->axes[i].var->name, tc_arena_printf(r->a, "i%d", i));
    for (int i = 0; c && i < c->nraxis && !to; i++)
        to = other(r, name, c->raxes[i].var->name, tc_arena_printf(r->a, "k%d", i));
    return to ? to : free_name(r, name);
}

static const char *stage_of(const renamer *r, const char *operand) {
    const char *dot = strchr(operand, '.');
    return tc_arena_strndup(r->a, operand, dot ? (size_t)(dot - operand) : strlen(operand));
}

/* "Y.io", "W", or the name of a decision. */
static const char *operand(const renamer *r, const char *name) {
    const char *dot = strchr(name, '.'), *stage = stage_of(r, name);
    for (size_t i = 0; i < r->decisions.len; i++)
        if (strcmp(r->decisions.data[i], name) == 0)
            return tc_arena_strdup(r->a, name);
    if (!dot)
        return tensor(r, name);
    return tc_arena_printf(r->a, "%s.%s", tensor(r, stage), loop(r, like(r, stage), dot + 1));
}

static const char *location(const renamer *r, const char *name) {
    return name && strchr(name, '.') ? operand(r, name) : name;
}

static void rename_outs(renamer *r, const tc_instr *in, const char **outs) {
    const char *stage = in->nnames ? stage_of(r, in->names[0]) : "";
    tc_sch_binds binds = tc_sch_form_of(in->prim)->binds;
    for (int i = 0; i < in->nouts; i++) {
        switch (binds) {
        case TC_BINDS_DECISION:
            outs[i] = tc_arena_strdup(r->a, in->outs[i]);
            tc_push(&r->decisions, outs[i]);
            break;
        case TC_BINDS_STAGE:
        case TC_BINDS_COPY: {
            made m = {in->outs[i], binds == TC_BINDS_STAGE ? like(r, stage) : NULL};
            outs[i] = free_name(r, in->outs[i]);
            tc_push(&r->made, m);
            break;
        }
        case TC_BINDS_LOOPS:
        case TC_BINDS_NOTHING:
            outs[i] = loop(r, like(r, stage), in->outs[i]);
            break;
        }
    }
}

static tc_trace *renamed(tc_arena *a, const tc_workload *w, const tc_trace *t, bool back) {
    renamer r = {.a = a, .w = w, .back = back};
    tc_trace *copy = tc_trace_copy(a, t);
    copy->id = 0;
    for (int i = 0; i < t->n; i++) {
        const tc_instr *in = &t->steps[i];
        const char **names = TC_NEW_N(a, const char *, in->nnames + 1), **outs = TC_NEW_N(a, const char *, in->nouts + 1);
        for (int k = 0; k < in->nnames; k++)
            names[k] = operand(&r, in->names[k]);
        rename_outs(&r, in, outs);
        copy->steps[i].names = names;
        copy->steps[i].outs = outs;
        copy->steps[i].dec_loc = location(&r, in->dec_loc);
    }
    tc_vec_free(&r.made);
    tc_vec_free(&r.decisions);
    return copy;
}

tc_trace *tc_trace_canonical(tc_arena *a, const tc_workload *w, const tc_trace *t) {
    return renamed(a, w, t, false);
}

tc_trace *tc_trace_own(tc_arena *a, const tc_workload *w, const tc_trace *t) {
    return renamed(a, w, t, true);
}
