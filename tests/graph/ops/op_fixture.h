/* What the tests of operators share: a graph of one node with random operands, and running it every way. */
#ifndef TC_TESTS_OP_FIXTURE_H
#define TC_TESTS_OP_FIXTURE_H

#include "graph/lower_common.h"
#include "graph/ops/ops.h"
#include "graph/passes/pass.h"
#include "support/rng.h"

enum { MAX_PORTS = 12 };

typedef struct fixture {
    tc_rng rng;
    uint64_t seed;
    tc_graph *g;
    tc_graph_tensor in[MAX_PORTS];
    int nin, nconst;
    int64_t note[8]; /* what was drawn, for a definition */
    double real;
} fixture;

typedef tc_graph_node *make_fn(fixture *f);

static inline int64_t below(fixture *f, int64_t n) {
    return tc_rng_below(&f->rng, n);
}

static inline int64_t between(fixture *f, int64_t low, int64_t high) {
    return low + below(f, high - low + 1);
}

#define PICK(f, array) ((array)[below((f), (int64_t)TC_LEN(array))])

/* ---- operands ---- */

/* Floats are in [-2, 2), integers in [low, high). */
static inline tc_graph_tensor random_tensor(fixture *f, tc_dtype t, tc_graph_shape s, int64_t low, int64_t high) {
    tc_graph_tensor v;
    assert_ok(tc_graph_tensor_alloc(&v, t, &s, err));
    for (int64_t i = 0, n = tc_graph_tensor_count(&v); i < n; i++)
        if (tc_dtype_is_float(t))
            tc_store_f(t, v.data, i, tc_rng_unit(&f->rng) * 4 - 2);
        else
            tc_store_i(t, v.data, i, between(f, low, high - 1));
    return v;
}

static inline tc_graph_value *input_of(fixture *f, tc_graph_tensor t) {
    char name[16];
    snprintf(name, sizeof name, "x%d", f->nin);
    f->in[f->nin++] = t;
    return tc_graph_add_input(f->g, name, t.dtype, &t.shape);
}

static inline tc_graph_value *floats(fixture *f, tc_graph_shape s) {
    return input_of(f, random_tensor(f, TC_F32, s, 0, 0));
}

static inline tc_graph_value *integers(fixture *f, tc_dtype t, tc_graph_shape s, int64_t low, int64_t high) {
    return input_of(f, random_tensor(f, t, s, low, high));
}

static inline tc_graph_value *constant(fixture *f, tc_graph_tensor t) {
    char name[16];
    snprintf(name, sizeof name, "c%d", f->nconst++);
    return tc_graph_add_constant(f->g, name, &t);
}

static inline tc_graph_value *list(fixture *f, int n, const int64_t *v) {
    return constant(f, tc_graph_tensor_view(TC_I64, &(tc_graph_shape){1, {n}}, (void *)(uintptr_t)v));
}

static inline tc_graph_value *number(fixture *f, float v) {
    return constant(f, tc_graph_tensor_view(TC_F32, &(tc_graph_shape){0}, &v));
}

static inline tc_graph_value *scales(fixture *f, int n, const float *v) {
    return constant(f, tc_graph_tensor_view(TC_F32, &(tc_graph_shape){1, {n}}, (void *)(uintptr_t)v));
}

/* Positive, for scales of quantisation. */
static inline tc_graph_value *steps(fixture *f, int64_t n) {
    tc_graph_tensor t = random_tensor(f, TC_F32, (tc_graph_shape){n > 0, {n}}, 0, 0);
    for (int64_t i = 0; i < tc_graph_tensor_count(&t); i++)
        ((float *)t.data)[i] = fabsf(((float *)t.data)[i]) * 0.1F + 0.01F;
    return below(f, 2) ? constant(f, t) : input_of(f, t);
}

static inline tc_graph_shape image(fixture *f, int spatial) {
    tc_graph_shape s = {2 + spatial, {between(f, 1, 2), between(f, 1, 4)}};
    for (int d = 0; d < spatial; d++)
        s.d[d + 2] = between(f, 3, 9);
    return s;
}

