/* Import, node by node: attributes and inputs are looked up, and the operator's family types the result. Branches of If and the
 * model's own functions become the nodes of their bodies, whose names hold in there only. */
#include <inttypes.h>
#include <string.h>

#include "graph/ir/budget.h"
#include "graph/onnx/import_int.h"
#include "support/inputs.h"

/* Functions and branches within each other. How much they may become in all, graph/ir/budget.def says. */
enum { MAX_CALLS = TC_DEPTH_BODIES };

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
static bool old_cast_target(tc_graph_importer *im, tc_graph_node *n, const Onnx__AttributeProto *a) {
    if (n->op != TC_GRAPH_OP_CAST || strcmp(a->name, "to") != 0 || attr_type(a) != ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__STRING)
        return false;
    const char *name = bytes_to_text(im->at.g->arena, a->s);
    int64_t code = 1;
    while (strcmp(tc_graph_onnx_type_name(code), name) != 0 && strcmp(tc_graph_onnx_type_name(code), "unknown") != 0)
        code++;
    tc_graph_set_to(im->at.g, n, code);
    return true;
}

/* Recurrent layers name their functions in a list; it is kept as one text. */
static bool function_names(tc_graph_importer *im, tc_graph_node *n, const Onnx__AttributeProto *a) {
    if (strcmp(a->name, "activations") != 0 || attr_type(a) != ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__STRINGS)
        return false;
    tc_strbuf b = {0};
    for (size_t i = 0; i < a->n_strings; i++)
        tc_sb_printf(&b, "%s%s", i ? "," : "", bytes_to_text(im->at.g->arena, a->strings[i]));
    tc_graph_set_activations(im->at.g, n, tc_sb_str(&b));
    tc_strbuf_free(&b);
    return true;
}

static tc_status unknown_attr(tc_graph_op op, const char *name, tc_error *err) {
    tc_strbuf known = {0};
    tc_graph_list_attrs(op, &known);
    tc_status s = tc_refuse(err, TC_ERROR_UNSUPPORTED, "attribute '%s' is not supported; known: %s", name, tc_sb_str(&known));
    tc_strbuf_free(&known);
    return s;
}

static tc_status add_attr(tc_graph_importer *im, tc_graph_node *n, Onnx__AttributeProto *a, tc_error *err) {
    tc_graph_attr_id id;
    tc_graph_attr_kind kind;
    if (!a->name || !tc_graph_attr_allowed(n->op, a->name, &id))
        return unknown_attr(n->op, a->name ? a->name : "", err);
    if (old_cast_target(im, n, a) || function_names(im, n, a))
        return TC_OK;
    if (a->ref_attr_name && *a->ref_attr_name)
        return tc_fail(err, TC_BAD_INPUT, "attribute '%s' refers to attribute '%s' of a function, but the node is in no function",
                       a->name, a->ref_attr_name);
    if (!attr_kind(attr_type(a), &kind) || kind != tc_graph_attr_kind_of(id))
        return tc_fail(err, TC_BAD_INPUT, "attribute '%s' must be %s", a->name,
                       tc_graph_attr_kind_name(tc_graph_attr_kind_of(id)));
    switch (kind) {
    case TC_GRAPH_ATTR_INT:
        tc_graph_set_int(im->at.g, n, id, a->i);
        break;
    case TC_GRAPH_ATTR_FLOAT:
        tc_graph_set_float(im->at.g, n, id, (double)a->f);
        break;
    case TC_GRAPH_ATTR_STRING:
        tc_graph_set_str(im->at.g, n, id, bytes_to_text(im->at.g->arena, a->s));
        break;
    case TC_GRAPH_ATTR_INTS:
        tc_graph_set_ints(im->at.g, n, id, a->ints, a->n_ints);
        break;
    case TC_GRAPH_ATTR_FLOATS:
        tc_graph_set_floats(im->at.g, n, id, a->floats, a->n_floats);
        break;
    case TC_GRAPH_ATTR_TENSOR: {
        tc_graph_tensor t;
        if (!a->t)
            return tc_fail(err, TC_BAD_INPUT, "attribute '%s' must be a tensor", a->name);
        bool once = !im->scope; /* a body may be added again */
        TC_TRY(tc_onnx_read_tensor(a->t, im->dir, once, &t, err));
        tc_graph_set_tensor(im->at.g, n, id, &t);
        break;
    }
    }
    return TC_OK;
}

