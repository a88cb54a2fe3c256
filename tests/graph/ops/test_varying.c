/* Operators on operands whose sizes vary: one graph, and one program built of it, gives at each size what the graph made for that
 * size gives. And of every operator that refuses such operands, the reason. */
#include "graph/graph_test.h"
#include "graph/ir/sizes.h"
#include "graph/model/model.h"
#include "graph/onnx/import.h"
#include "graph/ops/functions.h"
#include "graph/passes/pass.h"

#include <math.h>

enum { MAX_INPUTS = 10, MAX_SYMBOLS = 3, MAX_OUTPUTS = 4 };

/* An operand: one whose dimensions are all numbers is a constant. "n,m*3" is the input [n,m] three times, beside each other.
 * Integers are below `most`; a single float is a scale; of floats with a `most`, two of three are minus infinity, and one of 20 is
 * infinity. "=-1,6" are the numbers themselves. "@1,0,-1" are sizes of the input of operand 0, and -1. "!1" is an input
 * whose sizes do not vary. */
typedef struct operand {
    const char *dims;
    tc_dtype dtype;
    int64_t most;
} operand;

typedef struct row {
    const char *op, *attributes, *symbols[MAX_SYMBOLS]; /* "axis=1 mode=edge pads=0,1"; "n=1..4" */
    operand in[MAX_INPUTS];                             /* dims NULL: left out */
    int nout;
} row;

/* ---- one model ---- */

static uint64_t state_of_draw;

static int64_t drawn(int64_t below) {
    state_of_draw = state_of_draw * 6364136223846793005u + 1442695040888963407u;
    return (int64_t)((state_of_draw >> 33) % (uint64_t)below);
}

static void fill(const operand *o, const tc_graph_shape *s, tc_graph_tensor *t) {
    tc_error e = {0};
    assert_int_equal(tc_graph_tensor_alloc(t, o->dtype, s, &e), TC_OK);
    for (int64_t i = 0; i < tc_graph_shape_count(s); i++)
        if (tc_dtype_is_float(o->dtype) && o->most && drawn(3))
            tc_store_f(o->dtype, t->data, i, drawn(20) ? -INFINITY : INFINITY);
        else if (tc_dtype_is_float(o->dtype))
            tc_store_f(o->dtype, t->data, i, s->ndim ? (double)drawn(2000) / 500 - 1.999 : 0.01 * (double)(1 + drawn(9)));
        else
            tc_store_i(o->dtype, t->data, i, drawn(o->most));
}

static bool is_numbers(const operand *o) {
    return *o->dims == '=' || *o->dims == '@';
}

static bool is_constant(const operand *o) {
    return strspn(o->dims, "0123456789,") == strlen(o->dims) || is_numbers(o);
}

static tc_graph_shape shape_of(const char *dims) {
    tc_graph_shape s = {0};
    for (const char *p = dims; *p; p += *p == ',') {
        char *end;
        s.d[s.ndim++] = strtoll(p, &end, 10);
        p = end;
    }
    return s;
}

static void add_attribute(tc_graph_writer *w, char *text) {
    static const char *const lists[] = {"axes", "dilations", "kernel_shape", "output_padding", "strides"};
    char *value = strchr(text, '=');
    *value++ = 0;
    bool list = strchr(value, ',') && strspn(value, "-0123456789,") == strlen(value);
    for (size_t i = 0; i < TC_LEN(lists); i++)
        list |= strcmp(text, lists[i]) == 0;
    if (list)
        tc_graph_writer_ints(w, text, value);
    else if (strchr(value, '.'))
        tc_graph_writer_float(w, text, strtof(value, NULL));
    else if (*value == '-' || (*value >= '0' && *value <= '9'))
        tc_graph_writer_int(w, text, strtoll(value, NULL, 10));
    else
        tc_graph_writer_str(w, text, value);
}

/* x * x / x, which is no number past the sizes, where a run has zeros. */
static void add_operand(tc_graph_writer *w, const char *name, const operand *o) {
    char given[24], square[24], once[24], all[128] = "", dims[32];
    const char *times = strchr(o->dims, '*'), *first = o->dims + (*o->dims == '!');
    snprintf(given, sizeof given, "%s.in", name);
    snprintf(square, sizeof square, "%s.sq", name);
    snprintf(once, sizeof once, "%s%s", name, times ? ".once" : "");
    snprintf(dims, sizeof dims, "%.*s", (int)strcspn(first, "*"), first);
    if (!tc_dtype_is_float(o->dtype)) {
        tc_graph_writer_input(w, name, o->dtype, dims);
        return;
    }
    tc_graph_writer_input(w, given, o->dtype, dims);
    snprintf(all, sizeof all, "%s,%s", given, given);
    tc_graph_writer_node(w, "Mul", "", all, square);
    snprintf(all, sizeof all, "%s,%s", square, given);
    tc_graph_writer_node(w, "Div", "", all, once);
    if (!times)
        return;
    char *end = all;
    for (int64_t i = strtoll(times + 1, NULL, 10); i > 0; i--)
        end += sprintf(end, "%s%s", once, i > 1 ? "," : "");
    tc_graph_writer_node(w, "Concat", "", all, name);
    tc_graph_writer_int(w, "axis", -1);
}

static void add_numbers(tc_graph_writer *w, const char *name, const char *numbers) {
    tc_graph_shape v = shape_of(numbers + 1);
    tc_graph_tensor t;
    tc_error e = {0};
    char places[24], both[40];
    assert_int_equal(tc_graph_tensor_alloc(&t, TC_I64, &(tc_graph_shape){1, {v.ndim}}, &e), TC_OK);
    for (int i = 0; i < v.ndim; i++)
        tc_store_i(TC_I64, t.data, i, v.d[i]);
    snprintf(places, sizeof places, "%s.at", name);
    tc_graph_writer_weight(w, *numbers == '@' ? places : name, t);
    if (*numbers == '=')
        return;
    assert_int_equal(tc_graph_tensor_alloc(&t, TC_I64, &(tc_graph_shape){1, {1}}, &e), TC_OK);
    tc_store_i(TC_I64, t.data, 0, -1);
    tc_graph_writer_weight(w, "open", t);
    tc_graph_writer_node(w, "Shape", "", "x0.in", "shape");
    tc_graph_writer_node(w, "Concat", "", "shape,open", "sizes"); /* so index -1 is -1 */
    tc_graph_writer_int(w, "axis", 0);
    snprintf(both, sizeof both, "sizes,%s", places);
    tc_graph_writer_node(w, "Gather", "", both, name);
}

static tc_graph_writer *model_of(const row *r) {
    static const char *const outputs[] = {"", "y", "y,y1", "y,y1,y2", "y,y1,y2,y3"};
    const char *dot = strrchr(r->op, '.');
    tc_graph_op op;
    bool is_new = !dot && tc_graph_op_find(r->op, &op) && tc_graph_op_info_of(op)->since > 17;
    tc_graph_writer *w = tc_graph_writer_new("varying", is_new                        ? tc_graph_op_info_of(op)->since
                                                        : strcmp(r->op, "Split") == 0 ? 18
                                                                                      : 17);
    char inputs[128] = "", *at = inputs, attributes[256], *save = NULL;
    for (int k = 0; k < MAX_INPUTS; k++) {
        char name[16];
        snprintf(name, sizeof name, "x%d", k);
        at += sprintf(at, "%s%s", k ? "," : "", r->in[k].dims ? name : "");
        if (!r->in[k].dims)
            continue;
        if (is_numbers(&r->in[k])) {
            add_numbers(w, name, r->in[k].dims);
        } else if (is_constant(&r->in[k])) {
            tc_graph_tensor t;
            tc_graph_shape s = shape_of(r->in[k].dims);
            fill(&r->in[k], &s, &t);
            tc_graph_writer_weight(w, name, t);
        } else {
            add_operand(w, name, &r->in[k]);
        }
    }
    while (at > inputs && at[-1] == ',')
        *--at = 0;
    for (int k = 0; k < r->nout; k++)
        tc_graph_writer_output(w, (const char *[]){"y", "y1", "y2", "y3"}[k], TC_F32, NULL);
    tc_graph_writer_node(w, dot ? dot + 1 : r->op, "node", inputs, outputs[r->nout]);
    if (dot)
        tc_graph_writer_domain(w, "com.microsoft");
    snprintf(attributes, sizeof attributes, "%s", r->attributes);
    for (char *a = strtok_r(attributes, " ", &save); a; a = strtok_r(NULL, " ", &save))
        add_attribute(w, a);
    return w;
}

static void save_model(const row *r) {
    tc_error e = {0};
    state_of_draw = 1;
    tc_graph_writer *w = model_of(r);
    assert_int_equal(tc_graph_writer_save(w, SCRATCH("varying.onnx"), &e), TC_OK);
    tc_graph_writer_free(w);
}

