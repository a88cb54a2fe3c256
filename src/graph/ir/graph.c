/* The containers of a graph: values, nodes, replacement, verification. */
#include "graph/ir/budget.h"
#include "graph/ir/build.h"
#include "graph/ir/sizes.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

tc_graph *tc_graph_new(const char *file) {
    tc_arena *a = tc_arena_new();
    tc_graph *g = TC_NEW(a, tc_graph);
    g->arena = a;
    g->file = tc_arena_strdup(a, file);
    g->name = "graph";
    g->opset = TC_GRAPH_OPSET_MAX;
    return g;
}

void tc_graph_free(tc_graph *g) {
    if (!g)
        return;
    for (size_t i = 0; i < g->blocks.len; i++)
        free(g->blocks.data[i]);
    for (size_t i = 0; i < g->bodies.len; i++)
        tc_graph_free(g->bodies.data[i]);
    tc_vec_free(&g->bodies);
    tc_vec_free(&g->blocks);
    tc_vec_free(&g->values);
    tc_vec_free(&g->nodes);
    tc_vec_free(&g->inputs);
    tc_vec_free(&g->symbols);
    tc_vec_free(&g->fixed);
    tc_graph_sizes_free(g->sizes);
    tc_vec_free(&g->outputs);
    tc_map_free(&g->names);
    tc_map_free(&g->suffixes);
    tc_arena_free(g->arena);
}

tc_graph_value *tc_graph_find_value(const tc_graph *g, const char *name) {
    uintptr_t *slot = tc_map_gets(&g->names, name);
    return slot ? (tc_graph_value *)*slot : NULL;
}

const char *tc_graph_fresh_name(tc_graph *g, const char *base) {
    const char *name = tc_arena_strdup(g->arena, base);
    uintptr_t *last = tc_map_gets(&g->suffixes, name), i = last ? *last : 1;
    const char *key = name;
    while (tc_map_gets(&g->names, name) || (g->reserved && tc_map_gets(g->reserved, name)))
        name = tc_arena_printf(g->arena, "%s.%d", base, (int)++i);
    if (last)
        *last = i;
    else if (i > 1)
        tc_map_puts(&g->suffixes, key, i);
    return name;
}

tc_graph_value *tc_graph_add_value(tc_graph *g, const char *name, tc_dtype dtype, const tc_graph_shape *shape) {
    bool taken = tc_graph_find_value(g, name);
    const char *unique = taken ? tc_graph_fresh_name(g, name) : tc_arena_strdup(g->arena, name);
    tc_graph_value *v = TC_NEW(g->arena, tc_graph_value);
    v->name = unique;
    v->id = (uint32_t)g->values.len;
    v->dtype = dtype;
    v->shape = *shape;
    tc_push(&g->values, v);
    tc_map_puts(&g->names, unique, (uintptr_t)v);
    return v;
}

void tc_graph_rename_value(tc_graph *g, tc_graph_value *v, const char *name) {
    v->name = tc_graph_find_value(g, name) ? tc_graph_fresh_name(g, name) : tc_arena_strdup(g->arena, name);
    tc_map_puts(&g->names, v->name, (uintptr_t)v);
}

tc_graph_value *tc_graph_add_input(tc_graph *g, const char *name, tc_dtype dtype, const tc_graph_shape *shape) {
    tc_graph_value *v = tc_graph_add_value(g, name, dtype, shape);
    tc_push(&g->inputs, v);
    return v;
}

/* Storage that the graph now keeps alive. */
static void adopt(tc_graph *g, tc_graph_tensor *t) {
    if (t->storage == TC_GRAPH_OWNED) {
        tc_push(&g->blocks, t->data);
    } else {
        assert(tc_graph_tensor_bytes(t) < TC_ALLOC_LARGEST);
        void *copy = tc_xmalloc(tc_graph_tensor_bytes(t) + 1);
        memcpy(copy, t->data, tc_graph_tensor_bytes(t));
        tc_push(&g->blocks, copy);
        t->data = copy;
    }
    t->storage = TC_GRAPH_VIEW;
}

const tc_graph_tensor *tc_graph_keep_tensor(tc_graph *g, tc_graph_tensor *t) {
    adopt(g, t);
    return tc_arena_dup(g->arena, t, sizeof *t);
}

tc_graph_value *tc_graph_add_constant(tc_graph *g, const char *name, tc_graph_tensor *t) {
    tc_graph_value *v = tc_graph_add_value(g, name, t->dtype, &t->shape);
    v->constant = tc_graph_keep_tensor(g, t);
    return v;
}

tc_graph_value *tc_graph_constant_of(tc_graph *g, const char *base, tc_dtype t, const tc_graph_shape *s, const double *v,
                                     tc_error *err) {
    tc_graph_tensor made;
    if (tc_graph_tensor_alloc(&made, t, s, err) != TC_OK)
        return NULL;
    tc_graph_tensor_from_f64(&made, v);
    return tc_graph_add_constant(g, tc_graph_fresh_name(g, base), &made);
}

void tc_graph_add_output(tc_graph *g, const char *name, tc_graph_value *v) {
    tc_push(&g->outputs, ((tc_graph_output){.name = tc_arena_strdup(g->arena, name), .value = v}));
}

void tc_graph_set_inputs(tc_graph *g, tc_graph_node *n, tc_graph_value *const *in, int nin) {
    while (nin > 0 && !in[nin - 1])
        nin--;
    n->in = tc_arena_dup(g->arena, in, sizeof *in * (size_t)nin);
    n->nin = nin;
}

