/* What symbols.h describes. The model's message is changed in place and packed again. */
#include "symbols.h"

#include <stdio.h>
#include <string.h>

#include "graph/onnx/onnx_int.h"
#include "support/cmocka_all.h"
#include "support/system/fs.h"

typedef struct varying {
    tc_arena *a;
    const Onnx__GraphProto *g;
    vary_how how;
    const char *const *constant;
    size_t nconstant;
    varied *v;
} varying;

/* ---- which ---- */

static bool has_name(const char *const *names, size_t n, const char *name) {
    for (size_t i = 0; i < n; i++)
        if (strcmp(names[i], name) == 0)
            return true;
    return false;
}

static bool is_initialized(const Onnx__GraphProto *g, const char *name) {
    for (size_t i = 0; i < g->n_initializer; i++)
        if (strcmp(g->initializer[i]->name, name) == 0)
            return true;
    return false;
}

/* As many numbers as there are dimensions, or axes, of something else. */
static bool is_list_of_numbers(const Onnx__GraphProto *g, const char *name) {
    for (size_t i = 0; i < g->n_node; i++) {
        tc_graph_op op;
        if (!tc_graph_op_find(g->node[i]->op_type, &op))
            continue;
        size_t from = tc_graph_op_is(op, TC_GRAPH_ALL_NUMBERS) ? 0 : tc_graph_op_is(op, TC_GRAPH_TAKES_NUMBERS) ? 1 : SIZE_MAX;
        for (size_t k = from; k < g->node[i]->n_input; k++)
            if (strcmp(g->node[i]->input[k], name) == 0)
                return true;
    }
    return false;
}

static Onnx__TensorShapeProto *open_shape(const varying *x, const Onnx__ValueInfoProto *in) {
    bool tensor = in->type && in->type->value_case == ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE && in->type->tensor_type->shape;
    bool fixed =
        is_initialized(x->g, in->name) || has_name(x->constant, x->nconstant, in->name) || is_list_of_numbers(x->g, in->name);
    return tensor && !fixed && in->type->tensor_type->shape->n_dim <= TC_GRAPH_MAX_DIMS ? in->type->tensor_type->shape : NULL;
}

static int symbol_of(varied *v, int64_t extent, bool apart) {
    for (int k = 0; k < v->nsymbol && !apart; k++)
        if (v->extent[k] == extent)
            return k + 1;
    assert_true(v->nsymbol < MAX_VARIED);
    v->extent[v->nsymbol++] = extent;
    return v->nsymbol;
}

static void vary_input(varying *x, const Onnx__ValueInfoProto *in, int64_t batch) {
    varied *v = x->v;
    const Onnx__TensorShapeProto *s = open_shape(x, in);
    if (!s)
        return;
    assert_true(v->nin < MAX_VARIED);
    v->input[v->nin] = tc_arena_strdup(x->a, in->name);
    v->ndim[v->nin] = (int)s->n_dim;
    for (size_t d = 0; d < s->n_dim; d++) {
        int64_t extent = s->dim[d]->dim_value;
        bool numbered = s->dim[d]->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE;
        bool wanted =
            x->how == VARY_ALL || x->how >= VARY_ONE || (x->how == VARY_BATCH ? d == 0 && extent == batch : extent != 1);
        if (numbered && wanted && (x->how != VARY_FIRST || d == 0))
            v->symbol[v->nin][d] = symbol_of(v, extent, x->how == VARY_APART);
    }
    v->nin++;
}

/* Of all extents only number k. */
static void keep_one(varied *v, int k) {
    for (int i = 0; i < v->nin; i++)
        for (int d = 0; d < v->ndim[i]; d++)
            v->symbol[i][d] = v->symbol[i][d] == k + 1;
    v->extent[0] = k < v->nsymbol ? v->extent[k] : 0;
    v->nsymbol = k < v->nsymbol;
}

static void choose(varying *x) {
    int64_t batch = -1;
    *x->v = (varied){0};
    for (size_t i = 0; i < x->g->n_input; i++) {
        const Onnx__TensorShapeProto *s = open_shape(x, x->g->input[i]);
        batch = batch < 0 && s && s->n_dim ? s->dim[0]->dim_value : batch;
        vary_input(x, x->g->input[i], batch);
    }
    if (x->how >= VARY_ONE)
        keep_one(x->v, (int)(x->how - VARY_ONE));
}

/* ---- the file ---- */

static void name_symbols(const varying *x) {
    for (size_t i = 0, n = 0; i < x->g->n_input; i++) {
        Onnx__TensorShapeProto *s = open_shape(x, x->g->input[i]);
        for (size_t d = 0; s && d < s->n_dim; d++) {
            if (!x->v->symbol[n][d])
                continue;
            s->dim[d]->value_case = ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_PARAM;
            s->dim[d]->dim_param = tc_arena_printf(x->a, "n%d", x->v->symbol[n][d] - 1);
        }
        n += s != NULL;
    }
}

/* What the file says of shapes that follow from those of the inputs. */
static void forget_shapes(Onnx__GraphProto *g) {
    g->n_value_info = 0;
    for (size_t i = 0; i < g->n_output; i++)
        if (g->output[i]->type && g->output[i]->type->value_case == ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE)
            g->output[i]->type->tensor_type->shape = NULL;
}

void vary_model(const char *from, const char *to, vary_how how, const char *const *constant, size_t nconstant, tc_arena *a,
                varied *v) {
    Onnx__ModelProto *m;
    tc_error e = {0};
    if (tc_onnx_read_model(from, a, &m, &e) != TC_OK)
        fail_msg("%s", e.msg);
    varying x = {.a = a, .g = m->graph, .how = how, .constant = constant, .nconstant = nconstant, .v = v};
    choose(&x);
    name_symbols(&x);
    forget_shapes(m->graph);
    size_t size = onnx__model_proto__get_packed_size(m);
    uint8_t *bytes = tc_arena_alloc(a, size + 1);
    onnx__model_proto__pack(m, bytes);
    remove(to);
    if (tc_fs_write_scratch(to, bytes, size, &e) != TC_OK)
        fail_msg("%s", e.msg);
}

tc_graph_binding symbol_range(tc_arena *a, int k, int64_t least, int64_t most) {
    return (tc_graph_binding){.name = tc_arena_printf(a, "n%d", k), .ndim = 1, .d = {{least, most, 1}}};
}
