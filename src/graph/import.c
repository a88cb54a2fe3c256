/* ONNX import: file -> checked message -> typed, folded graph. The order is that of the messages a user wants to see: first
 * whether it is a model at all, then whether all of its operators are known, then types, then nodes one by one. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "graph/onnx_int.h"
#include "support/fs.h"
#include "support/log.h"

/* ONNX IR versions: opsets came with 3; 11 is the newest known (opset 21 came with 10). */
enum { IR_MIN = 1, IR_WITH_OPSETS = 3, IR_MAX = 11 };

typedef struct importer {
    const char *path;
    const tc_graph_import_options *opts;
    Onnx__ModelProto *model;
    Onnx__GraphProto *proto;
    tc_graph *g;
    tc_onnx_files files;
    tc_map producers; /* value name -> index of the node that makes it */
    bool *used_shapes;
} importer;

/* ---- reading the file ---- */

static tc_status unpack_model(const char *path, const void *data, size_t size, Onnx__ModelProto **out, tc_error *err) {
    *out = size ? onnx__model_proto__unpack(NULL, size, data) : NULL;
    if (*out && (*out)->graph)
        return TC_OK;
    tc_arena *a = tc_arena_new();
    const char *why = *out ? "it has no graph, so it is not an ONNX model" : tc_onnx_diagnose(a, data, size);
    tc_status s = tc_fail(err, TC_BAD_INPUT, "%s: %s; expected a file that torch.onnx.export or the like wrote", path, why);
    tc_arena_free(a);
    if (*out)
        onnx__model_proto__free_unpacked(*out, NULL);
    *out = NULL;
    return s;
}

/* The file is mapped while it is parsed: one copy of the weights instead of two. */
static tc_status read_model(const char *path, Onnx__ModelProto **out, tc_error *err) {
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat st;
    if (fd < 0)
        return tc_fail(err, TC_BAD_INPUT, "%s: cannot be opened: %s", path, strerror(errno));
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) {
        close(fd);
        return tc_fail(err, TC_BAD_INPUT, "%s: not a file", path);
    }
    size_t size = (size_t)st.st_size;
    void *data = size ? mmap(NULL, size, PROT_READ, MAP_PRIVATE | MAP_POPULATE, fd, 0) : NULL;
    close(fd);
    if (data == MAP_FAILED)
        return tc_fail(err, TC_ENV, "%s: cannot be read: %s", path, strerror(errno));
    tc_status s = unpack_model(path, data, size, out, err);
    if (data)
        munmap(data, size);
    return s;
}

/* ---- whole-model checks ---- */

static bool default_domain(const char *domain) {
    return !domain || !*domain || strcmp(domain, "ai.onnx") == 0;
}

static tc_status check_versions(importer *im, tc_error *err) {
    const Onnx__ModelProto *m = im->model;
    if (m->ir_version < IR_MIN || m->ir_version > IR_MAX)
        return tc_fail(err, TC_BAD_INPUT,
                       "ONNX IR version %" PRId64 " is not supported (%d to %d are); export with an older version", m->ir_version,
                       IR_MIN, IR_MAX);
    int64_t opset = m->ir_version < IR_WITH_OPSETS ? 1 : 0;
    for (size_t i = 0; i < m->n_opset_import; i++)
        if (default_domain(m->opset_import[i]->domain))
            opset = m->opset_import[i]->version;
    if (opset == 0)
        return tc_fail(err, TC_BAD_INPUT, "the model does not say which opset it uses: the file is truncated or damaged");
    if (opset < TC_GRAPH_OPSET_MIN || opset > TC_GRAPH_OPSET_MAX)
        return tc_fail(err, TC_BAD_INPUT,
                       "opset %" PRId64 " of the default domain is not supported (%d to %d are); export with opset_version=17",
                       opset, TC_GRAPH_OPSET_MIN, TC_GRAPH_OPSET_MAX);
    im->g->opset = (int)opset;
    if (im->proto->n_sparse_initializer)
        return tc_fail(err, TC_BAD_INPUT, "sparse initializers are not supported");
    return TC_OK;
}

/* Also an operator newer than the model's opset is unknown to it. */
static bool known_operator(const importer *im, const Onnx__NodeProto *n, tc_graph_op *op) {
    return n->op_type && default_domain(n->domain) && tc_graph_op_find(n->op_type, op) &&
           tc_graph_op_info_of(*op)->since <= im->g->opset;
}

