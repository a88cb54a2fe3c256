/* The reference evaluator's entry points, and folding, which is the evaluator applied to constants. */
#include "graph/ops/functions.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "graph/ir/budget.h"
#include "graph/ir/sizes.h"
#include "support/system/memory.h"

tc_status tc_graph_eval_none(tc_graph_eval_ctx *c) {
    return tc_fail(c->err, TC_BAD_INPUT, "%s should have been rewritten at import", tc_graph_op_name(c->n->op));
}

bool tc_graph_can_widen(int64_t elements, int arrays) {
    bool can = tc_memory_check((uint64_t)elements * (uint64_t)arrays * sizeof(double), NULL) == TC_OK;
    if (!can)
        tc_alloc_refuse();
    return can;
}

double *tc_graph_wide_f64(const tc_graph_tensor *t) {
    int64_t n = tc_graph_tensor_count(t);
    double *v = tc_xmalloc(((size_t)n + 1) * sizeof *v);
    tc_graph_tensor_to_f64(t, v);
    return v;
}

void tc_graph_broadcast_strides(const tc_graph_shape *s, const tc_graph_shape *to, int64_t strides[TC_GRAPH_MAX_DIMS]) {
    int64_t own[TC_GRAPH_MAX_DIMS];
    tc_graph_shape_strides(s, own);
    for (int i = 0; i < to->ndim; i++) {
        int k = i - (to->ndim - s->ndim);
        strides[i] = k < 0 || s->d[k] == 1 ? 0 : own[k];
    }
}

/* Evaluators widen what they read and compute to 8 bytes an element, and may turn each once: whether that could be had is asked
 * before any of it is allocated. */
static tc_status check_scratch(const tc_graph_node *n, const tc_graph_tensor *const *in, tc_error *err) {
    enum { WIDE = 2 * sizeof(double) };
    uint64_t elements = 0;
    for (int k = 0; k < n->nin; k++)
        elements += in[k] ? (uint64_t)tc_graph_tensor_count(in[k]) : 0;
    for (int k = 0; k < n->nout; k++)
        elements += n->out[k] ? (uint64_t)tc_graph_shape_count(&n->out[k]->shape) : 0;
    return tc_memory_check(elements > UINT64_MAX / WIDE ? UINT64_MAX : elements * WIDE, err);
}

static tc_status evaluate(tc_graph_eval_ctx *c) {
    const tc_graph_node *n = c->n;
    tc_status s = check_scratch(n, c->in, c->err);
    memset(c->out, 0, sizeof *c->out * (size_t)n->nout);
    for (int k = 0; k < n->nout && s == TC_OK; k++)
        if (n->out[k])
            s = tc_graph_tensor_alloc(&c->out[k], n->out[k]->dtype, &n->out[k]->shape, c->err);
    if (s == TC_OK)
        s = tc_graph_functions_of(n->op)->eval(c);
    for (int k = 0; k < n->nout && (s != TC_OK || c->is_left); k++)
        tc_graph_tensor_free(&c->out[k]);
    return s;
}

tc_status tc_graph_eval_node(const tc_graph_node *n, const tc_graph_tensor *const *in, tc_graph_tensor *out, tc_error *err) {
    tc_graph_eval_ctx c = {.n = n, .in = in, .out = out, .err = err};
    return evaluate(&c);
}

/* ---- folding ---- */

/* Folding may enlarge what must be stored: a broadcast constant is cheaper to compute than to keep. Chosen so that masks and
 * position tables fold and expanded weights do not. */
enum { FOLD_ALWAYS_BYTES = 16 << 20, FOLD_GROWTH = 2 };

/* Results up to these sizes cost nothing: sizes, axes and other small lists are always folded. The bound of nodes limits their sum. */
enum { FREE_ELEMENTS = 256, FREE_BYTES = 4096 };

bool tc_graph_spend_work(tc_graph_eval_ctx *c, double work) {
    tc_graph_budget *b = c->budget;
    uint64_t n = work < 0x1p60 ? (uint64_t)work : UINT64_MAX;
    c->is_left = n > FREE_ELEMENTS && !tc_graph_can_spend(b, TC_GRAPH_BUDGET_WORK, n);
    if (b && !c->is_left)
        b->spent[TC_GRAPH_BUDGET_WORK] += n;
    return !c->is_left;
}

