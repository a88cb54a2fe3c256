/* What data.h describes. */
#include "graph/onnx/data.h"

#include <stdlib.h>
#include <string.h>

#include "data.pb-c.h"
#include "graph/onnx/onnx_int.h"
#include "support/inputs.h"
#include "support/system/fs.h"

/* ---- which kind ---- */

static bool is_sequence_of_tensors(const Onnx__TypeProto *t) {
    return t && t->value_case == ONNX__TYPE_PROTO__VALUE_SEQUENCE_TYPE && t->sequence_type->elem_type &&
           t->sequence_type->elem_type->value_case == ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE;
}

/* A damaged model may say nothing of a type; import refuses it, with a message. */
static tc_graph_data_kind kind_of(const Onnx__TypeProto *t) {
    const Onnx__TypeProto *held =
        t && t->value_case == ONNX__TYPE_PROTO__VALUE_OPTIONAL_TYPE ? t->optional_type->elem_type : NULL;
    if (!t || t->value_case == ONNX__TYPE_PROTO__VALUE__NOT_SET || t->value_case == ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE)
        return TC_GRAPH_DATA_TENSOR;
    if (is_sequence_of_tensors(t))
        return TC_GRAPH_DATA_SEQUENCE;
    if (held && held->value_case == ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE)
        return TC_GRAPH_DATA_OPTIONAL;
    return is_sequence_of_tensors(held) ? TC_GRAPH_DATA_OPTIONAL_SEQUENCE : TC_GRAPH_DATA_OTHER;
}

static void add_port(tc_arena *a, const Onnx__ValueInfoProto *v, tc_graph_data_port *ports, size_t *n) {
    tc_graph_data_port *p = &ports[(*n)++];
    *p = (tc_graph_data_port){.name = tc_arena_strdup(a, v->name ? v->name : ""), .kind = kind_of(v->type)};
    if (v->type && v->type->value_case == ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE)
        p->typed = tc_graph_dtype_of_onnx(v->type->tensor_type->elem_type, &p->dtype);
}

tc_status tc_graph_data_ports_read(const char *model, tc_arena *a, tc_graph_data_ports *out, tc_error *err) {
    Onnx__ModelProto *m;
    *out = (tc_graph_data_ports){0};
    TC_TRY(tc_onnx_read_outline(model, a, &m, err));
    const Onnx__GraphProto *g = m->graph;
    tc_map given = {0}; /* names of initializers */
    for (size_t i = 0; i < g->n_initializer; i++)
        if (g->initializer[i]->name)
            tc_map_puts(&given, g->initializer[i]->name, 1);
    out->in = TC_NEW_N(a, tc_graph_data_port, g->n_input + 1);
    out->out = TC_NEW_N(a, tc_graph_data_port, g->n_output + 1);
    for (size_t i = 0; i < g->n_input; i++)
        if (!tc_map_gets(&given, g->input[i]->name ? g->input[i]->name : ""))
            add_port(a, g->input[i], out->in, &out->nin);
    tc_map_free(&given);
    for (size_t i = 0; i < g->n_output; i++)
        add_port(a, g->output[i], out->out, &out->nout);
    return TC_OK;
}

/* ---- files ---- */

static tc_status read_items(Onnx__TensorProto **p, size_t n, const char *name, tc_graph_bundle *items, tc_error *err) {
    *items = (tc_graph_bundle){.items = tc_xcalloc(n + 1, sizeof *items->items)};
    for (size_t i = 0; i < n; i++) {
        tc_strbuf b = {0};
        TC_TRY(tc_onnx_read_tensor(p[i], NULL, true, &items->items[i].t, err));
        tc_sb_printf(&b, "%s[%zu]", name, i);
        items->items[items->len++].name = b.data;
    }
    return TC_OK;
}

static tc_status read_sequence(const Onnx__SequenceProto *p, const char *name, tc_graph_bundle *items, tc_error *err) {
    enum { TENSORS = 1 }; /* of SequenceProto.DataType; a file may leave the type of an empty sequence undefined */
    if (p->n_tensor_values == 0 && p->elem_type > TENSORS)
        return tc_refuse(err, TC_ERROR_UNSUPPORTED, "a sequence with elements that are not tensors is not supported");
    return read_items(p->tensor_values, p->n_tensor_values, name, items, err);
}

static tc_status read_optional(const Onnx__OptionalProto *p, const tc_graph_data_port *port, tc_graph_list *list,
                               tc_graph_bundle *items, tc_error *err) {
    bool sequence = port->kind == TC_GRAPH_DATA_OPTIONAL_SEQUENCE;
    if (sequence ? p->tensor_value != NULL : p->sequence_value != NULL)
        return tc_fail(err, TC_BAD_INPUT, "the optional holds a %s, but the model's '%s' is an optional %s",
                       sequence ? "tensor" : "sequence", port->name, sequence ? "sequence" : "tensor");
    list->empty = sequence ? !p->sequence_value : !p->tensor_value;
    if (list->empty)
        return TC_OK;
    return sequence ? read_sequence(p->sequence_value, port->name, items, err)
                    : read_items((Onnx__TensorProto *[]){p->tensor_value}, 1, port->name, items, err);
}

static tc_status read_message(const ProtobufCMessage *m, const tc_graph_data_port *port, tc_graph_list *list,
                              tc_graph_bundle *items, tc_error *err) {
    return list->optional ? read_optional((const Onnx__OptionalProto *)m, port, list, items, err)
                          : read_sequence((const Onnx__SequenceProto *)m, port->name, items, err);
}

tc_status tc_graph_pb_load_list(const char *path, const tc_graph_data_port *port, tc_graph_list *list, tc_graph_bundle *items,
                                tc_error *err) {
    char *data;
    size_t size;
    ProtobufCMessage *message = NULL;
    *items = (tc_graph_bundle){0};
    *list = (tc_graph_list){
        .name = port->name, .optional = port->kind != TC_GRAPH_DATA_SEQUENCE, .sequence = port->kind != TC_GRAPH_DATA_OPTIONAL};
    if (port->kind == TC_GRAPH_DATA_OTHER)
        return tc_refuse(
            err, TC_ERROR_UNSUPPORTED,
            "%s: the model's '%s' is a map, a sparse tensor, or a sequence of sequences; expected a tensor, a sequence "
            "of tensors, or an optional of either",
            path, port->name);
    TC_TRY(tc_fs_read_most(path, TC_BYTES_PB, &data, &size, err));
    tc_onnx_source from = {.data = (const uint8_t *)data, .size = size};
    tc_status s = tc_onnx_unpack(list->optional ? &onnx__optional_proto__descriptor : &onnx__sequence_proto__descriptor, NULL,
                                 &from, NULL, &message, err);
    if (s != TC_OK)
        tc_error_prefix(err, "not an ONNX %s: ", list->optional ? "optional" : "sequence");
    else
        s = read_message(message, port, list, items, err);
    if (s != TC_OK) {
        tc_error_prefix(err, "%s: ", path);
        tc_graph_bundle_free(items);
        *items = (tc_graph_bundle){0};
    }
    if (message)
        protobuf_c_message_free_unpacked(message, NULL);
    free(data);
    return s;
}
