/* Weights that are stored in fewer bits than a kernel multiplies with (DequantizeLinear, MatMulNBits). A map of constants alone
 * unpacks them. The graph does not fold this map at build time, because the constants that it reads are smaller than its
 * result. The map is a producer (producers.c), with other places:
 *
 *   at the read     inlined: each tile of rows takes out the numbers again
 *   per task        for the columns of a task, and the whole reduction
 *   per block       for the columns of a task, and a block of the reduction (variant stored_block)
 *
 *     for task, for k_o:                                # the anchor's
 *       for k_p, k_i: W[k][v] = .. bits[..] ..          # panels in the anchor's width; k_i unrolled: parts of a byte
 *       acc += X * W
 *
 * The weights are never unpacked as a whole: that would cost the pass over memory that the small constants save. The constants
 * are stored in the order of the panels. */
#include "search_space/anchor_int.h"

/* Periods that are parts of a byte. */
enum { MAX_PART = 8 };

typedef struct sources {
    bool variable;
    int64_t bytes; /* of the constants, as often as they are read */
} sources;

static void note_source(const tc_expr *e, void *user) {
    sources *s = user;
    if (e->op != TC_OP_READ)
        return;
    s->variable |= !e->u.tensor->is_const;
    s->bytes += tc_tensor_size(e->u.tensor) * tc_dtype_bytes(e->u.tensor->dtype);
}

bool tc_space_unpacks(const tc_compute *op) {
    sources s = {0};
    if (op->reducer != TC_RED_NONE || op->nout > 1 || op->naxis < 1)
        return false;
    tc_expr_walk(op->body[0], note_source, &s);
    return !s.variable && s.bytes > 0 && s.bytes < tc_tensor_size(op->out[0]) * tc_dtype_bytes(op->out[0]->dtype);
}

void tc_space_find_unpacked(analysis *an) {
    for (int i = 0; i < an->ncluster; i++) {
        cluster *c = &an->cluster[i];
        int st = c->member[0];
        if (c->kind == CLUSTER_MAP && tc_space_unpacks(an->s->stages[st].op) && tc_space_produces_for(an->s, st, an->stored_for))
            c->kind = CLUSTER_UNPACK;
    }
}

bool tc_space_is_unpacked(const analysis *an, int stage) {
    for (int i = 0; i < an->ncluster; i++)
        if (an->cluster[i].kind == CLUSTER_UNPACK && an->cluster[i].member[0] == stage)
            return true;
    return false;
}

bool tc_space_any_unpacked(const analysis *an) {
    for (int i = 0; i < an->ncluster; i++)
        if (an->cluster[i].kind == CLUSTER_UNPACK)
            return true;
    return false;
}

/* ---- emission ---- */

typedef struct layouts {
    emitter *e;
    const tc_axis *along;
    factor panel;
} layouts;

static void lay_source(const tc_expr *read, void *user) {
    layouts *l = user;
    int dv = read->op == TC_OP_READ ? tc_space_dim_along(l->e->an->ctx, read, l->along->var) : -1;
    if (dv < 0 || read->nargs < 2 || tc_space_has_layout(l->e, read->u.tensor))
        return;
    layout to = tc_space_layout(read->nargs);
    tc_push(&l->e->packed, read->u.tensor);
    tc_space_lay_blocks(&to, dv, l->panel);
    for (int d = 0; d < read->nargs; d++)
        if (d != dv)
            tc_space_lay(&to, d);
    tc_space_lay_places(&to, dv, l->panel);
    tc_space_transform_layout(&l->e->b, read->u.tensor->name, &to);
}

void tc_space_lay_sources(emitter *e, const tc_compute *op, int dim, factor panel) {
    layouts l = {e, &op->axes[dim], panel};
    if (tc_space_unpacks(op))
        tc_expr_walk(op->body[0], lay_source, &l);
}

typedef struct period {
    const tc_var *v;
    int64_t least;
} period;

static void find_period(const tc_expr *e, void *user) {
    period *p = user;
    if (e->op == TC_OP_MOD && e->args[1]->op == TC_OP_INT && tc_expr_uses_var(e->args[0], p->v) && e->args[1]->u.i > 1)
        p->least = TC_MIN(p->least, e->args[1]->u.i);
}

/* With parts of a byte unrolled, shifts are by constants. */
static void unroll_parts(emitter *e, const tc_compute *op, const tc_axis *x) {
    period p = {x->var, x->extent};
    loop_ref k[2];
    tc_expr_walk(op->body[0], find_period, &p);
    if (p.least >= x->extent || p.least > MAX_PART)
        return;
    factor parts = fixed(p.least);
    tc_space_split(&e->b, loop_of(stage_called(op->name), x), "pi", &parts, k);
    tc_space_unroll(&e->b, k[1]);
}

void tc_space_emit_unpacked(emitter *e, const cluster *c) {
    const tc_compute *op = e->an->s->stages[c->member[0]].op;
    stage_ref stage = stage_called(op->name);
    int last = op->naxis - 1;
    loop_ref v[2];
    loop_list order = {0};
    tc_space_compute_at(&e->b, stage, e->v.stored_block ? e->block : e->task);
    tc_space_split(&e->b, loop_of(stage, &op->axes[last]), "ov", &e->panel, v);
    tc_space_list(&order, v[0]);
    tc_space_list_axes(&order, stage, op->axes, last);
    tc_space_list(&order, v[1]);
    tc_space_reorder(&e->b, &order);
    for (int x = 0; x < last; x++)
        unroll_parts(e, op, &op->axes[x]);
    tc_space_vectorize(&e->b, v[1]);
    tc_space_lay_sources(e, op, last, e->panel);
}

/* ---- what the estimate needs ---- */

/* Operations on what is read, without indices. */
static int operations(const tc_expr *e) {
    int n = 0;
    for (int i = 0; i < e->nargs && e->op != TC_OP_READ; i++)
        n += operations(e->args[i]);
    sources s = {0};
    tc_expr_walk(e, note_source, &s);
    return n + (e->op != TC_OP_READ && s.bytes > 0);
}

void tc_space_note_unpacked(const analysis *an, const cluster *c, decision *d) {
    const tc_compute *op = an->s->stages[c->member[0]].op;
    const tc_compute *anchor = an->s->stages[tc_sch_find_stage(an->s, an->stored_for)].op;
    double each = (double)tc_space_iterations(op) / (double)tc_space_iterations(anchor);
    d->produced.numbers += each;
    d->produced.unpacking += each * operations(op->body[0]);
}
