/* What inference leaves of operators along dimensions whose sizes vary: masks, concatenations, slices. */
#include <string.h>

#include "graph/ops/functions.h"

/* ---- Masked ---- */

enum { X, SIZE, FILL };

tc_status tc_graph_infer_masked(tc_graph_infer_ctx *c) {
    const tc_graph_value *x = c->n->in[X];
    c->out[0] = (tc_graph_type){.dtype = x->dtype, .shape = x->shape};
    return TC_OK;
}

int64_t tc_graph_size_in_run(const tc_graph_tensor *t, int64_t most) {
    return TC_MIN(TC_MAX(tc_load_i(TC_I64, t->data, 0), 0), most);
}

const tc_expr *tc_graph_at_masked(tc_graph_lower *l, const tc_graph_node *n, int out, const tc_expr *const *idx) {
    (void)out;
    tc_ctx *c = tc_graph_lower_ctx(l);
    int axis = (int)tc_graph_attr_axis(n);
    const tc_expr *inside = tc_bin(c, TC_OP_LT, idx[axis], tc_graph_size_at(l, n->in[SIZE]));
    return tc_select(c, inside, tc_graph_value_at(l, n->in[X], idx), tc_graph_value_at(l, n->in[FILL], NULL));
}

/* ---- Appended ---- */

enum { PAST, NEW, STARTS, PAST_ROWS, NEW_ROWS };

tc_status tc_graph_infer_appended(tc_graph_infer_ctx *c) {
    size_t len;
    TC_TRY(tc_graph_want_same_type(c, PAST, NEW));
    c->out[0] = (tc_graph_type){.dtype = c->n->in[PAST]->dtype, .shape = c->n->in[PAST]->shape};
    c->out[0].shape.d[tc_graph_attr_axis(c->n)] = tc_graph_attr_shape(c->n, &len)[0];
    return TC_OK;
}

/* A result whose blocks of rows have some of the past's first, and new ones from their starts on. */
typedef struct placing {
    const tc_graph_tensor *past, *fresh, *starts;
    char *to;
    int64_t nblock, per; /* per: how many have one start */
    int64_t npast, nfresh, end;
    int64_t from_past, from_fresh, room; /* rows of a block: of the operands and the result */
    size_t row;                          /* bytes */
} placing;

static placing placing_of(const tc_graph_eval_ctx *c) {
    int axis = (int)tc_graph_attr_axis(c->n);
    tc_graph_rows r = tc_graph_rows_of(&c->out[0].shape, axis);
    placing x = {.past = c->in[PAST], .fresh = c->in[NEW], .starts = c->in[STARTS], .to = c->out[0].data, .nblock = r.outer};
    x.per = x.starts->shape.ndim ? r.outer / TC_MAX(c->out[0].shape.d[0], 1) : r.outer;
    x.from_past = x.past->shape.d[axis];
    x.from_fresh = x.fresh->shape.d[axis];
    x.room = r.n;
    x.npast = tc_graph_size_in_run(c->in[PAST_ROWS], x.from_past);
    x.nfresh = tc_graph_size_in_run(c->in[NEW_ROWS], x.from_fresh);
    x.row = (size_t)(r.stride * tc_dtype_bytes(x.past->dtype));
    return x;
}

static int64_t start_of(const placing *x, int64_t block) {
    return tc_load_i(TC_I64, x->starts->data, block / x->per);
}

static int64_t kept_rows(const placing *x, int64_t block) {
    return TC_MIN(TC_MAX(start_of(x, block), 0), x->npast);
}

/* Those behind the kept ones, up to `end`: new ones, and zeros where there are none. */
static void place_rows(const placing *x, int64_t block, int64_t end) {
    char *to = x->to + (size_t)(block * x->room) * x->row;
    const char *from = (const char *)x->fresh->data + (size_t)(block * x->from_fresh) * x->row;
    int64_t start = start_of(x, block);
    for (int64_t i = kept_rows(x, block); i < end; i++) {
        uint64_t k = (uint64_t)i - (uint64_t)start;
        if (i >= start && k < (uint64_t)x->nfresh)
            memcpy(to + (size_t)i * x->row, from + k * x->row, x->row);
        else
            memset(to + (size_t)i * x->row, 0, x->row);
    }
}