/* All unknown operators at once: each with its domain, count and first node. */
static tc_status check_operators(importer *im, tc_error *err) {
    tc_map counts = {0};
    tc_strbuf b = {0};
    const Onnx__GraphProto *p = im->proto;
    tc_graph_op op;
    for (size_t i = 0; i < p->n_node; i++) {
        const Onnx__NodeProto *n = p->node[i];
        if (known_operator(im, n, &op))
            continue;
        const char *domain = default_domain(n->domain) ? "ai.onnx" : n->domain;
        const char *key =
            tc_arena_printf(im->g->arena, "%s (domain %s, first in node '%s'", n->op_type ? n->op_type : "(no type)", domain,
                            n->name && *n->name ? n->name
                            : n->n_output       ? n->output[0]
                                                : "(unnamed)");
        size_t head = strcspn(key, ",");
        bool seen = false;
        for (size_t k = 0; k < counts.len && !seen; k++)
            if (strncmp(counts.entries[k].str, key, head + 1) == 0) {
                counts.entries[k].value++;
                seen = true;
            }
        if (!seen)
            tc_map_puts(&counts, key, 1);
    }
    for (size_t k = 0; k < counts.len && k < 8; k++)
        tc_sb_printf(&b, "%s%s; %zu in all)", k ? ", " : "", counts.entries[k].str, (size_t)counts.entries[k].value);
    tc_status s = TC_OK;
    if (counts.len) {
        tc_strbuf ops = {0};
        tc_graph_list_ops(&ops);
        s = tc_fail(err, TC_BAD_INPUT, "operators that are not supported at opset %d: %s. Supported: %s", im->g->opset,
                    tc_sb_str(&b), tc_sb_str(&ops));
        tc_strbuf_free(&ops);
    }
    tc_strbuf_free(&b);
    tc_map_free(&counts);
    return s;
}

static tc_status duplicate(const char *name, const char *what, tc_error *err) {
    return tc_fail(err, TC_BAD_INPUT, "the name '%s' is given twice (%s); every value of an ONNX graph has one source", name,
                   what);
}

/* Who makes which value; every value is made once. */
static tc_status index_producers(importer *im, tc_error *err) {
    const Onnx__GraphProto *p = im->proto;
    for (size_t i = 0; i < p->n_node; i++)
        for (size_t k = 0; k < p->node[i]->n_output; k++) {
            const char *name = p->node[i]->output[k];
            if (*name && !tc_map_puts(&im->producers, name, i))
                return duplicate(name, "as the output of two nodes", err);
        }
    return TC_OK;
}

/* ---- initializers and inputs ---- */

static tc_status add_initializers(importer *im, tc_error *err) {
    Onnx__GraphProto *p = im->proto;
    for (size_t i = 0; i < p->n_initializer; i++) {
        const char *name = p->initializer[i]->name;
        if (!name || !*name)
            return tc_fail(err, TC_BAD_INPUT, "initializer %zu has no name", i);
        if (tc_graph_find_value(im->g, name) || tc_map_gets(&im->producers, name))
            return duplicate(name, "an initializer", err);
        tc_graph_tensor t;
        TC_TRY(tc_onnx_read_tensor(p->initializer[i], &im->files, true, &t, err));
        if (t.storage == TC_GRAPH_OWNED) {
            tc_graph_add_constant(im->g, name, &t);
        } else { /* in a mapped file, which the graph will own */
            tc_graph_value *v = tc_graph_add_value(im->g, name, t.dtype, &t.shape);
            v->constant = tc_arena_dup(im->g->arena, &t, sizeof t);
        }
    }
    return TC_OK;
}

static const tc_graph_binding *find_binding(const importer *im, const char *name, bool one_number) {
    for (size_t i = 0; im->opts && i < im->opts->nshapes; i++)
        if (strcmp(im->opts->shapes[i].name, name) == 0 && (!one_number || im->opts->shapes[i].shape.ndim == 1)) {
            im->used_shapes[i] = true;
            return &im->opts->shapes[i];
        }
    return NULL;
}

