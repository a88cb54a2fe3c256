/* What the tests of random graphs share: a graph that grows by nodes over what it has, and the check that the passes leave what the
 * reference evaluator gives for it as it was written, and that the kernels that come of it compute the same. */
#ifndef TC_TESTS_RANDOM_GRAPH_H
#define TC_TESTS_RANDOM_GRAPH_H

#include <math.h>

#include "graph/lower_common.h"
#include "graph/ops/ops.h"
#include "graph/passes/pass.h"
#include "support/rng.h"

typedef struct world {
    tc_rng rng;
    tc_graph *g;
    tc_graph_value *pool[64]; /* what nodes may read */
    int n, names;
} world;

static inline int below(world *w, int n) {
    return (int)tc_rng_below(&w->rng, (uint64_t)n);
}

/* Recent values more often: chains, not bushes. */
static inline tc_graph_value *pick(world *w) {
    return w->pool[w->n - 1 - TC_MIN(below(w, w->n), below(w, w->n))];
}

static inline tc_graph_node *node(world *w, tc_graph_op op, tc_graph_value *a, tc_graph_value *b, tc_graph_value *c) {
    return tc_graph_new_node(w->g, op, NULL, (tc_graph_value *[]){a, b, c}, c ? 3 : b ? 2 : 1);
}

/* n's result; NULL where the shape does not work out or is too large: a network goes on without it. */
static inline tc_graph_value *append(world *w, tc_graph_node *n) {
    const char *name = tc_arena_printf(w->g->arena, "v%d", w->names++);
    tc_error e;
    if (tc_graph_append(w->g, n, &name, 1, &e) != TC_OK)
        return NULL;
    tc_graph_value *v = tc_graph_find_value(w->g, name);
    int64_t count = tc_graph_shape_count(&v->shape);
    return count > 0 && count <= 6000 ? v : NULL;
}

/* ---- checking ---- */

/* Graphs of one input and two outputs. */
typedef struct random_graphs {
    void (*grow)(world *w);
    double spread, tolerance;        /* of the input; of the outputs */
    int n;                           /* of which test_some_graphs */
    int compiled_every, least_level; /* every fourth runs at all levels from this one, the others at the usual one */
} random_graphs;

static inline void show(const char *what, uint64_t seed, int level, const tc_graph *g) {
    tc_strbuf b = {0};
    tc_graph_print(g, &b);
    print_error("TC_SEED=%llu, level %d: %s\n%s", (unsigned long long)seed, level, what, tc_sb_str(&b));
    tc_strbuf_free(&b);
}

static inline bool agrees(const random_graphs *r, tc_graph_tensor *got, const tc_graph_tensor *want) {
    bool ok = true;
    for (int i = 0; i < 2; i++) {
        tc_graph_diff d = {0};
        tc_error e;
        ok &= tc_graph_tensor_compare(&got[i], &want[i], r->tolerance, r->tolerance, &d, &e) == TC_OK && !d.violations;
        tc_graph_tensor_free(&got[i]);
    }
    return ok;
}

/* The program gives `want`. */
static inline bool program_agrees(const random_graphs *r, const tc_graph_program *p, const tc_graph_tensor *in,
                                  const tc_graph_tensor *want, const tc_target *compiled, tc_error *e) {
    tc_graph_tensor got[2];
    tc_status s = compiled ? compile_and_run(p, compiled, in, got, e) : interpret_program(p, in, got, e);
    return s == TC_OK && agrees(r, got, want);
}

/* The program of g, for which p is that without any, with all of the kernels that could be one as one. */
static inline tc_graph_program *merged(const tc_graph *g, const tc_graph_program *p) {
    bool *merge = tc_xcalloc((size_t)p->nfound, sizeof *merge);
    tc_graph_program *q;
    for (int i = 0; i < p->nfound; i++)
        merge[i] = true;
    assert_ok(tc_graph_program_with(g, merge, &q, err));
    free(merge);
    return q;
}

/* The kernels of g give `want`, also those that could run in place of others. */
static inline bool kernels_agree(const random_graphs *r, const tc_graph *g, const tc_graph_tensor *in,
                                 const tc_graph_tensor *want, const tc_target *compiled, tc_error *e) {
    tc_graph_program *p;
    if (tc_graph_program_new(g, &p, e) != TC_OK)
        return false;
    bool ok = program_agrees(r, p, in, want, compiled, e);
    if (ok && p->nfound > 0) {
        tc_graph_program *q = merged(g, p);
        ok = program_agrees(r, q, in, want, compiled, e);
        tc_graph_program_free(q);
    }
    tc_graph_program_free(p);
    return ok;
}

static inline void check_random_graph(const random_graphs *r, uint64_t seed, int level, const tc_target *compiled, bool verbose) {
    world w = {.rng = tc_rng_seed(seed), .g = tc_graph_new("random")};
    r->grow(&w);
    if (verbose)
        show("before", seed, level, w.g);
    tc_graph_tensor in, want[2], got[2];
    tc_error e = {0};
    assert_ok(tc_graph_tensor_alloc(&in, TC_F32, &w.g->inputs.data[0]->shape, err));
    for (int64_t k = 0; k < tc_graph_tensor_count(&in); k++)
        ((float *)in.data)[k] = (float)(r->spread * tc_rng_normal(&w.rng));
    assert_ok(tc_graph_eval(w.g, &in, want, err));
    assert_ok(tc_graph_passes(w.g, &(tc_graph_pass_options){.level = level}, err));
    assert_ok(tc_graph_verify(w.g, err));
    if (verbose)
        show("after", seed, level, w.g);
    assert_ok(tc_graph_eval(w.g, &in, got, err));
    const char *wrong = agrees(r, got, want) ? NULL : "evaluated after the passes";
    if (!wrong && !kernels_agree(r, w.g, &in, want, NULL, &e))
        wrong = "interpreted";
    if (!wrong && compiled && !kernels_agree(r, w.g, &in, want, compiled, &e))
        wrong = "compiled";
    if (wrong) {
        show(wrong, seed, level, w.g);
        fail_msg("%s differs: %s", wrong, e.msg);
    }
    tc_graph_tensor_free(&in);
    for (int i = 0; i < 2; i++)
        tc_graph_tensor_free(&want[i]);
    tc_graph_free(w.g);
}

/* TC_SEED=N runs one graph and prints it before and after. */
static inline void check_random_graphs(const random_graphs *r) {
    tc_target *target;
    assert_ok(tc_target_parse("native", &target, err));
    const char *one = getenv("TC_SEED");
    for (uint64_t seed = 1; !one && seed <= test_some_graphs((uint64_t)r->n); seed++)
        for (int level = seed % 4 ? TC_GRAPH_OPT_DEFAULT : r->least_level; level <= TC_GRAPH_OPT_DEFAULT; level++)
            check_random_graph(r, seed, level, seed % (uint64_t)r->compiled_every == 0 ? target : NULL, false);
    if (one)
        check_random_graph(r, strtoull(one, NULL, 10), TC_GRAPH_OPT_DEFAULT, target, true);
    tc_target_free(target);
}

#endif
