/* What the tests of edges share: a model of several nodes on the same inputs, folded at import, evaluated, interpreted, and
 * compiled. All four must give what the test computes itself. */
#ifndef TC_TESTS_OP_EDGES_H
#define TC_TESTS_OP_EDGES_H

#include <math.h>

#include "graph/lower_common.h"
#include "graph/ops/ops.h"

enum { MAX_EDGE_PORTS = 64 };

/* Node k reads some inputs and gives output k, or more outputs. */
typedef struct edge_model {
    const char *file; /* a scratch file of the test's own */
    int opset, nin, nout;
    tc_graph_tensor in[MAX_EDGE_PORTS], want[MAX_EDGE_PORTS];
    bool is_const[MAX_EDGE_PORTS]; /* a constant in any case */
    void (*add_nodes)(tc_graph_writer *w, const void *user);
    const void *user;
    double rtol, atol;
} edge_model;

/* Inputs are called x0, x1, ..; outputs y0, y1, .. */
static inline tc_graph *import_edges(const edge_model *m, bool folded) {
    tc_graph_writer *w = tc_graph_writer_new("edges", m->opset);
    tc_graph *g;
    char name[16];
    for (int k = 0; k < m->nin; k++) {
        tc_strbuf dims = {0};
        snprintf(name, sizeof name, "x%d", k);
        tc_graph_shape_print(&dims, &m->in[k].shape);
        dims.data[dims.len - 1] = 0;
        if (folded || m->is_const[k])
            tc_graph_writer_weight(w, name, tc_graph_tensor_view(m->in[k].dtype, &m->in[k].shape, m->in[k].data));
        else
            tc_graph_writer_input(w, name, m->in[k].dtype, dims.data + 1);
        tc_strbuf_free(&dims);
    }
    m->add_nodes(w, m->user);
    for (int k = 0; k < m->nout; k++) {
        snprintf(name, sizeof name, "y%d", k);
        tc_graph_writer_output(w, name, m->want[k].dtype, NULL);
    }
    assert_ok(import_model(w, m->file, NULL, &g, err));
    assert_ok(tc_graph_verify(g, err));
    return g;
}

static inline void expect_edge(const edge_model *m, int k, const tc_graph_tensor *got, const char *how) {
    tc_graph_diff d;
    bool real = tc_dtype_is_float(m->want[k].dtype);
    assert_ok(tc_graph_tensor_compare(got, &m->want[k], real ? m->rtol : 0, real ? m->atol : 0, &d, err));
    if (d.violations) {
        tc_strbuf is = {0}, should = {0};
        tc_graph_tensor_print_values(&is, got, 40);
        tc_graph_tensor_print_values(&should, &m->want[k], 40);
        fail_msg("output %d, %s: got %s, but want %s (element %lld)", k, how, tc_sb_str(&is), tc_sb_str(&should),
                 (long long)d.worst);
    }
}

static inline void expect_edges(const edge_model *m, tc_graph_tensor *out, const char *how) {
    for (int k = 0; k < m->nout; k++) {
        expect_edge(m, k, &out[k], how);
        tc_graph_tensor_free(&out[k]);
    }
}

static inline void check_edges(const edge_model *m) {
    tc_graph_tensor in[MAX_EDGE_PORTS], out[MAX_EDGE_PORTS];
    tc_graph_program *p;
    tc_target *t;
    int n = 0;
    tc_graph *g = import_edges(m, true);
    for (int k = 0; k < m->nout; k++) {
        assert_non_null(g->outputs.data[k].value->constant);
        expect_edge(m, k, g->outputs.data[k].value->constant, "folded");
    }
    tc_graph_free(g);
    g = import_edges(m, false);
    for (int k = 0; k < m->nin; k++)
        if (!m->is_const[k])
            in[n++] = m->in[k];
    assert_ok(tc_graph_eval(g, in, out, err));
    expect_edges(m, out, "evaluated");
    assert_ok(tc_graph_passes(g, NULL, err));
    assert_ok(tc_graph_program_new(g, &p, err));
    assert_ok(interpret_program(p, in, out, err));
    expect_edges(m, out, "interpreted");
    assert_ok(tc_target_parse("native", &t, err));
    assert_ok(compile_and_run(p, t, in, out, err));
    expect_edges(m, out, "compiled");
    tc_target_free(t);
    tc_graph_program_free(p);
    tc_graph_free(g);
}

/* Inputs and wanted outputs are the model's. */
static inline void free_edges(edge_model *m) {
    for (int k = 0; k < m->nin; k++)
        tc_graph_tensor_free(&m->in[k]);
    for (int k = 0; k < m->nout; k++)
        tc_graph_tensor_free(&m->want[k]);
}

static inline tc_graph_tensor new_tensor(tc_dtype t, tc_graph_shape s) {
    tc_graph_tensor v;
    assert_ok(tc_graph_tensor_alloc(&v, t, &s, err));
    return v;
}

#endif