/* "1,?,64": the declared shape with what is open, and a suggestion for --shape with 1 and 128 in the open places. */
static void describe_shape(const Onnx__TensorShapeProto *s, tc_strbuf *declared, tc_strbuf *example) {
    for (size_t i = 0; i < s->n_dim; i++) {
        const Onnx__TensorShapeProto__Dimension *d = s->dim[i];
        if (d->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE) {
            tc_sb_printf(declared, "%s%" PRId64, i ? "," : "", d->dim_value);
            tc_sb_printf(example, "%s%" PRId64, i ? "," : "", d->dim_value);
            continue;
        }
        bool named = d->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_PARAM && d->dim_param && *d->dim_param;
        tc_sb_printf(declared, "%s%s", i ? "," : "", named ? d->dim_param : "?");
        tc_sb_printf(example, "%s%d", i ? "," : "", i ? 128 : 1);
    }
}

static tc_status symbolic_shape(const char *name, const Onnx__TensorShapeProto *s, tc_error *err) {
    tc_strbuf declared = {0}, example = {0};
    describe_shape(s, &declared, &example);
    tc_status status = tc_fail(err, TC_BAD_INPUT,
                               "input '%s' has the shape [%s], in which not every dimension is a number; give it with --shape, "
                               "for example --shape %s=%s",
                               name, tc_sb_str(&declared), name, tc_sb_str(&example));
    tc_strbuf_free(&declared);
    tc_strbuf_free(&example);
    return status;
}

/* Dimension i of an input: what the model says, then what the command line says, which must agree. */
static tc_status resolve_dim(importer *im, const char *name, const Onnx__TensorShapeProto *s, size_t i,
                             const tc_graph_binding *whole, int64_t *out, tc_error *err) {
    const Onnx__TensorShapeProto__Dimension *d = s->dim[i];
    const tc_graph_binding *dim = NULL;
    bool fixed = d->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE;
    if (fixed && d->dim_value < 0)
        return tc_fail(err, TC_BAD_INPUT, "input '%s': dimension %zu is negative (%" PRId64 ")", name, i, d->dim_value);
    if (d->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_PARAM && d->dim_param)
        dim = find_binding(im, d->dim_param, true);
    if (fixed && whole && whole->shape.d[i] != d->dim_value)
        return tc_fail(err, TC_BAD_INPUT,
                       "input '%s': --shape gives dimension %zu as %" PRId64 ", but the model fixes it at %" PRId64, name, i,
                       whole->shape.d[i], d->dim_value);
    if (!fixed && !whole && !dim)
        return symbolic_shape(name, s, err);
    *out = whole ? whole->shape.d[i] : dim ? dim->shape.d[0] : d->dim_value;
    return TC_OK;
}

static tc_status resolve_shape(importer *im, const char *name, const Onnx__TypeProto__Tensor *type, tc_graph_shape *out,
                               tc_error *err) {
    const tc_graph_binding *whole = find_binding(im, name, false);
    if (!type->shape) {
        if (!whole)
            return tc_fail(err, TC_BAD_INPUT, "input '%s' has no shape; give it with --shape %s=1,128 (its dimensions)", name,
                           name);
        *out = whole->shape;
        return TC_OK;
    }
    if (type->shape->n_dim > TC_GRAPH_MAX_DIMS)
        return tc_fail(err, TC_BAD_INPUT, "input '%s' has %zu dimensions; at most %d are supported", name, type->shape->n_dim,
                       TC_GRAPH_MAX_DIMS);
    out->ndim = (int)type->shape->n_dim;
    if (whole && whole->shape.ndim != out->ndim)
        return tc_fail(err, TC_BAD_INPUT, "input '%s': --shape gives %d dimensions, but the model has %d", name,
                       whole->shape.ndim, out->ndim);
    for (size_t i = 0; i < type->shape->n_dim; i++)
        TC_TRY(resolve_dim(im, name, type->shape, i, whole, &out->d[i], err));
    return TC_OK;
}

static const tc_graph_tensor *given_constant(const importer *im, const char *name) {
    for (size_t i = 0; im->opts && i < im->opts->nconstants; i++)
        if (strcmp(im->opts->constants[i].name, name) == 0)
            return &im->opts->constants[i].t;
    return NULL;
}