static tc_graph *graph_of(const row *r, const tc_graph_binding *dims, size_t n) {
    tc_graph *g = NULL;
    tc_error e = {0};
    if (tc_graph_import(SCRATCH("varying.onnx"), &(tc_graph_import_options){.shapes = dims, .nshapes = n}, &g, &e) != TC_OK)
        fail_msg("%s: %s", r->op, e.msg);
    return g;
}

/* ---- at every size ---- */

/* Of values about 1: kernels sum in an order of their own. */
static const double evaluated = 1e-5, built = 1e-4;

static void expect_equal(const row *r, const tc_graph_tensor *got, const tc_graph_tensor *want, double tolerance,
                         const char *at) {
    if (got->dtype != want->dtype || !tc_graph_shape_equal(&got->shape, &want->shape))
        fail_msg("%s at %s: another type or shape", r->op, at);
    for (int64_t i = 0, n = tc_graph_tensor_count(want); i < n; i++) {
        bool is_float = tc_dtype_is_float(want->dtype);
        double a = is_float ? tc_load_f(got->dtype, got->data, i) : (double)tc_load_i(got->dtype, got->data, i);
        double b = is_float ? tc_load_f(want->dtype, want->data, i) : (double)tc_load_i(want->dtype, want->data, i);
        double most = is_float ? tolerance * fmax(1, fabs(b)) : 0;
        double off = is_float
                         ? fabs(a - b)
                         : tc_distance_i(want->dtype, tc_load_i(got->dtype, got->data, i), tc_load_i(want->dtype, want->data, i));
        bool same = is_float && (a == b || (isnan(a) && isnan(b))); /* infinities, too */
        if (!(off <= most) && !same)
            fail_msg("%s at %s: element %lld is %g, but %g is wanted", r->op, at, (long long)i, a, b);
    }
}

/* The model with ranges of sizes: as it is evaluated, and as it is built. */
typedef struct varying {
    tc_graph *graph, *passed;
    tc_graph_program *program;
    tc_graph_model *built;
} varying;

static void expect_results(const row *r, const char *what, tc_status status, const tc_error *e, tc_graph_tensor *got,
                           const tc_graph_tensor *want, double tolerance, const char *at) {
    if (status != TC_OK)
        fail_msg("%s %s at %s: %s", r->op, what, at, e->msg);
    for (int k = 0; k < r->nout; k++) {
        expect_equal(r, &got[k], &want[k], tolerance, at);
        tc_graph_tensor_free(&got[k]);
    }
}

static void expect_same(const row *r, const varying *v, const tc_graph_binding *sizes, size_t n) {
    tc_graph *fixed = graph_of(r, sizes, n);
    tc_graph_tensor in[MAX_INPUTS], got[MAX_OUTPUTS], want[MAX_OUTPUTS];
    tc_error e = {0};
    char at[96] = "", *p = at;
    for (size_t i = 0; i < n; i++)
        p += sprintf(p, "%s%s=%lld", i ? ", " : "", sizes[i].name, (long long)sizes[i].d[0].least);
    for (size_t i = 0, k = 0; i < fixed->inputs.len; i++, k++) {
        while (!r->in[k].dims || is_constant(&r->in[k]))
            k++;
        fill(&r->in[k], &fixed->inputs.data[i]->shape, &in[i]);
    }
    assert_int_equal(tc_graph_eval(fixed, in, want, &e), TC_OK);
    tc_status s = tc_graph_eval(v->graph, in, got, &e);
    expect_results(r, "evaluated", s, &e, got, want, evaluated, at);
    s = tc_graph_model_run(v->built, in, got, &e);
    expect_results(r, "built", s, &e, got, want, built, at);
    for (int k = 0; k < r->nout; k++)
        tc_graph_tensor_free(&want[k]);
    for (size_t i = 0; i < fixed->inputs.len; i++)
        tc_graph_tensor_free(&in[i]);
    tc_graph_free(fixed);
}

static varying open_varying(const row *r, const tc_graph_binding *ranges, size_t n, const tc_target *target) {
    varying v = {.graph = graph_of(r, ranges, n), .passed = graph_of(r, ranges, n)};
    tc_error e = {0};
    tc_graph_build_options o = {.target = target, .threads = 1};
    tc_graph_pass_options passes = {.level = 2};
    if (tc_graph_passes(v.passed, &passes, &e) != TC_OK || tc_graph_program_new(v.passed, &v.program, &e) != TC_OK ||
        tc_graph_model_build(v.program, &o, &v.built, &e) != TC_OK)
        fail_msg("%s: %s", r->op, e.msg);
    return v;
}

static void close_varying(varying *v) {
    tc_graph_model_free(v->built);
    tc_graph_program_free(v->program);
    tc_graph_free(v->passed);
    tc_graph_free(v->graph);
}

static void expect_all_sizes(const row *r, const tc_target *target) {
    tc_graph_binding range[MAX_SYMBOLS], one[MAX_SYMBOLS];
    tc_error e = {0};
    size_t n = 0;
    for (; n < MAX_SYMBOLS && r->symbols[n]; n++) {
        assert_int_equal(tc_graph_binding_parse(r->symbols[n], &range[n], &e), TC_OK);
        one[n] = range[n];
        one[n].d[0].most = one[n].d[0].least;
    }
    save_model(r);
    varying v = open_varying(r, range, n, target);
    for (size_t i = 0; i < n;) { /* counts up */
        expect_same(r, &v, one, n);
        for (i = 0; i < n; i++) {
            one[i].d[0].least = one[i].d[0].most = one[i].d[0].least + range[i].d[0].multiple;
            if (one[i].d[0].least <= range[i].d[0].most)
                break;
            one[i].d[0].least = one[i].d[0].most = range[i].d[0].least;
        }
    }
    close_varying(&v);
    for (size_t i = 0; i < n; i++)
        free((char *)(uintptr_t)range[i].name);
}

