/* Loops that the data decide about: their bodies become graphs of their own, which a node (ops.def) runs.
 *
 * A body's inputs are what it is given in every trip (the number of the trip, the state) and what it reads of the graphs around
 * it. A value that does not keep its shape from trip to trip lies in memory of its largest shape and carries its size (dynamic.h)
 * as an i64 scalar beside it:
 *
 *     y [n] = Loop: Concat(y, row)   =>   Loop(.., Pad(y, [n + trips]), n): y' = Slice(Concat(y of size n, row)), n + 1
 *
 * What grows without a largest number of trips has no largest shape, and is refused. A size of the graph around that a value has
 * in every trip is not carried: the body knows it from there. */
#include <inttypes.h>
#include <string.h>

#include "graph/import/lists.h"
#include "graph/import/loops.h"
#include "graph/ir/sizes.h"

/* What is carried settles in a few rounds: a list's elements and use, a size that changes, its growth, sizes that follow from it.
 */
enum { ROUNDS = 8 };

typedef struct carried {
    tc_dtype dtype;
    tc_graph_shape most;                     /* the largest */
    bool open[TC_GRAPH_MAX_DIMS];            /* the size is carried beside it */
    tc_graph_value *same[TC_GRAPH_MAX_DIMS]; /* or is this one around the loop, in all trips; NULL: it is neither, or is open */
    int64_t grows[TC_GRAPH_MAX_DIMS];        /* in a trip; 0: it does not */
    tc_graph_value *in, *next;               /* in the body */
    bool beside;                             /* a list that is not carried: nothing is known of its elements, or */
    bool appends;                            /* a trip appends to it and does not look: its elements are rows */
    tc_graph_type element;                   /* of a list */
    tc_graph_value *row;                     /* those that a trip appends, in the body; NULL: none */
} carried;

typedef struct run {
    tc_graph_import_trips *l;
    tc_graph_import_inside x;
    carried *state;
    tc_graph_value **out, *cond; /* of the body; the latter for the next trip */
    size_t *rows, nrows;         /* numbers of the results that somebody wants */
    tc_graph_value *(
        *row_size)[TC_GRAPH_MAX_DIMS]; /* of those: the sizes around the loop that their rows have; NULL: as the shape says */
} run;

static bool has_limit(const run *r) {
    return r->l->limit.most >= 0 && r->l->limit.most < INT64_MAX;
}

static tc_graph_value *number(tc_graph_emitter *e, tc_dtype t, int64_t v) {
    return tc_graph_em_ints(e, t, &(tc_graph_shape){0}, &v);
}

/* The next dimension of a carried state, from (*k, *d) on, that is open; they begin at (0, -1). */
static bool next_open(const run *r, size_t *k, int *d) {
    for (++*d; *k < r->l->nstate; ++*k, *d = 0)
        for (; !r->state[*k].beside && *d < r->state[*k].most.ndim; ++*d)
            if (r->state[*k].open[*d])
                return true;
    return false;
}

/* A state that keeps sizes of the graph around, which the body reads there. */
static tc_graph_value *with_same(run *r, const carried *c) {
    tc_graph_value *v = c->in;
    for (int d = 0; d < c->most.ndim; d++)
        if (c->same[d])
            v = tc_graph_em_sized(&r->x.e, v, d, tc_graph_import_here(r->l->at, c->same[d]));
    return v;
}

