/* What edit.h describes: the message as it was read, in an arena, with lists of nodes, initializers and outputs that grow beside
 * it and are put in when it is written. */
#include "graph/onnx/edit.h"

#include <stdlib.h>
#include <string.h>

#include "graph/onnx/import_int.h"
#include "graph/onnx/onnx_int.h"
#include "support/map.h"
#include "support/system/fs.h"
#include "support/vec.h"

typedef struct placed {
    Onnx__NodeProto *node; /* NULL: removed */
    int before;            /* the node of the file that it stands before */
} placed;

typedef struct constant {
    Onnx__TensorProto *proto;
    tc_graph_tensor value; /* data is NULL before it was asked for */
} constant;

struct tc_onnx_edit {
    tc_arena *arena;
    Onnx__ModelProto *model;
    TC_VEC(placed) nodes;
    TC_VEC(constant *) constants;
    TC_VEC(Onnx__TensorProto *) initializers;
    TC_VEC(Onnx__ValueInfoProto *) outputs;
    TC_VEC(void *) brought; /* elements from other files */
    tc_map by_name;         /* of constants: their place */
    tc_map taken;           /* names of values */
    const char *dir;        /* of the file */
    int own, before;        /* nodes of the file; where new ones go */
};

/* ---- reading ---- */

static char *settled(char *name) {
    return name ? name : (char *)"";
}

/* A damaged file may lack names where the schema lets it. */
static void settle_names(Onnx__GraphProto *g) {
    for (size_t i = 0; i < g->n_input; i++)
        g->input[i]->name = settled(g->input[i]->name);
    for (size_t i = 0; i < g->n_output; i++)
        g->output[i]->name = settled(g->output[i]->name);
    for (size_t i = 0; i < g->n_initializer; i++)
        g->initializer[i]->name = settled(g->initializer[i]->name);
    for (size_t i = 0; i < g->n_node; i++) {
        g->node[i]->op_type = settled(g->node[i]->op_type);
        for (size_t k = 0; k < g->node[i]->n_attribute; k++)
            if (g->node[i]->attribute[k]->g)
                settle_names(g->node[i]->attribute[k]->g);
    }
}

static void take_names(tc_onnx_edit *e, const Onnx__GraphProto *g) {
    for (size_t i = 0; i < g->n_input; i++)
        tc_map_puts(&e->taken, g->input[i]->name, 1);
    for (size_t i = 0; i < g->n_initializer; i++)
        tc_map_puts(&e->taken, g->initializer[i]->name, 1);
    for (size_t i = 0; i < g->n_node; i++) {
        const Onnx__NodeProto *n = g->node[i];
        for (size_t k = 0; k < n->n_output; k++)
            tc_map_puts(&e->taken, n->output[k], 1);
        for (size_t k = 0; k < n->n_attribute; k++)
            if (n->attribute[k]->g)
                take_names(e, n->attribute[k]->g);
    }
}

static void know_constant(tc_onnx_edit *e, const char *name, Onnx__TensorProto *p) {
    if (!tc_map_puts(&e->by_name, name, e->constants.len))
        return;
    constant *c = TC_NEW(e->arena, constant);
    c->proto = p;
    tc_push(&e->constants, c);
}

static bool is_constant(const Onnx__NodeProto *n) {
    return strcmp(n->op_type, "Constant") == 0 && tc_graph_import_default_domain(n->domain) && n->n_output == 1;
}

static void read_graph(tc_onnx_edit *e) {
    Onnx__GraphProto *g = e->model->graph;
    tc_map inputs = {0};
    for (size_t i = 0; i < g->n_input && e->model->ir_version >= 4; i++)
        tc_map_puts(&inputs, g->input[i]->name, 1);
    /* Initializers that are inputs too may be given by the caller: they are none of the model's constants. */
    for (size_t i = 0; i < g->n_initializer; i++) {
        tc_push(&e->initializers, g->initializer[i]);
        if (!tc_map_gets(&inputs, g->initializer[i]->name))
            know_constant(e, g->initializer[i]->name, g->initializer[i]);
    }
    tc_map_free(&inputs);
    for (size_t i = 0; i < g->n_node; i++) {
        Onnx__NodeProto *n = g->node[i];
        tc_push(&e->nodes, ((placed){n, (int)i}));
        for (size_t k = 0; is_constant(n) && k < n->n_attribute; k++)
            if (n->attribute[k]->t)
                know_constant(e, n->output[0], n->attribute[k]->t);
    }
    for (size_t i = 0; i < g->n_output; i++)
        tc_push(&e->outputs, g->output[i]);
    take_names(e, g);
    e->own = e->before = (int)g->n_node;
}