/* A name that an enclosing body defines; *closed: nothing around the function is visible. */
static bool find_in_scopes(const tc_graph_importer *im, const char *name, tc_graph_value **out, bool *closed) {
    *closed = false;
    for (tc_graph_import_scope *s = im->scope; s && !*closed; s = s->up) {
        uintptr_t *slot = tc_map_gets(&s->values, name);
        if (slot) {
            *out = (tc_graph_value *)*slot;
            return true;
        }
        *closed = s->function != NULL;
    }
    return false;
}

tc_status tc_graph_import_input(tc_graph_importer *im, const char *name, tc_graph_value **out, tc_error *err) {
    bool closed;
    *out = NULL;
    if (!*name)
        return TC_OK;
    bool found = find_in_scopes(im, name, out, &closed);
    if (!found && !closed)
        *out = tc_graph_find_value(im->at.root, name);
    if (found || *out) {
        *out = *out ? tc_graph_import_here(&im->at, *out) : NULL;
        return TC_OK;
    }
    return tc_fail(err, TC_BAD_INPUT, "its input '%s' is neither %s, nor an initializer, nor the output of a node", name,
                   im->scope ? "visible in this body" : "a graph input");
}

static Onnx__AttributeProto *find_proto_attr(Onnx__AttributeProto *const *list, size_t n, const char *name) {
    for (size_t i = 0; i < n; i++)
        if (list[i]->name && strcmp(list[i]->name, name) == 0)
            return list[i];
    return NULL;
}

static tc_status build_node(tc_graph_importer *im, const Onnx__NodeProto *p, tc_graph_node **out, tc_error *err) {
    tc_graph_op op = TC_GRAPH_OP_COUNT;
    if (!tc_graph_import_known_operator(im, p, &op)) /* check_operators has refused it already, but for bodies */
        return tc_refuse(err, TC_ERROR_UNSUPPORTED, "the operator (domain %s) is not supported at opset %d",
                         tc_graph_import_default_domain(p->domain) ? "ai.onnx" : p->domain, tc_graph_import_opset(im));
    tc_graph_value **in = TC_NEW_N(im->at.g->arena, tc_graph_value *, p->n_input);
    for (size_t k = 0; k < p->n_input; k++) {
        TC_TRY(tc_graph_import_input(im, p->input[k], &in[k], err));
        if (in[k] && in[k]->sequence)
            return tc_fail(err, TC_BAD_INPUT, "its input '%s' is a sequence or optional, not a tensor", p->input[k]);
    }
    *out = tc_graph_new_node(im->at.g, op, p->name, in, (int)p->n_input);
    for (size_t k = 0; k < p->n_attribute; k++)
        TC_TRY(add_attr(im, *out, p->attribute[k], err));
    return TC_OK;
}

static const char *node_text(tc_arena *a, const Onnx__NodeProto *p) {
    return tc_arena_printf(a, "node '%s' (%s)",
                           p->name && *p->name ? p->name
                           : p->n_output       ? p->output[0]
                                               : "(unnamed)",
                           p->op_type ? p->op_type : "no type");
}

static void prefix_node(tc_graph_importer *im, const Onnx__NodeProto *p, tc_error *err) {
    tc_error_prefix(err, "%s: ", node_text(im->at.g->arena, p));
}

/* The name in the graph of a value that is called `name` here. */
static tc_status name_here(tc_graph_importer *im, const char *name, const char **out, tc_error *err) {
    *out = im->scope ? tc_graph_fresh_name(im->at.g, name) : name;
    if (!im->scope && tc_graph_find_value(im->at.g, name))
        return tc_graph_import_duplicate(name, "as a node's output", err);
    if (im->scope && tc_map_gets(&im->scope->values, name))
        return tc_graph_import_duplicate(name, "in one body", err);
    return TC_OK;
}