/* The body's first inputs: the number of the trip, the state, its sizes. */
static tc_graph_value *add_inputs(run *r, size_t first) {
    tc_graph *g = r->x.f.g;
    tc_graph_value *i = tc_graph_add_input(g, "trip", TC_I64, &(tc_graph_shape){0});
    i->most = has_limit(r) ? TC_MAX(r->l->limit.most - 1, 0) : 0;
    for (size_t k = 0; k < r->l->nstate; k++) {
        const char *name = r->l->body->in[first + k];
        carried *c = &r->state[k];
        if (c->appends) /* what stands for its rows is nobody's, and nobody's input */
            c->in = tc_graph_add_value(g, tc_graph_fresh_name(g, "rows"), c->dtype, &c->most);
        else if (!c->beside)
            c->in = tc_graph_add_input(g, *name ? name : "state", c->dtype, &c->most);
        if (c->appends)
            tc_graph_em_sized(&r->x.e, c->in, 0,
                              tc_graph_add_value(g, tc_graph_fresh_name(g, "size"), TC_I64, &(tc_graph_shape){0}));
    }
    size_t k = 0;
    for (int d = -1; next_open(r, &k, &d);) {
        tc_graph_value *in = r->state[k].in;
        const char *name = tc_arena_printf(g->arena, "%s.shape[%d]", in->name, d);
        tc_graph_em_sized(&r->x.e, in, d, tc_graph_add_input(g, name, TC_I64, &(tc_graph_shape){0}));
    }
    for (k = 0; k < r->l->nstate; k++)
        r->state[k].in = with_same(r, &r->state[k]);
    return i;
}

/* State k as the body knows it. */
static tc_graph_value *given(const run *r, size_t k) {
    const carried *c = &r->state[k];
    if (!r->l->state[k]->sequence)
        return c->in;
    bool known = !c->beside || c->appends;
    return tc_graph_import_list(r->x.f.g, (tc_graph_sequence){.rows = known ? c->in : NULL});
}

/* What a Scan's body gets of input k in trip i. */
static tc_graph_value *element(run *r, size_t k, tc_graph_value *i) {
    const tc_graph_import_scan *s = r->l->scan;
    const tc_graph_number *n = &r->l->limit;
    tc_graph_value *last = n->constant ? number(&r->x.e, TC_I64, n->most - 1) : NULL;
    if (s->directions && s->directions[k]) {
        last = last ? last : em_sub(&r->x.e, tc_graph_import_here(r->l->at, n->value), number(&r->x.e, TC_I64, 1));
        i = em_sub(&r->x.e, last, i);
    }
    return tc_graph_em_gather(&r->x.e, TC_GRAPH_OP_GATHER, tc_graph_import_here(r->l->at, s->in[k]), i, s->axis[k]);
}

static tc_status fill(run *r, tc_error *err) {
    tc_graph_import_trips *l = r->l;
    size_t first = l->scan ? 0 : 2;
    tc_graph_value *i = add_inputs(r, first), **in = TC_NEW_N(r->x.f.g->arena, tc_graph_value *, l->body->nin + 1);
    if (!l->scan) {
        in[0] = i;
        in[1] = number(&r->x.e, TC_BOOL, 1);
    }
    for (size_t k = 0; k < l->nstate; k++)
        in[first + k] = given(r, k);
    for (size_t k = 0; l->scan && k < l->scan->n; k++)
        in[l->nstate + k] = element(r, k, i);
    TC_TRY(r->x.e.status);
    TC_TRY(l->body->add(l->body, in, &r->out, err));
    r->cond = l->scan ? number(&r->x.e, TC_BOOL, 1) : r->out[0];
    for (size_t k = 0; k < l->nstate; k++)
        r->state[k].next = r->out[k + (l->scan ? 0 : 1)];
    if (r->cond->sequence || r->cond->dtype != TC_BOOL || tc_graph_shape_count(&r->cond->shape) != 1 ||
        tc_graph_is_dynamic(r->cond))
        return tc_fail(err, TC_BAD_INPUT, "its body's condition '%s' must be one bool", r->cond->name);
    return r->x.e.status;
}

static tc_status grows_without_end(const run *r, size_t k, int d, tc_error *err) {
    return tc_refuse(
        err, TC_ERROR_NOT_CONSTANT,
        "dimension %d of value %zu that it carries grows by %" PRId64
        " in a trip, and nothing bounds the number of trips; give the loop a constant trip count M, the largest there "
        "may be",
        d, k, r->state[k].grows[d]);
}

/* Dimension d of v, which the body gives, is a size of the graph around; NULL: it is not. */
static tc_graph_value *size_around(const run *r, const tc_graph_value *v, int d) {
    return tc_graph_extent(v, d) ? tc_graph_import_outside(&r->x, tc_graph_extent(v, d)) : NULL;
}

