/* The engine of lowering: placeholders, stages, and memory of what was built. */
#include "graph/ops/functions.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/hash.h"

const tc_expr *tc_graph_at_none(tc_graph_lower *l, const tc_graph_node *n, int out, const tc_expr *const *idx) {
    (void)idx;
    return tc_graph_lower_fail(l, n, n->out[out]->dtype,
                               "this operator cannot be compiled yet; run the model without it or replace it before export");
}

const tc_expr *tc_graph_at_library(tc_graph_lower *l, const tc_graph_node *n, int out, const tc_expr *const *idx) {
    (void)idx;
    return tc_graph_lower_fail(l, n, n->out[out]->dtype, "a library kernel has no tensor expression");
}

const tc_expr *tc_graph_divided(tc_ctx *c, const tc_expr *x, const tc_expr *by) {
    if (by->op == TC_OP_FLOAT && tc_dtype_inverts(by->dtype, by->u.f))
        return tc_mul(c, x, tc_imm(c, by->dtype, 1 / by->u.f));
    return tc_div(c, x, by);
}

struct tc_graph_lower {
    tc_ctx *c;
    const tc_graph *g;
    const tc_graph_group *group;
    const bool *stored;
    tc_graph_sized *sized;
    tc_env *env;                       /* ranges of all axes made so far */
    tc_map member;                     /* node id -> index in group + 1 */
    tc_map holders;                    /* (memory, squeezed shape) -> placeholder */
    tc_map stages;                     /* (node, key) -> compute */
    tc_map tensors;                    /* value id -> the tensor that holds it */
    tc_map memo;                       /* (value, coordinates) -> expression */
    TC_VEC(const tc_graph_value *) in; /* of the placeholders, in order of first use */
    TC_VEC(const tc_tensor *) in_tensor;
    int unique;
    tc_status status;
    tc_error *err;
};

/* Maps from a row of numbers: what has one hash is told apart by the numbers. */
enum { MAX_KEY = TC_GRAPH_MAX_DIMS + 1 };

typedef struct entry {
    const void *value;
    const struct entry *next;
    size_t len;
    int64_t key[];
} entry;

static uint64_t key_hash(const int64_t *key, size_t len) {
    return tc_hash64(key, len * sizeof *key, 0x6c6f776572);
}

static const void *recall(const tc_map *m, const int64_t *key, size_t len) {
    uintptr_t *first = tc_map_get(m, key_hash(key, len));
    for (const entry *k = first ? (const entry *)*first : NULL; k; k = k->next)
        if (k->len == len && memcmp(k->key, key, len * sizeof *key) == 0)
            return k->value;
    return NULL;
}

static void keep(tc_graph_lower *l, tc_map *m, const int64_t *key, size_t len, const void *value) {
    uint64_t hash = key_hash(key, len);
    uintptr_t *first = tc_map_get(m, hash);
    entry *k = tc_arena_alloc(tc_ctx_arena(l->c), sizeof *k + len * sizeof *key);
    *k = (entry){value, first ? (const entry *)*first : NULL, len};
    memcpy(k->key, key, len * sizeof *key);
    if (first)
        *first = (uintptr_t)k;
    else
        tc_map_put(m, hash, (uintptr_t)k);
}

tc_ctx *tc_graph_lower_ctx(tc_graph_lower *l) {
    return l->c;
}

const tc_expr *tc_graph_lower_fail(tc_graph_lower *l, const tc_graph_node *n, tc_dtype t, const char *fmt, ...) {
    if (l->status == TC_OK) {
        va_list ap;
        va_start(ap, fmt);
        l->status = tc_vfail(l->err, TC_BAD_INPUT, fmt, ap);
        va_end(ap);
        tc_error_prefix(l->err, "%s: node '%s' (%s): ", l->g->file ? l->g->file : "graph", n->name, tc_graph_op_name(n->op));
    }
    return tc_imm(l->c, t, 0);
}

