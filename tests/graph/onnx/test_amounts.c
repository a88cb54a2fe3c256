/* Small files that ask import for much: copies of bodies, parts of sequences, folded constants, lists, names and attempts. Each kind
 * is drawn in several sizes. Import answers with a graph that verifies, or with a message; either takes little time and memory. */
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "graph/graph_test.h"
#include "graph/onnx/onnx_int.h"
#include "graph/ops/ops.h"
#include "support/rng.h"
#include "support/system/fs.h"

/* What a model of at most 100 KB may take beyond what a plain model takes. Sanitizers need more of both. */
#ifdef TCTUNE_SANITIZED
enum { MOST_SECONDS = 60, MOST_MIB = 8192 };
#else
enum { MOST_SECONDS = 10, MOST_MIB = 500 };
#endif

/* ---- models ---- */

typedef struct graph {
    tc_arena *a;
    Onnx__GraphProto *g;
} graph;

/* The array with room for one more; it doubles. */
static void *grown(tc_arena *a, void *old, size_t n, size_t size) {
    if (n & (n - 1) || n == 1)
        return old;
    void *p = tc_arena_alloc(a, (n ? 2 * n : 2) * size);
    return n ? memcpy(p, old, n * size) : p;
}

#define APPEND(a, array, n, item)                                                                                                \
    do {                                                                                                                         \
        (array) = grown((a), (array), (n), sizeof *(array));                                                                     \
        (array)[(n)++] = (item);                                                                                                 \
    } while (0)

static graph new_graph(tc_arena *a) {
    graph g = {a, TC_NEW(a, Onnx__GraphProto)};
    onnx__graph_proto__init(g.g);
    g.g->name = tc_arena_strdup(a, "g");
    return g;
}

static void add_names(tc_arena *a, char ***names, size_t *n, const char *list) {
    for (size_t len; *list; list += len + (list[len] == ',')) {
        len = strcspn(list, ",");
        APPEND(a, *names, *n, tc_arena_strndup(a, list, len));
    }
}

static Onnx__NodeProto *new_node(tc_arena *a, const char *op, const char *in, const char *out) {
    Onnx__NodeProto *n = TC_NEW(a, Onnx__NodeProto);
    onnx__node_proto__init(n);
    n->op_type = tc_arena_strdup(a, op);
    add_names(a, &n->input, &n->n_input, in);
    add_names(a, &n->output, &n->n_output, out);
    return n;
}

static Onnx__NodeProto *node(graph *g, const char *op, const char *in, const char *out) {
    Onnx__NodeProto *n = new_node(g->a, op, in, out);
    APPEND(g->a, g->g->node, g->g->n_node, n);
    return n;
}

static Onnx__AttributeProto *attribute(tc_arena *a, Onnx__NodeProto *n, const char *name, int type) {
    Onnx__AttributeProto *p = TC_NEW(a, Onnx__AttributeProto);
    onnx__attribute_proto__init(p);
    p->name = tc_arena_strdup(a, name);
    p->has_type = true;
    p->type = (Onnx__AttributeProto__AttributeType)type;
    APPEND(a, n->attribute, n->n_attribute, p);
    return p;
}

static void set_int(tc_arena *a, Onnx__NodeProto *n, const char *name, int64_t v) {
    Onnx__AttributeProto *p = attribute(a, n, name, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INT);
    p->has_i = true;
    p->i = v;
}

static void set_text(tc_arena *a, Onnx__NodeProto *n, const char *name, const char *v) {
    Onnx__AttributeProto *p = attribute(a, n, name, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__STRING);
    p->has_s = true;
    p->s.data = (uint8_t *)tc_arena_strdup(a, v);
    p->s.len = strlen(v);
}

static void set_graph(Onnx__NodeProto *n, const char *name, const graph *g) {
    attribute(g->a, n, name, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__GRAPH)->g = g->g;
}

