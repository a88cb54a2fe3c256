/* LSTM, GRU, RNN and TopK against references of dull loops: evaluated, compiled, and from a saved library. */
#include <math.h>

#include "graph/ir/build.h"
#include "graph/lower_common.h"
#include "graph/ops/ops.h"
#include "graph/saved/saved.h"
#include "support/rng.h"

enum { MAX_IN = 8, MAX_OUT = 3 };

typedef struct recurrent {
    tc_graph_op op;
    int gates, directions;
    const char *direction, *functions; /* NULL: left out, "": the default functions */
    int64_t steps, batch, inputs, hidden;
    bool layout, bias, lengths, initial, peepholes, input_forget, linear_before_reset;
    double clip;
} recurrent;

/* ---- reference ---- */

/* Those with parameters have alpha 0.3 and beta 0.4, which are those of the first two of a layer, unless a case says otherwise. */
static double function_of(char name, double x) {
    switch (name) {
    case 's':
        return 1 / (1 + exp(-x));
    case 't':
        return tanh(x);
    case 'r':
        return x > 0 ? x : 0;
    case 'g': /* Softsign */
        return x / (1 + fabs(x));
    case 'p': /* Softplus */
        return log1p(exp(x));
    case 'a': /* Affine */
        return 0.3 * x + 0.4;
    case 'l': /* LeakyRelu */
        return x < 0 ? 0.3 * x : x;
    case 'd': /* ThresholdedRelu */
        return x > 0.3 ? x : 0;
    case 'n': /* ScaledTanh */
        return 0.3 * tanh(0.4 * x);
    case 'e': /* Elu */
        return x < 0 ? 0.3 * (exp(x) - 1) : x;
    case 'H': /* HardSigmoid, alpha 0.2 as where none is given, and beta 0.4 */
        return fmin(1, fmax(0, 0.2 * x + 0.4));
    default: /* HardSigmoid */
        return fmin(1, fmax(0, 0.3 * x + 0.4));
    }
}

static double at(const tc_graph_tensor *t, int64_t i) {
    return t->data ? (double)((const float *)t->data)[i] : 0;
}

static double clip(const recurrent *r, double v) {
    return r->clip > 0 ? fmin(r->clip, fmax(-r->clip, v)) : v;
}

/* The product of row `g` of R (direction d) and h. */
static double product(const recurrent *r, const tc_graph_tensor *in, int d, int64_t g, const double *h) {
    double sum = 0;
    for (int64_t k = 0; k < r->hidden; k++)
        sum += at(&in[2], (d * r->gates * r->hidden + g) * r->hidden + k) * h[k];
    return sum;
}

typedef struct step {
    const recurrent *r;
    const tc_graph_tensor *in;
    int d;
    const double *x, *h, *c; /* state before the step */
    const char *f;
} step;

static double input_part(const step *s, int64_t g) {
    const recurrent *r = s->r;
    int64_t n = r->gates * r->hidden;
    double sum = at(&s->in[3], s->d * 2 * n + g);
    for (int64_t k = 0; k < r->inputs; k++)
        sum += at(&s->in[1], (s->d * n + g) * r->inputs + k) * s->x[k];
    return sum;
}

static double recurrent_bias(const step *s, int64_t g) {
    int64_t n = s->r->gates * s->r->hidden;
    return at(&s->in[3], s->d * 2 * n + n + g);
}

static double whole(const step *s, int64_t g) {
    return input_part(s, g) + recurrent_bias(s, g) + product(s->r, s->in, s->d, g, s->h);
}