/* ---- shapes without their unit dimensions ---- */

static int squeezed(const tc_graph_shape *s, int64_t *shape) {
    int n = 0;
    for (int d = 0; d < s->ndim; d++)
        if (s->d[d] != 1)
            shape[n++] = s->d[d];
    if (n == 0)
        shape[n++] = 1;
    return n;
}

static const tc_expr *read_squeezed(tc_graph_lower *l, const tc_tensor *t, const tc_graph_shape *s, const tc_expr *const *idx) {
    const tc_expr *at[TC_GRAPH_MAX_DIMS];
    int n = 0;
    for (int d = 0; d < s->ndim; d++)
        if (s->d[d] != 1)
            at[n++] = idx[d];
    if (n == 0)
        at[n++] = tc_i64(l->c, 0);
    return tc_read(l->c, t, n, at);
}

/* ---- placeholders ---- */

/* All elements are one bit pattern of at most 8 bytes. */
static bool is_uniform(const tc_graph_tensor *t) {
    size_t size = (size_t)tc_dtype_bytes(t->dtype), bytes = tc_graph_tensor_bytes(t);
    return bytes >= size && (bytes == size || memcmp(t->data, (const char *)t->data + size, bytes - size) == 0);
}

static const tc_expr *immediate(tc_graph_lower *l, const tc_graph_tensor *t) {
    if (tc_dtype_is_float(t->dtype))
        return tc_float(l->c, t->dtype, tc_load_f(t->dtype, t->data, 0));
    return tc_int(l->c, t->dtype, tc_load_i(t->dtype, t->data, 0));
}

static bool is_stored(const tc_graph_lower *l, const tc_graph_value *v) {
    return l->stored && l->stored[v->id];
}

static const tc_graph_value *memory_of(const tc_graph_lower *l, const tc_graph_value *v) {
    while (tc_graph_keeps_memory(v->producer) && !is_stored(l, v))
        v = v->producer->in[0];
    return v;
}

static const tc_tensor *placeholder(tc_graph_lower *l, const tc_graph_value *v) {
    int64_t key[MAX_KEY] = {memory_of(l, v)->id}, *shape = key + 1;
    int ndim = squeezed(&v->shape, shape);
    const tc_tensor *known = recall(&l->holders, key, (size_t)ndim + 1);
    if (known)
        return known;
    const char *name = tc_arena_printf(tc_ctx_arena(l->c), "%s%d", v->constant ? "c" : "x", (int)l->in.len);
    const tc_tensor *t = tc_te_placeholder(l->c, name, v->dtype, ndim, shape, v->constant != NULL);
    keep(l, &l->holders, key, (size_t)ndim + 1, t);
    tc_push(&l->in, v);
    tc_push(&l->in_tensor, t);
    return t;
}

/* ---- axes and stages ---- */

tc_axis tc_graph_axis(tc_graph_lower *l, const char *prefix, int number, int64_t extent) {
    char name[32];
    snprintf(name, sizeof name, "%s%d", prefix, number);
    tc_axis a = tc_te_axis(l->c, name, extent);
    tc_env_set(l->env, a.var, (tc_ival){0, extent - 1});
    return a;
}

const tc_expr *tc_graph_index(tc_graph_lower *l, const tc_expr *e) {
    return tc_te_simplify(l->c, e, l->env);
}

static uint64_t stage_key(const tc_graph_node *n, int key) {
    return (uint64_t)n->id << 8 | (uint64_t)key;
}

bool tc_graph_stage_begin(tc_graph_lower *l, const tc_graph_node *n, int key, const tc_graph_shape *shape, tc_graph_stage *s) {
    *s = (tc_graph_stage){.node = n, .key = key, .shape = *shape};
    if (tc_map_get(&l->stages, stage_key(n, key)))
        return false;
    for (int d = 0; d < shape->ndim; d++) {
        s->at[d] = tc_i64(l->c, 0);
        if (shape->d[d] == 1)
            continue;
        s->axes[s->naxis] = tc_graph_axis(l, "i", s->naxis, shape->d[d]);
        s->at[d] = tc_varx(l->c, s->axes[s->naxis++].var);
    }
    if (s->naxis == 0)
        s->axes[s->naxis++] = tc_graph_axis(l, "i", 0, 1);
    return true;
}

