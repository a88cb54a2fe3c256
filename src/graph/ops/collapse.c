/* Dimensions that are always walked together become one.
 *
 *     X[4, 128, 768], W[768, 768]:  D[b, s, n] = sum(k) X[b, s, k] * W[k, n]   ->   D[m:512, n] = sum(k) X[m, k] * W[k, n]
 *     mean over [7, 7]:             sum(h, w) X[c, h, w]                       ->   sum(k:49) X[c, k]
 *
 * Memory is row-major, so nothing moves. A pair of neighbouring dimensions of a tensor, and the pair of axes that walks it, is
 * kept together as long as every read of the tensor agrees and the axes are used for nothing else; pairs start out as together
 * and are struck out until nothing changes. Fewer forms of the same kernel are left for tuning, and register tiles see rows, not
 * slices of them. */
#include <string.h>

#include "graph/ops/lower.h"

/* Bit d: dimensions (or axes) d and d + 1 belong together. */
typedef struct pairs {
    tc_map dims;  /* tensor id -> of its dimensions; a computed one's axes have the same */
    tc_map raxes; /* compute id -> of its reduction axes */
    bool changed;
} pairs;

static uint32_t all_pairs(int n) {
    return n > 1 ? (1u << (n - 1)) - 1 : 0;
}

static uint32_t get(const tc_map *m, uint32_t id) {
    return (uint32_t)*tc_map_get(m, id);
}

static void strike(pairs *p, tc_map *m, uint32_t id, int bit) {
    uintptr_t *bits = tc_map_get(m, id);
    if (bit < 0 || !(*bits >> bit & 1))
        return;
    *bits &= ~((uintptr_t)1 << bit);
    p->changed = true;
}

/* ---- one compute ---- */

typedef struct checker {
    pairs *p;
    const tc_compute *op;
    tc_map seen;
} checker;

/* Place of a variable among the axes (or, with *reduce set, the reduction axes) of the compute. */
static int place_of(const checker *k, const tc_expr *e, bool *reduce) {
    *reduce = false;
    for (int i = 0; e && e->op == TC_OP_VAR && i < k->op->naxis + k->op->nraxis; i++) {
        *reduce = i >= k->op->naxis;
        int at = *reduce ? i - k->op->naxis : i;
        if ((*reduce ? k->op->raxes : k->op->axes)[at].var == e->u.var)
            return at;
    }
    return -1;
}

static void strike_axis(checker *k, bool reduce, int bit) {
    if (reduce)
        strike(k->p, &k->p->raxes, k->op->id, bit);
    else
        for (int o = 0; o < k->op->nout; o++)
            strike(k->p, &k->p->dims, k->op->out[o]->id, bit);
}

static bool axis_together(const checker *k, bool reduce, int bit) {
    uint32_t bits = reduce ? get(&k->p->raxes, k->op->id) : get(&k->p->dims, k->op->out[0]->id);
    return bits >> bit & 1;
}

/* The axis is used by itself: it stays apart from both neighbours. */
static void use_alone(checker *k, const tc_expr *var) {
    bool reduce;
    int at = place_of(k, var, &reduce);
    if (at >= 0) {
        strike_axis(k, reduce, at - 1);
        strike_axis(k, reduce, at);
    }
}

static void check_expr(checker *k, const tc_expr *e);

/* Dimensions d and d + 1 of the read are walked by neighbouring axes that cover them wholly. */
static bool walks_pair(const checker *k, const tc_expr *read, int d) {
    bool ra, rb;
    int a = place_of(k, read->args[d], &ra), b = place_of(k, read->args[d + 1], &rb);
    if (a < 0 || b != a + 1 || ra != rb)
        return false;
    const tc_axis *axes = ra ? k->op->raxes : k->op->axes;
    return axes[a].extent == read->u.tensor->shape[d] && axes[b].extent == read->u.tensor->shape[d + 1];
}