static void lstm(const step *s, double *h, double *c) {
    const recurrent *r = s->r;
    int64_t H = r->hidden;
    for (int64_t j = 0; j < H; j++) {
        double p[3];
        for (int k = 0; k < 3; k++)
            p[k] = at(&s->in[7], (s->d * 3 + k) * H + j);
        double i = function_of(s->f[0], clip(r, whole(s, j) + p[0] * s->c[j]));
        double f = r->input_forget ? 1 - i : function_of(s->f[0], clip(r, whole(s, 2 * H + j) + p[2] * s->c[j]));
        c[j] = f * s->c[j] + i * function_of(s->f[1], clip(r, whole(s, 3 * H + j)));
        h[j] = function_of(s->f[0], clip(r, whole(s, H + j) + p[1] * c[j])) * function_of(s->f[2], c[j]);
    }
}

static void gru(const step *s, double *h) {
    const recurrent *r = s->r;
    int64_t H = r->hidden;
    double reset[16], rh[16];
    for (int64_t j = 0; j < H; j++) {
        reset[j] = function_of(s->f[0], clip(r, whole(s, H + j)));
        rh[j] = reset[j] * s->h[j];
    }
    for (int64_t j = 0; j < H; j++) {
        double z = function_of(s->f[0], clip(r, whole(s, j))), b = recurrent_bias(s, 2 * H + j);
        double q = r->linear_before_reset ? reset[j] * (product(r, s->in, s->d, 2 * H + j, s->h) + b)
                                          : product(r, s->in, s->d, 2 * H + j, rh) + b;
        h[j] = (1 - z) * function_of(s->f[1], clip(r, input_part(s, 2 * H + j) + q)) + z * s->h[j];
    }
}

/* One sequence in one direction. */
static void run_sequence(const recurrent *r, const tc_graph_tensor *in, int d, int64_t b, const char *f, tc_graph_tensor *out) {
    int64_t T = r->steps, B = r->batch, D = r->directions, H = r->hidden;
    int64_t length = in[4].data ? ((const int64_t *)in[4].data)[b] : T, at_state = (r->layout ? b * D + d : d * B + b) * H;
    bool backward = d == 1 || (r->direction && r->direction[0] == 'r');
    double h[16], c[16], nh[16], nc[16], x[16];
    for (int64_t j = 0; j < H; j++) {
        h[j] = at(&in[5], at_state + j);
        c[j] = at(&in[6], at_state + j);
    }
    for (int64_t i = 0; i < length; i++) {
        int64_t t = backward ? length - 1 - i : i;
        for (int64_t k = 0; k < r->inputs; k++)
            x[k] = at(&in[0], (r->layout ? b * T + t : t * B + b) * r->inputs + k);
        step s = {r, in, d, x, h, c, f};
        if (r->op == TC_GRAPH_OP_LSTM)
            lstm(&s, nh, nc);
        else if (r->op == TC_GRAPH_OP_GRU)
            gru(&s, nh);
        else
            for (int64_t j = 0; j < H; j++)
                nh[j] = function_of(f[0], clip(r, whole(&s, j)));
        memcpy(h, nh, sizeof h);
        if (r->op == TC_GRAPH_OP_LSTM)
            memcpy(c, nc, sizeof c);
        for (int64_t j = 0; j < H; j++)
            ((float *)out[0].data)[((r->layout ? (b * T + t) * D + d : (t * D + d) * B + b)) * H + j] = (float)h[j];
    }
    for (int64_t j = 0; j < H; j++) {
        ((float *)out[1].data)[at_state + j] = (float)h[j];
        if (r->op == TC_GRAPH_OP_LSTM)
            ((float *)out[2].data)[at_state + j] = (float)c[j];
    }
}

/* ---- cases ---- */

static void random_tensor(tc_graph_tensor *t, tc_graph_shape s, tc_rng *rng) {
    assert_ok(tc_graph_tensor_alloc(t, TC_F32, &s, err));
    for (int64_t i = 0; i < tc_graph_tensor_count(t); i++)
        ((float *)t->data)[i] = (float)(tc_rng_unit(rng) * 2 - 1);
}

