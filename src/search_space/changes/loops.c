/* Changes that a schedule does not have but could have: vectors, tasks, unrolled loops, and layouts of constants. */
#include "search_space/changes/changes_int.h"

#include <string.h>

/* The root axis that a loop is made of; of several, the last. */
static tc_loop origin(const tc_stage *st, tc_loop l) {
    for (int i = st->nrel - 1; i >= 0; i--) {
        const tc_rel *r = &st->rel[i];
        if (r->kind == TC_REL_FUSE && r->whole == l)
            l = r->parts[r->n - 1];
        for (int k = 0; r->kind == TC_REL_SPLIT && k < r->n; k++)
            if (r->parts[k] == l) {
                l = r->whole;
                break;
            }
    }
    return l;
}

static bool has_kind(const collector *c, const tc_stage *st, tc_for_kind kind) {
    for (int i = 0; i < st->nleaf; i++)
        if (c->s->loops[st->leaf[i]].kind == kind)
            return true;
    return false;
}

static const char *loop_text(const collector *c, const tc_stage *st, tc_loop l) {
    return tc_arena_printf(c->a, "%s.%s", st->name, c->s->loops[l].name);
}

static int lanes_of(const collector *c, const tc_stage *st) {
    return TC_MAX(2, c->m->vector_bytes / (int)tc_dtype_bytes(st->op->out[0]->dtype));
}

static void add(collector *c, tc_space_change_kind kind, const char *decision, const char *what, tc_trace *trace) {
    tc_space_change x = {.kind = kind, .step = -1, .decision = decision, .what = what, .more = true, .trace = trace};
    space_add_change(c, &x);
}

/* ---- vectors ---- */

/* The last leaf of the axis along which results lie one after the other. */
static int contiguous_leaf(const collector *c, const tc_stage *st) {
    int naxis = st->op->naxis;
    for (int i = st->nleaf - 1; i >= 0 && naxis > 0; i--)
        if (!c->s->loops[st->leaf[i]].reduce && origin(st, st->leaf[i]) == st->root[naxis - 1])
            return i;
    return -1;
}

/* The leaves from `at` inwards, that one last. */
static void put_reorder(const collector *c, const tc_stage *st, int at, const char *inner, tc_strbuf *b) {
    if (at == st->nleaf - 1)
        return;
    tc_sb_printf(b, "reorder");
    for (int i = at + 1; i < st->nleaf; i++)
        tc_sb_printf(b, " %s", loop_text(c, st, st->leaf[i]));
    tc_sb_printf(b, " %s\n", inner);
}

static void vectorize(collector *c, const tc_stage *st) {
    int at = contiguous_leaf(c, st), lanes = lanes_of(c, st);
    if (at < 0 || has_kind(c, st, TC_FOR_VECTOR) || has_kind(c, st, TC_FOR_TENSOR))
        return;
    tc_loop l = st->leaf[at];
    const char *name = loop_text(c, st, l), *inner = name;
    tc_strbuf b = {0};
    if (c->s->loops[l].extent > lanes) {
        tc_sb_printf(&b, "%s_wo, %s_wi = split %s [_, %d]\n", c->s->loops[l].name, c->s->loops[l].name, name, lanes);
        inner = tc_arena_printf(c->a, "%s_wi", name);
    }
    put_reorder(c, st, at, inner, &b);
    if (c->s->loops[l].kind == TC_FOR_SERIAL || inner != name)
        tc_sb_printf(&b, "vectorize %s\n", inner);
    add(c, TC_CHANGE_VECTOR, tc_arena_printf(c->a, "vectors along %s", name), tc_arena_printf(c->a, "added, %d lanes", lanes),
        space_spliced(c, c->t->n, 0, tc_sb_str(&b)));
    tc_strbuf_free(&b);
}

/* ---- tasks ---- */

static int find_annotation(const collector *c, tc_prim p, const char *loop) {
    for (int i = 0; i < c->t->n; i++)
        if (c->t->steps[i].prim == p && strcmp(c->t->steps[i].names[0], loop) == 0)
            return i;
    return -1;
}

static void outermost(collector *c, const tc_stage *st, int step, const char *what) {
    const char *l = loop_text(c, st, st->leaf[0]);
    tc_trace *x = step < 0 ? space_spliced(c, c->t->n, 0, tc_arena_printf(c->a, "parallel %s\n", l))
                           : space_spliced(c, step, 1, tc_arena_printf(c->a, "parallel %s\n", l));
    add(c, TC_CHANGE_PARALLEL, tc_arena_printf(c->a, "tasks along %s", l), what, x);
}

/* Tasks of many turns each, a few for each core. */
static void coarser(collector *c, const tc_stage *st, int step) {
    enum { TASKS = 2 /* a core */ };
    const tc_loop_info *l = &c->s->loops[st->leaf[0]];
    const char *loop = loop_text(c, st, st->leaf[0]);
    int64_t turns = tc_ceil_div(l->extent, (int64_t)TASKS * c->m->cores);
    if (turns < 2)
        return;
    tc_trace *x = space_spliced(c, step, 1,
                                tc_arena_printf(c->a, "%s_to, %s_ti = split %s [_, %lld]\nparallel %s_to\n", l->name, l->name,
                                                loop, (long long)turns, loop));
    add(c, TC_CHANGE_PARALLEL, tc_arena_printf(c->a, "tasks along %s", loop),
        tc_arena_printf(c->a, "%lld iterations in each task", (long long)turns), x);
}

