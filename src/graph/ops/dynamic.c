/* Sizes that depend on data: which of the operator table's functions are asked, and what these are made of. See dynamic.h. */
#include "graph/ops/functions.h"

#include "graph/ir/sizes.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

bool tc_graph_is_dynamic(const tc_graph_value *v) {
    for (int d = 0; v && v->extent && d < v->shape.ndim; d++)
        if (v->extent[d])
            return true;
    return false;
}

/* "--shape n=N --shape m=N" with the symbols that a size is made of. NULL: it depends on data, or on nothing. */
static const char *symbols_of(tc_graph_infer_ctx *c, const tc_graph_value *v, int d) {
    tc_graph_emitter e = {c, TC_OK};
    const tc_graph_sizes *s = tc_graph_sizes_of(c->g);
    const tc_expr *x = tc_graph_size_number(&e, v, d);
    const char *text = NULL;
    if (tc_expr_any(x, tc_graph_sizes_is_other_variable, s))
        return NULL;
    for (size_t i = 0; i < s->symbols.len; i++)
        if (tc_expr_uses_var(x, s->symbols.data[i].var))
            text = tc_arena_printf(c->g->arena, "%s%s--shape %s=N", text ? text : "", text ? " " : "", s->symbols.data[i].name);
    return text;
}

tc_status tc_graph_dynamic_refuse(tc_graph_infer_ctx *c, int k, int d) {
    const tc_graph_value *v = c->n->in[k];
    while (d < v->shape.ndim - 1 && !tc_graph_extent(v, d))
        d++;
    const char *how = tc_graph_extent(v, d) ? symbols_of(c, v, d) : NULL;
    if (how)
        return tc_graph_node_refuse(
            c, TC_ERROR_DATA_DEPENDENT,
            "dimension %d of input %d ('%s') varies (at most %lld), but this operator needs its size to be "
            "known when the model is imported; give a single one with %s",
            d, k, v->name, (long long)v->shape.d[d], how);
    return tc_graph_node_refuse(
        c, TC_ERROR_DATA_DEPENDENT,
        "dimension %d of input %d ('%s') depends on data (at most %lld); this operator needs its size to be "
        "known when the model is imported, data-dependent sizes are not supported there",
        d, k, v->name, (long long)v->shape.d[d]);
}

static void set_extent(tc_graph *g, tc_graph_value *v, int d, tc_graph_value *size) {
    if (!v->extent)
        v->extent = TC_NEW_N(g->arena, tc_graph_value *, TC_GRAPH_MAX_DIMS);
    v->extent[d] = size;
}

/* The first n along dimension d. */
static tc_graph_value *cut(tc_graph_emitter *e, tc_graph_value *v, int d, int64_t n) {
    tc_graph_value **old = v->extent, *r;
    if (n == v->shape.d[d])
        return v;
    v->extent = NULL; /* a plain slice of memory */
    r = tc_graph_em_slice(e, v, d, 0, TC_MAX(n, 0), 1);
    v->extent = old;
    for (int i = 0; old && i < v->shape.ndim && e->status == TC_OK; i++)
        if (old[i] && i != d)
            set_extent(e->c->g, r, i, old[i]);
    return r;
}

tc_graph_value *tc_graph_em_sized(tc_graph_emitter *e, tc_graph_value *v, int d, tc_graph_value *size) {
    if (e->status != TC_OK)
        return v;
    tc_graph_number n = tc_graph_em_known(e, size);
    if (n.constant)
        return cut(e, v, d, n.most);
    tc_graph_sizes *s = tc_graph_sizes_of(e->c->g);
    v = cut(e, v, d, TC_MIN(tc_graph_sizes_limit_of(s, n.x), v->shape.d[d]));
    if (e->status != TC_OK)
        return v;
    tc_graph_sizes_limit(s, n.value, n.x, v->shape.d[d]);
    set_extent(e->c->g, v, d, n.value);
    return v;
}

tc_graph_value *tc_graph_em_size(tc_graph_emitter *e, const tc_graph_value *v, int d) {
    tc_graph_value *x = tc_graph_extent(v, d);
    return x ? x : tc_graph_em_ints(e, TC_I64, &(tc_graph_shape){0}, &v->shape.d[d]);
}