const tc_expr *tc_graph_stage_reduce(tc_graph_lower *l, tc_graph_stage *s, int64_t extent) {
    if (extent == 1)
        return tc_i64(l->c, 0);
    s->raxes[s->nraxis] = tc_graph_axis(l, "k", s->nraxis, extent);
    return tc_varx(l->c, s->raxes[s->nraxis++].var);
}

/* The tensor that body reads, when it is a computed one of the same shape at the same coordinates: nothing is left to compute. */
static const tc_tensor *same_as(const tc_graph_stage *s, const tc_expr *body) {
    if (body->op != TC_OP_READ || !body->u.tensor->op || body->nargs != s->naxis)
        return NULL;
    for (int d = 0; d < s->naxis; d++) {
        bool one = s->axes[d].extent == 1 && tc_is_int(body->args[d], 0);
        bool same = body->args[d]->op == TC_OP_VAR && body->args[d]->u.var == s->axes[d].var;
        if ((!one && !same) || body->u.tensor->shape[d] != s->axes[d].extent)
            return NULL;
    }
    return body->u.tensor;
}

void tc_graph_stage_end(tc_graph_lower *l, tc_graph_stage *s, tc_reducer r, int nout, const tc_expr *const *body) {
    char name[64];
    const char *op_name = tc_graph_op_name(s->node->op), *dot = strrchr(op_name, '.');
    int at = snprintf(name, sizeof name - 12, "%s", dot ? dot + 1 : op_name);
    for (int i = 0; i < at; i++)
        name[i] = (char)(name[i] >= 'A' && name[i] <= 'Z' ? name[i] + 32 : name[i]);
    snprintf(name + at, sizeof name - (size_t)at, "%d", l->unique++);
    if (r != TC_RED_NONE && s->nraxis == 0 && nout == 1)
        r = TC_RED_NONE; /* one element is its own sum */
    const tc_compute *op = tc_te_compute(l->c, name, s->naxis, s->axes, r, s->nraxis, s->raxes, nout, body);
    tc_map_put(&l->stages, stage_key(s->node, s->key), (uintptr_t)op);
}

static const tc_compute *stage_of(const tc_graph_lower *l, const tc_graph_node *n, int key) {
    return (const tc_compute *)*tc_map_get(&l->stages, stage_key(n, key));
}

const tc_expr *tc_graph_stage_read(tc_graph_lower *l, const tc_graph_stage *s, int o, const tc_expr *const *idx) {
    return read_squeezed(l, stage_of(l, s->node, s->key)->out[o], &s->shape, idx);
}

/* ---- values ---- */

enum { VALUE_KEY = 128 }; /* stage keys from here on: the node's outputs themselves */

/* Position in the group, -1 for others. */
static int member(const tc_graph_lower *l, const tc_graph_node *n) {
    uintptr_t *at = n ? tc_map_get(&l->member, n->id) : NULL;
    return at ? (int)*at - 1 : -1;
}

static int out_number(const tc_graph_node *n, const tc_graph_value *v) {
    int k = 0;
    while (n->out[k] != v)
        k++;
    return k;
}

static const tc_expr *node_at(tc_graph_lower *l, const tc_graph_node *n, int out, const tc_expr *const *idx) {
    return tc_graph_functions_of(n->op)->at(l, n, out, idx);
}

/* A reduction that is only to be stored in another order of its axes is written in that order. NULL when the body is something
 * else. */