static void add_weight(graph *g, const char *name, const tc_graph_tensor *t) {
    Onnx__TensorProto *p = TC_NEW(g->a, Onnx__TensorProto);
    onnx__tensor_proto__init(p);
    tc_onnx_fill_tensor(g->a, p, tc_arena_strdup(g->a, name), t);
    p->raw_data.data = tc_arena_dup(g->a, p->raw_data.data, p->raw_data.len);
    APPEND(g->a, g->g->initializer, g->g->n_initializer, p);
}

static void add_ints(graph *g, const char *name, int ndim, int64_t n, const int64_t *v) {
    tc_graph_tensor t = i64_tensor((tc_graph_shape){ndim, {n}}, v);
    add_weight(g, name, &t);
}

static Onnx__TensorShapeProto *dims_of(tc_arena *a, const char *dims) {
    Onnx__TensorShapeProto *s = TC_NEW(a, Onnx__TensorShapeProto);
    char **names = NULL;
    size_t n = 0;
    onnx__tensor_shape_proto__init(s);
    add_names(a, &names, &n, dims);
    for (size_t i = 0; i < n; i++) {
        Onnx__TensorShapeProto__Dimension *d = TC_NEW(a, Onnx__TensorShapeProto__Dimension);
        onnx__tensor_shape_proto__dimension__init(d);
        bool number = names[i][0] >= '0' && names[i][0] <= '9';
        d->value_case =
            number ? ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE : ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_PARAM;
        if (number)
            d->dim_value = strtoll(names[i], NULL, 10);
        else
            d->dim_param = names[i];
        APPEND(a, s->dim, s->n_dim, d);
    }
    return s;
}

/* dims NULL: nothing is said of its shape. */
static Onnx__ValueInfoProto *value(tc_arena *a, const char *name, tc_dtype t, const char *dims) {
    return tc_onnx_value_info(a, tc_arena_strdup(a, name), t, dims ? dims_of(a, dims) : NULL);
}

static void input(graph *g, const char *name, tc_dtype t, const char *dims) {
    APPEND(g->a, g->g->input, g->g->n_input, value(g->a, name, t, dims));
}

static void output(graph *g, const char *name, tc_dtype t) {
    APPEND(g->a, g->g->output, g->g->n_output, value(g->a, name, t, NULL));
}

typedef struct model {
    graph g;
    Onnx__ModelProto *m;
} model;

static model new_model(tc_arena *a, int opset) {
    model m = {new_graph(a), TC_NEW(a, Onnx__ModelProto)};
    static const char *const domains[] = {"", "own"};
    onnx__model_proto__init(m.m);
    m.m->has_ir_version = true;
    m.m->ir_version = 9;
    m.m->graph = m.g.g;
    for (int k = 0; k < 2; k++) {
        Onnx__OperatorSetIdProto *s = TC_NEW(a, Onnx__OperatorSetIdProto);
        onnx__operator_set_id_proto__init(s);
        s->domain = tc_arena_strdup(a, domains[k]);
        s->has_version = true;
        s->version = k ? 1 : opset;
        APPEND(a, m.m->opset_import, m.m->n_opset_import, s);
    }
    input(&m.g, "x", TC_F32, "4");
    return m;
}

/* Function `name`(p) => (q), which the nodes of `body` compute. */
static void add_function(model *m, const char *name, const graph *body) {
    Onnx__FunctionProto *f = TC_NEW(body->a, Onnx__FunctionProto);
    onnx__function_proto__init(f);
    f->name = tc_arena_strdup(body->a, name);
    f->domain = tc_arena_strdup(body->a, "own");
    add_names(body->a, &f->input, &f->n_input, "p");
    add_names(body->a, &f->output, &f->n_output, "q");
    f->node = body->g->node;
    f->n_node = body->g->n_node;
    f->n_opset_import = m->m->n_opset_import;
    f->opset_import = m->m->opset_import;
    APPEND(body->a, m->m->functions, m->m->n_functions, f);
}

static void call(graph *g, const char *function, const char *in, const char *out) {
    node(g, function, in, out)->domain = tc_arena_strdup(g->a, "own");
}

static const char *numbered(tc_arena *a, const char *base, int i) {
    return tc_arena_printf(a, "%s%d", base, i);
}

