/* rfactor: one loop of a reduction becomes an axis of a new stage, so that the loop can be vectorised or run in parallel.
 *
 *   D[i] = sum(k) f(i, k),  k = ko * 4 + ki,  rfactor D.ki
 *     =>  R[i, ki] = sum(ko) select(ko * 4 + ki < n, f(i, ko * 4 + ki), 0);  D[i] = sum(ki) R[i, ki]
 *
 * The select is there only if a split is imperfect or the size varies. R's axes then cover the padded range, and the surplus
 * must not count. */
#include "schedule_primitives/sch_int.h"

typedef struct rebuild {
    tc_sched *s;
    const tc_stage *st;
    const tc_expr **value; /* by loop: its index in terms of the new axes */
    const tc_expr *guard;  /* NULL: every iteration exists */
} rebuild;

static int64_t extent_of(const rebuild *r, tc_loop l) {
    return r->s->loops[l].extent;
}

static void add_guard(rebuild *r, const tc_expr *value, const tc_expr *extent) {
    const tc_expr *cond = tc_bin(r->s->ctx, TC_OP_LT, value, extent);
    r->guard = r->guard ? tc_bin(r->s->ctx, TC_OP_AND, r->guard, cond) : cond;
}

static void invert_split(rebuild *r, const tc_rel *rel) {
    tc_ctx *c = r->s->ctx;
    const tc_expr *v = r->value[rel->parts[0]];
    int64_t padded = extent_of(r, rel->parts[0]);
    for (int p = 1; p < rel->n; p++) {
        v = tc_add(c, tc_mul(c, v, tc_i64(c, rel->factor[p])), r->value[rel->parts[p]]);
        padded *= rel->factor[p];
    }
    r->value[rel->whole] = v;
    if (padded > extent_of(r, rel->whole))
        add_guard(r, v, tc_i64(c, extent_of(r, rel->whole)));
}

static void invert_fuse(rebuild *r, const tc_rel *rel) {
    tc_ctx *c = r->s->ctx;
    const tc_expr *rest = r->value[rel->whole];
    for (int p = rel->n - 1; p > 0; p--) {
        const tc_expr *extent = tc_i64(c, extent_of(r, rel->parts[p]));
        r->value[rel->parts[p]] = tc_mod(c, rest, extent);
        rest = tc_div(c, rest, extent);
    }
    r->value[rel->parts[0]] = rest;
}

/* From the leaves, whose values are set, to the reduction axes, last relation first. */
static void invert_relations(rebuild *r) {
    for (int i = r->st->nrel - 1; i >= 0; i--) {
        const tc_rel *rel = &r->st->rel[i];
        if (!r->s->loops[rel->whole].reduce)
            continue;
        if (rel->kind == TC_REL_SPLIT)
            invert_split(r, rel);
        else
            invert_fuse(r, rel);
    }
}

typedef struct factored {
    tc_loop ko;
    int naxis, nraxis;
    tc_axis axes[TC_MAX_DIMS], raxes[TC_SCH_MAX_NAMES];
    tc_loop rloop[TC_SCH_MAX_NAMES]; /* the leaf that raxes[i] stands for */
} factored;

/* Axes of R: those of D and ko; its reduction axes: the remaining reduction leaves, in their order. */
static void make_axes(rebuild *r, factored *f) {
    tc_sched *s = r->s;
    const tc_compute *op = r->st->op;
    f->naxis = op->naxis + 1;
    for (int i = 0; i < op->naxis; i++)
        f->axes[i] = tc_te_axis_like(s->ctx, op->axes[i].var->name, &op->axes[i]);
    for (int i = 0; i < r->st->nleaf; i++) {
        tc_loop l = r->st->leaf[i];
        if (!s->loops[l].reduce)
            continue;
        tc_axis axis = tc_te_axis(s->ctx, s->loops[l].name, s->loops[l].extent);
        r->value[l] = tc_varx(s->ctx, axis.var);
        if (l == f->ko) {
            f->axes[op->naxis] = axis;
        } else {
            f->rloop[f->nraxis] = l;
            f->raxes[f->nraxis++] = axis;
        }
    }
}

