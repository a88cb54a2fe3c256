/* Cleans up after rewriting: removes identities, repeated reshapes, equal nodes and dead nodes. One forward walk renames operands.
 * One backward walk removes nodes that no output needs.
 *
 *   y = Identity(x)                =>  uses of y become uses of x
 *   y = Reshape(Reshape(x))        =>  y = Reshape(x), or x itself if the shape is x's own
 *   y = op(a); z = op(a)           =>  uses of z become uses of y */
#include <stdlib.h>
#include <string.h>

#include "graph/ir/build.h"
#include "support/hash.h"

typedef struct simplifier {
    tc_graph *g;
    tc_graph_value **to; /* by value id: what replaces it; NULL: itself */
    tc_map seen;         /* hash of a node -> node */
} simplifier;

static tc_graph_value *resolve(const simplifier *s, tc_graph_value *v) {
    while (v && s->to[v->id])
        v = s->to[v->id];
    return v;
}

static bool attrs_equal(const tc_graph_attr *a, const tc_graph_attr *b) {
    if (a->id != b->id)
        return false;
    switch (tc_graph_attr_kind_of(a->id)) {
    case TC_GRAPH_ATTR_INT:
        return a->i == b->i;
    case TC_GRAPH_ATTR_FLOAT:
        return memcmp(&a->f, &b->f, sizeof a->f) == 0;
    case TC_GRAPH_ATTR_STRING:
        return strcmp(a->s, b->s) == 0;
    case TC_GRAPH_ATTR_INTS:
        return a->len == b->len && memcmp(a->ints, b->ints, a->len * sizeof *a->ints) == 0;
    case TC_GRAPH_ATTR_FLOATS:
        return a->len == b->len && memcmp(a->floats, b->floats, a->len * sizeof *a->floats) == 0;
    case TC_GRAPH_ATTR_TENSOR:
        return a->tensor == b->tensor;
    }
    return false;
}

static bool same_type(const tc_graph_value *a, const tc_graph_value *b) {
    return a->dtype == b->dtype && tc_graph_shape_equal(&a->shape, &b->shape);
}

static bool nodes_equal(const tc_graph_node *a, const tc_graph_node *b) {
    if (a->op != b->op || a->nin != b->nin || a->nout != b->nout || a->nattrs != b->nattrs || a->body[0] != b->body[0])
        return false;
    if (memcmp(a->in, b->in, sizeof(*a->in) * (size_t)a->nin) != 0)
        return false;
    for (size_t i = 0; i < a->nattrs; i++)
        if (!attrs_equal(&a->attrs[i], &b->attrs[i]))
            return false;
    for (int k = 0; k < a->nout; k++)
        if (!a->out[k] != !b->out[k] || (a->out[k] && !same_type(a->out[k], b->out[k])))
            return false;
    return true;
}

static uint64_t node_hash(const tc_graph_node *n) {
    uint64_t h = tc_hash_mix(n->op, (uint64_t)n->nin);
    for (int k = 0; k < n->nin; k++)
        h = tc_hash_mix(h, n->in[k] ? n->in[k]->id : UINT32_MAX);
    for (size_t i = 0; i < n->nattrs; i++) {
        const tc_graph_attr *a = &n->attrs[i];
        h = tc_hash_mix(h, tc_graph_attr_kind_of(a->id) == TC_GRAPH_ATTR_INTS ? tc_hash64(a->ints, a->len * sizeof *a->ints, 0)
                                                                              : (uint64_t)a->i);
    }
    return h;
}

/* Equal constants become one, so that they are stored once and nodes that differ only in them are equal too. Their first bytes
 * tell large ones apart: weights that agree there are the same, with hardly an exception. */
static void merge_constants(simplifier *s) {
    enum { HASHED_BYTES = 4096 };
    tc_map seen = {0};
    for (size_t i = 0; i < s->g->values.len; i++) {
        tc_graph_value *v = s->g->values.data[i];
        if (!v->constant)
            continue;
        size_t bytes = tc_graph_tensor_bytes(v->constant);
        uint64_t h = tc_hash_mix(tc_hash64(v->constant->data, TC_MIN(bytes, HASHED_BYTES), v->dtype), bytes);
        h = tc_hash_mix(h, tc_hash64(v->shape.d, sizeof v->shape.d[0] * (size_t)v->shape.ndim, (uint64_t)v->shape.ndim));
        uintptr_t *other = tc_map_get(&seen, h);
        if (!other)
            tc_map_put(&seen, h, (uintptr_t)v);
        else if (tc_graph_tensor_equal(((tc_graph_value *)*other)->constant, v->constant))
            s->to[v->id] = (tc_graph_value *)*other;
    }
    tc_map_free(&seen);
}

static void skip_inner_reshape(tc_graph_node *n) {
    while (n->op == TC_GRAPH_OP_RESHAPE && n->in[0]->producer && n->in[0]->producer->op == TC_GRAPH_OP_RESHAPE)
        n->in[0] = n->in[0]->producer->in[0];
}

static bool is_identity(const tc_graph_node *n) {
    return n->op == TC_GRAPH_OP_IDENTITY || (tc_graph_keeps_memory(n) && same_type(n->in[0], n->out[0]));
}