tc_graph_value *tc_graph_em_count(tc_graph_emitter *e, const tc_graph_value *x, const bool *marked) {
    tc_graph_value *n = NULL;
    int64_t fixed = 1;
    for (int d = 0; d < x->shape.ndim; d++) {
        tc_graph_value *size = marked[d] ? tc_graph_extent(x, d) : NULL;
        if (size)
            n = n ? em_mul(e, n, size) : size;
        else if (marked[d])
            fixed *= x->shape.d[d];
    }
    return n && fixed != 1 ? em_mul(e, n, tc_graph_em_number(e, fixed)) : n;
}

tc_graph_value *tc_graph_em_number(tc_graph_emitter *e, int64_t v) {
    return tc_graph_em_ints(e, TC_I64, &(tc_graph_shape){0}, &v);
}

tc_graph_value *tc_graph_em_blind(tc_graph_emitter *e, tc_graph_value *v) {
    if (!tc_graph_is_dynamic(v))
        return v;
    tc_graph_value *r = em_unary(e, TC_GRAPH_OP_IDENTITY, v);
    r->extent = NULL;
    return r;
}

tc_graph_value *tc_graph_em_iota(tc_graph_emitter *e, int64_t n, int d, int ndim) {
    tc_graph_shape s = {.ndim = ndim};
    for (int i = 0; i < ndim; i++)
        s.d[i] = i == d ? n : 1;
    if (e->status == TC_OK)
        e->status = tc_graph_want_table(e->c, (double)n);
    int64_t *v = tc_xcalloc(e->status == TC_OK ? (size_t)n + 1 : 1, sizeof *v);
    for (int64_t i = 0; i < n && e->status == TC_OK; i++)
        v[i] = i;
    tc_graph_value *r = tc_graph_em_ints(e, TC_I64, &s, v);
    free(v);
    return r;
}

tc_graph_value *tc_graph_em_masked(tc_graph_emitter *e, tc_graph_value *v, int d, tc_graph_value *fill) {
    tc_graph_value *r = tc_graph_em_blind(e, v);
    for (int i = 0; i < v->shape.ndim && v->extent; i++) {
        if (!v->extent[i] || (d >= 0 && i != d))
            continue;
        tc_graph_node *n = tc_graph_em_node(e, TC_GRAPH_OP_MASKED, (tc_graph_value *[]){r, v->extent[i], fill}, 3);
        tc_graph_set_axis(e->c->g, n, i);
        r = tc_graph_em_place(e, n);
    }
    for (int i = 0; i < v->shape.ndim && v->extent && e->status == TC_OK; i++)
        if (v->extent[i])
            set_extent(e->c->g, r, i, v->extent[i]);
    return r;
}

tc_graph_value *tc_graph_em_pick(tc_graph_emitter *e, tc_graph_value *x, int axis, tc_graph_value *index) {
    int64_t zero = 0, last = TC_MAX(x->shape.d[axis] - 1, 0);
    index = em_min(e, index, tc_graph_em_ints(e, TC_I64, &(tc_graph_shape){0}, &last));
    index = em_max(e, index, tc_graph_em_ints(e, TC_I64, &(tc_graph_shape){0}, &zero));
    return tc_graph_em_gather(e, TC_GRAPH_OP_GATHER, tc_graph_em_blind(e, x), index, axis);
}

/* The number that is `fill` in t, which is no floating point; all bits are kept. */
static int64_t whole_fill(tc_dtype t, tc_graph_fill fill) {
    int bits = 8 * tc_dtype_bytes(t);
    bool high = fill == TC_GRAPH_HIGHEST;
    if (fill == TC_GRAPH_ZERO || fill == TC_GRAPH_ONE)
        return fill == TC_GRAPH_ONE;
    if (t != TC_BOOL && tc_dtype_is_signed(t))
        return high ? INT64_MAX >> (64 - bits) : INT64_MIN >> (64 - bits);
    return !high ? 0 : t == TC_BOOL ? 1 : -1;
}

