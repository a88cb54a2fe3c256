/* Loops and branches that the data decide about: their bodies become graphs of their own, which a node (If, Loop: ops.def) runs.
 *
 * A body's inputs are what it is given in every trip (the number of the trip, the state) and what it reads of the graphs around
 * it. A value that does not keep its shape, from trip to trip or between two branches, lies in memory of its largest shape and
 * carries its size (dynamic.h) as an i64 scalar beside it:
 *
 *     y [n] = Loop: Concat(y, row)   =>   Loop(.., Pad(y, [n + trips]), n): y' = Slice(Concat(y of size n, row)), n + 1
 *
 * What grows without a largest number of trips has no largest shape, and is refused. */
#include <inttypes.h>
#include <string.h>

#include "graph/import_int.h"

typedef tc_graph_import_frame frame;

/* ---- graphs of bodies ---- */

static tc_graph_value *capture(frame *f, tc_graph_value *v, tc_graph_value *outer) {
    const char *name = tc_graph_fresh_name(f->g, v->name);
    tc_graph_value *in;
    if (outer->constant) {
        in = tc_graph_add_value(f->g, name, outer->dtype, &outer->shape);
        in->constant = outer->constant;
    } else {
        in = tc_graph_add_input(f->g, name, outer->dtype, &outer->shape);
        in->most = outer->most;
        tc_push(&f->around, outer);
    }
    tc_map_put(&f->inside, (uint64_t)(uintptr_t)v, (uintptr_t)in);
    return in;
}

static tc_graph_value *here(tc_graph_importer *im, frame *f, tc_graph_value *v);

static tc_graph_value *list_here(tc_graph_importer *im, frame *f, const tc_graph_value *v) {
    const tc_graph_sequence *s = v->sequence;
    tc_graph_value **all = TC_NEW_N(f->g->arena, tc_graph_value *, s->n + 1);
    for (size_t i = 0; i < s->n; i++)
        all[i] = here(im, f, s->v[i]);
    tc_graph_value *list = tc_graph_import_list(f->g, all, s->n, s->optional);
    tc_map_put(&f->inside, (uint64_t)(uintptr_t)v, (uintptr_t)list);
    return list;
}

static tc_graph_value *here(tc_graph_importer *im, frame *f, tc_graph_value *v) {
    if (tc_graph_owns(f ? f->g : im->root, v) || !f)
        return v;
    uintptr_t *known = tc_map_get(&f->inside, (uint64_t)(uintptr_t)v);
    if (known)
        return (tc_graph_value *)*known;
    if (v->sequence)
        return list_here(im, f, v);
    tc_graph_value *outer = here(im, f->up, v), *in = capture(f, v, outer);
    for (int d = 0; d < outer->shape.ndim; d++) {
        if (!tc_graph_extent(outer, d))
            continue;
        if (!in->extent)
            in->extent = TC_NEW_N(f->g->arena, tc_graph_value *, TC_GRAPH_MAX_DIMS);
        in->extent[d] = here(im, f, outer->extent[d]);
    }
    return in;
}

tc_graph_value *tc_graph_import_here(tc_graph_importer *im, tc_graph_value *v) {
    return here(im, im->frame, v);
}

/* What is emitted into a body's graph for node p. */
typedef struct inside {
    frame f;
    tc_graph_infer_ctx c;
    tc_graph_emitter e;
} inside;

static void open_frame(tc_graph_importer *im, inside *x, const Onnx__NodeProto *p, tc_error *err) {
    *x = (inside){.f = {.up = im->frame, .g = tc_graph_new(im->path)}};
    x->f.g->name = tc_arena_strdup(x->f.g->arena, p->name && *p->name ? p->name : p->op_type);
    x->c = (tc_graph_infer_ctx){.g = x->f.g, .opset = TC_GRAPH_OPSET_MAX, .err = err};
    x->c.n = tc_graph_new_node(x->f.g, TC_GRAPH_OP_IDENTITY, x->f.g->name, NULL, 0);
    x->e = (tc_graph_emitter){&x->c, TC_OK};
    im->frame = &x->f;
    im->g = x->f.g;
}