/* May it be folded? A loop may take for ever. */
static bool is_of_constants(const tc_graph_node *n) {
    if (n->body[0] || tc_graph_op_is(n->op, TC_GRAPH_WIDENS))
        return false;
    for (int k = 0; k < n->nin; k++)
        if (n->in[k] && !n->in[k]->constant)
            return false;
    return true;
}

typedef struct operand_bytes {
    size_t in, out;
} operand_bytes;

static operand_bytes bytes_of(const tc_graph_node *n) {
    operand_bytes b = {0};
    for (int k = 0; k < n->nin; k++)
        b.in += n->in[k] ? tc_graph_tensor_bytes(n->in[k]->constant) : 0;
    for (int k = 0; k < n->nout; k++)
        if (n->out[k])
            b.out += (size_t)tc_graph_shape_count(&n->out[k]->shape) * (size_t)tc_dtype_bytes(n->out[k]->dtype);
    return b;
}

static bool is_worth_folding(const operand_bytes *b) {
    return b->out <= FOLD_ALWAYS_BYTES || b->out <= FOLD_GROWTH * b->in;
}

/* How often a kernel looks at each element, at most. */
static double looks_of(const tc_graph_node *n) {
    enum { SORTS = 32 };
    switch ((int)n->op) {
    case TC_GRAPH_OP_ROI_ALIGN_LIST: /* the regions say how often */
    case TC_GRAPH_OP_MAX_ROI_POOL_LIST:
        return HUGE_VAL;
    case TC_GRAPH_OP_NMS_LIST: /* a box with all others */
        return (double)n->in[1]->shape.d[2];
    case TC_GRAPH_OP_DET_LIST:
        return (double)n->in[0]->shape.d[n->in[0]->shape.ndim - 1];
    default:
        return tc_graph_class_of(n->op) == TC_GRAPH_CLASS_LIBRARY ? SORTS : 1;
    }
}

/* Work of an evaluator that does not lower the node. */
static double work_of(const tc_graph_node *n) {
    enum { MOVES = 16 }; /* so many elements are moved in the time in which the interpreter computes one */
    bool is_kernel = tc_graph_class_of(n->op) == TC_GRAPH_CLASS_LIBRARY; /* others read as much as they write */
    double elements = 0;
    for (int k = 0; k < n->nin && is_kernel; k++)
        elements += n->in[k] ? (double)tc_graph_shape_count(&n->in[k]->shape) : 0;
    for (int k = 0; k < n->nout; k++)
        elements += n->out[k] ? (double)tc_graph_shape_count(&n->out[k]->shape) : 0;
    return elements / MOVES * looks_of(n);
}

/* Does the budget have what the evaluation needs? The work of a lowered node is known only after lowering. So for such a node only its
 * elements are asked about here, and its evaluator asks about the work. */
static bool is_affordable(tc_graph_eval_ctx *c, size_t bytes) {
    const tc_graph_budget *b = c->budget;
    bool is_small = bytes <= FREE_BYTES;
    if (!is_small && !tc_graph_can_spend(b, TC_GRAPH_BUDGET_BYTES, bytes))
        return false;
    if (tc_graph_functions_of(c->n->op)->eval == tc_graph_eval_lowered)
        return is_small || tc_graph_can_spend(b, TC_GRAPH_BUDGET_WORK, bytes / sizeof(double));
    return tc_graph_spend_work(c, work_of(c->n));
}

/* What is computed of nodes that are left to runs is left, too. */
static void note_left(tc_graph *g, tc_graph_node *n, bool is_left) {
    bool all = g->budget && g->budget->has_left && n->nin > 0;
    for (int k = 0; k < n->nin && all && !is_left; k++)
        all = !n->in[k] || n->in[k]->constant || tc_graph_is_left(n->in[k]);
    n->is_left = is_left || all;
    if (g->budget)
        g->budget->has_left |= is_left;
}