static void make_inputs(const recurrent *r, tc_graph_tensor *in) {
    tc_rng rng = tc_rng_seed(7);
    int64_t D = r->directions, B = r->batch, H = r->hidden, n = r->gates * H;
    tc_graph_shape state = {3, {r->layout ? B : D, r->layout ? D : B, H}};
    memset(in, 0, sizeof *in * MAX_IN);
    random_tensor(&in[0], (tc_graph_shape){3, {r->layout ? B : r->steps, r->layout ? r->steps : B, r->inputs}}, &rng);
    random_tensor(&in[1], (tc_graph_shape){3, {D, n, r->inputs}}, &rng);
    random_tensor(&in[2], (tc_graph_shape){3, {D, n, H}}, &rng);
    if (r->bias)
        random_tensor(&in[3], (tc_graph_shape){2, {D, 2 * n}}, &rng);
    if (r->lengths) {
        assert_ok(tc_graph_tensor_alloc(&in[4], TC_I64, &(tc_graph_shape){1, {B}}, err));
        for (int64_t b = 0; b < B; b++)
            ((int64_t *)in[4].data)[b] = (r->steps - b) % (r->steps + 1);
    }
    if (r->initial)
        random_tensor(&in[5], state, &rng);
    if (r->initial && r->op == TC_GRAPH_OP_LSTM)
        random_tensor(&in[6], state, &rng);
    if (r->peepholes)
        random_tensor(&in[7], (tc_graph_shape){2, {D, 3 * H}}, &rng);
}

/* Weights (1, 2, 3, 7) are constants, the rest inputs of the graph. */
static tc_status make_graph(const recurrent *r, const tc_graph_tensor *in, tc_graph *g, tc_graph_node **node, tc_error *err) {
    static const char *const names[] = {"x", "w", "r", "b", "lengths", "h0", "c0", "p"}, *const outs[] = {"y", "yh", "yc"};
    static const float alpha[] = {0.3F, 0.3F}, beta[] = {0.4F, 0.4F};
    tc_graph_value *v[MAX_IN] = {0};
    for (int k = 0; k < MAX_IN; k++) {
        tc_graph_tensor copy = tc_graph_tensor_view(in[k].dtype, &in[k].shape, in[k].data);
        if (in[k].data)
            v[k] = k == 0 || (k >= 4 && k < 7) ? tc_graph_add_input(g, names[k], in[k].dtype, &in[k].shape)
                                               : tc_graph_add_constant(g, names[k], &copy);
    }
    tc_graph_node *n = *node = tc_graph_new_node(g, r->op, "layer", v, MAX_IN);
    if (r->direction)
        tc_graph_set_direction(g, n, r->direction);
    if (r->functions && *r->functions) {
        tc_graph_set_activations(g, n, r->functions);
        tc_graph_set_activation_alpha(g, n, alpha, 2);
        tc_graph_set_activation_beta(g, n, beta, 2);
    }
    tc_graph_set_layout(g, n, r->layout);
    tc_graph_set_input_forget(g, n, r->input_forget);
    tc_graph_set_linear_before_reset(g, n, r->linear_before_reset);
    if (r->clip > 0)
        tc_graph_set_clip(g, n, r->clip);
    int nout = r->op == TC_GRAPH_OP_LSTM ? 3 : 2;
    TC_TRY(tc_graph_append(g, n, outs, nout, err));
    for (int k = 0; k < nout; k++)
        tc_graph_add_output(g, outs[k], tc_graph_find_value(g, outs[k]));
    tc_graph_simplify(g);
    return tc_graph_verify(g, err);
}

static void expect(const tc_graph_tensor *got, const tc_graph_tensor *want, int n, const char *how) {
    for (int k = 0; k < n; k++) {
        tc_graph_diff d;
        assert_ok(tc_graph_tensor_compare(&got[k], &want[k], 0, 0, &d, err));
        if (!(d.rel <= 2e-5))
            fail_msg("%s, output %d: error %g", how, k, d.rel);
    }
}

static void free_all(tc_graph_tensor *t, int n) {
    for (int k = 0; k < n; k++)
        tc_graph_tensor_free(&t[k]);
}