/* R's axes run to the most that a reduction axis may have. */
static void guard_symbols(rebuild *r) {
    const tc_compute *op = r->st->op;
    for (int i = 0; i < op->nraxis; i++)
        if (op->raxes[i].symbol)
            add_guard(r, r->value[r->st->root[op->naxis + i]], tc_varx(r->s->ctx, op->raxes[i].symbol));
}

/* R's body: D's, over the new axes, guarded. */
static const tc_compute *partial_compute(rebuild *r, const factored *f, const char *name) {
    tc_ctx *c = r->s->ctx;
    const tc_compute *op = r->st->op;
    int n = op->naxis + op->nraxis;
    const tc_var **vars = TC_NEW_N(tc_ctx_arena(c), const tc_var *, n);
    const tc_expr **with = TC_NEW_N(tc_ctx_arena(c), const tc_expr *, n);
    for (int i = 0; i < n; i++) {
        vars[i] = i < op->naxis ? op->axes[i].var : op->raxes[i - op->naxis].var;
        with[i] = i < op->naxis ? tc_varx(c, f->axes[i].var) : r->value[r->st->root[i]];
    }
    const tc_expr *body[TC_MAX_OUTS];
    for (int o = 0; o < op->nout; o++) {
        body[o] = tc_expr_subst(c, op->body[o], n, vars, with);
        if (r->guard)
            body[o] = tc_select(c, r->guard, body[o], tc_reducer_identity(c, op->reducer, o, op->out[o]->dtype));
    }
    /* Without a remaining reduction loop each element is a single term. An arg reducer still needs its two outputs: it reduces
     * over one. */
    tc_axis one = tc_te_axis(c, "one", 1);
    bool single = f->nraxis == 0 && op->nout == 1;
    const tc_axis *raxes = f->nraxis ? f->raxes : &one;
    int nraxis = f->nraxis ? f->nraxis : single ? 0 : 1;
    return tc_te_compute(c, name, f->naxis, f->axes, single ? TC_RED_NONE : op->reducer, nraxis, raxes, op->nout, body);
}

/* D reduces over ko only. The loops of its axes stay as they are; the reduction's leaves become one, in the place of ko. */
static void become_final(tc_sched *s, int d, const factored *f, const tc_compute *partial) {
    tc_stage *st = &s->stages[d];
    tc_arena *a = tc_ctx_arena(s->ctx);
    tc_compute *to = tc_arena_dup(a, st->op, sizeof *to);
    tc_axis *raxis = TC_NEW(a, tc_axis);
    tc_loop_info ko = s->loops[f->ko];
    *raxis = tc_te_axis(s->ctx, ko.name, ko.extent);
    const tc_expr *idx[TC_MAX_DIMS];
    for (int i = 0; i < to->naxis; i++)
        idx[i] = tc_varx(s->ctx, to->axes[i].var);
    idx[to->naxis] = tc_varx(s->ctx, raxis->var);
    to->id = tc_ctx_next_id(s->ctx);
    to->nraxis = 1;
    to->raxes = raxis;
    for (int o = 0; o < to->nout; o++)
        to->body[o] = tc_read(s->ctx, partial->out[o], to->naxis + 1, idx);
    tc_sch_set_op(s, d, to);

    for (int i = 0; i < s->nloop; i++)
        if (s->loops[i].stage == d && s->loops[i].reduce)
            s->loops[i].stage = -1;
    tc_loop fresh = tc_sch_new_loop(s, d, ko.name, true, ko.extent);
    s->loops[fresh].kind = ko.kind;
    tc_loop *root = TC_NEW_N(a, tc_loop, to->naxis + 1), *leaf = TC_NEW_N(a, tc_loop, st->nleaf);
    memcpy(root, st->root, sizeof *root * (size_t)to->naxis);
    root[to->naxis] = fresh;
    int n = 0;
    for (int i = 0; i < st->nleaf; i++)
        if (st->leaf[i] == f->ko || s->loops[st->leaf[i]].stage == d)
            leaf[n++] = st->leaf[i] == f->ko ? fresh : st->leaf[i];
    tc_rel *rel = TC_NEW_N(a, tc_rel, st->nrel);
    int nrel = 0;
    for (int i = 0; i < st->nrel; i++)
        if (s->loops[st->rel[i].whole].stage == d)
            rel[nrel++] = st->rel[i];
    st->root = root;
    st->nroot = to->naxis + 1;
    st->leaf = leaf;
    st->nleaf = n;
    st->rel = NULL;
    st->nrel = 0;
    for (int i = 0; i < nrel; i++)
        tc_sch_add_rel(s, d, &rel[i]);
}

