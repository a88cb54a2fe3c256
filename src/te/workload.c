/* Collects a workload from its outputs, and checks it. Computes and unlisted inputs stand in the order of a depth-first walk
 * from the outputs, operands left to right. So their order does not depend on the order of construction. */
#include "te/te_int.h"

#include <stdlib.h>

#include "support/map.h"

/* The tensors that a compute reads, in order of first use. */
typedef struct reads {
    TC_VEC(const tc_tensor *) list;
    tc_map seen;
} reads;

static void note_read(const tc_expr *e, void *user) {
    reads *r = user;
    if (e->op == TC_OP_READ && tc_map_put(&r->seen, e->u.tensor->id, 1))
        tc_push(&r->list, e->u.tensor);
}

/* A compute on the walk's stack, with what is left of its operands. */
typedef struct frame {
    const tc_compute *op;
    const tc_tensor **deps;
    size_t ndeps, next;
} frame;

typedef struct collector {
    tc_map seen; /* ids of placeholders and computes */
    TC_VEC(const tc_tensor *) in;
    TC_VEC(const tc_compute *) computes;
    TC_VEC(frame) stack;
    const tc_compute *deep; /* one whose body exceeds TC_MAX_DEPTH */
} collector;

/* False if op is not to be looked at: it was before, or it is too deep for that. */
static bool is_new(collector *k, const tc_compute *op) {
    for (int o = 0; o < op->nout && !k->deep; o++)
        if (op->body[o]->depth > TC_MAX_DEPTH)
            k->deep = op;
    return !k->deep && tc_map_put(&k->seen, op->id, 1);
}

static void push(collector *k, const tc_compute *op) {
    if (!is_new(k, op))
        return;
    reads r = {0};
    for (int o = 0; o < op->nout; o++)
        tc_expr_walk(op->body[o], note_read, &r);
    tc_map_free(&r.seen);
    tc_push(&k->stack, ((frame){op, r.list.data, r.list.len, 0}));
}

static void add_placeholder(collector *k, const tc_tensor *t) {
    if (tc_map_put(&k->seen, t->id, 1))
        tc_push(&k->in, t);
}

static void collect(collector *k, const tc_compute *root) {
    push(k, root);
    while (k->stack.len) {
        frame *top = &k->stack.data[k->stack.len - 1];
        if (top->next < top->ndeps) {
            const tc_tensor *t = top->deps[top->next++];
            if (t->op)
                push(k, t->op);
            else
                add_placeholder(k, t);
            continue;
        }
        tc_push(&k->computes, top->op);
        free(top->deps);
        k->stack.len--;
    }
}

/* ---- symbols ---- */

typedef struct symbol_list {
    TC_VEC(const tc_var *) list, defined;
    tc_map seen;
} symbol_list;

static void note_symbol(const tc_expr *e, void *user) {
    symbol_list *k = user;
    if (tc_expr_is_symbol(e) && tc_map_put(&k->seen, e->u.var->id, 1))
        tc_push(&k->list, e->u.var);
}

static void add_symbol(symbol_list *k, const tc_var *v) {
    if (!v || !tc_map_put(&k->seen, v->id, 1))
        return;
    if (!v->value) {
        tc_push(&k->list, v);
        return;
    }
    tc_expr_walk(v->value, note_symbol, k);
    bool known = false;
    for (size_t i = 0; i < k->defined.len; i++)
        known |= te_same_size(k->defined.data[i], v);
    if (!known)
        tc_push(&k->defined, v);
}

static void find_symbols(tc_workload *w) {
    symbol_list k = {0};
    for (int i = 0; i < w->nin; i++)
        for (int d = 0; d < w->in[i]->ndim; d++)
            add_symbol(&k, w->in[i]->symbol[d]);
    for (int i = 0; i < w->ncompute; i++)
        for (int x = 0; x < w->computes[i]->naxis + w->computes[i]->nraxis; x++)
            add_symbol(&k, te_axis_of(w->computes[i], x)->symbol);
    for (int i = 0; i < w->ncompute; i++)
        for (int o = 0; o < w->computes[i]->nout; o++)
            tc_expr_walk(w->computes[i]->body[o], note_symbol, &k);
    w->nsymbol = (int)k.list.len;
    w->symbols = tc_arena_dup(tc_ctx_arena(w->ctx), k.list.data, k.list.len * sizeof *k.list.data);
    w->ndefined = (int)k.defined.len;
    w->defined = tc_arena_dup(tc_ctx_arena(w->ctx), k.defined.data, k.defined.len * sizeof *k.defined.data);
    tc_map_free(&k.seen);
    tc_vec_free(&k.list);
    tc_vec_free(&k.defined);
}

static tc_status check_constant(const tc_tensor *t, tc_error *err) {
    for (int d = 0; d < t->ndim && t->is_const; d++)
        if (t->symbol[d])
            return tc_fail(err, TC_BAD_INPUT, "tensor %s: it is constant, so its size cannot vary; dimension %d is %s", t->name,
                           d, t->symbol[d]->name);
    return TC_OK;
}

/* ---- checks ---- */

static tc_status check_size(const tc_tensor *t, tc_error *err) {
    if (tc_tensor_size(t) > TE_MAX_BYTES / tc_dtype_bytes(t->dtype))
        return tc_fail(err, TC_BAD_INPUT, "tensor %s: its shape has more elements than any machine can hold; check its extents",
                       t->name);
    return TC_OK;
}

