/* Numbers at the extremes: in a valid model of each family of operators, every attribute, every element of a small constant and
 * every dimension of an input becomes, in turn, the least and the largest there are and what lies beside the limits of narrower
 * types; so do whole lists, and pairs of places. Import ends with a graph that verifies or with a message that names the file and
 * the node; under the sanitizers no arithmetic on the way overflows. What is imported also goes through the passes and into a
 * program. */
#include <math.h>
#include <sys/resource.h>
#include <unistd.h>

#include "graph/graph_test.h"
#include "graph/onnx/onnx_int.h"
#include "graph/ops/functions.h"
#include "graph/passes/pass.h"
#include "graph/program/program.h"
#include "support/rng.h"
#include "support/system/fs.h"

#define PATH SCRATCH("extreme.onnx")

static const int64_t integers[] = {0,
                                   -1,
                                   1,
                                   -2,
                                   INT32_MAX,
                                   INT32_MIN,
                                   (int64_t)1 << 31,
                                   (int64_t)1 << 32,
                                   (int64_t)1 << 62,
                                   INT64_MIN,
                                   INT64_MIN + 1,
                                   INT64_MAX,
                                   INT64_MAX - 1};
static const float floats[] = {0, -0.0F, -1, INFINITY, -INFINITY, NAN, 1e30F, -1e30F, 1e-38F, 3.4e38F};

/* ---- places ---- */

typedef enum place_kind { AN_INT, A_FLOAT, BYTES_OF_I64, BYTES_OF_I32, BYTES_OF_F32, ALL_INTS, A_TYPED_I32 } place_kind;

typedef struct place {
    place_kind kind;
    void *at;
    size_t n;         /* of a list */
    const char *node; /* whose attribute it is; NULL: of no node alone */
    const char *name; /* of the attribute or the constant */
} place;

typedef TC_VEC(place) places;

/* Elements of constants beyond the first few say the same again. */
enum { MOST_ELEMENTS = 6, PAIRS = 30 };

static bool is_float(const place *p) {
    return p->kind == A_FLOAT || p->kind == BYTES_OF_F32;
}

static size_t values_of(const place *p) {
    return is_float(p) ? TC_LEN(floats) : TC_LEN(integers);
}

static size_t bytes_of(const place *p) {
    switch (p->kind) {
    case AN_INT:
    case BYTES_OF_I64:
        return 8;
    case A_FLOAT:
    case BYTES_OF_F32:
    case BYTES_OF_I32:
    case A_TYPED_I32:
        return 4;
    case ALL_INTS:
        return 8 * p->n;
    }
    return 0;
}

static void set_place(const place *p, size_t value) {
    int64_t v = integers[value % TC_LEN(integers)];
    int32_t narrow = (int32_t)v;
    if (is_float(p))
        memcpy(p->at, &floats[value], 4);
    else if (bytes_of(p) == 4)
        memcpy(p->at, &narrow, 4);
    else
        for (size_t i = 0; i < bytes_of(p); i += 8)
            memcpy((char *)p->at + i, &v, 8);
}

static void add_ints(places *out, int64_t *v, size_t n, const char *node, const char *name) {
    for (size_t i = 0; i < TC_MIN(n, (size_t)MOST_ELEMENTS); i++)
        tc_push(out, ((place){AN_INT, &v[i], 1, node, name}));
    if (n > 1)
        tc_push(out, ((place){ALL_INTS, v, n, node, name}));
}

