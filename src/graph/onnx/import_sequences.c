/* Sequences and optionals: lists of values that only import knows, so that their operators leave nothing behind but what they do
 * to tensors (slices, concatenations). Where only the data know lengths and positions, elements must be alike
 * (graph/import/lists.h); an optional is a list of one value or none.
 *
 * A list is a value of the graph whose `sequence` says what is in it, and which no node makes or reads. */
#include <inttypes.h>
#include <string.h>

#include "graph/onnx/import_int.h"

enum { MAX_LENGTH = 1 << 12 }; /* each element is a few nodes */

typedef struct sequencer {
    tc_graph_importer *im;
    const Onnx__NodeProto *p;
    size_t nin;
    tc_graph_value **in, **out; /* of the node; NULL for those left out */
    tc_graph_infer_ctx c;
    tc_graph_emitter e;
    tc_error *err;
} sequencer;

/* ---- operands ---- */

static tc_graph_value *input(const sequencer *s, size_t k) {
    return k < s->nin ? s->in[k] : NULL;
}

static tc_status want_sequence(const sequencer *s, size_t k, const tc_graph_sequence **out) {
    const tc_graph_value *v = input(s, k);
    if (!v || !v->sequence || v->sequence->optional)
        return tc_fail(s->err, TC_BAD_INPUT, "its input %zu must be a sequence", k);
    *out = v->sequence;
    return TC_OK;
}

static tc_status want_tensor(const sequencer *s, size_t k, tc_graph_value **out) {
    tc_graph_value *v = input(s, k);
    if (!v || v->sequence)
        return tc_fail(s->err, TC_BAD_INPUT, "its input %zu must be a tensor", k);
    *out = v;
    return TC_OK;
}

/* Input k, which may be left out, is a position: one integer. */
static tc_status check_position(const sequencer *s, size_t k) {
    const tc_graph_value *v = input(s, k);
    if (v && (v->sequence || !tc_dtype_is_int(v->dtype) || tc_graph_shape_count(&v->shape) != 1 || tc_graph_is_dynamic(v)))
        return tc_fail(s->err, TC_BAD_INPUT, "its position '%s' must be one integer", v->name);
    return TC_OK;
}

/* Does the list or the position in input k depend on data? */
static bool is_open(const sequencer *s, const tc_graph_sequence *list, size_t k) {
    const tc_graph_value *v = input(s, k);
    return list->rows || (v && !v->constant);
}

/* Input k as a position among n: one of the last where it is negative, `otherwise` where it is left out. */
static tc_status want_position(const sequencer *s, size_t k, int64_t n, int64_t otherwise, size_t *out) {
    const tc_graph_value *v = input(s, k);
    int64_t at = v ? tc_load_i(v->dtype, v->constant->data, 0) : otherwise;
    at = at < 0 ? at + n : at;
    if (at < 0 || at >= n)
        return tc_fail(s->err, TC_BAD_INPUT, "position %" PRId64 " is outside of a sequence of %" PRId64, at, n);
    *out = (size_t)at;
    return TC_OK;
}

static int64_t attribute(const sequencer *s, const char *name, int64_t otherwise) {
    const Onnx__AttributeProto *a = tc_graph_import_attribute(s->p, name);
    return a ? a->i : otherwise;
}

static tc_graph_value *list_of(sequencer *s, tc_graph_value **v, size_t n) {
    return tc_graph_import_list(s->im->at.g, (tc_graph_sequence){.n = n, .v = v});
}

static tc_graph_value *constant(sequencer *s, tc_dtype t, int64_t v) {
    return tc_graph_em_ints(&s->e, t, &(tc_graph_shape){0}, &v);
}

/* ---- lists ---- */

static tc_status sequence_empty(sequencer *s) {
    s->out[0] = list_of(s, NULL, 0);
    return TC_OK;
}

static tc_status sequence_construct(sequencer *s) {
    tc_graph_value *v = NULL;
    for (size_t k = 0; k < s->nin; k++)
        TC_TRY(want_tensor(s, k, &v));
    s->out[0] = list_of(s, s->in, s->nin);
    return TC_OK;
}