tc_status tc_onnx_edit_open(const char *path, tc_onnx_edit **out, tc_error *err) {
    tc_onnx_edit *e = tc_xcalloc(1, sizeof *e);
    e->arena = tc_arena_new();
    *out = NULL;
    char *dir = tc_fs_dirname(path);
    e->dir = tc_arena_strdup(e->arena, dir);
    free(dir);
    tc_status st = tc_onnx_read_model(path, e->arena, &e->model, err);
    if (st != TC_OK) {
        tc_onnx_edit_free(e);
        return st;
    }
    settle_names(e->model->graph);
    read_graph(e);
    *out = e;
    return TC_OK;
}

void tc_onnx_edit_free(tc_onnx_edit *e) {
    if (!e)
        return;
    for (size_t i = 0; i < e->constants.len; i++)
        tc_graph_tensor_free(&e->constants.data[i]->value);
    for (size_t i = 0; i < e->brought.len; i++)
        free(e->brought.data[i]);
    tc_vec_free(&e->brought);
    tc_vec_free(&e->nodes);
    tc_vec_free(&e->constants);
    tc_vec_free(&e->initializers);
    tc_vec_free(&e->outputs);
    tc_map_free(&e->by_name);
    tc_map_free(&e->taken);
    tc_arena_free(e->arena);
    free(e);
}

tc_arena *tc_onnx_edit_arena(tc_onnx_edit *e) {
    return e->arena;
}

int64_t tc_onnx_edit_opset(const tc_onnx_edit *e) {
    for (size_t i = 0; i < e->model->n_opset_import; i++)
        if (tc_graph_import_default_domain(e->model->opset_import[i]->domain))
            return e->model->opset_import[i]->version;
    return 0;
}

void tc_onnx_edit_use_domain(tc_onnx_edit *e, const char *domain, int64_t version) {
    Onnx__ModelProto *m = e->model;
    for (size_t i = 0; i < m->n_opset_import; i++)
        if (m->opset_import[i]->domain && strcmp(m->opset_import[i]->domain, domain) == 0)
            return;
    Onnx__OperatorSetIdProto **all = TC_NEW_N(e->arena, Onnx__OperatorSetIdProto *, m->n_opset_import + 1);
    if (m->n_opset_import)
        memcpy(all, m->opset_import, sizeof *all * m->n_opset_import);
    Onnx__OperatorSetIdProto *o = all[m->n_opset_import++] = TC_NEW(e->arena, Onnx__OperatorSetIdProto);
    onnx__operator_set_id_proto__init(o);
    o->domain = tc_arena_strdup(e->arena, domain);
    o->has_version = 1;
    o->version = version;
    m->opset_import = all;
}

/* ---- nodes ---- */

int tc_onnx_edit_nodes(const tc_onnx_edit *e) {
    return (int)e->nodes.len;
}

tc_onnx_edit_node tc_onnx_edit_node_at(const tc_onnx_edit *e, int i) {
    const Onnx__NodeProto *n = e->nodes.data[i].node;
    if (!n)
        return (tc_onnx_edit_node){0};
    return (tc_onnx_edit_node){
        n->op_type, n->domain ? n->domain : "", n->name ? n->name : "", (int)n->n_input, (int)n->n_output, n->input, n->output};
}

static const Onnx__AttributeProto *find_attribute(const tc_onnx_edit *e, int i, const char *name) {
    const Onnx__NodeProto *n = e->nodes.data[i].node;
    for (size_t k = 0; k < n->n_attribute; k++)
        if (n->attribute[k]->name && strcmp(n->attribute[k]->name, name) == 0)
            return n->attribute[k];
    return NULL;
}

