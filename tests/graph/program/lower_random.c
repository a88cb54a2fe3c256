/* Random graphs: whatever the operators and however they fuse, the interpreted workloads and the compiled model give what the
 * reference evaluator gives, and the memory plan keeps apart what lives at the same time. TC_SEED=N runs one graph and prints it.
 */
#include "graph/random_graph.h"

enum { GRAPHS = 250, MAX_OUT = 4 };

static tc_graph_shape random_shape(world *w) {
    static const int64_t dims[] = {1, 1, 2, 3, 4, 5, 6, 8, 16, 17};
    tc_graph_shape s = {.ndim = 1 + below(w, 4)};
    for (int d = 0; d < s.ndim; d++)
        s.d[d] = dims[below(w, (int)TC_LEN(dims))];
    return s;
}

static void add_node(world *w, tc_graph_node *n) {
    char name[32];
    const char *names[] = {name};
    snprintf(name, sizeof name, "v%d", w->n);
    assert_ok(tc_graph_append(w->g, n, names, 1, err));
    w->pool[w->n++] = tc_graph_find_value(w->g, name);
}

static tc_graph_value *weight(world *w, const tc_graph_shape *s) {
    char name[32];
    tc_graph_tensor t;
    snprintf(name, sizeof name, "w%zu", w->g->values.len);
    assert_ok(tc_graph_tensor_alloc(&t, TC_F32, s, err));
    for (int64_t i = 0; i < tc_graph_tensor_count(&t); i++)
        ((float *)t.data)[i] = (float)tc_rng_normal(&w->rng) * 0.5f;
    return tc_graph_add_constant(w->g, name, &t);
}

static void add_unary(world *w) {
    static const tc_graph_op ops[] = {TC_GRAPH_OP_RELU, TC_GRAPH_OP_TANH, TC_GRAPH_OP_SIGMOID,
                                      TC_GRAPH_OP_NEG,  TC_GRAPH_OP_ERF,  TC_GRAPH_OP_ABS};
    add_node(w, node(w, ops[below(w, (int)TC_LEN(ops))], pick(w), NULL, NULL));
}

/* The other operand: a value that broadcasts, or a new weight along some of the dimensions. */
static void add_binary(world *w) {
    static const tc_graph_op ops[] = {TC_GRAPH_OP_ADD, TC_GRAPH_OP_SUB, TC_GRAPH_OP_MUL, TC_GRAPH_OP_MAX, TC_GRAPH_OP_ADD};
    tc_graph_value *a = pick(w), *b = pick(w);
    tc_graph_shape both;
    if (!tc_graph_shape_broadcast(&a->shape, &b->shape, &both) || tc_graph_shape_count(&both) > 4096) {
        tc_graph_shape s = a->shape;
        for (int d = 0; d < s.ndim; d++)
            s.d[d] = below(w, 2) ? s.d[d] : 1;
        b = weight(w, &s);
    }
    add_node(w, below(w, 2) ? node(w, ops[below(w, (int)TC_LEN(ops))], a, b, NULL)
                            : node(w, ops[below(w, (int)TC_LEN(ops))], b, a, NULL));
}

static void add_transpose(world *w) {
    tc_graph_value *a = pick(w);
    int64_t perm[TC_GRAPH_MAX_DIMS];
    for (int d = 0; d < a->shape.ndim; d++)
        perm[d] = d;
    for (int d = a->shape.ndim - 1; d > 0; d--) {
        int k = below(w, d + 1);
        int64_t t = perm[d];
        perm[d] = perm[k];
        perm[k] = t;
    }
    tc_graph_node *n = node(w, TC_GRAPH_OP_TRANSPOSE, a, NULL, NULL);
    tc_graph_set_perm(w->g, n, perm, (size_t)a->shape.ndim);
    add_node(w, n);
}

