/* Copies of a workload: its canonical form, with the hash that keys its records, and its form for given sizes. The canonical
 * form changes only names. Order and structure are canonical already (workload.c, expr.c). */
#include "te/te_int.h"

#include "support/map.h"

/* Part of every hash. Raise it when the printed form of an old workload changes: old records are then migrated, not mistaken. */
#define FORMAT "te 1\n"

typedef struct copier {
    tc_ctx *c;
    const tc_workload *w;
    const int64_t *sizes; /* of its symbols, which stay what they are where it is NULL */
    bool rename;
    tc_map tensors;   /* id -> the copy */
    tc_map variables; /* id -> the copy's expression */
    tc_map symbols;   /* id -> the copy, where sizes is NULL */
} copier;

/* The copy of e in c: every node is made again, since c need not be related to the context that owns e. */
static const tc_expr *import(copier *k, const tc_expr *e, tc_map *done) {
    const uintptr_t *known = tc_map_get(done, e->id);
    if (known)
        return (const tc_expr *)*known;
    const tc_expr *args[TC_MAX_DIMS], *r;
    for (int i = 0; i < e->nargs; i++)
        args[i] = import(k, e->args[i], done);
    if (e->op == TC_OP_INT)
        r = tc_int(k->c, e->dtype, e->u.i);
    else if (e->op == TC_OP_FLOAT)
        r = tc_float(k->c, e->dtype, e->u.f);
    else if (e->op == TC_OP_READ)
        r = tc_read(k->c, (const tc_tensor *)*tc_map_get(&k->tensors, e->u.tensor->id), e->nargs, args);
    else if (e->op == TC_OP_VAR)
        r = (const tc_expr *)*tc_map_get(&k->variables, e->u.var->id);
    else
        r = tc_with_args(k->c, e, args);
    tc_map_put(done, e->id, (uintptr_t)r);
    return r;
}

/* `own`, or the canonical name. */
static const char *name_of(const copier *k, const char *own, const char *prefix, int i) {
    return k->rename ? tc_arena_printf(tc_ctx_arena(k->c), "%s%d", prefix, i) : own;
}

static void copy_symbols(copier *k) {
    const tc_workload *w = k->w;
    for (int i = 0; i < w->nsymbol; i++) {
        const tc_var *v = w->symbols[i];
        const tc_var *copy = k->sizes ? NULL : tc_symbol_new(k->c, name_of(k, v->name, "s", i), v->least, v->most);
        tc_map_put(&k->symbols, v->id, (uintptr_t)copy);
        tc_map_put(&k->variables, v->id, (uintptr_t)(copy ? tc_varx(k->c, copy) : tc_i64(k->c, k->sizes[i])));
    }
    tc_map done = {0};
    for (int i = 0; i < w->ndefined && !k->sizes; i++) {
        const tc_var *v = w->defined[i];
        const tc_expr *value = import(k, v->value, &done);
        tc_map_put(&k->symbols, v->id, (uintptr_t)tc_symbol_defined(k->c, name_of(k, v->name, "s", w->nsymbol + i), value));
    }
    tc_map_free(&done);
}

/* What stands for a dimension of size `most`, or of a symbol; the symbol's copy, or NULL, is left in *symbol. */
static int64_t copy_extent(const copier *k, int64_t most, const tc_var **symbol) {
    const tc_var *v = *symbol;
    if (!v)
        return most;
    *symbol = NULL;
    if (k->sizes)
        return tc_symbol_at(v, k->w->nsymbol, k->w->symbols, k->sizes);
    for (int i = 0; i < k->w->ndefined; i++)
        if (te_same_size(k->w->defined[i], v))
            v = k->w->defined[i];
    *symbol = (const tc_var *)*tc_map_get(&k->symbols, v->id);
    return most;
}

static const tc_tensor *copy_input(const copier *k, int i) {
    const tc_tensor *t = k->w->in[i];
    int64_t shape[TC_MAX_DIMS];
    const tc_var *symbol[TC_MAX_DIMS];
    for (int d = 0; d < t->ndim; d++) {
        symbol[d] = t->symbol[d];
        shape[d] = copy_extent(k, t->shape[d], &symbol[d]);
    }
    return tc_te_varying_placeholder(k->c, name_of(k, t->name, "p", i), t->dtype, t->ndim, shape, symbol, t->is_const);
}