int64_t tc_onnx_edit_int(const tc_onnx_edit *e, int i, const char *name, int64_t otherwise) {
    const Onnx__AttributeProto *a = find_attribute(e, i, name);
    return a ? a->i : otherwise;
}

double tc_onnx_edit_float(const tc_onnx_edit *e, int i, const char *name, double otherwise) {
    const Onnx__AttributeProto *a = find_attribute(e, i, name);
    return a ? a->f : otherwise;
}

void tc_onnx_edit_before(tc_onnx_edit *e, int i) {
    e->before = i;
}

static char **copy_names(tc_onnx_edit *e, int n, const char *const *names) {
    char **list = TC_NEW_N(e->arena, char *, n);
    for (int i = 0; i < n; i++)
        list[i] = tc_arena_strdup(e->arena, names[i]);
    return list;
}

static int place(tc_onnx_edit *e, Onnx__NodeProto *n, int nin, const char *const *in, const char *out) {
    n->name = tc_arena_strdup(e->arena, out);
    n->input = copy_names(e, nin, in);
    n->n_input = (size_t)nin;
    n->output = copy_names(e, 1, &out);
    n->n_output = 1;
    tc_map_puts(&e->taken, out, 1);
    tc_push(&e->nodes, ((placed){n, e->before}));
    return (int)e->nodes.len - 1;
}

int tc_onnx_edit_add(tc_onnx_edit *e, const char *op, const char *domain, int nin, const char *const *in, const char *out) {
    Onnx__NodeProto *n = TC_NEW(e->arena, Onnx__NodeProto);
    onnx__node_proto__init(n);
    n->op_type = tc_arena_strdup(e->arena, op);
    n->domain = tc_arena_strdup(e->arena, domain);
    return place(e, n, nin, in, out);
}

int tc_onnx_edit_copy(tc_onnx_edit *e, int i, int nin, const char *const *in, const char *out) {
    return place(e, tc_arena_dup(e->arena, e->nodes.data[i].node, sizeof(Onnx__NodeProto)), nin, in, out);
}

void tc_onnx_edit_set_op(tc_onnx_edit *e, int i, const char *op) {
    e->nodes.data[i].node->op_type = tc_arena_strdup(e->arena, op);
}

void tc_onnx_edit_add_result(tc_onnx_edit *e, int i, const char *out) {
    Onnx__NodeProto *n = e->nodes.data[i].node;
    char **all = TC_NEW_N(e->arena, char *, n->n_output + 1);
    memcpy(all, n->output, sizeof *all * n->n_output);
    all[n->n_output++] = tc_arena_strdup(e->arena, out);
    n->output = all;
    tc_map_puts(&e->taken, out, 1);
}

void tc_onnx_edit_set_int(tc_onnx_edit *e, int i, const char *name, int64_t v) {
    Onnx__NodeProto *n = e->nodes.data[i].node;
    Onnx__AttributeProto *a = TC_NEW(e->arena, Onnx__AttributeProto);
    onnx__attribute_proto__init(a);
    a->name = tc_arena_strdup(e->arena, name);
    a->has_type = 1;
    a->type = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INT;
    a->has_i = 1;
    a->i = v;
    Onnx__AttributeProto **all = TC_NEW_N(e->arena, Onnx__AttributeProto *, n->n_attribute + 1);
    if (n->n_attribute)
        memcpy(all, n->attribute, sizeof *all * n->n_attribute);
    all[n->n_attribute++] = a;
    n->attribute = all;
}

void tc_onnx_edit_set_input(tc_onnx_edit *e, int i, int k, const char *value) {
    e->nodes.data[i].node->input[k] = tc_arena_strdup(e->arena, value);
}

void tc_onnx_edit_remove(tc_onnx_edit *e, int i) {
    e->nodes.data[i].node = NULL;
}

/* ---- values ---- */

tc_status tc_onnx_edit_constant(tc_onnx_edit *e, const char *name, const tc_graph_tensor **out, tc_error *err) {
    const uintptr_t *at = tc_map_gets(&e->by_name, name);
    *out = NULL;
    if (!at)
        return TC_OK;
    constant *c = e->constants.data[*at];
    if (!c->value.data)
        TC_TRY(tc_onnx_read_tensor(c->proto, e->dir, false, &c->value, err));
    *out = &c->value;
    return TC_OK;
}