static void bind_here(tc_graph_importer *im, const char *name, const char *in_graph) {
    if (im->scope)
        tc_map_puts(&im->scope->values, name, (uintptr_t)tc_graph_find_value(im->at.g, in_graph));
}

static tc_status add_plain_node(tc_graph_importer *im, const Onnx__NodeProto *p, tc_error *err) {
    tc_graph_node *n = NULL;
    if (build_node(im, p, &n, err) != TC_OK) {
        prefix_node(im, p, err);
        return TC_BAD_INPUT;
    }
    const char **names = TC_NEW_N(im->at.g->arena, const char *, p->n_output);
    for (size_t k = 0; k < p->n_output; k++)
        if (*p->output[k])
            TC_TRY(name_here(im, p->output[k], &names[k], err));
    TC_TRY(tc_graph_place(im->at.g, n, names, (int)p->n_output, tc_graph_import_opset(im), err));
    for (size_t k = 0; k < p->n_output; k++)
        if (names[k])
            bind_here(im, p->output[k], names[k]);
    return TC_OK;
}

/* ---- branches and functions: their nodes take the place of the node ---- */

typedef struct body {
    Onnx__NodeProto **nodes;
    Onnx__TensorProto **initializers;
    size_t n_nodes, n_initializers, n_outputs;
    const char **outputs;
} body;

/* In the model's graph, which outlives those of bodies. */
static tc_status add_body_constant(tc_graph_importer *im, Onnx__TensorProto *p, uint64_t key, tc_error *err) {
    tc_graph *g = im->at.g;
    im->at.g = im->at.root;
    const char *name = tc_graph_fresh_name(im->at.root, p->name);
    tc_status s = tc_graph_import_initializer(im, p, name, err);
    im->at.g = g;
    if (s == TC_OK)
        tc_map_put(&im->body_constants, key, (uintptr_t)tc_graph_find_value(im->at.root, name));
    return s;
}

/* Within im->scope. *out: the results. */
static tc_status fill_body(tc_graph_importer *im, const body *b, tc_graph_value **out, tc_error *err) {
    for (size_t i = 0; i < b->n_initializers; i++) {
        const char *name = b->initializers[i]->name;
        uint64_t key = (uint64_t)(uintptr_t)b->initializers[i];
        if (!name || !*name)
            return tc_fail(err, TC_BAD_INPUT, "initializer %zu has no name", i);
        if (tc_map_gets(&im->scope->values, name))
            return tc_graph_import_duplicate(name, "in one body", err);
        if (!tc_map_get(&im->body_constants, key))
            TC_TRY(add_body_constant(im, b->initializers[i], key, err));
        tc_map_puts(&im->scope->values, name, *tc_map_get(&im->body_constants, key));
    }
    for (size_t i = 0; i < b->n_nodes; i++)
        TC_TRY(tc_graph_import_node(im, b->nodes[i], err));
    for (size_t k = 0; k < b->n_outputs; k++) {
        const char *name = b->outputs[k] ? b->outputs[k] : "";
        if (tc_graph_import_input(im, name, &out[k], err) != TC_OK || !out[k])
            return tc_fail(err, TC_BAD_INPUT, "no node makes its body's output '%s'", name);
    }
    return TC_OK;
}

/* s->values holds the inputs already; it is released here. *out: the results. */
static tc_status add_body(tc_graph_importer *im, const Onnx__NodeProto *p, tc_graph_import_scope *s, const body *b,
                          tc_graph_value ***out, tc_error *err) {
    tc_status status;
    *out = TC_NEW_N(im->at.g->arena, tc_graph_value *, b->n_outputs);
    s->up = im->scope;
    s->depth = im->scope ? im->scope->depth + 1 : 1;
    im->scope = s;
    if (s->depth > MAX_CALLS)
        status = tc_fail(err, TC_BAD_INPUT, "bodies are nested more than %d deep; does the function call itself?", MAX_CALLS);
    else if (p->n_output > b->n_outputs)
        status = tc_fail(err, TC_BAD_INPUT, "it has %zu outputs, but its body has %zu", p->n_output, b->n_outputs);
    else
        status = fill_body(im, b, *out, err);
    im->scope = s->up;
    tc_map_free(&s->values);
    return status;
}

