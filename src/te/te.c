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

const tc_tensor *tc_te_varying_placeholder(tc_ctx *c, const char *name, tc_dtype t, int ndim, const int64_t *shape,
                                           const tc_var *const *symbol, bool is_const) {
    tc_tensor *x = tensor_new(c, name, t, ndim);
    for (int d = 0; d < ndim; d++) {
        x->symbol[d] = symbol ? symbol[d] : NULL;
        x->shape[d] = x->symbol[d] ? x->symbol[d]->most : shape[d];
        assert(x->shape[d] >= 0);
    }
    x->is_const = is_const;
    return x;
}

const tc_tensor *tc_te_placeholder(tc_ctx *c, const char *name, tc_dtype t, int ndim, const int64_t *shape, bool is_const) {
    return tc_te_varying_placeholder(c, name, t, ndim, shape, NULL, is_const);
}

tc_axis tc_te_axis(tc_ctx *c, const char *name, int64_t extent) {
    assert(extent >= 0);
    return (tc_axis){.var = tc_var_new(c, name), .extent = extent};
}

tc_axis tc_te_varying_axis(tc_ctx *c, const char *name, const tc_var *symbol) {
    assert(symbol->is_symbol);
    return (tc_axis){.var = tc_var_new(c, name), .extent = symbol->most, .symbol = symbol};
}

tc_axis tc_te_axis_like(tc_ctx *c, const char *name, const tc_axis *like) {
    return like->symbol ? tc_te_varying_axis(c, name, like->symbol) : tc_te_axis(c, name, like->extent);
}

int64_t tc_tensor_size(const tc_tensor *t) {
    int64_t n = 1;
    for (int d = 0; d < t->ndim; d++)
        if (__builtin_mul_overflow(n, t->shape[d], &n))
            return INT64_MAX;
    return n;
}

/* ---- reducers ---- */

const te_reducer *te_reducer_of(tc_reducer r) {
    static const te_reducer ROWS[TC_NREDUCERS] = {
        [TC_RED_NONE] = {.text = "", .nout = 1},
#define REDUCER(id, text, op, nout, start) [TC_RED_##id] = {text, TC_OP_##op, nout, TE_START_##start},
#include "te/reducers.def"
#undef REDUCER
    };
    return &ROWS[r];
}

const char *tc_reducer_name(tc_reducer r) {
    return te_reducer_of(r)->text;
}

/* The largest or lowest value of a float type. Floats of a byte may lack infinities, or negative numbers. */
static double float_end(tc_dtype t, bool lowest) {
    const tc_float8 *f = tc_float8_of(t);
    if (lowest && f && !f->sign)
        return (double)tc_f8_to_f32(f, 0);
    double most = f && f->over >= f->nan ? (double)tc_f8_largest(f) : (double)INFINITY;
    return lowest ? -most : most;
}

te_number te_reducer_start(tc_reducer r, int o, tc_dtype t) {
    assert(r != TC_RED_NONE);
    bool is_float = tc_dtype_is_float(t);
    switch (o == 1 ? TE_START_HIGHEST : te_reducer_of(r)->start) { /* any real index is smaller */
    case TE_START_ZERO:
        return (te_number){.f = 0, .i = 0};
    case TE_START_ONE:
        return (te_number){.f = 1, .i = 1};
    case TE_START_LOWEST:
        return is_float ? (te_number){.f = float_end(t, true)} : (te_number){.i = tc_int_min(t)};
    case TE_START_HIGHEST:
        break;
    }
    return is_float ? (te_number){.f = float_end(t, false)} : (te_number){.i = t == TC_U64 ? -1 : tc_int_max(t)};
}

const tc_expr *tc_reducer_identity(tc_ctx *c, tc_reducer r, int o, tc_dtype t) {
    te_number v = te_reducer_start(r, o, t);
    return tc_dtype_is_float(t) ? tc_float(c, t, v.f) : tc_int(c, t, v.i);
}

void tc_reducer_combine(tc_ctx *c, tc_reducer r, const tc_expr *const *a, const tc_expr *const *b, const tc_expr **dst) {
    const te_reducer *row = te_reducer_of(r);
    assert(r != TC_RED_NONE);
    if (row->nout == 1) {
        dst[0] = tc_bin(c, row->op, a[0], b[0]);
        return;
    }
    /* b wins if it is better, or as good with the smaller index. NaN is better than every number, and as good as NaN. */
    const tc_expr *better = tc_bin(c, row->op, b[0], a[0]), *as_good = tc_bin(c, TC_OP_EQ, b[0], a[0]);
    if (tc_dtype_is_float(b[0]->dtype)) {
        const tc_expr *a_nan = tc_un(c, TC_OP_ISNAN, a[0]), *b_nan = tc_un(c, TC_OP_ISNAN, b[0]);
        better = tc_bin(c, TC_OP_OR, better, tc_bin(c, TC_OP_AND, b_nan, tc_un(c, TC_OP_NOT, a_nan)));
        as_good = tc_bin(c, TC_OP_OR, as_good, tc_bin(c, TC_OP_AND, b_nan, a_nan));
    }
    const tc_expr *tie = tc_bin(c, TC_OP_AND, as_good, tc_bin(c, TC_OP_LT, b[1], a[1]));
    const tc_expr *take_b = tc_bin(c, TC_OP_OR, better, tie), *v = tc_select(c, take_b, b[0], a[0]);
    dst[1] = tc_select(c, take_b, b[1], a[1]);
    dst[0] = v;
}

/* ---- computes ---- */

const tc_compute *tc_te_compute(tc_ctx *c, const char *name, int naxis, const tc_axis *axes, tc_reducer r, int nraxis,
                                const tc_axis *raxes, int nout, const tc_expr *const *body) {
    assert(naxis <= TC_MAX_DIMS && nout == te_reducer_of(r)->nout);
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
        for (int d = 0; d < naxis; d++) {
            t->shape[d] = axes[d].extent;
            t->symbol[d] = axes[d].symbol;
        }
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
