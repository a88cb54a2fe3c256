/* Inference: dispatch to the operator families, and what these share. A node enters the graph here: it is typed,
 * brought into canonical form, and folded when all its inputs are constants. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "graph/ir/budget.h"
#include "graph/ops/functions.h"

tc_status tc_graph_node_fail(tc_graph_infer_ctx *c, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    tc_status s = tc_vfail(c->err, TC_BAD_INPUT, fmt, ap);
    va_end(ap);
    return s;
}

tc_status tc_graph_node_refuse(tc_graph_infer_ctx *c, tc_error_code code, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    tc_status s = tc_vrefuse(c->err, code, fmt, ap);
    va_end(ap);
    return s;
}

const tc_graph_value *tc_graph_as_in_model(const tc_graph *g, const tc_graph_value *v, int d) {
    while (g->origin && v->producer && v->producer->origin == g->origin) {
        const tc_graph_value *from = NULL;
        for (int k = 0; k < v->producer->nin && !from; k++) {
            const tc_graph_value *in = v->producer->in[k];
            bool same = in && !in->constant && in->shape.ndim == v->shape.ndim && in->shape.d[d] == v->shape.d[d];
            from = same ? in : NULL;
        }
        if (!from)
            break;
        v = from;
    }
    return v;
}

tc_status tc_graph_refuse_left(tc_graph_infer_ctx *c, int k, const char *what) {
    return tc_graph_node_refuse(
        c, TC_ERROR_UNSUPPORTED,
        "input %d (%s), value '%s', must be known when the model is imported. It is computed of constants "
        "alone, but import left that to runs, because it would take too much work or memory. Store the "
        "value as a constant of the model",
        k, what, c->n->in[k]->name);
}

tc_status tc_graph_want_ints(tc_graph_infer_ctx *c, int k, const char *what, const int64_t **v, size_t *len) {
    const tc_graph_value *in = tc_graph_in(c, k);
    if (!in)
        return tc_graph_node_fail(c, "input %d (%s) is missing", k, what);
    if (tc_graph_is_left(in))
        return tc_graph_refuse_left(c, k, what);
    if (!in->constant)
        return tc_graph_node_refuse(c, TC_ERROR_DATA_DEPENDENT,
                                    "input %d (%s), value '%s', must be known when the model is imported, but it depends on the "
                                    "network's inputs; data-dependent shapes are not supported",
                                    k, what, in->name);
    if (!tc_dtype_is_int(in->dtype) || in->shape.ndim > 1)
        return tc_graph_node_fail(c, "input %d (%s) must be a list of integers, but is %s", k, what,
                                  tc_graph_type_str(c->g->arena, in->dtype, &in->shape));
    int64_t n = tc_graph_shape_count(&in->shape);
    TC_TRY(tc_graph_want_bytes(c->g, (double)n * sizeof **v, c->err));
    int64_t *copy = TC_NEW_N(c->g->arena, int64_t, n);
    tc_graph_tensor_to_i64(in->constant, copy);
    *v = copy;
    *len = (size_t)n;
    return TC_OK;
}

tc_status tc_graph_want_list(tc_graph_infer_ctx *c, int k, tc_graph_attr_id id, const int64_t **v, size_t *len) {
    *v = tc_graph_attr_ints(c->n, id, len);
    if (*v || !tc_graph_in(c, k))
        return TC_OK;
    return tc_graph_want_ints(c, k, tc_graph_attr_name(id), v, len);
}

tc_status tc_graph_want_attr(tc_graph_infer_ctx *c, tc_graph_attr_id id, int n, int64_t least, int64_t otherwise, int64_t *out) {
    size_t len;
    const int64_t *v = tc_graph_attr_ints(c->n, id, &len);
    if (v && len != (size_t)n)
        return tc_graph_node_fail(c, "attribute %s has %zu entries; %d are expected", tc_graph_attr_name(id), len, n);
    for (int i = 0; i < n; i++) {
        out[i] = v ? v[i] : otherwise;
        if (out[i] < least || out[i] > 1 << 30)
            return tc_graph_node_fail(c, "attribute %s[%d] is %" PRId64 "; it must be %" PRId64 " to 2^30",
                                      tc_graph_attr_name(id), i, out[i], least);
    }
    return TC_OK;
}

tc_status tc_graph_want_axis(tc_graph_infer_ctx *c, int64_t axis, int ndim, int *out) {
    if (axis < -ndim || axis >= ndim)
        return tc_graph_node_fail(c, "axis %" PRId64 " is outside of a tensor with %d dimensions", axis, ndim);
    *out = (int)(axis < 0 ? axis + ndim : axis);
    return TC_OK;
}

static tc_status want_broadcast(tc_graph_infer_ctx *c, const tc_graph_shape *a, const tc_graph_shape *b, tc_graph_shape *out) {
    if (tc_graph_shape_broadcast(a, b, out))
        return TC_OK;
    tc_strbuf text = {0};
    tc_graph_shape_print(&text, a);
    tc_sb_add(&text, " and ");
    tc_graph_shape_print(&text, b);
    tc_status s = tc_graph_node_fail(c, "the shapes %s do not broadcast", tc_sb_str(&text));
    tc_strbuf_free(&text);
    return s;
}

tc_status tc_graph_want_element_type(tc_graph_infer_ctx *c, const char *name, int64_t code, tc_dtype *t) {
    if (tc_graph_dtype_of_onnx(code, t))
        return TC_OK;
    return tc_graph_node_refuse(c, TC_ERROR_UNSUPPORTED, "attribute %s: element type %s is not supported", name,
                                tc_graph_onnx_type_name(code));
}

tc_status tc_graph_want_input(tc_graph_infer_ctx *c, int k) {
    if (tc_graph_in(c, k))
        return TC_OK;
    return tc_graph_node_fail(c, "input %d is left out, but it is not optional", k);
}

tc_status tc_graph_want_float(tc_graph_infer_ctx *c, int k) {
    const tc_graph_value *v = tc_graph_in(c, k);
    if (v && !tc_dtype_is_float(v->dtype))
        return tc_graph_node_fail(c, "input %d ('%s') must be floating point, but is %s", k, v->name, tc_dtype_name(v->dtype));
    return TC_OK;
}

tc_status tc_graph_want_number(tc_graph_infer_ctx *c, int k) {
    const tc_graph_value *v = tc_graph_in(c, k);
    if (v && v->dtype == TC_BOOL)
        return tc_graph_node_fail(c, "input %d ('%s') must be of numbers, but is bool", k, v->name);
    return TC_OK;
}

tc_status tc_graph_want_same_type(tc_graph_infer_ctx *c, int k, int l) {
    const tc_graph_value *a = tc_graph_in(c, k), *b = tc_graph_in(c, l);
    if (a && b && a->dtype != b->dtype)
        return tc_graph_node_fail(c, "inputs %d and %d must have one type, but are %s and %s", k, l, tc_dtype_name(a->dtype),
                                  tc_dtype_name(b->dtype));
    return TC_OK;
}

/* ---- emitting and rewriting ---- */

