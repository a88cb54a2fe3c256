/* The plan that the rule of anchors makes of a reduction before it writes a step: the role of each axis of the head, and whether
 * the reduction's conditions repeat along the axis. An axis is `batch` if every operand uses it, so that nothing can be reused
 * across it. It is `vec` if it runs along the output's last dimension, otherwise `row`. */
#include "search_space/anchor_int.h"

/* Bounds of the space: taps that are written out (5 x 5); strides of transposed convolutions. Chosen; not measured apart. */
enum { MAX_TAPS = 25, MAX_PHASE = 4 };

typedef struct find {
    const tc_sched *s;
    int stage, n;
    const tc_expr *read;
} find;

static void find_read(const tc_expr *e, void *user) {
    find *f = user;
    if (e->op == TC_OP_READ && tc_sch_stage_of(f->s, e->u.tensor) == f->stage) {
        f->read = e;
        f->n++;
    }
}

int tc_space_dim_along(tc_ctx *ctx, const tc_expr *read, const tc_var *v) {
    for (int d = 0; d < read->nargs; d++) {
        tc_affine a;
        if (!tc_expr_uses_var(read->args[d], v) || !tc_te_affine(ctx, read->args[d], NULL, &a))
            continue;
        for (int t = 0; t < a.n; t++)
            if (a.term[t].atom->op == TC_OP_VAR && a.term[t].atom->u.var == v && a.term[t].coef == 1)
                return d;
    }
    return -1;
}

static void check_batch(const tc_expr *e, void *user) {
    const tc_var *v = ((void **)user)[0];
    if (e->op != TC_OP_READ)
        return;
    for (int i = 0; i < e->nargs; i++)
        if (tc_expr_uses_var(e->args[i], v))
            return;
    *(bool *)((void **)user)[1] = false;
}

bool tc_space_is_batch(const tc_compute *op, int a) {
    bool all = true;
    void *user[2] = {(void *)(uintptr_t)op->axes[a].var, &all};
    tc_expr_walk(op->body[0], check_batch, user);
    return all;
}

void tc_space_plan(const analysis *an, int head, int anchor, anchor_plan *p) {
    *p = (anchor_plan){.head = an->s->stages[head].op, .op = an->s->stages[anchor].op};
    p->lanes = tc_space_lanes(an->m, p->op);
    const tc_compute *h = p->head;
    find f = {.s = an->s, .stage = anchor};
    if (h != p->op)
        tc_expr_walk(h->body[0], find_read, &f);
    p->reads = f.n;
    const tc_expr *read = f.read;
    p->vec = p->acc_vec = -1;
    for (int x = h->naxis - 1; x >= 0; x--) {
        int d = h == p->op ? x : tc_space_dim_along(an->ctx, read, h->axes[x].var);
        p->dim[x] = d;
        p->role[x] = d < 0 || tc_space_is_batch(p->op, d) ? AXIS_BATCH : AXIS_ROW;
        if (p->vec < 0 && d >= 0 && (h->axes[x].extent > 1 || x == 0) && h->axes[x].var != an->split_k) {
            p->vec = x;
            p->acc_vec = d;
            p->role[x] = AXIS_VEC;
        }
    }
}

void tc_space_plan_cluster(const analysis *an, const cluster *c, anchor_plan *p) {
    tc_space_plan(an, c->member[0], c->member[c->n - 1], p);
}

/* ---- parities ---- */

typedef struct phase_query {
    const tc_var *v;
    int64_t phase;
} phase_query;

static void find_phase(const tc_expr *e, void *user) {
    phase_query *q = user;
    if (e->op == TC_OP_MOD && e->args[1]->op == TC_OP_INT && e->args[1]->u.i > 1 && e->args[1]->u.i <= MAX_PHASE &&
        tc_expr_uses_var(e->args[0], q->v))
        q->phase = e->args[1]->u.i;
}

int64_t tc_space_phase_of(const tc_compute *op, int d) {
    phase_query q = {.v = d < 0 ? NULL : op->axes[d].var, .phase = 1};
    if (d >= 0)
        tc_expr_walk(op->body[0], find_phase, &q);
    return q.phase;
}

bool tc_space_phased(const tc_compute *op) {
    int64_t taps = 1;
    bool any = false;
    for (int r = 0; r < op->nraxis - 1; r++)
        taps *= op->raxes[r].extent;
    for (int d = 0; d < op->naxis; d++)
        any |= tc_space_phase_of(op, d) > 1;
    return any && taps > 1 && taps <= MAX_TAPS;
}

/* ---- what the variants ask ---- */

bool tc_space_anchor_phased(const analysis *an, const cluster *c) {
    return tc_space_phased(an->s->stages[c->member[c->n - 1]].op);
}

bool tc_space_anchor_blocks(const analysis *an, const cluster *c) {
    const tc_compute *op = an->s->stages[c->member[c->n - 1]].op;
    return c->inner < 0 && op->nraxis > 0 && op->raxes[op->nraxis - 1].extent >= MIN_BLOCKED_K;
}

/* The head's vectors must run along one axis of the anchor, and the anchor be read at one place only. */
bool tc_space_fusable(const analysis *an, int head, int anchor) {
    anchor_plan p;
    tc_space_plan(an, head, anchor, &p);
    if (p.vec < 0 || p.reads != 1)
        return false;
    for (int x = p.vec + 1; x < p.head->naxis; x++)
        if (p.head->axes[x].extent > 1)
            return false;
    return true;
}