/* By the evaluator, compiled, and from a library. */
static void check_graph(const tc_graph *g, const tc_graph_tensor *in, const tc_graph_tensor *want) {
    int n = (int)g->outputs.len;
    tc_graph_tensor got[MAX_OUT];
    tc_graph_program *p;
    tc_graph_model *m, *loaded;
    tc_target *t;
    assert_ok(tc_graph_eval(g, in, got, err));
    expect(got, want, n, "evaluated");
    free_all(got, n);
    assert_ok(tc_target_parse("native", &t, err));
    assert_ok(tc_graph_program_new(g, &p, err));
    assert_ok(tc_graph_model_build(p, &(tc_graph_build_options){.target = t, .threads = 2}, &m, err));
    assert_ok(tc_graph_model_run(m, in, got, err));
    expect(got, want, n, "compiled");
    free_all(got, n);
    assert_ok(tc_graph_model_save(m, SCRATCH("recurrent.so"), NULL, err));
    assert_ok(tc_graph_model_load(SCRATCH("recurrent.so"), 0, &loaded, err));
    assert_ok(tc_graph_model_run(loaded, in, got, err));
    expect(got, want, n, "library");
    free_all(got, n);
    tc_graph_model_free(loaded);
    tc_graph_model_free(m);
    tc_graph_program_free(p);
    tc_target_free(t);
    remove(SCRATCH("recurrent.so"));
}

/* functions: a letter for each, as function_of knows them, direction by direction. */
static void run_case(recurrent r, const char *functions) {
    r.directions = r.direction && r.direction[0] == 'b' ? 2 : 1;
    r.gates = r.op == TC_GRAPH_OP_LSTM ? 4 : r.op == TC_GRAPH_OP_GRU ? 3 : 1;
    tc_graph_tensor in[MAX_IN], want[MAX_OUT] = {0}, fed[MAX_IN];
    int nfed = 0, nout = r.op == TC_GRAPH_OP_LSTM ? 3 : 2, each = (int)strlen(functions) / r.directions;
    make_inputs(&r, in);
    tc_graph_shape state = {3, {r.layout ? r.batch : r.directions, r.layout ? r.directions : r.batch, r.hidden}};
    tc_graph_shape y = {4, {r.steps, r.directions, r.batch, r.hidden}};
    if (r.layout)
        y = (tc_graph_shape){4, {r.batch, r.steps, r.directions, r.hidden}};
    for (int k = 0; k < nout; k++)
        assert_ok(tc_graph_tensor_alloc(&want[k], TC_F32, k ? &state : &y, err));
    memset(want[0].data, 0, tc_graph_tensor_bytes(&want[0]));
    for (int d = 0; d < r.directions; d++)
        for (int64_t b = 0; b < r.batch; b++)
            run_sequence(&r, in, d, b, functions + d * each, want);
    tc_graph *g = tc_graph_new("test");
    tc_graph_node *n;
    assert_ok(make_graph(&r, in, g, &n, err));
    for (int k = 0; k < MAX_IN; k++)
        if (in[k].data && (k == 0 || (k >= 4 && k < 7)))
            fed[nfed++] = in[k];
    check_graph(g, fed, want);
    tc_graph_free(g);
    free_all(in, MAX_IN);
    free_all(want, nout);
}

#define SIZES .steps = 5, .batch = 3, .inputs = 4, .hidden = 6
#define NO_STEPS .steps = 0, .batch = 3, .inputs = 4, .hidden = 6
#define NO_SEQUENCES .steps = 5, .batch = 0, .inputs = 4, .hidden = 6
#define NO_INPUTS .steps = 5, .batch = 3, .inputs = 0, .hidden = 6
#define NO_UNITS .steps = 5, .batch = 3, .inputs = 4, .hidden = 0

