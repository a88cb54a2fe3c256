/* Random graphs in which something elementwise makes operands of contractions: that the kernels apart, and all of those as one
 * that could be, give what the reference evaluator gives, by default schedules and by random ones. TC_SEED=N runs one graph and
 * prints it before and after. */
#include "graph/ir/build.h"
#include "graph/random_graph.h"
#include "search_space/space.h"

enum { POPULATION = 8 }; /* from which a schedule is drawn */

static tc_graph_value *constant(world *w, const tc_graph_shape *s, double scale) {
    tc_graph_tensor t;
    assert_ok(tc_graph_tensor_alloc(&t, TC_F32, s, err));
    for (int64_t i = 0; i < tc_graph_tensor_count(&t); i++)
        ((float *)t.data)[i] = (float)(tc_rng_normal(&w->rng) * scale);
    return tc_graph_add_constant(w->g, "w", &t);
}

static tc_graph_value *made(world *w, tc_graph_node *n) {
    const char *name = tc_arena_printf(w->g->arena, "v%d", w->names++);
    assert_ok(tc_graph_append(w->g, n, &name, 1, err));
    return tc_graph_find_value(w->g, name);
}

/* ---- producers: each makes the same shape of x ---- */

/* Of the channels: the second dimension of images, the last one of rows. */
static tc_graph_value *by_channel(world *w, const tc_graph_value *x) {
    bool image = x->shape.ndim == 4;
    int64_t n = x->shape.d[image ? 1 : x->shape.ndim - 1];
    return constant(w, image ? &(tc_graph_shape){4, {1, n, 1, 1}} : &(tc_graph_shape){1, {n}}, 0.7);
}

static tc_graph_value *affine(world *w, tc_graph_value *x) {
    x = made(w, node(w, TC_GRAPH_OP_MUL, x, by_channel(w, x), NULL));
    return made(w, node(w, TC_GRAPH_OP_ADD, x, by_channel(w, x), NULL));
}

/* The scale of a squeeze-and-excitation. */
static tc_graph_value *gated(world *w, tc_graph_value *x) {
    static const int64_t space[] = {2, 3}, rows[] = {0};
    bool image = x->shape.ndim == 4;
    tc_graph_node *mean = node(w, TC_GRAPH_OP_REDUCE_MEAN, x, NULL, NULL);
    tc_graph_set_axes(w->g, mean, image ? space : rows, image ? 2 : 1);
    tc_graph_value *gate = made(w, node(w, TC_GRAPH_OP_SIGMOID, made(w, mean), NULL, NULL));
    return made(w, node(w, TC_GRAPH_OP_MUL, x, gate, NULL));
}

static tc_graph_value *cast(world *w, tc_graph_value *x, tc_dtype t) {
    tc_graph_node *n = node(w, TC_GRAPH_OP_CAST, x, NULL, NULL);
    tc_graph_set_to(w->g, n, tc_graph_dtype_to_onnx(t));
    return made(w, n);
}

static tc_graph_value *converted(world *w, tc_graph_value *x) {
    return cast(w, cast(w, x, below(w, 2) ? TC_F16 : TC_BF16), TC_F32);
}

static tc_graph_value *dequantised(world *w, tc_graph_value *x) {
    float scale = 0.0625f;
    uint8_t zero = 120;
    tc_graph_tensor s = tc_graph_tensor_view(TC_F32, &(tc_graph_shape){0}, &scale),
                    z = tc_graph_tensor_view(TC_U8, &(tc_graph_shape){0}, &zero);
    tc_graph_value *cs = tc_graph_add_constant(w->g, "s", &s), *cz = tc_graph_add_constant(w->g, "z", &z);
    x = made(w, node(w, TC_GRAPH_OP_QUANTIZE_LINEAR, x, cs, cz));
    return made(w, node(w, TC_GRAPH_OP_DEQUANTIZE_LINEAR, x, cs, cz));
}

static tc_graph_value *normalised(world *w, tc_graph_value *x) {
    tc_graph_node *n =
        node(w, TC_GRAPH_OP_LAYER_NORM, x, constant(w, &(tc_graph_shape){1, {x->shape.d[x->shape.ndim - 1]}}, 1), NULL);
    tc_graph_set_axis(w->g, n, x->shape.ndim - 1);
    return made(w, n);
}

static tc_graph_value *activated(world *w, tc_graph_value *x) {
    return made(w, node(w, below(w, 2) ? TC_GRAPH_OP_RELU : TC_GRAPH_OP_SIGMOID, x, NULL, NULL));
}

