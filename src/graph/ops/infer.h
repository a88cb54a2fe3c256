/* Inference: what the operator families share. */
#ifndef TC_GRAPH_OPS_INFER_H
#define TC_GRAPH_OPS_INFER_H

#include "graph/ir/build.h"
#include "graph/ops/ops.h"

/* One function per operator family types the outputs and brings the node into canonical form. It may emit nodes before n
 * (tc_graph_emit) and turn n itself into another operator; its result may also be a constant right away. */
typedef struct tc_graph_type {
    tc_dtype dtype;
    tc_graph_shape shape;
    tc_graph_value *size[TC_GRAPH_MAX_DIMS]; /* of the dimensions in a run, as `extent` of a value (graph.h) */
} tc_graph_type;

typedef struct tc_graph_infer {
    tc_graph *g;
    tc_graph_node *n;
    int opset;
    int nout;                 /* outputs the model asks for, with those left out */
    const char *const *names; /* of the outputs; NULL for one left out */
    tc_graph_type *out;       /* [nout], filled in by the family */
    uint32_t first_own;       /* values with this id and later ones were made for the node */
    unsigned *taken;          /* [ntaken]: a bit for each dimension of an operand that the family has taken into account */
    int ntaken;
    /* Where output 0 is known already; the node then vanishes. */
    bool has_constant;
    tc_graph_tensor constant;    /* freshly allocated, or */
    const tc_graph_tensor *kept; /* one that the graph keeps alive already */
    tc_error *err;
} tc_graph_infer_ctx;

typedef tc_status tc_graph_infer_fn(tc_graph_infer_ctx *c);

/* A failure of c->n; the caller adds node and file. */
tc_status tc_graph_node_fail(tc_graph_infer_ctx *c, const char *fmt, ...) TC_PRINTF(2, 3);
/* The same with a code that tells it from others. */
tc_status tc_graph_node_refuse(tc_graph_infer_ctx *c, tc_error_code code, const char *fmt, ...) TC_PRINTF(3, 4);
/* For messages: the value of the model's that v, made for the node that is being imported, is computed of, with as large a
 * dimension d; v itself where there is none. */
const tc_graph_value *tc_graph_as_in_model(const tc_graph *g, const tc_graph_value *v, int d);
/* Input k as a constant list of integers; fails with a remedy when it is not constant. *v is in the arena. */
TC_NODISCARD tc_status tc_graph_want_ints(tc_graph_infer_ctx *c, int k, const char *what, const int64_t **v, size_t *len);
/* Input k, which is called so, must be known, but import has left it to runs (tc_graph_is_left). Always fails. */
tc_status tc_graph_refuse_left(tc_graph_infer_ctx *c, int k, const char *what);
static inline bool tc_graph_is_left(const tc_graph_value *v) {
    return v->producer && v->producer->is_left;
}
/* The attribute or else input k (newer opsets); *v is NULL when there is neither. */
TC_NODISCARD tc_status tc_graph_want_list(tc_graph_infer_ctx *c, int k, tc_graph_attr_id id, const int64_t **v, size_t *len);
/* An attribute of n integers from `least` to 2^30; `otherwise` where it is absent. */
TC_NODISCARD tc_status tc_graph_want_attr(tc_graph_infer_ctx *c, tc_graph_attr_id id, int n, int64_t least, int64_t otherwise,
                                          int64_t *out);
/* A negative axis counts from the end. Fails outside [-ndim, ndim - 1]. */
TC_NODISCARD tc_status tc_graph_want_axis(tc_graph_infer_ctx *c, int64_t axis, int ndim, int *out);
/* Opsets before 7 may put the first dimension of operand 1 at a dimension of operand 0: at `axis`, if attribute broadcast is set. A
 * slope of PRelu belongs to the channels. *at: that dimension; -1: the operands broadcast as NumPy's do. */