/* Output k of the node is what n, which has no outputs yet, gives. */
static tc_status give_output(tc_graph_importer *im, const Onnx__NodeProto *p, size_t k, tc_graph_node *n, tc_error *err) {
    const char *name;
    TC_TRY(name_here(im, p->output[k], &name, err));
    TC_TRY(tc_graph_place(im->at.g, n, &name, 1, TC_GRAPH_OPSET_MAX, err));
    bind_here(im, p->output[k], name);
    return TC_OK;
}

static tc_status give_list(tc_graph_importer *im, const Onnx__NodeProto *p, size_t k, const tc_graph_value *list, tc_error *err) {
    const char *name;
    TC_TRY(name_here(im, p->output[k], &name, err));
    tc_graph_add_value(im->at.g, name, list->dtype, &list->shape)->sequence = list->sequence;
    bind_here(im, p->output[k], name);
    return TC_OK;
}

tc_status tc_graph_import_give_outputs(tc_graph_importer *im, const Onnx__NodeProto *p, tc_graph_value **v, tc_error *err) {
    for (size_t k = 0; k < p->n_output; k++)
        if (*p->output[k] && !v[k])
            return tc_fail(err, TC_BAD_INPUT, "its body has no output %zu", k);
        else if (*p->output[k] && v[k]->sequence)
            TC_TRY(give_list(im, p, k, v[k], err));
        else if (*p->output[k])
            TC_TRY(give_output(im, p, k, tc_graph_new_node(im->at.g, TC_GRAPH_OP_IDENTITY, p->name, &v[k], 1), err));
    return TC_OK;
}

const Onnx__AttributeProto *tc_graph_import_attribute(const Onnx__NodeProto *p, const char *name) {
    return find_proto_attr(p->attribute, p->n_attribute, name);
}

tc_status tc_graph_import_graph(tc_graph_importer *im, const Onnx__NodeProto *p, const Onnx__GraphProto *g,
                                tc_graph_import_scope *s, tc_graph_value ***out, tc_error *err) {
    body b = {.nodes = g->node,
              .n_nodes = g->n_node,
              .initializers = g->initializer,
              .n_initializers = g->n_initializer,
              .n_outputs = g->n_output};
    b.outputs = TC_NEW_N(im->at.g->arena, const char *, g->n_output);
    for (size_t k = 0; k < g->n_output; k++)
        b.outputs[k] = g->output[k]->name;
    return add_body(im, p, s, &b, out, err);
}

tc_status tc_graph_import_branch(tc_graph_importer *im, const Onnx__NodeProto *p, const char *which, tc_graph_value ***out,
                                 tc_error *err) {
    const Onnx__AttributeProto *a = tc_graph_import_attribute(p, which);
    if (!a || !a->g)
        return tc_fail(err, TC_BAD_INPUT, "attribute '%s' must be a graph", which);
    tc_graph_import_scope s = {.opset = tc_graph_import_opset(im)};
    return tc_graph_import_graph(im, p, a->g, &s, out, err);
}

/* 1: the condition holds in all runs, 0: in none, -1: in some. Sizes and their ranges may decide it. */
static int decide(tc_graph_importer *im, tc_graph_value *cond) {
    tc_graph *of = im->at.g;
    if (cond->constant)
        return *(const uint8_t *)cond->constant->data != 0;
    const tc_expr *holds = tc_graph_condition_of(&of, cond);
    int known = holds ? tc_graph_decide(of, holds) : -1;
    if (known >= 0)
        (void)tc_graph_choose(of, holds); /* the assumed sizes go as far as the condition stays what it is */
    return known;
}

/* A condition that is known chooses its branch. */
static tc_status add_if(tc_graph_importer *im, const Onnx__NodeProto *p, tc_error *err) {
    tc_graph_value *cond = NULL, **out;
    if (p->n_input != 1)
        return tc_fail(err, TC_BAD_INPUT, "it has %zu inputs, but 1 is expected", p->n_input);
    TC_TRY(tc_graph_import_input(im, p->input[0], &cond, err));
    if (!cond || cond->sequence || cond->dtype != TC_BOOL || tc_graph_shape_count(&cond->shape) != 1)
        return tc_fail(err, TC_BAD_INPUT, "its condition must be one bool");
    int holds = decide(im, cond);
    if (holds < 0)
        return tc_graph_import_if_at_run_time(im, p, cond, err);
    TC_TRY(tc_graph_import_branch(im, p, holds ? "then_branch" : "else_branch", &out, err));
    return tc_graph_import_give_outputs(im, p, out, err);
}

