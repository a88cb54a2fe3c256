/* A sum of products with bf16 operands and an f32 sum: what matrix units and dot product instructions take, and half the memory of
 * the weights.
 *
 *     compute C[..] = sum(..) X[..] * W[..]
 * =>
 *     compute X_bf16[..] = bf16(X[..])                          once for each element
 *     compute C[..]      = sum(..) f32(X_bf16[..]) * f32(W_bf16[..])
 *
 * W_bf16 is made once from the constant W. It is what automatic mixed precision does to the same operators: matmuls and
 * convolutions, while everything else stays in f32.
 *
 * Accuracy. Each operand is rounded to 8 bits, by at most 2^-9 of itself; a product is off by at most 2^-8 + 2^-18 of itself, and so
 * the sum by that share of the sum of the products' magnitudes, beside what the f32 sum rounds anyway. bf16 has the range of f32:
 * nothing overflows that did not before, but for values within 2^-9 of the largest f32, which become infinite. */
#include "search_space/alternatives/alternatives_int.h"

#include "te/index/affine.h"

enum { MAX_OPERANDS = 4 };

typedef struct rounding {
    tc_ctx *c;
    const tc_workload *w;
    int n; /* tensors of the data, and what stands for each */
    const tc_tensor *from[MAX_OPERANDS], *to[MAX_OPERANDS];
} rounding;

/* ---- recognising ---- */

/* Rounding each tensor rounds e: it picks among values, zero among them, and computes nothing. */
static bool picks(const tc_expr *e) {
    if (e->op == TC_OP_SELECT)
        return picks(e->args[1]) && picks(e->args[2]);
    return e->op == TC_OP_READ ? e->u.tensor->dtype == TC_F32 && !e->u.tensor->is_const : e->op == TC_OP_FLOAT && e->u.f == 0;
}

/* Operand i of the product is the weights, the other one the data. */
static bool is_product(const tc_workload *w, const tc_compute *op, int i) {
    const tc_expr *weights = op->body[0]->args[i];
    return weights->op == TC_OP_READ && weights->u.tensor->is_const && weights->dtype == TC_F32 &&
           picks(op->body[0]->args[1 - i]) && space_read_once(w, weights->u.tensor);
}

static bool is_candidate(const tc_compute *op) {
    return op->reducer == TC_RED_SUM && op->nout == 1 && op->body[0]->op == TC_OP_MUL && op->body[0]->dtype == TC_F32;
}

/* ---- writing ---- */

/* t in bf16: of another stage or placeholder. */
static const tc_tensor *rounded_stage(tc_ctx *c, const tc_tensor *t, const char *name) {
    tc_axis axes[TC_MAX_DIMS];
    const tc_expr *at[TC_MAX_DIMS];
    for (int i = 0; i < t->ndim; i++) {
        axes[i] = tc_te_axis(c, tc_arena_printf(tc_ctx_arena(c), "x%d", i), t->shape[i]);
        at[i] = tc_varx(c, axes[i].var);
    }
    const tc_expr *body = tc_cast(c, TC_BF16, tc_read(c, t, t->ndim, at));
    return tc_te_compute(c, name, t->ndim, axes, TC_RED_NONE, 0, NULL, 1, &body)->out[0];
}

static const char *rounded_name(tc_ctx *c, const tc_tensor *t) {
    return tc_arena_printf(tc_ctx_arena(c), "%s_bf16", t->name);
}

static const tc_tensor *rounded(rounding *r, const tc_tensor *t) {
    for (int i = 0; i < r->n; i++)
        if (r->from[i] == t)
            return r->to[i];
    if (r->n == MAX_OPERANDS)
        return NULL;
    r->from[r->n] = t;
    return r->to[r->n++] = rounded_stage(r->c, t, rounded_name(r->c, t));
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

static const tc_workload *rounded_weights(tc_ctx *c, const tc_tensor *w) {
    const tc_tensor *in = tc_te_placeholder(c, "W", TC_F32, w->ndim, w->shape, true), *out = rounded_stage(c, in, "W_bf16");
    tc_workload *made;
    return tc_te_workload(c, 1, &in, 1, &out, &made, NULL) == TC_OK ? made : NULL;
}

bool space_bf16(tc_ctx *c, const tc_workload *w, const tc_compute *op, int parameter, space_replacement *out) {
    (void)parameter;
    if (!is_candidate(op) || (!is_product(w, op, 0) && !is_product(w, op, 1)))
        return false;
    int i = is_product(w, op, 1);
    const tc_expr *read = op->body[0]->args[i], *factor[2];
    const tc_tensor *weights = read->u.tensor;
    rounding r = {.c = c, .w = w};
    const tc_tensor *made = tc_te_placeholder(c, rounded_name(c, weights), TC_BF16, weights->ndim, weights->shape, true);
    factor[i] = tc_cast(c, TC_F32, tc_read(c, made, read->nargs, read->args));
    factor[1 - i] = rounded_data(&r, op->body[0]->args[1 - i]);
    if (!factor[1 - i])
        return false;
    const tc_expr *body = tc_mul(c, factor[0], factor[1]);
    *out = (space_replacement){
        .result = tc_te_compute(c, op->name, op->naxis, op->axes, TC_RED_SUM, op->nraxis, op->raxes, 1, &body)->out[0],
        .constant = weights,
        .made = made,
        .prologue = rounded_weights(c, weights)};
    return out->prologue != NULL;
}
