/* Operators that are written in terms of others. The families that use this build the defining expression, value by value, in
 * front of the node, which then becomes an Identity of the result: such operators need no evaluation and no lowering of their
 * own, and fusion sees through them.
 *
 *     tc_graph_emitter e = {c};
 *     tc_graph_value *rest = em_sub(&e, x, tc_graph_em_cast(&e, y, x->dtype));
 *     return tc_graph_em_finish(&e, rest);
 *
 * The first failure stays in e.status; what is made after it is a scratch value with TC_GRAPH_MAX_DIMS dimensions of 1. */
#ifndef TC_GRAPH_OPS_EMIT_H
#define TC_GRAPH_OPS_EMIT_H

#include "graph/ops/infer.h"

typedef struct tc_graph_emitter {
    tc_graph_infer_ctx *c;
    tc_status status;
} tc_graph_emitter;

/* A node to be given attributes, and then placed. */
tc_graph_node *tc_graph_em_node(tc_graph_emitter *e, tc_graph_op op, tc_graph_value *const *in, int nin);
tc_graph_value *tc_graph_em_place(tc_graph_emitter *e, tc_graph_node *n);

tc_graph_value *tc_graph_em_op(tc_graph_emitter *e, tc_graph_op op, tc_graph_value *a, tc_graph_value *b); /* b may be NULL */
tc_graph_value *tc_graph_em_where(tc_graph_emitter *e, tc_graph_value *cond, tc_graph_value *a, tc_graph_value *b);
tc_graph_value *tc_graph_em_cast(tc_graph_emitter *e, tc_graph_value *v, tc_dtype to);
/* Of v, or of its memory, whose sizes do not vary. */
tc_graph_value *tc_graph_em_reshape(tc_graph_emitter *e, tc_graph_value *v, const tc_graph_shape *to);
/* The same where sizes of v may vary; `to` says how those of the result do. The type in `to` is not read. */
tc_graph_value *tc_graph_em_reshaped(tc_graph_emitter *e, tc_graph_value *v, const tc_graph_type *to);
/* Appends a dimension to t: dimensions from..to of v as one. */
void tc_graph_add_flat(tc_graph_emitter *e, tc_graph_type *t, const tc_graph_value *v, int from, int to);
/* v with dimensions from..to as one. */
tc_graph_value *tc_graph_em_merged(tc_graph_emitter *e, tc_graph_value *v, int from, int to);
/* SQUEEZE or UNSQUEEZE: v without, or with, a dimension of 1 at the axis. */
tc_graph_value *tc_graph_em_one(tc_graph_emitter *e, tc_graph_op op, tc_graph_value *v, int64_t axis);
tc_graph_value *tc_graph_em_transpose(tc_graph_emitter *e, tc_graph_value *v, const int64_t *perm);
tc_graph_value *tc_graph_em_expand(tc_graph_emitter *e, tc_graph_value *v, const tc_graph_shape *to);
tc_graph_value *tc_graph_em_slice(tc_graph_emitter *e, tc_graph_value *v, int axis, int64_t start, int64_t end, int64_t step);
/* However many: import divides what is too much for a kernel. */
tc_graph_value *tc_graph_em_concat(tc_graph_emitter *e, int axis, tc_graph_value *const *in, int n);
tc_graph_value *tc_graph_em_pad(tc_graph_emitter *e, tc_graph_value *v, const int64_t *pads, tc_graph_value *fill);
/* GATHER or GATHER_ELEMENTS */
tc_graph_value *tc_graph_em_gather(tc_graph_emitter *e, tc_graph_op op, tc_graph_value *v, tc_graph_value *index, int axis);
/* v[.., index[i], ..]: by a view where the indices are regular (all, every k-th, each k times), else by Gather. */
tc_graph_value *tc_graph_em_index(tc_graph_emitter *e, tc_graph_value *v, int axis, const int64_t *index, int64_t n);

tc_graph_value *tc_graph_em_scalar(tc_graph_emitter *e, tc_dtype t, double v);
tc_graph_value *tc_graph_em_ints(tc_graph_emitter *e, tc_dtype t, const tc_graph_shape *shape, const int64_t *v);
tc_graph_value *tc_graph_em_floats(tc_graph_emitter *e, tc_dtype t, const tc_graph_shape *shape, const double *v);

/* Gives `to`, a window, the attributes of the node's window: padding, strides and so on, which inference then checks. */
void tc_graph_em_copy_window(tc_graph_emitter *e, tc_graph_node *to);

/* v in `ndim` dimensions, its own ones from `axis` on: what broadcasts along these. */
tc_graph_value *tc_graph_em_along(tc_graph_emitter *e, tc_graph_value *v, int axis, int ndim);

/* Names v as output k > 0 of the node, if anybody asked for it. */
void tc_graph_em_output(tc_graph_emitter *e, int k, tc_graph_value *v);
/* Turns the node into an Identity of v. With several outputs, those after the first are given before. */
TC_NODISCARD tc_status tc_graph_em_finish(tc_graph_emitter *e, tc_graph_value *v);

/* Tables (indices, weights) are made at import and kept: fails for one of more than 2^26 entries, which a damaged file asks for
 * sooner than a network. */
TC_NODISCARD tc_status tc_graph_want_table(tc_graph_infer_ctx *c, double entries);
/* Elements of a constant input widened, in the arena; fails when input k is not constant. NULL and 0 for one left out. */
TC_NODISCARD tc_status tc_graph_want_floats(tc_graph_infer_ctx *c, int k, const char *what, const double **v, size_t *len);

#define EM_BINARY(name, op)                                                                                                      \
    static inline tc_graph_value *em_##name(tc_graph_emitter *e, tc_graph_value *a, tc_graph_value *b) {                         \
        return tc_graph_em_op(e, TC_GRAPH_OP_##op, a, b);                                                                        \
    }
EM_BINARY(add, ADD)
EM_BINARY(sub, SUB)
EM_BINARY(mul, MUL)
EM_BINARY(div, DIV)
EM_BINARY(min, MIN)
EM_BINARY(max, MAX)
EM_BINARY(less, LESS)
EM_BINARY(equal, EQUAL)
#undef EM_BINARY

static inline tc_graph_value *em_unary(tc_graph_emitter *e, tc_graph_op op, tc_graph_value *a) {
    return tc_graph_em_op(e, op, a, NULL);
}

#endif