/* Compares dimension d before and after a trip. *again: the body has to be made again, for another shape. */
static tc_status settle(run *r, size_t k, int d, bool *again, tc_error *err) {
    carried *c = &r->state[k];
    if (c->same[d]) {
        if (size_around(r, c->next, d) == c->same[d] && c->next->shape.d[d] == c->most.d[d])
            return TC_OK;
        c->same[d] = NULL;
        c->open[d] = *again = true;
        return TC_OK;
    }
    int64_t before = c->most.d[d], after = c->next->shape.d[d], grown;
    bool open = tc_graph_extent(c->next, d) || after != before;
    if ((open && !c->open[d]) || (after > before && !c->grows[d])) {
        c->open[d] = *again = true;
        c->grows[d] = TC_MAX(after - before, 0);
        if (c->grows[d] && !has_limit(r))
            return grows_without_end(r, k, d, err);
        if (__builtin_mul_overflow(c->grows[d], r->l->limit.most, &grown) || __builtin_add_overflow(before, grown, &c->most.d[d]))
            return grows_without_end(r, k, d, err);
    } else if (after - before > c->grows[d]) {
        return tc_fail(err, TC_BAD_INPUT,
                       "dimension %d of value %zu that it carries has no largest size: it grows by more in each trip than in the "
                       "one before",
                       d, k);
    }
    return TC_OK;
}

static tc_status carries_other(size_t k, const char *what, tc_error *err) {
    return tc_refuse(err, TC_ERROR_NOT_CONSTANT,
                     "value %zu that it carries is %s; the number of trips must then be known when the model is "
                     "imported",
                     k, what);
}

/* ---- lists among them ---- */

/* Does anything in the body read v? */
static bool is_read(const run *r, const tc_graph_value *v) {
    const tc_graph *g = r->x.f.g;
    uint32_t *uses = tc_graph_count_uses(g);
    bool read = uses[v->id] > 0;
    free(uses);
    for (size_t k = 0; k < r->l->body->nout; k++)
        read |= r->out[k] == v;
    return read;
}

/* A list that is carried, or appended to, as rows. */
static tc_status type_list(const run *r, size_t k, tc_error *err) {
    carried *c = &r->state[k];
    const tc_graph_sequence *first = r->l->state[k]->sequence;
    c->dtype = c->element.dtype;
    c->most = (tc_graph_shape){.ndim = c->element.shape.ndim + 1};
    if (c->most.ndim > TC_GRAPH_MAX_DIMS)
        return tc_fail(err, TC_BAD_INPUT, "the elements of list %zu that it carries have too many dimensions", k);
    c->most.d[0] = TC_MAX((first->rows ? first->rows->shape.d[0] : 0) + (int64_t)first->n, 1);
    memcpy(c->most.d + 1, c->element.shape.d, sizeof c->most.d[0] * (size_t)c->element.shape.ndim);
    c->appends = true;
    return TC_OK;
}

/* As what a list is carried is found out: its elements' type in a first body, which gets an empty list; then whether that only
 * appends; and if not, as rows. */
static tc_status settle_list(run *r, size_t k, bool *again, tc_error *err) {
    carried *c = &r->state[k];
    const tc_graph_sequence *next = c->next->sequence;
    if (!next || next->optional)
        return carries_other(k, "a sequence before a trip, and none after it", err);
    if (c->beside && !c->appends) {
        if (!tc_graph_import_element_type(next, &c->element))
            return TC_OK;
        *again = true;
        return type_list(r, k, err);
    }
    if (c->appends && (next->rows != c->in || is_read(r, c->in) || is_read(r, c->in->extent[0]))) {
        c->beside = c->appends = false;
        c->open[0] = *again = true;
        c->row = NULL;
        return TC_OK;
    }
    if (!c->appends)
        return tc_graph_import_rows(&r->x.e, next, &c->element, &c->next);
    tc_graph_sequence fresh = {.n = next->n, .v = next->v};
    TC_TRY(tc_graph_import_check_elements(&r->x.e, &fresh, &c->element));
    c->row = next->n == 1 ? next->v[0] : NULL;
    return next->n > 1 ? tc_graph_import_rows(&r->x.e, &fresh, &c->element, &c->row) : TC_OK;
}

