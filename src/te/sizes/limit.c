/* Limits a workload that was made for the largest sizes to the sizes of a run.
 *
 * The pass goes backwards from the requested part of the outputs. An axis ends where reads of its tensor end. Reduction axes have
 * their ends already. The reads of a body under these limits are then the requested part of its operands.
 * Ranges decide all limits, under the conditions of the selects around a read. So no reader needs the omitted parts. */
#include "te/te_int.h"

#include <stdlib.h>

#include "support/map.h"

/* A compute as it becomes: with the old tensors in its bodies. */
typedef struct limited {
    const tc_axis *axes;
    const tc_expr *body[TC_MAX_OUTS];
} limited;

typedef struct limiter {
    tc_ctx *c;
    const tc_workload *w;
    TC_VEC(const tc_var *) sizes; /* all that may end anything, those of smaller ranges first */
    tc_map asked;                 /* tensor id -> its part that is read, as far as readers were looked at */
    limited *computes;
    tc_map tensors; /* id -> the new tensor */
    int64_t work;   /* what is left of the budget of proofs */
} limiter;

/* ---- the sizes that there are ---- */

static void add_size(limiter *k, const tc_var *v) {
    size_t at = 0;
    for (size_t i = 0; i < k->sizes.len; i++) {
        if (k->sizes.data[i] == v)
            return;
        at += k->sizes.data[i]->most <= v->most;
    }
    tc_push(&k->sizes, v);
    for (size_t i = k->sizes.len - 1; i > at; i--)
        k->sizes.data[i] = k->sizes.data[i - 1];
    k->sizes.data[at] = v;
}

static void note_size(const tc_expr *e, void *user) {
    if (tc_expr_is_symbol(e))
        add_size(user, e->u.var);
}

static void find_sizes(limiter *k, int n, const tc_var *const *size) {
    for (int i = 0; i < n; i++)
        add_size(k, size[i]);
    for (int i = 0; i < k->w->ncompute; i++)
        for (int o = 0; o < k->w->computes[i]->nout; o++)
            tc_expr_walk(k->w->computes[i]->body[o], note_size, k);
}

/* ---- what is asked for ---- */

const tc_var tc_te_first = {.name = "first"};

const tc_var *tc_te_common_end(const tc_var *x, const tc_var *y) {
    if (x == y || (y == &tc_te_first && x && x->least > 0))
        return x;
    return x == &tc_te_first && y && y->least > 0 ? y : NULL;
}

static const tc_te_part *part_of(const limiter *k, const tc_tensor *t) {
    const uintptr_t *at = tc_map_get(&k->asked, t->id);
    return at ? (const tc_te_part *)*at : NULL;
}

static void ask(limiter *k, const tc_tensor *t, const tc_te_part *part) {
    tc_te_part *known = (tc_te_part *)(uintptr_t)part_of(k, t);
    if (!known) {
        tc_map_put(&k->asked, t->id, (uintptr_t)tc_arena_dup(tc_ctx_arena(k->c), part, sizeof *part));
        return;
    }
    for (int d = 0; d < t->ndim; d++)
        known->size[d] = tc_te_common_end(known->size[d], part->size[d]);
}

/* A dimension is no smaller than a size at which it ends. */
static bool fits(const tc_var *size, int64_t extent) {
    return size && size->most <= extent;
}

/* The first size that the index is always below. */
static const tc_var *end_of(const limiter *k, te_scan *s, const tc_expr *index, int64_t extent, te_ranges *r) {
    if (index->op == TC_OP_INT && index->u.i == 0)
        return &tc_te_first;
    for (size_t i = 0; i < k->sizes.len; i++)
        if (fits(k->sizes.data[i], extent) && te_scan_below(s, k->c, r, index, tc_varx(k->c, k->sizes.data[i])))
            return k->sizes.data[i];
    return NULL;
}

static bool visit_read(te_scan *s, const tc_expr *read, te_ranges *r) {
    limiter *k = s->user;
    tc_te_part part = {{0}};
    for (int d = 0; d < read->nargs; d++)
        part.size[d] = end_of(k, s, read->args[d], read->u.tensor->shape[d], r);
    ask(k, read->u.tensor, &part);
    return true;
}

/* ---- one compute ---- */

static tc_axis *ended(limiter *k, const tc_axis *axes, int n, const tc_var *const *size) {
    tc_axis *r = TC_NEW_N(tc_ctx_arena(k->c), tc_axis, n);
    for (int i = 0; i < n; i++) {
        r[i] = axes[i];
        if (r[i].symbol || !fits(size[i], axes[i].extent))
            continue;
        r[i].symbol = size[i];
        r[i].extent = size[i]->most;
    }
    return r;
}

/* The first size up to which there is something; NULL: there is none. */
static const tc_var *least_end(const limiter *k, int64_t extent) {
    for (size_t i = 0; i < k->sizes.len; i++)
        if (fits(k->sizes.data[i], extent) && k->sizes.data[i]->least > 0)
            return k->sizes.data[i];
    return NULL;
}

/* What is read of any of its results, of which some may be read by nobody; false: none is. */
static bool is_asked(const limiter *k, const tc_compute *op, tc_te_part *part) {
    bool any = false;
    for (int o = 0; o < op->nout; o++) {
        const tc_te_part *read = part_of(k, op->out[o]);
        for (int d = 0; read && d < op->naxis; d++)
            part->size[d] = any ? tc_te_common_end(read->size[d], part->size[d]) : read->size[d];
        any = any || read;
    }
    return any;
}

