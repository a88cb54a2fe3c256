/* Damage to a model's structure. The message is unpacked into an arena, changed in place, and packed again. */
#include "mutate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "graph/onnx/onnx_int.h"

typedef struct victim {
    tc_arena *a;
    tc_rng *r;
    Onnx__ModelProto *model;
    Onnx__GraphProto *g;
} victim;

static size_t below(victim *v, size_t n) {
    return (size_t)tc_rng_below(v->r, (int64_t)n);
}

static void *arena_alloc(void *a, size_t size) {
    return tc_arena_alloc(a, size ? size : 1);
}

static void arena_free(void *a, void *p) {
    (void)a;
    (void)p;
}

/* ---- names ---- */

/* NULL where it was left out. */
static char *a_name(victim *v) {
    const Onnx__GraphProto *g = v->g;
    if (g->n_node && below(v, 3)) {
        const Onnx__NodeProto *n = g->node[below(v, g->n_node)];
        if (n->n_input && below(v, 2))
            return n->input[below(v, n->n_input)];
        if (n->n_output)
            return n->output[below(v, n->n_output)];
    }
    if (g->n_initializer && below(v, 2))
        return g->initializer[below(v, g->n_initializer)]->name;
    if (g->n_input)
        return g->input[below(v, g->n_input)]->name;
    return tc_arena_strdup(v->a, below(v, 2) ? "nowhere" : "");
}

/* Any name of a value: of an input, a weight, a node's operand or result. */
static char *some_name(victim *v) {
    char *name = a_name(v);
    return name ? name : tc_arena_strdup(v->a, "");
}

static void rename_operand(victim *v, Onnx__NodeProto *n) {
    if (n->n_input)
        n->input[below(v, n->n_input)] = some_name(v);
}

static void rename_result(victim *v, Onnx__NodeProto *n) {
    if (n->n_output)
        n->output[below(v, n->n_output)] = some_name(v);
}

static void drop_operand(victim *v, Onnx__NodeProto *n) {
    if (n->n_input && below(v, 2))
        n->n_input--;
    else if (n->n_input)
        n->input[below(v, n->n_input)] = tc_arena_strdup(v->a, "");
}

static void add_operand(victim *v, Onnx__NodeProto *n) {
    char **more = tc_arena_alloc(v->a, sizeof *more * (n->n_input + 1));
    if (n->n_input)
        memcpy(more, n->input, sizeof *more * n->n_input);
    more[n->n_input] = some_name(v);
    n->input = more;
    n->n_input++;
}

/* ---- nodes ---- */

static void change_operator(victim *v, Onnx__NodeProto *n) {
    n->op_type = tc_arena_strdup(v->a, tc_graph_op_name((tc_graph_op)below(v, TC_GRAPH_OP_COUNT)));
}

static void change_domain(victim *v, Onnx__NodeProto *n) {
    n->domain = tc_arena_strdup(v->a, below(v, 2) ? "com.example" : "ai.onnx");
}

static void exchange_nodes(victim *v, Onnx__NodeProto *n) {
    size_t i = below(v, v->g->n_node), j = below(v, v->g->n_node);
    Onnx__NodeProto *t = v->g->node[i];
    (void)n;
    v->g->node[i] = v->g->node[j];
    v->g->node[j] = t;
    if (below(v, 3) == 0) /* one of them twice */
        v->g->node[i] = v->g->node[j];
    if (below(v, 4) == 0)
        v->g->n_node--;
}

/* ---- attributes ---- */

static void change_attribute(victim *v, Onnx__NodeProto *n) {
    static const float floats[] = {0, -1, 0.5F, 1e30F, -1e-30F, INFINITY, NAN};
    if (!n->n_attribute)
        return;
    Onnx__AttributeProto *p = n->attribute[below(v, n->n_attribute)];
    switch (below(v, 8)) {
    case 0:
        n->attribute[below(v, n->n_attribute)] = n->attribute[n->n_attribute - 1];
        n->n_attribute--;
        return;
    case 1:
        p->type = (Onnx__AttributeProto__AttributeType)below(v, 15);
        return;
    case 2:
        p->n_ints -= p->n_ints > 0;
        return;
    case 3:
        if (p->n_ints) { /* one more than there is room for in most operators */
            int64_t *more = tc_arena_alloc(v->a, sizeof *more * (p->n_ints + 1));
            memcpy(more, p->ints, sizeof *more * p->n_ints);
            more[p->n_ints++] = fuzz_number(v->r);
            p->ints = more;
        }
        return;
    default:
        p->i = fuzz_number(v->r);
        p->f = floats[below(v, TC_LEN(floats))];
        if (p->n_ints)
            p->ints[below(v, p->n_ints)] = fuzz_number(v->r);
        if (p->n_floats)
            p->floats[below(v, p->n_floats)] = floats[below(v, TC_LEN(floats))];
        if (p->s.len)
            p->s.data[below(v, p->s.len)] = (uint8_t)('A' + below(v, 60));
        return;
    }
}

/* A node gets an attribute of another. */
static void move_attribute(victim *v, Onnx__NodeProto *n) {
    const Onnx__NodeProto *from = v->g->node[below(v, v->g->n_node)];
    if (!from->n_attribute)
        return;
    Onnx__AttributeProto **more = tc_arena_alloc(v->a, sizeof(void *) * (n->n_attribute + 1));
    if (n->n_attribute)
        memcpy(more, n->attribute, sizeof(void *) * n->n_attribute);
    more[n->n_attribute] = from->attribute[below(v, from->n_attribute)];
    n->attribute = more;
    n->n_attribute++;
}