static tc_status settle_all(run *r, bool *again, tc_error *err) {
    *again = false;
    for (size_t k = 0; k < r->l->nstate; k++) {
        carried *c = &r->state[k];
        if (r->l->state[k]->sequence)
            TC_TRY(settle_list(r, k, again, err));
        else if (c->next->sequence)
            return carries_other(k, "no sequence before a trip, and one after it", err);
        if (c->beside || c->next->sequence)
            continue;
        if (c->next->dtype != c->dtype || c->next->shape.ndim != c->most.ndim)
            return tc_fail(err, TC_BAD_INPUT,
                           "value %zu that it carries is %s before a trip and %s after it; in a loop that is not written out "
                           "trip by trip, it must keep its type",
                           k, tc_graph_type_str(r->l->at->g->arena, c->dtype, &c->most),
                           tc_graph_type_str(r->l->at->g->arena, c->next->dtype, &c->next->shape));
        for (int d = 0; d < c->most.ndim; d++)
            TC_TRY(settle(r, k, d, again, err));
        TC_TRY(tc_graph_shape_check(&c->most, err));
    }
    return TC_OK;
}

/* Of the number of trips: that there is one; NULL: nothing is known. */
static const tc_expr *makes_trips(run *r) {
    if (r->l->limit.constant || !r->l->limit.value)
        return NULL;
    tc_ctx *c = tc_graph_sizes_of(r->l->at->g)->ctx;
    return tc_bin(c, TC_OP_GE, tc_graph_em_known(&r->l->e, r->l->limit.value).x, tc_i64(c, 1));
}

/* The body for shapes that do not change any more; r->x.f.g is NULL on failure. */
static tc_status make_body(run *r, tc_error *err) {
    bool again = true;
    const tc_expr *when = makes_trips(r);
    tc_status s = r->l->e.status;
    for (int round = 0; again && s == TC_OK; round++) {
        tc_graph_import_open_frame(r->l->at, &r->x, r->l->c.n->name, false, err);
        tc_graph_sizes_set_condition(r->x.f.g, r->x.f.g->sizes->around, when);
        s = fill(r, err);
        tc_graph_import_leave_frame(r->l->at, &r->x);
        if (s == TC_OK)
            s = settle_all(r, &again, err);
        if (s == TC_OK && again && round == ROUNDS)
            s = tc_fail(err, TC_BAD_INPUT, "the shapes of the values that it carries do not settle");
        if (s != TC_OK || again)
            tc_graph_import_drop_frame(&r->x);
    }
    return s;
}

/* ---- the node ---- */

static tc_graph_value *row_of(const run *r, size_t k) {
    return r->out[r->l->nstate + (r->l->scan ? 0 : 1) + r->rows[k]];
}

static tc_status name_outputs(run *r) {
    tc_graph_emitter *e = &r->x.e;
    tc_graph_import_add_result(r->x.f.g, r->cond);
    for (size_t k = 0; k < r->l->nstate; k++)
        if (!r->state[k].beside)
            tc_graph_import_add_result(r->x.f.g, tc_graph_import_fitted(e, r->state[k].next, &r->state[k].most));
    size_t open = 0;
    for (int d = -1; next_open(r, &open, &d);)
        tc_graph_import_add_result(r->x.f.g, tc_graph_em_size(e, r->state[open].next, d));
    for (size_t k = 0; k < r->nrows; k++)
        tc_graph_import_add_result(r->x.f.g, tc_graph_em_blind(e, row_of(r, k)));
    for (size_t k = 0; k < r->l->nstate; k++)
        if (r->state[k].row)
            tc_graph_import_add_result(r->x.f.g, r->state[k].row);
    return e->status;
}

static void list_rows(run *r) {
    r->row_size = tc_arena_alloc(r->l->at->g->arena, (r->l->nscan + 1) * sizeof *r->row_size);
    memset(r->row_size, 0, (r->l->nscan + 1) * sizeof *r->row_size);
    r->rows = TC_NEW_N(r->l->at->g->arena, size_t, r->l->nscan + 1);
    for (size_t k = 0; k < r->l->nscan; k++)
        if (r->l->wanted[r->l->nstate + k])
            r->rows[r->nrows++] = k;
}