void tc_onnx_edit_add_constant(tc_onnx_edit *e, const char *name, const tc_graph_tensor *t) {
    Onnx__TensorProto *p = TC_NEW(e->arena, Onnx__TensorProto);
    tc_onnx_fill_tensor(e->arena, p, tc_arena_strdup(e->arena, name), t);
    p->raw_data.data = tc_arena_dup(e->arena, p->raw_data.data, p->raw_data.len);
    tc_push(&e->initializers, p);
    know_constant(e, p->name, p);
    tc_map_puts(&e->taken, p->name, 1);
}

const char *tc_onnx_edit_fresh(tc_onnx_edit *e, const char *base, const char *suffix) {
    const char *name = tc_arena_printf(e->arena, "%s%s", base, suffix);
    for (int i = 2; tc_map_gets(&e->taken, name); i++)
        name = tc_arena_printf(e->arena, "%s%s_%d", base, suffix, i);
    tc_map_puts(&e->taken, name, 1);
    return name;
}

bool tc_onnx_edit_is_output(const tc_onnx_edit *e, const char *name) {
    for (size_t i = 0; i < e->outputs.len; i++)
        if (strcmp(e->outputs.data[i]->name, name) == 0)
            return true;
    return false;
}

void tc_onnx_edit_add_output(tc_onnx_edit *e, const char *name) {
    tc_push(&e->outputs, tc_onnx_value_info(e->arena, name, TC_F32, NULL));
}

/* ---- writing ---- */

static void use_names(tc_map *used, size_t n, Onnx__NodeProto *const *nodes) {
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < nodes[i]->n_input; k++)
            tc_map_puts(used, nodes[i]->input[k], 1);
        for (size_t k = 0; k < nodes[i]->n_attribute; k++) {
            const Onnx__GraphProto *body = nodes[i]->attribute[k]->g;
            if (!body)
                continue;
            use_names(used, body->n_node, body->node);
            for (size_t o = 0; o < body->n_output; o++)
                tc_map_puts(used, body->output[o]->name, 1);
        }
    }
}

/* The nodes in their order: those of the file, each behind those that were put before it. */
static void arrange_nodes(tc_onnx_edit *e, Onnx__GraphProto *g) {
    g->node = TC_NEW_N(e->arena, Onnx__NodeProto *, e->nodes.len + 1);
    g->n_node = 0;
    size_t *start = TC_NEW_N(e->arena, size_t, e->own + 2), *order = TC_NEW_N(e->arena, size_t, e->nodes.len + 1);
    for (size_t i = (size_t)e->own; i < e->nodes.len; i++)
        start[e->nodes.data[i].before + 1]++;
    for (int i = 0; i <= e->own; i++)
        start[i + 1] += start[i];
    size_t *next = tc_arena_dup(e->arena, start, sizeof *start * (size_t)(e->own + 2));
    for (size_t i = (size_t)e->own; i < e->nodes.len; i++)
        order[next[e->nodes.data[i].before]++] = i;
    for (int i = 0; i <= e->own; i++) {
        for (size_t k = start[i]; k < start[i + 1]; k++)
            if (e->nodes.data[order[k]].node)
                g->node[g->n_node++] = e->nodes.data[order[k]].node;
        if (i < e->own && e->nodes.data[i].node)
            g->node[g->n_node++] = e->nodes.data[i].node;
    }
}

/* Constant nodes that nothing reads any more go, as initializers do. */
static void drop_unused_nodes(Onnx__GraphProto *g, const tc_map *used) {
    size_t kept = 0;
    for (size_t i = 0; i < g->n_node; i++) {
        Onnx__NodeProto *n = g->node[i];
        if (!is_constant(n) || tc_map_gets(used, n->output[0]))
            g->node[kept++] = n;
    }
    g->n_node = kept;
}

static bool is_external(const Onnx__TensorProto *p) {
    return p->has_data_location && p->data_location == ONNX__TENSOR_PROTO__DATA_LOCATION__EXTERNAL;
}

