/* Prints a workload as text: symbols, inputs, computes in order, outputs. A name that the text cannot hold (a model's
 * "/layer.0/MatMul:0"), or an ambiguous name, is replaced by a similar name. */
#include "te/te_int.h"
#include "te/text.h"

#include <stdio.h>
#include <stdlib.h>

#include "support/map.h"

typedef struct names {
    tc_map by_id; /* of symbols, tensors and variables; values are strings in the arena */
    tc_map taken; /* names of symbols and tensors, and axis names of the current compute */
    tc_arena *arena;
    const tc_workload *w;
} names;

bool te_reserved(const char *name) {
    static const char *const WORDS[] = {"true", "false", "inf", "nan"};
    for (size_t i = 0; i < TC_LEN(WORDS); i++)
        if (strcmp(WORDS[i], name) == 0)
            return true;
    return false;
}

static char *identifier(tc_arena *a, const char *name) {
    char *s = tc_arena_printf(a, "%s%s", *name >= '0' && *name <= '9' ? "_" : "", *name ? name : "_");
    for (char *p = s; *p; p++)
        if (!((*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') || (*p >= '0' && *p <= '9')))
            *p = '_';
    return s;
}

static void give_name(names *n, uint32_t id, const char *wanted) {
    const char *base = identifier(n->arena, wanted), *name = base;
    for (int i = 1; te_reserved(name) || !tc_map_puts(&n->taken, name, 1); i++)
        name = tc_arena_printf(n->arena, "%s_%d", base, i);
    tc_map_put(&n->by_id, id, (uintptr_t)name);
}

static void give_numbered(names *n, uint32_t id, const char *prefix, int i) {
    tc_map_put(&n->by_id, id, (uintptr_t)tc_arena_printf(n->arena, "%s%d", prefix, i));
}

static const char *name_of(const names *n, uint32_t id) {
    const uintptr_t *v = tc_map_get(&n->by_id, id);
    return v ? (const char *)*v : "?"; /* a free variable: a bug elsewhere, but a dump must not crash */
}

static const char *namer(void *user, const tc_expr *e) {
    const names *n = user;
    return e->op == TC_OP_VAR ? name_of(n, e->u.var->id) : e->op == TC_OP_READ ? name_of(n, e->u.tensor->id) : "?";
}

static void name_symbols(names *n, const tc_workload *w, bool canonical) {
    for (int i = 0; i < w->nsymbol; i++) {
        if (canonical)
            give_numbered(n, w->symbols[i]->id, "s", i);
        else
            give_name(n, w->symbols[i]->id, w->symbols[i]->name);
    }
    for (int i = 0; i < w->ndefined; i++) {
        if (canonical)
            give_numbered(n, w->defined[i]->id, "s", w->nsymbol + i);
        else
            give_name(n, w->defined[i]->id, w->defined[i]->name);
    }
}

static void print_symbols(tc_strbuf *b, names *n, const tc_workload *w) {
    for (int i = 0; i < w->nsymbol; i++)
        tc_sb_printf(b, "symbol %s %lld..%lld\n", name_of(n, w->symbols[i]->id), (long long)w->symbols[i]->least,
                     (long long)w->symbols[i]->most);
    for (int i = 0; i < w->ndefined; i++) {
        tc_sb_printf(b, "symbol %s = ", name_of(n, w->defined[i]->id));
        tc_expr_print_named(b, w->defined[i]->value, namer, n);
        tc_sb_addc(b, '\n');
    }
}

static void name_tensors(names *n, const tc_workload *w, bool canonical) {
    for (int i = 0; i < w->nin; i++) {
        if (canonical)
            give_numbered(n, w->in[i]->id, "p", i);
        else
            give_name(n, w->in[i]->id, w->in[i]->name);
    }
    for (int i = 0; i < w->ncompute; i++)
        for (int o = 0; o < w->computes[i]->nout; o++) {
            const tc_tensor *t = w->computes[i]->out[o];
            if (!canonical)
                give_name(n, t->id, t->name);
            else
                tc_map_put(&n->by_id, t->id, (uintptr_t)tc_arena_printf(n->arena, o ? "t%d_%d" : "t%d", i, o));
        }
}

/* Axis names are local to their compute: `taken` gets them on top of the tensors' only for its line. */
static void name_axes(names *n, const tc_compute *op, bool canonical) {
    for (int i = 0; i < op->naxis + op->nraxis; i++) {
        bool reduce = i >= op->naxis;
        const tc_var *v = reduce ? op->raxes[i - op->naxis].var : op->axes[i].var;
        if (canonical)
            give_numbered(n, v->id, reduce ? "k" : "i", reduce ? i - op->naxis : i);
        else
            give_name(n, v->id, v->name);
    }
}

static void print_extent(tc_strbuf *b, const names *n, int64_t extent, const tc_var *symbol) {
    for (int i = 0; symbol && i < n->w->ndefined; i++)
        if (te_same_size(n->w->defined[i], symbol))
            symbol = n->w->defined[i];
    if (symbol)
        tc_sb_add(b, name_of(n, symbol->id));
    else
        tc_sb_printf(b, "%lld", (long long)extent);
}

static void print_axes(tc_strbuf *b, const names *n, int count, const tc_axis *axes) {
    for (int i = 0; i < count; i++) {
        tc_sb_printf(b, "%s%s:", i ? ", " : "", name_of(n, axes[i].var->id));
        print_extent(b, n, axes[i].extent, axes[i].symbol);
    }
}

static void print_compute(tc_strbuf *b, names *n, const tc_compute *op) {
    tc_sb_add(b, "compute ");
    for (int o = 0; o < op->nout; o++)
        tc_sb_printf(b, "%s%s", o ? ", " : "", name_of(n, op->out[o]->id));
    tc_sb_addc(b, '[');
    print_axes(b, n, op->naxis, op->axes);
    tc_sb_add(b, "] = ");
    if (op->reducer != TC_RED_NONE) {
        tc_sb_printf(b, "%s(", tc_reducer_name(op->reducer));
        print_axes(b, n, op->nraxis, op->raxes);
        tc_sb_add(b, ") ");
    }
    if (op->nout > 1)
        tc_sb_addc(b, '(');
    for (int o = 0; o < op->nout; o++) {
        tc_sb_add(b, o ? ", " : "");
        tc_expr_print_named(b, op->body[o], namer, n);
    }
    tc_sb_add(b, op->nout > 1 ? ")\n" : "\n");
}

static void print_tensor(tc_strbuf *b, const names *n, const tc_tensor *t) {
    tc_sb_printf(b, "tensor %s[", name_of(n, t->id));
    for (int d = 0; d < t->ndim; d++) {
        tc_sb_add(b, d ? ", " : "");
        print_extent(b, n, t->shape[d], t->symbol[d]);
    }
    tc_sb_printf(b, "] %s%s\n", tc_dtype_name(t->dtype), t->is_const ? " const" : "");
}

void te_print(tc_strbuf *b, const tc_workload *w, bool canonical) {
    names n = {.arena = tc_arena_new(), .w = w};
    name_symbols(&n, w, canonical);
    name_tensors(&n, w, canonical);
    print_symbols(b, &n, w);
    for (int i = 0; i < w->nin; i++)
        print_tensor(b, &n, w->in[i]);
    for (int i = 0; i < w->ncompute; i++) {
        tc_map tensors = n.taken;
        n.taken = (tc_map){0};
        name_axes(&n, w->computes[i], canonical);
        print_compute(b, &n, w->computes[i]);
        tc_map_free(&n.taken);
        n.taken = tensors;
    }
    tc_sb_add(b, "output ");
    for (int i = 0; i < w->nout; i++)
        tc_sb_printf(b, "%s%s", i ? ", " : "", name_of(&n, w->out[i]->id));
    tc_sb_addc(b, '\n');
    tc_map_free(&n.by_id);
    tc_map_free(&n.taken);
    tc_arena_free(n.arena);
}

void tc_te_print(tc_strbuf *b, const tc_workload *w) {
    te_print(b, w, false);
}

const char *tc_te_text(tc_arena *a, const tc_workload *w) {
    tc_strbuf b = {0};
    tc_te_print(&b, w);
    return tc_sb_keep(&b, a);
}