static void add_tensor(places *out, Onnx__TensorProto *t, const char *node, const char *name) {
    size_t bytes = t->data_type == ONNX__TENSOR_PROTO__DATA_TYPE__INT64 ? 8 : 4;
    place_kind kind = bytes == 8                                             ? BYTES_OF_I64
                      : t->data_type == ONNX__TENSOR_PROTO__DATA_TYPE__INT32 ? BYTES_OF_I32
                                                                             : BYTES_OF_F32;
    bool known = bytes == 8 || kind == BYTES_OF_I32 || t->data_type == ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT;
    for (size_t i = 0; known && i < TC_MIN(t->raw_data.len / bytes, (size_t)MOST_ELEMENTS); i++)
        tc_push(out, ((place){kind, t->raw_data.data + bytes * i, 1, node, name}));
    if (bytes == 8 && t->raw_data.len > 8)
        tc_push(out, ((place){ALL_INTS, t->raw_data.data, t->raw_data.len / 8, node, name}));
    add_ints(out, t->int64_data, t->n_int64_data, node, name);
    for (size_t i = 0; i < TC_MIN(t->n_int32_data, (size_t)MOST_ELEMENTS); i++)
        tc_push(out, ((place){A_TYPED_I32, &t->int32_data[i], 1, node, name}));
    for (size_t i = 0; i < TC_MIN(t->n_float_data, (size_t)MOST_ELEMENTS); i++)
        tc_push(out, ((place){A_FLOAT, &t->float_data[i], 1, node, name}));
}

static void add_graph(places *out, tc_arena *a, Onnx__GraphProto *g);

static void add_attribute(places *out, tc_arena *a, Onnx__AttributeProto *p, const char *node) {
    if (p->type == ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INT)
        tc_push(out, ((place){AN_INT, &p->i, 1, node, p->name}));
    if (p->type == ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOAT)
        tc_push(out, ((place){A_FLOAT, &p->f, 1, node, p->name}));
    add_ints(out, p->ints, p->n_ints, node, p->name);
    for (size_t i = 0; i < TC_MIN(p->n_floats, (size_t)MOST_ELEMENTS); i++)
        tc_push(out, ((place){A_FLOAT, &p->floats[i], 1, node, p->name}));
    if (p->t)
        add_tensor(out, p->t, node, p->name);
    if (p->g)
        add_graph(out, a, p->g);
}

static void add_dims(places *out, Onnx__ValueInfoProto *v) {
    Onnx__TypeProto *t = v->type;
    if (!t || t->value_case != ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE || !t->tensor_type->shape)
        return;
    for (size_t d = 0; d < t->tensor_type->shape->n_dim; d++)
        if (t->tensor_type->shape->dim[d]->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE)
            tc_push(out, ((place){AN_INT, &t->tensor_type->shape->dim[d]->dim_value, 1, NULL, v->name}));
}

static void add_graph(places *out, tc_arena *a, Onnx__GraphProto *g) {
    for (size_t i = 0; i < g->n_node; i++)
        for (size_t k = 0; k < g->node[i]->n_attribute; k++)
            add_attribute(out, a, g->node[i]->attribute[k], g->node[i]->op_type);
    for (size_t i = 0; i < g->n_initializer; i++)
        add_tensor(out, g->initializer[i], NULL, g->initializer[i]->name);
    for (size_t i = 0; i < g->n_input; i++)
        add_dims(out, g->input[i]);
}

/* ---- attributes that the model leaves out ---- */

static bool has_attribute(const Onnx__NodeProto *n, const char *name) {
    for (size_t k = 0; k < n->n_attribute; k++)
        if (strcmp(n->attribute[k]->name, name) == 0)
            return true;
    return false;
}

static tc_graph_op op_of(const Onnx__NodeProto *n) {
    char name[128];
    tc_graph_op op = TC_GRAPH_OP_COUNT;
    bool other = n->domain && *n->domain && strcmp(n->domain, "ai.onnx") != 0;
    snprintf(name, sizeof name, "%s%s%s", other ? n->domain : "", other ? "." : "", n->op_type);
    return tc_graph_op_find(name, &op) ? op : TC_GRAPH_OP_COUNT;
}