/* ---- tensors and types ---- */

static void change_weight(victim *v, Onnx__NodeProto *n) {
    (void)n;
    if (!v->g->n_initializer)
        return;
    Onnx__TensorProto *t = v->g->initializer[below(v, v->g->n_initializer)];
    switch (below(v, 5)) {
    case 0:
        t->data_type = (int32_t)below(v, 24);
        return;
    case 1:
        t->raw_data.len = t->raw_data.len ? below(v, t->raw_data.len) : 0;
        return;
    case 2:
        if (t->n_dims)
            t->dims[below(v, t->n_dims)] = fuzz_number(v->r);
        return;
    case 3:
        t->n_dims -= t->n_dims > 0;
        return;
    default: /* axes, shapes, pads, indices */
        if (t->data_type == ONNX__TENSOR_PROTO__DATA_TYPE__INT64 && t->raw_data.len >= 8) {
            int64_t number = fuzz_number(v->r);
            memcpy(t->raw_data.data + 8 * below(v, t->raw_data.len / 8), &number, 8);
        } else if (t->n_int64_data) {
            t->int64_data[below(v, t->n_int64_data)] = fuzz_number(v->r);
        }
        return;
    }
}

static void change_input(victim *v, Onnx__NodeProto *n) {
    (void)n;
    if (!v->g->n_input)
        return;
    Onnx__ValueInfoProto *p = v->g->input[below(v, v->g->n_input)];
    Onnx__TypeProto__Tensor *t =
        p->type && p->type->value_case == ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE ? p->type->tensor_type : NULL;
    if (!t || below(v, 4) == 0) {
        p->name = some_name(v);
        return;
    }
    if (below(v, 3) == 0)
        t->elem_type = (int32_t)below(v, 24);
    else if (t->shape && t->shape->n_dim && below(v, 4) == 0)
        t->shape->n_dim--;
    else if (t->shape && t->shape->n_dim) {
        Onnx__TensorShapeProto__Dimension *d = t->shape->dim[below(v, t->shape->n_dim)];
        d->value_case = ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE; /* it may have been a name */
        d->dim_value = fuzz_number(v->r);
    }
}

static void change_output(victim *v, Onnx__NodeProto *n) {
    (void)n;
    if (v->g->n_output && below(v, 2))
        v->g->output[below(v, v->g->n_output)]->name = some_name(v);
    else if (v->g->n_output)
        v->g->n_output--;
}

static void change_version(victim *v, Onnx__NodeProto *n) {
    (void)n;
    if (v->model->n_opset_import)
        v->model->opset_import[below(v, v->model->n_opset_import)]->version =
            below(v, 4) ? (int64_t)below(v, 24) : fuzz_number(v->r);
}

/* ---- */

static Onnx__ModelProto *unpack(ProtobufCAllocator *with, const char *data, size_t size) {
    Onnx__ModelProto *m = onnx__model_proto__unpack(with, size, (const uint8_t *)data);
    return m && m->graph ? m : NULL;
}

/* One to four changes: names, nodes, attributes, types, dimensions, weights, versions. False when the bytes are no model. */
static bool damage_structure(tc_arena *a, tc_rng *r, const char *data, size_t size, tc_strbuf *out) {
    static void (*const kinds[])(victim *, Onnx__NodeProto *) = {
        rename_operand, rename_operand, rename_result,    drop_operand,     add_operand,      change_operator, change_operator,
        change_domain,  exchange_nodes, change_attribute, change_attribute, change_attribute, move_attribute,  change_weight,
        change_weight,  change_weight,  change_input,     change_input,     change_output,    change_version};
    ProtobufCAllocator with = {arena_alloc, arena_free, a};
    victim v = {.a = a, .r = r, .model = unpack(&with, data, size)};
    if (!v.model || !v.model->graph->n_node)
        return false;
    v.g = v.model->graph;
    for (int64_t k = 1 + tc_rng_below(r, 4); k > 0 && v.g->n_node; k--) {
        size_t kind = below(&v, TC_LEN(kinds));
        kinds[kind](&v, v.g->node[below(&v, v.g->n_node)]);
    }
    size_t packed = onnx__model_proto__get_packed_size(v.model);
    uint8_t *bytes = tc_arena_alloc(a, packed + 1);
    onnx__model_proto__pack(v.model, bytes);
    tc_sb_addn(out, (const char *)bytes, packed);
    return true;
}

void fuzz_damage_onnx(tc_rng *r, const char *data, size_t size, tc_strbuf *out) {
    tc_arena *a = tc_arena_new();
    tc_strbuf changed = {0};
    bool structure = tc_rng_below(r, 4) && damage_structure(a, r, data, size, &changed);
    if (structure && tc_rng_below(r, 6))
        tc_sb_addn(out, changed.data, changed.len);
    else if (structure)
        fuzz_damage_bytes(r, changed.data, changed.len, out);
    else
        fuzz_damage_bytes(r, data, size, out);
    tc_strbuf_free(&changed);
    tc_arena_free(a);
}