tc_graph_node *tc_graph_emit_node(tc_graph_infer_ctx *c, tc_graph_op op, tc_graph_value *const *in, int nin) {
    tc_graph_node *n = tc_graph_new_node(c->g, op, "", in, nin);
    n->name = tc_arena_printf(c->g->arena, "%s.%s", c->n->name, tc_graph_op_name(op));
    return n;
}

/* Emitted nodes follow the newest opset; their outputs are named after the node's first output. */
tc_status tc_graph_emit(tc_graph_infer_ctx *c, tc_graph_node *n, tc_graph_value **out) {
    const char *base = c->nout > 0 && c->names[0] ? c->names[0] : c->n->name;
    const char *name = tc_graph_fresh_name(c->g, tc_arena_printf(c->g->arena, "%s.%s", base, tc_graph_op_name(n->op)));
    TC_TRY(tc_graph_place(c->g, n, &name, 1, TC_GRAPH_OPSET_MAX, c->err));
    *out = tc_graph_find_value(c->g, name);
    return TC_OK;
}

void tc_graph_become(tc_graph_infer_ctx *c, tc_graph_op op, int nin) {
    c->n->op = op;
    c->n->nattrs = 0;
    if (c->n->nin > nin)
        tc_graph_set_inputs(c->g, c->n, c->n->in, nin);
}

