/* The functions of expansions.txt. Those with a capital are operators whose result may be the operand itself: a Reshape to the
 * shape that it has is no node. */
#include <math.h>
#include <string.h>

#include "graph/ops/expand.h"
#include "graph/ops/functions.h"

typedef tc_graph_term term;
typedef tc_graph_emitter emitter;

static const term nothing = {.kind = TC_GRAPH_NOTHING};

/* The first failure of an argument that the text gives. */
static term wrong(emitter *e, const char *what) {
    if (e->status == TC_OK)
        e->status = tc_graph_node_fail(e->c, "%s", what);
    return nothing;
}

const int64_t *tc_graph_term_ints(emitter *e, const term *list) {
    int64_t *v = TC_NEW_N(e->c->g->arena, int64_t, list->n + 1);
    for (int64_t i = 0; i < list->n; i++)
        v[i] = list->list[i].kind == TC_GRAPH_INT ? list->list[i].i : 0;
    return v;
}

static term ints(emitter *e, const int64_t *v, int64_t n) {
    term r = {.kind = TC_GRAPH_LIST, .n = n, .list = TC_NEW_N(e->c->g->arena, term, n + 1)};
    for (int64_t i = 0; i < n; i++)
        r.list[i] = tc_graph_term_int(v[i]);
    return r;
}

/* False: the list has too many dimensions, which *r says. */
static bool read_shape(emitter *e, const term *list, tc_graph_shape *s) {
    *s = (tc_graph_shape){.ndim = (int)TC_MIN(list->n, TC_GRAPH_MAX_DIMS)};
    if (list->n > TC_GRAPH_MAX_DIMS)
        wrong(e, "a value of more than 8 dimensions is needed, which is not supported");
    memcpy(s->d, tc_graph_term_ints(e, list), sizeof s->d[0] * (size_t)s->ndim);
    return e->status == TC_OK;
}

static int axis_of(emitter *e, const tc_graph_value *v, const term *axis) {
    int d = 0;
    if (e->status == TC_OK)
        e->status = tc_graph_want_axis(e->c, axis->i, v->shape.ndim, &d);
    return d;
}

/* ---- values ---- */

static term reshape(emitter *e, const term *a) {
    tc_graph_shape s;
    return read_shape(e, &a[1], &s) ? tc_graph_term_value(tc_graph_em_reshape(e, a[0].v, &s)) : nothing;
}

static term expand(emitter *e, const term *a) {
    tc_graph_shape s;
    return read_shape(e, &a[1], &s) ? tc_graph_term_value(tc_graph_em_expand(e, a[0].v, &s)) : nothing;
}

static term cast(emitter *e, const term *a) {
    return tc_graph_term_value(tc_graph_em_cast(e, a[0].v, a[1].dtype));
}

static term transpose(emitter *e, const term *a) {
    if (a[1].n != a[0].v->shape.ndim)
        return wrong(e, "a permutation has too few or too many dimensions");
    return tc_graph_term_value(tc_graph_em_transpose(e, a[0].v, tc_graph_term_ints(e, &a[1])));
}

/* (x, axis, from, to, step?) */
static term slice(emitter *e, const term *a) {
    int d = axis_of(e, a[0].v, &a[1]);
    int64_t step = a[4].kind == TC_GRAPH_INT ? a[4].i : 1;
    return tc_graph_term_value(tc_graph_em_slice(e, a[0].v, d, a[2].i, a[3].kind == TC_GRAPH_INT ? a[3].i : INT64_MIN, step));
}

static term concat(emitter *e, const term *a) {
    tc_graph_value **in = TC_NEW_N(e->c->g->arena, tc_graph_value *, a[1].n + 1);
    for (int64_t i = 0; i < a[1].n; i++)
        in[i] = a[1].list[i].v;
    return tc_graph_term_value(tc_graph_em_concat(e, axis_of(e, in[0], &a[0]), in, (int)a[1].n));
}

static term pad(emitter *e, const term *a) {
    if (a[1].n != 2 * a[0].v->shape.ndim)
        return wrong(e, "there are too few or too many pads");
    return tc_graph_term_value(tc_graph_em_pad(e, a[0].v, tc_graph_term_ints(e, &a[1]), a[2].v));
}

static term along(emitter *e, const term *a) {
    return tc_graph_term_value(tc_graph_em_along(e, a[0].v, (int)a[1].i, (int)a[2].i));
}

static term iota(emitter *e, const term *a) {
    return tc_graph_term_value(tc_graph_em_iota(e, a[0].i, (int)a[1].i, (int)a[2].i));
}

static term constant(emitter *e, const term *a) {
    return tc_graph_term_value(tc_graph_em_scalar(e, a[0].dtype, tc_graph_term_number(&a[1])));
}

