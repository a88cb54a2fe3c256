/* Chains: can all stages before the last anchor be computed in the tasks of this anchor, for one block of its rows at a time, and
 * no element twice? An example is attention per head and block of queries. */
#include "search_space/anchor_int.h"

typedef struct row_query {
    const analysis *an;
    const tc_compute *op;
    const tc_var *vec;
    int rows;
    bool all;
} row_query;

/* A read of another stage must walk its first dimensions along all of the anchor's axes but the vector's, in any order. */
static void check_rows(const tc_expr *e, void *user) {
    row_query *q = user;
    int stage = e->op == TC_OP_READ ? tc_sch_stage_of(q->an->s, e->u.tensor) : -1;
    if (stage < 0 || tc_space_is_operand(q->an, stage))
        return;
    q->all = q->all && e->nargs >= q->rows;
    for (int d = 0; d < q->rows && q->all; d++) {
        q->all = e->args[d]->op == TC_OP_VAR && e->args[d]->u.var != q->vec;
        for (int k = 0; k < d; k++)
            q->all = q->all && e->args[k] != e->args[d];
        for (int r = 0; r < q->op->nraxis; r++)
            q->all = q->all && e->args[d]->u.var != q->op->raxes[r].var;
    }
}

/* The first cluster's batch and row axes, when everything its anchor reads of other stages goes along them; 0: it does not. */
static int shared_rows(const analysis *an, const cluster *c) {
    anchor_plan p;
    tc_space_plan_cluster(an, c, &p);
    if (p.acc_vec < 0 || p.head->naxis != p.op->naxis)
        return 0;
    row_query q = {.an = an, .op = p.op, .vec = p.op->axes[p.acc_vec].var, .rows = p.op->naxis - 1, .all = true};
    tc_expr_walk(p.op->body[0], check_rows, &q);
    return q.all ? q.rows : 0;
}

/* The other clusters' members read each other along the same rows, and nobody else wants them whole. */
bool tc_space_chains(const analysis *an) {
    if (an->ncluster < 2 || an->cluster[0].kind != CLUSTER_ANCHOR || an->cluster[0].inner >= 0)
        return false;
    int rows = shared_rows(an, &an->cluster[0]), head = an->cluster[0].member[0];
    if (rows == 0)
        return false;
    for (int i = 1; i < an->ncluster; i++) {
        int from = an->cluster[i].member[0];
        if (an->cluster[i].kind == CLUSTER_OPERAND)
            continue; /* all rows want it whole */
        if (an->s->stages[from].is_output)
            return false;
        if (head != an->cluster[0].member[an->cluster[0].n - 1] && tc_space_common_rows(an->s, head, from) < TC_MAX_DIMS)
            return false; /* read by the epilogue too */
        for (int j = 1; j < i; j++)
            for (int m = 0; m < an->cluster[j].n; m++)
                if (tc_space_common_rows(an->s, an->cluster[j].member[m], from) < rows)
                    return false;
    }
    return true;
}
