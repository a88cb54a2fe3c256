/* Loop and Scan. A known number of trips that is not large is written out: the nodes of the body once for each trip. All others
 * run at run time (run_time.c). Where their bodies are not for that, as when shapes follow from the number of the trip,
 * they are written out as well, if their number of trips has a largest value. Nodes have no effects, so a trip that the data may
 * stop is computed all the same, and its results are taken only while the loop goes on:
 *
 *     Loop(M, cond, v)    go[0] = cond       v[i+1] = Where(go[i], body(i, v[i]), v[i])      go[i+1] = go[i] and body's condition
 */
#include <inttypes.h>
#include <string.h>

#include "graph/import/lists.h"
#include "graph/import/loops.h"
#include "graph/ir/budget.h"
#include "graph/ir/sizes.h"

/* Written out, small bodies gain from each other, and from constants: up to so many trips, and nodes of all trips before anything
 * is folded. MAX_TRIPS: where there is no other way. Loops in loops multiply: one part of the copies that import may make is for
 * loops that are written out. The rest is for bodies of loops that no longer are. */
enum { FEW_TRIPS = 32, FEW_NODES = 1 << 13, MAX_TRIPS = 4096, WRITTEN_OUT_PART = 8 };

/* A loop that cannot run at run time is written out, and with it the loops in its body. Each of these would be imported in two ways
 * for each way of the loop around it, so only so many within each other are tried a second time. */
enum { MAX_SECOND = 2 };

typedef tc_graph_import_trips loop;
typedef tc_graph_import_scan scan;

static tc_graph_value *number(loop *l, tc_dtype t, int64_t v) {
    return tc_graph_em_ints(&l->e, t, &(tc_graph_shape){0}, &v);
}

static int64_t constant_of(const tc_graph_value *v) {
    return tc_load_i(v->dtype, v->constant->data, 0);
}

/* ---- one trip ---- */

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
                           k, tc_graph_type_str(l->at->g->arena, old->dtype, &old->shape),
                           tc_graph_type_str(l->at->g->arena, next[k]->dtype, &next[k]->shape));
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
    tc_graph_value **parts = TC_NEW_N(l->at->g->arena, tc_graph_value *, n + 1);
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
                           k + l->nstate, tc_graph_type_str(l->at->g->arena, first->dtype, &first->shape),
                           tc_graph_type_str(l->at->g->arena, row->dtype, &row->shape));
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

static tc_status give(loop *l, tc_graph_value *const *empty, const int64_t *axes, const int64_t *reverse, tc_graph_value ***out,
                      tc_error *err) {
    tc_graph_value **v = TC_NEW_N(l->at->g->arena, tc_graph_value *, l->nstate + l->nscan + 1);
    memcpy(v, l->state, l->nstate * sizeof *v);
    for (size_t k = 0; k < l->nscan; k++)
        if (l->wanted[l->nstate + k])
            TC_TRY(stacked(l, k, axes ? axes[k] : 0, reverse && reverse[k], empty[k], &v[l->nstate + k], err));
    *out = v;
    return TC_OK;
}

static void keep_rows(loop *l, tc_graph_value *const *rows) {
    size_t n = (size_t)l->trips * l->nscan;
    if (l->trips == l->room) {
        l->room = l->room ? 2 * l->room : 8;
        tc_graph_value **more = TC_NEW_N(l->at->g->arena, tc_graph_value *, (size_t)l->room * l->nscan + 1);
        if (n)
            memcpy(more, l->rows, n * sizeof *more);
        l->rows = more;
    }
    if (l->nscan)
        memcpy(l->rows + n, rows, l->nscan * sizeof *l->rows);
}

/* ---- Loop ---- */

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

tc_status tc_graph_import_one_of_type(const tc_graph_value *v, tc_dtype t, const char *what, tc_error *err) {
    if (!v || (v->dtype == t && tc_graph_shape_count(&v->shape) == 1 && !tc_graph_is_dynamic(v)))
        return TC_OK;
    return tc_fail(err, TC_BAD_INPUT, "its %s '%s' must be one %s", what, v->name, tc_dtype_name(t));
}

/* *last stays NULL where no trip is made; *open: the data decide about trips, which l does not allow. */
static tc_status write_loop(loop *l, tc_graph_value ***last, bool *open, tc_error *err) {
    const tc_graph_number *m = &l->limit;
    tc_graph_value *cond = l->cond, **in = TC_NEW_N(l->at->g->arena, tc_graph_value *, l->body->nin + 1), **out;
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
        TC_TRY(l->body->add(l->body, in, &out, err));
        TC_TRY(tc_graph_import_one_of_type(out[0], TC_BOOL, "body's condition", err));
        keep_rows(l, out + 1 + l->nstate);
        TC_TRY(carry(l, out + 1, err));
        *last = out;
        cond = out[0];
        also(l, cond);
    }
    return TC_OK;
}

/* Made by nothing, for what is dropped as dead. */
static tc_graph_value *of_type(const loop *l, tc_dtype t, const tc_graph_shape *shape) {
    tc_graph *g = l->at->g;
    return tc_graph_add_value(g, tc_graph_fresh_name(g, l->c.n->name), t, shape);
}

/* No trip is made: one is written out for the types of its results, and dropped as dead. Where there is nothing at the place of a
 * first trip, as in what has no rows, it is that of a number that nobody knows. */
