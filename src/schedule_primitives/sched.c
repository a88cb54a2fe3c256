/* Makes a schedule, and has the few operations through which primitives change it. Arrays live in the context's arena and grow
 * by doubling. A change leaves a stage's old array where it was. To undo the change, the old array is put back. */
#include "schedule_primitives/sch_int.h"

static tc_arena *arena(tc_sched *s) {
    return tc_ctx_arena(s->ctx);
}

/* Room for one more element in an arena array. */
static void *grow(tc_arena *a, void *data, int len, int *cap, size_t size) {
    if (len < *cap)
        return data;
    *cap = *cap ? 2 * *cap : 16;
    void *bigger = tc_arena_alloc(a, size * (size_t)*cap);
    if (len)
        memcpy(bigger, data, size * (size_t)len);
    return bigger;
}

tc_loop tc_sch_new_loop(tc_sched *s, int stage, const char *name, bool reduce, int64_t extent) {
    s->loops = grow(arena(s), s->loops, s->nloop, &tc_sch_impl_of(s)->cap_loop, sizeof *s->loops);
    s->loops[s->nloop] = (tc_loop_info){.name = name, .stage = stage, .reduce = reduce, .extent = extent};
    return s->nloop++;
}

typedef struct collect {
    tc_arena *arena;
    tc_sch_reads r;
    int cap;
} collect;

static void collect_read(const tc_expr *e, void *user) {
    collect *c = user;
    if (e->op != TC_OP_READ)
        return;
    for (int i = 0; i < c->r.n; i++)
        if (c->r.t[i] == e->u.tensor)
            return;
    c->r.t = grow(c->arena, c->r.t, c->r.n, &c->cap, sizeof *c->r.t);
    c->r.t[c->r.n++] = e->u.tensor;
}

void tc_sch_set_op(tc_sched *s, int st, const tc_compute *op) {
    collect c = {.arena = arena(s)};
    for (int i = 0; i < op->nout; i++)
        tc_expr_walk(op->body[i], collect_read, &c);
    s->stages[st].op = op;
    tc_sch_impl_of(s)->reads[st] = c.r;
}

const tc_compute *tc_sch_with_body(tc_sched *s, const tc_compute *op, const tc_expr *const *body) {
    tc_compute *to = tc_arena_dup(arena(s), op, sizeof *op);
    to->id = tc_ctx_next_id(s->ctx);
    for (int i = 0; i < op->nout; i++)
        to->body[i] = body[i];
    return to;
}

/* Axes of one compute may carry equal names when a program built it: later ones then get a number. */
static const char *unique_loop_name(tc_sched *s, const tc_loop *have, int n, const char *name) {
    const char *text = name;
    for (int k = 0, i = 0; i < n;) {
        if (strcmp(s->loops[have[i]].name, text) == 0) {
            text = tc_arena_printf(arena(s), "%s_%d", name, ++k);
            i = 0;
        } else {
            i++;
        }
    }
    return text;
}

static void root_loops(tc_sched *s, int stage, const tc_compute *op) {
    int n = op->naxis + op->nraxis;
    tc_loop *root = TC_NEW_N(arena(s), tc_loop, n);
    for (int i = 0; i < n; i++) {
        const tc_axis *axis = i < op->naxis ? &op->axes[i] : &op->raxes[i - op->naxis];
        root[i] = tc_sch_new_loop(s, stage, unique_loop_name(s, root, i, axis->var->name), i >= op->naxis, axis->extent);
    }
    tc_stage *st = &s->stages[stage];
    st->root = root;
    st->nroot = st->nleaf = n;
    st->leaf = tc_arena_dup(arena(s), root, sizeof *root * (size_t)n);
}

static void make_room(tc_sched *s, int at) {
    tc_sch_impl *m = tc_sch_impl_of(s);
    int cap = m->cap_stage;
    s->stages = grow(arena(s), s->stages, s->nstage, &cap, sizeof *s->stages);
    m->reads = grow(arena(s), m->reads, s->nstage, &m->cap_stage, sizeof *m->reads);
    memmove(&s->stages[at + 1], &s->stages[at], sizeof *s->stages * (size_t)(s->nstage - at));
    memmove(&m->reads[at + 1], &m->reads[at], sizeof *m->reads * (size_t)(s->nstage - at));
    s->nstage++;
    for (int i = 0; i < s->nstage; i++)
        if (i != at && s->stages[i].attach == TC_ATTACH_AT && s->stages[i].at_stage >= at)
            s->stages[i].at_stage++;
    for (int i = 0; i < s->nloop; i++)
        if (s->loops[i].stage >= at)
            s->loops[i].stage++;
}

tc_stage *tc_sch_insert_stage(tc_sched *s, int at, const char *name, const tc_compute *op) {
    make_room(s, at);
    s->stages[at] = (tc_stage){.name = name, .align_dim = -1, .at_stage = -1, .at_loop = -1};
    tc_sch_set_op(s, at, op);
    root_loops(s, at, op);
    return &s->stages[at];
}

void tc_sch_splice_leaf(tc_sched *s, int stage, int pos, int n, const tc_loop *with, int m) {
    tc_stage *st = &s->stages[stage];
    tc_loop *leaf = TC_NEW_N(arena(s), tc_loop, st->nleaf - n + m);
    memcpy(leaf, st->leaf, sizeof *leaf * (size_t)pos);
    memcpy(leaf + pos, with, sizeof *leaf * (size_t)m);
    memcpy(leaf + pos + m, st->leaf + pos + n, sizeof *leaf * (size_t)(st->nleaf - pos - n));
    st->leaf = leaf;
    st->nleaf += m - n;
}

void tc_sch_add_rel(tc_sched *s, int stage, const tc_rel *rel) {
    tc_stage *st = &s->stages[stage];
    /* Capacity is the next power of two: a new block only when the count reaches one. */
    if ((st->nrel & (st->nrel - 1)) == 0) {
        tc_rel *bigger = TC_NEW_N(arena(s), tc_rel, st->nrel ? 2 * st->nrel : 1);
        if (st->nrel)
            memcpy(bigger, st->rel, sizeof *bigger * (size_t)st->nrel);
        st->rel = bigger;
    }
    st->rel[st->nrel++] = *rel;
}

static bool makes_output(const tc_workload *w, const tc_compute *op) {
    for (int i = 0; i < w->nout; i++)
        if (w->out[i]->op == op)
            return true;
    return false;
}

tc_sched *tc_sch_new(tc_ctx *ctx, const tc_workload *w) {
    tc_sch_impl *m = TC_NEW(tc_ctx_arena(ctx), tc_sch_impl);
    tc_sched *s = &m->pub;
    s->ctx = ctx;
    s->workload = w;
    s->trace = TC_NEW(tc_ctx_arena(ctx), tc_trace);
    s->trace->arena = tc_ctx_arena(ctx);
    for (int i = 0; i < w->ncompute; i++) {
        tc_stage *st = tc_sch_insert_stage(s, i, w->computes[i]->name, w->computes[i]);
        st->is_output = makes_output(w, w->computes[i]);
    }
    return s;
}