static tc_status sequence_insert(sequencer *s) {
    const tc_graph_sequence *from = NULL;
    tc_graph_value *v = NULL;
    size_t at = 0;
    TC_TRY(want_sequence(s, 0, &from));
    TC_TRY(want_tensor(s, 1, &v));
    TC_TRY(check_position(s, 2));
    if (from->n >= MAX_LENGTH)
        return tc_refuse(s->err, TC_ERROR_UNSUPPORTED, "sequences of more than %d elements are not supported", MAX_LENGTH);
    if (is_open(s, from, 2) && input(s, 2))
        return tc_graph_import_insert_at(&s->e, from, v, s->in[2], &s->out[0]);
    TC_TRY(want_position(s, 2, (int64_t)from->n + 1, (int64_t)from->n, &at));
    if (input(s, 2) && tc_load_i(s->in[2]->dtype, s->in[2]->constant->data, 0) < 0) /* counts from an end without the new one */
        at--;
    if (at > from->n)
        return tc_fail(s->err, TC_BAD_INPUT, "its position is outside of a sequence of %zu", from->n);
    tc_graph_value **to = TC_NEW_N(s->im->at.g->arena, tc_graph_value *, from->n + 1);
    memcpy(to, from->v, at * sizeof *to);
    to[at] = v;
    memcpy(to + at + 1, from->v + at, (from->n - at) * sizeof *to);
    s->out[0] = tc_graph_import_list(s->im->at.g, (tc_graph_sequence){.rows = from->rows, .n = from->n + 1, .v = to});
    return TC_OK;
}

static tc_status sequence_erase(sequencer *s) {
    const tc_graph_sequence *from = NULL;
    size_t at = 0;
    TC_TRY(want_sequence(s, 0, &from));
    TC_TRY(check_position(s, 1));
    if (is_open(s, from, 1))
        return tc_graph_import_erase_at(&s->e, from, input(s, 1), &s->out[0]);
    TC_TRY(want_position(s, 1, (int64_t)from->n, -1, &at));
    tc_graph_value **to = TC_NEW_N(s->im->at.g->arena, tc_graph_value *, from->n);
    memcpy(to, from->v, at * sizeof *to);
    memcpy(to + at, from->v + at + 1, (from->n - at - 1) * sizeof *to);
    s->out[0] = list_of(s, to, from->n - 1);
    return TC_OK;
}

static tc_status sequence_at(sequencer *s) {
    const tc_graph_sequence *from = NULL;
    size_t at = 0;
    TC_TRY(want_sequence(s, 0, &from));
    TC_TRY(check_position(s, 1));
    if (!input(s, 1))
        return tc_fail(s->err, TC_BAD_INPUT, "input 1 (position) is missing");
    if (is_open(s, from, 1))
        return tc_graph_import_at(&s->e, from, s->in[1], &s->out[0]);
    TC_TRY(want_position(s, 1, (int64_t)from->n, -1, &at));
    s->out[0] = from->v[at];
    return TC_OK;
}

static tc_status sequence_length(sequencer *s) {
    const tc_graph_sequence *from = NULL;
    TC_TRY(want_sequence(s, 0, &from));
    s->out[0] = tc_graph_import_count(&s->e, from);
    return s->e.status;
}

/* ---- tensors to lists and back ---- */

/* Sizes of the parts that x has along the axis: given as a list, by one number, or all 1. */
static tc_status part_sizes(sequencer *s, int64_t length, int64_t **sizes, size_t *n) {
    tc_graph_value *v = input(s, 1);
    if (v && (v->sequence || !v->constant || !tc_dtype_is_int(v->dtype) || v->shape.ndim > 1))
        return tc_refuse(s->err, TC_ERROR_NOT_CONSTANT,
                         "its sizes '%s' must be integers that are known when the model is imported", v->name);
    int64_t step = !v ? 1 : v->shape.ndim ? 0 : tc_load_i(v->dtype, v->constant->data, 0), sum = 0;
    int64_t count = v && v->shape.ndim ? v->shape.d[0] : step > 0 ? length / step + (length % step != 0) : -1;
    if (count < 0 || count > MAX_LENGTH)
        return tc_refuse(s->err, TC_ERROR_UNSUPPORTED, "it makes %" PRId64 " parts of %" PRId64 "; at most %d are supported",
                         count, length, MAX_LENGTH);
    *n = (size_t)count;
    *sizes = TC_NEW_N(s->im->at.g->arena, int64_t, count + 1);
    for (int64_t i = 0; i < count; i++) {
        (*sizes)[i] = step > 0 ? TC_MIN(step, length - i * step) : tc_load_i(v->dtype, v->constant->data, i);
        if ((*sizes)[i] < 0 || (*sizes)[i] > length - sum)
            return tc_fail(s->err, TC_BAD_INPUT, "the sizes of its parts do not fit an axis of %" PRId64, length);
        sum += (*sizes)[i];
    }
    return sum == length
               ? TC_OK
               : tc_fail(s->err, TC_BAD_INPUT, "its parts have %" PRId64 " elements, but the axis has %" PRId64, sum, length);
}