static void test_lstm(void **state) {
    (void)state;
    run_case((recurrent){TC_GRAPH_OP_LSTM, SIZES}, "stt");
    run_case((recurrent){TC_GRAPH_OP_LSTM, SIZES, .direction = "bidirectional", .bias = true, .initial = true, .lengths = true,
                         .peepholes = true},
             "sttstt");
    run_case((recurrent){TC_GRAPH_OP_LSTM, SIZES, .direction = "reverse", .layout = true, .bias = true, .initial = true,
                         .lengths = true, .clip = 0.5, .input_forget = true, .functions = "HardSigmoid,relu,Tanh"},
             "hrt");
}

static void test_gru(void **state) {
    (void)state;
    run_case((recurrent){TC_GRAPH_OP_GRU, SIZES}, "st");
    run_case((recurrent){TC_GRAPH_OP_GRU, SIZES, .direction = "bidirectional", .bias = true, .initial = true, .lengths = true,
                         .linear_before_reset = true, .functions = "Sigmoid,Tanh,Sigmoid,Relu"},
             "stsr");
    run_case((recurrent){TC_GRAPH_OP_GRU, SIZES, .direction = "reverse", .bias = true, .layout = true, .clip = 0.4}, "st");
}

static void test_rnn(void **state) {
    (void)state;
    run_case((recurrent){TC_GRAPH_OP_RNN, SIZES, .bias = true}, "t");
    run_case((recurrent){TC_GRAPH_OP_RNN, SIZES, .direction = "bidirectional", .layout = true, .bias = true, .initial = true,
                         .lengths = true, .functions = "Relu,Tanh"},
             "rt");
}

/* All functions. Parameters belong to the functions that take them, in order; alphas are two, so a third function has its own. */
static void test_functions(void **state) {
    (void)state;
    run_case((recurrent){TC_GRAPH_OP_RNN, SIZES, .direction = "bidirectional", .functions = "Affine,SCALEDTANH"}, "an");
    run_case((recurrent){TC_GRAPH_OP_RNN, SIZES, .direction = "bidirectional", .functions = "Softsign,Softplus"}, "gp");
    run_case((recurrent){TC_GRAPH_OP_GRU, SIZES, .functions = "Relu,ThresholdedRelu"}, "rd");
    run_case((recurrent){TC_GRAPH_OP_LSTM, SIZES, .initial = true, .functions = "LeakyRelu,Elu,HardSigmoid"}, "leH");
}

/* Of nothing there are no results, and the state is what it was. */
static void test_no_steps(void **state) {
    (void)state;
    run_case((recurrent){TC_GRAPH_OP_LSTM, NO_STEPS}, "stt");
    run_case((recurrent){TC_GRAPH_OP_LSTM, NO_STEPS, .direction = "bidirectional", .bias = true, .initial = true, .lengths = true,
                         .peepholes = true},
             "sttstt");
    run_case((recurrent){TC_GRAPH_OP_GRU, NO_STEPS, .direction = "bidirectional", .layout = true, .initial = true}, "stst");
    run_case((recurrent){TC_GRAPH_OP_RNN, NO_STEPS, .direction = "reverse", .bias = true, .initial = true}, "t");
}

static void test_empty_operands(void **state) {
    (void)state;
    run_case((recurrent){TC_GRAPH_OP_LSTM, NO_SEQUENCES, .direction = "bidirectional", .bias = true, .initial = true,
                         .lengths = true, .peepholes = true},
             "sttstt");
    run_case((recurrent){TC_GRAPH_OP_GRU, NO_SEQUENCES, .layout = true}, "st");
    run_case((recurrent){TC_GRAPH_OP_RNN, NO_SEQUENCES}, "t");
    run_case((recurrent){TC_GRAPH_OP_LSTM, NO_INPUTS, .bias = true}, "stt");
    run_case((recurrent){TC_GRAPH_OP_GRU, NO_UNITS, .bias = true, .initial = true}, "st");
}