/* clang-format off */
static const row rows[] = {
    {"Add", "", {"n=1..4", "m=1..3"}, {{"n,m", TC_F32, 0}, {"m", TC_F32, 0}}, 1},
    {"MatMul", "", {"b=1..3", "n=1..4", "k=1..3"}, {{"b,2,n,k", TC_F32, 0}, {"b,1,k,5", TC_F32, 0}}, 1},
    {"Gemm", "transA=1", {"n=1..4", "k=1..3"}, {{"k,n", TC_F32, 0}, {"k,3", TC_F32, 0}, {"n,1", TC_F32, 0}}, 1},
    {"Concat", "axis=1", {"n=0..3", "m=1..3", "b=1..2"}, {{"b,n,2", TC_F32, 0}, {"b,m,2", TC_F32, 0}}, 1},
    {"Softmax", "axis=1", {"n=1..4", "m=1..3"}, {{"n,m,2", TC_F32, 0}}, 1},
    {"ArgMax", "axis=0 keepdims=0", {"n=1..4"}, {{"n,3", TC_F32, 0}}, 1},
    {"ArgMin", "axis=1 select_last_index=1", {"n=1..4", "m=1..3"}, {{"n,m,2", TC_F32, 0}}, 1},
    {"CumSum", "", {"n=1..4", "m=1..3"}, {{"m,n", TC_F32, 0}, {"=1", TC_I64, 0}}, 1},
    {"CumSum", "reverse=1 exclusive=1", {"n=63..67", "m=1..3"}, {{"n,m", TC_F32, 0}, {"=0", TC_I64, 0}}, 1},
    {"Reshape", "", {"n=1..4", "m=0..3"}, {{"n,m,6", TC_F32, 0}, {"=-1,6", TC_I64, 0}}, 1},
    {"Reshape", "", {"n=0..3", "m=1..3", "k=1..3"}, {{"n,m,2,k", TC_F32, 0}, {"=-1", TC_I64, 0}}, 1},
    {"Reshape", "", {"n=1..3", "m=1..4"}, {{"n,m,6", TC_F32, 0}, {"@1,0,2", TC_I64, 0}}, 1},
    {"Reshape", "", {"n=1..3", "m=1..4"}, {{"2,n,m,4", TC_F32, 0}, {"@2,0,3,1", TC_I64, 0}}, 1},
    {"Reshape", "", {"b=1..2", "n=1..4"}, {{"b,n,6", TC_F32, 0}, {"@0,1,-1", TC_I64, 0}}, 1},
    {"Reshape", "", {"b=1..3", "n=0..4"}, {{"b,n,6", TC_F32, 0}, {"=0,-1,3", TC_I64, 0}}, 1},
    {"Reshape", "", {"b=1..3", "n=0..4"}, {{"b,2,n,6", TC_F32, 0}, {"@0,1,-1", TC_I64, 0}}, 1},
    {"Reshape", "", {"b=1..2", "n=1..4"}, {{"b,n,4,2", TC_F32, 0}, {"@0,-1,2,3", TC_I64, 0}}, 1},
    {"Reshape", "", {"b=1..2", "n=1..4"}, {{"b,n*6", TC_F32, 0}, {"@0,1,-1", TC_I64, 0}}, 1},
    {"Reshape", "", {"b=1..2", "n=1..4"}, {{"b,n*6", TC_F32, 0}, {"@-1,1", TC_I64, 0}}, 1},
    {"Reshape", "", {"b=1..3", "n=1..3"}, {{"b,2,n*3", TC_F32, 0}, {"@2,-1,0", TC_I64, 0}}, 1},
    {"Reshape", "", {"n=1..4"}, {{"3,n*4", TC_F32, 0}, {"@1,-1", TC_I64, 0}}, 1},
    {"Reshape", "", {"n=1..4", "m=1..4"}, {{"n,m", TC_F32, 0}, {"@1,0", TC_I64, 0}}, 1},
    {"Reshape", "", {"n=1..2", "m=0..3", "k=1..3"}, {{"2,n,m,k", TC_F32, 0}, {"@0,3,2,1", TC_I64, 0}}, 1},
    {"Reshape", "", {"n=1..3", "m=1..3"}, {{"n,2,m,1,2,1,1,3", TC_F32, 0}, {"@2,1,3,0,4,5,6,7", TC_I64, 0}}, 1},
    {"LayerNormalization", "", {"n=1..4", "m=1..3"}, {{"n,m,6", TC_F32, 0}, {"6", TC_F32, 0}, {"6", TC_F32, 0}}, 1},
    {"LayerNormalization", "axis=1", {"n=1..4", "m=1..5"}, {{"2,n,m", TC_F64, 0}, {"n,m", TC_F64, 0}, {"n,m", TC_F64, 0}}, 3},
    {"ReduceLogSumExp", "axes=1", {"n=1..4", "m=1..4"}, {{"n,m", TC_F32, 1}}, 1},
    {"ReduceLogSumExp", "axes=0,2", {"n=1..3", "m=1..3"}, {{"n,m,2", TC_F64, 1}}, 1},
    {"LogSoftmax", "axis=1", {"n=1..4", "m=1..4"}, {{"n,m", TC_F32, 1}}, 1},
    {"ReduceMean", "axes=1,2", {"n=1..4", "m=1..3", "k=1..3"}, {{"n,m,k", TC_F32, 0}}, 1},
    {"ReduceMean", "axes=1,2", {"n=1..4", "m=1..3", "k=1..3"}, {{"n,m,k", TC_I32, INT32_MAX}}, 1},
    {"ReduceMean", "axes=0", {"n=1..4", "m=1..3"}, {{"n,m", TC_I64, INT32_MAX}}, 1},
    {"Conv", "pads=1,1,1,1", {"b=1..3"}, {{"b,2,4,4", TC_F32, 0}, {"3,2,3,3", TC_F32, 0}, {"3", TC_F32, 0}}, 1},
    {"LRN", "size=3", {"b=1..3"}, {{"b,4,2,3", TC_F32, 0}}, 1},
    {"LRN", "size=4", {"b=1..2", "h=1..3", "w=1..3"}, {{"b,5,h,w", TC_F32, 0}}, 1},
    {"MatMul", "", {"n=1..3", "k=1..3"}, {{"n,k", TC_F32, 0}, {"k", TC_F32, 0}}, 1},
    {"MatMul", "", {"b=1..2", "k=1..3"}, {{"k", TC_F32, 0}, {"b,k,3", TC_F32, 0}}, 1},
    {"Einsum", "equation=bhij,bhkj->bihk", {"b=1..2", "i=1..3", "k=1..3"}, {{"b,2,i,3", TC_F32, 0}, {"b,2,k,3", TC_F32, 0}}, 1},
    {"Einsum", "equation=abi,cbi->aci", {"a=1..3", "b=1..3", "i=1..3"}, {{"a,b,i", TC_F32, 0}, {"2,b,i", TC_F32, 0}}, 1},
    {"DepthToSpace", "blocksize=2", {"b=1..2", "h=1..3", "w=1..3"}, {{"b,8,h,w", TC_F32, 0}}, 1},
    {"MeanVarianceNormalization", "axes=0,2,3", {"b=1..3"}, {{"b,4,2,3", TC_F32, 0}}, 1},
    {"GlobalLpPool", "p=2", {"b=1..3", "h=1..4"}, {{"b,4,h,3", TC_F32, 0}}, 1},
    {"LpPool", "kernel_shape=2,2", {"b=1..3"}, {{"b,4,3,3", TC_F32, 0}}, 1},
    {"Conv", "pads=1,0,1,2 strides=2,1 dilations=1,2", {"b=1..2", "h=3..9", "w=4..7"},
     {{"b,2,h,w", TC_F32, 0}, {"3,2,3,2", TC_F32, 0}, {"3", TC_F32, 0}}, 1},
    {"Conv", "auto_pad=SAME_UPPER", {"h=1..6"}, {{"1,2,h,3", TC_F32, 0}, {"3,2,3,2", TC_F32, 0}}, 1},
    {"ConvTranspose", "pads=1,0,0,1 strides=2,3 output_padding=1,0", {"b=1..2", "h=2..5", "w=1..4"},
     {{"b,2,h,w", TC_F32, 0}, {"2,3,3,2", TC_F32, 0}, {"3", TC_F32, 0}}, 1},
    {"ConvTranspose", "strides=2,2 auto_pad=SAME_LOWER", {"h=2..5"}, {{"1,2,h,3", TC_F32, 0}, {"2,3,3,3", TC_F32, 0}}, 1},
    /* sizes of the weights */
    {"Conv", "pads=1,2 strides=2 dilations=2", {"n=6..9", "k=1..4"}, {{"2,2,n", TC_F32, 0}, {"3,2,k", TC_F32, 0}, {"3", TC_F32, 0}}, 1},
    {"Conv", "pads=1,0,0,2", {"b=1..2", "k=1..3", "h=3..5"}, {{"b,2,h,5", TC_F32, 0}, {"3,2,k,2", TC_F32, 0}}, 1},
    {"Conv", "", {"k=1..3", "c=1..3", "m=1..2"}, {{"2,c,4", TC_F32, 0}, {"m,c,k", TC_F32, 0}, {"m", TC_F32, 0}}, 1},
    {"Conv", "group=2", {"k=1..3", "l=1..2"}, {{"1,4,4,3", TC_F32, 0}, {"6,2,k,l", TC_F32, 0}}, 1},
    {"Conv", "auto_pad=SAME_UPPER strides=2,1", {"k=1..4", "h=1..4"}, {{"1,2,h,3", TC_F32, 0}, {"3,2,k,2", TC_F32, 0}}, 1},
    {"Conv", "kernel_shape=2,3", {"k=1..4"}, {{"1,2,4,5", TC_F32, 0}, {"k,2,2,3", TC_F32, 0}}, 1},
    {"Conv", "auto_pad=SAME_LOWER", {"k=1..4"}, {{"1,2,3", TC_F32, 0}, {"3,2,k", TC_F32, 0}}, 1},
    {"ConvTranspose", "strides=2 pads=1,0 output_padding=1 dilations=2", {"n=2..4", "k=1..3"},
     {{"2,2,n", TC_F32, 0}, {"2,3,k", TC_F32, 0}, {"3", TC_F32, 0}}, 1},
    {"ConvTranspose", "group=2 strides=1,3", {"k=1..3", "h=1..3"}, {{"1,4,h,2", TC_F32, 0}, {"4,3,k,2", TC_F32, 0}}, 1},
    {"ConvTranspose", "auto_pad=SAME_UPPER strides=2", {"k=2..4", "b=1..2"}, {{"b,2,3", TC_F32, 0}, {"2,3,k", TC_F32, 0}}, 1},
    {"ConvTranspose", "auto_pad=SAME_LOWER strides=2,2 output_shape=5,4", {"h=2..3", "w=1..2"},
     {{"1,2,h,w", TC_F32, 0}, {"2,3,3,3", TC_F32, 0}, {"3", TC_F32, 0}}, 1},
    {"MaxPool", "kernel_shape=3,2 pads=1,1,1,0 strides=2,1", {"b=1..2", "h=1..7", "w=1..4"}, {{"b,2,h,w", TC_F32, 0}}, 1},
    {"AveragePool", "kernel_shape=3,2 pads=1,1,0,0 strides=2,1", {"h=2..7", "w=1..4"}, {{"1,2,h,w", TC_F32, 0}}, 1},
    {"AveragePool", "kernel_shape=3,2 pads=1,1,1,1 count_include_pad=1", {"h=1..7", "w=1..4"}, {{"1,2,h,w", TC_F32, 0}}, 1},
    {"GlobalAveragePool", "", {"b=1..2", "h=1..4", "w=1..4"}, {{"b,2,h,w", TC_F32, 0}}, 1},
    {"GlobalAveragePool", "", {"c=1..3", "h=1..4"}, {{"1,c,h,3", TC_F32, 0}}, 1},
    {"AveragePool", "kernel_shape=3,2 pads=1,1,1,1 strides=2,1", {"c=1..3", "h=1..7", "w=1..4"}, {{"1,c,h,w", TC_F32, 0}}, 1},
    {"AveragePool", "kernel_shape=3,2 auto_pad=SAME_UPPER", {"h=1..5", "w=1..4"}, {{"1,2,h,w", TC_F32, 0}}, 1},
    {"MaxPool", "kernel_shape=3,2 strides=2,3 ceil_mode=1", {"b=1..2", "h=3..9", "w=2..8"}, {{"b,2,h,w", TC_F32, 0}}, 1},
    {"MaxPool", "kernel_shape=2,3 pads=0,0,1,2 strides=3,2 dilations=2,1 ceil_mode=1", {"h=2..9", "w=1..6"},
     {{"1,2,h,w", TC_F32, 0}}, 1},
    {"MaxPool", "kernel_shape=3,2 strides=4,1 ceil_mode=1", {"h=3..11"}, {{"2,2,h,5", TC_U8, 200}}, 1},
    {"MaxPool", "kernel_shape=3,2 strides=2,3 auto_pad=SAME_UPPER", {"b=1..2", "h=1..6", "w=1..7"}, {{"b,2,h,w", TC_F32, 0}}, 1},
    {"MaxPool", "kernel_shape=4,5 strides=2,3 auto_pad=SAME_LOWER", {"h=1..6", "w=1..7"}, {{"1,2,h,w", TC_I8, 100}}, 1},
    {"MaxPool", "kernel_shape=3,2 strides=2,1 pads=1,0,0,1", {"b=1..2", "c=1..3", "h=2..6"}, {{"b,c,h,4", TC_F32, 0}}, 2},
    {"MaxPool", "kernel_shape=2,3 strides=1,2 storage_order=1 ceil_mode=1", {"h=2..5", "w=3..7"}, {{"2,2,h,w", TC_F32, 0}}, 2},
    {"MaxPool", "kernel_shape=3,2 strides=2,3 auto_pad=SAME_UPPER", {"b=1..2", "h=1..6", "w=1..7"}, {{"b,2,h,w", TC_F32, 1}}, 2},
    {"MaxPool", "kernel_shape=2,4,3 strides=2,3,1 auto_pad=SAME_LOWER storage_order=1", {"d=1..3", "h=1..4", "w=1..4"},
     {{"1,2,d,h,w", TC_F32, 1}}, 2},
    {"MaxPool", "kernel_shape=3 strides=2", {"c=1..2", "w=3..9"}, {{"1,c,w", TC_I8, 100}}, 2},
    {"AveragePool", "kernel_shape=3,2 strides=2,3 ceil_mode=1", {"h=3..9", "w=2..8"}, {{"1,2,h,w", TC_F32, 0}}, 1},
    {"AveragePool", "kernel_shape=3,3 pads=1,1,2,0 strides=2,3 ceil_mode=1 count_include_pad=1", {"b=1..2", "h=1..7", "w=2..8"},
     {{"b,2,h,w", TC_F32, 0}}, 1},
    {"AveragePool", "kernel_shape=3,2 strides=2,2 auto_pad=SAME_LOWER", {"h=1..6", "w=1..4"}, {{"1,2,h,w", TC_F32, 0}}, 1},
    {"AveragePool", "kernel_shape=3,2 strides=2,1 auto_pad=SAME_UPPER count_include_pad=1", {"h=1..6", "w=1..4"},
     {{"1,2,h,w", TC_F32, 0}}, 1},
    {"LpPool", "kernel_shape=3,2 strides=2,3 ceil_mode=1", {"h=3..9", "w=2..8"}, {{"1,2,h,w", TC_F32, 0}}, 1},
    {"LpPool", "kernel_shape=2,3 strides=3,2 pads=1,0,0,2 p=3 ceil_mode=1", {"h=1..9", "w=1..6"}, {{"1,2,h,w", TC_F32, 0}}, 1},
    {"LpPool", "kernel_shape=3,2 strides=2,2 auto_pad=SAME_UPPER", {"h=1..6", "w=1..4"}, {{"1,2,h,w", TC_F32, 0}}, 1},
    {"Conv", "auto_pad=SAME_UPPER strides=2,3", {"b=1..2", "h=1..6", "w=1..7"},
     {{"b,2,h,w", TC_F32, 0}, {"3,2,3,2", TC_F32, 0}, {"3", TC_F32, 0}}, 1},
    {"Conv", "auto_pad=SAME_LOWER strides=2,2 dilations=2,1 group=2", {"h=1..7", "w=1..5"},
     {{"1,4,h,w", TC_F32, 0}, {"4,2,3,4", TC_F32, 0}}, 1},
    {"Flatten", "axis=2", {"b=1..2", "h=1..4", "w=1..4"}, {{"b,2,h,w", TC_F32, 0}}, 1},
    {"Flatten", "axis=-1", {"b=1..2", "h=1..4", "w=1..4"}, {{"b,h,2,w", TC_F32, 0}}, 1},
    {"Pad", "mode=reflect pads=0,2,1,0,1,2", {"n=3..5", "m=3..6"}, {{"2,n,m", TC_F32, 0}}, 1},
    {"Pad", "mode=wrap pads=0,2,7,0,1,2", {"n=1..5", "m=1..6"}, {{"2,n,m", TC_F32, 0}}, 1},
    {"Pad", "mode=wrap pads=-1,3,2,-2", {"n=2..5", "m=3..6"}, {{"n,m", TC_F32, 0}}, 1},
    {"Slice", "", {"n=0..6", "m=1..3"},
     {{"n,m", TC_F32, 0}, {"=-1", TC_I64, 0}, {"=-99", TC_I64, 0}, {"=0", TC_I64, 0}, {"=-1", TC_I64, 0}}, 1},
    {"Slice", "", {"n=0..7", "m=0..3"},
     {{"n,m,2", TC_F32, 0}, {"=4,2", TC_I64, 0}, {"=-5,0", TC_I64, 0}, {"=0,1", TC_I64, 0}, {"=-3,-1", TC_I64, 0}}, 1},
    {"Tile", "", {"n=0..4", "m=1..3"}, {{"n,m,2", TC_F32, 0}, {"=3,1,2", TC_I64, 0}}, 1},
    {"Tile", "", {"n=0..4", "m=1..3"}, {{"n,m,2", TC_F32, 0}, {"=0,2,1", TC_I64, 0}}, 1},
    {"Tile", "", {"n=0..4", "m=1..3"}, {{"n,m,2", TC_F32, 0}, {"=1,1,0", TC_I64, 0}}, 1},
    {"Squeeze", "", {"n=2..4"}, {{"n,1,3", TC_F32, 0}}, 1},
    {"Tile", "", {"n=0..1"}, {{"2,n", TC_F32, 0}, {"=0,0", TC_I64, 0}}, 1},
    {"LayerNormalization", "axis=1", {"n=1..4", "m=1..5"}, {{"2,n,m", TC_F32, 0}, {"n,m", TC_F32, 0}, {"n,m", TC_F32, 0}}, 3},
    {"InstanceNormalization", "", {"b=1..2", "h=1..4", "w=1..4"}, {{"b,2,h,w", TC_F32, 0}, {"2", TC_F32, 0}, {"2", TC_F32, 0}}, 1},
    {"com.microsoft.EmbedLayerNormalization", "", {"b=1..3", "n=1..4"},
     {{"b,n", TC_I32, 5}, {"b,n", TC_I32, 2}, {"5,4", TC_F32, 0}, {"6,4", TC_F32, 0}, {"2,4", TC_F32, 0}, {"4", TC_F32, 0},
      {"4", TC_F32, 0}, {"b,n", TC_I32, 2}}, 3},
    {"com.microsoft.EmbedLayerNormalization", "", {"b=1..3", "n=1..4"},
     {{"b,n", TC_I32, 5}, {NULL, TC_I32, 2}, {"5,4", TC_F32, 0}, {"6,4", TC_F32, 0}, {NULL, TC_F32, 0}, {"4", TC_F32, 0},
      {"4", TC_F32, 0}}, 2},
    {"Split", "axis=1 num_outputs=2", {"b=1..3", "n=0..6"}, {{"b,n,2", TC_F32, 0}}, 2},
    {"Split", "axis=0 num_outputs=3", {"n=4..9", "m=1..3"}, {{"n,m", TC_F32, 0}}, 3},
    {"Resize", "coordinate_transformation_mode=asymmetric nearest_mode=floor", {"h=1..6", "w=1..5", "k=1..3"},
     {{"k,2,h,w", TC_F32, 0}, {NULL, TC_F32, 0}, {NULL, TC_F32, 0}, {"@0,1,3,2", TC_I64, 0}}, 1},
    {"Resize", "coordinate_transformation_mode=half_pixel", {"h=1..7", "w=1..4"},
     {{"1,2,h,w", TC_F32, 0}, {NULL, TC_F32, 0}, {NULL, TC_F32, 0}, {"@0,1,3,2", TC_I64, 0}}, 1},
    {"Resize", "mode=linear coordinate_transformation_mode=pytorch_half_pixel", {"h=1..6", "w=1..5"},
     {{"1,2,h,w", TC_F32, 0}, {NULL, TC_F32, 0}, {NULL, TC_F32, 0}, {"@0,1,3,2", TC_I64, 0}}, 1},
    {"Resize", "mode=linear coordinate_transformation_mode=align_corners", {"h=1..6", "w=1..5"},
     {{"1,2,h,w", TC_F32, 0}, {NULL, TC_F32, 0}, {NULL, TC_F32, 0}, {"=1,2,4,7", TC_I64, 0}}, 1},
    {"Resize", "mode=cubic cubic_coeff_a=-0.5", {"h=1..6", "w=1..5"},
     {{"1,2,h,w", TC_F32, 0}, {NULL, TC_F32, 0}, {NULL, TC_F32, 0}, {"@0,1,3,2", TC_I64, 0}}, 1},
    /* sometimes nothing, and at most 1: the dimension keeps its place */
    {"Reshape", "", {"m=0..1"}, {{"m,4", TC_F32, 0}, {"=-1", TC_I64, 0}}, 1},
    {"Reshape", "", {"m=0..1"}, {{"1,m,4", TC_F32, 0}, {"=-1,2", TC_I64, 0}}, 1},
    {"Expand", "", {"m=0..1"}, {{"m,1", TC_F32, 0}, {"=1,3", TC_I64, 0}}, 1},
    {"Resize", "mode=nearest", {"n=1..2", "m=0..1"},
     {{"n,m,3,6", TC_F32, 0}, {NULL, TC_F32, 0}, {NULL, TC_F32, 0}, {"@0,1,3,3", TC_I64, 0}}, 1},
    {"Resize", "mode=nearest", {"n=0..1", "m=0..1"},
     {{"m,n,3,6", TC_F32, 0}, {NULL, TC_F32, 0}, {NULL, TC_F32, 0}, {"@0,1,3,3", TC_I64, 0}}, 1},
    /* steps and sequences */
    {"LSTM", "hidden_size=3 direction=bidirectional", {"t=0..4", "b=1..3"},
     {{"t,b,2", TC_F32, 0}, {"2,12,2", TC_F32, 0}, {"2,12,3", TC_F32, 0}, {"2,24", TC_F32, 0}}, 3},
    {"LSTM", "hidden_size=3 layout=1", {"t=0..3", "b=1..3"},
     {{"b,t,2", TC_F32, 0}, {"1,12,2", TC_F32, 0}, {"1,12,3", TC_F32, 0}, {NULL, TC_F32, 0}, {NULL, TC_F32, 0},
      {"b,1,3", TC_F32, 0}, {"b,1,3", TC_F32, 0}}, 3},
    {"GRU", "hidden_size=3 direction=reverse", {"t=0..4", "b=1..3"},
     {{"t,b,2", TC_F32, 0}, {"1,9,2", TC_F32, 0}, {"1,9,3", TC_F32, 0}}, 2},
    {"RNN", "hidden_size=3", {"t=3..5", "b=1..3"},
     {{"t,b,2", TC_F32, 0}, {"1,3,2", TC_F32, 0}, {"1,3,3", TC_F32, 0}, {NULL, TC_F32, 0}, {"b", TC_I32, 4}}, 2},
    {"GRU", "hidden_size=3 layout=1 linear_before_reset=1", {"t=0..3", "b=1..2", "n=0..4"},
     {{"b,t,n", TC_F32, 0}, {"1,9,n", TC_F32, 0}, {"1,9,3", TC_F32, 0}, {"1,18", TC_F32, 0}}, 2},
    {"RNN", "hidden_size=3 direction=bidirectional", {"n=1..4"},
     {{"2,3,n", TC_F32, 0}, {"2,3,n", TC_F32, 0}, {"2,3,3", TC_F32, 0}}, 2},
    /* attention */
    {"Attention", "q_num_heads=2 kv_num_heads=1", {"b=1..2", "n=1..3", "m=1..3"},
     {{"b,n,8", TC_F32, 0}, {"b,m,4", TC_F32, 0}, {"b,m,4", TC_F32, 0}, {"b,1,n,m", TC_F32, 0}}, 1},
    {"Attention", "is_causal=1", {"b=1..2", "n=1..3", "p=0..3"},
     {{"b,2,n,4", TC_F32, 0}, {"b,2,n,4", TC_F32, 0}, {"b,2,n,4", TC_F32, 0}, {NULL, TC_F32, 0}, {"b,2,p,4", TC_F32, 0},
      {"b,2,p,4", TC_F32, 0}}, 3},
    {"com.microsoft.Attention", "num_heads=2 unidirectional=1", {"b=1..2", "n=1..4"},
     {{"b,n,4", TC_F32, 0}, {"4,24", TC_F32, 0}, {"24", TC_F32, 0}}, 1},
    {"com.microsoft.Attention", "num_heads=2", {"b=1..2", "n=1..3", "p=0..2"},
     {{"b,n,4", TC_F32, 0}, {"4,24", TC_F32, 0}, {"24", TC_F32, 0}, {NULL, TC_F32, 0}, {"2,b,2,p,4", TC_F32, 0}}, 2},
    {"com.microsoft.Attention", "num_heads=2", {"b=1..2", "n=1..4"},
     {{"b,n,4", TC_F32, 0}, {"4,24", TC_F32, 0}, {"24", TC_F32, 0}, {"b,n", TC_I32, 2}}, 1},
    {"com.microsoft.Attention", "num_heads=2", {"b=1..2", "n=1..4"},
     {{"b,n,4", TC_F32, 0}, {"4,24", TC_F32, 0}, {"24", TC_F32, 0}, {"b", TC_I32, 4}}, 1},
    {"com.microsoft.MultiHeadAttention", "num_heads=2", {"b=1..2", "n=1..3", "m=1..3"},
     {{"b,n,8", TC_F32, 0}, {"b,m,8", TC_F32, 0}, {"b,m,8", TC_F32, 0}, {"24", TC_F32, 0}, {"b,m", TC_I32, 2},
      {"b,2,n,m", TC_F32, 0}}, 1},
    {"com.microsoft.MultiHeadAttention", "num_heads=2 unidirectional=1", {"b=1..2", "n=1..3", "p=0..3"},
     {{"b,n,8", TC_F32, 0}, {"b,n,8", TC_F32, 0}, {"b,n,8", TC_F32, 0}, {NULL, TC_F32, 0}, {NULL, TC_F32, 0}, {NULL, TC_F32, 0},
      {"b,2,p,4", TC_F32, 0}, {"b,2,p,4", TC_F32, 0}}, 3},
    {"com.microsoft.RotaryEmbedding", "num_heads=2", {"b=1..2", "n=1..4"},
     {{"b,n,8", TC_F32, 0}, {"b,n", TC_I64, 9}, {"9,2", TC_F32, 0}, {"9,2", TC_F32, 0}}, 1},
    {"com.microsoft.RotaryEmbedding", "", {"b=1..2", "n=1..4"},
     {{"b,3,n,4", TC_F32, 0}, {"1", TC_I64, 5}, {"9,2", TC_F32, 0}, {"9,2", TC_F32, 0}}, 1},
    {"com.microsoft.SkipLayerNormalization", "", {"b=1..2", "n=1..4"},
     {{"b,n,4", TC_F32, 0}, {"b,n,4", TC_F32, 0}, {"4", TC_F32, 0}, {"4", TC_F32, 0}}, 1},
    {"com.microsoft.SkipSimplifiedLayerNormalization", "", {"b=1..2", "n=1..4"},
     {{"b,n,4", TC_F32, 0}, {"b,n,4", TC_F32, 0}, {"4", TC_F32, 0}}, 1},
    {"Einsum", "equation=bii->bi", {"b=1..2", "n=1..4"}, {{"b,n,n", TC_F32, 0}}, 1},
    {"Einsum", "equation=iji->j", {"n=1..4", "m=1..3"}, {{"n,m,n", TC_F32, 0}}, 1},
    /* losses */
    {"NegativeLogLikelihoodLoss", "ignore_index=1", {"n=1..3", "c=2..4", "d=1..3"},
     {{"n,c,d", TC_F32, 0}, {"n,d", TC_I64, 2}, {"c", TC_F32, 0}}, 1},
    {"NegativeLogLikelihoodLoss", "reduction=sum", {"n=0..3", "c=2..4"}, {{"n,c", TC_F64, 0}, {"n", TC_I64, 2}}, 1},
    {"SoftmaxCrossEntropyLoss", "reduction=none", {"n=1..2", "c=2..4", "d=1..3"},
     {{"n,c,2,d", TC_F32, 0}, {"n,2,d", TC_I32, 2}, {"c", TC_F32, 0}}, 2},
    /* blocks of channels and pixels */
    {"DepthToSpace", "blocksize=2", {"b=1..2", "c=4..12:4", "h=1..2"}, {{"b,c,h,3", TC_F32, 0}}, 1},
    {"DepthToSpace", "blocksize=2 mode=CRD", {"c=4..12:4", "h=1..2", "w=1..3"}, {{"2,c,h,w", TC_F32, 0}}, 1},
    {"SpaceToDepth", "blocksize=2", {"c=1..3", "h=2..6:2", "w=1..3"}, {{"2,c,h,w*2", TC_F32, 0}}, 1},
    {"LRN", "size=3", {"c=1..5", "h=1..3", "w=1..3"}, {{"2,c,h,w", TC_F32, 0}}, 1},
    {"BatchNormalization", "", {"b=1..2", "c=1..3", "h=1..3"},
     {{"b,c,h", TC_F32, 0}, {"c", TC_F32, 0}, {"c", TC_F32, 0}, {"c", TC_F32, 0}, {"c", TC_F32, 0}}, 1},
    /* places in images and sequences */
    {"GridSample", "mode=bilinear", {"b=1..2", "c=1..2", "n=0..3"}, {{"b,c,3,4", TC_F32, 0}, {"b,n,2,2", TC_F32, 0}}, 1},
    {"GridSample", "mode=bilinear padding_mode=reflection align_corners=1", {"h=1..4", "w=1..4", "n=1..2"},
     {{"2,1,h,w", TC_F32, 0}, {"2,n,3,2", TC_F32, 0}}, 1},
    {"GridSample", "mode=bicubic padding_mode=border", {"h=1..4", "w=1..4", "n=1..2"},
     {{"1,2,h,w", TC_F32, 0}, {"1,3,n,2", TC_F32, 0}}, 1},
    {"GridSample", "mode=nearest padding_mode=reflection", {"h=1..4", "w=1..4"},
     {{"1,2,h,w", TC_F64, 0}, {"1,3,5,2", TC_F64, 0}}, 1},
    {"DeformConv", "kernel_shape=3,3 pads=1,1,1,1 offset_group=2", {"b=1..2", "h=1..4", "w=1..4"},
     {{"b,2,h,w", TC_F32, 0}, {"3,2,3,3", TC_F32, 0}, {"b,36,h,w", TC_F32, 0}, {"3", TC_F32, 0}, {"b,18,h,w", TC_F32, 0}}, 1},
    {"RoiAlign", "output_height=2 output_width=3 sampling_ratio=2 mode=max", {"r=0..3", "h=1..4", "w=1..5"},
     {{"2,3,h,w", TC_F32, 0}, {"r,4", TC_F32, 0}, {"r", TC_I64, 2}}, 1},
    {"RoiAlign", "output_height=3 output_width=2 sampling_ratio=1", {"n=2..3", "c=1..2", "r=0..2"},
     {{"n,c,3,4", TC_F32, 0}, {"r,4", TC_F32, 0}, {"r", TC_I64, 2}}, 1},
    {"RoiAlign", "output_height=3 output_width=2", {"n=2..3", "c=1..2", "r=0..2"},
     {{"n,c,3,4", TC_F32, 0}, {"r,4", TC_F32, 0}, {"r", TC_I64, 2}}, 1},
    {"NonMaxSuppression", "", {"b=1..2", "c=1..3", "n=1..4"},
     {{"b,n,4", TC_F32, 0}, {"b,c,n", TC_F32, 0}, {"=2", TC_I64, 0}, {"1", TC_F32, 0}}, 1},
    {"ReverseSequence", "batch_axis=1 time_axis=0", {"t=3..5", "b=1..3", "m=1..2"}, {{"t,b,m", TC_F32, 0}, {"b", TC_I64, 4}}, 1},
    {"CenterCropPad", "axes=1,2", {"b=1..2", "h=1..7", "w=1..6"}, {{"b,h,w", TC_F32, 0}, {"=4,3", TC_I64, 0}}, 1},
    {"CenterCropPad", "", {"h=0..6"}, {{"3,h", TC_F32, 0}, {"=5,3", TC_I64, 0}}, 1},
    {"Col2Im", "", {"b=1..3", "c=6..18:6"}, {{"b,c,9", TC_F32, 0}, {"=4,5", TC_I64, 0}, {"=2,3", TC_I64, 0}}, 1},
    {"MaxUnpool", "kernel_shape=2,2 strides=2,2", {"b=1..2", "h=1..3", "w=1..3"},
     {{"b,2,h,w", TC_F32, 0}, {"b,2,h,w", TC_I64, 8}}, 1},
    {"MaxUnpool", "kernel_shape=2 strides=2", {"b=1..2", "c=1..3", "w=1..2"},
     {{"b,c,w", TC_F32, 0}, {"b,c,w", TC_I64, 5}, {"=2,3,5", TC_I64, 0}}, 1},
    /* fewer updates than data, beside the axis */
    {"ScatterElements", "axis=1", {"n=1..3"}, {{"6,4", TC_F32, 0}, {"n,4", TC_I64, 4}, {"n,4", TC_F32, 0}}, 1},
    {"ScatterElements", "axis=0 reduction=add", {"m=1..3"}, {{"4,5", TC_F32, 0}, {"3,m", TC_I64, 4}, {"3,m", TC_F32, 0}}, 1},
    {"TensorScatter", "axis=1 mode=circular", {"b=1..3", "n=3..5"},
     {{"b,n,2", TC_F32, 0}, {"b,3,2", TC_F32, 0}, {"b", TC_I64, 3}}, 1},
    {"TensorScatter", "axis=2", {"b=1..2", "n=4..6"}, {{"b,2,n", TC_F32, 0}, {"b,2,2", TC_F32, 0}, {"b", TC_I64, 3}}, 1},
    {"Unique", "axis=1", {"n=1..3", "m=1..3"}, {{"n,m,2", TC_I64, 2}}, 4},
    {"EyeLike", "k=1", {"n=1..4", "m=1..4"}, {{"n,m", TC_F32, 0}}, 1},
    {"Det", "", {"b=0..2", "n=1..4"}, {{"b,n,n", TC_F32, 0}}, 1},
    /* transforms */
    {"DFT", "axis=1", {"b=1..2", "n=1..5"}, {{"b,n,2", TC_F32, 0}}, 1},
    {"DFT", "axis=1 onesided=1", {"n=1..6", "m=1..2"}, {{"2,n,m,1", TC_F64, 0}}, 1},
    {"DFT", "axis=1 inverse=1", {"b=1..2", "n=1..5"}, {{"b,n,2", TC_F32, 0}}, 1},
    {"DFT", "axis=1", {"b=1..2", "n=0..6"}, {{"b,n,1", TC_F32, 0}, {"=4", TC_I64, 0}}, 1},
    {"STFT", "", {"b=1..2", "n=4..9"}, {{"b,n,1", TC_F32, 0}, {"=2", TC_I64, 0}, {"4", TC_F32, 0}, {"=4", TC_I64, 0}}, 1},
    {"STFT", "onesided=0", {"b=1..2", "n=3..6"},
     {{"b,n,2", TC_F32, 0}, {"=1", TC_I64, 0}, {NULL, TC_F32, 0}, {"=3", TC_I64, 0}}, 1},
    /* quantised */
    {"com.microsoft.MatMulNBits", "K=32 N=3 bits=4 block_size=16", {"b=1..2", "n=1..4"},
     {{"b,n,32", TC_F32, 0}, {"3,2,8", TC_U8, 256}, {"6", TC_F32, 0}}, 1},
    {"com.microsoft.GatherBlockQuantized", "block_size=16 gather_axis=0 quantize_axis=1 bits=4", {"b=1..2", "n=1..4"},
     {{"5,16", TC_U8, 256}, {"b,n", TC_I64, 5}, {"5,2", TC_F32, 0}}, 1},
    {"DynamicQuantizeLinear", "", {"b=1..2", "n=1..4"}, {{"b,n,3", TC_F32, 0}}, 3},
    {"ConvInteger", "pads=1,1,1,1", {"b=0..2", "h=1..5"},
     {{"b,3,h,4", TC_U8, 256}, {"5,3,3,3", TC_U8, 256}, {"!1", TC_U8, 256}}, 1},
    {"ConvInteger", "pads=0,1,2,1 dilations=1,2", {"h=1..3", "w=3..6"},
     {{"2,3,h,w", TC_U8, 256}, {"5,3,3,2", TC_I8, 100}, {"!1", TC_U8, 256}, {"5", TC_I8, 100}}, 1},
    {"ConvInteger", "auto_pad=SAME_UPPER strides=2,2 group=2", {"h=1..5", "w=2..5"},
     {{"1,4,h,w", TC_U8, 256}, {"6,2,3,3", TC_U8, 256}, {"!1", TC_U8, 256}, {"!6", TC_U8, 256}}, 1},
    {"ConvInteger", "auto_pad=SAME_LOWER strides=2", {"b=1..2", "n=1..6"},
     {{"b,3,n", TC_U8, 256}, {"4,3,3", TC_U8, 256}, {"", TC_U8, 256}, {"", TC_U8, 256}}, 1},
    {"QLinearConv", "auto_pad=SAME_UPPER strides=2,1", {"b=1..2", "h=1..5"},
     {{"b,3,h,4", TC_U8, 256}, {"", TC_F32, 0}, {"!1", TC_U8, 256}, {"5,3,3,3", TC_U8, 256}, {"", TC_F32, 0}, {"", TC_U8, 256},
      {"", TC_F32, 0}, {"", TC_U8, 9}}, 1},
    {"com.microsoft.QLinearAdd", "", {"b=1..2", "n=1..4"},
     {{"b,n,3", TC_U8, 256}, {"", TC_F32, 0}, {"", TC_U8, 9}, {"n,3", TC_U8, 256}, {"", TC_F32, 0}, {"", TC_U8, 9},
      {"", TC_F32, 0}, {"", TC_U8, 9}}, 1},
    {"com.microsoft.QLinearSigmoid", "", {"b=1..2", "n=1..4"},
     {{"b,n,3", TC_U8, 256}, {"", TC_F32, 0}, {"", TC_U8, 9}, {"", TC_F32, 0}, {"", TC_U8, 9}}, 1},
    {"com.microsoft.QLinearConcat", "axis=1", {"b=1..2", "n=1..4"},
     {{"", TC_F32, 0}, {"", TC_U8, 9}, {"b,n,3", TC_U8, 256}, {"", TC_F32, 0}, {"", TC_U8, 9}, {"b,2,3", TC_U8, 256},
      {"", TC_F32, 0}, {"", TC_U8, 9}}, 1},
    {"com.microsoft.QLinearAveragePool", "kernel_shape=2,2", {"b=1..3"},
     {{"b,2,3,3", TC_U8, 256}, {"", TC_F32, 0}, {"", TC_U8, 9}, {"", TC_F32, 0}, {"", TC_U8, 9}}, 1},
    {"com.microsoft.QLinearAveragePool", "kernel_shape=3,3 auto_pad=SAME_UPPER", {"h=1..6", "w=1..6"},
     {{"1,2,h,w", TC_U8, 256}, {"", TC_F32, 0}, {"", TC_U8, 9}, {"", TC_F32, 0}, {"", TC_U8, 9}}, 1},
    {"com.microsoft.QLinearAveragePool", "kernel_shape=3,2 strides=2,2 auto_pad=SAME_LOWER channels_last=1", {"h=1..6", "w=1..6"},
     {{"2,h,w,3", TC_U8, 256}, {"", TC_F32, 0}, {"", TC_U8, 9}, {"", TC_F32, 0}, {"", TC_U8, 9}}, 1},
    {"com.microsoft.QLinearGlobalAveragePool", "", {"b=1..3", "h=1..4"},
     {{"b,2,h,3", TC_U8, 256}, {"", TC_F32, 0}, {"", TC_U8, 9}, {"", TC_F32, 0}, {"", TC_U8, 9}}, 1},
    {"com.microsoft.QGemm", "", {"n=1..4"},
     {{"n,3", TC_U8, 256}, {"", TC_F32, 0}, {"", TC_U8, 9}, {"3,4", TC_I8, 100}, {"", TC_F32, 0}, {"", TC_I8, 9}}, 1},
    {"com.microsoft.MatMulIntegerToFloat", "", {"b=1..2", "n=1..4"},
     {{"b,n,3", TC_U8, 256}, {"3,4", TC_I8, 100}, {"", TC_F32, 0}, {"", TC_F32, 0}}, 1},
    {"com.microsoft.DynamicQuantizeMatMul", "", {"b=1..2", "n=1..4"},
     {{"b,n,3", TC_F32, 0}, {"3,4", TC_I8, 100}, {"", TC_F32, 0}}, 1},
};
/* clang-format on */