static tc_status want_axis(const sequencer *s, int64_t axis, int ndim, int *out) {
    if (axis < -ndim || axis >= ndim)
        return tc_fail(s->err, TC_BAD_INPUT, "axis %" PRId64 " is outside of a tensor with %d dimensions", axis, ndim);
    *out = (int)(axis < 0 ? axis + ndim : axis);
    return TC_OK;
}

static tc_status split_open_axis(sequencer *s, tc_graph_value *x, int axis) {
    tc_graph_value *v = input(s, 1);
    bool ones = !v || (!v->sequence && v->constant && tc_dtype_is_int(v->dtype) && v->shape.ndim == 0 &&
                       tc_load_i(v->dtype, v->constant->data, 0) == 1);
    if (!ones || x->shape.ndim >= TC_GRAPH_MAX_DIMS)
        return tc_refuse(
            s->err, TC_ERROR_UNSUPPORTED,
            "the size of dimension %d of '%s', along which it is split, depends on data; only parts of one element are "
            "supported there",
            axis, x->name);
    for (int d = 0; d < x->shape.ndim; d++)
        if (d != axis && tc_graph_extent(x, d))
            return tc_refuse(s->err, TC_ERROR_UNSUPPORTED, "the sizes of two dimensions of '%s' depend on data; one is supported",
                             x->name);
    return tc_graph_import_split_rows(&s->e, x, axis, v || attribute(s, "keepdims", 1) != 0, &s->out[0]);
}

static tc_status split_to_sequence(sequencer *s) {
    tc_graph_value *x = NULL;
    int64_t *sizes = NULL, at = 0;
    size_t n = 0;
    int axis = 0;
    TC_TRY(want_tensor(s, 0, &x));
    TC_TRY(want_axis(s, attribute(s, "axis", 0), x->shape.ndim, &axis));
    if (tc_graph_extent(x, axis))
        return split_open_axis(s, x, axis);
    TC_TRY(part_sizes(s, x->shape.d[axis], &sizes, &n));
    bool squeeze = !input(s, 1) && attribute(s, "keepdims", 1) == 0;
    tc_graph_value **parts = TC_NEW_N(s->im->at.g->arena, tc_graph_value *, n + 1);
    for (size_t i = 0; i < n; at += sizes[i++]) {
        parts[i] = tc_graph_em_slice(&s->e, x, axis, at, at + sizes[i], 1);
        parts[i] = squeeze ? tc_graph_em_one(&s->e, TC_GRAPH_OP_SQUEEZE, parts[i], axis) : parts[i];
    }
    s->out[0] = list_of(s, parts, n);
    return s->e.status;
}

static tc_status concat_rows(sequencer *s, const tc_graph_sequence *from, bool fresh) {
    int axis = 0, ndim = from->rows->shape.ndim - 1 + fresh;
    TC_TRY(want_axis(s, attribute(s, "axis", 0), ndim, &axis));
    return tc_graph_import_concat_rows(&s->e, from, axis, fresh, &s->out[0]);
}