static tc_graph_value *produce(world *w, tc_graph_value *x) {
    static tc_graph_value *(*const makers[])(world *, tc_graph_value *) = {affine,      gated,      converted,
                                                                           dequantised, normalised, activated};
    for (int i = 1 + below(w, 2); i > 0; i--)
        x = makers[below(w, (int)TC_LEN(makers))](w, x);
    return x;
}

/* ---- contractions ---- */

static tc_graph_value *convolve(world *w, tc_graph_value *x) {
    int64_t in = x->shape.d[1], side = 1 + 2 * below(w, 2), strides[] = {1 + below(w, 2), 1 + below(w, 2)}, pads[4];
    bool depthwise = below(w, 4) == 0;
    int64_t out = depthwise ? in : 1 + below(w, 20);
    for (int i = 0; i < 4; i++)
        pads[i] = side / 2;
    tc_graph_shape s = {4, {out, depthwise ? 1 : in, side, side}};
    tc_graph_node *n = node(w, TC_GRAPH_OP_CONV, x, constant(w, &s, 0.3), NULL);
    tc_graph_set_strides(w->g, n, strides, 2);
    tc_graph_set_pads(w->g, n, pads, 4);
    tc_graph_set_group(w->g, n, depthwise ? in : 1);
    return made(w, n);
}

/* Of 4 bits or 8, by column. */
static tc_graph_value *weights_of_few_bits(world *w, int64_t k, int64_t n) {
    tc_graph_tensor t, s;
    int most = below(w, 2) ? 8 : 128;
    assert_ok(tc_graph_tensor_alloc(&t, TC_I8, &(tc_graph_shape){2, {k, n}}, err));
    assert_ok(tc_graph_tensor_alloc(&s, TC_F32, &(tc_graph_shape){1, {n}}, err));
    for (int64_t i = 0; i < k * n; i++)
        ((int8_t *)t.data)[i] = (int8_t)(below(w, 2 * most) - most);
    for (int64_t i = 0; i < n; i++)
        ((float *)s.data)[i] = (float)(1 + below(w, 3)) / (float)(4 * most);
    tc_graph_value *v = tc_graph_add_constant(w->g, "b", &t);
    return made(w, node(w, TC_GRAPH_OP_DEQUANTIZE_LINEAR, v, tc_graph_add_constant(w->g, "s", &s), NULL));
}

/* By constants, or by what another producer makes. */
static tc_graph_value *multiply(world *w, tc_graph_value *x, tc_graph_value *raw) {
    int64_t k = x->shape.d[x->shape.ndim - 1];
    if (below(w, 4) == 0)
        return made(w, node(w, TC_GRAPH_OP_MATMUL, x, weights_of_few_bits(w, k, 1 + below(w, 40)), NULL));
    if (below(w, 3))
        return made(w, node(w, TC_GRAPH_OP_MATMUL, x, constant(w, &(tc_graph_shape){2, {k, 1 + below(w, 40)}}, 0.3), NULL));
    static const int64_t perm[] = {1, 0};
    tc_graph_node *t = node(w, TC_GRAPH_OP_TRANSPOSE, produce(w, raw), NULL, NULL);
    tc_graph_set_perm(w->g, t, perm, 2);
    return made(w, node(w, TC_GRAPH_OP_MATMUL, x, made(w, t), NULL));
}

/* One contraction of what a producer makes, or two. */
static tc_graph_value *contract(world *w, tc_graph_value *x, bool image, tc_graph_value **other) {
    if (below(w, 2)) {
        *other = image ? convolve(w, x) : multiply(w, x, x);
        if (below(w, 2))
            *other = made(w, node(w, TC_GRAPH_OP_TANH, *other, NULL, NULL));
    }
    return image ? convolve(w, x) : multiply(w, x, x);
}

static void grow(world *w) {
    bool image = below(w, 2);
    tc_graph_shape s = image ? (tc_graph_shape){4, {1, 1 + below(w, 20), 3 + below(w, 5), 3 + below(w, 5)}}
                             : (tc_graph_shape){2, {1 + below(w, 20), 2 + below(w, 40)}};
    tc_graph_value *x = tc_graph_add_input(w->g, "x", TC_F32, &s), *y = x, *other = NULL;
    for (int i = 1 + below(w, 2); i > 0; i--) {
        y = produce(w, y);
        y = contract(w, y, image, &other);
        if (below(w, 2))
            y = affine(w, y);
    }
    tc_graph_add_output(w->g, "y", y);
    tc_graph_add_output(w->g, "z", other ? other : made(w, node(w, TC_GRAPH_OP_RELU, x, NULL, NULL)));
}