static tc_status needs_limit(const char *what, size_t k, const char *why, tc_error *err) {
    return tc_refuse(
        err, TC_ERROR_NOT_CONSTANT,
        "%s %zu %s, and nothing bounds the number of trips; give the loop a constant trip count M, the largest there may "
        "be",
        what, k, why);
}

static tc_status check_rows(const run *r, tc_error *err) {
    for (size_t k = 0; k < r->nrows; k++) {
        const tc_graph_value *v = row_of(r, k);
        size_t which = r->l->nstate + r->rows[k];
        if (!has_limit(r))
            return needs_limit("result", which, "has a row for every trip", err);
        bool unsteady = false;
        for (int d = 0; d < v->shape.ndim; d++)
            unsteady |= tc_graph_extent(v, d) && !size_around(r, v, d);
        if (v->sequence || unsteady || v->shape.ndim >= TC_GRAPH_MAX_DIMS)
            return tc_fail(
                err, TC_BAD_INPUT,
                "result %zu is %s in a trip: it is a sequence, its size depends on data, or it has too many dimensions", which,
                tc_graph_type_str(r->l->at->g->arena, v->dtype, &v->shape));
    }
    for (size_t k = 0; k < r->l->nstate; k++)
        if (r->state[k].row && !has_limit(r))
            return needs_limit("list", k, "that it carries grows in every trip", err);
    return TC_OK;
}

/* While the body is not closed. */
static void note_row_sizes(const run *r) {
    for (size_t k = 0; k < r->nrows; k++)
        for (int d = 0; d < row_of(r, k)->shape.ndim; d++)
            r->row_size[k][d] = size_around(r, row_of(r, k), d);
}

/* Of all trips' rows, for result or value `which`. */
static tc_status type_rows(const run *r, const tc_graph_value *row, size_t which, tc_graph_type *out, tc_error *err) {
    tc_graph_shape s = {.ndim = row->shape.ndim + 1, .d = {r->l->limit.most}};
    if (row->shape.ndim >= TC_GRAPH_MAX_DIMS)
        return tc_fail(err, TC_BAD_INPUT, "what a trip appends to list %zu has too many dimensions", which);
    memcpy(s.d + 1, row->shape.d, sizeof s.d[0] * (size_t)row->shape.ndim);
    *out = (tc_graph_type){.dtype = row->dtype, .shape = s};
    if (tc_graph_shape_check(&s, err) == TC_OK)
        return TC_OK;
    tc_error_prefix(err, "result %zu has a row for each of at most %" PRId64 " trips, give a smaller trip count M: ", which,
                    r->l->limit.most);
    return TC_BAD_INPUT;
}

static tc_status type_outputs(const run *r, tc_graph_type *types, size_t *n, tc_error *err) {
    *n = 0;
    types[(*n)++] = tc_graph_import_scalar_type(TC_I64);
    for (size_t k = 0; k < r->l->nstate; k++)
        if (!r->state[k].beside)
            types[(*n)++] = (tc_graph_type){.dtype = r->state[k].dtype, .shape = r->state[k].most};
    size_t open = 0;
    for (int d = -1; next_open(r, &open, &d);)
        types[(*n)++] = tc_graph_import_scalar_type(TC_I64);
    for (size_t k = 0; k < r->nrows; k++)
        TC_TRY(type_rows(r, row_of(r, k), r->l->nstate + r->rows[k], &types[(*n)++], err));
    for (size_t k = 0; k < r->l->nstate; k++)
        if (r->state[k].row)
            TC_TRY(type_rows(r, r->state[k].row, k, &types[(*n)++], err));
    return TC_OK;
}

/* The number of trips, if the conditions hold, is a size, and within its largest whatever happens. */
static bool is_size(run *r) {
    const tc_graph_number *m = &r->l->limit;
    if (m->constant || !has_limit(r))
        return false;
    tc_ival range = tc_te_bounds(tc_graph_em_known(&r->l->e, m->value).x, tc_graph_sizes_of(r->l->at->g)->sure);
    return range.lo >= 0 && range.hi <= m->most;
}

