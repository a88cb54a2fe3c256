/* Packs constants for a packed parameter. In all layouts that searches make, each physical coordinate depends on one logical
 * coordinate. Such a layout becomes a table of offsets for each logical dimension, and packing only adds offsets. Other layouts
 * are evaluated element by element. */
#include <assert.h>
#include <string.h>

#include "support/vec.h"
#include "te/eval.h"
#include "tir_lower/build/build_int.h"

typedef struct packer {
    const tc_layout *layout;
    int64_t shape[TC_MAX_DIMS], stride[TC_MAX_DIMS]; /* logical extents; physical strides */
    int64_t *table[TC_MAX_DIMS];                     /* offset per coordinate; NULL: no tables */
    size_t bytes;
    const unsigned char *src;
    unsigned char *dst;
} packer;

static int64_t eval(const tc_layout *l, const tc_expr *e, const int64_t *at) {
    if (e->op == TC_OP_INT)
        return e->u.i;
    if (e->op == TC_OP_VAR) {
        for (int d = 0; d < l->nin; d++)
            if (l->var[d] == e->u.var)
                return at[d];
        return 0;
    }
    if (e->op == TC_OP_SELECT)
        return eval(l, e->args[eval(l, e->args[0], at) ? 1 : 2], at);
    int64_t a = eval(l, e->args[0], at), b = e->nargs > 1 ? eval(l, e->args[1], at) : 0;
    return tc_eval_i(e->op, e->args[0]->dtype, a, b);
}

/* The only logical dimension that e uses; -1: none, -2: several. */
static int only_dim(const tc_layout *l, const tc_expr *e) {
    int dim = -1;
    for (int d = 0; d < l->nin; d++)
        if (tc_expr_uses_var(e, l->var[d])) {
            if (dim >= 0)
                return -2;
            dim = d;
        }
    return dim;
}

static bool make_tables(packer *p) {
    const tc_layout *l = p->layout;
    for (int k = 0; k < l->nout; k++)
        if (only_dim(l, l->to[k]) == -2)
            return false;
    for (int d = 0; d < l->nin; d++)
        p->table[d] = tc_xcalloc((size_t)p->shape[d], sizeof *p->table[d]);
    for (int k = 0; k < l->nout; k++) {
        int d = TC_MAX(only_dim(l, l->to[k]), 0);
        for (int64_t i = 0, at[TC_MAX_DIMS] = {0}; i < p->shape[d]; i++) {
            at[d] = i;
            p->table[d][i] += p->stride[k] * eval(l, l->to[k], at);
        }
    }
    return true;
}

static int64_t offset_of(const packer *p, const int64_t *at) {
    int64_t off = 0;
    for (int k = 0; k < p->layout->nout; k++)
        off += p->stride[k] * eval(p->layout, p->layout->to[k], at);
    return off;
}

static void copy_tables(const packer *p, int dim, int64_t off, int64_t *from) {
    int last = p->layout->nin - 1;
    const int64_t *t = p->table[dim];
    if (dim < last) {
        for (int64_t i = 0; i < p->shape[dim]; i++)
            copy_tables(p, dim + 1, off + t[i], from);
        return;
    }
    const unsigned char *src = p->src + (size_t)*from * p->bytes;
    *from += p->shape[dim];
    if (p->bytes == 4) {
        for (int64_t i = 0; i < p->shape[dim]; i++)
            memcpy(p->dst + (off + t[i]) * 4, src + i * 4, 4);
        return;
    }
    for (int64_t i = 0; i < p->shape[dim]; i++)
        memcpy(p->dst + (size_t)(off + t[i]) * p->bytes, src + (size_t)i * p->bytes, p->bytes);
}

static void copy_slowly(const packer *p, int64_t n) {
    int64_t at[TC_MAX_DIMS] = {0};
    for (int64_t i = 0; i < n; i++) {
        memcpy(p->dst + (size_t)offset_of(p, at) * p->bytes, p->src + (size_t)i * p->bytes, p->bytes);
        for (int d = p->layout->nin - 1; d >= 0 && ++at[d] == p->shape[d]; d--)
            at[d] = 0;
    }
}

void tc_tir_pack(const tc_func *f, int param, const void *src, void *dst) {
    const tc_param *a = &f->params[param];
    assert(a->kind == TC_PARAM_PACKED && f->workload);
    const tc_tensor *t = f->workload->in[a->index];
    packer p = {.layout = a->layout, .bytes = (size_t)tc_dtype_bytes(t->dtype), .src = src, .dst = dst};
    memcpy(p.shape, t->shape, sizeof p.shape);
    int64_t ext[TC_MAX_DIMS], stride = 1;
    tir_layout_extents(a->layout, t->shape, ext);
    for (int k = a->layout->nout - 1; k >= 0; k--) {
        p.stride[k] = stride;
        stride *= ext[k];
    }
    assert(stride == a->buffer->size);
    memset(dst, 0, (size_t)a->buffer->size * p.bytes);
    int64_t from = 0;
    if (make_tables(&p))
        copy_tables(&p, 0, 0, &from);
    else
        copy_slowly(&p, tc_tensor_size(t));
    for (int d = 0; d < a->layout->nin; d++)
        free(p.table[d]);
}

/* ---- equal layouts ---- */

static int coordinate(const tc_layout *l, const tc_var *v) {
    int d = 0;
    while (d < l->nin && l->var[d] != v)
        d++;
    return d;
}

/* Layouts of two contexts share no expressions: their coordinates correspond by number. */
static bool same_expr(const tc_layout *l, const tc_expr *a, const tc_layout *m, const tc_expr *b) {
    if (a->op != b->op || a->nargs != b->nargs)
        return false;
    if (a->op == TC_OP_VAR)
        return coordinate(l, a->u.var) == coordinate(m, b->u.var);
    if (a->op == TC_OP_INT && a->u.i != b->u.i)
        return false;
    for (int i = 0; i < a->nargs; i++)
        if (!same_expr(l, a->args[i], m, b->args[i]))
            return false;
    return true;
}

bool tc_tir_orders_alike(const tc_func *f, int p, const tc_func *g, int q) {
    const tc_param *a = &f->params[p], *b = &g->params[q];
    assert(a->kind == TC_PARAM_PACKED && b->kind == TC_PARAM_PACKED);
    const tc_tensor *t = f->workload->in[a->index], *u = g->workload->in[b->index];
    const tc_layout *l = a->layout, *m = b->layout;
    bool same =
        tc_dtype_bytes(t->dtype) == tc_dtype_bytes(u->dtype) && t->ndim == u->ndim && l->nin == m->nin && l->nout == m->nout;
    for (int k = 0; k < l->nout && same; k++)
        same = same_expr(l, l->to[k], m, m->to[k]);
    return same;
}

bool tc_tir_packs_alike(const tc_func *f, int p, const tc_func *g, int q) {
    const tc_param *a = &f->params[p], *b = &g->params[q];
    bool same = tc_tir_orders_alike(f, p, g, q) && a->buffer->size == b->buffer->size;
    const tc_tensor *t = f->workload->in[a->index], *u = g->workload->in[b->index];
    for (int d = 0; same && d < t->ndim; d++)
        same = t->shape[d] == u->shape[d];
    return same;
}
