/* The canonical form of a workload, and the hash that keys its records. Only names change: order and structure are canonical
 * already (workload.c, expr.c). */
#include "te/te_int.h"

#include "support/map.h"

/* Part of every hash. Raise it when the printed form of an old workload changes: old records are then migrated, not mistaken. */
#define FORMAT "te 1\n"

typedef struct copier {
    tc_map tensors;   /* id -> the copy */
    tc_map variables; /* id -> the copy's expression */
} copier;

/* The copy of e in c: every node is made again, since c need not be related to the context that owns e. */
static const tc_expr *import(tc_ctx *c, const tc_expr *e, copier *k, tc_map *done) {
    const uintptr_t *known = tc_map_get(done, e->id);
    if (known)
        return (const tc_expr *)*known;
    const tc_expr *args[TC_MAX_DIMS], *r;
    for (int i = 0; i < e->nargs; i++)
        args[i] = import(c, e->args[i], k, done);
    if (e->op == TC_OP_INT)
        r = tc_int(c, e->dtype, e->u.i);
    else if (e->op == TC_OP_FLOAT)
        r = tc_float(c, e->dtype, e->u.f);
    else if (e->op == TC_OP_READ)
        r = tc_read(c, (const tc_tensor *)*tc_map_get(&k->tensors, e->u.tensor->id), e->nargs, args);
    else if (e->op == TC_OP_VAR)
        r = (const tc_expr *)*tc_map_get(&k->variables, e->u.var->id);
    else
        r = tc_with_args(c, e, args);
    tc_map_put(done, e->id, (uintptr_t)r);
    return r;
}

static tc_axis *copy_axes(tc_ctx *c, copier *k, const char *prefix, int n, const tc_axis *axes) {
    tc_axis *copy = TC_NEW_N(tc_ctx_arena(c), tc_axis, n);
    for (int i = 0; i < n; i++) {
        copy[i] = tc_te_axis(c, tc_arena_printf(tc_ctx_arena(c), "%s%d", prefix, i), axes[i].extent);
        tc_map_put(&k->variables, axes[i].var->id, (uintptr_t)tc_varx(c, copy[i].var));
    }
    return copy;
}

static void copy_compute(tc_ctx *c, copier *k, const tc_compute *op, int number) {
    const tc_axis *axes = copy_axes(c, k, "i", op->naxis, op->axes), *raxes = copy_axes(c, k, "k", op->nraxis, op->raxes);
    const tc_expr *body[TC_MAX_OUTS];
    tc_map done = {0};
    for (int o = 0; o < op->nout; o++)
        body[o] = import(c, op->body[o], k, &done);
    tc_map_free(&done);
    const char *name = tc_arena_printf(tc_ctx_arena(c), "t%d", number);
    const tc_compute *copy = tc_te_compute(c, name, op->naxis, axes, op->reducer, op->nraxis, raxes, op->nout, body);
    for (int o = 0; o < op->nout; o++) {
        if (o)
            te_name_output(copy, o, tc_arena_printf(tc_ctx_arena(c), "t%d_%d", number, o));
        tc_map_put(&k->tensors, op->out[o]->id, (uintptr_t)copy->out[o]);
    }
}

const tc_workload *tc_te_canonical(tc_ctx *c, const tc_workload *w) {
    copier k = {0};
    tc_arena *a = tc_ctx_arena(c);
    const tc_tensor **in = TC_NEW_N(a, const tc_tensor *, w->nin), **out = TC_NEW_N(a, const tc_tensor *, w->nout);
    for (int i = 0; i < w->nin; i++) {
        const tc_tensor *t = w->in[i];
        in[i] = tc_te_placeholder(c, tc_arena_printf(a, "p%d", i), t->dtype, t->ndim, t->shape, t->is_const);
        tc_map_put(&k.tensors, t->id, (uintptr_t)in[i]);
    }
    for (int i = 0; i < w->ncompute; i++)
        copy_compute(c, &k, w->computes[i], i);
    for (int i = 0; i < w->nout; i++)
        out[i] = (const tc_tensor *)*tc_map_get(&k.tensors, w->out[i]->id);
    tc_workload *copy;
    tc_error err = {0};
    tc_status s = tc_te_workload(c, w->nin, in, w->nout, out, &copy, &err);
    assert(s == TC_OK || tc_ran_out()); /* only names differ from a workload that was checked */
    tc_map_free(&k.tensors);
    tc_map_free(&k.variables);
    return s == TC_OK ? copy : w;
}

tc_digest tc_te_hash(const tc_workload *w) {
    tc_strbuf text = {0};
    tc_sb_add(&text, FORMAT);
    te_print(&text, w, true);
    tc_digest d = tc_digest_of(text.data, text.len);
    tc_strbuf_free(&text);
    return d;
}
