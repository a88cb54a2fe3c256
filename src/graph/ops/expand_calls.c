/* The functions of expansions.txt. Those with a capital are operators whose result may be the operand itself: a Reshape to the
 * shape that it has is no node. */
#include <math.h>
#include <string.h>
#include <strings.h>

#include "graph/ir/budget.h"
#include "graph/ir/sizes.h"
#include "graph/ops/expand.h"
#include "graph/ops/functions.h"
#include "graph/ops/window.h"

typedef tc_graph_term term;
typedef tc_graph_emitter emitter;

static const term nothing = {.kind = TC_GRAPH_NOTHING};

/* The first failure stays. */
static term keep(emitter *e, tc_status s) {
    e->status = e->status == TC_OK ? s : e->status;
    return nothing;
}

static term wrong(emitter *e, const char *what) {
    return e->status == TC_OK ? keep(e, tc_graph_node_fail(e->c, "%s", what)) : nothing;
}

const int64_t *tc_graph_term_ints(emitter *e, const term *list) {
    int64_t *v = TC_NEW_N(e->c->g->arena, int64_t, list->n + 1);
    for (int64_t i = 0; i < list->n; i++)
        v[i] = list->list[i].kind == TC_GRAPH_INT ? list->list[i].i : 0;
    return v;
}

/* Empty after a failure. */
static term new_list(emitter *e, int64_t n) {
    n = TC_MAX(n, 0);
    if (e->status == TC_OK)
        e->status = tc_graph_want_bytes(e->c->g, (double)n * sizeof(term), e->c->err);
    n = e->status == TC_OK ? n : 0;
    return (term){.kind = TC_GRAPH_LIST, .n = n, .list = TC_NEW_N(e->c->g->arena, term, n + 1)};
}

static term ints(emitter *e, const int64_t *v, int64_t n) {
    term r = new_list(e, n);
    for (int64_t i = 0; i < r.n; i++)
        r.list[i] = tc_graph_term_int(v[i]);
    return r;
}

/* A type with these dimensions. */
static const tc_graph_type *shaped(emitter *e, const term *list) {
    tc_graph_type *t = TC_NEW(e->c->g->arena, tc_graph_type);
    if (list->n > TC_GRAPH_MAX_DIMS)
        wrong(e, "it needs a value of more than 8 dimensions, which is not supported");
    t->shape.ndim = (int)TC_MIN(list->n, TC_GRAPH_MAX_DIMS);
    memcpy(t->shape.d, tc_graph_term_ints(e, list), sizeof t->shape.d[0] * (size_t)t->shape.ndim);
    for (int d = 0; d < t->shape.ndim; d++)
        t->size[d] = list->list[d].size;
    return t;
}

/* Of n dimensions. */
static int axis_of(emitter *e, const term *axis, int64_t n) {
    int d = 0;
    if (e->status == TC_OK)
        keep(e, tc_graph_want_axis(e->c, axis->i, (int)n, &d));
    return d;
}

/* Dimension a[k] of the value a[v]. */
static int axis_in(emitter *e, const term *a, int v, int k) {
    return axis_of(e, &a[k], a[v].v->shape.ndim);
}

/* A function whose result is an expression of its arguments a[0], a[1], ... */
#define CALL(name, result)                                                                                                       \
    static term call_##name(emitter *e, const term *a) {                                                                         \
        (void)e, (void)a;                                                                                                        \
        return result;                                                                                                           \
    }
#define VALUE_CALL(name, result) CALL(name, tc_graph_term_value(result))
#define INT_CALL(name, result) CALL(name, tc_graph_term_int(result))
#define DTYPE_CALL(name, result) CALL(name, ((term){.kind = TC_GRAPH_DTYPE, .dtype = result}))

/* ---- values ---- */

VALUE_CALL(Reshape, tc_graph_em_reshaped(e, a[0].v, shaped(e, &a[1])))
VALUE_CALL(Cast, tc_graph_em_cast(e, a[0].v, a[1].dtype))
VALUE_CALL(along, tc_graph_em_along(e, a[0].v, (int)a[1].i, (int)a[2].i))
VALUE_CALL(iota, tc_graph_em_iota(e, a[0].i, (int)a[1].i, (int)a[2].i))
VALUE_CALL(constant, tc_graph_term_scalar(e, a[0].dtype, &a[1]))