static const tc_tensor *reordered(tc_graph_lower *l, const tc_graph_stage *s, const tc_expr *body) {
    const tc_compute *op = body->op == TC_OP_READ ? body->u.tensor->op : NULL;
    if (tc_graph_class_of(s->node->op) != TC_GRAPH_CLASS_VIEW || !op || op->nout != 1 || op->reducer == TC_RED_NONE ||
        body->nargs != s->naxis)
        return NULL;
    const tc_var *from[TC_MAX_DIMS];
    uint32_t seen = 0;
    for (int d = 0; d < s->naxis; d++) {
        from[d] = op->axes[d].var;
        for (int a = 0; a < s->naxis; a++)
            if (body->args[d]->op == TC_OP_VAR && body->args[d]->u.var == s->axes[a].var &&
                s->axes[a].extent == op->axes[d].extent)
                seen |= 1u << a;
    }
    if (seen != (1u << s->naxis) - 1)
        return NULL;
    const tc_expr *renamed = tc_expr_subst(l->c, op->body[0], s->naxis, from, body->args);
    return tc_te_compute(l->c, op->name, s->naxis, s->axes, op->reducer, op->nraxis, op->raxes, 1, &renamed)->out[0];
}

static const tc_tensor *new_value_stage(tc_graph_lower *l, const tc_graph_value *v) {
    const tc_graph_node *n = v->producer;
    int k = out_number(n, v);
    tc_graph_stage s;
    tc_graph_stage_begin(l, n, VALUE_KEY + k, &v->shape, &s);
    const tc_expr *body = node_at(l, n, k, s.at);
    const tc_tensor *t = same_as(&s, body);
    if (!t)
        t = reordered(l, &s, body);
    if (t)
        return t;
    tc_graph_stage_end(l, &s, TC_RED_NONE, 1, &body);
    return stage_of(l, n, VALUE_KEY + k)->out[0];
}

/* The tensor that holds output v of a node; its compute is made when first asked for. */
static const tc_tensor *value_stage(tc_graph_lower *l, const tc_graph_value *v) {
    uintptr_t *known = tc_map_get(&l->tensors, v->id);
    if (known)
        return (const tc_tensor *)*known;
    const tc_tensor *t = new_value_stage(l, v);
    tc_map_put(&l->tensors, v->id, (uintptr_t)t);
    return t;
}

static size_t memo_key(const tc_graph_value *v, const tc_expr *const *idx, int64_t key[MAX_KEY]) {
    key[0] = v->id;
    for (int d = 0; d < v->shape.ndim; d++)
        key[d + 1] = idx[d]->id;
    return (size_t)v->shape.ndim + 1;
}

static bool looks_through(const tc_graph_lower *l, const tc_graph_value *v) {
    return v->producer && tc_graph_class_of(v->producer->op) == TC_GRAPH_CLASS_VIEW && !is_stored(l, v);
}

/* The value lies in memory before the kernel starts. Through reshapes of it the kernel reads it in whatever shape suits best. */
static bool is_external(const tc_graph_lower *l, const tc_graph_value *v) {
    return member(l, v->producer) < 0 && !looks_through(l, v);
}

static const tc_expr *value_at(tc_graph_lower *l, const tc_graph_value *v, const tc_expr *const *idx) {
    const tc_graph_node *n = v->producer;
    if (v->constant && is_uniform(v->constant))
        return immediate(l, v->constant);
    int m = member(l, n);
    if (m >= 0 && l->group->stage[m])
        return read_squeezed(l, value_stage(l, v), &v->shape, idx);
    if (m >= 0 || (looks_through(l, v) && !is_external(l, memory_of(l, v))))
        return node_at(l, n, out_number(n, v), idx);
    if (tc_graph_shape_count(&v->shape) == 0) /* what reads no element at all: behind a condition that never holds */
        return tc_imm(l->c, v->dtype, 0);
    return read_squeezed(l, placeholder(l, v), &v->shape, idx);
}