void tc_graph_become_reshape(tc_graph_infer_ctx *c) {
    tc_graph_become(c, TC_GRAPH_OP_RESHAPE, 1);
    const tc_graph_value *x = c->n->in[0];
    c->out[0].dtype = x->dtype;
    if (tc_graph_shape_equal(&x->shape, &c->out[0].shape))
        c->n->op = TC_GRAPH_OP_IDENTITY;
    else
        tc_graph_set_shape(c->g, c->n, c->out[0].shape.d, (size_t)c->out[0].shape.ndim);
}

/* ---- dimensions ---- */

static void mark_taken(tc_graph_infer_ctx *c, int k, int d) {
    if (k < c->ntaken)
        c->taken[k] |= 1U << d;
}

static bool is_taken(const tc_graph_infer_ctx *c, int k, int d) {
    return k < c->ntaken && (c->taken[k] >> d & 1U);
}

void tc_graph_read_some(tc_graph_infer_ctx *c, int k, int from, int to) {
    for (int d = from; d < to; d++)
        mark_taken(c, k, d);
}

void tc_graph_take(tc_graph_infer_ctx *c, tc_graph_type *t, int k, int from, int to) {
    tc_graph_read_some(c, k, from, to);
    tc_graph_add_dims(t, c->n->in[k], from, to);
}

void tc_graph_add_dims(tc_graph_type *t, const tc_graph_value *v, int from, int to) {
    for (int d = from; d < to; d++) {
        t->size[t->shape.ndim] = tc_graph_extent(v, d);
        t->shape.d[t->shape.ndim++] = v->shape.d[d];
    }
}

void tc_graph_add_dim(tc_graph_type *t, int64_t n) {
    t->size[t->shape.ndim] = NULL;
    t->shape.d[t->shape.ndim++] = n;
}

tc_graph_type tc_graph_like(tc_graph_infer_ctx *c, int k) {
    tc_graph_type t = {.dtype = c->n->in[k]->dtype};
    tc_graph_take(c, &t, k, 0, c->n->in[k]->shape.ndim);
    return t;
}

/* Operands of two sizes are equal in a valid model, so either will do. A dimension of 1 that varies is not broadcast. */
void tc_graph_take_onto(tc_graph_infer_ctx *c, tc_graph_type *t, int k, int but) {
    const tc_graph_value *v = c->n->in[k];
    for (int d = 0, to = t->shape.ndim - (v->shape.ndim - but); d < v->shape.ndim - but; d++, to++) {
        if (v->shape.d[d] != t->shape.d[to])
            continue;
        mark_taken(c, k, d);
        t->size[to] = t->size[to] ? t->size[to] : tc_graph_extent(v, d);
    }
}

tc_status tc_graph_take_broadcast(tc_graph_infer_ctx *c, tc_graph_type *t, int n, int but) {
    for (int k = 0; k < n; k++) {
        tc_graph_shape s = c->n->in[k]->shape;
        s.ndim -= but;
        TC_TRY(want_broadcast(c, &t->shape, &s, &t->shape));
    }
    for (int k = 0; k < n; k++)
        tc_graph_take_onto(c, t, k, but);
    return TC_OK;
}

tc_status tc_graph_read_all(tc_graph_infer_ctx *c, int k, int d, tc_graph_fill fill) {
    tc_graph_value *v = c->n->in[k];
    tc_graph_emitter e = {c, TC_OK};
    bool varies = false;
    for (int i = 0; i < v->shape.ndim; i++)
        if (d < 0 || i == d) {
            mark_taken(c, k, i);
            varies |= tc_graph_extent(v, i) != NULL;
        }
    if (varies)
        c->n->in[k] = tc_graph_em_masked(&e, v, d, tc_graph_em_fill(&e, v->dtype, fill));
    return e.status;
}