/* What keeps the memory shares the bytes of its operand. */
static bool fold_view(tc_graph *g, tc_graph_node *n) {
    if (!tc_graph_keeps_memory(n))
        return false;
    tc_graph_tensor t = tc_graph_tensor_view(n->out[0]->dtype, &n->out[0]->shape, n->in[0]->constant->data);
    n->out[0]->constant = tc_arena_dup(g->arena, &t, sizeof t);
    n->out[0]->producer = NULL;
    return true;
}

/* *folded stays false where that takes too much. */
static tc_status fold(tc_graph *g, tc_graph_node *n, tc_graph_budget *budget, size_t bytes, bool *folded, tc_error *err) {
    const tc_graph_tensor **in = TC_NEW_N(g->arena, const tc_graph_tensor *, n->nin);
    tc_graph_tensor *out = TC_NEW_N(g->arena, tc_graph_tensor, n->nout);
    tc_graph_eval_ctx c = {.n = n, .in = in, .out = out, .budget = budget, .err = err};
    for (int k = 0; k < n->nin; k++)
        in[k] = n->in[k] ? n->in[k]->constant : NULL;
    if (!is_affordable(&c, bytes))
        return TC_OK;
    TC_TRY(evaluate(&c));
    if (c.is_left)
        return TC_OK;
    for (int k = 0; k < n->nout; k++)
        if (n->out[k]) {
            n->out[k]->constant = tc_graph_keep_tensor(g, &out[k]);
            n->out[k]->producer = NULL;
        }
    budget->spent[TC_GRAPH_BUDGET_BYTES] += bytes;
    *folded = true;
    return TC_OK;
}

tc_status tc_graph_fold(tc_graph *g, tc_graph_node *n, bool *folded, tc_error *err) {
    *folded = false;
    if (!is_of_constants(n)) {
        note_left(g, n, false);
        return TC_OK;
    }
    const operand_bytes bytes = bytes_of(n);
    if (is_worth_folding(&bytes) && fold_view(g, n)) {
        *folded = true;
        return TC_OK;
    }
    tc_graph_budget own = {0}; /* after import, a node may take what a model of its operands might */
    if (!g->budget)
        tc_graph_budget_grow(&own, bytes.in);
    if (is_worth_folding(&bytes))
        TC_TRY(fold(g, n, g->budget ? g->budget : &own, bytes.out, folded, err));
    if (!*folded)
        note_left(g, n, true);
    return TC_OK;
}

/* ---- whole graphs ---- */

typedef struct run {
    const tc_graph *g;
    tc_graph_tensor *computed;    /* by value id; data NULL where not (or no longer) there */
    const tc_graph_tensor **live; /* by value id: input, constant or computed */
    uint32_t *uses;               /* left, by value id */
} run;

static void release_inputs(run *r, const tc_graph_node *n) {
    for (int k = 0; k < n->nin; k++)
        if (n->in[k] && --r->uses[n->in[k]->id] == 0 && r->computed[n->in[k]->id].data)
            tc_graph_tensor_free(&r->computed[n->in[k]->id]);
}

static tc_status run_node(run *r, const tc_graph_node *n, tc_error *err) {
    const tc_graph_tensor **in = tc_xcalloc((size_t)n->nin + 1, sizeof *in);
    tc_graph_tensor *out = tc_xcalloc((size_t)n->nout + 1, sizeof *out);
    for (int k = 0; k < n->nin; k++)
        in[k] = n->in[k] ? r->live[n->in[k]->id] : NULL;
    tc_status s = tc_graph_eval_node(n, in, out, err);
    for (int k = 0; k < n->nout && s == TC_OK; k++)
        if (n->out[k]) {
            r->computed[n->out[k]->id] = out[k];
            r->live[n->out[k]->id] = &r->computed[n->out[k]->id];
        }
    if (s == TC_OK)
        release_inputs(r, n);
    else
        tc_error_prefix(err, "node '%s' (%s): ", n->name, tc_graph_op_name(n->op));
    free(in);
    free(out);
    return s;
}

static tc_graph_shape run_shape(const run *r, const tc_graph_output *o) {
    tc_graph_shape s = o->value->shape;
    for (int d = 0; d < s.ndim; d++)
        if (o->extent[d])
            s.d[d] = *(const int64_t *)r->live[r->g->outputs.data[o->extent[d]].value->id]->data;
    return s;
}