/* p with its bytes inside. */
static tc_status bring_in(tc_onnx_edit *e, Onnx__TensorProto *p, Onnx__TensorProto **out, tc_error *err) {
    *out = p;
    if (!is_external(p))
        return TC_OK;
    tc_graph_tensor t = {0};
    TC_TRY(tc_onnx_read_tensor(p, e->dir, false, &t, err));
    *out = TC_NEW(e->arena, Onnx__TensorProto);
    tc_onnx_fill_tensor(e->arena, *out, p->name, &t);
    tc_push(&e->brought, t.data);
    return TC_OK;
}

static tc_status bring_into_bodies(tc_onnx_edit *e, size_t n, Onnx__NodeProto *const *nodes, tc_error *err) {
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < nodes[i]->n_attribute; k++) {
            Onnx__AttributeProto *a = nodes[i]->attribute[k];
            if (a->t)
                TC_TRY(bring_in(e, a->t, &a->t, err));
            for (size_t w = 0; a->g && w < a->g->n_initializer; w++)
                TC_TRY(bring_in(e, a->g->initializer[w], &a->g->initializer[w], err));
            if (a->g)
                TC_TRY(bring_into_bodies(e, a->g->n_node, a->g->node, err));
        }
    return TC_OK;
}

static tc_status arrange_initializers(tc_onnx_edit *e, Onnx__GraphProto *g, const tc_map *used, tc_error *err) {
    const Onnx__GraphProto *before = e->model->graph;
    tc_map dropped = {0};
    tc_status st = TC_OK;
    g->initializer = TC_NEW_N(e->arena, Onnx__TensorProto *, e->initializers.len + 1);
    g->n_initializer = 0;
    for (size_t i = 0; i < e->initializers.len && st == TC_OK; i++) {
        Onnx__TensorProto *p = e->initializers.data[i];
        if (!tc_map_gets(used, p->name))
            tc_map_puts(&dropped, p->name, 1);
        else if ((st = bring_in(e, p, &p, err)) == TC_OK)
            g->initializer[g->n_initializer++] = p;
    }
    g->input = TC_NEW_N(e->arena, Onnx__ValueInfoProto *, before->n_input + 1);
    g->n_input = 0;
    for (size_t i = 0; i < before->n_input; i++)
        if (!tc_map_gets(&dropped, before->input[i]->name))
            g->input[g->n_input++] = before->input[i];
    tc_map_free(&dropped);
    return st;
}

static tc_status write_model(const Onnx__ModelProto *m, const char *path, tc_error *err) {
    size_t size = onnx__model_proto__get_packed_size(m);
    if (size > INT32_MAX)
        return tc_fail(err, TC_BAD_INPUT, "%s: the model would have %zu bytes, and an ONNX file has at most %d", path, size,
                       INT32_MAX);
    uint8_t *bytes = malloc(size + 1);
    if (!bytes)
        return tc_fail(err, TC_ENV, "%s: out of memory for a model of %zu bytes", path, size);
    onnx__model_proto__pack(m, bytes);
    tc_status st = tc_fs_write(path, bytes, size, err);
    free(bytes);
    return st;
}

tc_status tc_onnx_edit_save(tc_onnx_edit *e, const char *path, tc_error *err) {
    TC_TRY(tc_fs_check_writable(path, err));
    Onnx__ModelProto m = *e->model;
    Onnx__GraphProto g = *e->model->graph;
    tc_map used = {0};
    m.graph = &g;
    arrange_nodes(e, &g);
    use_names(&used, g.n_node, g.node);
    for (size_t i = 0; i < e->outputs.len; i++)
        tc_map_puts(&used, e->outputs.data[i]->name, 1);
    drop_unused_nodes(&g, &used);
    g.output = e->outputs.data;
    g.n_output = e->outputs.len;
    tc_status st = arrange_initializers(e, &g, &used, err);
    if (st == TC_OK)
        st = bring_into_bodies(e, g.n_node, g.node, err);
    if (st == TC_OK)
        st = write_model(&m, path, err);
    tc_map_free(&used);
    return st;
}