/* Splits one dimension in two, merges two neighbours, or adds one of 1. */
static void add_reshape(world *w) {
    tc_graph_value *a = pick(w);
    tc_graph_shape s = a->shape;
    int d = below(w, s.ndim);
    if (below(w, 2) && s.ndim > 1) {
        d = below(w, s.ndim - 1);
        s.d[d] *= s.d[d + 1];
        memmove(&s.d[d + 1], &s.d[d + 2], sizeof s.d[0] * (size_t)(s.ndim - d - 2));
        s.ndim--;
    } else if (s.ndim < 5) {
        int64_t f = s.d[d] % 2 == 0 ? 2 : s.d[d] % 3 == 0 ? 3 : 1;
        memmove(&s.d[d + 1], &s.d[d], sizeof s.d[0] * (size_t)(s.ndim - d));
        s.d[d] = a->shape.d[d] / f;
        s.d[d + 1] = f;
        s.ndim++;
    }
    tc_graph_tensor t;
    tc_graph_shape list = {1, {s.ndim}};
    char name[32];
    snprintf(name, sizeof name, "s%zu", w->g->values.len);
    assert_ok(tc_graph_tensor_alloc(&t, TC_I64, &list, err));
    memcpy(t.data, s.d, sizeof s.d[0] * (size_t)s.ndim);
    add_node(w, node(w, TC_GRAPH_OP_RESHAPE, a, tc_graph_add_constant(w->g, name, &t), NULL));
}

static void add_reduce(world *w) {
    static const tc_graph_op ops[] = {TC_GRAPH_OP_REDUCE_MEAN, TC_GRAPH_OP_REDUCE_MAX, TC_GRAPH_OP_REDUCE_SUM};
    tc_graph_value *a = pick(w);
    int64_t axis = below(w, 3) ? a->shape.ndim - 1 : below(w, a->shape.ndim);
    tc_graph_tensor t;
    tc_graph_shape list = {1, {1}};
    char name[32];
    snprintf(name, sizeof name, "a%zu", w->g->values.len);
    assert_ok(tc_graph_tensor_alloc(&t, TC_I64, &list, err));
    ((int64_t *)t.data)[0] = axis;
    tc_graph_op op = ops[below(w, 3)];
    tc_graph_node *n = node(w, op, a, tc_graph_add_constant(w->g, name, &t), NULL);
    tc_graph_set_keepdims(w->g, n, a->shape.ndim == 1 || below(w, 3));
    add_node(w, n);
}

static void add_softmax(world *w) {
    tc_graph_value *a = pick(w);
    tc_graph_node *n = node(w, below(w, 3) ? TC_GRAPH_OP_SOFTMAX : TC_GRAPH_OP_LOG_SOFTMAX, a, NULL, NULL);
    tc_graph_set_axis(w->g, n, below(w, 3) ? a->shape.ndim - 1 : below(w, a->shape.ndim));
    add_node(w, n);
}

static void add_layer_norm(world *w) {
    tc_graph_value *a = pick(w);
    tc_graph_shape s = {1, {a->shape.d[a->shape.ndim - 1]}};
    tc_graph_value *in[] = {a, weight(w, &s), weight(w, &s)};
    tc_graph_node *n = tc_graph_new_node(w->g, TC_GRAPH_OP_LAYER_NORM, NULL, in, 3);
    tc_graph_set_axis(w->g, n, a->shape.ndim - 1);
    tc_graph_set_epsilon(w->g, n, 0.1);
    add_node(w, n);
}

static void add_matmul(world *w) {
    tc_graph_value *a = pick(w);
    if (a->shape.ndim < 2)
        return;
    tc_graph_shape s = {2, {a->shape.d[a->shape.ndim - 1], 1 + below(w, 20)}};
    add_node(w, node(w, TC_GRAPH_OP_MATMUL, a, weight(w, &s), NULL));
    if (below(w, 2)) {
        s = (tc_graph_shape){1, {s.d[1]}};
        add_node(w, node(w, TC_GRAPH_OP_ADD, w->pool[w->n - 1], weight(w, &s), NULL));
    }
}

/* Bounded, so that errors stay small through many layers. */
static tc_graph_value *layer(world *w, tc_graph_value *a, int64_t n) {
    add_node(w, node(w, TC_GRAPH_OP_MATMUL, a, weight(w, &(tc_graph_shape){2, {a->shape.d[a->shape.ndim - 1], n}}), NULL));
    add_node(w, node(w, TC_GRAPH_OP_TANH, w->pool[w->n - 1], NULL, NULL));
    return w->pool[w->n - 1];
}

