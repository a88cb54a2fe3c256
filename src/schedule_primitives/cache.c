/* cache_read and cache_write: one more buffer between a producer and its consumers.
 *
 *   cache_read W D:    C[a, b] = W[a, b];  D = ... C[k, j] ...         C stands directly before its first consumer
 *   cache_write D:     L = what D computed;  D[i, j] = L[i, j]         L stands directly before D
 *
 * A new stage starts where it is always legal: at root, or, when its producer (or D) is attached somewhere, at the same loop. */
#include "schedule_primitives/sch_int.h"

typedef struct readers {
    const tc_tensor *from, *to;
} readers;

static const tc_expr *redirect_read(tc_ctx *c, const tc_expr *e, void *user) {
    const readers *r = user;
    return e->op == TC_OP_READ && e->u.tensor == r->from ? tc_read(c, r->to, e->nargs, e->args) : e;
}

static void redirect(tc_sched *s, int stage, readers *r) {
    const tc_compute *from = s->stages[stage].op;
    const tc_expr *body[TC_MAX_OUTS];
    for (int o = 0; o < from->nout; o++)
        body[o] = tc_expr_map(s->ctx, from->body[o], redirect_read, r);
    tc_sch_set_op(s, stage, tc_sch_with_body(s, from, body));
}

/* name[axes] = t[axes]. The axes are called as those of t's producer, or ax0, ax1, ... for an input. */
static const tc_compute *copy_of(tc_sched *s, const char *name, const tc_tensor *t, const tc_compute *producer) {
    tc_axis axes[TC_MAX_DIMS];
    const tc_expr *idx[TC_MAX_DIMS];
    for (int i = 0; i < t->ndim; i++) {
        char plain[16] = {'a', 'x', (char)('0' + i), 0};
        axes[i] = tc_te_axis(s->ctx, producer ? producer->axes[i].var->name : plain, t->shape[i]);
        idx[i] = tc_varx(s->ctx, axes[i].var);
    }
    const tc_expr *body = tc_read(s->ctx, t, t->ndim, idx);
    return tc_te_compute(s->ctx, name, t->ndim, axes, TC_RED_NONE, 0, NULL, 1, &body);
}

/* Consumers named by the step, or all; at least one. */
static tc_status find_readers(const tc_sched *s, const tc_instr *in, const tc_tensor *t, int *reader, int *n, tc_error *err) {
    *n = 0;
    for (int k = 1; k < in->nnames; k++) {
        int st;
        TC_TRY(tc_sch_stage_operand(s, in, k, &st, err));
        if (!tc_sch_reads_tensor(s, st, t))
            return REFUSE(err, in, "stage %s does not read %s", s->stages[st].name, t->name);
        reader[(*n)++] = st;
    }
    for (int st = 0; in->nnames == 1 && st < s->nstage; st++)
        if (s->stages[st].attach != TC_ATTACH_INLINE && tc_sch_reads_tensor(s, st, t) && *n < TC_SCH_MAX_NAMES)
            reader[(*n)++] = st;
    return *n ? TC_OK : REFUSE(err, in, "no stage reads %s", t->name);
}

/* Gives the new stage `st` the attach point of `like`, which stands after it if `like` is `st`'s consumer. */
static void attach_like(tc_stage *st, const tc_stage *like) {
    if (like->attach != TC_ATTACH_AT)
        return;
    st->attach = TC_ATTACH_AT;
    st->at_stage = like->at_stage;
    st->at_loop = like->at_loop;
}

