/* compute_inline: the stage's body replaces every read of the stage. The stage's buffer disappears.
 *
 *   B[i] = f(X[i]);  Y[i] = g(B[i + 1])   =>   Y[i] = g(f(X[i + 1])) */
#include "schedule_primitives/sch_int.h"

/* A body that reads its operand twice, inlined over and over, doubles each time: shared in memory, but printed, hashed and
 * estimated as a tree. Far beyond anything fusion makes on purpose. */
enum { MAX_TREE = 1 << 14 };

/* Nodes of e as a tree, each read of `read` counting `read_size`; counting ends above MAX_TREE. */
static int64_t tree_size(const tc_expr *e, const tc_tensor *read, int64_t read_size) {
    int64_t size = e->op == TC_OP_READ && e->u.tensor == read ? read_size : 1;
    for (int i = 0; i < e->nargs && size <= MAX_TREE; i++)
        size += tree_size(e->args[i], read, read_size);
    return size;
}

tc_status tc_sch_can_inline(const tc_sched *s, int stage, const tc_instr *in, tc_error *err) {
    const tc_stage *st = &s->stages[stage];
    if (st->is_output)
        return REFUSE(err, in, "stage %s is an output of the workload and needs its buffer", st->name);
    if (st->op->reducer != TC_RED_NONE)
        return REFUSE(err, in, "stage %s is a reduction; only element-wise stages can be inlined", st->name);
    int inside = tc_sch_attached_in(s, stage, -1);
    if (inside >= 0)
        return REFUSE(err, in, "stage %s is attached inside %s, which has no loops after inlining", s->stages[inside].name,
                      st->name);
    int64_t size = tree_size(st->op->body[0], NULL, 0);
    for (int e = stage + 1; e < s->nstage; e++) {
        const tc_compute *op = s->stages[e].op;
        if (s->stages[e].attach == TC_ATTACH_INLINE || !tc_sch_reads_stage(s, e, stage))
            continue;
        for (int o = 0; o < op->nout; o++) {
            if (tree_size(op->body[o], st->op->out[0], size) > MAX_TREE)
                return REFUSE(err, in, "the expression of %s would grow beyond %d terms", s->stages[e].name, MAX_TREE);
            if (op->body[o]->depth + st->op->body[0]->depth > TC_MAX_DEPTH)
                return REFUSE(err, in, "the expression of %s might become more than %d operations deep", s->stages[e].name,
                              TC_MAX_DEPTH);
        }
    }
    return TC_OK;
}

static const tc_expr *inline_read(tc_ctx *c, const tc_expr *e, void *user) {
    const tc_compute *op = user;
    if (e->op != TC_OP_READ || e->u.tensor != op->out[0])
        return e;
    const tc_var *vars[TC_MAX_DIMS];
    for (int i = 0; i < op->naxis; i++)
        vars[i] = op->axes[i].var;
    return tc_expr_subst(c, op->body[0], op->naxis, vars, e->args);
}

void tc_sch_inline(tc_sched *s, int stage) {
    /* The rewriter only reads the compute; its user pointer is plain. */
    void *op = (void *)(uintptr_t)s->stages[stage].op;
    for (int e = stage + 1; e < s->nstage; e++) {
        const tc_compute *from = s->stages[e].op;
        if (s->stages[e].attach == TC_ATTACH_INLINE || !tc_sch_reads_stage(s, e, stage))
            continue;
        const tc_expr *body[TC_MAX_OUTS];
        for (int o = 0; o < from->nout; o++)
            body[o] = tc_expr_map(s->ctx, from->body[o], inline_read, op);
        tc_sch_set_op(s, e, tc_sch_with_body(s, from, body));
    }
    tc_stage *st = &s->stages[stage];
    st->attach = TC_ATTACH_INLINE;
    st->at_stage = st->at_loop = -1;
}

tc_status tc_sch_do_compute_inline(tc_sched *s, const tc_instr *in, tc_error *err) {
    int stage;
    TC_TRY(tc_sch_stage_operand(s, in, 0, &stage, err));
    TC_TRY(tc_sch_can_inline(s, stage, in, err));
    tc_sch_inline(s, stage);
    return TC_OK;
}