/* A chain of n nodes from `from` to `to`. */
static void chain(graph *g, const char *op, int n, const char *from, const char *to) {
    for (int i = 0; i < n; i++)
        node(g, op, i ? numbered(g->a, "c", i) : from, i + 1 < n ? numbered(g->a, "c", i + 1) : to);
}

/* ---- kinds: n is from 0 to 1 ---- */

static int from_to(double n, int least, int most) {
    return least + (int)(n * (most - least));
}

static void many_parts(model *m, double n) {
    tc_arena *a = m->g.a;
    input(&m->g, "wide", TC_F32, "4096");
    for (int i = 0, times = from_to(n, 1, 1200); i < times; i++) {
        node(&m->g, "SplitToSequence", "wide", numbered(a, "s", i));
        node(&m->g, "SequenceLength", numbered(a, "s", i), i ? numbered(a, "n", i) : "y");
    }
    output(&m->g, "y", TC_I64);
}

/* Each list is a copy of the one before, and one longer. */
static void long_lists(model *m, double n) {
    tc_arena *a = m->g.a;
    int times = from_to(n, 1, 2400);
    node(&m->g, "SequenceConstruct", "x", "s0");
    for (int i = 0; i < times; i++)
        node(&m->g, "SequenceInsert", tc_arena_printf(a, "s%d,x", i), numbered(a, "s", i + 1));
    node(&m->g, "ConcatFromSequence", numbered(a, "s", times), "y");
    set_int(a, m->g.g->node[m->g.g->n_node - 1], "axis", 0);
    output(&m->g, "y", TC_F32);
}

/* Function i calls function i + 1 twice. */
static void functions_in_functions(model *m, double n) {
    tc_arena *a = m->g.a;
    int depth = from_to(n, 1, 28);
    for (int i = 0; i < depth; i++) {
        graph body = new_graph(a);
        if (i + 1 < depth) {
            call(&body, numbered(a, "F", i + 1), "p", "r");
            call(&body, numbered(a, "F", i + 1), "r", "q");
        } else {
            chain(&body, "Neg", 3, "p", "q");
        }
        add_function(m, numbered(a, "F", i), &body);
    }
    call(&m->g, "F0", "x", "y");
    output(&m->g, "y", TC_F32);
}

/* Every branch calls the same long function. */
static void branches_with_functions(model *m, double n) {
    tc_arena *a = m->g.a;
    graph body = new_graph(a);
    int times = from_to(n, 1, 400);
    chain(&body, "Neg", from_to(n, 10, 2000), "p", "q");
    add_function(m, "F", &body);
    input(&m->g, "c", TC_BOOL, "");
    for (int i = 0; i < times; i++) {
        Onnx__NodeProto *p = node(&m->g, "If", "c", i + 1 < times ? numbered(a, "i", i + 1) : "y");
        for (int k = 0; k < 2; k++) {
            graph branch = new_graph(a);
            call(&branch, "F", i ? numbered(a, "i", i) : "x", "z");
            output(&branch, "z", TC_F32);
            set_graph(p, k ? "then_branch" : "else_branch", &branch);
        }
    }
    output(&m->g, "y", TC_F32);
}

/* A body of a Loop in a Loop, and so on. `last` is the operator in the innermost: one that fails costs all ways to import it. */
static graph nested_loop(tc_arena *a, int depth, const char *last) {
    graph g = new_graph(a);
    const char *in = numbered(a, "v", depth), *out = numbered(a, "w", depth), *go = numbered(a, "go", depth);
    input(&g, numbered(a, "i", depth), TC_I64, "");
    input(&g, go, TC_BOOL, "");
    input(&g, in, TC_F32, "4");
    if (depth == 0) {
        node(&g, last, tc_arena_printf(a, "%s,x", in), out);
    } else {
        graph inner = nested_loop(a, depth - 1, last);
        set_graph(node(&g, "Loop", tc_arena_printf(a, "trips,,%s", in), out), "body", &inner);
    }
    node(&g, "Identity", go, numbered(a, "next", depth));
    output(&g, numbered(a, "next", depth), TC_BOOL);
    output(&g, out, TC_F32);
    return g;
}