static void simplify_node(simplifier *s, tc_graph_node *n) {
    for (int k = 0; k < n->nin; k++)
        n->in[k] = resolve(s, n->in[k]);
    skip_inner_reshape(n);
    if (is_identity(n)) {
        s->to[n->out[0]->id] = n->in[0];
        return;
    }
    uint64_t h = node_hash(n);
    uintptr_t *other = tc_map_get(&s->seen, h);
    if (!other) {
        tc_map_put(&s->seen, h, (uintptr_t)n);
        return;
    }
    tc_graph_node *twin = (tc_graph_node *)*other;
    if (!nodes_equal(twin, n))
        return;
    twin->origin = tc_graph_origin_join(s->g, twin->origin, n->origin);
    for (int k = 0; k < n->nout; k++)
        if (n->out[k])
            s->to[n->out[k]->id] = twin->out[k];
}

void tc_graph_drop_dead(tc_graph *g) {
    bool *needed = tc_xcalloc(g->values.len + 1, sizeof *needed);
    bool *keep = tc_xcalloc(g->nodes.len + 1, sizeof *keep);
    for (size_t i = 0; i < g->outputs.len; i++)
        needed[g->outputs.data[i].value->id] = true;
    for (size_t i = g->nodes.len; i-- > 0;) {
        const tc_graph_node *n = g->nodes.data[i];
        keep[i] = tc_graph_op_is(n->op, TC_GRAPH_STAYS);
        for (int k = 0; k < n->nout; k++)
            keep[i] |= n->out[k] && needed[n->out[k]->id];
        for (int k = 0; keep[i] && k < n->nin; k++)
            if (n->in[k])
                needed[n->in[k]->id] = true;
    }
    size_t len = 0;
    for (size_t i = 0; i < g->nodes.len; i++)
        if (keep[i])
            g->nodes.data[len++] = g->nodes.data[i];
    g->nodes.len = len;
    free(needed);
    free(keep);
}

/* ---- memory of constants ---- */

static int by_pointer(const void *x, const void *y) {
    const void *const *a = x, *const *b = y;
    return (*a > *b) - (*a < *b);
}

static bool holds(const void *const *sorted, size_t n, const void *p) {
    return n && bsearch(&p, sorted, n, sizeof *sorted, by_pointer);
}

typedef TC_VEC(const void *) addresses;

/* Where the constants lie that are read, also in bodies of nodes, or those of g's own that are not: `read` by value id. */
static void places(const tc_graph *g, const uint32_t *uses, bool read, addresses *at) {
    for (size_t i = 0; i < g->values.len; i++)
        if (g->values.data[i]->constant && (uses[i] > 0) == read)
            tc_push(at, g->values.data[i]->constant->data);
    for (size_t i = 0; i < g->nodes.len && read; i++)
        for (int k = 0; k < 2 && g->nodes.data[i]->body[k]; k++) {
            uint32_t *inside = tc_graph_count_uses(g->nodes.data[i]->body[k]);
            places(g->nodes.data[i]->body[k], inside, true, at);
            free(inside);
        }
}

/* Where the tensors lie that are attributes. */
static void attribute_places(const tc_graph *g, addresses *at) {
    for (size_t i = 0; i < g->nodes.len; i++)
        for (size_t k = 0; k < g->nodes.data[i]->nattrs; k++) {
            const tc_graph_attr *a = &g->nodes.data[i]->attrs[k];
            if (tc_graph_attr_kind_of(a->id) == TC_GRAPH_ATTR_TENSOR)
                tc_push(at, a->tensor->data);
        }
}

static void sorted_places(const tc_graph *g, const uint32_t *uses, bool read, addresses *at) {
    places(g, uses, read, at);
    if (read)
        attribute_places(g, at);
    if (at->len)
        qsort(at->data, at->len, sizeof *at->data, by_pointer);
}

/* Constants that share memory start at the same byte: one is the other in another shape. */
void tc_graph_release_constants(tc_graph *g) {
    uint32_t *uses = tc_graph_count_uses(g);
    addresses kept = {0}, dead = {0};
    size_t len = 0;
    sorted_places(g, uses, true, &kept);
    sorted_places(g, uses, false, &dead);
    for (size_t i = 0; i < g->blocks.len; i++) {
        void *p = g->blocks.data[i];
        if (!holds(dead.data, dead.len, p) || holds(kept.data, kept.len, p))
            g->blocks.data[len++] = p;
        else
            free(p);
    }
    g->blocks.len = len;
    for (size_t i = 0; i < g->values.len; i++)
        if (!uses[i])
            g->values.data[i]->constant = NULL;
    free(uses);
    tc_vec_free(&kept);
    tc_vec_free(&dead);
}

void tc_graph_simplify(tc_graph *g) {
    simplifier s = {.g = g};
    s.to = tc_xcalloc(g->values.len + 1, sizeof *s.to);
    merge_constants(&s);
    for (size_t i = 0; i < g->nodes.len && !tc_ran_out(); i++)
        simplify_node(&s, g->nodes.data[i]);
    for (size_t i = 0; i < g->outputs.len; i++)
        g->outputs.data[i].value = resolve(&s, g->outputs.data[i].value);
    tc_graph_drop_dead(g);
    free(s.to);
    tc_map_free(&s.seen);
}