static tc_status add_input(importer *im, const Onnx__ValueInfoProto *in, tc_error *err) {
    const char *name = in->name ? in->name : "";
    const Onnx__TypeProto *type = in->type;
    const tc_graph_value *known = tc_graph_find_value(im->g, name);
    if (known && known->constant && !given_constant(im, name))
        return TC_OK; /* an initializer gives its value */
    if (!*name || known || tc_map_gets(&im->producers, name))
        return *name ? duplicate(name, "a graph input", err) : tc_fail(err, TC_BAD_INPUT, "a graph input has no name");
    if (given_constant(im, name)) {
        tc_graph_tensor t = *given_constant(im, name);
        t.storage = TC_GRAPH_VIEW;
        tc_graph_add_constant(im->g, name, &t);
        return TC_OK;
    }
    if (!type || type->value_case != ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE)
        return tc_fail(err, TC_BAD_INPUT, "input '%s' is not a tensor (sequences, maps and optionals are not supported)", name);
    tc_dtype dtype;
    tc_graph_shape shape = {0};
    if (!tc_graph_dtype_of_onnx(type->tensor_type->elem_type, &dtype))
        return tc_fail(err, TC_BAD_INPUT, "input '%s': element type %s is not supported", name,
                       tc_graph_onnx_type_name(type->tensor_type->elem_type));
    TC_TRY(resolve_shape(im, name, type->tensor_type, &shape, err));
    if (tc_graph_shape_check(&shape, dtype, err) != TC_OK) {
        tc_error_prefix(err, "input '%s': ", name);
        return TC_BAD_INPUT;
    }
    tc_graph_add_input(im->g, name, dtype, &shape);
    return TC_OK;
}

static tc_status add_inputs(importer *im, tc_error *err) {
    for (size_t i = 0; i < im->proto->n_input; i++)
        TC_TRY(add_input(im, im->proto->input[i], err));
    for (size_t i = 0; im->opts && i < im->opts->nshapes; i++) {
        if (im->used_shapes[i])
            continue;
        tc_strbuf names = {0};
        for (size_t k = 0; k < im->g->inputs.len; k++)
            tc_sb_printf(&names, "%s%s", k ? ", " : "", im->g->inputs.data[k]->name);
        tc_status s =
            tc_fail(err, TC_BAD_INPUT, "--shape %s: the model has no input or symbolic dimension of that name; its inputs are %s",
                    im->opts->shapes[i].name, tc_sb_str(&names));
        tc_strbuf_free(&names);
        return s;
    }
    return TC_OK;
}

/* ---- nodes ---- */

static char *bytes_to_text(tc_arena *a, ProtobufCBinaryData b) {
    return tc_arena_strndup(a, b.data ? (const char *)b.data : "", b.len);
}

/* The kind by the type tag, or by the field that is set where old exporters left the tag out. */
static int attr_type(const Onnx__AttributeProto *a) {
    if (a->has_type && a->type)
        return (int)a->type;
    if (a->has_f)
        return ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOAT;
    if (a->has_i)
        return ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INT;
    if (a->has_s)
        return ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__STRING;
    if (a->t)
        return ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__TENSOR;
    return a->n_floats ? ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOATS : ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INTS;
}

static bool attr_kind(int type, tc_graph_attr_kind *kind) {
    switch (type) {
    case ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOAT:
        *kind = TC_GRAPH_ATTR_FLOAT;
        return true;
    case ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INT:
        *kind = TC_GRAPH_ATTR_INT;
        return true;
    case ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__STRING:
        *kind = TC_GRAPH_ATTR_STRING;
        return true;
    case ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__TENSOR:
        *kind = TC_GRAPH_ATTR_TENSOR;
        return true;
    case ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOATS:
        *kind = TC_GRAPH_ATTR_FLOATS;
        return true;
    case ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INTS:
        *kind = TC_GRAPH_ATTR_INTS;
        return true;
    default:
        return false;
    }
}

/* Cast named its target type by a string before opset 6. */
static bool old_cast_target(importer *im, tc_graph_node *n, const Onnx__AttributeProto *a) {
    if (n->op != TC_GRAPH_OP_CAST || strcmp(a->name, "to") != 0 || attr_type(a) != ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__STRING)
        return false;
    const char *name = bytes_to_text(im->g->arena, a->s);
    int64_t code = 1;
    while (strcmp(tc_graph_onnx_type_name(code), name) != 0 && strcmp(tc_graph_onnx_type_name(code), "unknown") != 0)
        code++;
    tc_graph_set_int(im->g, n, "to", code);
    return true;
}

