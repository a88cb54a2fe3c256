/* Loop and Scan as ONNX writes them: their inputs, attributes and bodies. What becomes of them is the same for all formats
 * (graph/import/loops.h). */
#include <inttypes.h>
#include <string.h>

#include "graph/import/loops.h"
#include "graph/onnx/import_int.h"

typedef tc_graph_import_scan scan;

/* A node's graph as a body. */
typedef struct body {
    tc_graph_import_body b; /* first */
    tc_graph_importer *im;
    const Onnx__NodeProto *p;
    const Onnx__GraphProto *g;
    bool of_batch;
} body;

typedef struct loop {
    tc_graph_import_trips t;
    tc_graph_importer *im;
    const Onnx__NodeProto *p;
    bool batch; /* a Scan of opset 8: its body is such a Scan of one sequence */
    body body;
} loop;

static tc_graph_value *number(loop *l, tc_dtype t, int64_t v) {
    return tc_graph_em_ints(&l->t.e, t, &(tc_graph_shape){0}, &v);
}

/* ---- bodies ---- */

/* Those of inner bodies included. */
static size_t count_nodes(const Onnx__GraphProto *g, int depth) {
    size_t n = g->n_node;
    for (size_t i = 0; i < g->n_node && depth < 32; i++)
        for (size_t k = 0; k < g->node[i]->n_attribute; k++)
            if (g->node[i]->attribute[k]->g)
                n += count_nodes(g->node[i]->attribute[k]->g, depth + 1);
    return n;
}

static tc_status add_body(const tc_graph_import_body *of, tc_graph_value *const *in, tc_graph_value ***out, tc_error *err) {
    const body *b = (const body *)of;
    tc_graph_import_scope s = {.opset = tc_graph_import_opset(b->im), .of_batch = b->of_batch};
    for (size_t k = 0; k < of->nin; k++)
        tc_map_puts(&s.values, of->in[k], (uintptr_t)in[k]);
    return tc_graph_import_graph(b->im, b->p, b->g, &s, out, err);
}

static void set_body(loop *l, const Onnx__GraphProto *g) {
    const char **in = TC_NEW_N(l->im->at.g->arena, const char *, g->n_input + 1);
    for (size_t k = 0; k < g->n_input; k++)
        in[k] = g->input[k]->name ? g->input[k]->name : "";
    tc_graph_import_body b = {.nin = g->n_input, .nout = g->n_output, .in = in, .nodes = count_nodes(g, 0), .add = add_body};
    l->body = (body){b, l->im, l->p, g, l->batch};
    l->t.body = &l->body.b;
}

static tc_status open_loop(loop *l, tc_error *err) {
    const Onnx__AttributeProto *a = tc_graph_import_attribute(l->p, "body");
    if (!a || !a->g)
        return tc_fail(err, TC_BAD_INPUT, "attribute 'body' must be a graph");
    tc_graph *g = l->im->at.g;
    set_body(l, a->g);
    l->t.c = (tc_graph_infer_ctx){.g = g, .opset = TC_GRAPH_OPSET_MAX, .err = err};
    l->t.c.n = tc_graph_new_node(g, TC_GRAPH_OP_IDENTITY, tc_graph_import_name_of(l->p), NULL, 0);
    l->t.e = (tc_graph_emitter){&l->t.c, TC_OK};
    return TC_OK;
}

static tc_status read_inputs(loop *l, tc_graph_value **in, size_t from, tc_error *err) {
    for (size_t k = 0; k < l->p->n_input; k++) {
        TC_TRY(tc_graph_import_input(l->im, l->p->input[k], &in[k], err));
        if (k >= from && !in[k])
            return tc_fail(err, TC_BAD_INPUT, "input %zu is left out, but it is not optional", k);
    }
    return TC_OK;
}

/* ---- Loop ---- */