static void check_read(checker *k, const tc_expr *read) {
    const tc_tensor *t = read->u.tensor;
    bool before = false; /* dimension d is the second of a pair that is together */
    for (int d = 0; d < read->nargs; d++) {
        bool reduce = false, pair = d + 1 < read->nargs && (get(&k->p->dims, t->id) >> d & 1),
             walked = pair && walks_pair(k, read, d);
        int at = place_of(k, read->args[d], &reduce);
        walked = walked && axis_together(k, reduce, at);
        if (pair && !walked)
            strike(k->p, &k->p->dims, t->id, d);
        if (at < 0)
            check_expr(k, read->args[d]);
        if (at >= 0 && !walked)
            strike_axis(k, reduce, at); /* not followed by its neighbour */
        if (at > 0 && !before)
            strike_axis(k, reduce, at - 1); /* not preceded by it */
        before = walked;
    }
}

static void check_expr(checker *k, const tc_expr *e) {
    if (e->op == TC_OP_VAR)
        use_alone(k, e);
    if (e->op == TC_OP_READ)
        check_read(k, e);
    if (e->op == TC_OP_READ || !tc_map_put(&k->seen, e->id, 1))
        return;
    for (int i = 0; i < e->nargs; i++)
        check_expr(k, e->args[i]);
}

/* Outputs of one compute share its axes. */
static void level_outputs(pairs *p, const tc_compute *op) {
    uint32_t both = get(&p->dims, op->out[0]->id);
    for (int o = 1; o < op->nout; o++)
        both &= get(&p->dims, op->out[o]->id);
    for (int o = 0; o < op->nout; o++)
        for (int d = 0; d < op->naxis; d++)
            if (!(both >> d & 1))
                strike(p, &p->dims, op->out[o]->id, d);
}

/* Dimensions whose sizes vary stay apart. */
static uint32_t fixed_pairs(const tc_tensor *t) {
    uint32_t bits = all_pairs(t->ndim);
    for (int d = 0; d < t->ndim; d++)
        if (t->symbol[d])
            bits &= ~(1u << d | 1u << d >> 1);
    return bits;
}

static uint32_t fixed_axis_pairs(const tc_axis *axes, int n) {
    uint32_t bits = all_pairs(n);
    for (int d = 0; d < n; d++)
        if (axes[d].symbol)
            bits &= ~(1u << d | 1u << d >> 1);
    return bits;
}

static void find_pairs(pairs *p, const tc_workload *w) {
    for (int i = 0; i < w->nin; i++)
        tc_map_put(&p->dims, w->in[i]->id, fixed_pairs(w->in[i]));
    for (int i = 0; i < w->ncompute; i++) {
        const tc_compute *op = w->computes[i];
        for (int o = 0; o < op->nout; o++)
            tc_map_put(&p->dims, op->out[o]->id, fixed_pairs(op->out[o]));
        tc_map_put(&p->raxes, op->id, fixed_axis_pairs(op->raxes, op->nraxis));
    }
    do {
        p->changed = false;
        for (int i = 0; i < w->ncompute; i++) {
            checker k = {.p = p, .op = w->computes[i]};
            level_outputs(p, k.op);
            for (int o = 0; o < k.op->nout; o++)
                check_expr(&k, k.op->body[o]);
            tc_map_free(&k.seen);
        }
    } while (p->changed);
}

static bool any_pair(const pairs *p) {
    for (size_t i = 0; i < p->dims.len; i++)
        if (p->dims.entries[i].value)
            return true;
    for (size_t i = 0; i < p->raxes.len; i++)
        if (p->raxes.entries[i].value)
            return true;
    return false;
}

/* ---- the new workload ---- */

typedef struct rebuilder {
    tc_ctx *c;
    const pairs *p;
    tc_map tensors; /* id -> the new tensor */
    tc_map merged;  /* id of the first variable of a run -> the variable that replaces the run */
} rebuilder;

/* symbol[]: of the dimensions that are left. */
static int merged_shape(const tc_tensor *t, uint32_t bits, int64_t *out, const tc_var **symbol) {
    int m = 0;
    for (int d = 0; d < t->ndim; d++) {
        if (d > 0 && (bits >> (d - 1) & 1)) {
            out[m - 1] *= t->shape[d];
            continue;
        }
        symbol[m] = t->symbol[d];
        out[m++] = t->shape[d];
    }
    return m;
}