/* Steps share their kernels: their number does not depend on the length. Long ones stay quick to import. */
static void test_steps_share_kernels(void **state) {
    (void)state;
    int ntask[2];
    for (int k = 0; k < 2; k++) {
        recurrent r = {
            TC_GRAPH_OP_LSTM, .gates = 4,  .directions = 2, .direction = "bidirectional", .steps = k ? 512 : 256, .batch = 1,
            .inputs = 4,      .hidden = 6, .bias = true};
        tc_graph_tensor in[MAX_IN];
        tc_graph *g = tc_graph_new("test");
        tc_graph_node *n;
        tc_graph_program *p;
        const tc_tune_task *tasks;
        make_inputs(&r, in);
        assert_ok(make_graph(&r, in, g, &n, err));
        assert_ok(tc_graph_program_new(g, &p, err));
        ntask[k] = tc_graph_program_tasks(p, &tasks);
        tc_graph_program_free(p);
        tc_graph_free(g);
        free_all(in, MAX_IN);
    }
    assert_true(ntask[0] < 32 && ntask[1] < 32);
}

/* ---- refusals ---- */

static void expect_refusal(const tc_graph_tensor *in, int nin, tc_graph_attr_id attr, int64_t value, const char *text,
                           const char *message) {
    tc_graph *g = tc_graph_new("test");
    tc_graph_value *v[MAX_IN] = {0};
    for (int k = 0; k < nin; k++) {
        tc_graph_tensor copy = tc_graph_tensor_view(in[k].dtype, &in[k].shape, in[k].data);
        if (in[k].data)
            v[k] = tc_graph_add_constant(g, "v", &copy);
    }
    tc_graph_node *n = tc_graph_new_node(g, TC_GRAPH_OP_LSTM, "layer", v, nin);
    if (text)
        tc_graph_set_str(g, n, attr, text);
    else if (attr)
        tc_graph_set_int(g, n, attr, value);
    const char *outs[] = {"y"};
    assert_fails(TC_BAD_INPUT, tc_graph_append(g, n, outs, 1, err), "node 'layer' (LSTM)", message);
    tc_graph_free(g);
}

static void test_refusals(void **state) {
    (void)state;
    recurrent r = {TC_GRAPH_OP_LSTM, SIZES, .gates = 4, .directions = 1, .lengths = true, .bias = true};
    tc_graph_tensor in[MAX_IN];
    make_inputs(&r, in);
    expect_refusal(in, 5, TC_ATTR_hidden_size, 7, NULL, "hidden_size is 7, but input 2 (R) is made for 6");
    expect_refusal(in, 5, TC_ATTR_direction, 0, "sideways", "direction is 'sideways'");
    expect_refusal(in, 5, TC_ATTR_direction, 0, "bidirectional", "must be f32[2,24,4], but is f32[1,24,4]");
    expect_refusal(in, 5, TC_ATTR_activations, 0, "Sigmoid,Sine,Tanh", "'Sine' is not a known function");
    expect_refusal(in, 5, TC_ATTR_activations, 0, "Sigmoid,Tanh", "activations must name 3 functions");
    expect_refusal(in, 5, TC_ATTR_layout, 1, NULL, "input 4 (sequence_lens)");
    in[1].shape.ndim = 2;
    expect_refusal(in, 5, TC_ATTR_none, 0, NULL, "inputs 0 (X), 1 (W) and 2 (R) must have 3 dimensions");
    in[1].shape.ndim = 3;
    ((int64_t *)in[4].data)[1] = 6;
    expect_refusal(in, 5, TC_ATTR_none, 0, NULL, "element 1 is 6, but X has 5 steps");
    free_all(in, MAX_IN);
}

/* ---- TopK ---- */