static tc_status read_loop(loop *l, tc_error *err) {
    tc_arena *a = l->im->at.g->arena;
    tc_graph_value **in = TC_NEW_N(a, tc_graph_value *, l->p->n_input + 3);
    l->t.limit = (tc_graph_number){.most = INT64_MAX, .constant = true};
    TC_TRY(open_loop(l, err));
    TC_TRY(read_inputs(l, in, 2, err));
    l->t.nstate = l->p->n_input > 2 ? l->p->n_input - 2 : 0;
    if (l->body.b.nin != l->t.nstate + 2 || l->body.b.nout < l->t.nstate + 1)
        return tc_fail(err, TC_BAD_INPUT, "it carries %zu values, but its body has %zu inputs and %zu outputs", l->t.nstate,
                       l->body.b.nin, l->body.b.nout);
    l->t.nscan = l->body.b.nout - l->t.nstate - 1;
    TC_TRY(tc_graph_import_one_of_type(in[0], TC_I64, "trip count", err));
    TC_TRY(tc_graph_import_one_of_type(in[1], TC_BOOL, "condition", err));
    l->t.cond = in[1];
    l->t.state = tc_arena_dup(a, in + 2, (l->t.nstate + 1) * sizeof *in);
    if (!in[0])
        return TC_OK;
    tc_graph_number v[TC_GRAPH_MAX_NUMBERS];
    TC_TRY(tc_graph_trace(&l->t.e, in[0], v));
    l->t.limit = v[0];
    return TC_OK;
}

/* ---- Scan ---- */

static tc_status scan_list(loop *l, const char *name, size_t n, const int64_t **out, tc_error *err) {
    const Onnx__AttributeProto *a = tc_graph_import_attribute(l->p, name);
    *out = NULL;
    if (!a || a->n_ints == 0)
        return TC_OK;
    if (a->n_ints != n)
        return tc_fail(err, TC_BAD_INPUT, "attribute %s has %zu elements, but %zu are expected", name, a->n_ints, n);
    *out = a->ints;
    return TC_OK;
}

/* The length that all walked inputs share. */
static tc_status scan_length(loop *l, scan *s, tc_error *err) {
    for (size_t k = 0; k < s->n; k++) {
        const tc_graph_value *v = s->in[k];
        int64_t axis = s->axes ? s->axes[k] : 0;
        axis = axis < 0 ? axis + v->shape.ndim : axis;
        if (v->sequence || axis < 0 || axis >= v->shape.ndim || (k && v->shape.d[axis] != s->length))
            return tc_fail(err, TC_BAD_INPUT,
                           "scan input %zu ('%s') is %s: it has no axis %" PRId64
                           ", or its length there differs from the other inputs",
                           k, v->name, tc_graph_type_str(l->im->at.g->arena, v->dtype, &v->shape), axis);
        s->size = s->size ? s->size : tc_graph_extent(v, (int)axis);
        s->axis[k] = (int)axis;
        s->length = v->shape.d[axis];
    }
    return TC_OK;
}

static tc_status read_scan_attributes(loop *l, size_t nin, tc_error *err) {
    scan *s = l->t.scan;
    const Onnx__AttributeProto *a = tc_graph_import_attribute(l->p, "num_scan_inputs");
    s->n = a && a->i > 0 ? (size_t)a->i : 0;
    if (s->n == 0 || s->n > nin || l->body.b.nin != nin || l->body.b.nout < nin - s->n)
        return tc_fail(err, TC_BAD_INPUT,
                       "attribute num_scan_inputs is %zu, which does not fit its %zu inputs and its body's %zu", s->n, nin,
                       l->body.b.nin);
    l->t.nstate = nin - s->n;
    l->t.nscan = l->body.b.nout - l->t.nstate;
    if (s->fill)
        return scan_list(l, "directions", s->n, &s->directions, err);
    TC_TRY(scan_list(l, "scan_input_axes", s->n, &s->axes, err));
    TC_TRY(scan_list(l, "scan_input_directions", s->n, &s->directions, err));
    TC_TRY(scan_list(l, "scan_output_axes", l->t.nscan, &s->out_axes, err));
    return scan_list(l, "scan_output_directions", l->t.nscan, &s->out_directions, err);
}

