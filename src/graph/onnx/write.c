/* The ONNX builder of onnx_write.h: protobuf structures in one arena, packed once. */
#include "graph/onnx/write.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "graph/onnx/onnx_int.h"
#include "support/system/fs.h"

struct tc_graph_writer {
    tc_arena *arena;
    const char *name;
    int64_t ir, opset;
    TC_VEC(Onnx__NodeProto *) nodes;
    TC_VEC(Onnx__TensorProto *) weights;
    TC_VEC(Onnx__ValueInfoProto *) inputs;
    TC_VEC(Onnx__ValueInfoProto *) outputs;
    TC_VEC(void *) owned;
    TC_VEC(tc_graph_writer *) bodies; /* of nodes */
};

tc_graph_writer *tc_graph_writer_new(const char *graph_name, int opset) {
    tc_arena *a = tc_arena_new();
    tc_graph_writer *w = TC_NEW(a, tc_graph_writer);
    w->arena = a;
    w->name = tc_arena_strdup(a, graph_name);
    w->ir = 8;
    w->opset = opset;
    return w;
}

void tc_graph_writer_free(tc_graph_writer *w) {
    if (!w)
        return;
    for (size_t i = 0; i < w->owned.len; i++)
        free(w->owned.data[i]);
    tc_vec_free(&w->nodes);
    tc_vec_free(&w->weights);
    tc_vec_free(&w->inputs);
    tc_vec_free(&w->outputs);
    tc_vec_free(&w->owned);
    for (size_t i = 0; i < w->bodies.len; i++)
        tc_graph_writer_free(w->bodies.data[i]);
    tc_vec_free(&w->bodies);
    tc_arena_free(w->arena);
}

void tc_graph_writer_versions(tc_graph_writer *w, int64_t ir, int64_t opset) {
    w->ir = ir;
    w->opset = opset;
}

/* "a,,c" as an array of strings; "" has no elements. */
static char **split_list(tc_graph_writer *w, const char *text, size_t *len) {
    *len = *text != 0;
    for (const char *p = text; *p; p++)
        *len += *p == ',';
    char **list = TC_NEW_N(w->arena, char *, *len);
    for (size_t i = 0; i < *len; i++) {
        size_t n = strcspn(text, ",");
        list[i] = tc_arena_strndup(w->arena, text, n);
        text += n + 1;
    }
    return list;
}

static int64_t *split_ints(tc_graph_writer *w, const char *text, size_t *len) {
    char **list = split_list(w, text, len);
    int64_t *v = TC_NEW_N(w->arena, int64_t, *len);
    for (size_t i = 0; i < *len; i++)
        v[i] = strtoll(list[i], NULL, 10);
    return v;
}

/* ---- values ---- */

static Onnx__TensorShapeProto *new_shape(tc_graph_writer *w, const char *dims) {
    Onnx__TensorShapeProto *s = TC_NEW(w->arena, Onnx__TensorShapeProto);
    onnx__tensor_shape_proto__init(s);
    char **list = split_list(w, dims, &s->n_dim);
    s->dim = TC_NEW_N(w->arena, Onnx__TensorShapeProto__Dimension *, s->n_dim);
    for (size_t i = 0; i < s->n_dim; i++) {
        s->dim[i] = TC_NEW(w->arena, Onnx__TensorShapeProto__Dimension);
        onnx__tensor_shape_proto__dimension__init(s->dim[i]);
        char *end;
        long long v = strtoll(list[i], &end, 10);
        if (*end == 0 && end != list[i]) {
            s->dim[i]->value_case = ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE;
            s->dim[i]->dim_value = v;
        } else {
            s->dim[i]->value_case = ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_PARAM;
            s->dim[i]->dim_param = list[i];
        }
    }
    return s;
}

static Onnx__ValueInfoProto *new_info(tc_graph_writer *w, const char *name, tc_dtype dtype, const char *dims) {
    return tc_onnx_value_info(w->arena, name, dtype, dims ? new_shape(w, dims) : NULL);
}