/* ---- calls of functions ---- */

/* A call of a function: the call's attributes stand for the references in the function's body. */
typedef struct call {
    tc_arena *arena;
    const Onnx__NodeProto *node;
    const Onnx__FunctionProto *function;
} call;

static Onnx__GraphProto *resolve_graph(const call *c, Onnx__GraphProto *g, int depth);

/* The attribute with the call's value, or with the function's default. NULL: neither has a value. */
static Onnx__AttributeProto *resolve_attribute(const call *c, Onnx__AttributeProto *a, int depth) {
    bool refers = a->ref_attr_name && *a->ref_attr_name;
    Onnx__AttributeProto *value = a;
    if (refers) {
        value = find_proto_attr(c->node->attribute, c->node->n_attribute, a->ref_attr_name);
        if (!value)
            value = find_proto_attr(c->function->attribute_proto, c->function->n_attribute_proto, a->ref_attr_name);
        if (!value)
            return NULL;
    }
    Onnx__GraphProto *graph = refers || !a->g ? value->g : resolve_graph(c, a->g, depth);
    if (!refers && graph == a->g)
        return a;
    Onnx__AttributeProto *copy = tc_arena_dup(c->arena, value, sizeof *value);
    copy->name = a->name;
    copy->g = graph;
    return copy;
}

/* The node itself where no attribute changes, else a copy. */
static Onnx__NodeProto *resolve_node(const call *c, Onnx__NodeProto *p, int depth) {
    Onnx__AttributeProto **attribute = TC_NEW_N(c->arena, Onnx__AttributeProto *, p->n_attribute + 1);
    size_t n = 0;
    bool same = true;
    for (size_t k = 0; k < p->n_attribute; k++) {
        attribute[n] = resolve_attribute(c, p->attribute[k], depth);
        same = same && attribute[n] == p->attribute[k];
        n += attribute[n] != NULL;
    }
    if (same)
        return p;
    Onnx__NodeProto *copy = tc_arena_dup(c->arena, p, sizeof *p);
    copy->attribute = attribute;
    copy->n_attribute = n;
    return copy;
}

static Onnx__NodeProto **resolve_nodes(const call *c, Onnx__NodeProto **nodes, size_t n, int depth) {
    Onnx__NodeProto **out = TC_NEW_N(c->arena, Onnx__NodeProto *, n + 1);
    bool same = true;
    for (size_t i = 0; i < n; i++) {
        out[i] = resolve_node(c, nodes[i], depth);
        same = same && out[i] == nodes[i];
    }
    return same ? nodes : out;
}

/* References also stand in branches and in bodies of loops. add_body refuses graphs that are nested deeper than MAX_CALLS. */
static Onnx__GraphProto *resolve_graph(const call *c, Onnx__GraphProto *g, int depth) {
    Onnx__NodeProto **nodes = depth < MAX_CALLS ? resolve_nodes(c, g->node, g->n_node, depth + 1) : g->node;
    if (nodes == g->node)
        return g;
    Onnx__GraphProto *copy = tc_arena_dup(c->arena, g, sizeof *g);
    copy->node = nodes;
    return copy;
}

static tc_status check_function_opset(const Onnx__FunctionProto *f, int64_t opset, int *out, tc_error *err) {
    if (opset < TC_GRAPH_OPSET_MIN || opset > TC_GRAPH_OPSET_MAX)
        return tc_refuse(err, TC_ERROR_UNSUPPORTED,
                         "function '%s' asks for opset %" PRId64 " of the default domain (%d to %d are supported)",
                         f->name ? f->name : "", opset, TC_GRAPH_OPSET_MIN, TC_GRAPH_OPSET_MAX);
    *out = (int)opset;
    return TC_OK;
}