/* Opset 8: how many trips are made of those that the inputs are long enough for. */
static tc_status read_scan_trips(loop *l, tc_graph_value *n, tc_error *err) {
    int64_t length = l->t.scan->length;
    TC_TRY(tc_graph_import_one_of_type(n, TC_I64, "sequence length", err));
    tc_graph_value *most = em_min(&l->t.e, tc_graph_em_reshape(&l->t.e, n, &(tc_graph_shape){0}), number(l, TC_I64, length));
    TC_TRY(l->t.e.status);
    TC_TRY(tc_graph_trace(&l->t.e, em_max(&l->t.e, most, number(l, TC_I64, 0)), &l->t.limit));
    l->t.limit.most = l->t.limit.constant ? l->t.limit.most : length;
    return l->t.e.status;
}

/* The body for one sequence walks nothing but the batch. Inputs: without the lengths, if they are left out. */
static tc_graph_value **read_batch(loop *l, tc_graph_value **in, size_t nin) {
    size_t left_out = in[0] ? 0 : 1;
    set_body(l, tc_graph_import_sequence_of_batch(l->im, l->p));
    l->t.scan->n = nin - left_out;
    l->t.nstate = 0;
    l->t.nscan = l->body.b.nout;
    return in + left_out;
}

static tc_status read_scan(loop *l, tc_error *err) {
    size_t n = l->p->n_input;
    tc_arena *a = l->im->at.g->arena;
    bool lengths = tc_graph_import_opset(l->im) < 9; /* are its first input */
    tc_graph_value **in = TC_NEW_N(a, tc_graph_value *, n + 1), **rest = in + lengths;
    if (n < 1 + (size_t)lengths)
        return tc_fail(err, TC_BAD_INPUT, "it has %zu inputs, but no scan input", n);
    TC_TRY(open_loop(l, err));
    TC_TRY(read_inputs(l, in, lengths, err));
    l->t.scan->fill = lengths && l->im->scope && l->im->scope->of_batch;
    l->batch = lengths && !l->t.scan->fill;
    if (l->batch)
        rest = read_batch(l, in, n);
    else
        TC_TRY(read_scan_attributes(l, n - lengths, err));
    l->t.scan->axis = TC_NEW_N(a, int, n + 1);
    l->t.scan->in = rest + l->t.nstate;
    l->t.state = tc_arena_dup(a, rest, (l->t.nstate + 1) * sizeof *rest);
    TC_TRY(scan_length(l, l->t.scan, err));
    l->t.limit = (tc_graph_number){
        .value = l->t.scan->size, .most = l->t.scan->length, .constant = !l->t.scan->size || l->t.scan->length == 0};
    TC_TRY(l->t.e.status);
    if (l->t.scan->size && (l->t.scan->fill || l->batch))
        return tc_refuse(err, TC_ERROR_UNSUPPORTED, "the size of its inputs depends on data, which is not supported at opset 8");
    return l->t.scan->fill && in[0] ? read_scan_trips(l, in[0], err) : TC_OK;
}

/* ---- which ---- */

tc_status tc_graph_import_loop(tc_graph_importer *im, const Onnx__NodeProto *p, tc_error *err) {
    scan s = {0};
    bool is_scan = strcmp(p->op_type, "Scan") == 0;
    loop l = {.t = {.at = &im->at, .name = p->name, .scan = is_scan ? &s : NULL}, .im = im, .p = p};
    tc_graph_value **out;
    TC_TRY(is_scan ? read_scan(&l, err) : read_loop(&l, err));
    bool *wanted = TC_NEW_N(im->at.g->arena, bool, TC_MAX(l.t.nstate + l.t.nscan, p->n_output) + 1);
    for (size_t k = 0; k < p->n_output; k++)
        wanted[k] = *p->output[k] != 0;
    l.t.wanted = wanted;
    TC_TRY(tc_graph_import_add_trips(&l.t, &out, err));
    return tc_graph_import_give_outputs(im, p, out, err);
}
