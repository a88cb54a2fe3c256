/* Loop and Scan. A known number of trips that is not large is written out: the nodes of the body once for each trip. All others
 * run at run time (import_run_time.c). Where their bodies are not for that, as when shapes follow from the number of the trip,
 * they are written out as well, if their number of trips has a largest value. Nodes have no effects, so a trip that the data may
 * stop is computed all the same, and its results are taken only while the loop goes on:
 *
 *     Loop(M, cond, v)    go[0] = cond       v[i+1] = Where(go[i], body(i, v[i]), v[i])      go[i+1] = go[i] and body's condition
 */
#include <inttypes.h>
#include <string.h>

#include "graph/ir/sizes.h"
#include "graph/onnx/import_int.h"

/* Written out, small bodies gain from each other, and from constants: up to so many trips, and nodes of all trips before anything
 * is folded. MAX_TRIPS: where there is no other way. */
enum { FEW_TRIPS = 32, FEW_NODES = 1 << 13, MAX_TRIPS = 4096 };

typedef tc_graph_import_trips loop;
typedef tc_graph_import_scan scan;

static tc_graph_value *number(loop *l, tc_dtype t, int64_t v) {
    return tc_graph_em_ints(&l->e, t, &(tc_graph_shape){0}, &v);
}

static int64_t constant_of(const tc_graph_value *v) {
    return tc_load_i(v->dtype, v->constant->data, 0);
}

/* ---- one trip ---- */

/* The body's results. `in`: what its inputs are in this trip. */
static tc_status trip(loop *l, tc_graph_value *const *in, tc_graph_value ***out, tc_error *err) {
    tc_graph_import_scope s = {.opset = tc_graph_import_opset(l->im), .of_batch = l->scan && l->scan->batch};
    for (size_t k = 0; k < l->body->n_input; k++)
        tc_map_puts(&s.values, l->body->input[k]->name ? l->body->input[k]->name : "", (uintptr_t)in[k]);
    return tc_graph_import_graph(l->im, l->p, l->body, &s, out, err);
}

/* After a trip that gave `next`: what is carried on. */
static tc_status carry(loop *l, tc_graph_value *const *next, tc_error *err) {
    for (size_t k = 0; k < l->nstate; k++) {
        const tc_graph_value *old = l->state[k];
        if (l->go && (old->sequence || next[k]->sequence))
            return tc_refuse(err, TC_ERROR_NOT_CONSTANT,
                             "value %zu that it carries is a sequence or optional, but the number of trips depends on data; it "
                             "must be known when the model is imported",
                             k);
        if (l->go && (next[k]->dtype != old->dtype || !tc_graph_shape_equal(&next[k]->shape, &old->shape)))
            return tc_fail(err, TC_BAD_INPUT,
                           "value %zu that it carries is %s before a trip and %s after it; where the number of trips depends on "
                           "data, it must keep its type",
                           k, tc_graph_type_str(l->im->at.g->arena, old->dtype, &old->shape),
                           tc_graph_type_str(l->im->at.g->arena, next[k]->dtype, &next[k]->shape));
        l->state[k] = l->go ? tc_graph_em_either(&l->e, l->go, next[k], l->state[k]) : next[k];
    }
    if (l->go)
        l->done = em_add(&l->e, l->done ? l->done : number(l, TC_I64, l->trips), tc_graph_em_cast(&l->e, l->go, TC_I64));
    l->trips++;
    return l->e.status;
}

/* ---- results ---- */

/* A Scan that gives rows for trips that it does not make: they are 0. */
static tc_graph_value *filled(loop *l, tc_graph_value *rows) {
    int64_t pads[2 * TC_GRAPH_MAX_DIMS] = {0};
    if (!l->scan || !l->scan->fill)
        return rows;
    if (tc_graph_is_dynamic(rows))
        rows = tc_graph_em_blind(&l->e, tc_graph_em_masked(&l->e, rows, 0, tc_graph_em_scalar(&l->e, rows->dtype, 0)));
    pads[rows->shape.ndim] = l->scan->length - rows->shape.d[0];
    return pads[rows->shape.ndim] ? tc_graph_em_pad(&l->e, rows, pads, NULL) : rows;
}