static tc_axis *copy_axes(copier *k, const char *prefix, int n, const tc_axis *axes) {
    tc_axis *copy = TC_NEW_N(tc_ctx_arena(k->c), tc_axis, n);
    for (int i = 0; i < n; i++) {
        const char *name = name_of(k, axes[i].var->name, prefix, i);
        const tc_var *symbol = axes[i].symbol;
        int64_t extent = copy_extent(k, axes[i].extent, &symbol);
        copy[i] = symbol ? tc_te_varying_axis(k->c, name, symbol) : tc_te_axis(k->c, name, extent);
        tc_map_put(&k->variables, axes[i].var->id, (uintptr_t)tc_varx(k->c, copy[i].var));
    }
    return copy;
}

static void copy_compute(copier *k, int number) {
    const tc_compute *op = k->w->computes[number];
    const tc_axis *axes = copy_axes(k, "i", op->naxis, op->axes), *raxes = copy_axes(k, "k", op->nraxis, op->raxes);
    const tc_expr *body[TC_MAX_OUTS];
    tc_map done = {0};
    for (int o = 0; o < op->nout; o++)
        body[o] = import(k, op->body[o], &done);
    tc_map_free(&done);
    const tc_compute *copy =
        tc_te_compute(k->c, name_of(k, op->name, "t", number), op->naxis, axes, op->reducer, op->nraxis, raxes, op->nout, body);
    for (int o = 0; o < op->nout; o++) {
        if (k->rename && o)
            te_name_output(copy, o, tc_arena_printf(tc_ctx_arena(k->c), "t%d_%d", number, o));
        else if (!k->rename)
            te_name_output(copy, o, tc_arena_strdup(tc_ctx_arena(k->c), op->out[o]->name));
        tc_map_put(&k->tensors, op->out[o]->id, (uintptr_t)copy->out[o]);
    }
}

static tc_status copy_workload(copier *k, tc_workload **made, tc_error *err) {
    const tc_workload *w = k->w;
    tc_arena *a = tc_ctx_arena(k->c);
    const tc_tensor **in = TC_NEW_N(a, const tc_tensor *, w->nin), **out = TC_NEW_N(a, const tc_tensor *, w->nout);
    copy_symbols(k);
    for (int i = 0; i < w->nin; i++) {
        in[i] = copy_input(k, i);
        tc_map_put(&k->tensors, w->in[i]->id, (uintptr_t)in[i]);
    }
    for (int i = 0; i < w->ncompute; i++)
        copy_compute(k, i);
    for (int i = 0; i < w->nout; i++)
        out[i] = (const tc_tensor *)*tc_map_get(&k->tensors, w->out[i]->id);
    tc_status s = tc_te_workload(k->c, w->nin, in, w->nout, out, made, err);
    tc_map_free(&k->tensors);
    tc_map_free(&k->variables);
    tc_map_free(&k->symbols);
    return s;
}

const tc_workload *tc_te_canonical(tc_ctx *c, const tc_workload *w) {
    copier k = {.c = c, .w = w, .rename = true};
    tc_workload *copy;
    tc_error err = {0};
    tc_status s = copy_workload(&k, &copy, &err);
    assert(s == TC_OK || tc_ran_out()); /* only names differ from a workload that was checked */
    return s == TC_OK ? copy : w;
}

tc_status tc_te_at(tc_ctx *c, const tc_workload *w, const int64_t *sizes, const tc_workload **out, tc_error *err) {
    copier k = {.c = c, .w = w, .sizes = sizes};
    tc_workload *copy;
    for (int i = 0; i < w->nsymbol; i++) {
        const tc_var *v = w->symbols[i];
        if (sizes[i] < v->least || sizes[i] > v->most)
            return tc_fail(err, TC_BAD_INPUT, "symbol %s cannot be %lld: it runs from %lld to %lld", v->name, (long long)sizes[i],
                           (long long)v->least, (long long)v->most);
    }
    TC_TRY(copy_workload(&k, &copy, err));
    *out = copy;
    return TC_OK;
}

tc_digest tc_te_hash(const tc_workload *w) {
    tc_strbuf text = {0};
    tc_sb_add(&text, FORMAT);
    te_print(&text, w, true);
    tc_digest d = tc_digest_of(text.data, text.len);
    tc_strbuf_free(&text);
    return d;
}