/* A text that changes sizes of x by these numbers holds for one size alone. */
static bool are_known(emitter *e, const tc_graph_value *x, const term *v, int64_t n) {
    for (int64_t i = 0; i < n && e->status == TC_OK; i++)
        if (v[i].size && tc_graph_is_dynamic(x))
            keep(e, tc_graph_term_refuse(e));
    return e->status == TC_OK;
}

static term call_Slice(emitter *e, const term *a) {
    int d = axis_in(e, a, 0, 1);
    if (!are_known(e, a[0].v, a + 2, 3))
        return nothing;
    return tc_graph_term_value(tc_graph_em_slice(e, a[0].v, d, a[2].i, a[3].i, a[4].kind == TC_GRAPH_INT ? a[4].i : 1));
}

/* [n, bins] of a function of 2 pi i k / n, or of its negative: a[] is the type, n, bins and a sign. */
static tc_graph_value *waves(emitter *e, const term *a, double (*of)(double)) {
    int64_t n = a[1].i, bins = a[2].i;
    double *v = TC_NEW_N(e->c->g->arena, double, n *bins + 1);
    for (int64_t i = 0; i < n * bins; i++)
        v[i] = of((double)a[3].i * 2 * M_PI * (double)(i / bins * (i % bins) % n) / (double)n);
    return tc_graph_em_floats(e, a[0].dtype, &(tc_graph_shape){2, {n, bins}}, v);
}

VALUE_CALL(cosines, waves(e, a, cos))
VALUE_CALL(sines, waves(e, a, sin))

/* x[.., index, ..]. Constant indices that are regular are a view. */
static tc_graph_value *picked(emitter *e, tc_graph_value *x, int d, tc_graph_value *index) {
    if (e->status != TC_OK || !index->constant || tc_graph_extent(x, d))
        return tc_graph_em_pick(e, x, d, index);
    int64_t n = tc_graph_shape_count(&index->shape), *at = TC_NEW_N(e->c->g->arena, int64_t, n + 1);
    tc_graph_tensor_to_i64(index->constant, at);
    return tc_graph_em_index(e, x, d, at, n);
}

VALUE_CALL(picked, picked(e, a[0].v, axis_in(e, a, 0, 1), a[2].v))
VALUE_CALL(lowest, tc_graph_em_fill(e, a[0].dtype, TC_GRAPH_LOWEST))
VALUE_CALL(highest, tc_graph_em_fill(e, a[0].dtype, TC_GRAPH_HIGHEST))

static term call_Expand(emitter *e, const term *a) {
    const tc_graph_type *to = shaped(e, &a[1]);
    tc_graph_value *y = tc_graph_em_expand(e, a[0].v, &to->shape);
    for (int d = 0; d < to->shape.ndim && e->status == TC_OK; d++)
        if (to->size[d] && !tc_graph_extent(y, d))
            y = tc_graph_em_sized(e, y == a[0].v ? em_unary(e, TC_GRAPH_OP_IDENTITY, y) : y, d, to->size[d]);
    return tc_graph_term_value(y);
}

static term call_Transpose(emitter *e, const term *a) {
    if (a[1].n != a[0].v->shape.ndim)
        return wrong(e, "a permutation has too few or too many dimensions");
    return tc_graph_term_value(tc_graph_em_transpose(e, a[0].v, tc_graph_term_ints(e, &a[1])));
}

static term call_Concat(emitter *e, const term *a) {
    tc_graph_value **in = TC_NEW_N(e->c->g->arena, tc_graph_value *, a[1].n + 1);
    for (int64_t i = 0; i < a[1].n; i++)
        in[i] = a[1].list[i].v;
    return tc_graph_term_value(tc_graph_em_concat(e, axis_of(e, &a[0], in[0]->shape.ndim), in, (int)a[1].n));
}

static term call_Pad(emitter *e, const term *a) {
    if (a[1].n != 2 * a[0].v->shape.ndim)
        return wrong(e, "there are too few or too many pads");
    if (!are_known(e, a[0].v, a[1].list, a[1].n))
        return nothing;
    return tc_graph_term_value(tc_graph_em_pad(e, a[0].v, tc_graph_term_ints(e, &a[1]), a[2].v));
}

/* ---- sizes that vary (dynamic.h) ---- */

/* Dimension a[k] of the value a[v]; -1: the value lacks it. */
static int dim_or_none(const term *a, int v, int k) {
    int64_t n = a[v].v->shape.ndim, d = a[k].i < 0 ? a[k].i + n : a[k].i;
    return d < n ? (int)TC_MAX(d, -1) : -1;
}