/* What conditions that never hold read: it stays as it is, and nothing is asked for it. */
static limited unread(const tc_compute *op) {
    limited l = {.axes = op->axes};
    for (int o = 0; o < op->nout; o++)
        l.body[o] = op->body[o];
    return l;
}

/* All readers of it were looked at. */
static void limit_compute(limiter *k, int number) {
    const tc_compute *op = k->w->computes[number];
    limited *l = &k->computes[number];
    tc_te_part part = {{0}};
    if (!is_asked(k, op, &part)) {
        *l = unread(op);
        return;
    }
    for (int d = 0; d < op->naxis; d++)
        part.size[d] = part.size[d] == &tc_te_first ? least_end(k, op->axes[d].extent) : part.size[d];
    l->axes = ended(k, op->axes, op->naxis, part.size);
    tc_env *env = tc_env_new();
    te_know_axes(env, k->c, l->axes, op->naxis);
    te_know_axes(env, k->c, op->raxes, op->nraxis);
    te_ranges r;
    te_ranges_init(&r, env);
    te_scan s = {.visit = visit_read, .op = op, .user = k, .work = &k->work};
    te_scan_know(&s, k->c, l->axes, op->naxis);
    te_scan_know(&s, k->c, op->raxes, op->nraxis);
    for (int o = 0; o < op->nout; o++) {
        l->body[o] = tc_te_simplify(k->c, op->body[o], env);
        te_scan_reads(&s, 1, &l->body[o], &r);
    }
    tc_vec_free(&s.known);
    tc_env_free(env);
}

static const tc_axis *ends_of(const limiter *k, const tc_tensor *t) {
    int i = 0;
    while (k->w->computes[i] != t->op)
        i++;
    return k->computes[i].axes;
}

/* ---- the new workload ---- */

static const tc_expr *renew(tc_ctx *c, const tc_expr *e, void *user) {
    const limiter *k = user;
    return e->op == TC_OP_READ ? tc_read(c, (const tc_tensor *)*tc_map_get(&k->tensors, e->u.tensor->id), e->nargs, e->args) : e;
}

static void rebuild_compute(limiter *k, int number) {
    const tc_compute *op = k->w->computes[number];
    const limited *l = &k->computes[number];
    const tc_expr *body[TC_MAX_OUTS];
    for (int o = 0; o < op->nout; o++)
        body[o] = tc_expr_map(k->c, l->body[o], renew, k);
    const tc_compute *made =
        tc_te_compute(k->c, op->name, op->naxis, l->axes, op->reducer, op->nraxis, op->raxes, op->nout, body);
    for (int o = 0; o < op->nout; o++)
        tc_map_put(&k->tensors, op->out[o]->id, (uintptr_t)made->out[o]);
}

static tc_status rebuild(limiter *k, const tc_te_part *have, const tc_workload **out, tc_error *err) {
    const tc_workload *w = k->w;
    tc_arena *a = tc_ctx_arena(k->c);
    const tc_tensor **in = TC_NEW_N(a, const tc_tensor *, w->nin), **outs = TC_NEW_N(a, const tc_tensor *, w->nout);
    for (int i = 0; i < w->nin; i++) {
        const tc_tensor *t = w->in[i];
        tc_te_part part = have[i];
        for (int d = 0; d < t->ndim; d++)
            part.size[d] = part.size[d] == &tc_te_first ? NULL : part.size[d];
        in[i] = tc_te_varying_placeholder(k->c, t->name, t->dtype, t->ndim, t->shape, part.size, t->is_const);
        tc_map_put(&k->tensors, t->id, (uintptr_t)in[i]);
    }
    for (int i = 0; i < w->ncompute; i++)
        rebuild_compute(k, i);
    for (int i = 0; i < w->nout; i++)
        outs[i] = (const tc_tensor *)*tc_map_get(&k->tensors, w->out[i]->id);
    tc_workload *made;
    TC_TRY(tc_te_workload(k->c, w->nin, in, w->nout, outs, &made, err));
    *out = made;
    return TC_OK;
}

tc_status tc_te_limit(tc_ctx *c, const tc_workload *w, int nsize, const tc_var *const *size, tc_te_part *asked,
                      const tc_te_part *have, const tc_workload **out, tc_te_part *read, tc_error *err) {
    limiter k = {.c = c, .w = w, .work = TC_PROOF_WORK, .computes = tc_xcalloc((size_t)w->ncompute, sizeof(limited))};
    find_sizes(&k, nsize, size);
    for (int o = 0; o < w->nout; o++)
        ask(&k, w->out[o], &asked[o]);
    for (int i = w->ncompute - 1; i >= 0; i--)
        limit_compute(&k, i);
    for (int i = 0; i < w->nin; i++) {
        const tc_te_part *part = part_of(&k, w->in[i]);
        read[i] = part ? *part : (tc_te_part){{0}};
    }
    for (int o = 0; o < w->nout; o++)
        for (int d = 0; d < w->out[o]->ndim; d++)
            asked[o].size[d] = ends_of(&k, w->out[o])[d].symbol;
    tc_status s = out ? rebuild(&k, have, out, err) : TC_OK;
    tc_vec_free(&k.sizes);
    tc_map_free(&k.asked);
    tc_map_free(&k.tensors);
    free(k.computes);
    return s;
}