void tc_graph_writer_input(tc_graph_writer *w, const char *name, tc_dtype dtype, const char *dims) {
    tc_push(&w->inputs, new_info(w, name, dtype, dims));
}

void tc_graph_writer_output(tc_graph_writer *w, const char *name, tc_dtype dtype, const char *dims) {
    tc_push(&w->outputs, new_info(w, name, dtype, dims));
}

static Onnx__TensorProto *new_tensor(tc_graph_writer *w, const char *name, const tc_graph_tensor *t) {
    Onnx__TensorProto *p = TC_NEW(w->arena, Onnx__TensorProto);
    tc_onnx_fill_tensor(w->arena, p, tc_arena_strdup(w->arena, name), t);
    if (t->storage == TC_GRAPH_OWNED)
        tc_push(&w->owned, t->data);
    else
        p->raw_data.data = tc_arena_dup(w->arena, p->raw_data.data, p->raw_data.len);
    return p;
}

void tc_graph_writer_weight(tc_graph_writer *w, const char *name, tc_graph_tensor t) {
    tc_push(&w->weights, new_tensor(w, name, &t));
}

void tc_graph_writer_raw(tc_graph_writer *w, const char *name, int onnx_type, const int64_t *dims, int ndim, const void *bytes,
                         size_t size) {
    Onnx__TensorProto *p = TC_NEW(w->arena, Onnx__TensorProto);
    onnx__tensor_proto__init(p);
    p->name = tc_arena_strdup(w->arena, name);
    p->has_data_type = 1;
    p->data_type = onnx_type;
    p->n_dims = (size_t)ndim;
    p->dims = tc_arena_dup(w->arena, dims, sizeof *dims * (size_t)ndim);
    p->has_raw_data = 1;
    p->raw_data = (ProtobufCBinaryData){size, tc_arena_dup(w->arena, bytes, size)};
    tc_push(&w->weights, p);
}

static Onnx__StringStringEntryProto *new_entry(tc_graph_writer *w, const char *key, const char *value) {
    Onnx__StringStringEntryProto *e = TC_NEW(w->arena, Onnx__StringStringEntryProto);
    onnx__string_string_entry_proto__init(e);
    e->key = (char *)key;
    e->value = tc_arena_strdup(w->arena, value);
    return e;
}

void tc_graph_writer_external(tc_graph_writer *w, const char *name, tc_dtype dtype, const char *dims, const char *location,
                              int64_t offset, int64_t length) {
    Onnx__TensorProto *p = TC_NEW(w->arena, Onnx__TensorProto);
    onnx__tensor_proto__init(p);
    p->name = tc_arena_strdup(w->arena, name);
    p->has_data_type = 1;
    p->data_type = tc_graph_dtype_to_onnx(dtype);
    p->dims = split_ints(w, dims, &p->n_dims);
    p->has_data_location = 1;
    p->data_location = ONNX__TENSOR_PROTO__DATA_LOCATION__EXTERNAL;
    p->external_data = TC_NEW_N(w->arena, Onnx__StringStringEntryProto *, 3);
    p->external_data[p->n_external_data++] = new_entry(w, "location", location);
    p->external_data[p->n_external_data++] = new_entry(w, "offset", tc_arena_printf(w->arena, "%" PRId64, offset));
    if (length >= 0)
        p->external_data[p->n_external_data++] = new_entry(w, "length", tc_arena_printf(w->arena, "%" PRId64, length));
    tc_push(&w->weights, p);
}

/* ---- nodes ---- */

enum { MAX_ATTRS = 16 };

void tc_graph_writer_node(tc_graph_writer *w, const char *op, const char *name, const char *inputs, const char *outputs) {
    Onnx__NodeProto *n = TC_NEW(w->arena, Onnx__NodeProto);
    onnx__node_proto__init(n);
    n->op_type = tc_arena_strdup(w->arena, op);
    n->name = tc_arena_strdup(w->arena, name);
    n->input = split_list(w, inputs, &n->n_input);
    n->output = split_list(w, outputs, &n->n_output);
    n->attribute = TC_NEW_N(w->arena, Onnx__AttributeProto *, MAX_ATTRS);
    tc_push(&w->nodes, n);
}