/* Lists have as many elements as most operators on images want. */
static Onnx__AttributeProto *absent(tc_arena *a, tc_graph_attr_id id) {
    Onnx__AttributeProto *p = TC_NEW(a, Onnx__AttributeProto);
    onnx__attribute_proto__init(p);
    p->name = tc_arena_strdup(a, tc_graph_attr_name(id));
    p->has_type = p->has_i = p->has_f = 1;
    switch (tc_graph_attr_kind_of(id)) {
    case TC_GRAPH_ATTR_INT:
        p->type = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INT;
        return p;
    case TC_GRAPH_ATTR_FLOAT:
        p->type = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOAT;
        return p;
    case TC_GRAPH_ATTR_INTS:
        p->type = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INTS;
        p->n_ints = 2;
        p->ints = TC_NEW_N(a, int64_t, 2);
        return p;
    case TC_GRAPH_ATTR_FLOATS:
        p->type = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOATS;
        p->n_floats = 4;
        p->floats = TC_NEW_N(a, float, 4);
        return p;
    case TC_GRAPH_ATTR_STRING:
    case TC_GRAPH_ATTR_TENSOR:
        return NULL;
    }
    return NULL;
}

/* ---- one model ---- */

typedef struct totals {
    int64_t tried, imported, programs;
} totals;

static void write_model(const Onnx__ModelProto *m) {
    size_t n = onnx__model_proto__get_packed_size(m);
    uint8_t *bytes = malloc(n);
    onnx__model_proto__pack(m, bytes);
    unlink(PATH); /* some file systems wait for the disk where a file is written over */
    FILE *f = fopen(PATH, "wb");
    assert_int_equal(fwrite(bytes, 1, n, f), n);
    fclose(f);
    free(bytes);
}

/* Whether all values are so small that nothing that is made of them takes long. */
static bool small(const tc_graph *g) {
    int64_t elements = 0;
    for (size_t i = 0; i < g->values.len && elements < 1 << 16; i++)
        elements += TC_MIN(tc_graph_shape_count(&g->values.data[i]->shape), 1 << 16);
    return elements < 1 << 16 && g->nodes.len < 200;
}

static void import_it(const char *name, const char *what, totals *t) {
    tc_graph *g = NULL;
    tc_graph_program *p = NULL;
    tc_error e = {0};
    t->tried++;
    if (tc_graph_import(PATH, NULL, &g, &e) == TC_OK) {
        t->imported++;
        assert_ok(tc_graph_verify(g, err));
        if (small(g) && tc_graph_passes(g, NULL, &e) == TC_OK && tc_graph_program_new(g, &p, &e) == TC_OK)
            t->programs++;
        tc_graph_program_free(p);
        tc_graph_free(g);
    } else if (!strstr(e.msg, "extreme.onnx: ")) {
        fail_msg("%s, %s: a message without the file: '%s'", name, what, e.msg);
    }
}

static void describe(const place *p, size_t value, char *out, size_t size) {
    if (is_float(p))
        snprintf(out, size, "%s.%s %g", p->node ? p->node : "", p->name, (double)floats[value]);
    else
        snprintf(out, size, "%s.%s %lld", p->node ? p->node : "", p->name, (long long)integers[value]);
}

static void try_place(const char *name, Onnx__ModelProto *m, const place *p, totals *t) {
    char what[256], *was = malloc(bytes_of(p));
    memcpy(was, p->at, bytes_of(p));
    for (size_t v = 0; v < values_of(p); v++) {
        set_place(p, v);
        write_model(m);
        describe(p, v, what, sizeof what);
        import_it(name, what, t);
    }
    memcpy(p->at, was, bytes_of(p));
    free(was);
}

/* A constant without elements. */
static void try_empty(const char *name, Onnx__ModelProto *m, Onnx__TensorProto *p, totals *t) {
    int64_t none = 0;
    Onnx__TensorProto was = *p;
    p->dims = &none;
    p->n_dims = 1;
    p->raw_data.len = p->n_int64_data = p->n_int32_data = p->n_float_data = 0;
    write_model(m);
    import_it(name, "no elements", t);
    *p = was;
}