/* (type, shape, numbers) */
static term constants(emitter *e, const term *a) {
    tc_graph_shape s;
    double *v = TC_NEW_N(e->c->g->arena, double, a[2].n + 1);
    for (int64_t i = 0; i < a[2].n; i++)
        v[i] = tc_graph_term_number(&a[2].list[i]);
    if (!read_shape(e, &a[1], &s) || tc_graph_shape_count(&s) != a[2].n)
        return wrong(e, "there are too few or too many numbers");
    return tc_graph_term_value(tc_graph_em_floats(e, a[0].dtype, &s, v));
}

static term lowest(emitter *e, const term *a) {
    return tc_graph_term_value(tc_graph_em_lowest(e, a[0].dtype));
}

/* (x, axis, times, most): each element along the axis so often, the last perhaps less often: `most` in all. */
static term repeated(emitter *e, const term *a) {
    int64_t most = a[3].i, *index;
    int d = axis_of(e, a[0].v, &a[1]);
    if (e->status == TC_OK)
        e->status = tc_graph_want_table(e->c, (double)most);
    if (e->status != TC_OK)
        return nothing;
    index = TC_NEW_N(e->c->g->arena, int64_t, most + 1);
    for (int64_t i = 0; i < most; i++)
        index[i] = i / a[2].i;
    return tc_graph_term_value(tc_graph_em_index(e, a[0].v, d, index, most));
}

static term unpacked(emitter *e, const term *a) {
    return tc_graph_term_value(tc_graph_em_unpacked(e, a[0].v, a[1].i));
}

/* ---- sizes that vary ---- */

static term blind(emitter *e, const term *a) {
    return tc_graph_term_value(tc_graph_em_blind(e, a[0].v));
}

static term size(emitter *e, const term *a) {
    return tc_graph_term_value(tc_graph_em_size(e, a[0].v, axis_of(e, a[0].v, &a[1])));
}

static term varies(emitter *e, const term *a) {
    return tc_graph_term_int(tc_graph_extent(a[0].v, axis_of(e, a[0].v, &a[1])) != NULL);
}

/* (v, axis, like, axis of that): v is as large there, whatever that is in a run. */
static term sized(emitter *e, const term *a) {
    tc_graph_value *n = tc_graph_extent(a[2].v, axis_of(e, a[2].v, &a[3]));
    if (!n)
        return a[0];
    return tc_graph_term_value(tc_graph_em_sized(e, em_unary(e, TC_GRAPH_OP_IDENTITY, a[0].v), (int)a[1].i, n));
}

static term meet(emitter *e, const term *a) {
    int d = axis_of(e, a[0].v, &a[1]), m = axis_of(e, a[2].v, &a[3]);
    if (e->status == TC_OK)
        e->status = tc_graph_meet(e, a[0].v, d, a[2].v, m, tc_graph_term_holds(&a[4]));
    return nothing;
}

/* ---- shapes, types and constants ---- */

static term rank(emitter *e, const term *a) {
    (void)e;
    return tc_graph_term_int(a[0].v->shape.ndim);
}

static term dim(emitter *e, const term *a) {
    return tc_graph_term_int(a[0].v->shape.d[axis_of(e, a[0].v, &a[1])]);
}

static term shape(emitter *e, const term *a) {
    return ints(e, a[0].v->shape.d, a[0].v->shape.ndim);
}

static term count(emitter *e, const term *a) {
    (void)e;
    return tc_graph_term_int(tc_graph_shape_count(&a[0].v->shape));
}

static term dtype(emitter *e, const term *a) {
    (void)e;
    return (term){.kind = TC_GRAPH_DTYPE, .dtype = a[0].v->dtype};
}

static term wide(emitter *e, const term *a) {
    (void)e;
    return (term){.kind = TC_GRAPH_DTYPE, .dtype = tc_graph_wide(a[0].dtype)};
}

static term is_int(emitter *e, const term *a) {
    (void)e;
    return tc_graph_term_int(tc_dtype_is_int(a[0].dtype));
}

static term is_signed(emitter *e, const term *a) {
    (void)e;
    return tc_graph_term_int(tc_dtype_is_signed(a[0].dtype));
}

/* The value's type and shape. */
static term type_text(emitter *e, const term *a) {
    return (term){.kind = TC_GRAPH_TEXT, .text = tc_graph_type_str(e->c->g->arena, a[0].v->dtype, &a[0].v->shape)};
}

/* Does the value broadcast to the shape? */
static term broadcasts(emitter *e, const term *a) {
    tc_graph_shape s, both;
    return tc_graph_term_int(read_shape(e, &a[1], &s) && tc_graph_shape_broadcast(&a[0].v->shape, &s, &both) &&
                             tc_graph_shape_equal(&s, &both));
}

static term is_constant(emitter *e, const term *a) {
    (void)e;
    return tc_graph_term_int(a[0].v->constant != NULL);
}