static void loops_in_loops(model *m, int depth, int64_t trips, const char *last) {
    graph body = nested_loop(m->g.a, depth, last);
    add_ints(&m->g, "trips", 0, 0, &trips);
    set_graph(node(&m->g, "Loop", "trips,,x", "y"), "body", &body);
    output(&m->g, "y", TC_F32);
}

static void small_loops(model *m, double n) {
    loops_in_loops(m, from_to(n, 1, 20), 2, "Add");
}

static void wide_loops(model *m, double n) {
    loops_in_loops(m, from_to(n, 1, 20), 32, "Add");
}

static void long_loops(model *m, double n) {
    loops_in_loops(m, from_to(n, 1, 20), 4000, "Add");
}

/* The carried value grows in the innermost body, so that no loop keeps its shapes. */
static void growing_loops(model *m, double n) {
    loops_in_loops(m, from_to(n, 1, 20), 4000, "Concat");
    input(&m->g, "unread", TC_F32, "1");
}

static void failing_loops(model *m, double n) {
    loops_in_loops(m, from_to(n, 1, 20), 4000, "MatMulInteger");
}

/* Branches of different types in each other: import tries the one and the other. */
static graph nested_branch(tc_arena *a, int depth, bool wide) {
    graph g = new_graph(a);
    const char *out = tc_arena_printf(a, "b%d%s", depth, wide ? "w" : "n");
    if (depth == 0) {
        node(&g, wide ? "Neg" : "ReduceMax", "x", out);
    } else {
        Onnx__NodeProto *p = node(&g, "If", "c", tc_arena_printf(a, "%s.in", out));
        for (int k = 0; k < 2; k++) {
            graph inner = nested_branch(a, depth - 1, k);
            set_graph(p, k ? "then_branch" : "else_branch", &inner);
        }
        node(&g, wide ? "Neg" : "Shape", tc_arena_printf(a, "%s.in", out), out);
    }
    output(&g, out, TC_F32);
    return g;
}

static void branches_in_branches(model *m, double n) {
    graph outer = nested_branch(m->g.a, from_to(n, 1, 9), true);
    input(&m->g, "c", TC_BOOL, "");
    for (size_t i = 0; i < outer.g->n_node; i++)
        APPEND(m->g.a, m->g.g->node, m->g.g->n_node, outer.g->node[i]);
    output(&m->g, outer.g->output[0]->name, TC_F32);
}

/* A row that doubles with every node, up to 2^k elements. */
static void doubled(graph *g, const char *name, int k, int axis) {
    float one[16] = {1};
    tc_graph_tensor t = f32_tensor(axis ? (tc_graph_shape)DIMS(1, 16) : (tc_graph_shape)DIMS(16, 1), one);
    add_weight(g, tc_arena_printf(g->a, "%s0", name), &t);
    for (int i = 0; i < k; i++) {
        const char *from = numbered(g->a, name, i);
        Onnx__NodeProto *p = node(g, "Concat", tc_arena_printf(g->a, "%s,%s", from, from), numbered(g->a, name, i + 1));
        set_int(g->a, p, "axis", axis);
    }
}

static void large_products(model *m, double n) {
    tc_arena *a = m->g.a;
    int k = from_to(n, 1, 10);
    doubled(&m->g, "r", k, 1);
    doubled(&m->g, "s", k, 0);
    node(&m->g, "MatMul", tc_arena_printf(a, "s%d,r%d", k, k), "square");
    for (int i = 0; i < 8; i++)
        node(&m->g, "MatMul", i ? tc_arena_printf(a, "m%d,square", i) : "square,square", numbered(a, "m", i + 1));
    node(&m->g, "Slice", "m8,from,to", "part");
    add_ints(&m->g, "from", 1, 2, (int64_t[]){0, 0});
    add_ints(&m->g, "to", 1, 2, (int64_t[]){1, 4});
    node(&m->g, "Add", "part,x", "y");
    output(&m->g, "y", TC_F32);
}