/* Back to the graph around it. */
static void leave_frame(tc_graph_importer *im, const inside *x) {
    im->frame = x->f.up;
    im->g = x->f.up ? x->f.up->g : im->root;
}

static void drop_frame(inside *x) {
    tc_map_free(&x->f.inside);
    tc_vec_free(&x->f.around);
    tc_graph_free(x->f.g);
    x->f.g = NULL;
}

/* Once its outputs are named: tidied, and the graph around it has it. captured[]: what it reads of that; room for all of around.
 */
static size_t close_body(tc_graph *around, inside *x, tc_graph_value **captured) {
    tc_graph *g = x->f.g;
    tc_graph_simplify(g);
    uint32_t *uses = tc_graph_count_uses(g);
    size_t first = g->inputs.len - x->f.around.len, n = 0;
    for (size_t i = 0; i < x->f.around.len; i++)
        if (uses[g->inputs.data[first + i]->id]) {
            captured[n] = x->f.around.data[i];
            g->inputs.data[first + n++] = g->inputs.data[first + i];
        }
    g->inputs.len = first + n;
    free(uses);
    tc_map_free(&x->f.inside);
    tc_vec_free(&x->f.around);
    tc_push(&around->bodies, g);
    return n;
}

/* v with its memory cut or padded to `to`, and every dimension at its largest. */
static tc_graph_value *fitted(tc_graph_emitter *e, tc_graph_value *v, const tc_graph_shape *to) {
    int64_t pads[2 * TC_GRAPH_MAX_DIMS] = {0};
    bool short_of = false;
    v = tc_graph_em_blind(e, v);
    for (int d = 0; d < to->ndim; d++) {
        if (v->shape.d[d] > to->d[d])
            v = tc_graph_em_slice(e, v, d, 0, to->d[d], 1);
        pads[to->ndim + d] = to->d[d] - v->shape.d[d];
        short_of |= pads[to->ndim + d] > 0;
    }
    return short_of ? tc_graph_em_pad(e, v, pads, NULL) : v;
}

static void add_output(tc_graph *g, tc_graph_value *v) {
    tc_graph_add_output(g, v->name, v);
}

/* A node without attributes; out[k] are made by types[k]. */
static tc_graph_node *place_node(tc_graph *g, tc_graph_op op, const char *name, tc_graph_value **in, size_t nin,
                                 const tc_graph_type *types, size_t nout) {
    tc_graph_node *n = tc_graph_new_node(g, op, name, in, (int)nin);
    n->nout = (int)nout;
    n->out = TC_NEW_N(g->arena, tc_graph_value *, nout + 1);
    for (size_t k = 0; k < nout; k++) {
        const char *own = tc_graph_fresh_name(g, tc_arena_printf(g->arena, "%s.%zu", n->name, k));
        n->out[k] = tc_graph_add_value(g, own, types[k].dtype, &types[k].shape);
        n->out[k]->producer = n;
    }
    tc_push(&g->nodes, n);
    return n;
}

static tc_graph_type scalar_type(tc_dtype t) {
    return (tc_graph_type){.dtype = t};
}

/* ---- If ---- */

typedef struct branches {
    tc_graph_importer *im;
    const Onnx__NodeProto *p;
    tc_graph_value *cond;
    inside in[2];
    tc_graph_value **out[2]; /* [p's outputs] */
    tc_graph_type *types;    /* [p's outputs], then of sizes */
    size_t ntypes;
} branches;

static bool is_open(const branches *b, size_t k, int d) {
    const tc_graph_value *yes = b->out[0][k], *no = b->out[1][k];
    return tc_graph_extent(yes, d) || tc_graph_extent(no, d) || yes->shape.d[d] != no->shape.d[d];
}

