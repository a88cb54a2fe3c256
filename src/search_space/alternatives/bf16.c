/* A sum of products with bf16 operands and an f32 sum. Matrix units and dot product instructions take these types, and the weights
 * need half the memory.
 *
 *     compute C[..] = sum(..) X[..] * W[..]
 * =>
 *     compute C_left[..]  = bf16(X[..])                         once for each element
 *     compute C_right[..] = bf16(W[..])
 *     compute C[..]       = sum(..) f32(C_left[..]) * f32(C_right[..])
 *
 * A constant W is rounded once, when the model is built, and replaces C_right. An operand may be any expression that depends on
 * some of the loops only, and has no more values than it reads: attention's probabilities, a head's part of a projection. Automatic
 * mixed precision does the same: it rounds the operands of matmuls and convolutions, and everything else stays in f32.
 *
 * Accuracy. Rounding to 8 bits changes an operand by at most 2^-9 of itself. So a product is off by at most 2^-8 + 2^-18 of itself.
 * The sum is off by at most this share of the sum of the products' magnitudes, besides the rounding of the f32 sum. bf16 has the
 * range of f32: only values within 2^-9 of the largest f32 newly become infinite. */
#include "search_space/alternatives/alternatives_int.h"

#include <string.h>

#include "te/index/affine.h"

enum { MAX_OPERANDS = 4 };

typedef struct rounding {
    tc_ctx *c;
    const tc_workload *w;
    const tc_compute *op;
    int n; /* tensors of the data, and what stands for each */
    const tc_tensor *from[MAX_OPERANDS], *to[MAX_OPERANDS];
} rounding;

static const char *name_after(tc_ctx *c, const char *what, const char *of) {
    return tc_arena_printf(tc_ctx_arena(c), "%s_%s_bf16", what, of);
}

/* ---- recognising ---- */

/* Rounding each tensor rounds e: it picks among values, zero among them, and computes nothing. */
static bool picks(const tc_expr *e) {
    if (e->op == TC_OP_SELECT)
        return picks(e->args[1]) && picks(e->args[2]);
    return e->op == TC_OP_READ ? e->u.tensor->dtype == TC_F32 && !e->u.tensor->is_const : e->op == TC_OP_FLOAT && e->u.f == 0;
}

static bool is_candidate(const tc_compute *op) {
    return op->reducer == TC_RED_SUM && op->nout == 1 && op->body[0]->op == TC_OP_MUL && op->body[0]->dtype == TC_F32;
}

/* The factor is weights that are rounded once. */
static bool is_weights(const tc_workload *w, const tc_expr *e) {
    return e->op == TC_OP_READ && e->u.tensor->is_const && space_read_once(w, e->u.tensor);
}

/* Steps of some axis use the factor's values again. */
static bool is_reused(const tc_compute *op, const tc_expr *e) {
    for (int i = 0; i < op->naxis; i++)
        if (op->axes[i].extent > 1 && !tc_expr_uses_var(e, op->axes[i].var))
            return true;
    return false;
}

typedef struct reads {
    int64_t largest;
    bool constant;
} reads;

static void note_read(const tc_expr *e, void *user) {
    reads *r = user;
    if (e->op != TC_OP_READ)
        return;
    r->largest = TC_MAX(r->largest, tc_tensor_size(e->u.tensor));
    r->constant |= e->u.tensor->is_const;
}

/* The loops that move a factor. */
typedef struct domain {
    int n;
    const tc_axis *axis[2 * TC_MAX_DIMS];
    int64_t size;
} domain;

typedef struct ordering {
    const tc_compute *op;
    domain *d;
} ordering;

static bool in_domain(const domain *d, const tc_axis *a) {
    for (int i = 0; i < d->n; i++)
        if (d->axis[i] == a)
            return true;
    return false;
}

static void add_axis(domain *d, const tc_axis *a) {
    if (in_domain(d, a))
        return;
    d->axis[d->n++] = a;
    d->size *= a->extent;
}

