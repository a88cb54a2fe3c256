/* How much of its inputs a workload reads: the whole of each input, except a large table from which it gathers rows. */
#include "support/vec.h"
#include "te/te.h"

/* How often the elements of a tensor are read in one evaluation. */
typedef struct readings {
    const tc_tensor *t;
    double points; /* of the compute being looked at */
    double n;
} readings;

static void count_readings(const tc_expr *e, void *user) {
    readings *r = user;
    if (e->op == TC_OP_READ && e->u.tensor == r->t)
        r->n += r->points;
}

static double points_of(const tc_compute *c) {
    double n = 1;
    for (int i = 0; i < c->naxis; i++)
        n *= (double)c->axes[i].extent;
    for (int i = 0; i < c->nraxis; i++)
        n *= (double)c->raxes[i].extent;
    return n;
}

double tc_te_bytes_read(const tc_workload *w, const tc_tensor *t) {
    readings r = {.t = t};
    for (int i = 0; i < w->ncompute; i++) {
        r.points = points_of(w->computes[i]);
        for (int o = 0; o < w->computes[i]->nout; o++)
            tc_expr_walk(w->computes[i]->body[o], count_readings, &r);
    }
    return TC_MIN((double)tc_tensor_size(t), r.n) * tc_dtype_bytes(t->dtype);
}

double tc_te_constant_bytes_read(const tc_workload *w) {
    double sum = 0;
    for (int i = 0; i < w->nin; i++)
        if (w->in[i]->is_const)
            sum += tc_te_bytes_read(w, w->in[i]);
    return sum;
}

double tc_te_bytes_moved(const tc_workload *w) {
    double sum = 0;
    for (int i = 0; i < w->nin; i++)
        sum += tc_te_bytes_read(w, w->in[i]);
    for (int i = 0; i < w->nout; i++)
        sum += (double)tc_tensor_size(w->out[i]) * tc_dtype_bytes(w->out[i]->dtype);
    return sum;
}