static double float_fill(tc_graph_fill fill) {
    static const double fills[] = {
        [TC_GRAPH_ZERO] = 0, [TC_GRAPH_ONE] = 1, [TC_GRAPH_LOWEST] = -INFINITY, [TC_GRAPH_HIGHEST] = INFINITY};
    return fills[fill];
}

tc_graph_value *tc_graph_em_fill(tc_graph_emitter *e, tc_dtype t, tc_graph_fill fill) {
    if (tc_dtype_is_float(t))
        return tc_graph_em_scalar(e, t, float_fill(fill));
    return tc_graph_em_ints(e, t, &(tc_graph_shape){0}, &(int64_t){whole_fill(t, fill)});
}

bool tc_graph_is_fill(const tc_graph_value *v, tc_graph_fill fill) {
    const tc_graph_tensor *x = v->constant;
    if (x && tc_dtype_is_float(x->dtype))
        return tc_load_f(x->dtype, x->data, 0) == float_fill(fill);
    int64_t want = 0;
    if (x)
        tc_store_i(x->dtype, &want, 0, whole_fill(x->dtype, fill));
    return x && memcmp(x->data, &want, (size_t)tc_dtype_bytes(x->dtype)) == 0;
}

void tc_graph_em_place_all(tc_graph_emitter *e, tc_graph_node *n, tc_graph_value **v, int nout) {
    tc_graph *g = e->c->g;
    const char **names = TC_NEW_N(g->arena, const char *, nout);
    for (int k = 0; k < nout; k++)
        names[k] = tc_graph_fresh_name(g, tc_arena_printf(g->arena, "%s.%d", n->name, k));
    if (e->status == TC_OK)
        e->status = tc_graph_place(g, n, names, nout, TC_GRAPH_OPSET_MAX, e->c->err);
    for (int k = 0; k < nout; k++)
        v[k] = e->status == TC_OK ? tc_graph_find_value(g, names[k]) : tc_graph_em_scalar(e, TC_I64, 0);
}

tc_graph_value *tc_graph_em_either(tc_graph_emitter *e, tc_graph_value *cond, tc_graph_value *a, tc_graph_value *b) {
    tc_graph_value *r = tc_graph_em_where(e, cond, tc_graph_em_blind(e, a), tc_graph_em_blind(e, b));
    for (int d = 0; d < a->shape.ndim; d++)
        if (tc_graph_extent(a, d) || tc_graph_extent(b, d))
            r = tc_graph_em_sized(e, r, d, tc_graph_em_where(e, cond, tc_graph_em_size(e, a, d), tc_graph_em_size(e, b, d)));
    return r;
}

tc_graph_value *tc_graph_em_with_sizes(tc_graph_emitter *e, tc_graph_value *y, const tc_graph_value *x, int d,
                                       tc_graph_value *size) {
    for (int i = 0; i < x->shape.ndim && i < y->shape.ndim; i++)
        if (i == d ? size != NULL : tc_graph_extent(x, i) != NULL)
            y = tc_graph_em_sized(e, y, i, i == d ? size : tc_graph_extent(x, i));
    return y;
}

tc_graph_node *tc_graph_em_copy(tc_graph_emitter *e, tc_graph_value *const *in, int nin) {
    const tc_graph_node *n = e->c->n;
    tc_graph_node *copy = tc_graph_em_node(e, n->op, in, nin);
    copy->attrs = tc_arena_dup(e->c->g->arena, n->attrs, n->nattrs * sizeof *n->attrs);
    copy->nattrs = copy->cap_attrs = n->nattrs;
    return copy;
}

void tc_graph_add_sizes(tc_graph *g) {
    size_t n = g->outputs.len;
    for (size_t i = 0; i < n; i++)
        for (int d = 0; d < g->outputs.data[i].value->shape.ndim; d++) {
            tc_graph_value *x = tc_graph_extent(g->outputs.data[i].value, d);
            if (!x)
                continue;
            g->outputs.data[i].extent[d] = (int)g->outputs.len;
            tc_graph_add_output(g, tc_arena_printf(g->arena, "%s.shape[%d]", g->outputs.data[i].name, d), x);
            g->nsizes++;
        }
}