static const random_graphs graphs = {
    .grow = grow, .spread = 1, .tolerance = 2e-3, .n = 48, .compiled_every = 6, .least_level = 1};

static void test_default_schedules(void **state) {
    (void)state;
    check_random_graphs(&graphs);
}

/* ---- random schedules ---- */

/* A record of a random schedule of w. */
static tc_record random_record(const tc_workload *w, const tc_machine *m, tc_digest hash, tc_rng *rng, tc_arena *a) {
    tc_record r = tc_meas_record_empty();
    tc_space *s;
    tc_space_found found;
    tc_strbuf b = {0};
    assert_ok(tc_space_new(w, m, &s, err));
    tc_space_query q = {.options = tc_space_options_default(), .rng = rng, .want = 1, .arena = a};
    q.options.population = POPULATION;
    q.options.generations = 1;
    q.options.constructed = 0;
    assert_ok(tc_space_search(s, &q, &found, err));
    assert_true(found.n == 1);
    tc_trace_print(&b, found.data[0].trace);
    r.workload_hash = hash;
    r.trace = tc_arena_strdup(a, tc_sb_str(&b));
    tc_strbuf_free(&b);
    tc_space_free(s);
    return r;
}

static void run_drawn(const tc_graph_program *p, const tc_target *t, tc_rng *rng, const tc_graph_tensor *in,
                      tc_graph_tensor *out) {
    tc_arena *a = tc_arena_new();
    tc_graph_choice *choices = TC_NEW_N(a, tc_graph_choice, p->ntask + 1);
    tc_machine m = t->machine;
    tc_graph_model *model;
    m.cores = 2;
    for (int i = 0; i < p->ntask; i++) {
        tc_record *r = TC_NEW(a, tc_record);
        *r = random_record(p->tasks[i].workload, &m, p->hashes[i], rng, a);
        choices[i] = (tc_graph_choice){.records = r, .n = 1};
    }
    tc_graph_build_options o = {.target = t, .threads = 2, .choices = choices};
    assert_ok(tc_graph_model_build(p, &o, &model, err));
    for (int i = 0; i < p->ntask; i++)
        assert_int_equal(model->kernels[i].source, TC_GRAPH_FROM_RECORD);
    assert_ok(tc_graph_model_run(model, in, out, err));
    tc_graph_model_free(model);
    tc_arena_free(a);
}

/* Whether any kernels could be one. */
static bool check_drawn(uint64_t seed, const tc_target *t) {
    world w = {.rng = tc_rng_seed(seed), .g = tc_graph_new("random")};
    tc_graph_tensor in, want[2], got[2];
    tc_graph_program *p;
    grow(&w);
    assert_ok(tc_graph_tensor_alloc(&in, TC_F32, &w.g->inputs.data[0]->shape, err));
    for (int64_t k = 0; k < tc_graph_tensor_count(&in); k++)
        ((float *)in.data)[k] = (float)tc_rng_normal(&w.rng);
    assert_ok(tc_graph_eval(w.g, &in, want, err));
    assert_ok(tc_graph_passes(w.g, NULL, err));
    assert_ok(tc_graph_program_new(w.g, &p, err));
    bool any = p->nfound > 0;
    if (any) {
        tc_graph_program *q = merged(w.g, p);
        assert_true(q->nlaunch < p->nlaunch);
        run_drawn(q, t, &w.rng, &in, got);
        if (!agrees(&graphs, got, want)) {
            show("random schedules of merged kernels", seed, TC_GRAPH_OPT_DEFAULT, w.g);
            fail();
        }
        tc_graph_program_free(q);
    }
    tc_graph_program_free(p);
    tc_graph_tensor_free(&in);
    for (int i = 0; i < 2; i++)
        tc_graph_tensor_free(&want[i]);
    tc_graph_free(w.g);
    return any;
}

static void test_random_schedules(void **state) {
    enum { SEEDS = 16 };
    (void)state;
    tc_target *t;
    int any = 0;
    assert_ok(tc_target_parse("native", &t, err));
    for (uint64_t seed = 1; seed <= SEEDS; seed++)
        any += check_drawn(1000 + seed, t);
    assert_true(any > SEEDS / 2);
    tc_target_free(t);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_default_schedules), cmocka_unit_test(test_random_schedules)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
