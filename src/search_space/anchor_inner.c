/* Anchors whose terms are sums of another stage, each with a scale of its own: products with weights that are quantised in
 * blocks.
 *
 *     compute S[m, n, b] = sum(k) X[m, b, k] * number(W[n, b, k])          # of one block
 *     compute Y[m, n] = sum(b) S[m, n, b] * C[n, b]
 * =>
 *     for b:
 *       S[tile] = 0                                     # registers
 *       for k_o: S[tile] += ..                          # k_u and other reductions unrolled; W packed in the order it is walked
 *       Y_acc[tile] += S[tile] * C[.., b]               # registers
 *
 * A block may have several sums, if Y has more reductions; all of them are computed at once. A scale is applied once for a block,
 * not to each number. Both tiles stay in registers. Memory bounds these products when they have few rows. So the constants may be
 * prefetched some bytes ahead of the loops, which would otherwise wait at each page. */
#include "search_space/anchor_int.h"

#include <assert.h>

/* ---- recognising ---- */

typedef struct sums {
    const analysis *an;
    const tc_compute *op;
    const tc_expr *read; /* of the only stage with reuse that op reads */
    bool once, scaled;
} sums;

static void look_at(const tc_expr *e, void *user) {
    sums *k = user;
    if (e->op != TC_OP_READ)
        return;
    int st = tc_sch_stage_of(k->an->s, e->u.tensor);
    const tc_var *last = k->op->axes[k->op->naxis - 1].var;
    bool along = false, across = false;
    for (int d = 0; d < e->nargs; d++) {
        across |= tc_expr_uses_var(e->args[d], last);
        for (int r = 0; r < k->op->nraxis; r++)
            along |= tc_expr_uses_var(e->args[d], k->op->raxes[r].var);
    }
    k->scaled |= e->u.tensor->is_const && along && across;
    if (st < 0 || k->an->kind[st] != KIND_ANCHOR)
        return;
    k->once = k->once && (!k->read || k->read == e);
    k->read = e;
}

static bool indexed_by(const tc_expr *read, const tc_var *v) {
    for (int d = 0; d < read->nargs; d++)
        if (read->args[d]->op == TC_OP_VAR && read->args[d]->u.var == v)
            return true;
    return false;
}

/* Every element is read once: by all axes of op, each of which stands for a dimension. */
static bool reads_each_once(const tc_compute *op, const tc_expr *read) {
    bool all = read->nargs == op->naxis + op->nraxis;
    for (int a = 0; a < op->naxis; a++)
        all &= indexed_by(read, op->axes[a].var);
    for (int r = 0; r < op->nraxis; r++)
        all &= indexed_by(read, op->raxes[r].var);
    return all;
}

int tc_space_inner_of(const analysis *an, int st) {
    const tc_compute *op = an->s->stages[st].op;
    if (op->reducer != TC_RED_SUM || op->nout > 1 || op->naxis < 1 || an->kind[st] != KIND_REDUCE)
        return -1;
    sums k = {.an = an, .op = op, .once = true};
    tc_expr_walk(op->body[0], look_at, &k);
    if (!k.read || !k.once || !k.scaled || !reads_each_once(op, k.read))
        return -1;
    int readers[2], inner = tc_sch_stage_of(an->s, k.read->u.tensor);
    const tc_compute *of = an->s->stages[inner].op;
    bool alone = tc_sch_consumers(an->s, inner, readers, 2) == 1 && !an->s->stages[inner].is_output;
    return alone && of->reducer == TC_RED_SUM && an->inner[inner] < 0 ? inner : -1;
}

/* ---- writing ---- */

/* The anchor's own loops; returns the one at which the sums of a block are computed. */
static loop_ref emit_scaling(emitter *e, const anchor_plan *p) {
    const tc_compute *op = p->op;
    loop_ref block = loop_of(p->acc, &op->raxes[0]), v = loop_of(p->acc, &op->axes[p->acc_vec]);
    loop_list order = {1, {block}}, written = {0};
    tc_space_list_axes(&written, p->acc, op->raxes + 1, op->nraxis - 1);
    for (int x = 0; x < op->naxis; x++)
        if (x != p->acc_vec)
            tc_space_list(&written, loop_of(p->acc, &op->axes[x]));
    tc_space_list_all(&order, &written);
    tc_space_list(&order, v);
    tc_space_reorder(&e->b, &order);
    tc_space_unroll_all(&e->b, &written);
    tc_space_vectorize(&e->b, v);
    return block;
}

/* The dimension of the inner stage that the anchor's vectors run along. */
static int vector_dim(const analysis *an, const anchor_plan *p, int inner) {
    sums k = {.an = an, .op = p->op, .once = true};
    tc_expr_walk(p->op->body[0], look_at, &k);
    assert(tc_sch_stage_of(an->s, k.read->u.tensor) == inner);
    return tc_space_dim_along(an->ctx, k.read, p->op->axes[p->acc_vec].var);
}

const tc_intrinsic *tc_space_emit_inner(emitter *e, const anchor_plan *p, int inner, int id) {
    loop_ref block = emit_scaling(e, p);
    anchor_plan q;
    tc_space_plan(e->an, inner, inner, &q);
    q.acc = stage_called(q.op->name);
    q.acc_vec = vector_dim(e->an, p, inner);
    q.width = p->width;
    q.panel = p->panel;
    q.dot = tc_space_dot(e->an, &q);
    q.group = q.dot ? q.dot->group : 1;
    q.inner = q.batch_inside = true;
    decision *v = tc_space_decision(&e->b, p->width);
    v->inner = 1;
    for (int r = 0; r < q.op->nraxis; r++)
        v->inner *= q.op->raxes[r].extent;
    v->inner = tc_ceil_div(v->inner, q.group);
    v->sums = 1;
    for (int r = 1; r < p->op->nraxis; r++)
        v->sums *= p->op->raxes[r].extent;
    tc_space_compute_at(&e->b, q.acc, block);
    tc_space_keep_local(&e->b, q.acc);
    tc_space_emit_steps(e, &q, id);
    tc_space_emit_operands(e, &q, (loop_ref){0});
    return q.dot;
}

void tc_space_emit_streams(emitter *e, const tc_intrinsic *unit, int id, size_t from) {
    static const int64_t bytes[] = {0, 512, 1024, 2048, 4096};
    if (from == e->packed.len)
        return;
    decision_ref ahead = tc_space_sample_choice(&e->b, ROLE_AHEAD, id, (int)TC_LEN(bytes), bytes, 0);
    tc_space_decision(&e->b, ahead)->unit = unit;
    for (size_t i = from; i < e->packed.len; i++)
        tc_space_prefetch(&e->b, e->packed.data[i]->name, chosen(ahead));
}