static tc_status type_result(branches *b, size_t k, tc_error *err) {
    const tc_graph_value *yes = b->out[0][k], *no = b->out[1][k];
    tc_arena *a = b->im->g->arena;
    if (yes->sequence || no->sequence)
        return tc_fail(err, TC_BAD_INPUT,
                       "output %zu is a sequence or optional, and its condition '%s' depends on the network's inputs; it must be "
                       "known when the model is imported",
                       k, b->cond->name);
    if (yes->dtype != no->dtype || yes->shape.ndim != no->shape.ndim)
        return tc_fail(err, TC_BAD_INPUT,
                       "its condition '%s' depends on the network's inputs, and output %zu is %s or %s: branches of "
                       "different types need a condition that is known when the model is imported",
                       b->cond->name, k, tc_graph_type_str(a, yes->dtype, &yes->shape),
                       tc_graph_type_str(a, no->dtype, &no->shape));
    b->types[k] = (tc_graph_type){yes->dtype, yes->shape};
    for (int d = 0; d < yes->shape.ndim; d++)
        b->types[k].shape.d[d] = TC_MAX(yes->shape.d[d], no->shape.d[d]);
    return tc_graph_shape_check(&b->types[k].shape, yes->dtype, err);
}

static tc_status type_results(branches *b, tc_error *err) {
    size_t n = b->p->n_output;
    b->types = TC_NEW_N(b->im->g->arena, tc_graph_type, n * (1 + TC_GRAPH_MAX_DIMS) + 1);
    for (size_t k = 0; k < n; k++)
        TC_TRY(type_result(b, k, err));
    b->ntypes = n;
    for (size_t k = 0; k < n; k++)
        for (int d = 0; d < b->types[k].shape.ndim; d++)
            if (is_open(b, k, d))
                b->types[b->ntypes++] = scalar_type(TC_I64);
    return TC_OK;
}

static tc_status name_results(branches *b, int which) {
    tc_graph_emitter *e = &b->in[which].e;
    for (size_t k = 0; k < b->p->n_output; k++)
        add_output(e->c->g, fitted(e, b->out[which][k], &b->types[k].shape));
    for (size_t k = 0; k < b->p->n_output; k++)
        for (int d = 0; d < b->types[k].shape.ndim; d++)
            if (is_open(b, k, d))
                add_output(e->c->g, tc_graph_em_size(e, b->out[which][k], d));
    return e->status;
}

static tc_status give_results(branches *b, tc_graph_node *n, tc_error *err) {
    tc_graph_infer_ctx c = {.g = b->im->g, .opset = TC_GRAPH_OPSET_MAX, .n = n, .err = err};
    tc_graph_emitter e = {&c, TC_OK};
    for (size_t k = 0, size = b->p->n_output; k < b->p->n_output; k++)
        for (int d = 0; d < b->types[k].shape.ndim; d++)
            if (is_open(b, k, d))
                n->out[k] = tc_graph_em_sized(&e, n->out[k], d, n->out[size++]);
    TC_TRY(e.status);
    return tc_graph_import_give_outputs(b->im, b->p, n->out, err);
}

static tc_status add_branches(branches *b, size_t index, tc_error *err) {
    static const char *const names[] = {"then_branch", "else_branch"};
    for (int k = 0; k < 2; k++) {
        open_frame(b->im, &b->in[k], b->p, err);
        tc_status s = tc_graph_import_branch(b->im, b->p, names[k], index, &b->out[k], err);
        leave_frame(b->im, &b->in[k]);
        TC_TRY(s);
    }
    TC_TRY(type_results(b, err));
    TC_TRY(name_results(b, 0));
    return name_results(b, 1);
}

tc_status tc_graph_import_if_at_run_time(tc_graph_importer *im, const Onnx__NodeProto *p, tc_graph_value *cond, size_t index,
                                         tc_error *err) {
    branches b = {.im = im, .p = p, .cond = cond};
    tc_status s = add_branches(&b, index, err);
    if (s != TC_OK) {
        for (int k = 0; k < 2; k++)
            if (b.in[k].f.g)
                drop_frame(&b.in[k]);
        return s;
    }
    tc_graph *g = im->g;
    for (int k = 0; k < 2; k++)
        tc_graph_simplify(b.in[k].f.g);
    tc_graph_value **in = TC_NEW_N(g->arena, tc_graph_value *, b.in[0].f.around.len + b.in[1].f.around.len + 1);
    in[0] = cond;
    size_t then = close_body(g, &b.in[0], in + 1), nin = 1 + then + close_body(g, &b.in[1], in + 1 + then);
    tc_graph_node *n = place_node(g, TC_GRAPH_OP_IF, p->name, in, nin, b.types, b.ntypes);
    tc_graph_set_int(g, n, "then", (int64_t)then);
    for (int k = 0; k < 2; k++)
        n->body[k] = b.in[k].f.g;
    return give_results(&b, n, err);
}