/* An input of few and of many dimensions: ones before its own, or the last of its own alone. */
static void try_ranks(const char *name, tc_arena *a, Onnx__ModelProto *m, Onnx__TypeProto *type, totals *t) {
    enum { MOST = TC_GRAPH_MAX_DIMS + 1 };
    Onnx__TensorShapeProto *s = type->tensor_type->shape, was = *s;
    Onnx__TensorShapeProto__Dimension *dims[MOST];
    for (size_t n = 0; n <= MOST; n++) {
        for (size_t d = 0; d < n; d++) {
            bool own = n - d <= was.n_dim;
            dims[d] = own ? was.dim[was.n_dim - (n - d)] : TC_NEW(a, Onnx__TensorShapeProto__Dimension);
            if (own)
                continue;
            onnx__tensor_shape_proto__dimension__init(dims[d]);
            dims[d]->value_case = ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE;
            dims[d]->dim_value = 1;
        }
        s->dim = dims;
        s->n_dim = n;
        write_model(m);
        import_it(name, "another number of dimensions", t);
    }
    *s = was;
}

static void try_pair(const char *name, Onnx__ModelProto *m, const places *all, tc_rng *rng, totals *t) {
    const place *p[2];
    char what[2][256], both[520], was[2][64];
    for (int i = 0; i < 2; i++) {
        do
            p[i] = &all->data[tc_rng_below(rng, (int64_t)all->len)];
        while (bytes_of(p[i]) > sizeof was[i]);
        memcpy(was[i], p[i]->at, bytes_of(p[i]));
        size_t v = (size_t)tc_rng_below(rng, (int64_t)values_of(p[i]));
        set_place(p[i], v);
        describe(p[i], v, what[i], sizeof what[i]);
    }
    snprintf(both, sizeof both, "%s and %s", what[0], what[1]);
    write_model(m);
    import_it(name, both, t);
    for (int i = 1; i >= 0; i--)
        memcpy(p[i]->at, was[i], bytes_of(p[i]));
}

static void try_absent(const char *name, tc_arena *a, Onnx__ModelProto *m, Onnx__NodeProto *n, totals *t) {
    tc_graph_op op = op_of(n);
    Onnx__AttributeProto **was = n->attribute, **more = TC_NEW_N(a, Onnx__AttributeProto *, n->n_attribute + 1);
    const uint8_t *ids = op < TC_GRAPH_OP_COUNT ? tc_graph_op_info_of(op)->attrs : (const uint8_t[]){0};
    if (n->n_attribute)
        memcpy(more, was, sizeof *was * n->n_attribute);
    n->attribute = more;
    for (; *ids; ids++) {
        Onnx__AttributeProto *p = has_attribute(n, tc_graph_attr_name(*ids)) ? NULL : absent(a, *ids);
        places own = {0};
        if (!p)
            continue;
        more[n->n_attribute++] = p;
        add_attribute(&own, a, p, n->op_type);
        for (size_t i = 0; i < own.len; i++)
            try_place(name, m, &own.data[i], t);
        tc_vec_free(&own);
        n->n_attribute--;
    }
    n->attribute = was;
}

static void try_model(const char *name, const char *path, int pairs, totals *t) {
    tc_arena *a = tc_arena_new();
    Onnx__ModelProto *m = NULL;
    places all = {0};
    tc_rng rng = tc_rng_seed(1);
    tc_graph *g = NULL;
    tc_error e = {0};
    if (tc_graph_import(path, NULL, &g, &e) != TC_OK)
        fail_msg("%s, as it is: %s", name, e.msg);
    tc_graph_free(g);
    assert_ok(tc_onnx_read_model(path, a, &m, err));
    add_graph(&all, a, m->graph);
    for (size_t i = 0; i < all.len; i++)
        try_place(name, m, &all.data[i], t);
    for (size_t i = 0; i < m->graph->n_initializer; i++)
        try_empty(name, m, m->graph->initializer[i], t);
    for (size_t i = 0; i < m->graph->n_input; i++)
        if (m->graph->input[i]->type->value_case == ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE)
            try_ranks(name, a, m, m->graph->input[i]->type, t);
    for (int i = 0; i < pairs && all.len > 1; i++)
        try_pair(name, m, &all, &rng, t);
    for (size_t i = 0; i < m->graph->n_node; i++)
        try_absent(name, a, m, m->graph->node[i], t);
    tc_vec_free(&all);
    tc_arena_free(a);
}