TC_NODISCARD tc_status tc_graph_old_place(tc_graph_infer_ctx *c, int *at);
/* The type that ONNX numbers `code`, which attribute `name` is. */
TC_NODISCARD tc_status tc_graph_want_element_type(tc_graph_infer_ctx *c, const char *name, int64_t code, tc_dtype *t);
/* Input k, behind others that are optional, is there. */
TC_NODISCARD tc_status tc_graph_want_input(tc_graph_infer_ctx *c, int k);
TC_NODISCARD tc_status tc_graph_want_float(tc_graph_infer_ctx *c, int k);
TC_NODISCARD tc_status tc_graph_want_number(tc_graph_infer_ctx *c, int k); /* not bool */
TC_NODISCARD tc_status tc_graph_want_same_type(tc_graph_infer_ctx *c, int k, int l);
/* Emits a node before c->n (folded when its inputs are constants) and gives its only output. */
tc_graph_node *tc_graph_emit_node(tc_graph_infer_ctx *c, tc_graph_op op, tc_graph_value *const *in, int nin);
TC_NODISCARD tc_status tc_graph_emit(tc_graph_infer_ctx *c, tc_graph_node *n, tc_graph_value **out);
/* Turns c->n into another operator: keeps its first nin inputs, drops all attributes. */
void tc_graph_become(tc_graph_infer_ctx *c, tc_graph_op op, int nin);
/* Turns c->n into Reshape of input 0 to out[0].shape (Identity when that changes nothing). */
void tc_graph_become_reshape(tc_graph_infer_ctx *c);

static inline const tc_graph_value *tc_graph_in(const tc_graph_infer_ctx *c, int k) {
    return k < c->n->nin ? c->n->in[k] : NULL;
}

/* ---- dimensions ----
 * A dimension of an output is taken from an operand, together with its size in a run, or has the same size in all runs. The family
 * takes every dimension of its operands that may vary, or says how the node reads it. A node that has another dimension that varies
 * is refused. */
/* The type of operand k, with all its dimensions. */
tc_graph_type tc_graph_like(tc_graph_infer_ctx *c, int k);
/* Appends dimensions from..to of operand k to t. */
void tc_graph_take(tc_graph_infer_ctx *c, tc_graph_type *t, int k, int from, int to);
/* Appends a dimension that does not vary to t. */
void tc_graph_add_dim(tc_graph_type *t, int64_t n);
/* Appends dimensions from..to of v, which need not be an operand. */
void tc_graph_add_dims(tc_graph_type *t, const tc_graph_value *v, int from, int to);
/* Operand k broadcasts to t: its dimensions before the last `but` are aligned with the end of t. */
void tc_graph_take_onto(tc_graph_infer_ctx *c, tc_graph_type *t, int k, int but);
/* Dimensions of t become those of operands 0..n before the last `but`, broadcast as NumPy does. */
TC_NODISCARD tc_status tc_graph_take_broadcast(tc_graph_infer_ctx *c, tc_graph_type *t, int n, int but);
/* The node reads dimensions from..to of operand k only where there are elements. */
void tc_graph_read_some(tc_graph_infer_ctx *c, int k, int from, int to);
/* The node reads all of dimension d of operand k (d < 0: of all dimensions). Past the size of a run it sees `fill` there. */
typedef enum tc_graph_fill { TC_GRAPH_ZERO, TC_GRAPH_ONE, TC_GRAPH_LOWEST, TC_GRAPH_HIGHEST } tc_graph_fill;
TC_NODISCARD tc_status tc_graph_read_all(tc_graph_infer_ctx *c, int k, int d, tc_graph_fill fill);
/* What a node that reduces does not notice past the size of a run. */
tc_graph_fill tc_graph_neutral(tc_graph_op op);
/* The node sums products along dimension a of operand 0 and dimension b of operand 1. */
TC_NODISCARD tc_status tc_graph_contract(tc_graph_infer_ctx *c, int a, int b);

/* ---- folding ---- */
/* The node's outputs become constants when all its inputs are, the result is not unreasonably large, and the import may spend as
 * much as that takes (budget.h); *folded says so. */
tc_status tc_graph_fold(tc_graph *g, tc_graph_node *n, bool *folded, tc_error *err);
/* tc_graph_append with the opset whose semantics apply and the choice to fold. */
TC_NODISCARD tc_status tc_graph_place(tc_graph *g, tc_graph_node *n, const char *const *names, int nout, int opset,
                                      tc_error *err);

#endif