static tc_status add_call(tc_graph_importer *im, const Onnx__NodeProto *p, const Onnx__FunctionProto *f, tc_error *err) {
    tc_graph_import_scope s = {.function = f, .opset = tc_graph_import_opset(im)};
    for (size_t i = 0; i < f->n_opset_import; i++)
        if (tc_graph_import_default_domain(f->opset_import[i]->domain))
            TC_TRY(check_function_opset(f, f->opset_import[i]->version, &s.opset, err));
    if (p->n_input > f->n_input)
        return tc_fail(err, TC_BAD_INPUT, "it has %zu inputs, but the function takes %zu", p->n_input, f->n_input);
    tc_status status = TC_OK;
    for (size_t k = 0; k < f->n_input && status == TC_OK; k++) {
        tc_graph_value *v = NULL;
        if (k < p->n_input)
            status = tc_graph_import_input(im, p->input[k], &v, err);
        tc_map_puts(&s.values, f->input[k], (uintptr_t)v);
    }
    if (status != TC_OK) {
        tc_map_free(&s.values);
        return status;
    }
    call c = {im->at.g->arena, p, f};
    body b = {.nodes = resolve_nodes(&c, f->node, f->n_node, 0), .n_nodes = f->n_node, .n_outputs = f->n_output};
    b.outputs = TC_NEW_N(im->at.g->arena, const char *, f->n_output);
    for (size_t k = 0; k < f->n_output; k++)
        b.outputs[k] = f->output[k];
    tc_graph_value **out;
    TC_TRY(add_body(im, p, &s, &b, &out, err));
    return tc_graph_import_give_outputs(im, p, out, err);
}

/* What stands in a function has the names of its calls: its own are those of each call alike. */
static bool is_in_function(const tc_graph_importer *im) {
    for (const tc_graph_import_scope *s = im->scope; s; s = s->up)
        if (s->function)
            return true;
    return false;
}

static const tc_graph_origin *origin_of(const tc_graph_importer *im, const Onnx__NodeProto *p) {
    if (is_in_function(im))
        return im->at.g->origin;
    for (size_t k = 0; k < p->n_output && (!p->name || !*p->name); k++)
        if (*p->output[k])
            return tc_graph_origin_of(im->at.g, p->output[k]);
    return p->name && *p->name ? tc_graph_origin_of(im->at.g, p->name) : NULL;
}

/* Also a node that adds nothing to the graph counts, as a copy in a body or by what it is made of. */
static tc_status count_node(tc_graph_importer *im, tc_error *err) {
    TC_TRY(tc_graph_check_budget(im->at.g, err));
    return im->scope ? tc_graph_spend(im->at.g->budget, TC_GRAPH_BUDGET_COPIES, 1, err) : TC_OK;
}

static tc_status import_node(tc_graph_importer *im, const Onnx__NodeProto *p, tc_error *err) {
    tc_graph_op op;
    const Onnx__FunctionProto *f = tc_graph_import_known_operator(im, p, &op) ? NULL : tc_graph_import_called_function(im, p);
    bool loop = tc_graph_import_is_loop(p), list = tc_graph_import_takes_sequence(im, p);
    if (!tc_graph_import_is_if(p) && !loop && !f && !list)
        return add_plain_node(im, p, err);
    tc_status s = list   ? tc_graph_import_sequence_node(im, p, err)
                  : f    ? add_call(im, p, f, err)
                  : loop ? tc_graph_import_loop(im, p, err)
                         : add_if(im, p, err);
    if (s != TC_OK)
        prefix_node(im, p, err);
    return s;
}

tc_status tc_graph_import_node(tc_graph_importer *im, const Onnx__NodeProto *p, tc_error *err) {
    tc_graph *g = im->at.g;
    const tc_graph_origin *around = g->origin;
    const char *outer = g->importing;
    g->origin = origin_of(im, p);
    g->importing = node_text(g->arena, p);
    tc_status s = count_node(im, err);
    if (s == TC_OK)
        s = import_node(im, p, err);
    else
        prefix_node(im, p, err);
    g->origin = around;
    g->importing = outer;
    return s;
}