static void large_convolutions(model *m, double n) {
    tc_arena *a = m->g.a;
    int k = from_to(n, 1, 9);
    doubled(&m->g, "r", k, 1);
    doubled(&m->g, "s", k, 0);
    node(&m->g, "MatMul", tc_arena_printf(a, "s%d,r%d", k, k), "square");
    add_ints(&m->g, "image", 1, 4, (int64_t[]){1, 1, 16 << k, 16 << k});
    add_ints(&m->g, "last", 1, 3, (int64_t[]){-1, -1, -1});
    node(&m->g, "Reshape", "square,image", "i");
    add_ints(&m->g, "from", 1, 2, (int64_t[]){0, 0});
    add_ints(&m->g, "half", 1, 2, (int64_t[]){8 << k, 8 << k});
    add_ints(&m->g, "axes", 1, 2, (int64_t[]){2, 3});
    node(&m->g, "Slice", "i,from,half,axes", "window");
    node(&m->g, "Conv", "i,window", "o");
    node(&m->g, "Einsum", "square,square,square", "e");
    set_text(a, m->g.g->node[m->g.g->n_node - 1], "equation", "ij,jk,kl->il");
    node(&m->g, "ReduceMax", "e", "em");
    node(&m->g, "ReduceMax", "o", "om");
    set_int(a, m->g.g->node[m->g.g->n_node - 1], "keepdims", 0);
    node(&m->g, "Add", "em,om", "both");
    node(&m->g, "Add", "both,x", "y");
    output(&m->g, "y", TC_F32);
}

/* Many constants that a few bytes ask for. */
static void large_constants(model *m, double n) {
    tc_arena *a = m->g.a;
    int64_t size = (int64_t)1 << from_to(n, 8, 30);
    static const float zero_one[] = {0, 1};
    tc_graph_tensor depth_values = f32_tensor((tc_graph_shape)DIMS(2), zero_one);
    add_ints(&m->g, "n", 0, 0, &size);
    add_ints(&m->g, "nn", 1, 1, &size);
    add_ints(&m->g, "zero", 0, 0, (int64_t[]){0});
    add_ints(&m->g, "one", 0, 0, (int64_t[]){1});
    add_ints(&m->g, "few", 1, 4, (int64_t[]){1, 2, 3, 4});
    add_ints(&m->g, "pads", 1, 2, (int64_t[]){0, size});
    add_weight(&m->g, "values", &depth_values);
    for (int i = 0, times = from_to(n, 1, 40); i < times; i++) {
        static const char *const makers[][2] = {{"ConstantOfShape", "nn"}, {"Range", "zero,n,one"}, {"Expand", "few4,nn"},
                                                {"Tile", "few,nn"},        {"Pad", "few,pads"},     {"OneHot", "few,n,values"}};
        const char *const *maker = makers[i % (int)TC_LEN(makers)];
        if (i == 0)
            node(&m->g, "Unsqueeze", "one,zeros", "few4");
        node(&m->g, maker[0], maker[1], numbered(a, "k", i));
        node(&m->g, "Cast", numbered(a, "k", i), numbered(a, "f", i));
        set_int(a, m->g.g->node[m->g.g->n_node - 1], "to", 1);
        node(&m->g, "ReduceMax", numbered(a, "f", i), numbered(a, "t", i));
        set_int(a, m->g.g->node[m->g.g->n_node - 1], "keepdims", 0);
        node(&m->g, "Add", i ? tc_arena_printf(a, "t%d,y%d", i, i - 1) : "t0,x", i + 1 < times ? numbered(a, "y", i) : "y");
    }
    add_ints(&m->g, "zeros", 1, 1, (int64_t[]){0});
    output(&m->g, "y", TC_F32);
}

static void large_resize(model *m, double n) {
    static const char *const modes[] = {"nearest", "linear", "cubic"};
    tc_arena *a = m->g.a;
    int64_t rows = from_to(n, 10, 10000000);
    input(&m->g, "image", TC_F32, "1,1,4,4");
    add_ints(&m->g, "sizes", 1, 4, (int64_t[]){1, 1, rows, 4});
    Onnx__NodeProto *p = node(&m->g, "Resize", ",,,sizes", "big");
    p->input[0] = tc_arena_strdup(a, "image");
    p->input[1] = p->input[2] = tc_arena_strdup(a, "");
    set_text(a, p, "mode", modes[rows % 3]);
    node(&m->g, "ReduceMax", "big", "y");
    output(&m->g, "y", TC_F32);
}