/* ---- Loop and Scan ---- */

/* Shapes of what is carried settle in a few rounds: a size that changes, its growth, sizes that follow from it. */
enum { ROUNDS = 6 };

typedef struct carried {
    tc_graph_shape most;              /* the largest */
    bool open[TC_GRAPH_MAX_DIMS];     /* the size is carried beside it */
    int64_t grows[TC_GRAPH_MAX_DIMS]; /* in a trip; 0: it does not */
    tc_graph_value *in, *next;        /* in the body */
} carried;

typedef struct run {
    tc_graph_import_trips *l;
    inside x;
    carried *state;
    tc_graph_value **out, *cond; /* of the body; the latter for the next trip */
    size_t *rows, nrows;         /* numbers of the results that somebody wants */
} run;

static const Onnx__ValueInfoProto *body_input(const run *r, size_t k) {
    return r->l->body->input[k];
}

static bool has_limit(const run *r) {
    return r->l->limit.most >= 0 && r->l->limit.most < INT64_MAX;
}

static tc_graph_value *number(tc_graph_emitter *e, tc_dtype t, int64_t v) {
    return tc_graph_em_ints(e, t, &(tc_graph_shape){0}, &v);
}

/* The body's first inputs: the number of the trip, the state, its sizes. */
static tc_graph_value *add_inputs(run *r, size_t first) {
    tc_graph *g = r->x.f.g;
    tc_graph_value *i = tc_graph_add_input(g, "trip", TC_I64, &(tc_graph_shape){0});
    i->most = has_limit(r) ? TC_MAX(r->l->limit.most - 1, 0) : 0;
    for (size_t k = 0; k < r->l->nstate; k++) {
        const char *name = body_input(r, first + k)->name;
        r->state[k].in = tc_graph_add_input(g, name ? name : "state", r->l->state[k]->dtype, &r->state[k].most);
    }
    for (size_t k = 0; k < r->l->nstate; k++)
        for (int d = 0; d < r->state[k].most.ndim; d++)
            if (r->state[k].open[d]) {
                tc_graph_value *in = r->state[k].in;
                const char *name = tc_arena_printf(g->arena, "%s.shape[%d]", in->name, d);
                tc_graph_em_sized(&r->x.e, in, d, tc_graph_add_input(g, name, TC_I64, &(tc_graph_shape){0}));
            }
    return i;
}

/* What a Scan's body gets of input k in trip i. */
static tc_graph_value *element(run *r, size_t k, tc_graph_value *i) {
    const tc_graph_import_scan *s = r->l->scan;
    const tc_graph_number *n = &r->l->limit;
    tc_graph_value *last = n->constant ? number(&r->x.e, TC_I64, n->most - 1) : NULL;
    if (s->directions && s->directions[k]) {
        last = last ? last : em_sub(&r->x.e, tc_graph_import_here(r->l->im, n->value), number(&r->x.e, TC_I64, 1));
        i = em_sub(&r->x.e, last, i);
    }
    return tc_graph_em_gather(&r->x.e, TC_GRAPH_OP_GATHER, tc_graph_import_here(r->l->im, s->in[k]), i, s->axis[k]);
}