static tc_status add_attr(importer *im, tc_graph_node *n, Onnx__AttributeProto *a, tc_error *err) {
    tc_graph_attr_kind want, kind;
    if (!a->name || !tc_graph_attr_allowed(n->op, a->name, &want))
        return tc_fail(err, TC_BAD_INPUT, "attribute '%s' is not supported; known: %s", a->name ? a->name : "",
                       tc_graph_op_info_of(n->op)->attrs);
    if (old_cast_target(im, n, a))
        return TC_OK;
    if (!attr_kind(attr_type(a), &kind) || kind != want || (a->ref_attr_name && *a->ref_attr_name))
        return tc_fail(err, TC_BAD_INPUT, "attribute '%s' must be %s", a->name, tc_graph_attr_kind_name(want));
    switch (kind) {
    case TC_GRAPH_ATTR_INT:
        tc_graph_set_int(im->g, n, a->name, a->i);
        break;
    case TC_GRAPH_ATTR_FLOAT:
        tc_graph_set_float(im->g, n, a->name, (double)a->f);
        break;
    case TC_GRAPH_ATTR_STRING:
        tc_graph_set_str(im->g, n, a->name, bytes_to_text(im->g->arena, a->s));
        break;
    case TC_GRAPH_ATTR_INTS:
        tc_graph_set_ints(im->g, n, a->name, a->ints, a->n_ints);
        break;
    case TC_GRAPH_ATTR_FLOATS:
        tc_graph_set_floats(im->g, n, a->name, a->floats, a->n_floats);
        break;
    case TC_GRAPH_ATTR_TENSOR: {
        tc_graph_tensor t;
        if (!a->t)
            return tc_fail(err, TC_BAD_INPUT, "attribute '%s' must be a tensor", a->name);
        TC_TRY(tc_onnx_read_tensor(a->t, &im->files, true, &t, err));
        tc_graph_set_tensor(im->g, n, a->name, &t);
        break;
    }
    }
    return TC_OK;
}

static tc_status find_input(importer *im, size_t index, const char *name, tc_graph_value **out, tc_error *err) {
    *out = *name ? tc_graph_find_value(im->g, name) : NULL;
    if (*out || !*name)
        return TC_OK;
    uintptr_t *maker = tc_map_gets(&im->producers, name);
    if (!maker)
        return tc_fail(err, TC_BAD_INPUT, "its input '%s' is neither a graph input, nor an initializer, nor any node's output",
                       name);
    const Onnx__NodeProto *p = im->proto->node[*maker];
    return tc_fail(err, TC_BAD_INPUT,
                   "its input '%s' is made %s (node %zu, '%s'): the nodes form a cycle or are not in topological order, which "
                   "ONNX requires",
                   name, *maker == index ? "by the node itself" : "only later", (size_t)*maker, p->name ? p->name : "");
}

static tc_status build_node(importer *im, size_t index, tc_graph_node **out, tc_error *err) {
    const Onnx__NodeProto *p = im->proto->node[index];
    tc_graph_op op = TC_GRAPH_OP_COUNT;
    bool known = known_operator(im, p, &op);
    if (!known)
        return tc_fail(err, TC_BAD_INPUT, "unknown operator"); /* check_operators has refused it already */
    tc_graph_value **in = TC_NEW_N(im->g->arena, tc_graph_value *, p->n_input);
    for (size_t k = 0; k < p->n_input; k++)
        TC_TRY(find_input(im, index, p->input[k], &in[k], err));
    *out = tc_graph_new_node(im->g, op, p->name, in, (int)p->n_input);
    for (size_t k = 0; k < p->n_attribute; k++)
        TC_TRY(add_attr(im, *out, p->attribute[k], err));
    return TC_OK;
}

static tc_status add_node(importer *im, size_t index, tc_error *err) {
    const Onnx__NodeProto *p = im->proto->node[index];
    tc_graph_node *n = NULL;
    if (build_node(im, index, &n, err) != TC_OK) {
        tc_error_prefix(err, "node '%s' (%s): ",
                        p->name && *p->name ? p->name
                        : p->n_output       ? p->output[0]
                                            : "(unnamed)",
                        p->op_type);
        return TC_BAD_INPUT;
    }
    const char **names = TC_NEW_N(im->g->arena, const char *, p->n_output);
    for (size_t k = 0; k < p->n_output; k++) {
        names[k] = *p->output[k] ? p->output[k] : NULL;
        if (names[k] && tc_graph_find_value(im->g, names[k]))
            return duplicate(names[k], "as a node's output", err);
    }
    return tc_graph_place(im->g, n, names, (int)p->n_output, im->g->opset, err);
}