/* ---- what the operator table names ---- */

/* The first operand of n of such a size; n->nin: there is none. */
static int first_dynamic(const tc_graph_node *n) {
    int k = 0;
    while (k < n->nin && !tc_graph_is_dynamic(n->in[k]))
        k++;
    return k;
}

tc_status tc_graph_rewrite_none(tc_graph_emitter *e) {
    return tc_graph_dynamic_refuse(e->c, first_dynamic(e->c->n), 0);
}

/* The operator becomes others for which it holds, or handles such operands itself. */
tc_status tc_graph_rewrite_keep(tc_graph_emitter *e) {
    return e->status;
}

/* Is the shape computed from such sizes, whatever the other operands are? */
static bool has_computed_shape(const tc_graph_node *n) {
    bool all = tc_graph_op_is(n->op, TC_GRAPH_ALL_NUMBERS);
    int from = all ? 0 : tc_graph_op_is(n->op, TC_GRAPH_TAKES_NUMBERS) ? 1 : n->nin;
    for (int k = from; k < n->nin; k++)
        if (n->in[k] && !n->in[k]->constant && (all || tc_dtype_is_int(n->in[k]->dtype)))
            return true;
    return false;
}

tc_status tc_graph_dynamic_rewrite(tc_graph_infer_ctx *c) {
    tc_graph_emitter e = {c, TC_OK};
    const tc_graph_functions *f = tc_graph_functions_of(c->n->op);
    if (f->rewrite == tc_graph_rewrite_always || has_computed_shape(c->n))
        return f->rewrite(&e);
    if (first_dynamic(c->n) == c->n->nin)
        return TC_OK;
    return tc_graph_op_is(c->n->op, TC_GRAPH_ALL_NUMBERS) ? tc_graph_rewrite_none(&e) : f->rewrite(&e);
}

/* ---- what the families share ---- */

tc_status tc_graph_dynamic_list(tc_graph_emitter *e, int k, tc_graph_attr_id id, tc_graph_number *out, int64_t *n) {
    size_t len;
    const int64_t *attr = tc_graph_attr_ints(e->c->n, id, &len);
    tc_graph_value *v = k < e->c->n->nin ? e->c->n->in[k] : NULL;
    *n = 0;
    if (attr)
        v = tc_graph_em_ints(e, TC_I64, &(tc_graph_shape){1, {(int64_t)len}}, attr);
    if (!v)
        return TC_OK;
    TC_TRY(e->status);
    TC_TRY(tc_graph_trace(e, v, out));
    *n = tc_graph_shape_count(&v->shape);
    return TC_OK;
}

tc_status tc_graph_dynamic_no_bound(tc_graph_emitter *e, const char *what, int k, const tc_graph_number *v) {
    int i = 0;
    if (tc_graph_is_left(e->c->n->in[k]))
        return tc_graph_refuse_left(e->c, k, what);
    while (v[i].constant || v[i].most >= 0)
        i++;
    return tc_graph_node_refuse(
        e->c, TC_ERROR_DATA_DEPENDENT,
        "%s[%d] ('%s') depends on data without a known largest value; input %d must be known when the model "
        "is imported, unbounded data-dependent shapes are not supported",
        what, i, v[i].value->name, k);
}

tc_status tc_graph_dynamic_shape(tc_graph_emitter *e, int k, tc_graph_number *want, tc_graph_shape *s) {
    int64_t n;
    TC_TRY(tc_graph_dynamic_list(e, k, TC_ATTR_none, want, &n));
    if (n > TC_GRAPH_MAX_DIMS)
        return tc_graph_node_refuse(e->c, TC_ERROR_UNSUPPORTED, "shape has %lld dimensions; at most %d are supported",
                                    (long long)n, TC_GRAPH_MAX_DIMS);
    if (!tc_graph_has_bounds(want, n))
        return tc_graph_dynamic_no_bound(e, "shape", k, want);
    s->ndim = (int)n;
    for (int d = 0; d < s->ndim; d++)
        s->d[d] = want[d].most;
    return TC_OK;
}