/* A list of constants, which is not in the file, as operand that import must know. */
static void large_lists(model *m, double n) {
    tc_arena *a = m->g.a;
    int64_t size = (int64_t)1 << from_to(n, 4, 21);
    add_ints(&m->g, "n", 0, 0, &size);
    add_ints(&m->g, "zero", 0, 0, (int64_t[]){0});
    add_ints(&m->g, "one", 0, 0, (int64_t[]){1});
    node(&m->g, "Range", "zero,n,one", "list");
    for (int i = 0, times = from_to(n, 1, 400); i < times; i++) {
        node(&m->g, "Identity", "x", numbered(a, "same", i));
        node(&m->g, "Unsqueeze", tc_arena_printf(a, "same%d,list", i), numbered(a, "u", i));
        node(&m->g, "Upsample", tc_arena_printf(a, "x,list"), numbered(a, "v", i));
    }
    output(&m->g, "u0", TC_F32);
}

/* Each copy of a node has its name. */
static void long_names(model *m, double n) {
    tc_arena *a = m->g.a;
    graph body = new_graph(a);
    int length = from_to(n, 10, 60000);
    char *name = memset(tc_arena_alloc(a, (size_t)length + 1), 'n', (size_t)length);
    node(&body, "Softplus", "p", "q")->name = name;
    add_function(m, "F", &body);
    for (int i = 0, times = from_to(n, 1, 1500); i < times; i++)
        call(&m->g, "F", i ? numbered(a, "y", i) : "x", i + 1 < times ? numbered(a, "y", i + 1) : "y");
    output(&m->g, "y", TC_F32);
}

/* Sizes that the model relates to each other, one node after the other. */
static void related_sizes(model *m, double n) {
    tc_arena *a = m->g.a;
    int times = from_to(n, 2, 120);
    for (int i = 0; i < times; i++)
        input(&m->g, numbered(a, "a", i), TC_F32, tc_arena_printf(a, "d%d,3", i));
    for (int i = times - 1; i > 0; i--)
        node(&m->g, "Add", tc_arena_printf(a, "a%d,a%d", i - 1, i), i > 1 ? numbered(a, "z", i) : "y");
    output(&m->g, "y", TC_F32);
}

typedef struct kind {
    const char *name;
    int opset;
    void (*draw)(model *m, double n);
    bool fits; /* the largest that is drawn is imported, too */
} kind;

static const kind kinds[] = {{"parts of sequences", 17, many_parts, false},
                             {"lists that grow", 17, long_lists, false},
                             {"functions in functions", 17, functions_in_functions, false},
                             {"branches with functions", 17, branches_with_functions, false},
                             {"loops of 2 trips", 17, small_loops, true},
                             {"loops of 32 trips", 17, wide_loops, true},
                             {"loops of 4000 trips", 17, long_loops, true},
                             {"loops that grow", 17, growing_loops, false},
                             {"loops that fail", 17, failing_loops, false},
                             {"branches in branches", 13, branches_in_branches, false},
                             {"products of constants", 17, large_products, true},
                             {"convolutions of constants", 17, large_convolutions, true},
                             {"constants from sizes", 17, large_constants, false},
                             {"resizing", 17, large_resize, true},
                             {"lists from constants", 13, large_lists, false},
                             {"names", 17, long_names, false},
                             {"sizes that are related", 17, related_sizes, false}};

/* ---- trying ---- */

static uint8_t *pack(const kind *k, double n, size_t *size) {
    tc_arena *a = tc_arena_new();
    model m = new_model(a, k->opset);
    k->draw(&m, n);
    *size = onnx__model_proto__get_packed_size(m.m);
    uint8_t *bytes = malloc(*size + 1);
    onnx__model_proto__pack(m.m, bytes);
    tc_arena_free(a);
    return bytes;
}