/* Branches of two layers beside what they are added to or combined with: results that may be written in place. */
static void add_residuals(world *w) {
    static const tc_graph_op ops[] = {TC_GRAPH_OP_ADD, TC_GRAPH_OP_ADD, TC_GRAPH_OP_MUL, TC_GRAPH_OP_SUB};
    int64_t wide = 1 + below(w, 40), branches = 1 + below(w, 3);
    tc_graph_value *a = pick(w);
    if (a->shape.ndim < 2 || w->n > 40)
        return;
    tc_graph_value *h = layer(w, a, wide);
    for (int64_t i = 0; i < branches; i++) {
        tc_graph_value *u = layer(w, layer(w, h, 1 + below(w, 40)), wide);
        add_node(w, node(w, ops[below(w, (int)TC_LEN(ops))], u, h, NULL));
        h = w->pool[w->n - 1];
    }
}

static void concat(world *w, tc_graph_value **part, int n, int axis) {
    tc_graph_node *c = tc_graph_new_node(w->g, TC_GRAPH_OP_CONCAT, NULL, part, n);
    tc_graph_set_axis(w->g, c, axis);
    add_node(w, c);
}

/* Layers one above the other, of one or each of the one before, some twice, and perhaps that again with something else: what may
 * be written to its place in the whole. */
static void add_stack(world *w) {
    tc_graph_value *a = pick(w), *part[5];
    int n = 2 + below(w, 3), axis = 0;
    if (a->shape.ndim < 2 || tc_graph_shape_count(&a->shape) > 1024 || w->n > 40)
        return;
    while (axis < a->shape.ndim - 2 && a->shape.d[axis] == 1)
        axis++;
    int64_t wide = below(w, 4) ? 16 * (1 + below(w, 2)) : 3;
    bool chain = below(w, 2);
    for (int k = 0; k < n; k++)
        part[k] = k && !below(w, 6) ? part[below(w, k)] : layer(w, k && chain ? part[k - 1] : a, wide);
    tc_graph_value *last = part[n - 1];
    concat(w, part, n, axis);
    if (below(w, 2))
        return;
    tc_graph_value *whole = w->pool[w->n - 1], *other = below(w, 2) ? layer(w, whole, wide) : last;
    concat(w, (tc_graph_value *[]){other, whole}, 2, axis);
}

static void add_attention(world *w) { /* a a^T */
    tc_graph_value *a = pick(w);
    if (a->shape.ndim < 2 || a->shape.ndim > 4)
        return;
    int64_t perm[] = {0, 1, 2, 3};
    int k = a->shape.ndim;
    perm[k - 1] = k - 2;
    perm[k - 2] = k - 1;
    tc_graph_node *n = node(w, TC_GRAPH_OP_TRANSPOSE, a, NULL, NULL);
    tc_graph_set_perm(w->g, n, perm, (size_t)k);
    add_node(w, n);
    add_node(w, node(w, TC_GRAPH_OP_MATMUL, a, w->pool[w->n - 1], NULL));
}

static void add_concat(world *w) {
    tc_graph_value *a = pick(w), *b = pick(w);
    int axis = below(w, a->shape.ndim);
    tc_graph_shape x = a->shape, y = b->shape;
    if (x.ndim == y.ndim)
        x.d[axis] = y.d[axis] = 1;
    if (!tc_graph_shape_equal(&x, &y))
        b = a;
    tc_graph_node *n = node(w, TC_GRAPH_OP_CONCAT, a, b, NULL);
    tc_graph_set_axis(w->g, n, axis);
    add_node(w, n);
}