static void add_var(const tc_expr *e, void *user) {
    ordering *o = user;
    for (int i = 0; i < o->op->naxis && e->op == TC_OP_VAR; i++)
        if (o->op->axes[i].var == e->u.var)
            add_axis(o->d, &o->op->axes[i]);
    for (int i = 0; i < o->op->nraxis && e->op == TC_OP_VAR; i++)
        if (o->op->raxes[i].var == e->u.var)
            add_axis(o->d, &o->op->raxes[i]);
}

/* Those that move the other factor too come first. Of a factor that the last axis does not move the reductions come last, so
 * that a unit finds their steps side by side; the other one keeps the order in which it is read. */
static domain domain_of(const tc_compute *op, const tc_expr *e, const tc_expr *other) {
    domain d = {.size = 1};
    for (int i = 0; i < op->naxis; i++)
        if (tc_expr_uses_var(e, op->axes[i].var) && tc_expr_uses_var(other, op->axes[i].var))
            add_axis(&d, &op->axes[i]);
    bool rows = op->naxis == 0 || !tc_expr_uses_var(e, op->axes[op->naxis - 1].var);
    for (int i = 0; i < op->naxis && rows; i++)
        if (tc_expr_uses_var(e, op->axes[i].var))
            add_axis(&d, &op->axes[i]);
    for (int i = 0; i < op->nraxis && rows; i++)
        if (tc_expr_uses_var(e, op->raxes[i].var))
            add_axis(&d, &op->raxes[i]);
    tc_expr_walk(e, add_var, &(ordering){op, &d});
    return d;
}

/* The factor has fewer values than the sum has products, and no more than it reads: rounding them once is less work. */
static bool is_compact(const tc_compute *op, const tc_expr *e, const domain *d) {
    reads r = {0};
    tc_expr_walk(e, note_read, &r);
    return d->n < op->naxis + op->nraxis && d->n > 0 && d->n <= TC_MAX_DIMS && !r.constant && d->size <= r.largest;
}

/* ---- writing ---- */

/* t in bf16: of another stage or placeholder. */
static const tc_tensor *rounded_stage(tc_ctx *c, const tc_tensor *t, const char *name) {
    tc_axis axes[TC_MAX_DIMS];
    const tc_expr *at[TC_MAX_DIMS];
    for (int i = 0; i < t->ndim; i++) {
        const char *x = tc_arena_printf(tc_ctx_arena(c), "x%d", i);
        axes[i] = t->symbol[i] ? tc_te_varying_axis(c, x, t->symbol[i]) : tc_te_axis(c, x, t->shape[i]);
        at[i] = tc_varx(c, axes[i].var);
    }
    const tc_expr *body = tc_cast(c, TC_BF16, tc_read(c, t, t->ndim, at));
    return tc_te_compute(c, name, t->ndim, axes, TC_RED_NONE, 0, NULL, 1, &body)->out[0];
}

static const tc_tensor *rounded(rounding *r, const tc_tensor *t) {
    for (int i = 0; i < r->n; i++)
        if (r->from[i] == t)
            return r->to[i];
    if (r->n == MAX_OPERANDS)
        return NULL;
    r->from[r->n] = t;
    return r->to[r->n++] = rounded_stage(r->c, t, name_after(r->c, r->op->name, t->name));
}

/* The data with each tensor's values rounded; NULL: of too many tensors. */
static const tc_expr *rounded_data(rounding *r, const tc_expr *e) {
    if (e->op == TC_OP_READ) {
        const tc_tensor *t = rounded(r, e->u.tensor);
        return t ? tc_cast(r->c, TC_F32, tc_read(r->c, t, e->nargs, e->args)) : NULL;
    }
    if (e->op != TC_OP_SELECT)
        return e;
    const tc_expr *then = rounded_data(r, e->args[1]), *otherwise = rounded_data(r, e->args[2]);
    return then && otherwise ? tc_select(r->c, e->args[0], then, otherwise) : NULL;
}