/* NULL: there is none. One that the data give is not trusted to keep to its largest: rows have room for that many. */
static tc_graph_value *limit_of(run *r) {
    const tc_graph_number *m = &r->l->limit;
    if (!has_limit(r))
        return m->constant ? NULL : m->value;
    if (is_size(r))
        return m->value;
    tc_graph_value *most = number(&r->l->e, TC_I64, m->most);
    return m->constant ? most : em_min(&r->l->e, m->value, most);
}

/* What state k is before the first trip. */
static tc_graph_value *first_state(run *r, size_t k) {
    tc_graph_value *v = r->l->state[k];
    if (v->sequence && r->l->e.status == TC_OK)
        r->l->e.status = tc_graph_import_rows(&r->l->e, v->sequence, &r->state[k].element, &v);
    return v;
}

/* The node's inputs but for captured values; how many are state. */
static size_t first_inputs(run *r, tc_graph_value **in, size_t *nin) {
    tc_graph_emitter *e = &r->l->e;
    size_t n = 0;
    in[n++] = r->l->cond ? r->l->cond : number(e, TC_BOOL, 1);
    in[n++] = limit_of(r);
    for (size_t k = 0; k < r->l->nstate; k++)
        if (!r->state[k].beside)
            in[n++] = tc_graph_import_fitted(e, first_state(r, k), &r->state[k].most);
    size_t open = 0;
    for (int d = -1; next_open(r, &open, &d);)
        in[n++] = tc_graph_em_size(e, first_state(r, open), d);
    *nin = n;
    return n - 2;
}

static bool is_true(const tc_graph_value *v) {
    return !v || (v->constant && *(const uint8_t *)v->constant->data);
}

/* List k, to which the trips have appended these rows. */
static tc_status give_appended(run *r, size_t k, tc_graph_value *rows, tc_graph_value **out) {
    tc_graph_emitter *e = &r->l->e;
    const tc_graph_sequence *first = r->l->state[k]->sequence;
    if (rows->shape.ndim > r->state[k].element.shape.ndim + 1)
        rows = tc_graph_em_merged(e, rows, 0, 2);
    if (tc_graph_import_element_type(first, &(tc_graph_type){0})) {
        tc_graph_value *both[2] = {NULL, rows};
        TC_TRY(tc_graph_import_rows(e, first, &r->state[k].element, &both[0]));
        rows = tc_graph_em_concat(e, 0, both, 2);
    }
    *out = tc_graph_import_list(r->l->at->g, (tc_graph_sequence){.rows = rows});
    return e->status;
}

/* What is carried: the node's outputs after the first. */
static void give_states(run *r, const tc_graph_node *n, tc_graph_value **v) {
    size_t at = 1, open = 0;
    for (size_t k = 0; k < r->l->nstate; k++)
        v[k] = r->state[k].beside ? r->l->state[k] : n->out[at++];
    for (int d = -1; next_open(r, &open, &d);)
        v[open] = tc_graph_em_sized(&r->l->e, v[open], d, n->out[at++]);
    for (size_t k = 0; k < r->l->nstate; k++)
        for (int d = 0; d < r->state[k].most.ndim; d++)
            if (r->state[k].same[d])
                v[k] = tc_graph_em_sized(&r->l->e, v[k], d, r->state[k].same[d]);
    for (size_t k = 0; k < r->l->nstate; k++)
        if (r->l->state[k]->sequence && !r->state[k].beside)
            v[k] = tc_graph_import_list(r->l->at->g, (tc_graph_sequence){.rows = v[k]});
}