static tc_status check_name(tc_map *names, const tc_tensor *t, tc_error *err) {
    if (!tc_map_puts(names, t->name, 1))
        return tc_fail(err, TC_BAD_INPUT, "two tensors are named %s; names must be unique within a workload", t->name);
    return check_size(t, err);
}

/* Takes the body's terms off those that are `left`, and checks the iteration space. */
static tc_status check_sizes(const tc_compute *op, int64_t *left, tc_error *err) {
    int64_t n = 1;
    bool over = false;
    for (int i = 0; i < op->naxis; i++)
        over |= __builtin_mul_overflow(n, op->axes[i].extent, &n);
    for (int i = 0; i < op->nraxis; i++)
        over |= __builtin_mul_overflow(n, op->raxes[i].extent, &n);
    for (int o = 0; o < op->nout; o++)
        *left -= tc_expr_tree_size(op->body[o], *left);
    if (*left < 0)
        return tc_refuse(
            err, TC_ERROR_BEYOND,
            "compute %s: up to its expression, the expressions of the workload have more than %d terms; let computes read "
            "an intermediate result instead of computing it again",
            op->name, TC_MAX_TREE);
    if (over)
        return tc_fail(err, TC_BAD_INPUT, "compute %s: its axes have more than 2^63 points together; check the extents",
                       op->name);
    return TC_OK;
}

static tc_status check_members(const tc_workload *w, tc_error *err) {
    const struct {
        const char *what;
        int n, most;
    } members[] = {{"inputs", w->nin, TC_MAX_INPUTS},
                   {"symbols", w->nsymbol + w->ndefined, TC_MAX_SYMBOLS},
                   {"computes", w->ncompute, TC_MAX_COMPUTES}};
    for (size_t i = 0; i < TC_LEN(members); i++)
        if (members[i].n > members[i].most)
            return tc_refuse(err, TC_ERROR_BEYOND, "the workload has %d %s, but may have %d; split it into several workloads",
                             members[i].n, members[i].what, members[i].most);
    return TC_OK;
}

static tc_status check(const tc_workload *w, tc_map *names, const tc_compute **culprit, tc_error *err) {
    int64_t left = TC_MAX_TREE;
    TC_TRY(check_members(w, err));
    for (int i = 0; i < w->ndefined; i++)
        left -= tc_expr_tree_size(w->defined[i]->value, TC_MAX_SIZE_TREE);
    for (int i = 0; i < w->nin; i++) {
        TC_TRY(check_name(names, w->in[i], err));
        TC_TRY(check_constant(w->in[i], err));
    }
    for (int i = 0; i < w->ncompute; i++) {
        for (int o = 0; o < w->computes[i]->nout; o++)
            TC_TRY(check_name(names, w->computes[i]->out[o], err));
        tc_status s = check_sizes(w->computes[i], &left, err);
        if (s != TC_OK && culprit)
            *culprit = w->computes[i];
        TC_TRY(s);
    }
    return te_check_accesses(w, culprit, err);
}

static tc_status check_outputs(int nout, const tc_tensor *const *out, tc_error *err) {
    if (nout < 1)
        return tc_fail(err, TC_BAD_INPUT, "the workload has no output; name at least one tensor that a compute produces");
    for (int i = 0; i < nout; i++) {
        if (!out[i]->op)
            return tc_fail(err, TC_BAD_INPUT, "output %s is an input; an output must be produced by a compute", out[i]->name);
        for (int k = 0; k < i; k++)
            if (out[k] == out[i])
                return tc_fail(err, TC_BAD_INPUT, "%s is listed as an output twice", out[i]->name);
    }
    return TC_OK;
}

tc_status te_workload(tc_ctx *c, int nin, const tc_tensor *const *in, int nout, const tc_tensor *const *out, tc_workload **w,
                      const tc_compute **culprit, tc_error *err) {
    TC_TRY(check_outputs(nout, out, err));
    collector k = {0};
    for (int i = 0; i < nin; i++) {
        assert(!in[i]->op);
        add_placeholder(&k, in[i]);
    }
    for (int i = 0; i < nout; i++)
        collect(&k, out[i]->op);
    tc_arena *a = tc_ctx_arena(c);
    tc_workload *made = TC_NEW(a, tc_workload);
    *made = (tc_workload){
        .ctx = c,
        .nin = (int)k.in.len,
        .in = tc_arena_dup(a, k.in.data, k.in.len * sizeof *k.in.data),
        .ncompute = (int)k.computes.len,
        .computes = tc_arena_dup(a, k.computes.data, k.computes.len * sizeof *k.computes.data),
        .nout = nout,
        .out = tc_arena_dup(a, out, (size_t)nout * sizeof(*out)),
    };
    tc_map_free(&k.seen);
    tc_vec_free(&k.in);
    tc_vec_free(&k.computes);
    tc_vec_free(&k.stack);
    if (k.deep) {
        if (culprit)
            *culprit = k.deep;
        return tc_refuse(err, TC_ERROR_BEYOND,
                         "compute %s: its expression is more than %d operations deep; split it over several computes",
                         k.deep->name, TC_MAX_DEPTH);
    }
    find_symbols(made);
    tc_map names = {0};
    tc_status s = check(made, &names, culprit, err);
    tc_map_free(&names);
    if (s == TC_OK)
        *w = made;
    return s;
}

tc_status tc_te_workload(tc_ctx *c, int nin, const tc_tensor *const *in, int nout, const tc_tensor *const *out, tc_workload **w,
                         tc_error *err) {
    return te_workload(c, nin, in, nout, out, w, NULL, err);
}
