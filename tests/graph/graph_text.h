/* Reads the text that tc_graph_print writes, for tests that give graphs as text:
 *
 *     input %x : f32[1,3,8,8]
 *     const %w : f32[4,3,3,3]              seeded values
 *     const %s : f32[2] = {1, 2}           these values
 *     %y = Conv(%x, %w) {pads=[1,1,1,1]}   what follows ':' is ignored: types are inferred
 *     output y = %y */
#ifndef TC_TESTS_GRAPH_TEXT_H
#define TC_TESTS_GRAPH_TEXT_H

#include <math.h>

#include "graph/graph_test.h"
#include "graph/ir/build.h"
#include "graph/ops/ops.h"
#include "support/lex.h"
#include "support/rng.h"

typedef struct graph_reader {
    tc_lex l;
    tc_graph *g;
    tc_rng rng;
} graph_reader;

static inline tc_status read_name(graph_reader *r, const char **name, tc_error *err) {
    TC_TRY(tc_lex_expect(&r->l, "%", err));
    return tc_lex_ident(&r->l, name, "a value's name", err);
}

static inline tc_status read_use(graph_reader *r, tc_graph_value **v, tc_error *err) {
    const char *name;
    bool none;
    TC_TRY(tc_lex_accept(&r->l, "_", &none, err));
    *v = NULL;
    if (none)
        return TC_OK;
    TC_TRY(read_name(r, &name, err));
    *v = tc_graph_find_value(r->g, name);
    return *v ? TC_OK : tc_lex_fail(&r->l, err, "there is no value '%s'", name);
}

static inline tc_status read_ints(graph_reader *r, int64_t *v, size_t *n, tc_error *err) {
    bool end = false, more = true;
    *n = 0;
    TC_TRY(tc_lex_expect(&r->l, "[", err));
    TC_TRY(tc_lex_accept(&r->l, "]", &end, err));
    while (!end && more) {
        TC_TRY(tc_lex_int(&r->l, &v[(*n)++], "a number", err));
        TC_TRY(tc_lex_accept(&r->l, ",", &more, err));
    }
    return end ? TC_OK : tc_lex_expect(&r->l, "]", err);
}

static inline tc_status read_type(graph_reader *r, tc_dtype *t, tc_graph_shape *s, tc_error *err) {
    const char *name;
    size_t n;
    TC_TRY(tc_lex_expect(&r->l, ":", err));
    TC_TRY(tc_lex_ident(&r->l, &name, "a type", err));
    if (!tc_dtype_parse(name, t))
        return tc_lex_fail(&r->l, err, "unknown type '%s'", name);
    TC_TRY(read_ints(r, s->d, &n, err));
    s->ndim = (int)n;
    return TC_OK;
}

static inline tc_status read_number(graph_reader *r, double *v, tc_error *err) {
    bool minus;
    TC_TRY(tc_lex_accept(&r->l, "-", &minus, err));
    *v = minus ? -r->l.tok.f : r->l.tok.f;
    return tc_lex_next(&r->l, err);
}

static inline tc_status read_constant(graph_reader *r, tc_error *err) {
    const char *name;
    tc_dtype t;
    tc_graph_shape s;
    tc_graph_tensor c;
    bool values;
    TC_TRY(read_name(r, &name, err));
    TC_TRY(read_type(r, &t, &s, err));
    TC_TRY(tc_lex_accept(&r->l, "=", &values, err));
    TC_TRY(tc_graph_tensor_alloc(&c, t, &s, err));
    int64_t n = tc_graph_tensor_count(&c);
    double *v = tc_xcalloc((size_t)n + 1, sizeof *v);
    if (values)
        TC_TRY(tc_lex_expect(&r->l, "{", err));
    for (int64_t i = 0; i < n; i++) {
        v[i] = fabs(tc_rng_normal(&r->rng)) + 0.1; /* good for variances too */
        if (values) {
            bool comma;
            TC_TRY(read_number(r, &v[i], err));
            TC_TRY(tc_lex_accept(&r->l, ",", &comma, err));
        }
    }
    tc_graph_tensor_from_f64(&c, v);
    free(v);
    tc_graph_add_constant(r->g, name, &c);
    return values ? tc_lex_expect(&r->l, "}", err) : TC_OK;
}