const tc_expr *tc_graph_value_at(tc_graph_lower *l, const tc_graph_value *v, const tc_expr *const *idx) {
    int64_t key[MAX_KEY];
    size_t len = memo_key(v, idx, key);
    const tc_expr *known = recall(&l->memo, key, len);
    if (known)
        return known;
    const tc_expr *e = l->status == TC_OK ? value_at(l, v, idx) : tc_imm(l->c, v->dtype, 0);
    keep(l, &l->memo, key, len, e);
    return e;
}

/* The symbol that the size v is in workloads; NULL: it is none, and read as a value. */
static const tc_var *symbol_of(tc_graph_lower *l, const tc_graph_value *v) {
    return l->sized && !v->constant && member(l, v->producer) < 0 ? tc_graph_sized_symbol(l->sized, v) : NULL;
}

const tc_expr *tc_graph_size_at(tc_graph_lower *l, const tc_graph_value *v) {
    const tc_var *symbol = symbol_of(l, v);
    return symbol ? tc_varx(l->c, symbol) : tc_graph_value_at(l, v, NULL);
}

/* The symbol at which dimension d of v ends, with `fill` behind it, because v is masked; NULL: there is none. */
static const tc_var *masked_end(tc_graph_lower *l, const tc_graph_value *v, int d, tc_graph_fill fill) {
    for (const tc_graph_node *n; (n = v->producer) && n->op == TC_GRAPH_OP_MASKED; v = n->in[0]) {
        const tc_var *end = tc_graph_attr_axis(n) == d && n->in[1]->shape.ndim == 0 ? symbol_of(l, n->in[1]) : NULL;
        if (end && end->most <= v->shape.d[d] && tc_graph_is_fill(n->in[2], fill))
            return end;
    }
    return NULL;
}

const tc_expr *tc_graph_stage_walk(tc_graph_lower *l, tc_graph_stage *s, int k, int d) {
    const tc_graph_value *v = s->node->in[k];
    const tc_expr *i = tc_graph_stage_reduce(l, s, v->shape.d[d]);
    const tc_var *end = masked_end(l, v, d, tc_graph_neutral(s->node->op));
    /* A reduction of bools is one of integers, and starts with another number. */
    if (end && v->dtype != TC_BOOL && i->op == TC_OP_VAR) {
        s->raxes[s->nraxis - 1].symbol = end;
        s->raxes[s->nraxis - 1].extent = end->most;
    }
    return i;
}

const tc_expr *tc_graph_operand(tc_graph_lower *l, const tc_graph_node *n, int k, int ndim, const tc_expr *const *idx) {
    const tc_graph_value *v = n->in[k];
    const tc_expr *at[TC_GRAPH_MAX_DIMS];
    for (int d = 0; d < v->shape.ndim; d++)
        at[d] = v->shape.d[d] == 1 ? tc_i64(l->c, 0) : idx[d + ndim - v->shape.ndim];
    return tc_graph_value_at(l, v, at);
}

/* ---- a whole group ---- */

/* What is known of a value's dimensions, for those that its tensor has. */
static tc_te_part squeezed_part(const tc_graph_value *v, const tc_var *const *size) {
    tc_te_part part = {{0}};
    int n = 0;
    for (int d = 0; d < v->shape.ndim; d++)
        if (v->shape.d[d] != 1)
            part.size[n++] = size[d];
    return part;
}

static void ask(tc_graph_lower *l, const tc_graph_value *v, const tc_te_part *part) {
    const tc_var *size[TC_GRAPH_MAX_DIMS];
    int n = 0;
    for (int d = 0; d < v->shape.ndim; d++)
        size[d] = v->shape.d[d] != 1 ? part->size[n++] : NULL;
    tc_graph_sized_ask(l->sized, v, size);
}

static tc_te_part ends_of(const tc_graph_lower *l, const tc_graph_value *v) {
    const tc_var *size[TC_GRAPH_MAX_DIMS];
    tc_graph_sized_ends(l->sized, v, size);
    return squeezed_part(v, size);
}