static bool is_varying(const term *a) {
    int d = a[0].v ? dim_or_none(a, 0, 1) : -1;
    return d >= 0 && tc_graph_extent(a[0].v, d);
}

INT_CALL(in_place, e->c->g->in_place_cache)
INT_CALL(varies, a[1].kind == TC_GRAPH_NOTHING ? tc_graph_is_dynamic(a[0].v) : is_varying(a))
VALUE_CALL(largest, tc_graph_em_blind(e, a[0].v))
VALUE_CALL(sized, tc_graph_em_sized(e, a[0].v, axis_in(e, a, 0, 1), a[2].v))
VALUE_CALL(masked, tc_graph_em_masked(e, a[0].v, (int)a[1].i, a[2].v))
CALL(require, keep(e, tc_graph_require_size(e, a[0].v, axis_in(e, a, 0, 1), a[2].i)))
CALL(require_not_one, keep(e, tc_graph_require_not_one(e, a[0].v, axis_in(e, a, 0, 1))))
VALUE_CALL(exactly, tc_graph_em_exactly(e, a[0].v, axis_in(e, a, 0, 1), a[2].i, a[3].text))
INT_CALL(bound, tc_graph_em_known(e, a[0].v).most)
INT_CALL(is_same, tc_graph_em_known(e, a[0].v).x == tc_graph_em_known(e, a[1].v).x)
INT_CALL(divides, tc_graph_divides(e, a[0].v, axis_in(e, a, 0, 1), a[2].i))
CALL(require_indices, keep(e, tc_graph_require_indices(e, a[0].v, a[1].i, a[2].i, (int)a[3].i)))
CALL(want_range, keep(e, tc_graph_want_range(e->c, a[0].v, a[1].i, a[2].i, a[3].i)))
INT_CALL(least, a[0].v->constant ? tc_graph_least_index(a[0].v, a[1].i, a[2].i) : -1)
INT_CALL(never_negative, tc_te_bounds(tc_graph_em_known(e, a[0].v).x, tc_graph_sizes_of(e->c->g)->sure).lo >= 0)
INT_CALL(is_fixed, !a[0].size)
CALL(want_weights, keep(e, tc_graph_want_weights(e->c, tc_graph_term_holds(&a[0]), a[1].i)))
CALL(want_bias, keep(e, tc_graph_want_bias(e->c, a[0].i)))
CALL(refuse_left, tc_graph_is_left(e->c->n->in[a[0].i]) ? keep(e, tc_graph_refuse_left(e->c, (int)a[0].i, a[1].text)) : nothing)
VALUE_CALL(before_cast, tc_graph_before_cast(a[0].v))
VALUE_CALL(with_sizes, tc_graph_em_with_sizes(e, a[0].v, a[1].v, (int)a[2].i, a[3].v))

VALUE_CALL(multiple, tc_graph_em_multiple(e, a[0].v, axis_in(e, a, 0, 1), a[2].i))

static term call_meet(emitter *e, const term *a) {
    int d = dim_or_none(a, 0, 1), m = dim_or_none(a, 2, 3);
    return d < 0 || m < 0 ? nothing : keep(e, tc_graph_meet(e, a[0].v, d, a[2].v, m, tc_graph_term_holds(&a[4])));
}

static term call_meet_numbers(emitter *e, const term *a) {
    const tc_expr *x = tc_graph_em_known(e, a[1].v).x, *y = tc_graph_em_known(e, a[3].v).x;
    return keep(e, tc_graph_meet_numbers(e, a[0].text, x, a[2].text, y));
}

static term call_limited(emitter *e, const term *a) {
    tc_graph_number n = tc_graph_em_known(e, a[1].v);
    tc_ival range = e->status == TC_OK ? tc_te_bounds(n.x, tc_graph_sizes_of(e->c->g)->sure) : TC_IVAL_ALL;
    if (e->status != TC_OK || range.lo > a[2].i || range.hi <= a[2].i)
        return tc_graph_term_value(n.value);
    keep(e, tc_graph_require(e, a[0].text, n.x, 0, a[2].i, 1));
    return tc_graph_term_value(em_min(e, n.value, tc_graph_em_number(e, a[2].i)));
}

static term call_require_number(emitter *e, const term *a) {
    int64_t most = a[3].kind == TC_GRAPH_INT ? a[3].i : INT64_MAX;
    return keep(e, tc_graph_require(e, a[0].text, tc_graph_em_known(e, a[1].v).x, a[2].i, most, 1));
}

