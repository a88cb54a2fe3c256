/* Small models whose results are known to the last bit: folded at import, evaluated, interpreted and compiled. The including program
 * first defines EXACT_MODEL, the name of its scratch file, and EXACT_SEED. */
#ifndef TC_TESTS_EXACT_H
#define TC_TESTS_EXACT_H

#include "graph/lower_common.h"
#include "graph/ops/ops.h"
#include "support/rng.h"

/* What the tests of a program share. Its numbers are drawn from EXACT_SEED. */
typedef struct fixture {
    tc_arena *arena;
    tc_target *target;
    tc_rng rng;
} fixture;

static inline int open_fixture(void **state) {
    static fixture f;
    f = (fixture){.arena = tc_arena_new(), .rng = tc_rng_seed(EXACT_SEED)};
    assert_ok(tc_target_parse("native", &f.target, err));
    *state = &f;
    return 0;
}

static inline int close_fixture(void **state) {
    fixture *f = *state;
    tc_target_free(f->target);
    tc_arena_free(f->arena);
    return 0;
}

enum { EXACT_INPUTS = 3, EXACT_OUTPUTS = 3, EXACT_STEPS = 4 };

typedef struct exact_step {
    const char *op, *inputs, *outputs, *attrs; /* attrs: as for set_attrs */
} exact_step;

typedef struct exact {
    const char *name;
    int opset;
    exact_step step[EXACT_STEPS];                          /* on the inputs a, b, c; the results are x, y, z */
    tc_graph_tensor in[EXACT_INPUTS], want[EXACT_OUTPUTS]; /* data NULL: no more of them */
    int nconst;                                            /* the last so many inputs are constants in every form */
} exact;

static inline int exact_count(const tc_graph_tensor *t, int most) {
    int n = 0;
    while (n < most && t[n].data)
        n++;
    return n;
}

static inline tc_graph_writer *exact_model(const exact *e, bool folded) {
    tc_graph_writer *w = tc_graph_writer_new("exact", e->opset);
    int nin = exact_count(e->in, EXACT_INPUTS);
    for (int k = 0; k < nin; k++) {
        const char name[] = {(char)('a' + k), 0};
        tc_strbuf dims = {0};
        tc_graph_shape_print(&dims, &e->in[k].shape);
        dims.data[dims.len - 1] = 0;
        if (folded || k >= nin - e->nconst)
            tc_graph_writer_weight(w, name, e->in[k]);
        else
            tc_graph_writer_input(w, name, e->in[k].dtype, dims.data + 1);
        tc_strbuf_free(&dims);
    }
    for (int i = 0; i < EXACT_STEPS && e->step[i].op; i++) {
        tc_graph_writer_node(w, e->step[i].op, "", e->step[i].inputs, e->step[i].outputs);
        set_attrs(w, e->step[i].attrs ? e->step[i].attrs : "");
    }
    for (int k = 0; k < exact_count(e->want, EXACT_OUTPUTS); k++)
        tc_graph_writer_output(w, (const char[]){(char)('x' + k), 0}, e->want[k].dtype, NULL);
    return w;
}

static inline void exact_expect(const exact *e, const char *how, int k, const tc_graph_tensor *got) {
    tc_graph_diff d;
    tc_strbuf b = {0};
    assert_ok(tc_graph_tensor_compare(got, &e->want[k], 0, 0, &d, err));
    if (!d.violations)
        return;
    tc_graph_tensor_print_element(&b, got, d.worst);
    tc_sb_add(&b, ", but ");
    tc_graph_tensor_print_element(&b, &e->want[k], d.worst);
    fail_msg("%s, %s: result %d, element %lld of %s is %s is right", e->name, how, k, (long long)d.worst,
             tc_dtype_name(got->dtype), tc_sb_str(&b));
}

static inline void exact_expect_all(const exact *e, const char *how, tc_graph_tensor *got) {
    for (int k = 0; k < exact_count(e->want, EXACT_OUTPUTS); k++) {
        exact_expect(e, how, k, &got[k]);
        tc_graph_tensor_free(&got[k]);
    }
}

static inline void exact_folded(const exact *e) {
    tc_graph *g;
    assert_ok(import_model(exact_model(e, true), SCRATCH(EXACT_MODEL), NULL, &g, err));
    assert_int_equal(g->nodes.len, 0);
    for (int k = 0; k < exact_count(e->want, EXACT_OUTPUTS); k++)
        exact_expect(e, "folded", k, g->outputs.data[k].value->constant);
    tc_graph_free(g);
}

static inline void exact_in_every_way(const exact *e, const tc_target *t) {
    tc_graph *g;
    tc_graph_program *p;
    tc_graph_tensor got[EXACT_OUTPUTS];
    exact_folded(e);
    assert_ok(import_model(exact_model(e, false), SCRATCH(EXACT_MODEL), NULL, &g, err));
    assert_ok(tc_graph_eval(g, e->in, got, err));
    exact_expect_all(e, "evaluated", got);
    assert_ok(tc_graph_passes(g, NULL, err));
    assert_ok(tc_graph_program_new(g, &p, err));
    assert_ok(interpret_program(p, e->in, got, err));
    exact_expect_all(e, "interpreted", got);
    assert_ok(compile_and_run(p, t, e->in, got, err));
    exact_expect_all(e, "compiled", got);
    tc_graph_program_free(p);
    tc_graph_free(g);
}

/* In the arena. */
static inline tc_graph_tensor exact_tensor(tc_arena *a, tc_dtype t, const tc_graph_shape *s) {
    size_t bytes = (size_t)(tc_graph_shape_count(s) * tc_dtype_bytes(t));
    return tc_graph_tensor_view(t, s, memset(tc_arena_alloc(a, bytes + 1), 0, bytes));
}

#endif
