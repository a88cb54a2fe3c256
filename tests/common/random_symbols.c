#include "common/random_symbols.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "support/map.h"
#include "support/vec.h"
#include "te/text.h"

/* A dimension of an input, or an axis; those that must be equal are linked to one of them. */
typedef struct extent {
    int64_t n;
    int link; /* to itself: the first of its kind */
    bool fixed, varies;
    const tc_var *symbol;
} extent;

typedef struct varying {
    tc_ctx *c;
    const tc_workload *w;
    TC_VEC(extent) extents;
    tc_map of_input;  /* id of a tensor -> index of its first dimension */
    tc_map of_axis;   /* id of a variable -> index */
    tc_map tensors;   /* id -> the copy */
    tc_map variables; /* id of an axis -> the copy's expression */
} varying;

static int find(const varying *v, int i) {
    while (v->extents.data[i].link != i)
        i = v->extents.data[i].link;
    return i;
}

static const tc_axis *axis_of(const tc_compute *op, int i) {
    return i < op->naxis ? &op->axes[i] : &op->raxes[i - op->naxis];
}

static void add(varying *v, int64_t n, bool fixed) {
    int link = (int)v->extents.len;
    tc_push(&v->extents, ((extent){.n = n, .link = link, .fixed = fixed}));
}

static int dimension(const varying *v, const tc_tensor *t, int d) {
    return t->op ? (int)*tc_map_get(&v->of_axis, t->op->axes[d].var->id) : (int)*tc_map_get(&v->of_input, t->id) + d;
}

static void collect(varying *v) {
    for (int i = 0; i < v->w->nin; i++) {
        tc_map_put(&v->of_input, v->w->in[i]->id, v->extents.len);
        for (int d = 0; d < v->w->in[i]->ndim; d++)
            add(v, v->w->in[i]->shape[d], v->w->in[i]->is_const);
    }
    for (int i = 0; i < v->w->ncompute; i++)
        for (int x = 0; x < v->w->computes[i]->naxis + v->w->computes[i]->nraxis; x++) {
            const tc_axis *a = axis_of(v->w->computes[i], x);
            tc_map_put(&v->of_axis, a->var->id, v->extents.len);
            add(v, a->extent, false);
        }
}

/* An axis that indexes a dimension is as large; what else indexes one depends on its size in ways that are not looked at. */
static void link_read(const tc_expr *e, void *user) {
    varying *v = user;
    for (int d = 0; e->op == TC_OP_READ && d < e->nargs; d++) {
        extent *dim = &v->extents.data[find(v, dimension(v, e->u.tensor, d))];
        const uintptr_t *axis = e->args[d]->op == TC_OP_VAR ? tc_map_get(&v->of_axis, e->args[d]->u.var->id) : NULL;
        extent *other = axis ? &v->extents.data[find(v, (int)*axis)] : NULL;
        if (!other || other->n != dim->n) {
            dim->fixed = true;
            continue;
        }
        other->fixed |= dim->fixed;
        dim->link = other->link;
    }
}

static void choose(varying *v, tc_rng *r) {
    int n = 0;
    for (size_t i = 0; i < v->extents.len; i++)
        v->extents.data[find(v, (int)i)].fixed |= v->extents.data[i].fixed;
    for (size_t i = 0; i < v->extents.len; i++) {
        extent *x = &v->extents.data[i];
        if (x->link != (int)i || x->fixed || n == TC_TEST_MAX_SYMBOLS || tc_rng_below(r, 3) == 0)
            continue;
        const char *name = tc_arena_printf(tc_ctx_arena(v->c), "N%d", n++);
        int64_t how = tc_rng_below(r, 8), least = how < 3 ? 0 : how < 6 ? 1 : 1 + tc_rng_below(r, x->n);
        x->symbol = tc_symbol_new(v->c, name, least, x->n);
    }
}

static const tc_var *symbol_of(const varying *v, int i) {
    return v->extents.data[find(v, i)].symbol;
}

static const tc_expr *copy_leaf(tc_ctx *c, const tc_expr *e, void *user) {
    const varying *v = user;
    if (e->op == TC_OP_VAR)
        return (const tc_expr *)*tc_map_get(&v->variables, e->u.var->id);
    if (e->op == TC_OP_READ)
        return tc_read(c, (const tc_tensor *)*tc_map_get(&v->tensors, e->u.tensor->id), e->nargs, e->args);
    return e;
}