/* Row i of operand k; zero past its rows, unless `inside` says that i is no such row. */
static const tc_expr *row_at(tc_graph_lower *l, const tc_graph_node *n, int k, const tc_expr *i, bool inside,
                             const tc_expr *const *idx) {
    tc_ctx *c = tc_graph_lower_ctx(l);
    int axis = (int)tc_graph_attr_axis(n);
    int64_t room = n->in[k]->shape.d[axis];
    const tc_expr *rows = tc_graph_size_at(l, n->in[PAST_ROWS + k]), *none = tc_imm(c, n->in[k]->dtype, 0),
                  *at[TC_GRAPH_MAX_DIMS];
    memcpy(at, idx, sizeof *at * (size_t)n->in[k]->shape.ndim);
    const tc_expr *most = tc_te_bounds(rows, NULL).lo > 0 ? rows : tc_i64(c, room); /* no index is -1 */
    at[axis] = i;
    if (tc_expr_touches_memory(i) || tc_expr_touches_memory(rows))
        at[axis] = tc_graph_index(l, tc_bin(c, TC_OP_MIN, tc_bin(c, TC_OP_MAX, i, tc_i64(c, 0)), tc_sub(c, most, tc_i64(c, 1))));
    if (room == 0)
        return none;
    const tc_expr *x = tc_graph_value_at(l, n->in[k], at);
    return inside ? x : tc_select(c, tc_bin(c, TC_OP_GT, rows, i), x, none);
}

const tc_expr *tc_graph_at_appended(tc_graph_lower *l, const tc_graph_node *n, int out, const tc_expr *const *idx) {
    (void)out;
    tc_ctx *c = tc_graph_lower_ctx(l);
    const tc_graph_value *starts = n->in[STARTS];
    const tc_expr *i = idx[tc_graph_attr_axis(n)];
    const tc_expr *start = starts->shape.ndim ? tc_graph_value_at(l, starts, idx) : tc_graph_size_at(l, starts);
    const tc_expr *past = row_at(l, n, PAST, i, starts == n->in[PAST_ROWS], idx);
    return tc_select(c, tc_bin(c, TC_OP_GT, start, i), past, row_at(l, n, NEW, tc_sub(c, i, start), false, idx));
}

/* ---- Grown ---- */

tc_status tc_graph_infer_grown(tc_graph_infer_ctx *c) {
    TC_TRY(tc_graph_want_same_type(c, PAST, NEW));
    c->out[0] = (tc_graph_type){.dtype = c->n->in[PAST]->dtype, .shape = c->n->in[PAST]->shape};
    return TC_OK;
}

tc_status tc_graph_eval_grown(tc_graph_eval_ctx *c) {
    placing x = placing_of(c);
    memcpy(x.to, x.past->data, tc_graph_tensor_bytes(x.past));
    for (int64_t o = 0; o < x.nblock; o++)
        place_rows(&x, o, TC_MIN(x.npast + x.nfresh, x.room));
    return TC_OK;
}

/* ---- Shifted ---- */

const tc_expr *tc_graph_index_within(tc_graph_lower *l, const tc_expr *i, int64_t n, bool of_symbols) {
    tc_ctx *c = tc_graph_lower_ctx(l);
    return of_symbols ? i : tc_bin(c, TC_OP_MIN, tc_bin(c, TC_OP_MAX, i, tc_i64(c, 0)), tc_i64(c, n - 1));
}

enum { START = 1 };

tc_status tc_graph_infer_shifted(tc_graph_infer_ctx *c) {
    c->out[0] = (tc_graph_type){.dtype = c->n->in[X]->dtype, .shape = c->n->in[X]->shape};
    return TC_OK;
}

const tc_expr *tc_graph_at_shifted(tc_graph_lower *l, const tc_graph_node *n, int out, const tc_expr *const *idx) {
    (void)out;
    int axis = (int)tc_graph_attr_axis(n);
    const tc_expr *at[TC_GRAPH_MAX_DIMS], *i = tc_add(tc_graph_lower_ctx(l), idx[axis], tc_graph_size_at(l, n->in[START]));
    memcpy(at, idx, sizeof *at * (size_t)n->in[X]->shape.ndim);
    at[axis] = tc_graph_index(l, tc_graph_index_within(l, i, n->in[X]->shape.d[axis], false));
    return tc_graph_value_at(l, n->in[X], at);
}