/* As an integer, which varies where the number does. */
static term integer_of(const tc_graph_number *n) {
    term r = tc_graph_term_int(n->most);
    r.size = n->constant ? NULL : n->value;
    return r;
}

static term call_number(emitter *e, const term *a) {
    tc_graph_number n = tc_graph_em_known(e, a[0].v);
    return integer_of(&n);
}

/* A list of n lists, of an integer of each column. */
static term rows_of(emitter *e, const tc_graph_number *const *column, int ncolumn, int64_t n) {
    term r = new_list(e, e->status == TC_OK ? n : 0);
    for (int64_t i = 0; i < r.n; i++) {
        r.list[i] = new_list(e, ncolumn);
        for (int k = 0; k < ncolumn; k++)
            r.list[i].list[k] = integer_of(&column[k][i]);
    }
    return r;
}

static term call_slice_numbers(emitter *e, const term *a) {
    tc_graph_slice_numbers s;
    s.n = 0;
    (void)a;
    keep(e, tc_graph_read_slice(e, &s));
    for (int64_t i = 0; e->status == TC_OK && i < s.n; i++)
        if (!s.axes[i].constant || !s.steps[i].constant)
            keep(e, tc_graph_node_refuse(e->c, TC_ERROR_NOT_CONSTANT, "axes and steps must be known when the model is imported"));
    return rows_of(e, (const tc_graph_number *[]){s.starts, s.ends, s.axes, s.steps}, 4, s.n);
}

static term call_pad_numbers(emitter *e, const term *a) {
    tc_graph_number before[TC_GRAPH_MAX_DIMS], after[TC_GRAPH_MAX_DIMS];
    (void)a;
    keep(e, tc_graph_read_pads(e, before, after));
    return rows_of(e, (const tc_graph_number *[]){before, after}, 2, e->c->n->in[0]->shape.ndim);
}

/* The number that the integer of one element is, as the first scalar that is the same. */
static term call_known(emitter *e, const term *a) {
    tc_graph_number n = {0};
    if (tc_graph_shape_count(&a[0].v->shape) != 1)
        return wrong(e, "a value with one element is expected");
    keep(e, tc_graph_trace(e, a[0].v, &n));
    return tc_graph_term_value(n.value);
}

static term call_fixed(emitter *e, const term *a) {
    if (!is_varying(a))
        return nothing;
    for (int k = 0; k < e->c->n->nin; k++)
        if (e->c->n->in[k] == a[0].v)
            return keep(e, tc_graph_dynamic_refuse(e->c, k, dim_or_none(a, 0, 1)));
    return keep(e, tc_graph_node_refuse(e->c, TC_ERROR_DATA_DEPENDENT,
                                        "dimension %d of '%s' varies, but must be known when the model is imported",
                                        dim_or_none(a, 0, 1), a[0].v->name));
}

/* ---- shapes, types and constants ---- */

static term dim_of(const tc_graph_value *v, int d) {
    term r = tc_graph_term_int(v->shape.d[d]);
    r.size = tc_graph_extent(v, d);
    return r;
}

static term call_shape(emitter *e, const term *a) {
    term r = new_list(e, a[0].v->shape.ndim);
    for (int d = 0; d < r.n; d++)
        r.list[d] = dim_of(a[0].v, d);
    return r;
}

INT_CALL(rank, a[0].v->shape.ndim)
INT_CALL(most, a[0].v->shape.d[axis_in(e, a, 0, 1)])
INT_CALL(outputs, e->c->nout)
CALL(dim, dim_of(a[0].v, axis_in(e, a, 0, 1)))
VALUE_CALL(size, tc_graph_em_size(e, a[0].v, axis_in(e, a, 0, 1)))
INT_CALL(count, tc_graph_shape_count(&a[0].v->shape))
DTYPE_CALL(dtype, a[0].v->dtype)
DTYPE_CALL(wide, tc_graph_wide(a[0].dtype))
INT_CALL(is_signed, tc_dtype_is_signed(a[0].dtype))
INT_CALL(is_float, tc_dtype_is_float(a[0].dtype))
INT_CALL(is_stored, tc_dtype_is_stored(a[0].dtype))
INT_CALL(is_integer, tc_dtype_is_int(a[0].dtype))
CALL(type, tc_graph_term_text(tc_graph_type_str(e->c->g->arena, a[0].v->dtype, &a[0].v->shape)))

/* What ONNX numbers so in the attribute that is called `name`. */
static term call_element_type(emitter *e, const term *a) {
    term r = {.kind = TC_GRAPH_DTYPE};
    keep(e, tc_graph_want_element_type(e->c, a[0].text, a[1].i, &r.dtype));
    return r;
}