static tc_status add_outputs(importer *im, tc_error *err) {
    const Onnx__GraphProto *p = im->proto;
    if (p->n_output == 0)
        return tc_fail(err, TC_BAD_INPUT, "the graph has no outputs");
    for (size_t i = 0; i < p->n_output; i++) {
        const char *name = p->output[i]->name ? p->output[i]->name : "";
        tc_graph_value *v = tc_graph_find_value(im->g, name);
        if (!v)
            return tc_fail(err, TC_BAD_INPUT, "the graph's output '%s' is made by no node", name);
        tc_graph_add_output(im->g, name, v);
    }
    return TC_OK;
}

/* ---- entry ---- */

static tc_status fill_graph(importer *im, tc_error *err) {
    TC_TRY(check_versions(im, err));
    TC_TRY(check_operators(im, err));
    TC_TRY(index_producers(im, err));
    im->g->reserved = &im->producers;
    TC_TRY(add_initializers(im, err));
    TC_TRY(add_inputs(im, err));
    for (size_t i = 0; i < im->proto->n_node; i++)
        TC_TRY(add_node(im, i, err));
    TC_TRY(add_outputs(im, err));
    tc_graph_simplify(im->g);
    return TC_OK;
}

static void hand_over_files(importer *im) {
    for (size_t i = 0; i < im->files.blocks.len; i++)
        if (im->files.blocks.data[i].mapped)
            tc_push(&im->g->blocks, im->files.blocks.data[i]);
    tc_vec_free(&im->files.blocks);
    tc_map_free(&im->files.mapped);
}

tc_status tc_graph_import(const char *path, const tc_graph_import_options *opts, tc_graph **out, tc_error *err) {
    importer im = {.path = path, .opts = opts};
    *out = NULL;
    double start = tc_now();
    TC_TRY(read_model(path, &im.model, err));
    im.proto = im.model->graph;
    im.g = tc_graph_new(path);
    if (im.proto->name && *im.proto->name)
        im.g->name = tc_arena_strdup(im.g->arena, im.proto->name);
    im.used_shapes = tc_xcalloc(opts ? opts->nshapes + 1 : 1, sizeof *im.used_shapes);
    char *dir = tc_fs_dirname(path);
    im.files.dir = dir;
    tc_status s = fill_graph(&im, err);
    hand_over_files(&im);
    im.g->reserved = NULL;
    tc_map_free(&im.producers);
    free(im.used_shapes);
    free(dir);
    onnx__model_proto__free_unpacked(im.model, NULL);
    if (s != TC_OK) {
        tc_error_prefix(err, "%s: ", path);
        tc_graph_free(im.g);
        return s;
    }
    tc_log(TC_LOG_INFO, "imported %s: %zu nodes in %.2f s", path, im.g->nodes.len, tc_now() - start);
    *out = im.g;
    return TC_OK;
}

tc_status tc_graph_binding_parse(const char *text, tc_graph_binding *out, tc_error *err) {
    const char *eq = strrchr(text, '=');
    tc_graph_shape s = {0};
    bool ok = eq && eq != text;
    const char *p = eq ? eq + 1 : "";
    while (ok && *p) {
        char *end;
        errno = 0;
        long long v = strtoll(p, &end, 10);
        ok = end != p && errno == 0 && v >= 0 && s.ndim < TC_GRAPH_MAX_DIMS && (*end == 0 || (*end == ',' && end[1]));
        if (ok)
            s.d[s.ndim++] = v;
        p = end + (*end == ',');
    }
    if (!ok)
        return tc_fail(err, TC_BAD_INPUT,
                       "--shape %s: expected NAME=D0,D1,... with non-negative numbers, for example --shape input_ids=1,128",
                       text);
    char *name = tc_xstrdup(text);
    name[eq - text] = 0;
    *out = (tc_graph_binding){.name = name, .shape = s};
    return TC_OK;
}