static void copy_compute(varying *v, const tc_compute *op) {
    tc_axis axes[2 * TC_MAX_DIMS];
    const tc_expr *body[TC_MAX_OUTS];
    for (int x = 0; x < op->naxis + op->nraxis; x++) {
        const tc_axis *a = axis_of(op, x);
        const tc_var *symbol = symbol_of(v, (int)*tc_map_get(&v->of_axis, a->var->id));
        axes[x] = symbol ? tc_te_varying_axis(v->c, a->var->name, symbol) : tc_te_axis(v->c, a->var->name, a->extent);
        tc_map_put(&v->variables, a->var->id, (uintptr_t)tc_varx(v->c, axes[x].var));
    }
    for (int o = 0; o < op->nout; o++)
        body[o] = tc_expr_map(v->c, op->body[o], copy_leaf, v);
    const tc_compute *copy =
        tc_te_compute(v->c, op->name, op->naxis, axes, op->reducer, op->nraxis, axes + op->naxis, op->nout, body);
    for (int o = 0; o < op->nout; o++)
        tc_map_put(&v->tensors, op->out[o]->id, (uintptr_t)copy->out[o]);
}

static tc_workload *copy(varying *v) {
    const tc_workload *w = v->w;
    tc_arena *a = tc_ctx_arena(v->c);
    const tc_tensor **in = TC_NEW_N(a, const tc_tensor *, w->nin), **out = TC_NEW_N(a, const tc_tensor *, w->nout);
    for (int i = 0; i < w->nin; i++) {
        const tc_tensor *t = w->in[i];
        const tc_var *symbol[TC_MAX_DIMS];
        for (int d = 0; d < t->ndim; d++)
            symbol[d] = symbol_of(v, dimension(v, t, d));
        in[i] = tc_te_varying_placeholder(v->c, t->name, t->dtype, t->ndim, t->shape, symbol, t->is_const);
        tc_map_put(&v->tensors, t->id, (uintptr_t)in[i]);
    }
    for (int i = 0; i < w->ncompute; i++)
        copy_compute(v, w->computes[i]);
    for (int i = 0; i < w->nout; i++)
        out[i] = (const tc_tensor *)*tc_map_get(&v->tensors, w->out[i]->id);
    tc_workload *made = NULL;
    tc_error err;
    if (tc_te_workload(v->c, w->nin, in, w->nout, out, &made, &err) != TC_OK) {
        fprintf(stderr, "a workload with sizes that vary is refused: %s\n", err.msg);
        abort();
    }
    return made;
}

const tc_workload *tc_test_vary(tc_ctx *c, const tc_workload *w, tc_rng *r) {
    varying v = {.c = c, .w = w};
    collect(&v);
    for (int i = 0; i < w->ncompute; i++)
        for (int o = 0; o < w->computes[i]->nout; o++)
            tc_expr_walk(w->computes[i]->body[o], link_read, &v);
    choose(&v, r);
    const tc_workload *made = copy(&v);
    tc_vec_free(&v.extents);
    tc_map_free(&v.of_input);
    tc_map_free(&v.of_axis);
    tc_map_free(&v.tensors);
    tc_map_free(&v.variables);
    return made->nsymbol ? made : NULL;
}

/* ---- sizes that are made of others ---- */

static void declare(tc_strbuf *b, tc_rng *r, const char *name, int64_t most) {
    int64_t n = 1 + tc_rng_below(r, most), least = tc_rng_below(r, 2) ? 0 : tc_rng_below(r, 3) ? 1 : 1 + tc_rng_below(r, n);
    tc_sb_printf(b, "symbol %s %lld..%lld\n", name, (long long)least, (long long)n);
}

