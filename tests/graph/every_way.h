/* A graph in every way that it can run: by the evaluator, by the interpreter, compiled in this process, as a library, and as C
 * source. */
#ifndef TC_TESTS_EVERY_WAY_H
#define TC_TESTS_EVERY_WAY_H

#include <dlfcn.h>

#include "graph/lower_common.h"
#include "graph/ops/ops.h"
#include "graph/saved/saved.h"

#ifndef EVERY_WAY_OUTPUTS
#define EVERY_WAY_OUTPUTS 4
#endif
enum { MAX_OUT = EVERY_WAY_OUTPUTS };

typedef struct checked checked;
struct checked {
    const char *program, *name; /* the test program, for the names of its files; what is checked */
    const tc_graph_tensor *in, *want;
    int nout;
    /* NULL: within 1e-5 of `want`, of which otherwise only the shapes count. Fails if output k is wrong. */
    void (*judge)(const checked *c, int k, const tc_graph_tensor *got, const char *how);
    const void *user; /* of judge */
};

static inline void expect(const checked *c, tc_graph_tensor *out, const char *how) {
    for (int k = 0; k < c->nout; k++) {
        tc_graph_diff d = {0};
        if (c->judge)
            c->judge(c, k, &out[k], how);
        else
            assert_ok(tc_graph_tensor_compare(&out[k], &c->want[k], 1e-5, 1e-6, &d, err));
        if (d.violations)
            fail_msg("%s, %s: output %d is wrong", c->name, how, k);
        tc_graph_tensor_free(&out[k]);
    }
}

static inline void check_library(const checked *c, tc_graph_model *m) {
    static int count;
    char path[1200];
    tc_graph_model *loaded;
    tc_graph_tensor out[MAX_OUT];
    snprintf(path, sizeof path, TCTUNE_TEST_TMP "/%s%d.so", c->program, count++);
    assert_ok(tc_graph_model_save(m, path, NULL, err));
    assert_ok(tc_graph_model_load(path, 0, &loaded, err));
    assert_ok(tc_graph_model_run(loaded, c->in, out, err));
    expect(c, out, "library");
    tc_graph_model_free(loaded);
    remove(path);
}

/* What is past the size of an output is not compared. */
static inline void call_source(const checked *c, tc_graph_model *m, void *run) {
    const tc_graph_port *ports;
    tc_graph_tensor out[2 * MAX_OUT + TC_GRAPH_MAX_DIMS];
    void *outs[TC_LEN(out)];
    void (*call)(const void *const *, void *const *);
    memcpy(&call, &run, sizeof run);
    int nin = tc_graph_model_inputs(m, &ports);
    const void **ins = tc_xcalloc((size_t)nin + 1, sizeof *ins);
    for (int i = 0; i < nin; i++)
        ins[i] = c->in[i].data;
    tc_graph_model_outputs(m, &ports);
    for (int i = 0; i < m->nout; i++) {
        assert_ok(tc_graph_tensor_alloc(&out[i], ports[i].dtype, &ports[i].shape, err));
        outs[i] = out[i].data;
    }
    call(ins, outs);
    for (int i = 0; i < c->nout; i++)
        if (ports[i].is_dense)
            out[i].shape = c->want[i].shape;
        else
            tc_graph_tensor_trim(&out[i], &c->want[i].shape);
    expect(c, out, "C source");
    for (int i = c->nout; i < m->nout; i++)
        tc_graph_tensor_free(&out[i]);
    free(ins);
}

static inline void check_source(const checked *c, tc_graph_model *m) {
    static int count;
    char source[1200], so[1200], command[4000];
    snprintf(source, sizeof source, TCTUNE_TEST_TMP "/%s_source%d.c", c->program, count);
    snprintf(so, sizeof so, TCTUNE_TEST_TMP "/%s_source%d.so", c->program, count++);
    assert_ok(tc_graph_model_save(m, source, "model", err));
    snprintf(command, sizeof command, "cc -std=c17 -O0 -Wall -Werror -fPIC -shared %s -o %s -lm", source, so);
    assert_int_equal(system(command), 0);
    void *lib = dlopen(so, RTLD_NOW | RTLD_LOCAL), *run = lib ? dlsym(lib, "model_run") : NULL;
    assert_non_null(run);
    call_source(c, m, run);
    dlclose(lib);
    remove(so);
    remove(source);
}

/* g is left after its passes. */
static inline void check_every_way(const checked *c, tc_graph *g) {
    tc_graph_program *p;
    tc_target *t;
    tc_graph_model *m;
    tc_graph_tensor out[MAX_OUT];
    assert_ok(tc_graph_verify(g, err));
    assert_ok(tc_graph_eval(g, c->in, out, err));
    expect(c, out, "evaluated");
    assert_ok(tc_graph_passes(g, NULL, err));
    assert_ok(tc_graph_program_new(g, &p, err));
    assert_ok(interpret_program(p, c->in, out, err));
    expect(c, out, "interpreted");
    assert_ok(tc_target_parse("native", &t, err));
    assert_ok(tc_graph_model_build(p, &(tc_graph_build_options){.target = t, .threads = 2}, &m, err));
    assert_ok(tc_graph_model_run(m, c->in, out, err));
    expect(c, out, "compiled");
    check_library(c, m);
    check_source(c, m);
    tc_graph_model_free(m);
    tc_graph_program_free(p);
    tc_target_free(t);
}

#endif