void tc_graph_writer_domain(tc_graph_writer *w, const char *domain) {
    w->nodes.data[w->nodes.len - 1]->domain = tc_arena_strdup(w->arena, domain);
}

static Onnx__AttributeProto *new_attr(tc_graph_writer *w, const char *name, Onnx__AttributeProto__AttributeType type) {
    Onnx__NodeProto *n = w->nodes.data[w->nodes.len - 1];
    Onnx__AttributeProto *a = TC_NEW(w->arena, Onnx__AttributeProto);
    onnx__attribute_proto__init(a);
    a->name = tc_arena_strdup(w->arena, name);
    a->has_type = 1;
    a->type = type;
    if (n->n_attribute == MAX_ATTRS)
        abort(); /* no operator has as many */
    n->attribute[n->n_attribute++] = a;
    return a;
}

void tc_graph_writer_int(tc_graph_writer *w, const char *name, int64_t v) {
    Onnx__AttributeProto *a = new_attr(w, name, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INT);
    a->has_i = 1;
    a->i = v;
}

void tc_graph_writer_float(tc_graph_writer *w, const char *name, float v) {
    Onnx__AttributeProto *a = new_attr(w, name, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOAT);
    a->has_f = 1;
    a->f = v;
}

void tc_graph_writer_str(tc_graph_writer *w, const char *name, const char *v) {
    Onnx__AttributeProto *a = new_attr(w, name, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__STRING);
    a->has_s = 1;
    a->s = (ProtobufCBinaryData){strlen(v), tc_arena_dup(w->arena, v, strlen(v))};
}

void tc_graph_writer_ints(tc_graph_writer *w, const char *name, const char *list) {
    Onnx__AttributeProto *a = new_attr(w, name, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INTS);
    a->ints = split_ints(w, list, &a->n_ints);
}

void tc_graph_writer_tensor(tc_graph_writer *w, const char *name, tc_graph_tensor t) {
    new_attr(w, name, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__TENSOR)->t = new_tensor(w, "", &t);
}

/* ---- graphs ---- */

static void fill_graph(const tc_graph_writer *w, Onnx__GraphProto *g) {
    onnx__graph_proto__init(g);
    g->name = (char *)w->name;
    g->n_node = w->nodes.len;
    g->node = w->nodes.data;
    g->n_initializer = w->weights.len;
    g->initializer = w->weights.data;
    g->n_input = w->inputs.len;
    g->input = w->inputs.data;
    g->n_output = w->outputs.len;
    g->output = w->outputs.data;
}

void tc_graph_writer_body(tc_graph_writer *w, const char *name, tc_graph_writer *body) {
    Onnx__AttributeProto *a = new_attr(w, name, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__GRAPH);
    a->g = TC_NEW(w->arena, Onnx__GraphProto);
    fill_graph(body, a->g);
    tc_push(&w->bodies, body);
}

/* ---- file ---- */

tc_status tc_graph_writer_save(tc_graph_writer *w, const char *path, tc_error *err) {
    Onnx__GraphProto g;
    fill_graph(w, &g);
    Onnx__OperatorSetIdProto opset, *opsets = &opset;
    onnx__operator_set_id_proto__init(&opset);
    opset.has_version = 1;
    opset.version = w->opset;
    Onnx__ModelProto m;
    onnx__model_proto__init(&m);
    m.has_ir_version = 1;
    m.ir_version = w->ir;
    m.producer_name = (char *)"tctune";
    m.n_opset_import = 1;
    m.opset_import = &opsets;
    m.graph = &g;
    TC_TRY(tc_fs_check_writable(path, err));
    size_t size = onnx__model_proto__get_packed_size(&m);
    uint8_t *bytes = malloc(size + 1);
    if (!bytes)
        return tc_fail(err, TC_ENV, "%s: out of memory for a model of %zu bytes", path, size);
    onnx__model_proto__pack(&m, bytes);
    tc_status s = tc_fs_write(path, bytes, size, err);
    free(bytes);
    return s;
}