static void test_rows(void **state) {
    (void)state;
    tc_error e = {0};
    tc_target *target;
    assert_int_equal(tc_target_parse("native", &target, &e), TC_OK);
    for (size_t i = 0; i < TC_LEN(rows); i++)
        expect_all_sizes(&rows[i], target);
    tc_target_free(target);
}

/* Rows that become other rows behind a batch that varies: the kernel reads and writes dense arrays, and nothing is copied. */
static void test_reshape_copies_nothing(void **state) {
    (void)state;
    static const row r = {"Reshape", "", {NULL}, {{"b,n,6", TC_F32, 0}, {"=0,-1,4", TC_I64, 0}}, 1};
    tc_graph_binding *sizes;
    tc_graph_program *p;
    tc_strbuf text = {0};
    save_model(&r);
    assert_ok(tc_graph_bindings_parse((const char *const[]){"b=1..4", "n=2..64"}, 2, &sizes, err));
    tc_graph *g = graph_of(&r, sizes, 2);
    tc_graph_bindings_free(sizes, 2);
    assert_ok(tc_graph_passes(g, NULL, err));
    assert_ok(tc_graph_program_new(g, &p, err));
    tc_graph_program_print(p, &text);
    if (strstr(tc_sb_str(&text), "Input") || strstr(tc_sb_str(&text), "Output") || !strstr(tc_sb_str(&text), "Mul+Div"))
        fail_msg("%s", tc_sb_str(&text));
    tc_strbuf_free(&text);
    tc_graph_program_free(p);
    tc_graph_free(g);
}