static term call_broadcasts(emitter *e, const term *a) {
    const tc_graph_shape *s = &shaped(e, &a[1])->shape;
    tc_graph_shape both;
    return tc_graph_term_int(tc_graph_shape_broadcast(&a[0].v->shape, s, &both) && tc_graph_shape_equal(s, &both));
}

/* Of a constant; empty where the value is none. */
static term call_elements(emitter *e, const term *a) {
    const tc_graph_value *v = a[0].v;
    term r = new_list(e, v->constant ? tc_graph_shape_count(&v->shape) : 0);
    for (int64_t i = 0; i < r.n; i++)
        r.list[i] = tc_dtype_is_float(v->dtype) ? tc_graph_term_float(tc_load_f(v->dtype, v->constant->data, i))
                                                : tc_graph_term_int(tc_load_i(v->dtype, v->constant->data, i));
    return r;
}

/* No element of a constant is an infinity or NaN. */
static term call_is_finite(emitter *e, const term *a) {
    const tc_graph_value *v = a[0].v;
    int64_t i = 0, n = v->constant ? tc_graph_shape_count(&v->shape) : 0;
    (void)e;
    while (i < n && isfinite(tc_load_f(v->dtype, v->constant->data, i)))
        i++;
    return tc_graph_term_int(i == n);
}

INT_CALL(is_known, a[0].v->constant != NULL)

/* Is it known to be 0 everywhere? */
static term call_is_zero(emitter *e, const term *a) {
    const tc_graph_value *v = a[0].v;
    bool is_float = tc_dtype_is_float(v->dtype);
    int64_t i = 0, n = v->constant ? tc_graph_shape_count(&v->shape) : 0;
    (void)e;
    while (i < n && (is_float ? tc_load_f(v->dtype, v->constant->data, i) == 0 : tc_load_i(v->dtype, v->constant->data, i) == 0))
        i++;
    return tc_graph_term_int(v->constant && i == n);
}

/* The constant input k, which is called so, as integers. */
static term call_numbers(emitter *e, const term *a) {
    const int64_t *v = NULL;
    size_t n = 0;
    keep(e, tc_graph_want_ints(e->c, (int)a[0].i, a[1].text, &v, &n));
    return ints(e, v, (int64_t)n);
}

/* The same as floats. */
static term call_floats(emitter *e, const term *a) {
    const double *v = NULL;
    size_t n = 0;
    keep(e, tc_graph_want_floats(e->c, (int)a[0].i, a[1].text, &v, &n));
    term r = new_list(e, (int64_t)n);
    for (int64_t i = 0; i < r.n; i++)
        r.list[i] = tc_graph_term_float(v[i]);
    return r;
}

/* ---- numbers and lists ---- */

static term outer_of(emitter *e, char sign, tc_graph_op op, const term *a) {
    double x = tc_graph_term_number(&a[0]), y = tc_graph_term_number(&a[1]);
    if (a[0].size || a[1].size)
        return tc_graph_term_arithmetic(e, sign, op, &a[0], &a[1]);
    return a[sign == '<' ? x >= y : x <= y];
}

CALL(min, outer_of(e, '<', TC_GRAPH_OP_MIN, a))
CALL(max, outer_of(e, '>', TC_GRAPH_OP_MAX, a))
CALL(sqrt, tc_graph_term_float(sqrt(tc_graph_term_number(&a[0]))))
INT_CALL(is_value, a[0].kind == TC_GRAPH_VALUE)
CALL(log10, tc_graph_term_float(log10(tc_graph_term_number(&a[0]))))
CALL(floor, tc_graph_term_float(floor(tc_graph_term_number(&a[0]))))
CALL(integer, a[0].kind == TC_GRAPH_INT ? a[0] : tc_graph_term_int((int64_t)a[0].f))
INT_CALL(length, a[0].n)
INT_CALL(axis, axis_of(e, &a[0], a[1].i))
CALL(table, keep(e, tc_graph_want_table(e->c, tc_graph_term_number(&a[0]))))

static term call_product(emitter *e, const term *a) {
    term n = tc_graph_term_int(1);
    for (int64_t i = 0; i < a[0].n && e->status == TC_OK; i++)
        n = tc_graph_term_arithmetic(e, '*', TC_GRAPH_OP_MUL, &n, &a[0].list[i]);
    return n;
}