#define NODE(f, op, ...)                                                                                                         \
    tc_graph_new_node((f)->g, TC_GRAPH_OP_##op, "op", (tc_graph_value *[]){__VA_ARGS__},                                         \
                      (int)(sizeof((tc_graph_value *[]){__VA_ARGS__}) / sizeof(tc_graph_value *)))

/* ---- running ---- */

/* Sums in another order differ a little; integers must be equal. */
static inline void expect(const fixture *f, const char *name, const char *how, const tc_graph_tensor *got,
                          const tc_graph_tensor *want) {
    tc_graph_diff d;
    bool floating = tc_dtype_is_float(want->dtype);
    assert_ok(tc_graph_tensor_compare(got, want, floating ? 1e-4 : 0, floating ? 1e-5 : 0, &d, err));
    if (d.violations)
        fail_msg("%s, TC_SEED=%llu, %s: error %g at %lld", name, (unsigned long long)f->seed, how, d.max_abs, (long long)d.worst);
}

static inline void run_program(fixture *f, const char *name, const tc_target *t, const tc_graph_tensor *want) {
    tc_graph_program *p;
    tc_graph_tensor out[MAX_PORTS];
    int n = (int)f->g->outputs.len;
    assert_ok(tc_graph_passes(f->g, NULL, err));
    assert_ok(tc_graph_program_new(f->g, &p, err));
    for (int compiled = 0; compiled < 2; compiled++) {
        tc_error e = {0};
        tc_status s = compiled ? compile_and_run(p, t, f->in, out, &e) : interpret_program(p, f->in, out, &e);
        if (s != TC_OK)
            fail_msg("%s, TC_SEED=%llu: %s", name, (unsigned long long)f->seed, e.msg);
        for (int i = 0; i < n; i++) {
            expect(f, name, compiled ? "compiled" : "interpreted", &out[i], &want[i]);
            tc_graph_tensor_free(&out[i]);
        }
    }
    tc_graph_program_free(p);
}

static inline fixture fixture_of(uint64_t seed) {
    return (fixture){.seed = seed, .rng = tc_rng_seed(seed), .g = tc_graph_new("family")};
}

static inline void free_fixture(fixture *f) {
    for (int i = 0; i < f->nin; i++)
        tc_graph_tensor_free(&f->in[i]);
    tc_graph_free(f->g);
}

static inline void append(fixture *f, const char *name, tc_graph_node *n, int nout) {
    static const char *const names[] = {"y0", "y1", "y2"};
    tc_error e = {0};
    if (tc_graph_append(f->g, n, names, nout, &e) != TC_OK)
        fail_msg("%s, TC_SEED=%llu: %s", name, (unsigned long long)f->seed, e.msg);
    for (int i = 0; i < nout; i++)
        tc_graph_add_output(f->g, names[i], tc_graph_find_value(f->g, names[i]));
    tc_graph_simplify(f->g);
    assert_ok(tc_graph_verify(f->g, err));
}

/* In every way the only output holds the values y. */
static inline void check_values(fixture *f, const char *name, const tc_target *t, const double *y) {
    const tc_graph_value *out = f->g->outputs.data[0].value;
    tc_graph_tensor want, got;
    assert_ok(tc_graph_tensor_alloc(&want, out->dtype, &out->shape, err));
    tc_graph_tensor_from_f64(&want, y);
    assert_ok(tc_graph_eval(f->g, f->in, &got, err));
    expect(f, name, "evaluated", &got, &want);
    run_program(f, name, t, &want);
    tc_graph_tensor_free(&got);
    tc_graph_tensor_free(&want);
}

/* What is said of the node; the fixture is freed. */
static inline tc_status try_append(fixture *f, tc_graph_node *n, tc_error *err) {
    tc_status s = tc_graph_append(f->g, n, &(const char *){"y"}, 1, err);
    free_fixture(f);
    return s;
}

#endif