static tc_status concat_from_sequence(sequencer *s) {
    const tc_graph_sequence *from = NULL;
    int axis = 0, fresh = attribute(s, "new_axis", 0) != 0;
    TC_TRY(want_sequence(s, 0, &from));
    if (from->rows)
        return concat_rows(s, from, fresh);
    if (from->n == 0)
        return tc_fail(s->err, TC_BAD_INPUT, "the sequence has no elements to concatenate");
    for (size_t i = 0; i < from->n; i++)
        if (from->v[i]->sequence || from->v[i]->shape.ndim != from->v[0]->shape.ndim)
            return tc_fail(s->err, TC_BAD_INPUT, "element %zu of the sequence is no tensor with as many dimensions as the first",
                           i);
    int ndim = from->v[0]->shape.ndim + fresh;
    TC_TRY(want_axis(s, attribute(s, "axis", 0), ndim, &axis));
    if (ndim > TC_GRAPH_MAX_DIMS)
        return tc_refuse(s->err, TC_ERROR_UNSUPPORTED, "the result has %d dimensions; at most %d are supported", ndim,
                         TC_GRAPH_MAX_DIMS);
    tc_graph_value **parts = tc_arena_dup(s->im->at.g->arena, from->v, from->n * sizeof *parts);
    for (size_t i = 0; i < from->n && fresh; i++)
        parts[i] = tc_graph_em_one(&s->e, TC_GRAPH_OP_UNSQUEEZE, parts[i], axis);
    s->out[0] = tc_graph_em_concat(&s->e, axis, parts, (int)from->n);
    return s->e.status;
}

/* ---- SequenceMap: the body once for each element ---- */

static tc_status map_element(sequencer *s, const Onnx__GraphProto *body, size_t i, tc_graph_value ***out) {
    tc_graph_import_scope scope = {.opset = tc_graph_import_opset(s->im)};
    for (size_t k = 0; k < body->n_input; k++) {
        tc_graph_value *v = s->in[k];
        v = v && v->sequence && !v->sequence->optional ? v->sequence->v[i] : v;
        tc_map_puts(&scope.values, body->input[k]->name ? body->input[k]->name : "", (uintptr_t)v);
    }
    return tc_graph_import_graph(s->im, s->p, body, &scope, out, s->err);
}

static tc_status sequence_map(sequencer *s) {
    const tc_graph_sequence *first = NULL, *other = NULL;
    const Onnx__AttributeProto *a = tc_graph_import_attribute(s->p, "body");
    TC_TRY(want_sequence(s, 0, &first));
    for (size_t k = 0; k < s->nin; k++)
        if (want_sequence(s, k, &other) == TC_OK && other->rows)
            return tc_refuse(
                s->err, TC_ERROR_NOT_CONSTANT,
                "the number of elements of its input %zu depends on data; it must be known when the model is imported", k);
    if (!a || !a->g)
        return tc_fail(s->err, TC_BAD_INPUT, "attribute 'body' must be a graph");
    if (a->g->n_input != s->nin || a->g->n_output < s->p->n_output)
        return tc_fail(s->err, TC_BAD_INPUT, "it has %zu inputs and %zu outputs, but its body has %zu and %zu", s->nin,
                       s->p->n_output, a->g->n_input, a->g->n_output);
    for (size_t k = 1; k < s->nin; k++)
        if (want_sequence(s, k, &other) == TC_OK && other->n != first->n)
            return tc_fail(s->err, TC_BAD_INPUT, "its sequences have %zu and %zu elements", first->n, other->n);
    tc_arena *arena = s->im->at.g->arena;
    tc_graph_value **all = TC_NEW_N(arena, tc_graph_value *, first->n * s->p->n_output + 1), **one;
    for (size_t i = 0; i < first->n; i++) {
        TC_TRY(map_element(s, a->g, i, &one));
        for (size_t k = 0; k < s->p->n_output; k++)
            all[k * first->n + i] = one[k];
    }
    for (size_t k = 0; k < s->p->n_output; k++)
        s->out[k] = list_of(s, all + k * first->n, first->n);
    return TC_OK;
}

/* ---- optionals ---- */

static bool is_optional(const tc_graph_value *v) {
    return v && v->sequence && v->sequence->optional;
}

static tc_status optional(sequencer *s) {
    tc_graph_value *v = input(s, 0);
    s->out[0] = tc_graph_import_list(s->im->at.g, (tc_graph_sequence){.n = v ? 1 : 0, .v = &v, .optional = true});
    return TC_OK;
}

/* Tensors and sequences are optionals that are there. */
static tc_status optional_has_element(sequencer *s) {
    const tc_graph_value *v = input(s, 0);
    s->out[0] = constant(s, TC_BOOL, is_optional(v) ? v->sequence->n == 1 : v != NULL);
    return s->e.status;
}