tc_graph_fill tc_graph_neutral(tc_graph_op op) {
    static const uint8_t neutrals[TC_GRAPH_OP_COUNT] = {
        [TC_GRAPH_OP_REDUCE_LOG_SUM_EXP] = TC_GRAPH_LOWEST,
        [TC_GRAPH_OP_REDUCE_MAX] = TC_GRAPH_LOWEST,
        [TC_GRAPH_OP_REDUCE_MIN] = TC_GRAPH_HIGHEST,
        [TC_GRAPH_OP_REDUCE_PROD] = TC_GRAPH_ONE,
        [TC_GRAPH_OP_ARG_MAX] = TC_GRAPH_LOWEST,
        [TC_GRAPH_OP_ARG_MIN] = TC_GRAPH_HIGHEST,
        [TC_GRAPH_OP_SOFTMAX] = TC_GRAPH_LOWEST,
        [TC_GRAPH_OP_LOG_SOFTMAX] = TC_GRAPH_LOWEST,
        [TC_GRAPH_OP_HARDMAX] = TC_GRAPH_LOWEST,
        [TC_GRAPH_OP_MAX_POOL] = TC_GRAPH_LOWEST,
        [TC_GRAPH_OP_MAX_POOL_INDICES] = TC_GRAPH_LOWEST,
    }; /* for all others zero, which is the first of the enumeration */
    return (tc_graph_fill)neutrals[op];
}

tc_status tc_graph_contract(tc_graph_infer_ctx *c, int a, int b) {
    bool varies[] = {tc_graph_extent(c->n->in[0], a), tc_graph_extent(c->n->in[1], b)};
    if (varies[0] != varies[1])
        return tc_graph_dynamic_refuse(c, varies[1], varies[0] ? a : b);
    TC_TRY(tc_graph_read_all(c, 0, a, TC_GRAPH_ZERO));
    return tc_graph_read_all(c, 1, b, TC_GRAPH_ZERO);
}

/* All dimensions that vary are taken. */
static tc_status want_taken(tc_graph_infer_ctx *c) {
    const tc_graph_node *n = c->n;
    for (int k = 0; k < n->nin; k++)
        for (int d = 0; n->in[k] && d < n->in[k]->shape.ndim; d++)
            if (tc_graph_extent(n->in[k], d) && !is_taken(c, k, d))
                return tc_graph_dynamic_refuse(c, k, d);
    return TC_OK;
}

/* If and Loop with bodies that are graphs: import types them itself. */
tc_status tc_graph_infer_body(tc_graph_infer_ctx *c) {
    return tc_graph_node_fail(c, "a node with bodies is made by import only");
}

/* ---- entry ---- */

static tc_status check_arity(tc_graph_infer_ctx *c) {
    const tc_graph_op_info *info = tc_graph_op_info_of(c->n->op);
    int nin = c->n->nin;
    if (nin < info->min_in || (info->max_in >= 0 && nin > info->max_in))
        return tc_graph_node_fail(c, "it has %d inputs, but %d to %d are expected", nin, info->min_in, info->max_in);
    for (int k = 0; k < (info->max_in < 0 ? nin : info->min_in); k++)
        TC_TRY(tc_graph_want_input(c, k));
    if (c->nout < info->min_out || (info->max_out >= 0 && c->nout > info->max_out))
        return tc_graph_node_refuse(c, TC_ERROR_UNSUPPORTED, "it has %d outputs, but at most %d are supported", c->nout,
                                    info->max_out);
    return TC_OK;
}

/* The size is not known to be always what the shape says. */
static bool is_varying(const tc_graph_value *size, int64_t most) {
    return size && !(size->constant && tc_load_i(size->dtype, size->constant->data, 0) == most);
}

static tc_graph_value *new_output(tc_graph_infer_ctx *c, int k) {
    tc_graph_type *t = &c->out[k];
    if (!c->names[k])
        return NULL;
    tc_graph_value *v = tc_graph_add_value(c->g, c->names[k], t->dtype, &t->shape);
    for (int d = 0; d < t->shape.ndim; d++)
        if (is_varying(t->size[d], v->shape.d[d]))
            v->extent = t->size;
        else
            t->size[d] = NULL;
    return v;
}