enum { IMPORTED = 0, REFUSED = 1, WRONG = 2 };

/* In a process of its own, whose time and memory are known afterwards. */
static int import_it(const uint8_t *bytes, size_t size) {
    tc_graph_import_options o = {.bytes = bytes, .nbytes = size};
    tc_graph *g = NULL;
    tc_error e = {0};
    tc_status s = tc_graph_import("drawn.onnx", &o, &g, &e);
    if (s == TC_OK && tc_graph_verify(g, &e) == TC_OK)
        return IMPORTED;
    if (getenv("TCTUNE_TEST_VERBOSE"))
        fprintf(stderr, "%s\n", e.msg);
    return s == TC_BAD_INPUT && !g && strstr(e.msg, "drawn.onnx") ? REFUSED : WRONG;
}

typedef struct cost {
    int result;
    double seconds, mib;
} cost;

static cost measure(const uint8_t *bytes, size_t size) {
    int status;
    struct rusage u;
    fflush(NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        setrlimit(RLIMIT_CPU, &(struct rlimit){4 * MOST_SECONDS, 4 * MOST_SECONDS});
        _exit(import_it(bytes, size));
    }
    assert_int_equal(wait4(child, &status, 0, &u), child);
    double seconds = (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) + 1e-6 * (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
    return (cost){WIFEXITED(status) ? WEXITSTATUS(status) : WRONG, seconds, (double)u.ru_maxrss / 1024};
}

static void try_kind(const kind *k) {
    enum { SIZES = 4 };
    size_t size;
    uint8_t *bytes = pack(k, 0, &size);
    cost plain = measure(bytes, size);
    free(bytes);
    if (plain.result == WRONG)
        fail_msg("%s, the plain one: neither a graph nor a message", k->name);
    for (int i = 1; i <= SIZES; i++) {
        bytes = pack(k, (double)i / SIZES, &size);
        cost c = measure(bytes, size);
        free(bytes);
        print_message("%-26s %6zu bytes: %s, %.2f s, %.0f MiB\n", k->name, size, c.result == IMPORTED ? "imported" : "refused",
                      c.seconds, c.mib - plain.mib);
        if (c.result == WRONG)
            fail_msg("%s, size %d: neither a graph nor a message", k->name, i);
        if (c.seconds > MOST_SECONDS || c.mib - plain.mib > MOST_MIB)
            fail_msg("%s, size %d: a model of %zu bytes takes %.1f s and %.0f MiB", k->name, i, size, c.seconds,
                     c.mib - plain.mib);
        if (i == SIZES && k->fits && c.result != IMPORTED)
            fail_msg("%s: the largest model is refused", k->name);
    }
}

static void test_kinds(void **state) {
    (void)state;
    for (size_t i = 0; i < TC_LEN(kinds); i++)
        try_kind(&kinds[i]);
}

static tc_status import_drawn(void (*draw)(model *m, double n), double n, tc_graph **g, tc_error *err) {
    const kind k = {.opset = 17, .draw = draw};
    size_t size;
    uint8_t *bytes = pack(&k, n, &size);
    tc_graph_import_options o = {.bytes = bytes, .nbytes = size};
    tc_status s = tc_graph_import("drawn.onnx", &o, g, err);
    free(bytes);
    return s;
}

/* square[i, j] = s[i] * r[j], each 1 at every 16th of 2^(4 + k) places. */
static void one_product(model *m, double n) {
    tc_arena *a = m->g.a;
    int k = (int)n;
    doubled(&m->g, "r", k, 1);
    doubled(&m->g, "s", k, 0);
    node(&m->g, "MatMul", tc_arena_printf(a, "s%d,r%d", k, k), "square");
    node(&m->g, "MatMul", "square,square", "product");
    add_ints(&m->g, "from", 1, 2, (int64_t[]){0, 0});
    add_ints(&m->g, "to", 1, 2, (int64_t[]){1, 4});
    node(&m->g, "Slice", "product,from,to", "part");
    node(&m->g, "Add", "part,x", "y");
    output(&m->g, "y", TC_F32);
}

static void shape_of_product(model *m, double n) {
    one_product(m, n);
    node(&m->g, "ReduceMax", "product", "largest");
    set_int(m->g.a, m->g.g->node[m->g.g->n_node - 1], "keepdims", 0);
    node(&m->g, "Cast", "largest", "size");
    set_int(m->g.a, m->g.g->node[m->g.g->n_node - 1], "to", 7);
    add_ints(&m->g, "zero", 1, 1, (int64_t[]){0});
    node(&m->g, "Unsqueeze", "size,zero", "shape");
    node(&m->g, "ConstantOfShape", "shape", "z");
    output(&m->g, "z", TC_F32);
}

static bool has(const tc_graph *g, tc_graph_op op) {
    for (size_t i = 0; i < g->nodes.len; i++)
        if (g->nodes.data[i]->op == op)
            return true;
    return false;
}

/* A small product is folded, a large one is left to runs: both give the same. */
static void test_left_to_runs(void **state) {
    (void)state;
    for (int k = 3; k <= 5; k += 2) {
        static const float v[] = {1, 2, 3, 4};
        tc_graph_tensor x = f32_tensor((tc_graph_shape)DIMS(4), v), y;
        tc_graph *g;
        assert_ok(import_drawn(one_product, k, &g, err));
        assert_int_equal(has(g, TC_GRAPH_OP_MATMUL), k == 5);
        assert_ok(tc_graph_eval(g, &x, &y, err));
        for (int i = 0; i < 4; i++)
            assert_true(((const float *)y.data)[i] == v[i] + (i == 0 ? (float)(1 << k) : 0));
        tc_graph_tensor_free(&y);
        tc_graph_free(g);
    }
}

/* Where import must know the value, it says why it does not. */
static void test_needed(void **state) {
    (void)state;
    tc_graph *g;
    assert_ok(import_drawn(shape_of_product, 3, &g, err));
    assert_int_equal(g->outputs.data[1].value->shape.d[0], 8);
    tc_graph_free(g);
    assert_fails(TC_BAD_INPUT, import_drawn(shape_of_product, 5, &g, err), "drawn.onnx", "ConstantOfShape", "'shape'",
                 "left that to runs", "Store the value as a constant");
}

/* A refusal says how large the model is, what it may have, what was spent, and what to do. */
static void test_messages(void **state) {
    (void)state;
    tc_graph *g;
    assert_fails(TC_BAD_INPUT, import_drawn(functions_in_functions, 1, &g, err), "drawn.onnx", "copies of nodes in bodies",
                 "Spent so far", "fewer calls");
    assert_fails(TC_BAD_INPUT, import_drawn(many_parts, 1, &g, err), "drawn.onnx", "SplitToSequence", "nodes made",
                 "fewer nodes");
}

/* What was attacked once, where it is there. */
static void test_hostile(void **state) {
    (void)state;
    static const char *const files[] = {"onnx-amplification/if_function_230x10000.onnx",
                                        "onnx-amplification/split_to_sequence_2000.onnx", "onnx-quadratic/fold_matmul_16384.onnx",
                                        "onnx-quadratic/loops_2_to_16.onnx"};
    for (size_t i = 0; i < TC_LEN(files); i++) {
        char path[1024], *data;
        size_t size;
        snprintf(path, sizeof path, "%s/../shared/cases/hostile/%s", TCTUNE_SOURCE_DIR, files[i]);
        if (!tc_fs_exists(path))
            continue;
        assert_ok(tc_fs_read(path, &data, &size, err));
        cost c = measure((const uint8_t *)data, size);
        print_message("%s: %s, %.2f s, %.0f MiB\n", files[i], c.result == IMPORTED ? "imported" : "refused", c.seconds, c.mib);
        free(data);
        if (c.result == WRONG || c.seconds > MOST_SECONDS || c.mib > MOST_MIB)
            fail_msg("%s: %.1f s and %.0f MiB", files[i], c.seconds, c.mib);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_kinds), cmocka_unit_test(test_left_to_runs),
                                       cmocka_unit_test(test_needed), cmocka_unit_test(test_messages),
                                       cmocka_unit_test(test_hostile)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