/* ---- models of a node, as text ---- */

/* extremes.def says how they are written. */
typedef struct row {
    const char *op;
    int opset, nout;
    const char *attributes, *operands;
} row;

static const row rows[] = {
#include "graph/onnx/extremes.def"
};

static void add_value(tc_graph_writer *w, const char *name, char *text) {
    char *dims = strchr(text, '['), *values = strchr(text, '=');
    tc_dtype t;
    tc_graph_tensor c;
    tc_graph_shape s = {0};
    *dims++ = 0;
    assert_true(tc_dtype_parse(text, &t));
    dims[strcspn(dims, "]")] = 0;
    if (!values) {
        tc_graph_writer_input(w, name, t, dims);
        return;
    }
    for (char *d = dims; *d; d += strspn(d, ","))
        s.d[s.ndim++] = strtoll(d, &d, 10);
    assert_ok(tc_graph_tensor_alloc(&c, t, &s, err));
    for (int64_t i = 0; i < tc_graph_shape_count(&s); i++) {
        assert_true(*values);
        double v = strtod(values + 1, &values);
        if (tc_dtype_is_float(t))
            tc_store_f(t, c.data, i, v);
        else
            tc_store_i(t, c.data, i, (int64_t)v);
    }
    assert_true(*values == 0);
    tc_graph_writer_weight(w, name, c);
}

static void add_attribute_text(tc_graph_writer *w, tc_graph_op op, char *text) {
    char *value = strchr(text, '=');
    tc_graph_attr_id id;
    *value++ = 0;
    if (!tc_graph_attr_allowed(op, text, &id))
        fail_msg("%s has no attribute %s", tc_graph_op_name(op), text);
    size_t len = strlen(value);
    switch (tc_graph_attr_kind_of(id)) {
    case TC_GRAPH_ATTR_INT:
        tc_graph_writer_int(w, text, strtoll(value, NULL, 10));
        return;
    case TC_GRAPH_ATTR_FLOAT:
        tc_graph_writer_float(w, text, strtof(value, NULL));
        return;
    case TC_GRAPH_ATTR_STRING:
        tc_graph_writer_str(w, text, value);
        return;
    case TC_GRAPH_ATTR_INTS:
        value[len - (value[len - 1] == ',')] = 0;
        tc_graph_writer_ints(w, text, value);
        return;
    case TC_GRAPH_ATTR_FLOATS:
    case TC_GRAPH_ATTR_TENSOR:
        fail_msg("%s cannot be written as text", text);
    }
}

static void write_row(const row *r, tc_graph_op op) {
    const char *dot = strrchr(r->op, '.');
    char operands[256], attributes[256], names[128] = "", *save = NULL, *at = names;
    tc_graph_writer *w = tc_graph_writer_new("extremes", r->opset);
    snprintf(operands, sizeof operands, "%s", r->operands);
    snprintf(attributes, sizeof attributes, "%s", r->attributes);
    int n = 0;
    for (char *o = strtok_r(operands, " ", &save); o; o = strtok_r(NULL, " ", &save), n++) {
        char name[16];
        snprintf(name, sizeof name, "x%d", n);
        at += sprintf(at, "%s%s", n ? "," : "", strcmp(o, "_") ? name : "");
        if (strcmp(o, "_"))
            add_value(w, name, o);
    }
    tc_graph_writer_node(w, dot ? dot + 1 : r->op, "node", names, (const char *[]){"y", "y", "y,y1", "y,y1,y2"}[r->nout]);
    if (dot)
        tc_graph_writer_domain(w, "com.microsoft");
    for (char *a = strtok_r(attributes, " ", &save); a; a = strtok_r(NULL, " ", &save))
        add_attribute_text(w, op, a);
    for (int k = 0; k < r->nout; k++)
        tc_graph_writer_output(w, (const char *[]){"y", "y1", "y2"}[k], TC_F32, NULL);
    assert_ok(tc_graph_writer_save(w, PATH, err));
    tc_graph_writer_free(w);
}