static tc_status want_computable(tc_graph_infer_ctx *c) {
    const tc_graph_node *n = c->n;
    bool takes = tc_graph_op_is(n->op, TC_GRAPH_TAKES_STORED) || tc_graph_op_info_of(n->op)->class == TC_GRAPH_CLASS_VIEW;
    for (int k = 0; !takes && k < n->nin; k++)
        if (n->in[k] && tc_dtype_is_stored(n->in[k]->dtype))
            return tc_graph_node_refuse(c, TC_ERROR_UNSUPPORTED,
                                        "input %d ('%s') is %s, which can be moved and cast, but not computed with; cast it to "
                                        "a wider type first",
                                        k, n->in[k]->name, tc_dtype_name(n->in[k]->dtype));
    return TC_OK;
}

static tc_status attach_outputs(tc_graph_infer_ctx *c) {
    tc_graph_node *n = c->n;
    TC_TRY(want_computable(c));
    TC_TRY(want_taken(c));
    for (int k = 0; k < c->nout; k++)
        if (c->names[k])
            TC_TRY(tc_graph_shape_check(&c->out[k].shape, c->err));
    n->nout = c->nout;
    n->out = TC_NEW_N(c->g->arena, tc_graph_value *, c->nout);
    for (int k = 0; k < c->nout; k++) {
        n->out[k] = new_output(c, k);
        if (n->out[k])
            n->out[k]->producer = n;
    }
    bool folded = false;
    TC_TRY(tc_graph_fold(c->g, n, &folded, c->err));
    tc_graph_tensor fixed;
    if (!folded && c->nout == 1 && n->out[0] && tc_graph_numbers_are_fixed(c->g, n->out[0], &fixed)) {
        n->out[0]->constant = tc_graph_keep_tensor(c->g, &fixed);
        n->out[0]->producer = NULL;
        folded = true;
    }
    if (!folded)
        tc_push(&c->g->nodes, n);
    return TC_OK;
}

/* Outputs that an operator always has are there, whether or not a model names them. */
static const char *const *name_required(tc_graph *g, const tc_graph_node *n, const char *const *names, int nout) {
    const char **all = tc_arena_dup(g->arena, names, (size_t)nout * sizeof *names);
    for (int k = 0; k < nout && k < tc_graph_op_info_of(n->op)->min_out; k++)
        all[k] = all[k] ? all[k] : tc_graph_fresh_name(g, n->name);
    return all;
}

tc_status tc_graph_place(tc_graph *g, tc_graph_node *n, const char *const *names, int nout, int opset, tc_error *err) {
    while (nout > 0 && !names[nout - 1])
        nout--;
    names = name_required(g, n, names, nout);
    tc_graph_op op = n->op;
    tc_graph_infer_ctx c = {.g = g, .n = n, .opset = opset, .nout = nout, .names = names, .err = err};
    c.first_own = (uint32_t)g->values.len;
    c.out = TC_NEW_N(g->arena, tc_graph_type, nout + 1);
    c.ntaken = n->nin + TC_GRAPH_MAX_DIMS; /* a family may give the node more operands */
    c.taken = TC_NEW_N(g->arena, unsigned, c.ntaken);
    tc_status s = tc_graph_check_budget(g, err);
    if (s == TC_OK)
        s = check_arity(&c);
    if (s == TC_OK)
        s = tc_graph_dynamic_rewrite(&c);
    if (s == TC_OK)
        s = tc_graph_functions_of(n->op)->infer(&c);
    if (s == TC_OK && c.kept)
        tc_graph_add_value(g, names[0], c.kept->dtype, &c.kept->shape)->constant = c.kept;
    else if (s == TC_OK && c.has_constant)
        tc_graph_add_constant(g, names[0], &c.constant);
    else if (s == TC_OK && c.nout > 0) /* else the family has made all outputs itself */
        s = attach_outputs(&c);
    if (s != TC_OK)
        tc_error_prefix(err, "node '%s' (%s): ", n->name, tc_graph_op_name(op));
    return s;
}

tc_status tc_graph_append(tc_graph *g, tc_graph_node *n, const char *const *names, int nout, tc_error *err) {
    return tc_graph_place(g, n, names, nout, TC_GRAPH_OPSET_MAX, err);
}