/* The rows of result k put together along an axis of their own; *empty: of the type of that, when there are none. */
static tc_status stacked(loop *l, size_t k, int64_t axis, bool reverse, const tc_graph_value *empty, tc_graph_value **out,
                         tc_error *err) {
    int64_t n = l->trips;
    tc_graph_value **parts = TC_NEW_N(l->im->at.g->arena, tc_graph_value *, n + 1);
    const tc_graph_value *first = n ? l->rows[k] : empty;
    tc_graph_shape s = first->shape;
    axis = axis < 0 ? axis + s.ndim + 1 : axis;
    if (s.ndim >= TC_GRAPH_MAX_DIMS || axis < 0 || axis > s.ndim)
        return tc_fail(err, TC_BAD_INPUT, "result %zu has %d dimensions in a trip and cannot be put together along axis %" PRId64,
                       k + l->nstate, s.ndim, axis);
    memmove(&s.d[axis + 1], &s.d[axis], sizeof s.d[0] * (size_t)(s.ndim++ - axis));
    s.d[axis] = 1;
    for (int64_t i = 0; i < n; i++) {
        tc_graph_value *row = l->rows[(size_t)(reverse ? n - 1 - i : i) * l->nscan + k];
        if (!tc_graph_shape_equal(&row->shape, &first->shape) || row->dtype != first->dtype || tc_graph_is_dynamic(row) ||
            row->sequence)
            return tc_fail(err, TC_BAD_INPUT, "result %zu is %s in one trip and %s in another, or its size depends on data",
                           k + l->nstate, tc_graph_type_str(l->im->at.g->arena, first->dtype, &first->shape),
                           tc_graph_type_str(l->im->at.g->arena, row->dtype, &row->shape));
        parts[i] = tc_graph_em_reshape(&l->e, row, &s);
    }
    if (n == 0) {
        s.d[axis] = 0;
        *out = tc_graph_em_ints(&l->e, first->dtype, &s, NULL);
    } else {
        *out = tc_graph_em_concat(&l->e, (int)axis, parts, (int)n);
    }
    if (n && l->done)
        *out = tc_graph_em_sized(&l->e, *out, (int)axis, l->done);
    *out = filled(l, *out);
    return l->e.status;
}

static tc_status give(loop *l, tc_graph_value *const *empty, const int64_t *axes, const int64_t *reverse, tc_error *err) {
    tc_graph_value **v = TC_NEW_N(l->im->at.g->arena, tc_graph_value *, l->nstate + l->nscan + 1);
    memcpy(v, l->state, l->nstate * sizeof *v);
    for (size_t k = 0; k < l->nscan && k + l->nstate < l->p->n_output; k++)
        if (*l->p->output[l->nstate + k])
            TC_TRY(stacked(l, k, axes ? axes[k] : 0, reverse && reverse[k], empty[k], &v[l->nstate + k], err));
    return tc_graph_import_give_outputs(l->im, l->p, v, err);
}

static void keep_rows(loop *l, tc_graph_value *const *rows) {
    tc_graph_value **all = TC_NEW_N(l->im->at.g->arena, tc_graph_value *, (size_t)(l->trips + 1) * l->nscan + 1);
    if (l->trips && l->nscan)
        memcpy(all, l->rows, (size_t)l->trips * l->nscan * sizeof *all);
    if (l->nscan)
        memcpy(all + (size_t)l->trips * l->nscan, rows, l->nscan * sizeof *all);
    l->rows = all;
}