/* Tasks along the loop inside of it. */
static void inwards(collector *c, const tc_stage *st, int step) {
    const tc_loop_info *l = st->nleaf > 1 ? &c->s->loops[st->leaf[1]] : NULL;
    if (!l || l->reduce || l->kind != TC_FOR_SERIAL || l->extent < c->m->cores)
        return;
    const char *loop = loop_text(c, st, st->leaf[1]);
    add(c, TC_CHANGE_PARALLEL, tc_arena_printf(c->a, "tasks along %s", loop), "moved from the loop around it",
        space_spliced(c, step, 1, tc_arena_printf(c->a, "parallel %s\n", loop)));
}

static void parallelize(collector *c, const tc_stage *st) {
    const tc_loop_info *first = st->nleaf ? &c->s->loops[st->leaf[0]] : NULL;
    if (!first || c->m->cores < 2 || st->attach != TC_ATTACH_ROOT)
        return;
    bool has = has_kind(c, st, TC_FOR_PARALLEL);
    if (!has && !first->reduce && first->kind == TC_FOR_SERIAL && first->extent > 1)
        outermost(c, st, -1, "added");
    for (int i = 0; has && i < st->nleaf; i++) {
        const tc_loop_info *l = &c->s->loops[st->leaf[i]];
        int step = l->kind == TC_FOR_PARALLEL ? find_annotation(c, TC_PRIM_PARALLEL, loop_text(c, st, st->leaf[i])) : -1;
        if (step >= 0 && i > 0 && !first->reduce)
            outermost(c, st, step, tc_arena_printf(c->a, "moved from %s", l->name));
        if (step >= 0 && i == 0) {
            coarser(c, st, step);
            inwards(c, st, step);
        }
    }
}

/* ---- unrolling ---- */

static void unroll(collector *c, const tc_stage *st) {
    enum { STEPS = 4, SHORT = 16 };
    if (st->op->reducer == TC_RED_NONE || has_kind(c, st, TC_FOR_TENSOR))
        return;
    for (int i = st->nleaf - 1; i >= 0; i--) {
        const tc_loop_info *l = &c->s->loops[st->leaf[i]];
        const char *name = loop_text(c, st, st->leaf[i]);
        if (l->kind == TC_FOR_VECTOR || l->kind == TC_FOR_UNROLL)
            continue;
        if (l->kind != TC_FOR_SERIAL || l->extent < 2)
            return;
        bool whole = l->extent <= SHORT || st->attach == TC_ATTACH_AT; /* of an attached stage less is computed at a time */
        const char *text =
            whole ? tc_arena_printf(c->a, "unroll %s\n", name)
                  : tc_arena_printf(c->a, "%s_uo, %s_ui = split %s [_, %d]\nunroll %s_ui\n", l->name, l->name, name, STEPS, name);
        add(c, TC_CHANGE_UNROLL, tc_arena_printf(c->a, "unrolling of %s", name),
            whole ? "added" : tc_arena_printf(c->a, "added, %d steps", STEPS), space_spliced(c, c->t->n, 0, text));
        return;
    }
}

/* ---- layouts ---- */

/* The step that lays the tensor out; -1: none does. */
static int layout_step(const collector *c, const tc_tensor *t) {
    for (int i = 0; i < c->t->n; i++)
        if (c->t->steps[i].prim == TC_PRIM_TRANSFORM_LAYOUT && strcmp(c->t->steps[i].names[0], t->name) == 0)
            return i;
    return -1;
}

/* Panels of so many elements of dimension d: (x, y) -> (x / 16, y, x % 16). */
static void panels(collector *c, const tc_tensor *t, int d, int64_t wide) {
    tc_strbuf in = {0}, out = {0};
    if (t->shape[d] <= wide)
        return;
    tc_sb_printf(&out, "d%d / %lld", d, (long long)wide);
    for (int i = 0; i < t->ndim; i++) {
        tc_sb_printf(&in, "%sd%d", i ? ", " : "", i);
        if (i != d)
            tc_sb_printf(&out, ", d%d", i);
    }
    const char *text = tc_arena_printf(c->a, "transform_layout %s (%s) -> (%s, d%d %% %lld)\n", t->name, tc_sb_str(&in),
                                       tc_sb_str(&out), d, (long long)wide);
    int step = layout_step(c, t);
    add(c, TC_CHANGE_LAYOUT, tc_arena_printf(c->a, "layout of %s", t->name),
        tc_arena_printf(c->a, "panels of %lld along dimension %d", (long long)wide, d),
        step < 0 ? space_spliced(c, c->t->n, 0, text) : space_spliced(c, step, 1, text));
    tc_strbuf_free(&in);
    tc_strbuf_free(&out);
}

static void lay_out(collector *c, const tc_tensor *t) {
    enum { WIDER = 4 };
    int lanes = TC_MAX(2, c->m->vector_bytes / (int)tc_dtype_bytes(t->dtype));
    if (!t->is_const || t->ndim < 2)
        return;
    for (int d = t->ndim - 1; d >= TC_MAX(0, t->ndim - 2); d--) {
        panels(c, t, d, lanes);
        panels(c, t, d, (int64_t)WIDER * lanes);
    }
}

void space_change_loops(collector *c) {
    for (int i = 0; i < c->s->nstage; i++) {
        const tc_stage *st = &c->s->stages[i];
        if (st->attach == TC_ATTACH_INLINE)
            continue;
        vectorize(c, st);
        parallelize(c, st);
        unroll(c, st);
    }
    for (int i = 0; i < c->w->nin; i++)
        lay_out(c, c->w->in[i]);
}