/* ---- Range ---- */

/* Range(start, limit, delta); NAN: the size of the input, n = 0..24, as a number of the type. */
typedef struct range {
    tc_dtype dtype;
    double start, limit, delta;
} range;

static const range ranges[] = {
    {TC_F32, 0, NAN, 0.5},     {TC_F32, 0, NAN, 0.1F},  {TC_F32, NAN, 0, -1},  {TC_F32, -1.25, NAN, 3},
    {TC_F64, NAN, 30.5, 0.25}, {TC_F32, NAN, 2, -0.75}, {TC_F32, 5, NAN, -1},  {TC_I64, NAN, 0, -1},
    {TC_I64, NAN, -3, -4},     {TC_I32, 2, NAN, 3},     {TC_I64, 30, NAN, -1}, {TC_I64, NAN, 30, 7},
};

static void add_number(tc_graph_writer *w, const char *name, tc_dtype t, double v) {
    tc_graph_tensor one;
    tc_error e = {0};
    if (isnan(v)) {
        tc_graph_writer_node(w, "Cast", "", "size", name);
        tc_graph_writer_int(w, "to", tc_graph_dtype_to_onnx(t));
        return;
    }
    assert_int_equal(tc_graph_tensor_alloc(&one, t, &(tc_graph_shape){0}, &e), TC_OK);
    tc_graph_tensor_from_f64(&one, &v);
    tc_graph_writer_weight(w, name, one);
}