static void test_rows(void **state) {
    (void)state;
    totals t = {0};
    for (size_t i = 0; i < TC_LEN(rows); i++) {
        tc_graph_op op;
        if (!tc_graph_op_find(rows[i].op, &op))
            fail_msg("there is no operator %s", rows[i].op);
        write_row(&rows[i], op);
        try_model(rows[i].op, PATH, PAIRS, &t);
    }
    print_message("%lld tried, %lld imported, %lld programs\n", (long long)t.tried, (long long)t.imported, (long long)t.programs);
    assert_true(t.imported * 5 > t.tried && t.imported * 2 < t.tried);
}

/* Loops, branches, lists and functions, from files. */
static void test_bodies(void **state) {
    (void)state;
    static const char *const models[] = {"functions",     "if_concat",  "if_dynamic", "if_sizes",     "loop_concat",
                                         "loop_constant", "loop_grow",  "loop_hoist", "loop_while",   "optional",
                                         "scan",          "scan_batch", "scan_long",  "sequence_map", "sequence_append"};
    totals t = {0};
    for (size_t i = 0; i < TC_LEN(models); i++) {
        char path[512];
        snprintf(path, sizeof path, "%s/data/%s.onnx", TCTUNE_TEST_DIR, models[i]);
        try_model(models[i], path, PAIRS, &t);
    }
    print_message("%lld tried, %lld imported, %lld programs\n", (long long)t.tried, (long long)t.imported, (long long)t.programs);
}

/* An operator whose inference nobody else's row reaches, and which has numbers for attributes, is missing above. */
static void test_every_family(void **state) {
    (void)state;
    for (tc_graph_op op = 0; op < TC_GRAPH_OP_COUNT; op++) {
        bool numbers = false, there = false;
        for (const uint8_t *id = tc_graph_op_info_of(op)->attrs; *id; id++)
            numbers |= tc_graph_attr_kind_of(*id) != TC_GRAPH_ATTR_STRING && *id != TC_ATTR_consumed_inputs;
        for (size_t i = 0; i < TC_LEN(rows); i++) {
            tc_graph_op other;
            there |=
                tc_graph_op_find(rows[i].op, &other) && tc_graph_functions_of(other)->infer == tc_graph_functions_of(op)->infer;
        }
        if (numbers && !there && tc_graph_op_info_of(op)->since <= TC_GRAPH_OPSET_MAX)
            fail_msg("no row for %s", tc_graph_op_name(op));
    }
}

/* What would take more memory than tests should have is refused: 64 MiB at once, or half a GiB in all. */
#ifdef TCTUNE_SANITIZED
__attribute__((visibility("default"))) const char *__asan_default_options(void);
const char *__asan_default_options(void) {
    return "allocator_may_return_null=1:max_allocation_size_mb=64";
}
static void limit_memory(void) {}
#else
static void limit_memory(void) {
    assert_int_equal(setrlimit(RLIMIT_AS, &(struct rlimit){512 << 20, 512 << 20}), 0);
}
#endif

int main(void) {
    limit_memory();
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_every_family), cmocka_unit_test(test_rows),
                                       cmocka_unit_test(test_bodies)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