static tc_status check_rfactor(const tc_sched *s, const tc_instr *in, tc_loop ko, tc_error *err) {
    const tc_loop_info *info = &s->loops[ko];
    const tc_stage *st = &s->stages[info->stage];
    if (!info->reduce)
        return REFUSE(err, in, "%s is not a reduction loop", in->names[0]);
    if (st->op->naxis >= TC_MAX_DIMS)
        return REFUSE(err, in, "stage %s has %d axes already, and a tensor has at most %d", st->name, st->op->naxis, TC_MAX_DIMS);
    int inside = tc_sch_attached_in(s, info->stage, -1);
    if (inside >= 0)
        return REFUSE(err, in, "stage %s is attached inside %s; use rfactor before attaching", s->stages[inside].name, st->name);
    if (st->nleaf > TC_SCH_MAX_NAMES)
        return REFUSE(err, in, "stage %s has more than %d loops", st->name, TC_SCH_MAX_NAMES);
    for (int i = 0; i < st->op->naxis; i++)
        if (strcmp(st->op->axes[i].var->name, info->name) == 0)
            return REFUSE(err, in, "%s would have two axes called %s; split it under another name", in->outs[0], info->name);
    return tc_sch_new_stage_name(s, in, in->outs[0], err);
}

tc_status tc_sch_do_rfactor(tc_sched *s, const tc_instr *in, tc_error *err) {
    factored f = {0};
    TC_TRY(tc_sch_leaf_operand(s, in, 0, &f.ko, err));
    TC_TRY(check_rfactor(s, in, f.ko, err));
    int d = s->loops[f.ko].stage;
    rebuild r = {.s = s, .st = &s->stages[d], .value = TC_NEW_N(tc_ctx_arena(s->ctx), const tc_expr *, s->nloop)};
    make_axes(&r, &f);
    invert_relations(&r);
    for (int i = 0; i < r.st->nroot; i++)
        if (r.value[r.st->root[i]] && !tc_sch_index_fits(r.value[r.st->root[i]]))
            return REFUSE(err, in, "the loops of stage %s were split and fused too often", r.st->name);
    guard_symbols(&r);
    const tc_compute *partial = partial_compute(&r, &f, in->outs[0]);
    TC_TRY(tc_sch_check_bodies(in, in->outs[0], partial, err));
    tc_for_kind kind[TC_SCH_MAX_NAMES];
    for (int i = 0; i < f.nraxis; i++)
        kind[i] = s->loops[f.rloop[i]].kind;
    tc_sch_insert_stage(s, d, in->outs[0], partial);
    become_final(s, d + 1, &f, partial);
    tc_stage *st = &s->stages[d], *final = &s->stages[d + 1];
    st->scope = TC_SCOPE_GLOBAL;
    if (final->attach == TC_ATTACH_AT) {
        st->attach = TC_ATTACH_AT;
        st->at_stage = final->at_stage;
        st->at_loop = final->at_loop;
    }
    /* Loops of R that were annotated as loops of D (unrolled, the only thing a reduction loop can be) stay so. */
    for (int i = 0; i < f.nraxis; i++)
        s->loops[st->root[f.naxis + i]].kind = kind[i];
    return TC_OK;
}