/* Those of a part that are known before the kernel runs. */
static void drop_unknown(tc_te_part *part, const tc_var *const *known, int n) {
    for (int d = 0; d < TC_MAX_DIMS; d++) {
        int i = 0;
        while (i < n && known[i] != part->size[d])
            i++;
        if (i == n && part->size[d] != &tc_te_first)
            part->size[d] = NULL;
    }
}

/* Asks for what the workload reads, or, where that is known of everybody, ends it at its sizes. */
static tc_status limit(tc_graph_lower *l, const tc_graph_lowered *r, int nout, const tc_workload **w) {
    tc_arena *a = tc_ctx_arena(l->c);
    bool settled = tc_graph_sized_is_settled(l->sized);
    int nin = (*w)->nin, n;
    const tc_var **known = tc_graph_sized_known(l->sized, &n);
    tc_te_part *asked = TC_NEW_N(a, tc_te_part, nout), *have = TC_NEW_N(a, tc_te_part, nin), *read = TC_NEW_N(a, tc_te_part, nin);
    for (int i = 0; i < nout; i++) {
        asked[i] = ends_of(l, r->out[i]);
        drop_unknown(&asked[i], known, n);
    }
    for (int i = 0; i < nin; i++)
        if (!r->in[i]->constant)
            have[i] = ends_of(l, r->in[i]);
    tc_status s = tc_te_limit(l->c, *w, n, known, asked, have, settled ? w : NULL, read, l->err);
    for (int i = 0; i < nout && !settled; i++)
        ask(l, r->out[i], &asked[i]);
    for (int i = 0; i < nin && !settled; i++)
        ask(l, r->in[i], &read[i]);
    free(known);
    return s;
}

static tc_status finish(tc_graph_lower *l, int nout, tc_graph_value *const *outs, tc_graph_lowered *r) {
    tc_arena *a = tc_ctx_arena(l->c);
    const tc_tensor **out = TC_NEW_N(a, const tc_tensor *, nout);
    r->out = TC_NEW_N(a, const tc_graph_value *, nout);
    for (int i = 0; i < nout; i++) {
        out[i] = value_stage(l, outs[i]);
        r->out[i] = outs[i];
    }
    TC_TRY(l->status);
    tc_workload *made;
    TC_TRY(tc_te_workload(l->c, 0, NULL, nout, out, &made, l->err));
    r->workload = made;
    r->in = TC_NEW_N(a, const tc_graph_value *, made->nin);
    for (int i = 0; i < made->nin; i++)
        for (size_t k = 0; k < l->in.len; k++)
            if (l->in_tensor.data[k] == made->in[i])
                r->in[i] = l->in.data[k];
    if (l->sized)
        TC_TRY(limit(l, r, nout, &r->workload));
    return tc_graph_collapse(l->c, r->workload, &r->workload, l->err);
}

tc_status tc_graph_lower_group(tc_ctx *c, const tc_graph *g, const bool *stored, tc_graph_sized *sized,
                               const tc_graph_group *group, int nout, tc_graph_value *const *outs, tc_graph_lowered *out,
                               tc_error *err) {
    tc_error local = {0};
    tc_graph_lower l = {
        .c = c, .g = g, .group = group, .stored = stored, .sized = sized, .env = tc_env_new(), .err = err ? err : &local};
    for (int i = 0; i < group->n; i++)
        tc_map_put(&l.member, group->nodes[i]->id, (uintptr_t)i + 1);
    tc_status s = finish(&l, nout, outs, out);
    if (s != TC_OK && l.status == TC_OK)
        tc_error_prefix(l.err, "%s: the kernel of node '%s': ", g->file ? g->file : "graph", group->nodes[group->n - 1]->name);
    tc_env_free(l.env);
    tc_map_free(&l.member);
    tc_map_free(&l.holders);
    tc_map_free(&l.stages);
    tc_map_free(&l.tensors);
    tc_map_free(&l.memo);
    tc_vec_free(&l.in);
    tc_vec_free(&l.in_tensor);
    return s;
}