/* Axes of extent > 1 that stay keep their variables. */
static int merged_axes(rebuilder *b, const char *prefix, int n, const tc_axis *axes, uint32_t bits, tc_axis *out) {
    int m = 0;
    for (int d = 0; d < n; m++) {
        int from = d;
        int64_t extent = axes[d++].extent;
        while (d < n && (bits >> (d - 1) & 1))
            extent *= axes[d++].extent;
        out[m] = axes[from];
        if (d == from + 1)
            continue;
        out[m] = tc_te_axis(b->c, tc_arena_printf(tc_ctx_arena(b->c), "%s%d", prefix, m), extent);
        tc_map_put(&b->merged, axes[from].var->id, (uintptr_t)tc_varx(b->c, out[m].var));
    }
    return m;
}

static const tc_expr *renew(tc_ctx *c, const tc_expr *e, void *user) {
    rebuilder *b = user;
    if (e->op != TC_OP_READ)
        return e;
    uint32_t bits = get(&b->p->dims, e->u.tensor->id);
    const tc_expr *args[TC_MAX_DIMS];
    int m = 0;
    for (int d = 0; d < e->nargs; d++) {
        if (d > 0 && (bits >> (d - 1) & 1))
            continue;
        bool run = bits >> d & 1;
        args[m++] = run ? (const tc_expr *)*tc_map_get(&b->merged, e->args[d]->u.var->id) : e->args[d];
    }
    return tc_read(c, (const tc_tensor *)*tc_map_get(&b->tensors, e->u.tensor->id), m, args);
}

static void rebuild_compute(rebuilder *b, const tc_compute *op) {
    tc_axis axes[TC_MAX_DIMS], raxes[TC_MAX_DIMS];
    const tc_expr *body[TC_MAX_OUTS];
    int n = merged_axes(b, "i", op->naxis, op->axes, get(&b->p->dims, op->out[0]->id), axes);
    int r = merged_axes(b, "k", op->nraxis, op->raxes, get(&b->p->raxes, op->id), raxes);
    for (int o = 0; o < op->nout; o++)
        body[o] = tc_expr_map(b->c, op->body[o], renew, b);
    const tc_compute *copy = tc_te_compute(b->c, op->name, n, axes, op->reducer, r, raxes, op->nout, body);
    for (int o = 0; o < op->nout; o++)
        tc_map_put(&b->tensors, op->out[o]->id, (uintptr_t)copy->out[o]);
}

static tc_status rebuild(rebuilder *b, const tc_workload *w, tc_workload **out, tc_error *err) {
    tc_arena *a = tc_ctx_arena(b->c);
    const tc_tensor **in = TC_NEW_N(a, const tc_tensor *, w->nin), **outs = TC_NEW_N(a, const tc_tensor *, w->nout);
    for (int i = 0; i < w->nin; i++) {
        const tc_tensor *t = w->in[i];
        int64_t shape[TC_MAX_DIMS];
        const tc_var *symbol[TC_MAX_DIMS];
        int n = merged_shape(t, get(&b->p->dims, t->id), shape, symbol);
        in[i] = tc_te_varying_placeholder(b->c, t->name, t->dtype, n, shape, symbol, t->is_const);
        tc_map_put(&b->tensors, t->id, (uintptr_t)in[i]);
    }
    for (int i = 0; i < w->ncompute; i++)
        rebuild_compute(b, w->computes[i]);
    for (int i = 0; i < w->nout; i++)
        outs[i] = (const tc_tensor *)*tc_map_get(&b->tensors, w->out[i]->id);
    return tc_te_workload(b->c, w->nin, in, w->nout, outs, out, err);
}

tc_status tc_graph_collapse(tc_ctx *c, const tc_workload *w, const tc_workload **out, tc_error *err) {
    pairs p = {0};
    tc_status s = TC_OK;
    find_pairs(&p, w);
    *out = w;
    if (any_pair(&p)) {
        rebuilder b = {.c = c, .p = &p};
        tc_workload *made;
        s = rebuild(&b, w, &made, err);
        if (s == TC_OK)
            *out = made;
        tc_map_free(&b.tensors);
        tc_map_free(&b.merged);
    }
    tc_map_free(&p.dims);
    tc_map_free(&p.raxes);
    return s;
}