static tc_status types_of_rows(loop *l, tc_graph_value ***last, tc_error *err) {
    tc_graph_value **args = TC_NEW_N(l->at->g->arena, tc_graph_value *, l->nstate + 3);
    tc_error again = {0};
    args[0] = number(l, TC_I64, 0);
    args[1] = number(l, TC_BOOL, 1);
    memcpy(args + 2, l->state, l->nstate * sizeof *args);
    tc_status s = l->body->add(l->body, args, last, err);
    if (s != TC_BAD_INPUT)
        return s;
    args[0] = of_type(l, TC_I64, &(tc_graph_shape){0});
    return l->body->add(l->body, args, last, &again) == TC_OK ? TC_OK : s;
}

static tc_status write_out_loop(loop *l, bool *open, tc_graph_value ***out, tc_error *err) {
    tc_graph_value **last = NULL;
    TC_TRY(write_loop(l, &last, open, err));
    if (*open)
        return TC_OK;
    if (!last && l->nscan)
        TC_TRY(types_of_rows(l, &last, err));
    return give(l, last ? last + 1 + l->nstate : NULL, NULL, NULL, out, err);
}

/* ---- Scan ---- */

static tc_graph_value *element(loop *l, size_t k, int64_t i) {
    const scan *s = l->scan;
    int d = s->axis[k];
    tc_graph_value *v = tc_graph_em_with_sizes(&l->e, tc_graph_em_blind(&l->e, s->in[k]), s->in[k], d, NULL);
    bool back = s->directions && s->directions[k];
    if (s->length == 0) {
        tc_graph_shape shape = v->shape;
        memmove(&shape.d[d], &shape.d[d + 1], sizeof shape.d[0] * (size_t)(shape.ndim - d - 1));
        shape.ndim--;
        return of_type(l, v->dtype, &shape);
    }
    if (back && !l->limit.constant) { /* past its last trip, any */
        tc_graph_value *at = em_sub(&l->e, l->limit.value, number(l, TC_I64, i + 1));
        return tc_graph_em_gather(&l->e, TC_GRAPH_OP_GATHER, v, em_max(&l->e, at, number(l, TC_I64, 0)), d);
    }
    i = back ? TC_MAX(l->limit.most, 1) - 1 - i : i;
    return tc_graph_em_one(&l->e, TC_GRAPH_OP_SQUEEZE, tc_graph_em_slice(&l->e, v, d, i, i + 1, 1), d);
}

static tc_status scan_trip(loop *l, int64_t i, tc_graph_value ***out, tc_error *err) {
    tc_graph_value **args = TC_NEW_N(l->at->g->arena, tc_graph_value *, l->body->nin + 1);
    memcpy(args, l->state, l->nstate * sizeof *args);
    for (size_t k = 0; k < l->scan->n; k++)
        args[l->nstate + k] = element(l, k, i);
    TC_TRY(l->e.status);
    return l->body->add(l->body, args, out, err);
}

static tc_status write_out_scan(loop *l, tc_graph_value ***results, tc_error *err) {
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
    return give(l, out + l->nstate, l->scan->out_axes, l->scan->out_directions, results, err);
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

static bool is_small(const loop *l) {
    size_t nodes = l->body->nodes, trips = (size_t)TC_MAX(l->limit.most, 0);
    const tc_graph_budget *b = l->at->root->budget;
    if (l->limit.most > FEW_TRIPS || (nodes && trips > FEW_NODES / nodes))
        return false;
    return !b || b->spent[TC_GRAPH_BUDGET_COPIES] + nodes * trips <= b->bound[TC_GRAPH_BUDGET_COPIES] / WRITTEN_OUT_PART;
}

static tc_status write_out(loop *l, bool *open, tc_graph_value ***out, tc_error *err) {
    *open = false;
    return l->scan ? write_out_scan(l, out, err) : write_out_loop(l, open, out, err);
}

/* From its inputs again: an attempt to write it out may have changed what it carries. */
static tc_status attempt(const loop *l, bool data, bool *open, tc_graph_value ***out, tc_error *err) {
    loop copy = *l;
    copy.e.c = &copy.c;
    copy.c.err = err;
    copy.data = data;
    copy.state = tc_arena_dup(l->at->g->arena, l->state, (l->nstate + 1) * sizeof *l->state);
    return write_out(&copy, open, out, err);
}

tc_status tc_graph_import_add_trips(tc_graph_import_trips *l, tc_graph_value ***out, tc_error *err) {
    bool open = true, none = is_false(l->cond) || (l->limit.constant && l->limit.most <= 0);
    if (none || (l->limit.constant && !(l->cond && !l->cond->constant) && is_small(l)))
        TC_TRY(attempt(l, false, &open, out, err));
    if (!open)
        return TC_OK;
    tc_status status = tc_graph_import_trips_at_run_time(l, out, err);
    if (l->at->root->sizes && l->at->root->sizes->again)
        return status; /* import begins again */
    if (status == TC_BAD_INPUT && l->limit.most >= 0 && l->limit.most <= MAX_TRIPS && l->at->second < MAX_SECOND) {
        tc_error again = {0};
        l->at->second++;
        tc_status other = attempt(l, true, &open, out, &again);
        l->at->second--;
        if (other == TC_OK)
            return TC_OK;
        if (err && l->at->root->budget && l->at->root->budget->is_over)
            *err = again;
    }
    return status;
}