/* Y[h, i, j] of A and B, or A, B and A again, one after the other along i, which stands in any place. */
static void join(tc_strbuf *b, tc_rng *r, int64_t inner, int64_t outer) {
    static const char *const ORDER[] = {"%s, h, j", "h, %s, j", "h, j, %s"}, *const SHAPE[] = {"%s, %lld, %lld", "%lld, %s, %lld",
                                                                                               "%lld, %lld, %s"};
    int64_t place = tc_rng_below(r, 3), parts = 2 + tc_rng_below(r, 2);
    char shape[3][80], index[3][80], axes[80];
    static const char *const SIZES[] = {"P", "S", "T"}, *const AT[] = {"i", "i - P", "i - P - S"};
    for (int k = 0; k < 3; k++) {
        if (place == 0)
            snprintf(shape[k], sizeof shape[k], SHAPE[0], SIZES[k], (long long)outer, (long long)inner);
        else if (place == 1)
            snprintf(shape[k], sizeof shape[k], SHAPE[1], (long long)outer, SIZES[k], (long long)inner);
        else
            snprintf(shape[k], sizeof shape[k], SHAPE[2], (long long)outer, (long long)inner, SIZES[k]);
        snprintf(index[k], sizeof index[k], ORDER[place], AT[k]);
    }
    const char *h = place == 0 ? "i:T, h:%lld, j:%lld" : place == 1 ? "h:%lld, i:T, j:%lld" : "h:%lld, j:%lld, i:T";
    snprintf(axes, sizeof axes, h, (long long)outer, (long long)inner);
    declare(b, r, "P", 20);
    declare(b, r, "S", 20);
    tc_sb_printf(b, "symbol T = %s\ntensor A[%s] f32\ntensor B[%s] f32\n", parts == 3 ? "2 * P + S" : "P + S", shape[0],
                 shape[1]);
    tc_sb_printf(b, "compute Y[%s] = ", axes);
    if (parts == 3)
        tc_sb_printf(b, "select(i < P, A[%s], select(P + S <= i, A[%s], B[%s]))", index[0], index[2], index[1]);
    else
        tc_sb_printf(b, "select(i < P, A[%s], B[%s])", index[0], index[1]);
    char all[80];
    snprintf(all, sizeof all, ORDER[place], "i");
    if (tc_rng_below(r, 2))
        tc_sb_add(b, " * 2\noutput Y\n");
    else
        tc_sb_printf(b, "\ncompute Z[h:%lld, j:%lld] = sum(i:T) Y[%s]\noutput Y, Z\n", (long long)outer, (long long)inner, all);
}

static void merge(tc_strbuf *b, tc_rng *r, int64_t inner, int64_t outer) {
    int64_t how = tc_rng_below(r, 4);
    declare(b, r, "B", 4);
    declare(b, r, "S", 12);
    tc_sb_printf(b, "symbol R = B * S\ntensor X[B, S, %lld] f32\ntensor W[R, %lld] f32\n", (long long)inner, (long long)inner);
    tc_sb_printf(b, "compute Y[i:R, j:%lld] = X[i / S, i %% S, j]%s\n", (long long)inner, how == 0 ? " * 2" : "");
    if (how < 2)
        tc_sb_printf(b, "compute Z[b:B, s:S, j:%lld] = Y[b * S + s, j] + W[b * S + s, j]\n", (long long)inner);
    else if (how == 2)
        tc_sb_printf(b, "compute Z[b:B, j:%lld] = sum(s:S) X[b, s, j] * W[b * S + s, j]\n", (long long)inner);
    else
        tc_sb_printf(
            b, "tensor M[B] f32\ntensor Q[S, %lld] f32\ncompute Z[i:R, h:%lld, j:%lld] = W[i, j] * M[i / S] + Q[i %% S, j]\n",
            (long long)inner, (long long)outer, (long long)inner);
    tc_sb_add(b, "output Y, Z\n");
}