static tc_status fill(run *r, tc_error *err) {
    tc_graph_import_trips *l = r->l;
    tc_graph_import_scope s = {.call = l->p, .opset = tc_graph_import_opset(l->im), .of_batch = l->scan && l->scan->batch};
    size_t first = l->scan ? 0 : 2;
    tc_graph_value *i = add_inputs(r, first), **in = TC_NEW_N(r->x.f.g->arena, tc_graph_value *, l->body->n_input + 1);
    if (!l->scan) {
        in[0] = i;
        in[1] = number(&r->x.e, TC_BOOL, 1);
    }
    for (size_t k = 0; k < l->nstate; k++)
        in[first + k] = r->state[k].in;
    for (size_t k = 0; l->scan && k < l->scan->n; k++)
        in[l->nstate + k] = element(r, k, i);
    TC_TRY(r->x.e.status);
    for (size_t k = 0; k < l->body->n_input; k++)
        tc_map_puts(&s.values, body_input(r, k)->name ? body_input(r, k)->name : "", (uintptr_t)in[k]);
    TC_TRY(tc_graph_import_graph(l->im, l->p, l->body, &s, l->index, &r->out, err));
    r->cond = l->scan ? number(&r->x.e, TC_BOOL, 1) : r->out[0];
    for (size_t k = 0; k < l->nstate; k++)
        r->state[k].next = r->out[k + (l->scan ? 0 : 1)];
    if (r->cond->sequence || r->cond->dtype != TC_BOOL || tc_graph_shape_count(&r->cond->shape) != 1 ||
        tc_graph_is_dynamic(r->cond))
        return tc_fail(err, TC_BAD_INPUT, "its body's condition '%s' must be one bool", r->cond->name);
    return r->x.e.status;
}

static tc_status grows_without_end(const run *r, size_t k, int d, tc_error *err) {
    return tc_fail(err, TC_BAD_INPUT,
                   "dimension %d of value %zu that it carries grows by %" PRId64
                   " in a trip, and nothing bounds the number of trips; give the loop a constant trip count M, the largest there "
                   "may be",
                   d, k, r->state[k].grows[d]);
}