static tc_graph *graph_of_range(const range *r) {
    tc_graph_writer *w = tc_graph_writer_new("range", 17);
    tc_graph_binding n;
    tc_graph *g;
    tc_graph_writer_input(w, "x", TC_F32, "n");
    tc_graph_writer_node(w, "Shape", "", "x", "shape");
    tc_graph_writer_node(w, "Squeeze", "", "shape", "size");
    add_number(w, "start", r->dtype, r->start);
    add_number(w, "limit", r->dtype, r->limit);
    add_number(w, "delta", r->dtype, r->delta);
    tc_graph_writer_node(w, "Range", "range", "start,limit,delta", "y");
    tc_graph_writer_output(w, "y", r->dtype, NULL);
    assert_ok(tc_graph_binding_parse("n=0..24", &n, err));
    assert_ok(import_model(w, SCRATCH("range.onnx"), &(tc_graph_import_options){.shapes = &n, .nshapes = 1}, &g, err));
    free((char *)(uintptr_t)n.name);
    return g;
}

/* Of the size n. */
static void expect_range(const range *r, const tc_graph_tensor *y, double n, const char *how) {
    double start = isnan(r->start) ? n : r->start, limit = isnan(r->limit) ? n : r->limit;
    int64_t count = (int64_t)fmax(ceil((limit - start) / r->delta), 0);
    if (y->shape.ndim != 1 || y->shape.d[0] != count)
        fail_msg("Range(%g, %g, %g), %s: %lld elements", start, limit, r->delta, how, (long long)y->shape.d[0]);
    for (int64_t i = 0; i < count; i++) {
        double v = start + (double)i * r->delta;
        double got = tc_dtype_is_float(y->dtype) ? tc_load_f(y->dtype, y->data, i) : (double)tc_load_i(y->dtype, y->data, i);
        if (got != (y->dtype == TC_F32 ? (double)(float)v : v))
            fail_msg("Range(%g, %g, %g), %s: element %lld is %g", start, limit, r->delta, how, (long long)i, got);
    }
}