tc_graph_node *tc_graph_new_node(tc_graph *g, tc_graph_op op, const char *name, tc_graph_value *const *in, int nin) {
    tc_graph_node *n = TC_NEW(g->arena, tc_graph_node);
    n->op = op;
    n->id = g->next_id++;
    if (g->budget)
        g->budget->spent[TC_GRAPH_BUDGET_NODES]++;
    n->origin = g->origin;
    n->name = name && *name ? tc_arena_strdup(g->arena, name) : tc_arena_printf(g->arena, "%s_%u", tc_graph_op_name(op), n->id);
    tc_graph_set_inputs(g, n, in, nin);
    return n;
}

const tc_graph_value *tc_graph_memory_of(const tc_graph_value *v) {
    while (tc_graph_keeps_memory(v->producer))
        v = v->producer->in[0];
    return v;
}

uint32_t *tc_graph_count_uses(const tc_graph *g) {
    uint32_t *uses = tc_xcalloc(g->values.len + 1, sizeof *uses);
    for (size_t i = 0; i < g->nodes.len; i++)
        for (int k = 0; k < g->nodes.data[i]->nin; k++)
            if (g->nodes.data[i]->in[k])
                uses[g->nodes.data[i]->in[k]->id]++;
    for (size_t i = 0; i < g->outputs.len; i++)
        uses[g->outputs.data[i].value->id]++;
    return uses;
}

void tc_graph_replace(tc_graph *g, tc_graph_value *from, tc_graph_value *to) {
    for (size_t i = 0; i < g->nodes.len; i++)
        for (int k = 0; k < g->nodes.data[i]->nin; k++)
            if (g->nodes.data[i]->in[k] == from)
                g->nodes.data[i]->in[k] = to;
    for (size_t i = 0; i < g->outputs.len; i++)
        if (g->outputs.data[i].value == from)
            g->outputs.data[i].value = to;
}

tc_status tc_graph_check_input(const tc_graph *g, size_t i, const tc_graph_tensor *t, tc_error *err) {
    const tc_graph_value *v = g->inputs.data[i];
    if (tc_graph_tensor_holds(t, v->dtype) && tc_graph_shape_equal(&v->shape, &t->shape))
        return TC_OK;
    tc_arena *scratch = tc_arena_new();
    tc_status s = tc_fail(err, TC_BAD_INPUT, "input '%s' must be %s, but the given array is %s", v->name,
                          tc_graph_type_str(scratch, v->dtype, &v->shape), tc_graph_type_str(scratch, t->dtype, &t->shape));
    tc_arena_free(scratch);
    return s;
}

/* ---- verification ---- */

static tc_status verify_bodies(const tc_graph_node *n, tc_error *err) {
    for (int k = 0; k < 2 && n->body[k]; k++)
        if (tc_graph_verify(n->body[k], err) != TC_OK) {
            tc_error_prefix(err, "node '%s' (%s): in its body: ", n->name, tc_graph_op_name(n->op));
            return TC_BAD_INPUT;
        }
    return TC_OK;
}

static tc_status verify_node(const tc_graph *g, const tc_graph_node *n, bool *defined, tc_error *err) {
    for (int k = 0; k < n->nin; k++) {
        const tc_graph_value *v = n->in[k];
        if (!v)
            continue;
        if (v->id >= g->values.len || g->values.data[v->id] != v)
            return tc_fail(err, TC_BAD_INPUT, "node '%s': input %d is not a value of this graph", n->name, k);
        if (!defined[v->id])
            return tc_fail(err, TC_BAD_INPUT, "node '%s': input '%s' is used before it is made", n->name, v->name);
    }
    for (int k = 0; k < n->nout; k++) {
        const tc_graph_value *v = n->out[k];
        if (!v)
            continue;
        if (v->producer != n || v->constant)
            return tc_fail(err, TC_BAD_INPUT, "node '%s': output '%s' does not name it as its producer", n->name, v->name);
        if (defined[v->id])
            return tc_fail(err, TC_BAD_INPUT, "node '%s': output '%s' is made twice", n->name, v->name);
        defined[v->id] = true;
    }
    return verify_bodies(n, err);
}

static tc_status verify_values(const tc_graph *g, bool *defined, tc_error *err) {
    for (size_t i = 0; i < g->values.len; i++) {
        const tc_graph_value *v = g->values.data[i];
        if (v->id != i)
            return tc_fail(err, TC_BAD_INPUT, "value '%s' has a wrong id", v->name);
        TC_TRY(tc_graph_shape_check(&v->shape, err));
        if (!v->constant)
            continue;
        if (v->constant->dtype != v->dtype || !tc_graph_shape_equal(&v->constant->shape, &v->shape) || v->producer)
            return tc_fail(err, TC_BAD_INPUT, "constant '%s' does not match its value's type", v->name);
        defined[i] = true;
    }
    for (size_t i = 0; i < g->inputs.len; i++)
        defined[g->inputs.data[i]->id] = true;
    return TC_OK;
}

tc_status tc_graph_verify(const tc_graph *g, tc_error *err) {
    bool *defined = tc_xcalloc(g->values.len + 1, sizeof *defined);
    tc_status s = verify_values(g, defined, err);
    for (size_t i = 0; i < g->nodes.len && s == TC_OK; i++)
        s = verify_node(g, g->nodes.data[i], defined, err);
    for (size_t i = 0; i < g->outputs.len && s == TC_OK; i++)
        if (!defined[g->outputs.data[i].value->id])
            s = tc_fail(err, TC_BAD_INPUT, "output '%s' is never made", g->outputs.data[i].name);
    free(defined);
    return s;
}