/* A list of the constant's elements, as numbers. */
static term elements(emitter *e, const term *a) {
    const tc_graph_value *v = a[0].v;
    int64_t n = v->constant ? tc_graph_shape_count(&v->shape) : 0;
    term r = {.kind = TC_GRAPH_LIST, .n = n, .list = TC_NEW_N(e->c->g->arena, term, n + 1)};
    for (int64_t i = 0; i < n; i++)
        r.list[i] = tc_dtype_is_float(v->dtype) ? (term){.kind = TC_GRAPH_FLOAT, .f = tc_load_f(v->dtype, v->constant->data, i)}
                                                : tc_graph_term_int(tc_load_i(v->dtype, v->constant->data, i));
    return r;
}

/* The constant input k, which is called so, as integers. */
static term numbers(emitter *e, const term *a) {
    const int64_t *v = NULL;
    size_t n = 0;
    if (e->status == TC_OK)
        e->status = tc_graph_want_ints(e->c, (int)a[0].i, a[1].text, &v, &n);
    return ints(e, v, (int64_t)n);
}

/* ---- numbers ---- */

static term least(emitter *e, const term *a) {
    (void)e;
    return tc_graph_term_number(&a[0]) < tc_graph_term_number(&a[1]) ? a[0] : a[1];
}

static term most(emitter *e, const term *a) {
    (void)e;
    return tc_graph_term_number(&a[0]) > tc_graph_term_number(&a[1]) ? a[0] : a[1];
}

static term root(emitter *e, const term *a) {
    (void)e;
    return (term){.kind = TC_GRAPH_FLOAT, .f = sqrt(tc_graph_term_number(&a[0]))};
}

static term product(emitter *e, const term *a) {
    int64_t n = 1;
    const int64_t *v = tc_graph_term_ints(e, &a[0]);
    for (int64_t i = 0; i < a[0].n; i++)
        n *= v[i];
    return tc_graph_term_int(n);
}

/* [from, from + 1, .. to - 1] */
static term range(emitter *e, const term *a) {
    int64_t n = TC_MAX(a[1].i - a[0].i, 0);
    int64_t *v = TC_NEW_N(e->c->g->arena, int64_t, n + 1);
    for (int64_t i = 0; i < n; i++)
        v[i] = a[0].i + i;
    return ints(e, v, n);
}

/* n times the element */
static term fill(emitter *e, const term *a) {
    term r = {.kind = TC_GRAPH_LIST, .n = TC_MAX(a[0].i, 0), .list = TC_NEW_N(e->c->g->arena, term, TC_MAX(a[0].i, 0) + 1)};
    for (int64_t i = 0; i < r.n; i++)
        r.list[i] = a[1];
    return r;
}

static term length(emitter *e, const term *a) {
    (void)e;
    return tc_graph_term_int(a[0].n);
}

/* The axis counted from the start: of a value of so many dimensions. */
static term axis(emitter *e, const term *a) {
    int d = 0;
    if (e->status == TC_OK)
        e->status = tc_graph_want_axis(e->c, a[0].i, (int)a[1].i, &d);
    return tc_graph_term_int(d);
}

/* The import makes a table of so many entries. */
static term table(emitter *e, const term *a) {
    if (e->status == TC_OK)
        e->status = tc_graph_want_table(e->c, tc_graph_term_number(&a[0]));
    return nothing;
}

static const tc_graph_expansion_call calls[] = {
    {"Reshape", "vl", reshape},
    {"Expand", "vl", expand},
    {"Cast", "vd", cast},
    {"Transpose", "vl", transpose},
    {"Slice", "viia|i", slice},
    {"Concat", "il", concat},
    {"Pad", "vl|o", pad},
    {"along", "vii", along},
    {"iota", "iii", iota},
    {"constant", "dn", constant},
    {"constants", "dll", constants},
    {"lowest", "d", lowest},
    {"repeated", "viii", repeated},
    {"unpacked", "vi", unpacked},
    {"blind", "v", blind},
    {"size", "vi", size},
    {"varies", "vi", varies},
    {"sized", "vivi", sized},
    {"meet", "vivi|i", meet},
    {"rank", "v", rank},
    {"dim", "vi", dim},
    {"shape", "v", shape},
    {"count", "v", count},
    {"dtype", "v", dtype},
    {"wide", "d", wide},
    {"is_int", "d", is_int},
    {"is_signed", "d", is_signed},
    {"type", "v", type_text},
    {"broadcasts", "vl", broadcasts},
    {"is_constant", "v", is_constant},
    {"elements", "v", elements},
    {"numbers", "it", numbers},
    {"min", "nn", least},
    {"max", "nn", most},
    {"sqrt", "n", root},
    {"product", "l", product},
    {"range", "ii", range},
    {"fill", "ia", fill},
    {"length", "l", length},
    {"axis", "ii", axis},
    {"table", "n", table},
};

const tc_graph_expansion_call *tc_graph_expansion_call_of(const char *name, size_t len) {
    for (size_t i = 0; i < TC_LEN(calls); i++)
        if (strncmp(calls[i].name, name, len) == 0 && calls[i].name[len] == 0)
            return &calls[i];
    return NULL;
}