static void test_ranges(void **state) {
    (void)state;
    static const float zeros[24];
    tc_target *t;
    assert_ok(tc_target_parse("native", &t, err));
    for (size_t k = 0; k < TC_LEN(ranges); k++) {
        tc_graph_program *p;
        tc_graph_model *m;
        tc_graph_tensor y;
        tc_graph *g = graph_of_range(&ranges[k]), *passed = graph_of_range(&ranges[k]);
        assert_ok(tc_graph_passes(passed, NULL, err));
        assert_ok(tc_graph_program_new(passed, &p, err));
        assert_ok(tc_graph_model_build(p, &(tc_graph_build_options){.target = t, .threads = 1}, &m, err));
        for (int64_t n = 0; n <= 24; n++) {
            tc_graph_tensor x = f32_tensor((tc_graph_shape){1, {n}}, zeros);
            assert_ok(tc_graph_eval(g, &x, &y, err));
            expect_range(&ranges[k], &y, (double)n, "evaluated");
            tc_graph_tensor_free(&y);
            assert_ok(tc_graph_model_run(m, &x, &y, err));
            expect_range(&ranges[k], &y, (double)n, "compiled");
            tc_graph_tensor_free(&y);
        }
        tc_graph_model_free(m);
        tc_graph_program_free(p);
        tc_graph_free(passed);
        tc_graph_free(g);
    }
    tc_target_free(t);
}