/* Compares dimension d before and after a trip. *again: the body has to be made again, for another shape. */
static tc_status settle(run *r, size_t k, int d, bool *again, tc_error *err) {
    carried *c = &r->state[k];
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

static tc_status carries_list(size_t k, tc_error *err) {
    return tc_fail(
        err, TC_BAD_INPUT,
        "value %zu that it carries is a sequence or optional; the number of trips must then be known when the model is "
        "imported",
        k);
}

static tc_status settle_all(run *r, bool *again, tc_error *err) {
    *again = false;
    for (size_t k = 0; k < r->l->nstate; k++) {
        carried *c = &r->state[k];
        if (c->next->sequence)
            return carries_list(k, err);
        if (c->next->dtype != r->l->state[k]->dtype || c->next->shape.ndim != c->most.ndim)
            return tc_fail(err, TC_BAD_INPUT,
                           "value %zu that it carries is %s before a trip and %s after it; where it is not written out trip by "
                           "trip, it must keep its type",
                           k, tc_graph_type_str(r->l->im->g->arena, r->l->state[k]->dtype, &c->most),
                           tc_graph_type_str(r->l->im->g->arena, c->next->dtype, &c->next->shape));
        for (int d = 0; d < c->most.ndim; d++)
            TC_TRY(settle(r, k, d, again, err));
        TC_TRY(tc_graph_shape_check(&c->most, c->next->dtype, err));
    }
    return TC_OK;
}

/* The body for shapes that do not change any more; r->x.f.g is NULL on failure. */
static tc_status make_body(run *r, tc_error *err) {
    bool again = true;
    tc_status s = TC_OK;
    for (int round = 0; again && s == TC_OK; round++) {
        open_frame(r->l->im, &r->x, r->l->p, err);
        s = fill(r, err);
        leave_frame(r->l->im, &r->x);
        if (s == TC_OK)
            s = settle_all(r, &again, err);
        if (s == TC_OK && again && round == ROUNDS)
            s = tc_fail(err, TC_BAD_INPUT, "the shapes of the values that it carries do not settle");
        if (s != TC_OK || again)
            drop_frame(&r->x);
    }
    return s;
}

/* ---- the node ---- */

static tc_graph_value *row_of(const run *r, size_t k) {
    return r->out[r->l->nstate + (r->l->scan ? 0 : 1) + r->rows[k]];
}

static tc_status name_outputs(run *r) {
    tc_graph_emitter *e = &r->x.e;
    add_output(r->x.f.g, r->cond);
    for (size_t k = 0; k < r->l->nstate; k++)
        add_output(r->x.f.g, fitted(e, r->state[k].next, &r->state[k].most));
    for (size_t k = 0; k < r->l->nstate; k++)
        for (int d = 0; d < r->state[k].most.ndim; d++)
            if (r->state[k].open[d])
                add_output(r->x.f.g, tc_graph_em_size(e, r->state[k].next, d));
    for (size_t k = 0; k < r->nrows; k++)
        add_output(r->x.f.g, row_of(r, k));
    return e->status;
}

static void list_rows(run *r) {
    r->rows = TC_NEW_N(r->l->im->g->arena, size_t, r->l->nscan + 1);
    for (size_t k = 0; k < r->l->nscan && r->l->nstate + k < r->l->p->n_output; k++)
        if (*r->l->p->output[r->l->nstate + k])
            r->rows[r->nrows++] = k;
}

static tc_status check_rows(const run *r, tc_error *err) {
    for (size_t k = 0; k < r->nrows; k++) {
        const tc_graph_value *v = row_of(r, k);
        size_t which = r->l->nstate + r->rows[k];
        if (!has_limit(r))
            return tc_fail(
                err, TC_BAD_INPUT,
                "result %zu has a row for every trip, and nothing bounds the number of trips; give the loop a constant "
                "trip count M, the largest there may be",
                which);
        if (v->sequence || tc_graph_is_dynamic(v) || v->shape.ndim >= TC_GRAPH_MAX_DIMS)
            return tc_fail(
                err, TC_BAD_INPUT,
                "result %zu is %s in a trip: it is a sequence, its size depends on data, or it has too many dimensions", which,
                tc_graph_type_str(r->l->im->g->arena, v->dtype, &v->shape));
    }
    return TC_OK;
}

static tc_status type_outputs(const run *r, tc_graph_type *types, size_t *n, tc_error *err) {
    *n = 0;
    types[(*n)++] = scalar_type(TC_I64);
    for (size_t k = 0; k < r->l->nstate; k++)
        types[(*n)++] = (tc_graph_type){r->l->state[k]->dtype, r->state[k].most};
    for (size_t k = 0; k < r->l->nstate; k++)
        for (int d = 0; d < r->state[k].most.ndim; d++)
            if (r->state[k].open[d])
                types[(*n)++] = scalar_type(TC_I64);
    for (size_t k = 0; k < r->nrows; k++) {
        const tc_graph_value *row = row_of(r, k);
        tc_graph_shape s = {.ndim = row->shape.ndim + 1, .d = {r->l->limit.most}};
        memcpy(s.d + 1, row->shape.d, sizeof s.d[0] * (size_t)row->shape.ndim);
        if (tc_graph_shape_check(&s, row->dtype, err) != TC_OK) {
            tc_error_prefix(err, "result %zu has a row for each of at most %" PRId64 " trips, give a smaller trip count M: ",
                            r->l->nstate + r->rows[k], r->l->limit.most);
            return TC_BAD_INPUT;
        }
        types[(*n)++] = (tc_graph_type){row->dtype, s};
    }
    return TC_OK;
}

/* NULL: there is none. One that the data give is not trusted to keep to its largest: rows have room for that many. */
static tc_graph_value *limit_of(run *r) {
    const tc_graph_number *m = &r->l->limit;
    if (!has_limit(r))
        return m->constant ? NULL : m->value;
    tc_graph_value *most = number(&r->l->e, TC_I64, m->most);
    return m->constant ? most : em_min(&r->l->e, m->value, most);
}

/* The node's inputs but for captured values; how many are state. */
static size_t first_inputs(run *r, tc_graph_value **in, size_t *nin) {
    tc_graph_emitter *e = &r->l->e;
    size_t n = 0;
    in[n++] = r->l->cond ? r->l->cond : number(e, TC_BOOL, 1);
    in[n++] = limit_of(r);
    for (size_t k = 0; k < r->l->nstate; k++)
        in[n++] = fitted(e, r->l->state[k], &r->state[k].most);
    for (size_t k = 0; k < r->l->nstate; k++)
        for (int d = 0; d < r->state[k].most.ndim; d++)
            if (r->state[k].open[d])
                in[n++] = tc_graph_em_size(e, r->l->state[k], d);
    *nin = n;
    return n - 2;
}

static bool is_true(const tc_graph_value *v) {
    return !v || (v->constant && *(const uint8_t *)v->constant->data);
}

static tc_status give(run *r, tc_graph_node *n, size_t states, tc_error *err) {
    tc_graph_import_trips *l = r->l;
    tc_graph_value **v = TC_NEW_N(l->im->g->arena, tc_graph_value *, l->nstate + l->nscan + 1);
    size_t size = 1 + l->nstate;
    for (size_t k = 0; k < l->nstate; k++) {
        v[k] = n->out[1 + k];
        for (int d = 0; d < r->state[k].most.ndim; d++)
            if (r->state[k].open[d])
                v[k] = tc_graph_em_sized(&l->e, v[k], d, n->out[size++]);
    }
    bool all = l->limit.constant && is_true(l->cond) && is_true(n->body[0]->outputs.data[0].value);
    for (size_t k = 0; k < r->nrows; k++) {
        tc_graph_value **to = &v[l->nstate + r->rows[k]];
        *to = n->out[1 + states + k];
        if (!all)
            *to = tc_graph_em_sized(&l->e, *to, 0, n->out[0]);
        TC_TRY(tc_graph_import_turn_rows(l, r->rows[k], to, err));
    }
    TC_TRY(l->e.status);
    return tc_graph_import_give_outputs(l->im, l->p, v, err);
}

static tc_status check_end(const run *r, tc_error *err) {
    bool ends = has_limit(r) || !r->l->limit.constant || !is_true(r->l->cond) || !is_true(r->cond);
    return ends ? TC_OK : tc_fail(err, TC_BAD_INPUT, "it never ends: it has no trip count, and its condition always holds");
}

static tc_status add_node(run *r, tc_error *err) {
    tc_graph *g = r->l->im->g;
    size_t most = 3 + r->l->nstate * (1 + TC_GRAPH_MAX_DIMS) + r->nrows, nin, nout;
    tc_graph_value **first = TC_NEW_N(g->arena, tc_graph_value *, most), **in;
    tc_graph_type *types = TC_NEW_N(g->arena, tc_graph_type, most);
    size_t states = first_inputs(r, first, &nin);
    tc_status s = check_end(r, err);
    s = s == TC_OK ? check_rows(r, err) : s;
    s = s == TC_OK ? type_outputs(r, types, &nout, err) : s;
    s = s == TC_OK ? name_outputs(r) : s;
    s = s == TC_OK ? r->l->e.status : s;
    if (s != TC_OK) {
        drop_frame(&r->x);
        return s;
    }
    tc_graph_simplify(r->x.f.g);
    tc_graph_import_hoist(g, &r->x.f);
    in = TC_NEW_N(g->arena, tc_graph_value *, nin + r->x.f.around.len);
    memcpy(in, first, nin * sizeof *in);
    nin += close_body(g, &r->x, in + nin);
    tc_graph_node *n = place_node(g, TC_GRAPH_OP_LOOP, r->l->p->name, in, nin, types, nout);
    tc_graph_set_int(g, n, "states", (int64_t)states);
    n->body[0] = r->x.f.g;
    return give(r, n, states, err);
}

tc_status tc_graph_import_trips_at_run_time(tc_graph_import_trips *l, tc_error *err) {
    run r = {.l = l, .state = TC_NEW_N(l->im->g->arena, carried, l->nstate + 1)};
    for (size_t k = 0; k < l->nstate; k++) {
        if (l->state[k]->sequence)
            return carries_list(k, err);
        r.state[k].most = l->state[k]->shape;
        for (int d = 0; d < l->state[k]->shape.ndim; d++)
            r.state[k].open[d] = tc_graph_extent(l->state[k], d) != NULL;
    }
    list_rows(&r);
    TC_TRY(make_body(&r, err));
    return add_node(&r, err);
}