/* The elements of the integer attribute or input k, which is called so, as scalars of i64; each has a largest value. */
static term call_scalars(emitter *e, const term *a) {
    tc_graph_number v[TC_GRAPH_MAX_NUMBERS];
    tc_graph_attr_id id = TC_ATTR_none;
    int64_t n = 0;
    (void)tc_graph_attr_by_word(a[1].text, strlen(a[1].text), &id);
    keep(e, tc_graph_dynamic_list(e, (int)a[0].i, id, v, &n));
    if (e->status == TC_OK && !tc_graph_has_bounds(v, n))
        keep(e, tc_graph_dynamic_no_bound(e, a[1].text, (int)a[0].i, v));
    term r = new_list(e, e->status == TC_OK ? n : 0);
    for (int64_t i = 0; i < r.n; i++)
        r.list[i] = tc_graph_term_value(v[i].value);
    return r;
}

/* The fraction with the smallest denominator that f32 rounds to s: the first such convergent of its continued fraction. */
static void simple_fraction(float s, int64_t *up, int64_t *down) {
    enum { MOST_TERMS = 40 };
    int64_t up_before = 0, down_before = 1;
    double x = (double)s;
    *up = 1;
    *down = 0;
    for (int k = 0; k < MOST_TERMS && (*down == 0 || (float)((double)*up / (double)*down) != s); k++) {
        double whole = fmin(floor(x), 1e15), most = fmax((double)*up, (double)*down);
        if (whole * most > 1e15) /* the scale is as good as 0: no output has a place */
            break;
        int64_t next_up = (int64_t)whole * *up + up_before, next_down = (int64_t)whole * *down + down_before;
        up_before = *up;
        down_before = *down;
        *up = next_up;
        *down = next_down;
        x = x > whole ? 1 / (x - whole) : 1e15;
    }
    *up = TC_MAX(*up, 1);
    *down = TC_MAX(*down, 1);
}

/* What an exporter has rounded to the f32 `scale`: the ratio of two sizes, one of which is n, or else a simple fraction. */
static term call_simple_scale(emitter *e, const term *a) {
    float s = (float)tc_graph_term_number(&a[0]);
    int64_t down = a[1].i, up = (int64_t)fmin(round((double)down * (double)s), 1e15);
    if (down < 1 || up < 1 || ((float)((double)up / (double)down) != s && (float)up / (float)down != s))
        simple_fraction(s, &up, &down);
    return ints(e, (int64_t[]){up, down}, 2);
}

/* The text, letter by letter. */
static term call_letters(emitter *e, const term *a) {
    term r = new_list(e, (int64_t)strlen(a[0].text));
    for (int64_t i = 0; i < r.n; i++)
        r.list[i] = tc_graph_term_text(tc_arena_strndup(e->c->g->arena, a[0].text + i, 1));
    return r;
}

/* [from, from + 1, .. to - 1] */
static term call_range(emitter *e, const term *a) {
    term r = new_list(e, a[1].i - a[0].i);
    for (int64_t i = 0; i < r.n; i++)
        r.list[i] = tc_graph_term_int(a[0].i + i);
    return r;
}

/* n times the element */
static term call_fill(emitter *e, const term *a) {
    term r = new_list(e, a[0].i);
    for (int64_t i = 0; i < r.n; i++)
        r.list[i] = a[1];
    return r;
}

/* ---- names of operators ---- */

/* "a,b"  =>  ["a", "b"] */
static term call_words(emitter *e, const term *a) {
    term r = new_list(e, (int64_t)strlen(a[0].text) + 1);
    r.n = 0;
    for (const char *p = a[0].text; *p;) {
        size_t len = strcspn(p, ",");
        r.list[r.n++] = tc_graph_term_text(tc_arena_strndup(e->c->g->arena, p, len));
        p += len + (p[len] == ',');
    }
    return r;
}

INT_CALL(same_word, strcasecmp(a[0].text, a[1].text) == 0)

static term call_apply(emitter *e, const term *a) {
    tc_graph_value *x = a[1].v;
    tc_graph_op op;
    if (!tc_graph_op_find(a[0].text, &op))
        return wrong(e, "there is no operator of the name that apply is given");
    tc_graph_node *n = tc_graph_em_node(e, op, &x, 1);
    if (a[2].kind != TC_GRAPH_NOTHING)
        tc_graph_set_alpha(e->c->g, n, tc_graph_term_number(&a[2]));
    if (a[3].kind != TC_GRAPH_NOTHING)
        tc_graph_set_beta(e->c->g, n, tc_graph_term_number(&a[3]));
    return tc_graph_term_value(tc_graph_em_place(e, n));
}