/* A length that no constants and sizes say. */
static void test_refused_ranges(void **state) {
    (void)state;
    static const char *const inputs[] = {"zero,sum,one", "zero,size,x0", "zero,size,zero"};
    for (size_t k = 0; k < TC_LEN(inputs); k++) {
        tc_graph_writer *w = tc_graph_writer_new("range", 17);
        tc_graph *g;
        tc_graph_writer_input(w, "x", TC_F32, "n");
        tc_graph_writer_input(w, "x0", TC_F32, "");
        tc_graph_writer_node(w, "Shape", "", "x", "shape");
        tc_graph_writer_node(w, "Squeeze", "", "shape", "number");
        tc_graph_writer_node(w, "Cast", "", "number", "size");
        tc_graph_writer_int(w, "to", tc_graph_dtype_to_onnx(TC_F32));
        tc_graph_writer_node(w, "ReduceSum", "", "x", "sum");
        tc_graph_writer_int(w, "keepdims", 0);
        add_number(w, "zero", TC_F32, 0);
        add_number(w, "one", TC_F32, 1);
        tc_graph_writer_node(w, "Range", "range", inputs[k], "y");
        tc_graph_writer_output(w, "y", TC_F32, NULL);
        assert_fails(TC_BAD_INPUT, import_model(w, SCRATCH("range.onnx"), NULL, &g, err), "node 'range' (Range)",
                     k == 0 ? "input 1 ('sum')" : "input 2", "delta must be a constant that is not 0");
    }
}

/* An operand of a text fails before the text that takes it was read: the failure is what the message says. */
static void test_first_failure(void **state) {
    (void)state;
    static const row r = {"com.microsoft.QLinearAdd",
                          "",
                          {NULL},
                          {{"n", TC_U8, 256},
                           {"", TC_F32, 0},
                           {"", TC_U8, 9},
                           {"4", TC_U8, 256},
                           {"", TC_F32, 0},
                           {"", TC_U8, 9},
                           {"", TC_F32, 0},
                           {"", TC_U8, 9}},
                          1};
    tc_graph_binding n;
    tc_graph *g;
    save_model(&r);
    assert_ok(tc_graph_binding_parse("n=2..4", &n, err));
    assert_fails(TC_BAD_INPUT,
                 tc_graph_import(SCRATCH("varying.onnx"), &(tc_graph_import_options){.shapes = &n, .nshapes = 1}, &g, err),
                 "dimension 0 of 'x0' (n, at most 4)", "must be equal");
    free((char *)(uintptr_t)n.name);
}

/* ---- recurrent layers ---- */

/* A GRU without biases or initial states; of its sizes, all but the direction are symbols. hidden_size 0: it lacks the attribute. */
static tc_status import_gru(int64_t hidden_size, tc_graph **g, tc_error *err) {
    static const tc_graph_binding sizes[] = {
        {"t", 1, {{0, 4, 1}}}, {"b", 1, {{1, 3, 1}}}, {"n", 1, {{1, 3, 1}}}, {"g", 1, {{3, 12, 3}}}, {"h", 1, {{1, 4, 1}}}};
    const tc_graph_import_options o = {.shapes = sizes, .nshapes = TC_LEN(sizes)};
    tc_graph_writer *w = tc_graph_writer_new("gru", 17);
    tc_graph_writer_input(w, "x", TC_F32, "t,b,n");
    tc_graph_writer_input(w, "w", TC_F32, "1,g,n");
    tc_graph_writer_input(w, "r", TC_F32, "1,g,h");
    tc_graph_writer_node(w, "GRU", "gru", "x,w,r", "y");
    if (hidden_size)
        tc_graph_writer_int(w, "hidden_size", hidden_size);
    tc_graph_writer_output(w, "y", TC_F32, NULL);
    return import_model(w, SCRATCH("gru.onnx"), &o, g, err);
}

static tc_status bind_gru(const tc_graph *g, int64_t hidden, tc_error *err) {
    tc_graph_tensor in[3];
    tc_graph_size_rules rules;
    tc_arena *a = tc_arena_new();
    int64_t size[5];
    float none[1];
    in[0] = f32_tensor((tc_graph_shape){3, {2, 1, 2}}, none);
    in[1] = f32_tensor((tc_graph_shape){3, {1, 3 * hidden, 2}}, none);
    in[2] = f32_tensor((tc_graph_shape){3, {1, 3 * hidden, hidden}}, none);
    tc_graph_size_rules_of(g, a, &rules);
    tc_status s = tc_graph_size_rules_bind(&rules, in, size, err);
    tc_arena_free(a);
    return s;
}

/* The attribute says how many units a layer has, so runs with other weights are refused. Without it they must be known. */
static void test_hidden_size(void **state) {
    (void)state;
    tc_graph *g;
    assert_fails(TC_BAD_INPUT, import_gru(0, &g, err), "node 'gru' (GRU)", "dimension 2 of input 2 ('r') varies");
    assert_fails(TC_BAD_INPUT, import_gru(5, &g, err), "node 'gru' (GRU)", "dimension 1 of 'w'");
    assert_ok(import_gru(3, &g, err));
    assert_ok(bind_gru(g, 3, err));
    assert_fails(TC_BAD_INPUT, bind_gru(g, 2, err), "node 'gru' (GRU)", "must be 9");
    tc_graph_free(g);
}

/* ---- what refuses ---- */

/* Operators that take no operands of sizes that vary, and why. */
static const struct {
    tc_graph_op op;
    const char *why;
} refusing[] = {
    {TC_GRAPH_OP_CONSTANT, "it has no operands"},
    {TC_GRAPH_OP_IF, "import makes it, of values as large as they may be"},
    {TC_GRAPH_OP_LOOP, "the same"},
    {TC_GRAPH_OP_REQUIRE, "the same, of one bool"},
    {TC_GRAPH_OP_MASKED, "inference makes it, of values as large as they may be"},
    {TC_GRAPH_OP_SHIFTED, "the same"},
    {TC_GRAPH_OP_APPENDED, "the same"},
    {TC_GRAPH_OP_REGROUPED, "the same"},
    {TC_GRAPH_OP_GROWN, "caches that grow in place are found after import"},
    {TC_GRAPH_OP_NON_ZERO_LIST, "inference makes it, of operands that are masked"},
    {TC_GRAPH_OP_UNIQUE_LIST, "the same"},
    {TC_GRAPH_OP_NMS_LIST, "the same"},
    {TC_GRAPH_OP_TOP_K_LIST, "the same"},
    {TC_GRAPH_OP_SCATTER_LIST, "the same"},
    {TC_GRAPH_OP_CUM_SUM_LIST, "the same"},
    {TC_GRAPH_OP_DET_LIST, "the same"},
    {TC_GRAPH_OP_ROI_ALIGN_LIST, "the same"},
    {TC_GRAPH_OP_MAX_ROI_POOL_LIST, "the same"},
    {TC_GRAPH_OP_BLACKMAN_WINDOW, "its result is a constant"},
    {TC_GRAPH_OP_HAMMING_WINDOW, "the same"},
    {TC_GRAPH_OP_HANN_WINDOW, "the same"},
    {TC_GRAPH_OP_MEL_WEIGHT_MATRIX, "the same"},
    {TC_GRAPH_OP_AFFINE_GRID, "a constant of the size is made when it is imported"},
};

static void test_refusing(void **state) {
    (void)state;
    for (tc_graph_op op = 0; op < TC_GRAPH_OP_COUNT; op++) {
        bool listed = false, refuses = tc_graph_functions_of(op)->rewrite == tc_graph_rewrite_none;
        for (size_t i = 0; i < TC_LEN(refusing); i++)
            listed |= refusing[i].op == op && *refusing[i].why;
        if (listed != refuses)
            fail_msg("%s %s operands of sizes that vary: %s", tc_graph_op_name(op), refuses ? "refuses" : "takes",
                     refuses ? "say why" : "it is no longer to be listed");
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_rows),          cmocka_unit_test(test_reshape_copies_nothing),
                                       cmocka_unit_test(test_ranges),        cmocka_unit_test(test_refused_ranges),
                                       cmocka_unit_test(test_first_failure), cmocka_unit_test(test_hidden_size),
                                       cmocka_unit_test(test_refusing)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