static void grow(world *w) {
    static void (*const steps[])(world *) = {add_unary,   add_unary,     add_binary,  add_binary,     add_binary, add_transpose,
                                             add_reshape, add_reduce,    add_softmax, add_layer_norm, add_matmul, add_attention,
                                             add_concat,  add_residuals, add_stack,   add_stack};
    tc_graph_shape s = random_shape(w);
    w->pool[w->n++] = tc_graph_add_input(w->g, "x", TC_F32, &s);
    s = random_shape(w);
    w->pool[w->n++] = tc_graph_add_input(w->g, "y", TC_F32, &s);
    for (int i = 3 + below(w, 18); i > 0 && w->n < 60; i--)
        if (tc_graph_shape_count(&w->pool[w->n - 1]->shape) <= 4096)
            steps[below(w, (int)TC_LEN(steps))](w);
    tc_graph_add_output(w->g, "out0", w->pool[w->n - 1]);
    for (int k = below(w, MAX_OUT - 1); k > 0; k--) {
        char name[16];
        snprintf(name, sizeof name, "out%d", k);
        tc_graph_add_output(w->g, name, pick(w));
    }
}

static void explain(const world *w, const tc_graph_program *p, uint64_t seed) {
    tc_strbuf b = {0};
    tc_graph_print(w->g, &b);
    if (p)
        tc_graph_program_print(p, &b);
    print_error("TC_SEED=%llu\n%s", (unsigned long long)seed, tc_sb_str(&b));
    tc_strbuf_free(&b);
}

static int whole_of(const tc_graph_program *p, int slot) {
    int64_t at;
    return tc_graph_whole_of(p, slot, &at);
}

/* Of a slot that is no piece of another. */
static void life_of(const tc_graph_program *p, int slot, int *first, int *last) {
    *first = p->nlaunch;
    *last = -1;
    for (int i = 0; i < p->nlaunch; i++)
        for (int k = 0; k < p->launches[i].nargs; k++)
            if (whole_of(p, p->launches[i].args[k]) == slot) {
                *first = TC_MIN(*first, i);
                *last = i;
            }
}

static bool lies_in(const tc_graph_program *p, int x, int y) {
    while (x >= 0 && x != y)
        x = p->slots[x].within;
    return x == y;
}

/* Intermediates that live at the same time share no byte, but for a result that is written over what its launch reads last, and
 * for pieces of one. */
static bool pair_is_sound(const tc_graph_program *p, const tc_graph_plan *plan, int x, int y) {
    int first[2], last[2];
    int64_t ax = plan->offset[x], ay = plan->offset[y];
    int wx = whole_of(p, x), wy = whole_of(p, y);
    life_of(p, wx, &first[0], &last[0]);
    life_of(p, wy, &first[1], &last[1]);
    bool together = first[0] <= last[1] && first[1] <= last[0];
    bool apart = ax + p->slots[x].bytes <= ay || ay + p->slots[y].bytes <= ax;
    if (wx == wy)
        return apart != (lies_in(p, x, y) || lies_in(p, y, x));
    x = wx; /* what is written in place is whole */
    y = wy;
    if (plan->over[x] == y || plan->over[y] == x) {
        int result = plan->over[x] == y ? 0 : 1;
        return plan->offset[x] == plan->offset[y] && first[result] == last[!result];
    }
    return !together || apart;
}

static bool plan_is_sound(const tc_graph_program *p, const tc_graph_plan *plan) {
    bool ok = true;
    for (int x = 0; x < p->nslot; x++) {
        if (plan->offset[x] < 0)
            continue;
        for (int y = 0; y < x; y++)
            ok &= plan->offset[y] < 0 || pair_is_sound(p, plan, x, y);
        ok &= plan->offset[x] % TC_RT_ALIGN == 0 && plan->offset[x] + p->slots[x].bytes <= plan->bytes;
    }
    return ok;
}

/* Models that have some. */
typedef struct tally {
    int in_place, pieces;
} tally;