/* A stage with all values of the factor. */
static const tc_expr *rounded_values(rounding *r, const tc_expr *e, const domain *d, const char *name) {
    tc_axis axes[TC_MAX_DIMS];
    const tc_var *from[TC_MAX_DIMS];
    const tc_expr *to[TC_MAX_DIMS], *at[TC_MAX_DIMS];
    for (int i = 0; i < d->n; i++) {
        axes[i] = tc_te_axis_like(r->c, tc_arena_printf(tc_ctx_arena(r->c), "x%d", i), d->axis[i]);
        from[i] = d->axis[i]->var;
        to[i] = tc_varx(r->c, axes[i].var);
        at[i] = tc_varx(r->c, from[i]);
    }
    const tc_expr *body = tc_cast(r->c, TC_BF16, tc_expr_subst(r->c, e, d->n, from, to));
    const tc_compute *op = tc_te_compute(r->c, name, d->n, axes, TC_RED_NONE, 0, NULL, 1, &body);
    return tc_cast(r->c, TC_F32, tc_read(r->c, op->out[0], d->n, at));
}

/* Factor `side` of the product; NULL: it cannot be rounded once for all products. */
static const tc_expr *rounded_factor(rounding *r, int side) {
    const tc_expr *e = r->op->body[0]->args[side], *other = r->op->body[0]->args[1 - side];
    domain d = domain_of(r->op, e, other);
    if (e->dtype == TC_F32 && is_compact(r->op, e, &d))
        return rounded_values(r, e, &d, name_after(r->c, r->op->name, side ? "right" : "left"));
    return picks(e) ? rounded_data(r, e) : NULL;
}

static const tc_workload *rounded_weights(tc_ctx *c, const tc_tensor *w) {
    const tc_tensor *in = tc_te_placeholder(c, "W", TC_F32, w->ndim, w->shape, true), *out = rounded_stage(c, in, "W_bf16");
    tc_workload *made;
    return tc_te_workload(c, 1, &in, 1, &out, &made, NULL) == TC_OK ? made : NULL;
}

/* The weights' place is taken by a constant of their values in bf16. */
static const tc_expr *made_weights(rounding *r, const tc_expr *read, space_replacement *out) {
    out->constant = read->u.tensor;
    out->made = tc_te_placeholder(r->c, tc_arena_printf(tc_ctx_arena(r->c), "%s_bf16", read->u.tensor->name), TC_BF16,
                                  read->u.tensor->ndim, read->u.tensor->shape, true);
    out->prologue = rounded_weights(r->c, read->u.tensor);
    return out->prologue ? tc_cast(r->c, TC_F32, tc_read(r->c, out->made, read->nargs, read->args)) : NULL;
}

bool space_bf16(tc_ctx *c, const tc_workload *w, const tc_compute *op, int parameter, space_replacement *out) {
    (void)parameter;
    *out = (space_replacement){.products = 1};
    if (!is_candidate(op))
        return false;
    rounding r = {.c = c, .w = w, .op = op};
    const tc_expr *factor[2];
    for (int i = 0; i < 2; i++) {
        const tc_expr *e = op->body[0]->args[i];
        factor[i] = !out->constant && is_weights(w, e) ? made_weights(&r, e, out) : rounded_factor(&r, i);
        if (!factor[i])
            return false;
    }
    if (!out->constant && (!is_reused(op, op->body[0]->args[0]) || !is_reused(op, op->body[0]->args[1])))
        return false; /* rounding would take as long as the products */
    const tc_expr *body = tc_mul(c, factor[0], factor[1]);
    out->result = tc_te_compute(c, op->name, op->naxis, op->axes, TC_RED_SUM, op->nraxis, op->raxes, 1, &body)->out[0];
    return true;
}