/* The third index is -1, which addresses the dimension of 1: the three are never equal, which would make them part of the
 * expression. */
static term call_row(emitter *e, const term *a) {
    tc_graph_value *x = a[0].v;
    int64_t n = x->shape.d[1], *index = TC_NEW_N(e->c->g->arena, int64_t, 3 * n);
    tc_graph_shape all = {2, {n, 3}}, one = {2, {n, x->shape.d[3]}};
    if (a[1].kind == TC_GRAPH_VALUE)
        return tc_graph_term_value(tc_graph_em_reshape(e, tc_graph_em_gather(e, TC_GRAPH_OP_GATHER, x, a[1].v, 0), &one));
    for (int64_t i = 0; i < n; i++) {
        index[3 * i] = a[1].i;
        index[3 * i + 1] = i;
        index[3 * i + 2] = -1;
    }
    return tc_graph_term_value(tc_graph_em_op(e, TC_GRAPH_OP_GATHER_ND, x, tc_graph_em_ints(e, TC_I64, &all, index)));
}

static const tc_graph_expansion_call calls[] = {
#define ROW(name, takes) {#name, takes, call_##name},
    ROW(Reshape, "vl")   /* (x, shape) */
    ROW(Expand, "vl")    /* (x, shape) */
    ROW(Cast, "vd")      /* (x, type) */
    ROW(Slice, "viii|i") /* (x, axis, from, to, step): a step of 1 where it is left out */
    ROW(Transpose, "vl") /* (x, permutation) */
    ROW(Concat, "il")    /* (axis, list) */
    ROW(Pad, "vl|o")     /* (x, pads, fill) */
    ROW(along, "vii")    /* (x, axis, n): x in n dimensions, its own ones from the axis on */
    ROW(iota, "iii")     /* (n, axis, dimensions): 0 to n - 1 along the axis */
    ROW(constant, "dn")  /* (type, number) */
    ROW(lowest, "d")     /* (type): a scalar that is not above any other */
    ROW(highest, "d")    /* (type): a scalar that is not below any other */
    ROW(picked, "viv")   /* (x, axis, indices): the last element for those behind it */
    ROW(cosines, "diii") /* (type, n, bins, sign): cosines of sign * 2 pi i k / n in [n, bins] */
    ROW(sines, "diii")   /* (type, n, bins, sign) */
    /* A dimension that x lacks does not vary. */
    ROW(varies, "o|i")        /* (x, d): dimension d varies from run to run; without d: any */
    ROW(size, "vi")           /* (x, d): the size in a run as a value, an i64 scalar */
    ROW(largest, "o")         /* (x): the same memory, as large as it can be */
    ROW(sized, "viv")         /* (x, d, size): dimension d of the largest x has this size in a run */
    ROW(masked, "viv")        /* (x, d, fill): the scalar past the sizes of dimension d, or of all (-1) */
    ROW(require, "vii")       /* (x, d, least): runs in which dimension d is smaller are refused */
    ROW(with_sizes, "vvio")   /* (x, like, d, size): has the sizes of another, but for dimension d: `size`, or none */
    ROW(exactly, "viit")      /* (x, d, n, name): x, whose dimension d has the size n in all runs; the name is n's in messages */
    ROW(multiple, "vii")      /* (x, d, n): x, also at its largest a multiple of n; other runs are refused */
    ROW(fixed, "oi")          /* (x, d): fails where dimension d varies */
    ROW(known, "v")           /* (x): the integer x of one element as a scalar, a constant where it is one number in all runs */
    ROW(bound, "v")           /* (x): the largest that the scalar x can be; -1: not known */
    ROW(is_same, "vv")        /* (x, y): these scalars are one number in all runs */
    ROW(meet, "vivi|i")       /* (x, d, y, m, broadcasts): these dimensions have one size, or 1 where they broadcast */
    ROW(meet_numbers, "tvtv") /* (name, x, name, y): the same of two sizes */
    ROW(limited, "tvi") /* (name, x, most): the scalar x; runs in which it is larger are refused, unless all are such runs */
    ROW(in_place, "")   /* (): caches are written where they lie */
    ROW(require_not_one, "vi")   /* (x, d): runs in which dimension d is 1 are refused */
    ROW(divides, "vii")          /* (x, d, n): dimension d is a multiple of n in all runs */
    ROW(require_number, "tvi|i") /* (name, x, least, most): runs in which the scalar x is not within these are refused */
    ROW(require_indices,
        "viii") /* (indices, k, n, d): the first input's dimension d has what every n-th constant, from the k-th on, names */
    ROW(want_range, "viii")  /* (indices, k, n, size): fails where one of these is outside of a dimension of the size */
    ROW(least, "vii")        /* (indices, k, n): the least of these constants and 0; -1: they are no constants */
    ROW(never_negative, "v") /* (x): the scalar x is at least 0 in all runs */
    ROW(is_fixed, "n")       /* (a): the integer does not vary */
    ROW(number, "v")         /* (x): the scalar x as an integer, which may vary */
    ROW(want_weights, "ii")  /* (transposed, groups): fails where the weights, input 1, do not fit */
    ROW(want_bias, "i")      /* (n): fails where input 2 is there and has not n elements */
    ROW(refuse_left, "it")   /* (k, name): fails where import has left input k, which is called so, to runs */
    ROW(before_cast, "v")    /* (x): the integers that floats are casts of, or x */
    ROW(most, "vi")          /* (x, axis): as large as the dimension can be */
    ROW(outputs, "")         /* (): how many are asked for */
    ROW(rank, "v")           /* (x) */
    ROW(dim, "vi")           /* (x, axis) */
    ROW(shape, "v")          /* (x): a list */
    ROW(count, "v")          /* (x): of elements */
    ROW(dtype, "v")          /* (x) */
    ROW(wide, "d")           /* (type): what is computed in, f32 for 16-bit floats */
    ROW(is_signed, "d")      /* (type) */
    ROW(is_float, "d")       /* (type) */
    ROW(is_stored, "d")      /* (type): it is not computed in */
    ROW(is_integer, "d")     /* (type) */
    ROW(type, "v")           /* (x): a text, its type and shape */
    ROW(element_type, "ti")  /* (attribute, number): the type that ONNX numbers so */
    ROW(broadcasts, "vl")    /* (x, shape) */
    ROW(elements, "v")       /* (x): a list */
    ROW(is_known, "v")       /* (x): import knows its elements */
    ROW(is_zero, "v")        /* (x) */
    ROW(is_finite, "v")      /* (x): of floats: not known to have an infinity or NaN */
    ROW(numbers, "it")       /* (k, name): the constant input k as integers */
    ROW(floats, "it")        /* (k, name): the same as floats */
    ROW(scalars, "it")       /* (k, name): the integer attribute or input k as scalars of i64, each with a largest value */
    ROW(slice_numbers, "")   /* (): of a Slice: a list of [start, end, axis, step], integers that may vary */
    ROW(pad_numbers, "")     /* (): of a Pad: for each dimension [before, after], integers that may vary */
    ROW(min, "nn")           /* (a, b) */
    ROW(max, "nn")           /* (a, b) */
    ROW(sqrt, "n")           /* (a) */
    ROW(is_value, "a")       /* (a): a value of the graph, and no number */
    ROW(log10, "n")          /* (a) */
    ROW(floor, "n")          /* (a) */
    ROW(simple_scale,
        "ni")            /* (scale, n): [up, down], whose ratio the scale is in f32; down is n where it can be and n is not 0 */
    ROW(integer, "n")    /* (a): without its fraction */
    ROW(length, "l")     /* (list) */
    ROW(product, "l")    /* (list) */
    ROW(letters, "t")    /* (text): a list of texts, one for each letter */
    ROW(range, "ii")     /* (from, to): a list */
    ROW(fill, "ia")      /* (n, element): a list */
    ROW(words, "t")      /* (text): a list of what commas separate */
    ROW(same_word, "tt") /* (a, b): small and large letters are the same */
    ROW(apply, "tv|aa")  /* (name, x, alpha, beta): the operator of this name; alpha and beta may be none */
    ROW(row, "va")       /* (x, t): x [t, :, 0], of 4 dimensions, by an index that is data: all t share one kernel */
    ROW(axis, "ii")      /* (axis, dimensions): counted from the start; fails where there is none */
    ROW(table, "n")      /* (n): import makes a table of so many entries; fails where these are too many */
#undef ROW
};

const tc_graph_expansion_call *tc_graph_expansion_call_of(const char *name, size_t len) {
    for (size_t i = 0; i < TC_LEN(calls); i++)
        if (strncmp(calls[i].name, name, len) == 0 && calls[i].name[len] == 0)
            return &calls[i];
    return NULL;
}