static tc_status top_k(tc_graph *g, const tc_graph_shape *s, int64_t axis, int64_t k, bool largest, tc_error *err) {
    static const char *const outs[] = {"values", "indices"};
    tc_graph_tensor count = I64(DIMS(1), k);
    tc_graph_value *v[] = {tc_graph_add_input(g, "x", TC_F32, s), tc_graph_add_constant(g, "k", &count)};
    tc_graph_node *n = tc_graph_new_node(g, TC_GRAPH_OP_TOP_K, "top", v, 2);
    tc_graph_set_axis(g, n, axis);
    tc_graph_set_largest(g, n, largest);
    TC_TRY(tc_graph_append(g, n, outs, 2, err));
    for (int i = 0; i < 2; i++)
        tc_graph_add_output(g, outs[i], tc_graph_find_value(g, outs[i]));
    tc_graph_simplify(g);
    return TC_OK;
}

/* Ties keep their order; NaN is the largest. */
static void test_top_k(void **state) {
    (void)state;
    const tc_graph_tensor x = F32(DIMS(2, 5), 1, 3, 3, -1, NAN, 2, 2, 2, INFINITY, 0);
    const int64_t *index = (const int64_t[]){4, 1, 2, 3, 0, 1}, *least = (const int64_t[]){0, 1, 1, 0, 1};
    for (int axis = 0; axis < 2; axis++) {
        int64_t k = axis ? 3 : 1;
        tc_graph_shape s = {2, {axis ? 2 : 1, axis ? 3 : 5}};
        tc_graph *g = tc_graph_new("test");
        assert_ok(top_k(g, &x.shape, axis - 2, k, axis == 1, err));
        float values[6];
        for (int i = 0; i < (axis ? 6 : 5); i++)
            values[i] = ((const float *)x.data)[axis ? (i / 3) * 5 + index[i] : least[i] * 5 + i];
        tc_graph_tensor want[] = {f32_tensor(s, values), i64_tensor(s, axis ? index : least)};
        check_graph(g, &x, want);
        tc_graph_free(g);
    }
}

static void test_top_k_refusals(void **state) {
    (void)state;
    tc_graph_shape s = DIMS(2, 5);
    const struct {
        int64_t axis, k;
        const char *message;
    } cases[] = {{1, 6, "K is 6"}, {1, -1, "K is -1"}, {2, 1, "axis 2 is outside"}};
    for (size_t i = 0; i < TC_LEN(cases); i++) {
        tc_graph *g = tc_graph_new("test");
        assert_fails(TC_BAD_INPUT, top_k(g, &s, cases[i].axis, cases[i].k, true, err), "node 'top' (TopK)", cases[i].message);
        tc_graph_free(g);
    }
}

/* A concatenation of many parts is one kernel. */
static void test_wide_concat(void **state) {
    (void)state;
    enum { PARTS = 40 };
    tc_graph *g = tc_graph_new("test");
    tc_graph_shape s = DIMS(3, 2);
    tc_graph_value *x = tc_graph_add_input(g, "x", TC_F32, &s), *parts[PARTS];
    for (int k = 0; k < PARTS; k++)
        parts[k] = x;
    tc_graph_node *n = tc_graph_new_node(g, TC_GRAPH_OP_CONCAT, "concat", parts, PARTS);
    const char *outs[] = {"y"};
    tc_graph_set_axis(g, n, 0);
    assert_ok(tc_graph_append(g, n, outs, 1, err));
    tc_graph_add_output(g, "y", tc_graph_find_value(g, "y"));
    float values[PARTS * 6];
    for (int i = 0; i < PARTS * 6; i++)
        values[i] = (float)(i % 6);
    tc_graph_tensor in = f32_tensor(s, values), want = f32_tensor((tc_graph_shape){2, {PARTS * 3, 2}}, values);
    check_graph(g, &in, &want);
    tc_graph_free(g);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lstm),
        cmocka_unit_test(test_gru),
        cmocka_unit_test(test_rnn),
        cmocka_unit_test(test_functions),
        cmocka_unit_test(test_no_steps),
        cmocka_unit_test(test_empty_operands),
        cmocka_unit_test(test_steps_share_kernels),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_top_k),
        cmocka_unit_test(test_top_k_refusals),
        cmocka_unit_test(test_wide_concat),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