static tc_status open_loop(loop *l, tc_error *err) {
    const Onnx__AttributeProto *a = tc_graph_import_attribute(l->p, "body");
    if (!a || !a->g)
        return tc_fail(err, TC_BAD_INPUT, "attribute 'body' must be a graph");
    tc_graph *g = l->im->at.g;
    l->body = a->g;
    l->c = (tc_graph_infer_ctx){.g = g, .opset = TC_GRAPH_OPSET_MAX, .err = err};
    l->c.n = tc_graph_new_node(g, TC_GRAPH_OP_IDENTITY, tc_graph_import_name_of(l->p), NULL, 0);
    l->e = (tc_graph_emitter){&l->c, TC_OK};
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

static tc_status one_of_type(const tc_graph_value *v, tc_dtype t, const char *what, tc_error *err) {
    if (!v || (v->dtype == t && tc_graph_shape_count(&v->shape) == 1 && !tc_graph_is_dynamic(v)))
        return TC_OK;
    return tc_fail(err, TC_BAD_INPUT, "its %s '%s' must be one %s", what, v->name, tc_dtype_name(t));
}

static bool is_false(const tc_graph_value *v) {
    return v && v->constant && !constant_of(v);
}

/* Joins a condition to those before. */
static void also(loop *l, tc_graph_value *cond) {
    if (!cond || cond->constant)
        return;
    cond = tc_graph_em_reshape(&l->e, cond, &(tc_graph_shape){0});
    l->go = l->go ? tc_graph_em_op(&l->e, TC_GRAPH_OP_AND, l->go, cond) : cond;
}

/* *last stays NULL where no trip is made; *open: the data decide about trips, which l does not allow. */
static tc_status write_loop(loop *l, tc_graph_value ***last, bool *open, tc_error *err) {
    const tc_graph_number *m = &l->limit;
    tc_graph_value *cond = l->cond, **in = TC_NEW_N(l->im->at.g->arena, tc_graph_value *, l->body->n_input + 1), **out;
    also(l, cond);
    for (int64_t i = 0; !is_false(cond) && i < m->most; i++) {
        if (!m->constant)
            also(l, em_less(&l->e, number(l, TC_I64, i), m->value));
        *open = l->go && !l->data;
        if (*open)
            return TC_OK;
        in[0] = number(l, TC_I64, i);
        in[1] = number(l, TC_BOOL, 1);
        memcpy(in + 2, l->state, l->nstate * sizeof *in);
        TC_TRY(l->e.status);
        TC_TRY(trip(l, in, &out, err));
        TC_TRY(one_of_type(out[0], TC_BOOL, "body's condition", err));
        keep_rows(l, out + 1 + l->nstate);
        TC_TRY(carry(l, out + 1, err));
        *last = out;
        cond = out[0];
        also(l, cond);
    }
    return TC_OK;
}

static tc_status read_loop(loop *l, tc_error *err) {
    tc_arena *a = l->im->at.g->arena;
    tc_graph_value **in = TC_NEW_N(a, tc_graph_value *, l->p->n_input + 3);
    l->limit = (tc_graph_number){.most = INT64_MAX, .constant = true};
    TC_TRY(open_loop(l, err));
    TC_TRY(read_inputs(l, in, 2, err));
    l->nstate = l->p->n_input > 2 ? l->p->n_input - 2 : 0;
    if (l->body->n_input != l->nstate + 2 || l->body->n_output < l->nstate + 1)
        return tc_fail(err, TC_BAD_INPUT, "it carries %zu values, but its body has %zu inputs and %zu outputs", l->nstate,
                       l->body->n_input, l->body->n_output);
    l->nscan = l->body->n_output - l->nstate - 1;
    TC_TRY(one_of_type(in[0], TC_I64, "trip count", err));
    TC_TRY(one_of_type(in[1], TC_BOOL, "condition", err));
    l->cond = in[1];
    l->state = tc_arena_dup(a, in + 2, (l->nstate + 1) * sizeof *in);
    if (!in[0])
        return TC_OK;
    tc_graph_number v[TC_GRAPH_MAX_NUMBERS];
    TC_TRY(tc_graph_trace(&l->e, in[0], v));
    l->limit = v[0];
    return TC_OK;
}

/* Made by nothing, for what is dropped as dead. */
static tc_graph_value *of_type(const loop *l, tc_dtype t, const tc_graph_shape *shape) {
    tc_graph *g = l->im->at.g;
    return tc_graph_add_value(g, tc_graph_fresh_name(g, l->c.n->name), t, shape);
}

/* No trip is made: one is written out for the types of its results, and dropped as dead. Where there is nothing at the place of a
 * first trip, as in what has no rows, it is that of a number that nobody knows. */
static tc_status types_of_rows(loop *l, tc_graph_value ***last, tc_error *err) {
    tc_graph_value **args = TC_NEW_N(l->im->at.g->arena, tc_graph_value *, l->nstate + 3);
    tc_error again = {0};
    args[0] = number(l, TC_I64, 0);
    args[1] = number(l, TC_BOOL, 1);
    memcpy(args + 2, l->state, l->nstate * sizeof *args);
    tc_status s = trip(l, args, last, err);
    if (s != TC_BAD_INPUT)
        return s;
    args[0] = of_type(l, TC_I64, &(tc_graph_shape){0});
    return trip(l, args, last, &again) == TC_OK ? TC_OK : s;
}

static tc_status write_out_loop(loop *l, bool *open, tc_error *err) {
    tc_graph_value **last = NULL;
    TC_TRY(write_loop(l, &last, open, err));
    if (*open)
        return TC_OK;
    if (!last && l->nscan)
        TC_TRY(types_of_rows(l, &last, err));
    return give(l, last ? last + 1 + l->nstate : NULL, NULL, NULL, err);
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

static tc_graph_value *element(loop *l, size_t k, int64_t i) {
    const scan *s = l->scan;
    int d = s->axis[k];
    tc_graph_value *v = tc_graph_em_with_sizes(&l->e, tc_graph_em_blind(&l->e, s->in[k]), s->in[k], d, NULL);
    tc_graph_shape shape = v->shape;
    bool back = s->directions && s->directions[k];
    if (s->length == 0) {
        memmove(&shape.d[d], &shape.d[d + 1], sizeof shape.d[0] * (size_t)(shape.ndim - d - 1));
        shape.ndim--;
        return of_type(l, v->dtype, &shape);
    }
    if (back && !l->limit.constant) { /* past its last trip, any */
        tc_graph_value *at = em_sub(&l->e, l->limit.value, number(l, TC_I64, i + 1));
        return tc_graph_em_gather(&l->e, TC_GRAPH_OP_GATHER, v, em_max(&l->e, at, number(l, TC_I64, 0)), d);
    }
    i = back ? TC_MAX(l->limit.most, 1) - 1 - i : i;
    memmove(&shape.d[d], &shape.d[d + 1], sizeof shape.d[0] * (size_t)(shape.ndim - d - 1));
    shape.ndim--;
    return tc_graph_em_reshape(&l->e, tc_graph_em_slice(&l->e, v, d, i, i + 1, 1), &shape);
}

static tc_status read_scan_attributes(loop *l, size_t nin, tc_error *err) {
    scan *s = l->scan;
    const Onnx__AttributeProto *a = tc_graph_import_attribute(l->p, "num_scan_inputs");
    s->n = a && a->i > 0 ? (size_t)a->i : 0;
    if (s->n == 0 || s->n > nin || l->body->n_input != nin || l->body->n_output < nin - s->n)
        return tc_fail(err, TC_BAD_INPUT,
                       "attribute num_scan_inputs is %zu, which does not fit its %zu inputs and its body's %zu", s->n, nin,
                       l->body->n_input);
    l->nstate = nin - s->n;
    l->nscan = l->body->n_output - l->nstate;
    if (s->fill)
        return scan_list(l, "directions", s->n, &s->directions, err);
    TC_TRY(scan_list(l, "scan_input_axes", s->n, &s->axes, err));
    TC_TRY(scan_list(l, "scan_input_directions", s->n, &s->directions, err));
    TC_TRY(scan_list(l, "scan_output_axes", l->nscan, &s->out_axes, err));
    return scan_list(l, "scan_output_directions", l->nscan, &s->out_directions, err);
}

/* Opset 8: how many trips are made of those that the inputs are long enough for. */
static tc_status read_scan_trips(loop *l, tc_graph_value *n, tc_error *err) {
    int64_t length = l->scan->length;
    TC_TRY(one_of_type(n, TC_I64, "sequence length", err));
    tc_graph_value *most = em_min(&l->e, tc_graph_em_reshape(&l->e, n, &(tc_graph_shape){0}), number(l, TC_I64, length));
    TC_TRY(l->e.status);
    TC_TRY(tc_graph_trace(&l->e, em_max(&l->e, most, number(l, TC_I64, 0)), &l->limit));
    l->limit.most = l->limit.constant ? l->limit.most : length;
    return l->e.status;
}

/* The body for one sequence walks nothing but the batch. Inputs: without the lengths, if they are left out. */
static tc_graph_value **read_batch(loop *l, tc_graph_value **in, size_t nin) {
    size_t left_out = in[0] ? 0 : 1;
    l->body = tc_graph_import_sequence_of_batch(l->im, l->p);
    l->scan->n = nin - left_out;
    l->nstate = 0;
    l->nscan = l->body->n_output;
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
    l->scan->fill = lengths && l->im->scope && l->im->scope->of_batch;
    l->scan->batch = lengths && !l->scan->fill;
    if (l->scan->batch)
        rest = read_batch(l, in, n);
    else
        TC_TRY(read_scan_attributes(l, n - lengths, err));
    l->scan->axis = TC_NEW_N(a, int, n + 1);
    l->scan->in = rest + l->nstate;
    l->state = tc_arena_dup(a, rest, (l->nstate + 1) * sizeof *rest);
    TC_TRY(scan_length(l, l->scan, err));
    l->limit =
        (tc_graph_number){.value = l->scan->size, .most = l->scan->length, .constant = !l->scan->size || l->scan->length == 0};
    TC_TRY(l->e.status);
    if (l->scan->size && (l->scan->fill || l->scan->batch))
        return tc_refuse(err, TC_ERROR_UNSUPPORTED, "the size of its inputs depends on data, which is not supported at opset 8");
    return l->scan->fill && in[0] ? read_scan_trips(l, in[0], err) : TC_OK;
}

static tc_status scan_trip(loop *l, int64_t i, tc_graph_value ***out, tc_error *err) {
    tc_graph_value **args = TC_NEW_N(l->im->at.g->arena, tc_graph_value *, l->body->n_input + 1);
    memcpy(args, l->state, l->nstate * sizeof *args);
    for (size_t k = 0; k < l->scan->n; k++)
        args[l->nstate + k] = element(l, k, i);
    TC_TRY(l->e.status);
    return trip(l, args, out, err);
}

static tc_status write_out_scan(loop *l, tc_error *err) {
    tc_graph_value **out = NULL;
    for (int64_t i = 0; i < l->limit.most; i++) {
        if (!l->limit.constant)
            also(l, em_less(&l->e, number(l, TC_I64, i), l->limit.value));
        TC_TRY(scan_trip(l, i, &out, err));
        keep_rows(l, out + l->nstate);
        TC_TRY(carry(l, out, err));
    }
    if (!out)
        TC_TRY(scan_trip(l, 0, &out, err)); /* for the types of its rows, and dropped as dead */
    return give(l, out + l->nstate, l->scan->out_axes, l->scan->out_directions, err);
}

tc_status tc_graph_import_turn_rows(tc_graph_import_trips *l, size_t k, tc_graph_value **v, tc_error *err) {
    const scan *s = l->scan;
    int64_t perm[TC_GRAPH_MAX_DIMS], axis = s && s->out_axes ? s->out_axes[k] : 0;
    int ndim = (*v)->shape.ndim;
    axis = axis < 0 ? axis + ndim : axis;
    if (axis < 0 || axis >= ndim)
        return tc_fail(err, TC_BAD_INPUT, "result %zu has %d dimensions in a trip and cannot be put together along axis %" PRId64,
                       k + l->nstate, ndim - 1, axis);
    if (s && s->out_directions && s->out_directions[k])
        *v = tc_graph_em_slice(&l->e, *v, 0, -1, INT64_MIN, -1);
    for (int d = 0, from = 1; d < ndim; d++)
        perm[d] = d == axis ? 0 : from++;
    if (axis)
        *v = tc_graph_em_transpose(&l->e, *v, perm);
    *v = filled(l, *v);
    return l->e.status;
}

/* ---- which way ---- */

/* Those of inner bodies included. */
static size_t count_nodes(const Onnx__GraphProto *g, int depth) {
    size_t n = g->n_node;
    for (size_t i = 0; i < g->n_node && depth < 32; i++)
        for (size_t k = 0; k < g->node[i]->n_attribute; k++)
            if (g->node[i]->attribute[k]->g)
                n += count_nodes(g->node[i]->attribute[k]->g, depth + 1);
    return n;
}

static bool is_small(const loop *l) {
    size_t nodes = count_nodes(l->body, 0);
    return l->limit.most <= FEW_TRIPS && (nodes == 0 || (size_t)TC_MAX(l->limit.most, 0) <= FEW_NODES / nodes);
}

static tc_status write_out(loop *l, bool *open, tc_error *err) {
    *open = false;
    return l->scan ? write_out_scan(l, err) : write_out_loop(l, open, err);
}

/* From its inputs again: an attempt to write it out may have changed what it carries. */
static tc_status attempt(const loop *l, bool data, bool *open, tc_error *err) {
    loop copy = *l;
    copy.e.c = &copy.c;
    copy.c.err = err;
    copy.data = data;
    copy.state = tc_arena_dup(l->im->at.g->arena, l->state, (l->nstate + 1) * sizeof *l->state);
    return write_out(&copy, open, err);
}

tc_status tc_graph_import_loop(tc_graph_importer *im, const Onnx__NodeProto *p, tc_error *err) {
    scan s = {0};
    bool is_scan = strcmp(p->op_type, "Scan") == 0, open = true;
    loop l = {.im = im, .p = p, .scan = is_scan ? &s : NULL};
    TC_TRY(is_scan ? read_scan(&l, err) : read_loop(&l, err));
    bool none = is_false(l.cond) || (l.limit.constant && l.limit.most <= 0);
    if (none || (l.limit.constant && !(l.cond && !l.cond->constant) && is_small(&l)))
        TC_TRY(attempt(&l, false, &open, err));
    if (!open)
        return TC_OK;
    tc_status status = tc_graph_import_trips_at_run_time(&l, err);
    if (im->at.root->sizes && im->at.root->sizes->again)
        return status; /* import begins again */
    if (status == TC_BAD_INPUT && l.limit.most >= 0 && l.limit.most <= MAX_TRIPS) {
        tc_error again = {0};
        if (attempt(&l, true, &open, &again) == TC_OK)
            return TC_OK;
    }
    return status;
}