/* Windows of X with strides, and padding on both sides: Q = (H + pads - k) / s + 1 of them, of which a sum is taken again. */
static void stride(tc_strbuf *b, tc_rng *r, int64_t inner, int64_t outer) {
    (void)outer;
    int k = 1 + (int)tc_rng_below(r, 3), s = 1 + (int)tc_rng_below(r, 4), before = (int)tc_rng_below(r, k),
        pads = before + (int)tc_rng_below(r, k), least = TC_MAX(1, k - pads) + (int)tc_rng_below(r, 3);
    tc_sb_printf(b, "symbol H %d..%d\nsymbol Q = (H + %d) / %d + 1\n", least, least + 1 + (int)tc_rng_below(r, 30), pads - k, s);
    tc_sb_printf(b, "tensor X[H, %lld] f32\ntensor W[%d, %lld] f32\n", (long long)inner, k, (long long)inner);
    tc_sb_printf(b,
                 "compute Y[i:Q, j:%lld] = sum(k:%d) select(i * %d + k >= %d && i * %d + k < H + %d, X[i * %d + k - %d, j], "
                 "0.0) * W[k, j]\n",
                 (long long)inner, k, s, before, s, before, s, before);
    if (tc_rng_below(r, 2))
        tc_sb_printf(b, "compute Z[j:%lld] = sum(i:Q) Y[i, j]\noutput Y, Z\n", (long long)inner);
    else
        tc_sb_printf(b, "compute Z[i:Q, j:%lld] = Y[i, j] * 2\noutput Z\n", (long long)inner);
}

/* Rows in groups of n, of which the last may be short, and rows again; or every n-th row, in whole groups. */
static void group(tc_strbuf *b, tc_rng *r, int64_t inner, int64_t outer) {
    int n = 2 + (int)tc_rng_below(r, 3);
    bool product = tc_rng_below(r, 2), whole = tc_rng_below(r, 3) == 0;
    tc_sb_printf(b, "symbol S %d..%d\n", whole ? n : (int)tc_rng_below(r, 2), n + (int)tc_rng_below(r, 20));
    tc_sb_printf(b, "symbol B %d..3\n", whole ? 1 : (int)tc_rng_below(r, 2));
    const char *rows = product ? "B * S" : "S";
    tc_sb_printf(b, "symbol R = %s\nsymbol Q = (%s + %d) / %d\n", product ? rows : "S + 1", product ? rows : "S + 1",
                 whole ? 0 : n - 1, n);
    tc_sb_printf(b, "tensor X[R, %lld] f32\ntensor V[B] f32\n", (long long)inner);
    if (whole) {
        tc_sb_printf(b, "compute Y[i:Q, b:B, j:%lld] = X[i * %d + %d, j] + V[b]\n", (long long)inner, n, (int)tc_rng_below(r, n));
        tc_sb_printf(b, "compute Z[j:%lld] = sum(i:Q) Y[i, 0, j]\noutput Y, Z\n", (long long)inner);
        return;
    }
    tc_sb_printf(b, "compute Y[g:%d, i:Q, h:%lld, j:%lld] = select(i * %d + g < R, X[i * %d + g, j], 0.0)\n", n, (long long)outer,
                 (long long)inner, n, n);
    tc_sb_printf(b, "compute Z[i:R, b:B, j:%lld] = Y[i %% %d, i / %d, %lld, j] * 2 + V[b]\n", (long long)inner, n, n,
                 (long long)outer - 1);
    tc_sb_printf(b, "output %sZ\n", tc_rng_below(r, 2) ? "Y, " : "");
}

const tc_workload *tc_test_random_joined(tc_ctx *c, tc_rng *r) {
    tc_strbuf b = {0};
    tc_error err;
    const tc_workload *w;
    int64_t inner = 1 + tc_rng_below(r, 40), outer = 1 + tc_rng_below(r, 5);
    static void (*const KINDS[])(tc_strbuf * b, tc_rng * r, int64_t inner, int64_t outer) = {join, merge, stride, group};
    KINDS[tc_rng_below(r, TC_LEN(KINDS))](&b, r, inner, outer);
    if (tc_te_parse(c, "joined", tc_sb_str(&b), &w, &err) != TC_OK) {
        fprintf(stderr, "%s in\n%s\n", err.msg, tc_sb_str(&b));
        abort();
    }
    tc_strbuf_free(&b);
    return w;
}

void tc_test_random_sizes(const tc_workload *w, tc_rng *r, int64_t sizes[TC_TEST_MAX_SYMBOLS]) {
    int64_t how = tc_rng_below(r, 4);
    assert(w->nsymbol <= TC_TEST_MAX_SYMBOLS);
    for (int i = 0; i < w->nsymbol; i++) {
        const tc_var *v = w->symbols[i];
        sizes[i] = how == 0 ? v->least : how == 1 ? v->most : v->least + tc_rng_below(r, v->most - v->least + 1);
    }
}