static tc_status optional_get_element(sequencer *s) {
    tc_graph_value *v = input(s, 0);
    if (!v || (is_optional(v) && v->sequence->n == 0))
        return tc_fail(s->err, TC_BAD_INPUT, "the optional has no element");
    s->out[0] = is_optional(v) ? v->sequence->v[0] : v;
    return TC_OK;
}

static tc_status identity(sequencer *s) {
    s->out[0] = s->in[0];
    return TC_OK;
}

/* ---- the table ---- */

typedef struct rule {
    const char *name;
    int since;
    int min_in, max_in; /* max_in -1: no limit */
    tc_status (*add)(sequencer *s);
} rule;

static const rule rules[] = {{"ConcatFromSequence", 11, 1, 1, concat_from_sequence},
                             {"Identity", 14, 1, 1, identity}, /* of lists; any other is a node */
                             {"Optional", 15, 0, 1, optional},
                             {"OptionalGetElement", 15, 1, 1, optional_get_element},
                             {"OptionalHasElement", 15, 0, 1, optional_has_element},
                             {"SequenceAt", 11, 2, 2, sequence_at},
                             {"SequenceConstruct", 11, 1, -1, sequence_construct},
                             {"SequenceEmpty", 11, 0, 0, sequence_empty},
                             {"SequenceErase", 11, 1, 2, sequence_erase},
                             {"SequenceInsert", 11, 2, 3, sequence_insert},
                             {"SequenceLength", 11, 1, 1, sequence_length},
                             {"SequenceMap", 17, 1, -1, sequence_map},
                             {"SplitToSequence", 11, 1, 2, split_to_sequence}};

static const rule *rule_of(const tc_graph_importer *im, const Onnx__NodeProto *p) {
    for (size_t i = 0; i < TC_LEN(rules) && p->op_type && tc_graph_import_default_domain(p->domain); i++)
        if (strcmp(p->op_type, rules[i].name) == 0 && rules[i].since <= tc_graph_import_opset(im))
            return &rules[i];
    return NULL;
}

bool tc_graph_import_is_sequence_operator(const tc_graph_importer *im, const Onnx__NodeProto *p) {
    const rule *r = rule_of(im, p);
    return r && r->add != identity;
}

bool tc_graph_import_takes_sequence(tc_graph_importer *im, const Onnx__NodeProto *p) {
    const rule *r = rule_of(im, p);
    tc_graph_value *v = NULL;
    if (!r || r->add != identity)
        return r != NULL;
    tc_error ignored = {0};
    return p->n_input == 1 && tc_graph_import_input(im, p->input[0], &v, &ignored) == TC_OK && v && v->sequence;
}

tc_status tc_graph_import_sequence_node(tc_graph_importer *im, const Onnx__NodeProto *p, tc_error *err) {
    const rule *r = rule_of(im, p);
    tc_arena *a = im->at.g->arena;
    sequencer s = {.im = im, .p = p, .nin = p->n_input, .err = err};
    s.in = TC_NEW_N(a, tc_graph_value *, p->n_input + 1);
    s.out = TC_NEW_N(a, tc_graph_value *, p->n_output + 1);
    s.c = (tc_graph_infer_ctx){.g = im->at.g, .opset = TC_GRAPH_OPSET_MAX, .err = err};
    s.c.n = tc_graph_new_node(im->at.g, TC_GRAPH_OP_IDENTITY, tc_graph_import_name_of(p), NULL, 0);
    s.e = (tc_graph_emitter){&s.c, TC_OK};
    if (s.nin < (size_t)r->min_in || (r->max_in >= 0 && s.nin > (size_t)r->max_in) ||
        (r->add != sequence_map && p->n_output != 1))
        return tc_fail(err, TC_BAD_INPUT, "the operator does not take %zu inputs and %zu outputs", s.nin, p->n_output);
    for (size_t k = 0; k < s.nin; k++)
        TC_TRY(tc_graph_import_input(im, p->input[k], &s.in[k], err));
    TC_TRY(r->add(&s));
    return tc_graph_import_give_outputs(im, p, s.out, err);
}

bool tc_graph_import_sequence_op(size_t i, tc_graph_import_op *out) {
    for (size_t k = 0; k < TC_LEN(rules); k++)
        if (rules[k].add != identity && i-- == 0) {
            *out = (tc_graph_import_op){rules[k].name, rules[k].since, rules[k].min_in, rules[k].max_in};
            return true;
        }
    return false;
}
