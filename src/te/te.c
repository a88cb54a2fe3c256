/* Tensors, axes, compute operations and reducers. */
#include "te/te_int.h"

#include <math.h>

static tc_tensor *tensor_new(tc_ctx *c, const char *name, tc_dtype t, int ndim) {
    assert(ndim >= 0 && ndim <= TC_MAX_DIMS);
    tc_tensor *x = TC_NEW(tc_ctx_arena(c), tc_tensor);
    x->name = tc_arena_strdup(tc_ctx_arena(c), name);
    x->id = tc_ctx_next_id(c);
    x->dtype = t;
    x->ndim = ndim;
    return x;
}

const tc_tensor *tc_te_placeholder(tc_ctx *c, const char *name, tc_dtype t, int ndim, const int64_t *shape, bool is_const) {
    tc_tensor *x = tensor_new(c, name, t, ndim);
    for (int d = 0; d < ndim; d++) {
        assert(shape[d] >= 1);
        x->shape[d] = shape[d];
    }
    x->is_const = is_const;
    return x;
}

tc_axis tc_te_axis(tc_ctx *c, const char *name, int64_t extent) {
    assert(extent >= 1);
    return (tc_axis){tc_var_new(c, name), extent};
}

int64_t tc_tensor_size(const tc_tensor *t) {
    int64_t n = 1;
    for (int d = 0; d < t->ndim; d++)
        if (__builtin_mul_overflow(n, t->shape[d], &n))
            return INT64_MAX;
    return n;
}

/* ---- reducers ---- */

const char *tc_reducer_name(tc_reducer r) {
    static const char *const NAMES[TC_NREDUCERS] = {
        [TC_RED_NONE] = "",   [TC_RED_SUM] = "sum",       [TC_RED_PROD] = "prod",     [TC_RED_MAX] = "max",
        [TC_RED_MIN] = "min", [TC_RED_ARGMAX] = "argmax", [TC_RED_ARGMIN] = "argmin",
    };
    return NAMES[r];
}

static bool is_arg(tc_reducer r) {
    return r == TC_RED_ARGMAX || r == TC_RED_ARGMIN;
}

const tc_expr *tc_reducer_identity(tc_ctx *c, tc_reducer r, int o, tc_dtype t) {
    assert(r != TC_RED_NONE);
    bool is_float = tc_dtype_is_float(t);
    if (o == 1) /* any real index is smaller */
        return is_float ? tc_float(c, t, (double)INFINITY) : tc_int(c, t, t == TC_U64 ? -1 : tc_int_max(t));
    if (r == TC_RED_SUM || r == TC_RED_PROD)
        return tc_imm(c, t, r == TC_RED_PROD ? 1 : 0);
    bool largest = r == TC_RED_MIN || r == TC_RED_ARGMIN;
    if (is_float)
        return tc_float(c, t, largest ? (double)INFINITY : -(double)INFINITY);
    return tc_int(c, t, !largest ? tc_int_min(t) : t == TC_U64 ? -1 : tc_int_max(t));
}

void tc_reducer_combine(tc_ctx *c, tc_reducer r, const tc_expr *const *a, const tc_expr *const *b, const tc_expr **dst) {
    static const tc_op OPS[TC_NREDUCERS] = {
        [TC_RED_SUM] = TC_OP_ADD, [TC_RED_PROD] = TC_OP_MUL, [TC_RED_MAX] = TC_OP_MAX, [TC_RED_MIN] = TC_OP_MIN};
    assert(r != TC_RED_NONE);
    if (!is_arg(r)) {
        dst[0] = tc_bin(c, OPS[r], a[0], b[0]);
        return;
    }
    /* b wins if it is better, or as good with the smaller index. */
    const tc_expr *better = tc_bin(c, r == TC_RED_ARGMAX ? TC_OP_GT : TC_OP_LT, b[0], a[0]);
    const tc_expr *tie = tc_bin(c, TC_OP_AND, tc_bin(c, TC_OP_EQ, b[0], a[0]), tc_bin(c, TC_OP_LT, b[1], a[1]));
    const tc_expr *take_b = tc_bin(c, TC_OP_OR, better, tie), *v = tc_select(c, take_b, b[0], a[0]);
    dst[1] = tc_select(c, take_b, b[1], a[1]);
    dst[0] = v;
}

/* ---- computes ---- */

const tc_compute *tc_te_compute(tc_ctx *c, const char *name, int naxis, const tc_axis *axes, tc_reducer r, int nraxis,
                                const tc_axis *raxes, int nout, const tc_expr *const *body) {
    assert(naxis <= TC_MAX_DIMS && nout == (is_arg(r) ? 2 : 1));
    assert((r == TC_RED_NONE) == (nraxis == 0));
    tc_arena *arena = tc_ctx_arena(c);
    tc_compute *op = TC_NEW(arena, tc_compute);
    op->name = tc_arena_strdup(arena, name);
    op->id = tc_ctx_next_id(c);
    op->naxis = naxis;
    op->nraxis = nraxis;
    op->axes = tc_arena_dup(arena, axes, (size_t)naxis * sizeof *axes);
    op->raxes = tc_arena_dup(arena, raxes, (size_t)nraxis * sizeof *raxes);
    op->reducer = r;
    op->nout = nout;
    for (int o = 0; o < nout; o++) {
        assert(body[o]->lanes == 1);
        tc_tensor *t = tensor_new(c, o ? tc_arena_printf(arena, "%s_index", name) : name, body[o]->dtype, naxis);
        for (int d = 0; d < naxis; d++)
            t->shape[d] = axes[d].extent;
        t->op = op;
        t->out = o;
        op->body[o] = body[o];
        op->out[o] = t;
    }
    return op;
}

void te_name_output(const tc_compute *op, int o, const char *name) {
    ((tc_tensor *)op->out[o])->name = name; /* made above, not const */
}