tc_status tc_sch_do_cache_read(tc_sched *s, const tc_instr *in, tc_error *err) {
    const tc_tensor *t;
    int reader[TC_SCH_MAX_NAMES], n, at = s->nstage;
    tc_scope scope;
    TC_TRY(tc_sch_tensor_operand(s, in, 0, &t, err));
    int producer = tc_sch_stage_of(s, t);
    if (producer >= 0 && s->stages[producer].attach == TC_ATTACH_INLINE)
        return REFUSE(err, in, "stage %s is inlined and has no buffer to copy", t->name);
    TC_TRY(tc_sch_scope_operand(in, &scope, err));
    TC_TRY(find_readers(s, in, t, reader, &n, err));
    TC_TRY(tc_sch_new_stage_name(s, in, in->outs[0], err));
    const tc_compute *copy = copy_of(s, in->outs[0], t, producer < 0 ? NULL : s->stages[producer].op);
    readers r = {.from = t, .to = copy->out[0]};
    for (int i = 0; i < n; i++) {
        redirect(s, reader[i], &r);
        at = TC_MIN(at, reader[i]);
    }
    tc_stage *st = tc_sch_insert_stage(s, at, in->outs[0], copy);
    st->scope = scope;
    if (producer >= 0)
        attach_like(st, &s->stages[producer]);
    return TC_OK;
}

/* The stage's loops must be as they were made: its compute, and with it the meaning of its loops, goes to the new stage. */
static tc_status check_fresh(const tc_sched *s, const tc_instr *in, int stage, tc_error *err) {
    const tc_stage *st = &s->stages[stage];
    if (st->nrel)
        return REFUSE(err, in, "stage %s has been split or fused; use cache_write before shaping its loops", st->name);
    for (int i = 0; i < st->nleaf; i++)
        if (s->loops[st->leaf[i]].kind != TC_FOR_SERIAL)
            return REFUSE(err, in, "loop %s.%s is annotated; use cache_write before shaping the loops", st->name,
                          s->loops[st->leaf[i]].name);
    int inside = tc_sch_attached_in(s, stage, -1);
    if (inside >= 0)
        return REFUSE(err, in, "stage %s is attached inside %s; use cache_write before attaching", s->stages[inside].name,
                      st->name);
    return TC_OK;
}

/* Turns stage `d` into a copy of tensor `l`. It keeps its buffer and the loops of its axes, in their order; those of its
 * reduction go. */
static void become_copy(tc_sched *s, int d, const tc_tensor *l) {
    tc_stage *st = &s->stages[d];
    tc_compute *to = tc_arena_dup(tc_ctx_arena(s->ctx), st->op, sizeof *to);
    tc_axis *axes = TC_NEW_N(tc_ctx_arena(s->ctx), tc_axis, st->op->naxis);
    const tc_expr *idx[TC_MAX_DIMS];
    for (int i = 0; i < to->naxis; i++) {
        axes[i] = tc_te_axis(s->ctx, st->op->axes[i].var->name, st->op->axes[i].extent);
        idx[i] = tc_varx(s->ctx, axes[i].var);
    }
    to->id = tc_ctx_next_id(s->ctx);
    to->axes = axes;
    to->nraxis = 0;
    to->reducer = TC_RED_NONE;
    to->body[0] = tc_read(s->ctx, l, to->naxis, idx);
    tc_sch_set_op(s, d, to);
    int kept = 0;
    for (int i = 0; i < st->nleaf; i++) {
        if (s->loops[st->leaf[i]].reduce)
            s->loops[st->leaf[i]].stage = -1;
        else
            st->leaf[kept++] = st->leaf[i];
    }
    st->nleaf = kept;
    st->nroot = to->naxis;
}

tc_status tc_sch_do_cache_write(tc_sched *s, const tc_instr *in, tc_error *err) {
    int d;
    tc_scope scope;
    TC_TRY(tc_sch_stage_operand(s, in, 0, &d, err));
    TC_TRY(tc_sch_scope_operand(in, &scope, err));
    TC_TRY(tc_sch_new_stage_name(s, in, in->outs[0], err));
    const tc_compute *op = s->stages[d].op;
    if (op->nout != 1)
        return REFUSE(err, in, "stage %s has two outputs; a copy has one", s->stages[d].name);
    TC_TRY(check_fresh(s, in, d, err));
    const tc_compute *inner =
        tc_te_compute(s->ctx, in->outs[0], op->naxis, op->axes, op->reducer, op->nraxis, op->raxes, 1, op->body);
    tc_stage *st = tc_sch_insert_stage(s, d, in->outs[0], inner);
    st->scope = scope;
    become_copy(s, d + 1, inner->out[0]);
    attach_like(&s->stages[d], &s->stages[d + 1]);
    return TC_OK;
}