static tc_status run_outputs(run *r, tc_graph_tensor *out, tc_error *err) {
    const tc_graph *g = r->g;
    size_t n = g->outputs.len - g->nsizes;
    memset(out, 0, sizeof *out * n);
    tc_status s = TC_OK;
    for (size_t i = 0; i < n && s == TC_OK; i++) {
        const tc_graph_tensor *t = r->live[g->outputs.data[i].value->id];
        tc_graph_shape shape = run_shape(r, &g->outputs.data[i]);
        s = tc_graph_tensor_alloc(&out[i], t->dtype, &t->shape, err);
        if (s == TC_OK) {
            memcpy(out[i].data, t->data, tc_graph_tensor_bytes(t));
            tc_graph_tensor_trim(&out[i], &shape);
        }
    }
    for (size_t i = 0; i < n && s != TC_OK; i++)
        tc_graph_tensor_free(&out[i]);
    return s;
}

/* The sizes of the inputs, whose types are as the graph has them where these do not vary. */
static tc_status bind(const tc_graph *g, const tc_graph_tensor *in, int64_t *size, tc_error *err) {
    tc_arena *a = tc_arena_new();
    tc_graph_size_rules r;
    tc_graph_size_rules_of(g, a, &r);
    tc_status s = tc_graph_size_rules_bind(&r, in, size, err);
    for (int i = 0; s == TC_OK && i < r.nin; i++) {
        tc_graph_tensor widest = in[i];
        for (int d = 0; d < r.in[i].ndim && d < widest.shape.ndim; d++)
            if (r.in[i].size[d] >= 0 && widest.shape.d[d] == size[r.in[i].size[d]])
                widest.shape.d[d] = g->inputs.data[i]->shape.d[d];
        s = tc_graph_check_input(g, (size_t)i, &widest, err);
    }
    tc_arena_free(a);
    return s;
}

/* The inputs as the nodes want them: at their largest, and their sizes behind them. fed[] is to be freed in any case. */
static tc_status feed(const tc_graph *g, const tc_graph_tensor *in, int64_t *size, tc_graph_tensor *fed, tc_error *err) {
    size_t given = g->inputs.len - g->symbols.len;
    TC_TRY(bind(g, in, size, err));
    for (size_t i = 0; i < given; i++) {
        const tc_graph_value *v = g->inputs.data[i];
        if (g->symbols.len && v->extent)
            TC_TRY(tc_graph_tensor_widen(&in[i], &v->shape, &fed[i], err));
        else
            fed[i] = tc_graph_tensor_view(v->dtype, &in[i].shape, in[i].data);
        fed[i].dtype = v->dtype;
    }
    for (size_t k = 0; k < g->symbols.len; k++)
        fed[given + k] = tc_graph_tensor_view(TC_I64, &(tc_graph_shape){0}, &size[k]);
    return TC_OK;
}

tc_status tc_graph_eval(const tc_graph *g, const tc_graph_tensor *in, tc_graph_tensor *out, tc_error *err) {
    tc_graph_tensor *fed = tc_xcalloc(g->inputs.len + 1, sizeof *fed);
    int64_t *size = tc_xcalloc(g->symbols.len + 1, sizeof *size);
    run r = {.g = g, .uses = tc_graph_count_uses(g)};
    r.computed = tc_xcalloc(g->values.len + 1, sizeof *r.computed);
    r.live = tc_xcalloc(g->values.len + 1, sizeof *r.live);
    for (size_t i = 0; i < g->values.len; i++)
        r.live[i] = g->values.data[i]->constant;
    for (size_t i = 0; i < g->inputs.len; i++)
        r.live[g->inputs.data[i]->id] = &fed[i];
    tc_status s = feed(g, in, size, fed, err);
    for (size_t i = 0; i < g->nodes.len && s == TC_OK; i++)
        s = run_node(&r, g->nodes.data[i], err);
    if (s == TC_OK)
        s = run_outputs(&r, out, err);
    for (size_t i = 0; i < g->values.len; i++)
        tc_graph_tensor_free(&r.computed[i]);
    for (size_t i = 0; i < g->inputs.len; i++)
        tc_graph_tensor_free(&fed[i]);
    free(r.computed);
    free(r.live);
    free(r.uses);
    free(size);
    free(fed);
    return s;
}