static inline tc_status read_attr(graph_reader *r, tc_graph_node *n, tc_error *err) {
    const char *name;
    int64_t v[2 * TC_GRAPH_MAX_DIMS], i;
    size_t len;
    double f;
    tc_graph_attr_id id;
    TC_TRY(tc_lex_ident(&r->l, &name, "an attribute", err));
    TC_TRY(tc_lex_expect(&r->l, "=", err));
    if (!tc_graph_attr_allowed(n->op, name, &id))
        return tc_lex_fail(&r->l, err, "unknown attribute '%s'", name);
    switch (tc_graph_attr_kind_of(id)) {
    case TC_GRAPH_ATTR_INT:
        TC_TRY(tc_lex_int(&r->l, &i, "a number", err));
        tc_graph_set_int(r->g, n, id, i);
        return TC_OK;
    case TC_GRAPH_ATTR_FLOAT:
        TC_TRY(read_number(r, &f, err));
        tc_graph_set_float(r->g, n, id, f);
        return TC_OK;
    case TC_GRAPH_ATTR_STRING:
        tc_graph_set_str(r->g, n, id, r->l.tok.text);
        return tc_lex_next(&r->l, err);
    case TC_GRAPH_ATTR_INTS:
        TC_TRY(read_ints(r, v, &len, err));
        tc_graph_set_ints(r->g, n, id, v, len);
        return TC_OK;
    case TC_GRAPH_ATTR_FLOATS:
    case TC_GRAPH_ATTR_TENSOR:
        break;
    }
    return tc_lex_fail(&r->l, err, "attribute '%s' is of a kind that the text form has not", name);
}

static inline tc_status read_node(graph_reader *r, tc_error *err) {
    const char *name, *op_name;
    tc_graph_op op;
    tc_graph_value *in[16];
    int nin = 0;
    bool more = true, end = false;
    TC_TRY(read_name(r, &name, err));
    TC_TRY(tc_lex_expect(&r->l, "=", err));
    TC_TRY(tc_lex_ident(&r->l, &op_name, "an operator", err));
    if (!tc_graph_op_find(op_name, &op))
        return tc_lex_fail(&r->l, err, "unknown operator '%s'", op_name);
    TC_TRY(tc_lex_expect(&r->l, "(", err));
    while (more && nin < 16) {
        TC_TRY(read_use(r, &in[nin++], err));
        TC_TRY(tc_lex_accept(&r->l, ",", &more, err));
    }
    TC_TRY(tc_lex_expect(&r->l, ")", err));
    r->g->origin = tc_graph_origin_of(r->g, name);
    tc_graph_node *n = tc_graph_new_node(r->g, op, name, in, nin);
    TC_TRY(tc_lex_accept(&r->l, "{", &more, err));
    for (end = !more; !end;) {
        TC_TRY(read_attr(r, n, err));
        TC_TRY(tc_lex_accept(&r->l, "}", &end, err));
        if (!end)
            TC_TRY(tc_lex_expect(&r->l, ",", err));
    }
    while (r->l.tok.kind != TC_TOK_NEWLINE && r->l.tok.kind != TC_TOK_EOF)
        TC_TRY(tc_lex_next(&r->l, err));
    tc_status s = tc_graph_append(r->g, n, &name, 1, err);
    r->g->origin = NULL;
    return s;
}

static inline tc_status read_line(graph_reader *r, tc_error *err) {
    bool input, constant, output;
    const char *name;
    tc_dtype t;
    tc_graph_shape s;
    tc_graph_value *v;
    TC_TRY(tc_lex_accept(&r->l, "input", &input, err));
    if (input) {
        TC_TRY(read_name(r, &name, err));
        TC_TRY(read_type(r, &t, &s, err));
        tc_graph_add_input(r->g, name, t, &s);
        return TC_OK;
    }
    TC_TRY(tc_lex_accept(&r->l, "const", &constant, err));
    if (constant)
        return read_constant(r, err);
    TC_TRY(tc_lex_accept(&r->l, "output", &output, err));
    if (!output)
        return read_node(r, err);
    TC_TRY(tc_lex_ident(&r->l, &name, "an output's name", err));
    TC_TRY(tc_lex_expect(&r->l, "=", err));
    TC_TRY(read_use(r, &v, err));
    tc_graph_add_output(r->g, name, v);
    return TC_OK;
}

/* The graph is the caller's also on failure. */
static inline tc_status graph_of_text(const char *file, const char *text, tc_graph **g, tc_error *err) {
    tc_arena *a = tc_arena_new();
    graph_reader r = {.g = tc_graph_new(file), .rng = tc_rng_seed(1)};
    *g = r.g;
    tc_status s = tc_lex_open(&r.l, a, file, text, true, err);
    while (s == TC_OK && r.l.tok.kind != TC_TOK_EOF) {
        s = read_line(&r, err);
        if (s == TC_OK && r.l.tok.kind == TC_TOK_NEWLINE)
            s = tc_lex_next(&r.l, err);
    }
    tc_arena_free(a);
    return s;
}

#endif