/* The plan of the model is as good as one without results in place. */
static tc_status build_and_run(const tc_graph_program *p, const tc_target *t, const tc_graph_tensor *in, tc_graph_tensor *out,
                               tally *n, tc_error *err) {
    tc_graph_model *m;
    tc_graph_plan apart;
    TC_TRY(tc_graph_model_build(p, &(tc_graph_build_options){.target = t, .threads = 2, .branches = TC_GRAPH_BRANCHES_NONE}, &m,
                                err));
    tc_arena *a = tc_arena_new();
    tc_graph_plan_memory(p, NULL, NULL, NULL, a, &apart);
    bool over = false, pieces = false;
    for (int s = 0; s < p->nslot; s++) {
        over |= m->plan.over[s] >= 0;
        pieces |= p->slots[s].within >= 0;
    }
    n->in_place += over;
    n->pieces += pieces;
    bool ok = plan_is_sound(p, &m->plan) && plan_is_sound(p, &apart) && m->plan.bytes <= apart.bytes;
    tc_status s = ok ? tc_graph_model_run(m, in, out, err) : tc_fail(err, TC_BAD_INPUT, "the memory plan is wrong");
    tc_arena_free(a);
    tc_graph_model_free(m);
    return s;
}

static bool all_agree(const tc_graph *g, const tc_graph_tensor *got, const tc_graph_tensor *want, const char *how) {
    bool ok = true;
    for (size_t i = 0; i < g->outputs.len; i++) {
        tc_graph_diff d = {0};
        tc_error e = {0};
        if (tc_graph_tensor_compare(&got[i], &want[i], 1e-4, 1e-4, &d, &e) != TC_OK || d.violations) {
            print_error("%s: %s differs by %g %s\n", how, g->outputs.data[i].name, d.max_abs, e.msg);
            ok = false;
        }
    }
    return ok;
}

static void free_tensors(tc_graph_tensor *t, size_t n) {
    for (size_t i = 0; i < n; i++)
        tc_graph_tensor_free(&t[i]);
}

static void run_graph(uint64_t seed, const tc_target *target, bool verbose, tally *n) {
    world w = {.rng = tc_rng_seed(seed), .g = tc_graph_new("random")};
    grow(&w);
    tc_graph_simplify(w.g);
    tc_graph_tensor in[2], want[MAX_OUT], got[MAX_OUT];
    for (int i = 0; i < 2; i++) {
        assert_ok(tc_graph_tensor_alloc(&in[i], TC_F32, &w.g->inputs.data[i]->shape, err));
        for (int64_t k = 0; k < tc_graph_tensor_count(&in[i]); k++)
            ((float *)in[i].data)[k] = (float)tc_rng_normal(&w.rng);
    }
    assert_ok(tc_graph_eval(w.g, in, want, err));
    tc_graph_program *p = NULL;
    tc_error e;
    assert_ok(tc_graph_passes(w.g, NULL, err));
    bool ok = tc_graph_program_new(w.g, &p, &e) == TC_OK;
    if (!ok)
        print_error("%s\n", e.msg);
    if (verbose)
        explain(&w, p, seed);
    for (int compiled = 0; compiled < 2 && ok; compiled++) {
        tc_status s = compiled ? build_and_run(p, target, in, got, n, &e) : interpret_program(p, in, got, &e);
        if (s != TC_OK)
            print_error("%s\n", e.msg);
        ok = s == TC_OK && all_agree(w.g, got, want, compiled ? "compiled" : "interpreted");
        if (s == TC_OK)
            free_tensors(got, w.g->outputs.len);
    }
    if (!ok) {
        explain(&w, p, seed);
        fail();
    }
    free_tensors(in, 2);
    free_tensors(want, w.g->outputs.len);
    tc_graph_program_free(p);
    tc_graph_free(w.g);
}

static void test_random(void **state) {
    (void)state;
    tc_target *target;
    assert_ok(tc_target_parse("native", &target, err));
    const char *given = getenv("TC_SEED");
    tally n = {0};
    uint64_t graphs = test_some_graphs(GRAPHS);
    if (given)
        run_graph(strtoull(given, NULL, 10), target, true, &n);
    for (uint64_t seed = 1; !given && seed <= graphs; seed++)
        run_graph(seed, target, false, &n);
    print_message("%d models with results in place, %d with pieces\n", n.in_place, n.pieces);
    assert_true(given || ((uint64_t)n.in_place >= graphs / 50 && (uint64_t)n.pieces >= graphs / 20));
    tc_target_free(target);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_random)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
