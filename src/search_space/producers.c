/* Producers: stages that compute an operand of the only anchor elementwise (dequantisation, a scale, the last step of a
 * normalisation, a cast). Where a producer is computed is a decision:
 *
 *   at the read     inlined: nothing is stored, and each read computes it again (analyse.c, where that is cheap)
 *   at packing      inlined into the packed copy of the operand, at root or per parallel task (variants pack, pack_task)
 *   per task        a stage at the anchor's parallel loop, for the part that the task reads (variant stored_task)
 *   whole           a stage at root (variant stored)
 *
 * Producers that unpack weights from constants have places of their own (unpack.c).
 *
 * A stage that only picks values (padding) is no producer: a condition per read costs little, and loops are divided by the
 * condition. */
#include "search_space/space_int.h"

#include <string.h>

/* e is a value of another tensor or a number, whichever conditions choose. */
static bool picks(const tc_expr *e) {
    if (e->op == TC_OP_SELECT)
        return picks(e->args[1]) && picks(e->args[2]);
    return e->op == TC_OP_READ || (tc_op_traits(e->op) & TC_LEAF);
}

static void find_variable(const tc_expr *e, void *user) {
    *(bool *)user |= e->op == TC_OP_READ && !e->u.tensor->is_const;
}

bool tc_space_produces_for(const tc_sched *s, int st, const char *anchor) {
    const tc_compute *op = s->stages[st].op;
    int reader;
    bool variable = false;
    if (s->stages[st].is_output || s->stages[st].attach == TC_ATTACH_INLINE || op->reducer != TC_RED_NONE || op->nout > 1 ||
        tc_space_is_transform(op) || tc_sch_consumers(s, st, &reader, 1) != 1 || strcmp(s->stages[reader].name, anchor) != 0)
        return false;
    tc_expr_walk(op->body[0], find_variable, &variable);
    return (variable || tc_space_unpacks(op)) && !picks(op->body[0]);
}

static bool is_producer(const analysis *an, const cluster *c) {
    return an->stored_for && tc_space_produces_for(an->s, c->member[0], an->stored_for);
}

bool tc_space_any_producer(const analysis *an) {
    for (int i = 0; i < an->ncluster; i++)
        if (is_producer(an, &an->cluster[i]))
            return true;
    return false;
}

/* ---- emission ---- */

static const cluster *cluster_of(const analysis *an, int head) {
    for (int i = 0; i < an->ncluster; i++)
        if (an->cluster[i].member[0] == head)
            return &an->cluster[i];
    return NULL;
}

void tc_space_compute_packed(emitter *e, const tc_tensor *operand) {
    int st = tc_sch_stage_of(e->an->s, operand);
    const cluster *c = st < 0 ? NULL : cluster_of(e->an, st);
    if (!c || c->kind != CLUSTER_MAP || !is_producer(e->an, c))
        return;
    tc_space_inline(&e->b, stage_called(e->an->s->stages[st].name));
    tc_push(&e->gone, st);
}

bool tc_space_is_gone(const emitter *e, const cluster *c) {
    for (size_t i = 0; i < e->gone.len; i++)
        if (e->gone.data[i] == c->member[0])
            return true;
    return false;
}

loop_ref tc_space_place_of(const emitter *e, const cluster *c) {
    return e->v.stored_task && !is_loop(e->at) && is_producer(e->an, c) ? e->task : e->at;
}

/* ---- what the estimate needs ---- */

static void count_op(const tc_expr *e, void *user) {
    if (!(tc_op_traits(e->op) & (TC_LEAF | TC_MEMORY)) && tc_dtype_is_float(e->dtype))
        ++*(int *)user;
}

static double iterations(const tc_compute *op) {
    double n = 1;
    for (int x = 0; x < op->naxis; x++)
        n *= (double)op->axes[x].extent;
    for (int r = 0; r < op->nraxis; r++)
        n *= (double)op->raxes[r].extent;
    return n;
}

static void note(const analysis *an, const cluster *c, decision *d) {
    int st = c->member[0], ops = 0;
    if (c->kind == CLUSTER_UNPACK) {
        tc_space_note_unpacked(an, c, d);
        return;
    }
    const tc_compute *op = an->s->stages[st].op, *anchor = an->s->stages[tc_sch_find_stage(an->s, an->stored_for)].op;
    enum { ACCESSES = 2 };
    tc_expr_walk(op->body[0], count_op, &ops);
    double pass = (ops + ACCESSES) * iterations(op) / iterations(anchor);
    bool inlined = an->plain->s->stages[st].attach == TC_ATTACH_INLINE;
    d->produced.pass += pass;
    d->produced.left += inlined ? 0 : pass;
    d->produced.inlined += inlined ? ops : 0;
}

void tc_space_note_producers(tc_space *s, const analysis *an) {
    for (int k = 0; k < s->nsketch; k++)
        for (int i = 0; i < s->sk[k].ndec; i++)
            for (int c = 0; c < an->ncluster && s->sk[k].dec[i].role == ROLE_VEC; c++)
                if (is_producer(an, &an->cluster[c]))
                    note(an, &an->cluster[c], &s->sk[k].dec[i]);
}