static tc_status give(run *r, tc_graph_node *n, size_t states, tc_graph_value ***out, tc_error *err) {
    tc_graph_import_trips *l = r->l;
    tc_graph_value **v = TC_NEW_N(l->at->g->arena, tc_graph_value *, l->nstate + l->nscan + 1);
    bool goes_on = is_true(l->cond) && is_true(n->body[0]->outputs.data[0].value), all = l->limit.constant && goes_on;
    size_t at = 1 + states;
    tc_graph_value *trips = goes_on && is_size(r) ? l->limit.value : n->out[0];
    give_states(r, n, v);
    for (int k = 0; k < n->nout - (int)at && !all; k++)
        n->out[at + (size_t)k] = tc_graph_em_sized(&l->e, n->out[at + (size_t)k], 0, trips);
    for (size_t k = 0; k < r->nrows; k++)
        for (int d = 0; d + 1 < n->out[at + k]->shape.ndim; d++)
            if (r->row_size[k][d])
                n->out[at + k] = tc_graph_em_sized(&l->e, n->out[at + k], d + 1, r->row_size[k][d]);
    for (size_t k = 0; k < r->nrows; k++) {
        v[l->nstate + r->rows[k]] = n->out[at++];
        TC_TRY(tc_graph_import_turn_rows(l, r->rows[k], &v[l->nstate + r->rows[k]], err));
    }
    for (size_t k = 0; k < l->nstate; k++)
        if (r->state[k].row)
            TC_TRY(give_appended(r, k, n->out[at++], &v[k]));
    TC_TRY(l->e.status);
    *out = v;
    return TC_OK;
}

static tc_status check_end(const run *r, tc_error *err) {
    bool ends = has_limit(r) || !r->l->limit.constant || !is_true(r->l->cond) || !is_true(r->cond);
    return ends ? TC_OK : tc_fail(err, TC_BAD_INPUT, "it never ends: it has no trip count, and its condition always holds");
}

static tc_status add_node(run *r, tc_graph_value ***out, tc_error *err) {
    tc_graph *g = r->l->at->g;
    size_t most = 3 + r->l->nstate * (2 + TC_GRAPH_MAX_DIMS) + r->nrows, nin, nout;
    tc_graph_value **first = TC_NEW_N(g->arena, tc_graph_value *, most), **in;
    tc_graph_type *types = TC_NEW_N(g->arena, tc_graph_type, most);
    size_t states = first_inputs(r, first, &nin);
    tc_status s = check_end(r, err);
    s = s == TC_OK ? check_rows(r, err) : s;
    if (s == TC_OK)
        note_row_sizes(r);
    s = s == TC_OK ? type_outputs(r, types, &nout, err) : s;
    s = s == TC_OK ? name_outputs(r) : s;
    s = s == TC_OK ? r->l->e.status : s;
    if (s != TC_OK) {
        tc_graph_import_drop_frame(&r->x);
        return s;
    }
    tc_graph_simplify(r->x.f.g);
    tc_graph_import_hoist(g, &r->x.f);
    in = TC_NEW_N(g->arena, tc_graph_value *, nin + r->x.f.around.len);
    memcpy(in, first, nin * sizeof *in);
    nin += tc_graph_import_close_body(g, &r->x, in + nin);
    tc_graph_node *n = tc_graph_import_place_node(g, TC_GRAPH_OP_LOOP, r->l->name, in, nin, types, nout);
    tc_graph_set_states(g, n, (int64_t)states);
    n->body[0] = r->x.f.g;
    return give(r, n, states, out, err);
}

/* The state before the first trip. */
static tc_status start(run *r, size_t k, tc_error *err) {
    carried *c = &r->state[k];
    const tc_graph_value *v = r->l->state[k];
    c->dtype = v->dtype;
    c->most = v->shape;
    for (int d = 0; d < v->shape.ndim; d++)
        c->same[d] = v->sequence ? NULL : tc_graph_extent(v, d);
    if (!v->sequence)
        return TC_OK;
    if (v->sequence->optional)
        return carries_other(k, "an optional", err);
    c->beside = true;
    if (!tc_graph_import_element_type(v->sequence, &c->element))
        return TC_OK;
    TC_TRY(tc_graph_import_check_elements(&r->l->e, v->sequence, &c->element));
    return type_list(r, k, err);
}

tc_status tc_graph_import_trips_at_run_time(tc_graph_import_trips *l, tc_graph_value ***out, tc_error *err) {
    run r = {.l = l, .state = TC_NEW_N(l->at->g->arena, carried, l->nstate + 1)};
    for (size_t k = 0; k < l->nstate; k++)
        TC_TRY(start(&r, k, err));
    list_rows(&r);
    TC_TRY(make_body(&r, err));
    return add_node(&r, out, err);
}
